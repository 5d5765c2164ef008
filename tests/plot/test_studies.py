"""How a study goes: boxes that shrink, the certificate against the goal, pulls a minute, and raw values."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard import Objective, plot
from frontguard.errors import BadInput
from frontguard.plot.picture import FAILED, FORECAST, SUSPECT, VALUE, Band, Bars, Lines, Panel, Points, Rule
from frontguard.plot.studies import INFEASIBLE
from frontguard.studies.alarms import suspects
from frontguard.studies.follow import History, Moment, Rate
from tests.plot.made import BEATEN, KEEP, MEMORY, POINTS, QUALITY, SECONDS, UNDECIDED, made_history, made_measurements
from tests.support.snapshots import refused, said


def bands(panel: Panel) -> dict[int | None, Band]:
    return {layer.key: layer for layer in panel.layers if isinstance(layer, Band)}


def test_bands_are_the_intervals_over_the_pulls_of_the_study() -> None:
    history = made_history()
    picture = plot.shrinking(history, ["arm 3", 0])
    assert [look.label for look in picture.legend] == ["arm 3", "arm 0"]
    for d, panel in enumerate(picture.panels):
        assert (panel.y.title, panel.y.better) == (("seconds", "lower"), ("quality", "higher"))[d]
        assert panel.x.scale == "log"
        assert set(bands(panel)) == {3, 0}
        for arm, band in bands(panel).items():
            bounded = history.moments[1:]  # nothing is known at the first
            assert band.x[::2].tolist() == [moment.pulls for moment in bounded]  # and corners between them
            for k, moment in enumerate(bounded):
                assert (band.low[2 * k], band.high[2 * k]) == (moment.low[arm, d], moment.high[arm, d])
        lines = {layer.keys[0]: layer.y[0, ::2].tolist() for layer in panel.layers if isinstance(layer, Lines)}
        assert lines == {arm: [m.estimates[arm, d] for m in history.moments] for arm in (3, 0)}


def test_boxes_that_were_wide_once_do_not_squash_what_came_of_them() -> None:
    history = made_history()
    first = history.moments[1]
    wild = replace(first, high=first.high + 1e6)
    panel = plot.shrinking(replace(history, moments=(wild, *history.moments[2:])), [0]).panels[0]
    last = history.moments[-1]
    assert panel.y.high is not None
    assert last.high[0, 0] < panel.y.high < 10.0 * last.high[0, 0]


def test_the_front_and_its_nearest_rivals_are_chosen() -> None:
    medians = np.array([[1.0], [9.0], [2.0], [1.1], [5.0], [1.4], [7.0], [8.0]])
    codes = np.array([KEEP, BEATEN, BEATEN, BEATEN, UNDECIDED, BEATEN, BEATEN, BEATEN])
    pulls = np.array([9, 5, 20, 40, 8, 30, 10, 7])
    moment = Moment(100, 0.0, pulls, codes, medians, medians - 0.1, medians + 0.1, np.array([0.3]))
    history = History(tuple("abcdefgh"), (MEMORY,), (moment,))
    # In first, then who is still open, then who is out, the most pulled first.
    assert [look.label for look in plot.shrinking(history).legend] == ["a", "e", "d", "f", "c", "g"]


def test_at_most_six_arms_and_only_those_that_exist(snapshot: SnapshotAssertion) -> None:
    history = made_history()
    assert len(plot.shrinking(history).legend) == 6
    beyond: list[list[str | int]] = [[], list(range(7)), [0, 0], ["arm 0", 0]]
    for wrong in beyond:
        with refused(BadInput, snapshot):
            plot.shrinking(history, wrong)
    unknown: list[list[str | int]] = [["nobody"], [9], [-1], [True]]
    for nobody in unknown:
        with refused(BadInput, snapshot):
            plot.shrinking(history, nobody)
    with refused(BadInput, snapshot):
        plot.shrinking(replace(history, moments=()))


def test_certainty_is_counted_in_tolerances() -> None:
    history = made_history(objectives=(SECONDS, QUALITY))  # within 5 % and 0.1
    picture = plot.certainty(history)
    (panel,) = picture.panels
    lines = [layer for layer in panel.layers if isinstance(layer, Lines)]
    for line, goal in zip(lines, (0.05, 0.1), strict=True):
        known = line.y[0, ::2]
        assert np.isnan(known[0])
        naive = [moment.uncertain[0] / goal for moment in history.moments[1:]]
        assert known[1:].tolist() == pytest.approx(naive)
    assert [layer.at for layer in panel.layers if isinstance(layer, Rule)] == [1.0]
    assert panel.y.scale == "log"


def test_the_forecast_leads_to_the_goal() -> None:
    history = made_history()
    layers = plot.certainty(history, pulls_left=2000).panels[0].layers
    (ahead,) = [layer for layer in layers if isinstance(layer, Lines) and layer.look is FORECAST]
    # 3/√3000 = 0.0548: more than 5 % of seconds, and within 0.1 of quality.
    assert ahead.x.tolist() == [[3000.0, 5000.0]]
    assert ahead.y.tolist() == [[pytest.approx(3.0 / np.sqrt(3000.0) / 0.05), 1.0]]
    nothing_yet = replace(history, moments=history.moments[:1])
    layers = plot.certainty(nothing_yet, pulls_left=100).panels[0].layers
    (mark,) = [layer for layer in layers if isinstance(layer, Points)]
    assert (mark.x.tolist(), mark.y.tolist()) == ([120.0], [1.0])


def test_objectives_without_a_goal_are_left_out_and_named(snapshot: SnapshotAssertion) -> None:
    picture = plot.certainty(made_history(objectives=(POINTS, QUALITY)))
    assert [look.label for look in picture.legend] == ["quality", "goal"]
    assert said(picture.caption) == snapshot
    nothing = plot.certainty(made_history(objectives=(POINTS,)))
    assert said(nothing.panels[0].note) == snapshot


def test_what_was_as_good_as_unknown_does_not_squash_the_rest() -> None:
    history = made_history()
    huge = replace(history.moments[1], uncertain=np.array([1e30, 1e30]))
    panel = plot.certainty(replace(history, moments=(huge, *history.moments[2:]))).panels[0]
    assert panel.y.high == 300.0


def test_the_rate_is_pulls_a_minute() -> None:
    rate = Rate(1.7e9 + np.array([0.0, 30.0, 60.0, 90.0]), np.array([10, 0, 30]), np.array([1, 0, 0]))
    told, failed = [layer for layer in plot.rate(rate).panels[0].layers if isinstance(layer, Bars)]
    assert told.high.tolist() == [20.0, 0.0, 60.0]
    assert failed.high.tolist() == [2.0, 0.0, 0.0]
    assert told.at.tolist() == [0.25, 0.75, 1.25]  # minutes
    assert told.thickness <= 0.5
    assert plot.rate(rate).panels[0].x.title == "minutes since 2023-11-14 22:13 UTC"
    long = replace(rate, edges=1.7e9 + 1e5 * np.array([0.0, 1.0, 2.0, 3.0]))
    assert plot.rate(long).panels[0].x.title.startswith("days since")


@pytest.mark.parametrize("edges", [[], [5.0], [5.0, 5.0]])
def test_the_rate_of_nothing_is_empty(edges: list[float], snapshot: SnapshotAssertion) -> None:
    n = max(0, len(edges) - 1)
    picture = plot.rate(Rate(np.array(edges), np.zeros(n, np.int64), np.zeros(n, np.int64)))
    assert said(picture.panels[0].note) == snapshot


# Raw values -----------------------------------------------------------------------------------------------------------


def attacked(n: int = 300, seed: int = 0) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    rng = np.random.default_rng(seed)
    values = np.stack([np.exp(rng.normal(0.0, 0.1, n)), rng.normal(3.0, 0.2, n)], axis=1)
    values[::10, 1] = -1.0  # lies that can be shown
    values[5, 1] = -1e7  # and one far away
    values[17] = np.nan
    return values


def places(panel: Panel) -> dict[str, dict[float, float]]:
    return {
        layer.look.label: dict(zip(layer.x.tolist(), layer.y.tolist(), strict=True))
        for layer in panel.layers
        if isinstance(layer, Points)
    }


def test_each_pull_is_shown_once_as_what_it_is() -> None:
    values = attacked()
    picture = plot.measurements(made_measurements(values, (SECONDS, QUALITY)), objective="quality", contamination=0.15)
    (panel,) = picture.panels
    shown = places(panel)
    suspected = suspects(values[:, 1])
    everything = [x for group in shown.values() for x in group]
    assert sorted(everything) == [float(k) for k in range(1, 301)]
    assert list(shown[FAILED.label]) == [18.0]
    assert list(shown[INFEASIBLE.label]) == [6.0]
    marked = {k + 1.0 for k in np.flatnonzero(suspected).tolist()} - {6.0}
    assert set(shown[SUSPECT.label]) == marked
    assert {k * 10 + 1.0 for k in range(30)} <= marked
    for group in (VALUE.label, SUSPECT.label):
        for x, y in shown[group].items():
            assert y == values[int(x) - 1, 1]
    assert panel.y.low is not None
    assert panel.y.high is not None
    assert -20.0 < panel.y.low <= shown[INFEASIBLE.label][6.0]
    assert shown[INFEASIBLE.label][6.0] <= -1.0
    assert suspected.sum() == 31
    assert panel.note == "31 of 300 suspected (10%; 15% declared); 1 failed"
    assert panel.title == ""


@pytest.mark.parametrize(
    ("n", "lies", "contamination", "note"),
    [
        (51, 6, 0.1, "6 of 51 suspected (12%; 10% declared)"),
        (51, 6, None, "6 of 51 suspected (12%)"),
        (400, 2, 0.125, "2 of 400 suspected (0.5%; 12.5% declared)"),
        (0, 0, 0.1, "0 of 0 suspected (10% declared)"),
        (0, 0, None, "0 of 0 suspected"),
    ],
)
def test_a_note_says_how_many_are_suspected(n: int, lies: int, contamination: float | None, note: str) -> None:
    values = np.random.default_rng(0).uniform(3.0, 4.0, (n, 1))
    values[:lies] = -50.0
    picture = plot.measurements(made_measurements(values, (QUALITY,)), contamination=contamination)
    assert picture.panels[0].note == note


def test_hints_tell_pull_value_reason_and_worker(snapshot: SnapshotAssertion) -> None:
    measured = made_measurements([[1.0], [np.nan], [1.1]], (SECONDS,))
    hints = {
        h for layer in plot.measurements(measured).panels[0].layers if isinstance(layer, Points) for h in layer.hints
    }
    assert said("\n".join(sorted(hints))) == snapshot


def test_the_interval_is_the_last_moments() -> None:
    history = made_history()
    panel = plot.measurements(made_measurements(attacked(), (SECONDS, QUALITY), arm=2), history).panels[0]
    (band,) = [layer for layer in panel.layers if isinstance(layer, Band)]
    last = history.moments[-1]
    assert (band.low.tolist(), band.high.tolist()) == ([last.low[2, 0]] * 2, [last.high[2, 0]] * 2)
    (rule,) = [layer for layer in panel.layers if isinstance(layer, Rule)]
    assert rule.at == last.estimates[2, 0]


def test_without_a_history_the_quantile_of_the_values_is_drawn() -> None:
    p95 = replace(QUALITY, quantile=0.95)
    values = np.arange(101.0)[:, None]
    panel = plot.measurements(made_measurements(values, (p95,))).panels[0]
    assert [layer.at for layer in panel.layers if isinstance(layer, Rule)] == [95.0]
    assert not any(isinstance(layer, Band) for layer in panel.layers)


def test_the_last_pulls_of_many_keep_their_numbers() -> None:
    panel = plot.measurements(made_measurements(attacked(), (SECONDS, QUALITY), after=1000 - len(attacked()))).panels[0]
    numbers = [x for group in places(panel).values() for x in group]
    assert (min(numbers), max(numbers)) == (701.0, 1000.0)


@pytest.mark.parametrize(
    "values",
    [np.empty((0, 1)), [[np.nan]], [[2.0]], [[0.0], [0.0], [0.0]], [[1.0], [1.0], [5.0]]],
    ids=["none", "failed", "one", "zeros", "nearly equal"],
)
def test_few_equal_or_failed_values_are_no_trouble(values: list[list[float]]) -> None:
    panel = plot.measurements(made_measurements(values, (QUALITY,))).panels[0]
    assert panel.y.low is not None
    assert panel.y.high is not None
    assert np.isfinite([panel.y.low, panel.y.high]).all()
    assert panel.y.low < panel.y.high
    assert sum(len(group) for group in places(panel).values()) == len(values)


def test_an_objective_that_is_not_there_is_refused(snapshot: SnapshotAssertion) -> None:
    measured = made_measurements(attacked(), (SECONDS, QUALITY))
    assert len(plot.measurements(measured).panels) == 2
    assert plot.measurements(measured, objective=1).panels[0].y.title == "quality"
    for wrong in ("nonsense", 2, -1, True):
        with refused(BadInput, snapshot):
            plot.measurements(measured, objective=wrong)


# What counts is a mean, or the value ----------------------------------------------------------------------------------

RATE = Objective("solved", "maximize", statistic="mean", bounds=(0, 1))


def test_values_of_a_rate_are_counted_and_none_is_suspected(snapshot: SnapshotAssertion) -> None:
    values = np.repeat([1.0, 0.0, np.nan], [57, 3, 2])[:, None]
    picture = plot.measurements(made_measurements(values, (RATE,)), contamination=0.01)
    panel = picture.panels[0]
    assert panel.note == "3 × 0, 57 × 1; 2 failed"
    rule = next(layer for layer in panel.layers if isinstance(layer, Rule))
    assert rule.at == pytest.approx(0.95)  # the mean: the median is 1
    points = {layer.look: layer for layer in panel.layers if isinstance(layer, Points)}
    assert set(points) == {VALUE, FAILED}
    assert points[VALUE].y.tolist() == values[:60, 0].tolist()
    assert points[VALUE].hints[0].startswith("pull 0: 1,")  # as measured
    assert said(f"{picture.description}\n{picture.caption}") == snapshot


def test_values_out_of_bounds_are_failed_ones() -> None:
    stars = Objective("stars", "maximize", statistic="mean", bounds=(1, 5))
    panel = plot.measurements(made_measurements([[4.0], [301.0], [2.0]], (stars,))).panels[0]
    assert panel.note == "1 × 2, 1 × 4; 1 failed"
    assert next(layer.at for layer in panel.layers if isinstance(layer, Rule)) == 3.0


def test_what_is_exact_has_no_band_and_one_value(snapshot: SnapshotAssertion) -> None:
    size = Objective("bytes", "minimize", exact=True)
    picture = plot.measurements(made_measurements([[950.0]] * 9, (size,)))
    assert picture.panels[0].note == "9 × 950"
    assert not bands(picture.panels[0])
    assert said(picture.description) == snapshot
