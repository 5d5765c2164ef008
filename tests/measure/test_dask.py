"""`identify` on a real Dask cluster: a scheduler and two workers, each a command of its own, one of them killed."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from frontguard import BadInput, Objective, Prescient, Result
from frontguard.measure.drive import RunProgress
from frontguard.measure.identify import identify
from frontguard.storage.contract import End
from frontguard.storage.memory import MemoryStorage
from tests.clusters import WAIT, Cluster, running_cluster

dask = pytest.importorskip("dask", reason="the extra `dask` is not installed")
distributed = pytest.importorskip("distributed", reason="the extra `dask` is not installed")

ARMS = {"good": (3.0, 1.0), "small": (1.0, 3.0), "bad": (0.0, 0.0)}
VERDICTS = {"good": "in", "small": "in", "bad": "out"}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with running_cluster(tmp_path_factory.mktemp("dask"), workers=2) as made:
        yield made


def run(evaluate: Callable[..., Any], **options: Any) -> Result:
    objectives = [Objective("quality", tolerance=0.5), Objective("lightness", tolerance=0.5)]
    return identify(evaluate, arms=ARMS, objectives=objectives, threat=Prescient(0.1), **options)


def test_a_client_is_left_open_and_exceptions_are_failed_pulls(cluster: Cluster) -> None:
    def evaluate(values: tuple[float, float], pull: int) -> dict[str, float]:
        if pull == 3:
            raise OSError(f"no device on the worker of process {os.getpid()}")
        return {"quality": values[0], "lightness": values[1]}

    storage = MemoryStorage()
    with distributed.Client(cluster.place, set_as_default=False) as client:
        assert run(evaluate, executor=client, storage=storage).verdicts == VERDICTS
        assert client.submit(len, "open").result(timeout=WAIT) == 4
    log = storage.told("study")
    reasons = dict(zip(log.pulls.tolist(), log.reasons, strict=True))
    assert [pull for pull, reason in reasons.items() if reason] == [3]
    elsewhere = {worker.pid for worker in cluster.workers}
    assert int(reasons[3].removeprefix("OSError: no device on the worker of process ")) in elsewhere


def _of_this_module(values: tuple[float, float]) -> tuple[float, float]:
    return values


def test_a_function_that_workers_cannot_load_is_refused(cluster: Cluster) -> None:
    storage = MemoryStorage()
    with pytest.raises(BadInput, match=r"evaluate cannot be loaded on the Dask workers: .*"):
        run(
            _of_this_module, executor=f"dask://{cluster.place}", storage=storage
        )  # of this module, which they do not have
    assert storage.studies() == []


def test_no_scheduler_and_no_workers_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    soon = dask.config.set({"distributed.comm.timeouts.connect": "0.2s"})
    with soon, pytest.raises(BadInput, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:9: "):
        run(abs, executor="dask://127.0.0.1:9")
    monkeypatch.setattr("frontguard.measure.executors.DASK_PATIENCE", 0.2)
    with (
        running_cluster(tmp_path) as lonely,
        pytest.raises(BadInput, match=f"the Dask cluster at {lonely.address} has no workers"),
    ):
        run(abs, executor=f"dask://{lonely.place}")


def test_a_study_outlives_a_killed_worker(cluster: Cluster, tmp_path: Path) -> None:
    """Pull 10 hangs in one worker, which is killed; the scheduler gives it to the other one, which measures it not."""
    notes, hangs, killed = tmp_path / "notes", tmp_path / "hangs", tmp_path / "killed"

    def evaluate(values: tuple[float, float], pull: int) -> tuple[float, float]:
        with notes.open("a") as file:
            file.write(f"{pull} {os.getpid()}\n")
        if pull == 10 and not killed.exists():
            hangs.write_text(str(os.getpid()))
            time.sleep(2 * WAIT)
        while pull > 10 and not killed.exists():
            time.sleep(0.05)
        return values

    def kill_the_one_that_hangs(progress: RunProgress) -> None:
        if hangs.exists() and hangs.read_text() and not killed.exists():
            os.kill(int(hangs.read_text()), signal.SIGKILL)
            killed.touch()

    storage = MemoryStorage()
    executor = f"dask://{cluster.place}"
    result = run(evaluate, executor=executor, storage=storage, progress=kill_the_one_that_hangs)
    assert result.status == "certified"
    assert result.verdicts == VERDICTS
    victim = int(hangs.read_text())
    assert sorted(worker.poll() is None for worker in cluster.workers) == [False, True]
    log = storage.told("study")
    told = log.pulls.tolist()
    assert sorted(told) == sorted(set(told))
    assert 10 in told
    assert set(log.reasons) == {""}
    ends = dict(zip(told, log.ends.tolist(), strict=True))
    assert {pull: end for pull, end in ends.items() if end} == {10: End.LOST}
    made = [tuple(map(int, line.split())) for line in notes.read_text().splitlines()]
    assert [pid == victim for pull, pid in made if pull == 10] == [True]
    assert len({pull for pull, _ in made}) == len(made)
    assert {pid for pull, pid in made if pull > 11} == {worker.pid for worker in cluster.workers} - {victim}
