"""Effect sizes: by how much, and how many times, arms differ from a baseline in each metric, as far as intervals tell.

All intervals hold at once with the probability of the certificate, and what is read off two of them holds whenever
these do: so all pairs, all metrics, differences and ratios hold together, at no price (docs/theory.md, (v)). Where arms
were measured on the same items, bounds of differences within pairs hold on that event too, and the sharper one counts.
Differences and ratios are in the metrics' units, arm against baseline; how arms stand to the tolerances is judged by
inner values.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from frontguard._common.attached import attached
from frontguard._common.entries import AT_A_TIME, finite
from frontguard._common.typing import Bools, Floats, Ints
from frontguard.objectives import Objective

if TYPE_CHECKING:
    from frontguard.schema import EffectEntries, SpanEntries

_NORMAL = NormalDist()
_ROUNDING = 1e-9  # of bounds that are equal, as those of a list that was measured whole


class Worded(IntEnum):
    """Cases that are written for people and machines by a word each."""

    @property
    def word(self) -> str:
        """The word of a case.

        >>> [contrast.word for contrast in Contrast]
        ['better', 'no worse', 'alike', 'no better', 'worse', 'open']
        """
        return self.name.lower().replace("_", " ")

    @classmethod
    def called(cls, word: str) -> Self:
        """Return the case of a word."""
        return next(case for case in cls if case.word == word)


class Contrast(Worded):
    """The certain relation of an arm to the baseline in one metric; a difference up to its tolerance is none."""

    BETTER = 0  # by more than the tolerance
    NO_WORSE = 1  # by more than the tolerance, and perhaps better
    ALIKE = 2  # neither better nor worse by more than the tolerance
    NO_BETTER = 3  # by more than the tolerance, and perhaps worse
    WORSE = 4  # by more than the tolerance
    OPEN = 5

    @property
    def not_worse(self) -> bool:
        """True if the arm is certainly not worse than the baseline by more than the tolerance."""
        return self in (Contrast.BETTER, Contrast.NO_WORSE, Contrast.ALIKE)


@dataclass(frozen=True)
class Span:
    """A number as it is estimated (NaN where nothing is), and the ends between which it certainly lies."""

    estimate: float
    low: float
    high: float

    @classmethod
    def of(cls, given: SpanEntries) -> Span:
        """The number that was written down."""
        ends = ((given.estimate, math.nan), (given.low, -math.inf), (given.high, math.inf))
        return cls(*(instead if each is None else each for each, instead in ends))

    def to_dict(self) -> dict[str, float | None]:
        """Plain values that JSON can hold; what is infinite or not known becomes None."""
        return {name: value if math.isfinite(value) else None for name, value in vars(self).items()}


@dataclass(frozen=True)
class Effect:
    """An arm against the baseline in one metric; a ratio if the baseline is positive and the arm not negative."""

    metric: Objective
    difference: Span
    ratio: Span | None
    contrast: Contrast

    @classmethod
    def of(cls, metric: Objective, given: EffectEntries) -> Effect:
        """The effect that was written down."""
        ratio = None if given.ratio is None else Span.of(given.ratio)
        return cls(metric, Span.of(given.difference), ratio, Contrast.called(given.contrast))

    @property
    def told(self) -> Span:
        """The ratio; the difference where there is none, tolerances are amounts, or it alone says which is more."""
        if self.ratio is None or by_difference(self.metric):
            return self.difference
        apart = self.difference.low > 0.0 or self.difference.high < 0.0
        return self.difference if apart and self.ratio.low <= 1.0 <= self.ratio.high else self.ratio

    def least_found(self, share: float) -> float:
        """Return which difference intervals like these find four times of five, in inner values; ∞ where none.

        From both estimates to the ends between them it is `share`'s normal quantile, in deviations of an end.
        """
        span = self.ratio if self.metric.relative else self.difference
        end = math.nan if span is None else span.low if self.metric.minimized else span.high
        if span is None or not math.isfinite(end) or (self.metric.relative and not end > 0.0):
            return math.inf
        reach = math.log(end / span.estimate) if self.metric.relative else end - span.estimate
        return self.metric.inner_tolerance + found_beyond(abs(reach), share)

    @property
    def sign(self) -> int:
        """+1 where the arm is certainly better, be it by less than the tolerance; −1 where it is worse; else 0."""
        if self.contrast == Contrast.OPEN:  # 0 lies between the ends, or nothing is promised
            return 0
        if self.contrast in (Contrast.BETTER, Contrast.WORSE):
            return 1 if self.contrast == Contrast.BETTER else -1
        above = int(self.difference.low > 0.0) - int(self.difference.high < 0.0)
        return -above if self.metric.minimized else above

    def to_dict(self) -> dict[str, Any]:
        """Plain values that JSON can hold."""
        return {
            "difference": self.difference.to_dict(),
            "ratio": None if self.ratio is None else self.ratio.to_dict(),
            "contrast": self.contrast.word,
        }


@dataclass(frozen=True)
class Comparison(Mapping[str, Effect]):
    """An arm against a baseline in every metric; `confidence` is of all comparisons together, None if not promised."""

    arm: str
    baseline: str
    effects: tuple[Effect, ...]
    confidence: float | None

    def __getitem__(self, metric: str) -> Effect:
        for effect in self.effects:
            if effect.metric.name == metric:
                return effect
        raise KeyError(metric)

    def __iter__(self) -> Iterator[str]:
        return (effect.metric.name for effect in self.effects)

    def __len__(self) -> int:
        return len(self.effects)

    def to_dict(self) -> dict[str, Any]:
        """Plain values that JSON can hold."""
        return {
            "arm": self.arm,
            "baseline": self.baseline,
            "confidence": self.confidence,
            "metrics": {name: effect.to_dict() for name, effect in self.items()},
        }

    def __str__(self) -> str:
        return str(attached("comparison")(self))


@dataclass(frozen=True, eq=False)
class Intervals:
    """A table (K, M) of point estimates and the ends of intervals; NaN where there is no estimate.

    Of inner values larger ones are better: negatives of a minimised metric; logarithms where its tolerance is a share.
    """

    estimates: Floats
    lower: Floats
    upper: Floats

    @classmethod
    def of(cls, metrics: Sequence[Objective], low: Floats, high: Floats, centre: Floats) -> Intervals:
        """Intervals values of ends and centres (K, M) in the metrics' units: the way back of `outward_interval`."""
        estimates, lower, upper = centre.copy(), low.copy(), high.copy()
        for d, metric in enumerate(metrics):
            ends = [low[:, d], high[:, d]]
            if metric.relative:  # an end at or below 0 is open there
                ends[0] = np.where(ends[0] <= 0.0, np.nan, ends[0])
            with np.errstate(over="ignore", invalid="ignore"):
                ends = [metric.inward(end) for end in ends]
            if metric.relative:
                ends[0] = np.where(np.isnan(ends[0]), np.inf if metric.minimized else -np.inf, ends[0])
            lower[:, d], upper[:, d] = ends[::-1] if metric.minimized else ends
            estimates[:, d] = metric.inward(centre[:, d])
        return cls(estimates, lower, upper)

    def at(self, rows: Ints | slice) -> Intervals:
        """Some rows."""
        return Intervals(self.estimates[rows], self.lower[rows], self.upper[rows])

    def span(self, row: int, column: int) -> Span:
        """One of them."""
        return Span(float(self.estimates[row, column]), float(self.lower[row, column]), float(self.upper[row, column]))

    def plain(self, rows: slice) -> list[list[list[float | None]]]:
        """Some rows as Python's own numbers: estimate and ends of each metric; None where they are not finite."""
        return finite(np.stack([self.estimates[rows], self.lower[rows], self.upper[rows]], axis=2))


@dataclass(frozen=True, eq=False)
class Comparisons:
    """Some arms, `numbers` of the result, against one baseline; arrays have a row for each and a column a metric."""

    baseline: str
    arms: tuple[str, ...]
    numbers: Ints
    metrics: tuple[Objective, ...]
    differences: Intervals
    ratios: Intervals
    contrasts: Ints
    confidence: float | None

    def __len__(self) -> int:
        return len(self.arms)

    def of(self, row: int) -> Comparison:
        """The comparison of one of the arms."""
        effects = tuple(self.effect(row, d) for d in range(len(self.metrics)))
        return Comparison(self.arms[row], self.baseline, effects, self.confidence)

    def effect(self, row: int, d: int) -> Effect:
        """One of the arms in one metric."""
        ratio = None if np.isnan(self.ratios.lower[row, d]) else self.ratios.span(row, d)
        return Effect(self.metrics[d], self.differences.span(row, d), ratio, Contrast(int(self.contrasts[row, d])))

    def __iter__(self) -> Iterator[Comparison]:
        return (self.of(row) for row in range(len(self.arms)))

    def columns(self, arms: int) -> dict[str, Any]:
        """Return the comparisons as columns of a table of all arms (K,), in which the baseline has nothing."""

        def spread(values: Any, otherwise: Any) -> Any:
            column = np.full(arms, otherwise, object if isinstance(otherwise, str) else np.float64)
            column[self.numbers] = values
            return column.tolist() if isinstance(otherwise, str) else column

        words = np.array([contrast.word for contrast in Contrast], object)
        found: dict[str, Any] = {}
        for d, metric in enumerate(self.metrics):
            for sign, spans in (("−", self.differences), ("/", self.ratios)):
                name = f"{metric.name} {sign} {self.baseline}"
                ends = (("", spans.estimates), (" low", spans.lower), (" high", spans.upper))
                found |= {name + end: spread(values[:, d], np.nan) for end, values in ends}
            found[f"{metric.name} against {self.baseline}"] = spread(words[self.contrasts[:, d]], "")
        return found

    def plain(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Each arm with plain values that JSON can hold, one after another: what `to_dict` of each would say."""
        names, words = [metric.name for metric in self.metrics], [contrast.word for contrast in Contrast]
        keys = ("estimate", "low", "high")
        for start in range(0, len(self.arms), AT_A_TIME):
            part = slice(start, start + AT_A_TIME)
            spans = self.differences.plain(part), self.ratios.plain(part)
            missing, codes = np.isnan(self.ratios.lower[part]).tolist(), self.contrasts[part].tolist()
            for arm, *row in zip(self.arms[part], *spans, missing, codes, strict=True):
                yield (
                    arm,
                    {
                        name: {
                            "difference": dict(zip(keys, difference, strict=True)),
                            "ratio": None if none else dict(zip(keys, ratio, strict=True)),
                            "contrast": words[code],
                        }
                        for name, difference, ratio, none, code in zip(names, *row, strict=True)
                    },
                )

    def _repr_html_(self) -> str:
        return str(attached("comparisons in a notebook")(self))

    def some(self, rows: Ints | Bools) -> Comparisons:
        """Some of the arms, in this order."""
        chosen = np.arange(len(self.arms))[rows]

        return Comparisons(
            self.baseline, tuple(self.arms[row] for row in chosen.tolist()), self.numbers[chosen], self.metrics,
            self.differences.at(chosen), self.ratios.at(chosen), self.contrasts[chosen], self.confidence,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Comparable:
    """Arms, inner values (K, M) and intervals that hold at once; with pairs, upper bounds `apart` (K, K, M), or ∞."""

    arms: Sequence[str]
    metrics: tuple[Objective, ...]
    estimates: Floats
    lower: Floats
    upper: Floats
    confidence: float | None
    apart: Floats | None = None


def against(intervals: Comparable, baseline: int, numbers: Ints) -> Comparisons:
    """The arms of these numbers against a baseline, which is none of them."""
    n, M = len(numbers), len(intervals.metrics)
    difference, ratio = (Intervals(*(np.full((n, M), np.nan) for _ in range(3))) for _ in range(2))
    contrasts = np.full((n, M), int(Contrast.OPEN))
    for d, metric in enumerate(intervals.metrics):
        estimates = metric.outward(intervals.estimates[:, d])
        low, high = known_ends(intervals.lower[:, d], intervals.upper[:, d])
        least, most = metric.outward_interval(low, high)
        mine = estimates[numbers], least[numbers], most[numbers]
        its = estimates[baseline], least[baseline], most[baseline]
        for spans, found in ((difference, _differences(mine, its)), (ratio, _ratios(metric, mine, its))):
            spans.estimates[:, d], spans.lower[:, d], spans.upper[:, d] = found
        _, worst, best = _differences((0.0, low[numbers], high[numbers]), (0.0, low[baseline], high[baseline]))
        if intervals.apart is not None:
            worst, best = sharpened(
                worst, best, intervals.apart[numbers, baseline, d], intervals.apart[baseline, numbers, d]
            )
            ends = (-best, -worst) if metric.minimized else (worst, best)
            if metric.relative:  # inner values are logarithms
                _sharpen(ratio, d, *map(np.exp, ends))
            else:
                _sharpen(difference, d, *ends)
        if intervals.confidence is not None:
            contrasts[:, d] = contrasts_of(worst, best, metric.inner_tolerance)
    names = tuple(intervals.arms[i] for i in numbers.tolist())
    return Comparisons(
        intervals.arms[baseline], names, numbers, intervals.metrics, difference, ratio, contrasts, intervals.confidence
    )


def effect_between(
    metric: Objective, estimates: tuple[float, float], bounds: tuple[float, float], contrast: Contrast
) -> Effect:
    """Return an arm against its baseline by bounds, each way, of their difference alone; all in inner values.

    >>> seconds = Objective("seconds", "minimize", tolerance="2%")
    >>> effect = effect_between(seconds, (0.0, -0.1), (0.0, 0.2), Contrast.NO_BETTER)
    >>> round(effect.ratio.low, 3), round(effect.ratio.estimate, 3), round(effect.ratio.high, 3)
    (1.0, 1.105, 1.221)
    """
    its, mine = (float(metric.outward(each)) for each in estimates)
    ahead, behind = bounds
    ends = (-ahead, behind) if metric.minimized else (-behind, ahead)
    if ahead == -behind:  # both are known, so that nothing is rounded
        times = mine / its if its else math.nan
        return Effect(metric, Span(*(mine - its,) * 3), Span(*(times,) * 3) if metric.relative else None, contrast)
    if not metric.relative:
        return Effect(metric, Span(mine - its, *ends), None, contrast)
    with np.errstate(over="ignore"):
        low, high = np.exp(ends).tolist()
    return Effect(
        metric, Span(mine - its, -math.inf, math.inf), Span(mine / its if its else math.nan, low, high), contrast
    )


def found_beyond(reach: float, share: float) -> float:
    """Return the difference of two estimates that ends `reach` from them tell apart four times of five, about.

    Ends that each miss with probability `share` are as many deviations from the estimate as a normal law has it; the
    difference of two varies by √2.

    >>> round(found_beyond(1.0, 0.0125), 2)
    1.27
    """
    return reach * (1.0 + _NORMAL.inv_cdf(0.8) / (math.sqrt(2.0) * _NORMAL.inv_cdf(1.0 - min(share, 0.1))))


def by_difference(metric: Objective) -> bool:
    """True if a metric's tolerance is an amount of it, so that differences tell more than ratios."""
    return not metric.relative and metric.inner_tolerance > 0.0


def contrasts_of(worst: Floats, best: Floats, tolerance: float) -> Ints:
    """The contrasts of arms whose inner values exceed the baseline's by `worst` at least and by `best` at most.

    >>> ends = np.array([[3, 4], [-1, 4], [-1, 1], [-4, 1], [-4, -3], [-4, 4]], float)
    >>> [Contrast(code).word for code in contrasts_of(ends[:, 0], ends[:, 1], 2.0)]
    ['better', 'no worse', 'alike', 'no better', 'worse', 'open']
    """
    not_worse, not_better = worst >= -tolerance, best <= tolerance
    cases = [
        (worst > tolerance, Contrast.BETTER),
        (best < -tolerance, Contrast.WORSE),
        (not_worse & not_better, Contrast.ALIKE),
        (not_worse, Contrast.NO_WORSE),
        (not_better, Contrast.NO_BETTER),
    ]
    return np.select([case for case, _ in cases], [int(code) for _, code in cases], int(Contrast.OPEN))


def known_ends(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Intervals of which an empty one, which what is assumed does not allow, says nothing; and an end that is NaN."""
    nothing = ~(low <= high)
    return np.where(nothing, -np.inf, low), np.where(nothing, np.inf, high)


_Ends = tuple[Any, Any, Any]  # estimate, least and most, of many arms or of one


def _differences(mine: _Ends, its: _Ends) -> _Ends:
    with np.errstate(invalid="ignore"):  # ∞ − ∞: nothing is known of how two such lie to each other
        between, low, high = mine[0] - its[0], mine[1] - its[2], mine[2] - its[1]
    return between, np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high)


def sharpened(worst: Floats, best: Floats, ahead: Floats, behind: Floats) -> tuple[Floats, Floats]:
    """Return by how much arms are ahead of the baseline, at least and at most, by intervals and by differences.

    `ahead` bounds the arm less the baseline from above, `behind` the reverse. They say nothing of an arm without an
    interval, nor where intervals contradict them: that refutes what is assumed.
    """
    most = np.where(best < np.inf, np.minimum(best, ahead), best)
    least = np.where(worst > -np.inf, np.maximum(worst, -behind), worst)
    nothing = least > most + _ROUNDING * (1.0 + np.abs(most))
    least, most = np.minimum(least, most), np.maximum(least, most)
    return np.where(nothing, -np.inf, least), np.where(nothing, np.inf, most)


def _sharpen(spans: Intervals, d: int, low: Floats, high: Floats) -> None:
    """Put these ends in the place of those of intervals, unless they say as much: what was logarithms is rounded."""
    there = ~np.isnan(spans.lower[:, d])
    for ends, found in ((spans.lower, low), (spans.upper, high)):
        same = np.isclose(ends[:, d], found, rtol=1e-12, atol=0.0)
        ends[there & ~same, d] = found[there & ~same]
    spans.estimates[:, d] = np.clip(spans.estimates[:, d], spans.lower[:, d], spans.upper[:, d])


def _ratios(metric: Objective, mine: _Ends, its: _Ends) -> _Ends:
    """Quotients of what is certainly positive, or 0 above the line; NaN where there is none.

    A metric whose values are positive (its tolerance is a percentage) has positive quantiles, though the end of an
    interval of which nothing is known is 0; a mean of such values may have bounds that include 0.
    """
    there = (mine[1] >= 0.0) & (metric.positive or its[1] > 0.0)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        estimates, low, high = mine[0] / its[0], mine[1] / its[2], mine[2] / its[1]
        estimates = np.where(there & (mine[0] >= 0.0) & (its[0] > 0.0), estimates, np.nan)
    # ∞ / ∞ and 0 / 0 come from ends of which nothing is known.
    low, high = np.where(np.isnan(low), 0.0, low), np.where(np.isnan(high), np.inf, high)
    return estimates, np.where(there, low, np.nan), np.where(there, high, np.nan)
