"""Policies in files: what a policy was given, and the calls that were made to it. Loading makes them again.

A file has a line of JSON for each: first the policy's name, arguments and pulls, then the calls. No state comes from
it. Kernels look nothing up: an index that is out of range reads, or writes, whatever lies there. Whatever a file holds
passes through the checks of the constructor, of `ask` and of `tell` instead.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import astuple
from operator import methodcaller
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from frontguard.errors import BadInput
from frontguard.evidence.kinds import Statistic
from frontguard.evidence.statistics import KINDS
from frontguard.pareto.relations import LimitRule
from frontguard.theory.spread import Gaussian, LinearAroundMedian, Subgaussian, Uniform
from frontguard.theory.threats import Malicious, Oblivious, Prescient, Share

if TYPE_CHECKING:
    from frontguard.policies.base import Policy

Call = tuple[Any, ...]
"""A call of a policy: ask, tell or halt, and what it was given."""

_MOST_ASKED = 1 << 20  # pulls that a file may ask for at once


def write(path: str | Path, about: Mapping[str, Any], calls: Iterable[Call]) -> None:
    """Write what is said about a policy, and its calls."""
    with Path(path).open("w", encoding="ascii") as file:
        for line in (about, *calls):
            file.write(json.dumps(line, default=methodcaller("tolist")) + "\n")


def read(path: str | Path) -> tuple[dict[str, Any], list[Call]]:
    """Read what `write` wrote."""
    try:
        lines = Path(path).read_text(encoding="ascii").splitlines()
        about, *calls = map(json.loads, lines)
        return dict(about), [tuple(call) for call in calls]
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror or error}") from None
    except Exception as error:
        raise BadInput(f"{path}: wanted what a policy saved; {type(error).__name__}: {error}") from None


def call_again(policy: Policy, calls: Iterable[Call]) -> None:
    """Make these calls to a policy."""
    for name, *given in calls:
        if name not in ("ask", "tell", "halt") or (name == "ask" and (given[0] or 0) > _MOST_ASKED):
            raise BadInput(f"there is no call {name} of {given[:1]}")
        getattr(policy, name)(*given)


def _limits(columns: list[int], within: list[float], beyond: list[float]) -> LimitRule:
    return LimitRule(np.array(columns, np.int64), np.array(within, np.float64), np.array(beyond, np.float64))


def _statistic(kind: int, level: float, scale: list[float], spread: bool) -> Statistic:
    made = Statistic(int(kind), float(level), tuple(map(float, scale)), bool(spread))  # type: ignore[arg-type]
    if not 0 <= kind < len(KINDS) or not 0.0 < level < 1.0 or len(scale) != 5 or not np.isfinite(scale).all():
        raise BadInput(f"there is no {made}")
    return made


_PLAIN = (Oblivious, Prescient, Malicious, Share, Gaussian, LinearAroundMedian, Subgaussian, Uniform)
_KINDS: dict[str, Callable[..., Any]] = {
    "LimitRule": _limits,
    "Statistic": _statistic,
    **{each.__name__: each for each in _PLAIN},
}
_AGAIN = {"kind": "given again", "of": []}


def written(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments of a policy as JSON holds them; functions are to be given again."""
    return {name: _plain(value) for name, value in settings.items()}


def settings_from(written: Mapping[str, Any], again: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments that were written, and those that are given again."""
    settings = {name: again.get(name, _made(value)) for name, value in written.items()}
    for name, value in settings.items():
        if value == _AGAIN:
            raise BadInput(f"{name} is a function, which no file holds: give it again, load(path, {name}=...)")
    return settings


def _plain(value: Any) -> Any:
    kind = type(value).__name__
    if kind in _KINDS:
        return {"kind": kind, "of": [_plain(each) for each in (value if isinstance(value, tuple) else astuple(value))]}
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value if isinstance(value, int | float | str | None) else _AGAIN


def _made(value: Any) -> Any:
    if isinstance(value, list):
        return [_made(each) for each in value]
    if not isinstance(value, dict) or value == _AGAIN:
        return value
    return _KINDS[value["kind"]](*map(_made, value["of"]))
