"""A spec: one short TOML file, or a command line, that says what is compared, by which commands, and how surely.

In a command `{opt}` stands for a parameter of the arm, `{{` and `}}` for plain braces. An argument of placeholders that
becomes empty disappears, so that a parameter can say "no flag"; one that is written empty stays. In a text for a shell
the values are put in unquoted.
"""

from __future__ import annotations

import itertools
import json
import math
import os
import re
import secrets
import shlex
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack, cast

from frontguard._common.secrets import MASK, fingerprint, without_passwords
from frontguard.errors import BadArgument, BadInput
from frontguard.objectives import Objective
from frontguard.phrases import did_you_mean, nearest, one_line, slashed
from frontguard.question import Asked, Question

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


def escaped(text: str) -> str:
    """A text as a template in which only our own placeholders count: all other braces are plain.

    >>> escaped("awk '{print $1}' {workdir}/x")
    "awk '{{print $1}}' {workdir}/x"
    """
    kept = "|".join(RESERVED)
    return re.sub(rf"\{{(?:{kept})\}}|[{{}}]", lambda found: found[0] if len(found[0]) > 1 else found[0] * 2, text)


def as_text(value: str | int | float | bool) -> str:
    """A parameter as it stands in a command.

    >>> as_text("-O2"), as_text(3), as_text(0.1), as_text(True)
    ('-O2', '3', '0.1', 'true')
    """
    return str(value).lower() if isinstance(value, bool) else str(value)


Scalar = str | int | float | bool

COMMANDS = ("command", "prepare", "before", "after", "cleanup")
"""Keys of commands, in [run] and in [[arm]]."""


@dataclass(frozen=True)
class Arm:
    """A candidate: its name, its parameters, and its commands, placeholders and all."""

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
        """Return all that determines its measurements; of variables the names only, and no password of an address."""
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


SourceKind = Literal["json", "regex", "seconds", "cpu_seconds", "max_rss"]
Stream = Literal["stdout", "stderr"]

MEASURED: tuple[str, ...] = ("seconds", "cpu_seconds", "max_rss")
"""What is measured by us. An objective of that name needs no other source."""


@dataclass(frozen=True)
class MetricSource:
    """The source of one metric: `name` is that of the `objective`, which says which values it can use."""

    name: str
    kind: SourceKind = "json"
    key: str = ""
    pattern: str = ""
    stream: Stream = "stdout"
    objective: Objective | None = None

    def to_dict(self) -> dict[str, str]:
        """Return all that determines the values, for the identity of a study."""
        found: dict[str, str] = {"kind": self.kind}
        if self.kind == "json":
            found["key"] = self.key or self.name
        if self.kind == "regex":
            found |= {"pattern": self.pattern, "stream": self.stream}
        return found


def usual_kind(name: str) -> SourceKind:
    """The usual source of an objective of this name: measured by us, or a key of the JSON."""
    return cast(SourceKind, name) if name in MEASURED else "json"


@dataclass(frozen=True)
class Spec:
    """A comparison: what is compared, by which commands, and how surely.

    `storage` is an absolute path or a URL, or None. `cwd` is absolute; `written_cwd` as the file has it. `source_text`
    is the file without its secrets.
    """

    name: str
    arms: tuple[Arm, ...]
    question: Question
    sources: tuple[MetricSource, ...]  # of the objectives, and behind these of metrics that are limited only
    cwd: Path
    seed: int = 0
    max_time: float | None = None  # seconds on the clock
    workers: int = 1
    timeout: float = 600.0
    prepare_timeout: float = 600.0
    cleanup_timeout: float = 60.0
    lease: float = 960.0
    written_cwd: str = "."
    storage: str | None = field(default=None, repr=False)
    source_text: str = ""
    grid: tuple[str, ...] = ()  # the parameters that name the arms together, if they do
    baseline: str | None = None  # where it is asked as a gate: the arm that the others are compared with

    def arm_parts(self) -> dict[str, Any]:
        """The parameters of a grid and, for each arm, their values; nothing of arms that were listed by name."""
        if not self.grid:
            return {}
        rows = [[as_text(arm.parameters[key]) for key in self.grid] for arm in self.arms]
        return {"arm_columns": list(self.grid), "arm_parts": rows}

    def identity(self) -> dict[str, Any]:
        """Return, as JSON, what of its commands must not change when a study is taken up; of variables the names."""
        identity = {
            "arms": [arm.identity() for arm in self.arms],
            "cwd": self.written_cwd,
            "sources": [{"name": source.name, **source.to_dict()} for source in self.sources],
        }
        return cast(dict[str, Any], json.loads(json.dumps(identity)))

    def asking(self, question: Question) -> Spec:
        """This spec with another question, whose metrics come from where it says, or from where they usually do."""
        known = {source.name: source for source in self.sources}
        sources = (
            replace(known.get(each.name, MetricSource(each.name, usual_kind(each.name))), objective=each)
            for each in question.columns.metrics
        )
        return replace(self, question=question, sources=tuple(sources))

    def check_commands(self) -> None:
        """Refuse pairs whose pulls have nothing in common, items that no command measures, and costs of other arms."""
        question = self.question
        if question.cost is not None:
            question.cost.amounts([arm.name for arm in self.arms])
        used = {name for arm in self.arms for _, text, _ in templates_of(arm) for name in placeholders(text)}
        if question.items is None and "item" in used:
            raise BadInput("{item} is one of a list: say how many there are, with --items N or items = N in [study]")
        if question.items is not None and "item" not in used:
            raise BadInput("--items: no command has {item}, the number of the item that it is to measure, from 1")
        if question.paired and not used & {"rep", "seed", "item"}:
            raise BadInput(
                "--paired: no command has {rep}, the number of the repeat, or {seed}, both of which are the same for "
                "all arms: without, their pulls have nothing in common"
            )
        if question.independent and "rep" in used:
            raise BadInput(
                "--independent: a command has {rep}, which is the same for all arms, so that their pulls may depend on "
                "it; use {pull} or {seed}, or leave --independent away"
            )

    @property
    def cost_source(self) -> MetricSource | None:
        """The source of the cost of a pull, if a pull says so."""
        metric = None if self.question.cost is None else self.question.cost.metric
        if metric is None:
            return None
        known = {source.name: source for source in self.sources}
        return replace(known.get(metric, MetricSource(metric, usual_kind(metric))), objective=None)

    def about(self, begun: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return what a study keeps of this spec; refuse values of variables other than it had when it `begun`."""
        identity = self.identity()
        kept_identity = (begun or {}).get("identity")
        before = kept_identity if isinstance(kept_identity, dict) else {}
        values = {arm.name: arm.env for arm in self.arms if arm.env}
        if values:
            kept = before.get("env")
            salt = kept["salt"] if kept else secrets.token_hex(16)
            found = {"salt": salt, "fingerprint": fingerprint(values, salt)}
            if before.get("arms") == identity["arms"] and found != kept:
                names = ", ".join(sorted({name for env in values.values() for name in env}))
                raise BadInput(
                    f"study {self.name!r} was begun with other values of env ({names}), and what is measured may "
                    "differ: take the same values, or give it another name or another storage to begin anew"
                )
            identity["env"] = found
        return {"identity": identity, "spec": self.source_text}


def default_lease(arms: Sequence[Arm], timeout: float, prepare_timeout: float) -> float:
    """Time to wait for an arm to be prepared and to pull it, and some to spare: ended leases are given out again."""
    preparing = prepare_timeout if any(arm.prepare is not None for arm in arms) else 0.0
    commands = max((1 + arm.warmups) * (1 + (arm.before is not None) + (arm.after is not None)) for arm in arms)
    return 1.5 * (timeout * commands + preparing) + 60.0


def spec_from_arms(
    arms: Sequence[str], *, options: Sequence[str] = (), threat: str | None = None, **asked: Unpack[Asked]
) -> Spec:
    """A spec from texts NAME=COMMAND, split as a shell would, each given by one of `options`; or of wall time."""
    given = options or ("--arm",) * len(arms)
    found = tuple(_quick_arm(text, option) for text, option in zip(arms, given, strict=True))
    if len(found) < 2:
        raise BadInput(f"--arm: wanted two arms at least, each as NAME=COMMAND; got {len(found)}")
    names = [arm.name for arm in found]
    for each in names:
        if names.count(each) > 1:
            raise BadInput(f"{given[-1]}: wanted different names; got {each!r} more than once")
    wanted = [(name, "minimize") for name in asked.pop("minimize", None) or ()]
    wanted += [(name, "maximize") for name in asked.pop("maximize", None) or ()]
    metrics = wanted or [("seconds", "minimize")]
    question = Question.of(metrics, threat, usual=[name for name, _ in metrics], **asked)
    for metric in question.objectives:
        if metric.sigma is not None and not metric.inner_tolerance:
            raise BadArgument("tolerance", must=f"be given for {metric.name!r}, whose deviation is known, as a number")
    return Spec("arms", found, question, (), Path.cwd()).asking(question)


def _quick_arm(text: str, option: str) -> Arm:
    name, equals, command = text.partition("=")
    name = name.strip()
    if not equals or not name or not name.isprintable():
        raise BadInput(f"{option}: wanted NAME=COMMAND, such as fast='./prog -O2'; got {text!r}")
    try:
        words = shlex.split(command)
    except ValueError as problem:
        raise BadInput(f"{option}: the command of {name!r} cannot be split into words: {problem}") from None
    if not words or not words[0]:
        raise BadInput(f"{option}: wanted a command after {name}=; got nothing")
    return Arm(name, {}, tuple(escaped(word) for word in words), None, {})


_LARGEST = 10_000_000  # bytes of a spec


def read_spec(path: str | os.PathLike[str]) -> Spec:
    """Read a spec file."""
    from frontguard.commands.format import Complaints, SpecToml, masked_spec

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
    return _built(SpecToml.read(data, (), complain), complain, file.absolute(), masked_spec(text))


def _read_text(file: Path) -> str:
    try:
        if file.exists() and not file.is_file() and not file.is_dir():  # it would be waited for, or have no end
            raise BadInput(f"{file}: wanted a spec in TOML; got a pipe or a device")
        if file.stat().st_size > _LARGEST:
            raise BadInput(f"{file}: wanted a spec in TOML, up to {_LARGEST:,} bytes; got {file.stat().st_size:,}")
        # utf-8-sig: some editors begin a file with a mark that is no part of it.
        return file.read_bytes().decode("utf-8-sig").replace("\r\n", "\n")
    except FileNotFoundError:
        raise BadInput(f"{file}: no such file; wanted a spec in TOML") from None
    except IsADirectoryError:
        raise BadInput(f"{file}: this is a folder; wanted a spec in TOML") from None
    except UnicodeDecodeError as problem:
        line = problem.object[: problem.start].count(b"\n") + 1
        raise BadInput(f"{file}, line {line}: not UTF-8; wanted a spec in TOML, saved as UTF-8") from None
    except BadInput:
        raise
    except (OSError, ValueError) as problem:
        raise BadInput(f"{file}: cannot be read: {getattr(problem, 'strerror', None) or problem}") from None


def _built(table: SpecToml, complain: Complaints, file: Path, shown: str) -> Spec:
    run, study = table.run, table.study
    cwd = file.parent / run.cwd
    if not cwd.is_dir():
        raise complain(("run", "cwd"), f"wanted a folder that exists; got {run.cwd!r}")
    arms = arms_of(table, complain)
    question, sources = _question(table, complain)
    storage = study.storage or f"{file.stem}.db"
    budget = study.budget or table.budget
    spec = Spec(
        name=study.name or file.stem,
        arms=arms,
        question=question,
        sources=sources,
        cwd=cwd,
        seed=study.seed,
        max_time=None if budget is None else budget.max_time,
        workers=run.workers,
        timeout=run.timeout,
        prepare_timeout=run.prepare_timeout,
        cleanup_timeout=run.cleanup_timeout,
        lease=run.lease or default_lease(arms, run.timeout, run.prepare_timeout),
        written_cwd=run.cwd,
        storage=storage if "://" in storage else str(file.parent / storage),
        source_text=shown,
        grid=() if table.arms is None else tuple(table.arms.grid),
        baseline=study.baseline,
    )
    names = [arm.name for arm in arms]
    if spec.baseline is not None and spec.baseline not in names:
        near = did_you_mean(spec.baseline, names)
        raise complain(("study", "baseline"), f"wanted the name of an arm{near}; got {spec.baseline!r}")
    return spec.asking(question)


def _question(table: SpecToml, complain: Complaints) -> tuple[Question, tuple[MetricSource, ...]]:
    names = [each.name for each, _ in table.objective]
    for number, name in enumerate(names):
        if name in names[:number]:
            raise complain(("objective", number, "name"), f"wanted a different name for each; got {name!r} again")
    for number, (limit, source) in enumerate(table.limit):
        if source is not None and limit.metric in names:
            raise complain(
                ("limit", number), f"its source belongs to the objective {limit.metric!r}, and is written there"
            )
    if table.study.budget is not None and table.budget is not None:
        raise complain(("budget",), "wanted once; it is given in [study] as well")
    where: tuple[str, ...] = ("budget",) if table.study.budget is None else ("study", "budget")
    budget = table.study.budget or table.budget
    spent = {} if budget is None else budget.more
    asked = {**table.study.more, **spent, "limits": [each for each, _ in table.limit]}
    sources = [each for _, each in (*table.objective, *table.limit) if each is not None]
    try:
        return Question.of([each for each, _ in table.objective], **cast(Asked, asked)), tuple(sources)
    except BadInput as problem:
        inside = isinstance(problem, BadArgument) and problem.key in spent
        raise complain.about(where if inside else ("study",), problem) from None


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
        _check_names(own.more, where, complain)
        arm = _arm(table.run, own.name, own.more, complain, own)
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
        return getattr(run, key) if mine is None else mine

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
