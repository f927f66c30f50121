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
from lazyforest.engine.vectors import add_vectors

SIDE_OF_BIN = np.searchsorted(EDGES, np.arange(BINS)).astype(np.uint8)


@jit
def are_rough(columns: Any, first_code: Any, first: Any, last: Any) -> Any:
    """Are the columns of a group two, joined by groups of bins?"""
    return last - first == 2 and first_code[columns[first], BINS] > BINS


@jit
def join_codes(rows: Any, n: Any, coarse: Any, columns: Any, first_code: Any, ends: Any, joined: Any) -> None:
    """The cell of each row in each group of columns; those of one column are its bins."""
    for i in range(n):
        r = rows[i]
        first, group = np.int64(0), np.int64(0)
        while first < columns.size:
            last = ends[group]
            cell = np.int64(coarse[r, columns[first]])
            if are_rough(columns, first_code, first, last):
                other = np.int64(coarse[r, columns[first + 1]])
                cell = np.int64(SIDE_OF_BIN[cell]) * SIDE + np.int64(SIDE_OF_BIN[other])
            else:
                for slot in range(first + 1, last):
                    cell = cell * first_code[columns[slot], BINS] + np.int64(coarse[r, columns[slot]])
            joined[r, group] = cell
            first, group = last, group + 1


@inlined
def fill_lanes(table: Any, target: Any, lanes: Any, columns: Any, first_group: Any, start: Any) -> Any:
    """Add the rows to a bin of ``columns``, those from slot ``start`` on, in all lanes; returns the next group.

    Of ``rough`` columns only groups of bins are told apart, each in the place of its last bin.
    """
    histogram, places, rough, first_code = lanes.histogram, lanes.places, lanes.rough, table.first_code
    n, n_lost, m, ends = lanes.place[ROWS], lanes.place[LOST_ROWS], columns.size, lanes.ends[lanes.place[ROUGHLY]]
    step, width, sums = histogram.shape[1], 2 * histogram.shape[3], histogram.reshape(-1)
    size, first, count = step * width, np.int64(0), np.int64(0)
    for slot in range(m):
        histogram[slot, : min(first_code[columns[slot], BINS], BINS)] = 0
    while first < m:
        end = ends[first_group + count] - start
        for slot in range(first, end):
            rough[slot] = are_rough(columns, first_code, first, end)
            if rough[slot]:
                histogram[slot, BINS] = 0  # ``part_two`` needs it
        histogram[first, : count_cells(columns, first_code, first, end)] = 0
        places[count] = first * size
        first, count = end, count + 1
    lost = 0 <= n_lost < n  # fewer rows to take away than there are to add
    weight, rows = (lanes.packed, lanes.order) if lost else (lanes.weight, lanes.rows)
    block, n_filled = lanes.place[ROWS_PER_BLOCK], n_lost if lost else n
    fill_blocks(
        weight, rows, n_filled, lanes.joined, first_group, count, target.y, places, block, lanes.cells, histogram
    )
    if sums_are_kept(lanes):
        for k in range(count):
            at = np.int64(places[k])
            keep_sums(sums[at : at + size], lanes.before.reshape(-1)[at : at + size], lost)
    if start == 0:
        sum_lanes(histogram[0, : count_cells(columns, first_code, 0, ends[0])], lanes.total)
    first = np.int64(0)
    for k in range(count):
        end = ends[first_group + k] - start
        if rough[first]:
            part_two(first, step, width, sums)
        elif end - first > 1:
            part_cells(columns, first_code, first, end, step, width, sums)
        first = end
    return first_group + count


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
    first: Any,
    count: Any,
    y: Any,
    places: Any,
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
        fill_cells(weight, rows, lo, min(lo + block, n), joined, first, count, y, places, some)
        for k in range(count if apart else 0):
            flush(some, np.int64(places[k]), np.int64(places[k]) + size, sums)


@jit
def fill_cells(
    weight: Any, rows: Any, lo: Any, hi: Any, joined: Any, first: Any, count: Any, y: Any, places: Any, cells: Any
) -> None:
    """Add rows lo to hi to their cells in the groups ``first``..., whose cells begin at ``places``.

    Unsigned numbers and one array after the other: what is added up here is little beside finding its address.
    """
    lanes, weights, begin = np.uint64(weight.shape[1]), weight.reshape(-1), np.uint64(first)
    for i in range(np.uint64(lo), np.uint64(hi)):
        r = rows[i]
        c = np.uint64(y[r])
        for k in range(np.uint64(count)):
            at = places[k] + (np.uint64(joined[r, begin + k]) * np.uint64(2) + c) * lanes
            add_vectors(cells, at, weights, i * lanes, lanes)


@jit
def flush(cells: Any, lo: Any, hi: Any, sums: Any) -> None:
    """Add cells to sums, in which they have the same places."""
    add_vectors(sums, lo, cells, lo, hi - lo)
    cells[lo:hi] = 0


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
    add_vectors(sums, at, sums, start, width)


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
    ends: Any,
    group: Any,
    start: Any,
    pairs: Any,
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
    slot = 0
    while bins > 0 and slot < columns.size:  # the twos of which something is wanted
        if rough[slot] and wanted[slot] | wanted[slot + 1] > 0:
            pairs[count, 0], pairs[count, 1] = group, slot
            for cell in range(SIDE * SIDE):
                one, two = cell // SIDE - 1, cell % SIDE - 1
                sides[count, cell] = ((wanted[slot] >> one) & 1 if one >= 0 else 0) + (
                    (wanted[slot + 1] >> two) & 1 if two >= 0 else 0
                ) * 2
            count += 1
        slot = ends[group] - start
        group += 1
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
            pairs,
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
    pairs: Any,
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
            which = sides[k, joined[r, pairs[k, 0]]]
            slot = pairs[k, 1]
            while which > 0:
                here = np.int64(coarse[r, columns[slot]])
                if which & 1 and inside[slot, here]:
                    at = ((slot * step + here) * 2 + c) * lanes
                    add_vectors(cells, at, weights, i * lanes, lanes)
                which >>= 1
                slot += 1
