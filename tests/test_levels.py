"""A table in partitions, explored level by level without Dask: the votes of the reference, bit for bit."""

from functools import reduce
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings

import lazyforest.dask.coding as coding_module
import lazyforest.dask.nodes as nodes_module
import lazyforest.dask.passes as passes_module
from helpers import cases, examples, rules_of
from lazyforest import reference
from lazyforest.dask.coding import agree, code_columns, keys_of, number_of, see
from lazyforest.dask.levels import Exploration, Forest, Here
from lazyforest.dask.passes import Part, cut_down
from lazyforest.engine.encoding import sortable
from lazyforest.engine.layout import CLASS, TARGET
from lazyforest.engine.parts import Standing
from lazyforest.table import read_numbers


def columns_of(T, rows):
    return [read_numbers(T.X[rows, j], j, bool(category)) for j, category in enumerate(T.categorical)]


def in_parts(T, cuts):
    """The table cut up, encoded part by part."""
    pieces = np.split(np.arange(len(T.y)), cuts)
    seen = [[see(raw) for raw in columns_of(T, rows)] for rows in pieces if len(rows)]
    coding = agree([reduce(lambda a, b: a.plus(b), column) for column in zip(*seen, strict=True)])
    parts = [
        Part(
            code_columns(columns_of(T, rows), coding, len(rows)),
            T.y[rows].astype(CLASS if T.n_classes else TARGET),
            T.weight[rows],
            0,
            T.row_ids[rows].astype(np.uint64),
            np.empty((0, len(rows))),
        )
        for rows in pieces
        if len(rows)
    ]
    return coding, parts, [T.X[rows] for rows in pieces if len(rows)]


def explore(T, S, rules, cuts, budget, room):
    """The votes, the level-by-level way."""
    coding, parts, raws = in_parts(T, cuts)
    sizes = bool((T.weight == T.multiplicity).all())
    most = max(13 * int(T.weight.sum()), len(T.y) * int(T.weight.max()))
    forest = Forest(coding, rules_of(rules, "batched", S.shape[1]), T.n_classes, rules.n_estimators, sizes, most)
    votes = np.zeros((len(S), T.n_classes or 2), dtype=np.int64)
    for queries, columns in reference.by_missing_columns(S, rules):
        here = Here(parts, raws, room)
        votes[queries] = Exploration(forest, S[queries], columns, here, budget).explore()
    return votes


def assert_levels_equal_reference(T, S, rules, seed):
    rng = np.random.default_rng(seed)
    cuts = np.sort(rng.integers(0, len(T.y) + 1, rng.integers(0, 6)))
    rules = rules._replace(min_weight_fraction_leaf=0.0)
    if rules.bootstrap == "multinomial":
        rules = rules._replace(bootstrap="poisson")
    expected = reference.batched_lazy_forest(T, S, rules).votes
    for budget, room in ((1, 0), (1 << 27, 1 << 40), (1 << 16, int(rng.integers(1, 1 << 14)))):
        assert explore(T, S, rules, cuts, budget, room).tolist() == expected.tolist(), (budget, room)


@pytest.fixture
def few_codes(monkeypatch):
    """So few codes and short lists that small tables take every step that large ones take."""
    monkeypatch.setattr(coding_module, "MOST_CODES", 6)
    monkeypatch.setattr(coding_module, "SAMPLE", 3)
    monkeypatch.setattr(nodes_module, "FEW", 4)
    monkeypatch.setattr(nodes_module, "SHORT", 3)


@pytest.mark.parametrize("regression", [False, True])
def test_votes_of_the_reference(regression):
    @settings(max_examples=examples(60))
    @given(
        cases(regression, rows=[(1, 12), (13, 60), (300, 500)], columns=(1, 4), distinct=[1, 2, 5, 300], most_trees=3)
    )
    def check(case):
        assert_levels_equal_reference(*case, seed=case[2].seed)

    check()


@pytest.mark.parametrize("regression", [False, True])
def test_votes_of_the_reference_with_closer_looks(regression, few_codes):
    @settings(max_examples=examples(60))
    @given(cases(regression, rows=[(5, 30), (30, 90)], columns=(1, 4), distinct=[2, 5, 20, 90], most_trees=3))
    def check(case):
        assert_levels_equal_reference(*case, seed=case[2].seed)

    check()


@pytest.mark.parametrize("regression", [False, True])
def test_votes_of_the_reference_in_small_blocks(regression, few_codes, monkeypatch):
    """Rows are drawn three at a time, and lists are added up as soon as they have a row."""
    for name, value in (("NEAR", 1), ("AT_ONCE", 3), ("LISTED", 0)):
        monkeypatch.setattr(passes_module, name, value)

    @settings(max_examples=examples(40))
    @given(cases(regression, rows=[(5, 30), (30, 90)], columns=(1, 4), distinct=[2, 5, 20, 90], most_trees=3))
    def check(case):
        assert_levels_equal_reference(*case, seed=case[2].seed)

    check()


def test_parts_that_are_cut_down_keep_their_layout():
    """Numbers of another layout would be another type to numba, which every worker would compile again."""
    rng = np.random.default_rng(0)
    numbers, none = rng.normal(size=(3, 20)), np.empty(0, dtype=np.int64)
    part = Part(rng.integers(1, 9, (20, 3)), none, none, 0, none, numbers)
    standing = Standing(np.array([3, 3, 7]), *np.empty((4, 0)))
    kept = cut_down(part._replace(y=np.arange(20)), standing, None, SimpleNamespace(keyed=[0, 1, 2]))
    assert kept.y.tolist() == [3, 7]
    assert kept.numbers.tolist() == numbers[:, [3, 7]].tolist()
    assert kept.numbers.flags.c_contiguous


def test_keys_are_in_the_order_of_the_numbers():
    x = np.array([-np.inf, -1e300, -1.5, -5e-324, -0.0, 0.0, 5e-324, 1.5, 1e300, np.inf])
    keys = keys_of(x)
    assert (np.diff(keys.astype(object)) >= 0).all()
    assert keys[4] == keys[5]
    assert [number_of(key) for key in keys] == x.tolist()
    assert keys_of(np.array([np.nan])).tolist() == [0]
    numbers = np.append(x, np.nan)
    assert [sortable(bits) for bits in numbers.view(np.uint64)] == keys_of(numbers).tolist()
