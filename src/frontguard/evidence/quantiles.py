"""Quantiles: what ranks say of them and, with a spread bound R, what all shifts refute together.

Under each threat model the clean observations at or below the true p-quantile dominate a Binomial(n, keep(p)), so that
the observation of rank q(n; keep(p), δ') bounds it for all n at once; likewise from above (docs/theory.md, (c)). With
R, a median has the mean of the evidence of all shifts t, with weights that were fixed beforehand (docs/theory.md, (d)),

    W_n(x) = Σ_t w_t M_n(N_t(x); keep(½+t)),   Σ_t w_t = 1,

and N_t(x) the number of observations at or below x + R(t). It falls in x, and is at least each of its terms.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

from frontguard._common.compiled import inlined, kernel
from frontguard._common.typing import Floats, Ints
from frontguard.errors import BadInput
from frontguard.evidence.confidence_sequences import (
    STEPS,
    STRENGTH,
    anytime_rank,
    first_useful_pulls,
    fixed_rank,
    log_mixture,
    log_prior_of,
    read_rank,
    taken_away,
    taken_away_each,
)
from frontguard.evidence.kinds import DOUBT, IntervalRule, Kind, LogLook, RankBound, Statistic
from frontguard.evidence.samples import Record, Samples, ranked
from frontguard.objectives import Objective
from frontguard.theory.spread import SpreadBound
from frontguard.theory.threats import Threat, checked_t_bar

SHIFTS = (0.35, 0.5, 0.65, 0.8, 0.9, 0.97)
"""Where between h and t̄ the shifts lie for which R is used; see docs/choices.md for what others cost."""

UNSHIFTED_SHARE = 4.0
"""How much more weight the evidence without a shift has than that of each of the others."""


def shifts_of(threat: Threat, bound: SpreadBound, t_bar: float) -> list[tuple[float, float]]:
    """The shifts t that a median makes use of, each with R(t)."""
    threat.check(checked_t_bar(t_bar))
    bound.check(t_bar)
    shifts = [threat.shift + f * (t_bar - threat.shift) for f in SHIFTS]
    return [(t, float(bound(t))) for t in shifts]


def log_priors_of(keep: Floats, strength: float = STRENGTH) -> Floats:
    """The constants of the mixtures for these probabilities, of any shape; 0 where nothing is kept."""
    found = np.zeros(keep.shape)
    for place, kept in np.ndenumerate(keep):
        if 0.0 < kept < 1.0:
            found[place] = log_prior_of(float(kept), strength)
    return found


@inlined
def log_term(n: int, k: int, keep: float, log_weight: float, log_prior: float, strength: float) -> float:
    """log(w M_n(k)); −∞, which is less, where k is no less than is to be expected, or it was not found."""
    if not 0.0 < keep < 1.0 or k >= keep * n:
        return -np.inf
    term = log_weight + log_mixture(n, k, keep, 1.0 - keep, strength, log_prior)
    return term if term == term else -np.inf


@inlined
def _log_sum(terms: Floats) -> float:
    """The logarithm of the sum of what these are the logarithms of."""
    most = -np.inf
    for term in terms:
        most = max(most, term)
    if most == -np.inf:
        return most
    total = 0.0
    for term in terms:
        total += math.exp(term - most)
    found: float = most + math.log(total)
    return found


@inlined
def signed_value(samples: Samples, record: Record, place: int, from_above: bool) -> float:
    """The value at a place of a sorted sample; from above, that of the sample with its signs changed."""
    return -ranked(samples, record, record.count - 1 - place) if from_above else ranked(samples, record, place)


@kernel
def refuted_below(
    samples: Samples, record: Record, pulls: int, lost: int, foreseen: float, start: float, from_above: bool,
    keep: Floats, costs: Floats, log_weights: Floats, log_priors: Floats, threshold: float,
) -> float:  # fmt: skip
    """The end L of the x that W refutes, if all below `start` are refuted; from above −H.

    Of the pulls so many are `lost`: they may count as whatever bears less evidence. `keep`, `costs` R(t), `log_weights`
    and `log_priors` are (S,). It is the end that `foreseen` pulls would have, should the sample go on in the
    proportions that it has.
    """
    shifts, have, scale = costs.shape[0], record.count, foreseen / pulls
    n = int(foreseen)
    counts, terms = np.zeros(shifts, np.int64), np.empty(shifts)
    for s in range(shifts):
        low, high = 0, have  # the first place with a value above start + R
        while low < high:
            middle = (low + high) >> 1
            if signed_value(samples, record, middle, from_above) - costs[s] <= start:
                low = middle + 1
            else:
                high = middle
        counts[s] = low
        terms[s] = log_term(n, int(np.ceil((low + lost) * scale)), keep[s], log_weights[s], log_priors[s], STRENGTH)
    end = start
    while _log_sum(terms) >= threshold:
        following = np.inf
        for s in range(shifts):
            if counts[s] < have:
                following = min(following, signed_value(samples, record, counts[s], from_above) - costs[s])
        if following == np.inf:
            break
        for s in range(shifts):
            before = counts[s]
            while counts[s] < have and signed_value(samples, record, counts[s], from_above) - costs[s] <= following:
                counts[s] += 1
            if counts[s] > before:
                k = int(np.ceil((counts[s] + lost) * scale))
                terms[s] = log_term(n, k, keep[s], log_weights[s], log_priors[s], STRENGTH)
        end = following
    return end


@kernel
def _bounded(n: int, taken: float, keep: Floats, log_weights: Floats, log_priors: Floats, threshold: float) -> bool:
    """True if n pulls, all on the far side, refute anything."""
    terms = np.empty(keep.shape[0])
    for s in range(keep.shape[0]):
        terms[s] = log_term(n, taken_away(taken, n), keep[s], log_weights[s], log_priors[s], STRENGTH)
    return _log_sum(terms) >= threshold


def first_bounded_on_average(
    keep: Sequence[float] | Floats, log_weights: Sequence[float] | Floats, threshold: float, taken: float, most: int
) -> int:
    """The pulls, none of which fails, before which W refutes nothing; `most` if it is no earlier.

    >>> weights = np.log([0.5, 0.5])
    >>> first_bounded_on_average([0.5, 0.9], weights, np.log(100), 0.0, 50)
    3
    """
    kept, weighed = np.asarray(keep, np.float64), np.asarray(log_weights, np.float64)
    priors = log_priors_of(kept)
    for n in range(1, most):
        if _bounded(n, taken, kept, weighed, priors, threshold):
            return n
    return most


@kernel
def between_ranks(
    samples: Samples, record: Record, pulls: int, rule: IntervalRule, d: int, s: int
) -> tuple[float, float]:
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
    samples: Samples, record: Record, pulls: int, rule: IntervalRule, d: int, foreseen: float, low: float, high: float
) -> tuple[float, float]:
    """The interval of a median that the mean of all shifts' evidence leaves of one that holds already."""
    if rule.costs.shape[1] == 1 or rule.log_weights[d, 1] == -np.inf or pulls == 0:
        return low, high
    lost = pulls - record.count + taken_away(rule.taken[d], pulls)
    keep, costs, weights, priors = rule.low_keep[d], rule.costs[d], rule.log_weights[d], rule.log_priors[d]
    threshold = rule.thresholds[d]
    low = refuted_below(samples, record, pulls, lost, foreseen, low, False, keep, costs, weights, priors, threshold)
    high = -refuted_below(samples, record, pulls, lost, foreseen, -high, True, keep, costs, weights, priors, threshold)
    return low, high


@kernel
def lasting_quantile(
    low: float, high: float, shifts: int, samples: Samples, record: Record, pulls: int, rule: IntervalRule, d: int
) -> tuple[float, float]:
    """Return what is left of an interval if the sample goes on like this for ever, by so many of the shifts."""
    lost = pulls - record.count + taken_away(rule.taken[d], pulls)
    last = record.count - 1
    for s in range(shifts):
        rank = min(int(np.ceil(rule.low_keep[d, s] * pulls)), pulls)
        if rank > lost:
            low = max(low, ranked(samples, record, rank - lost - 1) - rule.costs[d, s])
        rank = min(int(np.ceil(rule.high_keep[d, s] * pulls)), pulls)
        if rank > lost:
            high = min(high, ranked(samples, record, last - (rank - lost - 1)) + rule.costs[d, s])
    return low, high


@kernel
def quantile_and_doubt(samples: Samples, record: Record, level: float) -> tuple[float, float, float]:
    """The empirical quantile of a column that has values, and how far sampling noise may have moved it."""
    have = record.count
    middle = level * (have - 1)
    below, above = int(np.floor(middle)), int(np.ceil(middle))
    estimate = 0.5 * ranked(samples, record, below) + 0.5 * ranked(samples, record, above)
    reach = DOUBT * np.sqrt(have * level * (1.0 - level))
    low = ranked(samples, record, max(0, int(np.floor(middle - reach))))
    return estimate, low, ranked(samples, record, min(have - 1, int(np.ceil(middle + reach))))


_FEW = 256  # numbers of pulls of which the ranks are kept


class Quantile(Kind):
    """A quantile."""

    name = "quantile"

    @classmethod
    def of(cls, objective: Objective) -> Statistic | None:
        """Return its level among inner values, and whether these are logarithms, if a quantile counts."""
        if not objective.has_quantile:
            return None
        return Statistic(level=objective.inner_quantile, scale=(0.0, 1.0, 1.0, float(objective.relative), 1.0))

    @classmethod
    def rows(cls, statistic: Statistic, shifts: Sequence[tuple[float, float]]) -> list[RankBound]:
        """Return a row for the quantile itself and, of a median, one for each shift."""
        level = statistic.level
        used = [(0.0, 0.0), *(shifts if level == 0.5 and statistic.spread else [])]
        weights = np.ones(len(used))
        weights[0] = UNSHIFTED_SHARE if len(used) > 1 else 1.0
        weights /= weights.sum()
        return [
            RankBound(level + t, (1.0 - level) + t, cost, w)
            for (t, cost), w in zip(used, weights.tolist(), strict=True)
        ]

    @classmethod
    def first_bounded(cls, rule: IntervalRule, d: int) -> list[int | None]:
        """Return the pulls from which a rank bounds it, from either side."""
        steps = np.arange(rule.low_ranks.shape[2], dtype=np.int64)
        pulls = -(-steps * steps // STEPS**2)  # of each entry of a table: between two of them, only more is taken
        taken, found = float(rule.taken[d]), list[int | None]()
        for tables, keep in ((rule.low_ranks[d], rule.low_keep[d]), (rule.high_ranks[d], rule.high_keep[d])):
            useful = np.flatnonzero((tables > taken_away_each(taken, pulls)).any(axis=0))
            first = int(pulls[useful[0]]) if len(useful) else None
            if first is not None and rule.log_weights[d, -1] > -np.inf and len(keep) > 1:
                first = first_bounded_on_average(keep, rule.log_weights[d], rule.thresholds[d], taken, first)
            found.append(first)
        return found

    def first_of_log(self, threat: Threat, share: float) -> list[int | None]:
        """Return the same of a log."""
        kept = self._kept(threat)
        return [first_useful(each, share, threat.taken, self.anytime) for each in kept]

    @property
    def nothing(self) -> tuple[float, float] | None:
        """Everything."""
        return -np.inf, np.inf

    def interval(self, look: LogLook, share: float) -> tuple[Floats, Floats]:
        """Return the observations whose ranks bound it."""
        failed = self.pulls - self.good
        low, high = (ranks_at(look, kept, share, anytime=self.anytime) - failed for kept in self._kept(look.threat))
        return self.bound(low, above=False), self.bound(high, above=True)

    def centre(self, shrink: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the empirical quantiles."""
        return self.about_quantile(self.objective.inner_quantile, shrink)

    def _kept(self, threat: Threat) -> tuple[float, float]:
        level = self.objective.inner_quantile
        return threat.keep(level), threat.keep(1.0 - level)


def ranks_at(look: LogLook, kept: float, share: float, *, anytime: bool) -> Ints:
    """The ranks (n,), among the values that there are now, that bound what a share `kept` of clean ones lies beyond."""
    key = kept, share, look.threat.taken
    if key not in look.ranks:
        distinct, which = look.distinct
        rank = anytime_rank if anytime else fixed_rank
        most = _ranks_of(rank, distinct, kept, share) if kept > 0.0 else np.zeros_like(distinct)
        of_all = np.maximum(most - taken_away_each(look.threat.taken, distinct), 0)[which]
        now = np.floor(of_all * look.shrink + 1e-9).astype(np.int64)
        look.ranks[key] = np.asarray(np.maximum(now, of_all >= 1), np.int64)
    return look.ranks[key]


# Ranks depend on numbers of pulls alone, which looks at one log, and logs of one design, have in common.


def _ranks_of(rank: Callable[[Ints, float, float], Ints], pulls: Ints, kept: float, share: float) -> Ints:
    """The ranks (n,) for these numbers of pulls; not to be changed."""
    if pulls.size > _FEW:
        return rank(pulls, kept, share)
    return _kept_ranks(rank, pulls.tobytes(), kept, share)


@lru_cache(1024)
def _kept_ranks(rank: Callable[[Ints, float, float], Ints], pulls: bytes, kept: float, share: float) -> Ints:
    return rank(np.frombuffer(pulls, np.int64), kept, share)


@lru_cache(1024)
def first_useful(kept: float, share: float, taken: float, anytime: bool) -> int | None:
    """`first_useful_pulls`, or None where no number of pulls is enough."""
    try:
        return first_useful_pulls(kept, share, taken=taken, anytime=anytime)
    except BadInput:
        return None
