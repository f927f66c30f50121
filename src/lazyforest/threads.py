"""Work shared among threads of this process."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from threading import Barrier, BrokenBarrierError
from typing import TypeVar

from joblib.parallel import ThreadingBackend, get_active_backend

Result = TypeVar("Result")

idle: dict[int, list[ThreadPoolExecutor]] = {}  # by their number of threads: starting these takes longer than some work
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=idle.clear)  # the child has none of these threads


def threads_are_wanted() -> bool:
    """Does joblib have nothing else in mind, such as processes or Dask?"""
    return isinstance(get_active_backend(prefer="threads")[0], ThreadingBackend)


@contextmanager
def threads(count: int) -> Iterator[ThreadPoolExecutor]:
    """So many threads that nobody else uses meanwhile. All that they were given is done in the end."""
    pools = idle.setdefault(count, [])
    try:
        pool = pools.pop()
    except IndexError:
        pool = ThreadPoolExecutor(count)
    try:
        yield pool
    except BaseException:
        pool.shutdown(cancel_futures=True)
        raise
    pools.append(pool)


def share(work: Callable[[int], Result], jobs: int) -> list[Result]:
    """Call work(0), work(1)... in as many threads."""
    if jobs == 1:
        return [work(0)]
    with threads(jobs) as pool:
        return list(pool.map(work, range(jobs)))


def work_together(work: Callable[[int, Callable[[], object]], Result], members: int) -> list[Result]:
    """Call work(0, ready), work(1, ready)... at the same time: ``ready`` comes back when all have called it.

    From then on they wait for each other in the engine, so that none may be missing. The thread that calls this is none
    of them: Ctrl-C would end it alone.
    """
    gate = Barrier(members)

    def begin(member: int) -> Result:
        try:
            return work(member, gate.wait)
        except BaseException:
            gate.abort()
            raise

    if members == 1:
        return [begin(0)]
    with threads(members) as pool:
        found: list[Future[Result]] = []
        try:
            found += [pool.submit(begin, member) for member in range(members)]
            wait(found)
        except BaseException:  # a thread could not be started, or Ctrl-C
            gate.abort()
            raise
    errors = [error for future in found if (error := future.exception()) is not None]
    for error in sorted(errors, key=lambda error: isinstance(error, BrokenBarrierError)):  # the cause first
        raise error
    return [future.result() for future in found]
