"""The label audit: what it ranks, and as which data frame."""

import importlib.util

import numpy as np
import pandas as pd
import polars
import pyarrow
import pytest
from sklearn.datasets import load_iris

from lazyforest import LazyForestClassifier, LazyForestRegressor, audit, label_audit, leave_one_out
from test_bad_input import assert_says, message_of

COLUMNS = ["row", "label", "p_label", "prediction", "p_prediction"]


@pytest.fixture(scope="module")
def flipped():
    """Iris, four of whose labels are wrong; the rows that are."""
    X, y = load_iris(return_X_y=True)
    names, wrong = np.array(["setosa", "versicolor", "virginica"])[y], np.array([3, 17, 60, 120])
    names[wrong] = np.roll(np.unique(names), 1)[y[wrong]]
    return X, names, wrong


def forest(**given):
    return LazyForestClassifier(20, random_state=0, **given)


def test_it_ranks_by_the_probability_of_the_own_label_without_the_row(flipped):
    X, y, wrong = flipped
    found = label_audit(forest(), X, y)
    proba = leave_one_out(forest(), X, y)
    classes = np.unique(y)
    assert list(found) == COLUMNS
    assert sorted(found["row"]) == list(range(150))
    assert found["p_label"].is_monotonic_increasing
    assert found["label"].tolist() == y[found["row"]].tolist()
    assert found["p_label"].tolist() == proba[found["row"], np.searchsorted(classes, found["label"])].tolist()
    assert found["p_prediction"].tolist() == proba[found["row"]].max(axis=1).tolist()
    assert found["prediction"].tolist() == classes[proba[found["row"]].argmax(axis=1)].tolist()
    assert set(wrong) <= set(found["row"][:10])
    order = list(zip(found["p_label"], -found["p_prediction"], found["row"], strict=True))
    assert order == sorted(order)


def test_weights_and_row_ids_count(flipped):
    X, y, _ = flipped
    weight, row_ids = np.random.default_rng(0).integers(1, 4, 150), np.arange(150) + 7
    found = label_audit(forest(), X, y, sample_weight=weight, row_ids=row_ids, n_jobs=2)
    proba = leave_one_out(forest(), X, y, sample_weight=weight, row_ids=row_ids)
    assert found["p_prediction"].tolist() == proba.max(axis=1)[found["row"]].tolist()


def test_the_data_frame_is_of_the_library_of_the_table(flipped):
    X, y, _ = flipped
    frame = pd.DataFrame(X, columns=list("abcd"), index=[f"plant {i}" for i in range(150)])
    expected = label_audit(forest(), X, y)
    found = label_audit(forest(), frame, y)
    assert isinstance(found, pd.DataFrame)
    assert found.index.tolist() == [f"plant {i}" for i in found["row"]]
    assert found.reset_index(drop=True).equals(expected)
    without_index = polars.from_pandas(frame)
    for table, kind in ((without_index, polars.DataFrame), (without_index.to_arrow(), pyarrow.Table)):
        found = label_audit(forest(), table, y)
        assert isinstance(found, kind)
        assert found.to_pandas()[COLUMNS].equals(expected)


def test_arrays_take_what_is_installed(flipped, monkeypatch):
    X, y, _ = flipped
    find, hidden = importlib.util.find_spec, {"pandas"}
    monkeypatch.setattr(audit.importlib.util, "find_spec", lambda name: None if name in hidden else find(name))
    assert isinstance(label_audit(forest(), X, y), polars.DataFrame)
    hidden |= {"polars", "pyarrow"}
    assert_says(message_of(lambda: label_audit(forest(), X, y), ImportError), "label_audit", "pandas", "leave_one_out")
    assert isinstance(label_audit(forest(), polars.DataFrame(X), y), polars.DataFrame)


def test_numbers_as_labels_stay_numbers(flipped):
    X, _, _ = flipped
    found = label_audit(forest(), X, np.arange(150) // 50)
    assert found["label"].dtype == found["prediction"].dtype == np.int64


@pytest.mark.parametrize(("estimator", "name"), [(LazyForestRegressor(), "LazyForestRegressor"), (3, "int")])
def test_what_is_no_classifier(flipped, estimator, name):
    X, y, _ = flipped
    message = message_of(lambda: label_audit(estimator, X, y), TypeError)
    assert_says(message, "estimator", "LazyForestClassifier", name)
