"""The best condition of a small node, along its rows sorted by each column.

A small node is copied into a block and its columns sorted when first looked at; the lists of its whole subtree come
from parting these. Where a node looks at few columns only, these are sorted anew instead. Columns of few categories
need no order: they are counted. A table that is itself no larger is sorted once, for all trees.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lazyforest.engine.counts import score
from lazyforest.engine.layout import (
    BINS,
    BLOCK,
    ENTROPY,
    HISTOGRAM_COLUMNS,
    LOCAL,
    PERFECT,
    ROW,
    SHIFT,
    SQUARED_ERROR,
    Array,
    Table,
    Target,
    frozen,
    inlined,
    jit,
)
from lazyforest.engine.nodes import NUMBER, Best, add, comes_first, copy, inspect, is_empty, is_light, no_condition
from lazyforest.engine.sets import search_sets
from lazyforest.engine.sorting import sort_words
from lazyforest.engine.two import SLACK, score_two

FEW = 64  # codes of a column whose categories are counted
HALF, LOW_HALF = 8, 0xFF  # of a word of a small table: a code, a row
LONG, STRETCH = 48, 12  # in a list longer than that, the cuts of so many rows are bounded together


class Small(NamedTuple):
    """At most BLOCK rows: what they weigh and, per column, their order."""

    row: Array  # (BLOCK,) their numbers in the table
    weight: Array  # (BLOCK,)
    y: Array  # (BLOCK,)
    unordered: Array  # (BLOCK,) local row numbers, parted as the exploration goes
    lists: Array  # (columns, BLOCK) words, ascending, parted likewise; or a single one
    listed: Array  # (2,): so many of the columns have lists at this node, but for those that are counted; rows in all
    counted: Array  # (columns,) bool: of at most FEW categories
    tallied: Array  # (up to HISTOGRAM_COLUMNS,) columns that were counted last
    tally: Array  # (the same, FEW + 1, statistics) of each of their codes; one more: else they meet in the cache
    spare: Array  # (BLOCK,)
    valid: Array  # (BLOCK,) which side a row goes to
    order: Array  # (columns, rows) words of a table of at most BLOCK rows, by column, for all trees; otherwise none
    ordered: Array  # (columns,) is that done?
    place: Array  # (rows,) the local number of a row of such a table, -1: it is not in the block


def new_small(table: Table, target: Target, weight: Array, listed: bool) -> Small:
    n, m = table.coarse.shape
    ordered = (m, n) if listed and n <= BLOCK else (0, 0)
    counted = table.is_category & (table.first_code[:, BINS] <= FEW)
    tallied = int(np.clip(counted.sum(), 1, HISTOGRAM_COLUMNS))
    return Small(
        row=np.empty(BLOCK, dtype=ROW),
        weight=np.empty(BLOCK, dtype=weight.dtype),
        y=np.empty(BLOCK, dtype=target.y.dtype),
        unordered=np.empty(BLOCK, dtype=np.uint32),
        lists=np.empty((m if listed else 1, BLOCK), dtype=np.uint32),
        listed=np.zeros(2, dtype=np.int64),
        counted=frozen(counted),
        tallied=np.empty(tallied, dtype=np.int64),
        tally=np.empty((tallied, FEW + 1, max(target.n_classes, 2)), dtype=np.int64),
        spare=np.empty(BLOCK, dtype=np.uint32),
        valid=np.empty(BLOCK, dtype=np.bool_),
        order=np.empty(ordered, dtype=np.uint16),
        ordered=np.zeros(ordered[0], dtype=np.bool_),
        place=np.empty(ordered[1], dtype=np.int16),
    )


@inlined
def search_small(
    node: Any, table: Any, search: Any, small: Any, rules: Any, criterion: Any, listed: Any, lo: Any, hi: Any
) -> Any:
    """Along lists[column, lo:hi], the node's rows in the order of each column."""
    count = inspect(node, table, search, rules)
    best = no_condition(node, criterion, search.f)
    columns, everything = search.columns, search.columns.size
    slot = small.tallied.size - 1
    for i in range(count):
        j, k = search.inspected[i], np.int64(-1)
        if best.score >= PERFECT and rules.criterion == ENTROPY:
            break
        if not listed:
            if not small.counted[j]:
                sort_column(table.codes[j], table.first_code[j, BINS], search, small, small.lists[0], lo, hi)
        else:
            for at in range(small.listed[0], everything if count < everything else i + 1):
                c = columns[at]
                if not small.counted[c]:
                    if small.place.size > 0 and hi - lo == small.listed[1]:
                        if not small.ordered[c]:
                            order_rows(table.codes[c], table.first_code[c, BINS], search, small.order[c])
                            small.ordered[c] = True
                        list_column(small.order[c], small.place, small.lists[c])
                    else:
                        sort_column(table.codes[c], table.first_code[c, BINS], search, small, small.lists[c], lo, hi)
                small.listed[0] = at + 1
        if small.counted[j]:
            slot += 1
            if slot == small.tallied.size:
                n = next_counted(search.inspected, i, count, small.counted, small.tallied)
                count_categories(node.shift, table, small, criterion, n, lo, hi)
                slot = 0
            k = take_tally(small.tally[slot], table.first_code[j, BINS], search)
            k = k if k > 1 or not is_empty(search.corner, search.corner.size) else np.int64(-1)
        else:
            words = small.lists[j if listed else 0]
            if (words[lo] >> SHIFT) == (words[hi - 1] >> SHIFT):
                continue
            if table.is_category[j]:
                k = collect_categories(node.shift, table.codes[j], search, small, criterion, words, lo, hi)
            elif criterion is None or node.two:
                best = search_list_of_two(node, table, search, small, words, j, lo, hi, best)
            else:
                best = search_list(node, table, search, small, criterion, words, j, lo, hi, best)
        if k >= 0:
            best = search_sets(node, search, criterion, j, k, best.score, best)
    return best


@inlined
def open_block(node: Any, target: Any, search: Any, small: Any) -> None:
    """Copy what the rows of a small node weigh."""
    row, weight, y, unordered = small.row, small.weight, small.y, small.unordered
    for i in range(node.hi - node.lo):
        r = node.rows[node.lo + i]
        row[i], weight[i], y[i], unordered[i] = r, search.weight[r], target.y[r], i
    small.listed[0], small.listed[1] = 0, node.hi - node.lo
    if small.place.size > 0:
        small.place[:] = -1
        for i in range(node.hi - node.lo):
            small.place[row[i]] = i


@jit
def sort_column(codes: Any, most: Any, search: Any, small: Any, out: Any, lo: Any, hi: Any) -> None:
    """Write a list: the block's rows lo to hi in the order of a column. Codes are counted anew: 0 missing, 1, 2..."""
    words, row, unordered, n = search.words, small.row, small.unordered, hi - lo
    for i in range(n):
        local = unordered[lo + i]
        words[i] = (np.uint64(codes[row[local]]) << np.uint64(SHIFT)) | np.uint64(local)
    sort_words(words, search.spare, search.places, n, np.uint64(SHIFT), most)
    last, dense = np.uint64(0), np.uint32(0)
    for i in range(n):
        code = words[i] >> np.uint64(SHIFT)
        if code != last:
            last = code
            dense += np.uint32(1)
        out[lo + i] = (dense << np.uint32(SHIFT)) | np.uint32(words[i] & np.uint64(LOCAL))


@jit
def order_rows(codes: Any, most: Any, search: Any, out: Any) -> None:
    """All rows of a small table in the order of a column, with their codes as in ``sort_column``."""
    words = search.words
    for r in range(codes.size):
        words[r] = (np.uint64(codes[r]) << np.uint64(SHIFT)) | np.uint64(r)
    sort_words(words, search.spare, search.places, codes.size, np.uint64(SHIFT), most)
    last, dense = np.uint64(0), np.uint64(0)
    for i in range(codes.size):
        code = words[i] >> np.uint64(SHIFT)
        dense += np.uint64(code != last)
        last = code
        out[i] = (dense << np.uint64(HALF)) | (words[i] & np.uint64(LOCAL))


@jit
def list_column(order: Any, place: Any, out: Any) -> None:
    """As ``sort_column`` for the whole block, from the order of all rows of the table."""
    at = 0
    for i in range(order.size):
        code, local = np.uint32(order[i] >> HALF), place[order[i] & LOW_HALF]
        out[at] = (code << np.uint32(SHIFT)) | (np.uint32(local) & np.uint32(LOCAL))
        at += local >= 0  # what is not in the block is overwritten


@jit
def code_at(table: Any, small: Any, words: Any, j: Any, i: Any) -> Any:
    return np.int64(table.codes[j, small.row[words[i] & LOCAL]])


@jit
def search_list_of_two(
    node: Any, table: Any, search: Any, small: Any, words: Any, j: Any, lo: Any, hi: Any, best: Any
) -> Any:
    """``search_list`` for two classes."""
    total_a, total_b, first = np.uint64(node.total[0]), np.uint64(node.total[1]), lo
    while (words[first] >> SHIFT) == 0:
        first += 1
    for variant in range(1 if first == lo else 2):
        start, least = first if variant == 1 else lo, np.nextafter(best.score, -np.inf)  # a tie may still come first
        highest, at, a, b = scan_list_of_two(words, start, hi, small.weight, small.y, total_a, total_b, search.f, least)
        if at < 0:
            continue
        cut = code_at(table, small, words, j, at)
        if comes_first(highest, j, cut, best):
            search.best_left[0], search.best_left[1] = a, b
            lower = code_at(table, small, words, j, at - 1)
            best = Best(highest, j, lower, cut, variant == 1, first > lo, NUMBER)
    return best


@jit
def scan_list_of_two(
    words: Any, lo: Any, hi: Any, weight: Any, y: Any, total_a: Any, total_b: Any, f: Any, highest: Any
) -> Any:
    """The first cut with the highest score above ``highest``, or -1, and its left side.

    A stretch of a long list is looked into only if the counts at its ends allow a cut as good: half as many scores.
    """
    at, best_a, best_b = np.int64(-1), np.uint64(0), np.uint64(0)
    a, b = np.uint64(0), np.uint64(0)
    start, slack = -np.inf, SLACK * float(total_a + total_b)
    step = STRETCH if hi - lo > LONG else hi - lo
    for first in range(lo, hi, step):
        last = min(first + step, hi)
        c, d, stop, bound = a, b, start, np.inf
        if step == STRETCH:
            for i in range(first, last):
                local = words[i] & LOCAL
                w, second = np.uint64(weight[local]), np.uint64(y[local])
                d += w * second
                c += w * (np.uint64(1) - second)
            stop = score_two(c, d, total_a, total_b, f)
            bound = max(start, stop, score_two(a, d, total_a, total_b, f), score_two(c, b, total_a, total_b, f))
        if bound > highest - slack - SLACK * abs(highest):
            for i in range(first, last):
                word = words[i]
                if i > lo and (word >> SHIFT) != (words[i - 1] >> SHIFT):
                    new = score_two(a, b, total_a, total_b, f)
                    if new > highest:
                        highest, at, best_a, best_b = new, np.int64(i), a, b
                local = word & LOCAL
                w, second = np.uint64(weight[local]), np.uint64(y[local])
                b += w * second
                a += w * (np.uint64(1) - second)
        a, b, start = c, d, stop
    return highest, at, best_a, best_b


@jit
def search_list(
    node: Any, table: Any, search: Any, small: Any, criterion: Any, words: Any, j: Any, lo: Any, hi: Any, best: Any
) -> Any:
    total, left, f = node.total, search.left, search.f
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
            add(left, y[local], weight[local], shift, criterion)
    return best


@jit
def next_counted(inspected: Any, first: Any, count: Any, counted: Any, out: Any) -> Any:
    """The next columns that are counted, as many as there is room for; returns how many."""
    n = 0
    for i in range(first, count):
        if counted[inspected[i]] and n < out.size:
            out[n] = inspected[i]
            n += 1
    return n


@inlined
def count_categories(shift: Any, table: Any, small: Any, criterion: Any, n: Any, lo: Any, hi: Any) -> None:
    """``small.tally`` of the first ``small.tallied``."""
    row, unordered, y, weight = small.row, small.unordered, small.y, small.weight
    tally(
        table.coarse,
        small.tallied,
        n,
        table.first_code,
        row,
        unordered,
        lo,
        hi,
        y,
        weight,
        shift,
        criterion,
        small.tally,
    )


@jit
def tally(
    coarse: Any,
    columns: Any,
    n: Any,
    first_code: Any,
    row: Any,
    unordered: Any,
    lo: Any,
    hi: Any,
    y: Any,
    weight: Any,
    shift: Any,
    criterion: Any,
    out: Any,
) -> None:
    """Statistics of each code of some columns. Row by row: additions to one column would wait for each other."""
    for slot in range(n):
        out[slot, : first_code[columns[slot], BINS]] = 0
    for i in range(lo, hi):
        local = unordered[i]
        r, w = row[local], weight[local]
        if criterion == SQUARED_ERROR:
            moment = w * (np.int64(y[local]) - shift)
            for slot in range(n):
                held = out[slot, coarse[r, columns[slot]]]
                held[0] += w
                held[1] += moment
        else:
            c = y[local]
            for slot in range(n):
                out[slot, coarse[r, columns[slot]], c] += w


@jit
def take_tally(counts: Any, n_codes: Any, search: Any) -> Any:
    """Statistics of categories that occur in ``held``, of missing rows in ``corner``; returns how many categories."""
    held, categories, gone, k = search.held, search.categories, search.corner, np.int64(0)
    for c in range(gone.size):
        gone[c] = counts[0, c]
    for b in range(1, n_codes):  # no branch: whether a small node has a category cannot be predicted
        categories[k] = b
        some = False
        for c in range(gone.size):
            held[k, c] = counts[b, c]
            some |= counts[b, c] != 0
        k += some
    return k


@jit
def collect_categories(
    shift: Any, codes: Any, search: Any, small: Any, criterion: Any, words: Any, lo: Any, hi: Any
) -> Any:
    """Statistics of each category in ``held`` and of the missing rows in ``corner``; returns how many categories."""
    held, gone, categories = search.held, search.corner, search.categories
    row, weight, y, size = small.row, small.weight, small.y, search.held.shape[1]
    gone[:] = 0
    k, last = np.int64(0), np.int64(0)
    for i in range(lo, hi):
        code, local = np.int64(words[i] >> SHIFT), words[i] & LOCAL
        if code == 0:
            add(gone, y[local], weight[local], shift, criterion)
            continue
        if code != last:
            categories[k] = codes[row[local]]
            for c in range(size):
                held[k, c] = 0
            last = code
            k += 1
        add(held[k - 1], y[local], weight[local], shift, criterion)
    return k
