"""The paper's bounds: against high precision, each other, their limits, and simulated attackers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath as mp  # type: ignore[import-untyped]
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from syrupy.assertion import SnapshotAssertion

from frontguard.theory import bounds
from frontguard.theory.schedule import Schedule
from frontguard.theory.spread import Gaussian, LinearAroundMedian, SpreadBound, Subgaussian, Uniform
from frontguard.theory.threats import Malicious, Oblivious, Prescient, Share, Threat
from tests.support.snapshots import refused

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

MODELS: list[type[Threat]] = [Oblivious, Prescient, Malicious]


def threats(t_bar: float = 0.49) -> st.SearchStrategy[Threat]:
    return st.builds(
        lambda model, share: model(share * model(0.0).largest_eps(t_bar)),
        st.sampled_from(MODELS),
        st.floats(0.0, 0.95),
    )


def schedules(spreads: st.SearchStrategy[SpreadBound]) -> st.SearchStrategy[Schedule]:
    """Problems of all sizes and confidences: the paper's "large M, K, small δ" must not be needed."""
    return st.builds(
        Schedule,
        threats(),
        spreads,
        st.integers(1, 30),
        st.integers(1, 6),
        st.floats(1e-6, 0.999999),
        st.just(0.49),
    )


subgaussian = st.floats(0.05, 5.0).map(Subgaussian)
linear = st.builds(LinearAroundMedian, st.floats(0.5, 20.0), st.floats(0.05, 2.0))


# Lemmas 1 and 2.


def test_lemmas_by_hand() -> None:
    # 2 (0.25 − 0.125)⁻² log(2/δ) with δ = 2 e⁻³: 128 · 3 exactly; rounding may add one.
    assert bounds.pulls_required(Oblivious(0.2), 2.0 * math.exp(-3.0), 0.25) in (384, 385)
    # 2 (0.4 − 0.15)⁻² log(3/δ) with δ = 3 e⁻⁵ ≈ 0.02: 32 · 5.
    assert bounds.pulls_required(Malicious(0.15), 3.0 * math.exp(-5.0), 0.4) in (160, 161)
    # level 0.15 + √(2 · 5 / 4000) = 0.2
    deviation = bounds.median_deviation(Uniform(3.0), Malicious(0.15), 4000, 3.0 * math.exp(-5.0), 0.4)
    assert deviation == pytest.approx(0.6, rel=1e-12)


@pytest.mark.parametrize("threat", [Oblivious(0.0), Prescient(0.3), Malicious(0.0), Malicious(0.3)])
def test_lemmas_with_high_precision(threat: Threat) -> None:
    with mp.workdps(30):
        eps, parts = mp.mpf(threat.eps), 3 if isinstance(threat, Malicious) else 2
        h = eps if parts == 3 else eps / (2 * (1 - eps))
        log = mp.log(parts / mp.mpf(0.01))
        assert bounds.pulls_required(threat, 0.01) == int(mp.ceil(2 * log / (mp.mpf(0.49) - h) ** 2))
        level = h + mp.sqrt(2 * log / 5000)
        quantile = mp.sqrt(2) * mp.erfinv(2 * level)  # Φ⁻¹(1/2 + level)
        assert bounds.median_deviation(Gaussian(0.7), threat, 5000, 0.01) == pytest.approx(
            float(mp.mpf(0.7) * quantile), rel=1e-9
        )


@given(threat=threats(), delta=st.floats(1e-9, 0.999))
def test_fewer_pulls_than_required_are_refused(threat: Threat, delta: float) -> None:
    least = bounds.pulls_required(threat, delta)
    widest = bounds.median_deviation(Uniform(1.0), threat, least, delta)
    assert widest == pytest.approx(0.49, abs=0.49 - threat.shift)
    assert widest <= 0.49
    if least > 1:
        with pytest.raises(ValueError) as caught:  # noqa: PT011
            bounds.median_deviation(Uniform(1.0), threat, least - 1, delta)
        assert str(least) in str(caught.value)
        # One pull fewer and the lemma would ask R beyond t̄.
        log = math.log(threat.confidence_parts / delta)
        assert threat.shift + math.sqrt(2.0 * log / (least - 1)) > 0.49 - 1e-12


@given(threat=threats(), delta=st.floats(1e-6, 0.9), factor=st.floats(1.0, 50.0))
def test_deviation_shrinks_with_pulls_and_grows_with_confidence(threat: Threat, delta: float, factor: float) -> None:
    n = bounds.pulls_required(threat, delta / 10.0)
    near = bounds.median_deviation(Gaussian(1.0), threat, math.ceil(n * factor), delta)
    far = bounds.median_deviation(Gaussian(1.0), threat, n, delta)
    assert bounds.unavoidable_bias(Gaussian(1.0), threat) <= near <= far
    assert far <= bounds.median_deviation(Gaussian(1.0), threat, n, delta / 10.0)


@pytest.mark.parametrize("model", MODELS)
def test_deviation_tends_to_the_unavoidable_bias(model: type[Threat]) -> None:
    threat = model(0.2)
    bias = bounds.unavoidable_bias(Gaussian(2.0), threat)
    assert bias == pytest.approx(2.0 * stats.norm.ppf(0.5 + threat.shift), rel=1e-12)
    assert bounds.median_deviation(Gaussian(2.0), threat, 10**14, 0.05) == pytest.approx(bias, rel=1e-5)
    assert bounds.unavoidable_bias(Gaussian(2.0), model(0.0)) == 0.0


def test_pulls_diverge_as_h_approaches_t_bar(snapshot: SnapshotAssertion) -> None:
    for model in MODELS:
        limit = model(0.0).largest_eps(0.4)
        few, many = (bounds.pulls_required(model(limit * (1 - gap)), 0.1, 0.4) for gap in (1e-3, 1e-5))
        assert many / few == pytest.approx(1e4, rel=0.02)
        with refused(ValueError, snapshot):
            bounds.pulls_required(model(limit), 0.1, 0.4)
        with refused(ValueError, snapshot):
            bounds.pulls_required(model(limit * (1 - 1e-12)), 0.1, 0.4)


# The lemmas against attackers. A reward is Q(level) with a uniform level; attackers look at the level.

Attack = Callable[[np.random.Generator, Floats, float], tuple[Floats, Bools]]
FAR = 1e6


def blind_constant(rng: np.random.Generator, levels: Floats, eps: float) -> tuple[Floats, Bools]:
    """Oblivious: replaces by one huge number."""
    return np.full_like(levels, FAR), rng.random(levels.shape) < eps


def leaning_pusher(rng: np.random.Generator, levels: Floats, eps: float) -> tuple[Floats, Bools]:
    """Prescient: sees to which side what it leaves of a sample leans already, and pushes there."""
    hits = rng.random(levels.shape) < eps
    above = ((levels > 0.5) & ~hits).sum(axis=1) > ((levels < 0.5) & ~hits).sum(axis=1)
    return np.broadcast_to(np.where(above, FAR, -FAR)[:, None], levels.shape), hits


def mass_mover(rng: np.random.Generator, levels: Floats, eps: float) -> tuple[Floats, Bools]:
    """Malicious: hits the lowest share ε of the rewards, all below the median, and puts them far above it."""
    return np.full_like(levels, FAR), levels < eps


ATTACKS: list[tuple[Threat, Attack]] = [
    (Oblivious(0.2), blind_constant),
    (Prescient(0.2), blind_constant),
    (Prescient(0.2), leaning_pusher),
    (Malicious(0.2), blind_constant),
    (Malicious(0.2), leaning_pusher),
    (Malicious(0.2), mass_mover),
]
FAMILIES: list[tuple[SpreadBound, Callable[[Floats], Floats]]] = [
    (Gaussian(1.0), lambda levels: np.asarray(stats.norm.ppf(levels), dtype=np.float64)),
    (Uniform(2.0), lambda levels: 2.0 * levels - 1.0),
    (Subgaussian(1.0), lambda levels: np.where(levels < 0.5, -1.0, 1.0)),
]


def attacked(
    threat: Threat, attack: Attack, quantile: Callable[[Floats], Floats], runs: int, pulls: int, seed: int
) -> Floats:
    """Contaminated rewards of true median 0, shape (runs, pulls)."""
    rng = np.random.default_rng(seed)
    levels = rng.random((runs, pulls))
    replacements, hits = attack(rng, levels, threat.eps)
    share = hits.mean()
    assert abs(share - threat.eps) < 6.0 * math.sqrt(0.25 / hits.size)  # the attacker kept to its power
    return np.where(hits, replacements, quantile(levels))


def is_rarer_than(delta: float, failures: Bools) -> bool:
    """Whether failures are compatible with a probability of at most δ."""
    test = stats.binomtest(int(failures.sum()), len(failures), delta, alternative="greater")
    return bool(test.pvalue > 1e-4)


@pytest.mark.parametrize(("threat", "attack"), ATTACKS)
@pytest.mark.parametrize(("spread", "quantile"), FAMILIES)
@pytest.mark.parametrize("odd", [0, 1])
def test_lemmas_hold_under_attack(
    threat: Threat, attack: Attack, spread: SpreadBound, quantile: Callable[[Floats], Floats], odd: int
) -> None:
    delta, n = 0.2, 120 + odd
    medians = np.median(attacked(threat, attack, quantile, runs=2000, pulls=n, seed=1), axis=1)
    # A fair coin's medians are all of [−1, 1]: the farthest counts.
    away = np.abs(medians) + (1.0 if isinstance(spread, Subgaussian) else 0.0)
    assert is_rarer_than(delta, away > bounds.median_deviation(spread, threat, n, delta))


@pytest.mark.parametrize(("threat", "attack"), [ATTACKS[0], ATTACKS[2], ATTACKS[5]])
@pytest.mark.parametrize(("spread", "quantile"), FAMILIES[:2])
def test_an_eighth_of_the_lemmas_margin_is_not_enough(
    threat: Threat, attack: Attack, spread: SpreadBound, quantile: Callable[[Floats], Floats]
) -> None:
    """The test above can fail, and the lemmas are not vacuous: R(h + s/8) is broken too often."""
    delta, n = 0.2, 121
    margin = math.sqrt(2.0 * math.log(threat.confidence_parts / delta) / n)
    medians = np.median(attacked(threat, attack, quantile, runs=4000, pulls=n, seed=2), axis=1)
    assert not is_rarer_than(delta, np.abs(medians) > spread(threat.shift + margin / 8.0))


@pytest.mark.parametrize(("spread", "quantile"), FAMILIES[:2])
def test_bias_is_reached_and_a_weaker_models_bound_is_broken(
    spread: SpreadBound, quantile: Callable[[Floats], Floats]
) -> None:
    n, delta = 20_001, 0.1
    for threat, attack in (ATTACKS[0], ATTACKS[2], ATTACKS[5]):
        away = np.abs(np.median(attacked(threat, attack, quantile, runs=40, pulls=n, seed=3), axis=1))
        bound = bounds.median_deviation(spread, threat, n, delta)
        assert (away <= bound).all()
        assert away.mean() > 0.8 * bound
        assert away.mean() == pytest.approx(bounds.unavoidable_bias(spread, threat), rel=0.05)
    assert (away > bounds.median_deviation(spread, Prescient(0.2), n, delta)).all()  # of the malicious attacker


@given(threat=threats(), delta=st.floats(1e-6, 0.9), n=st.integers(1, 5000))
def test_a_quarter_of_the_pulls_is_enough(threat: Threat, delta: float, n: int) -> None:
    """How loose the lemmas are: the exact chance that the median leaves the levels 1/2 ± (h + s).

    Clean rewards up to that level number at least Binomial(n, keep), and they must be at most n/2.
    """
    unhit = 1.0 if isinstance(threat, Malicious) else 1.0 - threat.eps
    margin = math.sqrt(math.log(2.0 / delta) / (2.0 * n)) / unhit
    if threat.shift + margin < 0.5:
        chance = 2.0 * stats.binom.cdf(n // 2, n, threat.keep(0.5 + threat.shift + margin))
        assert chance <= delta * (1.0 + 1e-9)


@pytest.mark.parametrize(("threat", "attack"), [ATTACKS[0], ATTACKS[2], ATTACKS[5]])
def test_good_event_holds_in_all_phases_at_once(threat: Threat, attack: Attack) -> None:
    """Lemma 4 for one arm and one objective over the first phases."""
    schedule = Schedule(threat, Gaussian(1.0), arms=1, objectives=1, delta=0.3)
    totals = np.cumsum(schedule.phase_pulls(np.arange(1, 7)))
    rewards = attacked(threat, attack, FAMILIES[0][1], runs=800, pulls=int(totals[-1]), seed=4)
    left = np.zeros(len(rewards), np.bool_)
    for tau, n in enumerate(totals, start=1):
        left |= np.abs(np.median(rewards[:, :n], axis=1)) > schedule.bias + schedule.width(tau)
    assert is_rarer_than(0.3, left)


# The pulls of one arm.


def exact_upper(schedule: Schedule, tau: Any) -> Any:
    """2 τ (β log(τ² M K π² / (6 δ̃)) + 1) with 30 digits, written a second time from the paper."""
    malicious = isinstance(schedule.threat, Malicious)
    eps = mp.mpf(schedule.threat.eps)
    beta = (mp.mpf(schedule.t_bar) - (eps if malicious else eps / (2 * (1 - eps)))) ** -2
    delta_tilde = mp.mpf(schedule.delta) / (3 if malicious else 2)
    cells = schedule.objectives * schedule.arms
    return 2 * tau * (beta * mp.log(mp.mpf(tau) ** 2 * cells * mp.pi**2 / (6 * delta_tilde)) + 1)


@given(schedule=schedules(st.just(Uniform(1.0))), tau=st.integers(1, 300))
def test_totals_lie_between_their_bounds(schedule: Schedule, tau: int) -> None:
    lower, upper = bounds.total_pulls_lower(schedule, tau), bounds.total_pulls_upper(schedule, tau)
    assert lower * (1.0 - 1e-12) <= schedule.phase_pulls(np.arange(1, tau + 1)).sum() <= upper * (1.0 + 1e-12)
    assert upper - lower == pytest.approx(2.0 * tau, rel=1e-6)
    assert upper == pytest.approx(float(exact_upper(schedule, tau)), rel=1e-12)


def test_phases_share_the_whole_of_delta() -> None:
    schedule = Schedule(Oblivious(0.1), Uniform(1.0), arms=7, objectives=3, delta=0.2)
    summed = 21 * math.fsum(bounds.phase_failure(schedule, tau) for tau in range(1, 20_001))
    assert summed == pytest.approx(0.2, rel=1e-4)
    assert summed < 0.2


@given(schedule=schedules(st.one_of(subgaussian, linear)), gap=st.floats(0.01, 10.0))
def test_phases_for_gap_is_the_first_within_a_fifth(schedule: Schedule, gap: float) -> None:
    widest = schedule.width(1)
    gap *= widest
    tau = bounds.phases_for_gap(schedule, gap)
    assert schedule.width(tau) <= gap / 5.0
    if tau > 1:
        assert schedule.width(tau - 1) > gap / 5.0


# Theorem 1.


def scanned_theorem1(schedule: Schedule, gaps: list[float], accuracy: float) -> float:
    """Equation 6 as it is written, arm by arm, with τ_(a) found by counting."""
    total = mp.mpf(0)
    for gap in gaps:
        adjusted = gap - 4.0 * schedule.bias
        a, tau = (adjusted if gap > 4.0 * schedule.bias + accuracy else accuracy), 1
        while schedule.width(tau) > a / 5.0:
            tau += 1
        total += exact_upper(schedule, tau)
    return float(total)


@pytest.mark.parametrize("threat", [Oblivious(0.0), Prescient(0.1), Malicious(0.1)])
@pytest.mark.parametrize("spread", [Subgaussian(0.1), Gaussian(0.2), LinearAroundMedian(4.0, 0.2)])
def test_theorem_1_as_it_is_written(threat: Threat, spread: SpreadBound) -> None:
    schedule = Schedule(threat, spread, arms=5, objectives=2, delta=0.05)
    gaps = [0.0, 0.3, 4.0 * schedule.bias + 0.2, 2.0, 3.0]
    found = bounds.theorem1_gap_dependent(schedule, gaps, 0.2)
    assert found == pytest.approx(scanned_theorem1(schedule, gaps, 0.2), rel=1e-12)
    worst = bounds.theorem1_worst_case(schedule, 0.2)
    assert worst == pytest.approx(scanned_theorem1(schedule, [0.0] * 5, 0.2), rel=1e-12)
    assert found < worst
    assert bounds.theorem1_gap_dependent(schedule, np.zeros(5), 0.2) == pytest.approx(worst, rel=1e-12)


def test_gaps(snapshot: SnapshotAssertion) -> None:
    schedule = Schedule(Malicious(0.1), Uniform(1.0), arms=3, objectives=2, delta=0.1)  # D = 0.1
    np.testing.assert_allclose(bounds.adjusted_gaps(schedule, [0.0, 0.5, 0.9]), [-0.4, 0.1, 0.5], atol=1e-15)
    np.testing.assert_allclose(bounds.effective_gaps(schedule, [0.0, 0.5, 0.9], 0.2), [0.2, 0.2, 0.5], atol=1e-15)
    overridden = Schedule(Malicious(0.1), Uniform(1.0), 3, 2, 0.1, bias_override=0.0)
    np.testing.assert_allclose(bounds.adjusted_gaps(overridden, [0.0, 0.5, 0.9]), [0.0, 0.5, 0.9])
    for wrong in (
        [0.0, 0.5],
        [0.0, 0.5, -0.1],
        [0.0, 0.5, math.nan],
        [[0.0, 0.5, 0.9]],
        [0.0, 0.5, math.inf],
    ):
        with refused(ValueError, snapshot):
            bounds.theorem1_gap_dependent(schedule, wrong, 0.2)


@given(schedule=schedules(st.one_of(subgaussian, linear)), data=st.data())
def test_theorem_1_is_monotone(schedule: Schedule, data: st.DataObject) -> None:
    unit = schedule.width(1) + schedule.bias
    few = st.lists(st.floats(0.0, 10.0), min_size=schedule.arms, max_size=schedule.arms)
    gaps = unit * np.array(data.draw(few))
    wider = gaps + unit * np.array(data.draw(few))
    fine, coarse = sorted(unit * data.draw(st.floats(0.05, 2.0)) for _ in range(2))
    most = bounds.theorem1_gap_dependent(schedule, gaps, fine) * (1.0 + 1e-12)  # sums in another order round otherwise
    assert bounds.theorem1_gap_dependent(schedule, wider, fine) <= most
    assert bounds.theorem1_gap_dependent(schedule, gaps, coarse) <= most
    within = bounds.theorem1_worst_case(schedule, fine) * (1.0 + 1e-12)
    assert bounds.theorem1_gap_dependent(schedule, gaps, fine) <= within


@pytest.mark.parametrize("model", MODELS)
def test_theorem_1_grows_with_the_attack_and_diverges(model: type[Threat]) -> None:
    """Near t̄ a single phase is enough for a linear R, and its pulls grow like β."""
    limit = model(0.0).largest_eps(0.49)

    def pulls(share: float) -> float:
        schedule = Schedule(model(share * limit), LinearAroundMedian(4.0, 0.25), 4, 2, 0.1)
        return bounds.theorem1_worst_case(schedule, 0.5)

    assert pulls(1e-13) == pytest.approx(pulls(0.0), rel=1e-9)
    assert pulls(1.0 - 1e-6) / pulls(1.0 - 1e-4) == pytest.approx(1e4, rel=0.02)
    assert pulls(1.0 - 1e-4) > 1e3 * pulls(0.0)


def test_arguments_are_checked(snapshot: SnapshotAssertion) -> None:
    schedule = Schedule(Oblivious(0.1), Gaussian(1.0), arms=2, objectives=2, delta=0.1)
    for wrong in (0.0, -1.0, math.nan, True):
        with refused(ValueError, snapshot):
            bounds.phases_for_gap(schedule, wrong)
        with refused(ValueError, snapshot):
            bounds.theorem1_worst_case(schedule, wrong)
        with refused(ValueError, snapshot):
            bounds.effective_gaps(schedule, [0.0, 1.0], wrong)
    with refused(ValueError, snapshot):
        bounds.total_pulls_upper(schedule, 0.5)
    with refused(ValueError, snapshot):
        bounds.median_deviation(Gaussian(1.0), Oblivious(0.1), 0, 0.1)
    with refused(ValueError, snapshot):
        bounds.pulls_required(Oblivious(0.1), 1.0)
    with refused(ValueError, snapshot):
        bounds.corollary1(schedule, 0.1)
    with refused(ValueError, snapshot):
        bounds.corollary2(schedule, [0.0, 1.0], 0.1)


# Corollary 1.


def test_corollary_1_by_hand() -> None:
    """ε = 0, t̄ = 0.25, σ = α = 1: β = 16, L = log 2, τ < 50/log 2 = 72.13."""
    schedule = Schedule(Oblivious(0.0), Subgaussian(1.0), arms=10, objectives=2, delta=0.1, t_bar=0.25)
    assert bounds.corollary1_phases(schedule, 1.0) == pytest.approx(72.134752044448170, rel=1e-14)
    # 800 · 10 · 16 / log 2 · log(72.13 · 20 / 0.05)
    wanted = 8000 * 16 / mp.log(2) * mp.log(50 / mp.log(2) * 20 / mp.mpf(0.05))
    assert bounds.corollary1(schedule, 1.0) == pytest.approx(float(wanted), rel=1e-12)
    # α c₂ ≤ 1/√2 with c₂ = √2/5 · √log 2
    assert bounds.corollary1_largest_accuracy(schedule) == pytest.approx(2.5 / math.sqrt(math.log(2.0)), rel=1e-14)
    c2 = math.sqrt(2.0 * math.log(2.0)) / 5.0
    assert bounds.corollary1_phases_always(schedule, 1.0) == pytest.approx(1 + (1 + 1 / (0.02 + c2)) ** 2, rel=1e-14)


@given(schedule=schedules(subgaussian), share=st.floats(0.02, 1.0))
def test_corollary_1_holds_wherever_it_answers(schedule: Schedule, share: float) -> None:
    """Above Theorem 1 for all K, M ≥ 1 and δ < 1: the paper's "large M, K and small δ" is not needed."""
    accuracy = share * bounds.corollary1_largest_accuracy(schedule)
    tau = bounds.phases_for_gap(schedule, accuracy)
    assert tau < bounds.corollary1_phases_always(schedule, accuracy) <= bounds.corollary1_phases(schedule, accuracy)
    assert bounds.theorem1_worst_case(schedule, accuracy) <= bounds.corollary1(schedule, accuracy)


@given(schedule=schedules(subgaussian), share=st.floats(1.0, 100.0))
def test_equation_26_holds_for_every_accuracy(schedule: Schedule, share: float) -> None:
    accuracy = share * bounds.corollary1_largest_accuracy(schedule)
    assert bounds.phases_for_gap(schedule, accuracy) < bounds.corollary1_phases_always(schedule, accuracy)


def test_corollary_1_refuses_where_it_is_false(snapshot: SnapshotAssertion) -> None:
    schedule = Schedule(Oblivious(0.0), Subgaussian(1.0), arms=2, objectives=1, delta=0.5)
    largest = bounds.corollary1_largest_accuracy(schedule)
    bounds.corollary1(schedule, largest)
    with refused(ValueError, snapshot):
        bounds.corollary1(schedule, largest * (1.0 + 1e-9))
    # Equation 28 promises less than one phase at such accuracies.
    assert 50.0 / (9.0**2 * math.log(2.0)) < 1.0 <= bounds.phases_for_gap(schedule, 9.0)


def test_corollary_1_scales_as_announced() -> None:
    schedule = Schedule(Malicious(0.2), Subgaussian(1.0), arms=4, objectives=2, delta=0.1)
    # A hundredth of α: 10⁴ times the pulls, up to the logarithm.
    coarse, fine = (bounds.corollary1(schedule, alpha) for alpha in (1e-2, 1e-4))
    assert 1e4 < fine / coarse < 2e4


# Corollary 2.


def test_corollary_2_by_hand() -> None:
    """ε = 0, t̄ = 0.25: β = 16; z = 4 · 0.2 = 0.8, D = 0; gaps 0 and 2 give Δ^α = 0.5 and 2."""
    schedule = Schedule(Oblivious(0.0), LinearAroundMedian(4.0, 0.2), 2, 3, 0.1, t_bar=0.25)
    assert bounds.corollary2_phases(schedule, 0.5) == pytest.approx(5.0, rel=1e-14)
    assert bounds.corollary2_phases(schedule, 2.0) == pytest.approx(1.25, rel=1e-14)
    scale = 6 * mp.pi**2 / (6 * mp.mpf(0.05))
    wanted = 2 * 80 * (mp.log(25 * scale) + 1) + 2 * 20 * (mp.log(mp.mpf("1.5625") * scale) + 1)
    assert bounds.corollary2(schedule, [0.0, 2.0], 0.5) == pytest.approx(float(wanted), rel=1e-12)


@given(schedule=schedules(linear), data=st.data())
def test_corollary_2_is_above_theorem_1(schedule: Schedule, data: st.DataObject) -> None:
    unit = schedule.width(1) + schedule.bias
    gaps = unit * np.array(data.draw(st.lists(st.floats(0.0, 20.0), min_size=schedule.arms, max_size=schedule.arms)))
    accuracy = unit * data.draw(st.floats(0.02, 10.0))
    for gap in bounds.effective_gaps(schedule, gaps, accuracy):
        assert bounds.phases_for_gap(schedule, float(gap)) < bounds.corollary2_phases(schedule, float(gap)) + 1e-9
    assert bounds.theorem1_gap_dependent(schedule, gaps, accuracy) <= bounds.corollary2(schedule, gaps, accuracy)
    assert schedule.beta > 4.0  # why its + 1 in place of + 1/β is valid


@pytest.mark.parametrize("model", MODELS)
def test_corollary_2_in_its_limits(model: type[Threat]) -> None:
    limit = model(0.0).largest_eps(0.49)

    def pulls(share: float) -> float:
        schedule = Schedule(model(share * limit), LinearAroundMedian(4.0, 0.25), 4, 2, 0.1)
        return bounds.corollary2(schedule, np.zeros(4), 0.5)

    assert pulls(1e-13) == pytest.approx(pulls(0.0), rel=1e-9)
    assert pulls(1.0 - 1e-6) / pulls(1.0 - 1e-4) == pytest.approx(1e4, rel=0.02)


def test_bounds_by_the_lemmas_refuse_a_share(snapshot: SnapshotAssertion) -> None:
    for bound in (
        lambda: bounds.pulls_required(Share(0.1), 0.05),
        lambda: bounds.median_deviation(Gaussian(1.0), Share(0.1), 10_000, 0.05),
    ):
        with refused(ValueError, snapshot):
            bound()
