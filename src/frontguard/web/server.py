"""Listens at an address and serves the live page there until it is stopped."""

from __future__ import annotations

import asyncio
import errno
import logging
import secrets
import socket
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import uvicorn

from frontguard.errors import BadInput
from frontguard.web.app import Site
from frontguard.web.guard import LARGEST, Rules, is_loopback, rules_for
from frontguard.web.watchers import Watchers

CONNECTIONS = 500
"""Connections, silent ones included, from which on requests are answered 503."""

KEEP_ALIVE = 15
"""Seconds after an answer for which its connection waits for the next request."""


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
        raise BadInput(_why_not(error, host, port)) from None
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


def _why_not(error: OSError, host: str, port: int) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"port {port} of {host} is taken by another program: --port 0 picks a free one"
    if error.errno == errno.EACCES:
        return f"port {port} may not be used by this user: wanted one from 1024 (--port 8730)"
    if error.errno == errno.EADDRNOTAVAIL:
        return f"--host: wanted an address of this machine, such as 127.0.0.1 or 0.0.0.0; got {host!r}"
    return f"cannot listen at port {port} of {host}: {error.strerror or error}"


def _shown(address: str, port: int, rules: Rules, allowed: Sequence[str]) -> str:
    """The host and port of the URL that people are given."""
    if rules.by_address:
        named = rules_for("127.0.0.1", port, allowed).hosts - rules_for("127.0.0.1", port).hosts
        return min(named) if named else f"localhost:{port}"
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


# Serving --------------------------------------------------------------------------------------------------------------


_LOOK = 0.2
"""Seconds between two looks for signals: one that another thread receives does not wake this one from a longer wait."""


class LiveServer:
    """Serves the studies of a storage. `run` returns after `stop`. `options` are those of the `Site`."""

    def __init__(self, bound: Bound, watchers: Watchers, *, connections: int = CONNECTIONS, **options: Any) -> None:
        self.bound = bound
        self.site = Site(watchers, bound.rules, **options)
        self._loop = asyncio.new_event_loop()
        self._server = uvicorn.Server(
            uvicorn.Config(
                self.site.asgi,
                http="h11",
                loop="asyncio",
                ws="none",
                lifespan="on",
                log_config=None,
                log_level=logging.CRITICAL,  # the guard logs the faults of answers
                access_log=False,
                server_header=False,
                proxy_headers=False,  # nobody is to tell us where a request came from, or how
                limit_concurrency=connections,
                timeout_keep_alive=KEEP_ALIVE,
                timeout_graceful_shutdown=1,
                h11_max_incomplete_event_size=LARGEST,
            )
        )

    @property
    def started(self) -> bool:
        """Whether it answers."""
        return self._server.started

    def run(self) -> None:
        """Serve until stopped. In a thread of its own, so that signals are the caller's to handle."""
        serving = threading.Thread(target=self._serve, name="frontguard-serve", daemon=True)
        serving.start()
        while serving.is_alive():
            serving.join(_LOOK)

    def stop(self) -> None:
        """End soon: event streams at once, other answers within a second. May be called from any thread."""
        self._server.should_exit = True
        with suppress(RuntimeError):  # it has ended already
            self._loop.call_soon_threadsafe(self.site.closing.set)

    def _serve(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._server.serve(sockets=[self.bound.socket]))
