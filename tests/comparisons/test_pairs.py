"""Comparisons and choices where arms were measured on the same items: differences within pairs count beside
intervals."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from frontguard import Answer, Objective, Study, analyze
from frontguard.comparisons.effects import Comparable, Contrast, against
from frontguard.comparisons.picks import pick, wish_of

SCORE = Objective("score", "maximize", statistic="mean", bounds=(0, 1))
MISTAKES = Objective("mistakes", "minimize", statistic="mean", bounds=(0, 1), tolerance=0.02)
TRUTH = np.array([0.0, 0.02, 0.02, 0.06])  # how much more each model has in both, on every question


def log_of(seed: int, questions: int = 200) -> dict[str, Any]:
    draw = np.random.default_rng(seed)
    hard = np.tile(0.05 + 0.8 * draw.beta(0.4, 0.4, questions), len(TRUTH))
    more = np.repeat(TRUTH, questions)
    return {
        "model": np.repeat([f"m{m}" for m in range(len(TRUTH))], questions),
        "question": np.tile(np.arange(questions), len(TRUTH)),
        "score": hard + more + 0.05 * draw.random(len(more)),
        "mistakes": hard + more + 0.05 * draw.random(len(more)),
    }


def paired(seed: int, questions: int = 200) -> Answer:
    return analyze(
        log_of(seed, questions), arm="model", objectives=[SCORE, MISTAKES], pair="question", contamination=0,
        profile=False,
    )  # fmt: skip


def test_the_sharper_of_boxes_and_pairs_counts_in_the_metrics_own_direction() -> None:
    found = paired(0)
    assert found.pairs is not None
    inner = found.inner
    for i, arm in enumerate(found.arms):
        for k, baseline in enumerate(found.arms):
            if i == k:
                continue
            for d, effect in enumerate(found.compare(arm, baseline).effects):
                most = min(inner.upper[i, d] - inner.lower[k, d], found.pairs[i, k, d])
                least = max(inner.lower[i, d] - inner.upper[k, d], -found.pairs[k, i, d])
                wanted = (-most, -least) if d == 1 else (least, most)
                assert (effect.difference.low, effect.difference.high) == pytest.approx(wanted, abs=1e-12)
                assert effect.difference.low <= effect.difference.estimate <= effect.difference.high
                assert effect.difference.low <= TRUTH[i] - TRUTH[k] <= effect.difference.high
    intervals = replace(found, pairs=None)
    for metric in ("score", "mistakes"):
        narrow, wide = (each.compare("m3", "m0")[metric] for each in (found, intervals))
        assert narrow.difference.high - narrow.difference.low < (wide.difference.high - wide.difference.low) / 3
        assert narrow.ratio == wide.ratio
        assert wide.contrast == Contrast.OPEN
    assert found.compare("m3", "m0")["score"].contrast == Contrast.BETTER
    assert found.compare("m3", "m0")["mistakes"].sign == -1
    assert str(found.compare("m3", "m0")).startswith("m3 − m0 = 0.0")  # the ratio does not tell them apart


def comparable(apart: Any, half: float = 1.0) -> Comparable:
    """Arms a, b and c at 1, 2 and 3, with the same intervals around them, and these differences within pairs."""
    centre = np.array([[1.0], [2.0], [3.0]])
    return Comparable(
        "abc", (Objective("x", "maximize"),), centre, centre - half, centre + half, 0.95, np.array(apart)[..., None]
    )


UNKNOWN = np.full((3, 3), np.inf)


def test_pairs_that_contradict_boxes_say_nothing() -> None:
    apart = UNKNOWN.copy()
    apart[1, 0] = -1.5  # b is behind a by 1.5 at least; by intervals it is by 1 at most
    effect = against(comparable(apart), 0, np.array([1])).of(0)["x"]
    assert (effect.difference.low, effect.difference.high) == (-np.inf, np.inf)
    assert effect.contrast == Contrast.OPEN


def test_of_an_arm_without_a_box_pairs_say_nothing() -> None:
    intervals = comparable(np.full((3, 3), -0.5))
    nothing = replace(intervals, upper=np.array([[2.0], [np.inf], [4.0]]), lower=np.array([[0.0], [-np.inf], [2.0]]))
    effect = against(nothing, 0, np.array([1])).of(0)["x"]
    assert (effect.difference.low, effect.difference.high) == (-np.inf, np.inf)


@pytest.mark.parametrize("how", [{"rule": "knee"}, {"weights": {"x": 2.0}}])
def test_who_may_be_the_best_is_found_by_pairs_too(how: dict[str, Any]) -> None:
    everyone = np.ones(3, np.bool_)
    field = everyone, everyone, everyone
    wish = wish_of((Objective("x", "maximize"),), how.get("rule"), how.get("weights"), None)
    apart = UNKNOWN.copy()
    apart[0, 1], apart[1, 2] = -0.5, -0.25  # a is behind b, and b behind c
    by_pairs = pick(comparable(apart), *field, wish)
    assert by_pairs.arm == "c"
    assert by_pairs.among == ("a", "c") if not by_pairs.certain else ("c",)
    alone = pick(comparable(UNKNOWN, half=2.0), *field, wish)
    assert alone.among == ("a", "b", "c")
    apart[0, 2] = -0.5
    sure = pick(comparable(apart, half=2.0), *field, wish)
    assert (sure.certain, sure.among, sure.behind) == (True, ("c",), 0.0)
    nearly = apart.copy()
    nearly[1, 2] = 0.25
    unit = 2.0 if "weights" in how else 1.0 / 2.0  # of the range from a to c
    assert pick(comparable(nearly, half=2.0), *field, wish).behind == pytest.approx(0.25 * unit)


def test_a_study_compares_by_pairs() -> None:
    study = Study(["a", "b"], [SCORE], contamination=0, paired=True, seed=1)
    draw = np.random.default_rng(0)
    hard = 0.1 + 0.7 * draw.random(4000)
    for _ in range(10):
        pulls = study.ask(20)
        study.tell_many([(pull, float(hard[pull.rep] + 0.05 * (pull.arm == "b"))) for pull in pulls])
    found = study.result()
    assert found.pairs is not None
    narrow, wide = (each.compare("b", "a")["score"].difference for each in (found, replace(found, pairs=None)))
    assert narrow.low <= 0.05 <= narrow.high
    assert narrow.high - narrow.low < wide.high - wide.low
