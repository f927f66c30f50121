"""What can go wrong, as messages for a person."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

LONGEST = 600  # letters of a message: a file of one line must not fill the screen
SHOWN = 12  # names that are listed


class Failure(Exception):
    """The data or the machine do not allow it: exit code 1."""

    code = 1


class Misuse(Failure):
    """The command does not mean anything: exit code 2."""

    code = 2


def shorten(text: str, longest: int = LONGEST) -> str:
    return text if len(text) <= longest else f"{text[: longest - 3]}..."


def plural(count: int, noun: str) -> str:
    return f"1 {noun}" if count == 1 else f"{count:,} {noun}s"


def nearest(name: str, names: Iterable[str], likeness: float = 0.5) -> str | None:
    """The name that was probably meant."""
    plain = {other.casefold(): other for other in names}
    close = difflib.get_close_matches(name.casefold(), plain, n=1, cutoff=likeness)
    return plain[close[0]] if close else None


def suggest(name: str, names: Iterable[str]) -> str:
    """Did you mean ...? Or what there is to choose from."""
    names = list(names)
    near = nearest(name, names)
    if near is not None:
        return f"Did you mean {shorten(near, 80)!r}?"
    listed = ", ".join(shorten(other, 40) for other in names[:SHOWN])
    more = f" and {len(names) - SHOWN:,} more" if len(names) > SHOWN else ""
    return f"It has {listed}{more}." if names else "It has none."
