"""What is done to a partition before any pass: it is looked at, then encoded where it lies. Pure functions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from lazyforest.dask.coding import Coding, Seen, code_columns, see
from lazyforest.dask.passes import Part
from lazyforest.engine.layout import CLASS, Array
from lazyforest.frame import Extent, Frame, measure
from lazyforest.table import Column, check_text_is_wanted, encode_queries, read
from lazyforest.validation import check_row_ids, check_target, check_weights, numeric_target


class Summary(NamedTuple):
    """What some partitions hold."""

    rows: dict[int, int]  # by number of the partition
    columns: list[Seen]  # none: there are no rows
    classes: Array  # distinct targets; regression: none
    class_counts: Array


def namesake(name: str) -> Any:
    """Something whose type has a name, which is all that messages need of an estimator."""
    return type(name, (), {})()


class Source(NamedTuple):
    """A partition's number and its share of X, y, sample_weight and row_ids, the last two possibly None."""

    number: int
    X: Any
    y: Any
    weight: Any
    row_ids: Any


@contextmanager
def named(number: int) -> Iterator[None]:
    """Errors say in which partition they are."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise type(error)(f"Partition {number}: {error}") from error


def summarise(source: Source, estimator: str, categorical: Any, regression: bool) -> Summary:
    """Look at a partition, and check what can be checked without the others."""
    n = len(source.X)
    with named(source.number):
        lengths = {"y": source.y, "sample_weight": source.weight, "row_ids": source.row_ids}
        for name, other in lengths.items():
            if other is not None and len(other) != n:
                raise ValueError(
                    f"X has {n} rows, {name} has {len(other)}. Give both the same partitions, for example by taking "
                    f"them from one data frame."
                )
        if n == 0:
            return Summary({source.number: 0}, [], np.empty(0), np.empty(0, dtype=np.int64))
        columns = read(source.X, categorical)
        check_text_is_wanted(columns, categorical)
        y = check_target(namesake(estimator), source.y, n)
        check_weights(source.weight, n)
        if regression:
            numeric_target(y)
        classes, counts = (y[:0], y[:0]) if regression else count_classes(y)
        return Summary({source.number: n}, [see(raw) for raw in columns], classes, counts)


def count_classes(y: Array) -> tuple[Array, Array]:
    if y.dtype.kind not in "OU":
        classes, counts = np.unique(y, return_counts=True)
        return classes, counts
    times: dict[Any, int] = {}
    for value in y.tolist():
        times[value] = times.get(value, 0) + 1
    return np.array(list(times), dtype=y.dtype), np.array(list(times.values()))


def add_summaries(summaries: list[Summary]) -> Summary:
    return reduce(add_two, summaries)


def add_two(one: Summary, other: Summary) -> Summary:
    rows = one.rows | other.rows
    if not one.columns or not other.columns:
        return (one if one.columns else other)._replace(rows=rows)
    columns = [a.plus(b) for a, b in zip(one.columns, other.columns, strict=True)]
    classes, index = np.unique(np.concatenate([one.classes, other.classes]), return_inverse=True)
    counts = np.bincount(index.ravel(), np.concatenate([one.class_counts, other.class_counts]), len(classes))
    return Summary(rows, columns, classes, counts.astype(np.int64))


def encode(source: Source, coding: Coding, categorical: Any, classes: Array | None, factors: Any, first: int) -> Part:
    """A partition in codes; targets of regression and weights are not in fixed point yet."""
    with named(source.number):
        n = len(source.X)
        y = check_target(namesake("forest"), source.y, n)
        weight = np.empty(0) if source.weight is None and factors is None else check_weights(source.weight, n)
        if classes is None:
            targets = numeric_target(y)
        else:
            number = {value: k for k, value in enumerate(classes.tolist())}
            targets = np.fromiter(map(number.__getitem__, y.tolist()), dtype=CLASS, count=n)
            weight = weight if factors is None else weight * factors[targets]
        ids = np.empty(0, np.uint64) if source.row_ids is None else check_row_ids(np.asarray(source.row_ids), n)
        codes = code_columns(read(source.X, categorical), coding, n)
        return Part(codes, targets, weight, first, ids, np.empty((0, n)))


def extent_of(part: Part, regression: bool) -> Extent:
    weight = part.weight if len(part.weight) else np.ones(len(part.y))
    return measure(weight, part.y if regression else None)


def settle(part: Part, frame: Frame, regression: bool) -> Part:
    """Targets and weights in fixed point."""
    y = frame.targets(part.y) if regression else part.y
    weight = part.weight
    if not len(weight) and frame.weight_bits != 0:
        weight = np.ones(len(y))
    weight = frame.weights(weight)
    return part._replace(y=y, weight=weight)


def read_queries(number: int, X: Any, columns: list[Column]) -> Array:
    """The rows of a partition that are to be predicted."""
    if not len(X):
        return np.empty((0, len(columns)))
    with named(number):
        return encode_queries(read(X, remembered=columns), columns)
