"""The best condition of a small node, along its rows sorted by each column.

A small node is copied into a block and every column sorted, once; the lists of its whole subtree come from parting
these. Where a node looks at few columns only, these are sorted when needed instead.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lazyforest.engine.counts import score
from lazyforest.engine.layout import BINS, BLOCK, LOCAL, ROW, SHIFT, SQUARED_ERROR, Array, Table, Target, inlined, jit
from lazyforest.engine.nodes import NUMBER, Best, add, comes_first, copy, inspect, is_light, no_condition
from lazyforest.engine.sets import search_sets
from lazyforest.engine.sorting import sort_words
from lazyforest.engine.two import collect_two, score_two


class Small(NamedTuple):
    """At most BLOCK rows: what they weigh and, per column, their order."""

    row: Array  # (BLOCK,) their numbers in the table
    weight: Array  # (BLOCK,)
    y: Array  # (BLOCK,)
    lists: Array  # (columns + 1, BLOCK) words, ascending; the last list has no order
    spare: Array  # (BLOCK,)
    valid: Array  # (BLOCK,) which side a row goes to


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


@inlined
def search_small(node: Any, table: Any, search: Any, small: Any, rules: Any, listed: Any, lo: Any, hi: Any) -> Any:
    """Along lists[column, lo:hi], the node's rows in the order of each column (sorted now unless ``listed``)."""
    count = inspect(node, table, search, rules)
    best = no_condition(node, rules, search.f)
    for i in range(count):
        j = search.inspected[i]
        if not listed:
            most = table.first_code[j, BINS]
            sort_column(table.codes[j], most, search.words, search.spare, search.places, small.row, small.lists[0], hi)
        words = small.lists[j if listed else 0]
        if (words[lo] >> SHIFT) == (words[hi - 1] >> SHIFT):
            continue
        if table.is_category[j]:
            if node.two:
                k = collect_categories_of_two(table.codes[j], search, small, words, lo, hi)
            else:
                k = collect_categories(node, table, search, small, rules, words, j, lo, hi)
            best = search_sets(node, search, rules, j, k, best.score, best)
        elif node.two and (words[lo] >> SHIFT) > 0:
            best = search_list_of_two(node, table, search, small, words, j, lo, hi, best)
        else:
            best = search_list(node, table, search, small, rules, words, j, lo, hi, best)
    return best


@inlined
def open_block(node: Any, table: Any, target: Any, search: Any, small: Any) -> None:
    """Copy what the rows of a small node weigh and, where lists are kept, sort every column."""
    n = node.hi - node.lo
    row, weight, y, lists, columns = small.row, small.weight, small.y, small.lists, search.columns
    for i in range(n):
        r = node.rows[node.lo + i]
        row[i], weight[i], y[i] = r, search.weight[r], target.y[r]
    if lists.shape[0] > 1:
        for k in range(columns.size):
            j = columns[k]
            most = table.first_code[j, BINS]
            sort_column(table.codes[j], most, search.words, search.spare, search.places, row, lists[j], n)
        for i in range(n):
            lists[lists.shape[0] - 1, i] = i


@jit
def sort_column(codes: Any, most: Any, words: Any, spare: Any, places: Any, row: Any, out: Any, n: Any) -> None:
    """Write a list: the block's rows in the order of a column. Codes are counted anew: 0 missing, 1, 2..."""
    for i in range(n):
        words[i] = (np.uint64(codes[row[i]]) << np.uint64(SHIFT)) | np.uint64(i)
    sort_words(words, spare, places, n, np.uint64(SHIFT), most)
    last, dense = np.uint64(0), np.uint32(0)
    for i in range(n):
        code = words[i] >> np.uint64(SHIFT)
        if code != last:
            last = code
            dense += np.uint32(1)
        out[i] = (dense << np.uint32(SHIFT)) | np.uint32(words[i] & np.uint64(LOCAL))


@jit
def code_at(table: Any, small: Any, words: Any, j: Any, i: Any) -> Any:
    return np.int64(table.codes[j, small.row[words[i] & LOCAL]])


@jit
def search_list_of_two(
    node: Any, table: Any, search: Any, small: Any, words: Any, j: Any, lo: Any, hi: Any, best: Any
) -> Any:
    """``search_list`` for two classes and no missing value."""
    highest, at, a, b = scan_list_of_two(
        words, lo, hi, small.weight, small.y, np.uint64(node.total[0]), np.uint64(node.total[1]), search.f, best.score
    )
    if at < 0:
        return best
    search.best_left[0], search.best_left[1] = a, b
    lower, cut = code_at(table, small, words, j, at - 1), code_at(table, small, words, j, at)
    return Best(highest, j, lower, cut, False, False, NUMBER)


@jit
def scan_list_of_two(
    words: Any, lo: Any, hi: Any, weight: Any, y: Any, total_a: Any, total_b: Any, f: Any, highest: Any
) -> Any:
    """The first cut with the highest score above ``highest``, or -1, and its left side."""
    at, best_a, best_b = np.int64(-1), np.uint64(0), np.uint64(0)
    a, b = np.uint64(0), np.uint64(0)
    last = words[lo] >> SHIFT
    for i in range(lo, hi):
        word = words[i]
        if (word >> SHIFT) != last:
            last = word >> SHIFT
            new = score_two(a, b, total_a, total_b, f)
            if new > highest:
                highest, at, best_a, best_b = new, np.int64(i), a, b
        local = word & LOCAL
        w, c = np.uint64(weight[local]), np.uint64(y[local])
        b += w * c
        a += w * (np.uint64(1) - c)
    return highest, at, best_a, best_b


@jit
def search_list(
    node: Any, table: Any, search: Any, small: Any, rules: Any, words: Any, j: Any, lo: Any, hi: Any, best: Any
) -> Any:
    criterion, total, left, f = rules.criterion, node.total, search.left, search.f
    codes, row, weight, y, shift = table.codes[j], small.row, small.weight, small.y, node.shift
    first = lo  # of the rows that do not miss the column
    while (words[first] >> SHIFT) == 0:
        first += 1
    for variant in range(1 if first == lo else 2):
        left[:] = 0
        start = first if variant == 1 else lo
        for i in range(start, hi):
            local = words[i] & LOCAL
            if i > start and (words[i] >> SHIFT) != (words[i - 1] >> SHIFT):
                new = score(left, total, criterion, f)
                cut = np.int64(codes[row[local]])
                if new >= best.score and comes_first(new, j, cut, best) and not is_light(left, node, criterion):
                    lower = np.int64(codes[row[words[i - 1] & LOCAL]])
                    best = Best(new, j, lower, cut, variant == 1, first > lo, NUMBER)
                    copy(left, search.best_left, left.size)
            add(left, y[local], weight[local], shift, criterion == SQUARED_ERROR)
    return best


@jit
def collect_categories_of_two(codes: Any, search: Any, small: Any, words: Any, lo: Any, hi: Any) -> Any:
    """``collect_categories`` for two classes."""
    held, gone, categories, firsts, row = search.held, search.corner, search.categories, search.order, small.row
    runs = collect_two(words, lo, hi, small.weight, small.y, held, firsts)
    missing = np.int64((words[lo] >> SHIFT) == 0)
    gone[0], gone[1] = held[0, 0] * missing, held[0, 1] * missing
    for k in range(missing, runs):
        held[k - missing, 0], held[k - missing, 1] = held[k, 0], held[k, 1]
        categories[k - missing] = codes[row[words[firsts[k]] & LOCAL]]
    return runs - missing


@jit
def collect_categories(
    node: Any, table: Any, search: Any, small: Any, rules: Any, words: Any, j: Any, lo: Any, hi: Any
) -> Any:
    """Statistics of each category in ``held`` and of the missing rows in ``corner``; returns how many categories."""
    regression, shift, codes = rules.criterion == SQUARED_ERROR, node.shift, table.codes[j]
    held, gone, categories = search.held, search.corner, search.categories
    row, weight, y, size = small.row, small.weight, small.y, search.held.shape[1]
    gone[:] = 0
    k, last = np.int64(0), np.int64(0)
    for i in range(lo, hi):
        code, local = np.int64(words[i] >> SHIFT), words[i] & LOCAL
        if code == 0:
            add(gone, y[local], weight[local], shift, regression)
            continue
        if code != last:
            categories[k] = codes[row[local]]
            for c in range(size):
                held[k, c] = 0
            last = code
            k += 1
        add(held[k - 1], y[local], weight[local], shift, regression)
    return k
