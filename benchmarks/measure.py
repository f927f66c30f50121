"""One cell of a benchmark, measured in a process of its own: time, peak memory, accuracy.

`measure_apart` starts that process and waits; `python -m benchmarks.measure SPEC` is what it starts.
"""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import gc
import hashlib
import json
import os
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
OK, OVER, FAILED, ABSENT = "ok", "over budget", "failed", "not installed"
PROBE_TREES = 5
STARTING = 120.0  # seconds allowed for imports, reading, and compiling
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


@dataclass(frozen=True)
class Spec:
    system: str
    data: str
    work: str
    threads: int = 1
    trees: int = 100
    repeat: int = 3
    budget: float = 300.0  # seconds of wall time for the measured calls together
    folder: str | None = None
    sample: int | None = None


class Lap(NamedTuple):
    wall: float = 0.0
    cpu: float = 0.0

    def plus(self, other: Lap) -> Lap:
        return Lap(self.wall + other.wall, self.cpu + other.cpu)

    def times(self, factor: float) -> Lap:
        return Lap(self.wall * factor, self.cpu * factor)


class Call(NamedTuple):
    fit: Lap
    predict: Lap
    peak: int  # most bytes of the whole process
    fit_extra: int  # most bytes while fitting, above those just before
    predict_extra: int  # most bytes while predicting, above those just before fitting: the model counts
    probas: list[Any]
    model: Any

    def total(self) -> Lap:
        return self.fit.plus(self.predict)


class OverBudget(Exception):
    def __init__(self, estimate: Lap) -> None:
        self.estimate = estimate


# ---- in the parent


def measure_apart(spec: Spec, limit: float = float("inf"), environment: dict[str, str] | None = None) -> dict[str, Any]:
    """The result of a cell, whatever happens to its process; it is ended after ``limit`` seconds at the latest."""
    threads = dict.fromkeys(THREAD_VARIABLES, str(spec.threads))
    command = [sys.executable, "-m", "benchmarks.measure", json.dumps(dataclasses.asdict(spec))]
    try:
        done = subprocess.run(
            command,
            env=os.environ | threads | (environment or {}),
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=min(2 * spec.budget + STARTING, limit),
        )
    except subprocess.TimeoutExpired:
        return {"status": OVER, "estimate": None}
    if done.returncode:
        return {"status": FAILED, "error": done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]}
    return json.loads(done.stdout.splitlines()[-1])


# ---- in the child


def measure(spec: Spec) -> dict[str, Any]:
    """Warm up, estimate, then the best of several calls, if the budget allows one."""
    from benchmarks.systems import SYSTEMS, Forest, encoded_bytes, is_ours
    from benchmarks.work import few_rows, load_table, make_splits

    system = SYSTEMS[spec.system]
    if system.version() is None:
        return {"status": ABSENT}
    table = load_table(spec.data, spec.folder, spec.sample)
    splits = make_splits(spec.work, table.y)
    X, y = system.table(table.frame), table.y
    table = table._replace(frame=None)  # from here on the process holds one table
    few = few_rows(y, per_class=1000)  # enough for all kernels to be compiled or read
    warm = splits[0]._replace(train=few, query=few[:1])
    first = run(system, X, y, [warm], Forest(PROBE_TREES, spec.threads)).total()
    try:
        estimate = estimate_call(system, X, y, splits, spec)
    except OverBudget as over:
        return {"status": OVER, "estimate": over.estimate._asdict(), "first_call": first._asdict()}
    calls = repeat_call(system, X, y, splits, spec)
    accuracy, scored = score(system, X, y, splits, calls[-1])
    return {
        "status": OK,
        "estimate": estimate._asdict(),
        "first_call": first._asdict(),
        "calls": len(calls),
        **best(calls),
        "peak_mb": mb(max(call.peak for call in calls)),
        "fit_extra_mb": mb(max(call.fit_extra for call in calls)),
        "predict_extra_mb": mb(max(call.predict_extra for call in calls)),
        "encoded_mb": mb(encoded_bytes(calls[-1].model)),
        "accuracy": accuracy,
        "scored_rows": scored,
        "digest": digest(calls[-1].probas) if is_ours(spec.system) else None,
    }


def estimate_call(system: Any, X: Any, y: Any, splits: list[Any], spec: Spec) -> Lap:
    """What a call will take, from a few trees of the first split. Raises if that is over budget."""
    some = min(PROBE_TREES, spec.trees)
    probe = run_probe(system, X, y, splits, spec, some)
    estimate = probe.times(spec.trees / some * len(splits))
    if estimate.wall > spec.budget and some > 1 and (probe.wall < spec.budget or system.compiles):
        # a closer look: the probe may have compiled, and what does not grow with the trees counts once
        one, probe = (run_probe(system, X, y, splits, spec, trees) for trees in (1, some))
        growth = probe.plus(one.times(-1)).times((spec.trees - some) / (some - 1))
        estimate = probe.plus(Lap(max(growth.wall, 0.0), max(growth.cpu, 0.0))).times(len(splits))
    if estimate.wall > spec.budget:
        raise OverBudget(estimate)
    return estimate


def run_probe(system: Any, X: Any, y: Any, splits: list[Any], spec: Spec, trees: int) -> Lap:
    from benchmarks.systems import Forest

    return run(system, X, y, splits[:1], Forest(trees, spec.threads)).total()


def repeat_call(system: Any, X: Any, y: Any, splits: list[Any], spec: Spec) -> list[Call]:
    from benchmarks.systems import Forest

    calls: list[Call] = []
    spent = last = 0.0
    settle()
    while not calls or (len(calls) < spec.repeat and spent + last <= spec.budget):
        calls = [call._replace(model=None) for call in calls]  # one model at a time
        calls.append(run(system, X, y, splits, Forest(spec.trees, spec.threads)))
        last = calls[-1].total().wall
        spent += last
    return calls


def run(system: Any, X: Any, y: Any, splits: list[Any], forest: Any) -> Call:
    """Fit and predict each split. Taking the rows apart is not under the clock, it is the same for all."""
    from benchmarks.work import take

    whole = Call(Lap(), Lap(), 0, 0, 0, [], None)
    for split in splits:
        whole = whole._replace(model=None)
        part = run_split(system, take(X, split.train), y[split.train], take(X, split.query), forest)
        check_proba(part.probas[0], len(split.query), len(np.unique(y)))
        whole = Call(
            whole.fit.plus(part.fit),
            whole.predict.plus(part.predict),
            max(whole.peak, part.peak),
            max(whole.fit_extra, part.fit_extra),
            max(whole.predict_extra, part.predict_extra),
            whole.probas + part.probas,
            part.model,
        )
    return whole


def run_split(system: Any, train: Any, target: Any, query: Any, forest: Any) -> Call:
    before = reset_peak()
    with clock() as fit:
        model = system.fit(train, target, forest)
    fit_peak = peak_bytes()
    reset_peak()
    with clock() as predict:
        proba = system.proba(model, query)
    predict_peak = peak_bytes()
    peak = max(fit_peak, predict_peak)
    return Call(fit[0], predict[0], peak, fit_peak - before, predict_peak - before, [proba], model)


def check_proba(proba: Any, rows: int, classes: int) -> None:
    assert proba.shape == (rows, classes), f"probabilities of shape {proba.shape} for {rows} rows, {classes} classes"
    assert np.allclose(proba.sum(axis=1), 1.0, atol=1e-4), "probabilities do not add up to 1"


def score(system: Any, X: Any, y: Any, splits: list[Any], call: Call) -> tuple[float | None, int]:
    """The share of right answers, on more rows than the clock saw if those are few; it must beat a bad guess."""
    from benchmarks.work import take

    if not system.scores_batches:
        return None, 0
    probas = call.probas
    if len(splits) == 1 and len(splits[0].scored) > len(splits[0].query):
        probas = [system.proba(call.model, take(X, splits[0].scored))]
    truth = np.concatenate([y[split.scored] for split in splits])
    accuracy = float((np.concatenate(probas).argmax(axis=1) == truth).mean())
    guess = np.bincount(truth).max() / len(truth)
    assert accuracy > guess - 0.1, f"accuracy {accuracy:.3f}, the most frequent class alone gives {guess:.3f}"
    return accuracy, len(truth)


def best(calls: list[Call]) -> dict[str, dict[str, float]]:
    """The least of several calls, wall and CPU each for itself."""
    laps = {
        "total": [call.total() for call in calls],
        "fit": [call.fit for call in calls],
        "predict": [call.predict for call in calls],
    }
    return {
        name: {"wall": min(lap.wall for lap in several), "cpu": min(lap.cpu for lap in several)}
        for name, several in laps.items()
    }


def digest(probas: list[Any]) -> str:
    return hashlib.sha256(np.concatenate(probas).astype(np.float64).tobytes()).hexdigest()[:16]


# ---- clocks and memory


@contextlib.contextmanager
def clock() -> Iterator[list[Lap]]:
    """Wall time and CPU time, user and system, of all threads and of child processes."""
    lap: list[Lap] = []
    wall, cpu = time.perf_counter(), cpu_seconds()
    yield lap
    lap.append(Lap(time.perf_counter() - wall, cpu_seconds() - cpu))


def cpu_seconds() -> float:
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def settle() -> None:
    """Give back what earlier calls left, so that the first of several tells how much memory it takes.

    The others find it at hand, as the second call in a process does: getting it anew took them a fifth of a small task.
    """
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def reset_peak() -> int:
    """Forget the peak, and say how many bytes are resident."""
    with contextlib.suppress(OSError):  # Linux only; elsewhere the peak is that of the whole life of the process
        Path("/proc/self/clear_refs").write_text("5")
    return status_bytes("VmRSS") or peak_bytes()


def peak_bytes() -> int:
    """Most bytes resident since `reset_peak`.

    ru_maxrss alone would not do: a process that is forked off starts with the peak of its parent.
    """
    usage = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return status_bytes("VmHWM") or (usage if sys.platform == "darwin" else usage * 1024)


def status_bytes(field: str) -> int | None:
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith(field + ":"):
                return int(line.split()[1]) * 1024
    return None


def mb(number: int | None) -> float | None:
    return None if number is None else round(number / 1e6, 3)


def main() -> None:
    warnings.simplefilter("ignore")
    print(json.dumps(measure(Spec(**json.loads(sys.argv[1])))))


if __name__ == "__main__":
    main()
