"""What is said on standard error, and by whom it is interrupted."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from rich.console import Console
from rich.text import Text

from lazyforest.cli import scratch

GRACE = 0.4  # seconds between Ctrl-C and the end, if the program is in the middle of something long
NOTHING = "no file was written"  # what an interrupted command leaves, unless it says otherwise
INTERRUPTS = (signal.SIGINT, signal.SIGTERM, *((signal.SIGHUP,) if hasattr(signal, "SIGHUP") else ()))


def new_console(stderr: bool = False, soft_wrap: bool = False) -> Console:
    """Leaves text as it is: no numbers in colour, no pictures for :a:."""
    return Console(stderr=stderr, soft_wrap=soft_wrap, highlight=False, emoji=False)


class Teller:
    """Says things on standard error, unless it is to be quiet."""

    def __init__(self) -> None:
        self.quiet, self.interrupted = False, False
        self.left = NOTHING

    @property
    def console(self) -> Console:
        """Breaks lines between words on a terminal, and nowhere else."""
        return new_console(stderr=True, soft_wrap=not sys.stderr.isatty())

    @property
    def shows_progress(self) -> bool:
        return not self.quiet and sys.stderr.isatty()

    def say(self, text: str, style: str | None = None) -> None:
        if not self.quiet:
            self.console.print(text, style=style, markup=False)

    def fail(self, text: str) -> None:
        self.console.print(Text.assemble(("error:", "bold red"), " ", text))

    def say_interrupted(self) -> None:
        """Once, whoever is first."""
        if not self.interrupted:
            self.interrupted = True
            show_cursor = b"\x1b[?25h" if sys.stderr.isatty() else b""
            with suppress(OSError):
                os.write(2, show_cursor + f"\nInterrupted; {self.left}.\n".encode())


teller = Teller()


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """A sign of life, from the second second on, while something runs whose length is not known."""
    if not teller.shows_progress:
        yield
        return
    status = teller.console.status(what, spinner="line")
    timer = threading.Timer(1.0, status.start)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()  # it may be starting the sign right now
        status.stop()


@contextmanager
def announced_compilation() -> Iterator[None]:
    """Say that numba compiles, at the moment when it does and not when it finds what it kept."""
    from numba.core import event

    class Announcer(event.Listener):  # type: ignore[misc, unused-ignore]
        said = False

        def on_start(self, _: Any) -> None:
            if not self.said:
                self.said = True
                teller.say("Compiling for this CPU, once; a minute or so...", style="yellow")

        def on_end(self, _: Any) -> None:
            """Each of many functions ends; the whole does not say when."""

    announcer = Announcer()
    event.register("numba:compile", announcer)
    try:
        yield
    finally:
        event.unregister("numba:compile", announcer)


def discard_output() -> None:
    """Python flushes standard output once more when it ends; there is nobody to take it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class Interrupted(KeyboardInterrupt):
    """A signal asks the process to end."""

    def __init__(self, number: int) -> None:
        self.code = 128 + number


@contextmanager
def prompt_interrupts() -> Iterator[None]:
    """Ctrl-C ends the process within a second, even inside a long call into the compiler or polars.

    Python runs a handler of its own between two instructions only. So a thread is woken by the signal itself, waits
    for the ordinary end, and otherwise removes what is half written and ends the process.
    """
    if os.name != "posix" or threading.current_thread() is not threading.main_thread():
        yield
        return
    ear, mouth = os.pipe()
    os.set_blocking(mouth, False)

    def end(number: int, _: Any) -> None:
        sys.unraisablehook = lambda _: None  # inside a callback of C it cannot be raised, and would be printed
        raise Interrupted(number)

    def watch() -> None:
        heard = os.read(ear, 1)
        while heard and heard[0] not in INTERRUPTS:
            heard = os.read(ear, 1)
        if heard:
            time.sleep(GRACE)
            scratch.remove_all()
            teller.say_interrupted()
            os._exit(128 + heard[0])
        os.close(ear)

    before = {number: signal.signal(number, end) for number in INTERRUPTS}
    woken_before = signal.set_wakeup_fd(mouth, warn_on_full_buffer=False)
    threading.Thread(target=watch, daemon=True).start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(woken_before)
        for number, handler in before.items():
            signal.signal(number, handler)
        os.close(mouth)  # the thread ends, unless it has heard a signal: then it sees to it that the process does
