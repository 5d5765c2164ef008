"""The process that is forked, `server.py ADDRESS`: imports, and then waits for clients; see `tests.support.warm`.

Nothing is loaded that starts threads of its own or opens anything: a fork would have half of it.
"""

from __future__ import annotations

import gc
import io
import marshal
import os
import runpy
import select
import signal
import socket
import sys
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pkgutil import walk_packages
from typing import Any

LEFT_OUT = (
    "frontguard.logs.sources.",  # Polars begins threads
    "frontguard._common.machine_code",  # looks once for what was compiled
    "frontguard.__main__",
)
"""How the names of modules begin that a fork imports for itself."""

OF_OTHERS = ("matplotlib.backends.backend_agg", "matplotlib.figure", "rich.live", "rich.markdown", "scipy.stats")
"""Modules that many commands import when they need them."""

AT_THE_START = ("PYTHON", "NUMBA", "OMP", "OPENBLAS", "MPL", "LANG", "LC_", "HOME", "TMPDIR", "SOURCE_DATE_EPOCH")
"""How the names of variables begin that are read when Python or a library begins."""


@dataclass
class Request:
    """What a client wants to be run, and where."""

    arguments: list[str]
    folder: str
    environment: dict[bytes, bytes]
    ignored: list[int]
    streams: list[int]


def begin() -> None:
    """Import all, and have numba's registries filled, which it does when it loads the first kernel."""
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # a fork would not have its threads
    import frontguard

    ours = [found.name for found in walk_packages(frontguard.__path__, "frontguard.")]
    for name in (*ours, *OF_OTHERS):
        if not name.startswith(LEFT_OUT):
            import_module(name)
    from numba.core.registry import cpu_target

    from frontguard.cli import COMMANDS, function_of

    for name in COMMANDS:
        function_of(name)

    cpu_target.target_context.refresh()
    cpu_target.typing_context.refresh()
    assert len(os.listdir("/proc/self/task")) == 1, "something that was imported has begun a thread"
    gc.freeze()  # a fork that collects what we have would copy it


def received(client: socket.socket) -> Request | None:
    """The request of a client; None if it was killed before it had said it all."""
    head, streams, _, _ = socket.recv_fds(client, 8, 3)
    length, text = int.from_bytes(head, "little"), b""
    while len(text) < length and (part := client.recv(length - len(text))):
        text += part
    if text and len(text) == length:
        return Request(*marshal.loads(text), streams)
    for stream in streams:
        os.close(stream)
    return None


def read_at_the_start(environment: dict[bytes, bytes]) -> dict[bytes, bytes]:
    """Those of the variables that matter only before we were begun."""
    names = tuple(name.encode() for name in AT_THE_START)
    return {name: value for name, value in environment.items() if name.startswith(names)}


def serve(address: str, usual: dict[bytes, bytes]) -> Request | None:
    """Fork for each client, and tell it how that ended. In a fork its request, in the server None at the end.

    `usual` are the variables that the server has read; who has others begins from nothing.
    """
    clients: dict[int, tuple[int, socket.socket]] = {}  # by the descriptor of a process
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen(64)
        print("ready", flush=True)
        while True:
            connections = {client.fileno(): process for process, (_, client) in clients.items()}
            ready, _, _ = select.select([0, listener, *clients, *connections], [], [])
            if 0 in ready:
                return None
            for found in ready:
                if found in clients:
                    end(*clients.pop(found))
                    os.close(found)
                elif found in connections and connections[found] in clients:  # its client was killed
                    signal.pidfd_send_signal(connections[found], signal.SIGKILL)
                    end(*clients.pop(connections[found]))
                    os.close(connections[found])
            if listener in ready:
                client, _ = listener.accept()
                request = received(client)
                if request is None:
                    client.close()
                    continue
                fork = os.fork() if read_at_the_start(request.environment) == usual else None
                if fork == 0:
                    for process, (_, other) in clients.items():
                        other.close()
                        os.close(process)
                    client.close()
                    return request
                for stream in request.streams:
                    os.close(stream)
                tell(client, fork or 0)
                if fork:
                    clients[os.pidfd_open(fork)] = (fork, client)
                else:
                    client.close()


def tell(client: socket.socket, number: int) -> None:
    """Send a number to a client, if it is still there."""
    with suppress(OSError):
        client.sendall(number.to_bytes(8, "little"))


def end(child: int, client: socket.socket) -> None:
    """Tell a client how its process ended."""
    _, status = os.waitpid(child, 0)
    tell(client, status)
    client.close()


def become(request: Request) -> None:
    """Take over a client's streams, folder, environment and signals."""
    os.setsid()
    for place, stream in enumerate(request.streams):
        os.dup2(stream, place)
        os.close(stream)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        usual = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
        signal.signal(number, signal.SIG_IGN if number in request.ignored else usual)
    os.chdir(request.folder)
    os.environb.clear()
    os.environb.update(request.environment)
    sys.stdin = sys.__stdin__ = standard(0, sys.stdin)
    sys.stdout = sys.__stdout__ = standard(1, sys.stdout)
    sys.stderr = sys.__stderr__ = standard(2, sys.stderr)


def standard(place: int, like: Any) -> Any:
    """A standard stream as Python makes it; `like` is that of the server."""
    raw = io.FileIO(place, "w" if place else "r", closefd=False)
    at_once = like.write_through  # PYTHONUNBUFFERED
    buffer: Any = io.BufferedReader(raw) if place == 0 else raw if at_once else io.BufferedWriter(raw)
    by_line = not at_once and (place == 2 or raw.isatty())
    return io.TextIOWrapper(buffer, like.encoding, like.errors, "\n", line_buffering=by_line, write_through=at_once)


def run(arguments: list[str]) -> None:
    """As `python ARGUMENTS` does."""
    if arguments[0] == "-m":
        sys.argv = [arguments[1], *arguments[2:]]
        sys.path[0] = os.getcwd()
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = arguments
        sys.path[0] = os.path.dirname(arguments[0])
        runpy.run_path(arguments[0], run_name="__main__")


if __name__ == "__main__":
    known = read_at_the_start(dict(os.environb))
    begin()
    wanted = serve(sys.argv[1], known)
    if wanted is not None:
        become(wanted)
        run(wanted.arguments)
