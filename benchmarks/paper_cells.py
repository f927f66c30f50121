"""What the paper measured, on one data set: CPU time and nodes by the number of folds, and words of memory.

`python -m benchmarks.paper_cells SPEC` is the process of its own in which memory is measured.
"""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.model_selection import LeaveOneOut, PredefinedSplit

from benchmarks.measure import ROOT, clock, run_split
from benchmarks.work import SEED, Array, few_rows, load_table, take, text_columns
from lazyforest import LazyForestClassifier, cross_val_predict

DT, L_DT, BL_DT, SHARED = "DT", "L-DT", "BL-DT", "shared folds"
LISTINGS = {DT: "eager", L_DT: "lazy", BL_DT: "batched"}
ALGORITHMS = (*LISTINGS, SHARED)
FEWEST_ROWS, DEEPEST = 5, 21  # the paper's c = 5 and d = 20: its listings stop below depth d
MEMORY_FOLDS = 10
REPEAT = 3
LARGE = 1_000  # rows: larger tables are not asked whole by the lazy tree
Cell = dict[str, Any]


@dataclass(frozen=True)
class Plan:
    """How much of the paper is measured."""

    bootstraps: int = 100
    folds: tuple[int, ...] = (2, 5, 10, 20, 40, 100)
    lazy_rows: int = 100  # of a large table: so many are asked by the lazy tree, and scaled
    single_rows: int = 10  # so many are left out one at a time, and scaled
    most_rows: int | None = None  # of a data set
    most_columns: int | None = None

    def quickly(self) -> Plan:
        few = {"bootstraps": 10, "lazy_rows": 40, "single_rows": 5, "most_rows": 600, "most_columns": 500}
        return dataclasses.replace(self, folds=(2, 10, 40), **few)


class Bench(NamedTuple):
    """A data set and the plan: numbers as a matrix, a table with text as a data frame."""

    name: str
    X: Any
    y: Array
    plan: Plan


def open_bench(name: str, folder: str | None, plan: Plan) -> Bench:
    frame, y = load_table(name, folder, plan.most_rows)
    frame = frame.iloc[:, : plan.most_columns]
    return Bench(name, frame if text_columns(frame) else frame.to_numpy(dtype=np.float64), y, plan)


def describe(bench: Bench) -> dict[str, Any]:
    """A line of Table 1. The class is one of the columns, as in the paper; the size is that of a CSV file."""
    rows, columns = bench.X.shape
    text = pd.DataFrame(bench.X).assign(**{"class": bench.y}).to_csv(index=False)
    return {"rows": rows, "columns": columns + 1, "kilobytes": round(len(text.encode()) / 1000)}


def deal(y: Array, n_folds: int) -> Array:
    """The fold of each row: stratified and shuffled with a fixed seed, for any number of folds up to the rows.

    Rows are dealt like cards, class after class. scikit-learn's StratifiedKFold refuses 100 folds of All, whose classes
    have 95 and 33 rows.
    """
    shuffled = np.random.default_rng(SEED).permutation(len(y))
    by_class = shuffled[np.argsort(y[shuffled], kind="stable")]
    folds = np.empty(len(y), dtype=np.int64)
    folds[by_class] = np.arange(len(y)) % n_folds
    return folds


# ---- time and nodes


def new_forest(plan: Plan, algorithm: str) -> LazyForestClassifier:
    """Hard votes and all columns are the defaults."""
    limits = {"max_depth": DEEPEST, "min_samples_split": FEWEST_ROWS}
    return LazyForestClassifier(plan.bootstraps, **limits, algorithm=algorithm, random_state=0, n_jobs=1)


def measure_folds(bench: Bench, n_folds: int) -> list[Cell]:
    """A cell per algorithm; as many folds as rows is leave-one-out. All must vote alike."""
    folds = deal(bench.y, n_folds)
    shared, votes = measure_shared(bench, folds)
    cells = [measure_listing(bench, algorithm, folds, votes) for algorithm in LISTINGS]
    return [{"data": bench.name, "folds": n_folds, **cell} for cell in [*cells, shared]]


def measure_shared(bench: Bench, folds: Array) -> tuple[Cell, Array]:
    forest = new_forest(bench.plan, LISTINGS[BL_DT])
    cv = LeaveOneOut() if folds.max() + 1 == len(folds) else PredefinedSplit(folds)  # the former writes out no fold
    with clock() as lap:
        found = cross_val_predict(forest, bench.X, bench.y, cv=cv, method="explore")
    return new_cell(SHARED, lap[0].cpu, None, found.nodes_explored, len(folds)), found.votes


def measure_listing(bench: Bench, algorithm: str, folds: Array, votes: Array) -> Cell:
    """Fit and predict fold by fold, each fold on its own table. What is not measured is scaled from what is."""
    fits, answers, nodes, asked, some = 0.0, 0.0, 0.0, 0, some_folds(bench, folds)
    for fold in some:
        train, test = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        query = some_rows(bench, algorithm, test, len(some))
        fit, answer, found = fit_and_explore(bench, algorithm, train, query)
        assert np.array_equal(found.votes, votes[query]), f"{algorithm} votes otherwise than {SHARED}"
        scale = len(test) / len(query)
        fits, answers = fits + fit, answers + answer * scale
        nodes, asked = nodes + found.nodes_explored * scale, asked + len(query)
    scale = float(folds.max() + 1) / len(some)
    return new_cell(algorithm, (fits + answers) * scale, fits * scale, nodes * scale, asked)


def fit_and_explore(bench: Bench, algorithm: str, train: Array, query: Array) -> tuple[float, float, Any]:
    """CPU seconds of both, and what was found. For one row, which is over soon, the best of several calls."""
    X, y, S = take(bench.X, train), bench.y[train], take(bench.X, query)
    best = np.inf, np.inf, None
    for _ in range(REPEAT if len(train) == len(bench.y) - 1 else 1):
        with clock() as fit:
            forest = new_forest(bench.plan, LISTINGS[algorithm]).fit(X, y, row_ids=train)
        with clock() as answer:
            found = forest.explore(S)
        best = min(best, (fit[0].cpu, answer[0].cpu, found), key=lambda call: call[0] + call[1])
    return best


def new_cell(algorithm: str, cpu: float, fit: float | None, nodes: float, asked: int) -> Cell:
    """``fit`` is the part of the CPU seconds that went into fits; a lazy fit does nothing but encode the table."""
    seconds = {"cpu": round(cpu, 6), "fit": fit and round(fit, 6)}
    return {"algorithm": algorithm, **seconds, "nodes": round(nodes), "asked": asked}


def some_folds(bench: Bench, folds: Array) -> Array:
    """All folds; some of them if each is a single row."""
    every = np.arange(folds.max() + 1)
    if len(every) < len(folds) or len(every) <= bench.plan.single_rows:
        return every
    return np.sort(np.random.default_rng(SEED).choice(every, bench.plan.single_rows, replace=False))


def some_rows(bench: Bench, algorithm: str, test: Array, n_folds: int) -> Array:
    """All rows of a fold; some of them where the lazy tree would take hours."""
    many = max(1, bench.plan.lazy_rows // n_folds)
    if algorithm != L_DT or len(bench.y) <= LARGE or len(test) <= many:
        return test
    return np.sort(np.random.default_rng(SEED).choice(test, many, replace=False))


def warm_up(bench: Bench) -> None:
    """Compile, or read what was compiled before, on a few rows."""
    few = few_rows(bench.y)
    plan = dataclasses.replace(bench.plan, bootstraps=2, single_rows=1)
    small = Bench(bench.name, take(bench.X, few), bench.y[few], plan)
    for n_folds in (2, len(few)):
        measure_folds(small, n_folds)


# ---- memory


class Listing:
    """One of the paper's listings as `run_split` wants it; the training rows stand in place of a forest."""

    def __init__(self, algorithm: str, plan: Plan) -> None:
        self.forest = new_forest(plan, LISTINGS[algorithm])

    def fit(self, X: Any, y: Array, rows: Array) -> Any:
        return self.forest.fit(X, y, row_ids=rows)

    def proba(self, forest: Any, X: Any) -> Any:
        return forest.explore(X)


def measure_memory(bench: Bench) -> list[Cell]:
    """One model of 10-fold: words by the paper's accounting, and the most bytes that were resident above the table."""
    folds = deal(bench.y, MEMORY_FOLDS)
    train, test = np.flatnonzero(folds != 0), np.flatnonzero(folds == 0)
    cells = []
    for algorithm in LISTINGS:
        query = some_rows(bench, algorithm, test, 1)
        system = Listing(algorithm, bench.plan)
        call = run_split(system, take(bench.X, train), bench.y[train], take(bench.X, query), train)
        found = call.probas[0]
        cells.append(
            {
                "data": bench.name,
                "algorithm": algorithm,
                "asked": len(query),
                "of": len(test),
                "stack_words": found.stack_words,
                "model_words": found.model_words,
                "nodes": found.nodes_explored,
                "peak_bytes": max(call.fit_extra, call.predict_extra),
            }
        )
    return cells


def measure_memory_apart(name: str, folder: str | None, plan: Plan) -> list[Cell]:
    """The same in a process of its own, which holds nothing else."""
    spec = json.dumps({"name": name, "folder": folder, "plan": dataclasses.asdict(plan)})
    command = [sys.executable, "-m", "benchmarks.paper_cells", spec]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ChildProcessError(f"Measuring the memory of {name} failed: {done.stderr.strip().splitlines()[-1:]}")
    return list(json.loads(done.stdout))


def main() -> None:
    spec = json.loads(sys.argv[1])
    bench = open_bench(spec["name"], spec["folder"], Plan(**spec["plan"]))
    warm_up(bench)
    print(json.dumps(measure_memory(bench)))


if __name__ == "__main__":
    main()
