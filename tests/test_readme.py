"""The code and the commands of the README and of the page on the command line run."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from cli_helpers import small_table, write

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "docs").glob("*.md"))]
COMMANDS = [README, ROOT / "docs" / "command-line.md"]


def test_its_python_runs(capsys):
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(), flags=re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, str(README), "exec"), {})
    assert "tree 0:" in capsys.readouterr().out


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_its_links_exist(page):
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", page.read_text()):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", COMMANDS, ids=lambda page: page.name)
def test_its_commands_run(page, lazyforest, tmp_path):
    """All but those that install something, one after the other, in a folder with the tables that they name."""
    table = small_table(60).rename({"id": "name"})
    write(table[:50], tmp_path / "train.csv")
    write(table[50:].drop("class"), tmp_path / "new.csv")
    blocks = re.findall(r"```sh\n(.*?)```", page.read_text(), flags=re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines() if "install" not in line]
    assert len(lines) > 3
    for line in lines:
        if "|" in line:
            whole = line.replace("lazyforest ", f"{sys.executable} -m lazyforest ")
            assert subprocess.run(["bash", "-c", whole], capture_output=True, check=True).stdout
        else:
            command, *arguments = shlex.split(line)
            ran = lazyforest(*arguments)
            assert (command, ran.code) == ("lazyforest", 0), ran.err
