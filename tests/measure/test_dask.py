"""`identify` on a real Dask cluster: a scheduler and two workers, each a command of its own, one of them killed."""

from __future__ import annotations

import logging
import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard import Answer, BadInput, Objective, Prescient
from frontguard.measure.drive import Broken, RunProgress
from frontguard.measure.identify import identify
from frontguard.storage.contract import End, MemoryStorage
from tests.support.clusters import WAIT, Cluster, fake_package, running_cluster, tasks_of
from tests.support.snapshots import refused
from tests.support.waiting import until

dask = pytest.importorskip("dask", reason="the extra `dask` is not installed")
distributed = pytest.importorskip("distributed", reason="the extra `dask` is not installed")

ARMS = {"good": (3.0, 1.0), "small": (1.0, 3.0), "bad": (0.0, 0.0)}
VERDICTS = {"good": "keep", "small": "keep", "bad": "beaten"}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with running_cluster(tmp_path_factory.mktemp("dask"), workers=2) as made:
        yield made


def run(evaluate: Callable[..., Any], **options: Any) -> Answer:
    objectives = [Objective("quality", "maximize", tolerance=0.5), Objective("lightness", "maximize", tolerance=0.5)]
    return identify(evaluate, arms=ARMS, objectives=objectives, threat=Prescient(0.1), **options)


def test_a_client_is_left_open_and_exceptions_are_failed_pulls(cluster: Cluster) -> None:
    def evaluate(values: tuple[float, float], pull: int) -> dict[str, float]:
        if pull == 3:
            raise OSError(f"no device: {os.getpid()}")
        return {"quality": values[0], "lightness": values[1]}

    storage = MemoryStorage()
    with distributed.Client(cluster.place, set_as_default=False) as client:
        assert run(evaluate, executor=client, storage=storage).verdicts == VERDICTS
        assert client.submit(len, "open").result(timeout=WAIT) == 4
    log = storage.told("study")
    reasons = dict(zip(log.pulls.tolist(), log.reasons, strict=True))
    assert [pull for pull, reason in reasons.items() if reason] == [3]
    elsewhere = {worker.pid for worker in cluster.workers}
    kind, _, process = reasons[3].split(": ")
    assert kind == "OSError"
    assert int(process) in elsewhere


def _of_this_module(values: tuple[float, float]) -> tuple[float, float]:
    return values


NAMED = r"executor: the Dask worker tcp://127\.0\.0\.1:\d+ on \S+ "


def test_a_function_that_workers_cannot_load_is_refused(cluster: Cluster, snapshot: SnapshotAssertion) -> None:
    storage = MemoryStorage()
    # It is of this module, which they do not have.
    with refused(BadInput, snapshot):
        run(_of_this_module, executor=f"dask://{cluster.place}", storage=storage)
    assert storage.studies() == []


@pytest.mark.parametrize(
    (
        "package",
        "source",
    ),
    [
        ("frontguard", "raise ImportError('not here')"),
        ("frontguard", "__version__ = '0.0.1'"),
        ("numba", "__version__ = '0.1.2'"),
        ("sitecustomize", "import platform\nplatform.python_version = lambda: '3.1.4'"),
    ],
    ids=["no frontguard", "another frontguard", "another numba", "another Python"],
)
def test_a_worker_that_is_not_as_here_is_refused_and_named(
    cluster: Cluster, tmp_path: Path, package: str, source: str, snapshot: SnapshotAssertion
) -> None:
    odd = cluster.add_worker(fake_package(tmp_path, package, source))
    try:
        with distributed.Client(cluster.place, set_as_default=False) as client:
            client.wait_for_workers(3, timeout=WAIT)
            with refused(BadInput, snapshot):
                run(lambda values: values, executor=client)
            assert len(client.nthreads()) == 3  # none of them was brought down by what it was sent
    finally:
        cluster.kill(odd)


def test_a_worker_that_joins_later_is_asked_too(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """It gets no pull, which is said once; the others go on."""
    monkeypatch.setattr("frontguard.measure.dask.LOOK", 0.1)
    notes, joined = tmp_path / "notes", tmp_path / "joined"
    odd: list[Any] = []

    def evaluate(values: tuple[float, float], pull: int) -> tuple[float, float]:
        with notes.open("a") as file:
            file.write(f"{os.getpid()}\n")
        while pull > 10 and not joined.exists():
            time.sleep(0.05)
        time.sleep(0.05)
        return values

    def add_one(progress: RunProgress) -> None:
        if progress.told and not odd:
            odd.append(cluster.add_worker(fake_package(tmp_path, "frontguard", "__version__ = '0.0.1'")))
        said.append(capfd.readouterr().err)
        if "gets no work" in "".join(said):
            joined.touch()

    said: list[str] = []
    try:
        # More pulls at a time than the others have threads: Dask would have the new one take some.
        result = run(evaluate, executor=f"dask://{cluster.place}", workers=6, progress=add_one)
        assert result.verdicts == VERDICTS
        assert odd[0].poll() is None
        assert "".join(said).count("frontguard 0.0.1") == 1
        assert str(odd[0].pid) not in notes.read_text().split()
    finally:
        cluster.kill(odd[0])


def test_a_worker_that_does_not_answer_is_named(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    monkeypatch.setattr("frontguard._common.dask.LIMIT", 2.0)
    os.kill(cluster.workers[0].pid, signal.SIGSTOP)
    try:
        with refused(BadInput, snapshot):
            run(lambda values: values, executor=f"dask://{cluster.place}")
    finally:
        os.kill(cluster.workers[0].pid, signal.SIGCONT)


def test_no_scheduler_and_no_workers_are_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str], snapshot: SnapshotAssertion
) -> None:
    soon = dask.config.set({"distributed.comm.timeouts.connect": "0.2s"})
    with soon, refused(BadInput, snapshot):
        run(abs, executor="dask://127.0.0.1:9")
    assert not logging.getLogger("distributed.client").isEnabledFor(logging.ERROR)  # it would log tracebacks
    with socket.create_server(("127.0.0.1", 0)) as mute:
        monkeypatch.setattr("frontguard._common.dask.LIMIT", 1.0)
        port = mute.getsockname()[1]
        with refused(BadInput, snapshot):
            run(abs, executor=f"dask://127.0.0.1:{port}")
    monkeypatch.undo()
    monkeypatch.setattr("frontguard._common.dask.PATIENCE", 1.5)
    with (
        running_cluster(tmp_path) as lonely,
        refused(BadInput, snapshot),
    ):
        run(abs, executor=f"dask://{lonely.place}")
    waiting = f"frontguard: waiting for a worker of the Dask cluster at {lonely.address}, 1.5 s at most"
    assert capfd.readouterr().err.splitlines().count(waiting) == 1


def test_a_value_that_workers_cannot_load_brings_none_of_them_down(
    cluster: Cluster, snapshot: SnapshotAssertion
) -> None:
    class Values(tuple[float, ...]):
        def __reduce__(self) -> tuple[Any, ...]:
            return _of_this_module, (tuple(self),)

    with (
        distributed.Client(cluster.place, set_as_default=False) as client,
        refused(BadInput, snapshot),
    ):
        identify(
            lambda values: values,
            arms={"a": Values([1.0])},
            objectives=[("x", "maximize")],
            threat=Prescient(0.1),
            executor=client,
        )
    assert [worker.poll() for worker in cluster.workers] == [None, None]


def test_ctrl_c_leaves_no_task_on_the_cluster(cluster: Cluster, tmp_path: Path) -> None:
    """The first one waits for what is under way, which does not end; the second one gives it up."""
    over = tmp_path / "over"

    def evaluate(values: tuple[float, float]) -> tuple[float, float]:
        while not over.exists():
            time.sleep(0.05)
        return values

    def interrupt(progress: RunProgress) -> None:
        if progress.out == 2 and len(pressed) < 2:
            pressed.append(progress.stopping)
            os.kill(os.getpid(), signal.SIGINT)

    pressed: list[bool] = []
    with distributed.Client(cluster.place, set_as_default=False) as client:
        with pytest.raises(KeyboardInterrupt):
            run(evaluate, executor=client, progress=interrupt)
        over.touch()  # a thread of a worker cannot be ended: only the scheduler can forget what it is at
        until(lambda: not tasks_of(client), "the scheduler has forgotten all tasks")


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


def test_a_study_whose_workers_are_all_gone_ends(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    monkeypatch.setattr("frontguard.measure.dask.LOOK", 0.1)
    monkeypatch.setattr("frontguard._common.dask.PATIENCE", 1.0)

    def evaluate(values: tuple[float, float], pull: int) -> tuple[float, float]:
        if pull > 10:
            os.kill(os.getpid(), signal.SIGKILL)
        return values

    with refused(Broken, snapshot):
        run(evaluate, executor=f"dask://{cluster.place}")
