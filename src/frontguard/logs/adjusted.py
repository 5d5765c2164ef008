"""Objectives with what was said of them besides: tolerances and statistics, for all metrics or by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from frontguard.errors import BadArgument
from frontguard.objectives import Objective
from frontguard.phrases import did_you_mean, quoted, shown


def adjusted(
    objectives: Sequence[Objective],
    tolerance: float | str | Mapping[str, float | str] | None = None,
    quantile: float | Mapping[str, float] | None = None,
    statistic: str | Mapping[str, str] | None = None,
    bounds: Sequence[float] | Mapping[str, Sequence[float]] | None = None,
    sigma: float | Mapping[str, float] | None = None,
    exact: str | Sequence[str] = (),
) -> tuple[Objective, ...]:
    """The objectives with what was given for all or by name.

    What is said of a metric by its name comes first: what is said of all is said of the others. Another statistic takes
    the place of the one that an objective had.

    >>> both = Objective("solved"), Objective("size", "minimize")
    >>> solved, size = adjusted(both, statistic={"solved": "mean"}, bounds=(0, 1), exact="size")
    >>> solved.statistic_word, solved.bounds, size.statistic_word
    ('mean', (0.0, 1.0), 'exact')
    """
    names = [objective.name for objective in objectives]
    kept = [exact] if isinstance(exact, str) else list(exact)
    given: dict[str, Any] = {
        "tolerance": tolerance,
        "quantile": quantile,
        "statistic": statistic,
        "bounds": bounds,
        "sigma": sigma,
        "exact": dict.fromkeys(kept, True),
    }
    by_name = {what: dict(value) for what, value in given.items() if isinstance(value, Mapping)}
    of_all = {what: value for what, value in given.items() if value is not None and what not in by_name}
    for what, values in by_name.items():
        for name in values:
            if name not in names:
                raise BadArgument(
                    what,
                    f"{shown(name)} is not one of the metrics{did_you_mean(str(name), names)}; they are "
                    f"{quoted(names)}",
                )
    found = tuple(
        _with(each, {what: some[each.name] for what, some in by_name.items() if each.name in some}, of_all)
        for each in objectives
    )
    for what in ("bounds", "sigma"):
        if what in of_all and all(getattr(each, what) is None for each in found):
            raise BadArgument(what, must="come with statistic='mean', which is what needs it; no metric has that")
    return found


def _with(objective: Objective, own: Mapping[str, Any], of_all: Mapping[str, Any]) -> Objective:
    """An objective with what was said of it, and of all."""
    said = {**of_all, **own}
    counts = [what for what in ("exact", "statistic", "quantile") if what in own]
    if not counts and not (objective.exact or objective.statistic == "mean"):
        counts = [what for what in ("statistic", "quantile") if what in of_all]
    changes: dict[str, Any] = {}
    if counts:
        changes = {"statistic": None, "quantile": None, "bounds": None, "sigma": None, "exact": False}
        changes |= {what: said[what] for what in counts}
    is_mean = changes.get("statistic", objective.statistic) == "mean"
    ends = {what: said[what] for what in ("bounds", "sigma") if what in own or (what in of_all and is_mean)}
    if ends:
        changes |= {"bounds": None, "sigma": None, **ends}
    if "tolerance" in said:
        changes["tolerance"] = said["tolerance"]
    return replace(objective, **changes)
