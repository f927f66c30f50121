"""Cross-validation that cannot be: the error names the argument, the rule, the value and what to do."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn import model_selection as by_refits
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline

import lazyforest
from lazyforest import LazyForestClassifier, LazyForestRegressor, leave_one_out
from test_bad_input import X, Y, assert_says, forest, message_of

GROUPS = np.arange(10) // 2
WITH_NAN = np.where(GROUPS == 3, np.nan, GROUPS)
WITH_NONE = np.array([None if g == 3 else f"g{g}" for g in GROUPS], dtype=object)
OVERLAP = [(np.arange(5), np.arange(5, 10)), (np.arange(4), np.arange(4, 10))]
BAD_SPLITS = {
    "groups with NaN": (by_refits.GroupKFold(2), WITH_NAN, ("groups", "missing", "2 of 10", "row 6")),
    "groups with None": (by_refits.LeaveOneGroupOut(), WITH_NONE, ("groups", "missing", "2 of 10", "row 6")),
    "missing dates": (
        by_refits.LeaveOneGroupOut(),
        pd.Series(pd.to_datetime(["2024-01-01", None] * 5)),
        ("groups", "missing", "5 of 10", "row 1"),
    ),
    "too few groups": (by_refits.GroupKFold(2), GROUPS[:7], ("groups", "10", "(7,)")),
    "no groups": (by_refits.GroupKFold(2), None, ("groups", "None", "groups")),
    "one group": (by_refits.LeaveOneGroupOut(), np.zeros(10), ("groups", "fewer than 2", "at least 2")),
    "one group for two folds": (by_refits.GroupKFold(2), np.zeros(10), ("n_splits=2", "number of groups: 1")),
    "fewer rows than folds": (by_refits.KFold(11), None, ("n_splits=11", "n_samples=10")),
    "fewer rows of each class than folds": (6, None, ("n_splits=6", "members in each class")),
    "one fold": (1, None, ("k-fold cross-validation requires", "n_splits=1")),
    "overlap": (OVERLAP, None, ("cross_val_predict", "partitions", "row 5 in 2")),
    "rows never tested": (by_refits.TimeSeriesSplit(3), None, ("cross_val_predict", "partitions", "row 0 in 0")),
    "nothing to learn from": ([([], np.arange(10))], None, ("training side of split 0", "no row")),
    "a row twice": ([([1, 2, 2], np.arange(10))], None, ("training side of split 0", "row 2 2 times", "sample_weight")),
    "a row that is not there": ([([0, 10], [1])], None, ("training side of split 0", "0 to 9", "10")),
    "fractions": ([([0.5], [1])], None, ("training side of split 0", "row numbers", "float64")),
    "no splits": ([], None, ("cv", "at least one split")),
}


@pytest.mark.parametrize("case", BAD_SPLITS)
def test_bad_splits(case):
    cv, groups, words = BAD_SPLITS[case]
    call = lambda: lazyforest.cross_val_predict(forest(), X, Y, cv=cv, groups=groups)  # noqa: E731
    assert_says(message_of(call), *words)
    if case not in ("overlap", "rows never tested"):
        assert_says(message_of(lambda: lazyforest.cross_val_score(forest(), X, Y, cv=cv, groups=groups)), *words)


def test_a_training_side_without_weight():
    weight = np.eye(10)[3]
    assert_says(message_of(lambda: leave_one_out(forest(), X, Y, sample_weight=weight)), "split 3", "positive", "0")


@pytest.mark.parametrize(
    "foreign",
    [
        RandomForestClassifier(),
        make_pipeline(forest()),
        LazyForestClassifier,
        None,
        "x",
    ],
)
def test_foreign_estimators(foreign):
    calls = [
        leave_one_out,
        lazyforest.cross_val_predict,
        lazyforest.cross_val_score,
        lazyforest.cross_validate,
    ]
    name = "LazyForestClassifier" if isinstance(foreign, type) else type(foreign).__name__
    for call in calls:
        message = message_of(lambda call=call: call(foreign, X, Y), TypeError)
        assert_says(
            message, "estimator", "LazyForestClassifier or a LazyForestRegressor", name, "sklearn.model_selection"
        )


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"method": "decision_function"}, ("method", "'predict_proba'", "'decision_function'")),
        ({"n_jobs": 0}, ("n_jobs", "0")),
        ({"verbose": -1}, ("verbose", "-1")),
        ({"pre_dispatch": 3}, ("pre_dispatch", "3")),
        ({"params": {"row_ids": np.zeros(10, int)}}, ("row_ids", "differ")),
        ({"params": {"sample_weight": np.ones(3)}}, ("sample_weight", "(3,)")),
    ],
)
def test_bad_arguments(given, words):
    assert_says(message_of(lambda: lazyforest.cross_val_predict(forest(), X, Y, **given)), *words)


def test_more_bad_arguments():
    message = message_of(lambda: lazyforest.cross_val_predict(forest(), X, Y, params={"speed": 3}), TypeError)
    assert_says(message, "params", "sample_weight and row_ids", "speed")
    message = message_of(lambda: leave_one_out(LazyForestRegressor(), X, Y, method="predict_proba"))
    assert_says(message, "method", "LazyForestRegressor", "'predict_proba'")
    message = message_of(lambda: lazyforest.cross_validate(forest(), X, Y, error_score="loud"))
    assert_says(message, "error_score", "'raise' or a number", "'loud'")
    message = message_of(lambda: lazyforest.cross_validate(forest(max_depth=-1), X, Y))
    assert_says(message, "max_depth", "-1")
    message = message_of(lambda: lazyforest.cross_val_predict(forest(), X))
    assert_says(message, "requires y", "None")
    message = message_of(lambda: leave_one_out(forest(), X[:1], Y[:1]))
    assert_says(message, "n_samples=1")
    with sklearn.config_context(enable_metadata_routing=True):
        message = message_of(lambda: lazyforest.cross_val_predict(forest(), X, Y, groups=GROUPS))
    assert_says(message, "groups", "params")
