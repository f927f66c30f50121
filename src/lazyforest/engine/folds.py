"""The exploration in which a query may not look at its own fold.

Queries travel together until leaving out their own folds makes their best conditions differ. A group of several folds
holds all rows that meet its conditions; each of its queries looks at them without those of its own fold. A group of a
single fold holds only the rows that it may look at, so it is explored like any other from there on.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lazyforest.engine.bins import fill_histogram, search_large
from lazyforest.engine.bootstrap import draw_counts, root_key
from lazyforest.engine.candidates import Candidates, new_candidates
from lazyforest.engine.exploration import (
    Frame,
    Task,
    cast,
    explore_trees,
    measured,
    place_in_block,
    push,
    sum_up,
    weigh_bag,
)
from lazyforest.engine.forks import (
    copy_others,
    go_down_apart,
    go_on_by_fold,
    push_group,
    single_fold,
    sort_by_group,
    span_of,
    swap_with_end,
)
from lazyforest.engine.groups import (
    ALIKE,
    BY_FOLD,
    COLUMN,
    CONDITION,
    DEPTH,
    FULL,
    HELD,
    HI,
    IS_SET,
    KIND,
    LO,
    NOT_DRAWN,
    PRESENT,
    Q_HI,
    Q_LO,
    ROOM,
    SEVERAL,
    SINGLE,
    SIZE,
    TOP,
    UNKIND,
    VISIT,
    Folds,
    are_equal,
    is_here,
    is_valid_query,
    join,
    kind_of,
    new_folds,
    note,
)
from lazyforest.engine.layout import (
    BLOCK,
    FORKS,
    NODES,
    REFITS,
    ROWS_SCANNED,
    STACK_WORDS,
    Array,
    entry,
    frozen,
    inlined,
    jit,
)
from lazyforest.engine.left_out import decide_without_row, has_candidates, prepare
from lazyforest.engine.lists import Small, new_small, search_small
from lazyforest.engine.nodes import Node, copy
from lazyforest.engine.partition import settle, threshold_of
from lazyforest.engine.record import new_record
from lazyforest.engine.subtraction import copy_bins, take_out


@inlined
def count_folds(target: Any, search: Any, bag: Any, folds: Any, lo: Any, hi: Any) -> Any:
    """The rows of each fold at the node into its cell; returns the most rows and the largest size that a fold has."""
    rows, fold, cells, y, weight, counts = folds.rows, folds.fold, folds.cells, target.y, search.weight, bag.counts
    most, largest, multiplicity, classes = np.int64(0), np.int64(0), target.multiplicity, target.n_classes > 0
    for i in range(lo, hi):
        r = rows[i]
        f = fold[r]
        if f >= 0:
            cell, w = cells[f], np.int64(weight[r])
            cell[PRESENT] += 1
            cell[SIZE] += np.int64(counts[r]) * multiplicity[r]
            cell[ALIKE] += y[r] == y[rows[lo]]
            if classes:
                cell[HELD + np.int64(y[r])] += w
            else:
                cell[HELD] += w
                cell[HELD + 1] += w * np.int64(y[r])
            most, largest = max(most, cell[PRESENT]), max(largest, cell[SIZE])
    return most, largest


@inlined
def forget_folds(folds: Any, lo: Any, hi: Any) -> None:
    rows, fold, cells, previous = folds.rows, folds.fold, folds.cells, -1
    for i in range(lo, hi):
        if fold[rows[i]] != previous:
            previous = fold[rows[i]]
            forget(cells[previous])


@jit
def forget(cell: Any) -> None:
    cell[PRESENT] = cell[SIZE] = cell[ALIKE] = 0
    for c in range(HELD, cell.size):
        cell[c] = 0


@inlined
def keep_lone_rows(target: Any, search: Any, bag: Any, folds: Any, n: Any) -> Any:
    """The cells of folds of one row, which stay the same throughout a tree, but for ALIKE, which says nothing here.

    Returns the largest size of a row.
    """
    cells, kind, row = folds.cells, folds.kind, folds.row
    for f in range(cells.shape[0]):
        forget(cells[f])
        kind[f] = NOT_DRAWN
    _, largest = count_folds(target, search, bag, folds, np.int64(0), n)
    for i in range(n):
        f = folds.fold[folds.rows[i]]
        if f >= 0:
            kind[f] = kind_of(cells[f]) if target.n_classes == 2 else np.int64(UNKIND)
            row[f] = folds.rows[i]
    return largest


@inlined
def see_rows(folds: Any, lo: Any, hi: Any) -> None:
    """Note which rows are at the node: all that changes about folds of one row."""
    rows, seen, visit = folds.rows, folds.seen, np.uint32(folds.place[VISIT])
    for i in range(lo, hi):
        seen[rows[i]] = visit


@inlined
def is_pure_without(folds: Any, f: Any, lo: Any, hi: Any, y: Any, alike: Any) -> Any:
    """Do all rows but those of a fold have the same target? ``alike`` rows have that of the first."""
    rows, fold, cell = folds.rows, folds.fold, folds.cells[f]
    own, own_alike = cell[PRESENT], cell[ALIKE]
    if not is_here(folds, f):
        own, own_alike = np.int64(0), np.int64(0)
    elif folds.lone:
        own_alike = np.int64(y[folds.row[f]] == y[rows[lo]])
    like_first, others = alike - own_alike, (hi - lo - alike) - (own - own_alike)
    if like_first > 0 or others == 0:
        return others == 0
    first = -1
    for i in range(lo, hi):
        if fold[rows[i]] != f:
            if first < 0:
                first = i
            if y[rows[i]] != y[rows[first]]:
                return False
    return True


@inlined
def retire(
    target: Any, rules: Any, folds: Any, bag: Any, frame: Any, size: Any, most: Any, largest: Any, votes: Any
) -> Any:
    """Queries whose node is a leaf vote and leave; returns where the others end."""
    lo, hi, queries, y = frame[LO], frame[HI], bag.queries, target.y
    alike, kept, deep = 0, frame[Q_LO], frame[DEPTH] >= rules.max_depth
    for i in range(lo, hi):
        alike += y[folds.rows[i]] == y[folds.rows[lo]]
    if not deep and size - largest >= rules.min_samples_split and most < min(alike, hi - lo - alike):
        return frame[Q_HI]  # no fold has so many rows that without them it would be a leaf
    f, leaf = np.int64(-1), False
    for i in range(frame[Q_LO], frame[Q_HI]):
        q = queries[i]
        if folds.own[q] != f:  # the first query of its fold
            f = np.int64(folds.own[q])
            own = folds.cells[f, SIZE] if is_here(folds, f) else np.int64(0)
            leaf = deep or size - own < rules.min_samples_split or is_pure_without(folds, f, lo, hi, y, alike)
        if leaf:
            vote_without(folds, f, rules, bag.vote, votes, q)
        else:
            queries[i], queries[kept] = queries[kept], q
            kept += 1
    return kept


@inlined
def vote_without(folds: Any, f: Any, rules: Any, vote: Any, votes: Any, q: Any) -> None:
    copy(folds.total, folds.rest, folds.rest.size)
    if is_here(folds, f):
        for c in range(folds.rest.size):
            folds.rest[c] -= folds.cells[f, HELD + c]
    cast(folds.rest, rules, vote)
    for c in range(vote.size):
        votes[q, c] += vote[c]


@jit
def search_rows(
    table: Any,
    target: Any,
    rules: Any,
    criterion: Any,
    search: Any,
    folds: Any,
    small: Any,
    filled: Any,
    lo: Any,
    hi: Any,
    key: Any,
) -> Any:
    """The best condition of folds.rows[lo:hi], whose statistics are ``folds.rest``; are their histograms filled?"""
    none = np.int64(0)
    node = Node(folds.rows, lo, hi, folds.rest, none, none, 0.0, False, key)
    folds.block[0] = folds.block[1] = 0
    node = measured(node, rules, criterion, search.f)
    if hi - lo > BLOCK:
        return search_large(node, table, target, search, rules, criterion, filled)
    keeps_lists = small.lists.shape[0] == table.codes.shape[0]
    frame = Frame(lo, hi, 0, 0, 0, 0, 0, 0, 0, key)
    start = place_in_block(node, target, search, small, folds.block, frame, keeps_lists)
    return search_small(node, table, search, small, rules, criterion, keeps_lists, start, start + hi - lo)


@inlined
def decide(
    table: Any,
    target: Any,
    rules: Any,
    criterion: Any,
    search: Any,
    bag: Any,
    folds: Any,
    small: Any,
    f: Any,
    filled: Any,
    lo: Any,
    hi: Any,
    end: Any,
    key: Any,
) -> Any:
    """Find the condition of a fold's queries, the best one on rows[lo:hi]; rows[hi:end] are the fold's."""
    copy(folds.total, folds.rest, folds.rest.size)
    if hi < end:
        for c in range(folds.rest.size):
            folds.rest[c] -= folds.cells[f, HELD + c]
    if filled:
        copy_bins(folds.histogram, search.n_bins, search.histogram)
        take_out(search.histogram, folds.rows, hi, end, target.y, search.weight, table.coarse)
    else:
        bag.costs[ROWS_SCANNED] += hi - lo
    best = search_rows(table, target, rules, criterion, search, folds, small, filled, lo, hi, key)
    folds.apply[f, COLUMN] = best.column
    if best.column >= 0:
        threshold, left, member = threshold_of(table, best), search.best_left, bag.member
        condition = settle(folds.rest, threshold, best, search.members, left, member, rules.criterion)
        for p in range(best.n_members):
            bag.member[search.members[p]] = False
        note(folds, f, best, condition, search.members)
    return best


@inlined
def find_group(folds: Any, f: Any, count: Any) -> Any:
    """The group whose condition is the fold's, or ``count``."""
    apply, bits = folds.apply[f], folds.apply_set[f]
    for g in range(count):
        q = folds.groups[g]
        chosen, members = folds.chosen[q], folds.chosen_set[q]
        same = True
        for k in range(CONDITION):
            same &= chosen[k] == apply[k]
        if same and (not apply[IS_SET] or are_equal(members, bits)):
            return g
    return count


@inlined
def choose_for_all(
    table: Any,
    target: Any,
    rules: Any,
    criterion: Any,
    X: Any,
    search: Any,
    bag: Any,
    folds: Any,
    listed: Any,
    unlisted: Any,
    found: Any,
    frame: Any,
    key: Any,
    votes: Any,
) -> Any:
    """Every query gets the condition of its fold, or votes if there is none; returns where the others end."""
    lo, hi, queries, own, cells, apply = frame[LO], frame[HI], bag.queries, folds.own, folds.cells, folds.apply
    common = cells.shape[0] - 1
    filled = not folds.lone
    if filled:
        fill_histogram(
            folds.rows,
            lo,
            hi,
            np.int64(0),
            target.y,
            search.weight,
            table.coarse,
            table.first_code,
            search.columns,
            None,
            search.n_bins,
            folds.histogram,
        )
        bag.costs[ROWS_SCANNED] += hi - lo
    shared = decide(table, target, rules, criterion, search, bag, folds, listed, common, filled, lo, hi, hi, key)
    fast = folds.lone and prepare(table, target, rules, search, folds, listed, found, queries, frame, shared)
    count, kept, usual, scanned = np.int64(0), frame[Q_LO], np.int64(-1), np.int64(0)
    previous, f, group = np.int64(-1), np.int64(-1), np.int64(-1)
    for i in range(frame[Q_LO], frame[Q_HI]):
        q = queries[i]
        if own[q] != previous:  # the first query of its fold
            previous = f = np.int64(own[q])
            here = is_here(folds, f)
            scanned += hi - lo - (here if folds.lone else cells[f, PRESENT])  # cells of lone rows are far apart
            if not here:
                f = common
            elif fast and has_candidates(table, search, folds, found, f):
                f = decide_without_row(table, search, folds, found, f, X[q], lo, hi, shared)
            else:
                start, stop = span_of(folds, f, lo, hi)
                end = hi - (stop - start)
                swap_with_end(folds.rows, start, stop, hi)
                best = decide(
                    table, target, rules, criterion, search, bag, folds, unlisted, f, filled, lo, end, hi, key
                )
                if best.column >= 0 and apply[common, COLUMN] >= 0:
                    join(folds, f, common, best, folds.rows, lo, end, table.codes[best.column])
                swap_with_end(folds.rows, start, stop, hi)
            group = usual if f == common else np.int64(-1)
            if group < 0 and apply[f, COLUMN] >= 0:
                group = find_group(folds, f, count)
                if group == count:
                    open_group(folds, f, q, count)
                    count += 1
                if f == common:
                    usual = group
        if group < 0:
            vote_without(folds, previous, rules, bag.vote, votes, q)
            continue
        folds.group[q] = group
        folds.routed[q] = f
        queries[i], queries[kept] = queries[kept], q
        kept += 1
    route_queries(folds, queries, frame[Q_LO], kept, X, common)
    bag.costs[REFITS] += scanned
    bag.costs[FORKS] += max(count - 1, 0)
    if count > 1:
        sort_by_group(folds, queries, bag.spare_queries, frame[Q_LO], kept, count)
    return kept


@inlined
def route_queries(folds: Any, queries: Any, lo: Any, hi: Any, X: Any, common: Any) -> None:
    """The side that each query goes to: in a loop of its own, so that the processor waits for many values at once."""
    routed, valid, route, route_set, threshold = (
        folds.routed,
        folds.valid,
        folds.route,
        folds.route_set,
        folds.threshold,
    )
    usual, usual_set, usual_threshold = route[common], route_set[common], threshold[common]
    usual_column = max(usual[COLUMN], 0)
    last, own, own_set, own_threshold, own_column = common, usual, usual_set, usual_threshold, usual_column
    for i in range(lo, hi):
        q = queries[i]
        f = routed[q]
        if f == common:
            valid[q] = is_valid_query(usual, usual_set, usual_threshold, X[q, usual_column])
            continue
        if f != last:
            last, own, own_set, own_threshold, own_column = f, route[f], route_set[f], threshold[f], route[f, COLUMN]
        valid[q] = is_valid_query(own, own_set, own_threshold, X[q, own_column])


@inlined
def open_group(folds: Any, f: Any, q: Any, count: Any) -> None:
    """A new group, by the condition of a fold; q stays its first query."""
    folds.groups[count] = q
    copy(folds.apply[f], folds.chosen[q], CONDITION)
    copy(folds.apply_set[f], folds.chosen_set[q], folds.apply_set.shape[1])


@entry
def explore_trees_without(
    table: Any,
    target: Any,
    rules: Any,
    transposed: Any,
    search: Any,
    small: Any,
    bag: Any,
    handed: Any,
    folds: Any,
    listed: Any,
    unlisted: Any,
    found: Any,
    criterion: Any,
    tree: Any,
    votes: Any,
    record: Any,
) -> Any:
    """Explore a tree for queries that may not look at their own folds; add their votes.

    The search of a group has lists of its own, that of a fold has none. ``found`` are candidates of a group's node.

    Returns whether it is done: not where only a task ``in_general`` can explore its bag.

    ``transposed`` has a row per column: a group of queries looks at one column, which stays in the processor's cache.
    """
    X, costs, none = transposed.T, bag.costs, np.int64(0)
    draw_counts(rules.seed, tree, rules.bootstrap, target.row_ids, bag.counts)
    n, total = weigh_bag(bag.counts, target.weight, search.weight, bag.drawn)
    if criterion is None and total >= search.f.size:
        return False
    copy(bag.drawn, folds.rows, n)
    for q in range(X.shape[0]):
        bag.queries[q] = q
    bag.least[0], bag.size[0] = 0.0, n
    folds.place[TOP], folds.place[FULL] = n, 0
    f = single_fold(folds, bag.queries, 0, X.shape[0])
    if f >= 0:
        n = copy_others(folds, f, none, n, none)
    kind = SINGLE if f >= 0 else SEVERAL
    most, largest = np.int64(0), np.int64(0)
    if folds.lone and kind == SEVERAL:
        most, largest = np.int64(1), keep_lone_rows(target, search, bag, folds, n)
    top = push_group(folds, 0, none, n, none, X.shape[0], none, kind, root_key(rules.seed, tree))
    while top > 0 and folds.place[FULL] == 0:
        top -= 1
        frame, key = folds.stack[top], folds.keys[top]
        lo, hi, q_lo, q_hi, depth = frame[LO], frame[HI], frame[Q_LO], frame[Q_HI], frame[DEPTH]
        folds.place[TOP] = frame[ROOM]
        costs[STACK_WORDS] = max(costs[STACK_WORDS], folds.place[TOP] + X.shape[0])
        if frame[KIND] == SINGLE:
            bag.block[0] = bag.block[1] = 0
            before = costs[ROWS_SCANNED]
            below = push(bag, 0, Frame(lo, hi, q_lo, q_hi, depth, -1, hi - lo, 0, 0, key))
            explore_trees(
                table, target, rules, X, search, small, bag, handed, criterion, none, none, below, votes, record
            )
            costs[REFITS] += costs[ROWS_SCANNED] - before
            continue
        if frame[KIND] == BY_FOLD:
            top = go_on_by_fold(folds, bag, frame, key, top)
            continue
        if frame[KIND] == SEVERAL:
            if not folds.lone and (hi - lo < folds.least_rows or folds.histogram.shape[0] == 0):
                top = push_group(folds, top, lo, hi, q_lo, q_hi, depth, BY_FOLD, key)
                continue
            costs[NODES] += 1
            folds.place[VISIT] += 1
            size = sum_rows(target, search, bag, folds, lo, hi)
            if folds.lone:
                see_rows(folds, lo, hi)
            else:
                most, largest = count_folds(target, search, bag, folds, lo, hi)
            frame[Q_HI] = retire(target, rules, folds, bag, frame, size, most, largest, votes)
            if frame[Q_HI] > q_lo:
                frame[Q_HI] = choose_for_all(
                    table, target, rules, criterion, X, search, bag, folds, listed, unlisted, found, frame, key, votes
                )
            if not folds.lone:
                forget_folds(folds, lo, hi)
        if frame[Q_HI] > q_lo and folds.place[FULL] == 0:
            top = go_down_apart(table, folds, bag, frame, key, top)
    return True


@inlined
def sum_rows(target: Any, search: Any, bag: Any, folds: Any, lo: Any, hi: Any) -> Any:
    """Statistics of the group's rows; returns their size."""
    none = np.int64(0)
    node = Node(folds.rows, lo, hi, folds.total, none, none, 0.0, False, np.uint64(0))
    size, _ = sum_up(node, target, search.weight, bag.counts)
    return size


class Buffers(NamedTuple):
    """What the exploration needs beyond a task."""

    folds: Folds
    listed: Small  # for the search of a group
    unlisted: Small  # for that of a fold, which keeps no lists
    found: Candidates


def new_buffers(task: Task, folds: Array, own: Array, room: int) -> Buffers:
    table, target, weight, groups = task.table, task.target, task.search.weight, new_folds(task, folds, own, room)
    listed, unlisted = (new_small(table, target, weight, lists) for lists in (True, False))
    return Buffers(groups, listed, unlisted, new_candidates(table, groups.lone))


def explore_without(task: Task, folds: Array, own: Array, trees: range, votes: Array, room: list[int]) -> Buffers:
    """Explore some trees. Rows and queries are in the order of their folds; ``room`` for rows grows until they fit."""
    buffers = new_buffers(task, folds, own, room[0])
    record = new_record(task.bag.vote.size)
    table, target, rules, X, search, small = task[:6]
    transposed = frozen(np.ascontiguousarray(X.T))  # of one column it is a view of X, which is read-only
    for tree in trees:
        while True:
            costs, before, rows = task.bag.costs.copy(), votes.copy(), buffers.folds.rows
            given = table, target, rules, transposed, search, small, task.bag._replace(rows=rows), task.handed, *buffers
            if not explore_trees_without(*given, task.criterion, tree, votes, record):
                explore_trees_without(*given, rules.criterion, tree, votes, record)
            if not buffers.folds.place[FULL]:
                break
            room[0] = 2 * len(rows)
            buffers = new_buffers(task, folds, own, room[0])
            task.bag.costs[:], votes[:] = costs, before
    return buffers
