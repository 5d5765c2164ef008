"""A report as data: the answer, pictures, tables and sentences, in the order in which they are read.

`make` fills it from a study, an analysis, a demonstration or an experiment; `html`, `markdown` and `csv` write it
down. Texts are plain and hostile: whoever writes them down escapes them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from frontguard._typing import Ints
from frontguard.objectives import Objective
from frontguard.plot.picture import Picture
from frontguard.results import Result

Kind: TypeAlias = Literal["study", "run", "analysis", "result", "demo", "reproduce"]


@dataclass(frozen=True)
class Entry:
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
class ReportTable:
    """Rows in a sensible order; `rest` says what is left out. The first column names the rows."""

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Entry, ...], ...]
    rest: str = ""


@dataclass(frozen=True, eq=False)
class Figure:
    """A picture with a heading and what to look at, in words; `table` has its numbers, where words cannot."""

    heading: str
    picture: Picture
    words: str = ""
    table: ReportTable | None = None


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
    certificate: tuple[str, ...]  # what holds, in plain words
    assumptions: tuple[str, ...]  # what it rests on
    warnings: tuple[str, ...]
    reproduce: tuple[Step, ...]
    records: Records
    made: str  # by which version and when
    robustness: Section = Section("How robust it is")
    open: Section = Section("What would settle the open arms")  # and which these are
    failures: Section = Section("Failures")
    course: Section = Section("How it came about")
    more: tuple[Section, ...] = ()  # further answers, as in the demonstration

    @property
    def parts(self) -> tuple[Section, ...]:
        """What stands below the table, in its order, without what is empty."""
        warned = Section("Warnings", listed=self.warnings)
        certificate = Section("What is certain", self.certificate)
        assumed = Section("What that assumes", listed=self.assumptions)
        every = (certificate, assumed, self.robustness, self.open, self.failures, warned, self.course, *self.more)
        return tuple(part for part in every if not part.blank)


AnyResult = TypeVar("AnyResult", bound=Result)


@dataclass(frozen=True, eq=False)
class Subject:
    """A result and its circumstances. `result` has full names; `plain` has them short, for sentences and pictures."""

    kind: Kind
    title: str
    answer: str
    status: str
    result: Result
    guarantee: tuple[str, ...]
    anytime: bool | None = None
    spread: str | None = None
    side_by_side: bool = False  # whether pulls were measured several at a time
    directed: bool = True  # whether it is known which direction of each objective is better
    reasons: Mapping[str, Mapping[str, int]] = field(default_factory=dict)  # of failures, by arm
    failed: Ints | None = None  # (K,) pulls, or values, that failed
    facts: tuple[Fact, ...] = ()
    robustness: Section = Report.robustness
    open: Section = Report.open
    course: Section = Report.course
    pictures: tuple[Figure, ...] | None = None  # instead of those that are made of the result
    steps: tuple[Step, ...] = ()
    warnings: tuple[str, ...] = ()
    stands: npt.NDArray[np.float64] | None = None  # (K,) up to which ε the verdict stands; NaN where not known
    resolution: float = 0.001
    more: tuple[Section, ...] = ()


def shown_in_units(result: Result) -> Result:
    """A result with metrics: those it has, or, for one in inner values, its objectives as they are, maximised."""
    if result.metrics:
        return result
    return result.in_units(
        [Objective(name if name.strip() else f"objective {d + 1}") for d, name in enumerate(result.objectives)]
    )


def with_short_names(result: AnyResult) -> AnyResult:
    """The same result with names as they are said in sentences and pictures; metrics too."""
    arms: tuple[str, ...] = result.arms
    if any(len(name) > IN_SENTENCES or not name.isprintable() for name in arms):
        arms = tuple(map(short, arms))
    names = tuple(map(short, result.objectives))
    metrics = tuple(
        metric if metric.name == short(metric.name) else replace(metric, name=short(metric.name) or "?")
        for metric in result.metrics
    )
    if arms is result.arms and names == result.objectives and metrics == result.metrics:
        return result
    return replace(result, arms=arms, objectives=names, metrics=metrics)


# Names ----------------------------------------------------------------------------------------------------------------

IN_SENTENCES = 80
"""Characters of a name in sentences and pictures."""

IN_TABLES = 300_000
"""Characters of all names of a table together; if they have more, the longest ones are shortened."""


def short(name: str, most: int = IN_SENTENCES) -> str:
    """A name of so many characters at most, in one line.

    >>> short("a rather long name", 9), short("two\\nlines")
    ('a rather…', 'two lines')
    """
    line = " ".join(name[: 8 * most].split()) if len(name) > most or not name.isprintable() else name
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"


def fitting(names: Sequence[str], together: int = IN_TABLES) -> list[str]:
    """The names as they are; or, if they are too long together, the longest ones shortened to one common length.

    >>> fitting(["abc", "x" * 100, "y" * 90], 33)
    ['abc', 'xxxxxxxxxxxxxx…', 'yyyyyyyyyyyyyy…']
    """
    lengths = sorted(map(len, names))
    if sum(lengths) <= together:
        return list(names)
    left, limit = together, 1
    for place, length in enumerate(lengths):
        limit = left // (len(lengths) - place)
        if length > limit:
            break
        left -= length
    return [name if len(name) <= limit else name[: max(limit - 1, 1)] + "…" for name in names]
