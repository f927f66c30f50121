"""Files that are broken or absent, disks that are full: a clear message, code 1, nothing lost, nothing half-written."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys

import polars as pl
import pytest

from cli_helpers import small_table, write

GOOD = "a,b,y\n1,2,u\n2,3,v\n3,4,u\n"
HUGE = 100_000_000


@pytest.fixture
def good(tmp_path):
    (tmp_path / "good.csv").write_text(GOOD)
    return "good.csv"


def broken(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return name


BROKEN = {
    "empty": ("bad.csv", "", "bad.csv is empty."),
    "empty gzip": ("bad.csv.gz", gzip.compress(b""), "bad.csv.gz is empty."),
    "header only": ("bad.csv", "a,b,y\n", "bad.csv has column names but no rows."),
    "a short row": ("bad.csv", "a,b,y\n1,2,u\n3,4\n", "bad.csv, line 3 has 2 fields, the header has 3."),
    "a long row": ("bad.csv", "a,b,y\n1,2,u\n3,4,v,5\n", "bad.csv, line 3 has 4 fields, the header has 3."),
    "a short row, packed": ("b.csv.gz", gzip.compress(b"a,b,y\n1,2,u\n3,4\n"), "b.csv.gz, line 3 has 2 fields"),
    "a short row after a cell of two lines": ("bad.csv", 'a,b,y\n"1\n1",2,u\n3,4\n', "bad.csv, line 4 has 2 fields"),
    "latin-1": ("bad.csv", "a,b,y\n1,2,u\n2,é,v\n".encode("latin-1"), "bad.csv, line 3: byte 0xe9 is not UTF-8."),
    "UTF-16": ("bad.csv", GOOD.encode("utf-16"), "bad.csv is UTF-16 text. Use --encoding utf-16."),
    "an open quote": ("bad.csv", 'a,b,y\n1,"2,u\n2,3,v\n', "bad.csv, line 2: unexpected end of data."),
    "a name twice": ("bad.csv", "a,a,y\n1,2,u\n", "bad.csv has two columns named 'a'."),
    "no name twice": ("bad.csv", "a,,,y\n1,2,3,u\n", "bad.csv has two columns named ''."),
    "no table": ("bad.csv", b"\x7fELF\0\0\0\0\n", "bad.csv is not a table"),
    "Excel": ("bad.xlsx", b"PK\x03\x04rest", "bad.xlsx is a zip archive or an Excel workbook. Export it as CSV first."),
    "broken JSON": ("bad.jsonl", '{"a":1,"y":"u"}\n{"a":2,"y":\n', "bad.jsonl, line 2, column 12: Expecting value."),
    "a JSON array": ("bad.json", '[{"a":1}]', "bad.json is one JSON array. Give one object per line: jq"),
    "Parquet cut off": ("bad.parquet", b"PAR1rest", "bad.parquet cannot be read as Parquet"),
    "gzip cut off": ("bad.csv.gz", gzip.compress(GOOD.encode())[:20], "bad.csv.gz cannot be"),
    "target absent": (
        "bad.csv",
        "a,b,Y1\n1,2,u\n",
        "bad.csv has no column 'y', which --target names. Did you mean 'Y1'?",
    ),
    "target all missing": ("bad.csv", "a,b,y\n1,2,\n3,4,\n", "bad.csv: the target 'y' is missing in all rows."),
    "a constant target": ("bad.csv", "a,b,y\n1,2,u\n3,4,u\n", "bad.csv: the target 'y' is 'u' in all rows."),
    "ids of 19 digits": ("bad.csv", "a,y\n1234567890123456789,u\n2,v\n", "which do not stay apart above 2**53. If it"),
    "no other column": ("bad.csv", "y\nu\nv\n", "bad.csv has no column to learn from"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_broken_training_files(lazyforest, tmp_path, good, kind):
    name, content, message = BROKEN[kind]
    broken(tmp_path, name, content)
    assert message in lazyforest.fails("predict", name, good, "--target", "y", "-o", "out.csv")
    assert sorted(os.listdir(tmp_path)) == sorted({name, good})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a,b\n", "new.csv has column names but no rows."),
        ("a,b\n\n\n", "new.csv has column names but no rows."),
        ("a,c\n1,2\n", "new.csv has no column 'b', which good.csv has."),
        ("a,B \n1,2\n", "new.csv has no column 'b', which good.csv has. Did you mean 'B'?"),
        ("a,b\n1,2\n2,many\n", "new.csv, line 3: column 'b' holds 'many', which is not a number, as in TRAIN."),
        ("a,b\n1,2\n\n2\n", "new.csv, line 4 has 1 field, the header has 2."),
        ("a,b,prediction\n1,2,3\n", "new.csv already has a column 'prediction'"),
        ("a,b,p_u\n1,2,3\n", "new.csv already has a column 'p_u'"),
    ],
)
def test_broken_rows_to_predict(lazyforest, tmp_path, good, content, message):
    broken(tmp_path, "new.csv", content)
    assert message in lazyforest.fails("predict", good, "new.csv", "--target", "y", "-o", "out.csv")
    assert sorted(os.listdir(tmp_path)) == ["good.csv", "new.csv"]


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ({"a": ["x", "y"], "b": [1, 2]}, "new.parquet, row 1: column 'a' holds 'x', which is not a number"),
        ({"a": [True, False], "b": [1, 2]}, "column 'a' holds true or false, in TRAIN it holds numbers."),
        ({"a": [[1], [2]], "b": [1, 2]}, "column 'a' holds List(Int64), in TRAIN it holds numbers."),
    ],
)
def test_columns_of_another_type(lazyforest, tmp_path, good, cells, message):
    write(pl.DataFrame(cells), tmp_path / "new.parquet")
    assert message in lazyforest.fails("predict", good, "new.parquet", "--target", "y", "-o", "out.csv")
    assert not (tmp_path / "out.csv").exists()


def test_a_mistake_in_the_last_chunk_leaves_the_old_file(lazyforest, tmp_path, good):
    broken(tmp_path, "new.csv", "a,b\n" + "1,2\n" * 20 + "1,x\n")
    (tmp_path / "out.csv").write_text("precious")
    flags = ("--target", "y", "-o", "out.csv", "--force", "--chunk-rows", "5", "--trees", "3")
    assert "new.csv, line 22" in lazyforest.fails("predict", good, "new.csv", *flags)
    assert (tmp_path / "out.csv").read_text() == "precious"
    assert sorted(os.listdir(tmp_path)) == ["good.csv", "new.csv", "out.csv"]


@pytest.mark.parametrize(
    ("start", "end", "message"),
    [
        (b"", b"", "line 1 is longer than 16,777,216 bytes."),
        (b"a,b,y\n1,", b",u\n2,3,v\n", "a cell of column 'b' has 100,000,000 bytes, over 1,048,576."),
        (b"a,b,y\n1,2,u\n", b"\n", "a cell of column 'a' has 100,000,000 bytes, over 1,048,576."),
    ],
)
def test_a_line_of_100_mb(lazyforest, tmp_path, good, start, end, message):
    broken(tmp_path, "long.csv", start + b"x" * HUGE + end)
    said = lazyforest.fails("predict", "long.csv", good, "--target", "y")
    assert message in said
    assert len(said) < 300


def test_absent_files_and_folders(lazyforest, tmp_path, good):
    assert lazyforest.fails("predict", "goud.csv", good, "--target", "y") == (
        "goud.csv does not exist. Did you mean 'good.csv'?"
    )
    assert lazyforest.fails("predict", ".", good, "--target", "y") == ". is a folder. Name a file in it."
    assert "is a folder" in lazyforest.fails("predict", good, good, "--target", "y", "-o", tmp_path)
    missing = lazyforest.fails("predict", good, good, "--target", "y", "-o", "none/out.csv")
    assert missing == "The folder none does not exist. Make it first: mkdir -p none"


def test_regression_of_text(lazyforest, good):
    said = lazyforest.fails("predict", good, good, "--target", "y", "--task", "regression")
    assert said == "good.csv: the target 'y' holds text, regression needs numbers. Leave out --task."


def test_columns_that_flags_name(lazyforest, good):
    assert "Did you mean 'y'?" in lazyforest.fails("predict", good, good, "--target", "Y")
    assert "has the --id column 'z'" in lazyforest.fails("predict", good, good, "--target", "y", "--id", "z")
    assert "which --id names" in lazyforest.fails("loo", good, "--target", "y", "--id", "z")
    assert "which --group names" in lazyforest.fails("cv", good, "--target", "y", "--group", "z")
    categories = lazyforest.fails("predict", good, good, "--target", "y", "--categorical-features", "bb")
    assert categories == "good.csv has no column 'bb', which --categorical-features names. Did you mean 'b'?"
    assert "--id y is the target as well" in lazyforest.fails("loo", good, "--target", "y", "--id", "y", code=2)


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_no_permission(lazyforest, tmp_path, good):
    """As another user where this is root, who may read everything."""
    broken(tmp_path, "secret.csv", GOOD)
    (tmp_path / "secret.csv").chmod(0)
    (tmp_path / "sealed").mkdir(mode=0o555)
    tmp_path.chmod(0o755)
    before = os.geteuid()
    assert lazyforest("predict", good, good, "--target", "y").code == 0  # all is imported
    try:
        if before == 0:
            os.seteuid(65534)
        read = lazyforest.fails("predict", "secret.csv", good, "--target", "y")
        written = lazyforest.fails("predict", good, good, "--target", "y", "-o", "sealed/out.csv")
    finally:
        os.seteuid(before)
    assert read == "secret.csv may not be read: permission denied."
    assert written == "The folder sealed may not be written to: permission denied."
    assert os.listdir(tmp_path / "sealed") == []


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
def test_a_full_device(lazyforest, good):
    said = lazyforest.fails("predict", good, good, "--target", "y", "-o", "/dev/full")
    assert said == "/dev/full could not be written: No space left on device."


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
def test_full_standard_output(tmp_path, good):
    command = f"{sys.executable} -m lazyforest predict {good} {good} --target y --trees 2 --quiet > /dev/full"
    ran = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (
        1,
        "error: standard output could not be written: No space left on device.\n",
    )


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 64 KB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip("mounting a file system is not allowed here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.parametrize("name", ["out.csv", "out.csv.gz", "out.jsonl", "out.parquet", "out.arrow"])
@pytest.mark.parametrize("chunk", ["20000", "3000"])
def test_a_full_disk(lazyforest, tmp_path, small_disk, name, chunk):
    """The old file stays, nothing else is left."""
    table = small_table(20000).drop("weight")
    write(table[:300], tmp_path / "train.csv")
    write(table, tmp_path / "new.csv")
    (small_disk / name).write_text("precious")
    flags = ("--target", "class", "--trees", "2", "--force", "--chunk-rows", chunk, "-o", small_disk / name)
    said = lazyforest.fails("predict", "train.csv", "new.csv", *flags)
    assert said == f"{small_disk / name} could not be written: No space left on device. Nothing was left behind."
    assert os.listdir(small_disk) == [name]
    assert (small_disk / name).read_text() == "precious"
