"""An analysis of a log in words: the answer in a sentence, the table of arms, how robust it is, what to measure next.

Everything stays short with a million arms: a handful of names is listed, and the rest is counted.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from frontguard._common.typing import Bools
from frontguard.logs.analysis import Analysis
from frontguard.logs.robustness import FARTHEST, LIMITS
from frontguard.notices import InClusters, InPairs
from frontguard.phrases import are, percent, rounded
from frontguard.statements import Statement
from frontguard.verdicts import Verdict
from frontguard.words import front
from frontguard.words.arm_table import ArmTable, arm_table, names_in_short, shown
from frontguard.words.certificate import allowed, amounts_in_words, sensible, suggested_tolerances
from frontguard.words.front import front_in_words, measured, names_of_listed, place
from frontguard.words.limits import beaten_and_beyond, none_within_yet
from frontguard.words.threats import able, beyond, what_eps_is

MOST_ROWS = 30


def answer(found: Analysis) -> str:
    """The answer in a sentence or two."""
    return front_in_words(found) if found.status == "certified" else by_verdict(found)


def by_verdict(found: Analysis) -> str:
    """Which arms are in and which open, and how many have the other verdicts."""
    front, opened, tally = found.pareto_set, found.named(found.having(Verdict.UNDECIDED)), found.tally()
    inside = Statement.CERTAINLY_IN(
        count=f"{len(front):,}",
        measured=measured(found),
        are=are(len(front)),
        place=place(found),
        arms=f" ({names_of_listed(front)})" if front else "",
    )
    beaten, too_far = beaten_and_beyond(found)
    others: list[tuple[int, Callable[..., str]]] = [
        (beaten, Statement.CERTAINLY_OUT),
        (too_far, Statement.CERTAINLY_BEYOND),
        (
            tally.get(Verdict.COVERED, 0),
            partial(Statement.CERTAINLY_COVERED, these="it" if len(front) == 1 else "these"),
        ),
    ]
    said = [inside, *(say(count=f"{count:,}", are=are(count)) for count, say in others if count)]
    if opened:
        said.append(f"{len(opened):,} {are(len(opened))} open ({names_in_short(opened)})")
    return " ".join(filter(None, ["; ".join(said) + ".", none_within_yet(found)]))


def best_guess(found: Analysis) -> list[str]:
    """Where no arm is in: what the estimates would say, and what would be decided if less were asked for."""
    said = front.best_guess(found)
    return [] if said is None else [said, *front.what_if(found)]


def table(found: Analysis, most: int = MOST_ROWS) -> ArmTable:
    """The arms with verdict, estimates and intervals in the user's units, pulls, failures, who decides, how robust."""
    profile = found.profile
    return arm_table(
        found,
        shown(found, most, found.mean_front),
        failed=found.failed_pulls if found.failed_pulls.any() else None,
        stands=None if profile is None else profile.per_arm,
        resolution=0.0 if profile is None else profile.resolution,
    )


def what_counts_as_one(found: Analysis) -> list[str]:
    """Of clusters, what counts as one observation; of pairs, that they are too many to be looked at."""
    pairs = found.noticed(InPairs)
    said = [found.noticed(InClusters), None if pairs is None or pairs.looked else pairs]
    return [str(each) for each in said if each is not None]


# How robust it is -----------------------------------------------------------------------------------------------------


def robustness(found: Analysis) -> str | None:
    """How dirty the data may be before the answer is no longer certain; None where no arm is in, or it is not known."""
    profile, now, threat = found.profile, found.certificate.contamination, found.certificate.threat
    if profile is None or np.isnan(profile.front) or not found.having(Verdict.IN).any():
        return None
    if profile.front >= 0.5:
        return Statement.STANDS_BELOW_HALF(answer=found.goal, what=what_eps_is(threat))
    last = max(now, round(profile.front - profile.resolution, 12))
    if last == 0.0:
        return None
    return Statement.STANDS(answer=found.goal, more=beyond(threat, last), now=f"{percent(now)} was")


def by_means(found: Analysis) -> str | None:
    """Where means would call an arm that is certainly beaten, or miss one that is in; None where they would not."""
    on, inside = found.mean_front, found.having(Verdict.IN)
    wrong: list[tuple[Bools, Callable[..., str]]] = [
        (on & found.having(Verdict.OUT), Statement.MEANS_CALL),
        (~on & inside, partial(Statement.MEANS_MISS, place="in" if any(allowed(found)) else "on it")),
    ]
    said = [say(names=names_in_short(found.named(which))) for which, say in wrong if which.any()]
    if not said:
        return None
    return f"Means alone would call the front {names_in_short(found.mean_set)}: they would {' and '.join(said)}."


def failures(found: Analysis) -> str | None:
    """How many pulls failed, or lack a value, and what that means; None if none do."""
    failed = int(found.failed_pulls.sum())
    if not failed:
        return None
    each = found.failed.sum(axis=0).tolist()
    parts = ", ".join(f"{name} {count:,}" for name, count in zip(found.objectives, each, strict=True) if count)
    in_what = f" ({parts})" if len(found.objectives) > 1 and any(count != failed for count in each) else ""
    lack = "lacks" if failed == 1 else "lack"
    return (
        f"{failed:,} of {found.pulls:,} pulls {lack} a value that can be used{in_what}: missing, not finite, or not in "
        "range. It counts as one that could have been anything."
    )


# What is open ---------------------------------------------------------------------------------------------------------

_FAR = "{are} more than {far:g} times as many pulls away as they have"
_WHY = {
    "contamination": "an attacker who {able} could make them look either way",
    "failures": "too many of them, or of their rivals', fail",
    "tolerance": "they are too close to others for this tolerance",
    "limit": "they are too near to a limit",
}


def to_settle(found: Analysis, most: int = 5) -> list[str]:
    """For the open arms how many more pulls settle them, or what stands in the way."""
    needed = found.needed
    if needed is None or not len(needed.arms):
        return []
    lines = []
    reached = np.flatnonzero(needed.limit == 0)
    if len(reached):
        total = int(needed.extra(len(found.arms)).sum())
        order = reached[np.argsort(needed.pulls[reached], kind="stable")]
        for j in order[:most].tolist():
            rival, more = int(needed.rivals[j]), int(needed.rival_pulls[j])
            also = f", and {rounded(more)} of {found.arms[rival]}, which decides it" if rival >= 0 and more > 0 else ""
            own = int(needed.pulls[j])
            pulls = "1 more pull" if own == 1 else f"{rounded(own)} more pulls"
            lines.append(f"{found.arms[int(needed.arms[j])]}: about {pulls}{also}.")
        rest = order[most:]
        if len(rest):
            least, farthest = int(needed.pulls[rest].min()), int(needed.pulls[rest].max())
            span = rounded(least) if least == farthest else f"{rounded(least)} to {rounded(farthest)}"
            lines.append(f"{len(rest):,} more: about {span} more pulls{' each' if len(rest) > 1 else ''}.")
        afresh = _afresh(found, total)
        lines.append(f"Together that is about {rounded(total)} more pulls{afresh}, if the samples go on as they began.")
    for code, word in enumerate(LIMITS):
        arms = needed.arms[needed.limit == code]
        if code == 0 or not len(arms):
            continue
        names = names_in_short([found.arms[i] for i in arms.tolist()], most)
        if word == "far":
            said = _FAR.format(are=are(len(arms)), far=FARTHEST)
        else:
            does = able(found.certificate.threat, found.certificate.contamination)
            said = Statement.NOT_BY_PULLS(why=_WHY[word].format(able=does))
        lines.append(f"{names}: {said}.")
    return lines


def _afresh(found: Analysis, pulls: int) -> str:
    """In how many new clusters so many pulls are, if they are like those that there are; nothing without clusters."""
    said = found.noticed(InClusters)
    return "" if said is None else f", in about {rounded(-(-pulls * said.clusters // said.rows))} new clusters"


def holds_now(found: Analysis) -> str | None:
    """What holds of the arms that are in or may be, although some are open; None if nothing sensible is."""
    within = _settled_within(found)
    return None if within is None else Statement.SETTLED(within=within)


def _settled_within(found: Analysis) -> str | None:
    """Within what everything is settled now; None where that is so much that any arm would do."""
    amounts = found.nearest.amounts(found.metrics)
    return amounts_in_words(amounts, found.metrics) if sensible(found, amounts) else None


def next_step(found: Analysis, append: Path | None = None) -> str:
    """What to do now. `append` is the state file of the command."""
    if found.status == "certified":
        more = "" if found.profile is not None else "; --profile says up to which contamination it stands"
        return f"--report FILE.html writes a report to send{more}."
    steps = []
    if found.policy != "analysis" and found.status in ("running", "budget"):  # a study's own answer
        steps.append(f"take the study up again{' with a larger budget' if found.status == 'budget' else ''}")
    elif found.status == "budget":
        where = f"add the new rows (--append {append or 'STATE for both'})"
        if found.noticed(InClusters) is not None:
            where = "give the new rows, in new clusters, together with these"
        steps.append(f"measure the open arms and those that decide them, and {where}")
    suggested, within = suggested_tolerances(found.nearest, found.metrics), _settled_within(found)
    if suggested is not None and within is not None:  # the certificate that holds now, rounded up
        options = shlex.join(part for text in suggested for part in ("--tolerance", text))
        steps.append(f"settle for less: within {within} everything is settled now ({options})")
    elif found.status == "unreachable":  # as these go on: but so few, or such wild ones, show little of that
        steps.append("more repeats of every arm, for these leave it open by more than the arms differ")
    if found.status == "unreachable":
        steps.append("a smaller --contamination, if you can vouch for it")
    return "; or ".join(steps) + "."
