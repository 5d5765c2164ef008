"""Following a study: the same answer as a worker's, read-only, in pieces, and what people want to see beside it."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard import BadInput, Gaussian, Objective, Prescient, Study
from frontguard.evidence.intervals import HIGH, LOW
from frontguard.policies.forecast import forecast
from frontguard.storage.contract import MemoryStorage, Plan, Storage, Tell, UnknownStudy
from frontguard.studies import follow
from frontguard.studies.follow import Follower, Overview
from frontguard.studies.measurement import this_worker
from frontguard.studies.study import Pull
from tests.studies.naive_replay import assert_same, naive_policy
from tests.support.snapshots import refused

ARMS = ("fast", "small", "bad", "broken", "flaky")
OBJECTIVES = (
    Objective("seconds", "minimize", "1%"),
    Objective("bytes", "minimize", 0.5),
    Objective("quality", "maximize"),
)
TRUTH = {"fast": (1.0, 200.0, 3), "small": (2.0, 100.0, 4), "bad": (2.02, 101.0, 4), "flaky": (1.5, 150.0, 3)}
WRITING = ("create", "amend", "add_plan", "tell", "hand_out")


def a_study(storage: Storage, **settings: Any) -> Study:
    return Study(ARMS, OBJECTIVES, Prescient(0.1), **{"seed": 5, "storage": storage, "name": "s", **settings})


def measure(study: Study, pull: Pull) -> None:
    """What a pull measures is a function of the pull alone; some fail in part, some in full, one measures nonsense."""
    rng = np.random.default_rng([11, pull.id])
    if pull.arm == "broken" or (pull.arm == "flaky" and rng.random() < 0.2):
        study.fail(pull, str(rng.choice(["exit code 1", "timeout", "killed"])))
        return
    seconds, size, stars = TRUTH[pull.arm]
    if rng.random() < 0.03:
        study.tell(pull, {"seconds": seconds, "bytes": None, "quality": 1.0}, reason="no size")
        return
    seconds *= float(np.exp(rng.normal(0, 0.05)))
    values = (seconds, size + float(rng.normal(0, 2)), float(stars))
    if rng.random() < 0.02:  # a study refuses it; logs may hold it all the same
        study.storage.tell("s", [Tell(pull.id, (-1.0, *values[1:]), "", study.worker, time.time())])
    else:
        study.tell(pull, values)


def work(studies: list[Study], asks: int, rng: np.random.Generator) -> Iterator[int]:
    """Several workers in turns, each telling some of what it holds in any order; after every step."""
    held: list[tuple[Study, Pull]] = []
    for step in range(asks):
        study = studies[int(rng.integers(len(studies)))]
        held += [(study, pull) for pull in study.ask(int(rng.integers(1, 30)))]
        rng.shuffle(held)  # type: ignore[arg-type]
        for _ in range(int(rng.integers(0, len(held) + 1))):
            measure(*held.pop())
        yield step


def check(overview: Overview, storage: Storage) -> None:
    """Against a worker that opens the study now, and against the obvious replay."""
    study = Study.open(storage, "s")
    result = overview.answer
    assert_same(result, study.result())
    policy, pulls = naive_policy(storage, "s")
    np.testing.assert_array_equal(result.inner.lower, policy.standing.intervals[:, LOW])
    np.testing.assert_array_equal(result.inner.upper, policy.standing.intervals[:, HIGH])
    np.testing.assert_array_equal(result.verdict_codes, policy.verdict_codes)
    np.testing.assert_array_equal(result.pulls_per_arm, policy.pulls_per_arm)
    excluded = tuple(ARMS[arm] for arm in policy.excluded.tolist())
    certificate = replace(policy.certificate(), arms=len(ARMS) - len(excluded), excluded=excluded)
    assert result.certificate == certificate.in_units(OBJECTIVES)
    assert result.pulls == pulls
    snapshot = overview.answer
    assert snapshot.state.failures == study.failures()
    assert snapshot.excluded == [ARMS[arm] for arm in policy.excluded.tolist()]
    assert snapshot.state.pulls_left == forecast(policy).pulls_left
    assert overview.told == storage.size("s")[1]
    assert overview.out == snapshot.state.under_way == len(storage.leases("s"))
    assert overview.settings == study.settings
    assert overview.history.moments[-1].pulls == pulls


class Places:
    """A storage to write to, and the same opened read-only."""

    def __init__(self, kind: str, folder: Path, request: pytest.FixtureRequest) -> None:
        self.writer: Storage
        self.read_only: Callable[[], Storage]
        if kind == "memory":
            self.writer = MemoryStorage()
            self.read_only = lambda: self.writer
        elif kind == "sqlite":
            from frontguard.storage.sqlite import SqliteStorage

            self.writer = SqliteStorage(folder / "studies.db")
            self.read_only = lambda: SqliteStorage(folder / "studies.db", read_only=True)
        else:
            from frontguard.storage.postgres import PostgresStorage

            url = request.getfixturevalue("postgres").url()
            self.writer = PostgresStorage(url, schema="follow")
            self.read_only = lambda: PostgresStorage(url, schema="follow", read_only=True)


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def places(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Places]:
    places = Places(request.param, tmp_path, request)
    yield places
    places.writer.close()


def test_it_knows_what_a_worker_knows_at_every_moment(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follow, "PIECE", 37)
    workers = [a_study(places.writer, worker=f"w{n}", spread=None) for n in range(3)]
    with places.read_only() as storage:
        follower = Follower(storage, "s")
        assert follower.overview is None
        check(follower.catch_up(), places.writer)
        for step in work(workers, 40, np.random.default_rng(1)):
            if step % 3 == 0:
                check(follower.catch_up(), places.writer)
        late = Follower(storage, "s").catch_up()
    check(late, places.writer)
    assert "broken" in late.answer.excluded
    assert late.answer.state.failures["flaky"]["exit code 1"] > 0
    assert late.answer.warnings


def until_done(study: Study, follower: Follower) -> None:
    while pulls := study.ask(40):
        for pull in pulls:
            measure(study, pull)
        assert_same(follower.catch_up().answer, study.result())


def test_amended_settings_are_taken_up_and_stopped_studies_go_on() -> None:
    storage = MemoryStorage()
    study = a_study(storage, max_pulls=90)
    follower = Follower(storage, "s")
    until_done(study, follower)
    stopped = follower.catch_up()
    assert stopped.answer.status == "budget"
    assert stopped.answer.state.reachable is not None
    check(stopped, storage)
    again = a_study(storage, max_pulls=3000)
    opened = follower.catch_up()
    assert opened.answer.status == "running"
    assert opened.answer.state.max_pulls == 3000
    assert opened.version > stopped.version
    assert opened.answer.state.reachable is None
    check(opened, storage)
    until_done(again, follower)
    check(follower.catch_up(), storage)
    looser = [Objective("seconds", "minimize", "60%"), OBJECTIVES[1], OBJECTIVES[2]]
    loose = Study(ARMS, looser, Prescient(0.1), seed=5, storage=storage, name="s", max_pulls=3001)
    until_done(loose, follower)
    overview = follower.catch_up()
    assert overview.settings.question.objectives[0].tolerance == "60%"
    assert overview.history.objectives[0].tolerance == "60%"


def test_it_follows_a_study_with_a_spread_bound_to_its_certificate() -> None:
    storage = MemoryStorage()
    study = Study(
        3,
        [Objective("x", "maximize", tolerance=0.3)],
        Prescient(0.2),
        storage=storage,
        name="s",
        spread=Gaussian(0.5),
        seed=1,
    )
    follower = Follower(storage, "s")
    rng = np.random.default_rng(0)
    while pulls := study.ask(50):
        study.tell_many([(pull, [float(rng.normal(pull.index, 0.5))]) for pull in pulls])
        assert_same(follower.catch_up().answer, study.result())
    result = follower.catch_up().answer
    assert result.status == "certified"
    assert result.state.pulls_left == 0


def test_it_only_reads(snapshot: SnapshotAssertion) -> None:
    class Guarded(MemoryStorage):
        def __getattribute__(self, name: str) -> Any:
            if name in WRITING and not writing:
                raise AssertionError(f"{name} was called")
            return super().__getattribute__(name)

    writing = True
    storage = Guarded()
    study = a_study(storage)
    for pull in study.ask(50):
        measure(study, pull)
    writing = False
    follower = Follower(storage, "s")
    follower.catch_up()
    follower.measurements(0)
    with refused(AssertionError, snapshot):
        study.ask()


def test_the_log_is_read_in_pieces_with_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follow, "PIECE", 64)
    asked: list[int] = []

    class Spied(MemoryStorage):
        def told(self, study: str, after: int = 0, up_to: int | None = None) -> Any:
            found = super().told(study, after, up_to)
            asked.append(len(found))
            return found

    storage = Spied()
    study = a_study(storage)
    list(work([study], 20, np.random.default_rng(0)))
    total = storage.size("s")[1]
    assert total > 150
    asked.clear()
    seen: list[tuple[int, int]] = []
    overview = Follower(storage, "s").catch_up(lambda so_far, in_all: seen.append((so_far, in_all)))
    assert [so_far for so_far, _ in seen] == [*range(64, total, 64), total]
    assert {in_all for _, in_all in seen} == {total}
    assert max(asked) <= 64
    assert sum(asked) == total
    check(overview, storage)


def test_nothing_new_gives_the_same_overview_and_anything_new_another_version() -> None:
    storage = MemoryStorage()
    study = a_study(storage)
    follower = Follower(storage, "s")
    first = follower.catch_up()
    assert follower.catch_up() is first is follower.overview
    pulls = study.ask(3)
    second = follower.catch_up()
    assert (second.out, second.told, second.version > first.version) == (3, 0, True)
    measure(study, pulls[0])
    third = follower.catch_up()
    assert (third.out, third.told, third.version > second.version) == (2, 1, True)
    assert follower.catch_up() is third


def test_another_log_in_the_place_of_this_one_is_read_anew() -> None:
    storages = [MemoryStorage(), MemoryStorage()]
    for storage, asks in zip(storages, (15, 4), strict=True):
        list(work([a_study(storage)], asks, np.random.default_rng(2)))
    follower = Follower(storages[0], "s")
    follower.catch_up()
    storages[0]._studies = storages[1]._studies
    check(follower.catch_up(), storages[1])


def test_an_unknown_study_is_refused(snapshot: SnapshotAssertion) -> None:
    with refused(UnknownStudy, snapshot):
        Follower(MemoryStorage(), "nobody")


# What is shown beside the answer


def test_measurements_are_the_last_told_pulls_of_an_arm(
    monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    monkeypatch.setattr(follow, "PIECE", 50)
    storage = MemoryStorage()
    study = a_study(storage)
    follower = Follower(storage, "s")
    for _ in work([study], 30, np.random.default_rng(3)):
        follower.catch_up()
    frame = study.to_frame()
    for arm, name in enumerate(ARMS):
        rows = frame[frame["arm"] == name]
        for most in (1, 7, 10**6):
            found = follower.measurements(arm, most)
            last = rows.iloc[-most:]
            assert found.total == len(rows)
            assert found.pulls.tolist() == last.index.tolist()
            for d, objective in enumerate(OBJECTIVES):
                column = last[objective.name].to_numpy(float)
                wanted = np.where(column > 0, column, np.nan) if objective.relative else column
                np.testing.assert_array_equal(found.values[:, d], wanted)
            given = [reason if reason else None for reason in last["failure"]]
            bad = np.isnan(found.values).any(axis=1).tolist()
            expected = [
                (reason or "not a usable value") if failed else "" for reason, failed in zip(given, bad, strict=True)
            ]
            assert list(found.reasons) == expected
            assert list(found.workers) == last["worker"].tolist()
            assert (found.arm, found.name, found.objectives) == (arm, name, OBJECTIVES)
            overview = follower.overview
            assert overview is not None
            times = dict(zip(found.reasons, found.at.tolist(), strict=True))  # of equal reasons the last one stays
            times.pop("", None)
            assert {reason: overview.failed_at[name, reason] for reason in times} == times
    arms, values, held, _ = follower.values()
    assert not len(held)
    assert [ARMS[arm] for arm in arms.tolist()] == frame["arm"].tolist()
    for arm in range(len(ARMS)):
        np.testing.assert_array_equal(values[arms == arm], follower.measurements(arm, 10**6).values)
    assert "not a usable value" in {*follower.measurements(0).reasons, *follower.measurements(1).reasons}
    for arm, most in ((-1, 5), (5, 5), (0, 0)):
        with refused(BadInput, snapshot):
            follower.measurements(arm, most)


def test_an_arm_without_pulls_has_no_measurements() -> None:
    storage = MemoryStorage()
    a_study(storage)
    found = Follower(storage, "s").measurements(2)
    assert found.values.shape == (0, 3)
    assert found.total == len(found.reasons) == 0


def a_told_log(at: list[float], values: list[float]) -> Storage:
    storage = MemoryStorage()
    Study(1, [Objective("x", "maximize")], Prescient(0.1), storage=storage, name="s")
    storage.add_plan("s", Plan(1, 0, 1, np.zeros(len(at), np.int64)))
    storage.tell("s", [Tell(1 + n, (x,), "", "w", t) for n, (t, x) in enumerate(zip(at, values, strict=True))])
    return storage


def test_a_study_is_running_only_while_somebody_is_at_work(monkeypatch: pytest.MonkeyPatch) -> None:
    storage, clock = MemoryStorage(), [time.time()]
    monkeypatch.setattr(MemoryStorage, "now", lambda _: clock[0])
    dead = f"{this_worker().rpartition('/')[0]}/1"  # this process, had it begun at another time
    study = Study(2, [Objective("x", "maximize")], Prescient(0.1), storage=storage, name="s", lease=100.0)
    follower = Follower(storage, "s")

    def seen(seconds: float) -> tuple[bool, str, bool]:
        clock[0] += seconds
        overview = follower.catch_up()
        return overview.at_work, overview.status, overview.answer.state.pulls_a_second is not None

    assert seen(0.0) == (False, "paused", False)
    first, *others = study.ask(4)
    assert seen(99.0) == (True, "running", False)  # a long pull
    study.renew()
    assert seen(99.0) == (True, "running", False)
    assert seen(2.0) == (False, "paused", False)  # its lease is over
    storage.tell("s", [Tell(first.id, (1.0,), at=clock[0] - 1.0), Tell(others[0].id, (1.0,), at=clock[0])])
    assert seen(0.0) == seen(9.0) == (True, "running", True)
    before = follower.catch_up()
    assert seen(2.0) == (False, "paused", False)  # though nothing was written meanwhile
    assert follower.catch_up().version > before.version
    Study.open(storage, "s", worker=dead).ask(1)  # which gives up what is overdue
    assert seen(11.0) == (False, "paused", False)
    Study.open(storage, "s", worker="elsewhere").ask(1)
    assert seen(11.0) == (True, "running", True)


def test_when_it_began_and_how_fast_it_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = [1000.0 + 30.0 * n for n in range(20)]
    fast = [slow[-1] + 100.0 + 0.5 * n for n in range(41)]
    nan = float("nan")
    monkeypatch.setattr(MemoryStorage, "now", lambda _: fast[-1] + 1.0)
    overview = Follower(a_told_log([*slow, *fast], [1.0] * 60 + [nan]), "s").catch_up()
    assert (overview.began, overview.last) == (1000.0, fast[-1])
    assert overview.answer.state.seconds == fast[-1] - 1000.0
    assert overview.answer.state.pulls_a_second == pytest.approx(2.0)
    assert overview.rate.told.sum() == 61
    assert overview.rate.failed.tolist()[-1] == overview.rate.failed.sum() == 1
    assert overview.answer.state.failures == {"0": Counter({"not a usable value": 1})}
    unknown = Follower(a_told_log([0.0, 0.0], [1.0, 2.0]), "s").catch_up()
    assert (unknown.began, unknown.last, unknown.answer.state.pulls_a_second, len(unknown.rate.told)) == (
        None,
        None,
        None,
        0,
    )


class Interrupted(MemoryStorage):
    """A storage in which others are at work between the two looks that a reader takes: at what was told, at plans."""

    def __init__(self) -> None:
        super().__init__()
        self.meanwhile: Callable[[], None] | None = None

    def plans(self, study: str, after: int = 0) -> list[Plan]:
        others, self.meanwhile = self.meanwhile, None
        if others is not None:
            others()
        return super().plans(study, after)


def caught_up(follower: Follower) -> Overview:
    """The overview, or a failure where it would be waited for in vain."""
    found: list[Overview] = []
    thread = threading.Thread(target=lambda: found.append(follower.catch_up()), daemon=True)
    thread.start()
    thread.join(30)
    assert found, "it is still catching up"
    return found[0]


def test_a_plan_that_is_made_while_it_reads_is_taken_with_what_it_counts() -> None:
    storage = Interrupted()
    study = a_study(storage)
    follower, rng = Follower(storage, "s"), np.random.default_rng(4)
    for _ in range(5):
        list(work([study], 1, rng))
        before = storage.size("s")
        storage.meanwhile = lambda: list(work([study], 8, rng)) and None
        overview = caught_up(follower)
        plans, told = storage.size("s")
        assert storage.meanwhile is None
        assert plans > before[0]
        assert overview.told == told > before[1]
        check(overview, storage)


def test_a_log_that_promises_what_does_not_come_is_not_waited_for() -> None:
    storage = MemoryStorage()
    list(work([a_study(storage)], 3, np.random.default_rng(4)))
    plans, told = storage.size("s")
    last = storage.plans("s")[-1]
    storage.add_plan("s", Plan(plans + 1, told + 5, last.first + len(last.arms), last.arms, "running"))
    assert caught_up(Follower(storage, "s")).told == told


def test_it_may_be_read_from_other_threads_while_it_catches_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follow, "PIECE", 16)
    storage = MemoryStorage()
    study = a_study(storage)
    follower = Follower(storage, "s")
    done, errors = threading.Event(), []

    def read(catching_up: bool) -> None:
        versions = [0]
        try:
            while not done.is_set():
                if catching_up:
                    versions.append(follower.catch_up().version)
                    assert versions[-1] >= versions[-2]
                found = follower.measurements(1, 20)
                assert (np.diff(found.at) >= 0).all()
                assert len(found.pulls) == min(found.total, 20)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=read, args=(catching_up,)) for catching_up in (True, True, False)]
    for thread in threads:
        thread.start()
    list(work([study], 12, np.random.default_rng(5)))
    done.set()
    for thread in threads:
        thread.join()
    assert not errors
    check(follower.catch_up(), storage)
