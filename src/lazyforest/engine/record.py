"""A record of the nodes that an exploration opened, in their order. Of an eager exploration, it is the tree."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lazyforest.engine.layout import Array, entry, jit
from lazyforest.engine.nodes import copy

# The columns of Record.nodes. NONE: a leaf has no column, a side that was not opened no number.
COLUMN, CUT, MISSING_IS_VALID, LEFT, RIGHT, ROWS, MEMBERS_LO, MEMBERS_HI, VOTE, FIELDS = range(10)
NONE = -1


class Record(NamedTuple):
    nodes: Array  # (nodes, FIELDS) int64
    keys: Array  # (nodes,) uint64: hash of the path
    thresholds: Array  # (nodes,) float64
    held: Array  # (nodes, statistics) int64
    members: Array  # the codes of all sets, each ascending
    votes: Array  # (leaves, statistics) int64
    used: Array  # (3,): nodes, members, leaves


@jit
def new_record(statistics: Any) -> Any:
    return Record(
        np.empty((16, FIELDS), dtype=np.int64),
        np.empty(16, dtype=np.uint64),
        np.empty(16, dtype=np.float64),
        np.empty((16, statistics), dtype=np.int64),
        np.empty(16, dtype=np.int64),
        np.empty((16, statistics), dtype=np.int64),
        np.zeros(3, dtype=np.int64),
    )


@jit
def doubled(array: Any) -> Any:
    larger = np.empty(2 * array.size, dtype=array.dtype)
    for i in range(array.size):
        larger[i] = array[i]
    return larger


@jit
def doubled_rows(array: Any) -> Any:
    larger = np.empty((2 * array.shape[0], array.shape[1]), dtype=array.dtype)
    for i in range(array.shape[0]):
        for k in range(array.shape[1]):
            larger[i, k] = array[i, k]
    return larger


@jit
def note_node(record: Any, parent: Any, rows: Any, held: Any, key: Any) -> Any:
    """Append a node; ``parent`` is 2 * its parent's number + side, negative for a root."""
    at = record.used[0]
    if at == record.nodes.shape[0]:
        record = Record(
            doubled_rows(record.nodes),
            doubled(record.keys),
            doubled(record.thresholds),
            doubled_rows(record.held),
            record.members,
            record.votes,
            record.used,
        )
    record.nodes[at] = NONE
    record.nodes[at, ROWS], record.keys[at], record.thresholds[at] = rows, key, np.nan
    copy(held, record.held[at], held.size)
    if parent >= 0:
        record.nodes[parent >> 1, LEFT + (parent & 1)] = at
    record.used[0] += 1
    return record


@jit
def note_leaf(record: Any, at: Any, vote: Any) -> Any:
    leaf = record.used[2]
    votes = doubled_rows(record.votes) if leaf == record.votes.shape[0] else record.votes
    copy(vote, votes[leaf], vote.size)
    record.nodes[at, VOTE] = leaf
    record.used[2] += 1
    return Record(record.nodes, record.keys, record.thresholds, record.held, record.members, votes, record.used)


@jit
def note_condition(record: Any, at: Any, condition: Any, n_members: Any, member: Any) -> Any:
    node = record.nodes[at]
    node[COLUMN], node[CUT], node[MISSING_IS_VALID] = condition.column, condition.cut, condition.missing_is_valid
    record.thresholds[at] = condition.threshold
    if not condition.is_set:
        return record
    lo, pool = record.used[1], record.members
    while pool.size < lo + n_members:
        pool = doubled(pool)
    node[MEMBERS_LO], node[MEMBERS_HI] = lo, lo + n_members
    for code in range(member.size):
        if member[code]:
            pool[lo] = code
            lo += 1
    record.used[1] = lo
    return Record(record.nodes, record.keys, record.thresholds, record.held, pool, record.votes, record.used)


@entry
def walk(record: Any, X: Any, votes: Any) -> None:
    """Let every row of X walk the tree and add the vote of its leaf."""
    for q in range(X.shape[0]):
        node = record.nodes[0]
        at = 0
        while node[COLUMN] != NONE:
            x = X[q, node[COLUMN]]
            if np.isnan(x):
                valid = node[MISSING_IS_VALID] == 1
            elif node[MEMBERS_LO] == NONE:
                valid = x >= record.thresholds[at]
            else:
                members = record.members[node[MEMBERS_LO] : node[MEMBERS_HI]]
                place = np.searchsorted(members, np.int64(x))
                valid = place < members.size and members[place] == np.int64(x)
            at = node[RIGHT] if valid else node[LEFT]
            node = record.nodes[at]
        for c in range(votes.shape[1]):
            votes[q, c] += record.votes[node[VOTE], c]


def trimmed(record: Record) -> Record:
    """The same record without the room to grow."""
    nodes, members, leaves = (int(k) for k in record.used)
    return Record(
        record.nodes[:nodes].copy(),
        record.keys[:nodes].copy(),
        record.thresholds[:nodes].copy(),
        record.held[:nodes].copy(),
        record.members[:members].copy(),
        record.votes[:leaves].copy(),
        record.used,
    )
