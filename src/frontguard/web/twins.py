"""The JSON twins of the pages: all that a page shows, as plain values. Numbers are finite or null, names are data."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from frontguard.errors import BadInput
from frontguard.objectives import parse_tolerance
from frontguard.results import Result
from frontguard.studies.overview import Measurements, Overview
from frontguard.web.pages.arm import why
from frontguard.web.pages.list import Unread
from frontguard.web.pages.options import Options
from frontguard.web.pages.parts import arm_url, failed_per_arm, status_of, study_url
from frontguard.web.pages.study import progress
from frontguard.web.pages.table import order_of
from frontguard.words.certificate import guarantee
from frontguard.words.study import answer, more_to_come, too_short


def studies_twin(overviews: Sequence[Overview | Unread], numbers: Sequence[int] | None = None) -> dict[str, Any]:
    """The list of studies, each with its answer and facts."""
    numbers = range(1, len(overviews) + 1) if numbers is None else numbers
    return {"studies": [_listed(each, number) for each, number in zip(overviews, numbers, strict=True)]}


def _listed(each: Overview | Unread, number: int) -> dict[str, Any]:
    common: dict[str, Any] = {"number": number, "url": study_url(number), "twin": f"{study_url(number)}.json"}
    if isinstance(each, Unread):
        status = "trouble" if each.trouble else "reading"
        return common | {
            "name": each.name,
            "status": status,
            "read": each.told,
            "told": each.in_all,
            "trouble": each.trouble or None,
        }
    return common | {
        "name": each.name,
        "status": status_of(each),
        "answer": answer(each.snapshot),
        "arms": len(each.snapshot.result.arms),
        "facts": _facts(each),
        "certificate": _certificate(each),
    }


def reading_twin(name: str, number: int, told_so_far: int, told_in_all: int) -> dict[str, Any]:
    """A study whose log is being read for the first time."""
    return _listed(Unread(name, told_so_far, told_in_all), number)


def study_twin(overview: Overview, options: Options | None = None, number: int = 1) -> dict[str, Any]:
    """A study with all its arms, in the order that the options want."""
    options = (options or Options()).within(len(overview.settings.objectives))
    snapshot = overview.snapshot
    chosen = options.axes(len(overview.settings.objectives))
    medians, bounds = snapshot.result.medians, snapshot.result.bounds
    failed = failed_per_arm(snapshot)
    return {
        "name": overview.name,
        "number": number,
        "url": study_url(number, options),
        "status": status_of(overview),
        "answer": answer(snapshot),
        "guarantee": guarantee(snapshot.result, failed=snapshot.failed),
        "version": overview.version,
        "facts": _facts(overview),
        "certificate": _certificate(overview),
        "forecast": _forecast(overview),
        "warnings": list(snapshot.result.warnings),
        "notices": [notice.to_dict() for notice in snapshot.result.notices],
        "view": {"kind": options.view, "x": chosen[0], "y": chosen[1], "rows": options.rows, "sort": options.sort},
        "objectives": [asdict(each) for each in overview.settings.objectives],
        "arms": [_arm(overview, number, arm, medians, bounds, failed[arm]) for arm in order_of(overview, options.sort)],
        "failures": [
            {
                "arm": name,
                "reason": reason,
                "count": count,
                "last": finite(overview.failed_at.get((name, reason))),
            }
            for name, reasons in snapshot.failures.items()
            for reason, count in reasons.most_common()
        ],
        "certainty": [
            {"pulls": each.pulls, "at": finite(each.at), "uncertain": _numbers(each.uncertain)}
            for each in overview.history.moments
        ],
        "rate": {
            "edges": _numbers(overview.rate.edges),
            "told": overview.rate.told.tolist(),
            "failed": overview.rate.failed.tolist(),
        },
        "settings": _settings(overview),
    }


def arm_twin(
    overview: Overview, arm: int, measurements: Measurements, options: Options | None = None, number: int = 1
) -> dict[str, Any]:
    """An arm: verdict and why, interval, the history of its box, what was measured."""
    result = overview.snapshot.result
    if not 0 <= arm < len(result.arms):
        raise BadInput(f"arm must be a number from 0 to {len(result.arms) - 1}; got {arm}")
    options = (options or Options()).within(len(overview.settings.objectives))
    reasons: Mapping[str, int] = overview.snapshot.failures.get(result.arms[arm], {})
    return {
        "study": {"name": overview.name, "number": number, "url": study_url(number, options)},
        "status": status_of(overview),
        "version": overview.version,
        **_arm(overview, number, arm, result.medians, result.bounds, failed_per_arm(overview.snapshot)[arm]),
        "why": why(overview, arm),
        "objectives": [asdict(each) for each in overview.settings.objectives],
        "history": [
            {
                "pulls": each.pulls,
                "at": finite(each.at),
                "pulls_of_arm": int(each.pulls_per_arm[arm]),
                "medians": _numbers(each.medians[arm]),
                "low": _numbers(each.low[arm]),
                "high": _numbers(each.high[arm]),
            }
            for each in overview.history.moments
        ],
        "failures": [
            {"reason": reason, "count": count, "last": finite(overview.failed_at.get((result.arms[arm], reason)))}
            for reason, count in reasons.items()
        ],
        "measurements": {
            "total": measurements.total,
            "pulls": measurements.pulls.tolist(),
            "values": [_numbers(row) for row in measurements.values],
            "reasons": list(measurements.reasons),
            "workers": list(measurements.workers),
            "at": _numbers(measurements.at),
        },
    }


def finite(value: float | None) -> float | None:
    """The number, or None where there is none that JSON could hold."""
    return float(value) if value is not None and math.isfinite(value) else None


def _numbers(values: Any) -> list[float | None]:
    return [finite(value) for value in np.asarray(values, np.float64).tolist()]


def _facts(overview: Overview) -> dict[str, Any]:
    snapshot = overview.snapshot
    counts = {verdict.word: count for verdict, count in snapshot.result.tally().items()}
    return {
        "pulls": snapshot.pulls,
        "told": overview.told,
        "failed": snapshot.failed,
        "under_way": overview.out,
        "pulls_a_minute": finite(60.0 * snapshot.rate) if snapshot.rate else None,
        "began": finite(overview.began),
        "last": finite(overview.last),
        "most_pulls": snapshot.most_pulls,
        "verdicts": counts,
    }


def _certificate(overview: Overview) -> dict[str, Any]:
    """The certificate as everywhere, and what is certain now beside the goal, for each objective."""
    certificate, objectives = overview.snapshot.result.certificate, overview.settings.objectives
    now = certificate.amounts(objectives)
    against = [
        {
            "objective": objective.name,
            "now": finite(value),
            "goal": parse_tolerance(objective.tolerance).amount,
            "relative": objective.relative,
            "progress": progress(value, objective),
        }
        for value, objective in zip(now, objectives, strict=True)
    ]
    return {**certificate.to_dict(), "against_goal": against}


def _forecast(overview: Overview) -> dict[str, Any] | None:
    if status_of(overview) != "running":
        return None
    snapshot = overview.snapshot
    return {
        "pulls_left": snapshot.pulls_left,
        "seconds_left": finite(snapshot.seconds_left),
        "words": more_to_come(snapshot),
        "shortfall": too_short(snapshot) or None,
    }


def _arm(overview: Overview, study: int, arm: int, medians: Any, bounds: Any, failed: int) -> dict[str, Any]:
    result: Result = overview.snapshot.result
    low, high = bounds
    rival = int(result.decided_by[arm])
    return {
        "arm": arm,
        "name": result.arms[arm],
        "url": arm_url(study, arm),
        "verdict": result.verdict(arm).word,
        "medians": _numbers(medians[arm]),
        "low": _numbers(low[arm]),
        "high": _numbers(high[arm]),
        "pulls": int(result.pulls_per_arm[arm]),
        "failed": failed,
        "decided_by": rival if rival >= 0 else None,
    }


def _settings(overview: Overview) -> dict[str, Any]:
    settings = overview.settings
    spec = settings.about.get("spec")
    return {
        "threat": settings.threat.name,
        "contamination": settings.threat.eps,
        "confidence": settings.confidence,
        "seed": settings.seed,
        "budget": {"pulls": settings.budget.pulls, "pulls_per_arm": settings.budget.pulls_per_arm},
        "spec": spec if isinstance(spec, str) else None,
    }
