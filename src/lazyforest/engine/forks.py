"""Groups of queries part: by their conditions, then by sides; or each fold goes its own way."""

from __future__ import annotations

from typing import Any

import numpy as np

from lazyforest.engine.bootstrap import CHILD, mix
from lazyforest.engine.groups import (
    BY_FOLD,
    COLUMN,
    CUT,
    DEPTH,
    FULL,
    HI,
    IS_SET,
    KIND,
    LO,
    MANY,
    MISSING,
    PARTING,
    Q_HI,
    Q_LO,
    ROOM,
    SEVERAL,
    SINGLE,
    TOP,
    holds,
)
from lazyforest.engine.layout import BINS, inlined, jit
from lazyforest.engine.partition import Condition, part_rows


@inlined
def push_group(folds: Any, top: Any, lo: Any, hi: Any, q_lo: Any, q_hi: Any, depth: Any, kind: Any, key: Any) -> Any:
    row = folds.stack[top]
    row[LO], row[HI], row[Q_LO], row[Q_HI] = lo, hi, q_lo, q_hi
    row[DEPTH], row[KIND], row[ROOM] = depth, kind, folds.place[TOP]
    folds.keys[top] = key
    return top + 1


@inlined
def has_room(folds: Any, n: Any) -> Any:
    """Is there room for n more rows? Otherwise the exploration ends, to start again with more."""
    folds.place[FULL] = folds.place[TOP] + n > folds.rows.size
    return folds.place[FULL] == 0


@jit
def first_of_fold(rows: Any, fold: Any, f: Any, lo: Any, hi: Any) -> Any:
    """Where the rows of a fold, or of later ones, start: the rows of a group are in the order of their folds."""
    while lo < hi:
        middle = (lo + hi) // 2
        if fold[rows[middle]] < f:
            lo = middle + 1
        else:
            hi = middle
    return lo


@inlined
def span_of(folds: Any, f: Any, lo: Any, hi: Any) -> Any:
    """rows[start:stop], of rows[lo:hi], are those of a fold."""
    start = first_of_fold(folds.rows, folds.fold, f, lo, hi)
    return start, first_of_fold(folds.rows, folds.fold, f + 1, start, hi)


@jit
def swap_with_end(rows: Any, start: Any, stop: Any, hi: Any) -> None:
    """Put rows[start:stop] behind the others of rows[:hi]; done again, where they were."""
    for i in range(min(stop - start, hi - stop)):
        rows[start + i], rows[hi - 1 - i] = rows[hi - 1 - i], rows[start + i]


@jit
def copy_others(folds: Any, f: Any, lo: Any, hi: Any, at: Any) -> Any:
    """rows[lo:hi] but those of a fold to rows[at:]; returns where they end."""
    rows = folds.rows
    start, stop = span_of(folds, f, lo, hi)
    if at != lo:
        for i in range(lo, start):
            rows[at + i - lo] = rows[i]
    at += start - lo
    for i in range(stop, hi):
        rows[at + i - stop] = rows[i]
    return at + hi - stop


@jit
def sort_by_group(folds: Any, queries: Any, spare: Any, lo: Any, hi: Any, count: Any) -> None:
    starts, group = folds.starts, folds.group
    for g in range(count + 1):
        starts[g] = 0
    for i in range(lo, hi):
        starts[group[queries[i]] + 1] += 1
    for g in range(count):
        starts[g + 1] += starts[g]
    for i in range(lo, hi):
        g = group[queries[i]]
        spare[starts[g]] = queries[i]
        starts[g] += 1
    for i in range(lo, hi):
        queries[i] = spare[i - lo]


@jit
def part_group(folds: Any, queries: Any, spare: Any, lo: Any, hi: Any) -> Any:
    """Part the queries by the side that they go to; returns the middle."""
    mid, others = lo, 0
    for i in range(lo, hi):
        q = queries[i]
        if folds.valid[q]:
            spare[others] = q
            others += 1
        else:
            queries[mid] = q
            mid += 1
    for i in range(others):
        queries[mid + i] = spare[i]
    return mid


@jit
def single_fold(folds: Any, queries: Any, lo: Any, hi: Any) -> Any:
    """The fold of all these queries, or MANY."""
    f = folds.own[queries[lo]]
    return f if folds.own[queries[hi - 1]] == f else np.int64(MANY)


@inlined
def part_in_place(table: Any, folds: Any, bag: Any, lo: Any, hi: Any, q: Any) -> Any:
    """Part rows[lo:hi] by q's condition; returns the middle."""
    chosen, members, member = folds.chosen[q], folds.chosen_set[q], bag.member
    column, is_set = chosen[COLUMN], chosen[IS_SET] != 0
    n_codes = table.first_code[column, BINS] if is_set else np.int64(0)
    for code in range(n_codes):
        member[code] = holds(members, code)
    condition = Condition(column, chosen[CUT], 0.0, chosen[MISSING] != 0, is_set)
    mid = part_rows(folds.rows, lo, hi, bag.spare, table.codes[column], condition, member, True)
    for code in range(n_codes):
        member[code] = False
    return mid


@inlined
def go_down_apart(table: Any, folds: Any, bag: Any, frame: Any, key: Any, top: Any) -> Any:
    """Part the last group of a frame; its rows are copied while there are others, and parted in place for the last."""
    lo, hi, q_lo, q_hi, queries = frame[LO], frame[HI], frame[Q_LO], frame[Q_HI], bag.queries
    start = q_hi - 1
    while start > q_lo and folds.group[queries[start - 1]] == folds.group[queries[start]]:
        start -= 1
    q, depth = queries[start], frame[DEPTH] + 1
    if start > q_lo:
        top = push_group(folds, top, lo, hi, q_lo, start, frame[DEPTH], PARTING, key)
        if not has_room(folds, hi - lo):
            return top
        begin = folds.place[TOP]
        lo, hi = begin, copy_others(folds, single_fold(folds, queries, start, q_hi), lo, hi, begin)
        folds.place[TOP] = hi
    q_mid = part_group(folds, queries, bag.spare_queries, start, q_hi)
    mid = part_in_place(table, folds, bag, lo, hi, q)
    for side in range(2):
        first, last = (q_mid, q_hi) if side else (start, q_mid)
        if first == last:
            continue
        begin, end = (mid, hi) if side else (lo, mid)
        f = single_fold(folds, queries, first, last)
        if f >= 0:
            end = copy_others(folds, f, begin, end, begin)
        kind = SINGLE if f >= 0 else SEVERAL
        child = mix(key, CHILD + np.uint64(side))
        top = push_group(folds, top, begin, end, first, last, depth, kind, child)
    return top


@inlined
def go_on_by_fold(folds: Any, bag: Any, frame: Any, key: Any, top: Any) -> Any:
    """The queries of the last fold of a frame go on alone, with the rows that they may look at."""
    lo, hi, q_lo, q_hi, queries = frame[LO], frame[HI], frame[Q_LO], frame[Q_HI], bag.queries
    f, start, begin = folds.own[queries[q_hi - 1]], q_hi - 1, lo
    while start > q_lo and folds.own[queries[start - 1]] == f:
        start -= 1
    if start > q_lo:
        top = push_group(folds, top, lo, hi, q_lo, start, frame[DEPTH], BY_FOLD, key)
        if not has_room(folds, hi - lo):
            return top
        begin = folds.place[TOP]
    end = copy_others(folds, f, lo, hi, begin)
    folds.place[TOP] = max(end, folds.place[TOP])
    return push_group(folds, top, begin, end, start, q_hi, frame[DEPTH], SINGLE, key)
