"""The front in a sentence: what the answers of studies and of analyses have in common."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from frontguard.phrases import are, joined, number_of
from frontguard.results import Result
from frontguard.statements import Statement
from frontguard.words.certificate import allowed, amount, amounts_in_words, margins
from frontguard.words.comparing.instead import best_of
from frontguard.words.limits import among_those_within, none_within
from frontguard.words.tables.arm_table import names_in_short

MOST_LISTED = 10
"""Arms of a short list that its answer names, all of them: they are what was asked for."""


def names_of_listed(front: Sequence[str]) -> str:
    """The arms that are in by name, if they are few; a handful of them if they are not.

    >>> names_of_listed(["f", "b", "c", "d", "e", "a"]), names_of_listed([str(k) for k in range(11)])
    ('a, b, c, d, e, f', '0, 1, 2, 3, 4 … and 6 more')
    """
    return names_in_short(front, MOST_LISTED) if len(front) <= MOST_LISTED else names_in_short(front)


def front_in_words(result: Result) -> str:
    """Which arms are returned, and what holds of them, in a sentence."""
    front, metrics, of = result.pareto_set, result.metrics, measured(result)
    counted = {"count": f"{len(front):,}", "measured": of, "are": are(len(front)), "arms": names_in_short(front)}
    if result.certificate.confidence is None:
        return Statement.RETURNED(**counted)
    if not front and result.limits is not None:
        return none_within(result)
    if len(metrics) > 1:
        return enough_in_words(result) if result.goal == "list" else Statement.FRONT(**counted, place=place(result))
    best = best_of(metrics[0], several=len(front) > 1) + among_those_within(result)
    within = near(result) if any(allowed(result)) else ""
    if len(result.arms) == 1 + len(result.aside) and len(front) == 1:
        return Statement.ONLY(arm=front[0], best=best, scope=" that can be measured" if result.aside else "")
    if len(front) == 1:
        said = {"measured": of, "arm": front[0], "best": best}
        return Statement.NEAR_BEST(**said, within=within) if within else Statement.BEST(**said)
    said = {"measured": of, "count": f"{len(front):,}", "best": best, "arms": names_in_short(front)}
    return Statement.NEAR_BESTS(**said, within=within) if within else Statement.BESTS(**said)


def enough_in_words(result: Result) -> str:
    """Which arms are enough, and what holds of the others, in two sentences."""
    front, of, coverage = result.pareto_set, measured(result), result.certificate.coverage
    scope, others = among_those_within(result), " that keeps to them" if result.limits is not None else ""
    named, everything = names_of_listed(front), len(front) == len(result.arms) - len(result.aside)
    if everything and len(front) > 1:
        return Statement.ALL_LISTED(measured=of, scope=scope, arms=named)
    within = amounts_in_words(coverage, result.metrics) if any(np.atleast_1d(coverage)) else ""
    everywhere = " in every objective"
    if everything:
        return Statement.ONLY_ARM(arm=named, scope=" that can be measured" if result.aside else "")
    if len(front) == 1:
        said = Statement.ENOUGH_ALONE(measured=of, arm=named, scope=scope)
        if within:
            return f"{said} {Statement.ALONE_WITHIN(within=within, scope=others)}"
        return f"{said} {Statement.ALONE(scope=others, everywhere=everywhere)}"
    said = Statement.ENOUGH(count=f"{len(front):,}", measured=of, scope=scope, arms=named)
    if within:
        return f"{said} {Statement.DOES_WITHIN(within=within, scope=others)}"
    return f"{said} {Statement.DOES(scope=others, everywhere=everywhere)}"


def measured(result: Result) -> str:
    """The arms that an answer is about: all, or those that can be measured."""
    aside = len(result.aside)
    count = number_of(len(result.arms) - aside)
    return f"the {count} that can be measured" if aside else count


def place(result: Result) -> str:
    """Where the arms are that are in: on the front, or not beaten by more than some amount."""
    within, names = margins(result), result.objectives
    if len(names) > 1:
        said = Statement.NEAR_FRONT(within=within) if within else Statement.ON_FRONT(names=joined(names))
    elif within:
        said = Statement.AS_NEAR_BEST(name=names[0], within=near(result))
    else:
        said = Statement.AS_BEST(name=names[0])
    return said + among_those_within(result)


def near(result: Result) -> str:
    """How near the best the arms are that are in, by the one objective."""
    return amount(allowed(result)[0], result.metrics[0]) if result.metrics else margins(result)
