"""The tables and functions of studies on PostgreSQL, which are written in `schema.sql`.

What changes several rows at once is a function on the server. A call is then one round trip and one transaction that
ends whether or not its caller still lives: no worker that hangs or is stopped can hold a lock on a study.

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

import re
from importlib.resources import files
from typing import TYPE_CHECKING, Any, LiteralString

from frontguard.errors import BadInput
from frontguard.storage.contract import NothingThere

if TYPE_CHECKING:
    from psycopg import Connection


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
