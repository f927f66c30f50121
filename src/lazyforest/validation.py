"""Checks of what comes with a table: targets, weights, row ids; and advice added to scikit-learn's messages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import column_or_1d, validate_data

from lazyforest.engine.layout import Array
from lazyforest.table import is_missing, rank


@contextmanager
def advised(advice: str) -> Iterator[None]:
    """Add what to do to an error of scikit-learn's."""
    try:
        yield
    except (TypeError, ValueError) as error:
        message = str(error).rstrip()
        raise type(error)(f"{message}{chr(10) if chr(10) in message else ' '}{advice}") from error


def remember_features(estimator: Any, X: Any) -> None:
    """scikit-learn's attributes for the columns of ``fit``. Only it knows where to look for names; arrays have none."""
    if type(X) is np.ndarray:
        vars(estimator).pop("feature_names_in_", None)
        estimator.n_features_in_ = X.shape[1]
    else:
        validate_data(estimator, X, skip_check_array=True)


def check_features(estimator: Any, X: Any) -> None:
    """Do queries have the columns of ``fit``? scikit-learn says so if they do not."""
    named = type(X) is not np.ndarray or hasattr(estimator, "feature_names_in_")
    if named or X.shape[1] != estimator.n_features_in_:
        with advised("Give the columns that fit had, in their order."):
            validate_data(estimator, X, skip_check_array=True, reset=False)


def check_row_ids(row_ids: Any, n_rows: int | None) -> Array:
    """Whole numbers as unsigned words; one per row, all different, where ``n_rows`` is given."""
    ids = np.asarray(row_ids)
    if ids.ndim != 1 or ids.dtype.kind not in "iu":
        raise ValueError(f"row_ids must be a 1-d array of whole numbers. Got {ids.ndim}-d {ids.dtype}. Use np.arange.")
    if ids.dtype.kind == "i" and ids.min(initial=0) < 0:
        raise ValueError(f"row_ids must not be negative. Got {ids.min()}. Number the rows from 0.")
    if n_rows is not None and len(ids) != n_rows:
        raise ValueError(f"row_ids must have one id per row of X, {n_rows}. Got {len(ids)}. Use np.arange(len(X)).")
    if n_rows is not None:
        values, times = np.unique(ids, return_counts=True)
        if (times > 1).any():
            raise ValueError(f"row_ids must differ from each other. Got {values[times > 1][0]} twice. Use np.arange.")
    return ids.astype(np.uint64)


def check_weights(sample_weight: Any, n_rows: int) -> Array:
    if sample_weight is None:
        return np.ones(n_rows)
    weight = np.full(n_rows, sample_weight) if np.isscalar(sample_weight) else np.asarray(sample_weight)
    if weight.ndim != 1:
        raise ValueError(
            f"Sample weights must be 1D array or scalar. Got {weight.ndim}-d sample_weight. Give one number per row."
        )
    if len(weight) != n_rows:
        raise ValueError(f"sample_weight.shape == {weight.shape}, expected {(n_rows,)}. Give one weight per row of X.")
    if weight.dtype.kind not in "biuf":
        try:
            weight = weight.astype(object).astype(np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"sample_weight must be numbers. Got {weight.dtype} such as {weight[0]}"
                f"{' (complex)' if weight.dtype.kind == 'c' else ''}. Give real numbers."
            ) from error
    weight = weight.astype(np.float64)
    bad = ~np.isfinite(weight) | (weight < 0)
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise ValueError(
            f"sample_weight must be finite; negative values in data are not allowed. Got {weight[row]:g} in row {row}. "
            f"Use 0 to leave a row out."
        )
    return weight


def weigh_classes(class_weight: Any, y: Array) -> Array:
    """A factor per row."""
    if class_weight is None:
        return np.ones(len(y))
    if isinstance(class_weight, dict):
        for label, weight in class_weight.items():
            if not isinstance(weight, Real) or not np.isfinite(float(weight)) or float(weight) < 0:
                raise ValueError(
                    f"class_weight must hold finite numbers, none negative. Got {weight!r} for class {label!r}. Use 1 "
                    f"for the usual weight."
                )
        known = set(y.tolist())
        unknown = [label for label in class_weight if label not in known]
        if unknown and any(label not in class_weight for label in known):  # a fold may lack a class; this is a typo
            raise ValueError(
                f"class_weight names the class {unknown[0]!r}, which y does not have. Leave it out, or check its type."
            )
    return np.asarray(compute_sample_weight(class_weight, y))


def check_target(estimator: Any, target: Any, n_rows: int) -> Array:
    """y as a 1-d array without gaps, as long as X."""
    if target is None:
        raise ValueError(
            f"This {type(estimator).__name__} estimator requires y to be passed, but the target y is None. Give one "
            f"target per row."
        )
    y: Array = target
    if type(y) is not np.ndarray or y.ndim != 1 or y.dtype.kind not in "biuf" or not y.flags.c_contiguous:
        with advised("Give y as one target per row of X."):
            y = np.asarray(column_or_1d(target, warn=True))
    if len(y) != n_rows:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: X has {n_rows} rows, y has {len(y)} targets. "
            f"Give one target per row."
        )
    if y.dtype.kind in "mM":
        raise ValueError(
            f"y holds {y.dtype}. Turn dates and durations into numbers of a unit you choose, or into text."
        )
    if y.dtype.kind == "c":
        raise ValueError("Complex data not supported in y. Convert it to real numbers or to text.")
    missing = np.isnan(y) if y.dtype.kind == "f" else find_missing(y)
    if missing.any():
        rows = np.flatnonzero(missing)
        raise ValueError(
            f"y contains NaN: {len(rows)} of {len(y)} targets are missing, the first in row {rows[0]}. Leave them "
            f"out of fit; they can be predicted."
        )
    if y.dtype.kind == "f" and np.isinf(y).any():
        row = np.flatnonzero(np.isinf(y))[0]
        raise ValueError(f"y contains infinity (inf) in row {row}. Give finite numbers, or leave the row out.")
    return y


def find_missing(y: Array) -> Array:
    """Where an object array has no value; looks at each distinct value once."""
    if y.dtype != object:
        return np.zeros(len(y), dtype=bool)
    values = y.tolist()
    gone = {id(v) for v in {id(v): v for v in values}.values() if is_missing(v)}
    return np.fromiter((id(v) in gone for v in values), dtype=bool, count=len(y)) if gone else np.zeros(len(y), bool)


def find_classes(y: Array) -> tuple[Array, Array]:
    """The classes, ascending, and the number of each row's class; all of y is hashed, only the classes are sorted."""
    if y.dtype.kind not in "OU":
        classes, codes = rank_targets(y)
        check_classes(classes, y)
        return classes, codes
    values = y.tolist()
    distinct = np.array(list(dict.fromkeys(values)), dtype=y.dtype)
    check_classes(distinct, y)
    classes = np.unique(distinct)
    number = {value: k for k, value in enumerate(classes.tolist())}
    return classes, np.fromiter(map(number.__getitem__, values), dtype=np.int64, count=len(values))


def count_targets(y: Array) -> tuple[Array, Array] | None:
    """``rank_targets`` for whole numbers near each other, as numbers of classes mostly are; None for others."""
    lowest, highest = (int(y.min()), int(y.max())) if y.dtype.kind in "biu" and len(y) else (0, len(y))
    if highest - lowest >= len(y) or highest >= 2**62:
        return None
    codes = y.astype(np.int64, copy=False) - lowest
    if highest - lowest <= 1:  # both occur
        return np.arange(lowest, highest + 1).astype(y.dtype), codes
    used = np.bincount(codes) > 0
    return (lowest + np.flatnonzero(used)).astype(y.dtype), codes if used.all() else (np.cumsum(used) - 1)[codes]


def rank_targets(y: Array) -> tuple[Array, Array]:
    """The distinct ones, ascending, and the number of each; by the encoder, unless float64 does not tell them apart."""
    counted = count_targets(y)
    if counted is not None:
        return counted
    numbers = y.astype(np.float64) if y.dtype.kind in "biuf" else None
    with np.errstate(invalid="ignore"):
        exact = numbers is not None and np.array_equal(numbers.astype(y.dtype), y)
    if numbers is None or not exact:
        classes = np.unique(y)
        return classes, np.searchsorted(classes, y)
    codes, distinct = rank(np.ascontiguousarray(numbers)[None], np.zeros(1, dtype=np.int64))
    return distinct[0].astype(y.dtype), codes[0] - codes.dtype.type(1)


def check_classes(distinct: Array, y: Array) -> None:
    """Targets that are classes, not measurements. The distinct ones tell, unless scikit-learn wants to warn of many."""
    many = 2 * len(distinct) > len(y)
    if y.dtype.kind in "biu" and not many:
        return
    some = y if many else np.tile(distinct, 2)
    kind = type_of_target(some, input_name="y")
    if kind not in ("binary", "multiclass"):
        fraction = next((v for v in y.tolist() if isinstance(v, float) and v != int(v)), y[0])
        raise ValueError(
            f"Unknown label type: {kind}. y must hold classes. Got {fraction!r}. Use LazyForestRegressor for numbers, "
            f"or turn them into classes."
        )


def numeric_target(y: Array) -> Array:
    try:
        y = y.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"y must be numbers. Got {y[0]!r} in row 0. Use LazyForestClassifier for classes.") from error
    if not np.isfinite(y).all():
        raise ValueError(f"y contains infinity (inf) in row {np.flatnonzero(~np.isfinite(y))[0]}. Give finite numbers.")
    return y
