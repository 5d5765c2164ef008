"""Finished runs on disk: an append-only file of one JSON object a line, a line a finished chunk of runs.

A line holds the key of what was run, the numbers of its runs and, for each, the pulls and the returned arms.
Metrics are not stored: they are computed from the runs, so that a change of judgement needs no new run. The
key is a hash of everything that determines a run, the code included. A line that cannot be read (the machine
stopped while it was written) is passed over.
"""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from importlib import metadata, resources
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from frontguard.errors import BadInput
from frontguard.experiments.contestants import ExperimentPolicy
from frontguard.experiments.plan import Setting
from frontguard.simulation.contracts import Environment

FILE_NAME = "runs.jsonl"
FORMAT = 1


@dataclass(frozen=True)
class Run:
    """One finished run: its pulls, the arms it returned, and its share of the chunk's seconds."""

    pulls: int
    returned: tuple[int, ...]
    seconds: float


class RunStore:
    """The runs under one directory: `add` appends a chunk, `runs` gives what is there for a key."""

    def __init__(self, directory: Path, *, fresh: bool = False) -> None:
        self.path = directory / FILE_NAME
        try:
            directory.mkdir(parents=True, exist_ok=True)
            with self.path.open("ab"):
                pass
            self._end_torn_line()
        except OSError as error:
            raise BadInput(f"--output {directory}: cannot be written: {error.strerror or error}") from None
        self._runs: dict[str, dict[int, Run]] = {}
        if not fresh:
            self._read()

    def runs(self, key: str) -> dict[int, Run]:
        """Number of the run → run, for all finished runs of a key."""
        return dict(self._runs.get(key, {}))

    def add(self, key: str, about: dict[str, Any], first_run: int, runs: list[Run]) -> None:
        """Append a finished chunk. `about` is for readers of the file; the key alone decides."""
        line = {
            "format": FORMAT,
            "key": key,
            **about,
            "first_run": first_run,
            "pulls": [run.pulls for run in runs],
            "returned": [list(run.returned) for run in runs],
            "seconds": round(sum(run.seconds for run in runs), 6),
        }
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, separators=(",", ":")) + "\n")
            file.flush()
            os.fsync(file.fileno())
        self._keep(key, first_run, runs)

    def _end_torn_line(self) -> None:
        """End a line that was torn off, so that the next one starts on its own."""
        with self.path.open("rb+") as file:
            if file.seek(0, os.SEEK_END) > 0:
                file.seek(-1, os.SEEK_END)
                if file.read(1) != b"\n":
                    file.write(b"\n")

    def _read(self) -> None:
        """Take the runs of all lines that can be read; of two for one run the later, which was computed afresh."""
        with self.path.open(encoding="utf-8", errors="replace") as file:
            for text in file:
                with suppress(ValueError, KeyError, TypeError):
                    line = json.loads(text)
                    if line["format"] == FORMAT:
                        share = float(line["seconds"]) / max(1, len(line["pulls"]))
                        pairs = zip(line["pulls"], line["returned"], strict=True)
                        runs = [Run(int(pulls), tuple(map(int, returned)), share) for pulls, returned in pairs]
                        self._keep(str(line["key"]), int(line["first_run"]), runs)

    def _keep(self, key: str, first_run: int, runs: list[Run]) -> None:
        self._runs.setdefault(key, {}).update(enumerate(runs, start=first_run))


def key_of(setting: Setting, contestant: ExperimentPolicy, seed: int) -> str:
    """A hash of all that determines the runs: code, environment, attacker, policy and seed.

    Not of how they are judged: the two rows of SW-LLVM share the runs of the policies that are told no
    threat.
    """
    digest = hashlib.sha256()
    parts: dict[str, object] = {
        "code": code_fingerprint(),
        "environment": setting.experiment.environment,
        "adversary": setting.adversary,
        "policy": contestant.name,
        "arguments": contestant.arguments(setting),
        "seed": seed,
    }
    for name, part in parts.items():
        _feed(digest, name)
        _feed(digest, part)
    return digest.hexdigest()[:32]


def _feed(digest: Any, thing: object) -> None:
    """Feed a value into the hash by its content: arrays by their bytes, records by their fields, kernels by
    their names.
    """
    digest.update(f"<{type(thing).__name__}>".encode())
    if isinstance(thing, np.ndarray):
        array: npt.NDArray[Any] = np.ascontiguousarray(thing)
        digest.update(f"{array.dtype.str}{array.shape}".encode())
        digest.update(array.tobytes())
    elif isinstance(thing, dict):
        for name, value in thing.items():
            _feed(digest, name)
            _feed(digest, value)
    elif isinstance(thing, list | tuple):
        for value in thing:
            _feed(digest, value)
    elif thing is None or isinstance(thing, str | int | float | bool | np.generic):
        digest.update(repr(thing).encode())
    elif isinstance(thing, Environment):  # what its kernel reads; the rest of it is derived truth
        _feed(digest, {"draw": thing.draw, "medians": thing.medians, "reals": thing.reals, "ints": thing.ints})
    elif hasattr(thing, "__dataclass_fields__"):
        _feed(digest, {name: getattr(thing, name) for name in thing.__dataclass_fields__})
    elif callable(thing):
        function: Any = getattr(thing, "py_func", thing)  # a compiled kernel names the function it was made of
        digest.update(f"{function.__module__}.{function.__qualname__}".encode())
    else:
        raise TypeError(f"a part of a run of type {type(thing).__name__} cannot be hashed by its content")


_ROOMS = ("_common/compiled.py", "theory", "evidence", "pareto", "policies", "simulation")
"""Where it is decided what a run is: whatever a policy, an environment or an adversary computes."""


@lru_cache(maxsize=1)
def code_fingerprint() -> str:
    """The library's version and a hash of the sources that decide what a run is: an edited library recomputes."""
    package = Path(str(resources.files("frontguard")))
    digest = hashlib.sha256()
    for room in _ROOMS:
        place = package / room
        for source in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            digest.update(str(source.relative_to(package).as_posix()).encode() + b"\0" + source.read_bytes())
    return f"{metadata.version('frontguard')}+{digest.hexdigest()[:16]}"
