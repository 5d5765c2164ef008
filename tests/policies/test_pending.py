"""A decision tried on what is pending: the same as on a copy that takes it, and nobody else notices."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from frontguard import Certified, Gaussian, Prescient
from frontguard._common.compiled import kernel
from frontguard._common.typing import Floats
from frontguard.evidence.intervals import HIGH, LOW
from frontguard.evidence.samples import Samples, Table, empty_pool, empty_table, push_sorted, ranked, reserve, take_in
from frontguard.pareto.relations import lasting_intervals
from frontguard.policies.forecast import forecast
from frontguard.policies.holding import Pending
from tests.policies.states import state_of

ARMS, OBJECTIVES = 4, 2
VALUES = st.lists(st.sampled_from([-1.5, 0.0, 0.25, 1.0, 1e300, -np.inf, np.inf]) | st.floats(-3, 3), max_size=30)


@kernel
def _all_ranked(pool: Floats, beside: Floats, table: Table, found: Floats) -> None:
    for place in range(found.shape[0]):
        found[place] = ranked(Samples(pool, beside, table), table[0], place)


@given(VALUES, VALUES)
def test_every_rank_of_a_sample_with_values_beside_it(own: list[float], later: list[float]) -> None:
    table, pool = empty_table(1), np.full(100, np.nan)
    table["start"], table["count"] = 7, len(own) + len(later)
    table["window_start"], table["window"] = 3, len(later)
    pool[7 : 7 + len(own)] = np.sort(own)
    beside = np.full(40, np.nan)
    beside[3 : 3 + len(later)] = np.sort(later)
    found = np.empty(len(own) + len(later))
    _all_ranked(pool, beside, table, found)
    np.testing.assert_array_equal(found, np.sort(np.concatenate([own, later])))


def test_what_lies_beside_many_columns_is_taken_into_each() -> None:
    """Making room for one moves the others."""
    rng = np.random.default_rng(4)
    columns = 40
    table, pool = empty_table(columns), empty_pool(columns)
    beside, samples = np.empty(0), []
    for column in range(columns):
        own, later = rng.normal(size=rng.integers(0, 60)), rng.normal(size=rng.integers(0, 200))
        pool = reserve(pool, table, column, len(own), False)
        push_sorted(pool, table, column, own)
        samples.append((own, later))
    for column, (own, later) in enumerate(samples):
        table["window_start"][column], table["window"][column] = len(beside), len(later)
        table["count"][column] = len(own) + len(later)
        beside = np.concatenate([beside, np.sort(later)])
    before = pool
    pool = take_in(pool, beside, table)
    assert len(pool) > len(before)
    for column, (own, later) in enumerate(samples):
        start, count = int(table["start"][column]), int(table["count"][column])
        np.testing.assert_array_equal(pool[start : start + count], np.sort(np.concatenate([own, later])))
        assert table["window"][column] == 0


def a_policy(rng: np.random.Generator, pulls: int) -> Certified:
    policy = Certified(ARMS, OBJECTIVES, threat=Prescient(0.1), accuracy=0.05, spread=Gaussian(0.3))
    for _ in range(2):
        arms = np.sort(rng.integers(0, ARMS, pulls))
        policy.expect(arms)
        policy.take(arms, measured(rng, arms))
        policy.decide()
    policy.expect(np.repeat(np.arange(ARMS), 200))
    return policy


def measured(rng: np.random.Generator, arms: np.ndarray) -> np.ndarray:
    values = rng.normal(np.column_stack([arms, -arms]), 0.3).round(1)
    values[rng.random(values.shape) < 0.1] = np.nan
    return values


def assert_same(one: Certified, other: Certified) -> None:
    ours, theirs = state_of(one), state_of(other)
    for name, array in ours.items():
        if name not in ("pool", "columns"):
            np.testing.assert_array_equal(array, theirs[name], err_msg=name)
    np.testing.assert_array_equal(samples(one), samples(other))
    np.testing.assert_array_equal(one._outstanding, other._outstanding)
    assert one._waiting == other._waiting


def samples(policy: Certified) -> np.ndarray:
    starts, counts = policy.columns["start"][:-1], policy.columns["count"][:-1]
    return np.concatenate(
        [[*policy.pool[s : s + n], np.inf] for s, n in zip(starts, counts, strict=True)]  # inf as a mark
    )


@given(seed=st.integers(0, 10**6), pulls=st.sampled_from([5, 60, 700]), parts=st.lists(st.integers(0, 60), max_size=4))
@settings(max_examples=25)
def test_it_decides_as_a_copy_that_takes_what_is_pending(seed: int, pulls: int, parts: list[int]) -> None:
    rng = np.random.default_rng(seed)
    policy = a_policy(rng, pulls)
    before, copied = policy.copy(), policy.copy()
    pending = Pending(ARMS, OBJECTIVES)
    for size in parts:
        arms = rng.integers(0, ARMS, size)
        values = measured(rng, arms)
        pending.add(arms, values)
        copied.take(arms, values)
    tried = policy.with_pending(pending)
    for each in (tried, copied):
        each.exclude([2])
        each.carry_on()
        each.decide()
    np.testing.assert_array_equal(tried.standing.intervals, copied.standing.intervals)
    assert forecast(tried) == forecast(copied)
    assert tried.result().to_dict() == copied.result().to_dict()
    assert_same(policy, before)
    assert_same(tried, copied)  # merges what lies beside


def test_whoever_goes_on_leaves_the_others_as_they_are() -> None:
    rng = np.random.default_rng(8)
    policy = a_policy(rng, 300)
    pending = Pending(ARMS, OBJECTIVES)
    arms = np.arange(ARMS).repeat(20)
    pending.add(arms, measured(rng, arms))
    tried = policy.with_pending(pending)
    tried.decide()
    foreseen, before = forecast(tried), policy.copy()
    assert foreseen.pulls_left is not None
    pending.add(arms, measured(rng, arms) + 50.0)
    assert forecast(tried) == foreseen
    policy.take(arms, measured(rng, arms) - 50.0)
    assert forecast(tried) == foreseen
    other = before.with_pending(Pending(ARMS, OBJECTIVES))
    other.take(arms, measured(rng, arms))
    assert_same(before, before.copy())
    tried.take(arms, measured(rng, arms))
    assert tried.pool is not policy.pool


def test_samples_are_copied_only_if_somebody_else_still_reads_them() -> None:
    rng = np.random.default_rng(8)
    policy = a_policy(rng, 300)
    pool, arms = policy.pool, np.arange(ARMS)
    tried = policy.with_pending(Pending(ARMS, OBJECTIVES))
    assert tried.pool is pool
    del policy
    gc.collect()
    tried.take(arms, measured(rng, arms))
    assert tried.pool is pool
    held = tried.with_pending(Pending(ARMS, OBJECTIVES))
    tried.take(arms, measured(rng, arms))
    assert tried.pool is not pool
    assert held.pool is pool


def test_what_can_be_reached_by_pairs() -> None:
    policy = a_policy(np.random.default_rng(3), 400)
    candidates = np.flatnonzero(policy.standing.arms["candidate"] > 0)
    alive = np.flatnonzero(policy.standing.arms["status"] != 2)
    low, high = np.moveaxis(lasting_intervals(policy.standing.intervals)[:, [LOW, HIGH]], 1, 0)
    worst = max(min(high[j, d] - low[i, d] for d in range(OBJECTIVES)) for i in candidates for j in alive if j != i)
    assert len(candidates) > 1
    assert policy.reachable().accuracy == pytest.approx(max(worst, 0.0))
