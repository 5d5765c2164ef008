"""Connections that are silent, slow, too many: real sockets, and a visitor who sees the page all the same."""

from __future__ import annotations

import socket
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from frontguard.web.connections import USUAL, ConnectionLimits, Seats, client_of
from tests.web.serving import PATIENCE, Live, begin, measure, serving, until

QUICK = replace(USUAL, wait=0.2, pace=0.2)

several_addresses = pytest.mark.skipif(
    sys.platform != "linux", reason="only there a loopback device has many addresses"
)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("connections") / "flags.db"
    study = begin(path)
    measure(study, 40)
    study.close()
    return path


@contextmanager
def connections(live: Live, number: int, source: str = "127.0.0.1") -> Iterator[list[socket.socket]]:
    """So many connections, open for as long as this lasts."""
    with ExitStack() as closing:
        yield [
            closing.enter_context(
                socket.create_connection(("127.0.0.1", live.port), timeout=PATIENCE, source_address=(source, 0))
            )
            for _ in range(number)
        ]


def trickle(connection: socket.socket, sent: bytes) -> None:
    """Send byte by byte."""
    for byte in sent:
        connection.sendall(bytes([byte]))
        time.sleep(0.01)


def request(live: Live, path: str, *more: str) -> bytes:
    return "\r\n".join([f"GET {path} HTTP/1.1", f"Host: 127.0.0.1:{live.port}", *more, "", ""]).encode()


def rest(connection: socket.socket) -> bytes:
    """What still comes until the server closes; it must."""
    said = b""
    try:
        while more := connection.recv(65536):
            said += more
    except ConnectionResetError:
        pass
    return said


def status(connection: socket.socket) -> int:
    """That of the answer which comes next."""
    return int(connection.recv(12, socket.MSG_WAITALL).split()[1])


# Too many -------------------------------------------------------------------------------------------------------------


def test_the_page_is_there_while_500_silent_connections_are_open(file: Path) -> None:
    with serving(file) as live:
        assert live.get("/study/1").status == 200
        kept = live.events("/events/study/1")  # somebody who looks already
        kept.next()
        with connections(live, 500):
            began = time.monotonic()
            assert live.get("/").status == 200
            assert live.get("/study/1.json").status == 200
            assert live.events("/events/study/1").next()["regions"]
            assert time.monotonic() - began < 5
            assert len(live.server.server_state.connections) <= USUAL.connections
            study = begin(file)
            measure(study, 8, seed=3)
            study.close()
            assert kept.next()["regions"]


def test_the_oldest_that_is_silent_makes_room(file: Path) -> None:
    with serving(file, limits=replace(USUAL, connections=3, of_one_client=3)) as live, connections(live, 4) as opened:
        assert rest(opened[0]) == b""
        for connection in opened[1:]:
            connection.sendall(request(live, "/static/icon.svg"))
            assert status(connection) == 200


def test_with_all_at_work_the_next_is_told_to_come_again(file: Path) -> None:
    with serving(file, limits=replace(USUAL, connections=2, of_one_client=2)) as live:
        streams = [live.events("/events/study/1") for _ in range(2)]
        answer = live.raw(b"")
        assert (answer.status, answer.headers["retry-after"]) == (503, "5")
        assert answer.headers["x-frame-options"] == "DENY"
        streams[0].close()
        until(lambda: live.get("/static/icon.svg").status == 200)


@several_addresses
def test_one_client_drives_out_nobody_but_itself(file: Path) -> None:
    limits = replace(USUAL, connections=20, of_one_client=5)
    with serving(file, limits=limits) as live, connections(live, 1) as (mine,):
        with connections(live, 40, source="127.0.0.2") as theirs:
            until(lambda: len(live.server.server_state.connections) == 6)
            assert [rest(each) for each in theirs[:35]] == [b""] * 35
        mine.sendall(request(live, "/static/icon.svg"))
        assert status(mine) == 200


def test_clients_by_address() -> None:
    assert client_of(("10.0.0.7", 1)) == client_of(("::ffff:10.0.0.7", 2)) == "10.0.0.7"
    assert client_of(("2001:db8:1:2::1", 1)) == client_of(("2001:db8:1:2:a:b:c:d", 1)) != client_of(("2001:db8::1", 1))
    assert client_of(("fe80::1%eth0", 1)) == client_of(("fe80::2%eth0", 1))
    assert client_of(None) == client_of(("", 0)) == ""


def test_no_more_connections_than_a_process_may_open() -> None:
    assert ConnectionLimits.for_this_process(files=20_000) == USUAL
    few = ConnectionLimits.for_this_process(files=256)
    assert (few.connections, few.of_one_client, few.streams, few.streams_of_one_client) == (128, 64, 64, 32)


# Slow to ask ----------------------------------------------------------------------------------------------------------


def test_who_says_nothing_is_cut_off(file: Path) -> None:
    with serving(file, limits=QUICK) as live, connections(live, 1) as (silent,):
        assert rest(silent) == b""


def test_who_asks_letter_by_letter_is_told_and_cut_off(file: Path) -> None:
    with serving(file, limits=QUICK) as live, connections(live, 1) as (slow,):
        began = time.monotonic()
        with pytest.raises(ConnectionError):
            trickle(slow, request(live, "/", *(f"X-{number}: a" for number in range(100))))
        assert time.monotonic() - began < 5


def test_half_a_request_is_answered(file: Path) -> None:
    with serving(file, limits=QUICK) as live:
        answer = live.raw(b"GET / HTTP/1.1\r\nHost: a\r\n")
        assert answer.status == 408
        assert answer.headers["x-frame-options"] == "DENY"
        assert answer.headers["connection"] == "close"


def test_a_body_that_never_ends_does_not_keep_a_connection(file: Path) -> None:
    with serving(file, limits=QUICK) as live, connections(live, 1) as (slow,):
        slow.sendall(request(live, "/static/icon.svg", "Content-Length: 1000000"))
        assert status(slow) == 200
        with pytest.raises(ConnectionError):
            trickle(slow, b"x" * 500)


def test_a_connection_serves_again_and_again_and_long_answers_are_not_cut(file: Path) -> None:
    with serving(file, limits=replace(QUICK, wait=0.5), heartbeat=0.1) as live, connections(live, 1) as (kept,):
        stream = live.events("/events/study/1")
        for _ in range(10):
            kept.sendall(request(live, "/static/icon.svg"))
            head = b""
            while b"\r\n\r\n" not in head:
                head += kept.recv(1)
            assert head.startswith(b"HTTP/1.1 200")
            length = int(head.lower().split(b"content-length: ")[1].split()[0])
            assert len(kept.recv(length, socket.MSG_WAITALL)) == length
            time.sleep(0.1)
        assert stream.beats(8)  # longer than a request may take


# Slow to read ---------------------------------------------------------------------------------------------------------


def unread(live: Live, path: str, times: int) -> socket.socket:
    """A connection with a small window that asks again and again, and reads nothing."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.connect(("127.0.0.1", live.port))
    connection.settimeout(PATIENCE)
    connection.sendall(request(live, path) * times)
    return connection


def test_who_does_not_read_is_cut_off(file: Path) -> None:
    with serving(file, limits=QUICK) as live:
        slow = unread(live, "/static/page.css", 100)
        until(lambda: any(each.flow.write_paused for each in live.server.server_state.connections))
        until(lambda: not live.server.server_state.connections, 10)
        slow.close()


def test_who_reads_slowly_is_let(file: Path) -> None:
    with serving(file, limits=replace(QUICK, pace=0.3)) as live:
        slow = unread(live, "/static/page.css", 100)
        until(lambda: any(each.flow.write_paused for each in live.server.server_state.connections))
        (connection,) = live.server.server_state.connections
        end = time.monotonic() + 1.2
        while time.monotonic() < end:  # four times as long as one who reads nothing may take
            assert slow.recv(4096)
            time.sleep(0.005)
        assert live.server.server_state.connections == {connection}
        assert connection.flow.write_paused  # there is more
        slow.close()


# Streams --------------------------------------------------------------------------------------------------------------


def test_streams_that_come_at_once_are_counted_before_they_are_answered(file: Path) -> None:
    with serving(file, limits=replace(USUAL, streams=3)) as live, connections(live, 20) as opened:
        for connection in opened:
            connection.sendall(request(live, "/events/study/1"))
        heads = [connection.recv(400) for connection in opened]
        given = [int(head.split()[1]) for head in heads]
        assert sorted(given) == [200] * 3 + [503] * 17
        assert all(b"retry-after: 5" in head.lower() for head in heads if b" 503 " in head)


@several_addresses
def test_one_client_does_not_take_all_streams(file: Path) -> None:
    limits = replace(USUAL, streams=4, streams_of_one_client=2)
    with (
        serving(file, limits=limits) as live,
        connections(live, 3) as mine,
        connections(live, 1, "127.0.0.2") as theirs,
    ):
        given = []
        for connection in (*mine, *theirs):
            connection.sendall(request(live, "/events/study/1"))
            given.append(status(connection))
        assert given == [200, 200, 503, 200]


def test_a_seat_is_given_back_whatever_happens() -> None:
    seats = Seats(most=1, of_one=1)
    with pytest.raises(KeyError), seats.one("a"):
        raise KeyError
    with seats.one("a") as first, seats.one("b") as second:
        assert (first, second) == (True, False)
    assert seats.taken == 0


def test_the_tables_of_a_server_are_empty_in_the_end(file: Path) -> None:
    with serving(file, limits=QUICK) as live:
        with connections(live, 10):
            live.get("/")
        until(lambda: not live.server.server_state.connections)
        assert live.server.room.is_empty
