"""The engine also runs as plain Python, where an index out of range is an error that can be seen."""

import os
import subprocess
import sys
from pathlib import Path


def test_equivalence_without_the_compiler():
    here = Path(__file__).parent
    files = ["test_equivalence.py", "test_folds.py"]
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:xdist", *files]
    plain = subprocess.run(
        command, cwd=here, env={**os.environ, "NUMBA_DISABLE_JIT": "1"}, capture_output=True, text=True
    )
    assert plain.returncode == 0, plain.stdout + plain.stderr
