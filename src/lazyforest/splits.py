"""What a cross-validation splits: the test sets, and whether what is left to train on is simply all the rest."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import LeaveOneOut, check_cv

from lazyforest.engine.layout import Array
from lazyforest.validation import advised, find_missing

ADVICE = "Use fewer splits, or give more rows, rows of each class, or groups."


class Split(NamedTuple):
    """Rows to be predicted, and rows to learn from.

    ``train`` None: all others, ascending; leave-one-out of Adult would hold 8 GB otherwise.
    """

    test: Array
    train: Array | None = None
    is_rest: bool = True  # ``train`` is all others, in any order

    def training_rows(self, n_rows: int) -> Array:
        return other_rows(self.test, n_rows) if self.train is None else self.train


def other_rows(rows: Array, n_rows: int) -> Array:
    left = np.ones(n_rows, dtype=bool)
    left[rows] = False
    return np.flatnonzero(left)


def find_splits(cv: Any, X: Any, y: Array, classifier: bool, given: dict[str, Any]) -> list[Split]:
    """The splits of scikit-learn's ``cv``."""
    n, groups = len(y), given.get("groups")
    if groups is not None:
        given = {**given, "groups": check_groups(groups, n)}
    with advised(ADVICE):
        cv = check_cv(cv, y, classifier=classifier)
    if type(cv) is LeaveOneOut and n > 1 and groups is None:  # written out, its training sides take quadratic time
        return [Split(row) for row in np.arange(n)[:, None]]
    pairs = enumerate(split_advised(cv, X, y, given))
    splits = [new_split(number, train, test, n) for number, (train, test) in pairs]
    if not splits:
        raise ValueError("cv must have at least one split. Got none. Use an int for so many folds.")
    return splits


def split_advised(cv: Any, X: Any, y: Array, given: dict[str, Any]) -> Iterator[tuple[Any, Any]]:
    with advised(ADVICE):
        yield from cv.split(X, y, **given)


def new_split(number: int, train: Any, test: Any, n_rows: int) -> Split:
    test, train = check_rows(test, n_rows, f"The test set of split {number}"), check_training(number, train, n_rows)
    others = other_rows(test, n_rows)
    if np.array_equal(train, others):
        return Split(test)
    return Split(test, train, is_rest=np.array_equal(np.sort(train), others))


def check_training(number: int, train: Any, n_rows: int) -> Array:
    """Rows to learn from: some, and none of them twice."""
    rows = check_rows(train, n_rows, f"The training side of split {number}")
    if not len(rows):
        raise ValueError(f"The training side of split {number} has no row. Leave some rows out of its test set.")
    times = np.bincount(rows)
    if times.max() > 1:
        raise ValueError(
            f"The training side of split {number} has row {times.argmax()} {times.max()} times; a row has one "
            f"bootstrap count. Use sample_weight to count it more than once."
        )
    return rows


def check_rows(rows: Any, n_rows: int, what: str) -> Array:
    """Row numbers as int64; a mask is turned into them."""
    found = np.asarray(rows)
    if found.dtype == bool and found.shape == (n_rows,):
        return np.flatnonzero(found)
    if found.ndim != 1 or (found.size and found.dtype.kind not in "iu"):
        raise ValueError(
            f"{what} must be a 1-d array of row numbers. Got {found.ndim}-d {found.dtype}. Use np.flatnonzero."
        )
    outside = found[(found < 0) | (found >= n_rows)]
    if len(outside):
        raise ValueError(
            f"{what} must be row numbers from 0 to {n_rows - 1}. Got {outside[0]}. Number the rows from 0."
        )
    return found.astype(np.int64)


def check_groups(groups: Any, n_rows: int) -> Array:
    """One group per row, none missing."""
    found = np.asarray(groups)
    if found.ndim != 1 or len(found) != n_rows:
        raise ValueError(
            f"groups must be 1-d with one group per row of X, {n_rows}. Got shape {found.shape}. Give each row a group."
        )
    missing = found != found if found.dtype.kind in "fmM" else find_missing(found)
    if missing.any():
        rows = np.flatnonzero(missing)
        raise ValueError(
            f"groups must not have missing values. Got {len(rows)} of {n_rows} missing, the first in row {rows[0]}. "
            f"Give each of these rows a group, its own if it belongs to none."
        )
    return found


def folds_of(splits: list[Split], n_rows: int) -> Array | None:
    """The fold that each row is tested in, -1 if in none; None if these splits are not made of folds."""
    folds = np.full(n_rows, -1, dtype=np.int64)
    for number, (test, _, is_rest) in enumerate(splits):
        if not is_rest or (folds[test] >= 0).any():
            return None
        folds[test] = number
    return folds if sum(len(split.test) for split in splits) == (folds >= 0).sum() else None


def check_partition(splits: list[Split], n_rows: int) -> None:
    """As scikit-learn: out-of-fold predictions need each row tested once."""
    times = np.bincount(np.concatenate([split.test for split in splits]), minlength=n_rows)
    if (times != 1).any():
        row = times.argmax() if times.max() > 1 else times.argmin()
        raise ValueError(
            f"cross_val_predict only works for partitions: each row in one test set. Got row {row} in {times[row]} of "
            f"them. Use cross_validate to score such splits, or another cv."
        )
