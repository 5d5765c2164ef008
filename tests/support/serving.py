"""`frontguard serve` as a process of its own, as a person starts it: for tests, benchmarks and the gallery."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.waiting import patience, until


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
        code = self.process.wait(timeout=patience())
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()
        return code

    def json(self, path: str) -> Any:
        """What a `.json` twin says."""
        with urllib.request.urlopen(self.url + path, timeout=patience()) as answer:
            return json.load(answer)

    def wait_until_read(self, study: int = 1) -> None:
        """Until the server has read a study's log: where kernels must be compiled first, that takes a while."""

        def read() -> bool:
            try:
                return bool(self.json(f"/study/{study}.json")["status"] != "reading")
            except urllib.error.HTTPError as error:
                if error.code == 500:
                    raise
                return False

        until(read, f"a log of study {study} that is read", quiet=120.0)

    def answers(self) -> bool:
        """Whether it answers yet; a study that is asked for would be read at once."""
        try:
            return bool(self.bytes("/static/page.css"))
        except OSError:
            if self.process.poll() is not None:
                raise
            return False

    def bytes(self, path: str) -> bytes:
        """What is answered."""
        with urllib.request.urlopen(self.url + path, timeout=patience()) as answer:
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
        ready, _, _ = select.select([process.stdout], [], [], patience())
        line = process.stdout.readline() if ready else ""
        if not line:
            raise RuntimeError(f"no server: exit code {process.poll()}; see {log or 'its output, which was not kept'}")
        served = Served(process, json.loads(line)["url"].rstrip("/"))
        until(served.answers, "a server")
    except BaseException:
        process.kill()
        process.wait()
        process.stdout.close()
        raise
    return served


@contextmanager
def served(storage: str | Path, *options: str, port: int = 0, log: Path | None = None) -> Iterator[Served]:
    """A server that ends with the block."""
    running = serve(storage, *options, port=port, log=log)
    try:
        yield running
    finally:
        if running.process.poll() is None:
            running.kill()
