"""What is said where nothing is certain: a best guess that is marked as one, what it lacks, and what if.

Only how many pulls an arm needs at least is a fact; it has its statement. All else promises nothing, and says so.
"""

from __future__ import annotations

from decimal import ROUND_FLOOR

import numpy as np

from frontguard.logs.analysis import Analysis
from frontguard.logs.what_if import WhatIf
from frontguard.notices import least_pulls
from frontguard.phrases import joined, listed, number_of, percent
from frontguard.results import Result
from frontguard.verdicts import VERDICT_ORDER, Verdict
from frontguard.words.counted import what_counts


def best_guess(result: Result) -> str | None:
    """The front by the estimates alone, as a guess; None where an arm is in, or nothing was measured."""
    names = result.best_guess
    if not names:
        return None
    measured = f"{what_counts(result.metrics)} measured"
    front = "That is the trade-off front" if len(result.objectives) > 1 else "That is the best"
    if result.goal == "list":
        front = "That would be enough"
    return f"Best guess, without any promise: {listed(names)}. {front} if the {measured} were exact."


def too_few(result: Result) -> str | None:
    """How many pulls a result without an arm that is in lacks; None where it is not pulls, or that is not known."""
    guess, certificate = result.guess, result.certificate
    if guess is None or guess.first is None or certificate.confidence is None:
        return None
    measured = result.pulls_per_arm[result.verdict_codes != Verdict.SET_ASIDE]
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


def _limited_only(result: Result) -> int:
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


def what_if(found: Analysis) -> list[str]:
    """What would be decided at a lower confidence or contamination; nothing where an arm is decided as it is."""
    if found.profile is None or not found.guess or not _all_open(found):
        return []
    if not found.what_if:
        cleaner = " or contamination" if found.certificate.contamination else ""
        return [f"No lower confidence{cleaner} that was tried would decide any arm: it takes more pulls."]
    return [*(_said(found, each) for each in found.what_if), AFTERWARDS]


def _all_open(found: Analysis) -> bool:
    return bool((found.having(Verdict.UNDECIDED) | found.having(Verdict.SET_ASIDE)).all())


def _said(found: Analysis, given: WhatIf) -> str:
    asked = found.certificate
    if given.contamination != asked.contamination:
        level = f"ε = {percent(given.contamination)} instead of {percent(asked.contamination)}"
    else:
        level = f"{percent(given.confidence)} confidence instead of {percent(asked.confidence or 0.0, ROUND_FLOOR)}"
    parts: list[str] = []
    for verdict in VERDICT_ORDER:
        which = np.asarray(given.codes == verdict)
        if which.any() and verdict not in (Verdict.UNDECIDED, Verdict.SET_ASIDE):
            would = "" if parts else "would have been "
            arms = f"{int(which.sum()):,}" if parts else number_of(int(which.sum()))
            parts.append(f"{arms} {would}{verdict.word} ({listed(found.named(which))})")
    return f"What if: at {level}, {joined(parts)}."
