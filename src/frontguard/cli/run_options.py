"""The options of `frontguard run`, and the spec that they and the file make together."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from frontguard.cli.values import by_metric, read_tolerance
from frontguard.errors import BadInput

if TYPE_CHECKING:  # what computes is imported when it is needed: `frontguard --help` stays fast
    from frontguard.commands.spec import Spec
    from frontguard.objectives import Objective

QUICK_STORAGE = "frontguard-run.db"
"""Where studies without a spec file are kept, in the current folder."""


@dataclass(frozen=True)
class RunOptions:
    """The options of the command line; None (or empty) where nothing was said."""

    storage: str | None = None
    arms: tuple[str, ...] = ()
    minimize: tuple[str, ...] = ()
    maximize: tuple[str, ...] = ()
    tolerance: tuple[str, ...] = ()
    threat: str | None = None
    contamination: float | None = None
    confidence: float | None = None
    pulls: int | None = None
    time: str | None = None
    workers: int | None = None
    timeout: str | None = None
    seed: int | None = None
    name: str | None = None


def spec_of(file: Path | None, options: RunOptions) -> Spec:
    """The spec of a file, or of --arm options, with the other options in their places."""
    from frontguard.commands.spec import default_lease, read_spec, spec_from_arms
    from frontguard.theory.threats import threat_named

    if file is not None and options.arms:
        raise BadInput(f"wanted a spec file or --arm, not both; got {file} and {len(options.arms)} arms")
    if file is None:
        if not options.arms:
            raise BadInput("wanted a spec file, or two or more --arm NAME=COMMAND; see frontguard run --help")
        spec = spec_from_arms(options.arms, minimize=options.minimize, maximize=options.maximize)
    else:
        for option, given in (("--minimize", options.minimize), ("--maximize", options.maximize)):
            if given:
                raise BadInput(f"{option} goes with --arm; the objectives of {file} are written in the file")
        spec = read_spec(file)
    changes: dict[str, Any] = {}
    if options.threat is not None or options.contamination is not None:
        eps = spec.threat.eps if options.contamination is None else options.contamination
        changes["threat"] = threat_named(options.threat or spec.threat.name, eps)
    if options.confidence is not None and not 0.0 < options.confidence < 1.0:
        raise BadInput(f"--confidence: wanted a probability between 0 and 1, such as 0.95; got {options.confidence}")
    plain = {"confidence": options.confidence, "workers": options.workers, "seed": options.seed}
    changes |= {name: value for name, value in plain.items() if value is not None}
    if options.pulls is not None or options.time is not None:
        changes["budget"] = replace(
            spec.budget,
            pulls=options.pulls or spec.budget.pulls,
            seconds=spec.budget.seconds if options.time is None else _seconds("--time", options.time),
        )
    if options.timeout is not None:
        timeout = _seconds("--timeout", options.timeout)
        changes |= {"timeout": timeout, "lease": max(spec.lease, default_lease(timeout, spec.prepare_timeout))}
    objectives = tuple(with_tolerances(spec.objectives, options.tolerance))
    sources = zip(spec.sources, objectives, strict=True)
    changes["sources"] = tuple(replace(source, positive=objective.relative) for source, objective in sources)
    spec = replace(spec, objectives=objectives, **changes)
    return replace(spec, name=options.name or (spec.name if file is not None else _quick_name(spec)))


def _seconds(option: str, text: str) -> float:
    from frontguard.commands.format import duration

    try:
        return duration(text)
    except ValueError:
        raise BadInput(f'{option}: wanted a number of seconds, or a text such as "30 min"; got {text!r}') from None


def with_tolerances(objectives: Sequence[Objective], texts: Sequence[str]) -> list[Objective]:
    """The objectives with other tolerances: one for all, or NAME=TOLERANCE for some.

    >>> from frontguard.objectives import Objective
    >>> both = [Objective("seconds", "minimize", "5%"), Objective("size", "minimize", 10.0)]
    >>> [each.tolerance for each in with_tolerances(both, ["size=20", "seconds=2 %"])]
    ['2%', 20.0]
    """
    given = by_metric("tolerance", texts, read_tolerance)
    if given is None:
        return list(objectives)
    if not isinstance(given, dict):
        return [replace(objective, tolerance=given) for objective in objectives]
    known = [objective.name for objective in objectives]
    for name in given:
        if name not in known:
            raise BadInput(f"--tolerance: no objective is called {name!r}; there is {', '.join(known)}")
    return [replace(objective, tolerance=given.get(objective.name, objective.tolerance)) for objective in objectives]


def _quick_name(spec: Spec) -> str:
    """A name for a study without a file: the same for the same arms, so that the same command goes on with it."""
    text = json.dumps([spec.identity(), spec.seed], sort_keys=True)
    return f"arms-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def storage_of(spec: Spec, options: RunOptions) -> str:
    """Where the study is kept: as the command line says, or the spec, or in the current folder."""
    return options.storage or spec.storage or QUICK_STORAGE
