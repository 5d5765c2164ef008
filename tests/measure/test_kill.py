"""A study that is killed at any moment: nothing acknowledged is lost, nothing counted twice, and it goes on the same.

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
from frontguard.studies.study import Pull

ARMS = [f"arm {n}" for n in range(6)]
OBJECTIVES = [Objective("quality", tolerance=0.3), Objective("cost", "minimize", "20%")]
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


def _check(path: Path, acknowledged: list[int], whole: Path) -> None:
    study, uninterrupted = a_study(path), a_study(whole)
    told, expected = study.storage.told("study"), uninterrupted.storage.told("study")
    assert len(set(acknowledged)) == len(acknowledged), "a pull was acknowledged twice"
    assert set(acknowledged) <= set(told.pulls.tolist()), "an acknowledged pull was lost"
    assert len(set(told.pulls.tolist())) == len(told), "a pull was counted twice"
    # What was asked, in which order, what was answered, and what came of it: as if nothing had happened.
    np.testing.assert_array_equal(told.pulls, expected.pulls)
    np.testing.assert_array_equal(told.values, expected.values)
    assert told.reasons == expected.reasons
    for plan, other in zip(study.storage.plans("study"), uninterrupted.storage.plans("study"), strict=True):
        assert (plan.number, plan.told, plan.first, plan.status) == (
            other.number,
            other.told,
            other.first,
            other.status,
        )
        np.testing.assert_array_equal(plan.arms, other.arms)
    assert study.result().to_dict() == uninterrupted.result().to_dict()
    assert study.status == "certified"
    study.close()
    uninterrupted.close()


def _killed_often(tmp_path: Path, kills: int) -> None:
    whole = tmp_path / "whole.db"
    work(whole, lambda _: None)
    done = 0
    for round_number in range(kills):
        path = tmp_path / f"killed-{round_number}.db"
        acknowledged, killed = _kill_until_done(path, kills - done, seed=round_number)
        _check(path, acknowledged, whole)
        done += killed
        if done >= kills:
            break
    assert done >= kills


def test_two_hundred_kills(tmp_path: Path) -> None:
    _killed_often(tmp_path, 200)


@pytest.mark.audit
def test_five_thousand_kills(tmp_path: Path) -> None:
    _killed_often(tmp_path, 5000)
