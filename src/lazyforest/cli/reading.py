"""Files become polars frames. What a file is, its content says, or its ending."""

from __future__ import annotations

import codecs
import os
import shutil
import stat
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NamedTuple

import polars as pl

from lazyforest.cli.failures import Failure, Misuse, nearest, shorten
from lazyforest.cli.lines import ARROW, ARROW_STREAM, CSV, JSON_LINES, PARQUET, TextFile, open_bytes

LONGEST_HEADER = 1 << 24  # bytes: a hundred times that of a table of 12,626 columns
LONGEST_CELL = 1 << 20
MAGIC = {b"PAR1": PARQUET, b"ARROW1": ARROW, b"\xff\xff\xff\xff": ARROW_STREAM}
STRANGERS = {
    b"PK\x03\x04": "a zip archive or an Excel workbook. Export it as CSV first",
    b"\xff\xfe": "UTF-16 text. Use --encoding utf-16",
    b"\xfe\xff": "UTF-16 text. Use --encoding utf-16",
    b"BZh": "compressed with bzip2. Unpack it first",
    b"\xfd7zXZ": "compressed with xz. Unpack it first",
}
SEPARATORS = ",\t;|"
READ_ERRORS = (pl.exceptions.PolarsError, OSError)  # the second, of a packed file that is cut off


class Batch(NamedTuple):
    """Some rows of a file, and which of its records they are."""

    records: pl.Series
    cells: pl.DataFrame


@dataclass(frozen=True)
class Source:
    """A file that can be read in batches. The cells of CSV are text; what they mean is for ``cells`` to say."""

    name: str
    file: TextFile
    frame: pl.LazyFrame
    schema: dict[str, pl.DataType]

    @property
    def is_csv(self) -> bool:
        return self.file.format == CSV

    @property
    def has_types(self) -> bool:
        return self.file.format not in (CSV, JSON_LINES)

    @property
    def columns(self) -> list[str]:
        return list(self.schema)

    def batches(self, rows: int | None = None) -> Iterator[Batch]:
        """All rows in their order; blank lines of CSV are none."""
        blank: list[int] | None = None
        first = 0
        try:
            for cells in self.frame.collect_batches(chunk_size=rows, maintain_order=True, engine="streaming"):
                records = pl.int_range(first, first + cells.height, eager=True)
                first += cells.height
                refuse_endless_cells(self, cells)
                if self.is_csv and cells.height and cells.to_series(-1).null_count():  # else no line can be short
                    blank = self.file.blank_records() if blank is None else blank
                    keep = ~records.is_in(blank)
                    cells, records = cells.filter(keep), records.filter(keep)
                yield Batch(records, cells)
        except READ_ERRORS as error:
            raise self.file.diagnose(error) from error

    def count(self) -> int:
        """How many rows there are; blank lines of CSV are none."""
        try:
            short = pl.nth(-1).null_count() if self.is_csv else pl.lit(0)  # as in batches
            records, gaps = self.frame.select(pl.len(), short.alias("gaps")).collect(engine="streaming").row(0)
            return int(records) - (len(self.file.blank_records()) if gaps else 0)
        except READ_ERRORS as error:
            raise self.file.diagnose(error) from error

    def place(self, record: int) -> str:
        """Where a record is, for a message."""
        line = self.file.line_of(record)
        return f"{self.name}, line {line:,}" if line else f"{self.name}, row {record + 1:,}"


def refuse_endless_cells(source: Source, cells: pl.DataFrame) -> None:
    """A quote that is never closed swallows the rest of a file; so does a missing end of line."""
    text = [name for name, dtype in cells.schema.items() if dtype == pl.String]
    longest = cells.select(pl.col(text).str.len_bytes().max()) if text and cells.height else None
    for name, size in zip(text, longest.row(0), strict=True) if longest is not None else ():
        if size is not None and size > LONGEST_CELL:
            raise Failure(
                f"{source.name}: a cell of column {shorten(name, 40)!r} has {size:,} bytes, over {LONGEST_CELL:,}. "
                f"Is a quote never closed, or an end of line missing?"
            )


def open_source(given: str, separator: str | None, encoding: str, scratch: Path) -> Source:
    """Find out what a file is and make it ready to be read. ``-`` is standard input."""
    path, name = find_file(given), "standard input" if given == "-" else given
    if path is None or not stat.S_ISREG(path.stat().st_mode):  # not a file that can be read twice
        path = keep_stream(path, scratch)
    if codecs.lookup(encoding).name != "utf-8":
        path = as_utf8(path, name, encoding, scratch)
    try:
        form, header = look_at(path, name)
    except READ_ERRORS as error:
        raise Failure(f"{name} cannot be unpacked: {error}. Is it cut off?") from error
    if form == CSV:
        separator = separator or guess_separator(header, given)
    file = TextFile(name, path, form, separator or "")
    try:
        frame = scan(file)
        schema: dict[str, pl.DataType] = dict(frame.collect_schema())
    except READ_ERRORS as error:
        raise file.diagnose(error) from error
    if form == CSV:
        frame, schema = with_plain_names(frame, schema, name)
    return Source(name, file, frame, schema)


def find_file(given: str) -> Path | None:
    """The path of a file that can be opened; None for standard input."""
    if given == "-":
        return None
    path = Path(given)
    if path.is_dir():
        raise Failure(f"{given} is a folder. Name a file in it.")
    if not path.exists():
        others = [other.name for other in path.parent.iterdir()] if path.parent.is_dir() else []
        near = nearest(path.name, others, likeness=0.75)  # endings make all alike
        raise Failure(f"{given} does not exist." + (f" Did you mean {str(path.parent / near)!r}?" if near else ""))
    if not os.access(path, os.R_OK, effective_ids=os.access in os.supports_effective_ids):
        raise Failure(f"{given} may not be read: permission denied.")
    return path


def keep_stream(path: Path | None, scratch: Path) -> Path:
    """Copy a stream to disk, not to memory: types are found, and gaps in lines told, in more than one pass."""
    kept = scratch / f"stream-{len(os.listdir(scratch))}"
    if path is None and sys.stdin.isatty():
        sys.stderr.write("Reading standard input; end it with Ctrl-D.\n")
    with kept.open("wb") as out:
        if path is None:
            shutil.copyfileobj(sys.stdin.buffer, out)
        else:
            with path.open("rb") as stream:
                shutil.copyfileobj(stream, out)
    return kept


def as_utf8(path: Path, name: str, encoding: str, scratch: Path) -> Path:
    kept = scratch / f"utf8-{len(os.listdir(scratch))}"
    decoder = codecs.getreader(encoding)
    try:
        with open_bytes(path) as stream, kept.open("w", encoding="utf-8", newline="") as out:
            shutil.copyfileobj(decoder(stream), out)
    except UnicodeError as error:
        raise Failure(f"{name} is not {encoding}: {error}. Use another --encoding.") from error
    return kept


def look_at(path: Path, name: str) -> tuple[str, str]:
    """The format of a file and, of text, its first line."""
    with path.open("rb") as stream:
        start = stream.read(8)
    if not start:
        raise Failure(f"{name} is empty.")
    for magic, form in MAGIC.items():
        if start.startswith(magic):
            return form, ""
    for magic, what in STRANGERS.items():
        if start.startswith(magic):
            raise Failure(f"{name} is {what}.")
    with open_bytes(path) as text:
        header = first_line(text, name)
    if header.startswith("{"):
        return JSON_LINES, header
    if header.startswith("[") and path.suffix in (".json", ""):
        raise Failure(f"{name} is one JSON array. Give one object per line: jq -c '.[]' {name}")
    return CSV, header


def first_line(text: IO[bytes], name: str) -> str:
    line = text.readline(LONGEST_HEADER + 1).removeprefix(codecs.BOM_UTF8)
    if len(line) > LONGEST_HEADER:
        raise Failure(
            f"{name}, line 1 is longer than {LONGEST_HEADER:,} bytes. A table has a line per row: is an end of line "
            f"missing?"
        )
    if not line:
        raise Failure(f"{name} is empty.")
    if b"\0" in line:
        raise Failure(f"{name} is not a table: neither text nor Parquet nor Arrow. Convert it first.")
    return line.decode("utf-8", errors="replace").strip()


def guess_separator(header: str, given: str) -> str:
    """By the ending, or what stands most often between the column names."""
    if any(part in (".tsv", ".tab") for part in Path(given).suffixes):
        return "\t"
    unquoted = "".join(header.split('"')[::2])
    return max(SEPARATORS, key=unquoted.count)  # the comma where there is none


def scan(file: TextFile) -> pl.LazyFrame:
    if file.format == PARQUET:
        return pl.scan_parquet(file.path, glob=False)
    if file.format == ARROW:
        return pl.scan_ipc(file.path, glob=False)
    if file.format == ARROW_STREAM:
        return pl.read_ipc_stream(file.path).lazy()
    if file.format == JSON_LINES:
        return pl.scan_ndjson(file.path, infer_schema_length=None)
    return pl.scan_csv(file.path, separator=file.separator, infer_schema=False, glob=False)


def with_plain_names(
    frame: pl.LazyFrame, schema: dict[str, pl.DataType], name: str
) -> tuple[pl.LazyFrame, dict[str, pl.DataType]]:
    """Column names without blanks around them, each only once."""
    plain = {column: column.strip() for column in schema}
    times = Counter(plain.values())
    for column, stripped in plain.items():
        twice = column.rsplit("_duplicated_", 1)[0] if "_duplicated_" in column else None
        if twice in schema or times[stripped] > 1:
            named = stripped if twice is None else twice
            raise Failure(f"{name} has two columns named {shorten(named, 40)!r}. Rename one of them.")
    if all(column == stripped for column, stripped in plain.items()):
        return frame, schema
    return frame.rename(plain), {plain[column]: dtype for column, dtype in schema.items()}


def check_encoding(encoding: str) -> str:
    try:
        return codecs.lookup(encoding).name
    except LookupError as error:
        raise Misuse(
            f"--encoding {encoding} is not known. Use utf-8, latin-1, cp1252, utf-16 or another name."
        ) from error
