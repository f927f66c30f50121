"""From arguments to an exit code: 0, 1 for what data or machine do not allow, 2 for a command without a meaning."""

from __future__ import annotations

import sys
import traceback
import warnings
from collections.abc import Sequence
from typing import Any

from cyclopts import CycloptsError

from lazyforest.cli.commands import app
from lazyforest.cli.failures import Failure, shorten
from lazyforest.cli.terminal import NOTHING, Interrupted, discard_output, prompt_interrupts, teller

BROKEN_PIPE = 141  # what a shell reports of any program whose reader went away


def run(arguments: Sequence[str]) -> int:
    """Run a command; errors become a line on standard error, with --debug after their traceback."""
    teller.quiet, teller.left = False, NOTHING
    warnings.showwarning = say_warning
    try:
        with prompt_interrupts():
            app(arguments, exit_on_error=False, print_error=False, result_action="return_value")
            sys.stdout.flush()
        return 0
    except SystemExit:
        raise
    except BaseException as error:  # a panic inside polars is no Exception
        if "--debug" in arguments:
            traceback.print_exc()
        command = arguments[0] if arguments and arguments[0] in app else ""
        return explain_error(error, f"lazyforest {command}".strip())


def say_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    teller.say(f"warning: {message}", style="yellow")


def explain_error(error: BaseException, command: str) -> int:
    """Say what went wrong; returns the exit code."""
    if isinstance(error, BrokenPipeError):
        discard_output()
        return BROKEN_PIPE
    if isinstance(error, KeyboardInterrupt):
        teller.say_interrupted()
        return error.code if isinstance(error, Interrupted) else 130
    if isinstance(error, CycloptsError):
        teller.fail(f"{error} See {command} --help.")
        return 2
    teller.fail(shorten(describe(error)))
    return error.code if isinstance(error, Failure) else 1


def describe(error: BaseException) -> str:
    if isinstance(error, Failure | ValueError | TypeError | ImportError):
        return str(error)
    if isinstance(error, OSError) and (error.strerror or error.args):  # ours have a message instead
        said = error.strerror or str(error)
        return f"{error.filename}: {said}" if error.filename else said
    if isinstance(error, MemoryError):
        return "not enough memory. Give fewer rows, or a smaller --chunk-rows."
    return f"{type(error).__name__}: {error} (unexpected; --debug shows where)"
