"""Queries that may not look at their own fold: together, as if each fold had been answered alone."""

import numpy as np
import pytest

from helpers import COMPILED, kept_columns, random_forest, random_table, rules_of, target_of
from lazyforest import runner
from lazyforest.engine import subtraction
from lazyforest.engine.layout import BATCHED, BLOCK, EAGER, EVERY_ROW_ONCE, MULTINOMIAL, POISSON
from lazyforest.runner import Forest, explore_fold_by_fold, explore_shared

TREES = 3


def random_folds(rng, n):
    """Mostly single rows; rows of no fold are left out for nobody."""
    kind = rng.integers(5)
    folds = np.arange(n) if kind < 3 else rng.permutation(n) % int(rng.integers(2, 6))
    return np.where(rng.random(n) < rng.choice([0.0, 0.0, 0.2]), -1, folds)


def random_case(rng, n, regression, two_classes):
    """A forest, its rows as queries, folds. Single rows of two classes take a path of their own."""
    shape = n, int(rng.integers(1, 5)), 1
    distinct = [2, 3, 8, 30] if two_classes else [1, 2, 3, 8, 1000]
    T, _ = random_table(rng, shape, distinct, regression, ["ones", "whole"] if two_classes else ["ones", "fractional"])
    settings = random_forest(rng, TREES, regression)._replace(min_weight_fraction_leaf=0.0, missing="route")
    if two_classes:
        T, settings = T._replace(y=T.y % 2, n_classes=2), settings._replace(criterion="entropy", max_features=None)
    if settings.bootstrap == "multinomial":
        settings = settings._replace(bootstrap="poisson")
    kept, X = kept_columns(T, T.X)
    return Forest(kept, target_of(T), rules_of(settings, "batched", shape[1]), TREES, False), X, random_folds(rng, n)


def assert_folds_agree(forest, X, folds, own=None):
    own = folds if own is None else own
    together = explore_shared(forest, X, own, folds, 1, False)
    alone = explore_fold_by_fold(forest, X, own, folds, 1, False)
    assert together.votes.tolist() == alone.votes.tolist()
    assert together.costs.rows_scanned_by_refits == alone.costs.rows_scanned
    return together.costs


@pytest.mark.parametrize(
    ("regression", "two_classes", "n"), [(False, True, 150), (False, False, 60), (True, False, 40)]
)
def test_small_tables(regression, two_classes, n):
    forks = 0
    for seed in range(n if COMPILED else n // 6):
        rng = np.random.default_rng(seed)
        case = random_case(rng, int(rng.integers(2, 60)), regression, two_classes)
        forks += assert_folds_agree(*case).forks
    assert forks > 0


@pytest.mark.parametrize("two_classes", [True, False])
def test_tables_with_histograms(two_classes):
    """Groups of more than BLOCK rows."""
    for seed in range(20 if COMPILED else 1):
        rng = np.random.default_rng(100 + seed)
        n = int(rng.integers(2 * BLOCK, 6 * BLOCK)) if COMPILED else BLOCK + 60
        assert_folds_agree(*random_case(rng, n, False, two_classes))


@pytest.mark.parametrize("two_classes", [True, False])
@pytest.mark.parametrize(("lowest", "highest"), [(10, 60), (2 * BLOCK, 8 * BLOCK)])
def test_large_folds_are_subtracted_from_their_group(two_classes, lowest, highest, monkeypatch):
    """Folds of any size, some with queries but no rows; groups are kept to the end."""
    monkeypatch.setattr(subtraction, "LEAST_ROWS", 0)
    scanned, by_refits = 0, 0
    for seed in range(6000 // highest if COMPILED else max(120 // lowest, 1)):
        rng = np.random.default_rng(200 + seed)
        n = int(rng.integers(lowest, highest if COMPILED else lowest + 20))
        forest, X, _ = random_case(rng, n, False, two_classes)
        forest = forest._replace(rules=forest.rules._replace(max_features=X.shape[1]))
        n_folds = int(rng.integers(2, 41))
        folds = np.where(rng.random(n) < rng.choice([0.0, 0.0, 0.7]), 0, rng.integers(n_folds, size=n))
        folds = np.where(rng.random(n) < rng.choice([0.0, 0.0, 0.2]), -1, folds)
        own = folds if rng.random() < 0.5 else rng.integers(-1, n_folds + 2, n)
        assert subtraction.can_subtract(forest.table, forest.target, forest.rules)
        costs = assert_folds_agree(forest, X, folds, own)
        scanned, by_refits = scanned + costs.rows_scanned, by_refits + costs.rows_scanned_by_refits
    assert scanned < by_refits


def test_values_that_a_single_row_has():
    """All values differ: each cut lies between two rows, and goes elsewhere without them."""
    for seed in range(10 if COMPILED else 2):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(20, 90))
        X = rng.permuted(np.tile(np.arange(n) ** 2.0, (2, 1)), axis=1).T
        y = (X[:, 0] > X[:, 1]) ^ (rng.random(n) < 0.2)
        forest, queries = separable(X, y.astype(int), rng)
        assert_folds_agree(forest, queries, np.arange(n))


def separable(X, y, rng):
    from lazyforest import reference

    T = reference.table(X, y, 2)
    settings = reference.Settings(n_estimators=TREES, max_depth=None, min_samples_split=2, seed=int(rng.integers(99)))
    kept, queries = kept_columns(T, X)
    return Forest(kept, target_of(T), rules_of(settings, "batched", X.shape[1]), TREES, False), queries


def test_nodes_that_weigh_much():
    """Rows too heavy to be looked up, in nodes so heavy that convexity may drown in rounding."""
    for seed in range(10 if COMPILED else 1):
        rng = np.random.default_rng(seed)
        forest, X, _ = random_case(rng, 60, False, True)
        weight = np.where(rng.random(60) < 0.1, 2000, 1)
        target = forest.target._replace(weight=weight, multiplicity=weight)
        assert_folds_agree(forest._replace(target=target), X, np.arange(60))


@pytest.mark.parametrize(("n_folds", "expected"), [(19, "explore_fold_by_fold"), (20, "explore_shared")])
def test_many_folds_share(n_folds, expected, monkeypatch):
    ways = []
    for way in ("explore_fold_by_fold", "explore_shared"):
        monkeypatch.setattr(runner, way, lambda *asked, way=way: ways.append(way))
    forest, X, _ = random_case(np.random.default_rng(0), 60, False, True)
    forest = forest._replace(rules=forest.rules._replace(max_features=X.shape[1]))
    folds = np.arange(len(X)) % n_folds
    runner.explore_folds(forest, X, folds, folds, 1, False)
    assert ways == [expected]


@pytest.fixture
def reordered(monkeypatch):
    """Rows are reordered however few there are; notes how many were."""
    monkeypatch.setattr(runner, "TREES_TO_REORDER", 1)
    monkeypatch.setattr(runner, "ROWS_TO_REORDER", 0)
    rows, lying_together = [], runner.lying_together

    def note(forest, columns):
        order = lying_together(forest, columns)
        assert sorted(order) == list(range(len(forest.target.y)))
        rows.append(len(order))
        return order

    monkeypatch.setattr(runner, "lying_together", note)
    return rows


def test_rows_that_lie_together(reordered):
    """Rows and queries are reordered if each row is left out alone."""
    for seed in range(40 if COMPILED else 4):
        rng = np.random.default_rng(300 + seed)
        forest, X, _ = random_case(rng, int(rng.integers(5, 60)), False, seed % 2 == 0)
        reordered.clear()
        assert_folds_agree(forest, X, rng.permutation(len(X)))
        assert len(X) in reordered  # and fold by fold, one row less
        reordered.clear()
        assert_folds_agree(forest, X, np.where(np.arange(len(X)) == 0, -1, np.arange(len(X))))
        assert_folds_agree(forest, X[::2], np.arange(len(X)), np.arange(len(X))[::2])


@pytest.mark.parametrize("algorithm", [EAGER, BATCHED])
def test_rows_in_another_order(algorithm, reordered, monkeypatch):
    """The forest is the same, to its last node."""
    for seed in range(20 if COMPILED else 2):
        rng = np.random.default_rng(600 + seed)
        n = int(rng.integers(BLOCK + 2, 600)) if COMPILED else 60
        forest, X, _ = random_case(rng, n, seed % 4 == 3, seed % 2 == 0)
        forest = forest._replace(rules=forest.rules._replace(algorithm=algorithm))
        columns = np.arange(X.shape[1])
        reordered.clear()
        found = runner.explore(forest, X, columns, 1, False)
        assert reordered == [n]
        with monkeypatch.context() as context:
            context.setattr(runner, "TREES_TO_REORDER", 10**9)
            expected = runner.explore(forest, X, columns, 1, False)
        assert found.votes.tolist() == expected.votes.tolist()
        assert found.costs[:3] == expected.costs[:3]
        for one, other in zip(found.trees, expected.trees, strict=True):
            assert all(np.array_equal(a, b, equal_nan=a.dtype.kind == "f") for a, b in zip(one, other, strict=True))


def test_multinomial_counts_keep_their_rows(reordered):
    forest, X, _ = random_case(np.random.default_rng(0), 60, False, True)
    forest = forest._replace(rules=forest.rules._replace(bootstrap=MULTINOMIAL))
    runner.explore(forest, X, np.arange(X.shape[1]), 1, False)
    assert reordered == []


@pytest.mark.parametrize("n_folds", [5, None])
def test_room_for_rows_grows(n_folds, monkeypatch):
    """Rows of forked groups are copied; where there is no room a tree is explored again with more."""
    rng = np.random.default_rng(0)
    forest, X, _ = random_case(rng, 200 if COMPILED else 60, False, True)
    forest = forest._replace(rules=forest.rules._replace(bootstrap=EVERY_ROW_ONCE))
    folds = rng.permutation(len(X)) % (n_folds or len(X))
    room_of_calls = []

    def with_little_room(task, folds, own, trees, votes, room):
        room[0] = len(X) + 2
        found = explore(task, folds, own, trees, votes, room)
        room_of_calls.append(room[0])
        return found

    explore = runner.explore_without
    monkeypatch.setattr(runner, "explore_without", with_little_room)
    assert_folds_agree(forest, X, folds)
    assert max(room_of_calls) > len(X) + 2


@pytest.mark.parametrize("n_folds", [None, 5])
def test_bags_that_are_too_heavy(n_folds, request):
    """Two classes by entropy, but the general way has to answer for some of the trees."""
    rng = np.random.default_rng(0)
    forest, X, _ = random_case(rng, 60, False, True)
    forest = forest._replace(rules=forest.rules._replace(bootstrap=POISSON))
    folds = np.arange(len(X)) % (n_folds or len(X))
    expected = explore_shared(forest, X, folds, folds, 1, False)
    request.getfixturevalue("short_table")
    assert explore_shared(forest, X, folds, folds, 1, False).votes.tolist() == expected.votes.tolist()
    assert_folds_agree(forest, X, folds)
