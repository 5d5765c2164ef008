"""The typer application and its commands."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any

import typer
from typer.main import get_command

from frontguard.cli.analyze import analyze
from frontguard.cli.audit import audit
from frontguard.cli.demo import demo
from frontguard.cli.gate import gate
from frontguard.cli.options.help import GroupedCommand, GroupedCommands
from frontguard.cli.plan import plan
from frontguard.cli.report import report
from frontguard.cli.reproduce import reproduce
from frontguard.cli.rescue import rescue
from frontguard.cli.run import run
from frontguard.cli.serve import serve

app = typer.Typer(
    name="frontguard",
    cls=GroupedCommands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (demo, plan, run, analyze, gate, rescue, report, serve, reproduce, audit):  # in the order of the help
    app.command(cls=GroupedCommand)(command)


def _version(wanted: bool) -> None:
    if wanted:
        from frontguard import __version__

        typer.echo(f"frontguard {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Find the trade-off (Pareto) set among noisy candidates when part of the measurements lie."""


@cache
def commands() -> Any:
    """The application as it is called; to make it of all options of all commands takes longer than most answers."""
    return get_command(app)
