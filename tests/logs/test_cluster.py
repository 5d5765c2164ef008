"""A log on a real Dask cluster: a scheduler and workers, each a command of its own; some are killed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest

from frontguard import BadInput, Objective, Prescient
from frontguard.logs import boxes
from frontguard.logs.sort.ordered import Ordered, Readable
from frontguard.logs.sources.files import find

dask = pytest.importorskip("dask", reason="the extra `dask` is not installed")
distributed = pytest.importorskip("distributed", reason="the extra `dask` is not installed")
pa = pytest.importorskip("pyarrow", reason="the extra `logs` is not installed")

import pyarrow.parquet as pq  # noqa: E402

from frontguard.logs.cluster import ClusterOrdered, ordered_on_cluster  # noqa: E402
from tests.clusters import WAIT, Cluster, running_cluster, until  # noqa: E402
from tests.logs.sort.test_rows import Batch, ordered_in_memory  # noqa: E402

METRICS = ["seconds", "quality"]
FLOORS = np.array([0.0, -np.inf])


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with running_cluster(tmp_path_factory.mktemp("dask")) as made:
        yield made


@pytest.fixture
def client(cluster: Cluster) -> Iterator[Any]:
    """With two workers."""
    while len(cluster.workers) < 2:
        cluster.add_worker()
    with distributed.Client(cluster.address, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=WAIT)
        yield client


def write_log(folder: Path, files: int = 7, rows: int = 3000, arms: int = 150) -> Ordered:
    """Parquet of various shapes, and what one machine makes of it."""
    rng = np.random.default_rng(5)
    batches = []
    for number in range(files):
        # Arms of which most files have some, and arms that one file has alone; one file is empty.
        count = 0 if number == 3 else rows + 100 * number
        codes = rng.integers(0, arms, count)
        names = [f"ärm {code % (arms - number)}" if code else f"only {number}" for code in codes]
        values = [rng.lognormal(size=count) - 0.1, rng.normal(size=count).round(1)]
        for column in values:
            column[rng.random(count) < 0.03] = np.nan
        texts = pa.array(names, pa.string())
        table = pa.table(
            {"flags": texts.dictionary_encode() if number % 2 else texts, "seconds": values[0], "quality": values[1]}
        )
        pq.write_table(table, folder / f"part-{number}.parquet", row_group_size=1000)
        batches.append(Batch(texts, values))
    return ordered_in_memory(batches, METRICS, failed_below_or_at=FLOORS)


def on(cluster: Any, files: Any, **options: Any) -> ClusterOrdered:
    return ordered_on_cluster(cluster, files, arm="flags", metrics=METRICS, failed_below_or_at=FLOORS, **options)


def bits(*arrays: Any) -> list[Any]:
    return [np.asarray(array, np.float64).view(np.uint64).tolist() for array in arrays]


def middle(log: Readable, metric: int) -> Any:
    some = np.flatnonzero(log.good[metric])
    return log.at(metric, some, (log.good[metric][some] + 1) // 2)


def answers(log: Readable) -> list[Any]:
    """What an analysis reads: boxes under two threats, point estimates, means; and arms again, in another order."""
    objectives = [Objective("seconds", "minimize", tolerance="2%"), Objective("quality", tolerance=0.1, quantile=0.3)]
    found = [boxes.BoxReader(log, objectives, 0.05).read(Prescient(eps)) for eps in (0.0, 0.1)]
    parts = [array for each in found for array in vars(each).values()]
    some = np.flatnonzero(log.good[1] >= 2)[::-1].repeat(2)
    nothing = log.at(0, some[:0], some[:0])
    return bits(*parts, log.means, middle(log, 0), log.at(1, some, np.arange(len(some)) % 2 + 1), nothing)


def assert_same(log: ClusterOrdered, here: Ordered) -> None:
    assert list(log.arms) == list(here.arms)
    assert log.metrics == here.metrics
    assert log.pulls.tolist() == here.pulls.tolist()
    assert log.good.tolist() == here.good.tolist()
    assert log.good.tolist() == here.good.tolist()
    assert answers(log) == answers(here)


@pytest.mark.parametrize(("parts", "arms"), [(None, 150), (1, 150), (30, 12)])  # at last, parts without arms
def test_the_same_answer_to_the_bit_as_on_one_machine(
    client: Any, tmp_path: Path, parts: int | None, arms: int
) -> None:
    here = write_log(tmp_path, arms=arms)
    assert np.flatnonzero(here.failed).size > 10
    with on(client, tmp_path, parts=parts) as log:
        assert_same(log, here)
        everything = np.repeat(np.arange(len(here.pulls)), here.good[1])
        ranks = np.arange(len(everything)) - here.starts[1][everything] + 1
        assert bits(log.at(1, everything, ranks)) == bits(here.values[1])


def test_workers_forget_what_is_closed_and_a_client_is_left_open(client: Any, tmp_path: Path) -> None:
    write_log(tmp_path, files=2, rows=100, arms=12)
    log = on(client, [tmp_path / "part-0.parquet", tmp_path / "part-1.parquet"])
    held = lambda: [key for keys in client.has_what().values() for key in keys]  # noqa: E731
    assert until(held, "the workers have something")
    log.close()
    assert until(lambda: not held(), "the workers forget it")
    assert client.submit(len, "open").result(timeout=WAIT) == 4
    with pytest.raises(RuntimeError, match="closed"):
        middle(log, 0)


def test_one_of_two_workers_is_killed_between_reads(cluster: Cluster, client: Any, tmp_path: Path) -> None:
    """All that it had sorted is read, cut and sorted again by the other one."""
    here = write_log(tmp_path)
    with on(client, tmp_path, parts=6) as log:
        assert bits(middle(log, 0)) == bits(middle(here, 0))
        shares = {key for keys in _shares_by_worker(client).values() for key in keys}
        assert len(shares) == 6
        cluster.kill(cluster.workers[0])
        until(lambda: len(client.scheduler_info()["workers"]) == 1, "the scheduler notes it")
        assert_same(log, here)
        (left,) = _shares_by_worker(client).values()
        assert set(left) == shares


def _shares_by_worker(client: Any) -> dict[str, list[str]]:
    held = client.has_what()
    return {worker: [key for key in keys if str(key).startswith("merge_shards")] for worker, keys in held.items()}


def test_a_worker_is_killed_while_it_reads(cluster: Cluster, client: Any, tmp_path: Path) -> None:
    """It hangs in a file, here a pipe that nobody writes to, until it is killed; the other one then finds the file."""
    here = write_log(tmp_path)
    files = sorted(tmp_path.iterdir())
    found = find(files)  # while all of them are files: a pipe would be refused
    whole = files[4].with_suffix(".whole")
    files[4].rename(whole)
    os.mkfifo(files[4])
    pids = client.run(os.getpid)
    answer: list[ClusterOrdered] = []
    thread = Thread(target=lambda: answer.append(on(client, found, parts=5)), daemon=True)
    thread.start()
    hanging = pids[until(lambda: _last_reader(client, len(files)), "one file is left, and a worker hangs in it")]
    whole.rename(files[4])
    cluster.kill(next(worker for worker in cluster.workers if worker.pid == hanging))
    thread.join(WAIT)
    with answer[0] as log:
        assert_same(log, here)


def _last_reader(client: Any, files: int) -> str:
    """The worker that is still to read a file when all others have been read."""
    reading = [worker for worker, keys in client.processing().items() for key in keys if _is_reading(key)]
    read = {key for keys in client.has_what().values() for key in keys if _is_reading(key)}
    return str(reading[0]) if len(reading) == 1 and len(read) == files - 1 else ""


def _is_reading(key: object) -> bool:
    return "_read_and_cut" in str(key)


def test_what_is_wrong_is_said_in_one_line(client: Any, tmp_path: Path) -> None:
    write_log(tmp_path, files=2, rows=50, arms=12)
    for options, message in (
        ({"metrics": ["second"]}, r"part-0\.parquet: no column is called 'second' \(did you mean 'seconds'\?\)"),
        ({"files": "no*"}, r"no file matches 'no\*'"),
        ({"failed_below_or_at": np.zeros(3)}, r"failed_below_or_at needs one number for each of 1 metrics"),
    ):
        given = {"files": tmp_path, "arm": "flags", "metrics": ["seconds"], **options}
        with pytest.raises(BadInput, match=message):
            ordered_on_cluster(client, given.pop("files"), **given)
    whole = (tmp_path / "part-1.parquet").read_bytes()
    (tmp_path / "part-1.parquet").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(BadInput, match=r"part-1\.parquet is no Parquet file, or is damaged or cut in the middle"):
        on(client, tmp_path)
    empty = pa.table({"flags": pa.array([], pa.string()), "seconds": np.zeros(0), "quality": np.zeros(0)})
    pq.write_table(empty, tmp_path / "part-1.parquet")
    with pytest.raises(BadInput, match=r"part-1\.parquet: there are no rows"):
        on(client, tmp_path / "part-1.parquet")


def test_no_scheduler_is_named() -> None:
    soon = dask.config.set({"distributed.comm.timeouts.connect": "0.2s"})
    with soon, pytest.raises(BadInput, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:9: "):
        on("127.0.0.1:9", "log")
    for wrong in ("http//", 7, None):
        with pytest.raises(BadInput, match=r"cluster must be a distributed\.Client or 'HOST:PORT'"):
            on(wrong, "log")
