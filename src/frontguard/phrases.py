"""Phrases that answers, tables, pages and reports share."""

from __future__ import annotations

from collections.abc import Sequence

MOST_NAMES = 12
"""Names that are listed before the rest is counted."""


def article(noun: str) -> str:
    """A noun with its article.

    >>> article("oblivious"), article("prescient")
    ('an oblivious', 'a prescient')
    """
    return f"{'an' if noun[:1] in 'aeiou' else 'a'} {noun}"


def number_of(count: int, noun: str = "arm") -> str:
    """A count with its noun.

    >>> number_of(1), number_of(1200), number_of(0, "pull")
    ('1 arm', '1,200 arms', '0 pulls')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def listed(names: Sequence[str], most: int = MOST_NAMES) -> str:
    """Names one after another; those beyond the first ones are counted.

    >>> listed(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def one_line(text: str, most: int = 80) -> str:
    """A text in one line of so many characters at most.

    >>> one_line("two\\nlines"), one_line("a rather long line", 9)
    ('two lines', 'a rather…')
    """
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1] + "…"


def percent(share: float) -> str:
    """A share to a tenth of a percent, as short as can be.

    >>> percent(0.23), percent(0.2315), percent(0.5)
    ('23%', '23.2%', '50%')
    """
    return f"{round(100.0 * share + 1e-9, 1):g}%"
