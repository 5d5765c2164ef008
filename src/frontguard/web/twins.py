"""The JSON twins of the pages: all that a page shows, as plain values. Numbers are finite or null, names are data."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from frontguard.objectives import parse_tolerance
from frontguard.studies.overview import Measurements, Overview
from frontguard.web.addresses import Address
from frontguard.web.pages.arm import rivals_of
from frontguard.web.pages.table import order_of
from frontguard.web.watchers import Seen
from frontguard.words.certificate import guarantee, nearness
from frontguard.words.study import answer, more_to_come, too_short, why


def studies_twin(studies: Sequence[Seen]) -> dict[str, Any]:
    """The list of studies, each with its answer and facts."""
    return {"studies": [_listed(seen) for seen in studies]}


def reading_twin(seen: Seen) -> dict[str, Any]:
    """A study whose log is being read for the first time."""
    return _address(seen) | {
        "status": "reading",
        "read": seen.told,
        "told": seen.total,
        "trouble": seen.trouble or None,
    }


def _listed(seen: Seen) -> dict[str, Any]:
    if seen.overview is None:
        return reading_twin(seen) | ({"status": "trouble"} if seen.trouble else {})
    snapshot = seen.overview.snapshot
    return _address(seen) | {
        "status": snapshot.result.status,
        "answer": answer(snapshot),
        "arms": len(snapshot.result.arms),
        "facts": _facts(seen.overview),
        "certificate": _certificate(seen.overview),
    }


def _address(seen: Seen) -> dict[str, Any]:
    where = Address(seen.number)
    return {"number": seen.number, "url": where.page, "twin": where.twin, "name": seen.name}


def study_twin(overview: Overview, address: Address) -> dict[str, Any]:
    """A study with all its arms, in the order that the options want."""
    options = address.options
    snapshot = overview.snapshot
    x, y = options.axes(len(overview.settings.objectives))
    return {
        "name": overview.name,
        "number": address.study,
        "url": address.page,
        "status": snapshot.result.status,
        "answer": answer(snapshot),
        "guarantee": guarantee(snapshot.result, failed=snapshot.failed),
        "version": overview.version,
        "facts": _facts(overview),
        "certificate": _certificate(overview),
        "forecast": _forecast(overview),
        "warnings": list(snapshot.result.warnings),
        "notices": [notice.to_dict() for notice in snapshot.result.notices],
        "view": {"kind": options.view, "x": x, "y": y, "rows": options.rows, "sort": options.sort},
        "objectives": [asdict(each.spelled_out) for each in overview.settings.objectives],
        "limits": [str(gate) for gate in overview.settings.columns.gates],
        "arms": _arms(overview, address, order_of(overview, options.sort)),
        "failures": [{"arm": name, **each} for name in snapshot.failures for each in _failures(overview, name)],
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
    overview: Overview, address: Address, measurements: Measurements, baseline: str | None = None
) -> dict[str, Any]:
    """An arm: verdict and why, interval, how it compares, the history of its box, what was measured."""
    snapshot, arm = overview.snapshot, measurements.arm
    result = snapshot.result
    return {
        "study": {"name": overview.name, "number": address.study, "url": address.to()},
        "status": snapshot.result.status,
        "version": overview.version,
        **_arms(overview, address, [arm])[0],
        "why": why(snapshot, arm),
        "compared": [
            result.compare(result.arms[arm], result.arms[rival]).to_dict()
            for rival in (rivals_of(result, arm, baseline) if result.pulls_per_arm[arm] else ())
        ],
        "objectives": [asdict(each.spelled_out) for each in overview.settings.objectives],
        "history": [
            {
                "pulls": each.pulls,
                "at": finite(each.at),
                "pulls_of_arm": int(each.pulls_per_arm[arm]),
                "estimates": _numbers(each.estimates[arm]),
                "low": _numbers(each.low[arm]),
                "high": _numbers(each.high[arm]),
            }
            for each in overview.history.moments
        ],
        "failures": _failures(overview, measurements.name),
        "measurements": {
            "total": measurements.total,
            "pulls": measurements.pulls.tolist(),
            "values": [_numbers(row) for row in measurements.values],
            "reasons": list(measurements.reasons),
            "workers": list(measurements.workers),
            "at": _numbers(measurements.at),
        },
    }


def with_trouble(twin: dict[str, Any], said: str) -> dict[str, Any]:
    """The same with what keeps the storage from being read at the moment; None if nothing does."""
    return twin | {"trouble": said or None}


def finite(value: float | None) -> float | None:
    """The number, or None where there is none that JSON could hold."""
    return float(value) if value is not None and math.isfinite(value) else None


def _numbers(values: Any) -> list[float | None]:
    return [finite(value) for value in np.asarray(values, np.float64).tolist()]


def _facts(overview: Overview) -> dict[str, Any]:
    snapshot = overview.snapshot
    cost = snapshot.result.cost
    return {
        "pulls": snapshot.pulls,
        "told": overview.told,
        "failed": snapshot.failed,
        "under_way": overview.out,
        "pulls_a_minute": finite(60.0 * snapshot.rate) if snapshot.rate else None,
        "began": finite(overview.began),
        "last": finite(overview.last),
        "max_pulls": snapshot.max_pulls,
        "cost": None if cost is None else {"unit": cost.unit, "metric": cost.metric, "spent": finite(cost.spent)},
        "max_cost": snapshot.max_cost,
        "verdicts": {verdict.word: count for verdict, count in snapshot.result.tally().items()},
    }


def _certificate(overview: Overview) -> dict[str, Any]:
    """The certificate as everywhere, and what is certain now beside the goal, for each objective."""
    result, objectives = overview.snapshot.result, overview.settings.objectives
    now = result.nearest.amounts(objectives)
    against = [
        {
            "objective": objective.name,
            "now": finite(value),
            "goal": parse_tolerance(objective.tolerance).amount,
            "relative": objective.relative,
            "progress": nearness(value, objective),
        }
        for value, objective in zip(now, objectives, strict=True)
    ]
    return {**result.certificate.to_dict(), "against_goal": against}


def _forecast(overview: Overview) -> dict[str, Any] | None:
    snapshot = overview.snapshot
    if snapshot.result.status != "running":
        return None
    return {
        "pulls_left": snapshot.pulls_left,
        "seconds_left": finite(snapshot.seconds_left),
        "pulls_left_range": snapshot.pulls_left_range,
        "cost_left": snapshot.cost_left,
        "cost_left_range": snapshot.cost_left_range,
        "words": more_to_come(snapshot),
        "shortfall": too_short(snapshot) or None,
    }


def _arms(overview: Overview, address: Address, arms: Sequence[int]) -> list[dict[str, Any]]:
    result, failed = overview.snapshot.result, overview.snapshot.failed_per_arm
    estimates, low, high = result.estimates, result.lower, result.upper
    keeping = {} if result.limits is None else dict(result.limits.to_dict(result.arms)["keeping"].pairs)
    return [
        {
            "arm": arm,
            "name": result.arms[arm],
            "url": Address(address.study, arm).page,
            "verdict": result.verdict(arm).word,
            "estimates": _numbers(estimates[arm]),
            "low": _numbers(low[arm]),
            "high": _numbers(high[arm]),
            "pulls": int(result.pulls_per_arm[arm]),
            "failed": int(failed[arm]),
            "decided_by": int(result.decided_by[arm]) if result.decided_by[arm] >= 0 else None,
            **({"keeping": keeping[result.arms[arm]]} if keeping else {}),
        }
        for arm in arms
    ]


def _failures(overview: Overview, arm: str) -> list[dict[str, Any]]:
    reasons = overview.snapshot.failures.get(arm, Counter())
    return [
        {"reason": reason, "count": count, "last": finite(overview.failed_at.get((arm, reason)))}
        for reason, count in reasons.most_common()
    ]


def _settings(overview: Overview) -> dict[str, Any]:
    settings = overview.settings
    spec = settings.about.get("spec")
    return {
        "threat": settings.threat.name,
        "contamination": settings.threat.eps,
        "confidence": settings.confidence,
        "goal": settings.goal,
        "seed": settings.seed,
        "budget": asdict(settings.budget),
        "cost": None if settings.cost is None else {"unit": settings.cost.unit, "metric": settings.cost.metric},
        "spec": spec if isinstance(spec, str) else None,
    }
