"""The paper's experiments: the page says what the JSON says, the counts are the reference's, a run goes on."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from benchmarks import paper, paper_cells, published
from benchmarks.paper_cells import ALGORITHMS, BL_DT, DEEPEST, DT, FEWEST_ROWS, L_DT, LISTINGS, SHARED, Plan
from benchmarks.paper_page import make_page

from helpers import LISTINGS as REFERENCE
from lazyforest import datasets, reference
from lazyforest.cli import reproducing

DOCS = Path(__file__).resolve().parents[1] / "docs"
PLAN = Plan(bootstraps=1, folds=(2, 10))


@pytest.fixture(scope="module")
def kept():
    """The run in the repository."""
    return json.loads((DOCS / "paper" / "run.json").read_text())


@pytest.fixture
def nowhere(tmp_path, monkeypatch):
    """An empty folder of data sets, and no download."""
    monkeypatch.setattr(datasets, "OPENML", {})
    folder = tmp_path / "data"
    folder.mkdir()
    return folder


@pytest.fixture
def breast(nowhere):
    return paper_cells.open_bench("breast", str(nowhere), PLAN)


# The page ----------------------------------------------------------------------------------------------


def test_the_page_is_made_of_the_json(kept):
    assert (DOCS / "paper.md").read_text() == make_page(kept, "paper")


def test_a_number_of_the_json_is_a_number_of_the_page(kept):
    """The other way round: what is measured is shown, so a page cannot stay behind its JSON."""
    page = make_page(kept, "paper")
    ten_fold = next(cell for cell in kept["cells"] if cell["folds"] == 10)  # Table 2 shows it; 2 folds are in Figure 2
    for change in (ten_fold, kept["memory"][0], kept["data"]["breast"]):
        for key, value in change.items():
            if key in ("cpu", "stack_words", "kilobytes"):
                change[key] = 7 * value + 1
                assert make_page(kept, "paper") != page, key
                change[key] = value
    assert make_page(kept, "paper") == page


def test_all_data_sets_are_in_every_table_and_figure(kept):
    assert list(kept["data"]) == list(datasets.names())
    for name, data in kept["data"].items():
        measured = {(cell["folds"], cell["algorithm"]) for cell in kept["cells"] if cell["data"] == name}
        assert measured == {(folds, a) for folds in (*kept["plan"]["folds"], data["rows"]) for a in ALGORITHMS}
        assert {cell["algorithm"] for cell in kept["memory"] if cell["data"] == name} == set(LISTINGS)
    assert kept["plan"]["most_rows"] is None
    assert {10, 40, 100} <= set(kept["plan"]["folds"])


def test_what_follows_from_the_listings_held(kept):
    """Counts, not seconds: these cannot fail on another machine."""
    cells = {(cell["data"], cell["folds"], cell["algorithm"]): cell["nodes"] for cell in kept["cells"]}
    for name, data in kept["data"].items():
        for folds in kept["plan"]["folds"]:
            assert cells[name, folds, BL_DT] <= cells[name, folds, DT]
        assert cells[name, data["rows"], BL_DT] == cells[name, data["rows"], L_DT]
        assert cells[name, data["rows"], SHARED] < cells[name, data["rows"], L_DT]


def test_the_example_is_explored_as_the_paper_says(kept):
    steps, ends = kept["example"]["steps"], kept["example"]["ends"]
    assert len(set(steps["eager"])) == len(steps["eager"])
    assert set(steps["lazy"]) == set(steps["batched lazy"]) < set(steps["eager"])
    assert len(set(steps["batched lazy"])) == len(steps["batched lazy"]) < len(steps["lazy"])
    assert [steps["lazy"][steps["lazy"].index("", 1) - 1], steps["lazy"][-1]] == list(ends.values())


def test_published_ratios_are_those_of_the_seconds():
    for printed in published.TABLES.values():
        eager, lazy, ratio = printed.one_row
        assert ratio == pytest.approx(eager / lazy, abs=0.06)
        assert published.RATIOS[0] <= ratio <= published.RATIOS[1]


# The counts --------------------------------------------------------------------------------------------


@pytest.fixture
def searched_once(monkeypatch):
    """The reference searches each node once, whoever asks: its three listings open the same nodes."""
    found, search = {}, reference.best_condition

    def best_condition(T, rows, counts, columns, key, *rest):
        node = len(T.X), key, rows.tobytes()
        if node not in found:
            found[node] = search(T, rows, counts, columns, key, *rest)
        return found[node]

    monkeypatch.setattr(reference, "best_condition", best_condition)


def explore_by_reference(bench, train, test, algorithm):
    T = reference.table(bench.X[train], bench.y[train], 2, row_ids=train)
    limits = {"max_depth": DEEPEST, "min_samples_split": FEWEST_ROWS}
    settings = reference.Settings(n_estimators=bench.plan.bootstraps, **limits, seed=0)
    return REFERENCE[LISTINGS[algorithm]](T, bench.X[test], settings)


def test_nodes_and_words_are_the_references(breast, searched_once):
    """All of Breast: one model of 10-fold as in Table 3, and both folds of 2-fold as in Figure 2."""
    folds = paper_cells.deal(breast.y, 10)
    for cell in paper_cells.measure_memory(breast):
        train, test = np.flatnonzero(folds != 0), np.flatnonzero(folds == 0)
        expected = explore_by_reference(breast, train, test, cell["algorithm"])
        assert cell["nodes"] == len(expected.nodes)
        assert (cell["stack_words"], cell["model_words"]) == (expected.stack_words, expected.model_words)

    folds = paper_cells.deal(breast.y, 2)
    for cell in paper_cells.measure_folds(breast, 2)[: len(LISTINGS)]:
        nodes = 0
        for fold in (0, 1):
            train, test = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
            nodes += len(explore_by_reference(breast, train, test, cell["algorithm"]).nodes)
        assert (cell["nodes"], cell["asked"]) == (nodes, len(breast.y))


@pytest.mark.parametrize("n_folds", [2, 40, 100, 128])
def test_rows_are_dealt_evenly(n_folds):
    y = np.repeat([0, 1], [95, 33])  # as in All, sorted by class
    folds = paper_cells.deal(y, n_folds)
    assert (folds == paper_cells.deal(y, n_folds)).all()
    for rows in (folds, folds[y == 0], folds[y == 1]):
        per_fold = np.bincount(rows, minlength=n_folds)
        assert per_fold.max() - per_fold.min() <= 1
    assert n_folds == 128 or (np.diff(folds[:95]) != 1).any()  # shuffled


def test_the_lazy_tree_is_asked_for_some_rows_of_a_large_table(breast, monkeypatch):
    monkeypatch.setattr(paper_cells, "LARGE", 500)
    some = breast._replace(plan=replace(PLAN, lazy_rows=50))
    cells = {cell["algorithm"]: cell for cell in paper_cells.measure_folds(some, 10)}
    assert {a: cell["asked"] for a, cell in cells.items()} == {DT: 569, L_DT: 50, BL_DT: 569, SHARED: 569}
    whole = breast._replace(plan=replace(PLAN, lazy_rows=569))
    exact = {cell["algorithm"]: cell["nodes"] for cell in paper_cells.measure_folds(whole, 10)}
    assert cells[BL_DT]["nodes"] == exact[BL_DT]
    assert 0.7 < cells[L_DT]["nodes"] / exact[L_DT] < 1.3  # scaled to all rows


# The run -----------------------------------------------------------------------------------------------


def measured_before(kept, monkeypatch, interrupt_at=None):
    """Steps are taken from the run in the repository; returns which were."""
    steps = []

    def measure_folds(bench, n_folds):
        if n_folds == interrupt_at:
            raise KeyboardInterrupt
        steps.append(n_folds)
        return [cell for cell in kept["cells"] if (cell["data"], cell["folds"]) == (bench.name, n_folds)]

    monkeypatch.setattr(paper_cells, "measure_folds", measure_folds)
    monkeypatch.setattr(paper_cells, "warm_up", lambda bench: None)
    cells = [cell for cell in kept["memory"] if cell["data"] == "breast"]
    monkeypatch.setattr(paper_cells, "measure_memory_apart", lambda *_: cells)
    monkeypatch.setattr(paper, "trace_example", lambda: kept["example"])
    return steps


def test_an_interrupted_run_goes_on(kept, nowhere, tmp_path, monkeypatch):
    out, plan = tmp_path / "paper", Plan(**{**kept["plan"], "folds": (2, 10, 40)})
    steps = measured_before(kept, monkeypatch, interrupt_at=40)
    with pytest.raises(KeyboardInterrupt):
        paper.reproduce(plan, out, nowhere, say=str)
    assert [path.name for path in out.iterdir()] == ["unfinished.json"]
    again, said = measured_before(kept, monkeypatch), []
    page = paper.reproduce(plan, out, nowhere, say=said.append)
    assert (steps, again) == ([2, 10], [40, 569])
    assert sorted(path.name for path in out.iterdir()) == ["exploration.png", "folds.png", "run.json"]
    run = json.loads((out / "run.json").read_text())
    assert page.read_text() == make_page(run, "paper")
    assert list(run["data"]) == ["breast"]
    passed_over = [line.split()[0] for line in said if "is passed over" in line]
    assert passed_over == ["adult", "gamma", "all", "c2u", "c2u_standin"]
    measured_before(kept, monkeypatch)
    (out / "unfinished.json").write_text(json.dumps(run | {"plan": {}}))
    assert paper.resume(out / "unfinished.json", paper.new_run(plan, ()), str)["cells"] == []  # another plan


def test_bad_input(lazyforest, tmp_path, monkeypatch):
    assert "Did you mean 'breast'?" in lazyforest.fails("paper", "--only", "brest")
    assert "absent is not a folder" in lazyforest.fails("paper", "--data", "absent")
    assert "--bootstraps" in lazyforest.fails("paper", "--bootstraps", "0", code=2)
    (tmp_path / "file").write_text("")
    assert "file: File exists" in lazyforest.fails("paper", "--only", "breast", "--out", "file")
    (tmp_path / "empty").mkdir()
    assert "Bioconductor" in lazyforest.fails("paper", "--only", "all", "--data", "empty")
    monkeypatch.setattr(reproducing, "CLONE", tmp_path)
    assert "'make paper' in a clone" in lazyforest.fails("paper")
