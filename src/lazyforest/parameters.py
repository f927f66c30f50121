"""The rules that estimator parameters obey, with messages that say what to do."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np

from lazyforest.engine.layout import (
    BATCHED,
    EAGER,
    ENTROPY,
    EVERY_ROW_ONCE,
    GINI,
    LAZY,
    MULTINOMIAL,
    POISSON,
    SQUARED_ERROR,
)

ALGORITHMS = {"batched": BATCHED, "lazy": LAZY, "eager": EAGER}
BOOTSTRAPS: dict[Any, int] = {"poisson": POISSON, "multinomial": MULTINOMIAL, False: EVERY_ROW_ONCE}
CRITERIA = {"entropy": ENTROPY, "gini": GINI, "squared_error": SQUARED_ERROR}
VOTINGS = ("hard", "soft")
NO_LIMIT = 2**40


class Rule(NamedTuple):
    holds: Callable[[Any], bool]
    says: str
    advice: str


def is_int(value: Any, least: int) -> bool:
    if type(value) is int:  # most are, and asking whether something is Integral takes far longer
        return value >= least
    return isinstance(value, Integral) and not isinstance(value, bool | np.bool_) and int(value) >= least


def one_of(*allowed: Any) -> Callable[[Any], bool]:
    pairs = [(type(a), a) for a in allowed]
    return lambda value: (type(value), value) in pairs  # values of other types are not compared


def is_max_features(value: Any) -> bool:
    if value is None or is_int(value, 1) or one_of("sqrt", "log2")(value):
        return True
    return isinstance(value, Real) and not isinstance(value, Integral | bool | np.bool_) and 0.0 < float(value) <= 1.0


def is_fixed_point(value: Any) -> bool:
    return value is None or (
        isinstance(value, tuple | list)
        and len(value) in (2, 3)
        and all(is_int(bits, -2000) and bits <= 2000 for bits in value[:2])
        and all(isinstance(offset, Real) and np.isfinite(float(offset)) for offset in value[2:])
    )


RULES = {
    "n_estimators": Rule(lambda v: is_int(v, 1), "an int >= 1", "More trees give steadier answers; 100 is usual."),
    "max_depth": Rule(lambda v: v is None or is_int(v, 0), "an int >= 0 or None", "Use None for no limit."),
    "min_samples_split": Rule(lambda v: is_int(v, 2), "an int >= 2", "Use 2 to split as far as possible."),
    "min_weight_fraction_leaf": Rule(
        lambda v: isinstance(v, float | Real) and not isinstance(v, bool | np.bool_) and 0.0 <= float(v) <= 0.5,
        "a number from 0 to 0.5",
        "Use 0 for no limit.",
    ),
    "max_features": Rule(
        is_max_features,
        "an int >= 1, a float in (0, 1], 'sqrt', 'log2' or None",
        "Use None to look at all columns in every node.",
    ),
    "bootstrap": Rule(
        one_of("poisson", "multinomial", False, np.False_),
        "'poisson', 'multinomial' or False",
        "Use 'poisson' unless you need exactly n draws per tree.",
    ),
    "voting": Rule(one_of(*VOTINGS), "'hard' or 'soft'", "Use 'hard' for a vote per tree, 'soft' for class shares."),
    "class_weight": Rule(
        lambda v: v is None or isinstance(v, dict) or one_of("balanced")(v),
        "a dict, 'balanced' or None",
        "Use 'balanced' to give all classes the same total weight.",
    ),
    "missing": Rule(
        one_of("route", "reduced"), "'route' or 'reduced'", "Use 'route' unless rows to predict miss many values."
    ),
    "algorithm": Rule(one_of(*ALGORITHMS), "'batched', 'lazy' or 'eager'", "All answer alike; 'batched' is fast."),
    "n_jobs": Rule(
        lambda v: v is None or (is_int(v, -(2**31)) and v != 0), "an int other than 0 or None", "Use -1 for all cores."
    ),
    "verbose": Rule(
        lambda v: isinstance(v, bool | np.bool_) or is_int(v, 0), "an int >= 0", "Use 1 for a progress bar."
    ),
    "fixed_point": Rule(
        is_fixed_point,
        "None or a pair (weight_bits, target_bits) of ints, a target_offset may follow",
        "Use None to derive it from the data.",
    ),
}


def check_parameters(estimator: Any, criteria: tuple[str, ...]) -> None:
    """Raise a ValueError for the first parameter that breaks its rule."""
    given, owner = vars(estimator), type(estimator).__name__  # ``get_params`` would look at the signature each time
    for name, rule in rules_for(criteria):
        if name in given:
            check_rule(rule, name, given[name], owner)


@cache
def rules_for(criteria: tuple[str, ...]) -> list[tuple[str, Rule]]:
    """By name."""
    words = " or ".join(map(repr, criteria))
    return sorted([("criterion", Rule(one_of(*criteria), words, f"Use {criteria[0]!r}.")), *RULES.items()])


def check_value(name: str, value: Any, owner: str) -> None:
    """As ``check_parameters``, for an argument that means the same elsewhere."""
    check_rule(RULES[name], name, value, owner)


def check_rule(rule: Rule, name: str, value: Any, owner: str) -> None:
    if not rule.holds(value):
        raise ValueError(f"The '{name}' parameter of {owner} must be {rule.says}. Got {value!r} instead. {rule.advice}")


def count_max_features(max_features: Any, n_columns: int) -> int:
    """scikit-learn's meaning of ``max_features``, as a number of columns."""
    if max_features is None:
        return n_columns
    if max_features == "sqrt":
        return max(1, int(np.sqrt(n_columns)))
    if max_features == "log2":
        return max(1, int(np.log2(n_columns)))
    if isinstance(max_features, Integral):
        return min(int(max_features), n_columns)
    return max(1, int(max_features * n_columns))


def draw_seed(random_state: Any) -> int:
    """The seed of all hashes: an int as it is, None or a generator give a new draw."""
    if is_int(random_state, 0) and int(random_state) < 2**64:
        return int(random_state)
    if random_state is None:
        return int(np.random.default_rng().integers(2**63))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    raise ValueError(
        "The 'random_state' parameter must be an int from 0 to 2**64 - 1, None, a numpy Generator or a RandomState. "
        f"Got {random_state!r} instead. Use an int to get the same forest again."
    )
