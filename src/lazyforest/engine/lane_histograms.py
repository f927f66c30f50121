"""Histograms of all lanes: rows are added to a bin of every column, in vectors over the lanes.

Neighbouring columns of few bins are joined: a cell for each combination of their bins. So a row is added once for all
of them, and cells are added up to bins at the end. Columns of many bins are joined in twos, by groups of bins: what
the groups' edges say is mostly enough to leave a group alone, and only the rows in the others are added once more.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lazyforest.engine.lane_layout import LOST_ROWS, ROUGHLY, ROWS, ROWS_PER_BLOCK, SIDE
from lazyforest.engine.layout import BINS, EDGES, inlined, jit
from lazyforest.engine.vectors import VECTOR, add_vector

JOINED, ALONE, WANTED = range(3)  # columns that are filled together, or one by one, or once more
SIDE_OF_BIN = np.searchsorted(EDGES, np.arange(BINS)).astype(np.uint8)


@jit
def are_rough(columns: Any, first_code: Any, first: Any, last: Any) -> Any:
    """Are the columns of a group two, joined by groups of bins?"""
    return last - first == 2 and first_code[columns[first], BINS] > BINS


@jit
def join_codes(coarse: Any, columns: Any, first_code: Any, ends: Any, joined: Any) -> None:
    """The cell of each row in each group of columns; those of one column are its bins."""
    for r in range(coarse.shape[0]):
        first = np.int64(0)
        for group in range(ends.size):
            last = ends[group]
            cell = np.int64(coarse[r, columns[first]])
            if are_rough(columns, first_code, first, last):
                other = np.int64(coarse[r, columns[first + 1]])
                cell = np.int64(SIDE_OF_BIN[cell]) * SIDE + np.int64(SIDE_OF_BIN[other])
            else:
                for slot in range(first + 1, last):
                    cell = cell * first_code[columns[slot], BINS] + np.int64(coarse[r, columns[slot]])
            joined[r, group] = cell
            first = last


@inlined
def fill_lanes(table: Any, target: Any, lanes: Any, columns: Any, first_group: Any, start: Any) -> Any:
    """Add the rows to a bin of ``columns``, those from slot ``start`` on, in all lanes; returns the next group.

    Of ``rough`` columns, if any may be, only groups of bins are told apart, each in the place of its last bin.
    """
    histogram, fills, rough, ends, first_code = lanes.histogram, lanes.fills, lanes.rough, lanes.ends, table.first_code
    n, n_lost, m, roughly = lanes.place[ROWS], lanes.place[LOST_ROWS], columns.size, lanes.place[ROUGHLY] == 1
    step, width, sums = histogram.shape[1], 2 * histogram.shape[3], histogram.reshape(-1)
    group, first, n_joined, n_alone = first_group, np.int64(0), 0, 0
    while first < m:
        end = ends[group] - start
        two = are_rough(columns, first_code, first, end)
        for slot in range(first, end):
            rough[slot] = two and roughly
            if end - first == 1 or (two and not roughly):
                fills[ALONE, n_alone, 0], fills[ALONE, n_alone, 1] = columns[slot], slot
                n_alone += 1
            elif slot == first:
                fills[JOINED, n_joined, 0], fills[JOINED, n_joined, 1] = group, slot
                n_joined += 1
        first = end
        group += 1
    fills[JOINED, n_joined:] = -1
    for slot in range(m):
        histogram[slot, : bins_of(columns, first_code, rough, slot)] = 0
    for k in range(n_joined):
        first = fills[JOINED, k, 1]
        histogram[first, : count_cells(columns, first_code, first, ends[fills[JOINED, k, 0]] - start)] = 0
    lost = 0 <= n_lost < n  # fewer rows to take away than there are to add
    weight, rows = (lanes.packed, lanes.order) if lost else (lanes.weight, lanes.rows)
    block, cells, y = lanes.place[ROWS_PER_BLOCK], lanes.cells, target.y
    n_filled = n_lost if lost else n
    fill_blocks(
        weight, rows, n_filled, lanes.joined, table.coarse, y, fills, n_joined, n_alone, block, cells, histogram
    )
    if sums_are_kept(lanes):
        for k in range(n_joined + n_alone):
            at = (fills[JOINED, k, 1] if k < n_joined else fills[ALONE, k - n_joined, 1]) * step * width
            keep_sums(sums[at : at + step * width], lanes.before.reshape(-1)[at : at + step * width], lost)
    if start == 0:
        alone = n_alone > 0 and fills[ALONE, 0, 1] == 0
        last = 1 if alone else ends[fills[JOINED, 0, 0]]
        sum_lanes(histogram[0, : count_cells(columns, first_code, 0, last)], lanes.total)
    for k in range(n_joined):
        first, end = fills[JOINED, k, 1], ends[fills[JOINED, k, 0]] - start
        if rough[first]:
            part_two(first, step, width, sums)
        else:
            part_cells(columns, first_code, first, end, step, width, sums)
    return group


@inlined
def sums_are_kept(lanes: Any) -> Any:
    """Will the sums of the nodes below be had from those of all rows now, by taking away what lanes lose?"""
    return lanes.before.shape[0] > 0 and lanes.place[ROUGHLY] == 1


@jit
def keep_sums(sums: Any, before: Any, lost: Any) -> None:
    """Sums for the nodes now, from those before if what was summed up is what lanes lost since."""
    for k in range(sums.size):
        sums[k] = before[k] - sums[k] if lost else sums[k]
        before[k] = sums[k]


@jit
def fill_blocks(
    weight: Any,
    rows: Any,
    n: Any,
    joined: Any,
    coarse: Any,
    y: Any,
    fills: Any,
    n_joined: Any,
    n_alone: Any,
    block: Any,
    cells: Any,
    histogram: Any,
) -> None:
    """``cells`` are the histogram itself or, where its counts take more than two bytes, those of a block of rows."""
    size, sums, some = histogram.shape[1] * 2 * weight.shape[1], histogram.reshape(-1), cells.reshape(-1)
    apart = histogram.itemsize > cells.itemsize
    if apart:
        some[:] = 0
    for lo in range(0, n, block):
        hi = min(lo + block, n)
        fill_cells(weight, rows, lo, hi, joined, coarse, y, fills, n_joined, n_alone, histogram.shape[1], some)
        for k in range(n_joined + n_alone if apart else 0):
            at = (fills[JOINED, k, 1] if k < n_joined else fills[ALONE, k - n_joined, 1]) * size
            flush(some, at, at + size, sums)


@jit
def fill_cells(
    weight: Any,
    rows: Any,
    lo: Any,
    hi: Any,
    joined: Any,
    coarse: Any,
    y: Any,
    fills: Any,
    n_joined: Any,
    n_alone: Any,
    step: Any,
    cells: Any,
) -> None:
    lanes, weights = weight.shape[1], weight.reshape(-1)
    for i in range(lo, hi):
        r = rows[i]
        c = np.int64(y[r])
        for k in range(n_joined):
            b = np.int64(joined[r, fills[JOINED, k, 0]])
            at = ((fills[JOINED, k, 1] * step + b) * 2 + c) * lanes
            for lane in range(0, lanes, VECTOR):
                add_vector(cells, at + lane, weights, i * lanes + lane)
        for k in range(n_alone):
            b = np.int64(coarse[r, fills[ALONE, k, 0]])
            at = ((fills[ALONE, k, 1] * step + b) * 2 + c) * lanes
            for lane in range(0, lanes, VECTOR):
                add_vector(cells, at + lane, weights, i * lanes + lane)


@jit
def flush(cells: Any, lo: Any, hi: Any, sums: Any) -> None:
    """Add cells to sums, in which they have the same places."""
    for at in range(lo, hi, VECTOR):
        add_vector(sums, at, cells, at)
    cells[lo:hi] = 0


@jit
def bins_of(columns: Any, first_code: Any, rough: Any, slot: Any) -> Any:
    """That a column has, or one more if it is rough: ``part_two`` needs it."""
    return min(first_code[columns[slot], BINS], BINS) + rough[slot]


@jit
def count_cells(columns: Any, first_code: Any, first: Any, last: Any) -> Any:
    if are_rough(columns, first_code, first, last):
        return np.int64(SIDE * SIDE)
    cells = np.int64(1)
    for slot in range(first, last):
        cells *= min(first_code[columns[slot], BINS], BINS)
    return cells


@jit
def part_two(first: Any, step: Any, width: Any, sums: Any) -> None:
    """Cells of two rough columns, in the place of the first, become groups of bins of each."""
    here, there = first * step * width, (first + 1) * step * width
    for one in range(SIDE):
        for two in range(SIDE):
            cell = here + (one * SIDE + two) * width
            add_row(sums, there + EDGES[two] * width, cell, width)
            add_row(sums, there + (EDGES[one] + 1) * width, cell, width)  # no edge: nobody looks at it
    for one in range(SIDE):
        at, start = here + EDGES[one] * width, there + (EDGES[one] + 1) * width
        for k in range(width):
            sums[at + k] = sums[start + k]


@jit
def part_cells(columns: Any, first_code: Any, first: Any, last: Any, step: Any, width: Any, sums: Any) -> None:
    """Cells of the columns first to last, in the place of the first, become bins of each."""
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
def accumulate(histogram: Any, missing: Any, rough: Any) -> Any:
    """A column's histogram becomes sums over the bins 1 to b, missing rows apart; returns whether there are any."""
    any_missing = False
    for c in range(2):
        for lane in range(missing.shape[1]):
            missing[c, lane] = histogram[0, c, lane]
            any_missing |= missing[c, lane] > 0
            histogram[0, c, lane] = 0
    sums, width = histogram.reshape(-1), histogram.shape[1] * histogram.shape[2]
    for k in range(1, SIDE if rough else histogram.shape[0]):
        at, before = (EDGES[k], EDGES[k - 1]) if rough else (k, k - 1)
        add_row(sums, at * width, before * width, width)
    return any_missing


@jit
def fill_groups(
    weight: Any,
    rows: Any,
    n: Any,
    joined: Any,
    coarse: Any,
    y: Any,
    columns: Any,
    fills: Any,
    rough: Any,
    wanted: Any,
    inside: Any,
    sides: Any,
    block: Any,
    cells: Any,
    histogram: Any,
) -> Any:
    """Of rough columns, the bins in ``wanted`` groups, a bit each: sums over the bins 1 to b, as at the groups' edges.

    Returns how many bins these are.
    """
    lanes, step, sums, bins, count = weight.shape[1], histogram.shape[1], histogram.reshape(-1), 0, 0
    for slot in range(columns.size):
        if not rough[slot] or wanted[slot] == 0:
            inside[slot] = False
            continue
        for b in range(BINS):
            side = np.int64(SIDE_OF_BIN[b])
            inside[slot, b] = b != EDGES[side] and (wanted[slot] >> (side - 1)) & 1  # what the edges do not tell
            if inside[slot, b]:
                bins += 1
                histogram[slot, b] = 0
    k = 0
    while bins > 0 and k < columns.size and fills[JOINED, k, 1] >= 0:  # the twos of which something is wanted
        slot = fills[JOINED, k, 1]
        if rough[slot] and wanted[slot] | wanted[slot + 1] > 0:
            fills[WANTED, count, 0], fills[WANTED, count, 1] = fills[JOINED, k, 0], slot
            for cell in range(SIDE * SIDE):
                one, two = cell // SIDE - 1, cell % SIDE - 1
                sides[count, cell] = ((wanted[slot] >> one) & 1 if one >= 0 else 0) + (
                    (wanted[slot + 1] >> two) & 1 if two >= 0 else 0
                ) * 2
            count += 1
        k += 1
    for lo in range(0, n if count > 0 else 0, block):
        fill_wanted(
            weight,
            rows,
            lo,
            min(lo + block, n),
            joined,
            coarse,
            y,
            columns,
            fills,
            count,
            inside,
            sides,
            step,
            cells.reshape(-1),
        )
        for slot in range(columns.size if histogram.itemsize > cells.itemsize else 0):
            for b in range(BINS):
                if inside[slot, b]:
                    flush(cells.reshape(-1), (slot * step + b) * 2 * lanes, (slot * step + b + 1) * 2 * lanes, sums)
    for slot in range(columns.size if bins > 0 else 0):
        for b in range(1, BINS):
            if inside[slot, b]:
                at = (slot * step + b) * 2 * lanes
                add_row(sums, at, at - 2 * lanes, 2 * lanes)
    return bins


@jit
def fill_wanted(
    weight: Any,
    rows: Any,
    lo: Any,
    hi: Any,
    joined: Any,
    coarse: Any,
    y: Any,
    columns: Any,
    fills: Any,
    count: Any,
    inside: Any,
    sides: Any,
    step: Any,
    cells: Any,
) -> None:
    lanes, weights = weight.shape[1], weight.reshape(-1)
    for i in range(lo, hi):
        r = rows[i]
        c = np.int64(y[r])
        for k in range(count):
            which = sides[k, joined[r, fills[WANTED, k, 0]]]
            slot = fills[WANTED, k, 1]
            while which > 0:
                here = np.int64(coarse[r, columns[slot]])
                if which & 1 and inside[slot, here]:
                    at = ((slot * step + here) * 2 + c) * lanes
                    for lane in range(0, lanes, VECTOR):
                        add_vector(cells, at + lane, weights, i * lanes + lane)
                which >>= 1
                slot += 1
