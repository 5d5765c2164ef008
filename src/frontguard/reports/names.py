"""Names of arms in reports: in full where they fit, and shortened where many long ones would bury what is said."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

IN_SENTENCES = 80
"""Characters of a name in sentences and pictures."""

IN_TABLES = 300_000
"""Characters of all names of a table together; if they have more, the longest ones are shortened."""


def short(name: str, most: int = IN_SENTENCES) -> str:
    """A name of so many characters at most, in one line.

    >>> short("a rather long name", 9), short("two\\nlines")
    ('a rather…', 'two lines')
    """
    line = " ".join(name[: 8 * most].split()) if len(name) > most or not name.isprintable() else name
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"


def fitting(names: Sequence[str], together: int = IN_TABLES) -> list[str]:
    """The names as they are; or, if they are too long together, the longest ones shortened to one common length.

    >>> fitting(["abc", "x" * 100, "y" * 90], 33)
    ['abc', 'xxxxxxxxxxxxxx…', 'yyyyyyyyyyyyyy…']
    """
    lengths = sorted(map(len, names))
    if sum(lengths) <= together:
        return list(names)
    left, limit = together, 1
    for place, length in enumerate(lengths):
        limit = left // (len(lengths) - place)
        if length > limit:
            break
        left -= length
    return [name if len(name) <= limit else name[: max(limit - 1, 1)] + "…" for name in names]


def listed(names: Iterable[str], most: int = 12) -> str:
    """Names one after another; those beyond the first dozen are counted.

    >>> listed(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    every = list(names)
    more = f" and {len(every) - most:,} more" if len(every) > most else ""
    return ", ".join(short(name) for name in every[:most]) + more
