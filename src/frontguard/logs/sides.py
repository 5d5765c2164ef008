"""A gate on what was already measured: each arm of a log against the one of the same name in the baseline's log.

What is compared becomes one log, whose arms share δ: it may have pairs, lists, independent arms, clusters and limits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar, Unpack

import numpy as np

from frontguard._common.typing import Floats, Ints
from frontguard.comparisons.outcomes import (
    Check,
    Cleaner,
    Foreseen,
    GateDetails,
    GatePair,
    LimitCheck,
    Outcome,
    gate_pair,
    least_found,
    outcomes_between,
    outcomes_of_checks,
    up_to,
)
from frontguard.errors import BadArgument, BadInput
from frontguard.evidence.clusters import Clustered
from frontguard.evidence.differences.pairs import PairedLog, PairReader
from frontguard.evidence.differences.two_sample import (
    CheckBounds,
    check_bounds,
    checkable,
    least_observations,
    sample_of,
    sample_quantiles,
    with_suites,
)
from frontguard.evidence.intervals import ArmIntervals, first_and_whole
from frontguard.evidence.measurements import ComparedLog, Ordered
from frontguard.evidence.power import SampleTest
from frontguard.evidence.readers import IntervalReader
from frontguard.evidence.statistics import noisy, statistic_of
from frontguard.logs.analyze import AskedOfLog, Asking, sorted_rows, split
from frontguard.logs.answer import as_designed, exact_differs, inner_of, interval_reader, kept_by, sizes_matter, too_few
from frontguard.logs.checks import in_clusters, measured_between, refuse_ties
from frontguard.logs.robustness import FINEST, levels_from
from frontguard.logs.sort import ArmNames, Clock, Watcher, starts_of
from frontguard.logs.sources import open_log
from frontguard.notices import InClusters, Notice, OneAfterTheOther
from frontguard.objectives import Objective, refuse_forgotten_percent, tolerances
from frontguard.pareto.relations import LimitRule, keeping_of
from frontguard.phrases import did_you_mean, quoted, shown
from frontguard.question import Entry, Question
from frontguard.results import Answer, Certificate
from frontguard.theory.threats import Threat
from frontguard.verdicts import Verdict

if TYPE_CHECKING:
    from frontguard.studies.study import Study

AnyCheck = TypeVar("AnyCheck", Check, LimitCheck)


def gate(
    baseline: Any,
    /,
    *candidates: Any,
    baseline_arm: str | None = None,
    arm: str | Sequence[str] | None = None,
    objectives: Iterable[Entry] | None = None,
    threat: Threat | str | None = None,
    question: Question | None = None,
    profile: bool = True,
    where: Mapping[str, Any] | None = None,
    labels: Sequence[str] | None = None,
    progress: Watcher | None = None,
    **given: Unpack[AskedOfLog],
) -> Answer:
    """Return of each candidate, in each metric, whether it is certainly worse than the baseline, not worse, or open.

    Parameters
    ----------
    baseline, candidates
        Logs as `analyze` takes them, but for studies and states. Arms of the same name are compared; where each log has
        a single arm, these are, whatever they are called.
    baseline_arm
        Of a single log, the arm with which all its others are compared; also as `baseline=`.
    arm, objectives, threat, question, where
        As in `analyze`, and so is all else that is asked (`frontguard.question.Asked`); all candidates and metrics
        share the confidence. The tolerance is 5% unless given, of a mean 5% of what its bounds span.
    profile
        Whether to find up to which ε each outcome stands.
    labels
        What the logs are called in the answer, the baseline's first; by their files unless given.
    progress
        Called now and then with how far it is.
    layout, format, metric_column, value_column, decimal, missing_arms, study
        How rows are read: see `frontguard.logs.sources.open_log`.

    Returns
    -------
    Answer
        `gate` has each check and the outcome: its `word` is worse, not worse or open.

    Raises
    ------
    BadInput
        A log cannot be read, or the logs have nothing to compare.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> main, pr = ({"arm": ["sort"] * 200, "ms": rng.normal(mean, 0.2, 200)} for mean in (10, 11))
    >>> found = gate(main, pr, minimize="ms", tolerance="2%")
    >>> found.gate.outcome.word, found.gate.holds_up_to
    ('worse', 0.49)
    """
    asked, reading = split(given, gate)
    baseline_arm = asked.pop("baseline", None) if baseline_arm is None else baseline_arm
    if not candidates and baseline_arm is None:
        raise BadInput("wanted a log to compare with the baseline's, or, of a single log, the arm that is the baseline")
    if candidates and baseline_arm is not None:
        raise BadArgument("baseline", f"an arm is named where one log has them all; got {len(candidates) + 1} logs")
    asking = Asking(question, objectives, threat, asked, tolerant=True)
    read = partial(_read, asking=asking, where=where, progress=progress, clusters=ArmNames(), reading=reading)
    sides = _sides((baseline, *candidates), arm, read)
    if labels is not None:
        sides = [replace(side, label=label) for side, label in zip(sides, labels, strict=True)]
    question = replace(asking.of(sides[0].objectives), objectives=sides[0].objectives)
    pairs, only = _pairs(sides, baseline_arm)
    places = sorted({each for pair in pairs for each in (pair.its, pair.mine)})
    rows = {place: row for row, place in enumerate(places)}
    compared = [(rows[pair.its], rows[pair.mine]) for pair in pairs]
    joined = _joined(sides, places, question)
    said: list[Notice] = [notice for side in sides for notice in side.notices]
    samples = two_samples_tell(question, joined)
    if samples:
        said = _by_median(said, joined, question)
        log, pairs, compared = _with_suites(joined, pairs, compared, question)
        noted: tuple[Notice, ...] = ()
    else:
        log, noted = as_designed(joined, question, compared)
    its, mine = np.array(compared).T
    reader = interval_reader(log, question.columns.boxed, question.delta, anytime=bool(question.anytime))
    by_pairs = isinstance(log, PairedLog) and log.alone
    judged = (_BySamples if samples else _ByPairs if by_pairs else _ByIntervals)(reader, its, mine, question)
    intervals, M = judged.intervals, len(question.objectives)
    refuse_forgotten_percent(question.objectives, intervals.estimates[its, :M], "the baseline")
    found, unknown = judged.pairs(pairs, profile=profile), judged.unknown()
    notices = [
        *said,
        *_one_after_the_other(sides),
        *noted,
        *exact_differs(reader, M),
        *sizes_matter(reader, intervals, M),
        *too_few(joined if samples else log, unknown[unknown < len(places)], question, judged.least()),
    ]
    details = GateDetails(
        found,
        "decided" if all(pair.outcome != Outcome.OPEN for pair in found) else "log",
        only_baseline=only[0],
        only_candidate=only[1],
        every_row=any(side.every_row for side in sides),
        at_worst=judged.at_worst,
        least_found=least_found(question, found, judged.least_found if isinstance(judged, _BySamples) else None),
    )
    if len(log.pulls) > len(places):
        intervals = intervals.of(np.arange(len(places)))
    return _answer(joined, intervals, question, details, tuple(dict.fromkeys(notices)))


def _answer(
    log: Ordered, intervals: ArmIntervals, question: Question, gate: GateDetails, notices: tuple[Notice, ...]
) -> Answer:
    """Return the answer of a gate: the intervals of all arms, and nothing of the front, which nobody asked for."""
    K, M = len(log.pulls), len(question.objectives)
    nothing = (float("inf"),) * M
    return Answer(
        policy="gate",
        status="budget",
        arms=tuple(log.arms),
        objectives=tuple(objective.name for objective in question.objectives),
        verdict_codes=np.full(K, int(Verdict.UNDECIDED)),
        inner=inner_of(intervals, M),
        pulls_per_arm=log.pulls,
        decided_by=np.full(K, -1),
        certificate=Certificate(
            nothing,
            nothing,
            question.confidence,
            question.threat.name,
            question.threat.eps,
            arms=K,
            by_column=question.threat.by_column,
        ),
        notices=notices,
        metrics=question.objectives,
        limits=kept_by(intervals, question),
        pairs=None if intervals.apart is None else intervals.apart[:, :, :M],
        question=question,
        anytime=bool(question.anytime),
        gate=gate,
    )


@dataclass(frozen=True, eq=False)
class _Side:
    """A log that was read: what it is called, its values, what counts of them."""

    label: str
    format: str
    ordered: Ordered
    objectives: tuple[Objective, ...]
    notices: tuple[Notice, ...]
    every_row: bool  # whether rows of one process count by themselves because somebody said so
    between: tuple[str, str, str] | None  # a column with dates, and the first and last of them


def _sides(logs: Sequence[Any], arm: str | Sequence[str] | None, read: Callable[..., _Side]) -> list[_Side]:
    """The logs, the baseline's first, with the same metrics; tests by full names where both have these."""
    sides = [read(log, arm) for log in logs]
    if arm is None and all(side.format == "pytest-benchmark" for side in sides):
        full = [read(log, "fullname") for log in logs]
        if set(full[0].ordered.arms) & {name for side in full[1:] for name in side.ordered.arms}:
            sides = full
    for side in sides[1:]:
        if side.objectives != sides[0].objectives:
            raise BadInput(
                f"{sides[0].label} and {side.label}: wanted the same metrics in both; got "
                f"{quoted([each.name for each in sides[0].objectives])} and "
                f"{quoted([each.name for each in side.objectives])}: name them with --minimize and --maximize"
            )
    return sides


def _read(
    log: Any,
    arm: str | Sequence[str] | None,
    *,
    asking: Asking,
    where: Mapping[str, Any] | None,
    progress: Watcher | None,
    clusters: ArmNames,  # which the sides share, so that pairs are found
    reading: Mapping[str, Any],
) -> _Side:
    opened = open_log(log, arm=arm, metrics=asking.names, filter=where, cluster=asking.groups, **reading)
    if opened.study is not None:
        opened.study.close()
        raise BadInput(
            f"{_label(log)}: this is a study, whose arms were chosen by looking; compare them with "
            "frontguard analyze STUDY --baseline ARM, or begin a study that is a gate: frontguard gate --help"
        )
    question = asking.of(opened.objectives or tuple(Objective(name, "minimize") for name in opened.metrics))
    clock = Clock(progress, opened.expected_rows)
    ordered, question, notices = sorted_rows(opened, question, asking, clock, clusters=clusters)
    refuse_ties(ordered, question)
    every_row, between = opened.in_processes and not opened.cluster, measured_between(opened)
    return _Side(_label(log), opened.format, ordered, question.objectives, notices, every_row, between)


def _one_after_the_other(sides: Sequence[_Side]) -> Iterator[OneAfterTheOther]:
    """Yield a notice if the baseline's log ends before a candidate's begins, or the other way round."""
    for side in sides[1:]:
        for first, second in ((sides[0], side), (side, sides[0])):
            if first.between and second.between and first.between[0] == second.between[0]:
                column, _, until = first.between
                since = second.between[1]
                if until < since:
                    yield OneAfterTheOther(column, first.label, until, second.label, since)


def _label(log: Any) -> str:
    """The name of a log beside others."""
    if isinstance(log, (str, PathLike)):
        return Path(log).name or str(log)
    if isinstance(log, (list, tuple)) and log and isinstance(log[0], (str, PathLike)):
        return Path(log[0]).name + (f" and {len(log) - 1} more" if len(log) > 1 else "")
    return "frame"


_Place = tuple[int, int]  # a side, and an arm of it


class _Pair(NamedTuple):
    name: str
    candidate: str
    baseline: str
    mine: _Place
    its: _Place
    tests: int = 1  # of which it is the geometric mean, if several


def _pairs(sides: Sequence[_Side], arm: str | None) -> tuple[list[_Pair], tuple[tuple[str, ...], tuple[str, ...]]]:
    """The arms that are compared; and those that are in the baseline's log only, or in candidates' only."""
    base = sides[0]
    if arm is not None:
        names = list(base.ordered.arms)
        if arm not in names:
            near = did_you_mean(arm, names)
            raise BadArgument("baseline", f"{base.label} has no arm {shown(arm)}{near}; its arms are {quoted(names)}")
        if len(names) == 1:
            raise BadArgument("baseline", f"{base.label} has no other arm than {shown(arm)} to compare with it")
        its = (0, names.index(arm))
        return [_Pair(each, each, arm, (0, j), its) for j, each in enumerate(names) if each != arm], ((), ())
    labels = _different([side.label for side in sides])
    shorter = _shorter([name for side in sides for name in side.ordered.arms])
    known = {name: i for i, name in enumerate(base.ordered.arms)}
    found, left, new = [], dict.fromkeys(known), dict.fromkeys(list[str]())
    for place, side in enumerate(sides[1:], start=1):
        arms = list(side.ordered.arms)
        if len(arms) == len(known) == 1 and arms[0] not in known:
            left.clear()
            found.append(_Pair(labels[place], labels[place], labels[0], (place, 0), (0, 0)))
            continue
        for j, name in enumerate(arms):
            if name not in known:
                new[name] = None
                continue
            left.pop(name, None)
            called = shorter[name] if len(sides) == 2 else f"{shorter[name]} ({labels[place]})"
            found.append(_Pair(called, labels[place], labels[0], (place, j), (0, known[name])))
    if not found:
        theirs = quoted([name for side in sides[1:] for name in side.ordered.arms], 4)
        raise BadInput(
            f"no arm of {base.label} is in what is compared with it; its arms are {quoted(list(known), 4)}, and there "
            f"{theirs}: give both the same names"
        )
    return found, (tuple(left), tuple(new))


def _shorter(names: Iterable[str]) -> dict[str, str]:
    """Full names of tests without what is before the test's own, where that is enough to tell them apart.

    >>> _shorter(["a.py::test_x", "b.py::test_x", "b.py::test_y"])
    {'a.py::test_x': 'a.py::test_x', 'b.py::test_x': 'b.py::test_x', 'b.py::test_y': 'test_y'}
    """
    short = {name: name.partition("::")[2] or name for name in names}
    often = Counter(short.values())
    return {name: each if often[each] == 1 else name for name, each in short.items()}


def _different(labels: Sequence[str]) -> list[str]:
    """Labels, numbered where two are the same."""
    return [each if labels.count(each) == 1 else f"{each} (log {place})" for place, each in enumerate(labels, start=1)]


def _joined(sides: Sequence[_Side], places: Sequence[_Place], question: Question) -> Ordered:
    """The arms of these places as one log; where one has clusters, rows of others are clusters of their own."""
    first = sides[0].ordered
    if len(sides) == 1 and len(places) == len(first.pulls):
        return first
    own = [sides[at].ordered.arms[arm] for at, arm in places]
    often, logs = Counter(own), _different([side.label for side in sides])
    names = [name if often[name] == 1 else f"{name} ({logs[at]})" for name, (at, _) in zip(own, places, strict=True)]
    metrics = [each.name for each in question.columns.metrics]
    chosen = [(sides[at].ordered, arm) for at, arm in places]
    values, owners = [], []
    for metric in metrics:
        where = [(log, log.metrics.index(metric), arm) for log, arm in chosen]
        parts = [(log, d, slice(*log.starts[d, arm : arm + 2].tolist())) for log, d, arm in where]
        values.append([log.values[d][part] for log, d, part in parts])
        owners.append(
            [
                log.owners[d][part] if isinstance(log, Clustered) else np.arange(part.stop - part.start)
                for log, d, part in parts
            ]
        )
    whole = Ordered(
        names,
        tuple(metrics),
        np.array([log.pulls[arm] for log, arm in chosen]),
        starts_of(np.array([list(map(len, parts)) for parts in values])),
        tuple(map(np.concatenate, values)),
        np.array([log.failed_pulls[arm] for log, arm in chosen]),
    )
    columns = next((log.columns for log, _ in chosen if isinstance(log, Clustered)), None)
    if columns is None:
        return whole
    sizes, labels = list[Ints](), list[Ints]()
    for log, arm in chosen:
        if isinstance(log, Clustered):
            here = slice(log.begins[arm], log.begins[arm + 1])
            sizes.append(log.sizes[here])
            labels.append(log.labels[here])
        else:
            sizes.append(np.ones(log.pulls[arm], np.int64))
            labels.append(-1 - np.arange(log.pulls[arm]))
    return Clustered(
        **vars(whole),
        columns=columns,
        begins=np.cumsum([0, *map(len, sizes)]),
        sizes=np.concatenate(sizes),
        labels=np.concatenate(labels),
        owners=tuple(map(np.concatenate, owners)),
    )


@dataclass(frozen=True, eq=False)
class _ByIntervals:
    """Pairs of arms of one log, by their intervals: candidates `mine` (P,) and baselines `its` (P,), by their rows."""

    reader: IntervalReader
    its: Ints
    mine: Ints
    question: Question

    at_worst: ClassVar[tuple[float, ...] | None] = None

    @cached_property
    def intervals(self) -> ArmIntervals:
        return self.reader.read(self.question.threat)

    def unknown(self) -> Ints:
        return np.flatnonzero(self.reader.unknown(self.intervals, len(self.question.objectives)))

    def least(self) -> tuple[int | None, int | None]:
        return first_and_whole(self.reader.first_bounded(self.question.threat)[: 2 * len(self.question.objectives)])

    def apart(self, intervals: ArmIntervals) -> tuple[Floats, Floats]:
        """Upper bounds (P, M) of candidates less their baselines, and the other way round."""
        M = len(self.question.objectives)
        if intervals.apart is None:
            unknown = np.full((len(self.its), M), np.inf)
            return unknown, unknown
        return intervals.apart[self.mine, self.its, :M], intervals.apart[self.its, self.mine, :M]

    def outcomes(self, intervals: ArmIntervals) -> Ints:
        """Outcomes (P, M + Q) that are certain with these intervals: in each metric, and of each limit."""
        ends = inner_of(intervals)
        its, mine = ends.at(self.its), ends.at(self.mine)
        compared = outcomes_between(its, mine, self.apart(intervals), tolerances(self.question.objectives))
        limits = LimitRule.of(self.question.columns.gates)
        return np.concatenate([compared, keeping_of(mine.lower, mine.upper, limits)], axis=1)

    def lasts(self) -> Floats:
        """Up to which ε each outcome (P, M + Q) stands; NaN where it is open."""
        threat = self.question.threat
        return up_to(lambda eps: self.outcomes(self.reader.read(threat.raised(eps))), levels_from(threat.least, FINEST))

    def if_cleaner(self) -> list[list[Cleaner | None]]:
        """Return what is certain of each open outcome (P, M + Q) at smaller ε than declared, and up to which."""
        threat, levels = self.question.threat, levels_from(0.0, FINEST)
        levels, now = levels[levels < threat.eps], self.outcomes(self.intervals)

        @cache
        def at(eps: float) -> Ints:
            return self.outcomes(self.reader.read(threat.at(eps)))

        if not len(levels) or ((now != Outcome.OPEN) | (at(0.0) == Outcome.OPEN)).all():
            return [[None] * now.shape[1] for _ in now]
        told = np.where(now == Outcome.OPEN, at(0.0), int(Outcome.OPEN)).tolist(), up_to(at, levels).tolist()
        return [
            [None if code == Outcome.OPEN else (Outcome(code), last) for code, last in zip(*row, strict=True)]
            for row in zip(*told, strict=True)
        ]

    def pairs(self, names: Sequence[_Pair], *, profile: bool) -> tuple[GatePair, ...]:
        ends, pulls = inner_of(self.intervals), self.reader.pulls
        outcomes, apart = self.outcomes(self.intervals), np.stack(self.apart(self.intervals), axis=1)
        unknown = [None] * len(names)
        lasts, cleaner = (self.lasts(), self.if_cleaner()) if profile else (unknown, unknown)
        return tuple(
            gate_pair(
                self.question,
                self.question.columns.gates,
                pair[:3],
                (int(pulls[mine]), int(pulls[its])),
                ends.at(np.array([its, mine])),
                *of_pair,
            )
            for pair, its, mine, *of_pair in zip(
                names, self.its, self.mine, apart, outcomes, lasts, cleaner, strict=True
            )
        )


def two_samples_tell(question: Question, log: Ordered) -> bool:
    """True if each check of a gate is decided by its two samples: quantiles and exact values, looked at once."""
    designed = question.anytime or question.pair or question.items or question.columns.gates
    return not designed and checkable(question.objectives, log)


def _by_median(notices: Sequence[Notice], log: Ordered, question: Question) -> list[Notice]:
    """The notices, of which one says that a session of any side is one observation, by its median."""
    if not isinstance(log, Clustered):
        return list(notices)
    others = [each for each in notices if not isinstance(each, InClusters)]
    return [replace(in_clusters(log, question.objectives), by_median=True), *others]


def _with_suites(
    log: Ordered, pairs: list[_Pair], compared: list[tuple[int, int]], question: Question
) -> tuple[Ordered, list[_Pair], list[tuple[int, int]]]:
    """The log, and what is compared of it, with the geometric mean over all tests of a side, once a session."""
    averaged = all(each.relative and each.has_quantile for each in question.objectives)
    if not isinstance(log, Clustered) or not averaged:
        return log, pairs, compared
    sides, names = list[Ints](), list[str]()
    for label in dict.fromkeys(pair.candidate for pair in pairs):
        rows = [row for row, pair in enumerate(pairs) if pair.candidate == label]
        if len(rows) < 2:
            continue
        place, its = len(log.pulls) + len(sides), pairs[rows[0]].baseline
        name = f"geometric mean of {len(rows)}"
        pairs = [*pairs, pairs[rows[0]]._replace(name=name, tests=len(rows))]
        sides += [np.array(compared)[rows, side] for side in range(2)]
        names += [f"{name} of {its}", f"{name} of {label}"]
        compared = [*compared, (place, place + 1)]
    return (with_suites(log, sides, names) if sides else log), pairs, compared


_LEVELS = np.arange(50) / 100.0  # contaminations that are tried


class _BySamples(_ByIntervals):
    """Pairs of arms of one log, each of which is decided by its two samples."""

    @cached_property
    def intervals(self) -> ArmIntervals:
        """Estimates of all arms: certain is how two of them differ, and not where either is."""
        read = self.reader.estimated(self.question.threat)
        return replace(read, estimates=sample_quantiles(self.reader.ordered, self.question.objectives, read.estimates))

    @cached_property
    def found(self) -> CheckBounds:
        return self.bounds(self.question.threat)

    @property
    def at_worst(self) -> tuple[float, ...]:  # type: ignore[override]
        return tuple(self.found.behind.max(axis=0).tolist())

    def least_found(self, d: int, rows: Ints) -> Foreseen | None:
        """Return what samples like those of these pairs find in an objective."""
        question, metric, log = self.question, self.question.objectives[d], self.reader.ordered
        half, checks = 0.5 * question.delta, noisy(self.reader.statistics) * len(self.its)
        level, tolerance = self.reader.statistics[d].level, metric.inner_tolerance
        test = SampleTest(question.threat.of(d), level, tolerance, half, half / checks)
        arms = zip(self.its[rows].tolist(), self.mine[rows].tolist(), strict=True)
        return test.found_in((sample_of(log, metric, its).low, sample_of(log, metric, mine).low) for its, mine in arms)

    def bounds(self, threat: Threat) -> CheckBounds:
        """Bounds of the differences of candidates and baselines, under this threat."""
        question, log = self.question, self.reader.ordered
        return check_bounds(log, question.objectives, self.its, self.mine, threat, question.delta, question.threat)

    def of_bounds(self, found: CheckBounds) -> Ints:
        return outcomes_of_checks(found.behind, found.line, found.worse, tolerances(self.question.objectives))

    def unknown(self) -> Ints:
        """The arms of which a check that is not of exact values says nothing."""
        noisy = np.array([not objective.exact for objective in self.question.objectives])
        open_rows = ((self.found.ahead == np.inf) & (self.found.behind == np.inf) & noisy).any(axis=1)
        return np.union1d(self.its[open_rows], self.mine[open_rows])

    def least(self) -> tuple[int | None, int | None]:
        """Observations a side that say anything, and that bound both ends of a difference."""
        metrics = enumerate(self.question.objectives)
        levels = [(d, statistic_of(each).level) for d, each in metrics if not each.exact]
        threat, half = self.question.threat, 0.5 * self.question.delta
        needed = [least_observations(threat.of(d), p, half) for d, p in levels]
        known = [each for each in needed if each is not None]
        return min(known, default=None), max(known) if known and len(known) == len(needed) else None

    def stands(self) -> tuple[Ints, Floats]:
        """Return the outcomes (P, M) without contamination, and the largest ε up to which each of them stands."""
        model = type(self.question.threat)  # with one ε for all metrics
        outcomes_at = cache(lambda eps: self.of_bounds(self.bounds(model(eps))))
        return outcomes_at(0.0), up_to(outcomes_at, _LEVELS)

    def pairs(self, names: Sequence[_Pair], *, profile: bool) -> tuple[GatePair, ...]:
        found, threat, pulls = self.found, self.question.threat, self.reader.pulls
        outcomes, estimates = self.of_bounds(found), self.intervals.estimates
        clean, lasts = self.stands() if profile else (outcomes, np.full(outcomes.shape, np.nan))

        def check(row: int, its: int, mine: int, d: int) -> Check:
            return Check.by_samples(
                self.question.objectives[d],
                (float(estimates[its, d]), float(estimates[mine, d])),
                (float(found.ahead[row, d]), float(found.behind[row, d])),
                (int(outcomes[row, d]), int(clean[row, d])),
                float(lasts[row, d]),
                declared=threat.of(d).eps,
                that_counts=bool(found.that_counts[row, d]),
            )

        pairs = []
        for row, (pair, its, mine) in enumerate(zip(names, self.its.tolist(), self.mine.tolist(), strict=True)):
            checks = tuple(check(row, its, mine, d) for d in range(outcomes.shape[1]))
            pairs.append(GatePair(*pair[:3], checks, int(pulls[mine]), int(pulls[its]), tests=pair.tests))
        return tuple(pairs)


class _ByPairs(_BySamples):
    """Pairs of arms of one log, each of which is decided by its differences within pairs, at one look."""

    @cached_property
    def intervals(self) -> ArmIntervals:
        """Estimates of all arms."""
        return self.reader.estimated(self.question.threat)

    def bounds(self, threat: Threat) -> CheckBounds:
        """Bounds of the differences of candidates and baselines, under this threat."""
        assert isinstance(self.reader, PairReader)
        return self.reader.checks(self.its, self.mine, threat, self.question.delta)

    def least(self) -> tuple[int | None, int | None]:
        """Nothing: any pair says something."""
        return None, None

    def least_found(self, d: int, rows: Ints) -> Foreseen | None:
        """Return what as many pairs of 0 and 1 find in an objective; None of other values."""
        assert isinstance(self.reader, PairReader)
        line = 0.5 * self.question.delta / (noisy(self.reader.statistics) * len(self.its))
        pairs = np.stack([self.its, self.mine], axis=1)[rows].tolist()
        tolerance = self.question.objectives[d].inner_tolerance
        return self.reader.least_found(d, pairs, self.question.threat, line, tolerance)


def with_robustness(found: GateDetails, study: Study) -> GateDetails:
    """The gate of a study with up to which ε each outcome stands, and what is certain of an open one at a smaller ε.

    It is read off the whole log, at every ε with bounds that hold at any moment. Where these do not show at the
    declared ε what the study found, which compared at another moment, it is not known.
    """
    from frontguard.logs.of_study import measured, read_study  # a gate of logs needs no study

    if found.at_worst is not None:  # by samples, whose looks are taken again
        profiled = study.state().gate(study.result(), profile=True)
        return replace(found, pairs=profiled.pairs, least_found=profiled.least_found)
    log = read_study(study)
    names = list(log.settings.arms)
    its = names.index(found.pairs[0].baseline)
    mine = [names.index(pair.candidate) for pair in found.pairs]
    question = log.question
    ordered, _ = measured(log, np.arange(len(names)), question)
    if isinstance(ordered, ComparedLog):
        ordered = replace(ordered, ordered_pairs=2 * len(mine))
    reader = interval_reader(ordered, question.columns.boxed, question.delta, anytime=True)
    judged = _ByIntervals(reader, np.full(len(mine), its), np.array(mine), question)
    now, lasts, cleaner = judged.outcomes(judged.intervals), judged.lasts(), judged.if_cleaner()

    def standing(check: AnyCheck, row: int, place: int) -> AnyCheck:
        if check.outcome != now[row, place]:
            return check
        if check.outcome == Outcome.OPEN:
            return replace(check, if_cleaner=cleaner[row][place])
        return replace(check, holds_up_to=float(lasts[row, place]))

    M, pairs = len(question.objectives), []
    for row, pair in enumerate(found.pairs):
        checks = tuple(standing(check, row, d) for d, check in enumerate(pair.checks))
        limits = tuple(standing(check, row, M + q) for q, check in enumerate(pair.limits))
        pairs.append(replace(pair, checks=checks, limits=limits))
    return replace(found, pairs=tuple(pairs), least_found=least_found(question, pairs))
