"""Pulls in randomised blocks, for machines whose speed changes: docs/theory.md, (aa)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from frontguard import Certified, Objective, Oblivious, Prescient, Question, Study, simulate
from frontguard.errors import BadInput
from frontguard.evidence.confidence_sequences import rank_table, read_rank
from frontguard.evidence.intervals import HIGH, LOW
from frontguard.policies.certified import BLOCK_GROWTH
from frontguard.simulation.environments import gaussian
from frontguard.statements import Statement
from frontguard.storage.contract import open_storage
from frontguard.words.certificate import guarantee

SECONDS = Objective("seconds", "minimize", tolerance="1%")


@pytest.mark.parametrize("kept", [0.5, 0.45, 0.4, 0.855, 0.05])
@pytest.mark.parametrize("delta", [1e-2, 1e-3, 1e-5])
def test_all_looks_together_miss_with_the_part_of_one(kept: float, delta: float) -> None:
    table, missed, pulls = rank_table(kept, delta), 0.0, 5
    while pulls < 2**20:
        rank = read_rank(table, pulls)
        assert rank <= kept * pulls  # what Hoeffding's comparison with a binomial law asks for
        missed += float(binom.cdf(rank - 1, pulls, kept)) if rank else 0.0
        pulls += int(np.ceil(BLOCK_GROWTH * pulls))
    assert missed <= delta


def test_whole_blocks_of_the_arms_that_are_not_out() -> None:
    policy = Certified(4, 1, threat=Oblivious(0.0), accuracy=0.1, blocks=True)
    rng = np.random.default_rng(0)
    middles = np.array([0.0, 0.0, -0.3, -9.0])
    seen = []
    while not policy.done and policy.pulls_per_arm.max() < 400:
        asked = policy.ask()
        arms, counts = np.unique(asked, return_counts=True)
        assert len(set(counts.tolist())) == 1
        assert set(arms.tolist()) == set(np.flatnonzero(policy.alive).tolist())
        seen.append(len(arms))
        policy.tell(asked, (middles[asked] + rng.normal(0.0, 0.5, len(asked)))[:, None])
    assert seen[0] == 4
    assert seen[-1] == 2


def test_an_interval_holds_the_median_of_the_moments() -> None:
    """The machine has two speeds and drifts, by a plan that is always the same: nothing is drawn but the order."""
    blocks, arms, missed = 140, 3, 0
    slots = np.arange(2 * blocks * arms)
    speeds = np.where(slots % 160 < 80, 1.0, 1.5) * (1.0 + 1e-4 * slots)
    for run in range(200):
        policy = Certified(arms, 1, threat=Oblivious(0.0), accuracy=0.0, coverage=0.0, delta=0.2, blocks=True)
        rng, slot, wrong = np.random.default_rng(run), 0, False
        while not policy.done and policy.pulls_per_arm.max() < blocks:
            asked = np.sort(policy.ask())
            rank = np.arange(len(asked)) - np.searchsorted(asked, asked)
            asked = asked[np.lexsort((rng.random(len(asked)), rank))]
            policy.tell(asked, speeds[slot : slot + len(asked)][:, None])
            slot += len(asked)
            low, high = policy.standing.intervals[:, LOW, 0], policy.standing.intervals[:, HIGH, 0]
            middle = np.median(speeds[:slot])
            wrong |= bool(((low > middle) | (high < middle)).any())
        missed += wrong
    assert missed <= 0.2 * 200


def step(slot: int) -> float:
    return 1.3 if slot > 150 else 1.0


def measured_on_a_step(*, blocks: bool, apart: float, seed: int) -> Study:
    rng, slot = np.random.default_rng(seed), 0
    study = Study(4, [SECONDS], Prescient(0.1), seed=seed, max_pulls=1500, blocks=blocks)
    while pulls := study.ask(1):
        slot += 1
        middle = apart ** pulls[0].index
        study.tell(pulls[0], {"seconds": middle * step(slot) * float(np.exp(rng.normal(0.0, 0.03)))})
    return study


def test_an_arm_that_is_out_is_shown_as_it_would_be_in_the_moments_of_the_others() -> None:
    study = measured_on_a_step(blocks=True, apart=1.03, seed=2)
    result = study.result()
    ratios = [effect.ratio for found in result.against("0") for effect in found.effects]
    assert result.verdicts["3"] == "beaten"
    assert result.pulls_per_arm[3] < result.pulls_per_arm[0]
    for ratio, true in zip(ratios, (1.03, 1.03**2, 1.03**3), strict=True):
        assert ratio is not None
        assert ratio.low <= true <= ratio.high
    assert result.estimates[3, 0] > result.estimates[:3, 0].max()


def test_without_blocks_what_contradicts_itself_is_not_certified() -> None:
    found = [measured_on_a_step(blocks=False, apart=1.01, seed=seed) for seed in range(6)]
    doubted = [study for study in found if any(each.kind == "contamination_refuted" for each in study.result().notices)]
    assert doubted
    for study in doubted:
        result = study.result()
        (refuted,) = (each for each in result.notices if each.kind == "contamination_refuted")
        assert result.status == study.status == "unreachable"
        assert refuted.names
        assert guarantee(result).startswith(Statement.NO_PROMISE.text.partition("{")[0])
        assert {result.verdicts[name] for name in refuted.names} <= {"undecided"}
    for study in found:
        inner = study.result().inner
        assert ((inner.lower <= inner.estimates) & (inner.estimates <= inner.upper)).all()


@pytest.mark.parametrize("apart", [1.0, 5.0])
def test_an_arm_that_drifts_is_given_up_alone_and_the_others_are_decided(apart: float) -> None:
    study, rng = Study(4, [SCORE], Oblivious(0.0), seed=1, max_pulls=5000), np.random.default_rng(1)
    own, given_up_at = [0, 0, 0, 0], 0
    while pulls := study.ask(1):
        arm = pulls[0].index
        own[arm] += 1
        study.tell(pulls[0], float(rng.normal((0.0, 0.2, 0.4, 0.6)[arm], 0.5)) + apart * (arm == 3 and own[3] > 60))
        state = study.state()
        if not given_up_at and state.believed is not state.policy:
            given_up_at = own[3]
    result = study.result()
    (refuted,) = (each for each in result.notices if each.kind == "contamination_refuted")
    assert refuted.names == ("3",)
    assert result.status == study.status == "unreachable"
    assert [result.verdicts[arm] for arm in "23"] == ["keep", "undecided"]
    assert {result.verdicts[arm] for arm in "01"} <= {"beaten", "matched"}
    assert own[3] <= given_up_at + 2  # what was planned already
    assert max(own) > given_up_at + 50
    assert guarantee(result).startswith(Statement.NO_PROMISE.text.partition("{")[0])


def test_an_arm_whose_interval_became_empty_is_given_up_at_once() -> None:
    study = Study(3, [Objective("score", "maximize")], Oblivious(0.0), seed=1, max_pulls=5000)
    slot = 0
    while pulls := study.ask(1):
        slot += 1
        study.tell(pulls[0], float(slot // 200) * 10.0 + slot % 7)
    assert study.status == "unreachable"
    assert study.result().pulls < 1000


@pytest.mark.parametrize("other", [{"paired": True}, {"independent": True}])
def test_blocks_are_refused_where_pulls_have_another_order(other: dict[str, bool]) -> None:
    with pytest.raises(BadInput):
        Question.of([SECONDS], blocks=True, **other)  # type: ignore[arg-type]


@pytest.mark.parametrize("blocks", [True, False])
def test_a_study_goes_on_as_it_was_begun(blocks: bool) -> None:
    storage = open_storage("memory:")
    study = Study(["a", "b"], [SECONDS], storage=storage, blocks=blocks)
    with pytest.raises(BadInput):
        Study(["a", "b"], [SECONDS], storage=storage, blocks=not blocks)
    again = Study(["a", "b"], [SECONDS], storage=storage)  # says nothing of it
    assert again.settings == study.settings == Study.open(storage).settings
    assert again.state().policy.blocks == blocks


SCORE = Objective("score", "maximize", tolerance=0.1)


@pytest.mark.parametrize(
    ("objective", "asked", "wanted"),
    [
        (SECONDS, {}, True),
        (SCORE, {}, False),
        (SCORE, {"limits": ["p95(latency)<=300"]}, True),
        (Objective("seconds", exact=True), {}, False),
        (SECONDS, {"blocks": False}, False),
        (SCORE, {"blocks": True}, True),
        (SECONDS, {"independent": True}, False),
        (Objective("seconds", tolerance=1, statistic="mean", bounds=(0, 9)), {"paired": True}, False),
        (SECONDS, {"cost": "seconds"}, False),
        (SECONDS, {"baseline": "a"}, True),
    ],
)
def test_studies_of_times_come_in_blocks(objective: Objective, asked: dict[str, Any], wanted: bool) -> None:
    study = Study(["a", "b"], [objective], Prescient(0.0), **asked)
    assert study.settings.question.blocks is wanted
    assert study.state().policy.blocks is wanted


def test_a_simulation_of_blocks_has_as_many_pulls_of_each_arm_that_is_not_out() -> None:
    question = Question.of([SECONDS], Prescient(0.0), max_pulls_per_arm=400)
    runs = simulate(question=question, environment=gaussian([[0.0], [0.0], [-1.0]], sigma=0.05), runs=3)
    pulls = runs.pulls_per_arm
    assert (pulls[:, 0] == pulls[:, 1]).all()
    assert (pulls[:, 2] < pulls[:, 0]).all()
