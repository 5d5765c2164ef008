"""What it costs to follow a study of 1,000 arms: an update after so many pulls, and what its writer notices of it.

An update reads 100 new pulls from an SQLite file and brings the whole overview up to date: answer, alarms, forecast,
history. Beside it, the way that it is not done: deciding on what is new on a copy of the policy with all its samples.
The writer tells one pull at a time, durably, with and without another process that follows it and polls twice a second,
in short turns, because the speed of a disk changes from minute to minute.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.tables import Row, heading
from frontguard.objectives import Objective
from frontguard.storage.contract import Plan, Storage, Tell, open_storage
from frontguard.studies.follow import Follower
from frontguard.studies.replay import Replay
from frontguard.studies.study import Study
from frontguard.theory.threats import Prescient

ARMS = 1000
OBJECTIVES = (Objective("speed", "maximize", tolerance=0.01), Objective("seconds", "minimize", tolerance="1%"))
SIZES = (10**4, 10**5, 10**6)
UPDATES = 25
NEW = 100  # pulls an update
ROUNDS = 15
SECONDS = 2.0  # of telling, a turn
POLL = 0.5


def measured(rng: np.random.Generator, arms: np.ndarray) -> list[tuple[float, float]]:
    centres = np.cos(np.arange(ARMS))[arms]
    return list(zip(rng.normal(centres).tolist(), np.exp(rng.normal(centres, 0.2)).tolist(), strict=True))


def grow(storage: Storage, pulls: int, rng: np.random.Generator) -> np.ndarray:
    """A study that nothing can end, with so many told pulls; the arms of a last plan, none of which is told yet."""
    Study(ARMS, OBJECTIVES, Prescient(0.1), storage=storage, name="s")
    number = planned = 0
    while True:
        arms = rng.permutation(np.arange(max(4 * ARMS, planned // 33)) % ARMS)
        arms = arms[: pulls - planned] if planned < pulls else arms
        number += 1
        assert storage.add_plan("s", Plan(number, planned, planned + 1, arms))
        if planned == pulls:
            return arms
        tell(storage, planned, arms, rng)
        planned += len(arms)


def tell(storage: Storage, before: int, arms: np.ndarray, rng: np.random.Generator) -> None:
    storage.tell(
        "s",
        [
            Tell(before + n, values, worker=f"w{n % 8}", at=1e9 + 0.01 * (before + n))
            for n, values in enumerate(measured(rng, arms), start=1)
        ],
    )


# An update ------------------------------------------------------------------------------------------------------------


def by_copying(replay: Replay) -> None:
    """Decide on what is ahead as it would be done without sharing samples."""
    policy = replay.policy.copy()
    for piece in replay._ahead:
        policy.take(replay.arms_of(piece.pulls), replay.settings.question.columns.observed(piece.values))
    policy.decide()


def seconds(work: Callable[[], object]) -> float:
    """Of processor time: what others do on this machine at the same moment does not count."""
    begun = time.thread_time()
    work()
    return time.thread_time() - begun


def updates() -> list[Row]:
    heading(f"an update of {NEW} pulls, {ARMS} arms: processor time, median of {UPDATES}, the sizes in turns")
    found: dict[tuple[str, int], list[float]] = {}
    with TemporaryDirectory(prefix="benchmark-", dir=".") as folder, ExitStack() as opened:
        rng = np.random.default_rng(0)
        studies = []
        for pulls in SIZES:
            storage = opened.enter_context(open_storage(Path(folder) / f"{pulls}.db"))
            arms = grow(storage, pulls, rng)
            follower = Follower(storage, "s")
            print(f"  {seconds(follower.catch_up):8.2f} s   the first look at {pulls:,} pulls", flush=True)
            studies.append((pulls, storage, arms, follower))
        for turn in range(UPDATES):
            for pulls, storage, arms, follower in studies:
                tell(storage, pulls + NEW * turn, arms[NEW * turn : NEW * (turn + 1)], rng)
                for what, work in (
                    ("update", follower.catch_up),
                    ("deciding", follower._replay.with_everything),
                    ("copying", partial(by_copying, follower._replay)),
                ):
                    found.setdefault((what, pulls), []).append(seconds(work))
                assert follower.catch_up().answer.pulls == pulls + NEW * (turn + 1)
    for pulls in SIZES:
        update, deciding, copying = (1e3 * median(found[what, pulls]) for what in ("update", "deciding", "copying"))
        print(
            f"  {update:8.1f} ms  {pulls:,} pulls; deciding alone {deciding:.1f} ms, on a copy {copying:.1f} ms",
            flush=True,
        )

    def ratio(what: str, pulls: int, other: str, others: int) -> float:
        # Turn by turn: what shared a moment shared the machine.
        return median(one / two for one, two in zip(found[what, pulls], found[other, others], strict=True))

    small, middle, large = SIZES
    return [
        Row("an update at 10⁵ pulls / at 10⁴", ratio("update", middle, "update", small), at_most=2),
        Row("an update at 10⁶ pulls / at 10⁴", ratio("update", large, "update", small), at_most=3),
        Row("deciding at 10⁶ pulls / at 10⁴", ratio("deciding", large, "deciding", small)),
        Row("deciding on a copy, at 10⁶ pulls / at 10⁴", ratio("copying", large, "copying", small)),
        Row("deciding on a copy / deciding, at 10⁶ pulls", ratio("copying", large, "deciding", large)),
    ]


# What the writer notices ----------------------------------------------------------------------------------------------


def follow(where: str, active: Any, ready: Any, done: Any) -> None:
    """Follow while `active`; `ready` says that the log was read so far."""
    with open_storage(where, read_only=True) as storage:
        follower = Follower(storage, "s")
        while not done.is_set():
            if active.wait(POLL):
                follower.catch_up()
                ready.set()
                done.wait(POLL)


def tells_a_second(storage: Storage, told: int) -> tuple[float, int]:
    """The rate of single tells, and how many were made."""
    made, begun = 0, time.perf_counter()
    while time.perf_counter() - begun < SECONDS:
        made += sum(storage.tell("s", [Tell(told + made + 1, (0.5, 1.5), worker="w", at=time.time())]))
    return made / (time.perf_counter() - begun), made


def noticed(kind: str, where: str) -> Row:
    rng = np.random.default_rng(0)
    processes = multiprocessing.get_context("spawn")
    active, ready, done = processes.Event(), processes.Event(), processes.Event()
    with open_storage(where) as storage:
        grow(storage, 50_000, rng)
        storage.add_plan("s", Plan(storage.size("s")[0] + 1, 50_000, 54_001, np.arange(300_000) % ARMS))
        other = processes.Process(target=follow, args=(where, active, ready, done))
        other.start()
        rates: dict[bool, list[float]] = {False: [], True: []}
        told = 50_000
        for turn in range(2 * ROUNDS):
            followed = turn % 4 in (1, 2)  # alone, followed, followed, alone: neither gains from a drift
            ready.clear()
            if followed:
                active.set()
                assert ready.wait(300.0)
            else:
                active.clear()
            rate, made = tells_a_second(storage, told)
            rates[followed].append(rate)
            told += made
        done.set()
        active.set()
        other.join()
    alone, beside = rates[False], rates[True]
    print(
        f"  {kind}: {median(alone):.0f} tells a second alone (from {min(alone):.0f} to {max(alone):.0f}), "
        f"{median(beside):.0f} followed (from {min(beside):.0f} to {max(beside):.0f})",
        flush=True,
    )
    ratio = median(one / other for one, other in zip(beside, alone, strict=True))
    return Row(f"tells a second, followed / alone, {kind}", ratio, at_least=0.8)


def writers() -> list[Row]:
    heading(f"tells of a writer that is followed, {2 * ROUNDS} turns of {SECONDS:g} s")
    with TemporaryDirectory(prefix="benchmark-", dir=".") as folder:
        rows = [noticed("SQLite", str(Path(folder).resolve() / "studies.db"))]
    from tests.support.servers import NoServer, shared_server

    try:
        url = shared_server().url()
    except NoServer as error:
        print(f"  no PostgreSQL here: {error}", flush=True)
        return rows
    return [*rows, noticed("PostgreSQL", url)]


def main() -> list[Row]:
    return updates() + writers()
