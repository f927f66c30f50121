"""``lazyforest loo`` and ``lazyforest cv``: every row predicted by a forest that has not seen it, and a report."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from lazyforest.cli.failures import Failure, Misuse
from lazyforest.cli.options import DataOptions, ForestOptions, OutputOptions, ReportOptions, TerminalOptions
from lazyforest.cli.predicting import prediction_columns, prediction_frame, refuse_same_names
from lazyforest.cli.session import make_forest, prepared, read_table
from lazyforest.cli.tables import Training, columns_named
from lazyforest.cli.terminal import announced_compilation, teller
from lazyforest.cli.writing import Destination, find_destination, opened
from lazyforest.engine.layout import Array

FOLD = "fold"


class Folds(NamedTuple):
    """How rows are held out; ``number`` None is one by one."""

    number: int | None = None
    group: str | None = None


def evaluate_file(
    train: str,
    folds: Folds,
    data: DataOptions,
    output: OutputOptions,
    wanted: ReportOptions,
    options: ForestOptions,
    terminal: TerminalOptions,
) -> None:
    check_flags(folds, data, output, wanted)
    started = time.perf_counter()
    with prepared(terminal, train) as scratch:
        to = find_destination(output) if output.output is not None else None
        training = read_table(train, data if folds.group is None else data.with_id(folds.group), scratch)
        columns_named(data.ids, training.frame.columns, train, "--id")
        if to is not None:
            refuse_same_names(training, [*training.frame.columns, *([] if folds.number is None else [FOLD])], train)
        forest = make_forest(options, training)
        own, groups = assign_folds(training, folds, options.random_state)
        explored = hold_out(forest, training, own)
        if to is not None:
            write_rows(training, explored, own, to)
    facts = {
        "command": "loo" if folds.number is None else "cv",
        "train": train,
        "folds": None if own is None else int(own.max()) + 1,
        "group": folds.group,
        "trees": options.n_estimators,
        "seed": options.random_state,
        "seconds": round(time.perf_counter() - started, 3),
    }
    show(facts, training, explored, groups, wanted, to)


def check_flags(folds: Folds, data: DataOptions, output: OutputOptions, wanted: ReportOptions) -> None:
    """What can already be known to mean nothing."""
    if wanted.json and str(output.output) == "-":
        raise Misuse("--json and -o - both want standard output. Name a file with -o.")
    if output.format is not None and output.output is None:
        raise Misuse(
            f"--format {output.format} is that of the rows, and no -o says where they go. Name a file with -o."
        )
    if folds.group == data.target:
        raise Misuse(f"--group {folds.group} is the target as well. Name another column.")


def assign_folds(training: Training, folds: Folds, seed: int) -> tuple[Array | None, Array | None]:
    """The fold of each row (None: its own) and the number of its group, if there are groups."""
    from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold

    groups = None if folds.group is None else group_numbers(training, folds.group)
    if folds.number is None:
        return None, groups
    y = training.y
    least = len(y) if groups is None else int(groups.max()) + 1
    if not 2 <= folds.number <= least:
        what = "rows" if groups is None else "groups"
        raise Failure(f"--folds must be from 2 to {least:,}, the number of {what}. Got {folds.number:,}.")
    shuffled: dict[str, Any] = {"n_splits": folds.number, "shuffle": True, "random_state": seed % 2**32}
    rare = not training.regression and int(np.unique(y, return_counts=True)[1].max()) < folds.number
    if training.regression or rare:  # each class needs as many rows as there are folds to be spread over them
        splitter: Any = KFold(**shuffled) if groups is None else GroupKFold(**shuffled)
    else:
        splitter = StratifiedKFold(**shuffled) if groups is None else StratifiedGroupKFold(**shuffled)
    own = np.empty(len(y), dtype=np.int64)
    for number, (_, test) in enumerate(splitter.split(np.zeros(len(y)), y, groups)):
        own[test] = number
    return own, groups


def group_numbers(training: Training, name: str) -> Array:
    columns_named([name], training.frame.columns, training.source.name, "--group")
    column = training.frame[name].gather(training.known)
    if column.null_count():
        row = training.known[int(column.is_null().arg_max() or 0)]
        raise Failure(f"{training.source.place(row)}: column {name!r} is empty. Every row needs a group.")
    return (column.rank("dense") - 1).cast(pl.Int64).to_numpy()


def hold_out(forest: Any, training: Training, own: Array | None) -> Any:
    """Each row's exploration by the forest of the rows outside its fold."""
    from sklearn.model_selection import PredefinedSplit

    from lazyforest import cross_val_predict, leave_one_out

    with announced_compilation():
        if own is None:
            return leave_one_out(forest, training.X, training.y, method="explore")
        return cross_val_predict(forest, training.X, training.y, cv=PredefinedSplit(own), method="explore")


def write_rows(training: Training, explored: Any, own: Array | None, to: Destination) -> None:
    """TRAIN's rows with the predictions of forests that do not know them; rows without a target have none."""
    found = prediction_frame(explored, prediction_columns(training))
    if own is not None:
        found = found.with_columns(pl.Series(FOLD, own + 1))
    rows = training.frame if to.keeps_types else training.cells
    numbered = found.with_columns(training.known.alias("").cast(pl.UInt32))
    aligned = pl.DataFrame({"": pl.int_range(rows.height, dtype=pl.UInt32, eager=True)}).join(
        numbered, on="", how="left", maintain_order="left"
    )
    with opened(to) as writer:
        writer.write(rows.hstack(aligned.drop("")))


def show(
    facts: dict[str, Any],
    training: Training,
    explored: Any,
    groups: Array | None,
    wanted: ReportOptions,
    to: Destination | None,
) -> None:
    from lazyforest.cli.report import judge, print_json, print_report

    report = facts | judge(training, explored, groups, wanted.suspects, facts["trees"])
    if wanted.json:
        print_json(report)
    else:
        print_report(report, stderr=to is not None and to.path is None)
    if to is not None and to.path is not None:
        teller.say(f"predictions of all rows: {to.name}", style="green")
