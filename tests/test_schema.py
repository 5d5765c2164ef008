"""The JSON of answers: whatever answers is read back as it was, and what is printed is what the schema says."""

from __future__ import annotations

import json
import math
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from typing import Any, get_args

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion
from tools.schemas import main, schema

from frontguard import Objective, Prescient, Study, analyze, gate
from frontguard._common.entries import json_pieces
from frontguard.comparisons.effects import Contrast
from frontguard.comparisons.outcomes import Outcome
from frontguard.errors import BadInput
from frontguard.notices import KINDS
from frontguard.results import LIMITS, Answer, Certificate, Origin
from frontguard.schema import CertificateEntries, ContrastWord, LogEntries, OutcomeWord, VerdictWord
from frontguard.verdicts import VERDICT_ORDER
from tests.policies.conftest import POLICIES
from tests.reports.samples import flags, large, open_analysis, study_in
from tests.support.printed import as_published
from tests.support.snapshots import refused
from tests.web.examples import Example

# There and back -------------------------------------------------------------------------------------------------------


def same(ours: Any, theirs: Any) -> None:
    """Assert that plain values are equal; numbers but for rounding, as logarithms are taken on the way."""
    if isinstance(ours, dict):
        assert list(ours) == list(theirs)
        for key in ours:
            same(ours[key], theirs[key])
    elif isinstance(ours, list):
        assert len(ours) == len(theirs)
        for mine, its in zip(ours, theirs, strict=True):
            same(mine, its)
    elif isinstance(ours, float):
        assert theirs == pytest.approx(ours, rel=1e-12, abs=1e-12)
    else:
        assert ours == theirs


def comes_back(given: Any) -> Any:
    """What is read of the JSON of an answer, after asserting that it says the same."""
    text = json.dumps(given.to_dict(), allow_nan=False)
    back = type(given).from_dict(json.loads(text))
    same(back.to_dict(), given.to_dict())
    return back


@pytest.mark.parametrize("pulls", [0, 30])
@pytest.mark.parametrize("policy", POLICIES)
def test_the_result_of_every_policy_comes_back(policy: str, pulls: int) -> None:
    made, rng = POLICIES[policy](3, 2), np.random.default_rng(1)
    while made.pulls_per_arm.sum() < pulls and not made.done:
        asked = made.ask()
        made.tell(asked, [rng.normal([arm, -arm], 0.02) for arm in np.asarray(asked).tolist()])
    result = made.result(["a", "b", "c"], ["x", "y"])
    back = comes_back(result)
    assert json.dumps(back.to_dict()) == json.dumps(result.to_dict())  # without metrics nothing is rounded


def with_costs() -> Study:
    study = Study(["a", "b"], [Objective("s", "minimize", "5%")], Prescient(0.1), cost={"a": 1.0, "b": 3.0})
    study.tell_many([(pull, [1.0 + pull.index + 0.01 * (pull.id % 7)]) for pull in study.ask(60)])
    return study


def in_pairs() -> Study:
    metrics = [Objective("solved", "maximize", 0.05, statistic="mean", bounds=(0.0, 1.0))]
    study = Study(["a", "b", "c"], metrics, Prescient(0.02), paired=True)
    for _ in range(20):
        study.tell_many([(pull, [float(pull.index == 0)]) for pull in study.ask(60)])
    return study


STUDIES: dict[str, Callable[[], Study]] = {
    "failures": lambda: study_in(None),
    "costs": with_costs,
    "pairs": in_pairs,
    "nothing yet": lambda: Study(["a", "b"], [Objective("s", "minimize", "5%")], Prescient(0.1)),
}


@pytest.mark.parametrize("study", STUDIES)
def test_the_answer_of_a_study_comes_back(study: str) -> None:
    made = STUDIES[study]()
    result = made.result()
    comes_back(result)
    failures = made.failures()
    more = {"pulls_left": 7, "pulls_left_range": (3, 9), "cost_left": 1.5, "seconds": 1.25, "pulls_a_second": 3.0}
    state = replace(result.state, **more)
    back = comes_back(replace(result, study=state))
    assert (back.state.failures, back.state.pulls_left_range, back.excluded) == (failures, (3, 9), result.excluded)


def test_the_studies_have_something_of_everything() -> None:
    """Or coming back would show less than it seems to."""
    assert with_costs().result().cost is not None
    assert with_costs().result().outlook is not None
    assert in_pairs().result().to_dict()["differences"]
    assert study_in(None).result().excluded


def limited() -> Answer:
    log = {"arm": ["a", "b", "c"] * 99, "s": [1.0, 2.0, 3.0] * 99, "mb": [5.0 + i % 7 for i in range(297)]}
    return analyze(log, minimize="s", limits=["p75(mb)<=12", "s>=1.5"], tolerance="1%")


ANALYSES: dict[str, Callable[[], Answer]] = {
    "certified": flags,
    "open": open_analysis,
    "limits": limited,
    "too few": lambda: analyze({"arm": ["a", "b"] * 4, "s": [1.0, 2.0] * 4}, minimize="s", tolerance="5%"),
    "several columns": lambda: analyze(
        {"lang": ["c", "d"] * 90, "size": ["1", "2", "2"] * 60, "s": np.arange(180.0)},
        arm=["lang", "size"],
        minimize="s",
    ),
}


@pytest.mark.parametrize("found", ANALYSES)
def test_an_analysis_comes_back(found: str) -> None:
    comes_back(ANALYSES[found]())


def gate_of_logs() -> Answer:
    old, new = ({"arm": ["app", "lib"] * 60, "s": [x + i % 5 / 10 for i in range(120)]} for x in (1.0, 2.0))
    return gate(old, new | {"arm": ["app", "new"] * 60}, minimize="s", tolerance="5%")


def gate_of_study() -> Answer:
    metrics = [Objective("s", "minimize", "5%"), Objective("q", "maximize", tolerance=0.1)]
    study = Study(["old", "pr"], metrics, Prescient(0.1), baseline="old", limits=["p75(s)<=1.5", "q>=0.5"])
    study.tell_many([(pull, [1.0 + pull.index, float(pull.id % 3)]) for pull in study.ask(80)])
    found = study.result()
    assert len(found.gate.pairs[0].limits) == 2
    return found


@pytest.mark.parametrize("found", [gate_of_logs, gate_of_study])
def test_a_gate_comes_back(found: Callable[[], Answer]) -> None:
    before = found()
    after = comes_back(before)
    assert after.gate.outcome == before.gate.outcome
    assert [(pair.outcome, pair.excluded) for pair in after.gate.pairs] == [
        (pair.outcome, pair.excluded) for pair in before.gate.pairs
    ]


def test_a_gate_that_is_none_is_refused_with_its_place(snapshot: SnapshotAssertion) -> None:
    plain = gate_of_study().to_dict()
    del plain["gate"]["pairs"][0]["metrics"]["q"]
    with refused(BadInput, snapshot):
        Answer.from_dict(plain, "gate.json")


def test_what_a_page_knows_of_a_study_comes_back() -> None:
    comes_back(Example(failing=[1]).go(300).overview.answer)


def test_a_certificate_comes_back_with_what_it_does_not_promise_and_of_whom_it_speaks() -> None:
    metrics = (Objective("seconds", "minimize", "5%"),)
    given = Certificate((0.05,), (math.inf,), None, "malicious", 0.1, (True,), void="running", arms=3, excluded=("x",))
    plain = json.loads(json.dumps(given.to_dict(), allow_nan=False))
    assert plain["confidence"] is None
    assert plain["coverage"] == [None]
    assert Certificate.of(CertificateEntries(**plain), metrics) == given


@pytest.mark.parametrize(
    "change",
    [
        {"decided_by": {"nobody": "nothing"}},
        {"pulls": -1},
        {
            "certificate": {
                "accuracy": 0,
                "coverage": 0,
                "confidence": 0.9,
                "threat": "",
                "contamination": 0,
                "void": "x",
            }
        },
        {"limits": [{"metric": "time", "at_most": 1.0}]},
    ],
    ids=["decided_by", "pulls", "void", "limits"],
)
def test_entries_that_do_not_agree_are_refused(change: dict[str, Any], snapshot: SnapshotAssertion) -> None:
    with refused(BadInput, snapshot):
        Answer.from_dict(flags().to_dict() | change, "x.json")


# What is printed ------------------------------------------------------------------------------------------------------


def test_words_are_those_that_are_printed() -> None:
    assert get_args(VerdictWord) == tuple(verdict.word for verdict in VERDICT_ORDER)
    assert get_args(ContrastWord) == tuple(contrast.word for contrast in Contrast)
    assert get_args(OutcomeWord) == tuple(outcome.word for outcome in Outcome)
    _, words = get_args(get_args(LogEntries.model_fields["more_pulls"].annotation)[1])
    assert get_args(words) == LIMITS[1:]


def test_every_kind_of_notice_is_in_the_schema() -> None:
    answer = json.loads(schema())["$defs"]["AnyAnswer"]
    kinds = answer["properties"]["notices"]["items"]["discriminator"]["mapping"]
    assert sorted(kinds) == sorted(kind.__dataclass_fields__["kind"].default for kind in KINDS)


def test_the_published_schema_is_up_to_date() -> None:
    assert main(["--check"]) == 0


@pytest.mark.parametrize("found", ANALYSES)
def test_an_analysis_is_printed_as_published(found: str) -> None:
    plain = as_published("analyze", "".join(json_pieces(ANALYSES[found]().entries())))
    required = json.loads(schema())["$defs"]["AnyAnswer"]["required"]
    assert set(required) <= set(plain)


def test_many_arms_are_printed_without_holding_them_all() -> None:
    found = large(30_000, 1, pulls=3)
    next(iter(json_pieces(found.entries())))  # compiles what is needed
    tracemalloc.start()
    length = sum(len(piece) for piece in json_pieces(found.entries()))
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert length > 5_000_000
    assert most < 2.5 * length  # all values at once, as Python has them, take twice that


def test_a_name_that_is_no_text_of_unicode_is_printed_and_read() -> None:
    """A path may hold bytes that are none; Python has them as lone surrogates."""
    text = "".join(json_pieces([*flags().entries(), *vars(Origin(source=["\udcff.csv"])).items()]))
    assert text.isascii()
    assert Origin.of(as_published("analyze", text)).source == ["\udcff.csv"]
