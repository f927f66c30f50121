"""The exploration: training rows and queries go down together; a node is opened once, and only if needed.

One loop serves the three algorithms. Eager opens both sides of every condition and records the tree; lazy starts
from the root for every query; batched carries all queries along. The stack is explicit and rows are partitioned in
place, so memory is O(rows) whatever the depth.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lazyforest.engine.bins import search_large
from lazyforest.engine.bootstrap import CHILD, MOST_COPIES, draw_counts, mix, root_key
from lazyforest.engine.counts import x_log2_x_table
from lazyforest.engine.layout import (
    BATCHED,
    BINS,
    BLOCK,
    COSTS,
    EAGER,
    ENTROPY,
    LAZY,
    NODES,
    ROW,
    ROWS_SCANNED,
    SOFT_UNIT,
    SQUARED_ERROR,
    STACK_WORDS,
    WEIGHTS,
    Array,
    Rules,
    Table,
    Target,
    entry_inlined,
    frozen,
    inlined,
    jit,
    public,
)
from lazyforest.engine.lists import Small, new_small, open_block, search_small
from lazyforest.engine.nodes import NUMBER, Best, Node, Search, copy, new_search, weight_of
from lazyforest.engine.partition import part_lists, part_queries, part_rows, settle, threshold_of
from lazyforest.engine.record import (
    USED_MEMBERS,
    USED_NODES,
    Record,
    new_record,
    note_condition,
    note_leaf,
    note_node,
    trimmed,
)
from lazyforest.engine.subtraction import LEAST_ROWS, hand_down, new_histograms, prepare

SMALL_TABLE = 1 << 14  # of x log2 x: up to here it has room for the heaviest Poisson bag


class Frame(NamedTuple):
    """A node to be opened: rows[lo:hi], queries[q_lo:q_hi]."""

    lo: int
    hi: int
    q_lo: int
    q_hi: int
    depth: int
    parent: int  # 2 * number in the record + side
    words: int  # row indices that the listing holds when it enters the node
    listed: int  # so many columns have lists, inside a block
    slot: int  # 2 * which of the histograms is its own + is it filled?
    key: np.uint64


class Bag(NamedTuple):
    """One bootstrap: the rows that have a weight, the queries, and the stack."""

    counts: Array  # (rows,)
    drawn: Array  # (rows,) the rows of the bag, ascending
    rows: Array  # (rows,) the same, parted as the exploration goes
    spare: Array  # (rows,)
    queries: Array  # (queries,) their numbers, parted likewise
    spare_queries: Array
    member: Array  # (codes,) bool: the set of the condition being applied
    stack: Array  # (depth + 2, 9): frames but for their keys
    keys: Array  # (depth + 2,)
    histograms: Array  # (nodes, columns, BINS, classes): handed down to children, ``subtraction.py``
    block: Array  # (2,): the sorted lists hold rows[block[0]:block[1]]
    size: Array  # (1,): how many rows have a weight
    least: Array  # (1,): what each side of a condition has to weigh
    total: Array  # (statistics,)
    vote: Array
    costs: Array  # (COSTS,)


class Handed(NamedTuple):
    """Nodes on the path of one query, one per tree, whose rows ``lanes.py`` has found: the exploration goes on there.

    A table was made of the rows that trees have there.
    """

    weight: Array  # (rows, trees) uint8
    wanted: Array  # (trees,) bool: others have voted
    depth: Array  # (trees,)
    words: Array  # (trees,) as in a frame
    bag: Array  # (trees,) rows of the bootstrap
    keys: Array  # (trees,) as in a frame


def nothing_handed() -> Handed:
    none = np.empty(0, dtype=np.int64)
    return Handed(np.empty((0, 0), np.uint8), none > 0, none, none, none, none.view(np.uint64))


class Task(NamedTuple):
    """All that one thread needs to explore trees: the first arguments of ``explore_trees``."""

    table: Table
    target: Target
    rules: Rules
    X: Array  # (queries, columns) float64: numbers, codes of categories (-1: never seen), NaN
    search: Search
    small: Small
    bag: Bag
    handed: Handed
    criterion: int | None  # that of the rules; None: by entropy, always ``Node.two``; the rest is not compiled


def new_task(table: Table, target: Target, rules: Rules, X: Array, columns: Array) -> Task:
    """Buffers for exploring trees that may use ``columns`` (ascending)."""
    n = table.coarse.shape[0]
    heaviest, total = int(target.weight.max(initial=0)), int(target.weight.sum())
    most = max(MOST_COPIES * total, n * heaviest)  # or every draw takes the same row
    weight = np.zeros(n, dtype=WEIGHTS[0] if target.n_classes and most < 2**32 else WEIGHTS[1])
    listed = rules.max_features * 4 > len(columns)  # otherwise sorting what is looked at is cheaper
    depth = min(rules.max_depth, n) + 2
    size = target.n_classes or 2
    bag = Bag(
        counts=np.empty(n, dtype=np.int32),
        drawn=np.empty(n, dtype=ROW),
        rows=np.empty(n, dtype=ROW),
        spare=np.empty(n, dtype=ROW),
        queries=np.empty(len(X), dtype=ROW),
        spare_queries=np.empty(len(X), dtype=ROW),
        member=np.zeros(int(table.first_code[:, BINS].max(initial=1)), dtype=np.bool_),
        stack=np.empty((depth, 9), dtype=np.int64),
        keys=np.empty(depth, dtype=np.uint64),
        histograms=new_histograms(table, target, rules, columns, weight.dtype),
        block=np.zeros(2, dtype=np.int64),
        size=np.zeros(1, dtype=np.int64),
        least=np.empty(1),
        total=np.empty(size, dtype=np.int64),
        vote=np.empty(size, dtype=np.int64),
        costs=np.zeros(COSTS, dtype=np.int64),
    )
    table, target, X = Table(*map(frozen, table)), Target(*map(frozen, target)), frozen(X)
    f = frozen(x_log2_x_table(max(2 * total, min(MOST_COPIES * total, SMALL_TABLE))))
    search = new_search(table, target, weight, f, columns.copy())
    small = new_small(table, target, weight, listed)
    task = Task(table, target, rules, X, search, small, bag, nothing_handed(), rules.criterion)
    two = (rules.criterion, target.n_classes, rules.min_weight_fraction_leaf) == (ENTROPY, 2, 0.0)
    return task._replace(criterion=None) if two and total < f.size else task


def in_general(task: Task) -> Task:
    """The same for bags that are too heavy for the table of x log2 x."""
    return task._replace(criterion=task.rules.criterion)


def go_on(task: Task, table: Table, target: Target, handed: Handed, heaviest: int) -> Task:
    """The same buffers, for a table of some of the rows and the nodes that were handed over with it.

    None of their trees' bags weighs more than ``heaviest``.
    """
    assert task.small.place.size == 0  # of few rows, it would be about all of them
    task = task if heaviest < task.search.f.size else in_general(task)
    return task._replace(table=Table(*map(frozen, table)), target=Target(*map(frozen, target)), handed=handed)


@public
def cast(total: Any, rules: Any, vote: Any) -> None:
    """The vote of a leaf."""
    vote[:] = 0
    if rules.criterion == SQUARED_ERROR:
        if total[0] > 0:
            vote[0], vote[1] = np.int64(np.rint(float(total[1]) / float(total[0]) * rules.mean_unit)), 1
        return
    weight = weight_of(total, rules.criterion)
    if weight == 0:
        return
    most = 0
    for c in range(total.size):
        if rules.soft:
            vote[c] = np.int64(np.rint(float(total[c]) / float(weight) * SOFT_UNIT))
        elif total[c] > total[most]:
            most = c
    if not rules.soft:
        vote[most] = 1


@jit
def sum_classes(rows: Any, lo: Any, hi: Any, y: Any, weight: Any, total: Any) -> Any:
    """Weight per class into ``total``; returns whether there is only one class."""
    total[:] = 0
    if total.size == 2:  # in registers: rows of one class in a row would wait for each other's sum
        both, second = np.int64(0), np.int64(0)
        for i in range(lo, hi):
            w = np.int64(weight[rows[i]])
            both += w
            second += w * np.int64(y[rows[i]])
        total[0], total[1] = both - second, second
    else:
        for i in range(lo, hi):
            total[y[rows[i]]] += weight[rows[i]]
    classes = 0
    for c in range(total.size):
        classes += total[c] > 0
    return classes < 2


@jit
def sum_targets(rows: Any, lo: Any, hi: Any, y: Any, weight: Any, total: Any) -> Any:
    """Weight and weighted sum into ``total``; returns whether all targets are equal."""
    total[:] = 0
    pure = True
    for i in range(lo, hi):
        r = rows[i]
        total[0] += weight[r]
        total[1] += np.int64(weight[r]) * np.int64(y[r])
        pure &= y[r] == y[rows[lo]]
    return pure


@jit
def sum_sizes(rows: Any, lo: Any, hi: Any, counts: Any, multiplicity: Any) -> Any:
    size = np.int64(0)
    for i in range(lo, hi):
        size += np.int64(counts[rows[i]]) * multiplicity[rows[i]]
    return size


@inlined
def sum_up(node: Any, target: Any, weight: Any, counts: Any) -> Any:
    """The node's statistics into ``node.total``; returns its size and whether all targets are equal."""
    if target.n_classes == 0:
        pure = sum_targets(node.rows, node.lo, node.hi, target.y, weight, node.total)
    else:
        pure = sum_classes(node.rows, node.lo, node.hi, target.y, weight, node.total)
    if target.weights_are_sizes:
        size = weight_of(node.total, SQUARED_ERROR if target.n_classes == 0 else ENTROPY)
    else:
        size = sum_sizes(node.rows, node.lo, node.hi, counts, target.multiplicity)
    return size, pure


@jit
def weigh_bag(counts: Any, row_weight: Any, weight: Any, drawn: Any) -> Any:
    """The weight of every row in this bootstrap, and the rows that have one; returns their number and total weight."""
    n, total = 0, np.int64(0)
    for r in range(counts.size):
        w = np.int64(counts[r]) * row_weight[r]
        total += w
        weight[r] = w
        drawn[n] = r
        n += w > 0
    return n, total


@inlined
def push(bag: Any, top: Any, frame: Any) -> Any:
    row = bag.stack[top]
    row[0], row[1], row[2], row[3] = frame.lo, frame.hi, frame.q_lo, frame.q_hi
    row[4], row[5], row[6], row[7], row[8] = frame.depth, frame.parent, frame.words, frame.listed, frame.slot
    bag.keys[top] = frame.key
    return top + 1


@inlined
def pop(bag: Any, top: Any) -> Any:
    row = bag.stack[top]
    return Frame(row[0], row[1], row[2], row[3], row[4], row[5], row[6], row[7], row[8], bag.keys[top])


@inlined
def enter(bag: Any, small: Any, frame: Any) -> Any:
    """The node of a frame: its rows are those of ``bag.rows`` or, inside a block, those of its lists."""
    rows, lo, none = bag.rows, frame.lo, np.int64(0)
    if bag.block[0] <= frame.lo < bag.block[1]:
        unordered, row, start = small.unordered, small.row, bag.block[0]
        rows, lo = bag.spare, none
        for i in range(frame.lo, frame.hi):
            rows[i - frame.lo] = row[unordered[i - start]]
    return Node(rows, lo, lo + frame.hi - frame.lo, bag.total, none, none, bag.least[0], False, frame.key)


@inlined
def measured(node: Any, rules: Any, criterion: Any, f: Any) -> Any:
    """A node that is not a leaf, with what it weighs; of regression, targets are about their mean, rounded down."""
    shift = np.int64(0)
    if criterion == SQUARED_ERROR:
        shift = node.total[1] // node.total[0]
        node.total[1] -= shift * node.total[0]
    weight = weight_of(node.total, rules.criterion)
    two = rules.criterion == ENTROPY and node.total.size == 2 and weight < f.size and node.least == 0.0
    return Node(node.rows, node.lo, node.hi, node.total, weight, shift, node.least, two, node.key)


@inlined
def place_in_block(node: Any, target: Any, search: Any, small: Any, block: Any, frame: Any, keeps_lists: Any) -> Any:
    """Where a small node begins in the lists, those of a new block if it is in none."""
    if block[0] <= frame.lo < block[1]:
        small.listed[0] = frame.listed
    else:
        open_block(node, target, search, small)
        if keeps_lists:
            block[0], block[1] = frame.lo, frame.hi
    return frame.lo - block[0] if keeps_lists else np.int64(0)


@inlined
def part(codes: Any, columns: Any, small: Any, bag: Any, frame: Any, condition: Any, want_right: Any) -> Any:
    """Part the training rows of a node; returns the middle."""
    start = bag.block[0]
    if start <= frame.lo < bag.block[1]:
        lo, hi = frame.lo - start, frame.hi - start
        return start + part_lists(small, lo, hi, columns, codes, condition, bag.member)
    return part_rows(bag.rows, frame.lo, frame.hi, bag.spare, codes, condition, bag.member, want_right)


@inlined
def has_histograms(bag: Any, frame: Any) -> Any:
    """Are a node's histograms kept for its children? The next ones may be needed for a child of its own."""
    return frame.hi - frame.lo > LEAST_ROWS and frame.slot // 2 + 1 < bag.histograms.shape[0]


@inlined
def words_below(algorithm: Any, frame: Any, bag_rows: Any, kept: Any) -> Any:
    """Row indices that the listing holds once it has entered a child of ``kept`` rows."""
    rows = frame.hi - frame.lo
    if algorithm == EAGER:
        return frame.words + rows  # both sides are held until both are grown
    if algorithm == LAZY:
        return bag_rows + (rows if frame.depth > 0 else 0) + kept  # the bag, the rows before and after the filter
    return frame.words + (frame.q_hi - frame.q_lo) + kept


@inlined
def go_down(
    table: Any,
    target: Any,
    algorithm: Any,
    X: Any,
    search: Any,
    small: Any,
    bag: Any,
    frame: Any,
    condition: Any,
    at: Any,
    top: Any,
) -> Any:
    """Part queries, then rows, and push the sides that are wanted, the invalid one on top."""
    q_mid = part_queries(bag.queries, frame.q_lo, frame.q_hi, bag.spare_queries, X, condition, bag.member)
    both, bag_rows = algorithm == EAGER, bag.size[0]
    want_left, want_right = both or q_mid > frame.q_lo, both or frame.q_hi > q_mid
    mid = part(table.codes[condition.column], search.columns, small, bag, frame, condition, want_right)
    parent, depth, listed = 2 * at, frame.depth + 1, small.listed[0]
    slot = frame.slot // 2
    left_slot, right_slot = 2 * (slot + np.int64(want_right)), 2 * slot
    if has_histograms(bag, frame):
        left_ready, right_ready = hand_down(
            bag.histograms,
            slot,
            search.n_bins,
            bag.rows,
            bag.spare,
            frame.lo,
            mid,
            frame.hi,
            target.y,
            search.weight,
            table.coarse,
            want_left,
            want_right,
        )
        left_slot, right_slot = left_slot + left_ready, right_slot + right_ready
    if want_right:
        words = words_below(algorithm, frame, bag_rows, frame.hi - mid)
        key = mix(frame.key, CHILD + np.uint64(1))
        top = push(bag, top, Frame(mid, frame.hi, q_mid, frame.q_hi, depth, parent + 1, words, listed, right_slot, key))
    if want_left:
        words = words_below(algorithm, frame, bag_rows, mid - frame.lo)
        key = mix(frame.key, CHILD)
        top = push(bag, top, Frame(frame.lo, mid, frame.q_lo, q_mid, depth, parent, words, listed, left_slot, key))
    return top


@inlined
def start(algorithm: Any, bag: Any, key: Any, group: Any) -> Any:
    """Put the root on the stack: for all queries, for one (lazy), for none (eager)."""
    n, queries = bag.size[0], bag.queries.size
    copy(bag.drawn, bag.rows, n)
    bag.block[0] = bag.block[1] = 0
    q_lo, q_hi = (group, group + 1) if algorithm == LAZY else (0, queries if algorithm == BATCHED else 0)
    words = n + (queries if algorithm == BATCHED else 0)
    return push(bag, 0, Frame(0, n, q_lo, q_hi, 0, -1, words, 0, 0, key))


@inlined
def start_below(handed: Any, k: Any, bag: Any, weight: Any) -> Any:
    """Put a node that was handed over on the stack."""
    n = take_handed(handed.weight, k, bag.rows, weight)
    bag.size[0] = handed.bag[k]
    bag.block[0] = bag.block[1] = 0
    return push(bag, 0, Frame(0, n, 0, 1, handed.depth[k], -1, handed.words[k], 0, 0, handed.keys[k]))


@jit
def take_handed(weights: Any, k: Any, rows: Any, weight: Any) -> Any:
    """The rows of a node, and what they weigh; returns how many."""
    n = 0
    for r in range(weights.shape[0]):
        rows[n], weight[r] = r, weights[r, k]
        n += weights[r, k] > 0
    return n


@inlined
def begin_tree(
    target: Any,
    rules: Any,
    criterion: Any,
    X: Any,
    f: Any,
    weight: Any,
    bag: Any,
    handed: Any,
    first: Any,
    turn: Any,
    groups: Any,
) -> Any:
    """Put a tree's first node on the stack: 1, or 0 if nobody wants it, or -1 if only ``in_general`` can explore it.

    A tree takes so many turns in a row: with the lazy algorithm as many as there are queries.
    """
    queries, tree, group = bag.queries, first + turn // groups, turn % groups
    if handed.wanted.size > 0:
        queries[0], bag.least[0] = 0, 0.0
        return start_below(handed, turn, bag, weight) if handed.wanted[turn] else 0
    if group == 0:
        draw_counts(rules.seed, tree, rules.bootstrap, target.row_ids, bag.counts)
        bag.size[0], total = weigh_bag(bag.counts, target.weight, weight, bag.drawn)
        if criterion is None and total >= f.size:
            return -1
        bag.least[0] = rules.min_weight_fraction_leaf * float(total)
        for q in range(X.shape[0]):
            queries[q] = q
    return start(rules.algorithm, bag, root_key(rules.seed, tree), group)


@entry_inlined
def explore_trees(
    table: Any,
    target: Any,
    rules: Any,
    X: Any,
    search: Any,
    small: Any,
    bag: Any,
    handed: Any,
    criterion: Any,
    first: Any,
    last: Any,
    top: Any,
    votes: Any,
    record: Any,
) -> Any:
    """Open the ``top`` nodes on the stack and those below that are needed, then those of the trees first to last; add
    the votes that their leaves cast and, where the record has room, note every node.

    Returns where it ends: before ``last`` at a bag that only a task ``in_general`` can explore.
    """
    algorithm, costs, member, vote, weight = rules.algorithm, bag.costs, bag.member, bag.vote, search.weight
    queries, recording, groups = bag.queries, record.keys.size > 0, max(X.shape[0], 1) if algorithm == LAZY else 1
    turn, keeps_lists = -1, small.lists.shape[0] == table.codes.shape[0]
    while True:
        if top == 0:
            turn += 1
            if turn == (last - first) * groups:
                return last
            top = begin_tree(target, rules, criterion, X, search.f, weight, bag, handed, first, turn, groups)
            if top < 0:
                return first + turn // groups
            continue
        top -= 1
        frame = pop(bag, top)
        node = enter(bag, small, frame)
        size, pure = sum_up(node, target, weight, bag.counts)
        cast(node.total, rules, vote)
        at = record.used[USED_NODES]
        if recording:
            note_node(record, frame.parent, frame.hi - frame.lo, node.total, frame.key)
        costs[NODES] += 1
        costs[STACK_WORDS] = max(costs[STACK_WORDS], frame.words)
        best = Best(0.0, -1, 0, 0, False, False, NUMBER)
        if frame.depth < rules.max_depth and size >= rules.min_samples_split and not pure:
            costs[ROWS_SCANNED] += frame.hi - frame.lo
            filled = has_histograms(bag, frame)
            if filled:
                prepare(
                    node.rows,
                    node.lo,
                    node.hi,
                    target.y,
                    weight,
                    table.coarse,
                    table.first_code,
                    search.columns,
                    search.n_bins,
                    bag.histograms[frame.slot // 2],
                    frame.slot % 2 == 1,
                    search.histogram,
                )
            node = measured(node, rules, criterion, search.f)
            if frame.hi - frame.lo > BLOCK:
                best = search_large(node, table, target, search, rules, criterion, filled)
            else:
                start = place_in_block(node, target, search, small, bag.block, frame, keeps_lists)
                end = start + frame.hi - frame.lo
                best = search_small(node, table, search, small, rules, criterion, keeps_lists, start, end)
        if best.column < 0:
            add_votes(votes, queries, frame.q_lo, frame.q_hi, vote)
            if recording:
                note_leaf(record, at, vote)
            continue
        n_members, members, threshold = max(best.n_members, 0), search.members, threshold_of(table, best)
        condition = settle(node.total, threshold, best, members, search.best_left, member, rules.criterion)
        if recording:
            note_condition(record, at, condition, n_members, member, table.first_code[condition.column, BINS])
        top = go_down(table, target, algorithm, X, search, small, bag, frame, condition, at, top)
        for p in range(n_members):
            member[members[p]] = False


@jit
def add_votes(votes: Any, queries: Any, lo: Any, hi: Any, vote: Any) -> None:
    for i in range(lo, hi):
        for c in range(vote.size):
            votes[queries[i], c] += vote[c]


def explore_into(task: Task, trees: range, votes: Array, record: Record) -> None:
    """``explore_trees``, whatever their bags weigh."""
    end = explore_trees(*task, trees.start, trees.stop, 0, votes, record)
    if end < trees.stop:
        explore_trees(*in_general(task), end, trees.stop, 0, votes, record)


def explore_silently(task: Task, trees: range, votes: Array) -> None:
    explore_into(task, trees, votes, new_record(task.bag.vote.size))


def explore_recording(task: Task, tree: int, votes: Array, room: list[int]) -> Record:
    """Explore one tree and keep every node. ``room``, for nodes and members, grows until the record fits."""
    while True:
        costs, before = task.bag.costs.copy(), votes.copy()
        record = new_record(task.bag.vote.size, *room)
        explore_into(task, range(tree, tree + 1), votes, record)
        if record.used[USED_NODES] <= room[0] and record.used[USED_MEMBERS] <= room[1]:
            return trimmed(record)
        room[:] = [max(2 * int(used), most) for used, most in zip(record.used[:2], room, strict=True)]
        task.bag.costs[:], votes[:] = costs, before


def new_room() -> list[int]:
    return [256, 256]
