"""Runs the live page on a socket until it is interrupted, and ends at once then."""

from __future__ import annotations

import asyncio
import errno
import logging
import secrets
import signal
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from types import FrameType
from typing import Any, cast

import uvicorn

from frontguard.errors import BadInput
from frontguard.web.app import Site
from frontguard.web.connections import Connection, ConnectionLimits, Room, Seats
from frontguard.web.guard import LARGEST, Rules, is_loopback, rules_for
from frontguard.web.watchers import Watchers

_LAST_MOMENTS = 0.5  # seconds that answers under way have when the server ends


@dataclass(frozen=True)
class Bound:
    """A socket that listens, the rules that go with its address, and the URL to give to people."""

    socket: socket.socket
    address: str
    port: int
    rules: Rules
    host: str  # with its port, by which it is shown

    @property
    def url(self) -> str:
        """Where the page is, with the token if one is needed."""
        return f"http://{self.host}/" + (f"?token={self.rules.token}" if self.rules.token else "")

    @property
    def others_reach_it(self) -> bool:
        """Whether machines other than this one can ask."""
        return not is_loopback(self.address)


def bind(host: str, port: int, allowed: Sequence[str] = ()) -> Bound:
    """Listen at a host and a port; 0 picks a free one. `allowed` are further names by which browsers may ask."""
    if not 0 <= port <= 65535:
        raise BadInput(f"--port: wanted a number from 0 to 65535, got {port}")
    rules_for("127.0.0.1", port or 1, allowed)  # refuses what cannot be a name before anything is opened
    family, address = _resolved(host)
    both = family == socket.AF_INET6 and socket.has_dualstack_ipv6()  # addresses of the old kind too
    try:
        listening = socket.create_server((address, port), family=family, backlog=128, dualstack_ipv6=both)
    except OSError as error:
        raise BadInput(_why_not(error, family, host, address, port)) from None
    bound = listening.getsockname()[1]
    rules = rules_for(address, bound, allowed, secrets.token_urlsafe(24))
    return Bound(listening, address, bound, rules, _shown(address, bound, rules, allowed))


def _resolved(host: str) -> tuple[socket.AddressFamily, str]:
    try:
        found = socket.getaddrinfo(host.strip("[]") or None, None, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError):
        raise BadInput(
            f"--host: wanted an address of this machine, such as 127.0.0.1 or 0.0.0.0; got {host!r}"
        ) from None
    found.sort(key=lambda each: each[0] != socket.AF_INET)  # of several, the one that everybody understands
    family, _, _, _, where = found[0]
    return family, str(where[0])


def _why_not(error: OSError, family: socket.AddressFamily, host: str, address: str, port: int) -> str:
    if error.errno == errno.EADDRINUSE:
        free = _free_port(family, address, port)
        said = f"--port {free} is free now, and " if free else ""
        return f"port {port} of {host} is taken by another program: {said}--port 0 picks a free one"
    if error.errno == errno.EACCES:
        return f"port {port} may not be used by this user: wanted one from 1024 (--port 8730)"
    if error.errno == errno.EADDRNOTAVAIL:
        return f"--host: wanted an address of this machine, such as 127.0.0.1 or 0.0.0.0; got {host!r}"
    return f"cannot listen at port {port} of {host}: {error.strerror or error}"


def _free_port(family: socket.AddressFamily, address: str, taken: int) -> int | None:
    for port in range(taken + 1, min(taken + 50, 65536)):
        with suppress(OSError), socket.socket(family, socket.SOCK_STREAM) as trial:
            trial.bind((address, port))
            return port
    return None


def _shown(address: str, port: int, rules: Rules, allowed: Sequence[str]) -> str:
    """The host and port of the URL that people are given."""
    if rules.by_address:
        named = rules_for("127.0.0.1", port, allowed).hosts - rules_for("127.0.0.1", port).hosts
        return min(named) if named else f"localhost:{port}"
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


# Serving --------------------------------------------------------------------------------------------------------------


class LiveServer(uvicorn.Server):
    """Serves the studies of a storage. `run` returns when it was told to stop, by a signal or by `stop`.

    `options` are those of the `Site`.
    """

    def __init__(
        self, bound: Bound, watchers: Watchers, *, limits: ConnectionLimits | None = None, **options: Any
    ) -> None:
        limits = limits or ConnectionLimits.for_this_process()
        self.bound = bound
        self.interrupted = False  # by Ctrl-C
        self.room = Room(limits)
        self.site = Site(watchers, bound.rules, Seats(limits.streams, limits.streams_of_one_client), **options)
        super().__init__(
            uvicorn.Config(
                self.site.asgi,
                http=cast(Any, partial(Connection, room=self.room)),
                loop="asyncio",
                ws="none",
                lifespan="on",
                log_config=None,
                log_level=logging.ERROR,
                access_log=False,
                server_header=False,
                proxy_headers=False,  # nobody is to tell us where a request came from, or how
                timeout_keep_alive=round(limits.wait) + 1,  # ours comes first, and is not put off by single letters
                timeout_graceful_shutdown=1,
                h11_max_incomplete_event_size=LARGEST,
            )
        )

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve until stopped."""
        super().run(sockets=sockets or [self.bound.socket])

    def stop(self) -> None:
        """End soon; may be called from any thread."""
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the event streams, which would never end by themselves, give the others a moment, and leave."""
        for server in self.servers:
            server.close()
        self.site.closing.set()
        end = asyncio.get_running_loop().time() + _LAST_MOMENTS
        while self.server_state.tasks and not self.force_exit and asyncio.get_running_loop().time() < end:
            await asyncio.sleep(0.02)
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)  # what is cut off now is cut off on purpose
        for connection in list(self.server_state.connections):
            if connection.transport is not None:
                connection.transport.abort()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Ctrl-C, SIGTERM and a lost terminal end the server in good order: they are not raised again."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before: dict[int, Any] = {}
        for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK"):
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) != signal.SIG_IGN:  # as under nohup
                before[number] = signal.signal(number, self.handle_exit)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """End soon; the second time, at once."""
        del frame
        self.interrupted |= sig == signal.SIGINT
        self.force_exit = self.should_exit
        self.should_exit = True
