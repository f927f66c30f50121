"""The command line: ``lazyforest predict TRAIN NEW --target COLUMN`` and its kin. Parse, call, print."""

from __future__ import annotations

import sys


def main() -> int:
    """The entry point; says what to install where the command line's own needs are absent."""
    try:
        from lazyforest.cli.main import run
    except ModuleNotFoundError as error:
        if error.name not in ("cyclopts", "rich", "polars"):
            raise
        sys.stderr.write(f"lazyforest: the command line needs {error.name}. Use: pip install 'lazyforest[cli]'\n")
        return 1
    return run(sys.argv[1:])
