"""Who predicts how well: lazyforest beside scikit-learn and YDF, with categories, gaps, and numbers to predict.

python -m benchmarks.accuracy --quick    # samples and few trees, into build/accuracy
python -m benchmarks.accuracy            # into docs/accuracy, and the page docs/accuracy.md
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.datasets import load_diabetes, make_friedman1
from sklearn.model_selection import KFold, StratifiedKFold

from benchmarks import accuracy_page, machine
from benchmarks.measure import ROOT
from benchmarks.systems import DEPTH, LABEL, SPLIT_ROWS, Forest, YdfForest, ydf_parameters
from benchmarks.work import SEED, Array, Table, load_table, text_columns

CLASSIFICATION = ("adult", "breast", "gamma", "all", "c2u", "c2u_standin")
BLANK_SHARE = 0.3
MISSING_SHARE = 0.1
LIMITS = {"max_depth": DEPTH, "min_samples_split": SPLIT_ROWS}


class Task(NamedTuple):
    """Rows to learn from and rows to answer, as data frames with text and gaps."""

    train: pd.DataFrame
    y: Array
    query: pd.DataFrame
    forest: Forest

    def common(self) -> dict[str, Any]:
        return {
            "n_estimators": self.forest.trees,
            "n_jobs": self.forest.threads,
            "random_state": self.forest.seed,
            **LIMITS,
        }


Model = Callable[[Task], Array]

# ---- the models


def ours(task: Task, **parameters: Any) -> Array:
    from lazyforest import LazyForestClassifier

    return LazyForestClassifier(**task.common(), **parameters).fit(task.train, task.y).predict(task.query)


def ours_regression(task: Task) -> Array:
    from lazyforest import LazyForestRegressor

    return LazyForestRegressor(**task.common()).fit(task.train, task.y).predict(task.query)


def sklearn_one_hot(task: Task, impute: bool = False) -> Array:
    """Indicators of categories; a missing category misses all of its indicators, as scikit-learn's trees can take."""
    from sklearn.ensemble import RandomForestClassifier

    train, query = task.train, task.query
    if impute:
        train, query = fill(train, task.train), fill(query, task.train)
    known = {column: sorted(train[column].dropna().unique()) for column in text_columns(train)}
    forest = RandomForestClassifier(**task.common(), criterion="entropy", max_features=None)
    return forest.fit(one_hot(train, known), task.y).predict(one_hot(query, known))


def sklearn_regression(task: Task) -> Array:
    from sklearn.ensemble import RandomForestRegressor

    forest = RandomForestRegressor(**task.common(), max_features=None)
    return forest.fit(task.train, task.y).predict(task.query)


def ydf_classification(task: Task) -> Array:
    system = YdfForest()
    model = system.fit(system.table(task.train), task.y, task.forest)
    return system.proba(model, system.table(task.query)).argmax(axis=1)


def ydf_regression(task: Task) -> Array:
    import ydf

    ydf.verbose(0)
    learner = ydf.RandomForestLearner(LABEL, task=ydf.Task.REGRESSION, **ydf_parameters(task.forest))
    system = YdfForest()
    return np.asarray(learner.train(system.table(task.train) | {LABEL: task.y}).predict(system.table(task.query)))


def one_hot(frame: pd.DataFrame, known: dict[str, list[str]]) -> Array:
    numbers = frame.drop(columns=list(known)).to_numpy(np.float32)
    return np.hstack([numbers, *(indicators(frame[column], values) for column, values in known.items())])


def indicators(values: pd.Series, known: list[str]) -> Array:
    codes = pd.Categorical(values, categories=known).codes
    return np.where(values.isna().to_numpy()[:, None], np.nan, codes[:, None] == np.arange(len(known))).astype("f4")


def fill(frame: pd.DataFrame, train: pd.DataFrame) -> pd.DataFrame:
    """The most frequent category, the median number of the training rows for what is missing."""
    text = set(text_columns(train))
    typical = {name: train[name].mode().iloc[0] if name in text else train[name].median() for name in train.columns}
    return frame.fillna(typical)


CLASSIFIERS: dict[str, Model] = {
    "lazyforest": ours,
    "lazyforest, soft votes": partial(ours, voting="soft"),
    "scikit-learn, one-hot": sklearn_one_hot,
    "YDF": ydf_classification,
}
REGRESSORS: dict[str, Model] = {
    "lazyforest": ours_regression,
    "scikit-learn": sklearn_regression,
    "YDF": ydf_regression,
}
WITH_BLANKS: dict[str, Model] = {
    'lazyforest, missing="reduced"': partial(ours, missing="reduced"),
    'lazyforest, missing="route"': ours,
    "scikit-learn, one-hot": sklearn_one_hot,
    "scikit-learn, one-hot, imputed": partial(sklearn_one_hot, impute=True),
    "YDF": ydf_classification,
}

# ---- the data


def blank(frame: pd.DataFrame, share: float, seed: int) -> pd.DataFrame:
    """A copy with that share of the cells emptied at random."""
    gone = np.random.default_rng(seed).random(frame.shape) < share
    numbers = frame.select_dtypes("number").columns
    return frame.astype(dict.fromkeys(numbers, float)).mask(gone)


def load_regression(rows: int) -> dict[str, Table]:
    diabetes = load_diabetes(as_frame=True, scaled=False)
    X, y = make_friedman1(rows, n_features=10, noise=1.0, random_state=SEED)
    friedman = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    measured = diabetes.target.to_numpy(dtype=np.float64)
    gaps = f"{MISSING_SHARE:.0%} missing"
    return {
        "diabetes": Table(diabetes.data, measured),
        f"diabetes, {gaps}": Table(blank(diabetes.data, MISSING_SHARE, SEED), measured),
        f"friedman1, {gaps}": Table(blank(friedman, MISSING_SHARE, SEED), y),
    }


# ---- the experiments


def answer_folds(model: Model, table: Table, folds: list[Any], forest: Forest) -> Array:
    """An answer for each row from a forest that did not see its fold."""
    answers = np.empty(len(table.y), dtype=table.y.dtype)
    for train, query in folds:
        answers[query] = model(Task(table.frame.iloc[train], table.y[train], table.frame.iloc[query], forest))
    return answers


def timed(answer: Callable[[], Array]) -> tuple[Array, float]:
    started = time.perf_counter()
    answers = answer()
    return answers, time.perf_counter() - started


def classify(name: str, table: Table, forest: Forest) -> Iterator[dict[str, Any]]:
    """Accuracy of 10-fold; the error of the difference to ours comes from the rows where the two disagree."""
    folds = list(StratifiedKFold(10, shuffle=True, random_state=SEED).split(table.frame, table.y))
    first = None
    for label, model in CLASSIFIERS.items():
        answers, seconds = timed(partial(answer_folds, model, table, folds, forest))
        right = answers == table.y
        first = right if first is None else first
        yield {"part": "classification", "data": name, "model": label, **accuracy(right, first), "seconds": seconds}


def accuracy(right: Array, first: Array) -> dict[str, Any]:
    rows, disagree = len(right), int((right != first).sum())
    return {
        "rows": rows,
        "accuracy": float(right.mean()),
        "error": float(right.std() / rows**0.5),
        "difference": float(right.mean() - first.mean()),
        "difference_error": disagree**0.5 / rows,
    }


def regress(name: str, table: Table, forest: Forest) -> Iterator[dict[str, Any]]:
    folds = list(KFold(10, shuffle=True, random_state=SEED).split(table.frame))
    for label, model in REGRESSORS.items():
        answers, seconds = timed(partial(answer_folds, model, table, folds, forest))
        unexplained = ((table.y - answers) ** 2).sum() / ((table.y - table.y.mean()) ** 2).sum()
        yield {"part": "regression", "data": name, "model": label, "rows": len(table.y), "r2": 1 - float(unexplained),
               "seconds": seconds}  # fmt: skip


def classify_blanked(name: str, table: Table, forest: Forest, n_folds: int) -> Iterator[dict[str, Any]]:
    """The training rows as they are, the queries with cells emptied."""
    folds = list(StratifiedKFold(10, shuffle=True, random_state=SEED).split(table.frame, table.y))[:n_folds]
    emptied = blank(table.frame, BLANK_SHARE, SEED)
    truth = np.concatenate([table.y[query] for _, query in folds])
    first = None
    for label, model in WITH_BLANKS.items():
        tasks = [Task(table.frame.iloc[train], table.y[train], emptied.iloc[query], forest) for train, query in folds]
        answers, seconds = timed(partial(answer_tasks, model, tasks))
        right = answers == truth
        first = right if first is None else first
        yield {"part": "blanked", "data": name, "model": label, **accuracy(right, first), "seconds": seconds}


def answer_tasks(model: Model, tasks: list[Task]) -> Array:
    return np.concatenate([model(task) for task in tasks])


def run_all(asked: argparse.Namespace) -> Iterator[dict[str, Any]]:
    forest = Forest(asked.trees, asked.threads)
    for name in asked.only:
        yield from classify(name, load_table(name, asked.data, asked.sample), forest)
    if "regression" in asked.parts:
        for name, table in load_regression(asked.friedman_rows).items():
            yield from regress(name, table, forest)
    if "blanked" in asked.parts:
        table = load_table("adult", asked.data, asked.sample)
        yield from classify_blanked("adult", table, forest, asked.blank_folds)


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="1,000 rows of each data set and 20 trees")
    parser.add_argument("--data", metavar="FOLDER", help="where the files of the data sets are")
    parser.add_argument("--only", nargs="*", choices=CLASSIFICATION, default=list(CLASSIFICATION))
    parser.add_argument("--parts", nargs="*", choices=("regression", "blanked"), default=["regression", "blanked"])
    parser.add_argument("--trees", type=int, help="100; quick: 20")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--blank-folds", type=int, default=1, help="how many of ten folds are asked with blanks")
    parser.add_argument("--friedman-rows", type=int, default=2000)
    parser.add_argument("--sample", type=int, metavar="ROWS", help="use that many rows of each data set")
    parser.add_argument("--out", type=Path, help="folder for the JSON (docs/accuracy; quick: build/accuracy)")
    asked = parser.parse_args(arguments)
    asked.trees = asked.trees or (20 if asked.quick else 100)
    asked.sample = asked.sample or (1000 if asked.quick else None)
    asked.out = asked.out or ROOT / ("build" if asked.quick else "docs") / "accuracy"
    return asked


def main(arguments: Sequence[str] | None = None) -> None:
    asked = parse(arguments)
    warnings.simplefilter("ignore")
    run: dict[str, Any] = {
        "kind": "accuracy",
        "date": machine.today(),
        "machine": machine.describe_machine(),
        "versions": machine.list_versions(),
        "settings": {
            "quick": asked.quick,
            "trees": asked.trees,
            "sample": asked.sample,
            "blank_folds": asked.blank_folds,
        },
        "results": [],
    }
    asked.out.mkdir(parents=True, exist_ok=True)
    for result in run_all(asked):
        run["results"].append(result)
        print(accuracy_page.one_line(result), flush=True)
        (asked.out / "accuracy.json").write_text(json.dumps(run, indent=1) + "\n")
    print(accuracy_page.write_page(asked.out))


if __name__ == "__main__":
    main()
