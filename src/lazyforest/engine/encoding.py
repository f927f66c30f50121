"""From values to dense ranks and coarse bins."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lazyforest.engine.bootstrap import GOLDEN, mix
from lazyforest.engine.layout import BINS, COARSE, ROW, Array, entry, jit, public
from lazyforest.engine.meeting import take_number
from lazyforest.engine.sorting import sort_words

FEW = 256  # distinct values up to here are looked up in a table, more are sorted
SLOTS = 1024
TO_SLOT = np.uint64(54)
SIGN, MOST = np.uint64(1 << 63), np.uint64(0x7FF0 << 48)  # of a float64; above MOST, without its sign, it is NaN
DIGITS, DIGIT_BITS = 6, 11  # at most
SAMPLE, SAMPLE_BITS = 4096, 24  # numbers of a column that place its bins, and how closely
GUESS_BITS, GUESSED = 16, 4 + 2 + 1  # cells of a guess at a number's bin; by its last halvings it may be off
LAID = 256  # rows whose bins are laid side by side at once: they stay in the cache
SPARE_BITS = 8  # beyond those of the number of rows, at least: few of them agree in so many


class Ranking(NamedTuple):
    """Buffers for ranking columns of so many rows."""

    few: Array  # (FEW,) distinct numbers, in order of appearance
    ranks: Array  # (FEW,)
    slots: Array  # (SLOTS,) 1 + number of a distinct value, or 0
    keys: Array  # (2, rows) what sorts like the numbers
    rows: Array  # (2, rows) which row a key is of
    places: Array  # (DIGITS, 2048) where the next row with a digit goes
    bins: Array  # (rows + 2,) the bin of each code
    first_code: Array  # (BINS + 1,) for who does not want it
    coarse: Array  # (some columns, rows) bins of columns, which are then laid side by side
    columns: Array  # (some columns,) which these are
    guesses: Array  # (2**GUESS_BITS,) the lowest bin of numbers in a cell


def new_ranking(n: int, at_once: int = 1) -> Ranking:
    return Ranking(
        few=np.empty(FEW),
        ranks=np.empty(FEW, dtype=np.int64),
        slots=np.empty(SLOTS, dtype=np.uint16),
        keys=np.empty((2, n), dtype=np.uint64),
        rows=np.empty((2, n), dtype=ROW),
        places=np.empty((DIGITS, 1 << DIGIT_BITS), dtype=ROW),
        bins=np.empty(n + 2, dtype=np.int64),
        first_code=np.empty(BINS + 1, dtype=np.int64),
        coarse=np.empty((at_once, n), dtype=COARSE),
        columns=np.empty(at_once, dtype=np.int64),
        guesses=np.empty(1 << GUESS_BITS, dtype=np.uint8),
    )


@entry
def encode_columns(table: Any, x: Any, bits: Any, n_codes: Any, signals: Any, ranking: Any) -> None:
    """Rank and bin the columns of a table: numbers, which are the rows of ``x``, and categories, which have codes.

    Threads that call this with the same signals share the columns: each takes the next, until none is left. Bins of a
    row lie together, and threads that write to them wait for each other: so each first bins some columns apart.
    """
    (m, n), held = table.codes.shape, 0
    j = take_number(signals)
    while j < m:
        codes, bins, first_code = table.codes[j], ranking.coarse[held], table.first_code[j]
        if table.is_category[j]:
            bin_column(codes, n_codes[j], ranking.bins, first_code, bins)
        else:
            k = table.value_start[j] // n
            values = table.values[k * n : (k + 1) * n]
            n_values = rank(x[k], bits[k], codes, values, bins, first_code, ranking)
            if n_values <= FEW:
                bin_column(codes, n_values, ranking.bins, first_code, bins)
            values[n_values:] = 0.0
        ranking.columns[held] = j
        held += 1
        j = take_number(signals)
        if j >= m or held == ranking.columns.size:
            lay_side_by_side(ranking.coarse, ranking.columns, held, table.coarse)
            held = 0


@jit
def lay_side_by_side(bins: Any, columns: Any, count: Any, coarse: Any) -> None:
    """Bins of some columns become columns of bytes, some rows at a time. Who had the first column begins with the first
    rows, and so on: threads that do this at the same time are in different places.
    """
    parts = (coarse.shape[0] + LAID - 1) // LAID
    for turn in range(parts):
        first = (turn + parts * columns[0] // coarse.shape[1]) % parts * LAID
        some = coarse[first : first + LAID]
        for k in range(count):
            j, own = np.uint64(columns[k]), bins[k, first : first + LAID]
            for i in range(some.shape[0]):
                some[i, j] = own[i]


@entry
def rank_numbers(x: Any, bits: Any, columns: Any, codes: Any, values: Any, counts: Any, ranking: Any) -> None:
    """Some rows of ``x``: the codes of each, how many distinct numbers it has, and all of these one after the other."""
    at = 0
    for k in range(columns.size):
        j = columns[k]
        counts[k] = rank(x[j], bits[j], codes[k], values[at:], ranking.coarse[0], ranking.first_code, ranking)
        at += counts[k]


@entry
def bin_numbers(x: Any, bits: Any, columns: Any, few_values: Any, first_code: Any, coarse: Any, ranking: Any) -> None:
    """Columns of numbers, the rows of ``x``, become rows of coarse bins; only columns of few numbers get codes.

    A bin of another column is left room for as many codes as it has rows.
    """
    for k in range(x.shape[0]):
        j = columns[k]
        bins = coarse[j]
        n_values = rank_few(x[k], bits[k], bins, ranking.few, ranking.slots)
        if n_values < BINS:
            rank_distinct(ranking.few[:n_values], ranking.ranks, few_values[j])
            for i in range(bins.size):
                if bins[i] > 0:
                    bins[i] = ranking.ranks[np.int64(bins[i]) - 1]
            for b in range(BINS + 1):
                first_code[j, b] = min(b, n_values + 1)
        else:
            count = take_sample(bits[k], ranking.keys[0], ranking.keys[1], ranking.places[0])
            place_edges(ranking.keys[0], count, ranking.keys[1])
            bin_by_edges(bits[k], ranking.keys[1], bins, ranking.places[0], ranking.guesses)
            first_code[j, 0], first_code[j, 1] = 0, 1
            for b in range(1, BINS):
                first_code[j, b + 1] = first_code[j, b] + ranking.places[0, b]


@jit
def take_sample(bits: Any, keys: Any, spare: Any, places: Any) -> Any:
    """Upper bits of what sorts like some of the numbers, ascending; returns how many."""
    n, count, lowest, highest = np.uint64(bits.size), 0, ~np.uint64(0), np.uint64(0)
    for k in range(min(SAMPLE, max(bits.size // 4, BINS))):
        key = sortable(bits[(mix(GOLDEN, np.uint64(k)) >> np.uint64(32)) * n >> np.uint64(32)])
        keys[count] = key
        if key > np.uint64(0):
            lowest, highest = min(lowest, key), max(highest, key)
            count += 1
    dropped = np.uint64(max(count_bits(highest - min(lowest, highest)) - SAMPLE_BITS, 0))
    for k in range(count):
        keys[k] = (keys[k] - lowest) >> dropped
    sort_words(keys, spare, places, count, np.uint64(0), np.int64((highest - min(lowest, highest)) >> dropped))
    for k in range(count):
        keys[k] = lowest + (keys[k] << dropped)
    return count


@jit
def place_edges(keys: Any, count: Any, edges: Any) -> None:
    """From a sample: edges[b] is where bin b begins. Bins of about equally many rows, missing values in the first."""
    edges[0], edges[1] = np.uint64(0), np.uint64(1)
    for b in range(2, BINS):
        edges[b] = keys[(b - 1) * count // (BINS - 1)] if count > 0 else ~np.uint64(0)
    edges[BINS : BINS + GUESSED] = ~np.uint64(0)


@jit
def bin_by_edges(bits: Any, edges: Any, bins: Any, counts: Any, guesses: Any) -> None:
    """The bin of each number, by halves, from a guess on where guesses are near; how many rows each bin has."""
    counts[:BINS] = 0
    low, high = edges[2], edges[BINS - 1]
    shift = np.uint64(max(count_bits(high - low) - GUESS_BITS, 0))
    near = guess_bins(edges, low, high, shift, guesses) <= GUESSED
    for i in range(bits.size):
        key, b = sortable(bits[i]), np.int64(0)
        if near:
            b = np.int64(guesses[(min(max(key, low), high) - low) >> shift])
        else:
            b += (BINS // 2) * np.int64(key >= edges[b + BINS // 2])
            b += (BINS // 4) * np.int64(key >= edges[b + BINS // 4])
            b += (BINS // 8) * np.int64(key >= edges[b + BINS // 8])
            b += (BINS // 16) * np.int64(key >= edges[b + BINS // 16])
            b += (BINS // 32) * np.int64(key >= edges[b + BINS // 32])
        b += (BINS // 64) * np.int64(key >= edges[b + BINS // 64])
        b += (BINS // 128) * np.int64(key >= edges[b + BINS // 128])
        b += np.int64(key >= edges[b + 1])
        bins[i] = b
        counts[b] += 1


@jit
def guess_bins(edges: Any, low: Any, high: Any, shift: Any, guesses: Any) -> Any:
    """The bin below each cell of numbers, 2**shift wide from ``low`` on; returns how many edges a cell has at most."""
    b, most = np.int64(0), np.int64(0)
    for cell in range(np.int64((high - low) >> shift) + 1):
        guesses[cell], end = b, low + (np.uint64(cell + 1) << shift)
        while b < BINS - 1 and edges[b + 1] < end:
            b += 1
        most = max(most, b - np.int64(guesses[cell]))
    return most


@jit
def rank(x: Any, bits: Any, codes: Any, values: Any, bins: Any, first_code: Any, ranking: Any) -> Any:
    """Codes 1, 2... of the distinct numbers in ``x`` (0: NaN), whose bits are ``bits``.

    Writes the distinct numbers to ``values``, ascending; returns how many there are. If more than FEW, it has binned
    them as well.
    """
    count = rank_few(x, bits, codes, ranking.few, ranking.slots)
    if count > FEW:
        n, side = sort_numbers(bits, codes, bins, ranking.keys, ranking.rows, ranking.places)
        return rank_sorted(x, ranking.keys[side], ranking.rows[side], n, codes, values, bins, first_code)
    rank_distinct(ranking.few[:count], ranking.ranks, values)
    for i in range(x.size):
        if codes[i] > 0:
            codes[i] = ranking.ranks[codes[i] - 1]
    return count


@jit
def rank_distinct(few: Any, ranks: Any, values: Any) -> None:
    """1 + how many are lower, and the numbers by that. The processor compares several at once: no sort is as fast."""
    for k in range(few.size):
        lower = np.int64(0)
        for i in range(few.size):
            lower += few[i] < few[k]
        values[lower] = few[k]
        ranks[k] = lower + 1


@jit
def rank_few(x: Any, bits: Any, codes: Any, few: Any, slots: Any) -> Any:
    """Codes in order of appearance; returns how many distinct numbers there are, or FEW + 1 for more than FEW."""
    slots[:] = 0
    count = 0
    for i in range(x.size):
        word = bits[i] if bits[i] != SIGN else np.uint64(0)  # zero is one number, whatever its sign
        if (word & ~SIGN) > MOST:
            codes[i] = 0
            continue
        at = (word * GOLDEN) >> TO_SLOT
        while slots[at] > 0 and few[np.int64(slots[at]) - 1] != x[i]:
            at = (at + np.uint64(1)) & np.uint64(SLOTS - 1)
        if slots[at] == 0:
            if count == FEW:
                return FEW + 1
            few[count] = x[i] + 0.0
            count += 1
            slots[at] = count
        codes[i] = slots[at]
    return count


@public
def sortable(bits: Any) -> Any:
    """The bits of a number as a word in the order of numbers, never 0; 0 for NaN. Zero is one, whatever its sign."""
    if (bits & ~SIGN) > MOST:
        return np.uint64(0)
    if bits == SIGN:
        return SIGN
    return ~bits if bits & SIGN else bits | SIGN


@jit
def sort_numbers(bits: Any, codes: Any, bins: Any, keys: Any, rows: Any, places: Any) -> Any:
    """By counting sorts on the upper bits in which numbers differ, and moves of the few that agree in all of these.

    If they are not few, as next to an outlier, by counting sorts on all bits. Returns how many there are, and the side
    of keys and rows on which they are in order; others are missing, code 0 in bin 0.
    """
    n, some, every, least, most = np.int64(0), np.uint64(0), ~np.uint64(0), ~np.uint64(0), np.uint64(0)
    for i in range(bits.size):
        key = sortable(bits[i])
        keys[0, n], rows[0, n] = key, i
        codes[i] = bins[i] = 0
        if key > np.uint64(0):
            some |= key
            every &= key
            least, most = min(least, key), max(most, key)
            n += 1
    differ = some ^ every
    lowest, high = count_bits(differ & (~differ + np.uint64(1))) - 1, count_bits(most - least)
    digits = (count_bits(np.uint64(n)) + SPARE_BITS + DIGIT_BITS - 1) // DIGIT_BITS
    low = max(lowest, high - digits * DIGIT_BITS)
    side = sort_bits(keys, rows, n, np.int64(0), least, low, high, places)
    if low > lowest and not move_into_order(keys[side], rows[side], n):
        side = sort_bits(keys, rows, n, side, least, lowest, high, places)
    return n, side


@jit
def rank_sorted(x: Any, keys: Any, rows: Any, n: Any, codes: Any, values: Any, bins: Any, first_code: Any) -> Any:
    """Codes and bins of ``n`` numbers in order, the bins as in ``bin_column``; returns how many are distinct."""
    count, b = 0, 0
    first_code[0] = 0
    for i in range(n):
        r = rows[i]
        if i == 0 or keys[i] != keys[i - 1]:
            values[count] = x[r] + 0.0
            count += 1
            while b * n <= i * (BINS - 1):  # i are lower: its bin is 1 + i * (BINS - 1) // n
                b += 1
                first_code[b] = count
        codes[r], bins[r] = count, b
    first_code[b + 1 :] = count + 1
    return count


@jit
def count_bits(word: Any) -> Any:
    """Up to the highest one that is set."""
    n = 0
    while word > np.uint64(0):
        word >>= np.uint64(1)
        n += 1
    return n


@jit
def sort_bits(keys: Any, rows: Any, n: Any, side: Any, least: Any, low: Any, high: Any, places: Any) -> Any:
    """Sort keys[side], less the ``least`` of them, by the bits from ``low`` up to ``high``, a digit at a time.

    Returns the side of the outcome.
    """
    digits = (high - low + DIGIT_BITS - 1) // DIGIT_BITS
    width = (high - low + digits - 1) // digits
    mask = np.uint64((1 << width) - 1)
    places[:digits, : 1 << width] = 0
    for i in range(n):
        key = (keys[side, i] - least) >> np.uint64(low)
        for digit in range(digits):
            places[digit, key & mask] += 1
            key >>= np.uint64(width)
    for digit in range(digits):
        shift = np.uint64(low + digit * width)
        sort_digit(keys[side], rows[side], keys[1 - side], rows[1 - side], n, least, shift, mask, places[digit])
        side = 1 - side
    return side


@jit
def sort_digit(
    keys: Any, rows: Any, out_keys: Any, out_rows: Any, n: Any, least: Any, shift: Any, mask: Any, places: Any
) -> None:
    """``places`` comes with how often each digit occurs."""
    below = 0
    for k in range(np.int64(mask) + 1):
        here = places[k]
        places[k] = below
        below += here
    for i in range(n):
        digit = ((keys[i] - least) >> shift) & mask
        at = places[digit]
        places[digit] = at + 1
        out_keys[at], out_rows[at] = keys[i], rows[i]


@jit
def move_into_order(keys: Any, rows: Any, n: Any) -> Any:
    """Sort what is nearly in order; gives up, and returns False, after as many moves as there are rows."""
    moves = n
    for i in range(1, n):
        key, row, at = keys[i], rows[i], i
        while at > 0 and keys[at - 1] > key:
            keys[at], rows[at] = keys[at - 1], rows[at - 1]
            at -= 1
        keys[at], rows[at] = key, row
        moves -= i - at
        if moves < 0:
            return False
    return True


@jit
def bin_column(codes: Any, n_values: Any, buffer: Any, first_code: Any, coarse: Any) -> None:
    """Bins of about equally many rows, or one per code while there are at most 255."""
    if n_values < BINS:
        for b in range(BINS + 1):
            first_code[b] = min(b, n_values + 1)
        for i in range(codes.size):
            coarse[i] = codes[i]
        return
    bins = buffer[: n_values + 1]  # first the number of rows of each code, then its bin
    bins[:] = 0
    for i in range(codes.size):
        bins[codes[i]] += 1
    present, below = codes.size - bins[0], 0
    for code in range(1, n_values + 1):
        here = bins[code]
        bins[code] = 1 + below * (BINS - 1) // present
        below += here
    bins[0] = 0
    b = 0
    for code in range(n_values + 1):
        while b <= bins[code]:
            first_code[b] = code
            b += 1
    first_code[b:] = n_values + 1
    for i in range(codes.size):
        coarse[i] = bins[codes[i]]
