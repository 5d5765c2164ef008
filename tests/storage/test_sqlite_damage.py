"""Damaged study files: always a right answer or a clear message, never a wrong value, and the file stays as it is."""

from __future__ import annotations

import random
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard.errors import BadInput
from frontguard.storage.contract import Damaged, Plan, Pull, Tell
from frontguard.storage.sqlite import SqliteStorage, key
from tests.support.forks import fork
from tests.support.snapshots import refused

PAGE = 4096


@dataclass(frozen=True)
class Truth:
    """A study file as it was, and all that it says."""

    content: bytes
    says: dict[str, Any]
    plans: list[tuple[Any, ...]]
    told: list[tuple[Any, ...]]


def plan_rows(plans: list[Plan]) -> list[tuple[Any, ...]]:
    return [(p.number, p.told, p.first, p.arms.tolist(), p.status) for p in plans]


def told_rows(storage: SqliteStorage, study: str) -> list[tuple[Any, ...]]:
    told = storage.told(study)
    return [
        (int(told.pulls[i]), told.values[i].tobytes(), told.reasons[i], told.workers[i], float(told.at[i]))
        for i in range(len(told))
    ]


def all_of(path: Path, *, read_only: bool) -> dict[str, Any]:
    """Everything that a storage says, by all its ways."""
    with SqliteStorage(path, read_only=read_only) as storage:
        says: dict[str, Any] = {"studies": storage.studies(), "describe": None}
        for study in says["studies"]:
            says[study] = (
                storage.settings(study),
                storage.size(study),
                plan_rows(storage.plans(study)),
                told_rows(storage, study),
                storage.leases(study),
            )
        return says


@pytest.fixture(scope="module")
def truth(tmp_path_factory: pytest.TempPathFactory) -> Truth:
    """Two studies; the first with 500 told pulls, failed ones among them, in 10 plans, and some leases.

    Enough for trees of plans, of told pulls and of their index that have inner pages.
    """
    rng = random.Random(3)
    path = tmp_path_factory.mktemp("truth") / "a.db"
    with SqliteStorage(path) as storage:
        storage.create("main", "the settings", 2)
        storage.create("side", "x" * 5000, 1)
        storage.amend("main", "the second settings")
        storage.add_plan("side", Plan(1, 0, 1, np.arange(40)))
        storage.tell("side", [Tell(i, (float(i),)) for i in range(1, 41)])
        for number in range(1, 11):
            arms = np.array([rng.randrange(16) for _ in range(54)])
            storage.add_plan("main", Plan(number, 50 * (number - 1), 54 * (number - 1) + 1, arms))
            leases = storage.hand_out("main", 50, "a worker", deadline=1e9)
            rng.shuffle(leases)
            storage.tell("main", [tell_of(lease, rng) for lease in leases])
        storage.hand_out("main", 20, "b", deadline=1e9)
    says = all_of(path, read_only=False)
    assert says["main"][1] == (10, 500)
    assert len(says["main"][4]) == 20
    return Truth(path.read_bytes(), says, says["main"][2], says["main"][3])


def tell_of(lease: Pull, rng: random.Random) -> Tell:
    if rng.random() < 0.1:
        return Tell(lease.id, (float("nan"), 1.0), reason="exit code 3, " * rng.randrange(1, 30), worker="w", at=2.0)
    return Tell(lease.id, (rng.gauss(0.0, 1.0), rng.gauss(0.0, 1.0)), worker=f"w{lease.id % 8}", at=lease.id * 0.5)


def check_message(error: BadInput, path: Path) -> None:
    message = str(error)
    assert "\n" not in message
    assert path.name in message
    assert (".recover" in message) == isinstance(error, Damaged)


def look_at(path: Path, content: bytes, truth: Truth) -> bool:
    """Open a damaged file and hold it against the truth. Whether the damage was noticed."""
    path.write_bytes(content)
    noticed = False
    for read_only in (True, False):
        try:
            says = all_of(path, read_only=read_only)
        except BadInput as error:
            noticed = True
            check_message(error, path)
        else:
            assert says == truth.says
        assert path.read_bytes() == content
        assert [other.name for other in path.parent.iterdir()] == [path.name]
    return noticed


# Damage ---------------------------------------------------------------------------------------------------------------


def test_a_whole_file_is_not_called_damaged(tmp_path: Path, truth: Truth) -> None:
    assert not look_at(tmp_path / "a.db", truth.content, truth)


def test_truncated_anywhere(tmp_path: Path, truth: Truth) -> None:
    size = len(truth.content)
    rng = random.Random(11)
    cuts = [1, 15, 16, 99, 100, 511, 512, PAGE - 1, PAGE, 2 * PAGE, size - PAGE, size - 1]
    cuts += [rng.randrange(1, size) for _ in range(8)] + [rng.randrange(1, size // PAGE) * PAGE for _ in range(5)]
    for cut in sorted(cuts):
        noticed = look_at(tmp_path / "a.db", truth.content[:cut], truth)
        assert noticed or cut == size - 1, f"cut to {cut} of {size} bytes"  # which readers need not look at


def test_every_page_overwritten(tmp_path: Path, truth: Truth) -> None:
    rng = random.Random(13)
    pages = len(truth.content) // PAGE
    for page in rng.sample(range(pages), min(12, pages)):
        for filler in (bytes(PAGE), rng.randbytes(PAGE)):
            content = bytearray(truth.content)
            content[page * PAGE : (page + 1) * PAGE] = filler
            look_at(tmp_path / "a.db", bytes(content), truth)


def test_random_bytes_overwritten(tmp_path: Path, truth: Truth) -> None:
    rng = random.Random(17)
    noticed = 0
    for _ in range(30):
        content = bytearray(truth.content)
        for _ in range(rng.choice([1, 1, 3, 30])):
            content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        noticed += look_at(tmp_path / "a.db", bytes(content), truth)
    assert noticed > 8  # the others hit free space, or an index that reading does not need


def test_pages_that_changed_places(tmp_path: Path, truth: Truth) -> None:
    # What a file system does after a crash: whole pages, each one good in itself.
    rng = random.Random(19)
    pages = len(truth.content) // PAGE
    for _ in range(8):
        one, other = rng.sample(range(pages), 2)
        content = bytearray(truth.content)
        content[one * PAGE : (one + 1) * PAGE] = truth.content[other * PAGE : (other + 1) * PAGE]
        look_at(tmp_path / "a.db", bytes(content), truth)


@pytest.mark.audit
def test_damage_of_all_kinds_for_long(tmp_path: Path, truth: Truth) -> None:
    rng = random.Random(23)
    for _ in range(1500):
        content = bytearray(truth.content)
        for _ in range(rng.choice([1, 2, 10])):
            start = rng.randrange(len(content))
            piece = rng.randbytes(rng.choice([1, 1, 4, 100, 5000]))[: len(content) - start]
            content[start : start + len(piece)] = piece
        if rng.random() < 0.2:
            del content[rng.randrange(1, len(content)) :]
        look_at(tmp_path / "a.db", bytes(content), truth)


def test_a_file_whose_beginning_is_gone_is_no_study_file(tmp_path: Path, truth: Truth) -> None:
    for filler in (b"\0" * 100, b"\xff" * 16, random.Random(5).randbytes(PAGE)):
        assert look_at(tmp_path / "a.db", filler + truth.content[len(filler) :], truth)


@pytest.mark.parametrize("number", [1, 277, 500])
def test_a_flipped_bit_is_named(tmp_path: Path, truth: Truth, number: int, snapshot: SnapshotAssertion) -> None:
    value = truth.told[number - 1][1]
    # The exponent: SQLite would hand out a number that is many orders of magnitude larger or smaller.
    wrong = value[:7] + bytes([value[7] ^ 0x40]) + value[8:]
    content = truth.content.replace(value, wrong)  # free space may hold copies
    path = tmp_path / "a.db"
    path.write_bytes(content)
    with SqliteStorage(path) as storage:
        with refused(Damaged, snapshot):
            storage.told("main")
        with refused(Damaged, snapshot):
            storage.tell("main", [Tell(540, (1.0, 1.0))])  # what is damaged is not written to
        assert len(storage.told("side")) == 40  # what is not can be read
    assert path.read_bytes() == content


def raw(path: Path) -> apsw.Connection:
    return apsw.Connection(str(path))


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM told WHERE id = {end}",
        "DELETE FROM told WHERE id = {middle}",
        "DELETE FROM plan WHERE id = {plan}",
        "UPDATE plan SET told = told + 1 WHERE id = {plan}",
        "UPDATE progress SET told = told - 1",
        "DELETE FROM progress",
        "DELETE FROM settings",
        "DELETE FROM settings WHERE id = {settings}",
        "DELETE FROM study WHERE id = 2",
        "DELETE FROM lease WHERE pull = 510",
        "UPDATE settings SET text = upper(text)",
        "UPDATE study SET metrics = 3",
        "UPDATE lease SET deadline = 7",
        "UPDATE told SET worker = 'somebody' WHERE id = {middle}",
        "UPDATE told SET reason = x'fffe' WHERE id = {middle}",
        "UPDATE told SET numbers = x'00' WHERE id = {middle}",
        "DROP INDEX told_pull",
    ],
)
def test_rows_that_are_not_as_they_were_written(
    tmp_path: Path, truth: Truth, statement: str, snapshot: SnapshotAssertion
) -> None:
    path = tmp_path / "a.db"
    path.write_bytes(truth.content)
    db = raw(path)
    db.execute(statement.format(end=key(1, 500), middle=key(1, 300), plan=key(1, 8), settings=key(1, 2)))
    db.close()
    with refused(Damaged, snapshot):
        all_of(path, read_only=False)


def test_an_index_that_lies_is_not_believed(tmp_path: Path, truth: Truth, snapshot: SnapshotAssertion) -> None:
    path = tmp_path / "a.db"
    path.write_bytes(truth.content)
    db = raw(path)
    # A row that says something else than the index: the index entry of pull 1 leads to the row of another pull now.
    db.execute("PRAGMA writable_schema = ON")
    db.execute("DELETE FROM sqlite_schema WHERE name = 'told_pull'")
    db.close()
    db = raw(path)
    db.execute("UPDATE told SET pull = 539 WHERE study = 1 AND pull = 1")
    root = apsw_root(truth)
    db.execute("PRAGMA writable_schema = ON")
    db.execute(
        "INSERT INTO sqlite_schema VALUES ('index', 'told_pull', 'told', ?, "
        "'CREATE UNIQUE INDEX told_pull ON told (study, pull)')",
        (root,),
    )
    db.close()
    with SqliteStorage(path) as storage, refused(Damaged, snapshot):
        storage.tell("main", [Tell(1, (1.0, 1.0))])


def apsw_root(truth: Truth) -> int:
    db = apsw.Connection(":memory:")
    db.deserialize("main", truth.content[:18] + b"\1\1" + truth.content[20:])
    return int(db.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'told_pull'").get)


# Logs beside the file -------------------------------------------------------------------------------------------------


def killed_in_the_middle(path: Path) -> None:
    """A study whose last pulls are in the write-ahead log alone."""

    def write() -> None:
        storage = SqliteStorage(path)
        storage.create("s", "", 1)
        storage.add_plan("s", Plan(1, 0, 1, np.arange(1300)))
        storage.tell("s", [Tell(i, (float(i),)) for i in range(1, 1001)])
        assert storage._file._db is not None
        storage._file._db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_FULL)
        for i in range(1001, 1101):
            storage.tell("s", [Tell(i, (float(i),))])

    fork(write).result()  # which ends without closing
    assert path.with_name(path.name + "-wal").stat().st_size > 0


def test_a_damaged_file_with_a_log_beside_it_stays_as_it_is(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    path, log = tmp_path / "a.db", tmp_path / "a.db-wal"
    killed_in_the_middle(path)
    value = np.float64(30.0).tobytes()
    content = path.read_bytes().replace(value, value[:6] + b"\0" + value[7:])
    path.write_bytes(content)
    before = log.read_bytes()
    with SqliteStorage(path) as storage, refused(Damaged, snapshot):
        storage.told("s")
    assert path.read_bytes() == content
    assert log.read_bytes() == before


def test_a_damaged_log_gives_an_earlier_state(tmp_path: Path) -> None:
    path, log = tmp_path / "a.db", tmp_path / "a.db-wal"
    killed_in_the_middle(path)
    content, beside = path.read_bytes(), log.read_bytes()
    rng = random.Random(2)
    for _ in range(20):
        path.write_bytes(content)
        damaged = bytearray(beside)
        damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
        log.write_bytes(damaged)
        path.with_name("a.db-shm").unlink(missing_ok=True)
        with SqliteStorage(path) as storage:
            told = storage.told("s")
            assert told.pulls.tolist() == list(range(1, len(told) + 1))
            assert 1000 <= len(told) <= 1100
            assert storage.tell("s", [Tell(1250, (1.0,))]) == [True]


def test_an_emptied_file_with_a_log_beside_it_is_not_new(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    path, log = tmp_path / "a.db", tmp_path / "a.db-wal"
    killed_in_the_middle(path)
    beside = log.read_bytes()
    path.write_bytes(b"")
    for read_only in (False, True):
        with refused(Damaged, snapshot):
            SqliteStorage(path, read_only=read_only)
    assert path.read_bytes() == b""
    assert log.read_bytes() == beside


# Recovery -------------------------------------------------------------------------------------------------------------


def recovers(folder: Path) -> bool:
    """Whether there is an sqlite3 that can recover: those of some systems are built without."""
    if shutil.which("sqlite3") is None:
        return False
    whole = folder / "whole.db"
    apsw.Connection(str(whole)).execute("CREATE TABLE some (x)")
    return subprocess.run(["sqlite3", whole, ".recover"], capture_output=True).stderr == b""


def test_the_command_of_the_message_mends_a_file_that_lost_part_of_an_index(tmp_path: Path, truth: Truth) -> None:
    if not recovers(tmp_path):
        pytest.skip("needs an sqlite3 that has .recover")
    folder = tmp_path / "a folder"
    folder.mkdir()
    path, new = folder / "a.db", tmp_path / "new.db"
    path.write_bytes(truth.content)
    leaf = raw(path).execute("SELECT max(pageno) FROM dbstat WHERE name = 'told_pull' AND pagetype = 'leaf'").get
    content = truth.content[: (leaf - 1) * PAGE] + bytes(PAGE) + truth.content[leaf * PAGE :]
    path.write_bytes(content)
    with pytest.raises(Damaged) as caught, SqliteStorage(path) as storage:
        storage.tell("main", [Tell(540, (1.0, 1.0))])
    command = str(caught.value).split("`")[1].replace("NEW", str(new))
    subprocess.run(command, shell=True, check=True, cwd=tmp_path)
    assert all_of(new, read_only=True) == truth.says
    assert path.read_bytes() == content
