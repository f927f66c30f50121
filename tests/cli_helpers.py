"""Running the command line inside the test process, and small tables for it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl

from lazyforest.cli.main import run


class Ran(NamedTuple):
    code: int
    out: str
    err: str


class CommandLine:
    """``lazyforest(...)``: the exit code, what was written to standard output, and what was said."""

    def __init__(self, capsysbinary):
        self.capture = capsysbinary

    def __call__(self, *arguments):
        self.capture.readouterr()
        code = run([str(argument) for argument in arguments])
        out, err = self.capture.readouterr()
        return Ran(code, out.decode(), err.decode())

    def fails(self, *arguments, code=1):
        """The message of a command that must fail, without a traceback."""
        ran = self(*arguments)
        assert ran.code == code, ran
        assert ran.err.splitlines()[-1].startswith("error: "), ran.err
        assert "Traceback" not in ran.err
        return ran.err.splitlines()[-1].removeprefix("error: ")


def small_table(n=60, seed=0):
    """Numbers, text, gaps, booleans and dates; two classes that follow them."""
    rng = np.random.default_rng(seed)
    size = rng.normal(10, 3, n).round(2)
    colour = rng.choice(["red", "green", "blue, light"], n)
    frame = pl.DataFrame(
        {
            "id": [f"{k:04d}" for k in range(n)],
            "size": size,
            "count": rng.integers(0, 9, n),
            "colour": colour,
            "ripe": rng.random(n) < 0.5,
            "picked": pl.Series(rng.integers(19000, 19400, n)).cast(pl.Date),
            "weight": (size * 7 + rng.normal(0, 1, n)).round(3),
            "class": np.where((size > 10) == (colour == "red"), "sweet", "sour"),
        }
    )
    gaps = rng.random((2, n)) < 0.1
    return frame.with_columns(
        pl.when(~pl.Series(gaps[0])).then(pl.col("size")).alias("size"),
        pl.when(~pl.Series(gaps[1])).then(pl.col("colour")).alias("colour"),
    )


def write(frame, path):
    """In the format of the ending."""
    name = path.name
    packing = "gzip" if name.endswith(".gz") else "zstd" if name.endswith(".zst") else "uncompressed"
    if ".csv" in name:
        frame.write_csv(path, compression=packing)
    elif ".tsv" in name:
        frame.write_csv(path, separator="\t", compression=packing, check_extension=False)
    elif ".jsonl" in name:
        frame.write_ndjson(path, compression=packing)
    elif name.endswith(".parquet"):
        frame.write_parquet(path)
    elif name.endswith(".arrow"):
        frame.write_ipc(path)
    else:
        frame.write_ipc_stream(path)
    return path
