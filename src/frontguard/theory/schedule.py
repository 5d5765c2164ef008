"""R-PSI's schedule: how many pulls each sampling phase takes, and how wide the confidence intervals are after it.

Section 4 of Korkmaz, Ceyani, Bozgan, Tekin, arXiv 2206.02666. With h = h(ε), δ̃ and β = (t̄ − h)⁻² of the
threat model (equations 3 and 4), K arms and M objectives, an arm that has been sampled in τ phases has been
pulled N_τ = n_0 + n_2 + … + n_τ times, and then all its empirical medians lie within D + U_τ of the true
ones, with probability 1 − δ for all arms, objectives and phases at once (Lemma 4).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from frontguard._common.checks import checked_count, checked_delta, real_number
from frontguard._common.typing import Floats, Ints
from frontguard.errors import BadInput
from frontguard.theory.spread import SpreadBound, as_spread_bound
from frontguard.theory.threats import Threat, checked_t_bar, checked_threat

MOST_PHASES = 5 * 10**7
"""Phases beyond which a schedule is refused: its tables would fill the memory, its pulls a lifetime."""

_EXACT = 2.0**53  # pulls beyond which a float no longer counts in ones


@dataclass(frozen=True)
class Schedule:
    """The sampling phases of R-PSI for one problem; everything is checked on construction.

    `bias_override` replaces D = R(h) in the decisions (the published SW-LLVM experiment sets D = 0 at ε = 0).
    It leaves the widths alone. A value below R(h) gives up Lemma 4, and with it the guarantee.

    >>> from frontguard.theory.spread import Subgaussian
    >>> from frontguard.theory.threats import Oblivious
    >>> schedule = Schedule(Oblivious(0.1), Subgaussian(0.2), arms=16, objectives=2, delta=0.1)
    >>> schedule.first_pulls, schedule.phase_pulls(2)
    (74, 105)
    >>> round(schedule.bias, 4), round(schedule.width(10), 4)
    (0.4902, 0.0526)
    """

    threat: Threat
    spread: SpreadBound
    arms: int
    objectives: int
    delta: float
    t_bar: float = 0.49
    bias_override: float | None = None

    def __post_init__(self) -> None:
        checked_threat(self.threat).confidence_parts  # noqa: B018 (refuses a model without lemmas)
        settle = object.__setattr__
        settle(self, "spread", as_spread_bound(self.spread))
        settle(self, "arms", checked_count(self.arms, "arms (K)"))
        settle(self, "objectives", checked_count(self.objectives, "objectives (M)"))
        settle(self, "delta", checked_delta(self.delta))
        settle(self, "t_bar", checked_t_bar(self.t_bar))
        self.threat.check(self.t_bar)
        self.spread.check(self.t_bar)
        if self.bias_override is not None:
            bias = real_number(self.bias_override, "bias_override (D)")
            if bias < 0.0:
                raise BadInput(f"bias_override (D) must not be negative; got {bias!r}")
            settle(self, "bias_override", bias)

    @property
    def shift(self) -> float:
        """h = h(ε), by how much the attacker can shift the median in quantile level."""
        return self.threat.shift

    @property
    def beta(self) -> float:
        """β = (t̄ − h)⁻² (equations 3 and 4). Above 4, since t̄ < 1/2."""
        return (self.t_bar - self.shift) ** -2

    @property
    def delta_tilde(self) -> float:
        """δ̃ = δ/2 or δ/3 (equations 3 and 4)."""
        return self.delta / self.threat.confidence_parts

    @cached_property
    def bias(self) -> float:
        """D = R(h), the unavoidable bias (Section 3.2), or the override."""
        return self.spread(self.shift) if self.bias_override is None else self.bias_override

    @property
    def log_scale(self) -> float:
        """log(M K π² / (6 δ̃)), the logarithm common to all phases. Above log(π²/3) > 1, since δ̃ < 1/2."""
        return math.log(self.objectives * self.arms * math.pi**2 / (6.0 * self.delta_tilde))

    @cached_property
    def first_pulls(self) -> int:
        """n_0 = ⌈2 β log(π² M K / (6 δ̃))⌉, the pulls of every arm in its first phase (equation 2)."""
        return int(self.phase_pulls(1))

    @overload
    def phase_pulls(self, tau: int) -> int: ...
    @overload
    def phase_pulls(self, tau: npt.NDArray[Any]) -> Ints: ...
    def phase_pulls(self, tau: int | npt.NDArray[Any]) -> int | Ints:
        """n_τ = 1 + ⌈4 τ β log(τ/(τ−1)) + 2 β log((τ−1)² M K π² / (6 δ̃))⌉ for τ ≥ 2, and n_0 for τ = 1."""
        phases = _phases(tau)
        later = phases > 1
        previous = np.where(later, phases - 1, 1).astype(np.float64)
        growth = np.where(later, 4.0 * phases * np.log1p(1.0 / previous), 0.0)
        pulls = later + np.ceil(self.beta * (growth + 2.0 * (2.0 * np.log(previous) + self.log_scale)))
        if pulls.size and pulls.max() > _EXACT:
            raise BadInput(
                f"a phase of {self!r} would take {pulls.max():.3g} pulls: h = {self.shift!r} is too close to "
                f"t_bar = {self.t_bar!r}; lower eps or raise t_bar"
            )
        whole = pulls.astype(np.int64)
        return int(whole) if phases.ndim == 0 else whole

    @overload
    def width(self, tau: int) -> float: ...
    @overload
    def width(self, tau: npt.NDArray[Any]) -> Floats: ...
    def width(self, tau: int | npt.NDArray[Any]) -> float | Floats:
        """U_τ = R(h + 1/√(β τ)) − R(h), the statistical bias after τ phases (equation 5)."""
        phases = _phases(tau)
        # 1/√β is t̄ − h, so the level never exceeds t̄ but by rounding; R need not be defined beyond t̄.
        levels = np.minimum(self.shift + (self.t_bar - self.shift) / np.sqrt(phases), self.t_bar)
        widths = self.spread(np.atleast_1d(levels)) - self._spread_at_shift
        # R non-decreasing makes U non-negative; rounding may not.
        widths = np.maximum(widths, 0.0)
        return float(widths[0]) if phases.ndim == 0 else widths

    @cached_property
    def _spread_at_shift(self) -> float:
        return self.spread(self.shift)

    def phases_until(self, width: float) -> int:
        """inf{τ ≥ 1 : U_τ ≤ width}, exactly, in O(log τ) evaluations of R: U is non-increasing in τ.

        Refused beyond `MOST_PHASES`, and where it is infinite because R jumps at h.
        """
        wanted = real_number(width, "width")
        if wanted < 0.0:
            raise BadInput(f"width must not be negative; got {wanted!r}")
        least = self.width(MOST_PHASES)
        if least > wanted:
            raise BadInput(
                f"width {wanted!r} is not reached within {MOST_PHASES} phases of {self!r}: "
                f"U = {least:.6g} there; ask for less accuracy (or see whether the spread bound jumps at h)"
            )
        return 1 + bisect_left(range(1, MOST_PHASES), True, key=lambda tau: self.width(tau) <= wanted)

    def tables(self, accuracy: float) -> tuple[Ints, Floats]:
        """Pulls n_τ and widths U_τ for τ = 0, …, T, where T = inf{τ : U_τ ≤ α/4} and R-PSI stops (Remark 2).

        `accuracy` is α. Index 0 stands for an arm never sampled: no pulls, infinite width.
        """
        last = self.phases_until(checked_accuracy(accuracy) / 4.0)
        phases = np.arange(1, last + 1)
        return (
            np.concatenate((np.zeros(1, np.int64), self.phase_pulls(phases))),
            np.concatenate((np.array([np.inf]), self.width(phases))),
        )


def checked_accuracy(value: object) -> float:
    """Return α as a float; refuse whatever is not positive: with α = 0 R-PSI need never stop."""
    accuracy = real_number(value, "accuracy (α)")
    if accuracy <= 0.0:
        raise BadInput(f"accuracy (α) must be positive: R-PSI stops when the widths reach α/4; got {accuracy!r}")
    return accuracy


def _phases(tau: object) -> Ints:
    phases = np.asarray(tau)
    if not np.issubdtype(phases.dtype, np.integer) or (phases < 1).any():
        raise BadInput(f"tau (τ) must be whole numbers of sampling phases, at least 1; got {tau!r}")
    return phases.astype(np.int64)
