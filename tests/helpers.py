"""The engine behind the reference's signature, and random tables for comparing the two."""

import numba
import numpy as np
import pandas
from hypothesis import strategies as st

from lazyforest import reference
from lazyforest.engine.exploration import explore_recording, new_room, new_task
from lazyforest.engine.layout import CLASS, EAGER, NODE_WORDS, NODES, ROWS_SCANNED, STACK_WORDS, TARGET, Rules, Target
from lazyforest.engine.record import walk
from lazyforest.kept import Kept
from lazyforest.parameters import ALGORITHMS, BOOTSTRAPS, CRITERIA, NO_LIMIT
from lazyforest.table import encode_queries, read_numbers

LISTINGS = {
    "eager": reference.eager_forest,
    "lazy": reference.lazy_forest,
    "batched": reference.batched_lazy_forest,
}
WEIGHTS = ("ones", "whole", "fractional", "huge")


COMPILED = not numba.config.DISABLE_JIT  # otherwise the engine is a thousand times slower


def examples(n):
    """How many tables to try."""
    return n if COMPILED else n // 3


def rules_of(settings, algorithm, n_columns):
    return Rules(
        seed=np.uint64(settings.seed),
        algorithm=ALGORITHMS[algorithm],
        criterion=CRITERIA[settings.criterion],
        bootstrap=BOOTSTRAPS[settings.bootstrap],
        max_depth=NO_LIMIT if settings.max_depth is None else settings.max_depth,
        min_samples_split=settings.min_samples_split,
        min_weight_fraction_leaf=settings.min_weight_fraction_leaf,
        max_features=n_columns if settings.max_features is None else settings.max_features,
        soft=settings.voting == "soft",
        mean_unit=settings.mean_unit,
    )


def kept_columns(T, S):
    """The training columns, not encoded yet, and the engine's queries."""

    def columns_of(X):
        return [read_numbers(X[:, j], j, bool(is_category)) for j, is_category in enumerate(T.categorical)]

    kept = Kept(columns_of(T.X))
    return kept, encode_queries(columns_of(S), kept.columns)


def encoded(T, S):
    """The engine's table, and its queries."""
    kept, X = kept_columns(T, S)
    return kept.table, X


def target_of(T):
    return Target(
        y=T.y.astype(CLASS if T.n_classes else TARGET),
        weight=T.weight,
        multiplicity=T.multiplicity,
        row_ids=T.row_ids.astype(np.uint64),
        weights_are_sizes=bool((T.weight == T.multiplicity).all()),
        n_classes=T.n_classes,
    )


def engine_forest(T, S, settings, algorithm, code_dtype=None):
    """What the engine explores, in the form of the reference's answer."""
    table, X = encoded(T, S)
    if code_dtype is not None:
        table = table._replace(codes=table.codes.astype(code_dtype))
    rules = rules_of(settings, algorithm, S.shape[1])
    votes = np.zeros((len(S), T.n_classes or 2), dtype=np.int64)
    nodes, nodes_counted, rows_scanned, stack_words, model_words = [], 0, 0, 0, 0
    for queries, columns in reference.by_missing_columns(S, settings):
        part = np.zeros((len(queries), votes.shape[1]), dtype=np.int64)
        task = new_task(table, target_of(T), rules, X[queries], columns)
        for tree in range(settings.n_estimators):
            record = explore_recording(task, tree, part, new_room())
            nodes += [(tree, int(key)) for key in record.keys]
            if rules.algorithm == EAGER:
                walk(record, X[queries], part)
                model_words += NODE_WORDS * len(record.nodes)
        votes[queries] += part
        nodes_counted += int(task.bag.costs[NODES])
        rows_scanned += int(task.bag.costs[ROWS_SCANNED])
        stack_words = max(stack_words, int(task.bag.costs[STACK_WORDS]))
    assert nodes_counted == len(nodes)
    return reference.Explored(votes, nodes, rows_scanned, stack_words, model_words)


def assert_engine_equals_reference(T, S, settings, code_dtype=None):
    """Bit for bit, for the three listings, whose votes are the same."""
    votes = reference.eager_forest(T, S, settings).votes.tolist()
    for algorithm, listing in LISTINGS.items():
        expected, got = listing(T, S, settings), engine_forest(T, S, settings, algorithm, code_dtype)
        assert got.votes.tolist() == expected.votes.tolist() == votes, algorithm
        assert got.nodes == expected.nodes, algorithm
        assert got[2:] == expected[2:], algorithm


# Random tables -----------------------------------------------------------------------------------------


def random_numbers(rng, n, q, distinct, missing):
    """A column and its values in the queries, some of these exactly on a threshold."""
    pool = np.arange(distinct) if rng.random() < 0.5 else rng.normal(size=distinct)
    x, s = rng.choice(pool, n).astype(float), rng.choice(pool, q) / 2 + rng.choice([*pool, -1e9, 1e9], q) / 2
    x[rng.random(n) < missing] = np.nan
    return x, s


def random_categories(rng, n, q, distinct, missing):
    """Codes 1, 2... without gaps; -1 in a query is a category that the table does not have."""
    values = rng.integers(0, distinct, n)
    gone = rng.random(n) < missing
    known = np.unique(values[~gone])
    s = rng.integers(0, len(known) + 1, q)
    return np.where(gone, np.nan, np.searchsorted(known, values) + 1.0), np.where(s == 0, -1.0, s)


def random_weights(rng, n, kind):
    """Weights, and what a row adds to the size of a node."""
    weight = np.ones(n, dtype=np.int64) if kind == "ones" else rng.integers(0, 4, n)
    if kind == "huge":
        weight <<= 33
    return weight, (weight > 0).astype(np.int64) if kind == "fractional" else weight


def random_targets(rng, x, n_classes, noise, scale):
    """Targets that follow a column, but for noise."""
    followed = np.nan_to_num(x).astype(np.int64)
    drawn = rng.integers(0, 11 if n_classes == 0 else n_classes, len(x))
    mixed = np.where(rng.random(len(x)) < noise, drawn, followed % (n_classes or 11))
    return mixed if n_classes else (mixed - 5) * scale


def random_table(rng, shape, distinct, regression, weights):
    """A table and some queries: ties, constants, missing values, categories, weights of all kinds."""
    n, m, q = shape
    missing = rng.choice([0.0, 0.0, 0.1, 0.1, 0.5, 1.0])
    categorical = rng.random(m) < rng.choice([0.0, 0.5, 1.0])
    cells = []
    for is_category in categorical:
        column = random_categories if is_category else random_numbers
        cells.append(column(rng, n, q, rng.choice(distinct), rng.choice([0.0, missing])))
    X, S = (np.column_stack(part) for part in zip(*cells, strict=True))
    S[rng.random(S.shape) < rng.choice([0.0, 0.0, 0.3])] = np.nan
    kind = rng.choice(weights)
    weight, multiplicity = random_weights(rng, n, kind)
    n_classes = 0 if regression else int(rng.choice([1, 2, 2, 2, 2, 3, 3, 7, 40]))
    scale = 1 if kind == "huge" else rng.choice([1, 1_000_000])
    y = random_targets(rng, X[:, 0], n_classes, rng.choice([0.1, 0.5, 1.0]), scale)
    row_ids = rng.choice(10_000, n, replace=False)
    given = {"weight": weight, "multiplicity": multiplicity, "row_ids": row_ids, "categorical": categorical}
    return reference.table(X, y, n_classes, **given), S


def random_forest(rng, trees, regression):
    def one_of(*choices):
        return choices[rng.integers(len(choices))]

    return reference.Settings(
        n_estimators=trees,
        criterion="squared_error" if regression else one_of("entropy", "gini"),
        max_depth=one_of(None, None, 20, 20, 20, 3, 3, 1, 0),
        min_samples_split=one_of(2, 5),
        min_weight_fraction_leaf=one_of(0.0, 0.0, 0.0, 0.0, 0.05, 0.3),
        max_features=one_of(None, 1, 2),
        bootstrap=one_of("poisson", "multinomial", False),
        voting=one_of("hard", "soft"),
        missing=one_of("route", "route", "reduced"),
        seed=int(rng.integers(2**64, dtype=np.uint64)),
        mean_unit=4.0,
    )


def random_data_frame(rng, n):
    """Numbers with ties, text, booleans, gaps."""
    table = pandas.DataFrame(
        {
            "number": rng.integers(0, 8, n).astype(float),
            "fine": rng.normal(size=n).round(rng.integers(0, 4)),
            "text": rng.choice(list("abcdef"), n).astype(object),
            "flag": pandas.array(rng.random(n) < 0.5, dtype="boolean"),
        }
    )
    return table.mask(rng.random(table.shape) < rng.choice([0.0, 0.2]))


@st.composite
def cases(draw, regression, rows, columns, distinct, most_trees, weights=WEIGHTS):
    """A table, queries and a forest. Hypothesis draws the shape and a seed, for it favours extremes, and most
    extreme tables have no condition at all; the seed fills the cells and chooses the rest.
    """
    n = draw(st.one_of(*(st.integers(*some) for some in rows)))
    shape = n, draw(st.integers(*columns)), draw(st.integers(1, 5))
    trees, rng = draw(st.integers(1, most_trees)), np.random.default_rng(draw(st.integers(0, 2**63)))
    T, S = random_table(rng, shape, distinct, regression, weights)
    return T, S, random_forest(rng, trees, regression)
