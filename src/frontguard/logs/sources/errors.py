"""What is said when a log cannot be read: one line, with the file, the place in it, what is wanted and what was got."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

LONGEST = 60
"""Characters of a value that are repeated in a message."""


def shown(value: object, most: int = LONGEST) -> str:
    r"""A value in a message: on one line, and not longer than needed to find it.

    >>> shown("12 ms"), shown("a\nb"), len(shown("x" * 1000))
    ("'12 ms'", "'a\\nb'", 60)
    """
    text = " ".join(repr(value).split())
    return text if len(text) <= most else text[: most - 1] + "…"


def one_line(error: BaseException, most: int = 160) -> str:
    """What a library says of an error: the first of its lines that says something, shortened."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = (lines[0] if lines else type(error).__name__).rstrip(".")
    printable = "".join(letter if letter.isprintable() else "�" for letter in text)
    return printable if len(printable) <= most else printable[: most - 1] + "…"


def listed(names: Iterable[str], most: int = 12) -> str:
    """Names in a message: the first of them, and how many more there are."""
    every = list(names)
    some = ", ".join(shown(name, 40) for name in every[:most])
    return some + (f" and {len(every) - most} more" if len(every) > most else "")


def nearest(name: str, names: Sequence[str]) -> str:
    """The hint that a name may be a slip for another one, or nothing.

    >>> nearest("secnds", ["arm", "seconds"]), nearest("Arm", ["arm", "x"]), nearest("q", ["arm"])
    (" (did you mean 'seconds'?)", " (did you mean 'arm'?)", '')
    """
    by_folded = {each.strip().casefold(): each for each in names}
    near = get_close_matches(name.strip().casefold(), by_folded, n=1)
    return f" (did you mean {shown(by_folded[near[0]])}?)" if near else ""
