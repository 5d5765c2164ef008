"""Ratios within randomised blocks: docs/theory.md, (aa)."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from scipy.stats import binom

from frontguard import Certified, Malicious, Objective, Oblivious, Prescient, Share, Study
from frontguard.evidence.confidence_sequences import rank_table, read_rank, taken_away
from frontguard.evidence.differences import Compared, Differences
from frontguard.evidence.differences.pairs import MOST_ARMS, SHARE
from frontguard.evidence.differences.ratios import Ratios
from frontguard.evidence.intervals import COLUMNS, HIGH, LOW
from frontguard.evidence.statistics import statistics_of
from frontguard.notices import ContaminationRefuted
from frontguard.theory.threats import Threat
from frontguard.verdicts import Verdict
from frontguard.words.answers import answer

SECONDS = Objective("seconds", "minimize", tolerance="1%")


def told(values: np.ndarray, threat: Threat | None = None, delta: float = 0.1) -> Certified:
    """A policy that was told inner values (K, R) by block, of equal pulls of all arms."""
    K, R = values.shape
    policy = Certified.for_objectives(
        K, [SECONDS], threat=threat or Oblivious(0.0), delta=delta, blocks=True, max_pulls_per_arm=R, growth=1.0
    )
    arms = np.repeat(np.arange(K), R)
    policy.expect(arms)
    policy.take(arms, values.reshape(-1, 1), np.tile(np.arange(1, R + 1), K))
    policy.decide()
    return policy


@pytest.mark.parametrize("threat", [Prescient(0.1), Malicious(0.05), Share(0.1), Oblivious(0.0)])
def test_bounds_are_those_of_a_naive_twin(threat: Threat) -> None:
    rng = np.random.default_rng(1)
    values = rng.normal(0.0, 1.0, (3, 90)) + 5.0 * (np.arange(90) % 20 > 10)
    values[1, [3, 8, 9]] = np.nan
    intervals = told(values, threat).standing.intervals[..., 0]
    of_two = type(threat)(2.0 * threat.eps)
    rank = read_rank(rank_table(of_two.keep(0.5), SHARE * 0.1 / 6), 90) - 2 * taken_away(threat.taken, 90)
    for j, i in itertools.permutations(range(3), 2):
        seen = sorted(np.nan_to_num(values[j] - values[i], nan=np.inf).tolist())
        assert intervals[j, COLUMNS + i] == seen[90 - rank]
        last = int(np.ceil(of_two.keep(0.5) * 90)) - 2 * taken_away(threat.taken, 90)
        assert intervals[j, COLUMNS + 6 + i] == seen[90 - last]


def test_what_slows_a_whole_block_moves_no_ratio() -> None:
    rng = np.random.default_rng(2)
    own = rng.normal(0.0, 0.03, (3, 100))
    quiet, busy = told(own).standing.intervals, told(own - 0.6 * (np.arange(100) // 10 % 2)).standing.intervals
    np.testing.assert_allclose(quiet[:, COLUMNS:], busy[:, COLUMNS:], atol=1e-12)
    assert (busy[:, HIGH] - busy[:, LOW] > 5.0 * (quiet[:, HIGH] - quiet[:, LOW])).all()


def test_equal_arms_are_told_apart_as_rarely_as_is_proved_whatever_the_machine_does() -> None:
    """All orders of two slots in each of twelve blocks, on a machine that never comes back to a speed."""
    n, delta = 12, 0.2
    speeds = np.cumsum(np.random.default_rng(3).random((n, 2)).ravel()).reshape(n, 2)
    rank = read_rank(rank_table(0.5, SHARE * delta / 2), n)
    assert rank >= 1
    false = 0
    for swapped in itertools.product([False, True], repeat=n):
        values = np.where(np.array(swapped)[:, None], speeds[:, ::-1], speeds).T
        false += int(np.sort(values[1] - values[0])[n - rank] < 0.0)
    assert false / 2**n == pytest.approx(float(binom.cdf(rank - 1, n, 0.5)))
    policy = told(speeds.T, delta=delta)  # the last order, in which the second slot is always slower
    assert policy.standing.intervals[1, COLUMNS, 0] == np.sort(speeds[:, 1] - speeds[:, 0])[n - rank]


@pytest.mark.parametrize(
    ("objective", "threat", "arms", "usable"),
    [
        (SECONDS, Prescient(0.1), 3, True),
        (SECONDS, Prescient(0.25), 3, False),  # of two runs, half may be hit
        (SECONDS, Prescient(0.1), MOST_ARMS + 1, False),
        (Objective("seconds", tolerance=0.1), Prescient(0.1), 3, False),  # a slower machine makes differences larger
        (Objective("seconds", tolerance="1%", quantile=0.9), Prescient(0.1), 3, False),
        (Objective("seconds", exact=True), Prescient(0.1), 3, False),
    ],
)
def test_only_medians_with_a_percentage_are_compared_so(
    objective: Objective, threat: Threat, arms: int, usable: bool
) -> None:
    found = Ratios.where_usable(Compared(arms, 1), threat, statistics_of([objective]), delta=0.1)
    assert isinstance(found, Ratios) is usable
    assert usable or type(found) is Differences


def test_an_arm_that_comes_back_is_compared_on_blocks_that_both_are_in() -> None:
    """The best arm fails from some pull on and is excluded: the one that it had beaten comes back, and catches up."""
    study, rng, slot = Study(3, [SECONDS], Prescient(0.1), seed=4, max_pulls=2000), np.random.default_rng(4), 0
    beaten_at = 0
    while pulls := study.ask(1):
        slot += 1
        arm = pulls[0].index
        codes = study.state().policy.verdict_codes
        if codes[1] == Verdict.BEATEN and not beaten_at:
            beaten_at = slot
        value = (0.7, 1.0, 0.72)[arm] * float(np.exp(rng.normal(0.0, 0.03))) * (1.0 + 0.01 * slot)
        if arm == 0 and beaten_at and slot > beaten_at + 30:
            study.fail(pulls[0], "gone")
        else:
            study.tell(pulls[0], {"seconds": value})
    policy = study.state().policy
    assert beaten_at
    assert isinstance(policy.differences, Ratios)
    back = policy.differences.blocks.back
    assert policy.excluded.tolist() == [0]
    alone = back[1] & ~back[2]
    assert alone.any()  # blocks of its own
    assert (back.sum(axis=1)[1:] == policy.pulls_per_arm[1:]).all()
    apart = policy.standing.intervals[:, COLUMNS : COLUMNS + 3, 0]
    true = np.log(1.0 / 0.72)
    assert -apart[1, 2] <= true <= apart[2, 1]


def test_arms_that_lean_to_different_sides_contradict_their_intervals_and_are_compared_by_these() -> None:
    """With as many medians as one likes: one law has a long tail to the left, the other one to the right."""
    rng, n = np.random.default_rng(5), 4000
    tail = rng.exponential(1.0, (2, n))
    values = np.stack([tail[0] - np.log(2.0), np.log(2.0) - tail[1]])
    policy = told(values)
    intervals, said = policy.standing.intervals[..., 0], policy.result().notices
    assert {each.kind for each in said if each.warns} == {"ratios_contradicted"}
    assert np.isinf(intervals[[0, 1], [COLUMNS + 1, COLUMNS]]).all()
    assert intervals[0, HIGH] > intervals[1, LOW]
    assert intervals[1, HIGH] > intervals[0, LOW]


# Arms that drift alone ------------------------------------------------------------------------------------------------


def machine(rng: np.random.Generator, blocks: int) -> np.ndarray:
    """Three arms 1 % apart on a machine that is throttled in bursts, which one run in ten meets by itself."""
    own = rng.normal(0.0, 0.03, (3, blocks)) - 0.01 * np.arange(3)[:, None]
    return own - 0.3 * (np.arange(blocks) // 50 % 2) - 0.5 * (rng.random((3, blocks)) < 0.1)


@pytest.mark.parametrize("threat", [Prescient(0.1), Share(0.03), Malicious(0.05)])
def test_an_arm_that_drifts_alone_is_refuted_and_no_other_one(threat: Threat) -> None:
    values = machine(np.random.default_rng(3), 300)
    assert not told(values, threat).refuted.any()
    values[1] -= np.linspace(0.0, 0.4, 300)
    assert told(values, threat).refuted[:, 0].tolist() == [False, True, False]


def test_so_is_one_that_goes_there_and_back() -> None:
    values = machine(np.random.default_rng(3), 300)
    values[1] -= 0.3 * (np.arange(300) // 64 % 2)
    assert told(values, Prescient(0.1)).refuted[:, 0].tolist() == [False, True, False]


def test_of_two_arms_nobody_knows_which_one_drifts() -> None:
    values = machine(np.random.default_rng(4), 300)[:2]
    values[1] -= np.linspace(0.0, 0.4, 300)
    assert told(values, Prescient(0.1)).refuted[:, 0].tolist() == [True, True]


def test_constant_ratios_are_hardly_ever_called_drifting() -> None:
    """1 % is allowed; all hits on one arm's runs, in one direction, as late as it pleases an attacker."""
    rng, called, runs = np.random.default_rng(5), 0, 80
    for _ in range(runs):
        values = machine(rng, 256)
        values[0, 128:] -= 9.0 * (rng.random(128) < 0.1)
        called += bool(told(values, Prescient(0.1)).refuted.any())
    assert binom.cdf(called, runs, 0.01) < 0.999


def test_a_study_with_an_arm_that_drifts_alone_has_no_certificate() -> None:
    rng, runs = np.random.default_rng(6), Counter[str]()
    study = Study(["a", "b", "c"], [SECONDS], Prescient(0.1), max_pulls=900, blocks=True)
    while pulls := study.ask(1):
        for pull in pulls:
            runs[pull.arm] += 1
            slow = {"a": 1.0, "b": 1.005, "c": 1.2 if runs["c"] > 80 else 0.99}
            study.tell(pull, [slow[pull.arm] * rng.normal(1.0, 0.03)])
    found = study.result()
    (refuted,) = [each for each in found.notices if isinstance(each, ContaminationRefuted)]
    assert "c" in refuted.names
    assert (refuted.in_blocks, found.status, found.verdicts["c"]) == (True, "unreachable", "undecided")
    assert "'c'" in answer(found).partition(":")[2].partition(".")[0]  # the first sentence names it
