"""What lanes hold, and for which forests there are any."""

from __future__ import annotations

from typing import Any, NamedTuple

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
from lazyforest.engine.meeting import new_signals
from lazyforest.engine.vectors import VECTOR, aligned, in_one_piece

LANES = 128  # at most, and a multiple of VECTOR: two words have a bit for each
LEAST_ROWS = 1024  # of a table that is worth it
PARTS = 16  # of an opened bin's rows
ROWS_PER_PACKED = 5  # one of so many rows of a large table may be in opened bins whose weights are packed
ROWS_PER_CELL = 64  # columns are joined where so many rows make up for parting their cells
SIDE = GROUPS + 1  # cells of a rough column: missing values, groups of bins
ROOM = 1 << 24  # bytes of weights that are always had
SMALL = BLOCK  # a node of so many rows is handed over
WORTH = 14  # lanes are left when fewer than one of so many holds a row that they share, on average
HEAVIEST = np.iinfo(np.uint8).max // MOST_COPIES
ROUGH_PAYS = 3  # columns are joined roughly until more than one of so many bins is wanted after all
WALKING, DONE, GONE = 0, 1, 2
ROWS_PER_BLOCK, ROUGHLY, LOST_ROWS = range(3)  # what a share notes
SORTED, PACKED_ROWS = range(2)  # what opened bins note
NOT_LISTED = -1  # instead of LOST_ROWS
DEALT = 256  # neighbouring rows that go to one member


# Tuples are many and small: a kernel reads a field by loading the whole tuple, which the compiler then takes apart. One
# tuple for all that a member has took it most of its time.


class Team(NamedTuple):
    """What the threads of a team share. A member goes over its own rows for all lanes, then over its own lanes."""

    signals: Array  # by which members meet
    first_lane: Array  # (members + 1,) a member's lanes begin here and end where the next one's begin
    first_row: Array  # (members + 1,) likewise its places in ``rows``
    counts: Array  # (members,) of these, so many are in use
    rows: Array  # (rows,) those that some lane has; at the root, all that weigh something
    weight: Array  # (rows, lanes) uint8: of rows[i] at the lane's node
    held: Array  # (members, lanes) how many of the member's rows a lane has
    heavy: Array  # (members, lanes) and what they weigh, at the root
    joined: Array  # (rows of the table, groups) the cell of each
    filled: Array  # (members, columns, BINS + 1, 2, lanes): a member's rows in the cells of groups, then in wanted bins
    wanted: Array  # (members, columns) the groups of rough columns that some lane of the member needs, a bit each
    together: Array  # (members,) rows at the nodes of its lanes that walk


class Sides(NamedTuple):
    """Shared too: to which side of its condition each lane goes."""

    here: Array  # (members, 2) uint64: the lanes that are not gone, a bit each
    n_parted: Array  # (members,)
    parted: Array  # (members, some columns) uint64: those of its lanes' conditions
    keep: Array  # (members, some columns, BINS, 2) uint64: the lanes that keep the rows of this bin, a bit each
    border: Array  # (members, some columns, BINS) bool: does a lane's cut lie within the bin? Then codes tell
    column: Array  # (lanes,) uint64: that of the lane's condition
    lowest: Array  # (lanes,) the lowest code, or number as a word, that the lane keeps, and how many
    width: Array  # (lanes,)


class Share(NamedTuple):
    """What a member needs for its rows, in all lanes."""

    notes: Array  # (3,) rows per block; are columns joined roughly? how many rows have lost something
    tally: Array  # (lanes,) uint8: of up to 255 rows, how many the lane has
    sums: Array  # (lanes,) uint16: and what they weigh
    draws: Array  # (lanes,) uint32
    roots: Array  # (lanes,) uint64: what draws come from
    here: Array  # (2,) uint64: the lanes that are not gone, a bit each
    before_here: Array  # (2,) uint64: as it was when rows were last kept
    parted: Array  # (some columns,) as in the sides, of all members together
    keep: Array  # (some columns, BINS, 2)
    border: Array  # (some columns, BINS)


class Cells(NamedTuple):
    """What a member adds rows to."""

    cells: Array  # as ``filled``, for a block of rows, in two bytes; or that itself
    own_cells: Array  # likewise, of its lanes
    places: Array  # (columns,) uint64: where in it the cells of a group begin
    ends: Array  # (2, groups) of columns that are filled together: those of many bins alone; in twos, then unused
    rough: Array  # (columns,) bool: of which only sums at the edges of groups are known at first
    wanted: Array  # (columns,) the groups of rough columns that some lane of the team needs, a bit each
    inside: Array  # (columns, BINS) bool: the bins in them, without the edges


class Lanes(NamedTuple):
    """A lane is a tree's node on the path of the query: here are those of a member."""

    state: Array  # (lanes,)
    depth: Array  # (lanes,)
    held: Array  # (lanes,) rows at the node
    bag: Array  # (lanes,) rows of the bootstrap
    words: Array  # (lanes,) as in a frame
    keys: Array  # (lanes,) as in a frame
    total: Array  # (2, lanes)
    reach: Array  # (lanes,) a score known to be had
    score: Array  # (lanes,) of the best condition
    best: Array  # (lanes, 6) the rest of it
    near: Array  # (lanes, 2) the numbers that the condition lies between
    left: Array  # (lanes, 2)
    members: Array  # (lanes, BINS)


class Sums(NamedTuple):
    """The histograms of a member's lanes, and what they promise."""

    histogram: Array  # (columns, BINS + 1, 2, lanes): of numbers, sums over the bins 1 to b
    missing: Array  # (columns, 2, lanes)
    variants: Array  # (columns,) two where missing values may go to either side
    edges: Array  # (columns, 2, groups + 1, lanes) scores of cuts between groups of bins
    bounds: Array  # (lanes,)
    may_win: Array  # (lanes,) groups of bins that may have a better cut, a bit each


class Opened(NamedTuple):
    """All rows by the bins of the column that a member looks at."""

    notes: Array  # (2,) the column; how many rows are packed
    order: Array  # (rows,) places in the team's rows, by bins; in opened bins by codes, or where they are packed
    starts: Array  # (BINS + 1,) where each bin starts in ``order``
    state: Array  # (BINS,) was the bin opened, and where are the weights of its rows?
    code: Array  # (rows,) along ``order``, of bins that were opened
    kind: Array  # (rows,) likewise: the class, NEW + class for the first row of a code


class Large(NamedTuple):
    """What a member needs besides for a table whose codes take four bytes.

    Others have None in its place: kernels are compiled for it without all that is done here.
    """

    before: Array  # as ``filled``: as it was for the nodes above; or none
    lost: Array  # (some rows, lanes) what lanes lost of rows since then
    packed: Array  # (some rows, lanes) weights along ``order``, of bins that were opened; in the place of ``lost``
    parts: Array  # (BINS, PARTS + 1, 2, lanes) uint32: what lanes hold up to the end of each part of an opened bin
    ends_of_parts: Array  # (BINS, PARTS + 1) places in ``order``
    numbers: Array  # (columns of numbers, rows) their bits, where the table has no codes
    number: Array  # (columns,) which of them it is
    values: Array  # bits of the table's, written as bins are opened


class Ballot(NamedTuple):
    """What lanes need of the bag of single trees: the fields of the same names."""

    member: Array
    total: Array
    vote: Array
    costs: Array


class Member(NamedTuple):
    """All that one thread of a team has of its own."""

    me: int
    share: Share
    cells: Cells
    lanes: Lanes
    sums: Sums
    opened: Opened
    large: Large | None


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
    was_wide = None
    for slot, some in enumerate(bins.tolist()):
        wide = some > BINS
        own = SIDE if wide else some
        cells *= own
        if cells > most or wide != was_wide or (wide and not roughly) or slot % slots == 0:
            ends.append(slot)
            cells = own
        ends[-1], was_wide = slot + 1, wide
    return ends[1:]


def deal_rows(n: int, members: int) -> tuple[Array, Array]:
    """Rows in blocks, dealt out in turn: all members get some of every part of a table. And where each one's begin."""
    rows, size = np.arange(n, dtype=ROW), n // (DEALT * members) * DEALT
    cuts = [(n - size * members) * k // members for k in range(members + 1)]
    first_row = np.array([size * k + cut for k, cut in enumerate(cuts)])
    if members == 1:
        return rows, first_row
    dealt, rest = rows[: size * members].reshape(-1, members, DEALT), rows[size * members :]
    shares = [part for k in range(members) for part in (dealt[:, k].ravel(), rest[cuts[k] : cuts[k + 1]])]
    return np.concatenate(shares), first_row


def most_members(trees: int) -> int:
    """Of a team that takes so many trees down: each has at least a vector of lanes."""
    return -(-trees // VECTOR)


def new_team(table: Table | Binned, columns: Array, trees: int, members: int) -> tuple[Team, Sides]:
    """What so many threads share that take ``trees`` down together, once; each tree has a lane."""
    n, m = table.coarse.shape
    vectors = most_members(trees)
    lanes, slots = vectors * VECTOR, min(m, HISTOGRAM_COLUMNS)
    assert lanes <= LANES
    assert members <= vectors
    rows, first_row = deal_rows(n, members)
    some, groups = min(m, lanes), len(join_columns(table.first_code[columns, BINS], n, slots, False))
    weight, joined, filled = in_one_piece(
        ((n, lanes), np.uint8),
        ((n, groups), np.uint8),
        ((members, slots, BINS + 1, 2, lanes), count_type(n)),  # one bin more: else columns meet in the cache
    )
    team = Team(
        signals=new_signals(),
        first_lane=np.arange(members + 1) * vectors // members * VECTOR,
        first_row=first_row,
        counts=first_row[1:] - first_row[:-1],
        rows=rows,
        weight=weight,
        held=np.zeros((members, lanes), dtype=np.int64),
        heavy=np.zeros((members, lanes), dtype=np.int64),
        joined=joined,
        filled=filled,
        wanted=np.empty((members, slots), dtype=np.int64),
        together=np.zeros(members, dtype=np.int64),
    )
    sides = Sides(
        here=np.zeros((members, 2), dtype=np.uint64),
        n_parted=np.zeros(members, dtype=np.int64),
        parted=np.empty((members, some), dtype=np.uint64),
        keep=np.empty((members, some, BINS, 2), dtype=np.uint64),
        border=np.empty((members, some, BINS), dtype=np.bool_),
        column=np.full(lanes, m, dtype=np.uint64),
        lowest=np.empty(lanes, dtype=np.uint64),
        width=np.empty(lanes, dtype=np.uint64),
    )
    return team, sides


def count_type(n: int) -> np.dtype[Any]:
    """Of the counts in histograms, for a table of so many rows."""
    return np.dtype(np.uint16 if code_type(n) == np.uint16 else np.uint32)


def new_member(
    team: Team, sides: Sides, me: int, table: Table, target: Target, columns: Array, binned: Binned | None
) -> Member:
    """What a member needs for itself. If the table has no codes, ``binned`` is what it comes from."""
    n, members, slots = len(table.coarse), len(team.counts), team.filled.shape[1]
    own = int(team.first_lane[me + 1] - team.first_lane[me])
    shape, count = (slots, BINS + 1, 2, own), team.filled.dtype
    sums = Sums(
        histogram=team.filled[0] if members == 1 else aligned(shape, count),
        missing=np.empty((slots, 2, own), dtype=count),
        variants=np.empty(slots, dtype=np.int64),
        edges=np.empty((slots, 2, GROUPS + 1, own)),
        bounds=np.empty(own),
        may_win=np.empty(own, dtype=np.uint16),
    )
    return Member(
        me,
        new_share(sides, target),
        new_cells(team, me, table, columns, sums.histogram),
        new_lanes(own),
        sums,
        Opened(
            notes=np.array([-1, 0]),
            order=np.empty(n, dtype=ROW),
            starts=np.empty(BINS + 1, dtype=np.int64),
            state=np.empty(BINS, dtype=np.uint8),
            code=np.empty(n, dtype=np.uint32),
            kind=np.empty(n, dtype=np.uint8),
        ),
        None if count == np.uint16 else new_large(team, table, sums.histogram, binned),
    )


def new_share(sides: Sides, target: Target) -> Share:
    (members, some), every, heaviest = sides.parted.shape, len(sides.column), int(target.weight.max(initial=1))
    alone = members == 1
    return Share(
        notes=np.array([np.iinfo(np.uint16).max // (max(heaviest, 1) * MOST_COPIES), 1, NOT_LISTED]),
        tally=np.zeros(every, dtype=np.uint8),
        sums=np.zeros(every, dtype=np.uint16),
        draws=np.empty(every, dtype=np.uint32),
        roots=np.empty(every, dtype=np.uint64),
        here=np.zeros(2, dtype=np.uint64),
        before_here=np.full(2, ~np.uint64(0)),
        parted=sides.parted[0] if alone else np.empty(some, dtype=np.uint64),
        keep=sides.keep[0] if alone else np.empty((some, BINS, 2), dtype=np.uint64),
        border=sides.border[0] if alone else np.empty((some, BINS), dtype=np.bool_),
    )


def new_cells(team: Team, me: int, table: Table, columns: Array, histogram: Array) -> Cells:
    members, slots, *rest = team.filled.shape
    bins, n = table.first_code[columns, BINS], len(table.coarse)
    exactly, roughly = (join_columns(bins, n, slots, rough) for rough in (False, True))
    cells, own_cells = team.filled[me], histogram
    if team.filled.dtype != np.uint16:
        cells = aligned((slots, *rest), np.uint16)
        cells[:] = 0
        own_cells = cells if members == 1 else cells.reshape(-1)[: histogram.size].reshape(histogram.shape)
    return Cells(
        cells=cells,
        own_cells=own_cells,
        places=np.empty(slots, dtype=np.uint64),
        ends=np.array([exactly, roughly + exactly[len(roughly) :]], dtype=np.int64),
        rough=np.empty(slots, dtype=np.bool_),
        wanted=np.empty(slots, dtype=np.int64),
        inside=np.empty((slots, BINS), dtype=np.bool_),
    )


def new_lanes(own: int) -> Lanes:
    return Lanes(
        state=np.full(own, GONE, dtype=np.int64),
        depth=np.zeros(own, dtype=np.int64),
        held=np.zeros(own, dtype=np.int64),
        bag=np.zeros(own, dtype=np.int64),
        words=np.zeros(own, dtype=np.int64),
        keys=np.zeros(own, dtype=np.uint64),
        total=np.zeros((2, own), dtype=np.int64),
        reach=np.empty(own),
        score=np.empty(own),
        best=np.empty((own, 6), dtype=np.int64),
        near=np.empty((own, 2)),
        left=np.empty((own, 2), dtype=np.int64),
        members=np.empty((own, BINS), dtype=np.uint8),
    )


def new_large(team: Team, table: Table, histogram: Array, binned: Binned | None) -> Large:
    (n, m), (members, slots, *rest), own = table.coarse.shape, team.filled.shape, histogram.shape[-1]
    lost = aligned((n // members // ROWS_PER_PACKED, team.weight.shape[1]), np.uint8)
    numbers, number, values = np.empty((1, 0)), np.zeros(m, dtype=np.int64), np.empty(0)
    if binned is not None and len(binned.numbers):
        numbers, number, values = binned.numbers, binned.number, table.values
    return Large(
        before=aligned((slots if m == slots else 0, *rest), team.filled.dtype),
        lost=lost,
        packed=lost.reshape(-1)[: lost.size // own * own].reshape(-1, own),
        parts=aligned((BINS, PARTS + 1, 2, own), np.uint32),
        ends_of_parts=np.empty((BINS, PARTS + 1), dtype=np.int64),
        numbers=frozen(numbers.view(np.uint64)),
        number=frozen(number),
        values=values.view(np.uint64),
    )
