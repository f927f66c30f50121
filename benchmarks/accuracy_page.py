"""The page of accuracy, written from the JSON of the last run.

python -m benchmarks.accuracy_page       # rewrites docs/accuracy.md
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import machine
from benchmarks.measure import ROOT
from benchmarks.tables import in_order, markdown, pick
from lazyforest import datasets

ALLOWED = 0.003  # how far below a peer the accuracy on Adult may be

MODELS = """\
All forests: {trees} trees on bootstraps, every column looked at in every node, depth at most 20, nodes of at least 5
rows split. Categories: lazyforest and YDF take them as they are, scikit-learn gets indicator columns. Missing values:
lazyforest learns a side for them, scikit-learn's trees too (a missing category misses all of its indicators), YDF
imputes. lazyforest and YDF count one vote per tree, scikit-learn averages the shares of classes in the leaves, and so
does lazyforest with soft votes.
"""

HOW = """\
## How to repeat it

    pip install -e '.[bench]'
    python -m benchmarks.accuracy

This page is written by the run, from its JSON.
"""


def one_line(result: dict[str, Any]) -> str:
    number = (
        f"R2 {result['r2']:.4f}" if "r2" in result else f"accuracy {result['accuracy']:.4f} ± {result['error']:.4f}"
    )
    where = f"{result['part']:>14} | {result['data']:<22} | {result['model']:<31}"
    return f"{where} | {number} | {result['seconds']:.1f} s"


def write_page(out: Path) -> Path:
    """``out`` is the folder with the JSON; the page stands beside it, under the same name."""
    run = json.loads((out / "accuracy.json").read_text())
    parts = ["# Accuracy\n", f"Last run: {machine.in_words(run)}{remark(run)}\n"]
    parts += [MODELS.format(trees=run["settings"]["trees"]), *classification(run), *regression(run), *blanked(run), HOW]
    path = out.with_name(out.name + ".md")
    path.write_text("\n".join(parts))
    return path


def remark(run: dict[str, Any]) -> str:
    sample = run["settings"]["sample"]
    return f" A sample of at most {sample:,} rows of each data set." if sample else ""


def grid(results: list[dict[str, Any]], cell: Callable[[dict[str, Any]], str]) -> tuple[list[str], list[list[str]]]:
    """The data sets, and for each model a row with a cell for each of them."""
    data, rows = in_order(result["data"] for result in results), []
    for model in in_order(result["model"] for result in results):
        mine = {result["data"]: result for result in pick(results, model=model)}
        rows.append([model, *(cell(mine[name]) for name in data)])
    return data, rows


def classification(run: dict[str, Any]) -> list[str]:
    results = pick(run["results"], part="classification")
    if not results:
        return []
    data, rows = grid(results, percent)
    lines = ["## Classification\n", "Percent right in stratified 10-fold cross-validation, ± its standard error; in"]
    lines += ["brackets the difference to the first line in points, ± its standard error.\n"]
    header = ["", *(f"{name}, {pick(results, data=name)[0]['rows']:,} rows" for name in data)]
    lines += [markdown(header, rows), *verdict(results), *notes(data)]
    return lines


def percent(result: dict[str, Any]) -> str:
    plain = f"{100 * result['accuracy']:.2f} ± {100 * result['error']:.2f}"
    if not result["difference_error"]:
        return plain
    return f"{plain} ({100 * result['difference']:+.2f} ± {100 * result['difference_error']:.2f})"


def verdict(results: list[dict[str, Any]]) -> list[str]:
    adult = {result["model"]: result for result in pick(results, data="adult")}
    lines = []
    for peer in ("scikit-learn, one-hot", "YDF"):
        if peer in adult:
            lead = adult["lazyforest"]["accuracy"] - adult[peer]["accuracy"]
            word = "holds" if lead >= -ALLOWED else "does NOT hold"
            lines.append(f"- Adult, at most {100 * ALLOWED:g} points below {peer}: {word} ({100 * lead:+.2f} points).")
    return [*lines, ""]


def notes(names: list[str]) -> list[str]:
    return [*(f"- {name}: {datasets.SOURCES[name].note}" for name in names), ""]


def regression(run: dict[str, Any]) -> list[str]:
    results = pick(run["results"], part="regression")
    if not results:
        return []
    data, rows = grid(results, lambda result: f"{result['r2']:.4f}")
    header = ["", *(f"{name} ({pick(results, data=name)[0]['rows']:,} rows)" for name in data)]
    return [
        "## Regression\n",
        "R2 of the answers of 10-fold cross-validation, taken together.\n",
        markdown(header, rows),
    ]


def blanked(run: dict[str, Any]) -> list[str]:
    results = pick(run["results"], part="blanked")
    if not results:
        return []
    rows = [[result["model"], percent(result), f"{result['seconds']:.0f}"] for result in results]
    folds = run["settings"]["blank_folds"]
    lines = ["## Adult, 30% of the cells of the queries emptied at random\n"]
    lines += [f"{results[0]['rows']:,} queries ({folds} of ten folds); the training rows keep their cells."]
    lines += [
        "`reduced` answers each query without the columns that it misses, `route` sends a missing value to the side"
    ]
    lines += ["learned or the heavier one, as scikit-learn does. Imputed: the most frequent category and the median.\n"]
    return [*lines, markdown(["", "percent right", "wall s"], rows)]


if __name__ == "__main__":
    print(write_page(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "accuracy"))
