"""Changes of an answer of a log: by dirtier data, lower demands, more pulls; docs/theory.md, "Robustness".

*Robustness*: for each arm the largest ε up to which its verdict stands. For another ε only ranks change: K · M values
are read anew from the sorted log, and verdicts that are the same at two ε are the same between them. *If cleaner*:
where arms are open, the largest smaller ε at which more of them are decided, and that at which as many are as without
any contamination. *More pulls*, as `studies.forecast` does live: if an arm's sample kept its proportions, with n' pulls
its bounds would be the values that now have the ranks q(n') n/n'. Every arm that is not out is raised to one common
level of pulls, as any rival can stand in its way; where not even an endless sample would do, the reason is given.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from frontguard._common.machine import side_by_side
from frontguard._common.typing import Bools, Floats, Ints
from frontguard.errors import BadInput
from frontguard.evidence.confidence_sequences import MOST_PULLS
from frontguard.evidence.intervals import ArmIntervals
from frontguard.evidence.readers import IntervalReader
from frontguard.pareto.judge import Verdicts, judge
from frontguard.pareto.relations import keeping_of
from frontguard.results import IfCleaner, Needed, Profile
from frontguard.theory.threats import Threat
from frontguard.verdicts import OPEN, Verdict

FINEST = 0.001
"""To how much in ε the profile is exact, up to `_FINE_ARMS` arms."""

_FINE_ARMS = 20_000
_MOST_COARSE = 0.02


def resolution_for(arms: int) -> float:
    """The resolution of a profile of so many arms: in proportion to them beyond 20,000.

    >>> resolution_for(100), resolution_for(100_000), resolution_for(1_000_000)
    (0.001, 0.005, 0.02)
    """
    return float(np.clip(FINEST * np.ceil(arms / _FINE_ARMS), FINEST, _MOST_COARSE))


def profile(
    reader: IntervalReader,
    threat: Threat,
    *,
    resolution: float | None = None,
    progress: Callable[[float], None] | None = None,
    **goal: Any,
) -> Profile:
    """The robustness profile of a log from the threat model's ε upwards; `goal` is what `judge` takes besides."""
    step = resolution_for(len(reader.pulls)) if resolution is None else resolution
    if not 0.0 < step < 0.5:
        raise BadInput(f"resolution must be between 0 and 1/2; got {resolution!r}")
    levels = levels_from(threat.least, step)
    known: dict[int, Ints] = {}  # verdicts by level, while they are needed
    choices: dict[int, Ints] = {}  # and how candidates were chosen, where the goal is the list
    sizes: dict[int, int] = {}

    def codes(level: int) -> Ints:
        if level not in known:
            intervals = reader.read(threat.raised(float(levels[level])))
            found = judge(intervals, **goal, briefly=True)
            known[level] = found.codes.astype(np.int8)
            if found.choice is not None:
                choices[level] = (2 * found.choice.step + found.choice.inside).astype(np.int8)
            sizes[level] = int((known[level] == Verdict.KEEP).sum())
        return known[level]

    def alike(level: int, end: int) -> bool:
        """True if verdicts are the same at both levels, and hence between them."""
        same = np.array_equal(codes(level), codes(end))
        if not same or end - level <= 1 or not choices:
            return same
        return np.array_equal(choices[level], choices[end]) and not (choices[level] >= 2 * 3).any()

    present = codes(0)
    stands = np.full(len(present), len(levels) - 1)  # the last level up to which each verdict is known to stand
    open_still = present != Verdict.UNDECIDED
    changed = len(levels)
    level, last = 0, len(levels) - 1
    ends = [last]  # of intervals yet to be looked into; the next one begins at `level`
    while ends and (open_still.any() or changed == len(levels)):
        end = ends[-1]
        same = alike(level, end)
        if end - level > 1 and not same:
            ends.append((level + end) // 2)
            continue
        if not same:
            lost = open_still & (known[end] != present)
            stands[lost] = level
            open_still &= ~lost
            others_in = (known[end] == Verdict.KEEP) != (present == Verdict.KEEP)
            newly_open = (known[end] == Verdict.UNDECIDED) & (present != Verdict.UNDECIDED)
            if changed == len(levels) and (others_in | newly_open).any():
                changed = end
        del known[level]
        choices.pop(level, None)
        level = ends.pop()
        if progress is not None:
            progress(float(levels[level]))
    per_arm = np.where(present == Verdict.UNDECIDED, np.nan, levels[stands])
    seen = sorted(sizes)
    return Profile(
        per_arm=per_arm,
        front=float(levels[changed]) if changed < len(levels) else 0.5,
        levels=levels[seen],
        in_front=np.array([sizes[j] for j in seen]),
        resolution=step,
    )


def levels_from(eps: float, step: float) -> Floats:
    """The present ε and every step above it, below 1/2."""
    count = int(np.ceil((0.5 - eps) / step - 1e-9))
    levels = np.round(eps + step * np.arange(max(1, count)), 12)
    levels[0] = eps
    return levels[levels < 0.5]


def if_cleaner(reader: IntervalReader, threat: Threat, codes: Ints, **goal: Any) -> tuple[IfCleaner, ...]:
    """The verdicts at the largest smaller ε that decides more than `codes` (K,), and at the one that decides most."""

    @cache
    def at(eps: float) -> IfCleaner:
        return IfCleaner(eps, judge(reader.read(threat.at(eps)), **goal, briefly=True).codes)

    def left(eps: float) -> int:
        return int((at(eps).codes == Verdict.UNDECIDED).sum())

    still = int((codes == Verdict.UNDECIDED).sum())
    if not threat.eps or left(0.0) >= still:
        return ()
    step = resolution_for(len(codes))
    tried = np.round(step * np.arange(np.ceil(threat.eps / step - 1e-9)), 12)[::-1].tolist()
    found = (bisect_left(tried, True, key=lambda eps: left(eps) <= most) for most in (still - 1, left(0.0)))
    return tuple(at(tried[place]) for place in dict.fromkeys(found))


FARTHEST = 100
"""Times the pulls of an arm beyond which its sample says nothing about how many it takes."""

_REACHED, _FAR, _CONTAMINATION, _FAILURES, _TOLERANCE, _LIMIT = range(6)
_GROWTH = 1.1  # by how much the level grows at a time: what is needed is overstated by as much at most
_FEW = 5_000  # arms up to which it does; for more the steps are larger
_SIDE_BY_SIDE = range(1_000, 200_000)  # arms of which levels are judged at once; of more, each has much in memory


def needed(reader: IntervalReader, threat: Threat, verdicts: Verdicts, **goal: Any) -> Needed:
    """The pulls that would settle the arms that `verdicts` leave open; `goal` is what `judge` takes besides."""
    arms = np.flatnonzero(verdicts.undecided)
    alive = np.flatnonzero(verdicts.codes != Verdict.BEATEN)
    ordered, alive_only = reader.ordered, reader.among(alive)
    own = np.searchsorted(alive, arms)
    rivals, pulls = verdicts.decided_by[arms], ordered.pulls[arms]

    def judged(intervals: ArmIntervals) -> Bools:
        codes = judge(intervals, **goal, briefly=True).codes[own]
        return np.asarray(codes != Verdict.UNDECIDED)

    def settled(foreseen: Sequence[tuple[int, Threat]]) -> list[Bools]:
        """The arms that are, with so many pulls under such a threat, for each of these."""
        intervals = (alive_only.foresee(under, least) for least, under in foreseen)
        return side_by_side(judged, intervals) if len(alive) in _SIDE_BY_SIDE else [judged(each) for each in intervals]

    level = np.full(len(arms), -1, np.int64)
    if len(arms):
        # Levels of pulls, each some percent above the one before, from what the least measured open arm has.
        step = _GROWTH ** max(1.0, min(8.0, len(alive) / _FEW))
        levels, last = [max(1, int(pulls.min()))], min(FARTHEST * int(pulls.max()), MOST_PULLS)
        while levels[-1] < last:
            levels.append(min(last, int(np.ceil(levels[-1] * step))))
        level = _first_of(levels[1:], len(arms), lambda some: settled([(least, threat) for least in some]))
        level[level > FARTHEST * pulls] = -1
    limit = np.where(level >= 0, _REACHED, _FAR)
    if (level < 0).any():
        ever, clean = settled([(MOST_PULLS, threat), (MOST_PULLS, threat.at(0.0))])
        never = (level < 0) & ~ever
        limit[never] = np.where(clean, _CONTAMINATION, _TOLERANCE)[never]
        if (limits := goal.get("limits")) is not None:
            intervals = alive_only.foresee(threat.at(0.0), MOST_PULLS)
            near = (keeping_of(intervals.lower, intervals.upper, limits).max(axis=1) == OPEN)[own]
            limit[never & ~clean & near] = _LIMIT
        failed = np.asarray((ordered.pulls > ordered.good).any(axis=0))
        limit[never & ~clean & (failed[arms] | (failed[rivals] & (rivals >= 0)))] = _FAILURES

    return Needed(
        arms=arms,
        rivals=rivals,
        pulls=np.where(level >= 0, np.maximum(level - pulls, 0), -1),
        rival_pulls=np.where((level >= 0) & (rivals >= 0), np.maximum(level - ordered.pulls[rivals], 0), -1),
        level=level,
        limit=limit,
    )


def _first_of(levels: list[int], arms: int, settled: Callable[[list[int]], list[Bools]]) -> Ints:
    """For each arm (n,) a level that settles it and before which none does; −1 for none. Not proved to stay so."""
    found = np.full(arms, -1, np.int64)
    if not levels:
        return found
    between = [(-1, len(levels) - 1, settled(levels[-1:])[0])]  # arms not settled at the first place, and at the second
    while between:
        wide = []
        for before, place, those in between:
            if place - before == 1:
                found[those] = levels[place]
            elif those.any():
                wide.append((before, (before + place) // 2, place, those))
        between = []
        asked = settled([levels[middle] for _, middle, _, _ in wide])
        for (before, middle, place, those), soon in zip(wide, asked, strict=True):
            between += [(before, middle, those & soon), (middle, place, those & ~soon)]
    return found
