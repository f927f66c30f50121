"""How time and memory grow with rows, columns, queries and trees, and the peak memory of one row from a large table.

python -m benchmarks.growth --quick      # smaller tables, into build/benchmarks
python -m benchmarks.growth              # into docs/benchmarks
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks import machine, page, plots, tables
from benchmarks.measure import OK, ROOT, Spec, measure_apart
from benchmarks.systems import SYSTEMS

SPARE_ROWS = 200  # at least as many are kept out of training, for the accuracy
MEMORY_LIMIT = 2.0  # times the encoded table
DEFAULT_SYSTEMS = ("lazyforest-batched", "lazyforest-eager")


class Point(NamedTuple):
    rows: int = 10_000
    columns: int = 20
    queries: int = 1
    trees: int = 100


AXES = {
    "rows": [1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000],
    "columns": [10, 30, 100, 300, 1_000, 3_000, 10_000],
    "queries": [1, 10, 100, 1_000, 3_000, 10_000],
    "trees": [1, 3, 10, 30, 100, 300, 1_000],
}
FIXED = {"columns": Point(rows=1_000)}  # where the other three numbers are not those of Point()
QUICK_AXES = {
    "rows": [1_000, 10_000, 100_000],
    "columns": [10, 100, 1_000],
    "queries": [1, 30, 1_000],
    "trees": [1, 10, 100],
}


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growth", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="up to 10^5 rows, 10^3 columns, 10^3 queries, 100 trees")
    parser.add_argument("--only", nargs="+", choices=AXES, default=list(AXES))
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=list(DEFAULT_SYSTEMS))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeat", type=int, help="calls per point, of which the best counts (3; quick: 1)")
    parser.add_argument("--budget", type=float, help="seconds per point (240; quick: 20)")
    parser.add_argument("--out", type=Path, help="folder for JSON and plot (docs/benchmarks; quick: build/benchmarks)")
    asked = parser.parse_args(arguments)
    asked.repeat = asked.repeat or (1 if asked.quick else 3)
    asked.budget = asked.budget or (20.0 if asked.quick else 240.0)
    asked.out = asked.out or ROOT / ("build" if asked.quick else "docs") / "benchmarks"
    return asked


def list_points(axis: str, quick: bool) -> Iterator[tuple[int, Point]]:
    for value in (QUICK_AXES if quick else AXES)[axis]:
        yield value, FIXED.get(axis, Point())._replace(**{axis: value})


def make_spec(system: str, point: Point, asked: argparse.Namespace) -> Spec:
    rows = point.rows + max(point.queries, SPARE_ROWS)
    work = f"{point.queries} queries, {point.rows} training rows"
    data = f"synthetic-{rows}x{point.columns}"
    return Spec(system, data, work, asked.threads, point.trees, asked.repeat, asked.budget)


def run_axis(axis: str, asked: argparse.Namespace) -> Iterator[dict[str, Any]]:
    for value, point in list_points(axis, asked.quick):
        for system in asked.systems:
            result = measure_apart(make_spec(system, point, asked))
            yield {"axis": axis, "value": value, "system": system, **point._asdict(), **result}


def make_series(cells: list[dict[str, Any]], axis: str, system: str, measure: str) -> dict[str, Any]:
    done = tables.pick(cells, axis=axis, system=system, status=OK)
    x = [cell["value"] for cell in done]
    y = [cell["total"]["cpu"] if measure == "cpu" else memory(cell) for cell in done]
    return {"axis": axis, "system": system, "measure": measure, "x": x, "y": y, "slope": fit_slope(x, y)}


def memory(cell: dict[str, Any]) -> float:
    return float(max(cell["fit_extra_mb"], cell["predict_extra_mb"]))


def fit_slope(x: list[float], y: list[float]) -> float | None:
    """The exponent of growth over the larger half of the points: the smaller half is mostly fixed costs."""
    if len(x) < 2:
        return None
    half = slice(min(len(x) // 2, len(x) - 2), None)
    if min(y[half]) <= 0:
        return None
    return round(float(np.polyfit(np.log(x[half]), np.log(y[half]), 1)[0]), 3)


def check_memory(cells: list[dict[str, Any]]) -> dict[str, Any] | None:
    """One row from the largest table: peak above the table given, the encoded table included."""
    done = tables.pick(cells, axis="rows", system="lazyforest-batched", status=OK)
    if not done:
        return None
    cell = max(done, key=lambda one: one["value"])
    kept = {key: cell[key] for key in ("rows", "columns", "encoded_mb", "fit_extra_mb", "predict_extra_mb")}
    ratio = cell["predict_extra_mb"] / cell["encoded_mb"]
    return kept | {"predict_over_encoded": ratio, "limit": MEMORY_LIMIT, "held": ratio < MEMORY_LIMIT}


def one_line(cell: dict[str, Any]) -> str:
    where = f"{cell['axis']:>8} {cell['value']:>9,} | {SYSTEMS[cell['system']].label:<20}"
    if cell["status"] != OK:
        return f"{where} | {cell['status']}{tables.explain(cell)}"
    return f"{where} | CPU {cell['total']['cpu']:9.4f} s | {memory(cell):9.2f} MB | encoded {cell['encoded_mb']} MB"


def describe_axes(asked: argparse.Namespace) -> dict[str, str]:
    return {axis: describe_fixed(axis) for axis in asked.only}


def describe_fixed(axis: str) -> str:
    others = FIXED.get(axis, Point())._asdict()
    words = {name: "query" if (name, number) == ("queries", 1) else name for name, number in others.items()}
    return ", ".join(f"{number:,} {words[name]}" for name, number in others.items() if name != axis)


def main(arguments: Sequence[str] | None = None) -> None:
    asked = parse(arguments)
    run: dict[str, Any] = {
        "kind": "growth",
        "date": machine.today(),
        "machine": machine.describe_machine(),
        "versions": machine.list_versions(),
        "settings": {"quick": asked.quick, "threads": asked.threads, "repeat": asked.repeat, "budget": asked.budget},
        "axes": describe_axes(asked),
        "cells": [],
    }
    for axis in asked.only:
        for cell in run_axis(axis, asked):
            run["cells"].append(cell)
            print(one_line(cell), flush=True)
    run["series"] = [
        make_series(run["cells"], axis, system, measure)
        for axis in asked.only
        for system in asked.systems
        for measure in plots.MEASURES
    ]
    run["memory_check"] = check_memory(run["cells"])
    asked.out.mkdir(parents=True, exist_ok=True)
    (asked.out / "growth.json").write_text(json.dumps(run, indent=1) + "\n")
    plots.plot_growth(run, asked.out / "growth.png")
    page.write_page(asked.out)
    print("\n" + page.growth_tables(run))


if __name__ == "__main__":
    main()
