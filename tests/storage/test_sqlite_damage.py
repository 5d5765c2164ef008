"""Damaged study files: always a right answer or a clear message, never a wrong value, and the file stays as it is."""

from __future__ import annotations

import random
from bisect import bisect_right
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard.errors import BadInput
from frontguard.storage.contract import Damaged, Plan, Pull, Tell
from frontguard.storage.sqlite.log import key
from frontguard.storage.sqlite.rescue import Rescued, rescue
from frontguard.storage.sqlite.storage import SqliteStorage
from tests.support.forks import fork
from tests.support.snapshots import refused

PAGE = 4096
WHOLE = Rescued(("main", "side"), plans=11, told=540, lost_studies=0, lost_plans=0, lost=0)


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


def is_subsequence(part: list[Any], whole: list[Any]) -> bool:
    rest = iter(whole)
    return all(any(row == other for other in rest) for row in part)


def check_message(error: BadInput, path: Path) -> None:
    message = str(error)
    assert "\n" not in message
    assert path.name in message
    assert ("frontguard rescue" in message) == isinstance(error, Damaged)


def look_at(path: Path, content: bytes, truth: Truth) -> tuple[bool, Rescued | None]:
    """Open a damaged file, then rescue it, and hold both against the truth."""
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

    new = path.with_name("new.db")
    try:
        rescued = rescue(path, new)
    except BadInput as error:
        if "nothing of a study can be read" not in str(error):
            raise
        assert not new.exists()
        return noticed, None
    assert path.read_bytes() == content
    check_rescued(new, rescued, truth)
    new.unlink()
    assert [other.name for other in path.parent.iterdir()] == [path.name]
    return noticed, rescued


def check_rescued(new: Path, rescued: Rescued, truth: Truth) -> None:
    says = all_of(new, read_only=False)
    assert tuple(says["studies"]) == rescued.studies
    assert sum(says[name][1][0] for name in says["studies"]) == rescued.plans
    assert sum(says[name][1][1] for name in says["studies"]) == rescued.told
    for name in says["studies"]:
        settings, _, plans, told, leases = says[name]
        assert settings == truth.says[name][0]
        assert {lease.worker for lease in leases} <= {"rescued"}
        all_told = truth.says[name][3]
        assert is_subsequence(told, all_told)
        assert all(row[0] <= sum(len(plan[3]) for plan in plans) for row in told)
        numbers = {row[0]: number for number, row in enumerate(all_told, start=1)}
        survivors = [numbers[row[0]] for row in told]
        assert survivors == sorted(survivors)
        for plan, kept in zip(truth.says[name][2], plans, strict=False):
            assert kept == (plan[0], bisect_right(survivors, plan[1]), *plan[2:])
    with SqliteStorage(new) as storage:  # and the study can go on
        for name in says["studies"]:
            told_pulls = {row[0] for row in says[name][3]}
            planned = sum(len(plan[3]) for plan in says[name][2])
            over = {lease.id for lease in storage.leases(name)}
            fresh = [pull.id for pull in storage.hand_out(name, 9999, "new", deadline=1.0)]
            assert sorted([*over, *fresh]) == [p for p in range(1, planned + 1) if p not in told_pulls]
            handed = 520 if name == "main" else 40
            assert all(pull > handed for pull in fresh)  # what was handed out may have been measured: not again


# Damage ---------------------------------------------------------------------------------------------------------------


def test_a_whole_file_is_rescued_whole(tmp_path: Path, truth: Truth) -> None:
    noticed, rescued = look_at(tmp_path / "a.db", truth.content, truth)
    assert not noticed
    assert rescued == WHOLE


def test_truncated_anywhere(tmp_path: Path, truth: Truth) -> None:
    size = len(truth.content)
    rng = random.Random(11)
    cuts = [1, 15, 16, 99, 100, 511, 512, PAGE - 1, PAGE, 2 * PAGE, size - PAGE, size - 1]
    cuts += [rng.randrange(1, size) for _ in range(8)] + [rng.randrange(1, size // PAGE) * PAGE for _ in range(5)]
    saved = []
    for cut in sorted(cuts):
        noticed, rescued = look_at(tmp_path / "a.db", truth.content[:cut], truth)
        whole = rescued is not None and rescued.told == 540  # the end of an index, which readers need not look at
        assert noticed or (whole and cut == size - 1), f"cut to {cut} of {size} bytes"
        saved.append(0 if rescued is None else rescued.told)
    assert saved[-1] > 460  # of a file that lacks its last page, nearly all


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
        noticed += look_at(tmp_path / "a.db", bytes(content), truth)[0]
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
        noticed, rescued = look_at(tmp_path / "a.db", filler + truth.content[len(filler) :], truth)
        assert noticed
        assert rescued is None


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
    rescued = rescue(path, tmp_path / "new.db")
    assert (rescued.told, rescued.lost, rescued.plans) == (539, 1, 11)
    with SqliteStorage(tmp_path / "new.db") as storage:
        assert told_rows(storage, "main") == truth.told[: number - 1] + truth.told[number:]


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
    db.execute(statement.format(end=key(1, 500), middle=key(1, 300), plan=key(1, 8)))
    db.close()
    with refused(Damaged, snapshot):
        all_of(path, read_only=False)
    content = path.read_bytes()
    if "settings" in statement or "UPDATE study" in statement:
        with refused(BadInput, snapshot):
            rescue(path, tmp_path / "new.db")
    else:
        check_rescued(tmp_path / "new.db", rescue(path, tmp_path / "new.db"), truth)
    assert path.read_bytes() == content


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
    rescued = rescue(path, tmp_path / "new.db")
    assert (rescued.told, rescued.lost) == (1099, 1)
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


# Rescue ---------------------------------------------------------------------------------------------------------------


def test_a_rescue_overwrites_nothing(tmp_path: Path, truth: Truth, snapshot: SnapshotAssertion) -> None:
    path, new = tmp_path / "a.db", tmp_path / "new.db"
    path.write_bytes(truth.content)
    new.write_text("mine")
    with refused(BadInput, snapshot):
        rescue(path, new)
    with refused(BadInput, snapshot):
        rescue(path, path)
    assert new.read_text() == "mine"
    with refused(BadInput, snapshot):
        rescue(path, tmp_path / "nowhere" / "new.db")
    with refused(BadInput, snapshot):
        rescue(tmp_path / "nothing.db", tmp_path / "newer.db")
    (tmp_path / "notes.txt").write_text("no study at all" * 1000)
    with refused(BadInput, snapshot):
        rescue(tmp_path / "notes.txt", tmp_path / "newer.db")
    assert sorted(other.name for other in tmp_path.iterdir()) == ["a.db", "new.db", "notes.txt"]


def test_told_pulls_of_lost_plans_are_left_out_and_counted(tmp_path: Path, truth: Truth) -> None:
    path = tmp_path / "a.db"
    path.write_bytes(truth.content)
    db = raw(path)
    db.execute("DELETE FROM plan WHERE id = ?", (key(1, 7),))
    db.execute("DELETE FROM told WHERE id IN (?, ?)", (key(1, 5), key(1, 200)))
    db.close()
    rescued = rescue(path, tmp_path / "new.db")
    kept = [row for row in truth.told if row[0] <= 6 * 54]
    missing = [truth.told[4], truth.told[199]]
    assert rescued.plans == 6 + 1
    assert rescued.lost_plans == 4
    assert rescued.told == len(kept) - 2 + 40
    assert rescued.lost == 540 - rescued.told
    with SqliteStorage(tmp_path / "new.db") as storage:
        assert told_rows(storage, "main") == [row for row in kept if row not in missing]
        told_before = [plan.told for plan in storage.plans("main")]
        assert told_before[:3] == [0, 49, 99]  # the fifth is missing
        assert told_before[5] == 50 * 5 - 2


@pytest.mark.parametrize(
    "statement", ["UPDATE study SET name = 'other' WHERE id = 1", f"DELETE FROM settings WHERE id < {key(2, 0)}"]
)
def test_a_study_whose_name_or_settings_are_lost_is_lost(tmp_path: Path, truth: Truth, statement: str) -> None:
    path = tmp_path / "a.db"
    path.write_bytes(truth.content)
    db = raw(path)
    db.execute(statement)
    db.close()
    rescued = rescue(path, tmp_path / "new.db")
    assert rescued == Rescued(("side",), plans=1, told=40, lost_studies=1, lost_plans=0, lost=0)


def test_counts_that_are_lost_cost_nothing(tmp_path: Path, truth: Truth) -> None:
    path = tmp_path / "a.db"
    path.write_bytes(truth.content)
    db = raw(path)
    db.execute("DELETE FROM progress")
    db.close()
    assert rescue(path, tmp_path / "new.db") == WHOLE
