"""The question in words: against whom something holds, what counts of metrics, and limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import ROUND_FLOOR
from typing import Literal

import numpy as np

from frontguard.limits import Gate
from frontguard.notices import InClusters, IndependentArms, InPairs, InRatios, Notice, TakenAsRate
from frontguard.objectives import Objective
from frontguard.phrases import are, article, between, joined, number, number_of, percent
from frontguard.results import Answer, Kept
from frontguard.statements import Statement
from frontguard.verdicts import FEASIBLE, INFEASIBLE, OPEN, Feasibility, Verdict
from frontguard.words.arm_table import names_in_short

_CHANCE = "each measurement of an arm may be replaced with a probability of up to {eps} (ε), "
_ANY = "by any value whatever"

_THREATS = {
    "oblivious": f"{_CHANCE}by values that were chosen beforehand, without having seen any measurement",
    "prescient": f"{_CHANCE}{_ANY}, chosen in knowledge of all that was and will be measured; which measurements are "
    "replaced is left to chance",
    "malicious": f"{_CHANCE}{_ANY}, and the attacker chooses which ones after having seen them",
    "even-handed": "each measurement of an arm may be disturbed with a probability of up to {eps} (ε), by what does "
    "not know whose it is: runs are in random order, or graders do not see whose answer they grade",
    "share": "of an arm's measurements, however many there are, up to {eps} (ε) may be replaced, whichever, "
    f"{_ANY}; which ones and by what may be chosen after all is measured",
}
"""What each threat may do; another one may do what any attacker by chance does."""


def against(threat: str, eps: float, by_metric: str = "") -> str:
    """Against whom something is promised; `by_metric` is what `in_each` says.

    >>> against("prescient", 0.1)
    'even if each measurement of an arm is replaced with probability up to 10% by a prescient attacker'
    >>> against("share", 0.1)
    "even if any 10% of an arm's measurements are replaced, whichever, chosen afterwards"
    """
    if not eps:
        return Statement.CLEAN()
    said = {"even-handed": Statement.BY_CHANGES, "share": Statement.BY_SHARE}.get(threat, Statement.BY_CHANCE)
    return said(eps=percent(eps, ROUND_FLOOR), attacker=article(threat)) + by_metric


def differing(result: Answer) -> dict[str, float]:
    """Return the ε of each metric, where these differ; nothing where there is one for all."""
    each = {} if result.question is None else result.question.contaminations
    return each if len(set(each.values())) > 1 else {}


def in_each(result: Answer) -> str:
    """Return the ε of each metric in brackets, where these differ."""
    said = [f"{name} {percent(eps, ROUND_FLOOR)}" for name, eps in differing(result).items()]
    return f" {Statement.BY_METRIC(shares=', '.join(said))}" if said else ""


def at_most_wrong(contaminations: Mapping[str, float]) -> tuple[str, str]:
    """Return which shares of metrics may be wrong, and that other metrics are taken as they are.

    >>> at_most_wrong({"seconds": 0.1, "solved": 0.0, "watts": 0.05, "joules": 0.1})
    ('10% of seconds and joules, and 5% of watts', '; solved is taken as it is')
    """
    shares = sorted({eps for eps in contaminations.values() if eps}, reverse=True)
    said = [
        f"{percent(share, ROUND_FLOOR)} of {joined([name for name, eps in contaminations.items() if eps == share])}"
        for share in shares
    ]
    clean = [name for name, eps in contaminations.items() if not eps]
    rest = f"; {joined(clean)} {are(len(clean))} taken as {'it is' if len(clean) == 1 else 'they are'}" if clean else ""
    return ", and ".join(said), rest


def if_at_most(result: Answer, eps: float) -> dict[str, str]:
    """Return that no more than a smaller ε than was declared is wrong, and what was declared, as fields."""
    names = [name for name, declared in differing(result).items() if declared > eps]
    what = f"the values of {joined(names)}" if names else "the measurements"
    condition = Statement.AT_MOST_WRONG(eps=percent(eps, ROUND_FLOOR), what=what) if eps else Statement.NONE_WRONG()
    return {"condition": condition, "declared": percent(result.certificate.contamination)}


def assumed(threat: str, eps: float, by_metric: str = "") -> str:
    """Return what is assumed of whoever lies, in a sentence or two; `by_metric` is what `in_each` says."""
    if not eps:
        return "No measurement lies: what may be anything (ε) was declared to be 0 for every arm."
    may = _THREATS.get(threat, _CHANCE + _ANY).format(eps=percent(eps))
    return (
        f"The threat is {threat}: {may}{by_metric}. ε holds for every arm by itself: an arm with more lies than "
        "that is not protected, and neither are those that are compared with it."
    )


def able(threat: str, eps: float) -> str:
    """Return what the attacker does.

    >>> able("share", 0.1)
    "replaces any 10% of an arm's measurements"
    """
    share = percent(eps)
    if threat == "share":
        return f"replaces any {share} of an arm's measurements"
    blind = " without knowing whose it is" if threat == "even-handed" else ""
    return f"{'disturbs' if blind else 'replaces'} each measurement with probability {share}{blind}"


def where_lies(threat: str, eps: float) -> str:
    """Under which attacker something cannot be had.

    >>> where_lies("share", 0.1), where_lies("share", 0.0)
    ("where an attacker replaces any 10% of an arm's measurements,", 'without lies')
    """
    return f"where an attacker {able(threat, eps)}," if eps else "without lies"


def what_counts(metrics: Sequence[Objective]) -> str:
    """Return what of the metrics lies in intervals, as a sentence names it; medians where nothing is known of them.

    >>> rate, size = Objective("solved", "maximize", statistic="mean", bounds=(0, 1)), Objective("bytes", exact=True)
    >>> what_counts([Objective("seconds"), rate, size]), what_counts([Objective("seconds", quantile=0.9)])
    ('medians and means', 'quantiles')
    >>> what_counts([size])
    'values'
    """
    quantiles = [each for each in metrics if each.has_quantile]
    found = []
    if quantiles or not metrics:
        found.append("medians" if all(each.level == 0.5 for each in quantiles) else "quantiles")
    others = (each for each in metrics if not (each.has_quantile or each.exact))
    found += dict.fromkeys(f"{each.statistic_word}s" for each in others)
    return joined(found) or "values"


def counted_in_words(objective: Objective) -> str:
    """Return what counts of one metric, with its name.

    >>> counted_in_words(Objective("stars", "maximize", statistic="mean", bounds=(1, 5)))
    'mean of stars (between 1 and 5)'
    >>> counted_in_words(Objective("bytes", exact=True)), counted_in_words(Objective("seconds", quantile=0.95))
    ('exact value of bytes', 'p95 of seconds')
    """
    if objective.exact:
        return f"exact value of {objective.name}"
    return f"{objective.statistic_word} of {objective.name}{_known(objective)}"


def _known(objective: Objective) -> str:
    if objective.bounds is not None:
        low, high = objective.bounds
        return f" (between {number(low)} and {number(high)})"
    return f" (σ = {number(objective.sigma)})" if objective.sigma is not None else ""


def declared(metrics: Sequence[Objective]) -> list[str]:
    """Return what was declared of metrics whose values, or whose means, count, and has to be so: a sentence each."""
    said = []
    for each in metrics:
        if each.bounds is not None:
            low, high = each.bounds
            said.append(
                f"Every value of {each.name} lies between {number(low)} and {number(high)}, also one that replaces "
                "another. What does not counts as a failed pull."
            )
        if each.sigma is not None:
            said.append(
                f"The values of {each.name} lie around their mean no further than normal ones of deviation "
                f"{number(each.sigma)} do (they are subgaussian)."
            )
    exact = [each.name for each in metrics if each.exact]
    if exact:
        said.append(
            f"{joined(exact)} {are(len(exact))} exact, as declared: the same whenever measured, and never replaced. "
            "Where an arm was measured differently, nothing is said of it there."
        )
    return said


def granted(notices: Sequence[Notice]) -> list[str]:
    """Return what was taken for granted of measurements: what depends on what, and what counts unasked."""
    kinds = TakenAsRate | InClusters | InPairs | IndependentArms | InRatios
    said = dict.fromkeys(str(each).rstrip(".") for each in notices if isinstance(each, kinds))
    return [f"{each[0].upper()}{each[1:]}." for each in said]


def limit_in_words(gate: Gate) -> str:
    """A limit, with what is tolerated beyond it.

    >>> from frontguard import Limit, Objective
    >>> from frontguard.limits import columns_for
    >>> seconds, limits = Objective("seconds", "minimize"), (Limit("latency", at_most=300, quantile=0.95, tolerance=5),)
    >>> [limit_in_words(gate) for gate in columns_for((seconds,), limits).gates]
    ['p95(latency) ≤ 300 (up to 305 is tolerated)']
    """
    limit = gate.limit
    if limit.allowed == limit.value:
        return str(gate)
    return f"{gate} ({'up' if gate.sign == '≤' else 'down'} to {limit.allowed:.12g} is tolerated)"


def never_told(gate: Gate, contaminations: Mapping[str, float], verdict: Literal["keep", "beaten"]) -> str:
    """Say that no number of pulls tells on which side of a limit an arm is, so that none can be in, or out, by it."""
    side = "above" if (gate.sign == "≤") == (verdict == "keep") else "below"
    eps = percent(contaminations[gate.limit.metric])
    never = Statement.NO_PULLS_DO(eps=eps, what=f"{gate.of} from {side}")
    return f"{never}: no arm will be {'kept with' if verdict == 'keep' else 'dropped by'} this limit"


def all_limits(kept: Kept) -> str:
    """All limits of a result."""
    return joined([limit_in_words(gate) for gate in kept.gates])


def among_those_within(result: Answer) -> str:
    """Return of which arms something is said, where these must keep to limits; "" where there are none."""
    return "" if result.limits is None else Statement.AMONG_WITHIN(limits=all_limits(result.limits))


def why_by_limits(result: Answer, arm: int) -> str | None:
    """Return why an arm has its verdict, where limits are why; None where they are not."""
    kept, verdict = result.limits, result.verdict(arm)
    place = -1 if kept is None else kept.worst(arm)
    if kept is None or place < 0 or not result.pulls_per_arm[arm]:
        return None
    keeping = Feasibility(int(kept.codes[arm, place]))
    if verdict is Verdict.BEATEN and keeping is Feasibility.INFEASIBLE:
        return Statement.INFEASIBLE(limit=str(kept.gates[place]), by=_between(kept, arm, place))
    if verdict is Verdict.UNDECIDED and keeping is Feasibility.OPEN:
        return f"undecided: what is left open is whether {kept.gates[place]}: {_between(kept, arm, place)}"
    return None


def keeps(result: Answer) -> str:
    """Return what is said behind the reason of a kept arm; "" where there are no limits."""
    return "" if result.limits is None else Statement.KEEPS(limits=all_limits(result.limits))


def keeping_in_words(kept: Kept, arm: int, place: int) -> str:
    """Return the standing of an arm to one limit, with its interval: for the page of an arm."""
    keeping = Feasibility(int(kept.codes[arm, place]))
    if keeping is Feasibility.OPEN:
        return f"{kept.gates[place]}: open, {_between(kept, arm, place)}"
    said = Statement.IS_WITHIN if keeping is Feasibility.FEASIBLE else Statement.IS_BEYOND
    return said(limit=limit_in_words(kept.gates[place]), between=_between(kept, arm, place))


def none_within(result: Answer) -> str:
    """Say that every arm is beyond a limit, and which is nearest."""
    kept = result.limits
    assert kept is not None
    limits = " or ".join(limit_in_words(gate) for gate in kept.gates)
    measured = len(result.arms) - len(result.excluded)
    each = "the only arm is" if measured == 1 else f"each of {number_of(measured)} is"
    nearest = _nearest(result, INFEASIBLE)
    return f"{Statement.NONE_WITHIN(each=each, limits=limits)}{nearest}"


def none_within_yet(result: Answer) -> str | None:
    """Say that no arm is certainly within, and what is nearest; None where one is, or there are no limits."""
    kept = result.limits
    if kept is None or (kept.of_arms == FEASIBLE).any() or not result.pulls:
        return None
    return f"{Statement.NONE_WITHIN_YET()}{_nearest(result, OPEN)}"


def _nearest(result: Answer, code: int) -> str:
    """The arm of those that stand so to the limits that is least far beyond, by the estimates of what is limited."""
    kept = result.limits
    assert kept is not None
    some = np.flatnonzero((kept.of_arms == code) & (result.verdict_codes != Verdict.EXCLUDED))
    goals = np.array([gate.limit.value for gate in kept.gates])
    with np.errstate(divide="ignore", invalid="ignore"):
        lacking = np.abs(kept.estimates - goals) / np.where(goals == 0.0, 1.0, np.abs(goals))
    inside = kept.inner.estimates >= np.array([gate.within for gate in kept.gates])
    far = np.where(inside, 0.0, lacking).max(axis=1)[some]
    if not len(some) or not np.isfinite(far).any():
        return ""
    arm = int(some[np.nanargmin(far)])
    place = int(np.nanargmax(np.where(inside, 0.0, lacking)[arm]))
    return f" Nearest is {result.arms[arm]}: {kept.gates[place].of} {_between(kept, arm, place)}."


def open_by_limits(result: Answer) -> str | None:
    """Names of the open arms of which it is open whether they keep to the limits; None if there are none."""
    if result.limits is None:
        return None
    some = result.having(Verdict.UNDECIDED) & (result.limits.of_arms == OPEN)
    return names_in_short(result.named(some)) if some.any() else None


def _between(kept: Kept, arm: int, place: int) -> str:
    low, high = (float(ends[arm, place]) for ends in kept.ends)
    estimate = number(float(kept.estimates[arm, place]))
    return estimate if low == high else f"{estimate} {between(low, high)}"


def standing_to_limits(result: Answer) -> str | None:
    """Return how many arms are within all limits, beyond one, and open, in a line; None where there are none."""
    kept = result.limits
    if kept is None:
        return None
    about = kept.of_arms[~result.having(Verdict.EXCLUDED)]
    counts = ((FEASIBLE, "feasible"), (INFEASIBLE, "infeasible"), (OPEN, "open"))
    said = [f"{int((about == code).sum()):,} {word}" for code, word in counts if (about == code).any()]
    return f"Limits, {all_limits(kept)}: {', '.join(said)}"
