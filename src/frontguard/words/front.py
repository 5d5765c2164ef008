"""The answer in a sentence or two, of studies and of logs: what to keep or, where nothing is certain, a guess."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_FLOOR

import numpy as np

from frontguard.notices import TooFewClusters, TooFewPulls, least_pulls
from frontguard.phrases import joined, listed, number_of, percent
from frontguard.results import Answer, WhatIf
from frontguard.statements import Statement
from frontguard.verdicts import VERDICT_ORDER, Verdict
from frontguard.words.arm_table import names_in_short
from frontguard.words.asked import among_those_within, none_within, none_within_yet
from frontguard.words.certificate import allowed, amount, amounts_in_words, margins

MOST_LISTED = 10
"""Kept arms that an answer names, all of them, where their names are short: they are what was asked for."""

_SHORT = 60  # characters of all these names


def names_of_kept(front: Sequence[str]) -> str:
    """The kept arms by name; "" if they are many, or their names long: the table has them.

    >>> names_of_kept(["f", "b", "c", "d", "e", "a"]), names_of_kept([str(k) for k in range(11)])
    ('a, b, c, d, e, f', '')
    """
    every = names_in_short(front, MOST_LISTED)
    return every if len(front) <= MOST_LISTED and len(every) <= _SHORT else ""


def front_in_words(result: Answer) -> str:
    """Which arms to keep, and what holds of them, in two sentences."""
    front = result.pareto_set
    if not front and result.limits is not None and result.certificate.confidence is not None:
        return none_within(result)
    names = names_of_kept(front)
    kept = {"count": f"{len(front):,}", "measured": measured(result), "arms": f": {names}" if names else ""}
    if result.certificate.confidence is None:
        return Statement.RETURNED(**kept)
    if result.goal == "list" and len(result.metrics) > 1:
        others = len(result.arms) - len(result.excluded) > len(front)
        return f"{Statement.KEPT(**kept)} {_does(result)}" if others else Statement.KEPT(**kept)
    holds = Statement.THEY_ARE if len(front) > 1 else Statement.IT_IS
    return f"{Statement.KEPT(**kept)} {holds(place=place(result))}"


def _does(result: Answer) -> str:
    """What a short list is good for."""
    coverage, scope = result.certificate.coverage, among_those_within(result)
    these = "it" if len(result.pareto_set) == 1 else "one of these"
    if not any(np.atleast_1d(coverage)):
        return Statement.DOES(scope=scope, these=these)
    return Statement.DOES_WITHIN(scope=scope, these=these, within=amounts_in_words(coverage, result.metrics))


def so_far(result: Answer, *, guess: bool = True) -> str:
    """How far it came: how many arms have which verdict; where none is kept, with a best guess and what it lacks."""
    counted, tally = [], result.tally()
    for verdict, count in tally.items():
        some = len(tally) > 1 and verdict in (Verdict.KEEP, Verdict.UNDECIDED)
        names = names_of_kept(result.named(result.having(verdict))) if some else ""
        counted.append(f"{count:,} {verdict.word}{f' ({names})' if names else ''}")
    said = f"So far: {', '.join(counted)}."
    if not guess:
        return said
    return " ".join(filter(None, (best_guess(result), said, none_within_yet(result), too_few(result))))


def measured(result: Answer) -> str:
    """The arms that an answer is about: all, or those that can be measured."""
    excluded = len(result.excluded)
    return f"{number_of(len(result.arms) - excluded)}{' that can be measured' if excluded else ''}"


def place(result: Answer) -> str:
    """Where the arms are that are kept: on the front, or not beaten by more than some amount."""
    within, names = margins(result), result.objectives
    if len(names) > 1:
        said = Statement.NEAR_FRONT(within=within) if within else Statement.ON_FRONT(names=joined(names))
    elif within:
        near = amount(allowed(result)[0], result.metrics[0]) if result.metrics else within
        said = Statement.AS_NEAR_BEST(name=names[0], within=near)
    else:
        said = Statement.AS_BEST(name=names[0])
    return said + among_those_within(result)


# Where nothing is certain ---------------------------------------------------------------------------------------------


def best_guess(result: Answer) -> str | None:
    """The front by the estimates alone, as a guess; None where an arm is kept, or nothing was measured."""
    names = result.best_guess
    return f"Best guess, without any promise: {listed(names)}." if names else None


def too_few(result: Answer) -> str | None:
    """How many pulls a result without a kept arm lacks; None where it lacks others, or a warning says so."""
    guess, certificate = result.guess, result.certificate
    if guess is None or guess.first is None or guess.whole is None or certificate.confidence is None:
        return None
    pulls = result.pulls_per_arm[result.verdict_codes != Verdict.EXCLUDED]
    if any(isinstance(each, TooFewPulls | TooFewClusters) for each in result.notices):
        return None
    if not len(pulls) or pulls.max() >= guess.whole:
        return None
    said = least_pulls(certificate.contamination, guess.first, guess.whole)
    return f"{said[0].upper()}{said[1:]}; these have {int(pulls.max()):,} at most."


# What if --------------------------------------------------------------------------------------------------------------

AFTERWARDS = (
    "This tells how far away an answer is, and is none: a level that is chosen after looking is no longer that level. "
    "Choose it before the next measurements."
)


def what_if(found: Answer) -> list[str]:
    """What would be decided at a lower confidence or contamination; nothing where an arm is decided as it is."""
    log = found.log
    if log is None or not log.what_if or not found.guess:
        return []
    if not (found.having(Verdict.UNDECIDED) | found.having(Verdict.EXCLUDED)).all():
        return []
    return [*(_said(found, each) for each in log.what_if), AFTERWARDS]


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
            parts.append(f"{int(which.sum()):,} {verdict.word} ({listed(found.named(which))})")
    return f"What if: at {level} it would be {joined(parts)}."
