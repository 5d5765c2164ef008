"""What `frontguard gate --json` prints."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Literal

from pydantic import Field

from frontguard.comparisons.gate import Check, GatePair, GateResult
from frontguard.documents.base import Amount, Count, Document, Notices, Origin, Share, Text, Truth
from frontguard.documents.result import SpanDocument
from frontguard.objectives import Objective
from frontguard.results import said_once
from frontguard.words.gate import answer

Word = Literal["not worse", "open", "worse"]
Status = Literal["decided", "running", "budget", "time", "cancelled", "unreachable", "unmeasured", "log"]


class CheckDocument(Document):
    """One metric of a candidate."""

    outcome: Word
    contrast: Text
    """Finer than the outcome: better, no worse, alike, no better, worse or open."""
    difference: SpanDocument
    """Candidate − baseline, in the metric's units."""
    ratio: SpanDocument | None
    """Candidate / baseline; null where the baseline is not certainly positive."""
    stands_up_to: Share | None
    """The largest contamination at which the outcome would be certain; null where it is open, or not known."""

    @classmethod
    def of(cls, check: Check) -> CheckDocument:
        """The document of a check."""
        effect = check.effect
        return cls(
            outcome=check.outcome.word,  # type: ignore[arg-type]
            contrast=effect.contrast.word,
            difference=SpanDocument(**effect.difference.to_dict()),
            ratio=None if effect.ratio is None else SpanDocument(**effect.ratio.to_dict()),
            stands_up_to=check.stands_up_to,
        )


class PairDocument(Document):
    """A candidate against its baseline."""

    name: Text
    """Of the candidate; of logs with several arms, that of the arm."""
    candidate: Text
    baseline: Text
    outcome: Word
    pulls: Count
    """Of the candidate."""
    baseline_pulls: Count
    aside: list[Text]
    """Which of the two could not be measured."""
    metrics: dict[Text, CheckDocument]

    @classmethod
    def of(cls, pair: GatePair) -> PairDocument:
        """The document of a pair."""
        return cls(
            name=pair.name,
            candidate=pair.candidate,
            baseline=pair.baseline,
            outcome=pair.outcome.word,  # type: ignore[arg-type]
            pulls=pair.pulls,
            baseline_pulls=pair.baseline_pulls,
            aside=list(pair.aside),
            metrics={check.metric.name: CheckDocument.of(check) for check in pair.checks},
        )


class GateDocument(Document):
    """Whether candidates are certainly worse than their baseline. All that is certain holds at once."""

    answer: Text
    outcome: Word
    """Worse if any candidate is so in any metric, not worse if all are so in all."""
    exit_code: Count
    status: Status
    """Decided, or why it is not."""
    confidence: float = Field(gt=0.0, lt=1.0)
    threat: Text
    contamination: Share
    stands_up_to: Share | None
    """The largest contamination at which the outcome would be certain; null where it is open, or not known."""
    objectives: list[Objective]
    """With the tolerances, by which a candidate may be worse."""
    pairs: list[PairDocument]
    pulls: Count
    seconds: Amount | None
    """That measuring took; null of logs."""
    anytime: Truth
    """Whether it holds however often one looked while it was measured."""
    every_row: Truth
    """Whether rows of one process were said to count by themselves."""
    only_baseline: list[Text]
    """Arms that the baseline's log has only, and of which nothing is said."""
    only_candidate: list[Text]
    """Arms that are new."""
    warnings: list[Text]
    notices: Notices
    version: Text | None = None
    command: Text | None = None
    source: list[Text] | Text | None = None
    at: Text | None = None
    seed: Count | None = None
    spec: Text | None = None

    @classmethod
    def of(cls, found: GateResult, exit_code: int, origin: Origin, seconds: float | None = None) -> GateDocument:
        """The document of a gate."""
        made: dict[str, Any] = vars(origin)
        return cls(
            answer=answer(found),
            outcome=found.outcome.word,  # type: ignore[arg-type]
            exit_code=exit_code,
            status=found.status,  # type: ignore[arg-type]
            confidence=found.confidence,
            threat=found.threat,
            contamination=found.contamination,
            stands_up_to=found.stands_up_to,
            objectives=[Objective(**asdict(metric.spelled_out)) for metric in found.metrics],
            pairs=[PairDocument.of(pair) for pair in found.pairs],
            pulls=found.pulls,
            seconds=seconds,
            anytime=found.anytime,
            every_row=found.every_row,
            only_baseline=list(found.only_baseline),
            only_candidate=list(found.only_candidate),
            warnings=list(said_once(found.notices)),
            notices=found.notices,
            **made,
        )
