"""What can still be read of a damaged study file, past the places that cannot.

It works on a copy in a folder of its own, together with the write-ahead log or journal beside the file, so the damaged
file stays as it is byte for byte. Where the beginning of the file is gone, the copy gets the first page of a new file:
tables begin at the same pages in all files.
"""

from __future__ import annotations

import os
import shutil
import struct
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import apsw
import numpy as np

from frontguard.storage.contract import MOST_METRICS, End, Plan, Tell, checked_tells
from frontguard.storage.sqlite.log import STRIDE, is_right, key, row_crc, told_crc
from frontguard.storage.sqlite.schema import (
    APPLICATION,
    PAGE,
    defend,
    first_page,
    foreign_definitions,
    missing_definitions,
    names,
)

_MOST_STUDIES = 100_000  # a larger number is damage
_DAMAGE = (apsw.Error, UnicodeDecodeError)
_PIECE = 1 << 20  # bytes that are copied at a time
_MOST_TO_LOOK_AT = 1 << 28  # bytes of a file that is read for the sake of a message
_SMALLEST_ROW = 24  # bytes of a told pull at least: bounds how many a file can hold

ToldRow = tuple[int, int, bytes, str, str, str, int]  # number, pull, numbers, reason, worker, cluster, end


@dataclass
class Remains:
    """What is left of one study. Rows that do not match their checksums are not among it."""

    id: int
    name: str | None = None
    metrics: int | None = None
    settings: dict[int, str] = field(default_factory=dict)
    plans: dict[int, Plan] = field(default_factory=dict)
    told: dict[int, ToldRow] = field(default_factory=dict)
    plans_written: int | None = None  # as counted when they were written, if that can be read
    told_written: int | None = None
    handed: int | None = None  # pulls up to this one were handed out
    late: list[ToldRow] = field(default_factory=list)


def companion(path: Path, suffix: str) -> Path:
    """The file that SQLite keeps beside a database: `-wal`, `-journal`."""
    return path.with_name(path.name + suffix)


def readable(path: Path) -> str:
    """How many told pulls can be read, in words."""
    if path.stat().st_size > _MOST_TO_LOOK_AT:
        return "an unknown number of told pulls (the file is large)"
    try:
        found = remains_of(path)
    except (OSError, apsw.Error) as error:
        return f"it could not be found out ({error}) how many told pulls"
    told = sum(len(study.told) for study in found)
    written = [study.told_written for study in found]
    of = "" if None in written or not written else f" of {sum(n for n in written if n is not None)}"
    return f"{told}{of} told pulls"


def looks_like_ours(path: Path) -> bool:
    """Whether a file that SQLite does not take has our number in its header, or our tables on its first page."""
    with closing(_pieces(path, PAGE)) as pieces:
        start = next(pieces, b"")
    return start[68:72] == APPLICATION.to_bytes(4, "big") or b"CREATE TABLE told" in start


def remains_of(path: Path) -> list[Remains]:
    """All studies of which something can be read, lowest number first."""
    with TemporaryDirectory(prefix="frontguard-rescue-") as folder:
        for beginning in (None, first_page()):  # as it is; then with a new beginning
            copy = Path(folder) / f"copy-{beginning is None}.db"
            _copy(path, copy, beginning)
            with _opened(copy) as db:
                if beginning is not None or _is_sound(db):
                    found = _read(db, copy.stat().st_size)
                    return [study for study in found if study.settings or study.plans or study.told]
    return []


# The copy -------------------------------------------------------------------------------------------------------------


def _pieces(path: Path, piece: int) -> Generator[bytes, None, None]:
    """The file's bytes, read through SQLite: a plain `open` and `close` would drop this process's locks on it."""
    if path.stat().st_size == 0:
        return
    file = apsw.VFSFile("", str(path), [apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_MAIN_DB, 0])
    try:
        size = file.xFileSize()
        for start in range(0, size, piece):
            yield file.xRead(min(piece, size - start), start)
    finally:
        file.xClose()


def _copy(path: Path, copy: Path, beginning: bytes | None) -> None:
    with copy.open("wb") as out:
        for piece in _pieces(path, _PIECE):
            if piece.count(0) < len(piece):
                out.write(piece)
            else:
                out.seek(len(piece), os.SEEK_CUR)  # what is a hole stays one
        out.truncate(out.tell() + -out.tell() % PAGE)  # the rest of a page that was cut
        if beginning is not None:
            out.seek(0)
            out.write(beginning)
        # Two numbers that differ say "the number of pages in this header is out of date": the size of the file counts.
        for place, number in ((24, b"\0\0\0\2"), (92, b"\0\0\0\1")):
            out.seek(place)
            out.write(number)
    for suffix in ("-wal", "-journal"):
        if companion(path, suffix).exists():
            shutil.copyfile(companion(path, suffix), companion(copy, suffix))


@contextmanager
def _opened(copy: Path) -> Iterator[apsw.Connection]:
    db = apsw.Connection(str(copy))
    try:
        defend(db)
        db.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
        db.execute("PRAGMA writable_schema = ON")  # SQLite overlooks more then
        yield db
    finally:
        db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        db.close()


def _is_sound(db: apsw.Connection) -> bool:
    """Whether the tables are defined as they should be."""
    try:
        db.execute("SELECT id FROM told LIMIT 0")
        # What others have added is left alone, unless it goes by the name of a table of ours.
        foreign = {name.lower() for _, name in foreign_definitions(db)}
        return not missing_definitions(db) and foreign.isdisjoint(names())
    except _DAMAGE:
        return False


# The rows -------------------------------------------------------------------------------------------------------------


def _read(db: apsw.Connection, size: int) -> list[Remains]:
    studies = {id: Remains(id) for id in _ids(db)}
    for study in studies.values():
        most = size // _SMALLEST_ROW
        for row in _rows(db, "study", "id, name, metrics", "id", study.id):
            if _kinds(row, int, str, int) and 0 <= row[2] <= MOST_METRICS:
                study.name, study.metrics = row[1], row[2]
        for row in _rows(db, "progress", "study, plans, planned, told, handed", "study", study.id):
            if _kinds(row, int, int, int, int, int) and 0 <= row[1] <= most and 0 <= row[3] <= most and row[4] >= 0:
                study.plans_written, study.told_written, study.handed = row[1], row[3], row[4]
        place = f"{study.id}, id % {STRIDE}"
        for number, row in _log(db, study, "settings", f"{place}, text", row_crc, min(most, 1000)):
            if _kinds(row[2:], str):
                study.settings[number] = row[2]
        plans = most if study.plans_written is None else study.plans_written
        for number, row in _log(db, study, "plan", f"{place}, told, first, arms, status", row_crc, plans):
            if _kinds(row[2:], int, int, bytes, str) and row[2] >= 0 and len(row[4]) % 8 == 0:
                arms = np.frombuffer(row[4], "<i8").astype(np.int64)
                study.plans[number] = Plan(number, row[2], row[3], arms, row[5])
        told = most if study.told_written is None else study.told_written
        columns = f"{place}, pull, numbers, reason, worker, cluster, ended"
        for number, row in _log(db, study, "told", columns, told_crc, told):
            if _is_told(row[2:8]):
                study.told[number] = row[1:8]
        for row in _rows(db, "late", "study, number, pull, numbers, reason, worker", "study", study.id):
            if _is_told((*row[2:6], "", End.TOLD)):
                study.late.append((*row[1:6], "", End.TOLD))
    return [studies[id] for id in sorted(studies)]


def _kinds(row: Sequence[Any], *kinds: type) -> bool:
    """Whether the fields of a row are of these kinds: a column of SQLite takes anything."""
    return all(type(value) is kind for value, kind in zip(row, kinds, strict=False))


def _is_told(row: Sequence[Any]) -> bool:
    """Whether a row (pull, numbers, reason, worker, cluster, end) is something that a log may hold."""
    if not _kinds(row, int, bytes, str, str, str) or row[5] not in tuple(End) or not row[1] or len(row[1]) % 8:
        return False
    at, *values = struct.unpack(f"<{len(row[1]) // 8}d", row[1])
    tell = Tell(row[0], tuple(values), row[2], row[3], at, End(row[5]), row[4])
    try:
        checked_tells([tell], STRIDE, len(values))
    except ValueError:
        return False
    return True


def _ids(db: apsw.Connection) -> set[int]:
    """Numbers of studies, from wherever one can be seen; a file has a study 1 unless nothing is left."""
    ids = {1}
    for table, column in (
        ("study", "id"),
        ("progress", "study"),
        ("settings", f"id / {STRIDE}"),
        ("plan", f"id / {STRIDE}"),
    ):
        for order in ("ASC", "DESC"):
            try:
                for (id,) in db.execute(f"SELECT {column} FROM {table} ORDER BY 1 {order}"):
                    if isinstance(id, int) and 0 < id < _MOST_STUDIES:
                        ids.add(id)
            except _DAMAGE:
                continue
    return ids


def _rows(db: apsw.Connection, table: str, columns: str, by: str, id: int) -> list[Any]:
    """The good rows of a study in a table, as far as they can be read in one go, the checksum last."""
    found: list[Any] = []
    with suppress(*_DAMAGE):
        found.extend(db.execute(f"SELECT {columns}, crc FROM {table} WHERE {by} = {id} ORDER BY {by}"))
    return [row for row in found if is_right(row)]


def _log(
    db: apsw.Connection, study: Remains, table: str, columns: str, checksum: Callable[..., int], last: int
) -> Iterator[tuple[int, Any]]:
    """Good rows of a log with their numbers.

    Read on from the last good row for as long as it goes; where it does not go on, try the numbers that follow one by
    one, each by its own way through the tree, until one can be read, and go on from there.
    """
    select = f"SELECT {columns}, crc FROM {table} WHERE id"
    number = 0
    while True:
        try:
            for row in db.execute(
                f"{select} > ? AND id < ? ORDER BY id", (key(study.id, number), key(study.id + 1, 0))
            ):
                if is_right(row, checksum):
                    number = max(number, row[1])
                    yield row[1], row
            return
        except _DAMAGE:
            pass
        while True:
            number += 1
            if number > last:
                return
            try:
                one = db.execute(f"{select} = ?", (key(study.id, number),)).fetchone()
            except _DAMAGE:
                continue
            if one is not None and is_right(one, checksum):
                yield number, one
                break
