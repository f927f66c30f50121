"""The engine is the reference, bit for bit: votes, nodes and their order, rows scanned, words of memory."""

import numba
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from helpers import (
    COMPILED,
    assert_engine_equals_reference,
    cases,
    encoded,
    examples,
    kept_columns,
    random_forest,
    random_table,
    rules_of,
    target_of,
)
from lazyforest import kept, reference
from lazyforest.engine import lane_layout
from lazyforest.engine.bins import search_cuts, search_opened
from lazyforest.engine.exploration import explore_recording, explore_silently, explore_trees, new_room, new_task
from lazyforest.engine.layout import BINS, BLOCK, CODES, HISTOGRAM_COLUMNS
from lazyforest.engine.nodes import NUMBER, Best, Node
from lazyforest.engine.record import LEFT, NONE, RIGHT, ROWS, new_record
from lazyforest.runner import Forest, count_side_by_side, explore_some

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


def test_bags_that_are_too_heavy(short_table):
    """Two classes by entropy, but the general way has to answer for some of the trees."""
    rng = np.random.default_rng(0)
    X, trees = rng.integers(0, 30, (BLOCK + 40, 3)).astype(float), 4
    X[rng.random(X.shape) < 0.1] = np.nan
    T, S = reference.table(X, (X[:, 0] > 12) ^ (rng.random(len(X)) < 0.2), 2), X[:3]
    forest = reference.Settings(n_estimators=trees)
    assert_engine_equals_reference(T, S, forest)
    table, queries = encoded(T, S)
    task = new_task(table, target_of(T), rules_of(forest, "batched", 3), queries, np.arange(3))
    votes, record = np.zeros((3, 2), dtype=np.int64), new_record(2)
    explore_silently(task, range(trees), votes)
    assert votes.tolist() == reference.batched_lazy_forest(T, S, forest).votes.tolist()
    assert {explore_trees(*task, k, k + 1, 0, votes, record) - k for k in range(trees)} == {0, 1}


@pytest.mark.skipif(not COMPILED, reason="about what is compiled")
def test_two_classes_do_without_the_general_kernels():
    X = np.arange(8.0)[:, None]
    T, before = reference.table(X, np.arange(8) % 2, 2), search_opened.signatures
    task = new_task(encoded(T, X)[0], target_of(T), rules_of(reference.Settings(), "batched", 1), X, np.arange(1))
    assert task.criterion is None
    node = Node(task.bag.rows, 0, 8, task.bag.total, 8, 0, 0.0, True, np.uint64(0))
    best = Best(0.0, -1, 0, 0, False, False, NUMBER)
    given = node, task.table, task.search, task.criterion, 0, 0, 1, best
    search_cuts.compile(tuple(numba.typeof(value) for value in given))
    assert search_opened.signatures == before


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


def explore_one_query(T, S, forest, algorithm, way, code_dtype):
    """Votes and costs: tree by tree; side by side with a table of ranks, or bins of numbers as they came; in a team."""
    columns_kept, X = kept_columns(T, S)
    if "bins" not in way:
        table = columns_kept.table
        columns_kept = kept.Kept.ranked(table._replace(codes=table.codes.astype(code_dtype)))
    rules, columns = rules_of(forest, algorithm, S.shape[1]), np.arange(S.shape[1])
    whole = Forest(columns_kept, target_of(T), rules, forest.n_estimators, False)
    trees = range(forest.n_estimators)
    if way == "tree by tree":
        found = explore_some(whole, X, columns, trees[:1], slice(None))
        for tree in trees[1:]:
            more = explore_some(whole, X, columns, range(tree, tree + 1), slice(None))
            found = found._replace(votes=found.votes + more.votes, costs=found.costs.plus(more.costs))
    else:
        assert count_side_by_side(whole, 1, S.shape[1]) >= forest.n_estimators
        found = explore_some(whole, X, columns, trees, slice(None), members=3 if "team" in way else 1)
        assert (columns_kept.numbers is None) == ("bins" not in way)
    return [*found.votes.ravel().tolist(), *found.costs[:3]]


@pytest.mark.parametrize("code_dtype", CODES)
def test_bootstraps_side_by_side(code_dtype, monkeypatch):
    """One query's path, in all trees at once and tree by tree: the same votes, nodes, rows scanned, words."""
    monkeypatch.setattr(lane_layout, "LEAST_ROWS", 0)
    monkeypatch.setattr(lane_layout, "DEALT", 9)
    went_down = 0
    for seed in range(120 if COMPILED else 3):
        rng = np.random.default_rng(seed)
        monkeypatch.setattr(lane_layout, "ROWS_PER_CELL", 1 + 63 * (seed % 2))  # joined, or few of them
        monkeypatch.setattr(lane_layout, "HISTOGRAM_COLUMNS", 2 + seed % 3)  # looked at together
        monkeypatch.setattr(kept, "ROWS_TO_BIN", 0)
        monkeypatch.setattr(lane_layout, "code_type", lambda _: np.dtype(code_dtype))
        shape = int(rng.integers(300, 1500 if COMPILED else 400)), int(rng.integers(1, 7)), 1
        T, S = random_table(rng, shape, [2, 40, 300, 5000], False, ["ones", "whole"])
        if np.nanmax(T.X, axis=0, initial=0)[T.categorical].max(initial=0) >= BINS:
            continue  # sets of that many categories go tree by tree
        T = T._replace(y=T.y % 2, n_classes=2)
        trees = 20 if seed % 10 < 9 else 40  # for a team of two, or of three
        forest = random_forest(rng, trees, False)._replace(
            criterion="entropy", max_features=None, min_weight_fraction_leaf=0.0, missing="route"
        )
        forest = forest._replace(bootstrap="poisson" if forest.bootstrap == "multinomial" else forest.bootstrap)
        for algorithm in ("lazy", "batched"):
            ways = ["side by side", "bins", ("team", "team, bins")[seed // 2 % 2]]
            if code_dtype == CODES[0]:  # tables of so few rows are never binned
                ways = ["side by side", "team"]
            alone, together, *others = (
                explore_one_query(T, S, forest, algorithm, way, code_dtype) for way in ["tree by tree", *ways]
            )
            assert together == alone, (seed, algorithm)
            assert others == [alone] * len(others), (seed, algorithm)
        went_down += alone[2] > 2 * forest.n_estimators
        if seed < 9:
            expected = reference.batched_lazy_forest(T, S, forest)
            assert together[:2] == expected.votes.ravel().tolist()
            assert together[3:5] == [expected.rows_scanned, expected.stack_words]
    assert went_down > seed / 4


def test_lanes_that_are_too_heavy(monkeypatch, request):
    """None of them goes down, and the general way answers."""
    monkeypatch.setattr(lane_layout, "LEAST_ROWS", 0)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    T = reference.table(X, (X[:, 0] > 0) ^ (rng.random(len(X)) < 0.2), 2)
    given = T, X[:1], reference.Settings(n_estimators=20), "batched"
    expected = explore_one_query(*given, "side by side", CODES[0])
    request.getfixturevalue("short_table")
    assert explore_one_query(*given, "side by side", CODES[0]) == expected
