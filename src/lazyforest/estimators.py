"""scikit-learn estimators over the engine: validate, call, wrap."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from lazyforest.engine.bootstrap import counts_of
from lazyforest.engine.exploration import explore_recording, new_room, new_task
from lazyforest.engine.layout import BATCHED, CLASS, EAGER, NODE_WORDS, POISSON, SOFT_UNIT, Array, Rules, Target
from lazyforest.engine.record import ROWS, VOTE
from lazyforest.exploration import Exploration, Path, describe_path
from lazyforest.frame import Frame, choose_frame
from lazyforest.kept import Kept
from lazyforest.parameters import (
    ALGORITHMS,
    BOOTSTRAPS,
    CRITERIA,
    NO_LIMIT,
    check_parameters,
    count_max_features,
    draw_seed,
    is_int,
)
from lazyforest.runner import Answer, Forest, answer, explore, no_votes
from lazyforest.table import Column, Raw, check_text_is_wanted, count_rows, encode_queries, read
from lazyforest.threads import cores
from lazyforest.validation import (
    check_features,
    check_row_ids,
    check_target,
    check_weights,
    find_classes,
    numeric_target,
    remember_features,
    weigh_classes,
)

MOST_CLASSES = int(np.iinfo(CLASS).max)


def bootstrap_counts(random_state: Any, tree: int, row_ids: Any) -> Array:
    """How often each row is in the bag of ``tree`` under ``bootstrap="poisson"``: Poisson(1), a hash of its id.

    A row's count depends on ``random_state``, ``tree`` and its own id alone, so leaving out a row changes no other.
    """
    if not is_int(tree, 0):
        raise ValueError(f"tree must be an int >= 0. Got {tree!r}. Use 0 for the first tree.")
    ids = check_row_ids(row_ids, None)
    counts = np.empty(len(ids), dtype=np.int32)
    counts_of(np.uint64(draw_seed(random_state)), tree, POISSON, ids, counts)
    return counts


def explain_row(forest: Forest, columns: list[Column], X: Array, say: Callable[[Array], Any], row: int) -> list[Path]:
    """Explore again for one row, this time recording every node."""
    x = X[row : row + 1]
    usable = np.flatnonzero(~np.isnan(x[0])) if forest.reduced else np.arange(X.shape[1])
    task = new_task(forest.table, forest.target, forest.rules._replace(algorithm=BATCHED), x, usable)
    paths, room = [], new_room()
    for tree in range(forest.n_estimators):
        record = explore_recording(task, tree, no_votes(forest, x), room)
        steps, leaf = describe_path(record, x[0], columns)
        vote = say(record.votes[record.nodes[leaf, VOTE]])
        paths.append(Path(tree, steps, vote, int(record.nodes[leaf, ROWS])))
    return paths


def report(found: Answer, decided: Any, model_words: int, explain: Callable[[int], list[Path]]) -> Exploration:
    """What was found, what it says (a prediction; probabilities or None), what it cost."""
    costs = found.costs
    return Exploration(
        prediction=decided[0],
        proba=decided[1],
        nodes_explored=costs.nodes,
        rows_scanned=costs.rows_scanned,
        stack_words=costs.stack_words,
        model_words=model_words,
        bytes=costs.bytes,
        cpu_seconds=costs.cpu_seconds,
        votes=found.votes,
        explain=explain,
        forks=costs.forks,
        rows_scanned_by_refits=costs.rows_scanned_by_refits,
    )


def new_target(y: Array, n_classes: int, row_ids: Array, weight: Array, frame: Frame) -> Target:
    """Targets (0 classes: regression) with their weights in fixed point."""
    weights, whole = frame.weights(weight), frame.weight_bits == 0
    return Target(y, weights, weights if whole else frame.multiplicity(weight), row_ids, whole, n_classes)


@contextmanager
def unchanged_on_error(estimator: Any) -> Iterator[None]:
    """A ``fit`` that fails leaves the estimator as it was."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


class LazyForest(BaseEstimator):  # type: ignore[misc]
    """What classifier and regressor share."""

    _criteria: tuple[str, ...]

    def _read(self, X: Any) -> list[Raw]:
        """Read the training columns; remembers their number and names."""
        columns = read(X, self.categorical_features)
        check_text_is_wanted(columns, self.categorical_features)
        remember_features(self, X)
        return columns

    def _fit(self, X: Any, y: Any, sample_weight: Any, row_ids: Any) -> None:
        """``fit``, in which a mistake changes nothing."""
        check_parameters(self, self._criteria)
        with unchanged_on_error(self):
            self._learn(X, y, sample_weight, row_ids)
            self._grow()

    def _keep(self, columns: list[Raw], y: Array, n_classes: int, weight: Array, row_ids: Any, frame: Frame) -> None:
        """Keep the table; it is encoded when that is needed."""
        jobs = effective_n_jobs(self.n_jobs)
        kept = Kept(columns, min(jobs, cores()) if jobs > 1 else 1)
        self._columns, n = kept.columns, kept.shape[0]
        ids = np.arange(n, dtype=np.uint64) if row_ids is None else check_row_ids(row_ids, n)
        target = new_target(y, n_classes, ids, weight, frame)
        self._rules = self._make_rules(len(columns))
        self._forest = Forest(kept, target, self._rules, int(self.n_estimators), self.missing == "reduced")
        self._grown: Answer | None = None
        self.seed_, self.frame_ = int(self._rules.seed), frame

    def _grow(self) -> None:
        """Grow the trees if the algorithm is eager."""
        if self.algorithm == "eager" and not self._forest.reduced:
            m = len(self._columns)
            self._grown = explore(self._forest, np.empty((0, m)), np.arange(m), self.n_jobs, bool(self.verbose))

    def _make_rules(self, n_columns: int) -> Rules:
        return Rules(
            seed=np.uint64(draw_seed(self.random_state)),
            algorithm=ALGORITHMS[self.algorithm],
            criterion=CRITERIA[self.criterion],
            bootstrap=BOOTSTRAPS[self.bootstrap],
            max_depth=NO_LIMIT if self.max_depth is None else min(int(self.max_depth), NO_LIMIT),
            min_samples_split=min(int(self.min_samples_split), NO_LIMIT),
            min_weight_fraction_leaf=float(self.min_weight_fraction_leaf),
            max_features=count_max_features(self.max_features, n_columns),
            soft=getattr(self, "voting", "hard") == "soft",
            mean_unit=2.0 ** (10 - int(self.n_estimators).bit_length()),
        )

    def _queries(self, X: Any) -> Array:
        """Validate and encode the rows to be predicted."""
        if not hasattr(self, "_columns"):
            check_is_fitted(self, "_columns")
        columns = read(X, remembered=self._columns)
        check_features(self, X)
        return encode_queries(columns, self._columns)

    def _answer(self, queries: Array) -> Answer:
        return answer(self._forest, self._grown, queries, self.n_jobs, bool(self.verbose))

    def _explain(self, queries: Array) -> Callable[[int], list[Path]]:
        return partial(explain_row, self._forest, self._columns, queries, self._say_vote)

    def explore(self, X: Any) -> Exploration:
        """The answer for the rows of X, what it cost, and on demand the path of a row through every tree."""
        queries = self._queries(X)
        found = self._answer(queries)
        model_words = NODE_WORDS * found.costs.nodes if self._rules.algorithm == EAGER else 0
        return report(found, self._decide(found.votes), model_words, self._explain(queries))

    def predict(self, X: Any) -> Array:
        """The prediction for each row of X; opens only the nodes that these rows need."""
        return self.explore(X).prediction

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


PARAMETERS = """
    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    criterion : {criteria}
        What the best condition of a node maximises.
    max_depth : int or None, default=20
        Depth at which a node is a leaf; the root has depth 0.
    min_samples_split : int, default=5
        A node of fewer rows, counted as often as they are in the bootstrap, is a leaf. A whole-number weight counts
        as so many rows.
    min_weight_fraction_leaf : float, default=0.0
        The share of a tree's total weight that each side of a condition must have.
    max_features : int, float, "sqrt", "log2" or None, default=None
        How many columns a node looks at; None for all.
    bootstrap : {{"poisson", "multinomial", False}}, default="poisson"
        A row's count in a tree: Poisson(1) from a hash of seed, tree and row id; n draws with replacement; or one.
    algorithm : {{"batched", "lazy", "eager"}}, default="batched"
        All give the same answer. "eager" grows and keeps the trees in ``fit``.
    categorical_features : "from_dtype", mask, names, indices or None, default="from_dtype"
        Which columns are categories. "from_dtype": text, booleans and category dtypes.
    missing : {{"route", "reduced"}}, default="route"
        Missing values are sent to a side by the condition; or a row is answered by a forest that does not have the
        columns which the row misses.
    fixed_point : (int, int), (int, int, float) or None, default=None
        Fractional bits of weights and of targets, and what targets are taken about; None derives them from the data.
        ``frame_`` of a fitted forest can be given to another, whose sums are then the same to the bit.
    n_jobs : int or None, default=None
        Threads; the answer does not depend on it.
    random_state : int, Generator, RandomState or None, default=None
        An int gives the same forest every time.
    verbose : int, default=0
        Above 0, a progress bar."""


def documented(estimator: Any) -> Any:
    """Write the shared parameters into the class's docstring."""
    criteria = "{" + ", ".join(f'"{c}"' for c in estimator._criteria) + f'}}, default="{estimator._criteria[0]}"'
    estimator.__doc__ = estimator.__doc__.replace("{parameters}", PARAMETERS.format(criteria=criteria).strip())
    return estimator


@documented
class LazyForestClassifier(ClassifierMixin, LazyForest):  # type: ignore[misc]
    """A bagged forest of decision trees that is never built: ``predict`` opens only the nodes that its rows need.

    The answer is, bit for bit, that of the fully grown forest.

    {parameters}
    voting : {"hard", "soft"}, default="hard"
        A leaf votes for its most frequent class, or shares its vote among its classes.
    class_weight : dict, "balanced" or None, default=None
        A factor on the weight of each class.

    Attributes
    ----------
    classes_ : the classes, ascending
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
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = None,
        bootstrap: Any = "poisson",
        voting: str = "hard",
        algorithm: str = "batched",
        categorical_features: Any = "from_dtype",
        missing: str = "route",
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
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.bootstrap = bootstrap
        self.voting = voting
        self.algorithm = algorithm
        self.categorical_features = categorical_features
        self.missing = missing
        self.class_weight = class_weight
        self.fixed_point = fixed_point
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None, row_ids: Any = None) -> LazyForestClassifier:
        """Validate and keep the table. No tree is grown, unless ``algorithm="eager"``."""
        self._fit(X, y, sample_weight, row_ids)
        return self

    def _learn(self, X: Any, y: Any, sample_weight: Any, row_ids: Any) -> None:
        """``fit`` but for growing trees."""
        columns = self._read(X)
        y = check_target(self, y, count_rows(columns[0]))
        self.classes_, codes = find_classes(y)
        if len(self.classes_) > MOST_CLASSES:
            raise ValueError(f"y must have at most {MOST_CLASSES} classes. Got {len(self.classes_)}.")
        weight = check_weights(sample_weight, len(y))
        if self.class_weight is not None:
            weight *= weigh_classes(self.class_weight, y)
        self._keep(columns, codes.astype(CLASS), len(self.classes_), weight, row_ids, self._frame(weight))

    def _frame(self, weight: Array) -> Frame:
        """The frame for these weights, the user's if there is one."""
        return choose_frame(self.fixed_point, weight, None)

    def _decide(self, votes: Array, among: Array | None = None) -> tuple[Array, Array]:
        """Prediction and probabilities; where no tree voted, all classes ``among`` which it could are alike."""
        cast = votes.sum(axis=1, keepdims=True)
        proba = votes / np.maximum(cast, 1)
        if not cast.all():
            among = np.ones(votes.shape, dtype=bool) if among is None else among
            proba = np.where(cast > 0, proba, among / among.sum(axis=1, keepdims=True))
        return np.asarray(self.classes_[proba.argmax(axis=1)]), proba

    def _say_vote(self, vote: Array) -> Any:
        if self.voting == "hard" or not vote.any():
            return self.classes_.tolist()[vote.argmax()] if vote.any() else None
        return {c: float(share) for c, share in zip(self.classes_.tolist(), vote / SOFT_UNIT, strict=True) if share}

    def predict_proba(self, X: Any) -> Array:
        """The share of the votes of each class, in the order of ``classes_``."""
        proba = self.explore(X).proba
        assert proba is not None  # a classifier has them
        return proba

    def predict_log_proba(self, X: Any) -> Array:
        """The logarithm of ``predict_proba``; minus infinity for a class without a vote."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))


@documented
class LazyForestRegressor(RegressorMixin, LazyForest):  # type: ignore[misc]
    """A bagged forest of regression trees that is never built: ``predict`` opens only the nodes that its rows need.

    A tree predicts the mean of the leaf, the forest the mean of its trees; bit for bit the fully grown forest's.

    {parameters}

    Attributes
    ----------
    n_features_in_, feature_names_in_ : the columns of ``fit``
    seed_ : the seed in use, also when ``random_state`` is None
    frame_ : the fixed-point frame in use
    """

    _criteria = ("squared_error",)

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: str = "squared_error",
        max_depth: int | None = 20,
        min_samples_split: int = 5,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = None,
        bootstrap: Any = "poisson",
        algorithm: str = "batched",
        categorical_features: Any = "from_dtype",
        missing: str = "route",
        fixed_point: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.bootstrap = bootstrap
        self.algorithm = algorithm
        self.categorical_features = categorical_features
        self.missing = missing
        self.fixed_point = fixed_point
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None, row_ids: Any = None) -> LazyForestRegressor:
        """Validate and keep the table. No tree is grown, unless ``algorithm="eager"``."""
        self._fit(X, y, sample_weight, row_ids)
        return self

    def _learn(self, X: Any, y: Any, sample_weight: Any, row_ids: Any) -> None:
        """``fit`` but for growing trees."""
        columns = self._read(X)
        y = numeric_target(check_target(self, y, count_rows(columns[0])))
        weight = check_weights(sample_weight, len(y))
        frame = choose_frame(self.fixed_point, weight, y)
        self._keep(columns, frame.targets(y), 0, weight, row_ids, frame)

    def _decide(self, votes: Array) -> tuple[Array, None]:
        mean = votes[:, 0] / np.maximum(votes[:, 1], 1)
        about_offset = np.ldexp(mean / self._rules.mean_unit, -self.frame_.target_bits)
        return np.asarray(np.where(votes[:, 1] > 0, about_offset + self.frame_.target_offset, 0.0)), None

    def _say_vote(self, vote: Array) -> Any:
        return float(self._decide(vote[None])[0][0]) if vote.any() else None
