"""Vectors do what their plain loops do, and nothing beside."""

import numpy as np
import pytest
from numba import njit

from lazyforest.engine.bootstrap import EARLY, STEPS, count_early
from lazyforest.engine.vectors import VECTOR, add_vectors, keep_vectors, tally_vectors

COUNTS = range(VECTOR, 8 * VECTOR + 1, VECTOR)
MARGIN = 5


@njit
def add(target, at, source, start, count):
    add_vectors(target, at, source, start, count)


@njit
def tally(target, at, source, start, count):
    tally_vectors(target, at, source, start, count)


@njit
def draw(target, at, source, start, count):
    count_early(target, at, source, start, count)


@njit
def keep(target, at, source, start, low, high, count):
    return keep_vectors(target, at, source, start, low, high, count)


@pytest.mark.parametrize(
    ("compiled", "plain", "kinds"),
    [
        (add, add_vectors, (np.uint16, np.uint8)),
        (add, add_vectors, (np.uint32, np.uint8)),
        (add, add_vectors, (np.uint16, np.uint16)),
        (tally, tally_vectors, (np.uint8, np.uint8)),
    ],
)
def test_vectors_are_loops(compiled, plain, kinds):
    rng = np.random.default_rng(1)
    for count in COUNTS:
        source = (rng.integers(0, 4, count + 2 * MARGIN) * rng.integers(0, 3, count + 2 * MARGIN)).astype(kinds[1])
        found = rng.integers(0, 99, count + 2 * MARGIN).astype(kinds[0])
        expected = found.copy()
        compiled(found, MARGIN, source, MARGIN - 2, count)
        plain(expected, MARGIN, source, MARGIN - 2, count)
        assert found.tolist() == expected.tolist()


def test_draws_are_counted_up_to_the_early_steps():
    draws = np.random.default_rng(2).integers(0, 2**32, 128, dtype=np.uint64).astype(np.uint32)
    draws[:4] = 0, 2**32 - 1, 1580030168, 1580030167
    found = np.zeros(128, dtype=np.uint8)
    draw(found, 0, draws, 0, 128)
    assert found.tolist() == (draws[:, None] >= np.array(STEPS[:EARLY])).sum(axis=1).tolist()


def test_bytes_are_kept_by_bits():
    rng = np.random.default_rng(3)
    for count in COUNTS:
        for share in (0.0, 0.02, 0.5, 1.0):
            bits = rng.random(128) < share
            low, high = np.packbits(bits, bitorder="little").view("<u8").astype(np.uint64)
            source = rng.poisson(0.7, count + 2 * MARGIN).astype(np.uint8)
            found = np.full(count + 2 * MARGIN, 9, dtype=np.uint8)
            expected = found.copy()
            some = keep(found, MARGIN, source, MARGIN - 2, low, high, count)
            assert some == keep_vectors(expected, MARGIN, source, MARGIN - 2, low, high, count)
            assert found.tolist() == expected.tolist()
            assert some == (source[MARGIN - 2 :][:count][bits[:count]] > 0).any()
