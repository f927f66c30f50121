"""The exploration of a table in partitions, level by level, for all trees at once.

    open nodes      ask       (nodes.py)    histograms, then closer looks where bounds leave a doubt
    partitions      count     (passes.py)   rows walk to their open nodes and are added up where they lie
    driver          choose                  the engine's own search, from sums alone
    queries         part                    a side without a query is never opened

Questions are packed into passes whose results stay within a budget of bytes. What is known after a pass is the paths:
conditions of all trees so far. They are all that is sent out, so that a lost partition is read again and counted anew.
When the rows that open nodes still hold have become few, workers note where these stand, and at last keep only them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np

from lazyforest.dask.coding import Coding
from lazyforest.dask.nodes import Asked, Condition, Range, Search, Spot, Table, Told, search
from lazyforest.dask.passes import Part, Result, Work, add, count, cut_down, renumber, stand
from lazyforest.engine.bootstrap import CHILD, mix, root_key
from lazyforest.engine.counts import x_log2_x_table
from lazyforest.engine.exploration import cast
from lazyforest.engine.layout import BINS, ROW, SQUARED_ERROR, WEIGHTS, Array, Rules, frozen
from lazyforest.engine.parts import (
    BELOW,
    BORDER,
    COLUMN,
    CUT,
    MEMBER,
    MISSING,
    NODE,
    PLACE,
    ROWS,
    SIZE,
    SLOT,
    TOTAL,
    Draw,
    Paths,
    Wanted,
)

SHRUNK = 2  # where rows stand is noted again when open nodes hold so many times fewer of them
STANDING = np.dtype(ROW).itemsize  # bytes to note a row of a tree
RUN = 24  # bytes to note a node of a partition


class Forest(NamedTuple):
    """What is predicted from a table in partitions, and by which rules."""

    coding: Coding
    rules: Rules
    n_classes: int  # 0: regression
    n_estimators: int
    weights_are_sizes: bool
    most_weight: int  # of a bootstrap


class Executor(Protocol):
    """Where the partitions are."""

    room: int  # bytes for what is known of rows, of all partitions together
    parts: list[Any]

    def run(self, work: Work) -> Result:
        """The sum of a pass over all partitions."""

    def stand(self, work: Work) -> None:
        """Note where the rows of open nodes stand."""

    def cut_down(self, work: Work) -> None:
        """Keep only rows that stand somewhere, with their numbers."""


class Here:
    """Partitions in this process: for tests, and to show that nothing else is needed."""

    def __init__(self, parts: list[Part], raws: list[Any], room: int) -> None:
        self.parts, self.raws, self.room = parts, raws, room
        self.standing: list[Any] = [None] * len(parts)
        self.passes = 0

    def each(self, do: Any, work: Work) -> list[Any]:
        raws = [take(x, work.keyed) for x in self.raws]
        return [do(*of, work) for of in zip(self.parts, self.standing, raws, strict=True)]

    def run(self, work: Work) -> Result:
        self.passes += 1
        return add(self.each(count, work))

    def stand(self, work: Work) -> None:
        self.standing = self.each(stand, work)

    def cut_down(self, work: Work) -> None:
        self.parts = self.each(cut_down, work)
        self.standing = list(map(renumber, self.standing))


def take(X: Any, columns: list[int]) -> Any:
    """Some columns of a data frame or an array."""
    return X.iloc[:, columns] if hasattr(X, "iloc") else X[:, columns]


class OpenNode(NamedTuple):
    """A node, the search for its condition, and what that asks."""

    spot: Spot
    talk: Search
    asked: Asked


def node_of(column: int = -1, cut: int = 0, border: int = 0, missing: int = 0, member: int = -1) -> list[int]:
    """A node of the paths; by default without a condition."""
    node = [-1] * NODE
    node[COLUMN], node[CUT], node[BORDER], node[MISSING], node[MEMBER] = column, cut, border, missing, member
    return node


class Trees:
    """The conditions known so far."""

    def __init__(self, n_trees: int) -> None:
        self.nodes = [node_of() for _ in range(n_trees)]
        self.keys = [0] * n_trees
        self.sets: list[Array] = []
        self.n_trees, self.members = n_trees, 0
        self.passed: set[int] = set()  # nodes above those where rows are known to stand

    def grow(self, at: int, condition: Condition, n_codes: int) -> int:
        """Add a condition; returns the place of its invalid side, after which comes the valid one."""
        child, member_at = len(self.nodes), -1
        if condition.members is not None:
            member_at, self.members = self.members, self.members + n_codes
            self.sets.append(np.isin(np.arange(n_codes), condition.members))
        of, missing = condition, int(condition.missing_is_valid)
        self.nodes[at] = node_of(column=of.column, cut=of.cut, border=of.border, missing=missing, member=member_at)
        self.nodes[at][BELOW], self.keys[at] = child, of.key
        self.nodes += [node_of() for _ in range(2)]
        self.keys += [0, 0]
        return child

    def paths(self, spots: list[Spot]) -> Paths:
        """As arrays, with some open nodes numbered. Where none of these is below, the walk may end."""
        nodes, keys = np.array(self.nodes), np.array(self.keys, dtype=np.uint64)
        nodes[[spot.at for spot in spots], SLOT] = np.arange(len(spots))
        nodes[~leading_to(nodes[:, SLOT], nodes[:, BELOW]), COLUMN] = -1
        return Paths(nodes, keys, np.concatenate([*self.sets, np.zeros(1, dtype=np.bool_)]))

    def note_standing(self) -> None:
        """Rows stand at nodes without a condition now."""
        self.passed = {at for at, node in enumerate(self.nodes) if node[COLUMN] >= 0}

    def bordered(self, paths: Paths) -> set[int]:
        """Columns of which some rows' numbers are needed to tell their side."""
        asked = np.flatnonzero((paths.node[:, COLUMN] >= 0) & (paths.node[:, BORDER] > 0)).tolist()
        return {self.nodes[at][COLUMN] for at in asked if at not in self.passed}


class Exploration:
    """One batch of queries, answered by some columns."""

    def __init__(self, forest: Forest, X: Array, columns: Array, executor: Executor, budget: int) -> None:
        coding, rules = forest.coding, forest.rules
        wide = coding.is_category[columns] & (coding.n_codes[columns] > BINS)
        f = frozen(x_log2_x_table(min(forest.most_weight, 2**62)))
        self.table = Table(coding, rules, forest.n_classes, columns, columns[~wide], f)
        self.forest, self.X, self.executor, self.budget = forest, X, executor, budget
        self.trees, self.compact, self.held = Trees(forest.n_estimators), False, np.inf
        self.votes = np.zeros((len(X), forest.n_classes or 2), dtype=np.int64)
        self.dtype = WEIGHTS[0] if forest.n_classes and forest.most_weight < 2**32 else WEIGHTS[1]
        self.inexact = [j for j in columns.tolist() if not coding.exact[j]]

    def explore(self) -> Array:
        """The votes of all trees. A node that knows its condition goes on to its children in the next pass, whatever
        other nodes still ask.
        """
        open_nodes = self.open(self.plant())
        while open_nodes:
            self.shrink([node.spot for node in open_nodes])
            further: list[OpenNode] = []
            for some in self.pack(open_nodes):
                asked = [node.asked for node in some]
                work = self.work([node.spot for node in some], asked)
                result = self.executor.run(work)
                for node, told in zip(some, answers(asked, work, result), strict=True):
                    spot = node.spot._replace(rows=float(told.rows))
                    try:
                        further.append(OpenNode(spot, node.talk, node.talk.send(told)))
                    except StopIteration as end:
                        further += self.open(self.part(spot, end.value))
            open_nodes = sorted(further, key=lambda node: node.spot.tree)
        return self.votes

    def open(self, spots: Iterable[Spot]) -> list[OpenNode]:
        """Nodes with their first questions; those known to be leaves vote instead."""
        found = []
        for spot in spots:
            if not self.retire(spot):
                talk = search(self.table, spot)
                found.append(OpenNode(spot, talk, next(talk)))
        return found

    def shrink(self, spots: list[Spot]) -> None:
        """Note where rows stand if open nodes hold few, and many fewer than when this was last done."""
        rows = sum(spot.rows for spot in spots)
        noted = rows * STANDING + min(rows, len(spots) * len(self.executor.parts)) * RUN
        if rows * SHRUNK > self.held or noted > self.executor.room:
            return
        work = self.work(spots, [Asked(False, [])] * len(spots))
        self.executor.stand(work)
        self.trees.note_standing()
        self.held = rows
        code = self.forest.coding.dtype.itemsize
        row_bytes = sum(8 * (j in self.inexact) + code for j in range(len(self.forest.coding.columns))) + 24
        if not self.compact and rows * row_bytes <= self.executor.room:
            self.compact = True
            self.executor.cut_down(work._replace(keyed=self.inexact))

    def plant(self) -> list[Spot]:
        """The roots, after a first pass that sums up every bag."""
        seed, queries, nothing = self.forest.rules.seed, np.arange(len(self.X)), np.zeros(0)
        spots = [
            Spot(tree, tree, 0, np.uint64(root_key(seed, tree)), queries, nothing, 0.0)
            for tree in range(self.forest.n_estimators)
        ]
        work = self.work(spots, [Asked(False, [])] * len(spots))
        tally = self.executor.run(work).tally
        return [spot._replace(total=row[TOTAL:], rows=float(row[ROWS])) for spot, row in zip(spots, tally, strict=True)]

    def retire(self, spot: Spot) -> bool:
        """Let a node vote if it is known to be a leaf."""
        rules, total = self.forest.rules, spot.total
        weight = int(total[0] if rules.criterion == SQUARED_ERROR else total.sum())
        pure = rules.criterion != SQUARED_ERROR and np.count_nonzero(total) < 2
        small = self.forest.weights_are_sizes and weight < rules.min_samples_split
        leaf = weight == 0 or spot.depth >= rules.max_depth or pure or small
        if leaf:
            self.vote(spot)
        return bool(leaf)

    def vote(self, spot: Spot) -> None:
        vote = np.zeros(self.votes.shape[1], dtype=np.int64)
        cast(np.ascontiguousarray(spot.total), self.forest.rules, vote)
        self.votes[spot.queries] += vote

    def part(self, spot: Spot, condition: Condition | None) -> Iterator[Spot]:
        """The sides that queries go to; a leaf votes and has none."""
        if condition is None:
            self.vote(spot)
            return
        j = condition.column
        x = self.X[spot.queries, j]
        valid = np.isin(x, condition.members) if condition.members is not None else x >= condition.threshold
        valid = np.where(np.isnan(x), condition.missing_is_valid, valid)
        child = self.trees.grow(spot.at, condition, int(self.forest.coding.n_codes[j]))
        regression = self.forest.rules.criterion == SQUARED_ERROR
        for side, total in enumerate((condition.left, spot.total - condition.left)):
            queries = spot.queries[valid == side]
            if len(queries):
                share = total[0] / spot.total[0] if regression else total.sum() / spot.total.sum()
                key = np.uint64(mix(spot.key, CHILD + np.uint64(side)))
                yield Spot(spot.tree, child + side, spot.depth + 1, key, queries, total, spot.rows * float(share))

    def pack(self, open_nodes: list[OpenNode]) -> Iterator[list[OpenNode]]:
        """Nodes whose answers together stay within the budget; at least one."""
        some: list[OpenNode] = []
        size = 0.0
        statistics = self.forest.n_classes or 3
        histogram = len(self.table.counted) * BINS * statistics * np.dtype(self.dtype).itemsize
        for node in open_nodes:
            more = node.asked.histograms * histogram + sum(self.cost(r)[0] for r in node.asked.ranges)
            if some and size + more > self.budget:
                yield some
                some, size = [], 0.0
            some.append(node)
            size += more
        yield some

    def keyed(self, asked: list[Asked], paths: Paths) -> list[int]:
        """The columns whose numbers are needed, or are there."""
        if self.compact:
            return self.inexact
        return sorted({r.column for one in asked for r in one.ranges if r.by_key} | self.trees.bordered(paths))

    def cost(self, r: Range) -> tuple[float, int]:
        """The bytes that a range takes, and its steps if its rows are counted, for that takes less than a list."""
        steps, statistics = ((r.highest - r.lowest) >> r.width) + 1, self.forest.n_classes or 3
        counted, listed = steps * statistics * np.dtype(self.dtype).itemsize, r.entries * (16 + 8 * statistics)
        return (counted, steps) if counted <= listed else (listed, 0)

    def work(self, spots: list[Spot], asked: list[Asked]) -> Work:
        """The pass that answers some questions."""
        forest, coding, paths = self.forest, self.forest.coding, self.trees.paths(spots)
        keyed = self.keyed(asked, paths)
        dense = np.cumsum([one.histograms for one in asked]) - 1
        dense = np.where([one.histograms for one in asked], dense, -1)
        regression = forest.rules.criterion == SQUARED_ERROR
        centre = [int(s.total[1]) // int(s.total[0]) if regression and len(s.total) else 0 for s in spots]
        place = np.full(len(coding.columns), -1)
        place[keyed] = np.arange(len(keyed))
        paths.node[:, PLACE] = place[paths.node[:, COLUMN]]
        groups, columns, by_key, first = [0], [], [], []
        ranges: list[Range] = []
        for one in asked:
            last = None
            for r in ordered(one):
                if (r.column, r.by_key) != last:
                    columns.append(r.column)
                    by_key.append(r.by_key)
                    first.append(len(ranges))
                last = r.column, r.by_key
                ranges.append(r)
            groups.append(len(columns))
        steps = np.array([self.cost(r)[1] for r in ranges], dtype=np.int64)
        step_at = np.where(steps > 0, np.cumsum(steps) - steps, -1)
        per_tree = np.bincount([spot.tree for spot in spots], minlength=forest.n_estimators)
        wanted = Wanted(
            np.append(0, np.cumsum(per_tree)),
            dense,
            np.array(centre, dtype=np.int64),
            self.table.counted,
            coding.shift,
            place,
            np.array(groups),
            np.array(columns, dtype=np.int64),
            np.array(by_key, dtype=np.bool_),
            np.array(first, dtype=np.int64),
            np.array([*first[1:], len(ranges)][: len(first)], dtype=np.int64),
            np.array([r.lowest for r in ranges], dtype=np.uint64),
            np.array([r.highest for r in ranges], dtype=np.uint64),
            np.array([r.width for r in ranges], dtype=np.uint64),
            step_at,
            *bins_of(coding, ranges),
        )
        draw = Draw(forest.rules.seed, forest.rules.bootstrap, forest.rules.criterion, forest.weights_are_sizes)
        statistics, tallied = forest.n_classes or 3, TOTAL + (forest.n_classes or 2)
        histograms = sum(one.histograms for one in asked)
        return Work(paths, wanted, draw, histograms, int(steps.sum()), statistics, tallied, self.dtype, keyed)


def leading_to(slot: Array, child: Array) -> Array:
    """Which nodes have a numbered one below them; children come after their parents."""
    leads = (slot >= 0).tolist()
    for at, below in reversed(list(enumerate(child.tolist()))):
        if below >= 0:
            leads[at] = leads[below] or leads[below + 1]
    return np.array(leads, dtype=np.bool_)


def ordered(asked: Asked) -> list[Range]:
    """The ranges of a node as a pass takes them: column by column, ascending."""
    return sorted(asked.ranges, key=lambda r: (r.column, r.by_key, r.lowest))


def bins_of(coding: Coding, ranges: list[Range]) -> tuple[Array, Array]:
    """The first and the last coarse bin of each range."""
    bounds = np.array([(r.lowest, r.highest) for r in ranges], dtype=np.uint64).reshape(-1, 2)
    column, by_key = np.array([r.column for r in ranges], dtype=np.int64), np.array([r.by_key for r in ranges])
    codes = bounds.astype(np.int64)
    for j in np.unique(column[by_key]) if len(ranges) else ():
        some = by_key & (column == j)
        found = np.searchsorted(coding.edge_keys[j], bounds[some], side="right") + 1
        codes[some] = np.where(bounds[some] == 0, 0, found)
    bins = -(-codes >> coding.shift[column].astype(np.int64)[:, None])
    return bins[:, 0].copy(), bins[:, 1].copy()


def answers(asked: list[Asked], work: Work, result: Result) -> Iterator[Told]:
    """What each node is told, its ranges in the order in which it asked for them."""
    entries = entries_of(work, result)
    at = dense = 0
    for k, one in enumerate(asked):
        place = {r[:4]: at + i for i, r in enumerate(ordered(one))}
        told = [entries[place[r[:4]]] for r in one.ranges]
        at += len(one.ranges)
        histograms = result.histograms[dense] if one.histograms else result.histograms[:0]
        dense += one.histograms
        yield Told(int(result.tally[k, ROWS]), int(result.tally[k, SIZE]), histograms, told)


def entries_of(work: Work, result: Result) -> list[tuple[Array, Array]]:
    """Of each range the steps that have rows, and their statistics, whether they were counted or listed."""
    step_at, n = work.wanted.step_at, len(work.wanted.step_at)
    present = np.flatnonzero(result.steps.any(axis=1))
    held = result.steps[present].astype(np.int64)
    listed = np.searchsorted(result.range, np.arange(n + 1)).tolist()
    steps = np.where(step_at >= 0, ((work.wanted.highest - work.wanted.lowest) >> work.wanted.width) + np.uint64(1), 0)
    counted = np.searchsorted(present, np.stack([step_at, step_at + steps.astype(np.int64)])).T.tolist()
    found = []
    for k, start in enumerate(step_at.tolist()):
        if start >= 0:
            lo, hi = counted[k]
            found.append(((present[lo:hi] - start).astype(np.uint64), held[lo:hi]))
        else:
            span = slice(listed[k], listed[k + 1])
            found.append((result.step[span], result.held[span]))
    return found
