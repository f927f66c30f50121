"""The statistics of a set of rows, and the score of a pair of sides.

Statistics are a vector of whole numbers: the weight of each class; for regression, weight and weighted sum of
targets. ``left`` always is the invalid side and ``total`` the node, so the valid side is ``total - left``.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lazyforest.engine.layout import ENTROPY, SQUARED_ERROR, Array, entry, jit, public

INVERSE = tuple(1.0 / (2 * k + 1) for k in range(11, -1, -1))  # coefficients of artanh, last first


@public
def x_log2_x(x: Any) -> Any:
    """As in the reference: additions, products and quotients alone, the same bits on every machine."""
    if x == 0:
        return 0.0
    m, exponent = math.frexp(float(x))
    e = float(exponent)
    if m < 0.7071067811865476:
        m, e = m * 2.0, e - 1.0
    s = (m - 1.0) / (m + 1.0)
    z = s * s
    series = 0.0
    for inverse in INVERSE:
        series = series * z + inverse
    return float(x) * (s * series * 2.8853900817779268 + e)


@entry
def fill_x_log2_x(out: Any) -> None:
    for x in range(out.size):
        out[x] = x_log2_x(x)


_known: list[Array] = [np.zeros(1)]
LARGEST_TABLE = 1 << 22


def x_log2_x_table(total: int) -> Array:
    """x log2 x for the first whole numbers; larger ones are computed when met. Grows, and is kept."""
    wanted, known = min(total + 1, LARGEST_TABLE), _known[0]
    if known.size < wanted:
        known = np.empty(wanted)
        fill_x_log2_x(known)
        _known[0] = known
    return known


@public
def look_up(x: Any, f: Any) -> Any:
    return f[x] if x < f.size else x_log2_x(x)


@public
def side(held: Any, criterion: Any, f: Any) -> Any:
    """The score of one set of rows: ``score`` with an empty other side."""
    if criterion == SQUARED_ERROR:
        return float(held[1]) * float(held[1]) / float(held[0])
    total, known = 0, 0.0
    if criterion == ENTROPY:
        for c in range(held.size):
            total += held[c]
            known += look_up(held[c], f)
        return known - look_up(total, f)
    for c in range(held.size):
        total += held[c]
        known += float(held[c]) * float(held[c])
    return known / float(total)


@public
def score(left: Any, total: Any, criterion: Any, f: Any) -> Any:
    """side(left) + side(total - left), in the reference's order of additions."""
    if criterion == SQUARED_ERROR:
        n, s = total[0] - left[0], float(total[1] - left[1])
        return float(left[1]) * float(left[1]) / float(left[0]) + s * s / float(n)
    below, above, known, rest = 0, 0, 0.0, 0.0
    if criterion == ENTROPY:
        for c in range(left.size):
            a, b = left[c], total[c] - left[c]
            below, above = below + a, above + b
            known += look_up(a, f)
            rest += look_up(b, f)
        return (known - look_up(below, f)) + (rest - look_up(above, f))
    for c in range(left.size):
        a, b = left[c], total[c] - left[c]
        below, above = below + a, above + b
        known += float(a) * float(a)
        rest += float(b) * float(b)
    return known / float(max(below, 1)) + rest / float(max(above, 1))  # an empty side is 0 / 1


@public
def bound(left: Any, below: Any, above: Any, total: Any, corner: Any, criterion: Any, f: Any) -> Any:
    """Moving a part of what is between ``below`` and ``above`` to the left scores no more (but for rounding).

    The score is convex in the left-hand statistics, so on a box it is largest at a corner; the two corners where
    nothing or everything moves are the caller's. For regression, where sums of the positive targets come third, the
    box is weight x sum.
    """
    highest = -np.inf
    if criterion == SQUARED_ERROR:
        positive = above[2] - below[2]
        negative = above[1] - below[1] - positive
        for k in range(4):
            corner[0] = left[0] + (above[0] - below[0] if k & 1 else 0)
            corner[1] = left[1] + (positive if k & 2 else negative)
            if corner[0] <= 0 or corner[0] >= total[0]:
                return np.inf
            highest = max(highest, score(corner, total, criterion, f))
        return highest
    classes = left.size
    if classes > 4:
        return separable_bound(left, below, above, total, criterion, f)
    for k in range(1, (1 << classes) - 1):
        for c in range(classes):
            corner[c] = left[c] + (np.int64(above[c]) - np.int64(below[c]) if (k >> c) & 1 else 0)
        highest = max(highest, score(corner, total, criterion, f))
    return highest


@jit
def separable_bound(left: Any, below: Any, above: Any, total: Any, criterion: Any, f: Any) -> Any:
    """For many classes: each class at the better end of its interval, the joint term at its best."""
    lowest, highest, whole = np.int64(0), np.int64(0), np.int64(0)
    known, squares_left, squares_right = 0.0, 0.0, 0.0
    for c in range(left.size):
        a = left[c]
        b = a + np.int64(above[c]) - np.int64(below[c])
        lowest, highest, whole = lowest + a, highest + b, whole + total[c]
        if criterion == ENTROPY:
            known += max(
                look_up(a, f) + look_up(total[c] - a, f),
                look_up(b, f) + look_up(total[c] - b, f),
            )
        else:
            squares_left += float(b) * float(b)
            squares_right += float(total[c] - a) * float(total[c] - a)
    if criterion == ENTROPY:
        middle = min(max(whole // 2, lowest), highest)
        return known - look_up(middle, f) - look_up(whole - middle, f)
    most_left = min(squares_left / max(float(lowest), 1.0), float(highest))
    return most_left + min(squares_right / max(float(whole - highest), 1.0), float(whole - lowest))
