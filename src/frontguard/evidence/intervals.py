"""Intervals that contain what counts of an arm at every number of pulls at once, whatever the attacker does.

The kinds of `evidence.statistics` make intervals of sorted samples. This module shares δ among them, and keeps what is
left of each arm's intervals over all n so far. A failed observation may be anything: it counts in n, at −∞ for the
lower side and at +∞ for the upper. So many as an attacker may take afterwards (`Threat.taken`) leave every rank.

What is known of differences m_j − m_i of two arms stands beside them: `evidence.differences`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from frontguard._common.checks import checked_count, checked_delta, one_for_each
from frontguard._common.compiled import kernel
from frontguard._common.typing import Floats, Ints
from frontguard.errors import BadInput
from frontguard.evidence.confidence_sequences import rank_table, threshold_of
from frontguard.evidence.kinds import LARGEST, IntervalRule, RankBound, Statistic
from frontguard.evidence.quantiles import between_ranks, lasting_quantile, log_priors_of, shifts_of, with_all_shifts
from frontguard.evidence.samples import Record, Samples
from frontguard.evidence.statistics import (
    EXACT,
    KINDS,
    NORMAL_MEAN,
    QUANTILE,
    estimate_of,
    interval_of,
    kinds_and_scales,
    lasting_of,
    shares_of_ends,
)
from frontguard.theory.spread import SpreadBound, as_spread_bound
from frontguard.theory.threats import Threat, checked_threat

(
    LOW, HIGH, LOW_FLOOR, HIGH_FLOOR, REFUTED, PLAIN_LOW, PLAIN_HIGH, ESTIMATE, DOUBT_LOW, DOUBT_HIGH, BEST_HIGH,
) = range(11)  # fmt: skip
"""Columns of an array of intervals (K, COLUMNS, M), for every arm and objective:

- `LOW`, `HIGH`: L and H, the interval so far;
- `LOW_FLOOR`, `HIGH_FLOOR`: what would be left of it if the sample went on like this for ever;
- `REFUTED`: what the data refute: 0 nothing, 1 the spread bound R, 2 the threat model;
- `PLAIN_LOW`, `PLAIN_HIGH`: the interval so far without R;
- `ESTIMATE`: the point estimate, and `DOUBT_LOW`, `DOUBT_HIGH`: how far sampling noise may have moved it;
- `BEST_HIGH`: the upper end that the rule reads. It is H or, where one metric counts, an end that is closer and holds
  of the best arm, and says nothing of others.

Where there is evidence on pairs of arms besides, K columns more follow, from `COLUMNS` on: the one of number
COLUMNS + i of arm j is an upper bound of m_j − m_i that is not made of intervals, ∞ where there is none. Where there is
evidence on rivals, K more follow: the one of number COLUMNS + K + i of arm j is such a bound *if j is the best rival
of i* (`differences.apart`), and says nothing otherwise. Where it is known what is left for ever of a bound on a pair,
another K follow, from COLUMNS + 2K on (`differences.ratios`). Rows and columns are those of all arms, whichever of them
are looked at.
"""

COLUMNS = 11  # before the objectives: a column of an arm is one piece of memory, as the rule reads it


@dataclass(frozen=True, eq=False)
class ArmIntervals:
    """Intervals of K arms in M objectives; all arrays are (K, M) inner values, of which larger ones are better.

    What counts lies between `lower` and `upper`, which are infinite where nothing is known. `estimates` are of the
    values that did not fail, `doubt_low`, `doubt_high` how far noise may have moved them; −∞ where all failed.
    """

    lower: Floats
    upper: Floats
    estimates: Floats
    doubt_low: Floats
    doubt_high: Floats
    apart: Floats | None = None
    """Upper bounds (K, K, M) of m_j − m_i, by j and i, where there is evidence on pairs of arms; ∞ where not."""
    best: Floats | None = None
    """Upper ends (K, 1) that hold of the best arm, where one metric counts; they say nothing of others."""

    @property
    def alone(self) -> tuple[Floats, ...]:
        """The arrays of each arm by itself, in the order of the fields."""
        return self.lower, self.upper, self.estimates, self.doubt_low, self.doubt_high

    def of(self, arms: Ints) -> ArmIntervals:
        """Those of some arms only."""
        apart = None if self.apart is None else self.apart[np.ix_(arms, arms)]
        best = None if self.best is None else self.best[arms]
        return replace(ArmIntervals(*(array.take(arms, axis=0) for array in self.alone)), apart=apart, best=best)

    def as_columns(self) -> Floats:
        """Return an array (K, COLUMNS, M) in which no bound can gain anything any more."""
        intervals = unknown_intervals(*self.lower.shape, beside=0 if self.apart is None else 1)
        for column in (LOW, LOW_FLOOR, PLAIN_LOW):
            intervals[:, column] = self.lower
        for column in (HIGH, HIGH_FLOOR, PLAIN_HIGH, BEST_HIGH):
            intervals[:, column] = self.upper
        intervals[:, [ESTIMATE, DOUBT_LOW, DOUBT_HIGH]] = np.stack(self.alone[2:], axis=1)
        if self.apart is not None:
            intervals[:, COLUMNS:] = self.apart
        return intervals


def unknown_intervals(arms: int, objectives: int, *, beside: int = 0) -> Floats:
    """Intervals (K, COLUMNS, M) of arms of which nothing is known; with so many columns for each pair `beside` them."""
    intervals = np.zeros((arms, COLUMNS + arms * beside, objectives))
    intervals[:, COLUMNS:] = np.inf
    intervals[:, [LOW, LOW_FLOOR, PLAIN_LOW, ESTIMATE, DOUBT_LOW, DOUBT_HIGH]] = -np.inf
    intervals[:, [HIGH, HIGH_FLOOR, PLAIN_HIGH, BEST_HIGH]] = np.inf
    return intervals


def interval_rule(
    threat: Threat,
    *,
    arms: int,
    objectives: int,
    delta: float,
    spread: SpreadBound | Any | None = None,
    t_bar: float = 0.49,
    quantiles: npt.ArrayLike = 0.5,
    statistics: Sequence[Statistic] | None = None,
    largest: int = LARGEST,
    one_best: bool = False,
) -> IntervalRule:
    """Intervals of K arms and M objectives that all hold at once, for ever, with probability 1 − δ.

    What counts of each objective are `statistics`, or `quantiles` where none are given. R speaks of medians only:
    objectives with another statistic do without it. `shares_of_ends` says how δ is shared; the shifts of a side have
    one part of it together, and weights by `UNSHIFTED_SHARE`.

    >>> from frontguard import Prescient
    >>> rule = interval_rule(Prescient(0.1), arms=16, objectives=2, delta=0.1)
    >>> rule.low_ranks.shape[:2], rule.low_keep.tolist()
    ((2, 1), [[0.45], [0.45]])
    """
    checked_threat(threat)
    K, M = checked_count(arms, "arms (K)"), checked_count(objectives, "objectives (M)")
    counted = checked_statistics(statistics, quantiles, M, threat)
    shares = shares_of_ends(checked_delta(delta), K, counted, one_best=one_best)
    share = np.full(M, shares.each)
    if shares.best:
        counted, share = (*counted, *counted), np.array([shares.each, shares.best])
    threats = [threat.of(d % M) for d in range(len(counted))]
    kinds, scales = kinds_and_scales(counted)
    bound = None if spread is None else as_spread_bound(spread)
    rows = [
        KINDS[each.kind].rows(each, [] if bound is None else shifts_of(own, bound, t_bar))
        for each, own in zip(counted, threats, strict=True)
    ]
    return IntervalRule(
        **_ranks_of_rows(rows, threats, share, largest),
        quantiles=np.array([each.level for each in counted]),
        taken=np.where(kinds == EXACT, 0.0, [own.taken for own in threats]),
        kinds=kinds,
        scales=scales,
        thresholds=np.vectorize(threshold_of)(np.where(kinds == NORMAL_MEAN, 2.0 * share, share)),
        best=M if shares.best else -1,
        surviving=np.array([own.surviving for own in threats]),
    )


def _ranks_of_rows(
    rows: list[list[RankBound]], threats: Sequence[Threat], shares: Floats, largest: int
) -> dict[str, Any]:
    """Return an `IntervalRule`'s rows of each objective."""
    shape = (len(rows), max(1, *map(len, rows)))
    low_keep, high_keep, costs, log_weights = np.zeros(shape), np.zeros(shape), np.zeros(shape), np.full(shape, -np.inf)
    length = len(rank_table(0.0, float(shares[0]), largest=largest))
    low_ranks, high_ranks = np.zeros((*shape, length), np.int64), np.zeros((*shape, length), np.int64)
    for d, own in enumerate(rows):
        for s, row in enumerate(own):
            costs[d, s], log_weights[d, s] = row.cost, np.log(row.weight)
            share = float(shares[d]) * row.weight
            for probability, keep, ranks in ((row.below, low_keep, low_ranks), (row.above, high_keep, high_ranks)):
                keep[d, s] = max(0.0, threats[d].keep(probability))
                ranks[d, s] = rank_table(float(keep[d, s]), share, largest=largest)
    return {
        "low_ranks": low_ranks, "high_ranks": high_ranks, "costs": costs, "low_keep": low_keep, "high_keep": high_keep,
        "log_weights": log_weights, "log_priors": log_priors_of(low_keep),
    }  # fmt: skip


def checked_statistics(
    statistics: Sequence[Statistic] | None, quantiles: npt.ArrayLike, objectives: int, threat: Threat
) -> tuple[Statistic, ...]:
    """Return the statistics of M objectives; refuse a known deviation where measurements may be replaced."""
    if statistics is None:
        return tuple(Statistic(QUANTILE, float(level)) for level in checked_quantiles(quantiles, objectives))
    counted = tuple(statistics)
    if len(counted) != objectives:
        raise BadInput(f"statistics must be one for each of {objectives} objectives; got {len(counted)}")
    for d, each in enumerate(counted):
        if each.kind == NORMAL_MEAN and (eps := threat.of(d).eps) > 0.0:
            raise BadInput(
                "a mean with a known deviation (sigma) needs contamination 0: one replaced measurement moves a mean as "
                f"far as it likes; give bounds instead of sigma, or count a quantile; got contamination {eps:g}"
            )
    return counted


def first_bounded(rule: IntervalRule) -> list[int | None]:
    """For both ends of each objective the pulls, none of which fails, before which it is not bounded; or None.

    >>> from frontguard import Prescient
    >>> first_bounded(interval_rule(Prescient(0.1), arms=16, objectives=1, delta=0.1, quantiles=0.9))
    [5, 83]
    """
    kinds = rule.kinds.tolist()[: rule.best if rule.best >= 0 else None]
    return [end for d, kind in enumerate(kinds) for end in KINDS[kind].first_bounded(rule, d)]


def first_and_whole(ends: Sequence[int | None]) -> tuple[int | None, int | None]:
    """Return the pulls before which any end of intervals is bounded, and all are; None for never.

    >>> first_and_whole([5, 86]), first_and_whole([5, None])
    ((5, 86), (5, None))
    """
    known = [end for end in ends if end is not None]
    return min(known, default=None), max(known) if known and len(known) == len(ends) else None


def checked_quantiles(quantiles: npt.ArrayLike, objectives: int) -> Floats:
    """Quantile levels (M,), each strictly between 0 and 1."""
    wanted = "strictly between 0 and 1"
    return one_for_each(quantiles, objectives, "quantiles", lambda level: (level > 0.0) & (level < 1.0), wanted)


@kernel
def tighten(interval: Floats, samples: Samples, record: Record, pulls: int, rule: IntervalRule, d: int) -> None:
    """Bring one arm's interval (COLUMNS,) of objective d up to date with its sorted sample; `pulls` counts all pulls.

    An empty interval cannot come about while R and the threat model hold. If R made it so (refuted = 1), the interval
    goes on without R; if it is empty without R too, the threat model is false (refuted = 2): then nothing is known of
    this arm any more.
    """
    low, high, plain_low, plain_high = interval[LOW], interval[HIGH], interval[PLAIN_LOW], interval[PLAIN_HIGH]
    if rule.kinds[d] == QUANTILE:
        for s in range(rule.costs.shape[1] if interval[REFUTED] == 0.0 else 1):
            found_low, found_high = between_ranks(samples, record, pulls, rule, d, s)
            low, high = max(low, found_low), min(high, found_high)
            if s == 0:
                plain_low, plain_high = max(plain_low, found_low), min(plain_high, found_high)
        if interval[REFUTED] == 0.0:
            low, high = with_all_shifts(samples, record, pulls, rule, d, float(pulls), low, high)
    else:
        found_low, found_high = interval_of(samples, record, pulls, rule, d, float(pulls))
        plain_low, plain_high = max(plain_low, found_low), min(plain_high, found_high)
        low, high = plain_low, plain_high
    interval[PLAIN_LOW], interval[PLAIN_HIGH] = plain_low, plain_high
    if plain_low > plain_high or interval[REFUTED] == 2.0:
        refute(interval)
        return
    if low > high and interval[REFUTED] == 0.0:
        interval[REFUTED], interval[BEST_HIGH] = 1.0, np.inf
    if interval[REFUTED] == 1.0:
        low, high = plain_low, plain_high
    interval[LOW], interval[HIGH] = low, high
    interval[BEST_HIGH] = end_of_best(interval, samples, record, pulls, rule)
    interval[LOW_FLOOR], interval[HIGH_FLOOR] = lasting_bounds(interval, samples, record, pulls, rule, d)
    interval[HIGH_FLOOR] = min(interval[HIGH_FLOOR], interval[BEST_HIGH])


@kernel
def end_of_best(interval: Floats, samples: Samples, record: Record, pulls: int, rule: IntervalRule) -> float:
    """The upper end so far that the rule reads of an interval (COLUMNS,): see `BEST_HIGH`."""
    row, low = rule.best, float(interval[LOW])
    high = float(interval[HIGH])
    if row < 0:
        return high
    high = min(high, interval[BEST_HIGH])
    if rule.kinds[row] == QUANTILE:
        for s in range(usable_shifts(interval, rule)):
            high = min(high, between_ranks(samples, record, pulls, rule, row, s)[1])
        if interval[REFUTED] == 0.0:
            high = with_all_shifts(samples, record, pulls, rule, row, float(pulls), low, high)[1]
    else:
        high = min(high, interval_of(samples, record, pulls, rule, row, float(pulls))[1])
    return max(high, low)  # an arm whose interval were empty is not the best


@kernel
def usable_shifts(interval: Floats, rule: IntervalRule) -> int:
    """Return how many of the shifts, the first of which needs no R, the data have not refuted."""
    return rule.costs.shape[1] if interval[REFUTED] == 0.0 else 1 if interval[REFUTED] == 1.0 else 0


@kernel
def lasting_bounds(
    interval: Floats, samples: Samples, record: Record, pulls: int, rule: IntervalRule, d: int
) -> tuple[float, float]:
    """Return what is left of an interval (COLUMNS,) of objective d if the sample goes on like this for ever."""
    low, high = interval[LOW], interval[HIGH]
    if rule.kinds[d] == QUANTILE:
        return lasting_quantile(low, high, usable_shifts(interval, rule), samples, record, pulls, rule, d)
    if interval[REFUTED] == 0.0 and pulls > 0:
        last_low, last_high = lasting_of(samples, record, pulls, rule, d)
        low, high = max(low, last_low), min(high, last_high)
    return low, high


@kernel
def refresh(intervals: Floats, i: int, samples: Samples, pulls: int, rule: IntervalRule) -> bool:
    """Bring arm i's intervals and point estimates up to date with its sorted samples; whether a bound was found false.

    `pulls` counts all that were asked for: one that failed, or has not come back yet, may be anything. (To leave those
    out that are still on their way would be wrong: which of them come first may depend on what they measure.)
    """
    M = intervals.shape[2]
    found_false = False
    for d in range(M):
        interval = intervals[i, :, d]
        record: Record = samples.columns[i * M + d]
        refuted = interval[REFUTED]
        tighten(interval, samples, record, pulls, rule, d)
        found_false |= interval[REFUTED] != refuted
        if record.count == 0:
            continue
        interval[ESTIMATE], interval[DOUBT_LOW], interval[DOUBT_HIGH] = estimate_of(samples, record, rule, d)
        moved = not interval[PLAIN_LOW] <= interval[ESTIMATE] <= interval[PLAIN_HIGH]
        if moved and interval[REFUTED] != 2.0:
            refute(interval)
            found_false = True
    return found_false


@kernel
def refute(interval: Floats) -> None:
    """Let nothing be known of an interval (COLUMNS,), for good: what it rests on is false."""
    interval[REFUTED] = 2.0
    interval[LOW], interval[LOW_FLOOR] = -np.inf, -np.inf
    interval[HIGH], interval[HIGH_FLOOR], interval[BEST_HIGH] = np.inf, np.inf, np.inf


@kernel(over="arms", deep=True)
def refresh_all(intervals: Floats, arms: Ints, samples: Samples, pulls: Ints, rule: IntervalRule) -> bool:
    """`refresh` these arms (n,), of which so many pulls (n,) were asked for; whether some bound was found false."""
    found_false = False
    for n in range(arms.shape[0]):
        found_false |= refresh(intervals, arms[n], samples, pulls[n], rule)
    return found_false
