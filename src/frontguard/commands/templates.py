"""Placeholders in commands: `{opt}` stands for a parameter of the arm, `{{` and `}}` for plain braces.

An argument that consists of placeholders and becomes empty disappears, so that a parameter can say "no flag" with an
empty text. An argument that is written empty stays. In a text for a shell the values are put in as they are, unquoted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from frontguard.errors import BadInput
from frontguard.phrases import nearest

Command = tuple[str, ...] | str
"""Arguments, run without a shell; or a text for `/bin/sh`."""

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
"""What a parameter may be called."""

OF_AN_ARM = ("workdir", "arm")
OF_A_PULL = ("seed", "pull", "rep", "item")
RESERVED = (*OF_AN_ARM, *OF_A_PULL)
"""Placeholders that we fill in ourselves."""

_PIECE = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")


class BadPlaceholder(BadInput):
    """A placeholder that cannot be filled in. The message does not say where it stands."""


def placeholders(template: str) -> list[str]:
    """The names in a text, in order.

    >>> placeholders("{workdir}/prog-{{1}} {opt}")
    ['workdir', 'opt']
    """
    found = []
    for piece in _PIECE.finditer(template):
        if piece[0] in ("{{", "}}"):
            continue
        if piece[1] is None or not NAME.fullmatch(piece[1]):
            raise BadPlaceholder(
                f"{piece[0]!r} is no placeholder such as '{{workdir}}'; a plain brace is written '{{{{'"
            )
        found.append(piece[1])
    return found


def check_placeholders(template: str, known: list[str]) -> None:
    """Refuse a text with a placeholder that is not known."""
    for name in placeholders(template):
        if name not in known:
            near = nearest(name, known)
            hint = "" if near is None else f" (did you mean {{{near}}}?)"
            names = ", ".join(f"{{{each}}}" for each in known)
            raise BadPlaceholder(f"placeholder {{{name}}} is not known{hint}; known: {names}")


def filled(template: str, values: Mapping[str, str]) -> str:
    """The text with every placeholder filled in.

    >>> filled("{{{opt}}}", {"opt": "-O2"})
    '{-O2}'
    """
    return _PIECE.sub(lambda piece: values[piece[1]] if piece[1] is not None else piece[0][0], template)


def filled_command(command: Command, values: Mapping[str, str]) -> Command:
    """A command with every placeholder filled in, without the arguments that became empty.

    >>> filled_command(("gcc", "{opt}", "{unroll}", ""), {"opt": "-O2", "unroll": ""})
    ('gcc', '-O2', '')
    """
    if isinstance(command, str):
        return filled(command, values)
    arguments = ((template, filled(template, values)) for template in command)
    return tuple(argument for template, argument in arguments if argument or not template)


def escaped(text: str, names: tuple[str, ...] = RESERVED) -> str:
    """A text as a template in which only placeholders with these names count: all other braces are plain.

    >>> escaped("awk '{print $1}' {workdir}/x")
    "awk '{{print $1}}' {workdir}/x"
    """
    kept = "|".join(re.escape(name) for name in names)
    return re.sub(rf"\{{(?:{kept})\}}|[{{}}]", lambda found: found[0] if len(found[0]) > 1 else found[0] * 2, text)


def as_text(value: str | int | float | bool) -> str:
    """A parameter as it stands in a command.

    >>> as_text("-O2"), as_text(3), as_text(0.1), as_text(True)
    ('-O2', '3', '0.1', 'true')
    """
    return str(value).lower() if isinstance(value, bool) else str(value)
