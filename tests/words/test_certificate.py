"""The text of the certificate: it says what is proved, of which arms, and against whom; and no more."""

from __future__ import annotations

import math

import pytest

from frontguard import Objective
from frontguard.verdicts import Verdict
from frontguard.words.certificate import assumptions, explanation, guarantee, sentence, tolerance_in_words
from frontguard.words.front import front_in_words
from tests.words.results import BYTES, SECONDS, WITHIN, certificate, result

IN, OUT, COVERED, OPEN, ASIDE = Verdict.IN, Verdict.OUT, Verdict.COVERED, Verdict.UNDECIDED, Verdict.SET_ASIDE


def test_without_a_tolerance_arms_are_on_the_front_and_with_one_they_are_not_beaten_by_more() -> None:
    exact, about = result([IN, OUT]), result([IN, OUT], WITHIN)
    assert front_in_words(exact) == "1 of 2 arms is on the trade-off front of seconds and bytes: a."
    assert "each arm that is in is on the trade-off front;" in guarantee(exact)
    assert front_in_words(about) == "1 of 2 arms is not beaten by more than 0.5 in seconds and 10 in bytes at once: a."
    assert "no arm beats one that is in by more than 0.5 in seconds and 10 in bytes at once" in guarantee(about)
    for said in (front_in_words(about), guarantee(about)):
        assert "on the trade-off front" not in said


def test_a_policy_that_promises_less_than_the_tolerances_say_is_taken_at_its_word() -> None:
    biased = result([IN, OUT], promise=certificate(0.3, 0.2), policy="R-PSI")
    assert (
        front_in_words(biased) == "1 of 2 arms is not beaten by more than 0.3 in seconds and 0.3 in bytes at once: a."
    )
    assert "is in, or another one is in that is at most 0.2 in seconds and 0.2 in bytes worse" in guarantee(biased)


def test_by_one_objective_the_best_is_named_up_to_the_tolerance() -> None:
    assert front_in_words(result([IN, OUT], [SECONDS])) == "Of 2 arms, a is the fastest."
    assert front_in_words(result([IN, IN, OUT], [SECONDS])) == "Of 3 arms, 2 are the fastest: a, b."
    near = result([IN, OUT], WITHIN[:1])
    assert front_in_words(near) == "Of 2 arms, a is the fastest, or is within 0.5 of it."
    both = result([IN, IN, OUT], WITHIN[:1])
    assert front_in_words(both) == "Of 3 arms, 2 are the fastest, or are within 0.5 of it: a, b."


@pytest.mark.parametrize(
    ("threat", "said"),
    [
        (
            "oblivious",
            "even if each measurement of an arm is replaced with probability up to 10% by an oblivious attacker",
        ),
        (
            "malicious",
            "even if each measurement of an arm is replaced with probability up to 10% by a malicious attacker",
        ),
        ("share", "even if any 10% of an arm's measurements are replaced, whichever, chosen afterwards"),
    ],
)
def test_against_whom_it_holds(threat: str, said: str) -> None:
    promise = certificate(threat=threat)
    assert guarantee(result([IN, OUT], promise=promise)).startswith(f"With probability 95%, {said}: ")
    assert str(promise).startswith(f"with probability 95%, {said}: ")
    (first, *_) = assumptions(promise, [], policy="certified", anytime=None, spread=None, failed=0, aside=0)
    assert ("up to 10% (ε)" in first) or threat != "share"
    assert "of the measurements" not in first


def test_both_clauses_speak_of_the_arms_that_could_be_measured() -> None:
    of = result([IN, OUT, ASIDE, ASIDE])
    scope = ", among the 2 arms that could be measured (set aside: c, d): "
    assert scope in guarantee(of)
    assert scope in str(certificate(arms=2, aside=("c", "d")))
    assert front_in_words(of) == (
        "1 of the 2 arms that can be measured is on the trade-off front of seconds and bytes: a."
    )
    assert "set aside" not in str(certificate(arms=2))


def test_a_study_that_stopped_early_promises_what_holds_of_the_set_that_is_printed() -> None:
    nothing = result([OPEN, OPEN], WITHIN, status="budget", promise=certificate(0.0, math.inf))
    assert guarantee(nothing).endswith(": all intervals contain the true medians; arms of the front may be missing.")
    some = result([IN, OPEN], WITHIN, status="budget", promise=certificate(0.0, math.inf))
    assert "no arm beats one that is in by more than" in guarantee(some)
    assert guarantee(some).endswith("arms of the front may be missing.")
    assert str(certificate(0.0, math.inf)).endswith(", and arms of the front may be missing")
    unknown = result([IN, OPEN], WITHIN, status="budget", promise=certificate(0.0, 3.0, arms=None))
    assert guarantee(unknown) == guarantee(some)  # as earlier versions printed it: not of the set that is printed
    bounded = result([IN, OPEN], WITHIN, status="budget", promise=certificate(0.0, 3.0))
    assert guarantee(bounded).endswith(
        "open arms may be on the front or not; and each arm on the true front is in, or another one is in that is at "
        "most 3 in seconds and 3 in bytes worse."
    )


@pytest.mark.parametrize(
    ("void", "why"),
    [
        ("running", "R-PSI promises something only once it has stopped"),
        ("contamination", "R-PSI promises something only where no measurement lies"),
        ("bias", "its bias was set by hand, and nothing is proved with that"),
    ],
)
def test_without_a_probability_none_is_printed_and_the_reason_is(void: str, why: str) -> None:
    promise = certificate(0.3, 0.2, None, void=void)
    unproved = result([IN, OUT, COVERED], promise=promise, policy="R-PSI", decided_by=[1, 0, 0])
    assert guarantee(unproved) == f"No probability is given: {why}."
    assert sentence(promise) == f"no probability is given: {why.replace('R-PSI', 'the policy')}"
    assert front_in_words(unproved) == "1 of 3 arms is returned, without a promise: a."
    said = " ".join(explanation(unproved, arm) for arm in range(3))
    assert "certainly" not in said
    last = assumptions(promise, [], policy="R-PSI", anytime=None, spread=None, failed=0, aside=0)[-1]
    assert last == f"No probability is given: {why}."


def test_a_probability_is_never_rounded_to_certainty_nor_upwards() -> None:
    assert guarantee(result([IN], promise=certificate(confidence=0.99995))).startswith("With probability 99.995%")
    assert str(certificate(confidence=0.9996)).startswith("with probability 99.96%")
    assert "with probability up to 0.01% by" in str(certificate(contamination=0.0001))
    rare = assumptions(certificate(confidence=0.9999), [], policy="x", anytime=None, spread=None, failed=0, aside=0)
    assert "in 0.01% of such reports at most" in rare[-1]


def test_only_where_an_arm_is_strictly_worse_it_is_called_worse() -> None:
    boxes = {"lower": [[4, 2], [0, 0]], "upper": [[5, 3], [1, 2]]}  # b is behind in seconds; in bytes H_b = L_a
    tied = result([IN, OUT], decided_by=[1, 0], **boxes)
    assert explanation(tied, 1) == "out: certainly worse than a in seconds, and no better in bytes"
    apart = result([IN, OUT], decided_by=[1, 0], **boxes | {"upper": [[5, 3], [1, 1]]})
    assert explanation(apart, 1) == "out: certainly worse than a in seconds and bytes"
    assert (
        explanation(apart, 0)
        == "in: against b, which comes nearest to beating it, certainly better in seconds and bytes"
    )


def test_equal_arms_are_in_because_neither_is_worse_and_near_ones_because_it_is_tolerated() -> None:
    points = [[1, 1], [1, 1]]
    equal = result([IN, IN], decided_by=[1, 0], lower=points, upper=points)
    assert explanation(equal, 0) == "in: against b, which comes nearest to beating it, nowhere worse"
    near = result([IN, IN], WITHIN, decided_by=[1, 0], lower=[[0, 0], [0, 0]], upper=[[1, 1], [1, 1]])
    assert explanation(near, 0).endswith("not beaten by more than is tolerated")
    assert BYTES.name in front_in_words(near)


RATE = Objective("solved", tolerance=0.1, statistic="mean", bounds=(0, 1))
STARS = Objective("stars", tolerance="5%", statistic="mean", bounds=(1, 5))
SIZE = Objective("bytes", "minimize", "1%", exact=True)
KNOWN = Objective("ms", "minimize", statistic="mean", sigma=0.25)


@pytest.mark.parametrize(
    ("metrics", "what"),
    [
        ([RATE, SIZE], "means"),
        ([SECONDS, STARS], "medians and means"),
        ([Objective("s", quantile=0.9), KNOWN], "quantiles and means"),
        ([SIZE], "values"),
    ],
)
def test_what_the_intervals_contain_is_what_counts(metrics: list[Objective], what: str) -> None:
    said = guarantee(result([Verdict.IN, Verdict.OUT], metrics))
    assert f"all intervals contain the true {what}" in said
    assert ("median" in said) == ("median" in what)


def test_what_is_declared_is_assumed_and_said() -> None:
    said = assumptions(
        certificate(), [RATE, STARS, SIZE, KNOWN], policy="certified", anytime=True, spread=None, failed=0, aside=0
    )
    text = " ".join(said)
    assert "median" not in text
    assert "quantile" not in text
    assert "its means are what is compared" in text
    assert "except that bytes is positive (compared by ratios) and what follows was declared." in text  # stars may be 0
    assert "Every value of stars lies between 1 and 5, also one that replaces another. What does not counts as" in text
    assert "ms lie around their mean no further than normal ones of deviation 0.25 do" in text
    assert "bytes is exact, as declared: the same whenever measured, and never replaced." in text


def test_objectives_in_words_say_what_counts_of_them() -> None:
    assert tolerance_in_words(RATE).startswith("mean of solved (between 0 and 1), higher is better, differences up to")
    assert tolerance_in_words(SIZE).startswith("exact value of bytes, lower is better")
    assert tolerance_in_words(KNOWN).startswith("mean of ms (σ = 0.25), lower")
