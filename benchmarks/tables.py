"""Lines and Markdown tables from the cells of a run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from benchmarks.measure import OK, OVER
from benchmarks.systems import SKLEARN, SYSTEMS, is_ours
from benchmarks.work import ONE_ROW, TEN_FOLD, WORK

Cell = dict[str, Any]


def one_line(cell: Cell) -> str:
    where = f"{cell['data']:>20} | {cell['work']:<11} | {cell['threads']} | {SYSTEMS[cell['system']].label:<20}"
    if cell["status"] != OK:
        return f"{where} | {cell['status']}{explain(cell)}"
    total = cell["total"]
    accuracy = "        " if cell["accuracy"] is None else f"{cell['accuracy']:.4f}"
    memory = max(cell["fit_extra_mb"], cell["predict_extra_mb"])
    return (
        f"{where} | CPU {total['cpu']:9.3f} s | wall {total['wall']:9.3f} s | fit {cell['fit']['cpu']:9.3f} s CPU"
        f" | accuracy {accuracy} | {memory:8.1f} MB above the table"
    )


def explain(cell: Cell) -> str:
    if cell.get("error"):
        return f": {cell['error'][0]}"
    why = f" ({cell['why']})" if cell.get("why") else ""
    return f", estimated {cell['estimate']['wall']:.0f} s{why}" if cell.get("estimate") else why


def pick(cells: Iterable[Cell], **wanted: Any) -> list[Cell]:
    return [cell for cell in cells if wanted.items() <= cell.items()]


def finished(cells: Iterable[Cell], ours: bool, **wanted: Any) -> list[Cell]:
    return [cell for cell in pick(cells, status=OK, **wanted) if is_ours(cell["system"]) == ours]


def in_order(values: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(values))


def markdown(header: list[str], rows: list[list[str]]) -> str:
    marks = ["---", *["---:"] * (len(header) - 1)]
    return "\n".join("| " + " | ".join(row) + " |" for row in [header, marks, *rows]) + "\n"


def compute_ratios(cells: list[Cell]) -> list[dict[str, Any]]:
    """How many times our CPU time the fastest peer that finished takes, and scikit-learn takes."""
    ratios = []
    for data in in_order(cell["data"] for cell in cells):
        for work in WORK:
            for threads in sorted({cell["threads"] for cell in cells}):
                where = {"data": data, "work": work, "threads": threads}
                ours, peers = finished(cells, True, **where), finished(cells, False, **where)
                if ours and peers:
                    ratios.append(where | compare(ours, peers, pick(cells, system=SKLEARN, **where)))
    return ratios


def compare(ours: list[Cell], peers: list[Cell], sklearn: list[Cell]) -> dict[str, Any]:
    mine = min((cell for cell in ours if not cell["system"].endswith("lazy")), key=cpu)
    fastest = min(peers, key=cpu)
    eager = [cell["fit"]["cpu"] for cell in ours if cell["system"].endswith("eager")]
    theirs = sklearn[0] if sklearn else {"status": None}
    over = theirs["status"] == OVER and theirs.get("estimate")
    return {
        "ours": mine["system"],
        "ours_cpu": cpu(mine),
        "fastest": fastest["system"],
        "fastest_cpu": cpu(fastest),
        "fastest_over_ours": cpu(fastest) / cpu(mine),
        "sklearn_over_ours": cpu(theirs) / cpu(mine) if theirs["status"] == OK else None,
        "sklearn_estimate_over_ours": theirs["estimate"]["cpu"] / cpu(mine) if over else None,
        "fastest_fit_over_eager_fit": min(cell["fit"]["cpu"] for cell in peers) / eager[0] if eager else None,
    }


def cpu(cell: Cell) -> float:
    return float(cell["total"]["cpu"])


def ratio_table(ratios: list[dict[str, Any]]) -> str:
    header = ["data", "work", "threads", "ours, CPU s", "fastest peer, CPU s", "fastest peer / ours",
              "scikit-learn / ours", "fit alone: fastest peer / eager"]  # fmt: skip
    rows = [
        [
            ratio["data"],
            ratio["work"],
            str(ratio["threads"]),
            f"{ratio['ours_cpu']:.3g} ({SYSTEMS[ratio['ours']].label})",
            f"{ratio['fastest_cpu']:.3g} ({SYSTEMS[ratio['fastest']].label})",
            f"**{ratio['fastest_over_ours']:.3g}**",
            sklearn_ratio(ratio),
            times(ratio["fastest_fit_over_eager_fit"]),
        ]
        for ratio in ratios
    ]
    return markdown(header, rows)


def sklearn_ratio(ratio: dict[str, Any]) -> str:
    if ratio["sklearn_estimate_over_ours"]:
        return f"{ratio['sklearn_estimate_over_ours']:.3g} (estimated)"
    return times(ratio["sklearn_over_ours"])


def times(number: float | None) -> str:
    return "-" if number is None else f"{number:.3g}"


def thread_table(cells: list[Cell]) -> str:
    """How many times less wall time two threads take than one."""
    rows = []
    for one in pick(cells, status=OK, threads=1):
        same = {key: one[key] for key in ("system", "data", "work")}
        for two in pick(cells, status=OK, threads=2, **same):
            if is_ours(one["system"]):
                wall = one["total"]["wall"], two["total"]["wall"]
                label = SYSTEMS[one["system"]].label
                rows.append([one["data"], one["work"], label, f"{wall[0]:.3g}", f"{wall[1]:.3g}",
                             f"{wall[0] / wall[1]:.2f}"])  # fmt: skip
    return markdown(["data", "work", "system", "wall s, one thread", "wall s, two", "speed-up"], rows) if rows else ""


def data_table(cells: list[Cell], data: str) -> str:
    """A data set: systems down, work across; CPU seconds with one thread, wall seconds with two in brackets."""
    here = pick(cells, data=data)
    works = [work for work in WORK if pick(here, work=work)]
    fastest = {
        work: min((cpu(cell) for cell in pick(here, work=work, threads=1, status=OK)), default=0) for work in works
    }
    header = ["system", *works, "memory, MB: one row", "10-fold", "accuracy"]
    rows = []
    for system in in_order(cell["system"] for cell in here):
        mine = pick(here, system=system)
        times = [seconds(pick(mine, work=work), fastest[work]) for work in works]
        rows.append([SYSTEMS[system].label, *times, memory(mine, ONE_ROW), memory(mine, TEN_FOLD), accuracy(mine)])
    return markdown(header, rows)


def seconds(cells: list[Cell], fastest: float) -> str:
    parts = []
    for threads, clock in ((1, "cpu"), (2, "wall")):
        for cell in pick(cells, threads=threads):
            text = f"{cell['total'][clock]:.3g}" if cell["status"] == OK else cell["status"] + brief_estimate(cell)
            best = threads == 1 and cell["status"] == OK and cpu(cell) == fastest
            parts.append(f"**{text}**" if best else text if threads == 1 else f"({text})")
    return " ".join(parts) or "-"


def brief_estimate(cell: Cell) -> str:
    return f", about {cell['estimate']['wall']:.0f} s" if cell.get("estimate") else ""


def memory(cells: list[Cell], work: str) -> str:
    found = pick(cells, status=OK, work=work, threads=1)
    return f"{max(found[0]['fit_extra_mb'], found[0]['predict_extra_mb']):.1f}" if found else "-"


def accuracy(cells: list[Cell]) -> str:
    scored = [cell for cell in pick(cells, status=OK) if cell["accuracy"] is not None]
    if not scored:
        return "as batched" if pick(cells, status=OK) else "-"
    widest = max(scored, key=lambda cell: cell["scored_rows"])
    return f"{widest['accuracy']:.4f} on {widest['scored_rows']:,} rows"
