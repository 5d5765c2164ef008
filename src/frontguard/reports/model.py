"""A report as data: the answer, pictures, tables and sentences, in the order in which they are read.

`result` and its neighbours fill it from a study, an analysis, a demonstration or an experiment; `html`, `markdown` and
`csv` write it down. Texts are plain and hostile: whoever writes them down escapes them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, TypeAlias

import numpy.typing as npt

from frontguard import __version__
from frontguard.objectives import Objective
from frontguard.phrases import cut_in_the_middle
from frontguard.plot.picture import Picture
from frontguard.results import Result
from frontguard.verdicts import Verdict
from frontguard.words.arm_table import AnyResult

Kind: TypeAlias = Literal["study", "run", "analysis", "result", "demo", "reproduce"]

Progress: TypeAlias = Callable[[str, int, int], None]
"""Told what is being done, how much of it, and of how much."""


@dataclass(frozen=True)
class Entry:
    """What stands in a table, and by what it is sorted: a number, or its text if there is none."""

    text: str
    order: float | None = None
    verdict: Verdict | None = None  # whose mark stands before it


@dataclass(frozen=True)
class Column:
    """A heading, and below it what the figures are; numbers are set to the right."""

    heading: str
    below: str = ""
    number: bool = False


@dataclass(frozen=True, eq=False)
class ReportTable:
    """Rows in a sensible order; `rest` says what is left out. The first column names the rows."""

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Entry, ...], ...]
    rest: str = ""


@dataclass(frozen=True, eq=False)
class Figure:
    """A picture with a heading; its caption says what to look at."""

    heading: str
    picture: Picture


@dataclass(frozen=True)
class Fact:
    """A short label and a value, or a text that is copied as it is (`verbatim`)."""

    label: str
    value: str
    verbatim: bool = False


@dataclass(frozen=True, eq=False)
class Section:
    """A part of a report with more in it: a heading, sentences, pictures and tables. Left out if it is empty."""

    heading: str
    words: tuple[str, ...] = ()
    listed: tuple[str, ...] = ()
    shown: tuple[Figure, ...] = ()
    tables: tuple[ReportTable, ...] = ()

    @property
    def blank(self) -> bool:
        """Whether there is nothing in it."""
        return not (self.words or self.listed or self.shown or self.tables)


CERTAIN = "What is certain"
ASSUMED = "What that assumes"
ROBUST = "How robust it is"
OPEN = "What would settle the open arms"
FAILED = "Failures"
COURSE = "How it came about"
"""Headings of parts, in their order."""


@dataclass(frozen=True, eq=False)
class Report:
    """What is sent to somebody who was not there."""

    title: str
    kind: Kind
    answer: str
    status: str
    status_words: str
    facts: tuple[Fact, ...]
    pictures: tuple[Figure, ...]  # right below the answer
    table: ReportTable
    parts: tuple[Section, ...]  # below the table; those without anything in them are left out
    warnings: tuple[str, ...]
    reproduce: tuple[Fact, ...]  # what is needed to make it again
    columns: Mapping[str, Sequence[Any] | npt.NDArray[Any]]  # for machines: a row for every arm, or every result
    result: Result | None = None  # what it is about, where that is arms
    made: str = field(
        default_factory=lambda: f"Made by frontguard {__version__} on {datetime.now(UTC):%Y-%m-%d %H:%M} UTC."
    )

    def part(self, heading: str) -> Section:
        """The part with this heading; a blank one if there is none."""
        return next((part for part in self.parts if part.heading == heading), Section(heading))


def certain(certificate: Sequence[str], assumptions: Sequence[str]) -> tuple[Section, Section]:
    """The parts that say what holds, in plain words, and what it rests on."""
    return Section(CERTAIN, tuple(certificate)), Section(ASSUMED, listed=tuple(assumptions))


def shown_in_units(result: AnyResult) -> AnyResult:
    """A result with metrics: those it has, or, for one in inner values, its objectives as they are, maximised."""
    if result.metrics:
        return result
    return result.in_units(
        [Objective(name if name.strip() else f"objective {d + 1}") for d, name in enumerate(result.objectives)]
    )


# Names ----------------------------------------------------------------------------------------------------------------

IN_SENTENCES = 80
"""Characters of a name in sentences and pictures."""

IN_TABLES = 300
"""Characters of a name in a table: a thousand rows stay small enough to send."""


def short(name: str, most: int = IN_SENTENCES) -> str:
    """A name or a reason in so many columns at most, in one line; of a longer one, its beginning and its end.

    >>> short("a rather long name", 10), short("two\\nlines")
    ('a rat…name', 'two lines')
    """
    return cut_in_the_middle(" ".join(name.split()), most)


def in_table(name: str) -> str:
    """A name as it is; a very long one is cut in the middle."""
    return name if len(name) <= IN_TABLES else short(name, IN_TABLES)
