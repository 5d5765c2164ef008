"""What `frontguard audit --json` prints."""

from __future__ import annotations

from collections.abc import Sequence

from frontguard.audit.cells import DELTA
from frontguard.audit.runner import CellOutcome
from frontguard.documents.base import Amount, Count, Document, Text, Truth
from frontguard.words.audit import answer


class AuditedCell(Document):
    """One way in which measuring goes wrong, and how often something false was printed then."""

    cell: Text
    about: Text
    runs: Count
    answers: Count
    """That were looked at in all runs."""
    false: Count
    """Runs in which a statement was false."""
    kinds: dict[Text, Count]
    """Of false statements, with the number of runs that had one."""
    limit: Amount
    """What the share of such runs is at most, by an exact binomial limit."""
    refuted: Truth
    """Whether so many show that the promise is not kept."""


class AuditDocument(Document):
    """How often what is printed is false, in simulated studies and logs."""

    answer: Text
    delta: Amount
    """The share of runs in which something may be false."""
    kept: Truth
    cells: list[AuditedCell]

    @classmethod
    def of(cls, outcomes: Sequence[CellOutcome]) -> AuditDocument:
        """The document of an audit."""
        return cls(
            answer=answer(outcomes, DELTA),
            delta=DELTA,
            kept=not any(outcome.refuted for outcome in outcomes),
            cells=[
                AuditedCell(
                    cell=outcome.name,
                    about=outcome.about,
                    runs=outcome.runs,
                    answers=outcome.answers,
                    false=outcome.false,
                    kinds=dict(outcome.kinds),
                    limit=outcome.limit,
                    refuted=outcome.refuted,
                )
                for outcome in outcomes
            ],
        )
