"""Applying a condition: training rows by their codes, queries by their values."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lazyforest.engine.conditions import LOCAL, NUMBER
from lazyforest.engine.layout import BINS, Scalar, jit


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


@jit
def midpoint(lower: Any, upper: Any) -> Any:
    middle = lower / 2 + upper / 2
    return middle if lower < middle <= upper else upper


@jit
def settle(node: Any, table: Any, best: Any, search: Any, bag: Any) -> Any:
    """Find the threshold between the values at the node, and where a missing value goes; mark a set's members."""
    j = best.column
    is_set = best.n_members != NUMBER
    for p in range(best.n_members if is_set else 0):
        bag.member[search.members[p]] = True
    lower, upper, any_missing = np.int64(0), np.int64(table.first_code[j, BINS]), False
    valid, invalid = np.int64(0), np.int64(0)
    for i in range(node.lo, node.hi):
        r = node.rows[i]
        code, w = np.int64(table.codes[j, r]), np.int64(search.weight[r])
        if code == 0:
            any_missing = True
        elif is_set:
            if bag.member[code]:
                valid += w
            else:
                invalid += w
        elif code < best.cut:
            lower, invalid = max(lower, code), invalid + w
        else:
            upper, valid = min(upper, code), valid + w
    threshold = -np.inf
    if not is_set and lower > 0:
        start = table.value_start[j] - 1
        threshold = midpoint(table.values[start + lower], table.values[start + upper])
    return Condition(j, best.cut, threshold, best.missing_is_valid if any_missing else valid > invalid, is_set)


@jit
def part_rows(rows: Any, lo: Any, hi: Any, spare: Any, codes: Any, condition: Any, member: Any, want_right: Any) -> Any:
    """Part rows[lo:hi] by the condition; returns the middle.

    rows = [ c e f | a b d g ]   rows[lo:mid] are invalid, rows[mid:hi] valid; each half keeps its order.
    If the valid side is not wanted its half holds anything.
    """
    mid, others = lo, 0
    for i in range(lo, hi):
        r = rows[i]
        if is_valid_code(condition, codes[r], member):
            spare[others] = r
            others += 1
        else:
            rows[mid] = r
            mid += 1
    if want_right:
        rows[mid : mid + others] = spare[:others]
    return mid


@jit
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
    queries[mid : mid + others] = spare[:others]
    return mid


@jit
def part_lists(small: Any, lo: Any, hi: Any, columns: Any, codes: Any, condition: Any, member: Any) -> Any:
    """Part every list of the block by the condition, each half in its order; returns the middle."""
    last = small.lists.shape[0] - 1
    for i in range(lo, hi):
        local = small.lists[last, i]
        small.valid[local] = is_valid_code(condition, codes[small.row[local]], member)
    mid = lo
    for k in range(columns.size + 1):
        words = small.lists[columns[k] if k < columns.size else last]
        mid, others = lo, 0
        for i in range(lo, hi):
            word = words[i]
            valid = small.valid[word & LOCAL]
            small.spare[others] = word  # written always, kept if valid: no branch to mispredict
            words[mid] = word
            others += valid
            mid += not valid
        words[mid:hi] = small.spare[:others]
    return mid
