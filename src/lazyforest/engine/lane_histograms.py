"""Histograms of all lanes: rows are added to a bin of every column, in vectors over the lanes.

Neighbouring columns of few bins are joined: a cell for each combination of their bins. So a row is added once for all
of them, and cells are added up to bins at the end.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lazyforest.engine.layout import BINS, Array, jit
from lazyforest.engine.vectors import VECTOR, add_vector

ROWS_PER_CELL = 64  # columns are joined where so many rows make up for parting their cells


def join_columns(bins: Array, n: int, slots: int) -> list[int]:
    """Groups of neighbours that have few cells together, none across a multiple of ``slots``: where each ends."""
    ends, cells = [0], BINS
    for slot, some in enumerate(bins.tolist()):
        cells *= some
        if cells > min(BINS, n // ROWS_PER_CELL) or slot % slots == 0:
            ends.append(slot)
            cells = some
        ends[-1] = slot + 1
    return ends[1:]


@jit
def join_codes(coarse: Any, columns: Any, first_code: Any, ends: Any, joined: Any) -> None:
    """The cell of each row in each group of columns."""
    for r in range(coarse.shape[0]):
        first = np.int64(0)
        for group in range(ends.size):
            cell = np.int64(coarse[r, columns[first]])
            for slot in range(first + 1, ends[group]):
                cell = cell * first_code[columns[slot], BINS] + np.int64(coarse[r, columns[slot]])
            joined[r, group] = cell
            first = ends[group]


@jit
def fill_lanes(
    weight: Any,
    rows: Any,
    n: Any,
    joined: Any,
    y: Any,
    columns: Any,
    first_code: Any,
    ends: Any,
    first_group: Any,
    start: Any,
    histogram: Any,
) -> Any:
    """Add the rows to a bin of ``columns``, those from slot ``start`` on, in all lanes; returns the next group."""
    lanes, step, sums, weights = weight.shape[1], histogram.shape[1], histogram.reshape(-1), weight.reshape(-1)
    for slot in range(columns.size):
        histogram[slot, : min(first_code[columns[slot], BINS], BINS)] = 0
    last_group, first = first_group, np.int64(0)
    while first < columns.size:
        end = ends[last_group] - start
        histogram[first, : count_cells(columns, first_code, first, end)] = 0
        first = end
        last_group += 1
    for i in range(n):
        r, first = rows[i], np.int64(0)
        c = np.int64(y[r])
        for group in range(first_group, last_group):
            at = ((first * step + np.int64(joined[r, group])) * 2 + c) * lanes
            for lane in range(0, lanes, VECTOR):
                add_vector(sums, at + lane, weights, i * lanes + lane)
            first = ends[group] - start
    first = np.int64(0)
    for group in range(first_group, last_group):
        part_cells(columns, first_code, first, ends[group] - start, step, 2 * lanes, sums)
        first = ends[group] - start
    return last_group


@jit
def count_cells(columns: Any, first_code: Any, first: Any, last: Any) -> Any:
    cells = np.int64(1)
    for slot in range(first, last):
        cells *= min(first_code[columns[slot], BINS], BINS)
    return cells


@jit
def part_cells(columns: Any, first_code: Any, first: Any, last: Any, step: Any, width: Any, sums: Any) -> None:
    """Cells of the columns first to last, in the place of the first, become bins of each."""
    if last - first == 1:
        return
    cells, here = count_cells(columns, first_code, first, last), first * step * width
    below = cells
    for slot in range(first, last):
        bins = first_code[columns[slot], BINS]
        below //= bins
        if slot > first:
            for cell in range(cells):
                add_row(sums, (slot * step + cell // below % bins) * width, here + cell * width, width)
    below = count_cells(columns, first_code, first + 1, last)
    for cell in range(cells):  # in place: a bin never lies behind its cells
        at, start = here + cell // below * width, here + cell * width
        if cell % below > 0:
            add_row(sums, at, start, width)
        else:
            for k in range(width):
                sums[at + k] = sums[start + k]


@jit
def add_row(sums: Any, at: Any, start: Any, width: Any) -> None:
    for k in range(0, width, VECTOR):
        add_vector(sums, at + k, sums, start + k)


@jit
def sum_lanes(histogram: Any, total: Any) -> None:
    """The classes' weights in each lane, from any column's histogram."""
    total[:] = 0
    for b in range(histogram.shape[0]):
        for c in range(2):
            here, sums = histogram[b, c], total[c]
            for lane in range(sums.size):
                sums[lane] += here[lane]


@jit
def accumulate(histogram: Any, missing: Any) -> Any:
    """A column's histogram becomes sums over the bins 1 to b, missing rows apart; returns whether there are any."""
    any_missing = False
    for c in range(2):
        for lane in range(missing.shape[1]):
            missing[c, lane] = histogram[0, c, lane]
            any_missing |= missing[c, lane] > 0
            histogram[0, c, lane] = 0
    sums, step = histogram.reshape(-1), histogram.shape[1] * histogram.shape[2]
    for at in range(2 * step, histogram.shape[0] * step, VECTOR):
        add_vector(sums, at, sums, at - step)
    return any_missing
