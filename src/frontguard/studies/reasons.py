"""Why told pulls failed, as it is shown: what was told of them, or how they ended where they were given up."""

from __future__ import annotations

from frontguard.storage.contract import End, Told

NOT_USABLE = "not a usable value"
"""Why a pull failed that measured something which its objective cannot use."""

GIVEN_UP = {
    End.LOST: "lost with its worker",
    End.STOPPED: "stopped before its end",
    End.OVERDUE: "nothing heard of its worker until its lease ran out",
}
"""Why a pull failed that was given up: what is stored of it is how it ended, and no reason."""


def reasons_of(told: Told) -> tuple[str, ...]:
    """Why each of these pulls failed; empty where nothing is known of a failure, or nothing failed."""
    if not told.ends.any():
        return told.reasons
    return tuple(
        GIVEN_UP[End(end)] if end else reason for reason, end in zip(told.reasons, told.ends.tolist(), strict=True)
    )
