"""The server of the tests, and what becomes of a test run without one."""

from __future__ import annotations

import psycopg
import pytest

from tests import servers
from tests.servers import PostgresServer


def test_the_server_is_real_durable_and_our_own(postgres: PostgresServer) -> None:
    assert postgres is servers.shared_server()  # one for all
    with psycopg.connect(postgres.url()) as connection:
        settings = [connection.execute(f"SHOW {name}").fetchone() for name in ("fsync", "synchronous_commit")]
        assert settings == [("on",), ("on",)]
        assert connection.execute("SHOW data_directory").fetchone() == (str(postgres.folder / "data"),)
    with psycopg.connect(postgres.new_database()) as connection:
        assert connection.execute("SELECT count(*) FROM pg_namespace WHERE nspname = 'frontguard'").fetchone() == (0,)


def test_without_a_server_tests_are_skipped_loudly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servers, "_missing", [])
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match="NO POSTGRESQL SERVER"):
        servers.without_server("no binaries")
    assert servers.summary_lines() == [
        "POSTGRESQL WAS NOT TESTED: NO SERVER HERE AND NONE COULD BE FETCHED (no binaries)"
    ]


def test_without_a_server_continuous_integration_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servers, "_missing", [])
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="no PostgreSQL server: no binaries"):
        servers.without_server("no binaries")
    assert servers.summary_lines() == []
