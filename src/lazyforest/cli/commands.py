"""The commands: what they take and, in their docstrings, what ``--help`` says.

Their work is imported when it is wanted: polars, scikit-learn and numba would make ``--help`` wait.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter
from cyclopts.validators import Number

from lazyforest import __version__
from lazyforest.cli.options import (
    DATA,
    DataOptions,
    ExplainOptions,
    ForestOptions,
    OutputOptions,
    PaperOptions,
    ReportOptions,
    TerminalOptions,
    flag,
    whole,
)

EXAMPLES = """
Examples:

  lazyforest predict train.csv new.csv --target class -o predictions.csv
  zcat train.csv.gz | lazyforest predict - new.parquet --target price | head
  lazyforest loo train.csv --target class
  lazyforest explain train.csv new.csv --target class --row 3 --plot why.svg

Exit codes: 0 done, 1 the data or the machine do not allow it, 2 the command is not understood.
"""

app = App(
    name="lazyforest",
    help="Predict with a bagged decision forest without ever building one: from a file to predictions in one line.",
    version=f"lazyforest {__version__}",
    help_format="plaintext",
    help_epilogue=EXAMPLES.strip(),
    suppress_keyboard_interrupt=False,
)
app.register_install_completion_command(help="Set up completion for your shell.")

Train = Annotated[Path, Parameter(help="The table to learn from; - for standard input.", allow_leading_hyphen=True)]
New = Annotated[Path, Parameter(help="The rows to predict; - for standard input.", allow_leading_hyphen=True)]
ChunkRows = Annotated[
    int | None,
    flag(
        validator=Number(gte=1),
        converter=whole,
        help="Rows of NEW in memory at a time. Every chunk explores the trees anew.",
        metavar="INT",
        show_default=lambda _: "what fits in 512 MB",
        group=DATA,
    ),
]


@app.command(
    sort_key=1, help_epilogue="Example: lazyforest predict train.csv new.csv --target class -o predictions.parquet"
)
def predict(
    train: Train,
    new: New,
    /,
    *,
    data: DataOptions,
    output: OutputOptions = OutputOptions(),
    chunk_rows: ChunkRows = None,
    forest: ForestOptions = ForestOptions(),
    terminal: TerminalOptions = TerminalOptions(),
) -> None:
    """Predict a column for the rows of NEW.

    Reads CSV, TSV, JSON Lines (all also with gzip or zstd), Parquet and Arrow.
    Writes NEW's rows with 'prediction' and, for each class, 'p_CLASS', the share
    of the trees that vote for it. Columns are matched by name.
    """
    from lazyforest.cli.predicting import predict_files

    predict_files(str(train), str(new), data, output, chunk_rows, forest, terminal)


@app.command(sort_key=2, help_epilogue="Example: lazyforest loo train.csv --target class --json | jq .accuracy")
def loo(
    train: Train,
    /,
    *,
    data: DataOptions,
    output: OutputOptions = OutputOptions(),
    report: ReportOptions = ReportOptions(),
    forest: ForestOptions = ForestOptions(),
    terminal: TerminalOptions = TerminalOptions(),
) -> None:
    """Leave one out: predict every row of TRAIN from all others.

    Says how good that is, with 95% intervals, and which labels look wrong.
    With -o, also writes TRAIN's rows with these predictions.
    """
    from lazyforest.cli.evaluating import Folds, evaluate_file

    evaluate_file(str(train), Folds(), data, output, report, forest, terminal)


@app.command(sort_key=3, help_epilogue="Example: lazyforest cv visits.csv --target outcome --folds 5 --group patient")
def cv(
    train: Train,
    /,
    *,
    data: DataOptions,
    folds: Annotated[int, flag(converter=whole, help="Into how many parts the rows are dealt.", group=DATA)] = 10,
    group: Annotated[
        str | None,
        flag(
            help="Rows with the same value here stay in one fold; it is not learnt from.",
            metavar="COLUMN",
            show_default=False,
            group=DATA,
        ),
    ] = None,
    output: OutputOptions = OutputOptions(),
    report: ReportOptions = ReportOptions(),
    forest: ForestOptions = ForestOptions(),
    terminal: TerminalOptions = TerminalOptions(),
) -> None:
    """Cross-validate: predict every row of TRAIN from the other folds.

    Folds are drawn with --seed, classes spread evenly over them. The report is
    that of loo.
    """
    from lazyforest.cli.evaluating import Folds, evaluate_file

    evaluate_file(str(train), Folds(folds, group), data, output, report, forest, terminal)


@app.command(
    sort_key=4, help_epilogue="Example: lazyforest explain train.csv new.csv --target class --row 3 --plot why.svg"
)
def explain(
    train: Train,
    new: New,
    /,
    *,
    data: DataOptions,
    reasons: ExplainOptions = ExplainOptions(),
    forest: ForestOptions = ForestOptions(),
    terminal: TerminalOptions = TerminalOptions(),
) -> None:
    """Say why a row of NEW is predicted as it is.

    For each column, in how many trees it decided and with which conditions; the
    most typical path in words; the training rows that share most leaves with the
    row; and, with --plot, the nodes that were opened, as a picture.
    """
    from lazyforest.cli.explaining import explain_file

    explain_file(str(train), str(new), data, reasons, forest, terminal)


@app.command(sort_key=5, help_epilogue="Example: lazyforest paper --quick")
def paper(*, options: PaperOptions = PaperOptions(), terminal: TerminalOptions = TerminalOptions()) -> None:
    """Repeat the experiments of the paper, in a clone of the repository.

    Its three tables and two figures beside the published numbers, and which of
    its claims held. Takes up to an hour; a run that was interrupted goes on.
    """
    from lazyforest.cli.reproducing import reproduce_paper

    reproduce_paper(options, terminal)


@app.command(sort_key=6, help_epilogue="")
def demo(*, terminal: TerminalOptions = TerminalOptions()) -> None:
    """Three algorithms, one answer, three prices, on the breast cancer data."""
    from lazyforest.cli.demo import show_demo
    from lazyforest.cli.terminal import announced_compilation, teller

    teller.quiet = terminal.quiet
    with announced_compilation():
        show_demo()
