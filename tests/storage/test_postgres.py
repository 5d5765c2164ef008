"""What only a server can do to a study: go away, lose answers, be older or newer, be somebody else's."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path

import numpy as np
import psycopg
import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard import Objective, Prescient, Study
from frontguard.errors import BadInput
from frontguard.storage import postgres as module
from frontguard.storage.contract import Damaged, Plan, StudyExists, Tell, open_storage
from frontguard.storage.postgres import PostgresStorage
from tests.support.forks import fork, shared
from tests.support.proxies import proxy
from tests.support.servers import PostgresServer
from tests.support.snapshots import refused

_numbers = count(1)


@pytest.fixture
def schema() -> str:
    return f"own_{next(_numbers)}"


@pytest.fixture
def storage(postgres: PostgresServer, schema: str) -> Iterator[PostgresStorage]:
    with PostgresStorage(postgres.url(), schema=schema) as storage:
        yield storage


@pytest.fixture
def administrator(postgres: PostgresServer) -> Iterator[psycopg.Connection]:
    with psycopg.connect(postgres.url(), autocommit=True) as connection:
        yield connection


def begin(storage: PostgresStorage, pulls: int) -> None:
    storage.create("s", "first", 2)
    storage.add_plan("s", Plan(1, 0, 1, np.zeros(pulls, np.int64)))


def good(pull: int) -> Tell:
    return Tell(pull, (float(pull), 0.0))


# Lost connections -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_a_restart_of_the_server_is_survived(postgres: PostgresServer, storage: PostgresStorage, mode: str) -> None:
    threads, each = 3, 60
    begin(storage, threads * each)
    ended = threading.Event()

    def work(thread: int) -> list[bool]:
        answers = []
        while leases := storage.hand_out("s", 2, f"w{thread}", deadline=1.0):
            answers += storage.tell("s", [good(lease.id) for lease in leases])
            time.sleep(0.01)
        return answers

    def restart() -> None:
        for _ in range(2):
            ended.wait(0.1)
            postgres.restart(mode)

    with ThreadPoolExecutor(threads + 1) as pool:
        restarted = pool.submit(restart)
        answers = [answer for part in pool.map(work, range(threads)) for answer in part]
        ended.set()
        restarted.result()
    assert storage.leases("s") == []  # a call is repeated until its answer is heard
    assert all(answers)  # no crash makes two of one lease
    told = storage.told("s")
    assert sorted(told.pulls.tolist()) == list(range(1, threads * each + 1))
    assert sum(answers) == threads * each  # as many acknowledgements as rows


def test_a_connection_that_was_ended_is_replaced(storage: PostgresStorage, administrator: psycopg.Connection) -> None:
    begin(storage, 2)
    ended = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'frontguard'"
    for pull in (1, 2):
        assert administrator.execute(ended).fetchone() != (0,)
        assert storage.tell("s", [good(pull)]) == [True]


def test_a_call_whose_answer_was_lost_finds_what_it_did(
    postgres: PostgresServer, schema: str, storage: PostgresStorage
) -> None:
    with proxy(postgres.port) as between:
        url = postgres.url().replace(f":{postgres.port}/", f":{between.port}/")
        with PostgresStorage(url, schema=schema) as far:

            def losing(call: Callable[[], object]) -> object:
                far.studies()  # a connection is open
                between.swallow_next = True
                answer = call()
                assert not between.swallow_next
                return answer

            losing(lambda: far.create("s", "first", 2))
            with pytest.raises(StudyExists):
                losing(lambda: far.create("s", "first", 2))
            assert far.settings("s") == "first"
            losing(lambda: far.amend("s", "second"))
            assert losing(lambda: far.add_plan("s", Plan(1, 0, 1, np.array([7, 8, 9])))) is True
            assert losing(lambda: far.add_plan("s", Plan(1, 0, 1, np.array([7, 8, 9])))) is False
            far.leases("s")
            first = losing(lambda: far.tell("s", [good(2), good(2), good(1)]))
            assert first == [True, False, True]
            assert losing(lambda: far.tell("s", [good(2), good(3)])) == [False, True]
            assert losing(lambda: far.told("s").pulls.tolist()) == [2, 1, 3]
            assert between.swallowed == 8

    with psycopg.connect(postgres.url()) as connection:  # nothing was written twice
        counts = [
            connection.execute(f"SELECT count(*) FROM {schema}.{table}").fetchone()
            for table in ("studies", "settings", "plans", "told")
        ]
    assert counts == [(1,), (2,), (1,), (3,)]


def test_a_handing_out_whose_answer_was_lost_is_repeated(postgres: PostgresServer, schema: str) -> None:
    with proxy(postgres.port) as between:
        url = postgres.url().replace(f":{postgres.port}/", f":{between.port}/")
        with PostgresStorage(url, schema=schema) as far:
            begin(far, 5)
            far.hand_out("s", 2, "me", deadline=1.0)
            far.give_back("s", "me", [2])
            between.swallow_next = True
            given = far.hand_out("s", 2, "me", deadline=9.0)
            assert not between.swallow_next
            assert [x.id for x in given] == [2, 3]
            assert far.leases("s")[1:] == given
            between.swallow_next = True
            assert far.renew("s", "me", 12.0) == 3
            assert not between.swallow_next
            between.swallow_next = True
            assert far.give_back("s", "me", [1, 2]) == 2
            assert not between.swallow_next
            assert [x.id for x in far.hand_out("s", 9, "next", deadline=9.0)] == [1, 2, 4, 5]


def test_a_server_that_stays_away_is_an_error_in_the_end(
    postgres: PostgresServer, schema: str, snapshot: SnapshotAssertion
) -> None:
    storage = PostgresStorage(postgres.url(), schema=schema, patience=0.3)
    begin(storage, 1)
    postgres.stop()
    try:
        with refused(ConnectionError, snapshot):
            storage.tell("s", [good(1)])
        with refused(BadInput, snapshot):
            PostgresStorage(postgres.url(), schema=schema)
    finally:
        postgres.start()
    assert storage.tell("s", [good(1)]) == [True]
    storage.close()


# Locks ----------------------------------------------------------------------------------------------------------------


def test_a_stranger_who_holds_a_lock_is_not_waited_for_for_ever(
    postgres: PostgresServer, schema: str, snapshot: SnapshotAssertion
) -> None:
    with PostgresStorage(postgres.url(), schema=schema, patience=1.0) as storage:
        begin(storage, 1)
        with psycopg.connect(postgres.url()) as stranger:
            stranger.execute(f"SELECT FROM {schema}.studies FOR UPDATE")
            with refused(TimeoutError, snapshot):
                storage.tell("s", [good(1)])
            assert storage.size("s") == (1, 0)  # readers do not wait
        assert storage.tell("s", [good(1)]) == [True]


def test_a_server_that_does_not_answer_is_spoken_of_within_seconds_and_given_up(
    storage: PostgresStorage, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "SAID_AFTER", 0.05)
    monkeypatch.setattr(storage._connections, "_patience", 0.05)
    with pytest.raises(ConnectionError):
        storage._connections.run(lambda connection: connection.execute("SELECT pg_sleep(5)"))
    assert [record.name for record in caplog.records] == ["frontguard.storage"]
    assert storage.studies() == []


def test_leases_go_by_the_clock_of_the_server_and_not_of_the_workers(
    storage: PostgresStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow, fast = (
        Study(
            ["a", "b"],
            [Objective("x", "maximize", tolerance=1.0)],
            Prescient(0.1),
            storage=storage,
            name="s",
            lease=60.0,
        )
        for _ in range(2)
    )
    held = slow.ask(8)
    here = time.time
    monkeypatch.setattr(time, "time", lambda: here() + 7200.0)
    held += fast.ask(8)
    monkeypatch.setattr(time, "time", here)
    held += slow.ask(8)
    assert [pull.id for pull in held] == list(range(1, 25))
    assert slow.renew() + fast.renew() == 24
    assert storage.size("s")[1] == 0


def test_a_worker_that_is_stopped_holds_nobody_up(postgres: PostgresServer, schema: str) -> None:
    with PostgresStorage(postgres.url(), schema=schema, patience=20.0) as storage:
        begin(storage, 100_000)
        progress = shared(1)

        def work() -> None:
            with PostgresStorage(postgres.url(), schema=schema) as own:
                for pull in range(1_001, 100_000):
                    own.tell("s", [good(pull)])
                    progress[0] = pull

        child = fork(work)
        try:
            for pull in range(1, 16):
                before = progress[0]
                while progress[0] == before:
                    time.sleep(0.001)
                os.kill(child.pid, signal.SIGSTOP)  # wherever it is
                assert storage.tell("s", [good(pull)]) == [True]
                os.kill(child.pid, signal.SIGCONT)
        finally:
            child.kill()


def test_what_is_told_planned_or_handed_out_waits_for_the_disk(
    postgres: PostgresServer, storage: PostgresStorage, schema: str
) -> None:
    begin(storage, 3)
    new = "gen_random_uuid()"
    calls = {
        f"SELECT {schema}.tell(1, '{{1}}', '{{1,2}}', '{{x}}', '{{w}}', '{{h}}', '{{0}}', '{{0}}', {new})": "on",
        f"SELECT {schema}.add_plan(1, 2, 0, 4, '{{1}}', 'running', gen_random_uuid())": "on",
        f"SELECT {schema}.create_study('t', 1, '', gen_random_uuid())": "on",
        f"SELECT {schema}.hand_out(1, 1, 'w', 1, gen_random_uuid())": "on",
        f"SELECT {schema}.renew(1, 'w', 1, NULL, gen_random_uuid())": "off",
    }
    for default in ("on", "off"):
        for call, wanted in calls.items():
            with psycopg.connect(postgres.url(), autocommit=True) as connection:
                connection.execute(f"SET synchronous_commit = {default}")
                with connection.transaction(force_rollback=True):
                    connection.execute(call)  # type: ignore[call-overload]
                    assert connection.execute("SHOW synchronous_commit").fetchone() == (wanted,), call
    with psycopg.connect(postgres.url(), autocommit=True) as connection:
        connection.execute("SET synchronous_commit = remote_apply")  # more than we ask for is left alone
        with connection.transaction(force_rollback=True):
            connection.execute(next(iter(calls)))  # type: ignore[call-overload]
            assert connection.execute("SHOW synchronous_commit").fetchone() == ("remote_apply",)


def test_the_defaults_of_a_database_do_not_matter(postgres: PostgresServer, administrator: psycopg.Connection) -> None:
    url = postgres.new_database()
    name = url.rpartition("/")[2]
    for setting in (
        "default_transaction_isolation = serializable",
        "synchronous_commit = off",
        "default_transaction_read_only = on",
        "search_path = nowhere",
        "client_encoding = latin1",
    ):
        administrator.execute(f"ALTER DATABASE {name} SET {setting}")  # type: ignore[call-overload]
    with PostgresStorage(url) as storage:
        begin(storage, 60)
        with ThreadPoolExecutor(6) as pool:
            answers = list(pool.map(lambda pull: storage.tell("s", [Tell(pull, (1.0, 2.0), "ждали")]), range(1, 61)))
        assert answers == [[True]] * 60
        assert storage.told("s").reasons == ("ждали",) * 60


# Words and secrets ----------------------------------------------------------------------------------------------------


def test_it_says_how_durable_it_is(postgres: PostgresServer, schema: str, storage: PostgresStorage) -> None:
    assert "WARNING" not in storage.describe()
    assert storage.concern() == ""
    assert f"postgresql://frontguard@127.0.0.1:{postgres.port}/postgres" in storage.describe()
    assert schema in storage.describe()
    try:
        postgres.restart(fsync="off")
        assert "fsync = off" in storage.describe()
        assert storage.concern() == storage.describe()
        postgres.restart(synchronous_commit="off")
        assert "synchronous_commit = off" in storage.describe()
    finally:
        postgres.restart()
    assert "WARNING" not in storage.describe()


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:s3cr3t@127.0.0.1:{port}/postgres",
        "postgresql://frontguard:s3cr3t@127.0.0.1:1/postgres",
        "postgresql://frontguard:s3cr3t@nowhere.invalid/postgres",
        "postgresql://frontguard:s3cr3t@@127.0.0.1/postgres",
        "postgresql://frontguard:s3/cr3t@127.0.0.1/postgres",
        "postgresql://frontguard:s3cr3t@127.0.0.1:many/postgres",
        "postgresql://frontguard:s3cr3t%zz@127.0.0.1/postgres",
        "postgresql://frontguard:s3cr3t@127.0.0.1/postgres?s3cr3t=1",
        "postgresql://frontguard:%733cr3t@127.0.0.1:{port}/postgres",
        "postgresql://frontguard:{password}@127.0.0.1:{port}/nothing",
    ],
)
def test_no_error_tells_the_password(postgres: PostgresServer, url: str, snapshot: SnapshotAssertion) -> None:
    with refused(BadInput, snapshot) as caught:
        PostgresStorage(url.format(port=postgres.port, password=postgres.password))
    text = "".join(traceback.format_exception(caught.value))
    assert "s3" not in text
    assert "cr3t" not in text
    assert postgres.password not in text
    assert "\n" not in str(caught.value)


def test_neither_does_anything_else(postgres: PostgresServer, storage: PostgresStorage) -> None:
    for text in (repr(storage), str(storage), storage.where, storage.describe()):
        assert postgres.password not in text
        assert "127.0.0.1" in text


@pytest.mark.parametrize("way", ["PGPASSWORD", "PGPASSFILE", "?passfile", "?service", "PGSERVICE"])
def test_the_password_need_not_be_in_the_address(
    way: str, postgres: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    """As anybody can read it in the list of processes, or in a spec."""
    server = f"frontguard@127.0.0.1:{postgres.port}/postgres"
    secrets = tmp_path / "secrets"
    secrets.touch(mode=0o600)
    secrets.write_text(f"127.0.0.1:{postgres.port}:*:frontguard:{postgres.password}\n")
    url = f"postgresql://{server}"
    with refused(BadInput, snapshot):
        PostgresStorage(url)
    if way == "PGPASSWORD":
        monkeypatch.setenv("PGPASSWORD", postgres.password)
    elif way == "PGPASSFILE":
        monkeypatch.setenv("PGPASSFILE", str(secrets))
    elif way == "?passfile":
        url += f"?passfile={secrets}"
    else:
        known = {"host": "127.0.0.1", "port": postgres.port, "dbname": "postgres", "user": "frontguard"}
        written = [f"{key}={value}" for key, value in {**known, "password": postgres.password}.items()]
        secrets.write_text("\n".join(["[studies]", *written]))
        monkeypatch.setenv("PGSERVICEFILE", str(secrets))
        url = "postgresql://?service=studies" if way == "?service" else "postgresql://"
        server = "?service=studies"
        if way == "PGSERVICE":
            monkeypatch.setenv("PGSERVICE", "studies")
    with open_storage(url) as storage:
        assert isinstance(storage, PostgresStorage)
        assert storage.where == f"postgresql://{server}"
        assert storage.studies() is not None
        assert postgres.password not in storage.describe()


def test_no_error_tells_a_password_of_the_environment(
    postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    monkeypatch.setenv("PGPASSWORD", "s3/cr3t")
    monkeypatch.setenv("PGHOST", "127.0.0.1")
    monkeypatch.setenv("PGPORT", str(postgres.port))
    with refused(BadInput, snapshot) as caught:
        PostgresStorage("postgresql://frontguard@/postgres")
    assert "cr3t" not in "".join(traceback.format_exception(caught.value))


def test_a_missing_driver_is_named(monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with refused(BadInput, snapshot):
        PostgresStorage("postgresql://localhost/x")


def test_a_strange_schema_is_refused(snapshot: SnapshotAssertion) -> None:
    for name in ("", "a b", "Robert'); DROP TABLE told;--", "x" * 64, "1st"):
        with refused(BadInput, snapshot):
            PostgresStorage("postgresql://localhost/x", schema=name)


def test_a_database_of_another_encoding_is_refused(
    postgres: PostgresServer, administrator: psycopg.Connection, snapshot: SnapshotAssertion
) -> None:
    administrator.execute("CREATE DATABASE latin TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'")
    with refused(BadInput, snapshot):
        PostgresStorage(postgres.url("latin"))


def test_a_closed_storage_says_so(storage: PostgresStorage, snapshot: SnapshotAssertion) -> None:
    storage.close()
    with refused(BadInput, snapshot):
        storage.studies()


# Tables ---------------------------------------------------------------------------------------------------------------


def test_read_only_changes_nothing(
    postgres: PostgresServer,
    schema: str,
    administrator: psycopg.Connection,
    storage: PostgresStorage,
    snapshot: SnapshotAssertion,
) -> None:
    with refused(BadInput, snapshot):
        PostgresStorage(postgres.url(), schema="not_there", read_only=True)
    assert ("not_there",) not in administrator.execute("SELECT nspname FROM pg_namespace").fetchall()
    begin(storage, 2)
    storage.tell("s", [good(2)])
    with PostgresStorage(postgres.url(), schema=schema, read_only=True) as reader:
        assert reader.told("s").pulls.tolist() == [2]
        assert reader.studies() == ["s"]
        writes: list[Callable[[], object]] = [
            lambda: reader.create("t", "", 1),
            lambda: reader.amend("s", ""),
            lambda: reader.add_plan("s", Plan(2, 1, 3, np.array([1]))),
            lambda: reader.tell("s", [good(1)]),
            lambda: reader.hand_out("s", 1, "w", deadline=1.0),
            lambda: reader.give_back("s", "w"),
            lambda: reader.forget("s"),
        ]
        for write in writes:
            with refused(BadInput, snapshot):
                write()
        storage.tell("s", [good(1)])
        assert reader.told("s", after=1).pulls.tolist() == [1]
    assert storage.size("s") == (1, 2)


def test_tables_of_another_version_are_refused(
    postgres: PostgresServer,
    schema: str,
    storage: PostgresStorage,
    administrator: psycopg.Connection,
    snapshot: SnapshotAssertion,
) -> None:
    begin(storage, 3)
    storage.tell("s", [good(3)])
    version = module.VERSION
    for other in (version + 1, version - 1):
        administrator.execute(f"UPDATE {schema}.version SET version = {other}")  # type: ignore[call-overload]
        for read_only in (False, True):
            with refused(BadInput, snapshot):
                PostgresStorage(postgres.url(), schema=schema, read_only=read_only)
    administrator.execute(f"UPDATE {schema}.version SET version = {version}")  # type: ignore[call-overload]
    with PostgresStorage(postgres.url(), schema=schema) as again:
        assert again.told("s").pulls.tolist() == [3]


def test_tables_are_made_once_by_many(postgres: PostgresServer, schema: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "DEFINITIONS", module.DEFINITIONS + "SELECT pg_sleep(0.05);")

    def open_it() -> list[str]:
        with PostgresStorage(postgres.url(), schema=schema) as own:
            return own.studies()

    children = [fork(open_it) for _ in range(5)]  # all at once
    assert [child.result() for child in children] == [[]] * 5
    with psycopg.connect(postgres.url()) as connection:
        assert connection.execute(f"SELECT version FROM {schema}.version").fetchall() == [(module.VERSION,)]


def test_making_tables_that_is_killed_leaves_nothing(
    postgres: PostgresServer, schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(module, "DEFINITIONS", module.DEFINITIONS + "SELECT pg_sleep(60);")
        child = fork(lambda: PostgresStorage(postgres.url(), schema=schema))
        with psycopg.connect(postgres.url(), autocommit=True) as connection:
            sleeping = "FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
            while connection.execute(f"SELECT {sleeping}").fetchone() is None:  # type: ignore[call-overload]
                time.sleep(0.005)
            child.kill()
            # The server would notice at the end of the step; ended here so that the test need not wait for it.
            connection.execute(f"SELECT pg_terminate_backend(pid) {sleeping}")  # type: ignore[call-overload]
    with PostgresStorage(postgres.url(), schema=schema) as again:
        begin(again, 1)
        assert again.tell("s", [good(1)]) == [True]


def test_a_user_with_a_schema_of_its_own_needs_no_more(
    postgres: PostgresServer, schema: str, administrator: psycopg.Connection, snapshot: SnapshotAssertion
) -> None:
    url = postgres.new_database()
    database = url.rpartition("/")[2]
    administrator.execute(f"CREATE ROLE r_{schema} LOGIN PASSWORD 'modest'")  # type: ignore[call-overload]
    modest = f"postgresql://r_{schema}:modest@127.0.0.1:{postgres.port}/{database}"
    with refused(BadInput, snapshot):
        PostgresStorage(modest)
    with psycopg.connect(url, autocommit=True) as owner:
        owner.execute(f"CREATE SCHEMA frontguard AUTHORIZATION r_{schema}")  # type: ignore[call-overload]
    with PostgresStorage(modest) as storage:
        begin(storage, 1)
        assert storage.tell("s", [good(1)]) == [True]


def test_missing_rows_are_noticed(
    storage: PostgresStorage, schema: str, administrator: psycopg.Connection, snapshot: SnapshotAssertion
) -> None:
    begin(storage, 5)
    storage.tell("s", [good(pull) for pull in range(1, 6)])
    administrator.execute(f"DELETE FROM {schema}.told WHERE number = 3")  # type: ignore[call-overload]
    with refused(Damaged, snapshot):
        storage.told("s")
    assert storage.told("s", after=3).pulls.tolist() == [4, 5]


def test_pages_fit_together(storage: PostgresStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    begin(storage, 10)
    order = [3, 1, 4, 10, 5, 9, 2, 6, 8]
    storage.tell("s", [good(pull) for pull in order])
    for page in (1, 2, 3, 4, 9, 10):
        monkeypatch.setattr(module, "PAGE", page)
        assert storage.told("s").pulls.tolist() == order
        assert storage.told("s", 2, 7).pulls.tolist() == order[2:7]
        assert storage.told("s", 9).pulls.tolist() == []


# Strangers ------------------------------------------------------------------------------------------------------------


def _taken_up(storage: PostgresStorage) -> None:
    study = Study.open(storage)
    study.ask(3)
    study.result()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE {schema}.told SET pull = 1099511627776 WHERE number = 1",
        "UPDATE {schema}.told SET ended = 9 WHERE number = 1",
        "UPDATE {schema}.told SET at = 'infinity' WHERE number = 1",
        "UPDATE {schema}.told SET measured = '{{1, 2, 3}}' WHERE number = 1",
        "UPDATE {schema}.told SET measured = '{{NULL}}' WHERE number = 1",
        "UPDATE {schema}.told SET measured = '{{infinity}}' WHERE number = 1",
        "UPDATE {schema}.studies SET planned = 549755813888",
        "UPDATE {schema}.studies SET metrics = -1",
        "UPDATE {schema}.studies SET metrics = 2",
        "UPDATE {schema}.plans SET arms[1] = 7",
        "UPDATE {schema}.plans SET arms[1] = NULL",
        "UPDATE {schema}.plans SET first = 5",
        "UPDATE {schema}.plans SET told = 549755813888",
        "UPDATE {schema}.settings SET settings = '[1]'",
    ],
)
def test_absurd_numbers_are_named(
    storage: PostgresStorage,
    postgres: PostgresServer,
    administrator: psycopg.Connection,
    schema: str,
    statement: str,
    snapshot: SnapshotAssertion,
) -> None:
    study = Study(["a", "b"], [Objective("x", "maximize", tolerance=0.1)], Prescient(0.1), storage=storage)
    study.tell_many([(pull, [float(pull.index)]) for pull in study.ask(20)])
    administrator.execute(statement.format(schema=schema))  # type: ignore[arg-type]
    with PostgresStorage(postgres.url(), schema=schema) as strange, refused(BadInput, snapshot) as caught:
        _taken_up(strange)
    assert len(str(caught.value).splitlines()) == 1


def test_a_storage_that_nobody_closed_leaves_no_connection(postgres: PostgresServer) -> None:
    storage = PostgresStorage(postgres.new_database())
    (connection,) = storage._connections._idle
    storage.itself = storage  # type: ignore[attr-defined]  # found by Python's search for circles, and not at once
    del storage
    gc.collect()
    assert connection.closed
