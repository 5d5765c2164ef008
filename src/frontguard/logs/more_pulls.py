"""How many more pulls would settle the arms of a log that are open.

It lets the measuring go on in thought, as `studies.forecast` does live: if an arm's sample kept its proportions, then
with n' pulls its bounds would be the values that now have the ranks q(n') n/n'. Every arm that is not out is raised to
one common level of pulls, and all of them are judged anew by the rule itself; the level from which on an arm is not
open any more is what it needs, and is found by halving: an arm that not even the highest level settles costs one
judgement, and not one for each. All its rivals are raised with it, for any of them can stand in its way; the one that
decides it now is named. Where not even an endless sample would do, the reason is given.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from frontguard._common.machine import side_by_side
from frontguard._common.typing import Bools, Ints
from frontguard.evidence.boundaries import MOST_PULLS
from frontguard.evidence.boxes import ArmBoxes
from frontguard.logs.boxes import BoxReader
from frontguard.pareto.feasible import LimitRule, keeping_of
from frontguard.pareto.judge import Verdicts, judge_briefly
from frontguard.theory.threats import Threat
from frontguard.verdicts import OPEN, Verdict

FARTHEST = 100
"""Times the pulls of an arm beyond which its sample says nothing about how many it takes."""

LIMITS = ("", "far", "contamination", "failures", "tolerance", "limit")
"""Why no number of pulls is given: too many to foresee; ε lets an attacker do too much; too many pulls of it or of its
rival fail; the arms differ by too little for the tolerance; or the arm is too near to a limit."""

_REACHED, _FAR, _CONTAMINATION, _FAILURES, _TOLERANCE, _LIMIT = range(6)
_STEP = 1.1  # by how much the level grows at a time: what is needed is overstated by as much at most
_FEW = 5_000  # arms up to which it does; for more the steps are larger
_SIDE_BY_SIDE = range(1_000, 200_000)  # arms of which levels are judged at once; of more, each has much in memory


@dataclass(frozen=True, eq=False)
class Needed:
    """What each of J open arms needs: `pulls` more of it, and `rival_pulls` more of the rival that decides it.

    `level` is the number of pulls that it, its rival, and whatever else stands in its way should have in all. Where
    `limit`, an index of `LIMITS`, is not 0, these are −1.
    """

    arms: Ints
    rivals: Ints
    pulls: Ints
    rival_pulls: Ints
    level: Ints
    limit: Ints

    def extra(self, arms: int) -> Ints:
        """More pulls of each of K arms (K,) that together give every open arm and its rival what they need."""
        wanted = np.zeros(arms, np.int64)
        reached = self.limit == _REACHED
        np.maximum.at(wanted, self.arms[reached], self.pulls[reached])
        rivalled = reached & (self.rivals >= 0)
        np.maximum.at(wanted, self.rivals[rivalled], self.rival_pulls[rivalled])
        return wanted

    def among(self, kept: Ints) -> Needed:
        """The same where the arms 0, 1, … are the arms `kept` of more."""
        rivals = np.where(self.rivals >= 0, kept[self.rivals], -1)
        return replace(self, arms=kept[self.arms], rivals=rivals)


def needed(
    reader: BoxReader,
    threat: Threat,
    verdicts: Verdicts,
    *,
    accuracy: npt.ArrayLike,
    coverage: npt.ArrayLike,
    margin: npt.ArrayLike,
    limits: LimitRule | None = None,
    goal: str = "front",
) -> Needed:
    """How many more pulls would settle the arms that `verdicts`, those of this log, leave open.

    >>> from frontguard import Objective, Prescient
    >>> from frontguard.logs.sort.ordered import Ordered
    >>> from frontguard.pareto.judge import judge
    >>> values = np.concatenate([np.arange(100.0), np.arange(20.0, 120.0)])
    >>> log = Ordered(["a", "b"], ("speed",), np.array([100, 100]), np.array([[0, 100, 200]]), (values,))
    >>> tolerances = {"accuracy": 0.0, "coverage": 0.0, "margin": 0.0}
    >>> reader = BoxReader(log, [Objective("speed")], 0.05)
    >>> verdicts = judge(reader.read(Prescient(0.05)), **tolerances)
    >>> more = needed(reader, Prescient(0.05), verdicts, **tolerances)
    >>> more.arms.tolist(), more.pulls.tolist(), more.rival_pulls.tolist()
    ([0, 1], [197, 197], [197, 197])
    """
    arms = np.flatnonzero(verdicts.undecided)
    alive = np.flatnonzero(verdicts.codes != Verdict.OUT)
    ordered, alive_only = reader.ordered, reader.among(alive)
    own = np.searchsorted(alive, arms)
    rivals, pulls = verdicts.decided_by[arms], ordered.pulls[arms]

    def judged(boxes: ArmBoxes) -> Bools:
        codes = judge_briefly(boxes, accuracy, coverage, margin, limits, goal).codes[own]
        return np.asarray(codes != Verdict.UNDECIDED)

    def settled(foreseen: Sequence[tuple[int, Threat]]) -> list[Bools]:
        """Which arms are, with so many pulls under such a threat, for each of these."""
        boxes = (alive_only.foresee(under, least) for least, under in foreseen)
        return side_by_side(judged, boxes) if len(alive) in _SIDE_BY_SIDE else [judged(each) for each in boxes]

    level = np.full(len(arms), -1, np.int64)
    if len(arms):
        levels = _raised(pulls, len(alive))
        level = _first_of(levels, len(arms), lambda some: settled([(least, threat) for least in some]))
        level[level > FARTHEST * pulls] = -1
    limit = np.where(level >= 0, _REACHED, _FAR)
    if (level < 0).any():
        ever, clean = settled([(MOST_PULLS, threat), (MOST_PULLS, replace(threat, eps=0.0))])
        never = (level < 0) & ~ever
        limit[never] = np.where(clean, _CONTAMINATION, _TOLERANCE)[never]
        if limits is not None:
            boxes = alive_only.foresee(replace(threat, eps=0.0), MOST_PULLS)
            near = (keeping_of(boxes.lower, boxes.upper, limits).max(axis=1) == OPEN)[own]
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
    """For each arm (n,) the level from which on it is settled, −1 where the last one does not settle it.

    That what is settled stays so is not proved; where it is not, a level that settles the arm is given, and the one
    before it does not.
    """
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


def _raised(pulls: Ints, alive: int) -> list[int]:
    """Levels of pulls, each some percent above the one before, from what the least measured open arm has."""
    step = _STEP ** max(1.0, min(8.0, alive / _FEW))
    levels, last = [max(1, int(pulls.min()))], min(FARTHEST * int(pulls.max()), MOST_PULLS)
    while levels[-1] < last:
        levels.append(min(last, int(np.ceil(levels[-1] * step))))
    return levels[1:]
