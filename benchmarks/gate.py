"""False alarms and detections of `frontguard gate` beside thresholds on means, on the same simulated measurements.

A program takes one unit of time, with a lognormal noise of 2 %; with probability 5 % a measurement is an outlier, one
to eleven times as long. The machine may drift: it grows slower by 20 % over the first 400 measurements, or swings by
10 % with a period of 200. A pull of either program meets the machine as it is at that moment; the order within a batch
is drawn at random, as studies do it. The gate has the default contamination of 10 %, a tolerance of 2 % and δ = 5 %.

What is beside it looks at means, as `pytest-benchmark --benchmark-compare-fail=mean:2%` and a threshold on hyperfine's
ratio do: (a) of the very values that the gate has measured, in random order; (b) of ten runs of the one program and
then ten of the other, as both tools measure them. FRONTGUARD_GATES says how many gates of each kind there are.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benchmarks.tables import Row, heading
from frontguard._common.typing import Floats, Ints
from frontguard.comparisons.gate import Outcome
from frontguard.objectives import Objective
from frontguard.policies.gate import Gatekeeper
from frontguard.theory.threats import Prescient

DELTA = 0.05
TOLERANCE = 0.02
SECONDS = Objective("seconds", "minimize", tolerance="2%")
MAX_PULLS = 1000
EQUAL, SLOWER = int(os.environ.get("FRONTGUARD_GATES", "10000")), 1000
RUNS = 10  # of hyperfine, by default at least

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

    def measure(self, arms: Ints, slots: Floats, rng: Rng) -> Floats:
        """Seconds (n,) of pulls of `arms` in these slots of the machine's time."""
        seconds = self.drift(slots) * (1.0 + self.slowdown * arms) * np.exp(rng.normal(0.0, self.noise, len(arms)))
        wild = rng.random(len(arms)) < self.outliers
        return np.asarray(np.where(wild, seconds * (1.0 + 10.0 * rng.random(len(arms))), seconds))


@dataclass(frozen=True)
class Ran:
    """A gate that came to its end: what it found, how many pulls it took, and what means say of the same values."""

    outcome: Outcome
    pulls: int
    means_worse: bool  # the mean of the candidate's values is above the threshold
    tool_worse: bool  # that of ten runs after ten runs of the baseline is


def fresh(max_pulls: int | None = MAX_PULLS) -> Gatekeeper:
    """A gate of two programs."""
    return Gatekeeper.for_objectives(2, [SECONDS], threat=Prescient(0.1), delta=DELTA, baseline=0, max_pulls=max_pulls)


def run_gate(world: World, rng: Rng, policy: Gatekeeper) -> Ran:
    """One gate, to its end."""
    slot, sums, counts = 0, np.zeros(2), np.zeros(2)
    while not policy.done:
        arms = rng.permutation(policy.ask())
        values = world.measure(arms, np.arange(slot, slot + len(arms), dtype=np.float64), rng)
        slot += len(arms)
        np.add.at(sums, arms, values)
        np.add.at(counts, arms, 1.0)
        policy.tell(arms, SECONDS.inward(values)[:, None])
    means = sums / counts
    one_after_another = world.measure(np.repeat([0, 1], RUNS), np.arange(2.0 * RUNS), rng).reshape(2, RUNS).mean(axis=1)
    above = 1.0 + TOLERANCE
    outcome = Outcome(int(policy.outcomes[1, 0]))
    return Ran(outcome, slot, bool(means[1] > above * means[0]),
               bool(one_after_another[1] > above * one_after_another[0]))  # fmt: skip


def run_gates(world: World, count: int, seed: int) -> list[Ran]:
    """Many gates of one kind."""
    policy = fresh()
    return [run_gate(world, np.random.default_rng([seed, run]), policy.fresh()) for run in range(count)]


def shares(gates: list[Ran]) -> tuple[dict[str, int], tuple[int, int, int]]:
    """How often each outcome came, and means called worse, the same values and ten after ten; pulls by quartiles."""
    counts = {outcome.word: sum(ran.outcome == outcome for ran in gates) for outcome in Outcome}
    counts["means"] = sum(ran.means_worse for ran in gates)
    counts["tool"] = sum(ran.tool_worse for ran in gates)
    low, middle, high = np.percentile([ran.pulls for ran in gates], [10, 50, 90]).astype(int).tolist()
    return counts, (low, middle, high)


def main() -> list[Row]:
    heading(f"Gates of two programs: tolerance {TOLERANCE:.0%}, δ = {DELTA:.0%}, ε = 10 %, 2 % noise, 5 % outliers")
    print("  | difference | machine | gates | worse | not worse | open | pulls (10, 50, 90 %) | means, same values | "
          "means, 10 then 10 |")  # fmt: skip
    rows = []
    for slowdown, count in ((0.0, EQUAL), (0.05, SLOWER)):
        for name, drift in DRIFTS.items():
            began = time.perf_counter()
            counts, pulls = shares(run_gates(World(drift, slowdown), count, seed=round(1000 * slowdown)))
            took = (time.perf_counter() - began) / count
            shown = [counts[each] for each in ("worse", "not worse", "open")]
            said = ["equal" if not slowdown else f"{slowdown:.0%} slower", name, f"{count:,}", *map(str, shown)]
            said += [", ".join(map(str, pulls)), f"{counts['means'] / count:.1%}", f"{counts['tool'] / count:.1%}"]
            print(f"  | {' | '.join(said)} |  ({1000 * took:.1f} ms each)", flush=True)
            if not slowdown:
                rows.append(
                    Row(f"false alarms / δ, equal programs, {name}", counts["worse"] / count / DELTA, at_most=1)
                )
    return rows
