"""The progress bar: when it shows itself, what it counts, and one inside another."""

from __future__ import annotations

import io
from types import SimpleNamespace

import pytest

from lazyforest import progress
from lazyforest.progress import Progress, say_seconds


class Screen(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def screen(monkeypatch):
    """A terminal, and a clock that each look moves on by ten seconds."""
    clock = iter(range(0, 10**6, 10))
    monkeypatch.setattr(progress.time, "perf_counter", lambda: float(next(clock)))
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=Screen()))
    monkeypatch.setenv("COLUMNS", "80")
    return progress.sys.stderr


def lines(screen):
    return [line.replace("\x1b[K", "").strip() for line in screen.getvalue().split("\r") if line]


def test_rate_and_time_left(screen):
    with Progress(4, "trees", True) as bar:
        for _ in range(4):
            bar.advance(1)
    shown = lines(screen)
    assert shown[0].startswith("[######..................] 1/4 trees, ")
    assert all(" s each, " in line for line in shown)
    assert all(line.endswith(" left") for line in shown[:3])
    assert shown[-1].startswith("[########################] 4/4 trees, ")
    assert screen.getvalue().endswith("\n")


def test_what_is_over_soon_shows_nothing(monkeypatch, screen):
    monkeypatch.setattr(progress.time, "perf_counter", lambda: 5.0)
    with Progress(4, "trees", True) as bar:
        bar.advance(4)
    assert screen.getvalue() == ""


def test_one_inside_another_moves_the_outer_one(screen):
    with Progress(100, "rows", True) as outer:
        for rows in (60, 40):
            outer.part = rows
            with Progress(2, "trees", True) as inner:
                inner.advance(1)
                inner.advance(1)
    assert outer.done == pytest.approx(100)
    assert "trees" not in screen.getvalue()
    assert screen.getvalue().count("\n") == 1
    assert Progress.outermost is None


def test_a_silent_one_is_no_outer_one(screen):
    with Progress(2, "rows", False) as outer, Progress(2, "trees", True) as inner:
        inner.advance(1)
    assert outer.done == 0
    assert "1/2 trees" in screen.getvalue()


def test_an_error_inside_ends_the_bar(screen):
    def interrupted():
        with Progress(2, "trees", True) as bar:
            bar.advance(1)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert screen.getvalue().endswith("\n")
    assert Progress.outermost is None


def test_a_narrow_terminal(screen, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    with Progress(2, "splits, one by one because of something that takes long to say", True) as bar:
        bar.advance(1)
    assert max(map(len, lines(screen))) in (38, 39)  # a blank at the end is stripped


@pytest.mark.parametrize(
    ("seconds", "said"), [(0.04, "0.0 s"), (9.94, "9.9 s"), (59.4, "59 s"), (200, "3 min 20 s"), (7380, "2 h 3 min")]
)
def test_seconds_in_words(seconds, said):
    assert say_seconds(seconds) == said
