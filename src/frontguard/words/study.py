"""A study in words: the answer in a sentence, the table of arms, what is still to come, what to do next."""

from __future__ import annotations

import shlex
from collections import Counter
from typing import Literal

import numpy as np

from frontguard.notices import BudgetOver, InPairs, Polished, reasons_in_words
from frontguard.phrases import cost_in_words, cost_range, duration, number_of, percent, rounded, rounded_up, time_range
from frontguard.results import CostSoFar, Result
from frontguard.statements import Statement
from frontguard.studies.overview import Snapshot
from frontguard.verdicts import OPEN, Verdict
from frontguard.words import gate
from frontguard.words.arm_table import ArmTable, arm_table, counts, shown
from frontguard.words.certificate import (
    FAILED_PULL,
    beside_goal,
    certificate_against_goal,
    explanation,
    sensible,
    suggested_tolerances,
)
from frontguard.words.counted import what_counts
from frontguard.words.front import best_guess, front_in_words, names_of_listed, too_few
from frontguard.words.limits import all_limits, none_within_yet, open_by_limits
from frontguard.words.threats import able

How = Literal["done", "time", "cancelled"]
"""How a run ended: the study came to its end, the time was over, or it was told to stop."""

STATUSES = {
    "running": "running",
    "certified": "certified",
    "budget": "budget used up",
    "unreachable": "out of reach",
    "reading": "being read",
    "trouble": "cannot be read",
}
"""What is said of a study in a word or two, where many are listed; the last two are of logs, not of studies."""

_MOST_ROWS = 60
_TO_SPARE = 1.5  # times what a forecast, or a floor, says


# The answer -----------------------------------------------------------------------------------------------------------


def answer(snapshot: Snapshot, how: How = "done") -> str:
    """The answer in a sentence or two."""
    status, arms = snapshot.result.status, snapshot.result.arms
    if len(snapshot.aside) == len(arms):
        every = "the only one was" if len(arms) == 1 else f"all {len(arms):,} were"
        return f"No arm could be measured: {every} set aside after {snapshot.failed:,} failed pulls."
    if status == "certified":
        return front_in_words(snapshot.result)
    if status == "unreachable":
        return f"{Statement.UNREACHABLE(why=_why_unreachable(snapshot))} {_in_the_end(snapshot)}"
    if how == "cancelled":
        return f"Interrupted after {snapshot.pulls:,} pulls. {_in_the_end(snapshot)}"
    if how == "time" and status == "running":
        allowed = f" of {duration(snapshot.max_time)}" if snapshot.max_time else ""
        return f"Not certified: the time{allowed} is over. {_in_the_end(snapshot)}"
    if status == "running":
        return f"Not certified yet. {_so_far(snapshot)}"
    over = "all items that bear on it are measured" if list_is_over(snapshot) else "the budget is used up"
    return f"Not certified: {over} after {snapshot.pulls:,} pulls. {_in_the_end(snapshot)}"


def list_is_over(snapshot: Snapshot) -> bool:
    """Whether a study stopped because no item of its list is left, and not for a budget."""
    result = snapshot.result
    pairs, spent = result.noticed(InPairs), result.noticed(BudgetOver)
    return result.status == "budget" and pairs is not None and pairs.items > 0 and spent is None


def _so_far(snapshot: Snapshot) -> str:
    inside = snapshot.result.pareto_set
    named = f" (in: {names_of_listed(inside)})" if inside else ""
    return f"So far: {counts(snapshot.result)}{named}."


def _in_the_end(snapshot: Snapshot) -> str:
    """How far it came; where no arm is in, with a best guess, and what it lacks."""
    result = snapshot.result
    said = _so_far(snapshot), none_within_yet(result), best_guess(result), too_few(result)
    return " ".join(filter(None, said))


def _why_unreachable(snapshot: Snapshot) -> str:
    certificate, reach = snapshot.result.certificate, snapshot.reachable
    eps = certificate.contamination
    lies = f"where an attacker {able(certificate.threat, eps)}" if eps else "with these arms"
    failed = f" and {percent(snapshot.failed / snapshot.pulls)} of the pulls failing" if snapshot.failed else ""
    result = snapshot.result
    if result.limits is not None and (named := open_by_limits(result)) is not None:
        one = int((result.having(Verdict.UNDECIDED) & (result.limits.of_arms == OPEN)).sum()) == 1
        keep, limits = "keeps" if one else "keep", all_limits(result.limits)
        return Statement.LIMIT_STAYS_OPEN(lies=lies + failed, arms=named, keep=keep, limits=limits)
    if reach is None or not np.isfinite(reach.amounts(snapshot.objectives)).all():
        return Statement.STAYS_UNBOUNDED(lies=lies + failed, quantiles=what_counts(snapshot.objectives))
    return Statement.STAYS_UNCERTAIN(lies=lies + failed, amounts=beside_goal(reach, snapshot.objectives))


def in_a_line(snapshot: Snapshot) -> str:
    """The study in a line while it runs, for a log."""
    if snapshot.gate is not None:
        return gate.in_a_line(snapshot.gate, snapshot.seconds)
    failed = f", {snapshot.failed:,} failed" if snapshot.failed else ""
    now = certificate_against_goal(snapshot.result.nearest, snapshot.objectives)
    cost = "" if snapshot.result.cost is None else f" for {spent_in_words(snapshot.result.cost)}"
    so_far = f"{snapshot.pulls:,} pulls{failed}{cost} in {duration(snapshot.seconds)}: {counts(snapshot.result)}"
    short = f"; {too_short(snapshot)}" if snapshot.shortfall else ""
    return f"{so_far}; {now}; {left_to_do(snapshot)}{short}"


def table(snapshot: Snapshot, most: int = _MOST_ROWS) -> ArmTable:
    """The arms with verdict, estimates and intervals in the user's units, pulls, failures; the front first."""
    result = snapshot.result
    return arm_table(result, shown(result, most), failed=snapshot.failed_per_arm, deciders=False)


def why(snapshot: Snapshot, arm: int) -> str:
    """Why an arm has its verdict; of one that was set aside, how often it failed and of what."""
    name = snapshot.result.arms[arm]
    if name not in snapshot.aside:
        return explanation(snapshot.result, arm)
    reasons = snapshot.failures.get(name, Counter())
    failed = f"{sum(reasons.values()):,} of {number_of(int(snapshot.result.pulls_per_arm[arm]), 'pull')} failed"
    return f"set aside: {failed} ({reasons_in_words(tuple(reasons.most_common()))}); the answer is about the other arms"


def spent_in_words(cost: CostSoFar, most: float | None = None) -> str:
    """What pulls have cost so far, of what they may cost."""
    of = "" if most is None else f" of {cost_in_words(most, cost.unit)} allowed"
    return f"{cost_in_words(cost.spent, cost.unit)}{of}"


def failures_in_words(snapshot: Snapshot) -> str:
    """How many pulls failed, and what that means."""
    return f"{number_of(snapshot.failed, 'pull')} of {snapshot.pulls:,} failed. {FAILED_PULL}"


def log_being_read(told: int, total: int) -> str:
    """How much of a study's log has been read.

    >>> log_being_read(0, 0), log_being_read(1200, 4800)
    ('The log is being read.', 'The log is being read: 1,200 of 4,800 pulls.')
    """
    return f"The log is being read: {told:,} of {number_of(total, 'pull')}." if total else "The log is being read."


# What is still to come ------------------------------------------------------------------------------------------------


def too_short(snapshot: Snapshot) -> str:
    """Which budget will end before the certificate is there, by the forecast; "" if none will."""
    over = snapshot.shortfall
    if over is None:
        return ""
    if over.budget == "max_time":
        return f"the time of {duration(over.limit)} will end before"
    if over.budget == "max_cost":
        return f"the budget of {cost_in_words(over.limit, over.unit)} will end before"
    return f"the budget of {over.limit:,.0f} pulls will end before"


def looser(snapshot: Snapshot) -> list[str] | None:
    """Tolerances, as --tolerance takes them, that could be reached; None if none could.

    Half as much again as the least that could: that itself would take for ever. None either where that would be so much
    that any arm would do.
    """
    if snapshot.reachable is None:
        return None
    wanted = [_TO_SPARE * amount for amount in snapshot.reachable.amounts(snapshot.objectives)]
    if not sensible(snapshot.result, wanted):
        return None
    return suggested_tolerances(snapshot.reachable, snapshot.objectives, times=_TO_SPARE, digits=2)


def enough_pulls(snapshot: Snapshot) -> int | None:
    """A budget with which the study should end certified, by the forecast and with something to spare."""
    if snapshot.pulls_left is None:
        return None
    return int(rounded_up(snapshot.pulls + _TO_SPARE * snapshot.pulls_left, 2))


def left_to_do(snapshot: Snapshot) -> str:
    """How much is left by the forecast, briefly."""
    pulls, seconds = snapshot.pulls_left_range, snapshot.seconds_left_range
    if (polished := polish_in_words(snapshot.result)) is not None:
        return polished
    if pulls is None:
        return "how long it will take is not known yet"
    time_left = f", {time_range(*seconds)}," if seconds is not None else ""
    return f"about {_range(pulls)} pulls{_costing(snapshot)}{time_left} left"


def polish_in_words(result: Result) -> str | None:
    """How steady estimates are, where that is asked for and there is a certificate."""
    polished = result.noticed(Polished)
    return None if polished is None else str(polished)


def more_to_come(snapshot: Snapshot) -> str:
    """How much is still to do by the forecast, in words."""
    pulls, seconds = snapshot.pulls_left_range, snapshot.seconds_left_range
    if pulls is None:
        return "how many more pulls it will take is not known yet"
    at_this_rate = f", {time_range(*seconds)} at the present rate" if seconds is not None else ""
    return f"about {_range(pulls)} more pulls{_costing(snapshot)} by the forecast{at_this_rate}"


def _costing(snapshot: Snapshot) -> str:
    """What pulls that are left cost, by the forecast; "" where they have no costs."""
    left, cost = snapshot.cost_left_range, snapshot.result.cost
    return "" if left is None or cost is None else f" that cost {cost_range(*left, cost.unit)}"


def enough_cost(snapshot: Snapshot) -> str:
    """A budget of cost, as --max-cost takes it, with which the study should end certified."""
    cost, left = snapshot.result.cost, snapshot.cost_left
    spent = 0.0 if cost is None else cost.spent
    return f"{rounded_up(2.0 * spent if left is None else spent + _TO_SPARE * left, 2):.12g}"


def _range(pulls: tuple[int, int]) -> str:
    least, most = map(rounded, pulls)
    return most if least == most else f"{least} to {most}"


def next_step(snapshot: Snapshot, how: How, where: str, *, several: bool = False) -> str | None:
    """What to do now, by how it ended: a command or an option, where one helps; None where there is nothing to do.

    `several` says that the storage `where` has more than this study.
    """
    result = snapshot.result
    if result.status == "certified":
        look = commands_to_look(where, snapshot.study, several=several)
        return f"{look}." if look else None
    if how == "cancelled":
        return f"the same command goes on where it stopped; {more_to_come(snapshot)}."
    if len(snapshot.aside) == len(result.arms):
        return "mend the command; then begin anew, with another --study or --storage."
    if result.status == "unreachable":
        return _within_reach(snapshot)
    if list_is_over(snapshot):
        return (
            "a looser tolerance (--tolerance), a smaller --contamination in a new study, if you can vouch for it, or a "
            "longer list of items."
        )
    if how == "time":
        return f"the same command goes on for as long again; {more_to_come(snapshot)}."
    if any(isinstance(each, BudgetOver) and each.budget == "max_cost" for each in result.notices):
        return f"a larger budget, --max-cost {enough_cost(snapshot)}; {more_to_come(snapshot)}."
    if snapshot.max_pulls is None:
        return f"a larger max_pulls_per_arm in the spec, then the same command; {more_to_come(snapshot)}."
    enough = enough_pulls(snapshot) or 2 * snapshot.pulls
    return f"a larger budget, --max-pulls {enough}; {more_to_come(snapshot)}."


def _within_reach(snapshot: Snapshot) -> str:
    """What could be certified where what was asked for cannot."""
    goals = looser(snapshot)
    if open_by_limits(snapshot.result) is not None:
        return (
            "set the limit farther from what is measured, or give it a tolerance (tolerance in [[limit]]); a study "
            "that is there goes on with it."
        )
    if goals is None and snapshot.failed:
        return "see to it that fewer pulls fail, then begin anew with another --study or --storage."
    if goals is None:
        return (
            "no tolerance that would tell the arms apart can be reached; begin anew (another --study) with a "
            "smaller --contamination, if you can vouch for it, or with measurements that vary less."
        )
    fewer = ", or fewer failures in a new study (another --study)" if snapshot.failed else ""
    options = shlex.join(part for goal in goals for part in ("--tolerance", goal))
    return f"a looser tolerance, which could be reached: {options}{fewer}."


def commands_to_look(where: str, study: str, *, several: bool) -> str:
    """How to see a study: as a report, and as a live page; empty for one that is nowhere."""
    if where.startswith("memory:"):
        return ""
    named = ["--study", study] if several else []
    return (
        f"`{shlex.join(['frontguard', 'report', where, *named])}` writes a report to send, "
        f"`{shlex.join(['frontguard', 'serve', where])}` shows it in a browser"
    )
