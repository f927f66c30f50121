"""The options that commands share. Names and defaults are the estimators'; a test compares them.

They are written out, not generated: reading them from the estimators would import scikit-learn and numba for
``--help``, a second and a half.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Group, Parameter
from cyclopts.validators import Number

from lazyforest.cli.failures import Misuse

DATA = Group("Data", sort_key=1)
OUTPUT = Group("Output", sort_key=2)
FOREST = Group("Forest", sort_key=3)
TERMINAL = Group("Terminal", sort_key=4)


def read_whole(text: str) -> int:
    """2.5 is an error and not 2."""
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a whole number.") from None


def whole(_: Any, tokens: Sequence[Any]) -> int:
    return read_whole(tokens[0].value)


def whole_or_none(_: Any, tokens: Sequence[Any]) -> int | None:
    return None if tokens[0].value == "none" else read_whole(tokens[0].value)


def several_whole(_: Any, tokens: Sequence[Any]) -> tuple[int, ...]:
    return tuple(read_whole(token.value) for token in tokens)


def flag(*names: str, help: str, **more: Any) -> Parameter:
    return Parameter(name=names or None, help=help, negative="", **{"show_default": True, **more})


@Parameter(name="*", group=DATA)
@dataclass(frozen=True, kw_only=True)
class DataOptions:
    target: Annotated[str, flag("--target", "-t", help="The column to predict.", metavar="COLUMN")]
    ids: Annotated[
        tuple[str, ...],
        flag(
            "--id",
            help="A column that is carried along and never learnt from. May be repeated.",
            metavar="COLUMN",
            show_default=False,
        ),
    ] = ()
    task: Annotated[
        Literal["classification", "regression"] | None,
        flag(help="Guessed from the target and said.", show_default=False),
    ] = None
    null: Annotated[
        tuple[str, ...],
        flag(
            help="Text that stands for a gap, besides the empty cell: --null NA --null '?'.",
            metavar="TEXT",
            show_default=False,
            allow_leading_hyphen=True,
        ),
    ] = ()
    separator: Annotated[
        str | None,
        flag(help="What parts the cells of CSV. Guessed from the first line.", metavar="CHARACTER", show_default=False),
    ] = None
    encoding: Annotated[str, flag(help="Of text files.", metavar="NAME")] = "utf-8"

    def with_id(self, name: str) -> DataOptions:
        """The same, with one more column that is never learnt from."""
        return self if name in self.ids else replace(self, ids=(*self.ids, name))


@Parameter(name="*", group=TERMINAL)
@dataclass(frozen=True, kw_only=True)
class TerminalOptions:
    quiet: Annotated[bool, flag("--quiet", "-q", help="Say only results and errors.", show_default=False)] = False
    debug: Annotated[bool, flag(help="Show where in the program an error arose.", show_default=False)] = False


@Parameter(name="*", group=OUTPUT)
@dataclass(frozen=True, kw_only=True)
class OutputOptions:
    output: Annotated[
        Path | None,
        flag(
            "--output",
            "-o",
            help="Where rows go: .csv, .tsv, .jsonl (also .gz, .zst), .parquet, .arrow, or - for standard output.",
            metavar="OUT",
            show_default=False,
            allow_leading_hyphen=True,
        ),
    ] = None
    format: Annotated[
        Literal["csv", "tsv", "jsonl", "parquet", "arrow"] | None,
        flag(help="Instead of OUT's ending; csv on standard output.", show_default=False),
    ] = None
    force: Annotated[bool, flag("--force", "-f", help="Replace OUT if it exists.", show_default=False)] = False


@Parameter(name="*", group=OUTPUT)
@dataclass(frozen=True, kw_only=True)
class ReportOptions:
    json: Annotated[bool, flag(help="The report as JSON, on standard output.", show_default=False)] = False
    suspects: Annotated[
        int, flag(converter=whole, validator=Number(gte=0), help="How many suspicious labels to list.")
    ] = 10


@Parameter(name="*", group=OUTPUT)
@dataclass(frozen=True, kw_only=True)
class ExplainOptions:
    row: Annotated[
        tuple[int, ...],
        flag(
            converter=several_whole,
            help="Which row of NEW, counted from 1. May be repeated.",
            metavar="INT",
            show_default=lambda _: "1",
        ),
    ] = (1,)
    neighbours: Annotated[
        int, flag(converter=whole, validator=Number(gte=0), help="How many of the nearest training rows to list.")
    ] = 5
    plot: Annotated[
        Path | None,
        flag(help="A picture of the nodes opened: .png, .svg or .pdf.", metavar="FILE", show_default=False),
    ] = None
    plot_trees: Annotated[int, flag(converter=whole, validator=Number(gte=1), help="How many trees to draw.")] = 3
    json: Annotated[bool, flag(help="The reasons as JSON, on standard output.", show_default=False)] = False
    force: Annotated[bool, flag("--force", "-f", help="Replace the picture if it exists.", show_default=False)] = False


@Parameter(name="*", group=DATA)
@dataclass(frozen=True, kw_only=True)
class PaperOptions:
    quick: Annotated[
        bool, flag(help="Breast and samples of the others, in minutes, into build/paper.", show_default=False)
    ] = False
    bootstraps: Annotated[
        int | None,
        flag(
            converter=whole,
            validator=Number(gte=1),
            help="Number of trees.",
            metavar="INT",
            show_default=lambda _: "100; with --quick 10",
        ),
    ] = None
    data: Annotated[
        Path | None,
        flag(
            help="Where the files of the data sets are; else LAZYFOREST_DATA says so.",
            metavar="FOLDER",
            show_default=False,
        ),
    ] = None
    only: Annotated[
        tuple[str, ...], flag(help="A data set. May be repeated.", metavar="NAME", show_default=lambda _: "all")
    ] = ()
    out: Annotated[
        Path | None,
        flag(
            help="Where the JSON and the figures go; the page is written beside it.",
            metavar="FOLDER",
            show_default=lambda _: "docs/paper in the clone",
        ),
    ] = None


@Parameter(name="*", group=FOREST)
@dataclass(frozen=True, kw_only=True)
class ForestOptions:
    n_estimators: Annotated[int, flag("--n-estimators", "--trees", converter=whole, help="Number of trees.")] = 100
    random_state: Annotated[
        int,
        flag(
            "--random-state",
            "--seed",
            converter=whole,
            help="The same seed, the same answer.",
        ),
    ] = 0
    n_jobs: Annotated[
        int | None,
        flag(
            "--n-jobs",
            "--threads",
            converter=whole_or_none,
            help="Threads, -1 for all cores; the answer does not depend on it.",
            metavar="INT",
            show_default=lambda _: "1",
        ),
    ] = None
    criterion: Annotated[
        Literal["entropy", "gini", "squared_error"] | None,
        flag(help="What the best condition maximises.", show_default=lambda _: "entropy; squared_error in regression"),
    ] = None
    max_depth: Annotated[
        int | None,
        flag(converter=whole_or_none, help="Depth at which a node is a leaf; 'none' for no limit.", metavar="INT"),
    ] = 20
    min_samples_split: Annotated[int, flag(converter=whole, help="A node of fewer rows is a leaf.")] = 5
    min_weight_fraction_leaf: Annotated[
        float, flag(help="Share of a tree's weight that each side of a condition must have.")
    ] = 0.0
    max_features: Annotated[
        str,
        flag(
            help="Columns that a node looks at: a number, a share such as 0.5, sqrt or log2; 'none' for all.",
            metavar="INT|SHARE|sqrt|log2",
        ),
    ] = "none"
    bootstrap: Annotated[
        Literal["poisson", "multinomial", "false"], flag(help="How a tree's rows are drawn; false: every row once.")
    ] = "poisson"
    voting: Annotated[Literal["hard", "soft"], flag(help="A leaf votes for its first class, or shares its vote.")] = (
        "hard"
    )
    algorithm: Annotated[
        Literal["batched", "lazy", "eager"], flag(help="All give the same answer, at different prices.")
    ] = "batched"
    categorical_features: Annotated[
        tuple[str, ...],
        flag(
            help="A column of categories, may be repeated; then text in others is an error. Or 'none'.",
            metavar="COLUMN",
            show_default=lambda _: "from_dtype, which is text and true/false",
        ),
    ] = ("from_dtype",)
    missing: Annotated[
        Literal["route", "reduced"],
        flag(help="Gaps are sent to a side by each condition, or a row gets a forest without its missing columns."),
    ] = "route"
    class_weight: Annotated[
        tuple[str, ...],
        flag(help="'balanced', or CLASS=WEIGHT, which may be repeated.", metavar="CLASS=WEIGHT", show_default=False),
    ] = ()
    fixed_point: Annotated[
        str | None,
        flag(
            help="Bits of weights and of targets, and an offset if you like: W,T or W,T,OFFSET.",
            metavar="W,T",
            show_default=lambda _: "from the data",
            allow_leading_hyphen=True,
        ),
    ] = None
    verbose: Annotated[int, flag(converter=whole, help="Above 0, say what the trees took, terminal or not.")] = 0

    def estimator(self, regression: bool, classes: list[Any], progress: bool) -> Any:
        """The estimator that these options describe; a flag that breaks its rule is the user's to correct."""
        from lazyforest import LazyForestClassifier, LazyForestRegressor
        from lazyforest.parameters import check_parameters, draw_seed

        kind = LazyForestRegressor if regression else LazyForestClassifier
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        given["criterion"] = self.criterion or kind._criteria[0]
        given["bootstrap"] = False if self.bootstrap == "false" else self.bootstrap
        given["categorical_features"] = self.categories()
        given["max_features"] = read_max_features(self.max_features)
        given["fixed_point"] = read_fixed_point(self.fixed_point)
        given["class_weight"] = read_class_weight(self.class_weight, classes)
        given["verbose"] = max(self.verbose, int(progress))
        if regression:
            for name, default in (("voting", "hard"), ("class_weight", None)):
                if given.pop(name) != default:
                    raise Misuse(f"--{name.replace('_', '-')} is for classification; this is regression. Leave it out.")
        estimator = kind(**given)
        try:
            check_parameters(estimator, kind._criteria)
            draw_seed(self.random_state)
        except ValueError as error:
            raise Misuse(as_flags(str(error), list(given), kind.__name__)) from error
        return estimator

    def categories(self) -> Any:
        if self.categorical_features == ("from_dtype",):
            return "from_dtype"
        return None if self.categorical_features == ("none",) else list(self.categorical_features)


def as_flags(message: str, names: list[str], kind: str) -> str:
    """A message of the library in the words of the command line."""
    for name in names:
        for said in (f"The '{name}' parameter of {kind}", f"The '{name}' parameter"):
            message = message.replace(said, f"--{name.replace('_', '-')}")
    return message.replace("None", "none")


def read_max_features(text: str) -> int | float | str | None:
    """As the estimators want it; what is no number is for them to judge."""
    if text == "none":
        return None
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return text


def read_fixed_point(text: str | None) -> tuple[float, ...] | None:
    if text is None or text == "none":
        return None
    parts = text.split(",")
    try:
        return (*(int(part) for part in parts[:2]), *(float(part) for part in parts[2:]))
    except ValueError as error:
        raise Misuse(f"--fixed-point must be W,T or W,T,OFFSET. Got {text!r}. Leave it out to use the data.") from error


def read_class_weight(pairs: tuple[str, ...], classes: list[Any]) -> Any:
    if not pairs or pairs == ("none",):
        return None
    if pairs == ("balanced",):
        return "balanced"
    known, weights = {str(label): label for label in classes}, {}
    for pair in pairs:
        label, _, weight = pair.rpartition("=")
        try:
            weights[known.get(label, label)] = float(weight)
        except ValueError as error:
            raise Misuse(f"--class-weight must be 'balanced' or CLASS=WEIGHT. Got {pair!r}.") from error
        if label not in known and classes:
            raise Misuse(f"--class-weight names the class {label!r}. The target has {', '.join(known)}.")
    return weights
