"""What lanes hold, and for which forests there are any."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lazyforest.engine.bootstrap import MOST_COPIES
from lazyforest.engine.layout import (
    BINS,
    BLOCK,
    EAGER,
    ENTROPY,
    GROUPS,
    HISTOGRAM_COLUMNS,
    MULTINOMIAL,
    ROW,
    Array,
    Binned,
    Rules,
    Table,
    Target,
    code_type,
    frozen,
)
from lazyforest.engine.vectors import VECTOR, aligned

LANES = 128  # at most, and a multiple of VECTOR: two words have a bit for each
LEAST_ROWS = 1024  # of a table that is worth it
ROWS_TO_PART = BINS * 128  # of a large table: opened bins are worth cutting into parts, sums worth keeping
PARTS = 16  # of an opened bin's rows
ROWS_PER_PACKED = 5  # one of so many rows may be in opened bins whose weights are packed
ROWS_PER_CELL = 64  # columns are joined where so many rows make up for parting their cells
SIDE = GROUPS + 1  # cells of a rough column: missing values, groups of bins
ROOM = 1 << 24  # bytes of weights that are always had
SMALL = BLOCK  # a node of so many rows is handed over
WORTH = 14  # lanes are left when fewer than one of so many holds a row that they share, on average
HEAVIEST = np.iinfo(np.uint8).max // MOST_COPIES
ROUGH_PAYS = 3  # columns are joined roughly until more than one of so many bins is wanted after all
WALKING, DONE, GONE = 0, 1, 2
ROWS, SORTED, ROWS_PER_BLOCK, ROUGHLY, PACKED_ROWS, LOST_ROWS = range(6)
NOT_LISTED = -1  # instead of LOST_ROWS


class Lanes(NamedTuple):
    """A lane is a tree's node on the path of the query."""

    weight: Array  # (rows, lanes) uint8: of rows[i] at the lane's node
    rows: Array  # (rows,) those that some lane has, ascending; at the root, all that weigh something
    place: Array  # (6,) how many ``rows``; the column of ``order``; rows per block; roughly?; how many ``packed``, lost
    state: Array  # (lanes,)
    depth: Array  # (lanes,)
    held: Array  # (lanes,) rows at the node
    tally: Array  # (lanes,) uint8: of up to 255 rows, how many the lane has
    sums: Array  # (lanes,) uint16: and what they weigh
    bag: Array  # (lanes,) rows of the bootstrap
    words: Array  # (lanes,) as in a frame
    keys: Array  # (lanes,) as in a frame
    total: Array  # (2, lanes)
    histogram: Array  # (columns, BINS + 1, 2, lanes): of numbers, sums over the bins 1 to b
    before: Array  # of large tables, likewise: as it was filled for the nodes above
    cells: Array  # the same for a block of rows, in two bytes; or the histogram itself
    places: Array  # (columns,) uint64: where in the histogram the cells of a group begin
    pairs: Array  # (columns, 2) groups of two rough columns of which some bins are wanted, and the slot of the first
    ends: Array  # (2, groups) of columns that are filled together: those of many bins alone; in twos, then unused
    joined: Array  # (rows of the table, groups) the cell of each
    rough: Array  # (columns,) bool: of which only sums at the edges of groups are known at first
    wanted: Array  # (columns,) the groups of rough columns that some lane needs, a bit each
    inside: Array  # (columns, BINS) bool: the bins in them, without the edges
    sides: Array  # (columns, BINS) uint8: for cells of two columns, of which of them the group is wanted, a bit each
    missing: Array  # (columns, 2, lanes)
    variants: Array  # (columns,) two where missing values may go to either side
    reach: Array  # (lanes,) a score known to be had
    edges: Array  # (columns, 2, groups + 1, lanes) scores of cuts between groups of bins
    bounds: Array  # (lanes,)
    may_win: Array  # (lanes,) groups of bins that may have a better cut, a bit each
    score: Array  # (lanes,) of the best condition
    best: Array  # (lanes, 6) the rest of it
    near: Array  # (lanes, 2) the numbers that the condition lies between
    left: Array  # (lanes, 2)
    members: Array  # (lanes, BINS)
    order: Array  # (rows,) positions in ``rows``, by the bins of a column; in opened bins by codes, or in ``packed``
    starts: Array  # (BINS + 1,) where each bin starts in ``order``
    opened: Array  # (BINS,) was the bin opened, and where are the weights of its rows?
    code: Array  # (rows,) along ``order``, of bins that were opened
    kind: Array  # (rows,) likewise: the class, NEW + class for the first row of a code
    parts: Array  # (BINS, PARTS + 1, 2, lanes) uint32: what lanes hold up to the end of each part of an opened bin
    ends_of_parts: Array  # (BINS, PARTS + 1) places in ``order``
    packed: Array  # (some rows, lanes) weights along ``order``: of bins that were opened, or what lanes lost of rows
    numbers: Array  # (columns of numbers, rows) their bits, where the table has no codes
    number: Array  # (columns,) which of them it is
    values: Array  # bits of the table's, written as bins are opened
    here: Array  # (2,) uint64: the lanes that are not gone, a bit each
    before_here: Array  # (2,) uint64: as it was when rows were last kept
    parted: Array  # (some columns,) uint64: those of the lanes' conditions
    keep: Array  # (some columns, BINS, 2) uint64: the lanes that keep rows in this bin of the column, a bit each
    border: Array  # (some columns, BINS) bool: does a lane's cut lie within the bin? Then codes tell
    column: Array  # (lanes,) uint64: that of the lane's condition
    lowest: Array  # (lanes,) the lowest code, or number as a word, that the lane keeps, and how many
    width: Array  # (lanes,)
    draws: Array  # (lanes,) uint32


def count_lanes(n: int, n_bytes: int, target: Target, rules: Rules, n_columns: int) -> int:
    """How many trees one query may go down side by side: 1 where that does not apply, otherwise as many as half of the
    table's bytes, or ROOM, are enough for.
    """
    applies = (
        n >= LEAST_ROWS
        and (target.n_classes, rules.criterion) == (2, ENTROPY)
        and rules.algorithm != EAGER
        and rules.bootstrap != MULTINOMIAL
        and rules.min_weight_fraction_leaf == 0.0
        and rules.max_features >= n_columns
        and target.weights_are_sizes
        and int(target.weight.max(initial=0)) <= HEAVIEST
    )
    room = max(ROOM, n_bytes // 2) // max(n, 1)
    return int(np.clip(room // VECTOR * VECTOR, VECTOR, LANES)) if applies else 1


def table_of_bins(binned: Binned) -> Table:
    """A table without codes. Its values are those of columns of few numbers.

    There is room for the values of one other column: that of the bins which are opened now.
    """
    n, m = binned.coarse.shape
    few = binned.first_code[:, BINS] <= BINS
    values = np.empty(m * (BINS - 1) + n)
    values[: m * (BINS - 1)] = binned.few_values.ravel()
    return Table(
        codes=np.empty((m, 0), dtype=code_type(n)),
        coarse=binned.coarse,
        first_code=binned.first_code,
        is_category=binned.is_category,
        values=values,
        value_start=np.where(few, np.arange(m), m) * (BINS - 1),
    )


def join_columns(bins: Array, n: int, slots: int, roughly: bool) -> list[int]:
    """Groups of neighbours that have few cells together, none across a multiple of ``slots``: where each ends.

    Columns of many bins are joined only ``roughly``.
    """
    ends, cells, most = [0], BINS, min(BINS, n // ROWS_PER_CELL)
    for slot, some in enumerate(bins.tolist()):
        cells *= SIDE if some > BINS else some
        alike = slot > 0 and (some > BINS) == (bins[slot - 1] > BINS) and (roughly or some <= BINS)
        if cells > most or not alike or slot % slots == 0:
            ends.append(slot)
            cells = SIDE if some > BINS else some
        ends[-1] = slot + 1
    return ends[1:]


def new_lanes(table: Table, target: Target, columns: Array, trees: int, binned: Binned | None = None) -> Lanes:
    """Room for ``trees`` to walk once, side by side. If the table has no codes, ``binned`` is what it comes from."""
    n, m = table.coarse.shape
    lanes = -(-trees // VECTOR) * VECTOR
    assert lanes <= LANES
    slots = min(m, HISTOGRAM_COLUMNS)
    bins = table.first_code[columns, BINS]
    exactly, roughly = (join_columns(bins, n, slots, rough) for rough in (False, True))
    ends = np.array([exactly, roughly + exactly[len(roughly) :]], dtype=np.int64)
    count = np.dtype(np.uint16 if table.codes.dtype == np.uint16 else np.uint32)
    histogram = aligned((slots, BINS + 1, 2, lanes), count)  # one more: else columns meet in the cache
    heaviest = max(int(target.weight.max(initial=1)), 1)
    parted = n >= ROWS_TO_PART
    numbers, number, values = np.empty((1, 0)), np.zeros(m, dtype=np.int64), np.empty(0)
    if binned is not None and len(binned.numbers):
        numbers, number, values = binned.numbers, binned.number, table.values
    return Lanes(
        weight=aligned((n, lanes), np.uint8),
        rows=np.arange(n, dtype=ROW),
        place=np.array([n, -1, np.iinfo(np.uint16).max // (heaviest * MOST_COPIES), 1, 0, NOT_LISTED]),
        state=np.full(lanes, GONE, dtype=np.int64),
        depth=np.zeros(lanes, dtype=np.int64),
        held=np.zeros(lanes, dtype=np.int64),
        tally=np.zeros(lanes, dtype=np.uint8),
        sums=np.zeros(lanes, dtype=np.uint16),
        bag=np.zeros(lanes, dtype=np.int64),
        words=np.zeros(lanes, dtype=np.int64),
        keys=np.zeros(lanes, dtype=np.uint64),
        total=np.zeros((2, lanes), dtype=np.int64),
        histogram=histogram,
        before=aligned(histogram.shape if parted and m == slots else (0, *histogram.shape[1:]), count),
        cells=histogram if count == np.uint16 else aligned(histogram.shape, np.uint16),
        places=np.empty(slots, dtype=np.uint64),
        pairs=np.empty((slots, 2), dtype=np.int64),
        ends=ends,
        joined=np.empty((n, len(exactly)), dtype=np.uint8),
        rough=np.empty(slots, dtype=np.bool_),
        wanted=np.empty(slots, dtype=np.int64),
        inside=np.empty((slots, BINS), dtype=np.bool_),
        sides=np.empty((slots, BINS), dtype=np.uint8),
        missing=np.empty((slots, 2, lanes), dtype=count),
        variants=np.empty(slots, dtype=np.int64),
        reach=np.empty(lanes),
        edges=np.empty((slots, 2, GROUPS + 1, lanes)),
        bounds=np.empty(lanes),
        may_win=np.empty(lanes, dtype=np.uint16),
        score=np.empty(lanes),
        best=np.empty((lanes, 6), dtype=np.int64),
        near=np.empty((lanes, 2)),
        left=np.empty((lanes, 2), dtype=np.int64),
        members=np.empty((lanes, BINS), dtype=np.uint8),
        order=np.empty(n, dtype=ROW),
        starts=np.empty(BINS + 1, dtype=np.int64),
        opened=np.empty(BINS, dtype=np.uint8),
        code=np.empty(n, dtype=np.uint32),
        kind=np.empty(n, dtype=np.uint8),
        parts=aligned((BINS if parted else 0, PARTS + 1, 2, lanes), np.uint32),
        ends_of_parts=np.empty((BINS, PARTS + 1), dtype=np.int64),
        packed=aligned((n // ROWS_PER_PACKED if parted else 0, lanes), np.uint8),
        numbers=frozen(numbers.view(np.uint64)),
        number=frozen(number),
        values=values.view(np.uint64),
        here=np.zeros(2, dtype=np.uint64),
        before_here=np.full(2, ~np.uint64(0)),
        parted=np.empty(min(m, lanes), dtype=np.uint64),
        keep=np.empty((min(m, lanes), BINS, 2), dtype=np.uint64),
        border=np.empty((min(m, lanes), BINS), dtype=np.bool_),
        column=np.full(lanes, m, dtype=np.uint64),
        lowest=np.empty(lanes, dtype=np.uint64),
        width=np.empty(lanes, dtype=np.uint64),
        draws=np.empty(lanes, dtype=np.uint32),
    )
