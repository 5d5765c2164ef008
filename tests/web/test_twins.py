"""The JSON twins: the same as the pages show, in numbers that JSON can hold."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
from syrupy.assertion import SnapshotAssertion

from frontguard import Objective
from frontguard.results import Answer
from frontguard.web.pages import order_of, study_page
from frontguard.web.parts import Address, ViewOptions
from frontguard.web.views import arm_twin, reading_twin, studies_twin, study_twin
from frontguard.web.watchers import Seen
from tests.web.examples import Example

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
    assert (twin["study"]["name"], twin["number"], twin["status"], twin["url"]) == ("flags", 3, "certified", "/study/3")
    assert twin["forecast"] is None
    told = result.to_dict() | {"study": twin["study"]}  # which has a forecast besides
    assert {key: twin[key] for key in told} == told
    assert twin["study"]["failures"] == result.to_dict()["study"]["failures"]
    assert sum(twin["rate"]["told"]) == twin["told"]
    assert twin["history"][-1]["pulls"] == result.pulls


def test_what_a_page_tells_is_read_back_as_any_answer(certified: Example) -> None:
    twin = through_json(study_twin(certified.overview, Address(3)))
    assert Answer.from_dict(twin).verdicts == certified.study.result().verdicts
    assert Answer.from_dict(twin).state.name == "flags"


def test_what_is_not_known_is_null() -> None:
    twin = through_json(study_twin(Example().overview, Address(1)))
    assert twin["estimates"]["fast"] == dict.fromkeys(twin["estimates"]["fast"])
    assert twin["decided_by"] == {}
    assert twin["last"] is None
    assert twin["outlook"]["accuracy"] == [None, None]
    early = through_json(study_twin(Example().go(10).overview, Address(1)))
    assert early["intervals"]["fast"]["quality"][1] is None  # not bounded from above yet
    assert early["forecast"]


def test_arms_come_in_the_order_of_the_page(certified: Example) -> None:
    for sort in ("verdict", "-m0", "m1", "pulls"):
        twin = study_twin(certified.overview, Address(1, options=ViewOptions(sort=sort)))
        assert [arm["arm"] for arm in twin["arms"]] == order_of(certified.overview, sort)
    page = study_page(certified.overview, Address(1, options=ViewOptions(sort="-m0")))
    shown = re.findall(r'<tr data-key="([0-9]+)"', page.regions["table"].markup())
    arms = study_twin(certified.overview, Address(1, options=ViewOptions(sort="-m0")))["arms"]
    assert [str(arm["arm"]) for arm in arms] == shown
    assert [arm["name"] for arm in arms] == ["poor", "slow", "good", "fast"]  # by their true seconds: 3, 2, 1.5, 1


def test_an_arm_has_its_history_and_what_was_measured(certified: Example) -> None:
    overview = certified.overview  # which reads the study
    measured = certified.follower.measurements(2)
    twin = through_json(arm_twin(overview, Address(1, 2), measured))
    assert (twin["name"], twin["verdicts"]) == ("good", {"good": "keep"})
    assert twin["why"] == certified.study.result().explain("good")
    own = certified.study.result()
    others = [arm for arm in own.pareto_set if arm != "good"]
    assert twin["compared"] == [own.compare("good", arm).to_dict() for arm in others]
    against = through_json(arm_twin(certified.overview, Address(1, 2), measured, own.arms[3]))["compared"]
    assert [each["baseline"] for each in against] == [own.arms[3]]
    assert twin["measurements"]["pulls"] == measured.pulls.tolist()
    assert np.array(twin["measurements"]["values"]).shape == measured.values.shape
    last = twin["history"][-1]
    assert [list(ends) for ends in zip(last["low"], last["high"], strict=True)] == [*twin["intervals"]["good"].values()]
    assert last["estimates"] == [*twin["estimates"]["good"].values()]
    counts = [each["pulls"] for each in twin["history"]]
    assert counts == sorted(set(counts))


def test_failures_are_told_and_failed_values_are_null() -> None:
    example = Example(failing=[1], reason=HOSTILE).go(300)
    twin = through_json(study_twin(example.overview, Address(1)))
    count = example.study.failures()["slow"][HOSTILE]
    told = example.storage.told("flags")
    last = max(at for at, reason in zip(told.at.tolist(), told.reasons, strict=True) if reason)
    assert twin["study"]["failures"] == {"slow": {HOSTILE: count}}
    assert twin["failed_at"] == {"slow": {HOSTILE: last}}
    assert twin["certificate"]["excluded"] == ["slow"]
    arm = through_json(arm_twin(example.overview, Address(1, 1), example.follower.measurements(1)))
    assert arm["verdicts"] == {"slow": "excluded"}
    assert arm["measurements"]["values"] == [[None, None]] * count
    assert set(arm["measurements"]["reasons"]) == {HOSTILE}


def test_names_are_data() -> None:
    metrics = [Objective(HOSTILE, "maximize", tolerance=0.1)]
    example = Example([HOSTILE, "__proto__"], metrics, name=HOSTILE, about={"spec": HOSTILE}).go(50)
    twin = through_json(study_twin(example.overview, Address(1)))
    assert {arm["name"] for arm in twin["arms"]} == {HOSTILE, "__proto__"}
    assert twin["study"]["name"] == twin["objectives"][0]["name"] == twin["spec"] == HOSTILE
    assert all(HOSTILE not in arm["url"] for arm in twin["arms"])


def test_the_list_of_studies(certified: Example) -> None:
    listed = [
        Seen(1, "flags", certified.overview),
        Seen(2, "b", told=5, total=9),
        Seen(7, "c", trouble="locked"),
    ]
    twin = through_json(studies_twin(listed))
    assert [each["study"] for each in twin["studies"]] == ["flags", "b", "c"]
    assert [each["status"] for each in twin["studies"]] == ["certified", "reading", "trouble"]
    assert [each["twin"] for each in twin["studies"]] == ["/study/1.json", "/study/2.json", "/study/7.json"]
    assert twin["studies"][0]["pulls"] == certified.study.result().pulls
    assert twin["studies"][0]["counts"] == {"keep": 2, "beaten": 2}
    assert reading_twin(listed[1]) == twin["studies"][1]
