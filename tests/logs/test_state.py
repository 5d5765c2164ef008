"""What a log leaves behind: added to, merged, saved and loaded, beside dictionaries of lists."""

from __future__ import annotations

import fcntl
import json
import os
import random
import resource
import shutil
import signal
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from frontguard import BadInput, analyze
from frontguard.evidence.measurements import Ordered
from frontguard.logs import state as state_module
from frontguard.logs import state as states
from frontguard.logs.state import CountedFile, LogState, append_to, held, marked
from tests.support.broken import broken
from tests.support.forks import fork
from tests.support.snapshots import refused, said

Row = tuple[str, tuple[float | None, float | None]]

METRICS = ("ms", "stars")
VALUES = st.sampled_from([None, -0.0, 0.0, 1.0, -2.5, 1e308, 5e-324, 3.0])
NAMES = st.sampled_from(["", "a", "b", "ä", "\ud800", "\U0001f600", "z\nz", "007", "\x00"])
ROWS = st.lists(st.tuples(NAMES, st.tuples(VALUES, VALUES)), max_size=12)


def ordered_of(rows: Sequence[Row], metrics: Sequence[str] = METRICS) -> Ordered:
    """The plainest way: lists by arm, sorted, zeros without a sign."""
    arms = sorted({name for name, _ in rows})
    runs = [[sorted(v[d] + 0.0 for n, v in rows if n == arm and v[d] is not None) for arm in arms] for d in (0, 1)]
    pulls = np.array([sum(n == arm for n, _ in rows) for arm in arms], np.int64)
    starts = np.array([np.cumsum([0, *map(len, run)]) for run in runs], np.int64)
    values = tuple(np.array([x for part in run for x in part], np.float64) for run in runs)
    return Ordered(arms, tuple(metrics), pulls, starts, values)


def state_of(rows: Sequence[Row]) -> LogState:
    return LogState.from_ordered(ordered_of(rows))


def content(state: LogState) -> tuple[object, ...]:
    """Everything, to the bit."""
    data = state.data
    assert isinstance(data, Ordered)
    values = tuple(part.tobytes() for part in data.values)
    return (
        list(data.arms),
        data.metrics,
        data.pulls.tolist(),
        data.starts.tolist(),
        values,
        state.about,
        state.sources,
    )


def some_rows(seed: int, count: int, arms: int = 5) -> list[Row]:
    rng = np.random.default_rng(seed)
    return [
        (f"arm {rng.integers(arms)}", (float(rng.normal()), None if rng.random() < 0.2 else float(rng.integers(5))))
        for _ in range(count)
    ]


@given(ROWS, ROWS, ROWS)
def test_merging_is_the_log_of_all_rows(first: list[Row], second: list[Row], third: list[Row]) -> None:
    a, b, c = map(state_of, (first, second, third))
    whole = content(state_of(first + second + third))
    assert content(a.merge(b).merge(c)) == whole
    assert content(a.merge(b.merge(c))) == whole
    assert content(c.merge(a).merge(b)) == whole
    assert content(LogState.merge_all([b, c, a])) == whole


def test_signs_of_zeros_do_not_betray_the_order() -> None:
    def raw(*values: float) -> LogState:
        count = len(values)
        return LogState.from_ordered(
            Ordered(["a"], ("x",), np.array([count]), np.array([[0, count]]), (np.array(values),))
        )

    minus, plus = raw(-0.0), raw(0.0, 1.0)
    assert content(minus.merge(plus)) == content(plus.merge(minus))


def test_merging_many_states(snapshot: SnapshotAssertion) -> None:
    rows = some_rows(3, 500)
    states = [state_of(rows[start : start + 37]) for start in range(0, 500, 37)]
    whole = content(state_of(rows))
    for seed in range(5):
        random.Random(seed).shuffle(states)
        assert content(LogState.merge_all(states)) == whole
    with refused(BadInput, snapshot):
        LogState.merge_all([])


@pytest.mark.parametrize(
    "metrics",
    [
        ("ms", "score"),
        ("stars", "ms"),
    ],
)
def test_other_metrics_do_not_merge(metrics: tuple[str, ...], snapshot: SnapshotAssertion) -> None:
    other = LogState.from_ordered(ordered_of([("a", (1.0, 2.0))], metrics))
    with refused(BadInput, snapshot):
        state_of([("a", (1.0, 2.0))]).merge(other)


def test_what_is_read_differently_does_not_merge(snapshot: SnapshotAssertion) -> None:
    log = ordered_of([("a", (1.0, 2.0))])
    positive = LogState.from_ordered(log, {"failed at or below": [0.0, None], "arm": ["x"]})
    with refused(BadInput, snapshot):
        positive.merge(LogState.from_ordered(log, {"failed at or below": [None, None], "arm": ["x"]}))
    with refused(BadInput, snapshot):
        positive.merge(LogState.from_ordered(log, {"failed at or below": [0.0, None]}))
    with refused(BadInput, snapshot):
        LogState.from_ordered(log, {"arm": {1, 2}})


def test_arms_out_of_order_are_refused(snapshot: SnapshotAssertion) -> None:
    log = Ordered(["b", "a"], ("x",), np.array([1, 1]), np.array([[0, 1, 2]]), (np.array([1.0, 2.0]),))
    with refused(BadInput, snapshot):
        LogState.from_ordered(log)


@given(ROWS)
def test_saved_and_loaded(tmp_path: Path, rows: list[Row]) -> None:
    mark = CountedFile("a.csv", 7, "00", 3)
    state = LogState.from_ordered(ordered_of(rows), {"arm": ["ä"], "layout": "wide"}, [mark])
    state.save(tmp_path / "state")
    assert content(LogState.load(tmp_path / "state")) == content(state)
    assert sorted(os.listdir(tmp_path)) == ["state"]


def test_the_same_rows_are_the_same_file(tmp_path: Path) -> None:
    a, b = (
        LogState.from_ordered(ordered_of(some_rows(seed, 50)), {}, [CountedFile(f"{seed}.csv", seed, str(seed))])
        for seed in (1, 2)
    )
    a.merge(b).save(tmp_path / "ab")
    b.merge(a).save(tmp_path / "ba")
    assert (tmp_path / "ab").read_bytes() == (tmp_path / "ba").read_bytes()


def test_a_damaged_byte_is_found_wherever_it_is(tmp_path: Path) -> None:
    state = state_of(some_rows(1, 12, arms=2))
    file = tmp_path / "state"
    state.save(file)
    whole = file.read_bytes()
    for place in range(len(whole)):
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 0x41]) + whole[place + 1 :])
        with pytest.raises(BadInput) as caught:
            LogState.load(file)
        assert str(file) in str(caught.value)
        assert "\n" not in str(caught.value)


def test_a_cut_file_is_found_wherever_it_ends(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    file = tmp_path / "state"
    state_of(some_rows(1, 12, arms=2)).save(file)
    whole = file.read_bytes()
    for size in range(len(whole)):
        file.write_bytes(whole[:size])
        with pytest.raises(BadInput) as caught:
            LogState.load(file)
        assert str(file) in str(caught.value)
    file.write_bytes(whole + b"more")
    with refused(BadInput, snapshot):
        LogState.load(file)


def test_a_file_that_is_cut_while_it_is_read_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "state"
    state_of(some_rows(1, 5000, arms=2)).save(file)
    load = np.load

    def cut(opened: Any) -> Any:
        packed = load(opened)
        os.truncate(file, 20_000)
        return packed

    monkeypatch.setattr(np, "load", cut)
    with pytest.raises(BadInput) as caught:
        LogState.load(file)
    assert str(file) in str(caught.value)


def test_files_that_are_no_state(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    (tmp_path / "log.csv").write_text("arm,ms\na,1\n" * 100)
    with refused(BadInput, snapshot):
        LogState.load(tmp_path / "log.csv")
    with refused(BadInput, snapshot):
        LogState.load(tmp_path / "none")
    with refused(BadInput, snapshot):
        LogState.load(tmp_path)
    with refused(BadInput, snapshot):
        state_of([]).save(tmp_path / "no folder" / "state")


def test_another_format_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    with monkeypatch.context() as later:
        later.setattr(states, "VERSION", 3)
        state_of([]).save(tmp_path / "state")
    with refused(BadInput, snapshot):
        LogState.load(tmp_path / "state")


def test_a_full_disk_leaves_the_old_file(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    file = tmp_path / "state"
    old = state_of(some_rows(1, 5))
    old.save(file)
    size = file.stat().st_size
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 100, limits[1]))
    try:
        with refused(BadInput, snapshot):
            state_of(some_rows(2, 500)).save(file)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, ignored)
    assert content(LogState.load(file)) == content(old)
    assert os.listdir(tmp_path) == ["state"]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    state_of([]).save(tmp_path / "real" / "state")
    (tmp_path / "state").symlink_to("real/state")
    os.chmod(tmp_path / "real" / "state", 0o640)
    append_to(tmp_path / "state", state_of(some_rows(1, 5)))
    assert (tmp_path / "state").is_symlink()
    assert LogState.load(tmp_path / "real" / "state").pulls.sum() == 5
    assert (tmp_path / "real" / "state").stat().st_mode & 0o777 == 0o640


def test_killed_while_saving(tmp_path: Path) -> None:
    file = tmp_path / "state"
    choices = [state_of(some_rows(seed, 2000)) for seed in range(3)]
    known = [content(state) for state in choices]
    choices[0].save(file)
    left = 0
    rng = random.Random(5)

    def save_for_ever() -> None:
        for turn in range(10**9):
            choices[turn % 3].save(file)

    for _ in range(20):
        child = fork(save_for_ever)
        time.sleep(rng.uniform(0.001, 0.03))
        child.kill()
        assert content(LogState.load(file)) in known
        left += len(os.listdir(tmp_path)) > 1
    assert left > 0  # some were killed in the middle
    choices[0].save(file)
    assert os.listdir(tmp_path) == ["state"]


def test_two_processes_append_at_once(tmp_path: Path) -> None:
    file = tmp_path / "state"
    parts = [some_rows(seed, 20) for seed in range(24)]

    def work(mine: int) -> None:
        for rows in parts[mine::4]:
            append_to(file, state_of(rows))

    for child in [fork(lambda mine=mine: work(mine)) for mine in range(4)]:
        child.result()
    assert content(LogState.load(file)) == content(state_of([row for rows in parts for row in rows]))
    assert os.listdir(tmp_path) == ["state"]


def test_who_holds_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion) -> None:
    file = tmp_path / "state"
    rf"state: process {os.getpid()} on \S+ \(since .*\) is writing to this"
    monkeypatch.setattr(state_module, "WAIT", 0.1)
    with held(file), refused(BadInput, snapshot):
        append_to(file, state_of([]))

    def hold() -> None:
        with held(file):
            (tmp_path / "held").touch()
            time.sleep(600)

    child = fork(hold)
    while not (tmp_path / "held").exists():
        time.sleep(0.01)
    monkeypatch.setattr(state_module, "WAIT", 0.0)
    with refused(BadInput, snapshot):
        append_to(file, state_of([]))
    child.kill()  # the dead hold nothing
    monkeypatch.setattr(state_module, "WAIT", 1.0)
    append_to(file, state_of([]))
    assert LogState.load(file).pulls.sum() == 0


def test_a_lock_that_was_removed_meanwhile_is_no_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    """Between opening the lock file and locking it, its holder may have ended and removed it."""
    file, lock = tmp_path / "state", tmp_path / ".state.lock"
    flock, calls = fcntl.flock, []

    def late(handle: int, operation: int) -> None:
        if not calls:
            lock.unlink()
        calls.append(handle)
        flock(handle, operation)

    monkeypatch.setattr(fcntl, "flock", late)
    with held(file):
        assert lock.exists()
        monkeypatch.setattr(state_module, "WAIT", 0.0)
        with refused(BadInput, snapshot):
            append_to(file, state_of([]))
    assert not lock.exists()


def test_nothing_is_counted_twice(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    log, state = tmp_path / "log.csv", tmp_path / "state"
    log.write_text("arm,ms\na,1\n")
    mark, before = marked(log)
    assert before is None
    new = LogState.from_ordered(ordered_of([("a", (1.0, None))]), {}, [mark])
    append_to(state, new)
    saved = state.read_bytes()
    with refused(BadInput, snapshot):
        append_to(state, new)
    assert state.read_bytes() == saved
    assert append_to(state, new, again=True).pulls.tolist() == [2]
    assert len(LogState.load(state).sources) == 2

    shutil.copy(log, tmp_path / "copy.csv")
    known = LogState.load(state).sources
    copied, before = marked(tmp_path / "copy.csv", known=known)
    assert before is not None
    assert (before.file, before.source.name, before.grew) == (str(tmp_path / "copy.csv"), str(log), False)
    with refused(BadInput, snapshot):
        append_to(state, LogState.from_ordered(ordered_of([]), {}, [copied]))

    with log.open("a") as more:
        more.write("a,2\n")
    _, before = marked(log, known=known)
    assert before is not None
    assert before.grew
    assert (before.source.size, said(before)) == (11, snapshot)
    log.write_text("arm,ms\na,7\na,2\n")
    assert marked(log, known=known)[1] is None


def test_files_without_rows_are_how_others_begin(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    log = tmp_path / "log.csv"
    log.write_text("arm,ms\n")
    header = replace(marked(log)[0], rows=0)
    nothing = LogState.from_ordered(ordered_of([]), {}, [header])
    assert nothing.merge(nothing).pulls.tolist() == []
    log.write_text("arm,ms\na,1\n")
    assert marked(log, known=[header])[1] is None
    with refused(BadInput, snapshot):
        marked(tmp_path / "none")


# From strangers -------------------------------------------------------------------------------------------------------


def write_as_strangers(file: Path, chance: random.Random) -> None:
    """Change what a state says of itself, or numbers or shapes in it, and make its checksum right again."""
    arrays = states._read(file)
    change = chance.choice(["words", "numbers", "shapes", "kinds", "nothing of it"])
    name = chance.choice([name for name, each in arrays.items() if each.size and name != "words"])
    changed = arrays[name].copy()
    if change == "words":
        words = broken(json.loads(arrays["words"].tobytes()), chance)
        changed, name = np.frombuffer(json.dumps(words).encode(), np.uint8), "words"
    elif change == "numbers":
        odd = [-1, 0, 1, 255, 2**62, -(2**62)] if changed.dtype.kind != "f" else [np.nan, np.inf, -np.inf, 1e308, -1e9]
        with np.errstate(over="ignore"):
            changed.flat[chance.randrange(changed.size)] = np.array(chance.choice(odd)).astype(changed.dtype)
    elif change == "shapes":
        changed = chance.choice([changed.ravel()[:-1], changed[None], changed.ravel()[:1], np.resize(changed, 10_000)])
    elif change == "kinds":
        changed = changed.astype(chance.choice([np.float32, np.uint8, np.int32, str, complex]))
    else:
        del arrays[name]
    if change != "nothing of it":
        arrays[name] = changed
    states._write(file, arrays)


@pytest.mark.parametrize("sketched", [False, True])
def test_a_state_from_strangers_is_answered_or_refused_in_a_line(tmp_path: Path, sketched: bool) -> None:
    rng = np.random.default_rng(3)
    columns = {"arm": ["a"] * 60 + ["b"] * 60} | {
        name: np.r_[rng.normal(0, 1, 60), rng.normal(9, 1, 60)] for name in "xy"
    }
    good, file = tmp_path / "good", tmp_path / "state"
    analyze(columns, maximize=["x", "y"], append=good, sketch=8 if sketched else None)
    whole, chance = good.read_bytes(), random.Random(f"strangers {sketched}")
    refused: list[str] = []
    for _ in range(150):
        file.write_bytes(whole)
        write_as_strangers(file, chance)
        try:
            analyze(file, maximize=["x", "y"], profile=False)
        except BadInput as error:
            refused.append(str(error))
    assert 50 < len(refused) < 150
    assert [line for line in refused if "\n" in line or len(line) > 600] == []


def test_a_state_may_be_looked_at_whenever_something_is_added(tmp_path: Path) -> None:
    """Two arms that are alike, looked at after each of 20 additions: with one look each, all states miss."""
    asked: dict[str, Any] = {"maximize": "x", "confidence": 0.8, "contamination": 0, "profile": False}
    missed = set()
    for seed in range(6):
        draw = np.random.default_rng([seed, 20])
        for _ in range(20):
            log = {"arm": ["a", "b"] * 20, "x": draw.normal(size=40)}
            found = analyze(log, append=tmp_path / f"{seed}", **asked)
            assert found.anytime
            if not ((found.lower <= 0) & (found.upper >= 0)).all():
                missed.add(seed)
    assert len(missed) <= 1
    assert not analyze(tmp_path / "0", anytime=False, **asked).anytime
    assert analyze(tmp_path / "0", **asked).anytime
