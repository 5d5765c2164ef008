"""What a certificate assumes, in plain words, and small phrases that all reports share."""

from __future__ import annotations

from collections.abc import Sequence

from frontguard.objectives import Objective
from frontguard.phrases import article, percent
from frontguard.results import Certificate

__all__ = ["assumptions", "status_in_words", "tolerance_in_words"]

_STATUS = {
    "certified": "certified: the goal is reached",
    "budget": "not certified: more measurements would be needed",
    "unreachable": "not certified: no number of measurements would do",
    "running": "still running",
    "reproduced": "computed again",
}

_ATTACKERS = {
    "oblivious": "by values that were chosen beforehand, without having seen any measurement",
    "prescient": "by any value whatever, chosen in knowledge of all that was and will be measured; which measurements "
    "are "
    "replaced is left to chance",
    "malicious": "by any value whatever, and the attacker chooses which ones after having seen them",
}


def status_in_words(status: str) -> str:
    """What a status means; an unknown one stands for itself."""
    return _STATUS.get(status, status)


def tolerance_in_words(objective: Objective) -> str:
    """An objective with direction and tolerance, for a list of facts.

    >>> tolerance_in_words(Objective("seconds", "minimize", "2%", quantile=0.95))
    'p95 of seconds, lower is better, differences up to 2% do not matter'
    """
    better = "lower" if objective.minimized else "higher"
    if objective.inner_tolerance == 0.0:
        matter = "every difference matters"
    else:
        amount = objective.tolerance if objective.relative else f"{float(objective.tolerance):g}"
        matter = f"differences up to {amount} do not matter"
    return f"{objective.quantile_word} of {objective.name}, {better} is better, {matter}"


def assumptions(
    certificate: Certificate,
    objectives: Sequence[Objective],
    *,
    policy: str,
    anytime: bool | None,
    spread: str | None,
    failed: int,
    aside: int,
) -> tuple[str, ...]:
    """What has to be so for the certificate to hold. `anytime` is None where it is not known."""
    return tuple(
        said
        for said in (
            _attack(certificate),
            _law(policy),
            _shape(spread, policy, objectives),
            _looks(anytime),
            f"A failed pull ({failed:,} here) counts as a measurement that could have been anything: none was left out."
            if failed
            else "",
            f"{aside:,} "
            f"{'arm that could not be measured was' if aside == 1 else 'arms that could not be measured were'} "
            "set aside, and the answer is about the others."
            if aside
            else "",
            f"It all holds at once with probability {percent(certificate.confidence)}: in "
            f"{percent(1.0 - certificate.confidence)} of such reports at most, chance alone makes something in them "
            "wrong.",
        )
        if said
    )


def _attack(certificate: Certificate) -> str:
    if not certificate.contamination:
        return "No measurement lies: the share that may be anything (ε) was declared to be 0 for every arm."
    how = _ATTACKERS.get(certificate.threat, "by any value whatever")
    who = article(certificate.threat)
    return (
        f"{who[0].upper()}{who[1:]} attacker: each measurement of an arm may be replaced with a probability of "
        "up to "
        f"{percent(certificate.contamination)} (ε), {how}. ε holds for every arm by itself: an arm with more lies than "
        "that is not protected, and neither are those that are compared with it."
    )


def _law(policy: str) -> str:
    what = "means" if policy == "Auer-A1" else "medians (or other quantiles)"
    return (
        "Apart from that, the measurements of an arm are independent of each other and follow one law, which does not "
        f"change while they are made; its {what} are what is compared."
    )


def _shape(spread: str | None, policy: str, objectives: Sequence[Objective]) -> str:
    if spread is not None:
        return f"The values of an arm spread around their median no further than was declared: {spread}."
    if policy not in ("certified", "analysis"):
        return f"The values of an arm spread around their middle no further than {policy} was told."
    positive = [objective.name for objective in objectives if objective.relative]
    if positive:
        verb = "is" if len(positive) == 1 else "are"
        only = f", except that {' and '.join(positive)} {verb} positive (compared by ratios)"
    else:
        only = ""
    return f"Nothing is assumed about the shape of the measurements{only}."


def _looks(anytime: bool | None) -> str:
    if anytime is None:
        return ""
    if anytime:
        return (
            "Looking was free: the intervals hold at every number of measurements at once, so it was allowed to "
            "watch, to "
            "choose what to measure next by what was seen, and to stop when the answer was there."
        )
    return (
        "One look: the number of measurements was not chosen by looking at them. If it was, the same analysis with "
        "--anytime holds."
    )
