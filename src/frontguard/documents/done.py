"""What `report`, `rescue` and `serve` say of what they did."""

from __future__ import annotations

from typing import Literal

from frontguard.documents.base import Count, Document, Text


class ReportDocument(Document):
    """What `frontguard report --json` prints: what was written, and where."""

    answer: Text
    status: Text
    kind: Literal["study", "run", "analysis", "result", "demo", "reproduce"]
    """What the report is about."""
    title: Text
    path: Text
    format: Literal["html", "markdown", "csv"]
    bytes: Count
    rows: Count
    """Of the main table."""
    pictures: Count
    warnings: list[Text]


class RescueDocument(Document):
    """What `frontguard rescue --json` prints: what was saved of a damaged file, and what was not."""

    studies: list[Text]
    plans: Count
    told: Count
    """Pulls that were saved."""
    lost_studies: Count
    """Those whose name or settings could not be read."""
    lost_plans: Count
    """Those that could not be read, or came after one that could not."""
    lost: Count
    """Told pulls that could not be read or belong to lost plans, as far as the file still says how many there were."""
    damaged: Text
    """The damaged file, which is left as it is."""
    new: Text
    """The file with what was saved."""


class ServeDocument(Document):
    """What `frontguard serve --json` prints: where the live page is."""

    url: Text
    token: Text | None
    """What a browser has to know, where others could reach the page."""
