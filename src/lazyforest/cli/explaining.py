"""``lazyforest explain``: why a row was predicted as it was."""

from __future__ import annotations

import io
import textwrap
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
from rich.console import Console
from rich.markup import escape

from lazyforest.cli.failures import Failure, Misuse, plural
from lazyforest.cli.options import DataOptions, ExplainOptions, ForestOptions, TerminalOptions
from lazyforest.cli.report import number, plain_table, print_json, side_of
from lazyforest.cli.session import make_forest, open_file, prepared, read_table
from lazyforest.cli.tables import Rows, Training, say_class
from lazyforest.cli.terminal import announced_compilation, new_console, teller, waiting
from lazyforest.cli.writing import check_file, write_bytes
from lazyforest.exploration import Path as TreePath
from lazyforest.exploration import Step, rounded
from lazyforest.plots import plot_exploration, say_vote

PICTURES = (".png", ".svg", ".pdf")
COLUMNS_SHOWN, COLUMNS_BESIDE = 12, 3


class Question(NamedTuple):
    """Rows of NEW, counted from 1, and their columns to predict from."""

    training: Training
    rows: Rows
    numbers: tuple[int, ...]
    X: pl.DataFrame


def explain_file(
    train: str, new: str, data: DataOptions, wanted: ExplainOptions, options: ForestOptions, terminal: TerminalOptions
) -> None:
    plot = check_plot(wanted)
    with prepared(terminal, train, new) as scratch:
        training = read_table(train, data, scratch)
        rows = Rows(open_file(new, data, scratch), training, data.null, data.ids)
        asked = Question(training, rows, wanted.row, pick_rows(rows, wanted.row))
        forest = make_forest(options, training)
        with announced_compilation():
            forest.fit(training.X, training.y)
            explored = forest.explore(asked.X)
            with waiting("following the row through the trees"):
                reasons = [explain_row(forest, explored, asked, k, wanted.neighbours) for k in range(asked.X.height)]
            if plot is not None:
                draw(forest, asked, plot, wanted)
    if wanted.json:
        print_json(reasons)
    else:
        for reason in reasons:
            print_reason(reason)


def check_plot(wanted: ExplainOptions) -> Path | None:
    path = wanted.plot
    if path is None:
        return None
    if path.suffix.lower() not in PICTURES:
        raise Misuse(f"--plot must end in {', '.join(PICTURES)}. Got {str(path)!r}.")
    check_file(path, wanted.force, "--plot")
    return path


def pick_rows(rows: Rows, numbers: tuple[int, ...]) -> pl.DataFrame:
    """The rows of these numbers, in this order; reads no further than it must."""
    wanted = [n - 1 for n in numbers]
    if min(wanted) < 0:
        raise Misuse(f"--row counts from 1. Got {min(numbers)}.")
    found: dict[int, pl.DataFrame] = {}
    first = 0
    for _, X in rows.chunks(rows.rows_per_chunk(None)):
        found |= {at: X[at - first] for at in wanted if first <= at < first + X.height}
        first += X.height
        if len(found) == len(set(wanted)):
            return pl.concat([found[at] for at in wanted])
    raise Failure(f"{rows.source.name} has {first:,} rows. Got --row {max(numbers):,}.")


# Reasons -----------------------------------------------------------------------------------------------


def explain_row(forest: Any, explored: Any, asked: Question, k: int, neighbours: int) -> dict[str, Any]:
    """Everything that is said about a row, as plain numbers, lists and text."""
    from lazyforest.trees import shared_leaves

    paths = explored.paths(k)
    prediction = explored.prediction[k : k + 1].tolist()[0]
    columns = column_reasons(paths, asked.X[k].row(0, named=True))
    typical = typical_path(paths, prediction)
    shared = shared_leaves(forest, asked.X[k])[0]
    shares = [] if explored.proba is None else explored.proba[k].tolist()
    return {
        "row": asked.numbers[k],
        "file": asked.rows.source.name,
        "target": asked.training.target,
        "trees": len(paths),
        "prediction": prediction if asked.training.regression else say_class(prediction),
        "shares": dict(zip(map(say_class, asked.training.classes), shares, strict=True)),
        "columns": columns,
        "typical_path": {
            "tree": typical.tree,
            "steps": [{"text": step.text, "rows": step.rows} for step in typical.steps],
            "vote": typical.vote,
        },
        "neighbours": nearest_rows(asked.training, shared, neighbours, [c["column"] for c in columns]),
    }


def column_reasons(paths: list[TreePath], values: dict[str, Any]) -> list[dict[str, Any]]:
    """For each column that a tree asked about: in how many trees, in how many first, and what was found."""
    by_column: dict[str, list[tuple[int, Step]]] = {}
    for path in paths:
        for step in path.steps:
            by_column.setdefault(step.column, []).append((path.tree, step))
    first = Counter(path.steps[0].column for path in paths if path.steps)
    reasons = [
        {
            "column": name,
            "value": values[name],
            "trees": len({tree for tree, _ in steps}),
            "first": first[name],
            "conditions": summarise([step for _, step in steps]),
        }
        for name, steps in by_column.items()
    ]
    return sorted(reasons, key=lambda reason: (-reason["trees"], -reason["first"], reason["column"]))


def summarise(steps: list[Step]) -> list[dict[str, Any]]:
    """Thresholds on the same side become a range; sets are counted one by one."""
    sides: dict[str, list[Step]] = {}
    for step in steps:
        ranged = step.threshold == step.threshold and step.condition[0] in "<>"
        sides.setdefault(step.condition.split()[0] if ranged else step.condition, []).append(step)
    found = []
    for side, some in sides.items():
        ordered = sorted(some, key=lambda step: step.threshold)
        ends = [step.condition.removeprefix(side).strip() for step in (ordered[0], ordered[-1])]
        text = side if not ends[0] else f"{side} {ends[0]}" + (f" to {ends[1]}" if ends[0] != ends[1] else "")
        found.append({"condition": text, "times": len(some)})
    return sorted(found, key=lambda one: -one["times"])


def typical_path(paths: list[TreePath], prediction: Any) -> TreePath:
    """Of the trees that voted as the forest did, the one whose steps are most like those of all trees.

    Two steps are alike if they ask about the same column and go to the same side; two paths, by the share of their
    steps that they have in common.
    """
    kinds = [{(step.column, step.condition.split()[0]) for step in path.steps} for path in paths]

    def likeness(at: int) -> float:
        return sum(len(kinds[at] & other) / max(len(kinds[at] | other), 1) for other in kinds)

    agreeing = [at for at, path in enumerate(paths) if voted_for(path.vote) == prediction]
    return paths[max(agreeing or range(len(paths)), key=likeness)]


def voted_for(vote: Any) -> Any:
    return max(vote, key=lambda label: vote[label]) if isinstance(vote, dict) else vote


def nearest_rows(training: Training, shared: Any, count: int, deciding: list[str]) -> list[dict[str, Any]]:
    """Training rows that fall into the row's leaf in most trees."""
    order = sorted(range(len(shared)), key=lambda r: (-shared[r], r))[:count]
    beside = [*training.ids, training.target, *deciding[:COLUMNS_BESIDE]]
    found = []
    for r in order:
        row = int(training.known[r])
        values = {name: training.frame[name][row] for name in beside}
        found.append({"row": row + 1, "trees": int(shared[r]), "values": values})
    return found


# For people --------------------------------------------------------------------------------------------


def print_reason(reason: dict[str, Any]) -> None:
    console = new_console()
    shares = sorted(reason["shares"].items(), key=lambda one: -one[1])[:4]
    prediction = reason["prediction"]
    said = number(prediction) if isinstance(prediction, float) else str(prediction)
    votes = ", ".join(f"{label} {share:.2f}" for label, share in shares)
    how = f"votes of {reason['trees']:,} trees: {votes}" if votes else f"the mean of {reason['trees']:,} trees"
    console.print(f"\n[bold]Row {reason['row']:,} of {escape(reason['file'])}: {escape(said)}[/bold]")
    console.print(escape(how))
    console.print("\n[bold]What decided[/bold]: columns that the trees asked this row about")
    table = plain_table(["column", "value", "trees", "first in", "conditions met (times)"], "llrrl")
    for one in reason["columns"][:COLUMNS_SHOWN]:
        text = say_conditions(one["conditions"])
        cells = [one["column"], say_value(one["value"]), str(one["trees"]), str(one["first"] or ""), text]
        table.add_row(*map(escape, cells))
    console.print(table)
    if len(reason["columns"]) > COLUMNS_SHOWN:
        console.print(f"and {len(reason['columns']) - COLUMNS_SHOWN} others, in fewer trees")
    print_path(console, reason)
    print_neighbours(console, reason)


def say_conditions(conditions: list[dict[str, Any]]) -> str:
    """Ranges as they are; of sets, the most frequent one and how many others."""
    ranges = [one for one in conditions if one["condition"][0] in "<>"]
    sets = [one for one in conditions if one["condition"][0] not in "<>"]
    lines = [f"{rounded(one['condition'])} ({one['times']})" for one in ranges]
    if sets:
        words = textwrap.shorten(sets[0]["condition"], 60, placeholder=" ...", break_on_hyphens=False)
        lines.append(f"{words} ({sets[0]['times']})")
    if len(sets) > 1:
        lines.append(f"{plural(len(sets) - 1, 'other set')} ({sum(one['times'] for one in sets[1:])})")
    return "\n".join(lines)


def print_path(console: Console, reason: dict[str, Any]) -> None:
    path = reason["typical_path"]
    console.print(f"\n[bold]The most typical path[/bold]: tree {path['tree']}, the one most like all others")
    for step in path["steps"]:
        text = f"{rounded(step['text'])}  ({plural(step['rows'], 'row')} left)"
        lines = textwrap.wrap(
            text, console.width, initial_indent="  ", subsequent_indent="      ", break_on_hyphens=False
        )
        console.print(escape("\n".join(lines)))
    console.print(f"  votes {escape(say_vote(path['vote']))}")


def print_neighbours(console: Console, reason: dict[str, Any]) -> None:
    if not reason["neighbours"]:
        return
    first = reason["neighbours"][0]["values"]
    console.print("\n[bold]Nearest training rows[/bold]: in the same leaf in so many trees")
    table = plain_table(["row", "trees", *first], "rr" + "".join(map(side_of, first.values())))
    for one in reason["neighbours"]:
        cells = [f"{one['row']:,}", str(one["trees"]), *(say_value(one["values"][name]) for name in first)]
        table.add_row(*map(escape, cells))
    console.print(table)


def say_value(value: Any) -> str:
    return "(missing)" if value is None or value != value else f"{value:g}" if isinstance(value, float) else str(value)


def draw(forest: Any, asked: Question, path: Path, wanted: ExplainOptions) -> None:
    trees = range(min(wanted.plot_trees, forest.n_estimators))
    with waiting(f"drawing {path}"):
        figure = plot_exploration(forest, asked.X, trees, [f"row {n}" for n in asked.numbers])
        content = io.BytesIO()
        figure.savefig(content, format=path.suffix[1:].lower(), dpi=150)
    write_bytes(path, content.getvalue(), wanted.force)
    teller.say(f"picture of {plural(len(trees), 'tree')}: {path}", style="green")
