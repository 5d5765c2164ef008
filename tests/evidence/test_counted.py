"""Counted columns say, to the last bit, what the same values say one by one; and a rate is two numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import frontguard as fg
from frontguard._common.typing import Floats
from frontguard.evidence.confidence_sequences import threshold_of
from frontguard.evidence.means import highest_means, lasting_means, mean_and_error
from frontguard.evidence.samples import (
    MOST_DIFFERENT,
    Samples,
    Table,
    absorb,
    empty_pool,
    empty_table,
    in_order,
    ranked,
    take,
    take_in,
)
from frontguard.simulation import simulate_one
from frontguard.simulation.engine import drive_by_turns
from frontguard.simulation.streams import RewardSource, Streams
from tests.support.worlds import bernoulli

# Few different values, or about as many as are counted, or more.
BLOCKS = st.lists(st.lists(st.integers(0, 60).map(lambda k: k / 60), max_size=30), min_size=1, max_size=6)
RATES = st.lists(st.lists(st.sampled_from([0.0, 1.0]), max_size=30), min_size=1, max_size=6)


def column_of(blocks: list[list[float]], *, counted: bool) -> tuple[Floats, Table]:
    table = empty_table(2)  # two, so that making room for one moves the other
    pool = empty_pool(2, 4)
    if counted:
        table["counted"][:-1] = 1
    for block in blocks:
        for column in range(2):
            pool = take(pool, table, column, np.array(block))
    return pool, table


def read(pool: Floats, table: Table, later: list[float], column: int) -> Any:
    """All that is read of a column, with some values beside the pool, by places that count and by those that do not."""
    table = table.copy()
    record = table[column : column + 1]
    record["count"] += len(later)
    record["window"], record["window_start"] = len(later), 0
    samples, n = Samples(pool, np.sort(later), table), int(record["count"][0])
    values, first = in_order(samples, table[column])
    found = [values[first : first + n].tolist(), [ranked(samples, table[column], i) for i in range(n)]]
    if n:
        found.append(mean_and_error(samples, table[column]))
        for taken in (0, n // 3, n):
            found.append(lasting_means(samples, table[column], n + 2, taken))
            found.append(highest_means(samples, table[column], n + 2, taken, threshold_of(0.01), n + 2.0))
    return found


@settings(max_examples=20, deadline=None)
@given(blocks=BLOCKS | RATES, later=st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), max_size=5))
def test_counted_values_say_what_the_same_values_say_one_by_one(blocks: list[list[float]], later: list[float]) -> None:
    told = np.sort(np.concatenate(blocks))
    pool, table = column_of(blocks, counted=True)
    plain, plain_table = column_of(blocks, counted=False)
    assert bool(table["counted"][0]) == (len(np.unique(told)) <= MOST_DIFFERENT)
    assert table["count"][0] == len(told)
    for column in range(2):
        assert Samples(pool, np.empty(0), table).pieces(column)[0].tolist() == told.tolist()
        assert read(pool, table, later, column) == read(plain, plain_table, later, column)
        assert read(pool, table, later, column)[0] == sorted([*told, *later])


def test_what_lies_beside_is_counted_too() -> None:
    pool, table = column_of([[0.0, 1.0, 1.0]], counted=True)
    table["count"][:-1] += 2
    table["window"][:-1], table["window_start"][:-1] = 2, 0
    pool = take_in(pool, np.array([0.5, 1.0]), table)
    assert table["counted"][:-1].tolist() == [1, 1]
    assert table["count"][:-1].tolist() == [5, 5]
    assert Samples(pool, np.empty(0), table).pieces(1)[0].tolist() == [0.0, 0.5, 1.0, 1.0, 1.0]


def a_policy(**settings: Any) -> fg.Certified:
    objectives = [
        fg.Objective("solved", "maximize", statistic="mean", bounds=(0, 1), tolerance=0.1),
        fg.Objective("seconds", "maximize"),
    ]
    return fg.Certified.for_objectives(3, objectives, threat=fg.Prescient(0.02), **settings)


def told(pulls: int) -> fg.Certified:
    rng, policy = np.random.default_rng(pulls), a_policy()
    arms = np.repeat(np.arange(3), pulls)
    policy.expect(arms)
    policy.take(arms, np.stack([rng.random(3 * pulls) < 0.4, rng.normal(size=3 * pulls)], axis=1).astype(float))
    policy.decide()
    return policy


def test_a_rate_takes_as_little_however_many_values_there_are() -> None:
    for pulls in (10, 10_000):
        columns = told(pulls).columns[:-1]
        assert columns["counted"].tolist() == [1, 0] * 3
        assert columns["room"][::2].tolist() == [8, 8, 8]
        assert columns["count"].tolist() == [pulls] * 6


def test_a_policy_of_rates_is_copied_and_its_values_can_be_read() -> None:
    policy = told(100)
    again = policy.copy()
    assert again.values_of(1, 0).tolist() == policy.values_of(1, 0).tolist()
    assert sorted(set(policy.values_of(1, 0).tolist())) == [0.0, 1.0]
    np.testing.assert_array_equal(policy.only_two_values(0), [0.0, 1.0])
    assert policy.only_two_values(1) is None


def test_a_simulated_run_of_rates_is_the_one_that_is_asked_and_told() -> None:
    rates = fg.Objective("solved", "maximize", statistic="mean", bounds=(0, 1), tolerance=0.2)
    policy = fg.Certified.for_objectives(3, [rates], threat=fg.Prescient(0.02))
    environment = bernoulli(np.array([[0.9], [0.6], [0.3]]))
    found, told = simulate_one(policy, environment, seed=1), policy.fresh()
    drive_by_turns(told, Streams(RewardSource(environment, None), 1, 0))
    assert isinstance(found, fg.Certified)
    assert found.columns["counted"][:-1].tolist() == [1] * 3
    assert [found.values_of(arm, 0).tolist() for arm in range(3)] == [
        told.values_of(arm, 0).tolist() for arm in range(3)
    ]
    np.testing.assert_array_equal(found.standing.intervals, told.standing.intervals)


def test_no_policy_without_means_counts() -> None:
    table, pool = empty_table(1), empty_pool(1)
    absorb(pool, table, np.zeros(3, np.int64), np.zeros((3, 1)), True)
    assert table["counted"][0] == 0
