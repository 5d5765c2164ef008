"""Logs with limits: on objectives and on other columns, in files, states and studies, and how robust they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from syrupy.assertion import SnapshotAssertion

from frontguard import BadInput, Limit, Objective, Prescient, Study, analyze
from frontguard.verdicts import FEASIBLE, INFEASIBLE, OPEN, Feasibility, Verdict
from tests.support.snapshots import refused

ARMS = {"fast": (1.0, 5.0), "good": (3.0, 2.0), "slow": (5.0, 3.0)}  # medians of seconds and memory


def log_of(rows: int, seed: int = 0, lies: float = 0.0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    names = np.repeat(list(ARMS), rows)
    seconds, memory = (rng.normal([ARMS[name][d] for name in names], 0.5) for d in (0, 1))
    wrong = rng.random(len(names)) < lies
    return {"arm": names.tolist(), "seconds": np.where(wrong, 0.1, seconds), "memory": np.where(wrong, 0.1, memory)}


def test_limit_on_a_column_that_is_no_objective() -> None:
    found = analyze(log_of(100), minimize="seconds", limits=["memory<=4"])
    assert found.verdicts == {"fast": "beaten", "good": "keep", "slow": "beaten"}
    assert found.decided_by.tolist() == [-1, -1, 1]
    assert found.limits is not None
    assert found.limits.of_arms.tolist() == [INFEASIBLE, FEASIBLE, FEASIBLE]
    low, _ = found.limits.ends
    assert low[0, 0] > 4.0
    assert found.objectives == ("seconds",)
    assert found.mean_set == ["good"]  # of the arms that may be within
    frame = found.to_frame()
    assert frame["median(memory) ≤ 4"] == ["infeasible", "feasible", "feasible"]
    assert found.log.profile is not None
    assert found.log.profile.front > 0.1


def test_limits_share_the_doubt() -> None:
    log = log_of(100)
    alone = analyze(log, minimize="seconds")
    limited = analyze(log, minimize="seconds", limits=["memory<=4"])
    two = analyze(log, minimize=["seconds", "memory"])
    assert np.array_equal(limited.lower[:, 0], two.lower[:, 0])
    assert (limited.upper - limited.lower > alone.upper - alone.lower).any()
    served = analyze(log, minimize=["seconds", "memory"], limits=["memory<=4"])  # which has an interval already
    assert np.array_equal(served.lower, two.lower)


def test_too_few_rows_leave_limits_open_and_more_are_foreseen() -> None:
    found = analyze(log_of(100, lies=0.05), minimize="seconds", limits=["memory<=4.9"])
    assert found.limits is not None
    assert found.limits.of_arms[0] == OPEN
    assert found.verdicts["fast"] == "undecided"
    assert found.status in ("budget", "unreachable")
    assert found.verdicts["good"] == "undecided"  # "fast" may be within, and would beat it
    near = analyze(log_of(400), minimize="seconds", limits=["p90(seconds)<=3.9"], contamination=0)
    assert near.more_pulls() == {} or all(isinstance(each, (int, str)) for each in near.more_pulls().values())


def test_one_arm_is_in_only_if_within() -> None:
    log = {"arm": ["a"] * 100, "seconds": np.linspace(1, 2, 100), "memory": np.linspace(1, 2, 100)}
    assert analyze(log, minimize="seconds", limits=["memory<=1.5"]).verdicts == {"a": "undecided"}
    assert analyze(log, minimize="seconds", limits=["memory<=1.9"]).verdicts == {"a": "keep"}
    assert analyze(log, minimize="seconds", limits=["memory<=1.1"]).verdicts == {"a": "beaten"}


def test_states_answer_with_limits(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    state = tmp_path / "log.state"
    first = analyze(log_of(60), minimize="seconds", limits=["memory<=4"], append=state)
    again = analyze(state, minimize="seconds", limits=["memory<=4"])
    assert again.verdicts == first.verdicts
    with refused(BadInput, snapshot):
        analyze(state, minimize="seconds", limits=["disk<=4"])


def test_column_that_is_not_there_is_named(snapshot: SnapshotAssertion) -> None:
    with refused(BadInput, snapshot):
        analyze(log_of(10), minimize="seconds", limits=["memry<=4"])


def test_study_as_a_log_keeps_its_limits(tmp_path: Path) -> None:
    file, rng = tmp_path / "study.db", np.random.default_rng(1)
    study = Study(list(ARMS), [Objective("seconds", "minimize", 0.5)], Prescient(0.0), storage=file,
                  limits=["memory<=4"], blocks=False)  # fmt: skip
    while pulls := study.ask(20):
        study.tell_many([(pull, rng.normal(ARMS[pull.arm], 0.5)) for pull in pulls])
    result = study.result()
    study.close()
    own = analyze(file)
    assert own.verdicts == result.verdicts
    assert own.limits is not None
    assert result.limits is not None
    assert np.array_equal(own.limits.codes, result.limits.codes)
    other = analyze(file, limits=[Limit("memory", at_most=6.0)])
    assert other.verdicts["fast"] == "keep"
    assert analyze(file, limits=[]).verdicts["fast"] == "keep"
    assert analyze(file, contamination=0.05).limits is not None


def test_what_logs_say_of_limits_is_seldom_false() -> None:
    """At confidence 50 % at most half of the logs may be wrong somewhere."""
    wrong = 0
    for seed in range(60):
        found = analyze(log_of(60, seed, lies=0.1), minimize="seconds", limits=["memory<=4.9"], confidence=0.5,
                        profile=False)  # fmt: skip
        assert found.limits is not None
        keeping = [Feasibility(code) for code in found.limits.of_arms.tolist()]
        within = [memory <= 4.9 for _, memory in ARMS.values()]
        false = any(
            (told is Feasibility.FEASIBLE) != true and told is not Feasibility.OPEN
            for told, true in zip(keeping, within, strict=True)
        )
        truth = [Verdict.BEATEN, Verdict.KEEP, Verdict.BEATEN]
        false |= any(
            found.verdict(arm) is not true and found.verdict(arm) is not Verdict.UNDECIDED
            for arm, true in enumerate(truth)
        )
        wrong += false
    assert wrong <= 30
