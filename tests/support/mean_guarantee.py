"""How often intervals of means miss the truth when the worst attackers are at work: cells, a kernel, and nothing
sorted.

The high end of an interval lies below the true mean μ at n exactly when the bets of `evidence.bets` refute keep(μ):

    H < μ   iff   W_n(keep(μ)) = Σ_l w_l Π_{s ≤ n} (1 − θ_l ξ_s) / (1 − θ_l keep(μ))  >  1/δ',

with ξ the observed values; L > μ likewise, with what they lack of 1. So a run needs the wealth at one number, and no
root: it is multiplied up as it is written, which is a twin of the code that intervals are made with. The interval that
was intersected over all n misses iff the wealth was ever large enough. Where any share may be taken, the ⌊εn⌋ smallest
ξ count as 1; they are kept sorted for that.

A law is a thousand equally likely values, so that its mean, and what an attacker can take of it, are sums. An attacker
who pushes one way pushes even runs down, which makes H miss, and odd ones up.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.stats import beta

from frontguard._common.compiled import kernel
from frontguard.evidence.bets import BETS, LOG_WEIGHTS, THETAS
from frontguard.evidence.confidence_sequences import taken_away
from frontguard.evidence.intervals import interval_rule
from frontguard.evidence.kinds import IntervalRule
from frontguard.evidence.measurements import Ordered
from frontguard.evidence.readers import IntervalReader
from frontguard.evidence.statistics import Shares, statistics_of
from frontguard.objectives import Objective
from frontguard.theory.threats import Malicious, Oblivious, Prescient, Share, Threat
from tests.support.guarantee import DELTA, Bools, Floats

LENGTH = 1000
ATOMS = 1000
AT_ONCE = 2000
MEAN = Objective("y", "maximize", statistic="mean", bounds=(0, 1))

_MIDDLES = (np.arange(ATOMS) + 0.5) / ATOMS

LAWS: dict[str, Floats] = {
    "0/1, 0.02": (_MIDDLES > 0.98).astype(float),
    "0/1, 0.5": (_MIDDLES > 0.5).astype(float),
    "0/1, 0.9": (_MIDDLES > 0.1).astype(float),
    "Beta(40, 60)": beta.ppf(_MIDDLES, 40, 60),
    "Beta(0.5, 1)": beta.ppf(_MIDDLES, 0.5, 1.0),
}
"""Values (ATOMS,) in ascending order."""

ATTACKERS: dict[str, Callable[[float], Threat]] = {
    "nobody": lambda _: Oblivious(0.0),
    "oblivious: constant": Oblivious,
    "prescient: either side": Prescient,
    "malicious: worst case": Malicious,
    "share: worst case": Share,
}


@dataclass(frozen=True)
class MeanCell:
    """One law under one attacker."""

    attacker: str
    law: str

    @property
    def values(self) -> Floats:
        """What is measured, each as often."""
        return LAWS[self.law]

    @property
    def mean(self) -> float:
        """The true one."""
        return float(self.values.mean())

    @property
    def eps(self) -> float:
        """A tenth of the measurements; less where a malicious attacker could then hide all that are rare."""
        return min(0.1, 0.5 * round(min(self.mean, 1.0 - self.mean), 2))

    @cached_property
    def threat(self) -> Threat:
        """What the attacker may do."""
        return ATTACKERS[self.attacker](self.eps)

    @cached_property
    def rule(self) -> IntervalRule:
        """The intervals that are to hold."""
        return interval_rule(
            self.threat, arms=1, objectives=1, delta=DELTA, statistics=statistics_of([MEAN]), largest=1
        )

    def __str__(self) -> str:
        return f"{self.attacker} | {self.law}"


CELLS = [MeanCell(attacker, law) for attacker in ATTACKERS for law in LAWS]


def drawn(cell: MeanCell, runs: int, length: int, seed: tuple[int, int]) -> tuple[Any, Bools, Bools]:
    """Atoms (runs, length), and which of them are hit by who pushes down and by who pushes up."""
    rng = np.random.default_rng(seed)
    atoms = rng.integers(0, ATOMS, (runs, length), np.int16)
    by_chance = rng.random((runs, length)) < cell.threat.eps
    nothing = np.zeros_like(by_chance)
    if cell.attacker == "malicious: worst case":  # the values that matter most, whenever they come
        taken = round(cell.threat.eps * ATOMS)
        return atoms, atoms >= ATOMS - taken, atoms < taken
    if cell.attacker == "share: worst case":  # better than the median, as soon as there is room
        room = np.array([taken_away(cell.threat.eps, n) for n in range(1, length + 1)])
        return atoms, _while_room(atoms >= ATOMS // 2, room), _while_room(atoms < ATOMS // 2, room)
    return (atoms, by_chance, by_chance) if cell.threat.eps > 0.0 else (atoms, nothing, nothing)


def _while_room(useful: Bools, room: Any) -> Bools:
    """Which of the useful ones are hit if one is whenever fewer than `room` (length,) of those so far were."""
    hit, used = np.zeros_like(useful), np.zeros(len(useful), np.int64)
    for n in range(useful.shape[1]):
        hit[:, n] = useful[:, n] & (used < room[n])
        used += hit[:, n]
    return hit


_WEIGHTS = np.exp(LOG_WEIGHTS)


@kernel(over="atoms")
def _largest_wealth(atoms: Any, hits: Any, xi_of: Floats, c: float, share: float, largest: Floats) -> None:
    """The largest W_n(c) (runs,) over all n, of ξ that are 0 where they are hit."""
    length = atoms.shape[1]
    wealth, ordered = np.empty(BETS), np.empty(length)
    for run in range(atoms.shape[0]):
        wealth[:] = _WEIGHTS
        taken = 0
        for n in range(length):
            xi = 0.0 if hits[run, n] else xi_of[atoms[run, n]]
            more, back = False, 0.0
            if share > 0.0:
                place = n
                while place > 0 and ordered[place - 1] > xi:
                    ordered[place] = ordered[place - 1]
                    place -= 1
                ordered[place] = xi
                xi = max(xi, ordered[taken])  # if it is among the smallest, the largest of them no longer is
                more, back = taken_away(share, n + 1) > taken, ordered[taken]
                taken += more  # never by more than one
            total = 0.0
            for l in range(BETS):  # noqa: E741
                wealth[l] *= (1.0 - THETAS[l] * xi) / (1.0 - THETAS[l] * c)
                if more:
                    wealth[l] *= (1.0 - THETAS[l]) / (1.0 - THETAS[l] * back)
                total += wealth[l]
            largest[run] = max(largest[run], total)


def largest_wealth(
    cell: MeanCell, runs: int, *, seed: int, length: int = LENGTH, believed: Threat | None = None
) -> Floats:
    """The largest wealth that is ever made against the true mean, (runs, 2), by the low side and by the high side.

    `believed` is the threat model that intervals are made for: the cell's, unless it is to be caught.
    """
    found = np.zeros((runs, 2))
    threat = cell.threat if believed is None else believed
    times, less = threat.surviving
    for number, first in enumerate(range(0, runs, AT_ONCE)):
        some = slice(first, min(first + AT_ONCE, runs))
        atoms, down, up = drawn(cell, some.stop - first, length, (seed, number))
        one_way = cell.attacker not in ("nobody", "prescient: either side")
        for side, hits in enumerate((up, down)):
            xi_of = 1.0 - cell.values if side == 0 else cell.values
            c = times * float(xi_of.mean()) - less
            if one_way:  # even runs are pushed down, odd ones up; what is left of the other side is clean
                hits = hits & (np.arange(len(hits)) % 2 == 1 - side)[:, None]
            column = np.zeros(len(hits))
            if c > 0.0:
                _largest_wealth(atoms, hits, xi_of, c, threat.taken, column)
            found[some, side] = column
    return found


def allowed(cell: MeanCell) -> float:
    """The wealth from which on an interval misses."""
    return float(np.exp(cell.rule.thresholds[0]))


# One look -------------------------------------------------------------------------------------------------------------


def missed_at_one_look(
    cell: MeanCell, runs: int, *, seed: int, length: int, believed: Threat | None = None, delta: float = DELTA
) -> Bools:
    """Whether a log's interval of the mean, read once, misses it, (runs, 2), below and above: by `IntervalReader`
    itself.

    A log has many arms, one for each run, of which each is read at the δ of a log of one arm.
    """
    threat = cell.threat if believed is None else believed
    missed = np.zeros((runs, 2), np.bool_)
    for number, first in enumerate(range(0, runs, AT_ONCE)):
        some = slice(first, min(first + AT_ONCE, runs))
        atoms, down, up = drawn(cell, some.stop - first, length, (seed, number))
        pushed_up = (np.arange(len(atoms)) % 2 == 1)[:, None]
        clean = cell.values[atoms]
        observed = np.sort(np.where(np.where(pushed_up, up, down), pushed_up.astype(float), clean), axis=1)
        arms = len(observed)
        starts = (length * np.arange(arms + 1, dtype=np.int64))[None]
        log = Ordered([f"{arm:06}" for arm in range(arms)], ("y",), np.full(arms, length), starts, (observed.ravel(),))
        reader = IntervalReader(log, [MEAN], delta)
        reader._shares = Shares(delta / 2.0)  # each by itself
        intervals = reader.read(threat)
        missed[some, 0], missed[some, 1] = intervals.lower[:, 0] > cell.mean, intervals.upper[:, 0] < cell.mean
    return missed
