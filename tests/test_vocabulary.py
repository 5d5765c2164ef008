"""One word each: arguments, options and keys of specs are called the same, by the table in docs/words.md."""

from __future__ import annotations

import inspect
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from frontguard import Limit, Objective, Study, analyze, gate, identify, plan
from frontguard.cli import options_of
from frontguard.commands.format import BudgetToml, LimitToml, ObjectiveToml, RunToml, StudyToml, Table
from frontguard.logs.sources import open_log
from frontguard.question import Asked
from frontguard.theory.threats import USUAL

PAGE = Path(__file__).parents[1] / "docs" / "words.md"


def parameters(*functions: Callable[..., Any]) -> set[str]:
    found = [each for function in functions for each in inspect.signature(function).parameters.values()]
    return {each.name for each in found if each.kind is not inspect.Parameter.VAR_KEYWORD}


def keys(table: type[Table]) -> set[str]:
    return {*table.readers(), *(table.others or ())}


def options(command: str) -> set[str]:
    return set(options_of(command))


ASKED = {"objectives", "threat", *Asked.__annotations__}
PYTHON = {
    "Objective": parameters(Objective),
    "Limit": parameters(Limit),
    "Question": ASKED,
    "Study": parameters(Study) - ASKED,
    "identify": parameters(identify) - ASKED,
    "analyze()": parameters(analyze, open_log) - ASKED,
    "plan()": parameters(plan) - ASKED,
}
OPTIONS = {command: options(command) for command in ("run", "analyze", "plan")}
SPEC = {
    "[study]": keys(StudyToml),
    "[budget]": keys(BudgetToml),
    "[[objective]]": keys(ObjectiveToml),
    "[[limit]]": keys(LimitToml),
    "[run]": keys(RunToml),
}


def table() -> dict[str, tuple[set[str], set[str], set[str]]]:
    """The rows of the page: word → where it is an argument, an option, a key of a spec."""
    section = PAGE.read_text(encoding="utf-8")
    rows = [line.split("|")[1:-1] for line in section.splitlines() if line.startswith("| `")]
    return {
        word: tuple(set(re.findall(r"`([^`]+)`", cell)) for cell in row[2:5])  # type: ignore[misc]
        for row in rows
        for word in re.findall(r"`([a-z_]+)`", row[0])
    }


@pytest.mark.parametrize("word", table())
def test_a_word_is_where_the_table_says(word: str) -> None:
    for said, there in zip(table()[word], (PYTHON, OPTIONS, SPEC), strict=True):
        assert said == {place for place, names in there.items() if word in names}


def test_every_word_of_several_places_is_in_the_table() -> None:
    kinds = [set().union(*there.values()) for there in (PYTHON, OPTIONS, SPEC)]
    in_kinds = Counter(name for names in kinds for name in names)
    in_python = Counter(name for names in PYTHON.values() for name in names)
    shared = {name for name, count in (in_kinds + in_python).items() if count > 2 or in_kinds[name] > 1}
    assert sorted(shared - table().keys()) == []


@pytest.mark.parametrize("function", [Study, identify, analyze, gate])
def test_what_is_asked_is_given_the_same_way_everywhere(function: Callable[..., Any]) -> None:
    parameters = inspect.signature(function).parameters
    assert {"objectives", "threat", "question"} <= parameters.keys()
    assert all(parameters[name].default is None for name in ("objectives", "threat", "question"))
    (rest,) = (each for each in parameters.values() if each.kind is inspect.Parameter.VAR_KEYWORD)
    assert rest.annotation in ("Unpack[Asked]", "Unpack[AskedOfLog]")


def test_without_a_word_the_threat_is_the_same_everywhere() -> None:
    threat = Study(2, [("x", "maximize")]).settings.question.threat
    assert (threat.name, threat.eps) == ("prescient", 0.1)
    certificate = analyze({"arm": ["a", "b"], "x": [1.0, 2.0]}, maximize="x").certificate
    assert (certificate.threat, certificate.contamination, certificate.confidence) == ("prescient", 0.1, 0.95)
    assert (USUAL.name, USUAL.eps) == ("prescient", 0.1)  # of a plan
