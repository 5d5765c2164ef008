"""Intervals of means beside others that hold at every number of values at once, and what they cost beside medians.

*Betting* is the hedged wealth of Waudby-Smith and Ramdas (Estimating means of bounded random variables by betting,
JRSS B 86, 2024), with the bets and the settings that their package `confseq` has by default: predictable plug-in bets
λ_t = √(2 log(2/α) / (σ̂²_{t−1} t log(1+t))), cut at half of what keeps the wealth positive. *Beta mixture* is the
boundary that ranks are read from, `anytime_rank`, solved for the probability of a 1; its prior is uniform below the
probability p that is tested. *Centred Beta mixture* is the same with the prior Beta(2p, 2(1−p)), which has its mean at
p and, for rare ones, much of its weight next to 0. All have the same two-sided level, no attacker, and are read at n
alone (each could be intersected with what was known before).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np
from scipy.special import betainc, betaln
from scipy.stats import binomtest, norm
from tests.support.bets import upper_mean, upper_mean_at

from benchmarks.tables import Row, heading
from frontguard._common.compiled import COMPILED, kernels
from frontguard._common.typing import Floats
from frontguard.evidence.confidence_sequences import anytime_rank
from frontguard.evidence.intervals import interval_rule, refresh_all, unknown_intervals
from frontguard.evidence.samples import Samples, absorb, empty_pool, empty_table
from frontguard.evidence.statistics import statistics_of
from frontguard.objectives import Objective
from frontguard.policies.certified import GROWTH, Certified
from frontguard.theory.threats import Prescient

ALPHA = 0.05
RUNS = 12
LENGTHS = (30, 100, 300, 1000, 10_000, 100_000)
WANTED = 1.1

LAWS: dict[str, Callable[[np.random.Generator, int], Floats]] = {
    "0/1, p = 0.02": lambda rng, n: (rng.random(n) < 0.02).astype(float),
    "0/1, p = 0.05": lambda rng, n: (rng.random(n) < 0.05).astype(float),
    "0/1, p = 0.1": lambda rng, n: (rng.random(n) < 0.1).astype(float),
    "0/1, p = 0.5": lambda rng, n: (rng.random(n) < 0.5).astype(float),
    "Beta(0.5, 0.5)": lambda rng, n: rng.beta(0.5, 0.5, n),
    "Beta(1, 1)": lambda rng, n: rng.random(n),
    "Beta(2, 8)": lambda rng, n: rng.beta(2, 8, n),
    "Beta(10, 30)": lambda rng, n: rng.beta(10, 30, n),
    "Beta(100, 300)": lambda rng, n: rng.beta(100, 300, n),
}


def half_width_of_bets(x: Floats) -> float:
    """Ours."""
    return 0.5 * (upper_mean(x, ALPHA / 2) - (1.0 - upper_mean(1.0 - x, ALPHA / 2)))


def half_width_of_betting(x: Floats) -> float:
    """The hedged wealth's: either half of it refutes a mean alone at 2/α."""
    bets = plug_in_bets(x)
    return 0.5 * (1.0 - _lowest_unrefuted(1.0 - x, bets) - _lowest_unrefuted(x, bets))


def plug_in_bets(x: Floats) -> Floats:
    """λ_t of the values before t, with one made-up value of 1/2 and a variance of 1/4 to begin with."""
    t = np.arange(1, len(x) + 1)
    means = (0.5 + np.cumsum(x)) / (t + 1)
    variances = (0.25 + np.cumsum((x - means) ** 2)) / (t + 1)
    before = np.concatenate([[0.25], variances[:-1]])
    return np.asarray(np.sqrt(2.0 * np.log(2.0 / ALPHA) / (before * t * np.log1p(t))))


def _lowest_unrefuted(x: Floats, bets: Floats) -> float:
    """The least m at which the wealth Π (1 + min(λ_t, 1/(2m)) (x_t − m)) stays below 2/α; it falls in m."""
    low, high = 0.0, 1.0
    for _ in range(40):
        m = 0.5 * (low + high)
        refuted = np.log1p(np.minimum(bets, 0.5 / m) * (x - m)).sum() >= np.log(2.0 / ALPHA)
        low, high = (m, high) if refuted else (low, m)
    return low


def half_width_of_ranks(x: Floats) -> float:
    """The Beta mixture's, of values that are 0 or 1."""
    ones, n = round(float(x.sum())), len(x)
    return 0.5 * (_highest_rate(ones, n) - (1.0 - _highest_rate(n - ones, n)))


def _highest_rate(ones: int, n: int) -> float:
    """The largest p at which so many of n are not too few."""
    low, high = ones / n, 1.0
    for _ in range(40):
        p = 0.5 * (low + high)
        refuted = anytime_rank(n, p, ALPHA / 2) > ones
        low, high = (low, p) if refuted else (p, high)
    return low


def half_width_of_centred(x: Floats) -> float:
    """The centred Beta mixture's, of values that are 0 or 1, by SciPy's functions."""
    ones, n = round(float(x.sum())), len(x)
    return 0.5 * (_highest_centred(ones, n) - (1.0 - _highest_centred(n - ones, n)))


def _highest_centred(ones: int, n: int) -> float:
    low, high = ones / n, 1.0
    for _ in range(40):
        p = 0.5 * (low + high)
        refuted = p < 1.0 and _log_centred(ones, n, p) >= -math.log(ALPHA / 2)
        low, high = (low, p) if refuted else (p, high)
    return low


def _log_centred(ones: int, n: int, p: float) -> float:
    """The logarithm of the mixture over θ ~ Beta(2p, 2(1−p)) below p, of so many ones."""
    a, b = 2.0 * p, 2.0 * (1.0 - p)
    seen = betaln(a + ones, b + n - ones) + math.log(max(betainc(a + ones, b + n - ones, p), 1e-300))
    before = betaln(a, b) + math.log(betainc(a, b, p))
    return float(seen - before - ones * math.log(p) - (n - ones) * math.log1p(-p))


def compared(
    other: Callable[[Floats], float], what: str, laws: list[str], rows: list[Row], wanted: float | None = WANTED
) -> None:
    """One line for each law and length: the mean half-width of ours / of the other."""
    for law in laws:
        for length in LENGTHS:
            rng = np.random.default_rng(length)
            samples = [LAWS[law](rng, length) for _ in range(RUNS)]
            ours, theirs = (np.mean([width(x) for x in samples]) for width in (half_width_of_bets, other))
            label, details = f"{what}, {law}, n = {length:,}", f"{ours:.2g} / {theirs:.2g}"
            rows.append(Row(label, float(ours / theirs), at_most=wanted, details=details))


def one_look(rows: list[Row]) -> None:
    """For each law and length, the mean half-width of one look / of many."""
    for law in LAWS:
        for length in LENGTHS:
            rng = np.random.default_rng(length)
            samples = [LAWS[law](rng, length) for _ in range(RUNS)]
            once, many = (
                np.mean([width(x) for x in samples]) for width in (half_width_of_one_look, half_width_of_bets)
            )
            details = f"{once:.2g} / {many:.2g}"
            rows.append(Row(f"one look / many, {law}, n = {length:,}", float(once / many), details=details))


def beside_theory(rows: list[Row]) -> None:
    """For each law and length, the mean half-width of one look / of Clopper and Pearson, or of normal theory."""
    for law in LAWS:
        for length in LENGTHS[1:]:
            rng = np.random.default_rng(length)
            samples = [LAWS[law](rng, length) for _ in range(RUNS)]
            once = float(np.mean([half_width_of_one_look(x) for x in samples]))
            for what, width in (("Clopper–Pearson", half_width_of_exact), ("normal theory", half_width_of_normal)):
                if what == "normal theory" or law.startswith("0/1"):
                    theirs = float(np.mean([width(x) for x in samples]))
                    label, details = f"one look / {what}, {law}, n = {length:,}", f"{once:.2g} / {theirs:.2g}"
                    wanted = 1.001 if what == "Clopper–Pearson" else None
                    rows.append(Row(label, once / theirs, at_most=wanted, details=details))


def half_width_of_exact(x: Floats) -> float:
    """Clopper and Pearson's, of values that are 0 or 1, by SciPy."""
    found = binomtest(int(x.sum()), len(x)).proportion_ci(1.0 - ALPHA, method="exact")
    return float(found.high - found.low) / 2.0


def half_width_of_normal(x: Floats) -> float:
    """Normal theory's, which promises nothing."""
    return float(norm.isf(ALPHA / 2) * x.std() / math.sqrt(len(x)))


def half_width_of_one_look(x: Floats) -> float:
    """Ours, at a number of values that was fixed before."""
    return 0.5 * (upper_mean_at(x, ALPHA / 2) - (1.0 - upper_mean_at(1.0 - x, ALPHA / 2)))


KINDS = {
    "medians": Objective("y", "maximize"),
    "rates, one by one": Objective("y", "maximize", statistic="mean", bounds=(0, 1)),
    "rates": Objective("y", "maximize", statistic="mean", bounds=(0, 1)),
    "means": Objective("y", "maximize", statistic="mean", bounds=(0, 1)),
}


COUNTED_KINDS = ("rates", "means")
"""Of which different values are counted while they are few; of the others every value is held, as it would be."""


def seconds_to_refresh(kind: str, arms: int, pulls: int) -> float:
    """What bringing the intervals of so many arms, each with so many values, up to date costs: the best of a few."""
    rng = np.random.default_rng(pulls)
    rule = interval_rule(Prescient(0.05), arms=arms, objectives=1, delta=ALPHA, statistics=statistics_of([KINDS[kind]]))
    table, pool = empty_table(arms), empty_pool(arms)
    values = rng.random(arms * pulls)
    if kind.startswith("rates"):
        values = (values < 0.3).astype(float)
    if kind in COUNTED_KINDS:
        table["counted"][:-1] = 1
    pool = absorb(pool, table, np.arange(arms).repeat(pulls), values[:, None], True)
    samples, best = Samples(pool, np.empty(0), table), np.inf
    for _ in range(5):
        intervals = unknown_intervals(arms, 1)
        began = time.thread_time()
        refresh_all(intervals, np.arange(arms), samples, np.full(arms, pulls), rule)
        best = min(best, time.thread_time() - began)
    return best


def costs(rows: list[Row]) -> None:
    """As pulls grow and as arms grow; what a pull costs when intervals are brought up to date every 3 % of them."""
    for kind in KINDS:
        seconds_to_refresh(kind, 1, 10)  # compiled
    for arms, pulls in ((1, 1000), (1, 10_000), (1, 100_000), (1, 1_000_000), (10, 1000), (100, 1000), (1000, 1000)):
        medians = seconds_to_refresh("medians", arms, pulls)
        for kind in ("rates, one by one", "rates", "means"):
            seconds = seconds_to_refresh(kind, arms, pulls)
            a_pull = seconds / (GROWTH * arms * pulls)
            details = f"{seconds * 1e6:,.0f} µs, {a_pull * 1e9:,.0f} ns a pull"
            rows.append(Row(f"{kind} / medians, K = {arms:,}, n = {pulls:,}", seconds / medians, details=details))


def growth(rows: list[Row]) -> None:
    """What a policy holds of K arms with n pulls each, and what a decision costs once they are told."""
    for arms, pulls in ((10, 100), (10, 1_000), (10, 10_000), (10, 100_000), (100, 1_000), (1_000, 1_000)):
        for kind in KINDS:
            held_and_decided(kind, 2, 10)  # compiled
            tries = [held_and_decided(kind, arms, pulls) for _ in range(3)]
            held, seconds = tries[0][0], min(took for _, took in tries)
            details = f"{held / 1e3:,.0f} kB, a decision {seconds * 1e3:,.2f} ms"
            rows.append(Row(f"{kind}, K = {arms:,}, n = {pulls:,}", held / (8.0 * arms * pulls), details=details))


def held_and_decided(kind: str, arms: int, pulls: int) -> tuple[int, float]:
    """Bytes of the samples of a certified policy, and the seconds that its decision takes, all arms being new to it."""
    rng = np.random.default_rng(arms)
    values = rng.random((arms * pulls, 1))
    if kind.startswith("rates"):
        values = (values < rng.random(arms).repeat(pulls)[:, None]).astype(float)
    policy = Certified.for_objectives(arms, [KINDS[kind]], threat=Prescient(0.05), delta=ALPHA)
    if kind not in COUNTED_KINDS:
        policy.columns["counted"][:-1] = 0
    policy.expect(np.repeat(np.arange(arms), pulls))
    policy.take(np.repeat(np.arange(arms), pulls), values)
    began = time.thread_time()
    policy.decide()
    seconds = time.thread_time() - began
    return policy.pool.nbytes + policy.columns.nbytes, seconds


def main() -> list[Row]:
    rows: list[Row] = []
    heading(f"half-width of the interval of a mean / of the betting confidence sequence, α = {ALPHA:g}, no attacker")
    compared(half_width_of_betting, "betting", list(LAWS), rows)
    heading("half-width of the interval of a rate / of the Beta mixture that ranks are read from")
    compared(half_width_of_ranks, "Beta mixture", [law for law in LAWS if law.startswith("0/1")], rows)
    heading("half-width of the interval of a rate / of the centred Beta mixture")
    rates = [law for law in LAWS if law.startswith("0/1")]
    compared(half_width_of_centred, "centred Beta mixture", rates, rows, wanted=None)
    heading("half-width of one look / of many looks, of the same sample")
    one_look(rows)
    heading("half-width of one look / of Clopper and Pearson, or of normal theory")
    beside_theory(rows)
    heading("bringing intervals up to date: cost / cost of as many medians")
    with kernels(COMPILED):
        costs(rows)
    heading("a study with K arms and n pulls each, told and decided on: bytes a value in its samples, and a decision")
    with kernels(COMPILED):
        growth(rows)
    return rows
