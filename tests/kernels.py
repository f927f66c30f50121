"""Compile every version of the two large kernels that the tests use, each once, before the tests start.

A version belongs to the types of codes, targets and weights; two classes by entropy have their own. Without this, both
workers of the tests compile the same ones side by side: half of the time of the tests. ``make test`` runs it; without
it they pass too.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np

from lazyforest import LazyForestClassifier, LazyForestRegressor, leave_one_out

ROWS = 12
X, Y = np.arange(2.0 * ROWS).reshape(ROWS, 2), np.arange(ROWS) % 2
HALVES = np.where(np.arange(ROWS) < 5, 0.5, 1.5)
MANY = np.arange(70_000.0)[:, None]  # more values than two bytes tell apart


def leave_out_classes() -> None:
    leave_one_out(LazyForestClassifier(1), X, Y)


def leave_out_by_gini() -> None:
    leave_one_out(LazyForestClassifier(1, criterion="gini"), X, Y)


def leave_out_weighted() -> None:
    leave_one_out(LazyForestClassifier(1), X, Y, sample_weight=HALVES)


def leave_out_numbers() -> None:
    leave_one_out(LazyForestRegressor(1), X, X[:, 0], method="predict")


def classes() -> None:
    LazyForestClassifier(1).fit(X, Y).predict(X)


def by_gini() -> None:
    LazyForestClassifier(1, criterion="gini").fit(X, Y).predict(X)


def weighted() -> None:
    LazyForestClassifier(1).fit(X, Y, sample_weight=HALVES).predict(X)


def numbers() -> None:
    LazyForestRegressor(1).fit(X, X[:, 0]).predict(X)


def many_values() -> None:
    LazyForestClassifier(1).fit(MANY, np.arange(len(MANY)) % 2).predict(MANY[:1])


def many_values_by_gini() -> None:
    LazyForestClassifier(1, criterion="gini").fit(MANY, np.arange(len(MANY)) % 2).predict(MANY[:1])


# A kernel's versions are compiled by one process, one after the other: if two ended at the same moment, numba might
# note the machine code of one as that of the other.
BY_KERNEL: list[list[Callable[[], None]]] = [
    [leave_out_classes, leave_out_by_gini, leave_out_weighted, leave_out_numbers],
    [classes, by_gini, weighted, numbers, many_values, many_values_by_gini],
]


def compile_versions(jobs: list[Callable[[], None]]) -> None:
    for job in jobs:
        job()


def main() -> None:
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        for done in [pool.submit(compile_versions, jobs) for jobs in BY_KERNEL]:
            done.result()


if __name__ == "__main__":
    main()
