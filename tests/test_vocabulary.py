"""One word each: arguments, options and keys of specs are called the same, by the table in docs/studies.md."""

from __future__ import annotations

import inspect
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from frontguard import Limit, Objective, Study, analyze, identify
from frontguard.cli.app import options_of
from frontguard.commands.format import BudgetToml, LimitToml, ObjectiveToml, RunToml, StudyToml
from frontguard.logs.sources import open_log
from frontguard.theory.threats import USUAL

PAGE = Path(__file__).parents[1] / "docs" / "studies.md"


def parameters(*functions: Callable[..., Any]) -> set[str]:
    return {name for function in functions for name in inspect.signature(function).parameters}


def options(command: str) -> set[str]:
    return set(options_of(command))


PYTHON = {
    "Objective": parameters(Objective),
    "Limit": parameters(Limit),
    "Study": parameters(Study),
    "identify": parameters(identify),
    "analyze()": parameters(analyze, open_log),
}
OPTIONS = {command: options(command) for command in ("run", "analyze", "plan")}
SPEC = {
    "[study]": set(StudyToml.model_fields),
    "[budget]": set(BudgetToml.model_fields),
    "[[objective]]": set(ObjectiveToml.model_fields),
    "[[limit]]": set(LimitToml.model_fields),
    "[run]": set(RunToml.model_fields),
}


def table() -> dict[str, tuple[set[str], set[str], set[str]]]:
    """The rows of the page: word → where it is an argument, an option, a key of a spec."""
    section = PAGE.read_text(encoding="utf-8").split("## One word each")[1].split("\n## ")[0]
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


@pytest.mark.parametrize(
    ("name", "function"), [(name, each) for each in (Study, identify, analyze) for name in ("threat", "contamination")]
)
def test_the_threat_is_given_the_same_way_everywhere(name: str, function: Callable[..., Any]) -> None:
    usual = {"threat": "Threat | str | None", "contamination": "float | str | None"}
    parameter = inspect.signature(function).parameters[name]
    assert (parameter.annotation, parameter.default) == (usual[name], None)


def test_without_a_word_the_threat_is_the_same_everywhere() -> None:
    threat = Study(2, ["x"]).settings.threat
    assert (threat.name, threat.eps) == ("prescient", 0.1) == (StudyToml().threat, StudyToml().contamination)
    certificate = analyze({"arm": ["a", "b"], "x": [1.0, 2.0]}, maximize="x").certificate
    assert (certificate.threat, certificate.contamination, certificate.confidence) == ("prescient", 0.1, 0.95)
    assert (USUAL.name, USUAL.eps) == ("prescient", 0.1)  # of a plan
