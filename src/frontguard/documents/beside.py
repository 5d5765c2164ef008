"""What was asked for beside an answer, as entries of a document; apart from the models, as `origin` is."""

from __future__ import annotations

from typing import Any

from frontguard.comparisons.asked import Beside
from frontguard.results import ByArm


def entries(beside: Beside | None) -> dict[str, Any]:
    """What was asked for beside an answer, as entries of a document."""
    compared, chosen = (None, None) if beside is None else (beside.compared, beside.pick)
    return {
        "baseline": None if compared is None else compared.baseline,
        "comparisons": ByArm(() if compared is None else compared.plain()),
        "pick": None if chosen is None else chosen.to_dict(),
    }
