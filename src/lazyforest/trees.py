"""Looking into single trees of a fitted forest: the nodes that some rows open, and who shares a leaf with a row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from lazyforest.engine.exploration import explore_recording, new_room, new_task
from lazyforest.engine.layout import BATCHED, BINS, Array, Table
from lazyforest.engine.record import (
    COLUMN,
    LEFT,
    MISSING_IS_VALID,
    NONE,
    RIGHT,
    ROWS,
    VOTE,
    Record,
)
from lazyforest.exploration import column_name, members_of, say_condition, way
from lazyforest.runner import no_votes
from lazyforest.table import Column


class OpenedNode(NamedTuple):
    """A node that an exploration opened; its number says when, counted from 0."""

    number: int
    parent: int | None
    side: bool | None  # of the parent's condition: True where it is met
    condition: str | None  # None: a leaf
    missing_goes: bool | None  # the side of a row without a value
    rows: int  # of the bootstrap, distinct
    vote: Any
    ends: list[int]  # the rows of X that end here


def opened_nodes(forest: Any, X: Any, tree: int) -> list[OpenedNode]:
    """The nodes of one tree that the rows of X open together, in the order in which they are opened."""
    queries = forest._queries(X)
    if not 0 <= tree < forest.n_estimators:
        raise IndexError(f"tree must be from 0 to {forest.n_estimators - 1}. Got {tree}.")
    record = next(records(forest, queries, range(tree, tree + 1)))
    parents = {int(node[k]): (at, k == RIGHT) for at, node in enumerate(record.nodes) for k in (LEFT, RIGHT)}
    ends: dict[int, list[int]] = {}
    for row, x in enumerate(queries):
        *_, (leaf, _) = way(record, x)
        ends.setdefault(leaf, []).append(row)
    return [
        OpenedNode(
            number=at,
            parent=parents[at][0] if at in parents else None,
            side=parents[at][1] if at in parents else None,
            condition=say_question(record, at, forest._columns),
            missing_goes=None if node[COLUMN] == NONE else bool(node[MISSING_IS_VALID] == 1),
            rows=int(node[ROWS]),
            vote=None if node[VOTE] == NONE else forest._say_vote(record.votes[node[VOTE]]),
            ends=ends.get(at, []),
        )
        for at, node in enumerate(record.nodes)
    ]


def shared_leaves(forest: Any, X: Any) -> Array:
    """For each row of X and each training row: in how many trees they fall into the same leaf.

    Training rows count whether or not they are in the bag of a tree.
    """
    queries, table = forest._queries(X), forest._forest.table
    shared = np.zeros((len(queries), table.codes.shape[1]), dtype=np.int64)
    for row in range(len(queries)):
        x = queries[row : row + 1]
        for record in records(forest, x, range(forest.n_estimators)):
            together = np.arange(shared.shape[1])
            for at, valid in way(record, x[0]):
                if valid is not None:
                    together = together[meets(record, at, table, together) == valid]
            shared[row, together] += 1
    return shared


def records(forest: Any, queries: Array, trees: range) -> Iterator[Record]:
    """What the batched exploration of these rows opens; a forest of reduced rows knows those that miss the same."""
    kept = forest._forest
    gaps = np.isnan(queries)
    if kept.reduced and (gaps != gaps[:1]).any():
        raise ValueError(
            "With missing='reduced', rows that miss different columns share no tree. Ask one row at a time."
        )
    usable = np.flatnonzero(~gaps[0]) if kept.reduced else np.arange(queries.shape[1])
    task = new_task(kept.table, kept.target, kept.rules._replace(algorithm=BATCHED), queries, usable)
    room = new_room()
    for tree in trees:
        yield explore_recording(task, tree, no_votes(kept, queries), room)


def meets(record: Record, at: int, table: Table, rows: Array) -> Array:
    """Which of these training rows meet a condition."""
    column = record.nodes[at, COLUMN]
    codes, members = table.codes[column, rows].astype(np.int64), members_of(record, at)
    if members is not None:
        valid = np.isin(codes, members)
    else:  # values ascend with their codes, which begin at 1
        start = table.value_start[column]
        values = table.values[start : start + table.first_code[column, BINS] - 1]
        valid = codes > np.searchsorted(values, record.thresholds[at])
    return np.where(codes == 0, record.nodes[at, MISSING_IS_VALID] == 1, valid)


def say_question(record: Record, at: int, columns: list[Column]) -> str | None:
    """The condition of a node in words; None of a leaf."""
    j = record.nodes[at, COLUMN]
    return None if j == NONE else f"{column_name(columns[j])} {say_condition(record, at, columns[j], True)}"
