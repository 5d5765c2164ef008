"""Connections that are silent or too many: real sockets, and a visitor who sees the page all the same."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.support.waiting import patience, until
from tests.web.serving import Live, begin, measure, serving


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("connections") / "flags.db"
    study = begin(path)
    measure(study, 40)
    study.close()
    return path


@contextmanager
def connections(live: Live, number: int) -> Iterator[list[socket.socket]]:
    """So many connections, open for as long as this lasts."""
    with ExitStack() as closing:
        yield [
            closing.enter_context(socket.create_connection(("127.0.0.1", live.port), timeout=patience()))
            for _ in range(number)
        ]


def request(live: Live, path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{live.port}\r\n\r\n".encode()


def test_silent_connections_keep_nobody_from_the_page(file: Path) -> None:
    with serving(file) as live:
        kept = live.events("/events/study/1")  # somebody who looks already
        kept.next()
        with connections(live, 300) as silent:
            for half in silent[:150]:
                half.sendall(b"GET / HTTP/1.1\r\nHost")
            assert live.get("/study/1").status == 200
            assert live.get("/study/1.json").status == 200
            assert live.events("/events/study/1").next()["regions"]
            study = begin(file)
            measure(study, 8, seed=3)
            study.close()
            assert kept.next()["regions"]


def test_with_too_many_connections_requests_are_refused_until_some_are_closed(file: Path) -> None:
    with serving(file, connections=5) as live:
        with connections(live, 5) as opened:
            assert live.get("/static/icon.svg").status == 503
            for connection in opened:
                connection.close()
        until(lambda: live.get("/static/icon.svg").status == 200)


def test_streams_that_come_at_once_are_counted_before_they_are_answered(file: Path) -> None:
    with serving(file, streams=3) as live, connections(live, 20) as opened:
        for connection in opened:
            connection.sendall(request(live, "/events/study/1"))
        heads = [connection.recv(400) for connection in opened]
        given = [int(head.split()[1]) for head in heads]
        assert sorted(given) == [200] * 3 + [503] * 17
        assert all(b"retry-after: 5" in head.lower() for head in heads if b" 503 " in head)


def test_a_head_without_end_is_cut_off(file: Path) -> None:
    with serving(file) as live, connections(live, 1) as (endless,):
        endless.sendall(b"GET / HTTP/1.1\r\nX: " + b"a" * 100_000)
        assert endless.recv(12, socket.MSG_WAITALL) == b"HTTP/1.1 400"
        assert live.get("/").status == 200
