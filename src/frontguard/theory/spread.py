"""Spread bounds R: how far the quantiles of the rewards may lie from their median.

A distribution F belongs to the family C_{R, t̄} of a bound R (Definition 2 of Korkmaz, Ceyani, Bozgan, Tekin,
arXiv 2206.02666) when, for all t in [0, t̄] and every median m of F,

    R(t) ≥ max( Q_R(1/2 + t) − m,  m − Q_L(1/2 − t) )

with Q_L and Q_R the left and right quantile functions. R turns a shift of the median in quantile level, which
is all that limits an attacker, into a shift in value. The paper asks for R > 0; R ≥ 0 is enough for every
proof, and the sharp bounds of continuous families do start at R(0) = 0.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, cast, overload

import numpy as np
import numpy.typing as npt

from frontguard._common.checks import positive_number, real_number
from frontguard._common.typing import Floats
from frontguard.errors import BadInput
from frontguard.theory.threats import checked_t_bar

_GRID = 513  # levels at which `SpreadBound.check` looks, both ends included
_ROUNDING = 1e-12  # a decrease, relative to the largest value, that is put down to rounding


class SpreadBound(ABC):
    """A function R of levels t in [0, 1/2), non-negative and non-decreasing. Takes a number or an array.

    Parameters
    ----------
    sigma
        σ > 0, where the family has one.

    Raises
    ------
    BadInput
        A parameter is not positive, or t is outside [0, 1/2).
    """

    @abstractmethod
    def _values(self, levels: Floats) -> Floats:
        """R at an array of levels that are known to lie in [0, 1/2); same shape."""

    @overload
    def __call__(self, t: float) -> float: ...
    @overload
    def __call__(self, t: npt.NDArray[Any]) -> Floats: ...
    def __call__(self, t: float | npt.NDArray[Any]) -> float | Floats:
        """R(t): a float for a number, a float64 array of the same shape for an array."""
        levels = np.asarray(t, dtype=np.float64)
        inside = (levels >= 0.0) & (levels < 0.5)  # false for NaN as well
        if not inside.all():
            raise BadInput(f"t of {self!r} must satisfy 0 <= t < 1/2; got {float(levels[~inside].flat[0])!r}")
        values = self._values(levels)
        return float(values) if levels.ndim == 0 else values

    def check(self, t_bar: float) -> None:
        """Refuse a bound that is not finite, non-negative and non-decreasing on a grid of [0, t̄].

        >>> CustomSpread(lambda t: 1.0 - t).check(0.4)
        Traceback (most recent call last):
        ...
        frontguard.errors.BadInput: R of CustomSpread(...) must be non-decreasing on [0, 0.4]; got R(...
        """
        limit = checked_t_bar(t_bar)
        levels = np.linspace(0.0, limit, _GRID)
        values = self(levels)
        where = f"R of {self!r} must be {{}} on [0, {limit:.6g}]; got R({{:.6g}}) = {{!r}}"
        for wrong, wanted in ((~np.isfinite(values), "finite"), (values < 0.0, "non-negative")):
            if wrong.any():
                k = int(np.argmax(wrong))
                raise BadInput(where.format(wanted, levels[k], float(values[k])))
        falls = np.diff(values) < -_ROUNDING * values.max()
        if falls.any():
            k = int(np.argmax(falls)) + 1
            what = where.format("non-decreasing", levels[k], float(values[k]))
            raise BadInput(f"{what} after R({levels[k - 1]:.6g}) = {float(values[k - 1])!r}")


@dataclass(frozen=True)
class Subgaussian(SpreadBound):
    """R(t) = σ √2 (√log(1/(1/2−t)) + √log 2): all σ-subgaussian rewards (Example 1, equation 1).

    It covers skewed and discrete rewards too, and pays for it: R(0) = 2σ √(2 log 2) ≈ 2.35 σ, so that the
    bias D is positive even without an attacker.

    >>> round(Subgaussian(0.2)(0.0), 4)
    0.471
    """

    sigma: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma", positive_number(self.sigma, "sigma (σ) of Subgaussian"))

    def _values(self, levels: Floats) -> Floats:
        from_mean = np.sqrt(-np.log(0.5 - levels))  # of the quantile
        return np.asarray(self.sigma * math.sqrt(2.0) * (from_mean + math.sqrt(math.log(2.0))), dtype=np.float64)


@dataclass(frozen=True)
class Gaussian(SpreadBound):
    """R(t) = σ Φ⁻¹(1/2 + t): normal rewards of standard deviation at most σ. Exact, with R(0) = 0.

    >>> Gaussian(2.0)(0.0), round(Gaussian(2.0)(0.4), 4)
    (0.0, 2.5631)
    """

    sigma: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma", positive_number(self.sigma, "sigma (σ) of Gaussian"))

    def _values(self, levels: Floats) -> Floats:
        from scipy.special import ndtri

        return np.asarray(self.sigma * ndtri(0.5 + levels), dtype=np.float64)


@dataclass(frozen=True)
class LinearAroundMedian(SpreadBound):
    """R(t) = B m̄₂ t: rewards whose cdf rises at least linearly around a unique median (Definition 3).

    `slope` is B: |F(x) − F(y)| ≥ |x − y| / (B m₂(F)) between the quantiles of levels 1/2 − t̄ and 1/2 + t̄.
    `deviation` is m̄₂, an upper bound of the median absolute deviation m₂(F) of every arm and objective.

    >>> LinearAroundMedian(slope=4.0, deviation=0.25)(np.array([0.0, 0.2]))
    array([0. , 0.2])
    """

    slope: float
    deviation: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "slope", positive_number(self.slope, "slope (B) of LinearAroundMedian"))
        object.__setattr__(self, "deviation", positive_number(self.deviation, "deviation (m̄₂) of LinearAroundMedian"))

    @classmethod
    def of_normal(cls, sigma: float, t_bar: float) -> LinearAroundMedian:
        """Normal rewards: the least B of Definition 3, which is 1 / (q_{3/4} φ(q_{1/2+t̄})); m₂ = σ q_{3/4}.

        The density is least at the ends of the interval, φ(q_{1/2+t̄}) / σ there, and must be at least
        1 / (B m₂). The paper's B, q_{3/4} / φ(q_{1/2+t̄}), is smaller by the factor q_{3/4}² ≈ 0.455 and does
        not satisfy Definition 3.

        >>> bound = LinearAroundMedian.of_normal(sigma=1.0, t_bar=0.4)
        >>> bool(bound(0.4) > Gaussian(1.0)(0.4))
        True
        """
        quartile = NormalDist().inv_cdf(0.75)
        edge = NormalDist().inv_cdf(0.5 + checked_t_bar(t_bar))
        density = math.exp(-0.5 * edge * edge) / math.sqrt(2.0 * math.pi)
        return cls(
            1.0 / (quartile * density),
            positive_number(sigma, "sigma (σ) of LinearAroundMedian.of_normal") * quartile,
        )

    def _values(self, levels: Floats) -> Floats:
        return self.slope * self.deviation * levels


@dataclass(frozen=True)
class Uniform(SpreadBound):
    """R(t) = width · t: rewards uniform on an interval of at most this width. Exact, with R(0) = 0.

    >>> Uniform(2.0)(0.25)
    0.5
    """

    width: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "width", positive_number(self.width, "width of Uniform"))

    def _values(self, levels: Floats) -> Floats:
        return self.width * levels


@dataclass(frozen=True, repr=False)
class CustomSpread(SpreadBound):
    """Any function of one level, or of an array of them, as a spread bound. It is checked where t̄ is known: `check`.

    >>> CustomSpread(lambda t: 3.0 * t if t < 0.1 else 0.3)(np.array([0.05, 0.4]))
    array([0.15, 0.3 ])
    """

    function: Callable[[float], float]

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise BadInput(f"function of CustomSpread must be callable with a level t; got {self.function!r}")
        start = real_number(self.function(0.0), f"R(0) of {self!r}")
        if start < 0.0:
            raise BadInput(f"R of {self!r} must be non-negative; got R(0) = {start!r}")

    def __repr__(self) -> str:
        name = getattr(self.function, "__qualname__", None)
        return f"CustomSpread(function={name or repr(self.function)})"

    def _values(self, levels: Floats) -> Floats:
        if levels.size > 1:
            # Arrays at once where the function can take them: a schedule may ask for millions of levels.
            try:
                values = np.asarray(cast("Callable[[Any], Any]", self.function)(levels), dtype=np.float64)
            except (TypeError, ValueError):
                pass
            else:
                if values.shape == levels.shape:
                    return values
        return np.array([float(self.function(float(t))) for t in levels.flat]).reshape(levels.shape)


def as_spread_bound(obj: SpreadBound | Callable[[float], float]) -> SpreadBound:
    """Return a `SpreadBound` unchanged, and wrap any other callable.

    >>> as_spread_bound(Uniform(1.0))
    Uniform(width=1.0)
    """
    if isinstance(obj, SpreadBound):
        return obj
    if callable(obj) and not isinstance(obj, type):
        return CustomSpread(obj)
    raise BadInput(f"a spread bound must be a SpreadBound or a function of the level t; got {obj!r}")
