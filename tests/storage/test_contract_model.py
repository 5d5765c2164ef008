"""Random operations on a storage and on the reference in memory: every answer, and all that is read, must be equal."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from frontguard.storage.contract import End, MemoryStorage, Plan, Storage, Tell
from tests.support.storages import Place

STUDIES = st.sampled_from(["first", "first", "first", "second"])
WORKERS = st.sampled_from(["a", "b", "", "ü\0"])
NUMBERS = st.floats(width=64, allow_infinity=True) | st.sampled_from([0.0, -0.0, 5e-324, 1e308])
TEXTS = st.text(max_size=8)
TELLS = st.builds(
    Tell,
    pull=st.integers(0, 14),
    values=st.tuples(NUMBERS, NUMBERS) | st.tuples(NUMBERS, NUMBERS) | st.tuples(NUMBERS),
    reason=TEXTS,
    worker=WORKERS,
    at=st.floats(0.0, 2e9),
    end=st.sampled_from([End.TOLD, End.TOLD, *End]),
)


class Twins(RuleBasedStateMachine):
    """The storage under test and the reference, step by step."""

    runs = count(1)

    def __init__(self, handles: list[Storage]) -> None:
        super().__init__()
        self.handles = handles
        self.reference = MemoryStorage()
        self.prefix = f"run {next(Twins.runs)} "  # the studies of earlier runs stay beside: they must not matter
        self.turn = 0

    def both(self, call: Callable[[Storage], Any]) -> None:
        """The same call on both; the handles of the storage take turns."""
        self.turn += 1
        assert answer(call, self.handles[self.turn % len(self.handles)]) == answer(call, self.reference)

    @initialize()
    def create(self) -> None:
        for study in ("first", "second"):
            self.both(lambda storage, study=study: storage.create(self.prefix + study, "{}", 2))
            self.add_plan(study, 0, 0, [3, 1, 4, 1, 5, 9], 0)

    @rule(study=STUDIES, settings=TEXTS)
    def amend_or_create(self, study: str, settings: str) -> None:
        self.both(lambda storage: storage.create(self.prefix + study, settings, 3))
        self.both(lambda storage: storage.amend(self.prefix + study, settings))

    @rule(
        study=STUDIES,
        skip=st.sampled_from([0, 0, 0, 0, 1, -1]),
        shift=st.sampled_from([0, 0, 0, 0, 1, -1]),
        arms=st.lists(st.integers(0, 5), max_size=6),
        told=st.integers(0, 9),
    )
    def add_plan(self, study: str, skip: int, shift: int, arms: list[int], told: int) -> None:
        plans = self.reference.plans(self.prefix + study)
        first = 1 + sum(len(plan.arms) for plan in plans)
        status = "running" if arms else "budget"
        plan = Plan(len(plans) + 1 + skip, told, first + shift, np.array(arms, np.int64), status)
        self.both(lambda storage: storage.add_plan(self.prefix + study, plan))

    @rule(study=STUDIES, tells=st.lists(TELLS, max_size=4))
    def tell(self, study: str, tells: list[Tell]) -> None:
        self.both(lambda storage: storage.tell(self.prefix + study, tells))

    @rule(study=STUDIES, pulls=st.lists(st.integers(1, 6), min_size=1, max_size=3))
    def tell_planned(self, study: str, pulls: list[int]) -> None:
        tells = [Tell(pull, (pull / 3, float("nan")), "failed", "w") for pull in pulls]
        self.both(lambda storage: storage.tell(self.prefix + study, tells))

    @rule(study=STUDIES, most=st.sampled_from([0, 1, 2, 9]), worker=WORKERS, deadline=st.floats(0.0, 2e9))
    def hand_out(self, study: str, most: int, worker: str, deadline: float) -> None:
        self.both(lambda storage: storage.hand_out(self.prefix + study, most, worker, deadline=deadline))

    @rule(
        study=STUDIES,
        worker=WORKERS,
        deadline=st.floats(0.0, 2e9),
        pulls=st.none() | st.lists(st.integers(0, 14), max_size=4),
    )
    def renew(self, study: str, worker: str, deadline: float, pulls: list[int] | None) -> None:
        self.both(lambda storage: storage.renew(self.prefix + study, worker, deadline, pulls))

    @rule(study=STUDIES, pulls=st.lists(st.integers(1, 8), min_size=1, max_size=3), end=st.sampled_from(End))
    def give_up(self, study: str, pulls: list[int], end: End) -> None:
        nothing = (float("nan"), float("nan"))
        tells = [Tell(pull, nothing, worker="w", end=end) for pull in pulls]
        self.both(lambda storage: storage.tell(self.prefix + study, [*tells, Tell(pulls[-1], (1.0, 2.0), "late")]))

    @rule(study=STUDIES)
    def forget(self, study: str) -> None:
        self.both(lambda storage: storage.forget(self.prefix + study))
        self.both(lambda storage: storage.create(self.prefix + study, "{}", 2))

    @rule(study=STUDIES, worker=WORKERS, pulls=st.none() | st.lists(st.integers(0, 14), max_size=4))
    def give_back(self, study: str, worker: str, pulls: list[int] | None) -> None:
        self.both(lambda storage: storage.give_back(self.prefix + study, worker, pulls))

    @rule(study=STUDIES, after=st.integers(0, 9), up_to=st.none() | st.integers(0, 9))
    def read_a_page(self, study: str, after: int, up_to: int | None) -> None:
        self.both(lambda storage: plain(storage.told(self.prefix + study, after, up_to)))
        self.both(lambda storage: plain(storage.plans(self.prefix + study, after)))

    @invariant()
    def everything_is_equal(self) -> None:
        for study in self.reference.studies():
            self.both(
                lambda storage, study=study: plain(
                    [
                        storage.settings(study),
                        storage.size(study),
                        storage.plans(study),
                        storage.told(study),
                        storage.leases(study),
                        storage.late(study),
                    ]
                )
            )


def answer(call: Callable[[Storage], Any], storage: Storage) -> Any:
    """What a call answers, or the kind of error that it raises."""
    try:
        return call(storage)
    except ValueError as error:
        return type(error)


def plain(thing: Any) -> Any:
    """Something that compares by every bit."""
    if isinstance(thing, np.ndarray):
        # NaN is NaN, whatever its bits
        return thing.shape, str(thing.dtype), np.where(np.isnan(thing), np.nan, thing).tobytes()
    if isinstance(thing, list):
        return [plain(part) for part in thing]
    if hasattr(thing, "__dict__"):
        return {name: plain(part) for name, part in vars(thing).items()}
    return thing


def test_it_does_what_the_reference_does(place: Place) -> None:
    with place.open() as one, place.open() as other:
        run_state_machine_as_test(
            lambda: Twins([one, other]), settings=settings(max_examples=12, stateful_step_count=20)
        )
