"""Studies in words: answers, budgets and looser goals."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import replace

import pytest

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


def test_the_answer_is_a_sentence_that_fits_how_it_ended(few: Snapshot, many: Snapshot) -> None:
    assert few.result.status == "certified"
    assert answer(few) == (
        "These 3 of 4 arms are enough: arm 0, arm 1, arm 3. For every other one, one of these is as good in every "
        "objective."
    )
    assert answer(many).startswith("Not certified: the budget is used up after 700 pulls. So far: ")
    running = replace(few, result=replace(few.result, status="running"), max_time=90.0)
    assert answer(running, "cancelled").startswith(f"Interrupted after {few.pulls} pulls. So far: 3 in, 1 out")
    assert answer(running, "time").startswith("Not certified: the time of 1 min 30 s is over.")
    nothing = replace(
        few, result=set_aside(few.result, *few.result.arms), failures={"arm 0": Counter({"exit code 1": 20})}
    )
    assert answer(nothing) == "No arm could be measured: all 4 were set aside after 20 failed pulls."


def test_the_best_by_one_objective_is_named() -> None:
    one = snapshot_of(3, 3000, (SECONDS,))
    assert answer(one) == "Of 3 arms, arm 0 is the fastest, or is within 5% of it."
    assert "no arm is better than one that is in by more than 5% in seconds" in guarantee(one.result)


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


def test_one_arm_is_spoken_of_as_one() -> None:
    one = snapshot_of(1, 400, (SECONDS,))
    assert answer(one) == "arm 0 is the only arm: it is the fastest."
    two = snapshot_of(1, 400)
    assert answer(two) == "arm 0 is the only arm."
    failed = replace(one, result=set_aside(one.result, "arm 0"), failures={"arm 0": Counter({"exit code 1": 9})})
    assert answer(failed) == "No arm could be measured: the only one was set aside after 9 failed pulls."


def test_thousands_are_separated_where_people_read_them() -> None:
    shown = snapshot_of(1200, 1200)
    assert shown.result.tally() == {Verdict.UNDECIDED: 1200}
    assert counts(shown.result) == "1,200 undecided"
    assert "So far: 1,200 undecided." in answer(shown)


def test_a_forecast_is_a_range_and_never_no_time_at_all(few: Snapshot) -> None:
    soon = replace(few, pulls_left=3, rate=10_000.0)
    assert more_to_come(soon).endswith(", less than a second at the present rate")
    assert left_to_do(soon).endswith(" pulls, less than a second, left")
    later = replace(few, pulls_left=1000, rate=10.0)
    assert re.fullmatch(r"about 400 to 2,[0-9]00 more pulls by the forecast, 40 s to 3\.[0-9] min at the present rate",
                        more_to_come(later))  # fmt: skip
    unknown = replace(few, pulls_left=None)
    assert more_to_come(unknown) == "how many more pulls it will take is not known yet"
    assert left_to_do(unknown) == "how long it will take is not known yet"
