"""The options of `frontguard run`, and the spec that they and the file make together."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from frontguard.cli.values import by_metric, read_tolerance
from frontguard.errors import BadInput

if TYPE_CHECKING:  # what computes is imported when it is needed: `frontguard --help` stays fast
    from frontguard.commands.spec import Spec
    from frontguard.objectives import Objective

QUICK_STORAGE = "frontguard-run.db"
"""Where studies without a spec file are kept, in the current folder."""


def spec_of(file: Path | None, arms: Sequence[str], minimize: Sequence[str], maximize: Sequence[str]) -> Spec:
    """The spec of a file, or of --arm options."""
    from frontguard.commands.spec import read_spec, spec_from_arms

    if file is not None and arms:
        raise BadInput(f"wanted a spec file or --arm, not both; got {file} and {len(arms)} arms")
    if file is None:
        if not arms:
            raise BadInput("wanted a spec file, or two or more --arm NAME=COMMAND; see frontguard run --help")
        return spec_from_arms(arms, minimize=minimize, maximize=maximize)
    for option, given in (("--minimize", minimize), ("--maximize", maximize)):
        if given:
            raise BadInput(f"{option} goes with --arm; the objectives of {file} are written in the file")
    return read_spec(file)


def with_options(
    spec: Spec,
    *,
    tolerance: Sequence[str] = (),
    threat: str | None = None,
    contamination: float | None = None,
    confidence: float | None = None,
    pulls: int | None = None,
    time: str | None = None,
    workers: int | None = None,
    timeout: str | None = None,
    seed: int | None = None,
    name: str | None = None,
) -> Spec:
    """The spec with what else the command line says; nothing changes where it says nothing."""
    from frontguard.commands.spec import default_lease
    from frontguard.theory.threats import threat_named

    changes: dict[str, Any] = {"confidence": confidence, "workers": workers, "seed": seed}
    if threat is not None or contamination is not None:
        eps = spec.threat.eps if contamination is None else contamination
        changes["threat"] = threat_named(threat or spec.threat.name, eps)
    if confidence is not None and not 0.0 < confidence < 1.0:
        raise BadInput(f"--confidence: wanted a probability between 0 and 1, such as 0.95; got {confidence}")
    changes["budget"] = replace(
        spec.budget,
        pulls=pulls or spec.budget.pulls,
        seconds=spec.budget.seconds if time is None else _seconds("--time", time),
    )
    if timeout is not None:
        changes["timeout"] = _seconds("--timeout", timeout)
        changes["lease"] = max(spec.lease, default_lease(changes["timeout"], spec.prepare_timeout))
    objectives = with_tolerances(spec.objectives, tolerance)
    sources = zip(spec.sources, objectives, strict=True)
    changes["objectives"] = tuple(objectives)
    changes["sources"] = tuple(replace(source, positive=objective.relative) for source, objective in sources)
    spec = replace(spec, **{key: value for key, value in changes.items() if value is not None})
    return replace(spec, name=name or (spec.name if spec.source_text else _quick_name(spec)))


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
