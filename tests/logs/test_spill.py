"""Logs that do not fit in memory: the same to the bit as in memory, nothing left behind, clear words when it fails."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import IO

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from frontguard import BadInput
from frontguard._common.machine import _of_group, available_memory
from frontguard.logs import sort, spill
from frontguard.logs.sort import LEAST_MEMORY, Batch, Clock, LogProgress, ordered_from
from tests.conftest import ROOT
from tests.logs.test_sort import NAN, as_dictionary, assert_same, naive, ordered_in_memory
from tests.support.snapshots import refused, said

pl = pytest.importorskip("polars", reason="the extra `logs` is not installed")

ROWS_IN_LEAST = LEAST_MEMORY // (4 + 2 * 8 + 2 * 8)  # with two metrics


def log(seed: int, rows: int, arms: int, failing: float = 0.05, sort: bool = False) -> list[Batch]:
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, arms, rows)
    if sort:
        codes.sort()
    values = [np.where(rng.random(rows) < failing, NAN, rng.normal(size=rows).round(2)) for _ in range(2)]
    edges = [0, *np.sort(rng.integers(0, rows, 7)).tolist(), rows]
    names = pl.Series(rng.permutation(arms).astype(str)).gather(codes)
    return [Batch(names[a:b], [each[a:b] for each in values]) for a, b in pairwise(edges)]


@pytest.mark.parametrize(
    ("rows", "arms", "sort"),
    [
        (ROWS_IN_LEAST * 3, 1000, False),
        (ROWS_IN_LEAST * 3, 1000, True),  # every run has arms of its own
        (ROWS_IN_LEAST * 4, ROWS_IN_LEAST * 2, False),  # new names in every run, most arms in one or two
        (ROWS_IN_LEAST * 4, 1, False),  # one arm, larger than memory
        (ROWS_IN_LEAST * 5, 3, False),
    ],
)
def test_the_same_to_the_bit_as_in_memory(rows: int, arms: int, sort: bool, tmp_path: Path) -> None:
    batches = log(rows + arms, rows, arms, sort=sort)
    wanted = ordered_in_memory(batches, ["m", "k"])
    got = ordered_from(batches, ["m", "k"], memory=LEAST_MEMORY, folder=tmp_path)
    assert_same(got, wanted)
    assert all(isinstance(flat.base, np.memmap) and not flat.flags.writeable for flat in got.values)
    assert list(tmp_path.iterdir()) == []
    arms = np.flatnonzero(got.good[0])
    assert got.at(0, arms, got.good[0][arms]).tolist() == wanted.at(0, arms, wanted.good[0][arms]).tolist()


@settings(max_examples=25)
@given(
    st.lists(st.tuples(st.sampled_from("abcdefg"), st.sampled_from([0.0, 1.0, 2.5, -1.0, NAN])), max_size=80),
    st.integers(1, 20),
    st.integers(1, 8),
)
def test_runs_and_blocks_of_a_few_rows_beside_the_naive_twin(
    rows: list[tuple[str, float]], in_memory: int, in_batch: int
) -> None:
    """Memory for `in_memory` rows: runs, blocks and arms of every size."""
    parts = [rows[k : k + in_batch] for k in range(0, len(rows), in_batch)]
    batches = [Batch(pl.Series([arm for arm, _ in part]), [np.array([v for _, v in part])]) for part in parts]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sort, "LEAST_MEMORY", 1)
        patch.setattr(spill, "usable_cores", lambda: 1)
        got = ordered_from(batches, ["m"], memory=20 * in_memory, usable=np.array([[np.nextafter(-0.5, 0.0), np.inf]]))
    assert as_dictionary(got) == naive([(arm, [value]) for arm, value in rows], 1, [-0.5])


def test_what_fits_stays_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spill, "tempfile", None)  # no file is made
    batches = log(1, 3000, 10)
    assert_same(ordered_from(batches, ["m", "k"], folder=tmp_path), ordered_in_memory(batches, ["m", "k"]))


def test_nothing_is_left_after_an_error(tmp_path: Path) -> None:
    class Broken(Exception):
        pass

    def breaking() -> Iterator[Batch]:
        yield from log(2, ROWS_IN_LEAST * 3, 50)
        assert len(own_files(tmp_path)) == 2  # one for the values of each metric
        raise Broken

    with pytest.raises(Broken):
        ordered_from(breaking(), ["m", "k"], memory=LEAST_MEMORY, folder=tmp_path)
    assert own_files(tmp_path) == []
    assert list(tmp_path.iterdir()) == []


def own_files(folder: Path) -> list[str]:
    """The files in this folder that this process has open, named or not."""
    found = []
    for entry in Path("/proc/self/fd").iterdir():
        try:
            target = os.readlink(entry)
        except FileNotFoundError:  # the one that lists the others
            continue
        if target.startswith(str(folder)):
            found.append(target)
    return found


def test_files_are_let_go_of_with_the_last_array(tmp_path: Path) -> None:
    got = ordered_from(log(3, ROWS_IN_LEAST * 2, 50), ["m", "k"], memory=LEAST_MEMORY, folder=tmp_path)
    one, _ = got.values
    mapped = Path("/proc/self/maps").read_text().count(str(tmp_path))
    assert mapped == 2
    del got, _
    assert Path("/proc/self/maps").read_text().count(str(tmp_path)) == 1
    assert one[0] <= one[1]
    del one
    assert str(tmp_path) not in Path("/proc/self/maps").read_text()


def test_a_full_disk_is_named(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    """A process that may write no file beyond 100 kB."""
    code = f"""
import resource, sys
from frontguard import BadInput
from frontguard.logs.sort import ordered_from
from tests.logs.test_spill import log
batches = log(4, {ROWS_IN_LEAST * 3}, 20)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    ordered_from(batches, ["m", "k"], memory={LEAST_MEMORY}, folder=sys.argv[1])
except BadInput as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert said(done.stdout) == snapshot, done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
def test_a_device_without_room_is_named(monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion) -> None:
    def full(**_: object) -> IO[bytes]:
        return Path("/dev/full").open("r+b", buffering=0)

    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    with refused(BadInput, snapshot):
        ordered_from(log(5, ROWS_IN_LEAST * 2, 9), ["m", "k"], memory=LEAST_MEMORY, folder="/some/where")


def test_a_folder_that_is_not_there_is_named(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    with refused(BadInput, snapshot):
        ordered_from(log(6, ROWS_IN_LEAST * 2, 9), ["m", "k"], memory=LEAST_MEMORY, folder=tmp_path / "nowhere")


def test_too_little_memory_is_refused(snapshot: SnapshotAssertion) -> None:
    with refused(BadInput, snapshot):
        ordered_from([], ["m"], memory=1000)


@pytest.mark.parametrize("memory", [LEAST_MEMORY, 2**30])
def test_progress_tells_rows_read_and_sorted(memory: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("frontguard.logs.sort._PAUSE", 0.0)
    batches = log(7, ROWS_IN_LEAST * 3, 40)
    rows = ROWS_IN_LEAST * 3
    told: list[LogProgress] = []
    ordered_from(batches, ["m", "k"], memory=memory, folder=tmp_path, clock=Clock(told.append, rows))
    reading = [each for each in told if each.stage == "reading"]
    sorting = [each for each in told if each.stage == "sorting"]
    assert told == reading + sorting
    assert all(each.total == rows for each in told)
    assert all(each.seconds_left is not None and each.seconds_left >= 0.0 for each in told)
    assert [each.rows for each in reading] == sorted(each.rows for each in reading)
    assert (reading[-1].rows, sorting[-1].rows, sorting[-1].seconds_left) == (rows, rows, 0.0)
    assert len(reading) >= len(batches)
    assert len(sorting) > 1 or memory > LEAST_MEMORY


def test_time_left_is_what_the_rate_so_far_says(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("frontguard.logs.sort.time.monotonic", lambda: now)
    told: list[LogProgress] = []
    clock = Clock(told.append, 1000)
    now = 110.0
    clock.read(250)  # 40 ms a row, and half of that to sort it
    assert told[-1] == LogProgress("reading", 250, 1000, 10.0, 0.04 * 750 + 0.02 * 1000)
    now = 150.0
    clock.read(1200)  # more than was said
    assert told[-1].total == 1200
    clock.all_read()
    now = 156.0
    clock.sorted(300)
    assert told[-1] == LogProgress("sorting", 300, 1200, 56.0, 0.02 * 900)
    nobody_knows = Clock(told.append, None)
    now = 170.0
    nobody_knows.read(10)
    assert told[-1] == LogProgress("reading", 10, None, 14.0, None)


def test_memory_of_a_container_counts(tmp_path: Path) -> None:
    assert available_memory() > LEAST_MEMORY
    assert _of_group(tmp_path) is None
    for name, text in (("memory.max", "4000\n"), ("memory.current", "3500\n"), ("memory.stat", "anon 9\nfile 1000\n")):
        (tmp_path / name).write_text(text)
    assert _of_group(tmp_path) == 1500
    (tmp_path / "memory.max").write_text("max\n")
    assert _of_group(tmp_path) is None
