"""The text of the certificate: it says what is proved, of which arms, and against whom; and no more."""

from __future__ import annotations

import math

import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard import Objective
from frontguard.statements import Statement
from frontguard.verdicts import Verdict
from frontguard.words.answers import front_in_words
from frontguard.words.certificate import assumptions, certainty, explanation, guarantee, sentence, tolerance_in_words
from tests.words.results import BYTES, FEASIBLE, SECONDS, certificate, result

KEEP, BEATEN, MATCHED, OPEN, EXCLUDED_ARMS = (
    Verdict.KEEP,
    Verdict.BEATEN,
    Verdict.MATCHED,
    Verdict.UNDECIDED,
    Verdict.EXCLUDED,
)


def in_both(seconds: float, size: float) -> str:
    return f"{seconds:g} in each metric" if seconds == size else f"{seconds:g} in seconds and {size:g} in bytes"


def test_without_a_tolerance_arms_are_on_the_front_and_with_one_they_are_not_beaten_by_more() -> None:
    exact, about = result([KEEP, BEATEN]), result([KEEP, BEATEN], FEASIBLE)
    within, on_front = in_both(0.5, 10), Statement.ON_FRONT(names="seconds and bytes")
    assert on_front in front_in_words(exact)
    assert Statement.NONE_DOMINATES() in guarantee(exact)
    assert Statement.NEAR_FRONT(within=within) in front_in_words(about)
    assert on_front not in front_in_words(about)
    assert Statement.KEPT_WITHIN(within=within) in guarantee(about)
    assert Statement.NONE_DOMINATES() not in guarantee(about)


def test_a_policy_that_promises_less_than_the_tolerances_say_is_taken_at_its_word() -> None:
    biased = result([KEEP, BEATEN], promise=certificate(0.3, 0.2), policy="R-PSI")
    assert Statement.NEAR_FRONT(within=in_both(0.3, 0.3)) in front_in_words(biased)
    assert Statement.MISSED_WITHIN(within=in_both(0.2, 0.2)) in guarantee(biased)


def test_by_one_objective_the_best_is_named_up_to_the_tolerance(snapshot: SnapshotAssertion) -> None:
    asked = [
        (verdicts, metrics)
        for metrics in ([SECONDS], FEASIBLE[:1])
        for verdicts in ([KEEP, BEATEN], [KEEP, KEEP, BEATEN])
    ]
    assert [front_in_words(result(*each)) for each in asked] == snapshot


@pytest.mark.parametrize(
    ("threat", "against"),
    [
        ("oblivious", Statement.BY_CHANCE(eps="10%", attacker="an oblivious")),
        ("malicious", Statement.BY_CHANCE(eps="10%", attacker="a malicious")),
        ("share", Statement.BY_SHARE(eps="10%")),
    ],
    ids=["oblivious", "malicious", "share"],
)
def test_against_whom_it_holds(threat: str, against: str, snapshot: SnapshotAssertion) -> None:
    promise = certificate(threat=threat)
    assert against in guarantee(result([KEEP, BEATEN], promise=promise))
    assert against in str(promise)
    (first, *_) = assumptions(result([KEEP], promise=promise))
    assert first == snapshot


def test_both_clauses_speak_of_the_arms_that_could_be_measured(snapshot: SnapshotAssertion) -> None:
    of = result([KEEP, BEATEN, EXCLUDED_ARMS, EXCLUDED_ARMS])
    scope = Statement.SCOPE(arms="2 arms", excluded="c, d")
    assert scope in guarantee(of)
    assert scope in str(certificate(arms=2, excluded=("c", "d")))
    assert scope not in str(certificate(arms=2))
    assert front_in_words(of) == snapshot


def test_a_study_that_stopped_early_promises_what_holds_of_the_set_that_is_printed() -> None:
    nothing = result([OPEN, OPEN], FEASIBLE, status="budget", promise=certificate(0.0, math.inf))
    assert Statement.SOME_MISSED() in guarantee(nothing)
    assert Statement.NONE_MISSED() not in guarantee(nothing)
    some = result([KEEP, OPEN], FEASIBLE, status="budget", promise=certificate(0.0, math.inf))
    assert Statement.KEPT_WITHIN(within=in_both(0.5, 10)) in guarantee(some)
    assert Statement.SOME_MISSED() in guarantee(some)
    assert Statement.SOME_MISSED() in str(certificate(0.0, math.inf))
    unknown = result([KEEP, OPEN], FEASIBLE, status="budget", promise=certificate(0.0, 3.0, arms=None))
    assert guarantee(unknown) == guarantee(some)  # as earlier versions printed it: not of the set that is printed
    bounded = result([KEEP, OPEN], FEASIBLE, status="budget", promise=certificate(0.0, 3.0))
    assert Statement.OPEN() in guarantee(bounded)
    assert Statement.MISSED_WITHIN(within=in_both(3, 3)) in guarantee(bounded)


@pytest.mark.parametrize(
    ("void", "why"),
    [
        ("running", Statement.STILL_RUNNING),
        ("contamination", Statement.NEEDS_CLEAN),
        ("bias", Statement.BIAS_BY_HAND),
    ],
)
def test_without_a_probability_none_is_printed_and_the_reason_is(void: str, why: Statement) -> None:
    promise = certificate(0.3, 0.2, None, void=void)
    unproved = result([KEEP, BEATEN, MATCHED], promise=promise, policy="R-PSI", decided_by=[1, 0, 0])
    nothing = Statement.NO_PROMISE(why=why(policy="R-PSI"))
    assert guarantee(unproved) == nothing
    assert sentence(promise) == Statement.NO_CERTIFICATE(why=why(policy="the policy"))
    assert front_in_words(unproved) == Statement.RETURNED(count=1, measured="3 arms", arms=": a")
    assert f"{certainty(unproved)}." == nothing
    said = " ".join(explanation(unproved, arm) for arm in range(3))
    assert "certainly" not in said


def test_a_probability_is_never_rounded_to_certainty_nor_upwards() -> None:
    assert "99.995%" in guarantee(result([KEEP], promise=certificate(confidence=0.99995)))
    assert "99.96%" in str(certificate(confidence=0.9996))
    assert " 0.01% " in str(certificate(contamination=0.0001))
    rare = result([KEEP], promise=certificate(confidence=0.9999))
    assert certainty(rare) == f"{Statement.CERTAINTY(confidence='99.99%', eps='10%')}"


def test_only_where_an_arm_is_strictly_worse_it_is_called_worse() -> None:
    intervals = {"lower": [[4, 2], [0, 0]], "upper": [[5, 3], [1, 2]]}  # b is behind in seconds; in bytes H_b = L_a
    tied = result([KEEP, BEATEN], decided_by=[1, 0], **intervals)
    assert explanation(tied, 1) == Statement.WORSE(rival="a", names="seconds")
    apart = result([KEEP, BEATEN], decided_by=[1, 0], **intervals | {"upper": [[5, 3], [1, 1]]})
    assert explanation(apart, 1) == Statement.WORSE(rival="a", names="seconds and bytes")
    assert explanation(apart, 0) == Statement.BETTER(rival="b", names="seconds and bytes")


def test_equal_arms_are_in_because_neither_is_worse_and_near_ones_because_it_is_tolerated() -> None:
    points = [[1, 1], [1, 1]]
    equal = result([KEEP, KEEP], decided_by=[1, 0], lower=points, upper=points)
    assert explanation(equal, 0) == Statement.NOWHERE_WORSE(rival="b")
    near = result([KEEP, KEEP], FEASIBLE, decided_by=[1, 0], lower=[[0, 0], [0, 0]], upper=[[1, 1], [1, 1]])
    assert explanation(near, 0) == Statement.TOLERATED(rival="b")
    assert BYTES.name in front_in_words(near)


RATE = Objective("solved", "maximize", tolerance=0.1, statistic="mean", bounds=(0, 1))
STARS = Objective("stars", "maximize", tolerance="5%", statistic="mean", bounds=(1, 5))
SIZE = Objective("bytes", "minimize", "1%", exact=True)
KNOWN = Objective("ms", "minimize", statistic="mean", sigma=0.25)


@pytest.mark.parametrize(
    ("metrics", "what"),
    [
        ([RATE, SIZE], "means"),
        ([SECONDS, STARS], "medians and means"),
        ([Objective("s", "maximize", quantile=0.9), KNOWN], "quantiles and means"),
        ([SIZE], "values"),
    ],
)
def test_what_the_intervals_contain_is_what_counts(metrics: list[Objective], what: str) -> None:
    said = guarantee(result([Verdict.KEEP, Verdict.BEATEN], metrics))
    assert Statement.INTERVALS(quantiles=what) in said
    assert ("median" in said) == ("median" in what)


def test_what_is_declared_is_assumed_and_said(snapshot: SnapshotAssertion) -> None:
    found = result([KEEP], [RATE, STARS, SIZE, KNOWN])
    said = [guarantee(found), *assumptions(found)]
    text = " ".join(said)
    assert "median" not in text
    assert "quantile" not in text
    assert said == snapshot  # that bytes are positive, and not stars, which may be 0


def test_objectives_in_words_say_what_counts_of_them(snapshot: SnapshotAssertion) -> None:
    assert [tolerance_in_words(each) for each in (RATE, SIZE, KNOWN)] == snapshot
