"""Logs whose arms were measured on the same questions: what differences within pairs say, and what is refused."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard import Malicious, Objective, Prescient, Share, analyze, gate
from frontguard.errors import BadInput
from frontguard.evidence.bets import aimed_mean
from frontguard.evidence.differences.discordant import highest_difference
from frontguard.evidence.differences.pairs import (
    HITS_SHARE,
    ONE_LOOK_SHARE,
    SHARE,
    PairedLog,
    PairReader,
    upper_differences,
)
from frontguard.logs.design import clustered_from, paired_log
from frontguard.logs.sort import Batch, usable_ranges
from frontguard.theory.threats import Threat
from tests.evidence.test_pairs import rule_for
from tests.support.bets import upper_difference
from tests.support.snapshots import refused, said

SCORE = Objective("score", "maximize", statistic="mean", bounds=(0, 1))
HOW: dict[str, Any] = {"arm": "model", "objectives": [SCORE], "pair": "question"}


def log_of(seed: int = 0, questions: int = 400, models: int = 4, repeats: int = 1) -> dict[str, Any]:
    """Questions that differ much; every model is better than the one before it by 0.04; in random order."""
    draw = np.random.default_rng(seed)
    hard = 0.1 + 0.6 * draw.beta(0.4, 0.4, questions)
    rows = [(m, q) for m in range(models) for q in range(questions) for _ in range(repeats)]
    draw.shuffle(rows)
    return {
        "model": [f"m{m}" for m, _ in rows],
        "question": [f"q{q}" for _, q in rows],
        "score": [float(hard[q] + 0.04 * m + 0.05 * draw.random()) for m, q in rows],
    }


def paired(frame: dict[str, Any], items: int | None = None) -> PairedLog:
    import polars as pl

    batch = Batch(pl.Series(frame["model"]), [np.array(frame["score"])], clusters=pl.Series(frame["question"]))
    log = clustered_from([batch], ["score"], ["question"], usable=usable_ranges(["score"], [SCORE]))
    return paired_log(log, items)


def naive_bounds(frame: dict[str, Any], threat: Threat, delta: float) -> dict[tuple[str, str], float]:
    """Upper bounds of one model less another, by sets of questions and means of rows, as it is written."""
    values: dict[str, dict[str, list[float]]] = {}
    for model, question, score in zip(*frame.values(), strict=True):
        values.setdefault(model, {}).setdefault(question, []).append(score)
    rule = rule_for(threat, len(values), SHARE * delta)._replace(one_look=True)
    questions = np.array(list(dict.fromkeys(frame["question"])))
    drawn = questions[np.random.default_rng(0).permutation(len(questions))].tolist()
    found = {}
    for one, mine in values.items():
        for other, its in values.items():
            if one == other:
                continue
            both = np.array([(np.mean(mine[q]), np.mean(its[q])) for q in drawn if q in mine and q in its])
            aimed = np.array([aimed_mean((1 + both[:, 0] - both[:, 1]) / 2, rule.threshold)])
            taken = sum(int(np.floor(threat.taken * sum(map(len, each.values())) + 1e-9)) for each in (mine, its))
            by_bets = upper_difference(*both.T, taken, rule) if threat.eps else -np.inf
            found[one, other] = max(by_bets, float(upper_differences(aimed, rule, 0)[0]))
    return found


@pytest.mark.parametrize("threat", [Prescient(0.0), Prescient(0.02), Malicious(0.02), Share(0.02)])
@pytest.mark.parametrize("repeats", [1, 3])
def test_bounds_are_those_of_the_pairs_as_they_are_written(repeats: int, threat: Threat) -> None:
    frame = log_of(questions=60, repeats=repeats)
    kept = np.random.default_rng(1).random(len(frame["model"])) < 0.8  # not every model has every question
    frame = {name: [x for x, here in zip(column, kept, strict=True) if here] for name, column in frame.items()}
    log = paired(frame)
    intervals = PairReader(log, [SCORE], 0.05).read(threat)
    assert intervals.apart is not None
    for (one, other), bound in naive_bounds(frame, threat, 0.05).items():
        assert abs(intervals.apart[log.arms.index(one), log.arms.index(other), 0] - bound) < 1e-9
    some = PairReader(log, [SCORE], 0.05).among(np.array([3, 1])).read(threat)
    assert some.apart is not None
    assert np.array_equal(some.apart, intervals.apart[np.ix_([3, 1], [3, 1])])
    assert np.array_equal(some.lower, intervals.lower[[3, 1]])


def test_pairs_decide_what_intervals_leave_open() -> None:
    frame = log_of()
    alone = analyze(frame, arm="model", objectives=[SCORE], contamination=0)
    found = analyze(frame, **HOW, contamination=0)
    assert alone.verdicts["m2"] != "beaten"
    assert found.pareto_set == ["m3"]
    assert set(found.verdicts.values()) == {"keep", "beaten"}
    said = found.explain("m2")
    assert said.startswith(
        "beaten: certainly worse than m3 in score, by differences on the same question; take m3 instead"
    )
    replacement = found.replacement("m2")
    assert replacement is not None
    assert replacement.costs == {"score": 0.0}
    assert 0.0 < replacement.gains["score"] < 0.04
    assert found.to_dict()["differences"]["m2"]["score"][1] < 0
    assert found.front_changes_at < 0.1  # of what pairs save, nothing is saved from lies
    profile = found.log.profile
    assert profile is not None
    at = [
        analyze(frame, **HOW, contamination=float(eps)).verdicts for eps in (profile.per_arm[2], found.front_changes_at)
    ]
    assert at[0]["m2"] == "beaten"
    assert at[1] != found.verdicts


def test_a_list_and_what_is_left_of_it(snapshot: SnapshotAssertion) -> None:
    frame = log_of(questions=50, models=3)
    known = analyze(frame, **HOW, contamination=0, items=50)
    means = {m: np.mean([s for n, s in zip(frame["model"], frame["score"], strict=True) if n == m]) for m in known.arms}
    np.testing.assert_allclose(known.lower[:, 0], list(means.values()), atol=1e-11)
    np.testing.assert_allclose(known.upper[:, 0], list(means.values()), atol=1e-11)
    assert known.pareto_set == ["m2"]
    assert said("\n".join(map(str, known.notices))) == snapshot
    wider = [analyze(frame, **HOW, contamination=0, items=items).upper[0, 0] for items in (50, 60, 200, 10_000)]
    assert all(a < b for a, b in pairwise(wider))
    dirty = analyze(frame, **HOW, contamination=0.1, threat="share", items=50)
    assert (dirty.upper - known.upper <= 5 / 50 + 1e-9).all()
    assert said("\n".join(map(str, dirty.notices))) == snapshot
    assert 0 < SHARE * HITS_SHARE < 1
    with refused(BadInput, snapshot):
        analyze(frame, **HOW, contamination=0, items=49)
    with refused(BadInput, snapshot):
        analyze(log_of(questions=5, repeats=2), **HOW, contamination=0, items=5)


@pytest.mark.parametrize(
    "change",
    [
        {"cluster": "question"},
        {"pair": None, "items": 3},
        {"objectives": [Objective("score", "maximize")]},
        {"objectives": [Objective("score", "maximize")], "items": 400},
        {"pair": "quest"},
        {"items": 5, "anytime": True},
        {"pair": None, "absent": "random"},
        {"absent": "never"},
    ],
)
def test_refused(change: dict[str, Any], snapshot: SnapshotAssertion) -> None:
    with refused(BadInput, snapshot):
        analyze(log_of(questions=5), **{**HOW, **change})


def test_too_many_arms_have_boxes_only(snapshot: SnapshotAssertion) -> None:
    frame = log_of(questions=3, models=301)
    frame["score"] = [min(1.0, score / 20) for score in frame["score"]]
    found = analyze(frame, **HOW, contamination=0)
    assert found.apart is None
    assert said("\n".join(map(str, found.notices))) == snapshot


@pytest.mark.parametrize("threat", [Prescient(0.0), Prescient(0.05), Share(0.05)])
@pytest.mark.parametrize("items", [None, 60])
def test_what_is_said_is_true_of_most_logs(threat: Threat, items: int | None) -> None:
    """Arms that differ by less than nothing are put out falsely in 5 % of logs at most, by whoever writes some rows."""
    wrong, runs = 0, 40
    for seed in range(runs):
        draw = np.random.default_rng([seed, 5])
        hard = (draw.random(60) < 0.5).astype(float)
        alike = [np.where(draw.random(60) < 0.1, 1.0 - hard, hard) for _ in range(2)]
        true = [each.mean() if items else 0.5 for each in alike]
        told = [each.copy() for each in alike]
        if threat.taken:
            told[0][np.flatnonzero(told[0] == 1.0)[:3]], told[1][np.flatnonzero(told[1] == 0.0)[:3]] = 0.0, 1.0
        else:
            told[0][draw.random(60) < threat.eps], told[1][draw.random(60) < threat.eps] = 0.0, 1.0
        frame = {
            "model": ["a"] * 60 + ["b"] * 60,
            "question": list(range(60)) * 2,
            "score": np.concatenate(told).tolist(),
        }
        found = analyze(frame, **HOW, threat=threat, confidence=0.8, items=items, profile=False)
        inside = (found.lower[:, 0] <= np.array(true) + 1e-9) & (np.array(true) <= found.upper[:, 0] + 1e-9)
        better = {"a": true[0] - true[1], "b": true[1] - true[0]}
        wrong += bool(
            not inside.all() or any(found.verdicts[arm] == "beaten" and gap >= 0 for arm, gap in better.items())
        )
    assert wrong / runs <= 0.2


def of_two(values: Any, here: Any) -> dict[str, Any]:
    """Two models on the same questions, with the rows that are here."""
    at = np.flatnonzero(np.ravel(here))
    return {
        "model": np.repeat(["a", "b"], len(values[0]))[at],
        "question": np.tile(np.arange(len(values[0])), 2)[at],
        "score": np.ravel(values)[at],
    }


@pytest.mark.parametrize("eps", [0.0, 0.05])
def test_a_random_part_of_a_list_may_stand_in_the_order_of_the_list(eps: float) -> None:
    """The first half of the list is solved; b, which is the same as a, was given three quarters of it at random."""
    solved = (np.arange(400) < 200).astype(float)
    for seed in range(6):
        given = np.random.default_rng([seed, 8]).permutation(400) < 300
        log = of_two([solved, solved], [np.ones(400, bool), given])
        found = analyze(log, **HOW, items=400, absent="random", contamination=eps, profile=False)
        assert (found.lower[:, 0] - 1e-9 <= solved.mean()).all()
        assert (found.upper[:, 0] + 1e-9 >= solved.mean()).all()
        assert "beaten" not in found.verdicts.values()


def test_hits_among_common_items_are_those_of_all_items_up_to_there() -> None:
    """Whoever has measured half of a list in between has as many hits among the other half, at most, as among all."""
    draw = np.random.default_rng(0)
    values = draw.random((2, 200))
    whole = analyze(of_two(values, np.ones((2, 200), bool)), **HOW, items=200, contamination=0.1, profile=False)
    half = analyze(
        of_two(values, [np.ones(200, bool), np.arange(200) % 2 == 0]),
        **HOW, items=200, contamination=0.1, absent="random", profile=False,
    )  # fmt: skip
    assert half.pairs is not None
    assert whole.pairs is not None
    assert (half.pairs[[0, 1], [1, 0], 0] > whole.pairs[[0, 1], [1, 0], 0]).all()


@pytest.mark.parametrize("items", [None, 200])
def test_rows_that_are_absent_where_an_arm_failed_count_as_failed(
    items: int | None, snapshot: SnapshotAssertion
) -> None:
    """Both solve a question with the same probability; b, of which failures are left out, seems to be better."""
    for seed in range(5):
        draw = np.random.default_rng([seed, 9])
        values = (draw.random((2, 200)) < 0.5).astype(float)
        log = of_two(values, [np.ones(200, bool), (values[1] == 1.0) | (draw.random(200) < 0.3)])
        true = values.mean(axis=1) if items else np.full(2, 0.5)
        found = analyze(log, **HOW, items=items, contamination=0, profile=False)
        assert ((found.lower[:, 0] <= true + 1e-9) & (true <= found.upper[:, 0] + 1e-9)).all()
        assert all(true[found.arms.index(arm)] < true.max() for arm, word in found.verdicts.items() if word == "beaten")
        assert found.pulls_per_arm.tolist() == [200, 200]
    assert said("\n".join(str(each) for each in found.notices if each.warns)) == snapshot
    chosen = analyze(log, **HOW, items=items, absent="random", contamination=0, profile=False)
    assert said("\n".join(str(each) for each in chosen.notices if each.warns)) == snapshot


def test_second_tries_are_noticed(snapshot: SnapshotAssertion) -> None:
    log = of_two(np.tile([1.0, 0.0, 0.5], (2, 20)), np.ones((2, 60), bool))
    more = {name: np.concatenate([column, column[60:65]]) for name, column in log.items()}
    assert not [each for each in analyze(log, **HOW).notices if each.warns]
    assert said("\n".join(str(each) for each in analyze(more, **HOW).notices if each.warns)) == snapshot


# Pairs of 0 and 1 -----------------------------------------------------------------------------------------------------

SOLVED = Objective("solved", "maximize", tolerance=0.0, statistic="mean", bounds=(0, 1))


def truths(won: int, lost: int, questions: int = 300) -> dict[str, Any]:
    """Two models on the same questions, of which the one solves some more and others fewer than the other."""
    old = np.zeros(questions)
    old[: lost + questions // 2] = 1.0
    new = old.copy()
    new[:lost], new[questions - won :] = 0.0, 1.0
    return {
        "model": ["old"] * questions + ["new"] * questions,
        "question": [*range(questions)] * 2,
        "solved": np.concatenate([old, new]),
    }


def asked(**given: Any) -> dict[str, Any]:
    return HOW | {"objectives": [SOLVED], "contamination": 0} | given


def test_truths_at_one_look_have_the_exact_bound() -> None:
    found = analyze(truths(40, 18), **asked())
    effect = found.compare("new", "old")["solved"]
    delta = ONE_LOOK_SHARE * 0.05 / 2
    ends = [highest_difference(float(w), float(b), 300, delta) for w, b in ((18, 40), (40, 18))]
    assert (effect.difference.low, effect.difference.high) == pytest.approx((-ends[0], ends[1]))
    assert found.verdicts == {"new": "keep", "old": "beaten"}
    wider = analyze(truths(40, 18), **asked(anytime=True)).compare("new", "old")["solved"]
    assert wider.difference.low < effect.difference.low
    scores = truths(40, 18)
    scores["solved"] = scores["solved"] * 0.999  # no rates, and so bets, which aim at one look
    by_bets = analyze(scores, **asked()).compare("new", "old")["solved"]
    assert wider.difference.low < by_bets.difference.low != effect.difference.low


@pytest.mark.parametrize(("threat", "floor"), [("prescient", 0.02), ("malicious", 0.04), ("share", 0.04)])
def test_what_may_be_wrong_moves_the_bound_by_its_floor(threat: str, floor: float) -> None:
    clean = analyze(truths(60, 12), **asked()).compare("new", "old")["solved"].difference
    dirty = analyze(truths(60, 12), **asked(threat=threat, contamination=0.02)).compare("new", "old")["solved"]
    assert clean.low - dirty.difference.low == pytest.approx(floor, abs=0.006)


def test_a_gate_of_truths_has_half_of_delta_for_either_side() -> None:
    found = gate(truths(18, 40), **asked(baseline="old"))
    assert found.gate is not None
    (check,) = found.gate.pairs[0].checks
    ends = [highest_difference(float(w), float(b), 300, 0.025) for w, b in ((18, 40), (40, 18))]
    assert (check.effect.difference.high, check.effect.difference.low) == pytest.approx((ends[0], -ends[1]))
    assert found.gate.outcome.word == "worse"
    assert found.gate.at_worst == pytest.approx((ends[1],))
    few = gate(truths(20, 24), **asked(baseline="old", tolerance=0.06))
    assert few.gate is not None
    assert few.gate.outcome.word == "not worse"


def test_checks_of_many_candidates_share_the_lines_and_not_what_decides_the_gate() -> None:
    one = truths(20, 24)
    many = {name: list(column) for name, column in one.items()}
    for copy in range(4):
        many["model"] += [f"new {copy}"] * 300
        many["question"] += one["question"][:300]
        many["solved"] += list(one["solved"][300:])
    alone, together = (gate(log, **asked(baseline="old", tolerance=0.06)).gate for log in (one, many))
    assert alone is not None
    assert together is not None
    assert together.at_worst == pytest.approx(alone.at_worst)
    assert together.outcome.word == "not worse"


def test_an_absent_truth_may_be_either() -> None:
    frame = truths(40, 18)
    here = ~((np.array(frame["model"]) == "new") & (np.arange(600) < 310) & (np.arange(600) >= 300))
    some = {name: [x for x, kept in zip(column, here, strict=True) if kept] for name, column in frame.items()}
    whole, lacking = (analyze(log, **asked()).compare("new", "old")["solved"].difference for log in (frame, some))
    best = analyze(truths(40, 18) | {"solved": np.where(here, frame["solved"], 1.0)}, **asked())
    worst = analyze(truths(40, 18) | {"solved": np.where(here, frame["solved"], 0.0)}, **asked())
    assert lacking.high == pytest.approx(best.compare("new", "old")["solved"].difference.high)
    assert lacking.low == pytest.approx(worst.compare("new", "old")["solved"].difference.low)
    assert lacking.low <= whole.low


def test_repeats_of_a_question_are_no_truths() -> None:
    once = truths(40, 18)
    twice = {name: [x for x in column for _ in range(2)] for name, column in once.items()}
    exact, bets = (analyze(log, **asked()).compare("new", "old")["solved"].difference for log in (once, twice))
    assert bets.low != exact.low
