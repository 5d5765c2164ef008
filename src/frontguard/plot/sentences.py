"""What is said of a picture in descriptions, captions and hints: names, values and shares in sentences."""

from __future__ import annotations

import math
from collections.abc import Sequence

from frontguard._common.typing import Floats
from frontguard.phrases import joined, number
from frontguard.plot.layout.names import in_columns, short

MOST_TOLD = 600
"""Characters that a description has at most: it is read aloud."""


def interval(low: float, high: float) -> str:
    """An interval in words; a side that nothing is known of is infinite.

    >>> interval(1.2, 1.31), interval(-math.inf, 3.0), interval(-math.inf, math.inf)
    ('[1.2, 1.31]', '[−∞, 3]', 'not bounded yet')
    """
    if not math.isfinite(low) and not math.isfinite(high):
        return "not bounded yet"
    return f"[{number(low)}, {number(high)}]"


def with_intervals(names: Sequence[str], middle: Floats, low: Floats, high: Floats, wide: int) -> str:
    """Values of several objectives, each with its interval; names are at most so wide."""
    each = zip(names, middle.tolist(), low.tolist(), high.tolist(), strict=True)
    return "; ".join(f"{short(name, wide)} {number(value)} {interval(*ends)}" for name, value, *ends in each)


def listed(names: Sequence[str], most: int = 5, wide: int = 32, total: int | None = None) -> str:
    """Names in a sentence, the first ones if they are many; `total` if not all that there are were given.

    >>> listed(["a", "b", "c"]), listed(["a", "b", "c", "d"], most=2), listed(["a"]), listed([])
    ('a, b and c', 'a, b and 2 more', 'a', 'none')
    """
    shown = in_columns(names[:most], wide)
    more = (len(names) if total is None else total) - len(shown)
    if more > 0:
        return f"{', '.join(shown)} and {more:,} more"
    return joined(shown) if shown else "none"


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


def captioned(*parts: str) -> str:
    """All of the sentences, empty ones left out."""
    return " ".join(filter(None, parts))
