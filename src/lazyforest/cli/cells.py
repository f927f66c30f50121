"""Cells of text become numbers, true or false, dates, or stay text; rows to predict follow the training rows.

Columns are read one by one: an expression per column takes polars minutes to plan for a table of 12,626.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import polars as pl

from lazyforest.cli.failures import Failure, shorten

NUMBER, BOOLEAN, DATE, TEXT = "numbers", "true or false", "dates", "text"
Reading = Callable[[pl.Series], pl.Series]
Types = dict[str, pl.DataType]


def as_boolean(cells: pl.Series) -> pl.Series:
    truth = {"true": True, "false": False}
    return cells.str.to_lowercase().replace_strict(truth, default=None, return_dtype=pl.Boolean)


def as_moment(cells: pl.Series) -> pl.Series:
    """ISO 8601, with a blank or a T, with or without seconds; a Z at the end is UTC, as are all others."""
    plain = cells.str.replace("T", " ", literal=True).str.strip_suffix("Z")
    seconds = plain.str.to_datetime("%Y-%m-%d %H:%M:%S%.f", time_unit="us", strict=False)
    minutes = plain.str.to_datetime("%Y-%m-%d %H:%M", time_unit="us", strict=False)
    return seconds.zip_with(seconds.is_not_null(), minutes)


# Tried in this order; the first that can read every cell of a column is its type.
NUMBERS: dict[pl.DataType, Reading] = {
    pl.Int64(): lambda cells: cells.cast(pl.Int64, strict=False),
    pl.Float64(): lambda cells: cells.cast(pl.Float64, strict=False),
}
DATES: dict[pl.DataType, Reading] = {
    pl.Date(): lambda cells: cells.str.to_date("%Y-%m-%d", strict=False),
    pl.Datetime("us"): as_moment,
}
OTHERS: dict[pl.DataType, Reading] = {pl.Boolean(): as_boolean, **DATES}


def read_as(dtype: pl.DataType, cells: pl.Series) -> pl.Series:
    """Text as a type, where cells that cannot be read are gone; what is not text stays as it is."""
    reading = NUMBERS.get(dtype) or OTHERS.get(dtype)
    return cells if reading is None or cells.dtype != pl.String else reading(cells)


def reads_all(dtype: pl.DataType, cells: pl.Series) -> bool:
    return read_as(dtype, cells).null_count() == cells.null_count()


def cleaned(cells: pl.Series, gaps: Sequence[str], is_layout: bool) -> pl.Series:
    """Text without its gaps; blanks around a cell are layout in CSV and content elsewhere."""
    if not gaps and reads_all(pl.Float64(), cells):
        return cells  # numbers have neither
    stripped = cells.str.strip_chars()
    gone = stripped.is_in(["", *gaps])
    kept = stripped if is_layout else cells
    return kept.zip_with(~gone, pl.Series([None], dtype=pl.String)) if gone.any() else kept


def find_types(batches: Iterable[pl.DataFrame], dates_only: bool = False) -> Types:
    """The type of each text column, from all its cells; a column without any value stays text."""
    possible: dict[str, list[pl.DataType]] = {}
    valued: set[str] = set()
    for frame in batches:
        for cells in frame:
            name = cells.name
            before = possible.setdefault(name, [*([] if dates_only else NUMBERS), *(DATES if dates_only else OTHERS)])
            if cells.null_count() < cells.len():
                valued.add(name)
                numbers = [dtype for dtype in before if dtype in NUMBERS and reads_all(dtype, cells)]
                possible[name] = numbers or [d for d in before if d not in NUMBERS and reads_all(d, cells)]
    return {name: some[0] if some and name in valued else pl.String() for name, some in possible.items()}


def family(dtype: pl.DataType) -> str:
    """What kind of values a column holds, in words."""
    if dtype.is_numeric():
        return NUMBER
    if dtype == pl.Boolean:
        return BOOLEAN
    if dtype in (pl.Date, pl.Datetime):
        return DATE
    return TEXT if dtype in (pl.String, pl.Categorical, pl.Enum) else str(dtype)


def as_trained(cells: pl.Series, trained: pl.DataType, where: str) -> pl.Series:
    """A column of NEW as what it is in TRAIN; text is read, whole numbers may stand for text."""
    if family(cells.dtype) == family(trained) or cells.dtype == pl.Null:
        return cells
    if cells.dtype == pl.String:  # any number will do where whole ones were seen
        return read_as(pl.Float64() if trained.is_numeric() else trained, cells)
    if cells.dtype.is_integer() and trained == pl.String:
        return cells.cast(pl.String)
    raise Failure(
        f"{where}: column {cells.name!r} holds {family(cells.dtype)}, in TRAIN it holds {family(trained)}. Give it the "
        f"type that it has in TRAIN, or leave it out of both."
    )


def first_unread(before: pl.Series, after: pl.Series) -> int | None:
    """The first row whose cell could not be read."""
    if after.null_count() == before.null_count():
        return None
    return (after.is_null() & before.is_not_null()).arg_max()


def say_unread(name: str, cell: str, trained: pl.DataType, where: str) -> Failure:
    kind = {NUMBER: "a number", BOOLEAN: "true or false", DATE: "a date"}[family(trained)]
    return Failure(
        f"{where}: column {name!r} holds {shorten(cell, 40)!r}, which is not {kind}, as in TRAIN. Correct it, or use "
        f"--null {shorten(cell, 40)!r} if it stands for a gap."
    )
