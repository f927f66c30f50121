"""The training columns, encoded as far as queries need it: for one query bins are enough, for many all are ranked."""

from __future__ import annotations

from threading import Lock
from typing import Any

import numpy as np

from lazyforest.engine.encoding import SAMPLE, bin_numbers, encode_columns, new_ranking
from lazyforest.engine.layout import BINS, COARSE, Array, Binned, Table, code_type
from lazyforest.engine.meeting import new_signals
from lazyforest.table import CATEGORY, Column, Raw, count_rows, turn
from lazyforest.threads import share

CELLS_AT_ONCE = 1 << 18
CELLS_TO_SHARE = 1 << 16  # among threads: fewer are done before a thread has begun
ROWS_TO_BIN = 1 << 16  # fewer are ranked before binning them, and ranking what is left, would pay


class Kept:
    """The columns as they came and, from when they are asked for, bins or ranks."""

    def __init__(self, columns: list[Raw], jobs: int = 1) -> None:
        self.shape = count_rows(columns[0]), len(columns)
        self.columns: list[Column] = []  # what queries have to be like
        self.codes: dict[int, Array] = {}  # of categories
        for j, raw in enumerate(columns):
            if raw.numbers is None:
                self.codes[j], column = code_categories(raw)
            else:
                column = Column(raw.name, raw.kind, raw.family)
            self.columns.append(column)
        self.is_category = np.array([column.is_category for column in self.columns])
        self.n_codes = np.array([len(column.codes) for column in self.columns])  # of categories
        some = [raw for raw in columns if raw.numbers is not None]
        self.jobs = min(jobs, len(some)) if self.shape[0] * len(some) >= CELLS_TO_SHARE else 1
        self.numbers: Array | None = lay_together(some, self.shape[0])
        self._binned: Binned | None = None
        self._table: Table | None = None
        self._lock = Lock()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=Lock())

    @classmethod
    def ranked(cls, table: Table) -> Kept:
        """Of a table that there is already."""
        kept = cls.__new__(cls)
        m, n = table.codes.shape
        kept.shape, kept.jobs, kept.columns, kept.codes = (n, m), 1, [], {}
        kept.is_category, kept.n_codes = table.is_category, table.is_category * (table.first_code[:, BINS] - 1)
        kept.numbers, kept._binned, kept._table, kept._lock = None, None, table, Lock()
        return kept

    @property
    def table(self) -> Table:
        """All columns ranked. From then on, nothing else is kept."""
        with self._lock:
            if self._table is None:
                assert self.numbers is not None  # or there would be a table
                self._table = rank_columns(self.numbers, self.codes, self.n_codes, self.is_category, self.jobs)
                self.numbers, self._binned, self.codes = None, None, {}
            return self._table

    @property
    def binned(self) -> Binned | None:
        """Bins of the numbers as they came; None once there is a table, and for few rows, which are better ranked."""
        with self._lock:
            if self._table is None and self._binned is None and self.shape[0] >= ROWS_TO_BIN:
                self._binned = self.bin()
            return self._binned

    def prepare(self, bins_only: bool) -> None:
        """Encode now what calls in several threads will need."""
        _ = (bins_only and self.binned) or self.table

    @property
    def nbytes(self) -> int:
        parts = [*(self._table or ()), *(self._binned or (self.numbers,)), *self.codes.values()]
        return sum(getattr(part, "nbytes", 0) for part in parts)

    @property
    def bytes_when_ranked(self) -> int:
        n, m = self.shape
        return n * (m * (code_type(n).itemsize + 1) + 8 * (m - int(np.count_nonzero(self.is_category))))

    def bin(self) -> Binned:
        assert self.numbers is not None
        n, m = self.shape
        few_values, first_code = np.empty((m, BINS - 1)), np.empty((m, BINS + 1), dtype=np.int64)
        bins, coarse, x = np.empty((m, n), dtype=COARSE), np.empty((n, m), dtype=COARSE), self.numbers
        columns = np.flatnonzero(~self.is_category)
        for j, codes in self.codes.items():
            bins[j] = codes
            first_code[j] = np.minimum(np.arange(BINS + 1), self.n_codes[j] + 1)

        def bin_some(k: int) -> None:
            some = slice(k * len(columns) // self.jobs, (k + 1) * len(columns) // self.jobs)
            ranking = new_ranking(max(n, SAMPLE))
            bin_numbers(x[some], x[some].view(np.uint64), columns[some], few_values, first_code, bins, ranking)

        share(bin_some, self.jobs)
        turn(bins.T, coarse.T)
        number = np.where(self.is_category, 0, np.cumsum(~self.is_category) - 1)
        return Binned(coarse, first_code, self.is_category, few_values, x, number)


def encode(columns: list[Raw], jobs: int = 1) -> tuple[Table, list[Column]]:
    """Dense ranks and coarse bins of the training columns, and what to remember of them; numbers in so many threads."""
    kept = Kept(columns, jobs)
    return kept.table, kept.columns


def rank_columns(x: Array, codes: dict[int, Array], n_codes: Array, is_category: Array, jobs: int) -> Table:
    """The table of numbers, a row per column, and of categories by their columns."""
    n = x.shape[1]
    table, signals = new_table(n, is_category), new_signals()
    for j, some in codes.items():
        table.codes[j] = some
    most, at_once = max(n, int(n_codes.max(initial=0))), min(max(CELLS_AT_ONCE // n, 1), len(is_category))
    bits = x.view(np.uint64)
    share(lambda _: encode_columns(table, x, bits, n_codes, signals, new_ranking(most, at_once)), jobs)
    return without_gaps(table)


def rank_rows(binned: Binned, rows: Array) -> Table:
    """The table of some rows. Categories have the codes of all."""
    x, coarse, is_category = np.take(binned.numbers, rows, axis=1), binned.coarse[rows], binned.is_category
    codes = {int(j): coarse[:, j] for j in np.flatnonzero(is_category)}
    return rank_columns(x, codes, is_category * (binned.first_code[:, BINS] - 1), is_category, 1)


def lay_together(some: list[Raw], n: int) -> Array:
    """The numbers of columns one below the other: where they are, if they lie so and nobody else can change them."""
    numbers = [raw.numbers for raw in some if raw.numbers is not None]
    base = numbers[0].base if numbers else None
    if isinstance(base, np.ndarray) and all(raw.own and x.base is base for raw, x in zip(some, numbers, strict=True)):
        for together in (base, base.T):
            if together.shape == (len(numbers), n) and together.flags.c_contiguous:
                return together
    return np.array(numbers) if numbers else np.empty((0, n))


def new_table(n: int, is_category: Array) -> Table:
    """Room for so many rows; each column of numbers has as much for its values."""
    m = len(is_category)
    return Table(
        codes=np.empty((m, n), dtype=code_type(n)),
        coarse=np.empty((n, m), dtype=COARSE),
        first_code=np.empty((m, BINS + 1), dtype=np.int64),
        is_category=is_category,
        values=np.empty((m - is_category.sum()) * n),
        value_start=n * (np.cumsum(~is_category) - ~is_category),
    )


def without_gaps(table: Table) -> Table:
    """Values one column after the other, if more than half of their room is unused."""
    counts = np.where(table.is_category, 0, table.first_code[:, BINS] - 1)
    if 2 * counts.sum() >= len(table.values):
        return table
    kept = [table.values[start : start + count] for start, count in zip(table.value_start, counts, strict=True)]
    return table._replace(values=np.concatenate(kept), value_start=np.cumsum(counts) - counts)


def code_categories(raw: Raw) -> tuple[Array, Column]:
    """Codes 1, 2... of the categories that occur, in ascending order of their values; 0 is missing."""
    assert raw.codes is not None
    assert raw.distinct is not None
    if raw.ascending:
        return raw.codes, Column(raw.name, CATEGORY, raw.family, {v: code for code, v in enumerate(raw.distinct, 1)})
    used = np.bincount(raw.codes, minlength=len(raw.distinct) + 1) > 0
    ascending = sorted((value, k) for k, value in enumerate(raw.distinct, 1) if used[k])
    code_of = np.zeros(len(raw.distinct) + 1, dtype=np.int64)
    for code, (_, k) in enumerate(ascending, 1):
        code_of[k] = code
    known = {value: code for code, (value, _) in enumerate(ascending, 1)}
    return code_of[raw.codes], Column(raw.name, CATEGORY, raw.family, known)
