"""The encoding on which all partitions agree: what each saw of its columns, summed up; then codes for their rows.

A column of numbers with up to 32,640 distinct values gets a code for each of them. One with more gets codes for ranges
of about equally many rows, from a sample of every partition: how good it is decides how much has to be looked at later,
never what is found.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lazyforest.engine.layout import BINS, CODES, FEW_CODES, Array
from lazyforest.kept import code_categories
from lazyforest.table import CATEGORY, EMPTY, Column, Raw, describe, read

CODES_PER_BIN = 128
MOST_CODES = (BINS - 1) * CODES_PER_BIN  # of a column of numbers
SAMPLE = MOST_CODES // 8  # what a partition tells of a column with more values
SIGN = np.uint64(1 << 63)


class Sketch(NamedTuple):
    """Numbers of a column, ascending, and how many rows there are up to each from the one before."""

    values: Array
    counts: Array
    exact: bool  # all the distinct numbers


class Seen(NamedTuple):
    """A column as a partition has it."""

    name: Any
    kind: str
    family: str
    sketch: Sketch | None
    categories: list[Any]

    def plus(self, other: Seen) -> Seen:
        if EMPTY in (self.kind, other.kind):
            return other if self.kind == EMPTY else self
        if (self.kind, self.family) != (other.kind, other.family):
            kinds = " and ".join(s.family if s.kind == CATEGORY else s.kind for s in (self, other))
            raise ValueError(
                f"{describe(self.name)} mixes types: {kinds} in different partitions. Convert it to one type first."
            )
        sketch = None
        if self.sketch is not None and other.sketch is not None:
            values = np.concatenate([self.sketch.values, other.sketch.values])
            counts = np.concatenate([self.sketch.counts, other.sketch.counts])
            sketch = thin(values, counts, self.sketch.exact and other.sketch.exact, 2 * MOST_CODES)
        return self._replace(sketch=sketch, categories=list({*self.categories, *other.categories}))


class Coding(NamedTuple):
    """How columns become codes: 0 is missing, the others start at 1."""

    columns: list[Column]
    values: list[Array]  # per column of numbers: the number of each code, where that is exact
    edges: list[Array]  # per column of numbers: code c is at least edges[c - 2] and below edges[c - 1]
    edge_keys: list[Array]  # the same as keys
    exact: Array  # (columns,) bool: does a code tell the value?
    n_codes: Array  # (columns,) int64, with that of missing values
    shift: Array  # (columns,) uint64: 2 ** shift codes share a coarse bin

    @property
    def is_category(self) -> Array:
        return np.array([column.is_category for column in self.columns])

    @property
    def dtype(self) -> np.dtype[Any]:
        return CODES[int(self.n_codes.max()) > FEW_CODES]


def thin(values: Array, counts: Array, exact: bool, most: int) -> Sketch:
    """Sort and add up; above so many values, keep those at equal steps of the number of rows."""
    values, index = np.unique(values, return_inverse=True)
    counts = np.bincount(index.ravel(), weights=counts, minlength=len(values)).astype(np.int64)
    if len(values) <= (MOST_CODES if exact else most):
        return Sketch(values, counts, exact)
    below = np.cumsum(counts)
    kept = np.unique(np.searchsorted(below, np.linspace(1, below[-1], most)))
    return Sketch(values[kept], np.diff(below[kept], prepend=0), False)


def see(raw: Raw) -> Seen:
    if raw.numbers is None:
        return Seen(raw.name, CATEGORY, raw.family, None, list(code_categories(raw)[1].codes))
    x = raw.numbers[~np.isnan(raw.numbers)] + 0.0  # zero is one number, whatever its sign
    values, counts = np.unique(x, return_counts=True)
    return Seen(raw.name, raw.kind, raw.family, thin(values, counts, True, SAMPLE), [])


def agree(seen: list[Seen]) -> Coding:
    """The encoding of the columns of all partitions together."""
    columns, values, edges, exact, n_codes = [], [], [], [], []
    for one in seen:
        if one.kind == CATEGORY:
            codes = {value: code for code, value in enumerate(sorted(one.categories), start=1)}
            columns.append(Column(one.name, CATEGORY, one.family, codes))
            values.append(np.empty(0))
            edges.append(np.empty(0))
            exact.append(True)
            n_codes.append(len(codes) + 1)
            continue
        sketch = one.sketch
        assert sketch is not None  # numbers have one
        columns.append(Column(one.name, one.kind, one.family))
        exact.append(sketch.exact)
        values.append(sketch.values if sketch.exact else np.empty(0))
        cuts = sketch if sketch.exact else thin(sketch.values, sketch.counts, False, MOST_CODES)
        edges.append(cuts.values[1:])
        n_codes.append(len(cuts.values) + 1)
    count = np.array(n_codes, dtype=np.int64)
    shift = [max(0, int(-(-(n - 1) // (BINS - 1)) - 1).bit_length()) for n in n_codes]
    return Coding(
        columns, values, edges, [keys_of(e) for e in edges], np.array(exact), count, np.array(shift, dtype=np.uint64)
    )


def code_columns(columns: list[Raw], coding: Coding, n: int) -> Array:
    codes = np.zeros((n, len(columns)), dtype=coding.dtype)
    for j, (raw, column) in enumerate(zip(columns, coding.columns, strict=True)):
        if raw.numbers is not None:
            found = np.searchsorted(coding.edges[j], raw.numbers, side="right") + 1
            codes[:, j] = np.where(np.isnan(raw.numbers), 0, found)
        else:
            assert raw.codes is not None
            assert raw.distinct is not None
            code_of = np.array([0, *(column.codes.get(value, 0) for value in raw.distinct)], dtype=np.int64)
            codes[:, j] = code_of[raw.codes]
    return codes


def number_columns(X: Any) -> Array:
    """Columns of numbers, one after the other."""
    columns = read(X, None)
    numbers = np.empty((len(columns), len(X)))
    for k, raw in enumerate(columns):
        assert raw.numbers is not None  # categories have codes enough
        numbers[k] = raw.numbers
    return numbers


def keys_of(x: Array) -> Array:
    """Unsigned words in the order of the numbers, none of them 0; 0 for NaN."""
    bits = (x + 0.0).view(np.uint64)
    return np.where(np.isnan(x), np.uint64(0), np.where(bits & SIGN, ~bits, bits | SIGN))


def number_of(key: Any) -> float:
    word = np.uint64(key)
    return float((word ^ SIGN if word & SIGN else ~word).view(np.float64))


def key_range(coding: Coding, j: int, low: int, high: int) -> tuple[int, int]:
    """The keys of the codes ``low`` to ``high``, both included."""
    edges = coding.edge_keys[j]
    lowest = int(edges[low - 2]) if low > 1 else 1
    highest = int(edges[high - 1]) - 1 if high <= len(edges) else 2**64 - 1
    return lowest, highest


def code_of(coding: Coding, j: int, value: float) -> int:
    return int(np.searchsorted(coding.edges[j], value, side="right")) + 1
