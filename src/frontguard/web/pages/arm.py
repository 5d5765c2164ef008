"""The regions of an arm's page: its verdict and why, how its box shrank, what was measured, what failed."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

import numpy as np

from frontguard import plot
from frontguard.markup import Child, Element, element
from frontguard.notices import reasons_of
from frontguard.phrases import number, number_of
from frontguard.studies.overview import Measurements, Overview
from frontguard.web.pages.options import Options
from frontguard.web.pages.parts import (
    arm_url,
    better,
    called,
    definition,
    failed_per_arm,
    headings,
    interval,
    last_failure,
    moment,
    nothing,
    region,
    status_chip,
    status_of,
    study_url,
    verdict_mark,
)
from frontguard.web.pages.study import figure, shortened
from frontguard.words.certificate import tolerance
from frontguard.words.notices import reasons_in_words

LATEST = 50
"""Pulls that are listed one by one."""

MOST_REASONS = 100


def head_region(overview: Overview, study: int, arm: int, options: Options) -> Element:
    """The arm's name, the way back, and the arms before and after it."""
    names = overview.snapshot.result.arms
    back = element(
        "nav",
        {"aria-label": "Where this is"},
        element("a", {"href": "/"}, "All studies"),
        " / ",
        element("a", {"href": study_url(study, options)}, called(overview.name)),
    )
    beside: list[Child | None] = [None, None]
    if arm > 0:
        url = arm_url(study, arm - 1, options)
        beside[0] = element("a", {"href": url, "rel": "prev", "id": "previous-arm"}, "← ", called(names[arm - 1]))
    if arm + 1 < len(names):
        url = arm_url(study, arm + 1, options)
        beside[1] = element("a", {"href": url, "rel": "next", "id": "next-arm"}, called(names[arm + 1]), " →")
    others = element("nav", {"class": "beside", "aria-label": "Other arms"}, *beside) if len(names) > 1 else None
    line = element(
        "p",
        {"class": "about"},
        verdict_mark(overview.snapshot.result.verdict(arm)),
        f" · arm {arm + 1:,} of {len(names):,} · study ",
        status_chip(status_of(overview)),
    )
    return region("head", None, back, element("h1", {}, called(names[arm])), line, others, kind="header")


def why(overview: Overview, arm: int) -> str:
    """Why the arm has its verdict, in a sentence."""
    snapshot = overview.snapshot
    name = snapshot.result.arms[arm]
    if name in snapshot.aside:
        reasons = snapshot.failures.get(name, Counter())
        failed = f"{sum(reasons.values()):,} of {number_of(int(snapshot.result.pulls_per_arm[arm]), 'pull')} failed"
        return f"set aside: {failed} ({reasons_in_words(reasons_of(reasons))}); the answer is about the other arms"
    return snapshot.result.explain(name)


def verdict_region(overview: Overview, study: int, arm: int, options: Options) -> Element:
    """The verdict and its reason, with the interval of each objective."""
    snapshot = overview.snapshot
    result, objectives = snapshot.result, overview.settings.objectives
    rival = int(result.decided_by[arm])
    compare: Element | None = None
    if rival >= 0:
        link = element("a", {"href": arm_url(study, rival, options)}, called(result.arms[rival]))
        compare = element("p", {"class": "note"}, "Decided by ", link, ".")
    pulls, failed = int(result.pulls_per_arm[arm]), failed_per_arm(snapshot)[arm]
    terms: list[tuple[str, list[Child]]] = [("Pulls", [f"{pulls:,}"])]
    if failed:
        terms.append(("Failed", [f"{failed:,} ({failed / max(pulls, 1):.1%})"]))
    head = element("tr", {}, *headings(("objective",), ("value", "interval", "goal")))
    medians, (low, high) = result.medians, result.bounds
    rows = (
        element(
            "tr",
            {},
            element(
                "th",
                {"scope": "row"},
                called(objective.name),
                element("small", {}, f" {objective.quantile_word}, {better(objective)}"),
            ),
            element("td", {"class": "figure"}, number(v) if math.isfinite(v := medians[arm, d]) else "not measured"),
            element("td", {"class": "figure"}, interval(low[arm, d], high[arm, d])),
            element("td", {"class": "figure"}, f"within {tolerance(objective)}"),
        )
        for d, objective in enumerate(objectives)
    )
    table = element("table", {}, element("thead", {}, head), element("tbody", {}, *rows))
    said = why(overview, arm)
    return region(
        "verdict",
        None,
        element("h2", {"class": "unseen"}, "The verdict"),
        element("p", {"class": "answer"}, f"{said[0].upper()}{said[1:]}."),
        compare,
        definition(terms),
        element("div", {"class": "wide"}, table),
    )


def boxes_region(overview: Overview, arm: int) -> Element:
    """How the arm's intervals shrank over the study's pulls, beside those of the arm that decides it."""
    result, history = overview.snapshot.result, overview.history
    if not result.pulls_per_arm[arm] or not history.moments:
        return nothing("boxes")
    rival = int(result.decided_by[arm])
    shown = [arm] if rival in (-1, arm) else [arm, rival]
    return region("boxes", "How its box shrank", figure(plot.shrinking(history, shown), "boxes", widest=7.5))


def values_region(overview: Overview, measurements: Measurements) -> Element:
    """What was measured, pull by pull, with what looks like contamination."""
    if not len(measurements.pulls):
        waiting = element("p", {"class": "waiting"}, "Nothing is measured yet.")
        return region("values", "What was measured", waiting)
    eps = overview.settings.threat.eps
    last = len(measurements.objectives) - 1
    figures = [
        figure(
            # The page is called after the arm already; and there must be room below what is said of the suspects.
            replace(plot.measurements(measurements, overview.history, d, contamination=eps), title="", height=3.4),
            f"values-{d}",
            widest=5.4,
            captioned=d == last,  # it is the same for all
        )
        for d in range(last + 1)
    ]
    shown = len(measurements.pulls)
    said = f"The last {shown:,} of {measurements.total:,} pulls are shown."
    note = element("p", {"class": "note"}, said) if shown < measurements.total else None
    return region("values", "What was measured", note, element("div", {"class": "figures"}, *figures))


def failures_region(overview: Overview, measurements: Measurements) -> Element:
    """Why pulls of this arm failed, how often, and when last."""
    reasons = overview.snapshot.failures.get(measurements.name, Counter())
    if not reasons:
        return nothing("failures")
    head = element("tr", {}, *headings(("reason",), ("times",), ("last",)))
    found = reasons.most_common()
    body = (
        element(
            "tr",
            {},
            element("td", {}, called(shortened(reason))),
            element("td", {"class": "figure"}, f"{count:,}"),
            element("td", {}, last_failure(overview, measurements.name, reason)),
        )
        for reason, count in found[:MOST_REASONS]
    )
    more = f"… and {len(found) - MOST_REASONS:,} more reasons" if len(found) > MOST_REASONS else ""
    table = element("table", {}, element("thead", {}, head), element("tbody", {}, *body))
    rest = element("p", {"class": "rest"}, more) if more else None
    return region("failures", "Failures", element("div", {"class": "wide"}, table), rest)


def latest_region(measurements: Measurements) -> Element:
    """The latest pulls, one by one, the last first."""
    count = len(measurements.pulls)
    if not count:
        return nothing("latest")
    names = [called(each.name) for each in measurements.objectives]
    head = element("tr", {}, *headings((), ("pull", *names), ("failed", "worker", "when")))
    rows = []
    for i in range(count - 1, max(count - LATEST, 0) - 1, -1):
        values = (
            element("td", {"class": "figure"}, "" if np.isnan(value) else number(float(value)))
            for value in measurements.values[i]
        )
        pull = int(measurements.pulls[i])
        rows.append(
            element(
                "tr",
                {"data-key": pull},
                element("td", {"class": "figure"}, f"{pull:,}"),
                *values,
                element("td", {}, called(shortened(measurements.reasons[i])))
                if measurements.reasons[i]
                else element("td"),
                element("td", {}, called(measurements.workers[i])),
                element("td", {}, moment(float(measurements.at[i]), ago=False)),
            )
        )
    table = element("table", {}, element("thead", {}, head), element("tbody", {}, *rows))
    heading = "All pulls" if count <= LATEST and count == measurements.total else f"The latest {len(rows)} pulls"
    return region("latest", heading, element("div", {"class": "wide"}, table))
