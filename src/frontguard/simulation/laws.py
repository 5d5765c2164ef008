"""Marginal laws of simulated rewards, exactly: quantiles, and the mass below and up to a point.

An attacker that must hit rewards with probability exactly ε, or move a median by exactly D, has to know the
law that it attacks. Everything here runs once, when an environment or an adversary is built: nothing is
compiled.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from frontguard._common.typing import Floats
from frontguard.errors import BadInput

StandardFunction = Callable[..., npt.ArrayLike]
"""A quantile or distribution function of a standard law: (level or point, *shape parameters) -> values."""


def _checked_level(level: float) -> float:
    if not 0.0 < level < 1.0:
        raise BadInput(f"the level of a quantile must lie in (0, 1); got {level}")
    return float(level)


class Law(ABC):
    """The marginal distributions F_i^d of K arms in M objectives; every answer has the shape (K, M)."""

    @abstractmethod
    def quantile(self, level: float) -> Floats:
        """Left quantiles Q_L(level) = inf {x: F(x) ≥ level}, 0 < level < 1."""

    def right_quantile(self, level: float) -> Floats:
        """Right quantiles Q_R(level) = inf {x: F(x) > level}: the left ones, unless atoms leave a gap between them."""
        return self.quantile(level)

    @abstractmethod
    def mass(self, points: Floats) -> tuple[Floats, Floats]:
        """P(Y < x) and P(Y ≤ x) at points x of shape (K, M). They differ where x is an atom."""

    def medians_of_interest(self) -> Floats:
        """m = (Q_L(1/2) + Q_R(1/2)) / 2 (Section 3)."""
        return 0.5 * (self.quantile(0.5) + self.right_quantile(0.5))


@dataclass(frozen=True, eq=False)
class LocationScale(Law):
    """Y = centre + scale · X with X of a continuous standard law, or a single atom where the scale is 0.

    All parameters have the shape (K, M). The functions take the shape parameters behind their first argument.

    >>> law = LocationScale(np.array([[1.0]]), np.array([[2.0]]), ndtri, ndtr)
    >>> law.quantile(0.5), law.mass(np.array([[1.0]]))[0]
    (array([[1.]]), array([[0.5]]))
    """

    centre: Floats
    scale: Floats
    standard_quantile: StandardFunction
    standard_cdf: StandardFunction
    shapes: tuple[Floats, ...] = ()

    def quantile(self, level: float) -> Floats:
        """Q(level) = centre + scale · q(level)."""
        standard = np.asarray(self.standard_quantile(_checked_level(level), *self.shapes), np.float64)
        return self.centre + self.scale * standard

    def mass(self, points: Floats) -> tuple[Floats, Floats]:
        """F(x) twice, apart from constants, whose one atom is below nothing and up to everything."""
        moves = self.scale > 0.0
        standard = (points - self.centre) / np.where(moves, self.scale, 1.0)
        cdf = np.asarray(self.standard_cdf(standard, *self.shapes), np.float64)
        below = np.where(moves, cdf, points > self.centre)
        upto = np.where(moves, cdf, points >= self.centre)
        return below, upto


@dataclass(frozen=True, eq=False)
class Histogram:
    """Distinct values in increasing order, and how much weight lies on each and all before it."""

    values: Floats
    cumulative: Floats

    @classmethod
    def of(cls, values: Floats, weights: Floats) -> Histogram:
        """Merge equal values and drop those without weight."""
        distinct, index = np.unique(values, return_inverse=True)
        totals = np.bincount(index.ravel(), weights=weights, minlength=len(distinct))
        kept = totals > 0.0
        return cls(distinct[kept], np.cumsum(totals[kept]))

    @property
    def total(self) -> float:
        """All the weight there is."""
        return float(self.cumulative[-1])

    @property
    def weights(self) -> Floats:
        """The weight of each value."""
        return np.diff(self.cumulative, prepend=0.0)

    def quantile(self, level: float, *, right: bool) -> float:
        """Compare weights, not shares: with integer weights the median is then exact."""
        reached = _checked_level(level) * self.total
        at = np.searchsorted(self.cumulative, reached, side="right" if right else "left")
        return float(self.values[min(int(at), len(self.values) - 1)])

    def mass_upto(self, point: float, *, included: bool) -> float:
        """P(Y ≤ point), or P(Y < point)."""
        at = int(np.searchsorted(self.values, point, side="right" if included else "left"))
        return 0.0 if at == 0 else float(self.cumulative[at - 1]) / self.total


@dataclass(frozen=True, eq=False)
class Atoms(Law):
    """Discrete laws: one histogram for every arm and objective."""

    histograms: Sequence[Sequence[Histogram]]

    @classmethod
    def of(cls, values: Floats, weights: Floats) -> Atoms:
        """Values with weights (K, M, S); values (S,) are those of all."""
        values = np.broadcast_to(values, weights.shape)
        return cls([list(map(Histogram.of, *rows)) for rows in zip(values, weights, strict=True)])

    def _each(self, function: Callable[[Histogram, int, int], float]) -> Floats:
        return np.array([[function(h, i, d) for d, h in enumerate(row)] for i, row in enumerate(self.histograms)])

    def quantile(self, level: float) -> Floats:
        """The first value whose cumulative share reaches the level."""
        return self._each(lambda histogram, i, d: histogram.quantile(level, right=False))

    def right_quantile(self, level: float) -> Floats:
        """The first value whose cumulative share exceeds the level."""
        return self._each(lambda histogram, i, d: histogram.quantile(level, right=True))

    def mass(self, points: Floats) -> tuple[Floats, Floats]:
        """Shares of weight before the point, without and with the point itself."""
        below = self._each(lambda histogram, i, d: histogram.mass_upto(points[i, d], included=False))
        upto = self._each(lambda histogram, i, d: histogram.mass_upto(points[i, d], included=True))
        return below, upto

    def means(self) -> Floats:
        """Expectations."""
        return self._each(lambda histogram, i, d: float(histogram.values @ histogram.weights) / histogram.total)


@dataclass(frozen=True, eq=False)
class NoisyAtoms(Law):
    """Discrete laws blurred by Gaussian noise of deviation σ > 0 of shape (K, M): mixtures of Gaussians."""

    atoms: Atoms
    sigma: Floats

    def _cdf(self, point: float, i: int, d: int) -> float:
        histogram = self.atoms.histograms[i][d]
        return float(ndtr((point - histogram.values) / self.sigma[i, d]) @ histogram.weights) / histogram.total

    def quantile(self, level: float) -> Floats:
        """Solve F(x) = level. All components reach the level between the first's quantile and the last's."""
        checked = _checked_level(level)
        reach = self.sigma * ndtri(checked)

        def solve(histogram: Histogram, i: int, d: int) -> float:
            low, high = histogram.values[0] + reach[i, d], histogram.values[-1] + reach[i, d]
            if low == high:
                return float(low)
            pad = 1e-9 * self.sigma[i, d]  # rounding must not put both ends on one side
            return float(brentq(lambda x: self._cdf(x, i, d) - checked, low - pad, high + pad, xtol=1e-13))

        return self.atoms._each(solve)

    def mass(self, points: Floats) -> tuple[Floats, Floats]:
        """F(x) twice: no atoms are left."""
        cdf = self.atoms._each(lambda histogram, i, d: self._cdf(points[i, d], i, d))
        return cdf, cdf
