"""Rows → measurements by arm, beside a twin of dictionaries and lists."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from frontguard import BadInput, Objective
from frontguard._common.typing import Floats
from frontguard.evidence.measurements import Ordered
from frontguard.logs.sort import ArmNames, Batch, RowBuffer, sort_within, sorted_pulls
from tests.support.snapshots import refused

pl = pytest.importorskip("polars", reason="the extra `logs` is not installed")

NAN, INF = math.nan, math.inf


def batch(arms: Any, *values: Sequence[float]) -> Batch:
    return Batch(arms, [np.array(each, np.float64) for each in values])


def ordered_in_memory(batches: Iterable[Batch], metrics: Sequence[str], *, usable: Floats | None = None) -> Ordered:
    rows = RowBuffer(metrics, usable)
    for each in batches:
        rows.add(each)
    return rows.ordered()


def naive(
    rows: Sequence[tuple[str, Sequence[float]]], metrics: int, floors: Sequence[float]
) -> dict[str, tuple[int, list[list[float]]]]:
    """How many pulls each arm has, and its sorted good values of each metric; arms in the order of names."""
    found: dict[str, tuple[int, list[list[float]]]] = {}
    for arm, values in rows:
        pulls, good = found.get(arm, (0, [[] for _ in range(metrics)]))
        for kept, value, floor in zip(good, values, floors, strict=True):
            if math.isfinite(value) and value > floor:
                kept.append(value)
        found[arm] = pulls + 1, good
    return {arm: (found[arm][0], [sorted(each) for each in found[arm][1]]) for arm in sorted(found)}


def as_dictionary(log: Ordered) -> dict[str, tuple[int, list[list[float]]]]:
    found = {}
    for i, arm in enumerate(log.arms):
        parts = [flat[begin[i] : begin[i + 1]].tolist() for flat, begin in zip(log.values, log.starts, strict=True)]
        found[arm] = int(log.pulls[i]), parts
    return found


def assert_same(one: Ordered, other: Ordered) -> None:
    """The same to the bit."""
    assert list(one.arms) == list(other.arms)
    assert one.metrics == other.metrics
    assert one.pulls.tolist() == other.pulls.tolist()
    assert one.starts.tolist() == other.starts.tolist()
    for a, b in zip(one.values, other.values, strict=True):
        assert np.asarray(a).view(np.uint64).tolist() == np.asarray(b).view(np.uint64).tolist()


# Names that differ late, early, in length, in characters beyond ASCII and beyond 16 bits, and not to the eye.
NAMES = [
    "",
    "a",
    "b",
    "ab",
    "a\x00",
    "NA",
    "007",
    "1e5",
    "ä",
    "z",
    "\uffff",
    "\U0001f600",
    "long " * 9 + "1",
    "long " * 9,
]
VALUES = st.floats(allow_nan=True, allow_infinity=True, width=16) | st.sampled_from([0.0, -0.0, NAN, INF, -INF, 5e-324])
LOGS = st.integers(1, 3).flatmap(
    lambda metrics: st.tuples(
        st.just(metrics),
        st.lists(st.tuples(st.sampled_from(NAMES), st.tuples(*[VALUES] * metrics)), max_size=60),
        st.lists(st.integers(0, 60), max_size=4),
        st.none() | st.lists(st.sampled_from([-INF, 0.0, -1.0]), min_size=metrics, max_size=metrics),
    )
)


def arms_as(kind: str, names: list[str]) -> Any:
    if kind == "categories":
        return pl.Series(names, dtype=pl.Categorical)
    if kind == "enumeration":  # with entries that no row uses
        return pl.Series(names, dtype=pl.Enum(["unused", *reversed(NAMES)]))
    if kind == "sliced":
        return pl.Series(["before", *names, "after"])[1:-1]
    return pl.Series(names, dtype=pl.String)


def above(floors: Sequence[float]) -> Floats:
    """The ranges of values above these, which are left out."""
    return np.array([(np.nextafter(floor, np.inf), np.inf) for floor in floors])


KINDS = ["text", "categories", "enumeration", "sliced"]


@given(LOGS, st.lists(st.sampled_from(KINDS), min_size=5, max_size=5))
def test_any_log_is_ordered_as_by_the_naive_twin(log: Any, kinds: list[str]) -> None:
    metrics, rows, cuts, floors = log
    edges = sorted({0, len(rows), *(min(cut, len(rows)) for cut in cuts)})
    batches = [
        batch(arms_as(kind, [arm for arm, _ in rows[a:b]]), *([v[d] for _, v in rows[a:b]] for d in range(metrics)))
        for a, b, kind in zip(edges[:-1], edges[1:], kinds, strict=False)
    ]
    names = [f"metric {d}" for d in range(metrics)]
    got = ordered_in_memory(batches, names, usable=None if floors is None else above(floors))
    assert got.metrics == tuple(names)
    assert as_dictionary(got) == naive(rows, metrics, floors or [-INF] * metrics)
    assert not any(np.signbit(flat[flat == 0.0]).any() for flat in got.values)
    shuffled = [
        batch(arms_as("numpy", [arm]), *([v] for v in values)) for arm, values in reversed(rows) if arm != "a\0"
    ]
    if len(shuffled) == len(rows):
        floors_given = None if floors is None else above(floors)
        assert_same(got, ordered_in_memory(shuffled, names, usable=floors_given))


@given(LOGS)
def test_pulls_by_number_are_ordered_as_rows_by_name(log: Any) -> None:
    metrics, rows, _, _ = log
    arms = sorted({arm for arm, _ in rows})
    objectives = [Objective(f"metric {d}", "maximize", tolerance=("5%", 0.0)[d % 2]) for d in range(metrics)]
    values = np.array([values for _, values in rows], np.float64).reshape(len(rows), metrics)
    got = sorted_pulls(arms, objectives, np.array([arms.index(arm) for arm, _ in rows], np.int64), values)
    floors = [0.0 if d % 2 == 0 else -INF for d in range(metrics)]
    assert as_dictionary(got) == naive(rows, metrics, floors)
    names = [objective.name for objective in objectives]
    by_name = batch(arms_as("text", [arm for arm, _ in rows]), *values.T)
    assert_same(got, ordered_in_memory([by_name], names, usable=above(floors)))


@given(st.lists(st.integers(0, 40) | st.sampled_from([8191, 8192, 8193, 20_000]), max_size=40), st.integers(0, 99))
def test_arms_of_any_lengths_are_sorted(counts: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    starts = np.cumsum([0, *counts])
    values = rng.normal(size=starts[-1]) if seed % 2 else rng.integers(0, 5, starts[-1]).astype(float)
    values[rng.random(len(values)) < 0.01] = np.finfo(float).max
    wanted = np.concatenate([np.zeros(0), *(np.sort(values[a:b]) for a, b in pairwise(starts))])
    for threads in (True, False):
        got = values.copy()
        sort_within(got, starts, threads=threads)
        assert got.tolist() == wanted.tolist()


def test_one_row_and_one_arm_and_none() -> None:
    log = ordered_in_memory([batch(pl.Series(["x"]), [2.5])], ["m"])
    assert as_dictionary(log) == {"x": (1, [[2.5]])}
    log = ordered_in_memory([batch(pl.Series(["x"] * 5), [3, 1, NAN, 2, 1])], ["m"])
    assert as_dictionary(log) == {"x": (5, [[1, 1, 2, 3]])}
    log = ordered_in_memory([batch(pl.Series(["y", "x"]), [NAN, INF], [1, -INF])], ["m", "k"])
    assert as_dictionary(log) == {"x": (1, [[], []]), "y": (1, [[], [1.0]])}
    for nothing in ([], [batch(pl.Series([], dtype=pl.String), [])]):
        log = ordered_in_memory(nothing, ["m"])
        assert (list(log.arms), log.pulls.shape, log.starts.tolist(), len(log.values[0])) == ([], (0,), [[0]], 0)


def test_many_arms_of_one_row() -> None:
    """Names fill their table again and again, and each batch begins while others are in it."""
    count = 300_000
    rng = np.random.default_rng(1)
    places = rng.permutation(count)
    names = pl.Series(places).cast(str)
    log = ordered_in_memory(
        [batch(names[k : k + 90_000], places[k : k + 90_000]) for k in range(0, count, 90_000)], ["m"]
    )
    assert list(log.arms) == sorted(map(str, range(count)))
    assert log.values[0].tolist() == [float(arm) for arm in log.arms]
    assert log.starts.tolist() == [list(range(count + 1))]
    assert (log.pulls == 1).all()


def test_one_arm_with_two_million_rows() -> None:
    """Many times as many as are sorted with others."""
    count = 2_000_000
    values = np.random.default_rng(2).random(count)
    values[::1000] = NAN
    arms = pl.repeat("only", count, eager=True)
    log = ordered_in_memory([Batch(arms, [values])], ["m"])
    assert list(log.arms) == ["only"]
    assert log.pulls.tolist() == [count]
    assert np.array_equal(log.values[0], np.sort(values[~np.isnan(values)]))


def test_few_and_many_values_side_by_side() -> None:
    """Long arms go another way than short ones, and threads share them; both must meet all of them."""
    rng = np.random.default_rng(3)
    sizes = rng.choice([1, 3, 50, 5000, 70_000], 300, p=[0.3, 0.3, 0.3, 0.09, 0.01])
    codes = rng.permutation(np.repeat(np.arange(300), sizes))
    values = rng.normal(size=len(codes))
    log = ordered_in_memory([batch(pl.Series(codes).cast(str), values)], ["m"])
    for i, arm in enumerate(log.arms):
        assert np.array_equal(
            log.values[0][log.starts[0, i] : log.starts[0, i + 1]], np.sort(values[codes == int(arm)])
        )


def test_names_may_be_whole_numbers_and_text_by_turns() -> None:
    log = ordered_in_memory(
        [
            batch(pl.Series([7, 2**24, 7]), [1, 2, 3]),
            batch(pl.Series(["7", "16777216", "007"]), [4, 5, 6]),
            batch(pl.Series([7, 3], dtype=pl.UInt8), [0, 8]),
            batch(pl.Series([-1, 2**24]), [9, 7]),
        ],
        ["m"],
    )
    assert as_dictionary(log) == {
        "-1": (1, [[9]]),
        "007": (1, [[6]]),
        "16777216": (3, [[2, 5, 7]]),
        "3": (1, [[8]]),
        "7": (4, [[0, 1, 3, 4]]),
    }


@pytest.mark.parametrize(
    "batches",
    [
        [["7", "10", "0"], [10, 7], ["7", "a"], ["10", "0"]],
        [["1", "01"], ["01"], ["1", "001", "+1", "1.0", " 1"]],
        [["0", "00", "9", "99", "100"], ["100", "4294967295", "4294967296"]],
        [["16777215", "16777216", "999999999", "1000000000"], [16777216], ["1", "١", "-1"], [-1]],
        [["1"], [], ["", "1"]],
    ],
)
def test_names_that_are_numbers_are_told_apart_by_their_texts(batches: list[list[Any]]) -> None:
    names, known = ArmNames(), dict[str, int]()
    for each in batches:
        kind = pl.Int64 if each and isinstance(each[0], int) else pl.String
        wanted = [known.setdefault(str(name), len(known)) for name in each]
        assert names.codes(pl.Series(each, dtype=kind)).tolist() == wanted
    assert names.names == list(known)


def test_a_batch_is_not_changed() -> None:
    values = np.array([-0.0, NAN, -1.0, INF])
    values.flags.writeable = False
    arms = pl.Series(["a", "b", "a", "a"])
    ordered_in_memory([Batch(arms, [values])], ["m"], usable=above([0.0]))
    assert str(values.tolist()) == "[-0.0, nan, -1.0, inf]"


@pytest.mark.parametrize("arms", [["a", None, None], [1, None]])
def test_rows_without_an_arm_are_refused(arms: list[Any], snapshot: SnapshotAssertion) -> None:
    with refused(BadInput, snapshot):
        ordered_in_memory([batch(pl.Series(arms), range(len(arms)))], ["m"])
