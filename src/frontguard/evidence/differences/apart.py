"""Bounds of the difference of two arms that are measured independently of each other; docs/theory.md, (u) and (bb).

Evidence of two arms is multiplied, and refutes a difference sooner than two intervals. *Quantiles* have evidence at
levels, a prior that fits many pulls, and never less than e^`LOWEST`; *means with a known deviation* have a closed form
(`normal_apart`). *Rivals*: whether an arm is kept rests on bounds that hold of its best rival, the arm that beats it
most; nothing else may rest on them. Where replacements may give away what later pulls will measure, the threshold is
that for evidence of all time (`lasting_threshold`). *Sorted measurements*, looked at once, are two samples
(`differences.two_sample`); otherwise an arm has an end at every level, and pairs of levels are looked at.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Self

import numpy as np

from frontguard._common.compiled import inlined, kernel
from frontguard._common.typing import Bools, Floats, Ints
from frontguard.errors import BadArgument
from frontguard.evidence.confidence_sequences import taken_away, threshold_of
from frontguard.evidence.differences import Compared, Differences, Sampled
from frontguard.evidence.differences.pairs import MOST_ARMS, SHARE
from frontguard.evidence.differences.two_sample import SampleEnds, largest_differences, sample_of
from frontguard.evidence.intervals import (
    COLUMNS,
    ESTIMATE,
    HIGH,
    LOW,
    REFUTED,
    ArmIntervals,
    usable_shifts,
)
from frontguard.evidence.kinds import RELATIVE, SIGMA, IntervalRule, LogLook, Statistic
from frontguard.evidence.measurements import ComparedLog, Ordered
from frontguard.evidence.quantiles import log_priors_of, log_term, signed_value
from frontguard.evidence.readers import IntervalReader
from frontguard.evidence.samples import Record, Samples
from frontguard.evidence.statistics import EXACT, NORMAL_MEAN, QUANTILE, kinds_and_scales
from frontguard.notices import IndependentArms, Notice
from frontguard.theory.threats import Threat

PAIRS, RIVALS = 0.2, 0.3
"""Of δ, what evidence on pairs gets where arms are independent, and what that on rivals; intervals have the rest."""

STRENGTH = 8.0
"""Weight of the prior of a count's evidence: pairs decide where arms are close, so after many pulls."""

LOWEST, STEP = -3.0, 0.25
"""The logarithm of the evidence that an arm always has, and how far apart the levels are at which it is read."""

NORMAL_PAIRS, NORMAL_RIVALS = 0.6, 0.25
"""The same where all that is compared are means with a known deviation: pairs decide nearly everything there."""

NORMAL_WEIGHT = 600.0
"""Of the priors of two means with a known deviation, their weight in pulls."""

EQUAL, TOGETHER = 0.6, 0.98
"""Of the prior for arms with about as many pulls: its share, and how much their bets agree."""

UNEQUAL, TOGETHER_UNEQUAL = 2.0, 0.9
"""Of the two for arms of which one has several times as many: by how much its bets are smaller, and the other's larger,
and how much they agree."""


class ApartRule(NamedTuple):
    """By what independent arms are compared, beside the `IntervalRule` of M objectives with S shifts."""

    usable: Bools  # (M,): see `comparable`
    thresholds: Floats  # (2, M): T of each ordered pair (of means, of both orders together), and of rivals
    low_priors: Floats  # (M, S): constants of the mixtures, see `log_prior_of`, from below ...
    high_priors: Floats  # ... and from above
    evidence: Floats  # (N,): at which an arm's evidence is read, rising
    levels: Ints  # (2,): how many of these pairs need, and rivals
    lasting: Bools  # (1,): whether what counts is the largest evidence of all time


def comparable(statistics: Sequence[Statistic], threat: Threat) -> Bools:
    """In which objectives (M,) independent arms are compared: quantiles, and means with a known σ but no percentage."""
    kinds, scales = kinds_and_scales(statistics)
    foretold = threat.eps > 0.0 and threat.foresees
    return np.asarray((kinds == QUANTILE) | ((kinds == NORMAL_MEAN) & (scales[:, RELATIVE] == 0.0) & (not foretold)))


def check_arms(arms: int) -> None:
    """Refuse more arms than are looked at in pairs."""
    if arms > MOST_ARMS:
        raise BadArgument("independent", f"pairs of up to {MOST_ARMS} arms are looked at; got {arms:,}: leave it away")


def lasting_threshold(delta: float) -> float:
    """T with (1 + T) e^(−T) = δ: what a product of two evidences, each the largest of all time, reaches that rarely.

    >>> T = lasting_threshold(0.01)
    >>> round(T, 3), round((1.0 + T) * math.exp(-T), 6)
    (6.638, 0.01)
    """
    wanted = threshold_of(delta)
    T = wanted
    while True:  # rises to the root
        following = wanted + math.log1p(T)
        if following <= T * (1.0 + 1e-15):
            return following
        T = following


def shares_of(
    statistics: Sequence[Statistic], threat: Threat, compared: Compared, *, rivals: bool = True
) -> tuple[float, float]:
    """Return what of δ evidence on pairs gets, and that on rivals: none of two arms, or with a baseline."""
    kinds = kinds_and_scales(statistics)[0][comparable(statistics, threat)]
    normal = kinds.size and (kinds == NORMAL_MEAN).all()
    of_pairs, of_rivals = (NORMAL_PAIRS, NORMAL_RIVALS) if normal else (PAIRS, RIVALS)
    some = rivals and compared.arms > 2 and compared.baseline is None
    return (of_pairs, of_rivals) if some else (of_pairs + of_rivals, 0.0)


def apart_rule(
    threat: Threat, statistics: Sequence[Statistic], rule: IntervalRule, compared: Compared, *, delta: float,
    shares: tuple[float, float], rivals: bool = True,
) -> ApartRule:  # fmt: skip
    """Bounds of m_j − m_i for all ordered pairs that are compared, and for best rivals, each with its share of δ.

    In all comparable objectives. `rule` is that of the intervals, of as many statistics. Without `rivals` their share
    is given away.
    """
    lasting = threat.eps > 0.0 and threat.foresees
    usable = comparable(statistics, threat)
    objectives = int(usable.sum())
    least = lasting_threshold if lasting else threshold_of
    of_pairs = delta * shares[0] / max(1, compared.ordered_pairs * objectives)
    of_rivals = delta * shares[1] / max(1, compared.arms * objectives) if rivals else 0.0
    plain = np.array([least(of_pairs), least(of_rivals) if of_rivals else np.inf])
    of_means = [threshold_of(2.0 * of_pairs), threshold_of(of_rivals) if of_rivals else np.inf]
    normal = rule.kinds[: len(usable)] == NORMAL_MEAN
    thresholds = np.where(normal, np.array(of_means)[:, None], plain[:, None])
    needed = [math.ceil((T - 2.0 * LOWEST) / STEP) if np.isfinite(T) else 0 for T in plain]
    evidence = np.exp(LOWEST + STEP * np.arange(1, max(needed) + 1))
    low, high = (log_priors_of(keep, STRENGTH) for keep in (rule.low_keep, rule.high_keep))
    return ApartRule(usable, thresholds, low, high, evidence, np.array(needed), np.array([lasting]))


class Apart(Differences):
    """Differences of arms whose measurements do not depend on each other: that is taken for granted.

    Quantiles count, and means with a known deviation. Evidence on rivals does not unless the accuracy was `foreseen`,
    fixed before anything was measured: which arm is the best rival of another depends on it. Nor does it where there
    are limits, and once an arm is excluded.
    """

    def __init__(
        self, compared: Compared, threat: Threat, statistics: Sequence[Statistic], *, delta: float,
        limited: bool = False, foreseen: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(compared)
        check_arms(compared.arms)
        counted = tuple(statistics)[: compared.objectives]
        self.usable = comparable(counted, threat)
        if not self.usable.any():
            raise BadArgument(
                "independent",
                "arms are compared by quantiles, and by means with a known deviation (sigma) whose "
                "tolerance is no percentage; got no such objective: leave it away",
            )
        self._shares = shares_of(counted, threat, compared, rivals=not limited)
        self.of_intervals = 1.0 - self._shares[0] - self._shares[1]
        self._made_of = threat, counted, delta, foreseen

    def adapt(self, rule: IntervalRule) -> IntervalRule:
        """Return the rule as it is; bounds of differences are made of it."""
        threat, counted, delta, foreseen = self._made_of
        self._intervals = rule
        self.rule = apart_rule(threat, counted, rule, self.compared, delta=delta, shares=self._shares, rivals=foreseen)
        self.columns = 2 if self.rule.levels[1] > 0 else 1
        self.begin()
        return rule

    def begin(self) -> None:
        """Forget all measurements."""
        self._read_at = np.zeros(self.compared.arms, np.int64)  # pulls asked for when an arm's evidence was read
        # Where evidence begins and ends, from below and, with the sign changed, from above: nowhere yet.
        shape = 2, self.compared.arms, self.compared.objectives, len(self.rule.evidence)
        self.levels = np.full(shape, -np.inf)

    def copy(self) -> Self:
        """Return the same evidence, to go on with by itself."""
        other = super().copy()
        other.levels, other._read_at = self.levels.copy(), self._read_at.copy()
        return other

    def refresh(self, now: Sampled) -> bool:
        """Bring bounds of differences up to date."""
        changed = np.union1d(now.touched, np.flatnonzero(now.asked != self._read_at))
        self._read_at = now.asked
        its = self.compared.baseline
        self._refresh(now, now.alive if its is None else np.array([its]), changed)
        if its is not None and its in changed:
            self._refresh(now, now.alive, np.array([its]))
        return False

    def _refresh(self, now: Sampled, arms: Ints, touched: Ints) -> None:
        refresh_apart(now.intervals, self.levels, now.samples, now.asked, arms, touched, self._intervals, self.rule)

    def forget(self, intervals: Floats, arms: Ints) -> None:
        """Let intervals and evidence say nothing of these arms, nor of how others differ from them."""
        super().forget(intervals, arms)
        self.levels[:, arms] = -np.inf

    def exclude(self, intervals: Floats) -> None:
        """Withdraw what is said of rivals: among the other arms, the best one was not fixed beforehand."""
        intervals[:, COLUMNS + self.compared.arms :] = np.inf

    def notices(self) -> tuple[Notice, ...]:
        """Return that arms are taken to be independent."""
        return (IndependentArms(self.compared.arms),)


@inlined
def _log_odds_and_prior(n_i: float, n_j: float, u_i: float, u_j: float, together: float) -> tuple[float, float]:
    """log det(I + ΣN) of bets whose deviations are as u_i to u_j, and what their prior adds to 1/n_i + 1/n_j."""
    a, b = u_i * u_i * n_i / NORMAL_WEIGHT, u_j * u_j * n_j / NORMAL_WEIGHT
    odds = (1.0 + a) * (1.0 + b) - together * together * a * b
    x, y = 1.0 / (u_i * n_i), 1.0 / (u_j * n_j)
    return math.log(odds), NORMAL_WEIGHT * (x * x + y * y - 2.0 * together * x * y) / (1.0 - together * together)


@kernel
def normal_apart(pulls_i: float, pulls_j: float, threshold: float) -> float:
    """Return how far the difference of two means is off at most, in units of σ, at all numbers of pulls at once.

    The evidence is the mean of three mixtures: one for about as many pulls of both arms, and two for several times as
    many of one of them. Each alone is what it is worth, with its share of the evidence.

    >>> round(normal_apart(1000.0, 1000.0, 9.0), 4), round(normal_apart(1000.0, 8000.0, 9.0), 4)
    (0.2312, 0.1832)
    """
    apart = 1.0 / pulls_i + 1.0 / pulls_j
    odds, prior = _log_odds_and_prior(pulls_i, pulls_j, 1.0, 1.0, TOGETHER)
    squared = (2.0 * (threshold - math.log(EQUAL)) + odds) * (apart + prior)
    share = math.log(0.5 * (1.0 - EQUAL))
    for side in range(2):
        u_i, u_j = (UNEQUAL, 1.0 / UNEQUAL) if side == 0 else (1.0 / UNEQUAL, UNEQUAL)
        odds, prior = _log_odds_and_prior(pulls_i, pulls_j, u_i, u_j, TOGETHER_UNEQUAL)
        squared = min(squared, (2.0 * (threshold - share) + odds) * (apart + prior))
    return math.sqrt(squared)


@kernel
def _likely_count(n: int, keep: float, wanted: float) -> int:
    """About how many of n may be counted so that the logarithm of the evidence is as wanted, or somewhat more.

    That is about n KL(k/n ‖ keep), less what the mixture costs. It is convex in k, so that Newton's method ends on the
    side of more evidence.
    """
    goal, floor = (wanted + 0.5 * math.log(n) + 3.0) / n, 0.5 / n
    q = max(floor, keep - math.sqrt(2.0 * keep * (1.0 - keep) * goal))
    for _ in range(3):
        slope = math.log(q / keep) - math.log((1.0 - q) / (1.0 - keep))
        if slope > -1e-6:
            break
        distance = q * math.log(q / keep) + (1.0 - q) * math.log((1.0 - q) / (1.0 - keep))
        q = min(max(q - (distance - goal) / slope, floor), keep)
    return int(n * q)


@kernel
def _where_to_begin(
    n: int, lost: int, keep: float, log_weight: float, log_prior: float, wanted: float
) -> tuple[int, float]:
    """A count with which one shift alone has the evidence wanted, if `lost` has it, and the logarithm of what it has.

    A smaller one than the largest such count only makes what follows take longer.
    """
    k = lost
    if 0.0 < keep < 1.0 and n > 0 and log_weight > -np.inf:
        k = max(lost, _likely_count(n, keep, wanted - log_weight))
    while True:
        found = log_term(n, k, keep, log_weight, log_prior, STRENGTH)
        if k == lost or found >= wanted:
            return k, found
        k = lost + ((k - lost) >> 1)


@inlined
def _with_one_more(term: float, lowered: float, n: int, k: int, keep: float) -> float:
    """w M_n(k+1) from w M_n(k), by parts of its integral; nothing from where it is no less than is to be expected."""
    if term <= 0.0 or k + 1 >= keep * n:
        return 0.0
    half = 0.5 * STRENGTH
    return max(0.0, ((half + k) * ((1.0 - keep) / keep) * term - lowered) / (half + (n - k) - 1.0))


@kernel
def ends_at_levels(
    samples: Samples, record: Record, pulls: int, lost: int, from_above: bool, shifts: int,
    keep: Floats, costs: Floats, log_weights: Floats, log_priors: Floats, evidence: Floats, ends: Floats,
) -> None:  # fmt: skip
    """For each evidence the end L of the x that have no less, from above −H: writes `ends` (N,), −∞ where none has.

    Of the pulls so many are `lost`: they may count as whatever bears less evidence. `keep`, `costs` R(t), `log_weights`
    and `log_priors` are (S,), of which the first `shifts` are used.
    """
    have, n = record.count, pulls
    always = math.exp(LOWEST)
    less = math.log1p(-always)
    highest = math.log(evidence[-1])
    counts, terms, lowered = np.zeros(shifts, np.int64), np.zeros(shifts), np.zeros(shifts)
    end = -np.inf
    for s in range(shifts):
        k, found = _where_to_begin(n, lost, keep[s], log_weights[s] + less, log_priors[s], highest)
        counts[s] = k - lost
        terms[s] = math.exp(found) if found < 700.0 else 0.0
        if 0.0 < keep[s] < 1.0:
            lowered[s] = math.exp(log_weights[s] + less - log_priors[s]) / keep[s]
        if found >= highest and counts[s] < have:  # below, one shift alone refutes more than is asked for
            end = max(end, signed_value(samples, record, counts[s], from_above) - costs[s])
    following = np.full(shifts, np.inf)  # where the count of each shift rises next
    for s in range(shifts):
        if counts[s] < have:
            following[s] = signed_value(samples, record, counts[s], from_above) - costs[s]
    level = evidence.shape[0] - 1
    while True:
        for s in range(shifts):
            while counts[s] < have and following[s] <= end:
                terms[s] = _with_one_more(terms[s], lowered[s], n, counts[s] + lost, keep[s])
                counts[s] += 1
                following[s] = np.inf
                if counts[s] < have:
                    following[s] = signed_value(samples, record, counts[s], from_above) - costs[s]
        total = always
        for s in range(shifts):
            total += terms[s]
        while level >= 0 and total < evidence[level]:
            ends[level] = end
            level -= 1
        if level < 0:
            return
        end = np.inf
        for s in range(shifts):
            end = min(end, following[s])


@kernel
def _refresh_levels(
    levels: Floats, intervals: Floats, i: int, samples: Samples, pulls: int, rule: IntervalRule, apart: ApartRule
) -> None:
    """Bring what the evidence of arm i says up to date with its sorted samples; `pulls` counts all it was asked for."""
    M, found = intervals.shape[2], np.empty(apart.evidence.shape[0])
    for d in range(apart.usable.shape[0]):
        if rule.kinds[d] != QUANTILE or not apart.usable[d]:
            continue
        record: Record = samples.columns[i * M + d]
        lost = pulls - record.count + taken_away(rule.taken[d], pulls)
        shifts = usable_shifts(intervals[i, :, d], rule)
        for side in range(2):
            keep, priors = (rule.low_keep, apart.low_priors) if side == 0 else (rule.high_keep, apart.high_priors)
            ends_at_levels(
                samples, record, pulls, lost, side == 1, shifts, keep[d], rule.costs[d], rule.log_weights[d], priors[d],
                apart.evidence, found,
            )  # fmt: skip
            for level in range(found.shape[0]):
                # Of all looks; unless what these rested on has been found false.
                if apart.lasting[0] and intervals[i, REFUTED, d] == 0.0:
                    levels[side, i, d, level] = max(levels[side, i, d, level], found[level])
                else:
                    levels[side, i, d, level] = found[level]


@inlined
def _by_levels(levels: Floats, intervals: Floats, j: int, i: int, d: int, needed: int) -> float:
    """The largest m_j − m_i that two quantiles' evidence does not refute, if so many levels are needed."""
    most, high, low = -np.inf, intervals[j, HIGH, d], intervals[i, LOW, d]
    for level in range(needed):
        most = max(most, min(high, -levels[1, j, d, needed - 1 - level]) - max(low, levels[0, i, d, level]))
    return most


@inlined
def _all_back(samples: Samples, asked: Ints, arm: int, column: int) -> bool:
    """True if an arm has measurements, and none failed or is on its way: such a one may be anything."""
    return bool(asked[arm] > 0 and asked[arm] == samples.columns[column].count)


@inlined
def _compare(
    intervals: Floats,
    levels: Floats,
    samples: Samples,
    asked: Ints,
    j: int,
    i: int,
    rule: IntervalRule,
    apart: ApartRule,
) -> None:
    """Bring the bounds of m_j − m_i up to date in every objective: of the pair, and of rivals if there is room."""
    M = intervals.shape[2]
    for d in range(apart.usable.shape[0]):
        if not apart.usable[d]:
            continue
        for kind, column in enumerate(range(COLUMNS + i, intervals.shape[1], intervals.shape[0])):
            bound = np.inf
            if rule.kinds[d] == QUANTILE:
                bound = _by_levels(levels, intervals, j, i, d, apart.levels[kind])
            elif _all_back(samples, asked, i, i * M + d) and _all_back(samples, asked, j, j * M + d):
                reach = normal_apart(float(asked[i]), float(asked[j]), apart.thresholds[kind, d])
                bound = intervals[j, ESTIMATE, d] - intervals[i, ESTIMATE, d] + reach * rule.scales[d, SIGMA]
            intervals[j, column, d] = min(intervals[j, column, d], bound)


@kernel
def refresh_apart(
    intervals: Floats, levels: Floats, samples: Samples, asked: Ints, arms: Ints, touched: Ints, rule: IntervalRule,
    apart: ApartRule,
) -> None:  # fmt: skip
    """Bring the columns of pairs in `intervals` up to date, of the pairs of each touched arm with each of `arms`.

    `asked` (K,) counts all pulls of an arm that were asked for: one that failed, or is not back yet, may be anything.
    """
    for t in touched:
        _refresh_levels(levels, intervals, t, samples, asked[t], rule, apart)
        for d in range(apart.usable.shape[0]):
            if intervals[t, REFUTED, d] != 0.0:  # what was said with R, say, is not to be kept
                intervals[t, COLUMNS:, d] = np.inf
                intervals[:, COLUMNS + t :: intervals.shape[0], d] = np.inf
    for t in touched:
        for k in arms:
            if k != t:
                _compare(intervals, levels, samples, asked, t, k, rule, apart)
                _compare(intervals, levels, samples, asked, k, t, rule, apart)


MOST_SIZES = 12
"""Different numbers of rows up to which quantiles are compared by regions: each two of them have one of their own."""


@dataclass(frozen=True, eq=False)
class IndependentLog(ComparedLog):
    """Sorted measurements whose arms are independent of each other, under the `declared` threat."""

    declared: Threat | None = field(default=None, kw_only=True)

    @classmethod
    def of(
        cls, log: Ordered, *, arms_of_study: int = 0, ordered_pairs: int = 0, declared: Threat | None = None
    ) -> IndependentLog:
        """Return the log as independent arms; refuse too many, and values that are kept in part only."""
        if not log.whole:
            raise BadArgument("independent", "all values are needed, and sketches do not keep them; leave it away")
        check_arms(arms_of_study or len(log.pulls))
        return cls(**vars(log), arms_of_study=arms_of_study, ordered_pairs=ordered_pairs, declared=declared)


def levels_for(delta: float) -> int:
    """N: the fewest steps that the levels of two independent arms together exceed with probability δ' at most.

    An arm's level, in steps, is l at least with probability rˡ at most, r = e^(−1/4): two of them are N at least with
    rᴺ (1 + N (1 − r)).

    >>> levels_for(0.001)
    37
    """
    r = math.exp(-STEP)
    N = max(1, math.floor(-math.log(delta) / STEP))
    while r**N * (1.0 + N * (1.0 - r)) > delta * (1.0 - 1e-9):
        N += 1
    return N


class IndependentReader(IntervalReader):
    """Reads intervals off a log of independent arms, and what two of them say together, which has half of δ."""

    ordered: IndependentLog
    of_intervals = 1.0 - SHARE

    def _begin(self) -> None:
        self._compared = [d for d, each in enumerate(self.statistics) if each.kind != EXACT]
        _, pairs, delta = self.ordered.sharing(self._delta)
        self._of_pair = SHARE * delta / max(1, pairs * len(self._compared))
        self._samples: dict[int, list[SampleEnds]] = {}  # of quantiles, once they were read

    def _designed(self, intervals: ArmIntervals, look: LogLook) -> ArmIntervals:
        """The intervals, and what pairs say."""
        n = len(self._arms)
        apart = np.full((n, n, len(self.objectives)), np.inf)
        for d in self._compared if n > 1 else ():
            if self._anytime or look.least:  # more rows are foreseen by levels, which need no values at new ranks
                apart[:, :, d] = self._by_levels(d, look)
            elif self.statistics[d].kind == QUANTILE and len(np.unique(self.pulls)) <= MOST_SIZES:
                apart[:, :, d] = self._by_regions(d, look.threat.of(d))
            elif self.statistics[d].kind == NORMAL_MEAN and not self.objectives[d].relative:
                apart[:, :, d] = self._by_means(d, intervals, look.threat.of(d))
            else:
                apart[:, :, d] = self._by_levels(d, look)
        return replace(intervals, apart=apart)

    def _by_regions(self, d: int, threat: Threat) -> Floats:
        if d not in self._samples:
            self._samples[d] = [sample_of(self.ordered, self.objectives[d], arm) for arm in self._arms.tolist()]
        declared = self.ordered.declared
        samples, order = self._samples[d], None if declared is None else declared.of(d)
        high, low = [each.high for each in samples], [each.low for each in samples]
        return largest_differences(high, low, threat, self.statistics[d].level, self._of_pair, order)

    def _by_means(self, d: int, intervals: ArmIntervals, threat: Threat) -> Floats:
        """Return bounds by means with a known deviation, where nothing failed or may be wrong."""
        known = (self.pulls > 0) & (self.kinds[d].good == self.pulls) & (threat.eps == 0.0)
        doubt = 1.0 / np.where(known, self.pulls, 1)
        reach = (self.objectives[d].sigma or 0.0) * np.sqrt(
            2.0 * threshold_of(self._of_pair) * np.add.outer(doubt, doubt)
        )
        both = np.logical_and.outer(known, known)
        with np.errstate(invalid="ignore"):  # of arms all of which failed
            return np.where(
                both, np.subtract.outer(intervals.estimates[:, d], intervals.estimates[:, d]) + reach, np.inf
            )

    def _by_levels(self, d: int, look: LogLook) -> Floats:
        """By ends (N, n) at the levels 1/4, 2/4, …, N/4: at a higher one, never a closer one."""
        steps = levels_for(self._of_pair)
        low, high = np.empty((2, steps, len(self._arms)))
        for step in range(steps):
            share = math.exp(-STEP * (step + 1))
            # Of a mixture for both sides, one may have the whole probability of being false.
            one = 0.5 * share if self._anytime and self.statistics[d].kind == NORMAL_MEAN else share
            low[step], high[step] = self.kinds[d].interval(look.of(d), one)
        return _largest_left(np.minimum.accumulate(low), np.maximum.accumulate(high))


def _largest_left(low: Floats, high: Floats) -> Floats:
    """Return the largest H_j − L_i of ends (N, n), by j and i (n, n), of two levels N + 1 steps together."""
    found = np.full((low.shape[1], low.shape[1]), -np.inf)
    for of_i, of_j in zip(low, high[::-1], strict=True):
        np.maximum(found, of_j[:, None] - of_i[None, :], out=found)
    return found
