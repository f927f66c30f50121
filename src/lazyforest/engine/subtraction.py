"""Histograms of what a fold may look at: those of all rows of a group less those of the fold.

One pass adds every row of a group to the histograms of its fold; then each fold's best condition costs a subtraction
and a look at the bins. That pays at large nodes, while many folds are still together.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lazyforest.engine.layout import BINS, HISTOGRAM_COLUMNS, WEIGHTS, Array, Rules, Table, Target, jit

LEAST_ROWS, LEAST_FOLDS = BINS, 5  # a group of less, per class, is explored fold by fold
MOST_BYTES = 1 << 26


def can_subtract(table: Table, target: Target, rules: Rules, n_folds: int) -> bool:
    """Are there classes (the statistics of regression are about a mean that differs by fold), and columns that all
    nodes look at, in histograms that fit?
    """
    m, n = table.codes.shape
    fits = (n_folds + 2) * m * BINS * max(target.n_classes, 1) * WEIGHTS[-1]().itemsize <= MOST_BYTES
    pays = n >= LEAST_ROWS * target.n_classes and n_folds >= LEAST_FOLDS
    return pays and fits and target.n_classes > 0 and m <= HISTOGRAM_COLUMNS and rules.max_features >= m


def new_histograms(table: Table, target: Target, rules: Rules, weight: Array, n_folds: int) -> Array:
    """(folds + 2, columns, BINS, classes): folds that have a number at a node, queries of no fold among them, and after
    these all rows; or none.
    """
    count = n_folds + 2 if can_subtract(table, target, rules, n_folds) else 0
    return np.empty((count, min(table.codes.shape[0], HISTOGRAM_COLUMNS), BINS, target.n_classes), dtype=weight.dtype)


@jit
def fill_by_fold(
    rows: Any,
    lo: Any,
    hi: Any,
    y: Any,
    weight: Any,
    coarse: Any,
    first_code: Any,
    columns: Any,
    fold: Any,
    number: Any,
    count: Any,
    n_bins: Any,
    histograms: Any,
) -> None:
    """Add rows[lo:hi] to the histograms of their fold, if it is one of the ``count`` that have a number; sum all up."""
    n = columns.size
    for slot in range(n):
        n_bins[slot] = min(first_code[columns[slot], BINS], BINS)
        for k in range(count + 1):
            histograms[k, slot, : n_bins[slot]] = 0
    for i in range(lo, hi):
        r = rows[i]
        w, c = weight[r], y[r]
        known = fold[r] >= 0 and number[fold[r]] >= 0
        here = histograms[np.int64(number[fold[r]]) if known else np.int64(count)]
        for slot in range(n):
            here[slot, coarse[r, columns[slot]], c] += w
    total = histograms[count]
    for k in range(count):
        for slot in range(n):
            for b in range(n_bins[slot]):
                for c in range(total.shape[2]):
                    total[slot, b, c] += histograms[k, slot, b, c]


@jit
def subtract(histograms: Any, k: Any, count: Any, n: Any, n_bins: Any, out: Any) -> None:
    """The histograms of all rows but those of a fold; k == count: of all rows."""
    total, own, classes = histograms[count], histograms[k], out.shape[2]
    for slot in range(n):
        for b in range(n_bins[slot]):
            for c in range(classes):
                out[slot, b, c] = total[slot, b, c] - (own[slot, b, c] if k < count else 0)
