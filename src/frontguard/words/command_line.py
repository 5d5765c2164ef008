"""Commands as they would be typed, for the next steps that answers end with."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from frontguard._common.secrets import without_password


def command_line(arguments: Sequence[str], **changes: str | Sequence[str]) -> str:
    """The command as it would be typed, with other values for some options.

    >>> command_line(["run", "a b.toml", "--max-pulls", "500", "--workers=2"], max_pulls="2000")
    "frontguard run 'a b.toml' --workers=2 --max-pulls 2000"
    """
    kept: list[str] = []
    changed = {name.replace("_", "-"): value for name, value in changes.items()}
    skip = False
    for argument in arguments:
        option = argument.partition("=")[0]
        if skip:
            skip = False
        elif option.startswith("--") and option[2:] in changed:
            skip = "=" not in argument
        else:
            kept.append(without_password(argument))
    for name, values in changed.items():
        for value in [values] if isinstance(values, str) else values:
            kept += [f"--{name}", value]
    return shlex.join(["frontguard", *kept])


def commands_to_look(where: str, study: str, *, several: bool) -> str:
    """How to see a study: as a report, and as a live page; empty for one that is nowhere."""
    if where.startswith("memory:"):
        return ""
    named = ["--study", study] if several else []
    return (
        f"`{shlex.join(['frontguard', 'report', where, *named])}` writes a report to send, "
        f"`{shlex.join(['frontguard', 'serve', where])}` shows it in a browser"
    )
