"""Opened bins of a column, for all lanes: their rows are sorted by codes once, and added up lane by lane."""

from __future__ import annotations

from typing import Any

import numpy as np

from lazyforest.engine.layout import BINS, jit
from lazyforest.engine.sorting import sort_words

NEW = 2  # beside the class of a row: the first of its code


@jit
def sort_by_bin(rows: Any, n: Any, coarse: Any, j: Any, order: Any, starts: Any) -> None:
    """Positions in ``rows`` by the bins of column j: order[starts[b]:starts[b + 1]]."""
    starts[:] = 0
    for i in range(n):
        starts[np.int64(coarse[rows[i], j])] += 1
    at = 0
    for b in range(BINS + 1):
        here = starts[b]
        starts[b] = at
        at += here
    for i in range(n):
        b = coarse[rows[i], j]
        order[starts[b]] = i
        starts[b] += 1
    for b in range(BINS, 0, -1):  # each has moved to its end
        starts[b] = starts[b - 1]
    starts[0] = 0


@jit
def fill_opened(
    order: Any,
    starts: Any,
    entries: Any,
    code: Any,
    kind: Any,
    rows: Any,
    weight: Any,
    lane: Any,
    codes: Any,
    y: Any,
    opened: Any,
    fine_starts: Any,
    fine_stops: Any,
    fine: Any,
    fine_codes: Any,
    words: Any,
    spare: Any,
    places: Any,
    most: Any,
) -> None:
    """As ``fill_fine`` for a lane: what it holds of each code in the opened bins, also where that is nothing."""
    used = np.int64(0)
    for b in range(1, BINS):
        if opened[b]:
            lo, hi = starts[b], starts[b + 1]
            if entries[b] < 0:
                entries[b] = sort_bin(
                    order[lo:hi], code[lo:hi], kind[lo:hi], rows, codes, y, words, spare, places, most
                )
            fine_starts[b], fine_stops[b] = used, used + entries[b]
            add_bin(order, code, kind, lo, hi, weight, lane, used, fine, fine_codes)
            used = fine_stops[b]


@jit
def sort_bin(
    order: Any,
    codes_out: Any,
    kind: Any,
    rows: Any,
    codes: Any,
    y: Any,
    words: Any,
    spare: Any,
    places: Any,
    most: Any,
) -> Any:
    """The positions of a bin's rows by codes, once for all lanes, with codes and classes; returns how many codes."""
    for k in range(order.size):
        words[k] = (np.uint64(codes[rows[order[k]]]) << np.uint64(32)) | np.uint64(order[k])
    sort_words(words, spare, places, order.size, np.uint64(32), most)
    last, entries = np.uint64(0), np.int64(0)
    for k in range(order.size):
        code, i = words[k] >> np.uint64(32), words[k] & np.uint64(0xFFFFFFFF)
        order[k], codes_out[k] = i, code
        kind[k] = np.uint64(code != last) * np.uint64(NEW) + np.uint64(y[rows[i]])
        entries += code != last
        last = code
    return entries


@jit
def add_bin(
    order: Any, codes: Any, kinds: Any, lo: Any, hi: Any, weight: Any, lane: Any, used: Any, fine: Any, fine_codes: Any
) -> None:
    at = used - 1
    for k in range(lo, hi):
        kind = np.int64(kinds[k])
        if kind >= NEW:
            at += 1
            fine_codes[at], fine[at, 0], fine[at, 1] = codes[k], 0, 0
        fine[at, kind % NEW] += weight[order[k], lane]
