"""Laws and attackers that nobody but tests needs: heavy tails, skewness, two modes; rewards that are pushed."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

from frontguard._common.typing import Bools, Floats, Ints
from frontguard.pareto.dominance import as_points
from frontguard.simulation.adversaries import Adversary, hit_and_replace, other_distribution, replace
from frontguard.simulation.draws import DrawKernel, Words, draw_kernel, fill_normals, fill_words, unit
from frontguard.simulation.environments import (
    Atoms,
    Environment,
    LocationScale,
    NoisyAtoms,
    Quantiled,
    categorical,
    constant,
    per_entry,
)
from frontguard.theory.threats import Malicious, Prescient


@draw_kernel
def _draw_cauchy(out: Floats, arm: int, reals: Floats, ints: Ints, stream: Words) -> None:
    """reals: (median, scale) of each (K, M)."""
    objectives, count = out.shape
    at = 2 * objectives * arm
    for d in range(objectives):
        row = out[d]
        words = row.view(np.uint64)
        fill_words(words, stream)
        median, scale = reals[at + 2 * d], reals[at + 2 * d + 1]
        for i in range(count):
            row[i] = median + scale * math.tan(math.pi * (unit(words[i]) - 0.5))


@draw_kernel
def _draw_skewed(out: Floats, arm: int, reals: Floats, ints: Ints, stream: Words) -> None:
    """reals: (median, scale, shape s) of each (K, M): median + scale · (e^(sZ) − 1) / s, Z ~ N(0, 1)."""
    objectives, count = out.shape
    at = 3 * objectives * arm
    for d in range(objectives):
        row = out[d]
        fill_normals(row, row.view(np.uint64), stream)
        median, scale, shape = reals[at + 3 * d], reals[at + 3 * d + 1], reals[at + 3 * d + 2]
        for i in range(count):
            row[i] = median + scale / shape * math.expm1(shape * row[i])


@draw_kernel
def _draw_bimodal(out: Floats, arm: int, reals: Floats, ints: Ints, stream: Words) -> None:
    """reals: (first centre, second centre, σ, probability of the second) of each (K, M)."""
    objectives, count = out.shape
    coins = np.empty(count, np.uint64)
    at = 4 * objectives * arm
    for d in range(objectives):
        row = out[d]
        fill_normals(row, row.view(np.uint64), stream)
        fill_words(coins, stream)
        first, second = reals[at + 4 * d], reals[at + 4 * d + 1]
        sigma, weight = reals[at + 4 * d + 2], reals[at + 4 * d + 3]
        for i in range(count):
            row[i] = (second if unit(coins[i]) < weight else first) + sigma * row[i]


def _of_law(draw: DrawKernel, law: LocationScale, means: Floats) -> Quantiled:
    """An environment of this law, whose kernel reads (centre, scale, shapes) of each (K, M)."""
    reals = np.stack([law.centre, law.scale, *law.shapes], axis=-1).ravel()
    return Quantiled(draw, law.centre, reals, means=means, law=law)


def _cauchy_cdf(point: Floats) -> Floats:
    return 0.5 + np.arctan(point) / np.pi


def cauchy(medians: npt.ArrayLike, scale: npt.ArrayLike) -> Quantiled:
    """Cauchy around the median; half of the rewards lie within `scale` of it. Means are NaN."""
    centre = as_points(medians, name="medians")
    scales = per_entry(scale, centre, "scale")
    law = LocationScale(centre, scales, lambda level: math.tan(math.pi * (level - 0.5)), _cauchy_cdf)
    return _of_law(_draw_cauchy, law, np.full_like(centre, np.nan))


def _skewed_quantile(level: float, shape: Floats) -> Floats:
    return np.asarray(np.expm1(shape * ndtri(level)) / shape, np.float64)


def _skewed_cdf(point: Floats, shape: Floats) -> Floats:
    grown = np.maximum(1.0 + shape * point, 0.0)  # at 0 the support ends: below it if s > 0, above it if s < 0
    with np.errstate(divide="ignore"):
        return np.asarray(ndtr(np.log(grown) / shape), np.float64)


def skewed(medians: npt.ArrayLike, scale: npt.ArrayLike, shape: npt.ArrayLike) -> Quantiled:
    """Shifted lognormal: median + scale · (e^(sZ) − 1) / s with Z ~ N(0, 1) and s = `shape`.

    The median is exactly `medians`; the mean lies scale · (e^(s²/2) − 1) / s beside it. s > 0 has its long
    tail on the right, s < 0 on the left, and s → 0 gives a Gaussian of deviation `scale`.

    >>> skewed([[1.0]], scale=2.0, shape=1.0).means
    array([[2.29744254]])
    """
    centre = as_points(medians, name="medians")
    scales = per_entry(scale, centre, "scale")
    shapes = per_entry(shape, centre, "shape", sign=True)
    law = LocationScale(centre, scales, _skewed_quantile, _skewed_cdf, (shapes,))
    return _of_law(_draw_skewed, law, centre + scales * np.expm1(0.5 * shapes**2) / shapes)


def bimodal(
    first: npt.ArrayLike, second: npt.ArrayLike, sigma: npt.ArrayLike, weight: npt.ArrayLike = 0.5
) -> Quantiled:
    """Gaussian of deviation σ around `second` with probability `weight`, else around `first`, both (K, M).

    The medians follow from the mixture: there is little density around them, which makes such rewards hard.

    >>> bimodal([[0.0]], [[4.0]], sigma=0.5).medians.round(6)
    array([[2.]])
    """
    left = as_points(first, name="first")
    right = as_points(second, name="second")
    deviation = per_entry(sigma, left, "sigma")
    share = per_entry(weight, left, "weight", zero=True)
    atoms = Atoms.of(np.stack([left, right], axis=-1), np.stack([1.0 - share, share], axis=-1))
    law = NoisyAtoms(atoms, deviation)
    reals = np.stack([left, right, deviation, share], axis=-1).ravel()
    medians = law.medians_of_interest()
    return Quantiled(_draw_bimodal, medians, reals, means=atoms.means(), law=law)


def bernoulli(rates: npt.ArrayLike) -> Quantiled:
    """1 with probability `rates` (K, M), else 0: solved or not, converted or not. The means are the rates."""
    shares = as_points(rates, name="rates")
    return categorical(np.stack([1.0 - shares, shares], axis=-1), [0.0, 1.0])


def _of_front(environment: Environment) -> Bools:
    return np.repeat(environment.pareto_mask[:, None], environment.objectives, axis=1)


def push(environment: Environment, eps: float, *, toward_front: bool, distance: float) -> Adversary:
    """Add to the true reward, so that replaced rewards keep the shape of the true ones and stand out less.

    Toward the front: rewards of dominated arms rise by `distance` in every objective, so that arms which do
    not belong there seem to; Pareto optimal arms are left as they are. Away from the front: rewards of
    Pareto optimal arms fall by `distance` in every objective, so that the front seems lost, and dominated
    arms rise to take its place.
    """
    offsets = np.where(_of_front(environment), 0.0 if toward_front else -distance, distance).ravel()
    return Adversary(Prescient(eps), attack=replace, reals=offsets, ints=np.ones(len(offsets), np.int64))


def papers_per_arm(environment: Quantiled, eps: float, value: float = 10.0) -> Adversary:
    """The paper's attack on SW-LLVM with every arm hit with probability ε, as the model demands.

    The preference goes to rewards instead: on Pareto optimal arms those above the median are hit 1.25 times as often
    as those below, on the others those below. (Atoms at the median count to both sides so that each weighs 1/2.)
    """
    front, middle = _of_front(environment), environment.law.quantile(0.5)
    below, upto = environment.law.mass(middle)
    atom = upto - below
    lower_part = np.where(atom > 0.0, np.clip((0.5 - below) / np.where(atom > 0.0, atom, 1.0), 0.0, 1.0), 0.5)
    rare = 2.0 * eps / 2.25  # (rare + 1.25 · rare) / 2 = ε
    under, over = np.where(front, rare, 1.25 * rare), np.where(front, 1.25 * rare, rare)
    at = lower_part * under + (1.0 - lower_part) * over
    reals = np.stack([middle, under, at, over, np.where(front, -value, value)], axis=-1).ravel()
    return Adversary(Malicious(eps), attack=hit_and_replace, reals=reals, ints=np.zeros(front.size, np.int64))


def constant_attack(eps: float, value: npt.ArrayLike, environment: Environment, *, joint: bool = False) -> Adversary:
    """Oblivious: replaces by a constant, one for all, for each objective, or for each arm and objective."""
    values = np.broadcast_to(np.asarray(value, np.float64), environment.medians.shape)
    return other_distribution(eps, constant(values), joint=joint)
