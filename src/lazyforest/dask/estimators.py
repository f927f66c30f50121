"""Estimators over Dask collections, in the manner of those over tables in memory."""

from __future__ import annotations

from typing import Any

import dask
import dask.array
import dask.dataframe
import numpy as np
from distributed import Client, Future, default_client
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from lazyforest.dask.cluster import Cluster, checked, gather_queries, partitions, reduced, share
from lazyforest.dask.coding import agree
from lazyforest.dask.levels import Exploration, Forest
from lazyforest.dask.partitions import (
    Source,
    Summary,
    add_summaries,
    encode,
    extent_of,
    read_queries,
    settle,
    summarise,
)
from lazyforest.engine.bootstrap import MOST_COPIES
from lazyforest.engine.layout import CLASS, Array
from lazyforest.estimators import PARAMETERS, LazyForest, LazyForestClassifier, LazyForestRegressor, unchanged_on_error
from lazyforest.frame import Extent, Frame, check_extent, frame_of
from lazyforest.parameters import check_parameters, is_int
from lazyforest.runner import by_missing_columns
from lazyforest.table import encode_queries, read
from lazyforest.validation import check_classes, weigh_classes

ROOM = 2  # times max_bytes, per worker, for what is known of rows; or half of what the codes take
COLLECTIONS = (dask.dataframe.DataFrame, dask.dataframe.Series, dask.array.Array)


def kept_parameters() -> str:
    """The shared documentation, without the parameters that mean nothing on a cluster."""
    gone = ("min_weight_fraction_leaf", "algorithm", "n_jobs", "verbose")
    lines, keep = [], True
    for line in PARAMETERS.strip().splitlines():
        if line.startswith("    ") and not line.startswith("     "):
            keep = line.split()[0] not in gone
        if keep:
            lines.append(line)
    return (
        "\n".join(lines)
        .replace('{{"poisson", "multinomial", False}}', '{{"poisson", False}}')
        .replace("; n draws with replacement; or one", "; or one")
    )


def documented(estimator: Any) -> Any:
    criteria = "{" + ", ".join(f'"{c}"' for c in estimator._criteria) + f'}}, default="{estimator._criteria[0]}"'
    estimator.__doc__ = estimator.__doc__.replace("{parameters}", kept_parameters().format(criteria=criteria))
    return estimator


class DaskLazyForest(BaseEstimator):  # type: ignore[misc]
    """What classifier and regressor share."""

    _criteria: tuple[str, ...]
    _regression: bool
    algorithm, min_weight_fraction_leaf = "batched", 0.0  # what rules are made of, and nobody chooses here
    _make_rules = LazyForest._make_rules

    @property
    def client_(self) -> Client:
        """The client in use."""
        if self.client is not None:
            return self.client
        try:
            return default_client()
        except ValueError as error:
            raise ValueError(
                "No Dask client is running. Start one, from dask.distributed import Client; client = Client(), or give "
                f"one: {type(self).__name__}(client=client)."
            ) from error

    def _check(self) -> None:
        check_parameters(self, self._criteria)
        name = type(self).__name__
        if self.bootstrap == "multinomial":
            raise ValueError(
                f"The 'bootstrap' parameter of {name} must be 'poisson' or False. Got 'multinomial' instead: its draws "
                f"belong to no row. Use 'poisson'."
            )
        if not is_int(self.max_bytes, 1):
            raise ValueError(
                f"The 'max_bytes' parameter of {name} must be an int >= 1. Got {self.max_bytes!r} instead. Use 2**26 "
                f"for 64 MB."
            )

    def fit(self, X: Any, y: Any, sample_weight: Any = None, row_ids: Any = None) -> Any:
        """Agree on an encoding and keep the encoded partitions where they lie. No tree is grown.

        All are Dask collections with the same partitions. Row ids are positions, unless they are given.
        """
        self._check()
        with unchanged_on_error(self):
            self._X = check_table(X)
            self._name_columns(X)
            sources = self._sources(X, {"y": y, "sample_weight": sample_weight, "row_ids": row_ids})
            summary = self._summarise(sources)
            self._coding = agree(summary.columns)
            self._filled = sorted(k for k, n in summary.rows.items() if n)
            first = dict(zip(self._filled, np.cumsum([0, *(summary.rows[k] for k in self._filled)]), strict=False))
            parts = self._encode(sources, first, *self._learn(summary))
            self._keep(parts)
        return self

    def _name_columns(self, X: Any) -> None:
        self.n_features_in_ = int(X.shape[1])
        names = list(getattr(X, "columns", []))
        if names and all(isinstance(name, str) for name in names):
            self.feature_names_in_ = np.array(names, dtype=object)
        else:
            self.__dict__.pop("feature_names_in_", None)

    def _sources(self, X: Any, others: dict[str, Any]) -> list[Any]:
        """The partitions of all that was given, as tasks."""
        tables = partitions(X)
        shares: list[list[Any]] = []
        for name, other in others.items():
            if other is None and name != "y":
                shares.append([None] * len(tables))
                continue
            if not isinstance(other, COLLECTIONS) or other.ndim != 1:
                raise TypeError(
                    f"{name} must be a Dask series or a 1-d Dask array. Got {type(other).__name__}. Use "
                    f"dask.dataframe.from_pandas or dask.array.from_array, with the partitions of X."
                )
            shares.append(partitions(other))
            if len(shares[-1]) != len(tables):
                raise ValueError(
                    f"{name} must have the partitions of X, {len(tables)}. Got {len(shares[-1])}. Take both from one "
                    f"data frame, or rechunk {name}."
                )
        return [dask.delayed(Source)(k, *cells) for k, cells in enumerate(zip(tables, *shares, strict=True))]

    def _summarise(self, sources: list[Any]) -> Summary:
        look = dask.delayed(summarise)
        name, categorical = type(self).__name__, self.categorical_features
        tasks = [look(source, name, categorical, self._regression) for source in sources]
        summary: Summary = reduced(self.client_, self.client_.compute(tasks), add_summaries)
        if not summary.columns:
            raise ValueError(
                "Found array with 0 sample(s) while a minimum of 1 is required: all partitions of X are empty. Give X "
                "at least one row."
            )
        return summary

    def _encode(self, sources: list[Any], first: dict[int, int], classes: Array | None, factors: Any) -> list[Future]:
        """The encoded partitions that have rows."""
        coding, encoded = share(self.client_, self._coding), dask.delayed(encode)
        tasks = [
            encoded(sources[k], coding, self.categorical_features, classes, factors, int(first[k]))
            for k in self._filled
        ]
        return checked(self.client_.compute(tasks))

    def _keep(self, parts: list[Future]) -> None:
        """Agree on the fixed-point frame and keep the partitions."""
        client, regression = self.client_, self._regression
        extents = client.gather(client.map(extent_of, parts, regression=regression, pure=False))
        extent = sum_extents(extents)
        self.frame_ = frame_of(extent) if self.fixed_point is None else Frame(*self.fixed_point)
        check_extent(self.frame_, extent)
        settled = client.map(settle, parts, frame=self.frame_, regression=regression, pure=False)
        self._parts = checked(settled)
        self._rows, rules = extent.rows, self._make_rules(len(self._coding.columns))
        self._rules, self.seed_ = rules, int(rules.seed)
        most = int(np.ldexp(extent.most_weight, self.frame_.weight_bits)) + MOST_COPIES * extent.rows
        sizes, n_classes = self.frame_.weight_bits == 0, 0 if regression else len(self.classes_)
        self._forest = Forest(self._coding, rules, n_classes, int(self.n_estimators), sizes, most)

    def _raws(self, columns: list[int]) -> list[Any]:
        """Some columns of the partitions that have rows, as they came."""
        parts = partitions(self._X, columns)
        return [parts[k] for k in self._filled]

    def _votes(self, queries: Array) -> Array:
        """The votes of all trees for some encoded rows."""
        votes = np.zeros((len(queries), self._forest.n_classes or 2), dtype=np.int64)
        client, everything = self.client_, np.arange(queries.shape[1])
        codes = self._rows * len(self._coding.columns) * self._coding.dtype.itemsize
        room = max(ROOM * int(self.max_bytes) * len(client.nthreads()), codes // 2)
        whole = [(np.arange(len(queries)), everything)]
        for some, columns in by_missing_columns(queries) if self.missing == "reduced" else whole:
            cluster = Cluster(client, self._parts, self._raws, room)
            votes[some] = Exploration(
                self._forest, queries[some], np.asarray(columns), cluster, int(self.max_bytes)
            ).explore()
        return votes

    def _batch(self) -> int:
        """So many queries are answered together."""
        return max(1, int(self.max_bytes) // (8 * self.n_features_in_ + 16 * int(self.n_estimators)))

    def _answer(self, X: Any, decided: Any) -> Any:
        """Decisions about the rows of X: an array, or for a Dask collection a Dask array with its partitions."""
        check_is_fitted(self, "_parts")
        self._check_columns(X)
        if not isinstance(X, COLLECTIONS):
            queries = encode_queries(read(X, remembered=self._coding.columns), self._coding.columns)
            batches = [queries[k : k + self._batch()] for k in range(0, len(queries), self._batch())]
            return np.concatenate([decided(self._votes(batch)) for batch in batches])
        client, reader = self.client_, dask.delayed(read_queries)
        tasks = [reader(k, part, self._coding.columns) for k, part in enumerate(partitions(check_table(X)))]
        futures = checked(client.compute(tasks))
        rows = client.gather(client.map(len, futures, pure=False))
        gathered = gather_queries(client, futures, rows, self._batch())
        answers = np.concatenate([decided(self._votes(np.concatenate(cells))) for cells in gathered])
        return dask.array.from_array(answers, chunks=(tuple(rows), *answers.shape[1:]))

    def _check_columns(self, X: Any) -> None:
        """Queries must have the columns of fit."""
        width = np.shape(X)[1] if not hasattr(X, "shape") else X.shape[1] if len(X.shape) == 2 else None
        if width is not None and width != self.n_features_in_:
            raise ValueError(
                f"X has {width} features, but {type(self).__name__} is expecting {self.n_features_in_} features as "
                f"input. Give the columns that fit had, in their order."
            )
        names, known = list(getattr(X, "columns", [])), getattr(self, "feature_names_in_", None)
        if names and known is not None and names != known.tolist():
            other = next((a, b) for a, b in zip(names, known.tolist(), strict=True) if a != b)
            raise ValueError(
                f"The feature names should match those that were passed during fit. Got {other[0]!r} where fit had "
                f"{other[1]!r}. Give the columns that fit had, in their order."
            )

    def predict(self, X: Any) -> Any:
        """The prediction for each row of X, in memory or a Dask collection; opens only the nodes that they need."""
        return self._answer(X, lambda votes: self._decide(votes)[0])


def check_table(X: Any) -> Any:
    """A Dask data frame, or an array in blocks of rows."""
    if not isinstance(X, dask.dataframe.DataFrame | dask.array.Array) or X.ndim != 2:
        raise TypeError(
            f"X must be a Dask data frame or a 2-d Dask array. Got {type(X).__name__}. Use LazyForestClassifier or "
            f"LazyForestRegressor for a table in memory."
        )
    if isinstance(X, dask.array.Array) and X.numblocks[1] > 1:
        raise ValueError(
            f"X must have its columns in one chunk. Got {X.numblocks[1]} chunks of columns. Use X.rechunk({{1: -1}})."
        )
    if X.shape[1] == 0:
        raise ValueError("Found array with 0 feature(s) while a minimum of 1 is required. Give X at least one column.")
    return X


def sum_extents(extents: list[Extent]) -> Extent:
    total = extents[0]
    for extent in extents[1:]:
        total = total.plus(extent)
    return total


@documented
class DaskLazyForestClassifier(ClassifierMixin, DaskLazyForest):  # type: ignore[misc]
    """A bagged forest over a Dask data frame or array: bit for bit the answer of ``LazyForestClassifier``.

    {parameters}
    voting : {"hard", "soft"}, default="hard"
        A leaf votes for its most frequent class, or shares its vote among its classes.
    class_weight : dict, "balanced" or None, default=None
        A factor on the weight of each class.
    client : distributed.Client or None, default=None
        None for the current one.
    max_bytes : int, default=2**26
        What the sums of one pass may take; more open nodes are answered in several passes.

    Attributes
    ----------
    classes_ : the classes, ascending
    n_features_in_, feature_names_in_ : the columns of ``fit``
    seed_ : the seed in use, also when ``random_state`` is None
    frame_ : the fixed-point frame in use
    client_ : the client in use
    """

    _criteria = ("entropy", "gini")
    _regression = False
    _decide = LazyForestClassifier._decide

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        client: Any = None,
        criterion: str = "entropy",
        max_depth: int | None = 20,
        min_samples_split: int = 5,
        max_features: Any = None,
        bootstrap: Any = "poisson",
        voting: str = "hard",
        categorical_features: Any = "from_dtype",
        missing: str = "route",
        class_weight: Any = None,
        fixed_point: Any = None,
        random_state: Any = None,
        max_bytes: int = 2**26,
    ) -> None:
        self.n_estimators = n_estimators
        self.client = client
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.max_features = max_features
        self.bootstrap = bootstrap
        self.voting = voting
        self.categorical_features = categorical_features
        self.missing = missing
        self.class_weight = class_weight
        self.fixed_point = fixed_point
        self.random_state = random_state
        self.max_bytes = max_bytes

    def _learn(self, summary: Summary) -> tuple[Array, Any]:
        """The classes, and a factor on the weight of each, if there is one."""
        order = np.argsort(summary.classes, kind="stable")
        self.classes_, counts = summary.classes[order], summary.class_counts[order]
        check_classes(self.classes_, np.tile(self.classes_, 2))
        if len(self.classes_) > np.iinfo(CLASS).max:
            raise ValueError(f"y must have at most {np.iinfo(CLASS).max} classes. Got {len(self.classes_)}.")
        if self.class_weight is None:
            return self.classes_, None
        if isinstance(self.class_weight, str):  # balanced, as scikit-learn computes it
            return self.classes_, counts.sum() / (len(counts) * counts.astype(np.float64))
        return self.classes_, weigh_classes(self.class_weight, self.classes_)

    def predict_proba(self, X: Any) -> Any:
        """The share of the votes of each class, in the order of ``classes_``."""
        return self._answer(X, lambda votes: self._decide(votes)[1])


@documented
class DaskLazyForestRegressor(RegressorMixin, DaskLazyForest):  # type: ignore[misc]
    """A bagged forest over a Dask data frame or array: bit for bit the answer of ``LazyForestRegressor``.

    {parameters}
    client : distributed.Client or None, default=None
        None for the current one.
    max_bytes : int, default=2**26
        What the sums of one pass may take; more open nodes are answered in several passes.

    Attributes
    ----------
    n_features_in_, feature_names_in_ : the columns of ``fit``
    seed_ : the seed in use, also when ``random_state`` is None
    frame_ : the fixed-point frame in use
    client_ : the client in use
    """

    _criteria = ("squared_error",)
    _regression = True
    _decide = LazyForestRegressor._decide

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        client: Any = None,
        criterion: str = "squared_error",
        max_depth: int | None = 20,
        min_samples_split: int = 5,
        max_features: Any = None,
        bootstrap: Any = "poisson",
        categorical_features: Any = "from_dtype",
        missing: str = "route",
        fixed_point: Any = None,
        random_state: Any = None,
        max_bytes: int = 2**26,
    ) -> None:
        self.n_estimators = n_estimators
        self.client = client
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.max_features = max_features
        self.bootstrap = bootstrap
        self.categorical_features = categorical_features
        self.missing = missing
        self.fixed_point = fixed_point
        self.random_state = random_state
        self.max_bytes = max_bytes

    def _learn(self, summary: Summary) -> tuple[None, None]:
        return None, None
