"""The errors that are the user's to mend."""

from __future__ import annotations


class BadInput(ValueError):
    """Something that was given cannot be used. The message is one line: what, where, wanted, got.

    >>> from frontguard import Objective
    >>> Objective("latency", quantile=2)
    Traceback (most recent call last):
    ...
    frontguard.errors.BadArgument: quantile of ...
    """


class BadArgument(BadInput):
    """An argument that cannot be used: which one, and either what it `must` and what was `got`, or `why` not.

    Facts, so that whoever calls the argument otherwise, as the command line does, need not look for it in a sentence.

    >>> error = BadArgument("max_pulls", must="be a whole number from 1", got="0")
    >>> str(error), error.named("--max-pulls")
    ('max_pulls must be a whole number from 1; got 0', '--max-pulls must be a whole number from 1; got 0')
    >>> str(BadArgument("where", "all pulls of a study count; got a filter of its rows"))
    'where: all pulls of a study count; got a filter of its rows'
    """

    def __init__(self, argument: str, why: str = "", must: str = "", got: str = "") -> None:
        super().__init__(argument, why, must, got)  # as given: an error crosses processes as its arguments
        self.argument, self.why, self.must, self.got = argument, why, must, got

    @property
    def key(self) -> str:
        """Its own name, where it is an argument of something: "bounds" of "bounds of objective 'stars'"."""
        return self.argument.partition(" of ")[0]

    def named(self, name: str) -> str:
        """The message, with another name for the argument."""
        if not self.must:
            return f"{name}: {self.why}"
        return f"{name} must {self.must}; got {self.got}" if self.got else f"{name} must {self.must}"

    def __str__(self) -> str:
        return self.named(self.argument)


class NoColumn(BadInput):
    """A column that is not there: which one."""

    def __init__(self, message: str, column: str) -> None:
        super().__init__(message, column)
        self.column = column

    def __str__(self) -> str:
        return str(self.args[0])


class Unnamed(BadInput):
    """A log of which nobody said which columns are the arms, or the metrics: `why`, and the `names` of its columns."""

    def __init__(self, why: str, names: str) -> None:
        super().__init__(why, names)  # an error crosses processes as its arguments
        self.why, self.names = why, names

    def __str__(self) -> str:
        return f"{self.why}; its columns are {self.names}"


class OutOfTurn(RuntimeError):
    """A call that the object cannot take in its present state. The message says what it waits for."""
