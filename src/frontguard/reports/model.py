"""A report as data: the answer, pictures, tables and sentences, in the order in which they are read.

`make` fills it from a study, an analysis, a demonstration or an experiment; `as_html`, `as_markdown` and `as_csv` write
it down. Texts are plain and hostile: whoever writes them down escapes them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from frontguard.plot.picture import Picture

Kind: TypeAlias = Literal["study", "run", "analysis", "result", "demo", "reproduce"]


@dataclass(frozen=True)
class Cell:
    """What stands in a table, and by what it is sorted: a number, or its text if there is none."""

    text: str
    order: float | None = None
    look: str = ""  # the verdict whose mark stands before it

    @property
    def blank(self) -> bool:
        """Whether there is nothing in it."""
        return not self.text


@dataclass(frozen=True)
class Column:
    """A heading, and below it what the figures are; numbers are set to the right."""

    heading: str
    below: str = ""
    number: bool = False


@dataclass(frozen=True, eq=False)
class Table:
    """Rows in a sensible order; `rest` says what is left out. The first column names the rows."""

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    rest: str = ""


@dataclass(frozen=True, eq=False)
class Shown:
    """A picture with a heading and what to look at, in words; `table` has its numbers, where words cannot."""

    heading: str
    picture: Picture
    words: str = ""
    table: Table | None = None


@dataclass(frozen=True)
class Fact:
    """A short label and a value."""

    label: str
    value: str


@dataclass(frozen=True)
class Step:
    """One thing that is needed to make it again: a value, or a text that is copied as it is (`verbatim`)."""

    label: str
    text: str
    verbatim: bool = False


@dataclass(frozen=True, eq=False)
class Records:
    """A row for everything, for machines: headings, and rows that are made while they are written."""

    headings: tuple[str, ...]
    rows: Sequence[Sequence[Any]] | Iterator[Sequence[Any]]


@dataclass(frozen=True, eq=False)
class Part:
    """A part of a report with more in it: a heading, sentences, pictures and tables. Left out if it is empty."""

    heading: str
    words: tuple[str, ...] = ()
    listed: tuple[str, ...] = ()
    shown: tuple[Shown, ...] = ()
    tables: tuple[Table, ...] = ()

    @property
    def blank(self) -> bool:
        """Whether there is nothing in it."""
        return not (self.words or self.listed or self.shown or self.tables)


@dataclass(frozen=True, eq=False)
class Report:
    """What is sent to somebody who was not there."""

    title: str
    kind: Kind
    answer: str
    status: str
    facts: tuple[Fact, ...]
    pictures: tuple[Shown, ...]  # right below the answer
    table: Table
    certificate: tuple[str, ...]  # what holds, in plain words
    assumptions: tuple[str, ...]  # what it rests on
    robustness: Part
    open: Part  # arms that are not settled, and what would settle them
    failures: Part
    warnings: tuple[str, ...]
    course: Part  # how it came about
    more: tuple[Part, ...]  # further answers, as in the demonstration
    reproduce: tuple[Step, ...]
    records: Records
    made: str = ""  # by which version and when
    status_words: str = field(default="")

    @property
    def parts(self) -> tuple[Part, ...]:
        """What stands below the table, in its order, without what is empty."""
        warned = Part("Warnings", listed=self.warnings)
        certificate = Part("What is certain", self.certificate)
        assumed = Part("What that assumes", listed=self.assumptions)
        every = (certificate, assumed, self.robustness, self.open, self.failures, warned, self.course, *self.more)
        return tuple(part for part in every if not part.blank)
