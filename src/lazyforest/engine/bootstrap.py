"""Bootstrap counts and node keys: hashes of (seed, tree, row) and (seed, tree, path), never a stream."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir

from lazyforest.engine.layout import MULTINOMIAL, POISSON, entry, jit, public
from lazyforest.engine.vectors import at_once

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
FIRST, SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
ONE, LOW_HALF = np.uint64(1), np.uint64(0xFFFFFFFF)
S27, S30, S31, S32 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(32)
BAG, ROOT = np.uint64(0), np.uint64(1)  # what a tree's key is used for
CHILD, TICKET = np.uint64(1), np.uint64(3)  # what a node's key is used for: CHILD + side, TICKET + column

# 2**32 times the distribution function of Poisson(1): a 32-bit draw counts the steps that it has passed.
STEPS = (
    1580030168,
    3160060337,
    3950075421,
    4213413783,
    4279248373,
    4292415291,
    4294609777,
    4294923276,
    4294962463,
    4294966817,
    4294967252,
    4294967292,
    4294967295,
)
MOST_COPIES = len(STEPS)  # of a row in a Poisson bootstrap
EARLY = 8  # steps, a power of two: one draw of 100,000 passes them all
PASSED_EARLY = np.uint64(EARLY * 0x0101010101010101)  # which of eight counts have


@public
def mix(key: Any, value: Any) -> Any:
    """Element ``value`` of the SplitMix64 sequence of ``key``; unsigned words in and out."""
    z = key + GOLDEN * (value + ONE)
    z = (z ^ (z >> S30)) * FIRST
    z = (z ^ (z >> S27)) * SECOND
    return z ^ (z >> S31)


@public
def root_key(seed: Any, tree: Any) -> Any:
    return mix(mix(seed, np.uint64(tree)), ROOT)


@jit
def draw_word(key: Any, row_id: Any) -> Any:
    return np.uint32(mix(key, row_id) >> S32)


@jit
def count_of(draw: Any) -> Any:
    """How many steps a draw has passed."""
    passed = np.uint32(0)
    for step in STEPS:  # cast each time: numba adds up in 64 bits, and half as many of these fit in a vector
        passed = np.uint32(passed + np.uint32(draw >= np.uint32(step)))
    return np.uint8(passed)


def pass_early(builder: Any, counts: Any, draws: Any) -> Any:
    """How many early steps each draw has passed. Signed words compare faster: all are moved by half their range."""
    half, width = 1 << 31, draws.type.count
    moved, passed = builder.xor(draws, ir.Constant(draws.type, [half] * width)), ir.Constant(draws.type, None)
    for step in STEPS[:EARLY]:
        over = builder.icmp_signed(">=", moved, ir.Constant(draws.type, [step - half] * width))
        passed = builder.sub(passed, builder.sext(over, draws.type))
    return builder.trunc(passed, counts.type)


@at_once(pass_early)
def count_early(counts: Any, at: Any, draws: Any, start: Any, count: Any) -> None:
    """counts[at : at + count] become ``count_of`` draws[start : start + count], or EARLY where that is more."""
    for k in range(count):
        counts[at + k] = min(count_of(draws[start + k]), EARLY)


@jit
def draw_counts(seed: Any, tree: Any, bootstrap: Any, row_ids: Any, counts: Any) -> None:
    """Fill ``counts`` with how often each row is in the bag of ``tree``."""
    key = mix(mix(seed, np.uint64(tree)), BAG)
    if bootstrap == POISSON:
        for i in range(row_ids.size):
            counts[i] = count_of(draw_word(key, row_ids[i]))
    elif bootstrap == MULTINOMIAL:
        counts[:] = 0
        n = np.uint64(row_ids.size)
        for i in range(row_ids.size):
            draw = mix(key, np.uint64(i))
            # the top word of draw * n; n is below 2**32, so two half products do not overflow
            at = ((draw >> S32) * n + (((draw & LOW_HALF) * n) >> S32)) >> S32
            counts[at] += 1
    else:
        counts[:] = 1


@entry
def counts_of(seed: Any, tree: Any, bootstrap: Any, row_ids: Any, counts: Any) -> None:
    """``draw_counts`` for callers outside the engine."""
    draw_counts(seed, tree, bootstrap, row_ids, counts)
