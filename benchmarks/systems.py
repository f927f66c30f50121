"""One adapter per system: how it takes the table, how it is fitted, how it is asked.

All grow 100 trees on bootstraps, look at every column at every node and stop at depth 20. What a system cannot be
told, or is told otherwise in its own favour, stands in its note.
"""

from __future__ import annotations

import importlib.metadata
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from benchmarks.work import Array, as_codes, text_columns

DEPTH, SPLIT_ROWS = 20, 5
IN_BAG = 0.632  # the share of distinct rows in a bootstrap, for systems that draw without replacement
LABEL = "__label__"
OURS, SKLEARN = "lazyforest", "sklearn"


class Forest(NamedTuple):
    trees: int
    threads: int
    seed: int = 0


class System:
    name: str  # on the command line and in the JSON
    label: str  # in tables and plots
    package: str
    exact = False
    categories = "codes"
    note = ""
    compiles = False  # True: the first call on a table of another kind takes longer
    scores_batches = True  # False: too slow to predict more than the rows asked for

    def table(self, frame: pd.DataFrame) -> Any:
        """The table as the system wants it. Not under the clock."""
        return as_codes(frame)

    def fit(self, X: Any, y: Array, forest: Forest) -> Any:
        raise NotImplementedError

    def proba(self, model: Any, X: Any) -> Array:
        return np.asarray(model.predict_proba(X))

    def version(self) -> str | None:
        try:
            return importlib.metadata.version(self.package)
        except importlib.metadata.PackageNotFoundError:
            return None


class Ours(System):
    package = OURS
    exact = True
    compiles = True
    categories = "native"
    note = "told which columns are categories"

    def __init__(self, algorithm: str) -> None:
        self.algorithm = algorithm
        self.name = f"{OURS}-{algorithm}"
        self.label = f"lazyforest ({algorithm})"
        self.scores_batches = algorithm != "lazy"

    def table(self, frame: pd.DataFrame) -> Any:
        self.categorical = categorical_positions(frame)
        return as_codes(frame)

    def fit(self, X: Any, y: Array, forest: Forest) -> Any:
        from lazyforest import LazyForestClassifier

        estimator = LazyForestClassifier(
            forest.trees,
            max_depth=DEPTH,
            min_samples_split=SPLIT_ROWS,
            algorithm=self.algorithm,
            categorical_features=self.categorical,
            n_jobs=forest.threads,
            random_state=forest.seed,
        )
        return estimator.fit(X, y)


def categorical_positions(frame: pd.DataFrame) -> list[int]:
    return [frame.columns.get_loc(column) for column in text_columns(frame)]


def encoded_bytes(model: Any) -> int | None:
    """The size of the encoded table that a fitted lazyforest keeps; None for other systems."""
    forest = getattr(model, "_forest", None)
    return sum(part.nbytes for part in forest.table if isinstance(part, np.ndarray)) if forest else None


def sklearn_parameters(forest: Forest) -> dict[str, Any]:
    return {
        "n_estimators": forest.trees,
        "max_features": None,
        "max_depth": DEPTH,
        "min_samples_split": SPLIT_ROWS,
        "n_jobs": forest.threads,
        "random_state": forest.seed,
    }


class SklearnForest(System):
    name, label, package = SKLEARN, "scikit-learn", "scikit-learn"
    exact = True

    def fit(self, X: Any, y: Array, forest: Forest) -> Any:
        from sklearn.ensemble import RandomForestClassifier

        return RandomForestClassifier(criterion="entropy", **sklearn_parameters(forest)).fit(X, y)


class IntelexForest(System):
    name, label, package = "intelex", "scikit-learn-intelex", "scikit-learn-intelex"
    note = "256 bins; Gini, because with entropy it hands over to scikit-learn"

    def fit(self, X: Any, y: Array, forest: Forest) -> Any:
        from sklearnex.ensemble import RandomForestClassifier

        model = RandomForestClassifier(criterion="gini", **sklearn_parameters(forest)).fit(X, y)
        assert getattr(model, "_onedal_estimator", None) is not None, "handed over to scikit-learn"
        return model


class YdfForest(System):
    name, label, package = "ydf", "YDF", "ydf"
    exact = True
    categories = "native"
    note = "no out-of-bag evaluation; a missing value is imputed"

    def table(self, frame: pd.DataFrame) -> Any:
        text = set(text_columns(frame))
        return {
            column: frame[column].fillna("").to_numpy(dtype=str) if column in text else frame[column].to_numpy("f4")
            for column in frame.columns
        }

    def fit(self, X: Any, y: Array, forest: Forest) -> Any:
        import ydf

        ydf.verbose(0)
        return ydf.RandomForestLearner(LABEL, **ydf_parameters(forest)).train(X | {LABEL: y})

    def proba(self, model: Any, X: Any) -> Array:
        raw = np.asarray(model.predict(X), dtype=np.float64)
        columns = np.column_stack([1.0 - raw, raw]) if raw.ndim == 1 else raw
        return columns[:, np.argsort([int(label) for label in model.label_classes()])]


def ydf_parameters(forest: Forest) -> dict[str, Any]:
    return {
        "num_trees": forest.trees,
        "max_depth": DEPTH + 1,  # its root has depth 1
        "min_examples": SPLIT_ROWS,
        "in_split_min_examples_check": False,  # a node needs that many rows to be split; a leaf may have fewer
        "num_candidate_attributes_ratio": 1.0,
        "compute_oob_performances": False,
        "num_threads": forest.threads,
        "random_seed": forest.seed,
    }


class LightgbmForest(System):
    name, label, package = "lightgbm", "LightGBM (rf)", "lightgbm"
    categories = "native"
    note = "255 bins; at most 1,024 leaves per tree, without that limit it takes six times as long on Adult"

    def table(self, frame: pd.DataFrame) -> Any:
        self.categorical = categorical_positions(frame) or "auto"
        return as_codes(frame)

    def fit(self, X: Any, y: Array, forest: Forest) -> Any:
        import lightgbm

        model = lightgbm.LGBMClassifier(
            boosting_type="rf",
            n_estimators=forest.trees,
            subsample=IN_BAG,
            subsample_freq=1,
            colsample_bytree=1.0,
            max_depth=DEPTH,
            num_leaves=min(1024, max(2, len(y) // 2)),  # memory is taken for that many, whether they are grown or not
            min_child_samples=2,
            min_child_weight=0.0,
            n_jobs=forest.threads,
            random_state=forest.seed,
            verbose=-1,
        )
        return model.fit(X, y, categorical_feature=self.categorical)


class XgboostForest(System):
    name, label, package = "xgboost", "XGBoost (rf)", "xgboost"
    note = "256 bins"

    def fit(self, X: Any, y: Array, forest: Forest) -> Any:
        import xgboost

        return xgboost.XGBRFClassifier(
            n_estimators=forest.trees,  # becomes num_parallel_tree of one round
            tree_method="hist",
            subsample=IN_BAG,
            colsample_bynode=1.0,
            max_depth=DEPTH,
            min_child_weight=0.5,  # about two rows, each weighing p(1 - p)
            n_jobs=forest.threads,
            random_state=forest.seed,
        ).fit(X, y)


SYSTEMS: dict[str, System] = {
    system.name: system
    for system in (
        Ours("batched"),
        Ours("eager"),
        Ours("lazy"),
        SklearnForest(),
        IntelexForest(),
        YdfForest(),
        LightgbmForest(),
        XgboostForest(),
    )
}


def is_ours(name: str) -> bool:
    return name.startswith(OURS)
