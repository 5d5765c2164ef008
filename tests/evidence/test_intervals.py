"""Intervals against intervals read off a sorted list, and what must hold whatever the sample."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, cached_property

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.special import betainc, betaln
from syrupy.assertion import SnapshotAssertion

from frontguard import Gaussian, Malicious, Oblivious, Prescient, Share, Subgaussian, Threat
from frontguard._common.typing import Floats
from frontguard.errors import BadInput
from frontguard.evidence.confidence_sequences import STEPS, STRENGTH, anytime_rank
from frontguard.evidence.intervals import (
    HIGH,
    HIGH_FLOOR,
    LOW,
    LOW_FLOOR,
    PLAIN_HIGH,
    PLAIN_LOW,
    REFUTED,
    checked_quantiles,
    interval_rule,
    refresh,
    unknown_intervals,
)
from frontguard.evidence.kinds import IntervalRule
from frontguard.evidence.quantiles import SHIFTS, UNSHIFTED_SHARE
from frontguard.evidence.samples import Samples, empty_table
from frontguard.theory.spread import CustomSpread, SpreadBound
from tests.support.snapshots import refused

LARGEST = 4096
NOTHING = (-math.inf, math.inf, -math.inf, math.inf, 0.0, -math.inf, math.inf)

Values = Sequence[float]
Sample = tuple[Values, int]  # what was observed so far, and how many pulls failed

# ---------------------------------------------------------------- the twin


@dataclass(frozen=True)
class Problem:
    """What an interval depends on, apart from the sample."""

    threat: Threat
    level: float = 0.5
    spread: SpreadBound | None = None
    arms: int = 1
    objectives: int = 1
    delta: float = 0.1
    t_bar: float = 0.49
    largest: int = LARGEST

    @cached_property
    def rule(self) -> IntervalRule:
        return interval_rule(
            self.threat,
            arms=self.arms,
            objectives=self.objectives,
            delta=self.delta,
            spread=self.spread,
            t_bar=self.t_bar,
            quantiles=self.level,
            largest=self.largest,
        )


def survivors(threat: Threat, p: float) -> float:
    """The share of observations, at least, that chance leaves clean and with a property that p of the rewards have."""
    if isinstance(threat, Share):
        return p
    if isinstance(threat, Malicious):
        return max(0.0, p - threat.eps)
    return (1.0 - threat.eps) * p


def lost_afterwards(threat: Threat, n: int) -> int:
    """How many of n observations, whichever, an attacker takes when all are there; ε as it is written."""
    return math.floor(Fraction(str(threat.eps)) * n) if isinstance(threat, Share) else 0


def shifts_of(problem: Problem) -> list[tuple[float, float, float]]:
    """(t, R(t), weight) for each shift in use."""
    if problem.spread is None or problem.level != 0.5:
        return [(0.0, 0.0, 1.0)]
    eps = problem.threat.eps
    h = eps if isinstance(problem.threat, (Malicious, Share)) else eps / (2.0 * (1.0 - eps))
    parts = UNSHIFTED_SHARE + len(SHIFTS)
    shifted = [h + f * (problem.t_bar - h) for f in SHIFTS]
    return [(0.0, 0.0, UNSHIFTED_SHARE / parts), *((t, problem.spread(t), 1.0 / parts) for t in shifted)]


@cache
def tabulated_rank(n: int, probability: float, delta: float, largest: int) -> int:
    """The anytime rank at the largest tabulated size that is not above n: sizes are (j / STEPS)², rounded up."""
    j = math.isqrt(STEPS**2 * min(n, largest))
    return anytime_rank(math.ceil(j * j / STEPS**2), probability, delta)


def order_statistics(values: Values, failed: int) -> tuple[list[float], list[float]]:
    """The sample from below and from above; failed pulls may have been anything, so they come first in both."""
    return [-math.inf] * failed + sorted(values), [math.inf] * failed + sorted(values, reverse=True)


def bounds_of_shift(problem: Problem, sample: Sample, shift: tuple[float, float, float]) -> tuple[float, float]:
    """L_t and H_t at one n."""
    (t, cost, part), n = shift, len(sample[0]) + sample[1]
    from_below, from_above = order_statistics(*sample)
    share = part * problem.delta / (2 * problem.arms * problem.objectives)
    low = tabulated_rank(n, survivors(problem.threat, problem.level + t), share, problem.largest)
    high = tabulated_rank(n, survivors(problem.threat, 1.0 - problem.level + t), share, problem.largest)
    low, high = (rank - lost_afterwards(problem.threat, n) for rank in (low, high))
    return (
        from_below[low - 1] - cost if low >= 1 else -math.inf,
        from_above[high - 1] + cost if high >= 1 else math.inf,
    )


def evidence(n: int, k: Floats, p: float) -> Floats:
    """M_n(k): the mean over θ ~ Beta(a, a), truncated to [0, p], of the likelihood ratio of θ to p; 0 from np on."""
    if not 0.0 < p < 1.0:
        return np.zeros(len(k))
    a, few = STRENGTH / 2.0, np.minimum(k, p * n)
    log_ratio = betaln(a + few, a + n - few) - betaln(a, a) - few * math.log(p) - (n - few) * math.log1p(-p)
    found: Floats = np.where(
        k < p * n, np.exp(np.minimum(log_ratio, 600.0)) * betainc(a + few, a + n - few, p) / betainc(a, a, p), 0.0
    )
    return found


def averaged_low(problem: Problem, sample: Sample) -> float:
    """The end of the x that are refuted by the mean of all shifts' evidence: tried at every point at which it falls."""
    observed = np.array(order_statistics(*sample)[0])
    n, share = len(observed), problem.delta / (2 * problem.arms * problem.objectives)
    lost = lost_afterwards(problem.threat, n)
    shifts = shifts_of(problem)
    points = np.unique(np.concatenate([[-math.inf], *(observed - cost for _, cost, _ in shifts)]))
    mean = np.zeros(len(points))
    for t, cost, weight in shifts:
        counts = np.searchsorted(observed - cost, points, side="right") + lost
        mean += weight * evidence(n, counts.astype(float), survivors(problem.threat, 0.5 + t))
    return float(points[mean < (1.0 + 1e-9) / share][0])


def averaged_bounds(problem: Problem, sample: Sample) -> tuple[float, float]:
    """The interval that all shifts leave together; the upper end is the lower one of the mirrored sample."""
    values, failed = sample
    if problem.spread is None or problem.level != 0.5 or not values:
        return -math.inf, math.inf
    return averaged_low(problem, sample), -averaged_low(problem, ([-x for x in values], failed))


def floors_of_shift(problem: Problem, sample: Sample, shift: tuple[float, float, float]) -> tuple[float, float]:
    """What L_t and H_t tend to if the sample goes on like this: the order statistics at the shares that survive."""
    (t, cost, _), n = shift, len(sample[0]) + sample[1]
    from_below, from_above = order_statistics(*sample)
    low = math.ceil(survivors(problem.threat, problem.level + t) * n)
    high = math.ceil(survivors(problem.threat, 1.0 - problem.level + t) * n)
    low, high = (rank - lost_afterwards(problem.threat, n) for rank in (low, high))
    return (
        from_below[low - 1] - cost if low >= 1 else -math.inf,
        from_above[high - 1] + cost if high >= 1 else math.inf,
    )


def naive_estimate(problem: Problem, values: Values) -> float:
    """The quantile of the sample; the mean of both values that it lies between."""
    ordered, middle = sorted(values), problem.level * (len(values) - 1)
    return 0.5 * ordered[math.floor(middle)] + 0.5 * ordered[math.ceil(middle)]


def naive_interval(problem: Problem, history: Sequence[Sample]) -> tuple[float, ...]:
    """The interval after looking at every sample of a history, the last of which is the whole one."""
    plain, *shifted = shifts_of(problem)
    low, high, plain_low, plain_high, refuted = -math.inf, math.inf, -math.inf, math.inf, 0
    for sample in history:
        bounds = [bounds_of_shift(problem, sample, shift) for shift in (plain, *shifted)]
        plain_low, plain_high = max(plain_low, bounds[0][0]), min(plain_high, bounds[0][1])
        if refuted == 0:
            bounds.append(averaged_bounds(problem, sample))
            low, high = max(low, *(L for L, _ in bounds)), min(high, *(H for _, H in bounds))
        outside = bool(sample[0]) and not plain_low <= naive_estimate(problem, sample[0]) <= plain_high
        if refuted == 2 or plain_low > plain_high or outside:  # the data contradict the threat model, or one law
            refuted, low, high = 2, -math.inf, math.inf
        elif refuted == 1 or low > high:  # R contradicts the data: go on without it
            refuted, low, high = 1, plain_low, plain_high
    used = {0: [plain, *shifted], 1: [plain], 2: []}[refuted]
    floors = [floors_of_shift(problem, history[-1], shift) for shift in used]
    low_floor, high_floor = max([low, *(L for L, _ in floors)]), min([high, *(H for _, H in floors)])
    return low, high, low_floor, high_floor, float(refuted), plain_low, plain_high


# ---------------------------------------------------------------- the real one


def real_interval(
    rule: IntervalRule, values: Values, failed: int = 0, before: Floats | None = None, objective: int = 0
) -> Floats:
    """The interval after these values in any order, which lie sorted somewhere in a pool of other things.

    By the kernel that policies call: one of its own would have to be compiled.
    """
    intervals, table = unknown_intervals(1, len(rule.quantiles)), empty_table(len(rule.quantiles))
    if before is not None:
        intervals[0, : len(NOTHING), objective] = before
    table["start"][objective], table["count"][objective] = 5, len(values)
    pool = np.concatenate([np.full(5, np.nan), np.sort(np.asarray(values, np.float64)), np.full(3, np.nan)])
    refresh(intervals, 0, Samples(pool, pool, table), len(values) + failed, rule)
    return intervals[0, : len(NOTHING), objective].copy()


THREATS = st.one_of(
    st.sampled_from([0.0, 0.05, 0.2, 0.4]).map(Oblivious),
    st.sampled_from([0.0, 0.1, 0.3]).map(Prescient),
    st.sampled_from([0.0, 0.05, 0.1, 0.3, 0.45]).map(Malicious),
    st.sampled_from([0.0, 0.05, 0.1, 0.29, 0.45]).map(Share),
)
BOUNDS = st.sampled_from([None, Gaussian(1.0), Subgaussian(0.3), CustomSpread(lambda t: 0.0 if t < 0.3 else 2.0)])
PROBLEMS = st.builds(
    Problem,
    threat=THREATS,
    level=st.sampled_from([0.5, 0.5, 0.9, 0.05, 0.37]),
    spread=BOUNDS,
    arms=st.sampled_from([1, 16]),
    objectives=st.sampled_from([1, 3]),
    delta=st.sampled_from([0.1, 0.5]),
    t_bar=st.sampled_from([0.49, 0.47]),
)


def draw(seed: int, size: int, kind: str = "continuous") -> list[float]:
    rng = np.random.default_rng(seed)
    values = rng.standard_cauchy(size)
    if kind == "ties":
        values = rng.integers(0, 4, size).astype(float)
    elif kind == "huge":
        values = rng.choice([-1e300, 0.0, 1.0, 1e300], size)
    elif kind == "drifting":  # no law has such samples: intervals contradict themselves
        values += np.linspace(0.0, 500.0, size)
    return [float(x) for x in values]


KINDS = st.sampled_from(["continuous", "ties", "huge", "drifting"])
SEEDS = st.integers(0, 10**6)


@given(problem=PROBLEMS, size=st.integers(0, 600), failed=st.integers(0, 60), kind=KINDS, seed=SEEDS)
def test_a_box_is_that_of_a_sorted_list(problem: Problem, size: int, failed: int, kind: str, seed: int) -> None:
    values = draw(seed, size, kind)
    assert tuple(real_interval(problem.rule, values, failed)) == naive_interval(problem, [(values, failed)])


@given(problem=PROBLEMS, sizes=st.lists(st.integers(1, 90), min_size=2, max_size=5), kind=KINDS, seed=SEEDS)
def test_boxes_are_intersected_over_time(problem: Problem, sizes: list[int], kind: str, seed: int) -> None:
    values = draw(seed, sum(sizes), kind)
    rng = np.random.default_rng(seed + 1)
    interval = np.array(NOTHING)
    history: list[Sample] = []
    n = failed = 0
    for size in sizes:
        n += size
        failed += int(rng.integers(0, 3))
        history.append((values[:n], failed))
        interval = real_interval(problem.rule, values[:n], failed, before=interval)
        assert tuple(interval) == naive_interval(problem, history)


def test_a_refuted_bound_is_given_up_for_good() -> None:
    """R = 1/100 for a sample a hundred times wider: the plain interval takes over, past and future."""
    problem = Problem(Malicious(0.1), spread=Gaussian(0.01))
    without = replace(problem, spread=None)
    early, late = draw(1, 40), draw(1, 400)
    interval = real_interval(problem.rule, late, before=real_interval(problem.rule, early))
    assert interval[REFUTED] == 1.0
    assert interval[[LOW, HIGH]].tolist() == interval[[PLAIN_LOW, PLAIN_HIGH]].tolist()
    # Its share of δ was fixed beforehand, so the plain interval is a little wider than one that never had an R.
    alone = real_interval(without.rule, late, before=real_interval(without.rule, early))
    assert interval[LOW] <= alone[LOW] < alone[HIGH] <= interval[HIGH]
    assert real_interval(problem.rule, late * 2, before=interval)[REFUTED] == 1.0
    assert real_interval(replace(problem, spread=Gaussian(10.0)).rule, late)[REFUTED] == 0.0


def test_a_sample_that_no_threat_model_allows_leaves_nothing_known() -> None:
    rule = Problem(Prescient(0.1)).rule
    interval = real_interval(rule, [0.0] * 200)
    assert interval[[LOW, HIGH]].tolist() == [0.0, 0.0]
    interval = real_interval(rule, [0.0] * 200 + [4.0] * 2000, before=interval)
    assert interval[[PLAIN_LOW, PLAIN_HIGH]].tolist() == [4.0, 0.0]
    assert interval[:5].tolist() == [-math.inf, math.inf, -math.inf, math.inf, 2.0]


@given(problem=PROBLEMS, size=st.integers(0, 300), failed=st.integers(1, 40), kind=KINDS, seed=SEEDS)
def test_failed_pulls_may_have_been_anything(problem: Problem, size: int, failed: int, kind: str, seed: int) -> None:
    """Whatever values stood in their place, the interval would lie within; and the worst of them make it that
    interval."""
    rng = np.random.default_rng(seed)
    values = draw(seed, size, kind)
    rule = problem.rule
    honest = real_interval(rule, values, failed)
    for guess in (
        rng.normal(size=failed),
        np.full(failed, -1e9),
        np.full(failed, 1e9),
        rng.choice(values or [0.0], failed),
    ):
        imputed = real_interval(rule, [*values, *(float(x) for x in guess)])
        comparable = [PLAIN_LOW] if imputed[REFUTED] else [LOW, LOW_FLOOR, PLAIN_LOW]
        assert np.all(honest[comparable] <= imputed[comparable])
        comparable = [PLAIN_HIGH] if imputed[REFUTED] else [HIGH, HIGH_FLOOR, PLAIN_HIGH]
        assert np.all(honest[comparable] >= imputed[comparable])
    assert honest[PLAIN_LOW] == real_interval(rule, [*values, *[-math.inf] * failed])[PLAIN_LOW]
    assert honest[PLAIN_HIGH] == real_interval(rule, [*values, *[math.inf] * failed])[PLAIN_HIGH]


def test_failed_pulls_count() -> None:
    """Ten failures among a hundred: the rank is that of a hundred, ten of them are spent."""
    rule = interval_rule(Prescient(0.0), arms=1, objectives=1, delta=0.02)
    assert anytime_rank(100, 0.5, 0.01) == 33
    values = list(range(1, 91))
    assert real_interval(rule, values, failed=10)[:2].tolist() == [23.0, 68.0]
    assert real_interval(rule, [], failed=100).tolist() == list(NOTHING)
    assert real_interval(rule, list(range(1, 69)), failed=32)[:2].tolist() == [1.0, 68.0]
    assert real_interval(rule, list(range(1, 68)), failed=33)[:2].tolist() == [-math.inf, math.inf]


@given(problem=PROBLEMS, size=st.integers(0, 300), kind=KINDS, seed=SEEDS)
def test_mirrored_samples_have_mirrored_boxes(problem: Problem, size: int, kind: str, seed: int) -> None:
    values = draw(seed, size, kind)
    mirrored = replace(problem, level=1.0 - problem.level)
    assume(1.0 - mirrored.level == problem.level)  # in floats too
    interval = real_interval(problem.rule, values)
    assert real_interval(mirrored.rule, [-x for x in values]).tolist() == [
        -interval[HIGH], -interval[LOW], -interval[HIGH_FLOOR], -interval[LOW_FLOOR], interval[REFUTED],
        -interval[PLAIN_HIGH], -interval[PLAIN_LOW]
    ]  # fmt: skip


def test_beyond_the_table_boxes_stay_valid() -> None:
    problem = Problem(Oblivious(0.1), largest=100)
    values = draw(1, 1000)
    interval = real_interval(problem.rule, values)
    assert tuple(interval) == naive_interval(problem, [(values, 0)])
    longer = real_interval(Problem(Oblivious(0.1), largest=1000).rule, values)
    assert interval[0] < longer[0] < longer[1] < interval[1]


# ---------------------------------------------------------------- the rule


def test_delta_is_shared_and_all_of_it_is_used() -> None:
    for problem in (Problem(Prescient(0.2)), Problem(Malicious(0.2), spread=Gaussian(1.0), arms=7, objectives=3)):
        assert math.isclose(sum(part for _, _, part in shifts_of(problem)), 1.0)
        assert problem.rule.low_ranks.shape[:2] == (problem.objectives, len(shifts_of(problem)))


def test_shifts_lie_between_h_and_t_bar_and_cost_r() -> None:
    rule = interval_rule(Malicious(0.2), arms=4, objectives=2, delta=0.1, spread=Gaussian(2.0), t_bar=0.45)
    for d in range(2):
        t = rule.low_keep[d] - 0.3  # keep(1/2 + t) = 1/2 + t − 0.2
        assert t[0] == pytest.approx(0.0, abs=1e-15)
        assert np.all((t[1:] > 0.2) & (t[1:] < 0.45))
        assert rule.costs[d, 0] == 0.0
        assert rule.costs[d, 1:] == pytest.approx([Gaussian(2.0)(float(x)) for x in t[1:]])
        assert np.array_equal(rule.low_keep[d], rule.high_keep[d])
        assert np.array_equal(rule.low_ranks[d], rule.high_ranks[d])


def test_a_bound_on_medians_says_nothing_about_other_quantiles() -> None:
    threat = Prescient(0.1)
    mixed = interval_rule(
        threat, arms=2, objectives=3, delta=0.1, spread=Gaussian(1.0), quantiles=[0.9, 0.5, 0.2], largest=LARGEST
    )
    alone = interval_rule(threat, arms=2, objectives=3, delta=0.1, quantiles=[0.9, 0.5, 0.2], largest=LARGEST)
    values = draw(3, 500)
    assert mixed.quantiles.tolist() == [0.9, 0.5, 0.2]
    for d, same in ((0, True), (1, False), (2, True)):
        intervals = [real_interval(rule, values, 3, objective=d).tolist() for rule in (mixed, alone)]
        assert (intervals[0] == intervals[1]) is same


@pytest.mark.parametrize("level", [0.1, 0.3])
def test_where_the_attacker_can_hide_everything_nothing_is_said(level: float) -> None:
    """Malicious at ε ≥ p: all rewards at or below the quantile may be gone, at any n, so its low end is −∞ for ever."""
    rule = Problem(Malicious(0.3), level).rule
    low, high, low_floor, high_floor = real_interval(rule, draw(5, 4000))[:4]
    assert low == low_floor == -math.inf
    assert math.isfinite(high)
    assert math.isfinite(high_floor)


def test_floors_are_where_boxes_end() -> None:
    """The quantiles that the attacker can make of a median, and the interval shrinks towards them from outside."""
    values = (np.arange(200_000) / 200_000).tolist()
    low, high, low_floor, high_floor = real_interval(Problem(Malicious(0.2), largest=2**18).rule, values)[:4]
    assert (low_floor, high_floor) == pytest.approx((0.3, 0.7), abs=1e-5)
    assert 0.29 < low < low_floor
    assert high_floor < high < 0.71


def test_large_shifts_speak_sooner() -> None:
    """At 40 % of replaced observations only the intervals with R are finite after twenty pulls."""
    values = draw(8, 20)
    without, with_r = (real_interval(Problem(Malicious(0.4), spread=r).rule, values) for r in (None, Gaussian(1.0)))
    assert without[:2].tolist() == [-math.inf, math.inf]
    assert np.isfinite(with_r[:2]).all()


@pytest.mark.parametrize(
    "wrong",
    [
        {"threat": 0.1},
        {"threat": "malicious"},
        {"arms": 0},
        {"arms": 2.0},
        {"objectives": 0},
        {"delta": 0.0},
        {"delta": 1.0},
        {"delta": math.nan},
        {"quantiles": 0.0},
        {"quantiles": [0.5, 1.0]},
        {"quantiles": math.nan},
        {"quantiles": [0.5, 0.5, 0.5]},
        {"quantiles": [[0.5, 0.5]]},
        {"spread": Gaussian(1.0), "t_bar": 0.5},
        {"spread": Gaussian(1.0), "t_bar": 0.1},
        {"spread": CustomSpread(lambda t: 1.0 - t)},
        {"spread": 3.0},
        {"largest": -1},
    ],
)
def test_bad_input_is_refused(wrong: dict[str, object], snapshot: SnapshotAssertion) -> None:
    given_: dict[str, object] = {"threat": Malicious(0.2), "arms": 3, "objectives": 2, "delta": 0.1} | wrong
    with refused(BadInput, snapshot):
        interval_rule(**given_)  # type: ignore[arg-type]


def test_quantiles_are_spread_over_objectives_and_not_shared_with_the_caller() -> None:
    given_ = np.array([0.5, 0.9])
    levels = checked_quantiles(given_, 2)
    levels[0] = 0.1
    assert given_[0] == 0.5
    assert checked_quantiles(0.25, 3).tolist() == [0.25, 0.25, 0.25]
