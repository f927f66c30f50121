"""A table in Parquet partitions, predicted on a local Dask cluster: time, memory of all processes, bytes sent.

python -m benchmarks.scale                     # 5 x 10^7 x 10 and half as many rows, 100 queries, 20 trees
python -m benchmarks.scale --rows 5000000      # smaller
python -m benchmarks.scale --equal             # 10^6 x 20 on 1, 2, 4 workers against one machine, bit for bit
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import dask.dataframe as dd
import numpy as np
import pandas as pd
import psutil
from distributed import Client, LocalCluster

from benchmarks import machine
from benchmarks.measure import ROOT
from lazyforest import LazyForestClassifier, LazyForestRegressor
from lazyforest.dask import DaskLazyForestClassifier, DaskLazyForestRegressor
from lazyforest.dask.cluster import Cluster

ROWS_PER_FILE = 500_000
MOST_BYTES, MOST_GROWTH = 4e9, 2.3
# Arrays of a megabyte go back to the system when they are dropped; otherwise workers keep holes between partitions.
os.environ.setdefault("MALLOC_MMAP_THRESHOLD_", str(1 << 20))  # of child processes


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=50_000_000)
    parser.add_argument("--columns", type=int, default=10)
    parser.add_argument("--trees", type=int, default=20)
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--equal", action="store_true", help="compare with one machine instead of measuring")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "scale")
    return parser.parse_args(arguments)


def make_rows(file: int, n: int, columns: int) -> pd.DataFrame:
    """Numbers without ties, but for two columns of small whole numbers; the label needs several columns."""
    rng = np.random.default_rng(file)
    X = rng.normal(size=(n, columns))
    X[:, -2:] = rng.integers(0, 50, (n, 2))
    signal = X[:, 0] + X[:, 1] * X[:, 2] + 0.05 * X[:, -1] + rng.normal(size=n)
    table = pd.DataFrame(X, columns=[f"x{j}" for j in range(columns)])
    return table.assign(label=(signal > 1).astype(np.int8))


def write_table(folder: Path, rows: int, columns: int) -> None:
    for file, first in enumerate(range(0, rows, ROWS_PER_FILE)):
        n = min(ROWS_PER_FILE, rows - first)
        make_rows(file, n, columns).to_parquet(folder / f"part-{file:05}.parquet", index=False)


class Watch(threading.Thread):
    """The most memory that this process and its children have had together, shared pages counted once."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.most, self.stopped = 0, threading.Event()

    def run(self) -> None:
        while not self.stopped.wait(0.5):
            self.most = max(self.most, self.now())

    def now(self) -> int:
        total, me = 0, psutil.Process()
        for process in [me, *me.children(recursive=True)]:
            try:
                total += process.memory_full_info().pss
            except psutil.Error:  # it has just ended
                continue
        return total


@contextmanager
def watched() -> Iterator[Watch]:
    watch = Watch()
    watch.start()
    yield watch
    watch.stopped.set()
    watch.join()


def cpu_seconds() -> float:
    """Of this process and its children, user and system."""
    me = psutil.Process()
    return sum(sum(process.cpu_times()[:2]) for process in [me, *me.children(recursive=True)])


def bytes_on_loopback() -> int:
    return sum(n.bytes_sent for name, n in psutil.net_io_counters(pernic=True).items() if name.startswith("lo"))


def measure_alone(folder: Path, asked: argparse.Namespace, rows: int) -> dict[str, Any]:
    """``measure`` in a process of its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(measure, folder, asked, rows).result()


def measure(folder: Path, asked: argparse.Namespace, rows: int) -> dict[str, Any]:
    """Fit and predict the first rows of the table on a cluster of its own."""
    files = sorted(folder.glob("*.parquet"))[: -(-rows // ROWS_PER_FILE)]
    queries = make_rows(10**6, asked.queries, asked.columns).drop(columns="label")
    passes, raws = [], Cluster.raws

    def raws_and_count(self: Cluster, work: Any) -> Any:
        passes.append(time.perf_counter())
        return raws(self, work)

    Cluster.raws = raws_and_count  # type: ignore[method-assign]
    with (
        watched() as watch,
        LocalCluster(
            n_workers=asked.workers, threads_per_worker=1, dashboard_address=":0", memory_limit="2.5GB"
        ) as cluster,
        Client(cluster),
    ):
        table = dd.read_parquet(files, split_row_groups=False, aggregate_files=False)
        sent, start, cpu = bytes_on_loopback(), time.perf_counter(), cpu_seconds()
        forest = DaskLazyForestClassifier(asked.trees, random_state=0)
        forest.fit(table.drop(columns="label"), table["label"])
        fitted, sent_by_fit = time.perf_counter(), bytes_on_loopback()
        proba = forest.predict_proba(queries)
        done, sent_by_all, cpu = time.perf_counter(), bytes_on_loopback(), cpu_seconds() - cpu
    Cluster.raws = raws  # type: ignore[method-assign]
    assert proba.shape == (asked.queries, 2)
    result = {
        "rows": rows,
        "fit_seconds": round(fitted - start, 1),
        "predict_seconds": round(done - fitted, 1),
        "cpu_seconds": round(cpu, 1),
        "passes": len(passes),
        "fit_mb_sent": round((sent_by_fit - sent) / 1e6),
        "predict_mb_sent": round((sent_by_all - sent_by_fit) / 1e6),
        "most_gb": round(watch.most / 1e9, 2),
    }
    print(json.dumps(result), flush=True)
    return result


def measure_growth(asked: argparse.Namespace) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_table(folder, asked.rows, asked.columns)
        measure_alone(folder, argparse.Namespace(**{**vars(asked), "trees": 2}), ROWS_PER_FILE)  # compiles
        runs = [measure_alone(folder, asked, rows) for rows in (asked.rows // 2, asked.rows)]
    seconds = [run["fit_seconds"] + run["predict_seconds"] for run in runs]
    growth = seconds[1] / seconds[0]
    cpu_growth = runs[1]["cpu_seconds"] / runs[0]["cpu_seconds"]
    print(f"twice the rows, {growth:.2f} times the time, {cpu_growth:.2f} times the CPU time")
    assert runs[1]["most_gb"] * 1e9 < MOST_BYTES
    assert growth <= MOST_GROWTH
    return {"runs": runs, "growth": round(growth, 2), "cpu_growth": round(cpu_growth, 2)}


def compare(asked: argparse.Namespace) -> dict[str, Any]:
    """Classification and regression of 10^6 x 20 with categories, gaps and weights, as one machine answers them."""
    rng, n, m = np.random.default_rng(0), 1_000_000, 20
    table = make_rows(0, n, m)
    table["x3"] = rng.choice(list("abcdefghij"), n)
    table["x4"] = table["x4"].where(rng.random(n) < 0.9)
    table["weight"], table["number"] = rng.random(n), table["x0"] * 10 + rng.normal(size=n)
    X, queries = table[[f"x{j}" for j in range(m)]], table[[f"x{j}" for j in range(m)]][:20]
    agreed = {}
    for target, one, many in (
        ("label", LazyForestClassifier, DaskLazyForestClassifier),
        ("number", LazyForestRegressor, DaskLazyForestRegressor),
    ):
        expected = one(5, random_state=0).fit(X, table[target], sample_weight=table["weight"]).explore(queries)
        answer = expected.prediction if expected.proba is None else expected.proba
        for workers in (1, 2, 4):
            with (
                LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0") as cluster,
                Client(cluster),
            ):
                parts = dd.from_pandas(table, npartitions=7).persist()
                forest = many(5, random_state=0).fit(parts[list(X)], parts[target], sample_weight=parts["weight"])
                found = forest.predict(queries) if expected.proba is None else forest.predict_proba(queries)
                assert (found == answer).all(), (target, workers)
                agreed[f"{target}, {workers} workers"] = True
                print(f"{target}, {workers} workers: the same {len(queries)} answers to the last bit", flush=True)
    return agreed


def main(arguments: Sequence[str] | None = None) -> None:
    asked = parse(arguments)
    run: dict[str, Any] = {"date": machine.today(), "machine": machine.describe_machine()}
    run |= {"equal": compare(asked)} if asked.equal else measure_growth(asked)
    asked.out.mkdir(parents=True, exist_ok=True)
    (asked.out / f"{'equal' if asked.equal else 'growth'}.json").write_text(json.dumps(run, indent=1) + "\n")


if __name__ == "__main__":
    main()
