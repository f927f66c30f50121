"""Data frames, arrays and lists: what is read, remembered, and refused."""

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from lazyforest import LazyForestClassifier, LazyForestRegressor
from lazyforest.kept import encode
from lazyforest.table import CATEGORY, DATE, DURATION, EMPTY, NUMBER, encode_queries, factorise, read


def forest(**given):
    return LazyForestClassifier(**{"n_estimators": 5, "random_state": 0, "min_samples_split": 2, **given})


@pytest.fixture
def people():
    """A small table with a bit of everything, and gaps."""
    rng = np.random.default_rng(0)
    n = 60
    age = rng.integers(18, 80, n).astype(float)
    job = rng.choice(["nurse", "cook", "Ärztin", "clerk"], n).astype(object)
    table = pd.DataFrame(
        {
            "age": np.where(rng.random(n) < 0.1, np.nan, age),
            "job": np.where(rng.random(n) < 0.1, None, job),
            "member": rng.random(n) < 0.5,
            "since": pd.Timestamp("2020-02-29") + pd.to_timedelta(rng.integers(0, 10**6, n), unit="min"),
        }
    )
    return table, np.where((age > 40) ^ (job == "cook"), "yes", "no")


def versions(table):
    text = table.astype({"job": "string"})
    yield "string", text
    yield "category", table.astype({"job": "category"})
    yield "object", table.astype({"job": object})
    yield "arrow dtypes", text.convert_dtypes(dtype_backend="pyarrow")
    yield "nullable", text.convert_dtypes()
    polars = pl.from_pandas(text)
    yield "polars", polars
    yield "polars categorical", polars.with_columns(pl.col("job").cast(pl.Categorical))
    yield "polars enum", polars.with_columns(pl.col("job").cast(pl.Enum(["cook", "clerk", "nurse", "Ärztin"])))
    arrow = pa.Table.from_pandas(text)
    yield "arrow", arrow
    yield "arrow chunks", pa.concat_tables([arrow.slice(0, 20), arrow.slice(20)])
    dictionary = arrow.column("job").dictionary_encode()
    yield "arrow dictionary", arrow.set_column(arrow.schema.get_field_index("job"), "job", dictionary)


def test_every_data_frame_gives_the_same_votes(people):
    table, y = people
    expected = forest().fit(table, y).explore(table).votes
    for name, version in versions(table):
        model = forest().fit(version, y)
        assert (model.explore(version).votes == expected).all(), name
        assert list(model.feature_names_in_) == list(table.columns), name
    mixed = forest().fit(table, y)  # trained on one kind, asked with another
    assert (mixed.explore(pl.from_pandas(table)).votes == expected).all()


def test_adult_is_the_same_in_pandas_polars_and_arrow(datasets):
    X, y = datasets("adult")
    X, y = X[:4000], y[:4000]
    expected = forest().fit(X, y).predict_proba(X)
    for version in (pl.from_pandas(X), pa.Table.from_pandas(X)):
        assert (forest().fit(version, y).predict_proba(version) == expected).all()


def test_reading_does_not_need_arrow(people, monkeypatch):
    table, y = people
    expected = forest().fit(table, y).explore(table).votes
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    for name, version in versions(table):
        assert (forest().fit(version, y).explore(version).votes == expected).all(), name


def kinds(X, categorical="from_dtype"):
    return [raw.kind for raw in read(X, categorical)]


def test_kinds_follow_dtypes(people):
    table, _ = people
    assert kinds(table) == [NUMBER, CATEGORY, CATEGORY, DATE]
    spans = pl.DataFrame({"d": [datetime.timedelta(seconds=1)], "t": [datetime.date(2020, 1, 1)], "n": [None]})
    assert kinds(spans) == [DURATION, DATE, EMPTY]
    assert kinds([[1, "a", True], [2.5, None, False]]) == [NUMBER, CATEGORY, CATEGORY]
    assert kinds([[1, 2], [3, 4]]) == [NUMBER, NUMBER]
    assert kinds(np.array([["1", "a"]])) == [CATEGORY, CATEGORY]
    assert kinds(np.array([[1, 2.5]], dtype=object)) == [NUMBER, NUMBER]


def test_dates_are_microseconds_whatever_the_unit():
    when = datetime.datetime(2020, 2, 29, 12, 30)
    for unit in ("ms", "us", "ns"):
        frame = pl.DataFrame({"t": [when, None]}).with_columns(pl.col("t").cast(pl.Datetime(unit)))
        (raw,) = read(frame)
        assert raw.numbers[0] == (when - datetime.datetime(1970, 1, 1)).total_seconds() * 1e6
        assert np.isnan(raw.numbers[1])


@pytest.mark.parametrize("chosen", [["b"], [1], [-1], [False, True], np.array([False, True])])
def test_categorical_features_by_name_number_or_mask(chosen):
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [5, 7]})
    assert kinds(frame, chosen) == [NUMBER, CATEGORY]


def test_categories_get_codes_in_ascending_order_and_unseen_ones_none():
    table, columns = encode(read(pd.DataFrame({"x": ["b", "a", None, "c", "a"]})))
    assert table.codes.tolist() == [[2, 1, 0, 3, 1]]
    queries = encode_queries(read(pd.DataFrame({"x": ["c", "zebra", None]}), remembered=columns), columns)
    assert queries[0, 0] == 3
    assert queries[1, 0] == -1
    assert np.isnan(queries[2, 0])


def test_unused_categories_do_not_count():
    frame = pd.DataFrame({"x": pd.Categorical(["b", "b"], categories=["a", "b"])})
    _, (column,) = encode(read(frame))
    assert column.codes == {"b": 1}


def test_a_set_of_numbers_is_not_an_interval():
    X, y = np.array([[1.0], [2.0], [3.0]] * 10), np.array([0, 1, 0] * 10)
    stump = {"max_depth": 1, "bootstrap": False}
    assert (forest(**stump, categorical_features=[0]).fit(X, y).predict(X) == y).all()
    assert (forest(**stump).fit(X, y).predict(X) != y).any()


def test_many_categories():
    names = [f"id{i:05}" for i in range(2000)]
    X = pd.DataFrame({"id": names * 2})
    y = np.arange(4000) % 2000 % 3 == 0
    model = forest(n_estimators=2, bootstrap=False).fit(X, y)
    assert (model.predict(X) == y).all()
    assert (forest(n_estimators=2, bootstrap=False, algorithm="eager").fit(X, y).predict(X) == y).all()


def test_a_column_without_values_is_allowed_and_never_chosen():
    X = pd.DataFrame({"gone": [np.nan] * 20, "none": [None] * 20, "x": np.arange(20.0)})
    y = np.arange(20) >= 7
    explored = forest().fit(X, y).explore(X)
    assert {step.column for path in explored.paths(3) for step in path.steps} == {"x"}
    later = X.assign(none=["text"] * 20)
    assert (forest().fit(X, y).predict(later) == explored.prediction).all()


def test_factorise_says_missing():
    import narwhals as nw

    codes, distinct = factorise(nw.from_native(pl.Series(["b", None, "a", "b"]), series_only=True))
    assert [distinct[code - 1] if code > 0 else None for code in codes] == ["b", None, "a", "b"]


@pytest.mark.parametrize("rows", [3, 40])
def test_numbers_that_stand_for_categories_are_looked_up(rows):
    """A number never seen is in no set; one that is missing is missing; a column may have had none."""
    X = np.array([[2.0, np.nan], [-0.5, np.nan], [np.nan, np.nan], [7.0, np.nan]])
    asked = np.resize(np.array([[7.0, np.nan], [3.0, 1.0], [np.nan, np.nan], [0.0, 0.0], [-0.5, 2.0]]), (rows, 2))
    _, columns = encode(read(X, [0, 1]))
    codes = encode_queries(read(asked, remembered=columns), columns)
    expected = {7.0: 3.0, 3.0: -1.0, 0.0: -1.0, -0.5: 1.0}
    assert [expected.get(x) for x in asked[:, 0].tolist()] == [None if c != c else c for c in codes[:, 0].tolist()]
    assert [None if x != x else -1.0 for x in asked[:, 1].tolist()] == [
        None if c != c else c for c in codes[:, 1].tolist()
    ]


@pytest.mark.parametrize("rows", [3, 40])
def test_categories_that_are_all_missing_in_queries(rows):
    for known in (["x", "y"], [True, False], [1, 2]):
        _, columns = encode(read(pd.DataFrame({"a": pd.Categorical(known)})))
        for asked in ([None] * rows, [np.nan] * rows, pd.Categorical([None] * rows), pd.to_datetime([None] * rows)):
            assert np.isnan(encode_queries(read(pd.DataFrame({"a": asked}), remembered=columns), columns)).all()


@pytest.mark.parametrize("rows", [3, 40])
def test_long_categories_are_told_apart(rows):
    """As float64, both would be the same number."""
    _, columns = encode(read(pd.DataFrame({"a": pd.Categorical([5, 2**53 + 3, 2**53 + 4])})))
    asked = pd.DataFrame({"a": np.resize([5.0, 2.0**53, 2.0**53 + 4], rows)})
    assert encode_queries(read(asked, remembered=columns), columns)[:3, 0].tolist() == [1, -1, 3]


def test_objects_that_are_dates_or_decimals():
    when = datetime.datetime(2020, 2, 29, 12)
    rows = [[when, when.date(), Decimal("1.5"), datetime.timedelta(1), np.datetime64("2020-01-01")], [None] * 5]
    columns = read(np.array(rows, dtype=object))
    assert [raw.kind for raw in columns] == [DATE, DATE, NUMBER, DURATION, DATE]
    assert columns[0].numbers[0] == read(pl.DataFrame({"t": [when]}))[0].numbers[0]
    aware = when.replace(tzinfo=datetime.UTC)
    assert read([[aware]])[0].numbers[0] == columns[0].numbers[0]


def test_text_that_looks_missing_is_text():
    for X in (np.array([["NaT"], ["<NA>"], ["x"]], dtype=object), pd.DataFrame({"x": ["NaT", "<NA>", "x"]})):
        assert encode(read(X))[0].codes.tolist() == [[2, 1, 3]]
    assert forest().fit([[1], [2]], ["NaT", "b"]).classes_.tolist() == ["NaT", "b"]


def test_intervals_are_categories():
    frame = pd.DataFrame({"age": pd.cut([1, 5, 9, 5], [0, 3, 6, 10])})
    assert encode(read(frame))[0].codes.tolist() == [[1, 2, 3, 2]]


def test_no_categories_wanted():
    frame = pd.DataFrame({"a": pd.Categorical([3, 1, 3]), "b": [True, False, None]})
    assert kinds(frame, None) == [NUMBER, NUMBER]
    assert read(frame, None)[0].numbers.tolist() == [3.0, 1.0, 3.0]


def test_an_arrow_dictionary_may_hold_a_missing_value():
    column = pa.DictionaryArray.from_arrays(pa.array([0, 1, None]), pa.array(["a", None]))
    assert encode(read(pa.table({"x": column})))[0].codes.tolist() == [[1, 0, 0]]


BAD_TABLES = {
    "'x' holds whole numbers up to 9007199254740994": pd.DataFrame({"x": [2**53, 2**53 + 2, 0, 1]}),
    "Column 0 holds whole numbers": np.array([[2**60], [0], [0], [0]]),
    "mixes types": pd.DataFrame({"x": [1, "a", 2.5, None]}, dtype=object),
    "'x' holds .* of type dict": pd.DataFrame({"x": [{}, {}, {}, {}]}),
    "'x' is of type List": pl.DataFrame({"x": [[1], [2], [3], [4]]}),
    "'x' is of type Struct": pl.DataFrame({"x": [{"a": 1}] * 4}),
    "'x' is of type Time": pl.DataFrame({"x": [datetime.time(1)] * 4}),
    "'x' contains infinity .* row 2": pd.DataFrame({"x": [1.0, 2.0, np.inf, 3.0]}),
    "Column 1 contains infinity": np.array([[0, 1.0], [0, 2.0], [0, -np.inf], [0, 3.0]]),
    "collect": pl.LazyFrame({"x": [1, 2, 3, 4]}),
    "0 sample": pd.DataFrame({"x": []}),
    "0 feature": pd.DataFrame(index=range(4)),
}


@pytest.mark.parametrize("message", BAD_TABLES)
def test_bad_tables_are_named(message):
    with pytest.raises((TypeError, ValueError), match=message):
        forest().fit(BAD_TABLES[message], [0, 1, 0, 1])


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        (["c"], "'c', which X does not have"),
        ([2], "below 2. Got 2"),
        ([True], "one value per column, 2. Got 1"),
        ("a", "must be 'from_dtype'"),
        ([1.5], "names, numbers or a mask"),
        ([0], "'b' holds text but is not among categorical_features"),
        (None, "'b' holds text"),
    ],
)
def test_bad_categorical_features(chosen, message):
    with pytest.raises(ValueError, match=message):
        forest(categorical_features=chosen).fit(pd.DataFrame({"a": [1, 2], "b": ["x", "y"]}), [0, 1])


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ([1.0, 2.0], ["a", "b"], "held numbers in fit and holds text now"),
        (["a", "b"], [1.0, 2.0], "held text in fit and holds numbers now"),
        (["a", "b"], [True, False], "held text in fit and holds true or false now"),
        ([1.0, 2.0], [datetime.datetime(2020, 1, 1)] * 2, "held numbers in fit and holds dates now"),
    ],
)
def test_a_column_must_keep_its_kind(before, after, message):
    model = forest().fit(pl.DataFrame({"x": before}), [0, 1])
    with pytest.raises(ValueError, match=f"Column 'x' {message}"):
        model.predict(pl.DataFrame({"x": after}))


@pytest.mark.parametrize("y", [[0.0, np.nan, 1.0], ["a", None, "b"], pd.Series(["a", pd.NA, "b"], dtype="string")])
def test_a_missing_target_is_refused_with_its_row(y):
    with pytest.raises(ValueError, match="1 of 3 targets are missing, the first in row 1"):
        forest().fit([[1], [2], [3]], y)


def test_regression_wants_numbers():
    with pytest.raises(ValueError, match=r"y must be numbers.*LazyForestClassifier"):
        LazyForestRegressor().fit([[1], [2]], ["a", "b"])


@pytest.mark.parametrize("model", [LazyForestClassifier(), LazyForestRegressor()])
def test_weights_must_weigh_something(model):
    with pytest.raises(ValueError, match="sample_weight must have a positive total"):
        model.fit([[1], [2]], [0, 1], sample_weight=[0, 0])
    with pytest.raises(ValueError, match=r"negative values .* Got -1 in row 1"):
        model.fit([[1], [2]], [0, 1], sample_weight=[1, -1])
