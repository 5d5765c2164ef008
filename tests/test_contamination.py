"""Contamination of each metric by itself: what is usual, who says otherwise, and that every answer goes by it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from frontguard import Limit, Malicious, Objective, Oblivious, Prescient, Question, Share, Study, analyze, gate
from frontguard.cli import options
from frontguard.commands.spec import read_spec
from frontguard.errors import BadArgument, BadInput
from frontguard.planning.reach import means_below_floor
from frontguard.results import Answer
from frontguard.studies.settings import Settings
from frontguard.theory.threats import Threat

RATE = Objective("solved", "maximize", tolerance=0.05, statistic="mean", bounds=(0, 1))
MS = Objective("ms", "minimize")
SIZE = Objective("size", "minimize", exact=True)
VOLTS = Objective("volts", "maximize", statistic="mean", sigma=1.0)


def test_quantiles_have_a_tenth_and_other_values_are_taken_as_they_are() -> None:
    asked = Question.of([RATE, MS, SIZE, VOLTS], limits=["p95(latency)<=9", "mean(passed)>=0.5"])
    assert asked.contaminations == {"solved": 0.0, "ms": 0.1, "volts": 0.0, "latency": 0.1, "passed": 0.0}
    assert [asked.threat.of(d).eps for d in (0, 1, 3, 4, 5)] == [0.0, 0.1, 0.0, 0.1, 0.0]
    assert Question.of([MS, SIZE]).threat == Prescient(0.1)  # what is exact has none of its own
    assert Question.of([RATE, SIZE]).threat == Prescient(0.0)
    assert Question.of([MS]).with_rates(["ms"]).contaminations == {"ms": 0.0}


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ({"contamination": 0.05}, {"solved": 0.05, "ms": 0.05, "mb": 0.05}),
        ({"threat": Share(0.2)}, {"solved": 0.2, "ms": 0.2, "mb": 0.2}),
        ({"threat": "share"}, {"solved": 0.0, "ms": 0.1, "mb": 0.1}),
        ({"contamination": {"solved": "2%", "mb": 0.3}}, {"solved": 0.02, "ms": 0.1, "mb": 0.3}),
        ({"contamination": "auto"}, {"solved": 0.0, "ms": 0.0, "mb": 0.0}),
    ],
)
def test_it_is_said_of_all_metrics_or_of_one(said: dict[str, Any], wanted: dict[str, float]) -> None:
    for before in ({}, {"contamination": {"ms": 0.4}}):
        asked = Question.of([RATE, MS], limits=["mb<=9"], **before).but(**said)
        kept = {"ms": 0.4} if before and said.get("contamination") not in (0.05, "auto") else {}  # else said anew
        assert asked.contaminations == wanted | kept
        assert Question.from_dict(asked.to_dict()) == asked


def test_what_an_objective_or_a_limit_says_is_its_own() -> None:
    own = Objective("ms", "minimize", contamination=0.02)
    assert Question.of([own, RATE], threat=Malicious(0.3)).contaminations == {"ms": 0.02, "solved": 0.3}
    limits = [Limit("mb", at_most=9, contamination=0.03), Limit("ms", at_most=5, quantile=0.95)]
    assert Question.of([own], limits=limits).contaminations == {"ms": 0.02, "mb": 0.03}
    for wrong in (
        lambda: Question.of([own], limits=[Limit("ms", at_most=5, contamination=0.5)]),
        lambda: Question.of([own], limits=[Limit("ms", at_most=5, contamination=0.1)]),
        lambda: Question.of([own], contamination={"seconds": 0.1}),
        lambda: Question.of([own], threat=Prescient(0.1), contamination=0.2),
        lambda: Objective("size", "minimize", exact=True, contamination=0.1),
    ):
        with pytest.raises(BadArgument) as error:
            wrong()
        assert "contamination" in error.value.argument
    with pytest.raises(BadInput):
        Question.of([VOLTS], contamination=0.1)


def test_options_and_specs_say_it_likewise(tmp_path: Path) -> None:
    assert options.asked({"contamination": ["5%"]})["contamination"] == "5%"
    assert options.asked({"contamination": ["ms=10%", "ok=0"]})["contamination"] == {"ms": "10%", "ok": "0"}
    spec = tmp_path / "spec.toml"
    spec.write_text(
        '[study]\ncontamination = "3%"\n[[objective]]\nname = "seconds"\ntolerance = 0\n'
        '[[objective]]\nname = "ok"\ndirection = "maximize"\ntolerance = 0\nstatistic = "mean"\nbounds = [0, 1]\n'
        'contamination = "1%"\n[run]\ncommand = ["true"]\n[[arm]]\nname = "a"\n[[arm]]\nname = "b"\n',
        encoding="utf-8",
    )
    assert read_spec(spec).question.contaminations == {"seconds": 0.03, "ok": 0.01}


def test_a_study_keeps_it() -> None:
    begun = Settings(("a", "b"), Question.of([RATE, MS]))
    assert Settings.from_json(begun.to_json()) == begun
    assert begun.taken_up(Settings(("a", "b"), Question.of([RATE, MS])), 1) == begun
    with pytest.raises(BadInput):
        begun.taken_up(Settings(("a", "b"), Question.of([RATE, MS], contamination={"solved": 0.01})), 1)
    old = Settings.from_json(begun.to_json().replace('"contamination": "usual"', '"contamination": 0.1'))
    assert old.question.contaminations == {
        "solved": 0.1,
        "ms": 0.1,
    }  # as one that was begun before metrics had their own


@pytest.mark.parametrize("model", [Oblivious, Prescient, Malicious, Share])
def test_a_study_of_two_metrics_has_the_intervals_of_each(model: type[Threat]) -> None:
    rng, found = np.random.default_rng(0), []
    values = np.stack([rng.random((40, 2)) < 0.7, rng.normal(5.0, 1.0, (40, 2))], axis=2)
    for threat in (model.name, model(0.0), model(0.1)):
        study = Study(["a", "b"], [RATE, MS], threat, max_pulls_per_arm=40, goal="front", blocks=False)
        done = [0, 0]
        while pulls := study.ask(8):
            for pull in pulls:
                study.tell(pull, values[done[pull.index], pull.index].tolist())
                done[pull.index] += 1
        found.append(study.result())
    mixed, clean, dirty = found
    assert (mixed.inner.lower[:, 0] > dirty.inner.lower[:, 0] + 0.02).all()
    assert (mixed.inner.upper[:, 1] - mixed.inner.lower[:, 1] > clean.inner.upper[:, 1] - clean.inner.lower[:, 1]).all()
    assert mixed.certificate.by_column == (0.0, 0.1)
    assert mixed.to_dict()["contaminations"] == {"solved": 0.0, "ms": 0.1}
    assert Answer.from_dict(mixed.to_dict()).to_dict() == mixed.to_dict()


def test_a_gate_compares_each_metric_with_its_own() -> None:
    rng = np.random.default_rng(1)
    sides = [
        {"arm": ["x"] * 30, "ms": rng.normal(middle, 0.02, 30), "s": rng.normal(middle, 0.02, 30)}
        for middle in (1.0, 1.03)
    ]
    how: dict[str, Any] = {"minimize": ["ms", "s"], "tolerance": "1%"}
    mixed = gate(*sides, **how, contamination={"s": 0})
    for d, eps in enumerate((0.1, 0.0)):
        alone = gate(*sides, **how, contamination=eps)
        one, other = (each.gate.pairs[0].checks[d].effect for each in (mixed, alone))
        assert one.ratio == other.ratio
    clean = gate(*sides, **how, contamination=0)
    assert mixed.gate.pairs[0].checks[0].effect.ratio != clean.gate.pairs[0].checks[0].effect.ratio


def test_an_open_gate_says_what_is_certain_if_less_is_wrong() -> None:
    rng = np.random.default_rng(2)
    log = {"arm": np.repeat(["a", "b"], 600), "ok": rng.random(1200) < np.repeat([0.8, 0.7], 600)}
    how: dict[str, Any] = {"baseline_arm": "a", "maximize": "ok", "tolerance": 0.0, "profile": True}
    found = gate(log, **how, contamination=0.1)
    (check,) = found.gate.pairs[0].checks
    assert check.outcome.word == "open"
    outcome, eps = check.if_cleaner
    for level, word in ((eps, outcome.word), (round(eps + 0.001, 12), "open")):
        assert gate(log, **how, contamination=level).gate.outcome.word == word
    assert Answer.from_dict(found.to_dict()).gate == found.gate


def test_a_plan_knows_the_floor_of_each_mean() -> None:
    metrics = [RATE, MS, Objective("safe", "maximize", tolerance=0.05, statistic="mean", bounds=(0, 1))]
    below = means_below_floor(metrics, Prescient(0.2, (0.2, 0.1, 0.0)))
    assert [each.name for each, _ in below] == ["solved"]


def test_an_analysis_of_a_log_says_whose_values_may_be_wrong() -> None:
    rng = np.random.default_rng(3)
    log = {"arm": np.repeat(["a", "b"], 200), "ok": rng.random(400) < 0.7, "ms": rng.normal(1.0, 0.1, 400)}
    found = analyze(log, maximize="ok", minimize="ms", tolerance={"ok": 0.2, "ms": "20%"})
    assert found.to_dict()["contaminations"] == {"ok": 0.0, "ms": 0.1}
    last = found.log.profile.levels[0]
    assert last == 0.0  # from the smallest on: where one metric is taken as it is, it is raised alone
