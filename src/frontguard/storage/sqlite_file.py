"""A study file and the one connection of this process to it: opening, waiting, transactions, forks, errors.

**One connection under a lock**, closed just before a fork, and opened again when it is next needed, by parent and child
alike. SQLite notes in the memory of the process which locks it holds on a file: a child inherits the notes but not the
locks, and a connection that it opens would trust the notes.

**Waiting** is a sleep of about a millisecond, at random, until the lock is free. Who had to wait lately also sleeps a
moment before it tries at all: otherwise who has just written would find the lock free again while the others sleep.

**Writers share a sync.** With a write-ahead log, a transaction is committed without one, and the log is synced after
the lock was let go: one sync makes durable what all processes have committed by then. What is read may not be durable
yet, but no crash leaves a reader behind that knows more than the file. And the log is kept as a whole up to some frame:
nothing survives a crash without all that came before it.

**Nobody else opens the file in this process**: POSIX drops all locks of a process on a file when any descriptor of it
is closed. (SQLite locks the file itself and its shared memory, never the log.)

**A file may come from a stranger.** Its schema can hold programs (triggers, views, generated columns, virtual tables)
that run when it is read or written to. So a file whose schema is not ours to the letter is refused, and connections are
told beforehand (`defend`) to run nothing of it.
"""

from __future__ import annotations

import ctypes
import os
import random
import shlex
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, Literal, NoReturn, TypeVar

import apsw
import psutil

from frontguard._common.machine import hold_over_forks
from frontguard._common.secrets import make_private, without_password
from frontguard.errors import BadInput
from frontguard.phrases import visible
from frontguard.storage.contract import LOGGER, SAID_AFTER, Damaged, NothingThere, Unavailable

Journal = Literal["wal", "rollback"]
Answer = TypeVar("Answer")

_SMALLEST = 512  # bytes of an SQLite database
_MOMENT = 5.0  # seconds for which the end of others' reads is waited for, before a log is moved into its file
_LATELY = 0.05  # seconds for which the log beside the file is taken for the one that it was
_LONGEST = 300  # characters of what is said of damage: names may be of any length
_GIVE_WAY = 0.1  # seconds after the last wait in which a writer leaves the others a chance

# What SQLite and apsw raise where a file does not hold what it should.
_UNREADABLE = (apsw.CorruptError, apsw.NotADBError, apsw.TooBigError, apsw.NoMemError, apsw.MismatchError)

_BEGIN_AGAIN = "End all processes that use the file, and begin again"

_OF_THE_DISK = (
    (apsw.FullError, "nothing was written, the disk is full"),
    (apsw.ReadOnlyError, "nothing was written, the file or its folder is read-only"),
    (apsw.IOError, "nothing was written, the disk reports an error"),
    ((apsw.CantOpenError, apsw.PermissionsError), "it cannot be opened, or the files beside it"),
)


class Busy(Unavailable):
    """Another process held the file for longer than we were to wait. Nothing was written."""


class NotAsWritten(Exception):
    """A row that is missing or does not match its checksum; the message says which."""


class StudyFile:
    """The connection of this process to a study file; `read` and `write` run a piece of work as one transaction."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        read_only: bool,
        journal: Journal | None,
        wait: float,
    ) -> None:
        self.name = os.fspath(path)
        self.path = Path(os.path.realpath(path))  # where SQLite puts the files beside it
        self.read_only = read_only
        self.wait = wait
        self.journal: Journal = "rollback"
        self.why = ""
        self._wanted = journal
        self._lock = threading.RLock()
        self._db: apsw.Connection | None = None
        self._pid = os.getpid()
        self._file: tuple[int, int] | None = None  # device and inode, once it was opened
        self._seen: object = None  # read-only: what the files looked like when the connection was opened
        self._waiting_since = 0.0
        self._said = False
        self._last_wait = -1.0
        self._refusal: BadInput | None = None  # once it is damaged, or its log was removed: nothing is written to it
        self._log = -1  # descriptor of the write-ahead log that we write to
        self._place, self._log_name = str(self.path), str(companion(self.path, "-wal"))
        self._log_seen = 0.0  # when it was last seen beside the file
        hold_over_forks(self)
        with self._lock:
            self._guarded(self._connection)

    def read(self, work: Callable[[apsw.Connection], Answer]) -> Answer:
        """Run work that reads: it sees one state of the file."""

        def attempt() -> Answer:
            db = self._connection()
            with transaction(db, "DEFERRED"):
                return work(db)

        with self._lock:
            for _ in range(3 if self.read_only else 0):
                try:
                    answer = self._guarded(attempt)
                except Damaged:
                    if not self._changed():
                        raise
                else:
                    if not self._changed():
                        return answer
            return self._guarded(attempt)

    def write(self, work: Callable[[apsw.Connection], Answer], *, durable: bool = True) -> Answer:
        """Run work that writes, all or nothing; when this returns it is on the disk, or, if not `durable`, soon."""
        if self.read_only:
            raise BadInput(f"{self.name} was opened read-only")

        def attempt() -> Answer:
            db = self._connection()
            now = time.monotonic()
            if now - self._last_wait < _GIVE_WAY:
                time.sleep(random.uniform(0.0, 0.001))
            if now - self._log_seen > _LATELY:
                if not self._log_is_ours():
                    self._raise_log_gone(db)
                self._log_seen = now
            with transaction(db, "IMMEDIATE"):
                answer = work(db)
            # What went into a log that was removed meanwhile is acknowledged only once it is in the file.
            if self._log >= 0 and not os.access(self._log_name, os.F_OK):
                if not self._saved_from_log(db):
                    self._raise_log_gone(db)
                self._log_seen = 0.0
            return answer

        with self._lock:
            if self._refusal is not None:
                raise type(self._refusal)(str(self._refusal))
            answer = self._guarded(attempt)
            log = os.dup(self._log) if durable and self._log >= 0 else -1  # another thread may close it
        if log >= 0:
            self._sync(log)
        return answer

    def _sync(self, log: int) -> None:
        """Bring the log to the disk and close it, with no second try: what could not be written may be dropped."""
        try:
            _to_disk(log)
        except OSError as error:
            what = f"{self.name}: the disk reports an error ({error}), and what was told last may be lost"
            self._refusal = Unavailable(f"{what}. {_BEGIN_AGAIN}")
            raise self._refusal from error
        finally:
            os.close(log)

    def close(self) -> None:
        """Move the log into the file, for who copies that alone, unless others keep us from it; and close."""
        with self._lock:
            db, ours = self._db, self._pid == os.getpid()
            if (
                db is not None
                and ours
                and not self.read_only
                and self.journal == "wal"
                and not isinstance(self._refusal, Damaged)
            ):
                self._move_log_into_file(db, _MOMENT)
            self._disconnect()

    def _move_log_into_file(self, db: apsw.Connection, wait: float) -> bool:
        """Move the write-ahead log into the file and cut it to nothing; False if others keep us from it."""
        db.set_busy_timeout(int(1000.0 * wait))  # readers are in short reads; others may be at a long one
        try:
            db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        except apsw.Error:
            return False  # it is safe where it is
        finally:
            db.set_busy_handler(self._busy)
        return True

    def _before_fork(self) -> None:
        if self._db is None or self._db.get_autocommit():  # not from within a transaction of this very thread
            self._disconnect()

    def _disconnect(self, *, as_it_is: bool = False) -> None:
        """Close the connection; if the file is to stay `as_it_is`, without moving the log into it."""
        with self._lock:
            db, self._db = self._db, None
            if db is None:
                return
            if self._log >= 0:
                os.close(self._log)
                self._log = -1
            if self._pid == os.getpid():
                _close(db, self.path if as_it_is else None)
            else:
                # Forked behind Python's back. Closing would let go of locks that are the parent's: never let it happen.
                ctypes.pythonapi.Py_IncRef(ctypes.py_object(db))

    def _connection(self) -> apsw.Connection:
        if self._db is not None and (self._pid != os.getpid() or self._changed()):
            self._disconnect()
        if self._db is None:
            self._pid = os.getpid()
            self._db = self._open_to_read() if self.read_only else self._open_to_write()
        self._still_there()
        return self._db

    def _still_there(self) -> None:
        """SQLite would go on writing into a file that was deleted, and every acknowledgement would be a lie."""
        try:
            status = os.stat(self._place)
        except OSError:
            status = None
        if status is None or self._file not in (None, (status.st_dev, status.st_ino)):
            self._disconnect()
            raise Unavailable(f"{self.name} was removed or replaced by another file while it was in use")
        self._file = status.st_dev, status.st_ino

    def _log_is_ours(self) -> bool:
        """True if our write-ahead log is still beside the file. Asked now and then: on ext4 it is slow."""
        try:
            return self._log < 0 or os.path.samestat(os.stat(self._log_name), os.fstat(self._log))
        except OSError:
            return False

    def _saved_from_log(self, db: apsw.Connection) -> bool:
        """Move what is in a log that is gone, and that we still have, into the file; not if another is in its place."""
        return not os.path.exists(self._log_name) and self._move_log_into_file(db, _MOMENT)

    def _raise_log_gone(self, db: apsw.Connection) -> NoReturn:
        saved = self._saved_from_log(db)
        what = "what was told is in the file now, and nothing is lost" if saved else "what was told last may be lost"
        self._refusal = Unavailable(f"{self._log_name} was removed or replaced while in use: {what}. {_BEGIN_AGAIN}")
        db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        self._disconnect()
        raise self._refusal

    def _open_to_write(self) -> apsw.Connection:
        checked_place(self.path, self.name, read_only=False)
        if self._file is not None:
            self._still_there()
        self._not_cut_to_nothing()
        create = apsw.SQLITE_OPEN_CREATE if self._file is None else 0
        if create:
            make_private(self.path)  # the files beside it get its mode
        db = apsw.Connection(str(self.path), flags=apsw.SQLITE_OPEN_READWRITE | create)
        try:
            defend(db)
            db.set_busy_handler(self._busy)
            db.execute(f"PRAGMA page_size = {PAGE_SIZE}")  # of a new file
            db.execute("PRAGMA fullfsync = ON")  # macOS: to the disk, not to its cache
            new = not self._has_tables(db)
            if db.readonly("main"):
                raise BadInput(f"{self.name} cannot be written: no permission; it can be opened read-only")
            self.journal, self.why = self._choose_journal(db)
            db.execute("PRAGMA synchronous = FULL")
            if new:
                create_tables(db)
            if self.journal == "wal":
                db.execute("PRAGMA synchronous = NORMAL")  # what is to be durable is synced by `_sync`
                db.execute("SELECT 1 FROM study").fetchone()  # from the first read on, the log is there and open
                self._log = os.open(self._log_name, os.O_RDWR)
        except BaseException:
            _close(db, as_it_is=self.path)
            raise
        return db

    def _open_to_read(self) -> apsw.Connection:
        """Without a log or journal beside it nobody writes: then no lock is taken, and a change seen afterwards."""
        checked_place(self.path, self.name, read_only=True)
        self._not_cut_to_nothing()
        self._seen = self._look()
        if self._seen is None:
            db = apsw.Connection(str(self.path), flags=apsw.SQLITE_OPEN_READONLY)
        else:
            flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
            db = apsw.Connection(f"{self.path.as_uri()}?immutable=1", flags=flags)
        try:
            defend(db)
            db.set_busy_handler(self._busy)
            if not self._has_tables(db):
                raise NothingThere(f"{self.name} is empty: there is no study in it")
            self.journal = "wal" if db.pragma("journal_mode") == "wal" else "rollback"
            self.why = "opened read-only"
        except apsw.CantOpenError as error:
            db.close()
            log = companion(self.path, "-wal").name
            raise BadInput(
                f"{self.name} cannot be read in a folder that cannot be written: copy it with {log} ({error})"
            ) from None
        except BaseException:
            db.close()
            raise
        return db

    def _not_cut_to_nothing(self) -> None:
        """SQLite deletes the log beside an empty file; it may be all that is left of a study."""
        log = companion(self.path, "-wal")
        if self.path.exists() and self.path.stat().st_size == 0 and log.exists() and log.stat().st_size > 0:
            self._raise_damaged(f"it is empty, but {log.name} beside it is not")

    def _has_tables(self, db: apsw.Connection) -> bool:
        """Return True if there are tables of ours; False for an empty file. Refuses what is not ours to the letter."""
        untouched = "nothing was changed"
        try:
            if 0 < self.path.stat().st_size < _SMALLEST:
                raise apsw.NotADBError("it is too short")  # SQLite takes a file of one byte for a new one
            # One transaction, so that all three are of one moment: another process may be creating the tables right
            # now. And statements that no table or view of the file can stand in for, whatever it is called.
            with transaction(db, "DEFERRED"):
                application, version = db.pragma("application_id"), db.pragma("user_version")
                tables = db.execute("SELECT count(*) FROM sqlite_schema").get
        except apsw.NotADBError:
            raise BadInput(f"{self.name} is no SQLite database, and so no study file; {untouched}") from None
        if application == version == tables == 0:
            return False
        if application != APPLICATION:
            raise BadInput(f"{self.name} is a database of another program, not a study file; {untouched}")
        if version != VERSION:
            step = "; update frontguard" if version > VERSION else ""
            ours = f"this frontguard reads {VERSION}{step}; {untouched}"
            raise BadInput(f"{self.name} has version {version} of the format, and {ours}")
        wanted, found = _definitions(), Counter(_defined_in(db))
        for _, name, _, _ in sorted(wanted - set(found), key=str):
            raise NotAsWritten(f"the definition of {name} is missing or changed")
        for kind, name, *_ in sorted(found - Counter(wanted), key=str):
            raise NotAsWritten(f"it has a {kind} {str(name)[:60]!r} that no study file has")
        return True

    def _choose_journal(self, db: apsw.Connection) -> tuple[Journal, str]:
        """Bring the file into the journal mode that is safe here, and say why."""
        why = "as asked for"
        if self._wanted != "rollback":
            try:
                if self._set_journal(db, "wal", min(5.0, self.wait)):
                    return "wal", "readers and writers do not wait for each other"
                why = "because this file system has no shared memory for a write-ahead log"
            except Busy:
                why = "because other processes use the file so"
        self._set_journal(db, "truncate", self.wait)
        return "rollback", why

    def _set_journal(self, db: apsw.Connection, mode: str, wait: float) -> bool:
        # Changing the mode needs the file for oneself alone, and SQLite does not ask the busy handler for that.
        end = time.monotonic() + wait
        while True:
            try:
                return bool(db.pragma("journal_mode", mode) == mode)
            except apsw.BusyError:
                if time.monotonic() > end:
                    raise Busy(f"{self.name} cannot change its journal: {_held_by(self.path)}") from None
                time.sleep(random.uniform(0.001, 0.005))

    def _look(self) -> object:
        """Return the looks of the file when nobody writes to it, None when somebody does."""
        for suffix in ("-wal", "-journal"):
            beside = companion(self.path, suffix)
            if beside.exists() and beside.stat().st_size > 0:
                return None
        status = os.stat(self.path)
        return status.st_ino, status.st_size, status.st_mtime_ns

    def _changed(self) -> bool:
        """Say whether a connection without locks has read, or would read, a file that somebody changes."""
        return self._seen is not None and self._seen != self._look()

    def _busy(self, attempts: int) -> bool:
        self._last_wait = time.monotonic()
        waited = self._last_wait - self._waiting_since
        if attempts == 0:
            self._waiting_since, self._said = self._last_wait, False
        elif waited > SAID_AFTER and not self._said:  # also where a busy machine let the whole wait go by
            self._said = True
            LOGGER.warning("frontguard: waiting for %s, which is in use; %s", self.name, _held_by(self.path))
        elif waited > self.wait:
            return False
        time.sleep(random.uniform(0.0002, 0.0018) if attempts < 200 else random.uniform(0.001, 0.005))
        return True

    def _guarded(self, work: Callable[[], Answer]) -> Answer:
        """Run work; what SQLite raises becomes what the user can understand."""
        try:
            return work()
        except (*_UNREADABLE, NotAsWritten, UnicodeDecodeError) as error:
            self._raise_damaged(str(error), error)
        except (apsw.BusyError, apsw.ProtocolError) as error:
            raise Busy(f"{self.name} was in use for more than {self.wait:g} s; {_held_by(self.path)}") from error
        except apsw.Error as error:
            if "unsupported file format" in str(error):  # a byte of the header; SQLite has no code of its own for it
                self._raise_damaged(str(error), error)
            for kinds, what in _OF_THE_DISK:
                if isinstance(error, kinds):
                    raise Unavailable(f"{self.name}: {what} ({error})") from error
            raise

    def _raise_damaged(self, what: str, error: Exception | None = None) -> NoReturn:
        self._disconnect(as_it_is=True)
        said = visible(" ".join(what.split()))[:_LONGEST]  # in one line
        self._refusal = Damaged(
            f"{self.name} is damaged: {said}. Restore a copy, or try `sqlite3 {shlex.quote(self.name)} "
            ".recover | sqlite3 NEW`, which mends it if no measurement is lost. Nothing was changed"
        )
        raise self._refusal from error


def _to_disk(descriptor: int) -> None:
    """Wait until all that was written to a file is on the disk."""
    if sys.platform == "darwin":  # to the disk, not to its cache
        import fcntl

        fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
    else:
        getattr(os, "fdatasync", os.fsync)(descriptor)


def companion(path: Path, suffix: str) -> Path:
    """The file that SQLite keeps beside a database: `-wal`, `-journal`."""
    return path.with_name(path.name + suffix)


def checked_place(path: Path, name: str, *, read_only: bool) -> None:
    """Refuse a path that cannot be a study file, before SQLite says it in fewer words."""
    if path.is_dir():
        raise BadInput(f"{name} is a folder; wanted a study file")
    if not path.parent.is_dir():
        raise BadInput(f"{name} cannot be opened: there is no folder {path.parent}")
    if read_only and not path.exists():
        raise NothingThere(f"{name} does not exist")
    if path.exists() and not os.access(path, os.R_OK):
        raise BadInput(f"{name} cannot be opened: no permission to read it")
    if not read_only and not all(os.access(each, os.W_OK) for each in (path, path.parent) if each.exists()):
        raise BadInput(f"{name} cannot be written: no permission for it or its folder")


def _held_by(path: Path) -> str:
    """Return which processes have the file open, as far as this system tells."""
    holders = []
    for process in psutil.process_iter():
        try:
            if process.pid != os.getpid() and any(opened.path == str(path) for opened in process.open_files()):
                holders.append(f"{process.pid} ({without_password(' '.join(process.cmdline()))[:60]})")
        except (psutil.Error, OSError):  # it ended meanwhile, or belongs to another user
            continue
    return "held by process " + ", ".join(holders[:5]) if holders else "the holder is unknown: another user or machine?"


def _close(db: apsw.Connection, as_it_is: Path | None = None) -> None:
    """Close; a file that is to stay as it is without moving its log into it, as the last to close would do."""
    log = as_it_is and companion(as_it_is, "-wal")
    if log is not None and log.exists() and log.stat().st_size > 0:
        db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    db.close()


NETWORKS = ("nfs", "cifs", "smb", "sshfs", "9p", "afs", "gluster", "lustre", "ceph", "beegfs", "gpfs", "davfs")
"""File systems of other machines, by a part of their names: there locks may not hold, on which SQLite relies."""

SLOW = 0.2
"""Seconds that one sync may take before it is mentioned: every pull that is told waits for one."""


def network_of(path: Path) -> str:
    """The kind of the network file system that a path is on; "" if it is on none, or nobody knows."""
    mounts: dict[str, str] = {}
    with suppress(OSError, psutil.Error):
        mounts = {each.mountpoint: each.fstype for each in psutil.disk_partitions(all=True)}
    nearest = next((mounts[str(folder)] for folder in (path, *path.parents) if str(folder) in mounts), "")
    return nearest if any(part in nearest.lower() for part in NETWORKS) else ""


def sync_seconds(folder: Path) -> float:
    """Return the seconds that a small file in a folder takes to reach the disk; 0 if that cannot be tried."""
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"frontguard")
            file.flush()
            begun = time.perf_counter()
            os.fsync(file.fileno())
            return time.perf_counter() - begun
    except OSError:
        return 0.0


APPLICATION = 0x46524744  # "FRGD", in the header of the file: `PRAGMA application_id`
VERSION = 6  # `PRAGMA user_version`
PAGE_SIZE = 4096

# `crc` is the checksum of all that a row says (`row_crc`).
# `numbers` are little-endian doubles: the time (seconds since the epoch), then a value for each metric.
# `progress` counts plans, their pulls, told pulls, settings, and `handed`: pulls up to this one were handed out or
# told. Of a study that was forgotten it keeps a row, with -1 plans, so that no other study gets its number.
_CRC = "crc INTEGER NOT NULL"
_TABLES = (
    f"CREATE TABLE study (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, metrics INTEGER NOT NULL, {_CRC})",
    f"CREATE TABLE settings (id INTEGER PRIMARY KEY, text TEXT NOT NULL, {_CRC})",
    "CREATE TABLE progress (study INTEGER PRIMARY KEY, plans INTEGER NOT NULL, planned INTEGER NOT NULL, "
    f"told INTEGER NOT NULL, handed INTEGER NOT NULL, settings INTEGER NOT NULL, {_CRC})",
    "CREATE TABLE plan (id INTEGER PRIMARY KEY, told INTEGER NOT NULL, first INTEGER NOT NULL, arms BLOB NOT NULL, "
    f"status TEXT NOT NULL, {_CRC})",
    "CREATE TABLE told (id INTEGER PRIMARY KEY, study INTEGER NOT NULL, pull INTEGER NOT NULL, numbers BLOB NOT NULL, "
    f"reason TEXT NOT NULL, worker TEXT NOT NULL, cluster TEXT NOT NULL, ended INTEGER NOT NULL, {_CRC})",
    "CREATE UNIQUE INDEX told_pull ON told (study, pull)",
    "CREATE TABLE lease (study INTEGER NOT NULL, pull INTEGER NOT NULL, worker TEXT NOT NULL, deadline REAL NOT NULL, "
    f"{_CRC}, PRIMARY KEY (study, pull)) WITHOUT ROWID",
    "CREATE TABLE late (study INTEGER NOT NULL, number INTEGER NOT NULL, pull INTEGER NOT NULL, numbers BLOB NOT NULL, "
    f"reason TEXT NOT NULL, worker TEXT NOT NULL, {_CRC}, PRIMARY KEY (study, number), UNIQUE (study, pull)) "
    "WITHOUT ROWID",
)


LONGEST = 1 << 28
"""Bytes of the longest text or blob that is read or written: a plan of thirty million pulls."""

_DEFENCES = {
    apsw.SQLITE_DBCONFIG_DEFENSIVE: 1,
    apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA: 0,
    apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER: 0,
    apsw.SQLITE_DBCONFIG_ENABLE_VIEW: 0,
    apsw.SQLITE_DBCONFIG_ENABLE_FKEY: 0,
    apsw.SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION: 0,
}


def defend(db: apsw.Connection) -> None:
    """Run nothing that a file brings along, and believe no size that it states."""
    for option, value in _DEFENCES.items():
        db.config(option, value)
    db.limit(apsw.SQLITE_LIMIT_ATTACHED, 0)
    db.limit(apsw.SQLITE_LIMIT_LENGTH, LONGEST)
    db.execute("PRAGMA cell_size_check = ON")


@contextmanager
def transaction(db: apsw.Connection, kind: Literal["DEFERRED", "IMMEDIATE"]) -> Iterator[None]:
    """All that is done within it, or nothing."""
    db.execute(f"BEGIN {kind}")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if not db.get_autocommit():  # SQLite may have ended it itself
            db.execute("ROLLBACK")
        raise


def create_tables(db: apsw.Connection) -> None:
    """Make the tables of an empty file; of several processes that come at once, the first does."""
    with transaction(db, "IMMEDIATE"):
        if db.pragma("user_version") == 0:
            for statement in _TABLES:
                db.execute(statement)
            db.execute(f"PRAGMA application_id = {APPLICATION}")
            db.execute(f"PRAGMA user_version = {VERSION}")


def _defined_in(db: apsw.Connection) -> list[Any]:
    return list(db.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema"))


@cache
def _definitions() -> set[Any]:
    with closing(apsw.Connection(":memory:")) as db:
        create_tables(db)
        return set(_defined_in(db))
