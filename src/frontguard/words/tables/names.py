"""Names as they are said in sentences and pictures: on one line, not too long, and still different from each other."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from frontguard.phrases import cut_in_the_middle, fitting_names
from frontguard.results import Result

LONGEST = 60
"""Columns of a name in a sentence."""

_MOST_COMPARED = 20_000  # arms whose names are held against each other; a million would take a while

AnyResult = TypeVar("AnyResult", bound=Result)


def with_short_names(result: AnyResult) -> AnyResult:
    """The same result with names as they are said in sentences and pictures; metrics too."""
    metrics = tuple(replace(metric, name=_short(metric.name) or "?") for metric in result.metrics)
    limits = result.limits
    if limits is not None:
        short = (replace(gate.limit, metric=_short(gate.limit.metric) or "?") for gate in limits.gates)
        gates = (replace(gate, limit=limit) for gate, limit in zip(limits.gates, short, strict=True))
        limits = replace(limits, gates=tuple(gates))
    return replace(
        result,
        arms=_all_short(result.arms),
        objectives=tuple(map(_short, result.objectives)),
        metrics=metrics,
        limits=limits,
    )


def _all_short(names: tuple[str, ...]) -> tuple[str, ...]:
    if not any(len(name) > LONGEST or not name.isprintable() for name in names):
        return names
    lines = [_line(name) for name in names]
    if len(lines) <= _MOST_COMPARED:
        return tuple(fitting_names(lines, LONGEST))
    return tuple(cut_in_the_middle(line, LONGEST) for line in lines)


def _short(name: str) -> str:
    return cut_in_the_middle(_line(name), LONGEST)


def _line(name: str) -> str:
    """A name on one line; of an endless one, its ends."""
    ends = name if len(name) <= 16 * LONGEST else f"{name[: 8 * LONGEST]}…{name[-8 * LONGEST :]}"
    return " ".join(ends.split())
