"""The best condition of lanes in a column: bounds for all lanes at once, then a search in those where it may win."""

from __future__ import annotations

from typing import Any

import numpy as np

from lazyforest.engine.bins import list_categories, open_column_of_two, search_opened_of_two
from lazyforest.engine.lane_bins import CLOSED, add_bins, add_parts, sort_by_bin, sort_opened
from lazyforest.engine.lane_layout import PACKED_ROWS, SORTED
from lazyforest.engine.layout import BINS, EDGES, GROUPS, inlined, jit
from lazyforest.engine.nodes import NUMBER, Best, Node
from lazyforest.engine.sets import search_prefixes_of_two
from lazyforest.engine.two import SLACK, count_groups, score_two, sets_may_win


@jit
def raise_reach(sums: Any, missing: Any, variants: Any, total: Any, f: Any, edges: Any, reach: Any) -> None:
    """The scores of the cuts between groups of bins, as in ``score_edges``, raise ``reach``."""
    for variant in range(variants):
        some = np.uint64(variant == 0)  # missing rows invalid, or valid
        for group in range(count_groups(sums.shape[0]) + 1):
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
        some = np.uint64(variant == 0)
        for group in range(count_groups(sums.shape[0])):
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
def take_categories(source: Any, lane: Any, n_codes: Any, histogram: Any) -> None:
    """A lane's histogram of a column of categories."""
    for b in range(n_codes):
        histogram[b, 0], histogram[b, 1] = source[b, 0, lane], source[b, 1, lane]


@jit
def take_groups(
    source: Any,
    source_edges: Any,
    variants: Any,
    source_missing: Any,
    lane: Any,
    groups: Any,
    n_bins: Any,
    histogram: Any,
    edges: Any,
    missing: Any,
) -> None:
    """A lane's histogram of a column of numbers: the groups of bins that may win, and the scores of their edges."""
    for group in range(GROUPS):
        if (groups >> group) & 1:
            for b in range(EDGES[group], min(EDGES[group + 1] + 1, n_bins)):
                histogram[b, 0], histogram[b, 1] = source[b, 0, lane], source[b, 1, lane]
            for variant in range(variants):
                edges[variant, group] = source_edges[variant, group, lane]
                edges[variant, group + 1] = source_edges[variant, group + 1, lane]
    missing[0], missing[1] = source_missing[0, lane], source_missing[1, lane]


@inlined
def recall(score: Any, held: Any) -> Any:
    """The best condition of a lane so far."""
    return Best(score, held[0], held[1], held[2], held[3] != 0, held[4] != 0, held[5])


@inlined
def remember(lanes: Any, lane: Any, best: Any, search: Any, table: Any) -> None:
    held, near, start, reach = lanes.best[lane], lanes.near[lane], table.value_start[best.column] - 1, lanes.reach
    if best.n_members == NUMBER:
        near[0] = table.values[start + best.lower] if best.lower > 0 else -np.inf
        near[1] = table.values[start + best.cut]
    held[0], held[1], held[2], held[5] = best.column, best.lower, best.cut, best.n_members
    held[3], held[4] = best.missing_is_valid, best.any_missing
    lanes.score[lane] = best.score
    reach[lane] = max(reach[lane], best.score)
    left, best_left, into, members = lanes.left[lane], search.best_left, lanes.members[lane], search.members
    left[0], left[1] = best_left[0], best_left[1]
    for p in range(best.n_members):
        into[p] = members[p]


@inlined
def search_lane(
    table: Any,
    target: Any,
    search: Any,
    ballot: Any,
    team: Any,
    lanes: Any,
    sums: Any,
    opened: Any,
    large: Any,
    wanted: Any,
    from_lane: Any,
    lane: Any,
    j: Any,
    slot: Any,
) -> None:
    """``search_column`` of ordinary nodes, for one lane; ``opened`` is sorted by the column's bins when needed."""
    total, none, all_total = ballot.total, np.int64(0), lanes.total
    total[0], total[1] = all_total[0, lane], all_total[1, lane]
    node = Node(team.rows, none, none, total, total[0] + total[1], none, 0.0, True, lanes.keys[lane])
    n_codes = table.first_code[j, BINS]
    histogram, missing, edges = search.histogram[0], search.missing[0], search.edges[0]
    best = recall(lanes.score[lane], lanes.best[lane])
    score, column, cut = best.score, best.column, best.cut
    reach = max(score, lanes.reach[lane])
    if table.is_category[j]:
        held, gone = search.held, search.corner
        take_categories(sums.histogram[slot], lane, n_codes, histogram)
        k = list_categories(histogram, n_codes, total.size, search.categories, held, gone)
        if sets_may_win(held, k, gone[0], gone[1], search.f, reach):
            best = search_prefixes_of_two(node, search, j, k, best)
    else:
        n_bins, groups, variants = min(n_codes, BINS), np.int64(sums.may_win[lane]), sums.variants[slot]
        take_groups(
            sums.histogram[slot],
            sums.edges[slot],
            variants,
            sums.missing[slot],
            lane,
            groups,
            n_bins,
            histogram,
            edges,
            missing,
        )
        n_opened = open_column_of_two(
            histogram[:n_bins],
            missing,
            total,
            search.f,
            groups,
            edges,
            reach,
            search.scores,
            search.opened,
            search.listed,
        )
        if n_opened == 0:
            return
        if n_codes > BINS:
            notes, state = opened.notes, opened.state
            if notes[SORTED] != j:
                sort_by_bin(
                    team.rows,
                    team.first_row,
                    team.counts,
                    table.coarse,
                    j,
                    wanted,
                    opened.order,
                    opened.starts,
                    search.starts,
                    state,
                )
                notes[SORTED], notes[PACKED_ROWS] = j, 0
                state[:] = CLOSED
            sort_opened(table, target, search, team, opened, large, from_lane, j, n_opened)
            if large is None:
                add_bins(search, team.weight, opened, lane + from_lane, n_opened)
            else:
                add_parts(search, team.weight, opened, large, from_lane, lane, variants, total, reach, n_opened)
        any_missing = missing[0] + missing[1] > 0
        for variant in range(2 if any_missing else 1):
            best = search_opened_of_two(node, search, j, none, variant, any_missing, n_codes <= BINS, n_opened, best)
    if best.score != score or best.column != column or best.cut != cut:
        remember(lanes, lane, best, search, table)
