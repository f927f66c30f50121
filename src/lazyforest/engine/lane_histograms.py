"""Histograms of all lanes: rows are added to a bin of every column, in vectors over the lanes.

Neighbouring columns of few bins are joined: a cell for each combination of their bins. So a row is added once for all
of them, and cells are added up to bins at the end. Columns of many bins are joined in twos, by groups of bins: what
the groups' edges say is mostly enough to leave a group alone, and only the rows in the others are added once more.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lazyforest.engine.lane_layout import LOST_ROWS, ROUGHLY, ROWS_PER_BLOCK, SIDE
from lazyforest.engine.layout import BINS, EDGES, inlined, jit
from lazyforest.engine.vectors import add_vectors

ROWS_PER_JOINED = 60  # rows and columns added by one of two members that make up for joining what they add to a bin
SIDE_OF_BIN = np.searchsorted(EDGES, np.arange(BINS)).astype(np.uint8)


@jit
def are_rough(columns: Any, first_code: Any, first: Any, last: Any) -> Any:
    """Are the columns of a group two, joined by groups of bins?"""
    return last - first == 2 and first_code[columns[first], BINS] > BINS


@jit
def join_codes(rows: Any, lo: Any, hi: Any, coarse: Any, columns: Any, first_code: Any, ends: Any, joined: Any) -> None:
    """The cell of rows[lo:hi] in each group of columns; those of one column are its bins."""
    for i in range(lo, hi):
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
def pays_by_rows(first_code: Any, counts: Any, large: Any, notes: Any, columns: Any) -> Any:
    """Should members add their rows for all lanes, which are then to be joined, or all rows for their lanes?"""
    members, n, bins, roughly = counts.size, np.int64(0), np.int64(0), notes[ROUGHLY] == 1
    for member in range(members):
        n += counts[member]
    for slot in range(columns.size):
        n_codes = first_code[columns[slot], BINS]
        bins += SIDE if n_codes > BINS and roughly else min(n_codes, BINS)
    return members == 1 or sums_are_kept(large, notes) or n * columns.size > ROWS_PER_JOINED * bins


@inlined
def fill_lanes(
    first_code: Any,
    y: Any,
    team: Any,
    me: Any,
    share: Any,
    own: Any,
    large: Any,
    histogram: Any,
    order: Any,
    columns: Any,
    first_group: Any,
    start: Any,
    by_rows: Any,
) -> Any:
    """Add rows to bins of ``columns``, those from slot ``start`` on; returns the next group.

    Of ``rough`` columns only groups of bins are told apart, each in the place of its last bin.
    """
    places, rough, notes, counts, first_row = own.places, own.rough, share.notes, team.counts, team.first_row
    filled, cells = (team.filled[me], own.cells) if by_rows else (histogram, own.own_cells)
    m, ends, block = columns.size, own.ends[notes[ROUGHLY]], notes[ROWS_PER_BLOCK]
    width, first, count = 2 * filled.shape[3], np.int64(0), np.int64(0)
    while first < m:
        end = ends[first_group + count] - start
        for slot in range(first, end):
            rough[slot] = are_rough(columns, first_code, first, end)
        filled[first, : count_cells(columns, first_code, first, end)] = 0
        places[count] = first * filled.shape[1] * width
        first, count = end, count + 1
    weight, rows, lost, n_lost = team.weight, team.rows, False, notes[LOST_ROWS]
    if large is not None and by_rows and 0 <= n_lost < counts[me]:  # fewer rows to take away than there are to add
        weight, rows, lost = large.lost, order, True
    from_lane = np.int64(0) if by_rows else team.first_lane[me]
    for member in range(counts.size):
        if member == me or not by_rows:
            lo, n = (np.int64(0), n_lost) if lost else (first_row[member], counts[member])
            fill_blocks(
                weight,
                from_lane,
                rows,
                lo,
                lo + n,
                team.joined,
                first_group,
                count,
                y,
                places,
                block,
                cells,
                filled,
            )
    first, sums = np.int64(0), filled.reshape(-1)
    for k in range(count):
        end, at = ends[first_group + k] - start, np.int64(places[k])
        if large is not None and sums_are_kept(large, notes):
            stop = at + count_cells(columns, first_code, first, end) * width
            keep_sums(sums[at:stop], large.before.reshape(-1)[at:stop], lost)
        if rough[first]:
            part_two(first, filled.shape[1], width, sums)
        elif end - first > 1:
            part_cells(columns, first_code, first, end, filled.shape[1], width, sums)
        first = end
    return first_group + count


@inlined
def join_members(
    first_code: Any,
    filled: Any,
    from_lane: Any,
    rough: Any,
    histogram: Any,
    total: Any,
    columns: Any,
    start: Any,
    by_rows: Any,
) -> None:
    """The histograms of a member's lanes, from what all members have filled; from the first column, what lanes hold."""
    for slot in range(columns.size):
        roughly = rough[slot]
        for k in range(SIDE if roughly else min(first_code[columns[slot], BINS], BINS)):
            b = EDGES[k] if roughly else k
            if by_rows and filled.shape[0] > 1:
                add_members(filled, slot, b, from_lane, histogram)
            if slot + start == 0:
                add_total(histogram[0, b], total, k == 0)


@jit
def add_members(filled: Any, slot: Any, b: Any, from_lane: Any, histogram: Any) -> None:
    """What all members have filled into a bin, for a member's own lanes."""
    members, slots, bins, _, every = filled.shape
    lanes, sums, source = histogram.shape[3], histogram.reshape(-1), filled.reshape(-1)
    histogram[slot, b] = 0
    for member in range(members):
        for c in range(2):
            at, there = (slot * bins + b) * 2 + c, ((member * slots + slot) * bins + b) * 2 + c
            add_vectors(sums, at * lanes, source, there * every + from_lane, lanes)


@inlined
def sums_are_kept(large: Any, notes: Any) -> Any:
    """Will the sums of the nodes below be had from those of all rows now, by taking away what lanes lose?"""
    kept = False
    if large is not None:
        kept = large.before.shape[0] > 0 and notes[ROUGHLY] == 1
    return kept


@jit
def keep_sums(sums: Any, before: Any, lost: Any) -> None:
    """Sums for the nodes now, from those before if what was summed up is what lanes lost since."""
    for k in range(sums.size):
        sums[k] = before[k] - sums[k] if lost else sums[k]
        before[k] = sums[k]


@jit
def fill_blocks(
    weight: Any,
    from_lane: Any,
    rows: Any,
    first_row: Any,
    last_row: Any,
    joined: Any,
    first: Any,
    count: Any,
    y: Any,
    places: Any,
    block: Any,
    cells: Any,
    histogram: Any,
) -> None:
    """``cells`` are the histogram itself or, where its counts take more than two bytes, those of a block of rows, which
    are 0 before and after.
    """
    lanes, sums, some = histogram.shape[3], histogram.reshape(-1), cells.reshape(-1)
    size, apart = histogram.shape[1] * 2 * lanes, histogram.itemsize > cells.itemsize
    for lo in range(first_row, last_row, block):
        hi = min(lo + block, last_row)
        fill_cells(weight, from_lane, lanes, rows, lo, hi, joined, first, count, y, places, some)
        for k in range(count if apart else 0):
            flush(some, np.int64(places[k]), np.int64(places[k]) + size, sums)


@jit
def fill_cells(
    weight: Any,
    from_lane: Any,
    lanes: Any,
    rows: Any,
    lo: Any,
    hi: Any,
    joined: Any,
    first: Any,
    count: Any,
    y: Any,
    places: Any,
    cells: Any,
) -> None:
    """Add rows lo to hi to their cells in the groups ``first``..., whose cells begin at ``places``, in some lanes.

    Unsigned numbers and one array after the other: what is added up here is little beside finding its address.
    """
    every, width, weights, begin = np.uint64(weight.shape[1]), np.uint64(lanes), weight.reshape(-1), np.uint64(first)
    for i in range(np.uint64(lo), np.uint64(hi)):
        r, there = rows[i], i * every + np.uint64(from_lane)
        c = np.uint64(y[r])
        for k in range(np.uint64(count)):
            at = places[k] + (np.uint64(joined[r, begin + k]) * np.uint64(2) + c) * width
            add_vectors(cells, np.int64(at), weights, np.int64(there), lanes)


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
    for side in range(SIDE):
        at = there + EDGES[side] * width
        sums[at : at + 2 * width] = 0
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
            at = slot * step * width
            sums[at : at + bins * width] = 0
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
def add_total(held: Any, total: Any, first: Any) -> None:
    """Add what lanes hold of each class in a bin."""
    for c in range(2):
        here, sums = held[c], total[c]
        for lane in range(sums.size):
            sums[lane] = here[lane] + (np.int64(0) if first else sums[lane])


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
def list_inside(wanted: Any, rough: Any, inside: Any, columns: Any) -> Any:
    """Of rough columns, the bins in ``wanted`` groups that the groups' edges do not tell; returns how many."""
    bins = np.int64(0)
    for slot in range(columns.size):
        if not rough[slot] or wanted[slot] == 0:
            inside[slot] = False
            continue
        for b in range(BINS):
            side = np.int64(SIDE_OF_BIN[b])
            inside[slot, b] = b != EDGES[side] and (wanted[slot] >> (side - 1)) & 1
            bins += inside[slot, b]
    return bins


@inlined
def fill_groups(
    coarse: Any, y: Any, team: Any, me: Any, block: Any, own: Any, order: Any, code: Any, columns: Any
) -> None:
    """Add a member's rows to the bins ``inside`` wanted groups, in all lanes."""
    filled, cells, rough, wanted, inside = team.filled[me], own.cells, own.rough, own.wanted, own.inside
    step, width, some, sums = filled.shape[1], 2 * filled.shape[3], cells.reshape(-1), filled.reshape(-1)
    apart, rows, weight = filled.itemsize > cells.itemsize, team.rows, team.weight
    for slot in range(columns.size):
        for b in range(BINS):
            if inside[slot, b]:
                filled[slot, b] = 0
    first = team.first_row[me]
    last = first + team.counts[me]
    for lo in range(first, last, block):
        hi = min(lo + block, last)
        for slot in range(columns.size):
            if rough[slot] and wanted[slot] > 0:
                at, here = slot * step * width, inside[slot]
                fill_wanted(weight, rows, lo, hi, coarse, columns[slot], here, y, order, code, at, some)
                for b in range(BINS if apart else 0):
                    if here[b]:
                        flush(some, at + b * width, at + (b + 1) * width, sums)


@inlined
def sum_groups(filled: Any, from_lane: Any, inside: Any, histogram: Any, columns: Any) -> None:
    """In a member's lanes, the bins ``inside`` wanted groups become sums over the bins 1 to b, as at groups' edges."""
    step, width, sums = histogram.shape[1], 2 * histogram.shape[3], histogram.reshape(-1)
    for slot in range(columns.size):
        for b in range(1, BINS):
            if inside[slot, b]:
                at = (slot * step + b) * width
                if filled.shape[0] > 1:
                    add_members(filled, slot, b, from_lane, histogram)
                add_row(sums, at, at - width, width)


@jit
def fill_wanted(
    weight: Any,
    rows: Any,
    lo: Any,
    hi: Any,
    coarse: Any,
    j: Any,
    inside: Any,
    y: Any,
    places: Any,
    cells_of: Any,
    start: Any,
    cells: Any,
) -> None:
    """Add rows lo to hi to their bins of column j if these are ``inside``; a column's cells begin at ``start``.

    These rows are listed first: whether a row is one of them is a guess that the processor would often get wrong.
    """
    lanes, weights, count = weight.shape[1], weight.reshape(-1), np.uint64(0)
    for i in range(np.uint64(lo), np.uint64(hi)):
        r = rows[i]
        b = coarse[r, j]
        places[count], cells_of[count] = i, np.uint64(b) * np.uint64(2) + np.uint64(y[r])
        count += np.uint64(inside[b])
    for k in range(count):
        add_vectors(cells, start + np.int64(cells_of[k]) * lanes, weights, np.int64(places[k]) * lanes, lanes)
