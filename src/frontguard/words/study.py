"""The end of a study in words: the answer in a sentence, a table, what it guarantees, what to do next."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from frontguard.notices import reasons_of
from frontguard.objectives import Objective
from frontguard.phrases import article, duration, listed, number, number_of, rounded
from frontguard.studies.snapshot import Snapshot
from frontguard.verdicts import Verdict
from frontguard.words.arm_table import counts, order
from frontguard.words.certificate import amount, beside_goal, explanation, tolerance
from frontguard.words.notices import reasons_in_words

if TYPE_CHECKING:
    from rich.table import Table

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

_FAILED_PULL = "A failed pull counts as one that could have measured anything."
_MOST_ROWS = 60

COLOURS = {
    Verdict.IN: "bold green",
    Verdict.COVERED: "cyan",
    Verdict.UNDECIDED: "yellow",
    Verdict.OUT: "dim",
    Verdict.SET_ASIDE: "red",
}
"""How arms look on a terminal, by verdict."""


def answer(snapshot: Snapshot, how: How = "done") -> str:
    """The answer in a sentence or two."""
    status, arms = snapshot.result.status, snapshot.result.arms
    if len(snapshot.aside) == len(arms):
        every = "the only one was" if len(arms) == 1 else f"all {len(arms):,} were"
        return f"No arm could be measured: {every} set aside after {snapshot.failed:,} failed pulls."
    if status == "certified":
        return _front(snapshot)
    if status == "unreachable":
        return f"This cannot be certified, with however many pulls: {_why_unreachable(snapshot)}. {_so_far(snapshot)}"
    if how == "cancelled":
        return f"Interrupted after {snapshot.pulls:,} pulls. {_so_far(snapshot)}"
    if how == "time" and status == "running":
        allowed = f" of {duration(snapshot.seconds_allowed)}" if snapshot.seconds_allowed else ""
        return f"Not certified: the time{allowed} is over. {_so_far(snapshot)}"
    if status == "running":
        return f"Not certified yet. {_so_far(snapshot)}"
    return f"Not certified: the budget is used up after {snapshot.pulls:,} pulls. {_so_far(snapshot)}"


def _front(snapshot: Snapshot) -> str:
    found, metrics = snapshot.result.pareto_set, snapshot.objectives
    total = len(snapshot.result.arms) - len(snapshot.aside)
    measured = f"{total:,} {'arm' if total == 1 else 'arms'}"
    if snapshot.aside:
        measured = f"the {measured} that can be measured"
    names_found = listed(found)
    if len(metrics) > 1:
        names = " and ".join([", ".join(each.name for each in metrics[:-1]), metrics[-1].name])
        verb = "is" if len(found) == 1 else "are"
        return f"{len(found):,} of {measured} {verb} on the trade-off front of {names}: {names_found}."
    best = f"the {'least' if metrics[0].minimized else 'most'} {metrics[0].name}"
    if len(found) == 1 and total == 1:
        return f"{names_found} is the only arm{' that can be measured' if snapshot.aside else ''}: it has {best}."
    if len(found) == 1:
        return f"Of {measured}, {names_found} has {best}."
    within = tolerance(metrics[0])
    return f"Of {measured}, {len(found):,} have {best} or are within {within} of it: {names_found}."


def _so_far(snapshot: Snapshot) -> str:
    inside = snapshot.result.pareto_set
    if not inside:
        return f"So far: {counts(snapshot.result)}."
    return f"So far: {counts(snapshot.result)}; certainly to be returned: {listed(inside)}."


def _why_unreachable(snapshot: Snapshot) -> str:
    certificate, reach = snapshot.result.certificate, snapshot.reachable
    lies = f"with {certificate.contamination:.0%} contamination" if certificate.contamination else "with these arms"
    failed = f" and {snapshot.failed / snapshot.pulls:.1%} of the pulls failing" if snapshot.failed else ""
    if reach is None or not all(math.isfinite(value) for value in reach.amounts(snapshot.objectives)):
        return f"{lies}{failed} medians stay uncertain by any amount"
    return f"{lies}{failed} the answer stays uncertain by {beside_goal(reach, snapshot.objectives)}"


# What it guarantees ---------------------------------------------------------------------------------------------------


def guarantee(snapshot: Snapshot) -> str:
    """What holds, in plain words; nothing is promised of arms that were set aside."""
    certificate, metrics = snapshot.result.certificate, snapshot.objectives
    lies = (
        f"whatever {article(certificate.threat)} attacker puts into up to {certificate.contamination:.0%} of each "
        "arm's measurements"
        if certificate.contamination
        else "if no measurement lies"
    )
    about = " (of those that could be measured)" if snapshot.aside else ""
    if snapshot.result.status != "certified":
        return (
            f"With probability {certificate.confidence:.0%}, {lies}: all intervals hold, and so do the verdicts in "
            "and out. Arms that are undecided may be on the front or not."
        )
    accuracy, coverage = (_each(value, metrics) for value in (certificate.accuracy, certificate.coverage))
    one = len(metrics) == 1
    beaten = "no arm " + ("is better than" if one else "beats") + " a returned one"
    if accuracy:
        beaten += f" by more than {accuracy}" + ("" if one else " at once")
    best = "the best arm" if one else "each arm on the true front"
    missed = f"{best}{about} is returned, or another one that is as good"
    if coverage:
        missed = f"{best}{about} is returned, or another one that is at most {coverage} worse"
    failed = f" {_FAILED_PULL}" if snapshot.failed else ""
    return f"With probability {certificate.confidence:.0%}, {lies}: {beaten}; and {missed}.{failed}"


def _each(value: float | tuple[float, ...], metrics: Sequence[Objective]) -> str:
    """An amount for each objective; empty if all are nothing."""
    values = value if isinstance(value, tuple) else (value,) * len(metrics)
    return (
        " and ".join(f"{amount(v, each)} in {each.name}" for v, each in zip(values, metrics, strict=True))
        if any(values)
        else ""
    )


def why(snapshot: Snapshot, arm: int) -> str:
    """Why an arm has its verdict; of one that was set aside, how often it failed and of what."""
    name = snapshot.result.arms[arm]
    if name not in snapshot.aside:
        return explanation(snapshot.result, arm)
    reasons = snapshot.failures.get(name, Counter())
    failed = f"{sum(reasons.values()):,} of {number_of(int(snapshot.result.pulls_per_arm[arm]), 'pull')} failed"
    return f"set aside: {failed} ({reasons_in_words(reasons_of(reasons))}); the answer is about the other arms"


def failures_in_words(snapshot: Snapshot) -> str:
    """How many pulls failed, and what that means."""
    return f"{number_of(snapshot.failed, 'pull')} of {snapshot.pulls:,} failed. {_FAILED_PULL}"


def log_being_read(told: int, total: int) -> str:
    """How much of a study's log has been read.

    >>> log_being_read(0, 0), log_being_read(1200, 4800)
    ('The log is being read.', 'The log is being read: 1,200 of 4,800 pulls.')
    """
    return f"The log is being read: {told:,} of {number_of(total, 'pull')}." if total else "The log is being read."


# The table ------------------------------------------------------------------------------------------------------------


def table(snapshot: Snapshot) -> Table:
    """The arms with verdict, medians and intervals in the user's units, pulls, failures; the front first."""
    from rich.table import Table as RichTable
    from rich.text import Text

    result = snapshot.result
    made = RichTable(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    made.add_column("arm", overflow="fold")
    made.add_column("verdict", no_wrap=True)
    for objective in snapshot.objectives:
        made.add_column(Text(_heading(objective)), justify="right", no_wrap=len(snapshot.objectives) < 3)
    made.add_column("pulls", justify="right", no_wrap=True)
    made.add_column("failed", justify="right", no_wrap=True)
    rows = order(result).tolist()
    medians, (low, high) = result.medians, result.bounds
    for arm in rows[:_MOST_ROWS]:
        cells = [Text(_interval(medians[arm, d], low[arm, d], high[arm, d])) for d in range(len(result.objectives))]
        failed = sum(snapshot.failures.get(result.arms[arm], Counter()).values())
        made.add_row(
            Text(result.arms[arm]),
            result.verdict(arm).word,
            *cells,
            f"{result.pulls_per_arm[arm]:,}",
            f"{failed:,}" if failed else "",
            style=COLOURS[result.verdict(arm)],
        )
    if len(rows) > _MOST_ROWS:
        made.add_row(f"… and {len(rows) - _MOST_ROWS:,} more: {counts(result, rows[_MOST_ROWS:])}")
    return made


def _heading(objective: Objective) -> str:
    return f"{objective.name}\n{objective.quantile_word} [low, high]"


def _interval(median: float, low: float, high: float) -> str:
    if not math.isfinite(median):
        return "not measured"
    return f"{number(median)} [{number(low)}, {number(high)}]"


# The next step --------------------------------------------------------------------------------------------------------


def too_short(snapshot: Snapshot) -> str:
    """Which budget will end before the certificate is there, by the forecast; "" if none will."""
    over = snapshot.shortfall
    if over is None:
        return ""
    if over.budget == "seconds":
        return f"the time of {duration(over.limit)} will end before"
    return f"the budget of {over.limit:,.0f} pulls will end before"


def looser(snapshot: Snapshot) -> list[tuple[Objective, str]] | None:
    """Tolerances, as they are written, that could be reached; None if none could.

    Half as much again as the least that could: that itself would take for ever.
    """
    if snapshot.reachable is None:
        return None
    found = []
    for value, objective in zip(snapshot.reachable.amounts(snapshot.objectives), snapshot.objectives, strict=True):
        if not math.isfinite(value):
            return None
        enough = _two_digits_up(1.5 * max(value, 0.0))
        found.append((objective, f"{_two_digits_up(150.0 * value):g}%" if objective.relative else f"{enough:g}"))
    return found


def _two_digits_up(value: float) -> float:
    """The next number with two digits that count, so that a suggestion is short.

    >>> _two_digits_up(0.01234), _two_digits_up(123.0), _two_digits_up(0.0)
    (0.013, 130.0, 0.0)
    """
    if value <= 0.0:
        return 0.0
    step = 10.0 ** (math.floor(math.log10(value)) - 1)
    return float(f"{math.ceil(value / step - 1e-9) * step:.6g}")


def enough_pulls(snapshot: Snapshot) -> int | None:
    """A budget with which the study should end certified, by the forecast and with something to spare."""
    if snapshot.pulls_left is None:
        return None
    return int(_two_digits_up(snapshot.pulls + 1.5 * snapshot.pulls_left))


def more_to_come(snapshot: Snapshot) -> str:
    """How much is still to do by the forecast, in words."""
    if snapshot.pulls_left is None:
        return "how many more pulls it takes cannot be foreseen yet"
    seconds = snapshot.seconds_left
    at_this_rate = f", {duration(seconds)} at the present rate" if seconds is not None else ""
    return f"about {rounded(snapshot.pulls_left)} more pulls by the forecast{at_this_rate}"
