"""The list of studies, and pages that have no study to show yet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from frontguard.markup import Child, Element, element
from frontguard.phrases import number_of
from frontguard.studies.overview import Overview
from frontguard.web.pages.parts import (
    called,
    headings,
    moment,
    region,
    status_chip,
    status_of,
    study_url,
    verdict_mark,
)
from frontguard.words.certificate import certificate_against_goal


@dataclass(frozen=True)
class Unread:
    """A study of which no overview is there yet: its log is being read, or cannot be."""

    name: str
    told: int = 0  # pulls that were read so far
    in_all: int = 0
    trouble: str = ""  # why it cannot be read


def studies_region(overviews: Sequence[Overview | Unread], numbers: Sequence[int]) -> Element:
    """A row for each study: status, arms, pulls, verdicts, certificate, last pull."""
    if not overviews:
        return region(
            "studies",
            None,
            element("p", {"class": "answer"}, "No study yet."),
            element("p", {"class": "note"}, "It appears here as soon as one is begun in this storage."),
        )
    head = element(
        "tr", {}, *headings(("study", "status"), ("arms", "pulls"), ("verdicts", "certificate", "last pull"))
    )
    rows = (_row(each, number) for each, number in zip(overviews, numbers, strict=True))
    table = element("table", {"class": "studies"}, element("thead", {}, head), element("tbody", {}, *rows))
    return region("studies", None, element("div", {"class": "wide"}, table))


def _row(each: Overview | Unread, number: int) -> Element:
    name = element("th", {"scope": "row"}, element("a", {"href": study_url(number)}, called(each.name)))
    if isinstance(each, Unread):
        status = "trouble" if each.trouble else "reading"
        said = each.trouble or how_far(each.told, each.in_all)
        cells = [element("td", {}, status_chip(status)), element("td", {"colspan": "5", "class": "note"}, said)]
    else:
        snapshot = each.snapshot
        against = certificate_against_goal(snapshot.result.certificate, snapshot.objectives)
        cells = [
            element("td", {}, status_chip(status_of(each))),
            element("td", {"class": "figure", "data-label": "arms"}, f"{len(snapshot.result.arms):,}"),
            element("td", {"class": "figure", "data-label": "pulls"}, f"{snapshot.pulls:,}"),
            element("td", {}, *_counts(each)),
            element("td", {}, against[0].upper() + against[1:]),
            element("td", {"data-label": "last pull"}, moment(each.last)),
        ]
    return element("tr", {"data-key": number}, name, *cells)


def _counts(overview: Overview) -> list[Child]:
    said: list[Child] = []
    for verdict, count in overview.snapshot.result.tally().items():
        said += [" " if said else "", element("span", {"class": "count"}, f"{count:,} ", verdict_mark(verdict))]
    return said


def how_far(told: int, in_all: int) -> str:
    """How much of a log has been read, in words.

    >>> how_far(0, 0), how_far(1200, 4800)
    ('The log is being read.', 'The log is being read: 1,200 of 4,800 pulls.')
    """
    return f"The log is being read: {told:,} of {number_of(in_all, 'pull')}." if in_all else "The log is being read."


def reading_region(told: int, in_all: int) -> Element:
    """How far the log has been read, as a bar and in words."""
    share = min(told / in_all, 1.0) if in_all else 0.0
    bar = element(
        "svg",
        {"viewBox": "0 0 100 3", "preserveAspectRatio": "none", "class": "bar", "aria-hidden": "true"},
        element("rect", {"class": "whole", "x": "0", "y": "0", "width": "100", "height": "3"}),
        element("rect", {"class": "done", "x": "0", "y": "0", "width": f"{100 * share:.1f}", "height": "3"}),
    )
    full = {
        "role": "progressbar",
        "aria-label": "Reading the log",
        "aria-valuemin": "0",
        "aria-valuemax": "100",
        "aria-valuenow": f"{100 * share:.0f}",
    }
    said = element("p", {"class": "answer"}, how_far(told, in_all))
    note = element("p", {"class": "note"}, "This happens once; from then on only what is new is read.")
    return region("reading", None, said, element("div", full, bar), note)
