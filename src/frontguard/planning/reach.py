"""What can be had at all, however many pulls are spent: it follows from quantiles alone.

An attacker leaves every median somewhere in an interval for ever. If none is longer than ℓ, a set of accuracy γ and
coverage c exists whenever

    ℓ ≤ γ   and   2ℓ ≤ γ + c.                                                                        (P)

Let i not be in: some j has H_j − L_i > γ in every objective. Then H_i − L_j ≤ (L_i + ℓ) − (H_j − ℓ) < 2ℓ − γ ≤ c: j
covers i. And L_j ≥ H_j − ℓ > L_i, so that whoever keeps j from being in also keeps i from it, and lies higher still;
the highest of them is in. Conversely, where medians may truly be anywhere in their intervals and ℓ violates (P), there
are two arms for which no set is right in all cases. Normal rewards leave ℓ = 2D to any method (Lemma 3), so (P) with 2D
is what *any* method needs; (P) with the longest box that an attack can leave is enough for the boxes of our policy.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from frontguard._checks import checked_delta
from frontguard._typing import Floats
from frontguard.errors import BadInput
from frontguard.evidence.boundaries import first_useful_pulls
from frontguard.evidence.boxes import SHIFTS, STRENGTH, UNSHIFTED_SHARE, ArmBoxes
from frontguard.pareto.judge import judge
from frontguard.theory.spread import Gaussian, SpreadBound
from frontguard.theory.threats import Threat

T_BAR = 0.49
"""t̄, up to where R is used; the policies' own default."""

FEWEST_ROWS = 5
"""Measurements of an arm without which a pilot says nothing about its quantiles."""

# The pilot.


@dataclass(frozen=True, eq=False)
class Pilot:
    """Measurements made beforehand, taken as clean: inner values (n, M), NaN where one failed, and the arm of each row.

    >>> pilot = Pilot(("a", "b"), np.arange(12.0).reshape(12, 1), np.repeat([0, 1], 6))
    >>> pilot.quantiles(0.5).ravel().tolist()
    [2.5, 8.5]
    """

    names: tuple[str, ...]
    values: Floats
    arm_of_row: npt.NDArray[np.int64]

    def __post_init__(self) -> None:
        for i, name in enumerate(self.names):
            usable = int((self.complete_arms == i).sum())
            if usable < FEWEST_ROWS:
                raise BadInput(
                    f"a pilot needs at least {FEWEST_ROWS} rows of every arm in which no objective failed; "
                    f"got {usable} of arm {name!r}"
                )

    @property
    def arms(self) -> int:
        """K."""
        return len(self.names)

    @property
    def objectives(self) -> int:
        """M."""
        return int(self.values.shape[1])

    @property
    def failed(self) -> int:
        """Measurements that failed, over all objectives."""
        return int(np.isnan(self.values).sum())

    @property
    def complete_points(self) -> Floats:
        """The rows (n', M) in which nothing failed."""
        return self.values[~np.isnan(self.values).any(axis=1)]

    @property
    def complete_arms(self) -> npt.NDArray[np.int64]:
        """Their arms (n',)."""
        return self.arm_of_row[~np.isnan(self.values).any(axis=1)]

    def quantiles(self, level: float, *, failed_below: bool | None = None) -> Floats:
        """Quantiles (K, M), interpolated; failed measurements count at −∞ or +∞, or not at all (None)."""
        found = np.empty((self.arms, self.objectives))
        for i in range(self.arms):
            rows = self.values[self.arm_of_row == i]
            for d in range(self.objectives):
                good = rows[~np.isnan(rows[:, d]), d]
                lost = 0 if failed_below is None else len(rows) - len(good)
                count = level * (len(good) + lost) - (lost if failed_below else 0)
                at = count / len(good)
                found[i, d] = np.quantile(good, at) if 0.0 < at < 1.0 else math.copysign(math.inf, at - 0.5)
        return found


# What no number of pulls can change.


def bias_floor(sigma: float, threat: Threat) -> float:
    """2D = 2σ Φ⁻¹(1/2 + h): normal arms that are closer than this no method can tell apart (Lemma 3).

    >>> from frontguard import Malicious
    >>> round(bias_floor(1.0, Malicious(0.2)), 4)
    1.0488
    """
    return 2.0 * Gaussian(sigma)(threat.shift)


def affordable_width(accuracy: npt.ArrayLike, coverage: npt.ArrayLike) -> Floats:
    """min(γ, (γ + c)/2): the longest ℓ with which accuracy γ and coverage c can be had, condition (P) above."""
    gamma, c = np.asarray(accuracy, np.float64), np.asarray(coverage, np.float64)
    return np.minimum(gamma, 0.5 * (gamma + c))


def attacked_levels(threat: Threat, t: float, below: float) -> tuple[float, float]:
    """Clean levels at which endless pulls bound the quantiles of level 1/2 ± t, from below and from above.

    The attacker puts the share `below` of all measurements far below and the rest of ε far above. One that chooses its
    hits takes them from between the two bounds. Levels outside (0, 1) mean that nothing bounds that side.
    """
    kept = threat.lasting(0.5 + t)
    if threat.chooses_hits:
        return kept - below, 1.0 - kept + threat.eps - below
    return (kept - below) / (1.0 - threat.eps), (1.0 - kept - below) / (1.0 - threat.eps)


def lasting_length(sigma: float, threat: Threat, spread: SpreadBound | None = None) -> float:
    """ℓ: the longest box that an attack on normal rewards can leave the certified policy, for ever; ∞ if unbounded.

    Over all ways to split the replacements between far below and far above, each with the best of the policy's shifts.

    >>> from frontguard import Prescient
    >>> round(lasting_length(1.0, Prescient(0.1)), 4), round(bias_floor(1.0, Prescient(0.1)), 4)
    (0.2822, 0.2794)
    """
    longest = 0.0
    for below in np.linspace(0.0, threat.eps, 65):
        low, high = -math.inf, math.inf
        for t, cost, _ in _shifts(threat, spread):
            from_below, from_above = attacked_levels(threat, t, float(below))
            if from_below > 0.0:
                low = max(low, sigma * float(ndtri(min(from_below, 1.0))) - cost)
            if from_above < 1.0:
                high = min(high, sigma * float(ndtri(max(from_above, 0.0))) + cost)
        longest = max(longest, high - low)
    return longest


def _shifts(threat: Threat, spread: SpreadBound | None) -> list[tuple[float, float, float]]:
    """The certified policy's shifts t, what each costs, R(t), and its share of δ; see `frontguard.evidence.boxes`."""
    if spread is None or not threat.eps < threat.largest_eps(T_BAR):
        return [(0.0, 0.0, 1.0)]
    total = UNSHIFTED_SHARE + len(SHIFTS)
    shifted = [threat.shift + f * (T_BAR - threat.shift) for f in SHIFTS]
    return [(0.0, 0.0, UNSHIFTED_SHARE / total), *((t, spread(t), 1.0 / total) for t in shifted)]


def first_pulls(threat: Threat, arms: int, objectives: int, delta: float, spread: SpreadBound | None = None) -> int:
    """Pulls of one arm before which its box is unbounded, whatever is measured.

    >>> from frontguard import Gaussian, Prescient
    >>> first_pulls(Prescient(0.1), 16, 2, 0.05) > first_pulls(Prescient(0.1), 16, 2, 0.05, Gaussian(0.2))
    True
    """
    share = checked_delta(delta) / (2.0 * arms * objectives)
    return min(
        first_useful_pulls(threat.keep(0.5 + t), share * part, strength=STRENGTH, taken=threat.taken)
        for t, _, part in _shifts(threat, spread)
    )


def pilot_limits(pilot: Pilot, threat: Threat, *, attacked: bool = False) -> tuple[Floats, Floats]:
    """[L, H], both (K, M): what endless pulls leave of the boxes if they go on like the pilot, without any R.

    Without an attack that is [Q(lasting(1/2)), Q(1 − lasting(1/2))] of the pilot. Attacked: the lowest L and the
    highest H that any attack can bring about.
    """
    levels = threat.lasting(0.5), 1.0 - threat.lasting(0.5)
    if attacked:
        levels = attacked_levels(threat, 0.0, threat.eps)[0], attacked_levels(threat, 0.0, 0.0)[1]
    return pilot.quantiles(levels[0], failed_below=True), pilot.quantiles(levels[1], failed_below=False)


def can_certify(low: Floats, high: Floats, accuracy: Floats, coverage: Floats) -> bool:
    """Whether boxes (K, M) allow a set: each arm is out, or in, or covered by one that is in."""
    unknown = np.full(low.shape, -np.inf)  # without estimates nobody is beaten: every arm may be returned
    verdicts = judge(ArmBoxes(low, high, unknown, unknown, unknown), accuracy, coverage, 0.0)
    return not verdicts.undecided.any()


def largest_contamination(possible: Callable[[float], bool]) -> float | None:
    """The supremum of the ε in [0, 1/2) up to which something is possible; None if it is not even at 0."""
    if not possible(0.0):
        return None
    good, bad = 0.0, 0.5
    for _ in range(50):
        middle = 0.5 * (good + bad)
        if possible(middle):
            good = middle
        else:
            bad = middle
    return good
