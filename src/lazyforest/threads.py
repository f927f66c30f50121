"""Work shared among threads of this process."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache
from threading import Condition
from typing import TypeVar

from joblib import cpu_count
from joblib.parallel import ThreadingBackend, get_active_backend

Result = TypeVar("Result")

idle: dict[int, list[ThreadPoolExecutor]] = {}  # by their number of threads: starting these takes longer than some work
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=idle.clear)  # the child has none of these threads


@cache
def cores() -> int:
    """That this process may use. joblib looks into half a dozen files to know: a fiftieth of a small forest."""
    return int(cpu_count())


def threads_are_wanted() -> bool:
    """Does joblib have nothing else in mind, such as processes or Dask?"""
    return isinstance(get_active_backend(prefer="threads")[0], ThreadingBackend)


class Missing(RuntimeError):
    """A thread that others wait for will not come."""


class Gate:
    """Opens when so many have come, for all of them: who has passed may rely on the others."""

    def __init__(self, count: int) -> None:
        self.missing, self.locked, self.changed = count, False, Condition()

    def wait(self) -> None:
        with self.changed:
            self.missing -= 1
            self.changed.notify_all()
            self.changed.wait_for(lambda: self.missing == 0 or self.locked)
            if self.missing > 0:
                raise Missing("Another thread could not begin.")

    def lock(self) -> None:
        """Nobody waits any more; without effect once all have come."""
        with self.changed:
            self.locked = self.missing > 0
            self.changed.notify_all()


def start(count: int) -> ThreadPoolExecutor:
    """So many threads, all of them: a pool would start them as it finds that it has too few."""
    pool, gate = ThreadPoolExecutor(count), Gate(count)
    try:
        wait([pool.submit(gate.wait) for _ in range(count)])
    except BaseException:
        gate.lock()
        pool.shutdown()
        raise
    return pool


@contextmanager
def threads(count: int) -> Iterator[ThreadPoolExecutor]:
    """So many threads that nobody else uses meanwhile. All that they were given is done in the end."""
    pools = idle.setdefault(count, [])
    try:
        pool = pools.pop()
    except IndexError:
        pool = start(count)
    try:
        yield pool
    except BaseException:
        pool.shutdown(cancel_futures=True)
        raise
    pools.append(pool)


def share(work: Callable[[int], Result], jobs: int) -> list[Result]:
    """Call work(0), work(1)... in as many threads. This is none of them: those of the next step find theirs awake."""
    if jobs == 1:
        return [work(0)]
    with threads(jobs) as pool:
        return list(pool.map(work, range(jobs)))


def work_together(work: Callable[[int, Callable[[], object]], Result], members: int) -> list[Result]:
    """Call work(0, ready), work(1, ready)... at the same time: ``ready`` comes back when all have called it.

    From then on they wait for each other in the engine, so that none may be missing. The thread that calls this is none
    of them: Ctrl-C would end it alone.
    """
    gate = Gate(members)

    def begin(member: int) -> Result:
        try:
            return work(member, gate.wait)
        except BaseException:
            gate.lock()
            raise

    if members == 1:
        return [begin(0)]
    with threads(members) as pool:
        found: list[Future[Result]] = []
        try:
            found += [pool.submit(begin, member) for member in range(members)]
            wait(found)
        except BaseException:  # such as Ctrl-C
            gate.lock()
            raise
    errors = [error for future in found if (error := future.exception()) is not None]
    for error in sorted(errors, key=lambda error: isinstance(error, Missing)):  # the cause first
        raise error
    return [future.result() for future in found]
