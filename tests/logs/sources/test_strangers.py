"""Files that others made, or that are none: each is refused in a line, soon, and in bounded memory."""

from __future__ import annotations

import gzip
import os
import threading
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard import analyze
from frontguard.errors import BadInput
from frontguard.logs.sources import files, open_log, text_tables
from frontguard.logs.sources.log import FORMATS
from tests.logs.sources.reading import rows_of
from tests.support.snapshots import refused, said
from tests.support.waiting import soon


def refusal(where: Any, **options: Any) -> str:
    """The line with which a log is refused, soon."""
    with soon(), pytest.raises(BadInput) as refused:
        rows_of(open_log(where, **{"arm": "arm", "metrics": ["x"], **options}))
    line = str(refused.value)
    assert "\n" not in line
    assert len(line) < 1000
    return line


# What is no file ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("format", [None, *FORMATS])
@pytest.mark.parametrize("device", ["/dev/zero", "/dev/random", "/dev/full"])
def test_a_device_is_no_log(device: str, format: str | None) -> None:
    assert refusal(device, format=format).startswith(f"{device}: wanted a file; got a device")


@pytest.mark.parametrize("format", [None, *FORMATS])
def test_a_pipe_that_nobody_writes_into_is_no_log(
    tmp_path: Path, format: str | None, snapshot: SnapshotAssertion
) -> None:
    os.mkfifo(tmp_path / "log.csv")
    assert said(refusal(tmp_path / "log.csv", format=format)) == snapshot
    with refused(BadInput, snapshot):
        analyze({"arm": ["a"] * 9, "x": range(9)}, maximize="x", append=tmp_path / "log.csv")


def test_folders_that_hold_themselves_are_read_once(tmp_path: Path) -> None:
    (tmp_path / "d" / "e").mkdir(parents=True)
    (tmp_path / "d" / "e" / "1.csv").write_text("arm,x\na,1\n")
    for number in range(3):  # 3⁴⁰ ways through these
        (tmp_path / "d" / f"again{number}").symlink_to(tmp_path / "d", target_is_directory=True)
    (tmp_path / "d" / "loop.csv").symlink_to("loop.csv")
    for pattern in ("d", "d/**/*.csv", "d/**", "**/*.csv", "d/again1/**/e/*.csv", "d/**/**/1.csv"):
        assert rows_of(open_log(str(tmp_path / pattern), metrics=["x"])) == [("a", 1.0)], pattern
    assert refusal(tmp_path / "d" / "loop.csv").startswith("no such file or directory")


def test_a_file_that_is_named_twice_does_not_count_twice(tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text("arm,x\na,1\n")
    (tmp_path / "2.csv").symlink_to("1.csv")
    line = refusal([tmp_path / "1.csv", str(tmp_path / "*.csv")])
    assert line.endswith("1.csv is among the files of the log 2 times: its rows would count as often")
    assert rows_of(open_log(str(tmp_path / "*.csv"), metrics=["x"])) == [("a", 1.0)]


def test_a_file_that_grows_all_the_while_comes_to_an_end(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("arm,x\n" + "a,1\n" * 500_000 + "a,")  # the last row is being written
    stop, rows = threading.Event(), "2\n" + "a,3\n" * 500_000

    def grow() -> None:
        with path.open("a") as file:
            while not stop.wait(0.01):  # so that the reader has a core
                file.write(rows)
                file.flush()

    log = open_log(path, metrics=["x"])
    batches = log.batches()
    first = next(batches)
    writer = threading.Thread(target=grow)
    writer.start()
    try:
        while path.stat().st_size < 3 << 20:
            time.sleep(0.001)
        total = len(first) + sum(map(len, batches))
    finally:
        stop.set()
        writer.join()
    assert total == 500_001


# What is far larger than it looks -------------------------------------------------------------------------------------

SMALL = 1 << 20


@pytest.fixture
def small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same limits at sizes that are quickly made."""
    monkeypatch.setattr(files, "LARGEST", SMALL)
    monkeypatch.setattr(text_tables, "LONGEST_ROW", SMALL)


def in_little_memory(work: Callable[[], Any]) -> Any:
    tracemalloc.start()
    try:
        answer = work()
        assert tracemalloc.get_traced_memory()[1] < 30 * SMALL
    finally:
        tracemalloc.stop()
    return answer


@pytest.mark.usefixtures("small_limits")
@pytest.mark.parametrize("pack", [gzip.compress, bytes])
@pytest.mark.parametrize(
    ("begin", "name", "said"),
    [
        (b'{\n"results": [', "l.json", "a document of more than 1 MiB, which is read whole"),
        (b"[", "l.jsonl", "JSON lines, an object a line"),
        (b'{"arm": "', "l.jsonl", "a row longer than 1 MiB"),
        (b'{"arm": "a", "x": 1}\n{"arm": "', "l.jsonl", "a row longer than 1 MiB"),
        (b'arm,x\n"a', "l.csv", "a row longer than 1 MiB"),
        (b"arm,x\na", "l.csv", "a row longer than 1 MiB"),
        (b"arm", "l.csv", "no header can be read: field larger than field limit"),
    ],
)
def test_a_small_file_may_unpack_to_a_large_one(
    tmp_path: Path, begin: bytes, name: str, said: str, pack: Callable[[bytes], bytes]
) -> None:
    (tmp_path / name).write_bytes(pack(begin + b" " * (64 * SMALL)))
    assert said in in_little_memory(lambda: refusal(tmp_path / name))


def test_a_document_of_very_many_values_is_refused_before_they_are_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    monkeypatch.setattr(files, "available_memory", lambda: 100 * SMALL)
    (tmp_path / "l.json").write_bytes(b'{\n"results": [' + b"[]," * (4 * SMALL))
    assert said(in_little_memory(lambda: refusal(tmp_path / "l.json"))) == snapshot


def test_very_many_columns_are_looked_through_soon(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    (tmp_path / "l.csv").write_bytes(b"a,b," * 200_000 + b"\n")
    assert said(refusal(tmp_path / "l.csv")) == snapshot
