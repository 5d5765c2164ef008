"""False alarms and detections of `frontguard gate` beside thresholds on means, on the same simulated measurements.

A program takes one unit of time, with a lognormal noise of 2 %; with probability 5 % a measurement is an outlier, one
to eleven times as long. The machine may drift: it grows slower by 20 % over the first 400 measurements, or swings by
10 % with a period of 200. A pull of either program meets the machine as it is at that moment; the order within a block
is drawn at random, as studies do it. The gate has the default contamination of 10 %, a tolerance of 2 % and δ = 5 %.

What is beside it looks at means, as `pytest-benchmark --benchmark-compare-fail=mean:2%` and a threshold on hyperfine's
ratio do: (a) of the very values that the gate has measured, in random order; (b) of ten runs of the one program and
then ten of the other, as both tools measure them. And the same values by two intervals, as gates were decided before
they compared samples: how many runs these take.

Baseline and candidate always have equally many pulls, and the numbers at which a gate looks do not depend on what it
sees. So thousands of gates are looked at side by side (`many_gates`), with the regions and sums of the real one;
`one_gate` runs that, and the two must agree. FRONTGUARD_GATES says how many gates of equal programs there are.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benchmarks.tables import Row, heading
from frontguard._common.typing import Bools, Floats, Ints
from frontguard.comparisons.outcomes import Outcome
from frontguard.evidence.confidence_sequences import rank_table, read_rank
from frontguard.evidence.differences.looks import BLOCK, LOOKS, least_sum, looks_until, region_at
from frontguard.objectives import Objective
from frontguard.policies import Certified
from frontguard.theory.threats import Prescient

DELTA, THREAT = 0.05, Prescient(0.1)
TOLERANCE = 0.02
SECONDS = Objective("seconds", "minimize", tolerance="2%")
MAX_PULLS = 2000
EQUAL, SLOWER, CHECKED = int(os.environ.get("FRONTGUARD_GATES", "10000")), 2000, 20
RUNS = 10  # of hyperfine, by default at least
AT_A_TIME = 1000

Rng = np.random.Generator
Drift = Callable[[Floats], Floats]

STEADY: Drift = np.ones_like
DRIFTS: dict[str, Drift] = {
    "steady": STEADY,
    "20 % slower over 400 pulls": lambda slot: 1.0 + 0.2 * np.minimum(slot / 400.0, 1.0),
    "swings by 10 %, 200 pulls a turn": lambda slot: 1.0 + 0.1 * np.sin(2.0 * np.pi * slot / 200.0),
}


@dataclass(frozen=True)
class World:
    """Two programs on a machine: the second is slower by `slowdown`."""

    drift: Drift = STEADY
    slowdown: float = 0.0
    outliers: float = 0.05
    noise: float = 0.02

    def seconds(self, arm: int, slots: Floats, rng: Rng) -> Floats:
        """What pulls of an arm take in these slots of the machine's time."""
        usual = self.drift(slots) * (1.0 + self.slowdown * arm) * np.exp(rng.normal(0.0, self.noise, slots.shape))
        wild = rng.random(slots.shape) < self.outliers
        return np.asarray(np.where(wild, usual * (1.0 + 10.0 * rng.random(slots.shape)), usual))


@dataclass(frozen=True, eq=False)
class Gates:
    """Gates that came to their ends: what each found, how many pulls it took, and what means say."""

    outcomes: Ints
    pulls: Ints
    by_median: Ints  # pulls until the candidate was certainly worse in the median
    by_intervals: Ints  # the same by two intervals
    means_worse: Bools  # the mean of the candidate's values is above the threshold
    tool_worse: Bools  # that of ten runs after ten runs of the baseline is

    def count(self, outcome: Outcome) -> int:
        return int((self.outcomes == outcome).sum())


def fresh() -> Certified:
    """A gate of two programs."""
    return Certified.for_objectives(
        2, [SECONDS], threat=THREAT, delta=DELTA, baseline=0, blocks=True, max_pulls_per_arm=MAX_PULLS // 2
    )


NUMBERS = [*LOOKS[: looks_until(MAX_PULLS // 2)], MAX_PULLS // 2]
"""Pulls of each program at which a gate looks; after the last it stops."""


def drawn(world: World, gates: int, rng: Rng) -> Floats:
    """Seconds (gates, 2, n) of both programs, by the number of the pull: blocks, each in random order."""
    blocks = NUMBERS[-1] // BLOCK
    order = rng.permuted(np.tile(np.repeat([0, 1], BLOCK), (gates, blocks, 1)), axis=2)
    mine = np.argsort(order, axis=2, kind="stable").reshape(gates, blocks, 2, BLOCK)
    when = mine + 2.0 * BLOCK * np.arange(blocks)[:, None, None]
    slots = when.transpose(0, 2, 1, 3).reshape(gates, 2, NUMBERS[-1])
    return np.stack([world.seconds(arm, slots[:, arm], rng) for arm in range(2)], axis=1)


def many_gates(world: World, gates: int, seed: int) -> Gates:
    """So many gates side by side."""
    parts = [_some_gates(world, min(AT_A_TIME, gates - begin), [seed, begin]) for begin in range(0, gates, AT_A_TIME)]
    return Gates(*(np.concatenate([getattr(part, name) for part in parts]) for name in vars(parts[0])))


def beyond(y: Floats, x: Floats, largest: Ints | None) -> Floats:
    """`two_sample.refuted_beyond` of many sorted samples (gates, n)."""
    n = y.shape[1]
    if largest is None:
        return np.full(len(y), np.inf)
    counts = np.arange(1, n + 1)[largest[1:] < n]
    return np.asarray((y[:, n - 1 - largest[counts]] - x[:, counts - 1]).max(axis=1, initial=-np.inf))


def _some_gates(world: World, gates: int, seed: list[int]) -> Gates:
    rng = np.random.default_rng(seed)
    seconds = drawn(world, gates, rng)
    inner, tolerance = SECONDS.inward(seconds), SECONDS.inner_tolerance
    blocks = inner.reshape(gates, 2, -1, BLOCK)
    won = (blocks[:, 0, :, :, None] - tolerance > blocks[:, 1, :, None, :]).sum(axis=(2, 3)).cumsum(axis=1)
    ranks = rank_table(THREAT.keep(0.5), DELTA / 4.0)
    found = np.full(gates, int(Outcome.OPEN))
    pulls, by_median, by_intervals = (np.full(gates, 2 * NUMBERS[-1]) for _ in range(3))
    for look, n in enumerate(NUMBERS[:-1]):
        left = np.flatnonzero((found == Outcome.OPEN) | (np.maximum(by_median, by_intervals) == 2 * NUMBERS[-1]))
        base, other = (np.sort(inner[left, arm, :n], axis=1) for arm in range(2))
        largest, rank = region_at(look, THREAT, 0.5, DELTA / 2.0), int(read_rank(ranks, n))
        still, sure = found[left] == Outcome.OPEN, beyond(base, other, largest) <= tolerance
        worse = won[left, n // BLOCK - 1] >= least_sum(look, THREAT, DELTA / 2.0)
        for said, outcome in ((still & worse & ~sure, Outcome.WORSE), (still & sure, Outcome.NOT_WORSE)):
            found[left[said]], pulls[left[said]] = outcome, 2 * n
        apart = beyond(other, base, largest) < -tolerance
        by_median[left[apart]] = np.minimum(by_median[left[apart]], 2 * n)
        if rank:
            apart = other[:, n - rank] < base[:, rank - 1] - tolerance
            by_intervals[left[apart]] = np.minimum(by_intervals[left[apart]], 2 * n)
    means = np.stack([row[:, : n // 2].mean(axis=1) for row, n in zip(seconds, pulls.tolist(), strict=True)])
    tool = [world.seconds(arm, np.tile(RUNS * arm + np.arange(RUNS, dtype=np.float64), (gates, 1)), rng).mean(axis=1)
            for arm in range(2)]  # fmt: skip
    above = 1.0 + TOLERANCE
    means_worse, tool_worse = means[:, 1] > above * means[:, 0], tool[1] > above * tool[0]
    return Gates(found, pulls, by_median, by_intervals, means_worse, tool_worse)


def one_gate(seconds: Floats) -> tuple[int, int]:
    """The outcome and the pulls of the real policy on such values (2, n)."""
    policy, taken = fresh(), [0, 0]
    while not policy.done:
        arms = policy.ask()
        values = []
        for arm in arms.tolist():
            values.append([float(SECONDS.inward(seconds[arm, taken[arm]]))])
            taken[arm] += 1
        policy.tell(arms, values)
    assert policy.against is not None
    return int(policy.against.outcomes[1, 0]), int(policy.pulls_per_arm.sum())


def agree(world: World, gates: int, seed: int) -> bool:
    """Whether the real policy finds what was found side by side, with as many pulls."""
    found = _some_gates(world, gates, [seed, 0])
    seconds = drawn(world, gates, np.random.default_rng([seed, 0]))
    return all(one_gate(seconds[row]) == (found.outcomes[row], found.pulls[row]) for row in range(gates))


def main() -> list[Row]:
    heading(f"Gates of two programs: tolerance {TOLERANCE:.0%}, δ = {DELTA:.0%}, ε = 10 %, 2 % noise")
    print(
        "  | difference | machine | outliers | gates | worse | not worse | open | runs a side (10, 50, 90 %) | "
        "worse in the median (50 %) | by two intervals (50 %) | means, same values | means, 10 then 10 |"
    )
    rows = []
    cases = [(0.0, name, 0.05, EQUAL) for name in DRIFTS] + [(0.0, "steady", 0.0, EQUAL)]
    cases += [(TOLERANCE, "steady", 0.05, EQUAL), (TOLERANCE, "steady", 0.0, EQUAL)]
    cases += [(0.05, name, 0.05, SLOWER) for name in DRIFTS] + [(0.05, "steady", 0.0, SLOWER)]
    for slowdown, name, outliers, count in cases:
        world, seed = World(DRIFTS[name], slowdown, outliers), round(1000 * slowdown)
        assert agree(world, CHECKED, seed), "the real policy finds something else"
        gates = many_gates(world, count, seed)
        quantiles = (np.percentile(gates.pulls, [10, 50, 90]) // 2).astype(int).tolist()
        medians = [int(np.median(each)) // 2 for each in (gates.by_median, gates.by_intervals)]
        shown = [gates.count(each) for each in (Outcome.WORSE, Outcome.NOT_WORSE, Outcome.OPEN)]
        said = ["equal" if not slowdown else f"{slowdown:.0%} slower", name, f"{outliers:.0%}", f"{count:,}"]
        said += [*map(str, shown), ", ".join(map(str, quantiles))]
        said += [str(each) if each < NUMBERS[-1] else "–" for each in medians]
        said += [f"{gates.means_worse.mean():.1%}", f"{gates.tool_worse.mean():.1%}"]
        print(f"  | {' | '.join(said)} |", flush=True)
        if slowdown <= TOLERANCE:
            alarms = gates.count(Outcome.WORSE) / count
            what = f"{'equal programs' if not slowdown else 'slower by the tolerance'}, {name}, {outliers:.0%} outliers"
            rows.append(Row(f"false alarms / δ, {what}", alarms / DELTA, at_most=1.0, details=f"{count:,} gates"))
    return rows
