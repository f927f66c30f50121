"""``lazyforest predict``: fit, then predict chunk by chunk."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import polars as pl

from lazyforest.cli.failures import Failure, plural
from lazyforest.cli.options import DataOptions, ForestOptions, OutputOptions, TerminalOptions
from lazyforest.cli.session import make_forest, open_file, prepared, read_table
from lazyforest.cli.tables import Rows, Training, say_class
from lazyforest.cli.terminal import announced_compilation, teller, waiting
from lazyforest.cli.writing import Destination, find_destination, opened

PREDICTION = "prediction"


def predict_files(
    train: str,
    new: str,
    data: DataOptions,
    output: OutputOptions,
    chunk_rows: int | None,
    options: ForestOptions,
    terminal: TerminalOptions,
) -> None:
    started = time.perf_counter()
    with prepared(terminal, train, new) as scratch:
        to = find_destination(output)
        training = read_table(train, data, scratch)
        rows = Rows(open_file(new, data, scratch), training, data.null, data.ids)
        forest = make_forest(options, training)
        done = predict_file(forest, rows, to, chunk_rows)
    teller.say(f"{plural(done, 'prediction')} in {time.perf_counter() - started:.1f} s: {to.name}", style="green")


def prediction_columns(training: Training) -> list[str]:
    return [PREDICTION, *(f"p_{say_class(label)}" for label in training.classes)]


def refuse_same_names(training: Training, there: list[str], where: str) -> None:
    for name in prediction_columns(training):
        if name in there:
            raise Failure(f"{where} already has a column {name!r}, which predictions are to be named. Rename it first.")


def prediction_frame(explored: Any, names: list[str]) -> pl.DataFrame:
    """The columns that are added to the rows."""
    columns = [pl.Series(names[0], explored.prediction)]
    if explored.proba is not None:
        columns += [pl.Series(name, explored.proba[:, k]) for k, name in enumerate(names[1:])]
    return pl.DataFrame(columns)


def predict_file(forest: Any, rows: Rows, to: Destination, chunk_rows: int | None) -> int:
    """Predict all rows of NEW; returns how many."""
    from lazyforest.progress import Progress

    training, per_chunk = rows.training, rows.rows_per_chunk(chunk_rows)
    refuse_same_names(training, rows.source.columns, rows.source.name)
    with waiting(f"reading {rows.source.name}"):
        total = rows.source.count()
    if total == 0:
        raise Failure(f"{rows.source.name} has column names but no rows.")
    say_rows(rows, total, per_chunk, forest.algorithm)
    done = 0
    with opened(to) as writer, announced_compilation():
        forest.fit(training.X, training.y)
        with Progress(total, "rows", teller.shows_progress and total > per_chunk) as progress:
            for frame in predicted_chunks(forest, rows, to, per_chunk, progress):
                writer.write(frame)
                done += frame.height
    return done


def predicted_chunks(forest: Any, rows: Rows, to: Destination, per_chunk: int, progress: Any) -> Iterator[pl.DataFrame]:
    names = prediction_columns(rows.training)
    with waiting(f"reading {rows.source.name}"):
        types = rows.own_types(per_chunk) if to.keeps_types else {}
    for cells, X in rows.chunks(per_chunk):
        if X.height == 0:
            continue
        progress.part = X.height
        yield rows.with_own_types(cells, types).hstack(prediction_frame(forest.explore(X), names))


def say_rows(rows: Rows, total: int, per_chunk: int, algorithm: str) -> None:
    teller.say(f"{rows.source.name}: {plural(total, 'row')} to predict")
    extra = rows.carried
    if extra:
        shown = ", ".join(repr(name) for name in extra[:6]) + (
            f" and {len(extra) - 6:,} more" if len(extra) > 6 else ""
        )
        teller.say(f"carried along, not used: {shown}")
    if total > per_chunk:
        chunks = -(-total // per_chunk)
        advice = "" if algorithm == "eager" else "; --algorithm eager grows the trees once for all of them"
        teller.say(f"in {chunks:,} chunks of {per_chunk:,} rows, to bound memory{advice}")
