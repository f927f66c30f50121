"""The best condition of a node whose rows are elsewhere: from histograms, then from closer looks into some bins.

The search is that of ``bins``: the same bounds, scores and ties. Only where its numbers come from is another matter.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lazyforest.engine.bins import edge, open_column, score_groups, search_opened, search_opened_of_two
from lazyforest.engine.layout import BINS, ENTROPY, GROUPS, ROW, Array, entry, inlined, jit
from lazyforest.engine.nodes import Node, Search, copy, is_empty, no_condition
from lazyforest.engine.sets import search_sets


class Lists(NamedTuple):
    """Columns of a node, bin after bin; an opened bin has its values listed.

    bins      [ rest | opened | rest | opened ]     of column k: bins[bin_at[k]:bin_at[k + 1]]
    entries   [        a b c           d e     ]    of bin b: entries[first[b]:last[b]]
    """

    column: Array  # (columns,) int64
    is_category: Array  # (columns,) bool
    missing: Array  # (columns, statistics) int64
    bin_at: Array  # (columns + 1,) int64
    bins: Array  # (bins, statistics) int64
    opened: Array  # (bins,) bool
    first: Array  # (bins,) int64
    last: Array  # (bins,) int64
    entries: Array  # (entries, statistics) int64


def new_buffers(f: Array, n_classes: int, slots: int, bins: int, entries: int) -> Search:
    """Buffers of a search without rows: histograms of so many columns, lists of so many bins and entries."""
    statistics, kept = n_classes or 2, n_classes or 3
    bins, entries = max(bins, BINS) + 1, max(entries, BINS)
    none, words = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.uint64)
    return Search(
        weight=none,
        f=f,
        histogram=np.zeros((slots, bins, kept), dtype=np.int64),
        n_bins=np.zeros(slots, dtype=np.int64),
        missing=np.zeros((slots, statistics), dtype=np.int64),
        edges=np.empty((slots, 2, GROUPS + 1)),
        scores=np.empty(bins),
        opened=np.empty(bins, dtype=np.bool_),
        listed=np.empty(bins, dtype=np.int64),
        starts=np.empty(bins, dtype=np.int64),
        stops=np.empty(bins, dtype=np.int64),
        fine=np.zeros((entries, kept), dtype=np.int64),
        fine_codes=np.arange(1, entries + 1),
        left=np.empty(statistics, dtype=np.int64),
        corner=np.empty(statistics, dtype=np.int64),
        best_left=np.zeros(statistics, dtype=np.int64),
        columns=none,
        inspected=none,
        tickets=words,
        chosen=np.empty(0, dtype=np.bool_),
        words=words,
        spare=words,
        places=none,
        categories=np.empty(entries, dtype=np.int64),
        held=np.zeros((entries, statistics), dtype=np.int64),
        means=np.empty(entries),
        order=np.empty(entries, dtype=np.int64),
        spare_order=np.empty(entries, dtype=np.int64),
        members=np.zeros(entries, dtype=np.int64),
    )


def new_node(total: Array, weight: int, criterion: int, f: Array) -> Node:
    """A node that has no rows here; ``total`` is about its centre."""
    two = criterion == ENTROPY and total.size == 2 and weight < f.size
    return Node(np.empty(0, dtype=ROW), 0, 0, total, weight, 0, 0.0, two, np.uint64(0))


@entry
def nothing_yet(node: Any, rules: Any, f: Any) -> Any:
    """What a condition has to beat."""
    return no_condition(node, rules.criterion, f)


@inlined
def search_number(node: Any, search: Any, rules: Any, j: Any, slot: Any, exact: Any, n_opened: Any, best: Any) -> Any:
    """Every cut of the opened bins, missing values on the invalid, then on the valid side."""
    any_missing = not is_empty(search.missing[slot], node.total.size)
    for variant in range(2 if any_missing else 1):
        if node.two:
            best = search_opened_of_two(node, search, j, slot, variant, any_missing, exact, n_opened, best)
        else:
            best = search_opened(node, search, rules.criterion, j, slot, variant, any_missing, exact, best)
    return best


@jit
def hold_bins(search: Any, slot: Any) -> Any:
    """The bins of a histogram that have rows, as categories; returns how many there are."""
    histogram, held, k = search.histogram[slot], search.held, np.int64(0)
    size = search.left.size
    for b in range(1, search.n_bins[slot]):
        if not is_empty(histogram[b], size):
            search.categories[k] = b
            copy(histogram[b], held[k], size)
            k += 1
    copy(histogram[0], search.corner, size)
    return k


@jit
def highest_cut(node: Any, search: Any, rules: Any, slot: Any) -> Any:
    """The highest score of the cuts between the bins of a column."""
    sums, missing, highest = search.histogram[slot], search.missing[slot], -np.inf
    for variant in range(1 if is_empty(missing, node.total.size) else 2):
        for b in range(search.n_bins[slot]):
            new = edge(sums, b, missing, variant, search.left, node.total, rules.criterion, search.f)
            highest = max(highest, new)
    return highest


@entry
def look_at_bins(
    node: Any,
    search: Any,
    rules: Any,
    columns: Any,
    complete: Any,
    is_category: Any,
    opened: Any,
    reach: Any,
    best: Any,
) -> Any:
    """Search the complete columns, whose bins are single codes; mark the bins of the others that need a closer look.

    ``reach`` is a score known to be had; it is returned, raised. Histograms become sums over the bins 1 to b, but for
    those of categories.
    """
    slots = columns.size
    for slot in range(slots):
        if not is_category[slot]:
            score_groups(node, search, rules.criterion, slot)
            reach = max(reach, highest_cut(node, search, rules, slot))
    for slot in range(slots):
        if is_category[slot]:
            k = hold_bins(search, slot)
            best = search_sets(node, search, rules.criterion, columns[slot], k, reach, best)
        elif complete[slot]:
            n_opened = open_column(node, search, rules.criterion, slot, max(reach, best.score))
            if n_opened > 0:
                best = search_number(node, search, rules, columns[slot], slot, True, n_opened, best)
    reach = max(reach, best.score)
    for slot in range(slots):
        if not is_category[slot] and not complete[slot]:
            open_column(node, search, rules.criterion, slot, reach)
            copy(search.opened, opened[slot], opened.shape[1])
    return best, reach


@entry
def look_at_lists(node: Any, search: Any, rules: Any, lists: Any, best: Any) -> Any:
    """The best condition of some columns whose values are listed. A cut's codes count a column's entries from 1."""
    size = search.left.size
    for k in range(lists.column.size):
        lo, hi, j = lists.bin_at[k], lists.bin_at[k + 1], lists.column[k]
        if lists.is_category[k]:
            first, count = lists.first[hi - 1], lists.last[hi - 1] - lists.first[hi - 1]  # one stretch: its last bin
            for i in range(count):
                search.categories[i] = i + 1
                copy(lists.entries[first + i], search.held[i], size)
            copy(lists.missing[k], search.corner, size)
            best = search_sets(node, search, rules.criterion, j, count, best.score, best)
            continue
        n_opened = fill_lists(search, lists, k, lo, hi)
        best = search_number(node, search, rules, j, 0, False, n_opened, best)
    return best


@jit
def fill_lists(search: Any, lists: Any, k: Any, lo: Any, hi: Any) -> Any:
    """A column's bins into the first histogram, as sums, and their entries into ``fine``; returns how many are open."""
    sums, kept, used, n_opened = search.histogram[0], search.histogram.shape[2], 0, np.int64(0)
    copy(lists.missing[k], search.missing[0], search.left.size)
    sums[0] = 0
    search.n_bins[0] = hi - lo + 1
    for b in range(lo, hi):
        at = b - lo + 1
        for c in range(kept):
            sums[at, c] = sums[at - 1, c] + lists.bins[b, c]
        search.opened[at], search.starts[at] = lists.opened[b], used
        for i in range(lists.first[b], lists.last[b]):
            copy(lists.entries[i], search.fine[used], kept)
            used += 1
        search.stops[at] = used
        search.listed[n_opened] = at
        n_opened += lists.opened[b]
    return n_opened
