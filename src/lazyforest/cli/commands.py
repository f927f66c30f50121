"""The commands: what they take and, in their docstrings, what ``--help`` says.

Their work is imported when it is wanted: polars, scikit-learn and numba would make ``--help`` wait.
"""

from __future__ import annotations

from typing import Annotated

from cyclopts import App, Parameter

from lazyforest import __version__
from lazyforest.cli.options import DATA, DataOptions, ForestOptions, OutputOptions, TerminalOptions, flag

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

Train = Annotated[str, Parameter(help="The table to learn from; - for standard input.", allow_leading_hyphen=True)]
New = Annotated[str, Parameter(help="The rows to predict; - for standard input.", allow_leading_hyphen=True)]
ChunkRows = Annotated[
    int | None,
    flag(
        help="Rows of NEW in memory at a time. Every chunk explores the trees anew.",
        metavar="INT",
        show_default=lambda _: "what fits in 256 MB",
        group=DATA,
    ),
]


@app.command(help_epilogue="Example: lazyforest predict train.csv new.csv --target class -o predictions.parquet")
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

    Reads CSV, TSV, JSON Lines (all also with gzip or zstd), Parquet and Arrow. Writes NEW's rows with 'prediction' and,
    for each class, 'p_CLASS', the share of the trees that vote for it. Columns are matched by name.
    """
    from lazyforest.cli.predicting import predict_files

    predict_files(train, new, data, output, chunk_rows, forest, terminal)
