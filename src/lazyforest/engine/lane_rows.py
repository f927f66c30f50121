"""Rows of all lanes: their counts are drawn, and what lanes do not keep is forgotten."""

from __future__ import annotations

from typing import Any

import numpy as np

from lazyforest.engine.bootstrap import PASSED_EARLY, count_early, count_of, draw_word
from lazyforest.engine.encoding import sortable
from lazyforest.engine.lane_layout import LOST_ROWS, NOT_LISTED
from lazyforest.engine.layout import POISSON, jit
from lazyforest.engine.vectors import add_vectors, keep_vectors, tally_vectors

FULL_BYTE = 255  # counters hold so many rows, and their weights
LOST_SHARE = 3  # one of so many rows, at most, may lose something, for what they lose to be listed


@jit
def draw_rows(
    bootstrap: Any,
    row_ids: Any,
    row_weight: Any,
    used: Any,
    keys: Any,
    draws: Any,
    weight: Any,
    tally: Any,
    sums: Any,
    held: Any,
    heavy: Any,
) -> Any:
    """The weights of all rows in the first ``used`` lanes: how many rows each has, and how heavy they are together.

    Returns whether some rows weigh nothing, in any lane.
    """
    lanes, weights, words, some_gone = keys.size, weight.reshape(-1), weight.view(np.uint64), False
    held[:] = 0
    heavy[:] = 0
    for start in range(0, row_ids.size, FULL_BYTE):
        tally[:] = 0
        sums[:] = 0
        for i in range(start, min(start + FULL_BYTE, row_ids.size)):
            row, w = row_ids[i], np.uint8(row_weight[i])
            some_gone |= w == 0
            if bootstrap == POISSON:
                for lane in range(lanes):
                    draws[lane] = draw_word(keys[lane], row)
                count_early(weights, i * lanes, draws, 0, lanes)
                some = np.uint64(0)
                for k in range(words.shape[1]):
                    some |= words[i, k]
                if some & PASSED_EARLY:
                    for lane in range(lanes):
                        weight[i, lane] = count_of(draws[lane])
                if w != 1:
                    for lane in range(lanes):
                        weight[i, lane] *= w
            else:
                weight[i] = w
            for lane in range(used, lanes):
                weight[i, lane] = 0
            tally_vectors(tally, 0, weights, i * lanes, lanes)
            add_vectors(sums, 0, weights, i * lanes, lanes)
        for lane in range(lanes):
            held[lane] += tally[lane]
            heavy[lane] += sums[lane]
    return some_gone


@jit
def keep_rows(table: Any, lanes: Any, n: Any, count: Any) -> Any:
    """Rows that a lane does not keep, by the first ``count`` columns in ``lanes.parted``, weigh nothing there; those
    that no lane has are forgotten, the others of each lane counted. Returns how many rows are left.

    While no more than a third of the rows lose something, what they lose is listed in ``packed`` and ``order``.
    """
    weight, rows, parted, keep, border = lanes.weight, lanes.rows, lanes.parted, lanes.keep, lanes.border
    width, weights, words, lost = weight.shape[1], weight.reshape(-1), weight.view(np.uint64), lanes.packed
    lost_words, tally, held, kept = lost.view(np.uint64), lanes.tally, lanes.held, np.int64(0)
    n_lost, here, before = lanes.place[LOST_ROWS], lanes.here, lanes.before_here
    held[:] = 0
    for start in range(0, n, FULL_BYTE):
        tally[:] = 0
        for i in range(start, min(start + FULL_BYTE, n)):
            r = rows[i]
            low, high, close, k = here[0], here[1], False, 0
            while k < count and low | high != 0:
                b = table.coarse[r, parted[k]]
                low &= keep[k, b, 0]
                high &= keep[k, b, 1]
                close |= border[k, b]
                k += 1
            listed = n_lost >= 0 and (close or low != here[0] or high != here[1])
            if listed and (n_lost == lost.shape[0] or n_lost * LOST_SHARE > i + FULL_BYTE):
                n_lost, listed = np.int64(NOT_LISTED), False
            if listed:
                lanes.order[n_lost] = r
                n_lost += move_row(words[i], lost_words[n_lost]) > 0 and low | high == 0
            if low | high == 0:
                continue
            rows[kept] = r
            if low != before[0] or high != before[1]:
                some = keep_vectors(weights, kept * width, weights, i * width, low, high, width)
            else:
                some = move_row(words[i], words[kept]) > 0
            if close:
                some = keep_by_number(table, lanes, r, weight[kept], words[kept], count)
            if listed:
                n_lost += leave_difference(lost_words[n_lost], words[kept]) > 0
            tally_vectors(tally, 0, weights, kept * width, width)
            kept += some
        for lane in range(width):
            held[lane] += tally[lane]
    lanes.place[LOST_ROWS] = n_lost
    before[0], before[1] = here[0], here[1]
    return kept


@jit
def keep_by_number(table: Any, lanes: Any, r: Any, weight: Any, words: Any, count: Any) -> Any:
    """``keep_rows`` for a row in bins in which cuts lie: its codes tell or, in a table without, its numbers as words.

    Returns whether any lane has it.
    """
    for k in range(count):
        j = lanes.parted[k]
        if lanes.border[k, table.coarse[r, j]]:
            bits = lanes.numbers[lanes.number[j]]
            code = sortable(bits[r]) if bits.size > 0 else np.uint64(table.codes[j, r])
            for lane in range(weight.size):
                w, elsewhere = weight[lane], lanes.column[lane] != j
                weight[lane] = w if elsewhere | (code - lanes.lowest[lane] < lanes.width[lane]) else np.uint8(0)
    some = np.uint64(0)
    for k in range(words.size):
        some |= words[k]
    return some > 0


@jit
def leave_difference(before: Any, after: Any) -> Any:
    """Of weights eight at a time, those that have become nothing; returns what any of them has."""
    some = np.uint64(0)
    for k in range(before.size):
        word = before[k] ^ after[k]
        some |= word
        before[k] = word
    return some


@jit
def move_row(here: Any, there: Any) -> Any:
    """Copy a row of weights, eight at a time; returns what any of them has."""
    some = np.uint64(0)
    for k in range(here.size):
        word = here[k]
        some |= word
        there[k] = word
    return some
