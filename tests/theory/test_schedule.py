"""R-PSI's phases and widths against high precision, closed forms and naive sums."""

from __future__ import annotations

import math
import pickle
from functools import partial
from typing import Any

import mpmath as mp  # type: ignore[import-untyped]
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from frontguard.theory.schedule import MOST_PHASES, Schedule
from frontguard.theory.spread import CustomSpread, Gaussian, SpreadBound, Subgaussian, Uniform
from frontguard.theory.threats import Malicious, Oblivious, Prescient, Share, Threat
from tests.support.snapshots import refusals, refused

MODELS: list[type[Threat]] = [Oblivious, Prescient, Malicious]
SW_LLVM: dict[str, Any] = {"arms": 16, "objectives": 2, "delta": 0.1, "t_bar": 0.49}


def exact_shift(threat: Threat) -> Any:
    """h with 40 digits, written a second time from the paper."""
    eps = mp.mpf(threat.eps)
    return eps if isinstance(threat, Malicious) else eps / (2 * (1 - eps))


def exact_pulls(threat: Threat, arms: int, objectives: int, delta: float, t_bar: float, tau: int) -> int:
    """n_τ with 40 digits, written a second time from the paper."""
    with mp.workdps(40):
        beta = (mp.mpf(t_bar) - exact_shift(threat)) ** -2
        delta_tilde = mp.mpf(delta) / (3 if isinstance(threat, Malicious) else 2)
        scale = mp.pi**2 * objectives * arms / (6 * delta_tilde)
        if tau == 1:
            return int(mp.ceil(2 * beta * mp.log(scale)))
        steps = 4 * tau * beta * mp.log(mp.mpf(tau) / (tau - 1)) + 2 * beta * mp.log((tau - 1) ** 2 * scale)
        return 1 + int(mp.ceil(steps))


def clean(spread: SpreadBound | None = None, **changes: Any) -> Schedule:
    return Schedule(**{"threat": Oblivious(0.0), "spread": spread or Uniform(1.0), **SW_LLVM, **changes})


schedules = st.builds(
    lambda model, share, spread, arms, objectives, delta, t_bar: Schedule(
        model(share * model(0.0).largest_eps(t_bar)), spread, arms, objectives, delta, t_bar
    ),
    st.sampled_from(MODELS),
    st.floats(0.0, 0.95),
    st.sampled_from([Subgaussian(0.2), Gaussian(3.0), Uniform(1.0), CustomSpread(math.sqrt)]),
    st.integers(1, 50),
    st.integers(1, 8),
    st.floats(1e-6, 0.999),
    st.floats(0.05, 0.4999),
)


def test_the_published_setting_by_hand() -> None:
    """2/0.49² · log(32 π² / (6 · 0.05)) = 8.3299 · 6.9592 = 57.97."""
    schedule = clean(Subgaussian(0.2))
    assert schedule.first_pulls == 58
    assert schedule.beta == pytest.approx(4.164931278633902, rel=1e-12)
    assert schedule.delta_tilde == 0.05
    assert schedule.bias == pytest.approx(0.47096400900618986, rel=1e-12)
    # √log 100 and √log 2: the whole range up to t̄ = 0.49 is left after one phase.
    assert schedule.width(1) == pytest.approx(0.2 * math.sqrt(2) * (2.1459660262893472 - 0.8325546111576977), rel=1e-12)


@pytest.mark.parametrize("threat", [Oblivious(0.0), Oblivious(0.3), Prescient(0.4), Malicious(0.05), Malicious(0.45)])
def test_constants_and_pulls_with_high_precision(threat: Threat) -> None:
    schedule = Schedule(threat, Gaussian(1.0), **SW_LLVM)
    assert schedule.shift == threat.shift
    assert schedule.delta_tilde == pytest.approx(0.1 / threat.confidence_parts, rel=1e-15)
    phases = np.array([1, 2, 3, 7, 100, 12345, 10**7])
    wanted = [exact_pulls(threat, tau=int(tau), **SW_LLVM) for tau in phases]
    assert schedule.phase_pulls(phases).tolist() == wanted
    assert [schedule.phase_pulls(int(tau)) for tau in phases] == wanted
    assert schedule.first_pulls == wanted[0]
    assert schedule.phase_pulls(phases).dtype == np.int64
    assert isinstance(schedule.phase_pulls(3), int)


@pytest.mark.parametrize("threat", [Oblivious(0.0), Prescient(0.3), Malicious(0.3)])
def test_widths_with_high_precision(threat: Threat) -> None:
    sigma = 0.7
    schedule = Schedule(threat, Subgaussian(sigma), **SW_LLVM)
    with mp.workdps(40):
        h = exact_shift(threat)
        for tau in (1, 2, 9, 1000, 10**6):
            level = h + (mp.mpf(0.49) - h) / mp.sqrt(tau)
            root_after, root_before = (mp.sqrt(-mp.log(mp.mpf(1) / 2 - t)) for t in (level, h))
            wanted = float(mp.mpf(sigma) * mp.sqrt(2) * (root_after - root_before))
            assert schedule.width(tau) == pytest.approx(wanted, rel=1e-9)
            assert schedule.width(np.array([tau]))[0] == schedule.width(tau)
    assert schedule.bias == schedule.spread(threat.shift)


@given(schedule=schedules)
def test_phases_never_shorten(schedule: Schedule) -> None:
    phases = np.arange(1, 40)
    pulls = [schedule.phase_pulls(int(tau)) for tau in phases]
    assert pulls == sorted(pulls)
    assert schedule.phase_pulls(phases).tolist() == pulls


@given(schedule=schedules)
def test_widths_shrink_to_nothing(schedule: Schedule) -> None:
    widths = schedule.width(np.arange(1, 200))
    assert (widths >= 0.0).all()
    assert (np.diff(widths) <= 1e-12).all()
    assert schedule.width(10**12) < 1e-2 * widths[0] + 1e-9


@given(schedule=schedules, share=st.floats(0.02, 1.2))
def test_phases_until_is_the_first(schedule: Schedule, share: float) -> None:
    """Against a linear scan."""
    width = share * schedule.width(1)
    if width == 0.0:
        return
    found = schedule.phases_until(width)
    assert found == 1 + int(np.argmax(schedule.width(np.arange(1, found + 1)) <= width))


@given(width=st.floats(0.002, 2.0), size=st.floats(0.5, 2.0))
def test_phases_until_in_closed_form(width: float, size: float) -> None:
    """Uniform rewards: size (t̄ − h)/√τ ≤ width."""
    schedule = Schedule(Malicious(0.1), Uniform(size), 3, 2, 0.1)
    root = (size * 0.39 / width) ** 2
    assert schedule.phases_until(width) in {max(1, math.ceil(root * (1 + s))) for s in (-1e-9, 0.0, 1e-9)}


def test_widths_that_are_never_reached_are_refused(snapshot: SnapshotAssertion) -> None:
    schedule = clean(Uniform(1.0))
    with refused(ValueError, snapshot):
        schedule.phases_until(1e-6)
    assert schedule.phases_until(0.49 / math.sqrt(MOST_PHASES) * (1 + 1e-9)) == MOST_PHASES
    jump = clean(CustomSpread(lambda t: t if t == 0.0 else 1.0 + t))
    assert jump.phases_until(1.1) > 1
    with refused(ValueError, snapshot):
        jump.phases_until(0.9)
    flat = clean(CustomSpread(lambda t: 2.0))
    assert flat.phases_until(0.0) == 1


@pytest.mark.parametrize("width", [-1e-9, math.nan, math.inf, "1"])
def test_phases_until_refuses_what_is_no_width(width: Any, snapshot: SnapshotAssertion) -> None:
    with refused(ValueError, snapshot):
        clean().phases_until(width)


def test_tables(snapshot: SnapshotAssertion) -> None:
    schedule = Schedule(Prescient(0.1), Subgaussian(0.2), **SW_LLVM)
    pulls, widths = schedule.tables(0.1)
    last = schedule.phases_until(0.025)
    assert len(pulls) == len(widths) == last + 1
    assert pulls.dtype == np.int64
    assert widths.dtype == np.float64
    assert pulls[0] == 0
    assert widths[0] == math.inf
    assert pulls[1:].tolist() == [schedule.phase_pulls(tau) for tau in range(1, last + 1)]
    assert widths[1:].tolist() == [schedule.width(tau) for tau in range(1, last + 1)]
    assert widths[-1] <= 0.025 < widths[-2]
    for wrong in (0.0, -0.1, math.nan, True):
        with refused(ValueError, snapshot):
            schedule.tables(wrong)


def test_r_is_never_asked_beyond_t_bar() -> None:
    """h + (t̄ − h) rounds to more than t̄ for some ε, and there R need not be defined."""
    t_bar, rounded_up = 0.45, 0

    def defined_to_the_brim(t: float) -> float:
        assert np.max(t) <= t_bar
        return t

    for eps in np.linspace(0.0, 0.44, 200):
        threat = Malicious(float(eps))
        rounded_up += threat.shift + (t_bar - threat.shift) > t_bar
        schedule = Schedule(threat, CustomSpread(defined_to_the_brim), 2, 2, 0.1, t_bar)
        assert schedule.width(1) == pytest.approx(t_bar - eps, rel=1e-12)
    assert rounded_up > 0


# Limits.


def test_a_share_is_refused_as_the_lemmas_do_not_speak_of_it(snapshot: SnapshotAssertion) -> None:
    with refused(ValueError, snapshot):
        Schedule(Share(0.1), Subgaussian(0.2), arms=2, objectives=1, delta=0.1)


@pytest.mark.parametrize("model", MODELS)
def test_vanishing_contamination_recovers_the_clean_case(model: type[Threat]) -> None:
    without, almost = (Schedule(model(eps), Gaussian(1.0), **SW_LLVM) for eps in (0.0, 1e-13))
    assert without.bias == 0.0
    assert almost.bias == pytest.approx(0.0, abs=1e-12)
    assert almost.beta == pytest.approx(0.49**-2, rel=1e-11)
    assert almost.phase_pulls(20) == without.phase_pulls(20)
    np.testing.assert_allclose(almost.width(np.arange(1, 9)), without.width(np.arange(1, 9)), rtol=1e-10)


@pytest.mark.parametrize("model", MODELS)
def test_pulls_diverge_as_h_approaches_t_bar(model: type[Threat], snapshot: SnapshotAssertion) -> None:
    limit = model(0.0).largest_eps(0.4)
    firsts = [
        Schedule(model(limit * (1 - gap)), Uniform(1.0), 2, 2, 0.1, 0.4).first_pulls for gap in (1e-2, 1e-4, 1e-6)
    ]
    # β is an inverse square: a hundredth of the distance takes ten thousand times the pulls.
    assert firsts[1] / firsts[0] == pytest.approx(1e4, rel=0.05)
    assert firsts[2] / firsts[1] == pytest.approx(1e4, rel=0.05)
    with refused(ValueError, snapshot):
        Schedule(model(limit), Uniform(1.0), 2, 2, 0.1, 0.4)
    with refused(ValueError, snapshot):
        Schedule(model(limit * (1 - 1e-11)), Uniform(1.0), 2, 2, 0.1, 0.4).first_pulls  # noqa: B018


# Construction.


def test_bias_override_leaves_the_widths_alone(snapshot: SnapshotAssertion) -> None:
    plain, overridden = clean(Subgaussian(0.2)), clean(Subgaussian(0.2), bias_override=0)
    assert plain.bias > 0.4
    assert overridden.bias == 0.0
    assert plain.width(5) == overridden.width(5)
    assert plain.first_pulls == overridden.first_pulls
    for wrong in (-0.1, math.nan, True, "0"):
        with refused(ValueError, snapshot):
            clean(bias_override=wrong)


def test_parameters_are_checked(snapshot: SnapshotAssertion) -> None:
    changes: list[dict[str, Any]] = [
        {"threat": "oblivious"},
        {"threat": Malicious(0.495)},
        {"spread": 0.2},
        {"spread": CustomSpread(lambda t: 1.0 - t)},
        {"arms": 0},
        {"arms": 2.0},
        {"arms": True},
        {"objectives": -1},
        {"delta": 0.0},
        {"delta": 1.0},
        {"delta": math.nan},
        {"t_bar": 0.5},
        {"t_bar": 0.0},
    ]
    assert refusals(ValueError, [partial(clean, **change) for change in changes]) == snapshot


def test_phases_are_counted_from_one(snapshot: SnapshotAssertion) -> None:
    phases: list[Any] = [0, -1, 1.5, np.array([1, 0]), np.array([1.0]), "1"]
    for method in (clean().phase_pulls, clean().width):
        assert refusals(ValueError, [partial(method, tau) for tau in phases]) == snapshot(name=method.__name__)


def test_schedules_accept_functions_compare_and_pickle() -> None:
    schedule = Schedule(Malicious(0.1), math.sqrt, np.int64(3), 2, 0.1)  # type: ignore[arg-type]
    assert schedule.spread == CustomSpread(math.sqrt)
    assert schedule == Schedule(Malicious(0.1), CustomSpread(math.sqrt), 3, 2, 0.1)
    again = pickle.loads(pickle.dumps(schedule))
    assert again == schedule
    assert hash(again) == hash(schedule)
    assert again.bias == schedule.bias
