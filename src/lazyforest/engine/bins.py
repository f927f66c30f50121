"""The best condition of a large node, by histogram.

Rows are added to coarse bins. The score is convex, so the counts at the ends of a stretch of bins bound every cut
inside it: stretches that cannot reach the best score are left alone, the others are opened, first into bins, then
into single codes. What wins is the exact best cut.

Hot functions take arrays, not the tuples that hold them: reading a tuple's field counts a reference, which costs more
than the arithmetic.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lazyforest.engine.counts import bound, score
from lazyforest.engine.layout import BINS, EDGES, ENTROPY, EVERY_GROUP, GROUPS, PERFECT, SQUARED_ERROR, inlined, jit
from lazyforest.engine.nodes import NUMBER, Best, add, comes_first, copy, inspect, is_empty, is_light, no_condition
from lazyforest.engine.sets import search_sets
from lazyforest.engine.sorting import sort_words
from lazyforest.engine.two import open_bins_of_two, scan_two, score_edges, score_two


@inlined
def search_large(node: Any, table: Any, target: Any, search: Any, rules: Any, criterion: Any, filled: Any) -> Any:
    """``filled``: the histograms are, of all columns at once."""
    count = inspect(node, table, search, rules)
    best = no_condition(node, criterion, search.f)
    is_category, histogram = table.is_category, search.histogram
    slots = histogram.shape[0]
    for start in range(0, count, slots):
        if best.score >= PERFECT and rules.criterion == ENTROPY:
            break
        columns = search.inspected[start : min(count, start + slots)]
        if not filled:
            fill_histogram(
                node.rows,
                node.lo,
                node.hi,
                node.shift,
                target.y,
                search.weight,
                table.coarse,
                table.first_code,
                columns,
                criterion,
                search.n_bins,
                histogram,
            )
        reach, promising = best.score, -1
        for slot in range(columns.size):
            if not is_category[columns[slot]]:
                highest = score_groups(node, search, criterion, slot)
                if highest > reach:
                    reach, promising = highest, slot
        for slot in range(columns.size):
            if is_category[columns[slot]]:
                best = search_categories(node, table, target, search, criterion, columns[slot], slot, reach, best)
        # the most promising column first: it raises what the others have to reach
        for turn in range(-1, columns.size):
            slot = promising if turn < 0 else turn
            if slot < 0 or (turn >= 0 and slot == promising) or is_category[columns[slot]]:
                continue
            best = search_column(node, table, target, search, criterion, columns[slot], slot, best, reach)
    return best


@jit
def fill_histogram(
    rows: Any,
    lo: Any,
    hi: Any,
    shift: Any,
    y: Any,
    weight: Any,
    coarse: Any,
    first_code: Any,
    columns: Any,
    criterion: Any,
    n_bins: Any,
    histogram: Any,
) -> None:
    """Add rows[lo:hi] to a bin of every column; missing values are bin 0."""
    n = columns.size
    for slot in range(n):
        n_bins[slot] = min(first_code[columns[slot], BINS], BINS)
        histogram[slot, : n_bins[slot]] = 0
    if criterion == SQUARED_ERROR:
        for i in range(lo, hi):
            r = rows[i]
            w = np.int64(weight[r])
            moment = w * (np.int64(y[r]) - shift)
            for slot in range(n):
                b = coarse[r, columns[slot]]
                histogram[slot, b, 0] += w
                histogram[slot, b, 1] += moment
                histogram[slot, b, 2] += max(moment, 0)
    elif columns[n - 1] - columns[0] == n - 1:  # neighbours, as when all columns are looked at: twice as fast
        first = columns[0]
        for i in range(lo, hi):
            r = rows[i]
            w, c = weight[r], y[r]
            for slot in range(n):
                histogram[slot, coarse[r, first + slot], c] += w
    else:
        for i in range(lo, hi):
            r = rows[i]
            w, c = weight[r], y[r]
            for slot in range(n):
                histogram[slot, coarse[r, columns[slot]], c] += w


@inlined
def score_groups(node: Any, search: Any, criterion: Any, slot: Any) -> Any:
    """Turn a column's histogram into sums over the bins 1 to b, the missing rows apart; score the cuts between groups.

    Returns the highest score.
    """
    sums, missing, edges = search.histogram[slot], search.missing[slot], search.edges[slot]
    total, left, f = node.total, search.left, search.f
    any_missing, n_bins = False, search.n_bins[slot]
    for c in range(missing.size):
        missing[c] = sums[0, c]
        any_missing |= missing[c] != 0
    for c in range(sums.shape[1]):
        sums[0, c] = 0
        below = sums[0, c]
        for b in range(1, n_bins):
            below += sums[b, c]
            sums[b, c] = below
    if criterion is None or node.two:
        sums, total_a, total_b = sums[:n_bins], np.uint64(total[0]), np.uint64(total[1])
        one, two = np.uint64(missing[0]), np.uint64(missing[1])
        highest = score_edges(sums, one, two, total_a, total_b, f, edges[0])
        if any_missing:
            highest = max(highest, score_edges(sums, np.uint64(0), np.uint64(0), total_a, total_b, f, edges[1]))
        return highest
    highest = -np.inf
    for variant in range(2 if any_missing else 1):
        for group in range(GROUPS + 1):
            new = edge(sums, min(EDGES[group], n_bins - 1), missing, variant, left, total, criterion, f)
            edges[variant, group] = new
            highest = max(highest, new)
    return highest


@jit
def edge(sums: Any, b: Any, missing: Any, variant: Any, left: Any, total: Any, criterion: Any, f: Any) -> Any:
    """The score of the cut after bin b, whose invalid side goes to ``left``; minus infinity if a side is empty."""
    empty, full = True, True
    for c in range(left.size):
        left[c] = sums[b, c]
        if variant == 0:
            left[c] += missing[c]
        empty &= left[c] == 0
        full &= left[c] == total[c]
    return -np.inf if empty or full else score(left, total, criterion, f)


@jit
def is_flat(sums: Any, lo: Any, hi: Any, size: Any) -> Any:
    """Do the bins lo + 1 to hi hold no row?"""
    for c in range(size):
        if sums[lo, c] != sums[hi, c]:
            return False
    return True


@inlined
def search_column(
    node: Any, table: Any, target: Any, search: Any, criterion: Any, j: Any, slot: Any, best: Any, reach: Any
) -> Any:
    """The best cut of a column of numbers, if it is better than ``best``; ``reach`` is a score known to be had."""
    n_opened = open_column(node, search, criterion, slot, max(reach, best.score))
    if n_opened == 0:
        return best
    if table.first_code[j, BINS] > BINS:
        fill_fine(node, table, target, search, criterion, j, n_opened)
    return search_cuts(node, table, search, criterion, j, slot, n_opened, best)


@jit
def open_column(node: Any, search: Any, criterion: Any, slot: Any, reach: Any) -> Any:
    """Mark the bins that may hold, or border on, a cut as good as ``reach``; returns how many.

    A bound is compared with slack, far above the rounding of a score: it decides what is looked at, never what wins.
    Where sides may be too light nothing bounds, and everything is looked at.
    """
    sums, missing, total = search.histogram[slot, : search.n_bins[slot]], search.missing[slot], node.total
    if criterion is None or node.two:
        f, edges, scores, opened, listed = search.f, search.edges[slot], search.scores, search.opened, search.listed
        return open_column_of_two(sums, missing, total, f, EVERY_GROUP, edges, reach, scores, opened, listed)
    reach = reach if node.least == 0.0 else -np.inf
    n_opened = np.int64(0)
    search.opened[:] = False
    for variant in range(1 if is_empty(missing, total.size) else 2):
        n_more, reach = open_groups(node, search, criterion, slot, variant, reach)
        n_opened += n_more
    list_opened(search.opened, sums.shape[0], search.listed)
    return n_opened


@jit
def open_column_of_two(
    sums: Any,
    missing: Any,
    total: Any,
    f: Any,
    groups: Any,
    edges: Any,
    reach: Any,
    scores: Any,
    opened: Any,
    listed: Any,
) -> Any:
    """``open_column`` for two classes, in some groups of bins; ``edges`` has the scores of the cuts between them."""
    n_opened, total_a, total_b = np.int64(0), np.uint64(total[0]), np.uint64(total[1])
    one, two, nothing = np.uint64(missing[0]), np.uint64(missing[1]), np.uint64(0)
    opened[:] = False
    n_opened, reach = open_bins_of_two(
        sums, one, two, total_a, total_b, f, groups, edges[0], reach, scores, opened, listed, n_opened
    )
    if one + two > nothing:
        n_opened, reach = open_bins_of_two(
            sums, nothing, nothing, total_a, total_b, f, groups, edges[1], reach, scores, opened, listed, n_opened
        )
        list_opened(opened, sums.shape[0], listed)
    return n_opened


@jit
def list_opened(opened: Any, n_bins: Any, listed: Any) -> None:
    """The opened bins, ascending."""
    n = 0
    for b in range(1, n_bins):
        if opened[b]:
            listed[n] = b
            n += 1


@jit
def search_cuts(node: Any, table: Any, search: Any, criterion: Any, j: Any, slot: Any, n_opened: Any, best: Any) -> Any:
    """The best cut of the opened bins, if it is better than ``best``."""
    any_missing = not is_empty(search.missing[slot], node.total.size)
    exact = table.first_code[j, BINS] <= BINS  # bins of one code each
    for variant in range(2 if any_missing else 1):
        if criterion is None or node.two:
            best = search_opened_of_two(node, search, j, slot, variant, any_missing, exact, n_opened, best)
        else:
            best = search_opened(node, search, criterion, j, slot, variant, any_missing, exact, best)
    return best


@jit
def open_groups(node: Any, search: Any, criterion: Any, slot: Any, variant: Any, reach: Any) -> Any:
    """Open the bins of the groups that may hold a cut as good as ``reach``, which their edges raise."""
    sums, missing, edges = search.histogram[slot], search.missing[slot], search.edges[slot]
    total, left, corner, f = node.total, search.left, search.corner, search.f
    n_opened = 0
    last = search.n_bins[slot] - 1
    for group in range(GROUPS):
        lo, hi = min(EDGES[group], last), min(EDGES[group + 1], last)
        if is_flat(sums, lo, hi, left.size):
            continue
        least = reach - 1e-10 * (abs(reach) + float(node.weight))
        if max(edges[variant, group], edges[variant, group + 1]) < least:
            edge(sums, lo, missing, variant, left, total, criterion, f)
            if bound(left, sums[lo], sums[hi], total, corner, criterion, f) < least:
                continue
        n_more, reach = open_bins(node, search, criterion, slot, lo, hi, variant, reach)
        n_opened += n_more
    return n_opened, reach


@jit
def open_bins(node: Any, search: Any, criterion: Any, slot: Any, lo: Any, hi: Any, variant: Any, reach: Any) -> Any:
    """Mark the bins lo + 1 to hi that may hold, or border on, a cut as good as ``reach``, which their edges raise."""
    sums, missing, scores, opened = search.histogram[slot], search.missing[slot], search.scores, search.opened
    total, left, corner, f = node.total, search.left, search.corner, search.f
    size, bounded = left.size, node.least == 0.0
    for b in range(lo, hi + 1):
        if b > lo and is_flat(sums, b - 1, b, size):
            scores[b] = scores[b - 1]
        else:
            scores[b] = edge(sums, b, missing, variant, left, total, criterion, f)
            if bounded:
                reach = max(reach, scores[b])
    least, n_opened = reach - 1e-10 * (abs(reach) + float(node.weight)), 0
    for b in range(lo + 1, hi + 1):
        if opened[b] or is_flat(sums, b - 1, b, size):
            continue
        highest = max(scores[b - 1], scores[b])
        if highest < least:
            edge(sums, b - 1, missing, variant, left, total, criterion, f)
            highest = bound(left, sums[b - 1], sums[b], total, corner, criterion, f)
        if highest >= least or not bounded:
            opened[b] = True
            n_opened += 1
    return n_opened, reach


@jit
def fill_fine(node: Any, table: Any, target: Any, search: Any, criterion: Any, j: Any, n_opened: Any) -> None:
    """The histogram of the opened bins, code by code: ``fine[starts[b]:stops[b]]``, their codes in ``fine_codes``.

    Many rows per code are added to a place for every code; few are sorted, and get places for the codes they have.
    """
    opened, starts, stops, first_code = search.opened, search.starts, search.stops, table.first_code[j]
    fine, fine_codes, codes, coarse = search.fine, search.fine_codes, table.codes[j], table.coarse
    rows, y, weight, shift, listed = node.rows, target.y, search.weight, node.shift, search.listed
    used = 0
    for i in range(n_opened):
        b = listed[i]
        starts[b] = used
        used += first_code[b + 1] - first_code[b]
        stops[b] = used
    if used > 4 * ((node.hi - node.lo) * n_opened // BINS) + 64:
        sort_fine(node, table, target, search, criterion, j, n_opened)
        return
    for i in range(n_opened):
        b = listed[i]
        for k in range(starts[b], stops[b]):
            fine_codes[k] = first_code[b] + k - starts[b]
    fine[:used] = 0
    for i in range(node.lo, node.hi):
        r = rows[i]
        b = coarse[r, j]
        if opened[b]:
            at = starts[b] + np.int64(codes[r]) - first_code[b]
            add(fine[at], y[r], weight[r], shift, criterion)


@jit
def sort_fine(node: Any, table: Any, target: Any, search: Any, criterion: Any, j: Any, n_opened: Any) -> None:
    opened, starts, stops, first_code = search.opened, search.starts, search.stops, table.first_code[j]
    fine, fine_codes, codes, coarse = search.fine, search.fine_codes, table.codes[j], table.coarse
    rows, y, weight, words = node.rows, target.y, search.weight, search.words
    n = np.int64(0)
    for i in range(node.lo, node.hi):
        r = rows[i]
        words[n] = (np.uint64(codes[r]) << np.uint64(32)) | np.uint64(r)
        n += opened[coarse[r, j]]
    sort_words(words, search.spare, search.places, n, np.uint64(32), first_code[BINS])
    at, used = 0, 0
    for i in range(n_opened):
        b = search.listed[i]
        starts[b] = used
        while at < n:
            code, r = np.int64(words[at] >> np.uint64(32)), words[at] & np.uint64(0xFFFFFFFF)
            if code >= first_code[b + 1]:
                break
            if used == starts[b] or fine_codes[used - 1] != code:
                fine_codes[used] = code
                fine[used] = 0
                used += 1
            add(fine[used - 1], y[r], weight[r], node.shift, criterion)
            at += 1
        stops[b] = used


@jit
def search_opened(
    node: Any, search: Any, criterion: Any, j: Any, slot: Any, variant: Any, any_missing: Any, exact: Any, best: Any
) -> Any:
    """Every cut of the opened bins.

    The bins on both sides of the best cut are open, for their edges reach its score. So the code below it is known.
    """
    sums, missing, opened, starts, stops = (
        search.histogram[slot],
        search.missing[slot],
        search.opened,
        search.starts,
        search.stops,
    )
    total, left, inside, f = node.total, search.left, search.corner, search.f
    fine, fine_codes, size = search.fine, search.fine_codes, left.size
    lower = np.int64(0)
    for b in range(1, search.n_bins[slot]):
        if not opened[b]:
            lower = lower if is_flat(sums, b - 1, b, size) else np.int64(b if exact else -1)
            continue
        edge(sums, b - 1, missing, variant, left, total, criterion, f)
        some = not is_empty(left, size)
        for k in range(np.int64(b) if exact else starts[b], np.int64(b + 1) if exact else stops[b]):
            for c in range(size):
                inside[c] = np.int64(sums[b, c]) - np.int64(sums[b - 1, c]) if exact else fine[k, c]
            if is_empty(inside, size):
                continue
            code = np.int64(k) if exact else np.int64(fine_codes[k])
            if some:
                new = score(left, total, criterion, f)
                if new >= best.score and comes_first(new, j, code, best) and not is_light(left, node, criterion):
                    copy(left, search.best_left, left.size)
                    best = Best(new, j, lower, code, variant == 1, any_missing, NUMBER)
            some, lower = True, code
            for c in range(size):
                left[c] += inside[c]
    return best


@jit
def search_opened_of_two(
    node: Any, search: Any, j: Any, slot: Any, variant: Any, any_missing: Any, exact: Any, n_opened: Any, best: Any
) -> Any:
    """``search_opened`` for two classes, along the list of opened bins."""
    sums, missing, listed, starts, stops = (
        search.histogram[slot],
        search.missing[slot],
        search.listed,
        search.starts,
        search.stops,
    )
    fine, fine_codes, f = search.fine, search.fine_codes, search.f
    total_a, total_b = np.uint64(node.total[0]), np.uint64(node.total[1])
    missing_a, missing_b = np.uint64(0), np.uint64(0)
    if variant == 0:
        missing_a, missing_b = np.uint64(missing[0]), np.uint64(missing[1])
    highest, at = np.nextafter(best.score, -np.inf), np.int64(-1)  # a tie may still come first
    best_a, best_b = missing_a, missing_b
    for i in range(n_opened):
        b = listed[i]
        one, two = missing_a + np.uint64(sums[b - 1, 0]), missing_b + np.uint64(sums[b - 1, 1])
        if exact:
            new = score_two(one, two, total_a, total_b, f)
            if new > highest:
                highest, at, best_a, best_b = new, np.int64(b), one, two
        else:
            new, k, one, two = scan_two(fine, starts[b], stops[b], one, two, total_a, total_b, f, highest)
            if k >= 0:
                highest, at, best_a, best_b = new, np.int64(k), one, two
    if at < 0 or not comes_first(highest, j, at if exact else fine_codes[at], best):
        return best
    search.best_left[0], search.best_left[1] = best_a, best_b
    lower = at - 1
    if exact:
        while lower > 0 and is_flat(sums, lower - 1, lower, sums.shape[1]):
            lower -= 1
        return Best(highest, j, lower, at, variant == 1, any_missing, NUMBER)
    while lower >= 0 and is_empty(fine[lower], fine.shape[1]):
        lower -= 1
    return Best(
        highest, j, fine_codes[lower] if lower >= 0 else np.int64(0), fine_codes[at], variant == 1, any_missing, NUMBER
    )


@jit
def list_categories(histogram: Any, n_codes: Any, size: Any, categories: Any, held: Any, gone: Any) -> Any:
    """The categories of a histogram that have rows, and the missing rows; returns how many."""
    k = np.int64(0)
    for b in range(1, n_codes):
        if not is_empty(histogram[b], size):
            categories[k] = b
            for c in range(size):
                held[k, c] = histogram[b, c]
            k += 1
    for c in range(size):
        gone[c] = histogram[0, c]
    return k


@jit
def search_categories(
    node: Any, table: Any, target: Any, search: Any, criterion: Any, j: Any, slot: Any, reach: Any, best: Any
) -> Any:
    """Statistics per category, from the histogram or, if there are too many for it, from sorting; then the sets."""
    n_codes, size, held, categories, gone = (
        table.first_code[j, BINS],
        search.left.size,
        search.held,
        search.categories,
        search.corner,
    )
    if n_codes <= BINS:
        k = list_categories(search.histogram[slot], n_codes, size, categories, held, gone)
    else:
        n, codes, rows, y, weight = node.hi - node.lo, table.codes[j], node.rows, target.y, search.weight
        words = search.words
        for i in range(n):
            r = rows[node.lo + i]
            words[i] = (np.uint64(codes[r]) << np.uint64(32)) | np.uint64(r)
        sort_words(words, search.spare, search.places, n, np.uint64(32), n_codes)
        gone[:] = 0
        k, last = np.int64(0), np.uint64(0)
        for i in range(n):
            code, r = words[i] >> np.uint64(32), words[i] & np.uint64(0xFFFFFFFF)
            if code == np.uint64(0):
                add(gone, y[r], weight[r], node.shift, criterion)
                continue
            if code != last:
                categories[k] = np.int64(code)
                held[k] = 0
                last = code
                k += 1
            add(held[k - 1], y[r], weight[r], node.shift, criterion)
    return search_sets(node, search, criterion, j, k, reach, best)
