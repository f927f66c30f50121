"""The engine's pieces are the reference's, one by one, to the last bit."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lazyforest import bootstrap_counts, reference
from lazyforest.engine import bootstrap, counts, layout
from lazyforest.engine.partition import midpoint
from lazyforest.parameters import BOOTSTRAPS, CRITERIA
from lazyforest.table import rank

WORDS = st.integers(0, 2**64 - 1)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)


def test_constants():
    assert tuple(reference.poisson_steps()) == bootstrap.STEPS
    assert layout.MIN_GAIN == reference.MIN_GAIN
    assert layout.SOFT_UNIT == reference.SOFT_UNIT
    assert layout.NODE_WORDS == reference.NODE_WORDS
    assert (int(bootstrap.CHILD), int(bootstrap.TICKET)) == (reference.CHILD, reference.TICKET)


# Random draws ------------------------------------------------------------------------------------------


@given(WORDS, WORDS)
@example(2**64 - 1, 2**64 - 1)
def test_mix(key, value):
    assert int(bootstrap.mix(np.uint64(key), np.uint64(value))) == reference.mix(key, value)


@given(WORDS, st.integers(0, 10_000))
def test_root_key(seed, tree):
    assert int(bootstrap.root_key(np.uint64(seed), tree)) == reference.root_key(seed, tree)


@pytest.mark.parametrize("mode", BOOTSTRAPS)
@pytest.mark.parametrize("seed", [0, 1, 2**64 - 1])
def test_counts(mode, seed):
    row_ids = np.random.default_rng(seed).integers(0, 2**62, 2000)
    drawn = np.empty(len(row_ids), dtype=np.int32)
    for tree in (0, 1, 99):
        bootstrap.counts_of(np.uint64(seed), tree, BOOTSTRAPS[mode], row_ids.astype(np.uint64), drawn)
        expected = reference.bootstrap_counts(reference.Settings(bootstrap=mode, seed=seed), tree, row_ids)
        assert drawn.tolist() == expected.tolist()


def test_public_counts():
    expected = reference.bootstrap_counts(reference.Settings(seed=3), 7, np.arange(1000))
    assert bootstrap_counts(3, 7, np.arange(1000)).tolist() == expected.tolist()


@pytest.mark.parametrize("trees", [1, 100])
def test_counts_are_poisson(trees):
    """Mean and variance 1, zero share 1/e, over a million draws; four standard errors. The fourth central moment
    of Poisson(1) is 4, so the variance of a sample variance is (4 - 1) / n.
    """
    n = 1_000_000
    drawn = np.concatenate([bootstrap_counts(0, tree, np.arange(n // trees)) for tree in range(trees)])
    zero = np.exp(-1.0)
    assert abs(drawn.mean() - 1) < 4 / np.sqrt(n)
    assert abs(drawn.var() - 1) < 4 * np.sqrt(3 / n)
    assert abs((drawn == 0).mean() - zero) < 4 * np.sqrt(zero * (1 - zero) / n)


def test_counts_do_not_correlate():
    """Between neighbouring rows, trees and seeds: standard error 1 / sqrt(n)."""
    n = 1_000_000
    drawn = bootstrap_counts(0, 0, np.arange(n + 1)) - 1.0
    others = drawn[1:], bootstrap_counts(0, 1, np.arange(n)) - 1.0, bootstrap_counts(1, 0, np.arange(n)) - 1.0
    for other in others:
        assert abs((drawn[:n] * other).mean()) < 4 / np.sqrt(n)


def test_removing_a_row_changes_no_other_count():
    row_ids = np.random.default_rng(0).permutation(500)
    drawn = bootstrap_counts(5, 2, row_ids)
    for left_out in (0, 17, 499):
        assert bootstrap_counts(5, 2, np.delete(row_ids, left_out)).tolist() == np.delete(drawn, left_out).tolist()


# Scores ------------------------------------------------------------------------------------------------


def whole_numbers():
    rng = np.random.default_rng(0)
    powers = 2 ** np.arange(51)
    return np.unique([*range(5000), *powers, *(powers - 1), *(powers[:-1] + 1), *rng.integers(0, 2**50, 2000)])


def test_x_log2_x():
    numbers = whole_numbers()
    assert [counts.x_log2_x(x) for x in numbers] == reference.x_log2_x(numbers).tolist()


def test_x_log2_x_table():
    table = counts.x_log2_x_table(3000)
    assert table[:3001].tolist() == reference.x_log2_x(np.arange(3001)).tolist()
    assert counts.look_up(2**50, table) == float(reference.x_log2_x(2**50))


def random_sides(rng, statistics, largest):
    """The statistics of an invalid side, and of the node."""
    left, right = rng.integers(0, largest, (2, statistics))
    left[0] += 1
    right[0] += 1
    return left, left + right


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("largest", [3, 50, 2**40])
def test_score(criterion, largest):
    rng, f = np.random.default_rng(0), counts.x_log2_x_table(40)
    for _ in range(200):
        left, total = random_sides(rng, 2 if criterion == "squared_error" else rng.integers(1, 6), largest)
        expected = [reference.side_score(held, criterion) for held in (left, total - left)]
        assert counts.side(left, CRITERIA[criterion], f) == expected[0]
        assert counts.score(left, total, CRITERIA[criterion], f) == sum(expected)


@pytest.mark.parametrize("criterion", ["entropy", "gini"])
@pytest.mark.parametrize("classes", [2, 3, 4, 5, 9])
def test_bound(criterion, classes):
    """No part of the rows inside a bin, moved to the left, scores more than the bound."""
    rng, f = np.random.default_rng(classes), counts.x_log2_x_table(200)
    for _ in range(200):
        left, inside, right = rng.integers(0, 6, (3, classes))
        total, corner = left + inside + right, np.empty(classes, dtype=np.int64)
        bound = counts.bound(left, 0 * inside, inside, total, corner, CRITERIA[criterion], f)
        for _ in range(10):
            moved = left + rng.integers(0, inside + 1)
            edges = [left, left + inside]  # the cuts at the edges of the bin are scored before
            if 0 < moved.sum() < total.sum() and not any((moved == edge).all() for edge in edges):
                assert counts.score(moved, total, CRITERIA[criterion], f) <= bound + 1e-9


def test_bound_of_regression():
    """As above, with the weight, the sum and the sum of the positive targets of the rows inside."""
    rng, f = np.random.default_rng(0), counts.x_log2_x_table(200)
    for _ in range(200):
        left, right = np.array([3, rng.integers(-20, 20)]), np.array([2, rng.integers(-20, 20)])
        weight, y = rng.integers(1, 4, 6), rng.integers(-9, 10, 6)
        held = np.array([weight.sum(), (weight * y).sum(), (weight * y)[y > 0].sum()])
        total = left + held[:2] + right
        corner = np.empty(2, dtype=np.int64)
        bound = counts.bound(left, 0 * held, held, total, corner, CRITERIA["squared_error"], f)
        for _ in range(10):
            some = rng.random(6) < 0.5
            moved = left + np.array([weight[some].sum(), (weight * y)[some].sum()])
            assert counts.score(moved, total, CRITERIA["squared_error"], f) <= bound + 1e-9


# Encoding ----------------------------------------------------------------------------------------------


@given(st.lists(st.one_of(NUMBERS, st.just(float("nan")), st.just(-0.0)), min_size=1, max_size=40), st.integers(0, 3))
@example([0.0, -0.0, 5e-324, -5e-324, 1.7e308, -1.7e308, float("nan")], 2)
def test_ranks_are_those_of_numpy(numbers, kind):
    """As they are; among few whole numbers, many fractions, or many whose upper bits agree; in any order."""
    rng = np.random.default_rng(len(numbers))
    many = rng.normal(size=300)
    others = [np.empty(0), rng.integers(-99, 99, 300), many * 10.0 ** rng.integers(-300, 300, 300), many + 1e9]
    x = rng.permutation(np.concatenate([numbers, others[kind]]))
    (codes,), (values,) = rank(x[None], np.zeros(1, dtype=np.int64))
    present = ~np.isnan(x)
    expected, indices = np.unique(x[present], return_inverse=True)
    assert values.tolist() == expected.tolist()
    assert codes[present].tolist() == (indices + 1).tolist()
    assert not codes[~present].any()


# Thresholds --------------------------------------------------------------------------------------------


@given(NUMBERS, NUMBERS)
@example(1.0, float(np.nextafter(1.0, 2.0)))
@example(0.0, 5e-324)
@example(-1.7e308, 1.7e308)
@example(1.6e308, 1.7e308)
def test_midpoint(a, b):
    lower, upper = min(a, b), max(a, b)
    if lower < upper:
        assert midpoint(lower, upper) == reference.midpoint(lower, upper)
        assert lower < midpoint(lower, upper) <= upper
