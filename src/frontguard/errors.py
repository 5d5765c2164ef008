"""The errors that are the user's to mend."""

from __future__ import annotations


class BadInput(ValueError):
    """Something that was given cannot be used. The message is one line: what, where, wanted, got."""


class OutOfTurn(RuntimeError):
    """A call that the object cannot take in its present state. The message says what it waits for."""
