"""The answer in a sentence, of studies and of analyses alike: the front or, where nothing is certain, a best guess."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_FLOOR

import numpy as np

from frontguard.notices import least_pulls
from frontguard.phrases import are, joined, listed, number_of, percent
from frontguard.results import Answer, WhatIf
from frontguard.statements import Statement
from frontguard.verdicts import VERDICT_ORDER, Verdict
from frontguard.words.arm_table import names_in_short
from frontguard.words.asked import among_those_within, none_within, what_counts
from frontguard.words.certificate import allowed, amount, amounts_in_words, margins
from frontguard.words.comparisons import best_of

MOST_LISTED = 10
"""Arms of a short list that its answer names, all of them: they are what was asked for."""


def names_of_listed(front: Sequence[str]) -> str:
    """The kept arms by name, if they are few; a handful of them if they are not.

    >>> names_of_listed(["f", "b", "c", "d", "e", "a"]), names_of_listed([str(k) for k in range(11)])
    ('a, b, c, d, e, f', '0, 1, 2, 3, 4 … and 6 more')
    """
    return names_in_short(front, MOST_LISTED) if len(front) <= MOST_LISTED else names_in_short(front)


def front_in_words(result: Answer) -> str:
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
    if len(result.arms) == 1 + len(result.excluded) and len(front) == 1:
        return Statement.ONLY(arm=front[0], best=best, scope=" that can be measured" if result.excluded else "")
    if len(front) == 1:
        said = {"measured": of, "arm": front[0], "best": best}
        return Statement.NEAR_BEST(**said, within=within) if within else Statement.BEST(**said)
    said = {"measured": of, "count": f"{len(front):,}", "best": best, "arms": names_in_short(front)}
    return Statement.NEAR_BESTS(**said, within=within) if within else Statement.BESTS(**said)


def enough_in_words(result: Answer) -> str:
    """Which arms are enough, and what holds of the others, in two sentences."""
    front, of, coverage = result.pareto_set, measured(result), result.certificate.coverage
    scope, others = among_those_within(result), " that keeps to them" if result.limits is not None else ""
    named, everything = names_of_listed(front), len(front) == len(result.arms) - len(result.excluded)
    if everything and len(front) > 1:
        return Statement.ALL_LISTED(measured=of, scope=scope, arms=named)
    within = amounts_in_words(coverage, result.metrics) if any(np.atleast_1d(coverage)) else ""
    everywhere = " in every objective"
    if everything:
        return Statement.ONLY_ARM(arm=named, scope=" that can be measured" if result.excluded else "")
    if len(front) == 1:
        said = Statement.ENOUGH_ALONE(measured=of, arm=named, scope=scope)
        if within:
            return f"{said} {Statement.ALONE_WITHIN(within=within, scope=others)}"
        return f"{said} {Statement.ALONE(scope=others, everywhere=everywhere)}"
    said = Statement.ENOUGH(count=f"{len(front):,}", measured=of, scope=scope, arms=named)
    if within:
        return f"{said} {Statement.DOES_WITHIN(within=within, scope=others)}"
    return f"{said} {Statement.DOES(scope=others, everywhere=everywhere)}"


def measured(result: Answer) -> str:
    """The arms that an answer is about: all, or those that can be measured."""
    excluded = len(result.excluded)
    count = number_of(len(result.arms) - excluded)
    return f"the {count} that can be measured" if excluded else count


def place(result: Answer) -> str:
    """Where the arms are that are in: on the front, or not beaten by more than some amount."""
    within, names = margins(result), result.objectives
    if len(names) > 1:
        said = Statement.NEAR_FRONT(within=within) if within else Statement.ON_FRONT(names=joined(names))
    elif within:
        said = Statement.AS_NEAR_BEST(name=names[0], within=near(result))
    else:
        said = Statement.AS_BEST(name=names[0])
    return said + among_those_within(result)


def near(result: Answer) -> str:
    """How near the best the arms are that are in, by the one objective."""
    return amount(allowed(result)[0], result.metrics[0]) if result.metrics else margins(result)


# Where nothing is certain ---------------------------------------------------------------------------------------------


def best_guess(result: Answer) -> str | None:
    """The front by the estimates alone, as a guess; None where an arm is in, or nothing was measured."""
    names = result.best_guess
    if not names:
        return None
    measured = f"{what_counts(result.metrics)} measured"
    front = "That is the trade-off front" if len(result.objectives) > 1 else "That is the best"
    if result.goal == "list":
        front = "That would be enough"
    return f"Best guess, without any promise: {listed(names)}. {front} if the {measured} were exact."


def too_few(result: Answer) -> str | None:
    """How many pulls a result without a kept arm lacks; None where it is not pulls, or that is not known."""
    guess, certificate = result.guess, result.certificate
    if guess is None or guess.first is None or certificate.confidence is None:
        return None
    measured = result.pulls_per_arm[result.verdict_codes != Verdict.EXCLUDED]
    if not len(measured) or guess.whole is None or measured.max() >= guess.whole:
        return None
    said = least_pulls(
        arms=len(result.arms),
        metrics=len(result.objectives) + _limited_only(result),
        contamination=certificate.contamination,
        confidence=certificate.confidence,
        first=guess.first,
        whole=guess.whole,
    )
    return f"{said[0].upper()}{said[1:]}; {have(int(measured.min()), int(measured.max()))}."


def _limited_only(result: Answer) -> int:
    """How many intervals an arm has besides those of the objectives."""
    gates = () if result.limits is None else result.limits.gates
    return len({gate.column for gate in gates if gate.column >= len(result.objectives)})


def have(least: int, most: int) -> str:
    """How many pulls arms have.

    >>> have(9, 9), have(3, 9)
    ('these have 9', 'these have 3 to 9')
    """
    return f"these have {least:,}" if least == most else f"these have {least:,} to {most:,}"


# What if --------------------------------------------------------------------------------------------------------------

AFTERWARDS = (
    "This tells how far away an answer is, and is none: a level that is chosen after looking is no longer that level. "
    "Choose it before the next measurements."
)


def what_if(found: Answer) -> list[str]:
    """What would be decided at a lower confidence or contamination; nothing where an arm is decided as it is."""
    log = found.log
    if log is None or log.profile is None or not found.guess or not _all_open(found):
        return []
    if not log.what_if:
        cleaner = " or contamination" if found.certificate.contamination else ""
        return [f"No lower confidence{cleaner} that was tried would decide any arm: it takes more pulls."]
    return [*(_said(found, each) for each in log.what_if), AFTERWARDS]


def _all_open(found: Answer) -> bool:
    return bool((found.having(Verdict.UNDECIDED) | found.having(Verdict.EXCLUDED)).all())


def _said(found: Answer, given: WhatIf) -> str:
    asked = found.certificate
    if given.contamination != asked.contamination:
        level = f"ε = {percent(given.contamination)} instead of {percent(asked.contamination)}"
    else:
        level = f"{percent(given.confidence)} confidence instead of {percent(asked.confidence or 0.0, ROUND_FLOOR)}"
    parts: list[str] = []
    for verdict in VERDICT_ORDER:
        which = np.asarray(given.codes == verdict)
        if which.any() and verdict not in (Verdict.UNDECIDED, Verdict.EXCLUDED):
            would = "" if parts else "would have been "
            arms = f"{int(which.sum()):,}" if parts else number_of(int(which.sum()))
            parts.append(f"{arms} {would}{verdict.word} ({listed(found.named(which))})")
    return f"What if: at {level}, {joined(parts)}."
