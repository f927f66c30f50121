"""The best condition of a node: numbers, categories, missing values.

A large node is searched by histogram: coarse bins first, then every code of the bins that may hide a better cut.
A small node is searched along sorted lists. Both find the same condition, the reference's.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lazyforest.engine.bootstrap import TICKET, mix
from lazyforest.engine.counts import bound, score, side
from lazyforest.engine.layout import (
    BINS,
    BLOCK,
    HISTOGRAM_COLUMNS,
    MIN_GAIN,
    ROW,
    SQUARED_ERROR,
    Array,
    Scalar,
    Table,
    Target,
    jit,
)

LOCAL, SHIFT = 0xFFFF, 16  # a word of a sorted list: (code among those listed) << SHIFT | local row number
NUMBER = -1  # in place of a number of members
INSERTION_SORT = 48  # up to here cheaper than a merge sort and its allocations


class Node(NamedTuple):
    """A node to search: rows[lo:hi] of the table, and their statistics (regression: targets about ``shift``)."""

    rows: Array
    lo: Scalar
    hi: Scalar
    total: Array
    shift: Scalar
    least: Scalar  # what each side has to weigh
    key: Scalar


class Best(NamedTuple):
    """A condition: ``cut`` is the lowest valid code of a number; a set has its codes in ``Search.members``."""

    score: Scalar
    column: Scalar  # -1: none
    cut: Scalar
    missing_is_valid: Scalar
    n_members: Scalar  # NUMBER, or the size of the set


class Search(NamedTuple):
    """Buffers of a search. What one search leaves there means nothing to the next, except ``members``."""

    weight: Array  # (rows,) weight of each row in this bootstrap
    f: Array  # x log2 x
    histogram: Array  # (HISTOGRAM_COLUMNS, BINS, statistics)
    edges: Array  # (HISTOGRAM_COLUMNS, 2, BINS): score of the cut before a bin; missing rows invalid, or valid
    fine: Array  # (codes, statistics): the histogram of the opened bins, code by code
    opened: Array  # (BINS,): where a bin starts in ``fine``, or -1
    left: Array  # (statistics,)
    corner: Array  # (statistics,)
    columns: Array  # the columns that may be used, ascending
    inspected: Array  # the columns that this node looks at
    words: Array  # uint64, to be sorted
    categories: Array  # the codes present at the node
    held: Array  # (categories, statistics)
    means: Array
    order: Array
    members: Array


class Small(NamedTuple):
    """At most BLOCK rows: what they weigh and, per column, their order."""

    row: Array  # (BLOCK,) their numbers in the table
    weight: Array  # (BLOCK,)
    y: Array  # (BLOCK,)
    lists: Array  # (columns + 1, BLOCK) words, ascending; the last list has no order
    spare: Array  # (BLOCK,)
    valid: Array  # (BLOCK,) which side a row goes to


def new_search(table: Table, target: Target, weight: Array, f: Array, columns: Array) -> Search:
    m, n = table.codes.shape
    statistics = target.n_classes or 2
    kept = target.n_classes or 3  # histograms of regression: weight, sum, sum of the positive
    n_codes = table.first_code[:, BINS]
    most = int(n_codes.max(initial=BINS))
    wide_sets = bool(np.any(table.is_category & (n_codes > BINS)))
    categories = min(most, n) + 1 if wide_sets else BINS
    return Search(
        weight=weight,
        f=f,
        histogram=np.empty((min(m, HISTOGRAM_COLUMNS), BINS, kept), dtype=weight.dtype),
        edges=np.empty((min(m, HISTOGRAM_COLUMNS), 2, BINS)),
        fine=np.empty((most, statistics), dtype=np.int64),
        opened=np.empty(BINS, dtype=np.int64),
        left=np.empty(statistics, dtype=np.int64),
        corner=np.empty(statistics, dtype=np.int64),
        columns=columns,
        inspected=np.empty(m, dtype=np.int64),
        words=np.empty(max(BLOCK, n if wide_sets else 0), dtype=np.uint64),
        categories=np.empty(categories, dtype=np.int64),
        held=np.empty((categories, statistics), dtype=np.int64),
        means=np.empty(categories),
        order=np.empty(categories, dtype=np.int64),
        members=np.empty(categories, dtype=np.int64),
    )


def new_small(table: Table, target: Target, weight: Array, listed: bool) -> Small:
    m = table.codes.shape[0]
    return Small(
        row=np.empty(BLOCK, dtype=ROW),
        weight=np.empty(BLOCK, dtype=weight.dtype),
        y=np.empty(BLOCK, dtype=target.y.dtype),
        lists=np.empty((m + 1 if listed else 1, BLOCK), dtype=np.uint32),
        spare=np.empty(BLOCK, dtype=np.uint32),
        valid=np.empty(BLOCK, dtype=np.bool_),
    )


@jit
def add(held: Any, y: Any, weight: Any, shift: Any, regression: Any) -> None:
    """One more row in the statistics."""
    if regression:
        held[0] += weight
        held[1] += weight * (np.int64(y) - shift)
    else:
        held[y] += weight


@jit
def is_empty(held: Any, size: Any) -> Any:
    for c in range(size):
        if held[c] != 0:
            return False
    return True


@jit
def comes_first(new: Any, cut: Any, best: Any, column: Any) -> Any:
    """Within a column: the higher score, then the lower cut. Against an earlier column: the higher score."""
    return new > best.score or (new == best.score and best.column == column and cut < best.cut)


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
    return min(weight, weight_of(node.total, criterion) - weight) < node.least


@jit
def inspect(node: Any, table: Any, search: Any, rules: Any) -> Any:
    """Choose the columns to look at, ascending in ``search.inspected``; returns how many."""
    m = search.columns.size
    if rules.max_features >= m:
        search.inspected[:m] = search.columns
        return m
    tickets = np.empty(m, dtype=np.uint64)
    for k in range(m):
        tickets[k] = mix(node.key, TICKET + np.uint64(search.columns[k]))
    order = np.argsort(tickets, kind="mergesort")
    count, splittable = 0, False
    while count < m and (count < rules.max_features or not splittable):
        j = search.columns[order[count]]
        search.inspected[count] = j
        count += 1
        code = table.codes[j, node.rows[node.lo]]
        for i in range(node.lo + 1, node.hi):
            if splittable:
                break
            splittable = table.codes[j, node.rows[i]] != code
    search.inspected[:count].sort()
    return count


@jit
def no_condition(node: Any, rules: Any, f: Any) -> Any:
    """What a condition has to beat."""
    least = MIN_GAIN * float(weight_of(node.total, rules.criterion))
    return Best(side(node.total, rules.criterion, f) + least, -1, 0, False, NUMBER)


# Large nodes -------------------------------------------------------------------------------------------


@jit
def search_large(node: Any, table: Any, target: Any, search: Any, rules: Any) -> Any:
    count = inspect(node, table, search, rules)
    best = no_condition(node, rules, search.f)
    for start in range(0, count, search.histogram.shape[0]):
        columns = search.inspected[start : min(count, start + search.histogram.shape[0])]
        fill_histogram(node, table, target, search, rules, columns)
        reach = best.score
        for slot in range(columns.size):
            if not table.is_category[columns[slot]]:
                reach = max(reach, score_edges(node, table, search, rules, columns[slot], slot))
        for slot in range(columns.size):
            j = columns[slot]
            if table.is_category[j]:
                best = search_categories(node, table, target, search, rules, j, slot, best)
            else:
                best = search_edges(table, search, j, slot, best)
                if table.first_code[j, BINS] > BINS:
                    best = search_bins(node, table, target, search, rules, j, slot, best, reach)
    return best


@jit
def fill_histogram(node: Any, table: Any, target: Any, search: Any, rules: Any, columns: Any) -> None:
    """Add the node's rows to a bin of every column."""
    histogram = search.histogram
    histogram[: columns.size] = 0
    if rules.criterion == SQUARED_ERROR:
        for i in range(node.lo, node.hi):
            r = node.rows[i]
            w = np.int64(search.weight[r])
            moment = w * (np.int64(target.y[r]) - node.shift)
            for slot in range(columns.size):
                b = table.coarse[r, columns[slot]]
                histogram[slot, b, 0] += w
                histogram[slot, b, 1] += moment
                histogram[slot, b, 2] += max(moment, 0)
        return
    for i in range(node.lo, node.hi):
        r = node.rows[i]
        w, c = search.weight[r], target.y[r]
        for slot in range(columns.size):
            histogram[slot, table.coarse[r, columns[slot]], c] += w


@jit
def start_left(search: Any, slot: Any, variant: Any) -> Any:
    """Before the first value: the missing rows are on the left in variant 0. Returns whether there are any."""
    some = False
    for c in range(search.left.size):
        search.left[c] = search.histogram[slot, 0, c] if variant == 0 else 0
        some |= search.left[c] != 0
    return some


@jit
def variants(search: Any, slot: Any) -> Any:
    """Missing rows at the node double the cuts."""
    return 1 if is_empty(search.histogram[slot, 0], search.left.size) else 2


@jit
def score_edges(node: Any, table: Any, search: Any, rules: Any, j: Any, slot: Any) -> Any:
    """The score of the cut before each bin, kept in ``edges``; returns the highest."""
    highest = -np.inf
    bins = min(table.first_code[j, BINS], BINS)
    left = search.left
    for variant in range(variants(search, slot)):
        some = start_left(search, slot, variant)
        for b in range(1, bins):
            edge = -np.inf
            if not is_empty(search.histogram[slot, b], left.size):
                if some:
                    edge = score(left, node.total, rules.criterion, search.f)
                    if node.least > 0.0 and is_light(left, node, rules.criterion):
                        edge = -np.inf
                    highest = max(highest, edge)
                some = True
                for c in range(left.size):
                    left[c] += search.histogram[slot, b, c]
            search.edges[slot, variant, b] = edge
    return highest


@jit
def search_edges(table: Any, search: Any, j: Any, slot: Any, best: Any) -> Any:
    for variant in range(variants(search, slot)):
        for b in range(1, min(table.first_code[j, BINS], BINS)):
            edge, cut = search.edges[slot, variant, b], table.first_code[j, b]
            if comes_first(edge, cut, best, j):
                best = Best(edge, j, cut, variant == 1, NUMBER)
    return best


@jit
def search_bins(
    node: Any, table: Any, target: Any, search: Any, rules: Any, j: Any, slot: Any, best: Any, reach: Any
) -> Any:
    """Cut by cut through the bins whose bound reaches the best score known."""
    reach = max(reach, best.score)
    if not open_bins(node, table, search, rules, j, slot, reach):
        return best
    fill_fine(node, table, target, search, rules, j)
    left = search.left
    for variant in range(variants(search, slot)):
        some = start_left(search, slot, variant)
        for b in range(1, BINS):
            if search.opened[b] < 0:
                for c in range(left.size):
                    left[c] += search.histogram[slot, b, c]
                    some |= left[c] != 0
                continue
            for code in range(table.first_code[j, b], table.first_code[j, b + 1]):
                inside = search.fine[search.opened[b] + code - table.first_code[j, b]]
                if is_empty(inside, left.size):
                    continue
                if some:
                    new = score(left, node.total, rules.criterion, search.f)
                    if comes_first(new, code, best, j) and not is_light(left, node, rules.criterion):
                        best = Best(new, j, code, variant == 1, NUMBER)
                some = True
                for c in range(left.size):
                    left[c] += inside[c]
    return best


@jit
def open_bins(node: Any, table: Any, search: Any, rules: Any, j: Any, slot: Any, reach: Any) -> Any:
    """Mark the bins that may hide a cut as good as ``reach`` and clear their place in ``fine``.

    A bound is compared with slack, far above the rounding of a score: it decides what is looked at, never what wins.
    Where sides may be too light all bins are opened, for an edge that is ruled out bounds nothing.
    """
    search.opened[:] = -1
    used, left = 0, search.left
    slack = 1e-10 * (abs(reach) + float(weight_of(node.total, rules.criterion)))
    for variant in range(variants(search, slot)):
        start_left(search, slot, variant)
        for b in range(1, BINS):
            inside = search.histogram[slot, b]
            if is_empty(inside, left.size):
                continue
            wide = table.first_code[j, b + 1] - table.first_code[j, b] > 1
            if wide and search.opened[b] < 0:
                edge = search.edges[slot, variant, b]
                highest = max(edge, bound(left, inside, node.total, search.corner, rules.criterion, search.f))
                if highest >= reach - slack or node.least > 0.0:
                    search.opened[b] = used
                    used += table.first_code[j, b + 1] - table.first_code[j, b]
            for c in range(left.size):
                left[c] += inside[c]
    search.fine[:used] = 0
    return used > 0


@jit
def fill_fine(node: Any, table: Any, target: Any, search: Any, rules: Any, j: Any) -> None:
    regression = rules.criterion == SQUARED_ERROR
    for i in range(node.lo, node.hi):
        r = node.rows[i]
        b = table.coarse[r, j]
        if search.opened[b] >= 0:
            at = search.opened[b] + np.int64(table.codes[j, r]) - table.first_code[j, b]
            add(search.fine[at], target.y[r], search.weight[r], node.shift, regression)


@jit
def search_categories(node: Any, table: Any, target: Any, search: Any, rules: Any, j: Any, slot: Any, best: Any) -> Any:
    size, k = search.left.size, 0
    if table.first_code[j, BINS] <= BINS:
        for b in range(1, table.first_code[j, BINS]):
            if not is_empty(search.histogram[slot, b], size):
                search.categories[k] = b
                for c in range(size):
                    search.held[k, c] = search.histogram[slot, b, c]
                k += 1
        for c in range(size):
            search.corner[c] = search.histogram[slot, 0, c]
        return search_sets(node, search, rules, j, k, best)
    n = node.hi - node.lo
    for i in range(n):
        r = node.rows[node.lo + i]
        search.words[i] = (np.uint64(table.codes[j, r]) << np.uint64(32)) | np.uint64(r)
    words = search.words[:n]
    words.sort()
    regression = rules.criterion == SQUARED_ERROR
    search.corner[:] = 0
    last = np.uint64(0)
    for i in range(n):
        code, r = words[i] >> np.uint64(32), words[i] & np.uint64(0xFFFFFFFF)
        if code == np.uint64(0):
            add(search.corner, target.y[r], search.weight[r], node.shift, regression)
            continue
        if code != last:
            search.categories[k] = np.int64(code)
            search.held[k] = 0
            last = code
            k += 1
        add(search.held[k - 1], target.y[r], search.weight[r], node.shift, regression)
    return search_sets(node, search, rules, j, k, best)


# Sets of categories ------------------------------------------------------------------------------------


@jit
def search_sets(node: Any, search: Any, rules: Any, j: Any, k: Any, best: Any) -> Any:
    """The best set among the k categories in ``search.categories``; ``search.corner`` holds the missing rows."""
    if rules.criterion == SQUARED_ERROR:
        return search_prefixes(node, search, rules, j, k, -1, best)
    present, last = 0, 0
    for c in range(node.total.size):
        if node.total[c] > 0:
            present, last = present + 1, c
    if present == 2:
        return search_prefixes(node, search, rules, j, k, last, best)
    for c in range(node.total.size):
        if node.total[c] > 0:
            best = search_prefixes(node, search, rules, j, k, c, best)
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
    if k > INSERTION_SORT:
        order[:k] = np.argsort(means[:k], kind="mergesort")
        return
    for i in range(k):
        at = i
        while at > 0 and means[order[at - 1]] > means[i]:
            order[at] = order[at - 1]
            at -= 1
        order[at] = i


@jit
def search_prefixes(node: Any, search: Any, rules: Any, j: Any, k: Any, c: Any, best: Any) -> Any:
    """Every prefix of the order by class c is a set: without the missing rows, then with them."""
    sort_by_mean(search, k, c)
    inside, missing = search.left, search.corner
    inside[:] = 0
    any_missing = not is_empty(missing, missing.size)
    found = 0
    for p in range(1, k + 1):
        inside += search.held[search.order[p - 1]]
        if p < k or any_missing:
            new = score(inside, node.total, rules.criterion, search.f)
            if new > best.score and not is_light(inside, node, rules.criterion):
                best, found = Best(new, j, 0, False, p), p
        if p < k and any_missing:
            inside += missing
            new = score(inside, node.total, rules.criterion, search.f)
            if new > best.score and not is_light(inside, node, rules.criterion):
                best, found = Best(new, j, 0, True, p), p
            inside -= missing
    for p in range(found):
        search.members[p] = search.categories[search.order[p]]
    return best


# Small nodes -------------------------------------------------------------------------------------------


@jit
def search_small(node: Any, table: Any, search: Any, small: Any, rules: Any, listed: Any, lo: Any, hi: Any) -> Any:
    """Along lists[column, lo:hi], the node's rows in the order of each column (sorted now unless ``listed``)."""
    count = inspect(node, table, search, rules)
    best = no_condition(node, rules, search.f)
    for i in range(count):
        j = search.inspected[i]
        if not listed:
            sort_column(table, search, small, j, 0, hi)
        words = small.lists[j if listed else 0]
        if (words[lo] >> SHIFT) == (words[hi - 1] >> SHIFT):
            continue
        if table.is_category[j]:
            k = collect_categories(node, table, search, small, rules, words, j, lo, hi)
            best = search_sets(node, search, rules, j, k, best)
        else:
            best = search_list(node, table, search, small, rules, words, j, lo, hi, best)
    return best


@jit
def open_block(node: Any, table: Any, target: Any, search: Any, small: Any) -> None:
    """Copy what the rows of a small node weigh and, where lists are kept, sort every column."""
    n = node.hi - node.lo
    for i in range(n):
        r = node.rows[node.lo + i]
        small.row[i], small.weight[i], small.y[i] = r, search.weight[r], target.y[r]
    if small.lists.shape[0] > 1:
        for k in range(search.columns.size):
            sort_column(table, search, small, search.columns[k], search.columns[k], n)
        for i in range(n):
            small.lists[small.lists.shape[0] - 1, i] = i


@jit
def sort_column(table: Any, search: Any, small: Any, j: Any, at: Any, n: Any) -> None:
    """Write list ``at``: the block's rows in the order of column j. Codes are counted anew: 0 missing, 1, 2..."""
    for i in range(n):
        search.words[i] = (np.uint64(table.codes[j, small.row[i]]) << np.uint64(SHIFT)) | np.uint64(i)
    words = search.words[:n]
    words.sort()
    last, dense = np.uint64(0), np.uint32(0)
    for i in range(n):
        code = words[i] >> np.uint64(SHIFT)
        if code != last:
            last = code
            dense += np.uint32(1)
        small.lists[at, i] = (dense << np.uint32(SHIFT)) | np.uint32(words[i] & np.uint64(LOCAL))


@jit
def search_list(
    node: Any, table: Any, search: Any, small: Any, rules: Any, words: Any, j: Any, lo: Any, hi: Any, best: Any
) -> Any:
    regression = rules.criterion == SQUARED_ERROR
    first = lo  # of the rows that do not miss the column
    while (words[first] >> SHIFT) == 0:
        first += 1
    left = search.left
    for variant in range(1 if first == lo else 2):
        left[:] = 0
        last = np.int64(-1)
        for i in range(first if variant == 1 else lo, hi):
            code, local = np.int64(words[i] >> SHIFT), words[i] & LOCAL
            if code != last:
                if last >= 0:
                    new = score(left, node.total, rules.criterion, search.f)
                    cut = np.int64(table.codes[j, small.row[local]])
                    if comes_first(new, cut, best, j) and not is_light(left, node, rules.criterion):
                        best = Best(new, j, cut, variant == 1, NUMBER)
                last = code
            add(left, small.y[local], small.weight[local], node.shift, regression)
    return best


@jit
def collect_categories(
    node: Any, table: Any, search: Any, small: Any, rules: Any, words: Any, j: Any, lo: Any, hi: Any
) -> Any:
    """Statistics of each category in ``held`` and of the missing rows in ``corner``; returns how many categories."""
    regression = rules.criterion == SQUARED_ERROR
    search.corner[:] = 0
    k, last = 0, np.int64(0)
    for i in range(lo, hi):
        code, local = np.int64(words[i] >> SHIFT), words[i] & LOCAL
        if code == 0:
            add(search.corner, small.y[local], small.weight[local], node.shift, regression)
            continue
        if code != last:
            search.categories[k] = table.codes[j, small.row[local]]
            search.held[k] = 0
            last = code
            k += 1
        add(search.held[k - 1], small.y[local], small.weight[local], node.shift, regression)
    return k
