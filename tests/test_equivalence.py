"""The engine is the reference, bit for bit: votes, nodes and their order, rows scanned, words of memory."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from helpers import assert_engine_equals_reference, cases, encoded, examples, random_forest, rules_of, target_of
from lazyforest import reference
from lazyforest.engine.exploration import explore_recording, new_room, new_task
from lazyforest.engine.layout import BLOCK, CODES, HISTOGRAM_COLUMNS
from lazyforest.engine.record import LEFT, NONE, RIGHT, ROWS

SMALL = {"rows": [(1, 3), (4, 40), (20, 40)], "columns": (1, 6), "distinct": [1, 2, 3, 8, 1000], "most_trees": 3}
LARGE = {"rows": [(BLOCK + 24, 600)], "columns": (1, 3), "distinct": [2, 40, 300, 5000], "most_trees": 1}


def compare(n, regression, code_dtype=None, **shapes):
    @settings(max_examples=examples(n), suppress_health_check=[HealthCheck.too_slow])
    @given(cases(regression, **shapes))
    def check(case):
        assert_engine_equals_reference(*case, code_dtype)

    check()


@pytest.mark.parametrize(("regression", "n"), [(False, 800), (True, 300)])
def test_small_tables(regression, n):
    compare(n, regression, **SMALL)


@pytest.mark.parametrize(("regression", "n"), [(False, 150), (True, 80)])
def test_tables_with_histograms(regression, n):
    """Nodes of more than BLOCK rows, with fewer and with more values than bins."""
    compare(n, regression, **LARGE)


def test_codes_of_four_bytes():
    """What a table of 65,535 rows or more would have."""
    compare(60, False, **SMALL, weights=["ones"], code_dtype=CODES[1])


def test_more_columns_than_a_histogram_pass():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 5, (BLOCK + 50, HISTOGRAM_COLUMNS + 3)).astype(float)
    y = (X[:, -1] + X[:, -2] > 4) ^ (rng.random(len(X)) < 0.1)
    forest = reference.Settings(n_estimators=1, max_depth=3)
    assert_engine_equals_reference(reference.table(X, y, 2), X[:3], forest)
    assert_engine_equals_reference(reference.table(X, y, 2), X[:3], forest._replace(max_features=HISTOGRAM_COLUMNS + 1))


@pytest.mark.parametrize("seed", range(10))
def test_ties_between_cuts_inside_bins(seed):
    """Targets that read the same backwards: each cut ties with its mirror image and with the other column's, and
    one of them may lie inside a bin while the other lies between two.
    """
    rng = np.random.default_rng(seed)
    n = int(rng.integers(140, 300))
    half = (np.arange(n) < rng.integers(20, n)) ^ (rng.random(n) < 0.1)
    y = np.concatenate([half, half[::-1]])
    x = np.arange(len(y)) + 0.0
    T = reference.table(np.column_stack([x, -x]), y, 2)
    assert_engine_equals_reference(T, T.X[:2], reference.Settings(n_estimators=1, max_depth=2, bootstrap=False))


@pytest.mark.parametrize("seed", range(10))
def test_least_weight_inside_bins(seed):
    """The lightest side that is allowed may end inside a bin, whose edge is ruled out."""
    rng = np.random.default_rng(seed)
    x = np.arange(rng.integers(280, 600)) + 0.0
    y = rng.random(len(x)) < np.where(x < len(x) * 0.1, 0.3, 0.7)
    forest = reference.Settings(n_estimators=1, max_depth=1, min_weight_fraction_leaf=rng.uniform(0.1, 0.5))
    assert_engine_equals_reference(reference.table(x[:, None], y, 2), x[:2, None], forest)


@pytest.mark.parametrize("seed", range(5))
def test_children_partition_their_parent(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.integers(0, 50, (BLOCK + 100, 3)).astype(float), rng.integers(0, 3, BLOCK + 100)
    T, forest = reference.table(X, y, 3), random_forest(rng, 1, regression=False)._replace(max_depth=None)
    table, queries = encoded(T, X[:1])
    task = new_task(table, target_of(T), rules_of(forest, "eager", 3), queries, np.arange(3))
    record = explore_recording(task, 0, np.zeros((1, 3), dtype=np.int64), new_room())
    for node, held in zip(record.nodes, record.held, strict=True):
        if node[LEFT] != NONE:
            assert node[ROWS] == record.nodes[node[LEFT], ROWS] + record.nodes[node[RIGHT], ROWS]
            assert (held == record.held[node[LEFT]] + record.held[node[RIGHT]]).all()
