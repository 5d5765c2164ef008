"""The answer to a question about sorted measurements: verdicts, what they guarantee, how robust they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from frontguard._typing import Floats, Ints
from frontguard.evidence.boxes import ArmBoxes, checked_statistics, first_and_whole
from frontguard.evidence.statistics import statistics_of
from frontguard.logs.analysis import Analysis
from frontguard.logs.boxes import BoxReader, mean_front, means
from frontguard.logs.more_pulls import Needed, needed
from frontguard.logs.profile import profile as robustness
from frontguard.logs.sort.ordered import Readable
from frontguard.logs.ties import refuse_ties
from frontguard.logs.what_if import WhatIf, what_if
from frontguard.notices import ExactDiffers, LooksDirtier, Notice, TooFewPulls
from frontguard.objectives import Objective, tolerances
from frontguard.pareto.judge import Verdicts, front_of_estimates, judge, promised_now
from frontguard.results import ArmParts, Certificate, Guess, Inner
from frontguard.suspects import MOST_VALUES, SampleLook, arms_that_matter, dirtier_than, look_at
from frontguard.theory.threats import Threat
from frontguard.verdicts import Verdict

MOST_PROFILED = 20_000
"""Arms up to which the robustness profile is made unless it is asked for: beyond, it takes longer than the answer."""


@dataclass(frozen=True)
class Question:
    """What is asked of a log, whatever it holds."""

    objectives: tuple[Objective, ...]
    threat: Threat
    confidence: float = 0.95
    coverage: tuple[float, ...] | None = None  # inner values; as the tolerances unless given
    anytime: bool = False

    def __post_init__(self) -> None:
        """Refuse what cannot be answered under the threat model, before a log is read."""
        checked_statistics(statistics_of(self.objectives), 0.5, len(self.objectives), self.threat)

    @property
    def delta(self) -> float:
        """δ."""
        return round(1.0 - self.confidence, 12)

    def goal(self) -> dict[str, Floats]:
        """γ, c and the margin, as inner values (M,); see `Certified`."""
        accuracy = tolerances(self.objectives)
        coverage = accuracy if self.coverage is None else np.array(self.coverage)
        return {"accuracy": accuracy, "coverage": coverage, "margin": np.maximum(accuracy - coverage, 0.0) / 2}


def answer(
    ordered: Readable,
    question: Question,
    *,
    delta: float | None = None,
    profiled: bool | None = None,
    kind: Any = None,
    notes: tuple[Notice, ...] = (),
    come_back: Readable | None = None,
    columns_of_arm: Sequence[str] = (),
) -> Analysis:
    """The analysis of sorted measurements; `delta` is what is left of δ for the boxes.

    `come_back`: where some pulls count as failed that are only under way, the others, from which it is foreseen what
    more pulls would bring. `columns_of_arm`: those that were joined to the names of arms.
    """
    refuse_ties(ordered, question.objectives)
    delta = question.delta if delta is None else delta
    goal: dict[str, Any] = dict(question.goal())
    reader = BoxReader(ordered, question.objectives, delta, anytime=question.anytime)
    boxes = reader.read(question.threat)
    verdicts = judge(boxes, **goal)
    more = None
    if verdicts.undecided.any():
        ahead = (
            reader if come_back is None else BoxReader(come_back, question.objectives, delta, anytime=question.anytime)
        )
        more = needed(ahead, question.threat, verdicts, **goal)
    wanted = len(ordered.pulls) <= MOST_PROFILED if profiled is None else profiled
    columns = [ordered.metrics.index(objective.name) for objective in question.objectives]
    failed = (ordered.pulls - ordered.good[columns]).T
    averages = means(ordered, question.objectives)
    least = first_and_whole(reader.first_bounded(question.threat))
    guess = None
    if not verdicts.front.any():
        guess = Guess(front_of_estimates(boxes.estimates, verdicts.codes != Verdict.OUT, **goal), *least)
    otherwise: tuple[WhatIf, ...] = ()
    if wanted and verdicts.undecided.all():
        otherwise = what_if(reader, delta, question.threat, question.confidence, goal)
    return Analysis(
        policy="analysis",
        status=_status(verdicts, more),
        arms=tuple(ordered.arms),
        parts=_parts(ordered.arms, columns_of_arm),
        objectives=tuple(objective.name for objective in question.objectives),
        verdict_codes=verdicts.codes,
        inner=Inner(
            np.where(np.isneginf(boxes.estimates), np.nan, boxes.estimates), lower=boxes.lower, upper=boxes.upper
        ),
        pulls_per_arm=ordered.pulls,
        decided_by=verdicts.decided_by,
        certificate=_certificate(question, goal, promised_now(boxes, verdicts, **goal), len(ordered.pulls)),
        outlook=_certificate(question, goal, (verdicts.accuracy_slack, verdicts.coverage_slack), len(ordered.pulls)),
        notices=(
            *notes,
            *_exact_differs(reader),
            *_too_few(reader, boxes, question, least),
            *looks_dirtier(ordered, question, verdicts),
        ),
        failed=failed,
        # Of some of the metrics only it is not known which failed together: so many pulls it is at least.
        failed_pulls=ordered.failed_pulls if len(columns) == len(ordered.metrics) else failed.max(axis=1),
        means=averages,
        mean_front=mean_front(averages, question.objectives),
        profile=robustness(reader, question.threat, **goal) if wanted else None,
        needed=more,
        anytime=question.anytime,
        kind=kind,
        guess=guess,
        what_if=otherwise,
    ).in_units(question.objectives)  # type: ignore[return-value]


def _parts(arms: Sequence[str], columns: Sequence[str]) -> ArmParts | None:
    if len(columns) < 2:
        return None
    from frontguard.logs.sources.columns import parts_of  # which needs Arrow

    return parts_of(arms, columns)


def _status(verdicts: Verdicts, more: Needed | None) -> str:
    """certified if every arm is decided, unreachable if no number of pulls would decide one, else budget."""
    if more is None:
        return "certified"
    return "budget" if (more.limit <= 1).any() else "unreachable"


def _certificate(question: Question, goal: dict[str, Floats], slacks: tuple[float, float], arms: int) -> Certificate:
    accuracy, coverage = (
        tuple(np.maximum(goal[name] + slack, 0.0).tolist())
        for name, slack in zip(("accuracy", "coverage"), slacks, strict=True)
    )
    return Certificate(
        accuracy=accuracy,
        coverage=coverage,
        confidence=question.confidence,
        threat=question.threat.name,
        contamination=question.threat.eps,
        arms=arms,
    )


def looks_dirtier(ordered: Readable, question: Question, verdicts: Verdicts) -> tuple[LooksDirtier, ...]:
    """A hint where the samples of arms that matter look far dirtier than declared."""
    arms = arms_that_matter(verdicts.codes, verdicts.decided_by, ordered.pulls)
    found = dirtier_than(question.threat.eps, _looks(ordered, question.objectives, arms))
    return () if found is None else (found,)


def _looks(ordered: Readable, objectives: tuple[Objective, ...], arms: Ints) -> Iterator[tuple[str, str, SampleLook]]:
    """How these arms look by values at ranks that are spread evenly: one read a metric.

    Means are not looked at: of values that are 0 or 1, the rare ones would always look wrong.
    """
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


def _exact_differs(reader: BoxReader) -> Iterator[ExactDiffers]:
    """Where an objective that was declared exact is not."""
    for d, objective in enumerate(reader.objectives):
        if objective.exact:
            arms, values = reader.differing(d)
            if len(arms):
                name = reader.ordered.arms[int(arms[0])]
                yield ExactDiffers(objective.name, name, len(arms), *values[0].tolist())


def _too_few(
    reader: BoxReader, boxes: ArmBoxes, question: Question, least: tuple[int | None, int | None]
) -> tuple[TooFewPulls, ...]:
    """What keeps a log from saying more than it does."""
    ordered, unknown = reader.ordered, np.flatnonzero(reader.unknown(boxes))
    if not len(unknown):
        return ()
    names = tuple(ordered.arms[i] for i in unknown[:3].tolist())
    return (
        TooFewPulls(
            names,
            arms=len(unknown),
            of=len(ordered.pulls),
            most=int(ordered.pulls[unknown].max()),
            metrics=len(question.objectives),
            confidence=question.confidence,
            contamination=question.threat.eps,
            first=least[0],
            whole=least[1],
        ),
    )
