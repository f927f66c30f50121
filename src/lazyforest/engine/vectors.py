"""Many numbers at a time, as vectors of the processor.

A compiler that makes vectors of a loop by itself has to test, each time the loop begins, that what it writes does not
overlap what it reads. Loops over lanes are short and begin anew for every row and column: the tests took a third of
their time. And it goes on one vector at a time; sixty-four numbers as one step take a third less: the compiler makes
of them as many vectors as the processor needs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from lazyforest.engine.layout import OPTIONS, Array, Kernel

VECTOR = 16  # numbers that are looked at together are a multiple of this
WIDEST = 32  # bytes of a vector: with wider ones, processors that have them lower their clock
LINE = 64  # bytes of a line of the cache
COPIED = OPTIONS | {"forceinline": True}  # into the loop that calls it: calls took a third of adding rows to cells


def aligned(shape: tuple[int, ...], dtype: Any) -> Array:
    """An empty array that begins with a line of the cache: a vector that lies across two takes twice as long."""
    return in_one_piece((shape, dtype))[0]


def in_one_piece(*wanted: tuple[tuple[int, ...], Any]) -> list[Array]:
    """Aligned arrays of some shapes and dtypes, one after the other.

    A large piece of memory is at hand for the next call. Many smaller ones at the end of the heap go back to the
    system, and new pages for them are a tenth of what one row of a small table takes.
    """
    sizes = [-(-math.prod(shape) * np.dtype(dtype).itemsize // LINE) * LINE for shape, dtype in wanted]
    room, arrays = np.empty(sum(sizes) + LINE, dtype=np.uint8), []
    at = -room.ctypes.data % LINE
    for (shape, dtype), size in zip(wanted, sizes, strict=True):
        arrays.append(np.ndarray(shape, dtype, buffer=room, offset=at))
        at += size
    return arrays


def start_of(context: Any, builder: Any, array: Any, given: Any, numbers: int) -> Any:
    """The address of vectors of so many numbers: of an array, from an index on."""
    start = builder.gep(context.make_array(array)(context, builder, given[0]).data, [given[1]])
    return builder.bitcast(start, ir.VectorType(context.get_data_type(array.dtype), numbers).as_pointer())


def of_width(width: int, combine: Callable[[Any, Any, Any], Any]) -> Any:
    """For kernels: so many numbers, in vectors of which ``combine(builder, target, source)`` makes one."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        step, other_step = (signature.args[k].dtype.bitwidth // 8 for k in (0, 2))
        numbers = min(width, WIDEST // max(step, other_step))
        target, source = (start_of(context, builder, signature.args[k], arguments[k : k + 2], numbers) for k in (0, 2))
        for k in range(width // numbers):
            here, there = (builder.gep(start, [ir.Constant(ir.IntType(32), k)]) for start in (target, source))
            old, new = builder.load(here, align=step), builder.load(there, align=other_step)
            builder.store(combine(builder, old, new), here, align=step)
        return context.get_dummy_value()

    def typed(_: Any, target: Any, at: Any, source: Any, start: Any) -> Any:
        return types.void(target, at, source, start), generate

    return intrinsic(typed)


def at_once(combine: Callable[[Any, Any, Any], Any]) -> Callable[[Kernel], Kernel]:
    """Kernels run, instead of a loop over ``count`` numbers, what ``combine`` makes of vectors of them.

    The count is a multiple of VECTOR.
    """
    widest, wide, least = (of_width(width, combine) for width in (4 * VECTOR, 2 * VECTOR, VECTOR))

    def run(target: Any, at: Any, source: Any, start: Any, count: Any) -> None:
        here, there, lanes = np.int64(at), np.int64(start), np.int64(count)
        for _ in range(lanes // (4 * VECTOR)):
            widest(target, here, source, there)
            here += 4 * VECTOR
            there += 4 * VECTOR
        if lanes & (2 * VECTOR):
            wide(target, here, source, there)
            here += 2 * VECTOR
            there += 2 * VECTOR
        if lanes & VECTOR:
            least(target, here, source, there)

    def register(loop: Kernel) -> Kernel:
        def choose(target: Any, at: Any, source: Any, start: Any, count: Any) -> Any:
            return run

        overload(loop, jit_options=COPIED)(choose)
        return loop

    return register


@intrinsic  # type: ignore[untyped-decorator, unused-ignore]
def prefetch(_: Any, array: Any, at: Any) -> Any:
    """Have the line of the cache with array[at] brought near, without waiting for it."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        near = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        start = builder.gep(context.make_array(signature.args[0])(context, builder, given[0]).data, [given[1]])
        to_read, often, data = (ir.Constant(number, k) for k in (0, 3, 1))
        builder.call(near, [builder.bitcast(start, byte), to_read, often, data])
        return context.get_dummy_value()

    return types.void(array, at), generate


def fetch(array: Any, at: Any, count: Any) -> None:
    """Bytes array[at : at + count] will be wanted soon: a processor that is told does not wait for them."""


def choose_fetch(array: Any, at: Any, count: Any) -> Any:
    def run(array: Any, at: Any, count: Any) -> None:
        for k in range(np.int64(at), np.int64(at) + np.int64(count), LINE):
            prefetch(array, k)
        prefetch(array, np.int64(at) + np.int64(count) - 1)

    return run


overload(fetch, jit_options=COPIED)(choose_fetch)


def add(builder: Any, old: Any, new: Any) -> Any:
    return builder.add(old, new if new.type == old.type else builder.zext(new, old.type))


def tally(builder: Any, old: Any, new: Any) -> Any:
    some = builder.icmp_unsigned("!=", new, ir.Constant(new.type, None))
    return builder.add(old, builder.zext(some, old.type))


@at_once(add)
def add_vectors(target: Any, at: Any, source: Any, start: Any, count: Any) -> None:
    """Add source[start : start + count] to target[at : at + count]: unsigned numbers, the source's no wider."""
    for k in range(count):
        target[at + k] += source[start + k]


@at_once(tally)
def tally_vectors(target: Any, at: Any, source: Any, start: Any, count: Any) -> None:
    """Add one to those of target[at : at + count] whose partner in source[start : start + count] is not zero."""
    for k in range(count):
        target[at + k] += source[start + k] > 0


def keep_width(width: int) -> Any:
    """For kernels: so many bytes are copied where a bit is set, in vectors; returns whether any copy is not 0."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        numbers = min(width, WIDEST)
        kind, whole = ir.VectorType(ir.IntType(8), numbers), ir.IntType(8 * numbers)
        some, nothing = ir.Constant(kind, None), ir.Constant(kind, None)
        target, source = (start_of(context, builder, signature.args[k], arguments[k : k + 2], numbers) for k in (0, 2))
        for k in range(width // numbers):
            here, there = (builder.gep(start, [ir.Constant(ir.IntType(32), k)]) for start in (target, source))
            bits = builder.lshr(arguments[4], ir.Constant(ir.IntType(64), k * numbers))
            which = builder.bitcast(builder.trunc(bits, ir.IntType(numbers)), ir.VectorType(ir.IntType(1), numbers))
            copy = builder.select(which, builder.load(there, align=1), nothing)
            builder.store(copy, here, align=1)
            some = builder.or_(some, copy)
        return builder.icmp_unsigned("!=", builder.bitcast(some, whole), ir.Constant(whole, 0))

    def typed(_: Any, target: Any, at: Any, source: Any, start: Any, bits: Any) -> Any:
        return types.boolean(target, at, source, start, bits), generate

    return intrinsic(typed)


keep_64, keep_32, keep_16 = (keep_width(width) for width in (4 * VECTOR, 2 * VECTOR, VECTOR))


def keep_vectors(target: Any, at: Any, source: Any, start: Any, low: Any, high: Any, count: Any) -> Any:
    """Bytes source[start : start + count] become target[at : at + count]; 0 where no bit is set.

    The count is a multiple of VECTOR, at most 128: bits are those of ``low``, then those of ``high``. Returns whether
    any byte is not 0.
    """
    some = False
    for k in range(count):
        bit = (low, high)[k // 64] >> np.uint64(k % 64) & np.uint64(1)
        target[at + k] = source[start + k] * np.uint8(bit)
        some |= target[at + k] > 0
    return bool(some)


def choose_keep(target: Any, at: Any, source: Any, start: Any, low: Any, high: Any, count: Any) -> Any:
    def run(target: Any, at: Any, source: Any, start: Any, low: Any, high: Any, count: Any) -> Any:
        here, there, bits, some = at, start, low, False
        for _ in range(count // 64):
            some |= keep_64(target, here, source, there, bits)
            here += 64
            there += 64
            bits = high
        if count & 32:
            some |= keep_32(target, here, source, there, bits)
            here += 32
            there += 32
            bits >>= np.uint64(32)
        if count & 16:
            some |= keep_16(target, here, source, there, bits)
        return some

    return run


overload(keep_vectors, jit_options=COPIED)(choose_keep)
