"""Trees in parallel on any joblib backend: threads, processes, a Dask cluster. The answer is the same."""

import numpy as np
import pytest
from distributed import Client, LocalCluster
from joblib import parallel_config

from lazyforest import LazyForestClassifier, leave_one_out, runner
from lazyforest.runner import Shared

ROWS = 400


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, 4)).round(1)
    return X, (X[:, 0] + rng.normal(size=ROWS) > 0).astype(int)


@pytest.fixture(scope="module")
def client():
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        yield client


def answers(X, y, n_jobs):
    forests = [LazyForestClassifier(6, algorithm=a, random_state=0, n_jobs=n_jobs) for a in ("batched", "eager")]
    return [forest.fit(X, y).predict_proba(X[:7]).tolist() for forest in forests] + [
        leave_one_out(forests[0], X[:40], y[:40]).tolist()
    ]


def test_processes(data):
    expected = answers(*data, n_jobs=1)
    with parallel_config(backend="loky", n_jobs=2):
        assert answers(*data, n_jobs=2) == expected


def test_dask(data, client):
    expected = answers(*data, n_jobs=1)
    with parallel_config(backend="dask"):
        assert answers(*data, n_jobs=None) == expected


def test_the_table_is_sent_once(data, client, monkeypatch):
    sent = []

    def note(self):
        sent.append(self.__sizeof__())
        return self.__dict__

    X, y = data
    forest = LazyForestClassifier(20, random_state=0).fit(X, y)
    monkeypatch.setattr(Shared, "__getstate__", note)
    monkeypatch.setattr(runner, "CELLS_PER_CALL", 1)  # a call per tree
    with parallel_config(backend="dask"):
        forest.predict(X)
    assert len(sent) == 1
    assert sent[0] > X.nbytes
