"""Studies in words: answers, budgets and looser goals."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard.policies.forecast import likely
from frontguard.results import Answer
from frontguard.statements import Statement
from frontguard.verdicts import Verdict
from frontguard.words.answers import answer, enough_pulls, looser, more_to_come
from frontguard.words.arm_table import counts
from frontguard.words.certificate import guarantee
from tests.words.snapshots import SECONDS, exclude, in_state, snapshot_of


@pytest.fixture(scope="module")
def few() -> Answer:
    return snapshot_of(4, 2000)


@pytest.fixture(scope="module")
def many() -> Answer:
    return snapshot_of(60, 700)


def test_the_answer_is_a_sentence_that_fits_how_it_ended(
    few: Answer, many: Answer, snapshot: SnapshotAssertion
) -> None:
    assert few.status == "certified"
    assert few.pareto_set == ["arm 0", "arm 1", "arm 3"]
    assert many.status == "budget"
    running = in_state(replace(few, status="running"), max_time=90.0)
    nothing = in_state(exclude(few, *few.arms), failures={"arm 0": Counter({"exit code 1": 20})})
    ended = [answer(few), answer(many), answer(running, "cancelled"), answer(running, "time"), answer(nothing)]
    assert ended == snapshot


def test_the_best_by_one_objective_is_named() -> None:
    one = snapshot_of(3, 3000, (SECONDS,))
    best = Statement.IT_IS(place=Statement.AS_NEAR_BEST(best="fastest", within="5%"))
    assert answer(one) == f"{Statement.KEPT(count=1, measured='3 arms', arms=': arm 0')} {best}"
    assert Statement.KEPT_WITHIN(within="5% in seconds") in guarantee(one)


def test_a_looser_tolerance_is_above_what_can_be_reached(few: Answer) -> None:
    reach = replace(few.certificate, accuracy=(0.0712, 3.0), coverage=(0.05, 3.3))
    assert looser(in_state(few, reachable=reach)) == ["seconds=11%", "score=5"]
    endless = replace(few.certificate, accuracy=(math.inf, 3.0), coverage=(0.05, 3.3))
    assert looser(in_state(few, reachable=endless)) is None


def test_enough_pulls_are_more_than_the_forecast_says(few: Answer) -> None:
    assert enough_pulls(few) is None
    budget = enough_pulls(in_state(few, pulls_left=1000))
    assert budget is not None
    assert few.pulls + 1000 < budget < few.pulls + 2000


def test_one_arm_is_spoken_of_as_one(snapshot: SnapshotAssertion) -> None:
    one = snapshot_of(1, 400, (SECONDS,))
    two = snapshot_of(1, 400)
    failed = in_state(exclude(one, "arm 0"), failures={"arm 0": Counter({"exit code 1": 9})})
    assert [answer(each) for each in (one, two, failed)] == snapshot


def test_thousands_are_separated_where_people_read_them() -> None:
    shown = snapshot_of(1200, 1200)
    assert shown.tally() == {Verdict.UNDECIDED: 1200}
    assert counts(shown) == "1,200 undecided"
    assert "1,200" in answer(shown)


def test_a_forecast_is_a_range_and_never_no_time_at_all(few: Answer, snapshot: SnapshotAssertion) -> None:
    soon = in_state(few, pulls_left=3, pulls_left_range=likely(3, few.pulls), pulls_a_second=10_000.0)
    later = in_state(few, pulls_left=1000, pulls_left_range=likely(1000, few.pulls), pulls_a_second=10.0)
    least, most = later.state.pulls_left_range or (0, 0)
    assert 0 < least < 1000 < most
    unknown = in_state(few, pulls_left=None)
    assert [more_to_come(each) for each in (soon, later, unknown)] == snapshot
