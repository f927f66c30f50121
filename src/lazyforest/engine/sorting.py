"""Sorts of the few kinds that the engine needs: smaller to compile than NumPy's, and faster on short lists."""

from __future__ import annotations

from typing import Any

import numpy as np

from lazyforest.engine.layout import jit

SHORT = 40  # up to here insertion sort is the fastest
DIGIT = np.uint64(255)


@jit
def sort_words(words: Any, spare: Any, places: Any, n: Any, shift: Any, most: Any) -> None:
    """Sort words[:n] by ``word >> shift``, which is at most ``most``; equal ones keep their order.

    A counting sort per byte, lowest first; ``places`` has room for 256 numbers.
    """
    if n <= SHORT:
        for i in range(1, n):
            word, at = words[i], i
            while at > 0 and (words[at - 1] >> shift) > (word >> shift):
                words[at] = words[at - 1]
                at -= 1
            words[at] = word
        return
    digit = shift
    while most > 0:
        used = min(most + 1, 256)
        for k in range(used):
            places[k] = 0
        for i in range(n):
            places[(words[i] >> digit) & DIGIT] += 1
        below = 0
        for k in range(used):
            here = places[k]
            places[k] = below
            below += here
        for i in range(n):
            key = (words[i] >> digit) & DIGIT
            spare[places[key]] = words[i]
            places[key] += 1
        for i in range(n):
            words[i] = spare[i]
        digit += np.uint64(8)
        most >>= 8


@jit
def sort_order(keys: Any, order: Any, spare: Any, n: Any) -> None:
    """Write to order[:n] the numbers 0 to n - 1 by ascending key, ties by number."""
    for i in range(n):
        order[i] = i
    if n <= SHORT:
        for i in range(1, n):
            at = i
            while at > 0 and keys[order[at - 1]] > keys[i]:
                order[at] = order[at - 1]
                at -= 1
            order[at] = i
        return
    width = 1
    while width < n:
        for lo in range(0, n, 2 * width):
            mid, hi = min(lo + width, n), min(lo + 2 * width, n)
            a, b = lo, mid
            for k in range(lo, hi):
                if b >= hi or (a < mid and keys[order[a]] <= keys[order[b]]):
                    spare[k] = order[a]
                    a += 1
                else:
                    spare[k] = order[b]
                    b += 1
        for k in range(n):
            order[k] = spare[k]
        width *= 2
