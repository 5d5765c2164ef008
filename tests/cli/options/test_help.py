"""What `--help` prints at 80 columns, of every command."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from frontguard.cli import COMMANDS, options_of
from tests.cli.commands import run

EVERYDAY = 12
"""Options that come first, beside --help."""


def shown(*command: str, cwd: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    for name, value in {"COLUMNS": "80", "TERM": "dumb", "NO_COLOR": "1"}.items():
        monkeypatch.setenv(name, value)
    ran = run(*command, "--help", cwd=cwd)
    assert ran.returncode == 0
    return ran.stdout


@pytest.mark.parametrize("command", [(), *((name,) for name in COMMANDS)], ids=str)
def test_it_fits_and_shows_no_types_of_a_language(
    command: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = shown(*command, cwd=tmp_path, monkeypatch=monkeypatch)
    assert max(map(len, said.splitlines())) <= 80
    of_options = said.partition("─ Options ─")[2].replace("--help", "", 1).replace("<bool>", "", 1)  # typer's own
    assert not re.search(r"<\w+>|list\[|\bBOOLEAN\b|\bTEXT\b", of_options)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_is_there_and_those_of_everyday_use_come_first(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = shown(command, cwd=tmp_path, monkeypatch=monkeypatch)
    rows = re.findall(r"^│ (--[a-z-]+)", said, re.MULTILINE)
    assert set(options_of(command).values()) == set(rows) - {"--help"}
    panels = re.findall(r"╭─ (.+?) ─+╮", said)
    assert next(panel for panel in panels if panel != "Arguments") == "Options"
    first = re.findall(r"^│ (--[a-z-]+)", said.partition("─ Options ─")[2].partition("╰")[0], re.MULTILINE)
    assert len(first) <= EVERYDAY + 1


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
