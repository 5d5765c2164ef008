"""A gate on what was already measured: each arm of a log against the one of the same name in the baseline's log.

Sides are read and sorted as any log is; δ is shared by all arms that are compared, of all sides. How a candidate stands
is written in `comparisons.gate`, for studies and for logs alike; up to which ε it stands, read off the same values at
other ranks. A study with a baseline has its robustness from here, too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from frontguard._common.typing import Floats, Ints
from frontguard._common.written import explains_arguments
from frontguard.comparisons.effects import Comparable, against
from frontguard.comparisons.gate import Check, GatePair, GateResult, Outcome, outcomes_of, up_to
from frontguard.errors import BadArgument, BadInput
from frontguard.evidence.boxes import ArmBoxes, first_and_whole
from frontguard.logs.analyze import OF_LOGS, AskedOfLog, Asking, sorted_rows, split
from frontguard.logs.answer import exact_differs, too_few
from frontguard.logs.boxes import BoxReader
from frontguard.logs.checks import refuse_ties
from frontguard.logs.of_study import read_study, sorted_log
from frontguard.logs.paired import box_reader
from frontguard.logs.profile import FINEST, levels_from
from frontguard.logs.sort.ordered import Readable
from frontguard.logs.sort.progress import Clock, Watcher
from frontguard.logs.sources import open_log
from frontguard.notices import Notice
from frontguard.objectives import Objective, tolerances
from frontguard.phrases import did_you_mean, quoted, shown
from frontguard.question import Entry, Question
from frontguard.studies.study import Study
from frontguard.theory.threats import Threat

_NOT_YET = ("limits", "paired", "independent")
"""What a gate of logs could take, and does not yet. Take an entry out once it does."""


@explains_arguments(*OF_LOGS)
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
) -> GateResult:
    """Say of each candidate, in each metric, whether it is certainly worse than the baseline, certainly not, or open.

    Parameters
    ----------
    baseline, candidates
        Logs as `analyze` takes them, but for studies and states. Arms of the same name are compared; where each log has
        a single arm, these are, whatever they are called.
    baseline_arm
        With one log and no other: the arm in it with which all its others are compared.
    arm, objectives, threat, question, where
        As in `analyze`, and so is all else that is asked (`frontguard.question.Asked`); all candidates and metrics
        share the confidence. The tolerance is 5% unless given, of a mean 5% of what its bounds span.
    profile
        Whether to find up to which ε each outcome stands.
    labels
        What the logs are called in the answer, the baseline's first; by their files unless given.
    layout, format, metric_column, value_column, decimal, missing_arms, study
        How rows are read: see `frontguard.logs.sources.open_log`.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> main, pr = ({"arm": ["sort"] * 200, "ms": rng.normal(mean, 0.2, 200)} for mean in (10, 11))
    >>> found = gate(main, pr, minimize="ms", tolerance="2%")
    >>> found.outcome.word, found.stands_up_to
    ('worse', 0.499)
    """
    if not candidates and baseline_arm is None:
        raise BadInput("wanted a log to compare with the baseline's, or, of a single log, the arm that is the baseline")
    if candidates and baseline_arm is not None:
        raise BadArgument("baseline", f"an arm is named where one log has them all; got {len(candidates) + 1} logs")
    asked, reading = split(given)
    asking = Asking(question, objectives, threat, asked, tolerant=True)
    for what in _NOT_YET:
        if getattr(asking.draft, what):
            raise BadArgument(what, f"a gate of logs goes by intervals of metrics; leave {what} out")
    how = _How(asking, arm, where, progress, reading)
    sides = _sides((baseline, *candidates), how)
    if labels is not None:
        sides = [replace(side, label=label) for side, label in zip(sides, labels, strict=True)]
    _same_metrics(sides)
    question = asking.of(sides[0].objectives)
    question = replace(question, objectives=sides[0].objectives)
    pairs, only = _pairs(sides, baseline_arm)
    compared = {each for pair in pairs for each in (pair.its, pair.mine)}
    readers = [_reader(side, place, compared, question) for place, side in enumerate(sides)]

    def boxes_at(eps: float) -> list[ArmBoxes]:
        model = replace(question.threat, eps=eps)
        return [reader.read(model) for reader in readers]

    boxes = boxes_at(question.threat.eps)
    lasts = np.full((len(pairs), len(question.objectives)), np.nan)
    if profile:
        levels = levels_from(question.threat.eps, FINEST)
        lasts = up_to(lambda eps: _outcomes(pairs, boxes_at(eps), question.objectives), levels)
    notices = [each for side in sides for each in side.notices]
    notices += [each for reader in readers for each in exact_differs(reader, len(question.objectives))]
    notices += _all_too_few(readers, boxes, compared, question)
    found = tuple(_compared(pair, sides, boxes, question, lasts[row]) for row, pair in enumerate(pairs))
    return GateResult(
        found,
        question.objectives,
        question.confidence,
        question.threat.name,
        question.threat.eps,
        "decided" if all(pair.outcome != Outcome.OPEN for pair in found) else "log",
        int(sum(sides[at].ordered.pulls[arm] for at, arm in compared)),
        anytime=bool(question.anytime),
        notices=tuple(dict.fromkeys(notices)),
        only_baseline=only[0],
        only_candidate=only[1],
        every_row=any(side.every_row for side in sides),
    )


# Reading --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _How:
    """What is asked of every side, and how it is read."""

    asking: Asking
    arm: str | Sequence[str] | None
    where: Mapping[str, Any] | None
    progress: Watcher | None
    reading: dict[str, Any]


@dataclass(frozen=True, eq=False)
class _Side:
    """A log that was read: what it is called, its values, what counts of them."""

    label: str
    format: str
    ordered: Readable
    objectives: tuple[Objective, ...]
    notices: tuple[Notice, ...]
    every_row: bool  # whether rows of one process count by themselves because somebody said so


def _sides(logs: Sequence[Any], how: _How) -> list[_Side]:
    """The logs, the baseline's first.

    Tests of pytest-benchmark are called by their full names where these are in both: in short, a test that is new in
    one log could make another one's name longer there.
    """
    sides = [_read(log, how) for log in logs]
    if how.arm is None and all(side.format == "pytest-benchmark" for side in sides):
        full = [_read(log, replace(how, arm="fullname")) for log in logs]
        if set(full[0].ordered.arms) & {name for side in full[1:] for name in side.ordered.arms}:
            return full
    return sides


def _read(log: Any, how: _How) -> _Side:
    asking = how.asking
    opened = open_log(log, arm=how.arm, metrics=asking.names, filter=how.where, cluster=asking.groups, **how.reading)
    if opened.study is not None:
        opened.study.close()
        raise BadInput(
            f"{_label(log)}: this is a study, whose arms were chosen by looking; compare them with "
            "frontguard analyze STUDY --baseline ARM, or begin a study that is a gate: frontguard gate --help"
        )
    question = asking.of(opened.objectives or tuple(Objective(name, "minimize") for name in opened.metrics))
    ordered, question, notices = sorted_rows(opened, question, asking, Clock(how.progress, opened.expected_rows))
    refuse_ties(ordered, question.objectives, ())
    every_row = opened.in_processes and not opened.cluster
    return _Side(_label(log), opened.format, ordered, question.objectives, notices, every_row)


def _label(log: Any) -> str:
    """What a log is called beside another."""
    if isinstance(log, (str, PathLike)):
        return Path(log).name or str(log)
    if isinstance(log, (list, tuple)) and log and isinstance(log[0], (str, PathLike)):
        return Path(log[0]).name + (f" and {len(log) - 1} more" if len(log) > 1 else "")
    return "frame"


def _same_metrics(sides: Sequence[_Side]) -> None:
    first = sides[0]
    for side in sides[1:]:
        if side.objectives != first.objectives:
            raise BadInput(
                f"{first.label} and {side.label}: wanted the same metrics in both; got "
                f"{quoted([each.name for each in first.objectives])} and "
                f"{quoted([each.name for each in side.objectives])}: name them with --minimize and --maximize"
            )


# Comparing ------------------------------------------------------------------------------------------------------------

_Place = tuple[int, int]  # a side, and an arm of it


@dataclass(frozen=True)
class _Pair:
    name: str
    candidate: str
    baseline: str
    mine: _Place
    its: _Place


def _pairs(sides: Sequence[_Side], arm: str | None) -> tuple[list[_Pair], tuple[tuple[str, ...], tuple[str, ...]]]:
    """Which arms are compared; and those that are in the baseline's log only, or in candidates' only."""
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


def _reader(side: _Side, place: int, compared: set[_Place], question: Question) -> BoxReader:
    """Reads the boxes of a side; each arm that is compared, of whichever side, has the same part of δ."""
    share = question.delta * len(side.ordered.pulls) / len(compared)
    return box_reader(side.ordered, question.objectives, min(share, 1.0 - 1e-9), anytime=bool(question.anytime))


def _all_too_few(
    readers: Sequence[BoxReader], boxes: Sequence[ArmBoxes], compared: set[_Place], question: Question
) -> list[Notice]:
    """What keeps the logs from saying more: one notice for all sides."""
    found: list[Any] = []
    for place, (reader, side_boxes) in enumerate(zip(readers, boxes, strict=True)):
        least = first_and_whole(reader.first_bounded(question.threat))
        of_side = np.array(sorted(arm for at, arm in compared if at == place))
        few: tuple[Any, ...] = too_few(reader.among(of_side), side_boxes.of(of_side), question, least)
        for each in few:
            if found and type(found[0]) is type(each):
                found[0] = replace(found[0], arms=found[0].arms + each.arms, most=max(found[0].most, each.most))
            else:
                found.append(each)
    return [replace(each, of=len(compared)) for each in found]


def _outcomes(pairs: Sequence[_Pair], boxes: Sequence[ArmBoxes], objectives: Sequence[Objective]) -> Ints:
    """Of each pair and metric what is certain with these boxes."""

    def of(places: Iterable[_Place], side: str) -> Floats:
        return np.stack([getattr(boxes[at], side)[arm] for at, arm in places])

    mine, its = [pair.mine for pair in pairs], [pair.its for pair in pairs]
    worst, best = of(mine, "lower") - of(its, "upper"), of(mine, "upper") - of(its, "lower")
    return outcomes_of(worst, best, tolerances(objectives))


def _compared(
    pair: _Pair, sides: Sequence[_Side], boxes: Sequence[ArmBoxes], question: Question, lasts: Floats
) -> GatePair:
    places = (pair.its, pair.mine)

    def of(what: str) -> Floats:
        values = np.stack([getattr(boxes[at], what)[arm] for at, arm in places])
        return np.where(np.isneginf(values), np.nan, values) if what == "estimates" else values

    ends = Comparable((pair.baseline, pair.candidate), question.objectives, of("estimates"), of("lower"), of("upper"),
                 question.confidence)  # fmt: skip
    effects = against(ends, 0, np.array([1])).of(0).effects
    checks = (
        Check(effect, None if np.isnan(last) else float(last))
        for effect, last in zip(effects, lasts.tolist(), strict=True)
    )
    pulls = [int(sides[at].ordered.pulls[arm]) for at, arm in places]
    return GatePair(pair.name, pair.candidate, pair.baseline, tuple(checks), pulls[1], pulls[0])


# Studies --------------------------------------------------------------------------------------------------------------


def with_robustness(found: GateResult, study: Study) -> GateResult:
    """The gate of a study with up to which ε each outcome stands.

    It is read off the whole log, at every ε with bounds that hold at any moment. Where these do not show at the
    declared ε what the study found, which compared at another moment, it is not known.
    """
    log = read_study(study)
    names = list(log.settings.arms)
    its = names.index(found.pairs[0].baseline)
    mine = [names.index(pair.candidate) for pair in found.pairs]
    ordered = sorted_log(log, np.arange(len(names)), log.settings.question.columns)
    reader = BoxReader(ordered, log.settings.question.objectives, log.question.delta, anytime=True)

    def outcomes_at(eps: float) -> Ints:
        boxes = reader.read(replace(log.settings.question.threat, eps=eps))
        worst, best = boxes.lower[mine] - boxes.upper[its], boxes.upper[mine] - boxes.lower[its]
        return outcomes_of(worst, best, tolerances(log.settings.question.objectives))

    eps = log.settings.question.threat.eps
    now, lasts = outcomes_at(eps), up_to(outcomes_at, levels_from(eps, FINEST))
    pairs = []
    for row, pair in enumerate(found.pairs):
        checks = (
            replace(check, stands_up_to=float(lasts[row, d]))
            if check.outcome == now[row, d] and check.outcome != Outcome.OPEN
            else check
            for d, check in enumerate(pair.checks)
        )
        pairs.append(replace(pair, checks=tuple(checks)))
    return replace(found, pairs=tuple(pairs))
