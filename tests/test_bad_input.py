"""Bad input gets an error that names the parameter or column, the rule, the value and what to do."""

import re

import numpy as np
import pandas
import pytest
from scipy import sparse

from lazyforest import LazyForestClassifier, bootstrap_counts

X = np.arange(20.0).reshape(10, 2)
Y = np.arange(10) % 2
FRAME = pandas.DataFrame(X, columns=["a", "b"])
WIDE = np.arange(30.0).reshape(10, 3)  # bad tables have another width than the good one: nothing of them may stay
ADVICE = re.compile(r"\b(Use|Give|Pass|Select|Rename|Convert|Replace|Leave|Divide|Number|Turn|Call|Drop|Reshape)\b")


def forest(**given):
    return LazyForestClassifier(**{"n_estimators": 2, "random_state": 0, **given})


def changed(array, at, value):
    copy = array.copy()
    copy[at] = value
    return copy


def message_of(call, kind=ValueError):
    with pytest.raises(kind) as caught:
        call()
    return str(caught.value)


def assert_says(message, *words):
    for word in words:
        assert word in message
    assert ADVICE.search(message), f"no advice in: {message}"


# Parameters --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [
        ("n_estimators", 0, "an int >= 1"),
        ("n_estimators", 2.5, "an int >= 1"),
        ("n_estimators", True, "an int >= 1"),
        ("criterion", "log_loss", "'entropy' or 'gini'"),
        ("criterion", None, "'entropy' or 'gini'"),
        ("max_depth", -1, "an int >= 0 or None"),
        ("max_depth", 2.0, "an int >= 0 or None"),
        ("min_samples_split", 1, "an int >= 2"),
        ("min_weight_fraction_leaf", 0.6, "from 0 to 0.5"),
        ("min_weight_fraction_leaf", float("nan"), "from 0 to 0.5"),
        ("max_features", 0, "'sqrt', 'log2' or None"),
        ("max_features", 1.5, "a float in (0, 1]"),
        ("max_features", "auto", "'sqrt', 'log2' or None"),
        ("bootstrap", True, "'poisson', 'multinomial' or False"),
        ("bootstrap", 0, "'poisson', 'multinomial' or False"),
        ("voting", "loud", "'hard' or 'soft'"),
        ("algorithm", "fast", "'batched', 'lazy' or 'eager'"),
        ("class_weight", "unbalanced", "'balanced'"),
        ("class_weight", 3, "'balanced'"),
        ("fixed_point", 3, "a pair (weight_bits, target_bits)"),
        ("fixed_point", (1.5, 0), "a pair (weight_bits, target_bits)"),
        ("n_jobs", 0, "an int other than 0 or None"),
        ("random_state", -1, "an int from 0 to 2**64 - 1"),
        ("random_state", "seed", "an int from 0 to 2**64 - 1"),
        ("verbose", -1, "an int >= 0"),
    ],
)
def test_parameter(name, value, rule):
    message = message_of(lambda: forest(**{name: value}).fit(X, Y))
    says = rf"The '{name}' parameter( of LazyForestClassifier)? must be .*{re.escape(rule)}.*\. "
    advice = rf"Got {re.escape(repr(value))} instead\. [A-Z].+\."
    assert re.fullmatch(says + advice, message)


@pytest.mark.parametrize(
    ("class_weight", "words"),
    [
        ({0: -1.0, 1: 1.0}, ("negative", "-1")),
        ({0: float("nan"), 1: 1.0}, ("finite", "nan")),
        ({0: "x", 1: 1.0}, ("number", "'x'")),
        ({5: 1.0}, ("5",)),
    ],
)
def test_class_weight(class_weight, words):
    assert_says(message_of(lambda: forest(class_weight=class_weight).fit(X, Y)), "class_weight", *words)


def test_fixed_point_without_room():
    assert_says(message_of(lambda: forest(fixed_point=(60, 0)).fit(X, Y)), "fixed_point", "60")


# Tables and targets in fit -----------------------------------------------------------------------------

OBJECTS = changed(WIDE.astype(object), (2, 1), {"key": 1})
NAMED = pandas.DataFrame(WIDE, columns=["a", "b", "c"])
BAD_FITS = {
    "infinity": (changed(WIDE, (3, 1), np.inf), Y, {}, ("Column 1", "inf", "row 3")),
    "infinity in a named column": (NAMED.assign(c=-np.inf), Y, {}, ("Column 'c'", "inf", "row 0")),
    "no rows": (WIDE[:0], Y[:0], {}, ("X", "0 sample(s)", "(0, 3)", "minimum of 1")),
    "no rows in a data frame": (NAMED[:0], Y[:0], {}, ("X", "0 sample(s)", "(0, 3)", "minimum of 1")),
    "no columns": (WIDE[:, :0], Y, {}, ("X", "0 feature(s)", "(10, 0)", "minimum of 1")),
    "no columns in a data frame": (NAMED[[]], Y, {}, ("X", "0 feature(s)", "(10, 0)", "minimum of 1")),
    "one dimension": (WIDE[:, 0], Y, {}, ("2D", "1D")),
    "continuous classes": (WIDE, Y + 0.5, {}, ("y", "continuous", "0.5", "LazyForestRegressor")),
    "infinite class": (WIDE, changed(Y * 1.0, 4, np.inf), {}, ("y", "inf", "row 4")),
    "missing class": (WIDE, changed(Y * 1.0, 4, np.nan), {}, ("y", "NaN", "row 4")),
    "too few classes": (WIDE, Y[:7], {}, ("y", "10", "7")),
    "two columns of classes": (WIDE, np.column_stack([Y, Y]), {}, ("y", "1d", "(10, 2)")),
    "complex numbers": (WIDE + 1j, Y, {}, ("X", "Complex", "(10, 3)")),
    "complex classes": (WIDE, Y + 1j, {}, ("y", "Complex")),
    "negative weight": (WIDE, Y, {"sample_weight": changed(np.ones(10), 4, -2.0)}, ("sample_weight", "-2", "row 4")),
    "missing weight": (WIDE, Y, {"sample_weight": changed(np.ones(10), 4, np.nan)}, ("sample_weight", "nan", "row 4")),
    "too few weights": (WIDE, Y, {"sample_weight": np.ones(3)}, ("sample_weight", "(3,)", "(10,)")),
    "weights of two dimensions": (WIDE, Y, {"sample_weight": np.ones((10, 2))}, ("sample_weight", "2-d")),
    "weights in words": (WIDE, Y, {"sample_weight": ["one"] * 10}, ("sample_weight", "one")),
    "complex weights": (WIDE, Y, {"sample_weight": np.ones(10) * 1j}, ("sample_weight", "complex")),
    "no weight": (WIDE, Y, {"sample_weight": np.zeros(10)}, ("sample_weight", "zero")),
    "weights too large": (WIDE, Y, {"sample_weight": np.full(10, 1e300)}, ("sample_weight", "too large", "1e+301")),
    "duplicate ids": (WIDE, Y, {"row_ids": changed(np.arange(10), 3, 7)}, ("row_ids", "differ", "7")),
    "negative ids": (WIDE, Y, {"row_ids": np.arange(10) - 3}, ("row_ids", "negative", "-3")),
    "too few ids": (WIDE, Y, {"row_ids": np.arange(3)}, ("row_ids", "10", "3")),
    "fractional ids": (WIDE, Y, {"row_ids": np.arange(10) + 0.5}, ("row_ids", "whole numbers", "float64")),
    "ids of two dimensions": (WIDE, Y, {"row_ids": np.arange(10)[:, None]}, ("row_ids", "1-d", "2-d")),
}
BAD_TYPES = {
    "sparse matrix": (sparse.csr_array(WIDE), Y, {}, ("X", "Sparse", "toarray")),
    "cell that is no number": (OBJECTS, Y, {}, ("Column 1", "{'key': 1}", "dict", "number")),
}


def check_failed_fit(fitted, bad, kind):
    """The message, and that the estimator still is the one that it was."""
    table, y, given, words = bad
    before, proba = set(vars(fitted)), fitted.predict_proba(X)
    assert_says(message_of(lambda: fitted.fit(table, y, **given), kind), *words)
    assert set(vars(fitted)) == before
    assert fitted.n_features_in_ == 2
    assert fitted.classes_.tolist() == [0, 1]
    assert (fitted.predict_proba(X) == proba).all()


@pytest.mark.parametrize("algorithm", ["batched", "eager"])
@pytest.mark.parametrize("case", BAD_FITS)
def test_failed_fit_changes_nothing(algorithm, case):
    check_failed_fit(forest(algorithm=algorithm).fit(X, Y), BAD_FITS[case], ValueError)


@pytest.mark.parametrize("case", BAD_TYPES)
def test_failed_fit_of_another_type_changes_nothing(case):
    check_failed_fit(forest().fit(X, Y), BAD_TYPES[case], TypeError)


def test_failed_first_fit_leaves_an_estimator_that_is_not_fitted():
    never = forest()
    message_of(lambda: never.fit(WIDE, Y, row_ids=np.arange(3)))
    assert set(vars(never)) == set(vars(forest()))


# Tables in predict -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("queries", "words"),
    [
        (X[:, :1], ("X has 1 features", "expecting 2 features")),
        (WIDE, ("X has 3 features", "expecting 2 features")),
        (X[:0], ("X", "0 sample(s)", "(0, 2)", "minimum of 1")),
        (changed(X, (3, 1), -np.inf), ("Column 1", "inf", "row 3")),
        (X + 1j, ("X", "Complex", "(10, 2)")),
        (X[:, 0], ("2D", "1D")),
    ],
)
def test_predict(queries, words):
    fitted = forest().fit(X, Y)
    for method in (fitted.predict, fitted.predict_proba, fitted.explore):
        assert_says(message_of(lambda call=method: call(queries)), *words)


def test_predict_sparse():
    message = message_of(lambda: forest().fit(X, Y).predict(sparse.csr_array(X)), TypeError)
    assert_says(message, "X", "Sparse", "toarray")


@pytest.mark.parametrize(
    ("queries", "words"),
    [
        (FRAME.rename(columns={"b": "other"}), ("feature names", "other", "b")),
        (FRAME[["b", "a"]], ("feature names", "same order")),
        (FRAME[["a"]], ("feature names", "b")),
        (FRAME.assign(more=1.0), ("feature names", "more")),
        (FRAME.assign(b=np.inf), ("Column 'b'", "inf", "row 0")),
    ],
)
def test_predict_names(queries, words):
    assert_says(message_of(lambda: forest().fit(FRAME, Y).predict(queries)), *words)


# bootstrap_counts --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ((-1, 0, [0]), ("random_state", "-1")),
        ((0, -1, [0]), ("tree", "int >= 0", "-1")),
        ((0, 1.5, [0]), ("tree", "int >= 0", "1.5")),
        ((0, 0, [-1]), ("row_ids", "negative", "-1")),
        ((0, 0, [0.5]), ("row_ids", "whole numbers")),
    ],
)
def test_bootstrap_counts(given, words):
    assert_says(message_of(lambda: bootstrap_counts(*given)), *words)
