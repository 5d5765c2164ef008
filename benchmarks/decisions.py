"""What one decision costs as arms grow: R-PSI's at most linearly, the certified policy's by those alive."""

from __future__ import annotations

import time

import numpy as np

from benchmarks.tables import Row, heading
from frontguard import RPSI, Certified, Oblivious, Subgaussian
from frontguard.evidence.intervals import DOUBT_HIGH, DOUBT_LOW, ESTIMATE, HIGH, HIGH_FLOOR, LOW, LOW_FLOOR
from frontguard.pareto.rule import decide
from frontguard.policies import rpsi


def seconds_per_decision(arms: int, objectives: int = 3, decisions: int = 400) -> float:
    """Mean cost of `decide` with all arms still in S: arms on a front that are too near each other to be decided."""
    rng = np.random.default_rng(1)
    angle = rng.uniform(0.0, 1.0, (arms, objectives))
    medians = angle / np.linalg.norm(angle, axis=1, keepdims=True) * 0.01
    policy = RPSI(arms, objectives, threat=Oblivious(0.1), spread=Subgaussian(0.2), accuracy=0.02)
    ring = policy.standing._replace(medians=medians)
    control = ring.control
    rpsi.decide_first(ring)
    assert control["undecided"][0] == arms
    fresh = [medians[i] + 1e-4 * rng.normal(size=objectives) for i in range(min(decisions, arms))]
    best = np.inf
    for _ in range(3):
        started = time.perf_counter()
        for _ in range(decisions):
            i = int(control["next"][0])
            rpsi.decide(ring, i, fresh[i % len(fresh)])
        best = min(best, (time.perf_counter() - started) / decisions)
    assert control["undecided"][0] == arms
    return float(best)


def certified_decision(arms: int, alive: int, objectives: int = 3) -> float:
    """Cost of `decide` with `arms` arms of which `alive` are not out: the others lie far below."""
    rng = np.random.default_rng(2)
    policy = Certified(arms, objectives, threat=Oblivious(0.1), accuracy=0.01)
    standing = policy.standing
    intervals, control = standing.intervals, standing.control
    on_front = rng.dirichlet(np.ones(objectives), arms)  # nobody dominates anybody
    centre = on_front - np.where(np.arange(arms) < alive, 0.0, 5.0)[:, None]
    width = 0.02
    intervals[:, LOW], intervals[:, HIGH] = centre - width, centre + width
    for column in (LOW_FLOOR, HIGH_FLOOR, ESTIMATE, DOUBT_LOW, DOUBT_HIGH):
        intervals[:, column] = centre
    standing.arms["pulls"] = 100
    decide(standing, policy.goal)
    assert control["alive"][0] == alive
    best = np.inf
    for _ in range(20):
        control["stop"] = 0
        started = time.perf_counter()
        decide(standing, policy.goal)
        best = min(best, time.perf_counter() - started)
    return float(best)


def main() -> list[Row]:
    heading("one decision of R-PSI, M = 3, all arms undecided: cost / cost with a tenth of the arms")
    seconds_per_decision(10)
    rows: list[Row] = []
    before = None
    for arms in (10, 100, 1000, 10_000):
        now = seconds_per_decision(arms)
        # Ten times the arms in ten times the time is linear; caches that no longer hold all records cost a little more.
        if before:
            what = f"a decision of R-PSI, K = {arms:,} / a tenth of it"
            rows.append(Row(what, now / before, at_most=13.0, details=f"{now * 1e6:.1f} µs"))
        before = now
    heading("one decision of the certified policy, M = 3, 200 arms alive: cost / cost with a tenth of the arms")
    before = None
    for arms in (1000, 10_000, 100_000):
        now = certified_decision(arms, 200)
        if before:
            what = f"a certified decision, 200 alive, K = {arms:,} / a tenth of it"
            rows.append(Row(what, now / before, at_most=1.5, details=f"{now * 1e3:.3f} ms"))
        before = now
    heading("the first decision of the certified policy, with everybody alive and on the front")
    before = None
    for arms in (1000, 4000):
        now = certified_decision(arms, arms)
        if before:
            what = f"the first certified decision, all on the front, K = {arms:,} / a quarter of it"
            rows.append(Row(what, now / before, details=f"{now * 1e3:.1f} ms"))
        before = now
    return rows
