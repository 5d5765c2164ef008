"""The report on a study, or on a run of one that is only known by its JSON."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np

from frontguard._typing import Bools, Floats, Ints
from frontguard.documents.base import Origin
from frontguard.logs.analysis import Analysis
from frontguard.logs.analyze import MOST_PROFILED, Question
from frontguard.logs.boxes import BoxReader, mean_front, means
from frontguard.logs.profile import Profile, profile, resolution_for
from frontguard.logs.sort.rows import sorted_pulls
from frontguard.pareto.judge import judge
from frontguard.phrases import duration, percent
from frontguard.plot.picture import Picture
from frontguard.reports.analysis import open_part, origin_steps, pulls_part, robustness_part
from frontguard.reports.make import report_of, shown
from frontguard.reports.model import Fact, Figure, Kind, Report, Section, Step, Subject, with_short_names
from frontguard.results import Result
from frontguard.studies.overview import Snapshot
from frontguard.studies.settings import Settings
from frontguard.verdicts import Verdict
from frontguard.words import analysis as log_summary
from frontguard.words.arm_table import counts
from frontguard.words.certificate import certificate_against_goal, guarantee
from frontguard.words.study import answer, more_to_come

if TYPE_CHECKING:
    from frontguard.storage.contract import Storage
    from frontguard.studies.follow import Follower
    from frontguard.studies.overview import Measurements, Overview


Progress = Callable[[str, int, int], None]
"""Told what is being done, how much of it, and of how much."""

_MOST_VALUES = 1500  # raw values of an arm in a picture
_ALONE = 7.0  # inches of a picture that has one panel instead of two


def study_report(
    storage: Storage, name: str, *, where: str = "", said: str = "", progress: Progress | None = None
) -> Report:
    """The report on a study in a storage, which is only read. `where` is how one gets there, without a password."""
    from frontguard.studies.follow import Follower

    follower = Follower(storage, name)
    overview = follower.catch_up(None if progress is None else lambda done, total: progress("pulls read", done, total))
    settings, snapshot = overview.settings, overview.snapshot
    result = snapshot.result
    found, note = as_analysis(
        result,
        settings,
        *follower.values(overview.told),  # which it has read: the storage is not asked again
        None if progress is None else lambda done, total: progress("shares of lies tried", done, total),
    )
    return report_of(
        replace(
            _subject("study", snapshot, found, said=said),
            spread=None if settings.spread is None else repr(settings.spread),
            facts=(*_facts(snapshot), *_times(overview)),
            robustness=robustness_of(found, note),
            stands=None if found.profile is None else found.profile.per_arm,
            resolution=0.001 if found.profile is None else found.profile.resolution,
            course=_course(overview, follower, found),
            steps=tuple(_steps(overview, where)),
        )
    )


def run_report(snapshot: Snapshot, origin: Origin, *, said: str = "", where: str = "", directed: bool = True) -> Report:
    """The report on what `run --json` printed: without the course of the study, which only its storage has."""
    subject = _subject("run", snapshot, snapshot.result, said=said)
    steps = origin_steps(origin)
    if where:
        again = shlex.join(["frontguard", "report", where, "--study", snapshot.study])
        steps.insert(1, Step("Study", f"{snapshot.study} in {where}"))
        steps.append(Step("With robustness and course", again, verbatim=True))
    return report_of(
        replace(
            subject,
            facts=tuple(_facts(snapshot)),
            directed=directed,
            steps=tuple(steps),
            course=pulls_part(subject.result),
        )
    )


def _subject(kind: Kind, snapshot: Snapshot, result: Result, *, said: str) -> Subject:
    plain = with_short_names(result)
    names = dict(zip(result.arms, plain.arms, strict=True))
    brief = replace(
        snapshot,
        result=plain,
        failures=_by_short_name(snapshot.failures, names),
    )
    failed = [sum(snapshot.failures.get(arm, {}).values()) for arm in result.arms]
    all_aside = len(snapshot.aside) == len(result.arms)
    guaranteed = () if all_aside else (guarantee(brief.result, failed=brief.failed),)
    means = (
        log_summary.by_means(plain)
        if isinstance(plain, Analysis) and plain.pulls and plain.status != "running"
        else None
    )
    ahead = (f"{more_to_come(brief)[0].upper()}{more_to_come(brief)[1:]}.",) if result.status != "certified" else ()
    return Subject(
        kind=kind,
        title=snapshot.study,
        answer=said or answer(brief),
        status=result.status,
        result=result,
        guarantee=(*guaranteed, *(() if means is None else (means,))),
        anytime=True,
        side_by_side=snapshot.side_by_side,
        reasons=snapshot.failures,
        failed=np.array(failed, np.int64),
        open=open_part(plain, ahead),
        warnings=result.warnings,
    )


def _by_short_name(failures: dict[str, Counter[str]], names: dict[str, str]) -> dict[str, Counter[str]]:
    found: dict[str, Counter[str]] = {}
    for arm, reasons in failures.items():  # two names may be the same when they are short
        found.setdefault(names[arm], Counter()).update(reasons)
    return found


def _facts(snapshot: Snapshot) -> list[Fact]:
    facts = [Fact("Verdicts", counts(snapshot.result))]
    plain = with_short_names(snapshot.result)
    if snapshot.result.status != "certified":
        facts.append(Fact("Certificate", certificate_against_goal(plain.certificate, plain.metrics)))
        facts.append(Fact("Forecast", more_to_come(snapshot)))
    if snapshot.most_pulls is not None:
        facts.append(Fact("Budget", f"{snapshot.most_pulls:,} pulls"))
    return facts


def _times(overview: Overview) -> list[Fact]:
    if overview.began is None or overview.last is None:
        return []
    first, last = _utc(overview.began), _utc(overview.last)
    when = first if first == last else f"{first} to {last}"
    facts = [Fact("Measured", f"{when}, within {duration(overview.last - overview.began)}")]
    if overview.out:
        facts.append(Fact("Under way", f"{overview.out:,} pulls"))
    return facts


def _utc(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M} UTC"


# Robustness and course ------------------------------------------------------------------------------------------------


def robustness_of(found: Analysis, note: str) -> Section:
    """Up to what verdicts stand, in words and as a picture; `note` says where the log and the study differ."""
    plain = with_short_names(found)
    if plain.profile is None:
        return Section("How robust it is")
    if np.isnan(plain.profile.front):
        known = plain.profile.per_arm[~np.isnan(plain.profile.per_arm)]
        said = (
            f"Of {len(known):,} arms it can be said up to which share of replaced measurements their verdict stands: "
            f"{percent(float(known.min()))} at least ({percent(plain.certificate.contamination)} were allowed for)."
            if len(known)
            else "Of no arm it can be said up to which share of replaced measurements its verdict stands."
        )
        return Section("How robust it is", (said, note), shown=_stands_alone(plain))
    part = robustness_part(plain)
    shown_too = tuple(replace(each, words=_bars(plain, each.picture)) for each in part.shown)
    return replace(part, words=(*part.words, *((note,) if note else ())), shown=shown_too)


def _bars(found: Analysis, picture: Picture) -> str:
    """What the bars are. Arms without a figure are not all undecided, as the picture's own caption would have it."""
    drawn = sum(len(panel.y.names) for panel in picture.panels)
    left = 0 if found.profile is None else int((~np.isnan(found.profile.per_arm)).sum()) - drawn
    more = f" {left:,} less fragile {'arm is' if left == 1 else 'arms are'} not drawn." if left > 0 else ""
    return f"A longer bar is a verdict that more lies are needed to shake.{more}"


def _stands_alone(found: Analysis) -> tuple[Figure, ...]:
    """The arms that have a figure, without how many are in: in that the log as it is now and the study differ."""
    from frontguard import plot

    if found.profile is None or np.isnan(found.profile.per_arm).all():
        return ()
    picture = plot.robustness(found, found.profile)
    listed = tuple(panel for panel in picture.panels if panel.y.names)
    known = np.flatnonzero(~np.isnan(found.profile.per_arm))
    order = known[np.argsort(found.profile.per_arm[known], kind="stable")]
    first = ", ".join(f"{found.arms[i]} {percent(float(found.profile.per_arm[i]))}" for i in order[:5].tolist())
    told = (
        f"Up to which share of replaced measurements verdicts stand, {len(known):,} arms. The first to fall: {first}."
    )
    alone = replace(picture, rows=(listed,), width=_ALONE, description=told, caption=_bars(found, picture))
    return (shown("Up to what each verdict stands", alone),)


def _course(overview: Overview, follower: Follower, found: Analysis) -> Section:
    from frontguard import plot

    plain = with_short_names(found)
    short_history = replace(overview.history, arms=plain.arms, objectives=plain.metrics)
    pictures: list[Figure] = []
    if len(short_history.moments) > 1:
        pictures.append(shown("Intervals while it was measured", plot.shrinking(short_history)))
        if any(metric.inner_tolerance > 0.0 for metric in plain.metrics):
            left = overview.snapshot.pulls_left if plain.status == "running" else None
            pictures.append(shown("What was certain, against the goal", plot.certainty(short_history, left)))
    if plain.pulls:
        pictures.append(shown("Pulls of each arm", plot.pulls(plain)))
    if len(overview.rate.told) > 1:
        pictures.append(shown("Pulls a minute", plot.rate(overview.rate)))
    most = _most_suspicious(overview, follower)
    if most is not None:
        measured, share = most
        brief = replace(measured, name=plain.arms[measured.arm], objectives=plain.metrics)
        picture = plot.measurements(brief, short_history, contamination=overview.settings.threat.eps)
        heading = f"Measurements of {brief.name}, the arm with most values that look wrong ({percent(share)})"
        pictures.append(Figure(heading, picture, picture.caption))
    return Section("How it came about", shown=tuple(pictures))


def _most_suspicious(overview: Overview, follower: Follower) -> tuple[Measurements, float] | None:
    """The arm with the largest share of values that look contaminated or failed; None if no value of any arm does."""
    from frontguard.suspects import suspects

    best: tuple[Measurements, float] | None = None
    counts = overview.snapshot.result.pulls_per_arm
    for arm in np.argsort(-counts, kind="stable")[:2000].tolist():
        if counts[arm] < 10:
            break
        measured = follower.measurements(arm, _MOST_VALUES)
        wrong: Bools = np.asarray(np.isnan(measured.values).any(axis=1))
        for d, objective in enumerate(measured.objectives):
            wrong = wrong | suspects(measured.values[:, d], relative=objective.relative)
        share = float(wrong.mean()) if len(wrong) else 0.0
        if share > (0.0 if best is None else best[1]):
            best = measured, share
    return best


# How to make it again -------------------------------------------------------------------------------------------------


def _steps(overview: Overview, where: str) -> list[Step]:
    from frontguard import __version__

    settings = overview.settings
    spec, identity = settings.about.get("spec"), settings.about.get("identity")
    steps = [
        Step("Version", f"frontguard {__version__} (of this report)"),
        Step("Study", f"{overview.name} in {where}" if where else overview.name),
        Step("Seed", f"{settings.seed}, of the order in which arms were measured"),
        Step("Pulls", f"{overview.told:,} told" + (f", {overview.out:,} handed out" if overview.out else "")),
    ]
    if isinstance(spec, str) and spec.strip():
        steps.append(Step("Command", "frontguard run SPEC.toml", verbatim=True))
        steps.append(Step("Spec", spec, verbatim=True))
    elif identity:
        steps.append(Step("Commands that were run", json.dumps(identity, indent=1, ensure_ascii=False), verbatim=True))
    else:
        steps.append(Step("Study in Python", _in_python(settings), verbatim=True))
    if where:
        steps.append(
            Step("This report", shlex.join(["frontguard", "report", where, "--study", overview.name]), verbatim=True)
        )
        every = f"frontguard.Study.open({where!r}, {overview.name!r}, read_only=True).to_frame()"
        steps.append(Step("Every pull, in Python", every, verbatim=True))
    return steps


def _in_python(settings: Settings) -> str:
    arms = (
        f"{list(settings.arms)!r}"
        if len(settings.arms) <= 20
        else f"[{settings.arms[0]!r}, …]  # {len(settings.arms):,}"
    )
    objectives = ",\n        ".join(repr(each) for each in settings.objectives)
    more = "" if settings.spread is None else f"    spread={settings.spread!r},\n"
    for name, value in (("most_pulls", settings.budget.pulls), ("most_pulls_per_arm", settings.budget.pulls_per_arm)):
        more += "" if value is None else f"    {name}={value},\n"
    return (
        f"frontguard.Study(\n    {arms},\n    [\n        {objectives},\n    ],\n    {settings.threat!r},\n"
        f"    confidence={settings.confidence},\n    seed={settings.seed},\n{more})"
    )


# What the log says --------------------------------------------------------------------------------------------------


def as_analysis(
    result: Result,
    settings: Settings,
    arm_of: Ints,
    values: Floats,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[Analysis, str]:
    """The study's result with what its log tells besides, and a sentence where the two readings of the log differ.

    The log is the arms (n,) and values (n, M) of its pulls. The profile is read from it as it is now, without what a
    spread bound adds, while the study's own intervals were intersected over time. An arm whose verdict differs at the
    declared ε gets no figure. `progress` is told how many of the shares ε that are to be tried are done.
    """
    ordered = sorted_pulls(settings.arms, settings.objectives, arm_of, values)
    aside = np.asarray(result.verdict_codes == Verdict.SET_ASIDE)
    found, note = _profile(result, settings, arm_of, values, aside, progress)
    fields = {name: value for name, value in vars(result).items() if name in Result.__dataclass_fields__}
    analysis = Analysis(
        **fields,
        failed=ordered.failed.T,
        means=means(ordered, settings.objectives),
        mean_front=mean_front(ordered, settings.objectives) & ~aside,
        profile=found,
        anytime=True,
    )
    return analysis, note


def _profile(
    result: Result,
    settings: Settings,
    arm_of: Ints,
    values: Floats,
    aside: Bools,
    progress: Callable[[int, int], None] | None,
) -> tuple[Profile | None, str]:
    kept = np.flatnonzero(~aside)
    if not len(kept) or not len(arm_of) or len(kept) > MOST_PROFILED:
        return None, ""
    question = Question(settings.objectives, settings.threat, settings.confidence, settings.coverage, anytime=True)
    # δ is shared by all arms, those that were set aside included: what is left of it for the others.
    delta = question.delta * len(kept) / len(settings.arms)
    measured = ~aside[arm_of]
    new_place = np.cumsum(~aside) - 1
    names = [settings.arms[arm] for arm in kept.tolist()]
    some = sorted_pulls(names, settings.objectives, new_place[arm_of[measured]], values[measured])
    goal = question.goal()
    boxes = BoxReader(some, settings.objectives, delta, anytime=True).read(settings.threat)
    read = judge(boxes, **goal).codes
    own = result.verdict_codes[kept]
    step, least = resolution_for(len(kept)), settings.threat.eps
    in_all = round((0.5 - least) / step)

    def tell(reached: float) -> None:
        if progress is not None:
            progress(min(round((reached - least) / step), in_all), in_all)

    found = profile(
        some,
        settings.objectives,
        settings.threat,
        delta,
        accuracy=goal["accuracy"],
        coverage=goal["coverage"],
        margin=goal["margin"],
        anytime=True,
        resolution=step,
        progress=tell,
    )
    per_arm = np.full(len(settings.arms), np.nan)
    per_arm[kept] = np.where(read == own, found.per_arm, np.nan)
    differ = int(((read != own) & (own != Verdict.UNDECIDED)).sum())
    same_front = np.array_equal(read == Verdict.IN, own == Verdict.IN)
    note = ""
    if differ:
        note = (
            f"For {differ:,} {'arm' if differ == 1 else 'arms'} no figure is given: the study decided with intervals "
            "that were "
            "intersected over time"
            + (" and with a spread bound" if settings.spread is not None else "")
            + ", and the log read as it is now would leave open what the study could decide."
        )
        if not same_front:
            note += " So it cannot be said either at which share of replaced measurements the front as a whole changes."
    return replace(found, per_arm=per_arm, front=found.front if same_front else np.nan), note
