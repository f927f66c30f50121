"""Text files line by line, in plain Python: only to say where a file is broken, which polars does not."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple, cast

import polars as pl

from lazyforest.cli.failures import Failure, plural, shorten

CSV, JSON_LINES, PARQUET, ARROW, ARROW_STREAM = "CSV", "JSON Lines", "Parquet", "Arrow", "an Arrow stream"
GZIP, ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
csv.field_size_limit(1 << 20)


class Unpacked(io.RawIOBase):
    """The lines of a file that polars unpacks: Python before 3.14 does not know zstd."""

    def __init__(self, path: Path) -> None:
        batches = pl.scan_lines(path, name="line").collect_batches(chunk_size=10_000, maintain_order=True)
        self.lines = (f"{line}\n".encode() for batch in batches for line in batch["line"].to_list())
        self.rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        self.rest = self.rest or next(self.lines, b"")
        taken = self.rest[: len(buffer)]
        buffer[: len(taken)] = taken
        self.rest = self.rest[len(taken) :]
        return len(taken)


def open_bytes(path: Path) -> IO[bytes]:
    """The bytes of a text file, unpacked."""
    with path.open("rb") as stream:
        start = stream.read(4)
    if start.startswith(GZIP):
        return cast(IO[bytes], gzip.open(path, "rb"))
    if start == ZSTD:
        return cast(IO[bytes], io.BufferedReader(Unpacked(path)))
    return path.open("rb")


class TextFile(NamedTuple):
    """A file and how it is to be read; the questions below are answered for text alone."""

    name: str
    path: Path
    format: str
    separator: str

    def text_lines(self) -> Iterator[str]:
        with open_bytes(self.path) as stream:
            for number, line in enumerate(stream, start=1):
                try:
                    yield line.decode("utf-8-sig" if number == 1 else "utf-8")
                except UnicodeDecodeError as error:
                    raise Failure(
                        f"{self.name}, line {number:,}: byte 0x{line[error.start]:02x} is not UTF-8. If the file is "
                        f"older or from Windows, use --encoding cp1252 or --encoding latin-1."
                    ) from error

    def records(self) -> Iterator[tuple[int, list[str]]]:
        """The line on which each record begins, and its fields; the first one is the header."""
        reader = csv.reader(self.text_lines(), delimiter=self.separator, strict=True)
        line = 1
        try:
            for fields in reader:
                yield line, fields
                line = reader.line_num + 1
        except csv.Error as error:
            raise Failure(
                f"{self.name}, line {line:,}: {error}. Is a quote never closed, or an end of line missing?"
            ) from error

    def blank_records(self) -> list[int]:
        """The records, counted from 0 after the header, that are blank lines; a ragged one is an error."""
        blank = []
        expected = 0
        for number, (line, fields) in enumerate(self.records(), start=-1):
            expected = expected or len(fields)
            if not fields:
                blank.append(number)
            elif len(fields) != expected:
                raise Failure(
                    f"{self.name}, line {line:,} has {plural(len(fields), 'field')}, the header has {expected:,}. "
                    f"Correct the line, or quote what contains {self.separator!r}."
                )
        return blank

    def line_of(self, record: int) -> int | None:
        """The line of a record, counted from 1."""
        if self.format == JSON_LINES:
            return record + 1
        if self.format != CSV:
            return None
        return next((line for number, (line, _) in enumerate(self.records(), start=-1) if number == record), None)

    def diagnose(self, error: Exception) -> Failure:
        """Say where a file is broken, which polars found to be so."""
        try:
            if self.format == CSV:
                self.blank_records()
            elif self.format == JSON_LINES:
                self.check_json()
        except Failure as found:
            return found
        except (pl.exceptions.PolarsError, OSError, EOFError):  # a packed file that is broken has no lines to look at
            pass
        return Failure(
            f"{self.name} cannot be read as {self.format}: {shorten(str(error).strip().splitlines()[0], 200)}"
        )

    def check_json(self) -> None:
        for number, line in enumerate(self.text_lines(), start=1):
            try:
                found = json.loads(line.rstrip()) if line.strip() else {}
            except json.JSONDecodeError as error:
                raise Failure(f"{self.name}, line {number:,}, column {error.colno:,}: {error.msg}.") from error
            if not isinstance(found, dict):
                raise Failure(f"{self.name}, line {number:,} is not an object of column names and values.")
