"""Weights, classes, regression, missing values and paths: the estimators against the reference and each other."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import LISTINGS, examples, random_data_frame
from lazyforest import LazyForestClassifier, LazyForestRegressor, reference
from lazyforest.frame import derive_frame
from test_estimators import ALGORITHMS


def as_codes(train, queries):
    """The same columns as plain numbers, as the reference takes them."""
    codes = [[], []]
    for name in train:
        if name in ("number", "fine"):
            pair = [frame[name].to_numpy(dtype=float) for frame in (train, queries)]
        else:
            known = sorted(train[name].dropna().unique())
            lookup = {value: i + 1.0 for i, value in enumerate(known)}
            pair = [
                np.array([np.nan if pd.isna(v) else lookup.get(v, -1.0) for v in frame[name]])
                for frame in (train, queries)
            ]
        for side, column in zip(codes, pair, strict=True):
            side.append(column)
    return [np.column_stack(side) for side in codes]


@settings(max_examples=examples(150))
@given(st.integers(0, 2**32 - 1))
def test_estimators_answer_like_the_reference(seed):
    """Data frame in, votes out: whole and fractional weights, class weights, fixed-point targets, both ways to miss."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 40))
    train, queries = random_data_frame(rng, n), random_data_frame(rng, 5)
    weight = [np.ones(n), rng.integers(0, 4, n) + np.eye(n)[0], rng.random(n) + 0.01][rng.integers(3)]
    regression = bool(rng.random() < 0.4)
    y = rng.normal(size=n) * 10.0 ** rng.integers(-3, 9) if regression else rng.integers(0, 4, n)
    given = {
        "n_estimators": 3,
        "max_features": [None, 2][rng.integers(2)],
        "missing": ["route", "reduced"][rng.integers(2)],
        "bootstrap": ["poisson", "multinomial", False][rng.integers(3)],
        "algorithm": ALGORITHMS[rng.integers(3)],
        "random_state": int(rng.integers(2**63)),
    }
    classes = {} if regression else {"voting": ["hard", "soft"][rng.integers(2)]}
    model = (LazyForestRegressor if regression else LazyForestClassifier)(**given, **classes)
    explored = model.fit(train, y, sample_weight=weight).explore(queries)

    frame = derive_frame(weight, y if regression else None)
    X, S = as_codes(train, queries)
    labels = frame.targets(y) if regression else np.unique(y, return_inverse=True)[1]
    T = reference.table(
        X,
        labels,
        0 if regression else len(np.unique(y)),
        weight=frame.weights(weight),
        multiplicity=frame.multiplicity(weight),
        categorical=[False, False, True, True],
    )
    rules = {key: value for key, value in {**given, **classes}.items() if key not in ("algorithm", "random_state")}
    seed_and_criterion = {"seed": given["random_state"], "criterion": model.criterion, "mean_unit": 2.0**8}
    expected = LISTINGS[given["algorithm"]](T, S, reference.Settings(**rules, **seed_and_criterion))
    assert (explored.votes == expected.votes).all()
    assert explored.nodes_explored == len(expected.nodes)
    assert explored.rows_scanned == expected.rows_scanned
    assert explored.stack_words == expected.stack_words
    assert explored.model_words == expected.model_words


@pytest.mark.parametrize("name", ["adult", "c2u"])
def test_algorithms_agree_on_all_rows(datasets, name):
    X, y = datasets(name)
    some = np.random.default_rng(0).choice(len(X), 60, replace=False)
    votes = {a: LazyForestClassifier(3, algorithm=a, random_state=0).fit(X, y) for a in ALGORITHMS}
    assert (votes["eager"].explore(X).votes == votes["batched"].explore(X).votes).all()
    assert (votes["lazy"].explore(X.iloc[some]).votes == votes["eager"].explore(X.iloc[some]).votes).all()


def test_algorithms_agree_on_a_wide_table(datasets):
    X, y = datasets("all")
    models = [LazyForestClassifier(3, algorithm=a, random_state=0).fit(X[5:], y[5:]) for a in ALGORITHMS]
    votes = [model.explore(X[:5]).votes for model in models]
    assert all((v == votes[0]).all() for v in votes)


def test_algorithms_agree_on_a_large_regression():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 6))
    y = X[:, 0] * 3 + np.sin(4 * X[:, 1]) + rng.normal(size=len(X))
    X[rng.random(X.shape) < 0.1] = np.nan
    models = {a: LazyForestRegressor(2, algorithm=a, random_state=0).fit(X, y) for a in ALGORITHMS}
    assert (models["eager"].predict(X) == models["batched"].predict(X)).all()
    assert (models["lazy"].predict(X[:40]) == models["batched"].predict(X[:40])).all()


@pytest.mark.parametrize("regression", [False, True])
def test_a_whole_weight_is_so_many_copies(regression):
    rng = np.random.default_rng(1)
    X = random_data_frame(rng, 80)
    y = rng.normal(size=80) if regression else rng.integers(0, 3, 80)
    weight = rng.integers(0, 4, 80)
    kind = LazyForestRegressor if regression else LazyForestClassifier
    bits = (0, 30) if regression else None
    model = kind(3, bootstrap=False, max_features=2, random_state=0, fixed_point=bits)
    weighted = model.fit(X, y, sample_weight=weight).explore(X).votes
    copies = np.repeat(np.arange(80), weight)
    assert (model.fit(X.iloc[copies], y[copies]).explore(X).votes == weighted).all()


def test_fractional_weights_matter():
    X, y = np.zeros((4, 1)), ["a", "a", "a", "b"]
    model = LazyForestClassifier(1, bootstrap=False, voting="soft")
    proba = model.fit(X, y, sample_weight=[0.1, 0.1, 0.1, 0.45]).predict_proba(X[:1])
    np.testing.assert_allclose(proba, [[0.4, 0.6]], atol=1e-9)


def test_class_weights():
    X, y = np.zeros((10, 1)), np.array(["a"] * 8 + ["b"] * 2)
    model = LazyForestClassifier(1, bootstrap=False, voting="soft")
    for class_weight in ({"b": 4}, "balanced"):
        proba = model.set_params(class_weight=class_weight).fit(X, y).predict_proba(X[:1])
        np.testing.assert_allclose(proba, [[0.5, 0.5]], atol=1e-9)


def test_twenty_six_classes():
    rng = np.random.default_rng(0)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    label = rng.integers(0, 26, 1500)
    X = pd.DataFrame({"x": label % 5 + rng.normal(scale=0.1, size=1500), "t": letters[label // 5]})
    votes = [
        LazyForestClassifier(4, algorithm=a, criterion=c, random_state=0).fit(X, letters[label]).explore(X[:50]).votes
        for c in ("entropy", "gini")
        for a in ALGORITHMS
    ]
    assert all((v == votes[0]).all() for v in votes[:3])
    assert all((v == votes[3]).all() for v in votes[3:])
    assert LazyForestClassifier(4, random_state=0).fit(X, letters[label]).score(X, letters[label]) > 0.9


def test_log_proba():
    model = LazyForestClassifier(3, bootstrap=False).fit([[0], [0], [1], [1]] * 5, [0, 0, 1, 1] * 5)
    assert model.predict_log_proba([[0]]).tolist() == [[0.0, -np.inf]]


def test_regression_of_constants_and_extremes():
    X = np.arange(20.0)[:, None]
    for y in (np.full(20, 3.7), np.zeros(20), np.arange(20) * 1e250, np.arange(20) * 1e-250):
        predicted = LazyForestRegressor(5, min_samples_split=2, random_state=0, bootstrap=False).fit(X, y).predict(X)
        np.testing.assert_allclose(predicted, y, rtol=1e-12, atol=1e-12 * np.ptp(y))


def test_targets_far_from_zero_keep_their_differences():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 3))
    y = 1.7e9 + 10 * X[:, 0]
    model = LazyForestRegressor(10, random_state=0)
    assert model.fit(X, y, sample_weight=rng.random(500) + 0.5).score(X, y) > 0.99
    y[0] = 1e17
    with pytest.warns(UserWarning, match="500 distinct targets became"):
        model.fit(X, y)


@pytest.mark.parametrize("kind", [LazyForestClassifier, LazyForestRegressor])
def test_weights_without_a_finite_total_are_refused(kind):
    with pytest.raises(ValueError, match="too large to be summed exactly"):
        kind().fit([[1], [2]] * 5, [0, 1] * 5, sample_weight=np.full(10, 1e308))


def test_a_frame_given_by_hand_is_kept_and_a_wrong_one_refused():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 2)), rng.normal(size=50)
    frame = LazyForestRegressor(5, random_state=0).fit(X, y).frame_
    fewer = LazyForestRegressor(5, random_state=0, fixed_point=tuple(frame)).fit(X[:40], y[:40])
    assert fewer.frame_ == frame
    with pytest.raises(ValueError, match="do not fit beside the weights"):
        LazyForestRegressor(fixed_point=(0, 70)).fit(X, y)
    with pytest.raises(ValueError, match="'fixed_point' parameter"):
        LazyForestRegressor(fixed_point=3).fit(X, y)


def test_reduced_is_the_forest_without_the_missing_columns():
    rng = np.random.default_rng(0)
    X = random_data_frame(rng, 200)
    y = rng.integers(0, 2, 200)
    queries = X[:30].assign(text=None)
    queries["number"] = queries["number"].fillna(3.0)
    queries[["fine", "flag"]] = X[["fine", "flag"]].dropna()[:30].to_numpy()
    reduced = LazyForestClassifier(10, missing="reduced", random_state=0).fit(X, y).predict_proba(queries)
    apart = LazyForestClassifier(10, random_state=0).fit(X[["number", "fine", "flag"]], y)
    assert (reduced == apart.predict_proba(queries[["number", "fine", "flag"]])).all()


def test_a_row_that_misses_everything_gets_the_votes_of_the_roots():
    X, y = np.arange(20.0)[:, None], [0] * 12 + [1] * 8
    proba = LazyForestClassifier(5, missing="reduced", bootstrap=False).fit(X, y).predict_proba([[np.nan]])
    assert proba.tolist() == [[1.0, 0.0]]


def test_paths_say_why():
    X = pd.DataFrame(
        {
            "age": [20.0, 30, 40, 50, np.nan, 60] * 5,
            "job": ["cook", "nurse", "cook", "nurse", "clerk", "clerk"] * 5,
        }
    )
    y = np.array(["no", "no", "yes", "yes", "yes", "no"] * 5)
    explored = LazyForestClassifier(2, bootstrap=False, min_samples_split=2).fit(X, y).explore(X)
    paths = explored.paths(0)
    assert len(paths) == 2
    assert paths[0].vote == "no"
    assert paths[0].steps[-1].rows == paths[0].rows
    assert "age = 20 < 35" in str(paths[0])
    long = LazyForestClassifier(1, bootstrap=False, min_samples_split=2).fit([[1234574.0], [1234575.0]], [0, 1])
    assert long.explore([[1234574.0]]).paths(0)[0].steps[0].text == "column 0 = 1234574.0 < 1234574.5"
    assert any("is missing" in step.text for step in explored.paths(4)[0].steps)
    assert {step.column for path in paths for step in path.steps} <= {"age", "job"}
    with pytest.raises(IndexError, match="from 0 to 29"):
        explored.paths(30)
    with pytest.raises(IndexError, match="whole number"):
        explored.paths("a")
    soft = LazyForestClassifier(1, bootstrap=False, max_depth=0, voting="soft").fit(X, y).explore(X).paths(0)
    assert soft[0].vote == {"no": pytest.approx(0.5), "yes": pytest.approx(0.5)}
    number = LazyForestRegressor(1, bootstrap=False, max_depth=0).fit(X, np.arange(30)).explore(X).paths(0)
    assert number[0].vote == pytest.approx(14.5)
