"""The page of an arm: its verdict and why, how its box shrank, what was measured, what failed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from frontguard import plot
from frontguard.markup import Child, Element, element
from frontguard.phrases import cut_in_the_middle, number, one_line, percent
from frontguard.results import Result
from frontguard.studies.overview import Measurements, Overview
from frontguard.verdicts import Verdict
from frontguard.web.addresses import Address
from frontguard.web.pages import parts
from frontguard.web.pages.parts import Page, called, cell, figure_cell, line, nothing, region
from frontguard.words.arm_table import estimate_cells
from frontguard.words.certificate import objective_in_short, tolerance
from frontguard.words.comparisons import effect_cell
from frontguard.words.limits import keeping_in_words
from frontguard.words.study import why

_LATEST = 50  # pulls that are listed one by one
_MOST_RIVALS = 8  # with which an arm is compared

COMPARED_NOTE = (
    "× is how many times as much as the other arm has, + how much more; better or worse beyond the tolerance."
)
"""What the table of comparisons means."""


def arm_page(overview: Overview, address: Address, measurements: Measurements, baseline: str | None = None) -> Page:
    """An arm of a study: its verdict and why, how it compares, how its box shrank, what was measured."""
    arm, result = measurements.arm, overview.snapshot.result
    regions = {
        "head": _head(overview, address, arm),
        "trouble": nothing("trouble"),
        "verdict": _verdict(overview, address, arm),
        "compared": _compared(result, address, arm, baseline),
        "boxes": _boxes(overview, arm),
        "values": _values(overview, measurements),
        "failures": parts.failures_region(overview, [measurements.name]),
        "latest": _latest(measurements),
    }
    return Page(f"{one_line(measurements.name)}: {result.verdict(arm).word}", regions, "arm", address.twin)


def _head(overview: Overview, address: Address, arm: int) -> Element:
    """The arm's name, the way back, and the arms before and after it."""
    result = overview.snapshot.result
    names = result.arms
    above = (" / ", element("a", {"href": address.to()}, called(overview.name)))
    beside: list[Element] = []
    if arm > 0:
        link = {"href": address.to(arm - 1), "rel": "prev", "id": "previous-arm"}
        beside.append(element("a", link, "← ", called(names[arm - 1])))
    if arm + 1 < len(names):
        link = {"href": address.to(arm + 1), "rel": "next", "id": "next-arm"}
        beside.append(element("a", link, called(names[arm + 1]), " →"))
    others = element("nav", {"class": "beside", "aria-label": "Other arms"}, *beside) if beside else None
    place = f" · arm {arm + 1:,} of {len(names):,} · study "
    about = line("about", parts.verdict_mark(result.verdict(arm)), place, parts.status_chip(result.status))
    return parts.head(called(names[arm]), about, others, above=above)


def _verdict(overview: Overview, address: Address, arm: int) -> Element:
    """The verdict and its reason, with the interval of each objective."""
    snapshot = overview.snapshot
    result, rival = snapshot.result, int(snapshot.result.decided_by[arm])
    compare: Element | None = None
    if rival >= 0:
        compare = line("note", "Decided by ", parts.arm_link(result.arms[rival], address, rival), ".")
    pulls, failed = int(result.pulls_per_arm[arm]), int(snapshot.failed_per_arm[arm])
    terms: list[tuple[str, list[Child]]] = [("Pulls", [f"{pulls:,}"])]
    if failed:
        terms.append(("Failed", [f"{failed:,} ({percent(failed / max(pulls, 1))})"]))
    rows = []
    for d, objective in enumerate(overview.settings.question.objectives):
        (estimate,) = estimate_cells(result, d, np.array([arm]))
        rows.append(
            element(
                "tr",
                {},
                parts.name_cell(called(objective.name), element("small", {}, f" {objective_in_short(objective)}")),
                figure_cell(estimate.text or "not measured"),
                figure_cell(estimate.beside or ("not known" if estimate.value is None else "exact")),
                figure_cell(f"within {tolerance(objective)}"),
            )
        )
    said = why(snapshot, arm)
    return region(
        "verdict",
        None,
        element("h2", {"class": "unseen"}, "The verdict"),
        line("answer", f"{said[0].upper()}{said[1:]}."),
        compare,
        *_limits(result, arm),
        parts.definition(terms),
        parts.table(parts.headings(("objective",), ("value", "interval", "goal")), rows),
    )


def _limits(result: Result, arm: int) -> list[Element]:
    """How the arm stands to each limit."""
    kept = result.limits
    if kept is None:
        return []
    said = (keeping_in_words(kept, arm, place) for place in range(len(kept.gates)))
    return [line("note", f"{each[0].upper()}{each[1:]}.") for each in said]


def rivals_of(result: Result, arm: int, baseline: str | None) -> list[int]:
    """The arms that an arm is compared with: the baseline, if there is such an arm, or those that are returned."""
    if baseline is not None and baseline in result.arms:
        return [place for place in (result.arms.index(baseline),) if place != arm]
    listed = np.flatnonzero(result.having(Verdict.IN)).tolist()
    return [place for place in listed if place != arm][:_MOST_RIVALS]


def _compared(result: Result, address: Address, arm: int, baseline: str | None) -> Element:
    """How the arm compares with the baseline, or with the arms that are returned."""
    rivals = rivals_of(result, arm, baseline)
    if not rivals or not result.pulls_per_arm[arm]:
        return nothing("compared")
    rows = []
    for rival in rivals:
        cells = []
        for effect in result.compare(result.arms[arm], result.arms[rival]).effects:
            found = effect_cell(effect)
            text = f"{found.estimate} {found.interval}".strip()
            cells.append(figure_cell(text, element("small", {}, f" {found.contrast.word}")))
        named = parts.name_cell("against ", parts.arm_link(result.arms[rival], address, rival))
        rows.append(element("tr", {"data-key": rival}, named, *cells))
    names = [called(metric.name) for metric in result.metrics]
    promised = line("note", COMPARED_NOTE)
    return region("compared", "How it compares", parts.table(parts.headings(("",), names), rows), promised)


def _boxes(overview: Overview, arm: int) -> Element:
    """How the arm's intervals shrank over the study's pulls, beside those of the arm that decides it."""
    result, history = overview.snapshot.result, overview.history
    if not result.pulls_per_arm[arm] or not history.moments:
        return nothing("boxes")
    rival = int(result.decided_by[arm])
    shown = [arm] if rival in (-1, arm) else [arm, rival]
    return region("boxes", "How its box shrank", parts.figure(plot.shrinking(history, shown), "boxes", widest=7.5))


def _values(overview: Overview, measurements: Measurements) -> Element:
    """What was measured, pull by pull, with what looks like contamination."""
    shown, last = len(measurements.pulls), len(measurements.objectives) - 1
    if not shown:
        return region("values", "What was measured", line("waiting", "Nothing is measured yet."))
    eps = overview.settings.question.threat.eps
    figures = [
        parts.figure(
            # The page is called after the arm already; and there must be room below what is said of the suspects.
            replace(plot.measurements(measurements, overview.history, d, contamination=eps), title="", height=3.4),
            f"values-{d}",
            widest=5.4,
            captioned=d == last,  # it is the same for all
        )
        for d in range(last + 1)
    ]
    said = f"The last {shown:,} of {measurements.total:,} pulls are shown."
    note = line("note", said) if shown < measurements.total else None
    return region("values", "What was measured", note, element("div", {"class": "figures"}, *figures))


def _latest(measurements: Measurements) -> Element:
    """The latest pulls, one by one, the last first."""
    count = len(measurements.pulls)
    if not count:
        return nothing("latest")
    rows = []
    for i in range(count - 1, max(count - _LATEST, 0) - 1, -1):
        pull, reason = int(measurements.pulls[i]), measurements.reasons[i]
        rows.append(
            element(
                "tr",
                {"data-key": pull},
                figure_cell(f"{pull:,}"),
                *(figure_cell("" if np.isnan(value) else number(float(value))) for value in measurements.values[i]),
                cell(called(cut_in_the_middle(reason, parts.LONGEST_REASON))) if reason else cell(),
                cell(called(measurements.workers[i])),
                cell(parts.moment(float(measurements.at[i]), ago=False)),
            )
        )
    names = [called(each.name) for each in measurements.objectives]
    table = parts.table(parts.headings((), ("pull", *names), ("failed", "worker", "when")), rows)
    every = count <= _LATEST and count == measurements.total
    return region("latest", "All pulls" if every else f"The latest {len(rows)} pulls", table)
