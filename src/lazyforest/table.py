"""A table becomes encoded columns. The only place that knows dtypes."""

from __future__ import annotations

import numpy as np

from lazyforest.engine.layout import BINS, COARSE, CODES, Array, Table


def encode(X: Array, is_category: Array) -> Table:
    """Dense ranks and coarse bins of a float64 matrix: numbers, or codes 1, 2... of categories; NaN is missing."""
    n, m = X.shape
    codes = np.empty((m, n), dtype=CODES[0] if n < np.iinfo(CODES[0]).max else CODES[1])
    coarse = np.empty((n, m), dtype=COARSE)
    first_code = np.empty((m, BINS + 1), dtype=np.int64)
    values: list[Array] = []
    for j in range(m):
        present = ~np.isnan(X[:, j])
        distinct = np.unique(X[present, j])
        if is_category[j]:
            distinct = np.arange(1.0, distinct.max(initial=0.0) + 1.0)
        codes[j] = np.where(present, np.searchsorted(distinct, X[:, j]) + 1, 0)
        bin_of_code = coarse_bins(codes[j], len(distinct))
        coarse[:, j] = bin_of_code[codes[j]]
        first_code[j] = np.searchsorted(bin_of_code, np.arange(BINS + 1))
        values.append(distinct)
    start = np.cumsum([0, *(len(v) for v in values)])[:-1]
    return Table(codes, coarse, first_code, is_category, np.concatenate([*values, np.empty(0)]), start)


def coarse_bins(codes: Array, n_values: int) -> Array:
    """The bin of every code: itself while there are few, otherwise bins of about equally many rows."""
    if n_values < BINS:
        return np.arange(n_values + 1)
    rows = np.bincount(codes, minlength=n_values + 1)
    rows[0] = 0
    below = np.cumsum(rows) - rows
    bins = 1 + below * (BINS - 1) // rows.sum()
    bins[0] = 0
    return bins
