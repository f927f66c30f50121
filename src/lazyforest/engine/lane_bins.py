"""Opened bins of a column, for all lanes: their rows are sorted by codes once, and added up lane by lane.

In a large table a bin has many rows. It is cut into parts, whose sums in all lanes are found at once; a lane looks at
single codes only in parts that may hold its best cut, by the bound that opens bins.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lazyforest.engine.encoding import SIGN, sortable
from lazyforest.engine.lane_histograms import SIDE_OF_BIN
from lazyforest.engine.lane_layout import PACKED_ROWS, PARTS
from lazyforest.engine.layout import BINS, inlined, jit
from lazyforest.engine.sorting import sort_words
from lazyforest.engine.two import SLACK, score_two
from lazyforest.engine.vectors import add_vectors, fetch

LOW = np.uint64(0xFFFFFFFF)
AHEAD = 16  # rows whose weights are asked for before they are added
NEW = 2  # beside the class of a row: the first of its code
CLOSED, OPEN, PACKED = range(3)  # what a bin is; of a packed one the weights lie one after the other


@jit
def sort_by_bin(
    rows: Any,
    first_row: Any,
    counts: Any,
    coarse: Any,
    j: Any,
    wanted: Any,
    order: Any,
    starts: Any,
    places: Any,
    is_wanted: Any,
) -> None:
    """Places in ``rows`` by the bins of column j: order[starts[b]:starts[b + 1]]; only ``wanted`` groups, a bit each.

    Other rows are put where no row that counts comes to lie: a test would often be guessed wrong.
    """
    starts[:] = 0
    for member in range(counts.size):
        for i in range(first_row[member], first_row[member] + counts[member]):
            starts[np.int64(coarse[rows[i], j])] += 1
    at = np.int64(0)
    for b in range(BINS):
        side = np.int64(SIDE_OF_BIN[b])
        is_wanted[b] = side > 0 and (wanted >> (side - 1)) & 1 == 1
        here = starts[b] if is_wanted[b] else np.int64(0)
        starts[b], places[b] = at, at if is_wanted[b] else order.size - 1
        at += here
    starts[BINS] = at
    for member in range(counts.size):
        for i in range(first_row[member], first_row[member] + counts[member]):
            here = np.int64(coarse[rows[i], j])
            order[places[here]] = i
            places[here] += np.int64(is_wanted[here])


@inlined
def sort_opened(
    table: Any,
    target: Any,
    search: Any,
    team: Any,
    opened: Any,
    large: Any,
    from_lane: Any,
    j: Any,
    n: Any,
) -> None:
    """Of the ``n`` bins that a lane opens, those that none has before: their rows by codes; in a large table, what each
    lane holds of their parts.

    ``opened.order`` then has places in ``weight`` or, as long as there is room, in ``large.packed``.
    """
    first_code, words, listed, rows, weight = table.first_code[j], search.words, search.listed, team.rows, team.weight
    spare, places, state, starts = search.spare, search.places, opened.state, opened.starts
    every_order, every_kind, notes = opened.order, opened.kind, opened.notes
    for i in range(n):
        b = listed[i]
        if state[b] == CLOSED:
            lo, hi = starts[b], starts[b + 1]
            order, kind = every_order[lo:hi], every_kind[lo:hi]
            state[b] = OPEN
            if large is None:
                sort_bin(order, rows, table.codes[j], words, spare, places, first_code[BINS])
            else:
                bits, values, start = large.numbers[large.number[j]], large.values, table.value_start[j]
                if bits.size > 0:
                    rank_bin(order, rows, bits, words, spare, places, first_code[b], values, start)
                else:
                    sort_bin(order, rows, table.codes[j], words, spare, places, first_code[BINS])
            list_bin(words, order, opened.code[lo:hi], kind, rows, target.y)
            if large is not None:
                packed, n_packed = large.packed, notes[PACKED_ROWS]
                part_bin(every_order, every_kind, lo, hi, weight, from_lane, large.parts[b], large.ends_of_parts[b])
                if n_packed + hi - lo <= packed.shape[0]:
                    state[b], notes[PACKED_ROWS] = PACKED, n_packed + hi - lo
                    pack_bin(order, weight, from_lane, packed, n_packed)


@jit
def rank_bin(
    order: Any,
    rows: Any,
    bits: Any,
    words: Any,
    spare: Any,
    places: Any,
    first: Any,
    values: Any,
    first_value: Any,
) -> None:
    """``sort_bin`` by codes ``first``... that a bin's rows get now, from the ``bits`` of their numbers, and values."""
    lowest, highest = ~np.uint64(0), np.uint64(0)
    for k in range(order.size):
        key = sortable(bits[rows[order[k]]])
        lowest, highest = min(lowest, key), max(highest, key)
    for half in range(2):
        shift = np.uint64(32 * half)
        most = min((highest - min(lowest, highest)) >> shift, LOW)
        if half == 0 or most > 0:
            for k in range(order.size):
                i = np.uint64(order[k]) if half == 0 else words[k] & LOW
                key = (sortable(bits[rows[i]]) - lowest) >> shift
                words[k] = (key & LOW) << np.uint64(32) | i
            sort_words(words, spare, places, order.size, np.uint64(32), np.int64(most))
    code, last = np.int64(first) - 1, np.uint64(0)
    for k in range(order.size):
        i = words[k] & LOW
        r = rows[i]
        key = sortable(bits[r])
        if key != last:
            code += 1
            values[first_value + code - 1] = bits[r] if key != SIGN else np.uint64(0)
            last = key
        words[k] = np.uint64(code) << np.uint64(32) | i


@jit
def sort_bin(order: Any, rows: Any, codes: Any, words: Any, spare: Any, places: Any, most: Any) -> None:
    """The codes of a bin's rows, ascending, and their positions, in ``words``."""
    for k in range(order.size):
        words[k] = (np.uint64(codes[rows[order[k]]]) << np.uint64(32)) | np.uint64(order[k])
    sort_words(words, spare, places, order.size, np.uint64(32), most)


@jit
def list_bin(words: Any, order: Any, codes_out: Any, kind: Any, rows: Any, y: Any) -> None:
    """Positions, codes and classes of a bin's rows, for all lanes."""
    last = np.uint64(0)
    for k in range(order.size):
        code, i = words[k] >> np.uint64(32), words[k] & LOW
        order[k], codes_out[k] = i, code
        kind[k] = np.uint64(code != last) * np.uint64(NEW) + np.uint64(y[rows[i]])
        last = code


@jit
def part_bin(order: Any, kind: Any, lo: Any, hi: Any, weight: Any, from_lane: Any, sums: Any, ends: Any) -> None:
    """PARTS of about equally many rows, codes as a whole: where each ends, and what all lanes hold up to there."""
    n, every, held, weights = sums.shape[2], weight.shape[1], sums.reshape(-1), weight.reshape(-1)
    width, at = 2 * n, np.int64(0)
    sums[0] = 0
    ends[0] = lo
    for part in range(PARTS):
        for k in range(width):
            held[at + width + k] = held[at + k]
        at += width
        k, end = ends[part], lo + (part + 1) * (hi - lo) // PARTS
        while k < hi and (k < end or kind[k] < NEW):
            here, there = at + np.int64(kind[k]) % NEW * n, np.int64(order[k]) * every + from_lane
            fetch(weights, np.int64(order[min(k + AHEAD, hi - 1)]) * every + from_lane, n)
            add_vectors(held, here, weights, there, n)
            k += 1
        ends[part + 1] = k


@jit
def pack_bin(order: Any, weight: Any, from_lane: Any, packed: Any, at: Any) -> None:
    """Weights of a bin's rows one after the other: lanes come back to them, one by one."""
    for k in range(order.size):
        here, there = weight[order[k], from_lane:], packed[at + k]
        for lane in range(there.size):
            there[lane] = here[lane]
        order[k] = at + k


@jit
def raise_by_parts(
    listed: Any,
    n_opened: Any,
    sums: Any,
    parts: Any,
    lane: Any,
    more_a: Any,
    more_b: Any,
    total_a: Any,
    total_b: Any,
    f: Any,
    reach: Any,
) -> Any:
    """The highest score of the cuts between parts, or ``reach``."""
    for i in range(n_opened):
        k = listed[i]
        a, b = more_a + np.uint64(sums[k - 1, 0]), more_b + np.uint64(sums[k - 1, 1])
        for part in range(1, PARTS):
            one, two = a + np.uint64(parts[k, part, 0, lane]), b + np.uint64(parts[k, part, 1, lane])
            reach = max(reach, score_two(one, two, total_a, total_b, f))
    return reach


@jit
def open_parts(parts: Any, lane: Any, a: Any, b: Any, total_a: Any, total_b: Any, f: Any, least: Any) -> Any:
    """Those, a bit each, that may hold a cut as good as ``least``; ``a`` and ``b`` lie before the bin."""
    found = np.int64(0)
    before_a, before_b, start = a, b, score_two(a, b, total_a, total_b, f)
    for part in range(PARTS):
        c, d = a + np.uint64(parts[part + 1, 0, lane]), b + np.uint64(parts[part + 1, 1, lane])
        stop = score_two(c, d, total_a, total_b, f)
        highest = max(start, stop, score_two(before_a, d, total_a, total_b, f))
        highest = max(highest, score_two(c, before_b, total_a, total_b, f))
        found |= np.int64(highest >= least) << part
        before_a, before_b, start = c, d, stop
    return found


@inlined
def add_bins(search: Any, weight: Any, opened: Any, lane: Any, n_opened: Any) -> None:
    """As ``fill_fine`` for a lane: what it holds of each code in the bins it opens, also where that is nothing."""
    fine, fine_codes, starts, stops, used = search.fine, search.fine_codes, search.starts, search.stops, np.int64(0)
    order, code, kind, listed, bin_starts = opened.order, opened.code, opened.kind, search.listed, opened.starts
    for i in range(n_opened):
        b = listed[i]
        starts[b] = used
        used = add_codes(order, code, kind, bin_starts[b], bin_starts[b + 1], weight, lane, used, fine, fine_codes)
        stops[b] = used


@inlined
def add_parts(
    search: Any,
    weight: Any,
    opened: Any,
    large: Any,
    from_lane: Any,
    lane: Any,
    variants: Any,
    total: Any,
    reach: Any,
    n_opened: Any,
) -> None:
    """``add_bins`` in a large table: a part of a bin that cannot have the best cut counts as one code."""
    total_a, total_b, used = np.uint64(total[0]), np.uint64(total[1]), np.int64(0)
    sums, missing, parts, ends, f = search.histogram[0], search.missing[0], large.parts, large.ends_of_parts, search.f
    order, code, kind, fine, fine_codes = opened.order, opened.code, opened.kind, search.fine, search.fine_codes
    listed, starts, stops, state, all_packed = search.listed, search.starts, search.stops, opened.state, large.packed
    for variant in range(variants):
        some = np.uint64(variant == 0)  # missing rows invalid, or valid
        one, two = some * np.uint64(missing[0]), some * np.uint64(missing[1])
        reach = raise_by_parts(listed, n_opened, sums, parts, lane, one, two, total_a, total_b, f, reach)
    least = reach - SLACK * (float(total_a + total_b) + abs(reach))
    for i in range(n_opened):
        b = listed[i]
        packed, within = state[b] == PACKED, np.int64(0)
        source = all_packed if packed else weight
        in_source = lane if packed else lane + from_lane
        starts[b] = used
        for variant in range(variants):
            some = np.uint64(variant == 0)
            one = np.uint64(sums[b - 1, 0]) + some * np.uint64(missing[0])
            two = np.uint64(sums[b - 1, 1]) + some * np.uint64(missing[1])
            within |= open_parts(parts[b], lane, one, two, total_a, total_b, f, least)
        for part in range(PARTS):
            lo, hi = ends[b, part], ends[b, part + 1]
            if (within >> part) & 1:
                used = add_codes(order, code, kind, lo, hi, source, in_source, used, fine, fine_codes)
            elif lo < hi:
                fine_codes[used] = code[lo]
                for c in range(2):
                    fine[used, c] = parts[b, part + 1, c, lane] - parts[b, part, c, lane]
                used += 1
        stops[b] = used


@jit
def add_codes(
    order: Any, codes: Any, kinds: Any, lo: Any, hi: Any, weight: Any, lane: Any, used: Any, fine: Any, fine_codes: Any
) -> Any:
    """Add rows, sorted by codes, to a place for each code, from ``used`` on; returns the next."""
    at = used - 1
    for k in range(lo, hi):
        kind = np.int64(kinds[k])
        if kind >= NEW:
            at += 1
            fine_codes[at], fine[at, 0], fine[at, 1] = codes[k], 0, 0
        fine[at, kind % NEW] += weight[order[k], lane]
    return at + 1
