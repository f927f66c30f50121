"""A node to be searched, the best condition found, and the buffers of a search."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lazyforest.engine.bootstrap import TICKET, mix
from lazyforest.engine.counts import side
from lazyforest.engine.layout import (
    BINS,
    BLOCK,
    GROUPS,
    HISTOGRAM_COLUMNS,
    MIN_GAIN,
    SQUARED_ERROR,
    Array,
    Scalar,
    Table,
    Target,
    jit,
)
from lazyforest.engine.sorting import sort_order

NUMBER = -1  # in place of a number of members


class Node(NamedTuple):
    """rows[lo:hi] of the table, and their statistics (regression: targets about ``shift``)."""

    rows: Array
    lo: Scalar
    hi: Scalar
    total: Array
    weight: Scalar
    shift: Scalar
    least: Scalar  # what each side has to weigh
    two: Scalar  # two classes by entropy, counts within the table of x log2 x, no side too light
    key: Scalar


class Best(NamedTuple):
    """A condition. Its invalid side has the statistics ``Search.best_left``; a set's codes are ``Search.members``."""

    score: Scalar
    column: Scalar  # -1: none
    lower: Scalar  # of a number: the highest invalid code at the node, 0 if there is none
    cut: Scalar  # and the lowest valid one
    missing_is_valid: Scalar
    any_missing: Scalar  # at the node, in this column
    n_members: Scalar  # NUMBER, or the size of the set


class Search(NamedTuple):
    """Buffers. What one search leaves there means nothing to the next, except ``best_left`` and ``members``."""

    weight: Array  # (rows,) weight of each row in this bootstrap
    f: Array  # x log2 x
    histogram: Array  # (HISTOGRAM_COLUMNS, BINS, statistics): sums over the bins 1 to b
    n_bins: Array  # (HISTOGRAM_COLUMNS,): how many of the bins the column has
    missing: Array  # (HISTOGRAM_COLUMNS, statistics)
    edges: Array  # (HISTOGRAM_COLUMNS, 2, groups + 1): scores of cuts between groups; missing rows invalid, or valid
    scores: Array  # (BINS,): scores of the cuts after each bin
    opened: Array  # (BINS,): is the bin to be looked into?
    listed: Array  # (BINS,): the bins that are, ascending
    starts: Array  # (BINS,): where an opened bin is in ``fine``
    stops: Array
    fine: Array  # (codes, statistics): the histogram of the opened bins, code by code
    fine_codes: Array  # (codes,)
    left: Array  # (statistics,)
    corner: Array  # (statistics,)
    best_left: Array  # (statistics,)
    columns: Array  # the columns that may be used, ascending
    inspected: Array  # the columns that this node looks at
    tickets: Array  # (columns,) uint64
    chosen: Array  # (columns,) bool
    words: Array  # (rows,) uint64, to be sorted
    spare: Array  # (rows,) uint64
    places: Array  # (256,)
    categories: Array  # the codes present at the node
    held: Array  # (categories, statistics)
    means: Array
    order: Array
    spare_order: Array
    members: Array


def new_search(table: Table, target: Target, weight: Array, f: Array, columns: Array) -> Search:
    n, m = table.coarse.shape
    slots = min(m, HISTOGRAM_COLUMNS)
    statistics = target.n_classes or 2
    kept = target.n_classes or 3  # histograms of regression: weight, sum, sum of the positive
    n_codes = table.first_code[:, BINS]
    most = int(n_codes.max(initial=BINS))
    wide_sets = bool(np.any(table.is_category & (n_codes > BINS)))
    categories = min(most, n) + 1 if wide_sets else BINS
    return Search(
        weight=weight,
        f=f,
        histogram=np.empty((slots, BINS, kept), dtype=weight.dtype),
        n_bins=np.empty(slots, dtype=np.int64),
        missing=np.empty((slots, statistics), dtype=np.int64),
        edges=np.empty((slots, 2, GROUPS + 1)),
        scores=np.empty(BINS),
        opened=np.empty(BINS, dtype=np.bool_),
        listed=np.empty(BINS, dtype=np.int64),
        starts=np.empty(BINS, dtype=np.int64),
        stops=np.empty(BINS, dtype=np.int64),
        fine=np.empty((most, statistics), dtype=np.int64),
        fine_codes=np.empty(most, dtype=np.int64),
        left=np.empty(statistics, dtype=np.int64),
        corner=np.empty(statistics, dtype=np.int64),
        best_left=np.empty(statistics, dtype=np.int64),
        columns=columns,
        inspected=np.empty(m, dtype=np.int64),
        tickets=np.empty(m, dtype=np.uint64),
        chosen=np.empty(m, dtype=np.bool_),
        words=np.empty(max(BLOCK, n), dtype=np.uint64),
        spare=np.empty(max(BLOCK, n), dtype=np.uint64),
        places=np.empty(256, dtype=np.int64),
        categories=np.empty(categories, dtype=np.int64),
        held=np.empty((categories, statistics), dtype=np.int64),
        means=np.empty(categories),
        order=np.empty(max(categories, m), dtype=np.int64),
        spare_order=np.empty(categories, dtype=np.int64),
        members=np.empty(categories, dtype=np.int64),
    )


@jit
def add(held: Any, y: Any, weight: Any, shift: Any, criterion: Any) -> None:
    """One more row in the statistics."""
    if criterion == SQUARED_ERROR:
        held[0] += weight
        held[1] += weight * (np.int64(y) - shift)
    else:
        held[y] += weight


@jit
def copy(source: Any, out: Any, n: Any) -> None:
    """out[:n] = source[:n], without the tests and messages that a slice compiles to."""
    for i in range(n):
        out[i] = source[i]


@jit
def is_empty(held: Any, size: Any) -> Any:
    for c in range(size):
        if held[c] != 0:
            return False
    return True


@jit
def weight_of(held: Any, criterion: Any) -> Any:
    if criterion == SQUARED_ERROR:
        return held[0]
    weight = held[0]
    for c in range(1, held.size):
        weight += held[c]
    return weight


@jit
def is_light(left: Any, node: Any, criterion: Any) -> Any:
    """Does a side weigh too little?"""
    weight = weight_of(left, criterion)
    return min(weight, node.weight - weight) < node.least


@jit
def comes_first(score: Any, column: Any, cut: Any, best: Any) -> Any:
    """The higher score; on a tie the lower column, then the lower cut."""
    if score != best.score:
        return score > best.score
    return best.column >= 0 and (column < best.column or (column == best.column and cut < best.cut))


@jit
def no_condition(node: Any, criterion: Any, f: Any) -> Any:
    """What a condition has to beat."""
    total = node.total
    if criterion is None:
        known = f[total[0]] + f[total[1]] - f[total[0] + total[1]]
    else:
        known = side(total, criterion, f)
    return Best(known + MIN_GAIN * float(node.weight), -1, 0, 0, False, False, NUMBER)


@jit
def inspect(node: Any, table: Any, search: Any, rules: Any) -> Any:
    """Choose the columns to look at, ascending in ``search.inspected``; returns how many."""
    m = search.columns.size
    if rules.max_features >= m:
        copy(search.columns, search.inspected, m)
        return m
    columns, inspected, order, rows = search.columns, search.inspected, search.order, node.rows
    tickets, chosen = search.tickets, search.chosen
    for k in range(m):
        chosen[k] = False
        tickets[k] = mix(node.key, TICKET + np.uint64(columns[k]))
    sort_order(tickets, order, inspected, m)
    count, splittable = 0, False
    while count < m and (count < rules.max_features or not splittable):
        chosen[order[count]] = True
        codes = table.codes[columns[order[count]]]
        count += 1
        code = codes[rows[node.lo]]
        for i in range(node.lo + 1, node.hi):
            if splittable:
                break
            splittable = codes[rows[i]] != code
    at = 0
    for k in range(m):
        if chosen[k]:
            inspected[at] = columns[k]
            at += 1
    return count
