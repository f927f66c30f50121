"""The reference, on cases worked out by hand. f(x) is x log2 x: f(1) = 0, f(2) = 2, f(3) = 4.755, f(4) = 8."""

import ast
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from lazyforest import reference
from lazyforest.reference import (
    Condition,
    Settings,
    batched_lazy_forest,
    best_condition,
    bootstrap_counts,
    eager_forest,
    inspected_columns,
    lazy_forest,
    midpoint,
    mix,
    root_key,
    table,
    x_log2_x,
)

ONE_TREE = Settings(n_estimators=1, bootstrap=False, min_samples_split=2)
LISTINGS = (eager_forest, lazy_forest, batched_lazy_forest)
NAN = math.nan


def column(*values):
    return np.array(values, dtype=float).reshape(-1, 1)


def condition_of(T, settings=ONE_TREE, least=0.0):
    """The best condition at the root, every row being once in the bag."""
    n, m = T.X.shape
    return best_condition(T, np.arange(n), np.ones(n, dtype=np.int64), np.arange(m), 0, settings, least)


def votes_of(T, S, settings=ONE_TREE):
    votes = [listing(T, S, settings).votes.tolist() for listing in LISTINGS]
    assert votes[0] == votes[1] == votes[2]
    return votes[0]


def nodes_of(T, S, settings=ONE_TREE):
    return len(eager_forest(T, S, settings).nodes)


# The pieces --------------------------------------------------------------------------------------------


def test_mix_is_splitmix64():
    """The published first outputs of SplitMix64."""
    assert [mix(0, i) for i in range(2)] == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4]
    assert mix(1234567, 0) == 6457827717110365317


def test_x_log2_x():
    assert [float(x_log2_x(x)) for x in (0, 1, 2, 4, 8, 2**40)] == [0, 0, 2, 8, 24, 40 * 2.0**40]
    for x in (3, 5, 6, 7, 100, 12345, 2**50 + 1):
        assert float(x_log2_x(x)) == pytest.approx(x * math.log2(x), rel=1e-15)


def test_midpoint():
    assert midpoint(1.0, 2.0) == 1.5
    assert midpoint(-1e308, 1e308) == 0.0
    assert midpoint(1e308, 1.7e308) == 1.35e308  # the sum of the two would be infinite


def test_midpoint_that_rounding_takes_to_the_lower_value_is_the_upper_one():
    above_one = math.nextafter(1.0, 2.0)
    assert 1.0 / 2 + above_one / 2 == 1.0
    assert midpoint(1.0, above_one) == above_one
    assert midpoint(0.0, 5e-324) == 5e-324


def test_bootstrap_counts():
    ids = np.arange(50)
    assert bootstrap_counts(ONE_TREE, 0, ids).tolist() == [1] * 50
    assert bootstrap_counts(Settings(bootstrap="multinomial"), 0, ids).sum() == 50
    # exp(-1) * 2**32 = 1580030168.7: a draw below it counts 0, one from it on at least 1
    assert reference.poisson_steps()[0] == 1580030168
    drawn = [mix(mix(mix(0, 7), 0), i) >> 32 for i in range(50)]
    assert [d >= 1580030168 for d in drawn] == (bootstrap_counts(Settings(seed=0), 7, ids) > 0).tolist()


# A node ------------------------------------------------------------------------------------------------


def test_stump():
    """Node: f(2) + f(2) - f(4) = -4. Cut at 1.5: 0 + 0. At 0.5 and 2.5: 0 + f(1) + f(2) - f(3) = -2.755."""
    T = table(column(0, 1, 2, 3), [0, 0, 1, 1], 2)
    assert condition_of(T) == Condition(0, 1.5, None, False)
    assert votes_of(T, column(-9, 1.4, 1.5, 9)) == [[1, 0], [1, 0], [0, 1], [0, 1]]


def test_ties_go_to_the_lowest_column():
    X = column(0, 1, 2, 3)
    assert condition_of(table(np.hstack([X, X]), [0, 0, 1, 1], 2)).column == 0
    assert condition_of(table(np.hstack([0 * X, -X, X]), [0, 0, 1, 1], 2)).column == 1


def test_ties_go_to_the_lowest_cut():
    """Cuts at 0.5 and at 1.5 both score 0 + f(1) + f(1) - f(2) = -2; the node scores f(2) + f(1) - f(3) = -2.755."""
    assert condition_of(table(column(0, 1, 2), [0, 1, 0], 2)).threshold == 0.5


def test_gini():
    """Node: (1 + 9) / 4 = 2.5. Cut at 0.5: 1/1 + 9/3 = 4, the most that four rows can have."""
    T = table(column(0, 1, 2, 3), [0, 1, 1, 1], 2)
    assert condition_of(T, ONE_TREE._replace(criterion="gini")).threshold == 0.5


def test_regression():
    """About the mean 5, rounded down: -5 -5 5 5. Cut at 1.5: 100/2 + 100/2; at 0.5: 25/1 + 25/3."""
    T = table(column(0, 1, 2, 3), [0, 0, 10, 10], 0)
    settings = ONE_TREE._replace(criterion="squared_error", mean_unit=4.0)
    assert condition_of(T, settings).threshold == 1.5
    assert votes_of(T, column(0, 3), settings) == [[0, 1], [40, 1]]


def test_least_weight():
    """The cut at 0.5 parts the classes but leaves one row of four alone; at 1.5 each side has half of the weight."""
    T = table(column(0, 1, 2, 3), [0, 1, 1, 1], 2)
    assert condition_of(T).threshold == 0.5
    assert condition_of(T, least=0.5 * 4).threshold == 1.5


def test_max_features():
    """Columns are inspected in the order of their tickets; while all of these are constant, the search goes on."""
    key = next(k for k in range(100) if mix(k, 3 + 1) < mix(k, 3 + 0) < mix(k, 3 + 2))
    T = table(np.column_stack([np.zeros(4), np.arange(4), np.arange(4)]), [0, 0, 1, 1], 2)
    rows, columns, settings = np.arange(4), np.arange(3), Settings(max_features=1)
    assert inspected_columns(T, rows, columns, key, settings) == [1]
    T.X[:, 1] = 7
    assert inspected_columns(T, rows, columns, key, settings) == [1, 0, 2]


# Leaves ------------------------------------------------------------------------------------------------


def test_max_depth():
    T = table(column(0, 1, 2, 3, 4), [0, 0, 1, 1, 0], 2)
    assert votes_of(T, column(3), ONE_TREE._replace(max_depth=0)) == [[1, 0]]
    assert nodes_of(T, column(3), ONE_TREE._replace(max_depth=0)) == 1
    assert nodes_of(T, column(3), ONE_TREE._replace(max_depth=1)) == 3
    assert nodes_of(T, column(3), ONE_TREE._replace(max_depth=None)) == 5


def test_min_samples_split_counts_weights_that_are_whole():
    X, y = column(0, 1, 2, 3), [0, 0, 1, 1]
    five = ONE_TREE._replace(min_samples_split=5)
    assert nodes_of(table(X, y, 2), X, five) == 1
    assert nodes_of(table(X, y, 2, weight=[2, 1, 1, 1]), X, five) == 3
    assert nodes_of(table(X, y, 2, weight=[2, 1, 1, 1], multiplicity=[1, 1, 1, 1]), X, five) == 1


def test_a_pure_node_is_a_leaf():
    T = table(column(0, 1, 2, 3), [1, 1, 1, 1], 2)
    assert nodes_of(T, column(0)) == 1
    assert eager_forest(T, column(0), ONE_TREE).rows_scanned == 0
    assert votes_of(T, column(0)) == [[0, 1]]


def test_no_gain_is_a_leaf():
    """XOR: either column leaves both classes evenly on both sides. The tie in the leaf goes to the first class."""
    T = table(np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), [0, 1, 1, 0], 2)
    assert condition_of(T) is None
    assert votes_of(T, T.X[:1]) == [[1, 0]]


def test_hard_and_soft_votes():
    """A leaf with classes 1, 1, 2. Two thirds of 2**40 are 733007751850.67, a third 366503875925.33."""
    T = table(column(0, 0, 0), [1, 1, 2], 3)
    assert votes_of(T, column(0)) == [[0, 1, 0]]
    assert votes_of(T, column(0), ONE_TREE._replace(voting="soft")) == [[0, 733007751851, 366503875925]]


def test_a_tree_without_rows_does_not_vote():
    empty = next(t for t in range(100) if bootstrap_counts(Settings(), t, np.array([0]))[0] == 0)
    T = table(column(0), [0], 1)
    with_it, without = (votes_of(T, column(0), Settings(n_estimators=t)) for t in (empty + 1, empty))
    assert with_it == without


# Categories and missing values -------------------------------------------------------------------------


def test_category_set():
    """Shares of class 1: category 2 has 0, categories 1 and 3 have 1. The prefix {2} parts the classes."""
    T = table(column(1, 1, 2, 2, 3, 3), [1, 1, 0, 0, 1, 1], 2, categorical=[True])
    assert condition_of(T) == Condition(0, None, frozenset([2.0]), False)
    assert votes_of(T, column(2, 1, 3, -1)) == [[1, 0], [0, 1], [0, 1], [0, 1]]  # -1 was never seen: in no set


def test_category_set_with_three_classes():
    """By the share of class 0 the order is 2, 3, 1. {2} and {2, 3} both score -4: the first one tried wins."""
    T = table(column(1, 1, 2, 2, 3, 3), [0, 0, 1, 1, 2, 2], 3, categorical=[True])
    assert condition_of(T).members == frozenset([2.0])


def test_missing_values_go_to_the_better_side():
    """Classes: missing 1 1, value 1: 0, value 2: 1. Cut at 1.5 with the missing on the valid side: 0 + 0."""
    T = table(column(NAN, NAN, 1, 2), [1, 1, 0, 1], 2)
    assert condition_of(T) == Condition(0, 1.5, None, True)
    assert votes_of(T, column(NAN, 1)) == [[0, 1], [1, 0]]


def test_missing_values_parted_from_the_present():
    T = table(column(NAN, NAN, 1, 2), [1, 1, 0, 0], 2)
    assert condition_of(T) == Condition(0, -math.inf, None, False)
    assert votes_of(T, column(NAN, -1e300)) == [[0, 1], [1, 0]]
    T = T._replace(categorical=np.array([True]))
    assert condition_of(T) == Condition(0, None, frozenset([1.0, 2.0]), False)


def test_missing_value_where_no_training_row_misses_it_goes_to_the_heavier_side():
    assert condition_of(table(column(1, 2, 3), [0, 1, 1], 2)) == Condition(0, 1.5, None, True)
    assert condition_of(table(column(1, 2), [0, 1], 2)) == Condition(0, 1.5, None, False)
    T = table(column(1, 2, 3), [0, 1, 1], 2)
    assert votes_of(T, column(NAN)) == [[0, 1]]


def test_reduced_forests_do_not_have_the_missing_column():
    """Column 0 parts the classes, column 1 is all that is left to a query that misses column 0."""
    X = np.array([[0, 0], [0, 0], [1, 0], [1, 1]], dtype=float)
    T = table(X, [0, 0, 1, 1], 2)
    queries = np.array([[1, 0], [NAN, 1], [NAN, 0]])
    assert votes_of(T, queries, ONE_TREE._replace(missing="reduced")) == [[0, 1], [0, 1], [1, 0]]


# The listings on a small tree --------------------------------------------------------------------------

#        root: 0 1 2 3 4 5, classes 0 0 1 1 2 2. Cuts at 1.5 and 3.5 tie with 0 + 2 + 2 - f(4) = -4: 1.5 it is.
#       /                \
#   L: 0 1            R: 2 3 4 5, cut at 3.5
#                    /            \
#                RL: 2 3        RR: 4 5
TREE = table(column(0, 1, 2, 3, 4, 5), [0, 0, 1, 1, 2, 2], 3)
ROOT = root_key(ONE_TREE.seed, 0)
L, R = mix(ROOT, 1), mix(ROOT, 2)
RL, RR = mix(R, 1), mix(R, 2)


def keys(explored):
    return [key for _, key in explored.nodes]


def test_eager_listing():
    """Held at RL: 6 of the bag, 2 + 4 of the root's sides, 2 + 2 of R's. Five nodes of four words each."""
    explored = eager_forest(TREE, column(0, 5), ONE_TREE)
    assert keys(explored) == [ROOT, L, R, RL, RR]
    assert explored[2:] == (6 + 4, 6 + 6 + 4, 5 * 4)


def test_lazy_listing():
    """Query 0: root, L. Query 5: root, R, RR; while R is filtered: 6 of the bag, 4 of R, 2 of RR."""
    explored = lazy_forest(TREE, column(0, 5), ONE_TREE)
    assert keys(explored) == [ROOT, L, ROOT, R, RR]
    assert explored[2:] == (6 + 6 + 4, 6 + 4 + 2, 0)


def test_batched_listing():
    """RL stays shut. Held at RR: 6 rows and 2 queries, the 2 parted, 4 rows of R, its 1 query parted, 2 rows of RR."""
    explored = batched_lazy_forest(TREE, column(0, 5), ONE_TREE)
    assert keys(explored) == [ROOT, L, R, RR]
    assert explored[2:] == (6 + 4, 6 + 2 + 2 + 4 + 1 + 2, 0)
    assert keys(batched_lazy_forest(TREE, column(5, 5), ONE_TREE)) == [ROOT, R, RR]


def test_trees_are_explored_one_after_the_other():
    two = ONE_TREE._replace(n_estimators=2)
    assert [tree for tree, _ in batched_lazy_forest(TREE, column(0), two).nodes] == [0, 0, 1, 1]
    assert votes_of(TREE, column(0), two) == [[2, 0, 0]]


# What it is made of ------------------------------------------------------------------------------------


def test_imports_numpy_alone():
    tree = ast.parse(Path(reference.__file__).read_text())
    imported = {name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
    imported |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name.split(".")[0] for name in imported} - set(sys.stdlib_module_names) == {"numpy"}


def test_runs_with_numpy_alone():
    code = f"""
import importlib.util, sys
spec = importlib.util.spec_from_file_location("reference", {reference.__file__!r})
sys.modules["reference"] = module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
assert not {{"numba", "sklearn", "scipy", "joblib", "pandas", "lazyforest"}} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", code], check=True)
