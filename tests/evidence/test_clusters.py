"""Bounds from clusters against a naive twin, brute force over what may have been replaced, and simulation."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from numpy.random import Generator

from frontguard._common.typing import Floats
from frontguard.evidence.bets import LOG_WEIGHTS, THETAS
from frontguard.evidence.clusters import (
    bounding_place,
    first_useful_clusters,
    highest_cluster_mean,
)
from frontguard.evidence.confidence_sequences import anytime_rank, threshold_of
from tests.support.bets import upper_mean

DELTA = 0.02
Clusters = list[Floats]  # the values of each, NaN where one failed


def log_wealth(shares: list[float], c: float) -> float:
    """log W of observations in [0, 1] against the mean c, as docs/theory.md (m) writes it."""
    bets = [
        weight + sum(math.log((1 - theta * share) / (1 - theta * c)) for share in shares)
        for theta, weight in zip(THETAS.tolist(), LOG_WEIGHTS.tolist(), strict=True)
    ]
    return float(np.logaddexp.reduce(bets))


def naive_low(clusters: Clusters, keep: float, delta: float = DELTA) -> float:
    """The least observed value whose shares do not refute the level; failed values are below everything."""
    seen = sorted({float(x) for values in clusters for x in values if not math.isnan(x)})
    for z in (-math.inf, *seen):
        shares = [float(np.mean(~(values > z))) for values in clusters]  # true for NaN
        if log_wealth(shares, keep) < threshold_of(delta):
            return z
    return math.inf


def laid_out(clusters: Clusters) -> tuple[Floats, np.ndarray, np.ndarray]:
    values = np.concatenate(clusters)
    owners = np.repeat(np.arange(len(clusters)), [len(each) for each in clusters])
    good = ~np.isnan(values)
    order = np.argsort(values[good], kind="stable")
    return values[good][order], owners[good][order], np.array([len(each) for each in clusters])


def ends(clusters: Clusters, keep: float, *, taken: int = 0, delta: float = DELTA) -> tuple[float, float]:
    values, owners, sizes = laid_out(clusters)
    at = [bounding_place(owners, sizes, keep, threshold_of(delta), taken, 1.0, side) for side in (False, True)]
    return (values[at[0]] if at[0] >= 0 else -math.inf), (values[at[1]] if at[1] >= 0 else math.inf)


def drawn(rng: Generator, *, most: int = 6, count: int = 30) -> Clusters:
    """Clusters of several sizes, with ties and failed values."""
    made = []
    for size in rng.integers(1, most + 1, count).tolist():
        values = np.round(rng.normal(rng.normal(), 1.0, size), 1)
        made.append(np.where(rng.random(size) < 0.05, np.nan, values))
    return made


@pytest.mark.parametrize("seed", range(8))
def test_it_is_what_the_naive_search_finds(seed: int) -> None:
    clusters = drawn(np.random.default_rng(seed))
    mirrored = [-values for values in clusters]
    for keep in (0.2, 0.45, 0.6):
        low, high = ends(clusters, keep)
        assert low == naive_low(clusters, keep)
        assert high == -naive_low(mirrored, keep)


def test_one_cluster_is_one_observation() -> None:
    assert ends([np.arange(1e5)], 0.45) == (-math.inf, math.inf)
    assert ends([np.array([np.nan, np.nan]), np.array([np.nan])], 0.45) == (-math.inf, math.inf)


def test_clusters_of_one_value_are_nearly_ranks() -> None:
    for n, p in ((50, 0.5), (400, 0.45), (3000, 0.2)):
        clusters = [np.array([float(i)]) for i in range(n)]
        low, _ = ends(clusters, p)
        rank = anytime_rank(n, p, DELTA)
        assert abs(low + 1 - rank) <= 0.06 * math.sqrt(n) * 2 + 1


def test_many_more_like_these_close_in_on_the_level() -> None:
    rng = np.random.default_rng(3)
    clusters = [rng.normal(rng.normal(), 1.0, 5) for _ in range(40)]
    _, owners, sizes = laid_out(clusters)
    places = [
        bounding_place(owners, sizes, 0.45, threshold_of(DELTA), 0, times, False) for times in (1.0, 4.0, 100.0, 1e9)
    ]
    assert places == sorted(places)
    assert places[-1] == math.ceil(0.45 * 200) - 1


def test_what_may_have_been_replaced_is_allowed_for() -> None:
    """Whichever values were replaced, the interval holds what the clean ones would give: all choices are tried."""
    rng = np.random.default_rng(5)
    for _ in range(6):
        clusters = [np.sort(rng.normal(size=size)) for size in (1, 2, 3, 3)]
        places = [(c, i) for c, values in enumerate(clusters) for i in range(len(values))]
        low, high = ends(clusters, 0.9, taken=2, delta=0.4)
        for which in itertools.combinations(places, 2):
            before = [values.copy() for values in clusters]
            for c, i in which:
                before[c][i] = -1e6
            assert low <= naive_low(before, 0.9, 0.4)
            for c, i in which:
                before[c][i] = 1e6
            assert high >= -naive_low([-values for values in before], 0.9, 0.4)


def test_nothing_taken_is_nothing_lost_and_more_widens() -> None:
    rng = np.random.default_rng(6)
    for count, most in ((40, 1), (40, 6)):
        clusters = drawn(rng, count=count, most=most)
        found = [ends(clusters, 0.5, taken=taken) for taken in (0, 1, 3, 10)]
        assert found[0][0] == naive_low(clusters, 0.5)
        lows, highs = zip(*found, strict=True)
        assert list(lows) == sorted(lows, reverse=True)
        assert list(highs) == sorted(highs)


def highest(clusters: Clusters, *, taken: int = 0, from_above: bool = False) -> float:
    values, owners, sizes = laid_out(clusters)
    return highest_cluster_mean(values, owners, sizes, threshold_of(DELTA), taken, 1.0, from_above)


def test_means_are_those_of_clusters() -> None:
    rng = np.random.default_rng(7)
    clusters = [rng.beta(2, 3, size) for size in rng.integers(1, 9, 30)]
    means = np.array([values.mean() for values in clusters])
    assert highest(clusters) == pytest.approx(upper_mean(means, DELTA), abs=1e-9)
    assert highest(clusters, from_above=True) == pytest.approx(upper_mean(1.0 - means, DELTA), abs=1e-9)
    clusters[3][0] = np.nan
    means[3] = np.nan_to_num(clusters[3], nan=1.0).mean()
    assert highest(clusters) == pytest.approx(upper_mean(means, DELTA), abs=1e-9)


def test_means_of_clusters_of_one_value_lose_their_smallest_to_a_share() -> None:
    values = np.sort(np.random.default_rng(8).beta(2, 3, 60))
    assert highest([np.array([y]) for y in values], taken=4) == pytest.approx(
        upper_mean(np.concatenate([np.ones(4), values[4:]]), DELTA), abs=1e-9
    )


def test_means_allow_for_whichever_values_were_replaced() -> None:
    rng = np.random.default_rng(9)
    clusters = [rng.random(size) for size in (1, 2, 3, 4)]
    most = highest(clusters, taken=2)
    places = [(c, i) for c, values in enumerate(clusters) for i in range(len(values))]
    for which in itertools.combinations(places, 2):
        before = [values.copy() for values in clusters]
        for c, i in which:
            before[c][i] = 1.0
        assert most >= highest(before) - 1e-9


def test_the_fewest_clusters_that_bound_anything() -> None:
    for keep in (0.05, 0.45, 0.9):
        fewest = first_useful_clusters(keep, threshold_of(DELTA), 0.0, 10**6)
        for count, known in ((fewest, True), (fewest - 1, False)):
            low, _ = ends([np.full(3, float(i)) for i in range(count)], keep)
            assert math.isfinite(low) == known
    assert first_useful_clusters(0.3, threshold_of(DELTA), 0.3, 10**6) == -1


@pytest.mark.parametrize(("count", "size", "correlation"), [(20, 5, 0.9), (20, 25, 0.37), (60, 3, 0.0)])
def test_intervals_hold_of_dependent_values(count: int, size: int, correlation: float) -> None:
    """Both ends, at a median of 0, in 400 samples of normal random effects: they miss in δ' of them at most."""
    rng = np.random.default_rng(count + size)
    missed, samples = 0, 400
    for _ in range(samples):
        effects = rng.normal(0.0, math.sqrt(correlation), count)
        clusters = [rng.normal(effect, math.sqrt(1.0 - correlation), size) for effect in effects]
        low, high = ends(clusters, 0.5, delta=0.1)
        missed += low > 0.0
        missed += high < 0.0
    assert missed <= 2 * samples * 0.1 + 3 * math.sqrt(2 * samples * 0.1 * 0.9)
