"""Work shared among threads of this process."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from threading import Barrier, BrokenBarrierError
from typing import TypeVar

from joblib.parallel import ThreadingBackend, get_active_backend

Result = TypeVar("Result")


def threads_are_wanted() -> bool:
    """Does joblib have nothing else in mind, such as processes or Dask?"""
    return isinstance(get_active_backend(prefer="threads")[0], ThreadingBackend)


def share(work: Callable[[int], Result], jobs: int) -> list[Result]:
    """Call work(0), work(1)... in as many threads."""
    if jobs == 1:
        return [work(0)]
    with ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(work, range(jobs)))


def work_together(work: Callable[[int, Callable[[], object]], Result], members: int) -> list[Result]:
    """Call work(0, ready), work(1, ready)... at the same time: ``ready`` comes back when all have called it.

    From then on they wait for each other in the engine, so that none may be missing.
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
    with ThreadPoolExecutor(members) as pool:
        try:
            found = [pool.submit(begin, member) for member in range(members)]
        except BaseException:  # a thread could not be started
            gate.abort()
            raise
        wait(found)
    errors = [future.exception() for future in found]
    cause = [error for error in errors if error is not None and not isinstance(error, BrokenBarrierError)]
    if cause:
        raise cause[0]
    return [future.result() for future in found]
