"""False alarms and detections of `frontguard gate` beside thresholds on means, on the same simulated measurements.

A program takes one unit of time, with a lognormal noise of 2 %; with probability 5 % a measurement is an outlier, one
to eleven times as long. The machine may drift: it grows slower by 20 % over the first 400 measurements, or swings by
10 % with a period of 200. A pull of either program meets the machine as it is at that moment; the order within a batch
is drawn at random, as studies do it. The gate has the default contamination of 10 %, a tolerance of 2 % and δ = 5 %.

What is beside it looks at means, as `pytest-benchmark --benchmark-compare-fail=mean:2%` and a threshold on hyperfine's
ratio do: (a) of the very values that the gate has measured, in random order; (b) of ten runs of the one program and
then ten of the other, as both tools measure them.

Baseline and candidate always have equally many pulls, and the numbers at which a gate looks do not depend on what it
sees. So thousands of gates are looked at side by side (`many_gates`), with the boundaries and the rule of the real one;
`one_gate` runs that, and the two must agree. FRONTGUARD_GATES says how many gates of equal programs there are.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benchmarks.tables import Row, heading
from frontguard._common.typing import Bools, Floats, Ints
from frontguard.comparisons.outcomes import Outcome, outcomes_of
from frontguard.evidence.confidence_sequences import read_rank
from frontguard.objectives import Objective
from frontguard.policies import Certified
from frontguard.theory.threats import Prescient

DELTA = 0.05
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
    means_worse: Bools  # the mean of the candidate's values is above the threshold
    tool_worse: Bools  # that of ten runs after ten runs of the baseline is

    def count(self, outcome: Outcome) -> int:
        return int((self.outcomes == outcome).sum())


def fresh() -> Certified:
    """A gate of two programs."""
    each = MAX_PULLS // 2
    return Certified.for_objectives(
        2, [SECONDS], threat=Prescient(0.1), delta=DELTA, baseline=0, max_pulls_per_arm=each
    )


def looks_of(policy: Certified) -> list[int]:
    """The pulls of each program at which a gate looks."""
    control = policy.standing.control[0]
    looks = [int(control["first"])]
    while 2 * looks[-1] < MAX_PULLS:
        grown = looks[-1] + max(1, int(np.ceil(float(control["growth"]) * looks[-1])))
        looks.append(min(grown, MAX_PULLS // 2))
    return looks


def drawn(world: World, looks: list[int], gates: int, rng: Rng) -> Floats:
    """Seconds (gates, 2, n) of both programs, by the number of the pull: batches between looks, in random order."""
    slots, begin = [], 0
    for before, n in zip([0, *looks], looks, strict=False):
        order = rng.permuted(np.tile(np.repeat([0, 1], n - before), (gates, 1)), axis=1)
        mine = np.argsort(order, axis=1, kind="stable").reshape(gates, 2, n - before)
        slots.append(begin + mine)
        begin += 2 * (n - before)
    when = np.concatenate(slots, axis=2).astype(np.float64)
    return np.stack([world.seconds(arm, when[:, arm], rng) for arm in range(2)], axis=1)


def many_gates(world: World, gates: int, seed: int, *, intersected: bool = False) -> Gates:
    """So many gates side by side; with intervals that are `intersected` over looks, as no gate does it, for
    comparison."""
    parts = [
        _some_gates(world, min(AT_A_TIME, gates - begin), [seed, begin], intersected=intersected)
        for begin in range(0, gates, AT_A_TIME)
    ]
    return Gates(*(np.concatenate([getattr(part, name) for part in parts]) for name in vars(parts[0])))


def _some_gates(world: World, gates: int, seed: list[int], *, intersected: bool = False) -> Gates:
    rng, policy = np.random.default_rng(seed), fresh()
    looks = looks_of(policy)
    seconds = drawn(world, looks, gates, rng)
    inner = SECONDS.inward(seconds)
    found, pulls = np.full(gates, int(Outcome.OPEN)), np.full(gates, 2 * looks[-1])
    left = np.arange(gates)
    best_low, best_high = np.full((gates, 2), -np.inf), np.full((gates, 2), np.inf)
    for n in looks:
        ordered = np.sort(inner[left, :, :n], axis=2)
        low, high = (read_rank(table[0, 0], n) for table in (policy.rule.low_ranks, policy.rule.high_ranks))
        lower, upper = ordered[:, :, low - 1], ordered[:, :, n - high]
        if intersected:
            best_low[left] = lower = np.maximum(best_low[left], lower)
            best_high[left] = upper = np.minimum(best_high[left], upper)
            left = left[(lower <= upper).all(axis=1)]  # an empty interval says that something is wrong: open for ever
            lower, upper = best_low[left], best_high[left]
        now = outcomes_of((lower[:, 1] - upper[:, 0])[:, None], (upper[:, 1] - lower[:, 0])[:, None], policy.accuracy)
        decided = now[:, 0] != Outcome.OPEN
        found[left[decided]], pulls[left[decided]] = now[decided, 0], 2 * n
        left = left[~decided]
    means = np.stack([row[:, : n // 2].mean(axis=1) for row, n in zip(seconds, pulls.tolist(), strict=True)])
    tool = [world.seconds(arm, np.tile(RUNS * arm + np.arange(RUNS, dtype=np.float64), (gates, 1)), rng).mean(axis=1)
            for arm in range(2)]  # fmt: skip
    above = 1.0 + TOLERANCE
    return Gates(found, pulls, means[:, 1] > above * means[:, 0], tool[1] > above * tool[0])


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
    seconds = drawn(world, looks_of(fresh()), gates, np.random.default_rng([seed, 0]))
    return all(one_gate(seconds[row]) == (found.outcomes[row], found.pulls[row]) for row in range(gates))


def main() -> list[Row]:
    heading(f"Gates of two programs: tolerance {TOLERANCE:.0%}, δ = {DELTA:.0%}, ε = 10 %, 2 % noise")
    print(
        "  | difference | machine | outliers | gates | worse | not worse | open | pulls (10, 50, 90 %) | "
        "means, same values | means, 10 then 10 |"
    )
    rows = []
    cases = [(0.0, name, 0.05, EQUAL) for name in DRIFTS] + [(0.0, "steady", 0.0, EQUAL)]
    cases += [(TOLERANCE, "steady", 0.05, EQUAL), (TOLERANCE, "steady", 0.0, EQUAL)]
    cases += [(0.05, name, 0.05, SLOWER) for name in DRIFTS] + [(0.05, "steady", 0.0, SLOWER)]
    for slowdown, name, outliers, count in cases:
        world, seed = World(DRIFTS[name], slowdown, outliers), round(1000 * slowdown)
        assert agree(world, CHECKED, seed), "the real policy finds something else"
        gates = many_gates(world, count, seed)
        quantiles = np.percentile(gates.pulls, [10, 50, 90]).astype(int).tolist()
        shown = [gates.count(each) for each in (Outcome.WORSE, Outcome.NOT_WORSE, Outcome.OPEN)]
        said = ["equal" if not slowdown else f"{slowdown:.0%} slower", name, f"{outliers:.0%}", f"{count:,}"]
        said += [*map(str, shown), ", ".join(map(str, quantiles))]
        said += [f"{gates.means_worse.mean():.1%}", f"{gates.tool_worse.mean():.1%}"]
        print(f"  | {' | '.join(said)} |", flush=True)
        if slowdown <= TOLERANCE:
            alarms = gates.count(Outcome.WORSE) / count
            what = f"{'equal programs' if not slowdown else 'slower by the tolerance'}, {name}, {outliers:.0%} outliers"
            rows.append(Row(f"false alarms / δ, {what}", alarms / DELTA, at_most=1.0, details=f"{count:,} gates"))
    return rows
