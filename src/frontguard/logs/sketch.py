"""Logs in bounded memory: an exact sample of each arm while it is small, a KLL sketch of it from then on.

One sketch for each arm and metric (Karnin, Lang and Liberty, 2016, arXiv:1603.05346), with the counts of pulls and good
values beside it, which stay exact: docs/logs-streams.md says what may be read from sketches, and why. Of a mean with
known bounds a sketch has the logarithms of wealth of e-processes against it (`evidence.bets`), which add up, exactly.
Coins come from the operating system, so that no process shares them with another, and nobody foresees them.
"""

from __future__ import annotations

import functools
import math
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import numpy as np
import numpy.typing as npt

from frontguard._common.typing import Bools, Floats, Ints
from frontguard.errors import BadInput
from frontguard.evidence.bets import BETS, WORST
from frontguard.evidence.measurements import Bounds, Ordered, sums_of_values
from frontguard.logs.spill import merge_ordered, same_metrics, united
from frontguard.phrases import shown

AnyArray = npt.NDArray[Any]

DEFAULT_SIZE = 800
"""k: some 19 kB for an arm and metric, and a rank error of about 1 % of n for 10,000 arms at once."""

SKETCH_SHARE = 0.1
"""The part of δ that pays for the sketches; the rest pays for sampling."""

_MIXED_AT = 1024.0
"""ρ of `lasting_error`, fixed once for all: E is smallest where V is a small multiple of it, and nowhere large."""

_SMALLEST, _LARGEST = 8, 65535
_NARROWEST = 8  # the least capacity of a level
_NONE = np.empty(0)


EXACT = 3
"""Times k values up to which an arm's sample is kept whole: as many as its sketch would take."""


class Sketches:
    """A log in bounded memory."""

    def __init__(
        self, metrics: Sequence[str], size: int = DEFAULT_SIZE, bounds: Mapping[str, Sequence[float]] | None = None
    ) -> None:
        if isinstance(size, bool) or not isinstance(size, int) or not _SMALLEST <= size <= _LARGEST:
            raise BadInput(f"size (k) of a sketch must be a whole number from {_SMALLEST} to {_LARGEST}; got {size!r}")
        self.size = size
        known: dict[str, Bounds] = {name: (float(ends[0]), float(ends[1])) for name, ends in (bounds or {}).items()}
        self._bounds = tuple(known.get(name) for name in metrics)  # of the means that are asked for
        self._sketches: dict[tuple[int, str], Sketch] = {}  # of a metric and an arm
        self._sums = np.zeros((len(metrics), 0))
        # The arms, their pulls, and the values of those that are not sketched.
        starts, none = np.zeros((len(metrics), 1), np.int64), np.zeros(0, np.int64)
        self._kept = Ordered([], tuple(metrics), none, starts, (_NONE,) * len(metrics), none)

    @property
    def arms(self) -> Sequence[str]:
        """Names (K,), ordered."""
        return self._kept.arms

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names (M,)."""
        return self._kept.metrics

    @property
    def pulls(self) -> Ints:
        """Pulls of every arm (K,), failed ones included."""
        return self._kept.pulls

    def add(self, ordered: Ordered) -> None:
        """Add the rows of a log, or of a part of it."""
        self._take(ordered, np.stack([ordered.sum(metric) for metric in range(len(ordered.metrics))]))

    def merge(self, other: Sketches) -> None:
        """Add what another one has, and leave it as it is."""
        same_metrics(self.metrics, other.metrics)
        if self.size != other.size:
            raise BadInput(f"sketches that are merged must be of one size (k); got {self.size} and {other.size}")
        if self._bounds != other._bounds:
            raise BadInput("sketches that are merged must be of means with the same bounds")
        for which, sketch in other._sketches.items():
            mine = self._sketches.get(which)
            self._sketches[which] = sketch if mine is None else merge_sketches(mine, sketch, self.size)
        self._take(other._kept, other._sums)

    def readable(self, delta: float, *, anytime: bool = False) -> tuple[SketchOrdered, float]:
        """The log as it can be read, and what is left of δ for sampling.

        With probability 1 − `SKETCH_SHARE` · δ all bounds of one analysis hold: two sides of every sketch; free while
        nothing was thrown away. With `anytime` they hold at every look: an arm's share does not depend on how many are
        sketched, and is paid from the first look on.
        """
        place = {name: index for index, name in enumerate(self.arms)}
        sketches = {(d, place[name]): sketch for (d, name), sketch in self._sketches.items()}
        uncertain = sum(any(each.compactions) for each in sketches.values())
        sharing = len(self.arms) * len(self.metrics) if anytime else uncertain
        share = SKETCH_SHARE * delta / (2 * sharing) if sharing else 1.0
        error = lasting_error if anytime else allowed_error
        errors = {which: error(*each.rank_error, share) for which, each in sketches.items()}
        reads = _laid_out(self._kept, self._sums, sketches, errors, self._bounds)
        return reads, (1.0 - SKETCH_SHARE) * delta if uncertain or anytime else delta

    def to_arrays(self) -> tuple[Ordered, dict[str, AnyArray]]:
        """The exact part, and the sketches one after another: for a state."""
        place = {name: index for index, name in enumerate(self.arms)}
        which = sorted(self._sketches)
        sketches = [self._sketches[each] for each in which]
        depth = max((len(sketch.levels) for sketch in sketches), default=0)
        held = np.zeros((len(sketches), depth), np.int64)
        compactions = np.zeros_like(held)
        for row, sketch in enumerate(sketches):
            held[row, : len(sketch.levels)] = [len(values) for values in sketch.levels]
            compactions[row, : len(sketch.levels)] = sketch.compactions
        return self._kept, {
            "sums": self._sums,
            "sketched": np.array([(d, place[name]) for d, name in which], np.int64).reshape(-1, 2),
            "held": held,
            "compactions": compactions,
            "extremes": np.array([sketch.extremes for sketch in sketches]).reshape(-1, 2),
            "sketches": np.concatenate([_NONE, *(values for sketch in sketches for values in sketch.levels)]),
            "bets": np.array([each.wealth for each in sketches if each.wealth is not None]).reshape(-1, 2, BETS),
        }

    @classmethod
    def from_arrays(
        cls, kept: Ordered, size: int, arrays: dict[str, AnyArray], bounds: Mapping[str, Sequence[float]] | None = None
    ) -> Sketches:
        """Return the log of what `to_arrays` gave."""
        found = cls(kept.metrics, size, bounds)
        found._kept, found._sums = kept, arrays["sums"]
        ends, sums = np.cumsum(arrays["held"].sum(axis=1)), iter(arrays["bets"])
        samples = np.split(arrays["sketches"], ends[:-1])
        rows = zip(*(arrays[name].tolist() for name in ("sketched", "held", "compactions", "extremes")), strict=True)
        for values, ((d, arm), held, compactions, (low, high)) in zip(samples, rows, strict=False):
            depth = max((level + 1 for level, count in enumerate(held) if count), default=0)
            levels = tuple(part.copy() for part in np.split(values, np.cumsum(held[:depth])[:-1]))
            wealth = None if found._bounds[d] is None else next(sums)
            found._sketches[d, kept.arms[arm]] = Sketch(levels, tuple(compactions[:depth]), (low, high), wealth)
        return found

    def _take(self, ordered: Ordered, sums: Floats) -> None:
        merged = merge_ordered([self._kept, ordered], self.metrics)
        arms, (mine, theirs) = united([self.arms, ordered.arms])
        together = np.zeros((len(self.metrics), len(arms)))
        together[:, mine] += self._sums
        with np.errstate(over="ignore", invalid="ignore"):
            together[:, theirs] += sums
        good, starts = merged.good, np.zeros_like(merged.starts)
        values = []
        for d in range(len(self.metrics)):
            moved = good[d] > EXACT * self.size
            if self._sketches:
                moved |= np.fromiter(((d, name) in self._sketches for name in arms), np.bool_, len(arms))
            for arm in np.flatnonzero(moved & (good[d] > 0)).tolist():
                new = sketch_of(merged.values[d][slice(*merged.starts[d, arm : arm + 2])], self._bounds[d])
                before = self._sketches.get((d, arms[arm]), EMPTY)
                self._sketches[d, arms[arm]] = merge_sketches(before, new, self.size)
            values.append(merged.values[d][np.repeat(~moved, good[d])])
            np.cumsum(np.where(moved, 0, good[d]), out=starts[d, 1:])
        self._sums = together
        self._kept = Ordered(arms, self.metrics, merged.pulls, starts, tuple(values), merged.broken)


@dataclass(frozen=True, eq=False)
class Sketch:
    """A sample in short: values at levels, in no order, of which one at level h stands for 2ʰ."""

    levels: tuple[Floats, ...]
    compactions: tuple[int, ...]  # how many there were of each level
    extremes: tuple[float, float]  # the lowest and the highest value that went in
    wealth: Floats | None = None  # (2, BETS), of all that went in, where their mean has known bounds

    @property
    def count(self) -> int:
        """The number of values that went in."""
        return sum(len(values) << level for level, values in enumerate(self.levels))

    @property
    def rank_error(self) -> tuple[int, int]:
        """V = Σ m_h 4ʰ and Σ m_h 2ʰ of the m_h compactions of level h: docs/logs-streams.md."""
        each = list(enumerate(self.compactions))
        return sum(times << 2 * level for level, times in each), sum(times << level for level, times in each)


EMPTY = Sketch((), (), (math.inf, -math.inf))


def sketch_of(values: Floats, bounds: Bounds | None = None) -> Sketch:
    """Some values, all of them kept; `bounds` of their mean, if it is asked for."""
    sums = None if bounds is None else sums_of_values(values, bounds)
    return Sketch((values,), (0,), (float(values.min()), float(values.max())), sums)


def merge_sketches(first: Sketch, second: Sketch, size: int) -> Sketch:
    """The sketch of size k of what went into both: levels joined, then compacted from below until they are few enough.

    A level is compacted by keeping every second of its values in order, the odd or the even ones as a coin says, at the
    next level. Which levels are compacted, and when, depends on counts alone.
    """
    levels = [np.concatenate(held) for held in zip_longest(first.levels, second.levels, fillvalue=_NONE)]
    compactions = [sum(times) for times in zip_longest(first.compactions, second.compactions, fillvalue=0)]
    while sum(map(len, levels)) > sum(capacity(size, depth) for depth in range(len(levels))):
        top = len(levels) - 1
        level = next(h for h, held in enumerate(levels) if len(held) > capacity(size, top - h))
        if level == top:
            levels.append(_NONE)
            compactions.append(0)
        values = np.sort(levels[level], kind="stable")  # quick where they came in order
        odd = len(values) % 2
        levels[level] = values[:odd].copy()
        levels[level + 1] = np.concatenate([levels[level + 1], values[odd + secrets.randbits(1) :: 2]])
        compactions[level] += 1
    extremes = min(first.extremes[0], second.extremes[0]), max(first.extremes[1], second.extremes[1])
    sums = [each.wealth for each in (first, second) if each.wealth is not None]
    return Sketch(tuple(levels), tuple(compactions), extremes, sum(sums[1:], sums[0]) if sums else None)


@functools.cache
def capacity(size: int, depth: int) -> int:
    """c: how many values a level `depth` below the top one has room for: k (2/3)^depth.

    >>> [capacity(200, depth) for depth in range(9)]
    [200, 133, 88, 59, 39, 26, 17, 11, 8]
    """
    return max(_NARROWEST, int(size * (2 / 3) ** depth))


def allowed_error(proxy: int, hard: int, share: float) -> int:
    """E: the rank error that is exceeded on one side with probability at most `share`. Errors are whole numbers."""
    return min(hard, math.floor(math.sqrt(2.0 * proxy * math.log(1.0 / share)) + 1e-9))


def lasting_error(proxy: int, hard: int, share: float) -> int:
    """E for all looks: the error at one value exceeds it on one side at any look with probability at most `share`.

    The mixture of exp(λS − λ²V/2) over λ ~ N(0, 1/ρ) is a supermartingale: docs/theory.md, "Sketches".

    >>> [allowed_error(10**4, 10**6, 1e-6), lasting_error(10**4, 10**6, 1e-6)]
    [525, 575]
    """
    mixed = proxy + _MIXED_AT
    return min(hard, math.floor(math.sqrt(mixed * (math.log(mixed / _MIXED_AT) - 2.0 * math.log(share))) + 1e-9))


@dataclass(frozen=True, eq=False, kw_only=True)
class SketchOrdered(Ordered):
    """A log of sketches, read at ranks as any other; bounds allow for their error. Places in `values` are no ranks."""

    whole = False
    numbers: Ints  # (M, K) of values that did not fail
    totals: Floats  # (M, K) of these
    rank_errors: Ints  # (M, K): E, 0 where all values were kept
    sketched: Bools  # (M, K)
    counts: tuple[Ints, ...]  # how many values, of this arm and all earlier ones, are at or below each that is held
    bounds: tuple[Bounds | None, ...]  # of the metrics (M,) whose mean was asked for when the sketches were begun
    wealth: Mapping[tuple[int, int], Floats]  # of these, by metric and arm, that of those sketched

    @property
    def good(self) -> Ints:
        """Counts (M, K) of the values that did not fail."""
        return self.numbers

    def sum(self, metric: int) -> Floats:
        """The sums (K,) of the values of a metric that did not fail."""
        return np.asarray(self.totals[metric])

    def at(self, metric: int, arms: Ints, ranks: Ints, side: int = 0) -> Floats:
        """The values of arms at ranks from 1: bounds from below (side −1) or above (1), or estimates (0)."""
        earlier = np.cumsum(self.good[metric]) - self.good[metric]
        wanted = earlier[arms] + ranks + side * self.rank_errors[metric][arms]
        places = np.searchsorted(self.counts[metric], wanted)
        # A rank below 1 reads an arm's lowest value, and one beyond the last its highest.
        starts = self.starts[metric]
        return np.asarray(self.values[metric][np.clip(places, starts[arms], starts[arms + 1] - 1)])

    def standard_errors(self, metric: int) -> Floats:
        """Standard errors of the means of a metric (K,), about, by the values that are held and their weights."""
        K, good = len(self.pulls), self.good[metric]
        arm_of = np.repeat(np.arange(K), np.diff(self.starts[metric]))
        weights = np.diff(self.counts[metric], prepend=0)
        away = self.values[metric] - self.mean(metric)[arm_of]
        return np.sqrt(np.bincount(arm_of, weights * away**2, K)) / np.where(good > 0, good, np.nan)

    def sums_of_bets(self, metric: int, arms: Ints, bounds: Bounds, taken: Floats) -> Floats:
        """The sums (n, 2, BETS) of `Ordered`; smallest values, unknown, count as 1 besides, which refutes no more."""
        sketched, own = self.sketched[metric][arms], self.bounds[metric]
        if sketched.any() and own != bounds:
            had = "none" if own is None else f"{own[0]:g} and {own[1]:g}"
            raise BadInput(
                f"the mean of {shown(self.metrics[metric])} can be read from sketches with the bounds that they were "
                f"begun with; wanted {had}, got {bounds[0]:g} and {bounds[1]:g}"
            )
        found = np.empty((len(arms), 2, BETS))
        found[~sketched] = super().sums_of_bets(metric, arms[~sketched], bounds, taken[~sketched])
        if sketched.any():
            some, good = arms[sketched], self.good[metric][arms[sketched]]
            lost = self.pulls[some] - good + np.minimum(taken[sketched], good)
            kept = np.array([self.wealth[metric, arm] for arm in some.tolist()])
            found[sketched] = kept + lost[:, None, None] * WORST
        return found


def _laid_out(
    kept: Ordered,
    sums: Floats,
    sketches: Mapping[tuple[int, int], Sketch],
    errors: Mapping[tuple[int, int], int],
    bounds: tuple[Bounds | None, ...],
) -> SketchOrdered:
    """Exact samples, and sketches with their rank errors by metric and arm, as one log."""
    good = kept.good
    held = good.copy()
    rank_errors, sketched = np.zeros_like(good), np.zeros(good.shape, np.bool_)
    for which, each in sketches.items():
        good[which], held[which] = each.count, sum(map(len, each.levels)) + 2
        rank_errors[which], sketched[which] = errors[which], True
    starts = np.zeros_like(kept.starts)
    np.cumsum(held, axis=1, out=starts[:, 1:])
    values, counts = [], []
    for d in range(len(kept.metrics)):
        exact = np.repeat(~sketched[d], held[d])
        earlier = np.cumsum(good[d]) - good[d]
        flat = np.empty(starts[d, -1])
        flat[exact] = kept.values[d][: kept.starts[d, -1]]
        count = 1 + np.arange(len(flat)) + np.repeat(earlier - starts[d, :-1], held[d])
        for arm in np.flatnonzero(sketched[d]).tolist():
            each, run = sketches[d, arm], slice(starts[d, arm], starts[d, arm + 1])
            weights = np.repeat(1 << np.arange(len(each.levels)), [len(part) for part in each.levels])
            together = np.concatenate(each.levels)
            order = np.argsort(together)
            flat[run] = np.r_[each.extremes[0], together[order], each.extremes[1]]
            count[run] = earlier[arm] + np.r_[0, np.cumsum(weights[order]), good[d, arm]]
        values.append(flat)
        counts.append(count)
    wealth = {which: each.wealth for which, each in sketches.items() if each.wealth is not None}
    return SketchOrdered(
        kept.arms, kept.metrics, kept.pulls, starts, tuple(values), kept.broken, numbers=good, totals=sums,
        rank_errors=rank_errors, sketched=sketched, counts=tuple(counts), bounds=bounds, wealth=wealth,
    )  # fmt: skip
