"""The limits of what can be had at all, however many pulls are spent: they follow from quantiles alone.

An attacker leaves every median somewhere in an interval for ever. If none is longer than ℓ, a set of accuracy γ and
coverage c exists whenever

    ℓ ≤ γ   and   2ℓ ≤ γ + c.                                                                        (P)

Let i not be in: some j has H_j − L_i > γ in every objective. Then H_i − L_j ≤ (L_i + ℓ) − (H_j − ℓ) < 2ℓ − γ ≤ c: j
covers i. And L_j ≥ H_j − ℓ > L_i, so that whoever keeps j from being in also keeps i from it, and lies higher still;
the highest of them is in. Means between bounds are left in such intervals as well. Conversely, where medians (or rates)
may truly be anywhere in their intervals and ℓ violates (P), there are two arms for which no set is right in all cases.
Normal rewards leave ℓ = 2D to any method (Lemma 3), so (P) with 2D is what *any* method needs; (P) with the longest
interval that an attack can leave is enough for the intervals of our policy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from frontguard._common.typing import Floats, Ints
from frontguard.evidence.intervals import ArmIntervals
from frontguard.evidence.kinds import Statistic, inner_of_mean
from frontguard.evidence.quantiles import SHIFTS
from frontguard.evidence.statistics import BOUNDED_MEAN, EXACT, NORMAL_MEAN, QUANTILE, statistic_of
from frontguard.limits import Columns, Gate
from frontguard.objectives import Objective, differences_in_units, parse_tolerance
from frontguard.pareto.judge import judge
from frontguard.pareto.relations import LimitRule, keeping_of
from frontguard.planning.task import Pilot
from frontguard.theory.spread import Gaussian, SpreadBound
from frontguard.theory.threats import Threat
from frontguard.verdicts import OPEN

T_BAR = 0.49
"""t̄, up to where R is used; the policies' own default."""

Part = TypeVar("Part", float, Floats)
"""A share of all measurements, or several."""


def mean_floor(objective: Objective, threat: Threat) -> float:
    """Return how uncertain a bounded mean may stay for ever (theory m), in units or as a share, of the highest mean.

    >>> from frontguard import Malicious, Prescient
    >>> stars = Objective("stars", "maximize", statistic="mean", bounds=(1, 5))
    >>> round(mean_floor(stars, Prescient(0.1)), 4), round(mean_floor(stars, Malicious(0.1)), 4)
    (0.4444, 0.8)
    """
    if objective.bounds is None:
        return 0.0
    low, high = objective.bounds
    times, less = threat.surviving
    width = min(1.0, (1.0 + 2.0 * (less + threat.taken)) / times - 1.0) * (high - low)
    return width / high if objective.relative else width


def means_below_floor(objectives: Sequence[Objective], threat: Threat) -> list[tuple[Objective, float]]:
    """Return the objectives whose tolerance is below their floor, with it: close arms may never be told apart."""
    floors = ((each, mean_floor(each, threat.of(d))) for d, each in enumerate(objectives))
    return [(each, floor) for each, floor in floors if parse_tolerance(each.tolerance).amount < floor * (1.0 - 1e-9)]


def bias_floor(sigma: float, threat: Threat) -> float:
    """Return 2D = 2σ Φ⁻¹(1/2 + h): normal arms that are closer than this no method can tell apart (Lemma 3).

    >>> from frontguard import Malicious
    >>> round(bias_floor(1.0, Malicious(0.2)), 4)
    1.0488
    """
    return 2.0 * Gaussian(sigma)(threat.shift)


def affordable_width(accuracy: npt.ArrayLike, coverage: npt.ArrayLike) -> Floats:
    """Return min(γ, (γ + c)/2): the longest ℓ with which accuracy γ and coverage c can be had, condition (P) above."""
    gamma, c = np.asarray(accuracy, np.float64), np.asarray(coverage, np.float64)
    return np.minimum(gamma, 0.5 * (gamma + c))


def attacked_levels(threat: Threat, t: float, below: Part) -> tuple[Part, Part]:
    """Return the clean levels at which endless pulls bound the quantiles of level 1/2 ± t, from below and above.

    The attacker puts the share `below` of all measurements far below and the rest of ε far above. One that chooses its
    hits takes them from between the two bounds. Levels outside (0, 1) mean that nothing bounds that side.
    """
    kept = threat.lasting(0.5 + t)
    if threat.chooses_hits:
        return kept - below, 1.0 - kept + threat.eps - below
    return (kept - below) / (1.0 - threat.eps), (1.0 - kept - below) / (1.0 - threat.eps)


def lasting_length(sigma: float, threat: Threat, spread: SpreadBound | None = None, level: float = 0.5) -> float:
    """Return ℓ: the longest interval that an attack on normal rewards can leave the certified policy, for ever; or ∞.

    Over all ways to split the replacements between far below and far above, each with the best of the policy's shifts.
    Of a quantile of another `level` than the median there are none.
    """
    below = np.linspace(0.0, threat.eps, 65)
    low, high = np.full(below.size, -math.inf), np.full(below.size, math.inf)
    for t, cost in _shifts(threat, spread if level == 0.5 else None):
        from_below = attacked_levels(threat, level - 0.5 + t, below)[0]
        from_above = attacked_levels(threat, 0.5 - level + t, below)[1]
        bounded = from_below > 0.0
        low[bounded] = np.fmax(low[bounded], sigma * ndtri(np.minimum(from_below[bounded], 1.0)) - cost)
        bounded = from_above < 1.0
        high[bounded] = np.fmin(high[bounded], sigma * ndtri(np.maximum(from_above[bounded], 0.0)) + cost)
    return float(np.fmax.reduce(high - low, initial=0.0))


def _shifts(threat: Threat, spread: SpreadBound | None) -> list[tuple[float, float]]:
    """Return the certified policy's shifts t, and what each costs, R(t); see `evidence.intervals`."""
    if spread is None or not threat.eps < threat.largest_eps(T_BAR):
        return [(0.0, 0.0)]
    shifted = [threat.shift + f * (T_BAR - threat.shift) for f in SHIFTS]
    return [(0.0, 0.0), *((t, spread(t)) for t in shifted)]


def pilot_limits(
    pilot: Pilot,
    threat: Threat,
    statistics: Sequence[Statistic] | None = None,
    *,
    attacked: bool = False,
    any_method: bool = False,
) -> tuple[Floats, Floats]:
    """Return [L, H], both (K, M), that endless pulls leave of the intervals if they go on like the pilot, without R.

    Without an attack that is [Q(lasting(p)), Q(1 − lasting(1−p))] of the pilot for a quantile of level p. Attacked: the
    lowest L and the highest H that any attack can bring about. For `any_method`: what is left to each method that knows
    as much as our policy, which for a mean is less than its intervals leave.
    """
    counted = [Statistic()] * pilot.objectives if statistics is None else list(statistics)
    low, high = np.empty((pilot.arms, pilot.objectives)), np.empty((pilot.arms, pilot.objectives))
    for d, statistic in enumerate(counted):
        for i in range(pilot.arms):
            rows = pilot.values[pilot.arm_of_row == i, d]
            low[i, d], high[i, d] = _left_of(rows, statistic, threat.of(d), attacked, any_method)
    return low, high


def _left_of(
    rows: Floats, statistic: Statistic, threat: Threat, attacked: bool, any_method: bool
) -> tuple[float, float]:
    """Return the ends that endless pulls like these values, NaN where one failed, leave of one arm and objective."""
    good = np.sort(rows[~np.isnan(rows)])
    if statistic.kind == EXACT:
        return float(good[0]), float(good[-1])
    scale = np.array(statistic.scale)
    if statistic.kind == NORMAL_MEAN:
        middle = inner_of_mean(float(good.mean()), scale) if len(good) == len(rows) else math.nan
        return (-math.inf, math.inf) if math.isnan(middle) else (middle, middle)
    if statistic.kind == BOUNDED_MEAN:  # of what failed nothing is known: 0 for one end, 1 for the other
        least, lacking = np.nan_to_num(rows, nan=0.0), 1.0 - np.nan_to_num(rows, nan=1.0)
        low, lost = (_lowest_mean(np.sort(each), threat, attacked, any_method) for each in (least, lacking))
        return float(inner_of_mean(low, scale)), float(inner_of_mean(1.0 - lost, scale))
    p = statistic.level
    levels = threat.lasting(p), 1.0 - threat.lasting(1.0 - p)
    if attacked:
        levels = attacked_levels(threat, p - 0.5, threat.eps)[0], attacked_levels(threat, 0.5 - p, 0.0)[1]
    lost = len(rows) - len(good)
    return _quantile(good, levels[0], lost, below=True), _quantile(good, levels[1], lost, below=False)


def _lowest_mean(ordered: Floats, threat: Threat, attacked: bool, any_method: bool) -> float:
    """Return the least that endless pulls leave of the mean of values in [0, 1] like these, which are sorted."""
    mean, eps, (times, less) = float(ordered.mean()), threat.eps, threat.surviving
    if any_method:  # the clean law of which an attacker could make this one: the highest ε were put there
        rest = mean - _highest(ordered, eps)
        return rest if threat.chooses_hits else rest / (1.0 - eps)
    if attacked:
        mean = max(mean - eps, 0.0) if threat.chooses_hits else (1.0 - eps) * mean
    if threat.taken:
        mean = max(mean - (eps if attacked else _highest(ordered, eps)), 0.0)
    return max(0.0, 1.0 - (1.0 - mean + less) / times)


def _highest(ordered: Floats, share: float) -> float:
    """Return what the largest `share` of sorted values adds to their mean."""
    if share == 0.0:
        return 0.0
    whole = share * len(ordered)
    kept = int(whole)
    part = (whole - kept) * float(ordered[-kept - 1]) if kept < len(ordered) else 0.0
    return (float(ordered[len(ordered) - kept :].sum()) + part) / len(ordered)


def _quantile(good: Floats, level: float, lost: int, *, below: bool) -> float:
    """Return a quantile of good values, interpolated; `lost` ones count below all of them, or above."""
    at = (level * (len(good) + lost) - (lost if below else 0)) / len(good)
    return float(np.quantile(good, at)) if 0.0 < at < 1.0 else math.copysign(math.inf, at - 0.5)


def can_certify(low: Floats, high: Floats, accuracy: Floats, coverage: Floats, limits: LimitRule | None = None) -> bool:
    """Tell whether intervals (K, M) allow a set: each arm is beaten, kept, or matched by a kept one."""
    unknown = np.full(low.shape, -np.inf)  # without estimates no arm is beaten by them: every arm may be returned
    low, high = np.minimum(low, high), np.maximum(low, high)  # of what is known exactly, rounding may part the ends
    verdicts = judge(ArmIntervals(low, high, unknown, unknown, unknown), accuracy, coverage, 0.0, limits)
    return not verdicts.undecided.any()


def largest_contamination(possible: Callable[[float], bool]) -> float | None:
    """Return the supremum of the ε in [0, 1/2) up to which something is possible; None if it is not even at 0."""
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


@dataclass(frozen=True)
class LimitFloor:
    """A limit, and what no number of pulls takes away from what it limits."""

    gate: Gate
    width: float  # an arm that is nearer to the limit, in the units of the metric, may be open for ever
    within: bool  # some number of pulls can tell of an arm that it is within ...
    beyond: bool  # ... or beyond
    open_arms: tuple[str, ...] | None = None  # those of a pilot that stay open if measurements go on like it


def limit_floors(
    columns: Columns,
    threat: Threat,
    noise: Callable[[Objective], float],
    pilot: Pilot | None,
    bounded: Sequence[int | None],
) -> tuple[LimitFloor, ...]:
    """Return what is left open of each limit for ever; `bounded` are `intervals.first_bounded`, two for each column."""
    within, beyond = ([end is not None for end in bounded[side::2]] for side in range(2))
    if pilot is None:
        widths = ((gate, _width(gate.metric, threat.of(gate.column), noise(gate.metric))) for gate in columns.gates)
        return tuple(LimitFloor(gate, width, within[gate.column], beyond[gate.column]) for gate, width in widths)
    low, high = pilot_limits(pilot, threat, [statistic_of(each) for each in columns.boxed])
    low, high = np.minimum(low, high), np.maximum(low, high)  # of what is exact, rounding may part the ends
    keeping = keeping_of(low, high, LimitRule.of(columns.gates))
    floors = []
    for q, gate in enumerate(columns.gates):
        (width,) = differences_in_units([gate.metric], [float((high - low)[:, gate.column].max())])
        left = tuple(pilot.names[i] for i in np.flatnonzero(keeping[:, q] == OPEN))
        floors.append(LimitFloor(gate, width, within[gate.column], beyond[gate.column], left))
    return tuple(floors)


def _width(metric: Objective, threat: Threat, sigma: float) -> float:
    """Return the longest interval that an attack leaves of what is limited, in the metric's units."""
    counted = statistic_of(metric)
    if counted.kind == BOUNDED_MEAN:
        return mean_floor(metric, threat)
    if counted.kind != QUANTILE:
        return 0.0
    (width,) = differences_in_units([metric], [lasting_length(sigma, threat, level=counted.level)])
    return width


def keeping_at_all(low: Floats, high: Floats, limits: LimitRule) -> Ints:
    """Return how arms (K,) with these intervals (K, C) stand to all limits together."""
    # Of what is known exactly, rounding may part the ends.
    return np.asarray(keeping_of(np.minimum(low, high), np.maximum(low, high), limits).max(axis=1))
