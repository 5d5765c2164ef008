"""`identify` with real threads and processes: what a function may return, how it may fail, stopping and going on."""

from __future__ import annotations

import importlib
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import active_children, get_context
from pathlib import Path
from traceback import extract_tb
from types import ModuleType
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard import Answer, BadInput, Objective, Prescient
from frontguard.measure.drive import Broken, RunProgress
from frontguard.measure.identify import identify
from frontguard.storage.contract import End, MemoryStorage
from frontguard.studies.measurement import Measurement
from tests.support.snapshots import refused, said

WAIT = 180.0  # seconds for what must happen; nothing depends on how long it takes
ARMS = {"good": (3.0, 1.0), "small": (1.0, 3.0), "bad": (0.0, 0.0)}
OBJECTIVES = [Objective("quality", "maximize", tolerance=0.5), Objective("lightness", "maximize", tolerance=0.5)]
VERDICTS = {"good": "keep", "small": "keep", "bad": "beaten"}


def run(evaluate: Any, **options: Any) -> Answer:
    given = {"arms": list(ARMS), "objectives": OBJECTIVES, "threat": Prescient(0.05), "executor": "serial"}
    return identify(evaluate, **(given | options))


def by_name(arm: str) -> tuple[float, float]:
    return ARMS[arm]


def told(storage: MemoryStorage) -> list[int]:
    return list(storage.told("study").pulls.tolist())


# What a function gets and returns -------------------------------------------------------------------------------------


@pytest.mark.parametrize("executor", ["serial", "threads"])
def test_a_function_of_a_name(executor: str) -> None:
    result = run(by_name, executor=executor)
    assert result.status == "certified"
    assert result.verdicts == VERDICTS


def test_a_function_of_a_value_and_values_by_name() -> None:
    result = run(lambda pair: {"lightness": pair[1], "quality": pair[0]}, arms=ARMS)
    assert result.verdicts == VERDICTS


def test_a_number_for_one_objective_and_numbered_arms() -> None:
    result = run(lambda index: 10.0 * index, arms=3, objectives=[Objective("seconds", "minimize", tolerance=1)])
    assert result.verdicts == {"0": "keep", "1": "beaten", "2": "beaten"}


def test_parameters_named_seed_and_pull_get_the_number_of_the_pull() -> None:
    storage, seen = MemoryStorage(), list[tuple[int, int]]()

    def evaluate(arm: str, seed: int, *, pull: int, other: int = 7) -> tuple[float, float]:
        seen.append((seed, pull))
        assert other == 7
        return ARMS[arm]

    run(evaluate, storage=storage)
    assert seen == [(number, number) for number in told(storage)]


def test_the_first_parameter_gets_the_arm_whatever_it_is_called() -> None:
    assert run(lambda seed: ARMS[seed]).verdicts == VERDICTS


@pytest.mark.parametrize(
    "wrong",
    [
        {"executor": "fibers"},
        {"executor": "dask:/host"},
        {"workers": 0},
        {"workers": 2},
        {"timeout": 1.0},
        {"max_time": -1.0},
        {"max_time": "30 mins"},
        {"timeout": "soon", "executor": "processes"},
        {"lease": True},
        {"contamination": 0.2},
        {"arms": "abc"},
        {"arms": ["a", "a"]},
        {"arms": [{}, {"x": 1}]},
        {"arms": [1, 2]},
    ],
)
def test_what_cannot_be_used_is_refused(wrong: dict[str, Any], snapshot: SnapshotAssertion) -> None:
    with refused(BadInput, snapshot):
        run(by_name, **wrong)


def test_threat_confidence_and_times_are_given_as_everywhere() -> None:
    usual = run(by_name, threat=None).certificate
    assert (usual.threat, usual.contamination, usual.confidence) == ("prescient", 0.1, 0.95)
    written = run(
        by_name, threat="share", contamination="5%", confidence="90%", max_time="1 h", lease="2 min"
    ).certificate
    assert (written.threat, written.contamination, written.confidence) == ("share", 0.05, 0.9)


def test_an_unknown_argument_is_told_what_may_be_meant(snapshot: SnapshotAssertion) -> None:
    with refused(TypeError, snapshot):
        run(by_name, max_puls=3)
    with refused(TypeError, snapshot):
        run(by_name, minimise="seconds")


def test_what_is_no_plain_function_is_refused(snapshot: SnapshotAssertion) -> None:
    async def later(arm: str) -> float:
        return 0.0

    with refused(BadInput, snapshot):
        run(later)
    with refused(BadInput, snapshot):
        run("evaluate")


# Failures -------------------------------------------------------------------------------------------------------------


def test_exceptions_are_failed_pulls_with_their_message() -> None:
    storage = MemoryStorage()

    def evaluate(arm: str, pull: int) -> tuple[float, float]:
        if pull % 10 == 0:
            raise ValueError(f"no measurement\nof {arm}")
        if pull % 25 == 0:
            sys.exit(3)
        return ARMS[arm]

    result = run(evaluate, threat=Prescient(0.2), storage=storage)
    assert result.status == "certified"
    assert result.verdicts == VERDICTS
    reasons = dict(zip(told(storage), storage.told("study").reasons, strict=True))
    assert result.pulls > 25
    for pull, reason in reasons.items():
        assert reason == ("ValueError: no measurement" if pull % 10 == 0 else "SystemExit: 3" if pull % 25 == 0 else "")


def test_an_arm_that_always_fails_is_set_aside(snapshot: SnapshotAssertion) -> None:
    def evaluate(arm: str) -> tuple[float, float]:
        if arm == "small":
            raise MemoryError
        return ARMS[arm]

    result = run(evaluate)
    assert result.verdicts == {"good": "keep", "small": "excluded", "bad": "beaten"}
    (warning,) = result.warnings
    assert said(warning) == snapshot


@pytest.mark.parametrize(
    "evaluate",
    [
        lambda arm: {"qualty": 1.0, "lightness": 1.0},
        lambda arm: ARMS[arm][0],
        lambda: 1.0,
        lambda arm: Path(f"/nowhere/{arm}").read_text(),
    ],
)
@pytest.mark.parametrize("executor", ["serial", "threads"])
def test_a_function_that_always_fails_alike_is_the_callers_mistake(
    evaluate: Any, executor: str, snapshot: SnapshotAssertion
) -> None:
    storage = MemoryStorage()
    with pytest.raises(BadInput) as caught:
        run(evaluate, storage=storage, executor=executor)
    if executor == "serial":  # which arm is named, and after how many pulls, is a matter of chance among threads
        assert said(caught.value) == snapshot
    assert storage.studies() == []  # mended, it begins as if it had not been
    assert run(by_name, storage=storage).verdicts == VERDICTS
    assert sorted(told(storage)) == list(range(1, len(told(storage)) + 1))
    assert set(storage.told("study").reasons) == {""}


@pytest.mark.parametrize("executor", ["serial", "threads"])
def test_the_error_has_the_callers_own_as_its_cause(executor: str) -> None:
    def divide(arm: str) -> float:
        return 1 / 0

    with pytest.raises(BadInput) as caught:
        run(divide, executor=executor)
    cause = caught.value.__cause__
    assert isinstance(cause, ZeroDivisionError)
    assert [frame.name for frame in extract_tb(cause.__traceback__)][-1] == "divide"
    sent = pickle.loads(pickle.dumps(Measurement.failure(cause)))  # as between processes, where not all can be sent
    assert "in divide" in str(sent.error)


def test_arms_that_fail_each_in_its_own_way_are_no_mistake_of_the_function() -> None:
    def evaluate(arm: str) -> float:
        raise {"good": ValueError, "small": OSError, "bad": KeyError}[arm](arm)

    result = run(evaluate)
    assert result.status == "unreachable"
    assert len(result.warnings) >= 3
    assert "5 × OSError: small" in " ".join(result.warnings)


def test_a_function_that_fails_at_first_and_then_works_is_counted_in_full() -> None:
    storage = MemoryStorage()

    def evaluate(arm: str, pull: int) -> tuple[float, float]:
        if pull <= 3:
            raise TimeoutError("still warming up")
        return ARMS[arm]

    assert run(evaluate, storage=storage, threat=Prescient(0.2)).verdicts == VERDICTS
    assert storage.told("study").reasons[:4] == ("TimeoutError: still warming up",) * 3 + ("",)


# Processes ------------------------------------------------------------------------------------------------------------

IN_PROCESSES = """
import os, signal, time
ARMS = {"good": (3.0, 1.0), "small": (1.0, 3.0), "bad": (0.0, 0.0)}

def plain(arm): return ARMS[arm]
def who(arm): return {"quality": ARMS[arm][0], "lightness": ARMS[arm][1] + 0 * os.getpid()}
def deadly(arm, pull):
    if pull in (7, 12):
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.02)
    return ARMS[arm]
def slow(arm, pull):
    if pull in (7, 12): time.sleep(60)
    return ARMS[arm]
def slow_always(arm, pull):
    with open(__file__ + ".begun", "a") as file: print(pull, file=file)
    time.sleep(float(os.environ["SLOW"]))
    return ARMS[arm]
class Awkward(Exception):
    def __init__(self, one, two): super().__init__(f"{one} and {two}")
def awkward(arm):
    if arm == "bad": raise Awkward("this", "that")
    if arm == "small": return lambda: 1
    return ARMS[arm]
def interrupting(arm, pull):
    if pull == 20:
        os.kill(os.getppid(), signal.SIGINT)
        time.sleep(1.0)  # two signals at once would be one
        os.kill(os.getppid(), signal.SIGINT)
        time.sleep(60)
        open(__file__ + ".survived", "w").close()
    return ARMS[arm]
"""


@pytest.fixture
def functions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """A module that worker processes can import."""
    (tmp_path / "measured_in_processes.py").write_text(IN_PROCESSES)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield importlib.import_module("measured_in_processes")
    sys.modules.pop("measured_in_processes")


def test_processes(functions: ModuleType) -> None:
    assert run(functions.who, executor="processes", workers=2).verdicts == VERDICTS
    assert active_children() == []


def test_a_killed_worker_process_fails_its_own_pull_and_no_other(functions: ModuleType) -> None:
    storage = MemoryStorage()
    result = run(functions.deadly, executor="processes", workers=2, storage=storage)
    assert result.status == "certified"
    assert result.verdicts == VERDICTS
    log = storage.told("study")
    assert sorted(told(storage)) == sorted(set(told(storage)))
    died = {pull: reason for pull, reason in zip(told(storage), log.reasons, strict=True) if reason}
    assert died == dict.fromkeys((7, 12), "worker process died (SIGKILL)")
    assert active_children() == []


def test_pulls_that_take_too_long_are_ended(functions: ModuleType) -> None:
    storage = MemoryStorage()
    assert run(functions.slow, executor="processes", workers=1, timeout=2.0, storage=storage).verdicts == VERDICTS
    late = {pull: reason for pull, reason in zip(told(storage), storage.told("study").reasons, strict=True) if reason}
    assert late == dict.fromkeys((7, 12), "timeout after 2 s")
    assert active_children() == []


def test_exceptions_and_values_that_cannot_be_sent_break_nothing(
    functions: ModuleType, snapshot: SnapshotAssertion
) -> None:
    result = run(functions.awkward, executor="processes", workers=1)
    assert result.verdicts == {"good": "keep", "small": "excluded", "bad": "excluded"}
    unsendable, awkward = result.warnings
    assert "AttributeError" in unsendable  # in words of Python's own, which differ from version to version
    assert said(awkward) == snapshot


def test_functions_that_cannot_be_sent_are_refused(
    functions: ModuleType, tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    storage = MemoryStorage()
    with refused(BadInput, snapshot):
        run(lambda arm: ARMS[arm], executor="processes", storage=storage)
    (tmp_path / "measured_in_processes.py").unlink()
    with refused(BadInput, snapshot):
        run(functions.plain, executor="processes", storage=storage)
    with refused(BadInput, snapshot):
        run(abs, executor="processes", arms={"a": lambda: 1, "b": 2})
    assert storage.studies() == []
    assert active_children() == []


def test_a_second_ctrl_c_ends_worker_processes_at_once(functions: ModuleType) -> None:
    storage = MemoryStorage()
    with pytest.raises(KeyboardInterrupt):
        run(functions.interrupting, executor="processes", workers=1, storage=storage)
    assert told(storage) == list(range(1, 21))
    assert storage.told("study").ends.tolist() == [End.TOLD] * 19 + [End.STOPPED]
    assert active_children() == []
    assert not Path(f"{functions.__file__}.survived").exists()
    assert run(functions.plain, executor="processes", workers=1, storage=storage).verdicts == VERDICTS


def test_a_script_without_a_guard_is_told_so(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    script = tmp_path / "unguarded.py"
    script.write_text(
        "from frontguard import Prescient\n"
        "from frontguard.measure.identify import identify\n"
        "def f(arm): return 1.0\n"
        "identify(f, arms=['a', 'b'], objectives=['ms'], threat=Prescient(0.1), executor='processes', workers=1)\n"
    )
    ended = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120, check=False)
    assert said(ended.stderr.splitlines()[-1]) == snapshot


# Executors of the caller's --------------------------------------------------------------------------------------------


def test_an_executor_of_the_callers_is_left_open() -> None:
    with ThreadPoolExecutor(3) as pool:
        assert run(by_name, executor=pool).verdicts == VERDICTS
        assert pool.submit(len, "open").result() == 4


def test_a_broken_executor_of_the_callers_is_named(functions: ModuleType, snapshot: SnapshotAssertion) -> None:
    storage = MemoryStorage()
    pool = ProcessPoolExecutor(2, mp_context=get_context("spawn"))
    with pool, refused(Broken, snapshot):
        run(functions.deadly, executor=pool, storage=storage)
    reasons = storage.told("study").reasons
    assert set(reasons) == {"", "worker process died"}
    assert 1 <= reasons.count("worker process died") <= 2  # what was under way; nobody can say which of them did it
    assert run(functions.plain, storage=storage).verdicts == VERDICTS


class LosingExecutor(Executor):
    """Spawned processes that drop what they cannot load without a word, and go on: `multiprocessing.Pool` does that."""

    def __init__(self) -> None:
        self.pool = get_context("spawn").Pool(1)

    def submit(self, function: Any, /, *given: Any, **named: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self.pool.apply_async(function, given, named, future.set_result, future.set_exception)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self.pool.terminate()


@pytest.mark.parametrize("kind", [LosingExecutor, lambda: ProcessPoolExecutor(1, mp_context=get_context("spawn"))])
def test_processes_of_the_callers_that_cannot_load_the_function_are_named(
    kind: Callable[[], Executor], monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    here_only = ModuleType("here_only")
    exec("def measure(arm): return 1.0, 1.0", vars(here_only))
    monkeypatch.setitem(sys.modules, "here_only", here_only)
    storage = MemoryStorage()
    with kind() as executor:
        with refused(BadInput, snapshot):
            run(here_only.measure, executor=executor, storage=storage)
        assert executor.submit(len, "open").result(WAIT) == 4
    assert storage.studies() == []


def test_an_executor_that_does_nothing_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    class Idle(Executor):
        def submit(self, function: Any, /, *given: Any, **named: Any) -> Future[Any]:
            return Future()

    monkeypatch.setattr("frontguard.measure.executors.PATIENCE", 0.1)
    with refused(BadInput, snapshot):
        run(by_name, executor=Idle())
    with (
        ProcessPoolExecutor(1) as pool,
        refused(BadInput, snapshot),
    ):
        run(lambda arm: ARMS[arm], executor=pool)


# Interruption and resumption ------------------------------------------------------------------------------------------


def interrupting(at: set[int], interrupt: Callable[[], None]) -> Callable[..., tuple[float, float]]:
    def evaluate(arm: str, pull: int) -> tuple[float, float]:
        if pull in at:
            at.discard(pull)
            interrupt()
        quality, lightness = ARMS[arm]
        return quality + pull % 3 / 10, lightness

    return evaluate


def test_a_study_that_was_interrupted_ends_as_one_that_was_not() -> None:
    whole, parts = MemoryStorage(), MemoryStorage()
    expected = run(interrupting(set(), lambda: None), storage=whole)
    evaluate = interrupting({1, 2, 17, 18, 25}, lambda: signal.raise_signal(signal.SIGINT))
    interruptions = 0
    while True:
        try:
            result = run(evaluate, storage=parts)
            break
        except KeyboardInterrupt:
            interruptions += 1
    assert interruptions == 5
    assert told(whole) == told(parts)
    assert whole.told("study").values.tolist() == parts.told("study").values.tolist()
    assert set(parts.told("study").reasons) == {""}
    assert result.to_dict() == expected.to_dict()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_while_threads_are_at_work() -> None:
    storage = MemoryStorage()
    evaluate = interrupting({30}, lambda: os.kill(os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        run(evaluate, executor="threads", workers=2, storage=storage)
    assert 29 <= len(told(storage)) <= 33
    assert storage.leases("study") == []
    assert run(evaluate, executor="threads", workers=2, storage=storage).verdicts == VERDICTS
    assert sorted(told(storage)) == sorted(set(told(storage)))


def test_a_function_may_be_interrupted_in_the_middle_by_a_second_ctrl_c(
    capfd: pytest.CaptureFixture[str], snapshot: SnapshotAssertion
) -> None:
    storage = MemoryStorage()

    def evaluate(arm: str, pull: int) -> tuple[float, float]:
        if pull == 10:
            signal.raise_signal(signal.SIGINT)  # it goes on, and says so
            signal.raise_signal(signal.SIGINT)
            raise AssertionError("was not interrupted")
        return ARMS[arm]

    with pytest.raises(KeyboardInterrupt):
        run(evaluate, storage=storage)
    assert said(capfd.readouterr().err) == snapshot
    assert told(storage) == list(range(1, 11))
    assert storage.told("study").ends.tolist() == [End.TOLD] * 9 + [End.STOPPED]
    assert storage.leases("study") == []


def test_users_who_interrupt_an_arm_do_not_set_it_aside() -> None:
    """Each call is interrupted, twice, in its first pull of an arm; the study still ends with every arm judged."""
    storage, interrupted = MemoryStorage(), list[int]()

    def evaluate(arm: str, pull: int) -> tuple[float, float]:
        if arm == "good" and len(interrupted) < 12:
            interrupted.append(pull)
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
        return ARMS[arm]

    while len(interrupted) < 12:
        with pytest.raises(KeyboardInterrupt):
            run(evaluate, storage=storage, threat=Prescient(0.2))
    result = run(evaluate, storage=storage, threat=Prescient(0.2))
    assert result.verdicts == VERDICTS
    assert not any("excluded" in warning or "failed" in warning for warning in result.warnings)
    assert len(set(interrupted)) == 12


def test_a_time_limit_that_is_met_again_and_again_never_stops_a_slow_pull(
    functions: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped and measured anew until they happen to be fast, slow pulls would never be seen."""
    storage = MemoryStorage()
    options: dict[str, Any] = {"executor": "processes", "workers": 1, "storage": storage}
    seen, limit = 0, 1.0
    while seen < 2:
        monkeypatch.setenv("SLOW", str(1.5 * limit))
        assert run(functions.slow_always, **options, max_time=limit).status == "budget"
        before, seen = seen, len(told(storage))
        assert seen <= before + 1
        limit *= 1 if seen > before else 2  # to begin a process took all the time
    assert told(storage) == [1, 2]
    assert storage.told("study").ends.tolist() == [End.TOLD] * 2
    noted = Path(f"{functions.__file__}.begun").read_text().split()
    assert noted == ["1", "2"]


def test_the_end_of_the_time_is_said_while_it_waits(
    capfd: pytest.CaptureFixture[str], snapshot: SnapshotAssertion
) -> None:
    storage = MemoryStorage()
    run(lambda arm: (time.sleep(1.5), ARMS[arm])[1], storage=storage, executor="threads", workers=1, max_time=1.0)
    assert told(storage) == [1]
    assert said(capfd.readouterr().err) == snapshot


def test_a_handler_of_the_callers_is_left_alone() -> None:
    seen: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: seen.append(number))
    try:
        assert run(interrupting({5}, lambda: signal.raise_signal(signal.SIGINT))).verdicts == VERDICTS
    finally:
        signal.signal(signal.SIGINT, before)
    assert seen == [signal.SIGINT]


def test_a_study_in_another_thread_than_the_main_one() -> None:
    results: list[Answer] = []
    thread = threading.Thread(target=lambda: results.append(run(by_name, executor="threads")))
    thread.start()
    thread.join(WAIT)
    assert results[0].verdicts == VERDICTS


def test_the_time_ends_a_study_that_can_go_on_later() -> None:
    storage = MemoryStorage()
    end = time.monotonic() + 3.0

    def evaluate(arm: str, pull: int) -> tuple[float, float]:
        if pull == 8:
            time.sleep(max(0.0, end - time.monotonic()) + 1.0)
        return ARMS[arm]

    result = run(evaluate, storage=storage, max_time=3.0)
    assert result.status == "budget"
    assert told(storage) == list(range(1, 9))
    assert run(evaluate, storage=storage).status == "certified"


def test_progress(capsys: pytest.CaptureFixture[str]) -> None:
    seen: list[RunProgress] = []
    result = run(by_name, progress=seen.append)
    assert seen[-1].told == result.pulls
    run(by_name, progress=True)
    assert capsys.readouterr() == ("", "")  # it was over before there was anything to say
    run(lambda arm, pull: ARMS[arm] if pull > 1 else (threading.Event().wait(2.1), ARMS[arm])[1], progress=True)
    assert capsys.readouterr().err.startswith("frontguard: ")


def test_a_tolerance_in_percent_is_refused_at_once_where_most_values_are_not_positive(
    snapshot: SnapshotAssertion,
) -> None:
    storage = MemoryStorage()
    profits = {"a": -3.0, "b": -2.0, "c": 4.0}
    with refused(BadInput, snapshot):
        identify(
            profits.__getitem__,
            arms=list(profits),
            objectives=[Objective("profit", "maximize", tolerance="5%")],
            threat=Prescient(0.1),
            executor="serial",
            storage=storage,
            seed=1,
        )
    assert storage.studies() == []
