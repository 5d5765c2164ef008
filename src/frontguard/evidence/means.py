"""The mean of values with known bounds: the interval that bets (`evidence.bets`) leave of it.

Sums of bets are made of atoms with weights: of the different values with their counts, or, if these are many, of knots
that the values are spread over. In a log they are added up from sums of blocks (`evidence.measurements`). For one look
at values that are all 0 or 1, their number has at most the lower tail of a binomial law, which is exact
(`highest_rate`), and takes the place of bets.
"""

from __future__ import annotations

import math
from functools import cached_property, partial

import numpy as np

from frontguard._common.compiled import kernel
from frontguard._common.typing import Floats, Ints
from frontguard.evidence.bets import (
    BETS,
    MOST_AT_ONCE,
    WORST,
    add_bets,
    unrefuted_at_once,
    unrefuted_mean,
    weights_for,
)
from frontguard.evidence.confidence_sequences import taken_away, taken_away_each, threshold_of
from frontguard.evidence.kinds import (
    DOUBT,
    LARGEST,
    IntervalRule,
    Kind,
    LogLook,
    Statistic,
    inner_of_mean,
    inner_of_means,
)
from frontguard.evidence.measurements import Ordered, in_parts
from frontguard.evidence.samples import Record, Samples, counted_between, in_order, most_different
from frontguard.objectives import Objective
from frontguard.theory.threats import Threat

MOST_ATOMS = 4096
"""Different values up to which each is bet on by itself."""

KNOTS = 512
"""Atoms that more of them are spread over."""

_AT_ONCE = 1 << 16  # arms whose sums of bets are in memory together
_RATE = (0.0, 1.0)  # bounds between which values may well be 0 and 1 alone


@kernel
def find_atoms(values: Floats, first: int, last: int, atoms: Floats, weights: Floats) -> int:
    """Put sorted values, those at the places first ≤ i < last, into atoms with weights; how many atoms there are.

    Up to `MOST_ATOMS` different values are the atoms themselves. More are spread over `KNOTS` at equal distances: each
    value goes to the knots to either side of it, in the shares that keep its mean. log(1 − θ ξ) is concave, so that no
    sum becomes larger by it, and a bound that is made of them stays one.
    """
    found, i = 0, first
    while i < last and found < MOST_ATOMS:
        after = _end_of_run(values, i, last)
        atoms[found], weights[found] = values[i], after - i
        found, i = found + 1, after
    if i == last:
        return found
    lowest = values[first]
    distance = (values[last - 1] - lowest) / (KNOTS - 1)
    for knot in range(KNOTS):
        atoms[knot], weights[knot] = lowest + knot * distance, 0.0
    for i in range(first, last):
        place = (values[i] - lowest) / distance
        knot = min(int(place), KNOTS - 2)
        weights[knot] += 1.0 - (place - knot)
        weights[knot + 1] += place - knot
    return KNOTS


@kernel
def _end_of_run(values: Floats, first: int, last: int) -> int:
    """The first place after `first`, up to `last`, that does not hold the same of sorted values; by doubling steps."""
    value, known, step = values[first], first, 1
    while known + step < last and values[known + step] == value:
        known += step
        step *= 2
    beyond = min(known + step, last)
    while beyond - known > 1:
        middle = (known + beyond) // 2
        if values[middle] == value:
            known = middle
        else:
            beyond = middle
    return beyond


@kernel
def highest_means(
    samples: Samples, record: Record, pulls: int, taken: int, threshold: float, foreseen: float
) -> tuple[float, float]:
    """The largest c that W does not refute as the mean of what is left of ξ, of `pulls` values of a sorted column.

    Once for ξ that is what a value lacks of 1, and once for the value. Those that are missing failed, and `taken` of
    the others may have been replaced, whichever: the smallest ξ then count as 1. With more pulls `foreseen` than there
    are, it is what W would leave if the sample went on in the same proportions.
    """
    kept = max(record.count - taken, 0)
    atoms, weights, sums = np.empty(MOST_ATOMS), np.empty(MOST_ATOMS), np.empty(BETS)
    counted = record.counted == 1 and most_different(record) <= MOST_ATOMS
    values, first = samples.pool, 0
    if not counted:
        values, first = in_order(samples, record)
    lacking, most, found = 1.0, 1.0, 0
    for side in range(2):
        if side == 0 or taken > 0:
            start = 0 if side == 0 else record.count - kept
            if counted:
                found = counted_between(samples, record, start, start + kept, atoms, weights)
            else:
                found = find_atoms(values, first + start, first + start + kept, atoms, weights)
        for l in range(BETS):  # noqa: E741
            sums[l] = (pulls - kept) * WORST[l]
        add_bets(sums, atoms, weights, found, side == 0)
        for l in range(BETS):  # noqa: E741
            sums[l] *= max(1.0, foreseen / pulls)
        lacking, most = most, unrefuted_mean(sums, foreseen, threshold, weights_for(foreseen, threshold, False))
    return lacking, most


@kernel
def lasting_means(samples: Samples, record: Record, pulls: int, taken: int) -> tuple[float, float]:
    """Return what `highest_means` comes down to if the sample goes on like this for ever: the means of these ξ."""
    kept = max(record.count - taken, 0)
    values, weights, first, last = _in_runs(samples, record, 0, kept)
    lowest = _power_sum(values, weights, first, last, 0.0, 1)
    highest = lowest
    if taken > 0:
        values, weights, first, last = _in_runs(samples, record, record.count - kept, record.count)
        highest = _power_sum(values, weights, first, last, 0.0, 1)
    return min(1.0, (pulls - lowest) / pulls), min(1.0, (pulls - kept + highest) / pulls)


@kernel
def mean_and_error(samples: Samples, record: Record) -> tuple[float, float]:
    """The mean of a sorted column that has values, and the standard error of it that they show."""
    values, weights, first, last = _in_runs(samples, record, 0, record.count)
    mean = _power_sum(values, weights, first, last, 0.0, 1) / record.count
    return mean, math.sqrt(_power_sum(values, weights, first, last, mean, 2)) / record.count


@kernel
def _in_runs(samples: Samples, record: Record, lowest: int, highest: int) -> tuple[Floats, Floats, int, int]:
    """The values of a sorted column at the places lowest ≤ i < highest, and how often each counts: no weights are ones.

    They are those from the third of what is returned on, up to the fourth.
    """
    if record.counted == 1:
        different, counts = np.empty(most_different(record)), np.empty(most_different(record))
        return different, counts, 0, counted_between(samples, record, lowest, highest, different, counts)
    values, first = in_order(samples, record)
    return values, np.empty(0), first + lowest, first + highest


@kernel
def _power_sum(values: Floats, weights: Floats, first: int, last: int, centre: float, power: int) -> float:
    """Σ (value − centre)ᵖ, p = 1 or 2, of sorted values, of which equal ones cost as much as one."""
    total, i = 0.0, first
    while i < last:
        after, weight = i + 1, 1.0
        if weights.shape[0] == 0:
            after = _end_of_run(values, i, last)
            weight = float(after - i)
        else:
            weight = weights[i]
        apart = values[i] - centre
        total += weight * (apart if power == 1 else apart * apart)
        i = after
    return total


def highest_rate(ones: Floats, of: Floats, delta: float) -> Floats:
    """The largest probability of a 1 under which so few `ones` (n,) of so many (n,) have a probability above δ'.

    That of Clopper and Pearson, rounded up.

    >>> highest_rate(np.array([0.0, 10.0]), np.array([10.0, 10.0]), 0.05).round(3).tolist()
    [0.259, 1.0]
    """
    from scipy.special import betainccinv  # few logs come here

    found = np.ones(len(ones))
    some = ones < of
    found[some] = np.minimum(1.0, betainccinv(ones[some] + 1.0, (of - ones)[some], delta) + 1e-9)
    return found


@kernel
def mean_interval(
    samples: Samples, record: Record, pulls: int, rule: IntervalRule, d: int, foreseen: float
) -> tuple[float, float]:
    """The interval that bets leave of the mean of values with known bounds; `foreseen` as in `highest_means`."""
    if pulls == 0:
        return -np.inf, np.inf
    taken = taken_away(rule.taken[d], pulls)
    lacking, most = highest_means(samples, record, pulls, taken, rule.thresholds[d], foreseen)
    return _in_inner_values(lacking, most, rule, d)


@kernel
def lasting_mean(samples: Samples, record: Record, pulls: int, rule: IntervalRule, d: int) -> tuple[float, float]:
    """Return what is left of the interval if the sample goes on like this for ever."""
    lacking, most = lasting_means(samples, record, pulls, taken_away(rule.taken[d], pulls))
    return _in_inner_values(lacking, most, rule, d)


@kernel
def _in_inner_values(lacking: float, high: float, rule: IntervalRule, d: int) -> tuple[float, float]:
    """The inner interval of a bounded mean, of which this much at most is left of it, and of what it lacks of 1."""
    times, less = rule.surviving[d, 0], rule.surviving[d, 1]
    low = 1.0 - min(1.0, (lacking + less) / times)
    high = min(1.0, (high + less) / times)
    return inner_of_mean(low, rule.scales[d]), inner_of_mean(high, rule.scales[d])


@kernel
def mean_and_doubt(samples: Samples, record: Record, scale: Floats) -> tuple[float, float, float]:
    """The mean of a column that has values, and how far sampling noise may have moved it, as inner values."""
    mean, error = mean_and_error(samples, record)
    low, high = inner_of_mean(mean - DOUBT * error, scale), inner_of_mean(mean + DOUBT * error, scale)
    return inner_of_mean(mean, scale), low, high


def first_informative(
    threat_taken: float, surviving: tuple[float, float], threshold: float, *,
    one_look: bool = False, clean: bool = False, rates: float = 0.0,
) -> int | None:  # fmt: skip
    """The pulls before which the interval of a bounded mean is all that its bounds allow; None beyond `LARGEST`.

    At `one_look`, bets are those by what values spread where it is `clean`; `rates` is the δ' of an exact binomial
    bound in place of bets, where there is one.

    >>> from frontguard import Prescient
    >>> first_informative(0.0, Prescient(0.1).surviving, threshold_of(0.001))
    5
    """
    times, less = surviving
    fewest, most = 0, LARGEST

    def informs(pulls: int) -> bool:
        taken = int(taken_away(threat_taken, pulls))
        if rates > 0.0:
            return float(highest_rate(np.array([float(taken)]), np.array([float(pulls)]), rates)[0]) + less < times
        if clean:
            return float(unrefuted_at_once(0.0 * WORST, float(pulls), 0.0, 0.0, threshold)) < 1.0
        weights = weights_for(float(pulls), threshold, one_look)
        return float(unrefuted_mean(taken * WORST, float(pulls), threshold, weights)) + less < times

    if not informs(most):
        return None
    while most - fewest > 1:
        middle = (fewest + most) // 2
        fewest, most = (fewest, middle) if informs(middle) else (middle, most)
    return most


class BoundedMean(Kind):
    """The mean of values with known bounds."""

    name = "bounded mean"

    @classmethod
    def of(cls, objective: Objective) -> Statistic | None:
        """Return its scale, if the objective has bounds."""
        if objective.bounds is None:
            return None
        low, high = objective.bounds
        at_zero, slope, sign = (high, low - high, -1.0) if objective.minimized else (low, high - low, 1.0)
        return Statistic(scale=(at_zero, slope, sign, float(objective.relative), 1.0))

    @classmethod
    def first_bounded(cls, rule: IntervalRule, d: int) -> list[int | None]:
        """Return the pulls from which bets say more than its bounds."""
        times, less = rule.surviving[d].tolist()
        return [first_informative(float(rule.taken[d]), (times, less), float(rule.thresholds[d]))] * 2

    def __init__(self, log: Ordered, metric: int, objective: Objective, arms: Ints, *, anytime: bool) -> None:
        super().__init__(log, metric, objective, arms, anytime=anytime)
        assert objective.bounds is not None
        self.bounds = objective.bounds
        # What bets leave if nothing is taken, by their part of δ: for every ε above 0, and for 0.
        self._known: dict[tuple[float, bool], Floats] = {}
        self._at_once = not anytime and log.whole and len(log.pulls) <= MOST_AT_ONCE  # where nobody lies

    def first_of_log(self, threat: Threat, share: float) -> list[int | None]:
        """Return the same of a log."""
        found = first_informative(
            threat.taken, threat.surviving, threshold_of(share), one_look=not self.anytime,
            clean=self._at_once and threat.eps == 0.0, rates=0.0 if self._ones is None else share,
        )  # fmt: skip
        return [found] * 2

    @property
    def nothing(self) -> tuple[float, float] | None:
        """Its bounds, as inner values."""
        low, high = sorted(inner_of_means(np.array(self.bounds), self.objective).tolist())
        return low, high

    def interval(self, look: LogLook, share: float) -> tuple[Floats, Floats]:
        """Return what bets, or the exact bound of rates, leave of it."""
        lower, upper = self.inner_ends(look.threat, self._left(look, share))
        begun = self.pulls > 0
        return np.where(begun, lower, -np.inf), np.where(begun, upper, np.inf)

    def _left(self, look: LogLook, share: float) -> Floats:
        """The largest places (n, 2) between its bounds that are not refuted of a mean, and of what it lacks."""
        lasts, known = look.least == 0 and look.threat.taken == 0.0, (share, look.threat.eps > 0.0)
        left = self._known.get(known) if lasts else None
        if left is None:
            left = self._unrefuted(look, share)
            if self._at_once and look.threat.eps > 0.0:  # who may lie leaves no less open
                left = np.maximum(left, self._left(look.under(look.threat.at(0.0)), share))
            if lasts:
                self._known[known] = left
        return left

    def inner_ends(self, threat: Threat, left: Floats) -> tuple[Floats, Floats]:
        """The inner ends (n,) of a mean, of which `left` (n, 2) is not refuted where nobody interferes."""
        (low, high), (times, less) = self.bounds, threat.surviving
        most = np.minimum(1.0, (left + less) / times)
        ends = low + (high - low) * (1.0 - most[:, 1]), low + (high - low) * most[:, 0]
        return self.inner_interval(*ends)

    def _unrefuted(self, look: LogLook, share: float) -> Floats:
        """The same under this threat alone."""
        found = np.empty((len(self.pulls), 2))
        taken, foreseen = taken_away_each(look.threat.taken, look.pulls) * look.shrink, look.pulls.astype(np.float64)
        if self._ones is not None:
            return self._unrefuted_rates(self._ones[self.arms], taken, foreseen, share)
        threshold = threshold_of(share)
        for first in range(0, len(found), _AT_ONCE):
            some = slice(first, first + _AT_ONCE)
            sums = self.log.sums_of_bets(self.metric, self.arms[some], self.bounds, taken[some])
            asked = sums, self.pulls[some], foreseen[some], threshold, not self.anytime, found[some]
            if self._at_once and look.threat.eps == 0.0:
                at_once = sums, *self._moments(some), self.pulls[some], foreseen[some], threshold, found[some]
                in_parts(partial(_unrefuted_at_once, *at_once), len(sums))
            else:
                in_parts(partial(_unrefuted_means, *asked), len(sums))
        return found

    def _moments(self, some: slice) -> tuple[Floats, Floats]:
        """Means and variances (n, 2) of values between 0 and 1, and of what they lack of 1; failed ones are 1."""
        low, high = self.bounds
        good, pulls = self.good[some, None], np.maximum(self.pulls[some, None], 1)
        mean = (np.nan_to_num(self.means[some, None]) - low) / (high - low)
        own = np.clip(np.concatenate([mean, 1.0 - mean], axis=1), 0.0, 1.0)
        spread = good * np.nan_to_num(self._errors[some, None] / (high - low)) ** 2
        means = (good * own + pulls - good) / pulls
        return means, (good * (spread + (own - means) ** 2) + (pulls - good) * (1.0 - means) ** 2) / pulls

    def _unrefuted_rates(self, ones: Ints, taken: Floats, foreseen: Floats, delta: float) -> Floats:
        """The largest rates (n, 2) of 1 and of 0, by their exact binomial bound."""
        failed, zeros = self.pulls - self.good, self.good - ones
        times = np.maximum(foreseen / np.maximum(self.pulls, 1), 1.0)
        found = np.empty((len(self.pulls), 2))
        for side, (counted, others) in enumerate(((ones, zeros), (zeros, ones))):
            worst = failed + counted + np.minimum(taken, others)
            found[:, side] = highest_rate(times * worst, times * self.pulls, delta)
        return found

    @cached_property
    def _ones(self) -> Ints | None:
        """Return how often each arm of the log has a 1, where all values of the metric are 0 or 1; else None.

        That they are is a property of what measures, like the name of the metric: docs/theory.md, (m).
        """
        good = self.log.good[self.metric]
        some = np.flatnonzero(good)
        if self.anytime or self.bounds != _RATE or not some.size:
            return None
        found = np.zeros(len(good), np.int64)
        found[some] = ones = np.rint(self.log.mean(self.metric)[some] * good[some]).astype(np.int64)
        zeros = good[some] - ones
        if (ones < 0).any() or (zeros < 0).any():
            return None
        # Sorted values, so that two of them say what all are; in sketches these are bounds, and must say it as well.
        last_zero = self.log.at(self.metric, some, np.maximum(zeros, 1), 1)
        first_one = self.log.at(self.metric, some, np.minimum(zeros + 1, good[some]), -1)
        only = ((zeros == 0) | (last_zero == 0.0)) & ((ones == 0) | (first_one == 1.0))
        return found if only.all() else None


@kernel(over="sums", deep=True)
def _unrefuted_means(
    sums: Floats, pulls: Ints, foreseen: Floats, threshold: float, one_look: bool, found: Floats, part: Ints
) -> None:
    """Write the largest means (n, 2) that sums (n, 2, BETS) do not refute, should pulls go on like this as foreseen."""
    for k in part:
        count = max(foreseen[k], float(pulls[k]))
        for side in range(2):
            ahead = sums[k, side] * (count / max(1, pulls[k])) if count > pulls[k] else sums[k, side]
            found[k, side] = unrefuted_mean(ahead, count, threshold, weights_for(count, threshold, one_look))


@kernel(over="sums", deep=True)
def _unrefuted_at_once(
    sums: Floats, means: Floats, variances: Floats, pulls: Ints, foreseen: Floats, threshold: float, found: Floats,
    part: Ints,
) -> None:  # fmt: skip
    """The same by what values spread, at one look and where nobody lies."""
    for k in part:
        count = max(foreseen[k], float(pulls[k]))
        for side in range(2):
            most = 1.0
            if pulls[k] > 0:
                ahead = sums[k, side] * (count / pulls[k])
                most = unrefuted_at_once(ahead, count, means[k, side], variances[k, side], threshold)
            found[k, side] = most
