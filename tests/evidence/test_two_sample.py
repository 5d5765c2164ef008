"""Tests of two samples: their levels by enumeration, bounds against a naive twin, and what attackers can do."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import mannwhitneyu

from frontguard import Objective
from frontguard._common.typing import Floats
from frontguard.evidence.clusters import Clustered
from frontguard.evidence.differences.two_sample import (
    check_bounds,
    checkable,
    larger_somewhere,
    largest_difference,
    largest_u,
    least_counts,
    region,
    session_medians,
    u_tail,
    with_suites,
)
from frontguard.evidence.measurements import Ordered
from frontguard.logs.design import clustered_from
from frontguard.logs.sort import Batch, usable_ranges
from frontguard.theory.threats import Malicious, Oblivious, Prescient, Share, Threat

THREATS = [Prescient(0.0), Prescient(0.1), Oblivious(0.2), Malicious(0.1), Share(0.2)]
SIZES = [(6, 6), (9, 12), (30, 17)]


@pytest.mark.parametrize("threat", THREATS, ids=str)
@pytest.mark.parametrize(("n", "m"), SIZES)
def test_least_counts_fall_into_a_region_as_rarely_as_promised(threat: Threat, n: int, m: int) -> None:
    for p, delta in itertools.product((0.5, 0.8), (0.1, 0.01)):
        largest = region(n, m, threat, p, delta)
        if largest is None:
            continue
        of_b, of_c = least_counts(n, threat, 1.0 - p), least_counts(m, threat, p)
        inside = np.arange(n + 1)[:, None] <= largest[None, :]
        assert np.outer(of_b, of_c)[inside].sum() <= delta * (1 + 1e-9)
        assert largest[0] == n
        assert (largest >= 0).all()
        assert (np.diff(largest) <= 0).all()


@pytest.mark.parametrize("threat", [Prescient(0.1), Share(0.2)], ids=str)
def test_a_region_leaves_little_of_its_probability(threat: Threat) -> None:
    largest = region(40, 40, threat, 0.5, 0.05)
    assert largest is not None
    of_b, of_c = least_counts(40, threat, 0.5), least_counts(40, threat, 0.5)
    assert np.outer(of_b, of_c)[np.arange(41)[:, None] <= largest[None, :]].sum() > 0.8 * 0.05


def naive_difference(y: Floats, x: Floats, threat: Threat, p: float, delta: float) -> float:
    """The least difference beyond which all are refuted: for each, every θ is looked at."""
    largest = region(len(y), len(x), threat, p, delta)
    if largest is None:
        return math.inf

    def refuted(g: float) -> bool:
        moved = y - g
        return all((moved >= at).sum() <= largest[(x <= at).sum()] for at in np.concatenate([moved, x]))

    gaps = np.unique((y[:, None] - x[None, :]).ravel())
    return next((g for g in gaps.tolist() if refuted(g + 1e-9)), math.inf)


@pytest.mark.parametrize("threat", [Prescient(0.0), Prescient(0.1), Share(0.1)], ids=str)
def test_the_largest_difference_is_that_of_a_naive_search(threat: Threat) -> None:
    rng = np.random.default_rng(4)
    for n, m, p in [(9, 11, 0.5), (14, 10, 0.5), (20, 20, 0.7)]:
        y, x = np.sort(rng.normal(size=n).round(1)), np.sort(rng.normal(size=m).round(1))
        found = largest_difference(y, x, threat, p, 0.1)
        wanted = naive_difference(y, x, threat, p, 0.1)
        assert found == pytest.approx(wanted) or (math.isinf(found) and math.isinf(wanted))


def test_u_has_the_law_of_mann_and_whitney_where_nobody_lies() -> None:
    rng = np.random.default_rng(1)
    for n, m in ((5, 8), (12, 9)):
        x, y = np.sort(rng.normal(size=n)), np.sort(rng.normal(0.7, size=m))
        wanted = mannwhitneyu(y, x, alternative="greater", method="exact")
        assert largest_u(y, x) == wanted.statistic
        assert u_tail(n, m, Prescient(0.0))[largest_u(y, x)] == pytest.approx(wanted.pvalue)


def enumerated(n: int, m: int, eps: float) -> Floats:
    """P(U ≥ u) over all orders of n + m equal values and all hits: hit x lose, hit y win."""
    tail = np.zeros(n * m + 1)
    orders = list(itertools.combinations(range(n + m), n))
    for chosen in orders:
        x = np.array(chosen, np.float64)
        y = np.array([each for each in range(n + m) if each not in chosen], np.float64)
        for hits in itertools.product((False, True), repeat=n + m):
            hit = np.array(hits)
            a, b = np.where(hit[:n], -np.inf, x), np.where(hit[n:], np.inf, y)
            u = int((b[:, None] > a[None, :]).sum())
            tail[: u + 1] += eps ** hit.sum() * (1 - eps) ** (~hit).sum() / len(orders)
    return tail


def test_u_under_independent_hits_is_that_of_all_orders_and_hits() -> None:
    assert np.allclose(u_tail(3, 4, Prescient(0.2)), enumerated(3, 4, 0.2), rtol=1e-12)
    assert np.allclose(u_tail(4, 3, Malicious(0.1)), enumerated(4, 3, 0.2), rtol=1e-12)


def test_u_where_a_share_is_taken_is_that_of_all_orders() -> None:
    n, m, threat = 4, 5, Share(0.26)
    tail = np.zeros(n * m + 1)
    orders = list(itertools.combinations(range(n + m), n))
    for chosen in orders:
        x = np.array(chosen, np.float64)
        y = np.array([each for each in range(n + m) if each not in chosen], np.float64)
        x[-1], y[0] = -np.inf, np.inf  # ⌊0.26 · 4⌋ and ⌊0.26 · 5⌋ of them
        tail[: int((y[:, None] > x[None, :]).sum()) + 1] += 1 / len(orders)
    assert np.allclose(u_tail(n, m, threat), tail, rtol=1e-12)


@pytest.mark.parametrize("threat", [Prescient(0.1), Malicious(0.1), Share(0.15)], ids=str)
def test_equal_laws_are_called_different_as_rarely_as_promised_under_the_worst_attack(threat: Threat) -> None:
    rng, n, runs, delta = np.random.default_rng(7), 15, 4000, 0.05
    x, y = rng.random((runs, n)), rng.random((runs, n))  # levels of one law
    if isinstance(threat, Share):
        taken = math.floor(threat.eps * n)
        x, y = np.sort(x), np.sort(y)
        x[:, n - taken :], y[:, :taken] = -1.0, 2.0
    elif isinstance(threat, Malicious):
        x, y = np.where(x > 1 - threat.eps, -1.0, x), np.where(y < threat.eps, 2.0, y)
    else:
        x, y = np.where(rng.random(x.shape) < threat.eps, -1.0, x), np.where(rng.random(y.shape) < threat.eps, 2.0, y)
    said = [larger_somewhere(np.sort(b), np.sort(a), threat, delta) for a, b in zip(x, y, strict=True)]
    assert 0.01 < np.mean(said) <= delta + 3 * math.sqrt(delta / runs)
    without = [larger_somewhere(np.sort(b), np.sort(a), Prescient(0.0), delta) for a, b in zip(x, y, strict=True)]
    assert np.mean(without) > 2 * delta  # an attack that is not allowed for is seen


@pytest.mark.parametrize("threat", [Prescient(0.0), Prescient(0.1), Malicious(0.1), Share(0.1)], ids=str)
def test_the_bound_of_medians_misses_as_rarely_as_promised_for_the_hardest_laws(threat: Threat) -> None:
    """Two clusters each, half of the values in either, where every θ between them is a median."""
    rng, n, runs, delta, misses = np.random.default_rng(8), 21, 3000, 0.05, 0
    for _ in range(runs):
        levels = [np.sort(rng.random(n)) for _ in range(2)]
        upper = [level > 0.5 for level in levels]  # y counts from above, x from below
        if isinstance(threat, Share):
            taken = math.floor(threat.eps * n)
            upper[0][n - taken :] = False
            upper[1][:taken] = True
        elif isinstance(threat, Malicious):
            upper[0] &= levels[0] < 1 - threat.eps
            upper[1] |= levels[1] < threat.eps
        else:
            upper[0] &= rng.random(n) >= threat.eps
            upper[1] |= rng.random(n) < threat.eps
        y, x = (np.sort(each + 1e-6 * rng.random(n)) for each in upper)
        misses += (
            largest_difference(y, x, threat, 0.5, delta) < 1.0 - 1e-5
        )  # the medians of y end at 1, of x begin at 0
    assert misses / runs <= delta + 3 * math.sqrt(delta / runs)
    assert misses > 0


def test_failed_values_may_have_been_anything() -> None:
    x = np.linspace(0.0, 1.0, 20)
    clean = largest_difference(x, x, Prescient(0.0), 0.5, 0.1)
    y = np.append(x[3:], [np.inf] * 3)  # three of the smallest failed
    assert clean < largest_difference(y, x, Prescient(0.0), 0.5, 0.1) < np.inf
    assert larger_somewhere(x + 2.0, x, Prescient(0.0), 0.01)
    many = np.full(12, np.inf)
    assert not larger_somewhere(x + 2.0, np.sort(np.append(x[:8], many)), Prescient(0.0), 0.01)


def test_too_few_and_too_many_values_say_nothing() -> None:
    few = np.arange(3.0)
    assert math.isinf(largest_difference(few, few, Prescient(0.1), 0.5, 0.05))
    assert not larger_somewhere(few + 9.0, few, Prescient(0.0), 0.01)
    many = np.arange(101.0)
    assert not larger_somewhere(many + 999.0, many, Prescient(0.0), 0.05)
    assert largest_difference(many, many + 999.0, Prescient(0.1), 0.5, 0.05) < -900.0


def log_of(samples: list[list[Floats]], metrics: tuple[str, ...], failed: int = 0) -> Ordered:
    """A log of arms whose values (arms, metrics) are given, each with so many failed pulls besides."""
    names = [f"arm {i}" for i in range(len(samples))]
    starts = np.array([np.cumsum([0, *(len(arm[d]) for arm in samples)]) for d in range(len(metrics))])
    values = tuple(np.concatenate([np.sort(arm[d]) for arm in samples]) for d in range(len(metrics)))
    return Ordered(names, metrics, np.array([len(arm[0]) + failed for arm in samples]), starts, values)


def test_checks_of_a_log_are_those_of_its_samples_in_inner_values() -> None:
    rng = np.random.default_rng(3)
    seconds, size = Objective("seconds", "minimize", tolerance="5%"), Objective("bytes", "minimize", exact=True)
    times = [rng.lognormal(mean, 0.01, 12) for mean in (0.0, 0.1, 0.0)]
    log = log_of([[each, np.full(12, 100.0 + i)] for i, each in enumerate(times)], ("seconds", "bytes"))
    its, mine = np.array([0, 0]), np.array([1, 2])
    found = check_bounds(log, (seconds, size), its, mine, Prescient(0.1), 0.05)
    assert found.worse[:, 0].tolist() == [True, False]
    base, other = np.sort(-np.log(times[0])), np.sort(-np.log(times[2]))
    assert found.behind[1, 0] == pytest.approx(largest_difference(base, other, Prescient(0.1), 0.5, 0.025))
    assert found.line[1, 0] == pytest.approx(largest_difference(base, other, Prescient(0.1), 0.5, 0.0125))
    assert found.behind[:, 1].tolist() == [1.0, 2.0] == (-found.ahead[:, 1]).tolist()  # bytes are known
    assert found.worse[:, 1].tolist() == [True, True]
    wider = check_bounds(
        log_of([[times[0]], [times[2]]], ("seconds",), 2), (seconds,), its[:1], mine[:1], Prescient(0.1), 0.05
    )
    assert wider.behind[0, 0] > found.behind[1, 0]


def test_a_session_counts_by_its_median_and_fails_as_a_whole() -> None:
    values, owners = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), np.array([0, 1, 0, 1, 0, 2])
    log = Clustered(
        ["a"], ("s",), np.array([7]), np.array([[0, 6]]), (values,),
        columns=("session",), begins=np.array([0, 3]), sizes=np.array([3, 2, 2]), owners=(owners,), labels=np.arange(3),
    )  # fmt: skip
    assert session_medians(log, 0, 0)[:2].tolist() == [3.0, 3.0]
    assert np.isnan(session_medians(log, 0, 0)[2])
    half, tail = Objective("s", "minimize"), Objective("s", "minimize", quantile=0.9)
    assert checkable([half], log)
    assert not checkable([tail], log)  # the p90 of medians is not that of all values


def test_a_suite_is_the_geometric_mean_of_medians_once_a_session() -> None:
    rng = np.random.default_rng(2)
    cube = rng.lognormal(0.0, 0.3, (3, 5, 4))  # tests, sessions, rounds
    cube[1, 2, 0] = np.nan  # which fails
    rows = {"arm": np.repeat(list("abc"), 20), "run": np.tile(np.repeat(range(5), 4), 3), "s": cube.ravel()}
    frame = pd.DataFrame(rows).sample(frac=1.0, random_state=0)
    frame = frame[~((frame.arm == "c") & (frame.run == 4))]  # a session that lacks a test
    batch = Batch(pl.Series(frame.arm), [frame.s.to_numpy()], clusters=pl.Series(frame.run.astype(str)))
    log = clustered_from([batch], ["s"], ["run"], usable=usable_ranges(["s"], []))
    whole = with_suites(log, [np.array([0, 1, 2]), np.array([0, 1])], ["all", "two"])
    medians = np.median(cube, axis=2)
    wanted = [
        np.exp(np.log(medians[:, [0, 1, 3]]).mean(axis=0)),
        np.exp(np.log(medians[:2, [0, 1, 3, 4]]).mean(axis=0)),
    ]
    for arm, means in zip((3, 4), wanted, strict=True):
        found = session_medians(whole, 0, arm)
        assert np.sort(found[~np.isnan(found)]) == pytest.approx(np.sort(means))
        assert len(found) == whole.pulls[arm] == 5
        assert whole.failed_pulls[arm] == 5 - len(means)
        values = whole.values[0][whole.starts[0, arm] : whole.starts[0, arm + 1]]
        assert values.tolist() == np.sort(values).tolist()
    assert whole.values[0][: whole.starts[0, 3]].tolist() == log.values[0].tolist()


def test_worse_in_some_quantile_need_not_be_so_in_the_median() -> None:
    rng = np.random.default_rng(3)
    base = rng.lognormal(0.0, 0.001, 9)
    for samples, counts in (([base, base * 2.0], False), ([np.tile(base, 3), np.tile(base, 3) * 2.0], True)):
        log = log_of([[each] for each in samples], ("seconds",))
        its, mine = np.array([0]), np.array([1])
        found = check_bounds(log, (Objective("seconds", "minimize"),), its, mine, Prescient(0.1), 0.001)
        assert found.worse[0, 0]
        assert found.that_counts[0, 0] == counts
