"""A TCP proxy in front of a server, to lose answers on purpose."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator


class Proxy:
    """Passes bytes between clients and the server at `target`; can swallow an answer and cut the line."""

    def __init__(self, target: int) -> None:
        self.target = target
        self.swallow_next = False
        self.swallowed = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self._start(self._accept)

    def close(self) -> None:
        self._listener.close()

    def _start(self, work: object, *arguments: object) -> None:
        threading.Thread(target=work, args=arguments, daemon=True).start()  # type: ignore[arg-type]

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self.target))
                self._start(self._forward, client, server)
                self._start(self._answer, server, client)

    def _forward(self, client: socket.socket, server: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := client.recv(1 << 16):
                server.sendall(data)
            server.close()

    def _answer(self, server: socket.socket, client: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := server.recv(1 << 16):
                if self.swallow_next:  # the server has done what it was asked; its client will never hear of it
                    self.swallow_next = False
                    self.swallowed += 1
                    break
                client.sendall(data)
        for line in (client, server):
            with contextlib.suppress(OSError):
                line.shutdown(socket.SHUT_RDWR)
            line.close()


@contextlib.contextmanager
def proxy(target: int) -> Iterator[Proxy]:
    """A proxy to a port of this machine."""
    between = Proxy(target)
    try:
        yield between
    finally:
        between.close()
