"""Sixteen numbers at a time, as one vector of the processor.

A compiler that makes vectors of a loop by itself has to test, each time the loop begins, that what it writes does not
overlap what it reads. Loops over lanes are short and begin anew for every row and column: the tests took a third of
their time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

from lazyforest.engine.layout import OPTIONS, Array, Kernel

VECTOR = 16
LINE = 64  # bytes of a line of the cache


def aligned(shape: tuple[int, ...], dtype: Any) -> Array:
    """An empty array that begins with a line of the cache: a vector that lies across two takes twice as long."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    room = np.empty(size + LINE, dtype=np.uint8)
    start = -room.ctypes.data % LINE
    return np.asarray(room[start : start + size].view(dtype).reshape(shape))


def at_once(combine: Callable[[Any, Any, Any], Any]) -> Callable[[Kernel], Kernel]:
    """Kernels run, instead of such a loop, what ``combine(builder, target, source)`` makes of two vectors."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        def vector(k: int) -> tuple[Any, int]:
            """Where it lies, and what its address is a multiple of."""
            array = signature.args[k]
            start = builder.gep(context.make_array(array)(context, builder, arguments[k]).data, [arguments[k + 1]])
            of_numbers = ir.VectorType(context.get_data_type(array.dtype), VECTOR)
            return builder.bitcast(start, of_numbers.as_pointer()), array.dtype.bitwidth // 8

        (here, step), (there, other_step) = vector(0), vector(2)
        old, new = builder.load(here, align=step), builder.load(there, align=other_step)
        builder.store(combine(builder, old, new), here, align=step)
        return context.get_dummy_value()

    def typed(_: Any, target: Any, at: Any, source: Any, start: Any) -> Any:
        return types.void(target, at, source, start), generate

    def register(loop: Kernel) -> Kernel:
        run = intrinsic(typed)
        overload(loop, jit_options=OPTIONS)(
            lambda target, at, source, start: lambda target, at, source, start: run(target, at, source, start)
        )
        return loop

    return register


def add(builder: Any, old: Any, new: Any) -> Any:
    return builder.add(old, new if new.type == old.type else builder.zext(new, old.type))


def tally(builder: Any, old: Any, new: Any) -> Any:
    some = builder.icmp_unsigned("!=", new, ir.Constant(new.type, None))
    return builder.add(old, builder.zext(some, old.type))


@at_once(add)
def add_vector(target: Any, at: Any, source: Any, start: Any) -> None:
    """Add source[start : start + VECTOR] to target[at : at + VECTOR]: unsigned numbers, the source's no wider."""
    for k in range(VECTOR):
        target[at + k] += source[start + k]


@at_once(lambda builder, old, new: builder.and_(old, new))
def mask_vector(target: Any, at: Any, source: Any, start: Any) -> None:
    """Keep of target[at : at + VECTOR] the bits that source[start : start + VECTOR] has."""
    for k in range(VECTOR):
        target[at + k] &= source[start + k]


@at_once(tally)
def tally_vector(target: Any, at: Any, source: Any, start: Any) -> None:
    """Add one to those of target[at : at + VECTOR] whose partner in source[start : start + VECTOR] is not zero."""
    for k in range(VECTOR):
        target[at + k] += source[start + k] > 0
