"""A study's log as sorted measurements, for what only a complete log tells: the robustness profile, means."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from frontguard.logs.analysis import MOST_PROFILED, Question
from frontguard.logs.boxes import BoxReader, mean_front, means
from frontguard.logs.findings import Analysis
from frontguard.logs.ordered import Ordered
from frontguard.logs.profile import Profile, profile, resolution_for
from frontguard.logs.verdicts import judge
from frontguard.objectives import Objective
from frontguard.results import Result, Verdict
from frontguard.studies.settings import Settings

__all__ = ["as_analysis", "sorted_pulls"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def sorted_pulls(names: tuple[str, ...], objectives: tuple[Objective, ...], arms: Ints, values: Floats) -> Ordered:
    """Pulls of `arms` (n,) with values (n, M), as `Ordered`: by arm, the values of each metric sorted."""
    count = len(names)
    starts, flat = np.zeros((len(objectives), count + 1), np.int64), []
    for d, objective in enumerate(objectives):
        column = values[:, d]
        good = np.isfinite(column) & ((column > 0.0) if objective.relative else True)
        order = np.lexsort((column[good], arms[good]))
        flat.append(column[good][order])
        starts[d, 1:] = np.cumsum(np.bincount(arms[good], minlength=count))
    pulls = np.bincount(arms, minlength=count).astype(np.int64)
    return Ordered(names, tuple(objective.name for objective in objectives), pulls, starts, tuple(flat))


def _without(ordered: Ordered, aside: npt.NDArray[np.bool_]) -> Ordered:
    """The log without some arms."""
    kept = np.flatnonzero(~aside)
    starts = np.zeros((len(ordered.metrics), len(kept) + 1), np.int64)
    flat = []
    for d in range(len(ordered.metrics)):
        parts = [ordered.values[d][ordered.starts[d, arm] : ordered.starts[d, arm + 1]] for arm in kept.tolist()]
        starts[d, 1:] = np.cumsum([len(part) for part in parts])
        flat.append(np.concatenate(parts) if parts else np.empty(0))
    return Ordered(
        [ordered.arms[arm] for arm in kept.tolist()], ordered.metrics, ordered.pulls[kept], starts, tuple(flat)
    )


def as_analysis(
    result: Result,
    settings: Settings,
    ordered: Ordered,
    aside: npt.NDArray[np.bool_],
    progress: Callable[[int, int], None] | None = None,
) -> tuple[Analysis, str]:
    """The study's result with what its log tells besides, and a sentence where the two readings of the log differ.

    The profile is read from the log as it is now, without what a spread bound adds, while the study's own intervals
    were intersected over time. An arm whose verdict differs at the declared ε gets no figure. `progress` is told how
    many of the shares ε that are to be tried are done.
    """
    failed = (ordered.pulls - ordered.good).T
    found, note = _profile(result, settings, ordered, aside, progress)
    fields = {name: value for name, value in vars(result).items() if name in Result.__dataclass_fields__}
    analysis = Analysis(
        **fields,
        failed=failed,
        means=means(ordered, settings.objectives),
        mean_front=mean_front(ordered, settings.objectives) & ~aside,
        profile=found,
        anytime=True,
    )
    return analysis, note


def _profile(
    result: Result,
    settings: Settings,
    ordered: Ordered,
    aside: npt.NDArray[np.bool_],
    progress: Callable[[int, int], None] | None,
) -> tuple[Profile | None, str]:
    kept = np.flatnonzero(~aside)
    if not len(kept) or not ordered.pulls.any() or len(kept) > MOST_PROFILED:
        return None, ""
    question = Question(settings.objectives, settings.threat, settings.confidence, settings.coverage, anytime=True)
    # δ is shared by all arms, those that were set aside included: what is left of it for the others.
    delta = question.delta * len(kept) / len(settings.arms)
    some = ordered if len(kept) == len(settings.arms) else _without(ordered, aside)
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
