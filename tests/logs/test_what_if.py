"""Where nothing is certain: a best guess, how many pulls an arm needs at least, what is certain if less is wrong."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from frontguard import Malicious, Objective, Oblivious, Prescient, Share, Study, analyze
from frontguard.errors import BadArgument
from frontguard.evidence.confidence_sequences import anytime_rank
from frontguard.evidence.measurements import Ordered
from frontguard.evidence.readers import IntervalReader
from frontguard.results import Answer
from frontguard.theory.threats import Threat
from frontguard.verdicts import Verdict


def a_log(arms: int, repeats: int, seed: int = 0, spread: float = 0.05) -> dict[str, Any]:
    """A frame of arms on a line, each third of them beaten; two metrics to be minimised."""
    rng = np.random.default_rng(seed)
    which = np.repeat(np.arange(arms), repeats)
    worse = 1.0 + 2.0 * (which % 3 == 2)
    noise = rng.lognormal(0.0, spread, (2, len(which)))
    seconds, size = (1.0 + which) * worse * noise[0], (arms - which) * worse * noise[1]
    return {"arm": [f"v{i:02d}" for i in which.tolist()], "seconds": seconds, "size": size}


def asked(log: dict[str, Any], **options: Any) -> Answer:
    return analyze(log, minimize=["seconds", "size"], **options)


# The best guess -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_the_best_guess_is_the_front_by_medians(seed: int) -> None:
    log = a_log(9, 9, seed, spread=0.6)
    found = asked(log, tolerance="5%")
    rows = zip(log["arm"], log["seconds"], log["size"], strict=True)
    points: dict[str, list[tuple[float, float]]] = {}
    for arm, seconds, size in rows:
        points.setdefault(arm, []).append((seconds, size))
    medians = {arm: [statistics.median(column) for column in zip(*some, strict=True)] for arm, some in points.items()}
    front = [
        arm
        for arm, own in medians.items()
        if not any(all(b < a for a, b in zip(own, other, strict=True)) for other in medians.values())
    ]
    assert found.best_guess == sorted(front)
    assert found.pareto_set == []
    assert found.to_dict()["best_guess"] == found.best_guess


def test_there_is_no_guess_where_an_arm_is_in() -> None:
    found = asked(a_log(6, 60), tolerance="5%")
    assert found.pareto_set
    assert (found.best_guess, found.guess, found.log.if_cleaner) == ([], None, ())
    assert found.to_dict()["best_guess"] is None


def test_arms_without_a_value_of_some_metric_are_no_part_of_a_guess() -> None:
    log = a_log(4, 9)
    log["size"] = np.where(np.array(log["arm"]) == "v00", np.nan, log["size"])
    assert "v00" not in asked(log).best_guess


def test_a_study_that_stopped_with_nothing_in_has_a_guess(tmp_path: Path) -> None:
    metrics = [Objective("seconds", "minimize", "5%"), Objective("size", "minimize", "5%")]
    study = Study(["fast", "small", "bad"], metrics, Prescient(0.1), max_pulls=15, storage=tmp_path / "s.db")
    values = {"fast": (1.0, 9.0), "small": (9.0, 1.0), "bad": (10.0, 10.0)}
    while pulls := study.ask(4):
        study.tell_many([(pull, values[pull.arm]) for pull in pulls])
    result = study.result()
    assert (result.status, result.pareto_set, result.best_guess) == ("budget", [], ["fast", "small"])
    assert result.guess is not None
    of_intervals = 0.5 * 0.05  # ratios within blocks have the other half
    least = next(n for n in range(1, 99) if anytime_rank(n, 0.45, of_intervals / (2 * 2 * 3)) >= 1)
    assert (result.guess.first, result.guess.whole) == (least, least)
    study.close()
    own = analyze(tmp_path / "s.db")
    assert own.best_guess == result.best_guess


# How many pulls it takes at least -------------------------------------------------------------------------------------


@pytest.mark.parametrize("anytime", [False, True])
@pytest.mark.parametrize("threat", [Prescient(0.1), Oblivious(0.0), Malicious(0.1), Share(0.1)])
def test_before_so_many_pulls_nothing_is_bounded(threat: Threat, anytime: bool) -> None:
    metric = Objective("x", "maximize", quantile=0.3)

    def bounded(repeats: int) -> Any:
        values = np.tile(np.arange(float(repeats)), 2)
        starts = np.array([[0, repeats, 2 * repeats]])
        log = Ordered(["a", "b"], ("x",), np.full(2, repeats), starts, (values,))
        intervals = IntervalReader(log, [metric], 0.05, anytime=anytime).read(threat)
        return np.isfinite([*intervals.lower.ravel(), *intervals.upper.ravel()])

    guess = analyze({"arm": ["a", "b"], "x": [1.0, 2.0]}, objectives=[metric], threat=threat, anytime=anytime).guess
    first = next(n for n in range(1, 99) if bounded(n).any())
    whole = next(n for n in range(first, 99) if bounded(n).all())
    assert guess is not None
    assert (guess.first, guess.whole) == (first, whole)


def test_where_no_number_of_pulls_would_do_there_is_none() -> None:
    log = {"arm": ["a", "b"], "x": [1.0, 2.0]}
    guess = analyze(log, objectives=[Objective("x", "maximize", quantile=0.9)], threat=Malicious(0.3)).guess
    assert guess is not None
    assert guess.first is not None
    assert guess.whole is None


# If cleaner -----------------------------------------------------------------------------------------------------------


def test_what_is_certain_at_a_smaller_contamination_is_what_asking_so_gives() -> None:
    """The largest that says more, of all that are tried, and the largest that says as much as none."""
    said_more = 0
    for gap in (0.0, 0.06, 0.12, 0.2):
        rng = np.random.default_rng(7)
        rates = np.repeat([0.5, 0.5 + gap, 0.9], 300)
        log = {"arm": np.repeat(["a", "b", "c"], 300), "ok": rng.random(900) < rates}
        how: dict[str, Any] = {"maximize": "ok", "tolerance": 0.02, "threat": "malicious"}
        found, clean = analyze(log, **how, contamination=0.15), analyze(log, **how, contamination=0, profile=False)
        given = found.log.if_cleaner
        levels = np.round(np.arange(150) / 1000.0, 12)[::-1]
        answers = {eps: analyze(log, **how, contamination=float(eps), profile=False) for eps in levels[::10]}
        for each in given:
            again = analyze(log, **how, contamination=each.contamination, profile=False)
            np.testing.assert_array_equal(each.codes, again.verdict_codes)
            looser = analyze(log, **how, contamination=round(each.contamination + 0.001, 12), profile=False)
            assert open_in(looser) > open_in(again)
        fewest = [eps for eps, each in answers.items() if open_in(each) <= open_in(clean)]
        assert bool(given) == (open_in(clean) < open_in(found))
        if given:
            said_more += 1
            assert open_in(clean) == int((given[-1].codes == Verdict.UNDECIDED).sum())
            assert given[-1].contamination >= max(fewest)
            back = Answer.from_dict(found.to_dict())
            assert [each.contamination for each in back.log.if_cleaner] == [each.contamination for each in given]
            assert str(back) == str(found)
    assert said_more >= 2


def open_in(found: Answer) -> int:
    return int((found.verdict_codes == Verdict.UNDECIDED).sum())


def test_a_lowered_contamination_leaves_metrics_with_a_smaller_one_as_they_are() -> None:
    rng = np.random.default_rng(3)
    log = {"arm": np.repeat(["a", "b"], 400), "ok": rng.random(800) < np.repeat([0.7, 0.5], 400)}
    log |= {"ms": rng.normal(np.repeat([1.0, 1.04], 400), 0.1)}
    how: dict[str, Any] = {"maximize": "ok", "minimize": "ms", "tolerance": {"ok": 0.02, "ms": 0.001}}
    found = analyze(log, **how, contamination={"ok": 0.01})
    (given,) = found.log.if_cleaner
    assert 0.01 < given.contamination < 0.1
    again = analyze(log, **how, contamination={"ok": 0.01, "ms": given.contamination}, profile=False)
    np.testing.assert_array_equal(given.codes, again.verdict_codes)


def test_without_a_declared_contamination_each_verdict_has_the_one_it_holds_up_to() -> None:
    rng = np.random.default_rng(7)
    log = {"arm": np.repeat(["a", "b"], 400), "ok": rng.random(800) < np.repeat([0.6, 0.8], 400)}
    found = analyze(log, maximize="ok", tolerance=0.02, contamination="auto", profile=False)
    assert found.question.contaminations == {"ok": 0.0}
    assert found.verdicts == {"a": "beaten", "b": "keep"}
    per_arm = found.log.profile.per_arm
    for arm, eps in zip(("a", "b"), per_arm.tolist(), strict=True):
        verdicts = [
            analyze(log, maximize="ok", tolerance=0.02, contamination=level, profile=False).verdicts[arm]
            for level in (eps, round(eps + 0.001, 12))
        ]
        assert verdicts[0] == found.verdicts[arm] != verdicts[1]
    with pytest.raises(BadArgument) as error:
        Study(["a", "b"], [Objective("ok", "maximize")], contamination="auto")
    assert error.value.argument == "contamination"


def test_a_guess_and_what_is_certain_if_there_is_less_survive_json() -> None:
    found = asked(a_log(6, 10), tolerance="5%", threat=Prescient(0.1))
    assert found.log.if_cleaner
    back = Answer.from_dict(found.to_dict())
    for entry in ("best_guess", "least_pulls", "log", "notices"):
        assert back.to_dict()[entry] == found.to_dict()[entry]
