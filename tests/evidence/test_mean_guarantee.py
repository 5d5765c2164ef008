"""The guarantee of intervals of means: under the worst attackers, no more than δ of all runs have one that ever
misses."""

from __future__ import annotations

import numpy as np
import pytest

from frontguard.evidence import means
from frontguard.evidence.intervals import PLAIN_HIGH, PLAIN_LOW, interval_rule, refresh, unknown_intervals
from frontguard.evidence.normals import normal_reach
from frontguard.evidence.samples import Samples, absorb, empty_pool, empty_table
from frontguard.evidence.statistics import statistics_of
from frontguard.theory.threats import Malicious, Prescient
from tests.support.guarantee import DELTA, Bools, Floats, lower_limit, upper_limit
from tests.support.mean_guarantee import (
    ATTACKERS,
    CELLS,
    MEAN,
    MeanCell,
    allowed,
    drawn,
    largest_wealth,
    missed_at_one_look,
)

QUICK_RUNS, QUICK_LENGTH = 600, 300
AUDIT_RUNS = 100_000
FEW = 8

in_every_cell = pytest.mark.parametrize("cell", CELLS, ids=str)


def refuted(missed: Bools) -> bool:
    """Whether the runs show, beyond reasonable doubt, that something misses in more than δ of all runs."""
    return lower_limit(int(missed.any(axis=1).sum()), len(missed)) > DELTA


def quick(cell: MeanCell) -> Floats:
    return largest_wealth(cell, QUICK_RUNS, seed=CELLS.index(cell), length=QUICK_LENGTH)


@in_every_cell
def test_boxes_of_means_hold_in_all_but_delta_of_the_runs(cell: MeanCell) -> None:
    assert not refuted(quick(cell) > allowed(cell))


SHARP = [cell for cell in CELLS if cell.law == "0/1, 0.5" or (cell.law == "0/1, 0.9" and cell.threat.taken == 0.0)]
"""Rates of which attacks leave what the model says; who may take half of what is rare waits for it at first."""


@pytest.mark.parametrize("cell", SHARP, ids=str)
def test_a_capital_that_is_enough_too_soon_is_caught(cell: MeanCell) -> None:
    """With 1/√δ' in place of 1/δ' the intervals miss too often."""
    assert refuted(quick(cell) > np.sqrt(allowed(cell)))


@pytest.mark.audit
@in_every_cell
def test_the_exact_upper_limit_of_missed_means_is_at_most_delta(cell: MeanCell) -> None:
    """With -s the rows of the table in docs/audit.md are printed."""
    missed = largest_wealth(cell, AUDIT_RUNS, seed=100 + CELLS.index(cell)) > allowed(cell)
    count = int(missed.any(axis=1).sum())
    limit = upper_limit(count, AUDIT_RUNS)
    print(f"\n| {cell} | {cell.threat.eps:g} | {count / AUDIT_RUNS:.2%} ({limit:.2%}) |")
    assert limit <= DELTA
    pushed = missed.reshape(-1, 2, 2)  # even runs are pushed down, odd ones up
    most = int(pushed.sum(axis=0).max())
    assert lower_limit(most, len(pushed)) <= DELTA / 2


@pytest.mark.parametrize("length", [20, 200])
@in_every_cell
def test_intervals_of_one_look_hold_in_all_but_delta_of_the_logs(cell: MeanCell, length: int) -> None:
    missed = missed_at_one_look(cell, 2000, seed=200 + CELLS.index(cell), length=length)
    assert not refuted(missed)


@pytest.mark.audit
@in_every_cell
def test_the_exact_upper_limit_of_one_look_is_at_most_delta(cell: MeanCell) -> None:
    """With -s the rows of the table in docs/audit.md are printed."""
    missed = missed_at_one_look(cell, AUDIT_RUNS, seed=300 + CELLS.index(cell), length=200)
    count = int(missed.any(axis=1).sum())
    limit = upper_limit(count, AUDIT_RUNS)
    print(f"\n| {cell} | {cell.threat.eps:g} | {count / AUDIT_RUNS:.2%} ({limit:.2%}) |")
    assert limit <= DELTA


def test_one_look_of_a_weaker_threat_or_a_larger_share_of_delta_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    malicious = MeanCell("malicious: worst case", "0/1, 0.5")
    assert refuted(missed_at_one_look(malicious, 2000, seed=7, length=200, believed=Prescient(malicious.eps)))
    clean = MeanCell("nobody", "0/1, 0.5")
    exact = means.highest_rate
    monkeypatch.setattr(means, "highest_rate", lambda ones, of, delta: exact(ones, of, 1.5 * delta))
    assert refuted(missed_at_one_look(clean, 2000, seed=8, length=200))


def test_constants_of_a_weaker_threat_are_caught() -> None:
    """Intervals made for independent hits, when they depend on the values."""
    cell = MeanCell("malicious: worst case", "0/1, 0.5")
    assert refuted(largest_wealth(cell, QUICK_RUNS, seed=5, believed=Prescient(cell.eps)) > allowed(cell))


def test_constants_of_a_probability_are_caught_where_any_share_is_replaced() -> None:
    cell = MeanCell("share: worst case", "0/1, 0.5")
    cell.__dict__["threat"] = ATTACKERS[cell.attacker](0.4)
    assert refuted(largest_wealth(cell, QUICK_RUNS, seed=6, believed=Malicious(0.4)) > allowed(cell))
    assert not refuted(largest_wealth(cell, QUICK_RUNS, seed=6) > allowed(cell))


def missed_by_intervals(cell: MeanCell, run: int, length: int, delta: float, seed: int) -> tuple[bool, bool]:
    """What the wealth tells of one run, by intervals that are refreshed at every pull."""
    atoms, down, up = drawn(cell, FEW, length, (seed, 0))
    pushed_up = run % 2 == 1
    hits, to = (up[run], 1.0) if pushed_up else (down[run], 0.0)
    observed = np.where(hits, to, cell.values[atoms[run]])
    rule = interval_rule(cell.threat, arms=1, objectives=1, delta=delta, statistics=statistics_of([MEAN]), largest=1)
    intervals, table, pool = unknown_intervals(1, 1), empty_table(1), empty_pool(1)
    for n in range(length):
        pool = absorb(pool, table, np.zeros(1, np.int64), observed[n : n + 1, None], True)
        refresh(intervals, 0, Samples(pool, np.empty(0), table), n + 1, rule)
    return bool(intervals[0, PLAIN_LOW, 0] > cell.mean), bool(intervals[0, PLAIN_HIGH, 0] < cell.mean)


@pytest.mark.parametrize("cell", [cell for cell in CELLS if "either" not in cell.attacker], ids=str)
def test_the_capital_sees_the_misses_that_boxes_see(cell: MeanCell) -> None:
    """With so large a δ that there is something to see, on the side that is under attack."""
    found = largest_wealth(cell, FEW, seed=9, length=120) > 1.0 / 0.45
    for run in range(FEW):
        sides = [run % 2 == 0] if cell.threat.eps > 0.0 else [False, True]
        intervals = missed_by_intervals(cell, run, 120, 0.9, 9)
        assert [found[run, int(side)] for side in sides] == [intervals[int(side)] for side in sides]


@pytest.mark.parametrize("runs", [600, pytest.param(20_000, marks=pytest.mark.audit)])
def test_means_of_a_known_deviation_stay_within_reach(runs: int) -> None:
    """Two-sided, at every number of pulls: normal values, and coins that are as far as σ allows."""
    rng, n = np.random.default_rng(3), np.arange(1, 1001)
    reach = n * np.array([normal_reach(float(k), 1.0, -np.log(DELTA)) for k in n])
    for name in ("normal", "coins"):
        missed = 0
        for _ in range(0, runs, 200):
            values = rng.normal(size=(200, 1000)) if name == "normal" else rng.choice([-1.0, 1.0], (200, 1000))
            missed += int((np.abs(np.cumsum(values, axis=1)) > reach).any(axis=1).sum())
        print(f"\n| known deviation | {name} | {missed / runs:.2%} ({upper_limit(missed, runs):.2%}) |")
        assert lower_limit(missed, runs) <= DELTA
        assert upper_limit(2 * missed, runs) > DELTA / 2  # and the boundary is not idle
