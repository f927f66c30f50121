"""The best condition without a single row, from the candidates of its group's node."""

from __future__ import annotations

from typing import Any

import numpy as np

from lazyforest.engine.candidate_sets import COMMON, HEAVIEST, best_column_of_sets, best_set_without
from lazyforest.engine.candidates import (
    INVALID,
    LONE,
    USABLE,
    VALID,
    as_condition,
    best_candidate,
    find_candidates,
    threshold_of,
)
from lazyforest.engine.groups import (
    COLUMN,
    CONDITION,
    CUT,
    HELD,
    HI,
    IS_SET,
    LO,
    MISSING,
    Q_HI,
    Q_LO,
    holds,
    is_here,
    is_valid_row,
    join,
)
from lazyforest.engine.layout import BINS, BLOCK, ENTROPY, MIN_GAIN, inlined, jit
from lazyforest.engine.nodes import Node, copy


@inlined
def prepare(
    table: Any,
    target: Any,
    rules: Any,
    search: Any,
    folds: Any,
    small: Any,
    found: Any,
    queries: Any,
    frame: Any,
    shared: Any,
) -> Any:
    """Find the cuts and sets that matter to folds of a single row, if the rows are of two classes, by entropy."""
    lo, hi, total = frame[LO], frame[HI], folds.total
    usable = rules.criterion == ENTROPY and total.size == 2 and shared.column >= 0
    usable = usable and rules.max_features >= search.columns.size
    if usable:
        usable = total[0] + total[1] < search.f.size and not any_wide_set(table, search.columns)
        usable = usable and (hi - lo <= BLOCK or search.columns.size <= search.histogram.shape[0])
    if usable:
        copy(search.best_left, folds.left, 2)
        if find_kinds(folds, found.kinds, queries, frame[Q_LO], frame[Q_HI]) == 0:
            return False
        none = np.int64(0)
        node = Node(folds.rows, lo, hi, total, total[0] + total[1], none, 0.0, True, np.uint64(0))
        find_candidates(node, table, target, search, small, found)
        usable = found.place[USABLE] == 1
        found.place[LONE] |= any_lone_row(search.columns, folds.left, total, found.missing)
    return usable


@jit
def any_wide_set(table: Any, columns: Any) -> Any:
    for k in range(columns.size):
        if table.is_category[columns[k]] and table.first_code[columns[k], BINS] > BINS:
            return True
    return False


@inlined
def find_kinds(folds: Any, kinds: Any, queries: Any, lo: Any, hi: Any) -> Any:
    """Mark the kinds of rows that are left out alone; returns how many rows."""
    own = folds.own
    kinds[:] = False
    count = 0
    for i in range(lo, hi):
        f = own[queries[i]]
        if folds.kind[f] >= 0 and is_here(folds, f):
            kinds[folds.kind[f]] = True
            count += 1
    return count


@jit
def any_lone_row(columns: Any, left: Any, total: Any, missing: Any) -> Any:
    """May leaving out one row empty a side of the common condition, or a column of gaps?"""
    side = left[0] + left[1]
    lone = side <= HEAVIEST or total[0] + total[1] - side <= HEAVIEST
    for k in range(columns.size):
        lone |= 0 < missing[columns[k]] <= HEAVIEST
    return lone


@inlined
def has_candidates(table: Any, search: Any, folds: Any, found: Any, f: Any) -> Any:
    """Is it a row of a kind and side that have them, whose leaving empties neither that side nor a column of gaps?"""
    kind, r = np.int64(folds.kind[f]), folds.row[f]
    if kind < 0:
        return False
    if found.place[LONE] == 0:
        return True
    common, w = folds.cells.shape[0] - 1, kind % HEAVIEST + 1
    codes = table.codes[folds.apply[common, COLUMN]]
    side, valid = folds.left[0] + folds.left[1], is_valid_row(folds.apply[common], folds.apply_set[common], codes[r])
    if valid:
        side = folds.total[0] + folds.total[1] - side
    if side <= w or found.apart[kind] == (VALID if valid else INVALID):
        return False
    for k in range(search.columns.size):
        j = search.columns[k]
        if found.missing[j] == w and table.codes[j, r] == 0:
            return False
    return True


@inlined
def decide_without_row(
    table: Any, search: Any, folds: Any, found: Any, f: Any, x: Any, lo: Any, hi: Any, shared: Any
) -> Any:
    """Find the condition of a fold of a single row for its query x; returns the common fold if it is the common one."""
    common = folds.cells.shape[0] - 1
    kind, r = np.int64(folds.kind[f]), folds.row[f]
    cut = best_candidate(found, kind, table.codes, r)
    column = found.column[cut.index] if cut.index >= 0 else np.int64(-1)
    total_a, total_b = folds.total[0], folds.total[1]
    at, score = best_column_of_sets(found, kind, table.coarse, r, total_a, total_b, search, cut.score, column)
    if at >= 0:
        if keeps_common_set(table, folds, found.sets, at, kind, r, x):
            return common
        note_set(table, search, folds, found.sets, f, at, kind, r, score, common)
        return f
    best = look_up_best(table, search, folds.rows, found, kind, r, cut, lo, hi)
    if keeps_common(best, shared, folds.gaps, x):
        return common
    note_candidate(table, folds, f, best, search)
    if folds.apply[f, COLUMN] >= 0:
        join(folds, f, common, best, folds.rows, lo, lo, table.codes[best.column])
    return f


@inlined
def look_up_best(table: Any, search: Any, rows: Any, found: Any, kind: Any, r: Any, cut: Any, lo: Any, hi: Any) -> Any:
    """The best condition of a fold of a single row, on a number; its invalid side weighs ``search.left``."""
    w, second = kind % HEAVIEST + 1, kind // HEAVIEST
    codes = table.codes[found.column[cut.index]]
    valid = found.variant[cut.index] == 1 if codes[r] == 0 else codes[r] >= found.cut[cut.index]
    copy(found.left[cut.index], search.left, 2)
    if not valid:
        search.left[second] -= w
    return as_condition(found, cut, table.codes, rows, lo, hi, r, w)


@inlined
def keeps_common_set(table: Any, folds: Any, sets: Any, at: Any, kind: Any, r: Any, x: Any) -> Any:
    """Is it known that the set without row r is the common one, and does the query see it so?"""
    common = folds.cells.shape[0] - 1
    j = sets.column[at]
    code = np.int64(table.codes[j, r])
    own = kind % HEAVIEST + 1
    return (
        sets.known[at, code, kind] == COMMON
        and sets.held[at, code, 0] + sets.held[at, code, 1] > own
        and not (folds.gaps[j] and np.isnan(x[j]))
        and folds.apply[common, COLUMN] == j
    )


@inlined
def note_set(
    table: Any, search: Any, folds: Any, sets: Any, f: Any, at: Any, kind: Any, r: Any, best_score: Any, common: Any
) -> None:
    """``note`` for the set that is best without row r; and ``join`` if it is the common one."""
    total, rest = folds.total, folds.rest
    route, apply, bits, shared = folds.route[f], folds.apply[f], folds.route_set[f], folds.apply_set[common]
    j, f_of = sets.column[at], search.f
    code = np.int64(table.codes[j, r])
    for c in range(2):
        rest[c] = total[c] - folds.cells[f, HELD + c]
    weight = rest[0] + rest[1]
    apply[COLUMN] = -1
    if not best_score > (f_of[rest[0]] + f_of[rest[1]] - f_of[weight]) + MIN_GAIN * float(weight):
        return
    _, length, with_missing, a, b, k = best_set_without(sets, at, code, kind, total[0], total[1], search)
    gone = sets.held[at, 0, 0] + sets.held[at, 0, 1] - (kind % HEAVIEST + 1 if code == 0 else 0)
    route[COLUMN], route[CUT], route[IS_SET] = j, 0, 1
    route[MISSING] = with_missing if gone > 0 else a + b > weight - a - b
    for word in range(bits.size):
        bits[word] = 0
    for p in range(length):
        member = search.categories[search.order[p]]
        bits[member >> 6] |= np.uint64(1) << np.uint64(member & 63)
    for i in range(CONDITION):
        apply[i] = route[i]
    copy(bits, folds.apply_set[f], bits.size)
    same = folds.apply[common, COLUMN] == j and (gone == 0 or route[MISSING] == folds.apply[common, MISSING])
    for i in range(k):
        same = same and holds(bits, search.categories[i]) == holds(shared, search.categories[i])
    if same:
        sets.known[at, code, kind] = COMMON
        copy(shared, folds.apply_set[f], bits.size)
        apply[MISSING] = folds.apply[common, MISSING]


@jit
def keeps_common(best: Any, shared: Any, gaps: Any, x: Any) -> Any:
    """Is it the common condition to the last digit of its threshold, for this query?"""
    return (
        best.column == shared.column
        and best.cut == shared.cut
        and best.lower == shared.lower
        and best.missing_is_valid == shared.missing_is_valid
        and not (gaps[best.column] and np.isnan(x[best.column]))
    )


@inlined
def note_candidate(table: Any, folds: Any, f: Any, best: Any, search: Any) -> None:
    """``note`` for a condition that was looked up; its invalid side weighs ``search.left``."""
    route, apply, left, f_of, rest = folds.route[f], folds.apply[f], search.left, search.f, folds.rest
    for c in range(2):
        rest[c] = folds.total[c] - folds.cells[f, HELD + c]
    weight = rest[0] + rest[1]
    apply[COLUMN] = -1
    if not best.score > (f_of[rest[0]] + f_of[rest[1]] - f_of[weight]) + MIN_GAIN * float(weight):
        return
    missing_is_valid = best.missing_is_valid
    if not best.any_missing:
        invalid = left[0] + left[1]
        missing_is_valid = weight - invalid > invalid
    route[COLUMN], route[CUT], route[MISSING], route[IS_SET] = best.column, best.cut, missing_is_valid, 0
    folds.threshold[f] = threshold_of(table, best)
    for k in range(CONDITION):
        apply[k] = route[k]
