"""Threads that work on the same arrays, each on its share, and wait for each other between two steps."""

from __future__ import annotations

import sys
import time
from threading import Lock
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from lazyforest.engine.layout import OPTIONS, Array
from lazyforest.engine.vectors import aligned

COME, TURN = 0, 8  # places in the signals, in lines of the cache of their own
PATIENCE = 2000  # looks at the signals before other threads are let to the processor
SECONDS = 60  # without numba, after which a member is missing

without_jit = Lock()


def new_signals() -> Array:
    signals = aligned((16,), np.int64)
    signals[:] = 0
    return signals


def address(context: Any, builder: Any, array: Any, value: Any, at: Any) -> Any:
    return builder.gep(context.make_array(array)(context, builder, value).data, [at])


@intrinsic  # type: ignore[untyped-decorator, unused-ignore]
def count_up(_: Any, array: Any, at: Any) -> Any:
    """array[at] += 1, in one step for all threads; returns what it was."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        place = address(context, builder, signature.args[0], *given)
        return builder.atomic_rmw("add", place, ir.Constant(ir.IntType(64), 1), "seq_cst")

    return types.int64(array, types.int64), generate


@intrinsic  # type: ignore[untyped-decorator, unused-ignore]
def look(_: Any, array: Any, at: Any) -> Any:
    """array[at], as other threads have left it."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        return builder.load_atomic(address(context, builder, signature.args[0], *given), "seq_cst", 8)

    return types.int64(array, types.int64), generate


@intrinsic  # type: ignore[untyped-decorator, unused-ignore]
def give_way(_: Any) -> Any:
    """Let other threads to the processor."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        if sys.platform != "win32":
            kind = ir.FunctionType(ir.IntType(32), [])
            builder.call(cgutils.get_or_insert_function(builder.module, kind, "sched_yield"), [])
        return context.get_dummy_value()

    return types.void(), generate


def take_number(signals: Any) -> Any:
    """0, 1... in the order in which threads call this, for signals by which nobody meets."""
    with without_jit:
        signals[COME] += 1
        return signals[COME] - 1


def take_in_kernels(signals: Any) -> Any:
    def run(signals: Any) -> Any:
        return count_up(signals, COME)

    return run


overload(take_number, jit_options=OPTIONS)(take_in_kernels)


def meet(signals: Any, members: Any) -> None:
    """Come back once all members have called this. What they wrote before is there for all."""
    turn = signals[TURN]
    with without_jit:
        signals[COME] += 1
        if signals[COME] == members:
            signals[COME] = 0
            signals[TURN] += 1
    started = time.monotonic()
    while signals[TURN] == turn:
        if time.monotonic() - started > SECONDS:
            raise RuntimeError("A member of the team is missing: it has met an error, which is told elsewhere.")
        time.sleep(0)


def meet_in_kernels(signals: Any, members: Any) -> Any:
    def run(signals: Any, members: Any) -> None:
        if members > 1:
            turn, looks = look(signals, TURN), 0
            if count_up(signals, COME) == members - 1:
                signals[COME] = 0
                count_up(signals, TURN)
            while look(signals, TURN) == turn:
                looks += 1
                if looks > PATIENCE:
                    give_way()

    return run


overload(meet, jit_options=OPTIONS)(meet_in_kernels)
