"""Histograms that are found without adding all rows: those of more rows less those of some.

Of a node: the child that holds more rows has its parent's histograms less those of the other child, whose rows alone
are added. Of a fold: those of all rows of a group less those of the fold. One pass adds every row of a group; then each
fold's best condition costs a copy of these, as many rows less as the fold has, and a look at the bins.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lazyforest.engine.bins import fill_histogram
from lazyforest.engine.layout import BINS, BLOCK, HISTOGRAM_COLUMNS, Array, Rules, Table, Target, jit

LEAST_ROWS = BLOCK + 1  # smaller nodes have no histograms; smaller groups are explored fold by fold
MOST_BYTES = 1 << 20  # of histograms that nodes on the stack have: they should stay in the cache


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
def copy_bins(histogram: Any, n_bins: Any, out: Any) -> None:
    for slot in range(histogram.shape[0]):
        for b in range(n_bins[slot]):
            for c in range(histogram.shape[2]):
                out[slot, b, c] = histogram[slot, b, c]


@jit
def take_out(histogram: Any, rows: Any, lo: Any, hi: Any, y: Any, weight: Any, coarse: Any) -> None:
    """``histogram`` without rows[lo:hi]."""
    for i in range(lo, hi):
        r = rows[i]
        w, c = weight[r], y[r]
        for slot in range(histogram.shape[0]):
            histogram[slot, coarse[r, slot], c] -= w


def new_histograms(table: Table, target: Target, rules: Rules, columns: Array, dtype: Any) -> Array:
    """(nodes, columns, BINS, classes), as many as there is room for; none where these do not apply."""
    m = len(columns)
    applies = can_subtract(table, target, rules) and m == table.codes.shape[0]
    nodes = MOST_BYTES // (m * BINS * target.n_classes * dtype.itemsize) if applies else 0
    return np.empty((nodes, m, BINS, target.n_classes), dtype=dtype)


@jit
def prepare(
    rows: Any,
    lo: Any,
    hi: Any,
    y: Any,
    weight: Any,
    coarse: Any,
    first_code: Any,
    columns: Any,
    n_bins: Any,
    own: Any,
    ready: Any,
    out: Any,
) -> None:
    """A node's histograms into ``out`` and, unless they are ``ready`` there, into its ``own``."""
    if not ready:
        fill_histogram(rows, lo, hi, np.int64(0), y, weight, coarse, first_code, columns, None, n_bins, own)
    copy_bins(own, n_bins, out)


@jit
def hand_down(
    histograms: Any,
    at: Any,
    n_bins: Any,
    rows: Any,
    spare: Any,
    lo: Any,
    mid: Any,
    hi: Any,
    y: Any,
    weight: Any,
    coarse: Any,
    want_left: Any,
    want_right: Any,
) -> Any:
    """Turn a node's histograms into those of its children; returns which of these have theirs.

    The right child's are the node's own, the left child's the next ones if there is a right child. The rows of the left
    child are rows[lo:mid]; those of the right child are in ``spare``, from 0 on.
    """
    right_is_larger = hi - mid > mid - lo
    want_larger, want_smaller = (want_right, want_left) if right_is_larger else (want_left, want_right)
    if not want_larger or max(hi - mid, mid - lo) <= LEAST_ROWS:
        return 0, 0
    both = want_smaller and min(hi - mid, mid - lo) > LEAST_ROWS
    own, other = histograms[at], histograms[at + 1]
    larger = own
    if both or (want_right and not right_is_larger):
        copy_bins(own, n_bins, other)
        larger = other
    if right_is_larger:
        take_out(larger, rows, lo, mid, y, weight, coarse)
    else:
        take_out(larger, spare, np.int64(0), hi - mid, y, weight, coarse)
    if not both:
        return (0, 1) if right_is_larger else (1, 0)
    for slot in range(own.shape[0]):
        for b in range(n_bins[slot]):
            for c in range(own.shape[2]):
                rest = other[slot, b, c]
                less = own[slot, b, c] - rest
                own[slot, b, c] = rest if right_is_larger else less
                other[slot, b, c] = less if right_is_larger else rest
    return 1, 1
