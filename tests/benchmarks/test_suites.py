"""Gates of suites side by side are those of `frontguard.gate`, and hardly ever say anything false."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.suites import DELTA, THREATS, TOLERANCE, feigned, hidden, many, one_by_one, suites

from frontguard import Prescient, Threat


@pytest.mark.parametrize(("sessions", "eps", "slow"), [(7, 0.0, 1.1), (9, 0.1, 1.0), (8, 0.1, 1.04)])
def test_gates_side_by_side_are_those_of_frontguard(sessions: int, eps: float, slow: float) -> None:
    sides = suites(np.random.default_rng(1), 4, sessions, float(np.log(slow)))
    assert one_by_one(sides, Prescient(eps)) == many(sides, Prescient(eps)).exits.tolist()


@pytest.mark.parametrize("threat", THREATS, ids=str)
def test_hardly_any_gate_says_something_false(threat: Threat) -> None:
    most = 400 * DELTA / 2 + 3.0 * np.sqrt(400 * DELTA / 2)
    rng = np.random.default_rng(2)
    assert many(feigned(rng, 400, 12, threat, together=False), threat).worse.sum() <= most
    found = many(hidden(rng, 400, 12, threat, together=False), threat).at_worst
    assert (found <= TOLERANCE).sum() <= most


def test_hits_that_are_not_allowed_for_are_seen() -> None:
    rng, attacked = np.random.default_rng(3), Prescient(0.3)
    assert many(feigned(rng, 200, 12, attacked, together=False), Prescient(0.0)).worse.mean() > DELTA
    slow = hidden(rng, 200, 12, attacked, together=False)
    assert (many(slow, Prescient(0.0)).at_worst <= TOLERANCE).mean() > DELTA
