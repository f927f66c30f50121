"""Passes over partitions that lie on the workers of a Dask cluster.

Every worker counts its own partitions one after the other into one result, so that a result travels once per thread of
the cluster and pass. Partitions, and where their rows stand, are futures: if a worker is lost, Dask makes them again
from what they came from.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import dask
import dask.array
import dask.dataframe
from distributed import Client, Future

from lazyforest.dask.passes import Result, Work, add, count, cut_down, renumber, stand
from lazyforest.engine.layout import Array

FAN_IN = 4  # results that are added up at once


def same(value: Any) -> Any:
    return value


def share(client: Client, value: Any) -> Future:
    """A value for all workers: sent once, passed on among them, and made again if it is lost."""
    return client.submit(same, value, key=f"lazyforest-{uuid.uuid4().hex}")


def partitions(collection: Any, columns: list[int] | None = None) -> list[Any]:
    """The partitions of a data frame, a series or an array, as tasks; some of the columns."""
    if isinstance(collection, dask.array.Array):
        if collection.ndim == 2 and columns is not None:
            collection = collection[:, columns]
        return list(collection.to_delayed().ravel())
    if columns is not None:
        collection = collection.iloc[:, columns]
    with dask.config.set({"optimization.tune.active": False}):  # it reads several files as one if columns are few
        tasks = list(collection.to_delayed())
    assert len(tasks) == collection.npartitions  # codes and values are matched by the number of their partition
    return tasks


class Reading:
    """A partition that is read within the task that needs it: Dask would read others ahead of it, and hold them."""

    def __init__(self, graph: dict[Any, Any], key: Any) -> None:
        self.graph, self.key = graph, key

    def __call__(self) -> Any:
        return dask.get(self.graph, self.key)


def within(partition: Any) -> Any:
    """To be read within the task that needs it, unless that takes more than its tasks: what the cluster holds."""
    graph = dict(partition.dask.cull({partition.key}))
    needed = (getattr(task, "dependencies", None) for task in graph.values())  # None: of a future, among others
    alone = all(keys is not None and keys <= graph.keys() for keys in needed)
    return Reading(graph, partition.key) if alone else partition


def compute_where(client: Client, tasks: list[Any], near: list[Future | None]) -> list[Future]:
    """Compute each task, with all that it needs, on the worker that has ``near``, if it is still there."""
    held = client.who_has([future for future in near if future is not None])
    by_worker = defaultdict(list)
    for k, future in enumerate(near):
        addresses = held.get(future.key, ()) if future is not None else ()
        by_worker[min(addresses, default="")].append(k)
    found: dict[int, Future] = {}
    for address, some in by_worker.items():
        where = {"workers": [address], "allow_other_workers": True} if address else {}
        found.update(zip(some, client.compute([tasks[k] for k in some], **where), strict=True))
    return [found[k] for k in range(len(tasks))]


def reduced(client: Client, futures: list[Future], total: Callable[[list[Any]], Any]) -> Any:
    """Add up results, a few at a time on the workers."""
    while len(futures) > 1:
        groups = [futures[k : k + FAN_IN] for k in range(0, len(futures), FAN_IN)]
        futures = [client.submit(total, group, pure=False) for group in groups]
    return futures[0].result()


def checked(futures: list[Future]) -> list[Future]:
    """Wait until all are there; raise what one of them raised."""
    for future in futures:
        if future.exception() is not None:  # asks its own client, where ``distributed.wait`` asks the default one
            future.result()
    return futures


def gather_queries(client: Client, futures: list[Future], rows: list[int], most: int) -> Iterator[list[Array]]:
    """The rows of neighbouring partitions, at most so many together, or of a single one."""
    first = 0
    for last in range(1, len(rows) + 1):
        if last == len(rows) or sum(rows[first : last + 1]) > most:
            yield client.gather(futures[first:last])
            first = last


class Cluster:
    """Partitions on workers: an ``Executor``."""

    def __init__(self, client: Client, parts: list[Future], read: Callable[[list[int]], list[Any]], room: int) -> None:
        self.client, self.parts, self.read, self.room = client, parts, read, room
        self.standing: list[Any] = [None] * len(parts)
        self.compact = False

    def raws(self, work: Work) -> list[Any]:
        """The columns whose values are needed, as they came."""
        if self.compact or not work.keyed:
            return [None] * len(self.parts)
        return [within(partition) for partition in self.read(work.keyed)]

    def run(self, work: Work) -> Result:
        shared, raws = share(self.client, work), self.raws(work)
        chains = self.chains()
        tasks = []
        for chain in chains:
            result: Any = None
            for k in chain:
                result = dask.delayed(count, pure=False)(self.parts[k], self.standing[k], raws[k], shared, result)
            tasks.append(result)
        futures = compute_where(self.client, tasks, [self.parts[chain[0]] for chain in chains])
        found: Result = reduced(self.client, futures, add)
        return found

    def chains(self) -> list[list[int]]:
        """Partitions that are counted one after the other: those of a worker, shared among its threads."""
        threads, held = self.client.nthreads(), self.client.who_has(self.parts)
        by_worker = defaultdict(list)
        for k, part in enumerate(self.parts):
            by_worker[min(held.get(part.key, ()), default="")].append(k)
        chains = []
        for address, some in by_worker.items():
            n = min(threads.get(address, 1), len(some))
            chains += [some[first::n] for first in range(n)]
        return chains

    def each(self, do: Callable[..., Any], work: Work) -> list[Future]:
        """Something of every partition, beside it."""
        shared, of = share(self.client, work), zip(self.parts, self.standing, self.raws(work), strict=True)
        tasks = [dask.delayed(do, pure=False)(*one, shared) for one in of]
        return checked(compute_where(self.client, tasks, list(self.parts)))

    def stand(self, work: Work) -> None:
        self.standing = self.each(stand, work)

    def cut_down(self, work: Work) -> None:
        self.parts = self.each(cut_down, work)
        self.compact = True
        self.standing = checked(self.client.map(renumber, self.standing, pure=False))
