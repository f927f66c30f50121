"""A record of the nodes that an exploration opened, in their order. Of an eager exploration, it is the tree."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lazyforest.engine.layout import Array, entry, jit
from lazyforest.engine.nodes import copy

# The columns of Record.nodes. NONE: a leaf has no column, a side that was not opened no number.
COLUMN, MISSING_IS_VALID, LEFT, RIGHT, ROWS, MEMBERS_LO, MEMBERS_HI, VOTE, FIELDS = range(9)
NONE = -1
USED_NODES, USED_MEMBERS, USED_LEAVES = range(3)


class Record(NamedTuple):
    """Room for so many nodes and members. ``used`` counts on when it is full: then try again with more."""

    nodes: Array  # (nodes, FIELDS) int64
    keys: Array  # (nodes,) uint64: hash of the path
    thresholds: Array  # (nodes,) float64
    held: Array  # (nodes, statistics) int64
    members: Array  # the codes of all sets, each ascending
    votes: Array  # (leaves, statistics) int64
    used: Array  # (3,): nodes, members, leaves


def new_record(statistics: int, nodes: int = 0, members: int = 0) -> Record:
    """Room for no node records nothing."""
    return Record(
        np.empty((nodes, FIELDS), dtype=np.int64),
        np.empty(nodes, dtype=np.uint64),
        np.empty(nodes, dtype=np.float64),
        np.empty((nodes, statistics), dtype=np.int64),
        np.empty(members, dtype=np.int64),
        np.empty((nodes, statistics), dtype=np.int64),
        np.zeros(3, dtype=np.int64),
    )


@jit
def note_node(record: Any, parent: Any, rows: Any, held: Any, key: Any) -> None:
    """Append a node; ``parent`` is 2 * its parent's number + side, negative for a root."""
    at = record.used[USED_NODES]
    record.used[USED_NODES] += 1
    if at >= record.keys.size:
        return
    node = record.nodes[at]
    for k in range(FIELDS):
        node[k] = NONE
    node[ROWS], record.keys[at], record.thresholds[at] = rows, key, np.nan
    copy(held, record.held[at], held.size)
    if parent >= 0:
        record.nodes[parent >> 1, LEFT + (parent & 1)] = at


@jit
def note_leaf(record: Any, at: Any, vote: Any) -> None:
    leaf = record.used[USED_LEAVES]
    record.used[USED_LEAVES] += 1
    if at < record.keys.size:  # then there is room for the leaf as well: no more leaves than nodes
        copy(vote, record.votes[leaf], vote.size)
        record.nodes[at, VOTE] = leaf


@jit
def note_condition(record: Any, at: Any, condition: Any, n_members: Any, member: Any, n_codes: Any) -> None:
    """A node's condition; the column has so many codes."""
    lo = record.used[USED_MEMBERS]
    record.used[USED_MEMBERS] += n_members
    if at >= record.keys.size or lo + n_members > record.members.size:
        return
    node = record.nodes[at]
    node[COLUMN], node[MISSING_IS_VALID] = condition.column, condition.missing_is_valid
    record.thresholds[at] = condition.threshold
    if condition.is_set:
        node[MEMBERS_LO], node[MEMBERS_HI] = lo, lo + n_members
        for code in range(n_codes):
            if member[code]:
                record.members[lo] = code
                lo += 1


@entry
def walk(record: Any, X: Any, votes: Any) -> None:
    """Let every row of X walk the tree and add the vote of its leaf."""
    nodes, thresholds, all_members, leaves = record.nodes, record.thresholds, record.members, record.votes
    for q in range(X.shape[0]):
        at = 0
        while nodes[at, COLUMN] != NONE:
            x = X[q, nodes[at, COLUMN]]
            if np.isnan(x):
                valid = nodes[at, MISSING_IS_VALID] == 1
            elif nodes[at, MEMBERS_LO] == NONE:
                valid = x >= thresholds[at]
            else:
                valid = is_among(np.int64(x), all_members, nodes[at, MEMBERS_LO], nodes[at, MEMBERS_HI])
            at = nodes[at, RIGHT] if valid else nodes[at, LEFT]
        for c in range(votes.shape[1]):
            votes[q, c] += leaves[nodes[at, VOTE], c]


@jit
def is_among(code: Any, members: Any, lo: Any, hi: Any) -> Any:
    """Binary search in members[lo:hi]."""
    end = hi
    while lo < end:
        mid = (lo + end) // 2
        if members[mid] < code:
            lo = mid + 1
        else:
            end = mid
    return lo < hi and members[lo] == code


def trimmed(record: Record) -> Record:
    """A copy without the unused room."""
    nodes, members, leaves = (int(k) for k in record.used)
    return Record(
        record.nodes[:nodes].copy(),
        record.keys[:nodes].copy(),
        record.thresholds[:nodes].copy(),
        record.held[:nodes].copy(),
        record.members[:members].copy(),
        record.votes[:leaves].copy(),
        record.used.copy(),
    )
