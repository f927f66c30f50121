"""Bootstraps side by side: the upper nodes on one query's path, in all trees at once.

At the root every tree looks at the same rows, and further down the trees still look at much the same ones, for they
follow the same query. So a row's counts in all trees (lanes) lie side by side and are added to histograms in one go:
ten to fifteen times cheaper than tree by tree. Lanes whose nodes have become small are done; once all are, a table of
the rows that are left is handed over to the exploration of single trees.

For two classes by entropy and all columns; other forests do without.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lazyforest.engine.bootstrap import BAG, CHILD, mix, root_key
from lazyforest.engine.encoding import sortable
from lazyforest.engine.exploration import Handed, Task, cast
from lazyforest.engine.lane_histograms import (
    accumulate,
    fill_groups,
    fill_lanes,
    join_codes,
    join_members,
    list_inside,
    pays_by_rows,
    sum_groups,
    sums_are_kept,
)
from lazyforest.engine.lane_layout import (
    DONE,
    GONE,
    LOST_ROWS,
    ME,
    NOT_LISTED,
    ROUGH_PAYS,
    ROUGHLY,
    SMALL,
    SORTED,
    WALKING,
    WORTH,
    Lanes,
    Team,
)
from lazyforest.engine.lane_rows import draw_rows, keep_rows
from lazyforest.engine.lane_search import bound_lanes, bound_sets, raise_reach, recall, search_lane
from lazyforest.engine.layout import (
    BINS,
    LAZY,
    MIN_GAIN,
    NODES,
    ROWS_SCANNED,
    STACK_WORDS,
    Array,
    entry,
    inlined,
    jit,
)
from lazyforest.engine.meeting import meet
from lazyforest.engine.partition import is_valid_code, is_valid_value, midpoint, settle


@inlined
def draw_lanes(target: Any, rules: Any, first: Any, last: Any, team: Any, lanes: Any) -> None:
    """The counts of a member's rows in the trees first to last."""
    me, keys = lanes.place[ME], lanes.roots
    for lane in range(keys.size):
        keys[lane] = mix(mix(rules.seed, np.uint64(first + lane)), BAG)
    team.counts[me] = draw_rows(
        rules.bootstrap,
        target.row_ids,
        target.weight,
        last - first,
        keys,
        lanes.draws,
        team.rows,
        team.first_row[me],
        team.first_row[me + 1],
        team.weight,
        lanes.tally,
        lanes.sums,
        team.held[me],
        team.heavy[me],
    )


@inlined
def begin_lanes(rules: Any, f: Any, first: Any, last: Any, team: Any, lanes: Any) -> None:
    """A member's lanes are at the roots of their trees."""
    most, light = min(f.size, 1 << (8 * lanes.histogram.itemsize)), True
    for lane in range(last - first):  # one that is too heavy would be counted beside the others: none walks then
        heavy = np.int64(0)
        for member in range(team.heavy.shape[0]):
            heavy += team.heavy[member, lane]
        light &= heavy < most
    sum_held(team, lanes)
    for lane in range(lanes.keys.size):
        tree = first + team.first_lane[lanes.place[ME]] + lane
        lanes.keys[lane] = root_key(rules.seed, tree)
        lanes.state[lane] = GONE if tree >= last else WALKING if light else DONE
        lanes.depth[lane], lanes.bag[lane] = 0, lanes.held[lane]
        lanes.words[lane] = lanes.held[lane] + (1 if rules.algorithm != LAZY else 0)
    stop_small_lanes(team, lanes)


@inlined
def sum_held(team: Any, lanes: Any) -> None:
    """How many rows each lane of a member has, of those of all members."""
    from_lane = team.first_lane[lanes.place[ME]]
    for lane in range(lanes.held.size):
        lanes.held[lane] = 0
        for member in range(team.held.shape[0]):
            lanes.held[lane] += team.held[member, from_lane + lane]


@inlined
def choose_in_lanes(
    table: Any, target: Any, rules: Any, search: Any, bag: Any, team: Any, lanes: Any, votes: Any
) -> None:
    """The best condition of every walking lane, in ``lanes.best``."""
    m, slots, members = search.columns.size, lanes.histogram.shape[0], team.counts.size
    lanes.place[SORTED], group, wanted, n_rough = -1, np.int64(0), np.int64(0), np.int64(0)
    for start in range(0, m, slots):
        columns, first_group = search.columns[start : min(m, start + slots)], group
        by_rows = pays_by_rows(table, team, lanes, columns)
        group = fill_lanes(table, target, team, lanes, columns, first_group, start, by_rows)
        if by_rows:
            meet(team.signals, members)
        join_members(table, team, lanes, columns, start, by_rows)
        if start == 0:
            begin_search(rules, search.f, bag, lanes, votes)
        # edges of groups of numbers, sets, cuts of numbers: these last, for a set that ties with a higher column
        for turn in range(3):
            if turn == 2:
                here = find_wanted(search.f, team, lanes, columns)
                n_rough += here
                if here > 0:
                    meet(team.signals, members)
                    wanted += fill_wanted_groups(table, target, team, lanes, columns)
            for slot in range(columns.size):
                if table.is_category[columns[slot]] == (turn == 1):
                    look_at_column(table, target, search, bag, team, lanes, columns[slot], slot, turn)
        if start + slots < m:
            meet(team.signals, members)
    if wanted * ROUGH_PAYS > n_rough * BINS:
        lanes.place[ROUGHLY] = 0


@inlined
def look_at_column(
    table: Any, target: Any, search: Any, bag: Any, team: Any, lanes: Any, j: Any, slot: Any, turn: Any
) -> None:
    """Score the edges of groups of bins (turn 0), or search the column in the lanes where it may win."""
    n_bins, f = min(table.first_code[j, BINS], BINS), search.f
    reach, total, may_win = lanes.reach, lanes.total, lanes.may_win
    sums, missing, edges = lanes.histogram[slot, :n_bins], lanes.missing[slot], lanes.edges[slot]
    if turn == 0:
        lanes.variants[slot] = 1 + accumulate(sums, missing, lanes.rough[slot])
        raise_reach(sums, missing, lanes.variants[slot], total, f, edges, reach)
        return
    if turn == 1:
        bound_sets(sums, total, f, reach, lanes.bounds, may_win)
    else:
        bound_lanes(sums, missing, lanes.variants[slot], total, f, edges, reach, may_win)
    for lane in range(may_win.size):
        if lanes.state[lane] == WALKING and may_win[lane]:
            search_lane(table, target, search, bag, team, lanes, lane, j, slot)


@inlined
def find_wanted(f: Any, team: Any, lanes: Any, columns: Any) -> Any:
    """The groups of rough columns' bins that may hold the best cut of some lane; returns the number of such columns."""
    wanted, n_rough = team.wanted[lanes.place[ME]], np.int64(0)
    for slot in range(columns.size):
        wanted[slot] = 0
        if lanes.rough[slot]:
            n_rough += 1
            bound_lanes(
                lanes.histogram[slot, :BINS],
                lanes.missing[slot],
                lanes.variants[slot],
                lanes.total,
                f,
                lanes.edges[slot],
                lanes.reach,
                lanes.may_win,
            )
            for lane in range(lanes.may_win.size):
                if lanes.state[lane] == WALKING:
                    wanted[slot] |= lanes.may_win[lane]
    return n_rough


@inlined
def fill_wanted_groups(table: Any, target: Any, team: Any, lanes: Any, columns: Any) -> Any:
    """The bins of rough columns in groups that some lane of the team wants; returns how many."""
    for slot in range(columns.size):
        lanes.wanted[slot] = 0
        for member in range(team.wanted.shape[0]):
            lanes.wanted[slot] |= team.wanted[member, slot]
    bins = list_inside(lanes.wanted, lanes.rough, lanes.inside, columns)
    if bins > 0:
        fill_groups(table, target, team, lanes, columns)
        meet(team.signals, team.counts.size)
        sum_groups(team, lanes, columns)
    return bins


@inlined
def begin_search(rules: Any, f: Any, bag: Any, lanes: Any, votes: Any) -> None:
    """What the condition of each lane has to beat; lanes that need none, for they are leaves, vote and are gone."""
    for lane in range(lanes.state.size):
        a, b = lanes.total[0, lane], lanes.total[1, lane]
        lanes.score[lane], lanes.best[lane, 0] = 0.0, -1
        if lanes.state[lane] == WALKING:
            lanes.score[lane] = (f[a] + f[b] - f[a + b]) + MIN_GAIN * float(a + b)
            if a == 0 or b == 0 or a + b < rules.min_samples_split or lanes.depth[lane] >= rules.max_depth:
                bag.total[0], bag.total[1] = a, b
                cast(bag.total, rules, bag.vote)
                votes[0, 0] += bag.vote[0]
                votes[0, 1] += bag.vote[1]
                bag.costs[NODES] += 1
                bag.costs[STACK_WORDS] = max(bag.costs[STACK_WORDS], lanes.words[lane])
                lanes.state[lane] = GONE
        lanes.reach[lane] = lanes.score[lane]


@inlined
def part_lanes(table: Any, rules: Any, X: Any, search: Any, bag: Any, team: Any, lanes: Any) -> None:
    """Every lane that has a condition goes to the query's side of it; the others are done."""
    state, best, me = lanes.state, lanes.best, lanes.place[ME]
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
    lanes.place[LOST_ROWS] = 0 if sums_are_kept(lanes) else NOT_LISTED
    list_lanes(state, team.first_lane[me], team.here[me])
    count = np.int64(0)
    for k in range(search.columns.size):
        count += find_kept(table, rules, X, search, bag, team, lanes, search.columns[k], count)
    team.n_parted[me] = count
    meet(team.signals, team.counts.size)
    keep_rows(table, team, lanes)
    meet(team.signals, team.counts.size)
    sum_held(team, lanes)
    for lane in range(state.size):
        if state[lane] == WALKING:
            lanes.words[lane] += lanes.held[lane]
    stop_small_lanes(team, lanes)


@jit
def list_lanes(state: Any, from_lane: Any, here: Any) -> None:
    """The lanes that are not gone, a bit each."""
    here[:] = 0
    for k in range(state.size):
        lane = from_lane + k
        here[lane // 64] |= np.uint64(state[k] != GONE) << np.uint64(lane % 64)


@inlined
def find_kept(table: Any, rules: Any, X: Any, search: Any, bag: Any, team: Any, lanes: Any, j: Any, k: Any) -> Any:
    """Which bins of column j each lane of a member keeps, as its k-th such column; returns whether it is one.

    A lane keeps the whole bin in which its cut lies: rows of such bins are told apart by their codes.
    """
    found, first_code, member, most = False, table.first_code[j], bag.member, ~np.uint64(0)
    n_bins, has_codes, me = min(first_code[BINS], BINS), lanes.numbers.size == 0, lanes.place[ME]
    for lane in range(lanes.state.size):
        if lanes.state[lane] != WALKING or lanes.best[lane, 0] != j:
            continue
        keep, border, at = team.keep[me, k], team.border[me, k], team.first_lane[me] + lane
        if not found:
            for b in range(n_bins):
                keep[b, 0], keep[b, 1], border[b] = most, most, False
            team.parted[me, k], found = j, True
        best = recall(lanes, lane)
        n_members = max(best.n_members, 0)
        for p in range(n_members):
            search.members[p] = lanes.members[lane, p]
        threshold = midpoint(lanes.near[lane, 0], lanes.near[lane, 1]) if best.lower > 0 else -np.inf
        total, left = lanes.total[:, lane], lanes.left[lane]
        condition = settle(total, threshold, best, search.members, left, member, rules.criterion)
        side = is_valid_value(condition, X[0, j], member)
        word, others = at // 64, ~(np.uint64(1) << np.uint64(at % 64))
        if condition.missing_is_valid != side:
            keep[0, word] &= others
        for b in range(1, n_bins):
            if not condition.is_set and first_code[b] < condition.cut < first_code[b + 1]:
                border[b] = True
            elif is_valid_code(condition, first_code[b], member) != side:
                keep[b, word] &= others
        team.column[at], team.lowest[at], team.width[at] = j, 0, most
        if not condition.is_set:
            cut = np.uint64(condition.cut) if has_codes else sortable(lanes.near.view(np.uint64)[lane, 1])
            team.lowest[at] = cut if side else np.uint64(1)
            team.width[at] = most - cut if side else cut - np.uint64(1)
        for p in range(n_members):
            member[search.members[p]] = False
        lanes.keys[lane] = mix(lanes.keys[lane], CHILD + np.uint64(side))
    return found


@inlined
def stop_small_lanes(team: Any, lanes: Any) -> None:
    """A member's lanes go on where nodes are large."""
    together = np.int64(0)
    for lane in range(lanes.state.size):
        if lanes.state[lane] == WALKING and lanes.held[lane] <= SMALL:
            lanes.state[lane] = DONE
        together += lanes.held[lane] if lanes.state[lane] == WALKING else 0
    team.together[lanes.place[ME]] = together


@inlined
def go_on_together(team: Any, lanes: Any) -> Any:
    """Do lanes of the team walk, and share most of their rows? If not, all are done."""
    together, n = np.int64(0), np.int64(0)
    for member in range(team.counts.size):
        together += team.together[member]
        n += team.counts[member]
    if together > 0 and together * WORTH >= n * team.weight.shape[1]:
        return True
    for lane in range(lanes.state.size):
        if lanes.state[lane] == WALKING:
            lanes.state[lane] = DONE
    return False


@entry
def walk_lanes(
    table: Any,
    target: Any,
    rules: Any,
    X: Any,
    search: Any,
    bag: Any,
    team: Any,
    lanes: Any,
    first: Any,
    last: Any,
    votes: Any,
) -> None:
    """Go down, the trees first to last together, until all lanes are done; those that come to a leaf vote.

    Every member of the team calls this at the same time.
    """
    me, members, joined = lanes.place[ME], team.counts.size, np.int64(-1)
    draw_lanes(target, rules, first, last, team, lanes)
    meet(team.signals, members)
    begin_lanes(rules, search.f, first, last, team, lanes)
    meet(team.signals, members)
    while go_on_together(team, lanes):
        if joined != lanes.place[ROUGHLY]:  # at first, and once twos are told apart
            joined = lanes.place[ROUGHLY]
            lo, ends = team.first_row[me], lanes.ends[joined]
            hi = lo + team.counts[me]
            join_codes(team.rows, lo, hi, table.coarse, search.columns, table.first_code, ends, team.joined)
            meet(team.signals, members)
        choose_in_lanes(table, target, rules, search, bag, team, lanes, votes)
        part_lanes(table, rules, X, search, bag, team, lanes)
        meet(team.signals, members)


def walk_together(task: Task, team: Team, lanes: Lanes, trees: range, votes: Array) -> tuple[Array, range, Handed]:
    """``walk_lanes`` for a member; returns the rows that are left, which trees are its own, and their nodes."""
    walk_lanes(
        task.table, task.target, task.rules, task.X, task.search, task.bag, team, lanes, trees.start, trees.stop, votes
    )
    me = int(lanes.place[ME])
    own = slice(*team.first_lane[me : me + 2].tolist())
    starts, counts = team.first_row[:-1].tolist(), team.counts.tolist()
    left = [slice(first, first + n) for first, n in zip(starts, counts, strict=True)]
    rows, weight = team.rows[left[0]], team.weight[left[0]]
    if len(left) > 1:
        weight = np.concatenate([team.weight[some, own] for some in left])
        mine = weight.any(axis=1)
        rows, weight = np.concatenate([team.rows[some] for some in left])[mine], weight[mine]
    return rows, trees[own], Handed(weight, lanes.state == DONE, lanes.depth, lanes.words, lanes.bag, lanes.keys)
