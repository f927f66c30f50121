"""From values to dense ranks and coarse bins."""

from __future__ import annotations

from typing import Any

import numpy as np

from lazyforest.engine.layout import BINS, entry


@entry
def rank_numbers(x: Any, order: Any, codes: Any, values: Any) -> Any:
    """Codes 1, 2... of the distinct numbers in ``x`` (0: NaN), given its ascending order with NaN at the end.

    Writes the distinct numbers to ``values``; returns how many there are.
    """
    count = 0
    for i in range(order.size):
        v = x[order[i]]
        if np.isnan(v):
            codes[order[i]] = 0
            continue
        if count == 0 or v != values[count - 1]:
            values[count] = v
            count += 1
        codes[order[i]] = count
    return count


@entry
def bin_codes(codes: Any, n_values: Any, rows: Any, first_code: Any, coarse: Any) -> None:
    """Bins of about equally many rows, or one per code while there are at most 255; ``rows`` is a buffer."""
    bins = rows[: n_values + 1]  # first the number of rows of each code, then its bin
    if n_values < BINS:
        for code in range(n_values + 1):
            bins[code] = code
    else:
        bins[:] = 0
        for i in range(codes.size):
            bins[codes[i]] += 1
        present, below = codes.size - bins[0], 0
        for code in range(1, n_values + 1):
            here = bins[code]
            bins[code] = 1 + below * (BINS - 1) // present
            below += here
        bins[0] = 0
    b = 0
    for code in range(n_values + 1):
        while b <= bins[code]:
            first_code[b] = code
            b += 1
    first_code[b:] = n_values + 1
    for i in range(codes.size):
        coarse[i] = bins[codes[i]]
