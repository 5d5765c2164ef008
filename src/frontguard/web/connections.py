"""How many may be connected, and how long they may take to ask and to read: so that nobody keeps others out.

A connection *waits* (for a whole request), *works* (an answer is being made or sent) or *reads slowly* (what was sent
to it has not left us). Who waits makes room: when there are too many connections, of one client or of all, the one that
has waited longest is closed for the newcomer. So silent connections, however many, leave the page open.

Waiting and reading have an end too. A request must have come whole some seconds after the connection was made or the
last answer was sent, letter by letter or not; what was sent must be read, a few kilobytes a second at least.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from frontguard.web.guard import secured

SEND_BUFFER = 64 * 1024
"""Bytes of an answer that the system may hold for a connection. It says that something was read when a third of them
was: with the usual megabytes, somebody on a slow line would seem to read nothing for a minute."""

RETRY_AFTER = "5"
"""Seconds after which somebody who found everything taken may ask again."""


@dataclass(frozen=True)
class ConnectionLimits:
    """How much of the server one may have. A client is an address: several people behind a tunnel are one."""

    connections: int = 400
    of_one_client: int = 200
    streams: int = 100  # of events: pages that are open
    streams_of_one_client: int = 50
    wait: float = 15.0  # seconds for a request to come
    pace: float = 20.0  # seconds in which something of what was sent must have been read

    @classmethod
    def for_this_process(cls, files: int | None = None) -> ConnectionLimits:
        """The usual limits, or lower ones where a process may open few files.

        >>> ConnectionLimits.for_this_process(files=256).connections
        128
        """
        files = _most_files() if files is None else files
        connections = min(cls.connections, files // 2)
        streams = min(cls.streams, connections // 2)
        return replace(
            USUAL,
            connections=connections,
            of_one_client=connections // 2,
            streams=streams,
            streams_of_one_client=streams // 2,
        )


USUAL = ConnectionLimits()


def _most_files() -> int:
    try:
        import resource
    except ModuleNotFoundError:  # Windows, where sockets are no files
        return 2 * ConnectionLimits.connections
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 2 * ConnectionLimits.connections if soft == resource.RLIM_INFINITY else soft


def client_of(address: tuple[str, int] | None) -> str:
    """Who is at an address. With IPv6 everybody has 2⁶⁴ of them.

    >>> client_of(("10.0.0.7", 50123)), client_of(("2001:db8::7", 50123))
    ('10.0.0.7', '2001:db8::/64')
    """
    try:
        read = ipaddress.ip_address((address or ("", 0))[0].partition("%")[0])
    except ValueError:  # a socket that has no address
        return ""
    if read.version == 4:
        return str(read)
    mapped = read.ipv4_mapped
    return str(mapped or ipaddress.ip_network((read, 64), strict=False))


class Seats:
    """Places of which everybody may have a few: a place is taken before anything is answered."""

    def __init__(self, most: int, of_one: int) -> None:
        self._most, self._of_one = most, of_one
        self._taken: Counter[str] = Counter()

    @property
    def taken(self) -> int:
        """How many are taken."""
        return self._taken.total()

    @contextmanager
    def one(self, client: str) -> Iterator[bool]:
        """A place for as long as this lasts; False if there is none."""
        if self.taken >= self._most or self._taken[client] >= self._of_one:
            yield False
            return
        self._taken[client] += 1
        try:
            yield True
        finally:
            self._taken[client] -= 1
            self._taken += Counter()  # those who have none are forgotten


class Room:
    """Who is connected. The dictionaries are in order: whoever has waited longest comes first."""

    def __init__(self, limits: ConnectionLimits) -> None:
        self.limits = limits
        self._clients: dict[Connection, str] = {}
        self._waiting: dict[Connection, None] = {}

    @property
    def is_empty(self) -> bool:
        """Whether nobody is here."""
        return not self._clients and not self._waiting

    def enter(self, newcomer: Connection, client: str) -> bool:
        """Take somebody in, in place of one who waits if need be; False if all are at work."""
        theirs = [each for each, of in self._clients.items() if of == client]
        if len(theirs) >= self.limits.of_one_client:
            free = self._make_room(each for each in self._waiting if self._clients[each] == client)
        elif len(self._clients) >= self.limits.connections:
            free = self._make_room(self._waiting)
        else:
            free = True
        if free:
            self._clients[newcomer] = client
        return free

    def _make_room(self, candidates: Iterable[Connection]) -> bool:
        oldest = next(iter(candidates), None)
        if oldest is None:
            return False
        self.leave(oldest)
        oldest.transport.abort()
        return True

    def waits(self, connection: Connection) -> None:
        """Somebody has nothing under way any more."""
        if connection in self._clients:
            self._waiting[connection] = None

    def works(self, connection: Connection) -> None:
        """Somebody has."""
        self._waiting.pop(connection, None)

    def leave(self, connection: Connection) -> None:
        """Somebody is gone."""
        self._clients.pop(connection, None)
        self._waiting.pop(connection, None)


class _State(Enum):
    WAITS = auto()
    WORKS = auto()
    READS_SLOWLY = auto()


class Connection(H11Protocol):
    """uvicorn's, with an end to what one may take, and our headers on answers that no application has made."""

    def __init__(self, *arguments: Any, room: Room, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._room = room
        self._state: _State | None = None
        self._clock: asyncio.TimerHandle | None = None
        self._unread = 0  # bytes, when the clock was set

    # What uvicorn and the loop call -----------------------------------------------------------------------------------

    def connection_made(self, transport: Any) -> None:
        """Take the connection in, or say that there is no room."""
        super().connection_made(transport)
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)
        transport.set_write_buffer_limits(high=0)  # so that writing pauses whenever something has not left us
        if self._room.enter(self, client_of(self.client)):
            self._settle()
        else:
            self._refuse(b"503 Service Unavailable", "Too many are connected.", (b"retry-after", RETRY_AFTER.encode()))

    def connection_lost(self, exc: Exception | None) -> None:
        """Make room."""
        self._room.leave(self)
        self._stop_clock()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on; a request may be whole now."""
        super().data_received(data)
        self._settle()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        self._settle()

    def pause_writing(self) -> None:
        """Something has not left us."""
        super().pause_writing()
        self._settle()

    def resume_writing(self) -> None:
        """All has left us."""
        super().resume_writing()
        self._settle()

    def send_400_response(self, msg: str) -> None:
        """Answer what is not HTTP."""
        self._refuse(b"400 Bad Request", msg)

    # Time -------------------------------------------------------------------------------------------------------------

    def _settle(self) -> None:
        """Set the clock of the state that this is in now, if it is another than before."""
        under_way = self.cycle is not None and not self.cycle.response_complete
        state = _State.WORKS if under_way else _State.WAITS
        if self.flow.write_paused:
            state = _State.READS_SLOWLY
        if state is self._state or (self.transport.is_closing() and state is not _State.READS_SLOWLY):
            return
        self._state = state
        self._stop_clock()
        if state is _State.WAITS:
            self._room.waits(self)
            self._clock = self.loop.call_later(self._room.limits.wait, self._asked_too_slowly)
            return
        self._room.works(self)
        if state is _State.READS_SLOWLY:
            self._watch_pace()

    def _stop_clock(self) -> None:
        if self._clock is not None:
            self._clock.cancel()
            self._clock = None

    def _asked_too_slowly(self) -> None:
        if self.conn.our_state is h11.IDLE and self.conn.trailing_data[0]:  # a part of a request is there
            self._refuse(b"408 Request Timeout", "The request did not come to its end.")
        else:
            self.transport.close()

    def _watch_pace(self) -> None:
        self._unread = self.transport.get_write_buffer_size()
        self._clock = self.loop.call_later(self._room.limits.pace, self._look_at_pace)

    def _look_at_pace(self) -> None:
        if self.transport.get_write_buffer_size() >= self._unread:
            self.transport.abort()  # to close it would be to wait until all is read
        else:
            self._watch_pace()

    def _refuse(self, status: bytes, said: str, *more: tuple[bytes, bytes]) -> None:
        """Answer in place of the application, unless an answer is under way, and close."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            body = said.encode()
            headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"connection", b"close"), *more]
            headers.append((b"content-length", str(len(body)).encode()))
            lines = [b"HTTP/1.1 " + status, *(b"%s: %s" % each for each in secured(headers)), b"", body]
            self.transport.write(b"\r\n".join(lines))
        self.transport.close()
