"""Cells of text become numbers, true or false, dates, or stay text; rows to predict follow the training rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import polars as pl

from lazyforest.cli.failures import Failure, shorten

NUMBER, BOOLEAN, DATE, TEXT = "numbers", "true or false", "dates", "text"
Reading = Callable[[pl.Expr], pl.Expr]
Types = dict[str, pl.DataType]


def as_boolean(cell: pl.Expr) -> pl.Expr:
    truth = {"true": True, "false": False}
    return cell.str.to_lowercase().replace_strict(truth, default=None, return_dtype=pl.Boolean)


def as_moment(cell: pl.Expr) -> pl.Expr:
    """ISO 8601, with a blank or a T, with or without seconds; a Z at the end is UTC, as are all others."""
    plain = cell.str.replace("T", " ", literal=True).str.strip_suffix("Z")
    seconds = plain.str.to_datetime("%Y-%m-%d %H:%M:%S%.f", time_unit="us", strict=False)
    return pl.coalesce(seconds, plain.str.to_datetime("%Y-%m-%d %H:%M", time_unit="us", strict=False))


# Tried in this order; the first that can read every cell of a column is its type.
READINGS: list[tuple[pl.DataType, Reading]] = [
    (pl.Int64(), lambda cell: cell.cast(pl.Int64, strict=False)),
    (pl.Float64(), lambda cell: cell.cast(pl.Float64, strict=False)),
    (pl.Boolean(), as_boolean),
    (pl.Date(), lambda cell: cell.str.to_date("%Y-%m-%d", strict=False)),
    (pl.Datetime("us"), as_moment),
]


def cleaned(name: str, gaps: Sequence[str], is_layout: bool) -> pl.Expr:
    """A text column without its gaps; blanks around a cell are layout in CSV and content elsewhere."""
    cell = pl.col(name)
    stripped = cell.str.strip_chars()
    return pl.when(~stripped.is_in(["", *gaps])).then(stripped if is_layout else cell)


def find_types(cells: pl.LazyFrame, names: Sequence[str], dates_only: bool = False) -> Types:
    """The type of each text column, from all its cells; a column without any value stays text."""
    types: Types = {name: pl.String() for name in names}
    if not names:
        return types
    there = cells.select(pl.col(names).count()).collect(engine="streaming").row(0, named=True)
    open_names = [name for name in names if there[name] > 0]
    for dtype, reading in READINGS:
        if dates_only and not dtype.is_temporal():
            continue
        counts = cells.select(reading(pl.col(name)).count().alias(name) for name in open_names)
        read = counts.collect(engine="streaming").row(0, named=True) if open_names else {}
        types |= {name: dtype for name in open_names if read[name] == there[name]}
        open_names = [name for name in open_names if read[name] < there[name]]
    return types


def reading_of(dtype: pl.DataType) -> Reading:
    if dtype.is_numeric():
        dtype = pl.Float64() if not dtype.is_integer() else pl.Int64()
    return next((reading for other, reading in READINGS if other == dtype), lambda cell: cell)


def family(dtype: pl.DataType) -> str:
    """What kind of values a column holds, in words."""
    if dtype.is_numeric():
        return NUMBER
    if dtype == pl.Boolean:
        return BOOLEAN
    if dtype in (pl.Date, pl.Datetime):
        return DATE
    return TEXT if dtype in (pl.String, pl.Categorical, pl.Enum) else str(dtype)


def as_trained(name: str, found: pl.DataType, trained: pl.DataType, where: str) -> Reading:
    """How a column of NEW becomes what it is in TRAIN; text is read, whole numbers may stand for text."""
    if family(found) == family(trained) or found == pl.Null:
        return lambda cell: cell
    if found == pl.String:  # any number will do where whole ones were seen
        return reading_of(pl.Float64() if trained.is_numeric() else trained)
    if found.is_integer() and trained == pl.String:
        return lambda cell: cell.cast(pl.String)
    raise Failure(
        f"{where}: column {name!r} holds {family(found)}, in TRAIN it holds {family(trained)}. Give it the type that "
        f"it has in TRAIN, or leave it out of both."
    )


def first_unread(before: pl.Series, after: pl.Series) -> int | None:
    """The first row whose cell could not be read."""
    lost = (after.is_null() & before.is_not_null()).arg_max()
    return lost if lost is not None and after[lost] is None and before[lost] is not None else None


def say_unread(name: str, cell: str, trained: pl.DataType, where: str) -> Failure:
    kind = {NUMBER: "a number", BOOLEAN: "true or false", DATE: "a date"}[family(trained)]
    return Failure(
        f"{where}: column {name!r} holds {shorten(cell, 40)!r}, which is not {kind}, as in TRAIN. Correct it, or use "
        f"--null {shorten(cell, 40)!r} if it stands for a gap."
    )
