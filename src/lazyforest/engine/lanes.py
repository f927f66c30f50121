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
    NOT_LISTED,
    ROUGH_PAYS,
    ROUGHLY,
    ROWS_PER_BLOCK,
    SMALL,
    SORTED,
    WALKING,
    WORTH,
    Ballot,
    Member,
    Sides,
    Team,
)
from lazyforest.engine.lane_rows import draw_rows, keep_rows
from lazyforest.engine.lane_search import bound_lanes, bound_sets, raise_reach, recall, search_lane
from lazyforest.engine.layout import (
    BINS,
    EVERY_GROUP,
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
def draw_lanes(target: Any, rules: Any, first: Any, last: Any, team: Any, me: Any, share: Any) -> None:
    """The counts of a member's rows in the trees first to last."""
    keys, first_row = share.roots, team.first_row
    for lane in range(keys.size):
        keys[lane] = mix(mix(rules.seed, np.uint64(first + lane)), BAG)
    team.counts[me] = draw_rows(
        rules.bootstrap,
        target.row_ids,
        target.weight,
        last - first,
        keys,
        share.draws,
        team.rows,
        first_row[me],
        first_row[me + 1],
        team.weight,
        share.tally,
        share.sums,
        team.held[me],
        team.heavy[me],
    )


@inlined
def begin_lanes(rules: Any, most: Any, first: Any, last: Any, team: Any, me: Any, lanes: Any) -> None:
    """A member's lanes are at the roots of their trees."""
    light, all_heavy, from_lane = True, team.heavy, team.first_lane[me]
    for lane in range(last - first):  # one that is too heavy would be counted beside the others: none walks then
        heavy = np.int64(0)
        for member in range(all_heavy.shape[0]):
            heavy += all_heavy[member, lane]
        light &= heavy < most
    held, words = lanes.held, lanes.words
    sum_held(team.held, from_lane, held)
    for lane in range(held.size):
        tree = first + from_lane + lane
        lanes.keys[lane] = root_key(rules.seed, tree)
        lanes.state[lane] = GONE if tree >= last else WALKING if light else DONE
        lanes.depth[lane], lanes.bag[lane] = 0, held[lane]
        words[lane] = held[lane] + (1 if rules.algorithm != LAZY else 0)
    team.together[me] = stop_small_lanes(lanes.state, held)


@jit
def sum_held(all_held: Any, from_lane: Any, held: Any) -> None:
    """How many rows each lane of a member has, of those of all members."""
    for lane in range(held.size):
        held[lane] = 0
        for member in range(all_held.shape[0]):
            held[lane] += all_held[member, from_lane + lane]


@jit
def look_at_columns(
    table: Any,
    target: Any,
    search: Any,
    ballot: Any,
    team: Any,
    cells: Any,
    lanes: Any,
    sums: Any,
    opened: Any,
    large: Any,
    from_lane: Any,
    columns: Any,
    turn: Any,
) -> None:
    """Score the edges of groups of bins (turn 0), or search sets (1) or numbers (2) in the lanes where they may win."""
    first_code, f, all_rough, variants, is_category = (
        table.first_code,
        search.f,
        cells.rough,
        sums.variants,
        table.is_category,
    )
    reach, total, may_win, state = lanes.reach, lanes.total, sums.may_win, lanes.state
    for slot in range(columns.size):
        j = columns[slot]
        if is_category[j] != (turn == 1):
            continue
        n_bins, rough = min(first_code[j, BINS], BINS), all_rough[slot]
        histogram, missing, edges = sums.histogram[slot, :n_bins], sums.missing[slot], sums.edges[slot]
        if turn == 0:
            variants[slot] = 1 + accumulate(histogram, missing, rough)
            raise_reach(histogram, missing, variants[slot], total, f, edges, reach)
            continue
        if turn == 1:
            bound_sets(histogram, total, f, reach, sums.bounds, may_win)
        else:
            bound_lanes(histogram, missing, variants[slot], total, f, edges, reach, may_win)
        wanted = cells.wanted[slot] if rough else np.int64(EVERY_GROUP)
        for lane in range(may_win.size):
            if state[lane] == WALKING and may_win[lane]:
                search_lane(
                    table, target, search, ballot, team, lanes, sums, opened, large, wanted, from_lane, lane, j, slot
                )


@inlined
def find_wanted(f: Any, wanted: Any, rough: Any, lanes: Any, sums: Any, columns: Any) -> Any:
    """The groups of rough columns' bins that may hold the best cut of some lane; returns the number of such columns."""
    n_rough, may_win, state = np.int64(0), sums.may_win, lanes.state
    for slot in range(columns.size):
        wanted[slot] = 0
        if rough[slot]:
            n_rough += 1
            bound_lanes(
                sums.histogram[slot, :BINS],
                sums.missing[slot],
                sums.variants[slot],
                lanes.total,
                f,
                sums.edges[slot],
                lanes.reach,
                may_win,
            )
            for lane in range(may_win.size):
                if state[lane] == WALKING:
                    wanted[slot] |= may_win[lane]
    return n_rough


@inlined
def fill_wanted_groups(
    coarse: Any,
    y: Any,
    team: Any,
    me: Any,
    notes: Any,
    cells: Any,
    histogram: Any,
    opened: Any,
    columns: Any,
) -> Any:
    """The bins of rough columns in groups that some lane of the team wants; returns how many."""
    wanted, all_wanted, filled = cells.wanted, team.wanted, team.filled
    for slot in range(columns.size):
        wanted[slot] = 0
        for member in range(all_wanted.shape[0]):
            wanted[slot] |= all_wanted[member, slot]
    bins = list_inside(wanted, cells.rough, cells.inside, columns)
    if bins > 0:
        block = notes[ROWS_PER_BLOCK]
        fill_groups(coarse, y, team, me, block, cells, opened.order, opened.code, columns)
        meet(team.signals, filled.shape[0])
        sum_groups(filled, team.first_lane[me], cells.inside, histogram, columns)
    return bins


@inlined
def begin_search(rules: Any, f: Any, ballot: Any, lanes: Any, votes: Any) -> None:
    """What the condition of each lane has to beat; lanes that need none, for they are leaves, vote and are gone."""
    state, total, vote, costs, score = lanes.state, lanes.total, ballot.vote, ballot.costs, lanes.score
    for lane in range(state.size):
        a, b = total[0, lane], total[1, lane]
        score[lane], lanes.best[lane, 0] = 0.0, -1
        if state[lane] == WALKING:
            score[lane] = (f[a] + f[b] - f[a + b]) + MIN_GAIN * float(a + b)
            if a == 0 or b == 0 or a + b < rules.min_samples_split or lanes.depth[lane] >= rules.max_depth:
                ballot.total[0], ballot.total[1] = a, b
                cast(ballot.total, rules, vote)
                votes[0, 0] += vote[0]
                votes[0, 1] += vote[1]
                costs[NODES] += 1
                costs[STACK_WORDS] = max(costs[STACK_WORDS], lanes.words[lane])
                state[lane] = GONE
        lanes.reach[lane] = score[lane]


@inlined
def part_lanes(
    table: Any,
    rules: Any,
    X: Any,
    search: Any,
    ballot: Any,
    team: Any,
    sides: Any,
    me: Any,
    share: Any,
    lanes: Any,
    large: Any,
    order: Any,
) -> None:
    """Every lane that has a condition goes to the query's side of it; the others are done."""
    state, held, depth, words, costs = lanes.state, lanes.held, lanes.depth, lanes.words, ballot.costs
    columns, signals, members, from_lane = search.columns, team.signals, team.counts.size, team.first_lane[me]
    for lane in range(state.size):
        if state[lane] != WALKING:
            continue
        if lanes.best[lane, 0] < 0:
            state[lane] = DONE
            continue
        costs[NODES] += 1
        costs[ROWS_SCANNED] += held[lane]
        costs[STACK_WORDS] = max(costs[STACK_WORDS], words[lane])
        if rules.algorithm == LAZY:  # the words of the child, but for its rows
            words[lane] = lanes.bag[lane] + (held[lane] if depth[lane] > 0 else 0)
        else:
            words[lane] += 1
        depth[lane] += 1
    share.notes[LOST_ROWS] = 0 if sums_are_kept(large, share.notes) else NOT_LISTED
    list_lanes(state, from_lane, sides.here[me])
    count, member = np.int64(0), ballot.member
    for k in range(columns.size):
        count += find_kept(table, rules, X, search, member, sides, me, lanes, large, from_lane, columns[k], count)
    sides.n_parted[me] = count
    meet(signals, members)
    keep_rows(table.coarse, table.codes, team, sides, share, large, order, me)
    meet(signals, members)
    sum_held(team.held, from_lane, held)
    for lane in range(state.size):
        if state[lane] == WALKING:
            words[lane] += held[lane]
    team.together[me] = stop_small_lanes(state, held)


@jit
def list_lanes(state: Any, from_lane: Any, here: Any) -> None:
    """The lanes that are not gone, a bit each."""
    here[:] = 0
    for k in range(state.size):
        lane = from_lane + k
        here[lane // 64] |= np.uint64(state[k] != GONE) << np.uint64(lane % 64)


@inlined
def find_kept(
    table: Any,
    rules: Any,
    X: Any,
    search: Any,
    member: Any,
    sides: Any,
    me: Any,
    lanes: Any,
    large: Any,
    from_lane: Any,
    j: Any,
    k: Any,
) -> Any:
    """Which bins of column j each lane of a member keeps, as its k-th such column; returns whether it is one.

    A lane keeps the whole bin in which its cut lies: rows of such bins are told apart by their codes.
    """
    found, first_code, most, state, best_of = False, table.first_code[j], ~np.uint64(0), lanes.state, lanes.best
    n_bins, keys, all_near, members = min(first_code[BINS], BINS), lanes.keys, lanes.near, search.members
    for lane in range(state.size):
        if state[lane] != WALKING or best_of[lane, 0] != j:
            continue
        keep, border, at = sides.keep[me, k], sides.border[me, k], from_lane + lane
        if not found:
            for b in range(n_bins):
                keep[b, 0], keep[b, 1], border[b] = most, most, False
            sides.parted[me, k], found = j, True
        best = recall(lanes.score[lane], best_of[lane])
        n_members = max(best.n_members, 0)
        for p in range(n_members):
            members[p] = lanes.members[lane, p]
        threshold = midpoint(all_near[lane, 0], all_near[lane, 1]) if best.lower > 0 else -np.inf
        condition = settle(lanes.total[:, lane], threshold, best, members, lanes.left[lane], member, rules.criterion)
        side = is_valid_value(condition, X[0, j], member)
        word, others = at // 64, ~(np.uint64(1) << np.uint64(at % 64))
        if condition.missing_is_valid != side:
            keep[0, word] &= others
        for b in range(1, n_bins):
            if not condition.is_set and first_code[b] < condition.cut < first_code[b + 1]:
                border[b] = True
            elif is_valid_code(condition, first_code[b], member) != side:
                keep[b, word] &= others
        lowest, width = np.uint64(0), most
        if not condition.is_set:
            cut = np.uint64(condition.cut)
            if large is not None:
                cut = sortable(all_near.view(np.uint64)[lane, 1]) if large.numbers.size > 0 else cut
            lowest = cut if side else np.uint64(1)
            width = most - cut if side else cut - np.uint64(1)
        sides.column[at], sides.lowest[at], sides.width[at] = j, lowest, width
        for p in range(n_members):
            member[members[p]] = False
        keys[lane] = mix(keys[lane], CHILD + np.uint64(side))
    return found


@jit
def stop_small_lanes(state: Any, held: Any) -> Any:
    """Lanes go on where nodes are large; returns how many rows these have together."""
    together = np.int64(0)
    for lane in range(state.size):
        if state[lane] == WALKING and held[lane] <= SMALL:
            state[lane] = DONE
        together += held[lane] if state[lane] == WALKING else 0
    return together


@jit
def go_on_together(all_together: Any, counts: Any, width: Any, state: Any) -> Any:
    """Do lanes of the team walk, and share most of their rows? If not, all are done."""
    together, n = np.int64(0), np.int64(0)
    for member in range(counts.size):
        together += all_together[member]
        n += counts[member]
    if together > 0 and together * WORTH >= n * width:
        return True
    for lane in range(state.size):
        if state[lane] == WALKING:
            state[lane] = DONE
    return False


@entry
def walk_lanes(
    table: Any,
    target: Any,
    rules: Any,
    X: Any,
    search: Any,
    ballot: Any,
    team: Any,
    sides: Any,
    me: Any,
    share: Any,
    cells: Any,
    lanes: Any,
    sums: Any,
    opened: Any,
    large: Any,
    first: Any,
    last: Any,
    votes: Any,
) -> None:
    """Go down, the trees first to last together, until all lanes are done; those that come to a leaf vote.

    Every member of the team calls this at the same time.
    """
    counts, signals, notes, joined, every = team.counts, team.signals, share.notes, np.int64(-1), search.columns
    members, f, lo, first_code, from_lane = (
        counts.size,
        search.f,
        team.first_row[me],
        table.first_code,
        team.first_lane[me],
    )
    histogram, rough, y, order = sums.histogram, cells.rough, target.y, opened.order
    slots = histogram.shape[0]
    draw_lanes(target, rules, first, last, team, me, share)
    meet(signals, members)
    begin_lanes(rules, min(f.size, 1 << (8 * histogram.itemsize)), first, last, team, me, lanes)
    meet(signals, members)
    while go_on_together(team.together, counts, team.weight.shape[1], lanes.state):
        if joined != notes[ROUGHLY]:  # at first, and once twos are told apart
            joined = notes[ROUGHLY]
            join_codes(team.rows, lo, lo + counts[me], table.coarse, every, first_code, cells.ends[joined], team.joined)
            meet(signals, members)
        opened.notes[SORTED], group, wanted, n_rough = -1, np.int64(0), np.int64(0), np.int64(0)
        for start in range(0, every.size, slots):
            columns, first_group = every[start : min(every.size, start + slots)], group
            by_rows = pays_by_rows(first_code, counts, large, notes, columns)
            group = fill_lanes(
                first_code, y, team, me, share, cells, large, histogram, order, columns, first_group, start, by_rows
            )
            if by_rows:
                meet(signals, members)
            join_members(first_code, team.filled, from_lane, rough, histogram, lanes.total, columns, start, by_rows)
            if start == 0:
                begin_search(rules, f, ballot, lanes, votes)
            # edges of groups of numbers, sets, cuts of numbers: these last, for a set that ties with a higher column
            for turn in range(3):
                if turn == 2:
                    here = find_wanted(f, team.wanted[me], rough, lanes, sums, columns)
                    n_rough += here
                    if here > 0:
                        meet(signals, members)
                        wanted += fill_wanted_groups(
                            table.coarse, y, team, me, notes, cells, histogram, opened, columns
                        )
                look_at_columns(
                    table, target, search, ballot, team, cells, lanes, sums, opened, large, from_lane, columns, turn
                )
            if start + slots < every.size:
                meet(signals, members)
        if wanted * ROUGH_PAYS > n_rough * BINS:
            notes[ROUGHLY] = 0
        part_lanes(table, rules, X, search, ballot, team, sides, me, share, lanes, large, order)
        meet(signals, members)


def walk_together(
    task: Task, team: Team, sides: Sides, member: Member, trees: range, votes: Array
) -> tuple[Array, range, Handed]:
    """``walk_lanes`` for a member; returns the rows that are left, which trees are its own, and their nodes."""
    ballot = Ballot(task.bag.member, task.bag.total, task.bag.vote, task.bag.costs)
    given = task.table, task.target, task.rules, task.X, task.search, ballot
    walk_lanes(*given, team, sides, *member, trees.start, trees.stop, votes)
    own = slice(*team.first_lane[member.me : member.me + 2].tolist())
    starts, counts, lanes = team.first_row[:-1].tolist(), team.counts.tolist(), member.lanes
    left = [slice(first, first + n) for first, n in zip(starts, counts, strict=True)]
    rows, weight = team.rows[left[0]], team.weight[left[0]]
    if len(left) > 1:
        weight = np.concatenate([team.weight[some, own] for some in left])
        mine = weight.any(axis=1)
        rows, weight = np.concatenate([team.rows[some] for some in left])[mine], weight[mine]
    return rows, trees[own], Handed(weight, lanes.state == DONE, lanes.depth, lanes.words, lanes.bag, lanes.keys)
