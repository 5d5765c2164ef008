"""Studies of pairs and of lists: which item a pull measures, what is refused, and that answers are true."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard import Malicious, Objective, Prescient, Share, Study, analyze, identify
from frontguard.errors import BadInput
from frontguard.notices import InPairs
from frontguard.policies import Certified
from frontguard.studies.pulls import item_order
from frontguard.theory.threats import Threat
from frontguard.words.answers import answer, next_step
from tests.support.snapshots import refused, said

SCORE = Objective("score", "maximize", tolerance=0.01, statistic="mean", bounds=(0, 1))
CLEAN = Prescient(0.0)


def hard_items(seed: int, count: int = 120) -> Any:
    """Items that differ much more than arms do."""
    return 0.1 + 0.8 * np.random.default_rng(seed).beta(0.4, 0.4, count)


def driven(study: Study, hard: Any, skills: Any, workers: int = 5, seed: int = 0) -> None:
    """Tell all pulls, several at a time and in another order than that in which they were asked for."""
    draw = np.random.default_rng(seed)
    out: list[Any] = []
    while True:
        asked = study.ask(max(1, workers - len(out)))
        out += asked
        if not out:
            return
        pull = out.pop(int(draw.integers(len(out))))
        study.tell(pull, {"score": float(np.clip(hard[pull.item] + skills[pull.index], 0.0, 1.0))})


def test_pulls_of_a_repeat_are_of_one_item() -> None:
    study = Study(3, [SCORE], CLEAN, items=20)
    items: dict[int, set[int]] = {}
    reps: dict[int, list[int]] = {0: [], 1: [], 2: []}
    order = item_order(0, 20)
    for _ in range(6):
        for pull in study.ask(7):
            items.setdefault(pull.rep, set()).add(pull.item)
            reps[pull.index].append(pull.rep)
            assert pull.item == order[pull.rep - 1]
            study.tell(pull, {"score": 0.5})
    assert all(len(each) == 1 for each in items.values())
    assert all(sorted(each) == list(range(1, len(each) + 1)) for each in reps.values())


def test_a_list_that_is_measured_is_known_and_no_item_is_measured_twice(snapshot: SnapshotAssertion) -> None:
    values = {"a": [1, 0, 1, 1, 0, 1, 0, 1, 1, 0], "b": [1, 0, 1, 0, 1, 1, 0, 1, 1, 0]}  # as many, on other items
    solved = Objective("solved", "maximize", statistic="mean", bounds=(0, 1))
    seen: dict[str, list[int]] = {"a": [], "b": []}

    def evaluate(arm: str, item: int) -> float:
        seen[arm].append(item)
        return float(values[arm][item])

    found = identify(evaluate, arms=["a", "b"], objectives=[solved], contamination=0, items=10, executor="serial")
    whole = [arm for arm, items in seen.items() if len(items) == 10]
    assert whole
    for arm, items in seen.items():
        assert len(set(items)) == len(items) >= 9  # the last one of one arm may not matter any more
        ends = found.lower[found.arms.index(arm), 0], found.upper[found.arms.index(arm), 0]
        assert ends == (0.6, 0.6) if arm in whole else ends[0] <= 0.6 <= ends[1]
    assert found.status == "certified"
    assert set(found.verdicts.values()) <= {"keep", "matched"}
    (paired,) = [notice for notice in found.notices if isinstance(notice, InPairs)]
    assert (paired.complete, paired.arms, paired.hidden) == (len(whole), 2, 0.0)
    assert said(paired) == snapshot


def test_what_is_left_where_items_may_have_been_replaced(snapshot: SnapshotAssertion) -> None:
    study = Study(["a", "b"], [SCORE], Share(0.1), items=10)
    while pulls := study.ask(4):
        study.tell_many([(pull, {"score": 0.5}) for pull in pulls])
    found = study.result()
    assert study.status == "budget"
    assert said(answer(found)) == snapshot
    assert said(next_step(found, "done", "memory:")) == snapshot
    np.testing.assert_allclose(found.upper, 0.6, atol=1e-9)  # one of ten may have been 1 in place of 0.5 ...
    assert (found.upper <= 0.6 + 1e-9).all()
    assert said("\n".join(map(str, found.notices))) == snapshot


@pytest.mark.parametrize("threat", [CLEAN, Prescient(0.01), Malicious(0.01), Share(0.02)])
@pytest.mark.parametrize("items", [None, 120])
def test_true_whoever_comes_back_first(threat: Threat, items: int | None, snapshot: SnapshotAssertion) -> None:
    skills = np.array([-0.05, 0.0, 0.05])
    for seed in range(2 if threat is CLEAN else 1):
        hard = hard_items(seed) if items else None
        study = Study(3, [SCORE], threat, items=items, paired=True, max_pulls=750, seed=seed)
        draws = hard_items(seed, 5000)
        out: list[Any] = []
        rng = np.random.default_rng(seed)
        while True:
            out += study.ask(max(1, 5 - len(out)))
            if not out:
                break
            pull = out.pop(int(rng.integers(len(out))))
            base = draws[pull.rep] if hard is None else hard[pull.item]
            study.tell(pull, {"score": float(base + skills[pull.index])})
        found = study.result()
        assert "2" in found.pareto_set or not found.pareto_set
        assert not {"0"} & set(found.pareto_set)
        if threat.eps == 0.0:
            assert study.status == "certified"
            assert found.pareto_set == ["2"]
            assert found.pulls < 600  # of means alone, it takes some thousand
            assert found.apart is not None
            assert found.differences is not None
            low, high = found.differences
            true = skills - skills[found.decided_by]
            decided = found.decided_by >= 0
            assert ((low[:, 0] <= true + 1e-9) & (true <= high[:, 0] + 1e-9))[decided].all()
            if found.verdicts["0"] == "beaten":
                assert said(found.explain("0")) == snapshot


def test_a_study_of_pairs_goes_on_where_it_was(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    hard = hard_items(3)
    skills = np.array([-0.05, 0.0, 0.05])
    results = []
    for cut in (False, True):
        where = str(tmp_path / f"{cut}.db")
        study = Study(3, [SCORE], CLEAN, items=120, storage=where)
        for number in range(2000):
            if cut and number == 40:
                study.close()
                study = Study.open(where)
            pulls = study.ask(1)
            if not pulls:
                break
            study.tell(pulls[0], {"score": float(hard[pulls[0].item] + skills[pulls[0].index])})
        found = study.result()
        results.append((found.pulls, found.verdicts, found.inner.lower.tolist(), found.apart.tolist()))  # type: ignore[union-attr]
        study.close()
    assert results[0] == results[1]
    with refused(BadInput, snapshot):
        Study(3, [SCORE], CLEAN, items=90, storage=where)
    with refused(BadInput, snapshot):
        Study(3, [SCORE], CLEAN, storage=where)
    again = analyze(where)
    assert again.verdicts == results[0][1]
    assert again.log.profile is not None
    dirtier = analyze(where, contamination=0.3)
    assert dirtier.pareto_set == [] or dirtier.pareto_set == ["2"]


def test_a_saved_policy_goes_on(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    hard, policy = hard_items(4), Certified.for_objectives(2, [SCORE], threat=Prescient(0.02), items=120)
    pulled = [0, 0]

    def pull(policy: Certified, pulled: list[int], rounds: int) -> None:
        for _ in range(rounds):
            if policy.done:
                return
            for arm in policy.ask().tolist():
                policy.tell([arm], [[hard[pulled[arm]] + 0.1 * arm]])
                pulled[arm] += 1

    pull(policy, pulled, 30)
    policy.save(tmp_path / "policy.json")
    other, again = Certified.load(tmp_path / "policy.json"), list(pulled)
    pull(policy, pulled, 500)
    pull(other, again, 500)
    assert pulled == again
    assert np.array_equal(policy.standing.intervals, other.standing.intervals)


@pytest.mark.parametrize(
    "settings",
    [
        {"objectives": ["seconds"], "paired": True},
        {"objectives": [SCORE, "seconds"], "items": 5},
        {"arms": 301, "objectives": [SCORE], "paired": True},
        {"objectives": [SCORE], "items": 0},
    ],
)
def test_refused(settings: dict[str, Any], snapshot: SnapshotAssertion) -> None:
    with refused(BadInput, snapshot):
        Study(settings.pop("arms", 3), settings.pop("objectives"), CLEAN, **settings)


def test_clusters_are_refused_beside_pairs(snapshot: SnapshotAssertion) -> None:
    study = Study(2, [SCORE], CLEAN, paired=True)
    with refused(BadInput, snapshot):
        study.tell(study.ask()[0], {"score": 0.5}, cluster="host")


def test_what_evaluate_asks_for(snapshot: SnapshotAssertion) -> None:
    got: list[tuple[str, int, int]] = []

    def by_seed(arm: str, seed: int, rep: int) -> float:
        got.append((arm, seed, rep))
        return float(np.random.default_rng(seed).random() / 2 + (arm == "b") / 4)

    found = identify(by_seed, arms=["a", "b"], objectives=[SCORE], contamination=0, paired=True, executor="serial")
    assert found.pareto_set == ["b"]
    assert all(seed == rep for _, seed, rep in got)
    for function, settings in (
        (lambda arm: 0.5, {"items": 4}),
        (lambda arm, item: 0.5, {}),
        (lambda arm: 0.5, {"paired": True}),
        (lambda arm, item: 0.5, {"items": []}),
    ):
        with refused(BadInput, snapshot):
            identify(function, arms=["a", "b"], objectives=[SCORE], **settings)  # type: ignore[arg-type]
