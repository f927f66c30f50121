"""Temporary folders that never outlive the process, whatever ends it."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

open_folders: set[Path] = set()


@contextmanager
def temporary_folder(beside: Path | None = None, prefix: str = "lazyforest-") -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=beside))
    open_folders.add(folder)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        open_folders.discard(folder)


def remove_all() -> None:
    """What the ``finally`` above does, for a process that is about to be ended from outside."""
    for folder in list(open_folders):
        shutil.rmtree(folder, ignore_errors=True)
