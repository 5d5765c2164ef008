"""Where nothing is certain: a best guess, how many pulls an arm needs at least, and what would be decided otherwise."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from frontguard import Malicious, Objective, Oblivious, Prescient, Share, Study, analyze
from frontguard.evidence.confidence_sequences import anytime_rank
from frontguard.evidence.measurements import Ordered
from frontguard.evidence.readers import IntervalReader
from frontguard.logs.robustness import CONFIDENCES
from frontguard.results import Answer
from frontguard.theory.threats import Threat


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
    assert (found.best_guess, found.guess, found.log.what_if) == ([], None, ())
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
    least = next(n for n in range(1, 99) if anytime_rank(n, 0.45, 0.05 / (2 * 2 * 3)) >= 1)
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


# What if --------------------------------------------------------------------------------------------------------------


def test_what_would_be_decided_otherwise_is_what_asking_so_gives() -> None:
    met = set()
    for repeats in (5, 7, 8, 9, 10):
        log = a_log(6, repeats, seed=repeats)
        found = asked(log, tolerance="5%")
        if (found.verdict_codes != found.verdict_codes[0]).any() or found.pareto_set:
            continue
        expected = []
        for options in (
            [{"confidence": level} for level in CONFIDENCES],
            [{"contamination": round(0.01 * step, 2)} for step in range(9, -1, -1)],
        ):
            tried = ((each, asked(log, tolerance="5%", profile=False, **each)) for each in options)
            decided = ((each, {a: v for a, v in got.verdicts.items() if v != "undecided"}) for each, got in tried)
            hit = next(((each, verdicts) for each, verdicts in decided if verdicts), None)
            if hit is not None:
                expected.append({"confidence": 0.95, "contamination": 0.1} | hit[0] | {"verdicts": hit[1]})
        assert found.to_dict()["log"]["what_if"] == expected
        met.add(len(expected))
    assert met >= {0, 1, 2}


def test_a_guess_and_what_if_survive_json() -> None:
    found = asked(a_log(6, 9), tolerance="5%", threat=Prescient(0.1))
    assert found.log.what_if
    back = Answer.from_dict(found.to_dict())
    for entry in ("best_guess", "least_pulls", "log", "notices"):
        assert back.to_dict()[entry] == found.to_dict()[entry]
