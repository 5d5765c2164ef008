"""The server of the tests: PostgreSQL as its users run it, with nothing of ours in it."""

from __future__ import annotations

import psycopg

from tests.support import servers
from tests.support.servers import PostgresServer


def test_the_server_is_real_durable_and_our_own(postgres: PostgresServer) -> None:
    assert postgres is servers.shared_server()  # one for all
    with psycopg.connect(postgres.url()) as connection:
        settings = [connection.execute(f"SHOW {name}").fetchone() for name in ("fsync", "synchronous_commit")]
        assert settings == [("on",), ("on",)]
        assert connection.execute("SHOW data_directory").fetchone() == (str(postgres.folder / "data"),)
    with psycopg.connect(postgres.new_database()) as connection:
        schemas = connection.execute("SELECT nspname FROM pg_namespace").fetchall()
    assert ("public",) in schemas
    assert ("frontguard",) not in schemas
