"""One pass over a partition: its rows walk down the paths known so far and are added up. Pure functions.

Statistics are whole numbers, so results of partitions may be summed in any order.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lazyforest.dask.coding import number_columns
from lazyforest.engine.layout import BINS, ROW, SQUARED_ERROR, Array, frozen
from lazyforest.engine.parts import (
    AT,
    RUN,
    SLOT,
    STATE,
    USED,
    Collected,
    Draw,
    Found,
    Paths,
    Rows,
    Standing,
    Sums,
    Wanted,
    Way,
    count_tree,
    sort_entries,
    walk,
)

NEAR = 1 << 19  # bytes of the rows that are brought in order at once: they stay in a cache
LISTED = 1 << 17  # rows that are listed before they are added up
AT_ONCE = 512  # rows that are drawn at once


class Part(NamedTuple):
    """What a worker keeps of a partition."""

    codes: Array  # (rows, columns)
    y: Array  # (rows,) classes or fixed-point targets
    weight: Array  # (rows,) int64; nothing: every row weighs one
    first: int  # row ids count from here, if ``row_ids`` has none
    row_ids: Array  # (rows,) uint64, or nothing
    numbers: Array  # (columns whose codes do not tell their values, rows), or (0, rows): read again when needed


class Work(NamedTuple):
    """What a pass is to find out."""

    paths: Paths
    wanted: Wanted
    draw: Draw
    histograms: int  # how many of the open nodes get one
    steps: int  # of all ranges that are counted
    statistics: int  # per entry of a histogram
    tallied: int  # per node
    dtype: Any  # of histograms and steps
    keyed: list[int]  # columns whose numbers are needed


class Result(NamedTuple):
    """What passes over some partitions found out."""

    tally: Array  # (nodes, tallied)
    histograms: Array  # (nodes that get one, columns, bins, statistics)
    steps: Array  # (steps of the ranges that are counted, statistics)
    range: Array  # (entries,) int64: of the ranges that are listed
    step: Array  # (entries,) uint64, ascending within a range
    held: Array  # (entries, statistics)


def way_of(part: Part, standing: Standing | None, raw: Any, work: Work) -> Way:
    """What the kernels need to know to take the rows of a part down."""
    n, ids = len(part.y), part.row_ids
    if not len(ids):
        ids = np.arange(part.first, part.first + n, dtype=np.uint64)
    if standing is None:
        standing = everywhere(n, len(work.wanted.slots) - 1)
    rows = Rows(*map(frozen, (part.codes, part.y, part.weight, ids, numbers_of(part, raw, work))))
    paths, wanted = Paths(*map(frozen, work.paths)), Wanted(*map(frozen, work.wanted))
    return Way(rows, Standing(*map(frozen, standing)), paths, wanted, work.draw)


def room_for(n: int, work: Work) -> Found:
    """Room to find so many rows at once."""
    slots, columns = len(work.wanted.dense), len(work.wanted.shift)
    row, times, walked, drawn, slot = (np.empty(n, dtype=d) for d in (ROW, np.int32, ROW, np.int32, np.int32))
    ids, counts, bag = (np.empty(AT_ONCE, dtype=d) for d in (np.uint64, np.int32, ROW))
    in_range = np.empty((2 * columns, BINS), dtype=np.bool_)  # a column is asked for codes, for keys, or both
    return Found(row, times, np.zeros(slots, dtype=np.int64), walked, drawn, slot, ids, counts, bag, in_range)


def everywhere(n: int, trees: int) -> Standing:
    """All rows at the root of every tree; roots are the first nodes."""
    begin, end = np.zeros(trees, dtype=np.int64), np.full(trees, n, dtype=np.int64)
    return Standing(np.arange(n, dtype=ROW), np.arange(trees), begin, end, np.arange(trees + 1))


def numbers_of(part: Part, raw: Any, work: Work) -> Array:
    """The numbers of the columns ``work.keyed``, as words: the part's, or those of ``raw``, read if it is a reading."""
    n, numbers = len(part.y), part.numbers
    if work.keyed and not len(numbers):
        numbers = number_columns(raw() if callable(raw) else raw)
    if numbers.shape[1] != n:
        raise ValueError(
            f"A partition of X has {numbers.shape[1]} rows now and had {n} in fit. Give fit a collection that is the "
            f"same each time it is computed, for example X.persist()."
        )
    return numbers.view(np.uint64)


def count(part: Part, standing: Standing | None, raw: Any, work: Work, before: Result | None = None) -> Result:
    """A pass over a partition, added to the result ``before`` it."""
    if before is None:
        before = nothing(work)
    way, sums = way_of(part, standing, raw, work), Sums(*(old.copy() for old in before[:3]))
    found = room_for(max(AT_ONCE, NEAR // (part.codes.itemsize * part.codes.shape[1])), work)
    room = len(found.row) * len(work.wanted.shift) + LISTED * (len(work.wanted.lowest) > 0)
    out = Collected(*(np.empty(room, dtype=d) for d in (np.int64, np.uint64, np.int64, np.int64)))
    entries, state = [before[3:]], np.zeros(STATE, dtype=np.int64)
    for tree in range(len(work.wanted.slots) - 1):
        state[RUN], state[AT] = way.standing.runs[tree], 0
        while not count_tree(way, tree, found, sums, state, out):
            entries.append(collected(out, state, work))
    entries.append(collected(out, state, work))
    return Result(*sums, *add_entries(*map(np.concatenate, zip(*entries, strict=True))))


def collected(out: Collected, state: Array, work: Work) -> tuple[Array, Array, Array]:
    """Empty the buffer."""
    n, state[USED] = int(state[USED]), 0
    return add_entries(out.range[:n], out.step[:n], statistics_of(out, n, work))


def statistics_of(out: Collected, n: int, work: Work) -> Array:
    """What each of the rows collected adds."""
    held = np.zeros((n, work.statistics), dtype=np.int64)
    if work.draw.criterion == SQUARED_ERROR:
        held[:, 0], held[:, 1], held[:, 2] = out.weight[:n], out.what[:n], np.maximum(out.what[:n], 0)
    else:
        held[np.arange(n), out.what[:n]] = out.weight[:n]
    return held


def nothing(work: Work) -> Result:
    shape = (work.histograms, len(work.wanted.columns), BINS, work.statistics)
    entries = (
        np.empty(0, dtype=np.int64),
        np.empty(0, dtype=np.uint64),
        np.empty((0, work.statistics), dtype=np.int64),
    )
    tally = np.zeros((len(work.wanted.dense), work.tallied), dtype=np.int64)
    steps = np.zeros((work.steps, work.statistics), dtype=work.dtype)
    return Result(tally, np.zeros(shape, dtype=work.dtype), steps, *entries)


def add_entries(ranges: Array, steps: Array, held: Array) -> tuple[Array, Array, Array]:
    """Entries in order, those of the same step of a range added up."""
    if not len(ranges):
        return ranges.copy(), steps.copy(), held
    n, longest = len(ranges), int(np.bincount(ranges).max())
    order, keys = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.uint64)
    local, spare = np.empty(longest, dtype=np.int64), np.empty(longest, dtype=np.int64)
    sort_entries(ranges, steps, np.zeros(int(ranges.max()) + 2, dtype=np.int64), order, keys, local, spare)
    ranges, steps = ranges[order], steps[order]
    first = np.flatnonzero(np.r_[True, (ranges[1:] != ranges[:-1]) | (steps[1:] != steps[:-1])])
    return ranges[first], steps[first], np.add.reduceat(held[order], first, axis=0)


def add(results: list[Result]) -> Result:
    """The sum of some results."""
    sums = Sums(*(total.copy() for total in results[0][:3]))
    for other in results[1:]:
        for total, more in zip(sums, other[:3], strict=True):
            total += more
    entries = (np.concatenate([r[k] for r in results]) for k in range(3, 6))
    return Result(*sums, *add_entries(*entries))


def stand(part: Part, standing: Standing | None, raw: Any, work: Work) -> Standing:
    """Where the rows stand that open nodes hold."""
    way, nodes = way_of(part, standing, raw, work), np.argsort(work.paths.node[:, SLOT])[-len(work.wanted.dense) :]
    rows, node, sizes, runs = [], [], [np.zeros(1, dtype=np.int64)], [0]
    found, state = room_for(len(part.y), work), np.zeros(STATE, dtype=np.int64)
    for tree in range(len(work.wanted.slots) - 1):
        state[RUN], state[AT] = way.standing.runs[tree], 0
        n = walk(way, tree, found, state)
        rows.append(found.row[:n].copy())
        slots = slice(*work.wanted.slots[tree : tree + 2])
        size = np.diff(found.end[slots], prepend=0)
        node.append(nodes[slots][size > 0])
        sizes.append(size[size > 0])
        runs.append(runs[-1] + len(node[-1]))
    bounds = np.cumsum(np.concatenate(sizes))
    return Standing(np.concatenate(rows), np.concatenate(node), bounds[:-1], bounds[1:], np.array(runs))


def cut_down(part: Part, standing: Standing, raw: Any, work: Work) -> Part:
    """The rows that stand somewhere, with the numbers of all columns that may need them."""
    rows = np.unique(standing.row)
    numbers = numbers_of(part, raw, work).view(np.float64)
    ids = part.row_ids[rows] if len(part.row_ids) else rows.astype(np.uint64) + np.uint64(part.first)
    weight = part.weight[rows] if len(part.weight) else part.weight
    return Part(part.codes[rows], part.y[rows], weight, 0, ids, numbers.take(rows, axis=1))


def renumber(standing: Standing) -> Standing:
    """The same rows when the part has been cut down to them."""
    return standing._replace(row=np.unique(standing.row, return_inverse=True)[1].astype(ROW))
