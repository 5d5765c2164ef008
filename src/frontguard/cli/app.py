"""The typer application and its commands."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.main import get_command

from frontguard.cli.options.help import GroupedCommand, GroupedCommands

COMMANDS = ("demo", "plan", "run", "analyze", "gate", "rescue", "report", "serve", "reproduce")
"""In the order of the help. Each is a function in the module of its name."""


def _version(wanted: bool) -> None:
    if wanted:
        from frontguard import __version__

        typer.echo(f"frontguard {__version__}")
        raise typer.Exit


def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Find the trade-off (Pareto) set among noisy candidates when part of the measurements lie."""


def application(*names: str) -> typer.Typer:
    """The application with these commands: all, unless some are named."""
    app = typer.Typer(
        name="frontguard",
        cls=GroupedCommands,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_root)
    for name in names or COMMANDS:
        app.command(cls=GroupedCommand)(getattr(import_module(f"frontguard.cli.{name}"), name))
    return app


@cache
def commands(asked: str = "") -> Any:
    """The application as it is called, with the command that is asked for, or with all.

    To make it of all options of all commands takes longer than most answers.
    """
    return get_command(application(asked) if asked in COMMANDS else application())
