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
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from frontguard._common.secrets import fingerprint
from frontguard.commands.candidates import Arm, arms_of, templates_of
from frontguard.commands.masked import masked_spec
from frontguard.commands.metrics import MEASURED, MetricSource, usual_kind
from frontguard.commands.templates import (
    as_text,
    escaped,
    placeholders,
)
from frontguard.errors import BadInput
from frontguard.limits import Limit, columns_for
from frontguard.objectives import Objective, parse_objectives
from frontguard.phrases import did_you_mean
from frontguard.studies.costs import checked_max_cost, read_cost
from frontguard.theory.threats import Threat, threat_named

if TYPE_CHECKING:  # pydantic comes with it, and is imported when a file is read
    from frontguard.commands.format import Complaints, LimitToml, MetricToml, ObjectiveToml, SpecToml

QUICK_TOLERANCE = "5%"
"""Tolerance of an objective that was named on the command line only."""


@dataclass(frozen=True)
class Limits:
    """When to stop without a certificate: pulls altogether, pulls of each arm, seconds on the clock, their cost."""

    max_pulls: int | None = None
    max_pulls_per_arm: int | None = None
    max_time: float | None = None
    max_cost: float | str | None = None  # in the unit of the cost


@dataclass(frozen=True)
class Spec:
    """What is compared, by which commands, and how surely.

    `storage` is an absolute path or a URL, None if nothing was said and there is no file to put it beside. `cwd` is
    where commands run, absolute; `written_cwd` as the file has it. `source_text` is the file, for reports, without
    its secrets.
    """

    name: str
    arms: tuple[Arm, ...]
    objectives: tuple[Objective, ...]
    sources: tuple[MetricSource, ...]  # of the objectives, and behind these of metrics that are limited only
    threat: Threat
    cwd: Path
    confidence: float = 0.95
    goal: str = "list"
    seed: int = 0
    budget: Limits = Limits()
    workers: int = 1
    timeout: float = 600.0
    prepare_timeout: float = 600.0
    cleanup_timeout: float = 60.0
    lease: float = 960.0
    written_cwd: str = "."
    storage: str | None = field(default=None, repr=False)
    source_text: str = ""
    grid: tuple[str, ...] = ()  # the parameters that name the arms together, if they do
    limits: tuple[Limit, ...] = ()
    baseline: str | None = None  # of a gate: the arm that the others are compared with
    paired: bool = False
    items: int | None = None
    polish: bool = False
    cost: float | str | dict[str, float | str] | None = None  # of a pull: a metric, an amount, or amounts by arm
    independent: bool = False

    def arm_parts(self) -> dict[str, Any]:
        """The parameters of a grid and, for each arm, their values; nothing of arms that were listed by name."""
        if not self.grid:
            return {}
        rows = [[as_text(arm.parameters[key]) for key in self.grid] for arm in self.arms]
        return {"arm_columns": list(self.grid), "arm_parts": rows}

    def identity(self) -> dict[str, Any]:
        """All that must not change when a study is taken up again, in a form that JSON can hold.

        Goal, tolerances, budget, workers and timeouts may change, and so may the folder of the spec. The seed is the
        study's.
        Of variables the names are here; `about` has what shows that a value changed.
        """
        identity = {
            "arms": [arm.identity() for arm in self.arms],
            "cwd": self.written_cwd,
            "objectives": [
                {
                    "name": objective.name,
                    "direction": objective.direction,
                    "quantile": objective.level,
                    **_counted(objective),
                    "source": source.to_dict(),
                }
                for objective, source in zip(self.objectives, self.sources, strict=False)
            ],
            "threat": self.threat.name,
            "contamination": self.threat.eps,
            "confidence": self.confidence,
        }
        limited = self.sources[len(self.objectives) :]
        if limited:
            identity["limited"] = [{"name": source.name, "source": source.to_dict()} for source in limited]
        return cast(dict[str, Any], json.loads(json.dumps(identity)))

    def check_pairs(self) -> None:
        """Refuse pairs whose pulls have nothing in common, and items that no command measures, or nobody counted."""
        used = {name for arm in self.arms for _, text, _ in templates_of(arm) for name in placeholders(text)}
        if self.items is None and "item" in used:
            raise BadInput("{item} is one of a list: say how many there are, with --items N or items = N in [study]")
        if self.items is not None and "item" not in used:
            raise BadInput("--items: no command has {item}, the number of the item that it is to measure, from 1")
        if self.paired and not used & {"rep", "seed", "item"}:
            raise BadInput(
                "--paired: no command has {rep}, the number of the repeat, or {seed}, both of which are the same for "
                "all arms: without, their pulls have nothing in common"
            )
        if self.independent and "rep" in used:
            raise BadInput(
                "--independent: a command has {rep}, which is the same for all arms, so that their pulls may depend on "
                "it; use {pull} or {seed}, or leave --independent away"
            )

    def with_cost(self, cost: float | str | None) -> Spec:
        """This spec with another cost of its pulls, if one is given; all that is said of costs is checked."""
        spec = self if cost is None else replace(self, cost=cost)
        found = read_cost(spec.cost, [arm.name for arm in spec.arms])
        if found is None and spec.budget.max_cost is not None:
            raise BadInput("--max-cost: say what pulls cost, with --cost or cost in [study]; got no cost")
        checked_max_cost(spec.budget.max_cost, found, "--max-cost")
        return spec

    @property
    def cost_source(self) -> MetricSource | None:
        """Where what a pull costs is read, if a pull says so."""
        found = read_cost(self.cost, [arm.name for arm in self.arms])
        if found is None or found.metric is None:
            return None
        known = {source.name: source for source in self.sources}
        return replace(known.get(found.metric, MetricSource(found.metric, usual_kind(found.metric))), objective=None)

    def with_limits(self, limits: Iterable[Limit]) -> Spec:
        """This spec with further limits; one that differs from an earlier one by its number alone stands in its place.

        What is measured for them comes from where metrics of that name usually do, unless the spec says otherwise.
        """
        kept = {_alike(limit): limit for limit in (*self.limits, *limits)}
        known = {source.name: source for source in self.sources}
        metrics = columns_for(self.objectives, tuple(kept.values())).metrics
        sources = (
            replace(known.get(each.name, MetricSource(each.name, usual_kind(each.name))), objective=each)
            for each in metrics
        )
        return replace(self, limits=tuple(kept.values()), sources=tuple(sources))

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


def _alike(limit: Limit) -> Limit:
    """A limit but for how far it is set."""
    at_most, at_least = (None if end is None else 0.0 for end in (limit.at_most, limit.at_least))
    return replace(limit, at_most=at_most, at_least=at_least, tolerance=0.0)


def _counted(objective: Objective) -> dict[str, Any]:
    """What counts of an objective beside a quantile, where something does: studies of medians have no such keys."""
    told = {"bounds": objective.bounds, "sigma": objective.sigma, "exact": objective.exact or None}
    return {key: value for key, value in told.items() if value is not None}


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


def spec_from_arms(
    arms: Sequence[str],
    *,
    minimize: Sequence[str] = (),
    maximize: Sequence[str] = (),
    options: Sequence[str] = (),
) -> Spec:
    """A spec from texts NAME=COMMAND; commands are split as a shell would, but run without one.

    `options` say by which option each was given, where that is not --arm.

    Braces are plain, but for {workdir}, {arm}, {seed}, {pull}, {rep} and {item}. Without objectives the wall
    time is minimised.

    >>> spec = spec_from_arms(["short=sleep 0.1", "long=sleep 0.2"])
    >>> [(arm.name, arm.command) for arm in spec.arms], spec.objectives[0].name
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
        sources=tuple(MetricSource(each.name, usual_kind(each.name), objective=each) for each in objectives),
        threat=threat_named("prescient", 0.1),
        cwd=Path.cwd(),
    )


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
    from frontguard.commands.format import BudgetToml

    objectives = tuple(_objective(each, number, complain) for number, each in enumerate(table.objective))
    names = [objective.name for objective, _ in objectives]
    for number, name in enumerate(names):
        if name in names[:number]:
            raise complain(("objective", number, "name"), f"wanted a different name for each; got {name!r} again")
    run, study = table.run, table.study
    if study.budget is not None and table.budget is not None:
        raise complain(("budget",), "wanted once; it is given in [study] as well")
    budget = study.budget or table.budget or BudgetToml()
    cwd = file.parent / run.cwd
    if not cwd.is_dir():
        raise complain(("run", "cwd"), f"wanted a folder that exists; got {run.cwd!r}")
    arms = arms_of(table, complain)
    limits = tuple(_limit(each, number, complain, names) for number, each in enumerate(table.limit))
    storage = study.storage or f"{file.stem}.db"
    spec = Spec(
        name=study.name or file.stem,
        arms=arms,
        objectives=tuple(objective for objective, _ in objectives),
        sources=tuple(source for _, source in (*objectives, *limits) if source is not None),
        threat=threat_named(study.threat, study.contamination),
        cwd=cwd,
        confidence=study.confidence,
        goal=study.goal,
        seed=study.seed,
        paired=study.paired or study.items is not None,
        items=study.items,
        budget=Limits(budget.max_pulls, budget.max_pulls_per_arm, budget.max_time, budget.max_cost),
        cost=study.cost,
        polish=study.polish,
        independent=study.independent,
        workers=run.workers,
        timeout=run.timeout,
        prepare_timeout=run.prepare_timeout,
        cleanup_timeout=run.cleanup_timeout,
        lease=run.lease or default_lease(arms, run.timeout, run.prepare_timeout),
        written_cwd=run.cwd,
        storage=storage if "://" in storage else str(file.parent / storage),
        source_text=masked_spec(complain.text),
        grid=() if table.arms is None else tuple(table.arms.grid),
        baseline=study.baseline,
    )
    names = [arm.name for arm in arms]
    if study.baseline is not None and study.baseline not in names:
        near = did_you_mean(study.baseline, names)
        raise complain(("study", "baseline"), f"wanted the name of an arm{near}; got {study.baseline!r}")
    return spec.with_limits(limit for limit, _ in limits)


def default_lease(arms: Sequence[Arm], timeout: float, prepare_timeout: float) -> float:
    """Time to wait for an arm to be prepared and to pull it, and some to spare: ended leases are given out again."""
    preparing = prepare_timeout if any(arm.prepare is not None for arm in arms) else 0.0
    commands = max((1 + arm.warmups) * (1 + (arm.before is not None) + (arm.after is not None)) for arm in arms)
    return 1.5 * (timeout * commands + preparing) + 60.0


def _objective(table: ObjectiveToml, number: int, complain: Complaints) -> tuple[Objective, MetricSource]:
    def wrong(key: str, message: str) -> BadInput:
        return complain(("objective", number, key), message)

    kind = table.source or usual_kind(table.name)
    direction = table.direction or ("minimize" if kind in MEASURED else None)
    if direction is None:
        raise wrong("direction", "missing; wanted 'minimize' or 'maximize'")
    if table.statistic == "mean" and table.bounds is None and table.sigma is None:
        wanted = "[0, 1] for rates, [1, 5] for stars; or sigma, the known deviation of the values"
        raise wrong("bounds", f"missing; statistic = 'mean' wants to know how far values can lie: bounds = {wanted}")
    tolerance = 0.0 if table.tolerance is None and table.exact else table.tolerance  # exact ones need none
    if tolerance is None:
        from frontguard.commands.format import WANTED_TOLERANCE

        raise wrong("tolerance", f"missing; wanted {WANTED_TOLERANCE}")
    bounds = None if table.bounds is None else (table.bounds[0], table.bounds[1])
    try:
        objective = Objective(
            table.name, direction, tolerance, table.quantile, table.statistic, bounds, table.sigma, table.exact
        )
    except BadInput as problem:  # what keys say together
        given = [key for key in ("exact", "sigma", "bounds", "statistic", "quantile") if getattr(table, key)]
        raise wrong(given[0], str(problem)) from None
    return objective, _source(table, table.name, wrong, objective)


def _source(
    table: MetricToml,
    name: str,
    wrong: Callable[[str, str], BadInput],
    objective: Objective | None = None,
) -> MetricSource:
    """Where a metric comes from, and which of its values can be used."""
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
        objective=objective,
    )


def _limit(
    table: LimitToml, number: int, complain: Complaints, objectives: Sequence[str]
) -> tuple[Limit, MetricSource | None]:
    """A limit, and where its metric comes from if it says so."""

    def wrong(key: str, message: str) -> BadInput:
        return complain(("limit", number, key), message)

    said = [key for key in ("source", "key", "pattern", "stream") if getattr(table, key) is not None]
    if said and table.metric in objectives:
        raise wrong(said[0], f"belongs to the objective {table.metric!r}, where it is written")
    bounds = None if table.bounds is None else (table.bounds[0], table.bounds[1])
    try:
        limit = Limit(
            table.metric, table.at_most, table.at_least, table.quantile, table.statistic, bounds, table.tolerance
        )
    except BadInput as problem:
        raise complain(("limit", number), str(problem)) from None
    return limit, _source(table, table.metric, wrong) if said else None
