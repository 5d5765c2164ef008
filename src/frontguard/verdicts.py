"""What is known of an arm, in one type for kernels, results, tables, pictures and pages alike."""

from __future__ import annotations

from enum import IntEnum


class Verdict(IntEnum):
    """What is known of an arm. The numbers are those of the `status` arrays inside kernels."""

    UNDECIDED = 0
    IN = 1
    OUT = 2
    COVERED = 3
    SET_ASIDE = 4  # it cannot be measured, and the answer is about the others

    @property
    def word(self) -> str:
        """The verdict as it is written for people and machines.

        >>> [verdict.word for verdict in Verdict]
        ['undecided', 'in', 'out', 'covered', 'set aside']
        """
        return self.name.lower().replace("_", " ")

    @property
    def style(self) -> str:
        """What style sheets call it, in one word.

        >>> [verdict.style for verdict in Verdict]
        ['undecided', 'in', 'out', 'covered', 'aside']
        """
        return self.name.lower().rpartition("_")[2]


VERDICT_ORDER = (Verdict.IN, Verdict.UNDECIDED, Verdict.COVERED, Verdict.SET_ASIDE, Verdict.OUT)
"""As lists show them: what matters first."""

UNDECIDED, IN, OUT, COVERED, SET_ASIDE = map(int, Verdict)
"""The same as plain numbers, which kernels can read."""


class Keeping(IntEnum):
    """How an arm stands to a limit, or to all of them: the worst counts. The numbers are those inside kernels."""

    WITHIN = 0  # certainly
    OPEN = 1
    BEYOND = 2  # certainly

    @property
    def word(self) -> str:
        """The same as it is written for people and machines.

        >>> [keeping.word for keeping in Keeping]
        ['within', 'open', 'beyond']
        """
        return self.name.lower()


WITHIN, OPEN, BEYOND = map(int, Keeping)
"""The same as plain numbers, which kernels can read."""
