"""A log on a real Dask cluster: a scheduler and workers, each a command of its own; some are killed."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

import frontguard
from frontguard import BadInput, Objective
from frontguard.evidence.measurements import Ordered
from frontguard.logs.sort import LEAST_MEMORY, LogProgress, usable_ranges
from frontguard.logs.sources.files import LogFile
from frontguard.logs.sources.reader import Request
from frontguard.results import Answer
from tests.support.snapshots import refused

dask = pytest.importorskip("dask", reason="the extra `dask` is not installed")
distributed = pytest.importorskip("distributed", reason="the extra `dask` is not installed")
pl = pytest.importorskip("polars", reason="the extra `logs` is not installed")

import pyarrow as pa  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402

from frontguard.logs import on_dask  # noqa: E402
from frontguard.logs.on_dask import ordered_on_cluster  # noqa: E402
from tests.logs.test_sort import Batch, ordered_in_memory  # noqa: E402
from tests.support.clusters import WAIT, Cluster, fake_package, running_cluster, tasks_of  # noqa: E402
from tests.support.waiting import soon, until  # noqa: E402

METRICS = ["seconds", "quality"]
OBJECTIVES = [Objective("seconds", "minimize", tolerance="5%"), Objective("quality", "maximize")]


FRAGILE = """
import os, signal, sys, time

opened = {}


def hook(event, given):
    # Reading opens a file twice, the first time to look at it; planning opens it once.
    if event != "open" or not str(given[0]).endswith("deadly.csv"):
        return
    path = str(given[0])
    folder = os.path.dirname(path)
    opened[path] = opened.get(path, 0) + 1
    deaths = [name for name in os.listdir(folder) if name.startswith(".death-")]
    if opened[path] == 2 and deaths:
        os.rmdir(os.path.join(folder, deaths[0]))
        while deaths[0] == ".death-hang":
            time.sleep(1)
        os.kill(os.getpid(), signal.SIGKILL)


sys.addaudithook(hook)
"""
"""A worker with it dies when it reads a file that is called deadly, once for each folder beside it asking so."""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Over one task, two workers may die."""
    folder = tmp_path_factory.mktemp("dask")
    fake_package(folder / "packages", "sitecustomize", FRAGILE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES", "1")
        with running_cluster(folder) as made:
            yield made


@pytest.fixture
def client(cluster: Cluster) -> Iterator[Any]:
    """With two workers."""
    have_workers(cluster, 2)
    with distributed.Client(cluster.address, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=WAIT)
        yield client


def have_workers(cluster: Cluster, least: int) -> None:
    """Start what it lacks of so many."""
    for worker in [worker for worker in cluster.workers if worker.poll() is not None]:
        cluster.workers.remove(worker)
    while len(cluster.workers) < least:
        cluster.add_worker(cluster.folder / "packages")


def write_log(folder: Path, files: int = 7, rows: int = 800, arms: int = 40, ending: str = "parquet") -> Ordered:
    """Files of various shapes, and what one machine makes of them."""
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
        write_table(table, folder / f"part-{number}.{ending}")
        batches.append(Batch(pl.Series(names, dtype=pl.String), values))
    return ordered_in_memory(batches, METRICS, usable=usable_ranges(METRICS, OBJECTIVES))


def write_table(table: Any, path: Path) -> None:
    if path.suffix == ".parquet":
        pq.write_table(table, path, row_group_size=300)
        return
    columns = table.to_pydict()
    rows = zip(*columns.values(), strict=True)
    if ".csv" in path.name:
        lines = [",".join(columns), *(",".join("NA" if each != each else str(each) for each in row) for row in rows)]
    else:
        lines = [
            json.dumps({name: None if each != each else each for name, each in zip(columns, row, strict=True)})
            for row in rows
        ]
    text = "".join(f"{line}\n" for line in lines).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)


def on(cluster: Any, files: Any, **options: Any) -> Ordered:
    return ordered_on_cluster(cluster, files, arm="flags", metrics=METRICS, objectives=OBJECTIVES, **options)[0]


def bits(*arrays: Any) -> list[Any]:
    return [np.asarray(array, np.float64).view(np.uint64).tolist() for array in arrays]


def assert_same(log: Ordered, here: Ordered) -> None:
    assert list(log.arms) == list(here.arms)
    assert log.metrics == here.metrics
    assert log.starts.tolist() == here.starts.tolist()
    assert bits(*log.values, log.pulls, log.failed_pulls) == bits(*here.values, here.pulls, here.failed_pulls)


@pytest.mark.parametrize("memory", [None, LEAST_MEMORY])  # at last, in temporary files
def test_the_same_answer_to_the_bit_as_on_one_machine(client: Any, tmp_path: Path, memory: int | None) -> None:
    here = write_log(tmp_path, rows=6000)
    assert np.flatnonzero(here.failed).size > 10
    log = on(client, tmp_path, memory=memory)
    assert_same(log, here)
    assert all(isinstance(flat.base, np.memmap) == (memory is not None) for flat in log.values)


def test_arms_of_several_columns_have_their_parts(client: Any, tmp_path: Path) -> None:
    rows = [(lang, size) for lang in ("c", "c/c++") for size in (64, 128)] * 30
    columns = {"lang": [lang for lang, _ in rows], "size": [size for _, size in rows]}
    pq.write_table(pa.table({**columns, "seconds": np.arange(1.0, 1.0 + len(rows))}), tmp_path / "log.parquet")
    asked: dict[str, Any] = {"arm": ["lang", "size"], "minimize": "seconds"}
    there, here = (frontguard.analyze(str(tmp_path), executor=each, **asked) for each in (client, None))
    assert there.arms == here.arms == ('"c/c++"/128', '"c/c++"/64', "c/128", "c/64")
    assert there.parts is not None
    assert there.parts.row(0) == ("c/c++", "128")
    assert list(there.to_frame()["lang"]) == list(here.to_frame()["lang"])


def test_workers_forget_what_was_read_and_a_client_is_left_open(client: Any, tmp_path: Path) -> None:
    write_log(tmp_path, files=2, rows=100, arms=12)
    on(client, [tmp_path / "part-0.parquet", tmp_path / "part-1.parquet"])
    held = lambda: [key for keys in client.has_what().values() for key in keys]  # noqa: E731
    assert until(lambda: not held(), "the workers forget it")
    assert client.submit(len, "open").result(timeout=WAIT) == 4


def test_what_is_wrong_is_said_in_one_line(client: Any, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    write_log(tmp_path, files=2, rows=50, arms=12)
    for options in (
        {"metrics": ["second"]},
        {"files": str(tmp_path / "no*")},
        {"files": "-"},
        {"files": "sqlite:///x.db"},
        {"files": {"flags": ["a"]}},
    ):
        given = {"files": tmp_path, "arm": "flags", "metrics": ["seconds"], **options}
        with refused(BadInput, snapshot):
            ordered_on_cluster(client, given.pop("files"), **given)
    whole = (tmp_path / "part-1.parquet").read_bytes()
    (tmp_path / "part-1.parquet").write_bytes(whole[: len(whole) // 2])
    with refused(BadInput, snapshot):
        on(client, tmp_path)
    empty = pa.table({"flags": pa.array([], pa.string()), "seconds": np.zeros(0), "quality": np.zeros(0)})
    pq.write_table(empty, tmp_path / "part-1.parquet")
    with refused(BadInput, snapshot):
        on(client, tmp_path / "part-1.parquet")


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "jsonl", "jsonl.gz"])
def test_text_is_read_as_on_one_machine(client: Any, tmp_path: Path, ending: str) -> None:
    here = write_log(tmp_path, files=3, rows=300, arms=20, ending=ending)
    assert_same(on(client, str(tmp_path / f"part-*.{ending}")), here)


def same_analysis(client: Any, log: Any, **options: Any) -> Answer:
    """The analysis, which is the same to the bit on the cluster and here."""
    asked = {"arm": "flags", "minimize": "seconds", "maximize": "quality", "tolerance": {"seconds": "2%"}, **options}
    here, there = (frontguard.analyze(log, executor=executor, **asked) for executor in (None, client))
    assert there.to_dict() == here.to_dict()
    assert there.notices == here.notices
    arrays = [
        bits(
            each.estimates,
            each.lower,
            each.upper,
            each.log.means,
            each.pulls_per_arm,
            each.log.failed,
            each.log.failed_pulls,
        )
        for each in (here, there)
    ]
    assert arrays[0] == arrays[1]
    return there


def test_an_analysis_is_the_same_to_the_bit(client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Folders as columns, a decimal comma, a file without rows, rows without an arm, last lines that are unfinished."""
    rng = np.random.default_rng(1)
    for number in range(4):
        folder = tmp_path / "log" / f"host=h{number % 2}"
        folder.mkdir(parents=True, exist_ok=True)
        arms = ["" if number and row % 50 == 7 else f"-O{row % 4}" for row in range(0 if number == 2 else 400)]
        rows = [f"{arm};{rng.normal(1, 0.1):.3f};{rng.normal() + len(arm):.2f}" for arm in arms]
        (folder / f"{number}.csv").write_text("\n".join(["flags;seconds;quality", *rows]).replace(".", ","))
    monkeypatch.chdir(tmp_path)
    asked: dict[str, Any] = {"arm": "flags", "decimal": ",", "missing_arms": "drop"}
    found = same_analysis(client, "log", **asked)
    assert len(found.arms) == 4
    assert [notice.to_dict()["kind"] for notice in found.notices][:4] == [*["unfinished_line"] * 3, "rows_without_arm"]
    messages = []
    assert same_analysis(client, "log/**/*.csv", **{**asked, "arm": "host"}, profile=False).arms == ("h0", "h1")
    for executor in (None, client):
        with pytest.raises(BadInput) as refused:
            frontguard.analyze("log", executor=executor, minimize="seconds", **{**asked, "missing_arms": "refuse"})
        messages.append(str(refused.value))
    assert messages[0] == messages[1]


def test_what_a_cluster_does_not_read_is_refused(client: Any, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    (tmp_path / "long.csv").write_text("arm,metric,value\na,x,1\n")
    (tmp_path / "log.csv").write_text("arm,x\n" + "a,1\nb,2\n" * 20)
    frontguard.analyze(tmp_path / "log.csv", minimize="x", append=tmp_path / "log.state")
    os.mkfifo(tmp_path / "pipe.csv")
    for log, options in (
        ("long.csv", {}),
        ("log.state", {}),
        ("pipe.csv", {}),
        ("log.csv", {"format": "pyperf"}),
        ("log.csv", {"format": "study"}),
        ("log.csv", {"append": tmp_path / "x"}),
        ("log.csv", {"memory": 1000}),
        ("log.csv", {"minimize": ()}),
        ("log.csv", {"cluster": "host"}),
        ("log.csv", {"executor": "threads"}),
        ("log.csv", {"executor": "127.0.0.1:8786"}),
    ):
        with refused(BadInput, snapshot):
            frontguard.analyze(tmp_path / log, **{"minimize": "x", "executor": client, **options})


def test_progress_is_told_as_on_one_machine(client: Any, tmp_path: Path) -> None:
    write_log(tmp_path, files=3, rows=300, arms=20, ending="csv")
    seen: list[LogProgress] = []
    rows = int(on(client, tmp_path, progress=seen.append).pulls.sum())
    assert [(each.stage, each.rows, each.total) for each in seen][-1] == ("sorting", rows, rows)
    assert ("reading", rows) in [(each.stage, each.rows) for each in seen]


def test_small_files_are_read_together(tmp_path: Path) -> None:
    def sizes(*files: int, threads: int = 1) -> list[list[int]]:
        jobs = on_dask.together([on_dask.PlannedFile(LogFile(tmp_path, "x"), size, 0) for size in files], threads)
        return [[each.size for each in job] for job in jobs]

    mega = 1 << 20
    assert sizes(0) == [[0]]
    assert sizes(*[1000] * 5) == [[1000] * 5]
    assert sizes(*[mega] * 8) == [[mega] * 2] * 4
    assert sizes(*[mega] * 8, threads=4) == [[mega]] * 8
    assert sizes(1000, 900 * mega, 1000, 1000) == [[1000], [900 * mega], [1000, 1000]]


# Files that are not as they were planned ------------------------------------------------------------------------------


def test_a_file_that_a_worker_does_not_see_is_named_with_the_worker(
    client: Any, tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    """As it is planned by one worker, and as another one finds it."""
    path = tmp_path / "log.csv"
    path.write_text("flags,seconds,quality\na,1,1\n")
    there = path.stat()
    planned = on_dask.PlannedFile(LogFile(path, str(path)), there.st_size, there.st_mtime_ns)
    job = (planned,), "csv", Request.of("flags", METRICS, layout="wide"), OBJECTIVES
    assert client.submit(on_dask.read, *job, pure=False).result()[0].pulls.tolist() == [1]
    for change in (
        lambda: path.write_text("flags,seconds,quality\nb,1,1\nb,2,2\n"),
        path.unlink,
    ):
        change()
        with refused(BadInput, snapshot):
            client.submit(on_dask.read, *job, pure=False).result()


def test_no_scheduler_and_no_workers_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    soon = dask.config.set({"distributed.comm.timeouts.connect": "0.2s"})
    with soon, refused(BadInput, snapshot):
        on("dask://127.0.0.1:9", "log")
    for wrong in ("http//", 7, None):
        with refused(BadInput, snapshot):
            on(wrong, "log")
    monkeypatch.setattr("frontguard._common.dask.PATIENCE", 0.3)
    seen: list[LogProgress] = []
    with (
        running_cluster(tmp_path) as lonely,
        refused(BadInput, snapshot),
    ):
        on(f"dask://{lonely.place}", "log", progress=seen.append)
    assert {each.stage for each in seen} == {"waiting"}


def write_rates(folder: Path, ending: str, mixed: bool = False) -> None:
    """Files of true and false, of stars some of which are none, and of sizes."""
    rng = np.random.default_rng(8)
    for number in range(4):
        arm = rng.integers(0, 6, 400)
        ok = (rng.random(400) < 0.2 + 0.1 * arm).tolist()
        table = pa.table(
            {
                "flags": [f"arm {each}" for each in arm],
                "ok": [float(each) for each in ok] if mixed and number == 2 else ok,
                "stars": np.where(rng.random(400) < 0.02, 301.0, np.clip(rng.normal(3, 1, 400), 1, 5)),
                "size": 10.0 + arm,
            }
        )
        write_table(table, folder / f"part-{number}.{ending}")


@pytest.mark.parametrize(("ending", "threat"), [("csv", "prescient"), ("parquet", "share")])
def test_means_exact_values_and_truths_to_the_bit(client: Any, tmp_path: Path, ending: str, threat: str) -> None:
    write_rates(tmp_path, ending)
    asked: dict[str, Any] = {
        "arm": "flags",
        "objectives": [
            Objective("ok", "maximize", tolerance="1%"),
            Objective("stars", "maximize", statistic="mean", bounds=(1, 5)),
            Objective("size", "minimize", exact=True),
        ],
        "threat": threat,
        "contamination": 0.02,
        "profile": False,
    }
    here = frontguard.analyze(tmp_path, **asked)
    there = frontguard.analyze(tmp_path, executor=client, **asked)
    assert there.verdicts == here.verdicts
    assert there.log is not None
    assert here.log is not None
    for mine, its, names in (
        (there, here, ("lower", "upper", "estimates")),
        (there.log, here.log, ("means", "failed")),
    ):
        for name in names:
            assert bits(getattr(mine, name)) == bits(getattr(its, name))
    assert there.metrics == here.metrics
    assert {notice.kind for notice in here.notices} >= {"taken_as_rate", "out_of_bounds"}  # type: ignore[attr-defined]
    assert set(there.notices) == {each for each in here.notices if each.kind != "rows_differ"}  # type: ignore[attr-defined]


def test_truths_and_numbers_in_files_of_one_log_are_refused(
    client: Any, tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    write_rates(tmp_path, "parquet", mixed=True)
    with refused(BadInput, snapshot):
        frontguard.analyze(tmp_path, arm="flags", maximize="ok", executor=client)


# Workers that go ------------------------------------------------------------------------------------------------------
# The last of all, and each with what the one before has left: to begin anew, a worker takes a second of a processor.


def test_a_worker_that_joins_later_is_asked_too_and_told_of(
    cluster: Cluster, client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    monkeypatch.setattr(on_dask, "LOOK", 0.0)
    monkeypatch.setattr(on_dask, "_SMALL_JOB", 1)  # a file each
    monkeypatch.setattr("frontguard.logs.sort._PAUSE", 0.0)
    write_log(tmp_path, files=8, rows=100, arms=12)
    joined: list[Any] = []

    def join(progress: LogProgress) -> None:
        if not joined and progress.stage == "reading":
            joined.append(
                cluster.add_worker(fake_package(tmp_path / "packages", "frontguard", "__version__ = '0.0.1'"))
            )
            client.wait_for_workers(3, timeout=WAIT)

    try:
        _, notes, _ = ordered_on_cluster(
            client,
            sorted(tmp_path.glob("*.parquet")),
            arm="flags",
            metrics=METRICS,
            objectives=OBJECTIVES,
            progress=join,
        )
        assert joined
        assert any("it has frontguard 0.0.1" in str(note) for note in notes)
        with refused(BadInput, snapshot):
            on(client, tmp_path)
    finally:
        for odd in joined:
            cluster.kill(odd)


@pytest.fixture
def deadly_log(tmp_path: Path) -> tuple[Path, Ordered]:
    here = write_log(tmp_path, files=4, rows=300, arms=20, ending="csv")
    (tmp_path / "part-1.csv").rename(tmp_path / "part-1-deadly.csv")
    return tmp_path, here


def test_what_a_dead_worker_was_reading_is_read_again(
    cluster: Cluster, client: Any, deadly_log: tuple[Path, Ordered]
) -> None:
    folder, here = deadly_log
    (folder / ".death-once").mkdir()
    assert_same(on(client, folder, format="csv"), here)
    assert sorted(worker.poll() is None for worker in cluster.workers) == [False, True]


@pytest.mark.audit  # half a minute of workers that begin anew
def test_a_file_over_which_workers_die_is_named_after_some(
    cluster: Cluster, client: Any, deadly_log: tuple[Path, Ordered], snapshot: SnapshotAssertion
) -> None:
    folder, _ = deadly_log
    cluster.add_worker(cluster.folder / "packages")
    client.wait_for_workers(3, timeout=WAIT)
    for name in (".death-once", ".death-twice"):
        (folder / name).mkdir()
    with refused(BadInput, snapshot):
        on(client, folder, format="csv")
    until(lambda: not tasks_of(client), "the scheduler has forgotten all tasks")


def test_new_workers_take_over_and_without_any_it_ends(
    cluster: Cluster, deadly_log: tuple[Path, Ordered], monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    """All workers hang in a file or are killed: of what they had, nothing is lost, until nobody comes."""
    monkeypatch.setattr("frontguard.logs.on_dask.LOOK", 0.1)
    monkeypatch.setattr("frontguard._common.dask.PATIENCE", 1.0)
    folder, here = deadly_log
    have_workers(cluster, 1)
    with distributed.Client(cluster.address, set_as_default=False) as client:
        client.wait_for_workers(1, timeout=WAIT)

        def all_go(come: int) -> Ordered:
            """Start reading with a new worker, and once it hangs kill it; so many others come."""
            old = list(cluster.workers)
            cluster.add_worker(cluster.folder / "packages")
            client.wait_for_workers(len(old) + 1, timeout=WAIT)
            for worker in old:
                cluster.kill(worker)
            until(lambda: len(client.scheduler_info()["workers"]) == 1, "the scheduler notes it")
            hang = folder / ".death-hang"
            hang.mkdir()
            with ThreadPoolExecutor(1) as pool:
                found = pool.submit(on, f"dask://{cluster.place}", folder, format="csv")
                until(lambda: not hang.exists(), "a worker hangs in the file")
                old = list(cluster.workers)
                for _ in range(come):
                    cluster.add_worker(cluster.folder / "packages")
                client.wait_for_workers(len(old) + come, timeout=WAIT)
                for worker in old:
                    cluster.kill(worker)
                return found.result()

        assert_same(all_go(1), here)
        with refused(BadInput, snapshot):
            all_go(0)


def test_ctrl_c_ends_a_reading_within_seconds_and_leaves_no_task(
    cluster: Cluster, client: Any, deadly_log: tuple[Path, Ordered]
) -> None:
    folder, _ = deadly_log
    hang = folder / ".death-hang"
    hang.mkdir()
    asked = ["--executor", f"dask://{cluster.place}", "--arm", "flags", "--minimize", "seconds", "--format", "csv"]
    command = [sys.executable, "-m", "frontguard", "analyze", str(folder), *asked]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as analysis:
        until(lambda: not hang.exists(), "a worker hangs in the file")
        with soon():
            analysis.send_signal(signal.SIGINT)
            assert analysis.wait(WAIT) == 130
    until(lambda: not tasks_of(client), "the scheduler has forgotten all tasks")
    for worker in list(cluster.workers):  # one of them hangs for ever
        cluster.kill(worker)
