"""A spec: one short TOML file that says what is compared, by which commands, and how surely.

`read_spec` reads a file, `spec_from_arms` makes a spec from the command line. Either gives a `Spec` in which everything
has been checked that can be before the first command runs; an error is one line: file, line, key, wanted, got.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shlex
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, cast

from frontguard._common.secrets import fingerprint
from frontguard.commands.candidates import (
    Arm,
    arms_of,
    as_text,
    escaped,
    placeholders,
    templates_of,
)
from frontguard.commands.metrics import MetricSource, usual_kind
from frontguard.errors import BadArgument, BadInput
from frontguard.phrases import did_you_mean
from frontguard.question import Asked, Question

if TYPE_CHECKING:  # pydantic comes with it, and is imported when a file is read
    from frontguard.commands.format import Complaints, MetricToml, SpecToml


_LARGEST = 10_000_000  # bytes of a spec


@dataclass(frozen=True)
class Spec:
    """What is compared, by which commands, and how surely.

    `storage` is an absolute path or a URL, None if nothing was said and there is no file to put it beside. `cwd` is
    where commands run, absolute; `written_cwd` as the file has it. `source_text` is the file, for reports, without
    its secrets.
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
        """What of its commands must not change when a study is taken up again, in a form that JSON can hold.

        Workers and timeouts may change, and so may the folder of the spec. What is asked, and the seed, are the
        study's.
        Of variables the names are here; `about` has what shows that a value changed.
        """
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
        """Where what a pull costs is read, if a pull says so."""
        metric = None if self.question.cost is None else self.question.cost.metric
        if metric is None:
            return None
        known = {source.name: source for source in self.sources}
        return replace(known.get(metric, MetricSource(metric, usual_kind(metric))), objective=None)

    def about(self, begun: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """What a study keeps of this spec; `begun` is what it kept when it began, if it did.

        Values of variables are not kept, but a fingerprint of all of them, with a salt that is the study's own. Raises
        `BadInput` if they are not those that the study began with.
        """
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


def read_spec(path: str | os.PathLike[str]) -> Spec:
    """Read a spec file."""
    from frontguard.commands.format import Complaints, checked_table, masked_spec

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
    return _built(checked_table(data, complain), complain, file.absolute(), masked_spec(text))


def spec_from_arms(
    arms: Sequence[str], *, options: Sequence[str] = (), threat: str | None = None, **asked: Unpack[Asked]
) -> Spec:
    """A spec from texts NAME=COMMAND; commands are split as a shell would, but run without one.

    `options` say by which option each was given, where that is not --arm; `asked` is what is asked of them: without
    metrics, that the wall time is minimised. Tolerances are 5% unless given.

    Braces are plain, but for {workdir}, {arm}, {seed}, {pull}, {rep} and {item}.

    >>> spec = spec_from_arms(["short=sleep 0.1", "long=sleep 0.2"])
    >>> [(arm.name, arm.command) for arm in spec.arms], spec.question.objectives[0].name
    ([('short', ('sleep', '0.1')), ('long', ('sleep', '0.2'))], 'seconds')
    """
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
    """What a spec asks, and where its metrics come from."""
    names = [each.objective.name for each in table.objective]
    for number, name in enumerate(names):
        if name in names[:number]:
            raise complain(("objective", number, "name"), f"wanted a different name for each; got {name!r} again")
    sources = [
        _source(each, names[number], ("objective", number), complain) for number, each in enumerate(table.objective)
    ]
    for number, each in enumerate(table.limit):
        said = [key for key in ("source", "key", "pattern", "stream") if getattr(each, key) is not None]
        if said and each.metric in names:
            path = ("limit", number, said[0])
            raise complain(path, f"belongs to the objective {each.metric!r}, where it is written")
        if said:
            sources.append(_source(each, each.metric, ("limit", number), complain))
    if table.study.budget is not None and table.budget is not None:
        raise complain(("budget",), "wanted once; it is given in [study] as well")
    where: tuple[str, ...] = ("budget",) if table.study.budget is None else ("study", "budget")
    budget = table.study.budget or table.budget
    spent = {} if budget is None else budget.said
    asked = {**table.study.said, **spent, "limits": [each.limit for each in table.limit]}
    try:
        return Question.of([each.objective for each in table.objective], **cast(Asked, asked)), tuple(sources)
    except BadInput as problem:
        inside = isinstance(problem, BadArgument) and problem.key in spent
        raise complain.about(where if inside else ("study",), problem) from None


def default_lease(arms: Sequence[Arm], timeout: float, prepare_timeout: float) -> float:
    """Time to wait for an arm to be prepared and to pull it, and some to spare: ended leases are given out again."""
    preparing = prepare_timeout if any(arm.prepare is not None for arm in arms) else 0.0
    commands = max((1 + arm.warmups) * (1 + (arm.before is not None) + (arm.after is not None)) for arm in arms)
    return 1.5 * (timeout * commands + preparing) + 60.0


def _source(
    table: MetricToml,
    name: str,
    where: tuple[str, int],
    complain: Complaints,
) -> MetricSource:
    """Where a metric comes from."""

    def wrong(key: str, message: str) -> BadInput:
        return complain((*where, key), message)

    kind = table.source or usual_kind(name)
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
    return MetricSource(
        name,
        kind,
        key=table.key or "",
        pattern=table.pattern or "",
        stream=table.stream or "stdout",
    )
