"""Suspected contamination: hardly anything of clean samples, most of what lies far out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from frontguard import Objective, Prescient, Study, analyze
from frontguard.evidence.measurements import Ordered
from frontguard.logs.answer import looks_dirtier
from frontguard.notices import LooksDirtier
from frontguard.pareto.judge import Verdicts
from frontguard.question import Question
from frontguard.reports.of_results import study_report
from frontguard.studies.alarms import (
    FAR,
    FEWEST,
    MOST_ARMS,
    MOST_VALUES,
    arms_that_matter,
    dirtier_than,
    look_at,
    suspects,
)
from frontguard.verdicts import Verdict
from tests.support.snapshots import said

Draw = Callable[[np.random.Generator, int], np.ndarray]


def stars(*shares: float) -> Draw:
    return lambda rng, n: rng.choice(len(shares), size=n, p=shares) + 1.0


CLEAN: dict[str, Draw] = {
    "normal": lambda rng, n: rng.normal(5.0, 2.0, n),
    "uniform": lambda rng, n: rng.uniform(-1.0, 1.0, n),
    "exponential": lambda rng, n: rng.exponential(3.0, n),
    "lognormal": lambda rng, n: rng.lognormal(0.0, 1.0, n),
    "lognormal to the left": lambda rng, n: -rng.lognormal(0.0, 1.0, n),
    "ratings": stars(0.06, 0.11, 0.27, 0.35, 0.21),
    "ratings, most of them the best": stars(0.05, 0.03, 0.07, 0.2, 0.65),
    "counts": lambda rng, n: rng.poisson(0.7, n).astype(float),
}


@pytest.mark.parametrize("shape", CLEAN)
@pytest.mark.parametrize("size", [FEWEST, 40, 1000])
def test_about_one_in_a_hundred_clean_values_at_most(shape: str, size: int) -> None:
    rng = np.random.default_rng(1)
    marked = np.mean([suspects(CLEAN[shape](rng, size)).mean() for _ in range(20_000 // size)])
    assert marked <= 0.015


def test_the_probabilities_behind_the_threshold() -> None:
    rng = np.random.default_rng(2)
    assert not suspects(rng.normal(size=200_000)).any()
    assert not suspects(rng.uniform(size=200_000)).any()
    assert suspects(rng.exponential(size=200_000)).mean() == pytest.approx(
        0.5 * np.exp(-1.4826 * np.log(2) * FAR), rel=0.5
    )
    assert 0.006 < suspects(rng.lognormal(size=200_000)).mean() < 0.011


@pytest.mark.parametrize("share", [0.05, 0.1, 0.2])
@pytest.mark.parametrize("shape", ["normal", "uniform", "exponential"])
@pytest.mark.parametrize("sides", [(1.0,), (-1.0,), (-1.0, 1.0)], ids=["above", "below", "both"])
def test_most_far_values_are_found_and_few_others(share: float, shape: str, sides: tuple[float, ...]) -> None:
    rng = np.random.default_rng(3)
    values = CLEAN[shape](rng, 1000)
    hit = rng.random(1000) < share
    far = values.mean() + values.std() * rng.uniform(20.0, 60.0, 1000) * rng.choice(sides, 1000)
    marked = suspects(np.where(hit, far, values))
    assert marked[hit].mean() >= 0.9
    assert marked[~hit].mean() <= 0.01


def test_a_constant_with_a_few_others() -> None:
    values = np.full(200, 16384.0)
    values[[3, 50, 120]] = 0.0, 90_000.0, 17_000.0
    assert np.flatnonzero(suspects(values)).tolist() == [3, 50, 120]
    assert not suspects(np.full(200, 16384.0)).any()


def test_logarithms_are_compared_where_the_tolerance_is_relative() -> None:
    rng = np.random.default_rng(4)
    values = rng.lognormal(0.0, 2.0, 2000)
    assert suspects(values).sum() > 20
    assert suspects(values, relative=True).sum() == 0
    values[7], values[8] = values.max() * 1e6, values.min() / 1e9
    assert np.flatnonzero(suspects(values, relative=True)).tolist() == [7, 8]


def test_failed_and_unusable_values_are_never_suspected() -> None:
    rng = np.random.default_rng(5)
    values = np.exp(rng.normal(size=300))
    values[:5], values[5], values[6] = np.nan, 0.0, -4.0
    values[7] = 1e12
    assert np.flatnonzero(suspects(values, relative=True)).tolist() == [7]
    assert np.flatnonzero(suspects(values))[-1] >= 7
    assert not suspects(values)[:5].any()


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True), max_size=40), st.booleans())
def test_any_values_are_taken(values: list[float], relative: bool) -> None:
    marked = suspects(values, relative=relative)
    assert marked.shape == (len(values),)
    if len(values) < FEWEST:
        assert not marked.any()


@given(st.lists(st.floats(-1e6, 1e6), min_size=FEWEST, max_size=60), st.randoms())
def test_the_order_does_not_matter_and_neither_do_the_units(values: list[float], random: object) -> None:
    array = np.array(values)
    order = np.random.default_rng(0).permutation(len(array))
    np.testing.assert_array_equal(suspects(array[order]), suspects(array)[order])
    np.testing.assert_array_equal(suspects(-4.0 * array), suspects(array))


# Dirtier than declared ------------------------------------------------------------------------------------------------

SHAPES: dict[str, Draw] = {
    **CLEAN,
    "normal, far from 0": lambda rng, n: rng.normal(100.0, 1.0, n),
    "narrow lognormal": lambda rng, n: rng.lognormal(0.0, 0.1, n),
    "wide lognormal": lambda rng, n: rng.lognormal(0.0, 2.0, n),
    "counts of many": lambda rng, n: rng.poisson(20.0, n).astype(float),
    "constant": lambda rng, n: np.full(n, 4976.0),
    "rounded": lambda rng, n: np.round(rng.normal(5.0, 2.0, n), 1),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_clean_samples_raise_no_hint(shape: str) -> None:
    rng = np.random.default_rng(4)
    for size, samples in ((30, 300), (50, 200), (100, 150), (300, 60), (1000, 30)):
        found = [dirtier_than({"x": 0.0}, [("a", "x", look_at(SHAPES[shape](rng, size)))]) for _ in range(samples)]
        assert found == [None] * samples


@pytest.mark.parametrize("share", [0.3, 0.4, 0.45])
@pytest.mark.parametrize("shape", ["normal", "uniform", "narrow lognormal", "normal, far from 0"])
@pytest.mark.parametrize("lies", ["one value", "above", "both sides"])
def test_many_gross_outliers_at_a_declared_zero_do(share: float, shape: str, lies: str) -> None:
    rng = np.random.default_rng(5)
    for size in (100, 300, 1000):
        clean = SHAPES[shape](rng, size)
        far = 50.0 * (np.abs(clean).max() + 1.0)
        replaced = {
            "one value": np.full(size, far),
            "above": far * rng.uniform(1.0, 2.0, size),
            "both sides": far * rng.choice([-1.0, 1.0], size),
        }[lies]
        values = clean.copy()
        values[: round(share * size)] = replaced[: round(share * size)]
        found = dirtier_than({"x": 0.0}, [("clean", "x", look_at(clean)), ("dirty", "x", look_at(values))])
        assert found is not None
        assert (found.arm, found.arms, found.of) == ("dirty", 1, 2)
        assert found.share == pytest.approx(share, abs=0.06)
        assert dirtier_than({"x": share}, [("dirty", "x", look_at(values))]) is None  # declared


def test_one_value_among_others_that_all_differ_is_a_sign(snapshot: SnapshotAssertion) -> None:
    rng = np.random.default_rng(6)
    values = rng.normal(5.0, 2.0, 200)
    values[:60] = 5.0  # in the midst of the others: a stuck sensor
    found = dirtier_than({"x": 0.0}, [("a", "x", look_at(values))])
    assert found is not None
    assert (found.sign, found.share) == ("ties", 0.3)
    assert said(found) == snapshot


def test_arms_that_matter_are_those_that_are_in_or_decide() -> None:
    codes = np.array(
        [Verdict.KEEP, Verdict.BEATEN, Verdict.UNDECIDED, Verdict.MATCHED, Verdict.EXCLUDED, Verdict.UNDECIDED]
    )
    decided_by = np.array([5, 0, 3, 0, 2, -1])
    assert arms_that_matter(codes, decided_by, np.array([9, 9, 9, 10, 9, 11])).tolist() == [5, 3, 0]
    many = np.full(100_000, int(Verdict.KEEP))
    assert len(arms_that_matter(many, np.full(100_000, -1), np.ones(100_000, np.int64))) == MOST_ARMS


class Spied:
    """A log that counts the values that are read of it for the hint."""

    def __init__(self, log: Ordered) -> None:
        self._log, self.read = log, 0

    def __getattr__(self, name: str) -> object:
        return getattr(self._log, name)

    def at(self, metric: int, arms: np.ndarray, ranks: np.ndarray, side: int = 0) -> np.ndarray:
        self.read += len(ranks)
        return self._log.at(metric, arms, ranks, side)


def test_the_hint_costs_the_same_with_many_arms() -> None:
    rng = np.random.default_rng(7)
    K, n = 3000, 700
    values = np.sort(rng.normal(0.0, 1.0, (K, n)), axis=1)
    log = Spied(
        Ordered([f"{i:05}" for i in range(K)], ("x",), np.full(K, n), np.arange(K + 1)[None] * n, (values.ravel(),))
    )
    verdicts = Verdicts(np.full(K, int(Verdict.KEEP)), np.full(K, -1), np.ones(K, np.bool_), 0.0, 0.0)
    question = Question((Objective("x", "maximize"),), Prescient(0.0))
    assert looks_dirtier(log, question, verdicts) == ()  # type: ignore[arg-type]
    assert 0 < log.read <= MOST_ARMS * MOST_VALUES


def test_it_stands_beside_the_answers_of_logs_and_studies(tmp_path: Path) -> None:
    rng = np.random.default_rng(8)
    lied = rng.random(400) < 0.4

    def measured(arm: int, number: int) -> float:
        return 500.0 if arm == 0 and lied[number % 400] else float(rng.normal(10.0 + 10 * arm, 0.5))

    rows = [(f"arm {arm}", measured(arm, number)) for arm in (0, 1) for number in range(200)]
    frame = {"arm": [name for name, _ in rows], "seconds": [value for _, value in rows]}
    for eps, wanted in ((0.0, 1), (0.05, 1), (0.4, 0)):
        found = analyze(frame, minimize="seconds", contamination=eps)
        assert [notice.kind for notice in found.notices].count("looks_dirtier") == wanted
    study = Study(
        ["arm 0", "arm 1"], [Objective("seconds", "minimize", 0.01)], Prescient(0.0), storage=tmp_path / "s.db"
    )
    for _ in range(4):
        study.tell_many([(pull, [measured(pull.index, pull.id)]) for pull in study.ask(100)])
    (hint,) = [notice for notice in study.result().notices if isinstance(notice, LooksDirtier)]
    assert (hint.arm, hint.objective, hint.contamination) == ("arm 0", "seconds", 0.0)
    assert hint in analyze(tmp_path / "s.db").notices
    assert str(hint) in study_report(study.storage, "study").warnings
    calm = Study(["a", "b"], [Objective("x", "maximize", tolerance=0.01)], Prescient(0.0))
    for _ in range(4):
        calm.tell_many([(pull, [float(rng.normal(pull.index, 1.0))]) for pull in calm.ask(100)])
    assert not [notice for notice in calm.result().notices if isinstance(notice, LooksDirtier)]
    study.close()
