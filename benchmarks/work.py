"""What is measured: tables by name, and which rows are trained on and asked for."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold, train_test_split

from lazyforest import datasets

Array = NDArray[Any]

SEED = 20160
DATA = ("breast", "adult", "gamma", "all", "c2u_standin", "synthetic-1000000x20")
ONE_ROW, ONE_PERCENT, TEN_PERCENT, TEN_FOLD = "one row", "1% of rows", "10% of rows", "10-fold"
WORK = (ONE_ROW, ONE_PERCENT, TEN_PERCENT, TEN_FOLD)
SCORED_ROWS = 1000  # enough to see a system that predicts worse, few enough to leave the training rows nearly whole


class Table(NamedTuple):
    frame: pd.DataFrame
    y: Array  # 0, 1... in the order of the sorted labels


class Split(NamedTuple):
    train: Array
    query: Array  # predicted under the clock
    scored: Array  # predicted for the accuracy; starts with the rows of query


def load_table(name: str, folder: str | None = None, sample: int | None = None) -> Table:
    """A data set, shuffled with a fixed seed; the first ``sample`` rows of it if asked for."""
    found = re.fullmatch(r"synthetic-(\d+)x(\d+)", name)
    table = make_synthetic(int(found[1]), int(found[2])) if found else read_table(name, folder)
    if not sample or sample >= len(table.y):
        return table
    rows, _ = train_test_split(np.arange(len(table.y)), train_size=sample, stratify=table.y, random_state=SEED)
    return Table(table.frame.iloc[rows], table.y[rows])


def read_table(name: str, folder: str | None) -> Table:
    data = datasets.load(name, folder)
    return Table(data.X, np.unique(data.y, return_inverse=True)[1])


def make_synthetic(rows: int, columns: int) -> Table:
    """Normal columns, all values distinct; two classes from a curved border in five columns, with noise."""
    rng = np.random.default_rng(SEED)
    X = rng.standard_normal((rows, columns))
    border = X[:, 0] + X[:, 1] * X[:, 2] + np.abs(X[:, 3]) - X[:, 4] ** 2 / 2
    y = border + 0.5 * rng.standard_normal(rows) > 0.3
    return Table(pd.DataFrame(X, columns=[f"x{j}" for j in range(columns)]), y.astype(np.int64))


def make_splits(work: str, y: Array) -> list[Split]:
    """Stratified and shuffled with a fixed seed: three of the files are grouped by class."""
    if work == TEN_FOLD:
        folds = StratifiedKFold(10, shuffle=True, random_state=SEED).split(np.zeros(len(y)), y)
        return [Split(train, query, query) for train, query in folds]
    queries, held_out = count_rows(work, len(y))
    train, rest = train_test_split(np.arange(len(y)), test_size=held_out, stratify=y, random_state=SEED)
    return [Split(train, rest[:queries], rest)]


def count_rows(work: str, rows: int) -> tuple[int, int]:
    """How many rows are predicted under the clock, and how many are kept out of training."""
    asked = re.fullmatch(r"(\d+) queries, (\d+) training rows", work)
    if asked:
        return int(asked[1]), rows - int(asked[2])
    queries = max(1, {ONE_ROW: 1, ONE_PERCENT: rows // 100, TEN_PERCENT: rows // 10}[work])
    return queries, max(queries, min(rows // 10, SCORED_ROWS))


def few_rows(y: Array, per_class: int = 100) -> Array:
    """Some rows of every class, to warm up on."""
    return np.concatenate([np.flatnonzero(y == label)[:per_class] for label in np.unique(y)])


def text_columns(frame: pd.DataFrame) -> list[str]:
    return [column for column in frame.columns if not pd.api.types.is_numeric_dtype(frame[column])]


def as_codes(frame: pd.DataFrame) -> Array:
    """A float32 matrix: categories as integer codes in the order of their names, a missing one as a code of its own."""
    coded = {column: frame[column].astype("category").cat.codes for column in text_columns(frame)}
    return frame.assign(**coded).to_numpy(dtype=np.float32) if coded else frame.to_numpy(dtype=np.float32)


def take(table: Any, rows: Array) -> Any:
    """Rows of a data frame, a matrix, or a dict of columns."""
    if isinstance(table, dict):
        return {column: values[rows] for column, values in table.items()}
    return table.iloc[rows] if isinstance(table, pd.DataFrame) else table[rows]
