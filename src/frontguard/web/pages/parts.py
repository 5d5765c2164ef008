"""Small pieces that every page uses: names, verdicts, statuses, times, links."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from frontguard.markup import Child, Element, element
from frontguard.objectives import Objective
from frontguard.phrases import number
from frontguard.studies.overview import Overview
from frontguard.studies.snapshot import Snapshot
from frontguard.verdicts import Verdict
from frontguard.web.pages.options import Options

STATUSES = {
    "running": "running",
    "certified": "certified",
    "budget": "budget used up",
    "unreachable": "out of reach",
    "reading": "being read",
    "trouble": "cannot be read",
}
"""What is said of a study; the page adds a shape to each."""


@dataclass(frozen=True)
class Page:
    """A page as data: its title, its regions in their order, and which kind it is.

    A region is an element whose `id` is its name; regions are what events bring up to date one by one. `twin` is where
    the same is found as JSON.
    """

    title: str
    regions: dict[str, Element]
    active: str  # studies, study, arm, reading or message
    twin: str = ""


VERDICT_CLASS = {verdict: verdict.word.removeprefix("set ") for verdict in Verdict}
"""The class by which the style sheet knows a verdict."""


def study_url(study: int, options: Options | None = None) -> str:
    """Where a study is shown; numbers only, so that no name ever stands in a URL."""
    return f"/study/{study}{options.query() if options else ''}"


def arm_url(study: int, arm: int, options: Options | None = None) -> str:
    """Where an arm is shown."""
    return f"/study/{study}/arm/{arm}{options.query() if options else ''}"


def region(name: str, heading: str | None, *children: Child | None, kind: str = "section") -> Element:
    """A part of a page, with a heading that names it for those who jump from one to the next."""
    attributes = {"id": name, "class": "region", "data-place": f"{_place(name):02d}"}
    if heading is None:
        return element(kind, attributes, *children)
    named = element("h2", {"id": f"{name}-heading"}, heading)
    return element(kind, attributes | {"aria-labelledby": f"{name}-heading"}, named, *children)


def nothing(name: str) -> Element:
    """A region that has nothing to say now. It stays in its place, unseen."""
    return element("section", {"id": name, "class": "region", "data-place": f"{_place(name):02d}", "hidden": True})


_PLACES = (
    *("head", "trouble", "message", "studies", "reading", "answer", "warnings", "verdict", "facts", "picture"),
    *("boxes", "values", "certainty", "pulls", "rate", "table", "failures", "latest", "reproduce"),
)


def _place(name: str) -> int:
    return _PLACES.index(name)


def called(text: str, attributes: dict[str, object] | None = None) -> Element:
    """A name that came from elsewhere: shown as it is, and its direction of writing kept to itself."""
    return element("bdi", {"class": "name", **(attributes or {})}, text)


def verdict_mark(verdict: Verdict) -> Element:
    """A verdict in a word, with its colour and shape."""
    return element("span", {"class": f"verdict {VERDICT_CLASS[verdict]}"}, verdict.word)


def status_chip(status: str) -> Element:
    """A status in a word or two, with its shape."""
    return element("span", {"class": f"chip {status}", "data-status": status}, STATUSES[status])


def moment(at: float | None, *, ago: bool = True) -> Child:
    """A time: in UTC here, and on a page with a script how long ago that is."""
    if at is None or not 0.0 < at < 253402300000.0:  # the year 9999
        return "never"
    when = datetime.fromtimestamp(at, UTC)
    attributes: dict[str, object] = {"datetime": when.strftime("%Y-%m-%dT%H:%M:%SZ")}
    if ago:
        attributes["data-at"] = f"{at:.0f}"
    return element("time", attributes, when.strftime("%Y-%m-%d %H:%M:%S UTC"))


def last_failure(overview: Overview, arm: str, reason: str) -> Child:
    """When an arm last failed for a reason."""
    at = overview.failed_at.get((arm, reason))
    return moment(at) if at else "not known"


def better(objective: Objective) -> str:
    """Which direction is better."""
    return "less is better" if objective.minimized else "more is better"


def interval(low: float, high: float) -> str:
    """An interval; empty words where nothing is known."""
    if math.isnan(low) or math.isnan(high):
        return "not known"
    return f"[{number(low)}, {number(high)}]"


def failed_per_arm(snapshot: Snapshot) -> list[int]:
    """How many pulls of each arm failed."""
    counts = {name: sum(reasons.values()) for name, reasons in snapshot.failures.items()}
    return [counts.get(name, 0) for name in snapshot.result.arms]


def status_of(overview: Overview) -> str:
    """The status of the study, one of those that pages know."""
    status = overview.snapshot.result.status
    return status if status in STATUSES else "running"


def headings(texts: Sequence[Child], figures: Sequence[Child] = (), after: Sequence[Child] = ()) -> list[Element]:
    """The heads of columns; those of figures stand to the right, as the figures do."""
    return [
        *(element("th", {"scope": "col"}, text) for text in texts),
        *(element("th", {"scope": "col", "class": "figure"}, text) for text in figures),
        *(element("th", {"scope": "col"}, text) for text in after),
    ]


def definition(terms: Sequence[tuple[str, Sequence[Child]]]) -> Element:
    """Terms and what is said of them, each pair in a group of its own."""
    groups = (element("div", {}, element("dt", {}, term), element("dd", {}, *said)) for term, said in terms)
    return element("dl", {}, *groups)
