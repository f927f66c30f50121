"""What an exploration reports: the answer, what it cost, and in words why."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from lazyforest.engine.layout import Array
from lazyforest.engine.record import COLUMN, LEFT, MEMBERS_HI, MEMBERS_LO, MISSING_IS_VALID, NONE, RIGHT, ROWS, Record
from lazyforest.table import DATE, DURATION, Column

SHOWN = 6  # categories of a set that are spelt out


class Step(NamedTuple):
    """A condition that a row met, or not: ``text`` says which, ``rows`` of the bootstrap are left after it."""

    column: Any
    text: str
    rows: int
    condition: str = ""  # the text without the row's own value
    threshold: float = np.nan  # NaN where the condition is a set


@dataclass(frozen=True)
class Path:
    """How one tree decided about one row."""

    tree: int
    steps: list[Step]
    vote: Any  # a class; with soft votes its shares; a number in regression
    rows: int  # distinct rows of the bootstrap in the leaf

    def __str__(self) -> str:
        lines = [f"  {step.text}  ({step.rows} rows left)" for step in self.steps]
        return "\n".join([f"tree {self.tree}:", *lines, f"  votes {self.vote}"])


@dataclass(frozen=True, eq=False)
class Exploration:
    """The answer of a forest for some rows, and what it took to find it.

    ``stack_words`` and ``model_words`` follow the paper: a word per row index held by the algorithm's stack at the
    worst moment, four per node of a kept model. ``bytes`` is what the engine allocated besides the encoded table.
    ``cpu_seconds`` (user and system, all threads) of an eager forest include growing it in ``fit``.

    Of a cross-validation, ``forks`` counts the groups of rows that parted because leaving out their own fold changed
    the best condition, and ``rows_scanned_by_refits`` is what a lazy refit per split would have scanned.
    """

    prediction: Array = field(repr=False)
    proba: Array | None = field(repr=False)  # None for regression
    nodes_explored: int
    rows_scanned: int
    stack_words: int
    model_words: int
    bytes: int
    cpu_seconds: float
    votes: Array = field(repr=False)
    explain: Callable[[int], list[Path]] = field(repr=False)
    forks: int = 0
    rows_scanned_by_refits: int | None = None

    def paths(self, row: int) -> list[Path]:
        """For each tree: the conditions that this row met, the rows left at each step, and the vote."""
        n = len(self.votes)
        if not isinstance(row, Integral) or not -n <= row < n:
            raise IndexError(f"row must be a whole number from 0 to {n - 1}, a row of the X explored. Got {row!r}.")
        return self.explain(int(row) % n)


def describe_path(record: Record, x: Array, columns: list[Column]) -> tuple[list[Step], int]:
    """The steps of row x (encoded) through a record, and the number of the leaf's node."""
    at, steps = 0, []
    for at, valid in way(record, x):
        if valid is not None:
            j, codes = record.nodes[at, COLUMN], members_of(record, at)
            threshold = float(record.thresholds[at]) if codes is None else np.nan
            condition = say_condition(record, at, columns[j], valid)
            text = f"{column_name(columns[j])} {say_value(columns[j], x[j])}{condition}"
            rows = int(record.nodes[record.nodes[at, RIGHT if valid else LEFT], ROWS])
            steps.append(Step(columns[j].name, text, rows, condition, threshold))
    return steps, at


def way(record: Record, x: Array) -> Iterator[tuple[int, bool | None]]:
    """The nodes that a row passes, and whether it meets their conditions; None at the leaf."""
    at = 0
    while record.nodes[at, COLUMN] != NONE:
        node = record.nodes[at]
        value, codes = x[node[COLUMN]], members_of(record, at)
        if np.isnan(value):
            valid = bool(node[MISSING_IS_VALID] == 1)
        else:
            valid = bool(value >= record.thresholds[at]) if codes is None else bool(np.isin(int(value), codes))
        yield at, valid
        at = int(node[RIGHT] if valid else node[LEFT])
    yield at, None


def members_of(record: Record, at: int) -> Array | None:
    """The codes of a node's set; None where its condition is on a number."""
    lo, hi = record.nodes[at, MEMBERS_LO], record.nodes[at, MEMBERS_HI]
    return None if lo == NONE else record.members[lo:hi]


def say_condition(record: Record, at: int, column: Column, valid: bool) -> str:
    """What rows on this side of a node's condition have in common."""
    codes = members_of(record, at)
    return say_number(column, record.thresholds[at], valid) if codes is None else say_set(column, codes, valid)


def column_name(column: Column) -> str:
    return column.name if isinstance(column.name, str) else f"column {column.name}"


def say_value(column: Column, value: float) -> str:
    """The row's own value, or that it has none."""
    if np.isnan(value):
        return "is missing, goes with "
    if not column.is_category:
        return f"= {spell(column, value)} "
    return f"= {list(column.codes)[int(value) - 1]} " if value > 0 else "was never seen, is "


def spell(column: Column, number: float) -> str:
    if column.kind == DATE:
        return str(np.datetime64(int(np.ceil(number)), "us"))
    if column.kind == DURATION:
        return f"{number / 1e6:g} s"
    return f"{number:g}" if float(f"{number:g}") == number else repr(float(number))


def rounded(text: str) -> str:
    """A condition in words with numbers to six digits: thresholds are midpoints, which need up to 17."""
    return re.sub(r"\d+\.\d{5,}", lambda found: f"{float(found[0]):g}", text)


def say_number(column: Column, threshold: float, valid: bool) -> str:
    if threshold == -np.inf:
        return "known values" if valid else "missing values"
    return f"{'>=' if valid else '<'} {spell(column, threshold)}"


def say_set(column: Column, codes: Array, valid: bool) -> str:
    values = list(column.codes)  # in the order of their codes
    spelt = ", ".join(str(values[code - 1]) for code in codes[:SHOWN])
    more = f" and {len(codes) - SHOWN} more" if len(codes) > SHOWN else ""
    return f"{'in' if valid else 'not in'} {{{spelt}{more}}}"
