"""False alarms of gates in small: equal programs, with outliers and on machines that drift; and what is detected."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.gate import DELTA, DRIFTS, TOLERANCE, World, agree, many_gates

from frontguard.comparisons.outcomes import Outcome


@pytest.mark.parametrize("machine", DRIFTS)
def test_gates_side_by_side_find_what_the_policy_finds(machine: str) -> None:
    assert agree(World(DRIFTS[machine], 0.03), 3, seed=1)


@pytest.mark.parametrize("machine", DRIFTS)
def test_equal_programs_are_hardly_ever_called_worse(machine: str) -> None:
    """Of 1,000 gates 50 may be; hardly any is, as ε is allowed for and nobody lies."""
    gates = many_gates(World(DRIFTS[machine]), 1000, seed=2)
    assert gates.count(Outcome.WORSE) <= DELTA * 1000 / 5
    assert gates.means_worse.mean() > 0.2  # the same values, by means


def test_a_difference_of_the_tolerance_is_hardly_ever_called_more() -> None:
    gates = many_gates(World(slowdown=TOLERANCE, outliers=0.0), 1000, seed=3)
    assert gates.count(Outcome.WORSE) <= DELTA * 1000


def test_a_slowdown_of_5_percent_is_found() -> None:
    """In as many runs a side as are promised: 20 in some quantile, 40 in the median, fewer than by two intervals."""
    gates = many_gates(World(slowdown=0.05, outliers=0.0), 300, seed=4)
    assert gates.count(Outcome.WORSE) == 300
    pulls, by_median, by_intervals = (
        np.median(each) / 2 for each in (gates.pulls, gates.by_median, gates.by_intervals)
    )
    assert pulls <= 20
    assert by_median <= 40 < by_intervals
