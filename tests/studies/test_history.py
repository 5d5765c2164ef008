"""What is recorded while a log is read: moments of the answer, and pulls over time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from frontguard import Objective, Prescient, Study
from frontguard.evidence.intervals import HIGH, LOW
from frontguard.storage.contract import MemoryStorage
from frontguard.studies import follow as history
from frontguard.studies.follow import MOST_MOMENTS, Follower, Moment, Recorder, rate_of
from frontguard.studies.replay import Replay
from frontguard.studies.settings import Settings
from tests.studies.naive_replay import naive_policy

OBJECTIVES = (Objective("seconds", "minimize", "0.1%"), Objective("quality", "maximize", 0.01))
ARMS = 6


@pytest.fixture(scope="module")
def storage() -> MemoryStorage:
    """A study of some hundred plans, a tenth of whose pulls failed, between two plans."""
    storage = MemoryStorage()
    study = Study(ARMS, OBJECTIVES, Prescient(0.1), storage=storage, name="s", seed=2, blocks=False)
    rng = np.random.default_rng(7)
    for _ in range(260):
        for pull in study.ask(12):
            if rng.random() < 0.05:
                study.fail(pull, "crashed")
            else:
                study.tell(pull, [float(np.exp(rng.normal(pull.index / 10, 0.1))), float(rng.normal(pull.index / 5))])
    for pull in study.ask(30)[:17]:
        study.tell(pull, [1.0, 1.0])
    return storage


def assert_is(moment: Moment, storage: MemoryStorage, plan: int | None) -> None:
    """It is what a replay that stops at a plan's decision knows, in the metrics' units."""
    policy, pulls = naive_policy(storage, "s", plan)
    assert moment.pulls == pulls
    np.testing.assert_array_equal(moment.pulls_per_arm, policy.pulls_per_arm)
    np.testing.assert_array_equal(moment.verdict_codes, policy.verdict_codes)
    low, high, estimates = policy.standing.intervals[:, LOW], policy.standing.intervals[:, HIGH], policy.estimates
    np.testing.assert_array_equal(moment.low[:, 0], np.exp(-high[:, 0]))  # minimised, and relative
    np.testing.assert_array_equal(moment.high[:, 0], np.exp(-low[:, 0]))
    np.testing.assert_array_equal(moment.low[:, 1], low[:, 1])
    np.testing.assert_array_equal(moment.high[:, 1], high[:, 1])
    np.testing.assert_array_equal(moment.estimates[:, 1], estimates[:, 1])
    assert (moment.low <= moment.high).all()
    certain = policy.outlook().in_units(OBJECTIVES).amounts(OBJECTIVES)
    assert tuple(moment.uncertain) == certain
    assert moment.at == storage.told("s").at[pulls - 1]


def test_every_moment_is_a_replay_that_stops_there(storage: MemoryStorage) -> None:
    moments = Follower(storage, "s").catch_up().history.moments
    plans = {plan.told: plan.number for plan in storage.plans("s")}  # the last one that counts so many
    assert len(plans) > 100
    assert 50 < len(moments) <= MOST_MOMENTS
    assert (np.diff([moment.pulls for moment in moments]) > 0).all()
    assert moments[-1].pulls == storage.size("s")[1] not in plans
    for moment in moments[:-1:5]:
        assert_is(moment, storage, plans[moment.pulls])
    assert_is(moments[-1], storage, None)


def test_moments_are_thinned_out_evenly_in_the_logarithm(storage: MemoryStorage) -> None:
    settings = Settings.from_json(storage.settings("s"))
    replay, recorder = Replay(settings), Recorder(settings, most=20)
    replay.catch_up(storage, "s", on_decision=recorder.look)
    kept = recorder.history(history.moment_of(replay.with_everything())).moments
    pulls = np.array([moment.pulls for moment in kept], np.float64)
    assert 15 <= len(kept) <= 20
    assert pulls[0] == min(plan.told for plan in storage.plans("s") if plan.told)
    possible = np.unique([plan.told for plan in storage.plans("s") if plan.told])
    steps = np.diff(np.log(pulls))
    even = np.log(pulls[-1] / pulls[0]) / 20
    assert steps.max() <= max(3 * even, np.diff(np.log(possible)).max() + 1e-12)


def test_moments_do_not_depend_on_when_the_log_was_read(
    storage: MemoryStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("frontguard.studies.follow.PIECE", 100)
    whole = Follower(storage, "s").catch_up().history
    monkeypatch.setattr("frontguard.studies.follow.PIECE", 10**6)
    pieces = Follower(storage, "s").catch_up().history
    assert [moment.pulls for moment in whole.moments] == [moment.pulls for moment in pieces.moments]
    assert whole.arms == tuple(str(arm) for arm in range(ARMS))
    assert whole.objectives == OBJECTIVES


def test_many_arms_have_fewer_moments(storage: MemoryStorage) -> None:
    settings = Settings.from_json(storage.settings("s"))
    assert Recorder(settings).most == MOST_MOMENTS
    many = replace(settings, arms=tuple(str(arm) for arm in range(20_000)))
    assert 8 * 20_000 * (2 + 3 * 2) * Recorder(many).most <= history.MOST_BYTES < 8 * 20_000 * 8 * 41
    assert Recorder(replace(settings, arms=tuple(map(str, range(400_000))))).most == 2


def test_a_study_without_pulls_has_the_present_alone() -> None:
    storage = MemoryStorage()
    Study(2, [("x", "maximize")], Prescient(0.1), storage=storage, name="s")
    overview = Follower(storage, "s").catch_up()
    (moment,) = overview.history.moments
    assert (moment.pulls, moment.at) == (0, 0.0)
    assert np.isinf(moment.high).all()
    assert np.isinf(moment.uncertain).all()
    assert np.isnan(moment.estimates).all()
    assert len(overview.rate.told) == len(overview.rate.failed) == 0


# Pulls over time

MOMENTS = st.lists(st.floats(0.01, 5000.0).map(lambda seconds: 1.7e9 + seconds), max_size=60)


@given(st.lists(MOMENTS, max_size=6), st.integers(2, 12), st.integers(0, 10**6))
def test_spans_are_a_histogram(parts: list[list[float]], most: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    every: list[float] = []
    for part in parts:
        every += part
        bad = rng.random(len(every)) < 0.3
        rate = rate_of(np.array(every), bad, most)
        assert len(rate.told) <= most
        if not every:
            continue
        told, _ = np.histogram(every, rate.edges)
        np.testing.assert_array_equal(rate.told, told)
        np.testing.assert_array_equal(rate.failed, np.histogram(np.array(every)[bad], rate.edges)[0])
        assert rate.told.sum() == len(every)
        widths = np.diff(rate.edges)
        assert (widths == widths[0]).all()
        assert rate.edges[0] <= min(every)
        assert max(every) < rate.edges[-1]


def test_spans_are_no_wider_than_they_have_to_be() -> None:
    at = 1.7e9 + np.arange(0.0, 3600.0, 0.5)
    rate = rate_of(at, np.zeros(len(at), np.bool_))
    assert history.MOST_SPANS / 2 < len(rate.told) <= history.MOST_SPANS
    assert rate.edges[0] == 1.7e9
    np.testing.assert_allclose(rate.told[:-1] / np.diff(rate.edges)[:-1], 2.0)


def test_pulls_told_at_no_known_moment_are_left_out() -> None:
    assert rate_of(np.array([0.0, np.nan, 5.0]), np.zeros(3, np.bool_)).told.tolist() == [1]
