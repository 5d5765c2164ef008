"""Plans of pairs, lists, clusters, independent arms, gates and costs: fewer or more pulls where that is known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard import BadInput, Gaussian, Objective, Question, plan
from frontguard.planning.task import PairedStreams, Task
from tests.support.snapshots import refused

RATE = Objective("solved", "maximize", tolerance=0.05, statistic="mean", bounds=(0, 1))


def questions(agree: float, count: int = 400) -> dict[str, Any]:
    """Two arms on the same questions, of which they answer `agree` alike; the second solves a tenth more."""
    rng = np.random.default_rng(0)
    easy, other = rng.random(count), rng.random(count)
    own = np.where(rng.random(count) < agree, easy, other)
    return {
        "arm": np.repeat(["old", "new"], count),
        "item": np.tile(np.arange(count), 2),
        "solved": np.concatenate([easy < 0.5, own < 0.6]).astype(float),
    }


def test_pairs_of_a_pilot_that_agree_take_fewer_pulls_than_without() -> None:
    def pulls(pilot: dict[str, Any], **asked: Any) -> float:
        made = plan(objectives=[RATE], contamination=0, pilot=pilot, arm="arm", runs=2, **asked)
        assert made.of("certified").certified == 2
        return made.of("certified").mean

    alike = questions(1.0)
    assert pulls(alike, pair="item") < 0.8 * pulls(alike)
    assert pulls(alike, pair="item") < 0.6 * pulls(questions(0.0), pair="item")


def test_pulls_of_the_same_number_are_of_the_same_item() -> None:
    pilot = questions(1.0)
    made = plan(objectives=[RATE], contamination="5%", pilot=pilot, arm="arm", pair="item", runs=1)
    task = made.task
    assert task.blocks is not None
    clean, attacked = (PairedStreams(task, 0, 0, attacked=which) for which in (False, True))
    pairs = np.column_stack([clean.take_batch([arm] * 4000)[:, 0] for arm in (0, 1)])
    assert (pairs[:, 0] <= pairs[:, 1]).all()  # what the old one solves, the new one does
    assert pairs.mean(axis=0) == pytest.approx(task.blocks.mean(axis=(1, 2)), abs=0.03)
    hit = np.column_stack([attacked.take_batch([arm] * 4000)[:, 0] for arm in (0, 1)])
    moved = hit.mean(axis=0) - pairs.mean(axis=0)
    assert moved[0] == pytest.approx(0.05 * (1 - pairs[:, 0].mean()), abs=0.02)  # which is beaten: pushed up
    assert moved[1] == pytest.approx(-0.05 * pairs[:, 1].mean(), abs=0.02)


def test_a_list_is_over_when_all_items_are_measured() -> None:
    asked = {"objectives": [RATE], "contamination": 0, "pilot": questions(0.5), "arm": "arm", "runs": 2}
    listed = plan(**asked, pair="item", items=60).of("certified")
    assert listed.most <= 120


def test_clusters_of_a_pilot_count_once() -> None:
    rng = np.random.default_rng(1)
    hosts = rng.normal(0.0, 1.0, 60)  # rows of a host are alike: 40 of them are not worth more than one
    rows = {
        "arm": np.repeat(["a", "b"], 30 * 40),
        "host": np.repeat(np.arange(60), 40),
        "ms": np.repeat(hosts + np.repeat([0.0, 3.0], 30), 40) + rng.normal(0.0, 0.01, 2400),
    }
    made = plan(minimize="ms", tolerance=1.0, contamination="2%", pilot=rows, arm="arm", cluster="host", runs=2)
    drawn = made.task.environment(0, 0).sample(0, 4000)[:, 0]
    assert drawn.std() == pytest.approx(hosts[:30].std(), rel=0.1)
    assert "R-PSI" not in {row.policy for row in made.costs}
    assert made.of("certified").certified == 2


def test_a_gate_is_planned_against_its_baseline() -> None:
    pilot = {
        "arm": np.repeat(["main", "pr"], 200),
        "ms": np.concatenate([np.linspace(1, 2, 200), np.linspace(3, 4, 200)]),
    }
    asked: dict[str, Any] = {"minimize": "ms", "tolerance": 0.5, "pilot": pilot, "arm": "arm", "runs": 2}
    made = plan(**asked, baseline="main")
    assert made.possible
    assert made.safe
    assert [row.policy for row in made.costs] == ["certified"] * 2
    assert made.of("certified").certified == 2
    near = plan(**asked | {"tolerance": 2.0}, baseline="main")  # the difference is the tolerance: never decided
    assert not near.safe
    assert near.of("certified").certified == 0


def test_independent_arms_take_fewer_pulls() -> None:
    def pulls(**asked: Any) -> float:
        made = plan(
            4, [("x", "maximize")], contamination=0, tolerance=0.2, spread=Gaussian(1.0), span=1.0, runs=6, **asked
        )
        return made.of("certified without R").mean

    assert pulls(independent=True) < pulls()


def test_costs_are_expected_in_their_unit() -> None:
    asked: dict[str, Any] = {"objectives": [("x", "maximize")], "tolerance": 0.5, "spread": Gaussian(0.3), "runs": 2}
    alike = plan(["a", "b"], **asked, cost="2 cents").of("certified")
    assert alike.cost == pytest.approx(2 * alike.mean)
    apart = plan(["a", "b"], **asked, cost={"a": 1, "b": 100}).of("certified")
    assert apart.cost is not None
    assert apart.mean < apart.cost < 100 * apart.mean
    assert plan(["a", "b"], **asked, cost="seconds").of("certified").cost is None  # pulls will tell
    rows = {"arm": np.repeat(["a", "b"], 50), "seconds": np.concatenate([np.full(50, 3.0), np.linspace(8, 10, 50)])}
    told = plan(minimize="seconds", tolerance=1.0, pilot=rows, arm="arm", cost="seconds", runs=2)
    assert told.task.costs == pytest.approx([3.0, 9.0])


@pytest.mark.parametrize(
    "asked",
    [
        {"baseline": "c", "arms": ["a", "b"]},
        {"arms": None},
        {"pilot": {"arm": ["a", "b"] * 6, "item": range(12), "x": range(12)}, "pair": "item", "spread": None},
    ],
    ids=["baseline", "arms", "pairs"],
)
def test_what_no_plan_is_about_is_refused(asked: dict[str, Any], snapshot: SnapshotAssertion) -> None:
    arms = asked.pop("arms", 2)
    objective = Objective("x", "maximize", tolerance=0.5, statistic="mean", bounds=(0, 20))
    with refused(BadInput, snapshot):
        plan(arms, **{"objectives": [objective], "arm": "arm", "runs": 1, **asked})


def test_a_task_of_pairs_without_a_pilot_draws_independent_arms() -> None:
    made = plan(2, [RATE], contamination=0, items=300, runs=1)
    assert made.task.blocks is None
    assert made.of("certified").most <= 600
    assert Task(Question.of([RATE]), ("a", "b")).costs is None
