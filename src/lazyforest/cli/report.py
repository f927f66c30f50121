"""What out-of-sample predictions say about a table, as numbers for machines and as tables for people."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from rich import box
from rich.markup import escape
from rich.table import Table

from lazyforest.cli import metrics
from lazyforest.cli.metrics import Estimate
from lazyforest.cli.tables import Training, say_class
from lazyforest.cli.terminal import new_console
from lazyforest.engine.layout import Array

MOST_SHOWN = 8  # classes of a confusion matrix that fit into 80 columns
NAMES = {
    "accuracy": "accuracy",
    "log_loss": "log loss",
    "auc": "AUC",
    "r2": "R2",
    "mean_absolute_error": "mean absolute error",
    "root_mean_squared_error": "root mean squared error",
}


def judge(training: Training, explored: Any, groups: Array | None, suspects: int, trees: int) -> dict[str, Any]:
    """Everything the report says, as plain numbers, lists and text."""
    facts: dict[str, Any] = {
        "target": training.target,
        "task": "regression" if training.regression else "classification",
        "rows": len(training.y),
        "columns": len(training.types),
    }
    if training.regression:
        return facts | judge_numbers(training, explored.prediction, groups, suspects)
    return facts | judge_classes(training, explored, groups, suspects, floor=0.5 / trees)


def judge_classes(
    training: Training, explored: Any, groups: Array | None, suspects: int, floor: float
) -> dict[str, Any]:
    labels, proba = training.classes, explored.proba
    number = {label: k for k, label in enumerate(labels)}
    codes = np.array([number[label] for label in training.y.tolist()])
    predicted = np.array([number[label] for label in explored.prediction.tolist()])
    own = proba[np.arange(len(codes)), codes]
    counts = np.bincount(codes, minlength=len(labels))
    shown = proba[:, 1] if len(labels) == 2 else proba.max(axis=1)
    happened = codes == 1 if len(labels) == 2 else codes == predicted
    order = np.lexsort((-proba.max(axis=1), own))[:suspects]
    return {
        "classes": [say_class(label) for label in labels],
        "accuracy": metrics.accuracy((codes == predicted).astype(float), groups)._asdict(),
        "log_loss": metrics.log_loss(proba, codes, floor, groups)._asdict() | {"floor": floor},
        "auc": metrics.auc(proba, codes, groups)._asdict(),
        "baseline": {"class": say_class(labels[counts.argmax()]), "accuracy": float(counts.max() / len(codes))},
        "confusion": metrics.confusion(codes, predicted, len(labels)).tolist(),
        "reliability": metrics.reliability_of_shares(shown, happened),
        "suspicious": [
            row_facts(training, int(r))
            | {
                "label": say_class(labels[codes[r]]),
                "prediction": say_class(labels[predicted[r]]),
                "p_label": float(own[r]),
                "p_prediction": float(proba[r, predicted[r]]),
            }
            for r in order
            if codes[r] != predicted[r]
        ],
    }


def judge_numbers(training: Training, prediction: Array, groups: Array | None, suspects: int) -> dict[str, Any]:
    y = training.y
    errors = y - prediction
    scale = float(np.sqrt((errors**2).mean())) or 1.0
    return {
        "r2": metrics.r2(y, prediction, groups)._asdict(),
        "root_mean_squared_error": metrics.root_mean_squared_error(y, prediction, groups)._asdict(),
        "mean_absolute_error": metrics.mean_absolute_error(y, prediction, groups)._asdict(),
        "reliability": metrics.reliability_of_numbers(prediction, y),
        "suspicious": [
            row_facts(training, int(r))
            | {"label": float(y[r]), "prediction": float(prediction[r]), "errors": float(errors[r] / scale)}
            for r in np.argsort(-np.abs(errors), kind="stable")[:suspects]
        ],
    }


def row_facts(training: Training, r: int) -> dict[str, Any]:
    """Where a row is: its number in the file, from 1, and its ids."""
    row = int(training.known[r])
    return {"row": row + 1} | {name: training.frame[name][row] for name in training.ids}


def print_json(found: Any) -> None:
    sys.stdout.write(json.dumps(without_nan(found), indent=2, default=str, allow_nan=False) + "\n")


def without_nan(found: Any) -> Any:
    """The same, with null for NaN, which JSON does not have."""
    if isinstance(found, dict):
        return {key: without_nan(value) for key, value in found.items()}
    if isinstance(found, list):
        return [without_nan(value) for value in found]
    return None if isinstance(found, float) and not math.isfinite(found) else found


# For people --------------------------------------------------------------------------------------------


def print_report(report: dict[str, Any], stderr: bool) -> None:
    console = new_console(stderr=stderr)
    folds, each = report["folds"], "each row predicted by a forest of all others"
    how = "Leave-one-out" if folds is None else f"{folds}-fold cross-validation"
    if folds is not None:
        each = "each row predicted by a forest of the other folds"
        each += f", {report['group']!r} kept together" if report["group"] else ""
    console.print(f"\n[bold]{how}[/bold]: {escape(each)}, {report['trees']:,} trees, {report['seconds']:.1f} s")
    for title, table in tables(report).items():
        console.print(f"\n[bold]{escape(title)}[/bold]" if title else "")
        console.print(table)


def tables(report: dict[str, Any]) -> dict[str, Table]:
    """The tables of the report and what is written above them."""
    if "classes" not in report:
        return {
            "": estimates(report),
            "Reliability: tenths of the rows, by prediction": reliability_of_numbers(report),
            "Farthest from their prediction": suspicious(report),
        }
    labels = report["classes"]
    mistakes = "Confusion: labels down, predictions across" if len(labels) <= MOST_SHOWN else "Most frequent mistakes"
    of = repr(labels[1]) if len(labels) == 2 else "the prediction"
    return {
        "": estimates(report),
        mistakes: confusion(report) if len(labels) <= MOST_SHOWN else frequent_mistakes(report),
        f"Reliability: share of the votes for {of}": reliability_of_shares(report),
        "Most suspicious labels" if report["suspicious"] else "No suspicious label": suspicious(report),
    }


def plain_table(columns: Sequence[str], sides: str) -> Table:
    """A table without rows yet; the letters l and r say on which side the cells of each column stand."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for column, side in zip(columns, sides, strict=True):
        table.add_column(escape(column), justify="left" if side == "l" else "right", overflow="fold")
    return table


def side_of(value: Any) -> str:
    return "r" if isinstance(value, int | float) and not isinstance(value, bool) else "l"


def estimates(report: dict[str, Any]) -> Table:
    table = plain_table(["", "", "95% interval", ""], "lrrl")
    for key, name in NAMES.items():
        if key not in report:
            continue
        found = Estimate(*(report[key][k] for k in ("value", "low", "high")))
        note = ""
        if key == "accuracy":
            note = f"always {report['baseline']['class']!r}: {report['baseline']['accuracy']:.4f}"
        elif key == "log_loss":
            note = f"no share counted below {report[key]['floor']:g}"
        elif key == "auc" and len(report["classes"]) > 2:
            note = "mean over classes, each against the rest"
        table.add_row(name, number(found.value), f"{number(found.low)} to {number(found.high)}", escape(note))
    return table


def number(value: float) -> str:
    """Four decimals of what is about 1, otherwise five digits."""
    return f"{value:.4f}" if 0.001 <= abs(value) < 10 or value == 0 else f"{value:#.5g}".removesuffix(".")


def confusion(report: dict[str, Any]) -> Table:
    labels, counts = report["classes"], np.array(report["confusion"])
    table = plain_table(["", *labels, "right"], f"l{'r' * len(labels)}r")
    for k, label in enumerate(labels):
        right = counts[k, k] / counts[k].sum()
        table.add_row(escape(label), *(f"{count:,}" for count in counts[k]), f"{right:.1%}")
    return table


def frequent_mistakes(report: dict[str, Any]) -> Table:
    labels, counts = report["classes"], np.array(report["confusion"])
    table = plain_table(["label", "prediction", "rows", "of the label"], "llrr")
    wrong = counts * (1 - np.eye(len(labels), dtype=int))
    for at in np.argsort(-wrong, axis=None, kind="stable")[:10]:
        true, predicted = divmod(int(at), len(labels))
        if wrong[true, predicted]:
            share = wrong[true, predicted] / counts[true].sum()
            rows = f"{wrong[true, predicted]:,}"
            table.add_row(escape(labels[true]), escape(labels[predicted]), rows, f"{share:.1%}")
    return table


def reliability_of_numbers(report: dict[str, Any]) -> Table:
    table = plain_table(["predicted", "rows", "mean", "observed"], "lrrr")
    for part in report["reliability"]:
        between = f"{number(part['from'])} to {number(part['to'])}"
        table.add_row(between, f"{part['rows']:,}", number(part["predicted"]), number(part["observed"]))
    return table


def reliability_of_shares(report: dict[str, Any]) -> Table:
    table = plain_table(["between", "rows", "mean share", "observed", ""], "lrrrl")
    for part in report["reliability"]:
        bar = "#" * round(20 * part["observed"])
        cells = f"{part['from']:.1f} and {part['to']:.1f}", f"{part['rows']:,}"
        table.add_row(*cells, f"{part['predicted']:.3f}", f"{part['observed']:.3f}", bar)
    return table


def suspicious(report: dict[str, Any]) -> Table:
    first: dict[str, Any] = next(iter(report["suspicious"]), {})
    titles = [{"errors": "typical errors"}.get(name, name.replace("_", " ")) for name in first]
    table = plain_table(titles, "".join(map(side_of, first.values())))
    for row in report["suspicious"]:
        table.add_row(*(escape(say_cell(name, row[name])) for name in first))
    return table


def say_cell(name: str, value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.2f}" if name.startswith("p_") else f"{value:+.1f}" if name == "errors" else number(value)
    return f"{value:,}" if name == "row" else str(value)
