"""The page of the paper's experiments, written from the JSON of a run: tables, figures, claims.

python -m benchmarks.paper_page          # rewrites docs/paper.md
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from benchmarks import machine, published
from benchmarks.measure import ROOT
from benchmarks.paper_cells import BL_DT, DEEPEST, DT, FEWEST_ROWS, L_DT, LARGE, LISTINGS, MEMORY_FOLDS, REPEAT, SHARED
from benchmarks.paper_claims import list_claims
from benchmarks.paper_results import TITLES, Results, rounded, wrapped
from benchmarks.tables import markdown
from lazyforest import datasets

INTRODUCTION = """\
# The paper, reproduced

*Batched Lazy Decision Trees* (Guillame-Bert and Dubrawski, 2016, [arXiv 1603.02578](https://arxiv.org/abs/1603.02578))
compares three ways to predict with a bagged forest: the eager tree (DT) is grown whole and kept, the lazy tree (L-DT)
follows one unlabeled row at a time, the batched lazy tree (BL-DT) follows all of them together. Here are its three
tables and two figures from this implementation, beside the numbers that the paper printed, and what became of its
claims. A fourth column is ours alone: *shared folds*, `lazyforest.cross_val_predict` on all folds in one call.

All four cast the same votes, row by row, in every cell below. The run checks it.
"""

DIFFERENCES = """\
## What is done otherwise

- **Bootstraps.** A row's count in a bootstrap is a Poisson draw that belongs to the row, where the paper draws n rows.
  So leaving out a fold changes no other row's count, and folds can share work.
- **Words.** A row that a bootstrap holds several times is held once, with its count. A bag has about 63% of the rows as
  distinct ones, so a stack is about 0.63 times as high as one that counts repeats.
- **Time** includes encoding the table, in every fit of DT, L-DT and BL-DT; with shared folds it is encoded once.
- **Conditions.** A category is tested for being in a set. The paper's C2U has 212 columns, probably indicators of
  categories; ours has categories as they are. Both of ours are other rows too: nothing on them compares with the
  paper's C2U.
- **Rows.** The paper's Table 2 prints 596 rows for Breast, its Table 1 569. It has one row more of All.
"""

HOW = """\
## How to repeat it

    make paper                       # everything, within an hour; this page is written from its JSON
    lazyforest paper --quick         # Breast and samples of the others, minutes, into build/paper
    lazyforest paper --bootstraps 10 --only breast --only gamma

The command works in a clone. `--data` or `LAZYFOREST_DATA` names the folder with the files of the data sets. Adult and
Gamma are downloaded where the files are not there, Breast comes with scikit-learn, the others are passed over with a
word on where to get them. An interrupted run goes on where it was when it is started again.
"""


def write_page(out: Path) -> Path:
    """``out`` is the folder with the JSON; the page stands beside it, under the same name."""
    path = out.with_name(out.name + ".md")
    path.write_text(make_page(json.loads((out / "run.json").read_text()), out.name))
    return path


def make_page(run: dict[str, Any], folder: str) -> str:
    results = Results(run)
    parts = [INTRODUCTION, wrapped(f"Last run: {machine.in_words(run)}") + "\n", settings(results)]
    parts += ["## Table 1: the data sets\n", table_1(results), notes(results)]
    parts += ["## Table 2: CPU time\n", how_to_read_2(results), table_2(results)]
    parts += ["## Table 3: memory\n", how_to_read_3(results), table_3(results)]
    parts += [figures(results, folder), "## Claim by claim\n", *list_claims(results), DIFFERENCES, HOW]
    return "\n".join(parts)


def settings(results: Results) -> str:
    plan = results.plan
    text = (
        f"{results.bootstraps} bootstraps, hard votes, all columns at every node, c = {FEWEST_ROWS}, "
        f"d = {DEEPEST - 1}; one thread. Folds are stratified and shuffled with a fixed seed."
    )
    if results.sampled:
        text += f" At most {plan['most_rows']:,} rows and {plan['most_columns']:,} columns of each data set."
    return wrapped(text) + "\n"


# ---- tables


def table_1(results: Results) -> str:
    rows = []
    for name in results.names:
        data = results.run["data"][name]
        rows.append([TITLES[name], "here", *size(data["rows"], data["columns"], data["kilobytes"])])
        if name in published.TABLES:
            rows.append(["", "paper", *size(*published.TABLES[name][:3])])
    return markdown(["data", "", "rows", "columns", "rows / columns", "kB as text"], rows)


def size(rows: int, columns: int, kilobytes: int) -> list[str]:
    return [f"{rows:,}", f"{columns:,}", rounded(rows / columns), f"{kilobytes:,}"]


def notes(results: Results) -> str:
    lines = [wrapped(f"- {TITLES[name]}: {datasets.SOURCES[name].note}") for name in results.names]
    return "\n".join(["The class is one of the columns.\n", *lines, ""])


def how_to_read_2(results: Results) -> str:
    plan = results.plan
    text = (
        f"Seconds, user + system. *One row*: fit on all others and predict it, mean of {plan['single_rows']} rows "
        f"drawn at random, each the best of {REPEAT} calls; L-DT and BL-DT are the same there, BL-DT is shown. "
        f"A star: scaled, for of a table of more than {LARGE:,} rows L-DT is asked for {plan['lazy_rows']} drawn at "
        f"random, at least one of each fold. The paper's seconds are those of a machine of 2016 and "
        f"{published.BOOTSTRAPS} bootstraps: compare ratios."
    )
    return wrapped(text) + "\n"


def table_2(results: Results) -> str:
    many = [folds for folds in (10, 40) if folds in results.plan["folds"]]
    header = ["data", "", "one row: DT", "BL-DT", "ratio"]
    for folds in many:
        header += [f"{folds} folds: DT", L_DT, BL_DT, SHARED]
    rows = []
    for name in results.names:
        one = [results.one_row(name, DT), results.one_row(name, BL_DT), results.ratio(name)]
        cells = [results.marked(name, folds, algorithm) for folds in many for algorithm in (*LISTINGS, SHARED)]
        rows.append([TITLES[name], "here", *map(rounded, one), *cells])
        if name in published.TABLES:
            paper = published.TABLES[name]
            cells = [text for folds in many for text in [*map(as_printed, paper.folds[folds]), ""]]
            rows.append(["", "paper", *map(as_printed, paper.one_row), *cells])
    return markdown(header, rows)


def as_printed(number: float) -> str:
    return f"{number:,}"


def how_to_read_3(results: Results) -> str:
    counted = results.bootstraps
    scaled = "" if counted == published.BOOTSTRAPS else f", scaled from {counted}"
    text = (
        f"One model of {MEMORY_FOLDS}-fold. Words as the paper counts them: one per row index that the listing's "
        f"variables hold at the worst moment, four per node of the model of {published.BOOTSTRAPS} bootstraps{scaled}. "
        f"Beside them what a process really needed at its peak to fit and predict that fold with {counted} bootstraps, "
        f"above the table that it was given, the encoded table included. A star: L-DT was asked for a sample of it."
    )
    return wrapped(text) + "\n"


def table_3(results: Results) -> str:
    header = ["data", "", "stack words: DT", L_DT, BL_DT, "model words: DT", "peak MB: DT", L_DT, BL_DT]
    rows = []
    for name in results.names:
        cells = [results.memory(name, algorithm) for algorithm in LISTINGS]
        stack = [f"{c['stack_words']:,}{'' if c['asked'] == c['of'] else ' *'}" for c in cells]
        peak = [f"{c['peak_bytes'] / 1e6:.1f}" for c in cells]
        rows.append([TITLES[name], "here", *stack, f"{results.model_words(name):,.0f}", *peak])
        if name in published.TABLES:
            rows.append(["", "paper", *(f"{words:,}" for words in published.TABLES[name].words), "", "", ""])
    return markdown(header, rows)


# ---- figures and differences


def figures(results: Results, folder: str) -> str:
    example = results.run["example"]
    steps = ", ".join(f"{name} {len(ways)}" for name, ways in example["steps"].items())
    caption = (
        f"A tree of Breast, at most {example['depth']} conditions deep, and two unlabeled rows, A and B. "
        f"Steps: {steps}. The lazy tree starts anew for B and searches again what the two share; the batched lazy tree "
        f"opens it once, and nothing that neither row needs. Drawn from the trace of `lazyforest.reference`."
    )
    return f"""\
## Figure 1: the order of exploration

![Steps of the three algorithms]({folder}/exploration.png)

{wrapped(caption)}

## Figure 2: CPU time and nodes against the number of folds

![CPU time and nodes against folds]({folder}/folds.png)

Nodes are those of all folds together, divided by the number of bootstraps. LOO is leave-one-out, as many folds as
rows: there the three listings are scaled from {results.plan["single_rows"]} rows, shared folds are measured whole.
"""


if __name__ == "__main__":
    print(write_page(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "paper"))
