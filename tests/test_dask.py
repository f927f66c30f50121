"""Forests over Dask collections: bit for bit the answer of one machine, whatever the partitions and the workers."""

import os
import signal
import subprocess
import sys
import threading

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster

from lazyforest import LazyForestClassifier, LazyForestRegressor
from lazyforest.dask import DaskLazyForestClassifier, DaskLazyForestRegressor, estimators
from lazyforest.dask.cluster import Cluster, Reading, partitions, same, within

N = 900


@pytest.fixture(scope="module")
def cluster():
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster:
        yield cluster


@pytest.fixture(scope="module")
def client(cluster):
    with Client(cluster) as client:
        yield client


def make_table(seed=0, n=N):
    """Numbers with ties and without, text, booleans, gaps; two classes, three, numbers; weights."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "fine": rng.normal(size=n),
            "number": rng.integers(0, 30, n).astype(float),
            "text": rng.choice(list("abcdefg"), n).astype(object),
            "flag": pd.array(rng.random(n) < 0.5, dtype="boolean"),
        }
    )
    signal_ = X["fine"] + (X["text"] < "c") + rng.normal(size=n)
    X = X.mask(rng.random(X.shape) < 0.07)
    two, three = np.where(signal_ > 0.5, "yes", "no"), np.digitize(signal_, [0, 1])
    y = pd.DataFrame({"two": two, "three": three, "numbers": signal_ * 1e3})
    y["whole"], y["fractional"] = rng.integers(0, 4, n), rng.random(n)
    return X, y


def in_pieces(pieces):
    """A Dask data frame of unknown divisions."""
    return dd.from_delayed([dask.delayed(piece) for piece in pieces], meta=pieces[-1].iloc[:0], verify_meta=False)


def cut(table, rows):
    """A data frame or series in partitions of so many rows each."""
    ends = np.cumsum(rows)
    pieces = [table.iloc[end - n : end] for n, end in zip(rows, ends, strict=True)]
    return in_pieces(pieces)


CASES = [
    ("two", None, {}, [300, 0, 250, 350]),
    ("two", "fractional", {"voting": "soft", "max_features": 2}, [N]),
    ("two", "whole", {"class_weight": "balanced", "criterion": "gini", "bootstrap": False}, [0, 100, 800, 0]),
    ("three", "whole", {"missing": "reduced", "max_depth": 4}, [1, 1, 898]),
    ("three", "fractional", {"class_weight": {0: 2.5, 2: 0.5}}, [450, 450]),
    ("numbers", None, {"max_features": 1}, [300, 300, 300]),
    ("numbers", "fractional", {}, [200, 0, 0, 700]),
    ("numbers", "whole", {"min_samples_split": 40}, [N]),
]


@pytest.mark.parametrize(("target", "weight", "given", "rows"), CASES)
def test_the_answer_of_one_machine(client, target, weight, given, rows):
    X, y = make_table()
    given = {"n_estimators": 3, "max_depth": 7, "random_state": 5, **given}
    regression = target == "numbers"
    one, many = (
        (LazyForestRegressor, DaskLazyForestRegressor)
        if regression
        else (LazyForestClassifier, DaskLazyForestClassifier)
    )
    weights = {} if weight is None else {"sample_weight": y[weight]}
    expected = one(**given).fit(X, y[target], **weights)
    forest = many(**given, max_bytes=1 << 20)
    forest.fit(cut(X, rows), cut(y[target], rows), **{k: cut(w, rows) for k, w in weights.items()})
    assert forest.frame_ == expected.frame_
    queries = make_table(1, 40)[0]
    queries.loc[0, "text"] = "never seen"
    if regression:
        assert forest.predict(queries).tolist() == expected.predict(queries).tolist()
    else:
        assert forest.classes_.tolist() == expected.classes_.tolist()
        assert forest.predict_proba(queries).tolist() == expected.predict_proba(queries).tolist()


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_adult(workers, datasets):
    """Classes, then a number, with weights; a partition is empty."""
    X, y = datasets("adult")
    y, weight = pd.Series(y), pd.Series(1 + 0.5 * (np.arange(len(X)) % 3))
    parts = [10_000, 0, 20_000, len(X) - 30_000]
    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        for one, many, method, target in (
            (LazyForestClassifier, DaskLazyForestClassifier, "predict_proba", y),
            (LazyForestRegressor, DaskLazyForestRegressor, "predict", X["age"] + 0.5),
        ):
            expected = one(2, max_depth=8, random_state=0).fit(X, target, sample_weight=weight)
            forest = many(2, client=client, max_depth=8, random_state=0)
            forest.fit(cut(X, parts), cut(target, parts), sample_weight=cut(weight, parts))
            assert getattr(forest, method)(X[:50]).tolist() == getattr(expected, method)(X[:50]).tolist()


def test_queries_in_partitions(client):
    """A Dask array comes back, with the partitions of the queries, in batches as small as they have to be."""
    X, y = make_table()
    queries, rows = make_table(1, 30)[0], [10, 0, 15, 5]
    expected = LazyForestClassifier(2, max_depth=3, random_state=0).fit(X, y["three"])
    forest = DaskLazyForestClassifier(2, max_depth=3, random_state=0, max_bytes=1300)
    forest.fit(cut(X, [500, 400]), cut(y["three"], [500, 400]))
    predicted, proba = forest.predict(cut(queries, rows)), forest.predict_proba(cut(queries, rows))
    assert predicted.chunks == ((10, 0, 15, 5),)
    assert predicted.compute().tolist() == expected.predict(queries).tolist()
    assert proba.compute().tolist() == expected.predict_proba(queries).tolist()
    assert forest.predict(queries).tolist() == expected.predict(queries).tolist()


def test_arrays_and_row_ids(client):
    """Arrays in blocks of rows; ids keep a row's bootstrap counts wherever it lies."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 3)), rng.integers(0, 2, 400)
    expected = LazyForestClassifier(3, random_state=0).fit(X, y).predict_proba(X[:20]).tolist()
    order = rng.permutation(400)
    forest = DaskLazyForestClassifier(3, random_state=0)
    forest.fit(da.from_array(X, chunks=(150, 3)), da.from_array(y, chunks=150))
    assert forest.predict_proba(X[:20]).tolist() == expected
    forest.fit(
        da.from_array(X[order], chunks=(90, 3)),
        da.from_array(y[order], chunks=90),
        row_ids=da.from_array(order, chunks=90),
    )
    assert forest.predict_proba(da.from_array(X[:20], chunks=(7, 3))).compute().tolist() == expected


def with_room(room):
    """Clusters that have this much room for what is known of rows."""

    def make(client, parts, read, _):
        return Cluster(client, parts, read, room)

    return make


def make_files(folder):
    """More values than codes: columns are read again."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(60_000, 5)), columns=list("abcde"))
    table["y"] = (table["a"] * table["b"] + rng.normal(size=len(table)) > 0).astype(int)
    for k, first in enumerate(range(0, len(table), 16_000)):
        table[first : first + 16_000].to_parquet(folder / f"{k}.parquet")
    X, parts = table.drop(columns="y"), dd.read_parquet(folder)
    expected = LazyForestClassifier(2, max_depth=9, random_state=0).fit(X, table["y"]).predict_proba(X[:9])
    forest = DaskLazyForestClassifier(2, max_depth=9, random_state=0, max_bytes=1 << 16)
    forest.fit(parts.drop(columns="y"), parts["y"])
    assert not forest._coding.exact.any()
    return forest, X[:9], expected.tolist()


def test_files(client, tmp_path, monkeypatch):
    """Columns are read again, a few at a time, and stay with their partitions, whatever there is room for."""
    forest, queries, expected = make_files(tmp_path)
    assert all(isinstance(within(one), Reading) for one in partitions(dd.read_parquet(tmp_path), [0, 1]))
    done = []
    for what in ("stand", "cut_down"):
        original = getattr(Cluster, what)
        monkeypatch.setattr(Cluster, what, lambda *a, what=what, do=original: (done.append(what), do(*a)))
    for room, ways in ((0, set()), (100_000, {"stand"}), (10**7, {"stand", "cut_down"})):
        monkeypatch.setattr(estimators, "Cluster", with_room(room))
        done.clear()
        assert forest.predict_proba(queries).tolist() == expected
        assert set(done) == ways


def test_tables_of_every_origin(client):
    """Values are read again from what is in memory, what workers hold, and what tasks make."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40_000, 2))  # more values than codes
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    expected = LazyForestClassifier(2, max_depth=3, random_state=0).fit(X, y).predict_proba(X[:5]).tolist()
    labels = da.from_array(y, chunks=25_000)
    array, frame = da.from_array(X, chunks=(25_000, 2)), pd.DataFrame(X, columns=["a", "b"])
    held = client.scatter([frame[:25_000], frame[25_000:]])
    for table in (
        array,
        array.persist(),
        dd.from_pandas(frame, npartitions=1).repartition(divisions=[0, 25_000, 39_999]),
        dd.from_delayed(held),
        dd.from_delayed([dask.delayed(same)(one) for one in held]),
        dd.from_delayed(held).persist(),
    ):
        forest = DaskLazyForestClassifier(2, max_depth=3, random_state=0).fit(table, labels)
        assert not forest._coding.exact.any()
        assert forest.predict_proba(X[:5]).tolist() == expected


def test_a_worker_is_killed_where_rows_stand(client, cluster, tmp_path, monkeypatch):
    """Where they stand is found again from partitions that are read again."""
    forest, queries, expected = make_files(tmp_path)
    monkeypatch.setattr(estimators, "Cluster", with_room(200_000))
    victim, stood, stand = cluster.workers[0].process.pid, [], Cluster.stand

    def stand_and_kill(self, work):
        stand(self, work)
        if not stood:
            os.kill(victim, signal.SIGKILL)
        stood.append(None)

    monkeypatch.setattr(Cluster, "stand", stand_and_kill)
    assert forest.predict_proba(queries).tolist() == expected
    assert stood
    client.wait_for_workers(2, timeout=60)


@pytest.mark.parametrize("workers", [1, 4])
def test_any_number_of_workers(workers):
    X, y = make_table()
    expected = LazyForestRegressor(3, max_depth=4, random_state=0).fit(X, y["numbers"]).predict(X[:20])
    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        forest = DaskLazyForestRegressor(3, client=client, max_depth=4, random_state=0)
        forest.fit(cut(X, [200] * 4 + [100]), cut(y["numbers"], [200] * 4 + [100]))
        assert forest.predict(X[:20]).tolist() == expected.tolist()


def test_a_worker_is_killed(client, cluster, monkeypatch):
    """Half-way through a prediction, by its process id. Its partitions are made again elsewhere."""
    X, y = make_table()
    expected = LazyForestClassifier(3, max_depth=6, random_state=0).fit(X, y["three"]).predict_proba(X[:30])
    forest = DaskLazyForestClassifier(3, max_depth=6, random_state=0)
    forest.fit(cut(X, [150] * 6), cut(y["three"], [150] * 6))
    victim = cluster.workers[0].process.pid
    passes, run = [], Cluster.run

    def run_and_kill(self, work):
        passes.append(None)
        if len(passes) == 6:
            assert any(victim_address in where for where in client.who_has(self.parts).values())
            threading.Timer(0.02, os.kill, (victim, signal.SIGKILL)).start()
        return run(self, work)

    victim_address = cluster.workers[0].worker_address
    monkeypatch.setattr(Cluster, "run", run_and_kill)
    assert forest.predict_proba(X[:30]).tolist() == expected.tolist()
    assert len(passes) > 8
    with pytest.raises(ProcessLookupError):
        os.kill(victim, 0)
    client.wait_for_workers(2, timeout=60)


# Bad input ---------------------------------------------------------------------------------------------


def fit(given=None, **changed):
    X, y = make_table()
    parts = {"X": cut(X, [500, 400]), "y": cut(y["two"], [500, 400]), **changed}
    return DaskLazyForestClassifier(**{"n_estimators": 1, "max_depth": 1, **(given or {})}).fit(**parts)


def bad_fits():
    X, y = make_table()
    mixed = cut(y[["two"]].rename(columns={"two": "a"}), [500, 400])
    yield {"given": {"bootstrap": "multinomial"}}, ValueError, ("bootstrap", "'multinomial'", "Use 'poisson'")
    yield {"given": {"max_bytes": 0}}, ValueError, ("max_bytes", "0", "Use 2**26")
    yield {"given": {"max_depth": -1}}, ValueError, ("max_depth", "-1", "Use None")
    yield {"X": X}, TypeError, ("X must be a Dask data frame", "DataFrame", "Use LazyForestClassifier")
    yield {"y": y["two"]}, TypeError, ("y must be a Dask series", "Series", "from_pandas")
    yield {"y": None}, TypeError, ("y must be a Dask series", "NoneType")
    yield {"y": cut(y["two"], [900])}, ValueError, ("y must have the partitions of X, 2", "Got 1")
    yield {"y": cut(y["two"], [400, 500])}, ValueError, ("Partition", "rows, y has", "Give both the same partitions")
    yield {"sample_weight": cut(-y["whole"], [500, 400])}, ValueError, ("Partition", "negative")
    yield {"y": cut(y["numbers"], [500, 400])}, ValueError, ("y must hold classes", "LazyForestRegressor")
    yield {"X": da.ones((900, 4), chunks=(500, 2)), "y": da.ones(900, chunks=500)}, ValueError, ("rechunk({1: -1})",)
    yield {"X": cut(X[:0], [0, 0]), "y": cut(y["two"][:0], [0, 0])}, ValueError, ("all partitions of X are empty",)
    yield {"X": cut(X.assign(fine=np.inf), [500, 400])}, ValueError, ("Partition", "'fine'", "infinity")
    yield {"X": mixed, "given": {"categorical_features": None}}, ValueError, ("'a' holds text",)


@pytest.mark.parametrize(("changed", "error", "words"), list(bad_fits()))
def test_bad_tables(client, changed, error, words):
    with pytest.raises(error) as caught:
        fit(**changed)
    for word in words:
        assert word in str(caught.value)


def test_types_that_differ_between_partitions(client):
    pieces = [pd.DataFrame({"a": [1.0, 2.0]}, dtype=object), pd.DataFrame({"a": ["x", "y"]}, dtype=object)]
    with (
        dask.config.set({"dataframe.convert-string": False}),
        pytest.raises(ValueError, match=r"'a' mixes types: .* in different partitions"),
    ):
        fit(X=in_pieces(pieces), y=dd.from_pandas(pd.Series([0, 1, 0, 1]), npartitions=2))


def test_bad_queries(client):
    X, _ = make_table()
    forest = fit()
    with pytest.raises(ValueError, match=r"X has 3 features, but .* expecting 4 .* Give the columns that fit had"):
        forest.predict(X.iloc[:, :3])
    with pytest.raises(ValueError, match=r"Got 'number' where fit had 'fine'"):
        forest.predict(cut(X[["number", "fine", "text", "flag"]], [500, 400]))
    with pytest.raises(ValueError, match=r"Partition 0: Column 'fine' held numbers in fit and holds text"):
        forest.predict(cut(X.assign(fine="a"), [500, 400]))
    assert len(forest.predict(X[:3])) == 3


def test_a_fit_that_fails_changes_nothing(client):
    forest = fit()
    before = forest.predict(make_table()[0][:5]).tolist()
    with pytest.raises(ValueError, match="must have the partitions"):
        forest.fit(cut(make_table()[0], [500, 400]), cut(make_table()[1]["two"], [900]))
    assert forest.predict(make_table()[0][:5]).tolist() == before


def test_no_client():
    """Said before anything is computed."""
    script = (
        "import dask.array as da\n"
        "from lazyforest.dask import DaskLazyForestClassifier\n"
        "X = da.ones((4, 2), chunks=(2, 2))\n"
        "DaskLazyForestClassifier().fit(X, X[:, 0])\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert "No Dask client is running. Start one, from dask.distributed import Client" in done.stderr


def test_without_dask():
    script = "import sys\nsys.modules['distributed'] = None\nimport lazyforest\nimport lazyforest.dask\n"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert "ImportError: lazyforest.dask needs Dask" in done.stderr
    assert "pip install 'lazyforest[dask]'" in done.stderr
