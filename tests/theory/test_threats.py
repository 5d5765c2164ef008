"""The threat models' constants, by hand and by their meaning, and the edges of where they are valid."""

from __future__ import annotations

import math
import pickle
from dataclasses import FrozenInstanceError
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from frontguard.theory.threats import (
    EvenHanded,
    Malicious,
    Oblivious,
    Prescient,
    Share,
    Threat,
    checked_threat,
    threat_of,
)
from tests.support.snapshots import refusals, refused

MODELS: list[type[Threat]] = [Oblivious, Prescient, Malicious, Share, EvenHanded]
shares = st.floats(0.0, 0.49)
levels = st.floats(0.01, 0.499)


@pytest.mark.parametrize("model", MODELS)
@given(eps=shares)
def test_shift_is_what_an_attacker_can_reach(model: type[Threat], eps: float) -> None:
    """h by its meaning: attacked at its worst, half of what is seen is clean and below the level 1/2 + h."""
    threat = model(eps)
    assert threat.lasting(0.5 + threat.shift) == pytest.approx(0.5, abs=1e-12)


@pytest.mark.parametrize(
    ("threat", "shift", "kept", "parts"),
    [
        (Oblivious(0.2), Fraction(1, 8), Fraction(2, 5), 2),
        (Prescient(0.4), Fraction(1, 3), Fraction(3, 10), 2),
        (Malicious(0.4), Fraction(2, 5), Fraction(1, 10), 3),
        (Malicious(0.25), Fraction(1, 4), Fraction(1, 4), 3),
    ],
)
def test_constants_by_hand(threat: Threat, shift: Fraction, kept: Fraction, parts: int) -> None:
    assert threat.shift == pytest.approx(float(shift), rel=1e-15)
    assert threat.keep(0.5) == pytest.approx(float(kept), rel=1e-14)
    assert threat.confidence_parts == parts


@pytest.mark.parametrize("model", MODELS)
def test_no_contamination_is_the_clean_case(model: type[Threat]) -> None:
    threat = model(0)
    assert threat.eps == 0.0
    assert isinstance(threat.eps, float)
    assert threat.shift == 0.0
    assert [threat.keep(p) for p in (0.0, 0.3, 1.0)] == [0.0, 0.3, 1.0]
    assert [threat.lasting(p) for p in (0.0, 0.3, 1.0)] == [0.0, 0.3, 1.0]


@given(eps=st.floats(0.0, 0.49), drop=st.floats(0.0, 3.0), seed=st.integers(0, 99))
def test_what_does_not_know_the_arm_keeps_the_order_of_laws(eps: float, drop: float, seed: float) -> None:
    """Equal steps of two laws, one of which lies `drop` below: replaced alike, none of its levels rises above."""
    rng = np.random.default_rng(int(seed))
    higher, other = np.sort(rng.normal(size=50)), rng.normal(0.0, 3.0, 50)
    grid = np.linspace(-9.0, 9.0, 500)[:, None]
    above, below = ((1.0 - eps) * (each <= grid).mean(axis=1) + eps * (other <= grid).mean(axis=1)
                    for each in (higher, higher - drop))  # fmt: skip
    assert (below >= above - 1e-12).all()
    assert EvenHanded(eps).order_hits == 0.0


def test_malicious_keeps_nothing_of_an_event_rarer_than_its_share() -> None:
    assert Malicious(0.3).keep(0.2) == 0.0


@given(eps=shares, p=st.floats(0.0, 1.0))
def test_malicious_is_the_strongest(eps: float, p: float) -> None:
    assert Malicious(eps).shift >= Prescient(eps).shift
    assert Malicious(eps).keep(p) <= Prescient(eps).keep(p) + 1e-15


@pytest.mark.parametrize("model", MODELS)
@given(smaller=shares, larger=shares)
def test_shift_grows_with_eps(model: type[Threat], smaller: float, larger: float) -> None:
    smaller, larger = sorted((smaller, larger))
    assert model(smaller).shift <= model(larger).shift


@pytest.mark.parametrize("model", MODELS)
@given(t_bar=levels)
def test_largest_eps_solves_shift_equals_t_bar(model: type[Threat], t_bar: float) -> None:
    limit = model(0.0).largest_eps(t_bar)
    assert model(limit).shift == pytest.approx(t_bar, rel=1e-12)
    model(limit * (1.0 - 1e-9)).check(t_bar)
    with pytest.raises(ValueError):  # noqa: PT011
        model(limit).check(t_bar)


def test_a_share_is_taken_afterwards_from_what_chance_left() -> None:
    threat = Share(0.25)
    assert (threat.shift, threat.keep(0.5), threat.taken) == (0.25, 0.5, 0.25)
    assert threat.lasting(0.75) == 0.5
    assert threat.lasting(0.2) == 0.0  # all of it may be gone
    assert threat.largest_eps(0.4) == 0.4


@pytest.mark.parametrize("model", [Oblivious, Prescient, Malicious])
@given(eps=shares, p=st.floats(0.0, 1.0))
def test_where_hits_come_by_chance_nothing_is_taken_afterwards(model: type[Threat], eps: float, p: float) -> None:
    assert model(eps).taken == 0.0
    assert model(eps).lasting(p) == model(eps).keep(p)


def test_a_share_has_no_lemmas_and_says_so(snapshot: SnapshotAssertion) -> None:
    assert [model(0.1).has_lemmas for model in MODELS] == [True, True, True, False, True]
    with refused(ValueError, snapshot):
        _ = Share(0.1).confidence_parts


def test_what_is_no_model_is_refused_with_all_of_them(snapshot: SnapshotAssertion) -> None:
    assert checked_threat(Share(0.1)) == Share(0.1)
    with refused(ValueError, snapshot):
        checked_threat(0.1)


def test_largest_eps_by_hand() -> None:
    assert Oblivious(0.0).largest_eps(0.25) == pytest.approx(1 / 3, rel=1e-15)
    assert Prescient(0.0).largest_eps(0.49) == pytest.approx(0.98 / 1.98, rel=1e-15)
    assert Malicious(0.0).largest_eps(0.25) == 0.25


def test_check_says_what_is_allowed_and_why(snapshot: SnapshotAssertion) -> None:
    with refused(ValueError, snapshot):
        Prescient(0.4).check(0.25)
    Prescient(0.4).check(0.49)


@pytest.mark.parametrize("model", MODELS)
def test_numbers_outside_their_ranges_are_refused(model: type[Threat], snapshot: SnapshotAssertion) -> None:
    t_bars: list[Any] = [0.0, 0.5, -0.1, 1.0, math.nan, True, "0.4"]
    shares: list[Any] = [-1e-9, 0.5, 0.7, math.nan, math.inf, True, False, "0.1", None, 0.1j, [0.1]]
    assert refusals(ValueError, [partial(model(0.1).check, t_bar) for t_bar in t_bars]) == snapshot(name="t_bar")
    assert refusals(ValueError, [partial(model, eps) for eps in shares]) == snapshot(name="eps")
    kept = [partial(model(0.1).keep, p) for p in (-0.1, 1.1, math.nan, True)]
    assert refusals(ValueError, kept) == snapshot(name="probability")


def test_numbers_of_numpy_and_fractions_are_numbers() -> None:
    assert Malicious(np.float64(0.25)) == Malicious(0.25)  # type: ignore[arg-type, unused-ignore]
    assert Malicious(Fraction(1, 4)).eps == 0.25  # type: ignore[arg-type]


def test_values_are_frozen_compared_and_pickled() -> None:
    for model in MODELS:
        threat = model(0.1)
        with pytest.raises(FrozenInstanceError):
            threat.eps = 0.2  # type: ignore[misc]
        assert pickle.loads(pickle.dumps(threat)) == threat
        assert repr(threat) == f"{model.__name__}(eps=0.1)"
    assert len({model(0.1) for model in MODELS}) == len(MODELS)  # equal eps, different models


def test_the_base_is_no_model() -> None:
    with pytest.raises(TypeError):
        Threat(0.1)  # type: ignore[abstract]


def test_models_by_name(snapshot: SnapshotAssertion) -> None:
    for model in MODELS:
        assert threat_of(model.name, 0.2) == model(0.2)
        assert type(threat_of(model.name.upper(), 0.2)) is model
    with refused(ValueError, snapshot):
        threat_of("evil", 0.1)
    with refused(ValueError, snapshot):
        threat_of(3, 0.1)  # type: ignore[arg-type]
