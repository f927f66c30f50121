"""Training columns are encoded as far as queries need it, and are nobody else's."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import polars as pl
import pytest

from lazyforest import LazyForestClassifier, kept
from lazyforest.engine import lane_layout
from lazyforest.engine.layout import BINS, CODES
from lazyforest.kept import Kept, encode
from lazyforest.runner import count_side_by_side, plan_calls
from lazyforest.table import read

N = 3000


@pytest.fixture
def numbers():
    """Columns of many numbers, of few, with outliers, with gaps, of one, of none."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 6))
    X[:, 1] = X[:, 1].round(1)
    X[::500, 2] *= 1e300
    X[rng.random(N) < 0.3, 3] = np.nan
    X[:, 4], X[:, 5] = -0.0, np.nan
    return X


@pytest.fixture
def always_binned(monkeypatch):
    """As tables of many rows are, whose codes take four bytes."""
    monkeypatch.setattr(kept, "ROWS_TO_BIN", 0)
    for module in (kept, lane_layout):
        monkeypatch.setattr(module, "code_type", lambda _: CODES[1])


def forest(**options):
    return LazyForestClassifier(20, random_state=0, **options)


def classes(X):
    return (np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 1]) > 0).astype(int)


@pytest.mark.parametrize("jobs", [1, 3])
def test_bins(numbers, jobs, monkeypatch):
    monkeypatch.setattr(kept, "CELLS_TO_SHARE", 0)
    monkeypatch.setattr(kept, "ROWS_TO_BIN", 0)
    half_the_same = np.where(numbers[:, 1] > 0, 0.0, numbers[:, 0])  # bins too many to be guessed lie there
    numbers = np.column_stack([numbers, half_the_same])
    frame = pd.DataFrame(numbers).assign(word=np.where(numbers[:, 0] > 1, "u", "v"))
    coarse, first_code, is_category, few_values, held, number = Kept(read(frame), jobs).binned
    assert is_category.tolist() == [False] * 7 + [True]
    assert number.tolist() == [*range(7), 0]
    assert (coarse[:, 7] == np.where(numbers[:, 0] > 1, 1, 2)).all()
    for j in range(7):
        x, bins = numbers[:, j], coarse[:, j].astype(int)
        assert np.array_equal(held[number[j]], x, equal_nan=True)
        assert ((bins == 0) == np.isnan(x)).all()
        order = np.argsort(x[bins > 0])
        assert (np.diff(bins[bins > 0][order]) >= 0).all(), "a bin never falls as the number grows"
        distinct = np.unique(x[bins > 0])
        if len(distinct) < BINS:
            assert np.array_equal(few_values[j, : len(distinct)], distinct)
            assert first_code[j, BINS] == len(distinct) + 1
            assert np.array_equal(few_values[j, bins[bins > 0] - 1], x[bins > 0])
        else:
            sizes = np.bincount(bins, minlength=BINS)
            assert np.array_equal(np.diff(first_code[j])[1:], sizes[1:])
            assert sizes[1:].max() < (6 if j < 6 else BINS) * sizes[1:].mean()
            assert len(np.unique(x[bins > 0])) == sum(len(np.unique(x[bins == b])) for b in range(1, BINS))


def test_encoded_when_needed(numbers, always_binned):
    y = classes(numbers)
    expected = forest().fit(numbers, y)
    expected._forest.kept.table  # noqa: B018 - ranked from the start
    lazy = forest().fit(numbers, y)
    one, some = numbers[:1] + 0.1, numbers[:40] - 0.1
    assert lazy._forest.kept._binned is None
    assert np.array_equal(lazy.predict_proba(one), expected.predict_proba(one))
    assert lazy._forest.kept._binned is not None
    assert lazy._forest.kept._table is None
    assert np.array_equal(lazy.predict_proba(some), expected.predict_proba(some))
    assert lazy._forest.kept.numbers is lazy._forest.kept._binned is None
    assert np.array_equal(lazy.predict_proba(one), expected.predict_proba(one))


@pytest.mark.parametrize("asked", [0, 1, 40])
def test_pickles_of_what_is_kept(numbers, always_binned, asked):
    model = forest().fit(numbers, classes(numbers))
    if asked:
        model.predict(numbers[:asked])
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict_proba(numbers[:1]), model.predict_proba(numbers[:1]))
    assert np.array_equal(again.predict_proba(numbers[:9]), model.predict_proba(numbers[:9]))


@pytest.mark.parametrize("jobs", [2, 5])
def test_threads_share_bins(numbers, always_binned, jobs):
    y = classes(numbers)
    assert np.array_equal(
        forest(n_jobs=jobs).fit(numbers, y).predict_proba(numbers[:1]),
        forest().fit(numbers, y).predict_proba(numbers[:1]),
    )


@pytest.mark.parametrize("form", [np.asfortranarray, np.ascontiguousarray, pd.DataFrame, lambda X: X[:, ::-1]])
def test_later_changes_of_the_table_do_not_matter(numbers, always_binned, form):
    expected = forest().fit(form(numbers.copy()), classes(numbers)).predict_proba(form(numbers[:1]))
    X, y = form(numbers.copy()), classes(numbers)
    model = forest().fit(X, y)
    query = form(numbers[:1].copy())
    if isinstance(X, pd.DataFrame):
        X.iloc[:, :] = 0.0
    else:
        X[:] = 0.0
    y[:] = 0
    assert np.array_equal(model.predict_proba(query), expected)


@pytest.mark.parametrize("form", [pd.DataFrame, pl.DataFrame, list])
def test_frames_and_lists(numbers, always_binned, form):
    X, y = numbers[:, :4], classes(numbers)
    expected = forest().fit(X, y).predict_proba(X[:1])
    rows = X.tolist() if form is list else form(X)
    assert np.array_equal(forest().fit(rows, y).predict_proba(rows[:1]), expected)


def test_threads_encode_the_same_table(monkeypatch):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(99, 7)).round(1), columns=[*"abcdefg"])
    frame["d"], frame["g"] = rng.choice(["u", "v", None], 99), rng.choice([True, False], 99)
    expected, columns = encode(read(frame))
    for cells in (0, 10**9):
        monkeypatch.setattr(kept, "CELLS_TO_SHARE", cells)
        for jobs in (2, 3, 20):
            found, remembered = encode(read(frame), jobs)
            assert remembered == columns
            assert all(np.array_equal(one, other) for one, other in zip(found, expected, strict=True))


def test_queries_from_several_threads_at_once(numbers, always_binned):
    """One row needs bins, several need ranks, which replace what was kept: nobody finds half of it."""
    y = classes(numbers)
    expected = forest().fit(numbers, y)
    one, some = expected.predict_proba(numbers[:1]), expected.predict_proba(numbers[:5])
    for _ in range(5):
        model = forest().fit(numbers, y)
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(lambda n: model.predict_proba(numbers[:n]), [1, 5, 1, 1, 5, 1]))  # noqa: B023
        assert all(np.array_equal(p, one if len(p) == 1 else some) for p in found)


@pytest.mark.parametrize("missing", ["route", "reduced"])
def test_a_query_that_misses_every_column(numbers, missing):
    y = classes(numbers)
    nothing = np.full((1, numbers.shape[1]), np.nan)
    one, two = (forest(missing=missing).fit(numbers, y).predict_proba(np.repeat(nothing, n, axis=0)) for n in (1, 2))
    assert np.array_equal(one[0], two[0])


@pytest.mark.parametrize(("trees", "jobs"), [(1, 1), (2, 9), (10, 4), (129, 1), (17, 17)])
def test_no_tree_goes_down_alone(numbers, always_binned, trees, jobs):
    """It would need all columns ranked."""
    y = classes(numbers)
    model = LazyForestClassifier(trees, random_state=0, n_jobs=jobs).fit(numbers, y)
    calls = plan_calls(model._forest, 1, count_side_by_side(model._forest, 1, numbers.shape[1]), jobs)
    assert [tree for some, _ in calls for tree in some] == list(range(trees))
    assert trees == 1 or min(len(some) for some, _ in calls) > 1
    found = model.predict_proba(numbers[:1])
    assert (model._forest.kept._table is None) == (trees > 1)
    assert np.array_equal(found, model.predict_proba(numbers[:2])[:1])


@pytest.mark.parametrize("columns", [["number", "word"], ["word"], ["number"]])
@pytest.mark.parametrize("light", [0.0, 0.8])
def test_words_behind_numbers_and_rows_without_weight(columns, light, always_binned, numbers):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"number": numbers[:, 0], "word": np.where(numbers[:, 1] > 0, "u", "v")})[columns]
    y, weight = classes(numbers), (rng.random(N) >= light).astype(float)
    binned = forest().fit(frame, y, sample_weight=weight)
    found = binned.predict_proba(frame.iloc[[0]])
    assert binned._forest.kept.binned is not None, "one row needs no ranks"
    ranked = forest().fit(frame, y, sample_weight=weight)
    assert np.array_equal(found, ranked.predict_proba(frame.iloc[:20])[:1])
