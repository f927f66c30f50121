"""A part of a table that is spread over machines: its rows go down the paths known so far and are counted.

A row walks from the root, or from where it is known to stand, to the open node that it belongs to. What is known of it
can be found again from the conditions, so that a part can be lost and read again at any time. Some rows at a time are
brought in the order of their nodes: their codes stay in the cache, and a node's histogram while its rows are added.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lazyforest.engine.bootstrap import draw_counts
from lazyforest.engine.encoding import sortable
from lazyforest.engine.layout import SQUARED_ERROR, Array, Scalar, entry, jit
from lazyforest.engine.sorting import sort_order

RUN, AT, USED, STATE = range(4)  # where a pass stands: a run, how far into it, and how much of the buffer is used
COLUMN, CUT, BORDER, MISSING, MEMBER, BELOW, PLACE, SLOT, NODE = range(9)
ROWS, SIZE, TOTAL = 0, 1, 2  # what a node's tally has: from TOTAL on its statistics, not centred


class Rows(NamedTuple):
    """The rows of a part."""

    codes: Array  # (rows, columns); 0: missing
    y: Array  # (rows,) CLASS, or TARGET for regression
    weight: Array  # (rows,) int64; or nothing: every row weighs one
    row_ids: Array  # (rows,) uint64
    numbers: Array  # (columns that are needed, rows) float64 as uint64; only where codes do not tell


class Standing(NamedTuple):
    """Rows and the nodes they are known to have come to; the others have left the open nodes."""

    row: Array  # uint32
    node: Array  # (runs,) int64
    begin: Array  # (runs,) int64: a run is row[begin:end], ascending
    end: Array  # (runs,) int64
    runs: Array  # (trees + 1,) int64: a tree has the runs runs[t]:runs[t + 1]


class Found(NamedTuple):
    """Some rows of a tree in the order of the numbered nodes that hold them, and room to find them."""

    row: Array  # (room,) uint32
    times: Array  # (room,) int32: how often each is in the bag
    end: Array  # (slots,) int64: where each slot's rows end
    walked: Array  # (room,) uint32: the same rows as they were found
    drawn: Array  # (room,) int32
    slot: Array  # (room,) int32
    ids: Array  # (some,) uint64, and so on: rows before they are drawn
    counts: Array  # int32
    bag: Array  # uint32
    in_range: Array  # (groups of a slot, bins) bool


class Paths(NamedTuple):
    """The conditions known so far, of all trees. What a node needs lies together:

    COLUMN   of its condition; -1: nothing is known below, or nothing is asked
    CUT      the lowest valid code
    BORDER   the one code that has rows of both sides, whose keys tell; 0: none
    MISSING  is a missing value valid?
    MEMBER   a set's place in ``members``; -1: a number
    BELOW    where the invalid side is; the valid side follows
    PLACE    of the column among a row's numbers
    SLOT     the number under which an open node is counted; -1: it is not
    """

    node: Array  # (nodes, NODE) int64; the roots come first
    key: Array  # (nodes,) uint64: the lowest valid key of the border
    members: Array  # (sum of codes,) bool


class Wanted(NamedTuple):
    """What is wanted of the open nodes. A row is in group g if its key is in one of the ranges first[g]:last[g]."""

    slots: Array  # (trees + 1,) int64: a tree has the slots slots[t]:slots[t + 1]
    dense: Array  # (slots,) int64: which histogram; -1: none
    centre: Array  # (slots,) int64: what targets are taken about
    columns: Array  # the columns of the histograms
    shift: Array  # (columns,) uint64: codes per coarse bin, as a power of two
    place: Array  # (columns,) int64: which of a row's numbers is the column's
    groups: Array  # (slots + 1,) int64: a slot has the groups groups[s]:groups[s + 1]
    column: Array  # (groups,) int64
    by_key: Array  # (groups,) bool: ranges are of keys, otherwise of codes
    first: Array  # (groups,) int64
    last: Array  # (groups,) int64
    lowest: Array  # (ranges,) uint64, ascending within a group
    highest: Array  # (ranges,) uint64, included
    width: Array  # (ranges,) uint64: keys are counted in steps of 2 ** width from the lowest
    step_at: Array  # (ranges,) int64: where the steps of a range are counted; -1: its rows are listed
    first_bin: Array  # (ranges,) int64: the coarse bins that hold a range
    last_bin: Array  # (ranges,) int64


class Draw(NamedTuple):
    """How bootstraps are drawn, and what a row counts."""

    seed: Scalar
    bootstrap: Scalar
    criterion: Scalar
    weights_are_sizes: Scalar


class Way(NamedTuple):
    """What a pass over a part needs to know."""

    rows: Rows
    standing: Standing
    paths: Paths
    wanted: Wanted
    draw: Draw


class Sums(NamedTuple):
    """What a pass adds up."""

    tally: Array  # (slots, TOTAL + statistics)
    histograms: Array  # (slots that have one, columns, bins, statistics)
    steps: Array  # (steps of the ranges that are counted, statistics)


class Collected(NamedTuple):
    """A buffer of rows in ranges: which range, which step of it, class (or centred moment), weight."""

    range: Array
    step: Array
    what: Array
    weight: Array


@jit
def descend(rows: Any, paths: Any, r: Any, at: Any) -> Any:
    """The slot of the node below ``at`` that row r falls into, as far as conditions are known."""
    node = paths.node[at]
    while node[COLUMN] >= 0:
        code = np.int64(rows.codes[r, node[COLUMN]])
        if code == 0:
            valid = node[MISSING]
        elif node[MEMBER] >= 0:
            valid = np.int64(paths.members[node[MEMBER] + code])
        elif code == node[BORDER]:
            valid = np.int64(sortable(rows.numbers[node[PLACE], r]) >= paths.key[at])
        else:
            valid = np.int64(code >= node[CUT])
        at = node[BELOW] + valid
        node = paths.node[at]
    return node[SLOT]


@jit
def weigh(weight: Any, r: Any, count: Any) -> Any:
    return np.int64(count) * (weight[r] if weight.size > 0 else np.int64(1))


@jit
def walk_some(way: Any, tree: Any, found: Any, state: Any) -> Any:
    """Find the next rows of a tree that are in numbered nodes, as many as there is room for; returns their number."""
    rows, standing, paths, draw = way.rows, way.standing, way.paths, way.draw
    ids, counts, bag, end = found.ids, found.counts, found.bag, found.end
    end[way.wanted.slots[tree] : way.wanted.slots[tree + 1]] = 0
    n = 0
    while n < found.row.size and state[RUN] < standing.runs[tree + 1]:
        run = state[RUN]
        at, lo = standing.node[run], standing.begin[run] + state[AT]
        size = min(ids.size, standing.end[run] - lo, found.row.size - n)
        nothing_asked = paths.node[at, COLUMN] < 0 and paths.node[at, SLOT] < 0
        if size == 0 or nothing_asked:
            state[RUN] += 1
            state[AT] = 0
            continue
        state[AT] += size
        for i in range(size):
            ids[i] = rows.row_ids[standing.row[lo + i]]
        draw_counts(draw.seed, tree, draw.bootstrap, ids[:size], counts[:size])
        bagged = np.int64(0)
        for i in range(size):  # without a branch that nobody can foresee
            r = standing.row[lo + i]
            bag[bagged], counts[bagged] = r, counts[i]
            bagged += np.int64(weigh(rows.weight, r, counts[bagged]) > 0)
        for i in range(bagged):
            slot = descend(rows, paths, np.int64(bag[i]), at)
            if slot >= 0:
                found.walked[n], found.drawn[n], found.slot[n] = bag[i], counts[i], slot
                end[slot] += 1
                n += 1
    order_by_slot(found, way.wanted.slots[tree], way.wanted.slots[tree + 1], n)
    return n


@entry
def walk(way: Any, tree: Any, found: Any, state: Any) -> Any:
    """``walk_some`` for callers outside the engine."""
    return walk_some(way, tree, found, state)


@jit
def order_by_slot(found: Any, first: Any, last: Any, n: Any) -> None:
    """A counting sort; ``end`` has the rows of each slot, then where they end."""
    begin = 0
    for slot in range(first, last):
        size = found.end[slot]
        found.end[slot] = begin
        begin += size
    for i in range(n):
        at = found.end[found.slot[i]]
        found.row[at], found.times[at] = found.walked[i], found.drawn[i]
        found.end[found.slot[i]] = at + 1


@entry
def count_tree(way: Any, tree: Any, found: Any, sums: Any, state: Any, out: Any) -> Any:
    """Add a tree's rows to what is wanted of their slots. Stops when the buffer ``out`` is full; True when there are no
    more rows. Goes on where ``state`` says.
    """
    while state[RUN] < way.standing.runs[tree + 1]:
        if state[USED] + found.row.size * way.wanted.shift.size > out.range.size:  # a row is in one range of a column
            return False
        walk_some(way, tree, found, state)
        add_up(way, tree, found, sums.tally, sums.histograms)
        note_rows(way, tree, found, sums.steps, state, out)
    return True


@jit
def add_up(way: Any, tree: Any, found: Any, tally: Any, histograms: Any) -> None:
    """Add rows to the tallies of their slots, and to the coarse histograms of those that have one."""
    rows, wanted, draw = way.rows, way.wanted, way.draw
    regression, lo = draw.criterion == SQUARED_ERROR, 0
    for slot in range(wanted.slots[tree], wanted.slots[tree + 1]):
        hi = found.end[slot]
        if hi == lo:
            continue
        tally[slot, ROWS] += hi - lo
        for i in range(lo, hi):
            r = np.int64(found.row[i])
            w = weigh(rows.weight, r, found.times[i])
            tally[slot, SIZE] += w if draw.weights_are_sizes else np.int64(found.times[i])
            if regression:
                tally[slot, TOTAL] += w
                tally[slot, TOTAL + 1] += w * np.int64(rows.y[r])
            else:
                tally[slot, TOTAL + np.int64(rows.y[r])] += w
        if wanted.dense[slot] >= 0:
            histogram = histograms[wanted.dense[slot]]
            if regression:
                add_moments(rows, wanted, found, lo, hi, wanted.centre[slot], histogram)
            else:
                add_classes(rows, wanted, found, lo, hi, histogram)
        lo = hi


@jit
def add_classes(rows: Any, wanted: Any, found: Any, lo: Any, hi: Any, histogram: Any) -> None:
    columns, shift, codes = wanted.columns, wanted.shift, rows.codes
    for i in range(lo, hi):
        r = np.int64(found.row[i])
        w, what = weigh(rows.weight, r, found.times[i]), np.uint64(rows.y[r])
        for k in range(columns.size):
            j = columns[k]
            histogram[k, coarse_bin(codes[r, j], shift[j]), what] += w


@jit
def add_moments(rows: Any, wanted: Any, found: Any, lo: Any, hi: Any, centre: Any, histogram: Any) -> None:
    columns, shift, codes = wanted.columns, wanted.shift, rows.codes
    for i in range(lo, hi):
        r = np.int64(found.row[i])
        w = weigh(rows.weight, r, found.times[i])
        moment = w * (np.int64(rows.y[r]) - centre)
        for k in range(columns.size):
            j = columns[k]
            b = coarse_bin(codes[r, j], shift[j])
            histogram[k, b, 0] += w
            histogram[k, b, 1] += moment
            histogram[k, b, 2] += max(moment, 0)


@jit
def note_rows(way: Any, tree: Any, found: Any, steps: Any, state: Any, out: Any) -> None:
    """Count the rows that are in wanted ranges by step, or list them."""
    rows, wanted = way.rows, way.wanted
    regression, lo = way.draw.criterion == SQUARED_ERROR, 0
    for slot in range(wanted.slots[tree], wanted.slots[tree + 1]):
        hi = found.end[slot]
        first, last = wanted.groups[slot], wanted.groups[slot + 1]
        if first < last and lo < hi:
            mark_bins(wanted, first, last, found.in_range)
            for i in range(lo, hi):
                r = np.int64(found.row[i])
                for g in range(first, last):
                    j = wanted.column[g]
                    if found.in_range[g - first, coarse_bin(rows.codes[r, j], wanted.shift[j])]:
                        w, what = weigh(rows.weight, r, found.times[i]), np.int64(rows.y[r])
                        if regression:
                            what = w * (what - wanted.centre[slot])
                        note(rows, r, wanted, g, what, w, regression, steps, state, out)
        lo = hi


@jit
def mark_bins(wanted: Any, first: Any, last: Any, in_range: Any) -> None:
    """Mark the coarse bins that a range of a group is in: most rows are in none of them."""
    for g in range(first, last):
        in_range[g - first] = False
        for k in range(wanted.first[g], wanted.last[g]):
            in_range[g - first, wanted.first_bin[k] : wanted.last_bin[k] + 1] = True


@jit
def note(
    rows: Any, r: Any, wanted: Any, g: Any, what: Any, w: Any, regression: Any, steps: Any, state: Any, out: Any
) -> None:
    """Count a row, or list it, if it is in a range of the group."""
    j = wanted.column[g]
    key = np.uint64(rows.codes[r, j])
    if wanted.by_key[g] and key > np.uint64(0):
        key = sortable(rows.numbers[wanted.place[j], r])
    at = find_range(wanted.lowest, wanted.first[g], wanted.last[g], key)
    if at < 0 or key > wanted.highest[at]:
        return
    step = (key - wanted.lowest[at]) >> wanted.width[at]
    if wanted.step_at[at] < 0:
        used = state[USED]
        out.range[used], out.step[used], out.what[used], out.weight[used] = at, step, what, w
        state[USED] = used + 1
        return
    held = steps[wanted.step_at[at] + np.int64(step)]
    if regression:
        held[0] += w
        held[1] += what
        held[2] += max(what, 0)
    else:
        held[what] += w


@entry
def sort_entries(ranges: Any, steps: Any, places: Any, order: Any, keys: Any, local: Any, spare: Any) -> None:
    """Write to ``order`` the numbers of the entries by range, then by step. ``places`` has a zero per range, and one.

    A counting sort by range, then the few of each range by step: seven times faster than sorting by both.
    """
    n = ranges.size
    for i in range(n):
        places[ranges[i] + 1] += 1
    for k in range(1, places.size):
        places[k] += places[k - 1]
    for i in range(n):
        at = places[ranges[i]]
        order[at], keys[at] = i, steps[i]
        places[ranges[i]] = at + 1
    lo = 0
    for k in range(places.size - 1):
        hi = places[k]
        sort_order(keys[lo:hi], local, spare, hi - lo)
        for i in range(hi - lo):
            spare[i] = order[lo + local[i]]
        for i in range(hi - lo):
            order[lo + i] = spare[i]
        lo = hi


@jit
def coarse_bin(code: Any, shift: Any) -> Any:
    """0 is 0; the others, from 1 on, share a bin by so many."""
    return (np.uint64(code) + (np.uint64(1) << shift) - np.uint64(1)) >> shift


@jit
def find_range(lowest: Any, lo: Any, hi: Any, key: Any) -> Any:
    """The last of lowest[lo:hi] that is not above the key; -1 if all are."""
    first = lo
    while lo < hi:
        mid = (lo + hi) // 2
        if lowest[mid] <= key:
            lo = mid + 1
        else:
            hi = mid
    return lo - 1 if lo > first else -1
