"""A run of the paper's experiments as questions that tables, figures and claims ask."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

from benchmarks import published
from benchmarks.paper_cells import BL_DT, DT, Cell
from benchmarks.tables import pick

TITLES = {
    "breast": "Breast",
    "adult": "Adult",
    "gamma": "Gamma",
    "all": "All",
    "c2u": "C2U (a third)",
    "c2u_standin": "C2U (stand-in)",
}


class Results:
    def __init__(self, run: dict[str, Any]) -> None:
        self.run, self.plan = run, run["plan"]
        self.names = list(run["data"])
        self.bootstraps: int = self.plan["bootstraps"]
        self.sampled = self.plan["most_rows"] is not None

    def rows(self, name: str) -> int:
        return int(self.run["data"][name]["rows"])

    def folds(self, name: str) -> list[int]:
        """All numbers of folds that were measured; the last is leave-one-out."""
        return [*self.plan["folds"], self.rows(name)]

    def cell(self, name: str, folds: int, algorithm: str) -> Cell:
        return pick(self.run["cells"], data=name, folds=folds, algorithm=algorithm)[0]

    def left_out(self, name: str, algorithm: str) -> Cell:
        return self.cell(name, self.rows(name), algorithm)

    def memory(self, name: str, algorithm: str) -> Cell:
        return pick(self.run["memory"], data=name, algorithm=algorithm)[0]

    def model_words(self, name: str) -> float:
        """Of as many bootstraps as the paper has: a model grows by a tree for each."""
        return float(self.memory(name, DT)["model_words"]) * published.BOOTSTRAPS / self.bootstraps

    def one_row(self, name: str, algorithm: str) -> float:
        """CPU seconds to fit on all rows but one and predict that one."""
        return float(self.left_out(name, algorithm)["cpu"]) / self.rows(name)

    def ratio(self, name: str) -> float:
        return self.one_row(name, DT) / self.one_row(name, BL_DT)

    def times(self, name: str, folds: int, measure: str, more: str, less: str) -> float:
        """How many times as much of something an algorithm takes as another one."""
        return float(self.cell(name, folds, more)[measure]) / float(self.cell(name, folds, less)[measure])

    def marked(self, name: str, folds: int, algorithm: str) -> str:
        """CPU seconds, with a star if they are scaled."""
        cell = self.cell(name, folds, algorithm)
        return rounded(cell["cpu"]) + ("" if cell["asked"] == self.rows(name) else " *")

    def each(self, say: Callable[[str], str]) -> str:
        """A value for each data set, as a list in a sentence."""
        return ", ".join(f"{TITLES[name]} {say(name)}" for name in self.names)


def wrapped(text: str) -> str:
    """A paragraph, or an item of a list, in lines of the usual length."""
    indent = "  " if text.startswith("- ") else ""
    return textwrap.fill(text, 120, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False)


def rounded(number: float) -> str:
    """Three digits, but no number is shortened above the point."""
    return f"{number:,.0f}" if number >= 99.95 else f"{number:#.3g}"
