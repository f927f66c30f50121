"""``lazyforest explain``, what it is made of, and its picture."""

from __future__ import annotations

import json
import re

import numpy as np
import polars as pl
import pytest
from matplotlib.colors import to_hex

from cli_helpers import small_table, write
from lazyforest import LazyForestClassifier, LazyForestRegressor
from lazyforest.exploration import rounded
from lazyforest.plots import GREY, plot_exploration
from lazyforest.trees import opened_nodes, shared_leaves


def split(target="class"):
    table = small_table(160)
    X = table.drop("id", target)
    return X[:120], table[target][:120].to_numpy(), X[120:]


@pytest.fixture
def forest():
    X, y, _ = split()
    return LazyForestClassifier(8, random_state=0).fit(X, y)


@pytest.fixture
def files(tmp_path):
    table = small_table(160)
    return write(table[:120], tmp_path / "train.csv"), write(table[120:], tmp_path / "new.csv")


def leaf_of(forest, X, row, tree):
    """The steps of a row, without its own values: rows in one leaf took the same."""
    return [(step.column, step.condition, step.threshold) for step in forest.explore(X).paths(row)[tree].steps]


@pytest.mark.parametrize("missing", ["route", "reduced"])
def test_shared_leaves_by_following_every_row(missing):
    """A training row shares a leaf if it takes the same steps, its gaps filled as the conditions say."""
    X, y, new = split()
    forest = LazyForestClassifier(4, random_state=0, missing=missing).fit(X, y)
    whole = [r for r in range(120) if not any(value is None for value in X.row(r))]
    row = next(r for r in range(len(new)) if not any(value is None for value in new.row(r)))
    shared = shared_leaves(forest, new[row])[0]
    for r in whole[:40]:
        alike = sum(str(leaf_of(forest, new, row, t)) == str(leaf_of(forest, X, r, t)) for t in range(4))
        assert shared[r] == alike
    assert (shared_leaves(forest, X[whole[:3]])[range(3), whole[:3]] == 4).all()


def test_opened_nodes_are_those_of_the_exploration(forest):
    *_, new = split()
    opened = [opened_nodes(forest, new, tree) for tree in range(8)]
    assert sum(map(len, opened)) == forest.explore(new).nodes_explored
    for nodes in opened:
        assert sorted(row for node in nodes for row in node.ends) == list(range(40))
        assert all((node.condition is None) == bool(node.ends) for node in nodes)
        for node in nodes[1:]:
            assert node.parent < node.number
            assert node.rows < nodes[node.parent].rows
    path = forest.explore(new).paths(5)[2]
    end = next(node for node in opened[2] if 5 in node.ends)
    assert (end.vote, end.rows) == (path.vote, path.rows)


def test_opened_nodes_of_rows_that_miss_different_columns():
    X, y, new = split()
    forest = LazyForestClassifier(2, random_state=0, missing="reduced").fit(X, y)
    with pytest.raises(ValueError, match="one row at a time"):
        opened_nodes(forest, new, 0)
    with pytest.raises(IndexError, match="from 0 to 1"):
        opened_nodes(forest, new[:1], 2)


def test_the_picture_has_every_node(forest):
    *_, new = split()
    figure = plot_exploration(forest, new[:3], trees=[0, 3])
    for axes, tree in zip(figure.axes, [0, 3], strict=True):
        nodes = opened_nodes(forest, new[:3], tree)
        texts = [text.get_text() for text in axes.texts]
        conditions = [node for node in nodes if node.condition is not None]
        unopened = 2 * len(conditions) - (len(nodes) - 1)
        dots = [line for line in axes.lines if line.get_marker() == "o" and to_hex(line.get_color()) == GREY]
        assert len(dots) == unopened
        assert {str(node.number + 1) for node in nodes} <= set(texts)
        assert sorted(name for text in texts for name in text.split(", ") if name in "ABC") == ["A", "B", "C"]


def test_the_picture_is_not_cut_off(forest):
    *_, new = split()
    figure = plot_exploration(forest, new[:4], trees=[0, 1], names=[f"row {k}" for k in range(4)])
    figure.canvas.draw()
    page = figure.bbox
    boxes = []
    for axes in figure.axes:
        for text in axes.texts:
            box = text.get_window_extent()
            assert page.x0 <= box.x0 < box.x1 <= page.x1, text.get_text()
            assert page.y0 <= box.y0 < box.y1 <= page.y1, text.get_text()
            if text.get_bbox_patch() is not None:
                boxes.append(box)
    assert len(boxes) > 4
    assert not any(a.overlaps(b) for k, a in enumerate(boxes) for b in boxes[:k])


def test_dollars_in_the_picture_are_no_formula():
    forest = LazyForestClassifier(1, random_state=0).fit([["$a$"], ["$b$"]] * 9, ["$1$", "$2$"] * 9)
    (axes,) = plot_exploration(forest, [["$a$"]], names=["$x$"]).axes
    named = [text for text in axes.texts if "$" in text.get_text()]
    assert len(named) == 3  # the condition, the vote, the row
    assert not any(text.get_parse_math() for text in named)


def test_reasons(lazyforest, files):
    flags = ("--target", "class", "--id", "id", "--trees", "12", "--row", "3", "--json")
    (reason,) = json.loads(lazyforest("explain", *files, *flags).out)
    table = small_table(160)
    X, y = table.drop("id", "class"), table["class"].to_numpy()
    forest = LazyForestClassifier(12, random_state=0).fit(X[:120], y[:120])
    explored = forest.explore(X[122:123])
    paths = explored.paths(0)
    assert reason["prediction"] == explored.prediction[0]
    assert list(reason["shares"].values()) == explored.proba[0].tolist()
    for column in reason["columns"]:
        steps = [step for path in paths for step in path.steps if step.column == column["column"]]
        assert sum(part["times"] for part in column["conditions"]) == len(steps)
        assert column["trees"] == sum(any(s.column == column["column"] for s in path.steps) for path in paths)
        assert column["first"] == sum(path.steps[0].column == column["column"] for path in paths if path.steps)
    typical = paths[reason["typical_path"]["tree"]]
    assert [step["text"] for step in reason["typical_path"]["steps"]] == [step.text for step in typical.steps]
    assert typical.vote == reason["prediction"]
    shared = shared_leaves(forest, X[122:123])[0]
    assert [one["trees"] for one in reason["neighbours"]] == sorted(shared.tolist(), reverse=True)[:5]
    assert all(shared[one["row"] - 1] == one["trees"] for one in reason["neighbours"])
    assert reason["neighbours"][0]["values"]["id"] == int(table["id"][reason["neighbours"][0]["row"] - 1])


def test_json_has_null_where_a_number_is_missing(lazyforest, tmp_path):
    def refuse(constant):
        raise AssertionError(constant)

    gaps = pl.DataFrame({"a": [np.nan, 1.0, 2.0] * 10, "b": list(range(30)), "y": ["u", "v", "w"] * 10})
    write(gaps, tmp_path / "gaps.parquet")
    flags = ("--target", "y", "--trees", "5", "--json")
    (reason,) = json.loads(lazyforest("explain", "gaps.parquet", "gaps.parquet", *flags).out, parse_constant=refuse)
    assert [column["value"] for column in reason["columns"] if column["column"] == "a"] == [None]
    report = json.loads(lazyforest("loo", "gaps.parquet", *flags, "--id", "a").out, parse_constant=refuse)
    assert any(row["a"] is None for row in report["suspicious"])


def test_what_is_printed(lazyforest, files):
    ran = lazyforest("explain", *files, "--target", "class", "--id", "id", "--row", "2", "--row", "7", "--trees", "9")
    assert re.findall(r"^Row (\d+) of ", ran.out, flags=re.MULTILINE) == ["2", "7"]
    for part in ("votes of 9 trees: ", "What decided", "The most typical path", "Nearest training rows", "rows left)"):
        assert ran.out.count(part) >= 2
    assert max(map(len, ran.out.splitlines())) <= 80


def test_regression(lazyforest, files):
    flags = ("--target", "weight", "--id", "class", "--id", "id", "--trees", "7")
    (reason,) = json.loads(lazyforest("explain", *files, *flags, "--json").out)
    X, y, new = split("weight")
    forest = LazyForestRegressor(7, random_state=0).fit(X.drop("class"), y)
    assert reason["prediction"] == forest.predict(new.drop("class"))[0]
    assert "the mean of 7 trees" in lazyforest("explain", *files, *flags).out


@pytest.mark.parametrize(("ending", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_the_picture_is_written(lazyforest, files, tmp_path, ending, start):
    flags = ("--target", "class", "--id", "id", "--trees", "5", "--plot", f"why.{ending}", "--plot-trees", "2")
    assert lazyforest("explain", *files, *flags).code == 0
    assert (tmp_path / f"why.{ending}").read_bytes().startswith(start)
    assert "exists already" in lazyforest.fails("explain", *files, *flags)
    assert lazyforest("explain", *files, *flags, "--force").code == 0


def test_no_more_trees_are_drawn_than_there_are(lazyforest, files):
    ran = lazyforest("explain", *files, "--target", "class", "--trees", "2", "--plot", "why.svg")
    assert "picture of 2 trees: why.svg" in ran.err


def test_a_row_that_is_not_there(lazyforest, files):
    assert "new.csv has 40 rows. Got --row 41." in lazyforest.fails(
        "explain", *files, "--target", "class", "--row", "41"
    )
    assert "--row counts from 1" in lazyforest.fails("explain", *files, "--target", "class", "--row", "0", code=2)


def test_without_matplotlib(lazyforest, files, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.figure", None)
    said = lazyforest.fails("explain", *files, "--target", "class", "--trees", "3", "--plot", "why.png")
    assert said == "A picture needs matplotlib. Use: pip install 'lazyforest[plot]'"


def test_thresholds_are_rounded_in_words():
    assert rounded("a = 3 >= 116.80000000000001") == "a = 3 >= 116.8"
    assert rounded("a < 0.25 and b in {1.5}") == "a < 0.25 and b in {1.5}"


def test_a_set_has_no_threshold():
    forest = LazyForestClassifier(1, random_state=0).fit([["a"], ["b"]] * 9, [0, 1] * 9)
    assert np.isnan(forest.explore([["a"]]).paths(0)[0].steps[0].threshold)
