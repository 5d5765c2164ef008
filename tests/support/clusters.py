"""A real Dask cluster for tests: a scheduler and workers, each a command of its own, on loopback."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.waiting import until

QUIET = {
    "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False",
    "DASK_DISTRIBUTED__ADMIN__TICK__INTERVAL": "1s",
    "DASK_DISTRIBUTED__ADMIN__SYSTEM_MONITOR__INTERVAL": "10s",
}
"""Nobody looks at how a cluster of ours does; to watch itself, it would take more than what it is asked to do."""

WAIT = 240.0  # seconds for what must happen, kernels compiled included; nothing depends on how long it takes


@dataclass
class Cluster:
    """Where the scheduler is, and the worker processes."""

    folder: Path
    address: str  # tcp://HOST:PORT
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def place(self) -> str:
        """HOST:PORT."""
        return self.address.removeprefix("tcp://")

    def add_worker(self, packages: Path | None = None) -> subprocess.Popen[bytes]:
        """Start one; what is in `packages` is found there before what is installed."""
        # Without a nanny, which would start a killed worker anew.
        alone = ["--no-nanny", "--nthreads", "1", "--memory-limit", "0", "--host", "127.0.0.1", "--no-dashboard"]
        self.workers.append(_start(self.folder, "worker", self.address, *alone, packages=packages))
        return self.workers[-1]

    def kill(self, worker: subprocess.Popen[bytes]) -> None:
        os.kill(worker.pid, signal.SIGKILL)
        worker.wait()
        self.workers.remove(worker)


@contextmanager
def running_cluster(folder: Path, workers: int = 0) -> Iterator[Cluster]:
    """A scheduler with so many workers, which are there when it is given."""
    from distributed import Client

    noted = folder / "scheduler.json"
    told = ["--port", "0", "--scheduler-file", str(noted), "--host", "127.0.0.1", "--no-dashboard"]
    scheduler = _start(folder, "scheduler", *told)
    cluster = Cluster(folder, "")
    try:
        cluster.address = until(lambda: _address(noted), "the scheduler says where it is")
        for _ in range(workers):
            cluster.add_worker()
        if workers:
            with Client(cluster.address, set_as_default=False) as client:
                client.wait_for_workers(workers, timeout=WAIT)
        yield cluster
    finally:
        for process in [*cluster.workers, scheduler]:
            process.kill()
            process.wait()


def tasks_of(client: Any) -> list[str]:
    """The tasks that a scheduler knows."""
    known: list[str] = client.run_on_scheduler(lambda dask_scheduler: list(dask_scheduler.tasks))
    return known


def fake_package(folder: Path, name: str, source: str) -> Path:
    """A folder with a package, or a module, that stands in for one that is installed."""
    (folder / name).mkdir(parents=True)
    (folder / name / "__init__.py").write_text(source)
    return folder


def _start(folder: Path, *arguments: str, packages: Path | None = None) -> subprocess.Popen[bytes]:
    with (folder / f"{arguments[0]}-{time.monotonic_ns()}.log").open("wb") as log:
        # In a session of its own: Ctrl-C in the tests is not for the cluster.
        command = [sys.executable, "-m", "dask", *arguments]
        found = {**os.environ, **QUIET}
        if packages is not None:  # before those of the tests' own process
            found["PYTHONPATH"] = os.pathsep.join([str(packages), os.environ.get("PYTHONPATH", "")])
        return subprocess.Popen(command, stdout=log, stderr=log, cwd=folder, start_new_session=True, env=found)


def _address(noted: Path) -> str:
    try:
        return str(json.loads(noted.read_text())["address"])
    except (FileNotFoundError, ValueError):  # not there, or half written
        return ""
