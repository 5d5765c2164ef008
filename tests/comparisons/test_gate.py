"""The rule of a gate against what it promises, on intervals of all shapes; and up to which ε outcomes stand."""

from __future__ import annotations

import numpy as np
import pytest

from frontguard import Objective
from frontguard.comparisons.effects import Contrast, Effect, Span
from frontguard.comparisons.outcomes import Check, GateDetails, GatePair, Outcome, outcomes_of, up_to

SECONDS = Objective("seconds", "minimize", tolerance=0.5)


def test_what_is_called_worse_or_not_worse_is_so_for_all_that_the_boxes_allow() -> None:
    """By brute force: every pair of true values within the intervals, on a grid that has their ends."""
    rng = np.random.default_rng(0)
    tolerance = 0.5
    seen = set()
    for _ in range(400):
        mine, its = np.sort(rng.integers(-8, 8, (2, 2)) / 4.0, axis=1)
        worst, best = np.array([[mine[0] - its[1]]]), np.array([[mine[1] - its[0]]])
        outcome = Outcome(int(outcomes_of(worst, best, np.array([tolerance]))[0, 0]))
        grid = [(m, b) for m in np.linspace(*mine, 9) for b in np.linspace(*its, 9)]
        truly_worse = [b - m > tolerance for m, b in grid]
        naive = Outcome.WORSE if all(truly_worse) else Outcome.NOT_WORSE if not any(truly_worse) else Outcome.OPEN
        assert outcome == naive, (mine, its)
        seen.add(outcome)
    assert seen == set(Outcome)


@pytest.mark.parametrize(("worst", "best", "outcome"), [(-np.inf, np.inf, "open"), (-0.5, np.inf, "not worse"),
                                                        (-np.inf, -0.6, "worse"), (-np.inf, -0.5, "open")])  # fmt: skip
def test_ends_that_are_not_known_and_ends_at_the_tolerance(worst: float, best: float, outcome: str) -> None:
    found = outcomes_of(np.array([[worst]]), np.array([[best]]), np.array([0.5]))
    assert Outcome(int(found[0, 0])).word == outcome


def check(contrast: Contrast, stands: float | None = None) -> Check:
    return Check(Effect(SECONDS, Span(0.0, -1.0, 1.0), None, contrast), stands)


def result(*pairs: tuple[Check, ...]) -> GateDetails:
    made = tuple(GatePair(f"pr {i}", f"pr {i}", "main", checks, 10, 10) for i, checks in enumerate(pairs))
    return GateDetails(made, "decided")


def test_a_gate_is_worse_if_anything_is_and_not_worse_if_all_is() -> None:
    fine, bad, opened = check(Contrast.ALIKE, 0.3), check(Contrast.WORSE, 0.2), check(Contrast.OPEN)
    assert result((fine, fine), (fine, fine)).outcome == Outcome.NOT_WORSE
    assert result((fine, opened), (fine, fine)).outcome == Outcome.OPEN
    assert result((fine, opened), (bad, fine)).outcome == Outcome.WORSE
    assert check(Contrast.NO_BETTER).outcome == Outcome.OPEN  # perhaps worse by more than the tolerance
    assert check(Contrast.NO_WORSE).outcome == Outcome.NOT_WORSE


def test_a_gate_stands_with_its_weakest_check_and_falls_with_its_strongest() -> None:
    weak, strong = check(Contrast.ALIKE, 0.15), check(Contrast.ALIKE, 0.3)
    assert result((weak, strong)).holds_up_to == 0.15
    assert result((check(Contrast.WORSE, 0.2), check(Contrast.WORSE, 0.4), weak)).holds_up_to == 0.4
    assert result((check(Contrast.OPEN), strong)).holds_up_to is None
    assert result((check(Contrast.ALIKE), strong)).holds_up_to is None  # not known of one of them


def test_bisection_finds_what_looking_at_every_level_finds() -> None:
    rng = np.random.default_rng(1)
    for _ in range(50):
        levels = np.round(0.1 + 0.001 * np.arange(int(rng.integers(1, 400))), 12)
        lost, codes = rng.uniform(0.0, 0.6, (4, 2)), rng.integers(0, 3, (4, 2))

        def at(eps: float, lost: np.ndarray = lost, codes: np.ndarray = codes) -> np.ndarray:
            return np.where(eps <= lost, codes, int(Outcome.OPEN))

        present = at(levels[0])
        naive = np.full(lost.shape, np.nan)
        for level in levels:
            naive = np.where((at(level) == present) & (present != Outcome.OPEN), level, naive)
        assert np.array_equal(up_to(at, levels), naive, equal_nan=True)
