"""The truth of a simulated world, and which statements of an answer it makes false.

Everything is compared in inner values, of which larger ones are better. m_i are the true quantiles, means or exact
values of arm i, γ the tolerances of the objectives, and nothing is said of arms that were set aside. An answer without
a probability promises nothing. Any other is false if

- an *interval* of an arm does not contain its true value;
- an arm is *out* and no other arm is at least as good everywhere and better somewhere;
- an arm is *in* and another one beats it: by more than γ_d where γ_d > 0, not worse where γ_d = 0, and not equal;
- an arm is *covered* and no arm that is in is as good up to the tolerances everywhere;
- the certificate gives an *accuracy* by more than which another arm beats a returned one in every objective, or a
  *coverage* beyond which an arm of the true front is missed by all returned ones.

Where there are limits, the front is that of the arms that truly keep to them, and *limit* is false if an interval of
what is limited does not contain the truth, or an arm is said to be within or beyond and is not. Then an arm may also be
out because it is beyond, who dominates one that is out must keep to the limits, and so must whoever is in.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from frontguard._common.typing import Bools, Floats
from frontguard.objectives import Objective, tolerances
from frontguard.results import Certificate, Kept, Result
from frontguard.verdicts import BEYOND, WITHIN, Verdict

ROUNDING = 1e-9
"""What a difference may be off by because numbers were rounded on their way out of inner values and back."""


@dataclass(frozen=True, eq=False)
class Truth:
    """The true quantiles, means or exact values (K, M) of the arms of a world, in the units of its objectives."""

    objectives: tuple[Objective, ...]
    values: Floats
    limited: Floats | None = None  # (K, Q): the true inner values of what is limited

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
        about = ~result.having(Verdict.SET_ASIDE)
        keeps: Bools = np.ones(len(m), np.bool_)
        if self.limited is not None and result.limits is not None:
            beyond = np.array([gate.beyond for gate in result.limits.gates])
            keeps = np.asarray((self.limited >= beyond).all(axis=1))
            if self._limits_are_false(result.limits):
                yield "limit"
        arms = np.flatnonzero(about & keeps)
        returned = np.flatnonzero(result.having(Verdict.IN))
        gamma = tolerances(self.objectives)
        for i in np.flatnonzero(result.having(Verdict.OUT)).tolist():
            if keeps[i] and not any(dominates(m[j], m[i]) for j in arms.tolist()):
                yield "out"
        for i in returned.tolist():
            if not keeps[i] or any(beats(m[j], m[i], gamma) for j in arms.tolist()):
                yield "in"
        for i in np.flatnonzero(result.having(Verdict.COVERED)).tolist():
            if not (m[i] - m[returned] <= gamma + ROUNDING).all(axis=1).any():
                yield "covered"
        yield from self._false_in_certificate(result.certificate, m[arms], m[returned])

    def _limits_are_false(self, kept: Kept) -> bool:
        """Whether an interval of what is limited misses, or an arm is called within or beyond and is not."""
        assert self.limited is not None
        beyond = np.array([gate.beyond for gate in kept.gates])
        within = np.array([gate.within for gate in kept.gates])
        inner = kept.inner
        missed = (inner.lower > self.limited + ROUNDING) | (inner.upper < self.limited - ROUNDING)
        called_beyond = (kept.codes == BEYOND) & (self.limited >= beyond)
        called_within = (kept.codes == WITHIN) & (self.limited < within - ROUNDING)
        return bool((missed | called_beyond | called_within).any())

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
