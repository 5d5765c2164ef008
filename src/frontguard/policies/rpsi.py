"""R-PSI, Algorithm 1 of the paper: median-based elimination under contamination.

Korkmaz, Ceyani, Bozgan, Tekin, "Robust Pareto Set Identification With Contaminated Bandit Feedback", arXiv 2206.02666.

Arms are in S (undecided), in P (kept), eliminated (beaten), or were left in S when the algorithm stopped (matched). Two
relations decide, with m̂ the empirical medians, U the statistical bias and D the unavoidable bias:

- *j beats i* (line 17): m̂_i + D + U_i ≺ m̂_j − D − U_j; then i is eliminated;
- *j holds i* (lines 20 and 23): m̂_i − U_i + α ⪯ m̂_j + U_j; i ∈ O₁ if no arm of S holds it, i ∈ O₂ if moreover it
  holds none.

Every arm of S carries the number of arms that hold it and that it holds. A phase changes one arm, so only pairs with
that arm and with arms that have just been eliminated are looked at: O(K M). U falls with the number of phases, so the
arm of largest U is one sampled in the fewest of them: arms of S wait in a ring, and the next one is always at hand.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from frontguard._common.compiled import inlined, kernel
from frontguard._common.typing import Floats, Ints
from frontguard.errors import BadInput
from frontguard.evidence.samples import Table, absorb, empty_pool, empty_table, median
from frontguard.policies.base import Policy
from frontguard.results import Certificate
from frontguard.theory.schedule import Schedule
from frontguard.theory.spread import SpreadBound
from frontguard.theory.threats import Threat
from frontguard.verdicts import BEATEN, KEEP, MATCHED, UNDECIDED

ARM = np.dtype(
    [
        ("status", np.int64),  # a Verdict; UNDECIDED arms are the set S
        ("phases", np.int64),  # τ_i, the number of phases in which the arm was sampled
        ("held_by", np.int64),  # how many arms of S hold this one
        ("holds", np.int64),  # how many arms of S this one holds
        ("after", np.int64),  # the next arm of S in the ring ...
        ("before", np.int64),  # ... and the one before
        ("decided_by", np.int64),  # the arm that beat this one, or that covers it; −1 for none
    ]
)
CONTROL = np.dtype(
    [
        ("next", np.int64),  # the arm of S with the largest U
        ("undecided", np.int64),  # |S|
        ("phase", np.int64),  # t; 0 before the first decision
        ("done", np.int64),
        ("accuracy", np.float64),  # α
        ("bias", np.float64),  # D
    ]
)


_MOST_AT_ONCE = 1 << 27  # pulls that are asked for at once: a gigabyte of numbers


class Ring(NamedTuple):
    """The state of K arms: what Algorithm 1 reads and writes."""

    arms: Table  # (K,) of `ARM`; those of S are linked in a ring
    medians: Floats  # m̂ (K, M)
    control: Table  # (1,) of `CONTROL`
    widths: Floats  # U after each number of phases


def initial_ring(order: Ints, objectives: int, accuracy: float, bias: float, widths: Floats) -> Ring:
    """Return arms that are all in S, in a ring in the given order, before the first decision."""
    arms, control = np.zeros(len(order), ARM), np.zeros(1, CONTROL)
    arms["after"][order] = np.roll(order, -1)
    arms["before"][order] = np.roll(order, 1)
    arms["decided_by"] = -1
    control["next"] = order[0]
    control["undecided"] = len(order)
    control["accuracy"], control["bias"] = accuracy, bias
    return Ring(arms, np.full((len(order), objectives), np.nan), control, widths)


@inlined
def _lead(m_j: float, width_j: float, m_i: float, width_i: float, bias: float) -> float:
    """Return line 17 in one objective: j beats i if this is ≥ 0 in all of them, and > 0 in one."""
    return (m_j - bias - width_j) - (m_i + bias + width_i)


@inlined
def _reaches(m_j: float, width_j: float, m_i: float, width_i: float, accuracy: float) -> bool:
    """Return lines 20 and 23 in one objective: j holds i if m̂_i − U_i + α ≤ m̂_j + U_j in all of them."""
    return m_i - width_i + accuracy <= m_j + width_j


@kernel
def _beats(medians: Floats, j: int, i: int, width: float, bias: float) -> bool:
    """Tell whether j beats i, both with the same U."""
    strictly = False
    for d in range(medians.shape[1]):
        lead = _lead(medians[j, d], width, medians[i, d], width, bias)
        if lead < 0.0:
            return False
        strictly |= lead > 0.0
    return strictly


@kernel
def _holds(medians: Floats, j: int, width_j: float, i: int, width_i: float, accuracy: float) -> bool:
    for d in range(medians.shape[1]):
        if not _reaches(medians[j, d], width_j, medians[i, d], width_i, accuracy):
            return False
    return True


@kernel
def _leave(arms: Table, control: Table, i: int, status: int) -> None:
    """Take arm i out of S with a verdict."""
    arm = arms[i]
    arm.status = status
    arms[arm.before].after = arm.after
    arms[arm.after].before = arm.before
    if control[0].next == i:
        control[0].next = arm.after
    control[0].undecided -= 1


@kernel
def _forget(ring: Ring, i: int) -> None:
    """Take the relations between arm i, which has left S, and the arms of S out of the counts."""
    arms, medians, control, widths = ring.arms, ring.medians, ring.control, ring.widths
    accuracy = control[0].accuracy
    width = widths[arms[i].phases]
    k = control[0].next
    for _ in range(control[0].undecided):
        width_k = widths[arms[k].phases]
        if _holds(medians, k, width_k, i, width, accuracy):
            arms[k].holds -= 1
        if _holds(medians, i, width, k, width_k, accuracy):
            arms[k].held_by -= 1
        k = arms[k].after


@kernel
def _identify(ring: Ring) -> None:
    """Lines 19 to 30: move O₂ to P; or, when every U is at most α/4, return with O₁."""
    arms, control, widths = ring.arms, ring.control, ring.widths
    accuracy = control[0].accuracy
    k = control[0].next
    last_phase = widths[arms[k].phases] <= accuracy / 4.0
    for _ in range(control[0].undecided):
        following = arms[k].after
        if arms[k].held_by == 0 and (last_phase or arms[k].holds == 0):
            if last_phase:
                arms[k].status = KEEP
            else:
                _leave(arms, control, k, KEEP)
        k = following
    if last_phase:
        _close(ring)
    elif control[0].undecided == 0:
        control[0].done = 1


@kernel
def _close(ring: Ring) -> None:
    """Name, for every arm left over, one that is returned and covers it (Lemma 7 promises one), and stop."""
    arms, medians, control, widths = ring.arms, ring.medians, ring.control, ring.widths
    accuracy = control[0].accuracy
    count = arms.shape[0]
    k = control[0].next
    for _ in range(control[0].undecided):
        if arms[k].status == UNDECIDED:
            arms[k].status = MATCHED
            j = arms[k].after
            for _ in range(count):
                if arms[j].status == KEEP and _holds(
                    medians, j, widths[arms[j].phases], k, widths[arms[k].phases], accuracy
                ):
                    arms[k].decided_by = j
                    break
                j = arms[j].after
        k = arms[k].after
    control[0].undecided = 0
    control[0].done = 1


@kernel
def decide_first(ring: Ring) -> None:
    """Eliminate and identify after every arm was sampled n₀ times: the only time that all pairs are looked at."""
    arms, medians, control, widths = ring.arms, ring.medians, ring.control, ring.widths
    bias = control[0].bias
    accuracy = control[0].accuracy
    count = arms.shape[0]
    width = widths[1]
    for i in range(count):
        arms[i].phases = 1
    for i in range(count):
        for j in range(count):
            if i != j and _beats(medians, j, i, width, bias):
                arms[i].decided_by = j
                break
    for i in range(count):
        if arms[i].decided_by >= 0:
            _leave(arms, control, i, BEATEN)
    for i in range(count):
        if arms[i].status == UNDECIDED:
            for j in range(count):
                if i != j and arms[j].status == UNDECIDED and _holds(medians, j, width, i, width, accuracy):
                    arms[i].held_by += 1
                    arms[j].holds += 1
    control[0].phase = 1
    _identify(ring)


@kernel
def decide(ring: Ring, i: int, fresh: Floats) -> None:
    """Eliminate and identify after arm i's medians became `fresh` (M,), in one pass over S: what i was, and is."""
    arms, medians, control, widths = ring.arms, ring.medians, ring.control, ring.widths
    bias = control[0].bias
    accuracy = control[0].accuracy
    arm = arms[i]
    width_before, width = widths[arm.phases], widths[arm.phases + 1]
    held_by, holds, beaten = 0, 0, 0
    k = arm.after
    for _ in range(control[0].undecided - 1):
        other = arms[k]
        width_k = widths[other.phases]
        was_held, was_holding, is_held, is_holding = True, True, True, True
        least_lead, most_lead = np.inf, -np.inf  # of k over i
        least_reply, most_reply = np.inf, -np.inf  # of i over k
        for d in range(medians.shape[1]):
            before, now, there = medians[i, d], fresh[d], medians[k, d]
            was_held &= _reaches(there, width_k, before, width_before, accuracy)
            was_holding &= _reaches(before, width_before, there, width_k, accuracy)
            is_held &= _reaches(there, width_k, now, width, accuracy)
            is_holding &= _reaches(now, width, there, width_k, accuracy)
            lead = _lead(there, width_k, now, width, bias)
            reply = _lead(now, width, there, width_k, bias)
            least_lead, most_lead = min(least_lead, lead), max(most_lead, lead)
            least_reply, most_reply = min(least_reply, reply), max(most_reply, reply)
        other.holds += int(is_held) - int(was_held)
        other.held_by += int(is_holding) - int(was_holding)
        held_by += is_held
        holds += is_holding
        if least_lead >= 0.0 and most_lead > 0.0:
            arm.decided_by = k
            beaten += 1
        if least_reply >= 0.0 and most_reply > 0.0:
            other.decided_by = i
            beaten += 1
        k = other.after
    for d in range(medians.shape[1]):
        medians[i, d] = fresh[d]
    arm.held_by = held_by
    arm.holds = holds
    arm.phases += 1
    control[0].phase += 1
    control[0].next = arm.after
    if beaten > 0:
        k = arm.after
        for _ in range(control[0].undecided):
            following = arms[k].after
            if arms[k].decided_by >= 0:
                _leave(arms, control, k, BEATEN)
                _forget(ring, k)
            k = following
    _identify(ring)


class RPSI(Policy):
    """Robust Pareto set identification (Algorithm 1) for rewards whose spread around the median `spread` (R) bounds.

    It stops with a set that is Pareto accurate (Definition 5) with probability 1 − δ: accuracy 2D + α, coverage 2D.

    Parameters
    ----------
    arms, objectives
        K and M.
    threat
        The threat model with its ε: `Oblivious`, `Prescient` or `Malicious`. `Share` is refused: Lemmas 1 and 2 are
        about measurements that are replaced with a probability.
    spread
        R, a `SpreadBound` or any non-decreasing function on [0, t̄].
    accuracy
        α > 0. The smaller, the more pulls: about 1 / α².
    delta
        δ, the probability with which the guarantee may fail.
    t_bar
        t̄ in (0, 1/2), up to where R is known.
    bias
        Overrides D = R(h). The published SW-LLVM experiment sets 0 at ε = 0. Then nothing is promised.
    order
        The order in which arms of equal U are sampled; 0, 1, 2, … unless given.

    Raises
    ------
    BadInput
        A parameter is outside its range, or the threat has no lemmas.

    >>> from frontguard import Oblivious, Subgaussian
    >>> policy = RPSI(2, 1, threat=Oblivious(0.0), spread=Subgaussian(0.1), accuracy=0.5)
    >>> while not policy.done:
    ...     arms = policy.ask()
    ...     policy.tell(arms, [[float(arm)] for arm in arms])
    >>> policy.result().verdicts
    {'0': 'beaten', '1': 'keep'}
    """

    name: ClassVar[str] = "R-PSI"
    standing: Ring

    def __init__(
        self,
        arms: int,
        objectives: int,
        *,
        threat: Threat,
        spread: SpreadBound | Any,
        accuracy: float,
        delta: float = 0.1,
        t_bar: float = 0.49,
        bias: float | None = None,
        order: npt.ArrayLike | None = None,
    ) -> None:
        super().__init__(arms, objectives)
        schedule = Schedule(threat, spread, self.arms, self.objectives, delta, t_bar, bias)
        pulls, widths = schedule.tables(accuracy)
        self.threat, self.accuracy, self.delta, self.bias = threat, float(accuracy), schedule.delta, schedule.bias
        self.bias_is_proved = int(bias is None or self.bias >= schedule.spread(schedule.shift))
        # Line 22 looks at S before O₂ leaves it. If the last arms with U > α/4 leave then, Algorithm 1 samples one of
        # the others, whose U is small enough already, in one phase more before it returns.
        self.phase_pulls = np.append(pulls, schedule.phase_pulls(len(pulls)))
        self.phase_widths = np.append(widths, schedule.width(len(widths)))
        self.order = _ring_order(order, self.arms)
        self._begin()

    def _begin(self) -> None:
        super()._begin()
        self.standing = initial_ring(self.order, self.objectives, self.accuracy, self.bias, self.phase_widths)
        self.columns = empty_table(self.arms * self.objectives)
        self.pool = empty_pool(self.arms * self.objectives)

    @property
    def done(self) -> bool:
        """True once S is empty or every U is at most α/4."""
        return bool(self.standing.control["done"][0])

    @property
    def pulls_per_arm(self) -> Ints:
        """Pulls of every arm (K,)."""
        return self.columns["count"][:-1].reshape(self.arms, self.objectives)[:, 0].copy()

    @property
    def estimates(self) -> Floats:
        """m̂ (K, M), NaN before the first decision."""
        return self.standing.medians.copy()

    def _next(self, pulls: int | None) -> Ints:
        first = self.standing.control["phase"][0] == 0
        wanted = np.arange(self.arms) if first else self.standing.control["next"].copy()
        each = int(self.phase_pulls[self.standing.arms["phases"][wanted[0]] + 1])
        if len(wanted) * each > _MOST_AT_ONCE:
            raise BadInput(f"{self.name} wants {len(wanted) * each:,} pulls at once: ask for less accuracy")
        return np.repeat(wanted, each)

    def _absorb(self, arms: Ints, values: Floats, reps: Ints | None) -> None:
        self.pool = absorb(self.pool, self.columns, arms, values, False)

    def _median_of(self, arm: int) -> Floats:
        first = arm * self.objectives
        return np.array([median(self.pool, self.columns, first + d) for d in range(self.objectives)])

    def _decide(self) -> None:
        if self.standing.control["phase"][0] == 0:
            for arm in range(self.arms):
                self.standing.medians[arm] = self._median_of(arm)
            decide_first(self.standing)
        else:
            arm = int(self.standing.control["next"][0])
            decide(self.standing, arm, self._median_of(arm))

    def _bounds(self) -> tuple[Floats, Floats]:
        half_widths = (self.bias + self.phase_widths[self.standing.arms["phases"]])[:, None]
        return self.estimates - half_widths, self.estimates + half_widths

    def certificate(self) -> Certificate:
        """Accuracy 2D + α and coverage 2D, once it has stopped; nothing if D is not R(h) at least."""
        void = "bias" if not self.bias_is_proved else "" if self.done else "running"
        return Certificate(
            accuracy=2.0 * self.bias + self.accuracy,
            coverage=2.0 * self.bias,
            confidence=None if void else 1.0 - self.delta,
            threat=self.threat.name,
            contamination=self.threat.eps,
            void=void,
        )


def _ring_order(order: npt.ArrayLike | None, arms: int) -> Ints:
    if order is None:
        return np.arange(arms)
    ring = np.asarray(order)
    if ring.shape != (arms,) or not np.array_equal(np.sort(ring), np.arange(arms)):
        raise BadInput(f"order must name each arm 0..{arms - 1} once; got {str(ring.tolist())[:120]}")
    return ring.astype(np.int64)
