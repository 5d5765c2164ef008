"""The knowledge of an arm, in one type for kernels, results, tables, pictures and pages alike."""

from __future__ import annotations

from enum import IntEnum


class Verdict(IntEnum):
    """The verdict on an arm. The numbers are those of the `status` arrays inside kernels."""

    UNDECIDED = 0
    KEEP = 1
    BEATEN = 2
    MATCHED = 3
    EXCLUDED = 4  # it cannot be measured, and the answer is about the others

    @property
    def word(self) -> str:
        """The verdict as it is written for people, machines and style sheets.

        >>> [verdict.word for verdict in Verdict]
        ['undecided', 'keep', 'beaten', 'matched', 'excluded']
        """
        return self.name.lower()


VERDICT_ORDER = (Verdict.KEEP, Verdict.UNDECIDED, Verdict.MATCHED, Verdict.EXCLUDED, Verdict.BEATEN)
"""As lists show them: what matters first."""

UNDECIDED, KEEP, BEATEN, MATCHED, EXCLUDED = map(int, Verdict)
"""The same as plain numbers, which kernels can read."""


class Feasibility(IntEnum):
    """The standing of an arm to a limit, or the worst to all of them. The numbers are those inside kernels."""

    FEASIBLE = 0  # certainly
    OPEN = 1
    INFEASIBLE = 2  # certainly

    @property
    def word(self) -> str:
        """The standing as it is written for people and machines.

        >>> [each.word for each in Feasibility]
        ['feasible', 'open', 'infeasible']
        """
        return self.name.lower()


FEASIBLE, OPEN, INFEASIBLE = map(int, Feasibility)
"""The same as plain numbers, which kernels can read."""
