"""How `--help` reads: options in groups, and what each takes in a word; one table for all commands."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from typer.core import TyperCommand, TyperGroup

from frontguard.cli.options.help_page import page
from frontguard.cli.options.plain import take_as_is

GROUPS: dict[str, dict[str, str]] = {
    "What is compared": {
        "--baseline": "ARM",
        "--candidate": "NAME=COMMAND",
        "--arm": "COLUMN",
        "--arms": "N",
        "--objectives": "N",
        "--minimize": "METRIC",
        "--maximize": "METRIC",
        "--quantile": "LEVEL",
        "--mean": "METRIC",
        "--exact": "METRIC",
        "--sigma": "METRIC=NUMBER",
        "--limit": "LIMIT",
        "--cluster": "COLUMN",
        "--pair": "COLUMN",
        "--paired": "",
        "--items": "N",
        "--independent": "",
        "--pilot": "FILE.csv",
        "--study": "NAME",
        "--storage": "STORAGE",
    },
    "How surely": {
        "--tolerance": "AMOUNT",
        "--goal": "GOAL",
        "--coverage": "AMOUNT",
        "--contamination": "SHARE",
        "--threat": "THREAT",
        "--confidence": "LEVEL",
        "--anytime": "",
        "--profile": "",
    },
    "When to stop": {
        "--max-pulls": "N",
        "--max-pulls-per-arm": "N",
        "--max-time": "TIME",
        "--cost": "COST",
        "--max-cost": "AMOUNT",
        "--polish": "",
    },
    "How it is done": {
        "--workers": "N",
        "--timeout": "TIME",
        "--warmups": "N",
        "--runs": "N",
        "--seed": "N",
        "--gaussian": "NUMBER",
        "--span": "NUMBER",
        "--policy": "POLICY",
        "--data": "PATH",
        "--selection": "CHOICE",
        "--fresh": "",
        "--host": "HOST",
        "--port": "PORT",
        "--allow-host": "HOST",
        "--open": "",
    },
    "How the log is read": {
        "--layout": "LAYOUT",
        "--format": "FORMAT",
        "--metric-column": "COLUMN",
        "--value-column": "COLUMN",
        "--decimal": "POINT",
        "--missing-arms": "CHOICE",
        "--where": "COLUMN=VALUE",
    },
    "Logs that are large, or grow": {
        "--append": "STATE",
        "--again": "",
        "--sketch": "SIZE",
        "--memory": "SIZE",
        "--folder": "FOLDER",
        "--executor": "ADDRESS",
    },
    "Output": {
        "--pick": "HOW",
        "--strict": "",
        "--allow-failed-arms": "",
        "--summary": "FILE",
        "--junit": "FILE",
        "--top": "N",
        "--csv": "FILE",
        "--report": "FILE",
        "--output": "PATH",
        "--json": "",
        "--version": "",
        "--help": "",
    },
}
"""Options by group, in the order in which groups are shown, with the word for what an option takes."""

OF_A_COMMAND = {
    ("run", "--arm"): "NAME=COMMAND",
    ("gate", "--baseline"): "NAME=COMMAND",
    ("gate", "--open"): "pass|fail",
    ("report", "--output"): "FILE",
    ("plan", "--sigma"): "NUMBER",
}
"""Where an option takes something else in one command."""

_GROUPED = 12
"""Options from which on a command's are shown in groups: fewer are seen at a glance."""

_WORDS = {option: word for group in GROUPS.values() for option, word in group.items()}
_ORDER = list(_WORDS)
_GROUP_OF = {option: name for name, group in GROUPS.items() for option in group}


class GroupedCommand(TyperCommand):
    """A command with such a help."""

    def __init__(self, *args: Any, **given: Any) -> None:
        super().__init__(*args, **given)
        if self.help:  # a terminal breaks the lines of a paragraph where it ends
            self.help = "\n\n".join(" ".join(part.split()) for part in inspect.cleandoc(self.help).split("\n\n"))

    def get_params(self, ctx: Any) -> Any:
        """The arguments, and the options in the order of the help."""
        return arranged(str(self.name), super().get_params(ctx))

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """The page, drawn by us."""
        formatter.write(page(self, ctx))


class GroupedCommands(TyperGroup):
    """All commands, with such a help."""

    def get_params(self, ctx: Any) -> Any:
        """The options in the order of the help."""
        return arranged("", super().get_params(ctx))

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """The page, drawn by us."""
        formatter.write(page(self, ctx))


def arranged(command: str, params: Sequence[Any]) -> list[Any]:
    """The arguments and options of a command with their words; many options in the order of their groups."""
    arguments = [param for param in params if param.param_type_name == "argument"]
    options = [param for param in params if param.param_type_name != "argument"]
    for param in params:
        take_as_is(param)
    for param in arguments:
        param.display_type_rich = lambda ctx: ""  # its name says what it is
    for param in options:
        name = long_name(param)
        param.metavar = OF_A_COMMAND.get((command, name), _WORDS.get(name))
    if len(options) < _GROUPED:
        return [*arguments, *options]
    for param in options:
        param.rich_help_panel = _GROUP_OF.get(long_name(param))
    known = [param for param in options if long_name(param) in _WORDS]
    rest = [param for param in options if long_name(param) not in _WORDS]
    return [*arguments, *sorted(known, key=lambda param: _ORDER.index(long_name(param))), *rest]


def long_name(param: Any) -> str:
    """An option as it is written out: --help rather than -h."""
    return str(max(param.opts, key=len))
