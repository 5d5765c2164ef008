"""Boxes: intervals that contain the true quantiles of an arm at every number of pulls at once, whatever the attacker
does.

For an objective whose quantile of level p counts, and n observations, let A be the number of clean ones at or below
the true quantile. Under each threat model A dominates a Binomial(n, keep(p)), so with probability 1 − δ' the true
quantile is at or above the observation of rank q(n; keep(p), δ') for all n at once; likewise from above. With a
spread bound R there is such evidence for every fixed shift t: the quantile of level p + t is at most R(t) away, and is
bracketed sooner. What decides is the mean of all of it (`evidence.averages`). The box is what is left over all n so
far. Where an attacker may take any share of the observations afterwards (`Threat.taken`), so many are taken from every
rank.

Where the mean of values with known bounds counts instead, the interval is what bets on it leave (`evidence.means`), at
keep(μ) as well; the mean of values with a known deviation has that of a normal mixture; and an exact value is its own.

An observation that failed may be anything: it counts in n, at −∞ for the lower side and at +∞ for the upper.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from frontguard._common.checks import checked_count, checked_delta, one_for_each
from frontguard._common.compiled import kernel
from frontguard._common.typing import Floats, Ints
from frontguard.errors import BadInput
from frontguard.evidence.averages import first_bounded_on_average, log_priors_of, refuted_below
from frontguard.evidence.boundaries import STEPS, rank_table, read_rank, taken_away, taken_away_each
from frontguard.evidence.means import (
    WORST,
    highest_means,
    highest_rate,
    lasting_means,
    mean_and_error,
    normal_reach,
    threshold_of,
    unrefuted_mean,
    weights_for,
)
from frontguard.evidence.ordered import Samples, ranked
from frontguard.evidence.samples import Record
from frontguard.evidence.statistics import (
    BOUNDED_MEAN,
    EXACT,
    NORMAL_MEAN,
    QUANTILE,
    SIGMA,
    Statistic,
    inner_of_mean,
    kinds_and_scales,
    noisy,
)
from frontguard.theory.spread import SpreadBound, as_spread_bound
from frontguard.theory.threats import Threat, checked_t_bar, checked_threat

LARGEST = 2**20
"""Pulls of an arm up to which ranks are tabulated. Beyond it boxes stay valid but hardly shrink."""

SHIFTS = (0.35, 0.5, 0.65, 0.8, 0.9, 0.97)
"""Where between h and t̄ the shifts lie for which R is used; see docs/choices.md for what others cost."""

UNSHIFTED_SHARE = 4.0
"""How much more weight the evidence without a shift has than that of each of the others."""

DOUBT = 0.5
"""Standard errors of a point estimate that count as doubt when candidates are chosen."""

LOW, HIGH, LOW_FLOOR, HIGH_FLOOR, REFUTED, PLAIN_LOW, PLAIN_HIGH, ESTIMATE, DOUBT_LOW, DOUBT_HIGH = range(10)
"""Columns of an array of boxes (K, COLUMNS, M), for every arm and objective:

- `LOW`, `HIGH`: L and H, the interval so far;
- `LOW_FLOOR`, `HIGH_FLOOR`: what would be left of it if the sample went on like this for ever;
- `REFUTED`: what the data refute: 0 nothing, 1 the spread bound R, 2 the threat model;
- `PLAIN_LOW`, `PLAIN_HIGH`: the interval so far without R;
- `ESTIMATE`: the point estimate, and `DOUBT_LOW`, `DOUBT_HIGH`: how far sampling noise may have moved it.

Where there is evidence on pairs of arms besides, K columns more follow, from `COLUMNS` on: the one of number
COLUMNS + i of arm j is an upper bound of m_j − m_i that is not made of boxes, ∞ where there is none. Where there is
evidence on rivals, K more follow: the one of number COLUMNS + K + i of arm j is such a bound *if j is the best rival
of i* (`evidence.apart`), and says nothing otherwise. Rows and columns are those of all arms, whichever of them are
looked at.
"""

COLUMNS = 10  # before the objectives: a column of an arm is one piece of memory, as the rule reads it


@dataclass(frozen=True, eq=False)
class ArmBoxes:
    """What is known of K arms in M objectives; all arrays are (K, M) inner values, of which larger ones are better.

    The true quantiles lie between `lower` and `upper`, which are infinite where nothing is known. `estimates` are the
    empirical quantiles of the values that did not fail, and `doubt_low`, `doubt_high` how far sampling noise may have
    moved them; −∞ where all failed.
    """

    lower: Floats
    upper: Floats
    estimates: Floats
    doubt_low: Floats
    doubt_high: Floats
    apart: Floats | None = None
    """Upper bounds (K, K, M) of m_j − m_i, by j and i, where there is evidence on pairs of arms; ∞ where not."""

    @property
    def alone(self) -> tuple[Floats, ...]:
        """What is known of each arm by itself, in the order of the fields."""
        return self.lower, self.upper, self.estimates, self.doubt_low, self.doubt_high

    def of(self, arms: Ints) -> ArmBoxes:
        """Those of some arms only."""
        apart = None if self.apart is None else self.apart[np.ix_(arms, arms)]
        return replace(ArmBoxes(*(array.take(arms, axis=0) for array in self.alone)), apart=apart)

    def as_columns(self) -> Floats:
        """The same as an array (K, COLUMNS, M) in which no bound can gain anything any more."""
        boxes = unknown_boxes(*self.lower.shape, pairs=self.apart is not None)
        for column in (LOW, LOW_FLOOR, PLAIN_LOW):
            boxes[:, column] = self.lower
        for column in (HIGH, HIGH_FLOOR, PLAIN_HIGH):
            boxes[:, column] = self.upper
        boxes[:, ESTIMATE], boxes[:, DOUBT_LOW], boxes[:, DOUBT_HIGH] = self.estimates, self.doubt_low, self.doubt_high
        if self.apart is not None:
            boxes[:, COLUMNS:] = self.apart
        return boxes


def unknown_boxes(arms: int, objectives: int, *, pairs: bool = False, rivals: bool = False) -> Floats:
    """Boxes (K, COLUMNS, M) of arms of which nothing is known; with room for evidence on `pairs`, and on `rivals`."""
    boxes = np.zeros((arms, COLUMNS + arms * (pairs + rivals), objectives))
    boxes[:, COLUMNS:] = np.inf
    boxes[:, [LOW, LOW_FLOOR, PLAIN_LOW, ESTIMATE, DOUBT_LOW, DOUBT_HIGH]] = -np.inf
    boxes[:, [HIGH, HIGH_FLOOR, PLAIN_HIGH]] = np.inf
    return boxes


class BoxRule(NamedTuple):
    """By what boxes are read off sorted samples; S shifts for each of M objectives.

    The first seven fields are of quantiles, and those from `kinds` on say which objectives have none.
    """

    low_ranks: Ints  # (M, S, T): tables for `read_rank`, from below, each with its weight's part of δ' ...
    high_ranks: Ints  # ... and from above
    costs: Floats  # (M, S): R(t)
    low_keep: Floats  # (M, S): the shares of observations that chance leaves to either side, from below ...
    high_keep: Floats  # ... and from above
    quantiles: Floats  # (M,)
    taken: Floats  # (M,): the share of the observations that is taken from every rank, see `Threat.taken`
    kinds: Ints  # (M,): QUANTILE, BOUNDED_MEAN, NORMAL_MEAN or EXACT
    scales: Floats  # (M, 5): of means, see `evidence.statistics`
    thresholds: Floats  # (M,): log(1/δ') of each end, and log(1/(2δ')) of both of a mean with a known deviation
    surviving: Floats  # (2,): keep(μ) = surviving[0] · μ − surviving[1]
    log_weights: Floats  # (M, S): of the evidence of each shift in the mean of all; −∞ for those that are not used
    log_priors: Floats  # (M, S): see `averages.refuted_below`; of `low_keep`, which is the other where there are shifts


def box_rule(
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
) -> BoxRule:
    """Boxes of K arms and M objectives that all hold at once, for ever, with probability 1 − δ.

    What counts of each objective are `statistics`, or `quantiles` where none are given. R speaks of medians only:
    objectives with another statistic do without it. δ is shared equally by arms, sides and those objectives that are
    not exact; the shifts of a side have one part of it together, and weights by `UNSHIFTED_SHARE`.

    >>> from frontguard import Prescient
    >>> rule = box_rule(Prescient(0.1), arms=16, objectives=2, delta=0.1)
    >>> rule.low_ranks.shape[:2], rule.low_keep.tolist()
    ((2, 1), [[0.45], [0.45]])
    """
    checked_threat(threat)
    K, M = checked_count(arms, "arms (K)"), checked_count(objectives, "objectives (M)")
    counted = checked_statistics(statistics, quantiles, M, threat)
    share = checked_delta(delta) / (2.0 * K * noisy(counted))
    levels = np.array([each.level for each in counted])
    kinds, scales = kinds_and_scales(counted)
    bound = None if spread is None else as_spread_bound(spread)
    shifts: Sequence[float] = ()
    if bound is not None:
        threat.check(checked_t_bar(t_bar))
        bound.check(t_bar)
        shifts = [threat.shift + f * (t_bar - threat.shift) for f in SHIFTS]
    shape = (M, 1 + len(shifts))
    low_keep, high_keep, costs, log_weights = np.zeros(shape), np.zeros(shape), np.zeros(shape), np.full(shape, -np.inf)
    length = len(rank_table(0.0, share, largest=largest))
    low_ranks, high_ranks = np.zeros((*shape, length), np.int64), np.zeros((*shape, length), np.int64)
    for d, p in enumerate(levels):
        if kinds[d] != QUANTILE:
            continue
        used = [0.0, *(shifts if p == 0.5 and counted[d].spread else [])]
        weights = np.ones(len(used))
        weights[0] = UNSHIFTED_SHARE if len(used) > 1 else 1.0
        for s, (t, weight) in enumerate(zip(used, weights / weights.sum(), strict=True)):
            costs[d, s] = 0.0 if t == 0.0 or bound is None else float(bound(t))
            log_weights[d, s] = np.log(weight)
            for level, keep, ranks in ((p, low_keep, low_ranks), (1.0 - p, high_keep, high_ranks)):
                keep[d, s] = max(0.0, threat.keep(level + t))
                ranks[d, s] = rank_table(float(keep[d, s]), share * weight, largest=largest)
    thresholds = np.where(kinds == NORMAL_MEAN, threshold_of(2.0 * share), threshold_of(share))
    taken = np.where(kinds == EXACT, 0.0, threat.taken)
    return BoxRule(
        *(low_ranks, high_ranks, costs, low_keep, high_keep, levels, taken, kinds, scales, thresholds),
        *(np.array(threat.surviving), log_weights, log_priors_of(low_keep)),
    )


def checked_statistics(
    statistics: Sequence[Statistic] | None, quantiles: npt.ArrayLike, objectives: int, threat: Threat
) -> tuple[Statistic, ...]:
    """What counts of M objectives; refuses a known deviation where measurements may be replaced by anything."""
    if statistics is None:
        return tuple(Statistic(QUANTILE, float(level)) for level in checked_quantiles(quantiles, objectives))
    counted = tuple(statistics)
    if len(counted) != objectives:
        raise BadInput(f"statistics must be one for each of {objectives} objectives; got {len(counted)}")
    if threat.eps > 0.0 and any(each.kind == NORMAL_MEAN for each in counted):
        raise BadInput(
            "a mean with a known deviation (sigma) needs contamination 0: one replaced measurement moves a mean as far "
            f"as it likes; give bounds instead of sigma, or count a quantile; got contamination {threat.eps:g}"
        )
    return counted


def first_bounded(rule: BoxRule) -> list[int | None]:
    """For both ends of the box of each objective the pulls, none of which fails, before which it is not bounded.

    None where no number of pulls that is tabulated bounds it.

    >>> from frontguard import Prescient
    >>> first_bounded(box_rule(Prescient(0.1), arms=16, objectives=1, delta=0.1, quantiles=0.9))
    [5, 83]
    """
    steps = np.arange(rule.low_ranks.shape[2], dtype=np.int64)
    pulls = -(-steps * steps // STEPS**2)  # of each entry of a table: between two of them, only more is taken
    found: list[int | None] = []
    for d, (low, high, taken) in enumerate(zip(rule.low_ranks, rule.high_ranks, rule.taken, strict=True)):
        if rule.kinds[d] != QUANTILE:
            times, less = rule.surviving.tolist()
            bounded = rule.kinds[d] == BOUNDED_MEAN
            first = first_informative(float(taken), (times, less), float(rule.thresholds[d])) if bounded else 1
            found += [first, first]
            continue
        for tables, keep in ((low, rule.low_keep[d]), (high, rule.high_keep[d])):
            useful = np.flatnonzero((tables > taken_away_each(float(taken), pulls)).any(axis=0))
            first = int(pulls[useful[0]]) if len(useful) else None
            if first is not None and rule.log_weights[d, -1] > -np.inf and len(keep) > 1:
                first = first_bounded_on_average(keep, rule.log_weights[d], rule.thresholds[d], float(taken), first)
            found.append(first)
    return found


def first_informative(
    threat_taken: float, surviving: tuple[float, float], threshold: float, *, one_look: bool = False, rates: float = 0.0
) -> int | None:
    """The pulls before which the interval of a bounded mean is all that its bounds allow, whatever is measured.

    None where no number up to `LARGEST` is enough. `rates` is the δ' of an exact binomial bound beside the bets, where
    there is one.

    >>> from frontguard import Prescient
    >>> first_informative(0.0, Prescient(0.1).surviving, threshold_of(0.001))
    5
    """
    times, less = surviving
    fewest, most = 0, LARGEST

    def informs(pulls: int) -> bool:
        taken = int(taken_away(threat_taken, pulls))
        weights = weights_for(float(pulls), threshold, one_look)
        most = float(unrefuted_mean(taken * WORST, float(pulls), threshold, weights))
        if rates > 0.0:
            most = min(most, float(highest_rate(np.array([float(taken)]), np.array([float(pulls)]), rates)[0]))
        return most + less < times

    if not informs(most):
        return None
    while most - fewest > 1:
        middle = (fewest + most) // 2
        fewest, most = (fewest, middle) if informs(middle) else (middle, most)
    return most


def first_and_whole(ends: Sequence[int | None]) -> tuple[int | None, int | None]:
    """Of the pulls before which ends of boxes are not bounded: before any is, and before all are; None for never.

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
def tighten(box: Floats, samples: Samples, record: Record, pulls: int, rule: BoxRule, d: int) -> None:
    """Bring one arm's box (COLUMNS,) of objective d up to date with its sorted sample; `pulls` counts failed ones too.

    An empty interval cannot come about while R and the threat model hold. If R made it so (refuted = 1), the interval
    goes on without R; if it is empty without R too, the threat model is false (refuted = 2): then nothing is known of
    this arm any more.
    """
    low, high, plain_low, plain_high = box[LOW], box[HIGH], box[PLAIN_LOW], box[PLAIN_HIGH]
    if rule.kinds[d] == QUANTILE:
        for s in range(rule.costs.shape[1] if box[REFUTED] == 0.0 else 1):
            found_low, found_high = _between_ranks(samples, record, pulls, rule, d, s)
            low, high = max(low, found_low), min(high, found_high)
            if s == 0:
                plain_low, plain_high = max(plain_low, found_low), min(plain_high, found_high)
        if box[REFUTED] == 0.0:
            low, high = with_all_shifts(samples, record, pulls, rule, d, float(pulls), low, high)
    else:
        found_low, found_high = bounds_without_ranks(samples, record, pulls, rule, d, float(pulls))
        plain_low, plain_high = max(plain_low, found_low), min(plain_high, found_high)
        low, high = plain_low, plain_high
    if plain_low > plain_high:
        box[REFUTED] = 2.0
    elif low > high and box[REFUTED] == 0.0:
        box[REFUTED] = 1.0
    if box[REFUTED] == 1.0:
        low, high = plain_low, plain_high
    elif box[REFUTED] == 2.0:
        low, high = -np.inf, np.inf
    box[LOW], box[HIGH], box[PLAIN_LOW], box[PLAIN_HIGH] = low, high, plain_low, plain_high
    box[LOW_FLOOR], box[HIGH_FLOOR] = lasting_bounds(box, samples, record, pulls, rule, d)


@kernel
def _between_ranks(samples: Samples, record: Record, pulls: int, rule: BoxRule, d: int, s: int) -> tuple[float, float]:
    """The interval that order statistics give a quantile, with the shift s."""
    have = record.count
    lost = pulls - have + taken_away(rule.taken[d], pulls)  # those that failed, and those that may not be counted on
    low, high = -np.inf, np.inf
    rank = read_rank(rule.low_ranks[d, s], pulls)
    if rank > lost:
        low = ranked(samples, record, rank - lost - 1) - rule.costs[d, s]
    rank = read_rank(rule.high_ranks[d, s], pulls)
    if rank > lost:
        high = ranked(samples, record, have - 1 - (rank - lost - 1)) + rule.costs[d, s]
    return low, high


@kernel
def with_all_shifts(
    samples: Samples, record: Record, pulls: int, rule: BoxRule, d: int, foreseen: float, low: float, high: float
) -> tuple[float, float]:
    """The interval of a median that the mean of all shifts' evidence leaves of one that holds already.

    It is the one of `foreseen` pulls, should the sample go on in the proportions that it has.
    """
    if rule.costs.shape[1] == 1 or rule.log_weights[d, 1] == -np.inf or pulls == 0:
        return low, high
    lost = pulls - record.count + taken_away(rule.taken[d], pulls)
    keep, costs, weights, priors = rule.low_keep[d], rule.costs[d], rule.log_weights[d], rule.log_priors[d]
    threshold = rule.thresholds[d]
    low = refuted_below(samples, record, pulls, lost, foreseen, low, False, keep, costs, weights, priors, threshold)
    high = -refuted_below(samples, record, pulls, lost, foreseen, -high, True, keep, costs, weights, priors, threshold)
    return low, high


@kernel
def bounds_without_ranks(
    samples: Samples, record: Record, pulls: int, rule: BoxRule, d: int, foreseen: float
) -> tuple[float, float]:
    """The interval of a mean, or the exact value; empty if that was measured differently.

    It is the one of `foreseen` pulls, should the sample go on in the proportions that it has.
    """
    have = record.count
    low, high = -np.inf, np.inf
    if rule.kinds[d] == EXACT:
        if have > 0:
            low, high = ranked(samples, record, have - 1), ranked(samples, record, 0)
    elif rule.kinds[d] == NORMAL_MEAN:
        if have == pulls and have > 0:  # a failed pull may be anything, and this mean with it
            mean, _ = mean_and_error(samples, record)
            reach = normal_reach(foreseen, rule.scales[d, SIGMA], rule.thresholds[d])
            low, high = inner_of_mean(mean - reach, rule.scales[d]), inner_of_mean(mean + reach, rule.scales[d])
    elif pulls > 0:
        taken = taken_away(rule.taken[d], pulls)
        lacking, most = highest_means(samples, record, pulls, taken, rule.thresholds[d], foreseen)
        low, high = _in_inner_values(lacking, most, rule, d)
    return low, high


@kernel
def _in_inner_values(lacking: float, high: float, rule: BoxRule, d: int) -> tuple[float, float]:
    """The inner interval of a bounded mean, of which this much at most is left of it, and of what it lacks of 1."""
    times, less = rule.surviving[0], rule.surviving[1]
    low = 1.0 - min(1.0, (lacking + less) / times)
    high = min(1.0, (high + less) / times)
    return inner_of_mean(low, rule.scales[d]), inner_of_mean(high, rule.scales[d])


@kernel
def usable_shifts(box: Floats, rule: BoxRule) -> int:
    """How many of the shifts, the first of which needs no R, the data have not refuted."""
    return rule.costs.shape[1] if box[REFUTED] == 0.0 else 1 if box[REFUTED] == 1.0 else 0


@kernel
def lasting_bounds(
    box: Floats, samples: Samples, record: Record, pulls: int, rule: BoxRule, d: int
) -> tuple[float, float]:
    """What would be left of a box (COLUMNS,) of objective d if the sample went on like this for ever."""
    low, high = box[LOW], box[HIGH]
    if rule.kinds[d] != QUANTILE:
        if box[REFUTED] != 0.0 or pulls == 0:
            return low, high
        if rule.kinds[d] == BOUNDED_MEAN:
            taken = taken_away(rule.taken[d], pulls)
            lacking, most = lasting_means(samples, record, pulls, taken)
            last_low, last_high = _in_inner_values(lacking, most, rule, d)
            return max(low, last_low), min(high, last_high)
        if rule.kinds[d] == NORMAL_MEAN and record.count == pulls:
            mean, _ = mean_and_error(samples, record)
            middle = inner_of_mean(mean, rule.scales[d])
            return max(low, middle), min(high, middle)
        return low, high
    lost = pulls - record.count + taken_away(rule.taken[d], pulls)
    last = record.count - 1
    for s in range(usable_shifts(box, rule)):
        rank = min(int(np.ceil(rule.low_keep[d, s] * pulls)), pulls)
        if rank > lost:
            low = max(low, ranked(samples, record, rank - lost - 1) - rule.costs[d, s])
        rank = min(int(np.ceil(rule.high_keep[d, s] * pulls)), pulls)
        if rank > lost:
            high = min(high, ranked(samples, record, last - (rank - lost - 1)) + rule.costs[d, s])
    return low, high


@kernel
def refresh(boxes: Floats, i: int, samples: Samples, pulls: int, rule: BoxRule) -> bool:
    """Bring arm i's boxes and point estimates up to date with its sorted samples; whether a bound was found false.

    `pulls` counts all that were asked for: one that failed, or has not come back yet, may be anything. (To leave those
    out that are still on their way would be wrong: which of them come first may depend on what they measure.)
    """
    M = boxes.shape[2]
    found_false = False
    for d in range(M):
        box = boxes[i, :, d]
        record: Record = samples.columns[i * M + d]
        refuted = box[REFUTED]
        tighten(box, samples, record, pulls, rule, d)
        found_false |= box[REFUTED] != refuted
        have = record.count
        if have == 0:
            continue
        if rule.kinds[d] == BOUNDED_MEAN or rule.kinds[d] == NORMAL_MEAN:
            mean, error = mean_and_error(samples, record)
            box[ESTIMATE] = inner_of_mean(mean, rule.scales[d])
            box[DOUBT_LOW] = inner_of_mean(mean - DOUBT * error, rule.scales[d])
            box[DOUBT_HIGH] = inner_of_mean(mean + DOUBT * error, rule.scales[d])
            continue
        level = rule.quantiles[d]
        middle = level * (have - 1)
        below, above = int(np.floor(middle)), int(np.ceil(middle))
        box[ESTIMATE] = 0.5 * ranked(samples, record, below) + 0.5 * ranked(samples, record, above)
        reach = DOUBT * np.sqrt(have * level * (1.0 - level))
        box[DOUBT_LOW] = ranked(samples, record, max(0, int(np.floor(middle - reach))))
        box[DOUBT_HIGH] = ranked(samples, record, min(have - 1, int(np.ceil(middle + reach))))
    return found_false


@kernel(over="arms", deep=True)
def refresh_all(boxes: Floats, arms: Ints, samples: Samples, pulls: Ints, rule: BoxRule) -> bool:
    """`refresh` these arms (n,), of which so many pulls (n,) were asked for; whether some bound was found false."""
    found_false = False
    for n in range(arms.shape[0]):
        found_false |= refresh(boxes, arms[n], samples, pulls[n], rule)
    return found_false
