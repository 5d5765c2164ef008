"""Studies on a PostgreSQL server, for workers on many machines.

Connections are a list of our own, because `psycopg_pool` connects in threads, which no fork survives, and answers with
a bare timeout.

What changes several rows at once is a function on the server (`schema.sql`), which locks the study's row first: one
round trip and one transaction, so no worker that hangs can hold a lock. That row keeps the number of told pulls, and
PostgreSQL lets a lock go only after the commit can be seen: nobody sees the n-th without the (n−1)-th.

Told pulls and plans are flushed to disk before anybody can see them (`synchronous_commit`). Plans too, since workers on
other machines outlive a crash of the server: a plan that was made anew could give another arm to the pulls in their
hands. Only that a lease was renewed or given back may be lost.

Every write carries the id of its call: one that is repeated after a lost connection finds what it did the first time.
"""

from __future__ import annotations

import os
import random
import re
import threading
import time
import uuid
import weakref
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib.resources import files
from types import ModuleType
from typing import TYPE_CHECKING, Any, LiteralString, NamedTuple, TypeVar
from urllib.parse import quote, unquote

import numpy as np

from frontguard._common.secrets import SECRET_KEYS
from frontguard.errors import BadInput
from frontguard.phrases import visible
from frontguard.storage.contract import (
    LOGGER,
    MOST_METRICS,
    SAID_AFTER,
    Damaged,
    End,
    NothingThere,
    Plan,
    Pull,
    Storage,
    StudyExists,
    Tell,
    Told,
    UnknownStudy,
    check_tells,
    fault_of,
    fault_of_plans,
)

if TYPE_CHECKING:
    import psycopg
    from psycopg import Connection


Answer = TypeVar("Answer")

# The server notices a dead client by itself; these make a client notice a dead server.
DEFAULTS = {
    "application_name": "frontguard",
    "connect_timeout": "10",
    "keepalives_idle": "30",
    "keepalives_interval": "10",
    "keepalives_count": "3",
    "tcp_user_timeout": "60000",
}
VERSION = 5  # of the tables
DEFINITIONS = files(__package__).joinpath("schema.sql").read_text("utf-8")
PAGE = 50_000  # told pulls read at once: enough to be fast, little enough to fit in any memory

RETRY = ("40001", "40P01")  # the server asks to try again: serialization failures and deadlocks
ALLOWED = "postgresql://USER:PASSWORD@HOST:PORT/DATABASE, with special characters as %-codes (@ is %40, / is %2F)"


class Connections:
    """Runs work on a connection for each thread; again, for up to `patience` seconds, where a connection is lost."""

    def __init__(self, url: str, *, read_only: bool, patience: float) -> None:
        try:
            import psycopg
        except ImportError as error:
            raise BadInput(
                'studies on PostgreSQL need psycopg, which is not installed: pip install "frontguard[postgres]"'
            ) from error
        self._psycopg: ModuleType = psycopg
        self._parameters = _parsed(psycopg, url)
        written = re.match(r"^\w+://[^:@/]*:([^@]*)@", url)
        secrets = [str(self._parameters.get(name, "")) for name in SECRET_KEYS] + [os.environ.get("PGPASSWORD", "")]
        if written is not None:
            secrets += [written[1], unquote(written[1])]
        secrets += [quote(secret, safe="") for secret in secrets]
        self._secrets = sorted({secret for secret in secrets if secret}, key=len, reverse=True)
        self.where = _where(self._parameters)
        self._read_only = read_only
        self._patience = patience
        self._closed = False
        self._is_silent = False
        self._lock = threading.Lock()
        self._idle: list[Connection[Any]] = []
        weakref.finalize(self, _close, self._idle).atexit = False  # also those of a storage that nobody closed
        _alive.add(self)

    def run(self, work: Callable[[Connection[Any]], Answer]) -> Answer:
        """Return what `work` does. Raises `ConnectionError` when the server stays away for longer than our patience."""
        started = time.monotonic()
        attempt = 0
        while True:
            try:
                with self._connection() as connection:
                    answer = work(connection)
                self._is_silent = False
                return answer
            except self._psycopg.Error as error:
                if not self._is_passing(error):
                    raise
                waited = time.monotonic() - started
                if waited > self._patience:
                    raise ConnectionError(
                        f"no answer from {self.where} for {waited:.0f} s: {self.said(error)}"
                    ) from None
                self._note_silence(waited, self.said(error))
                if error.sqlstate not in RETRY:
                    self._drop_idle()  # what this connection met, the others will meet
                attempt += 1
                time.sleep(random.uniform(0.5, 1.0) * min(0.02 * 2**attempt, 1.0))

    def _note_silence(self, seconds: float, why: str) -> None:
        """Say, once until the server answers again, that it has been waited for."""
        if seconds > SAID_AFTER and not self._is_silent:
            self._is_silent = True
            silent = "frontguard: no answer from %s for %.0f s, trying on: %s"
            LOGGER.warning(silent, self.where, seconds, why)

    def _watched(self, waiting: Generator[Any, Any, Answer]) -> Generator[Any, Any, Answer]:
        """Return psycopg's generator, which notes silence, and gives up where nothing else would."""
        began, limit = time.monotonic(), 2.0 * max(self._patience, SAID_AFTER)
        try:
            wanted = next(waiting)
            while True:
                ready = yield wanted
                seconds = time.monotonic() - began
                self._note_silence(seconds, "it has taken a request, and does not answer")
                if seconds > limit:
                    raise self._psycopg.OperationalError(f"the server has been silent for {seconds:.0f} s")
                wanted = waiting.send(ready)
        except StopIteration as ended:
            answer: Answer = ended.value
            return answer

    def first(self, work: Callable[[Connection[Any]], Answer]) -> Answer:
        """Do the same for the first work of all: a server that is not there is then a wrong address, told at once."""
        try:
            with self._connection():
                pass
        except self._psycopg.OperationalError as error:
            if error.sqlstate != "57P03":  # it is starting up: worth our patience
                raise BadInput(f"cannot open {self.where}: {self.said(error)}") from None
        return self.run(work)

    def said(self, error: BaseException) -> str:
        """The error in one line, without a password."""
        text = visible(" ".join(str(error).split()))
        for secret in self._secrets:
            text = text.replace(secret, "…")
        return text

    def close(self) -> None:
        """Close the connections that are not at work; those at work are closed when they are given back."""
        with self._lock:
            self._closed = True
        self._drop_idle()

    @contextmanager
    def _connection(self) -> Iterator[Connection[Any]]:
        with self._lock:
            if self._closed:
                raise BadInput(f"the storage at {self.where} was closed")
            idle = self._idle.pop() if self._idle else None
        connection = idle or self._connect()
        try:
            yield connection
        except BaseException:
            connection.close()  # whatever state it is in
            raise
        with self._lock:
            if not self._closed:
                self._idle.append(connection)
                return
        connection.close()

    def _connect(self) -> Connection[Any]:
        owner = weakref.ref(self)  # a connection keeps nothing alive: it is closed with what it belongs to

        class Watched(self._psycopg.Connection):  # type: ignore[name-defined, misc]
            def wait(self, gen: Any, *args: Any, **options: Any) -> Any:
                its = owner()
                return super().wait(gen if its is None else its._watched(gen), *args, **options)

        connection: Connection[Any] = Watched.connect(**self._parameters, autocommit=True)
        settings = {
            # Each statement is to see what others committed before it, whatever the server's own default.
            "default_transaction_isolation": "read committed",
            # Writers wait for each other, but for nobody for ever.
            "lock_timeout": f"{max(int(self._patience), 1)}s",
            # All lookups here are by index; a plan that was made while a table was small must not say otherwise.
            "enable_seqscan": "off",
            "jit": "off",  # compiling a query takes longer than any of ours
            "default_transaction_read_only": "on" if self._read_only else "off",
        }
        try:
            connection.execute(
                "SELECT set_config(name, setting, false) FROM unnest(%s::text[], %s::text[]) AS s (name, setting)",
                [list(settings), list(settings.values())],
            )
        except BaseException:
            connection.close()
            raise
        return connection

    def _drop_idle(self) -> None:
        with self._lock:
            dropped = self._idle[:]
            self._idle.clear()
        _close(dropped)

    def _is_passing(self, error: psycopg.Error) -> bool:
        """Return True if the same work may succeed later: no connection, or a server that is going or coming."""
        state = error.sqlstate
        if state is None:  # from the client's side: nobody answered
            return isinstance(error, self._psycopg.OperationalError)
        return state in RETRY or state[:2] == "08" or state in ("57P01", "57P02", "57P03", "53300")


_alive: weakref.WeakSet[Connections] = weakref.WeakSet()
_of_parents: list[Connection[Any]] = []  # kept, so that nothing is said on them when they would be collected


def _close(connections: list[Connection[Any]]) -> None:
    for connection in connections:
        connection.close()


def _after_fork() -> None:
    """In a child process: the parent's connections are the parent's; closing them here would end them there."""
    for connections in list(_alive):
        _of_parents.extend(connections._idle)
        connections._idle.clear()
        connections._lock = threading.Lock()


os.register_at_fork(after_in_child=_after_fork)


def _parsed(psycopg: ModuleType, url: str) -> dict[str, Any]:
    # Errors of the parser quote what they stumble over, and that may be a piece of the password: none is passed on.
    authority = re.sub(r"^\w+://", "", url).partition("?")[0]
    if authority.count("@") > 1:
        raise BadInput(f"the address of the database has more than one @: write {ALLOWED}")
    try:
        given = psycopg.conninfo.conninfo_to_dict(url)
        int(str(given.get("port", "0")).split(",")[0] or "0")
    except (psycopg.Error, ValueError):
        raise BadInput(f"the address of the database cannot be read: write {ALLOWED}") from None
    return {**DEFAULTS, **given, "client_encoding": "utf8"}


def _where(parameters: dict[str, Any]) -> str:
    """The database as people name it: user, host, port, database, or its service; no password."""

    def known(name: str, variable: str) -> str:
        return str(parameters.get(name) or os.environ.get(variable, ""))

    host, service = known("host", "PGHOST"), known("service", "PGSERVICE")
    if service and not host:
        return f"postgresql://?service={service}"
    user, port = known("user", "PGUSER"), known("port", "PGPORT")
    server = f"{user}{'@' if user else ''}{host or 'localhost'}{':' if port else ''}{port}"
    return f"postgresql://{server}/{known('dbname', 'PGDATABASE')}"


class _Known(NamedTuple):
    """The facts of a study that never change, except that more pulls are planned."""

    id: int
    metrics: int
    planned: int


class PostgresStorage(Storage):
    """Studies in the tables of `schema` of the database at `url`, which are made when they are not there.

    For `patience` seconds a server that is away is tried again and a lock is waited for. A tell that raises
    `ConnectionError` after that may have been written; telling it again is safe.
    """

    def __init__(
        self, url: str, *, schema: str = "frontguard", read_only: bool = False, patience: float = 60.0
    ) -> None:
        if not re.fullmatch(r"[a-z_][a-z0-9_]{0,62}", schema):  # a name that can stand in SQL as it is
            raise BadInput(f"schema must be small letters, digits and underscores, 63 at most; got {schema!r}")
        self._schema = schema
        self._read_only = read_only
        self._known: dict[str, _Known] = {}
        self._sound: set[int] = set()  # studies whose counts were held against their plans
        self._connections = Connections(url, read_only=read_only, patience=patience)
        self.where = self._connections.where
        try:
            self._connections.first(self._prepare)
        except BaseException as error:
            self._connections.close()
            raise self._explained(error) from None

    def describe(self) -> str:
        version, warning = self._durability()
        safe = "told pulls are on the server's disk when they are acknowledged"
        return f"PostgreSQL {version} at {self.where}, schema {self._schema}: {warning or safe}"

    def concern(self) -> str:
        return self.describe() if self._durability()[1] else ""

    def _durability(self) -> tuple[str, str]:
        """The server's version, and what of its settings endangers what was acknowledged; "" if nothing does."""
        names = ("server_version", "fsync", "full_page_writes", "synchronous_commit")
        rows = self._rows("SELECT current_setting(name) FROM unnest(%s::text[]) AS asked (name)", [list(names)])
        version, *safe, commits = [value for (value,) in rows]
        off = " and ".join(f"{name} = off" for name, value in zip(names[1:3], safe, strict=True) if value == "off")
        if off:
            return version, f"WARNING: with {off} a power failure can lose or damage what was acknowledged"
        if commits == "off":
            return version, "WARNING: it has synchronous_commit = off, which is switched on for told pulls and plans"
        return version, ""

    def __repr__(self) -> str:
        return f"PostgresStorage({self.where!r}, schema={self._schema!r})"

    def studies(self) -> list[str]:
        return [_read(name) for (name,) in self._rows("SELECT name FROM {schema}.studies ORDER BY id")]

    def create(self, study: str, settings: str, metrics: int) -> None:
        rows = self._rows(
            "SELECT {schema}.create_study(%s, %s, %s, %s)",
            [_written(study), metrics, _written(settings), uuid.uuid4()],
        )
        if not rows[0][0]:
            raise StudyExists(f"there is a study {study!r} already at {self.where}")

    def settings(self, study: str) -> str:
        rows = self._of(study, "SELECT settings FROM {schema}.settings WHERE study = %s ORDER BY number DESC LIMIT 1")
        return _read(rows[0][0])

    def amend(self, study: str, settings: str, *, after: str | None = None, told: int | None = None) -> bool:
        rows = self._of(
            study,
            "SELECT {schema}.amend(%s, %s, %s::text, %s::bigint, %s)",
            [_written(settings), None if after is None else _written(after), told, uuid.uuid4()],
        )
        return bool(rows[0][0])

    def forget(self, study: str) -> bool:
        rows = self._of(study, "SELECT {schema}.forget(%s)")
        if rows[0][0]:
            self._known.pop(study, None)
        return bool(rows[0][0])

    def size(self, study: str) -> tuple[int, int]:
        plans, told = self._of(study, "SELECT plans, told FROM {schema}.studies WHERE id = %s")[0]
        return plans, told

    def plans(self, study: str, after: int = 0) -> list[Plan]:
        rows = self._of(
            study,
            "SELECT p.number, p.told, p.first, p.arms, p.status, s.planned "
            "FROM (SELECT * FROM {schema}.studies WHERE id = %s) s "
            "LEFT JOIN {schema}.plans p ON p.study = s.id AND p.number > %s ORDER BY p.number",
            [after],
        )
        plans = []
        for number, told, first, arms, status, _ in rows:
            if number is None:  # the study itself, if it has none
                break
            if not all(isinstance(arm, int) for arm in arms):
                self._refuse(study, f"plan {number} has an arm that is no number")
            plans.append(Plan(number, told, first, np.array(arms, np.int64), _read(status)))
        if plans:
            self._refuse(study, fault_of_plans(plans, rows[0][5]))
        return plans

    def add_plan(self, study: str, plan: Plan) -> bool:
        arms = np.asarray(plan.arms).tolist()
        rows = self._of(
            study,
            "SELECT {schema}.add_plan(%s, %s, %s, %s, %b::bigint[], %s, %s)",
            [plan.number, plan.told, plan.first, arms, _written(plan.status), uuid.uuid4()],
        )
        return bool(rows[0][0])

    def told(self, study: str, after: int = 0, up_to: int | None = None) -> Told:
        if after <= 0:
            self.size(study)  # raises if it was forgotten, which can only be if nothing was told
        known = self._study(study)
        after = max(after, 0)
        pages: list[Told] = []
        # Page by page: nothing is ever written before what was read, so pages of different moments fit together.
        start, end = after, after
        while start == end and (up_to is None or end < up_to):
            end = start + PAGE if up_to is None else min(start + PAGE, up_to)
            pages.append(self._page(study, known, start, end))
            start += len(pages[-1])
        return Told.joined([Told.of((), known.metrics, after), *pages])

    def _page(self, study: str, known: _Known, start: int, end: int) -> Told:
        # Columns, as the server itself would send them: a row of the answer for each pull takes six times as long.
        rows = self._rows(
            """
            SELECT count(*), max(number), string_agg(int8send(pull), ''), string_agg(array_send(measured), ''),
                   string_agg(float8send(at), ''), array_agg(reason), array_agg(worker), array_agg(cluster),
                   string_agg(int2send(ended), '')
            FROM (SELECT * FROM {schema}.told WHERE study = %s AND number > %s AND number <= %s ORDER BY number) AS page
            """,
            [known.id, start, end],
        )
        many, last, pulls, measured, at, reasons, workers, clusters, ends = rows[0]
        if many == 0:
            return Told.of((), known.metrics, start)
        if last != start + many:
            self._refuse(study, f"told pulls are missing between the {start + 1}-th and the {last}-th")
        # An array is sent as a head of 20 bytes and its elements, each with its length before it.
        array = np.dtype([("head", "V20"), ("elements", [("length", ">i4"), ("value", ">f8")], (known.metrics,))])
        if len(measured) != many * array.itemsize or (np.frombuffer(measured, array)["elements"]["length"] != 8).any():
            self._refuse(study, f"of told pulls {start + 1} to {last} some have not {known.metrics} values")
        page = Told(
            after=start,
            pulls=np.frombuffer(pulls, ">i8").astype(np.int64),
            values=np.frombuffer(measured, array)["elements"]["value"].astype(np.float64).reshape(many, known.metrics),
            reasons=tuple(map(_read, reasons)),
            workers=tuple(map(_read, workers)),
            at=np.frombuffer(at, ">f8").astype(np.float64),
            ends=np.frombuffer(ends, ">i2").astype(np.int64),
            clusters=tuple(map(_read, clusters)),
        )
        if len(page) and page.pulls.max() > known.planned:
            known = self._study(study, fresh=True)
        self._refuse(study, fault_of(page, known.planned))
        return page

    def _refuse(self, study: str, fault: str) -> None:
        if fault:
            raise Damaged(f"study {study!r} at {self.where}: {fault}; nothing was changed")

    def tell(self, study: str, tells: Sequence[Tell]) -> list[bool]:
        known = self._study(study)
        if not tells or any(tell.pull > known.planned for tell in tells):
            known = self._study(study, fresh=True)
        check_tells(tells, known.planned, known.metrics)
        first: dict[int, Tell] = {}
        again: dict[int, Tell] = {}  # values of pulls that are given up in this very call
        for tell in tells:
            if first.setdefault(tell.pull, tell).end != End.TOLD and tell.end == End.TOLD:
                again.setdefault(tell.pull, tell)
        written = self._tell(study, list(first.values()))
        self._tell(study, list(again.values()))
        answers = []
        for tell in tells:
            answers.append(tell.pull in written)
            written.discard(tell.pull)  # a second tell of it in this call
        return answers

    def _tell(self, study: str, tells: Sequence[Tell]) -> set[int]:
        """Tell pulls that differ from each other; which of them were written."""
        if not tells:
            return set()
        rows = self._of(
            study,
            "SELECT {schema}.tell(%s, %b::bigint[], %b::float8[], %s::text[], %s::text[], %s::text[], "
            "%b::float8[], %s::smallint[], %s)",
            [
                [tell.pull for tell in tells],
                [float(value) for tell in tells for value in tell.values],
                [_written(tell.reason) for tell in tells],
                [_written(tell.worker) for tell in tells],
                [_written(tell.cluster) for tell in tells],
                [float(tell.at) for tell in tells],
                [int(tell.end) for tell in tells],
                uuid.uuid4(),
            ],
            some=False,
        )
        return {pull for (pull,) in rows}

    def late(self, study: str) -> Told:
        rows = self._of(
            study,
            "SELECT l.pull, l.measured, l.reason, l.worker, l.at "
            "FROM {schema}.studies s LEFT JOIN {schema}.late l ON l.study = s.id WHERE s.id = %s ORDER BY l.number",
        )
        tells = [
            Tell(pull, tuple(measured), _read(reason), _read(worker), at)
            for pull, measured, reason, worker, at in rows
            if pull is not None
        ]
        metrics = self._study(study).metrics
        if any(len(tell.values) != metrics for tell in tells):
            self._refuse(study, f"of what was told late some has not {metrics} values")
        return Told.of(tells, metrics)

    def hand_out(self, study: str, most: int, worker: str, *, deadline: float) -> list[Pull]:
        if most <= 0:
            self._study(study)
            return []
        self._check_planned(study)
        rows = self._of(
            study,
            "SELECT {schema}.hand_out(%s, %s, %s, %s, %s)",
            [most, _written(worker), float(deadline), uuid.uuid4()],
            some=False,
        )
        return [Pull(pull, worker, float(deadline)) for (pull,) in rows]

    def _check_planned(self, study: str) -> None:
        """Hold the counts against the plans, once, before pulls are handed out by counts alone."""
        if self._study(study).id in self._sound:
            return
        rows = self._of(
            study,
            "SELECT s.planned, s.handed, "
            "(SELECT coalesce(sum(cardinality(p.arms)), 0)::bigint FROM {schema}.plans p WHERE p.study = s.id) "
            "FROM {schema}.studies s WHERE s.id = %s",
        )
        planned, handed, in_plans = rows[0]
        if planned != in_plans or not 0 <= handed <= planned:
            self._refuse(study, f"it should have {planned} planned pulls, {handed} of them handed out; has {in_plans}")
        self._sound.add(self._study(study).id)

    def renew(self, study: str, worker: str, deadline: float, pulls: Iterable[int] | None = None) -> int:
        which = None if pulls is None else list(pulls)
        rows = self._of(
            study,
            "SELECT {schema}.renew(%s, %s, %s, %s::bigint[], %s)",
            [_written(worker), float(deadline), which, uuid.uuid4()],
        )
        return int(rows[0][0])

    def leases(self, study: str) -> list[Pull]:
        rows = self._of(
            study,
            "SELECT l.pull, l.worker, l.deadline "
            "FROM {schema}.studies s LEFT JOIN {schema}.leases l ON l.study = s.id AND l.deadline > '-infinity' "
            "WHERE s.id = %s ORDER BY l.pull",
        )
        return [Pull(pull, _read(worker), deadline) for pull, worker, deadline in rows if pull is not None]

    def now(self) -> float:
        """Return the server's time: clocks of workers on several machines differ."""
        return float(self._rows("SELECT extract(epoch FROM clock_timestamp())::float8")[0][0])

    def close(self) -> None:
        self._connections.close()

    def _prepare(self, connection: Connection[Any]) -> None:
        """Make the tables where there are none, and refuse those of another version."""
        encoding = connection.execute("SHOW server_encoding").fetchone()
        if encoding != ("UTF8",):
            raise BadInput(f"{self.where} must have the encoding UTF8; it has {(encoding or '?')[0]}")
        if not self._read_only and self._version(connection) == 0:
            # In one transaction under a lock: of several processes one does it.
            with connection.transaction():
                name = [f"frontguard {self._schema}"]
                connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", name)
                if self._version(connection) == 0:
                    # Asked first: where an administrator made the schema, its user need not be allowed to make one.
                    there = connection.execute("SELECT FROM pg_namespace WHERE nspname = %s", [self._schema])
                    if there.fetchone() is None:
                        connection.execute(self._in_schema("CREATE SCHEMA {schema}"))
                    connection.execute(self._in_schema(DEFINITIONS))
                    connection.execute(self._in_schema("INSERT INTO {schema}.version VALUES (%s)"), [VERSION])
        version = self._version(connection)
        if version == 0:
            raise NothingThere(
                f"cannot read schema {self._schema!r} of {self.where}: there are no studies; nothing was changed"
            )
        if version != VERSION:
            update = ": update frontguard" if version > VERSION else ""
            raise BadInput(
                f"the studies at {self.where} have version {version} of the tables, and this frontguard knows version "
                f"{VERSION}{update}; nothing was changed"
            )

    def _version(self, connection: Connection[Any]) -> int:
        # The catalogue itself is read: `to_regclass` remembers that there was nothing before another process made it.
        there = "SELECT FROM pg_tables WHERE schemaname = %s AND tablename = 'version'"
        if connection.execute(there, [self._schema]).fetchone() is None:
            return 0
        row = connection.execute(self._in_schema("SELECT coalesce(max(version), 0) FROM {schema}.version")).fetchone()
        return 0 if row is None else int(row[0])

    def _in_schema(self, text: str) -> LiteralString:
        """Put the name of the schema, which was found harmless, into SQL."""
        return text.format(schema=self._schema)

    def _study(self, study: str, *, fresh: bool = False) -> _Known:
        """Return the facts of a study, asked of the server the first time. Raises `UnknownStudy`."""
        known = self._known.get(study)
        if known is None or fresh:
            rows = self._rows("SELECT id, metrics, planned FROM {schema}.studies WHERE name = %s", [_written(study)])
            if not rows:
                raise UnknownStudy(f"there is no study {study!r} at {self.where}; there are: {sorted(self.studies())}")
            known = self._known[study] = _Known(*rows[0])
            if not 0 <= known.metrics <= MOST_METRICS:
                self._refuse(study, f"it has {known.metrics} metrics")
        return known

    def _of(self, study: str, text: str, parameters: Sequence[Any] = (), *, some: bool = True) -> list[Any]:
        """Rows of a query about a study, by its number. No row, where `some` must be, says that it was forgotten."""
        known = study in self._known
        try:
            rows = self._rows(text, [self._study(study).id, *parameters])
            if rows or not some:
                return rows
        except UnknownStudy:
            if not known:
                raise
        self._known.pop(study, None)
        if known:
            return self._of(study, text, parameters, some=some)
        raise UnknownStudy(f"there is no study {study!r} at {self.where} any more")

    def _rows(self, text: str, parameters: Sequence[Any] = ()) -> list[Any]:
        query = self._in_schema(text)

        def work(connection: Connection[Any]) -> list[Any]:
            # Binary answers: doubles come back bit for bit, and there is nothing to parse.
            return connection.execute(query, parameters or None, binary=True).fetchall()

        try:
            return self._connections.run(work)
        except Exception as error:
            raise self._explained(error) from None

    def _explained(self, error: BaseException) -> BaseException:
        """An error of the database in our words; any other as it is."""
        state = getattr(error, "sqlstate", None)
        if state is None:
            return error
        said = self._connections.said(error)
        if state == "25006" and self._read_only:
            return BadInput(f"the storage at {self.where} was opened read-only")
        if state == "P0002":
            self._known.clear()
            return UnknownStudy(f"a study is gone from {self.where}: {said}")
        if state == "55P03":
            return TimeoutError(f"another transaction has held a lock for long at {self.where}: {said}")
        if state in ("42501", "3F000", "42P01", "42P07", "54000"):  # rights, missing or foreign tables, a name too long
            return BadInput(f"cannot use schema {self._schema!r} of {self.where}: {said}")
        return OSError(f"{self.where} failed: {said}")


# PostgreSQL's text holds every character but NUL, which a worker's output may well hold. It is written as an escape
# that hardly any text contains, so that nearly all texts are stored as they are.
_ESCAPE = "\x1a"


def _written(text: str) -> str:
    return text.replace(_ESCAPE, f"{_ESCAPE}1").replace("\0", f"{_ESCAPE}0")


def _read(text: str) -> str:
    return text.replace(f"{_ESCAPE}0", "\0").replace(f"{_ESCAPE}1", _ESCAPE) if _ESCAPE in text else text
