"""The arrays that the kernels share, and every dtype with its reason."""

from __future__ import annotations

import gc
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from numba import njit
from numba.core import event
from numba.core.options import DefaultOptions

Array = np.ndarray[Any, np.dtype[Any]]
Scalar = Any  # in tuples that kernels make: whatever numba infers
Kernel = TypeVar("Kernel", bound=Callable[..., Any])

# Row numbers are unsigned: a signed index costs a test for "counted from the end" at every access.
ROW = np.uint32
# A coarse bin is a byte: a histogram of 256 bins and two classes is 2 KB, so a dozen columns stay in the L1 cache.
COARSE = np.uint8
BINS = 256
# Codes: two bytes for tables of fewer than 65,535 rows, otherwise four.
CODES = (np.dtype(np.uint16), np.dtype(np.uint32))
FEW_CODES = int(np.iinfo(CODES[0]).max)


def code_type(n: int) -> np.dtype[Any]:
    """For a table of so many rows, however many values a column has."""
    return CODES[0] if n < FEW_CODES else CODES[1]


# Classes: two bytes. Regression targets: eight, fixed point.
CLASS, TARGET = np.uint16, np.int64
# Weights: four bytes while a bootstrap's total cannot reach 2**32, otherwise eight.
WEIGHTS = (np.uint32, np.int64)

ENTROPY, GINI, SQUARED_ERROR = 0, 1, 2
EAGER, LAZY, BATCHED = 0, 1, 2
POISSON, MULTINOMIAL, EVERY_ROW_ONCE = 0, 1, 2
NODES, ROWS_SCANNED, STACK_WORDS, FORKS, REFITS, COSTS = range(6)  # what an exploration counts

# At this many rows a node's columns are sorted once and its whole subtree works on the sorted lists.
BLOCK = 128
# A column's bins are first looked at in groups: EDGES[g] + 1 to EDGES[g + 1]. What the best cut in a group may score
# above its edges grows with the square of its rows by the rows on either side: at both ends, groups are smaller.
GROUPS = 15
EVERY_GROUP = np.int64((1 << GROUPS) - 1)  # a bit each
EDGES = np.rint((BINS - 1) * np.sin(np.linspace(0, np.pi / 2, GROUPS + 1)) ** 2).astype(np.int64)
# A word of a sorted list: (code among those listed) << SHIFT | local row number.
LOCAL, SHIFT = 0xFFFF, 16
# Columns per histogram pass: bounds memory on wide tables.
HISTOGRAM_COLUMNS = 32

MIN_GAIN = 1e-10
PERFECT = 0.0  # no score by entropy is higher: both sides are pure. Ties go to the lowest column.
SOFT_UNIT = 2.0**40
NODE_WORDS = 4


class Table(NamedTuple):
    """The encoded training columns.

    code     0: missing; numbers: 1 + dense rank; categories: 1 + category
    coarse   0: missing; otherwise 1 to 255, never falling as the code grows; the code itself up to 255 of them
    """

    codes: Array  # (columns, rows)
    coarse: Array  # (rows, columns)
    first_code: Array  # (columns, 257) int64: bin b holds the codes first_code[b] up to first_code[b + 1]
    is_category: Array  # (columns,) bool
    values: Array  # float64: the distinct numbers of all columns, one column after the other, perhaps with gaps
    value_start: Array  # (columns,) int64: code c of column j is values[value_start[j] + c - 1]


class Binned(NamedTuple):
    """The training columns before any number is ranked: what one query needs at first.

    The bins of columns of at most 255 numbers are their codes. In others, a bin has room for as many codes as rows.
    """

    coarse: Array  # as in a table, but the bins' edges are others
    first_code: Array  # likewise
    is_category: Array
    few_values: Array  # (columns, 255) float64: the distinct numbers of columns that have codes
    numbers: Array  # (columns of numbers, rows) float64
    number: Array  # (columns,) int64: which of these it is, 0 for categories


class Target(NamedTuple):
    """What is predicted, and what each row weighs before bootstrapping."""

    y: Array  # (rows,) CLASS, or TARGET for regression
    weight: Array  # (rows,) int64
    multiplicity: Array  # (rows,) int64: what a row adds to a node's size per bootstrap count
    row_ids: Array  # (rows,) uint64
    weights_are_sizes: bool  # multiplicity == weight
    n_classes: int  # 0: regression


class Rules(NamedTuple):
    """The forest's parameters as numbers."""

    seed: np.uint64
    algorithm: int
    criterion: int
    bootstrap: int
    max_depth: int
    min_samples_split: int
    min_weight_fraction_leaf: float
    max_features: int
    soft: bool
    mean_unit: float


def frozen(value: Any) -> Any:
    """A read-only view of an array: kernels are compiled for these alone, so that a memory map needs no other."""
    if not isinstance(value, np.ndarray):
        return value
    view = np.asarray(value).view()
    view.flags.writeable = False
    return view


# Kernels allocate nothing, so their arrays need no counting of references, which took half of their time. The option
# is numba's own but not documented; without it they are slower, nothing else.
OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
if hasattr(DefaultOptions, "_nrt"):
    OPTIONS["_nrt"] = False


def jit(function: Kernel) -> Kernel:
    """Compile for this CPU, for other kernels to call. Divisions follow NumPy, so that they cost no test."""
    return cast(Kernel, njit(**OPTIONS, no_cpython_wrapper=True)(function))


def public(function: Kernel) -> Kernel:
    """As ``jit``, for Python to call as well."""
    return cast(Kernel, njit(**OPTIONS)(function))


def inlined(function: Kernel) -> Kernel:
    """As ``jit``, copied into its callers: for steps that pass whole tuples, which cost compile time at every call."""
    return cast(Kernel, njit(**OPTIONS, inline="always")(function))


def entry(function: Kernel) -> Kernel:
    """As ``jit``, for what Python calls: the machine code, with all that it calls, is kept beside the source."""
    return cast(Kernel, njit(**OPTIONS, cache=True)(function))


def entry_inlined(function: Kernel) -> Kernel:
    """As ``entry``, and copied into other kernels."""
    return cast(Kernel, njit(**OPTIONS, cache=True, inline="always")(function))


RARELY = 700_000  # objects that were made and not deleted: about seventy megabytes


class CollectRarely(event.Listener):  # type: ignore[misc, unused-ignore]
    """Garbage is collected rarely while numba compiles: there are few cycles, and a fifth of the time went there."""

    def __init__(self) -> None:
        self.depth, self.before = 0, gc.get_threshold()

    def on_start(self, _: Any) -> None:
        if self.depth == 0:
            self.before = gc.get_threshold()
            gc.set_threshold(max(self.before[0], RARELY) if self.before[0] > 0 else 0, *self.before[1:])
        self.depth += 1

    def on_end(self, _: Any) -> None:
        self.depth -= 1
        if self.depth == 0:
            gc.set_threshold(*self.before)


event.register("numba:compile", CollectRarely())


def forget_stale_kernels() -> None:
    """numba looks at the file of the entry alone: drop what it kept if another file of the engine is newer."""
    folder = Path(__file__).parent
    with suppress(OSError):  # another process may be doing the same
        kept = [*folder.glob("__pycache__/*.nb[ic]")]
        if kept and max(p.stat().st_mtime for p in folder.glob("*.py")) > min(p.stat().st_mtime for p in kept):
            for file in kept:
                file.unlink(missing_ok=True)


forget_stale_kernels()
