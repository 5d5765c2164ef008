"""Studies that are gates: the same answer however often they are taken up, what fails, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard import EvenHanded, Objective, Prescient, Study
from frontguard.comparisons.outcomes import Outcome
from frontguard.errors import BadInput
from frontguard.logs.sides import with_robustness
from frontguard.notices import Excluded
from tests.support.snapshots import refused

SECONDS = Objective("seconds", "minimize", tolerance="5%")
BYTES = Objective("bytes", "minimize", tolerance="1%", exact=True)
TRUTH = {"main": (1.0, 100.0), "pr": (1.2, 100.0), "other": (0.99, 102.0)}


def measured(arm: str, number: int) -> tuple[float, float]:
    seconds, size = TRUTH[arm]
    return seconds * float(np.exp(np.random.default_rng(number).normal(0.0, 0.02))), size


def gated(storage: object = None, **more: object) -> Study:
    given = {"baseline": "main", "storage": storage, **more}
    return Study(["main", "pr", "other"], [SECONDS, BYTES], Prescient(0.1), **given)  # type: ignore[arg-type]


def told(study: Study, most: int | None = None) -> None:
    while (most is None or most > 0) and (pulls := study.ask(1)):
        study.tell_many([(pull, measured(pull.arm, pull.id)) for pull in pulls])
        most = None if most is None else most - 1


def test_a_gate_says_of_each_metric_what_is_so() -> None:
    study = gated()
    told(study)
    found = study.result().gate
    assert {pair.name: [check.outcome.word for check in pair.checks] for pair in found.pairs} == {
        "pr": ["worse", "not worse"],
        "other": ["not worse", "worse"],
    }
    assert (found.outcome, found.status) == (Outcome.WORSE, "decided")
    ratio = found.pairs[0].checks[0].effect.ratio
    assert ratio is not None
    assert ratio.low < 1.2 < ratio.high
    assert found.pairs[0].checks[1].effect.ratio.low == found.pairs[0].checks[1].effect.ratio.high == 1.0  # type: ignore[union-attr]


def test_robustness_of_a_study_is_that_of_its_log() -> None:
    study = gated()
    told(study)
    found = with_robustness(study.result().gate, study)
    assert found.pairs[0].checks[1].holds_up_to == pytest.approx(0.49)  # exact, so at every ε
    worse = found.pairs[0].checks[0].holds_up_to
    assert worse is not None
    assert 0.1 <= worse < 0.49
    assert found.holds_up_to == pytest.approx(0.49)  # other is worse in bytes, whatever lies


def test_taken_up_again_and_again_it_finds_the_same(tmp_path: Path) -> None:
    whole = gated()
    told(whole)
    for _ in range(1000):
        study = gated(tmp_path / "gate.db", worker="one")  # plans are for all who told lately
        told(study, most=7)
        if study.done:
            break
        study.close()
    assert study.result().gate == whole.result().gate
    study.close()


def test_a_looser_tolerance_may_be_asked_for_later(tmp_path: Path) -> None:
    study = gated(tmp_path / "gate.db")
    told(study)
    study.close()
    loose = Study(["main", "pr", "other"], [Objective("seconds", "minimize", "50%"), BYTES], Prescient(0.1),
                  baseline="main", storage=tmp_path / "gate.db")  # fmt: skip
    told(loose)
    assert [pair.checks[0].outcome.word for pair in loose.result().gate.pairs] == ["not worse", "not worse"]
    loose.close()


def test_another_baseline_is_another_study(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    gated(tmp_path / "gate.db").close()
    with refused(BadInput, snapshot):
        gated(tmp_path / "gate.db", baseline="pr")
    with refused(BadInput, snapshot):
        gated(tmp_path / "gate.db", baseline=None)


@pytest.mark.parametrize(
    "given",
    [
        {"baseline": "mian"},
        {"independent": True, "paired": True},
    ],
)
def test_what_is_no_gate_is_refused(given: dict[str, object], snapshot: SnapshotAssertion) -> None:
    with refused(BadInput, snapshot):
        gated(**given)


def test_a_gate_of_one_arm_is_refused(snapshot: SnapshotAssertion) -> None:
    with refused(BadInput, snapshot):
        Study(["main"], [SECONDS], baseline="main")


@pytest.mark.parametrize("broken", ["main", "pr"])
def test_what_cannot_be_measured_is_open(broken: str) -> None:
    study = gated(max_pulls=400)
    while pulls := study.ask(1):
        for pull in pulls:
            if pull.arm == broken:
                study.fail(pull, "exit code 1")
            else:
                study.tell(pull, measured(pull.arm, pull.id))
    answer = study.result()
    found = answer.gate
    assert any(isinstance(notice, Excluded) and notice.arm == broken for notice in answer.notices)
    assert found.broken
    if broken == "main":
        assert {check.outcome for pair in found.pairs for check in pair.checks} == {Outcome.OPEN}
        assert found.status == "unreachable"
    else:
        assert [pair.outcome.word for pair in found.pairs] == ["open", "worse"]
        assert found.status == "unmeasured"


def test_the_front_of_a_gate_is_said_as_far_as_its_boxes_tell() -> None:
    """Its result, which reports and the page show, claims no more than is certain of the front."""
    study = gated()
    told(study)
    result = study.result()
    assert result.status in ("certified", "running")
    assert (result.status == "certified") == ("undecided" not in result.verdicts.values())
    # Of seconds nothing is known but how arms differ; none has fewer bytes than main and pr.
    assert result.verdicts == {"main": "keep", "pr": "keep", "other": "undecided"}


def test_settings_of_a_gate_are_read_back_and_strangers_refused(snapshot: SnapshotAssertion) -> None:
    from frontguard.studies.settings import Settings

    settings = gated().settings
    assert Settings.from_json(settings.to_json()) == settings
    with refused(BadInput, snapshot):
        Settings.from_json(settings.to_json().replace('"baseline": "main"', '"baseline": "nobody"'))


# In blocks ------------------------------------------------------------------------------------------------------------


def test_a_gate_of_times_comes_in_blocks_of_equally_many_in_random_order() -> None:
    study, order = gated(), []
    while pulls := study.ask(1):
        order += [pull.arm for pull in pulls]
        study.tell_many([(pull, (1.0, 100.0)) for pull in pulls])
    blocks = [order[at : at + 12] for at in range(0, len(order), 12)]
    assert all(block.count(arm) == 4 for block in blocks for arm in study.arms)
    assert len({tuple(block) for block in blocks}) == len(blocks)


@pytest.mark.parametrize("budget", [{"max_pulls": 30}, {"max_pulls_per_arm": 10}, {"cost": 1.0, "max_cost": 30.0}])
def test_a_budget_leaves_whole_blocks(budget: dict[str, object]) -> None:
    study = gated(**budget)
    while pulls := study.ask(5):
        study.tell_many([(pull, (1.0 + 0.5 * (pull.id % 7), 100.0)) for pull in pulls])
    assert study.result().pulls_per_arm.tolist() == [8, 8, 8]


def test_a_candidate_that_is_open_again_is_compared_in_new_blocks(tmp_path: Path) -> None:
    """One that was certain at the old tolerance lags behind: what it lacks is no block with the baseline."""
    study = gated(tmp_path / "gate.db")
    told(study)
    before = dict(zip(study.arms, study.result().pulls_per_arm.tolist(), strict=True))
    study.close()
    tight = Study(["main", "pr", "other"], [Objective("seconds", "minimize", "19%"), BYTES], Prescient(0.1),
                  baseline="main", storage=tmp_path / "gate.db", max_pulls=600)  # fmt: skip
    told(tight)
    after = dict(zip(tight.arms, tight.result().pulls_per_arm.tolist(), strict=True))
    assert before["pr"] < before["main"]
    assert after["pr"] - before["pr"] == after["main"] - before["main"] > 0
    tight.close()


def test_without_blocks_a_gate_goes_by_intervals() -> None:
    study = gated(blocks=False, max_pulls=60)
    told(study)
    assert study.result().gate.at_worst is None
    assert np.isfinite(study.result().inner.lower[:, 0]).all()


def test_clusters_are_refused_where_whole_blocks_are_compared(snapshot: SnapshotAssertion) -> None:
    study = gated()
    pull = study.ask(1)[0]
    with refused(BadInput, snapshot):
        study.tell(pull, (1.0, 100.0), cluster="host")


@pytest.mark.parametrize("given", [{"blocks": False}, {"blocks": None, "objectives": "mean"}])
def test_a_threat_that_needs_chance_is_refused_where_no_order_is_drawn(
    given: dict[str, object], snapshot: SnapshotAssertion
) -> None:
    rate = Objective("solved", "maximize", statistic="mean", bounds=(0, 1))
    metrics = [rate] if given.pop("objectives", None) else [SECONDS]
    with refused(BadInput, snapshot):
        Study(["main", "pr"], metrics, EvenHanded(0.1), baseline="main", **given)  # type: ignore[arg-type]
    Study(["main", "pr"], [SECONDS], EvenHanded(0.1), baseline="main")
    Study(["main", "pr"], [SECONDS], EvenHanded(0.1))
