"""A short list in words: what a listed arm is best at, and which one to take in the place of one that is not listed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from frontguard._common.typing import Ints
from frontguard.comparisons.replacing import Excelling, Replacement
from frontguard.objectives import Objective
from frontguard.phrases import at_least, at_most, joined, percentage, rounded_up
from frontguard.results import Result
from frontguard.statements import Statement
from frontguard.verdicts import Verdict
from frontguard.words.limits import among_those_within


class _Word(NamedTuple):
    """How a metric of which less is better is spoken of."""

    alike: str  # as fast
    best: str  # the fastest
    times: str  # 2.1 times as fast
    worse: str  # 2% slower


_FAST = _Word("fast", "fastest", "as fast", "slower")
_SMALL = _Word("small", "smallest", "smaller", "larger")
_CHEAP = _Word("cheap", "cheapest", "cheaper", "dearer")
_SPOKEN = {
    **dict.fromkeys(("seconds", "time", "duration", "runtime", "latency", "cpu_seconds", "milliseconds", "ms"), _FAST),
    **dict.fromkeys(("bytes", "size", "kilobytes", "megabytes", "kb", "mb"), _SMALL),
    **dict.fromkeys(("price", "cost", "costs", "usd", "dollars", "euros"), _CHEAP),
}


def best_of(metric: Objective, *, several: bool = False) -> str:
    """What the best arm is, or has: "is the fastest", "has the most score".

    >>> best_of(Objective("seconds", "minimize")), best_of(Objective("score"), several=True)
    ('is the fastest', 'have the most score')
    """
    word = _spoken(metric)
    if word is not None:
        return f"{'are' if several else 'is'} the {word.best}"
    return f"{'have' if several else 'has'} the {'least' if metric.minimized else 'most'} {metric.name}"


def _spoken(metric: Objective) -> _Word | None:
    return _SPOKEN.get(metric.name.lower()) if metric.minimized else None


def take_instead(result: Result, arm: int) -> str | None:
    """Which listed arm to take in the place of one that is not, and what is certain of the two; None where none is."""
    found = result.replacement(arm)
    return None if found is None or not result.metrics else _instead(found, result.metrics)


def _instead(found: Replacement, metrics: tuple[Objective, ...]) -> str:
    return Statement.INSTEAD(arm=found.by, compared=compared(found, metrics))


def compared(found: Replacement, metrics: tuple[Objective, ...]) -> str:
    """What is certain of an arm in the place of another one, objective by objective.

    >>> metrics = Objective("bytes", "minimize", "5%"), Objective("seconds", "minimize", "5%"), Objective("score")
    >>> costs, gains = {"bytes": 0.0, "seconds": 0.0, "score": 0.31}, {"bytes": 0.0, "seconds": 1.1, "score": 0.0}
    >>> compared(Replacement("gzip", costs, gains), metrics)
    'as small, at least 2.1 times as fast, at most 0.31 less score'
    """
    return ", ".join(_of_one(metric, found.costs[metric.name], found.gains[metric.name]) for metric in metrics)


def _of_one(metric: Objective, cost: float, gain: float) -> str:
    word = _spoken(metric)
    if cost > 0.0:
        if not metric.relative:
            worse = f"{at_most(cost)} {'more' if metric.minimized else 'less'} {metric.name}"
        else:
            worse = f"{percentage(rounded_up(cost, 3))} {word.worse if word else f'worse in {metric.name}'}"
        return Statement.AT_MOST(amount=worse)
    times = at_least(1.0 + gain)
    if gain > 0.0 and not metric.relative:
        better = f"{at_least(gain)} {'less' if metric.minimized else 'more'} {metric.name}"
        return Statement.AT_LEAST(amount=better)
    if metric.relative and times != "1":
        return Statement.AT_LEAST(amount=f"{times} times {word.times if word else f'better in {metric.name}'}")
    return Statement.AS_GOOD(what=word.alike if word else f"good in {metric.name}")


def what_best_at(result: Result, arm: int) -> str:
    """What a returned arm is best at, for the reason of its verdict; "" if nothing."""
    return _best_at(result.best_at(arm), among_those_within(result))


def _best_at(found: Sequence[Excelling], scope: str) -> str:
    certain, seeming = ([each.objective for each in found if each.certain is sure] for sure in (True, False))
    said = []
    if certain:
        said.append(Statement.BEST_IN(names=joined(certain), scope=scope))
    if seeming:
        said.append(Statement.SEEMS_BEST_IN(names=joined(seeming), scope=scope))
    return ", ".join(said)


def places_on_list(result: Result, arms: Ints) -> list[str]:
    """Of each of these arms what it is best at if it is listed, else which one to take instead, at what cost.

    "" of an arm that is best at nothing, or for which none is known that does; of all where the goal is not the list,
    or nothing is promised.
    """
    if result.goal != "list" or result.certificate.confidence is None:
        return [""] * len(arms)
    best, instead = result.excelling(arms), result.replacements(arms) if result.metrics else {}
    scope, said = among_those_within(result), []
    for arm in arms.tolist():
        name = result.arms[arm]
        if result.verdict(arm) is Verdict.IN:
            said.append(_best_at(best.get(name, ()), scope))
        else:
            said.append(_instead(instead[name], result.metrics) if name in instead else "")
    return said
