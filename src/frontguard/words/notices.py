"""Notices in words: the one place where a record of what happened becomes a sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from frontguard import notices
from frontguard.objectives import Objective
from frontguard.phrases import MOST_NAMES, joined, number_of, one_line, percent
from frontguard.words.comparing.pairs import in_pairs
from frontguard.words.costs import cost_in_words
from frontguard.words.guess import least_pulls
from frontguard.words.statements import Statement

_REASONS_SHOWN = 3
_VALUES_SHOWN = 6


def sentence(notice: notices.Notice) -> str:
    """A notice as people read it.

    >>> sentence(notices.SetAside("O3", failed=5, pulls=5, reasons=(("exit code 1", 5),)))
    "arm 'O3' was set aside: 5 of 5 pulls failed (5 × exit code 1); the answer is about the other arms"
    """
    said = _SENTENCES[type(notice)]
    return said.format(**vars(notice)) if isinstance(said, str) else said(notice)


def warnings_in_short(some: Iterable[notices.Notice], most: int = MOST_NAMES) -> list[str]:
    """What a terminal says of the notices that warn: of each kind a handful of sentences, each once; the rest counted.

    >>> aside = [notices.SetAside(f"O{i}", failed=5, pulls=5, reasons=(("exit code 1", 5),)) for i in range(9)]
    >>> warnings_in_short(aside, 1)[1]
    'and 8 more of this kind; --json has them all'
    """
    kinds: dict[type[notices.Notice], dict[str, None]] = {}
    for notice in some:
        if notice.warns:
            kinds.setdefault(type(notice), {})[sentence(notice)] = None
    said = []
    for alike in kinds.values():
        said += list(alike)[:most]
        if len(alike) > most:
            said.append(f"and {len(alike) - most:,} more of this kind; --json has them all")
    return said


def reasons_in_words(reasons: notices.Reasons) -> str:
    """Reasons of failures with their counts, the most frequent first.

    >>> reasons_in_words((("exit code 1", 3), ("timeout after 10 s", 1)))
    '3 × exit code 1, 1 × timeout after 10 s'
    """
    shown = [f"{count} × {one_line(reason)}" for reason, count in reasons[:_REASONS_SHOWN]]
    rest = sum(count for _, count in reasons[_REASONS_SHOWN:])
    return ", ".join([*shown, f"{rest} for other reasons"] if rest else shown)


def _set_aside(notice: notices.SetAside) -> str:
    last = f" (the last of them: {notice.last})" if notice.last else ""
    return (
        f"arm {notice.arm!r} was set aside: {notice.failed} of {notice.pulls} pulls failed "
        f"({reasons_in_words(notice.reasons)}); the answer is about the other arms{last}"
    )


def _budget_over(notice: notices.BudgetOver) -> str:
    if notice.budget == "max_time":
        return f"the time of {notice.limit:g} s is over"
    if notice.budget == "max_cost":
        return f"the budget of {cost_in_words(notice.limit, notice.unit)} is used up"
    each = " of each arm" if notice.budget == "max_pulls_per_arm" else ""
    return f"the budget of {notice.limit:,.0f} pulls{each} is used up"


def _costs_unknown(notice: notices.CostsUnknown) -> str:
    taken = "what others of their arm did"
    if notice.pulls == notice.of:
        taken = "nothing"
    elif notice.silent:
        taken += f", and those of {number_of(notice.silent)} of which none said so, what a pull of other arms does"
    return (
        f"{notice.pulls:,} of {notice.of:,} pulls did not say what they cost, a number from 0 as metric "
        f"{notice.metric!r}: they are taken to have cost {taken}"
    )


def _polished(notice: notices.Polished) -> str:
    apart = ", or of how far apart the arms are where nothing is tolerated," if notice.apart else ""
    moved = f"moved by more than {percent(notice.share)} of its tolerance{apart} while the pulls of its arm doubled"
    if not notice.unsteady:
        return f"estimates are steady: none of an arm that is not out {moved}"
    steady = f"{notice.arms - notice.unsteady:,} of the {number_of(notice.arms)} that are not out"
    return f"{'polishing ended' if notice.over else 'estimates are being polished'}: of {steady}, none {moved}"


def _clusters_used_up(notice: notices.ClustersUsedUp) -> str:
    more = f" and {notice.arms - len(notice.names):,} more" if notice.arms > len(notice.names) else ""
    return (
        f"the last {notice.pulls} pulls of {joined([repr(name) for name in notice.names])}{more} fell into clusters "
        "that had been measured, where they do not count: measure in new ones (another host, day, process), or tell "
        "pulls that do not depend on each other without a cluster"
    )


def _refuted(notice: notices.ContaminationRefuted) -> str:
    contamination = percent(notice.contamination)
    return Statement.CONTAMINATION_REFUTED(arms=notice.arms, of=notice.of, contamination=contamination)


def _not_positive(notice: notices.NotPositive) -> str:
    objective = Objective(notice.objective, tolerance=notice.tolerance)
    said = objective.not_positive(notice.count, notice.of, notice.example, notice.arm)
    return f"{said}. They count as failed pulls, which could have measured anything"


def _out_of_bounds(notice: notices.OutOfBounds) -> str:
    return (
        f"{notice.count:,} of {notice.of:,} values of {notice.objective!r} do not lie between its bounds "
        f"{notice.low:g} and {notice.high:g}, such as {notice.example:g} of arm {notice.arm!r}. They count as failed "
        "pulls, which could have measured anything; if such values can be right, give wider bounds"
    )


def _exact_differs(notice: notices.ExactDiffers) -> str:
    others = f" (and {number_of(notice.arms - 1, 'arm')} more)" if notice.arms > 1 else ""
    return (
        f"{notice.objective!r} was said to be exact, but arm {notice.arm!r} has {notice.first:.10g} and "
        f"{notice.second:.10g}{others}. Nothing is assumed of its {notice.objective!r} any more; the rest of the "
        "answer stands. If it does vary, begin anew without `exact`"
    )


def _failures(notice: notices.FailuresAlarm) -> str:
    failed = "failed" if notice.objective is None else f"gave no {notice.objective!r}"
    why = f" ({reasons_in_words(notice.reasons)})" if notice.reasons else ""
    seen = (
        f"of its first {notice.of} pulls {notice.failed} {failed}"
        if notice.diluted
        else f"{notice.failed} of {notice.of} pulls {failed}{why}"
    )
    against = (
        Statement.MORE_FAILED_THAN_A_SHARE(contamination=percent(notice.contamination), allowed=notice.allowed)
        if notice.contamination and notice.allowed is not None
        else Statement.TOO_MANY_FAILED(
            contamination=percent(notice.contamination), failed=notice.failed, chance=f"{notice.chance:.2g}"
        )
        if notice.contamination
        else "without contamination none would"
    )
    return f"arm {notice.arm!r}: {seen}; {against}"


def _drift(notice: notices.DriftAlarm) -> str:
    return (
        f"arm {notice.arm!r}, {notice.objective!r}: {percent(notice.same_side)} of successive values among the "
        f"first {notice.pulls} lie on the same side of {notice.value:.4g}; "
        f"{Statement.DRIFTS(allowed=_allowed(notice.contamination), most=percent(notice.most))}: a drift, throttling, "
        "or a neighbour in bursts"
    )


def _spread(notice: notices.SpreadAlarm) -> str:
    return (
        f"arm {notice.arm!r}, {notice.objective!r}: no interval of width {notice.width:.4g}"
        f"{' in logarithms' if notice.logarithms else ''} holds more than {notice.held} of the first {notice.pulls} "
        f"values; {Statement.SPREADS(allowed=_allowed(notice.contamination), due=notice.due)}: the values are wilder "
        "than R says, or more of them are contaminated"
    )


def _allowed(contamination: float) -> str:
    return f"with at most {percent(contamination)} contamination" if contamination else "without contamination"


_LOOKS = {
    "far": "lie far from the others",
    "apart": "are a group of their own, far from the others",
    "ties": "are one and the same value, where all others differ",
}


def _looks_dirtier(notice: notices.LooksDirtier) -> str:
    declared = percent(notice.contamination) if notice.contamination else "no contamination"
    looks = f"of arm {notice.arm!r}, {percent(notice.share)} of {notice.objective!r} {_LOOKS[notice.sign]}"
    others = f"; so it is with {notice.arms} of the {notice.of} arms that decide" if notice.arms > 1 else ""
    return (
        f"a hint: the measurements look dirtier than declared ({declared}): {looks}{others}. If these are wrong, the "
        "certificate does not cover it: look at them, or declare more contamination"
    )


def _rows_differ(notice: notices.RowsDiffer) -> str:
    files = notice.between == "files"
    low, high = (
        f"{value:.4g} in {part if files else f'quarter {part} of its rows'}"
        for part, value in zip(notice.parts, notice.medians, strict=True)
    )
    others = f"; so it is with {notice.arms} of the {notice.of} arms that were looked at" if notice.arms > 1 else ""
    looks = "the files do not look alike" if files else "the rows do not look alike from the first to the last"
    why = "" if files else ": a drift, batches that differ, or rows that were sorted"
    return (
        f"a hint: {looks}: of arm {notice.arm!r}, {notice.objective!r} has the median {low} and {high} (p = "
        f"{notice.chance:.1g}){others}{why}. The answer takes all rows for measurements of one thing: if they are not, "
        f"analyse {'the files' if files else 'such parts'} apart"
    )


def _too_few_pulls(notice: notices.TooFewPulls) -> str:
    named = ", ".join(map(repr, notice.names))
    more = f" … and {notice.arms - len(notice.names):,} more" if notice.arms > len(notice.names) else ""
    counts = {"arms": f"{notice.arms:,}", "of": f"{notice.of:,}", "most": f"{notice.most:,}"}
    said = Statement.TOO_FEW_PULLS(names=named + more, **counts)
    if not notice.metrics:
        return said
    asked = {name: getattr(notice, name) for name in ("metrics", "contamination", "confidence", "first", "whole")}
    return f"{said}: {least_pulls(arms=notice.of, **asked)}"


def _looks_clustered(notice: notices.LooksClustered) -> str:
    return (
        f"a hint: rows with the same {notice.column!r} resemble each other: their {notice.objective!r} has a "
        f"correlation of {notice.correlation:.2f} (p = {notice.chance:.1g}), and there are {notice.rows:.3g} of them "
        "on average. The answer takes every row for an observation of its own, and so is surer than it should be: "
        f"--cluster {notice.column} (cluster={notice.column!r}) allows for it"
    )


def in_clusters(notice: notices.InClusters) -> str:
    """How many observations there are, and what that asks of them."""
    columns = joined([repr(each) for each in notice.columns])
    each = f"{notice.least:,}" if notice.least == notice.most else f"{notice.least:,} to {notice.most:,}"
    alike = "" if notice.correlation is None else f"; within them ranks have a correlation of {notice.correlation:.2f}"
    counted = f"{notice.rows:,} rows are {number_of(notice.clusters, 'cluster')} by {columns}, {each} of an arm{alike}."
    return f"{counted} {Statement.CLUSTERS(columns=columns)}"


def _too_few_clusters(notice: notices.TooFewClusters) -> str:
    named = ", ".join(map(repr, notice.names))
    more = f" … and {notice.arms - len(notice.names):,} more" if notice.arms > len(notice.names) else ""
    columns = joined([repr(each) for each in notice.columns])
    most = "one is" if notice.most == 1 else f"at most {notice.most:,} of them each are"
    said = Statement.TOO_FEW_CLUSTERS(
        arms=f"{notice.arms:,}", of=f"{notice.of:,}", names=named + more, columns=columns, most=most
    )
    asked = {name: getattr(notice, name) for name in ("metrics", "contamination", "confidence", "first", "whole")}
    return (
        f"{said}: {least_pulls(arms=notice.of, unit='cluster', **asked)}. Measure in more of them (of a benchmark, run "
        "it again and again, and give all files); or, if you can vouch that rows do not depend on each other, "
        "--cluster none (cluster='none')"
    )


def rows_that_count(notice: notices.RowsLeftOut) -> str:
    """Which rows count, and how many do not.

    >>> rows_that_count(notices.RowsLeftOut((("host", ("a", "b")), ("day", ("1",))), 30, 90))
    "only rows with 'host' 'a' or 'b' and 'day' '1' count; 30 of 90 rows are left out"
    """
    parts = [f"{column!r} {' or '.join(map(repr, values[:_VALUES_SHOWN]))}" for column, values in notice.where]
    if any(len(values) > _VALUES_SHOWN for _, values in notice.where):
        parts = [f"{column!r} one of {len(values)} values" for column, values in notice.where]
    left = "" if notice.rows is None or notice.of is None else f"; {notice.rows:,} of {notice.of:,} rows are left out"
    return f"only rows with {joined(parts)} count{left}"


def _arms_without_rows(notice: notices.ArmsWithoutRows) -> str:
    arms = "1 arm has" if notice.arms == 1 else f"{notice.arms} arms have"
    return f"{notice.where}: {arms} no row of any of the metrics; left out"


def _rows_without_arm(notice: notices.RowsWithoutArm) -> str:
    rows = "1 row has" if notice.rows == 1 else f"{notice.rows} rows have"
    columns, dropped = joined([repr(each) for each in notice.columns]), "; dropped" if notice.dropped else ""
    return f"{rows} no arm (column {columns} is missing or empty), the first is {notice.first}{dropped}"


def _under_way(notice: notices.UnderWay) -> str:
    pulls = (
        "1 pull is under way and counts as failed until it comes"
        if notice.pulls == 1
        else (f"{notice.pulls:,} pulls are under way and count as failed until they come")
    )
    return f"{pulls} back: those that are back already need not be like the others"


def _stopping(notice: notices.Stopping) -> str:
    pulls, them = ("1 pull that is", "it") if notice.under_way == 1 else (f"{notice.under_way} pulls that are", "them")
    why, again = ("the time is over", "Ctrl-C") if notice.why == "time" else ("stopping", "Ctrl-C once more")
    return f"{why}: waiting for {pulls} under way; {again} gives {them} up, to count as failed"


_STEPS = {"warm-up": "a warm-up", "after": "what is run after a pull", "cleanup": "the cleanup"}


def _step_failed(notice: notices.StepFailed) -> str:
    counts = "" if notice.step == "cleanup" else "; the pulls count as they are"
    return f"arm {notice.arm!r}: {_STEPS[notice.step]} failed ({notice.why}){counts}"


_SENTENCES: dict[type[notices.Notice], str | Callable[[Any], str]] = {
    notices.SpreadRefuted: lambda notice: Statement.SPREAD_REFUTED(arms=notice.arms, of=notice.of),
    notices.ContaminationRefuted: _refuted,
    notices.NotPositive: _not_positive,
    notices.OutOfBounds: _out_of_bounds,
    notices.ExactDiffers: _exact_differs,
    notices.TakenAsRate: "the values of {objective!r} are true or false: their mean, a rate, is what counts here",
    notices.SetAside: _set_aside,
    notices.BudgetOver: _budget_over,
    notices.CostsUnknown: _costs_unknown,
    notices.Polished: _polished,
    notices.NotCounted: "{pulls:,} of {of:,} told pulls do not count: of a cluster of an arm only its first pull does",
    notices.ClustersUsedUp: _clusters_used_up,
    notices.FailuresAlarm: _failures,
    notices.DriftAlarm: _drift,
    notices.SpreadAlarm: _spread,
    notices.LooksDirtier: _looks_dirtier,
    notices.RowsDiffer: _rows_differ,
    notices.LooksClustered: _looks_clustered,
    notices.TooFewPulls: _too_few_pulls,
    notices.InClusters: in_clusters,
    notices.InPairs: in_pairs,
    notices.IndependentArms: lambda _: Statement.INDEPENDENT(),
    notices.TooFewClusters: _too_few_clusters,
    notices.RowsWithoutArm: _rows_without_arm,
    notices.RowsLeftOut: rows_that_count,
    notices.ArmsWithoutRows: _arms_without_rows,
    notices.UnfinishedLine: "{where}: the last line does not end with a line break; if the file was cut there, its "
    "last row may be wrong",
    notices.UnderWay: _under_way,
    notices.AllFailed: "all of the first {pulls} pulls failed; one of arm {arm!r}: {last}",
    notices.Stopping: _stopping,
    notices.WaitingForWorkers: "waiting for a worker of the Dask cluster at {cluster}, {seconds:g} s at most",
    notices.WorkerLeftOut: "the Dask worker {worker} gets no work: it {lacks}",
    notices.StorageTrouble: "the storage cannot be read, trying again: {why}",
    notices.StepFailed: _step_failed,
    notices.CleaningUp: lambda notice: f"cleaning up {number_of(notice.arms)}",
}
"""The sentence of each kind of notice: a template of its fields, or what makes it of the notice."""
