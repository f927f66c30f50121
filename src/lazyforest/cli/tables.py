"""The table to learn from, the rows to predict, and how the second follows the first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from lazyforest.cli.cells import (
    Types,
    as_trained,
    cleaned,
    family,
    find_types,
    first_unread,
    read_as,
    reads_all,
    say_unread,
)
from lazyforest.cli.failures import Failure, Misuse, plural, suggest
from lazyforest.cli.options import DataOptions
from lazyforest.cli.reading import Source
from lazyforest.cli.terminal import teller

MOST_CLASSES = 20  # whole numbers of more distinct values are quantities
ROWS_PER_CLASS = 10  # with fewer on average, too
BYTES_PER_CHUNK = 1 << 29
BYTES_PER_CELL = 160  # measured: the text read ahead, typed copies, the matrix of the queries, the rows to write


def columns_named(names: Sequence[str], there: Sequence[str], where: str, flag: str) -> None:
    for name in names:
        if name not in there:
            raise Failure(f"{where} has no column {name!r}, which {flag} names. {suggest(name, there)}")


@dataclass(frozen=True)
class Training:
    """A table to learn from. ``frame`` has all its rows and columns, typed; ``known`` are the rows with a target."""

    source: Source
    cells: pl.DataFrame  # as they came
    frame: pl.DataFrame
    types: Types  # of the columns to learn from
    target: str
    known: pl.Series  # row numbers from 0
    y: Any
    regression: bool
    ids: tuple[str, ...]

    @property
    def X(self) -> pl.DataFrame:
        return self.frame.select(list(self.types))[self.known]

    @property
    def classes(self) -> list[Any]:
        return [] if self.regression else sorted(set(self.y.tolist()))


def read_training(source: Source, how: DataOptions) -> Training:
    """Read, type and check a whole table."""
    columns_named([how.target], source.columns, source.name, "--target")
    if how.target in how.ids:
        raise Misuse(f"--id {how.target} is the target as well. Name another column.")
    batches = [batch.cells for batch in source.batches()]
    if not sum(cells.height for cells in batches):
        raise Failure(f"{source.name} has column names but no rows.")
    cells = pl.concat(batches)
    frame = type_cells(cells, source, how.null)
    types = {name: dtype for name, dtype in frame.schema.items() if name != how.target and name not in how.ids}
    ids = tuple(name for name in how.ids if name in frame.columns)
    if not types:
        raise Failure(f"{source.name} has no column to learn from besides the target and --id columns.")
    target = frame[how.target]
    gone = target.is_null() | target.is_nan() if target.dtype.is_float() else target.is_null()
    known = (~gone).arg_true()
    regression, y = read_target(target.gather(known), how, source.name)
    training = Training(source, cells, frame, types, how.target, known, y, regression, ids)
    refuse_long_numbers(training)
    say_training(training)
    return training


def type_cells(cells: pl.DataFrame, source: Source, gaps: Sequence[str]) -> pl.DataFrame:
    """Text becomes what all cells of its column allow; JSON knows numbers but no dates."""
    plain = clean_text(cells, source, gaps)
    if source.has_types:
        return plain
    types = find_types([plain.select(pl.col(pl.String))], dates_only=not source.is_csv)
    return frame_of(read_as(types.get(column.name, column.dtype), column) for column in plain)


def clean_text(cells: pl.DataFrame, source: Source, gaps: Sequence[str]) -> pl.DataFrame:
    return frame_of(cleaned(c, gaps, source.is_csv) if c.dtype == pl.String else c for c in cells)


def frame_of(columns: Iterable[pl.Series]) -> pl.DataFrame:
    """With their names, even an empty one, which polars replaces in a list of columns."""
    return pl.DataFrame({column.name: column for column in columns})


def read_target(target: pl.Series, how: DataOptions, where: str) -> tuple[bool, Any]:
    """Whether this is regression, and the targets as the estimators want them."""
    if target.len() == 0:
        raise Failure(f"{where}: the target {how.target!r} is missing in all rows. Nothing can be learnt.")
    distinct = target.n_unique()
    if distinct == 1:
        raise Failure(f"{where}: the target {how.target!r} is {target[0]!r} in all rows. There is nothing to learn.")
    numeric = target.dtype.is_numeric()
    whole = numeric and (not target.dtype.is_float() or bool((target == target.round()).all()))
    few = distinct == 2 or (distinct <= MOST_CLASSES and distinct * ROWS_PER_CLASS <= target.len())
    regression = numeric and not (whole and few) if how.task is None else how.task == "regression"
    if regression and not numeric:
        held = family(target.dtype)
        raise Failure(f"{where}: the target {how.target!r} holds {held}, regression needs numbers. Leave out --task.")
    if family(target.dtype) not in ("numbers", "text", "true or false"):
        target = target.cast(pl.String)
    if not regression and whole:
        target = target.cast(pl.Int64)
    return regression, target.cast(pl.Float64).to_numpy() if regression else target.to_numpy()


def say_training(training: Training) -> None:
    kinds: dict[str, int] = {}
    for dtype in training.types.values():
        kinds[family(dtype)] = kinds.get(family(dtype), 0) + 1
    spelt = ", ".join(f"{count:,} {kind}" for kind, count in kinds.items())
    left_out = training.frame.height - len(training.known)
    rows = plural(len(training.known), "row") + (f" ({left_out:,} without a target left out)" if left_out else "")
    teller.say(f"{training.source.name}: {rows}, {plural(len(training.types), 'column')} to learn from ({spelt})")
    if training.regression:
        what = f"{training.y.min():g} to {training.y.max():g}: regression"
    else:
        what = f"{say_classes(training)}: classification"
    teller.say(f"target {training.target!r}: {what}")
    for column in training.X:
        note = remark(column, training.source.is_csv)
        if note is not None:
            teller.say(note, style="yellow")


def say_classes(training: Training) -> str:
    counts = pl.Series(training.y).value_counts(sort=True)
    shown = ", ".join(f"{say_class(label)} {count:,}" for label, count in counts.head(6).iter_rows())
    return f"{counts.height:,} classes, {shown}" + (", ..." if counts.height > 6 else "")


def say_class(label: Any) -> str:
    return str(label).lower() if isinstance(label, bool) else str(label)


def remark(column: pl.Series, is_csv: bool) -> str | None:
    """On a column that is probably not what it seems to be."""
    leave_out = f"If it names the rows, use --id {column.name!r} to leave it out."
    if column.dtype.is_integer():
        low, high = column.min(), column.max()
        as_many = isinstance(low, int) and isinstance(high, int) and high - low + 1 == column.len() >= MOST_CLASSES
        return f"column {column.name!r} counts the rows. {leave_out}" if as_many and column.is_unique().all() else None
    if column.dtype != pl.String:
        return None
    there = column.drop_nulls()
    odd = there.filter(there.cast(pl.Float64, strict=False).is_null())
    if is_csv and 0 < odd.len() < there.len() / 2:  # NA, ?, n/a: each number would be a category
        return (
            f"column {column.name!r} is read as text because of {plural(odd.len(), 'cell')} such as {odd[0]!r}. "
            f"If it stands for a gap, use --null {odd[0]!r}."
        )
    if odd.len() and reads_all(pl.Float64(), there.str.replace(",", ".", literal=True)):
        return f"column {column.name!r} is read as text because of its decimal commas. Write points for numbers."
    unique = there.len() >= MOST_CLASSES and there.n_unique() == there.len()
    return f"column {column.name!r} has another text in every row. {leave_out}" if unique else None


def refuse_long_numbers(training: Training) -> None:
    """Numbers are compared as float64; what has more than 53 bits is a name, not a quantity."""
    for name, dtype in training.types.items():
        most = training.frame[name].abs().max() if dtype.is_signed_integer() else None
        if isinstance(most, int) and most > 2**53:
            raise Failure(
                f"{training.source.name}: column {name!r} holds whole numbers up to {most}, which do not stay apart "
                f"above 2**53. If it names the rows, use --id {name!r}."
            )


# Rows to predict ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rows:
    """NEW, read in chunks as TRAIN was read."""

    source: Source
    training: Training
    gaps: Sequence[str]
    ids: Sequence[str]

    def __post_init__(self) -> None:
        learnt = self.training.source
        for name in self.ids:
            if name not in self.source.columns and name not in learnt.columns:
                advice = suggest(name, self.source.columns)
                raise Failure(f"Neither {learnt.name} nor {self.source.name} has the --id column {name!r}. {advice}")
        for name in self.training.types:
            if name not in self.source.schema:
                raise Failure(
                    f"{self.source.name} has no column {name!r}, which {self.training.source.name} has. "
                    f"{suggest(name, [n for n in self.source.columns if n not in self.training.types])}"
                )

    @property
    def carried(self) -> list[str]:
        return [name for name in self.source.columns if name not in self.training.types]

    def chunks(self, rows: int | None) -> Iterator[tuple[pl.DataFrame, pl.DataFrame]]:
        """The cells as they came, and the columns that the forest learnt from, typed and in TRAIN's order."""
        for batch in self.source.batches(rows):
            yield batch.cells, self.typed(batch.cells, batch.records)

    def typed(self, cells: pl.DataFrame, records: pl.Series) -> pl.DataFrame:
        columns = []
        for plain in clean_text(cells.select(list(self.training.types)), self.source, self.gaps):
            trained = self.training.types[plain.name]
            column = as_trained(plain, trained, self.source.name)
            row = first_unread(plain, column)
            if row is not None:
                raise say_unread(plain.name, plain[row], trained, self.source.place(records[row]))
            columns.append(column)
        return frame_of(columns)

    def rows_per_chunk(self, asked: int | None) -> int:
        """As many rows as fit: a lazy forest does its work anew for every chunk."""
        return asked or max(1000, BYTES_PER_CHUNK // (BYTES_PER_CELL * max(len(self.source.columns), 1)))

    def own_types(self, rows: int) -> Types:
        """What the text of NEW's own columns is, for a file that keeps types; TRAIN has no say in that."""
        batches = (clean_text(cells, self.source, self.gaps) for _, cells in self.source.batches(rows))
        return find_types(batches) if self.source.is_csv else {}

    def with_own_types(self, cells: pl.DataFrame, types: Types) -> pl.DataFrame:
        plain = clean_text(cells, self.source, self.gaps) if types else cells
        return frame_of(read_as(types.get(column.name, column.dtype), column) for column in plain)
