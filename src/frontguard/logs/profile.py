"""The robustness profile: how dirty the data of a log may be before its verdicts change.

For each arm the largest ε up to which its verdict stands, and the smallest ε at which the answer as a whole does not:
other arms are in, or one is open that was not, so that those that are in might not be all, or not enough. For another
ε only ranks change: K · M values are read anew from the sorted log, and nothing is sorted.

As ε rises, keep(p) falls or more is taken, ranks fall, and every box widens: L falls and H rises. So do the boxes of
means: e-processes leave c* of the same values, whatever ε is, and the mean is at most (c* + β) / α, where α falls or β
rises with ε; where any share may be replaced, more values count as the worst, no bet earns more, and c* rises. What is
exact stays as it is, and a mean with a known deviation has no bound from the first ε above 0 on. From this:

- The arms that are out only become fewer: H_i ≼ L_j with one strict held for the narrower boxes too, as did that an
  arm is beyond a limit, or that j is within all of them.
- If the same arms are out at ε₁ and at ε₂, they are between; so the alive arms and, as estimates do not depend on ε,
  the candidates are the same throughout. Among the same arms H_j − L_i only rises, so the arms that are in only become
  fewer, and among the same arms that are in, so do the covered ones. Hence **verdicts that are the same at ε₁ and ε₂
  are the same between them**, and an interval at whose ends they are equal need not be looked into.
- Where the goal is the list, candidates depend on who covers whom as well, and are compared too, with the step in which
  each became one and with which arms could be in. If all that is the same at both ends, it is so between. Which could
  be in only become fewer, so they stay. An arm that is kept at ε₁ is covered by none kept before it, nor at a larger ε;
  one that is left out at ε₂ is left out for one kept before it, which was so at a smaller ε too: so, arm by arm in
  their order, the first step is the same between, and so is the second. Where arms came on the list in a third step, so
  that they alone cover others, nothing is concluded, and every level is looked at.

A verdict as such need not be lost for good: an arm that was out can come in at a larger ε and then cover another one
again. What is given is therefore the first change, from the present ε upwards.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from frontguard._common.typing import Floats, Ints
from frontguard.errors import BadInput
from frontguard.logs.boxes import BoxReader
from frontguard.pareto.feasible import LimitRule
from frontguard.pareto.judge import judge_briefly
from frontguard.theory.threats import Threat
from frontguard.verdicts import Verdict

FINEST = 0.001
"""To how much in ε the profile is exact, up to `FINE_ARMS` arms."""

FINE_ARMS = 20_000
_MOST_COARSE = 0.02


@dataclass(frozen=True, eq=False)
class Profile:
    """The ε up to which verdicts stand; exact to `resolution`, on levels that many steps above the present ε.

    `per_arm` (K,) is the largest level up to which the arm's verdict stands, NaN for an undecided one. `front` is the
    smallest level at which other arms are in than now, or more are undecided, and 1/2 if there is none below. `levels`
    (J,) are those that had to be looked at, and `in_front` (J,) how many arms are in there.
    """

    per_arm: Floats
    front: float
    levels: Floats
    in_front: Ints
    resolution: float


def resolution_for(arms: int) -> float:
    """The resolution of a profile of so many arms: 0.001 up to 20,000, in proportion to them beyond, 0.02 at most.

    >>> resolution_for(100), resolution_for(100_000), resolution_for(1_000_000)
    (0.001, 0.005, 0.02)
    """
    return float(np.clip(FINEST * np.ceil(arms / FINE_ARMS), FINEST, _MOST_COARSE))


def profile(
    reader: BoxReader,
    threat: Threat,
    *,
    accuracy: npt.ArrayLike,
    coverage: npt.ArrayLike,
    margin: npt.ArrayLike,
    limits: LimitRule | None = None,
    goal: str = "front",
    resolution: float | None = None,
    progress: Callable[[float], None] | None = None,
) -> Profile:
    """The robustness profile of a log from the threat model's ε upwards, below 1/2; δ and the kind of threat stay.

    `progress`, if given, is told from time to time up to which ε everything is known.

    >>> from frontguard import Objective, Prescient
    >>> from frontguard.logs.sort.ordered import Ordered
    >>> values = np.concatenate([np.arange(1000.0), np.arange(300.0, 1300.0)])
    >>> log = Ordered(["a", "b"], ("speed",), np.array([1000, 1000]), np.array([[0, 1000, 2000]]), (values,))
    >>> reader = BoxReader(log, [Objective("speed")], 0.05)
    >>> found = profile(reader, Prescient(0.0), accuracy=0.0, coverage=0.0, margin=0.0)
    >>> found.per_arm.round(3).tolist(), round(found.front, 3)  # b is better by 300 of 1000 ranks
    ([0.23, 0.23], 0.231)
    """
    step = resolution_for(len(reader.pulls)) if resolution is None else resolution
    if not 0.0 < step < 0.5:
        raise BadInput(f"resolution must be between 0 and 1/2; got {resolution!r}")
    levels = levels_from(threat.eps, step)
    known: dict[int, Ints] = {}  # verdicts by level, while they are needed
    choices: dict[int, Ints] = {}  # and how candidates were chosen, where the goal is the list
    sizes: dict[int, int] = {}

    def codes(level: int) -> Ints:
        if level not in known:
            boxes = reader.read(replace(threat, eps=float(levels[level])))
            found = judge_briefly(boxes, accuracy, coverage, margin, limits, goal)
            known[level] = found.codes.astype(np.int8)
            if found.choice is not None:
                choices[level] = (2 * found.choice.step + found.choice.inside).astype(np.int8)
            sizes[level] = int((known[level] == Verdict.IN).sum())
        return known[level]

    def alike(level: int, end: int) -> bool:
        """True if verdicts are the same at both levels, and hence between them."""
        if not np.array_equal(codes(level), codes(end)):
            return False
        if end - level <= 1 or not choices:
            return True
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
            if changed == len(levels) and _falls(known[end], present):
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


def _falls(codes: Ints, present: Ints) -> bool:
    """True if the present answer as a whole is no longer certain where verdicts are these."""
    others_in = (codes == Verdict.IN) != (present == Verdict.IN)
    newly_open = (codes == Verdict.UNDECIDED) & (present != Verdict.UNDECIDED)
    return bool((others_in | newly_open).any())


def levels_from(eps: float, step: float) -> Floats:
    """The present ε and every step above it, below 1/2."""
    count = int(np.ceil((0.5 - eps) / step - 1e-9))
    levels = np.round(eps + step * np.arange(max(1, count)), 12)
    levels[0] = eps
    return levels[levels < 0.5]
