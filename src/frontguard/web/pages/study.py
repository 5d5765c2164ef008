"""The regions of a study's page: the answer first, then how far it is, the picture, and what stands behind it."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np

from frontguard import plot
from frontguard.markup import Child, Element, element
from frontguard.objectives import Objective, parse_tolerance
from frontguard.phrases import duration, number, number_of
from frontguard.plot.picture import Picture
from frontguard.plot.svg import draw as as_svg
from frontguard.studies.overview import Overview
from frontguard.web.pages.options import Options
from frontguard.web.pages.parts import (
    arm_url,
    better,
    called,
    definition,
    headings,
    last_failure,
    moment,
    nothing,
    region,
    status_chip,
    status_of,
    study_url,
)
from frontguard.words.arm_table import counts
from frontguard.words.certificate import amount, guarantee, tolerance
from frontguard.words.study import answer, more_to_come, too_short

VIEW_NAMES = {"front": "Front", "pairs": "All pairs", "parallel": "Parallel"}
_VIEW_HEADINGS = {"front": "The front", "pairs": "Every pair of objectives", "parallel": "All objectives at once"}
_VIEW_WIDTHS = {"front": 5.8, "pairs": 9.0, "parallel": 7.5}  # inches
SMALL = 4.4
"""Inches: the width of pictures that stand beside others."""

MOST_FAILURES = 100
MOST_WARNINGS = 50
_LONGEST_REASON = 2000


def head_region(overview: Overview) -> Element:
    """The name, the status, and the way back."""
    settings = overview.settings
    back = element("nav", {"aria-label": "Where this is"}, element("a", {"href": "/"}, "All studies"))
    about = f"{number_of(len(settings.arms), 'arm')}, {number_of(len(settings.objectives), 'objective')}"
    title = element("h1", {}, called(overview.name))
    line = element("p", {"class": "about"}, status_chip(status_of(overview)), " ", element("span", {}, about))
    return region("head", None, back, title, line, kind="header")


def answer_region(overview: Overview) -> Element:
    """The answer in a sentence, and what it guarantees."""
    snapshot = overview.snapshot
    promised = guarantee(snapshot.result, failed=snapshot.failed) if snapshot.pulls else None
    return region(
        "answer",
        None,
        element("h2", {"class": "unseen"}, "The answer"),
        element("p", {"class": "answer"}, answer(snapshot)),
        None if promised is None else element("p", {"class": "guarantee"}, promised),
    )


# How far it is --------------------------------------------------------------------------------------------------------


def facts_region(overview: Overview) -> Element:
    """Counts, pace, forecast, and what is certain for each objective beside the goal."""
    snapshot = overview.snapshot
    told = f"{snapshot.pulls:,}"
    if snapshot.most_pulls is not None:
        told += f" of {snapshot.most_pulls:,} allowed"
    terms: list[tuple[str, list[Child]]] = [("Pulls", [told])]
    if status_of(overview) == "running":
        pace = f"{number(round(60.0 * snapshot.rate, 1))}" if snapshot.rate else "none lately"
        terms += [("Pulls a minute", [pace]), ("Under way", [f"{overview.out:,}"])]
    if snapshot.failed:
        terms.append(("Failed", [f"{snapshot.failed:,} ({snapshot.failed / max(snapshot.pulls, 1):.1%})"]))
    if overview.began is not None and overview.last is not None:
        terms.append(("Measured for", [duration(max(overview.last - overview.began, 0.0))]))
        terms.append(("Last pull", [moment(overview.last)]))
    terms.append(("Verdicts", [counts(snapshot.result) or "none yet"]))
    meters = element("ul", {"class": "meters"}, *meters_of(overview))
    goal = element("h3", {}, "What is certain, beside the goal")
    return region("facts", "So far", definition(terms), *_forecast(overview), goal, meters)


def _forecast(overview: Overview) -> list[Element]:
    snapshot = overview.snapshot
    if status_of(overview) != "running" or not snapshot.pulls:
        return []
    said = more_to_come(snapshot)
    lines = [element("p", {"class": "forecast"}, f"{said[0].upper()}{said[1:]}.")]
    if short := too_short(snapshot):
        lines.append(element("p", {"class": "forecast short"}, f"By this forecast {short}."))
    return lines


def progress(now: float, objective: Objective) -> float:
    """How near the goal is, from 0 to 1: the tolerance as a share of what is still uncertain.

    >>> seconds = Objective("seconds", "minimize", "5%")
    >>> progress(0.2, seconds), progress(0.03, seconds), progress(math.inf, seconds)
    (0.25, 1.0, 0.0)
    """
    goal = parse_tolerance(objective.tolerance).amount
    if now <= goal:
        return 1.0
    return 0.0 if math.isnan(now) else goal / now


def meters_of(overview: Overview) -> list[Element]:
    """For each objective a bar that is full when the goal is reached, with the same in words."""
    objectives = overview.settings.objectives
    found = []
    now = overview.snapshot.result.certificate.amounts(objectives)
    for d, (value, objective) in enumerate(zip(now, objectives, strict=True)):
        share = progress(value, objective)
        goal = tolerance(objective)
        words = (
            f"certain within {amount(value, objective)}, goal {goal}"
            if math.isfinite(value)
            else (f"nothing certain yet, goal {goal}")
        )
        full = {"role": "meter", "aria-valuemin": "0", "aria-valuemax": "100", "aria-valuenow": f"{100 * share:.0f}"}
        bar = element(
            "svg",
            {"viewBox": "0 0 100 3", "preserveAspectRatio": "none", "class": "bar", "aria-hidden": "true"},
            element("rect", {"class": "whole", "x": "0", "y": "0", "width": "100", "height": "3"}),
            element("rect", {"class": "done", "x": "0", "y": "0", "width": f"{100 * share:.1f}", "height": "3"}),
        )
        said = element("span", {"class": "words"}, words)
        named = {"aria-label": f"{objective.name}: nearness to the goal", "aria-valuetext": words}
        found.append(
            element("li", {"data-key": d}, called(objective.name), " ", said, element("div", full | named, bar))
        )
    return found


# Pictures -------------------------------------------------------------------------------------------------------------


def figure(picture: Picture, name: str, link: str = "", *, widest: float = 5.8, captioned: bool = True) -> Element:
    """A picture with its caption. `link` is where an arm leads, with {} for its number.

    It is made for a width of so many inches at most: on the page it takes the width that is there, and what was
    meant for more would be too small to read.
    """
    if picture.width > widest:
        picture = replace(picture, width=widest, height=picture.height * (0.4 + 0.6 * widest / picture.width))
    svg = as_svg.drawn(picture, link=(lambda arm: link.replace("{}", str(arm))) if link else None, prefix=f"{name}-")
    caption = element("figcaption", {}, picture.caption) if picture.caption and captioned else None
    return element("figure", {"id": f"{name}-figure"}, svg, caption)


def picture_region(overview: Overview, study: int, options: Options) -> Element:
    """The front, all pairs of objectives, or parallel coordinates; with the choice between them."""
    result, objectives = overview.snapshot.result, overview.settings.objectives
    views = views_of(len(objectives))
    view = options.view if options.view in views else "front"
    heading = _VIEW_HEADINGS[view] if len(objectives) > 1 else "The arms"
    x, y = options.axes(len(objectives))
    choices = element("div", {"class": "choices"}, _views(study, options, views, view), _axes(overview, study, options))
    if not np.isfinite(result.medians).any():
        waiting = element(
            "p", {"class": "waiting"}, "Nothing is measured yet. The picture appears with the first pulls."
        )
        return region("picture", heading, choices, waiting)
    if view == "pairs":
        picture = plot.pairs(result)
    elif view == "parallel":
        picture = plot.parallel(result)
    else:
        picture = plot.front(result, x, y) if len(objectives) > 1 else plot.front(result)
    shown = figure(picture, "picture", _arm_link(study, options), widest=_VIEW_WIDTHS[view])
    return region("picture", heading, choices, shown)


def views_of(objectives: int) -> tuple[str, ...]:
    """The views that differ for so many objectives."""
    return (
        ("front",) if objectives == 1 else ("front", "parallel") if objectives == 2 else ("front", "pairs", "parallel")
    )


def _arm_link(study: int, options: Options) -> str:
    return arm_url(study, 0, options).replace("/arm/0", "/arm/{}", 1)


def _views(study: int, options: Options, views: tuple[str, ...], now: str) -> Element | None:
    if len(views) < 2:
        return None
    links = (
        element(
            "a",
            {
                "href": study_url(study, options.changed(view=view)) + "#picture",
                "id": f"view-{view}",
                "aria-current": "true" if view == now else None,
            },
            VIEW_NAMES[view],
        )
        for view in views
    )
    return element("nav", {"class": "views", "aria-label": "Views"}, *links)


def _axes(overview: Overview, study: int, options: Options) -> Element | None:
    """Two lists to choose the axes from: a plain form, which the script sends as soon as one is changed."""
    objectives = overview.settings.objectives
    if len(objectives) < 2 or (options.view != "front" and options.view in views_of(len(objectives))):
        return None
    chosen = dict(zip(("x", "y"), options.axes(len(objectives)), strict=True))
    labels = {"x": "Across", "y": "Upward"}
    lists = []
    for axis, number_ in chosen.items():
        entries = (
            element("option", {"value": d, "selected": d == number_, "data-key": d}, objective.name)
            for d, objective in enumerate(objectives)
        )
        named = element("select", {"name": axis, "id": f"axis-{axis}"}, *entries)
        lists.append(element("label", {}, labels[axis], " ", named))
    usual = Options()
    kept = (
        element("input", {"type": "hidden", "name": name, "value": getattr(options, name), "data-key": name})
        for name in ("rows", "sort")
        if getattr(options, name) != getattr(usual, name)
    )
    send = element("button", {"type": "submit", "class": "send"}, "Show")
    return element(
        "form", {"class": "axes", "method": "get", "action": f"{study_url(study)}#picture"}, *lists, *kept, send
    )


def certainty_region(overview: Overview) -> Element:
    """What is certain against the goal over pulls, with the forecast."""
    measured = any(parse_tolerance(each.tolerance).amount > 0.0 for each in overview.settings.objectives)
    if not overview.snapshot.pulls or not overview.history.moments or not measured:
        return nothing("certainty")
    left = overview.snapshot.pulls_left if status_of(overview) == "running" else None
    return region("certainty", "Certainty", figure(plot.certainty(overview.history, left), "certainty", widest=SMALL))


def pulls_region(overview: Overview, study: int, options: Options) -> Element:
    """Pulls of each arm."""
    if not overview.snapshot.pulls:
        return nothing("pulls")
    picture = plot.pulls(overview.snapshot.result)
    return region("pulls", "Pulls of each arm", figure(picture, "pulls", _arm_link(study, options), widest=SMALL))


def rate_region(overview: Overview) -> Element:
    """Pulls per minute."""
    if not overview.rate.told.sum():
        return nothing("rate")
    return region("rate", "Pulls a minute", figure(plot.rate(overview.rate), "rate", widest=SMALL))


# What went wrong ------------------------------------------------------------------------------------------------------


def failures_region(overview: Overview, study: int, options: Options) -> Element:
    """Which arms failed, why, and how often; the most frequent first."""
    snapshot = overview.snapshot
    places = {name: arm for arm, name in enumerate(snapshot.result.arms)}
    rows = sorted(
        (
            (count, places[name], reason)
            for name, reasons in snapshot.failures.items()
            for reason, count in reasons.items()
        ),
        key=lambda row: (-row[0], row[1], row[2]),
    )
    if not rows:
        return nothing("failures")
    head = element("tr", {}, *headings(("arm", "reason"), ("times",), ("last",)))
    body = (
        element(
            "tr",
            {},
            element(
                "th",
                {"scope": "row"},
                element("a", {"href": arm_url(study, arm, options)}, called(snapshot.result.arms[arm])),
            ),
            element("td", {}, called(shortened(reason))),
            element("td", {"class": "figure"}, f"{count:,}"),
            element("td", {}, last_failure(overview, snapshot.result.arms[arm], reason)),
        )
        for count, arm, reason in rows[:MOST_FAILURES]
    )
    table = element("table", {}, element("thead", {}, head), element("tbody", {}, *body))
    more = (
        element("p", {"class": "rest"}, f"… and {len(rows) - MOST_FAILURES:,} more")
        if len(rows) > MOST_FAILURES
        else None
    )
    note = element(
        "p",
        {"class": "note"},
        f"{number_of(snapshot.failed, 'pull')} of {snapshot.pulls:,} failed. "
        "A failed pull counts as one that could have measured anything.",
    )
    return region("failures", "Failures", note, element("div", {"class": "wide"}, table), more)


def shortened(reason: str) -> str:
    """A reason, cut where it is longer than anyone reads."""
    return reason if len(reason) <= _LONGEST_REASON else reason[: _LONGEST_REASON - 1] + "…"


def warnings_region(overview: Overview) -> Element:
    """Alarms and other warnings, with the evidence."""
    said = overview.snapshot.result.warnings
    if not said:
        return nothing("warnings")
    items = [element("li", {}, text) for text in said[:MOST_WARNINGS]]
    if len(said) > MOST_WARNINGS:
        items.append(element("li", {}, f"… and {len(said) - MOST_WARNINGS:,} more"))
    return region("warnings", number_of(len(said), "warning").capitalize(), element("ul", {}, *items))


# How it was made ------------------------------------------------------------------------------------------------------


def reproduce_region(overview: Overview) -> Element:
    """Settings, and the spec as it was written, if there is one."""
    settings = overview.settings
    terms: list[tuple[str, list[Child]]] = [
        ("Threat", [f"{settings.threat.name}, up to {100 * settings.threat.eps:.3g}% of the measurements"]),
        ("Confidence", [f"{100 * settings.confidence:.6g}%"]),
        ("Seed", [str(settings.seed)]),
    ]
    for objective in settings.objectives:
        goal = f"{objective.quantile_word}, {better(objective)}, within {tolerance(objective)}"
        terms.append(("Objective", [called(objective.name), f": {goal}"]))
    if settings.spread is not None:
        terms.append(("Spread bound", [str(settings.spread)]))
    for what, most in (("Budget", settings.budget.pulls), ("Budget of each arm", settings.budget.pulls_per_arm)):
        if most is not None:
            terms.append((what, [f"{most:,} pulls"]))
    spec = settings.about.get("spec")
    text = spec if isinstance(spec, str) and spec else json.dumps(settings.about, indent=2, ensure_ascii=False)
    shown = element(
        "details",
        {"id": "spec"},
        element("summary", {}, "The spec as it was written" if spec else "What was noted when it was begun"),
        element("pre", {"tabindex": "0"}, text),
    )
    return region("reproduce", "How it was made", definition(terms), shown if settings.about else None)
