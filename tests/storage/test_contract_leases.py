"""The storage contract on leases: who has a pull, until when, and the ways in which that ends."""

from __future__ import annotations

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard.storage.contract import End, Plan, Pull, Storage, Tell, UnknownStudy
from tests.storage.logs import NAN, ask, assert_same, begin, given_up, good
from tests.support.snapshots import refused
from tests.support.storages import Place


def test_pulls_are_handed_out_in_their_order_each_once(storage: Storage) -> None:
    begin(storage, 5)
    assert storage.leases("s") == []
    assert storage.hand_out("s", 2, "a", deadline=10.25) == [
        Pull(1, "a", 10.25),
        Pull(2, "a", 10.25),
    ]
    assert ask(storage, 2, "b") == [3, 4]
    assert ask(storage, 0) == []
    assert ask(storage, 2, "a") == [5]
    assert ask(storage, 2, "a") == []
    storage.add_plan("s", Plan(2, 0, 6, np.array([1])))
    assert ask(storage, 2, "c", deadline=20.0) == [6]
    assert [(x.id, x.worker) for x in storage.leases("s")] == [
        (1, "a"),
        (2, "a"),
        (3, "b"),
        (4, "b"),
        (5, "a"),
        (6, "c"),
    ]


def test_nothing_is_handed_out_before_there_is_a_plan(storage: Storage) -> None:
    begin(storage)
    assert ask(storage, 3) == []
    storage.add_plan("s", Plan(1, 0, 1, np.array([], np.int64), "budget"))
    assert ask(storage, 3) == []


def test_a_pull_is_handed_out_once_whatever_becomes_of_its_lease(storage: Storage) -> None:
    begin(storage, 4)
    assert ask(storage, 2, "a", deadline=0.0) == [1, 2]
    assert ask(storage, 9, "b", deadline=30.0) == [3, 4]  # long after the deadline of the first two
    assert ask(storage, 9, "a", deadline=30.0) == []
    assert storage.leases("s")[0] == Pull(1, "a", 0.0)
    storage.tell("s", [given_up(1, End.OVERDUE)])
    assert ask(storage, 9, "c", deadline=30.0) == []
    assert [x.id for x in storage.leases("s")] == [2, 3, 4]


def test_a_tell_ends_the_lease(storage: Storage) -> None:
    begin(storage, 3)
    ask(storage, 3, deadline=10.0)
    storage.tell("s", [good(2)])
    assert [x.id for x in storage.leases("s")] == [1, 3]
    storage.tell("s", [good(1), given_up(3, End.LOST)])
    assert storage.leases("s") == []
    assert ask(storage, 9, "c", deadline=100.0) == []


def test_how_a_pull_ended_is_kept(storage: Storage) -> None:
    begin(storage, 5)
    tells = [good(5), *(given_up(pull, end) for pull, end in zip((4, 3, 2), (*End,)[1:], strict=True))]
    assert storage.tell("s", [*tells, Tell(1, (NAN, NAN), "exit code 1")]) == [True] * 5
    told = storage.told("s")
    assert told.pulls.tolist() == [5, 4, 3, 2, 1]
    assert told.ends.tolist() == [End.TOLD, End.LOST, End.STOPPED, End.OVERDUE, End.TOLD]
    assert np.isnan(told.values[1:]).all()
    assert told.workers[1] == "holder"
    assert storage.told("s", after=2, up_to=3).ends.tolist() == [End.STOPPED]


def test_what_is_told_of_a_pull_that_was_given_up_is_late_and_does_not_count(storage: Storage) -> None:
    begin(storage, 3)
    ask(storage, 3, "slow", deadline=10.0)
    assert len(storage.late("s")) == 0
    storage.tell("s", [given_up(1, End.OVERDUE), given_up(2, End.STOPPED), good(3)])
    before = storage.told("s")
    late = [Tell(2, (2.5, -2.5), worker="slow", at=7.0), Tell(1, (NAN, 1.0), "exit code 1", "slow", 8.0)]
    assert storage.tell("s", late) == [False, False]
    assert storage.tell("s", [Tell(2, (9.0, 9.0)), Tell(3, (9.0, 9.0)), given_up(1, End.LOST)]) == [False] * 3
    assert_same(storage.told("s"), before)
    kept = storage.late("s")
    assert kept.pulls.tolist() == [2, 1]
    assert kept.values[0].tolist() == [2.5, -2.5]
    assert (kept.reasons, kept.workers, kept.at.tolist()) == (("", "exit code 1"), ("slow", "slow"), [7.0, 8.0])
    assert kept.ends.tolist() == [End.TOLD] * 2


def test_a_pull_given_up_has_no_values(storage: Storage, snapshot: SnapshotAssertion) -> None:
    begin(storage, 2)
    with refused(ValueError, snapshot):
        storage.tell("s", [good(2), Tell(1, (1.0, NAN), end=End.LOST)])
    assert storage.size("s") == (1, 0)


def test_a_worker_renews_its_leases(storage: Storage) -> None:
    begin(storage, 5)
    ask(storage, 3, "a", deadline=10.0)
    ask(storage, 1, "b", deadline=10.0)
    assert storage.renew("s", "a", 20.5) == 3
    assert storage.renew("s", "a", 30.5, [2, 2, 4, 5, 99]) == 1
    assert storage.renew("s", "nobody", 99.0) == 0
    assert [x.deadline for x in storage.leases("s")] == [20.5, 30.5, 20.5, 10.0]
    storage.tell("s", [good(1)])
    storage.give_back("s", "a", [3])
    assert storage.renew("s", "a", 40.0) == 1  # a lease that has ended is not revived
    assert [(x.id, x.deadline) for x in storage.leases("s")] == [(2, 40.0), (4, 10.0)]
    assert ask(storage, 1, "c") == [3]


def test_a_lease_that_is_given_back_ends_at_once(storage: Storage) -> None:
    begin(storage, 5)
    assert ask(storage, 3, "a", deadline=100.0) == [1, 2, 3]
    assert ask(storage, 1, "b", deadline=100.0) == [4]
    assert storage.give_back("s", "a", [1, 3, 3, 4, 5, 99]) == 2  # 4 is another's, 5 nobody's
    assert [(x.id, x.worker) for x in storage.leases("s")] == [(2, "a"), (4, "b")]
    assert storage.give_back("s", "a", [1, 3]) == 0  # it holds them no more
    again = storage.hand_out("s", 3, "c", deadline=50.0)
    assert again == [Pull(1, "c", 50.0), Pull(3, "c", 50.0), Pull(5, "c", 50.0)]
    assert storage.give_back("s", "a") == 1  # all that it still holds
    assert storage.give_back("s", "nobody") == 0
    assert ask(storage, 9, "a", deadline=60.0) == [2]


def test_a_pull_that_was_given_back_can_be_told_and_a_told_one_not_given_back(storage: Storage) -> None:
    begin(storage, 2)
    ask(storage, 2, "a", deadline=100.0)
    assert storage.give_back("s", "a", [1]) == 1
    assert storage.tell("s", [good(1), good(2)]) == [True, True]  # it was measured after all
    assert storage.give_back("s", "a") == 0
    assert storage.leases("s") == []
    assert ask(storage, 9, "b", deadline=1000.0) == []


def test_a_study_of_which_nothing_was_told_can_be_forgotten(place: Place) -> None:
    with place.open() as storage, place.open() as other:
        storage.create("before", "{}", 1)
        begin(storage, 3)
        assert other.size("s") == (1, 0)  # the other handle knows it
        ask(storage, 2, "a", deadline=100.0)
        assert storage.forget("s") is True
        assert storage.studies() == other.studies() == ["before"]
        for handle in (storage, other):
            for call in (handle.size, handle.settings, handle.forget):
                with pytest.raises(UnknownStudy):
                    call("s")
            with pytest.raises(UnknownStudy):
                handle.renew("s", "a", 1.0)
        storage.create("s", "anew", 1)
        storage.add_plan("s", Plan(1, 0, 1, np.array([7])))
        for handle in (other, storage):
            assert handle.settings("s") == "anew"
            assert handle.leases("s") == []
            assert [plan.arms.tolist() for plan in handle.plans("s")] == [[7]]
        assert other.tell("s", [Tell(1, (0.5,))]) == [True]
        assert storage.forget("s") is False
        assert storage.told("s").values.tolist() == [[0.5]]


def test_a_pull_that_was_told_without_a_lease_is_not_handed_out(storage: Storage) -> None:
    begin(storage, 6)
    storage.tell("s", [good(1), good(3), good(4)])
    assert ask(storage, 2) == [2, 5]
    storage.tell("s", [good(6)])
    assert ask(storage, 2) == []
    storage.add_plan("s", Plan(2, 4, 7, np.array([0])))
    assert ask(storage, 2) == [7]


def test_unusual_worker_names(storage: Storage) -> None:
    begin(storage, 3)
    for i, worker in enumerate(["", "höst:12:ab", "a\0b{}%s"]):
        assert ask(storage, 1, worker) == [i + 1]
    assert [x.worker for x in storage.leases("s")] == ["", "höst:12:ab", "a\0b{}%s"]
