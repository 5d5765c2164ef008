"""False alarms of gates in small: equal programs, with outliers and on machines that drift; and what is detected."""

from __future__ import annotations

import pytest
from benchmarks.gate import DELTA, DRIFTS, TOLERANCE, World, agree, many_gates

from frontguard import Objective
from frontguard.comparisons.outcomes import Outcome


@pytest.mark.parametrize("machine", DRIFTS)
def test_gates_side_by_side_find_what_the_policy_finds(machine: str) -> None:
    assert agree(World(DRIFTS[machine], 0.03), 3, seed=1)


@pytest.mark.parametrize("machine", DRIFTS)
def test_equal_programs_are_hardly_ever_called_worse(machine: str) -> None:
    """Of 1,000 gates 50 may be; of intervals that are made for it, none is."""
    gates = many_gates(World(DRIFTS[machine]), 1000, seed=2)
    assert gates.count(Outcome.WORSE) <= DELTA * 1000 / 5
    assert gates.means_worse.mean() > 0.2  # the same values, by means


def test_a_difference_of_the_tolerance_is_hardly_ever_called_more() -> None:
    gates = many_gates(World(slowdown=TOLERANCE, outliers=0.0), 1000, seed=3)
    assert gates.count(Outcome.WORSE) <= DELTA * 1000


def test_a_slowdown_of_5_percent_is_found() -> None:
    gates = many_gates(World(slowdown=0.05), 300, seed=4)
    assert gates.count(Outcome.WORSE) == 300
    assert sorted(gates.pulls.tolist())[150] < 200


def test_boxes_that_are_intersected_over_time_would_call_equal_programs_worse(monkeypatch: pytest.MonkeyPatch) -> None:
    """Why a gate reads those of the present samples: on a machine that drifts the others fail."""
    from benchmarks import gate

    monkeypatch.setattr(gate, "SECONDS", Objective("seconds", "minimize", tolerance="0.5%"))
    world = World(DRIFTS["20 % slower over 400 pulls"])
    assert many_gates(world, 300, seed=5).count(Outcome.WORSE) == 0
    assert many_gates(world, 300, seed=5, intersected=True).count(Outcome.WORSE) > DELTA * 300
