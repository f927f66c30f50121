"""``lazyforest paper``: the paper's experiments. They are benchmarks, which a clone has and the package has not."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

from lazyforest.cli.failures import Failure
from lazyforest.cli.options import PaperOptions, TerminalOptions
from lazyforest.cli.terminal import announced_compilation, new_console, teller

CLONE = Path(__file__).resolve().parents[3]


def reproduce_paper(options: PaperOptions, terminal: TerminalOptions) -> None:
    teller.quiet = terminal.quiet
    if options.data is not None and not options.data.is_dir():
        raise Failure(f"{options.data} is not a folder. Give --data the folder with the files of the data sets.")
    paper = import_benchmark()
    plan = paper.new_plan(options.quick, options.bootstraps)
    out = options.out or paper.default_folder(options.quick)
    folder = str(options.data) if options.data else None
    teller.left = "what was measured is kept, the same command goes on from there"
    with announced_compilation():
        page = paper.reproduce(plan, out, folder, options.only, teller.say)
    new_console(soft_wrap=True).print(str(page), markup=False)


def import_benchmark() -> Any:
    """The module of the clone that this package is installed from."""
    if not (CLONE / "benchmarks" / "paper.py").is_file():
        raise Failure(
            "lazyforest paper needs the benchmarks, which are in a clone of the repository and not in the package. "
            "Use 'make paper' in a clone."
        )
    if str(CLONE) not in sys.path:
        sys.path.insert(0, str(CLONE))
    try:
        return importlib.import_module("benchmarks.paper")
    except ModuleNotFoundError as error:
        raise Failure(
            f"lazyforest paper needs {error.name}. Use: pip install -e '.[cli,plot,dev]' in the clone."
        ) from error
