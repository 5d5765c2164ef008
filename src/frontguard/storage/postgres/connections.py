"""Connections to a PostgreSQL server: opened when needed, replaced when lost, never shared by a fork.

A list of our own rather than `psycopg_pool`: that connects in four threads of its own, which no fork survives, writes
why it could not into a log, and answers with a bare timeout; we want the reason at once, without the password. It would
replace a fifth of this module, not the retries, settings, forks and words that are the rest.
"""

from __future__ import annotations

import os
import random
import re
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote, unquote

from frontguard._common.secrets import SECRET_KEYS
from frontguard.errors import BadInput

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
                    return work(connection)
            except self._psycopg.Error as error:
                if not self._is_passing(error):
                    raise
                waited = time.monotonic() - started
                if waited > self._patience:
                    raise ConnectionError(
                        f"no answer from the PostgreSQL server at {self.where} for {waited:.0f} s: {self.said(error)}"
                    ) from None
                if error.sqlstate not in RETRY:
                    self._drop_idle()  # what this connection met, the others will meet
                attempt += 1
                time.sleep(random.uniform(0.5, 1.0) * min(0.02 * 2**attempt, 1.0))

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
        text = " ".join(str(error).split())
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
        connection: Connection[Any] = self._psycopg.connect(**self._parameters, autocommit=True)
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
