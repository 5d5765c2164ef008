"""Small logs for the tests of the storage contract."""

from __future__ import annotations

import numpy as np

from frontguard.storage.contract import End, Plan, Storage, Tell, Told

NAN = float("nan")


def begin(storage: Storage, pulls: int = 0, *, study: str = "s", metrics: int = 2) -> None:
    """A study with a first plan of that many pulls."""
    storage.create(study, "{}", metrics)
    if pulls:
        assert storage.add_plan(study, Plan(1, 0, 1, np.arange(pulls)))


def good(pull: int, at: float = 0.0) -> Tell:
    return Tell(pull, (float(pull), -float(pull)), worker=f"w{pull}", at=at)


def given_up(pull: int, end: End) -> Tell:
    return Tell(pull, (NAN, NAN), worker="holder", at=3.0, end=end)


def ask(storage: Storage, most: int, worker: str = "a", now: float = 0.0, deadline: float = 10.0) -> list[int]:
    return [x.id for x in storage.hand_out("s", most, worker, deadline=deadline)]


def assert_same(one: Told, other: Told) -> None:
    assert one.after == other.after
    assert one.pulls.tolist() == other.pulls.tolist()
    assert one.values.shape == other.values.shape
    assert one.values.tobytes() == other.values.tobytes()  # bit for bit
    assert (one.reasons, one.workers, one.clusters) == (other.reasons, other.workers, other.clusters)
    assert one.at.tobytes() == other.at.tobytes()
