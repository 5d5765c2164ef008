"""The command line: thin. Every command answers first; messages go to stderr, `--json` to stdout.

It may know every package, and none knows it. A command parses its options, calls what does the work, and prints:
sentences come from `words`, JSON from the answer's own `entries` and `to_dict`. Where to start:

- `app`: the commands there are.
- `run`, `analyze`, `gate`, `plan`, `report`, `serve`, `reproduce`, `demo`: one module a command.
- `options`: what they take, declared once; `asked`: what these ask, the same in all of them.
- `screen`: where they print; `signals`: how they are ended.
"""

from __future__ import annotations

import os
import sys
from itertools import pairwise

from frontguard._common.secrets import without_password

_FAILED, _WRONG, _INTERRUPTED = 1, 2, 130


def main() -> None:
    """All of a process: run the command line and leave with its exit code."""
    sys.exit(run_command())


def run_command() -> int:
    """Run the command line. Returns its exit code: 0 done, 2 bad input, 130 interrupted; commands have others, too."""
    import typer

    from frontguard.cli.app import COMMANDS, application
    from frontguard.errors import BadInput

    asked = sys.argv[1:] or ["--help"]
    command = asked[0] if asked[0] in COMMANDS else None
    try:
        # Only the command that is asked for is imported.
        code = application(command)(asked, prog_name="frontguard", standalone_mode=False)
    except BadInput as error:
        _complain(_by_option(error, command))
        code = _WRONG
    except typer.TyperException as error:
        _complain(f"{error.format_message()} (see {' '.join(filter(None, ['frontguard', command, '--help']))})")
        code = _WRONG
    except (KeyboardInterrupt, typer.Abort):
        _complain("interrupted")
        code = _INTERRUPTED
    except BrokenPipeError:  # the reader of our output has gone: nobody is left to complain to
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = _FAILED
    return int(code or 0)


_SAID_BY = {"bounds": "mean", "statistic": "mean", "limits": "limit"}
"""Arguments that an option of another name gives."""


def _complain(message: str) -> None:
    print(f"frontguard: {without_password(' '.join(message.split()))}", file=sys.stderr)


def _by_option(error: Exception, command: str | None) -> str:
    """The message, with the option that stands for the argument, or that names the column, of which it speaks."""
    from frontguard.cli.app import options_of
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
    """Whether the value of an option names a column: alone, with others, with a number, or in a limit."""
    return column in (value, *value.split(","), value.rpartition("=")[0]) or (option == "--limit" and column in value)
