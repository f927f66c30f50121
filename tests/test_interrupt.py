"""Ctrl-C stops a long prediction soon, and cleanly."""

import os
import signal
import subprocess
import sys
import time

import pytest

SCRIPT = """
import sys
import numpy as np
from lazyforest import LazyForestClassifier, leave_one_out
algorithm = sys.argv[1]
rng = np.random.default_rng(0)
X, y = rng.normal(size=(20_000, 20)), rng.integers(0, 2, 20_000)
if algorithm == "leave one out":
    leave_one_out(LazyForestClassifier(1), X[:50], y[:50])
    print("ready", flush=True)
    leave_one_out(LazyForestClassifier(100_000), X, y)
LazyForestClassifier(1, algorithm=algorithm).fit(X[:50], y[:50]).predict(X[:1])
print("ready", flush=True)
LazyForestClassifier(100_000, algorithm=algorithm).fit(X, y).predict(X[:2000])
"""


@pytest.mark.skipif(os.name != "posix", reason="sends a POSIX signal")
@pytest.mark.parametrize("algorithm", ["batched", "lazy", "eager", "leave one out"])
def test_interrupt(algorithm):
    command = [sys.executable, "-c", SCRIPT, algorithm]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "ready\n"
            time.sleep(1.0)
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    assert errors.rstrip().endswith("KeyboardInterrupt")
    assert process.returncode in (1, 130, -signal.SIGINT)
