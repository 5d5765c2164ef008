"""The answer of a gate: of each candidate and metric, whether it is certainly worse than its baseline; facts only.

In a metric with the tolerance γ a candidate is *worse* if it is certainly worse than the baseline by more than γ, *not
worse* if it is certainly not worse by more than γ, and else *open* (docs/theory.md, (y)). What is certain is read off
contrasts (`comparisons.effects`), live, of logs and in simulation alike. A candidate is worse if it is so in any
metric, not worse if it is so in all of them; and so is a gate, of its candidates. Where there are limits, a candidate
has to keep to them as well: *worse* if it is certainly beyond one, *open* while it is not certain that it keeps to all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from frontguard._common.entries import finite
from frontguard._common.typing import Bools, Floats, Ints
from frontguard.comparisons.effects import (
    Comparable,
    Contrast,
    Effect,
    Intervals,
    Span,
    Worded,
    against,
    contrasts_of,
    effect_between,
    sharpened,
)
from frontguard.limits import Gate
from frontguard.objectives import Objective, differences_in_units
from frontguard.question import Question

if TYPE_CHECKING:
    from frontguard.schema import CheckEntries, GateEntries, LimitCheckEntries, PairEntries


class Outcome(Worded):
    """The certain relation of a candidate to its baseline, beyond the tolerance; numbered like `Feasibility`."""

    NOT_WORSE = 0
    OPEN = 1
    WORSE = 2

    @classmethod
    def of(cls, contrast: Contrast) -> Outcome:
        """Return the outcome of a contrast.

        >>> [Outcome.of(contrast).word for contrast in Contrast]
        ['not worse', 'not worse', 'not worse', 'open', 'worse', 'open']
        """
        return cls.WORSE if contrast == Contrast.WORSE else cls.NOT_WORSE if contrast.not_worse else cls.OPEN


CONTRASTS = {Outcome.WORSE: Contrast.WORSE, Outcome.NOT_WORSE: Contrast.NO_WORSE, Outcome.OPEN: Contrast.OPEN}
"""What an outcome alone says of a candidate and its baseline."""


@cache
def _of_contrasts() -> Ints:
    """The outcome of each contrast, by its number."""
    return np.array([int(Outcome.of(contrast)) for contrast in Contrast])


def outcomes_of(worst: Floats, best: Floats, tolerances: Floats) -> Ints:
    """Outcomes (..., M) where inner values exceed the baseline's by `worst` at least and by `best` at most (..., M).

    >>> outcomes_of(np.array([[-1.0, -3.0, -5.0]]), np.array([[1.0, 1.0, -3.0]]), np.array([2.0, 2.0, 2.0])).tolist()
    [[0, 1, 2]]
    """
    found = np.empty(worst.shape, np.int64)
    for d, tolerance in enumerate(tolerances.tolist()):
        found[..., d] = _of_contrasts()[contrasts_of(worst[..., d], best[..., d], tolerance)]
    return found


def outcomes_between(its: Intervals, mine: Intervals, apart: tuple[Floats, Floats], tolerances: Floats) -> Ints:
    """Outcomes (P, M) of P candidates against their baselines, in M objectives.

    `its` and `mine` are intervals (P, C) of inner values, the objectives first; `apart` has upper bounds (P, M) of the
    candidate less its baseline, and of the baseline less the candidate.
    """
    M = len(tolerances)
    worst, best = mine.lower[:, :M] - its.upper[:, :M], mine.upper[:, :M] - its.lower[:, :M]
    return outcomes_of(*sharpened(worst, best, *apart), tolerances)


def outcomes_of_checks(behind: Floats, line: Floats, worse: Bools, tolerances: Floats) -> Ints:
    """Outcomes (P, M) of the checks of a gate at one look (docs/theory.md, (cc)).

    If no check may be `behind` by more than is tolerated, none is worse. Else each line is judged at its own level.

    >>> far, near, worse = np.array([[0.2], [0.1]]), np.array([[0.3], [0.1]]), np.array([[False], [True]])
    >>> outcomes_of_checks(far, near, worse, np.array([0.2])).tolist()
    [[0], [0]]
    >>> outcomes_of_checks(far, near, worse, np.array([0.05])).tolist()
    [[1], [2]]
    """
    if (behind <= tolerances).all():
        return np.full(behind.shape, int(Outcome.NOT_WORSE))
    lines = np.where(worse, int(Outcome.WORSE), int(Outcome.OPEN))
    return np.where(line <= tolerances, int(Outcome.NOT_WORSE), lines)


def worst_of(outcomes: Iterable[Outcome]) -> Outcome:
    """That of several together: worse if any is, not worse if all are, else open.

    >>> worst_of([Outcome.OPEN, Outcome.WORSE]).word, worst_of([Outcome.NOT_WORSE, Outcome.OPEN]).word
    ('worse', 'open')
    """
    return max(outcomes, default=Outcome.OPEN)


Cleaner = tuple[Outcome, float]


@dataclass(frozen=True)
class Check:
    """One metric of a candidate, and the ε up to which its outcome would be certain; None where open, or not known."""

    effect: Effect
    holds_up_to: float | None = None
    if_cleaner: Cleaner | None = None
    """Of an open one, what is certain if there is less contamination than was declared, and up to which."""
    in_some_quantile: bool = False
    """Whether a worse one is certain to be so in some quantile, and not in the one that counts."""

    @property
    def outcome(self) -> Outcome:
        """The certain outcome."""
        return Outcome.of(self.effect.contrast)

    @classmethod
    def of(cls, metric: Objective, given: CheckEntries) -> Check:
        """Return the check that was written down."""
        return cls(Effect.of(metric, given), given.holds_up_to, _cleaner(given), given.in_some_quantile)

    @property
    def metric(self) -> Objective:
        """The metric that is compared."""
        return self.effect.metric

    def to_dict(self) -> dict[str, Any]:
        """Plain values that JSON can hold."""
        return self.effect.to_dict() | _standing(self) | {"in_some_quantile": self.in_some_quantile}

    @classmethod
    def by_samples(
        cls,
        metric: Objective,
        estimates: tuple[float, float],
        bounds: tuple[float, float],
        outcomes: tuple[int, int],
        last: float,
        *,
        declared: float,
        that_counts: bool,
    ) -> Check:
        """Return what two samples say, by bounds of their difference (see `effect_between`).

        `outcomes` are that at the declared ε and that without any, and `last` the largest ε up to which the latter is.
        """
        outcome, clean = map(Outcome, outcomes)
        effect = effect_between(metric, estimates, bounds, CONTRASTS[outcome])
        if outcome == Outcome.OPEN:
            return cls(effect, if_cleaner=None if clean == Outcome.OPEN else (clean, last))
        stands = last if clean == outcome and last >= declared else None
        return cls(effect, stands, in_some_quantile=outcome == Outcome.WORSE and not that_counts)


Foreseen = tuple[int, float] | tuple[int, float, float, int | None]
"""A size, the least difference that it finds, and where they are known the noise and the size that is enough."""


@dataclass(frozen=True)
class LeastFound:
    """The least difference in a metric that as many measurements find four times of five, which were inconclusive.

    A forecast, of which nothing is certain; in units of the metric, or a share of it.
    """

    metric: str
    size: int  # measurements of an arm: runs, sessions or items
    difference: float | None  # None where they find none, however large
    noise: float | None = None  # the deviation of one, where it is known
    enough: int | None = None  # how many decide what is open, if they go on as they are, where that is known

    @classmethod
    def of(
        cls, metric: Objective, size: int, difference: float, noise: float | None = None, enough: int | None = None
    ) -> LeastFound:
        """Return the same of inner values, to three digits."""
        told = [each if each is None else differences_in_units([metric], [each])[0] for each in (difference, noise)]
        known = [None if each is None or not math.isfinite(each) else float(f"{each:.3g}") for each in told]
        noise = known[1] or None  # of one value there is none
        return cls(metric.name, size, known[0], noise, enough)


@dataclass(frozen=True)
class LimitCheck:
    """One limit of a candidate: what is limited, in its units, and whether the candidate certainly keeps to it."""

    limit: Gate
    span: Span
    outcome: Outcome
    holds_up_to: float | None = None
    if_cleaner: Cleaner | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain values that JSON can hold."""
        return {"limit": str(self.limit), **_standing(self), **self.span.to_dict()}


def _standing(check: Check | LimitCheck) -> dict[str, Any]:
    """Return the outcome of a check, and up to which ε it holds, as plain values."""
    cleaner = None
    if check.if_cleaner is not None:
        cleaner = {"outcome": check.if_cleaner[0].word, "contamination": check.if_cleaner[1]}
    return {"outcome": check.outcome.word, "holds_up_to": check.holds_up_to, "if_cleaner": cleaner}


def _cleaner(given: CheckEntries | LimitCheckEntries) -> Cleaner | None:
    told = given.if_cleaner
    return None if told is None else (Outcome.called(told.outcome), told.contamination)


@dataclass(frozen=True)
class GatePair:
    """A candidate against its baseline. `name` says which, where it is printed; of logs, it is that of a benchmark."""

    name: str
    candidate: str
    baseline: str
    checks: tuple[Check, ...]
    pulls: int  # of the candidate
    baseline_pulls: int
    excluded: tuple[str, ...] = ()  # which of the two could not be measured
    limits: tuple[LimitCheck, ...] = ()  # to which the candidate has to keep
    tests: int = 1  # of a suite, of whose times it is the geometric mean, if several

    @property
    def all_checks(self) -> tuple[Check | LimitCheck, ...]:
        """Those of the metrics, and those of the limits."""
        return *self.checks, *self.limits

    @property
    def outcome(self) -> Outcome:
        """The certain outcome of the candidate in all metrics and limits together."""
        return worst_of(check.outcome for check in self.all_checks)

    def to_dict(self) -> dict[str, Any]:
        """Plain values that JSON can hold."""
        plain = {name: value for name, value in vars(self).items() if name != "checks"}
        return plain | {
            "excluded": list(self.excluded),
            "outcome": self.outcome.word,
            "metrics": {check.metric.name: check.to_dict() for check in self.checks},
            "limits": [check.to_dict() for check in self.limits],
        }

    @classmethod
    def of(cls, given: PairEntries, metrics: Iterable[Objective], gates: Iterable[Gate]) -> GatePair:
        """The pair that was written down."""
        names = ("name", "candidate", "baseline", "pulls", "baseline_pulls", "tests")
        told = {name: getattr(given, name) for name in names}
        checks = tuple(Check.of(metric, given.metrics[metric.name]) for metric in metrics)
        limits = tuple(
            LimitCheck(gate, Span.of(each), Outcome.called(each.outcome), each.holds_up_to, _cleaner(each))
            for gate, each in zip(gates, given.limits, strict=True)
        )
        return cls(**told, checks=checks, excluded=tuple(given.excluded), limits=limits)


def gate_pair(
    question: Question,
    gates: Sequence[Gate],
    names: tuple[str, str, str],
    pulls: tuple[int, int],
    ends: Intervals,
    apart: Floats,
    outcomes: Ints,
    lasts: Floats | None = None,
    cleaner: Sequence[Cleaner | None] | None = None,
) -> GatePair:
    """Return a candidate against its baseline.

    `gates` are the limits of the question, by the columns of `ends` (2, C) of the baseline and the candidate. `names`:
    what the pair is called, the candidate, its baseline; `pulls` of the candidate and of the baseline. `apart` (2, M)
    bounds the candidate less its baseline, and the other way round. `outcomes` are of each metric and limit (M + Q,),
    and so are `lasts`, up to which ε each stands, NaN where it is open, and what is certain of these if there is less.
    """
    name, candidate, baseline = names
    M = len(question.objectives)
    bounds = np.full((2, 2, M), np.inf)
    bounds[1, 0], bounds[0, 1] = apart
    intervals = Comparable(
        (baseline, candidate), question.objectives, ends.estimates[:, :M], ends.lower[:, :M], ends.upper[:, :M],
        question.confidence, bounds,
    )  # fmt: skip
    stands = [None] * (M + len(gates)) if lasts is None else finite(lasts)
    less = [None] * (M + len(gates)) if cleaner is None else list(cleaner)
    effects = against(intervals, 0, np.array([1])).of(0).effects
    checks = tuple(Check(*each) for each in zip(effects, stands[:M], less[:M], strict=True))
    mine = ends.at(slice(1, None))
    limits = tuple(
        LimitCheck(gate, _span(gate, mine), Outcome(code), last, cleaner)
        for gate, code, last, cleaner in zip(gates, outcomes[M:].tolist(), stands[M:], less[M:], strict=True)
    )
    return GatePair(name, candidate, baseline, checks, *pulls, limits=limits)


def least_found(
    question: Question, pairs: Sequence[GatePair], least_of: Callable[[int, Ints], Foreseen | None] | None = None
) -> tuple[LeastFound, ...]:
    """Return the least difference that is found in each metric in which a check is open: in all of them, if several.

    Nothing where the gate is decided.

    `least_of` tells it of a metric and of these pairs, in inner values; else it is by how wide intervals are.
    """

    def by_intervals(d: int, rows: Ints) -> Foreseen:
        some, share = [pairs[row] for row in rows], question.delta / (2 * (len(pairs) + 1) * len(question.objectives))
        least = max(pair.checks[d].effect.least_found(share) for pair in some)
        return min(min(each.pulls, each.baseline_pulls) for each in some), least

    found = list[LeastFound]()
    decided = worst_of(pair.outcome for pair in pairs) != Outcome.OPEN
    for d, metric in enumerate(() if decided else question.objectives):
        rows = np.array([row for row, pair in enumerate(pairs) if pair.checks[d].outcome == Outcome.OPEN], np.int64)
        if len(rows) and not metric.exact:
            found.append(LeastFound.of(metric, *((least_of and least_of(d, rows)) or by_intervals(d, rows))))
    return tuple(each for each in found if each.size)


def _span(gate: Gate, mine: Intervals) -> Span:
    """Return the limited statistic of one arm, in its units."""
    low, high, estimate = (each[:, gate.column] for each in (mine.lower, mine.upper, mine.estimates))
    least, most = gate.metric.outward_interval(low, high)
    return Span(float(gate.metric.outward(estimate)[0]), float(least[0]), float(most[0]))


@dataclass(frozen=True)
class GateDetails:
    """The findings of a gate on each candidate. All that is certain in it holds at once, with the confidence.

    `status` is "decided", or why not: "budget", "time", "cancelled", "unreachable" (no number of pulls would do, if
    samples go on as they are), "log". Nothing is said of arms that are `only_baseline` or `only_candidate`.
    """

    pairs: tuple[GatePair, ...]
    status: str
    only_baseline: tuple[str, ...] = ()
    only_candidate: tuple[str, ...] = ()
    every_row: bool = False  # whether it was said that rows of one process count by themselves
    at_worst: tuple[float, ...] | None = None
    """By how much any candidate is worse at most, in inner values: of each metric, by itself; None where not asked."""
    least_found: tuple[LeastFound, ...] = ()  # of each metric in which a check is open

    @property
    def outcome(self) -> Outcome:
        """The certain outcome of all candidates together."""
        return worst_of(pair.outcome for pair in self.pairs)

    @property
    def checks(self) -> list[tuple[GatePair, Check | LimitCheck]]:
        """Each metric and limit of each candidate."""
        return [(pair, check) for pair in self.pairs for check in pair.all_checks]

    @property
    def broken(self) -> bool:
        """True if a candidate or a baseline could not be measured."""
        return any(pair.excluded for pair in self.pairs)

    @property
    def holds_up_to(self) -> float | None:
        """The largest ε up to which the outcome is certain (all checks, or one that is worse); None where not known."""
        if self.outcome == Outcome.OPEN:
            return None
        known = [check.holds_up_to for _, check in self.checks if check.outcome == self.outcome]
        if self.outcome == Outcome.WORSE:
            return max((eps for eps in known if eps is not None), default=None)
        return None if None in known else min(eps for eps in known if eps is not None)

    def to_dict(self) -> dict[str, Any]:
        """Plain values that JSON can hold."""
        return {
            "outcome": self.outcome.word,
            "status": self.status,
            "holds_up_to": self.holds_up_to,
            "pairs": [pair.to_dict() for pair in self.pairs],
            "only_baseline": list(self.only_baseline),
            "only_candidate": list(self.only_candidate),
            "every_row": self.every_row,
            "at_worst": None if self.at_worst is None else finite(np.array(self.at_worst)),
        }

    @classmethod
    def of(
        cls, given: GateEntries | None, question: Question | None, least: tuple[LeastFound, ...] = ()
    ) -> GateDetails | None:
        """Return what JSON that was checked has of a gate, and what is found at `least`; None if it has nothing."""
        if given is None or question is None:
            return None
        pairs = tuple(GatePair.of(pair, question.objectives, question.columns.gates) for pair in given.pairs)
        only = tuple(given.only_baseline), tuple(given.only_candidate)
        worst = None if given.at_worst is None else tuple(np.inf if x is None else x for x in given.at_worst)
        return cls(pairs, given.status, *only, given.every_row, worst, least)


def up_to(outcomes_at: Callable[[float], Ints], levels: Floats) -> Floats:
    """The last level up to which each check stands that is decided at the first; NaN for open ones.

    As ε rises intervals only widen, so that what is no longer certain never is again: bisection finds where it is lost.

    >>> last = up_to(lambda eps: np.where(eps <= np.array([0.12, 0.31, -1.0]), 2, 1), np.arange(0.1, 0.5, 0.1))
    >>> last.round(3).tolist()
    [0.1, 0.3, nan]
    """
    present = outcomes_at(float(levels[0]))
    stands = np.full(present.shape, len(levels) - 1)

    def look(low: int, high: int, cells: Bools) -> None:
        """Find where those are lost that stand at `low` and not at `high`."""
        if not cells.any():
            return
        if high - low == 1:
            stands[cells] = low
            return
        middle = (low + high) // 2
        same = outcomes_at(float(levels[middle])) == present
        look(low, middle, cells & ~same)
        look(middle, high, cells & same)

    decided = present != Outcome.OPEN
    if decided.any() and len(levels) > 1:
        look(0, len(levels) - 1, decided & (outcomes_at(float(levels[-1])) != present))
    return np.where(decided, levels[stands], np.nan)
