"""The paper's two figures, drawn from the JSON of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedFormatter, FixedLocator, LogLocator, NullFormatter

from benchmarks.paper_cells import BL_DT, DT, L_DT, SHARED
from benchmarks.paper_results import TITLES
from benchmarks.tables import pick

# Okabe and Ito's colours, which colour-blind readers can tell apart, and a shape for each
LOOK = {
    DT: ("#0072B2", "o", "DT (eager)"),
    L_DT: ("#CC79A7", "s", "L-DT (lazy)"),
    BL_DT: ("#D55E00", "^", "BL-DT (batched lazy)"),
    SHARED: ("#000000", "D", "lazyforest, shared folds"),
}
SIZES = {SHARED: 7.5, L_DT: 6.5, BL_DT: 5, DT: 4.5}
OPENED, CLOSED = "#56B4E9", "#BBBBBB"
MEASURES = {"cpu": "CPU time (s)", "nodes": "nodes per bootstrap"}
LEFT_OUT = 420  # where leave-one-out stands on the axis of folds, whatever the number of rows
ACROSS = 3


def draw_figures(run: dict[str, Any], out: Path) -> None:
    for name, draw in (("exploration", draw_steps), ("folds", draw_folds)):
        figure = draw(run)
        figure.savefig(out / f"{name}.png", dpi=130)
        plt.close(figure)


# ---- Figure 1: the order of exploration


def draw_steps(run: dict[str, Any]) -> Any:
    example = run["example"]
    nodes = sorted(set(example["steps"]["eager"]))
    figure, axes = plt.subplots(1, len(example["steps"]), figsize=(9.6, 3.3), layout="constrained")
    for axis, (name, steps) in zip(axes, example["steps"].items(), strict=True):
        draw_tree(axis, place(nodes), steps, example["ends"])
        axis.set_title(f"{name}: {len(steps)} steps", fontsize=12)
    handles = [
        Line2D([], [], color="black", marker="o", mfc=OPENED, mec="black", ms=9, linestyle="none"),
        Line2D([], [], color=CLOSED, marker="o", mfc="white", mec=CLOSED, ms=9, linestyle="none"),
    ]
    labels = ["explored; the number is the step", "never explored"]
    figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False, fontsize=11)
    return figure


def place(nodes: list[str]) -> dict[str, tuple[float, int]]:
    """Leaves side by side, a parent above the middle of its children."""
    places: dict[str, tuple[float, int]] = {}
    leaves = [node for node in nodes if f"{node}0" not in nodes]
    for x, leaf in enumerate(leaves):
        places[leaf] = float(x), -len(leaf)
    for node in sorted(set(nodes) - set(leaves), key=len, reverse=True):
        places[node] = (places[f"{node}0"][0] + places[f"{node}1"][0]) / 2, -len(node)
    return places


def draw_tree(axis: Axes, places: dict[str, tuple[float, int]], steps: list[str], ends: dict[str, str]) -> None:
    for node, (x, y) in places.items():
        numbers = [str(number) for number, way in enumerate(steps, start=1) if way == node]
        line, fill = ("black", OPENED) if numbers else (CLOSED, "white")
        if node:
            above = places[node[:-1]]
            axis.plot([above[0], x], [above[1], y], color=line, linewidth=1.2, zorder=1 + bool(numbers))
        axis.plot([x], [y], "o", ms=8.5, mfc=fill, mec=line, zorder=3)
        axis.text(x + 0.23, y, ", ".join(numbers), va="center", fontsize=9.5, fontweight="bold", zorder=4)
    for letter, node in ends.items():
        x, y = places[node]
        axis.text(x, y - 0.2, letter, ha="center", va="top", fontsize=12, color="#D55E00", fontweight="bold")
    axis.set(
        xlim=(-0.4, max(x for x, _ in places.values()) + 0.9), ylim=(min(y for _, y in places.values()) - 0.6, 0.35)
    )
    axis.axis("off")


# ---- Figure 2: CPU time and nodes against the number of folds


def draw_folds(run: dict[str, Any]) -> Any:
    """Two panels per data set, one above the other: CPU time and nodes."""
    names = list(run["data"])
    bands = -(-len(names) // ACROSS)
    figure = plt.figure(figsize=(9.6, 4.6 * bands + 0.7), layout="constrained")
    axes = figure.subplots(2 * bands, ACROSS, squeeze=False)
    for axis in axes.flat[:]:
        axis.set_visible(False)
    for number, name in enumerate(names):
        band, column = divmod(number, ACROSS)
        for line, measure in enumerate(MEASURES):
            axis = axes[2 * band + line][column]
            axis.set_visible(True)
            draw_panel(axis, run, name, measure)
            axis.set_ylabel(MEASURES[measure] if column == 0 else "")
            axis.set_xlabel("folds" if line else "")
        axes[2 * band][column].set_title(TITLES[name], fontsize=12, fontweight="bold")
    add_legend(figure)
    return figure


def draw_panel(axis: Axes, run: dict[str, Any], name: str, measure: str) -> None:
    rows = run["data"][name]["rows"]
    for algorithm in (SHARED, L_DT, BL_DT, DT):  # the smaller mark lies on the larger one where curves meet
        colour, shape, _ = LOOK[algorithm]
        cells = sorted(pick(run["cells"], data=name, algorithm=algorithm), key=lambda cell: cell["folds"])
        x = [LEFT_OUT if cell["folds"] == rows else cell["folds"] for cell in cells]
        y = [cell[measure] / (run["plan"]["bootstraps"] if measure == "nodes" else 1) for cell in cells]
        axis.plot(x, y, color=colour, linewidth=1.4, zorder=2)
        for cell, *at in zip(cells, x, y, strict=True):
            whole = cell["asked"] == rows
            axis.plot(
                *at,
                marker=shape,
                ms=SIZES[algorithm],
                color=colour,
                mfc=colour if whole else "white",
                zorder=3,
            )
    axis.axvline(200, color="#999999", linewidth=0.8, linestyle=":")
    axis.set(xscale="log", yscale="log", xlim=(1.6, 700))
    shown = [folds for folds in (2, 5, 10, 20, 40, 100) if folds in run["plan"]["folds"]]
    axis.xaxis.set_major_locator(FixedLocator([*shown, LEFT_OUT]))
    axis.xaxis.set_major_formatter(FixedFormatter([*map(str, shown), "LOO"]))
    axis.xaxis.set_minor_locator(FixedLocator([]))
    axis.yaxis.set_major_locator(LogLocator(numticks=6))
    axis.yaxis.set_minor_formatter(NullFormatter())
    axis.tick_params(labelsize=10)
    axis.grid(axis="y", color="#E5E5E5")


def add_legend(figure: Any) -> None:
    handles = [Line2D([], [], color=colour, marker=shape, ms=6) for colour, shape, _ in LOOK.values()]
    handles.append(Line2D([], [], color="#555555", marker="o", mfc="white", linestyle="none", ms=6))
    labels = [*(label for _, _, label in LOOK.values()), "hollow: scaled from a sample"]
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False, fontsize=11)
