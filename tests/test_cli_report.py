"""``lazyforest loo`` and ``cv``: metrics beside scikit-learn's and by brute force, and what the report says."""

from __future__ import annotations

import json
import re

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import mean_absolute_error, r2_score, roc_auc_score, root_mean_squared_error

from cli_helpers import small_table, write
from lazyforest import LazyForestClassifier, LazyForestRegressor, leave_one_out
from lazyforest.cli import metrics

COMMON = ("--id", "id", "--trees", "9")


@pytest.fixture
def train(tmp_path):
    return write(small_table(), tmp_path / "train.csv").name


def features(table, target):
    return table.drop("id", target), table[target].to_numpy()


def jackknife(metric, *columns):
    """The standard error by leaving out one row at a time: slow, and it knows nothing of influence functions."""
    n = len(columns[0])
    left = [metric(*(np.delete(column, k, axis=0) for column in columns)) for k in range(n)]
    return float(np.sqrt((n - 1) / n * ((left - np.mean(left)) ** 2).sum()))


# Metrics -------------------------------------------------------------------------------------------------


@pytest.fixture(params=[2, 4])
def shares(request):
    rng = np.random.default_rng(request.param)
    codes = rng.integers(0, request.param, 400)
    votes = rng.dirichlet(np.ones(request.param), 400)
    votes[np.arange(400), codes] += rng.random(400)
    return (votes / votes.sum(axis=1, keepdims=True)).round(2), codes


def by_sklearn(proba, codes):
    if proba.shape[1] == 2:
        return roc_auc_score(codes, proba[:, 1])
    return np.mean([roc_auc_score(codes == c, proba[:, c]) for c in range(proba.shape[1])])


def half_width(estimate):
    return (estimate.high - estimate.low) / 2 / metrics.Z


def test_auc(shares):
    found = metrics.auc(*shares, None)
    assert found.value == pytest.approx(by_sklearn(*shares), abs=1e-12)
    assert half_width(found) == pytest.approx(jackknife(by_sklearn, *shares), rel=0.03)


def test_log_loss(shares):
    proba, codes = shares
    found = metrics.log_loss(proba, codes, 0.005, None)
    own = np.maximum(proba[np.arange(len(codes)), codes], 0.005)
    assert found.value == pytest.approx(-np.log(own).mean())
    assert half_width(found) == pytest.approx(jackknife(lambda p: -np.log(p).mean(), own), rel=1e-6)


@pytest.mark.parametrize(
    ("metric", "judge"),
    [
        (metrics.r2, r2_score),
        (metrics.mean_absolute_error, mean_absolute_error),
        (metrics.root_mean_squared_error, root_mean_squared_error),
    ],
)
def test_regression_metrics(metric, judge):
    rng = np.random.default_rng(0)
    y = rng.normal(size=500)
    prediction = 0.7 * y + rng.normal(0, 0.5, 500)
    found = metric(y, prediction, None)
    assert found.value == pytest.approx(judge(y, prediction), abs=1e-12)
    assert half_width(found) == pytest.approx(jackknife(judge, y, prediction), rel=0.05)


def test_accuracy_has_wilsons_interval():
    right = np.repeat([1.0, 0.0], [95, 5])
    assert metrics.accuracy(right, None) == pytest.approx((0.95, 0.8882, 0.9785), abs=1e-4)
    assert metrics.accuracy(np.ones(50), None).low < 0.94


def test_rows_of_a_group_count_once():
    """Each row four times, as a group: the interval is that of the rows alone, not half as wide."""
    rng = np.random.default_rng(1)
    y = rng.normal(size=300)
    prediction, groups = y + rng.normal(size=300), np.arange(300)
    alone = metrics.r2(y, prediction, None)
    fourfold = metrics.r2(*np.repeat([y, prediction], 4, axis=1), np.repeat(groups, 4))
    assert fourfold == pytest.approx(alone, rel=1e-9)
    right = (rng.random(300) < 0.8).astype(float)
    together = metrics.accuracy(np.repeat(right, 4), np.repeat(groups, 4))
    assert together == pytest.approx(metrics.accuracy(right, None), abs=1e-3)


def test_confusion_and_reliability():
    codes, predicted = np.array([0, 0, 1, 1, 1]), np.array([0, 1, 1, 1, 0])
    assert metrics.confusion(codes, predicted, 2).tolist() == [[1, 1], [1, 2]]
    parts = metrics.reliability_of_shares(np.array([0.05, 0.0, 0.95, 1.0]), np.array([0, 1, 1, 1]))
    assert [(part["from"], part["rows"], part["observed"]) for part in parts] == [(0.0, 2, 0.5), (0.9, 2, 1.0)]
    numbers = metrics.reliability_of_numbers(np.arange(20.0), np.arange(20.0) + 1)
    assert [part["observed"] - part["predicted"] for part in numbers] == [1.0] * 10


# Reports -------------------------------------------------------------------------------------------------


def test_loo_is_what_the_python_interface_says(lazyforest, train):
    table = small_table()
    ran = lazyforest("loo", train, "--target", "class", *COMMON, "--json", "-o", "rows.csv")
    report = json.loads(ran.out)
    X, y = features(table, "class")
    proba = leave_one_out(LazyForestClassifier(9, random_state=0), X, y)
    rows = pl.read_csv("rows.csv", infer_schema_length=None)
    assert np.array_equal(rows[["p_sour", "p_sweet"]].to_numpy(), proba)
    assert rows.columns == [*table.columns, "prediction", "p_sour", "p_sweet"]
    assert (report["command"], report["rows"], report["folds"]) == ("loo", 60, None)
    assert report["classes"] == ["sour", "sweet"]
    assert report["accuracy"]["value"] == (rows["prediction"] == rows["class"]).mean()
    assert report["auc"]["value"] == pytest.approx(roc_auc_score(y == "sweet", proba[:, 1]))
    assert np.sum(report["confusion"]) == 60
    assert sum(part["rows"] for part in report["reliability"]) == 60
    assert report["log_loss"]["floor"] == 0.5 / 9


def test_regression_report(lazyforest, train):
    ran = lazyforest("loo", train, "--target", "weight", *COMMON, "--id", "class", "--json")
    report = json.loads(ran.out)
    X, y = features(small_table().drop("class"), "weight")
    prediction = leave_one_out(LazyForestRegressor(9, random_state=0), X, y)
    assert report["r2"]["value"] == pytest.approx(r2_score(y, prediction))
    assert report["suspicious"][0]["row"] == int(np.abs(y - prediction).argmax()) + 1
    assert list(report["suspicious"][0]) == ["row", "id", "class", "label", "prediction", "errors"]


def test_wrong_labels_are_found(lazyforest, tmp_path):
    """A column says what the label should be; three labels say otherwise."""
    truth = np.arange(200) % 2
    wrong = [7, 77, 178]
    label = truth.copy()
    label[wrong] = 1 - label[wrong]
    write(pl.DataFrame({"truth": truth, "label": np.where(label, "odd", "even")}), tmp_path / "train.csv")
    ran = lazyforest("loo", "train.csv", "--target", "label", "--trees", "20", "--json")
    suspects = json.loads(ran.out)["suspicious"]
    assert sorted(suspect["row"] for suspect in suspects) == [8, 78, 179]
    assert [(s["label"], s["prediction"], s["p_label"]) for s in suspects if s["row"] == 8] == [("even", "odd", 0.0)]
    two = lazyforest("loo", "train.csv", "--target", "label", "--trees", "20", "--json", "--suspects", "2")
    assert json.loads(two.out)["suspicious"] == suspects[:2]


def test_cv_has_folds_that_keep_groups_together(lazyforest, tmp_path):
    table = small_table().with_columns(patient=pl.int_range(60) // 4)
    write(table, tmp_path / "train.csv")
    flags = ("--target", "class", *COMMON, "--folds", "5", "--group", "patient", "-o", "rows.parquet")
    ran = lazyforest("cv", "train.csv", *flags)
    rows = pl.read_parquet("rows.parquet")
    assert "6 columns to learn from" in ran.err  # neither id nor patient
    assert rows["fold"].unique().sort().to_list() == [1, 2, 3, 4, 5]
    assert rows.group_by("patient").agg(pl.col("fold").n_unique())["fold"].max() == 1
    assert "'patient' kept together" in " ".join(ran.out.split())


def test_folds_have_their_share_of_each_class_and_follow_the_seed(lazyforest, train):
    def folds(*flags):
        lazyforest("cv", train, "--target", "class", *COMMON, "--folds", "4", "-o", "rows.csv", "--force", *flags)
        return pl.read_csv("rows.csv", infer_schema_length=None)

    rows = folds()
    counts = rows.group_by("class", "fold").len()
    assert all(
        counts.filter(pl.col("class") == c)["len"].max() - counts.filter(pl.col("class") == c)["len"].min() <= 1
        for c in ("sweet", "sour")
    )
    assert rows["fold"].to_list() == folds()["fold"].to_list() != folds("--seed", "1")["fold"].to_list()


def test_too_many_folds(lazyforest, train):
    assert "--folds must be from 2 to 60" in lazyforest.fails("cv", train, "--target", "class", "--folds", "61")


def test_rows_without_a_target_have_no_prediction(lazyforest, tmp_path):
    table = small_table().with_columns(pl.when(pl.int_range(60) != 3).then(pl.col("class")).alias("class"))
    write(table, tmp_path / "train.csv")
    assert lazyforest("cv", "train.csv", "--target", "class", *COMMON, "-o", "rows.csv").code == 0
    rows = pl.read_csv("rows.csv", infer_schema_length=None)
    assert rows["prediction"].is_null().arg_true().to_list() == [3]
    assert rows["id"].to_list() == list(range(60))


def test_the_report_fits_80_columns(lazyforest, train):
    out = lazyforest("loo", train, "--target", "class", *COMMON).out
    for part in ("Leave-one-out", "95% interval", "accuracy", "AUC", "Confusion", "Reliability", "suspicious"):
        assert part in out
    assert max(map(len, out.splitlines())) <= 80
    assert "\x1b" not in out


def test_names_are_no_markup(lazyforest, tmp_path):
    table = pl.DataFrame({"a": [1, 2] * 20, "[red]g": [0, 1, 2, 3] * 10, "y": ["[b]", ":a:"] * 20})
    write(table, tmp_path / "train.csv")
    out = lazyforest("cv", "train.csv", "--target", "y", "--group", "[red]g", "--folds", "2", "--trees", "3").out
    assert re.search(r"^ +:a: +\[b\] +right", out, flags=re.MULTILINE)
    assert "'[red]g' kept together" in " ".join(out.split())
    assert "always ':a:': 0.5000" in out


def test_many_classes(lazyforest, tmp_path):
    rng = np.random.default_rng(0)
    label = np.repeat([f"class {k}" for k in range(10)], 12)
    write(pl.DataFrame({"a": rng.normal(size=120) + np.repeat(np.arange(10), 12), "y": label}), tmp_path / "a.csv")
    out = lazyforest("cv", "a.csv", "--target", "y", "--folds", "3", "--trees", "9").out
    assert "Most frequent mistakes" in out
    assert "mean over classes, each against the rest" in out


def test_the_report_moves_aside_for_rows_on_standard_output(lazyforest, train):
    ran = lazyforest("loo", train, "--target", "class", *COMMON, "-o", "-")
    assert ran.out.splitlines()[0].endswith("prediction,p_sour,p_sweet")
    assert len(ran.out.splitlines()) == 61
    assert "Confusion" in ran.err
