"""What is said where nothing is certain: useful, marked as a guess, and without proposals that say nothing."""

from __future__ import annotations

import re
from dataclasses import replace

from frontguard import Objective, Prescient, Study
from frontguard.studies.overview import Snapshot
from frontguard.words import study as of_study
from frontguard.words.analysis import best_guess, holds_now, next_step
from frontguard.words.front import AFTERWARDS
from tests.logs.test_what_if import a_log, asked
from tests.words.test_statements import CLAIMING


def test_nine_repeats_give_a_guess_a_need_and_a_what_if() -> None:
    found = asked(a_log(6, 9), tolerance="5%")
    said = best_guess(found)
    assert said[0] == (
        "Best guess, without any promise: v00, v01, v03, v04. That would be enough if the medians measured were exact."
    )
    assert said[1].startswith("What if: at 80% confidence instead of 95%, 4 arms would have been in (")
    assert said[-1] == AFTERWARDS
    assert not any(CLAIMING.search(line) for line in said)
    (warning,) = found.warnings
    assert warning.endswith(
        "with 6 arms, 2 metrics, ε = 10% and 95% confidence, an arm needs at least 11 pulls before anything can be "
        "said of it"
    )


def test_where_nothing_else_would_help_more_pulls_are_wanted() -> None:
    said = best_guess(asked(a_log(6, 3)))
    assert said[1:] == [
        "No lower confidence or contamination that was tried would decide any arm: it takes more pulls."
    ]


def test_a_tolerance_that_calls_all_arms_alike_is_not_suggested() -> None:
    wild = asked(a_log(4, 13, spread=3.0), tolerance="5%")
    assert max(wild.nearest.amounts(wild.metrics)) > 1.0
    assert "--tolerance" not in next_step(wild)
    assert next_step(wild) == (
        "more repeats of every arm, for these leave it open by more than the arms differ; or a smaller "
        "--contamination, if you can vouch for it."
    )
    few = asked(a_log(6, 9), tolerance="5%")
    assert next_step(few) == (
        "measure the open arms and those that decide them, and add the new rows (--append STATE for both)."
    )
    assert holds_now(wild) is None
    calm = asked(a_log(4, 20, spread=0.3), tolerance="0.1%")
    assert calm.status == "budget"
    (percent,) = set(re.findall(r"--tolerance size=([0-9.]+)%", next_step(calm)))
    assert float(percent) < 100.0


def test_a_run_that_stopped_early_says_what_it_can() -> None:
    metrics = [Objective("seconds", "minimize", "5%"), Objective("size", "minimize", "5%")]
    study = Study(["fast", "small", "bad"], metrics, Prescient(0.1), max_pulls=15)
    values = {"fast": (1.0, 9.0), "small": (9.0, 1.0), "bad": (10.0, 10.0)}
    while pulls := study.ask(4):
        study.tell_many([(pull, values[pull.arm]) for pull in pulls])
    snapshot = Snapshot(study="s", result=study.result())
    assert of_study.answer(snapshot) == (
        "Not certified: the budget is used up after 15 pulls. So far: 3 undecided. Best guess, without any promise: "
        "fast, small. That would be enough if the medians measured were exact. With 3 arms, 2 metrics, ε = 10% "
        "and 95% confidence, an arm needs at least 13 pulls before anything can be said of it; these have 5."
    )
    running = replace(snapshot, result=replace(snapshot.result, status="running"))
    assert "guess" not in of_study.answer(running)
    assert "guess" in of_study.answer(running, "cancelled")
