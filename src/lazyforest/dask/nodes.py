"""The best condition of an open node, as a conversation: it asks for histograms, is told sums, and asks on.

``search`` is a generator: it yields an ``Asked`` and is sent a ``Told``. So its steps read one after the other, while
the questions of all open nodes of all trees travel in the same passes.

1. A node of few rows asks for the list of the values of every column, with the statistics of each value.
2. Another asks for coarse histograms. Bounds tell which bins may hold the best cut. Into these it looks closer: at the
   codes in a bin, at ranges of keys in a code, in ever smaller steps, until what is left is short enough to be listed.
3. Listed values are searched cut by cut.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, NamedTuple

import numpy as np

from lazyforest.dask.coding import CODES_PER_BIN, Coding, code_of, key_range, number_of
from lazyforest.engine.bootstrap import TICKET, mix
from lazyforest.engine.layout import BINS, SQUARED_ERROR, Array, Rules
from lazyforest.engine.nodes import NUMBER
from lazyforest.engine.partition import midpoint
from lazyforest.engine.zoom import Lists, look_at_bins, look_at_lists, new_buffers, new_node, nothing_yet

FEW = 256  # a node of so many rows lists all its values
SHORT = 128  # rows of a range that is listed: at 2,048, lists of 3 x 10^6 rows were ten times as long


class Table(NamedTuple):
    """What all nodes share."""

    coding: Coding
    rules: Rules
    n_classes: int
    columns: Array  # those that may be used, ascending
    counted: Array  # of these, those with coarse histograms: all but categories with too many codes
    f: Array  # x log2 x


class Spot(NamedTuple):
    """An open node."""

    tree: int
    at: int  # in the paths
    depth: int
    key: np.uint64
    queries: Array
    total: Array  # statistics
    rows: float  # about


class Range(NamedTuple):
    """A question about a node's column: the statistics of keys or codes in a range, in steps of 2 ** width."""

    column: int
    by_key: bool
    lowest: int
    highest: int
    width: int
    entries: float  # at most about so many will come back


class Asked(NamedTuple):
    histograms: bool
    ranges: list[Range]


class Told(NamedTuple):
    rows: int
    size: int
    histograms: Array  # (columns counted, bins, statistics)
    entries: list[tuple[Array, Array]]  # per range: steps and their statistics


class Stretch(NamedTuple):
    """A range of a column that may hold the best cut, and what is left of it, missing values apart."""

    column: int
    by_key: bool
    lowest: int
    highest: int
    left: Array
    rows: float


class Condition(NamedTuple):
    column: int
    threshold: float  # of queries
    cut: int
    border: int
    key: int
    missing_is_valid: bool
    members: Array | None  # codes of a set
    left: Array  # statistics of the invalid side


Search = Generator[Asked, Told, Condition | None]
Listed = tuple[Array, Array, Array]  # a stretch: statistics left of it, then the keys in it and theirs


class Finding:
    """The best condition so far, and the lists that its codes refer to."""

    def __init__(self, table: Table, spot: Spot) -> None:
        self.table, self.spot, self.rules = table, spot, table.rules
        self.total = spot.total.copy()
        self.weight = int(spot.total[0] if table.rules.criterion == SQUARED_ERROR else spot.total.sum())
        self.centre = 0
        if table.rules.criterion == SQUARED_ERROR:
            self.centre = int(self.total[1]) // int(self.total[0])
            self.total[1] -= self.centre * self.total[0]
        self.node = new_node(self.total, self.weight, table.rules.criterion, table.f)
        self.best = nothing_yet(self.node, self.rules, table.f)
        self.reach = self.best.score
        self.kept = table.n_classes or 3
        self.missing: dict[int, Array] = {}
        self.listed: dict[int, Array] = {}  # by column: the keys, or codes, of its entries
        self.left, self.members = self.total, np.empty(0, dtype=np.int64)

    def note(self, best: Any, search: Any) -> None:
        if best.column >= 0 and best != self.best:
            self.left = search.best_left.copy()
            self.members = search.members[: max(best.n_members, 0)].copy()
        self.best = best

    def look_at_bins(self, columns: Array, histograms: list[Array], complete: Array, is_category: Array) -> Any:
        """Search what is complete; returns which bins of the others to look into, and sums up to each bin."""
        search = new_buffers(self.table.f, self.table.n_classes, len(columns), BINS, BINS)
        for slot, histogram in enumerate(histograms):
            search.histogram[slot, : len(histogram)] = histogram
            search.n_bins[slot] = len(histogram)
        opened = np.zeros((len(columns), BINS), dtype=np.bool_)
        best, self.reach = look_at_bins(
            self.node, search, self.rules, columns, complete, is_category, opened, self.reach, self.best
        )
        self.note(best, search)
        return opened, search.histogram

    def look_at_lists(self, listed: dict[int, list[Listed]]) -> None:
        """Search columns whose values are listed, some stretches of each, ascending."""
        bins, spans, bin_at = [], [(0, 0)], [0]
        for column, stretches in listed.items():
            below = np.zeros(self.kept, dtype=np.int64)
            for left, _, held in stretches:
                start, inside = spans[-1][1], held.sum(axis=0)
                bins += [left - below, inside]
                spans += [(start, start), (start, start + len(held))]
                below = left + inside
            bin_at.append(len(bins))
            self.listed[column] = np.concatenate([keys for _, keys, _ in stretches])
        columns, size = np.array(list(listed), dtype=np.int64), self.table.n_classes or 2
        first, last = np.array(spans[1:], dtype=np.int64).T.copy()
        lists = Lists(
            columns,
            self.table.coding.is_category[columns],
            np.array([self.missing[j][:size] for j in listed], dtype=np.int64),
            np.array(bin_at),
            np.array(bins, dtype=np.int64),
            np.arange(len(bins)) % 2 == 1,
            first,
            last,
            np.concatenate([held for stretches in listed.values() for _, _, held in stretches]),
        )
        search = new_buffers(self.table.f, self.table.n_classes, 1, int(np.diff(bin_at).max()), int(last[-1]))
        self.note(look_at_lists(self.node, search, self.rules, lists, self.best), search)

    def condition(self) -> Condition | None:
        """The best condition as it is applied."""
        best, coding = self.best, self.table.coding
        if best.column < 0:
            return None
        j, left = int(best.column), self.left.copy()
        regression = self.rules.criterion == SQUARED_ERROR
        invalid = int(left[0] if regression else left.sum())
        heavier = self.weight - invalid > invalid
        missing_is_valid = bool(best.missing_is_valid if best.any_missing else heavier)
        if regression:
            left[1] += self.centre * left[0]
        keys = self.listed.get(j)  # otherwise codes are what they are
        if best.n_members != NUMBER:
            members = self.members if keys is None else keys[self.members - 1].astype(np.int64)
            return Condition(j, np.nan, 0, 0, 0, missing_is_valid, members, left)
        lower, cut = (int(c) if keys is None or c == 0 else int(keys[c - 1]) for c in (best.lower, best.cut))
        if lower == 0:
            return Condition(j, -np.inf, 1, 0, 0, missing_is_valid, None, left)
        if coding.exact[j]:
            values = coding.values[j]
            threshold = midpoint(float(values[lower - 1]), float(values[cut - 1]))
            return Condition(j, threshold, cut, 0, 0, missing_is_valid, None, left)
        below, above = number_of(lower), number_of(cut)
        threshold, border = midpoint(below, above), code_of(coding, j, above)
        if code_of(coding, j, below) < border:
            return Condition(j, threshold, border, 0, 0, missing_is_valid, None, left)
        return Condition(j, threshold, border + 1, border, cut, missing_is_valid, None, left)


def whole_column(table: Table, j: int, rows: float) -> Range:
    by_key = not table.coding.exact[j]
    highest = 2**64 - 1 if by_key else int(table.coding.n_codes[j]) - 1
    return Range(j, by_key, 0, highest, 0, min(rows, highest + 1))


def search(table: Table, spot: Spot) -> Search:
    """The best condition of a node that is deep enough to have one, but may still be too small; None: a leaf."""
    few = spot.rows <= FEW
    wide = [j for j in table.columns.tolist() if few or j not in table.counted]
    told = yield Asked(not few, [whole_column(table, j, spot.rows) for j in wide])
    if told.size < table.rules.min_samples_split:
        return None
    finding = Finding(table, spot._replace(rows=float(told.rows)))
    listed = dict(zip(wide, told.entries, strict=True))
    for j, (steps, held) in listed.items():
        gone = len(steps) > 0 and steps[0] == 0
        finding.missing[j] = held[0] if gone else np.zeros(finding.kept, dtype=np.int64)
    counted = {} if few else dict(zip(table.counted.tolist(), told.histograms.astype(np.int64), strict=True))
    for j, histogram in counted.items():
        finding.missing[j] = histogram[0]
    columns = yield from inspect(table, finding, counted, listed)
    nothing = np.zeros(finding.kept, dtype=np.int64)
    lists: dict[int, list[Listed]] = {}
    for j in columns:
        if j in listed:
            steps, held = listed[j]
            start = int(len(steps) > 0 and steps[0] == 0)
            lists[j] = [(nothing, steps[start:], held[start:])]
    stretches = open_histograms(table, finding, {j: counted[j] for j in columns if j in counted and j not in listed})
    while stretches:
        asked = [closer(table, stretch) for stretch in stretches]
        told = yield Asked(False, asked)
        stretches = open_stretches(table, finding, stretches, asked, told, lists)
    if lists:
        finding.look_at_lists({j: sorted(lists[j], key=lambda one: one[1][:1].tolist()) for j in sorted(lists)})
    return finding.condition()


def inspect(table: Table, finding: Finding, counted: dict[int, Array], listed: dict[int, Any]) -> Any:
    """The columns to look at: by ticket, ``max_features`` of them and on to the first that is not constant."""
    columns = table.columns.tolist()
    if table.rules.max_features >= len(columns):
        return columns
    key, splittable = finding.spot.key, False
    chosen: list[int] = []
    for j in sorted(columns, key=lambda j: (int(mix(key, TICKET + np.uint64(j))), j)):
        if splittable and len(chosen) >= table.rules.max_features:
            break
        chosen.append(j)
        if splittable:
            continue
        if j not in listed:
            present = np.flatnonzero(counted[j].any(axis=1))
            if len(present) == 1 and present[0] > 0 and table.coding.shift[j] + (not table.coding.exact[j]) > 0:
                told = yield Asked(False, [whole_column(table, j, finding.spot.rows)])  # within one bin: few enough
                listed[j] = told.entries[0]
            splittable = len(present) > 1
        if j in listed:
            splittable = len(listed[j][0]) > 1
    return sorted(chosen)


def open_histograms(table: Table, finding: Finding, counted: dict[int, Array]) -> list[Stretch]:
    """Search the columns with a bin per code; the bins of the others that need a closer look."""
    if not counted:
        return []
    coding, columns = table.coding, np.array(list(counted), dtype=np.int64)
    complete = (coding.shift[columns] == 0) & coding.exact[columns]
    per_bin = [1 << int(shift) for shift in coding.shift[columns]]
    n_bins = [1 + -(-(int(coding.n_codes[j]) - 1) // size) for j, size in zip(columns, per_bin, strict=True)]
    histograms = [counted[j][:n] for j, n in zip(counted, n_bins, strict=True)]
    opened, sums = finding.look_at_bins(columns, histograms, complete, coding.is_category[columns] & complete)
    found = []
    for slot, b in zip(*np.nonzero(opened & ~complete[:, None]), strict=True):
        j, size = int(columns[slot]), per_bin[slot]
        low, high = (int(b) - 1) * size + 1, min(int(b) * size, int(coding.n_codes[j]) - 1)
        found.append(stretch(finding, j, False, (low, high), sums[slot, b - 1], sums[slot, b]))
    return found


def stretch(finding: Finding, j: int, by_key: bool, span: tuple[int, int], below: Array, up_to: Array) -> Stretch:
    inside = up_to - below
    weight = int(inside[0] if finding.rules.criterion == SQUARED_ERROR else inside.sum())
    rows = finding.spot.rows * weight / finding.weight
    return Stretch(j, by_key, *span, below.copy(), rows)


def closer(table: Table, one: Stretch) -> Range:
    """How to look closer at a stretch: its values, if they are few; the codes in it; or steps of its keys."""
    j, low, high, rows = one.column, one.lowest, one.highest, one.rows
    if table.coding.exact[j]:
        return Range(j, False, low, high, 0, min(rows, high - low + 1))
    if not one.by_key:
        if rows > SHORT and high > low:
            return Range(j, False, low, high, 0, min(rows, high - low + 1))
        low, high = key_range(table.coding, j, low, high)
    width = max(0, (high - low).bit_length() - CODES_PER_BIN.bit_length() + 1) if rows > SHORT else 0
    return Range(j, True, low, high, width, rows if width == 0 else CODES_PER_BIN)


def open_stretches(
    table: Table,
    finding: Finding,
    stretches: list[Stretch],
    asked: list[Range],
    told: Told,
    lists: dict[int, list[Listed]],
) -> list[Stretch]:
    """Put away what is listed now; the steps of the other stretches that need a closer look."""
    zoomed, histograms = [], []
    for one, question, (steps, held) in zip(stretches, asked, told.entries, strict=True):
        keys = steps + np.uint64(question.lowest)
        if table.coding.exact[one.column] or (question.by_key and question.width == 0):
            lists.setdefault(one.column, []).append((one.left, keys, held))
            continue
        histogram = np.zeros((2 + int(steps[-1]) + 1, finding.kept), dtype=np.int64)
        histogram[0], histogram[1], histogram[2 + steps.astype(np.int64)] = finding.missing[one.column], one.left, held
        zoomed.append(question)
        histograms.append(histogram)
    if not zoomed:
        return []
    columns, no = np.array([q.column for q in zoomed], dtype=np.int64), np.zeros(len(zoomed), dtype=np.bool_)
    opened, sums = finding.look_at_bins(columns, histograms, no, no)
    opened[:, :2] = False  # what is left of the stretch is not in it
    found = []
    for slot, b in zip(*np.nonzero(opened), strict=True):
        q = zoomed[slot]
        low = q.lowest + ((int(b) - 2) << q.width)
        span = low, min(low + (1 << q.width) - 1, q.highest)
        found.append(stretch(finding, q.column, q.by_key, span, sums[slot, b - 1], sums[slot, b]))
    return found
