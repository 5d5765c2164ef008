"""The text of the certificate: what is guaranteed, what is assumed, how near the goal is, why an arm is in or out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import ROUND_FLOOR

import numpy as np

from frontguard._common.typing import Bools
from frontguard.notices import ContaminationRefuted, InClusters, InPairs, InRatios
from frontguard.objectives import Objective, parse_tolerance
from frontguard.phrases import are, cost_in_words, duration, joined, number, number_of, percent, percentage, rounded_up
from frontguard.results import Answer, Certificate, CostSoFar
from frontguard.statements import Statement
from frontguard.verdicts import Verdict
from frontguard.words.arm_table import names_in_short
from frontguard.words.asked import (
    against,
    all_limits,
    assumed,
    at_most_wrong,
    counted_in_words,
    declared,
    differing,
    granted,
    in_each,
    keeps,
    what_counts,
    why_by_limits,
)
from frontguard.words.comparisons import take_instead

_VOID = {
    "running": Statement.STILL_RUNNING,
    "contamination": Statement.NEEDS_CLEAN,
    "bias": Statement.BIAS_BY_HAND,
    "medians": Statement.MEANS_ONLY,
}

_BY_MEANS = ("Auer-A1",)
_SMALL = 0.25  # the share of a metric up to which it is worth knowing that arms are alike within it

FAILED_PULL = Statement.FAILED_PULL()


def certainty(result: Answer) -> str:
    """Return how surely an answer holds, and with how many wrong measurements, without a full stop."""
    certificate, refuted = result.certificate, result.noticed(ContaminationRefuted)
    if certificate.confidence is None or refuted is not None:
        return Statement.NO_PROMISE(why=REFUTED if refuted else why_void(certificate, result.policy)).rstrip(".")
    sure, eps = percent(certificate.confidence, ROUND_FLOOR), percent(certificate.contamination)
    if result.question is not None and result.question.contamination == "auto":
        return Statement.CERTAINTY_UNDECLARED(confidence=sure)
    if each := differing(result):
        shares, rest = at_most_wrong(each)
        return Statement.CERTAINTY_BY_METRIC(confidence=sure, shares=shares, rest=rest)
    said = Statement.CERTAINTY if certificate.contamination else Statement.CERTAINTY_IF_CLEAN
    return said(confidence=sure, eps=eps)


REFUTED = "measurements contradict what it rests on"
"""Why nothing is promised of what cannot be of one distribution."""


def guarantee(result: Answer) -> str:
    """Return what holds of an answer, in its units, and of a log whether it may grow; nothing of excluded arms."""
    certificate = result.certificate
    if certificate.confidence is None:
        return Statement.NO_PROMISE(why=why_void(certificate, result.policy))
    if result.noticed(ContaminationRefuted) is not None:
        return Statement.NO_PROMISE(why=REFUTED)
    after = []
    if result.log is not None and result.study is None:
        after += looks(result)
    if result.failed:
        after.append(FAILED_PULL)
    after += declared(counted_metrics(result))
    after += granted(result.notices)
    of_study = result.log is None or result.study is not None
    if of_study and result.question is not None and result.question.blocks:
        after.append(Statement.BLOCKS(quantiles=what_counts(result.metrics)))
    promise = Statement.PROMISE(
        confidence=percent(certificate.confidence, ROUND_FLOOR),
        threat=against(certificate.threat, certificate.contamination, in_each(result)),
        scope=scope(len(result.arms) - len(result.excluded), result.excluded),
        said="; ".join(_clauses(result)),
    )
    return " ".join([promise, *after])


def looks(result: Answer) -> list[str]:
    """Return whether a log could be looked at while it grew, and what its one look assumes."""
    pairs = result.noticed(InPairs)
    drawn = pairs is not None and pairs.looked and not pairs.items
    return [Statement.ANYTIME()] if result.anytime else [Statement.ONE_LOOK(), *([Statement.ORDER_DRAWN()] * drawn)]


def _clauses(result: Answer) -> list[str]:
    """Return what is promised of intervals and verdicts; with limits, what of it is so among the feasible arms."""
    tally, limits = result.tally(), result.limits
    counted = [*result.metrics, *(() if limits is None else (gate.metric for gate in limits.gates))]
    said = [Statement.INTERVALS(quantiles="means" if result.policy in _BY_MEANS else what_counts(counted))]
    if limits is None:
        return [*said, *([Statement.BEATEN()] if Verdict.BEATEN in tally else []), *_compared(result)]
    if tally.keys() <= {Verdict.BEATEN, Verdict.EXCLUDED}:
        return [*said, Statement.ALL_INFEASIBLE()]
    if Verdict.KEEP in tally:
        said.append(Statement.KEPT_IS_FEASIBLE(limits=all_limits(limits)))
    if Verdict.BEATEN in tally:
        said.append(Statement.BEATEN_OR_INFEASIBLE())
    return [*said, Statement.AMONG_THOSE(limits=all_limits(limits), said="; ".join(_compared(result)))]


def _compared(result: Answer) -> list[str]:
    """Return what holds of the kept arms, of the matched ones, and of what the kept ones may miss."""
    tally, within, coverage = result.tally(), margins(result), result.certificate.coverage
    # What earlier versions printed of a study or log that was not certified was not of the set that is printed.
    of_printed = result.status == "certified" or result.certificate.arms is not None
    known = of_printed and bool(np.isfinite(coverage).all())
    missed = amounts_in_words(coverage, result.metrics) if np.any(coverage) else ""
    said = []
    if Verdict.KEEP in tally:
        said.append(Statement.KEPT_WITHIN(within=within) if within else Statement.NONE_DOMINATES())
    if Verdict.MATCHED in tally and not known:
        said.append(Statement.MATCHED_SOMEHOW())
    elif Verdict.MATCHED in tally:
        said.append(Statement.MATCHED_WITHIN(within=missed) if missed else Statement.MATCHED())
    if Verdict.KEEP not in tally or not known:
        return [*said, Statement.SOME_MISSED()]
    if Verdict.UNDECIDED in tally:
        said.append(Statement.OPEN())
    return [*said, Statement.MISSED_WITHIN(within=missed) if missed else Statement.NONE_MISSED()]


def why_void(certificate: Certificate, policy: str = "the policy") -> str:
    """Return why a certificate has no probability."""
    return _VOID[certificate.void](policy=policy)


def true_values(result: Answer, shapes: str) -> str:
    """Return where the true values are, of a picture with intervals, lines or bands."""
    confidence = result.certificate.confidence
    if confidence is None:
        return Statement.NO_CERTIFICATE(why=why_void(result.certificate, result.policy))
    return Statement.INTERVALS_HOLD(confidence=percent(confidence, ROUND_FLOOR), shapes=shapes)


def scope(measured: int | None, excluded: Sequence[str]) -> str:
    """Return of which arms something is said, where some were excluded; "" where none were.

    >>> scope(3, ["x", "y"])
    ', among the 3 arms that could be measured (excluded: x, y)'
    """
    if not excluded:
        return ""
    return Statement.SCOPE(arms="arms" if measured is None else number_of(measured), excluded=names_in_short(excluded))


def allowed(result: Answer) -> tuple[float, ...]:
    """Return by how much at most, in each objective, a kept arm may be beaten; all 0 if it is truly on the front."""
    promised = result.certificate.accuracy
    each = promised if isinstance(promised, tuple) else (promised,) * len(result.objectives)
    if not result.metrics:  # inner values, of which nothing else is known
        return each
    tolerances = tuple(parse_tolerance(metric.tolerance).amount for metric in result.metrics)
    more = any(a > t * (1.0 + 1e-9) for a, t in zip(each, tolerances, strict=True))
    return each if result.status == "certified" and more else tolerances


def margins(result: Answer) -> str:
    """Return the margins in words; "" if a kept arm is truly on the front."""
    amounts = allowed(result)
    if not any(amounts):
        return ""
    return amounts_in_words(amounts, result.metrics) if result.metrics else _bounds(amounts, ())


def sentence(certificate: Certificate) -> str:
    """Return what a certificate guarantees, in one sentence."""
    if certificate.confidence is None:
        return Statement.NO_CERTIFICATE(why=why_void(certificate))
    accuracy, coverage = (
        _bounds(each, certificate.relative) if np.isfinite(each).all() else None
        for each in (certificate.accuracy, certificate.coverage)
    )
    limited = f",{Statement.AMONG_WITHIN(limits=joined(certificate.limits))}" if certificate.limits else ""
    return Statement.CERTIFICATE(
        confidence=percent(certificate.confidence, ROUND_FLOOR),
        threat=against(certificate.threat, certificate.contamination, _in_columns(certificate)),
        scope=limited + scope(certificate.arms, certificate.excluded),
        accuracy=Statement.BEATEN_SOMEHOW() if accuracy is None else Statement.NOT_BEATEN(accuracy=accuracy),
        coverage=Statement.SOME_MISSED() if coverage is None else Statement.NOT_MISSED(coverage=coverage),
    )


def _in_columns(certificate: Certificate) -> str:
    """Return the ε of each objective, in their order, where these differ."""
    said = [percent(eps, ROUND_FLOOR) for eps in certificate.by_column]
    return f" {Statement.BY_METRIC(shares=' / '.join(said))}" if said else ""


def _bounds(tolerance: float | tuple[float, ...], relative: tuple[bool, ...]) -> str:
    parts = tolerance if isinstance(tolerance, tuple) else (tolerance,)
    shares = relative or (False,) * len(parts)
    return " / ".join(percentage(part) if share else f"{part:.3g}" for part, share in zip(parts, shares, strict=True))


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
    return f"{counted_in_words(objective)}, {better} is better, {matter}"


def counted_metrics(result: Answer) -> tuple[Objective, ...]:
    """The objectives, and what limits count of other metrics."""
    gates = () if result.limits is None else result.limits.gates
    return tuple(
        dict.fromkeys([*result.metrics, *(each.metric for each in gates if each.column >= len(result.metrics))])
    )


def assumptions(result: Answer) -> tuple[str, ...]:
    """Return what has to be so for the certificate of an answer to hold, besides what the guarantee says."""
    certificate, metrics = result.certificate, counted_metrics(result)
    threat = assumed(certificate.threat, certificate.contamination, in_each(result))
    side_by_side = (SIDE_BY_SIDE,) if result.state.side_by_side else ()
    return threat, _law(result.policy, metrics), *side_by_side, _shape(result)


def _law(policy: str, objectives: Sequence[Objective]) -> str:
    what = "means" if policy in _BY_MEANS else what_counts(objectives)
    return (
        "Apart from that, the measurements of an arm are independent of each other and follow one law, which does not "
        f"change while they are made; its {what} are what is compared."
    )


SIDE_BY_SIDE = (
    "Pulls ran side by side. What they had in common at a moment (a busy machine, a full disk, a server that all of "
    "them asked) is assumed not to have decided what several of them measured; one pull at a time would not need it."
)
"""What several pulls at a time assume, beyond one after another."""


def _shape(result: Answer) -> str:
    policy, objectives = result.policy, counted_metrics(result)
    spread = None if result.question is None else result.question.spread
    if spread is not None:
        return f"The values of an arm spread around their median no further than was declared: {spread!r}."
    if policy not in ("certified", "analysis"):
        return f"The values of an arm spread around their middle no further than {policy} was told."
    positive = [objective.name for objective in objectives if objective.positive]
    only = []
    if positive:
        only.append(f"{joined(positive)} {are(len(positive))} positive (compared by ratios)")
    if any(objective.bounds or objective.sigma or objective.exact for objective in objectives):
        only.append("what was declared holds")
    return f"Nothing is assumed about the shape of the measurements{', except that ' if only else ''}{joined(only)}."


def effort(found: Answer, where: str = "") -> str:
    """Return how much was measured, in which time, and where it is stored; of a log, if it may be read once only."""
    once = found.study is None and not found.anytime and found.certificate.confidence is not None
    return (
        f"{measured_in_words(found)}{Statement.LOOKED_ONCE() if once else ''}{f', saved in {where}' if where else ''}."
    )


def least_found(found: Answer) -> str | None:
    """Return which difference would have been found, where something is open: a forecast, of which nothing is sure."""
    known, clusters = {each.name: each for each in found.metrics}, found.noticed(InClusters)
    unit = "pair" if found.noticed(InPairs) else "session" if clusters and clusters.by_median else "measurement"
    by_size: dict[int, list[str]] = {}
    for each in found.least_found:
        metric, what = known[each.metric], f"none in {each.metric}, however large"
        if each.difference is not None:
            what = f"about {amount(rounded_up(each.difference, 2), metric)} in {each.metric}"
        noise = "" if each.noise is None else f" (at {amount(float(f'{each.noise:.2g}'), metric)} noise)"
        by_size.setdefault(each.size, []).append(what + noise)
    each_side = "" if unit == "pair" else " each"
    said = [
        f"{number_of(size, unit)}{each_side} would have found a difference of {joined(some)}, 4 of 5 times."
        for size, some in by_size.items()
        if not all("however" in what for what in some)
    ]
    return " ".join(said) or None


def measured_in_words(found: Answer) -> str:
    """Return how much was measured, how much of it failed, at which cost, and in which time."""
    failed = f", {found.failed:,} failed" if found.failed else ""
    cost = "" if found.cost is None else f" for {spent_in_words(found.cost, found.state.max_cost)}"
    took = "" if found.study is None else f" in {duration(found.study.seconds)}"
    return f"{runs(found, found.pulls)}{took}{cost}{failed}"


def runs(found: Answer, count: int) -> str:
    """So many runs of a study, or measurements of a log.

    >>> from frontguard import analyze
    >>> runs(analyze({"arm": ["a"] * 9, "seconds": [1.0] * 9}, minimize="seconds"), 9)
    '9 measurements'
    """
    return number_of(count, unit(found))


def unit(found: Answer) -> str:
    """The noun for what is counted: runs of a study, measurements of a log."""
    return "measurement" if found.study is None else "run"


def spent_in_words(cost: CostSoFar, most: float | None = None) -> str:
    """Return what pulls have cost so far, of what they may cost."""
    of = "" if most is None else f" of {cost_in_words(most, cost.unit)} allowed"
    return f"{cost_in_words(cost.spent, cost.unit)}{of}"


def certificate_against_goal(certificate: Certificate, objectives: tuple[Objective, ...]) -> str:
    """Return what is certain now, for each objective, beside what is wanted.

    >>> seconds = Objective("seconds", "minimize", "5%")
    >>> certificate_against_goal(Certificate((0.079,), (0.05,), 0.95, "prescient", 0.1), (seconds,))
    'certain within 7.9% of seconds (goal 5%)'
    >>> certificate_against_goal(Certificate((math.inf,), (0.05,), 0.95, "prescient", 0.1), (seconds,))
    'no whole answer yet (goal: 5% of seconds)'
    """
    if not np.isfinite(certificate.amounts(objectives)).all():
        wanted = ", ".join(f"{tolerance(each)} of {each.name}" for each in objectives)
        return f"no whole answer yet (goal: {wanted})"
    return Statement.CERTAIN_WITHIN(amounts=beside_goal(certificate, objectives))


def beside_goal(certificate: Certificate, objectives: tuple[Objective, ...]) -> str:
    """Return how much of each objective the certificate leaves open, beside the goal."""
    return ", ".join(
        f"{amount(value, each)} of {each.name} (goal {tolerance(each)})"
        for value, each in zip(certificate.amounts(objectives), objectives, strict=True)
    )


def one_beside_goal(value: float, objective: Objective) -> str:
    """Return how much of one objective is left open, beside the goal.

    >>> seconds = Objective("seconds", "minimize", "5%")
    >>> one_beside_goal(0.079, seconds), one_beside_goal(math.inf, seconds)
    ('certain within 7.9%, goal 5%', 'no whole answer yet, goal 5%')
    """
    now = Statement.CERTAIN_WITHIN(amounts=amount(value, objective)) if math.isfinite(value) else "no whole answer yet"
    return f"{now}, goal {tolerance(objective)}"


def amount(value: float, objective: Objective) -> str:
    """A difference of a metric in its units, or as a percentage of it where the tolerance is one; rounded up.

    >>> amount(0.05003, Objective("seconds", "minimize", "5%")), amount(0.5, Objective("size"))
    ('5.01%', '0.5')
    """
    if not math.isfinite(value):
        return "any amount"
    return percentage(rounded_up(value, 3)) if objective.relative else number(rounded_up(value, 4))


def tolerance(objective: Objective) -> str:
    """The tolerance of an objective as it is written."""
    return str(objective.tolerance) if objective.relative else number(float(objective.tolerance))


def amounts_in_words(value: float | Sequence[float], objectives: Sequence[Objective]) -> str:
    """An amount of each objective, said once where it is the same.

    >>> seconds, size = Objective("seconds", "minimize", "2%"), Objective("size", "minimize", "2%")
    >>> amounts_in_words((0.02, 0.0), [seconds, size]), amounts_in_words(0.02, [seconds, size])
    ('2% in seconds and 0% in size', '2% in each metric')
    """
    values = value if isinstance(value, Sequence) else (value,) * len(objectives)
    each = [amount(v, objective) for v, objective in zip(values, objectives, strict=True)]
    if len(each) > 1 and len(set(each)) == 1:
        return f"{each[0]} in each metric"
    return joined([f"{said} in {objective.name}" for said, objective in zip(each, objectives, strict=True)])


def suggested_tolerances(
    certificate: Certificate, objectives: Sequence[Objective], *, times: float = 1.0, digits: int = 3
) -> list[str] | None:
    """Return `times` what the certificate holds within, rounded up, as --tolerance takes it; None if not bounded.

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


def sensible(result: Answer, amounts: Sequence[float]) -> bool:
    """Return True if tolerances of these amounts say anything: below 100%, and below how far apart medians are.

    A tolerance beyond that calls any arm as good as any other. Where all arms are nearly alike, that may be just what
    there is to say: up to a quarter of the metric is sensible, and what was asked for, or less, is anyway.
    """
    medians = result.estimates[result.verdict_codes != Verdict.EXCLUDED]
    for d, (amount, metric) in enumerate(zip(amounts, result.metrics, strict=True)):
        if amount <= parse_tolerance(metric.tolerance).amount * (1.0 + 1e-9):
            continue
        known = medians[np.isfinite(medians[:, d]), d]
        if not len(known):
            return False
        small, apart = _SMALL * float(np.abs(known).min()), float(known.max() - known.min())
        if metric.relative:
            small, apart = _SMALL, min(1.0, apart / float(known.min()))
        if not amount < max(small, apart):
            return False
    return True


def explanation(result: Answer, i: int) -> str:
    """Return why an arm has its verdict: the arm that decides it, and in which objectives.

    Where the goal is the list, also which arm to take in the place of another.
    """
    said = _why(result, i)
    instead = take_instead(result, i) if result.goal == "list" else None
    return f"{said}; {instead}" if instead else said


def _why(result: Answer, i: int) -> str:
    verdict, j = result.verdict(i), int(result.decided_by[i])
    if verdict == Verdict.EXCLUDED:
        return "excluded: it cannot be measured, and the answer is about the other arms"
    if (limited := why_by_limits(result, i)) is not None:
        return limited
    if j < 0:
        alone = f"{verdict.word}: {'no other arm bears on it' if result.pulls_per_arm[i] else 'not measured yet'}"
        return alone + keeps(result) if verdict is Verdict.KEEP else alone
    rival = result.arms[j]
    if verdict == Verdict.UNDECIDED:
        return f"undecided: what is left open is how it compares with {rival}"
    if result.certificate.confidence is None:
        return Statement.DECIDED_BY(verdict=verdict.word, rival=rival)
    if verdict == Verdict.BEATEN:
        lead = result.inner.lower[j] - result.inner.upper[i]  # where positive, the rival is certainly better
        behind = lead if result.apart is None else -result.apart[i, 0]
        worse = _names(result, behind > 0.0)
        if not worse:
            return Statement.DECIDED_BY(verdict=verdict.word, rival=rival)
        return Statement.WORSE(rival=rival, names=joined(worse)) + _by_pairs(result, (behind > 0.0) & ~(lead > 0.0))
    if verdict == Verdict.MATCHED:
        return Statement.MATCHED_BY(rival=rival)
    lead = result.inner.lower[i] - result.inner.upper[j]
    ahead = lead if result.apart is None else -result.apart[i, 1]
    better = _names(result, ahead > 0.0)
    if better:
        said = Statement.BETTER(rival=rival, names=joined(better)) + _by_pairs(result, (ahead > 0.0) & ~(lead > 0.0))
        return said + keeps(result)
    said = Statement.TOLERATED(rival=rival) if margins(result) else Statement.NOWHERE_WORSE(rival=rival)
    return said + keeps(result)


def _by_pairs(result: Answer, which: Bools) -> str:
    """Return what shows it, where intervals alone do not."""
    pairs = result.noticed(InPairs)
    if which.any() and result.noticed(InRatios) is not None:
        return Statement.BY_RATIOS()
    return Statement.BY_PAIRS(columns=joined(pairs.columns)) if which.any() and pairs is not None else ""


def _names(result: Answer, which: Bools) -> list[str]:
    return [name for name, here in zip(result.objectives, which, strict=True) if here]
