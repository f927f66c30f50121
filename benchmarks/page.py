"""The page of benchmarks, written from the JSON of the last runs.

python -m benchmarks.page                # rewrites docs/benchmarks.md
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from benchmarks import machine, tables
from benchmarks.measure import OK, ROOT
from benchmarks.systems import SYSTEMS
from benchmarks.tables import in_order, markdown, pick

HOW = """\
## How to repeat it

    pip install -e '.[bench]'
    python -m benchmarks.peers --quick     # within five minutes, into build/benchmarks
    python -m benchmarks.peers             # hours: every data set, one thread and then two
    python -m benchmarks.peers --only synthetic-1000000x20 --budget 900 --add   # cells anew, the others stay
    python -m benchmarks.growth            # time and memory against rows, columns, queries, trees

`--only`, `--work`, `--systems` and `--threads` choose cells, `--data` or `LAZYFOREST_DATA` says where the files of the
data sets are, `--budget` gives the seconds per cell, `--out` the folder; `--help` lists the rest. This page is written
by the run, from its JSON.
"""

RULES = """\
## What is measured

- Every system is given the same rows, shuffled and stratified with a fixed seed, fits and predicts. The time is that
  of both together, from the table in memory to the probabilities. Each cell has a process of its own.
- A first call warms up (imports, compiling, thread pools) and does not count. The best of several calls counts.
- CPU time is user + system, of all threads. Memory is the most that was resident during fit and predict, above what
  was resident just before, so above the table given.
- Accuracy is beside each time. For one row and 1% it is taken on up to 1,000 rows kept out of training, after
  the clock.
- The algorithms of lazyforest must agree bit for bit, with any number of threads, or the cell fails.
- A cell that would take longer than its budget, judged by five trees, is marked *over budget*, with the estimate.
- Peers that take numbers only are given integer codes for categories. Making the codes is not under their clock;
  lazyforest's encoding is under its own.
"""


def write_page(out: Path) -> Path:
    """``out`` is the folder with the JSON; the page stands beside it, under the same name."""
    parts = ["# Benchmarks\n"]
    peers, growth = read(out / "peers.json"), read(out / "growth.json")
    if peers:
        parts += [peers_part(peers, out.name)]
    if growth:
        parts += [growth_part(growth, out.name)]
    path = out.with_name(out.name + ".md")
    path.write_text("\n".join([*parts, RULES, HOW]))
    return path


def read(path: Path) -> dict[str, Any] | None:
    return json.loads(path.read_text()) if path.exists() else None


def peers_part(run: dict[str, Any], folder: str) -> str:
    cells = run["cells"]
    lines = [f"Last run: {machine.in_words(run)}{remark(run)}\n", f"![CPU time beside the peers]({folder}/peers.png)\n"]
    lines += ["## Ratios of CPU time\n", tables.ratio_table(run["ratios"])]
    threads = tables.thread_table(cells)
    lines += ["## One thread and two\n", threads] if threads else []
    if run["compile_seconds"]:
        seconds = run["compile_seconds"]
        each = ", ".join(f"{SYSTEMS[name].label} {number:.1f}" for name, number in seconds.items())
        lines += [f"Compiling, once per machine and version: {sum(seconds.values()):.1f} s in all ({each}).\n"]
    lines += ["## The systems\n", systems_table(run)]
    lines += ["## All cells\n", "CPU seconds with one thread, in brackets wall seconds with two.\n"]
    for data in in_order(cell["data"] for cell in cells):
        lines += [f"### {data}\n", tables.data_table(cells, data)]
    return "\n".join(lines + failures(cells))


def remark(run: dict[str, Any]) -> str:
    settings = run["settings"]
    quick = " Quick mode: 10-fold once." if settings["quick"] else ""
    before, earlier = settings.get("added_to"), []
    while before:
        earlier.append(f"best of {before['repeat']}, {before['budget']:g} s per cell")
        before = before.get("added_to")
    added = f" Added to earlier runs: {'; '.join(earlier)}." if earlier else ""
    sample = f" A sample of {settings['sample']} rows of each data set." if settings["sample"] else ""
    calls = f"{settings['trees']} trees, best of {settings['repeat']}, {settings['budget']:g} s per cell."
    return f" {calls}{quick}{sample}{added}"


def systems_table(run: dict[str, Any]) -> str:
    rows = [
        [
            SYSTEMS[name].label,
            run["versions"].get(SYSTEMS[name].package) or "-",
            "exact" if SYSTEMS[name].exact else "approximate",
            SYSTEMS[name].categories,
            SYSTEMS[name].note or "-",
        ]
        for name in in_order(cell["system"] for cell in run["cells"])
    ]
    return markdown(["system", "version", "splits", "categories", "note"], rows)


def failures(cells: list[dict[str, Any]]) -> list[str]:
    failed = [cell for cell in cells if cell.get("error")]
    return ["### Failed\n", *(f"- {tables.one_line(cell).strip()}" for cell in failed), ""] if failed else []


def growth_part(run: dict[str, Any], folder: str) -> str:
    settings = run["settings"]
    threads = "one thread" if settings["threads"] == 1 else f"{settings['threads']} threads"
    lines = ["## Growth\n", f"Last run: {machine.in_words(run)} {threads}, best of {settings['repeat']}.\n"]
    lines += [f"![Growth of time and memory]({folder}/growth.png)\n", growth_tables(run)]
    over = [cell for cell in run["cells"] if cell["status"] != OK]
    lines += [f"Not finished: {SYSTEMS[cell['system']].label}, {cell['value']:,} {cell['axis']}: {cell['status']}"
              f"{tables.explain(cell)}.\n" for cell in over]  # fmt: skip
    return "\n".join(lines)


def growth_tables(run: dict[str, Any]) -> str:
    """The slopes, and the check of memory."""
    rows = []
    for axis, fixed in run["axes"].items():
        for system in in_order(series["system"] for series in run["series"]):
            slopes = {one["measure"]: one for one in pick(run["series"], axis=axis, system=system)}
            x = slopes["cpu"]["x"]
            span = f"{min(x):,} to {max(x):,}" if x else "-"
            numbers = [tables.times(slopes[measure]["slope"]) for measure in ("cpu", "memory")]
            rows.append([axis, span, fixed, SYSTEMS[system].label, *numbers])
    header = ["against", "from, to", "with", "system", "slope of CPU time", "slope of memory"]
    return markdown(header, rows) + memory_line(run["memory_check"])


def memory_line(check: dict[str, Any] | None) -> str:
    if check is None:
        return ""
    verdict = "under" if check["held"] else "NOT under"
    return (
        f"\nOne row from {check['rows']:,} x {check['columns']}: the encoded table takes {check['encoded_mb']:.1f} MB; "
        f"predicting peaks at {check['predict_extra_mb']:.1f} MB with the encoded table, "
        f"{check['predict_over_encoded']:.2f} times it, {verdict} the limit of {check['limit']:g}; "
        f"fitting, which encodes, peaks at {check['fit_extra_mb']:.1f} MB.\n"
    )


if __name__ == "__main__":
    print(write_page(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "benchmarks"))
