"""The server of the tests, and what becomes of a test run without one."""

from __future__ import annotations

import psycopg
import pytest
from syrupy.assertion import SnapshotAssertion

from tests.support import servers
from tests.support.servers import PostgresServer
from tests.support.snapshots import refused


def test_the_server_is_real_durable_and_our_own(postgres: PostgresServer) -> None:
    assert postgres is servers.shared_server()  # one for all
    with psycopg.connect(postgres.url()) as connection:
        settings = [connection.execute(f"SHOW {name}").fetchone() for name in ("fsync", "synchronous_commit")]
        assert settings == [("on",), ("on",)]
        assert connection.execute("SHOW data_directory").fetchone() == (str(postgres.folder / "data"),)
    with psycopg.connect(postgres.new_database()) as connection:
        assert connection.execute("SELECT count(*) FROM pg_namespace WHERE nspname = 'frontguard'").fetchone() == (0,)


def test_without_a_server_tests_are_skipped_loudly(
    monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    monkeypatch.setattr(servers, "_missing", [])
    monkeypatch.delenv("CI", raising=False)
    with refused(pytest.skip.Exception, snapshot):
        servers.without_server("no binaries")
    assert servers.summary_lines() == [
        "POSTGRESQL WAS NOT TESTED: NO SERVER HERE AND NONE COULD BE FETCHED (no binaries)"
    ]


def test_without_a_server_continuous_integration_fails(
    monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    monkeypatch.setattr(servers, "_missing", [])
    monkeypatch.setenv("CI", "true")
    with refused(pytest.fail.Exception, snapshot):
        servers.without_server("no binaries")
    assert servers.summary_lines() == []
