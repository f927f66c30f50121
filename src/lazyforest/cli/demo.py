"""``lazyforest demo``: the breast cancer data that scikit-learn ships; three algorithms, one answer, three prices."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer

from lazyforest import Exploration, LazyForestClassifier
from lazyforest.engine.layout import Array

ALGORITHMS = {"eager": "eager", "lazy": "lazy", "batched": "batched lazy"}
QUERIES = 5


def ask(algorithm: str, X: Array, y: Array, queries: Array) -> tuple[Exploration, float]:
    """Fit and explore; eager does its work in fit, the others when asked."""
    started = time.process_time()  # user and system, as in the paper
    forest = LazyForestClassifier(algorithm=algorithm, random_state=0).fit(X, y)
    explored = forest.explore(queries)
    return explored, 1000 * (time.process_time() - started)


def show(title: str, results: dict[str, Any]) -> None:
    print(f"\n{title}\n{'':14}{'nodes opened':>14}{'rows scanned':>14}{'CPU ms':>10}")
    for algorithm, (explored, milliseconds) in results.items():
        costs = f"{explored.nodes_explored:>14,}{explored.rows_scanned:>14,}{milliseconds:>10,.1f}"
        print(f"{ALGORITHMS[algorithm]:14}{costs}")


def show_demo() -> None:
    table = load_breast_cancer()
    shuffled = np.random.default_rng(0).permutation(len(table.data))
    X, y = table.data[shuffled], table.target_names[table.target[shuffled]]
    print(f"Breast cancer: {X.shape[0]} rows, {X.shape[1]} columns. 100 trees.")
    for algorithm in ALGORITHMS:
        ask(algorithm, X, y, X[:1])

    few, rest = slice(0, QUERIES), slice(QUERIES, None)
    results = {algorithm: ask(algorithm, X[rest], y[rest], X[few]) for algorithm in ALGORITHMS}
    show(f"{QUERIES} unlabeled rows, {len(X) - QUERIES} training rows", results)
    votes = [explored.votes for explored, _ in results.values()]
    assert all((votes[0] == other).all() for other in votes)
    print(f"\nAll three cast the same votes: {', '.join(results['batched'][0].prediction)} (true: {', '.join(y[few])})")

    one = {algorithm: ask(algorithm, X[1:], y[1:], X[:1]) for algorithm in ALGORITHMS}
    show("Leave one row out, CPU time per row (the paper's Table 2)", one)
    ratio = one["eager"][1] / one["batched"][1]
    print(f"\nEager against batched lazy: {ratio:.1f} times the CPU time. The paper has 1.5 for this table.")
