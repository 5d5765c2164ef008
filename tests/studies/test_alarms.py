"""Alarms: seldom on data as clean as declared, whatever their shape, and soon on data that are not."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta, hypergeom
from syrupy.assertion import SnapshotAssertion

from frontguard import Gaussian, Malicious, Objective, Oblivious, Prescient, Share
from frontguard.evidence.confidence_sequences import anytime_rank
from frontguard.notices import Alarm, FailuresAlarm
from frontguard.objectives import parse_objectives
from frontguard.studies.alarms import RATE, Watch, fewest_changes
from frontguard.theory.threats import USUAL, Threat
from tests.support.snapshots import said

Rng = np.random.Generator
NAN = float("nan")


def alarms(arms: Sequence[str], objectives: Any, threat: Threat, values: Any, reasons: Any = None, **how: Any) -> Any:
    """The alarms that complete data raise: for each arm its inner values (n, M), in the order of measuring."""
    watch, first = Watch(arms, parse_objectives(objectives), threat, **how), 1
    for arm, rows in enumerate(values):
        matrix = np.asarray(rows, np.float64).reshape(-1, len(watch.objectives))
        watch.plan(np.full(len(matrix), arm))
        watch.tell(np.arange(first, first + len(matrix)), matrix, () if reasons is None else reasons[arm])
        first += len(matrix)
    return watch.alarms()


# Values of which means count ------------------------------------------------------------------------------------------

RATE_OF = Objective("solved", "maximize", statistic="mean", bounds=(0, 1))
STARS_OF = Objective("stars", "minimize", statistic="mean", bounds=(1, 5))


def _alarms_of_means(seed: int, rate: float) -> list[Alarm]:
    """The alarms of a clean study of two arms: rates of all sizes, and stars; the spread bound is not theirs."""
    rng = np.random.default_rng([11, seed])
    threat = THREATS[seed % len(THREATS)]
    n = int(rng.choice([64, 256, 1024]))
    solved = (rng.random((2, n)) < rng.choice([0.02, 0.3, 0.5, 0.9, 0.98])).astype(float)
    stars = rng.choice(5, size=(2, n), p=[0.05, 0.05, 0.2, 0.3, 0.4]) / 4.0
    for values in (solved, stars):  # as much is replaced, at random, as is declared
        hit = rng.random((2, n)) < (0.0 if isinstance(threat, Share) else threat.eps)
        values[hit] = float(seed % 2)
    both = np.stack([solved, stars], axis=2)
    return alarms(["a", "b"], [RATE_OF, STARS_OF], threat, list(both), spread=Gaussian(0.001), rate=rate)


def test_clean_rates_and_stars_raise_hardly_an_alarm() -> None:
    rate, studies = 0.5, 300
    raised = sum(bool(_alarms_of_means(seed, rate)) for seed in range(studies))
    assert raised <= studies * rate / 5  # of a level of one half: the tests are of few values, and so strict


def test_a_rate_that_changes_raises_one_in_its_own_units() -> None:
    stars = np.repeat([0.0, 1.0], 128).reshape(-1, 1)
    (alarm,) = alarms(["a"], [STARS_OF], Prescient(0.1), [stars])
    assert alarm.kind == "drift"
    assert vars(alarm)["value"] in (1.0, 5.0)


def test_exact_values_raise_none_of_drift() -> None:
    assert not alarms(
        ["a"], [Objective("bytes", "maximize", exact=True)], Prescient(0.1), [np.arange(256.0).reshape(-1, 1)]
    )


# Clean studies --------------------------------------------------------------------------------------------------------


def _normal(rng: Rng, n: int, eps: float) -> np.ndarray:
    return rng.normal(size=n)


def _heavy_tails(rng: Rng, n: int, eps: float) -> np.ndarray:
    return rng.standard_cauchy(size=n)


def _ties(rng: Rng, n: int, eps: float) -> np.ndarray:
    return rng.choice(4, size=n, p=[0.25, 0.3, 0.3, 0.15]).astype(float)


def _bimodal(rng: Rng, n: int, eps: float) -> np.ndarray:
    return rng.normal(size=n) + 20.0 * (rng.random(n) < 0.5)


def _failing(rng: Rng, n: int, eps: float) -> np.ndarray:
    """Exactly the share that is allowed fails."""
    values = rng.normal(size=n)
    values[rng.random(n) < eps] = np.nan
    return values


def _joined(rng: Rng, n: int, eps: float) -> np.ndarray:
    """Hits join a value to the one before it, so that sides change as rarely as an attacker can make them."""
    values = rng.normal(size=n)
    for i in np.flatnonzero(rng.random(n - 1) < eps):
        values[i + 1] = values[i]
    return values


def _bridged(rng: Rng, n: int, eps: float) -> np.ndarray:
    """Hits are used, or left, so that a value between two on the other side goes over to them."""
    values = rng.normal(size=n)
    for i in np.flatnonzero(rng.random(n - 2) < eps) + 1:
        if (values[i] > 0) != (values[i - 1] > 0) and (values[i] > 0) != (values[i + 1] > 0):
            values[i] = -values[i]
    return values


def _outlying(rng: Rng, n: int, eps: float) -> np.ndarray:
    values = rng.normal(size=n)
    values[rng.random(n) < eps] = 1e6
    return values


def _sliding(rng: Rng, n: int, eps: float) -> np.ndarray:
    """A malicious attacker alone may do this: take away high values first, low ones later."""
    values = rng.normal(size=n)
    unwanted = np.where(np.arange(n) < n // 2, values > 0, values < 0)
    hit = unwanted & (rng.random(n) < 2 * eps)
    values[hit] = -values[hit]
    return values


def _merged(rng: Rng, n: int, eps: float) -> np.ndarray:
    """Nor may another one do this: hit a value just because it is alone on its side (one of four), and turn it over."""
    values = rng.normal(size=n)
    for i in range(1, n - 1):
        alone = (values[i] > 0) != (values[i - 1] > 0) and (values[i] > 0) != (values[i + 1] > 0)
        if alone and rng.random() < 4 * eps:
            values[i] = -values[i]
    return values


def _spent(rng: Rng, n: int, eps: float) -> np.ndarray:
    """A share, spent as soon as there is any: on values alone on their side, and on those near the median, sent far."""
    values = rng.normal(size=n)
    spent = 0
    for i in range(1, n - 1):
        alone = (values[i] > 0) != (values[i - 1] > 0) and (values[i] > 0) != (values[i + 1] > 0)
        if spent < math.floor(eps * (i + 1)) and (alone or abs(values[i]) < 0.2):
            values[i] = -values[i] if alone else 1e6
            spent += 1
    return values


SHAPES = (_normal, _heavy_tails, _ties, _bimodal, _failing, _joined, _bridged, _outlying)
THREATS: tuple[Threat, ...] = (
    Prescient(0.1), Malicious(0.1), Prescient(0.3), Oblivious(0.02), Malicious(0.25), Share(0.1)
)  # fmt: skip
NORMAL_SHAPES = (_normal, _failing, _outlying, _spent)  # which R = Gaussian(1) describes


def _clean_study(seed: int, rate: float) -> bool:
    """Whether a simulated clean study of 2 arms and 2 objectives raises an alarm."""
    rng = np.random.default_rng([7, seed])
    threat = THREATS[seed % len(THREATS)]
    shapes: tuple[Callable[[Rng, int, float], np.ndarray], ...] = SHAPES
    if isinstance(threat, Malicious):
        shapes = (*shapes, _sliding, _merged)
    if isinstance(threat, Share):
        shapes = (_normal, _heavy_tails, _ties, _bimodal, _spent)
    shape = shapes[seed // len(THREATS) % len(shapes)]
    spread = Gaussian(1.0) if shape in NORMAL_SHAPES and seed % 2 else None
    pulls = (256, int(rng.integers(40, 200)))
    values = [np.column_stack([shape(rng, n, threat.eps) for _ in range(2)]) for n in pulls]
    return bool(alarms(["a", "b"], [("x", "maximize"), ("y", "maximize")], threat, values, spread=spread, rate=rate))


def _upper_bound(alarmed: int, studies: int) -> float:
    """Of the true rate, with confidence 99 % (Clopper and Pearson)."""
    return float(beta.ppf(0.99, alarmed + 1, studies - alarmed))


@pytest.mark.parametrize("studies", [1_000, pytest.param(10_000, marks=pytest.mark.audit)])
def test_clean_studies_raise_an_alarm_in_one_percent_at_most(studies: int):
    alarmed = sum(_clean_study(seed, RATE) for seed in range(studies))
    assert _upper_bound(alarmed, studies) <= 0.01


def test_the_rate_holds_where_it_would_show():
    """A rate of 1 % leaves room in which mistakes could hide; one of 40 % leaves less."""
    alarmed = sum(_clean_study(seed, 0.4) for seed in range(1_000))
    assert alarmed > 0
    assert _upper_bound(alarmed, 1_000) <= 0.4


def test_failures_at_the_allowed_rate_are_an_alarm_as_rarely_as_promised_for_ever():
    rng = np.random.default_rng(1)
    raised = 0
    for _ in range(300):
        values = np.where(rng.random(4000) < 0.1, np.nan, np.arange(4000) % 2)[:, None]
        raised += any(
            alarm.kind == "failures" for alarm in alarms(["a"], [("x", "maximize")], Prescient(0.1), [values], rate=0.4)
        )
    # A kind of two has half of the rate. Ville's bound is nearly met, so half as much again would show.
    assert 0.05 * 300 < raised <= 0.2 * 300


def test_what_a_malicious_attacker_can_do_is_no_alarm_unless_it_was_declared_to_be_less():
    for seed in range(5):
        values = [_merged(np.random.default_rng([5, seed]), 4096, 0.05)[:, None]]
        assert alarms(["a"], [("x", "maximize")], Malicious(0.05), values) == []
        assert [alarm.kind for alarm in alarms(["a"], [("x", "maximize")], Prescient(0.05), values)] == ["drift"]


# Power ----------------------------------------------------------------------------------------------------------------


def _found_after(make: Callable[[Rng], np.ndarray], kind: str, threat: Threat, **settings: object) -> list[float]:
    """For 40 studies, one of 16 arms being dirty: the pulls of that arm at the alarm; ∞ without one."""
    names = [f"arm {k}" for k in range(16)]
    found = []
    for seed in range(40):
        rng = np.random.default_rng([3, seed])
        values = [make(rng)[:, None], *[rng.normal(size=(8, 1)) for _ in names[1:]]]
        raised = [a for a in alarms(names, [("x", "maximize")], threat, values, **settings) if a.kind == kind]
        assert {alarm.arm for alarm in raised} <= {"arm 0"}
        found.append(float(raised[0].pulls) if raised else math.inf)
    return sorted(found)


def _share(within: int, found: list[float]) -> float:
    return sum(pulls <= within for pulls in found) / len(found)


def test_a_doubled_failure_rate_is_found_within_500_pulls():
    def failing(rng: Rng) -> np.ndarray:
        return np.where(rng.random(1000) < 0.2, np.nan, rng.normal(size=1000))

    assert _share(500, _found_after(failing, "failures", Prescient(0.1))) >= 0.95


def test_an_arm_that_always_fails_is_found_within_8_pulls():
    assert _share(8, _found_after(lambda rng: np.full(20, np.nan), "failures", Prescient(0.1))) == 1.0


@pytest.mark.parametrize(("threat", "within"), [(Prescient(0.1), 256), (Malicious(0.05), 512), (Prescient(0.0), 64)])
def test_a_step_is_found(threat, within):
    def step(rng: Rng) -> np.ndarray:
        return rng.normal(size=within) + 5.0 * (np.arange(within) >= within // 2)

    assert _share(within, _found_after(step, "drift", threat)) >= 0.95


@pytest.mark.parametrize(("length", "within"), [(10, 1024), (30, 1024)])
def test_a_neighbour_in_bursts_is_found(length, within):
    """At 30 % of the time, in bursts of so many pulls on average, where 10 % is declared."""

    def bursts(rng: Rng) -> np.ndarray:
        on = np.empty(within, bool)
        state = rng.random() < 0.3
        for i in range(within):
            on[i] = state
            state = rng.random() >= 1 / length if state else rng.random() < 0.3 / 0.7 / length
        return rng.normal(size=within) + 6.0 * on

    assert _share(within, _found_after(bursts, "drift", Prescient(0.1))) >= 0.9


def test_values_wilder_than_the_spread_bound_are_found_within_512_pulls():
    def wild(rng: Rng) -> np.ndarray:
        return np.where(rng.random(512) < 0.25, 50.0 * rng.normal(size=512), rng.normal(size=512))

    assert _share(512, _found_after(wild, "spread", Prescient(0.1), spread=Gaussian(1.0))) >= 0.95


# The pieces -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("ones", "zeros"), [(1, 1), (1, 6), (4, 4), (3, 6), (7, 5)])
def test_fewest_changes_against_all_orders(ones, zeros):
    total = ones + zeros
    changes = []
    for chosen in itertools.combinations(range(total), ones):
        sides = np.isin(np.arange(total), chosen)
        changes.append(int(np.count_nonzero(sides[1:] != sides[:-1])))
    counts = np.bincount(changes, minlength=total)
    for level in (0.5, 0.2, 0.05, 0.01):
        expected = next(d for d in range(total) if counts[: d + 1].sum() / counts.sum() > level * 1.0001)
        assert fewest_changes(ones, zeros, math.log(level)) == expected


def test_fewest_changes_of_many_against_the_hypergeometric_number_of_runs():
    """Runs of ones are hypergeometric, and changes are 2 runs less 0, 1 or 2."""
    ones, zeros, level = 4000, 6000, 1e-8
    runs = hypergeom(ones + zeros, zeros + 1, ones).ppf(level)
    assert 2 * runs - 2 <= fewest_changes(ones, zeros, math.log(level)) <= 2 * runs + 2


@given(ones=st.integers(0, 60), total=st.integers(2, 120), level=st.floats(1e-12, 0.5))
def test_a_more_even_split_never_has_fewer_changes(ones, total, level):
    """So the most uneven of the possible splits may stand for all of them."""
    ones = min(ones, total // 2 - 1)
    if ones >= 0:
        fewer, more = (fewest_changes(c, total - c, math.log(level)) for c in (ones, ones + 1))
        assert fewer <= more


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_alarms_do_not_depend_on_who_looks_when_or_on_the_order_of_return(data):
    seed = data.draw(st.integers(0, 10**6))
    rng = np.random.default_rng(seed)
    planned = rng.integers(0, 3, size=400)
    values = rng.normal(size=(400, 2)).cumsum(axis=0)
    values[rng.random(400) < 0.25] = np.nan
    reasons = [f"exit code {k}" for k in rng.integers(1, 6, size=400)]

    def watch() -> Watch:
        return Watch("abc", [Objective("x", "maximize"), Objective("y", "maximize")], Prescient(0.1))

    at_once = watch()
    at_once.plan(planned)
    at_once.tell(np.arange(1, 401), values, reasons)
    bit_by_bit = watch()
    returned = rng.permutation(400)
    seen: list[Alarm] = []
    for part in np.array_split(np.arange(400), data.draw(st.integers(1, 8))):
        bit_by_bit.plan(planned[part])
    for part in np.array_split(returned, data.draw(st.integers(1, 30))):
        bit_by_bit.tell(part + 1, values[part], [reasons[k] for k in part])
        now = bit_by_bit.alarms()
        assert {(a.arm, a.kind) for a in seen} <= {(a.arm, a.kind) for a in now}  # none is taken back
        seen = now
    assert seen == at_once.alarms()


def test_pulls_that_come_back_fastest_first_are_no_drift():
    """Eight at a time, told in the order of their durations: half of each eight is on the same side."""
    durations = np.random.default_rng(5).exponential(size=1024)
    returned = np.concatenate([start + np.argsort(durations[start : start + 8]) for start in range(0, 1024, 8)])
    watch = Watch(["a"], [Objective("seconds", "minimize")], Prescient(0.0))
    watch.plan(np.zeros(1024, np.int64))
    watch.tell(returned + 1, -durations[returned][:, None])
    assert watch.alarms() == []
    in_order_of_return = alarms(["a"], ["seconds"], Prescient(0.0), [-durations[returned][:, None]])
    assert [alarm.kind for alarm in in_order_of_return] == ["drift"]  # which is why that order is not used


def test_pulls_after_one_that_is_still_out_wait_for_it():
    watch = Watch(["a"], [Objective("x", "maximize")], Prescient(0.1))
    watch.plan(np.zeros(20, np.int64))
    watch.tell(np.arange(2, 21), np.full((19, 1), NAN))
    assert watch.alarms() == []
    watch.tell(np.array([1]), np.array([[NAN]]))
    assert [alarm.kind for alarm in watch.alarms()] == ["failures"]


def test_a_pull_told_again_stays_as_it_was():
    watch = Watch(["a"], [Objective("x", "maximize")], Prescient(0.0))
    watch.plan([0])
    watch.tell(np.array([1]), np.array([[1.0]]))
    watch.tell(np.array([1]), np.array([[NAN]]), ["too late"])
    assert watch.alarms() == []


@pytest.mark.parametrize("model", [Prescient, Share])
def test_where_values_are_taken_as_they_are_failures_are_held_against_the_usual_share(model: type[Threat]):
    for failed in (1, 12):
        values = [[NAN] if n < failed else [1.0] for n in range(40)]
        found, wanted = (alarms(["a"], [("x", "maximize")], model(eps), [values]) for eps in (0.0, USUAL.eps))
        assert found == wanted
        assert bool(found) == (failed == 12 or model is Share)  # the first of all: of one pull a share allows none


def test_each_metric_is_held_against_its_own_contamination():
    values = [[NAN, NAN] if n % 4 == 0 else [1.0, 1.0] for n in range(40)]
    (found,) = alarms(["a"], [("x", "maximize"), ("y", "maximize")], Prescient(0.3, (0.3, 0.05)), [values])
    assert (found.kind, found.contamination) == ("failures", 0.05)


def test_the_evidence_names_the_reasons_most_frequent_first(snapshot: SnapshotAssertion):
    reasons = ["exit code 1"] * 25 + ["timeout after 10 s"] * 6 + ["b"] * 2 + ["a"] + [""] * 46
    values = [[NAN] if reason else [1.0] for reason in reasons]
    (found,) = alarms(["x"], [("speed", "maximize")], Prescient(0.1), [values], [reasons])
    assert said(found) == snapshot
    assert (found.failed, found.of) == (34, 80)
    assert found.chance == pytest.approx(4e-14, rel=0.2)
    assert (found.objective, found.kind) == (None, "failures")


def test_a_metric_that_alone_fails_is_named(snapshot: SnapshotAssertion):
    values = [[1.0, NAN]] * 20
    (found,) = alarms(["a"], [("x", "maximize"), ("y", "maximize")], Prescient(0.1), [values])
    assert found.objective == "y"
    assert (found.failed, found.of) == (20, 20)
    assert said(found) == snapshot


def test_a_share_fails_so_many_and_no_more(snapshot: SnapshotAssertion):
    """Nothing is left to chance: at ⌊εn⌋ there is no alarm however long it lasts, one more is proof."""
    values = np.random.default_rng(1).normal(size=(400, 1))
    values[9::10] = np.nan
    assert alarms(["a"], [("x", "maximize")], Share(0.1), [values]) == []
    values[395] = np.nan
    (alarm,) = alarms(["a"], [("x", "maximize")], Share(0.1), [values])
    assert isinstance(alarm, FailuresAlarm)
    assert (alarm.failed, alarm.of, alarm.allowed, alarm.chance) == (41, 400, 40, 0.0)
    assert said(alarm) == snapshot
    assert alarms(["a"], [("x", "maximize")], Prescient(0.1), [values]) == []  # chance alone may well do this
    assert FailuresAlarm("a", None, 1, 0.1, 1, 1, (), 0.1).allowed is None


def test_a_share_of_failures_is_found_at_its_first_excess():
    values = np.arange(40.0)[:, None] % 2
    values[[3, 12]] = np.nan  # one of ten is no proof at 0.1, but one of four is
    (alarm,) = alarms(["a"], [("x", "maximize")], Share(0.1), [values])
    assert (alarm.of, alarm.failed, alarm.allowed) == (4, 1, 0)
    assert alarms(["a"], [("x", "maximize")], Share(0.25), [values]) == []


def test_two_metrics_that_fail_by_themselves_may_each_use_up_what_is_allowed():
    """Hits of different objectives may be different ones: 19 % of pulls are then incomplete, and none too many."""
    rng = np.random.default_rng(2)
    values = rng.normal(size=(20_000, 2))
    values[rng.random((20_000, 2)) < 0.1] = np.nan
    assert alarms(["a"], [("x", "maximize"), ("y", "maximize")], Prescient(0.1), [values]) == []


def test_an_alarm_that_clean_pulls_have_diluted_since_says_when_it_was(snapshot: SnapshotAssertion):
    values = [[NAN]] * 10 + [[float(k % 2)] for k in range(2000)]
    (found,) = alarms(["a"], [("x", "maximize")], Prescient(0.1), [values])
    # Three of three have a probability of ε³ = 0.001, a fifth of what failures of an arm may use up of the 1 %.
    assert (found.failed, found.of) == (3, 3)
    assert said(found) == snapshot


def test_failures_alarm_no_more_often_than_promised_at_any_number_of_pulls():
    """Exactly, by the law of the count: what is left when every path that has raised the alarm is taken away."""
    eps, delta, last = 0.1, 0.005, 400
    pulls = np.arange(last + 1)
    allowed = pulls - np.asarray(anytime_rank(pulls, 1.0 - eps, delta))
    silent, alarmed = np.zeros(last + 2), 0.0
    silent[0] = 1.0
    for n in range(1, last + 1):
        silent = np.concatenate([[0.0], silent[:-1]]) * eps + silent * (1.0 - eps)
        alarmed += silent[allowed[n] + 1 :].sum()
        silent[allowed[n] + 1 :] = 0.0
    assert 0.2 * delta < alarmed < delta


def test_spread_is_not_held_against_objectives_whose_quantile_is_not_the_median():
    values = np.random.default_rng(0).normal(size=(256, 1)) * 100
    tail, middle = Objective("x", "maximize", quantile=0.9), Objective("x", "maximize", tolerance="2%")
    assert alarms(["a"], [tail], Prescient(0.1), [values], spread=Gaussian(1.0)) == []
    (found,) = alarms(["a"], [middle], Prescient(0.1), [values], spread=Gaussian(1.0))
    assert found.kind == "spread"
    assert "in logarithms" in str(found)


def test_one_value_for_ever_is_no_drift_and_within_every_spread():
    assert alarms(["a"], [("x", "maximize")], Prescient(0.0), [np.ones((4096, 1))], spread=Gaussian(1e-9)) == []
