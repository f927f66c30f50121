"""The exploration in which a query may not look at its own fold.

Queries travel together until leaving out their own folds makes their best conditions differ. A group of several folds
holds all rows that meet its conditions; each of its queries looks at them without those of its own fold. A group of a
single fold holds only the rows that it may look at, so it is explored like any other from there on.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lazyforest.engine.bootstrap import CHILD, draw_counts, mix, root_key
from lazyforest.engine.candidates import (
    COMMON,
    HEAVIEST,
    USABLE,
    Candidates,
    as_condition,
    best_candidate,
    best_column_of_sets,
    best_set_without,
    find_candidates,
    new_candidates,
    threshold_of,
)
from lazyforest.engine.exploration import (
    Frame,
    Task,
    cast,
    choose,
    explore_from,
    push,
    sum_up,
    weigh_bag,
)
from lazyforest.engine.layout import (
    BINS,
    BLOCK,
    ENTROPY,
    FORKS,
    MIN_GAIN,
    NODES,
    REFITS,
    ROW,
    ROWS_SCANNED,
    STACK_WORDS,
    Array,
    entry,
    inlined,
    jit,
)
from lazyforest.engine.lists import Small, new_small
from lazyforest.engine.nodes import Node, copy
from lazyforest.engine.partition import settle
from lazyforest.engine.record import new_record

SEVERAL, PARTING, SINGLE = 0, 1, 2  # kinds of frames: a group to be looked at, to be parted, of a single fold
LO, HI, Q_LO, Q_HI, DEPTH, KIND, ROOM, FRAME = range(8)
COLUMN, CUT, MISSING, IS_SET, GROUP, CONDITION = range(6)
TOP, FULL, VISIT = range(3)
MANY = -2  # in place of a fold; -1 is that of rows which all see


class Folds(NamedTuple):
    """What the exploration needs beyond a task. The last fold is that of queries that see all rows."""

    fold: Array  # (rows,) the fold of each training row, -1: none
    own: Array  # (queries,) the fold that a query may not look at
    rows: Array  # rows of the groups, one above the other
    place: Array  # (3,): how far ``rows`` is used; whether it was too small; the number of groups looked at
    stack: Array  # (frames, FRAME)
    keys: Array  # (frames,)
    small: Small  # for the search of a group
    other: Small  # for that of a fold, which keeps no lists
    candidates: Candidates
    block: Array  # (2,)
    total: Array  # (statistics,) of the group
    rest: Array  # (statistics,) of the rows that a fold may look at
    left: Array  # (statistics,)
    present: Array  # (folds + 1,) rows of each fold at the node
    size: Array  # (folds + 1,) their size
    row: Array  # (folds + 1,) one of them
    alike: Array  # (folds + 1,) how many have the target of the node's first row
    held: Array  # (folds + 1, statistics)
    asked: Array  # (folds + 1,) the last group with a query of the fold
    decided: Array  # (folds + 1,) the last group for which the fold's condition was found
    apply: Array  # (folds + 1, CONDITION) the condition to part rows by; column -1: a leaf
    apply_set: Array  # (folds + 1, words) its set, a bit per code
    route: Array  # (folds + 1, CONDITION) the same as the fold's queries see it
    route_set: Array  # (folds + 1, words)
    threshold: Array  # (folds + 1,)
    chosen: Array  # (queries, CONDITION) ``apply`` of the query's fold, until its group is parted
    chosen_set: Array  # (queries, words)
    valid: Array  # (queries,) the side that the query goes to
    groups: Array  # (queries,) a query of each group
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
    return Folds(
        fold=folds.astype(np.int64),
        own=np.where(own < 0, count - 1, own).astype(np.int64),
        rows=np.empty(room, dtype=ROW),
        place=np.zeros(3, dtype=np.int64),
        stack=np.empty((depth, FRAME), dtype=np.int64),
        keys=np.empty(depth, dtype=np.uint64),
        small=new_small(table, target, task.search.weight, True),
        other=new_small(table, target, task.search.weight, False),
        candidates=new_candidates(table),
        block=np.zeros(2, dtype=np.int64),
        total=np.empty(statistics, dtype=np.int64),
        rest=np.empty(statistics, dtype=np.int64),
        left=np.empty(statistics, dtype=np.int64),
        present=np.zeros(count, dtype=np.int64),
        size=np.zeros(count, dtype=np.int64),
        row=np.zeros(count, dtype=np.int64),
        alike=np.zeros(count, dtype=np.int64),
        held=np.zeros((count, statistics), dtype=np.int64),
        asked=np.zeros(count, dtype=np.int64),
        decided=np.zeros(count, dtype=np.int64),
        apply=np.empty((count, CONDITION), dtype=np.int64),
        apply_set=np.zeros((count, words), dtype=np.uint64),
        route=np.empty((count, CONDITION), dtype=np.int64),
        route_set=np.zeros((count, words), dtype=np.uint64),
        threshold=np.empty(count),
        chosen=np.empty((queries, CONDITION), dtype=np.int64),
        chosen_set=np.zeros((queries, words), dtype=np.uint64),
        valid=np.empty(queries, dtype=np.bool_),
        groups=np.empty(queries, dtype=np.int64),
        starts=np.empty(queries + 1, dtype=np.int64),
    )


# Conditions ----------------------------------------------------------------------------------------------


@jit
def holds(members: Any, code: Any) -> Any:
    return (members[code >> 6] >> np.uint64(code & 63)) & np.uint64(1) != np.uint64(0)


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
        for i in range(lo, hi):
            code = np.int64(codes[rows[i]])
            if code > 0 and holds(folds.apply_set[f], code) != holds(folds.apply_set[common], code):
                return
        copy(folds.apply_set[common], folds.apply_set[f], folds.apply_set.shape[1])
    elif not best.lower < shared[CUT] <= best.cut:
        return
    apply[CUT], apply[MISSING] = shared[CUT], shared[MISSING]


# Groups --------------------------------------------------------------------------------------------------


@inlined
def push_group(folds: Any, top: Any, lo: Any, hi: Any, q_lo: Any, q_hi: Any, depth: Any, kind: Any, key: Any) -> Any:
    row = folds.stack[top]
    row[LO], row[HI], row[Q_LO], row[Q_HI] = lo, hi, q_lo, q_hi
    row[DEPTH], row[KIND], row[ROOM] = depth, kind, folds.place[TOP]
    folds.keys[top] = key
    return top + 1


@jit
def count_folds(
    folds: Any, lo: Any, hi: Any, y: Any, weight: Any, counts: Any, multiplicity: Any, classes: Any
) -> None:
    """The rows of each fold at the node: their number, size and statistics."""
    rows, fold, count, size, alike, held = folds.rows, folds.fold, folds.present, folds.size, folds.alike, folds.held
    first = y[rows[lo]]
    for i in range(lo, hi):
        r = rows[i]
        f = fold[r]
        if f >= 0:
            count[f] += 1
            size[f] += np.int64(counts[r]) * multiplicity[r]
            folds.row[f] = r
            alike[f] += y[r] == first
            if classes:
                held[f, y[r]] += weight[r]
            else:
                held[f, 0] += weight[r]
                held[f, 1] += np.int64(weight[r]) * np.int64(y[r])


@jit
def forget_folds(folds: Any, lo: Any, hi: Any) -> None:
    rows, fold = folds.rows, folds.fold
    for i in range(lo, hi):
        f = fold[rows[i]]
        if f >= 0 and folds.present[f] > 0:
            folds.present[f] = folds.size[f] = folds.alike[f] = 0
            for c in range(folds.held.shape[1]):
                folds.held[f, c] = 0


@jit
def is_pure_without(folds: Any, f: Any, lo: Any, hi: Any, y: Any, alike: Any) -> Any:
    """Do all rows but those of a fold have the same target? ``alike`` rows have that of the first."""
    rows, fold = folds.rows, folds.fold
    like_first = alike - folds.alike[f]
    others = (hi - lo - alike) - (folds.present[f] - folds.alike[f])
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
def retire(target: Any, rules: Any, folds: Any, bag: Any, frame: Any, size: Any, votes: Any) -> Any:
    """Queries whose node is a leaf vote and leave; returns where the others end."""
    lo, hi, queries, y = frame[LO], frame[HI], bag.queries, target.y
    alike, kept = 0, frame[Q_LO]
    for i in range(lo, hi):
        alike += y[folds.rows[i]] == y[folds.rows[lo]]
    for i in range(frame[Q_LO], frame[Q_HI]):
        q = queries[i]
        f = folds.own[q]
        if (
            frame[DEPTH] < rules.max_depth
            and size - folds.size[f] >= rules.min_samples_split
            and not is_pure_without(folds, f, lo, hi, y, alike)
        ):
            queries[kept] = q
            kept += 1
        else:
            vote_without(folds, f, rules, bag.vote, votes, q)
    return kept


@jit
def vote_without(folds: Any, f: Any, rules: Any, vote: Any, votes: Any, q: Any) -> None:
    for c in range(folds.rest.size):
        folds.rest[c] = folds.total[c] - folds.held[f, c]
    cast(folds.rest, rules, vote)
    for c in range(vote.size):
        votes[q, c] += vote[c]


@jit
def take_others(folds: Any, f: Any, lo: Any, hi: Any) -> Any:
    """Copy the rows but those of a fold above the others; returns where they end, -1 if there is no room."""
    rows, fold, at = folds.rows, folds.fold, folds.place[TOP]
    if at + hi - lo > rows.size:
        folds.place[FULL] = 1
        return -1
    for i in range(lo, hi):
        rows[at] = rows[i]
        at += fold[rows[i]] != f
    return at


@jit
def search_rows(
    table: Any, target: Any, rules: Any, search: Any, bag: Any, folds: Any, small: Any, lo: Any, hi: Any, key: Any
) -> Any:
    """The best condition of folds.rows[lo:hi], whose statistics go to ``folds.rest``."""
    none = np.int64(0)
    node = Node(folds.rows, lo, hi, folds.rest, none, none, 0.0, False, key)
    sum_up(node, target, search.weight, bag.counts)
    bag.costs[ROWS_SCANNED] += hi - lo
    folds.block[0] = folds.block[1] = 0
    frame = Frame(lo, hi, 0, 0, 0, 0, 0, 0, key)
    return choose(table, target, rules, search, small, folds.block, frame, node)


@inlined
def decide(
    table: Any,
    target: Any,
    rules: Any,
    search: Any,
    bag: Any,
    folds: Any,
    small: Any,
    f: Any,
    lo: Any,
    hi: Any,
    key: Any,
) -> Any:
    """Find the condition of a fold's queries: the best one on folds.rows[lo:hi]."""
    best = search_rows(table, target, rules, search, bag, folds, small, lo, hi, key)
    folds.decided[f] = folds.place[VISIT]
    folds.apply[f, COLUMN] = best.column
    if best.column >= 0:
        condition = settle(folds.rest, table, best, search.members, search.best_left, bag.member, rules.criterion)
        for p in range(best.n_members):
            bag.member[search.members[p]] = False
        note(folds, f, best, condition, search.members)
    return best


# A single row left out -----------------------------------------------------------------------------------


@inlined
def prepare(table: Any, target: Any, rules: Any, search: Any, folds: Any, queries: Any, frame: Any, shared: Any) -> Any:
    """Find the cuts that matter to folds of a single row, if the rows are of two classes and the columns numbers."""
    lo, hi, total, found = frame[LO], frame[HI], folds.total, folds.candidates
    usable = rules.criterion == ENTROPY and total.size == 2 and shared.column >= 0
    usable = usable and rules.max_features >= search.columns.size
    if usable:
        usable = total[0] + total[1] < search.f.size and not any_wide_set(table, search.columns)
        usable = usable and (hi - lo <= BLOCK or search.columns.size <= search.histogram.shape[0])
    if usable:
        copy(search.best_left, folds.left, 2)
        if find_kinds(folds, found.kinds, queries, frame[Q_LO], frame[Q_HI], target.y, search.weight) == 0:
            return False
        none = np.int64(0)
        node = Node(folds.rows, lo, hi, total, total[0] + total[1], none, 0.0, True, np.uint64(0))
        find_candidates(node, table, target, search, folds.small, rules, found)
        usable = found.place[USABLE] == 1
    return usable


@jit
def any_wide_set(table: Any, columns: Any) -> Any:
    for k in range(columns.size):
        if table.is_category[columns[k]] and table.first_code[columns[k], BINS] > BINS:
            return True
    return False


@jit
def find_kinds(folds: Any, kinds: Any, queries: Any, lo: Any, hi: Any, y: Any, weight: Any) -> Any:
    """Mark the kinds of rows that are left out alone; returns how many rows."""
    kinds[:] = False
    count = 0
    for i in range(lo, hi):
        f = folds.own[queries[i]]
        if folds.present[f] == 1:
            kind = kind_of(folds, f, y)
            if kind >= 0:
                kinds[kind] = True
                count += 1
    return count


@jit
def kind_of(folds: Any, f: Any, y: Any) -> Any:
    w = folds.held[f, 0] + folds.held[f, 1]
    return np.int64(y[folds.row[f]]) * HEAVIEST + w - 1 if w <= HEAVIEST else np.int64(-1)


@jit
def has_candidates(table: Any, search: Any, folds: Any, f: Any, y: Any) -> Any:
    """Is the fold a single row, whose leaving empties neither a side of the common condition nor a column of gaps?"""
    if folds.present[f] != 1 or kind_of(folds, f, y) < 0:
        return False
    common, r, found = folds.present.size - 1, folds.row[f], folds.candidates
    w = folds.held[f, 0] + folds.held[f, 1]
    codes = table.codes[folds.apply[common, COLUMN]]
    side = folds.left[0] + folds.left[1]
    if is_valid_row(folds.apply[common], folds.apply_set[common], codes[r]):
        side = folds.total[0] + folds.total[1] - side
    if side <= w:
        return False
    for k in range(search.columns.size):
        j = search.columns[k]
        if found.missing[j] == w and table.codes[j, r] == 0:
            return False
    return True


@jit
def look_up_best(table: Any, search: Any, folds: Any, f: Any, cut: Any, lo: Any, hi: Any, y: Any) -> Any:
    """The best condition of a fold of a single row, on a number; its invalid side weighs ``search.left``."""
    r, found, w = folds.row[f], folds.candidates, folds.held[f, 0] + folds.held[f, 1]
    copy(found.left[cut.index], search.left, 2)
    codes = table.codes[found.column[cut.index]]
    valid = found.variant[cut.index] == 1 if codes[r] == 0 else codes[r] >= found.cut[cut.index]
    if not valid:
        search.left[y[r]] -= w
    return as_condition(found, cut, table.codes, folds.rows, lo, hi, r, w)


@jit
def best_set_for(table: Any, search: Any, folds: Any, kind: Any, r: Any, cut: Any) -> Any:
    """The column of sets that is better than a cut for row r, or -1; and its score."""
    found, total = folds.candidates, folds.total
    column = found.column[cut.index] if cut.index >= 0 else np.int64(-1)
    return best_column_of_sets(found, kind, table.codes, r, total[0], total[1], search, cut.score, column)


@jit
def keeps_common_set(table: Any, folds: Any, at: Any, kind: Any, r: Any, x: Any) -> Any:
    """Is it known that the set without row r is the common one, and does the query see it so?"""
    sets, common = folds.candidates.sets, folds.present.size - 1
    j = sets.column[at]
    code = np.int64(table.codes[j, r])
    own = kind % HEAVIEST + 1
    return (
        sets.known[at, code, kind] == COMMON
        and sets.held[at, code, 0] + sets.held[at, code, 1] > own
        and not np.isnan(x[j])
        and folds.apply[common, COLUMN] == j
    )


@jit
def note_set(
    table: Any, search: Any, folds: Any, f: Any, at: Any, kind: Any, r: Any, best_score: Any, common: Any
) -> None:
    """``note`` for the set that is best without row r; and ``join`` if it is the common one."""
    sets, total, rest = folds.candidates.sets, folds.total, folds.rest
    route, apply, bits, shared = folds.route[f], folds.apply[f], folds.route_set[f], folds.apply_set[common]
    j, f_of = sets.column[at], search.f
    code = np.int64(table.codes[j, r])
    for c in range(2):
        rest[c] = total[c] - folds.held[f, c]
    weight = rest[0] + rest[1]
    folds.decided[f] = folds.place[VISIT]
    apply[COLUMN] = -1
    if not best_score > (f_of[rest[0]] + f_of[rest[1]] - f_of[weight]) + MIN_GAIN * float(weight):
        return
    _, length, with_missing, a, b, k = best_set_without(sets, at, code, kind, total[0], total[1], search)
    gone = sets.held[at, 0, 0] + sets.held[at, 0, 1] - (kind % HEAVIEST + 1 if code == 0 else 0)
    route[COLUMN], route[CUT], route[IS_SET] = j, 0, 1
    route[MISSING] = with_missing if gone > 0 else a + b > weight - a - b
    for word in range(bits.size):
        bits[word] = 0
    for p in range(length):
        member = search.categories[search.order[p]]
        bits[member >> 6] |= np.uint64(1) << np.uint64(member & 63)
    for i in range(CONDITION):
        apply[i] = route[i]
    copy(bits, folds.apply_set[f], bits.size)
    same = folds.apply[common, COLUMN] == j and (gone == 0 or route[MISSING] == folds.apply[common, MISSING])
    for i in range(k):
        same = same and holds(bits, search.categories[i]) == holds(shared, search.categories[i])
    if same:
        sets.known[at, code, kind] = COMMON
        copy(shared, folds.apply_set[f], bits.size)
        apply[MISSING] = folds.apply[common, MISSING]


@jit
def keeps_common(folds: Any, best: Any, shared: Any, x: Any) -> Any:
    """Is it the common condition to the last digit of its threshold, for this query?"""
    return (
        best.column == shared.column
        and best.cut == shared.cut
        and best.lower == shared.lower
        and best.missing_is_valid == shared.missing_is_valid
        and not np.isnan(x[best.column])
    )


@jit
def note_candidate(table: Any, folds: Any, f: Any, best: Any, search: Any) -> None:
    """``note`` for a condition that was looked up; its invalid side weighs ``search.left``."""
    route, apply, left, f_of, rest = folds.route[f], folds.apply[f], search.left, search.f, folds.rest
    for c in range(2):
        rest[c] = folds.total[c] - folds.held[f, c]
    weight = rest[0] + rest[1]
    folds.decided[f] = folds.place[VISIT]
    apply[COLUMN] = -1
    if not best.score > (f_of[rest[0]] + f_of[rest[1]] - f_of[weight]) + MIN_GAIN * float(weight):
        return
    missing_is_valid = best.missing_is_valid
    if not best.any_missing:
        invalid = left[0] + left[1]
        missing_is_valid = weight - invalid > invalid
    route[COLUMN], route[CUT], route[MISSING], route[IS_SET] = best.column, best.cut, missing_is_valid, 0
    folds.threshold[f] = threshold_of(table, best)
    for k in range(CONDITION):
        apply[k] = route[k]


@jit
def find_group(folds: Any, f: Any, count: Any) -> Any:
    """The group whose condition is the fold's, or ``count``."""
    apply, bits = folds.apply[f], folds.apply_set[f]
    for g in range(count):
        q = folds.groups[g]
        chosen, members = folds.chosen[q], folds.chosen_set[q]
        same = True
        for k in range(GROUP):
            same &= chosen[k] == apply[k]
        if same and apply[IS_SET]:
            for k in range(bits.size):
                same &= members[k] == bits[k]
        if same:
            return g
    return count


@inlined
def choose_for_all(
    table: Any, target: Any, rules: Any, X: Any, search: Any, bag: Any, folds: Any, frame: Any, key: Any, votes: Any
) -> Any:
    """Every query gets the condition of its fold, or votes if there is none; returns where the others end."""
    lo, hi, queries, common = frame[LO], frame[HI], bag.queries, folds.present.size - 1
    folds.place[VISIT] += 1
    shared = decide(table, target, rules, search, bag, folds, folds.small, common, lo, hi, key)
    fast = prepare(table, target, rules, search, folds, queries, frame, shared)
    count, kept = 0, frame[Q_LO]
    for i in range(frame[Q_LO], frame[Q_HI]):
        q = queries[i]
        f = folds.own[q]
        if folds.asked[f] != folds.place[VISIT]:
            folds.asked[f] = folds.place[VISIT]
            bag.costs[REFITS] += hi - lo - folds.present[f]
        if folds.present[f] == 0:
            f = common
        elif fast and has_candidates(table, search, folds, f, target.y):
            kind, r = kind_of(folds, f, target.y), folds.row[f]
            cut = best_candidate(folds.candidates, kind, table.codes, r)
            at, score = best_set_for(table, search, folds, kind, r, cut)
            if at >= 0:
                if keeps_common_set(table, folds, at, kind, r, X[q]):
                    f = common
                else:
                    note_set(table, search, folds, f, at, kind, r, score, common)
            else:
                best = look_up_best(table, search, folds, f, cut, lo, hi, target.y)
                if keeps_common(folds, best, shared, X[q]):
                    f = common
                else:
                    note_candidate(table, folds, f, best, search)
                    if folds.apply[f, COLUMN] >= 0:
                        join(folds, f, common, best, folds.rows, lo, lo, table.codes[best.column])
        elif folds.decided[f] != folds.place[VISIT]:
            end = take_others(folds, f, lo, hi)
            if end < 0:
                break
            start = folds.place[TOP]
            best = decide(table, target, rules, search, bag, folds, folds.other, f, start, end, key)
            if best.column >= 0 and folds.apply[common, COLUMN] >= 0:
                join(folds, f, common, best, folds.rows, start, end, table.codes[best.column])
        if folds.apply[f, COLUMN] < 0:
            vote_without(folds, folds.own[q], rules, bag.vote, votes, q)
            continue
        group = find_group(folds, f, count)
        for k in range(GROUP):
            folds.chosen[q, k] = folds.apply[f, k]
        folds.chosen[q, GROUP] = group
        copy(folds.apply_set[f], folds.chosen_set[q], folds.apply_set.shape[1])
        if group == count:
            folds.groups[count] = q
            count += 1
        folds.valid[q] = is_valid_query(
            folds.route[f], folds.route_set[f], folds.threshold[f], X[q, folds.route[f, COLUMN]]
        )
        queries[kept] = q
        kept += 1
    bag.costs[FORKS] += max(count - 1, 0)
    sort_by_group(folds, queries, bag.spare_queries, frame[Q_LO], kept, count)
    return kept


@jit
def sort_by_group(folds: Any, queries: Any, spare: Any, lo: Any, hi: Any, count: Any) -> None:
    starts, chosen = folds.starts, folds.chosen
    for g in range(count + 1):
        starts[g] = 0
    for i in range(lo, hi):
        starts[chosen[queries[i], GROUP] + 1] += 1
    for g in range(count):
        starts[g + 1] += starts[g]
    for i in range(lo, hi):
        g = chosen[queries[i], GROUP]
        spare[starts[g]] = queries[i]
        starts[g] += 1
    for i in range(lo, hi):
        queries[i] = spare[i - lo]


@jit
def part_group(folds: Any, queries: Any, spare: Any, lo: Any, hi: Any) -> Any:
    """Part the queries by the side that they go to; returns the middle."""
    mid, others = lo, 0
    for i in range(lo, hi):
        q = queries[i]
        if folds.valid[q]:
            spare[others] = q
            others += 1
        else:
            queries[mid] = q
            mid += 1
    for i in range(others):
        queries[mid + i] = spare[i]
    return mid


@jit
def single_fold(folds: Any, queries: Any, lo: Any, hi: Any) -> Any:
    """The fold of all these queries, or MANY."""
    f = folds.own[queries[lo]]
    for i in range(lo + 1, hi):
        if folds.own[queries[i]] != f:
            return np.int64(MANY)
    return f


@jit
def copy_side(folds: Any, lo: Any, hi: Any, codes: Any, q: Any, side: Any, without: Any) -> Any:
    """Copy the rows of a side of q's condition, but those of a fold, above the others; returns where they end."""
    rows, fold, at, condition, members = folds.rows, folds.fold, folds.place[TOP], folds.chosen[q], folds.chosen_set[q]
    if at + hi - lo > rows.size:
        folds.place[FULL] = 1
        return at
    for i in range(lo, hi):
        r = rows[i]
        rows[at] = r
        at += (is_valid_row(condition, members, codes[r]) == side) & (fold[r] != without)
    return at


@jit
def part_in_place(folds: Any, lo: Any, hi: Any, spare: Any, codes: Any, q: Any) -> Any:
    rows, condition, members = folds.rows, folds.chosen[q], folds.chosen_set[q]
    mid, others = lo, 0
    for i in range(lo, hi):
        r = rows[i]
        valid = is_valid_row(condition, members, codes[r])
        spare[others] = r
        rows[mid] = r
        others += valid
        mid += not valid
    for i in range(others):
        rows[mid + i] = spare[i]
    return mid


@jit
def drop_fold(folds: Any, f: Any, lo: Any, hi: Any) -> Any:
    """Take a fold's rows out of rows[lo:hi]; returns where the others end."""
    rows, fold, at = folds.rows, folds.fold, lo
    for i in range(lo, hi):
        rows[at] = rows[i]
        at += fold[rows[i]] != f
    return at


@inlined
def go_down_apart(table: Any, folds: Any, bag: Any, frame: Any, key: Any, top: Any) -> Any:
    """Part the last group of a frame; its rows are copied while there are others, and parted in place for the last."""
    lo, hi, q_lo, q_hi, queries = frame[LO], frame[HI], frame[Q_LO], frame[Q_HI], bag.queries
    start = q_hi - 1
    while start > q_lo and folds.chosen[queries[start - 1], GROUP] == folds.chosen[queries[start], GROUP]:
        start -= 1
    alone, q, depth = start == q_lo, queries[start], frame[DEPTH] + 1
    codes = table.codes[folds.chosen[q, COLUMN]]
    if not alone:
        top = push_group(folds, top, lo, hi, q_lo, start, frame[DEPTH], PARTING, key)
    q_mid = part_group(folds, queries, bag.spare_queries, start, q_hi)
    mid = part_in_place(folds, lo, hi, bag.spare, codes, q) if alone else lo
    for side in range(2):
        first, last = (q_mid, q_hi) if side else (start, q_mid)
        if first == last:
            continue
        f = single_fold(folds, queries, first, last)
        if alone:
            begin, end = (mid, hi) if side else (lo, mid)
            if f >= 0:
                end = drop_fold(folds, f, begin, end)
        else:
            begin = folds.place[TOP]
            end = copy_side(folds, lo, hi, codes, q, side == 1, f)
            folds.place[TOP] = end
        kind = SINGLE if f >= 0 else SEVERAL
        child = mix(key, CHILD + np.uint64(side))
        top = push_group(folds, top, begin, end, first, last, depth, kind, child)
    return top


@entry
def explore_trees_without(
    table: Any,
    target: Any,
    rules: Any,
    X: Any,
    search: Any,
    small: Any,
    bag: Any,
    folds: Any,
    tree: Any,
    votes: Any,
    record: Any,
) -> None:
    """Explore a tree for queries that may not look at their own folds; add their votes."""
    costs, none = bag.costs, np.int64(0)
    draw_counts(rules.seed, tree, rules.bootstrap, target.row_ids, bag.counts)
    n, _ = weigh_bag(bag.counts, target.weight, search.weight, bag.drawn)
    copy(bag.drawn, folds.rows, n)
    for q in range(X.shape[0]):
        bag.queries[q] = q
    bag.least[0], bag.size[0] = 0.0, n
    folds.place[TOP], folds.place[FULL] = n, 0
    f = single_fold(folds, bag.queries, 0, X.shape[0])
    if f >= 0:
        n = drop_fold(folds, f, 0, n)
    kind = SINGLE if f >= 0 else SEVERAL
    top = push_group(folds, 0, none, n, none, X.shape[0], none, kind, root_key(rules.seed, tree))
    while top > 0 and folds.place[FULL] == 0:
        top -= 1
        frame, key = folds.stack[top], folds.keys[top]
        lo, hi, q_lo, q_hi, depth = frame[LO], frame[HI], frame[Q_LO], frame[Q_HI], frame[DEPTH]
        folds.place[TOP] = frame[ROOM]
        if frame[KIND] == SINGLE:
            bag.block[0] = bag.block[1] = 0
            before = costs[ROWS_SCANNED]
            below = push(bag, 0, Frame(lo, hi, q_lo, q_hi, depth, -1, hi - lo, 0, key))
            explore_from(table, target, rules, X, search, small, bag, below, votes, record)
            costs[REFITS] += costs[ROWS_SCANNED] - before
            continue
        if frame[KIND] == SEVERAL:
            costs[NODES] += 1
            costs[STACK_WORDS] = max(costs[STACK_WORDS], folds.place[TOP] + X.shape[0])
            size = look_at(target, search, bag, folds, lo, hi)
            frame[Q_HI] = retire(target, rules, folds, bag, frame, size, votes)
            if frame[Q_HI] > q_lo:
                frame[Q_HI] = choose_for_all(table, target, rules, X, search, bag, folds, frame, key, votes)
            forget_folds(folds, lo, hi)
        if frame[Q_HI] > q_lo and folds.place[FULL] == 0:
            top = go_down_apart(table, folds, bag, frame, key, top)


@inlined
def look_at(target: Any, search: Any, bag: Any, folds: Any, lo: Any, hi: Any) -> Any:
    """Statistics of the group's rows, and of each fold among them; returns their size."""
    none = np.int64(0)
    node = Node(folds.rows, lo, hi, folds.total, none, none, 0.0, False, np.uint64(0))
    size, _ = sum_up(node, target, search.weight, bag.counts)
    if hi > lo:
        count_folds(folds, lo, hi, target.y, search.weight, bag.counts, target.multiplicity, target.n_classes > 0)
    return size


def explore_without(task: Task, folds: Array, own: Array, trees: range, votes: Array, room: list[int]) -> Folds:
    """Explore some trees. ``room`` for rows grows until they fit."""
    buffers = new_folds(task, folds, own, room[0])
    bag = task.bag._replace(rows=buffers.rows)
    record = new_record(task.bag.vote.size)
    for tree in trees:
        while True:
            costs, before = task.bag.costs.copy(), votes.copy()
            explore_trees_without(*task[:6], bag, buffers, tree, votes, record)
            if not buffers.place[FULL]:
                break
            room[0] = 2 * len(buffers.rows)
            buffers = new_folds(task, folds, own, room[0])
            bag = task.bag._replace(rows=buffers.rows)
            task.bag.costs[:], votes[:] = costs, before
    return buffers
