"""How many more pulls are needed: measured as many more, and seen whether that was enough."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from frontguard import Prescient
from frontguard.evidence.measurements import Ordered
from frontguard.evidence.readers import IntervalReader
from frontguard.logs.robustness import needed
from frontguard.objectives import Objective
from frontguard.pareto.judge import Verdicts, judge
from frontguard.results import LIMITS, Needed
from frontguard.verdicts import Verdict
from tests.logs.simulated import ordered_log

Floats = npt.NDArray[np.float64]

OBJECTIVES = (Objective("m0", "maximize"), Objective("m1", "minimize"))
THREAT, DELTA = Prescient(0.05), 0.05
TOLERANCES: dict[str, Any] = {"accuracy": 0.1, "coverage": 0.1, "margin": 0.0}


def judged(samples: list[Floats]) -> Verdicts:
    return judge(IntervalReader(ordered_log(samples), OBJECTIVES, DELTA).read(THREAT), **TOLERANCES)


def asked_of(samples: list[Floats]) -> Needed:
    return needed(IntervalReader(ordered_log(samples), OBJECTIVES, DELTA), THREAT, judged(samples), **TOLERANCES)


def test_most_open_arms_are_settled_by_as_many_more_pulls_and_few_by_a_third_of_them() -> None:
    open_arms, settled, settled_early = 0, 0, 0
    for seed in range(25):
        rng = np.random.default_rng(seed)
        centres = rng.normal(size=(12, 2))

        def more(arm: int, rows: int, rng: np.random.Generator = rng, centres: Floats = centres) -> Floats:
            drawn: Floats = centres[arm] + 0.7 * rng.standard_t(4, (rows, 2))
            return drawn

        samples = [more(arm, int(rng.integers(60, 300))) for arm in range(12)]
        wanted = asked_of(samples)
        extra = wanted.extra(12)
        arms = wanted.arms[wanted.limit == 0]
        later = judged([np.concatenate([sample, more(arm, extra[arm])]) for arm, sample in enumerate(samples)])
        early = judged([np.concatenate([sample, more(arm, extra[arm] // 3)]) for arm, sample in enumerate(samples)])
        open_arms += len(arms)
        settled += int((~later.undecided[arms]).sum())
        settled_early += int((~early.undecided[arms]).sum())
    assert open_arms > 50
    assert settled > 0.7 * open_arms
    assert settled_early < 0.6 * open_arms


def test_a_sample_that_goes_on_as_it_is_settles_as_foreseen() -> None:
    """The same values over and over: with the level that is named everything open is settled."""
    rng = np.random.default_rng(1)
    samples = [rng.normal(mean, 1.0, size=(150, 2)) for mean in ([0.0, 0.0], [0.8, 0.8], [1.5, 1.5])]
    wanted = asked_of(samples)
    assert len(wanted.arms)
    assert (wanted.limit == 0).all()
    times = int(np.ceil(wanted.level.max() / 150))
    assert judged(samples).undecided.any()
    assert not judged([np.tile(sample, (times, 1)) for sample in samples]).undecided.any()


def test_numbers_add_up() -> None:
    rng = np.random.default_rng(2)
    samples = [rng.normal(0.3 * arm, 1.0, size=(100 + 40 * arm, 2)) for arm in range(5)]
    verdicts, wanted = judged(samples), asked_of(samples)
    np.testing.assert_array_equal(wanted.arms, np.flatnonzero(verdicts.undecided))
    np.testing.assert_array_equal(wanted.rivals, verdicts.decided_by[wanted.arms])
    pulls = np.array([len(sample) for sample in samples])
    for arm, rival, more, of_rival, level, limit in zip(*vars(wanted).values(), strict=True):
        if limit:
            assert more == of_rival == level == -1
        else:
            assert more == max(0, level - pulls[arm])
            assert of_rival == max(0, level - pulls[rival])
            assert wanted.extra(5)[arm] >= more
            assert wanted.extra(5)[rival] >= of_rival


def limits(samples: list[Floats]) -> set[str]:
    return {LIMITS[limit] for limit in asked_of(samples).limit}


def test_what_no_number_of_pulls_can_settle_has_its_reason() -> None:
    rng = np.random.default_rng(3)
    quiet = rng.normal(size=(2000, 2))
    # Alike within the noise that 5 % of contamination may hide, 0.13 on both sides, which is more than the tolerance.
    assert "contamination" in limits([quiet, rng.normal(size=(2000, 2))])
    failing = quiet.copy()
    failing[:1100] = np.nan
    assert limits([failing, quiet]) == {"failures"}


def test_nothing_open_needs_nothing() -> None:
    wanted = asked_of([np.zeros((300, 2)), np.ones((300, 2)) * [1.0, -1.0]])
    assert [len(array) for array in vars(wanted).values()] == [0] * 6
    assert wanted.extra(2).tolist() == [0, 0]


@pytest.mark.parametrize("anytime", [False, True])
def test_anytime_boundaries_need_more(anytime: bool) -> None:
    rng = np.random.default_rng(4)
    log = ordered_log([rng.normal(mean, 1.0, size=(150, 2)) for mean in ([0.0, 0.0], [0.8, 0.0])])
    verdicts = judge(IntervalReader(log, OBJECTIVES, DELTA, anytime=anytime).read(THREAT), **TOLERANCES)
    level = needed(IntervalReader(log, OBJECTIVES, DELTA, anytime=anytime), THREAT, verdicts, **TOLERANCES).level
    fixed = needed(IntervalReader(log, OBJECTIVES, DELTA), THREAT, verdicts, **TOLERANCES).level
    assert (level >= fixed).all()
    assert (level > fixed).any() == anytime


def test_a_single_pull_of_each_arm_is_taken_to_go_on_so() -> None:
    values = np.array([1.0, 2.0])
    log = Ordered(["a", "b"], ("speed",), np.array([1, 1]), np.array([[0, 1, 2]]), (values,))
    objectives, threat, goal = (
        [Objective("speed", "maximize")],
        Prescient(0.1),
        dict.fromkeys(("accuracy", "coverage", "margin"), 0.0),
    )
    verdicts = judge(IntervalReader(log, objectives, 0.05).read(threat), **goal)
    assert verdicts.undecided.all()
    more = needed(IntervalReader(log, objectives, 0.05), threat, verdicts, **goal)
    assert more.limit.tolist() == [0, 0]
    grown = int(more.pulls.max()) + 1  # of equal values, as it supposes
    repeated = (np.repeat(values, grown),)
    later = Ordered(["a", "b"], ("speed",), np.array([grown] * 2), np.array([[0, grown, 2 * grown]]), repeated)
    assert judge(IntervalReader(later, objectives, 0.05).read(threat), **goal).codes.tolist() == [
        Verdict.BEATEN,
        Verdict.KEEP,
    ]
