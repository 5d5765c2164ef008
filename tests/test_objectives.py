"""Objectives against values worked out by hand, mpmath, and numpy's own quantiles."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from frontguard.errors import BadInput
from frontguard.objectives import (
    Objective,
    inward_matrix,
    parse_objectives,
    parse_tolerance,
    tolerances,
)
from tests.support.snapshots import refused

KINDS = [(direction, tolerance) for direction in ("maximize", "minimize") for tolerance in (0.5, "2%")]
kinds = st.sampled_from(KINDS).map(lambda kind: Objective("metric", *kind))
positive = st.floats(1e-300, 1e300)
levels = st.floats(0.01, 0.99)


def every_kind():
    return pytest.mark.parametrize(("direction", "tolerance"), KINDS)


# Tolerances -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "amount", "relative"),
    [
        (0, 0.0, False),
        (0.25, 0.25, False),
        (np.float32(0.5), 0.5, False),
        (np.int64(3), 3.0, False),
        ("0.25", 0.25, False),
        ("1e-3", 0.001, False),
        ("2%", 0.02, True),
        ("2 %", 0.02, True),
        ("  0.5%  ", 0.005, True),
        (".5%", 0.005, True),
        ("5.%", 0.05, True),
        ("0.7%", 0.007, True),  # 0.7 / 100 would be 0.006999999999999999
        ("1e1%", 0.1, True),
        ("0%", 0.0, True),
        ("-0%", 0.0, True),
        ("150%", 1.5, True),
    ],
)
def test_tolerances_are_read(given, amount, relative):
    parsed = parse_tolerance(given)
    assert parsed == (amount, relative)
    assert math.copysign(1.0, parsed.amount) == 1.0


@pytest.mark.parametrize(
    "text", ["abc", "", "%", "2 percent", "2%%", "% 2", "1,5%", "1_0%", "inf%", "nan", "2 3%", "٢%"]
)
def test_texts_that_are_no_tolerance_are_quoted(text, snapshot: SnapshotAssertion):
    with refused(BadInput, snapshot) as caught:
        parse_tolerance(text)
    assert str(caught.value).endswith(repr(text))


@pytest.mark.parametrize("value", ["-1%", "-0.5", -1, -1e-9, "1e400", "1e400%"])
def test_a_tolerance_is_finite_and_not_negative(value, snapshot: SnapshotAssertion):
    with refused(BadInput, snapshot) as caught:
        parse_tolerance(value)
    assert str(caught.value).endswith(repr(value))


@pytest.mark.parametrize("value", [None, True, math.nan, math.inf, [0.1], 1j, b"2%"])
def test_what_is_neither_number_nor_text_is_no_tolerance(value, snapshot: SnapshotAssertion):
    with refused(BadInput, snapshot):
        Objective("speed", "maximize", tolerance=value)


@given(st.integers(0, 10**6), st.integers(0, 6))
def test_a_percentage_is_the_nearest_double_to_what_was_written(number, decimals):
    with mpmath.workdps(50):
        written = mpmath.mpf(number) / 10**decimals
        text = f"{number // 10**decimals}.{number % 10**decimals:0{decimals}d}" if decimals else str(number)
        assert parse_tolerance(f"{text}%").amount == float(written / 100)


def test_inner_tolerance_of_a_percentage_is_a_logarithm():
    with mpmath.workdps(50):
        for text, share in (("2%", "0.02"), ("0.5%", "0.005"), ("150%", "1.5"), ("1e-9%", "1e-11")):
            expected = float(mpmath.log(1 + mpmath.mpf(share)))
            assert Objective("x", "maximize", tolerance=text).inner_tolerance == pytest.approx(expected, rel=1e-15)
    assert Objective("x", "maximize", tolerance=0.3).inner_tolerance == 0.3


@given(st.sampled_from(["maximize", "minimize"]), st.floats(1e-3, 1e3), st.floats(0.5, 2.0), st.floats(0.0, 300.0))
def test_a_relative_tolerance_compares_ratios_whatever_the_direction(direction, value, ratio, percent):
    objective = Objective("x", direction, f"{percent!r}%")
    inner = objective.inward([value, value * ratio])
    larger = max(ratio, 1.0 / ratio)
    allowed = 1.0 + percent / 100.0
    if abs(larger - allowed) > 1e-9:
        assert (abs(inner[1] - inner[0]) <= objective.inner_tolerance) == (larger <= allowed)


# Objectives -----------------------------------------------------------------------------------------------------------


def test_defaults_and_normal_form():
    assert Objective("x", "maximize") == Objective("x", "maximize", 0.0)
    assert (
        Objective("x", "maximize").measured == Objective("x", "maximize", quantile=0.5).measured
    )  # the same, though only one says so
    assert Objective("x", "maximize").by_default
    assert not Objective("x", "maximize", quantile=0.5).by_default
    assert Objective("x", "maximize", tolerance=" 2 % ") == Objective("x", "maximize", tolerance="2%")
    assert Objective("x", "maximize", tolerance="0.5") == Objective("x", "maximize", tolerance=0.5)
    assert not Objective("x", "maximize", tolerance=2).relative
    assert Objective("x", "maximize", tolerance="2%").relative
    assert len({Objective("x", "maximize", tolerance="2 %"), Objective("x", "maximize", tolerance="2%")}) == 1


@pytest.mark.parametrize("name", ["", "  ", None, 3])
def test_a_name_is_needed(name, snapshot: SnapshotAssertion):
    with refused(BadInput, snapshot):
        Objective(name, "maximize")


@pytest.mark.parametrize("direction", ["", "fast", None, 1])
def test_directions_are_two(direction, snapshot: SnapshotAssertion):
    with refused(BadInput, snapshot):
        Objective("x", direction)


@pytest.mark.parametrize("written", ["{}imise", "{}imize ", "{}IMIZE", "{}", "{}imum", "{}imising"])
@pytest.mark.parametrize("beginning", ["min", "max"])
def test_near_misses_of_a_direction_are_understood_as_such(beginning, written, snapshot: SnapshotAssertion):
    given = written.format(beginning)
    for written_so in (lambda: Objective("x", given), lambda: parse_objectives([("x", given)])):
        with refused(BadInput, snapshot) as caught:
            written_so()
        assert str(caught.value).endswith(f"got {given!r}")


@pytest.mark.parametrize("level", [0.0, 1.0, -0.1, 1.5, math.nan, "0.5", True])
def test_levels_lie_between_0_and_1(level, snapshot: SnapshotAssertion):
    with refused(BadInput, snapshot):
        Objective("x", "maximize", quantile=level)


def test_the_level_turns_around_when_minimised():
    assert Objective("x", "maximize", quantile=0.95).inner_quantile == 0.95
    assert Objective("x", "minimize", quantile=0.95).inner_quantile == pytest.approx(0.05, abs=1e-15)
    assert Objective("x", "minimize").inner_quantile == 0.5  # exactly: R is used at the level 1/2 only


@given(kinds, st.lists(positive, min_size=1, max_size=40), levels)
def test_the_quantile_of_the_metric_is_the_inner_quantile(kind, values, level):
    """inverted_cdf is the left quantile Q_L; the inner left quantile of a minimised metric is its right one, Q_R."""
    objective = Objective("metric", kind.direction, kind.tolerance, level)
    n = len(values)
    if abs(n * level - round(n * level)) < 1e-6:
        return  # between two order statistics: left and right quantile differ, and rounding decides between them
    in_units = np.quantile(values, level, method="inverted_cdf")
    inside = np.quantile(objective.inward(values), objective.inner_quantile, method="inverted_cdf")
    assert objective.inward(in_units) == inside


@every_kind()
def test_the_interval_of_all_quantiles_goes_over_into_the_interval(direction, tolerance):
    """With atoms, [Q_L, Q_R] of x at level p becomes [Q_L, Q_R] of the inner values at the inner level."""
    values = [4.0, 1.0, 2.0, 8.0]
    objective = Objective("metric", direction, tolerance, quantile=0.75)  # between 4 and 8
    inner = np.sort(objective.inward(values))
    # Ranks by hand: level 3/4 of 4 values is between ranks 3 and 4; level 1/4 between ranks 1 and 2.
    low, high = (inner[0], inner[1]) if direction == "minimize" else (inner[2], inner[3])
    np.testing.assert_allclose(objective.outward_interval(low, high), (4.0, 8.0), rtol=1e-15)


# Inward and outward ---------------------------------------------------------------------------------------------------


def test_inner_values_by_hand():
    np.testing.assert_array_equal(Objective("x", "maximize").inward([1, -2, 0]), [1.0, -2.0, 0.0])
    np.testing.assert_array_equal(Objective("x", "minimize").inward([1, -2, 0]), [-1.0, 2.0, 0.0])
    e = math.e
    np.testing.assert_allclose(Objective("x", "maximize", "1%").inward([1.0, e, 1 / e]), [0.0, 1.0, -1.0], atol=1e-15)
    np.testing.assert_allclose(Objective("x", "minimize", "1%").inward([1.0, e, 1 / e]), [0.0, -1.0, 1.0], atol=1e-15)


@every_kind()
def test_no_negative_zero_is_shown(direction, tolerance):
    objective = Objective("x", direction, tolerance)
    start = 1.0 if objective.relative else 0.0
    assert not np.signbit(objective.inward([start])).any()
    assert not np.signbit(objective.outward([0.0])).any()


@given(kinds, st.lists(positive, max_size=20))
def test_round_trip(objective, values):
    back = objective.outward(objective.inward(values))
    # exp turns the rounding of a logarithm of at most 691 into a relative error.
    np.testing.assert_allclose(back, values, rtol=1e-12 if objective.relative else 0.0)


@given(st.sampled_from(["maximize", "minimize"]), st.lists(st.floats(allow_nan=False), max_size=20))
def test_round_trip_is_exact_without_logarithms(direction, values):
    objective = Objective("x", direction)
    np.testing.assert_array_equal(objective.outward(objective.inward(values)), values)


@given(kinds, positive, positive)
def test_better_is_larger_inside(objective, one, other):
    better, worse = (min, max) if objective.direction == "minimize" else (max, min)
    best, worst = objective.inward([better(one, other), worse(one, other)])
    assert best >= worst
    if abs(one - other) > 1e-9 * max(one, other):
        assert best > worst


@given(st.floats(1e-300, 1e300), st.integers(0, 40), st.integers(0, 5))
def test_equal_metrics_stay_equal_wherever_they_stand(value, position, column):
    """A difference in the last bit between vector and scalar code would turn a tie into a dominance."""
    objective = Objective("x", "maximize", tolerance="2%")
    matrix = np.ones((41, 6))
    matrix[position, column] = value
    alone = objective.inward(value)
    assert objective.inward(matrix)[position, column] == alone
    assert objective.inward(matrix[:, column])[position] == alone
    assert (
        inward_matrix([Objective(str(d), "maximize", tolerance="2%") for d in range(6)], matrix)[position, column]
        == alone
    )


@every_kind()
def test_failed_measurements_stay_failed(direction, tolerance):
    objective = Objective("x", direction, tolerance)
    for failed in ([1.0, math.nan, 2.0], [1.0, None, 2.0]):
        assert np.isnan(objective.inward(failed)).tolist() == [False, True, False]
    assert np.isnan(objective.outward([math.nan])).all()


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
@pytest.mark.parametrize("bad", [0.0, -0.0, -3.5, -math.inf])
def test_a_relative_tolerance_needs_positive_values(direction, bad, snapshot: SnapshotAssertion):
    objective = Objective("seconds", direction, "2%")
    with pytest.raises(BadInput) as caught:
        objective.inward([1.0, math.nan, bad, -7.0])
    message = str(caught.value)
    for part in ("'seconds'", "(2%)", "positive", "--tolerance seconds=0.5", repr(bad), "at position 2:"):
        assert part in message
    with refused(BadInput, snapshot):
        objective.inward([[1.0, 2.0], [bad, 2.0]])
    with refused(BadInput, snapshot):
        objective.inward(bad)
    Objective("seconds", direction, 0.02).inward([bad])


@pytest.mark.parametrize("values", [["1.5"], "1.5", [True, False], [1j], [1.0, "x", None], [None, True], [object()]])
def test_values_are_numbers(values, snapshot: SnapshotAssertion):
    with refused(BadInput, snapshot):
        Objective("x", "maximize").inward(values)


def test_shape_and_type_are_kept_and_the_input_untouched():
    given = np.arange(1, 7).reshape(3, 2)
    inner = Objective("x", "minimize").inward(given)
    assert inner.shape == (3, 2)
    assert inner.dtype == np.float64
    np.testing.assert_array_equal(given, np.arange(1, 7).reshape(3, 2))
    assert Objective("x", "maximize").inward([]).shape == (0,)
    held = np.ones(2)
    assert not np.shares_memory(Objective("x", "maximize").inward(held), held)
    assert not np.shares_memory(Objective("x", "maximize").outward(held), held)


# Intervals ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("direction", "tolerance", "low", "high", "expected"),
    [
        ("maximize", 0.0, -math.inf, math.inf, (-math.inf, math.inf)),
        ("minimize", 0.0, -math.inf, math.inf, (-math.inf, math.inf)),
        ("maximize", "1%", -math.inf, math.inf, (0.0, math.inf)),
        ("minimize", "1%", -math.inf, math.inf, (0.0, math.inf)),
        ("maximize", "1%", 0.0, math.inf, (1.0, math.inf)),
        ("minimize", "1%", 0.0, math.inf, (0.0, 1.0)),
        ("minimize", "1%", -math.inf, 0.0, (1.0, math.inf)),
        ("minimize", 0.0, -3.0, math.inf, (-math.inf, 3.0)),
        ("maximize", "1%", -1e4, 1e4, (0.0, math.inf)),  # beyond doubles, without a warning
    ],
)
def test_infinite_ends(direction, tolerance, low, high, expected):
    ends = Objective("x", direction, tolerance).outward_interval(low, high)
    assert (float(ends[0]), float(ends[1])) == expected


@given(kinds, st.floats(-600, 600), st.floats(-600, 600))
def test_intervals_are_ordered_in_the_users_units_and_contain_what_they_contained(objective, one, other):
    low, high = min(one, other), max(one, other)
    middle = objective.outward(0.5 * (low + high))
    shown_low, shown_high = objective.outward_interval(low, high)
    assert shown_low <= middle <= shown_high


def test_intervals_of_many_at_once_and_empty_ones():
    low, high = Objective("x", "minimize").outward_interval([[-3.0, -9.0]], [[-2.0, -9.5]])
    np.testing.assert_array_equal(low, [[2.0, 9.5]])
    np.testing.assert_array_equal(high, [[3.0, 9.0]])  # 9.5 > 9: an empty interval stays visibly empty


# Several objectives ---------------------------------------------------------------------------------------------------


def test_objectives_are_read():
    own = Objective("size", "minimize", "1%", 0.9)
    parsed = parse_objectives([own, ("quality", "maximize"), ("seconds", "minimize"), ["speed", "maximize"]])
    assert parsed[0] is own
    assert parsed[1:] == (
        Objective("quality", "maximize"),
        Objective("seconds", "minimize"),
        Objective("speed", "maximize"),
    )
    assert parse_objectives(name for name in ("ms", "size")) == (Objective("ms"), Objective("size"))


@pytest.mark.parametrize(
    "given",
    [
        [],
        ["ms", "size", "ms"],
        [Objective("a", "maximize"), ("a", "minimize")],
        ["ms", ""],
        [("a", "down")],
        ("seconds", "minimize"),
        [("a", "minimize", 0.1)],
        ["ms", 3],
        [("a", 1)],
        "seconds",
        Objective("a", "maximize"),
        {"seconds": "minimize"},
        None,
    ],
)
def test_what_is_no_list_of_objectives(given, snapshot: SnapshotAssertion):
    with refused(BadInput, snapshot):
        parse_objectives(given)


def test_columns_become_inner_columns():
    objectives = parse_objectives([("a", "maximize"), ("b", "minimize"), Objective("c", "minimize", "10%", 0.9)])
    inner = inward_matrix(objectives, [[1, 2, 1], [3, 4, math.nan]])
    np.testing.assert_allclose(inner, [[1.0, -2.0, 0.0], [3.0, -4.0, math.nan]])
    assert inner.flags.c_contiguous
    np.testing.assert_allclose(tolerances(objectives), [0.0, 0.0, 0.09531017980432487], rtol=1e-14)
    np.testing.assert_allclose([each.inner_quantile for each in objectives], [0.5, 0.5, 0.1])
    assert tolerances(objectives).dtype == np.float64
    assert inward_matrix(objectives, np.empty((0, 3))).shape == (0, 3)


@pytest.mark.parametrize("values", [[1.0, 2.0], [[1.0], [2.0]], 3.0, [[[1.0, 2.0]]]])
def test_columns_must_fit(values, snapshot: SnapshotAssertion):
    with refused(BadInput, snapshot):
        inward_matrix(parse_objectives([("a", "maximize"), ("b", "maximize")]), values)


def test_a_wrong_value_is_found_in_its_column(snapshot: SnapshotAssertion):
    objectives = [Objective("a", "maximize"), Objective("seconds", "minimize", "2%")]
    with refused(BadInput, snapshot):
        inward_matrix(objectives, [[1.0, 1.0], [1.0, -1.0]])


def test_a_known_deviation_has_no_percentages(snapshot: SnapshotAssertion):
    with refused(BadInput, snapshot):
        Objective("volts", "minimize", "5%", statistic="mean", sigma=0.2)
