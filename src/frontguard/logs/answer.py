"""The answer to a question about sorted measurements: verdicts, what they guarantee, how robust they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeGuard

import numpy as np

from frontguard._common.machine import side_by_side
from frontguard._common.typing import Bools, Floats, Ints
from frontguard.comparisons.outcomes import LeastFound
from frontguard.evidence.clusters import Clustered, ClusterReader
from frontguard.evidence.differences.apart import IndependentLog, IndependentReader
from frontguard.evidence.differences.pairs import PairedLog, PairReader
from frontguard.evidence.exact import ExactValue
from frontguard.evidence.intervals import ArmIntervals, first_and_whole
from frontguard.evidence.measurements import Ordered
from frontguard.evidence.readers import IntervalReader
from frontguard.logs.checks import refuse_ties
from frontguard.logs.design import in_pairs
from frontguard.logs.robustness import if_cleaner, needed
from frontguard.logs.robustness import profile as robustness
from frontguard.logs.sources.reader import parts_of
from frontguard.notices import (
    ExactDiffers,
    IndependentArms,
    LooksDirtier,
    Notice,
    SizesMatter,
    TooFewClusters,
    TooFewPulls,
)
from frontguard.objectives import Objective, refuse_forgotten_percent, tolerances
from frontguard.pareto.dominance import dominators
from frontguard.pareto.judge import Verdicts, front_of_estimates, judge, promised_now
from frontguard.pareto.relations import Goal, LimitRule, keeping_of, rival_bounds
from frontguard.question import AUTO, Question
from frontguard.results import Answer, Certificate, Guess, IfCleaner, Intervals, Kept, LogDetails, Needed
from frontguard.studies.alarms import MOST_VALUES, SampleLook, arms_that_matter, dirtier_than, look_at
from frontguard.verdicts import INFEASIBLE, Verdict

MOST_PROFILED = 20_000
"""Arms up to which the robustness profile is made unless it is asked for: beyond, it takes longer than the answer."""

_MANY = 1_000
"""Arms from which on it pays to do two things at once."""


def goal_of(question: Question) -> dict[str, Any]:
    """γ, c and the margin, as inner values (M,), list or front, and limits, if there are any; see `Certified`."""
    accuracy = tolerances(question.objectives)
    coverage = accuracy if question.coverage is None else np.array(question.coverage)
    margin = Goal.of(accuracy, coverage, question.goal).margin
    limits = LimitRule.of(question.columns.gates) if question.limits else None
    return {"accuracy": accuracy, "coverage": coverage, "margin": margin, "goal": question.goal, "limits": limits}


def as_designed(
    log: Ordered, question: Question, compared: Sequence[tuple[int, int]] = ()
) -> tuple[Ordered, tuple[Notice, ...]]:
    """The log with its pairs (`compared`, or all) or independent arms, as asked; and what is to be said of it."""
    if question.pair and isinstance(log, Clustered):
        return in_pairs(log, question, compared)
    if question.independent:
        independent = IndependentLog.of(log, ordered_pairs=2 * len(compared), declared=question.threat)
        return independent, (IndependentArms(len(log.pulls)),)
    return log, ()


def interval_reader(
    ordered: Ordered, objectives: Sequence[Objective], delta: float, *, anytime: bool, one_best: bool = False
) -> IntervalReader:
    """Return the reader of intervals for the design; `one_best`: all arms are compared, whichever are there."""
    kinds = ((PairedLog, PairReader), (Clustered, ClusterReader), (IndependentLog, IndependentReader))
    kind = next((reader for log, reader in kinds if isinstance(ordered, log)), IntervalReader)
    alone = kind in (IntervalReader, ClusterReader)  # elsewhere pairs say what it takes
    return kind(ordered, objectives, delta, anytime=anytime, one_best=one_best and alone)


def answer(
    ordered: Ordered,
    question: Question,
    *,
    delta: float | None = None,
    profiled: bool | None = None,
    kind: Any = None,
    notes: tuple[Notice, ...] = (),
    come_back: Ordered | None = None,
    columns_of_arm: Sequence[str] = (),
    one_best: bool | None = None,
) -> Answer:
    """The analysis of sorted measurements; `delta` is what is left of δ for the intervals.

    `one_best`: which arms there are depends neither on what was measured nor on when one looks; not known of a log that
    grows. `come_back`: the pulls that are not under way, for what more would bring. `columns_of_arm`: those joined to
    names.
    """
    refuse_ties(ordered, question)
    delta = question.delta if delta is None else delta
    goal = goal_of(question)
    boxed, M = question.columns.boxed, len(question.objectives)
    one_best = question.one_by_one and (not question.anytime if one_best is None else one_best)
    reader = interval_reader(ordered, boxed, delta, anytime=bool(question.anytime), one_best=one_best)
    intervals = reader.read(question.threat)
    refuse_forgotten_percent(question.objectives, intervals.estimates[:, :M], "the largest estimate")
    verdicts = judge(intervals, **goal)
    kept = kept_by(intervals, question)
    wanted = len(ordered.pulls) <= MOST_PROFILED if profiled is None else profiled
    wanted |= question.contamination == AUTO
    failed = ordered.failed[[ordered.metrics.index(objective.name) for objective in question.objectives]].T
    averages = means(ordered, question.objectives)
    least = first_and_whole(reader.first_bounded(question.threat)[: 2 * M])

    def foreseen() -> Needed | None:
        if not verdicts.undecided.any():
            return None
        ahead = reader
        if come_back is not None:
            ahead = interval_reader(come_back, boxed, delta, anytime=bool(question.anytime), one_best=one_best)
        return needed(ahead, question.threat, verdicts, **goal)

    def seen() -> tuple[tuple[Floats, Floats], Guess | None, Bools]:
        guess = None
        if not verdicts.front.any():
            # That is of clusters, and not of pulls; and pairs, or a list, may say something sooner.
            counted = (None, None) if _in_clusters(ordered) or isinstance(ordered, PairedLog) else least
            guess = Guess(front_of_estimates(intervals.estimates, verdicts.codes != Verdict.BEATEN, **goal), *counted)
        within = None if kept is None else kept.of_arms != INFEASIBLE
        return _outlook(intervals, verdicts, question), guess, mean_front(averages, question.objectives, within)

    more, (outlook, guess, best_means) = side_by_side(
        lambda part: part(), (foreseen, seen), threads=len(ordered.pulls) >= _MANY
    )
    cleaner: tuple[IfCleaner, ...] = ()
    if wanted and verdicts.undecided.any():
        cleaner = if_cleaner(reader, question.threat, verdicts.codes, **goal)
    # No number of pulls would decide what a limit other than their number keeps open.
    status = "certified" if more is None else "budget" if (more.limit <= 1).any() else "unreachable"
    exact = np.array([objective.exact for objective in question.objectives])
    found = Answer(
        policy="analysis",
        status=status,
        arms=tuple(ordered.arms),
        parts=parts_of(ordered.arms, columns_of_arm),
        objectives=tuple(objective.name for objective in question.objectives),
        verdict_codes=verdicts.codes,
        inner=inner_of(intervals, M),
        pulls_per_arm=ordered.pulls,
        decided_by=verdicts.decided_by,
        certificate=_certificate(question, promised_now(intervals, verdicts, **goal, exact=exact), len(ordered.pulls)),
        outlook=_certificate(question, outlook, len(ordered.pulls)),
        notices=(
            *notes,
            *exact_differs(reader, M),
            *sizes_matter(reader, intervals, M),
            *too_few(ordered, reader.unknown(intervals, M).nonzero()[0], question, least),
            *looks_dirtier(ordered, question, verdicts),
        ),
        anytime=bool(question.anytime),
        guess=guess,
        apart=None if intervals.apart is None else rival_bounds(intervals.as_columns(), verdicts.decided_by, M),
        pairs=None if intervals.apart is None else intervals.apart[:, :, :M],
        goal=question.goal,
        question=question,
        foreseen=_foreseen(reader, verdicts, question),
        log=LogDetails(
            failed=failed,
            # Of some of the metrics only it is not known which failed together: so many pulls it is at least.
            failed_pulls=ordered.failed_pulls
            if len(question.columns.metrics) == len(ordered.metrics)
            else failed.max(axis=1),
            means=averages,
            mean_front=best_means,
            profile=robustness(reader, question.threat, **goal) if wanted else None,
            needed=more,
            if_cleaner=cleaner,
            kind=kind,
        ),
    )
    return found.keeping_to(kept).in_units(question.objectives)


def _foreseen(reader: IntervalReader, verdicts: Verdicts, question: Question) -> tuple[LeastFound, ...]:
    """Return what as many pairs of 0 and 1 find, of the undecided arm in the middle and the one that decides it."""
    still = np.flatnonzero(verdicts.undecided & (verdicts.decided_by >= 0))
    if not isinstance(reader, PairReader) or not len(still):
        return ()
    arm = still[len(still) // 2]
    pair = [[int(arm), int(verdicts.decided_by[arm])]]
    told = [(each, reader.least_found(d, pair, question.threat)) for d, each in enumerate(question.objectives)]
    return tuple(LeastFound.of(metric, *found) for metric, found in told if found is not None and found[0])


def kept_by(intervals: ArmIntervals, question: Question) -> Kept | None:
    """Feasibility of arms with these intervals, by the limits of a question; None if it has none."""
    if not question.limits:
        return None
    gates = question.columns.gates
    rule = LimitRule.of(gates)
    return Kept(gates, keeping_of(intervals.lower, intervals.upper, rule), inner_of(intervals, rule.columns))


def means(ordered: Ordered, objectives: Sequence[Objective]) -> Floats:
    """Means (K, M) of the values that did not fail, in the metrics' own units; NaN where all failed."""
    return np.stack([ordered.mean(ordered.metrics.index(objective.name)) for objective in objectives], axis=1)


def mean_front(averages: Floats, objectives: Sequence[Objective], among: Bools | None = None) -> Bools:
    """The arms (K,), `among` some, that a comparison of means (K, M) would call the front."""
    inner = np.where([objective.minimized for objective in objectives], -averages, averages)
    front = np.asarray(np.isfinite(inner).all(axis=1))  # what overflowed is left aside as well
    if among is not None:
        front &= among
    some = np.flatnonzero(front)
    front[some] = dominators(inner[some], inner[some]) < 0
    return front


def inner_of(intervals: ArmIntervals, columns: int | Ints | None = None) -> Intervals:
    """Return the inner values of intervals, of all or some `columns`; no estimate where nothing was measured."""
    some = slice(columns) if columns is None or isinstance(columns, int) else columns
    estimates = intervals.estimates[:, some]
    unknown = np.isneginf(estimates)
    return Intervals(np.where(unknown, np.nan, estimates), intervals.lower[:, some], intervals.upper[:, some])


def _certificate(question: Question, amounts: tuple[Floats, Floats], arms: int) -> Certificate:
    accuracy, coverage = (tuple(np.maximum(amount, 0.0).tolist()) for amount in amounts)
    return Certificate(
        accuracy=accuracy,
        coverage=coverage,
        confidence=question.confidence,
        threat=question.threat.name,
        contamination=question.threat.eps,
        by_column=question.threat.by_column,
        arms=arms,
    )


def _outlook(intervals: ArmIntervals, verdicts: Verdicts, question: Question) -> tuple[Floats, Floats]:
    """Accuracy and coverage (M,) with which nothing would be open.

    Of a list, those of the candidates for the front are enough: what they decide of it, they decide of the list
    (docs/theory.md (r)).
    """
    slacks, goal = (verdicts.accuracy_slack, verdicts.coverage_slack), goal_of(question)
    # Of two arms that are not bounded from above one is a rival of every candidate, on the list or the front.
    unbounded = np.isposinf(intervals.upper).all(axis=1).sum() > 1
    if question.goal != "front" and not unbounded and verdicts.undecided.any():
        other = judge(intervals, **goal_of(replace(question, goal="front")))
        slacks = min(slacks, (other.accuracy_slack, other.coverage_slack), key=max)
    return goal["accuracy"] + slacks[0], goal["coverage"] + slacks[1]


def looks_dirtier(ordered: Ordered, question: Question, verdicts: Verdicts) -> tuple[LooksDirtier, ...]:
    """A hint where the samples of arms that matter look far dirtier than declared."""
    arms = arms_that_matter(verdicts.codes, verdicts.decided_by, ordered.pulls)
    found = dirtier_than(question.contaminations, _looks(ordered, question.objectives, arms))
    return () if found is None else (found,)


def _looks(ordered: Ordered, objectives: tuple[Objective, ...], arms: Ints) -> Iterator[tuple[str, str, SampleLook]]:
    """Looks at arms by values at evenly spread ranks, one read a metric; not of means, whose rare 0s look wrong."""
    for objective in objectives:
        if objective.statistic == "mean" or objective.exact:
            continue
        column = ordered.metrics.index(objective.name)
        good = ordered.good[column][arms]
        places = [np.linspace(1, count, min(count, MOST_VALUES)).astype(np.int64) for count in good.tolist()]
        counts = [len(each) for each in places]
        if not sum(counts):
            continue
        values = ordered.at(column, np.repeat(arms, counts), np.concatenate(places))
        for arm, some in zip(arms.tolist(), np.split(values, np.cumsum(counts)[:-1]), strict=True):
            yield ordered.arms[arm], objective.name, look_at(some)


def _in_clusters(ordered: Ordered) -> TypeGuard[Clustered]:
    return isinstance(ordered, Clustered) and bool(ordered.dependent.any())


def exact_differs(reader: IntervalReader, objectives: int) -> Iterator[ExactDiffers]:
    """Yield a notice for each objective that was declared exact and is not."""
    for kind in reader.kinds[:objectives]:
        if isinstance(kind, ExactValue):
            arms, values = kind.differing()
            if len(arms):
                name = reader.ordered.arms[int(arms[0])]
                yield ExactDiffers(kind.objective.name, name, len(arms), *values[0].tolist())


def sizes_matter(reader: IntervalReader, intervals: ArmIntervals, objectives: int) -> Iterator[SizesMatter]:
    """Yield a notice if all rows of an arm say something else than its clusters."""
    if _in_clusters(reader.ordered):
        outside = reader.outside(intervals)[:, :objectives]
        for arm, d in np.argwhere(outside)[:1].tolist():
            yield SizesMatter(reader.ordered.arms[arm], reader.objectives[d].name, int(outside.any(axis=1).sum()))


def too_few(
    ordered: Ordered, unknown: Ints, question: Question, least: tuple[int | None, int | None]
) -> tuple[Notice, ...]:
    """The notice that arms have too few rows: nothing is known of the `unknown` ones."""
    if not len(unknown) or isinstance(ordered, PairedLog):
        return ()
    asked: dict[str, Any] = {
        "names": tuple(ordered.arms[i] for i in unknown[:3].tolist()), "arms": len(unknown), "of": len(ordered.pulls),
        "metrics": len(question.columns.boxed), "confidence": question.confidence,
        "contamination": question.threat.eps, "first": least[0], "whole": least[1],
    }  # fmt: skip
    if _in_clusters(ordered):
        return (TooFewClusters(columns=ordered.columns, most=int(ordered.clusters[unknown].max()), **asked),)
    return (TooFewPulls(most=int(ordered.pulls[unknown].max()), **asked),)
