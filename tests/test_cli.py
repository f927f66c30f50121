"""The command line: what it is given, what it writes, what it says."""

from __future__ import annotations

import inspect
import json
import os
import shlex
import shutil
import stat
import subprocess
import sys
from dataclasses import fields

import numpy as np
import polars as pl
import pytest

import lazyforest as package
from cli_helpers import small_table, write
from lazyforest import LazyForestClassifier, LazyForestRegressor
from lazyforest.cli.commands import app
from lazyforest.cli.options import ForestOptions
from lazyforest.cli.reading import open_source
from lazyforest.cli.terminal import announced_compilation

HEAVY = {"numpy", "numba", "sklearn", "scipy", "pandas", "polars", "pyarrow", "matplotlib", "joblib", "narwhals"}
FORMATS = ["a.csv", "a.tsv", "a.csv.gz", "a.csv.zst", "a.jsonl", "a.jsonl.gz", "a.parquet", "a.arrow", "a.arrows"]
PREDICT = ("--target", "class", "--id", "id", "--trees", "15")


@pytest.fixture
def files(tmp_path):
    """``train.csv`` and ``new.csv``; the second without a target."""
    table = small_table()
    return write(table[:45], tmp_path / "train.csv"), write(table[45:].drop("class"), tmp_path / "new.csv")


def expected(table, target="class", kind=LazyForestClassifier, **parameters):
    """What the Python interface says of the rows from the 45th on."""
    columns = [name for name in table.columns if name not in ("id", target)]
    forest = kind(**{"n_estimators": 15, "random_state": 0, **parameters})
    return forest.fit(table[:45].select(columns), table[:45][target].to_numpy()).explore(table[45:].select(columns))


# Options and start ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [LazyForestClassifier, LazyForestRegressor])
def test_flags_are_the_parameters(kind):
    """The same names; the same defaults, but for the seed, which is fixed so that a run can be repeated."""
    parameters = {name: p.default for name, p in inspect.signature(kind).parameters.items()}
    assert {field.name for field in fields(ForestOptions)} >= set(parameters)
    made = ForestOptions().estimator(kind is LazyForestRegressor, [], progress=False).get_params()
    assert made == {**parameters, "random_state": 0}


def test_no_flag_is_without_a_parameter():
    assert {field.name for field in fields(ForestOptions)} == set(LazyForestClassifier().get_params())


def test_help_imports_nothing_heavy():
    script = "import sys; from lazyforest.cli.main import run; run(['predict', '--help']); print(*sys.modules)"
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    modules = {name.split(".")[0] for name in out.splitlines()[-1].split()}
    assert "cyclopts" in modules
    assert not modules & HEAVY


def test_the_package_imports_when_asked():
    script = "import sys, lazyforest; print('sklearn' in sys.modules, end=' '); lazyforest.LazyForestClassifier; "
    out = subprocess.run(
        [sys.executable, "-c", script + "print('sklearn' in sys.modules)"], capture_output=True, text=True, check=True
    ).stdout
    assert out.split() == ["False", "True"]
    assert all(hasattr(package, name) and name in dir(package) for name in package.__all__)
    with pytest.raises(AttributeError, match="LazyForst"):
        package.LazyForst  # noqa: B018


def test_version_and_module():
    out = subprocess.run(
        [sys.executable, "-m", "lazyforest", "--version"], capture_output=True, text=True, check=True
    ).stdout
    assert out == f"lazyforest {package.__version__}\n"


@pytest.mark.parametrize("command", ["predict", "loo", "cv", "explain"])
def test_help_has_an_example_and_every_flag(lazyforest, command):
    ran = lazyforest(command, "--help")
    assert ran.code == 0
    assert f"Example: lazyforest {command} " in ran.out
    assert "..." not in ran.out  # a flag takes one value, and may be repeated
    for field in fields(ForestOptions):
        assert f"--{field.name.replace('_', '-')}" in ran.out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_can_be_had_for(shell):
    script = app.generate_completion(shell=shell)
    assert all(word in script for word in ("predict", "explain", "--target" if shell != "fish" else "target"))


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["pre"], ["predict"]),
        (["predict", "tr"], ["train.csv"]),
        (["predict", "train.csv", "new.csv", "--tar"], ["--target"]),
        (["predict", "--algorithm", ""], ["batched", "lazy", "eager"]),
        (["explain", "train.csv", "new.csv", "--plot", "tra"], ["train.csv"]),
    ],
)
def test_what_tab_offers(files, tmp_path, words, offered):
    """The function that bash calls when a person presses Tab."""
    (tmp_path / "completion").write_text(app.generate_completion(shell="bash"))
    line = " ".join(shlex.quote(word) for word in ["lazyforest", *words])
    script = f"source completion; COMP_WORDS=({line}); COMP_CWORD={len(words)}; _lazyforest; echo ${{COMPREPLY[@]}}"
    ran = subprocess.run(["bash", "-c", script], capture_output=True, text=True, cwd=tmp_path, check=True)
    assert ran.stdout.split() == offered


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["predct"], 'Did you mean "predict"'),
        (["predict", "a", "b", "--tagret", "y"], "--target"),
        (["predict", "a", "b"], "--target requires"),
        (["predict", "a", "--target", "y"], "NEW requires"),
        (["predict", "a", "b", "--target", "y", "--trees", "2.7"], "'2.7' is not a whole number"),
        (["predict", "a", "b", "--target", "y", "--criterion", "giny"], "gini"),
        (["predict", "-", "-", "--target", "y"], "Only one file can be standard input"),
        (["predict", "a", "b", "--target", "y", "--encoding", "utf-9"], "--encoding utf-9 is not known"),
        (["predict", "a", "b", "--target", "y", "-o", "out.xyz"], "The ending of out.xyz says no format"),
        (["predict", "a", "b", "--target", "y", "-o", "out.parquet.gz"], "Leave out .gz"),
        (["loo", "a", "--target", "y", "--json", "-o", "-"], "both want standard output"),
        (["loo", "a", "--target", "y", "--format", "csv"], "no -o says where they go"),
        (["cv", "a", "--target", "y", "--group", "y"], "--group y is the target as well"),
        (["cv", "a", "--target", "y", "--folds", "none"], "'none' is not a whole number"),
        (["explain", "a", "b", "--target", "y", "--row", "1", "--row", "1.5"], "'1.5' is not a whole number"),
        (["explain", "a", "b", "--target", "y", "--plot", "out.gif"], "--plot must end in .png"),
    ],
)
def test_misuse_is_code_2(lazyforest, arguments, message):
    assert message in lazyforest.fails(*arguments, code=2)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--max-depth", "-1"], "--max-depth must be an int >= 0 or none. Got -1"),
        (["--seed", "-1"], "--random-state must be an int from 0"),
        (["--max-features", "1.5"], "--max-features must be an int >= 1, a float in (0, 1]"),
        (["--fixed-point", "1,x"], "--fixed-point must be W,T"),
        (["--class-weight", "sweet"], "--class-weight must be 'balanced' or CLASS=WEIGHT"),
        (["--class-weight", "sweat=2"], "The target has sour, sweet"),
    ],
)
def test_a_flag_that_breaks_its_rule(lazyforest, files, flags, message):
    assert message in lazyforest.fails("predict", *files, "--target", "class", *flags, code=2)


def test_a_flag_for_classes_in_regression(lazyforest, files):
    arguments = ("predict", *files, "--target", "weight", "--id", "class", "--voting", "soft")
    assert "--voting is for classification" in lazyforest.fails(*arguments, code=2)


@pytest.mark.parametrize(
    ("flags", "parameters"),
    [
        (["--max-depth", "none", "--max-features", "0.5"], {"max_depth": None, "max_features": 0.5}),
        (["--max-depth", "2"], {"max_depth": 2}),
        (["--max-features", "2"], {"max_features": 2}),
        (["--criterion", "gini"], {"criterion": "gini"}),
        (["--bootstrap", "false"], {"bootstrap": False}),
        (["--bootstrap", "multinomial"], {"bootstrap": "multinomial"}),
        (["--voting", "soft"], {"voting": "soft"}),
        (["--seed", "7", "--algorithm", "eager", "--threads", "2"], {"random_state": 7}),
        (["--class-weight", "sweet=3", "--class-weight", "sour=1"], {"class_weight": {"sweet": 3, "sour": 1}}),
        (["--class-weight", "balanced"], {"class_weight": "balanced"}),
        (["--missing", "reduced"], {"missing": "reduced"}),
        (["--min-samples-split", "9"], {"min_samples_split": 9}),
        (["--min-weight-fraction-leaf", "0.1"], {"min_weight_fraction_leaf": 0.1}),
        (
            ["--class-weight", "sweet=2.6", "--fixed-point", "0,0"],
            {"class_weight": {"sweet": 2.6}, "fixed_point": (0, 0)},
        ),
        (
            [word for name in ("count", "colour", "ripe") for word in ("--categorical-features", name)],
            {"categorical_features": ["count", "colour", "ripe"]},
        ),
    ],
)
def test_flags_reach_the_forest(lazyforest, files, flags, parameters):
    ran = lazyforest("predict", *files, *PREDICT, *flags)
    proba = expected(small_table(), **parameters).proba
    assert np.array_equal(pl.read_csv(ran.out.encode())[["p_sour", "p_sweet"]].to_numpy(), proba)
    assert not np.array_equal(proba, expected(small_table()).proba)  # or a flag without effect would go unseen


# Formats -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_gives_the_answer_of_the_python_interface(lazyforest, tmp_path, name):
    table = small_table()
    for folder, rows in (("train", table[:45]), ("new", table[45:])):
        (tmp_path / folder).mkdir()
        write(rows, tmp_path / folder / name)
    ran = lazyforest("predict", tmp_path / "train" / name, tmp_path / "new" / name, *PREDICT)
    assert ran.code == 0, ran.err
    got = pl.read_csv(ran.out.encode(), schema_overrides={"id": pl.String})
    answer = expected(table)
    assert got["prediction"].to_list() == answer.prediction.tolist()
    assert np.array_equal(got[["p_sour", "p_sweet"]].to_numpy(), answer.proba)
    assert got.columns == [*table.columns, "prediction", "p_sour", "p_sweet"]
    assert got["id"].to_list() == table["id"][45:].to_list()


@pytest.mark.parametrize("name", FORMATS[:-1])
def test_every_format_can_be_written_and_read_again(lazyforest, files, tmp_path, name):
    out = tmp_path / f"out-{name}"
    assert lazyforest("predict", *files, *PREDICT, "-o", out).code == 0
    source = open_source(str(out), None, "utf-8", tmp_path)
    found = pl.concat([batch.cells for batch in source.batches()])
    assert found.columns == [*small_table().drop("class").columns, "prediction", "p_sour", "p_sweet"]
    assert np.array_equal(found[["p_sour", "p_sweet"]].cast(pl.Float64).to_numpy(), expected(small_table()).proba)
    assert "already has a column 'prediction'" in lazyforest.fails("predict", files[0], out, *PREDICT)


def test_parquet_has_types_and_csv_the_text_as_it_was(lazyforest, tmp_path):
    (tmp_path / "train.csv").write_text("id,a,day,y\n001,1,2024-01-02,u\n002,2,2024-02-03,v\n003,3,2024-03-04,u\n")
    (tmp_path / "new.csv").write_text("note,id,day,a\n 7 ,001,2024-01-05,1.50\nx,,,\n")
    arguments = ("predict", "train.csv", "new.csv", "--target", "y", "--id", "id", "--trees", "3")
    out = lazyforest(*arguments).out.splitlines()
    assert [line.rsplit(",", 3)[0] for line in out] == ["note,id,day,a", " 7 ,001,2024-01-05,1.50", "x,,,"]
    assert lazyforest(*arguments, "-o", "out.parquet").code == 0
    types = pl.read_parquet("out.parquet").schema
    assert (types["note"], types["id"], types["day"], types["a"]) == (pl.String, pl.Int64, pl.Date, pl.Float64)


@pytest.mark.parametrize("ending", ["csv", "jsonl.zst", "parquet", "arrow"])
def test_chunks_change_nothing(lazyforest, files, tmp_path, ending):
    whole, parts = tmp_path / f"whole.{ending}", tmp_path / f"parts.{ending}"
    assert lazyforest("predict", *files, *PREDICT, "-o", whole).code == 0
    ran = lazyforest("predict", *files, *PREDICT, "-o", parts, "--chunk-rows", "4")
    assert "in 4 chunks of 4 rows" in ran.err
    read = {"csv": pl.read_csv, "jsonl.zst": pl.read_ndjson, "parquet": pl.read_parquet, "arrow": pl.read_ipc}[ending]
    assert read(whole).height == 15
    assert read(whole).equals(read(parts))


def test_columns_are_matched_by_name(lazyforest, files, tmp_path):
    new = pl.read_csv(files[1], infer_schema=False)
    write(new.select(reversed(new.columns)).with_columns(extra=pl.lit("x")), tmp_path / "turned.csv")
    plain, other = lazyforest("predict", *files, *PREDICT), lazyforest("predict", files[0], "turned.csv", *PREDICT)
    assert "carried along, not used: 'id', 'extra'" in other.err
    last = [line.split(",")[-3:] for line in plain.out.splitlines()]
    assert [line.split(",")[-3:] for line in other.out.splitlines()] == last


def test_standard_input_and_output(files):
    new = files[1].read_bytes()
    command = [sys.executable, "-m", "lazyforest", "predict", str(files[0]), "-", *PREDICT, "-o", "-", "--quiet"]
    piped = subprocess.run([*command, "--format", "jsonl"], input=new, capture_output=True, check=True)
    assert piped.stderr == b""
    assert [json.loads(line)["prediction"] for line in piped.stdout.splitlines()] == expected(
        small_table()
    ).prediction.tolist()


def test_gaps_blanks_and_booleans(lazyforest, tmp_path):
    """The same rows, written by hand and by a machine."""
    rows = [("red", 1.5, True, "u"), (None, 2.0, False, "v"), ("blue", None, True, "u"), ("red", 4.0, None, "v")] * 5
    frame = pl.DataFrame(rows, schema=["colour", "size", "ripe", "y"], orient="row")
    write(frame, tmp_path / "machine.parquet")
    cells = [["?" if cell is None else str(cell) for cell in row] for row in rows]
    (tmp_path / "hand.csv").write_text("\n".join(["colour, size ,ripe,y", *(" , ".join(row) for row in cells), "", ""]))
    common = ("--target", "y", "--trees", "9", "--null", "?")
    by_hand = lazyforest("predict", "hand.csv", "hand.csv", *common)
    by_machine = lazyforest("predict", "machine.parquet", "machine.parquet", *common)
    assert "3 columns to learn from (1 text, 1 numbers, 1 true or false)" in by_hand.err
    answers = [[line.split(",")[-3:] for line in ran.out.splitlines()] for ran in (by_hand, by_machine)]
    assert len(answers[0]) == 21
    assert answers[0] == answers[1]
    mixed = lazyforest("predict", "machine.parquet", "hand.csv", *common)
    assert [line.split(",")[-3:] for line in mixed.out.splitlines()] == answers[0]


def test_text_because_of_a_few_cells_is_said(lazyforest, tmp_path):
    (tmp_path / "a.csv").write_text("a,y\n1,u\n2,v\nNA,u\n4,v\n")
    ran = lazyforest("predict", "a.csv", "a.csv", "--target", "y", "--trees", "3")
    assert (
        "column 'a' is read as text because of 1 cell such as 'NA'. If it stands for a gap, use --null 'NA'." in ran.err
    )
    assert "is read as text" not in lazyforest("predict", "a.csv", "a.csv", "--target", "y", "--null", "NA").err


def test_a_name_in_every_row_is_said(lazyforest, files):
    ran = lazyforest("predict", *files, "--target", "class", "--trees", "2")
    assert "another text" not in ran.err  # 0001, 0002 are numbers
    named = [path.with_name(f"named-{path.name}") for path in files]
    for path, to in zip(files, named, strict=True):
        write(pl.read_csv(path, infer_schema=False).with_columns(id="n" + pl.col("id")), to)
    ran = lazyforest("predict", *named, "--target", "class", "--trees", "2")
    assert "column 'id' has another text in every row. If it names the rows, use --id 'id' to leave it out." in ran.err
    assert "another text" not in lazyforest("predict", *named, *PREDICT).err


def test_a_column_without_a_name_that_counts_the_rows(lazyforest, tmp_path):
    """What pandas writes unless told otherwise; in a table sorted by class, it tells the class."""
    lines = [f"{k},{k % 7},{'u' if k < 15 else 'v'}" for k in range(30)]
    (tmp_path / "a.csv").write_text("\n".join([",a,y", *lines]))
    ran = lazyforest("predict", "a.csv", "a.csv", "--target", "y", "--trees", "3")
    assert "column '' counts the rows. If it names the rows, use --id '' to leave it out." in ran.err
    assert ran.out.splitlines()[1].startswith("0,0,u,u,")
    without = lazyforest("predict", "a.csv", "a.csv", "--target", "y", "--trees", "3", "--id", "")
    assert "1 column to learn from" in without.err
    assert "counts the rows" not in without.err


def test_decimal_commas_are_said(lazyforest, tmp_path):
    (tmp_path / "a.csv").write_text("a;y\n1,5;u\n2;v\n3,25;u\n4,5;v\n5,5;u\n")
    ran = lazyforest("predict", "a.csv", "a.csv", "--target", "y", "--trees", "3")
    assert "column 'a' is read as text because of its decimal commas. Write points for numbers." in ran.err


def test_blank_lines_are_no_rows(lazyforest, files):
    files[1].write_text(files[1].read_text() + "\n\n")
    ran = lazyforest("predict", *files, *PREDICT, "--chunk-rows", "5")
    assert "new.csv: 15 rows to predict\n" in ran.err
    assert "15 predictions" in ran.err


def test_other_encodings_and_separators(lazyforest, tmp_path):
    (tmp_path / "a.csv").write_bytes("größe;y\n1;süß\n2;herb\n3;süß\n".encode("cp1252"))
    ran = lazyforest("predict", "a.csv", "a.csv", "--target", "y", "--encoding", "cp1252", "--trees", "3")
    assert ran.out.splitlines()[0] == "größe,y,prediction,p_herb,p_süß"
    (tmp_path / "b.txt").write_text("a:y\n1:u\n2:v\n")
    ran = lazyforest("predict", "b.txt", "b.txt", "--target", "y", "--separator", ":", "--trees", "3")
    assert ran.out.splitlines()[0] == "a,y,prediction,p_u,p_v"


@pytest.mark.parametrize(
    ("cells", "task"),
    [
        (["a", "b"] * 10, "2 classes, a 10, b 10: classification"),
        ([0, 1] * 10, "2 classes, 0 10, 1 10: classification"),
        ([True, False] * 10, "2 classes, true 10, false 10: classification"),
        ([1.0, 2.0] * 10, "2 classes, 1 10, 2 10: classification"),
        ([0.5, 1.5] * 10, "0.5 to 1.5: regression"),
        (list(range(20)), "0 to 19: regression"),
        ([1, 2, 3] * 10, "3 classes, 1 10, 2 10, 3 10: classification"),
    ],
)
def test_the_task_is_guessed_and_said(lazyforest, tmp_path, cells, task):
    write(pl.DataFrame({"a": list(range(len(cells))), "y": cells}), tmp_path / "a.csv")
    err = lazyforest("predict", "a.csv", "a.csv", "--target", "y", "--trees", "1").err
    said = next(line for line in err.splitlines() if line.startswith("target 'y': "))
    assert sorted(said.removeprefix("target 'y': ").split(", ")) == sorted(task.split(", "))


def test_regression_and_task(lazyforest, files, tmp_path):
    table = small_table()
    columns = ("--target", "weight", "--id", "id", "--id", "class", "--trees", "15")
    ran = lazyforest("predict", files[0], files[1], *columns)
    got = pl.read_csv(ran.out.encode())
    answer = expected(table.drop("class"), "weight", LazyForestRegressor)
    assert got["prediction"].to_list() == answer.prediction.tolist()
    assert got.columns[-1] == "prediction"
    count = lazyforest("predict", *files, "--target", "count", "--id", "class", "--task", "regression")
    assert count.out.splitlines()[0].endswith(",weight,prediction")


def test_rows_without_a_target_are_left_out(lazyforest, tmp_path):
    (tmp_path / "a.csv").write_text("a,y\n1,u\n2,\n3,v\n4,u\n")
    ran = lazyforest("predict", "a.csv", "a.csv", "--target", "y", "--trees", "3")
    assert "a.csv: 3 rows (1 without a target left out)" in ran.err
    assert len(ran.out.splitlines()) == 5


@pytest.mark.parametrize("form", ["csv", "parquet", "arrow", "jsonl"])
def test_adult_is_what_the_python_interface_says(lazyforest, datasets, tmp_path, form):
    """Text columns and gaps; every format writes the same bytes."""
    X, y = datasets("adult")
    table = pl.from_pandas(X).with_columns(pl.Series("class", y.astype(str)))
    paths = write(table[:30000], tmp_path / f"train.{form}"), write(table[30000:], tmp_path / f"new.{form}")
    assert lazyforest("predict", *paths, "--target", "class", "-o", "out.csv").code == 0
    got = pl.read_csv("out.csv")
    answer = LazyForestClassifier(random_state=0).fit(X[:30000], y[:30000]).explore(X[30000:])
    assert got["prediction"].to_list() == answer.prediction.tolist()
    assert np.array_equal(got[["p_<=50K", "p_>50K"]].to_numpy(), answer.proba)
    plain = table[30000:].with_columns(got["prediction"], got["p_<=50K"], got["p_>50K"])
    assert (tmp_path / "out.csv").read_text() == plain.write_csv()


# What is written -----------------------------------------------------------------------------------------


def test_an_existing_file_needs_force(lazyforest, files, tmp_path):
    out = tmp_path / "out.csv"
    out.write_text("precious")
    out.chmod(0o640)
    assert "Use --force" in lazyforest.fails("predict", *files, *PREDICT, "-o", out)
    assert out.read_text() == "precious"
    assert lazyforest("predict", *files, *PREDICT, "-o", out, "--force").code == 0
    assert out.read_text().startswith("id,size")
    assert stat.S_IMODE(out.stat().st_mode) == 0o640
    assert sorted(os.listdir(tmp_path)) == ["new.csv", "out.csv", "train.csv"]


def test_a_link_stays_a_link(lazyforest, files, tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "out.csv").symlink_to(tmp_path / "real" / "target.csv")
    assert lazyforest("predict", *files, *PREDICT, "-o", "out.csv").code == 0
    assert (tmp_path / "out.csv").is_symlink()
    assert (tmp_path / "real" / "target.csv").read_text().startswith("id,size")


def test_a_device_stays_a_device(lazyforest, files):
    assert lazyforest("predict", *files, *PREDICT, "-o", "/dev/null").code == 0
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_a_new_file_has_the_usual_permissions(lazyforest, files, tmp_path):
    lazyforest("predict", *files, *PREDICT, "-o", "out.parquet")
    (tmp_path / "other").touch()
    assert (tmp_path / "out.parquet").stat().st_mode == (tmp_path / "other").stat().st_mode


# What is said --------------------------------------------------------------------------------------------


def test_quiet_says_nothing(lazyforest, files):
    assert lazyforest("predict", *files, *PREDICT, "--quiet").err == ""
    assert "error: " in lazyforest("predict", "absent.csv", files[1], *PREDICT, "--quiet").err


def test_what_is_said(lazyforest, files):
    err = lazyforest("predict", *files, *PREDICT, "-o", "out.csv").err.splitlines()
    assert err[0].endswith("train.csv: 45 rows, 6 columns to learn from (3 numbers, 1 text, 1 true or false, 1 dates)")
    assert err[1].startswith("target 'class': 2 classes, ")
    assert err[2].endswith("new.csv: 15 rows to predict")
    assert err[3] == "carried along, not used: 'id'"
    assert err[-1].startswith("15 predictions in ")
    assert err[-1].endswith(" s: out.csv")
    assert "\x1b" not in "".join(err)


def test_debug_shows_where(lazyforest, files):
    ran = lazyforest("predict", "absent.csv", files[1], *PREDICT, "--debug")
    assert ran.code == 1
    assert "Traceback (most recent call last)" in ran.err
    assert ran.err.splitlines()[-1] == "error: absent.csv does not exist."


def test_verbose_says_what_the_trees_took(lazyforest, files):
    assert "15 of 15 trees in " in lazyforest("predict", *files, *PREDICT, "--verbose", "1").err


def test_compiling_is_announced_when_it_happens(capsys):
    from numba import njit

    add = njit(lambda x: x + 1)
    with announced_compilation():
        add(1)
        add(1.0)
        assert capsys.readouterr().err.count("Compiling for this CPU, once") == 1
    with announced_compilation():
        add(2)
    assert capsys.readouterr().err == ""


def test_demo(lazyforest):
    ran = lazyforest("demo", "--quiet")
    assert ran.code == 0
    assert "All three cast the same votes" in ran.out


def test_without_the_extra(tmp_path):
    """An install without [cli] says what to do."""
    (tmp_path / "cyclopts.py").write_text("raise ModuleNotFoundError(\"No module named 'cyclopts'\", name='cyclopts')")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    ran = subprocess.run([sys.executable, "-m", "lazyforest"], capture_output=True, text=True, env=environment)
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr == "lazyforest: the command line needs cyclopts. Use: pip install 'lazyforest[cli]'\n"
