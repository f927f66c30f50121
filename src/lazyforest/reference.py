"""The paper's three listings in plain Python: slow, obvious, and the judge of the engine.

Everything that *Batched Lazy Decision Trees* (Guillame-Bert and Dubrawski, 2016, arXiv 1603.02578)
leaves open is decided here, once. The engine must give the same integers, bit for bit.

Whole numbers
    A row weighs a whole number: its bootstrap count times its fixed-point sample weight. A regression
    target is a whole number too. Sums of whole numbers do not depend on their order.
Size of a node
    The sum over its rows of bootstrap count times ``multiplicity`` (the sample weight if all sample
    weights are whole, so that weight 3 is the same as three copies; otherwise one).
Leaf
    Depth has reached ``max_depth`` (the listings' ``d`` is ``max_depth - 1``), size below
    ``min_samples_split``, all targets equal, or no condition gains more than 1e-10 per unit of weight.
Condition
    On a number: ``x >= t`` with t midway between two neighbouring values present at the node (the upper
    one if rounding leaves t outside ``(lower, upper]``). On a category: ``x in set``, where the set is a
    prefix of the categories present at the node in ascending order of target mean, ties by code; with
    more than two classes at the node, one order per class present, by the share of that class.
Least weight
    A condition counts only if each side weighs at least ``min_weight_fraction_leaf`` of the whole bag.
Missing values
    NaN. If training rows at the node miss the column, every cut is tried with them on the invalid, then
    on the valid side, and one more cut parts the missing from the present (numbers: ``t = -inf``;
    categories: the set of all categories at the node). If none misses it, a query that does goes to the
    heavier side, on equal weight to the invalid one. A category not at the node is in no set.
    ``missing="reduced"``: queries are grouped by the columns they miss; each group is answered by a
    forest that does not have these columns.
Score
    ``side(invalid) + side(valid)``, each a function of whole numbers evaluated in one order, in float64.
    Highest score wins; ties go to the lowest column, then to the first cut tried.
Random columns
    Columns are inspected in the order of their tickets, a hash of (seed, tree, path, column). After
    ``max_features`` of them the search stops, unless all of these were constant at the node: then it goes
    on to the first that is not (scikit-learn's rule).
Vote
    ``hard``: one vote for the heaviest class, ties to the first. ``soft``: the class shares in units of
    2**-40. Regression: the leaf's mean, rounded to a whole number of ``mean_unit``. A tree whose
    bootstrap is empty does not vote; if no tree votes, all classes are equally probable (regression: 0).
Memory
    A word per row index held by the listing's variables at the worst moment, over all bootstraps; four
    words per node of the eager model.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

WORD = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15
BOOTSTRAP, ROOT = 0, 1  # what a tree's key is used for
CHILD, TICKET = 1, 3  # what a node's key is used for: CHILD + side, TICKET + column
SOFT_UNIT = 2.0**40
MIN_GAIN = 1e-10
NODE_WORDS = 4


class Settings(NamedTuple):
    """The forest's parameters, named as in the estimators; ``max_depth`` and ``max_features`` may be None."""

    n_estimators: int = 10
    criterion: str = "entropy"
    max_depth: int | None = 20
    min_samples_split: int = 5
    min_weight_fraction_leaf: float = 0.0
    max_features: int | None = None
    bootstrap: str | bool = "poisson"
    voting: str = "hard"
    missing: str = "route"
    seed: int = 0
    mean_unit: float = 1.0


class Training(NamedTuple):
    """The table: numbers, or category codes where ``categorical``; whole-number targets and weights."""

    X: Array
    y: Array
    n_classes: int  # 0: regression
    weight: Array
    multiplicity: Array
    row_ids: Array
    categorical: Array


class Explored(NamedTuple):
    """What a forest answers: whole-number votes, and what it cost."""

    votes: Array  # a column per class; regression: sum of means, number of trees that voted
    nodes: list[tuple[int, int]]  # (tree, key of the path), in the order of exploration
    rows_scanned: int  # rows of the nodes in which a condition was searched
    stack_words: int
    model_words: int


class Condition(NamedTuple):
    column: int
    threshold: float | None  # numbers
    members: frozenset[float] | None  # categories
    missing_is_valid: bool


class Node(NamedTuple):
    condition: Condition | None
    children: tuple[Node, Node] | None
    vote: Array


def table(X: Array, y: Array, n_classes: int, **given: Any) -> Training:
    """A Training with the usual defaults: weights of one, row ids 0, 1, 2..., only numbers."""
    n, m = X.shape
    weight = np.asarray(given.get("weight", np.ones(n)), dtype=np.int64)
    return Training(
        np.asarray(X, dtype=np.float64),
        np.asarray(y, dtype=np.int64),
        n_classes,
        weight,
        np.asarray(given.get("multiplicity", weight), dtype=np.int64),
        np.asarray(given.get("row_ids", np.arange(n)), dtype=np.int64),
        np.asarray(given.get("categorical", np.zeros(m)), dtype=bool),
    )


# The listings ----------------------------------------------------------------------------------------


def eager_forest(T: Training, S: Array, settings: Settings) -> Explored:
    """Listing 1: grow every tree to the end, keep it, then let each unlabeled row walk it."""

    def rec_build(rows: Array, depth: int, key: int) -> Node:
        trace.nodes.append((tree, key))
        if is_leaf(T, rows, counts, depth, settings):
            return Node(None, None, leaf_vote(T, rows, counts, settings))
        trace.rows_scanned += len(rows)
        condition = best_condition(T, rows, counts, columns, key, settings, least)
        if condition is None:
            return Node(None, None, leaf_vote(T, rows, counts, settings))
        valid = is_valid(condition, T.X[rows])
        left, right = rows[~valid], rows[valid]
        trace.hold(len(left) + len(right))
        t_left = rec_build(left, depth + 1, mix(key, CHILD))
        t_right = rec_build(right, depth + 1, mix(key, CHILD + 1))
        trace.release(len(left) + len(right))
        return Node(condition, (t_left, t_right), leaf_vote(T, rows, counts, settings))

    trace = Trace(T, S)
    for queries, columns in by_missing_columns(S, settings):
        for tree in range(settings.n_estimators):
            counts = bootstrap_counts(settings, tree, T.row_ids)
            rows = np.flatnonzero(counts * T.weight)
            least = settings.min_weight_fraction_leaf * float((counts * T.weight).sum())
            trace.hold(len(rows))
            root = rec_build(rows, 0, root_key(settings.seed, tree))
            trace.release(len(rows))
            for q in queries:
                node = root
                while node.condition is not None and node.children is not None:
                    node = node.children[int(is_valid(node.condition, S[[q]])[0])]
                trace.votes[q] += node.vote
    return trace.explored(model_words=NODE_WORDS * len(trace.nodes))


def lazy_forest(T: Training, S: Array, settings: Settings) -> Explored:
    """Listing 2: for each unlabeled row and bootstrap, only the path that the row takes."""
    trace = Trace(T, S)
    for queries, columns in by_missing_columns(S, settings):
        for tree in range(settings.n_estimators):
            counts = bootstrap_counts(settings, tree, T.row_ids)
            bag = np.flatnonzero(counts * T.weight)
            least = settings.min_weight_fraction_leaf * float((counts * T.weight).sum())
            trace.hold(len(bag))
            for q in queries:
                rows, depth, key = bag, 0, root_key(settings.seed, tree)
                trace.nodes.append((tree, key))
                while not is_leaf(T, rows, counts, depth, settings):
                    trace.rows_scanned += len(rows)
                    condition = best_condition(T, rows, counts, columns, key, settings, least)
                    if condition is None:
                        break
                    side = bool(is_valid(condition, S[[q]])[0])
                    kept = rows[is_valid(condition, T.X[rows]) == side]
                    trace.hold(len(kept))
                    if rows is not bag:
                        trace.release(len(rows))
                    rows, depth, key = kept, depth + 1, mix(key, CHILD + side)
                    trace.nodes.append((tree, key))
                if rows is not bag:
                    trace.release(len(rows))
                trace.votes[q] += leaf_vote(T, rows, counts, settings)
            trace.release(len(bag))
    return trace.explored()


def batched_lazy_forest(T: Training, S: Array, settings: Settings) -> Explored:
    """Listing 3: training rows and unlabeled rows go down together; a side without the latter stays shut."""

    def rec_run(rows: Array, queries: Array, depth: int, key: int) -> None:
        trace.nodes.append((tree, key))
        condition = None
        if not is_leaf(T, rows, counts, depth, settings):
            trace.rows_scanned += len(rows)
            condition = best_condition(T, rows, counts, columns, key, settings, least)
        if condition is None:
            trace.votes[queries] += leaf_vote(T, rows, counts, settings)
            return
        valid = is_valid(condition, S[queries])
        trace.hold(len(queries))
        for side, some in ((0, queries[~valid]), (1, queries[valid])):
            if len(some):
                kept = rows[is_valid(condition, T.X[rows]) == side]
                trace.hold(len(kept))
                rec_run(kept, some, depth + 1, mix(key, CHILD + side))
                trace.release(len(kept))
        trace.release(len(queries))

    trace = Trace(T, S)
    for queries, columns in by_missing_columns(S, settings):
        for tree in range(settings.n_estimators):
            counts = bootstrap_counts(settings, tree, T.row_ids)
            rows = np.flatnonzero(counts * T.weight)
            least = settings.min_weight_fraction_leaf * float((counts * T.weight).sum())
            trace.hold(len(rows) + len(queries))
            rec_run(rows, queries, 0, root_key(settings.seed, tree))
            trace.release(len(rows) + len(queries))
    return trace.explored()


class Trace:
    """Votes and costs while a listing runs."""

    def __init__(self, T: Training, S: Array) -> None:
        self.votes = np.zeros((len(S), T.n_classes or 2), dtype=np.int64)
        self.nodes: list[tuple[int, int]] = []
        self.rows_scanned = self.words = self.most_words = 0

    def hold(self, words: int) -> None:
        self.words += words
        self.most_words = max(self.most_words, self.words)

    def release(self, words: int) -> None:
        self.words -= words

    def explored(self, model_words: int = 0) -> Explored:
        return Explored(self.votes, self.nodes, self.rows_scanned, self.most_words, model_words)


def by_missing_columns(S: Array, settings: Settings) -> Iterator[tuple[Array, Array]]:
    """Groups of queries and the columns they may use: all together, or by what they miss, in order of appearance."""
    everything = np.arange(S.shape[1])
    if settings.missing == "route":
        yield np.arange(len(S)), everything
        return
    groups: dict[tuple[int, ...], list[int]] = {}
    for q, row in enumerate(S):
        groups.setdefault(tuple(np.flatnonzero(~np.isnan(row))), []).append(q)
    for columns, queries in groups.items():
        yield np.array(queries), np.array(columns, dtype=np.int64)


# Random draws that belong to a row or to a node, never to a stream ------------------------------------


def mix(key: int, value: int) -> int:
    """Element ``value`` of the SplitMix64 sequence of ``key``: 64 bits that look drawn at random."""
    z = (key + GOLDEN * (value + 1)) & WORD
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & WORD
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & WORD
    return z ^ (z >> 31)


def root_key(seed: int, tree: int) -> int:
    return mix(mix(seed, tree), ROOT)


def poisson_steps() -> list[int]:
    """2**32 times the distribution function of Poisson(1): a 32-bit draw counts the steps it has passed."""
    steps, term, cumulated = [], 0.36787944117144233, 0.0  # exp(-1) / k!
    for k in range(1, 14):
        cumulated += term
        steps.append(int(cumulated * 2.0**32))
        term /= k
    return steps


def bootstrap_counts(settings: Settings, tree: int, row_ids: Array) -> Array:
    """How often each row is in the bag of ``tree``."""
    n = len(row_ids)
    key = mix(mix(settings.seed, tree), BOOTSTRAP)
    if settings.bootstrap == "poisson":
        steps = poisson_steps()
        return np.array([sum((mix(key, int(r)) >> 32) >= step for step in steps) for r in row_ids], dtype=np.int64)
    if settings.bootstrap == "multinomial":
        return np.bincount([(mix(key, i) * n) >> 64 for i in range(n)], minlength=n).astype(np.int64)
    return np.ones(n, dtype=np.int64)


# A node -----------------------------------------------------------------------------------------------


def statistics(T: Training, rows: Array, counts: Array) -> Array:
    """Weight per class; for regression, weight and weighted sum of targets."""
    weight = counts[rows] * T.weight[rows]
    if T.n_classes:
        return np.array([weight[T.y[rows] == c].sum() for c in range(T.n_classes)], dtype=np.int64)
    return np.array([weight.sum(), (weight * T.y[rows]).sum()], dtype=np.int64)


def is_leaf(T: Training, rows: Array, counts: Array, depth: int, settings: Settings) -> bool:
    size = int((counts[rows] * T.multiplicity[rows]).sum())
    too_deep = settings.max_depth is not None and depth >= settings.max_depth
    return too_deep or size < settings.min_samples_split or len(set(T.y[rows])) < 2


def leaf_vote(T: Training, rows: Array, counts: Array, settings: Settings) -> Array:
    held = statistics(T, rows, counts)
    if not len(rows):
        return np.zeros_like(held)
    if not T.n_classes:
        return np.array([np.rint(float(held[1]) / float(held[0]) * settings.mean_unit), 1], dtype=np.int64)
    if settings.voting == "soft":
        return np.rint(held / float(held.sum()) * SOFT_UNIT).astype(np.int64)
    winner: Array = (np.arange(len(held)) == np.argmax(held)).astype(np.int64)
    return winner


def is_valid(condition: Condition, X: Array) -> Array:
    x = X[:, condition.column]
    if condition.members is None:
        met = x >= condition.threshold
    else:
        met = np.array([v in condition.members for v in x], dtype=bool)
    return np.where(np.isnan(x), condition.missing_is_valid, met)


def x_log2_x(x: Any) -> Array:
    """x log2 x for whole numbers, from additions, products and quotients alone: the same on every machine.

    log2 of the mantissa m in [sqrt(1/2), sqrt(2)) is 2/ln(2) artanh((m - 1) / (m + 1)); twelve terms of the
    series reach the last bits of a float64.
    """
    x = np.asarray(x, dtype=np.float64)
    m, e = np.frexp(x)
    low = m < 0.7071067811865476
    m, e = np.where(low, m * 2.0, m), np.where(low, e - 1, e).astype(np.float64)
    s = (m - 1.0) / (m + 1.0)
    z = s * s
    series = np.full_like(x, 1.0 / 23.0)
    for k in range(10, -1, -1):
        series = series * z + 1.0 / (2 * k + 1)
    return np.asarray(x * (s * series * 2.8853900817779268 + e) + 0.0)


def side_score(held: Array, criterion: str) -> float:
    """How well one side is known, times its weight; higher is better."""
    if criterion == "squared_error":
        return float(held[1]) * float(held[1]) / float(held[0])
    total = int(held.sum())
    score = 0.0
    for count in held:
        score += f(int(count)) if criterion == "entropy" else float(count) * float(count)
    return score - f(total) if criterion == "entropy" else score / float(total)


@cache
def f(x: int) -> float:
    return float(x_log2_x(x))


def best_condition(
    T: Training, rows: Array, counts: Array, columns: Array, key: int, settings: Settings, least: float
) -> Condition | None:
    """The condition with the highest score, or None if none gains enough."""
    if not T.n_classes:  # targets about the node's mean, rounded down: the same order of scores, small squares
        weight, total = statistics(T, rows, counts)
        T = T._replace(y=T.y - total // weight)
    held = statistics(T, rows, counts)
    weight = int(held.sum()) if T.n_classes else int(held[0])
    best_score = side_score(held, settings.criterion) + MIN_GAIN * float(weight)
    best = None
    for j in sorted(inspected_columns(T, rows, columns, key, settings)):
        for condition, invalid in cuts(T, rows, counts, j):
            score = side_score(invalid, settings.criterion) + side_score(held - invalid, settings.criterion)
            light = min(weight_of(invalid, T), weight_of(held - invalid, T)) < least
            if score > best_score and not light:
                best_score, best = score, condition
    return best


def inspected_columns(T: Training, rows: Array, columns: Array, key: int, settings: Settings) -> list[int]:
    limit = len(columns) if settings.max_features is None else settings.max_features
    if limit >= len(columns):
        return [int(j) for j in columns]
    inspected: list[int] = []
    splittable = False
    for j in sorted(columns, key=lambda j: (mix(key, TICKET + int(j)), j)):
        if len(inspected) >= limit and splittable:
            break
        inspected.append(int(j))
        x = T.X[rows, j]
        splittable |= len(np.unique(x)) > 1  # NaN counts as one value
    return inspected


def cuts(T: Training, rows: Array, counts: Array, j: int) -> Iterator[tuple[Condition, Array]]:
    """Every condition on column j, in order, with the statistics of its invalid side."""
    x = T.X[rows, j]
    gone, rows, x = rows[np.isnan(x)], rows[~np.isnan(x)], x[~np.isnan(x)]
    values = [float(v) for v in np.unique(x)]
    per_value = [statistics(T, rows[x == v], counts) for v in values]
    missing, present = statistics(T, gone, counts), statistics(T, rows, counts)

    def both_sides(invalid: Array, threshold: float | None, members: frozenset[float] | None) -> Any:
        if len(gone):
            yield Condition(j, threshold, members, False), invalid + missing
            yield Condition(j, threshold, members, True), invalid
        else:
            heavier = bool(weight_of(present - invalid, T) > weight_of(invalid, T))
            yield Condition(j, threshold, members, heavier), invalid

    if not T.categorical[j]:
        if len(gone) and values:
            yield Condition(j, -np.inf, None, False), missing
        below = np.zeros_like(missing)
        for k in range(1, len(values)):
            below = below + per_value[k - 1]
            yield from both_sides(below, midpoint(values[k - 1], values[k]), None)
        return
    for order in category_orders(per_value, missing + present, T):
        inside = np.zeros_like(missing)
        for k in range(1, len(values)):
            inside = inside + per_value[order[k - 1]]
            yield from both_sides(present - inside, None, frozenset(values[i] for i in order[:k]))
        if len(gone) and values:
            yield Condition(j, None, frozenset(values), False), missing


def weight_of(held: Array, T: Training) -> int:
    return int(held.sum()) if T.n_classes else int(held[0])


def category_orders(per_category: list[Array], held: Array, T: Training) -> list[list[int]]:
    """Categories by ascending target mean; with more than two classes at the node, once per class there."""
    if not T.n_classes:
        means = [[float(h[1]) / float(h[0]) for h in per_category]]
    else:
        classes = np.flatnonzero(held)
        classes = classes if len(classes) > 2 else classes[-1:]
        means = [[float(h[c]) / float(h.sum()) for h in per_category] for c in classes]
    return [[int(i) for i in np.argsort(mean, kind="stable")] for mean in means]


def midpoint(lower: float, upper: float) -> float:
    middle = lower / 2 + upper / 2
    return middle if lower < middle <= upper else upper
