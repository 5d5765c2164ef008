"""Every kind of evidence: what may count of an objective, and how arms may be measured together.

A policy, a study, a plan and a simulation get theirs here; `tests/evidence/test_conformance.py` goes over all of it. A
statistic is a name in `statistics.KINDS`, a module of kernels, and a line in each of the kernels of
`evidence.intervals` that choose among them; a design is a subclass of `Differences`, and a line below.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from frontguard.errors import BadArgument
from frontguard.evidence.apart import Apart
from frontguard.evidence.differences import Compared, Differences
from frontguard.evidence.intervals import IntervalRule, interval_rule
from frontguard.evidence.pairs import WithinBlocks
from frontguard.evidence.statistics import Statistic
from frontguard.theory.spread import SpreadBound
from frontguard.theory.threats import Threat


class Design(NamedTuple):
    """How arms are measured together: each by itself, in blocks (of a list of so many `items`), or independently."""

    paired: bool = False
    items: int = 0
    independent: bool = False
    foreseen: bool = True  # whether the accuracy of independent arms was fixed before anything was measured
    limited: bool = False  # whether arms must keep to limits

    @property
    def name(self) -> str:
        """Its key in `DESIGNS`."""
        if (self.paired or self.items) and self.independent:
            raise BadArgument("independent", "arms on the same items depend on them; leave one of them away")
        return "items" if self.items else "pairs" if self.paired else "independent arms" if self.independent else "rows"


Made = Callable[[Compared, Threat, Sequence[Statistic], float, Design], Differences]

DESIGNS: dict[str, Made] = {
    "rows": lambda compared, threat, counted, delta, design: Differences(compared),
    "pairs": lambda compared, threat, counted, delta, design: WithinBlocks(compared, threat, counted, delta=delta),
    "items": lambda compared, threat, counted, delta, design: WithinBlocks(
        compared, threat, counted, delta=delta, items=design.items
    ),
    "independent arms": lambda compared, threat, counted, delta, design: Apart(
        compared, threat, counted, delta=delta, limited=design.limited, foreseen=design.foreseen
    ),
}
"""What makes the evidence on differences of arms that are compared, under a threat, of what counts of each objective;
with a probability δ for all evidence together."""


def evidence_of(
    design: Design,
    compared: Compared,
    threat: Threat,
    counted: Sequence[Statistic],
    *,
    delta: float,
    spread: SpreadBound | Any | None = None,
    t_bar: float = 0.49,
) -> tuple[IntervalRule, Differences]:
    """Return the rule of intervals and the evidence on differences that hold together with probability 1 − δ.

    >>> from frontguard import Prescient
    >>> design, medians = Design(independent=True), [Statistic(), Statistic()]
    >>> rule, differences = evidence_of(design, Compared(3, 2), Prescient(0.1), medians, delta=0.1)
    >>> rule.kinds.tolist(), differences.usable.tolist(), differences.of_intervals
    ([0, 0], [True, True], 0.5)
    """
    differences = DESIGNS[design.name](compared, threat, counted, delta, design)
    share = differences.of_intervals * delta
    rule = interval_rule(
        threat, arms=compared.arms, objectives=len(counted), delta=share, spread=spread, t_bar=t_bar,
        statistics=counted,
    )  # fmt: skip
    return differences.adapt(rule), differences
