"""The truth of a simulated world, and which statements of an answer it makes false.

Everything is compared in inner values, of which larger ones are better. m_i are the true quantiles, means or exact
values of arm i, γ the tolerances of the objectives, and nothing is said of arms that were excluded. An answer without
a probability promises nothing. Any other is false if

- an *interval* of an arm does not contain its true value;
- an arm is *out* and no other arm is at least as good everywhere and better somewhere;
- an arm is *in* and another one beats it: by more than γ_d where γ_d > 0, not worse where γ_d = 0, and not equal;
- an arm is *matched* and no kept arm is as good up to the tolerances everywhere;
- the certificate gives an *accuracy* by more than which another arm beats a returned one in every objective, or a
  *coverage* beyond which an arm of the true front is missed by all returned ones;
- a *comparison* of two arms has an interval, of the difference or of the ratio, that misses the true one, or calls one
  of them better, worse, no better, no worse or alike where it is not;
- a *choice* by equal weights is called certain where another arm has a larger sum, or the arm with the largest one is
  not among those that are named;
- the *volume* that the true front dominates is not between the two that are given;
- the answer is certified, and an arm is better than each returned one by more than the coverage somewhere, so that
  these are not *enough*;
- a returned arm costs more, or gains less, in the place of another one than is said (*instead*), or is said to be
  certainly the *best* in an objective in which another one is better;
- a gate calls a candidate *worse* that is not so by more than the tolerance, or *not worse* one that is.

Where there are limits, the front is that of the arms that truly keep to them, and *limit* is false if an interval of
what is limited does not contain the truth, or an arm is said to be within or beyond and is not. Then an arm may also be
out because it is beyond, who dominates beaten one must keep to the limits, and so must whoever is in.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from frontguard import Answer, Objective
from frontguard._common.typing import Bools, Floats, Ints
from frontguard.comparisons.effects import Comparison, Contrast
from frontguard.comparisons.hypervolume import hypervolume
from frontguard.comparisons.outcomes import Outcome
from frontguard.comparisons.picks import PER_CENT
from frontguard.objectives import tolerances
from frontguard.results import Certificate, Kept
from frontguard.verdicts import FEASIBLE, INFEASIBLE, Verdict

MOST_BASELINES = 6
"""Arms with which all others are compared: an interval of a pair misses only if one of the two arms' does."""

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

    def false_statements(self, result: Answer) -> set[str]:
        """The kinds of statements that are false in an answer, or in that of a gate with the first arm as baseline."""
        return set(self._false(result) if result.gate is None else self._false_in_gate(result))

    def _false_in_gate(self, found: Answer) -> Iterator[str]:
        assert found.gate is not None
        names, inner = [f"arm {i}" for i in range(len(self.values))], self.inner
        # Of a suite it is the geometric mean of all arms but the baseline.
        true = [
            inner[1:].mean(axis=0) if pair.tests > 1 else inner[names.index(pair.name)] for pair in found.gate.pairs
        ]
        for d, most in enumerate(found.gate.at_worst or ()):
            if max(inner[0, d] - candidate[d] for candidate in true) > most + ROUNDING:
                yield "at worst"
        by_itself = found.gate.at_worst is not None  # each interval holds by itself, and not with the others
        for pair, candidate in zip(found.gate.pairs, true, strict=True):
            effects = tuple(check.effect for check in pair.checks)
            compared = Comparison(pair.name, names[0], effects, found.certificate.confidence)
            if not by_itself and self._false_in_comparison(compared, names, inner):
                yield "comparison"
            for d, check in enumerate(pair.checks):
                behind = inner[0, d] - candidate[d] - check.metric.inner_tolerance
                if check.outcome == Outcome.WORSE and behind <= ROUNDING:
                    yield "worse"
                if check.outcome == Outcome.NOT_WORSE and behind > ROUNDING:
                    yield "not worse"
            for q, limited in enumerate(pair.limits):
                assert self.limited is not None
                value = self.limited[names.index(pair.name), q]
                if limited.outcome == Outcome.WORSE and value >= limited.limit.beyond - ROUNDING:
                    yield "infeasible"
                if limited.outcome == Outcome.NOT_WORSE and value < limited.limit.within - ROUNDING:
                    yield "feasible"

    def _false(self, result: Answer) -> Iterator[str]:
        if result.certificate.confidence is None:  # it promises nothing
            return
        m = self.inner
        if ((result.inner.lower > m + ROUNDING) | (result.inner.upper < m - ROUNDING)).any():
            yield "interval"
        for baseline in result.arms[:MOST_BASELINES]:
            if any(self._false_in_comparison(compared, result.arms, m) for compared in result.against(baseline)):
                yield "comparison"
        about = ~result.having(Verdict.EXCLUDED)
        keeps: Bools = np.ones(len(m), np.bool_)
        if self.limited is not None and result.limits is not None:
            beyond = np.array([gate.beyond for gate in result.limits.gates])
            keeps = np.asarray((self.limited >= beyond).all(axis=1))
            if self._limits_are_false(result.limits):
                yield "limit"
        arms = np.flatnonzero(about & keeps)
        if result.limits is None and about.any():
            yield from self._false_in_choices(result, m, np.flatnonzero(about))
        returned = np.flatnonzero(result.having(Verdict.KEEP))
        gamma = tolerances(self.objectives)
        for i in np.flatnonzero(result.having(Verdict.BEATEN)).tolist():
            if keeps[i] and not any(dominates(m[j], m[i]) for j in arms.tolist()):
                yield "beaten"
        for i in returned.tolist():
            if not keeps[i] or any(beats(m[j], m[i], gamma) for j in arms.tolist()):
                yield "keep"
        for i in np.flatnonzero(result.having(Verdict.MATCHED)).tolist():
            if not (m[i] - m[returned] <= gamma + ROUNDING).all(axis=1).any():
                yield "matched"
        yield from self._false_in_certificate(result.certificate, m[arms], m[returned])
        yield from self._false_of_list(result, m, about & keeps)

    def _false_of_list(self, result: Answer, m: Floats, about: Bools) -> Iterator[str]:
        """What is said of arms that are not returned, and of what those that are returned are best at."""
        coverage = _inner(result.certificate.coverage, self.objectives)
        returned = m[result.having(Verdict.KEEP)]
        if result.status == "certified" and len(returned):  # these are enough
            for arm in m[about]:
                if not (arm - returned <= coverage + ROUNDING).all(axis=1).any():
                    yield "enough"
        for i, k in enumerate(result.replaced_by().tolist()):
            found = result.replacement(i) if k >= 0 else None
            if found is not None:
                costs, gains = (_inner(tuple(each.values()), self.objectives) for each in (found.costs, found.gains))
                better = m[k] - m[i]
                if (-better > costs + ROUNDING).any() or ((gains > 0.0) & (better < gains - ROUNDING)).any():
                    yield "instead"

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

    def _limits_are_false(self, kept: Kept) -> bool:
        """Whether an interval of what is limited misses, or an arm is called within or beyond and is not."""
        assert self.limited is not None
        beyond = np.array([gate.beyond for gate in kept.gates])
        within = np.array([gate.within for gate in kept.gates])
        inner = kept.inner
        missed = (inner.lower > self.limited + ROUNDING) | (inner.upper < self.limited - ROUNDING)
        called_beyond = (kept.codes == INFEASIBLE) & (self.limited >= beyond)
        called_within = (kept.codes == FEASIBLE) & (self.limited < within - ROUNDING)
        return bool((missed | called_beyond | called_within).any())

    def _false_in_choices(self, result: Answer, inner: Floats, about: Ints) -> Iterator[str]:
        metrics = result.comparable.metrics  # of a bare policy, inner values are its metrics
        values = self.values if result.metrics else inner
        chosen = result.pick(weights={each.name: 1.0 for each in metrics})
        units = np.array([PER_CENT if each.relative else 1.0 for each in metrics])
        sums = (inner * units).sum(axis=1)
        best, slack = float(sums[about].max()), ROUNDING * (1.0 + float(np.abs(sums[about]).max()))
        named = [float(sums[result.arms.index(arm)]) for arm in chosen.among]
        mine = -np.inf if chosen.arm is None else float(sums[result.arms.index(chosen.arm)])
        if max(named, default=-np.inf) < best - slack or best - mine > chosen.behind + slack:
            yield "choice"
        volume = result.hypervolume()
        signs = np.array([-1.0 if each.minimized else 1.0 for each in metrics])
        reference = signs * np.array([value for _, value in volume.reference])
        true = hypervolume(signs * values[about], reference)
        if true is None or volume.certain is None or volume.possible is None:  # too many arms for it
            return
        if volume.certain > true * (1.0 + ROUNDING) + ROUNDING or volume.possible < true * (1.0 - ROUNDING) - ROUNDING:
            yield "volume"

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
