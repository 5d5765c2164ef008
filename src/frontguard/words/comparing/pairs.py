"""What is said where arms were measured on the same items, and of finite lists."""

from __future__ import annotations

from decimal import ROUND_CEILING

from frontguard.notices import InPairs
from frontguard.phrases import joined, number_of, percent
from frontguard.results import Result
from frontguard.words.statements import Statement


def pairs_of(result: Result) -> InPairs | None:
    """On what the arms of a result were compared beside their intervals; None where on nothing."""
    return next((each for each in result.notices if isinstance(each, InPairs)), None)


def in_pairs(notice: InPairs) -> str:
    """On what arms are compared, and what that asks of it."""
    columns = joined([repr(each) for each in notice.columns])
    if not notice.looked:
        return (
            f"{notice.arms:,} arms on {notice.blocks:,} different {columns} are too many for all pairs to be looked "
            "at: arms are compared by their intervals only"
        )
    each = f"{notice.least:,}" if notice.least == notice.most else f"{notice.least:,} to {notice.most:,}"
    said = [Statement.PAIRS(columns=columns, each=each)]
    if notice.items:
        said.append(Statement.LIST(items=f"{notice.items:,}"))
        if notice.complete:
            measured = f"{notice.complete:,} of {number_of(notice.arms)}"
            hidden = percent(notice.hidden, ROUND_CEILING)
            said.append(
                Statement.LIST_LEFT(arms=measured, hidden=hidden)
                if notice.hidden
                else Statement.LIST_KNOWN(arms=measured)
            )
    return " ".join(said)
