"""Plain values of options are taken as they are; all else is typer's, with the same result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from typer.main import get_command

from frontguard.cli.app import application
from frontguard.cli.options import help as help_of_commands

GIVEN = [
    ["analyze", "log.csv", "--maximize", "speed", "--json"],
    ["analyze", "a.csv", "b.csv", "--minimize", "x", "--minimize", "y", "--top", "5", "--csv", "out.csv", "--anytime"],
    ["analyze", "log.csv", "--items", "3", "--one-look", "--no-profile", "--folder", "somewhere"],
    ["analyze", "log.csv", "--top", "0"],
    ["analyze", "log.csv", "--top", "many"],
    ["analyze"],
    ["plan", "--arms", "5", "--objectives", "2"],
    ["plan", "--arms", "many"],
    ["run", "study.toml", "--workers", "2", "--max-pulls", "1000"],
    ["serve", "study.db", "--port", "80"],
    ["report", "study.db", "-o", "page.html"],
]


def read(arguments: Sequence[str]) -> Any:
    """What a command gets, or why it is not called."""
    commands: Any = get_command(application())
    try:
        return commands.commands[arguments[0]].make_context(arguments[0], list(arguments[1:])).params
    except Exception as error:
        return type(error), str(error)


@pytest.mark.parametrize("arguments", GIVEN, ids=" ".join)
def test_the_same_comes_out_as_by_typer_alone(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    found = read(arguments)
    monkeypatch.setattr(help_of_commands, "take_as_is", lambda param: None)
    assert found == read(arguments)
