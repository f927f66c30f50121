"""The figures: CPU time beside the peers, and growth with fitted slopes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.ticker import NullFormatter

from benchmarks.measure import OK, OVER
from benchmarks.systems import SYSTEMS, is_ours
from benchmarks.tables import cpu, in_order, pick
from benchmarks.work import WORK

# Okabe and Ito's colours, which colour-blind readers can tell apart, and a shape for each
LOOK = {
    "lazyforest-batched": ("#D55E00", "*"),
    "lazyforest-eager": ("#E69F00", "P"),
    "lazyforest-lazy": ("#CC79A7", "X"),
    "sklearn": ("#0072B2", "o"),
    "intelex": ("#56B4E9", "s"),
    "ydf": ("#009E73", "^"),
    "lightgbm": ("#000000", "D"),
    "xgboost": ("#8C8C8C", "v"),
}
MEASURES = {"cpu": "CPU seconds, fit + predict", "memory": "MB above the table given"}


def plot_peers(run: dict[str, Any], path: Path) -> None:
    """A panel per work: CPU seconds with one thread across, data sets down."""
    cells = pick(run["cells"], threads=min(cell["threads"] for cell in run["cells"]))
    works = [work for work in WORK if pick(cells, work=work)]
    data = in_order(cell["data"] for cell in cells)
    columns = min(2, len(works))
    rows = -(-len(works) // columns)
    size = (5.6 * columns + 0.4, rows * (0.62 * len(data) + 1.1) + 1.2)
    figure, axes = plt.subplots(rows, columns, figsize=size, squeeze=False, layout="constrained")
    for axis, work in zip(axes.flat, works, strict=False):
        draw_work(axis, pick(cells, work=work), data)
        axis.set_title(work, fontweight="bold")
    for axis in axes.flat[len(works) :]:
        axis.set_visible(False)
    add_legend(figure, [name for name in SYSTEMS if pick(cells, system=name)])
    threads = "one thread" if cells[0]["threads"] == 1 else f"{cells[0]['threads']} threads"
    figure.suptitle(f"Fit and predict, {run['settings']['trees']} trees, {threads}")
    figure.savefig(path, dpi=130)
    plt.close(figure)


def draw_work(axis: Axes, cells: list[dict[str, Any]], data: list[str]) -> None:
    for line, name in enumerate(data):
        axis.axhline(line, color="#DDDDDD", linewidth=0.8, zorder=0)
        here = pick(cells, data=name)
        for cell in here:
            draw_cell(axis, cell, line)
        write_ratio(axis, here, line)
    axis.set_xscale("log")
    axis.xaxis.set_major_formatter("{x:g}")
    axis.xaxis.set_minor_formatter(NullFormatter())
    axis.set_yticks(range(len(data)), [name.replace("synthetic-1000000x20", "synthetic\n10⁶ x 20") for name in data])
    axis.set_ylim(len(data) - 0.4, -0.75)
    axis.set_xlabel("CPU seconds (log scale)")
    axis.margins(x=0.1)


def draw_cell(axis: Axes, cell: dict[str, Any], line: int) -> None:
    """Filled: measured. Hollow: over budget, where it was estimated to end."""
    colour, shape = LOOK[cell["system"]]
    size = 130 if shape == "*" else 48
    if cell["status"] == OK:
        axis.scatter(cpu(cell), line, s=size, color=colour, marker=shape, zorder=3)
    elif cell["status"] == OVER and cell.get("estimate"):
        axis.scatter(
            cell["estimate"]["cpu"], line, s=size, facecolors="none", edgecolors=colour, marker=shape, zorder=3
        )


def write_ratio(axis: Axes, cells: list[dict[str, Any]], line: int) -> None:
    done = pick(cells, status=OK)
    ours = [cpu(cell) for cell in done if is_ours(cell["system"])]
    peers = [cpu(cell) for cell in done if not is_ours(cell["system"])]
    if ours and peers:
        middle = (min(ours) * min(peers)) ** 0.5
        text = f"{min(peers) / min(ours):.2g}x" if min(peers) < 10 * min(ours) else f"{min(peers) / min(ours):.0f}x"
        axis.plot([min(ours), min(peers)], [line, line], color="#555555", linewidth=1, zorder=1)
        axis.text(middle, line - 0.14, text, ha="center", va="bottom", fontsize=9, color="#333333")


def add_legend(figure: Any, systems: list[str]) -> None:
    handles = [
        plt.Line2D([], [], color=LOOK[name][0], marker=LOOK[name][1], linestyle="none", markersize=9)
        for name in systems
    ]
    handles.append(plt.Line2D([], [], color="#555555", marker="o", fillstyle="none", linestyle="none", markersize=8))
    labels = [*(SYSTEMS[name].label for name in systems), "hollow: over budget, estimated"]
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)


def plot_growth(run: dict[str, Any], path: Path) -> None:
    """Two rows of panels, time and memory; a column per axis of growth; a line per algorithm with its slope."""
    figure, axes = plt.subplots(2, len(run["axes"]), figsize=(15, 7.6), squeeze=False, layout="constrained")
    for column, axis_name in enumerate(run["axes"]):
        for row, measure in enumerate(MEASURES):
            axis = axes[row][column]
            for series in pick(run["series"], axis=axis_name, measure=measure):
                draw_series(axis, series)
            axis.set(xscale="log", yscale="log", xlabel=axis_name, ylabel=MEASURES[measure])
            axis.yaxis.set_major_formatter("{x:g}")
            axis.yaxis.set_minor_formatter(NullFormatter())
            show_a_decade(axis)
            axis.grid(color="#E5E5E5", zorder=0)
            axis.legend(frameon=False, fontsize=9)
        axes[0][column].set_title(run["axes"][axis_name], fontsize=10)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def show_a_decade(axis: Axes) -> None:
    """Widen what is flat: noise should not look like growth."""
    low, high = axis.get_ylim()
    if 0 < low < high < 12 * low:
        middle = (low * high) ** 0.5
        axis.set_ylim(middle / 12**0.5, middle * 12**0.5)


def draw_series(axis: Axes, series: dict[str, Any]) -> None:
    colour, shape = LOOK[series["system"]]
    slope = "" if series["slope"] is None else f", slope {series['slope']:.2f}"
    label = SYSTEMS[series["system"]].label + slope
    axis.plot(series["x"], series["y"], color=colour, marker=shape, markersize=8, label=label)
