"""Rows of all lanes: their counts are drawn, and what lanes do not keep is forgotten."""

from __future__ import annotations

from typing import Any

import numpy as np

from lazyforest.engine.bootstrap import PASSED_EARLY, count_early, count_of, draw_word
from lazyforest.engine.encoding import sortable
from lazyforest.engine.lane_layout import LOST_ROWS, NOT_LISTED
from lazyforest.engine.layout import BINS, POISSON, jit
from lazyforest.engine.vectors import add_vectors, keep_vectors, tally_vectors

FULL_BYTE = 255  # counters hold so many rows, and their weights
LOST_SHARE = 3  # one of so many rows, at most, may lose something, for what they lose to be listed


@jit
def draw_rows(
    bootstrap: Any,
    row_ids: Any,
    row_weight: Any,
    used: Any,
    keys: Any,
    draws: Any,
    rows: Any,
    first: Any,
    last: Any,
    weight: Any,
    tally: Any,
    sums: Any,
    held: Any,
    heavy: Any,
) -> Any:
    """The weights of rows[first:last] in the first ``used`` lanes: how many each has, and how heavy they are together.

    Rows that weigh nothing are forgotten; returns how many are left.
    """
    lanes, weights, words, i = keys.size, weight.reshape(-1), weight.view(np.uint64), np.int64(first)
    held[:] = 0
    heavy[:] = 0
    for start in range(first, last, FULL_BYTE):
        tally[:] = 0
        sums[:] = 0
        for at in range(start, min(start + FULL_BYTE, last)):
            r = rows[at]
            row, w = row_ids[r], np.uint8(row_weight[r])
            if w == 0:
                continue
            rows[i] = r
            if bootstrap == POISSON:
                for lane in range(lanes):
                    draws[lane] = draw_word(keys[lane], row)
                count_early(weights, i * lanes, draws, 0, lanes)
                some = np.uint64(0)
                for k in range(words.shape[1]):
                    some |= words[i, k]
                if some & PASSED_EARLY:
                    for lane in range(lanes):
                        weight[i, lane] = count_of(draws[lane])
                if w != 1:
                    for lane in range(lanes):
                        weight[i, lane] *= w
            else:
                weight[i] = w
            for lane in range(used, lanes):
                weight[i, lane] = 0
            tally_vectors(tally, 0, weights, i * lanes, lanes)
            add_vectors(sums, 0, weights, i * lanes, lanes)
            i += 1
        for lane in range(lanes):
            held[lane] += tally[lane]
            heavy[lane] += sums[lane]
    return i - first


@jit
def join_parted(n_parted: Any, all_parted: Any, all_keep: Any, all_border: Any, share: Any) -> Any:
    """Which lanes keep the bins of a column, of all members together; returns the number of columns."""
    members, count, parted = n_parted.size, np.int64(0), share.parted
    if members == 1:
        return n_parted[0]
    for member in range(members):
        for i in range(n_parted[member]):
            j, k = all_parted[member, i], np.int64(0)
            while k < count and parted[k] != j:
                k += 1
            parted[k], new = j, k == count
            count += new
            keep, border, more, close = share.keep[k], share.border[k], all_keep[member, i], all_border[member, i]
            for b in range(BINS):
                keep[b, 0] = more[b, 0] if new else keep[b, 0] & more[b, 0]
                keep[b, 1] = more[b, 1] if new else keep[b, 1] & more[b, 1]
                border[b] = close[b] if new else border[b] | close[b]
    return count


@jit
def keep_rows(coarse: Any, codes: Any, team: Any, sides: Any, share: Any, large: Any, order: Any, me: Any) -> None:
    """A member's rows that a lane does not keep weigh nothing there; those that no lane has are forgotten, the others
    of each lane counted.

    In a large table, while no more than a third of the rows lose something, what they lose is listed in ``large.lost``
    and their numbers in ``order``.
    """
    count = join_parted(sides.n_parted, sides.parted, sides.keep, sides.border, share)
    weight, rows, parted, keep, border = team.weight, team.rows, share.parted, share.keep, share.border
    width, weights, words, tally, held = (
        weight.shape[1],
        weight.reshape(-1),
        weight.view(np.uint64),
        share.tally,
        team.held[me],
    )
    n_lost, here, before, all_here = share.notes[LOST_ROWS], share.here, share.before_here, sides.here
    if large is not None:
        lost_words = large.lost.view(np.uint64)
    first, kept = team.first_row[me], np.int64(team.first_row[me])
    last = first + team.counts[me]
    here[:] = 0
    for member in range(all_here.shape[0]):
        here[0] |= all_here[member, 0]
        here[1] |= all_here[member, 1]
    held[:] = 0
    for start in range(first, last, FULL_BYTE):
        tally[:] = 0
        for i in range(start, min(start + FULL_BYTE, last)):
            r = rows[i]
            low, high, close, k = here[0], here[1], False, 0
            while k < count and low | high != 0:
                b = coarse[r, parted[k]]
                low &= keep[k, b, 0]
                high &= keep[k, b, 1]
                close |= border[k, b]
                k += 1
            if large is not None:
                listed = n_lost >= 0 and (close or low != here[0] or high != here[1])
                if listed and (n_lost == lost_words.shape[0] or n_lost * LOST_SHARE > i - first + FULL_BYTE):
                    n_lost, listed = np.int64(NOT_LISTED), False
                if listed:
                    order[n_lost] = r
                    n_lost += move_row(words[i], lost_words[n_lost]) > 0 and low | high == 0
            if low | high == 0:
                continue
            rows[kept] = r
            if low != before[0] or high != before[1]:
                some = keep_vectors(weights, kept * width, weights, i * width, low, high, width)
            else:
                some = move_row(words[i], words[kept]) > 0
            if close:
                some = keep_by_number(coarse, codes, sides, share, large, r, weight[kept], words[kept], count)
            if large is not None and listed:
                n_lost += leave_difference(lost_words[n_lost], words[kept]) > 0
            tally_vectors(tally, 0, weights, kept * width, width)
            kept += some
        for lane in range(width):
            held[lane] += tally[lane]
    share.notes[LOST_ROWS] = n_lost
    before[0], before[1] = here[0], here[1]
    team.counts[me] = kept - first


@jit
def keep_by_number(
    coarse: Any, codes: Any, sides: Any, share: Any, large: Any, r: Any, weight: Any, words: Any, count: Any
) -> Any:
    """``keep_rows`` for a row in bins in which cuts lie: its codes tell or, in a table without, its numbers as words.

    Returns whether any lane has it.
    """
    column, lowest, widths, parted, border = sides.column, sides.lowest, sides.width, share.parted, share.border
    for k in range(count):
        j = parted[k]
        if border[k, coarse[r, j]]:
            if large is None:
                code = np.uint64(codes[j, r])
            else:
                bits = large.numbers[large.number[j]]
                code = sortable(bits[r]) if bits.size > 0 else np.uint64(codes[j, r])
            for lane in range(weight.size):
                w, elsewhere = weight[lane], column[lane] != j
                weight[lane] = w if elsewhere | (code - lowest[lane] < widths[lane]) else np.uint8(0)
    some = np.uint64(0)
    for k in range(words.size):
        some |= words[k]
    return some > 0


@jit
def leave_difference(before: Any, after: Any) -> Any:
    """Of weights eight at a time, those that have become nothing; returns what any of them has."""
    some = np.uint64(0)
    for k in range(before.size):
        word = before[k] ^ after[k]
        some |= word
        before[k] = word
    return some


@jit
def move_row(here: Any, there: Any) -> Any:
    """Copy a row of weights, eight at a time; returns what any of them has."""
    some = np.uint64(0)
    for k in range(here.size):
        word = here[k]
        some |= word
        there[k] = word
    return some
