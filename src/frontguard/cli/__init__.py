"""The command line: thin. Every command answers first; messages go to stderr, `--json` to stdout.

It may know every room, and none knows it. A command parses its options, calls what does the work, and prints: sentences
come from `words`, JSON from `documents`. Where to start:

- `app`: the commands there are.
- `run`, `analyze`, `gate`, `plan`, `report`, `serve`, `rescue`, `reproduce`, `demo`: one module a command.
- `options`: what they take, read and checked the same in all of them, and `--help`.
- `screen`: where they print; `leaving`: how a process ends that has nothing open.
"""

from __future__ import annotations

import os
import sys
from itertools import pairwise
from typing import Any

from frontguard._common.secrets import without_password
from frontguard.cli.leaving import leave_at_once

_FAILED, _WRONG, _INTERRUPTED = 1, 2, 130


def main() -> None:
    """All of a process: run the command line and leave with its exit code."""
    code = run_command()
    # It has closed what it opened, and after a large log there is most to take apart.
    if sys.argv[1:2] == ["analyze"] and code not in (_FAILED, _WRONG, _INTERRUPTED):
        leave_at_once(code)
    sys.exit(code)


def run_command() -> int:
    """Run the command line. Returns its exit code: 0 done, 2 bad input, 130 interrupted; commands have others, too."""
    import typer

    from frontguard.cli.app import commands
    from frontguard.errors import BadInput

    # typer brings its own click, or uses the installed one, by version; either way this is its UsageError.
    usage_error: Any = typer.BadParameter.__mro__[1]
    try:
        asked = sys.argv[1:] or ["--help"]
        code = commands(asked[0])(asked, prog_name="frontguard", standalone_mode=False)
    except BadInput as error:
        _complain(_by_option(error))
        code = _WRONG
    except usage_error as error:
        _complain(f"{_usage_in_words(error)} (see {_help_of(error)})")
        code = _WRONG
    except (KeyboardInterrupt, typer.Abort):
        _complain("interrupted")
        code = _INTERRUPTED
    except BrokenPipeError:  # the reader of our output has gone: nobody is left to complain to
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = _FAILED
    return int(code or 0)


def _complain(message: str) -> None:
    print(f"frontguard: {without_password(' '.join(message.split()))}", file=sys.stderr)


def _by_option(error: Exception) -> str:
    """The message, with the option that stands for the argument, or that names the column, of which it speaks."""
    from frontguard.cli.app import commands
    from frontguard.errors import BadArgument, NoColumn

    given, by_name = sys.argv[1:], commands().commands
    command = next((by_name[each] for each in given if each in by_name), None)
    options = {each.name: each.opts[0] for each in command.params if each.opts[0].startswith("--")} if command else {}
    if isinstance(error, BadArgument) and error.argument in options:
        return error.named(options[error.argument])
    if not isinstance(error, NoColumn):
        return str(error)
    values = [text.partition("=")[::2] for text in given]
    values += pairwise(given)
    named = [option for option, value in values if option in options.values() and _names(option, value, error.column)]
    return f"{named[0]}: {error}" if named else str(error)


def _names(option: str, value: str, column: str) -> bool:
    """Whether the value of an option names a column: alone, with others, with a number, or in a limit."""
    return column in (value, *value.split(","), value.rpartition("=")[0]) or (option == "--limit" and column in value)


_SYMBOLS = {"--eps": "--contamination", "--epsilon": "--contamination"}
"""Options by what papers call them, of which no spelling is near."""


def _usage_in_words(error: Any) -> str:
    """What is wrong with a command line; of an option that there is not, which one may be meant."""
    from frontguard.phrases import did_you_mean

    option, known = getattr(error, "option_name", None), getattr(error, "possibilities", None)
    if option is None or not hasattr(error, "possibilities"):  # as one that lacks its value
        return str(error.format_message())
    context = getattr(error, "ctx", None)
    options = {each for param in context.command.params for each in param.opts} if context else set()
    meant = _SYMBOLS.get(option, "")
    hint = did_you_mean(meant, [meant]) if meant in options else did_you_mean(option, known or ())
    return f"there is no option {option}{hint}"


def _help_of(error: BaseException) -> str:
    context = getattr(error, "ctx", None)
    return f"{context.command_path if context else 'frontguard'} --help"
