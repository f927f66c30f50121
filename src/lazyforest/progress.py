"""A one-line progress bar on standard error."""

from __future__ import annotations

import shutil
import sys
import time
from types import TracebackType
from typing import ClassVar

PATIENCE = 1.0  # seconds before the bar appears: what is over sooner needs none


class Progress:
    """Counts steps up to ``total``; shows itself on a terminal, or says one closing line elsewhere.

    One inside another shows nothing and moves the outer one instead, by its share of the ``part`` steps that the
    outer one says are under way: so the batches of a file or the folds of a validation have one bar, not one each.
    """

    outermost: ClassVar[Progress | None] = None

    def __init__(self, total: int, what: str, enabled: bool) -> None:
        self.total, self.what, self.enabled = total, what, enabled
        self.done, self.part, self.started, self.shown = 0.0, 1.0, time.perf_counter(), 0.0
        self.outer: Progress | None = None
        self.live = False

    def __enter__(self) -> Progress:
        if self.enabled:
            self.outer = Progress.outermost
            Progress.outermost = self.outer or self
            self.live = self.outer is None and sys.stderr.isatty()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self.outer is not None or not self.enabled:
            return
        Progress.outermost = None
        if self.shown:
            self.show()
            sys.stderr.write("\n")
        elif not self.live:
            sys.stderr.write(f"{int(self.done)} of {self.total} {self.what} in {self.seconds():.1f} s\n")

    def advance(self, steps: float) -> None:
        self.done += steps
        if self.outer is not None:
            self.outer.advance(steps / max(self.total, 1) * self.outer.part)
        elif self.live and self.seconds() > PATIENCE and time.perf_counter() - self.shown > 0.1:
            self.show()

    def seconds(self) -> float:
        return time.perf_counter() - self.started

    def show(self) -> None:
        self.shown = time.perf_counter()
        share = min(self.done / max(self.total, 1), 1.0)
        seconds = self.seconds()
        rate = self.done / seconds
        pace = f"{rate:,.0f}/s" if rate >= 10 else f"{rate:.1f}/s" if rate >= 1 else f"{1 / max(rate, 1e-9):.1f} s each"
        left = f"{say_seconds(seconds * (1 - share) / share)} left" if 0 < share < 1 else say_seconds(seconds)
        bar = ("#" * int(24 * share)).ljust(24, ".")
        count = f"{round(self.done, 6):,.0f}" if share == 1 else f"{int(round(self.done, 6)):,}"
        line = f"[{bar}] {count}/{self.total:,} {self.what}, {pace}, {left}"
        width = shutil.get_terminal_size().columns
        sys.stderr.write(f"\r{line[: width - 1]}\x1b[K")  # a line that wraps cannot be written over
        sys.stderr.flush()


def say_seconds(seconds: float) -> str:
    if seconds < 10:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes == 0:
        return f"{rest} s"
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
