"""`frontguard serve` as a process of its own, as a person starts it: for tests, benchmarks and the gallery."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

WAIT = 180.0  # seconds for a server to begin or to answer: it shares the machine with other tests
PATIENCE = 300.0  # and for it to have read a log


@dataclass
class Served:
    """A running server."""

    process: subprocess.Popen[str]
    url: str  # without a slash at its end

    @property
    def port(self) -> int:
        return int(self.url.rsplit(":", 1)[1])

    def kill(self) -> None:
        """End it as a crash would."""
        self.process.kill()
        self._ended()

    def stop(self) -> int:
        """End it as Ctrl-C does; its exit code."""
        self.process.send_signal(signal.SIGINT)
        return self._ended()

    def _ended(self) -> int:
        code = self.process.wait(timeout=WAIT)
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()
        return code

    def json(self, path: str) -> Any:
        """What a `.json` twin says."""
        with urllib.request.urlopen(self.url + path, timeout=WAIT) as answer:
            return json.load(answer)

    def wait_until_read(self, study: int = 1) -> None:
        """Until the server has read a study's log: where kernels must be compiled first, that takes a while."""
        end = time.monotonic() + PATIENCE
        while True:
            try:
                assert self.json(f"/study/{study}.json")["status"] != "reading"
                return
            except (urllib.error.HTTPError, AssertionError):
                if time.monotonic() > end:
                    raise
                time.sleep(0.05)  # to be asked without a pause would keep it from reading

    def bytes(self, path: str) -> bytes:
        """What is answered."""
        with urllib.request.urlopen(self.url + path, timeout=WAIT) as answer:
            return bytes(answer.read())


def serve(storage: str | Path, *options: str, port: int = 0, log: Path | None = None) -> Served:
    """Start a server, and wait until it answers. What it says goes to the file `log`, or nowhere."""
    command = [sys.executable, "-m", "frontguard", "serve", str(storage), "--port", str(port), "--json", *options]
    with open(log or os.devnull, "ab") as said:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=said,
            text=True,
            start_new_session=True,  # Ctrl-C in the tests is not for the server
        )
    assert process.stdout is not None
    try:
        ready, _, _ = select.select([process.stdout], [], [], WAIT)
        line = process.stdout.readline() if ready else ""
        if not line:
            raise RuntimeError(f"no server: exit code {process.poll()}; see {log or 'its output, which was not kept'}")
        served = Served(process, json.loads(line)["url"].rstrip("/"))
        _wait_for(served)
    except BaseException:
        process.kill()
        process.wait()
        process.stdout.close()
        raise
    return served


def _wait_for(served: Served) -> None:
    end = time.monotonic() + WAIT
    while True:
        try:
            served.bytes("/static/page.css")  # a study that is asked for would be read at once
            return
        except OSError:
            if time.monotonic() > end or served.process.poll() is not None:
                raise
            time.sleep(0.02)


@contextmanager
def served(storage: str | Path, *options: str, port: int = 0, log: Path | None = None) -> Iterator[Served]:
    """A server that ends with the block."""
    running = serve(storage, *options, port=port, log=log)
    try:
        yield running
    finally:
        if running.process.poll() is None:
            running.kill()
