"""Which values of a sample look contaminated: a hint for the eye."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from frontguard._typing import Bools, Floats
from frontguard.errors import BadInput

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
        distance = sample - np.median(sample)
    found = np.zeros(len(sample), np.bool_)
    for side in (1.0, -1.0):
        away = side * distance
        found |= away > FAR * _deviation(away[away >= 0.0])
    return found


def _deviation(distances: Floats) -> float:
    """A robust standard deviation from the distances (m,) on one side of the median, none of them negative."""
    if not len(distances):
        return np.inf
    typical = _NORMAL * float(np.median(distances))
    if typical > 0.0:
        return typical
    levels = np.unique(distances[np.isfinite(distances)])
    step = _NORMAL * float(np.diff(levels).min()) if len(levels) > 2 else 0.0
    mean = float(np.minimum(distances, np.finfo(np.float64).max / len(distances)).mean())
    return max(_NORMAL_MEAN * mean, step) or np.inf
