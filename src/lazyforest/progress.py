"""A one-line progress bar on standard error."""

from __future__ import annotations

import sys
import time
from types import TracebackType


class Progress:
    """Counts steps up to ``total``; shows itself on a terminal, or says one closing line elsewhere."""

    def __init__(self, total: int, what: str, enabled: bool) -> None:
        self.total, self.what, self.enabled = total, what, enabled
        self.done, self.started, self.shown = 0, time.perf_counter(), 0.0
        self.live = enabled and sys.stderr.isatty()

    def __enter__(self) -> Progress:
        self.advance(0)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self.live:
            self.show()
            sys.stderr.write("\n")
        elif self.enabled:
            sys.stderr.write(f"{self.done} of {self.total} {self.what} in {self.seconds():.1f} s\n")

    def advance(self, steps: int) -> None:
        self.done += steps
        if self.live and time.perf_counter() - self.shown > 0.1:
            self.show()

    def seconds(self) -> float:
        return time.perf_counter() - self.started

    def show(self) -> None:
        self.shown = time.perf_counter()
        share = self.done / max(self.total, 1)
        left = f"{self.seconds() * (1 - share) / share:.0f} s left" if 0 < share < 1 else f"{self.seconds():.1f} s"
        bar = ("#" * int(30 * share)).ljust(30, ".")
        sys.stderr.write(f"\r[{bar}] {self.done}/{self.total} {self.what}, {left}\x1b[K")
        sys.stderr.flush()
