"""Analyses that build on earlier ones: state files as logs, and what a state has counted before."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from frontguard.errors import BadInput
from frontguard.logs.counted import Source, marked
from frontguard.logs.frames import is_frame
from frontguard.logs.log import Log
from frontguard.logs.log_errors import listed, no_column, shown
from frontguard.logs.ordered import Readable
from frontguard.logs.places import STDIN, find, is_address
from frontguard.logs.state import LogState
from frontguard.logs.state_file import MARK
from frontguard.objectives import Objective

__all__ = ["asked_of_state", "new_sources", "refuse_not_positive", "state_files"]


def new_sources(log: Any, state: str | Path, *, again: bool) -> tuple[Source, ...]:
    """The marks by which a state knows the files that it has counted, before these are read for nothing."""
    if is_frame(log) or isinstance(log, Log) or is_address(log) or log == STDIN:
        return ()
    known = LogState.load(state).sources if Path(state).expanduser().exists() else ()
    marks: list[Source] = []
    for place in find(log):
        if place.path is None:
            continue
        source, before = marked(place.path, known=(*known, *marks))
        if before is not None and not again:
            rest = (
                "give the rows that are new in a file of their own"
                if before.grew
                else f"--again (again=True) counts it once more; the state answers by itself as the log {state}"
            )
            raise BadInput(f"{before}; {rest}")
        marks.append(source)
    return tuple(marks)


def state_files(log: Any, format: str | None) -> list[Path]:
    """The state files that a log is, if it is of these; none otherwise."""
    if format is not None or is_frame(log) or isinstance(log, Log) or is_address(log) or log == STDIN:
        return []
    if not isinstance(log, (str, os.PathLike, Sequence)) or isinstance(log, bytes):
        return []
    paths = [place.path for place in find(log)]
    states = [path for path in paths if path is not None and _is_state(path)]
    if states and len(states) < len(paths):
        other = next(path for path in paths if path not in states)
        raise BadInput(
            f"state files and logs cannot be read as one log; got {states[0]} and {other}: add the log to the state "
            "with --append (append=)"
        )
    return states


def _is_state(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(MARK)) == MARK
    except OSError:  # whoever reads it will say so
        return False


def asked_of_state(
    state: LogState, given: tuple[Objective, ...], arm: str | Sequence[str] | None, where: Path
) -> tuple[Objective, ...]:
    """The objectives that are asked of a state, all of which it must have."""
    if not given:
        raise BadInput(
            f"{where} is a state of {listed(state.metrics)}; say which of them to maximize and which to minimize"
        )
    for objective in given:
        if objective.name not in state.metrics:
            no_column(objective.name, list(state.metrics), str(where))
    arms = [arm] if isinstance(arm, str) else list(arm or ())
    if arms and "arm" in state.about and list(state.about["arm"]) != arms:
        raise BadInput(f"{where}: its arm is {listed(state.about['arm'])}; got {listed(arms)}")
    return given


def refuse_not_positive(readable: Readable, objectives: Sequence[Objective]) -> None:
    """A state that kept values ≤ 0 cannot be asked with a relative tolerance: there they are failed pulls."""
    for objective in objectives:
        if objective.relative:
            column = readable.metrics.index(objective.name)
            some = np.flatnonzero(readable.good[column])
            lowest = readable.at(column, some, np.ones(len(some), np.int64), -1)
            if (lowest <= 0.0).any():
                raise BadInput(
                    f"tolerance of {shown(objective.name)} must be absolute: the state was made without a relative one "
                    f"and has values that are not positive, such as {float(lowest.min()):g}"
                )
