"""The typer application and its commands."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from importlib import import_module
from typing import Annotated, get_args

import typer

COMMANDS = ("demo", "plan", "run", "analyze", "gate", "report", "serve", "reproduce")
"""In the order of the help. Each is a function in the module of its name."""


def function_of(command: str) -> Callable[..., None]:
    """The function that runs a command; only now is its module imported."""
    found: Callable[..., None] = getattr(import_module(f"frontguard.cli.{command}"), command)
    return found


def options_of(command: str) -> dict[str, str]:
    """The options of a command by the names of their arguments.

    >>> options_of("report")["study"]
    '--study'
    """
    option = type(typer.Option())
    parameters = inspect.signature(function_of(command), eval_str=True).parameters
    return {
        name: f"--{name.replace('_', '-')}"
        for name, each in parameters.items()
        if any(isinstance(said, option) for said in get_args(each.annotation))
    }


def _version(wanted: bool) -> None:
    if wanted:
        from frontguard import __version__

        typer.echo(f"frontguard {__version__}")
        raise typer.Exit


def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, metavar="", help="Show the version and exit.")
    ] = False,
) -> None:
    """Find the trade-off (Pareto) set among noisy candidates when part of the measurements lie."""


def application(command: str | None = None) -> typer.Typer:
    """The application with all commands, or with one: to read the options of all takes longer than most answers."""
    app = typer.Typer(
        name="frontguard",
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode="markdown",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_root)
    for name in COMMANDS if command is None else (command,):
        app.command()(function_of(name))
    return app
