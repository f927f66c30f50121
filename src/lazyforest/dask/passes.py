"""One pass over a partition: its rows walk down the paths known so far and are added up. Pure functions.

Statistics are whole numbers, so results of partitions may be summed in any order.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lazyforest.dask.coding import key_columns
from lazyforest.engine.layout import BINS, SQUARED_ERROR, Array, frozen
from lazyforest.engine.parts import (
    STATE,
    USED,
    Collected,
    Draw,
    Paths,
    Rows,
    Wanted,
    count_rows,
    mark_rows,
    sort_entries,
)

ROWS_AT_ONCE = 1 << 17  # collected before they are added up


class Part(NamedTuple):
    """What a worker keeps of a partition."""

    codes: Array  # (rows, columns)
    y: Array  # (rows,) classes or fixed-point targets
    weight: Array  # (rows,) int64; nothing: every row weighs one
    first: int  # row ids count from here, if ``row_ids`` has none
    row_ids: Array  # (rows,) uint64, or nothing
    keys: Array  # (rows, columns whose codes do not tell their values), or (rows, 0): read again when needed


class Work(NamedTuple):
    """What a pass is to find out."""

    paths: Paths
    wanted: Wanted
    draw: Draw
    histograms: int  # how many of the open nodes get one
    statistics: int  # per entry of a histogram
    tallied: int  # per node
    dtype: Any  # of histograms
    keyed: list[int]  # columns whose keys are needed


class Result(NamedTuple):
    """What passes over some partitions found out."""

    tally: Array  # (nodes, tallied)
    histograms: Array  # (nodes that get one, columns, bins, statistics)
    range: Array  # (entries,) int64
    step: Array  # (entries,) uint64, ascending within a range
    held: Array  # (entries, statistics)


def rows_of(part: Part, keys: Array) -> Rows:
    ids = part.row_ids
    if not len(ids):
        ids = np.arange(part.first, part.first + len(part.y), dtype=np.uint64)
    return Rows(*map(frozen, (part.codes, part.y, part.weight, ids, keys)))


def keys_for(part: Part, raw: Any, work: Work) -> Array:
    """The keys of the columns ``work.keyed``, from values as they came unless the part has them."""
    keys = part.keys if part.keys.shape[1] or not work.keyed else key_columns(raw)
    if len(keys) != len(part.y):
        raise ValueError(
            f"A partition of X has {len(keys)} rows now and had {len(part.y)} in fit. Give fit a collection that is "
            f"the same each time it is computed, for example X.persist()."
        )
    return keys


def count(part: Part, raw: Any, work: Work, before: Result | None = None) -> Result:
    """A pass over a partition, added to the result ``before`` it."""
    if before is None:
        before = nothing(work)
    keys = keys_for(part, raw, work)
    rows, counts = rows_of(part, keys), np.empty(len(part.y), dtype=np.int32)
    paths, wanted = Paths(*map(frozen, work.paths)), Wanted(*map(frozen, work.wanted))
    tally, histograms = before.tally.copy(), before.histograms.copy()
    room = (ROWS_AT_ONCE if len(wanted.lowest) else 1) + len(wanted.shift)
    out = Collected(*(np.empty(room, dtype=d) for d in (np.int64, np.uint64, np.int64, np.int64)))
    entries, state, done = [before[2:]], np.zeros(STATE, dtype=np.int64), False
    while not done:
        done = count_rows(rows, paths, wanted, work.draw, counts, tally, histograms, state, out)
        n = int(state[USED])
        entries.append(add_entries(out.range[:n], out.step[:n], statistics_of(out, n, work)))
    return Result(tally, histograms, *add_entries(*map(np.concatenate, zip(*entries, strict=True))))


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
    return Result(tally, np.zeros(shape, dtype=work.dtype), *entries)


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
    tally, histograms = results[0].tally.copy(), results[0].histograms.copy()
    for other in results[1:]:
        tally += other.tally
        histograms += other.histograms
    return Result(tally, histograms, *add_entries(*(np.concatenate([r[k] for r in results]) for k in range(2, 5))))


def keep(part: Part, raw: Any, work: Work) -> Part:
    """The rows that an open node holds, with the keys of all columns that may need them."""
    keys = keys_for(part, raw, work)
    rows, marks = rows_of(part, keys), np.zeros(len(part.y), dtype=np.bool_)
    counts = np.empty(len(part.y), dtype=np.int32)
    mark_rows(rows, Paths(*map(frozen, work.paths)), frozen(work.wanted.place), work.draw, counts, marks)
    weight = part.weight[marks] if len(part.weight) else part.weight
    return Part(part.codes[marks], part.y[marks], weight, 0, rows.row_ids[marks], keys[marks])
