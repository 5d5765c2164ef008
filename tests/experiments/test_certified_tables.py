"""What the certified policy has to show, with few runs: the tables of docs/certified.md in small, with slack."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from benchmarks.covboost import covboost

from frontguard import Oblivious
from frontguard.experiments.results import figures_of
from frontguard.experiments.setup import AS_PUBLISHED, AS_THEORY, CONTESTANTS, Experiment, Setting, choose
from frontguard.policies import AuerA1, Certified
from frontguard.simulation import simulate
from frontguard.simulation.judging import judge


def measured(experiment: Experiment, eps: float, policy: str, runs: int) -> dict[str, Any]:
    setting = Setting(experiment, eps)
    pattern = CONTESTANTS[policy].build(setting)
    finished = simulate(pattern, experiment.environment, setting.adversary, runs=runs)
    truth: npt.NDArray[np.float64] = experiment.environment.medians
    judged = judge(finished.returned, truth, **setting.goal)
    return figures_of(judged, finished.pulls)


def both(experiment: Experiment, eps: float, policy: str, runs: int) -> tuple[float, dict[str, Any], dict[str, Any]]:
    """R-PSI's pulls / the policy's, and both scores."""
    old, new = measured(experiment, eps, "rpsi", runs), measured(experiment, eps, policy, runs)
    return old["sc"] / new["sc"], old, new


@pytest.mark.parametrize(
    ("dataset", "eps", "at_least"),
    [("movielens", 0.05, 10.0), ("movielens", 0.3, 5.0), ("diabetes", 0.0, 10.0), ("diabetes", 0.4, 10.0)],
)
def test_the_same_guarantee_with_fewer_pulls(dataset: str, eps: float, at_least: float) -> None:
    ratio, old, new = both(choose(dataset, None).experiments[0], eps, "certified", 6)
    assert ratio >= at_least
    assert new["rsr"] == 1.0
    assert new["rf1"] >= old["rf1"]
    assert new["ro"] >= old["ro"] - 0.05


@pytest.mark.parametrize(("variant", "eps", "at_least"), [(AS_PUBLISHED, 0.0, 5.0), (AS_THEORY, 0.1, 100.0)])
def test_the_same_guarantee_on_sw_llvm(shared_data: Path, variant: str, eps: float, at_least: float) -> None:
    experiment = next(e for e in choose("sw-llvm", shared_data).experiments if e.variant == variant)
    ratio, _, new = both(experiment, eps, "certified", 6)
    assert ratio >= at_least
    assert new["rsr"] == 1.0
    assert new["ro"] == 1.0


@pytest.mark.parametrize(("dataset", "eps"), [("movielens", 0.1), ("diabetes", 0.1)])
def test_fewer_pulls_without_any_spread_bound(dataset: str, eps: float) -> None:
    ratio, _, new = both(choose(dataset, None).experiments[0], eps, "certified-no-r", 4)
    assert ratio >= 3.0
    assert new["rsr"] == 1.0


def test_clean_rewards_need_fewer_pulls_than_means_with_the_right_variances() -> None:
    instance = covboost()
    environment = instance.environment()
    K, M = instance.means.shape
    auer = AuerA1(K, M, accuracy=0.98 * instance.smallest_gap, scale=instance.deviations)
    certified = Certified(K, M, threat=Oblivious(0.0), accuracy=0.0, coverage=0.0)
    theirs, ours = (simulate(policy, environment, runs=8) for policy in (auer, certified))
    assert (ours.returned == environment.pareto_mask).all()
    assert ours.pulls.mean() < 0.85 * theirs.pulls.mean()
