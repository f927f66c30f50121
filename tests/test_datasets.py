"""Data sets: where they are looked for, what is checked, what is said when they are not there. No network."""

from __future__ import annotations

import dataclasses
import gzip
import hashlib
import importlib
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import sklearn.datasets

from lazyforest import datasets

SMALL = b"size,colour,class\n1.5,red,a\n,blue,b\n2,,a\n3,NA,b\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a small 'c2u' whose checksum is known."""
    content = gzip.compress(SMALL)
    (tmp_path / "c2u.csv.gz").write_bytes(content)
    known = datasets.SOURCES["c2u"]._replace(sha256=hashlib.sha256(content).hexdigest())
    monkeypatch.setitem(datasets.SOURCES, "c2u", known)
    monkeypatch.delenv(datasets.FOLDER_VARIABLE, raising=False)
    return tmp_path


@pytest.fixture
def nowhere(tmp_path, monkeypatch):
    """No folder at all: as for a user who installed the package."""
    monkeypatch.delenv(datasets.FOLDER_VARIABLE, raising=False)
    monkeypatch.setattr(datasets, "__file__", str(tmp_path / "site-packages" / "lazyforest" / "datasets.py"))


def without(monkeypatch, *libraries):
    plain = importlib.import_module

    def fail(name, *args):
        if name in libraries:
            raise ImportError(name)
        return plain(name, *args)

    monkeypatch.setattr(datasets.importlib, "import_module", fail)


def offer(monkeypatch, frame, target):
    monkeypatch.setattr(
        sklearn.datasets, "fetch_openml", lambda *args, **kwargs: SimpleNamespace(data=frame, target=target)
    )


def refuse(monkeypatch, error):
    def fail(*args, **kwargs):
        raise error

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fail)


def test_a_file_is_read_as_text_numbers_and_gaps(folder):
    found = datasets.load("c2u", folder)
    assert found.X["size"].isna().tolist() == [False, True, False, False]
    assert found.X["colour"].isna().tolist() == [False, False, True, False]  # "NA" is text, only empty is missing
    assert found.y.tolist() == ["a", "b", "a", "b"]
    assert found.y.dtype.kind == "U"
    assert (found.name, found.real) == ("c2u", True)


def test_the_variable_names_the_folder(folder, monkeypatch):
    monkeypatch.setenv(datasets.FOLDER_VARIABLE, str(folder))
    assert datasets.load("c2u").X.shape == (4, 2)


def test_the_folder_given_goes_before_the_variable(folder, monkeypatch):
    monkeypatch.setenv(datasets.FOLDER_VARIABLE, str(folder / "absent"))
    assert datasets.load("c2u", folder).X.shape == (4, 2)


def test_a_dataset_is_frozen(folder):
    with pytest.raises(dataclasses.FrozenInstanceError):
        datasets.load("c2u", folder).name = "other"


def test_polars_stands_in_for_pandas(folder, monkeypatch):
    polars = pytest.importorskip("polars")
    with_pandas = datasets.load("c2u", folder)
    without(monkeypatch, "pandas")
    found = datasets.load("c2u", folder)
    assert isinstance(found.X, polars.DataFrame)
    assert found.X["size"].to_list() == [1.5, None, 2.0, 3.0]
    assert found.X["colour"].to_list() == ["red", "blue", None, "NA"]
    assert found.y.tolist() == with_pandas.y.tolist()


def test_no_data_frame_library(folder, monkeypatch):
    without(monkeypatch, "pandas", "polars")
    with pytest.raises(ImportError, match="pip install pandas"):
        datasets.load("c2u", folder)


def test_a_changed_file_is_refused(folder):
    path = folder / "c2u.csv.gz"
    path.write_bytes(gzip.compress(SMALL + b"4,red,a\n"))
    with pytest.raises(ValueError, match="sha256") as caught:
        datasets.load("c2u", folder)
    for part in (str(path), datasets.SOURCES["c2u"].sha256, hashlib.sha256(path.read_bytes()).hexdigest()):
        assert part in str(caught.value)


def test_a_folder_that_is_not_there(folder):
    with pytest.raises(NotADirectoryError, match="absent"):
        datasets.load("c2u", folder / "absent")


@pytest.mark.parametrize(
    ("name", "near"), [("Adult", "adult"), ("brest", "breast"), ("c2u_stand", "c2u_standin"), ("magic", "")]
)
def test_unknown_names(name, near):
    with pytest.raises(ValueError, match="must be one of breast, adult, gamma, all, c2u, c2u_standin") as caught:
        datasets.load(name)
    assert (f"Did you mean '{near}'?" in str(caught.value)) == bool(near)


def test_names():
    assert datasets.names() == ("breast", "adult", "gamma", "all", "c2u", "c2u_standin")


@pytest.mark.parametrize("name", ["all", "c2u", "c2u_standin"])
def test_what_cannot_be_had_says_how(name, nowhere):
    with pytest.raises(FileNotFoundError, match=datasets.FOLDER_VARIABLE) as caught:
        datasets.load(name)
    assert f"{name}.csv.gz" in str(caught.value)


def test_breast_comes_with_scikit_learn(nowhere):
    found = datasets.load("breast")
    assert found.X.shape == (569, 30)
    assert dict(zip(*np.unique(found.y, return_counts=True), strict=True)) == datasets.SOURCES["breast"].classes


def test_openml_out_of_reach(nowhere, monkeypatch):
    refuse(monkeypatch, OSError("no route"))
    with pytest.raises(FileNotFoundError, match="no route") as caught:
        datasets.load("adult")
    assert datasets.FOLDER_VARIABLE in str(caught.value)


def test_openml_without_pandas(nowhere, monkeypatch):
    refuse(monkeypatch, ImportError("pandas"))
    with pytest.raises(ImportError, match="pip install pandas"):
        datasets.load("gamma")


def test_adult_of_openml_is_cut_to_the_training_file(nowhere, monkeypatch):
    """The test file comes first there; categories become text and gaps stay gaps."""
    rows, first = 48842, 48842 - 32561
    work = np.array(["Private"] * rows, dtype=object)
    work[first : first + 4262] = None
    frame = pd.DataFrame({"age": np.arange(rows), "workclass": pd.Categorical(work)})
    target = pd.Series(pd.Categorical([">50K"] * first + ["<=50K"] * 24720 + [">50K"] * 7841))
    offer(monkeypatch, frame, target)
    found = datasets.load("adult")
    assert found.X["age"].tolist() == list(range(first, rows))
    assert found.X["workclass"].isna().sum() == 4262
    assert set(found.X["workclass"].dropna()) == {"Private"}
    assert not isinstance(found.X["workclass"].dtype, pd.CategoricalDtype)


def test_gamma_of_openml_gets_plain_column_names(nowhere, monkeypatch):
    frame = pd.DataFrame({"ID": np.arange(19020), "fLength:": np.ones(19020)})
    offer(monkeypatch, frame, pd.Series(["g"] * 12332 + ["h"] * 6688))
    assert list(datasets.load("gamma").X.columns) == ["fLength"]


def test_other_rows_from_openml_are_refused(nowhere, monkeypatch):
    offer(monkeypatch, pd.DataFrame({"fLength:": np.ones(4)}), pd.Series(["g", "g", "h", "h"]))
    with pytest.raises(ValueError, match="not the table that was expected"):
        datasets.load("gamma")


@pytest.mark.parametrize("name", datasets.names())
def test_the_files_beside_a_checkout(name):
    place = datasets.find_folder(None)
    if place is None or not (place / f"{name}.csv.gz").is_file():
        pytest.skip("no folder of data sets here")
    found = datasets.load(name)
    datasets.check_counts(name, found.X, found.y)
    assert found.real == (name != "c2u_standin")


def test_breast_is_the_same_from_the_file(monkeypatch):
    place = datasets.find_folder(None)
    if place is None:
        pytest.skip("no folder of data sets here")
    X, y = datasets.from_sklearn()
    found = datasets.load("breast")
    pd.testing.assert_frame_equal(found.X, X)
    assert found.y.tolist() == y.tolist()
