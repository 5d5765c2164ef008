"""The experiments as the paper describes them, and what is refused."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard.errors import BadInput
from frontguard.experiments.setup import (
    AS_PUBLISHED,
    AS_THEORY,
    CONTESTANTS,
    SIDE,
    SUITE,
    Setting,
    choose,
    contestants_named,
    settings_of,
)
from frontguard.theory.threats import Malicious, Prescient
from tests.support.snapshots import refused, said


def bias_of(sigma: float, level: float) -> float:
    """R of Example 1, by hand."""
    return sigma * math.sqrt(2) * (math.sqrt(math.log(1 / (0.5 - level))) + math.sqrt(math.log(2)))


def test_movielens() -> None:
    (experiment,) = choose("movielens", None).experiments
    assert experiment.environment.pareto_set == [1, 7, 8, 12]  # as the selection was made
    setting = Setting(experiment, 0.2)
    assert setting.bias == pytest.approx(bias_of(0.2, 0.125))
    assert setting.adversary is not None
    assert setting.adversary.threat == Prescient(setting.eps)
    assert Setting(experiment, 0.0).adversary is None
    assert Setting(experiment, 0.0).bias == pytest.approx(2 * 0.2 * math.sqrt(2 * math.log(2)))  # R(0) > 0 stays
    assert (experiment.accuracy, setting.threat.name) == (0.2, "prescient")


def test_movielens_tradeoff_has_another_front() -> None:
    margin, tradeoff = (choose("movielens", None, name).experiments[0] for name in ("margin", "tradeoff"))
    assert len(tradeoff.environment.pareto_set) == 4
    assert not np.array_equal(margin.environment.medians, tradeoff.environment.medians)


def test_sw_llvm_has_two_rows(shared_data: Path) -> None:
    published, demanded = choose("sw-llvm", shared_data).experiments
    assert (published.variant, demanded.variant) == (AS_PUBLISHED, AS_THEORY)
    assert published.environment.pareto_set == [9, 15]
    assert Setting(published, 0.0).bias == 0.0
    assert Setting(published, 0.1).bias == pytest.approx(bias_of(0.2, 0.1 / 1.8))
    assert Setting(demanded, 0.0).bias == pytest.approx(bias_of(0.2, 0.0))
    assert Setting(demanded, 0.1).bias == pytest.approx(bias_of(0.2, 0.1))
    for experiment in (published, demanded):
        adversary = Setting(experiment, 0.1).adversary
        assert adversary is not None
        assert adversary.threat == Malicious(0.1)
    assert Setting(published, 0.1).published("rpsi") is not None
    assert Setting(demanded, 0.1).published("rpsi") is None


def test_diabetes_miscounts_both_objectives_at_once() -> None:
    (experiment,) = choose("diabetes", None).experiments
    adversary = Setting(experiment, 0.3).adversary
    assert adversary is not None
    assert adversary.replacements is not None
    assert adversary.joint
    assert experiment.environment.pareto_set == [0, 6, 12, 13, 20]
    assert Setting(experiment, 0.3).bias == pytest.approx(bias_of(0.025, 0.3 / 1.4))


def test_the_synthetic_suite() -> None:
    experiments = choose("synthetic", None).experiments
    assert [experiment.environment.medians.shape for experiment in experiments] == list(SUITE)
    assert SUITE[0] == (10, 2)
    for experiment in experiments:
        medians = experiment.environment.medians
        assert medians.min() >= 0.0
        assert medians.max() <= SIDE
    for again, experiment in zip(choose("synthetic", None).experiments, experiments, strict=True):
        np.testing.assert_array_equal(again.environment.medians, experiment.environment.medians)


def test_all_leaves_out_what_has_no_data_and_says_so(snapshot: SnapshotAssertion) -> None:
    chosen = choose("all", None)
    assert [experiment.dataset for experiment in chosen.experiments] == ["movielens", "diabetes"]
    assert len(chosen.left_out) == 1
    assert said(chosen.left_out[0]) == snapshot


def test_all_with_data(shared_data: Path) -> None:
    chosen = choose("all", shared_data)
    assert [experiment.dataset for experiment in chosen.experiments] == [
        "movielens",
        "sw-llvm",
        "sw-llvm",
        "diabetes",
    ]
    assert chosen.left_out == []


def test_wrong_choices_are_one_line(tmp_path: Path) -> None:
    for dataset, data, message in [
        ("movielense", None, "did you mean 'movielens'?"),
        ("xyz", None, "wanted one of movielens, sw-llvm, diabetes, compiler-flags, synthetic, all"),
        ("sw-llvm", None, "not part of the package; pass --data"),
        ("sw-llvm", tmp_path / "absent", "no such file or directory"),
        ("movielens", tmp_path, "reads no data from outside"),
        ("diabetes", tmp_path, "reads no data from outside"),
        ("all", tmp_path / "absent", "no such file or directory"),
        ("all", tmp_path, "holds no sw_llvm.csv"),
    ]:
        with pytest.raises(BadInput) as caught:
            choose(dataset, data)
        assert message in str(caught.value)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("eps", "good"), [(0.0, True), (0.49, True), (0.4949, True), (0.495, False), (-0.1, False)])
def test_range_of_epsilon_for_independent_hits(eps: float, good: bool, snapshot: SnapshotAssertion) -> None:
    """ε < 2t̄/(1+2t̄) = 0.98/1.98 = 0.49494…"""
    experiments = choose("diabetes", None).experiments
    if good:
        assert [setting.eps for setting in settings_of(experiments, [eps])] == [eps]
    else:
        with refused(BadInput, snapshot):
            settings_of(experiments, [eps])


def test_nan_is_no_epsilon(snapshot: SnapshotAssertion) -> None:
    with refused(BadInput, snapshot):
        settings_of(choose("diabetes", None).experiments, [math.nan])


def test_range_of_epsilon_for_the_malicious(shared_data: Path, snapshot: SnapshotAssertion) -> None:
    with refused(BadInput, snapshot):
        settings_of(choose("sw-llvm", shared_data).experiments, [0.49])


def test_the_papers_levels_are_the_default() -> None:
    settings = settings_of(choose("diabetes", None).experiments, [])
    assert [setting.eps for setting in settings] == [0.0, 0.05, 0.1, 0.2, 0.3, 0.4]
    assert len(settings_of(choose("diabetes", None).experiments, [0.1, 0.1])) == 1


def test_policies_by_name(snapshot: SnapshotAssertion) -> None:
    assert [c.name for c in contestants_named([])] == ["rpsi", "certified", "auer-a1", "auer-a1-m"]
    assert [c.name for c in contestants_named(list(CONTESTANTS))] == list(CONTESTANTS)
    assert [c.title for c in contestants_named(["auer-a1-m", "rpsi", "rpsi"])] == ["Auer-A1-M", "R-PSI"]
    with refused(BadInput, snapshot):
        contestants_named(["auer-a1m"])
