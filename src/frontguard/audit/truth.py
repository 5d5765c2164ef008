"""The truth of a simulated world, and which statements of an answer it makes false.

Everything is compared in inner values, of which larger ones are better. m_i are the true quantiles, means or exact
values of arm i, γ the tolerances of the objectives, and nothing is said of arms that were set aside. An answer without
a probability promises nothing. Any other is false if

- an *interval* of an arm does not contain its true value;
- an arm is *out* and no other arm is at least as good everywhere and better somewhere;
- an arm is *in* and another one beats it: by more than γ_d where γ_d > 0, not worse where γ_d = 0, and not equal;
- an arm is *covered* and no arm that is in is as good up to the tolerances everywhere;
- the certificate gives an *accuracy* by more than which another arm beats a returned one in every objective, or a
  *coverage* beyond which an arm of the true front is missed by all returned ones;
- a *comparison* of two arms has an interval, of the difference or of the ratio, that misses the true one, or calls one
  of them better, worse, no better, no worse or alike where it is not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from frontguard._common.typing import Bools, Floats
from frontguard.comparisons.effects import Comparison, Contrast
from frontguard.objectives import Objective, tolerances
from frontguard.results import Certificate, Result
from frontguard.verdicts import Verdict

MOST_BASELINES = 6
"""Arms with which all others are compared: an interval of a pair misses only if one of the two arms' does."""

ROUNDING = 1e-9
"""What a difference may be off by because numbers were rounded on their way out of inner values and back."""


@dataclass(frozen=True, eq=False)
class Truth:
    """The true quantiles, means or exact values (K, M) of the arms of a world, in the units of its objectives."""

    objectives: tuple[Objective, ...]
    values: Floats

    @property
    def inner(self) -> Floats:
        """The same as inner values."""
        return np.stack([each.inward(self.values[:, d]) for d, each in enumerate(self.objectives)], axis=1)

    def false_statements(self, result: Result) -> set[str]:
        """The kinds of statements that are false in an answer."""
        return set(self._false(result))

    def _false(self, result: Result) -> Iterator[str]:
        if result.certificate.confidence is None:  # it promises nothing
            return
        m = self.inner
        if ((result.inner.lower > m + ROUNDING) | (result.inner.upper < m - ROUNDING)).any():
            yield "interval"
        for baseline in result.arms[:MOST_BASELINES]:
            if any(self._false_in_comparison(compared, result.arms, m) for compared in result.against(baseline)):
                yield "comparison"
        about = ~result.having(Verdict.SET_ASIDE)
        arms = np.flatnonzero(about)
        returned = np.flatnonzero(result.having(Verdict.IN))
        gamma = tolerances(self.objectives)
        for i in np.flatnonzero(result.having(Verdict.OUT)).tolist():
            if not any(dominates(m[j], m[i]) for j in arms.tolist()):
                yield "out"
        for i in returned.tolist():
            if any(beats(m[j], m[i], gamma) for j in arms.tolist()):
                yield "in"
        for i in np.flatnonzero(result.having(Verdict.COVERED)).tolist():
            if not (m[i] - m[returned] <= gamma + ROUNDING).all(axis=1).any():
                yield "covered"
        yield from self._false_in_certificate(result.certificate, m[arms], m[returned])

    def _false_in_comparison(self, compared: Comparison, arms: Sequence[str], inner: Floats) -> bool:
        a, b = arms.index(compared.arm), arms.index(compared.baseline)
        for d, effect in enumerate(compared.effects):
            mine, its, ahead = self.values[a, d], self.values[b, d], inner[a, d] - inner[b, d]
            slack, ratio = ROUNDING * max(1.0, abs(mine), abs(its)), effect.ratio
            if not effect.difference.low - slack <= mine - its <= effect.difference.high + slack:
                return True
            if ratio is not None and not (
                its > 0.0 and ratio.low * (1.0 - ROUNDING) <= mine / its <= ratio.high * (1.0 + ROUNDING)
            ):
                return True
            if effect.sign * ahead < -ROUNDING or not holds(effect.contrast, ahead, effect.metric.inner_tolerance):
                return True
        return False

    def _false_in_certificate(self, certificate: Certificate, about: Floats, returned: Floats) -> Iterator[str]:
        accuracy, coverage = (
            _inner(amount, self.objectives) for amount in (certificate.accuracy, certificate.coverage)
        )
        for arm in returned:
            if (about - arm > accuracy + ROUNDING).all(axis=1).any():
                yield "accuracy"
        if np.isinf(coverage).any():
            return
        for arm in about[front(about)]:
            if not (arm - returned <= coverage + ROUNDING).all(axis=1).any():
                yield "coverage"


def holds(contrast: Contrast, ahead: float, tolerance: float) -> bool:
    """Whether an arm stands to a baseline as it is said to, if its inner value is `ahead` by so much.

    >>> holds(Contrast.NO_WORSE, -0.1, 0.2), holds(Contrast.NO_WORSE, -0.3, 0.2), holds(Contrast.ALIKE, 0.3, 0.2)
    (True, False, False)
    """
    if contrast == Contrast.BETTER:
        return ahead > tolerance - ROUNDING
    if contrast == Contrast.WORSE:
        return ahead < ROUNDING - tolerance
    not_worse, not_better = ahead >= -tolerance - ROUNDING, ahead <= tolerance + ROUNDING
    said = {Contrast.NO_WORSE: not_worse, Contrast.NO_BETTER: not_better, Contrast.ALIKE: not_worse and not_better}
    return bool(said.get(contrast, True))


def dominates(better: Floats, worse: Floats) -> bool:
    """Whether one arm is at least as good everywhere, and better somewhere."""
    return bool((better >= worse).all() and (better > worse).any())


def beats(rival: Floats, arm: Floats, tolerance: Floats) -> bool:
    """Whether a rival beats an arm by more than the tolerances; where one is 0, it is enough not to be worse.

    >>> tie_in_one = np.array([2.0, 5.0]), np.array([1.0, 5.0])
    >>> beats(*tie_in_one, np.array([0.0, 0.0])), beats(*tie_in_one, np.array([0.0, 0.1]))
    (True, False)
    """
    ahead = rival - arm
    enough = np.where(tolerance > 0.0, ahead > tolerance + ROUNDING, ahead >= 0.0)
    return bool(enough.all() and (ahead > 0.0).any())


def front(arms: Floats) -> Bools:
    """Which of these arms (n, M) no other one of them dominates."""
    return np.array([not any(dominates(other, arm) for other in arms) for arm in arms], np.bool_)


def _inner(amounts: float | Sequence[float], objectives: Sequence[Objective]) -> Floats:
    """Amounts of a certificate in units, as differences of inner values."""
    each = np.broadcast_to(np.asarray(amounts, np.float64), (len(objectives),))
    relative = np.array([objective.relative for objective in objectives])
    return np.where(relative, np.log1p(each), each)
