"""Results out of the JSON that `run`, `analyze`, `demo` and `reproduce` print, so that reports can be made of it later.

Everything is checked: a report is made, or the error says where the JSON is not what those commands print.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
from pydantic import TypeAdapter, ValidationError

from frontguard._typing import Floats, Ints
from frontguard.errors import BadInput
from frontguard.logs.analysis import Analysis
from frontguard.logs.more_pulls import LIMITS, Needed
from frontguard.logs.profile import Profile
from frontguard.notices import AnyNotice, Notice
from frontguard.objectives import Objective, parse_objectives
from frontguard.reports.analysis import Origin
from frontguard.reports.plain_values import Value
from frontguard.results import Certificate, Result
from frontguard.studies.overview import Snapshot
from frontguard.theory.threats import threat_named
from frontguard.verdicts import Verdict

__all__ = ["analysis_in", "origin_in", "result_in", "snapshot_in"]


STATUSES = ("certified", "budget", "unreachable", "running")
_CODES = {verdict.word: int(verdict) for verdict in Verdict}


def origin_in(value: Value) -> Origin:
    """How it was made, as far as it says so."""

    def text(key: str) -> str | None:
        found = value.get(key)
        return None if found is None else found.text()

    source, seed = value.get("source"), value.get("seed")
    if source is not None and isinstance(source.raw, list):
        said: str | None = ", ".join(source.texts())
    else:
        said = None if source is None else source.text()
    return Origin(
        text("version"), text("command"), said, None if seed is None else seed.whole(), text("spec"), text("at")
    )


def result_in(value: Value) -> tuple[Result, bool]:
    """A result, and whether the directions of its objectives are known."""
    fields, directed = _result_fields(value)
    return Result(**fields), directed


def _result_fields(value: Value) -> tuple[dict[str, Any], bool]:
    verdicts = value["verdicts"]
    places = {arm: number for number, arm in enumerate(verdicts.fields)}
    if not places:
        raise BadInput(f"{verdicts.where}: wanted a verdict for one arm at least; got none")
    codes = np.empty(len(places), np.int64)
    for arm, word in verdicts.by_arm(places):
        if word.raw not in _CODES if isinstance(word.raw, str) else True:
            raise word.wrong("in, out, covered or undecided")
        codes[arm] = _CODES[word.raw]
    metrics, directed = _metrics(value, value["intervals"])
    names = [metric.name for metric in metrics]
    low, high = _intervals(value["intervals"], places, names)
    estimates = next((value[key].rows(places, names) for key in ("medians", "estimates") if key in value), None)
    centre = np.full(low.shape, np.nan) if estimates is None else estimates
    inner = [_inward(metric, d, low, high, centre, value["intervals"].where) for d, metric in enumerate(metrics)]
    lower, upper, middle = (np.stack(each, axis=1) for each in zip(*inner, strict=True))
    pulls = np.zeros(len(places), np.int64)
    if "pulls_per_arm" in value:
        for arm, count in value["pulls_per_arm"].by_arm(places):
            pulls[arm] = count.whole()
    decided = np.full(len(places), -1, np.int64)
    if "decided_by" in value:
        for arm, rival in value["decided_by"].by_arm(places):
            if rival.text() not in places:
                raise rival.wrong("the name of an arm that has a verdict")
            decided[arm] = places[rival.text()]
    status = value["status"]
    if status.raw not in STATUSES:
        raise status.wrong(" or ".join(STATUSES))
    policy = value.get("policy")
    notices = value.get("notices")
    fields = {
        "policy": "certified" if policy is None else policy.text(),
        "status": status.text(),
        "arms": tuple(places),
        "objectives": tuple(names),
        "verdict_codes": codes,
        "estimates": middle,
        "lower": lower,
        "upper": upper,
        "pulls_per_arm": pulls,
        "decided_by": decided,
        "certificate": _certificate(value["certificate"], metrics),
        "notices": () if notices is None else _notices(notices),
        "metrics": metrics,
    }
    return fields, directed


def _notices(value: Value) -> tuple[Notice, ...]:
    try:
        return TypeAdapter(tuple[AnyNotice, ...]).validate_python(value.raw)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise value.wrong(f"records of what happened (at {where}: {first['msg'].lower()})") from None


def _metrics(value: Value, intervals: Value) -> tuple[tuple[Objective, ...], bool]:
    """The objectives; where there are only names, maximised ones, and that their directions are not known."""
    given = value.get("objectives")
    if given is None:
        first = next(iter(intervals.items()), None)
        names = [] if first is None else list(first[1].fields)
        if not names:
            raise BadInput(f"{intervals.where}: wanted an interval in one objective at least; got none")
        return parse_objectives([Objective(name) for name in names]), False
    objectives = []
    for each in given.elements():
        tolerance, quantile = each.get("tolerance"), each.get("quantile")
        if tolerance is not None and not isinstance(tolerance.raw, str):
            tolerance.number(0.0)
        try:
            objectives.append(
                Objective(
                    each["name"].text(),
                    each["direction"].text(),  # type: ignore[arg-type]  # it is checked there
                    0.0 if tolerance is None else tolerance.raw,
                    0.5 if quantile is None else quantile.number(),
                )
            )
        except BadInput as error:
            message = str(error)
            raise BadInput(message if message.startswith(each.where) else f"{each.where}: {message}") from None
    return parse_objectives(objectives), True


def _intervals(value: Value, places: dict[str, int], names: list[str]) -> tuple[Floats, Floats]:
    low, high = np.full((len(places), len(names)), -np.inf), np.full((len(places), len(names)), np.inf)
    columns = {name: d for d, name in enumerate(names)}
    for arm, by_name in value.by_arm(places):
        for name, ends in by_name.items():
            if name not in columns:
                raise BadInput(f"{by_name.where}: wanted the objectives {', '.join(names)[:200]}; got {name[:60]!r}")
            pair = ends.elements()
            if len(pair) != 2:
                raise ends.wrong("two ends, [low, high]")
            low[arm, columns[name]] = pair[0].number_or(-math.inf)
            high[arm, columns[name]] = pair[1].number_or(math.inf)
    return low, high


def _inward(
    metric: Objective, d: int, low: Floats, high: Floats, centre: Floats, where: str
) -> tuple[Floats, Floats, Floats]:
    """Ends and centre of one objective as inner values: the way back of `Objective.outward_interval`."""
    ends = [low[:, d], high[:, d]]
    if metric.relative:  # an end at or below 0 is open there
        ends[0] = np.where(ends[0] <= 0.0, np.nan, ends[0])
        if (ends[1] <= 0.0).any() or (centre[:, d] <= 0.0).any():
            raise BadInput(
                f"{where}: wanted positive values of {metric.name!r}, whose tolerance is a percentage; got others"
            )
    with np.errstate(over="ignore", invalid="ignore"):
        inner = [metric.inward(end) for end in ends]
    if metric.relative:
        inner[0] = np.where(np.isnan(inner[0]), np.inf if metric.minimized else -np.inf, inner[0])
    lower, upper = (inner[1], inner[0]) if metric.minimized else (inner[0], inner[1])
    return lower, upper, metric.inward(centre[:, d])


def _certificate(value: Value, metrics: tuple[Objective, ...]) -> Certificate:
    def each(key: str) -> tuple[float, ...]:
        given = value[key]
        if isinstance(given.raw, list):
            if len(given.raw) != len(metrics):
                raise given.wrong(f"a number for each of {len(metrics)} objectives")
            return tuple(_amount(part) for part in given.elements())
        return (_amount(given),) * len(metrics)

    threat, eps = value["threat"], value["contamination"]
    share = eps.number()
    if threat.text() not in ("", "none"):
        threat_named(threat.text(), share)  # refuses what is none
    confidence = value["confidence"].number()
    if not 0.0 < confidence < 1.0:
        raise value["confidence"].wrong("a probability between 0 and 1")
    relative = tuple(metric.relative for metric in metrics)
    return Certificate(each("accuracy"), each("coverage"), confidence, threat.text(), share, relative)


def _amount(value: Value) -> float:
    return math.inf if value.raw is None else value.number(0.0)


# Analyses -------------------------------------------------------------------------------------------------------------


def analysis_in(value: Value) -> Analysis:
    """An analysis, as `analyze --json` prints it."""
    fields, _ = _result_fields(value)
    arms, names = fields["arms"], list(fields["objectives"])
    places = {arm: number for number, arm in enumerate(arms)}
    failed = np.zeros((len(arms), len(names)), np.int64)
    if "failed" in value:
        counted = value["failed"].rows(places, names)
        if not (np.nan_to_num(counted) >= 0.0).all() or (np.nan_to_num(counted) > 2.0**53).any():
            raise value["failed"].wrong("numbers of failed values, from 0")
        failed = np.nan_to_num(counted).astype(np.int64)
    means = value["means"].rows(places, names) if "means" in value else np.full((len(arms), len(names)), np.nan)
    front = np.zeros(len(arms), np.bool_)
    for each in value["mean_set"].elements() if "mean_set" in value else ():
        if each.text() not in places:
            raise each.wrong("the name of an arm that has a verdict")
        front[places[each.text()]] = True
    anytime = value.get("anytime")
    return Analysis(
        **fields,
        failed=failed,
        means=means,
        mean_front=front,
        profile=_profile(value, places),
        needed=_needed(value, places, fields["pulls_per_arm"], fields["decided_by"]),
        anytime=False if anytime is None else anytime.truth(),
    )


def _profile(value: Value, places: dict[str, int]) -> Profile | None:
    if "stands_up_to" not in value or "front_changes_at" not in value:
        return None
    per_arm = np.full(len(places), np.nan)
    for arm, level in value["stands_up_to"].by_arm(places):
        per_arm[arm] = level.number(0.0, 0.5)
    front = value["front_changes_at"].number(0.0, 0.5)
    levels, sizes, resolution = np.empty(0), np.empty(0, np.int64), 0.001
    read = value.get("profile")
    if read is not None:
        levels = np.array([each.number(0.0, 0.5) for each in read["levels"].elements()])
        sizes = np.array([each.whole() for each in read["in_front"].elements()], np.int64)
        if len(levels) != len(sizes) or (np.diff(levels) <= 0.0).any():
            raise read.wrong("rising levels, and for each how many arms are in")
        resolution = read["resolution"].number(1e-9, 0.5)
    return Profile(per_arm, front, levels, sizes, resolution)


def _needed(value: Value, places: dict[str, int], pulls: Ints, decided: Ints) -> Needed | None:
    """What open arms need; what their rivals do follows from the level that this gives, unless it is said."""
    if "more_pulls" not in value or not value["more_pulls"].fields:
        return None
    arms, more, limits = [], [], []
    for arm, needs in value["more_pulls"].by_arm(places):
        arms.append(arm)
        if isinstance(needs.raw, str):
            if needs.raw not in LIMITS[1:]:
                raise needs.wrong(f"a number of pulls, or one of {', '.join(LIMITS[1:])}")
            more.append(-1)
            limits.append(LIMITS.index(needs.raw))
        else:
            more.append(needs.whole())
            limits.append(0)
    which, extra, limit = np.array(arms), np.array(more, np.int64), np.array(limits)
    rivals = decided[which]
    level = np.where(limit == 0, pulls[which] + extra, -1)
    rival_pulls = np.where((limit == 0) & (rivals >= 0), np.maximum(level - pulls[rivals], 0), -1)
    said = value.get("more_pulls_of_rival")
    if said is not None:
        known = {arm: count.whole() for arm, count in said.by_arm(places)}
        rival_pulls = np.array([known.get(arm, -1) for arm in arms], np.int64)
    return Needed(which, rivals, extra, rival_pulls, level, limit)


# Runs -----------------------------------------------------------------------------------------------------------------


def snapshot_in(value: Value) -> tuple[Snapshot, bool]:
    """A study at the end of a run, as `run --json` prints it, and whether directions are known."""
    result, directed = result_in(value)
    known = set(result.arms)
    failures: dict[str, Counter[str]] = {}
    for arm, reasons in value["failures"].items() if "failures" in value else ():
        if arm not in known:
            raise reasons.wrong("failures of arms that have a verdict")
        failures[arm] = Counter({reason: count.whole(1) for reason, count in reasons.items()})
    left, seconds = value.get("pulls_left"), value.get("seconds")
    return (
        Snapshot(
            study=value["study"].text(),
            result=result,
            failures=failures,
            pulls_left=None if left is None else left.whole(),
            seconds=0.0 if seconds is None else seconds.number(0.0),
        ),
        directed,
    )
