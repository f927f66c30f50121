"""Rows of all lanes: their counts are drawn, and what lanes do not keep is forgotten."""

from __future__ import annotations

from typing import Any

import numpy as np

from lazyforest.engine.bootstrap import PASSED_EARLY, count_early, count_of, draw_word
from lazyforest.engine.encoding import sortable
from lazyforest.engine.lane_layout import ALL_KEPT, BY_NUMBER, LOST_ROWS, MASKED, NONE_KEPT, NOT_LISTED
from lazyforest.engine.layout import POISSON, jit
from lazyforest.engine.vectors import VECTOR, add_vector, mask_vector, tally_vector

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
                for lane in range(0, lanes, VECTOR):
                    count_early(weights, i * lanes + lane, draws, lane)
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
            for lane in range(0, lanes, VECTOR):
                tally_vector(tally, lane, weights, i * lanes + lane)
                add_vector(sums, lane, weights, i * lanes + lane)
        for lane in range(lanes):
            held[lane] += tally[lane]
            heavy[lane] += sums[lane]
    return some_gone


@jit
def keep_rows(table: Any, lanes: Any, n: Any, j: Any) -> Any:
    """Rows that a lane does not keep, by their bins of column j, weigh nothing there; returns how many rows are left.

    While no more than a third of the rows lose something, what they lose is listed in ``packed`` and ``order``.
    """
    weight, rows, fate, codes = lanes.weight, lanes.rows, lanes.fate, table.codes[j]
    bits = lanes.numbers[lanes.number[j]]  # of a table without codes
    width, weights, masks, lost = weight.shape[1], weight.reshape(-1), lanes.keep.reshape(-1), lanes.packed
    words, lost_words, kept, n_lost = weight.view(np.uint64), lost.view(np.uint64), np.int64(0), lanes.place[LOST_ROWS]
    for i in range(n):
        r = rows[i]
        b = np.int64(table.coarse[r, j])
        if fate[b] != ALL_KEPT and n_lost >= 0:
            if n_lost == lost.shape[0] or n_lost * LOST_SHARE > i + FULL_BYTE:
                n_lost = np.int64(NOT_LISTED)
            else:
                lanes.order[n_lost] = r
                some = move_row(words[i], lost_words[n_lost])
                n_lost += fate[b] == NONE_KEPT and some > 0
        if fate[b] == NONE_KEPT:
            continue
        if kept < i:
            move_row(words[i], words[kept])
            rows[kept] = r
        if fate[b] == MASKED:
            for lane in range(0, width, VECTOR):
                mask_vector(weights, kept * width + lane, masks, b * width + lane)
        elif fate[b] == BY_NUMBER:
            code = sortable(bits[r]) if bits.size > 0 else np.uint64(codes[r])
            keep_by_number(weight[kept], code, lanes.lowest, lanes.width)
        if fate[b] != ALL_KEPT and n_lost >= 0:
            n_lost += leave_difference(lost_words[n_lost], words[kept]) > 0
        kept += 1
    lanes.place[LOST_ROWS] = n_lost
    return kept


@jit
def keep_by_number(weight: Any, code: Any, lowest: Any, width: Any) -> None:
    """A row with that code, or number as a word, weighs nothing in lanes that do not keep it."""
    for lane in range(weight.size):
        w = weight[lane]
        weight[lane] = w if code - lowest[lane] < width[lane] else np.uint8(0)


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


@jit
def forget_lanes(weight: Any, n: Any, keep: Any) -> None:
    """Lanes that are gone, by a mask over lanes, have no rows."""
    lanes, weights = weight.shape[1], weight.reshape(-1)
    for i in range(n):
        for lane in range(0, lanes, VECTOR):
            mask_vector(weights, i * lanes + lane, keep, lane)


@jit
def compact(weight: Any, rows: Any, n: Any, tally: Any, held: Any) -> Any:
    """Forget the rows that no lane has; count those of each lane. Returns how many there are."""
    lanes, weights, words, kept = weight.shape[1], weight.reshape(-1), weight.view(np.uint64), np.int64(0)
    held[:] = 0
    for start in range(0, n, FULL_BYTE):
        tally[:] = 0
        for i in range(start, min(start + FULL_BYTE, n)):
            some = move_row(words[i], words[kept])
            for lane in range(0, lanes, VECTOR):
                tally_vector(tally, lane, weights, kept * lanes + lane)
            rows[kept] = rows[i]
            kept += some > 0
        for lane in range(lanes):
            held[lane] += tally[lane]
    return kept
