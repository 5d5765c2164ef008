"""A study that is killed at any moment: nothing acknowledged is lost, nothing is measured twice.

What was under way has failed, and from there the study asks what it would have asked.


A warm parent forks a child that works on the study; the child says of every pull, through a pipe, that its tell
returned; the parent kills it with SIGKILL at a random moment, and forks the next.
"""

from __future__ import annotations

import os
import random
import select
import signal
import struct
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest

from frontguard import Objective, Prescient, Study
from frontguard.storage.contract import End, Plan, Tell, Told
from frontguard.studies.study import Pull

ARMS = [f"arm {n}" for n in range(6)]
OBJECTIVES = [Objective("quality", "maximize", tolerance=0.3), Objective("cost", "minimize", "20%")]
RECORD = struct.Struct("<q")


def a_study(path: Path) -> Study:
    return Study(ARMS, OBJECTIVES, Prescient(0.1), storage=path, seed=1)


def measure(pull: Pull) -> list[float]:
    rng = np.random.default_rng([3, pull.id])
    return [pull.index + float(rng.normal(0, 0.5)), float(np.exp(pull.index / 4 + rng.normal(0, 0.3)))]


def work(path: Path, told: Callable[[int], None], at_a_time: int = 1) -> None:
    """Ask, measure, tell until the study is done; some pulls fail."""
    study = a_study(path)
    while pulls := study.ask(at_a_time):
        for pull in pulls:
            if pull.id % 31 == 0:
                study.fail(pull, "exit code 1")
            else:
                study.tell(pull, measure(pull))
            told(pull.id)
    study.close()


def in_a_child(job: Callable[[int], None]) -> tuple[int, int]:
    """Fork; the child runs the job with the writing end of a pipe. Returns its number and the reading end."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        _run_and_exit(job, read, write)
    os.close(write)
    return child, read


def _run_and_exit(job: Callable[[int], None], read: int, write: int) -> NoReturn:
    code = 1
    try:
        os.close(read)
        job(write)
        code = 0
    finally:
        os._exit(code)


def _kill_until_done(path: Path, kills: int, seed: int) -> tuple[list[int], int]:
    """Fork and kill until the study is done or was killed so often; then let it finish. Acknowledged pulls, kills."""
    rng = random.Random(seed)
    acknowledged: list[int] = []
    killed = 0
    while True:
        child, read = in_a_child(lambda write: work(path, partial(_send, write)))
        deadline = time.monotonic() + (rng.expovariate(1 / 0.03) if killed < kills else 600.0)
        buffer = b""
        while True:
            ready, _, _ = select.select([read], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                os.kill(child, signal.SIGKILL)
            chunk = os.read(read, 1 << 16)  # after the kill: what it had said before
            buffer += chunk
            if not chunk:
                break
        os.close(read)
        _, status = os.waitpid(child, 0)
        acknowledged += [pull for (pull,) in RECORD.iter_unpack(buffer[: len(buffer) // 8 * 8])]
        if os.WIFSIGNALED(status):
            killed += 1
            continue
        assert os.waitstatus_to_exitcode(status) == 0, "the study could not be taken up after a kill"
        return acknowledged, killed


def _send(write: int, pull: int) -> None:
    os.write(write, RECORD.pack(pull))


def _check(path: Path, acknowledged: list[int], killed: int) -> None:
    study = a_study(path)
    told, plans = study.storage.told("study"), study.storage.plans("study")
    ends = dict(zip(told.pulls.tolist(), told.ends.tolist(), strict=True))
    assert len(set(acknowledged)) == len(acknowledged), "a pull was acknowledged twice"
    assert all(ends.get(pull) == End.TOLD for pull in acknowledged), "an acknowledged pull was lost"
    assert len(ends) == len(told), "a pull was counted twice"
    assert set(ends.values()) <= {End.TOLD, End.LOST}
    assert list(ends.values()).count(End.LOST) <= killed, "more were lost than were under way"
    arms = np.concatenate([plan.arms for plan in plans])
    for pull, values, reason, end in zip(told.pulls.tolist(), told.values, told.reasons, told.ends, strict=True):
        failed = end != End.TOLD or pull % 31 == 0
        assert reason == ("exit code 1" if pull % 31 == 0 and end == End.TOLD else "")
        expected = measure(Pull(pull, "", 0.0, index=int(arms[pull - 1])))
        np.testing.assert_array_equal(values, [np.nan, np.nan] if failed else expected)
    assert study.storage.leases("study") == []
    assert study.status != "running"
    _check_plans(study, told, plans)
    study.close()


def _check_plans(study: Study, told: Told, plans: list[Plan]) -> None:
    """A study that was never interrupted, and in which the same pulls failed, asks for the same pulls."""
    whole = Study(ARMS, OBJECTIVES, Prescient(0.1), seed=1)
    tells = [
        Tell(pull, tuple(values), reason, worker, at, End(end))
        for pull, values, reason, worker, at, end in zip(
            told.pulls.tolist(), told.values.tolist(), told.reasons, told.workers, told.at, told.ends, strict=True
        )
    ]
    seen = 0
    for plan in plans:
        whole.storage.tell("study", tells[seen : plan.told])
        seen = max(seen, plan.told)
        whole.catch_up()
        proposed = whole._replay.propose(len(plan.arms))  # how many are planned at once depends on who is at work
        assert proposed is not None
        whole._replay, made = proposed
        assert whole.storage.add_plan("study", made)
        whole._replay.watch.plan(made.arms)
        assert (made.number, made.told, made.first, made.status) == (plan.number, plan.told, plan.first, plan.status)
        np.testing.assert_array_equal(made.arms, plan.arms)
    whole.storage.tell("study", tells[seen:])
    assert study.result().to_dict() == whole.result().to_dict()


def _killed_often(tmp_path: Path, kills: int) -> None:
    done = 0
    for round_number in range(kills):
        path = tmp_path / f"killed-{round_number}.db"
        acknowledged, killed = _kill_until_done(path, kills - done, seed=round_number)
        _check(path, acknowledged, killed)
        done += killed
        if done >= kills:
            break
    assert done >= kills


def test_twenty_kills(tmp_path: Path) -> None:
    _killed_often(tmp_path, 20)


@pytest.mark.audit
def test_five_thousand_kills(tmp_path: Path) -> None:
    _killed_often(tmp_path, 5000)
