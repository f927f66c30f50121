"""The paper's three tables and two figures, on the same data: what `lazyforest paper` runs.

Steps are kept in a file as they are measured, so that a run that was interrupted goes on where it was. At the end the
JSON, the figures and the page are written from them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from benchmarks import machine, paper_cells, paper_page
from benchmarks.measure import ROOT
from benchmarks.paper_cells import Bench, Plan
from benchmarks.paper_figures import draw_figures
from benchmarks.paper_steps import trace_example
from lazyforest import datasets

Say = Callable[[str], None]
Run = dict[str, Any]


def new_plan(quick: bool, bootstraps: int | None) -> Plan:
    plan = Plan().quickly() if quick else Plan()
    return plan if bootstraps is None else replace(plan, bootstraps=bootstraps)


def reproduce(plan: Plan, out: Path, folder: str | None = None, only: Sequence[str] = (), say: Say = print) -> Path:
    """Measure, and write ``out``/run.json, the figures beside it and the page ``out``.md, which is returned."""
    place = datasets.find_folder(folder)
    folder = str(place.resolve()) if place else None
    for name in only:
        datasets.find_source(name)
    out.mkdir(parents=True, exist_ok=True)
    unfinished = out / "unfinished.json"
    run = resume(unfinished, new_run(plan, only), say)
    write_json(run, unfinished)
    for name in only or datasets.names():
        try:
            bench = paper_cells.open_bench(name, folder, plan)
        except FileNotFoundError as error:
            if only:
                raise
            say(f"{name} is passed over. {error}")
            continue
        for _ in measure(bench, folder, run, say):
            write_json(run, unfinished)
    run["example"] = trace_example()
    write_json(run, out / "run.json")
    unfinished.unlink()
    draw_figures(run, out)
    return paper_page.write_page(out)


def default_folder(quick: bool) -> Path:
    return ROOT / ("build" if quick else "docs") / "paper"


def new_run(plan: Plan, only: Sequence[str]) -> Run:
    return {
        "kind": "paper",
        "date": machine.today(),
        "machine": machine.describe_machine(),
        "versions": machine.list_versions(),
        "plan": asdict(plan),
        "only": list(only),
        "data": {},
        "cells": [],
        "memory": [],
    }


def resume(path: Path, fresh: Run, say: Say) -> Run:
    """What an interrupted run left, if it was to measure the same with the same versions."""
    if not path.exists():
        return fresh
    left: Run = json.loads(path.read_text())
    fresh = json.loads(json.dumps(fresh))  # tuples become lists
    if any(left[key] != fresh[key] for key in ("plan", "only", "versions")):
        return fresh
    say(f"Going on with {path}, from {left['date']}.")
    return left


def write_json(run: Run, path: Path) -> None:
    """Whole or not at all."""
    beside = path.with_name(path.name + ".new")
    beside.write_text(json.dumps(run, indent=1) + "\n")
    os.replace(beside, path)


def measure(bench: Bench, folder: str | None, run: Run, say: Say) -> Iterator[None]:
    """Add the cells of a data set to the run, and stop after each step for them to be kept."""
    name, rows = bench.name, len(bench.y)
    run["data"].setdefault(name, paper_cells.describe(bench))
    done = {cell["folds"] for cell in run["cells"] if cell["data"] == name}
    left = [folds for folds in [*bench.plan.folds, rows] if folds not in done]
    if left:
        say(f"{name}: {rows:,} rows, {run['data'][name]['columns']:,} columns.")
        paper_cells.warm_up(bench)
    for folds in left:
        cells = paper_cells.measure_folds(bench, folds)
        run["cells"] += cells
        what = "leave-one-out" if folds == rows else f"{folds} folds"
        say(f"{what:>15} | " + " | ".join(f"{cell['algorithm']} {cell['cpu']:.3f} s" for cell in cells))
        yield
    if not any(cell["data"] == name for cell in run["memory"]):
        cells = paper_cells.measure_memory_apart(name, folder, bench.plan)
        run["memory"] += cells
        words = " | ".join(f"{cell['algorithm']} {cell['stack_words']:,} words" for cell in cells)
        say(f"{'memory':>15} | {words}")
        yield
