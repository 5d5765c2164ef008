"""The front in a sentence: what the answers of studies and of analyses have in common."""

from __future__ import annotations

from collections.abc import Sequence

from frontguard.objectives import Objective
from frontguard.phrases import are, joined, listed


def front_in_words(front: Sequence[str], metrics: Sequence[Objective], measured: str, within: str = "") -> str:
    """Which arms, of those `measured`, are on the front; with one objective also `within` what amount of the best.

    >>> front_in_words(["a", "b"], [Objective("seconds", "minimize")], "3 arms", "5%")
    'Of 3 arms, 2 have the least seconds or are within 5% of it: a, b.'
    """
    if len(metrics) > 1:
        return f"{len(front):,} of {measured} {are(len(front))} {on_the_front(metrics)}: {listed(front)}."
    if len(front) == 1:
        return f"Of {measured}, {front[0]} has {best_of(metrics[0])}."
    close = f" or are within {within} of it" if within else ""
    return f"Of {measured}, {len(front):,} have {best_of(metrics[0])}{close}: {listed(front)}."


def on_the_front(metrics: Sequence[Objective]) -> str:
    """Where the arms are that are in.

    >>> on_the_front([Objective("a"), Objective("b"), Objective("c")]), on_the_front([Objective("a")])
    ('on the trade-off front of a, b and c', 'the best in a')
    """
    names = joined([metric.name for metric in metrics])
    return f"the best in {names}" if len(metrics) == 1 else f"on the trade-off front of {names}"


def best_of(metric: Objective) -> str:
    """What the best arm has: "the least seconds"."""
    return f"the {'least' if metric.minimized else 'most'} {metric.name}"
