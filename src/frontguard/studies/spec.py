"""A spec: one short TOML file that says what is compared, by which commands, and how surely.

`read_spec` reads a file, `spec_from_arms` makes a spec from the command line. Either gives a `Spec` in which everything
has been checked that can be before the first command runs; an error is one line: file, line, key, wanted, got.
"""

from __future__ import annotations

import os
import re
import shlex
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from frontguard.errors import BadInput
from frontguard.objectives import Objective, parse_objectives
from frontguard.studies.metrics import MEASURED, Source, source_of
from frontguard.studies.spec_arms import Arm, arms_of
from frontguard.studies.templates import Command, escaped
from frontguard.threats import Threat, threat_named

__all__ = ["Arm", "Limits", "Spec", "read_spec", "spec_from_arms"]

if TYPE_CHECKING:  # pydantic comes with it, and is imported when a file is read
    from frontguard.studies.spec_format import BudgetTable, Complaints, ObjectiveTable, SpecTable

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
    sources: tuple[Source, ...]
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
    from frontguard.studies.spec_format import Complaints, checked_table

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


def spec_from_arms(
    arms: Sequence[str],
    *,
    minimize: Sequence[str] = (),
    maximize: Sequence[str] = (),
    tolerance: float | str = QUICK_TOLERANCE,
    threat: str = "prescient",
    contamination: float = 0.1,
    confidence: float = 0.95,
    seed: int = 0,
    workers: int = 1,
    timeout: float = 600.0,
    budget: Limits | None = None,
    name: str = "arms",
) -> Spec:
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
        [Objective(each, direction, tolerance) for direction, each in wanted or [("minimize", "seconds")]]  # type: ignore[arg-type]
    )
    for option, number in (("--workers", workers), ("--timeout", timeout)):
        if not number > 0:
            raise BadInput(f"{option}: wanted a positive number; got {number}")
    if not 0.0 < confidence < 1.0:
        raise BadInput(f"--confidence: wanted a probability between 0 and 1, such as 0.95; got {confidence}")
    return Spec(
        name=name,
        arms=found,
        objectives=objectives,
        sources=tuple(source_of(objective) for objective in objectives),
        threat=threat_named(threat, contamination),
        confidence=confidence,
        seed=seed,
        budget=budget or Limits(),
        workers=workers,
        timeout=timeout,
        prepare_timeout=timeout,
        lease=_default_lease(timeout, 0.0),
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


def _built(table: SpecTable, complain: Complaints, file: Path) -> Spec:
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


def _limits(table: BudgetTable | None, where: tuple[str, ...], complain: Complaints) -> Limits:
    if table is None:
        return Limits()
    if table.seconds is not None and table.time is not None:
        raise complain((*where, "time"), "wanted seconds or time, not both")
    return Limits(table.pulls, table.pulls_per_arm, table.seconds or table.time)


def _objective(table: ObjectiveTable, number: int, complain: Complaints) -> tuple[Objective, Source]:
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
    source = Source(
        table.name,
        kind,  # type: ignore[arg-type]
        key=table.key or "",
        pattern=table.pattern or "",
        stream=table.stream or "stdout",
        positive=objective.relative,
    )
    return objective, source
