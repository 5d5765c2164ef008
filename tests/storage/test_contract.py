"""The storage contract, sentence by sentence, on every kind of storage. Leases: see
`test_contract_leases`; processes: `test_contract_processes`."""

from __future__ import annotations

import math
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard.storage.contract import Plan, Storage, StudyExists, Tell, Told, UnknownStudy
from tests.storage.logs import NAN, ask, assert_same, begin, good
from tests.support.snapshots import refusals, refused
from tests.support.storages import Place


def test_the_cluster_of_a_pull_is_kept(storage: Storage) -> None:
    begin(storage, 3)
    tells = [Tell(1, (1.0, 2.0), cluster="host-3"), Tell(2, (1.0, 2.0)), Tell(3, (NAN, NAN), "no", cluster="Tag 7 🦓")]
    storage.tell("s", tells)
    told = storage.told("s")
    assert told.clusters == ("host-3", "", "Tag 7 🦓")
    assert_same(told, Told.of(tells, 2))
    assert told.part(1).clusters == told.rows(np.array([1, 2])).clusters == ("", "Tag 7 🦓")


# Studies --------------------------------------------------------------------------------------------------------------


def test_studies_are_listed_oldest_first(storage: Storage) -> None:
    assert storage.studies() == []
    for name in ("zebra", "ape", "Ährenfeld 🦓", "with 'quotes' \"and\" %s {} \\"):
        storage.create(name, "{}", 1)
    assert storage.studies() == ["zebra", "ape", "Ährenfeld 🦓", "with 'quotes' \"and\" %s {} \\"]


def test_a_study_is_created_once(storage: Storage, snapshot: SnapshotAssertion) -> None:
    storage.create("s", "first", 2)
    with refused(StudyExists, snapshot):
        storage.create("s", "second", 3)
    assert storage.settings("s") == "first"
    assert storage.studies() == ["s"]
    assert storage.told("s").values.shape == (0, 2)
    storage.create("S", "wealth", 2)  # another name


def test_an_unknown_study_is_named(storage: Storage, snapshot: SnapshotAssertion) -> None:
    storage.create("known", "", 1)
    calls = [
        lambda: storage.settings("unkown"),
        lambda: storage.amend("unkown", ""),
        lambda: storage.size("unkown"),
        lambda: storage.plans("unkown"),
        lambda: storage.add_plan("unkown", Plan(1, 0, 1, np.array([0]))),
        lambda: storage.told("unkown"),
        lambda: storage.tell("unkown", [Tell(1, (1.0,))]),
        lambda: storage.tell("unkown", []),
        lambda: storage.hand_out("unkown", 1, "a", deadline=1.0),
        lambda: storage.give_back("unkown", "a"),
        lambda: storage.give_back("unkown", "a", [1]),
        lambda: storage.renew("unkown", "a", 1.0),
        lambda: storage.late("unkown"),
        lambda: storage.forget("unkown"),
        lambda: storage.leases("unkown"),
    ]
    (sentence,) = set(refusals(UnknownStudy, calls))
    assert sentence == snapshot
    assert storage.studies() == ["known"]


def test_settings_are_the_latest(storage: Storage) -> None:
    storage.create("s", "one", 1)
    for text in ("two", "", "three", 'ü "{}" \x1a1 \x1a0 \0 %s', "x" * 300_000):
        storage.amend("s", text)
        assert storage.settings("s") == text
    storage.create("t", "another", 1)
    assert storage.settings("t") == "another"


def test_settings_change_only_after_what_is_said_was_there(storage: Storage) -> None:
    begin(storage, 2)
    storage.amend("s", "one \x1a \0")
    assert not storage.amend("s", "two", after="zero")
    assert not storage.amend("s", "two", told=1)
    assert storage.settings("s") == "one \x1a \0"
    assert storage.amend("s", "two", after="one \x1a \0", told=0)
    storage.tell("s", [good(1)])
    assert not storage.amend("s", "three", after="two", told=0)
    assert not storage.amend("s", "three", after="one", told=1)
    assert storage.settings("s") == "two"
    assert storage.amend("s", "three", told=1)
    assert storage.amend("s", "four", after="three")
    assert storage.settings("s") == "four"


# Plans ----------------------------------------------------------------------------------------------------------------


def test_plans_are_kept_in_order(storage: Storage) -> None:
    storage.create("s", "", 1)
    assert storage.plans("s") == []
    assert storage.add_plan("s", Plan(1, 0, 1, np.array([3, 1, 2**40])))
    assert storage.add_plan("s", Plan(2, 17, 4, np.array([0])))
    assert storage.add_plan("s", Plan(3, 18, 5, np.array([], np.int64), "certified"))
    plans = storage.plans("s")
    assert [(p.number, p.told, p.first, p.arms.tolist(), p.status) for p in plans] == [
        (1, 0, 1, [3, 1, 2**40], "running"),
        (2, 17, 4, [0], "running"),
        (3, 18, 5, [], "certified"),
    ]
    assert all(p.arms.dtype == np.int64 for p in plans)
    assert [p.number for p in storage.plans("s", after=1)] == [2, 3]
    assert storage.plans("s", after=3) == []
    assert storage.plans("s", after=99) == []
    assert storage.size("s") == (3, 0)


def test_only_the_next_plan_is_added(storage: Storage) -> None:
    storage.create("s", "", 1)
    assert not storage.add_plan("s", Plan(2, 0, 1, np.array([5])))
    assert not storage.add_plan("s", Plan(0, 0, 1, np.array([5])))
    assert not storage.add_plan("s", Plan(1, 0, 2, np.array([5])))
    assert storage.add_plan("s", Plan(1, 0, 1, np.array([5, 6])))
    assert not storage.add_plan("s", Plan(1, 0, 1, np.array([7, 8])))  # the same number
    assert not storage.add_plan("s", Plan(2, 0, 2, np.array([7])))  # the same pulls
    assert not storage.add_plan("s", Plan(2, 0, 4, np.array([7])))  # a gap
    assert storage.add_plan("s", Plan(2, 0, 3, np.array([7])))
    assert [p.arms.tolist() for p in storage.plans("s")] == [[5, 6], [7]]
    assert ask(storage, 9) == [1, 2, 3]


def test_the_log_does_not_change_with_the_callers_array(storage: Storage) -> None:
    storage.create("s", "", 1)
    arms = np.array([1, 2, 3])
    storage.add_plan("s", Plan(1, 0, 1, arms))
    arms[:] = 9
    assert storage.plans("s")[0].arms.tolist() == [1, 2, 3]


# Told pulls -----------------------------------------------------------------------------------------------------------


def test_told_pulls_are_numbered_in_the_order_of_writing(storage: Storage) -> None:
    begin(storage, 6)
    assert storage.tell("s", [good(4, at=1.5)]) == [True]
    assert storage.tell("s", [good(6), good(1), good(2)]) == [True] * 3
    assert storage.size("s") == (1, 4)
    told = storage.told("s")
    assert (told.after, len(told), told.pulls.tolist()) == (0, 4, [4, 6, 1, 2])
    assert told.values.tolist() == [[4.0, -4.0], [6.0, -6.0], [1.0, -1.0], [2.0, -2.0]]
    assert told.workers == ("w4", "w6", "w1", "w2")
    assert told.reasons == ("",) * 4
    assert told.at.tolist() == [1.5, 0.0, 0.0, 0.0]
    assert (told.pulls.dtype, told.values.dtype, told.at.dtype) == (np.int64, np.float64, np.float64)


def test_told_is_read_in_pages(storage: Storage) -> None:
    begin(storage, 7)
    storage.tell("s", [good(pull) for pull in (7, 1, 6, 2, 5)])
    everything = storage.told("s").pulls.tolist()
    for after in range(8):
        for up_to in (None, *range(9)):
            page = storage.told("s", after, up_to)
            assert page.pulls.tolist() == everything[after : None if up_to is None else max(up_to, after)]
            assert page.after == after
            assert page.values.shape == (len(page), 2)
            assert len(page.reasons) == len(page.workers) == len(page.at) == len(page)


def test_a_pull_is_told_once(storage: Storage) -> None:
    begin(storage, 3)
    assert storage.tell("s", [good(2)]) == [True]
    again = Tell(2, (99.0, 99.0), reason="another story", worker="other", at=5.0)
    assert storage.tell("s", [again]) == [False]
    assert storage.tell("s", [good(1), again, good(3)]) == [True, False, True]  # the others count, without a gap
    told = storage.told("s")
    assert told.pulls.tolist() == [2, 1, 3]
    assert told.values[0].tolist() == [2.0, -2.0]
    assert (told.reasons[0], told.workers[0]) == ("", "w2")
    assert storage.size("s") == (1, 3)


def test_of_two_tells_of_one_pull_in_one_call_the_first_counts(storage: Storage) -> None:
    begin(storage, 3)
    twice = good(2)
    assert storage.tell("s", [twice, Tell(2, (8.0, 8.0)), twice, good(1)]) == [True, False, False, True]
    assert storage.told("s").values.tolist() == [[2.0, -2.0], [1.0, -1.0]]
    assert storage.tell("s", [twice, twice]) == [False, False]


def test_an_empty_tell_is_fine(storage: Storage) -> None:
    begin(storage, 1)
    assert storage.tell("s", []) == []
    assert storage.size("s") == (1, 0)


def test_a_bad_tell_is_refused_before_anything_is_written(storage: Storage, snapshot: SnapshotAssertion) -> None:
    begin(storage, 3)
    ask(storage, 3)
    every_bad = [
        Tell(4, (1.0, 2.0)),
        Tell(0, (1.0, 2.0)),
        Tell(-1, (1.0, 2.0)),
        Tell(3, (1.0,)),
        Tell(3, (1.0, 2.0, 3.0)),
        Tell(3, ()),
        Tell(3, (float("inf"), 1.0)),
        Tell(3, (NAN, float("-inf")), reason="failed"),
        Tell(3, (1.0, 2.0), reason="half a character \ud800"),
        Tell(3, (1.0, 2.0), worker="\udfff"),
        *(Tell(1, (1.0, 2.0), at=at) for at in (-1.0, NAN, math.inf, 1e300)),
    ]
    alone = refusals(ValueError, [partial(storage.tell, "s", [bad]) for bad in every_bad])
    assert alone == snapshot
    assert alone == refusals(ValueError, [partial(storage.tell, "s", [good(2), bad]) for bad in every_bad])
    assert alone == refusals(ValueError, [partial(storage.tell, "s", [bad, good(2)]) for bad in every_bad])
    assert storage.size("s") == (1, 0)
    assert len(storage.leases("s")) == 3
    assert storage.tell("s", [good(1)]) == [True]  # and nothing is stuck


def test_a_pull_can_be_told_as_soon_as_it_is_planned(place: Place) -> None:
    with place.open() as one, place.open() as other:
        begin(one, 1)
        assert other.tell("s", [good(1)]) == [True]
        one.add_plan("s", Plan(2, 1, 2, np.array([0, 0])))
        assert other.tell("s", [good(3)]) == [True]  # planned by another since this handle last looked


def test_doubles_come_back_bit_for_bit(storage: Storage) -> None:
    numbers = [0.0, -0.0, 5e-324, -2.2250738585072014e-308, 1e308, -1.7976931348623157e308, 0.1, 1 / 3, NAN]
    times = [0.0, -0.0, 5e-324, 2.2250738585072014e-308, 253402300799.99997, 1.7e9 + 1 / 3, 0.1, 1 / 3, 0.0]
    begin(storage, len(numbers))
    storage.tell("s", [Tell(i + 1, (x, -x), at=t) for i, (x, t) in enumerate(zip(numbers, times, strict=True))])
    told = storage.told("s")
    expected = np.array([(x, -x) for x in numbers])
    assert np.isnan(told.values[-1]).all()
    assert told.values[:-1].tobytes() == expected[:-1].tobytes()
    assert told.at.tobytes() == np.array(times).tobytes()


def test_a_failed_pull_keeps_its_reason(storage: Storage) -> None:
    reasons = [
        "exit code 1",
        "",
        "Zeitüberschreitung: 10 s — ждали 🕰",
        "line one\nline two\r\n\ttab",
        "nul \0 in the middle",
        "\0",
        "\x1a \x1a0 \x1a1 \x1a\0",
        "e\u0301",  # one character in two code points; nothing is normalised
        "'; DROP TABLE told; --",
        "x" * 1_000_000,
    ]
    begin(storage, len(reasons))
    for i, reason in enumerate(reasons):
        storage.tell("s", [Tell(i + 1, (NAN, 1.0), reason, worker=reason[:1000])])
    told = storage.told("s")
    assert list(told.reasons) == reasons
    assert list(told.workers) == [reason[:1000] for reason in reasons]
    assert np.isnan(told.values[:, 0]).all()
    assert told.values[:, 1].tolist() == [1.0] * len(reasons)


@pytest.mark.parametrize("metrics", [1, 2, 7])
def test_any_number_of_metrics(storage: Storage, metrics: int) -> None:
    begin(storage, 5, metrics=metrics)
    rows = np.arange(5.0 * metrics).reshape(5, metrics)
    storage.tell("s", [Tell(i + 1, tuple(row)) for i, row in enumerate(rows)])
    assert storage.told("s").values.tolist() == rows.tolist()
    assert storage.told("s", after=5).values.shape == (0, metrics)


def test_a_large_batch_is_one_step(storage: Storage) -> None:
    begin(storage, 20_000)
    assert storage.tell("s", [good(pull) for pull in range(1, 20_001)]) == [True] * 20_000
    told = storage.told("s")
    assert told.pulls.tolist() == list(range(1, 20_001))
    assert (told.values[:, 0] == told.pulls).all()
    assert storage.told("s", 19_998).pulls.tolist() == [19_999, 20_000]


def test_studies_do_not_mix(storage: Storage) -> None:
    for study, metrics in (("a", 1), ("b", 2)):
        begin(storage, 4, study=study, metrics=metrics)
    storage.hand_out("a", 3, "w", deadline=1.0)
    storage.tell("a", [Tell(1, (1.0,))])
    storage.amend("a", "new")
    storage.add_plan("a", Plan(2, 1, 5, np.array([0])))
    assert storage.size("b") == (1, 0)
    assert storage.leases("b") == []
    assert storage.settings("b") == "{}"
    assert [x.id for x in storage.hand_out("b", 9, "v", deadline=9.0)] == [1, 2, 3, 4]
    assert storage.tell("b", [Tell(1, (2.0, 2.0))]) == [True]
    assert storage.told("a").values.tolist() == [[1.0]]
    assert storage.told("b").values.tolist() == [[2.0, 2.0]]
    assert [x.worker for x in storage.leases("a")] == ["w", "w"]


# Handles and threads --------------------------------------------------------------------------------------------------


def test_handles_see_each_other(place: Place) -> None:
    with place.open() as one, place.open() as other:
        begin(one, 3)
        assert other.studies() == ["s"]
        assert ask(other, 1) == [1]
        assert ask(one, 1, "b") == [2]
        one.tell("s", [good(2)])
        assert other.tell("s", [good(2)]) == [False]
        other.tell("s", [good(1)])
        other.amend("s", "new")
        assert one.settings("s") == "new"
        assert one.size("s") == other.size("s") == (1, 2)
        assert not one.add_plan("s", Plan(1, 0, 1, np.array([4])))
        assert other.add_plan("s", Plan(2, 2, 4, np.array([4])))
        assert [p.arms.tolist() for p in one.plans("s")] == [[0, 1, 2], [4]]
        assert_same(one.told("s"), other.told("s"))
        assert one.leases("s") == other.leases("s") == []
        assert ask(one, 1, "a") == [3]
        assert other.give_back("s", "a") == 1  # a worker is its name, whichever handle it uses
        assert one.leases("s") == []
        assert ask(one, 1, "b") == [3]


def test_all_is_there_when_opened_again(place: Place) -> None:
    with place.open() as storage:
        begin(storage, 4)
        ask(storage, 3)
        storage.tell("s", [good(1), Tell(2, (NAN, 1.0), "failed")])
        before = storage.told("s")
    with place.open() as storage:
        assert storage.studies() == ["s"]
        assert storage.size("s") == (1, 2)
        assert_same(storage.told("s"), before)
        assert [x.id for x in storage.leases("s")] == [3]
        assert ask(storage, 9) == [4]


def test_closing_twice_is_fine(place: Place) -> None:
    storage = place.open()
    begin(storage, 1)
    storage.close()
    storage.close()
    with place.open() as again:
        assert again.studies() == ["s"]


def test_a_storage_describes_itself(storage: Storage) -> None:
    sentence = storage.describe()  # type: ignore[attr-defined]
    assert isinstance(sentence, str)
    assert "\n" not in sentence


def test_threads_share_a_storage(storage: Storage) -> None:
    threads, each = 8, 25
    begin(storage, threads * each)
    ready = threading.Barrier(threads)

    def work(thread: int) -> list[int]:
        ready.wait(60.0)
        pulls: list[int] = []
        while leased := storage.hand_out("s", 2, f"t{thread}", deadline=9.0):
            tells = [good(lease.id) for lease in leased]
            assert storage.tell("s", tells) == [True] * len(tells)
            pulls += [lease.id for lease in leased]
            seen = storage.told("s")
            assert set(pulls) <= set(seen.pulls.tolist())
        return pulls

    with ThreadPoolExecutor(threads) as pool:
        pulls = [pull for part in pool.map(work, range(threads)) for pull in part]
    assert sorted(pulls) == list(range(1, threads * each + 1))
    assert sorted(storage.told("s").pulls.tolist()) == sorted(pulls)
    assert storage.leases("s") == []


def test_of_plans_raced_by_threads_one_is_added(storage: Storage) -> None:
    begin(storage)
    ready = threading.Barrier(6)

    def race(thread: int) -> list[bool]:
        ready.wait(60.0)
        return [storage.add_plan("s", Plan(n, 0, n, np.array([thread]))) for n in range(1, 11)]

    with ThreadPoolExecutor(6) as pool:
        added = np.array(list(pool.map(race, range(6))))
    plans = storage.plans("s")
    assert [p.number for p in plans] == list(range(1, len(plans) + 1))
    assert added.sum(axis=0).tolist() == [1] * len(plans) + [0] * (10 - len(plans))
    assert len(plans) == 10
    assert [int(p.arms[0]) for p in plans] == added.argmax(axis=0).tolist()
