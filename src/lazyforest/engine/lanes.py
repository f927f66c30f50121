"""Bootstraps side by side: the upper nodes on one query's path, in all trees at once.

At the root every tree looks at the same rows, and further down the trees still look at much the same ones, for they
follow the same query. So a row's counts in all trees (lanes) lie side by side and are added to histograms in one go:
ten to fifteen times cheaper than tree by tree. Lanes whose nodes have become small are done; once all are, a table of
the rows that are left is handed over to the exploration of single trees.

For two classes by entropy and all columns; other forests do without.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lazyforest.engine.bins import list_categories, open_column_of_two, search_opened_of_two
from lazyforest.engine.bootstrap import BAG, CHILD, count_of, draw_word, mix, root_key
from lazyforest.engine.exploration import Handed, Task, cast
from lazyforest.engine.lane_bins import PARTS, add_bins, sort_by_bin, sort_opened
from lazyforest.engine.lane_histograms import accumulate, fill_groups, fill_lanes, join_codes, join_columns
from lazyforest.engine.layout import (
    BINS,
    BLOCK,
    EAGER,
    EDGES,
    ENTROPY,
    GROUPS,
    HISTOGRAM_COLUMNS,
    LAZY,
    MIN_GAIN,
    MULTINOMIAL,
    NODES,
    POISSON,
    ROW,
    ROWS_SCANNED,
    STACK_WORDS,
    Array,
    Binned,
    Rules,
    Table,
    Target,
    code_type,
    entry,
    frozen,
    inlined,
    jit,
)
from lazyforest.engine.nodes import NUMBER, Best, Node
from lazyforest.engine.partition import Condition, is_valid_code, is_valid_value, midpoint, settle
from lazyforest.engine.sets import search_prefixes_of_two
from lazyforest.engine.two import SLACK, count_groups, score_two, sets_may_win
from lazyforest.engine.vectors import VECTOR, aligned, mask_vector

LANES = 128  # at most, and a multiple of VECTOR
LEAST_ROWS = 1024  # of a table that is worth it
ROWS_TO_PART = BINS * 128  # of a table whose opened bins are worth cutting into parts
PACKED = 5  # one of so many rows may be in opened bins whose weights are packed
ROOM = 1 << 24  # bytes of weights that are always had
SMALL = BLOCK  # a node of so many rows is handed over
WORTH = 8  # lanes are left when their nodes together hold fewer than so many times the rows that they share
MOST_COPIES = 13  # of a row in a Poisson bootstrap
HEAVIEST = np.iinfo(np.uint8).max // MOST_COPIES
ROUGH_PAYS = 3  # columns are joined roughly until more than one of so many bins is wanted after all
WALKING, DONE, GONE = 0, 1, 2
FULL_BYTE = 255
EVERY_GROUP = (1 << GROUPS) - 1
EVERYTHING = np.uint8(FULL_BYTE)  # in ``keep``: a mask
ROWS, SORTED, BLOCKS, ROUGHLY = range(4)


class Lanes(NamedTuple):
    """A lane is a tree's node on the path of the query."""

    weight: Array  # (rows, lanes) uint8: of rows[i] at the lane's node
    rows: Array  # (rows,) those that some lane has, ascending
    place: Array  # (4,): how many ``rows``; the column that ``order`` is sorted by; rows per block; roughly?
    state: Array  # (lanes,)
    depth: Array  # (lanes,)
    held: Array  # (lanes,) rows at the node
    counter: Array  # (lanes,) uint8
    bag: Array  # (lanes,) rows of the bootstrap
    words: Array  # (lanes,) as in a frame
    keys: Array  # (lanes,) as in a frame
    total: Array  # (2, lanes)
    histogram: Array  # (columns, BINS + 1, 2, lanes): of numbers, sums over the bins 1 to b; the last stays empty
    cells: Array  # the same for a block of rows, in two bytes; or the histogram itself
    fills: Array  # (3, columns, 2) what is filled from where
    ends: Array  # (groups,) of columns that are filled together
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
    order: Array  # (rows,) positions in ``rows``, by the bins of a column; by codes in those bins that were opened
    starts: Array  # (BINS + 1,) where each bin starts in ``order``
    entries: Array  # (BINS,) how many codes there are in a bin that was opened, or -1
    code: Array  # (rows,) along ``order``, of bins that were opened
    kind: Array  # (rows,) likewise: the class, NEW + class for the first row of a code
    parts: Array  # (BINS, PARTS + 1, 2, lanes) uint32: what lanes hold up to the end of each part of an opened bin
    ends_of_parts: Array  # (BINS, PARTS + 1) places in ``order``
    packed: Array  # (some rows, lanes) weights along ``order``, of bins that were opened
    packed_at: Array  # (BINS + 1,) where those of a bin begin, or -1; last, where there is room
    numbers: Array  # (columns of numbers, rows) their bits, where the table has no codes; codes of opened bins go to:
    number: Array  # (columns,) which of them it is
    codes: Array  # (columns, rows) the table's, to be written
    values: Array  # bits of the table's, to be written
    keep: Array  # (BINS, lanes) a mask: does the lane keep rows in this bin?
    border: Array  # (BINS,) does a lane's cut lie within the bin? Then its rows are told apart by their codes
    lowest: Array  # (lanes,) the lowest code of a number that the lane keeps, and how many
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
    room = max(ROOM, n_bytes // 2) // n if applies else 1
    return int(np.clip(room // VECTOR * VECTOR, VECTOR, LANES)) if applies else 1


def table_of_bins(binned: Binned) -> Table:
    """A table whose codes are yet to be written, and values, those of columns of few numbers apart.

    There is room for the values of one other column: that of the bins which are opened now.
    """
    n, m = binned.coarse.shape
    few = binned.first_code[:, BINS] <= BINS
    values = np.empty(m * (BINS - 1) + n)
    values[: m * (BINS - 1)] = binned.few_values.ravel()
    return Table(
        codes=np.empty((m, n), dtype=code_type(n)),
        coarse=binned.coarse,
        first_code=binned.first_code,
        is_category=binned.is_category,
        values=values,
        value_start=np.where(few, np.arange(m), m) * (BINS - 1),
    )


def new_lanes(
    table: Table, target: Target, columns: Array, trees: int, numbers: Array | None = None, number: Array | None = None
) -> Lanes:
    """Room for ``trees`` side by side; ``numbers`` of a table that has no codes."""
    n, m = table.coarse.shape
    lanes = -(-trees // VECTOR) * VECTOR
    slots = min(m, HISTOGRAM_COLUMNS)
    ends = join_columns(table.first_code[columns, BINS], n, slots)
    count = np.dtype(np.uint16 if table.codes.dtype == np.uint16 else np.uint32)
    histogram = aligned((slots, BINS + 1, 2, lanes), count)  # one more: else columns meet in the cache
    heaviest = max(int(target.weight.max(initial=1)), 1)
    ranked = numbers is None
    return Lanes(
        weight=aligned((n, lanes), np.uint8),
        rows=np.empty(n, dtype=ROW),
        place=np.array([0, -1, np.iinfo(np.uint16).max // (heaviest * MOST_COPIES), 1]),
        state=np.full(lanes, GONE, dtype=np.int64),
        depth=np.zeros(lanes, dtype=np.int64),
        held=np.zeros(lanes, dtype=np.int64),
        counter=np.zeros(lanes, dtype=np.uint8),
        bag=np.zeros(lanes, dtype=np.int64),
        words=np.zeros(lanes, dtype=np.int64),
        keys=np.zeros(lanes, dtype=np.uint64),
        total=np.zeros((2, lanes), dtype=np.int64),
        histogram=histogram,
        cells=histogram if count == np.uint16 else aligned(histogram.shape, np.uint16),
        fills=np.empty((3, slots, 2), dtype=np.int64),
        ends=np.array(ends, dtype=np.int64),
        joined=np.empty((n, len(ends)), dtype=np.uint8),
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
        entries=np.empty(BINS, dtype=np.int64),
        code=np.empty(n, dtype=np.uint32),
        kind=np.empty(n, dtype=np.uint8),
        parts=aligned((BINS if n >= ROWS_TO_PART else 0, PARTS + 1, 2, lanes), np.uint32),
        ends_of_parts=np.empty((BINS, PARTS + 1), dtype=np.int64),
        packed=np.empty((n // PACKED if n >= ROWS_TO_PART else 0, lanes), dtype=np.uint8),
        packed_at=np.zeros(BINS + 1, dtype=np.int64),
        numbers=frozen(np.empty((1, 0), dtype=np.uint64) if numbers is None else numbers.view(np.uint64)),
        number=frozen(np.zeros(m, dtype=np.int64) if number is None else number),
        codes=np.empty((m, 0), dtype=table.codes.dtype) if ranked else table.codes,
        values=(np.empty(0) if ranked else table.values).view(np.uint64),
        keep=aligned((BINS, lanes), np.uint8),
        border=np.empty(BINS, dtype=np.bool_),
        lowest=np.empty(lanes, dtype=np.uint32),
        width=np.empty(lanes, dtype=np.uint32),
        draws=np.empty(lanes, dtype=np.uint32),
    )


@inlined
def draw_lanes(table: Any, target: Any, rules: Any, f: Any, first: Any, last: Any, lanes: Any) -> None:
    """The counts of every row in the trees first to last, and their roots."""
    weight, keys, weighs, rows = lanes.weight, lanes.keys, lanes.words, lanes.rows
    row_ids, row_weight, used = target.row_ids, target.weight, last - first
    for lane in range(keys.size):
        keys[lane] = mix(mix(rules.seed, np.uint64(first + lane)), BAG)
        weighs[lane] = 0
    for i in range(row_ids.size):
        w, row = np.uint8(row_weight[i]), row_ids[i]
        rows[i] = i
        for lane in range(keys.size):  # first all draws, then all counts: these are narrower, more fit in a vector
            lanes.draws[lane] = draw_word(keys[lane], row)
        for lane in range(keys.size):
            weight[i, lane] = (count_of(lanes.draws[lane]) if rules.bootstrap == POISSON else np.uint8(1)) * w
        for lane in range(used, keys.size):
            weight[i, lane] = 0
        for lane in range(keys.size):
            weighs[lane] += weight[i, lane]
    most = min(f.size, 1 << (8 * lanes.histogram.itemsize))
    lanes.place[ROWS], lanes.place[ROUGHLY] = row_ids.size, 1
    compact_lanes(lanes, table, np.int64(-1))
    light = True  # a lane that is too heavy would be counted beside the others: none walks then
    for lane in range(used):
        light &= weighs[lane] < most
    for lane in range(keys.size):
        keys[lane] = root_key(rules.seed, first + lane)
        lanes.state[lane] = GONE if lane >= used else WALKING if light else DONE
        lanes.depth[lane], lanes.bag[lane] = 0, lanes.held[lane]
        lanes.words[lane] = lanes.held[lane] + (1 if rules.algorithm != LAZY else 0)
    stop_lanes(lanes)


@jit
def compact(
    weight: Any,
    rows: Any,
    place: Any,
    counter: Any,
    held: Any,
    codes: Any,
    coarse: Any,
    j: Any,
    keep: Any,
    border: Any,
    lowest: Any,
    width: Any,
) -> None:
    """Forget the rows that no lane has; count those of each lane, in bytes as long as these hold.

    If ``j`` is a column, each lane first keeps what its condition on it says, as long as the rows are at hand.
    """
    held[:] = 0
    kept, last = np.int64(0), place[ROWS]
    for start in range(0, last, FULL_BYTE):
        stop = min(start + FULL_BYTE, last)
        if j >= 0:
            keep_rows(weight, rows, start, stop, codes, coarse, j, keep, border, lowest, width)
        counter[:] = 0
        for i in range(start, stop):
            some = np.uint8(0)
            here, there = weight[i], weight[kept]
            for lane in range(counter.size):
                some |= here[lane]
                counter[lane] += np.uint8(here[lane] > 0)
            if kept < i:
                for lane in range(counter.size):
                    there[lane] = here[lane]
            rows[kept] = rows[i]
            kept += some > 0
        for lane in range(held.size):
            held[lane] += counter[lane]
    place[ROWS] = kept


@jit
def raise_reach(sums: Any, missing: Any, variants: Any, total: Any, f: Any, edges: Any, reach: Any) -> None:
    """The scores of the cuts between groups of bins, as in ``open_bins_of_two``, raise ``reach``."""
    for variant in range(variants):
        some = np.uint64(variant)  # missing rows valid, or not
        for group in range(count_groups(sums) + 1):
            here = sums[min(EDGES[group], sums.shape[0] - 1)]
            scores = edges[variant, group]
            for lane in range(reach.size):
                one = np.uint64(here[0, lane]) + some * np.uint64(missing[0, lane])
                two = np.uint64(here[1, lane]) + some * np.uint64(missing[1, lane])
                new = score_two(one, two, np.uint64(total[0, lane]), np.uint64(total[1, lane]), f)
                scores[lane] = new
                reach[lane] = max(reach[lane], new)


@jit
def bound_lanes(
    sums: Any, missing: Any, variants: Any, total: Any, f: Any, edges: Any, reach: Any, may_win: Any
) -> None:
    """In which lanes may which groups of bins (a bit each) hold a cut as good as ``reach``?"""
    may_win[:] = 0
    for variant in range(variants):
        some = np.uint64(variant)
        for group in range(count_groups(sums)):
            below, above = sums[EDGES[group]], sums[min(EDGES[group + 1], sums.shape[0] - 1)]
            start, stop = edges[variant, group], edges[variant, group + 1]
            for lane in range(reach.size):
                one, two = some * np.uint64(missing[0, lane]), some * np.uint64(missing[1, lane])
                a, b = np.uint64(below[0, lane]) + one, np.uint64(below[1, lane]) + two
                c, d = np.uint64(above[0, lane]) + one, np.uint64(above[1, lane]) + two
                total_a, total_b = np.uint64(total[0, lane]), np.uint64(total[1, lane])
                highest = max(start[lane], stop[lane])
                highest = max(highest, score_two(a, d, total_a, total_b, f), score_two(c, b, total_a, total_b, f))
                slack = SLACK * (float(total_a + total_b) + abs(reach[lane]))
                may_win[lane] |= np.uint16(highest >= reach[lane] - slack) << np.uint16(group)


@jit
def bound_sets(histogram: Any, total: Any, f: Any, reach: Any, bounds: Any, may_win: Any) -> None:
    """In which lanes may a set of categories score as much as ``reach``? No set beats all categories by themselves."""
    bounds[:] = 0.0
    for code in range(histogram.shape[0]):
        here = histogram[code]
        for lane in range(bounds.size):
            a, b = np.uint64(here[0, lane]), np.uint64(here[1, lane])
            bounds[lane] += f[a] + f[b] - f[a + b]
    for lane in range(bounds.size):
        slack = SLACK * (float(total[0, lane] + total[1, lane]) + abs(reach[lane]))
        may_win[lane] = bounds[lane] >= reach[lane] - slack


@jit
def take_column(lanes: Any, lane: Any, slot: Any, n_codes: Any, histogram: Any, missing: Any) -> Any:
    """A lane's histogram of a column; of large columns only the groups of bins that may win, and all edges.

    Returns the number of bins.
    """
    source, groups, n_bins = lanes.histogram[slot], np.int64(lanes.may_win[lane]), min(n_codes, BINS)
    for group in range(GROUPS):
        lo = EDGES[group]
        hi = EDGES[group + 1] if n_codes <= BINS or (groups >> group) & 1 else lo + 1
        for b in range(lo, min(hi, n_bins)):
            histogram[b, 0], histogram[b, 1] = source[b, 0, lane], source[b, 1, lane]
    histogram[n_bins - 1, 0], histogram[n_bins - 1, 1] = source[n_bins - 1, 0, lane], source[n_bins - 1, 1, lane]
    missing[0], missing[1] = lanes.missing[slot, 0, lane], lanes.missing[slot, 1, lane]
    return n_bins


@inlined
def recall(lanes: Any, lane: Any) -> Any:
    """The best condition of the lane so far."""
    held = lanes.best[lane]
    return Best(lanes.score[lane], held[0], held[1], held[2], held[3] != 0, held[4] != 0, held[5])


@inlined
def remember(lanes: Any, lane: Any, best: Any, search: Any, table: Any) -> None:
    held, near, start = lanes.best[lane], lanes.near[lane], table.value_start[best.column] - 1
    if best.n_members == NUMBER and best.lower > 0:
        near[0], near[1] = table.values[start + best.lower], table.values[start + best.cut]
    held[0], held[1], held[2], held[5] = best.column, best.lower, best.cut, best.n_members
    held[3], held[4] = best.missing_is_valid, best.any_missing
    lanes.score[lane] = best.score
    lanes.reach[lane] = max(lanes.reach[lane], best.score)
    lanes.left[lane, 0], lanes.left[lane, 1] = search.best_left[0], search.best_left[1]
    for p in range(best.n_members):
        lanes.members[lane, p] = search.members[p]


@inlined
def search_lane(
    table: Any, target: Any, rules: Any, search: Any, bag: Any, lanes: Any, lane: Any, j: Any, slot: Any
) -> None:
    """``search_column`` of ordinary nodes, for one lane; ``lanes.order`` is sorted by the column's bins when needed."""
    total, none = bag.total, np.int64(0)
    total[0], total[1] = lanes.total[0, lane], lanes.total[1, lane]
    node = Node(bag.rows, none, none, total, total[0] + total[1], none, 0.0, True, lanes.keys[lane])
    n_codes = table.first_code[j, BINS]
    search.n_bins[0] = take_column(lanes, lane, slot, n_codes, search.histogram[0], search.missing[0])
    best = recall(lanes, lane)
    score, column, cut = best.score, best.column, best.cut
    if table.is_category[j]:
        held, gone = search.held, search.corner
        k = list_categories(search.histogram[0], n_codes, 2, search.categories, held, gone)
        if sets_may_win(held, k, gone[0], gone[1], search.f, max(lanes.reach[lane], best.score)):
            best = search_prefixes_of_two(node, search, j, k, best)
    else:
        reach, sums = max(best.score, lanes.reach[lane]), search.histogram[0, : search.n_bins[0]]
        if open_column_of_two(sums, search.missing[0], total, search.f, reach, search.scores, search.opened) == 0:
            return
        if n_codes > BINS:
            if lanes.place[SORTED] != j:
                wanted = lanes.wanted[slot] if lanes.rough[slot] else np.int64(EVERY_GROUP)
                sort_by_bin(lanes.rows, lanes.place[ROWS], table.coarse, j, lanes.order, lanes.starts, wanted)
                lanes.place[SORTED] = j
                lanes.entries[:] = -1
                lanes.packed_at[BINS] = 0
            sort_opened(
                search.opened,
                lanes.order,
                lanes.starts,
                lanes.entries,
                lanes.code,
                lanes.kind,
                lanes.rows,
                table.codes[j],
                target.y,
                search.words,
                search.spare,
                search.places,
                n_codes,
                lanes.weight,
                lanes.parts,
                lanes.ends_of_parts,
                lanes.packed,
                lanes.packed_at,
                lanes.numbers[lanes.number[j]],
                lanes.codes[j],
                lanes.values,
                table.value_start[j],
                table.first_code[j],
            )
            add_bins(
                search.opened,
                search.histogram[0],
                search.missing[0],
                lanes.variants[slot],
                total,
                search.f,
                reach,
                lanes.order,
                lanes.starts,
                lanes.code,
                lanes.kind,
                lanes.parts,
                lanes.ends_of_parts,
                lanes.packed,
                lanes.packed_at,
                lanes.weight,
                lane,
                search.starts,
                search.stops,
                search.fine,
                search.fine_codes,
            )
        any_missing = search.missing[0, 0] + search.missing[0, 1] > 0
        for variant in range(2 if any_missing else 1):
            best = search_opened_of_two(node, search, j, none, variant, any_missing, n_codes <= BINS, best)
    if best.score != score or best.column != column or best.cut != cut:
        remember(lanes, lane, best, search, table)


@inlined
def choose_in_lanes(table: Any, target: Any, rules: Any, search: Any, bag: Any, lanes: Any, votes: Any) -> None:
    """The best condition of every walking lane, in ``lanes.best``."""
    n, m, f, reach, total = lanes.place[ROWS], search.columns.size, search.f, lanes.reach, lanes.total
    slots, is_category, may_win, rough = lanes.histogram.shape[0], table.is_category, lanes.may_win, lanes.rough
    lanes.place[SORTED], group, filled, n_rough = -1, np.int64(0), np.int64(0), np.int64(0)
    for start in range(0, m, slots):
        columns = search.columns[start : min(m, start + slots)]
        group = fill_lanes(
            lanes.weight,
            lanes.rows,
            n,
            lanes.joined,
            table.coarse,
            target.y,
            columns,
            table.first_code,
            lanes.ends,
            group,
            start,
            lanes.place[ROUGHLY] == 1,
            lanes.place[BLOCKS],
            lanes.fills,
            lanes.cells,
            lanes.histogram,
            rough,
            total,
        )
        if start == 0:
            begin_search(rules, f, bag, lanes, votes)
        # edges of groups of numbers, sets, cuts of numbers: these last, for a set that ties with a higher column
        for turn in range(3):
            if turn == 2:
                find_wanted(table, search, lanes, columns)
                filled += fill_groups(
                    lanes.weight,
                    lanes.rows,
                    n,
                    lanes.joined,
                    table.coarse,
                    target.y,
                    columns,
                    lanes.fills,
                    rough,
                    lanes.wanted,
                    lanes.inside,
                    lanes.sides,
                    lanes.place[BLOCKS],
                    lanes.cells,
                    lanes.histogram,
                )
            for slot in range(columns.size):
                j = columns[slot]
                n_rough += turn == 0 and rough[slot]
                if is_category[j] != (turn == 1):
                    continue
                n_bins = min(table.first_code[j, BINS], BINS)
                sums, missing, edges = lanes.histogram[slot, :n_bins], lanes.missing[slot], lanes.edges[slot]
                if turn == 0:
                    lanes.variants[slot] = 1 + accumulate(sums, missing, rough[slot])
                    raise_reach(sums, missing, lanes.variants[slot], total, f, edges, reach)
                    continue
                if turn == 1:
                    bound_sets(sums, total, f, reach, lanes.bounds, may_win)
                else:
                    bound_lanes(sums, missing, lanes.variants[slot], total, f, edges, reach, may_win)
                for lane in range(may_win.size):
                    if lanes.state[lane] == WALKING and may_win[lane]:
                        search_lane(table, target, rules, search, bag, lanes, lane, j, slot)
    if filled * ROUGH_PAYS > n_rough * BINS:
        lanes.place[ROUGHLY] = 0


@inlined
def find_wanted(table: Any, search: Any, lanes: Any, columns: Any) -> None:
    """The groups of rough columns' bins that may hold the best cut of some lane."""
    for slot in range(columns.size):
        lanes.wanted[slot] = 0
        if lanes.rough[slot]:
            bound_lanes(
                lanes.histogram[slot, :BINS],
                lanes.missing[slot],
                lanes.variants[slot],
                lanes.total,
                search.f,
                lanes.edges[slot],
                lanes.reach,
                lanes.may_win,
            )
            for lane in range(lanes.may_win.size):
                if lanes.state[lane] == WALKING:
                    lanes.wanted[slot] |= lanes.may_win[lane]


@inlined
def begin_search(rules: Any, f: Any, bag: Any, lanes: Any, votes: Any) -> None:
    """What the condition of each lane has to beat; lanes that need none, for they are leaves, vote and are gone."""
    any_leaf = False
    for lane in range(lanes.state.size):
        a, b = lanes.total[0, lane], lanes.total[1, lane]
        lanes.score[lane], lanes.best[lane, 0] = 0.0, -1
        lanes.keep[0, lane] = EVERYTHING
        if lanes.state[lane] == WALKING:
            lanes.score[lane] = (f[a] + f[b] - f[a + b]) + MIN_GAIN * float(a + b)
            if a == 0 or b == 0 or a + b < rules.min_samples_split or lanes.depth[lane] >= rules.max_depth:
                bag.total[0], bag.total[1] = a, b
                cast(bag.total, rules, bag.vote)
                votes[0, 0] += bag.vote[0]
                votes[0, 1] += bag.vote[1]
                bag.costs[NODES] += 1
                bag.costs[STACK_WORDS] = max(bag.costs[STACK_WORDS], lanes.words[lane])
                lanes.state[lane], lanes.keep[0, lane], any_leaf = GONE, 0, True
        lanes.reach[lane] = lanes.score[lane]
    if any_leaf:
        forget_rows(lanes.weight, lanes.place[ROWS], lanes.keep)


@jit
def forget_rows(weight: Any, n: Any, keep: Any) -> None:
    """Rows of lanes that are gone."""
    lanes, weights, mask = weight.shape[1], weight.reshape(-1), keep.reshape(-1)
    for i in range(n):
        for lane in range(0, lanes, VECTOR):
            mask_vector(weights, i * lanes + lane, mask, lane)


@inlined
def part_lanes(table: Any, rules: Any, X: Any, search: Any, bag: Any, lanes: Any) -> None:
    """Every lane that has a condition goes to the query's side of it; the others are done."""
    state, best = lanes.state, lanes.best
    for lane in range(state.size):
        if state[lane] != WALKING:
            continue
        if best[lane, 0] < 0:
            state[lane] = DONE
            continue
        bag.costs[NODES] += 1
        bag.costs[ROWS_SCANNED] += lanes.held[lane]
        bag.costs[STACK_WORDS] = max(bag.costs[STACK_WORDS], lanes.words[lane])
        if rules.algorithm == LAZY:  # the words of the child, but for its rows
            lanes.words[lane] = lanes.bag[lane] + (lanes.held[lane] if lanes.depth[lane] > 0 else 0)
        else:
            lanes.words[lane] += 1
        lanes.depth[lane] += 1
    last = np.int64(-1)
    for lane in range(state.size):
        if state[lane] == WALKING:
            last = max(last, best[lane, 0])
    for k in range(search.columns.size):
        j = search.columns[k]
        if find_kept(table, rules, X, search, bag, lanes, j) and j != last:
            keep_rows(
                lanes.weight,
                lanes.rows,
                np.int64(0),
                lanes.place[ROWS],
                table.codes[j],
                table.coarse,
                j,
                lanes.keep,
                lanes.border,
                lanes.lowest,
                lanes.width,
            )
        if j == last:
            break
    compact_lanes(lanes, table, last)
    for lane in range(state.size):
        if state[lane] == WALKING:
            lanes.words[lane] += lanes.held[lane]
    stop_lanes(lanes)


@inlined
def find_kept(table: Any, rules: Any, X: Any, search: Any, bag: Any, lanes: Any, j: Any) -> Any:
    """Which bins of column j each lane keeps; returns whether any lane's condition is on it."""
    found, first_code, member = False, table.first_code[j], bag.member
    n_bins = min(first_code[BINS], BINS)
    for lane in range(lanes.state.size):
        if lanes.state[lane] != WALKING or lanes.best[lane, 0] != j:
            continue
        if not found:
            lanes.keep[:n_bins] = EVERYTHING
            lanes.border[:] = False
            lanes.lowest[:] = 0
            lanes.width[:] = np.uint32(0xFFFFFFFF)
            found = True
        best = recall(lanes, lane)
        n_members = max(best.n_members, 0)
        for p in range(n_members):
            search.members[p] = lanes.members[lane, p]
        condition = settle(lanes.total[:, lane], table, best, search.members, lanes.left[lane], member, rules.criterion)
        threshold = midpoint(lanes.near[lane, 0], lanes.near[lane, 1]) if best.lower > 0 else -np.inf
        condition = Condition(j, condition.cut, threshold, condition.missing_is_valid, condition.is_set)
        side = is_valid_value(condition, X[0, j], member)
        lanes.keep[0, lane] = EVERYTHING if condition.missing_is_valid == side else 0
        for b in range(1, n_bins):
            lanes.keep[b, lane] = EVERYTHING if is_valid_code(condition, first_code[b], member) == side else 0
            lanes.border[b] |= not condition.is_set and first_code[b] < condition.cut < first_code[b + 1]
        if not condition.is_set:
            lanes.lowest[lane] = condition.cut if side else 1
            lanes.width[lane] = first_code[BINS] - condition.cut if side else condition.cut - 1
        for p in range(n_members):
            member[search.members[p]] = False
        lanes.keys[lane] = mix(lanes.keys[lane], CHILD + np.uint64(side))
    return found


@jit
def keep_rows(
    weight: Any,
    rows: Any,
    lo: Any,
    hi: Any,
    codes: Any,
    coarse: Any,
    j: Any,
    keep: Any,
    border: Any,
    lowest: Any,
    width: Any,
) -> None:
    """Rows that a lane does not keep weigh nothing there."""
    n, weights, masks = weight.shape[1], weight.reshape(-1), keep.reshape(-1)
    for i in range(lo, hi):
        r = rows[i]
        b = np.int64(coarse[r, j])
        if not border[b]:
            for lane in range(0, n, VECTOR):
                mask_vector(weights, i * n + lane, masks, b * n + lane)
        else:
            code = np.uint32(codes[r])
            for lane in range(n):
                w = weight[i, lane]
                weight[i, lane] = w if np.uint32(code - lowest[lane]) < width[lane] else np.uint8(0)


@inlined
def compact_lanes(lanes: Any, table: Any, j: Any) -> None:
    compact(
        lanes.weight,
        lanes.rows,
        lanes.place,
        lanes.counter,
        lanes.held,
        table.codes[max(j, 0)],
        table.coarse,
        j,
        lanes.keep,
        lanes.border,
        lanes.lowest,
        lanes.width,
    )


@jit
def stop_lanes(lanes: Any) -> None:
    """Lanes go on where nodes are large and share most of their rows."""
    state, held, together = lanes.state, lanes.held, np.int64(0)
    for lane in range(state.size):
        together += held[lane] if state[lane] == WALKING else 0
    for lane in range(state.size):
        alone = held[lane] <= SMALL or together < WORTH * lanes.place[ROWS]
        if state[lane] == WALKING and alone:
            state[lane] = DONE


@entry
def walk_lanes(
    table: Any,
    target: Any,
    rules: Any,
    X: Any,
    search: Any,
    bag: Any,
    lanes: Any,
    first: Any,
    last: Any,
    votes: Any,
) -> None:
    """Go down, the trees first to last together, until all lanes are done; those that come to a leaf vote."""
    join_codes(table.coarse, search.columns, table.first_code, lanes.ends, lanes.joined)
    draw_lanes(table, target, rules, search.f, first, last, lanes)
    while any_walking(lanes.state):
        choose_in_lanes(table, target, rules, search, bag, lanes, votes)
        part_lanes(table, rules, X, search, bag, lanes)


@jit
def any_walking(state: Any) -> Any:
    for lane in range(state.size):
        if state[lane] == WALKING:
            return True
    return False


def walk_together(task: Task, lanes: Lanes, trees: range, votes: Array) -> tuple[Array, Handed]:
    """``walk_lanes``; returns the rows that are left, and the nodes that they are in."""
    walk_lanes(
        task.table, task.target, task.rules, task.X, task.search, task.bag, lanes, trees.start, trees.stop, votes
    )
    n = int(lanes.place[ROWS])
    return lanes.rows[:n], Handed(
        lanes.weight[:n], lanes.state == DONE, lanes.depth, lanes.words, lanes.bag, lanes.keys
    )
