"""The JSON twins of the pages: the entries of a study's state, with the addresses of its arms beside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from frontguard._common.entries import ByArm, finite, gathered
from frontguard.studies.overview import Measurements, Overview
from frontguard.web.addresses import Address
from frontguard.web.pages.arm import rivals_of
from frontguard.web.pages.studies import order_of
from frontguard.web.watchers import Seen
from frontguard.words.certificate import guarantee
from frontguard.words.study import answer, more_to_come, why


def studies_twin(studies: Sequence[Seen]) -> dict[str, Any]:
    """The list of studies, each with its answer."""
    return {"studies": [_listed(seen) for seen in studies]}


def reading_twin(seen: Seen) -> dict[str, Any]:
    """A study whose log is being read for the first time."""
    where = Address(seen.number)
    return {
        "study": seen.name,
        "number": seen.number,
        "url": where.page,
        "twin": where.twin,
        "status": "reading",
        "read": seen.told,
        "told": seen.total,
        "trouble": seen.trouble or None,
    }


def _listed(seen: Seen) -> dict[str, Any]:
    listed = reading_twin(seen)
    if seen.overview is None:
        return listed | ({"status": "trouble"} if seen.trouble else {})
    snapshot = seen.overview.snapshot
    result = snapshot.result
    return listed | {
        "status": result.status,
        "answer": answer(snapshot),
        "arms": len(result.arms),
        "pulls": result.pulls,
        "counts": {verdict.word: count for verdict, count in result.tally().items()},
        "certificate": result.certificate.to_dict(),
    }


def study_twin(overview: Overview, address: Address) -> dict[str, Any]:
    """A study with all its arms, these in the order that the options want."""
    arms = overview.snapshot.result.arms
    return {
        **_said(overview),
        "number": address.study,
        "url": address.page,
        **gathered(overview.entries()),
        "arms": [
            {"arm": arm, "name": arms[arm], "url": Address(address.study, arm).page}
            for arm in order_of(overview, address.options.sort)
        ],
    }


def arm_twin(
    overview: Overview, address: Address, measurements: Measurements, baseline: str | None = None
) -> dict[str, Any]:
    """An arm: the entries of its study, of this arm alone; why, how it compares, what was measured."""
    snapshot, arm = overview.snapshot, measurements.arm
    result = snapshot.result
    rivals = rivals_of(result, arm, baseline) if result.pulls_per_arm[arm] else ()
    return {
        **_said(overview),
        "number": address.study,
        "url": address.page,
        "study_url": address.to(),
        "arm": arm,
        "name": measurements.name,
        "why": why(snapshot, arm),
        **{
            key: {name: each for name, each in value.pairs if name == measurements.name}
            if isinstance(value, ByArm)
            else value
            for key, value in overview.entries(arm)
        },
        "compared": [result.compare(result.arms[arm], result.arms[rival]).to_dict() for rival in rivals],
        "measurements": {
            "total": measurements.total,
            "pulls": measurements.pulls.tolist(),
            "values": finite(measurements.values),
            "reasons": list(measurements.reasons),
            "workers": list(measurements.workers),
            "at": finite(measurements.at),
        },
    }


def _said(overview: Overview) -> dict[str, Any]:
    snapshot = overview.snapshot
    return {
        "answer": answer(snapshot),
        "guarantee": guarantee(snapshot.result, failed=snapshot.failed),
        "forecast": more_to_come(snapshot) if snapshot.result.status == "running" else None,
    }


def with_trouble(twin: dict[str, Any], said: str) -> dict[str, Any]:
    """The same with what keeps the storage from being read at the moment; None if nothing does."""
    return twin | {"trouble": said or None}
