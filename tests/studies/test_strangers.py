"""Study files that a stranger made: every reader gives a valid answer or says in one line what is wrong, soon.

Rows are changed together with their checksums, which keep out accidents and nobody who means it.
"""

from __future__ import annotations

import json
import math
import random
import resource
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard import Objective, Prescient, Study
from frontguard.errors import BadInput
from frontguard.logs.analyze import analyze
from frontguard.reports.write import report_from
from frontguard.storage.sqlite import STRIDE, SqliteStorage, row_crc, told_crc
from frontguard.studies.follow import Follower
from frontguard.studies.settings import Settings
from tests.support.forks import fork
from tests.support.snapshots import refused
from tests.support.waiting import patience

MEMORY = 1 << 30
"""Bytes that a reader may ask for beyond what the process has."""


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A study that went on for a while: plans, told pulls, failures, leases, something late."""
    path = tmp_path_factory.mktemp("strangers") / "study.db"
    objectives = [Objective("seconds", "minimize", tolerance="5%"), Objective("score", "maximize", tolerance=0.1)]
    study = Study(["a", "b", "c"], objectives, Prescient(0.05), storage=path, worker="me", blocks=False)
    rng = np.random.default_rng(3)
    for _ in range(6):
        for pull in study.ask(40):
            if pull.id % 11 == 0:
                study.fail(pull, f"exit code {pull.id % 3}")
            elif pull.id % 17 == 0:
                study.give_up([pull])
                study.tell(pull, [1.0, 1.0])
            elif pull.id % 23:
                study.tell(pull, [(1.0 + pull.index) * math.exp(0.1 * rng.normal()), rng.normal()])
    study.close()
    content = path.read_bytes()
    for reader in READERS:  # which loads and compiles what they need, so that forks have it
        reader(path)
    return content


# The columns of each table, and what the checksum of a row is of: its place first, where it has one of its own.
TABLES = {
    "study": ("id", "name", "metrics"),
    "settings": ("id", "text"),
    "progress": ("study", "plans", "planned", "told", "handed"),
    "plan": ("id", "told", "first", "arms", "status"),
    "told": ("id", "study", "pull", "numbers", "reason", "worker", "cluster", "ended"),
    "lease": ("study", "pull", "worker", "deadline"),
    "late": ("study", "number", "pull", "numbers", "reason", "worker"),
}


def checksum(table: str, row: dict[str, Any]) -> int:
    """What a row of a table would have if it had been written by us; any number where it could not have been."""
    values = list(row.values())
    try:
        if table == "told":
            return told_crc(row["id"] // STRIDE, row["id"] % STRIDE, *values[2:])
        if table in ("settings", "plan"):
            return row_crc(row["id"] // STRIDE, row["id"] % STRIDE, *values[1:])
        return row_crc(*values)
    except Exception:
        return 0


def change(path: Path, table: str, column: str, new: Callable[[Any], Any] | Any, which: int = 0) -> bool:
    """Change one row with its checksum; False if the database does not take it."""
    db = apsw.Connection(str(path))
    try:
        columns = TABLES[table]
        place = list(columns[:1] if table in ("study", "settings", "progress", "plan", "told") else columns[:2])
        rows = db.execute(f"SELECT {', '.join(columns)} FROM {table}").fetchall()
        old = dict(zip(columns, rows[which % len(rows)], strict=True))
        row = old | {column: new(old[column]) if callable(new) else new}
        where = " AND ".join(f"{name} = ?" for name in place)
        values = [*row.values(), checksum(table, row), *(old[name] for name in place)]
        sets = ", ".join(f"{name} = ?" for name in (*columns, "crc"))
        db.execute(f"UPDATE {table} SET {sets} WHERE {where}", values)
        return True
    except (apsw.Error, OverflowError):
        return False
    finally:
        db.close()


# Readers --------------------------------------------------------------------------------------------------------------


def taken_up(path: Path) -> None:
    study = Study.open(path)
    for pull in study.ask(3):
        study.tell(pull, [1.0, 1.0])
    study.result()
    study.failures()
    study.to_frame()
    study.storage.late(study.name)
    study.close()


def followed(path: Path) -> None:
    with SqliteStorage(path, read_only=True) as storage:
        for name in storage.studies():
            overview = Follower(storage, name).catch_up()
            str(overview.answer)


def reported(path: Path) -> None:
    report_from(str(path))


def analyzed(path: Path) -> None:
    str(analyze(path))


READERS = (taken_up, followed, reported, analyzed)


def bounded(work: Callable[[], None]) -> str:
    """Run work with little memory; what it said of its input, on one line, or nothing if it took it."""
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
    try:
        work()
    except BadInput as error:
        said = str(error)
        assert len(said.splitlines()) == 1, said
        assert 0 < len(said) < 1500, said
        return said
    return ""


NUMBERS = (-1, 0, 1, 2, 7, 2**31, 2**39, 2**40, 2**40 + 1, 2**62, 2**63 - 1, -(2**63), 1.5, -1e300, math.inf)
ANYTHING = (*NUMBERS, "", "x", "1", "\0", "x" * 100_000, b"", b"\xff", b"\0" * 24, bytes(2**16), True)
DOUBLES = (math.inf, -math.inf, math.nan, 1e308, -1e308, 5e-324, -1.0, 0.0)


def mutant(rng: random.Random, table: str, column: str) -> Any:
    """What to put in the place of a column: something else, or something near."""
    if column == "numbers" and rng.random() < 0.6:
        return lambda old: struct.pack("<3d", *rng.choices(DOUBLES, k=3))
    if column == "arms" and rng.random() < 0.6:
        return lambda old: np.array(rng.choices([*range(5), *NUMBERS[:11]], k=rng.randrange(60)), "<i8").tobytes()
    if column == "text" and rng.random() < 0.9:
        return lambda old: other_settings(rng, old)
    if column in ("reason", "worker", "status", "name") and rng.random() < 0.4:
        return rng.choice(["running", "certified", "budget", "host/99999999999999999999999/7", "\x1b[2J", "two\nlines"])
    if rng.random() < 0.3:
        return lambda old: old + rng.choice([-2, -1, 1, 2, 40]) if isinstance(old, (int, float)) else b"?"
    return rng.choice(ANYTHING)


def other_settings(rng: random.Random, text: str) -> str:
    """Settings with something else somewhere."""
    settings = json.loads(text)
    spot: Any = settings
    while True:
        at = rng.choice(list(spot) if isinstance(spot, dict) else range(len(spot)))
        if not isinstance(spot[at], (dict, list)) or not spot[at] or rng.random() < 0.4:
            break
        spot = spot[at]
    odd = [None, True, -1, 0, 10**30, 1e308, -0.5, 0.3, "", "a", "x" * 5000, [], {}, ["a", "a"], [[]], {"a": 1}, 2**40]
    if rng.random() < 0.2:
        del spot[at]
    elif rng.random() < 0.2 and isinstance(spot, dict):
        spot["more"] = rng.choice(odd)
    else:
        spot[at] = rng.choice(odd)
    return rng.choice([text[: len(text) // 2], "[" * 100_000]) if rng.random() < 0.05 else json.dumps(settings)


@pytest.mark.parametrize("table", TABLES)
def test_every_column_of_a_file_may_say_anything(tmp_path: Path, sound: bytes, table: str) -> None:
    rng = random.Random(table)
    path = tmp_path / "study.db"
    refused = 0
    for number in range(6):
        path.write_bytes(sound)
        column = rng.choice(TABLES[table])
        new = mutant(rng, table, column)
        if not change(path, table, column, new, which=rng.randrange(1000)):
            continue
        reader = READERS[number % len(READERS)]
        content = path.read_bytes()
        try:
            refused += bool(fork(lambda: bounded(lambda: reader(path))).result(patience()))  # noqa: B023
        except AssertionError as error:
            raise AssertionError(f"{reader.__name__}, {table}.{column} = {new!r:.200}: {error}") from None
        assert reader is taken_up or path.read_bytes() == content
    assert refused >= (0 if table == "late" else 1)  # what came late is read by few


# One by one -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    (
        "table",
        "column",
        "new",
    ),
    [
        ("told", "pull", 2**40),
        ("told", "pull", -3),
        ("told", "ended", 9),
        ("told", "numbers", struct.pack("<3d", 1.0, math.inf, 2.0)),
        ("told", "numbers", struct.pack("<3d", 1e300, 1.0, 2.0)),
        ("progress", "planned", 2**39),
        ("progress", "told", 2**39),
        ("progress", "handed", -1),
        ("plan", "first", 2**39),
        ("plan", "told", -1),
        ("plan", "told", 2**39),
        ("plan", "arms", np.array([0, 3] * 20, "<i8").tobytes()),
        ("plan", "status", "x" * 100_000),
        ("study", "metrics", -1),
        ("study", "metrics", 3),
        ("lease", "pull", 2**40),
        ("settings", "text", "[" * 100_000),
    ],
)
def test_absurd_numbers_and_texts_are_named(
    tmp_path: Path, sound: bytes, table: str, column: str, new: Any, snapshot: SnapshotAssertion
) -> None:
    path = tmp_path / "study.db"
    path.write_bytes(sound)
    assert change(path, table, column, new)
    for reader in (taken_up, followed):
        with refused(BadInput, snapshot) as caught:
            reader(path)
        assert len(str(caught.value)) < 700


def with_settings(text: str, **changes: Any) -> str:
    """Settings with something else in them, or in their question, where that has it."""
    settings = json.loads(text)
    for key, value in changes.items():
        table = settings["question"] if key in settings["question"] else settings
        table[key] = value
        if value is ...:
            del table[key]
    return json.dumps(settings)


WRONG: list[dict[str, Any]] = [
    {"arms": ["a", "b", "a"]},
    {"arms": []},
    {"arms": "abc"},
    {"arms": 3},
    {"arms": ["a", 1, "c"]},
    {"arms": ["a", "\0", "c"]},
    {"question": []},
    {"objectives": {}},
    {"objectives": [1]},
    {"objectives": [{"name": "x", "code": 1}]},
    {"objectives": [{"direction": "maximize"}]},
    {"objectives": [{"name": "ms"}, {"name": "ms"}]},
    {"objectives": [{"name": f"{i} ms"} for i in range(1001)]},
    {"objectives": ...},
    {"limits": ["mb<=9"]},
    {"threat": ["prescient"]},
    {"threat": "nobody"},
    {"contamination": "much"},
    {"contamination": 7.0},
    {"confidence": 1.5},
    {"confidence": None},
    {"coverage": [1.0]},
    {"coverage": 3},
    {"spread": {"name": "os"}},
    {"spread": {"name": "CustomSpread", "function": "x"}},
    {"spread": {"name": "Gaussian", "sigma": -1}},
    {"cost": "seconds"},
    {"cost": {"by_arm": [1]}},
    {"max_cost": 3},
    {"max_pulls": 0},
    {"items": 10**7},
    {"paired": 1},
    {"seed": -1},
    {"seed": 1.5},
    {"about": 3},
    {"rates": 3},
    {"reopened_after": -2},
    {"foreseen": None},
    {"arms": ...},
    {"code": "import os"},
    {"format": 1},
]


@pytest.mark.parametrize("changes", WRONG, ids=lambda changes: str(changes)[:60])
def test_settings_of_the_wrong_shape_are_named(changes: dict[str, Any], snapshot: SnapshotAssertion) -> None:
    objectives = [Objective("seconds", "minimize", tolerance="5%"), Objective("score", "maximize", tolerance=0.1)]
    text = Study(["a", "b", "c"], objectives, Prescient(0.05)).settings.to_json()
    with refused(BadInput, snapshot):
        Settings.from_json(with_settings(text, **changes), "study")


def test_arms_times_objectives_are_bounded(snapshot: SnapshotAssertion) -> None:
    metrics = [f"{i} ms" for i in range(1000)]
    with refused(BadInput, snapshot):
        Study(10_001, metrics, Prescient(0.1))
