"""Two classes by entropy, the commonest case, with counts in registers: ten times faster than vectors of counts.

These kernels take unsigned scalars, and arrays rather than the tuples that hold them: each field read from a tuple
counts a reference, which costs more than a score. ``f`` must hold x log2 x for every count at the node.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lazyforest.engine.layout import EDGES, GROUPS, jit
from lazyforest.engine.sorting import sort_order

FEW = 5  # bins
SLACK = 1e-10  # per bit: far above the rounding of a score


@jit
def score_two(a: Any, b: Any, total_a: Any, total_b: Any, f: Any) -> Any:
    """The score of a cut with a and b on its invalid side. An empty side scores like no cut."""
    c, d = total_a - a, total_b - b
    return (f[a] + f[b] - f[a + b]) + (f[c] + f[d] - f[c + d])


@jit
def count_groups(bins: Any) -> Any:
    """Into how many groups so many bins fall."""
    groups = 0
    while groups < GROUPS and EDGES[groups] < bins - 1:
        groups += 1
    return groups


@jit
def score_edges(sums: Any, missing_a: Any, missing_b: Any, total_a: Any, total_b: Any, f: Any, edges: Any) -> Any:
    """The scores of the cuts between groups of bins, and at both ends; returns the highest."""
    highest = -np.inf
    for group in range(count_groups(sums.shape[0]) + 1):
        b = min(EDGES[group], sums.shape[0] - 1)
        edges[group] = score_at(sums, b, missing_a, missing_b, total_a, total_b, f)
        highest = max(highest, edges[group])
    return highest


@jit
def open_bins_of_two(
    sums: Any,
    missing_a: Any,
    missing_b: Any,
    total_a: Any,
    total_b: Any,
    f: Any,
    groups: Any,
    edges: Any,
    reach: Any,
    scores: Any,
    opened: Any,
    listed: Any,
    n_opened: Any,
) -> Any:
    """Mark the bins in some groups, a bit each, that may hold, or border on, a cut as good as ``reach``, and list them
    behind the ``n_opened`` before; returns how many these are now, and ``reach`` raised.

    Groups of bins, then a FEW of them, then each: the edges of what may win raise ``reach`` before a closer look.
    """
    slack, few = SLACK * float(total_a + total_b), np.int64(FEW)
    for group in range(count_groups(sums.shape[0])):
        if not (groups >> group) & 1:
            continue
        start, stop = EDGES[group], min(EDGES[group + 1], sums.shape[0] - 1)
        scores[start], scores[stop] = edges[group], edges[group + 1]
        least = reach - slack - SLACK * abs(reach)
        if not may_hold(sums, start, stop, missing_a, missing_b, total_a, total_b, f, scores, least):
            continue
        for k in range(start + few, stop, few):
            scores[k] = score_at(sums, k, missing_a, missing_b, total_a, total_b, f)
            reach = max(reach, scores[k])
        for lo in range(start, stop, few):
            hi, least = min(lo + few, stop), reach - slack - SLACK * abs(reach)
            if not may_hold(sums, lo, hi, missing_a, missing_b, total_a, total_b, f, scores, least):
                continue
            for k in range(lo + 1, hi):
                scores[k] = score_at(sums, k, missing_a, missing_b, total_a, total_b, f)
                reach = max(reach, scores[k])
            least = reach - slack - SLACK * abs(reach)
            for k in range(lo + 1, hi + 1):
                if not opened[k] and may_hold(sums, k - 1, k, missing_a, missing_b, total_a, total_b, f, scores, least):
                    opened[k], listed[n_opened] = True, k
                    n_opened += 1
    return n_opened, reach


@jit
def score_at(sums: Any, b: Any, missing_a: Any, missing_b: Any, total_a: Any, total_b: Any, f: Any) -> Any:
    """Of the cut after bin b."""
    return score_two(missing_a + np.uint64(sums[b, 0]), missing_b + np.uint64(sums[b, 1]), total_a, total_b, f)


@jit
def may_hold(
    sums: Any,
    lo: Any,
    hi: Any,
    missing_a: Any,
    missing_b: Any,
    total_a: Any,
    total_b: Any,
    f: Any,
    scores: Any,
    least: Any,
) -> Any:
    """Do the bins lo + 1 to hi have rows, and may they hold, or border on, a cut that scores ``least``?"""
    a, b = missing_a + np.uint64(sums[lo, 0]), missing_b + np.uint64(sums[lo, 1])
    c, d = missing_a + np.uint64(sums[hi, 0]), missing_b + np.uint64(sums[hi, 1])
    if a == c and b == d:
        return False
    if max(scores[lo], scores[hi]) >= least:
        return True
    return max(score_two(a, d, total_a, total_b, f), score_two(c, b, total_a, total_b, f)) >= least


@jit
def scan_two(
    counts: Any, start: Any, stop: Any, a: Any, b: Any, total_a: Any, total_b: Any, f: Any, highest: Any
) -> Any:
    """The cuts before counts[start:stop]: the first with the highest score above ``highest``, or -1, and its left."""
    at, best_a, best_b = -1, a, b
    for k in range(start, stop):
        more_a, more_b = np.uint64(counts[k, 0]), np.uint64(counts[k, 1])
        if more_a + more_b == 0:
            continue
        new = score_two(a, b, total_a, total_b, f)
        if new > highest:
            highest, at, best_a, best_b = new, k, a, b
        a, b = a + more_a, b + more_b
    return highest, at, best_a, best_b


@jit
def sets_may_win(held: Any, k: Any, missing_a: Any, missing_b: Any, f: Any, reach: Any) -> Any:
    """May a set of the k categories score as much as ``reach``? None beats all categories by themselves."""
    a, b, total = np.uint64(missing_a), np.uint64(missing_b), missing_a + missing_b
    bound = f[a] + f[b] - f[a + b]
    for i in range(k):
        a, b = np.uint64(held[i, 0]), np.uint64(held[i, 1])
        bound += f[a] + f[b] - f[a + b]
        total += held[i, 0] + held[i, 1]
    return bound >= reach - SLACK * (float(total) + abs(reach))


@jit
def sort_by_share(held: Any, k: Any, means: Any, order: Any, spare: Any) -> None:
    """Order categories by ascending share of the second class, ties by code."""
    for i in range(k):
        means[i] = float(held[i, 1]) / float(held[i, 0] + held[i, 1])
    sort_order(means, order, spare, k)


@jit
def scan_sets_of_two(
    held: Any, order: Any, k: Any, missing_a: Any, missing_b: Any, total_a: Any, total_b: Any, f: Any, highest: Any
) -> Any:
    """The first prefix with the highest score above ``highest``: its length or 0, if it has the missing, its counts."""
    length, with_missing, best_a, best_b = np.int64(0), False, np.uint64(0), np.uint64(0)
    a, b = np.uint64(0), np.uint64(0)
    any_missing = missing_a + missing_b > 0
    for p in range(1, k + 1):
        a, b = a + np.uint64(held[order[p - 1], 0]), b + np.uint64(held[order[p - 1], 1])
        if p < k or any_missing:
            new = score_two(a, b, total_a, total_b, f)
            if new > highest:
                highest, length, with_missing, best_a, best_b = new, np.int64(p), False, a, b
        if p < k and any_missing:
            new = score_two(a + missing_a, b + missing_b, total_a, total_b, f)
            if new > highest:
                highest, length, with_missing, best_a, best_b = new, np.int64(p), True, a + missing_a, b + missing_b
    return highest, length, with_missing, best_a, best_b
