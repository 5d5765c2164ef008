"""Averages of evidence over shifts: with a spread bound R, what all of its shifts refute together.

Let m be a median and t a shift. The number N_t(x) of observations at or below x + R(t) bears evidence against m ≤ x, as
too few of them are there: M_n(N_t(x); keep(½+t)) of `evidence.boundaries`, which at x = m ever reaches 1/δ' with
probability at most δ'. The same is true of any mean of such evidence with weights that were fixed beforehand,

    W_n(x) = Σ_t w_t M_n(N_t(x); keep(½+t)),   Σ_t w_t = 1,

since a mean of supermartingales is one. W falls in x. So the x with W_n(x) ≥ 1/δ', which are refuted, end at one of the
points at which some N_t rises, a value less R(t): that is the lower end of an interval. Each shift by itself, with its
part w_t δ' of δ', refutes no more, as W is at least each of its terms.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from frontguard._common.compiled import inlined, kernel
from frontguard._common.typing import Floats
from frontguard.evidence.boundaries import STRENGTH, log_prior_of, taken_away
from frontguard.evidence.mixtures import log_mixture
from frontguard.evidence.ordered import Samples, ranked
from frontguard.evidence.samples import Record


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
    """Whether n pulls, all on the far side, refute anything."""
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
