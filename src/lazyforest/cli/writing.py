"""Rows go out in any format; a file appears whole or not at all."""

from __future__ import annotations

import io
import os
import re
import shutil
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import IO, Literal, NamedTuple

import polars as pl

from lazyforest.cli.failures import Failure, Misuse
from lazyforest.cli.options import OutputOptions
from lazyforest.cli.scratch import temporary_folder
from lazyforest.cli.terminal import discard_output, waiting

Packing = Literal["uncompressed", "gzip", "zstd"]
ENDINGS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".ipc": "arrow",
    ".feather": "arrow",
}
PACKINGS: dict[str, Packing] = {".gz": "gzip", ".zst": "zstd", ".zstd": "zstd"}
ROWS_AT_ONCE = 100_000  # become text at a time


class Destination(NamedTuple):
    path: Path | None  # None: standard output
    format: str
    packing: Packing
    replace: bool

    @property
    def name(self) -> str:
        return "standard output" if self.path is None else str(self.path)

    @property
    def keeps_types(self) -> bool:
        return self.format in ("jsonl", "parquet", "arrow")


def find_destination(how: OutputOptions) -> Destination:
    """Where rows go and as what. Said before the work begins: all that can already be known to go wrong."""
    path = how.output
    if path is None or str(path) == "-":
        form: str = how.format or "csv"
        if form in ("parquet", "arrow") and sys.stdout.isatty():
            raise Misuse(f"--format {form} is not for a terminal. Name a file with -o, or pipe it to a program.")
        return Destination(None, form, "uncompressed", False)
    form, packing = format_of(path, how.format)
    check_file(path, how.force, "-o")
    return Destination(path, form, packing, how.force)


def check_file(path: Path, force: bool, flag: str) -> None:
    """What can already be known to go wrong with a file to be written."""
    if path.is_dir():
        raise Failure(f"{path} is a folder. Name a file in it with {flag}.")
    if path.is_file() and not force:
        raise Failure(f"{path} exists already. Use --force to replace it, or another name with {flag}.")
    if not path.parent.is_dir():
        raise Failure(f"The folder {path.parent} does not exist. Make it first: mkdir -p {path.parent}")
    if not os.access(path.parent, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
        raise Failure(f"The folder {path.parent} may not be written to: permission denied.")


def format_of(path: Path, asked: str | None) -> tuple[str, Packing]:
    packing = PACKINGS.get(path.suffix.lower(), "uncompressed")
    plain = path.with_suffix("") if packing != "uncompressed" else path
    form = asked or ENDINGS.get(plain.suffix.lower())
    if form is None and path.exists() and not path.is_file():
        form = "csv"  # a device or a pipe has no ending
    if form is None:
        raise Misuse(f"The ending of {path} says no format. Use one of {', '.join(ENDINGS)}, or --format.")
    if packing != "uncompressed" and form in ("parquet", "arrow"):
        raise Misuse(f"{path}: {form} is packed inside. Leave out {path.suffix}.")
    return form, packing


@contextmanager
def opened(to: Destination) -> Iterator[TextWriter | ColumnWriter]:
    """A writer of rows. Its file gets its name when all is written and safe on disk; otherwise nothing is left."""
    if to.path is None or (to.path.exists() and not stat.S_ISREG(to.path.stat().st_mode)):
        with temporary_folder() as scratch:
            yield from to_stream(to, scratch)
        return
    with whole_file(to.path, to.replace) as (file, folder):
        writer = new_writer(to, file, folder)
        yield writer
        writer.close()


@contextmanager
def whole_file(path: Path, replace: bool) -> Iterator[tuple[IO[bytes], Path]]:
    """A file to be written, and a folder beside it for what is on the way."""
    final = path.resolve()  # behind a link is the file that is meant
    try:
        with temporary_folder(final.parent, prefix=f".{final.name}.") as folder:
            partial = folder / final.name
            with partial.open("wb") as file:
                yield file, folder
                file.flush()
                os.fsync(file.fileno())
            give_name(partial, final, replace)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise Failure(f"{path} could not be written: {error.strerror or error}. Nothing was left behind.") from error


def write_bytes(path: Path, content: bytes, replace: bool) -> None:
    with whole_file(path, replace) as (file, _):
        file.write(content)


def to_stream(to: Destination, scratch: Path) -> Iterator[TextWriter | ColumnWriter]:
    """Standard output, a pipe or a device: what is written is written."""
    try:
        with nullcontext(sys.stdout.buffer) if to.path is None else to.path.open("wb") as file:
            writer = new_writer(to, file, scratch)
            yield writer
            writer.close()
            file.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        if to.path is None:
            discard_output()
        raise Failure(f"{to.name} could not be written: {error.strerror or error}.") from error


def give_name(partial: Path, final: Path, replace: bool) -> None:
    if replace:
        if final.exists():
            shutil.copymode(final, partial)
        os.replace(partial, final)
    else:
        try:
            os.link(partial, final)  # unlike a renaming, refuses to replace a file that appeared meanwhile
        except FileExistsError:
            raise Failure(f"{final} has appeared meanwhile. Use --force to replace it.") from None
        except OSError:  # a file system without links
            os.rename(partial, final)
    if os.name == "posix":  # the name is safe on disk, too
        folder = os.open(final.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def new_writer(to: Destination, file: IO[bytes], folder: Path) -> TextWriter | ColumnWriter:
    return ColumnWriter(to, file, folder) if to.format in ("parquet", "arrow") else TextWriter(to, file)


class TextWriter:
    """CSV, TSV or JSON Lines, as it comes."""

    def __init__(self, to: Destination, file: IO[bytes]) -> None:
        self.to, self.file, self.header = to, file, True

    def write(self, frame: pl.DataFrame) -> None:
        for part in frame.iter_slices(ROWS_AT_ONCE) if frame.height else [frame]:
            text = io.BytesIO()  # Python writes it: polars hides why a file could not be written
            if self.to.format == "jsonl":
                part.write_ndjson(text, compression=self.to.packing)
            else:
                separator = "\t" if self.to.format == "tsv" else ","
                part.write_csv(text, separator=separator, include_header=self.header, compression=self.to.packing)
            self.header = False
            self.file.write(text.getbuffer())

    def close(self) -> None:
        """Nothing is held back."""


class ColumnWriter:
    """Parquet or Arrow. They are written in one go, so that the chunks before the last wait on disk."""

    def __init__(self, to: Destination, file: IO[bytes], folder: Path) -> None:
        self.to, self.file, self.folder = to, file, folder
        self.last: pl.DataFrame | None = None
        self.parts: list[Path] = []

    def write(self, frame: pl.DataFrame) -> None:
        if self.last is not None:
            self.parts.append(self.folder / f"part-{len(self.parts)}")
            with plain_errors():
                self.last.write_ipc(self.parts[-1])
        self.last = frame

    def close(self) -> None:
        if self.last is None:
            return
        if not self.parts:
            rows = self.last.lazy()
        else:
            self.write(self.last.clear())
            rows = pl.scan_ipc(self.parts, glob=False)
        named = Path(str(self.file.name))
        whole = named if named.parent == self.folder else self.folder / "whole"
        with plain_errors(), waiting(f"writing {self.to.name}"):
            if self.to.format == "parquet":
                rows.sink_parquet(whole)
            else:
                rows.sink_ipc(whole)
        if whole != named:
            with whole.open("rb") as written:
                shutil.copyfileobj(written, self.file)


@contextmanager
def plain_errors() -> Iterator[None]:
    """polars wraps what the system says: take it out again."""
    try:
        yield
    except (pl.exceptions.PolarsError, OSError) as error:
        number = re.search(r"os error (\d+)", str(error))
        if number is None:
            raise
        raise OSError(int(number[1]), os.strerror(int(number[1]))) from error
