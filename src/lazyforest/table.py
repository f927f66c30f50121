"""A data frame or array becomes encoded columns. The only place that knows dtypes."""

from __future__ import annotations

import datetime
import importlib.util
from collections.abc import Callable, Hashable, Sequence
from decimal import Decimal
from itertools import accumulate, pairwise
from numbers import Real
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from sklearn.utils.validation import check_array

from lazyforest.engine.encoding import new_ranking, rank_numbers
from lazyforest.engine.layout import Array, code_type

NUMBER, DATE, DURATION, CATEGORY, EMPTY = "numbers", "dates", "durations", "categories", "no values"
TEXT, BOOL = "text", "true or false"
LONGEST_INTEGER = 2**53
ROWS_AT_ONCE = 4096  # are copied: they stay in the cache
FEW_ROWS = 16


class Raw(NamedTuple):
    """A column as it came: numbers, NaN where missing; or codes 1, 2... of distinct values, 0 where missing."""

    name: Any
    kind: str
    numbers: Array | None = None
    codes: Array | None = None
    distinct: list[Any] | None = None
    family: str = NUMBER  # what the categories are: TEXT, BOOL or NUMBER
    ascending: bool = False  # are the distinct values in order, and does each occur?
    own: bool = False  # are the numbers nobody else's?


class Column(NamedTuple):
    """What ``fit`` remembers of a column."""

    name: Any
    kind: str
    family: str
    codes: dict[Any, int] = {}  # noqa: RUF012 - of categories: 1, 2... in ascending order of the values

    @property
    def is_category(self) -> bool:
        return self.kind == CATEGORY


def describe(name: Any) -> str:
    return f"Column {name!r}" if isinstance(name, str) else f"Column {name}"


# Reading -----------------------------------------------------------------------------------------------


def read(X: Any, categorical: Any = "from_dtype", remembered: list[Column] | None = None) -> list[Raw]:
    """The columns of a data frame (through narwhals), an array or a list of rows.

    Which are categories is said by ``categorical`` or, for queries, by the columns ``remembered`` from ``fit``.
    """
    frame = X if isinstance(X, np.ndarray) else nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        if 0 in frame.shape:
            check_matrix(np.empty(frame.shape), np.float64)
        names: list[Any] = list(frame.columns)
        wanted = wanted_categories(categorical, names, remembered)
        return read_frame(frame, names, wanted)
    if not isinstance(X, np.ndarray) and isinstance(nw.from_native(X, pass_through=True), nw.LazyFrame):
        raise TypeError("X is a lazy frame, whose rows are not there yet. Call its collect() first.")
    array = as_array(X)
    wanted = wanted_categories(categorical, [None] * array.shape[1], remembered)
    if array.dtype == object:
        return [read_values(list(array[:, j]), j, wanted[j]) for j in range(array.shape[1])]
    own = isinstance(X, list) or (isinstance(X, np.ndarray) and not np.may_share_memory(array, X))
    return read_matrix(array, range(array.shape[1]), wanted, own)


def read_matrix(array: Array, names: Sequence[Any], wanted: list[bool | None], own: bool = False) -> list[Raw]:
    """Numbers, looked at all at once: 12,625 columns one by one take seconds."""
    if np.isinf(array).any():
        for j, name in enumerate(names):
            finite(array[:, j], name)
    chosen = [j for j, want in enumerate(wanted) if want]
    if not chosen:
        return [Raw(name, NUMBER, array[:, j], own=own) for j, name in enumerate(names)]
    in_place = array.flags.f_contiguous
    x, rows = (array.T, chosen) if in_place else (np.ascontiguousarray(array.T[chosen]), range(len(chosen)))
    categories = zip(*rank(x, np.array(rows)), strict=True)
    columns = []
    for j, (name, want) in enumerate(zip(names, wanted, strict=True)):
        if want:
            codes, distinct = next(categories)
            columns.append(Raw(name, CATEGORY, None, codes, distinct.tolist(), NUMBER, ascending=True))
        else:
            columns.append(Raw(name, NUMBER, array[:, j], own=own))
    return columns


def read_frame(frame: Any, names: list[Any], wanted: list[bool | None]) -> list[Raw]:
    if all(dtype == nw.Float64 for dtype in frame.schema.values()):
        array = frame.to_numpy()
        if array.dtype == np.float64:
            return read_matrix(array, names, wanted)
    return [read_series(s, name, want) for s, name, want in zip(frame.iter_columns(), names, wanted, strict=True)]


def take_rows(values: Any, rows: Array) -> Any:
    """Some rows of a table or of a column, as what they came: a data frame, a series, an array or a list."""
    native = nw.from_native(values, eager_only=True, allow_series=True, pass_through=True)
    if native is not values:
        return native[rows].to_native()
    return [values[row] for row in rows] if isinstance(values, list | tuple) else values[rows]


def as_array(X: Any) -> Array:
    """A 2-d array of float64, or of objects if some cells are no numbers."""
    kind = getattr(getattr(X, "dtype", None), "kind", None)
    if kind is None and isinstance(X, Sequence) and len(X):
        try:
            kind = np.asarray(X).dtype.kind
        except ValueError:
            kind = "f"  # rows of different lengths: check_array says so
    if kind is not None and kind in "iu" and not isinstance(X, Sequence) and X.ndim == 2 and X.size:
        for j, (lowest, highest) in enumerate(zip(X.min(axis=0), X.max(axis=0), strict=True)):
            refuse_long_integers(lowest, highest, j)
    if kind is not None and kind in "OUS":
        return check_matrix(np.array(X, dtype=object), None)
    return check_matrix(X, np.float64)


def check_matrix(X: Any, dtype: Any) -> Array:
    """scikit-learn's check of a 2-d array and its messages, with what to do. Nothing is wrong with plain numbers."""
    if type(X) is np.ndarray and X.ndim == 2 and X.size and X.dtype.kind in "fiub" and dtype is np.float64:
        return in_columns(X)
    if getattr(getattr(X, "dtype", None), "kind", "") == "c":
        raise ValueError(f"Complex data not supported in X of shape {X.shape}. Convert it to real numbers first.")
    try:
        return np.asarray(check_array(X, dtype=dtype, order="F", ensure_all_finite=False, input_name="X"))
    except (TypeError, ValueError) as error:
        advice = " Give X at least one row and one column." if "minimum of" in str(error) else ""
        raise type(error)(f"X cannot be read: {error}{advice}") from error


def in_columns(X: Array) -> Array:
    """Float64 with columns one after the other."""
    if X.flags.f_contiguous:
        return np.asfortranarray(X, dtype=np.float64)
    columns = np.empty(X.shape[::-1])
    turn(X, columns)
    return columns.T


def turn(rows: Array, out: Array) -> None:
    """Rows become columns, some at a time: what is near in one order stays near in the other."""
    for start in range(0, len(rows), ROWS_AT_ONCE):
        out[:, start : start + ROWS_AT_ONCE] = rows[start : start + ROWS_AT_ONCE].T


def wanted_categories(categorical: Any, names: list[Any], remembered: list[Column] | None) -> list[bool | None]:
    if remembered is None:
        return categorical_mask(categorical, names)
    if len(remembered) != len(names):
        return [None] * len(names)  # scikit-learn's check of the width comes next
    return [None if column.is_category else False for column in remembered]  # numbers are looked up as they are


def categorical_mask(categorical: Any, names: list[Any]) -> list[bool | None]:
    """For each column: is it a category? None where its dtype is to decide."""
    m = len(names)
    if isinstance(categorical, str) and categorical == "from_dtype":
        return [None] * m
    if categorical is None:
        return [False] * m
    given = np.asarray(categorical)
    problem = None
    if given.ndim != 1:
        problem = f"must be 'from_dtype', None, or a list. Got {categorical!r}."
    elif given.dtype.kind == "b":
        if len(given) == m:
            return [bool(v) for v in given]
        problem = f"is a mask and must have one value per column, {m}. Got {len(given)}."
    elif given.dtype.kind in "iu":
        if ((given >= -m) & (given < m)).all():
            chosen = {v % m for v in given.tolist()}
            return [j in chosen for j in range(m)]
        problem = f"has column numbers and must stay below {m}. Got {given[(given < -m) | (given >= m)][0]}."
    elif len(given) == 0:
        return [False] * m
    elif given.dtype.kind in "UO" and all(isinstance(v, str) for v in given):
        unknown = [v for v in given if v not in names]
        if not unknown:
            return [name in set(given) for name in names]
        problem = f"names the column {str(unknown[0])!r}, which X does not have. It has {names}."
    else:
        problem = f"must hold names, numbers or a mask of columns. Got {categorical!r}."
    raise ValueError(f"The 'categorical_features' parameter {problem} Use 'from_dtype' to let dtypes decide.")


def read_series(series: Any, name: Any, wanted: bool | None) -> Raw:
    """A narwhals series: its dtype decides, unless the user did."""
    dtype = series.dtype
    if dtype.is_numeric():
        if dtype.is_integer():
            refuse_long_integers(series.min(), series.max(), name)
        return read_numbers(series.cast(nw.Float64).to_numpy(), name, wanted)
    if dtype == nw.Boolean and wanted is False:
        return read_numbers(series.cast(nw.Float64).to_numpy(), name, wanted)
    if dtype in (nw.Boolean, nw.String, nw.Categorical, nw.Enum):
        return read_categories(*factorise(series), name, wanted)
    if dtype in (nw.Object, nw.Unknown):
        return read_values(series.to_list(), name, wanted)
    if dtype in (nw.Datetime, nw.Date):
        return Raw(name, DATE, finite(series.dt.timestamp("us").cast(nw.Float64).to_numpy(), name))
    if dtype == nw.Duration:
        return Raw(name, DURATION, finite(series.dt.total_microseconds().cast(nw.Float64).to_numpy(), name))
    raise TypeError(
        f"{describe(name)} is of type {dtype}, which a condition cannot test. Turn it into numbers, text, dates, "
        f"durations or booleans, or leave it out."
    )


def read_categories(codes: Array, distinct: list[Any], name: Any, wanted: bool | None) -> Raw:
    """Categories that a dtype says are such; without values, or numbers after all if the user does not want them."""
    if not distinct:
        return Raw(name, EMPTY, np.full(len(codes), np.nan))
    if not any(isinstance(value, str | Real) for value in distinct):
        distinct = [str(value) for value in distinct]  # intervals, dates: their names
    family = family_of(distinct, name)
    if wanted is False and family in (NUMBER, BOOL):
        return read_numbers(np.array([np.nan, *distinct], dtype=np.float64)[codes], name, wanted)
    return Raw(name, CATEGORY, None, codes, distinct, family)


def refuse_long_integers(lowest: Any, highest: Any, name: Any) -> None:
    """Numbers are compared as float64, in which whole numbers above 2**53 are no longer apart."""
    longest = max((abs(int(v)) for v in (lowest, highest) if not is_missing(v)), default=0)
    if longest > LONGEST_INTEGER:
        raise ValueError(
            f"{describe(name)} holds whole numbers up to {longest}; above 2**53 they do not stay apart. Turn it into "
            f"text if it is an id, or subtract a constant."
        )


def read_numbers(x: Array, name: Any, wanted: bool | None) -> Raw:
    return read_matrix(np.ascontiguousarray(x, dtype=np.float64)[:, None], [name], [wanted])[0]


def finite(x: Array, name: Any) -> Array:
    if np.isinf(x).any():
        row = int(np.flatnonzero(np.isinf(x))[0])
        raise ValueError(
            f"{describe(name)} contains infinity (inf) in row {row}. Replace it by a finite number, or by NaN if it is "
            f"missing."
        )
    return x


def read_values(values: list[Any], name: Any, wanted: bool | None) -> Raw:
    """Python objects: all numbers, or all text, or all booleans; None and NaN are missing."""
    values = [None if is_missing(v) else v for v in values]
    present = [v for v in values if v is not None]
    if not present:
        return Raw(name, EMPTY, np.full(len(values), np.nan))
    family = family_of(present, name)
    if family in (NUMBER, DATE, DURATION) or (family == BOOL and wanted is False):
        to_number = {DATE: microseconds_of_date, DURATION: microseconds_of_duration}.get(family, float)
        numbers = np.array([np.nan if v is None else to_number(v) for v in values])
        return read_numbers(numbers, name, wanted) if family in (NUMBER, BOOL) else Raw(name, family, numbers)
    return Raw(name, CATEGORY, None, *code_values(values), family)


def microseconds_of_date(value: Any) -> float:
    if isinstance(value, np.datetime64):
        return float(value.astype("datetime64[us]").astype(np.int64))
    if not isinstance(value, datetime.datetime):
        value = datetime.datetime(value.year, value.month, value.day)
    return microseconds_of_duration(value - datetime.datetime(1970, 1, 1, tzinfo=value.tzinfo and datetime.UTC))


def microseconds_of_duration(value: Any) -> float:
    if isinstance(value, np.timedelta64):
        return float(value.astype("timedelta64[us]").astype(np.int64))
    return float(value / datetime.timedelta(microseconds=1))


def is_missing(value: Any) -> bool:
    """None, NaN, NaT or pandas' NA (by name, for pandas may not be installed)."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, np.datetime64 | np.timedelta64):
        return bool(np.isnat(value))
    return isinstance(value, float | np.floating) and bool(value != value)


def family_of(values: list[Any], name: Any) -> str:
    """What kind of values these are; mixed kinds are an error."""
    tests: dict[str, Callable[[Any], bool]] = {
        TEXT: lambda v: isinstance(v, str),
        BOOL: lambda v: isinstance(v, bool | np.bool_),
        DURATION: lambda v: isinstance(v, datetime.timedelta | np.timedelta64),  # one of these is a number to Python
        DATE: lambda v: isinstance(v, datetime.date | np.datetime64),
        NUMBER: lambda v: isinstance(v, Real | Decimal),
    }
    found: dict[str, Any] = {}
    for value in values:
        family = next((f for f, test in tests.items() if test(value)), None)
        if family is None:
            raise TypeError(
                f"{describe(name)} holds {value!r} of type {type(value).__name__}; an argument must be a string, a "
                f"bool, a date or a number. Turn it into one of these, or leave the column out."
            )
        found.setdefault(family, value)
    if len(found) > 1:
        examples = " and ".join(f"{value!r} ({family})" for family, value in found.items())
        raise ValueError(f"{describe(name)} mixes types: {examples}. Convert it to one type first.")
    return next(iter(found), TEXT)


def factorise(series: Any) -> tuple[Array, list[Any]]:
    """Codes and distinct values; by Arrow where it is installed (ten times faster)."""
    if importlib.util.find_spec("pyarrow") is None:
        return code_values(series.to_list())
    import pyarrow  # type: ignore[import-untyped, unused-ignore]

    try:
        encoded = series.to_arrow()
        kind = getattr(encoded.type, "value_type", encoded.type)
        if pyarrow.types.is_null(kind) or pyarrow.types.is_nested(kind):
            return code_values(series.to_list())
        if not isinstance(encoded.type, pyarrow.DictionaryType):
            encoded = encoded.dictionary_encode()
        if isinstance(encoded, pyarrow.ChunkedArray):
            encoded = encoded.unify_dictionaries().combine_chunks()
    except pyarrow.ArrowException:  # categories of mixed types: said later, with the column's name
        return code_values(series.to_list())
    indices = encoded.indices.cast("int64").fill_null(-1).to_numpy(zero_copy_only=False)
    distinct = encoded.dictionary.to_pylist()
    if None in distinct:  # a dictionary may hold a missing value as well
        return code_values(series.to_list())
    return indices + 1, distinct


def code_values(values: list[Any]) -> tuple[Array, list[Any]]:
    """Codes 1, 2... in order of appearance, and what they stand for."""
    seen: dict[Hashable, int] = {None: 0}
    count = 0
    for value in dict.fromkeys(values):
        missing = is_missing(value)
        count += not missing
        seen[value] = 0 if missing else count
    codes = np.fromiter(map(seen.__getitem__, values), dtype=np.int64, count=len(values))
    return codes, [value for value, code in seen.items() if code > 0]


# Encoding: of training rows, see kept.py ---------------------------------------------------------------


def rank(x: Array, rows: Array) -> tuple[Array, list[Array]]:
    """Of some rows of x: their codes 1, 2... in ascending order of the numbers, 0 for NaN; their distinct numbers."""
    n = x.shape[1]
    codes, values = np.empty((len(rows), n), dtype=code_type(n)), np.empty(len(rows) * n)
    counts = np.empty(len(rows), dtype=np.int64)
    rank_numbers(x, x.view(np.uint64), rows, codes, values, counts, new_ranking(n))
    ends = list(accumulate(counts.tolist(), initial=0))
    return codes, [values[start:end] for start, end in pairwise(ends)]


def count_rows(raw: Raw) -> int:
    held = raw.numbers if raw.numbers is not None else raw.codes
    assert held is not None  # a column is one or the other
    return len(held)


def encode_queries(columns: list[Raw], remembered: list[Column]) -> Array:
    """A float64 matrix: numbers, codes of categories (-1: never seen), NaN where missing."""
    n = count_rows(columns[0])
    out = np.empty((n, len(columns)))
    for j, (raw, column) in enumerate(zip(columns, remembered, strict=True)):
        check_same_kind(raw, column)
        if raw.numbers is not None and raw.kind == NUMBER and column.is_category and column.family == NUMBER:
            out[:, j] = look_up(raw.numbers, column.codes)
        elif raw.numbers is not None:
            out[:, j] = raw.numbers
        else:
            assert raw.codes is not None
            assert raw.distinct is not None
            code_of = np.array([np.nan, *(column.codes.get(value, -1) for value in raw.distinct)])
            out[:, j] = code_of[raw.codes]
    return out


def look_up(x: Array, codes: dict[Any, int]) -> Any:
    """The codes of numbers that stand for categories. These may be longer than a float64: only Python compares them."""
    if len(x) > FEW_ROWS:
        values, places = np.unique(x, return_inverse=True)
        return np.array(look_up_each(values, codes))[places]
    return look_up_each(x, codes)


def look_up_each(x: Array, codes: dict[Any, int]) -> list[float]:
    return [value if value != value else codes.get(value, -1) for value in x.tolist()]


def check_text_is_wanted(columns: list[Raw], categorical: Any) -> None:
    """With an explicit choice of categorical columns, text elsewhere is an error."""
    if not any(raw.kind == CATEGORY and raw.family == TEXT for raw in columns):
        return
    wanted = categorical_mask(categorical, [raw.name if isinstance(raw.name, str) else None for raw in columns])
    for raw, want in zip(columns, wanted, strict=True):
        if want is False and raw.kind == CATEGORY and raw.family == TEXT:
            raise ValueError(
                f"{describe(raw.name)} holds text but is not among categorical_features. Add it there, use "
                f"'from_dtype', or leave the column out."
            )


def check_same_kind(raw: Raw, column: Column) -> None:
    """A column must hold what it held in ``fit``; one without any value may stand for all."""
    is_category = column.is_category
    now = raw.family if raw.kind == CATEGORY else raw.kind
    before = column.family if is_category else column.kind
    categories = raw.kind == CATEGORY or (is_category and raw.kind == NUMBER)
    if (now == before and categories == is_category) or EMPTY in (raw.kind, column.kind):
        return
    if raw.numbers is None or not np.isnan(raw.numbers).all():
        raise ValueError(
            f"{describe(column.name)} held {before} in fit and holds {now} now. Give it the type it had in fit."
        )
