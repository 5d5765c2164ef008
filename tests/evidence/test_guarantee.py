"""The guarantee of intervals: under the worst attackers, no more than δ of all runs have one that ever misses the
truth."""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from scipy.stats import binomtest

from frontguard.evidence.confidence_sequences import read_rank
from frontguard.evidence.intervals import HIGH, LOW, REFUTED
from frontguard.simulation import adversaries as adv
from frontguard.simulation.streams import RewardSource, Streams
from frontguard.theory.threats import Prescient
from tests.evidence.test_intervals import real_interval
from tests.support.guarantee import (
    ATTACKERS,
    CELLS,
    DELTA,
    FAR,
    LAWS,
    LENGTH,
    SHARPEST,
    Bools,
    Cell,
    Ints,
    bolder,
    directions,
    find_average_misses,
    find_misses,
    lower_limit,
    read_ranks,
    upper_limit,
)

QUICK_RUNS = 600
AUDIT_RUNS = 100_000

in_every_cell = pytest.mark.parametrize("cell", CELLS, ids=str)
in_sharp_cells = pytest.mark.parametrize("cell", SHARPEST, ids=str)


def averaged(cell: Cell) -> bool:
    """Whether every objective has shifts, of which the mean decides."""
    return cell.with_spread and set(cell.levels) == {0.5}


@cache
def ranks_of(cell: Cell) -> Ints:
    return read_ranks(cell.rule)


def simulated(cell: Cell, runs: int, ranks: Ints) -> Bools:
    """What ranks miss; and, where these are the cell's own, what the mean of the shifts' evidence does."""
    seed = 1000 + CELLS.index(cell)
    missed = find_misses(cell, runs, seed=seed, ranks=ranks)
    if ranks is ranks_of(cell) and averaged(cell):
        by_mean = find_average_misses(cell, runs, seed=seed)
        assert np.all(by_mean >= missed)  # each shift by itself refutes no more
        return by_mean
    return missed


def refuted(misses: Bools) -> bool:
    """Whether the runs show, beyond reasonable doubt, that something misses in more than δ of all runs."""
    return lower_limit(int(misses.any(axis=(1, 2, 3)).sum()), len(misses)) > DELTA


def caught(misses: Callable[[int], Bools]) -> bool:
    """Whether some runs refute it, or as many as a test may take."""
    return any(refuted(misses(runs)) for runs in (QUICK_RUNS // 8, QUICK_RUNS))


@in_every_cell
def test_boxes_hold_in_all_but_delta_of_the_runs(cell: Cell) -> None:
    assert not refuted(simulated(cell, QUICK_RUNS // 4, ranks_of(cell)))


@pytest.mark.parametrize("cell", [cell for cell in SHARPEST if not averaged(cell)], ids=str)
def test_ranks_one_and_a_half_times_too_bold_are_caught(cell: Cell) -> None:
    bold = bolder(cell.rule, ranks_of(cell))
    assert np.all(bold >= ranks_of(cell))
    assert caught(lambda runs: simulated(cell, runs, bold))


@pytest.mark.parametrize(
    "cell", [cell for cell in SHARPEST if averaged(cell) and not cell.attacker.startswith("share")], ids=str
)
def test_averages_at_six_times_their_delta_are_caught(cell: Cell) -> None:
    """Attacks on one side miss there only, with half of δ; six times that is more than the slack of all of it.

    Not where any share is replaced: ranks less ⌊εn⌋ leave so much to spare that nothing is missed at six times δ.
    """
    seed = 1000 + CELLS.index(cell)
    assert caught(lambda runs: find_average_misses(cell, runs, seed=seed, bolder=6.0))


@pytest.mark.audit
@in_every_cell
def test_the_exact_upper_limit_of_misses_is_at_most_delta(cell: Cell) -> None:
    """With -s the rows of the table in docs/audit.md are printed."""
    misses = simulated(cell, AUDIT_RUNS, ranks_of(cell))
    missed = int(misses.any(axis=(1, 2, 3)).sum())
    limit = upper_limit(missed, AUDIT_RUNS)
    print(f"\n| {cell} | {cell.eps:g} | {missed / AUDIT_RUNS:.3%} | {limit:.3%} |")
    assert limit <= DELTA
    by_arm = misses.reshape(-1, 2, *misses.shape[2:])  # where intervals are of one arm, runs take two in turn
    most = int(by_arm.sum(axis=0).max())
    assert lower_limit(most, len(by_arm)) <= DELTA / misses[0].size  # the share of δ that each side of an interval has


def test_constants_of_a_weaker_threat_are_caught() -> None:
    """Intervals made for a prescient attacker, when hits depend on the rewards."""
    attacked, weaker = Cell("malicious: worst case", "Gaussian"), Cell("prescient: worst case", "Gaussian")
    assert refuted(simulated(attacked, QUICK_RUNS, ranks_of(weaker)))


def test_constants_of_a_probability_are_caught_where_any_share_is_replaced() -> None:
    """Intervals for an attacker that hits each measurement with probability ε, when it may hit any ε of them."""
    attacked, weaker = (Cell(f"{name}: worst case", "Gaussian") for name in ("share", "malicious"))
    for cell in (attacked, weaker):  # the more is taken, the less chance is left of what malicious hits leave to it
        cell.__dict__["adversary"] = ATTACKERS[cell.attacker](cell.environment, 0.4, cell.levels)
    assert refuted(find_misses(attacked, QUICK_RUNS, seed=6, ranks=read_ranks(weaker.rule)))
    assert not refuted(find_misses(attacked, QUICK_RUNS, seed=6, ranks=read_ranks(attacked.rule)))


def test_a_spread_bound_that_is_too_small_is_caught() -> None:
    cell = Cell("malicious: worst case", "Cauchy", with_spread=True)
    narrow = Cell("malicious: worst case", "Cauchy", with_spread=True)
    narrow.__dict__["rule"] = cell.rule._replace(costs=0.8 * cell.rule.costs)
    assert refuted(find_misses(narrow, QUICK_RUNS, seed=5))


# ---------------------------------------------------------------- that the cells are what they claim to be


@in_sharp_cells
def test_attacks_leave_no_more_than_the_model_does(cell: Cell) -> None:
    """On the side under attack the counts are Binomial(n, keep), less what may be taken: no attacker can do worse."""
    streams = Streams(RewardSource(cell.environment, cell.adversary), seed=7)
    left, right = cell.ends
    for arm, d in np.ndindex(*left.shape):
        values = streams.blocks(arm, 800)[0][:, d]
        up = directions(cell.environment)[arm, d] > 0
        counts = {"low": (values <= left[arm, d]).sum(), "high": (values >= right[arm, d]).sum()}
        keeps = {"low": cell.rule.low_keep[d, 0], "high": cell.rule.high_keep[d, 0]}
        for side in ("low", "high") if "either" in cell.attacker else ("low",) if up else ("high",):
            clean = int(counts[side]) + int(cell.rule.taken[d] * len(values))
            assert binomtest(clean, len(values), float(keeps[side])).pvalue > 1e-5


def missed_by_intervals(cell: Cell, ranks: Ints, seed: int) -> Bools:
    """What `find_misses` tells of its first run, by intervals read off sorted observations."""
    length = ranks.shape[-1] - 1
    streams = Streams(RewardSource(cell.environment, cell.adversary), seed)
    left, right = cell.ends
    missed = np.zeros((cell.arms, len(cell.levels), 2), np.bool_)
    for arm in range(cell.arms):
        observed = streams.take(arm, length)
        for d in range(len(cell.levels)):
            ordered: list[float] = []
            low, high = -np.inf, np.inf
            for n, value in enumerate(observed[:, d].tolist(), start=1):
                insort(ordered, value)
                for s, cost in enumerate(cell.rule.costs[d]):
                    from_below, from_above = ranks[0, d, s, n], ranks[1, d, s, n]
                    if from_below >= 1:
                        low = max(low, ordered[from_below - 1] - cost)
                    if from_above >= 1:
                        high = min(high, ordered[n - from_above] + cost)
            missed[arm, d] = low > left[arm, d], high < right[arm, d]
    return missed


@pytest.mark.parametrize("cell", [c for c in CELLS if averaged(c) and "either" not in c.attacker], ids=str)
def test_averages_see_the_misses_that_boxes_see(cell: Cell) -> None:
    """Intervals at every n, at a δ' of a half, so that there is something to see."""
    rule = cell.rule._replace(thresholds=np.full(1, np.log(2.0)))
    left, right = cell.ends
    for seed in range(2):
        observed = Streams(RewardSource(cell.environment, cell.adversary), seed).take(0, 80)[:, 0].tolist()
        intervals = np.array([real_interval(rule, observed[:n]) for n in range(1, 81)])
        # So bold an interval may become empty, and then goes on without R: what it misses until then is compared.
        length = next(iter(np.flatnonzero(intervals[:, REFUTED]).tolist()), len(intervals))
        assert length > 20
        intervals = intervals[:length]
        missed = find_average_misses(cell, 1, seed=seed, length=length, bolder=0.5 / (DELTA / 2))[0, 0, 0]
        assert missed.tolist() == [intervals[:, LOW].max() > left[0, 0], intervals[:, HIGH].min() < right[0, 0]]


@pytest.mark.parametrize("cell", [cell for cell in CELLS if "either" not in cell.attacker], ids=str)
def test_counting_sees_the_misses_that_boxes_see(cell: Cell) -> None:
    ranks = read_ranks(cell.rule, 200)
    bold = bolder(cell.rule, ranks, factor=3.0)  # so that there is something to see
    for seed in range(4):
        for given in (ranks, bold):
            assert np.array_equal(
                find_misses(cell, 1, seed=seed, ranks=given)[0], missed_by_intervals(cell, given, seed)
            )


def test_a_miss_late_in_a_run_is_seen() -> None:
    """Ranks that are out of reach at one n and not before, wherever in its block that lies."""
    cell = Cell("oblivious: constant", "Gaussian")
    for late in (1, 64, 65, 5_000, LENGTH - 1, LENGTH):
        ranks = np.zeros((2, 1, 1, LENGTH + 1), np.int64)
        ranks[0, ..., late:] = late + 1
        low, high = find_misses(cell, 1, seed=0, ranks=ranks)[0, 0, 0]
        assert low
        assert not high


def test_either_side_misses_where_one_of_two_one_sided_attacks_does() -> None:
    """The attacker that decides afterwards, against both of its choices played out on the same rewards and hits."""
    found = 0
    for law in LAWS:
        both = Cell("prescient: either side", law)
        ranks = bolder(both.rule, read_ranks(both.rule, 300))
        environment = both.environment
        for seed in range(20):
            missed = find_misses(both, 1, seed=seed, ranks=ranks, length=300)[0, 0, 0]
            for side, way in enumerate((FAR, -FAR)):
                pushed = Cell("prescient: either side", law)
                pushed.__dict__["adversary"] = adv.strongest(
                    environment, Prescient(both.eps), np.full(2, np.sign(way)), distance=FAR
                )
                alone = find_misses(pushed, 1, seed=seed, ranks=ranks, length=300)[0, 0, 0]
                assert missed[side] == alone[side]
                found += int(alone[side])
    assert found > 0


def test_ranks_are_those_that_boxes_read() -> None:
    cell = Cell("malicious: worst case", "Gaussian", (0.9,))
    ranks = ranks_of(cell)
    assert ranks.shape == (2, 1, 1, LENGTH + 1)
    assert ranks[0, 0, 0, 777] == read_rank(cell.rule.low_ranks[0, 0], 777)
    assert ranks[1, 0, 0, LENGTH] == read_rank(cell.rule.high_ranks[0, 0], LENGTH)
    assert np.all(np.diff(ranks) >= 0)


def test_limits_are_exact() -> None:
    for count, runs in ((0, 50), (3, 50), (50, 50), (9_500, 100_000)):
        exact = binomtest(count, runs).proportion_ci(0.998, method="exact")  # two-sided: half of the rest on each side
        assert lower_limit(count, runs) == pytest.approx(exact.low, rel=1e-9)
        assert upper_limit(count, runs) == pytest.approx(exact.high, rel=1e-9)
