"""Logs in bounded memory: an exact sample of each arm while it is small, a KLL sketch of it from then on.

One sketch for each arm and metric (Apache DataSketches, `kll_doubles_sketch`), with the counts of pulls and good values
beside it, which stay exact. A sketch of size k keeps about 3k values however many went in, so up to 3k values an arm's
sample is kept as it is, and read without any error. docs/logs-streams.md says what may be read from sketches, and why.
Of a mean with known bounds the sums of bets on it (`logs.sort.bets`) are kept beside the sketch: they add up, exactly.

The library draws its random bits from generators of its own, seeded by the clock: two sketches of the same data differ,
within what is promised of them.
"""

from __future__ import annotations

import copy
import functools
import importlib
import math
import os
import struct
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from frontguard._common.compiled import kernel
from frontguard._common.typing import Bools, Floats, Ints
from frontguard.errors import BadInput
from frontguard.evidence.means import BETS
from frontguard.logs.sort import bets
from frontguard.logs.sort.bets import Bounds, MeanQuestion
from frontguard.logs.sort.merge import merge_ordered, same_metrics, united
from frontguard.logs.sort.ordered import Ordered
from frontguard.phrases import error_line, shown

AnyArray = npt.NDArray[Any]

DEFAULT_SIZE = 800
"""k: some 19 kB for an arm and metric, and a rank error of about 1 % of n for 10,000 arms at once."""

SKETCH_SHARE = 0.1
"""The part of δ that pays for the sketches; the rest pays for sampling."""

_MIXED_AT = 1024.0
"""ρ of `lasting_error`, fixed once for all: E is smallest where V is a small multiple of it, and nowhere large."""

_SMALLEST, _LARGEST = 8, 65535  # of the library
_HEAD = struct.Struct("<BBBBHBxQHBx")  # of a sketch's own bytes: …, k, m, n, the smallest k merged, levels
_IMPORTED_IN = os.getpid()


def exact_up_to(size: int) -> int:
    """Up to how many values an arm's sample is kept whole: as many as its sketch would take."""
    return 3 * size


class Sketches:
    """What is kept of a log in bounded memory.

    >>> rng = np.random.default_rng(1)
    >>> values = np.sort(rng.normal(size=100_000))
    >>> log = Sketches(("ms",), size=200)
    >>> log.add(Ordered(["a"], ("ms",), np.array([100_010]), np.array([[0, 100_000]]), (values,)))
    >>> reads, delta = log.readable(0.05)
    >>> low, high = (reads.at(0, np.array([0]), np.array([50_000]), side) for side in (-1, 1))
    >>> bool(low[0] <= values[49_999] <= high[0]), round(delta, 3)
    (True, 0.045)
    """

    def __init__(
        self, metrics: Sequence[str], size: int = DEFAULT_SIZE, bounds: Mapping[str, Sequence[float]] | None = None
    ) -> None:
        if isinstance(size, bool) or not isinstance(size, int) or not _SMALLEST <= size <= _LARGEST:
            raise BadInput(f"size (k) of a sketch must be a whole number from {_SMALLEST} to {_LARGEST}; got {size!r}")
        self._new = _maker(size)
        self.size = size
        self._bounds = tuple(_pair((bounds or {}).get(name)) for name in metrics)  # of the means that are asked for
        self._sketches: tuple[dict[str, Any], ...] = tuple({} for _ in metrics)
        self._bets: tuple[dict[str, Floats], ...] = tuple({} for _ in metrics)  # of sketched arms: (2, BETS)
        self._sums = np.zeros((len(metrics), 0))
        # The arms, their pulls, and the values of those that are not sketched.
        nothing = np.empty(0)
        starts = np.zeros((len(metrics), 1), np.int64)
        none = np.zeros(0, np.int64)
        self._kept = Ordered([], tuple(metrics), none, starts, tuple(nothing for _ in metrics), none)

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
        """Of every arm (K,), failed ones included."""
        return self._kept.pulls

    @property
    def sketched(self) -> int:
        """How many samples, of K · M, are sketches by now."""
        return sum(map(len, self._sketches))

    def add(self, ordered: Ordered) -> None:
        """Add the rows of a log, or of a part of it."""
        self._take(ordered, ordered.sums)

    def merge(self, other: Sketches) -> None:
        """Add what another one has, and leave it as it is."""
        same_metrics(self.metrics, other.metrics)
        if self.size != other.size:
            raise BadInput(f"sketches that are merged must be of one size (k); got {self.size} and {other.size}")
        for mine, theirs in zip(self._sketches, other._sketches, strict=True):
            for name, sketch in theirs.items():
                if name in mine:
                    _apart(mine[name].merge, sketch)
                else:
                    mine[name] = copy.copy(sketch)
        if self._bounds != other._bounds:
            raise BadInput("sketches that are merged must be of means with the same bounds")
        for sums, more in zip(self._bets, other._bets, strict=True):
            for name, each in more.items():
                sums[name] = sums.get(name, 0.0) + each
        self._take(other._kept, other._sums)

    def copied(self) -> Sketches:
        """One that can be added to while this one stays as it is."""
        other = Sketches(self.metrics, self.size)
        other._bounds, other._bets = self._bounds, tuple(dict(some) for some in self._bets)
        other._sketches = tuple({name: copy.copy(sketch) for name, sketch in some.items()} for some in self._sketches)
        other._sums, other._kept = self._sums, self._kept  # replaced by what is added, never written to
        return other

    def readable(self, delta: float, *, anytime: bool = False) -> tuple[SketchOrdered, float]:
        """The log as it can be read, and what is left of δ for sampling.

        With probability 1 − `SKETCH_SHARE` · δ all bounds that are read for one analysis hold: two sides of every
        sketch. While nothing was thrown away, nothing is paid.

        With `anytime` they hold at every look at what these sketches have been and will be, however often one looks:
        E is larger, the share of an arm does not depend on how many are sketched by now, and it is paid from the first
        look on.
        """
        place = {name: index for index, name in enumerate(self.arms)} if self.sketched else {}
        retained = [
            [(place[name], _retained(sketch)) for name, sketch in sorted(some.items())] for some in self._sketches
        ]
        uncertain = sum(each.hard_error > 0 for some in retained for _, each in some)
        sharing = len(self.arms) * len(self.metrics) if anytime else uncertain
        share = SKETCH_SHARE * delta / (2 * sharing) if sharing else 1.0
        reads = readable(self._kept, retained, self._sums, share, lasting_error if anytime else allowed_error)
        known = [{place[name]: each for name, each in some.items()} for some in self._bets]
        reads = replace(reads, bounds=self._bounds, bets=tuple(known))
        return reads, (1.0 - SKETCH_SHARE) * delta if uncertain or anytime else delta

    def to_arrays(self) -> tuple[Ordered, dict[str, AnyArray]]:
        """What a state keeps: the exact part, and the sketches as bytes."""
        arrays: dict[str, AnyArray] = {"sums": self._sums}
        place = {name: index for index, name in enumerate(self.arms)} if self.sketched else {}
        for d, some in enumerate(self._sketches):
            named = sorted(some)
            bodies = [some[name].serialize() for name in named]
            arrays[f"sketched {d}"] = np.array([place[name] for name in named], np.int64)
            arrays[f"ends {d}"] = np.cumsum([len(body) for body in bodies], dtype=np.int64)
            arrays[f"sketches {d}"] = np.frombuffer(b"".join(bodies), np.uint8)
            if self._bounds[d] is not None:
                arrays[f"bets {d}"] = np.array([self._bets[d][name] for name in named]).reshape(len(named), 2, BETS)
        return self._kept, arrays

    @classmethod
    def from_arrays(
        cls, kept: Ordered, size: int, arrays: dict[str, AnyArray], bounds: Mapping[str, Sequence[float]] | None = None
    ) -> Sketches:
        """What `to_arrays` gave."""
        found = cls(kept.metrics, size, bounds)
        # Copies: as parts of the file they would hold all of its bytes in memory, the sketches a second time.
        values = tuple(part.copy() for part in kept.values)
        broken = None if kept.broken is None else kept.broken.copy()
        found._kept = Ordered(kept.arms, kept.metrics, kept.pulls.copy(), kept.starts.copy(), values, broken)
        found._sums = arrays["sums"].copy()
        for d, some in enumerate(found._sketches):
            body, ends = arrays[f"sketches {d}"], arrays[f"ends {d}"].tolist()
            for index, start, end in zip(arrays[f"sketched {d}"].tolist(), [0, *ends], ends, strict=False):
                some[kept.arms[index]] = _read_back(type(found._new()), body[start:end].tobytes(), kept.pulls[index])
            if found._bounds[d] is not None:
                sums = zip(arrays[f"sketched {d}"].tolist(), arrays[f"bets {d}"].copy(), strict=True)
                found._bets[d].update((kept.arms[index], each) for index, each in sums)
        return found

    def _take(self, ordered: Ordered, sums: Floats) -> None:
        same_metrics(self.metrics, ordered.metrics)
        arms, mine, theirs = united(self.arms, ordered.arms)
        together = np.zeros((len(self.metrics), len(arms)))
        together[:, mine] += self._sums
        with np.errstate(over="ignore", invalid="ignore"):
            together[:, theirs] += sums
        merged = merge_ordered(self._kept, ordered)
        good, starts = merged.good, np.zeros_like(merged.starts)
        values = []
        for d, some in enumerate(self._sketches):
            moved = good[d] > exact_up_to(self.size)
            if some:
                moved |= np.fromiter((name in some for name in arms), np.bool_, len(arms))
            _apart(self._move, d, merged, np.flatnonzero(moved & (good[d] > 0)))
            values.append(merged.values[d][np.repeat(~moved, good[d])])
            np.cumsum(np.where(moved, 0, good[d]), out=starts[d, 1:])
        self._sums = together
        self._kept = Ordered(arms, self.metrics, merged.pulls, starts, tuple(values), merged.broken)

    def _move(self, d: int, merged: Ordered, which: Ints) -> None:
        """Put the values of some arms into their sketches."""
        some, values = self._sketches[d], merged.values[d]
        bounds = merged.starts[d]
        for index in which.tolist():
            name = merged.arms[index]
            if name not in some:
                some[name] = self._new()
            new = values[bounds[index] : bounds[index + 1]]
            some[name].update(new)
            if (known := self._bounds[d]) is not None:
                self._bets[d][name] = self._bets[d].get(name, 0.0) + bets.sums_of(new, known)


def _pair(bounds: Sequence[float] | None) -> Bounds | None:
    return None if bounds is None else (float(bounds[0]), float(bounds[1]))


def _maker(size: int) -> Callable[[], Any]:
    try:
        kind = importlib.import_module("datasketches").kll_doubles_sketch
    except ImportError as error:
        raise BadInput("sketches need DataSketches: pip install 'frontguard[sketch]'") from error
    return lambda: kind(size)


def _read_back(kind: Any, body: bytes, pulls: int) -> Any:
    """A sketch out of its own bytes, which somebody else may have written."""
    try:
        sketch = kind.deserialize(body)
        held = _retained(sketch)
        sound = int(held.weights.sum()) == held.count <= pulls and bool(np.isfinite(held.values).all())
        sound = sound and held.lowest <= held.values.min() <= held.values.max() <= held.highest
    except Exception as error:  # whatever the library makes of bytes that are not its own
        raise BadInput(f"a sketch of the state cannot be read: {error_line(error)}") from None
    if not sound:
        raise BadInput("a sketch of the state cannot be read: it holds what no sketch of its arm would")
    return sketch


def _apart(work: Callable[..., None], *given: Any) -> None:
    """Do it; in a process that was forked, in a new thread.

    The library has a generator of random bits for each thread. A forked process has its parent's, in the same state,
    and what it shares with other children would not average out. A new thread has a new one.
    """
    if os.getpid() == _IMPORTED_IN:
        work(*given)
    else:
        with ThreadPoolExecutor(1) as thread:
            thread.submit(work, *given).result()


def _retained(sketch: Any) -> Retained:
    """What a sketch holds, read from its own bytes: a format that is the same in all languages and releases."""
    body = sketch.serialize()
    *_, size, _, count, smallest, levels = _HEAD.unpack_from(body)
    bounds = np.frombuffer(body, "<u4", levels, _HEAD.size).astype(np.int64)
    lowest, highest = struct.unpack_from("<dd", body, _HEAD.size + 4 * levels)
    values = np.frombuffer(body, "<f8", offset=_HEAD.size + 4 * levels + 16)
    held = np.diff(np.append(bounds, bounds[0] + len(values)))
    proxy, hard = ranks_error(min(size, smallest), held.tolist())
    weights = np.repeat(np.left_shift(1, np.arange(levels)), held)
    return Retained(count, lowest, highest, values, weights, proxy, hard)


_NARROWEST = 8  # the least capacity of a level, the library's m


@functools.cache
def capacity(size: int, depth: int) -> int:
    """c: how many values a level `depth` below the top one has to hold before it is compacted: k (2/3)^depth.

    >>> [capacity(200, depth) for depth in range(9)]
    [200, 133, 89, 59, 40, 26, 18, 12, 8]
    """
    return max(_NARROWEST, ((2 * size << depth) // int(3**depth) + 1) >> 1)


def ranks_error(size: int, held: Sequence[int]) -> tuple[int, int]:
    """V and Σ m_h 2ʰ of a sketch of size k that holds so many values at each level.

    >>> ranks_error(200, [150]), ranks_error(200, [1, 100])
    ((0, 0), (1, 1))
    """
    above = sum(count << level for level, count in enumerate(held))
    proxy = hard = 0
    for level, count in enumerate(held[:-1]):
        above -= count << level
        times = (above >> (level + 1)) // (capacity(size, len(held) - 1 - level) // 2)
        proxy += times << (2 * level)
        hard += times << level
    return proxy, hard


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


@dataclass(frozen=True, eq=False)
class Retained:
    """What one sketch holds of `count` values: some of them, with weights, and the bounds of its rank error."""

    count: int
    lowest: float
    highest: float
    values: Floats
    weights: Ints
    proxy: int
    hard_error: int


@dataclass(frozen=True, eq=False)
class SketchOrdered:
    """K arms and M metrics, read at ranks as `Ordered` is; bounds that are read allow for the sketches' error."""

    arms: Sequence[str]
    metrics: tuple[str, ...]
    pulls: Ints  # (K,)
    good: Ints  # (M, K)
    failed_pulls: Ints  # (K,)
    rank_errors: Ints  # (M, K): E, 0 where all values were kept
    means: Floats  # (M, K) of the values that did not fail, NaN where all did
    # Not called as in `Ordered`: places in what is held are no ranks.
    held_starts: Ints  # (M, K + 1), of what follows
    held: tuple[Floats, ...]  # what is held of every arm, ascending; of a sketch, between its extremes
    held_weights: tuple[Ints, ...]  # how many of an arm's values are at or below each
    bounds: tuple[Bounds | None, ...] = ()  # of the metrics (M,) whose mean was asked for when the sketches were begun
    bets: tuple[Mapping[int, Floats], ...] = ()  # of these, the sums (2, BETS) of the arms that are sketched

    def at(self, metric: int, arms: Ints, ranks: Ints, side: int = 0) -> Floats:
        """The values of some arms at ranks from 1 to their good values: bounds from below for side −1, above for 1.

        For side 0 they are estimates: values whose rank is about the one that was asked for.
        """
        return _held_at(
            self.held[metric],
            self.held_weights[metric],
            self.held_starts[metric],
            np.ascontiguousarray(arms, np.int64),
            np.ascontiguousarray(ranks + side * self.rank_errors[metric][arms], np.int64),
        )

    @property
    def starts(self) -> Ints:
        """Where what is held of each arm begins (M, K + 1)."""
        return self.held_starts

    @property
    def values(self) -> tuple[Floats, ...]:
        """What is held, of arms that are not sketched all values."""
        return self.held

    def standard_errors(self, metric: int) -> Floats:
        """Of the means of a metric (K,), about, by the values that are held and their weights."""
        weights = np.diff(self.held_weights[metric], prepend=0)
        first = self.held_starts[metric, :-1][np.diff(self.held_starts[metric]) > 0]
        weights[first] = self.held_weights[metric][first]
        away = self.held[metric] - np.repeat(self.means[metric], np.diff(self.held_starts[metric]))
        squares = np.zeros(len(self.pulls))
        if len(first):
            squares[np.diff(self.held_starts[metric]) > 0] = np.add.reduceat(weights * away**2, first)
        return np.sqrt(squares) / np.where(self.good[metric] > 0, self.good[metric], np.nan)

    def unrefuted(self, metric: int, arms: Ints, asked: MeanQuestion) -> Floats:
        """The largest means (n, 2) of some arms that bets do not refute, see `bets.unrefuted`."""
        sums = self.bets[metric] if self.bets else {}
        sketched = np.isin(arms, np.flatnonzero(self._is_sketched(metric)))
        if sketched.any() and self.bounds[metric] != asked.bounds:
            had = (
                "none" if self.bounds[metric] is None else " and ".join(f"{end:g}" for end in self.bounds[metric] or ())
            )
            raise BadInput(
                f"the mean of {shown(self.metrics[metric])} can be read from sketches with the bounds that they were "
                f"begun with; wanted {had}, got {asked.bounds[0]:g} and {asked.bounds[1]:g}"
            )
        found = np.empty((len(arms), 2))
        whole, some = np.flatnonzero(~sketched), np.flatnonzero(sketched)
        found[whole] = bets.unrefuted(self, metric, arms[whole], asked.among(whole))
        if len(some):
            kept = np.array([sums[arm] for arm in arms[some].tolist()])
            found[some] = bets.unrefuted_by(kept, asked.among(some), self.good[metric][arms[some]])
        return found

    def _is_sketched(self, metric: int) -> Bools:
        """The arms (K,) of which a sketch is held, and not all values: only there does a first value weigh nothing."""
        first, held = self.held_starts[metric, :-1], np.diff(self.held_starts[metric]) > 0
        found = np.zeros(len(self.pulls), np.bool_)
        found[held] = self.held_weights[metric][first[held]] == 0
        return found


def readable(
    kept: Ordered,
    retained: Sequence[Sequence[tuple[int, Retained]]],
    sums: Floats,
    share: float,
    error: Callable[[int, int, float], int] = allowed_error,
) -> SketchOrdered:
    """Exact samples and sketches (arm, what it holds) of every metric as one log, each read failing with ≤ `share`."""
    good = kept.good
    errors = np.zeros_like(good)
    starts, values, weights = np.zeros_like(kept.starts), [], []
    for d, some in enumerate(retained):
        held = good[d].copy()
        for arm, each in some:
            held[arm], good[d, arm] = len(each.values) + 2, each.count
            errors[d, arm] = error(each.proxy, each.hard_error, share)
        np.cumsum(held, out=starts[d, 1:])
        is_exact = np.ones(len(held), np.bool_)
        is_exact[[arm for arm, _ in some]] = False
        flat = np.empty(starts[d, -1])
        flat[np.repeat(is_exact, held)] = kept.values[d][: kept.starts[d, -1]]
        weight = 1 + np.arange(len(flat)) - np.repeat(starts[d, :-1], held)
        for arm, each in some:
            run, order = slice(starts[d, arm], starts[d, arm + 1]), np.argsort(each.values)
            # A rank below 1 reads the lowest value, and one beyond the last the highest.
            flat[run] = np.r_[each.lowest, each.values[order], each.highest]
            weight[run] = np.r_[0, np.cumsum(each.weights[order]), each.count]
        values.append(flat)
        weights.append(weight)
    means = sums / np.where(good > 0, good, np.nan)
    broken = (kept.pulls - good).max(axis=0) if kept.broken is None else kept.broken
    return SketchOrdered(
        kept.arms, kept.metrics, kept.pulls, good, broken, errors, means, starts, tuple(values), tuple(weights)
    )


@kernel(over="arms")
def _held_at(values: Floats, weights: Ints, starts: Ints, arms: Ints, wanted: Ints) -> Floats:
    """For every arm the first held value with the wanted weight at or below it; the first or last beyond the ends."""
    found = np.empty(len(arms), np.float64)
    for i in range(len(arms)):
        low, high = starts[arms[i]], starts[arms[i] + 1] - 1
        while low < high:
            middle = (low + high) // 2
            if weights[middle] >= wanted[i]:
                high = middle
            else:
                low = middle + 1
        found[i] = values[low]
    return found
