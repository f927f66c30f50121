"""What an exploration reports: the answer, and what it cost."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from lazyforest.engine.layout import Array


@dataclass(frozen=True)
class Exploration:
    """The answer of a forest for some rows, and what it took to find it.

    ``stack_words`` and ``model_words`` follow the paper: a word per row index held by the algorithm's stack at the
    worst moment, four per node of a kept model. ``bytes`` is what the engine allocated besides the encoded table.
    ``cpu_seconds`` (user and system, all threads) of an eager forest include growing it in ``fit``.
    """

    proba: Array | None
    nodes_explored: int
    rows_scanned: int
    stack_words: int
    model_words: int
    bytes: int
    cpu_seconds: float
    votes: Array = field(repr=False)


def total_bytes(value: Any) -> int:
    """Bytes of all arrays in nested tuples."""
    if isinstance(value, tuple | list):
        return sum(total_bytes(part) for part in value)
    return int(getattr(value, "nbytes", 0))
