"""Limits in words: what is limited, how an arm stands to it, and what is nearest where no arm is within."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from frontguard.limits import Gate
from frontguard.phrases import at_least, at_most, joined, number, number_of, percent
from frontguard.results import Kept, Result
from frontguard.statements import Statement
from frontguard.verdicts import BEYOND, OPEN, WITHIN, Keeping, Verdict
from frontguard.words.arm_table import names_in_short


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


def never_told(gate: Gate, contamination: float, verdict: Literal["in", "out"]) -> str:
    """That no number of pulls tells on which side of a limit an arm is, so that none can be in, or out, by it."""
    side = "above" if (gate.sign == "≤") == (verdict == "in") else "below"
    never = Statement.NO_PULLS_DO(eps=percent(contamination), what=f"{gate.of} from {side}")
    return f"{never}: no arm will be {verdict} {'with' if verdict == 'in' else 'by'} this limit"


def all_limits(kept: Kept) -> str:
    """All limits of a result."""
    return joined([limit_in_words(gate) for gate in kept.gates])


def among_those_within(result: Result) -> str:
    """Of which arms something is said, where these must keep to limits; "" where there are none."""
    return "" if result.limits is None else Statement.AMONG_WITHIN(limits=all_limits(result.limits))


def why_by_limits(result: Result, arm: int) -> str | None:
    """Why an arm has its verdict, where limits are why; None where they are not."""
    kept, verdict = result.limits, result.verdict(arm)
    place = -1 if kept is None else kept.worst(arm)
    if kept is None or place < 0 or not result.pulls_per_arm[arm]:
        return None
    keeping = Keeping(int(kept.codes[arm, place]))
    if verdict is Verdict.OUT and keeping is Keeping.BEYOND:
        return Statement.BEYOND(limit=str(kept.gates[place]), by=_at_best(kept, arm, place))
    if verdict is Verdict.UNDECIDED and keeping is Keeping.OPEN:
        return f"undecided: what is left open is whether {kept.gates[place]}: {_between(kept, arm, place)}"
    return None


def keeps(result: Result) -> str:
    """What is said behind the reason of an arm that is in; "" where there are no limits."""
    return "" if result.limits is None else Statement.KEEPS(limits=all_limits(result.limits))


def keeping_in_words(kept: Kept, arm: int, place: int) -> str:
    """How an arm stands to one limit, with its interval: for the page of an arm."""
    keeping = Keeping(int(kept.codes[arm, place]))
    if keeping is Keeping.OPEN:
        return f"{kept.gates[place]}: open, {_between(kept, arm, place)}"
    said = Statement.IS_WITHIN if keeping is Keeping.WITHIN else Statement.IS_BEYOND
    return said(limit=limit_in_words(kept.gates[place]), between=_between(kept, arm, place))


def none_within(result: Result) -> str:
    """That every arm is beyond a limit, and which is nearest."""
    kept = result.limits
    assert kept is not None
    limits = " or ".join(limit_in_words(gate) for gate in kept.gates)
    measured = len(result.arms) - len(result.aside)
    each = "the only arm is" if measured == 1 else f"each of {number_of(measured)} is"
    nearest = _nearest(result, BEYOND)
    return f"{Statement.NONE_WITHIN(each=each, limits=limits)}{nearest}"


def none_within_yet(result: Result) -> str | None:
    """Where no arm is certainly within: that, and what is nearest; None where one is, or there are no limits."""
    kept = result.limits
    if kept is None or (kept.of_arms == WITHIN).any() or not result.pulls:
        return None
    return f"{Statement.NONE_WITHIN_YET()}{_nearest(result, OPEN)}"


def _nearest(result: Result, code: int) -> str:
    """The arm of those that stand so to the limits that is least far beyond, by the estimates of what is limited."""
    kept = result.limits
    assert kept is not None
    some = np.flatnonzero((kept.of_arms == code) & (result.verdict_codes != Verdict.SET_ASIDE))
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


def beaten_and_beyond(result: Result) -> tuple[int, int]:
    """Of the arms that are out, how many are beaten by another one, and how many are beyond a limit."""
    out = result.having(Verdict.OUT)
    if result.limits is None:
        return int(out.sum()), 0
    beyond = out & (result.limits.of_arms == BEYOND)
    return int((out & ~beyond).sum()), int(beyond.sum())


def open_by_limits(result: Result) -> str | None:
    """Names of the open arms of which it is open whether they keep to the limits; None if there are none."""
    if result.limits is None:
        return None
    some = result.having(Verdict.UNDECIDED) & (result.limits.of_arms == OPEN)
    return names_in_short(result.named(some)) if some.any() else None


def _at_best(kept: Kept, arm: int, place: int) -> str:
    """The end of an interval that lies nearest to the limit beyond which it is, rounded towards that."""
    low, high = (float(ends[arm, place]) for ends in kept.ends)
    return f"at least {at_least(low)}" if kept.gates[place].sign == "≤" else f"at most {at_most(high)}"


def _between(kept: Kept, arm: int, place: int) -> str:
    low, high = (float(ends[arm, place]) for ends in kept.ends)
    estimate = float(kept.estimates[arm, place])
    if math.isinf(low) and math.isinf(high):
        return f"measured {number(estimate)}, not bounded yet" if math.isfinite(estimate) else "not bounded yet"
    if math.isinf(high):
        return f"at least {at_least(low)}"
    if math.isinf(low):
        return f"at most {at_most(high)}"
    return f"between {at_least(low)} and {at_most(high)}" if low < high else f"it is {low:.12g}"


def standing_to_limits(result: Result) -> str | None:
    """How many arms are within all limits, beyond one, and open, in a line; None where there are none."""
    kept = result.limits
    if kept is None:
        return None
    about = kept.of_arms[~result.having(Verdict.SET_ASIDE)]
    counts = ((WITHIN, "within"), (BEYOND, "beyond"), (OPEN, "open"))
    said = [f"{int((about == code).sum()):,} {word}" for code, word in counts if (about == code).any()]
    return f"Limits, {all_limits(kept)}: {', '.join(said)}"
