"""Running the engine over all trees: some per kernel call, calls over threads, progress shown, costs added up."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial, reduce
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from lazyforest.engine.exploration import Task, explore_recording, explore_silently, go_on, new_room, new_task
from lazyforest.engine.folds import explore_without
from lazyforest.engine.lane_layout import Sides, Team, count_lanes, most_members, new_member, new_team, table_of_bins
from lazyforest.engine.lanes import walk_together
from lazyforest.engine.layout import (
    BATCHED,
    BINS,
    BLOCK,
    EAGER,
    ENTROPY,
    EVERY_ROW_ONCE,
    LAZY,
    MULTINOMIAL,
    NODES,
    ROWS_SCANNED,
    STACK_WORDS,
    Array,
    Binned,
    Rules,
    Table,
    Target,
)
from lazyforest.engine.record import Record, walk
from lazyforest.engine.subtraction import can_subtract
from lazyforest.kept import Kept, rank_rows
from lazyforest.progress import Progress
from lazyforest.threads import cores, threads, threads_are_wanted, work_together

ROWS_LEFT_OUT = 1e5  # a kernel call answers so many, over its trees: it ends within seconds
SLOWER = 5  # where each row that is left out needs a search of its own, it answers fewer
TREES_TO_REORDER, ROWS_TO_REORDER = 10, 4096  # fewer do not gain from rows that lie together
ROWS_PER_QUERY = 100  # nor do queries that are fewer than one per so many rows
FOLDS_TO_SHARE = 20  # fewer, of many rows each, soon disagree: sharing them gains nothing
CALLS_TO_SHARE = 16  # folds share an exploration that takes no longer than so many calls
CELLS_PER_CALL = 2e8  # a kernel call ends within about a second, so that Ctrl-C and the progress bar are served


class Forest(NamedTuple):
    """A table, what is predicted from it, and by which rules."""

    kept: Kept
    target: Target
    rules: Rules
    n_estimators: int
    reduced: bool  # answer a query without the columns that it misses

    @property
    def table(self) -> Table:
        """Ranks all columns if they are not yet."""
        return self.kept.table


class Costs(NamedTuple):
    nodes: int = 0
    rows_scanned: int = 0
    stack_words: int = 0
    bytes: int = 0
    cpu_seconds: float = 0.0
    forks: int = 0  # groups of queries that left another, for their best condition is a different one
    rows_scanned_by_refits: int | None = None  # what answering fold by fold would have scanned; None: not counted

    def plus(self, other: Costs) -> Costs:
        return Costs(
            self.nodes + other.nodes,
            self.rows_scanned + other.rows_scanned,
            max(self.stack_words, other.stack_words),
            max(self.bytes, other.bytes),
            self.cpu_seconds + other.cpu_seconds,
            self.forks + other.forks,
        )


class Answer(NamedTuple):
    """Whole-number votes (a column per class; regression: sum of means, trees), what they cost, eager trees."""

    votes: Array
    costs: Costs
    trees: list[Record]


def total_bytes(value: Any, without: Any = ()) -> int:
    """Bytes of all arrays in nested tuples and lists, each once, also where several look at it."""
    found: dict[int, int] = {}
    note_bytes((value,), found)
    known: dict[int, int] = {}
    note_bytes((without,), known)
    return sum(size for owner, size in found.items() if owner not in known)


def note_bytes(values: Iterable[Any], found: dict[int, int]) -> None:
    """The bytes of arrays, by who holds them."""
    for value in values:
        if isinstance(value, np.ndarray):  # first: most are
            owner, base = value, value.base
            while isinstance(base, np.ndarray):
                owner, base = base, base.base
            found[id(owner)] = owner.nbytes
        elif isinstance(value, (tuple, list)):
            note_bytes(value, found)
        elif hasattr(value, "nbytes"):
            found[id(value)] = int(value.nbytes)


class Shared:
    """What all calls of a function have in common.

    Arrays in it are memory-mapped once by joblib's processes. Its Dask backend sends what says that it is large, and is
    the same object in every call, to each worker once.
    """

    def __init__(self, function: Callable[..., Answer], *values: Any) -> None:
        self.function, self.values = function, values

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + total_bytes(self.values)


def call(shared: Shared, *own: Any) -> Answer:
    return shared.function(*shared.values, *own)


def call_all(shared: Shared, calls: Sequence[tuple[Any, ...]], jobs: int) -> Iterator[Answer]:
    """The answers of calls, in their order: in this thread, in others, or where joblib is told to run them.

    Its own threads would do, but joblib asks whether they are done every ten milliseconds: as long as half a forest.
    """
    if min(jobs, len(calls)) <= 1:
        yield from (call(shared, *own) for own in calls)
    elif threads_are_wanted():
        with threads(jobs) as pool:
            yield from pool.map(call, [shared] * len(calls), *zip(*calls, strict=True))
    else:
        yield from Parallel(n_jobs=jobs, return_as="generator")(delayed(call)(shared, *own) for own in calls)


def no_votes(forest: Forest, X: Array) -> Array:
    return np.zeros((len(X), forest.target.n_classes or 2), dtype=np.int64)


def explore_some(forest: Forest, X: Array, columns: Array, trees: range, queries: slice, members: int = 1) -> Answer:
    """Explore some trees for some rows of X; eager ones are kept and not asked for a vote.

    In this thread, or in a team of so many where trees go side by side.
    """
    X = X[queries]
    if 1 < len(trees) <= count_side_by_side(forest, len(X), len(columns)):
        return explore_side_by_side(forest, X, columns, trees, members)
    task = new_task(forest.table, forest.target, forest.rules, X, columns)
    votes = no_votes(forest, X)
    kept: list[Record] = []
    if forest.rules.algorithm == EAGER:
        room = new_room()
        kept = [explore_recording(task, tree, votes, room) for tree in trees]
    else:
        explore_silently(task, trees, votes)
    return Answer(votes, costs_of(task, total_bytes((task.bag, task.search, task.small, votes))), kept)


def costs_of(task: Task, size: int) -> Costs:
    costs = task.bag.costs
    return Costs(int(costs[NODES]), int(costs[ROWS_SCANNED]), int(costs[STACK_WORDS]), size)


def count_side_by_side(forest: Forest, n_queries: int, n_columns: int) -> int:
    """How many trees one query may go down together."""
    kept, target, rules = forest[:3]
    if n_queries != 1 or n_columns == 0 or kept.n_codes.max(initial=0) >= BINS:
        return 1
    return count_lanes(kept.shape[0], kept.bytes_when_ranked, target, rules, n_columns)


def explore_side_by_side(forest: Forest, X: Array, columns: Array, trees: range, members: int) -> Answer:
    """``explore_some`` for one query: all trees together as long as they share rows, then each with what is left."""
    binned = forest.kept.binned
    encoded = forest.table if binned is None else binned
    team, sides = new_team(encoded, columns, len(trees), min(members, most_members(len(trees))))
    found = work_together(partial(explore_as_member, forest, binned, X, columns, trees, team, sides), len(team.counts))
    costs = reduce(Costs.plus, (answer.costs for answer in found))
    size = total_bytes((team, sides)) + sum(answer.costs.bytes for answer in found)
    return Answer(np.sum([answer.votes for answer in found], axis=0), costs._replace(bytes=size), [])


def explore_as_member(
    forest: Forest,
    binned: Binned | None,
    X: Array,
    columns: Array,
    trees: range,
    team: Team,
    sides: Sides,
    me: int,
    ready: Callable[[], object],
) -> Answer:
    """What one thread of a team does."""
    votes = no_votes(forest, X)
    table = forest.table if binned is None else table_of_bins(binned)
    member = new_member(team, sides, me, table, forest.target, columns, binned)
    task = new_task(table, forest.target, forest.rules, X, columns)
    ready()
    rows, trees, handed = walk_together(task, team, sides, member, trees, votes)
    own, others = [task.bag, task.search, task.small, member, votes], [team, sides, task.search.f, binned]
    if handed.wanted.any():
        rows = rows.astype(np.intp)  # once: all that is taken would do it again
        table = take_table(table, rows) if binned is None else rank_rows(binned, rows)
        own += [table, handed]
        heaviest = int(team.heavy.sum(axis=0).max())
        explore_silently(go_on(task, table, take_target(forest.target, rows), handed, heaviest), trees, votes)
    return Answer(votes, costs_of(task, total_bytes(own, without=others)), [])


def explore(forest: Forest, X: Array, columns: Array, n_jobs: int | None, verbose: bool) -> Answer:
    """Explore all trees for the rows of X, looking at ``columns`` only."""
    jobs, before = effective_n_jobs(n_jobs), time.process_time()
    if pays_to_reorder(forest, len(X)):
        forest = take(forest, lying_together(forest, columns))
    side_by_side, members = count_side_by_side(forest, len(X), len(columns)), 1
    if side_by_side > 1 and jobs > 1 and threads_are_wanted():
        jobs = min(jobs, cores())
        members = min(jobs, most_members(min(forest.n_estimators, side_by_side)))
        jobs //= members  # from here on, of teams
    calls = plan_calls(forest, len(X), side_by_side, jobs)
    if len(calls) > 1:  # before several threads want it
        forest.kept.prepare(bins_only=side_by_side > 1)
    total = Answer(no_votes(forest, X), Costs(), [])
    with Progress(sum(len(trees) for trees, _ in calls), "trees", verbose) as progress:
        found = call_all(Shared(explore_some, forest, X, columns), [(*some, members) for some in calls], jobs)
        for (trees, queries), (votes, costs, kept) in zip(calls, found, strict=True):
            total.votes[queries] += votes
            total = Answer(total.votes, total.costs.plus(costs), total.trees + kept)
            progress.advance(len(trees))
    spent = total.costs._replace(bytes=total.costs.bytes * jobs, cpu_seconds=time.process_time() - before)
    return total._replace(costs=spent)


def plan_calls(forest: Forest, n_queries: int, side_by_side: int, jobs: int) -> list[tuple[range, slice]]:
    """Trees and queries per kernel call, so that each ends within about a second; so many trees go side by side.

    The lazy algorithm starts anew for every query, so that it may be cut between queries as well.
    """
    n, m = forest.kept.shape
    trees, lazy = forest.n_estimators, forest.rules.algorithm == LAZY
    cells = n * m * (2.0 if lazy else 1 + math.log2(1 + (n if forest.rules.algorithm == EAGER else n_queries)))
    many = int(min(max(CELLS_PER_CALL / cells, 1), n_queries)) if lazy else max(n_queries, 1)
    per_call = int(min(max(CELLS_PER_CALL / (cells * (many if lazy else 1)), 1), -(-trees // jobs)))
    slices = [slice(first, min(first + many, n_queries)) for first in range(0, max(n_queries, 1), many)]
    ranges = [range(first, min(first + per_call, trees)) for first in range(0, trees, per_call)]
    if side_by_side > 1:  # about equally many each, and never one alone, which would need all columns ranked
        calls = max(-(-trees // side_by_side), min(jobs, trees // 2), 1)
        ranges = [range(k * trees // calls, (k + 1) * trees // calls) for k in range(calls)]
    return [(some, queries) for some in ranges for queries in slices]


def walk_trees(forest: Forest, grown: Answer, X: Array) -> Answer:
    """Votes of trees that were grown before; the cost of growing them counts."""
    before, votes = time.process_time(), no_votes(forest, X)
    for tree in grown.trees:
        walk(tree, X, votes)
    walked = Costs(bytes=total_bytes(grown.trees) + votes.nbytes, cpu_seconds=time.process_time() - before)
    return Answer(votes, grown.costs.plus(walked), grown.trees)


def answer(forest: Forest, grown: Answer | None, X: Array, n_jobs: int | None, verbose: bool) -> Answer:
    """Votes for the rows of X, from trees grown before or from an exploration."""
    if grown is not None:
        return walk_trees(forest, grown, X)
    if not forest.reduced:
        return explore(forest, X, np.arange(X.shape[1]), n_jobs, verbose)
    total = Answer(no_votes(forest, X), Costs(), [])
    groups = list(by_missing_columns(X))
    with Progress(len(groups), "groups of rows that miss the same columns", verbose) as progress:
        for queries, columns in groups:
            found = explore(forest, X[queries], columns, n_jobs, verbose=False)
            if forest.rules.algorithm == EAGER:
                found = walk_trees(forest, found, X[queries])
            total.votes[queries] = found.votes
            total = total._replace(costs=total.costs.plus(found.costs))
            progress.advance(1)
    return total


def by_missing_columns(X: Array) -> Iterator[tuple[Array, Array]]:
    """Rows that miss the same columns, and the columns that they have, in order of appearance."""
    _, first, group = np.unique(np.isnan(X), axis=0, return_index=True, return_inverse=True)
    for k in np.argsort(first):
        yield np.flatnonzero(group.ravel() == k), np.flatnonzero(~np.isnan(X[first[k]]))


# Rows that are looked at together lie together ---------------------------------------------------------


def pays_to_reorder(forest: Forest, n_queries: int) -> bool:
    """Do many trees look at a large share of many rows? Multinomial counts belong to places: there rows stay."""
    rules, n = forest.rules, forest.kept.shape[0]
    many = forest.n_estimators >= TREES_TO_REORDER and n > ROWS_TO_REORDER and rules.bootstrap != MULTINOMIAL
    wide = rules.algorithm == EAGER or (rules.algorithm == BATCHED and n_queries * ROWS_PER_QUERY >= n)
    return bool(many and wide)


def lying_together(forest: Forest, columns: Array) -> Array:
    """The rows in the order in which a tree of all of them parts them. The trees of the forest part them much alike,
    so that what they look at together is found together in memory.
    """
    rules = forest.rules._replace(algorithm=EAGER, bootstrap=EVERY_ROW_ONCE, min_samples_split=BLOCK + 1)
    nobody = np.empty((0, forest.kept.shape[1]))
    task = new_task(forest.table, forest.target, rules, nobody, columns)
    explore_silently(task, range(1), no_votes(forest, nobody))
    heavy = task.bag.rows[: task.bag.size[0]]
    return np.concatenate([heavy, np.flatnonzero(task.search.weight == 0)])


# Forests of some of the rows ---------------------------------------------------------------------------


def take(forest: Forest, rows: Array) -> Forest:
    """The forest of some of the rows, in this order. They keep their codes: these are in the order of the values, and
    a node looks only at codes that it holds, so that a table encoded from these rows alone would answer the same.
    """
    return forest._replace(kept=Kept.ranked(take_table(forest.table, rows)), target=take_target(forest.target, rows))


def take_table(table: Table, rows: Array) -> Table:
    return table._replace(codes=table.codes.take(rows, axis=1), coarse=table.coarse.take(rows, axis=0))


def take_target(target: Target, rows: Array) -> Target:
    y, weight, ids = target.y.take(rows), target.weight.take(rows), target.row_ids.take(rows)
    multiplicity = weight if target.weights_are_sizes else target.multiplicity.take(rows)
    return target._replace(y=y, weight=weight, multiplicity=multiplicity, row_ids=ids)


def explore_folds(forest: Forest, X: Array, own: Array, folds: Array, n_jobs: int | None, verbose: bool) -> Answer:
    """Each query is answered by the forest of the rows that are not in its own fold.

    ``folds`` has the fold of each row of the table, ``own`` that of each query; -1 is no fold: such a row is seen by
    all, such a query sees all rows.
    """
    alike = forest.rules.min_weight_fraction_leaf == 0.0  # otherwise what a side has to weigh depends on the fold
    lone = np.bincount(folds[folds >= 0], minlength=1).max() <= 1
    explored = explore_shared if alike and (lone or pays_to_share(forest, folds, own)) else explore_fold_by_fold
    return explored(forest, X, own, folds, n_jobs, verbose)


def pays_to_share(forest: Forest, folds: Array, own: Array) -> bool:
    """Can folds of many rows share an exploration, and does it end within a few calls' time, for it is one?"""
    (n, m), n_folds = forest.kept.shape, int(max(folds.max(), own.max(initial=-1))) + 1
    cells = n_folds * n * m * (1 + np.log2(n))
    few_calls = cells < CALLS_TO_SHARE * CELLS_PER_CALL
    return n_folds >= FOLDS_TO_SHARE and few_calls and can_subtract(forest.table, forest.target, forest.rules)


def explore_shared(forest: Forest, X: Array, own: Array, folds: Array, n_jobs: int | None, verbose: bool) -> Answer:
    """``explore_folds`` with queries that travel together until leaving out their own folds makes them disagree."""
    jobs, before, trees = effective_n_jobs(n_jobs), time.process_time(), forest.n_estimators
    places = np.argsort(own, kind="stable")  # of the queries, as they are asked
    forest, X, own, folds = in_order(forest, folds), X[places], own[places], np.sort(folds)
    if left_out_alone(own, folds) and pays_to_reorder(forest, len(X)):
        order = lying_together(forest, np.arange(X.shape[1]))
        forest, X, places = take(forest, order), X[order], places[order]
    votes, costs, refits = no_votes(forest, X), Costs(), 0
    looked_up = (forest.target.n_classes, forest.rules.criterion) == (2, ENTROPY)
    looked_up = looked_up and forest.rules.max_features >= X.shape[1]
    rows = ROWS_LEFT_OUT if looked_up else ROWS_LEFT_OUT / SLOWER
    per_call = int(np.clip(rows / len(X), 1, -(-trees // (4 * jobs))))
    ranges = [range(first, min(first + per_call, trees)) for first in range(0, trees, per_call)]
    forest.kept.prepare(bins_only=False)
    with Progress(trees, "trees", verbose) as progress:
        answers = call_all(Shared(explore_some_folds, forest, X, own, folds), [(some,) for some in ranges], jobs)
        for some, found in zip(ranges, answers, strict=True):
            votes[places] += found.votes
            costs = costs.plus(found.costs)
            refits += found.costs.rows_scanned_by_refits or 0
            progress.advance(len(some))
    seconds = time.process_time() - before
    spent = costs._replace(bytes=costs.bytes * jobs, cpu_seconds=seconds, rows_scanned_by_refits=refits)
    return Answer(votes, spent, [])


def in_order(forest: Forest, keys: Array) -> Forest:
    """The forest with its rows in the order of some keys."""
    return forest if np.all(keys[:-1] <= keys[1:]) else take(forest, np.argsort(keys, kind="stable"))


def left_out_alone(own: Array, folds: Array) -> bool:
    """Is every row a query, and the only one of its fold? Both ascend. Then it does not matter which fold is whose."""
    return bool(np.array_equal(own, folds) and own[0] >= 0 and np.all(np.diff(own) > 0))


def explore_some_folds(forest: Forest, X: Array, own: Array, folds: Array, trees: range) -> Answer:
    """Explore some trees in this thread."""
    task = new_task(forest.table, forest.target, forest.rules, X, np.arange(X.shape[1]))
    votes, room = no_votes(forest, X), [3 * len(forest.target.y) + BLOCK]
    buffers = explore_without(task, folds, own, trees, votes, room)
    nodes, scanned, words, forks, refits = task.bag.costs.tolist()
    size = total_bytes((task.bag, task.search, task.small, buffers, votes))
    return Answer(votes, Costs(nodes, scanned, words, size, 0.0, forks, refits), [])


def explore_fold_by_fold(
    forest: Forest, X: Array, own: Array, folds: Array, n_jobs: int | None, verbose: bool
) -> Answer:
    """``explore_folds``, a fold at a time."""
    asked = np.unique(own)
    queries = [np.flatnonzero(own == fold) for fold in asked]
    sides = (
        (take(forest, np.flatnonzero((folds != fold) | (fold < 0))), X[some])
        for fold, some in zip(asked, queries, strict=True)
    )
    found = explore_split_by_split(sides, len(asked), "folds", n_jobs, verbose)
    votes = np.empty_like(found.votes)
    votes[np.concatenate(queries)] = found.votes
    return found._replace(votes=votes)


def explore_split_by_split(
    sides: Iterable[tuple[Forest, Array]], n_splits: int, what: str, n_jobs: int | None, verbose: bool
) -> Answer:
    """Explore a forest and its queries, then the next; votes are one below the other. Trees are never kept."""
    votes, costs = [], Costs()
    with Progress(n_splits, what, verbose) as progress:
        for forest, X in sides:
            batched = forest._replace(rules=forest.rules._replace(algorithm=BATCHED))
            found = answer(batched, None, X, n_jobs, verbose=False)
            votes.append(found.votes)
            costs = costs.plus(found.costs)
            progress.advance(1)
    return Answer(np.concatenate(votes), costs._replace(rows_scanned_by_refits=costs.rows_scanned), [])
