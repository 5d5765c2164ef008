"""Running a plan: every setting with every policy, in chunks that are stored as soon as they are finished.

Run r of a seed is the same run whoever asks for it, so a plan can be stopped anywhere and gone on with. Finished runs
are in an SQLite file, by a hash of everything that determines a run, the code included; metrics are computed from them.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, fields, is_dataclass
from functools import lru_cache
from importlib import metadata, resources
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np

from frontguard.errors import BadInput
from frontguard.experiments.results import Row, Run, result_of
from frontguard.experiments.setup import TITLES, ExperimentPolicy, Setting
from frontguard.simulation import simulate
from frontguard.simulation.environments import Environment
from frontguard.words.terminal import ProgressDisplay

CHUNK = 20
"""Runs that are stored together: an interruption loses so many at most."""


@dataclass
class PlannedRow:
    """One row of the table to be: a setting and a policy, with the runs that are there already."""

    setting: Setting
    contestant: ExperimentPolicy
    key: str
    runs: list[Run] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Data set, variant, policy and ε, for progress."""
        experiment = self.setting.experiment
        return f"{TITLES[experiment.dataset]}, {experiment.variant}, {self.contestant.title}, ε = {self.setting.eps:g}"


class Campaign:
    """All cells of a command, and the store that they are read from and written to."""

    def __init__(
        self,
        settings: Sequence[Setting],
        contestants: Sequence[ExperimentPolicy],
        *,
        runs: int,
        seed: int,
        store: RunStore,
    ) -> None:
        self.wanted = runs
        self.seed = seed
        self.store = store
        # Policy by policy and then ε, as in the paper's table.
        self.cells = [
            PlannedRow(setting, contestant, key_of(setting, contestant, seed))
            for experiment in dict.fromkeys(setting.experiment for setting in settings)
            for contestant in contestants
            for setting in settings
            if setting.experiment is experiment
        ]
        for cell in self.cells:
            cell.runs = self._stored(cell)

    def _stored(self, cell: PlannedRow) -> list[Run]:
        found = self.store.runs(cell.key)
        return [found[number] for number in takewhile(found.__contains__, range(self.wanted))]

    @property
    def total(self) -> int:
        """Runs in all, stored ones included."""
        return self.wanted * len(self.cells)

    @property
    def done(self) -> int:
        """Runs that are finished and stored."""
        return sum(len(cell.runs) for cell in self.cells)

    def execute(self, *, workers: int | None = None, progress: ProgressDisplay | None = None) -> list[Row]:
        """Run what is missing; the rows of all. An interruption propagates; every finished chunk is stored by then."""
        resumed, began = self.done, time.perf_counter()
        for cell in self.cells:
            cell.runs = self._stored(cell)
            while len(cell.runs) < self.wanted:
                chunk = range(len(cell.runs), min(len(cell.runs) + CHUNK, self.wanted))
                before = self.done
                pace = (time.perf_counter() - began) / (before - resumed) if before > resumed else None
                left = None if pace is None else pace * (self.total - before)

                def show(finished: int, name: str = cell.name, before: int = before, left: float | None = left) -> None:
                    if progress is not None:
                        progress.show(name, before + finished, self.total, left)

                show(0)
                runs = _simulated(cell, chunk, seed=self.seed, workers=workers, on_run=show)
                self.store.add(cell.key, chunk.start, runs)
                cell.runs += runs
        return self.results()

    def results(self) -> list[Row]:
        """The rows of all cells that have any run."""
        return [result_of(cell.setting, cell.contestant, cell.runs) for cell in self.cells if cell.runs]


def _simulated(
    cell: PlannedRow, chunk: range, *, seed: int, workers: int | None, on_run: Callable[[int], None]
) -> list[Run]:
    setting = cell.setting
    finished = simulate(
        cell.contestant.build(setting),
        setting.experiment.environment,
        setting.adversary,
        runs=len(chunk),
        seed=seed,
        first_run=chunk.start,
        workers=workers,
        on_run=on_run,
    )
    share = float(finished.seconds) / len(chunk)
    return [
        Run(int(pulls), tuple(int(arm) for arm in np.flatnonzero(returned)), share)
        for pulls, returned in zip(finished.pulls, finished.returned, strict=True)
    ]


FILE_NAME = "runs.db"
_TABLE = (
    "CREATE TABLE IF NOT EXISTS runs "
    "(key TEXT, run INTEGER, pulls INTEGER, returned TEXT, seconds REAL, PRIMARY KEY (key, run))"
)


class RunStore:
    """The runs under one directory: `add` takes a chunk, `runs` gives what is there for a key; of two, the later."""

    def __init__(self, directory: Path, *, fresh: bool = False) -> None:
        self.path = directory / FILE_NAME
        try:
            directory.mkdir(parents=True, exist_ok=True)
            with self._open() as db:
                db.execute(_TABLE)
                ((last,),) = db.execute("SELECT coalesce(max(rowid), 0) FROM runs")
        except (OSError, sqlite3.Error) as error:
            why = getattr(error, "strerror", None) or error
            raise BadInput(f"--output {directory}: cannot be written: {why}") from None
        self._after = last if fresh else 0

    def runs(self, key: str) -> dict[int, Run]:
        """Return the finished runs of a key by their numbers."""
        with self._open() as db:
            rows = db.execute(
                "SELECT run, pulls, returned, seconds FROM runs WHERE key = ? AND rowid > ?", (key, self._after)
            )
            return {number: Run(pulls, tuple(json.loads(returned)), took) for number, pulls, returned, took in rows}

    def add(self, key: str, first_run: int, runs: list[Run]) -> None:
        """Keep a finished chunk, all of it or, if the machine stops, nothing."""
        rows = [(key, number, run.pulls, json.dumps(run.returned), run.seconds)
                for number, run in enumerate(runs, start=first_run)]  # fmt: skip
        with self._open() as db:
            db.executemany("INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ?, ?)", rows)

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self.path)) as db, db:
            yield db


def key_of(setting: Setting, contestant: ExperimentPolicy, seed: int) -> str:
    """Return a hash of what determines runs (code, environment, attacker, policy, seed), not of how they are judged."""
    experiment = setting.experiment
    parts = (experiment.environment, setting.adversary, *sorted(contestant.arguments(setting).items()))
    sources = [each for each in (contestant.source, experiment.source) if each]
    content = (code_fingerprint(), contestant.name, seed, *sources, [_content(part) for part in parts])
    return hashlib.sha256(repr(content).encode()).hexdigest()[:32]


def _content(thing: Any) -> object:
    """Return a value by its content: arrays by their bytes, records by their fields, kernels by their names."""
    if isinstance(thing, np.ndarray):
        return thing.dtype.str, thing.shape, thing.tobytes()
    if isinstance(thing, Environment):  # what its kernel reads; the rest of it is derived truth
        return [_content(each) for each in (thing.draw, thing.medians, thing.reals, thing.ints)]
    if is_dataclass(thing):
        return type(thing).__name__, [_content(getattr(thing, each.name)) for each in fields(thing)]
    if callable(thing):
        function: Any = getattr(thing, "py_func", thing)  # a compiled kernel names the function it was made of
        return f"{function.__module__}.{function.__qualname__}"
    if isinstance(thing, tuple):
        return [_content(each) for each in thing]
    return repr(thing)


_DECIDING = ("_common/compiled.py", "theory", "evidence", "pareto", "policies", "simulation")
"""The sources that decide what a run is."""


@lru_cache(maxsize=1)
def code_fingerprint() -> str:
    """Return the version and a hash of the sources that decide what a run is: an edited library recomputes."""
    package = Path(str(resources.files("frontguard")))
    digest = hashlib.sha256()
    for part in _DECIDING:
        place = package / part
        for source in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            digest.update(str(source.relative_to(package).as_posix()).encode() + b"\0" + source.read_bytes())
    return f"{metadata.version('frontguard')}+{digest.hexdigest()[:16]}"
