"""Histograms of what a fold may look at: those of all rows of a group less those of the fold.

One pass adds every row of a group to histograms; then each fold's best condition costs a copy of these, as many rows
less as the fold has, and a look at the bins.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lazyforest.engine.layout import BINS, BLOCK, HISTOGRAM_COLUMNS, Array, Rules, Table, Target, jit

LEAST_ROWS = BLOCK + 1  # a smaller group, which has no histograms, is explored fold by fold


def can_subtract(table: Table, target: Target, rules: Rules) -> bool:
    """Are there classes (the statistics of regression are about a mean that differs by fold), and columns that all
    nodes look at, at once?
    """
    m = table.codes.shape[0]
    return target.n_classes > 0 and m <= min(HISTOGRAM_COLUMNS, rules.max_features)


def new_histogram(table: Table, target: Target, rules: Rules, weight: Array) -> Array:
    """(columns, BINS, classes) of all rows of a group; or none."""
    m = table.codes.shape[0] if can_subtract(table, target, rules) else 0
    return np.empty((m, BINS, target.n_classes), dtype=weight.dtype)


@jit
def subtract(
    histogram: Any, n_bins: Any, rows: Any, lo: Any, hi: Any, y: Any, weight: Any, coarse: Any, out: Any
) -> None:
    """``histogram`` without rows[lo:hi]."""
    n = histogram.shape[0]
    for slot in range(n):
        for b in range(n_bins[slot]):
            for c in range(histogram.shape[2]):
                out[slot, b, c] = histogram[slot, b, c]
    for i in range(lo, hi):
        r = rows[i]
        w, c = weight[r], y[r]
        for slot in range(n):
            out[slot, coarse[r, slot], c] -= w
