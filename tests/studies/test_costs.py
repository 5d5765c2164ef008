"""Pulls that have costs: what was spent, whom that has pulled, when a budget is over; and that it is no evidence."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard import BadInput, Objective, Prescient, Study
from frontguard.notices import BudgetOver, CostsUnknown
from frontguard.policies.forecast import forecast
from frontguard.question import Cost, Question
from frontguard.storage.contract import MemoryStorage, Pull, Tell
from frontguard.studies.measurement import Measurement, with_cost
from frontguard.studies.pulls import TRIED, WINDOW, Spending, _copied
from frontguard.studies.settings import Settings
from tests.studies.toy import ARMS, BYTES, SECONDS, a_study, measure, work
from tests.support.snapshots import refused, said
from tests.support.storages import Place

PRICES = {"fast": 1.0, "small": 2.0, "bad": 50.0}


def told(pull: Pull, joules: float | None) -> dict[str, float | None]:
    seconds, size = measure(pull)
    return {"seconds": seconds, "bytes": size, "joules": joules}


def worked(study: Study, joules: Any, at_a_time: int = 2) -> Study:
    while pulls := study.ask(at_a_time):
        study.tell_many([(pull, told(pull, joules(pull))) for pull in pulls])
    return study


def test_what_was_spent_does_not_depend_on_how_many_pulls_are_taken_at_a_time() -> None:
    rng = np.random.default_rng(1)
    arms, costs = rng.integers(0, 3, 400), rng.lognormal(size=400)
    costs[rng.random(400) < 0.1] = np.nan
    costs[rng.random(400) < 0.1] = -1.0  # which cannot be
    whole, pieces = Spending("abcd", Cost("joules")), Spending("abcd", Cost("joules"))
    whole.add(arms, costs)
    for start in (0, 3, 10, 200, 399):
        end = {0: 3, 3: 10, 10: 200, 200: 399, 399: 400}[start]
        kept, pieces = pieces, _copied(pieces)
        pieces.add(arms[start:end], costs[start:end])
        assert kept.pulls.sum() == start
    for one in (whole, pieces):  # beside a naive reading
        for arm in range(3):
            known = [cost for a, cost in zip(arms, costs, strict=True) if a == arm and cost >= 0.0]
            assert one.typical[arm] == np.median(known[-WINDOW:])
            unknown = int((arms == arm).sum()) - len(known)
            assert one.by_arm[arm] == pytest.approx(sum(known) + unknown * np.median(known[-WINDOW:]))
        assert math.isnan(one.typical[3])
        assert one.expected[3] == np.median(one.typical[:3])
    assert whole.by_arm.tolist() == pieces.by_arm.tolist()


def test_a_few_lies_hardly_move_what_a_pull_is_taken_to_cost() -> None:
    spent = Spending("a", Cost("joules"))
    spent.add(np.zeros(30, np.int64), np.where(np.arange(30) % 3 == 0, 1e29, 2.0))
    assert spent.typical.tolist() == [2.0]
    spent.add(np.zeros(2, np.int64), np.array([1e300, np.inf]))  # no costs at all
    assert spent.unknown.tolist() == [2]
    assert np.isfinite(spent.by_arm).all()


def test_costs_are_read_as_they_are_written(snapshot: SnapshotAssertion) -> None:
    arms = ["a", "b"]
    assert Cost.read(3) == Cost(amount=3.0)
    assert Cost.read({"b": "2 dollars", "a": 0}).amounts(arms) == [0.0, 2.0]
    assert Cost.read("cpu_seconds") == Cost("cpu_seconds", unit="cpu_seconds")
    assert Cost.read("2 d") == Cost(amount=2.0, unit="d")
    for wrong in (
        {"a": 1},
        {"a": 1, "b": 2, "c": 3},
        {"a": "1 dollar", "b": "2 euros"},
        -1,
        True,
        {"a": "seconds", "b": 1},
        "",
    ):
        with refused(BadInput, snapshot):
            Cost.read(wrong).amounts(arms)


@pytest.mark.parametrize(
    ("values", "cost", "left"),
    [
        ({"x": 1.0, "joules": 2}, 2.0, {"x": 1.0}),
        ([1.0, 2.0], 2.0, [1.0]),
        ({"x": 1.0}, math.nan, {"x": 1.0}),
        ({"x": 1.0, "joules": -2}, math.nan, {"x": 1.0}),
        ({"x": 1.0, "joules": "much"}, math.nan, {"x": 1.0}),
        ({"x": 1.0, "joules": math.inf}, math.nan, {"x": 1.0}),
        (7.0, math.nan, 7.0),
        (None, math.nan, None),
    ],
)
def test_the_cost_of_a_pull_is_taken_out_of_its_values(values: Any, cost: float, left: Any) -> None:
    came = with_cost(Cost("joules"), ["x"], Measurement(values))
    assert came.values == left
    assert came.cost == cost or (math.isnan(cost) and math.isnan(came.cost))


def test_costs_steer_and_are_no_evidence() -> None:
    """Whatever is told of costs, verdicts and intervals are those of the same pulls in a study without."""
    rng = np.random.default_rng(4)
    lies = lambda pull: rng.choice([0.0, 1e-300, 1e300, 5.0, math.nan, -3.0])  # noqa: E731
    study = Study(ARMS, [SECONDS, BYTES], Prescient(0.1), seed=5, cost="joules")
    while pulls := study.ask(3):
        study.tell_many([(pull, told(pull, float(lies(pull)))) for pull in pulls])
    assert study.status == "certified"
    plain = MemoryStorage()
    settings = Settings(tuple(ARMS), Question((SECONDS, BYTES), Prescient(0.1), blocks=False), seed=5)
    plain.create("study", settings.to_json(), 2)
    for plan in study.storage.plans("study"):
        assert plain.add_plan("study", plan)
    log = study.storage.told("study")
    assert log.values.shape[1] == 3
    rows = zip(log.pulls.tolist(), log.values.tolist(), log.at.tolist(), strict=True)
    plain.tell("study", [Tell(pull, tuple(values[:2]), at=at) for pull, values, at in rows])
    beside = Study.open(plain, "study").result()
    found = study.result()
    for name in ("verdicts", "intervals", "certificate"):
        assert getattr(found, name) == getattr(beside, name), name
    assert np.array_equal(found.estimates, beside.estimates)


def test_a_dear_arm_is_pulled_less_for_the_same_certificate() -> None:
    truth = {"cheap": 1.0, "dear": 1.06}
    objective = Objective("loss", "minimize", "10%")

    def pulls(**cost: Any) -> dict[str, int]:
        study = Study(list(truth), [objective], Prescient(0.05), **cost)
        streams = {arm: np.random.default_rng([3, n]) for n, arm in enumerate(truth)}
        while asked := study.ask(1):
            study.tell_many([(p, truth[p.arm] * math.exp(streams[p.arm].normal(0, 0.15))) for p in asked])
        assert study.status == "certified"
        return {arm: int(n) for arm, n in zip(truth, study.result().pulls_per_arm, strict=True)}

    plain, weighed = pulls(), pulls(cost={"cheap": 1, "dear": 100})
    assert weighed["dear"] < plain["dear"] / 2
    assert weighed["cheap"] > plain["cheap"]
    assert pulls(cost=7.5) == plain  # all alike


def test_a_budget_of_amounts_is_never_passed_and_may_be_raised(tmp_path: Any, snapshot: SnapshotAssertion) -> None:
    study = a_study(cost={arm: f"{price} dollars" for arm, price in PRICES.items()}, max_cost="170 dollars",
                    storage=tmp_path / "s.db")  # fmt: skip
    work(study, at_a_time=4)
    found = study.result()
    assert found.status == "budget"
    assert found.cost is not None
    assert 120.0 < found.cost.spent <= 170.0
    assert found.cost.spent == sum(
        PRICES[arm] * n for arm, n in zip(found.arms, found.pulls_per_arm.tolist(), strict=True)
    )
    assert BudgetOver("max_cost", 170.0, "dollars") in found.notices
    with refused(BadInput, snapshot):
        a_study(cost=1.0, storage=tmp_path / "s.db")
    longer = a_study(cost={arm: f"{price} dollars" for arm, price in PRICES.items()}, max_cost=100_000,
                     storage=tmp_path / "s.db")  # fmt: skip
    work(longer, at_a_time=4)
    assert longer.result().status == "certified"


def test_costs_that_pulls_report_are_kept_with_them_and_a_budget_of_them_ends_the_study(place: Place) -> None:
    joules = lambda pull: PRICES[pull.arm]  # noqa: E731
    with place.open() as storage:
        study = worked(a_study(cost="joules", max_cost=300.0, storage=storage), joules)
        spent = study.result().cost
        assert spent is not None
        assert study.status == "budget"
        assert 200.0 < spent.spent <= 350.0
    with place.open() as storage:
        again = Study.open(storage, "study")
        found = again.result()
        assert found.cost is not None
        assert found.cost.to_dict(found.arms) == spent.to_dict(found.arms)
        assert found.cost.typical.tolist() == list(PRICES.values())
        assert again.settings.question.max_cost == 300.0
        assert again.to_frame()["joules"].tolist() == [PRICES[arm] for arm in again.to_frame()["arm"]]


def test_failed_and_lost_pulls_cost_too() -> None:
    study = a_study(cost="joules")
    first = study.ask(12)
    study.tell_many([(pull, Measurement((None, None), "timed out", cost=60.0)) for pull in first[:2]])
    study.give_up(first[2:3])
    study.tell_many([(pull, told(pull, 10.0)) for pull in first[3:]])
    spending = study.state().result([]).cost
    assert spending is not None
    by_arm = dict(zip(ARMS, spending.by_arm.tolist(), strict=True))
    expected = dict.fromkeys(ARMS, 0.0)
    typical = dict(zip(ARMS, spending.typical.tolist(), strict=True))
    for number, pull in enumerate(first):
        expected[pull.arm] += 60.0 if number < 2 else typical[pull.arm] if number == 2 else 10.0
    assert by_arm == expected


def test_an_arm_whose_cost_is_not_known_gets_one_pull_at_a_time_where_there_is_a_budget() -> None:
    study = a_study(cost="joules", max_cost=5.0)
    first = study.ask(100)
    assert sorted(pull.arm for pull in first) == sorted(ARMS)
    assert not study.ask(100)
    assert not study.done
    study.tell_many([(pull, told(pull, 4.0)) for pull in first])
    assert not study.ask(1)
    assert study.status == "budget"


def test_pulls_that_do_not_say_what_they_cost_are_warned_of(snapshot: SnapshotAssertion) -> None:
    study = a_study(cost="jouls")
    pulls = study.ask(30)
    study.tell_many([(pull, measure(pull)) for pull in pulls])
    (notice,) = [each for each in study.result().notices if isinstance(each, CostsUnknown)]
    assert notice.warns
    assert (notice.pulls, notice.of) == (len(pulls), len(pulls))
    assert said(notice) == snapshot


@pytest.mark.parametrize("joules", [None, math.nan, -1.0])
def test_a_budget_that_cannot_be_kept_ends_the_study(joules: float | None) -> None:
    study = worked(a_study(cost="joules", max_cost=5.0), lambda _: joules)
    assert study.status == "budget"
    (notice,) = [each for each in study.result().notices if isinstance(each, CostsUnknown)]
    assert TRIED <= notice.pulls == notice.of <= TRIED + len(ARMS)


def test_an_arm_whose_pulls_never_say_what_they_cost_is_warned_of(snapshot: SnapshotAssertion) -> None:
    study = a_study(cost="joules")
    pulls = study.ask(30)
    quiet = pulls[0].arm
    study.tell_many([(pull, measure(pull) if pull.arm == quiet else told(pull, 4.0)) for pull in pulls])
    (notice,) = [each for each in study.result().notices if isinstance(each, CostsUnknown)]
    unknown = sum(pull.arm == quiet for pull in pulls)
    assert 2 * unknown < len(pulls)
    assert (notice.pulls, notice.silent) == (unknown, 1)
    assert said(notice) == snapshot
    spending = study.result().cost
    assert spending is not None
    assert spending.by_arm.tolist() == [4.0 * sum(pull.arm == arm for pull in pulls) for arm in ARMS]


def test_the_forecast_is_made_in_the_unit_of_the_cost() -> None:
    study = a_study(cost=PRICES)
    study.tell_many([(pull, measure(pull)) for pull in study.ask(45)])
    state = study.state()
    ahead = forecast(state.policy)
    assert ahead.of_arms is not None
    assert ahead.pulls_left == max(1, round(ahead.of_arms.sum()))
    assert state.cost_of(ahead) == pytest.approx(float(ahead.of_arms @ np.array(list(PRICES.values()))))


def test_what_cannot_be_counted_is_refused(snapshot: SnapshotAssertion) -> None:
    for settings in (
        {"max_cost": 3.0},
        {"cost": "joules", "max_cost": "3 dollars"},
        {"cost": "joules", "max_cost": 0},
    ):
        with refused(BadInput, snapshot):
            a_study(**settings)
    text = a_study(cost="joules").settings.to_json()
    for wrong in ('"metric": 3', '"metric": "joules", "amount": 1'):
        with refused(BadInput, snapshot):
            Settings.from_json(text.replace('"metric": "joules", "amount": null', wrong), "s")
