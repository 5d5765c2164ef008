"""What pulls cost, in words: amounts in their unit, what was spent, what is left."""

from __future__ import annotations

from frontguard.phrases import duration, number, time_range
from frontguard.results import CostSoFar
from frontguard.results.facts import SECONDS


def cost_in_words(amount: float, unit: str) -> str:
    """An amount with its unit; seconds as a time.

    >>> cost_in_words(12.5, "dollars"), cost_in_words(90.0, "seconds")
    ('12.5 dollars', '1 min 30 s')
    """
    return duration(amount) if unit == SECONDS else f"{number(amount)} {unit}"


def cost_range(least: float, most: float, unit: str) -> str:
    """An amount that lies between two, with two digits each: more would promise too much.

    >>> cost_range(1.234, 8.7, "dollars"), cost_range(20.0, 100.0, "seconds")
    ('1.2 to 8.7 dollars', '20 to 100 s')
    """
    if unit == SECONDS:
        return time_range(least, most)
    low, high = (number(float(f"{amount:.2g}")) for amount in (least, most))
    return f"{high} {unit}" if low == high else f"{low} to {high} {unit}"


def spent_in_words(cost: CostSoFar, most: float | None = None) -> str:
    """What pulls have cost so far, of what they may cost."""
    of = "" if most is None else f" of {cost_in_words(most, cost.unit)} allowed"
    return f"{cost_in_words(cost.spent, cost.unit)}{of}"
