"""Cross-validation is a refit per split, bit for bit: scikit-learn's own functions are the judge."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars
import pytest
import sklearn
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn import model_selection as by_refits
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.metrics import accuracy_score, make_scorer

import lazyforest
from helpers import examples, random_data_frame
from lazyforest import LazyForestClassifier, LazyForestRegressor, bootstrap_counts, leave_one_out
from lazyforest.runner import explore_folds, take
from test_estimators import ALGORITHMS

pytestmark = pytest.mark.usefixtures("few_folds_share")

ABOUT_CLASSES = "Number of classes in training fold|The least populated class"  # scikit-learn warns of rare classes


def forest(**given):
    return LazyForestClassifier(**{"n_estimators": 5, "random_state": 0, **given})


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


# Random tables, all options, all splitters -------------------------------------------------------------


def one_of(rng, *choices):
    return choices[rng.integers(len(choices))]


def random_estimator(rng, regression, n_classes, shared):
    """``shared``: counts and weights that do not depend on other rows, so that folds share one exploration."""
    options = {
        "n_estimators": int(rng.integers(1, 5)),
        "max_depth": one_of(rng, None, 20, 20, 3, 1, 0),
        "min_samples_split": one_of(rng, 2, 5),
        "min_weight_fraction_leaf": one_of(rng, 0.0, 0.0, 0.05, 0.3),
        "max_features": one_of(rng, None, None, 1, "sqrt", 0.7),
        "bootstrap": one_of(rng, "poisson", "poisson", False if shared else "multinomial"),
        "algorithm": one_of(rng, *ALGORITHMS),
        "missing": "route" if shared else one_of(rng, "route", "reduced"),
        "random_state": int(rng.integers(2**63)),
    }
    if regression:
        return LazyForestRegressor(**options)
    factors = {c: float(rng.integers(1, 4)) for c in range(n_classes)}
    return LazyForestClassifier(
        **options,
        criterion=one_of(rng, "entropy", "gini"),
        voting=one_of(rng, "hard", "soft"),
        class_weight=one_of(rng, None, None, factors if shared else "balanced"),
    )


def random_rows(rng, n):
    """A data frame of numbers, dates, text, booleans, gaps, and at times a column that is nearly empty; or an array."""
    if rng.random() < 0.2:
        X = rng.normal(size=(n, 3)).round(rng.integers(0, 4))
        X[rng.random(X.shape) < rng.choice([0.0, 0.2])] = np.nan
        return X
    X = random_data_frame(rng, n).assign(day=pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 9, n), "D"))
    if rng.random() < 0.3:
        X["rare"] = pd.Series([None] * n, dtype=object)
        X.loc[rng.integers(n), "rare"] = one_of(rng, "x", 2.5)
    if rng.random() < 0.3:
        X.index = rng.permutation(n) + 100
    return polars.from_pandas(X) if rng.random() < 0.2 else X


def random_partition(rng, n, y, regression):
    """A cv whose test sets part the rows while all other rows are learnt from, and its groups."""
    groups = rng.integers(0, rng.integers(2, 7), n)
    groups[:2] = 0, 1
    k = int(rng.integers(2, min(n, 6) + 1))
    folds = rng.integers(0, k, n)
    folds[:2] = 0, 1
    tests = [np.flatnonzero(folds == f) for f in np.unique(folds)]
    written = [(rng.permutation(np.setdiff1d(np.arange(n), test)), rng.permutation(test)) for test in tests]
    kinds = [
        (by_refits.LeaveOneOut(), None),
        (by_refits.KFold(k, shuffle=True, random_state=int(rng.integers(99))), None),
        (by_refits.GroupKFold(2), groups),
        (by_refits.LeaveOneGroupOut(), groups),
        (by_refits.PredefinedSplit(folds), None),
        (written, None),
    ]
    if not regression and np.bincount(y).max() >= k:
        kinds += [(k, None), (by_refits.StratifiedKFold(k), None), (by_refits.StratifiedGroupKFold(2), groups)]
    return one_of(rng, *kinds)


class Case:
    """A table, a forest and a cv, and both ways to ask."""

    def __init__(self, seed, splitter, shared, large=False):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(300, 700) if large else rng.integers(3, 36))
        self.regression = rng.random() < 0.35
        self.X, n_classes = random_rows(rng, n), int(rng.integers(2, 6))
        drawn = rng.normal(size=n) * 10.0 ** rng.integers(-3, 9) if self.regression else rng.integers(0, n_classes, n)
        self.y = drawn if self.regression else np.unique(drawn, return_inverse=True)[1]
        self.estimator = random_estimator(rng, self.regression, n_classes, shared)
        self.cv, self.groups = splitter(rng, n, self.y, self.regression)
        self.params = {"row_ids": rng.choice(10_000, n, replace=False)}
        weight = one_of(rng, None, rng.integers(0, 4, n), rng.random(n) + 0.01, 3 * rng.random(n))
        self.params |= {} if weight is None else {"sample_weight": weight}
        self.routing = rng.random() < 0.5
        methods = ["predict"] if self.regression else ["predict", "predict_proba", "predict_log_proba"]
        self.method = one_of(rng, *methods)
        if not self.regression and self.estimator.class_weight is None and rng.random() < 0.5:
            self.y = np.array(["ash", "beech", "cedar", "oak", "yew"])[self.y]

    def refitted(self):
        """What scikit-learn is given: the frame of all rows; "balanced" has weights, and so a frame, of each split."""
        if not self.regression and self.estimator.class_weight == "balanced":
            return self.estimator
        frame = clone(self.estimator).set_params(algorithm="batched").fit(self.X, self.y, **self.params).frame_
        return clone(self.estimator).set_params(fixed_point=tuple(frame))

    def ask(self, function, estimator, **given):
        """What the function returns, or the type of what it raises."""
        given |= {"cv": self.cv, "params": self.params}
        if self.groups is not None and self.routing:
            given["params"] = self.params | {"groups": self.groups}
        elif self.groups is not None:
            given["groups"] = self.groups
        with warnings.catch_warnings(), sklearn.config_context(enable_metadata_routing=self.routing):
            warnings.filterwarnings("ignore", message=ABOUT_CLASSES)
            if self.routing:
                wanted = dict.fromkeys(self.params, True)
                estimator = clone(estimator).set_fit_request(**wanted)
            try:
                return function(estimator, self.X, self.y, **given)
            except ValueError as error:
                if "positive total" in str(error):
                    return "no weight"
                raise


def assert_predictions_are_those_of_refits(*given):
    case = Case(*given)
    got = case.ask(lazyforest.cross_val_predict, case.estimator, method=case.method)
    expected = case.ask(by_refits.cross_val_predict, case.refitted(), method=case.method)
    assert np.array_equal(got, expected)


@settings(max_examples=examples(300), suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 2**32 - 1))
def test_folds_that_share_are_refits(seed):
    assert_predictions_are_those_of_refits(seed, random_partition, True)


@pytest.mark.parametrize("seed", range(12))
def test_folds_of_larger_tables_are_refits(seed):
    """Nodes that are searched by histogram, columns with more values than bins: bins of all rows, not of the split."""
    assert_predictions_are_those_of_refits(seed, random_partition, True, True)


def partition_with_gaps(rng, n, y, regression):
    """A partition, or one whose training sides are not all other rows."""
    tests = np.array_split(rng.permutation(n), rng.integers(2, 4))
    gaps = [(rng.permutation(np.setdiff1d(np.arange(n), test))[: max(1, n // 3)], test) for test in tests]
    return one_of(rng, random_partition(rng, n, y, regression), (gaps, None))


@settings(max_examples=examples(100), suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 2**32 - 1))
def test_splits_one_by_one_are_refits(seed):
    assert_predictions_are_those_of_refits(seed, partition_with_gaps, False)


def any_splits(rng, n, y, regression):
    """Splits that need not part the rows."""
    seed = int(rng.integers(99))
    return one_of(
        rng,
        (by_refits.ShuffleSplit(3, test_size=0.3, random_state=seed), None),
        (by_refits.RepeatedKFold(n_splits=2, n_repeats=2, random_state=seed), None),
        (by_refits.TimeSeriesSplit(2), None),
        (by_refits.PredefinedSplit(np.arange(n) % 3 - 1), None),
        (by_refits.LeavePGroupsOut(2), np.arange(n) % 3),
        random_partition(rng, n, y, regression),
    )


@settings(max_examples=examples(80), suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 2**32 - 1))
def test_scores_are_those_of_refits(seed):
    case = Case(seed, any_splits, shared=seed % 5 > 0)
    case.routing = False  # with weights, every scorer would have to be told
    scoring = None if seed % 2 else {False: ["accuracy", "f1_macro"], True: ["r2", "neg_max_error"]}[case.regression]
    wanted = {"scoring": scoring, "return_train_score": seed % 3 == 0}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="R.2 score is not well-defined")
        got = case.ask(lazyforest.cross_validate, case.estimator, **wanted)
        expected = case.ask(by_refits.cross_validate, case.refitted(), error_score="raise", **wanted)
    if isinstance(expected, str):
        assert got == expected
        return
    assert set(got) == set(expected)
    for name in set(expected) - {"fit_time", "score_time"}:
        assert np.array_equal(got[name], expected[name], equal_nan=True), name


# What the encoding of all rows does not know of one side -----------------------------------------------


def assert_like_refits(X, y, cv, **options):
    model = forest(**options)
    got = lazyforest.cross_val_predict(model, X, y, cv=cv, method="predict_proba")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=ABOUT_CLASSES)
        params = {"row_ids": np.arange(len(y))}
        expected = by_refits.cross_val_predict(model, X, y, cv=cv, method="predict_proba", params=params)
    assert (got == expected).all()
    return got


def test_a_category_that_only_the_test_set_has():
    X = pd.DataFrame({"t": list("aabbccdd") * 4 + ["z"] * 8, "n": np.arange(40) % 7})
    assert_like_refits(X, np.arange(40) // 2 % 2, by_refits.KFold(5), min_samples_split=2)


@pytest.mark.parametrize("values", [list("ab") * 4, [1.5, 2.5] * 4, [True, False] * 4])
def test_a_column_that_only_the_test_set_has(values):
    X = pd.DataFrame({"gone": pd.Series([None] * 32 + values, dtype=object), "n": np.arange(40) % 7})
    assert_like_refits(X, np.arange(40) // 2 % 2, by_refits.KFold(5), min_samples_split=2)


def test_a_class_that_a_training_side_has_not():
    X, y = np.arange(30.0)[:, None] % 7, np.repeat(["a", "b", "c"], 10)
    proba = assert_like_refits(X, y, by_refits.KFold(3))
    assert (proba[np.arange(30), np.arange(30) // 10] == 0).all()
    logs = lazyforest.cross_val_predict(forest(), X, y, cv=by_refits.KFold(3), method="predict_log_proba")
    assert (logs[:10, 0] == np.finfo(float).min).all()
    assert (logs[:10, 1:] >= np.log(proba[:10, 1:], where=proba[:10, 1:] > 0, out=np.full((10, 2), -np.inf))).all()


def test_empty_bags_leave_the_classes_of_the_training_side_alike():
    """A tree that draws none of the rows left; the uniform share is of the classes that these have."""
    seed = next(s for s in range(1000) if not bootstrap_counts(s, 0, np.arange(4))[1:].any())
    X, y = np.zeros((4, 1)), np.array(["a", "b", "c", "c"])
    proba = leave_one_out(forest(n_estimators=1, random_state=seed), X, y)
    assert proba[0].tolist() == [0.0, 0.5, 0.5]
    assert_like_refits(X, y, by_refits.LeaveOneOut(), n_estimators=1, random_state=seed)


def test_a_side_has_the_codes_of_all_rows(iris):
    X, y = iris
    whole, some = forest().fit(X, y), np.arange(0, 150, 3)
    apart = forest().fit(X[some], y[some], row_ids=some)
    part = take(whole._forest, some)
    assert part.table.codes.flags.c_contiguous
    assert (part.table.first_code == whole._forest.table.first_code).all()
    assert not np.array_equal(part.table.codes, apart._forest.table.codes)


def test_queries_without_a_fold_see_all_rows_and_rows_without_one_are_seen_by_all(iris):
    X, y = iris
    whole = forest().fit(X, y)
    folds, own = np.where(np.arange(150) < 100, np.arange(150) % 2, -1), np.array([-1, 0, 1, -1, 0])
    found = explore_folds(whole._forest, X[:5], own, folds, None, False)
    for row in range(5):
        seen = np.flatnonzero((folds != own[row]) | (own[row] == -1))
        refit = forest().fit(X[seen], y[seen], row_ids=seen)
        assert (found.votes[row] == refit.explore(X[[row]]).votes).all()


# The functions -----------------------------------------------------------------------------------------


def without(model, X, y, row, weight=None):
    """The forest of all other rows."""
    others = np.delete(np.arange(len(y)), row)
    return model.fit(X[others], y[others], None if weight is None else weight[others], others)


@pytest.mark.parametrize("regression", [False, True])
def test_leave_one_out(regression):
    X, y = (part[::3] for part in (load_diabetes if regression else load_iris)(return_X_y=True))
    model = LazyForestRegressor(5, random_state=0) if regression else forest()
    framed, method = model.set_params(fixed_point=model.fit(X, y).frame_), "predict" if regression else "predict_proba"
    expected = np.array([getattr(without(framed, X, y, row), method)(X[[row]])[0] for row in range(len(y))])
    model = clone(model).set_params(fixed_point=None)
    assert (leave_one_out(model, X, y) == expected).all()
    assert (leave_one_out(model, X, y, method=method, n_jobs=2) == expected).all()
    by_name = lazyforest.cross_val_predict(model, X, y, cv=by_refits.LeaveOneOut(), method=method)
    assert (by_name == expected).all()
    shuffled = np.random.default_rng(0).permutation(len(y))
    assert (leave_one_out(model, X[shuffled], y[shuffled], row_ids=shuffled) == expected[shuffled]).all()


def test_leave_one_out_of_weighted_rows(iris):
    X, y = iris
    weight = np.random.default_rng(0).integers(0, 3, 150)
    params = {"sample_weight": weight, "row_ids": np.arange(150)}
    cv = by_refits.LeaveOneOut()
    expected = by_refits.cross_val_predict(forest(), X, y, cv=cv, params=params, method="predict_proba")
    assert (leave_one_out(forest(), X, y, sample_weight=weight) == expected).all()


def test_leave_one_out_of_a_heavy_row_on_a_small_side():
    """Without it every cut is as good as the best: too many to be kept. That must not make each row search anew."""
    rng, n = np.random.default_rng(0), 1500
    y, weight = np.arange(n) % 2, np.where(np.arange(n) == 1, 8, 1)
    X = np.empty((n, 30))
    X[:, 0] = np.isin(np.arange(n), [1, 2, 3])
    for j in range(1, 30):  # neighbours are one of each class
        pairs = np.insert(1 + rng.permutation(n // 2 - 1), n // 4, 0)
        X[:, j] = 2 * np.argsort(pairs).repeat(2) + y
    model = forest(n_estimators=1, bootstrap=False, max_depth=1)
    explored = leave_one_out(model, X, y, method="explore", sample_weight=weight)
    for row in [*range(8), *range(8, n, 100)]:
        assert (explored.proba[row] == without(model, X, y, row, weight).predict_proba(X[[row]])[0]).all()
    assert explored.rows_scanned < 20 * n  # a search for each row would be n * n


def test_exploration(iris):
    X, y = iris
    names = np.array(["one", "two", "three"])[y]
    explored = leave_one_out(forest(), X, names, method="explore")
    assert (explored.proba == leave_one_out(forest(), X, names)).all()
    assert (explored.prediction == leave_one_out(forest(), X, names, method="predict")).all()
    assert explored.forks >= 0
    assert explored.rows_scanned > 0
    assert explored.nodes_explored > 0
    for row in (7, 90):
        refit = without(forest(), X, names, row).explore(X[[row]])
        assert [str(path) for path in explored.paths(row)] == [str(path) for path in refit.paths(0)]
    assert str(pickle.loads(pickle.dumps(explored)).paths(7)[0]) == str(explored.paths(7)[0])
    with pytest.raises(IndexError, match="from 0 to 149"):
        explored.paths(150)


def test_exploration_split_by_split_scans_what_refits_scan(iris):
    X, y = iris
    model = forest(bootstrap="multinomial")
    explored = lazyforest.cross_val_predict(model, X, y, cv=3, method="explore")
    scanned = 0
    for train, test in by_refits.StratifiedKFold(3).split(X, y):
        scanned += model.fit(X[train], y[train], row_ids=train).explore(X[test]).rows_scanned
    assert explored.forks == 0
    assert explored.rows_scanned == explored.rows_scanned_by_refits == scanned


@pytest.mark.parametrize("kind", ["numpy", "pandas", "polars", "pyarrow", "list"])
def test_tables_of_any_kind(iris, kind):
    X, y = iris
    frame = pd.DataFrame(X, columns=list("abcd"), index=np.arange(150) * 2)
    tables = {
        "numpy": lambda: (X, y),
        "pandas": lambda: (frame, pd.Series(y, index=frame.index)),
        "polars": lambda: (polars.from_pandas(frame), polars.Series(y)),
        "pyarrow": lambda: (polars.from_pandas(frame).to_arrow(), y),
        "list": lambda: (X.tolist(), y.tolist()),
    }
    table, target = tables[kind]()
    expected = lazyforest.cross_validate(forest(), X, y, cv=3, return_train_score=True)
    got = lazyforest.cross_validate(forest(), table, target, cv=3, return_train_score=True)
    assert (got["test_score"] == expected["test_score"]).all()
    assert (got["train_score"] == expected["train_score"]).all()
    assert (leave_one_out(forest(), table, target) == leave_one_out(forest(), X, y)).all()


def test_the_estimator_is_not_changed(iris):
    X, y = iris
    unfitted, fitted = forest(), forest().fit(X[:60], y[:60])
    before = set(vars(unfitted))
    assert (leave_one_out(unfitted, X, y) == leave_one_out(fitted, X, y)).all()
    lazyforest.cross_validate(fitted, X, y, return_estimator=True)
    assert set(vars(unfitted)) == before
    assert fitted.classes_.tolist() == [0, 1]


def test_one_seed_for_all_splits_without_a_random_state(iris):
    """A random state that is a generator is copied, as scikit-learn does for every refit."""
    X, y = iris
    model = forest(random_state=np.random.RandomState(3))
    params = {"row_ids": np.arange(150)}
    expected = by_refits.cross_val_predict(model, X, y, params=params)
    assert (lazyforest.cross_val_predict(model, X, y) == expected).all()
    assert leave_one_out(forest(random_state=None), X, y).shape == (150, 3)


# Scoring -----------------------------------------------------------------------------------------------


def shuffles_in_place(model, X, y):
    """As a permutation importance would."""
    X[:] = X[::-1]
    return model.score(X, y)


SCORINGS = {
    "none": None,
    "name": "neg_log_loss",
    "several": ("accuracy", "roc_auc_ovr", "f1_macro"),
    "scorer": make_scorer(accuracy_score, normalize=False),
    "dict": {"right": "accuracy", "loss": "neg_log_loss"},
    "callable": lambda model, X, y: float(model.predict_proba(X).max()),
    "callable that returns several": lambda model, X, y: {"a": model.score(X, y), "b": len(X)},
    "callable that changes rows": lambda model, X, y: model.score(X[::-1] * 1.5, y),
    "callable that changes rows in place": shuffles_in_place,
    "callable that fits anew": lambda model, X, y: model.fit(X, y).score(X, y) + clone(model).fit(X, y).score(X, y),
    "callable that asks for paths": lambda model, X, y: len(model.explore(X).paths(0)[0].steps),
}


@pytest.mark.parametrize("scoring", SCORINGS)
@pytest.mark.parametrize("algorithm", ["batched", "eager"])
def test_scoring(iris, scoring, algorithm):
    X, y = iris
    model, params = forest(algorithm=algorithm), {"row_ids": np.arange(150)}
    wanted = {"scoring": SCORINGS[scoring], "cv": by_refits.StratifiedKFold(4), "return_train_score": True}
    got = lazyforest.cross_validate(model, X, y, **wanted)
    expected = by_refits.cross_validate(model, X, y, params=params, **wanted)
    assert set(got) == set(expected)
    for name in set(expected) - {"fit_time", "score_time"}:
        assert (got[name] == expected[name]).all(), name
    assert (got["fit_time"] > 0).all()
    if scoring in ("none", "name", "scorer"):
        scores = lazyforest.cross_val_score(model, X, y, scoring=SCORINGS[scoring], cv=wanted["cv"])
        assert (scores == expected["test_score"]).all()


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_estimators_and_indices_of_splits(iris, algorithm):
    X, y = iris
    model, cv = forest(algorithm=algorithm), by_refits.KFold(3)
    got = lazyforest.cross_validate(model, X, y, cv=cv, return_estimator=True, return_indices=True)
    for fitted, train, test in zip(got["estimator"], got["indices"]["train"], got["indices"]["test"], strict=True):
        refit = clone(model).fit(X[train], y[train], row_ids=train)
        assert type(fitted) is LazyForestClassifier
        assert fitted.get_params() == model.get_params()
        assert fitted.classes_.tolist() == refit.classes_.tolist()
        assert (fitted.predict_proba(X[test]) == refit.predict_proba(X[test])).all()
        assert fitted.explore(X[test]).nodes_explored == refit.explore(X[test]).nodes_explored
    assert np.concatenate(got["indices"]["test"]).tolist() == list(range(150))


def test_masks_as_splits(iris):
    X, y = iris
    numbers = list(by_refits.ShuffleSplit(3, random_state=0).split(X))
    masks = [tuple(np.isin(np.arange(150), rows) for rows in split) for split in numbers]
    expected = by_refits.cross_val_score(forest(), X, y, cv=masks, params={"row_ids": np.arange(150)})
    assert (lazyforest.cross_val_score(forest(), X, y, cv=masks) == expected).all()


def fails_on_the_first_rows(model, X, y):
    if X[0, 0] == 5.1:
        raise ArithmeticError("not this one")
    return model.score(X, y)


def test_scorers_that_fail(iris):
    X, y = iris
    cv, several = by_refits.KFold(3), {"fails": fails_on_the_first_rows, "works": "accuracy"}
    with pytest.warns(UserWarning, match=r"Scoring failed[\s\S]*not this one"):
        scores = lazyforest.cross_val_score(forest(), X, y, cv=cv, scoring=fails_on_the_first_rows, error_score=-1.0)
    assert scores.tolist() == [-1.0, 0.0, 0.0]
    with pytest.warns(UserWarning, match="Scoring failed"):
        got = lazyforest.cross_validate(forest(), X, y, cv=cv, scoring=several)
    assert np.isnan(got["test_fails"][0])
    assert got["test_works"].tolist() == [0.0, 0.0, 0.0]
    for scoring in (fails_on_the_first_rows, several):
        with pytest.raises(ArithmeticError):
            lazyforest.cross_validate(forest(), X, y, cv=cv, scoring=scoring, error_score="raise")
    with pytest.raises(ValueError, match="must return a number"):
        lazyforest.cross_validate(forest(), X, y, scoring=lambda model, X, y: "good")


def test_weights_reach_scorers_that_request_them(iris):
    X, y = iris
    weight = np.random.default_rng(0).integers(1, 5, 150)
    with sklearn.config_context(enable_metadata_routing=True):
        model = forest().set_fit_request(row_ids=True, sample_weight=True)
        scorer = make_scorer(accuracy_score).set_score_request(sample_weight=True)
        given = {"params": {"row_ids": np.arange(150), "sample_weight": weight}, "scoring": scorer, "cv": 3}
        got, expected = (
            lazyforest.cross_val_score(model, X, y, **given),
            by_refits.cross_val_score(model, X, y, **given),
        )
        assert (got == expected).all()
        assert lazyforest.cross_val_score(forest(), X, y).shape == (5,)


# Progress ----------------------------------------------------------------------------------------------


def test_verbose_says_how(iris, capsys):
    X, y = iris
    lazyforest.cross_val_predict(forest(), X, y, cv=3)
    assert capsys.readouterr() == ("", "")
    lazyforest.cross_val_predict(forest(), X, y, cv=3, verbose=1)
    assert "one by one" not in (said := capsys.readouterr().err)
    assert " in " in said
    for options, cv, reason in [
        ({"bootstrap": "multinomial"}, 3, "the counts of bootstrap='multinomial'"),
        ({"class_weight": "balanced"}, 3, "the weights of class_weight='balanced'"),
        ({}, by_refits.ShuffleSplit(3), "test sets overlap"),
    ]:
        lazyforest.cross_val_score(forest(**options, verbose=1), X, y, cv=cv)
        assert f"3 of 3 splits, one by one because {reason}" in capsys.readouterr().err
    X = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    leave_one_out(forest(missing="reduced"), X[:9], y[:9], verbose=1)
    assert "9 of 9 splits, one by one because missing='reduced'" in capsys.readouterr().err
    proba = leave_one_out(forest(missing="reduced"), iris[0], y, verbose=1)  # nothing is missing
    assert "one by one" not in capsys.readouterr().err
    assert (proba == leave_one_out(forest(), iris[0], y)).all()
