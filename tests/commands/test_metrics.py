"""Reading metrics: what counts as a number, and what does not."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frontguard import Objective
from frontguard.commands.arm import last_line, read_metrics
from frontguard.commands.process import Patterns
from frontguard.commands.spec import MetricSource

SIZE = MetricSource("size")


def read(stdout: str, *sources: MetricSource, **options):
    with Patterns() as patterns:
        return read_metrics(sources or (SIZE,), stdout=stdout, measured={}, last_match=patterns.last, **options)


@given(st.one_of(st.floats(allow_nan=False, allow_infinity=False), st.integers(-(10**300), 10**300)))
def test_numbers_are_read_to_the_last_bit(number):
    assert read(json.dumps({"size": number})).values == {"size": float(number)}
    pattern = MetricSource("size", "regex", pattern=r"size: (\S+)")
    assert read(f"size: {number}\n", pattern).values == {"size": float(number)}


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        ("true", "metric 'size' is not a number"),
        ('"12"', "metric 'size' is not a number"),
        ("null", "metric 'size' is not a number"),
        ("[1]", "metric 'size' is not a number"),
        ('{"size": 1}', "metric 'size' is not a number"),
        ("NaN", "metric 'size' is NaN"),
        ("Infinity", "metric 'size' is infinite"),
        ("-Infinity", "metric 'size' is infinite"),
        ("1e999", "metric 'size' is infinite"),
        ("1" + "0" * 400, "metric 'size' is infinite"),
        ("1" + "0" * 10_000, "metric 'size' is infinite"),
        ("nan", "no JSON object on the last line"),
        ("01", "no JSON object on the last line"),
        ("[" * 100_000, "no JSON object on the last line"),
    ],
)
def test_what_is_no_number_fails_alone(written, reason):
    reading = read(f'{{"size": {written}, "other": 3}}', SIZE, MetricSource("other"))
    assert reading.reason == reason
    assert reading.values == {"size": None, "other": None if "JSON" in reason else 3.0}


@pytest.mark.parametrize("value", [0, -1.5])
def test_a_relative_tolerance_wants_positive_values(value, snapshot):
    line = json.dumps({"size": value})
    assert read(line).values == {"size": value}
    reading = read(line, MetricSource("size", objective=Objective("size", "minimize", "5%")))
    assert reading.values == {"size": value}  # kept: with another tolerance it can be used
    assert reading.reason == snapshot


def test_a_mean_wants_values_between_its_bounds_and_true_is_one(snapshot):
    stars = MetricSource("stars", objective=Objective("stars", "maximize", statistic="mean", bounds=(1, 5)))
    reading = read('{"stars": 6}', stars)
    assert reading.values == {"stars": 6.0}  # kept: with other bounds it can be used
    assert reading.reason == snapshot(name="6 stars")
    solved = MetricSource("solved", objective=Objective("solved", "minimize", "5%", statistic="mean", bounds=(0, 1)))
    assert read('{"solved": true}', solved).values == {"solved": 1.0}
    assert read('{"solved": false}', solved) == ({"solved": 0.0}, "", "", "")  # 0 is no failure, though in percent
    refused = read('{"stars": true}', stars)
    assert refused.kind == "true or false"
    assert refused.reason == snapshot(name="true stars")
    assert "--mean stars (Objective(" in refused.detail


def test_keys_may_be_nested_or_have_dots(snapshot):
    line = json.dumps({"a": {"b": {"c": 1}}, "a.b": 2})
    assert read(line, MetricSource("x", key="a.b.c")).values == {"x": 1.0}
    assert read(line, MetricSource("x", key="a.b")).values == {"x": 2.0}
    missing = read(line, MetricSource("x", key="a.z.c"))
    assert missing.reason == "metric 'x' missing"
    assert missing.detail == snapshot


def test_the_last_line_that_is_not_blank_counts():
    assert read('{"size": 1}\n{"size": 2}\n \n\t\n').values == {"size": 2.0}
    assert read('\r\n  {"size": 2}  \r\n').values == {"size": 2.0}
    assert last_line("") == ""


def test_one_missing_object_is_one_failure_and_two_bad_metrics_are_two(snapshot):
    assert read("done", SIZE, MetricSource("b")).reason == snapshot(name="no object")
    two = read('{"b": "x"}', SIZE, MetricSource("b"))
    assert len(two.reason.split("; ")) == 2
    assert two.reason == snapshot(name="two bad metrics")


def test_a_line_whose_beginning_is_lost_is_too_long():
    assert read('": 1, "size": 2}', cut=True).reason == "last line too long"
    assert read('x\n{"size": 2}', cut=True).values == {"size": 2.0}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("no match", "metric 'size': regex did not match"),
        ("size=x", "metric 'size' is not a number"),
        ("size=", "metric 'size' is not a number"),
        ("size=1_000", "metric 'size' is not a number"),
        ("size=nan", "metric 'size' is NaN"),
        ("size=-inf", "metric 'size' is infinite"),
    ],
)
def test_patterns_that_find_no_number(text, reason):
    assert read(text, MetricSource("size", "regex", pattern=r"^size=(\S*)$")).reason == reason


def test_the_last_match_counts_in_the_stream_that_was_named():
    both = "size=1\nsize=2\nend", "size=3\n"
    pattern = r"^size=(\d+)$"
    assert read(both[0], MetricSource("size", "regex", pattern=pattern), stderr=both[1]).values == {"size": 2.0}
    in_stderr = MetricSource("size", "regex", pattern=pattern, stream="stderr")
    assert read(both[0], in_stderr, stderr=both[1]).values == {"size": 3.0}
    unmatched = read("x", MetricSource("size", "regex", pattern="x(1)?"))
    assert unmatched.values == {"size": None}
    assert unmatched.reason.startswith("metric 'size'")
