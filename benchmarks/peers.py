"""lazyforest and its peers side by side: the same rows, fit and predict together, CPU and wall time, memory, accuracy.

python -m benchmarks.peers --quick       # within five minutes, into build/benchmarks
python -m benchmarks.peers               # everything, into docs/benchmarks
python -m benchmarks.peers --only gamma --systems lazyforest-batched sklearn
python -m benchmarks.peers --only synthetic-1000000x20 --budget 900 --add    # to the last run, with more patience
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks import machine, page, plots, tables
from benchmarks.measure import FAILED, OK, OVER, ROOT, Spec, measure_apart
from benchmarks.systems import SYSTEMS, is_ours
from benchmarks.work import DATA, ONE_ROW, TEN_FOLD, WORK

QUICK_DATA, QUICK_WORK, QUICK_SECONDS = ("breast", "adult", "gamma"), (ONE_ROW, TEN_FOLD), 285.0
CALLS = 3  # per cell
FOLD_WORK = 9  # ten fits on nine tenths of the rows, against one fit
Cell = dict[str, Any]


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="three data sets, one row and 10-fold, five minutes")
    parser.add_argument("--data", metavar="FOLDER", help="where the files of the data sets are")
    parser.add_argument("--only", nargs="+", metavar="DATA", help=f"data sets: {', '.join(DATA)}")
    parser.add_argument("--work", nargs="+", choices=WORK)
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=list(SYSTEMS))
    parser.add_argument("--threads", nargs="+", type=int, help="1 2; quick: 1")
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--repeat", type=int, help="calls per cell, of which the best counts (3; quick 10-fold: 1)")
    parser.add_argument("--budget", type=float, help="seconds per cell (300; quick: 30)")
    parser.add_argument("--sample", type=int, metavar="ROWS", help="use that many rows of each data set")
    parser.add_argument("--add", action="store_true", help="keep the other cells of the run that --out holds")
    parser.add_argument("--out", type=Path, help="folder for JSON and plot (docs/benchmarks; quick: build/benchmarks)")
    asked = fill_in(parser.parse_args(arguments))
    if asked.add and not (asked.out / "peers.json").exists():
        parser.error(f"--add: there is no run in {asked.out} yet. Leave it out, or name another folder with --out.")
    return asked


def fill_in(asked: argparse.Namespace) -> argparse.Namespace:
    quick = asked.quick
    asked.only = asked.only or (QUICK_DATA if quick else DATA)
    asked.work = asked.work or (QUICK_WORK if quick else WORK)
    asked.threads = asked.threads or ([1] if quick else [1, 2])
    asked.budget = asked.budget or (30.0 if quick else 300.0)
    asked.out = asked.out or ROOT / ("build" if quick else "docs") / "benchmarks"
    return asked


def list_specs(asked: argparse.Namespace) -> Iterator[Spec]:
    """All cells; the systems of one data set and one work follow each other, so that they meet the same conditions."""
    for threads in asked.threads:
        for work in asked.work:
            for data in asked.only:
                for system in asked.systems:
                    if system != "lazyforest-lazy" or work == ONE_ROW:
                        yield Spec(
                            system,
                            data,
                            work,
                            threads,
                            asked.trees,
                            asked.repeat or (1 if asked.quick and work == TEN_FOLD else CALLS),
                            asked.budget,
                            asked.data,
                            asked.sample,
                        )


def run_cell(spec: Spec, cells: list[Cell], remaining: float) -> Cell:
    """A measured cell, or one marked over budget: by an earlier cell that was less work, or by the end of the run."""
    name = name_of(dataclasses.asdict(spec))
    if remaining < 5:
        return {**name, "status": OVER, "estimate": None, "why": "the whole run was over its time"}
    for cell in cells:
        if cell["status"] == OVER and cell["work"] == ONE_ROW and {**name, "work": ONE_ROW}.items() <= cell.items():
            estimate = scaled(cell["estimate"], FOLD_WORK if spec.work == TEN_FOLD else 1)
            return {**name, "status": OVER, "estimate": estimate, "why": "one row alone is over budget"}
    return {**name, **measure_apart(dataclasses.replace(spec, budget=min(spec.budget, remaining / 2)), remaining)}


def scaled(estimate: dict[str, float] | None, factor: float) -> dict[str, float] | None:
    return {clock: seconds * factor for clock, seconds in estimate.items()} if estimate else None


def check_equal(cell: Cell, cells: list[Cell]) -> None:
    """Our algorithms must agree to the bit, whatever the number of threads."""
    for other in cells:
        same_rows = (other["data"], other["work"]) == (cell["data"], cell["work"])
        if same_rows and other.get("digest") and cell.get("digest") and other["digest"] != cell["digest"]:
            cell.update(status=FAILED, error=[f"predicts otherwise than {other['system']}"])


def measure_compiling(asked: argparse.Namespace) -> dict[str, float]:
    """Seconds of the first call of each algorithm with nothing compiled before, one after the other.

    The call is on enough rows for all kernels that one row may need.
    """
    with tempfile.TemporaryDirectory() as cache:
        firsts = {
            system: measure_apart(
                Spec(system, "synthetic-20000x10", ONE_ROW, repeat=1, folder=asked.data),
                environment={"NUMBA_CACHE_DIR": cache},
            )
            for system in asked.systems
            if is_ours(system)
        }
    return {system: result["first_call"]["wall"] for system, result in firsts.items() if result["status"] == OK}


def name_of(cell: Cell) -> Cell:
    return {field: cell[field] for field in ("system", "data", "work", "threads")}


def keep_others(run: dict[str, Any], specs: Sequence[Spec], out: Path) -> None:
    """The cells of the last run that are not measured again."""
    last = json.loads((out / "peers.json").read_text())
    again = [name_of(dataclasses.asdict(spec)) for spec in specs]
    run["cells"] = [cell for cell in last["cells"] if name_of(cell) not in again]
    run["settings"]["added_to"], run["compile_seconds"] = last["settings"], last["compile_seconds"]


def describe_run(asked: argparse.Namespace) -> dict[str, Any]:
    settings = {"quick": asked.quick, "trees": asked.trees, "repeat": asked.repeat or CALLS, "budget": asked.budget}
    return {
        "kind": "peers",
        "date": machine.today(),
        "machine": machine.describe_machine(),
        "versions": machine.list_versions(),
        "settings": settings | {"sample": asked.sample, "threads": asked.threads},
        "compile_seconds": {} if asked.quick or asked.add else measure_compiling(asked),
        "cells": [],
    }


def write(run: dict[str, Any], out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    (out / "peers.json").write_text(json.dumps(run, indent=1) + "\n")


def main(arguments: Sequence[str] | None = None) -> None:
    asked = parse(arguments)
    started = time.monotonic()
    run, specs = describe_run(asked), list(list_specs(asked))
    if asked.add:
        keep_others(run, specs, asked.out)
    for spec in specs:
        remaining = QUICK_SECONDS - (time.monotonic() - started) if asked.quick else float("inf")
        cell = run_cell(spec, run["cells"], remaining)
        check_equal(cell, run["cells"])
        run["cells"].append(cell)
        print(tables.one_line(cell), flush=True)
        write(run, asked.out)
    run["ratios"] = tables.compute_ratios(run["cells"])
    write(run, asked.out)
    plots.plot_peers(run, asked.out / "peers.png")
    page.write_page(asked.out)
    print("\n" + tables.ratio_table(run["ratios"]) + "\n" + tables.thread_table(run["cells"]))


if __name__ == "__main__":
    main()
