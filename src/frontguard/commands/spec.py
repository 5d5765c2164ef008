"""A spec: one short TOML file that says what is compared, by which commands, and how surely.

`read_spec` reads a file, `spec_from_arms` makes a spec from the command line. Either gives a `Spec` in which everything
has been checked that can be before the first command runs; an error is one line: file, line, key, wanted, got.
"""

from __future__ import annotations

import itertools
import math
import os
import re
import shlex
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from frontguard.commands.metrics import MEASURED, MetricSource, source_of
from frontguard.commands.templates import (
    NAME,
    OF_A_PULL,
    OF_AN_ARM,
    RESERVED,
    BadPlaceholder,
    Command,
    as_text,
    check_placeholders,
    escaped,
    placeholders,
)
from frontguard.errors import BadInput
from frontguard.objectives import Objective, parse_objectives
from frontguard.phrases import one_line
from frontguard.theory.threats import Threat, threat_named

if TYPE_CHECKING:  # pydantic comes with it, and is imported when a file is read
    from frontguard.commands.format import BudgetToml, Complaints, ObjectiveToml, SpecToml

QUICK_TOLERANCE = "5%"
"""Tolerance of an objective that was named on the command line only."""


@dataclass(frozen=True)
class Limits:
    """When to stop without a certificate: pulls altogether, pulls of each arm, seconds on the clock."""

    pulls: int | None = None
    pulls_per_arm: int | None = None
    seconds: float | None = None


@dataclass(frozen=True)
class Spec:
    """What is compared, by which commands, and how surely.

    `storage` is an absolute path or a URL, None if nothing was said and there is no file to put it beside. `cwd` is
    where commands run, absolute; `written_cwd` as the file has it. `file` is for messages, `source_text` for reports.
    """

    name: str
    arms: tuple[Arm, ...]
    objectives: tuple[Objective, ...]
    sources: tuple[MetricSource, ...]
    threat: Threat
    confidence: float
    seed: int
    budget: Limits
    workers: int
    timeout: float
    prepare_timeout: float
    lease: float
    cwd: Path
    written_cwd: str
    storage: str | None
    file: str
    source_text: str

    def identity(self) -> dict[str, Any]:
        """All that must not change when a study is taken up again, in a form that JSON can hold.

        Tolerances, budget, workers and timeouts may change, and so may the folder of the spec. The seed is the study's.
        """
        return {
            "arms": [
                {
                    "name": arm.name,
                    "parameters": dict(arm.parameters),
                    "prepare": _jsonable(arm.prepare),
                    "command": _jsonable(arm.command),
                    "env": dict(arm.env),
                }
                for arm in self.arms
            ],
            "cwd": self.written_cwd,
            "objectives": [
                {
                    "name": objective.name,
                    "direction": objective.direction,
                    "quantile": objective.quantile,
                    "source": source.to_dict(),
                }
                for objective, source in zip(self.objectives, self.sources, strict=True)
            ],
            "threat": self.threat.name,
            "contamination": self.threat.eps,
            "confidence": self.confidence,
        }


def _jsonable(command: Command | None) -> list[str] | str | None:
    return list(command) if isinstance(command, tuple) else command


def read_spec(path: str | os.PathLike[str]) -> Spec:
    """Read a spec file."""
    from frontguard.commands.format import Complaints, checked_table

    file = Path(path)
    text = _read_text(file)
    complain = Complaints(str(path), text)
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        raise complain.syntax(problem) from None
    except ValueError as problem:  # a whole number of thousands of digits
        raise BadInput(f"{path}: not a spec: {problem}") from None
    except RecursionError:
        raise BadInput(f"{path}: not a spec: lists or tables nested too deeply") from None
    return _built(checked_table(data, complain), complain, file.absolute())


def spec_from_arms(arms: Sequence[str], *, minimize: Sequence[str] = (), maximize: Sequence[str] = ()) -> Spec:
    """A spec from texts NAME=COMMAND; commands are split as a shell would, but run without one.

    Braces are plain, but for {workdir}, {arm}, {seed} and {pull}. Without objectives the wall time is minimised.

    >>> spec = spec_from_arms(["short=sleep 0.1", "long=sleep 0.2"])
    >>> [(arm.name, arm.command) for arm in spec.arms], spec.objectives[0].name
    ([('short', ('sleep', '0.1')), ('long', ('sleep', '0.2'))], 'seconds')
    """
    found = tuple(_quick_arm(text) for text in arms)
    if len(found) < 2:
        raise BadInput(f"--arm: wanted two arms at least, each as NAME=COMMAND; got {len(found)}")
    names = [arm.name for arm in found]
    for each in names:
        if names.count(each) > 1:
            raise BadInput(f"--arm: wanted different names; got {each!r} more than once")
    for each in minimize:
        if each in maximize:
            raise BadInput(f"--minimize and --maximize: wanted different objectives; got {each!r} in both")
    wanted = [("minimize", each) for each in minimize] + [("maximize", each) for each in maximize]
    objectives = parse_objectives(
        [Objective(each, direction, QUICK_TOLERANCE) for direction, each in wanted or [("minimize", "seconds")]]  # type: ignore[arg-type]
    )
    return Spec(
        name="arms",
        arms=found,
        objectives=objectives,
        sources=tuple(source_of(objective) for objective in objectives),
        threat=threat_named("prescient", 0.1),
        confidence=0.95,
        seed=0,
        budget=Limits(),
        workers=1,
        timeout=600.0,
        prepare_timeout=600.0,
        lease=_default_lease(600.0, 0.0),
        cwd=Path.cwd(),
        written_cwd=".",
        storage=None,
        file="--arm",
        source_text="",
    )


def _quick_arm(text: str) -> Arm:
    name, equals, command = text.partition("=")
    name = name.strip()
    if not equals or not name or not name.isprintable():
        raise BadInput(f"--arm: wanted NAME=COMMAND, such as fast='./prog -O2'; got {text!r}")
    try:
        words = shlex.split(command)
    except ValueError as problem:
        raise BadInput(f"--arm: the command of {name!r} cannot be split into words: {problem}") from None
    if not words or not words[0]:
        raise BadInput(f"--arm: wanted a command after {name}=; got nothing")
    return Arm(name, {}, tuple(escaped(word) for word in words), None, {})


def _read_text(file: Path) -> str:
    try:
        # utf-8-sig: some editors begin a file with a mark that is no part of it.
        return file.read_bytes().decode("utf-8-sig").replace("\r\n", "\n")
    except FileNotFoundError:
        raise BadInput(f"{file}: no such file; wanted a spec in TOML") from None
    except IsADirectoryError:
        raise BadInput(f"{file}: this is a folder; wanted a spec in TOML") from None
    except UnicodeDecodeError as problem:
        line = problem.object[: problem.start].count(b"\n") + 1
        raise BadInput(f"{file}, line {line}: not UTF-8; wanted a spec in TOML, saved as UTF-8") from None
    except (OSError, ValueError) as problem:
        raise BadInput(f"{file}: cannot be read: {getattr(problem, 'strerror', None) or problem}") from None


def _built(table: SpecToml, complain: Complaints, file: Path) -> Spec:
    objectives = tuple(_objective(each, number, complain) for number, each in enumerate(table.objective))
    names = [objective.name for objective, _ in objectives]
    for number, name in enumerate(names):
        if name in names[:number]:
            raise complain(("objective", number, "name"), f"wanted a different name for each; got {name!r} again")
    run, study = table.run, table.study
    if study.budget is not None and table.budget is not None:
        raise complain(("budget",), "wanted once; it is given in [study] as well")
    in_study = study.budget is not None
    where: tuple[str, ...] = ("study", "budget") if in_study else ("budget",)
    folder = file.parent
    cwd = folder / run.cwd
    if not cwd.is_dir():
        raise complain(("run", "cwd"), f"wanted a folder that exists; got {run.cwd!r}")
    arms = arms_of(table, complain)
    preparing = run.prepare_timeout if any(arm.prepare is not None for arm in arms) else 0.0
    return Spec(
        name=study.name or file.stem,
        arms=arms,
        objectives=tuple(objective for objective, _ in objectives),
        sources=tuple(source for _, source in objectives),
        threat=threat_named(study.threat, study.contamination),
        confidence=study.confidence,
        seed=study.seed,
        budget=_limits(study.budget if in_study else table.budget, where, complain),
        workers=run.workers,
        timeout=run.timeout,
        prepare_timeout=run.prepare_timeout,
        lease=run.lease or _default_lease(run.timeout, preparing),
        cwd=cwd,
        written_cwd=run.cwd,
        storage=_storage(study.storage, folder, file.stem),
        file=complain.file,
        source_text=complain.text,
    )


def _default_lease(timeout: float, prepare_timeout: float) -> float:
    """Time to wait for an arm to be prepared and to pull it, and some to spare: ended leases are given out again."""
    return 1.5 * (timeout + prepare_timeout) + 60.0


def _storage(written: str | None, folder: Path, stem: str) -> str:
    if written is not None and "://" in written:
        return written
    return str(folder / (written or f"{stem}.db"))


def _limits(table: BudgetToml | None, where: tuple[str, ...], complain: Complaints) -> Limits:
    if table is None:
        return Limits()
    if table.seconds is not None and table.time is not None:
        raise complain((*where, "time"), "wanted seconds or time, not both")
    return Limits(table.pulls, table.pulls_per_arm, table.seconds or table.time)


def _objective(table: ObjectiveToml, number: int, complain: Complaints) -> tuple[Objective, MetricSource]:
    def wrong(key: str, message: str) -> BadInput:
        return complain(("objective", number, key), message)

    kind = table.source or (table.name if table.name in MEASURED else "json")
    direction = table.direction or ("minimize" if kind in MEASURED else None)
    if direction is None:
        raise wrong("direction", "missing; wanted 'minimize' or 'maximize'")
    for key, only in (("key", "json"), ("pattern", "regex"), ("stream", "regex")):
        if getattr(table, key) is not None and kind != only:
            raise wrong(key, f"belongs to source = {only!r}; the source is {kind!r}")
    if kind == "regex":
        if table.pattern is None:
            raise wrong("pattern", "missing; source = 'regex' wants a regular expression with one group")
        try:
            groups = re.compile(table.pattern).groups
        except (re.error, OverflowError, RecursionError) as problem:
            raise wrong("pattern", f"not a regular expression: {problem}; got {table.pattern!r}") from None
        if groups != 1:
            raise wrong("pattern", f"wanted one group in round brackets, the value; got {groups} in {table.pattern!r}")
    objective = Objective(table.name, direction, table.tolerance, table.quantile)
    source = MetricSource(
        table.name,
        kind,  # type: ignore[arg-type]
        key=table.key or "",
        pattern=table.pattern or "",
        stream=table.stream or "stdout",
        positive=objective.relative,
    )
    return objective, source


@dataclass(frozen=True)
class Arm:
    """A candidate: its name, its parameters, and the commands that prepare and pull it, placeholders and all."""

    name: str
    parameters: dict[str, Scalar]
    command: Command
    prepare: Command | None
    env: dict[str, str]


def arms_of(table: SpecToml, complain: Complaints) -> tuple[Arm, ...]:
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


def _listed_arms(table: SpecToml, complain: Complaints) -> tuple[Arm, ...]:
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


def _grid_arms(table: SpecToml, complain: Complaints) -> tuple[Arm, ...]:
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
    table: SpecToml,
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


Scalar = str | int | float | bool

MOST_ARMS = 100_000
"""Combinations beyond which a grid is taken for a mistake."""

_LONGEST_VALUE = 32


def grid_arms(grid: Mapping[str, Sequence[Scalar]]) -> Iterator[tuple[str, dict[str, Scalar]]]:
    """Names and parameters of all combinations; the last parameter changes fastest.

    >>> [name for name, _ in grid_arms({"opt": ["-O1", "-O2"], "unroll": ["", "-funroll-loops"]})]
    ['opt=-O1 unroll=none', 'opt=-O1 unroll=-funroll-loops', 'opt=-O2 unroll=none', 'opt=-O2 unroll=-funroll-loops']
    """
    size = math.prod(len(values) for values in grid.values())
    if size > MOST_ARMS:
        raise BadInput(f"the grid has {size} combinations; wanted at most {MOST_ARMS}")
    labels = [_labels(values) for values in grid.values()]
    for chosen in itertools.product(*(range(len(values)) for values in grid.values())):
        picked = [
            (key, values[i], label[i]) for (key, values), label, i in zip(grid.items(), labels, chosen, strict=True)
        ]
        name = " ".join(f"{key}={label}" for key, _, label in picked)
        yield name, {key: value for key, value, _ in picked}


def _labels(values: Sequence[Scalar]) -> list[str]:
    """A label for each value: itself, shortened if long, numbered if that made two equal."""
    labels = [_label(as_text(value)) for value in values]
    often = Counter(labels)
    return [label if often[label] == 1 else f"{label}#{i + 1}" for i, label in enumerate(labels)]


def _label(text: str) -> str:
    return one_line(text, _LONGEST_VALUE) if text else "none"
