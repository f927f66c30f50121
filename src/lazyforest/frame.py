"""The fixed-point frame: weights and regression targets become whole numbers, whose sums depend on no order."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from lazyforest.engine.bootstrap import MOST_COPIES
from lazyforest.engine.layout import TARGET, Array

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
        scaled = np.ldexp(weight, self.weight_bits) if self.weight_bits else weight
        return np.rint(scaled).astype(np.int64)

    def multiplicity(self, weight: Array) -> Array:
        """What a row adds to a node's size per bootstrap count."""
        return self.weights(weight) if self.weight_bits == 0 else (self.weights(weight) > 0).astype(np.int64)

    def targets(self, y: Array) -> Array:
        return np.rint(np.ldexp(y - self.target_offset, self.target_bits)).astype(TARGET)


def exponent_of(number: float) -> int:
    """The least e with number < 2**e."""
    return math.frexp(number)[1]


class Extent(NamedTuple):
    """All that a frame depends on. The extents of parts of a table add up to that of the table, in any order."""

    rows: int
    total: Fraction  # of the weights, exact
    heaviest: float
    whole: bool  # are all weights whole numbers?
    lowest: float = math.inf  # target; above the highest: there are none
    highest: float = -math.inf

    def plus(self, other: Extent) -> Extent:
        return Extent(
            self.rows + other.rows,
            self.total + other.total,
            max(self.heaviest, other.heaviest),
            self.whole and other.whole,
            min(self.lowest, other.lowest),
            max(self.highest, other.highest),
        )

    @property
    def most_weight(self) -> float:
        """No bootstrap weighs more than this; infinity is refused later."""
        return max(MOST_COPIES * rounded(self.total), self.rows * self.heaviest)

    @property
    def mean_weight(self) -> float:
        return rounded(self.total / self.rows)

    def farthest(self, offset: float) -> float:
        return max(abs(self.lowest - offset), abs(self.highest - offset), 0.0)


def measure(weight: Array, y: Array | None) -> Extent:
    heaviest, whole = float(weight.max(initial=0.0)), bool((weight == np.rint(weight)).all())
    total = Fraction(int(weight.sum())) if whole and len(weight) * heaviest < 2.0**53 else sum_exactly(weight)
    if y is None:
        return Extent(len(weight), total, heaviest, whole)
    return Extent(len(weight), total, heaviest, whole, float(y.min(initial=math.inf)), float(y.max(initial=-math.inf)))


def sum_exactly(x: Array) -> Fraction:
    """Mantissas are whole numbers: those of one exponent are summed in two halves, which cannot overflow."""
    mantissa, exponent = np.frexp(x)
    whole, total = np.ldexp(mantissa, 53).astype(np.int64), Fraction(0)
    for e in np.unique(exponent).tolist():
        some = whole[exponent == e]
        high, low = int((some >> 26).sum()), int((some & (2**26 - 1)).sum())
        total += Fraction((high << 26) + low) * Fraction(2) ** (e - 53)
    return total


def rounded(number: Fraction) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf


def derive_frame(weight: Array, y: Array | None) -> Frame:
    """As many bits as fit: whole weights as they are, then targets about their midrange (``y`` None for classes)."""
    return frame_of(measure(weight, y))


def frame_of(extent: Extent) -> Frame:
    exponent, regression = exponent_of(extent.most_weight), extent.lowest <= extent.highest
    if extent.whole:
        weight_bits = 0
    elif not regression:
        weight_bits = WEIGHT_BITS - exponent or -1  # 0 is kept for whole weights
    else:
        rows = exponent - exponent_of(extent.mean_weight)  # bits of the total, in average weights
        weight_bits = min(FRACTION_BITS, (SHARED_BITS - rows) // 2) - exponent_of(extent.mean_weight) or -1
    if not regression:
        return Frame(weight_bits, 0)
    offset = extent.lowest / 2 + extent.highest / 2
    room = min(WEIGHT_BITS, SHARED_BITS - exponent - weight_bits)
    return Frame(weight_bits, room - exponent_of(extent.farthest(offset)), offset)


def choose_frame(given: Any, weight: Array, y: Array | None) -> Frame:
    """The frame ``given`` by the user or, if None, the one for these weights and targets; warn if targets merge."""
    extent = measure(weight, y)
    frame = frame_of(extent) if given is None else Frame(*given)
    check_extent(frame, extent)
    if y is not None:
        warn_of_merged_targets(frame, y)
    return frame


def check_extent(frame: Frame, extent: Extent) -> None:
    """Raise a ValueError if a sum could leave an int64, or all weights round to zero."""
    most = extent.most_weight
    if not math.isfinite(most) or exponent_of(most) + frame.weight_bits > WEIGHT_BITS:
        raise ValueError(
            f"The total of sample_weight, {most / MOST_COPIES:g} at {frame.weight_bits} fractional bits "
            f"is too large to be summed exactly. Divide all weights by a constant, or set a smaller fixed_point[0]."
        )
    if not frame.weights(np.array([extent.heaviest])).any():
        raise ValueError(
            "sample_weight must have a positive total. Got weights that are all zero"
            + ("." if not extent.heaviest else f" at {frame.weight_bits} fractional bits.")
            + " Give at least one row a positive weight."
        )
    if extent.lowest > extent.highest:
        return
    far = extent.farthest(frame.target_offset)
    target_exponent, weight_exponent = exponent_of(far) + frame.target_bits, exponent_of(most) + frame.weight_bits
    if max(target_exponent, 0) + weight_exponent > SHARED_BITS or target_exponent > WEIGHT_BITS:
        raise ValueError(
            f"Targets up to {far:g} from {frame.target_offset:g} at {frame.target_bits} fractional bits do not fit "
            f"beside the weights. Set fixed_point=None, or fewer bits."
        )


def warn_of_merged_targets(frame: Frame, y: Array) -> None:
    before, after = len(np.unique(y)), len(np.unique(frame.targets(y)))
    if after < 0.9 * before:
        warnings.warn(
            f"{before} distinct targets became {after} in fixed point, in steps of {2.0**-frame.target_bits:g}. Take "
            f"outliers out of y, or set more fixed_point bits.",
            stacklevel=6,
        )
