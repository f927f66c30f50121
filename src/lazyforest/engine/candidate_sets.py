"""The sets of categories that may be best when a single row is left out, for two classes by entropy.

A column has few categories, and rows of few kinds leave them: the best set without each is found once, when it is first
asked for, and only if a bound does not rule it out.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lazyforest.engine.layout import BINS, BLOCK, Array, inlined, jit
from lazyforest.engine.lists import collect_categories, count_categories, take_tally
from lazyforest.engine.two import SLACK, scan_sets_of_two, sort_by_share

HEAVIEST = 8  # rows that weigh more are searched for one by one
KINDS = 2 * HEAVIEST  # a kind of row is class * HEAVIEST + weight - 1
UNKNOWN, BOUNDED, OTHER, COMMON = range(4)  # of a set without a row


class Sets(NamedTuple):
    """The columns of categories, and the best set of each without a row of some category and kind, once it is known."""

    place: Array  # (1,): how many columns
    column: Array  # (sets,)
    n_codes: Array  # (sets,) categories at the node
    codes: Array  # (sets, BINS) these
    held: Array  # (sets, BINS, 2) their weights, by code; 0: missing
    bound: Array  # (sets,) the score of all categories by themselves
    score: Array  # (sets,) of the best set
    known: Array  # (sets, BINS, KINDS) UNKNOWN, BOUNDED, or is it the common set?
    without: Array  # (sets, BINS, KINDS) its score, or a bound on it


def new_sets(n: int) -> Sets:
    return Sets(
        place=np.zeros(1, dtype=np.int64),
        column=np.empty(n, dtype=np.int64),
        n_codes=np.empty(n, dtype=np.int64),
        codes=np.empty((n, BINS), dtype=np.int64),
        held=np.empty((n, BINS, 2), dtype=np.int64),
        bound=np.empty(n),
        score=np.empty(n),
        known=np.empty((n, BINS, KINDS), dtype=np.int8),
        without=np.empty((n, BINS, KINDS)),
    )


@jit
def collect_sets(
    table: Any, search: Any, small: Any, found: Any, n: Any, j: Any, slot: Any, total_a: Any, total_b: Any
) -> None:
    """The weights of a column's categories, a bound on what its sets score, and the best of these."""
    sets, f, k, none = found.sets, search.f, np.int64(0), np.int64(0)
    at = sets.place[0]
    held, codes = sets.held[at], sets.codes[at]
    if n > BLOCK:
        for b in range(table.first_code[j, BINS]):
            held[b, 0], held[b, 1] = search.histogram[slot, b, 0], search.histogram[slot, b, 1]
            if b > 0 and held[b, 0] + held[b, 1] > 0:
                codes[k] = b
                k += 1
    else:
        if small.counted[j]:
            small.tallied[0] = j
            count_categories(none, table, small, False, 1, none, n)
            k = take_tally(small.tally[0], table.first_code[j, BINS], search)
        else:
            k = collect_categories(none, table.codes[j], search, small, False, small.lists[j], none, n)
        held[0, 0], held[0, 1] = search.corner[0], search.corner[1]
        for i in range(k):
            codes[i] = search.categories[i]
            held[codes[i], 0], held[codes[i], 1] = search.held[i, 0], search.held[i, 1]
    found.missing[j] = held[0, 0] + held[0, 1]
    bound = f[held[0, 0]] + f[held[0, 1]] - f[held[0, 0] + held[0, 1]]
    for i in range(k):
        bound += alone(held[codes[i]], f)
    sets.column[at], sets.n_codes[at], sets.bound[at] = j, k, bound
    for b in range(table.first_code[j, BINS]):
        for kind in range(KINDS):
            sets.known[at, b, kind] = UNKNOWN
    sets.score[at], _, _, _, _, _ = best_set_without(sets, at, -1, 0, total_a, total_b, search)
    sets.place[0] = at + 1


@jit
def alone(held: Any, f: Any) -> Any:
    return f[held[0]] + f[held[1]] - f[held[0] + held[1]]


@jit
def best_set_without(sets: Any, at: Any, code: Any, kind: Any, total_a: Any, total_b: Any, search: Any) -> Any:
    """The best set of a column when a row of a category leaves (code -1: when none does), as by ``search_sets``.

    Returns its score, length in ``search.order``, whether missing values are in it, its weights, how many categories.
    """
    w, second, k = np.int64(kind % HEAVIEST + 1), np.int64(kind // HEAVIEST), np.int64(0)
    w = w if code >= 0 else np.int64(0)
    gone_a = sets.held[at, 0, 0] - (w if code == 0 and second == 0 else 0)
    gone_b = sets.held[at, 0, 1] - (w if code == 0 and second == 1 else 0)
    total_a, total_b = total_a - (w if second == 0 else 0), total_b - (w if second == 1 else 0)
    for i in range(sets.n_codes[at]):
        here = sets.codes[at, i]
        a, b = sets.held[at, here, 0], sets.held[at, here, 1]
        if here == code:
            a, b = a - (w if second == 0 else 0), b - (w if second == 1 else 0)
        if a + b > 0:
            search.held[k, 0], search.held[k, 1], search.categories[k] = a, b, here
            k += 1
    sort_by_share(search.held, k, search.means, search.order, search.spare_order)
    highest, length, with_missing, a, b = scan_sets_of_two(
        search.held,
        search.order,
        k,
        np.uint64(gone_a),
        np.uint64(gone_b),
        np.uint64(total_a),
        np.uint64(total_b),
        search.f,
        -np.inf,
    )
    return highest, length, with_missing, np.int64(a), np.int64(b), k


@inlined
def best_column_of_sets(
    found: Any, kind: Any, coarse: Any, r: Any, total_a: Any, total_b: Any, search: Any, highest: Any, column: Any
) -> Any:
    """The columns of sets that beat ``highest``, the score of ``column``, for row r: the best one, or -1; its score."""
    sets, f, best, furthest = found.sets, search.f, np.int64(-1), found.furthest[kind]
    columns, scores = sets.column, sets.score
    slack = SLACK * float(total_a + total_b)
    for at in range(sets.place[0]):
        least = highest - slack - SLACK * abs(highest)
        if scores[at] + furthest < least:
            continue
        code = np.int64(coarse[r, columns[at]])
        known, without = sets.known[at, code], sets.without[at, code]
        if known[kind] == UNKNOWN:
            without[kind], known[kind] = bound_without(sets.bound[at], sets.held[at, code], kind, f), BOUNDED
        if without[kind] < least:
            continue
        if known[kind] == BOUNDED:
            without[kind], _, _, _, _, _ = best_set_without(sets, at, code, kind, total_a, total_b, search)
            known[kind] = OTHER
        score = without[kind]
        if score > highest or (score == highest and columns[at] < column):
            highest, column, best = score, columns[at], np.int64(at)
    return best, highest


@jit
def bound_without(bound: Any, held: Any, kind: Any, f: Any) -> Any:
    """``bound``, the score of all categories by themselves, when a row of one of them leaves."""
    w, second = np.int64(kind % HEAVIEST + 1), kind >= HEAVIEST
    a, b = held[0] - (0 if second else w), held[1] - (w if second else 0)
    return bound - alone(held, f) + (f[a] + f[b] - f[a + b])
