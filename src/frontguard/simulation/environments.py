"""Simulated sources of clean rewards, each with its truth: medians, means, Pareto set, gaps, quantiles.

Parameters are numbers for all, for each objective (M,), or for each arm and objective (K, M). Medians are always
(K, M): a row an arm, a column an objective, everything to be maximised.

>>> environment = gaussian([[1.0, 0.0], [0.0, 1.0], [-0.5, 0.5]], sigma=0.2)
>>> environment.pareto_set, environment.gaps
([0, 1], array([0. , 0. , 0.5]))
>>> environment.sample(0, 3).shape
(3, 2)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from frontguard._common.typing import Bools, Floats, Ints
from frontguard.errors import BadInput
from frontguard.pareto.dominance import as_points, pareto_mask, suboptimality_gaps
from frontguard.simulation import draws
from frontguard.simulation.draws import DrawKernel, stream_states

NO_REALS = np.zeros(0)
NO_INTS = np.zeros(0, np.int64)


@dataclass(frozen=True, eq=False)
class Environment:
    """A simulated source of clean rewards that knows its own truth.

    `medians` (K, M) are the medians of interest (Section 3); `means` equal them unless given.
    """

    draw: DrawKernel
    medians: Floats
    reals: Floats = field(default_factory=lambda: NO_REALS)
    ints: Ints = field(default_factory=lambda: NO_INTS)
    means: Floats | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "medians", as_points(self.medians, name="medians"))
        object.__setattr__(self, "reals", np.array(self.reals, np.float64, order="C"))  # writable, as kernels want it
        object.__setattr__(self, "ints", np.array(self.ints, np.int64, order="C"))

    @property
    def arms(self) -> int:
        """K, the number of arms."""
        return int(self.medians.shape[0])

    @property
    def objectives(self) -> int:
        """M, the number of objectives."""
        return int(self.medians.shape[1])

    @cached_property
    def pareto_mask(self) -> Bools:
        """The arms that no other arm dominates by true medians (Definition 1), as a mask."""
        return pareto_mask(self.medians)

    @property
    def pareto_set(self) -> list[int]:
        """P*, the arms that no other arm dominates by true medians."""
        return [int(i) for i in np.flatnonzero(self.pareto_mask)]

    @cached_property
    def gaps(self) -> Floats:
        """Δ_i of every arm by true medians (Definition 4)."""
        return suboptimality_gaps(self.medians)

    def sample(self, arm: int, pulls: int, *, seed: int = 0) -> Floats:
        """Draw (pulls, M) clean rewards of one arm."""
        if not 0 <= arm < self.arms:
            raise IndexError(f"arm must be in 0..{self.arms - 1}; got {arm}")
        states, _ = stream_states(seed, 0, self.arms)
        out = np.empty((self.objectives, pulls))
        self.draw(out, arm, self.reals, self.ints, states[arm])
        return np.ascontiguousarray(out.T)


# Laws: what an attacker has to know that must hit rewards with probability exactly ε, or move a median by exactly D ---

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
    """Y = centre + scale · X with X of a continuous standard law, or a single atom where the scale is 0."""

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


@dataclass(frozen=True, eq=False)
class Quantiled(Environment):
    """An environment whose marginal laws are known exactly, as an attacker that knows everything knows them."""

    law: Law = field(kw_only=True)


def per_entry(value: npt.ArrayLike, medians: Floats, name: str, *, zero: bool = False, sign: bool = False) -> Floats:
    """Return a parameter spread over (K, M); refuse what is not finite and positive (or zero, or of any sign)."""
    array = np.asarray(value, dtype=np.float64)
    if array.ndim and array.shape not in {medians.shape, medians.shape[1:]}:
        raise BadInput(
            f"{name} must be a number, or have the shape (M,) = {medians.shape[1:]} "
            f"or (K, M) = {medians.shape}; got {array.shape}"
        )
    wanted = "finite" if sign else "finite and " + ("not negative" if zero else "positive")
    good = np.isfinite(array) & (sign | (array > 0.0) | (zero & (array == 0.0)))
    if not good.all():
        raise BadInput(f"{name} must be {wanted}; got {array[~good].flat[0]}")
    return np.array(np.broadcast_to(array, medians.shape))


def _centres(value: npt.ArrayLike, name: str = "medians") -> Floats:
    array = as_points(value, name=name)
    if not np.isfinite(array).all():
        raise BadInput(f"{name} must be finite; got {array[~np.isfinite(array)][0]}")
    return array


def _location_scale(draw: DrawKernel, law: LocationScale) -> Quantiled:
    """An environment of this law, whose kernel reads (centre, scale) of each (K, M)."""
    return Quantiled(draw, law.centre, np.stack([law.centre, law.scale], axis=-1).ravel(), law=law)


def constant(medians: npt.ArrayLike) -> Quantiled:
    """Every pull of an arm gives its medians."""
    centre = _centres(medians)
    law = LocationScale(centre, np.zeros_like(centre), ndtri, ndtr)
    return Quantiled(draws.draw_constant, centre, centre.ravel(), law=law)


def gaussian(medians: npt.ArrayLike, sigma: npt.ArrayLike) -> Quantiled:
    """Return an environment of N(median, σ²), objectives independent. Where σ is 0 the reward is constant.

    Parameters
    ----------
    medians
        A row for each arm, a column for each objective.
    sigma
        σ, for all, for each objective, or for each arm and objective.

    Returns
    -------
    Quantiled
        An environment that knows its quantiles.

    Raises
    ------
    BadInput
        Shapes do not fit, or a value is not finite.

    >>> gaussian([[1.0, 0.0], [0.0, 1.0]], sigma=0.1).pareto_set
    [0, 1]
    """
    centre = _centres(medians)
    law = LocationScale(centre, per_entry(sigma, centre, "sigma", zero=True), ndtri, ndtr)
    return _location_scale(draws.draw_gaussian, law)


def uniform(medians: npt.ArrayLike, width: npt.ArrayLike) -> Quantiled:
    """Uniform on [median − width/2, median + width/2).

    >>> uniform([[0.0, 1.0]], width=2.0).law.quantile(0.75)
    array([[0.5, 1.5]])
    """
    centre = _centres(medians)
    widths = per_entry(width, centre, "width")
    law = LocationScale(centre, widths, lambda level: level - 0.5, lambda x: np.clip(x + 0.5, 0.0, 1.0))
    return _location_scale(draws.draw_uniform, law)


def _alias_table(weights: Floats) -> tuple[Ints, Ints]:
    """Walker's table: cell s gives its own value with probability threshold[s] / 2³², else alias[s]'s."""
    cells = len(weights)
    scaled = weights * (cells / weights.sum())
    alias = np.arange(cells)
    keep = np.ones(cells)
    small = [s for s in range(cells) if scaled[s] < 1.0]
    large = [s for s in range(cells) if scaled[s] >= 1.0]
    while small and large:
        poor, rich = small.pop(), large[-1]
        keep[poor], alias[poor] = scaled[poor], rich
        scaled[rich] -= 1.0 - scaled[poor]
        if scaled[rich] < 1.0:
            small.append(large.pop())
    for s in small:  # rounding may leave a cell a hair short of 1, but never one whose value has no weight
        if weights[s] == 0.0:
            keep[s], alias[s] = 0.0, int(np.argmax(weights))
    return np.rint(keep * 2.0**32).astype(np.int64), alias


def categorical(counts: npt.ArrayLike, values: npt.ArrayLike) -> Quantiled:
    """Draw values[s] with probability counts[i, d, s] / Σ counts[i, d], objectives independently, in O(1).

    `counts` is (K, M, S), `values` (S,). Medians are the medians of interest: halfway where two values share
    the middle.
    """
    weights = np.asarray(counts, dtype=np.float64)
    support = np.asarray(values, dtype=np.float64)
    if weights.ndim != 3 or 0 in weights.shape:
        raise BadInput(f"counts must have the shape (K, M, S) = (arms, objectives, values); got {weights.shape}")
    if support.shape != weights.shape[2:]:
        raise BadInput(f"values must have the shape (S,) = {weights.shape[2:]} of counts; got {support.shape}")
    if not np.isfinite(support).all():
        raise BadInput(f"values must be finite; got {support[~np.isfinite(support)][0]}")
    if not (np.isfinite(weights) & (weights >= 0.0)).all():
        raise BadInput("counts must be finite and not negative")
    if not (weights.sum(axis=2) > 0.0).all():
        arm, objective = np.argwhere(weights.sum(axis=2) == 0.0)[0]
        raise BadInput(f"counts must not all be 0; they are for arm {arm}, objective {objective}")
    cells = weights.shape[2]
    tables = [_alias_table(row) for row in weights.reshape(-1, cells)]
    thresholds = np.concatenate([threshold for threshold, _ in tables])
    reals = np.concatenate([np.stack([support, support[alias]], axis=-1).ravel() for _, alias in tables])
    law = Atoms.of(support, weights)
    ints = np.concatenate([[cells], thresholds])
    return Quantiled(draws.draw_categorical, law.medians_of_interest(), reals, ints, law.means(), law=law)


def _grouped_rows(points: npt.ArrayLike, arm_of_row: npt.ArrayLike) -> tuple[Floats, Ints]:
    """Return the points ordered by arm, and the first row and the number of rows of each arm, (K, 2)."""
    table = _centres(points, "points")
    owners = np.asarray(arm_of_row)
    if owners.shape != (len(table),) or not np.issubdtype(owners.dtype, np.integer):
        raise BadInput(
            f"arm_of_row must be one integer for each of the {len(table)} points; "
            f"got {owners.dtype} of shape {owners.shape}"
        )
    if owners.min() < 0:
        raise BadInput(f"arm_of_row must not be negative; got {owners.min()}")
    rows = np.bincount(owners)
    if (rows == 0).any():
        raise BadInput(f"every arm needs at least one point; arm {int(np.argmin(rows))} has none")
    starts = np.cumsum(rows) - rows
    return table[np.argsort(owners, kind="stable")], np.stack([starts, rows], axis=-1)


def _atoms_of_rows(table: Floats, groups: Ints) -> Atoms:
    return Atoms(
        [
            [Histogram.of(column, np.ones(len(column))) for column in table[start : start + rows].T]
            for start, rows in groups
        ]
    )


def bootstrap(points: npt.ArrayLike, arm_of_row: npt.ArrayLike) -> Quantiled:
    """A pull draws one of the arm's points (N, M), whole: objectives stay together.

    >>> environment = bootstrap([[1.0, 5.0], [2.0, 4.0], [9.0, 9.0]], arm_of_row=[0, 0, 1])
    >>> environment.medians
    array([[1.5, 4.5],
           [9. , 9. ]])
    """
    table, groups = _grouped_rows(points, arm_of_row)
    law = _atoms_of_rows(table, groups)
    return Quantiled(draws.draw_rows, law.medians_of_interest(), table.ravel(), groups.ravel(), law.means(), law=law)


def noisy_bootstrap(points: npt.ArrayLike, arm_of_row: npt.ArrayLike, sigma: npt.ArrayLike) -> Quantiled:
    """A pull draws one of the arm's points and adds Gaussian noise of deviation σ, a number or (M,)."""
    table, groups = _grouped_rows(points, arm_of_row)
    deviation = per_entry(sigma, table[:1], "sigma")
    atoms = _atoms_of_rows(table, groups)
    law = NoisyAtoms(atoms, np.repeat(deviation, len(groups), axis=0))
    reals = np.concatenate([deviation.ravel(), table.ravel()])
    return Quantiled(draws.draw_noisy_rows, law.medians_of_interest(), reals, groups.ravel(), atoms.means(), law=law)
