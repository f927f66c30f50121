"""Rows of all lanes: their counts are drawn, and what lanes do not keep is forgotten."""

from __future__ import annotations

from typing import Any

import numpy as np

from lazyforest.engine.bootstrap import count_vector, draw_word
from lazyforest.engine.encoding import sortable
from lazyforest.engine.layout import POISSON, jit
from lazyforest.engine.vectors import VECTOR, add_vector, mask_vector, tally_vector

FULL_BYTE = 255  # counters hold so many rows, and their weights


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
    lanes, weights, some_gone = keys.size, weight.reshape(-1), False
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
                    count_vector(weights, i * lanes + lane, draws, lane)
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
def keep_rows(
    weight: Any,
    rows: Any,
    n: Any,
    codes: Any,
    bits: Any,
    coarse: Any,
    j: Any,
    keep: Any,
    gone: Any,
    border: Any,
    lowest: Any,
    width: Any,
) -> Any:
    """Rows that a lane does not keep weigh nothing there; those in bins that no lane keeps are forgotten.

    A table without codes has the ``bits`` of numbers. Returns how many rows there are.
    """
    lanes, weights, masks, kept = weight.shape[1], weight.reshape(-1), keep.reshape(-1), np.int64(0)
    words = weight.view(np.uint64)
    for i in range(n):
        r = rows[i]
        b = np.int64(coarse[r, j])
        if gone[b]:
            continue
        if kept < i:
            move_row(words, i, kept)
            rows[kept] = r
        if not border[b]:
            for lane in range(0, lanes, VECTOR):
                mask_vector(weights, kept * lanes + lane, masks, b * lanes + lane)
        else:
            code = sortable(bits[r]) if bits.size > 0 else np.uint64(codes[r])
            for lane in range(lanes):
                w = weight[kept, lane]
                weight[kept, lane] = w if code - lowest[lane] < width[lane] else np.uint8(0)
        kept += 1
    return kept


@jit
def move_row(words: Any, start: Any, to: Any) -> Any:
    """Copy a row of weights, eight at a time; returns what any of them has."""
    here, there, some = words[start], words[to], np.uint64(0)
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
            some = move_row(words, i, kept)
            for lane in range(0, lanes, VECTOR):
                tally_vector(tally, lane, weights, kept * lanes + lane)
            rows[kept] = rows[i]
            kept += some > 0
        for lane in range(lanes):
            held[lane] += tally[lane]
    return kept
