"""The fixed-point frame: weights and regression targets become whole numbers, whose sums depend on no order."""

from __future__ import annotations

import math
import warnings
from typing import NamedTuple

import numpy as np

from lazyforest.engine.layout import TARGET, Array

MOST_COUNTS = 13  # a Poisson count never passes it
WEIGHT_BITS = 52  # a bootstrap's total weight stays exact in a float64
SHARED_BITS = 61  # weight times target, with a bit to spare for centring, in an int64
FRACTION_BITS = 18  # of an average weight in regression, where targets need bits as well


class Frame(NamedTuple):
    """A weight w is stored as w * 2**weight_bits, a target y as (y - target_offset) * 2**target_bits, both rounded.

    ``weight_bits`` 0 says that weights are whole: weight 3 then counts as three copies of the row.
    """

    weight_bits: int
    target_bits: int
    target_offset: float = 0.0

    def weights(self, weight: Array) -> Array:
        return np.rint(np.ldexp(weight, self.weight_bits)).astype(np.int64)

    def multiplicity(self, weight: Array) -> Array:
        """What a row adds to a node's size per bootstrap count."""
        return self.weights(weight) if self.weight_bits == 0 else (self.weights(weight) > 0).astype(np.int64)

    def targets(self, y: Array) -> Array:
        return np.rint(np.ldexp(y - self.target_offset, self.target_bits)).astype(TARGET)


def exponent_of(number: float) -> int:
    """The least e with number < 2**e."""
    return math.frexp(number)[1]


def most_weight(weight: Array) -> float:
    """No bootstrap weighs more than this; infinity is refused later."""
    with np.errstate(over="ignore"):
        return max(MOST_COUNTS * float(weight.sum()), len(weight) * float(weight.max(initial=0.0)))


def farthest(y: Array, offset: float) -> float:
    return float(np.abs(y - offset).max(initial=0.0))


def derive_frame(weight: Array, y: Array | None) -> Frame:
    """As many bits as fit: whole weights as they are, then targets about their midrange (``y`` None for classes)."""
    exponent = exponent_of(most_weight(weight))
    if bool(np.all(weight == np.rint(weight))):
        weight_bits = 0
    elif y is None:
        weight_bits = WEIGHT_BITS - exponent or -1  # 0 is kept for whole weights
    else:
        rows = exponent - exponent_of(float(weight.mean()))  # bits of the total, in average weights
        weight_bits = min(FRACTION_BITS, (SHARED_BITS - rows) // 2) - exponent_of(float(weight.mean())) or -1
    if y is None:
        return Frame(weight_bits, 0)
    offset = float(y.min()) / 2 + float(y.max()) / 2
    room = min(WEIGHT_BITS, SHARED_BITS - exponent - weight_bits)
    return Frame(weight_bits, room - exponent_of(farthest(y, offset)), offset)


def check_frame(frame: Frame, weight: Array, y: Array | None) -> None:
    """Raise a ValueError if a sum could leave an int64, or all weights round to zero; warn if targets merge."""
    if not math.isfinite(most_weight(weight)) or exponent_of(most_weight(weight)) + frame.weight_bits > WEIGHT_BITS:
        raise ValueError(
            f"The total of sample_weight, {most_weight(weight) / MOST_COUNTS:g} at {frame.weight_bits} fractional bits "
            f"is too large to be summed exactly. Divide all weights by a constant, or set a smaller fixed_point[0]."
        )
    if not frame.weights(weight).any():
        raise ValueError(
            "sample_weight must have a positive total. Got weights that are all zero"
            + ("." if not weight.any() else f" at {frame.weight_bits} fractional bits.")
            + " Give at least one row a positive weight."
        )
    if y is not None:
        check_targets(frame, weight, y)


def check_targets(frame: Frame, weight: Array, y: Array) -> None:
    far = farthest(y, frame.target_offset)
    target_exponent = exponent_of(far) + frame.target_bits
    weight_exponent = exponent_of(most_weight(weight)) + frame.weight_bits
    if max(target_exponent, 0) + weight_exponent > SHARED_BITS or target_exponent > WEIGHT_BITS:
        raise ValueError(
            f"Targets up to {far:g} from {frame.target_offset:g} at {frame.target_bits} fractional bits do not fit "
            f"beside the weights. Set fixed_point=None, or fewer bits."
        )
    before, after = len(np.unique(y)), len(np.unique(frame.targets(y)))
    if after < 0.9 * before:
        warnings.warn(
            f"{before} distinct targets became {after} in fixed point, in steps of {2.0**-frame.target_bits:g}. Take "
            f"outliers out of y, or set more fixed_point bits.",
            stacklevel=6,
        )
