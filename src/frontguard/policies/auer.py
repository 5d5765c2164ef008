"""Auer-A1, Algorithm 1 of Auer, Chiang, Ortner, Drugan (2016), "Pareto Front Identification from Stochastic Bandit
Feedback".

The method that the paper compares with: one pull of every active arm a round, estimates μ̂ by means, confidence width β
= √(2 log(4 K M n² / δ) / n), and accuracy ε₀ = α. `AuerA1M` is the same with medians. Neither knows of attackers.

An arm that stopped another from being returned mostly does so in the next round too, so it is remembered and asked
first; and only an arm that is behind the best in every objective can be put out. A round then costs O(|A| M) instead of
O(|A|² M).
"""

from __future__ import annotations

import math
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from frontguard._common.checks import checked_delta, one_for_each
from frontguard._common.compiled import inlined, kernel
from frontguard._common.typing import Floats, Ints
from frontguard.evidence.samples import Table, absorb, empty_pool, empty_table, median
from frontguard.policies.base import Policy
from frontguard.results import Certificate
from frontguard.theory.schedule import checked_accuracy
from frontguard.theory.threats import Oblivious, Threat
from frontguard.verdicts import BEATEN, KEEP, UNDECIDED

ARM = np.dtype(
    [
        ("status", np.int64),  # a Verdict; UNDECIDED arms are active
        ("pulls", np.int64),
        ("decided_by", np.int64),  # the arm that put this one out; −1 for none
        ("kept_by", np.int64),  # an arm that lately kept this one out of P₁
        ("needed_by", np.int64),  # an arm that lately kept this one out of P₂
        ("first", np.int64),  # whether it is in P₁ this round
    ]
)
CONTROL = np.dtype([("active", np.int64), ("rounds", np.int64), ("accuracy", np.float64), ("log_scale", np.float64)])


class Rounds(NamedTuple):
    """The state of K arms: what the algorithm reads and writes."""

    arms: Table  # (K,) of `ARM`
    estimates: Floats  # μ̂ (K, M)
    active: Ints  # (K,), of which the first `control.active` are the arms of A
    control: Table  # (1,) of `CONTROL`
    scale: Floats  # (M,), multiplies β by objective
    best: Floats  # (M,), a workspace ...
    twice: Floats  # ... and another: w


def initial_rounds(arms: int, objectives: int, accuracy: float, delta: float, scale: Floats) -> Rounds:
    """Return arms that are all active, before the first round."""
    records, control = np.zeros(arms, ARM), np.zeros(1, CONTROL)
    records["decided_by"] = records["kept_by"] = records["needed_by"] = -1
    control["active"] = arms
    control["accuracy"] = accuracy
    control["log_scale"] = math.log(4.0 * arms * objectives / delta)
    estimates, workspaces = np.zeros((arms, objectives)), np.zeros((2, objectives))
    return Rounds(records, estimates, np.arange(arms), control, scale, workspaces[0], workspaces[1])


@inlined
def confidence_width(rounds: int, log_scale: float) -> float:
    """Return β = √(2 log(4 K M n² / δ) / n) with log_scale = log(4 K M / δ)."""
    width: float = np.sqrt(2.0 * (log_scale + 2.0 * math.log(float(rounds))) / rounds)
    return width


@inlined
def _behind(estimates: Floats, i: int, best: Floats, twice: Floats) -> bool:
    """Tell whether arm i is certainly worse than `best` (M,) in every objective."""
    for d in range(best.shape[0]):
        if best[d] - estimates[i, d] <= twice[d]:
            return False
    return True


@inlined
def _stands(estimates: Floats, i: int, j: int, accuracy: float, twice: Floats) -> bool:
    """Tell whether i is certainly not ε₀-dominated by j: in some objective μ̂_i + ε₀ − μ̂_j ≥ w."""
    for d in range(twice.shape[0]):
        if estimates[i, d] + accuracy - estimates[j, d] >= twice[d]:
            return True
    return False


@inlined
def _may_fall(estimates: Floats, i: int, j: int, accuracy: float, twice: Floats) -> bool:
    """Tell whether j may yet prove to ε₀-dominate i: in every objective μ̂_i + ε₀ − μ̂_j ≤ w."""
    for d in range(twice.shape[0]):
        if estimates[i, d] + accuracy - estimates[j, d] > twice[d]:
            return False
    return True


@kernel
def decide(standing: Rounds) -> None:
    """Close a round: the estimates of the active arms include their newest pull."""
    arms, estimates, active, control = standing.arms, standing.estimates, standing.active, standing.control
    scale, best, twice = standing.scale, standing.best, standing.twice
    record = control[0]
    record.rounds += 1
    objectives = estimates.shape[1]
    accuracy = record.accuracy
    width = confidence_width(record.rounds, record.log_scale)
    count = record.active
    for d in range(objectives):
        twice[d] = 2.0 * width * scale[d]
        top = -np.inf
        for a in range(count):
            top = max(top, estimates[active[a], d])
        best[d] = top

    beaten = 0
    for a in range(count):
        i = active[a]
        arms[i].pulls = record.rounds
        if _behind(estimates, i, best, twice):
            for b in range(count):
                if b != a and _behind(estimates, i, estimates[active[b]], twice):
                    arms[i].decided_by = active[b]
                    beaten += 1
                    break
    if beaten > 0:
        count = _keep_active(arms, active, count, BEATEN)

    candidates = 0
    for a in range(count):
        i = active[a]
        k = arms[i].kept_by
        if k >= 0 and arms[k].status == UNDECIDED and not _stands(estimates, i, k, accuracy, twice):
            arms[i].first = 0
            continue
        arms[i].first = 1
        candidates += 1
        for b in range(count):
            if b != a and not _stands(estimates, i, active[b], accuracy, twice):
                arms[i].kept_by = active[b]
                arms[i].first = 0
                candidates -= 1
                break
    if candidates > 0:
        _return_candidates(arms, estimates, active, count, accuracy, twice)
        count = _keep_active(arms, active, count, KEEP)
    record.active = count


@kernel
def _return_candidates(
    arms: Table, estimates: Floats, active: Ints, count: int, accuracy: float, twice: Floats
) -> None:
    """P₂: of the arms in P₁, unmark those that an arm outside P₁ may still fall to."""
    # Marks change only after all were read: P₂ is defined by the whole of P₁.
    for a in range(count):
        j = active[a]
        if arms[j].first == 0:
            continue
        k = arms[j].needed_by
        needed = False
        if k >= 0 and arms[k].status == UNDECIDED and arms[k].first == 0:
            needed = _may_fall(estimates, k, j, accuracy, twice)
        b = 0
        while not needed and b < count:
            i = active[b]
            if arms[i].first == 0 and _may_fall(estimates, i, j, accuracy, twice):
                arms[j].needed_by = i
                needed = True
            b += 1
        if needed:
            arms[j].first = 2
    for a in range(count):
        if arms[active[a]].first == 2:
            arms[active[a]].first = 0


@kernel
def _keep_active(arms: Table, active: Ints, count: int, verdict: int) -> int:
    """Give the beaten or the marked arms their verdict and close the gaps in the list of active arms."""
    kept = 0
    for a in range(count):
        i = active[a]
        if (arms[i].decided_by >= 0) if verdict == BEATEN else (arms[i].first == 1):
            arms[i].status = verdict
        else:
            active[kept] = i
            kept += 1
    return kept


class AuerA1(Policy):
    """Pareto front identification by means, for clean rewards (Auer et al. 2016, Algorithm 1).

    Parameters
    ----------
    arms, objectives
        K and M.
    accuracy
        ε₀ = α > 0: no returned arm is dominated by more than this.
    delta
        δ, the probability with which the guarantee may fail.
    scale
        σ such that the rewards are σ-subgaussian; a number, or one for each objective. The published experiments use 1.
    threat
        Only what it believes: with ε > 0 nothing is promised.

    Raises
    ------
    BadInput
        A parameter is outside its range.

    >>> policy = AuerA1(2, 1, accuracy=0.5)
    >>> while not policy.done:
    ...     arms = policy.ask()
    ...     policy.tell(arms, [[float(arm)] for arm in arms])
    >>> policy.result().verdicts
    {'0': 'beaten', '1': 'keep'}
    """

    name: ClassVar[str] = "Auer-A1"
    standing: Rounds

    def __init__(
        self,
        arms: int,
        objectives: int,
        *,
        accuracy: float,
        delta: float = 0.1,
        scale: npt.ArrayLike = 1.0,
        threat: Threat | None = None,
    ) -> None:
        super().__init__(arms, objectives)
        self.threat = Oblivious(0.0) if threat is None else threat
        self.accuracy = checked_accuracy(accuracy)
        self.delta = checked_delta(delta)
        self.scale = one_for_each(scale, self.objectives, "scale (σ)", lambda array: array > 0.0, "positive")
        self._begin()

    def _begin(self) -> None:
        super()._begin()
        self.standing = initial_rounds(self.arms, self.objectives, self.accuracy, self.delta, self.scale)
        self.sums = np.zeros((self.arms, self.objectives))

    @property
    def done(self) -> bool:
        """True once every arm has its verdict."""
        return bool(self.standing.control["active"][0] == 0)

    @property
    def rounds(self) -> int:
        """Rounds that are complete; every active arm has been pulled as often."""
        return int(self.standing.control["rounds"][0])

    @property
    def pulls_per_arm(self) -> Ints:
        """Pulls of every arm in rounds that are complete."""
        return self.standing.arms["pulls"].copy()

    @property
    def estimates(self) -> Floats:
        """μ̂ (K, M): means, or medians."""
        return self.standing.estimates.copy()

    def _next(self, pulls: int | None) -> Ints:
        return np.flatnonzero(self.standing.arms["status"] == UNDECIDED)

    def _absorb(self, arms: Ints, values: Floats, reps: Ints | None) -> None:
        self.sums[arms] += values  # a round has one pull of an arm
        self.standing.estimates[arms] = self.sums[arms] / (self.rounds + 1)

    def _decide(self) -> None:
        decide(self.standing)

    def _bounds(self) -> tuple[Floats, Floats]:
        log_scale = float(self.standing.control["log_scale"][0])
        width = np.array([confidence_width(max(int(n), 1), log_scale) for n in self.pulls_per_arm])
        half_widths = width[:, None] * self.scale
        return self.standing.estimates - half_widths, self.standing.estimates + half_widths

    def certificate(self) -> Certificate:
        """Return the accuracy ε₀ once it has stopped, for rewards that nobody replaces."""
        void = self._void()
        confidence = None if void else 1.0 - self.delta
        name = self.threat.name if self.threat.eps else "none"
        return Certificate(self.accuracy, 0.0, confidence, name, self.threat.eps, void=void)

    def _void(self) -> str:
        """Return why nothing is promised, if so."""
        return "contamination" if self.threat.eps else "" if self.done else "running"


class AuerA1M(AuerA1):
    """Auer-A1 with empirical medians in place of means (the paper's Auer-A1-M). Robust to look at, but no guarantee.

    >>> policy = AuerA1M(2, 1, accuracy=0.5)
    >>> policy.tell(policy.ask(), [[0.0], [1.0]])
    >>> policy.done, policy.result().certificate.confidence
    (False, None)
    """

    name: ClassVar[str] = "Auer-A1-M"

    def _void(self) -> str:
        return super()._void() or "medians"

    def _begin(self) -> None:
        super()._begin()
        self.columns = empty_table(self.arms * self.objectives)
        self.pool = empty_pool(self.arms * self.objectives)

    def _absorb(self, arms: Ints, values: Floats, reps: Ints | None) -> None:
        self.pool = absorb(self.pool, self.columns, arms, values, False)
        for arm in arms:
            for d in range(self.objectives):
                self.standing.estimates[arm, d] = median(self.pool, self.columns, arm * self.objectives + d)
