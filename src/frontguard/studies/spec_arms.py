"""The arms of a spec: listed or made from a grid, with their commands, and the checks that need all of these."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from frontguard.errors import BadInput
from frontguard.studies.arms_grid import Scalar, grid_arms
from frontguard.studies.templates import (
    NAME,
    OF_A_PULL,
    OF_AN_ARM,
    RESERVED,
    BadPlaceholder,
    Command,
    as_text,
    check_placeholders,
    placeholders,
)

if TYPE_CHECKING:  # pydantic comes with it, and is imported when a file is read
    from frontguard.studies.spec_format import Complaints, SpecTable


@dataclass(frozen=True)
class Arm:
    """A candidate: its name, its parameters, and the commands that prepare and pull it, placeholders and all."""

    name: str
    parameters: dict[str, Scalar]
    command: Command
    prepare: Command | None
    env: dict[str, str]


def arms_of(table: SpecTable, complain: Complaints) -> tuple[Arm, ...]:
    """The arms of a spec, two at least, each with commands that can be filled in."""
    _check_shell(table.run.command, table.run.shell, ("run", "command"), complain)
    _check_shell(table.run.prepare, table.run.shell, ("run", "prepare"), complain)
    if table.arm is not None and table.arms is not None:
        raise complain(("arms",), "wanted [[arm]] or [arms.grid], not both")
    if table.arm is None and table.arms is None:
        raise complain((), "arms missing; wanted a list of [[arm]] or a table [arms.grid]")
    arms = _listed_arms(table, complain) if table.arm is not None else _grid_arms(table, complain)
    if len(arms) < 2:
        raise complain(
            ("arm",) if table.arm is not None else ("arms", "grid"), f"wanted two arms at least; got {len(arms)}"
        )
    return arms


def _listed_arms(table: SpecTable, complain: Complaints) -> tuple[Arm, ...]:
    arms: list[Arm] = []
    seen: set[str] = set()
    for number, each in enumerate(table.arm or ()):
        where = ("arm", number)
        if each.name in seen:
            raise complain((*where, "name"), f"wanted a different name for each; got {each.name!r} again")
        seen.add(each.name)
        for key, command in (("command", each.command), ("prepare", each.prepare)):
            _check_shell(command, table.run.shell, (*where, key), complain)
        parameters = dict(each.model_extra or {})
        _check_names(parameters, where, complain)
        arm = _arm(table, each.name, parameters, complain, each.command, each.prepare, each.env)
        _check_arm(arm, number, each.command is not None, each.prepare is not None, set(each.env), complain)
        arms.append(arm)
    return tuple(arms)


def _grid_arms(table: SpecTable, complain: Complaints) -> tuple[Arm, ...]:
    assert table.arms is not None
    grid = table.arms.grid
    where = ("arms", "grid")
    _check_names(grid, where, complain)
    for key, values in grid.items():
        seen: set[str] = set()
        for number, text in enumerate(map(as_text, values)):
            if text in seen:
                raise complain((*where, key, number), f"wanted different values; got {text!r} again")
            seen.add(text)
    try:
        arms = tuple(_arm(table, name, parameters, complain) for name, parameters in grid_arms(grid))
    except BadInput as problem:
        raise complain(where, str(problem)) if table.run.command is not None else problem from None
    _check_arm(arms[0], None, False, False, set(), complain)
    used = {name for text in _templates(arms[0]) for name in placeholders(text)}
    for key, values in grid.items():
        if len(values) > 1 and key not in used:
            raise complain(
                (*where, key), f"wanted {{{key}}} in command, prepare or env: without it these arms are all the same"
            )
    return arms


def _check_names(parameters: Any, where: tuple[str | int, ...], complain: Complaints) -> None:
    for key in parameters:
        if key in RESERVED:
            raise complain((*where, key), f"wanted another name: {{{key}}} is filled in by frontguard")
        if not NAME.fullmatch(key):
            raise complain((*where, key), "wanted a parameter's name of letters, digits, _ and -, a letter first")


def _arm(
    table: SpecTable,
    name: str,
    parameters: dict[str, Scalar],
    complain: Complaints,
    command: list[str] | str | None = None,
    prepare: list[str] | str | None = None,
    env: dict[str, str] | None = None,
) -> Arm:
    pulled = command if command is not None else table.run.command
    if pulled is None:
        raise complain(("run", "command"), "missing; wanted a list of texts such as ['./measure', '{opt}']")
    prepared = prepare if prepare is not None else table.run.prepare
    return Arm(
        name,
        parameters,
        tuple(pulled) if isinstance(pulled, list) else pulled,
        tuple(prepared) if isinstance(prepared, list) else prepared,
        {**table.run.env, **(env or {})},
    )


def _templates(arm: Arm) -> list[str]:
    found = list(arm.env.values())
    for command in (arm.command, arm.prepare):
        found += [command] if isinstance(command, str) else list(command or ())
    return found


def _check_arm(
    arm: Arm, number: int | None, own_command: bool, own_prepare: bool, own_env: set[str], complain: Complaints
) -> None:
    """Refuse placeholders that cannot be filled in for this arm, naming the place where they are written."""
    in_run, in_arm = ("run",), ("arm", number or 0)
    suffix = f" (arm {arm.name!r})" if number is not None else ""
    of_arm = [*arm.parameters, *OF_AN_ARM]
    places: list[tuple[tuple[str | int, ...], Command | None, list[str]]] = [
        ((*(in_arm if own_command else in_run), "command"), arm.command, [*of_arm, *OF_A_PULL]),
        ((*(in_arm if own_prepare else in_run), "prepare"), arm.prepare, of_arm),
    ]
    # The environment is that of prepare, too, where a pull has no number yet.
    in_env = of_arm if arm.prepare is not None else [*of_arm, *OF_A_PULL]
    places += [
        ((*(in_arm if name in own_env else in_run), "env", name), template, in_env)
        for name, template in arm.env.items()
    ]
    for path, command, known in places:
        texts = [command] if isinstance(command, str) else list(command or ())
        for position, template in enumerate(texts):
            try:
                check_placeholders(template, known, known)
            except BadPlaceholder as problem:
                at = path if isinstance(command, str) else (*path, position)
                raise complain(at, f"{problem}{suffix}") from None


def _check_shell(
    command: list[str] | str | None, shell: bool, path: tuple[str | int, ...], complain: Complaints
) -> None:
    if isinstance(command, str) and not shell:
        raise complain(
            path, f"wanted a list of texts, such as {_as_list(command)}; a single text is run by a shell: shell = true"
        )


def _as_list(command: str) -> str:
    try:
        return str(shlex.split(command)[:4])
    except ValueError:
        return "['./measure', '{opt}']"
