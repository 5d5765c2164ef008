"""Which values of a sample look contaminated, and whether samples look dirtier than declared: hints for the eye."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from frontguard._common.typing import Bools, Floats, Ints
from frontguard.errors import BadInput
from frontguard.notices import LooksDirtier
from frontguard.verdicts import Verdict

FAR = 7.0
"""Robust deviations from the median beyond which a value is suspected.

A clean value is farther out than that with a probability of less than 10⁻⁵ if the shape is normal, 0.04 % if it is
exponential, 0.9 % if it is lognormal with σ = 1 (nine in ten values within a factor of 27), and never if it is uniform;
in samples of a dozen, whose spread is known badly, it is 0.2 %, 0.5 %, 1.3 % and 0.04 %. So of values as skewed as
these about one in a hundred is suspected wrongly, of tamer ones hardly any.
"""

FEWEST = 12
"""Values below which nothing is suspected: the spread of so few says too little."""

_NORMAL = 1.4826  # standard deviations in a median deviation of normal values ...
_NORMAL_MEAN = 1.2533  # ... and in a mean one


def suspects(values: npt.ArrayLike, *, relative: bool = False) -> Bools:
    """Which of the values (n,) of an arm look contaminated (n,): those that lie far out for the bulk of the sample.

    This is a hint for the eye, made for pictures. It is no part of the certificate, which needs no such guess and holds
    whatever is marked here: a value that is not marked may be contaminated all the same, and a marked one may be clean.

    The rule needs no shape: a value is marked if it is more than `FAR` robust deviations from the median, where each
    side has a deviation of its own (1.48 times the median distance of the values on that side), so that a skewed sample
    is not taken for a contaminated one. Where more than half of a side equal the median, the mean distance stands in,
    or the step between neighbouring levels if that is larger: ratings come in steps. What is marked is left aside, and
    the rest looked at once more. `relative` compares logarithms, as a relative tolerance does. NaN, a failed
    measurement, is never marked, and neither is a value without a logarithm.

    >>> seconds = [1.0, 1.1, 0.9, 1.2, 1.0, 1.3, 0.95, 1.05, 1.15, 1.0, 0.97, 9.0, float("nan")]
    >>> np.flatnonzero(suspects(seconds)).tolist()
    [11]
    """
    array = np.asarray(values, np.float64)
    if array.ndim != 1:
        raise BadInput(f"values must be the sample of one arm and objective, of shape (n,); got shape {array.shape}")
    marked = np.zeros(len(array), np.bool_)
    usable = array > 0.0 if relative else ~np.isnan(array)
    sample = array[usable]
    if len(sample) < FEWEST:
        return marked
    if relative:
        sample = np.log(sample)
    found = _far(sample)
    if found.any():  # without these the others are seen in a better light: many far values hide each other
        rest = np.flatnonzero(~found)
        found[rest] = _far(sample[rest])
    marked[usable] = found
    return marked


def _far(sample: Floats) -> Bools:
    """The values (n,) that are more than `FAR` robust deviations from the median, each side with its own."""
    with np.errstate(over="ignore", invalid="ignore"):  # infinite values, and differences beyond the largest double
        distance = sample - _median(sample)
    found = np.zeros(len(sample), np.bool_)
    for side in (1.0, -1.0):
        away = side * distance
        found |= away > FAR * _deviation(away[away >= 0.0])
    return found


def _median(values: Floats) -> np.float64:
    """That of values (n,) none of which is NaN; `np.median`, which would look for one, takes four times as long."""
    half = len(values) // 2
    ordered = np.partition(values, half if len(values) % 2 else (half - 1, half))
    middle: np.float64 = ordered[half] if len(values) % 2 else (ordered[half - 1] + ordered[half]) / 2.0
    return middle


def _deviation(distances: Floats) -> float:
    """A robust standard deviation from the distances (m,) on one side of the median, none of them negative."""
    if not len(distances):
        return np.inf
    typical = _NORMAL * float(_median(distances))
    if typical > 0.0:
        return typical
    levels = np.unique(distances[np.isfinite(distances)])
    step = _NORMAL * float(np.diff(levels).min()) if len(levels) > 2 else 0.0
    mean = float(np.minimum(distances, np.finfo(np.float64).max / len(distances)).mean())
    return max(_NORMAL_MEAN * mean, step) or np.inf


# Dirtier than declared ------------------------------------------------------------------------------------------------

MOST_ARMS = 64
"""Arms that are looked at for the hint: those that matter, so that it costs the same with a million others."""

MOST_VALUES = 500
"""Values of each that are looked at: so many order statistics show the shape."""

FEWEST_FOR_HINT = 30

FAR_DIRTIER = 0.1
"""By how much the share that looks wrong must exceed ε."""

_STRAY = 0.05  # share of clean values that may look wrong: see `FAR`; of Cauchy's heavy tails it is 6 %
_CHANCE = 1e-4
_HALF = 1.349  # standard deviations that the middle half of normal values spans
_GAP = 1.5  # of these; where a tenth of the values of a clean sample lie beyond, there is no such gap

Sign = Literal["far", "apart", "ties"]


def share_that_looks_wrong(values: npt.ArrayLike) -> tuple[float, Sign]:
    """The largest share of the values (n,) of an arm that one of three signs calls wrong, and the sign.

    *ties*: one value again and again, where all others differ. *far*: those that `suspects` marks, a quarter on either
    side at most. *apart*: those that are far from the shortest interval that holds half of the values, nearly half of
    all at most. Skewed samples are not taken for contaminated ones: where all values have one sign, *far* must be so
    for their logarithms too, and *apart* must lie beyond a gap between these.

    >>> rng = np.random.default_rng(0)
    >>> clean = rng.lognormal(0.0, 1.0, 300)
    >>> share_that_looks_wrong(clean)[0] < 0.02
    True
    >>> share_that_looks_wrong(np.where(rng.random(300) < 0.4, rng.uniform(1e5, 1e6, 300), clean))
    (0.38..., 'apart')
    """
    sample = np.asarray(values, np.float64)
    sample = sample[np.isfinite(sample)]
    if len(sample) < FEWEST_FOR_HINT:
        return 0.0, "far"
    one_sign = bool((sample > 0.0).all() or (sample < 0.0).all())
    scales = [sample, np.log(np.abs(sample))] if one_sign else [sample]
    tied = _tied(sample)
    if tied >= FAR_DIRTIER:
        return tied, "ties"
    far = float(np.logical_and.reduce([suspects(scale) for scale in scales]).mean())
    apart = float((_away(sample) & (_beyond_gap(scales[1]) if one_sign else True)).mean())
    return (far, "far") if far >= apart else (apart, "apart")


def _shortest_half(sample: Floats) -> tuple[float, float, float]:
    """Ends of the shortest interval that holds more than half of the values (n,), and the deviation it speaks for."""
    ordered = np.sort(sample)
    half = len(ordered) // 2 + 1
    with np.errstate(over="ignore"):
        widths = ordered[half - 1 :] - ordered[: len(ordered) - half + 1]
    first = int(widths.argmin())
    return float(ordered[first]), float(ordered[first + half - 1]), float(widths[first]) / _HALF


def _away(sample: Floats) -> Bools:
    """The values (n,) that are more than `FAR` deviations from the middle of the shortest half."""
    low, high, deviation = _shortest_half(sample)
    if deviation == 0.0:  # more than half of them are equal: a rating, a constant
        return np.zeros(len(sample), np.bool_)
    with np.errstate(over="ignore"):
        return np.asarray(np.abs(sample - (low / 2.0 + high / 2.0)) > FAR * deviation)


def _beyond_gap(sample: Floats) -> Bools:
    """The values (n,) that are separated from the shortest half by a stretch without any, `_GAP` deviations long."""
    low, high, deviation = _shortest_half(sample)
    found = np.zeros(len(sample), np.bool_)
    for side, edge in ((1.0, high), (-1.0, -low)):
        beyond = np.sort(np.append(side * sample[side * sample > edge], edge))
        gaps = np.flatnonzero(np.diff(beyond) >= _GAP * deviation)
        if len(gaps) and deviation > 0.0:
            found |= side * sample >= beyond[gaps[0] + 1]
    return found


def _tied(sample: Floats) -> float:
    """The share of the most frequent value, if it is a minority and nine in ten of all others are different."""
    _, counts = np.unique(sample, return_counts=True)
    most = int(counts.max())
    others = len(sample) - most
    return most / len(sample) if most < others and len(counts) - 1 >= 0.9 * others else 0.0


def arms_that_matter(codes: Ints, decided_by: Ints, pulls: Ints) -> Ints:
    """Up to `MOST_ARMS` kept arms or decide arms that are not out, those with most pulls first."""
    alive = (codes != Verdict.BEATEN) & (codes != Verdict.EXCLUDED)
    deciding = decided_by[alive]
    some = np.unique(np.concatenate([np.flatnonzero(codes == Verdict.KEEP), deciding[deciding >= 0]]))
    return np.asarray(some[np.argsort(-pulls[some], kind="stable")][:MOST_ARMS], np.int64)


class SampleLook(NamedTuple):
    """How a sample looks: the share of it that looks wrong, by which sign, and how many values it has."""

    share: float
    sign: Sign
    number: int


def look_at(values: Floats) -> SampleLook:
    """How a sample looks."""
    return SampleLook(*share_that_looks_wrong(values), len(values))


def _tail(count: int, number: int, probability: float) -> float:
    """The probability of so many or more of a number of events, each of this probability."""
    from scipy.special import bdtrc  # few samples come here

    return float(bdtrc(count - 1, number, probability))


def dirtier_than(contamination: float, looks: Iterable[tuple[str, str, SampleLook]]) -> LooksDirtier | None:
    """The hint that samples (arm, objective, how it looks) look far dirtier than ε; None if none does.

    It is no part of any certificate: of clean normal, uniform and lognormal samples it is silent, and what it takes for
    wrong may be right.
    """
    looked: set[str] = set()
    dirty: dict[str, tuple[float, str, Sign]] = {}
    for arm, objective, (share, sign, number) in looks:
        looked.add(arm)
        count = round(share * number)
        if share < contamination + FAR_DIRTIER or _tail(count, number, min(contamination + _STRAY, 1.0)) > _CHANCE:
            continue
        dirty[arm] = max(dirty.get(arm, (0.0, objective, sign)), (share, objective, sign))
    if not dirty:
        return None
    arm = max(dirty, key=lambda each: dirty[each][0])
    share, objective, sign = dirty[arm]
    return LooksDirtier(arm, objective, share, sign, len(dirty), len(looked), contamination)
