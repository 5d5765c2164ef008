"""`frontguard run`: Ctrl-C, kills, and several runs at one study."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard.commands.arm import seed_of_pull
from frontguard.storage import End, open_storage
from frontguard.studies import Study
from tests.cli.run.toy import (
    MEASURE,
    alive_with,
    begin,
    found,
    run,
    told,
    without_times,
    write_spec,
)
from tests.support.waiting import until


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("uninterrupted")
    (folder / "measure.sh").write_text(MEASURE)
    write_spec(folder)
    return found(run(folder, "toy.toml", "--json", "--tolerance", "size=3", "--tolerance", "cost=4%"))


INTERRUPTED = ("toy.toml", "--json", "--tolerance", "size=3", "--tolerance", "cost=4%")


def test_ctrl_c_waits_for_what_is_under_way_and_the_same_command_goes_on_as_if_it_had_not_been(
    folder: Path, uninterrupted: dict[str, Any]
) -> None:
    write_spec(folder, sleep=0.05)  # slow enough to be caught in the middle
    going = begin(folder, *[part for part in INTERRUPTED if part != "--json"])
    until(lambda: told(folder / "toy.db") >= 8)
    os.killpg(going.pid, signal.SIGINT)
    out, err = going.communicate(timeout=240)
    assert going.returncode == 130
    assert "Traceback" not in err
    assert not alive_with(str(folder))
    before = told(folder / "toy.db")
    assert f"Interrupted after {before} runs" in " ".join(out.split())
    assert "the same command" in " ".join(out.split()).partition("To decide: ")[2]

    going = begin(folder, *INTERRUPTED, ignoring="HUP")
    until(lambda: told(folder / "toy.db") >= before + 4)
    os.kill(going.pid, signal.SIGHUP)  # as if the terminal were closed: nohup has the run go on
    survived = told(folder / "toy.db")
    until(lambda: told(folder / "toy.db") >= survived + 4)
    os.killpg(going.pid, signal.SIGINT)
    out, err = going.communicate(timeout=240)
    assert going.returncode == 130
    assert f"going on with {before} pulls" in err
    assert json.loads(out)["status"] == "running"
    assert json.loads(out)["pulls"] == told(folder / "toy.db") < uninterrupted["pulls"]

    finished = run(folder, *INTERRUPTED)
    assert finished.returncode == 0
    check_same(found(finished), uninterrupted, folder)


def ends_of(folder: Path, file: str = "frontguard-run.db") -> dict[int, End]:
    with open_storage(folder / file, read_only=True) as storage:
        (name,) = storage.studies()
        assert storage.leases(name) == []
        log = storage.told(name)
    return {pull: End(end) for pull, end in zip(log.pulls.tolist(), log.ends.tolist(), strict=True)}


def line_with(text: str, going: subprocess.Popen[str]) -> str:
    """The line in which a run says this, as soon as it does."""
    assert going.stderr is not None
    line = ""
    while text not in line:
        line = going.stderr.readline()
        assert line, "it ended"
    return line


def test_the_first_ctrl_c_waits_however_long_it_takes(folder: Path, snapshot: SnapshotAssertion) -> None:
    free = folder / "free"
    waits = f"sh -c 'touch {folder}/begun; while [ ! -e {free} ]; do sleep 0.05; done'"
    going = begin(folder, "--arm", f"a={waits}", "--arm", f"b={waits} ")
    until((folder / "begun").exists)
    os.killpg(going.pid, signal.SIGINT)
    assert line_with("waiting for", going) == snapshot
    free.touch()
    going.communicate(timeout=240)
    assert going.returncode == 130
    assert ends_of(folder) == {1: End.TOLD}


@pytest.mark.parametrize("by", [[signal.SIGINT, signal.SIGINT], [signal.SIGTERM], [signal.SIGHUP]])
def test_what_is_given_up_has_failed_and_takes_all_processes_along(folder: Path, by: list[signal.Signals]) -> None:
    mark = f"7{os.getpid()}.1234"
    arms = ["--arm", f"a=sh -c 'sleep {mark}; sleep {mark}'", "--arm", f"b=sleep {mark}0"]
    going = begin(folder, *arms, "--workers", "2")
    until(lambda: len(alive_with(f"sleep\0{mark}")) >= 2)
    for place, number in enumerate(by):
        if place:  # two signals at once would be one
            line_with("waiting for", going)
        os.killpg(going.pid, number)
    out, err = going.communicate(timeout=240)
    assert going.returncode == 130, err
    assert "Interrupted" in out
    assert not alive_with(mark)
    assert ends_of(folder) == {1: End.STOPPED, 2: End.STOPPED}
    study = Study.open(folder / "frontguard-run.db", read_only=True)
    assert {why for each in study.failures().values() for why in each} == {"stopped before its end"}
    study.close()


def check_same(answer: dict[str, Any], uninterrupted: dict[str, Any], folder: Path) -> None:
    """The interrupted study gave the very answer of the other, and every pull was counted once, with its own seed."""
    assert without_times(answer) == without_times(uninterrupted)
    study = Study.open(folder / "toy.db", read_only=True)
    frame = study.to_frame()
    study.close()
    assert sorted(frame.index) == list(range(1, answer["pulls"] + 1))
    costs = {"small": 30, "fast": 20, "poor": 40}
    for pull, row in frame.iterrows():
        assert row["cost"] == costs[row["arm"]] * (100 + seed_of_pull(0, pull) % 21 - 10)


def test_after_kill_9_what_was_under_way_has_failed_and_the_same_command_goes_on(folder: Path) -> None:
    write_spec(folder, sleep=0.05)
    for at_least in (5, 15):
        going = begin(folder, *INTERRUPTED)
        until(lambda wanted=at_least: told(folder / "toy.db") >= wanted)  # type: ignore[misc]
        going.kill()
        going.communicate(timeout=240)
        assert going.returncode == -signal.SIGKILL
    finished = run(folder, *INTERRUPTED)
    assert finished.returncode == 0, finished.stderr
    ends = ends_of(folder, "toy.db")
    assert sorted(ends) == list(range(1, len(ends) + 1))
    assert set(ends.values()) <= {End.TOLD, End.LOST}
    assert list(ends.values()).count(End.LOST) <= 2  # one for each kill, unless it came between two pulls
    assert found(finished)["status"] == "certified"


def test_a_third_ctrl_c_leaves_at_once_and_takes_all_processes_along(folder: Path) -> None:
    mark = f"7{os.getpid()}.1234"
    stubborn = ["--arm", f"a=sh -c \"trap '' TERM; sleep {mark}; sleep {mark}\"", "--arm", "b=sleep 0.01"]
    going = begin(folder, *stubborn, "--workers", "2", "--seed", "1")
    until(lambda: bool(alive_with(f"sleep\0{mark}")))
    for _ in range(3):
        os.killpg(going.pid, signal.SIGINT)
        time.sleep(0.3)
    going.communicate(timeout=240)
    assert going.returncode == 130
    assert not alive_with(mark)


def test_two_runs_share_one_study(folder: Path) -> None:
    write_spec(folder, sleep=0.01)
    one, other = begin(folder, "toy.toml", "--json"), begin(folder, "toy.toml", "--json")
    answers = []
    for going in (one, other):
        out, err = going.communicate(timeout=240)
        assert going.returncode == 0, err
        answers.append(json.loads(out))
    assert {answer["status"] for answer in answers} == {"certified"}
    assert answers[0]["pareto_set"] == answers[1]["pareto_set"] == ["small", "fast"]
    study = Study.open(folder / "toy.db", read_only=True)
    frame = study.to_frame()
    study.close()
    assert frame.index.is_unique
    assert frame["worker"].nunique() == 2
