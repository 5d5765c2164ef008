"""Growing samples against the obvious twin: a list, sorted anew at every question."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from frontguard.evidence.samples import (
    empty_pool,
    empty_table,
    median,
    push,
    push_one,
    push_sorted,
    reserve,
    window_length,
)
from tests.support.growing import GrowingSample

Floats = npt.NDArray[np.float64]

VALUES = st.one_of(
    st.floats(allow_nan=False, width=64),
    st.integers(-3, 3).map(float),  # ties
    st.sampled_from([-np.inf, np.inf]),
).map(lambda value: value + 0.0)  # −0.0 becomes 0.0: equal numbers, whose order nobody promises
BLOCKS = st.lists(st.lists(VALUES, max_size=40), min_size=1, max_size=12).filter(any)


def naive_median(values: list[float]) -> float:
    ordered = sorted(values)
    low, high = ordered[(len(ordered) - 1) // 2], ordered[len(ordered) // 2]
    return low if low == high else 0.5 * low + 0.5 * high


@given(BLOCKS)
def test_medians_equal_those_of_the_sorted_list(blocks: list[list[float]]) -> None:
    sample, told = GrowingSample(), list[float]()
    for block in blocks:
        sample.extend(block)
        told += block
        if told:
            np.testing.assert_equal(sample.median(), naive_median(told))
            assert len(sample) == len(told)


def _long_series(kind: str, count: int = 6000) -> Floats:
    rng = np.random.default_rng(7)
    match kind:
        case "normal":
            return rng.normal(size=count)
        case "one value":
            return np.ones(count)
        case "two values":
            return rng.integers(0, 2, size=count).astype(float)
        case "fourteen values":
            return rng.integers(0, 14, size=count).astype(float)
        case "median atom appears late":
            return np.where(np.arange(count) < count // 3, rng.normal(size=count), rng.integers(0, 3, size=count))
        case "rising":
            return np.arange(count, dtype=float)
        case "falling":
            return -np.arange(count, dtype=float)
        case "attack changes sides":
            return np.where(np.arange(count) // 500 % 2, -10.0, 10.0) + rng.normal(size=count)
        case "organ pipe":
            return np.minimum(np.arange(count), count - np.arange(count)).astype(float)
        case _:
            return np.where(rng.random(count) < 0.4, -10.0, rng.normal(size=count))


SERIES = [
    "normal", "one value", "two values", "fourteen values", "median atom appears late", "rising", "falling",
    "attack changes sides", "organ pipe", "forty percent far away",
]  # fmt: skip


@pytest.mark.parametrize("kind", SERIES)
@pytest.mark.parametrize("step", [1, 7, 100])
def test_medians_stay_exact_over_long_series(kind: str, step: int) -> None:
    series = _long_series(kind)
    sample = GrowingSample()
    for end in range(step, len(series) + 1, step):
        sample.extend(series[end - step : end])
        if step > 1 or end % 13 == 0:
            assert sample.median() == np.median(series[:end])


def test_value_by_value_and_block_by_block_give_the_same_medians() -> None:
    for kind in SERIES:
        series = _long_series(kind, 3000)
        pool, table = empty_pool(2), empty_table(2)
        for start in range(0, len(series), 50):
            for column in (0, 1):
                pool = reserve(pool, table, column, 50, True)
            push(pool, table, 0, series[start : start + 50])
            for value in series[start : start + 50]:
                push_one(pool, table, 1, value)
                median(pool, table, 1)
            assert median(pool, table, 0) == median(pool, table, 1) == np.median(series[: start + 50])


def test_columns_do_not_disturb_each_other_while_the_pool_grows() -> None:
    rng = np.random.default_rng(3)
    columns = 7
    pool, table = empty_pool(columns), empty_table(columns)
    told: list[list[float]] = [[] for _ in range(columns)]
    for _ in range(800):
        column = int(rng.integers(columns) ** 2 // columns)
        values = rng.normal(size=int(rng.integers(1, 90))) + len(told[column]) * (column == 3)
        pool = reserve(pool, table, column, len(values), True)
        push(pool, table, column, values)
        told[column] += values.tolist()
        if rng.random() < 0.5:
            assert median(pool, table, column) == np.median(told[column])
    for column in range(columns):
        if told[column]:
            assert median(pool, table, column) == np.median(told[column])


def test_a_column_that_drifts_survives_the_growth_of_the_pool() -> None:
    rng = np.random.default_rng(4)
    rising, other = np.arange(60_000.0), rng.normal(size=60_000)
    pool, table = empty_pool(2), empty_table(2)
    for start in range(0, 60_000, 25):  # odd and even counts in turn
        for column, series in enumerate((rising, other)):
            pool = reserve(pool, table, column, 25, True)
            push(pool, table, column, series[start : start + 25])
            middle = median(pool, table, column)
            if start % 1125 == 0:
                assert middle == np.median(series[: start + 25])


@pytest.mark.parametrize("kind", SERIES)
def test_a_window_lasts_for_about_as_many_values_as_it_is_long(kind: str) -> None:
    series, changes, edges = _long_series(kind, 20_000), 0, (0.0, 0.0)
    pool, table = empty_pool(1), empty_table(1)
    for start in range(0, len(series), 20):
        pool = reserve(pool, table, 0, 20, True)
        push(pool, table, 0, series[start : start + 20])
        median(pool, table, 0)
        first = int(table["window_start"][0])
        now = float(pool[first]), float(pool[first + int(table["window"][0]) - 1])
        changes += now != edges  # it was searched anew, or trimmed
        edges = now
    most = 8 + sum(1.0 / (window_length(n) - 2) for n in range(64, len(series)))
    assert changes <= 2 * most < len(series) / 40


@given(BLOCKS)
def test_sorted_columns_stay_sorted(blocks: list[list[float]]) -> None:
    pool, table = empty_pool(2), empty_table(2)
    told: list[float] = []
    for block in blocks:
        for column in (0, 1):
            pool = reserve(pool, table, column, len(block), False)
            push_sorted(pool, table, column, np.array(block))
        told += block
    for column in (0, 1):
        start = table["start"][column]
        assert pool[start : start + len(told)].tolist() == sorted(told)


def test_the_callers_array_is_left_alone() -> None:
    values = np.array([3.0, 1.0, 2.0])
    values.setflags(write=False)
    sample = GrowingSample(values)
    sample.extend(values)
    assert sample.median() == 2.0
    assert values.tolist() == [3.0, 1.0, 2.0]
