"""The errors that are the user's to mend."""

from __future__ import annotations


class BadInput(ValueError):
    """Something that was given cannot be used. The message is one line: what, where, wanted, got."""


class NoColumn(BadInput):
    """A column that is not there: which one."""

    def __init__(self, message: str, column: str) -> None:
        super().__init__(message, column)
        self.column = column

    def __str__(self) -> str:
        return str(self.args[0])


class OutOfTurn(RuntimeError):
    """A call that the object cannot take in its present state. The message says what it waits for."""
