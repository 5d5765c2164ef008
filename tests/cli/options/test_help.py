"""What `--help` prints at 80 columns, of every command."""

from __future__ import annotations

import re
from itertools import chain
from pathlib import Path

import pytest
import typer.main
from typer.testing import CliRunner

from frontguard.cli.app import application
from frontguard.cli.options.help import GROUPS, OF_A_COMMAND, long_name
from tests.cli.commands import run

GROUP = typer.main.get_command(application())
NAMES = sorted(GROUP.commands)  # type: ignore[attr-defined]


def shown(*command: str) -> str:
    ran = CliRunner().invoke(
        application(), [*command, "--help"], env={"COLUMNS": "80", "TERM": "dumb", "NO_COLOR": "1"}
    )
    assert ran.exit_code == 0
    return ran.stdout


@pytest.mark.parametrize("command", [(), *((name,) for name in NAMES)], ids=str)
def test_it_fits_and_shows_no_types_of_a_language(command: tuple[str, ...]) -> None:
    said = shown(*command)
    assert max(map(len, said.splitlines())) <= 80
    assert not re.search(r"<\w+|list\[|\bBOOLEAN\b|\bTEXT\b|\[\[", said)


@pytest.mark.parametrize("name", NAMES)
def test_every_option_has_a_group_and_a_word(name: str) -> None:
    options = [each for each in GROUP.commands[name].params if each.param_type_name == "option" and not each.hidden]  # type: ignore[attr-defined]
    for option in options:
        words = [group[long_name(option)] for group in GROUPS.values() if long_name(option) in group]
        assert len(words) == 1, option.name
        word = OF_A_COMMAND.get((name, long_name(option)), words[0])
        assert bool(word) != option.is_flag, option.name


def test_no_group_names_an_option_that_there_is_not() -> None:
    commands = GROUP.commands.values()  # type: ignore[attr-defined]
    there = {
        long_name(each)
        for command in [GROUP, *commands]
        for each in command.params
        if each.opts[0][0] == "-" and not each.hidden
    }
    assert set(chain.from_iterable(GROUPS.values())) == there | {"--help"}


@pytest.mark.parametrize("name", ["run", "analyze", "plan", "gate"])
def test_many_options_are_in_groups_and_in_their_order(name: str) -> None:
    groups = re.findall(r"╭─ (.+?) ─+╮", shown(name))
    ours = [group for group in groups if group != "Arguments"]
    assert ours == [group for group in GROUPS if group in ours]
    assert len(ours) >= 4
    assert ours[:2] == ["What is compared", "How surely"]
    assert ours[-1] == "Output"


def test_lines_of_a_paragraph_are_joined() -> None:
    paragraph = next(part for part in re.split(r"\n *\n", shown("run")) if "Every measurement" in part)
    lines = paragraph.split("╭")[0].strip().splitlines()
    assert len(lines) > 3
    assert all(len(line.rstrip()) > 60 for line in lines[:-2])


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (("analyze", "log.csv", "--eps", "0.1"), "there is no option --eps (did you mean '--contamination'?)"),
        (("run", "--minimise", "x"), "there is no option --minimise (did you mean '--minimize'?)"),
        (("analyze", "log.csv", "--maximise", "x"), "there is no option --maximise (did you mean '--maximize'?)"),
        (("plan", "--contaminaton", "0.1"), "(did you mean '--contamination'?)"),
        (("analyse", "log.csv"), "'analyze'?"),
    ],
)
def test_a_near_miss_is_told_what_may_be_meant(arguments: tuple[str, ...], meant: str, tmp_path: Path) -> None:
    ran = run(*arguments, cwd=tmp_path)
    assert ran.returncode == 2
    (line,) = ran.stderr.splitlines()
    assert meant in line
