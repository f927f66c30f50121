"""Two classes by entropy, the commonest case, with counts in registers: ten times faster than vectors of counts.

These kernels take unsigned scalars, and arrays rather than the tuples that hold them: each field read from a tuple
counts a reference, which costs more than a score. ``f`` must hold x log2 x for every count at the node.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lazyforest.engine.layout import BINS, GROUPS, jit
from lazyforest.engine.sorting import sort_order

SLACK = 1e-10  # per bit: far above the rounding of a score
WIDTH = BINS // GROUPS  # bins of a group; group g has the edges g * WIDTH to (g + 1) * WIDTH


@jit
def score_two(a: Any, b: Any, total_a: Any, total_b: Any, f: Any) -> Any:
    """The score of a cut with a and b on its invalid side. An empty side scores like no cut."""
    c, d = total_a - a, total_b - b
    return (f[a] + f[b] - f[a + b]) + (f[c] + f[d] - f[c + d])


@jit
def highest_edge(sums: Any, missing_a: Any, missing_b: Any, total_a: Any, total_b: Any, f: Any) -> Any:
    """The highest score of the cuts between groups of bins."""
    highest = -np.inf
    for b in range(WIDTH, sums.shape[0], WIDTH):
        one, two = missing_a + np.uint64(sums[b, 0]), missing_b + np.uint64(sums[b, 1])
        highest = max(highest, score_two(one, two, total_a, total_b, f))
    return highest


@jit
def open_bins_of_two(
    sums: Any, missing_a: Any, missing_b: Any, total_a: Any, total_b: Any, f: Any, reach: Any, opened: Any
) -> Any:
    """Mark the bins that may hold, or border on, a cut as good as ``reach``; returns how many, and ``reach`` raised."""
    n_opened, slack = 0, SLACK * float(total_a + total_b)
    for lo in range(0, sums.shape[0] - 1, WIDTH):
        hi = min(lo + WIDTH, sums.shape[0] - 1)
        a, b = missing_a + np.uint64(sums[lo, 0]), missing_b + np.uint64(sums[lo, 1])
        c, d = missing_a + np.uint64(sums[hi, 0]), missing_b + np.uint64(sums[hi, 1])
        if a == c and b == d:
            continue
        highest = max(score_two(a, b, total_a, total_b, f), score_two(c, d, total_a, total_b, f))
        highest = max(highest, score_two(a, d, total_a, total_b, f), score_two(c, b, total_a, total_b, f))
        if highest < reach - slack - SLACK * abs(reach):
            continue
        for k in range(lo + 1, hi):
            c, d = missing_a + np.uint64(sums[k, 0]), missing_b + np.uint64(sums[k, 1])
            reach = max(reach, score_two(c, d, total_a, total_b, f))
        least = reach - slack - SLACK * abs(reach)
        start = score_two(a, b, total_a, total_b, f)
        for k in range(lo + 1, hi + 1):
            c, d = missing_a + np.uint64(sums[k, 0]), missing_b + np.uint64(sums[k, 1])
            if a == c and b == d:
                continue
            stop = score_two(c, d, total_a, total_b, f)
            if not opened[k]:
                highest = max(start, stop)
                if highest < least:
                    highest = max(score_two(a, d, total_a, total_b, f), score_two(c, b, total_a, total_b, f))
                if highest >= least:
                    opened[k] = True
                    n_opened += 1
            a, b, start = c, d, stop
    return n_opened, reach


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
