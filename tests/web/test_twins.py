"""The JSON twins: the same as the pages show, in numbers that JSON can hold."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import numpy as np
from syrupy.assertion import SnapshotAssertion

from frontguard import Objective
from frontguard.web.addresses import Address, ViewOptions
from frontguard.web.pages import study_page
from frontguard.web.pages.table import order_of
from frontguard.web.twins import arm_twin, reading_twin, studies_twin, study_twin
from frontguard.web.watchers import Seen
from tests.web.examples import METRICS, Example

HOSTILE = '</script><script>"\u2028\\u0000'


def through_json(twin: dict[str, Any]) -> dict[str, Any]:
    """What a strict reader gets: no NaN, no infinity."""

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    read: dict[str, Any] = json.loads(json.dumps(twin, allow_nan=False), parse_constant=refuse)
    assert read == twin
    return read


def test_a_study_says_the_answer_and_every_arm(certified: Example, snapshot: SnapshotAssertion) -> None:
    twin = through_json(study_twin(certified.overview, Address(3)))
    result = certified.study.result()
    assert twin["answer"] == snapshot
    assert (twin["name"], twin["number"], twin["status"], twin["url"]) == ("flags", 3, "certified", "/study/3")
    assert {arm["name"]: arm["verdict"] for arm in twin["arms"]} == result.verdicts
    by_number = {arm["arm"]: arm for arm in twin["arms"]}
    for number, name in enumerate(result.arms):
        arm = by_number[number]
        assert arm["pulls"] == result.pulls_per_arm[number]
        for d, objective in enumerate(result.objectives):
            low, high = result.intervals[name][objective]
            assert (arm["low"][d], arm["high"][d]) == (low, high)
            assert arm["low"][d] <= arm["estimates"][d] <= arm["high"][d]
    assert twin["facts"]["verdicts"] == {"in": 2, "out": 2}
    assert twin["facts"]["pulls"] == result.pulls
    assert twin["forecast"] is None
    assert [each["progress"] for each in twin["certificate"]["against_goal"]] == [1.0, 1.0]
    assert twin["certificate"]["threat"] == "prescient"
    assert sum(twin["rate"]["told"]) == twin["facts"]["told"]
    assert twin["certainty"][-1]["pulls"] == result.pulls
    assert [each["direction"] for each in twin["objectives"]] == ["minimize", "maximize"]


def test_what_is_not_known_is_null() -> None:
    twin = through_json(study_twin(Example().overview, Address(1)))
    arm = twin["arms"][0]
    assert arm["estimates"] == [None, None]
    assert arm["decided_by"] is None
    assert twin["facts"]["last"] is None
    assert [each["now"] for each in twin["certificate"]["against_goal"]] == [None, None]
    assert [each["progress"] for each in twin["certificate"]["against_goal"]] == [0.0, 0.0]
    early = through_json(study_twin(Example().go(10).overview, Address(1)))
    assert early["arms"][0]["high"][1] is None  # quality is not bounded from above yet
    assert early["forecast"]["words"]


def test_arms_come_in_the_order_of_the_page(certified: Example) -> None:
    for sort in ("verdict", "-m0", "m1", "pulls"):
        twin = study_twin(certified.overview, Address(1, options=ViewOptions(sort=sort)))
        assert [arm["arm"] for arm in twin["arms"]] == order_of(certified.overview, sort)
        assert twin["view"]["sort"] == sort
    page = study_page(certified.overview, Address(1, options=ViewOptions(sort="-m0")))
    shown = re.findall(r'<tr data-key="([0-9]+)"', page.regions["table"].markup())
    arms = study_twin(certified.overview, Address(1, options=ViewOptions(sort="-m0")))["arms"]
    assert [str(arm["arm"]) for arm in arms] == shown
    assert [arm["name"] for arm in arms] == ["poor", "slow", "good", "fast"]  # by their true seconds: 3, 2, 1.5, 1


def test_an_arm_has_its_history_and_what_was_measured(certified: Example) -> None:
    measured = certified.follower.measurements(2)
    twin = through_json(arm_twin(certified.overview, Address(1, 2), measured))
    assert (twin["name"], twin["verdict"]) == ("good", "in")
    assert twin["why"] == certified.study.result().explain("good")
    own = certified.study.result()
    others = [arm for arm in own.pareto_set if arm != "good"]
    assert twin["compared"] == [own.compare("good", arm).to_dict() for arm in others]
    against = through_json(arm_twin(certified.overview, Address(1, 2), measured, own.arms[3]))["compared"]
    assert [each["baseline"] for each in against] == [own.arms[3]]
    assert twin["measurements"]["pulls"] == measured.pulls.tolist()
    assert np.array(twin["measurements"]["values"]).shape == measured.values.shape
    last = twin["history"][-1]
    assert (last["low"], last["high"], last["estimates"]) == (twin["low"], twin["high"], twin["estimates"])
    counts = [each["pulls"] for each in twin["history"]]
    assert counts == sorted(set(counts))


def test_failures_are_told_and_failed_values_are_null() -> None:
    example = Example(failing=[1], reason=HOSTILE).go(300)
    twin = through_json(study_twin(example.overview, Address(1)))
    count = example.study.failures()["slow"][HOSTILE]
    told = example.storage.told("flags")
    last = max(at for at, reason in zip(told.at.tolist(), told.reasons, strict=True) if reason)
    assert twin["failures"] == [{"arm": "slow", "reason": HOSTILE, "count": count, "last": last}]
    assert any("set aside" in warning for warning in twin["warnings"])
    arm = through_json(arm_twin(example.overview, Address(1, 1), example.follower.measurements(1)))
    assert arm["verdict"] == "set aside"
    assert arm["failed"] == count
    assert arm["failures"] == [{"reason": HOSTILE, "count": count, "last": last}]
    assert arm["measurements"]["values"] == [[None, None]] * count
    assert set(arm["measurements"]["reasons"]) == {HOSTILE}


def test_names_are_data() -> None:
    metrics = [Objective(HOSTILE, tolerance=0.1)]
    example = Example([HOSTILE, "__proto__"], metrics, name=HOSTILE, about={"spec": HOSTILE}).go(50)
    twin = through_json(study_twin(example.overview, Address(1)))
    assert {arm["name"] for arm in twin["arms"]} == {HOSTILE, "__proto__"}
    assert twin["name"] == twin["objectives"][0]["name"] == twin["settings"]["spec"] == HOSTILE
    assert all(HOSTILE not in arm["url"] for arm in twin["arms"])


def test_the_list_of_studies(certified: Example) -> None:
    listed = [
        Seen(1, "flags", certified.overview),
        Seen(2, "b", told=5, total=9),
        Seen(7, "c", trouble="locked"),
    ]
    twin = through_json(studies_twin(listed))
    assert [each["name"] for each in twin["studies"]] == ["flags", "b", "c"]
    assert [each["status"] for each in twin["studies"]] == ["certified", "reading", "trouble"]
    assert [each["twin"] for each in twin["studies"]] == ["/study/1.json", "/study/2.json", "/study/7.json"]
    assert twin["studies"][0]["facts"]["pulls"] == certified.study.result().pulls
    assert reading_twin(listed[1]) == twin["studies"][1]


def test_the_view_is_the_one_that_was_asked_for() -> None:
    three = Example(["a", "b"], METRICS).go(100)
    assert math.isclose(study_twin(three.overview, Address(1, options=ViewOptions(x=2)))["view"]["x"], 2)
