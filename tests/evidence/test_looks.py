"""Two samples at looks: levels by enumeration, what attackers and drifting machines can do, and how blocks are read."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from scipy.stats import binom

from frontguard import EvenHanded, Malicious, Oblivious, Prescient, Share
from frontguard._common.typing import Floats
from frontguard.evidence.differences import Compared
from frontguard.evidence.differences.looks import (
    BLOCK,
    LOOKS,
    MOST_WALKED,
    TwoSamples,
    least_sum,
    looks_until,
    region_at,
    spent,
    sum_within,
)
from frontguard.evidence.differences.two_sample import refuted_beyond, region
from frontguard.evidence.kinds import Statistic
from frontguard.theory.threats import Threat

THREATS = [Prescient(0.0), Prescient(0.1), Oblivious(0.2), Malicious(0.1), Share(0.2), EvenHanded(0.1)]
DELTA = 0.1


def taken(threat: Threat, n: int) -> int:
    return math.floor(threat.eps * n + 1e-9) if isinstance(threat, Share) else 0


@pytest.mark.parametrize("threat", THREATS, ids=str)
@pytest.mark.parametrize("p", [0.5, 0.8])
def test_walks_of_least_counts_enter_a_region_as_rarely_as_promised(threat: Threat, p: float) -> None:
    """By single steps of the two walks, whose states are those that were in no region at an earlier look."""
    states, entered, looks = {(0, 0): 1.0}, 0.0, 5
    keep_b, keep_c = threat.keep(1.0 - p), threat.keep(p)
    for n in range(1, LOOKS[looks - 1] + 1):
        after: Counter[tuple[int, int]] = Counter()
        for (b, c), probability in states.items():
            for up, side in itertools.product((0, 1), repeat=2):
                chance = (keep_b if up else 1 - keep_b) * (keep_c if side else 1 - keep_c)
                after[b + up, c + side] += probability * chance
        states = dict(after)
        if n in LOOKS[:looks] and (largest := region_at(LOOKS.index(n), threat, p, DELTA)) is not None:
            gone = taken(threat, n)
            inside = [at for at in states if max(at[0] - gone, 0) <= largest[max(at[1] - gone, 0)]]
            entered += sum(states.pop(at) for at in inside)
        assert entered <= DELTA * sum(spent(look) for look in range(looks_until(n))) * (1 + 1e-9)
    if isinstance(threat, Prescient):
        assert entered > 0.6 * DELTA * sum(spent(look) for look in range(looks))


def test_later_looks_have_their_share_by_themselves() -> None:
    look = looks_until(MOST_WALKED)
    n, own = LOOKS[look], region_at(look, Prescient(0.1), 0.5, DELTA)
    assert own is not None
    assert np.array_equal(own, region(n, n, Prescient(0.1), 0.5, DELTA * spent(look)))


def of_orders(values: Floats) -> Counter[int]:
    """How often S of one block with these values (8,) is what, over all orders."""
    sums: Counter[int] = Counter()
    for chosen in itertools.combinations(range(2 * BLOCK), BLOCK):
        y = values[list(chosen)]
        x = np.delete(values, chosen)
        sums[sum_within(y, x)] += 1
    return sums


def entering(values: list[Floats], threat: Threat, delta: float) -> float:
    """The probability, over all orders within blocks, that S ever refutes; blocks have any values."""
    law, entered = {0: 1.0}, 0.0
    for number, block in enumerate(values, start=1):
        after: Counter[int] = Counter()
        for (total, probability), (more, count) in itertools.product(law.items(), of_orders(block).items()):
            after[total + more] += probability * count / 70
        law = dict(after)
        if number * BLOCK in LOOKS:
            least = least_sum(LOOKS.index(number * BLOCK), threat, delta)
            entered += sum(law.pop(total) for total in list(law) if total >= least)
    return entered


def test_sums_refute_equal_programs_as_rarely_as_promised_whatever_values_slots_have() -> None:
    """Over all orders, exactly: on a machine of any kind, with ties, with values that say nothing of one another."""
    rng, blocks = np.random.default_rng(0), 6
    whole = DELTA * sum(spent(look) for look in range(looks_until(blocks * BLOCK)))
    exact = entering([np.arange(8.0)] * blocks, EvenHanded(0.3), DELTA)
    assert 0.6 * whole < exact <= whole
    machines = [
        [rng.normal(100.0 * block, 1.0, 8) for block in range(blocks)],  # a ramp
        [np.where(np.arange(8) < rng.integers(9), 1.0, 9.0) for _ in range(blocks)],  # steps, and ties
        [np.full(8, np.inf) for _ in range(blocks)],
    ]
    for values in machines:
        assert entering(values, EvenHanded(0.3), DELTA) <= exact * (1 + 1e-9)


@pytest.mark.parametrize("hits", [0.0, 0.15])
def test_sums_of_hit_values_have_the_law_of_all_orders_and_hits(hits: float) -> None:
    """At the first look, of two blocks: each run is hit by itself, and then loses or wins all its pairs."""
    one: Counter[int] = Counter()
    for lost_x, won_y in itertools.product(range(BLOCK + 1), repeat=2):
        weight = binom.pmf(lost_x, BLOCK, hits) * binom.pmf(won_y, BLOCK, hits)
        i, j = BLOCK - lost_x, BLOCK - won_y
        for chosen in itertools.combinations(range(i + j), j):
            u = sum(1 for y in chosen for x in range(i + j) if x not in chosen and y > x)
            one[BLOCK * BLOCK - i * j + u] += weight / math.comb(i + j, j)
    two: Counter[int] = Counter()
    for (a, p), (b, q) in itertools.product(one.items(), repeat=2):
        two[a + b] += p * q
    for delta in (0.5, 0.1, 0.02):
        least = least_sum(0, Prescient(hits), delta)
        tail = sum(p for total, p in two.items() if total >= least)
        assert tail <= delta * spent(0) * (1 + 1e-9)
        assert math.isinf(least) or tail + two[int(least) - 1] > delta * spent(0)


def hit(threat: Threat, levels: Floats, rng: np.random.Generator, *, lower: bool) -> Floats:
    """Runs (R, n) of levels of one law, of which an attacker moves as many as it may to one side."""
    far, worst = (-1.0, levels) if lower else (2.0, -levels)
    if isinstance(threat, Share):
        found, marks = levels.copy(), np.zeros(levels.shape, np.int64)
        for n in range(1, levels.shape[1] + 1):  # ⌊εn⌋ of the first n at every n
            room = taken(threat, n) > marks.sum(axis=1)
            marks[:, n - 1] = room
        return np.where(marks == 1, far, found)
    if isinstance(threat, Malicious):
        return np.where(worst > np.quantile(worst, 1.0 - threat.eps), far, levels)
    if isinstance(threat, EvenHanded):
        return levels
    return np.where(rng.random(levels.shape) < threat.eps, far, levels)


@pytest.mark.parametrize("threat", THREATS, ids=str)
def test_equal_laws_are_called_different_as_rarely_as_promised_at_any_look(threat: Threat) -> None:
    rng, runs, looks = np.random.default_rng(3), 1500, 7
    n = LOOKS[looks - 1]
    x, y = (hit(threat, rng.random((runs, n)), rng, lower=side) for side in (True, False))
    won = (y.reshape(runs, -1, BLOCK, 1) > x.reshape(runs, -1, 1, BLOCK)).sum(axis=(2, 3)).cumsum(axis=1)

    def said(assumed: Threat) -> float:
        rejects = [won[:, LOOKS[look] // BLOCK - 1] >= least_sum(look, assumed, DELTA) for look in range(looks)]
        return float(np.any(rejects, axis=0).mean())

    assert said(threat) <= DELTA + 3 * math.sqrt(DELTA / runs)
    if threat.eps and not isinstance(threat, EvenHanded):
        assert said(Prescient(0.0)) > DELTA  # an attack that is not allowed for is seen


@pytest.mark.parametrize("threat", [Prescient(0.0), Prescient(0.1), Share(0.1)], ids=str)
def test_bounds_of_medians_hold_at_all_looks_for_the_hardest_laws(threat: Threat) -> None:
    """Two clusters each, half of the values in either, where every θ between them is a median."""
    rng, runs, looks, misses = np.random.default_rng(8), 400, 6, 0
    for _ in range(runs):
        y, x = (1.0 * (hit(threat, rng.random((1, LOOKS[looks])), rng, lower=side)[0] > 0.5) for side in (True, False))
        y, x = (each + 1e-6 * rng.random(len(each)) for each in (y, x))
        misses += any(
            (largest := region_at(look, threat, 0.5, DELTA)) is not None
            and refuted_beyond(np.sort(y[:n]), np.sort(x[:n]), largest) < 1.0 - 1e-5
            for look, n in enumerate(LOOKS[:looks])
        )
    assert misses / runs <= DELTA + 3 * math.sqrt(DELTA / runs)
    assert misses > 0


def evidence(arms: int = 3) -> TwoSamples:
    return TwoSamples(Compared(arms, 1, 0), Prescient(0.0), (Statistic(),), delta=DELTA)


def filled(made: TwoSamples, values: Floats) -> TwoSamples:
    """The same with values (K, n) of all arms, told in any order."""
    arms, reps = (each.ravel() for each in np.indices(values.shape))
    order = np.random.default_rng(0).permutation(len(arms))
    made.add(arms[order], reps[order] + 1, values.ravel()[order][:, None])
    return made


def test_what_is_certain_of_a_look_is_that_of_both_samples() -> None:
    rng = np.random.default_rng(1)
    values = rng.normal(size=(3, 40))
    values[1] -= 3.0
    made, tolerances = filled(evidence(), values), np.array([0.5])
    slow, alike = (made.bounds(arm, looks_until(40) - 1, tolerances) for arm in (1, 2))
    assert (slow.worse[0], slow.that_counts[0], alike.worse[0]) == (True, True, False)
    assert -slow.ahead[0] <= 3.0 <= slow.behind[0] <= slow.line[0]
    assert -alike.ahead[0] <= 0.0 <= alike.behind[0]
    narrow = filled(evidence(), np.concatenate([values[:2], values[1:2]]))
    assert made.bounds(1, 2, tolerances)[0] == narrow.bounds(1, 2, tolerances)[0]  # whatever others are


def test_failed_runs_may_have_been_anything_and_incomplete_blocks_wait() -> None:
    values = np.stack([np.zeros(24), np.linspace(-3.0, -2.0, 24)])
    tolerances, look = np.array([0.1]), looks_until(24) - 1
    assert filled(evidence(arms=2), values).bounds(1, look, tolerances).worse[0]
    failed = values.copy()
    failed[1, ::2] = np.nan
    assert not filled(evidence(arms=2), failed).bounds(1, look, tolerances).worse[0]
    made = evidence(arms=2)
    made.add(np.repeat([0, 1], 6), np.tile([1, 2, 3, 4, 9, 10], 2), np.zeros((12, 1)))
    assert made.common(1).tolist() == [0, 1, 2, 3]


def test_a_copy_goes_on_by_itself() -> None:
    made = evidence(arms=2)
    other = made.copy()
    filled(other, np.zeros((2, 8)))
    assert (len(made.common(1)), len(other.common(1))) == (0, 8)
