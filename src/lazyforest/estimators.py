"""scikit-learn estimators over the engine: validate, call, wrap."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from lazyforest.engine.bootstrap import draw_counts
from lazyforest.engine.exploration import NODES, ROWS_SCANNED, STACK_WORDS, explore_tree, explore_trees, new_task
from lazyforest.engine.layout import CLASS, EAGER, NODE_WORDS, POISSON, Array, Rules, Table, Target
from lazyforest.engine.record import Record, trimmed, walk
from lazyforest.exploration import Exploration, total_bytes
from lazyforest.frame import Frame, check_frame, derive_frame
from lazyforest.parameters import (
    ALGORITHMS,
    BOOTSTRAPS,
    CRITERIA,
    NO_LIMIT,
    check_parameters,
    count_max_features,
    draw_seed,
)
from lazyforest.progress import Progress
from lazyforest.table import encode

CELLS_PER_CALL = 2e8  # a kernel call ends within about a second, so that Ctrl-C and the progress bar are served


class Costs(NamedTuple):
    nodes: int = 0
    rows_scanned: int = 0
    stack_words: int = 0
    bytes: int = 0
    cpu_seconds: float = 0.0

    def plus(self, other: Costs) -> Costs:
        return Costs(
            self.nodes + other.nodes,
            self.rows_scanned + other.rows_scanned,
            max(self.stack_words, other.stack_words),
            max(self.bytes, other.bytes),
            self.cpu_seconds + other.cpu_seconds,
        )


def bootstrap_counts(random_state: int, tree: int, row_ids: Any) -> Array:
    """How often each row is in the bag of ``tree`` under ``bootstrap="poisson"``: Poisson(1), a hash of its id.

    A row's count depends on ``random_state``, ``tree`` and its own id alone, so leaving out a row changes no other.
    """
    ids = check_row_ids(row_ids, None)
    counts = np.empty(len(ids), dtype=np.int32)
    draw_counts(np.uint64(draw_seed(random_state)), tree, POISSON, ids, counts)
    return counts


def check_row_ids(row_ids: Any, n_rows: int | None) -> Array:
    ids = np.asarray(row_ids)
    if ids.ndim != 1 or ids.dtype.kind not in "iu":
        raise ValueError(f"row_ids must be a 1-d array of whole numbers. Got {ids.ndim}-d {ids.dtype}. Use np.arange.")
    if n_rows is not None and len(ids) != n_rows:
        raise ValueError(f"row_ids must have one id per row of X, {n_rows}. Got {len(ids)}.")
    if ids.dtype.kind == "i" and ids.min(initial=0) < 0:
        raise ValueError(f"row_ids must not be negative. Got {ids.min()}. Number the rows from 0.")
    if n_rows is not None and len(np.unique(ids)) < len(ids):
        values, times = np.unique(ids, return_counts=True)
        raise ValueError(f"row_ids must differ from each other. Got {values[times > 1][0]} twice. Use np.arange.")
    return ids.astype(np.uint64)


def explore_chunk(
    table: Table, target: Target, rules: Rules, X: Array, trees: range
) -> tuple[Array, Costs, list[Record], int]:
    """Votes and costs of some trees; for eager ones, the trees instead of votes."""
    task = new_task(table, target, rules, X, np.arange(len(table.codes)))
    votes = np.zeros((len(X), target.n_classes or 2), dtype=np.int64)
    records: list[Record] = []
    if rules.algorithm == EAGER:
        for tree in trees:
            records.append(trimmed(explore_tree(task, tree, votes, True)))
    else:
        explore_trees(task, trees.start, trees.stop, votes)
    costs = task.bag.costs
    spent = Costs(int(costs[NODES]), int(costs[ROWS_SCANNED]), int(costs[STACK_WORDS]))
    return votes, spent._replace(bytes=total_bytes((task.bag, task.search, task.small, votes))), records, len(trees)


class LazyForest(BaseEstimator):  # type: ignore[misc]
    """What classifier and regressor share."""

    _criteria: tuple[str, ...]

    def _keep(self, X: Array, y: Array, n_classes: int, sample_weight: Array, row_ids: Any, frame: Frame) -> Any:
        """Encode and keep the table; grow the trees if the algorithm is eager."""
        ids = np.arange(len(X), dtype=np.uint64) if row_ids is None else check_row_ids(row_ids, len(X))
        weight, multiplicity = frame.weights(sample_weight), frame.multiplicity(sample_weight)
        target = Target(y, weight, multiplicity, ids, frame.weight_bits == 0, n_classes)
        table = encode(X, np.zeros(X.shape[1], dtype=bool))
        rules = self._rules(X.shape[1])
        trees: list[Record] = []
        grown = Costs()
        if rules.algorithm == EAGER:
            for _, costs, records, _ in self._chunks(table, target, rules, np.empty((0, X.shape[1]))):
                trees += records
                grown = grown.plus(costs)
        self._table, self._target, self._kept_rules, self._trees, self._grown = table, target, rules, trees, grown
        self.seed_, self.frame_ = int(rules.seed), frame
        return self

    def _rules(self, n_columns: int) -> Rules:
        return Rules(
            seed=np.uint64(draw_seed(self.random_state)),
            algorithm=ALGORITHMS[self.algorithm],
            criterion=CRITERIA[self.criterion],
            bootstrap=BOOTSTRAPS[self.bootstrap],
            max_depth=NO_LIMIT if self.max_depth is None else int(self.max_depth),
            min_samples_split=int(self.min_samples_split),
            max_features=count_max_features(self.max_features, n_columns),
            soft=getattr(self, "voting", "hard") == "soft",
            mean_unit=2.0 ** (10 - int(self.n_estimators).bit_length()),
        )

    def _chunks(
        self, table: Table, target: Target, rules: Rules, X: Array
    ) -> Iterator[tuple[Array, Costs, list[Record], int]]:
        """Explore all trees, some per kernel call and thread."""
        m, n = table.codes.shape
        jobs = effective_n_jobs(self.n_jobs)
        cells = n * m * (1 + np.log2(1 + (n if rules.algorithm == EAGER else len(X))))
        per_call = int(np.clip(CELLS_PER_CALL / max(cells, 1), 1, -(-self.n_estimators // jobs)))
        starts = range(0, self.n_estimators, per_call)
        run = Parallel(n_jobs=jobs, prefer="threads", return_as="generator")
        with Progress(self.n_estimators, "trees", bool(self.verbose)) as progress:
            before = time.process_time()
            for chunk in run(
                delayed(explore_chunk)(
                    table, target, rules, X, range(first, min(first + per_call, self.n_estimators))
                )
                for first in starts
            ):
                votes, costs, records, trees = chunk
                progress.advance(trees)
                now = time.process_time()
                yield votes, costs._replace(cpu_seconds=now - before, bytes=costs.bytes * jobs), records, trees
                before = now

    def _explore(self, X: Array) -> tuple[Array, Costs]:
        """Votes for clean rows, and their cost."""
        if self._kept_rules.algorithm == EAGER:
            votes, before = np.zeros((len(X), self._target.n_classes or 2), dtype=np.int64), time.process_time()
            for tree in self._trees:
                walk(tree, X, votes)
            walked = Costs(bytes=total_bytes(self._trees) + votes.nbytes, cpu_seconds=time.process_time() - before)
            return votes, self._grown.plus(walked)
        total, spent = None, Costs()
        for votes, costs, _, _ in self._chunks(self._table, self._target, self._kept_rules, X):
            total = votes if total is None else total + votes
            spent = spent.plus(costs)
        assert total is not None  # n_estimators >= 1
        return total, spent


class LazyForestClassifier(ClassifierMixin, LazyForest):  # type: ignore[misc]
    """A bagged forest of decision trees that is never built: ``predict`` opens only the nodes that its rows need.

    The answer is, bit for bit, that of the fully grown forest.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    criterion : {"entropy", "gini"}, default="entropy"
        What the best condition of a node maximises.
    max_depth : int or None, default=20
        Depth at which a node is a leaf; the root has depth 0.
    min_samples_split : int, default=5
        A node of fewer rows, counted as often as they are in the bootstrap, is a leaf.
    max_features : int, float, "sqrt", "log2" or None, default=None
        How many columns a node looks at; None for all.
    bootstrap : {"poisson", "multinomial", False}, default="poisson"
        A row's count in a tree: Poisson(1) from a hash of seed, tree and row id; n draws with replacement; or one.
    voting : {"hard", "soft"}, default="hard"
        A leaf votes for its most frequent class, or shares its vote among its classes.
    algorithm : {"batched", "lazy", "eager"}, default="batched"
        All give the same answer. "eager" grows and keeps the trees in ``fit``.
    class_weight : dict, "balanced" or None, default=None
        A factor on the weight of each class.
    fixed_point : (int, int) or None, default=None
        Fractional bits of weights and of targets; None derives them from the data.
    n_jobs : int or None, default=None
        Threads; the answer does not depend on it.
    random_state : int, Generator, RandomState or None, default=None
        An int gives the same forest every time.
    verbose : int, default=0
        Above 0, a progress bar.

    Attributes
    ----------
    classes_ : array of the classes
    n_features_in_, feature_names_in_ : the columns of ``fit``
    seed_ : the seed in use, also when ``random_state`` is None
    frame_ : the fixed-point frame in use
    """

    _criteria = ("entropy", "gini")

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: str = "entropy",
        max_depth: int | None = 20,
        min_samples_split: int = 5,
        max_features: Any = None,
        bootstrap: Any = "poisson",
        voting: str = "hard",
        algorithm: str = "batched",
        class_weight: Any = None,
        fixed_point: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.max_features = max_features
        self.bootstrap = bootstrap
        self.voting = voting
        self.algorithm = algorithm
        self.class_weight = class_weight
        self.fixed_point = fixed_point
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None, row_ids: Any = None) -> LazyForestClassifier:
        """Validate, encode and keep the table. No tree is grown, unless ``algorithm="eager"``."""
        check_parameters(self, self._criteria)
        X, y = validate_data(self, X, y, dtype=np.float64, order="C")
        check_classification_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if self.class_weight is not None:
            weight = weight * compute_sample_weight(self.class_weight, y)
        frame = derive_frame(weight, None) if self.fixed_point is None else Frame(*self.fixed_point)
        check_frame(frame, weight, None)
        self._keep(X, codes.astype(CLASS), len(classes), weight, row_ids, frame)
        self.classes_ = classes
        return self

    def explore(self, X: Any) -> Exploration:
        """The same answer as ``predict_proba``, with what it cost."""
        check_is_fitted(self, "classes_")
        X = validate_data(self, X, dtype=np.float64, order="C", reset=False)
        votes, costs = self._explore(X)
        cast = votes.sum(axis=1, keepdims=True)
        proba = np.where(cast > 0, votes / np.maximum(cast, 1), 1.0 / len(self.classes_))
        model_words = NODE_WORDS * costs.nodes if self._trees else 0
        return Exploration(
            proba,
            costs.nodes,
            costs.rows_scanned,
            costs.stack_words,
            model_words,
            costs.bytes,
            costs.cpu_seconds,
            votes,
        )

    def predict_proba(self, X: Any) -> Array:
        """The share of the votes of each class, in the order of ``classes_``."""
        proba = self.explore(X).proba
        assert proba is not None
        return proba

    def predict(self, X: Any) -> Array:
        """The class with most votes, on a tie the first."""
        winners: Array = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[winners])
