"""Changes of side: whether values come in random order, although a share ε of them may be anything.

The test behind the alarm for drift; the argument, step by step, is in docs/alarms.md.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from frontguard.boundaries import fixed_rank
from frontguard.threats import Oblivious, Prescient, Threat

Floats = npt.NDArray[np.float64]

SPLITS = np.array([0.15, 0.3, 0.5, 0.7, 0.85])
"""Where values are split into low and high ones, as shares of them."""

_SAFETY = 1e-6  # of logarithms of probabilities, above their rounding errors


@dataclass(frozen=True)
class Drift:
    """Of so many pairs of successive values so few are on different sides of a value; more were to be expected."""

    value: float
    pairs: int
    changes: int
    expected: int


def find_drift(column: Floats, threat: Threat, delta: float) -> Drift | None:
    """The clearest sign that values change sides too rarely, n having been fixed beforehand; None without any.

    Let the values be split into an upper and a lower part anywhere, and D count the changes of side between successive
    ones. Leaving values out never adds changes and takes away two a value at most. So D is at least that of the values
    that are neither replaced nor failed, which are at least m of n with probability 1 − δ/2; and these, where hits have
    nothing to do with rewards, come in random order. Where they have, all n clean values do, and D is at least theirs
    less 2 (n − m). How many of them are above the split is not known, but which counts are possible is.
    """
    n = len(column)
    values = column[~np.isnan(column)]
    size = values.size
    kept = likely_count(n, 1.0 - threat.eps, delta / 2.0)
    if size < max(kept, 2):  # hits beyond what is likely: the alarm for failures is the one to speak
        return None
    independent = isinstance(threat, (Oblivious, Prescient))
    ordered = kept if independent else n
    replaced = size - kept
    log_level = math.log(delta / 2.0) - math.log(ordered)  # a share for every possible number above the split
    ranked = np.sort(values)
    splits = ranked[(SPLITS * size).astype(np.int64)]
    up = size - np.searchsorted(ranked, splits, "left")
    strictly_up = size - np.searchsorted(ranked, splits, "right")
    # With ties there are two splits at a value, below it and above: the nearer to the share that was meant.
    strict = up + strictly_up > 2.0 * (1.0 - SPLITS) * size
    above = np.where(strict[:, None], values > splits[:, None], values >= splits[:, None])
    up = np.where(strict, strictly_up, up)
    changes = np.count_nonzero(above[:, 1:] != above[:, :-1], axis=1)
    # The most uneven of the possible splits has the fewest changes.
    fewest = (np.minimum(up, size - up) - replaced).tolist()
    lost = 0 if independent else 2 * (n - kept)
    expected = np.array([fewest_changes(few, ordered - few, log_level) for few in fewest]) - lost
    clearest = int(np.argmax(expected - changes))
    if changes[clearest] >= expected[clearest]:
        return None
    return Drift(float(splits[clearest]), size - 1, int(changes[clearest]), int(expected[clearest]))


@functools.lru_cache(maxsize=4096)
def likely_count(n: int, probability: float, delta: float) -> int:
    """So many of n pulls, n fixed beforehand, are what each is with a probability; it fails with probability δ."""
    return n if probability == 1.0 else fixed_rank(n, probability, delta)


@functools.lru_cache(maxsize=4096)
def fewest_changes(ones: int, zeros: int, log_level: float) -> int:
    """The smallest d with log P(D ≤ d) above the level, for the changes D in a random order of ones and zeros.

    Wald and Wolfowitz: with c ones and v zeros, N = c + v, and runs R = D + 1,

        P(R = 2k) = 2 C(c−1, k−1) C(v−1, k−1) / C(N, c),   P(R = 2k+1) = P(R = 2k) (N − 2k) / 2k.
    """
    if min(ones, zeros) < 1:
        return 0
    total = ones + zeros
    k = np.arange(1, min(ones, zeros) + 1, dtype=np.float64)
    even = math.log(2.0) + _log_choose(ones - 1, k - 1) + _log_choose(zeros - 1, k - 1)
    even -= float(_log_choose(total, np.array(float(ones))))
    with np.errstate(divide="ignore"):  # an even split into single runs has no odd number of them
        odd = even + np.log((total - 2.0 * k) / (2.0 * k))
    below = np.logaddexp.accumulate(np.column_stack([even, odd]).ravel())  # log P(D ≤ 1), log P(D ≤ 2), …
    return 1 + int(np.searchsorted(below, log_level - _SAFETY, side="right"))


def _log_choose(n: float, k: Floats) -> Floats:
    return np.asarray(gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0), np.float64)
