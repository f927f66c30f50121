"""A part of a table that is spread over machines: its rows go down the paths known so far and are counted.

Nothing of a row is kept between passes. A row walks from the root to the open node that it belongs to, which takes a
few nanoseconds per level, so that a part can be lost and read again at any time.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lazyforest.engine.bootstrap import draw_counts
from lazyforest.engine.layout import SQUARED_ERROR, Array, Scalar, entry, jit
from lazyforest.engine.sorting import sort_order

TREE, ROW_AT, USED, STATE = range(4)  # where a pass stands
ROWS, SIZE, TOTAL = 0, 1, 2  # what a node's tally has: from TOTAL on its statistics, not centred


class Rows(NamedTuple):
    """The rows of a part."""

    codes: Array  # (rows, columns); 0: missing
    y: Array  # (rows,) CLASS, or TARGET for regression
    weight: Array  # (rows,) int64; or nothing: every row weighs one
    row_ids: Array  # (rows,) uint64
    keys: Array  # (rows, columns that have some) uint64, ascending with the values; only where codes do not tell


class Paths(NamedTuple):
    """The conditions known so far, of all trees. A node's invalid side is at ``child``, its valid side follows."""

    root: Array  # (trees,) int64
    column: Array  # (nodes,) int64; -1: nothing is known below, or nothing is asked
    cut: Array  # (nodes,) int64: the lowest valid code
    border: Array  # (nodes,) int64: the one code that has rows of both sides, whose keys tell; 0: none
    key: Array  # (nodes,) uint64: the lowest valid key of the border
    missing_is_valid: Array  # (nodes,) bool
    member_at: Array  # (nodes,) int64: a set's place in ``members``; -1: a number
    members: Array  # (sum of codes,) bool
    child: Array  # (nodes,) int64
    slot: Array  # (nodes,) int64: the number under which an open node is counted; -1: it is not


class Wanted(NamedTuple):
    """What is wanted of the open nodes. A row is in group g if its key is in one of the ranges first[g]:last[g]."""

    dense: Array  # (slots,) int64: which histogram; -1: none
    centre: Array  # (slots,) int64: what targets are taken about
    columns: Array  # the columns of the histograms
    shift: Array  # (columns,) uint64: codes per coarse bin, as a power of two
    place: Array  # (columns,) int64: which of a row's keys is the column's
    groups: Array  # (slots + 1,) int64: a slot has the groups groups[s]:groups[s + 1]
    column: Array  # (groups,) int64
    by_key: Array  # (groups,) bool: ranges are of keys, otherwise of codes
    first: Array  # (groups,) int64
    last: Array  # (groups,) int64
    lowest: Array  # (ranges,) uint64, ascending within a group
    highest: Array  # (ranges,) uint64, included
    width: Array  # (ranges,) uint64: keys are counted in steps of 2 ** width from the lowest


class Draw(NamedTuple):
    """How bootstraps are drawn, and what a row counts."""

    seed: Scalar
    bootstrap: Scalar
    criterion: Scalar
    weights_are_sizes: Scalar


class Collected(NamedTuple):
    """A buffer of rows in ranges: which range, which step of it, class (or centred moment), weight."""

    range: Array
    step: Array
    what: Array
    weight: Array


@jit
def descend(rows: Any, paths: Any, place: Any, r: Any, at: Any) -> Any:
    """The node below ``at`` that row r falls into, as far as conditions are known."""
    j = paths.column[at]
    while j >= 0:
        code = np.int64(rows.codes[r, j])
        if code == 0:
            valid = paths.missing_is_valid[at]
        elif paths.member_at[at] >= 0:
            valid = paths.members[paths.member_at[at] + code]
        elif code == paths.border[at]:
            valid = rows.keys[r, place[j]] >= paths.key[at]
        else:
            valid = code >= paths.cut[at]
        at = paths.child[at] + np.int64(valid)
        j = paths.column[at]
    return at


@jit
def weigh(weight: Any, r: Any, count: Any) -> Any:
    return np.int64(count) * (weight[r] if weight.size > 0 else np.int64(1))


@entry
def count_rows(
    rows: Any, paths: Any, wanted: Any, draw: Any, counts: Any, tally: Any, histograms: Any, state: Any, out: Any
) -> Any:
    """Add rows to the tallies of their slots and to the coarse histograms of those that have one; note those that are
    in wanted ranges. Stops when the buffer ``out`` is full; True when there are no more rows.

    Goes on where ``state`` says, and leaves there how much of the buffer is used.
    """
    regression, room, used = draw.criterion == SQUARED_ERROR, out.range.size - wanted.shift.size, 0
    while state[TREE] < paths.root.size:
        root = paths.root[state[TREE]]
        if paths.column[root] < 0 and paths.slot[root] < 0:  # nothing is asked of this tree
            state[TREE] += 1
            continue
        draw_counts(draw.seed, state[TREE], draw.bootstrap, rows.row_ids, counts)
        for r in range(state[ROW_AT], rows.y.size):
            if used > room:
                state[ROW_AT], state[USED] = r, used
                return False
            w = weigh(rows.weight, r, counts[r])
            if w == 0:
                continue
            slot = paths.slot[descend(rows, paths, wanted.place, r, root)]
            if slot < 0:
                continue
            what = w * (np.int64(rows.y[r]) - wanted.centre[slot]) if regression else np.int64(rows.y[r])
            tally[slot, ROWS] += 1
            tally[slot, SIZE] += w if draw.weights_are_sizes else np.int64(counts[r])
            if regression:
                tally[slot, TOTAL] += w
                tally[slot, TOTAL + 1] += w * np.int64(rows.y[r])
            else:
                tally[slot, TOTAL + what] += w
            if wanted.dense[slot] >= 0:
                add_to_bins(rows, r, wanted, histograms[wanted.dense[slot]], what, w, regression)
            used = note_ranges(rows, r, wanted, slot, what, w, out, used)
        state[TREE] += 1
        state[ROW_AT] = 0
    state[USED] = used
    return True


@jit
def add_to_bins(rows: Any, r: Any, wanted: Any, histogram: Any, what: Any, w: Any, regression: Any) -> None:
    columns, shift, codes = wanted.columns, wanted.shift, rows.codes
    for k in range(columns.size):
        j = columns[k]
        b = coarse_bin(codes[r, j], shift[j])
        if regression:
            histogram[k, b, 0] += w
            histogram[k, b, 1] += what
            histogram[k, b, 2] += max(what, 0)
        else:
            histogram[k, b, what] += w


@jit
def note_ranges(rows: Any, r: Any, wanted: Any, slot: Any, what: Any, w: Any, out: Any, used: Any) -> Any:
    """Note a row once for each wanted range that it is in."""
    for g in range(wanted.groups[slot], wanted.groups[slot + 1]):
        j = wanted.column[g]
        key = np.uint64(rows.codes[r, j])
        if wanted.by_key[g] and key > np.uint64(0):
            key = rows.keys[r, wanted.place[j]]
        at = find_range(wanted.lowest, wanted.first[g], wanted.last[g], key)
        if at >= 0 and key <= wanted.highest[at]:
            out.range[used] = at
            out.step[used] = (key - wanted.lowest[at]) >> wanted.width[at]
            out.what[used] = what
            out.weight[used] = w
            used += 1
    return used


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


@entry
def mark_rows(rows: Any, paths: Any, place: Any, draw: Any, counts: Any, marks: Any) -> None:
    """Mark the rows that an open node of any tree holds."""
    for tree in range(paths.root.size):
        draw_counts(draw.seed, tree, draw.bootstrap, rows.row_ids, counts)
        for r in range(rows.y.size):
            if not marks[r] and weigh(rows.weight, r, counts[r]) > 0:
                marks[r] = paths.slot[descend(rows, paths, place, r, paths.root[tree])] >= 0
