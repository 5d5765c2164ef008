"""The lemmas, the theorem and the corollaries on medians and pulls, each a function with its equation named.

Numbers of lemmas and equations are those of Korkmaz, Ceyani, Bozgan, Tekin, "Robust Pareto Set Identification
With Contaminated Bandit Feedback", arXiv 2206.02666. All logarithms are natural. `docs/theory.md` maps the
paper to these functions and says where it is loose or in error.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from frontguard._common.checks import checked_count, checked_delta, positive_number, real_number
from frontguard._common.typing import Floats
from frontguard.errors import BadInput
from frontguard.theory.schedule import Schedule, checked_accuracy
from frontguard.theory.spread import LinearAroundMedian, SpreadBound, Subgaussian, as_spread_bound
from frontguard.theory.threats import Threat


def unavoidable_bias(spread: SpreadBound, threat: Threat, t_bar: float = 0.49) -> float:
    """D = R(h): what the median of infinitely many contaminated rewards may be off by (Section 3.2).

    Unavoidable where R is attained by the rewards, as `Gaussian` and `Uniform` are by theirs.
    """
    threat.check(t_bar)
    spread.check(t_bar)
    return spread(threat.shift)


def pulls_required(threat: Threat, delta: float, t_bar: float = 0.49) -> int:
    """The least n ≥ 2 (t̄ − h)⁻² log(c/δ), c = 2 (Lemma 1: oblivious, prescient) or 3 (Lemma 2: malicious).

    >>> from frontguard.theory.threats import Prescient
    >>> pulls_required(Prescient(0.1), delta=0.05)
    40
    """
    threat.check(t_bar)
    pulls = 2.0 * _log_parts(threat, delta) / (t_bar - threat.shift) ** 2
    if pulls > 2.0**53:
        raise BadInput(f"{threat!r} with t_bar = {t_bar!r} takes {pulls:.3g} pulls: h is too close to t_bar")
    return math.ceil(pulls)


def median_deviation(spread: SpreadBound, threat: Threat, pulls: int, delta: float, t_bar: float = 0.49) -> float:
    """R(h + √(2 log(c/δ)/n)), c = 2 (Lemma 1: oblivious, prescient) or 3 (Lemma 2: malicious).

    With probability 1 − δ the median of n = `pulls` contaminated rewards is no farther from any true median,
    if the rewards' distribution is bounded by R (Definition 2). Raises below `pulls_required`.

    >>> from frontguard.theory.spread import Gaussian
    >>> from frontguard.theory.threats import Prescient
    >>> round(median_deviation(Gaussian(1.0), Prescient(0.1), pulls=10_000, delta=0.05), 4)
    0.2089
    """
    bound = as_spread_bound(spread)
    bound.check(t_bar)
    least = pulls_required(threat, delta, t_bar)
    n = checked_count(pulls, "pulls (n)")
    if n < least:
        raise BadInput(
            f"pulls (n) must be at least {least} for {threat!r}, delta = {delta!r}, t_bar = {t_bar!r}: with "
            f"fewer, the median may lie beyond the levels 1/2 ± t_bar, where R bounds nothing; got {n}"
        )
    level = threat.shift + math.sqrt(2.0 * _log_parts(threat, delta) / n)
    return bound(min(level, t_bar))


def _log_parts(threat: Threat, delta: float) -> float:
    return math.log(threat.confidence_parts / checked_delta(delta))


# The pulls of one arm: Lemma 4 and the proof of Theorem 1.


def phase_failure(schedule: Schedule, tau: int) -> float:
    """δ_τ = 6 δ / (τ² M K π²), one arm's, objective's and phase's share of δ (Lemma 4); they sum to δ."""
    cells = schedule.objectives * schedule.arms
    return 6.0 * schedule.delta / (checked_count(tau, "tau (τ)") ** 2 * cells * math.pi**2)


def total_pulls_lower(schedule: Schedule, tau: float) -> float:
    """2 τ β log(τ² M K π² / (6 δ̃)) ≤ N_τ, which makes the phases long enough for Lemma 4 (its proof)."""
    return 2.0 * tau * schedule.beta * _log_phases(schedule, tau)


def total_pulls_upper(schedule: Schedule, tau: float) -> float:
    """2 τ (β log(τ² M K π² / (6 δ̃)) + 1) ≥ N_τ (proof of Theorem 1). At most 2τ above `total_pulls_lower`."""
    return 2.0 * tau * (schedule.beta * _log_phases(schedule, tau) + 1.0)


def _log_phases(schedule: Schedule, tau: float) -> float:
    number = real_number(tau, "tau (τ)")
    if number < 1.0:
        raise BadInput(f"tau (τ), a number of sampling phases, must be at least 1; got {number!r}")
    return 2.0 * math.log(number) + schedule.log_scale


def phases_for_gap(schedule: Schedule, gap: float) -> int:
    """τ_(a) = inf{τ : U_τ ≤ a/5}, the phases that settle an arm of gap a (Theorem 1)."""
    return schedule.phases_until(positive_number(gap, "gap (a)") / 5.0)


# All pulls of R-PSI, on the good event E of Lemma 4 (probability 1 − δ): Theorem 1, Corollaries 1 and 2.


def adjusted_gaps(schedule: Schedule, gaps: npt.ArrayLike) -> Floats:
    """Δ̄_i = Δ_i − 4D of every arm (Section 4); may be negative."""
    array = np.asarray(gaps, dtype=np.float64)
    if array.shape != (schedule.arms,) or not (np.isfinite(array) & (array >= 0.0)).all():
        raise BadInput(f"gaps (Δ_i) must be {schedule.arms} finite numbers, none negative, one an arm; got {gaps!r}")
    return array - 4.0 * schedule.bias


def effective_gaps(schedule: Schedule, gaps: npt.ArrayLike, accuracy: float) -> Floats:
    """Δ_i^α = max(α, Δ̄_i) of every arm (Corollary 2): it decides how often R-PSI samples the arm."""
    return np.maximum(checked_accuracy(accuracy), adjusted_gaps(schedule, gaps))


def theorem1_gap_dependent(schedule: Schedule, gaps: npt.ArrayLike, accuracy: float) -> float:
    """Σ_i 2 τ_(Δ_i^α) (β log(τ_(Δ_i^α)² M K π² / (6 δ̃)) + 1): Theorem 1, first line (equations 6 and 25).

    `gaps` are the Δ_i of Definition 4 (`frontguard.pareto.dominance.suboptimality_gaps` of the true medians).
    """
    different, how_many = np.unique(effective_gaps(schedule, gaps, accuracy), return_counts=True)
    return math.fsum(
        int(count) * total_pulls_upper(schedule, phases_for_gap(schedule, float(gap)))
        for gap, count in zip(different, how_many, strict=True)
    )


def theorem1_worst_case(schedule: Schedule, accuracy: float) -> float:
    """K τ_(α) (2 β log(τ_(α)² M K π² / (6 δ̃)) + 2): Theorem 1, second line (equation 7), for any gaps."""
    return schedule.arms * total_pulls_upper(schedule, phases_for_gap(schedule, checked_accuracy(accuracy)))


def corollary1_largest_accuracy(schedule: Schedule) -> float:
    """5σ / (2 √log(1/(1/2−h))): the largest α for which Corollary 1 is proved (α c₂ ≤ 1/√2, equation 27)."""
    return 2.5 * _subgaussian(schedule).sigma / math.sqrt(_log_half(schedule))


def corollary1_phases(schedule: Schedule, accuracy: float) -> float:
    """50 σ² / (α² log(1/(1/2−h))) > τ_(α) for subgaussian rewards (equation 28).

    Raises where the proof does not reach: `accuracy` = α above `corollary1_largest_accuracy`.
    """
    alpha, largest = checked_accuracy(accuracy), corollary1_largest_accuracy(schedule)
    if alpha > largest:
        raise BadInput(
            f"accuracy (α) must be at most 5σ/(2√log(1/(1/2−h))) = {largest:.6g} for Corollary 1 (α c₂ ≤ "
            f"1/√2 in its proof); got {alpha!r}; theorem1_worst_case holds for every accuracy"
        )
    return 50.0 * _subgaussian(schedule).sigma ** 2 / (alpha**2 * _log_half(schedule))


def corollary1_phases_always(schedule: Schedule, accuracy: float) -> float:
    """1 + (1 + 1/(α² c₁ + α c₂))² > τ_(α) for subgaussian rewards and every α (equation 26).

    c₁ = 1/(50 σ²), c₂ = (√2/(5σ)) √log(1/(1/2−h)). Sharper than equation 28, which drops the 1s.
    """
    alpha, sigma = checked_accuracy(accuracy), _subgaussian(schedule).sigma
    c1 = 1.0 / (50.0 * sigma**2)
    c2 = math.sqrt(2.0) / (5.0 * sigma) * math.sqrt(_log_half(schedule))
    return 1.0 + (1.0 + 1.0 / (alpha**2 * c1 + alpha * c2)) ** 2


def corollary1(schedule: Schedule, accuracy: float) -> float:
    """800 K σ² β / (α² L) · log(50 σ² M K / (α² L δ̃)), L = log(1/(1/2−h)): Corollary 1 (equation 31).

    A bound on all pulls for subgaussian rewards, above `theorem1_worst_case`. Raises where
    `corollary1_phases` does; the paper's "large M, K and small δ̃" is not needed (docs/theory.md).
    """
    phases = corollary1_phases(schedule, accuracy)
    cells = schedule.objectives * schedule.arms
    return 16.0 * schedule.arms * phases * schedule.beta * math.log(phases * cells / schedule.delta_tilde)


def _subgaussian(schedule: Schedule) -> Subgaussian:
    if not isinstance(schedule.spread, Subgaussian):
        raise BadInput(f"Corollary 1 is about the spread bound Subgaussian(sigma); got {schedule.spread!r}")
    return schedule.spread


def _log_half(schedule: Schedule) -> float:
    """L = log(1/(1/2−h)), at least log 2."""
    return -math.log(0.5 - schedule.shift)


def corollary2_phases(schedule: Schedule, gap: float) -> float:
    """1 + 25 z² / (β a²) > τ_(a) for R(t) = z t, z = B m̄₂ (proof of Corollary 2)."""
    spread = schedule.spread
    if not isinstance(spread, LinearAroundMedian):
        raise BadInput(f"Corollary 2 is about the spread bound LinearAroundMedian; got {spread!r}")
    number = positive_number(gap, "gap (a)")
    return 1.0 + 25.0 * (spread.slope * spread.deviation / number) ** 2 / schedule.beta


def corollary2(schedule: Schedule, gaps: npt.ArrayLike, accuracy: float) -> float:
    """Σ_i 2 (β + 25 z²/(Δ_i^α)²) (log((1 + 25 z²/(β (Δ_i^α)²))² M K π²/(6 δ̃)) + 1), z = B m̄₂: Corollary 2.

    A bound on all pulls for rewards linear around the median.
    """
    total = 0.0
    for gap in effective_gaps(schedule, gaps, accuracy):
        phases = corollary2_phases(schedule, float(gap))
        total += 2.0 * schedule.beta * phases * (_log_phases(schedule, phases) + 1.0)
    return total
