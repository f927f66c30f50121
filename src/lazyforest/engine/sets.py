"""The best set of categories of a node: every prefix of their order by target mean."""

from __future__ import annotations

from typing import Any

import numpy as np

from lazyforest.engine.counts import score
from lazyforest.engine.layout import SQUARED_ERROR, inlined, jit
from lazyforest.engine.nodes import Best, is_empty, is_light
from lazyforest.engine.sorting import sort_order
from lazyforest.engine.two import scan_sets_of_two, sets_may_win, sort_by_share


@inlined
def search_sets(node: Any, search: Any, criterion: Any, j: Any, k: Any, reach: Any, best: Any) -> Any:
    """The best set among the k categories in ``search.categories``; ``search.corner`` holds the missing rows.

    ``reach`` is a score known to be had.
    """
    if criterion is None or node.two:
        missing = search.corner
        if sets_may_win(search.held, k, missing[0], missing[1], search.f, max(reach, best.score)):
            best = search_prefixes_of_two(node, search, j, k, best)
        return best
    return search_orders(node, search, criterion, j, k, best)


@jit
def search_orders(node: Any, search: Any, criterion: Any, j: Any, k: Any, best: Any) -> Any:
    """The best prefix of any order: by mean or, for more than two classes, by the share of each."""
    if criterion == SQUARED_ERROR:
        return search_prefixes(node, search, criterion, j, k, np.int64(-1), best)
    present, last = 0, np.int64(0)
    for c in range(node.total.size):
        if node.total[c] > 0:
            present, last = present + 1, np.int64(c)
    for c in range(node.total.size):
        if node.total[c] > 0 and (present > 2 or c == last):
            best = search_prefixes(node, search, criterion, j, k, np.int64(c), best)
    return best


@jit
def sort_by_mean(search: Any, k: Any, c: Any) -> None:
    """Order the categories by ascending share of class c (regression: by mean), ties by code."""
    means, order, held = search.means, search.order, search.held
    for i in range(k):
        if c < 0:
            means[i] = float(held[i, 1]) / float(held[i, 0])
        else:
            weight = 0
            for d in range(held.shape[1]):
                weight += held[i, d]
            means[i] = float(held[i, c]) / float(weight)
    sort_order(means, order, search.spare_order, k)


@jit
def search_prefixes(node: Any, search: Any, criterion: Any, j: Any, k: Any, c: Any, best: Any) -> Any:
    """Every prefix of the order by class c is a set: without the missing rows, then with them."""
    sort_by_mean(search, k, c)
    inside, missing = search.left, search.corner
    size = inside.size
    inside[:] = 0
    any_missing = not is_empty(missing, size)
    found = 0
    for p in range(1, k + 1):
        for d in range(size):
            inside[d] += search.held[search.order[p - 1], d]
        for variant in range(2 if any_missing and p < k else 1):
            if p == k and not any_missing:
                break
            for d in range(size):
                inside[d] += missing[d] if variant == 1 else 0
            new = score(inside, node.total, criterion, search.f)
            first = new > best.score or (new == best.score and j < best.column)  # an order's sets are tried in turn
            if first and not is_light(inside, node, criterion):
                best, found = Best(new, j, 0, 0, variant == 1, any_missing, p), p
                for d in range(size):
                    search.best_left[d] = node.total[d] - inside[d]
            for d in range(size):
                inside[d] -= missing[d] if variant == 1 else 0
    for p in range(found):
        search.members[p] = search.categories[search.order[p]]
    return best


@jit
def search_prefixes_of_two(node: Any, search: Any, j: Any, k: Any, best: Any) -> Any:
    """``search_prefixes`` for two classes, in the order by the second."""
    held, order, missing, total = search.held, search.order, search.corner, node.total
    sort_by_share(held, k, search.means, order, search.spare_order)
    missing_a, missing_b = np.uint64(missing[0]), np.uint64(missing[1])
    score = np.nextafter(best.score, -np.inf) if j < best.column else best.score  # a tie comes first, or not
    highest, length, with_missing, a, b = scan_sets_of_two(
        held, order, k, missing_a, missing_b, np.uint64(total[0]), np.uint64(total[1]), search.f, score
    )
    if length == 0:
        return best
    search.best_left[0], search.best_left[1] = total[0] - np.int64(a), total[1] - np.int64(b)
    for p in range(length):
        search.members[p] = search.categories[order[p]]
    return Best(highest, j, 0, 0, with_missing, missing_a + missing_b > 0, length)
