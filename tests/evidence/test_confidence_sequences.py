"""Boundaries of Bernoulli sums: against mpmath at 50 digits, exact crossing probabilities, and simulation."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import mpmath  # type: ignore[import-untyped]
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest
from syrupy.assertion import SnapshotAssertion

from frontguard.errors import BadInput
from frontguard.evidence.confidence_sequences import (
    _SAFETY,
    MOST_PULLS,
    STEPS,
    STRENGTH,
    _log_below,
    _log_mixture,
    anytime_rank,
    first_useful_pulls,
    fixed_rank,
    log_mixture,
    log_prior_of,
    rank_table,
    read_rank,
    taken_away,
    taken_away_each,
)
from tests.support.snapshots import refused

Ints = npt.NDArray[np.int64]
Boundary = Callable[[Ints], npt.NDArray[np.float64]]

TOO_CLOSE = 1e-7  # to a threshold, in the logarithm: there a rank may be one smaller than the exact one, never larger


# ---------------------------------------------------------------- mpmath: the definition, by two other ways


def log_below_over_powers(A: mpmath.mpf, B: mpmath.mpf, p: mpmath.mpf) -> mpmath.mpf:
    """log of ∫₀ᵖ θᴬ⁻¹ (1−θ)ᴮ⁻¹ dθ / (pᴬ (1−p)ᴮ): hypergeometric series if few, quadrature in log θ if many."""
    r = 1 - p
    if A <= 1 or A + B < 10**5:
        if p * (A + B) <= A:
            return mpmath.log(mpmath.hyp2f1(1, A + B, A + 1, p) / A)
        whole = mpmath.loggamma(A) + mpmath.loggamma(B) - mpmath.loggamma(A + B) - A * mpmath.log(p) - B * mpmath.log(r)
        return mpmath.log(mpmath.exp(whole) - mpmath.hyp2f1(1, A + B, B + 1, r) / B)
    top = min(A / (A + B - 1), p)
    highest = A * mpmath.log(top / p) + (B - 1) * mpmath.log((1 - top) / r)

    def integrand(u: mpmath.mpf) -> mpmath.mpf:
        t = mpmath.exp(u)
        return mpmath.exp(A * (u - mpmath.log(p)) + (B - 1) * mpmath.log((1 - t) / r) - highest)

    width, end = 1 / mpmath.sqrt(A), mpmath.log(p)
    inner = sorted({end} | {x for c in (-12, -4, -1, 0, 1, 4, 12) if (x := mpmath.log(top) + c * width) < end})
    outer = [inner[0] - c / A for c in (60, 10, 1)]
    return highest + mpmath.log(mpmath.quad(integrand, outer + inner)) - mpmath.log(r)


def exact_log_mixture(n: int, k: int, probability: float, strength: float) -> mpmath.mpf:
    """log M_n(k)."""
    p, a = mpmath.mpf(probability), mpmath.mpf(strength) / 2
    return log_below_over_powers(a + k, a + n - k, p) - log_below_over_powers(a, a, p)


def log_binomial_below(n: int, k: int, probability: float) -> mpmath.mpf:
    """log P(Bin(n, p) < k) for 1 ≤ k ≤ n."""
    p, A, B = mpmath.mpf(probability), mpmath.mpf(k), mpmath.mpf(n - k + 1)
    whole = mpmath.loggamma(A) + mpmath.loggamma(B) - mpmath.loggamma(A + B) - A * mpmath.log(p) - B * mpmath.log(1 - p)
    return mpmath.log1p(-mpmath.exp(log_below_over_powers(A, B, p) - whole))


def check_rank(rank: int, exceeds: Callable[[int], mpmath.mpf], lowest: int, highest: int) -> None:
    """`exceeds` falls in k; the rank is the last k with exceeds(k) ≥ 0, or one less where that is too close to call."""
    if rank > lowest:
        assert exceeds(rank) >= 0
    if rank < highest:
        assert exceeds(rank + 1) < TOO_CLOSE


def check_anytime(n: int, p: float, delta: float, strength: float) -> None:
    with mpmath.workdps(50):
        check_rank(
            anytime_rank(n, p, delta, strength=strength) - 1,
            lambda k: exact_log_mixture(n, k, p, strength) + mpmath.log(mpmath.mpf(delta)),
            lowest=-1,
            highest=n,
        )


def check_fixed(n: int, p: float, delta: float) -> None:
    with mpmath.workdps(50):
        check_rank(
            fixed_rank(n, p, delta),
            lambda k: mpmath.log(mpmath.mpf(delta)) - log_binomial_below(n, k, p),
            lowest=0,
            highest=n,
        )


def random_cases(seed: int, count: int, digits: tuple[float, float]) -> list[tuple[int, float, float, float]]:
    rng = np.random.default_rng(seed)
    special = [0.5, 0.45, 0.95, 1e-3, 1.0 - 1e-3, 1e-8, 1.0 - 1e-8, 1.0 - 1e-12]
    return [
        (
            int(10 ** rng.uniform(*digits)),
            float(rng.choice(special) if rng.random() < 0.5 else rng.random()),
            float(10 ** -rng.uniform(math.log10(2.0), 12.0)),
            float(rng.choice([0.5, STRENGTH, 3.7, 64.0])),
        )
        for _ in range(count)
    ]


@pytest.mark.parametrize(("seed", "count", "digits"), [(1, 90, (0.0, 5.0)), (2, 6, (5.0, 9.0))])
def test_anytime_rank_is_that_of_mpmath(seed: int, count: int, digits: tuple[float, float]) -> None:
    for n, p, delta, strength in random_cases(seed, count, digits):
        check_anytime(n, p, delta, strength)


@pytest.mark.parametrize("delta", [0.5, 1e-12])
@pytest.mark.parametrize("p", [1e-8, 0.5, 1.0 - 1e-8])
def test_anytime_rank_at_the_edges(p: float, delta: float) -> None:
    for n in (1, 2, 40, 10**9):
        check_anytime(n, p, delta, STRENGTH)
    check_anytime(1000, p, delta, 1e-6)
    check_anytime(1000, p, delta, 1e4)


@pytest.mark.parametrize(("seed", "count", "digits"), [(3, 90, (0.0, 5.0)), (4, 6, (5.0, 9.0))])
def test_fixed_rank_is_that_of_mpmath(seed: int, count: int, digits: tuple[float, float]) -> None:
    for n, p, delta, _ in random_cases(seed, count, digits):
        check_fixed(n, p, delta)


@pytest.mark.parametrize("delta", [1e-12, 0.5, 0.999])
def test_fixed_rank_at_the_edges(delta: float) -> None:
    for n in (1, 2, 40, 10**9):
        for p in (1e-8, 0.3, 1.0 - 1e-8):
            check_fixed(n, p, delta)


# Ranks alone would not show lost digits: at n = 10⁹ a logarithm moves by 10⁻⁴ from one rank to the next.
@pytest.mark.parametrize("p", [1e-8, 0.3, 0.5, 0.75, 1.0 - 1e-4, 1.0 - 1e-9])
def test_rounding_errors_are_far_below_the_safety(p: float) -> None:
    for n, delta in ((50, 0.3), (10**5, 0.5), (987654321, 1e-5), (10**9, 1e-12)):
        k = min(anytime_rank(n, p, delta), math.ceil(p * n) - 1)
        below = max(1, fixed_rank(n, p, delta))
        with mpmath.workdps(50):
            wanted = exact_log_mixture(n, k, p, STRENGTH)
            wanted_below = log_binomial_below(n, below, p)
        pulls, *ranks = (np.array([float(each)]) for each in (n, k, below))
        mixture = _log_mixture(pulls, ranks[0], p, 1.0 - p, STRENGTH, log_prior_of(p))
        log_below, _ = _log_below(pulls, ranks[1], p, 1.0 - p)
        assert abs(float(mixture[0]) - wanted) < _SAFETY / 10
        assert abs(log_mixture(n, k, p, 1.0 - p, STRENGTH, log_prior_of(p)) - wanted) < _SAFETY / 10  # for kernels
        assert abs(float(log_below[0]) - wanted_below) < _SAFETY / 10


def test_fixed_rank_is_that_of_scipy_where_scipy_is_exact() -> None:
    for p in (0.05, 0.5, 0.9):
        n = np.arange(1, 400)
        ranks = fixed_rank(n, p, 0.013)
        assert np.all(binom.cdf(ranks - 1, n, p) <= 0.013)
        assert np.all(binom.cdf(ranks, n, p) > 0.013)


@given(
    st.integers(0, 10**9),
    st.floats(-0.5, 1.0),
    st.floats(1e-12, 0.99),
    st.floats(0.1, 100.0),
)
def test_looking_at_one_size_alone_is_never_worse(n: int, p: float, delta: float, strength: float) -> None:
    anytime, fixed = anytime_rank(n, p, delta, strength=strength), fixed_rank(n, p, delta)
    assert 0 <= anytime <= fixed <= n
    assert anytime <= max(0, math.ceil(p * n))


@given(st.integers(0, 10**9), st.floats(0.001, 0.999), st.floats(1e-12, 0.9))
def test_a_pull_more_adds_nothing_or_one(n: int, p: float, delta: float) -> None:
    now, after = anytime_rank(np.array([n, n + 1]), p, delta)
    assert now <= after <= now + 1


def test_shapes_and_certain_cases() -> None:
    pulls = np.array([[1, 10], [100, 1000]], dtype=np.uint16)
    for rank in (anytime_rank, fixed_rank):
        ranks = rank(pulls, 0.5, 0.1)
        assert ranks.shape == (2, 2)
        assert ranks.dtype == np.int64
        assert type(rank(10, 0.5, 0.1)) is int
        assert rank(np.int64(10), 0.5, 0.1) == ranks[0, 1]
        assert rank(0, 0.5, 0.1) == 0
        assert rank(10**9, 0.0, 0.1) == rank(10**9, -0.2, 0.1) == 0
        assert rank(10**9, 1.0, 0.1) == 10**9
        assert rank(np.array([], dtype=np.int64), 0.5, 0.1).size == 0


@pytest.mark.parametrize(
    "arguments",
    [
        (-1, 0.5, 0.1),
        (2.5, 0.5, 0.1),
        (True, 0.5, 0.1),
        (np.array([1.0]), 0.5, 0.1),
        (MOST_PULLS + 1, 0.5, 0.1),
        (10, 1.5, 0.1),
        (10, math.nan, 0.1),
        (10, 0.5, 0.0),
        (10, 0.5, 1.0),
    ],
)
def test_bad_input_is_refused(arguments: tuple[object, ...], snapshot: SnapshotAssertion) -> None:
    for rank in (anytime_rank, fixed_rank):
        with refused(BadInput, snapshot):
            rank(*arguments)  # type: ignore[call-overload]


@pytest.mark.parametrize("strength", [0.0, -1.0, math.inf, 1e5, "2"])
def test_bad_strength_is_refused(strength: object, snapshot: SnapshotAssertion) -> None:
    with refused(BadInput, snapshot):
        anytime_rank(10, 0.5, 0.1, strength=strength)  # type: ignore[call-overload]


# ---------------------------------------------------------------- first useful pulls


@pytest.mark.parametrize("delta", [0.5, 0.01, 1e-12])
@pytest.mark.parametrize("p", [1e-6, 0.05, 0.5, 0.95, 1.0])
def test_first_useful_pulls(p: float, delta: float) -> None:
    n = first_useful_pulls(p, delta)
    assert anytime_rank(n, p, delta) >= 1
    assert n == 1 or anytime_rank(n - 1, p, delta) == 0
    if p < 1.0:
        assert (1.0 - p) ** n <= delta  # or n failures in a row would break the guarantee


@pytest.mark.parametrize("p", [0.0, -0.1, 1e-13])
def test_no_pulls_are_useful_without_a_probability(p: float, snapshot: SnapshotAssertion) -> None:
    with refused(BadInput, snapshot):
        first_useful_pulls(p, 0.1)


# ---------------------------------------------------------------- tables


@pytest.mark.parametrize(("p", "delta"), [(0.5, 1e-4), (0.05, 0.01), (0.95, 1e-12)])
def test_a_table_is_valid_and_loses_little(p: float, delta: float) -> None:
    table = rank_table(p, delta, largest=20000)
    n = np.arange(0, 20001)
    exact = anytime_rank(n, p, delta)
    read = np.array([read_rank(table, i) for i in n])
    assert np.all(read <= exact)
    assert np.array_equal(read[:257], exact[:257])
    assert np.all(exact - read <= np.sqrt(n) / 16.0)
    assert np.all(np.diff(table) >= 0)


def test_a_table_stays_valid_up_to_a_thousand_million() -> None:
    rng = np.random.default_rng(5)
    roots = rng.integers(1, 31622, 120)
    # Squares of multiples of 1/STEPS are where an index jumps: their neighbours on both sides.
    jumps = np.ceil((rng.integers(1, STEPS * 31622, 120) / STEPS) ** 2).astype(np.int64)
    around = np.concatenate([roots**2, jumps])
    sizes = np.unique(np.concatenate([around - 1, around, around + 1, (10 ** rng.uniform(0, 9, 120)).astype(np.int64)]))
    exact = anytime_rank(sizes, 0.5, 1e-3)
    short, long = rank_table(0.5, 1e-3), rank_table(0.5, 1e-3, largest=10**9)
    from_short = np.array([read_rank(short, n) for n in sizes])
    from_long = np.array([read_rank(long, n) for n in sizes])
    assert np.all(from_short <= from_long)
    assert np.all(from_long <= exact)
    assert np.all(exact - from_long <= np.sqrt(sizes) / 16.0)
    assert from_short[-1] == short[-1] == anytime_rank(65536, 0.5, 1e-3)


def test_the_index_of_a_table_is_the_exact_one() -> None:
    for n in [*range(2000), *(m * m + e for m in range(1, 10**6, 997) for e in (-1, 0, 1)), 10**12 - 1, 10**12]:
        assert int(STEPS * math.sqrt(n)) == math.isqrt(STEPS * STEPS * n)


def test_a_table_is_made_quickly_and_belongs_to_the_caller() -> None:
    rank_table(0.5, 0.01, largest=10)  # compiles
    start = time.process_time()
    table = rank_table(0.123456, 0.000789)
    assert time.process_time() - start < 0.1
    assert table.size == STEPS * 256 + 1
    table[:] = -1
    assert rank_table(0.123456, 0.000789)[-1] == anytime_rank(65536, 0.123456, 0.000789)


# ---------------------------------------------------------------- the guarantee

LENGTH = 2000


def crossing_probability(
    boundary: npt.NDArray[np.float64], p: float, far: float = math.inf, p_far: float = 1.0
) -> float:
    """P(A_n < boundary[n−1] for some n ≤ LENGTH), exactly, by following the distribution of A_n.

    Each success has probability p; or, while the sum is `far` above the boundary, p_far.
    """
    alive = np.zeros(LENGTH + 1)
    alive[0] = 1.0
    counts = np.arange(LENGTH + 1)
    for lowest in boundary:
        success = np.where(counts - lowest >= far, p_far, p)
        stepped = alive * success
        alive = alive * (1.0 - success)
        alive[1:] += stepped[:-1]
        alive[counts < lowest] = 0.0
    return 1.0 - float(alive.sum())


def simulated_crossings(boundary: npt.NDArray[np.float64], p: float, runs: int, seed: int) -> int:
    rng = np.random.default_rng(seed)
    crossed = 0
    for _ in range(runs // 500):
        sums = np.cumsum(rng.random((500, LENGTH), dtype=np.float32) < p, axis=1, dtype=np.int32)
        crossed += int(np.count_nonzero((sums < boundary).any(axis=1)))
    return crossed


def too_often(boundary: npt.NDArray[np.float64], p: float, delta: float) -> bool:
    """Whether a seeded simulation refutes that the boundary fails with probability at most δ."""
    runs = 4000
    crossed = simulated_crossings(boundary, p, runs, seed=11)
    return bool(binomtest(crossed, runs, delta, alternative="greater").pvalue < 1e-3)


SIZES = np.arange(1, LENGTH + 1)
CELLS = [(0.5, 0.1), (0.45, 0.05), (0.9, 0.1), (0.1, 0.02)]


@pytest.mark.parametrize(("p", "delta"), CELLS)
def test_sums_stay_above_the_boundary(p: float, delta: float) -> None:
    ranks = anytime_rank(SIZES, p, delta).astype(np.float64)
    assert not too_often(ranks, p, delta)
    exact = crossing_probability(ranks, p)
    assert delta / 10.0 < exact <= delta  # a boundary that is never crossed would waste pulls


@pytest.mark.parametrize(("p", "delta"), CELLS)
def test_a_boundary_that_is_one_and_a_half_times_too_bold_is_caught(p: float, delta: float) -> None:
    bold = p * SIZES - (p * SIZES - anytime_rank(SIZES, p, delta)) / 1.5
    bold = np.where(anytime_rank(SIZES, p, delta) > 0, np.floor(bold), 0.0)
    assert too_often(bold, p, delta)
    assert crossing_probability(bold, p) > delta


@pytest.mark.parametrize("far", [3.0, 20.0])
def test_success_may_depend_on_the_past_and_be_likelier(far: float) -> None:
    p, delta = 0.4, 0.1
    ranks = anytime_rank(SIZES, p, delta).astype(np.float64)
    always_p = crossing_probability(ranks, p)
    assert crossing_probability(ranks, p + 0.05) < always_p
    assert 0.0 < crossing_probability(ranks, p, far, p_far=0.8) <= delta


# --- what is taken afterwards ----------------------------------------------------------------------------


@given(st.integers(0, 499), st.integers(0, 10**12))
def test_what_is_taken_is_the_floor_of_the_share_as_it_is_written(thousandths: int, n: int) -> None:
    exact = thousandths * n // 1000
    found = taken_away(thousandths / 1000, n)
    assert found == taken_away_each(thousandths / 1000, np.array([n]))[0]
    assert found == exact


@pytest.mark.parametrize("taken", [0.0, 0.05, 0.1, 0.3, 0.4])
def test_the_first_useful_pulls_are_the_first_whose_rank_exceeds_what_is_taken(taken: float) -> None:
    n = np.arange(1500)
    useful = anytime_rank(n, 0.5, 0.01) > taken_away_each(taken, n)
    assert first_useful_pulls(0.5, 0.01, taken=taken) == n[useful][0]


@pytest.mark.parametrize("taken", [0.0, 0.05, 0.3])
def test_the_first_useful_pulls_of_one_look_are_found_by_trying(taken: float) -> None:
    n = np.arange(1, 1500)
    useful = [k for k in n.tolist() if binom.cdf(taken_away_each(taken, np.array([k]))[0], k, 0.45) <= 0.001]
    assert first_useful_pulls(0.45, 0.001, taken=taken, anytime=False) == useful[0]


def test_a_share_that_takes_all_is_refused(snapshot: SnapshotAssertion) -> None:
    with refused(ValueError, snapshot):
        first_useful_pulls(0.5, 0.01, taken=0.5)
