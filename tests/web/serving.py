"""A live page for tests: the real server on a free port of the loopback device, in a thread, and clients to ask it."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from frontguard import Objective, Prescient, Study
from frontguard.storage.contract import Storage
from frontguard.web.app import LiveServer, bind
from frontguard.web.watchers import Times, Watchers
from tests.support.waiting import patience, until

QUICK = Times(pause=0.05, trouble=0.2, silence=5.0)
"""As in life, but in less of a hurry to sleep."""

ARMS = ("-O1", "-O2", "-O3")
MEDIANS = {"-O1": (3.0, 100.0), "-O2": (2.0, 120.0), "-O3": (1.9, 200.0)}


def begin(storage: str | Path | Storage, name: str = "flags", arms: Sequence[str] = ARMS) -> Study:
    """A study of compiler flags, nothing measured yet."""
    goals = [Objective("seconds", "minimize", tolerance="2%"), Objective("bytes", "minimize", tolerance="1%")]
    return Study(list(arms), goals, Prescient(0.1), storage=storage, name=name)


def measure(study: Study, pulls: int, seed: int = 1) -> int:
    """Tell so many pulls, or those that are left; how many it were."""
    random = np.random.default_rng(seed)
    done = 0
    while done < pulls and (asked := study.ask(min(8, pulls - done))):
        for pull in asked:
            seconds, size = MEDIANS.get(pull.arm, (2.5, 150.0))
            study.tell(pull, {"seconds": seconds * (1.0 + 0.05 * random.random()), "bytes": size})
        done += len(asked)
    return done


@dataclass
class Said:
    """An answer."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Events:
    """An open event stream."""

    connection: socket.socket
    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    retry: int | None = None
    clean: bool | None = None  # once it has ended: to the last word, or cut off

    def __post_init__(self) -> None:
        self._answer = http.client.HTTPResponse(self.connection)
        self._answer.begin()
        self.status = self._answer.status
        self.headers = {name.lower(): value for name, value in self._answer.getheaders()}

    def next(self) -> dict[str, Any]:
        """The data of the next event; raises `EOFError` when there is no more."""
        data = []
        end = time.monotonic() + patience()
        while line := self._answer.readline():
            name, _, value = line.rstrip(b"\n").partition(b":")
            if line == b"\n" and data:
                read: dict[str, Any] = json.loads(b"\n".join(data))
                return read
            if name == b"" and line != b"\n":
                assert time.monotonic() < end, "nothing but comments"
            if name == b"retry":
                self.retry = int(value)
            if name == b"event":
                assert value == b" regions"
            if name == b"data":
                data.append(value[1:])
        raise EOFError

    def until(self, reached: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The regions as a browser has them by the time that something is true of them."""
        shown: dict[str, Any] = {}
        while True:
            event = self.next()
            shown |= event["regions"]
            shown = {name: tree for name, tree in shown.items() if tree is not None}
            if reached(shown):
                return shown

    def beats(self, times: int) -> bool:
        """Whether so many comments come before the end."""
        seen = 0
        while seen < times and (line := self._answer.readline()):
            seen += line.startswith(b":")
        return seen == times

    def end(self) -> None:
        """Read to the end, for which the server must have ended or cut the stream, and close."""
        try:
            rest = self._answer.fp.read() if self._answer.fp else b""
        except (ConnectionResetError, ValueError):  # cut off, or closed by the test
            rest = b""
        self.clean = rest.endswith(b"0\r\n\r\n")  # the last chunk, which says that this was all
        self.close()

    def close(self) -> None:
        self._answer.close()
        self.connection.close()


@dataclass
class Live:
    """A running server and ways to ask it."""

    server: LiveServer
    streams: list[Events] = field(default_factory=list)

    @property
    def port(self) -> int:
        return self.server.bound.port

    def get(self, path: str, method: str = "GET", **headers: str) -> Said:
        """Ask by http.client; a_b=… is a header a-b."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=patience())
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        try:
            connection.request(method, path, headers=sent)
            answer = connection.getresponse()
            found = {name.lower(): value for name, value in answer.getheaders()}
            return Said(answer.status, found, answer.read())
        finally:
            connection.close()

    def raw(self, request: bytes) -> Said:
        """Send bytes, and read one answer; the status is 0 if the server closed without one."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=patience()) as connection:
            answer = http.client.HTTPResponse(connection)
            try:
                connection.sendall(request)
                answer.begin()
                found = {name.lower(): value for name, value in answer.getheaders()}
                return Said(answer.status, found, answer.read())
            except (ConnectionError, http.client.HTTPException):
                return Said(0, {}, b"")
            finally:
                answer.close()

    def events(self, path: str, **headers: str) -> Events:
        """Listen to events."""
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=patience())
        sent = {"Host": f"127.0.0.1:{self.port}", "Accept": "text/event-stream", **headers}
        lines = [f"GET {path} HTTP/1.1", *(f"{name}: {value}" for name, value in sent.items()), "", ""]
        connection.sendall("\r\n".join(lines).encode())
        stream = Events(connection)
        self.streams.append(stream)
        return stream


@contextmanager
def serving(
    where: str | Path | Storage,
    only: Sequence[str] = (),
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    allowed: Sequence[str] = (),
    times: Times = QUICK,
    **options: Any,
) -> Iterator[Live]:
    """A server for as long as this lasts. It must end when it is told to, and its event streams with it."""
    bound = bind(host, port, allowed)
    watchers = Watchers(where if isinstance(where, Storage) else str(where), only, times=times)
    server = LiveServer(bound, watchers, **options)
    live = Live(server)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        until(lambda: server.started or not thread.is_alive())
        yield live
    finally:
        server.stop()
        thread.join(patience())
        for stream in live.streams:
            stream.end()
        assert not thread.is_alive(), "the server did not end"


def words(tree: Any) -> str:
    """All text of a region as it is sent."""
    return tree if isinstance(tree, str) else " ".join(words(child) for child in tree[2])
