"""Studies in words: answers, budgets and looser goals."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard.statements import Statement
from frontguard.studies.overview import Snapshot
from frontguard.verdicts import Verdict
from frontguard.words.arm_table import counts
from frontguard.words.certificate import guarantee
from frontguard.words.study import answer, enough_pulls, left_to_do, looser, more_to_come
from tests.words.snapshots import SECONDS, set_aside, snapshot_of


@pytest.fixture(scope="module")
def few() -> Snapshot:
    return snapshot_of(4, 2000)


@pytest.fixture(scope="module")
def many() -> Snapshot:
    return snapshot_of(60, 700)


def test_the_answer_is_a_sentence_that_fits_how_it_ended(
    few: Snapshot, many: Snapshot, snapshot: SnapshotAssertion
) -> None:
    assert few.result.status == "certified"
    assert few.result.pareto_set == ["arm 0", "arm 1", "arm 3"]
    assert many.result.status == "budget"
    running = replace(few, result=replace(few.result, status="running"), max_time=90.0)
    nothing = replace(
        few, result=set_aside(few.result, *few.result.arms), failures={"arm 0": Counter({"exit code 1": 20})}
    )
    ended = [answer(few), answer(many), answer(running, "cancelled"), answer(running, "time"), answer(nothing)]
    assert ended == snapshot


def test_the_best_by_one_objective_is_named() -> None:
    one = snapshot_of(3, 3000, (SECONDS,))
    best = {"measured": "3 arms", "arm": "arm 0", "best": "is the fastest"}
    assert answer(one) == Statement.NEAR_BEST(**best, within="5%")
    assert Statement.IN_NEAR_BEST(within="5% in seconds") in guarantee(one.result)


def test_a_looser_tolerance_is_above_what_can_be_reached(few: Snapshot) -> None:
    reach = replace(few.result.certificate, accuracy=(0.0712, 3.0), coverage=(0.05, 3.3))
    assert looser(replace(few, reachable=reach)) == ["seconds=11%", "score=5"]
    endless = replace(few.result.certificate, accuracy=(math.inf, 3.0), coverage=(0.05, 3.3))
    assert looser(replace(few, reachable=endless)) is None


def test_enough_pulls_are_more_than_the_forecast_says(few: Snapshot) -> None:
    assert enough_pulls(few) is None
    budget = enough_pulls(replace(few, pulls_left=1000))
    assert budget is not None
    assert few.pulls + 1000 < budget < few.pulls + 2000


def test_one_arm_is_spoken_of_as_one(snapshot: SnapshotAssertion) -> None:
    one = snapshot_of(1, 400, (SECONDS,))
    two = snapshot_of(1, 400)
    failed = replace(one, result=set_aside(one.result, "arm 0"), failures={"arm 0": Counter({"exit code 1": 9})})
    assert [answer(each) for each in (one, two, failed)] == snapshot


def test_thousands_are_separated_where_people_read_them() -> None:
    shown = snapshot_of(1200, 1200)
    assert shown.result.tally() == {Verdict.UNDECIDED: 1200}
    assert counts(shown.result) == "1,200 undecided"
    assert "1,200" in answer(shown)


def test_a_forecast_is_a_range_and_never_no_time_at_all(few: Snapshot, snapshot: SnapshotAssertion) -> None:
    soon = replace(few, pulls_left=3, rate=10_000.0)
    later = replace(few, pulls_left=1000, rate=10.0)
    least, most = later.pulls_left_range or (0, 0)
    assert 0 < least < 1000 < most
    unknown = replace(few, pulls_left=None)
    assert [(more_to_come(each), left_to_do(each)) for each in (soon, later, unknown)] == snapshot
