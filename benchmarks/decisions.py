"""What one decision of R-PSI costs as the number of arms grows: it must grow at most linearly."""

from __future__ import annotations

import time

import numpy as np

from benchmarks.tables import Row, heading
from frontguard import RPSI, Oblivious, Subgaussian
from frontguard.policies import rpsi


def seconds_per_decision(arms: int, objectives: int = 3, decisions: int = 400) -> float:
    """Mean cost of `decide` with all arms still in S: arms on a front that are too near each other to be decided."""
    rng = np.random.default_rng(1)
    angle = rng.uniform(0.0, 1.0, (arms, objectives))
    medians = angle / np.linalg.norm(angle, axis=1, keepdims=True) * 0.01
    policy = RPSI(arms, objectives, threat=Oblivious(0.1), spread=Subgaussian(0.2), accuracy=0.02)
    table, control = policy._table, policy._control
    rpsi.decide_first(table, medians, control, policy.phase_widths)
    assert control["undecided"][0] == arms
    fresh = [medians[i] + 1e-4 * rng.normal(size=objectives) for i in range(min(decisions, arms))]
    best = np.inf
    for _ in range(3):
        started = time.perf_counter()
        for _ in range(decisions):
            i = int(control["next"][0])
            rpsi.decide(table, medians, control, policy.phase_widths, i, fresh[i % len(fresh)])
        best = min(best, (time.perf_counter() - started) / decisions)
    assert control["undecided"][0] == arms
    return float(best)


def main() -> list[Row]:
    heading("one decision of R-PSI, M = 3, all arms undecided: cost / cost with a tenth of the arms")
    seconds_per_decision(10)
    rows: list[Row] = []
    before = None
    for arms in (10, 100, 1000, 10_000):
        now = seconds_per_decision(arms)
        what = f"K = {arms:,}: {now * 1e6:.1f} µs"
        # Ten times the arms in ten times the time is linear; caches that no longer hold all records cost a little more.
        rows.append(Row(what, now / before, at_most=13.0) if before else Row(what, 1.0))
        before = now
    return rows
