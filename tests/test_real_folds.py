"""Folds of the paper's tables are refits, bit for bit: scikit-learn's own functions refit and predict."""

import numpy as np
import pytest
from sklearn import model_selection as by_refits

import lazyforest
from lazyforest import LazyForestClassifier


def assert_proba_is_that_of_refits(X, y, trees, cv):
    forest, given = LazyForestClassifier(trees, random_state=0), {"cv": cv, "method": "predict_proba"}
    expected = by_refits.cross_val_predict(forest, X, y, params={"row_ids": np.arange(len(y))}, **given)
    assert (lazyforest.cross_val_predict(forest, X, y, **given) == expected).all()


@pytest.mark.parametrize(("name", "trees"), [("breast", 20), ("c2u", 10)])
def test_leave_one_out(datasets, name, trees):
    assert_proba_is_that_of_refits(*datasets(name), trees, by_refits.LeaveOneOut())


@pytest.mark.usefixtures("few_folds_share")
@pytest.mark.parametrize("name", ["gamma", "adult"])
@pytest.mark.parametrize("n_folds", [10, 40])
def test_folds(datasets, name, n_folds):
    assert_proba_is_that_of_refits(*datasets(name), 20, by_refits.StratifiedKFold(n_folds))


def every_class(model, X, y):
    """A scorer that says all: the probability of each class for the one row that is tested."""
    return dict(zip(model.classes_, model.predict_proba(X)[0], strict=True))


@pytest.mark.parametrize("name", ["gamma", "adult"])
def test_two_hundred_rows_left_out_one_at_a_time(datasets, name):
    X, y = datasets(name)
    left_out = np.random.default_rng(0).choice(len(y), 200, replace=False)
    cv = [(np.delete(np.arange(len(y)), row), [row]) for row in left_out]
    forest, given = LazyForestClassifier(10, random_state=0), {"cv": cv, "scoring": every_class}
    got = lazyforest.cross_validate(forest, X, y, **given)
    expected = by_refits.cross_validate(forest, X, y, params={"row_ids": np.arange(len(y))}, **given)
    for label in np.unique(y):
        assert (got[f"test_{label}"] == expected[f"test_{label}"]).all()
