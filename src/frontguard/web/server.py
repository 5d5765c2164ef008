"""Runs the live page on a socket until it is interrupted, and ends at once then."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from frontguard.web.answers import secured
from frontguard.web.app import Site
from frontguard.web.binding import Bound
from frontguard.web.guard import LARGEST
from frontguard.web.watchers import Watchers

__all__ = ["LiveServer"]

MOST_CONNECTIONS = 400

_LAST_MOMENTS = 0.5  # seconds that answers under way have when the server ends


class _Protocol(H11Protocol):
    """uvicorn's, with our headers on its own answer to what is not HTTP, and an end to the number of connections."""

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        if len(self.connections) > MOST_CONNECTIONS:
            transport.abort()

    def send_400_response(self, msg: str) -> None:
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            body = msg.encode()
            headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"connection", b"close")]
            headers += [(b"content-length", str(len(body)).encode())]
            lines = [b"HTTP/1.1 400 Bad Request", *(b"%s: %s" % each for each in secured(headers)), b"", body]
            self.transport.write(b"\r\n".join(lines))
        self.transport.close()


class LiveServer(uvicorn.Server):
    """Serves the studies of a storage. `run` returns when it was told to stop, by a signal or by `stop`.

    `options` are those of the `Site`.
    """

    def __init__(self, bound: Bound, watchers: Watchers, **options: Any) -> None:
        self.bound = bound
        self.interrupted = False  # by Ctrl-C
        self.site = Site(watchers, bound.rules, **options)
        super().__init__(
            uvicorn.Config(
                self.site.asgi,
                http=_Protocol,
                loop="asyncio",
                ws="none",
                lifespan="on",
                log_config=None,
                log_level=logging.ERROR,
                access_log=False,
                server_header=False,
                proxy_headers=False,  # nobody is to tell us where a request came from, or how
                timeout_keep_alive=15,
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
