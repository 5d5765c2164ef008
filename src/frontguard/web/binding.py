"""Where the live page listens: a socket, the rules that go with its address, the URL to give to people."""

from __future__ import annotations

import errno
import os
import secrets
import socket
from collections.abc import Sequence
from dataclasses import dataclass

from frontguard.errors import BadInput
from frontguard.web.guard import Rules, is_loopback, rules_for

__all__ = ["Bound", "bind"]


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
        return self.page + (f"?token={self.rules.token}" if self.rules.token else "")

    @property
    def others_reach_it(self) -> bool:
        """Whether machines other than this one can ask."""
        return not is_loopback(self.address)

    @property
    def page(self) -> str:
        """The same without the token."""
        return f"http://{self.host}/"


def bind(host: str, port: int, allowed: Sequence[str] = ()) -> Bound:
    """Listen at a host and a port; 0 picks a free one. `allowed` are further names by which browsers may ask."""
    if not 0 <= port <= 65535:
        raise BadInput(f"--port: wanted a number from 0 to 65535, got {port}")
    rules_for("127.0.0.1", port or 1, allowed)  # refuses what cannot be a name before anything is opened
    family, address = _resolved(host)
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        if os.name == "posix":
            # A server that was started again takes its port from connections that are still being forgotten.
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((address, port))
            listening.listen(128)
        except OSError as error:
            raise BadInput(_why_not(error, family, host, address, port)) from None
        bound = listening.getsockname()[1]
        rules = rules_for(address, bound, allowed, secrets.token_urlsafe(24))
        return Bound(listening, address, bound, rules, _shown(address, bound, rules, allowed))
    except BaseException:
        listening.close()
        raise


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
        with socket.socket(family, socket.SOCK_STREAM) as trial:
            try:
                trial.bind((address, port))
            except OSError:
                continue
            return port
    return None


def _shown(address: str, port: int, rules: Rules, allowed: Sequence[str]) -> str:
    """The host and port of the URL that people are given."""
    if rules.by_address:
        named = rules_for("127.0.0.1", port, allowed).hosts - rules_for("127.0.0.1", port).hosts
        return min(named) if named else f"localhost:{port}"
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
