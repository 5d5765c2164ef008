"""Why told pulls failed, as it is shown: what was told of them, or how they ended where they were given up.

The text that is stored of a failed pull is its reason, the same for equal failures so that they can be counted, and
after a mark what the pull had to say last, which differs from one to the next.
"""

from __future__ import annotations

from frontguard.storage.contract import End, Told
from frontguard.studies.measurement import MARK

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
    bare = {text: text.partition(MARK)[0] for text in set(told.reasons) if MARK in text}
    reasons = tuple(bare.get(text, text) for text in told.reasons) if bare else told.reasons
    if not told.ends.any():
        return reasons
    return tuple(GIVEN_UP[End(end)] if end else reason for reason, end in zip(reasons, told.ends.tolist(), strict=True))


def last_words(text: str) -> str:
    """What a failed pull had to say last, after its reason, from what is stored of it; empty if nothing is.

    >>> last_words(f"exit code 1{MARK}no such flag: -O9"), last_words("exit code 1")
    ('exit code 1: no such flag: -O9', '')
    """
    reason, _, said = text.partition(MARK)
    return f"{reason}: {said}" if said else ""
