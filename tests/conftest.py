"""What the test files share."""

import os
from functools import cache
from pathlib import Path

import numba
import numpy as np
import pandas
import pytest
from hypothesis import settings

from cli_helpers import CommandLine
from lazyforest import runner
from lazyforest.engine import exploration
from lazyforest.engine.bootstrap import MOST_COPIES
from lazyforest.engine.counts import fill_x_log2_x

DATASETS = Path(os.environ.get("LAZYFOREST_DATA") or Path(__file__).resolve().parents[2] / "shared" / "datasets")

settings.register_profile("fixed", derandomize=True, deadline=None, database=None)
settings.load_profile("fixed")


def pytest_configure(config):
    if numba.config.DISABLE_JIT:  # then NumPy sees the hash overflow, which it is meant to
        config.addinivalue_line("filterwarnings", "ignore:overflow encountered:RuntimeWarning")


def pytest_collection_modifyitems(items):
    """The file of the longest tests first: at the end, one worker would wait for the other."""
    items.sort(key=lambda item: item.path.name != "test_without_jit.py")


@pytest.fixture(scope="module")
def few_folds_share():
    """Let folds of many rows share an exploration however few they are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runner, "FOLDS_TO_SHARE", 2)
        yield


@pytest.fixture
def short_table(monkeypatch):
    """x log2 x up to the weight of all rows, if these are few: about half of the bootstraps are too heavy for it."""

    def up_to_all_rows(most):
        table = np.empty(most // MOST_COPIES + 1)
        fill_x_log2_x(table)
        return table

    monkeypatch.setattr(exploration, "x_log2_x_table", up_to_all_rows)


@cache
def load(name):
    table = pandas.read_csv(DATASETS / f"{name}.csv.gz")
    return table.drop(columns="class"), table["class"].to_numpy()


@pytest.fixture(scope="session")
def datasets():
    """``datasets(name)`` gives X, a data frame, and y of one of the paper's data sets."""
    if not DATASETS.is_dir():
        pytest.skip("the paper's data sets are neither in LAZYFOREST_DATA nor in ../shared/datasets")
    return load


@pytest.fixture
def lazyforest(capsysbinary, tmp_path, monkeypatch):
    """``lazyforest("predict", ...)`` runs the command line in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return CommandLine(capsysbinary)
