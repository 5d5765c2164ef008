"""How far the certified policy is from what any method needs: pulls / (T* ln(1/δ)). `python -m benchmarks limit`.

A method that is right with probability 1 − δ on every instance takes at least about T* ln(1/δ) pulls on this one, where

    1/T* = sup over shares w of the pulls  inf over instances with another answer  Σ_i w_i KL_i

and KL_i is how much a pull of arm i tells the two instances apart at most (Garivier and Kaufmann, 2016), here with an
attacker that makes them as alike as it may. What is not exact, and in which direction:

- Observed laws are those of the attack that is simulated, known from `SAMPLE` pulls of every arm; the attacker of the
  other instance is free. KL_i against "the median is at most x" is that of the projection of the observed law onto the
  laws that have keep(½+t) at least up to x + R(t) for every t ≤ t̄: the least concave majorant of these points.
- Information of several objectives is added, as if they were independent. T* is the smaller for it.
- Medians of an alternative lie on a grid of `GRID` values; an arm that nobody covers is looked for from several starts.
- Answers are tried: arms that are beaten by less than some margin, and covers found greedily. A better one would make
  T* smaller.
- The allocation is found by cutting planes up to 2 %.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
import numpy.typing as npt
from scipy.optimize import linprog

from benchmarks.certified import ends_of, geometric, name_of, settings
from benchmarks.covboost import covboost
from benchmarks.tables import Row
from frontguard import Gaussian, Oblivious, Prescient
from frontguard.experiments.setup import CONTESTANTS, DELTA, T_BAR, Experiment, Setting
from frontguard.policies import Certified
from frontguard.simulation import Adversary, Environment
from frontguard.simulation.adversaries import review_bomber
from frontguard.simulation.environments import gaussian
from frontguard.simulation.streams import RewardSource, Streams
from frontguard.theory.spread import SpreadBound
from frontguard.theory.threats import Threat

Floats = npt.NDArray[np.float64]

RUNS, FIRST_RUN = 30, 1000
SAMPLE = 100_000
GRID = 300
PAPER = {("SW-LLVM, as published", eps) for eps in (0.0, 0.1, 0.2)} | {("UVA/PADOVA", eps) for eps in (0.0, 0.1, 0.3)}
NORMAL = ((10, 2, 0.0), (10, 2, 0.1), (50, 2, 0.0), (50, 2, 0.1), (50, 3, 0.0))
BEFORE: dict[str, float] = {
    "SW-LLVM, as published, ε = 0": 258.6,
    "SW-LLVM, as published, ε = 0.1": 175.5,
    "SW-LLVM, as published, ε = 0.2": 369.6,
    "UVA/PADOVA, ε = 0": 224.8,
    "UVA/PADOVA, ε = 0.1": 371.9,
    "UVA/PADOVA, ε = 0.3": 844.8,
    "normal, K = 10, M = 2, ε = 0": 691.2,
    "normal, K = 10, M = 2, ε = 0.1": 4904.1,
    "normal, K = 50, M = 2, ε = 0": 3792.8,
    "normal, K = 50, M = 2, ε = 0.1": 25745.0,
    "normal, K = 50, M = 3, ε = 0": 4765.8,
    "COV-BOOST by medians": 77995.4,
}
"""Pulls of the policy that split δ over shifts and sampled every arm that was in the way, in the same runs."""


@dataclass(frozen=True)
class Instance:
    """What is to be answered, and by whom."""

    name: str
    policy: Certified
    independent: Certified  # the same, for arms that are: as those of a simulation are
    environment: Environment
    adversary: Adversary | None
    threat: Threat
    spread: SpreadBound | None

    @property
    def tolerances(self) -> tuple[float, float]:
        return float(self.policy.accuracy[0]), float(self.policy.coverage[0])


def normal_setting(arms: int, objectives: int, eps: float) -> Setting:
    """Normal rewards with medians in the positive orthant, their best ones on a sphere; reviews that are bombed."""
    rng = np.random.default_rng(10 * arms + objectives)
    directions = rng.uniform(size=(arms, objectives))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    environment = gaussian(directions * rng.uniform(0.3, 1.0, size=(arms, 1)), 0.2)
    experiment = Experiment(
        dataset="normal",
        variant=f"K = {arms}, M = {objectives}",
        environment=environment,
        attack=lambda hit: review_bomber(environment, hit, lowest=-1.0),
        threat=Prescient,
        spread=Gaussian(0.2),
        accuracy=0.1,
        bias=lambda hit: None if hit > 0.0 else 0.05,
    )
    return Setting(experiment, eps)


def instances() -> Iterator[Instance]:
    """All that is measured."""
    chosen = [setting for setting in settings() if (name_of(setting.experiment), setting.eps) in PAPER]
    named = [(name_of(setting.experiment), setting) for setting in chosen]
    named += [(f"normal, K = {K}, M = {M}", normal_setting(K, M, eps)) for K, M, eps in NORMAL]
    for name, setting in named:
        experiment, contestant = setting.experiment, CONTESTANTS["certified"]
        arguments = contestant.arguments(setting)
        own, pairs = Certified(**arguments), Certified(**arguments, independent=True)
        place = experiment.environment, setting.adversary, setting.threat, experiment.spread
        yield Instance(f"{name}, ε = {setting.eps:g}", own, pairs, *place)
    boost, threat = covboost(), Oblivious(0.0)
    arguments = {"arms": 20, "objectives": 3, "threat": threat, "accuracy": 0.0, "coverage": 0.0, "delta": DELTA}
    own, pairs = Certified(**arguments), Certified(**arguments, independent=True)
    yield Instance("COV-BOOST by medians", own, pairs, boost.environment(), None, threat, None)


# What a pull tells --------------------------------------------------------------------------------------------------


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def _divergence(mass: Floats, needed: Floats) -> float:
    """KL from a law that has these masses up to some points to the nearest that has those needed; both rise."""
    xs, ys = np.zeros(mass.size + 2), np.zeros(mass.size + 2)
    size = 1
    for place in range(mass.size + 1):
        x, y = (mass[place], needed[place]) if place < mass.size else (1.0, 1.0)
        if y <= ys[size - 1]:
            continue
        if x <= xs[size - 1]:  # nothing was seen since the last point: that one has to be as high
            ys[size - 1] = y
        else:
            xs[size], ys[size] = x, y
            size += 1
        while size > 2 and (ys[size - 2] - ys[size - 3]) * (xs[size - 1] - xs[size - 3]) <= (
            ys[size - 1] - ys[size - 3]
        ) * (xs[size - 2] - xs[size - 3]):
            xs[size - 2], ys[size - 2] = xs[size - 1], ys[size - 1]
            size -= 1
    total = 0.0
    for k in range(1, size):
        seen, due = xs[k] - xs[k - 1], ys[k] - ys[k - 1]
        if seen > 0.0:
            total += seen * np.log(seen / max(due, 1e-300))
    return max(total, 0.0)


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def _informations(values: Floats, places: Floats, reach: Floats, needed: Floats) -> Floats:
    """What a pull with these sorted values tells against a median of at most each of the places."""
    found, mass = np.empty(places.size), np.empty(reach.size)
    for k in range(places.size):
        for t in range(reach.size):
            mass[t] = np.searchsorted(values, places[k] + reach[t], side="right") / values.size
        found[k] = _divergence(mass, needed)
    return found


@dataclass(frozen=True)
class Informations:
    """What a pull of each arm tells against its median being low, or high by the accuracy or coverage: (K, M, GRID)."""

    low: Floats
    high_accuracy: Floats
    high_coverage: Floats
    medians: Floats


def informations(instance: Instance) -> Informations:
    """For every arm and objective, on a grid of medians that goes a little beyond all that there are."""
    accuracy, coverage = instance.tolerances
    shifts, reach = np.zeros(1), np.zeros(1)  # without a shift nothing is asked of R ...
    if instance.spread is not None:  # ... and with one, at 0 too, R is what it is
        more = np.linspace(0.0, T_BAR, 40)
        shifts = np.concatenate([shifts, more])
        reach = np.concatenate([reach, [float(instance.spread(float(t))) for t in more]])
    needed = np.array([max(0.0, instance.threat.keep(0.5 + float(t))) for t in shifts])
    medians = instance.environment.medians
    K, M = medians.shape
    low, high, covered = (np.empty((K, M, GRID)) for _ in range(3))
    streams = Streams(RewardSource(instance.environment, instance.adversary), 12345)
    beyond = 0.3 * float(reach.max()) + 0.05 * np.ptp(medians, axis=0)
    grids = [
        np.linspace(medians[:, d].min() - accuracy - beyond[d], medians[:, d].max() + beyond[d], GRID) for d in range(M)
    ]
    for i in range(K):
        seen = np.sort(streams.take(i, SAMPLE), axis=0)
        for d, grid in enumerate(grids):
            up, down = np.ascontiguousarray(seen[:, d]), np.ascontiguousarray(-seen[::-1, d])
            low[i, d] = _informations(up, grid, reach, needed)
            high[i, d] = _informations(down, -(grid + accuracy), reach, needed)
            covered[i, d] = _informations(down, -(grid + coverage), reach, needed)
    return Informations(low, high, covered, medians)


# The game -----------------------------------------------------------------------------------------------------------


def _beaten(known: Informations, w: Floats, returned: Sequence[int]) -> Iterator[tuple[float, Floats]]:
    """Instances in which one arm beats a returned one: what an allocation tells against each, and each arm's part."""
    K, M, _ = known.low.shape
    for i in returned:
        both = w[i] * known.low[i] + w[:, None, None] * known.high_accuracy
        at = both.argmin(axis=2)
        cost = np.take_along_axis(both, at[..., None], 2)[..., 0].sum(axis=1)
        cost[i] = np.inf
        for j in np.argsort(cost)[: min(4, K - 1)]:
            part = np.zeros(K)
            for d in range(M):
                part[i] += known.low[i, d, at[j, d]]
                part[j] += known.high_accuracy[j, d, at[j, d]]
            yield float(cost[j]), part


def _uncovered(known: Informations, w: Floats, returned: Sequence[int]) -> Iterator[tuple[float, Floats]]:
    """Instances in which no returned arm covers another one: each fails to in some objective, found by turns."""
    K, M, _ = known.low.shape
    those = np.array(returned)
    rng = np.random.default_rng(0)
    for j in set(range(K)) - set(returned):
        ahead = known.medians[j] - known.medians[those]
        starts = [np.full(len(those), d) for d in range(M)] + [ahead.argmax(axis=1)]
        starts += [
            (ahead + rng.normal(scale=0.5 * np.abs(ahead).mean(), size=ahead.shape)).argmax(axis=1) for _ in range(2)
        ]
        best, parts = np.inf, np.zeros(K)
        for start in starts:
            where, last = start, np.inf
            for _ in range(8):
                at = [
                    int(
                        (
                            w[j] * known.high_coverage[j, d] + w[those[where == d]] @ known.low[those[where == d], d]
                        ).argmin()
                    )
                    for d in range(M)
                ]
                each = np.stack([w[those] * known.low[those, d, at[d]] for d in range(M)], axis=1)
                where = each.argmin(axis=1)
                own = sum(known.high_coverage[j, d, at[d]] for d in range(M))
                cost = float(w[j] * own + each.min(axis=1).sum())
                if cost < best:
                    best, parts = cost, np.zeros(K)
                    parts[j] = own
                    np.add.at(parts, those, known.low[those, where, np.array(at)[where]])
                if cost >= last - 1e-12:
                    break
                last = cost
        yield best, parts


def value(known: Informations, returned: Sequence[int], *, rounds: int) -> float:
    """1/T* of an answer: what the best allocation tells per pull against whatever has another answer."""
    K = len(known.low)
    w, best_w, best = np.full(K, 1.0 / K), np.full(K, 1.0 / K), 0.0
    cuts: list[Floats] = []
    for step in range(rounds):
        found = [*_beaten(known, w, returned), *_uncovered(known, w, returned)]
        least = min(cost for cost, _ in found)
        if least > best:
            best, best_w = least, w
        if best <= 0.0 and step > 6:
            return 0.0
        cuts += [part for _, part in sorted(found, key=lambda each: each[0])[: max(12, K)]]
        rows = np.array(cuts)
        solved: Any = linprog(
            np.r_[np.zeros(K), -1.0], A_ub=np.c_[-rows, np.ones(len(rows))], b_ub=np.zeros(len(rows)),
            A_eq=np.r_[np.ones(K), 0.0][None], b_eq=[1.0], bounds=[(0, None)] * K + [(None, None)],
        )  # fmt: skip
        if not solved.success or -solved.fun <= 1.02 * best:
            break
        found_w: Floats = solved.x[:K]
        w = 0.5 * found_w + 0.5 * best_w if step % 3 else 0.9 * found_w + 0.1 * best_w
    return best


def answers(medians: Floats, accuracy: float, coverage: float) -> set[tuple[int, ...]]:
    """Sets that may be returned: all arms that are beaten by no more than some margin, and small covers."""
    ahead = medians[None] - medians[:, None]
    lead = ahead.min(axis=2)
    np.fill_diagonal(lead, -np.inf)
    by = lead.max(axis=1)
    found = {tuple(np.flatnonzero(by <= margin).tolist()) for margin in np.linspace(0.0, accuracy, 6)}
    missing = (ahead - coverage).max(axis=2)  # [i, j]: how far j is uncovered by i
    for slack in (0.25, 0.5, 0.75):
        able = np.flatnonzero(by <= accuracy * (1.0 - slack))
        covers = missing[able] <= -slack * coverage + 1e-12
        left, chosen = covers.any(axis=0), []
        while left.any():
            k = int((covers & left).sum(axis=1).argmax())
            chosen.append(int(able[k]))
            left &= ~covers[k]
        found.add(tuple(sorted(chosen)))
    return {each for each in found if each}


def needed_pulls(instance: Instance) -> float:
    """T* ln(1/δ)."""
    known = informations(instance)
    tried = answers(known.medians, *instance.tolerances)
    ranked = sorted(((value(known, each, rounds=8), each) for each in tried), reverse=True)
    best = max(value(known, each, rounds=40) for _, each in ranked[:2])
    return float(np.log(1.0 / DELTA) / best)


def main() -> Iterator[Row]:
    """A row for each instance, and their geometric mean."""
    ratios, changes, in_pairs, paired_changes = [], [], [], []
    for instance in instances():
        least = needed_pulls(instance)
        ends = ends_of(instance.policy, instance.environment, instance.adversary, RUNS, first_run=FIRST_RUN)
        pulls = float(ends.pulls.mean())
        ratios.append(pulls / least)
        details = f"{pulls:,.0f} pulls, T* ln(1/δ) = {least:,.0f}"
        if instance.name in BEFORE:
            changes.append(pulls / BEFORE[instance.name])
            details += f", before {BEFORE[instance.name]:,.0f}"
        yield Row(instance.name, pulls / least, details=details)
        ends = ends_of(instance.independent, instance.environment, instance.adversary, RUNS, first_run=FIRST_RUN)
        in_pairs.append(float(ends.pulls.mean()) / pulls)
        if instance.name in BEFORE:
            paired_changes.append(float(ends.pulls.mean()) / BEFORE[instance.name])
        yield Row(f"{instance.name}: pulls in pairs / without", in_pairs[-1], details=f"{ends.pulls.mean():,.0f} pulls")
    yield Row("geometric mean", geometric(ratios))
    yield Row("pulls in pairs / without, geometric mean", geometric(in_pairs))
    if changes:
        yield Row("pulls / those of the policy before, geometric mean", geometric(changes))
        yield Row(
            "pulls of independent arms / those of the policy before, geometric mean",
            geometric(paired_changes),
            at_most=0.82,
        )
