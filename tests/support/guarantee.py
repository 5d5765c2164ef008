"""How often intervals miss the truth when the worst attackers are at work: cells, a kernel that runs them, and a
verdict.

An interval misses at n when its low end L lies above the true quantile m or its high end H below it. No sorting is
needed to see that. L is the largest x_(q) − R(t) over the shifts t, with q = q_t(n), so

    L > m   iff, for some t,   #{i ≤ n: x_i − R(t) ≤ m} < q_t(n),

and likewise H < m iff #{i ≤ n: x_i + R(t) ≥ m} < q'_t(n): two counts for each shift tell everything, at every n, and
the interval that was intersected over all n misses iff one of them ever fell short. (An interval that contradicts
itself goes on without R. By then a count has fallen short, so such runs are among those counted here.)

With several shifts the interval goes farther: it is what the mean of their evidence leaves, and misses iff W_n(m) ever
reaches 1/δ' (`find_average_misses`). No term of W reaches that before a count falls short of the rank that its shift
alone would have with all of δ', so W is computed only then.

**Atoms.** Where the law is flat at the level p, every m in [Q_L(p), Q_R(p)] is a quantile of that level. The interval
holds all of them at once: P(Y ≤ Q_L) ≥ p bounds L by Q_L, P(Y ≥ Q_R) ≥ 1 − p bounds H by Q_R, and Definition 2 asks R
to hold for every median. So L is held against Q_L and H against Q_R, the strictest choice; the median of interest lies
between the two. Both counts include observations equal to the end itself (≤ and ≥, never < and >). An atom that
straddles the level leaves slack (P(Y ≤ Q_L) > p), and the interval then errs less often than δ allows; the law
"discrete, flat" has no slack at 1/2 and at 0.9, and no discrete law is harder than that.

Each law has two arms; an attacker that pushes to one side pushes the first up and the second down (the other way round
in the next objective). With intervals for one arm, runs take the two in turn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import beta

from frontguard._common.compiled import entry, kernel
from frontguard.evidence.confidence_sequences import STRENGTH, anytime_rank, log_mixture, read_rank, taken_away_each
from frontguard.evidence.intervals import interval_rule
from frontguard.evidence.kinds import IntervalRule
from frontguard.simulation import Adversary
from frontguard.simulation import adversaries as adv
from frontguard.simulation import environments as env
from frontguard.simulation.draws import BLOCK, STATE
from frontguard.simulation.streams import RewardSource, fill_block, run_streams
from frontguard.theory.spread import CustomSpread, Gaussian, SpreadBound
from frontguard.theory.threats import Malicious, Prescient, Share
from tests.support import worlds

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

DELTA = 0.1
LENGTH = 10_000
FAR = 1e6  # beyond every m ± R(t) below, so that a replaced observation never counts for the side under attack


def _twice(*values: float, objectives: int) -> Floats:
    """The values, one for each arm, in every objective."""
    return np.tile(np.array(values)[:, None], (1, objectives))


LAWS: dict[str, Callable[[int], env.Quantiled]] = {
    "Gaussian": lambda M: env.gaussian(_twice(0.0, 1.0, objectives=M), 1.0),
    "Cauchy": lambda M: worlds.cauchy(_twice(0.0, 1.0, objectives=M), 1.0),
    "bimodal": lambda M: worlds.bimodal(_twice(-2.0, -1.0, objectives=M), _twice(2.0, 3.0, objectives=M), sigma=0.5),
    # F: 0.1, 0.3, 0.7, 0.95, 1
    "discrete, atom": lambda M: env.categorical([[[2, 4, 8, 5, 1]] * M] * 2, values=[1, 2, 3, 4, 5]),
    # F: 0.2, 0.5, 0.7, 0.9, 1
    "discrete, flat": lambda M: env.categorical([[[2, 3, 2, 2, 1]] * M] * 2, values=[1, 2, 3, 4, 5]),
}


def directions(environment: env.Quantiled) -> Floats:
    """+1 and −1 in turn, (K, M)."""
    arms, objectives = environment.medians.shape
    return np.where(np.add.outer(np.arange(arms), np.arange(objectives)) % 2 == 0, 1.0, -1.0)


def constant_far(environment: env.Quantiled, eps: float) -> Adversary:
    """Oblivious: a constant far above or far below."""
    return worlds.constant_attack(eps, FAR * directions(environment), environment)


def worst_prescient(environment: env.Quantiled, eps: float) -> Adversary:
    """Prescient: medians moved as far as Lemma 1 lets it."""
    return adv.strongest(environment, Prescient(eps), directions(environment), distance=FAR)


def either_side(environment: env.Quantiled, eps: float) -> Adversary:
    """Prescient, and decides which way to push an arm when all rewards and hits of the run lie before it.

    It succeeds where pushing up all along makes L miss, or pushing down all along makes H miss. Up, a replaced
    observation is missing from the count of the low side; down, from that of the high side. NaN, which is neither ≤ nor
    ≥ anything, is missing from both counts, so that one run shows whether either way succeeds. Whatever else a
    prescient attacker does, L and H miss in no other runs: these are the event that the proof bounds by δ.
    """
    everywhere = np.full(environment.medians.size, np.nan)
    return Adversary(Prescient(eps), attack=adv.replace, reals=everywhere, ints=np.zeros(len(everywhere), int))


def worst_malicious(environment: env.Quantiled, eps: float) -> Adversary:
    """Malicious: the lowest ε of the rewards reappear far above, or the highest far below."""
    return adv.strongest(environment, Malicious(eps), directions(environment), distance=FAR)


def worst_share(environment: env.Quantiled, eps: float, levels: Sequence[float]) -> Adversary:
    """Any share: of what counts for the side under attack, one is taken away whenever there is room for it."""
    return adv.strongest(environment, Share(eps), directions(environment), distance=FAR, level=levels)


ATTACKERS: dict[str, Callable[[env.Quantiled, float, Sequence[float]], Adversary]] = {
    "oblivious: constant": lambda environment, eps, _: constant_far(environment, eps),
    "prescient: worst case": lambda environment, eps, _: worst_prescient(environment, eps),
    "prescient: either side": lambda environment, eps, _: either_side(environment, eps),
    "malicious: worst case": lambda environment, eps, _: worst_malicious(environment, eps),
    "share: worst case": worst_share,
}
"""From clean rewards, ε and the levels of the quantiles that are to be missed."""


@cache
def clean_rewards(law: str, objectives: int) -> env.Quantiled:
    """Those of a law, which many cells have."""
    return LAWS[law](objectives)


@dataclass(frozen=True)
class Cell:
    """One law under one attacker, and the intervals that are to hold it: of `arms` arms, an objective for each
    level."""

    attacker: str
    law: str
    levels: tuple[float, ...] = (0.5,)
    with_spread: bool = False
    arms: int = 1

    @property
    def eps(self) -> float:
        """A fifth of the observations; at level 0.9 less: from 0.1 on a malicious attacker can hide all above it."""
        return 0.2 if max(self.levels) == 0.5 else 0.05

    @cached_property
    def environment(self) -> env.Quantiled:
        """Clean rewards."""
        return clean_rewards(self.law, len(self.levels))

    @cached_property
    def adversary(self) -> Adversary:
        """Who replaces them."""
        return ATTACKERS[self.attacker](self.environment, self.eps, self.levels)

    @cached_property
    def rule(self) -> IntervalRule:
        """The intervals, with the smallest R that holds for the law, so that it leaves no slack either."""
        spread: SpreadBound | None = None
        if self.with_spread:
            spread = Gaussian(1.0) if self.law == "Gaussian" else exact_spread(self.environment)
        return interval_rule(
            self.adversary.threat,
            arms=self.arms,
            objectives=len(self.levels),
            delta=DELTA,
            spread=spread,
            quantiles=self.levels,
            largest=LENGTH,
        )

    @property
    def ends(self) -> tuple[Floats, Floats]:
        """Q_L and Q_R of the levels, each (K, M)."""
        law = self.environment.law
        left, right = (
            np.stack([quantile(p)[:, d] for d, p in enumerate(self.levels)], axis=1)
            for quantile in (law.quantile, law.right_quantile)
        )
        return left, right

    def __str__(self) -> str:
        levels = ", ".join(f"{p:g}" for p in self.levels)
        size = "" if self.arms * len(self.levels) == 1 else f", {self.arms} × {len(self.levels)}"
        return f"{self.attacker} | {self.law}{size} | {levels}{' with R' if self.with_spread else ''}"


@cache
def exact_spread(environment: env.Quantiled) -> CustomSpread:
    """The least R of Definition 2: how far the quantiles 1/2 ± t lie from the farthest median, over all arms."""
    law = environment.law
    lowest, highest = law.quantile(0.5), law.right_quantile(0.5)

    @cache  # all cells of a law ask for the same, and quantiles of mixtures are searched for
    def spread(t: float) -> float:
        above, below = law.right_quantile(0.5 + t) - lowest, highest - law.quantile(0.5 - t)
        return float(np.maximum(above, below).max())

    return CustomSpread(spread)


CELLS = [
    Cell(attacker, law, levels, with_spread)
    for attacker in ATTACKERS
    for law in LAWS
    for levels, with_spread in (((0.5,), False), ((0.5,), True), ((0.9,), False))
] + [
    Cell(attacker, "Gaussian", (0.5, 0.9), True, arms=2)
    for attacker in ("prescient: either side", "malicious: worst case", "share: worst case")
]

_HALF_TAKEN = "share: worst case", (0.9,)
SHARPEST = [cell for cell in CELLS if cell.law != "discrete, atom" and (cell.attacker, cell.levels) != _HALF_TAKEN]
"""Cells without slack: the counts of the side under attack are exactly Binomial(n, keep), less what is taken. At 0.9 a
share of 0.05 is half of what lies above: hundreds of pulls bound nothing there, and cannot miss either."""


def read_ranks(rule: IntervalRule, length: int = LENGTH) -> Ints:
    """The ranks as intervals read them: (2, M, S, length + 1), low and high, entry n for n observations."""
    tables = np.stack([rule.low_ranks, rule.high_ranks])
    kept = np.empty((*tables.shape[:-1], length + 1), np.int64)
    for place in np.ndindex(*kept.shape[:-1]):
        _read_each(tables[place], kept[place])
    return kept - taken(rule, length)


@kernel(over="ranks")
def _read_each(table: Ints, ranks: Ints) -> None:
    for n in range(ranks.size):
        ranks[n] = read_rank(table, n)


def taken(rule: IntervalRule, length: int = LENGTH) -> Ints:
    """What is taken from every rank: (M, 1, length + 1)."""
    return np.stack([taken_away_each(share, np.arange(length + 1))[None] for share in rule.taken.tolist()])


@cache
def ranks_alone(keep: float, share: float, length: int) -> Ints:
    """The ranks of one shift by itself, which many cells have: entry n for n observations."""
    return anytime_rank(np.arange(length + 1), keep, share)


def bolder(rule: IntervalRule, ranks: Ints, factor: float = 1.5) -> Ints:
    """The same ranks, but `factor` times nearer to what is to be expected: a mistake that no guarantee may survive."""
    keep = np.stack([rule.low_keep, rule.high_keep])[..., None]
    expected = keep * np.arange(ranks.shape[-1]) - taken(rule, ranks.shape[-1] - 1)
    return np.where(ranks > 0, np.floor(expected - (expected - ranks) / factor), 0).astype(np.int64)


@entry
def _find_misses(
    source: Any, rewards: Any, attacks: Any, ranks: Any, most: Any, costs: Any, lowest: Any, highest: Any, misses: Any
) -> None:
    """Run after run from the same streams: misses (runs, arms of a run, M, 2), low and high; runs take arms in turn.

    ranks: (2, M, S, length + 1), and most: (2, M, S, blocks), the largest of them within each block; costs: (M, S);
    lowest, highest: (K, M), the ends of the true quantiles.
    """
    runs, taken, objectives = misses.shape[0], misses.shape[1], misses.shape[2]
    shifts, length = ranks.shape[2], ranks.shape[3] - 1
    block, streams = np.empty((objectives, BLOCK)), run_streams(rewards, attacks, objectives)
    counts = np.empty((2, objectives, shifts), np.int64)
    for run in range(runs):
        for a in range(taken):
            arm = (run * taken + a) % lowest.shape[0]
            counts[:] = 0
            streams.attacks[arm, STATE:] = 0  # the budget of a share is that of a run
            for start in range(0, length, BLOCK):
                fill_block(source, streams, arm, block)
                size = min(BLOCK, length - start)
                for d in range(objectives):
                    values = block[d]
                    for side in range(2):
                        if misses[run, a, d, side]:  # nothing that follows undoes it
                            continue
                        end = lowest[arm, d] if side == 0 else highest[arm, d]
                        for s in range(shifts):
                            cost, rank = costs[d, s], ranks[side, d, s]
                            count = counts[side, d, s]
                            if count >= most[side, d, s, start // BLOCK]:  # counts never fall: enough for all of it
                                if side == 0:
                                    for i in range(size):
                                        count += values[i] - cost <= end
                                else:
                                    for i in range(size):
                                        count += values[i] + cost >= end
                            else:
                                for i in range(size):
                                    count += values[i] - cost <= end if side == 0 else values[i] + cost >= end
                                    if count < rank[start + i + 1]:
                                        misses[run, a, d, side] = True
                            counts[side, d, s] = count


def most_of_blocks(ranks: Ints) -> Ints:
    """The largest ranks within each block: (2, M, S, blocks)."""
    return np.maximum.reduceat(ranks[..., 1:], range(0, ranks.shape[-1] - 1, BLOCK), axis=-1)


def find_misses(cell: Cell, runs: int, *, seed: int, ranks: Ints | None = None, length: int = LENGTH) -> Bools:
    """Whether each side of each interval ever missed: (runs, arms, M, 2). The ranks are those of the cell unless
    given."""
    wanted = read_ranks(cell.rule, length) if ranks is None else ranks
    misses = np.zeros((runs, cell.arms, len(cell.levels), 2), np.bool_)
    source = RewardSource(cell.environment, cell.adversary)
    states = source.states(seed, 0)
    _find_misses(source.compiled, *states, wanted, most_of_blocks(wanted), cell.rule.costs, *cell.ends, misses)
    return misses


@entry
def _find_average_misses(
    source: Any, rewards: Any, attacks: Any, enough: Any, most: Any, taken: Any, costs: Any, keep: Any, constants: Any,
    threshold: Any, lowest: Any, highest: Any, misses: Any,
) -> None:  # fmt: skip
    """As `_find_misses`, where all objectives have shifts; constants: (2, S), logarithms of weights and of priors."""
    runs, arms, objectives = misses.shape[0], misses.shape[1], misses.shape[2]
    shifts, length = enough.shape[2], enough.shape[3] - 1
    block, streams = np.empty((objectives, BLOCK)), run_streams(rewards, attacks, objectives)
    counts = np.empty((2, objectives, shifts), np.int64)
    for run in range(runs):
        for a in range(arms):
            arm = (run * arms + a) % lowest.shape[0]
            counts[:] = 0
            streams.attacks[arm, STATE:] = 0
            for start in range(0, length, BLOCK):
                fill_block(source, streams, arm, block)
                size = min(BLOCK, length - start)
                for d in range(objectives):
                    values = block[d]
                    for side in range(2):
                        if misses[run, a, d, side]:  # nothing that follows undoes it
                            continue
                        end = lowest[arm, d] if side == 0 else highest[arm, d]
                        ahead = True  # of all ranks of the block: counts never fall
                        for s in range(shifts):
                            ahead &= counts[side, d, s] >= most[side, d, s, start // BLOCK]
                        if ahead:
                            for s in range(shifts):
                                cost, count = costs[d, s], 0
                                for i in range(size):
                                    count += values[i] - cost <= end if side == 0 else values[i] + cost >= end
                                counts[side, d, s] += count
                            continue
                        for i in range(size):
                            n, short = start + i + 1, False
                            for s in range(shifts):
                                if side == 0:
                                    counts[side, d, s] += values[i] - costs[d, s] <= end
                                else:
                                    counts[side, d, s] += values[i] + costs[d, s] >= end
                                short |= counts[side, d, s] < enough[side, d, s, n]
                            if not short:
                                continue
                            total = 0.0
                            for s in range(shifts):
                                p, k = keep[d, s], counts[side, d, s] + taken[0, d, 0, n]
                                if k < p * n:
                                    log_m = log_mixture(n, k, p, 1.0 - p, STRENGTH, constants[1, s])
                                    total += np.exp(constants[0, s] + log_m - threshold)
                            if total >= 1.0:
                                misses[run, a, d, side] = True


def find_average_misses(cell: Cell, runs: int, *, seed: int, length: int = LENGTH, bolder: float = 1.0) -> Bools:
    """Whether each side of each interval ever missed by the mean of its shifts' evidence, at a δ' that is `bolder`
    times what it may be. The runs are those of `find_misses`."""
    rule, share = cell.rule, bolder * DELTA / (2 * cell.arms * len(cell.levels))
    each = [[ranks_alone(p, share, length) for p in of] for of in rule.low_keep.tolist()]
    less = np.ascontiguousarray(taken(rule, length)[None])
    enough = np.stack([np.array(each)] * 2) - less
    misses = np.zeros((runs, cell.arms, len(cell.levels), 2), np.bool_)
    source = RewardSource(cell.environment, cell.adversary)
    constants = np.stack([rule.log_weights[0], rule.log_priors[0]])
    _find_average_misses(
        *(source.compiled, *source.states(seed, 0), enough, most_of_blocks(enough), less, rule.costs, rule.low_keep),
        *(constants, -np.log(share) + 1e-9, *cell.ends, misses),
    )
    return misses


def upper_limit(count: int, runs: int, confidence: float = 0.999) -> float:
    """Clopper and Pearson's exact upper confidence limit of a probability."""
    return 1.0 if count == runs else float(beta.ppf(confidence, count + 1, runs - count))


def lower_limit(count: int, runs: int, confidence: float = 0.999) -> float:
    """Clopper and Pearson's exact lower confidence limit: a share surely above δ refutes the guarantee."""
    return 0.0 if count == 0 else float(beta.ppf(1.0 - confidence, count, runs - count + 1))
