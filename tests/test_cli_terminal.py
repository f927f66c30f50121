"""The command line as a person at a terminal has it: help, typos, a progress bar, Ctrl-C, pipes, files that exist."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import polars as pl
import pytest

pexpect = pytest.importorskip("pexpect", reason="drives a terminal")
pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs a POSIX terminal")

COMMAND = [sys.executable, "-m", "lazyforest"]
MANY = 1_000_000  # trees: more than anybody waits for


@pytest.fixture
def folder(tmp_path):
    """A table of two classes: ``train.csv``, ``new.csv``."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 6))
    table = pl.DataFrame(X, schema=[f"x{k}" for k in range(6)])
    table = table.with_columns(pl.Series("class", np.where(X[:, 0] + rng.normal(size=3000) > 0, "up", "down")))
    table[:2900].write_csv(tmp_path / "train.csv")
    table[2900:].drop("class").write_csv(tmp_path / "new.csv")
    return tmp_path


class Terminal:
    """A person at 80 columns in a folder."""

    def __init__(self, folder, **environment):
        plain = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "FORCE_COLOR", "CI")}
        self.settings = {
            "cwd": str(folder),
            "env": {**plain, "TERM": "xterm-256color", **environment},
            "dimensions": (30, 80),
            "encoding": "utf-8",
            "timeout": 120,
        }

    def start(self, *arguments):
        return pexpect.spawn(COMMAND[0], [*COMMAND[1:], *map(str, arguments)], **self.settings)

    def run(self, *arguments):
        """All that was shown, and the exit code."""
        child = self.start(*arguments)
        child.expect(pexpect.EOF)
        child.close()
        return child.before, child.exitstatus


@pytest.fixture
def terminal(folder):
    return Terminal(folder)


def shown(text):
    """What is left on the screen: no colours, and of a line written over itself its last state."""
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)
    return [line.rsplit("\r", 1)[-1] for line in plain.replace("\r\n", "\n").rstrip("\n").split("\n")]


def sentence(text):
    """What is shown, as if lines had no end."""
    return " ".join(" ".join(shown(text)).split())


def test_help(terminal):
    text, code = terminal.run("--help")
    assert code == 0
    for word in ("predict", "loo", "cv", "explain", "demo", "Examples:", "Exit codes: 0 done"):
        assert word in text
    assert max(map(len, shown(text))) <= 80


def test_colours_on_a_terminal_alone(folder):
    asked = ("predict", "absent.csv", "new.csv", "--target", "class")
    assert "\x1b[1;31merror:\x1b[0m" in Terminal(folder).run(*asked)[0]
    assert not re.search(r"\x1b\[[0-9;]*3[0-7]m", Terminal(folder, NO_COLOR="1").run(*asked)[0])
    piped = subprocess.run([*COMMAND, *asked], cwd=folder, capture_output=True, text=True)
    assert (piped.returncode, piped.stdout) == (1, "")
    assert piped.stderr == "error: absent.csv does not exist.\n"


def test_a_typo_in_a_column_name(terminal):
    text, code = terminal.run("predict", "train.csv", "new.csv", "--target", "clas")
    assert code == 1
    assert shown(text)[-1] == "'class'?"  # broken between words
    assert sentence(text) == "error: train.csv has no column 'clas', which --target names. Did you mean 'class'?"


def test_a_run_with_a_progress_bar(terminal, folder):
    text, code = terminal.run(
        "predict", "train.csv", "new.csv", "--target", "class", "-o", "out.csv", "--trees", "5000"
    )
    assert code == 0
    bars = re.findall(r"\[[#.]{24}\] ([\d,]+)/5,000 trees, ([\d.,]+)/s, (.*? left|[\d.]+ s)\x1b", text)
    assert len(bars) >= 2
    done = [int(bar[0].replace(",", "")) for bar in bars]
    assert done == sorted(done)
    assert done[-1] == 5000
    assert bars[0][2].endswith(" left")
    assert shown(text)[-1].startswith("100 predictions in ")
    assert (folder / "out.csv").read_text().count("\n") == 101


def test_one_bar_for_all_chunks(terminal, folder):
    flags = ("--target", "class", "-o", "out.csv", "--trees", "600", "--chunk-rows", "30")
    text, code = terminal.run("predict", "train.csv", "new.csv", *flags)
    assert code == 0
    assert "/100 rows, " in text
    assert " trees, " not in text
    assert sum(line.startswith("[") for line in shown(text)) == 1


def test_what_is_over_at_once_has_no_bar(terminal):
    text, code = terminal.run("predict", "train.csv", "new.csv", "--target", "class", "-o", "out.csv", "--trees", "2")
    assert code == 0
    assert "trees, " not in text


def test_quiet(terminal):
    flags = ("--target", "class", "-o", "out.csv", "--trees", "300", "--quiet")
    assert terminal.run("predict", "train.csv", "new.csv", *flags) == ("", 0)


@pytest.mark.parametrize("output", ["out.csv", "out.parquet", "-"])
def test_ctrl_c_in_the_middle(terminal, folder, output):
    """Stops soon, says so, leaves the folder as it was."""
    child = terminal.start("predict", "train.csv", "new.csv", "--target", "class", "-o", output, "--trees", MANY)
    child.expect(r"trees, ")
    before = sorted(os.listdir(folder))
    child.sendintr()
    child.expect("Interrupted; no file was written.")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 130
    assert "Traceback" not in child.before
    assert sorted(os.listdir(folder)) == ["new.csv", "train.csv"]
    assert (len(before) == 3) == (output != "-")  # what was there while it ran


def test_ctrl_c_keeps_the_old_file(terminal, folder):
    (folder / "out.csv").write_text("precious")
    flags = ("--target", "class", "-o", "out.csv", "--force", "--trees", MANY)
    child = terminal.start("predict", "train.csv", "new.csv", *flags)
    child.expect(r"trees, ")
    child.sendintr()
    child.expect(pexpect.EOF)
    assert (folder / "out.csv").read_text() == "precious"
    assert sorted(os.listdir(folder)) == ["new.csv", "out.csv", "train.csv"]


def test_ctrl_c_while_compiling(folder):
    """On a machine that has never compiled: said, and stopped in the middle of it."""
    terminal = Terminal(folder, NUMBA_CACHE_DIR=str(folder / "cache"))
    child = terminal.start("predict", "train.csv", "new.csv", "--target", "class", "-o", "out.csv")
    child.expect("Compiling for this CPU, once")
    time.sleep(1.0)
    child.sendintr()
    child.expect("Interrupted; no file was written.", timeout=10)
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 130
    assert not [name for name in os.listdir(folder) if "out" in name]


def test_a_killed_run_leaves_nothing(folder, tmp_path_factory):
    scratch = tmp_path_factory.mktemp("scratch")
    flags = ["--target", "class", "-o", "out.csv", "--trees", str(MANY)]
    with (folder / "new.csv").open() as new:
        process = subprocess.Popen(
            [*COMMAND, "predict", "train.csv", "-", *flags],
            cwd=folder,
            stdin=new,
            stderr=subprocess.PIPE,
            env={**os.environ, "TMPDIR": str(scratch)},
        )
    while not [name for name in os.listdir(folder) if name.startswith(".out.csv.")]:
        assert process.poll() is None
        time.sleep(0.05)
    assert os.listdir(scratch)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM
    assert sorted(os.listdir(folder)) == ["new.csv", "train.csv"]
    assert os.listdir(scratch) == []


def test_piped_to_another_program(folder):
    """``| head`` closes the pipe early: no message, no traceback."""
    big = pl.concat([pl.read_csv(folder / "new.csv")] * 300)
    big.write_csv(folder / "big.csv")
    line = f"{' '.join(COMMAND)} predict train.csv big.csv --target class --trees 1 --quiet --chunk-rows 5000"
    ran = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {line} | head -n 2"], cwd=folder, capture_output=True, text=True
    )
    assert ran.stdout.splitlines()[0] == "x0,x1,x2,x3,x4,x5,prediction,p_down,p_up"
    assert len(ran.stdout.splitlines()) == 2
    assert ran.stderr == ""
    assert ran.returncode == 141
    counted = subprocess.run(["bash", "-c", f"{line} | wc -l"], cwd=folder, capture_output=True, text=True)
    assert counted.stdout.strip() == "30001"


def test_a_pipe_as_a_file(folder):
    """``<(...)`` can be read once and not be mapped."""
    line = f"{' '.join(COMMAND)} predict <(gzip -c train.csv) <(cat new.csv) --target class --trees 2 --quiet"
    ran = subprocess.run(["bash", "-c", line], cwd=folder, capture_output=True, text=True)
    assert (ran.returncode, ran.stderr, ran.stdout.count("\n")) == (0, "", 101)


def test_a_file_that_exists(terminal, folder):
    (folder / "out.csv").write_text("precious")
    text, code = terminal.run("predict", "train.csv", "new.csv", "--target", "class", "-o", "out.csv")
    assert code == 1
    assert sentence(text) == "error: out.csv exists already. Use --force to replace it, or another name with -o."
    assert (folder / "out.csv").read_text() == "precious"


def test_binary_formats_are_not_for_a_terminal(terminal):
    text, code = terminal.run("predict", "train.csv", "new.csv", "--target", "class", "--format", "parquet")
    assert code == 2
    assert "--format parquet is not for a terminal." in text
