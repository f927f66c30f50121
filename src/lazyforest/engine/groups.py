"""Groups of queries that may not look at their own folds: buffers, and conditions as a fold sees them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lazyforest.engine import subtraction
from lazyforest.engine.candidate_sets import HEAVIEST
from lazyforest.engine.exploration import Task
from lazyforest.engine.layout import BINS, ROW, Array, inlined, jit
from lazyforest.engine.nodes import copy

SEVERAL, PARTING, BY_FOLD, SINGLE = range(4)  # kinds of frames: a group to be looked at, to be parted by conditions, to
#   be parted by folds, of a single fold
LO, HI, Q_LO, Q_HI, DEPTH, KIND, ROOM, FRAME = range(8)
COLUMN, CUT, MISSING, IS_SET, CONDITION = range(5)
PRESENT, SIZE, ALIKE, HELD = range(4)  # of a fold's cell
TOP, FULL, VISIT = range(3)
UNKIND, NOT_DRAWN = -1, -2  # of a fold's row: it needs a search of its own, or is not in the bag
MANY = -2  # in place of a fold; -1 is that of rows which all see


class Folds(NamedTuple):
    """Groups of queries, and the folds that they may not see. The last fold is that of queries that see all rows."""

    fold: Array  # (rows,) the fold of each training row, -1: none
    own: Array  # (queries,) the fold that a query may not look at
    rows: Array  # rows of the groups, one above the other
    place: Array  # (3,): how far ``rows`` is used; whether it was too small; the number of groups looked at
    stack: Array  # (frames, FRAME)
    keys: Array  # (frames,)
    block: Array  # (2,)
    total: Array  # (statistics,) of the group
    rest: Array  # (statistics,) of the rows that a fold may look at
    left: Array  # (statistics,)
    cells: Array  # (folds + 1, HELD + statistics) a fold at the node, in one line of the processor's cache:
    #   its rows, their size, how many have the target of the node's first row, and the statistics of its rows
    histogram: Array  # (columns, BINS, classes) of the group, or none: ``subtraction.new_histogram``
    least_rows: int  # a smaller group is explored fold by fold, unless folds are of one row
    lone: bool  # no fold has two rows or two queries. Then their cells stay the same throughout a tree, and
    #   the next three tell what matters to most queries in a few bytes
    kind: Array  # (folds + 1,) of the fold's row, UNKIND or NOT_DRAWN
    row: Array  # (folds + 1,) that row
    seen: Array  # (rows,) the last group looked at that has the row
    apply: Array  # (folds + 1, CONDITION) the condition to part rows by; column -1: a leaf
    apply_set: Array  # (folds + 1, words) its set, a bit per code
    route: Array  # (folds + 1, CONDITION) the same as the fold's queries see it
    route_set: Array  # (folds + 1, words)
    threshold: Array  # (folds + 1,)
    group: Array  # (queries,) the number of the query's group, until it is parted
    chosen: Array  # (queries, CONDITION) for the first query of a group, by what its rows are parted
    chosen_set: Array  # (queries, words)
    routed: Array  # (queries,) the fold by whose condition the query goes: its own, or that of all rows
    valid: Array  # (queries,) the side that the query goes to
    gaps: Array  # (columns,) is it missing in a query?
    groups: Array  # (queries,) the first query of each group
    starts: Array  # (queries + 1,) where each group starts


def new_folds(task: Task, folds: Array, own: Array, room: int) -> Folds:
    """Buffers; ``folds`` of rows and ``own`` of queries are numbers below their count, or -1."""
    table, target, rules, X = task.table, task.target, task.rules, task.X
    n, queries = table.codes.shape[1], len(X)
    count = int(max(folds.max(initial=-1), own.max(initial=-1))) + 2
    sets = table.first_code[table.is_category, BINS]
    words = int(sets.max(initial=1)) // 64 + 1
    depth = 3 * (min(rules.max_depth, n) + 2)
    statistics = target.n_classes or 2
    lone = all(np.bincount(numbers[numbers >= 0]).max(initial=0) <= 1 for numbers in (folds, own))
    return Folds(
        fold=folds.astype(np.int32),
        own=np.where(own < 0, count - 1, own).astype(np.int32),
        rows=np.empty(room, dtype=ROW),
        place=np.zeros(3, dtype=np.int64),
        stack=np.empty((depth, FRAME), dtype=np.int64),
        keys=np.empty(depth, dtype=np.uint64),
        block=np.zeros(2, dtype=np.int64),
        total=np.empty(statistics, dtype=np.int64),
        rest=np.empty(statistics, dtype=np.int64),
        left=np.empty(statistics, dtype=np.int64),
        cells=np.zeros((count, HELD + statistics), dtype=np.int64),
        histogram=subtraction.new_histogram(table, target, rules, task.search.weight),
        least_rows=subtraction.LEAST_ROWS,
        lone=lone,
        kind=np.empty(count, dtype=np.int8),
        row=np.zeros(count, dtype=ROW),
        seen=np.zeros(n, dtype=np.uint32),
        apply=np.empty((count, CONDITION), dtype=np.int64),
        apply_set=np.zeros((count, words), dtype=np.uint64),
        route=np.empty((count, CONDITION), dtype=np.int64),
        route_set=np.zeros((count, words), dtype=np.uint64),
        threshold=np.empty(count),
        group=np.empty(queries, dtype=np.int32),
        chosen=np.empty((queries, CONDITION), dtype=np.int64),
        chosen_set=np.zeros((queries, words), dtype=np.uint64),
        routed=np.empty(queries, dtype=np.int32),
        valid=np.empty(queries, dtype=np.bool_),
        gaps=np.asarray(np.isnan(X).any(axis=0)),
        groups=np.empty(queries, dtype=np.int64),
        starts=np.empty(queries + 1, dtype=np.int64),
    )


# Conditions ----------------------------------------------------------------------------------------------


@inlined
def is_here(folds: Any, f: Any) -> Any:
    """Has the fold rows at the node?"""
    if folds.lone:
        return folds.kind[f] != NOT_DRAWN and folds.seen[folds.row[f]] == np.uint32(folds.place[VISIT])
    return folds.cells[f, PRESENT] > 0


@jit
def kind_of(cell: Any) -> Any:
    """Class and weight of a fold's only row as one number, UNKIND if it weighs too much."""
    a, b = cell[HELD], cell[HELD + 1]
    return (HEAVIEST if b > 0 else 0) + a + b - 1 if a + b <= HEAVIEST else np.int64(UNKIND)


@jit
def holds(members: Any, code: Any) -> Any:
    return (members[code >> 6] >> np.uint64(code & 63)) & np.uint64(1) != np.uint64(0)


@jit
def are_equal(one: Any, other: Any) -> Any:
    for k in range(one.size):
        if one[k] != other[k]:
            return False
    return True


@jit
def is_valid_row(condition: Any, members: Any, code: Any) -> Any:
    if code == 0:
        return condition[MISSING] != 0
    return holds(members, np.int64(code)) if condition[IS_SET] else code >= condition[CUT]


@jit
def is_valid_query(route: Any, members: Any, threshold: Any, x: Any) -> Any:
    if np.isnan(x):
        return route[MISSING] != 0
    if route[IS_SET]:
        return x > 0.0 and holds(members, np.int64(x))
    return x >= threshold


@inlined
def note(folds: Any, f: Any, best: Any, condition: Any, members: Any) -> None:
    """The condition of a fold, to route its queries and to part rows."""
    route, apply, bits = folds.route[f], folds.apply[f], folds.route_set[f]
    route[COLUMN], route[CUT], route[MISSING], route[IS_SET] = (
        best.column,
        best.cut,
        condition.missing_is_valid,
        condition.is_set,
    )
    folds.threshold[f] = condition.threshold
    for k in range(bits.size):
        bits[k] = 0
    for p in range(best.n_members):
        code = members[p]
        bits[code >> 6] |= np.uint64(1) << np.uint64(code & 63)
    for k in range(CONDITION):
        apply[k] = route[k]
    copy(bits, folds.apply_set[f], bits.size)


@inlined
def join(folds: Any, f: Any, common: Any, best: Any, rows: Any, lo: Any, hi: Any, codes: Any) -> None:
    """If the fold's condition parts the rows that it may look at like the common one, let it part them all."""
    apply, shared = folds.apply[f], folds.apply[common]
    if apply[COLUMN] != shared[COLUMN] or apply[IS_SET] != shared[IS_SET]:
        return
    if best.any_missing and apply[MISSING] != shared[MISSING]:
        return
    if apply[IS_SET]:
        own_set, shared_set = folds.apply_set[f], folds.apply_set[common]
        if not are_equal(own_set, shared_set):
            for i in range(lo, hi):
                code = np.int64(codes[rows[i]])
                if code > 0 and holds(own_set, code) != holds(shared_set, code):
                    return
            copy(shared_set, own_set, own_set.size)
    elif not best.lower < shared[CUT] <= best.cut:
        return
    apply[CUT], apply[MISSING] = shared[CUT], shared[MISSING]
