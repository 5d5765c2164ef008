"""The text of the certificate: what is guaranteed, what is assumed, how near the goal is, why an arm is in or out."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from frontguard.objectives import Objective, parse_tolerance
from frontguard.phrases import are, article, joined, number, percent, percentage, rounded_up
from frontguard.results import Certificate, Result
from frontguard.verdicts import Verdict

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
    "are replaced is left to chance",
    "malicious": "by any value whatever, and the attacker chooses which ones after having seen them",
}

FAILED_PULL = "A failed pull counts as one that could have measured anything."


# What it guarantees ---------------------------------------------------------------------------------------------------


def guarantee(result: Result, *, failed: int = 0, anytime: bool | None = None) -> str:
    """What holds of an answer, in plain words; nothing is promised of arms that were set aside.

    Parameters
    ----------
    result
        In the units of its metrics.
    failed
        How many pulls failed, which a study has to say.
    anytime
        Of a log, whether its bounds hold however often one looked at it. None for a study, which may be looked at.
    """
    certificate = result.certificate
    after = ""
    if anytime is not None:
        said = _of_verdicts(result)
        after = (
            " This holds however often the log was looked at while it grew."
            if anytime
            else " The number of measurements must not have been chosen by looking at them; if it was, use --anytime."
        )
    elif result.status != "certified":
        said = ["all intervals hold, and so do the verdicts in and out"]
        after = " Arms that are undecided may be on the front or not."
    else:
        said = _of_returned(result)
        after = f" {FAILED_PULL}" if failed else ""
    lies = "if no measurement lies"
    if certificate.contamination:
        puts, share = "puts" if anytime is None else "put", percent(certificate.contamination)
        lies = f"whatever {article(certificate.threat)} attacker {puts} into up to {share} of each arm's measurements"
    return f"With probability {percent(certificate.confidence)}, {lies}: {'; '.join(said)}.{after}"


def _of_returned(result: Result) -> list[str]:
    """What holds of the arms that are returned, by the accuracy and the coverage of the certificate."""
    metrics, one = result.metrics, len(result.metrics) == 1
    accuracy, coverage = (
        amounts_in_words(each, metrics) if np.any(each) else ""
        for each in (result.certificate.accuracy, result.certificate.coverage)
    )
    beaten = f"no arm {'is better than' if one else 'beats'} a returned one"
    if accuracy:
        beaten += f" by more than {accuracy}{'' if one else ' at once'}"
    best = "the best arm" if one else "each arm on the true front"
    about = " (of those that could be measured)" if result.aside else ""
    as_good = f"at most {coverage} worse" if coverage else "as good"
    return [beaten, f"and {best}{about} is returned, or another one that is {as_good}"]


def _of_verdicts(result: Result) -> list[str]:
    """What each of the verdicts means that there are."""
    tally, within, one = result.tally(), tolerances_in_words(result.metrics), len(result.metrics) == 1
    median = "median" if all(each.quantile == 0.5 for each in result.metrics) else "quantile"
    said = [f"all intervals contain the true {median}s"]
    if Verdict.OUT in tally:
        said.append(f"each arm that is out is {'worse than' if one else 'dominated by'} another one")
    if Verdict.IN in tally:
        by = "" if one else " in every objective at once"
        if within:
            by = f" by more than {within}{'' if one else ' at once'}"
        said.append(f"no arm {'is better than' if one else 'beats'} one that is in{by}")
    if Verdict.COVERED in tally:
        as_good = f"at most {within} worse" if within else f"as good{'' if one else ' in every objective'}"
        said.append(f"for each covered arm one that is in is {as_good}")
    if Verdict.UNDECIDED in tally:
        said.append("open arms may be on the front or not")
    return said


def sentence(certificate: Certificate) -> str:
    """What a certificate guarantees, in one sentence."""
    share, attacker = certificate.contamination, article(certificate.threat)
    source = f"up to {share:.0%} of the measurements replaced by {attacker} attacker" if share else "clean measurements"
    accuracy, coverage = (_bounds(each, certificate.relative) for each in (certificate.accuracy, certificate.coverage))
    return (
        f"with probability {certificate.confidence:.0%}, {source}: no returned arm is beaten by more than "
        f"{accuracy} in every objective, and none on the front is missed by more than {coverage}"
    )


def _bounds(tolerance: float | tuple[float, ...], relative: tuple[bool, ...]) -> str:
    parts = tolerance if isinstance(tolerance, tuple) else (tolerance,)
    shares = relative or (False,) * len(parts)
    return " / ".join(percentage(part) if share else f"{part:.3g}" for part, share in zip(parts, shares, strict=True))


# What it assumes ------------------------------------------------------------------------------------------------------


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
    side_by_side: bool = False,
) -> tuple[str, ...]:
    """What has to be so for the certificate to hold. `anytime` is None where it is not known."""
    return tuple(
        said
        for said in (
            _attack(certificate),
            _law(policy),
            SIDE_BY_SIDE if side_by_side else "",
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
        f"{who[0].upper()}{who[1:]} attacker: each measurement of an arm may be replaced with a probability of up to "
        f"{percent(certificate.contamination)} (ε), {how}. ε holds for every arm by itself: an arm with more lies than "
        "that is not protected, and neither are those that are compared with it."
    )


def _law(policy: str) -> str:
    what = "means" if policy == "Auer-A1" else "medians (or other quantiles)"
    return (
        "Apart from that, the measurements of an arm are independent of each other and follow one law, which does not "
        f"change while they are made; its {what} are what is compared."
    )


SIDE_BY_SIDE = (
    "Pulls ran side by side. What they had in common at a moment (a busy machine, a full disk, a server that all of "
    "them asked) is assumed not to have decided what several of them measured; one pull at a time would not need it."
)
"""What several pulls at a time assume, beyond one after another."""


def _shape(spread: str | None, policy: str, objectives: Sequence[Objective]) -> str:
    if spread is not None:
        return f"The values of an arm spread around their median no further than was declared: {spread}."
    if policy not in ("certified", "analysis"):
        return f"The values of an arm spread around their middle no further than {policy} was told."
    positive = [objective.name for objective in objectives if objective.relative]
    only = ""
    if positive:
        only = f", except that {joined(positive)} {are(len(positive))} positive (compared by ratios)"
    return f"Nothing is assumed about the shape of the measurements{only}."


def _looks(anytime: bool | None) -> str:
    if anytime is None:
        return ""
    if anytime:
        return (
            "Looking was free: the intervals hold at every number of measurements at once, so it was allowed to watch, "
            "to choose what to measure next by what was seen, and to stop when the answer was there."
        )
    return (
        "One look: the number of measurements was not chosen by looking at them. If it was, the same analysis with "
        "--anytime holds."
    )


# How near the goal is -------------------------------------------------------------------------------------------------


def certificate_against_goal(certificate: Certificate, objectives: tuple[Objective, ...]) -> str:
    """What is certain now, for each objective, beside what is wanted.

    >>> seconds = Objective("seconds", "minimize", "5%")
    >>> certificate_against_goal(Certificate((0.079,), (0.05,), 0.95, "prescient", 0.1), (seconds,))
    'certain within 7.9% of seconds (goal 5%)'
    >>> certificate_against_goal(Certificate((math.inf,), (0.05,), 0.95, "prescient", 0.1), (seconds,))
    'nothing certain yet (goal: 5% of seconds)'
    """
    if not np.isfinite(certificate.amounts(objectives)).all():
        wanted = ", ".join(f"{tolerance(each)} of {each.name}" for each in objectives)
        return f"nothing certain yet (goal: {wanted})"
    return f"certain within {beside_goal(certificate, objectives)}"


def beside_goal(certificate: Certificate, objectives: tuple[Objective, ...]) -> str:
    """How much of each objective the certificate leaves open, beside the goal."""
    return ", ".join(
        f"{amount(value, each)} of {each.name} (goal {tolerance(each)})"
        for value, each in zip(certificate.amounts(objectives), objectives, strict=True)
    )


def one_beside_goal(value: float, objective: Objective) -> str:
    """How much of one objective is left open, beside the goal.

    >>> seconds = Objective("seconds", "minimize", "5%")
    >>> one_beside_goal(0.079, seconds), one_beside_goal(math.inf, seconds)
    ('certain within 7.9%, goal 5%', 'nothing certain yet, goal 5%')
    """
    now = f"certain within {amount(value, objective)}" if math.isfinite(value) else "nothing certain yet"
    return f"{now}, goal {tolerance(objective)}"


def nearness(value: float, objective: Objective) -> float:
    """How near the goal is, from 0 to 1: the tolerance as a share of what is still uncertain.

    >>> seconds = Objective("seconds", "minimize", "5%")
    >>> nearness(0.2, seconds), nearness(0.03, seconds), nearness(math.inf, seconds)
    (0.25, 1.0, 0.0)
    """
    goal = parse_tolerance(objective.tolerance).amount
    if value <= goal:
        return 1.0
    return 0.0 if math.isnan(value) else goal / value


def objective_in_short(objective: Objective) -> str:
    """What is compared, and which direction is better, for the head of a column.

    >>> objective_in_short(Objective("seconds", "minimize", "5%"))
    'median, less is better'
    """
    return f"{objective.quantile_word}, {'less' if objective.minimized else 'more'} is better"


def amount(value: float, objective: Objective) -> str:
    """A difference of a metric in its units, or as a percentage of it where the tolerance is one."""
    if not math.isfinite(value):
        return "any amount"
    return percentage(value) if objective.relative else number(value)


def tolerance(objective: Objective) -> str:
    """The tolerance of an objective as it is written."""
    return str(objective.tolerance) if objective.relative else number(float(objective.tolerance))


def tolerances_in_words(objectives: Sequence[Objective]) -> str:
    """The tolerance of each objective; empty if there is none anywhere.

    >>> tolerances_in_words([Objective("seconds", "minimize", "2%"), Objective("size", "minimize")])
    '2% in seconds and nothing in size'
    """
    some = [f"{tolerance(each)} in {each.name}" for each in objectives if each.inner_tolerance > 0.0]
    exact = [f"nothing in {each.name}" for each in objectives if each.inner_tolerance == 0.0]
    return " and ".join([*some, *exact]) if some else ""


def amounts_in_words(value: float | Sequence[float], objectives: Sequence[Objective]) -> str:
    """An amount of each objective."""
    values = value if isinstance(value, Sequence) else (value,) * len(objectives)
    return " and ".join(f"{amount(v, each)} in {each.name}" for v, each in zip(values, objectives, strict=True))


def suggested_tolerances(
    certificate: Certificate, objectives: Sequence[Objective], *, times: float = 1.0, digits: int = 3
) -> list[str] | None:
    """So many `times` what the certificate holds within, rounded up, as --tolerance takes it; None if not bounded.

    >>> seconds, size = Objective("seconds", "minimize", "5%"), Objective("size", "minimize", 1.0)
    >>> now = Certificate((0.07123, 3.0), (0.05, 3.3), 0.95, "prescient", 0.1)
    >>> suggested_tolerances(now, [seconds, size]), suggested_tolerances(now, [seconds, size], times=1.5, digits=2)
    (['seconds=7.13%', 'size=3.3'], ['seconds=11%', 'size=5'])
    """
    texts = []
    for value, each in zip(certificate.amounts(objectives), objectives, strict=True):
        if not math.isfinite(value):
            return None
        text = f"{rounded_up((100.0 if each.relative else 1.0) * times * value, digits):g}"
        texts.append(f"{text}%" if each.relative else text)
    if len(texts) == 1:
        return texts
    return [f"{each.name}={text}" for each, text in zip(objectives, texts, strict=True)]


# Why an arm has its verdict -------------------------------------------------------------------------------------------


def explanation(result: Result, i: int) -> str:
    """Why an arm has its verdict: the arm that decides it, and in which objectives."""
    verdict, j = result.verdict(i), int(result.decided_by[i])
    if verdict == Verdict.SET_ASIDE:
        return "set aside: it cannot be measured, and the answer is about the other arms"
    if j < 0:
        return f"{verdict.word}: {'no other arm bears on it' if result.pulls_per_arm[i] else 'not measured yet'}"
    rival = result.arms[j]
    lead = result.lower[j] - result.upper[i]  # where positive, the rival is certainly better
    ahead = result.lower[i] - result.upper[j]
    better = [name for name, value in zip(result.objectives, lead, strict=True) if value >= 0]
    worse = [name for name, value in zip(result.objectives, ahead, strict=True) if value > 0]
    if verdict == Verdict.OUT:
        return f"out: certainly worse than {rival} in {joined(better)}"
    if verdict == Verdict.IN:
        why = f"certainly better in {joined(worse)}" if worse else "not beaten by more than is tolerated"
        return f"in: against {rival}, which comes nearest to beating it, {why}"
    if verdict == Verdict.COVERED:
        return f"covered: {rival} is returned, and is in no objective worse by more than is tolerated"
    return f"undecided: what is left open is how it compares with {rival}"
