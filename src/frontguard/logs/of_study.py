"""A study as a log: the study's own answer with what its log tells besides, or another question asked of its log.

A study's intervals are intersected over time, and may use a spread bound; its log read once may know less. So the study
itself answers what is not asked otherwise, to the bit. Read anew are robustness and other questions, from all pulls
that were handed out: those under way count as failed, or the fast ones alone would be heard. Excluded arms are no part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from frontguard._common.secrets import without_password
from frontguard._common.typing import Bools, Floats, Ints
from frontguard.errors import BadInput
from frontguard.evidence.differences.apart import IndependentLog
from frontguard.evidence.differences.pairs import pairs_of
from frontguard.evidence.measurements import Ordered
from frontguard.evidence.statistics import shares_of_ends, statistics_of
from frontguard.logs.answer import MOST_PROFILED, answer, goal_of, interval_reader, mean_front, means
from frontguard.logs.checks import UnusableCheck
from frontguard.logs.design import of_pulls
from frontguard.logs.robustness import if_cleaner, needed, profile, resolution_for
from frontguard.logs.sort import by_arm, sorted_pulls, usable_ranges
from frontguard.logs.sources.reader import BATCH, LogTable, Picked
from frontguard.notices import Excluded, IndependentArms, InPairs, Notice, UnderWay
from frontguard.pareto.judge import Verdicts, judge
from frontguard.question import Question
from frontguard.results import Answer, Intervals, LogDetails
from frontguard.studies.pulls import counted_and_held, under_way
from frontguard.studies.settings import Settings
from frontguard.studies.study import Study
from frontguard.verdicts import INFEASIBLE, Verdict

if TYPE_CHECKING:
    import polars as pl

Progress = Callable[[int, int], None]


@dataclass(frozen=True, eq=False)
class StudyLog:
    """A study at one moment: its answer, its told pulls, and the arms of those that are under way."""

    settings: Settings
    result: Answer  # in the objectives' units
    arm_of: Ints  # (n,) of the told pulls that count, in their order, by position
    values: Floats  # (n, metrics): see `Settings.columns`; NaN where one failed
    reps: Ints  # (n,): which pull of its arm each is
    under_way: Ints  # (u,) arms of pulls that were handed out and have not come back, or wait for such ones

    @property
    def excluded(self) -> Bools:
        """The arms (K,) that were excluded."""
        return np.asarray(self.result.verdict_codes == Verdict.EXCLUDED)

    @property
    def question(self) -> Question:
        """The question of the study itself."""
        return replace(self.settings.question, anytime=True)


@dataclass(frozen=True)
class Differing:
    """Differences between the log, read as it is now, and the study at the declared ε."""

    arms: int = 0  # that the study decided, and the log would leave open or decide otherwise
    front: bool = False  # whether other arms are in
    spread: bool = False  # whether the study had a spread bound


def read_study(study: Study) -> StudyLog:
    """The study as it is now."""
    state = study.state()
    told = study.storage.told(study.name, up_to=state.read)
    counted, held = counted_and_held(told, state.arm_of)
    return StudyLog(
        study.settings,
        state.result(study.alarms()),
        state.arms_of(counted.pulls),
        counted.values[:, : len(study.metrics)],  # without what they cost
        state.reps_of(counted.pulls),
        np.concatenate([held, under_way(study.storage, study.name, state.read)]),
    )


class StudyPulls(LogTable):
    """The pulls of a study, which may go on meanwhile, as a table; those under way are rows without values."""

    row_count: int

    def __init__(self, where: str, study: str | None) -> None:
        self.study = opened = Study.open(where, study, read_only=True)
        shown = f"study {opened.name!r} in {without_password(where)}"
        _, told = opened.storage.size(opened.name)
        if not told:
            opened.close()
            raise BadInput(f"{shown} has no told pulls yet")
        self.objectives = opened.objectives
        self.metrics = tuple(metric.name for metric in opened.metrics)
        super().__init__(shown, ["arm", *self.metrics], told)

    def rows(self, picked: Picked) -> Iterator[pl.DataFrame]:
        """The pulls that were told, in their order, and then those that are under way."""
        import polars as pl

        log = read_study(self.study)
        self.study.close()
        names = pl.Series(self.study.arms, dtype=pl.String).gather(np.concatenate([log.arm_of, log.under_way]))
        values = np.pad(log.values, ((0, len(log.under_way)), (0, 0)), constant_values=np.nan)
        numbers = {metric: values[:, self.metrics.index(metric)] for metric in picked.numbers}
        yield from pl.DataFrame(dict.fromkeys(picked.texts, names) | numbers).iter_slices(BATCH)


def own_answer(
    log: StudyLog, *, profiled: bool | None = None, ahead: bool = False, progress: Progress | None = None
) -> tuple[Answer, Differing]:
    """The study's result with what its log tells besides, and where the two readings of the log differ.

    An arm whose verdict the log does not give at the declared ε has no figure in the profile. `ahead`: also how many
    more pulls would settle what is open. `progress` is told how many of the shares ε are done.
    """
    result, settings = log.result, log.settings
    told = result.pulls  # what came back after the study had stopped is no part of its answer
    columns, M = settings.question.columns, len(settings.question.objectives)
    ordered = sorted_pulls(settings.arms, columns.metrics, log.arm_of[:told], log.values[:told], columns.boxed)
    among = ~log.excluded if result.limits is None else ~log.excluded & (result.limits.of_arms != INFEASIBLE)
    averages = means(ordered, settings.question.objectives)
    details = LogDetails(
        failed=ordered.failed.T[:, :M],
        failed_pulls=ordered.failed_pulls,
        means=averages,
        mean_front=mean_front(averages, settings.question.objectives, among),
    )
    kept = np.flatnonzero(~log.excluded)
    wanted = len(kept) <= MOST_PROFILED if profiled is None else profiled
    if not len(kept) or not len(log.arm_of):
        return replace(result, log=details), Differing()
    question, goal = log.question, goal_of(log.question)
    ordered, delta = measured(log, kept, question)
    whole = len(kept) == len(settings.arms)
    counted = statistics_of(columns.boxed)
    shared = shares_of_ends(delta, len(settings.arms), counted, one_best=question.one_by_one)
    if shared.best and not whole:  # the best of those that are left is not known
        delta *= 0.5
    one_best = whole and question.one_by_one
    reader = interval_reader(ordered, columns.boxed, delta, anytime=True, one_best=one_best)
    place = np.full(len(settings.arms) + 1, -1)  # the last stands for "none", which is −1
    place[kept] = np.arange(len(kept))
    codes = result.verdict_codes[kept]
    own = Verdicts(codes, place[result.decided_by[kept]], codes == Verdict.KEEP, np.inf, np.inf)
    if ahead and own.undecided.any():
        come_back = sorted_log(log, kept, question, begun=False)
        foreseen = interval_reader(come_back, columns.boxed, delta, anytime=True, one_best=one_best)
        more = needed(foreseen, question.threat, own, **goal)
        details = replace(details, needed=more.among(kept))
    if not wanted:
        return replace(result, log=details), Differing()
    if own.undecided.any():
        cleaner = if_cleaner(reader, question.threat, codes, **goal)
        details = replace(details, if_cleaner=tuple(each.among(kept, len(settings.arms)) for each in cleaner))
    read = judge(reader.read(question.threat), **goal).codes
    step, least = resolution_for(len(kept)), question.threat.least
    in_all = round((0.5 - least) / step)

    def tell(reached: float) -> None:
        if progress is not None:
            progress(min(round((reached - least) / step), in_all), in_all)

    stands = profile(reader, question.threat, **goal, resolution=step, progress=tell)
    per_arm = np.full(len(settings.arms), np.nan)
    per_arm[kept] = np.where(read == own.codes, stands.per_arm, np.nan)
    same_front = np.array_equal(read == Verdict.KEEP, own.codes == Verdict.KEEP)
    stands = replace(stands, per_arm=per_arm, front=stands.front if same_front else np.nan)
    differ = int(((read != own.codes) & (own.codes != Verdict.UNDECIDED)).sum())
    differing = Differing(differ, not same_front, settings.question.spread is not None)
    return replace(result, log=replace(details, profile=stands)), differing


def other_answer(log: StudyLog, question: Question, *, profiled: bool | None = None) -> Answer:
    """Answer another question than the study's own, with bounds that hold at every moment."""
    kept = np.flatnonzero(~log.excluded)
    if not len(kept):
        raise BadInput("every arm of the study was excluded: nothing is left that its log could be asked about")
    notes: list[Notice] = [each for each in log.result.notices if isinstance(each, Excluded)]
    # What is left of a list that was measured depends on ε.
    notes += [replace(each, complete=0) for each in log.result.notices if isinstance(each, InPairs)]
    if len(log.under_way):
        notes.append(UnderWay(len(log.under_way)))
    if question.independent:
        notes.append(IndependentArms(len(log.settings.arms)))
    # Values that these objectives cannot use were measured, and may do for others.
    check = UnusableCheck(question.objectives, [metric.name for metric in log.settings.question.columns.metrics])
    check.add(list(log.values.T), lambda row: log.settings.arms[int(log.arm_of[row])])
    notes += check.notices()
    ordered, delta = measured(log, kept, question)
    come_back = sorted_log(log, kept, question, begun=False)
    whole = len(kept) == len(log.settings.arms)
    found = answer(
        ordered, question, delta=delta, profiled=profiled, notes=tuple(notes), come_back=come_back, one_best=whole
    )
    found = found if whole else _with_excluded(found, log, kept)
    return replace(found, parts=log.result.parts)


def _with_excluded(found: Answer, log: StudyLog, kept: Ints) -> Answer:
    """The answer about the `kept` arms as one about all, with those that were excluded as such."""
    arms, objectives, question = log.settings.arms, found.metrics, found.question
    assert question is not None  # it is the answer of an analysis
    assert found.log is not None
    every = sorted_log(log, np.arange(len(arms)), question)

    def filled(table: npt.NDArray[Any], rest: float) -> Any:
        whole = np.full((len(arms), *table.shape[1:]), rest, table.dtype)
        whole[kept] = table
        return whole

    pairs = found.pairs
    if pairs is not None:
        pairs = np.full((len(arms), len(arms), len(objectives)), np.inf)
        pairs[np.ix_(kept, kept)] = found.pairs
    excluded = tuple(arms[arm] for arm in np.flatnonzero(log.excluded).tolist())
    return replace(
        found,
        arms=arms,
        verdict_codes=filled(found.verdict_codes, int(Verdict.EXCLUDED)),
        decided_by=filled(np.where(found.decided_by >= 0, kept[found.decided_by], -1), -1),
        inner=Intervals(
            estimates=filled(found.inner.estimates, np.nan),
            lower=filled(found.inner.lower, -np.inf),
            upper=filled(found.inner.upper, np.inf),
        ),
        pulls_per_arm=every.pulls,
        guess=None if found.guess is None else found.guess.among(kept, len(arms)),
        limits=None if found.limits is None else found.limits.among(kept, len(arms)),
        apart=None if found.apart is None else filled(found.apart, np.inf),
        pairs=pairs,
        certificate=replace(found.certificate, excluded=excluded),
        outlook=None if found.outlook is None else replace(found.outlook, excluded=excluded),
        log=LogDetails(
            failed=every.failed.T[:, : len(objectives)],
            failed_pulls=every.failed_pulls,
            means=means(every, objectives),
            mean_front=filled(found.log.mean_front, False),
            profile=found.log.profile and replace(found.log.profile, per_arm=filled(found.log.profile.per_arm, np.nan)),
            needed=None if found.log.needed is None else found.log.needed.among(kept),
            if_cleaner=tuple(each.among(kept, len(arms)) for each in found.log.if_cleaner),
        ),
    )


def measured(log: StudyLog, kept: Ints, question: Question) -> tuple[Ordered, float]:
    """The log of some arms, and their part of δ: exclusion depends on data, but all intervals hold at once."""
    ordered = sorted_log(log, kept, question)
    return ordered, question.delta * len(kept) / len(log.settings.arms)


def sorted_log(log: StudyLog, kept: Ints, question: Question, *, begun: bool = True) -> Ordered:
    """The pulls of some arms, sorted by arm in the study's order; all that were `begun`, or those that came back."""
    columns = question.columns
    out = log.under_way if begun else log.under_way[:0]
    place = np.full(len(log.settings.arms), -1)
    place[kept] = np.arange(len(kept))
    names = [metric.name for metric in log.settings.question.columns.metrics]
    wanted = [names.index(metric.name) for metric in columns.metrics]
    arm_of = place[np.concatenate([log.arm_of, out])]
    values = np.concatenate([log.values[:, wanted], np.full((len(out), len(wanted)), np.nan)])
    some = arm_of >= 0
    arms = [log.settings.arms[arm] for arm in kept.tolist()]
    usable = usable_ranges([each.name for each in columns.metrics], columns.boxed)
    ordered = by_arm(arms, [each.name for each in columns.metrics], arm_of[some], list(values[some].T), usable)
    if question.independent:
        return IndependentLog.of(ordered, arms_of_study=len(log.settings.arms), declared=question.threat)
    asked, told = log.settings.question, some[: len(log.arm_of)]
    if not asked.paired or not (asked.items or pairs_of(statistics_of(columns.boxed)).any()):
        return ordered
    return of_pulls(
        ordered, arm_of[: len(told)][told], log.reps[told], values[: len(told)][told], usable,
        items=asked.items or 0, arms=len(log.settings.arms),
    )  # fmt: skip
