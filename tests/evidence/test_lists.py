"""Means over finite lists: against the wealth as it is written, and against the truth of lists."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import logsumexp
from scipy.stats import binom

from frontguard import Malicious, Oblivious, Prescient, Share
from frontguard.evidence.bets import LOG_WEIGHTS, THETAS
from frontguard.evidence.confidence_sequences import threshold_of
from frontguard.evidence.differences.lists import counted_on, hidden_at, hits_at_most, most_of_list, unrefuted_list_mean
from frontguard.theory.threats import Threat
from tests.support.bets import upper_mean


def naive_wealth(xi: Any, seen: Any, hidden: Any, items: int, threat: Threat, m: float) -> float:
    """log W_n(m), as it is written."""
    times, less = threat.surviving
    logs = []
    for theta, weight in zip(THETAS, LOG_WEIGHTS, strict=True):
        total = float(weight)
        for r in range(len(xi)):
            c = (items * m - sum(seen[:r]) - hidden[r]) / (items - r)
            total += math.log((1 - theta * xi[r]) / (1 - theta * max(0.0, times * c - less)))
        logs.append(total)
    return float(logsumexp(logs))


def found_for(xi: Any, seen: Any, hidden: Any, items: int, threat: Threat, delta: float) -> float:
    return float(unrefuted_list_mean(xi, seen, hidden, items, *threat.surviving, threshold_of(delta)))


@pytest.mark.parametrize("threat", [Prescient(0.0), Prescient(0.05), Malicious(0.05)])
@pytest.mark.parametrize("n", [1, 12, 60, 100])
def test_the_largest_mean_that_is_not_refuted(n: int, threat: Threat) -> None:
    draw = np.random.default_rng(n)
    items, delta = 100, 0.01
    for xi in (draw.random(n), (draw.random(n) < 0.2).astype(float), draw.beta(40, 60, n)):
        hidden = hits_at_most(threat, items, 0.01)[: n + 1]
        highest = min(1.0, *((xi[:r].sum() + hidden[r] + items - r) / items for r in range(n + 1)))

        def over(m: float, xi: Any = xi, hidden: Any = hidden) -> float:
            return naive_wealth(xi, xi, hidden, items, threat, m) + math.log(delta)

        wanted = highest if over(highest) <= 0 else float(brentq(over, 0.0, highest, xtol=1e-14))
        assert wanted - 1e-13 <= found_for(xi, xi, hidden, items, threat, delta) <= wanted + 1e-8


def test_a_long_list_is_a_law_and_a_short_one_is_sharper() -> None:
    xi = np.random.default_rng(0).random(200)
    none = np.zeros(201)
    endless = upper_mean(xi, 0.01)
    assert abs(found_for(xi, xi, none, 10**9, Prescient(0.0), 0.01) - endless) < 1e-6
    short = [found_for(xi, xi, none, items, Prescient(0.0), 0.01) for items in (2000, 400, 250, 201)]
    assert endless > short[0] > short[1] > short[2] > short[3] > xi.mean()


def test_a_list_that_is_measured_is_known() -> None:
    solved = np.array([1.0, 0, 0, 1, 1, 0, 1])
    assert found_for(solved, solved, np.zeros(8), 7, Prescient(0.0), 0.01) == 4 / 7
    assert most_of_list(solved, np.zeros(8), 7) == 4 / 7
    scores = np.random.default_rng(1).random(7)
    found = found_for(scores, scores, np.zeros(8), 7, Prescient(0.0), 0.01)
    assert scores.mean() <= found <= scores.mean() + 2e-12
    # What the share leaves of it: any one of seven may have been anything.
    one = hidden_at(np.zeros(8), 0.2, 7)
    assert most_of_list(solved, one, 7) == 5 / 7


def test_hits_are_those_of_the_binomial_law_and_at_every_number_of_items_at_once() -> None:
    hits = hits_at_most(Oblivious(0.1), 300, 0.05)
    assert (hits[1:] >= binom.isf(0.05, np.arange(1, 301), 0.1)).all()  # no less than what one look would give
    draw = np.random.default_rng(2)
    sums = np.cumsum(draw.random((4000, 300)) < 0.1, axis=1)
    assert ((sums > hits[1:]).any(axis=1)).mean() < 0.05


def test_any_share_counts_the_smallest_as_one() -> None:
    assert counted_on(np.array([0.5, 0.1, 0.3]), 2).tolist() == [0.5, 1.0, 1.0]
    assert counted_on(np.array([0.5, 0.1]), 9).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("threat", [Prescient(0.0), Prescient(0.1), Malicious(0.1), Share(0.1)])
def test_at_every_number_of_items_at_once(threat: Threat) -> None:
    """A list is drawn from in random order, and looked at after every few items, by an attacker's worst."""
    draw = np.random.default_rng(7)
    items, delta, runs, wrong = 120, 0.2, 200, 0
    for _ in range(runs):
        clean = (draw.random(items) < 0.6).astype(float)  # what there is, and its order is by chance
        mean = clean.mean()
        hits = hits_at_most(threat, items, delta / 2 if threat.eps > 0 and not threat.taken else 0.5)
        seen = clean.copy()
        if isinstance(threat, Prescient):
            seen[draw.random(items) < threat.eps] = 0.0
        elif isinstance(threat, Malicious):
            seen[(draw.random(items) < threat.eps / mean) & (clean == 1.0)] = 0.0
        level = delta if threat.eps == 0 or threat.taken else delta / 2
        for n in range(5, items + 1, 5):
            looked = seen[:n].copy()
            taken = int(np.floor(threat.taken * n + 1e-9))
            if taken:  # whichever, chosen when all is seen
                looked[np.flatnonzero(looked == 1.0)[:taken]] = 0.0
            hidden = hidden_at(hits, threat.taken, n)
            if found_for(counted_on(looked, taken), looked, hidden, items, threat, level) < mean:
                wrong += 1
                break
    assert wrong / runs <= delta + 2 * math.sqrt(delta * (1 - delta) / runs)
    assert wrong > 0 or threat.eps > 0  # it is no bound that is never reached
