"""Words in pictures: what is said of an arm under the pointer, and in descriptions for those who cannot see them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from frontguard.phrases import number_of
from frontguard.plot.wording import short
from frontguard.studies.snapshot import number

__all__ = ["MOST_TOLD", "interval", "listed", "number", "number_of", "said", "sentences", "share"]

MOST_TOLD = 600
"""Characters that a description has at most: it is read aloud."""

_NAME = 60  # columns of a name where there is room


def said(name: str, most: int = _NAME) -> str:
    """A name within a sentence: on one line, and not too long.

    >>> said("  gcc\\n-O2 ")
    'gcc -O2'
    """
    return short(name, most)


def interval(low: float, high: float) -> str:
    """An interval in words; a side that nothing is known of is infinite.

    >>> interval(1.2, 1.31), interval(-math.inf, 3.0), interval(-math.inf, math.inf)
    ('[1.2, 1.31]', '[−∞, 3]', 'not bounded yet')
    """
    if not math.isfinite(low) and not math.isfinite(high):
        return "not bounded yet"
    return f"[{number(low)}, {number(high)}]"


def listed(names: Sequence[str], most: int = 6, wide: int = 32, total: int | None = None) -> str:
    """Names in a sentence, the first ones if they are many; `total` if not all that there are were given.

    >>> listed(["a", "b", "c"]), listed(["a", "b", "c", "d"], most=2), listed(["a"]), listed([])
    ('a, b and c', 'a, b and 2 more', 'a', 'none')
    """
    shown = [said(name, wide) for name in names[:most]]
    more = (len(names) if total is None else total) - len(shown)
    if more > 0:
        return f"{', '.join(shown)} and {more:,} more"
    return " and ".join(filter(None, [", ".join(shown[:-1]), shown[-1]])) if shown else "none"


def sentences(*parts: str, most: int = MOST_TOLD) -> str:
    """Sentences one after another, as many as there is room for; empty ones are left out.

    >>> sentences("Two arms are in.", "", "One is out.", most=30)
    'Two arms are in. One is out.'
    >>> sentences("Two arms are in.", "One is out.", most=20)
    'Two arms are in.'
    """
    told = ""
    for part in filter(None, parts):
        longer = f"{told} {part}".strip()
        if len(longer) > most:
            break
        told = longer
    return told


def share(value: float) -> str:
    """A share as a percentage, with a decimal only where it has one.

    >>> share(0.15), share(0.254), share(0.2999), share(0.0004), share(0.0)
    ('15%', '25.4%', '30%', '0.04%', '0%')
    """
    if 0.0 < abs(value) < 0.001:
        return f"{100.0 * value:.1g}%"
    return f"{100.0 * value:.1f}".removesuffix(".0") + "%"
