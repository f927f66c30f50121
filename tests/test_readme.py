"""The README's code runs."""

import re
from pathlib import Path

README = Path(__file__).resolve().parents[1] / "README.md"


def test_its_python_runs(capsys):
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(), flags=re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, str(README), "exec"), {})
    assert "tree 0:" in capsys.readouterr().out


def test_its_links_exist():
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", README.read_text()):
        assert (README.parent / target).exists(), target
