"""Applying a condition: training rows by their codes, queries by their values."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lazyforest.engine.layout import LOCAL, Scalar, inlined, jit, public
from lazyforest.engine.nodes import NUMBER, weight_of


class Condition(NamedTuple):
    """A condition ready to be applied: to codes of training rows, or to values of queries."""

    column: Scalar
    cut: Scalar
    threshold: Scalar
    missing_is_valid: Scalar
    is_set: Scalar


@jit
def is_valid_code(condition: Any, code: Any, member: Any) -> Any:
    if code == 0:
        return condition.missing_is_valid
    if condition.is_set:
        return member[code]
    return code >= condition.cut


@jit
def is_valid_value(condition: Any, x: Any, member: Any) -> Any:
    """For a query: a number, or the code of a category, -1 if it was never seen."""
    if np.isnan(x):
        return condition.missing_is_valid
    if condition.is_set:
        return x > 0.0 and member[np.int64(x)]
    return x >= condition.threshold


@public
def midpoint(lower: Any, upper: Any) -> Any:
    middle = lower / 2 + upper / 2
    return middle if lower < middle <= upper else upper


@inlined
def threshold_of(table: Any, best: Any) -> Any:
    """Between the two numbers that a cut lies between, or below all of them."""
    threshold = -np.inf
    if best.n_members == NUMBER and best.lower > 0:
        start = table.value_start[best.column] - 1
        threshold = midpoint(table.values[start + best.lower], table.values[start + best.cut])
    return threshold


@inlined
def settle(total: Any, threshold: Any, best: Any, members: Any, best_left: Any, member: Any, criterion: Any) -> Any:
    """Give the condition a side for missing values; mark the members of a set."""
    is_set = best.n_members != NUMBER
    for p in range(best.n_members if is_set else 0):
        member[members[p]] = True
    missing_is_valid = best.missing_is_valid
    if not best.any_missing:  # the heavier side
        invalid = weight_of(best_left, criterion)
        missing_is_valid = weight_of(total, criterion) - invalid > invalid
    return Condition(best.column, best.cut, threshold, missing_is_valid, is_set)


@jit
def part_rows(rows: Any, lo: Any, hi: Any, spare: Any, codes: Any, condition: Any, member: Any, want_right: Any) -> Any:
    """Part rows[lo:hi] by the condition; returns the middle.

    rows = [ c e f | a b d g ]   rows[lo:mid] are invalid, rows[mid:hi] valid; each half keeps its order.
    If the valid side is not wanted its half holds anything.
    """
    mid, others = lo, 0
    simple, cut = not condition.is_set and not condition.missing_is_valid, condition.cut
    for i in range(lo, hi):
        r = rows[i]
        valid = codes[r] >= cut if simple else is_valid_code(condition, codes[r], member)
        spare[others] = r  # written always, kept if valid: no branch to mispredict
        rows[mid] = r
        others += valid
        mid += not valid
    if want_right:
        for i in range(others):
            rows[mid + i] = spare[i]
    return mid


@inlined
def part_queries(queries: Any, lo: Any, hi: Any, spare: Any, X: Any, condition: Any, member: Any) -> Any:
    mid, others = lo, 0
    for i in range(lo, hi):
        q = queries[i]
        if is_valid_value(condition, X[q, condition.column], member):
            spare[others] = q
            others += 1
        else:
            queries[mid] = q
            mid += 1
    for i in range(others):
        queries[mid + i] = spare[i]
    return mid


@jit
def part_lists(small: Any, lo: Any, hi: Any, columns: Any, codes: Any, condition: Any, member: Any) -> Any:
    """Part every list of the block by the condition, each half in its order; returns the middle."""
    lists, valid, row, spare, unordered = small.lists, small.valid, small.row, small.spare, small.unordered
    for i in range(lo, hi):
        local = unordered[i]
        valid[local] = is_valid_code(condition, codes[row[local]], member)
    for k in range(small.listed[0]):
        if not small.counted[columns[k]]:
            part_words(lists[columns[k]], lo, hi, valid, spare)
    return part_words(unordered, lo, hi, valid, spare)


@jit
def part_words(words: Any, lo: Any, hi: Any, valid: Any, spare: Any) -> Any:
    mid, others = lo, 0
    for i in range(lo, hi):
        word = words[i]
        is_valid = valid[word & LOCAL]
        spare[others] = word  # written always, kept if valid: no branch to mispredict
        words[mid] = word
        others += is_valid
        mid += not is_valid
    for i in range(others):
        words[mid + i] = spare[i]
    return mid
