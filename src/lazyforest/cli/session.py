"""What every command that reads a table begins with."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lazyforest.cli.failures import Misuse
from lazyforest.cli.options import DataOptions, ForestOptions, TerminalOptions
from lazyforest.cli.reading import Source, check_encoding, open_source
from lazyforest.cli.scratch import temporary_folder
from lazyforest.cli.tables import Training, columns_named, read_training
from lazyforest.cli.terminal import teller, waiting


def import_scikit_learn() -> None:
    """Without pandas, which it imports where it finds it: half a second for a library that no command uses."""
    if "pandas" not in sys.modules:
        sys.modules["pandas"] = None  # type: ignore[assignment]
        import sklearn.base  # noqa: F401

        del sys.modules["pandas"]


@contextmanager
def prepared(terminal: TerminalOptions, *files: str) -> Iterator[Path]:
    """Say little if so asked; a temporary folder for what comes through a pipe."""
    teller.quiet = terminal.quiet
    if files.count("-") > 1:
        raise Misuse("Only one file can be standard input. Give the other one a name.")
    import_scikit_learn()
    with temporary_folder() as scratch:
        yield scratch


def open_file(given: str, data: DataOptions, scratch: Path) -> Source:
    encoding = check_encoding(data.encoding)
    if data.separator is not None and len(data.separator.encode()) != 1:
        raise Misuse(f"--separator must be one character. Got {data.separator!r}.")
    with waiting(f"reading {given}"):
        return open_source(given, data.separator, encoding, scratch)


def make_forest(options: ForestOptions, training: Training) -> Any:
    """The estimator that the flags describe, for this table."""
    named = options.categories()
    if isinstance(named, list):
        columns_named(named, list(training.types), training.source.name, "--categorical-features")
    return options.estimator(training.regression, training.classes, teller.shows_progress)


def read_table(given: str, data: DataOptions, scratch: Path) -> Training:
    source = open_file(given, data, scratch)
    with waiting(f"reading {source.name}"):
        return read_training(source, data)
