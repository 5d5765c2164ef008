"""Connections to a PostgreSQL server, opened when needed, replaced when lost, never shared by a fork; and its tables.

A list of our own rather than `psycopg_pool`: that connects in four threads of its own, which no fork survives, writes
why it could not into a log, and answers with a bare timeout; we want the reason at once, without the password. It would
replace a fifth of this module, not the retries, settings, forks and words that are the rest.

The tables and functions of studies are written in `schema.sql`. What changes several rows at once is a function on the
server. A call is then one round trip and one transaction that ends whether or not its caller still lives: no worker
that hangs or is stopped can hold a lock on a study.

Every such function locks the study's row first. That row keeps the number of told pulls, and PostgreSQL lets a lock go
only after the commit can be seen: numbers follow the order of commits, and nobody sees the n-th without the (n−1)-th.

Told pulls and plans are flushed to disk before anybody can see them (`synchronous_commit`). Plans too, since workers on
other machines outlive a crash of the server: a plan that was lost and made anew could give another arm to the pulls in
their hands. That a pull was handed out is flushed as well, or it might be handed out again after a crash. Only that a
lease was renewed or given back may be lost.

Every write carries the id of its call. A call whose answer was lost with the connection is repeated with the same id,
and finds what it did the first time.
"""

from __future__ import annotations

import os
import random
import re
import threading
import time
import weakref
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from importlib.resources import files
from types import ModuleType
from typing import TYPE_CHECKING, Any, LiteralString, TypeVar
from urllib.parse import quote, unquote

from frontguard._common.secrets import SECRET_KEYS
from frontguard.errors import BadInput
from frontguard.phrases import visible
from frontguard.storage.contract import LOGGER, SAID_AFTER, NothingThere

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
RETRY = ("40001", "40P01")  # the server asks to try again: serialization failures and deadlocks
ALLOWED = "postgresql://USER:PASSWORD@HOST:PORT/DATABASE, with special characters as %-codes (@ is %40, / is %2F)"


def driver() -> ModuleType:
    """psycopg, or how to get it."""
    try:
        import psycopg
    except ImportError as error:
        raise BadInput(
            'studies on PostgreSQL need psycopg, which is not installed: pip install "frontguard[postgres]"'
        ) from error
    return psycopg


class Connections:
    """Runs pieces of work, each on a connection of its own while it lasts: threads do not wait for each other.

    Work must be safe to repeat: when its connection is lost it is run again on a new one, for up to `patience` seconds.
    """

    def __init__(self, url: str, *, read_only: bool, patience: float) -> None:
        self._psycopg = driver()
        self._parameters = _parsed(self._psycopg, url)
        self._secrets = _secrets(url, self._parameters)
        self._read_only = read_only
        self._patience = patience
        self._closed = False
        self._is_silent = False
        self._lock = threading.Lock()
        self._idle: list[Connection[Any]] = []
        _alive.add(self)

    @property
    def where(self) -> str:
        """The database as people name it: user, host, port, database, or its service; no password."""

        def known(name: str, variable: str) -> str:
            return str(self._parameters.get(name) or os.environ.get(variable, ""))

        host, service = known("host", "PGHOST"), known("service", "PGSERVICE")
        if service and not host:
            return f"?service={service}"
        user, port = known("user", "PGUSER"), known("port", "PGPORT")
        server = f"{user}{'@' if user else ''}{host or 'localhost'}{':' if port else ''}{port}"
        return f"{server}/{known('dbname', 'PGDATABASE')}"

    def run(self, work: Callable[[Connection[Any]], Answer]) -> Answer:
        """What `work` answers. Raises `ConnectionError` when the server stays away for longer than our patience."""
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
                        f"no answer from the PostgreSQL server at {self.where} for {waited:.0f} s: {self.said(error)}"
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
            LOGGER.warning(
                "frontguard: no answer from the PostgreSQL server at %s for %.0f s, trying on: %s",
                self.where,
                seconds,
                why,
            )

    def _watched(self, waiting: Generator[Any, Any, Answer]) -> Generator[Any, Any, Answer]:
        """The same generator of psycopg, that notes silence, and gives up where nothing else would."""
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
        """As `run`, for the first work of all: a server that is not there is then a wrong address, told at once."""
        try:
            with self._connection():
                pass
        except self._psycopg.OperationalError as error:
            if error.sqlstate != "57P03":  # it is starting up: worth our patience
                raise BadInput(f"cannot open the PostgreSQL database {self.where}: {self.said(error)}") from None
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
        watched = self._watched

        class Watched(self._psycopg.Connection):  # type: ignore[name-defined, misc]
            def wait(self, gen: Any, *args: Any, **options: Any) -> Any:
                return super().wait(watched(gen), *args, **options)

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
        connection.execute(
            "SELECT set_config(name, setting, false) FROM unnest(%s::text[], %s::text[]) AS s (name, setting)",
            [list(settings), list(settings.values())],
        )
        return connection

    def _drop_idle(self) -> None:
        with self._lock:
            dropped, self._idle = self._idle, []
        for connection in dropped:
            connection.close()

    def _is_passing(self, error: psycopg.Error) -> bool:
        """Whether the same work may succeed later: no connection, or a server that is going or coming."""
        state = error.sqlstate
        if state is None:  # from the client's side: nobody answered
            return isinstance(error, self._psycopg.OperationalError)
        return state in RETRY or state[:2] == "08" or state in ("57P01", "57P02", "57P03", "53300")


_alive: weakref.WeakSet[Connections] = weakref.WeakSet()
_of_parents: list[Connection[Any]] = []  # kept, so that nothing is said on them when they would be collected


def _after_fork() -> None:
    """In a child process: the parent's connections are the parent's; closing them here would end them there."""
    for connections in list(_alive):
        _of_parents.extend(connections._idle)
        connections._idle = []
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


def _secrets(url: str, parameters: dict[str, Any]) -> list[str]:
    written = re.match(r"^\w+://[^:@/]*:([^@]*)@", url)
    secrets = [str(parameters.get(name, "")) for name in SECRET_KEYS] + [os.environ.get("PGPASSWORD", "")]
    if written is not None:
        secrets += [written[1], unquote(written[1])]
    secrets += [quote(secret, safe="") for secret in secrets]
    return sorted({secret for secret in secrets if secret}, key=len, reverse=True)


# Tables ---------------------------------------------------------------------------------------------------------------

VERSION = 5
DEFINITIONS = files(__package__).joinpath("schema.sql").read_text("utf-8")


def checked_schema(schema: str) -> str:
    """A name that can stand in SQL as it is."""
    if not re.fullmatch(r"[a-z_][a-z0-9_]{0,62}", schema):
        raise BadInput(f"schema must be small letters, digits and underscores, 63 at most; got {schema!r}")
    return schema


def in_schema(text: str, schema: str) -> LiteralString:
    """SQL with the name of the schema put in, which `checked_schema` has found harmless."""
    return text.format(schema=schema)


def create_tables(connection: Connection[Any], schema: str, where: str) -> None:
    """Make the tables where there are none, in one transaction under a lock: of several processes one does it."""
    if _version(connection, schema) == 0:
        with connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"frontguard {schema}"])
            if _version(connection, schema) == 0:
                # Asked first: where an administrator made the schema, its user need not be allowed to make one.
                if connection.execute("SELECT FROM pg_namespace WHERE nspname = %s", [schema]).fetchone() is None:
                    connection.execute(in_schema("CREATE SCHEMA {schema}", schema))
                connection.execute(in_schema(DEFINITIONS, schema))
                connection.execute(in_schema("INSERT INTO {schema}.version VALUES (%s)", schema), [VERSION])
    refuse_others(connection, schema, where)


def refuse_others(connection: Connection[Any], schema: str, where: str) -> None:
    """Raise `NothingThere` where there are no tables, `BadInput` where they are of another version than ours."""
    version = _version(connection, schema)
    if version == 0:
        raise NothingThere(f"cannot read schema {schema!r} of {where}: there are no studies; nothing was changed")
    if version != VERSION:
        update = ": update frontguard" if version > VERSION else ""
        raise BadInput(
            f"the studies at {where} have version {version} of the tables, and this frontguard knows version "
            f"{VERSION}{update}; nothing was changed"
        )


def _version(connection: Connection[Any], schema: str) -> int:
    """The version of the tables in the database: 0 where there are none."""
    # The catalogue itself is read, since `to_regclass` remembers that there was nothing before another process made it.
    there = connection.execute("SELECT FROM pg_tables WHERE schemaname = %s AND tablename = 'version'", [schema])
    if there.fetchone() is None:
        return 0
    row = connection.execute(in_schema("SELECT coalesce(max(version), 0) FROM {schema}.version", schema)).fetchone()
    return 0 if row is None else int(row[0])
