"""What `--help` prints at 80 columns, of every command."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from frontguard.cli import COMMANDS, options_of
from frontguard.cli.help import EXAMPLES
from tests.cli.commands import run

EVERYDAY = 12
"""Options that `--help` shows."""


def shown(*command: str, cwd: Path, monkeypatch: pytest.MonkeyPatch, asked: str = "--help") -> str:
    for name, value in {"COLUMNS": "80", "TERM": "dumb", "NO_COLOR": "1"}.items():
        monkeypatch.setenv(name, value)
    ran = run(*command, asked, cwd=cwd)
    assert ran.returncode == 0
    return ran.stdout


@pytest.mark.parametrize("asked", ["--help", "--help-all"])
@pytest.mark.parametrize("command", COMMANDS)
def test_it_fits_and_shows_no_types_of_a_language(
    command: str, asked: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = shown(command, cwd=tmp_path, monkeypatch=monkeypatch, asked=asked)
    assert max(map(len, said.splitlines())) <= 80
    assert not re.search(r"<\w+>|list\[|\bBOOLEAN\b|\bTEXT\b|\(the ", said)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_dozen_options_a_line_each_and_every_one_on_request(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = shown(command, cwd=tmp_path, monkeypatch=monkeypatch)
    everyday = said.partition("\nOptions:\n")[2].partition("\n\n")[0].splitlines()
    assert len(everyday) <= EVERYDAY
    assert all(re.match(r"  -", line) for line in everyday)  # none goes on in a second line
    of_all = shown(command, cwd=tmp_path, monkeypatch=monkeypatch, asked="--help-all")
    rows = re.findall(r"^  (?:-\w, )?(--[a-z-]+)", of_all, re.MULTILINE)
    assert set(options_of(command).values()) == set(rows)
    assert {option for option in rows if option not in said} == set()


@pytest.mark.parametrize("command", COMMANDS)
def test_its_two_examples_are_of_the_command_and_have_options_that_are_there(command: str) -> None:
    given = EXAMPLES[command]
    assert len(given) == 2
    assert f"frontguard {command}" in given[0]
    known = {option for each in COMMANDS for option in options_of(each).values()} | {"--help-all"}
    assert {word for each in given for word in shlex.split(each) if word.startswith("--")} <= known


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (("run", "--minimise", "x"), "--minimize"),
        (("analyze", "log.csv", "--maximise", "x"), "--maximize"),
        (("plan", "--contaminaton", "0.1"), "--contamination"),
        (("analyse", "log.csv"), "analyze"),
    ],
)
def test_a_near_miss_is_told_what_may_be_meant(arguments: tuple[str, ...], meant: str, tmp_path: Path) -> None:
    ran = run(*arguments, cwd=tmp_path)
    assert ran.returncode == 2
    (line,) = ran.stderr.splitlines()
    assert meant in line
