"""The arms of a spec: listed one by one, or all combinations of a grid; each with commands that can be filled in.

In a command `{opt}` stands for a parameter of the arm, `{{` and `}}` for plain braces. An argument that consists of
placeholders and becomes empty disappears, so that a parameter can say "no flag" with an empty text. An argument that is
written empty stays. In a text for a shell the values are put in as they are, unquoted.
"""

from __future__ import annotations

import itertools
import math
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from frontguard._common.secrets import MASK, without_passwords
from frontguard.errors import BadInput
from frontguard.phrases import nearest, one_line, slashed

if TYPE_CHECKING:
    from frontguard.commands.format import ArmToml, Complaints, RunToml, SpecToml, StepsToml

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


# Arms -----------------------------------------------------------------------------------------------------------------

Scalar = str | int | float | bool

COMMANDS = ("command", "prepare", "before", "after", "cleanup")
"""Keys of commands, in [run] and in [[arm]]."""


@dataclass(frozen=True)
class Arm:
    """A candidate: its name, its parameters, and its commands, placeholders and all.

    `prepare` and `warmups` runs of the command come before its first pull in a run, `before` and `after` around every
    run of the command, `cleanup` when the run ends.
    """

    name: str
    parameters: dict[str, Scalar]
    command: Command
    prepare: Command | None
    env: dict[str, str] = field(repr=False)
    before: Command | None = None
    after: Command | None = None
    cleanup: Command | None = None
    warmups: int = 0

    def identity(self) -> dict[str, Any]:
        """What determines its measurements; of variables the names only, and no password of an address."""
        kept = {key: getattr(self, key) for key in ("name", "parameters", "command", "prepare")}
        optional = {key: getattr(self, key) for key in ("before", "after", "warmups")}
        named = {"env": dict.fromkeys(self.env, MASK)}
        all_of_it = kept | named | {key: value for key, value in optional.items() if value}
        return {key: _masked(value) for key, value in all_of_it.items()}


def _masked(value: Any) -> Any:
    """A value of JSON without the passwords of the addresses in its texts."""
    if isinstance(value, str):
        return without_passwords(value)
    if isinstance(value, dict):
        return {key: _masked(each) for key, each in value.items()}
    return [_masked(each) for each in value] if isinstance(value, (list, tuple)) else value


def arms_of(table: SpecToml, complain: Complaints) -> tuple[Arm, ...]:
    """The arms of a spec, two at least, each with commands that can be filled in."""
    _check_shell(table.run, table.run.shell, ("run",), complain)
    if table.arm is not None and table.arms is not None:
        raise complain(("arms",), "wanted [[arm]] or [arms.grid], not both")
    if table.arm is not None:
        arms = _listed_arms(table, table.arm, complain)
    elif table.arms is not None:
        arms = _grid_arms(table, table.arms.grid, complain)
    else:
        raise complain((), "arms missing; wanted a list of [[arm]] or a table [arms.grid]")
    if len(arms) < 2:
        raise complain(("arm",) if table.arm else ("arms", "grid"), f"wanted two arms at least; got {len(arms)}")
    return arms


def _listed_arms(table: SpecToml, listed: Sequence[ArmToml], complain: Complaints) -> tuple[Arm, ...]:
    arms: list[Arm] = []
    seen: set[str] = set()
    for number, own in enumerate(listed):
        where = ("arm", number)
        if own.name in seen:
            raise complain((*where, "name"), f"wanted a different name for each; got {own.name!r} again")
        seen.add(own.name)
        _check_shell(own, table.run.shell, where, complain)
        parameters = dict(own.model_extra or {})
        _check_names(parameters, where, complain)
        arm = _arm(table.run, own.name, parameters, complain, own)
        _check_placeholders(arm, own, where, f" (arm {arm.name!r})", complain)
        arms.append(arm)
    return tuple(arms)


def _grid_arms(table: SpecToml, grid: Mapping[str, Sequence[Scalar]], complain: Complaints) -> tuple[Arm, ...]:
    where = ("arms", "grid")
    _check_names(grid, where, complain)
    for key, values in grid.items():
        seen: set[str] = set()
        for number, text in enumerate(map(as_text, values)):
            if text in seen:
                raise complain((*where, key, number), f"wanted different values; got {text!r} again")
            seen.add(text)
    size = math.prod(len(values) for values in grid.values())
    if size > MOST_ARMS:
        raise complain(where, f"the grid has {size} combinations; wanted at most {MOST_ARMS}")
    arms = tuple(_arm(table.run, name, parameters, complain) for name, parameters in grid_arms(grid))
    _check_placeholders(arms[0], None, where, "", complain)  # all have the same commands
    used = {name for path, text, _ in templates_of(arms[0]) if path[0] != "cleanup" for name in placeholders(text)}
    for key, values in grid.items():
        if len(values) > 1 and key not in used:
            raise complain(
                (*where, key), f"wanted {{{key}}} in command, prepare or env: without it these arms are all the same"
            )
    return arms


def _check_names(parameters: Iterable[str], where: tuple[str | int, ...], complain: Complaints) -> None:
    for key in parameters:
        if key in RESERVED:
            raise complain((*where, key), f"wanted another name: {{{key}}} is filled in by frontguard")
        if not NAME.fullmatch(key):
            raise complain((*where, key), "wanted a parameter's name of letters, digits, _ and -, a letter first")


def _arm(
    run: RunToml, name: str, parameters: dict[str, Scalar], complain: Complaints, own: ArmToml | None = None
) -> Arm:
    """An arm with what it has of its own, and for the rest with what all have."""

    def chosen(key: str) -> Any:
        mine = None if own is None else getattr(own, key)
        value = getattr(run, key) if mine is None else mine
        return tuple(value) if isinstance(value, list) else value

    command = chosen("command")
    if command is None:
        raise complain(("run", "command"), "missing; wanted a list of texts such as ['./measure', '{opt}']")
    return Arm(
        name,
        parameters,
        command,
        env={**run.env, **(own.env if own else {})},
        **{key: chosen(key) for key in ("prepare", "before", "after", "cleanup", "warmups")},
    )


def templates_of(arm: Arm) -> Iterator[tuple[tuple[str | int, ...], str, list[str]]]:
    """All texts of an arm that may have placeholders: below which keys each stands, and what may be filled in."""
    of_arm = [*arm.parameters, *OF_AN_ARM]
    once = [arm.prepare, arm.cleanup]
    for key in COMMANDS:
        command: Command | None = getattr(arm, key)
        known = of_arm if key in ("prepare", "cleanup") else [*of_arm, *OF_A_PULL]
        if isinstance(command, str):
            yield (key,), command, known
        for position, template in enumerate(command if isinstance(command, tuple) else ()):
            yield (key, position), template, known
    # The environment is that of prepare and cleanup, too, where no pull has a number.
    in_env = [*of_arm, *OF_A_PULL] if once == [None, None] else of_arm
    for name, template in arm.env.items():
        yield ("env", name), template, in_env


def _check_placeholders(
    arm: Arm, own: ArmToml | None, where: tuple[str | int, ...], suffix: str, complain: Complaints
) -> None:
    """Refuse placeholders that cannot be filled in for this arm, naming the place where they are written."""
    for path, template, known in templates_of(arm):
        try:
            check_placeholders(template, known)
        except BadPlaceholder as problem:
            mine = getattr(own, str(path[0]), None) or ()
            its_own = path[1] in mine if path[0] == "env" else bool(mine)
            said = str(problem)
            if path[0] == "env":  # which may be a secret: nothing of it is repeated
                names = ", ".join(f"{{{name}}}" for name in known)
                said = f"a brace in it is no placeholder; known: {names}; a plain brace is written '{{{{'"
            raise complain((*(where if its_own else ("run",)), *path), f"{said}{suffix}") from None


def _check_shell(table: StepsToml, shell: bool, where: tuple[str | int, ...], complain: Complaints) -> None:
    for key in COMMANDS:
        command = getattr(table, key)
        if isinstance(command, str) and not shell:
            raise complain(
                (*where, key),
                f"wanted a list of texts, such as {_as_list(command)}; a single text is run by a shell: shell = true",
            )


def _as_list(command: str) -> str:
    try:
        return str(shlex.split(command)[:4])
    except ValueError:
        return "['./measure', '{opt}']"


MOST_ARMS = 100_000
"""Combinations beyond which a grid is taken for a mistake."""

_LONGEST_VALUE = 32


def grid_arms(grid: Mapping[str, Sequence[Scalar]]) -> Iterator[tuple[str, dict[str, Scalar]]]:
    """Names and parameters of all combinations; the last parameter changes fastest.

    >>> [name for name, _ in grid_arms({"opt": ["-O1", "-O2"], "unroll": ["", "-funroll-loops"]})]
    ['-O1/none', '-O1/-funroll-loops', '-O2/none', '-O2/-funroll-loops']
    """
    labels = [_labels(values) for values in grid.values()]
    for chosen in itertools.product(*(range(len(values)) for values in grid.values())):
        picked = [
            (key, values[i], label[i]) for (key, values), label, i in zip(grid.items(), labels, chosen, strict=True)
        ]
        yield slashed([label for _, _, label in picked]), {key: value for key, value, _ in picked}


def _labels(values: Sequence[Scalar]) -> list[str]:
    """A label for each value: itself, shortened if long, numbered if that made two equal."""
    texts = [as_text(value) for value in values]
    labels = [one_line(text, _LONGEST_VALUE) if text else "none" for text in texts]
    often = Counter(labels)
    return [label if often[label] == 1 else f"{label}#{i + 1}" for i, label in enumerate(labels)]
