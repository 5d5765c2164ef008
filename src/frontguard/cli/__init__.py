"""The command line: thin. Every command answers first; messages go to stderr, `--json` to stdout.

A command parses its options, calls what does the work, and prints: sentences come from `words`, JSON from the answer's
own `entries` and `to_dict`. Where to start:

- `run`, `analyze`, `gate`, `plan`, `report`, `serve`, `reproduce`, `demo`: one module a command.
- `options`: what they take, declared once, and what that asks.
- `screen`: where they print and write, and how they are ended.
"""

from __future__ import annotations

import errno
import inspect
import io
import mmap
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from itertools import pairwise
from typing import TYPE_CHECKING, get_args

if TYPE_CHECKING:  # imported once Ctrl-C is answered
    import typer

COMMANDS = ("demo", "plan", "run", "analyze", "gate", "report", "serve", "reproduce")
"""In the order of the help. Each is a function in the module of its name."""

PASSED, WORSE, WRONG, OPEN, BROKEN, INTERRUPTED, UNREAD = 0, 1, 2, 3, 4, 130, 141
"""Exit codes of all commands: done, certainly worse (of a gate alone), bad input, not certain, could not go on,
interrupted, nobody reads the output any more."""

_LEAST_MEMORY = 2**30
"""Bytes of address space that the libraries take at least."""


def run_command() -> int:
    """Run the command line. Returns its exit code: 0 done, or one of the above; commands have others, too."""
    try:
        _open_streams()
        mmap.mmap(-1, _LEAST_MEMORY).close()  # libraries in C end a process that has less, with the exit code 1
        code = _answered(sys.argv[1:] or ["--help"])
        sys.stdout.flush()
    except KeyboardInterrupt:
        _complain("interrupted")
        code = INTERRUPTED
    except BrokenPipeError:  # the reader of our output has gone: nobody is left to complain to
        code = UNREAD
    except (OSError, MemoryError) as error:
        _complain(f"cannot go on: {str(error) or 'there is not enough memory'}")
        code = WRONG if getattr(error, "errno", None) == errno.ENAMETOOLONG else BROKEN
    except SystemExit as left:  # rich and typer leave with 1 where nobody reads
        code = UNREAD if isinstance(left.__context__, BrokenPipeError) else BROKEN
    except BaseException as error:  # a library's panic is no Exception
        if isinstance(error.__cause__, KeyboardInterrupt):  # met while a class was made, Python wraps it
            _complain("interrupted")
            code = INTERRUPTED
        else:
            from traceback import format_exc

            _say(format_exc())
            _complain("this is a fault of frontguard, and the lines above say where: please report them")
            code = BROKEN
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:  # Python would try once more, and end with a code of its own
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    return code


def _open_streams() -> None:
    """Have all three streams open, and show a character that a stream does not know by its number."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # closed by the caller; the next file that is opened would take its place
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115  # until we end
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _answered(asked: list[str]) -> int:
    """Run a command. Returns its exit code; 2 for bad input, of which it complains."""
    import typer

    from frontguard.errors import BadInput

    command = asked[0] if asked[0] in COMMANDS else None
    try:
        # Only the command that is asked for is imported.
        return int(application(command)(asked, prog_name="frontguard", standalone_mode=False) or 0)
    except BadInput as error:
        _complain(_by_option(error, command))
        if getattr(error.__context__, "errno", None) == errno.ENOSPC:  # no mistake of the caller's
            return BROKEN
    except typer.TyperException as error:
        _complain(f"{error.format_message()} (see {' '.join(filter(None, ['frontguard', command, '--help']))})")
    except typer.Abort:
        raise KeyboardInterrupt from None
    return WRONG


def application(command: str | None = None) -> typer.Typer:
    """The application with all commands, or with one: to read the options of all takes longer than most answers."""
    import typer

    from frontguard.cli.help import HelpfulCommand

    def show_version(wanted: bool) -> None:
        if wanted:
            from frontguard import __version__

            typer.echo(f"frontguard {__version__}")
            raise typer.Exit

    option = typer.Option(
        False, "--version", callback=show_version, is_eager=True, metavar="", help="Show the version and exit."
    )

    def root(version: bool = option) -> None:
        """Find the trade-off (Pareto) set among noisy candidates when part of the measurements lie."""

    app = typer.Typer(
        name="frontguard",
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,  # what renders it takes 0.2 s to import
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(root)
    for name in COMMANDS if command is None else (command,):
        app.command(cls=HelpfulCommand)(function_of(name))
    return app


def function_of(command: str) -> Callable[..., None]:
    """The function that runs a command; only now is its module imported."""
    found: Callable[..., None] = getattr(import_module(f"frontguard.cli.{command}"), command)
    return found


def options_of(command: str) -> dict[str, str]:
    """The options of a command by the names of their arguments.

    >>> options_of("report")["study"]
    '--study'
    """
    import typer

    option = type(typer.Option())
    parameters = inspect.signature(function_of(command), eval_str=True).parameters
    return {
        name: f"--{name.replace('_', '-')}"
        for name, each in parameters.items()
        if any(isinstance(said, option) for said in get_args(each.annotation))
    }


_SAID_BY = {"bounds": "mean", "statistic": "mean", "limits": "limit"}
"""Arguments that an option of another name gives."""


def _complain(message: str) -> None:
    from frontguard._common.secrets import without_password

    _say(f"frontguard: {without_password(' '.join(message.split()))}")


def _say(message: str) -> None:
    from frontguard.words.terminal import write_line

    with suppress(OSError):
        write_line(message)


def _by_option(error: Exception, command: str | None) -> str:
    """The message, with the option that stands for the argument, or that names the column, of which it speaks."""
    from frontguard.errors import BadArgument, NoColumn

    options = options_of(command) if command else {}
    options |= {name: options[said] for name, said in _SAID_BY.items() if said in options}
    if isinstance(error, BadArgument) and error.key in options:
        return error.named(options[error.key] + error.argument.removeprefix(error.key))
    if not isinstance(error, NoColumn):
        return str(error)
    given = sys.argv[1:]
    values = [text.partition("=")[::2] for text in given]
    values += pairwise(given)
    named = [option for option, value in values if option in options.values() and _names(option, value, error.column)]
    return f"{named[0]}: {error}" if named else str(error)


def _names(option: str, value: str, column: str) -> bool:
    """True if the value of an option names a column: alone, with others, with a number, or in a limit."""
    return column in (value, *value.split(","), value.rpartition("=")[0]) or (option == "--limit" and column in value)
