"""Begin a Python program as a fork of the server: `client.py ADDRESS -m MODULE ARGUMENT...`; see `tests.support.warm`.

Run without the site's packages, and imports little: it is to begin at once.
"""

from __future__ import annotations

import marshal
import os
import signal
import socket
import sys

FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


def main(address: str, arguments: list[str]) -> None:
    """Hand over what this process has, wait for the end of the other, and end so."""
    begun = 0
    early: list[int] = []

    def forward(number: int, _frame: object) -> None:
        if begun:
            os.kill(begun, number)
        else:
            early.append(number)

    ignored = [int(number) for number in FORWARDED if signal.getsignal(number) is signal.SIG_IGN]
    for number in FORWARDED:
        if number not in ignored:
            signal.signal(number, forward)
    with socket.socket(socket.AF_UNIX) as server:
        server.connect(address)
        request = marshal.dumps((arguments, os.getcwd(), dict(os.environb), ignored))
        socket.send_fds(server, [len(request).to_bytes(8, "little")], [0, 1, 2])
        server.sendall(request)
        answer = server.recv(8)
        begun = int.from_bytes(answer, "little")
        if not begun:  # it has to begin from nothing
            for number in FORWARDED:
                if number not in ignored:
                    signal.signal(number, signal.SIG_DFL)
            os.execv(sys.executable, [sys.executable, *arguments])
        for each in early:
            os.kill(begun, each)
        status = int.from_bytes(server.recv(8), "little")
    if os.WIFSIGNALED(status):
        signal.signal(os.WTERMSIG(status), signal.SIG_DFL)
        os.kill(os.getpid(), os.WTERMSIG(status))
    os._exit(os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
