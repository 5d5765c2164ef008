"""The list of studies, and pages that have no study to show: one whose log is being read, and one that is not there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from frontguard.markup import Child, Element, element
from frontguard.phrases import one_line
from frontguard.results import Result
from frontguard.web.addresses import Address
from frontguard.web.pages import parts
from frontguard.web.pages.parts import Page, called, cell, line, nothing, region
from frontguard.web.watchers import Seen
from frontguard.words.certificate import certificate_against_goal
from frontguard.words.study import STATUSES, log_being_read


def studies_page(studies: Sequence[Seen]) -> Page:
    """All studies of the storage."""
    regions = {
        "head": region("head", None, element("h1", {}, "Studies"), kind="header"),
        "trouble": nothing("trouble"),
        "studies": _studies(studies),
    }
    return Page("Studies", regions, "studies", Address().twin)


def _studies(studies: Sequence[Seen]) -> Element:
    """A row for each study: status, arms, pulls, verdicts, certificate, last pull."""
    if not studies:
        note = line("note", "It appears here as soon as one is begun in this storage.")
        return region("studies", None, line("answer", "No study yet."), note)
    heads = parts.headings(("study", "status"), ("arms", "pulls"), ("verdicts", "certificate", "last pull"))
    return region("studies", None, parts.table(heads, map(_row, studies), **{"class": "studies"}))


def _row(seen: Seen) -> Element:
    name = parts.name_cell(element("a", {"href": Address(seen.number).page}, called(seen.name)))
    if seen.overview is None:
        said = seen.trouble or log_being_read(seen.told, seen.total)
        status = parts.status_chip("trouble" if seen.trouble else "reading")
        cells = [cell(status), element("td", {"colspan": "5", "class": "note"}, said)]
    else:
        result = seen.overview.snapshot.result
        against = certificate_against_goal(result.nearest, result.metrics)
        cells = [
            cell(parts.status_chip(result.status)),
            parts.figure_cell(f"{len(result.arms):,}"),
            parts.figure_cell(f"{result.pulls:,}"),
            cell(*_counts(result)),
            cell(against[0].upper() + against[1:]),
            cell(parts.moment(seen.overview.last)),
        ]
    return element("tr", {"data-key": seen.number}, name, *cells)


def _counts(result: Result) -> list[Child]:
    said: list[Child] = []
    for verdict, count in result.tally().items():
        said += [" " if said else "", element("span", {"class": "count"}, f"{count:,} ", parts.verdict_mark(verdict))]
    return said


def reading_page(seen: Seen) -> Page:
    """A study whose log is being read for the first time: how far that is, as a bar and in words."""
    share = min(seen.told / seen.total, 1.0) if seen.total else 0.0
    reading = region(
        "reading",
        None,
        line("answer", log_being_read(seen.told, seen.total)),
        parts.meter(share, "Reading the log", "progressbar"),
        line("note", "This happens once; from then on only what is new is read."),
    )
    regions = {
        "head": parts.head(called(seen.name), line("about", parts.status_chip("reading"))),
        "trouble": nothing("trouble"),
        "reading": reading,
    }
    return Page(f"{one_line(seen.name)}: {STATUSES['reading']}", regions, "reading", Address(seen.number).twin)


def message_page(heading: str, *said: str) -> Page:
    """A page that has nothing but something to say: that there is no such study, say. It is not kept up to date."""
    words = [line("answer", each) for each in said]
    regions = {"head": parts.head(heading), "message": region("message", None, *words)}
    return Page(heading, regions, "message")


def with_trouble(page: Page, said: str) -> Page:
    """The same page with a word that the storage cannot be read at the moment; what is shown is the last that was."""
    if not said:
        return page
    note = line("note", "What is shown here is the last that could be read. Trying again.")
    trouble = region("trouble", "The storage cannot be read", element("p", {"role": "alert"}, said), note)
    return replace(page, regions=page.regions | {"trouble": trouble})
