"""The page of a study: the answer first, then how far it is, the picture, and what stands behind it."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import ROUND_FLOOR

import numpy as np

from frontguard import plot
from frontguard.markup import Child, Element, element
from frontguard.objectives import parse_tolerance
from frontguard.phrases import cost_in_words, duration, number, number_of, one_line, percent
from frontguard.studies.overview import Overview
from frontguard.web.addresses import VIEWS, Address
from frontguard.web.pages import parts
from frontguard.web.pages.parts import Page, called, figure, line, nothing, region
from frontguard.web.pages.table import table_region
from frontguard.words.arm_table import counts, with_short_names
from frontguard.words.certificate import guarantee, nearness, objective_in_short, one_beside_goal, tolerance
from frontguard.words.limits import limit_in_words
from frontguard.words.study import STATUSES, answer, failures_in_words, more_to_come, spent_in_words, too_short
from frontguard.words.threats import may_lie

_VIEW_NAMES = {"front": "Front", "pairs": "All pairs", "parallel": "Parallel"}
_VIEW_HEADINGS = {"front": "The front", "pairs": "Every pair of objectives", "parallel": "All objectives at once"}
_VIEW_WIDTHS = {"front": 5.8, "pairs": 9.0, "parallel": 7.5}  # inches
_SMALL = 4.4  # inches: the width of pictures that stand beside others
_MOST_WARNINGS = 50


def study_page(overview: Overview, address: Address) -> Page:
    """A study: the answer, how far it is, pictures, the arms, what failed, how it was made."""
    arms, failed = overview.snapshot.result.arms, line("note", failures_in_words(overview.snapshot))
    regions = {
        "head": _head(overview),
        "trouble": nothing("trouble"),
        "answer": _answer(overview),
        "warnings": _warnings(overview),
        "facts": _facts(overview),
        "picture": _picture(overview, address),
        "certainty": _certainty(overview),
        "pulls": _pulls(overview, address),
        "rate": _rate(overview),
        "table": table_region(overview, address),
        "failures": parts.failures_region(overview, arms, failed, address=address),
        "reproduce": _reproduce(overview),
    }
    title = f"{one_line(overview.name)}: {STATUSES[overview.snapshot.result.status]}"
    return Page(title, regions, "study", address.twin)


def _head(overview: Overview) -> Element:
    settings = overview.settings
    about = f"{number_of(len(settings.arms), 'arm')}, {number_of(len(settings.objectives), 'objective')}"
    status = parts.status_chip(overview.snapshot.result.status)
    return parts.head(called(overview.name), line("about", status, " ", element("span", {}, about)))


def _answer(overview: Overview) -> Element:
    """The answer in a sentence, and what it guarantees."""
    snapshot = replace(overview.snapshot, result=with_short_names(overview.snapshot.result))
    heading = element("h2", {"class": "unseen"}, "The answer")
    promise = line("guarantee", guarantee(snapshot.result, failed=snapshot.failed)) if snapshot.pulls else None
    return region("answer", None, heading, line("answer", answer(snapshot)), promise)


# How far it is --------------------------------------------------------------------------------------------------------


def _facts(overview: Overview) -> Element:
    """Counts, pace, forecast, and what is certain for each objective beside the goal."""
    snapshot = overview.snapshot
    told = f"{snapshot.pulls:,}"
    if snapshot.max_pulls is not None:
        told += f" of {snapshot.max_pulls:,} allowed"
    terms: list[tuple[str, list[Child]]] = [("Pulls", [told])]
    if snapshot.result.cost is not None:
        terms.append(("Cost", [spent_in_words(snapshot.result.cost, snapshot.max_cost)]))
    if snapshot.result.status == "running":
        pace = f"{number(round(60.0 * snapshot.rate, 1))}" if snapshot.rate else "none lately"
        terms += [("Pulls a minute", [pace]), ("Under way", [f"{overview.out:,}"])]
    if snapshot.failed:
        terms.append(("Failed", [f"{snapshot.failed:,} ({percent(snapshot.failed / max(snapshot.pulls, 1))})"]))
    if overview.began is not None and overview.last is not None:
        terms.append(("Measured for", [duration(max(overview.last - overview.began, 0.0))]))
        terms.append(("Last pull", [parts.moment(overview.last)]))
    terms.append(("Verdicts", [counts(snapshot.result) or "none yet"]))
    goal = element("h3", {}, "What is certain, beside the goal")
    meters = element("ul", {"class": "meters"}, *_meters(overview))
    return region("facts", "So far", parts.definition(terms), *_forecast(overview), goal, meters)


def _forecast(overview: Overview) -> list[Element]:
    snapshot = overview.snapshot
    if snapshot.result.status != "running" or not snapshot.pulls:
        return []
    said = more_to_come(snapshot)
    lines = [line("forecast", f"{said[0].upper()}{said[1:]}.")]
    if short := too_short(snapshot):
        lines.append(line("forecast short", f"By this forecast {short}."))
    return lines


def _meters(overview: Overview) -> list[Element]:
    """For each objective a bar that is full when the goal is reached, with the same in words."""
    objectives = overview.settings.objectives
    found = []
    for d, (value, objective) in enumerate(
        zip(overview.snapshot.result.nearest.amounts(objectives), objectives, strict=True)
    ):
        words = one_beside_goal(value, objective)
        bar = parts.meter(nearness(value, objective), f"{objective.name}: nearness to the goal", text=words)
        said = element("span", {"class": "words"}, words)
        found.append(element("li", {"data-key": d}, called(objective.name), " ", said, bar))
    return found


# Pictures -------------------------------------------------------------------------------------------------------------


def _picture(overview: Overview, address: Address) -> Element:
    """The front, all pairs of objectives, or parallel coordinates; with the choice between them."""
    result, objectives = overview.snapshot.result, overview.settings.objectives
    views, options = views_of(len(objectives)), address.options
    view = options.view if options.view in views else "front"
    heading = _VIEW_HEADINGS[view] if len(objectives) > 1 else "The arms"
    choices = element("div", {"class": "choices"}, _views(address, views, view), _axes(overview, address))
    if not np.isfinite(result.estimates).any():
        waiting = line("waiting", "Nothing is measured yet. The picture appears with the first pulls.")
        return region("picture", heading, choices, waiting)
    if view == "pairs":
        picture = plot.pairs(result)
    elif view == "parallel":
        picture = plot.parallel(result)
    else:
        picture = plot.front(result, *options.axes(len(objectives))) if len(objectives) > 1 else plot.front(result)
    shown = figure(picture, "picture", _arm_urls(address), widest=_VIEW_WIDTHS[view])
    return region("picture", heading, choices, shown)


def views_of(objectives: int) -> tuple[str, ...]:
    """The views that differ for so many objectives."""
    return VIEWS if objectives > 2 else ("front", "parallel")[:objectives]


def _arm_urls(address: Address) -> str:
    return address.to(0).replace("/arm/0", "/arm/{}", 1)


def _views(address: Address, views: tuple[str, ...], now: str) -> Element | None:
    if len(views) < 2:
        return None
    links = []
    for view in views:
        url = address.to(view=view) + "#picture"
        current = "true" if view == now else None
        links.append(element("a", {"href": url, "id": f"view-{view}", "aria-current": current}, _VIEW_NAMES[view]))
    return element("nav", {"class": "views", "aria-label": "Views"}, *links)


def _axes(overview: Overview, address: Address) -> Element | None:
    """Two lists to choose the axes from: a plain form, which the script sends as soon as one is changed."""
    objectives, options = overview.settings.objectives, address.options
    if len(objectives) < 2 or (options.view != "front" and options.view in views_of(len(objectives))):
        return None
    lists = []
    for axis, label, chosen in zip(("x", "y"), ("Across", "Upward"), options.axes(len(objectives)), strict=True):
        entries = (
            element("option", {"value": d, "selected": d == chosen, "data-key": d}, objective.name)
            for d, objective in enumerate(objectives)
        )
        lists.append(
            element("label", {}, label, " ", element("select", {"name": axis, "id": f"axis-{axis}"}, *entries))
        )
    kept = (
        element("input", {"type": "hidden", "name": name, "value": value, "data-key": name})
        for name, value in options.chosen.items()
        if name in ("rows", "sort")
    )
    send = element("button", {"type": "submit", "class": "send"}, "Show")
    action = f"{Address(address.study).page}#picture"
    return element("form", {"class": "axes", "method": "get", "action": action}, *lists, *kept, send)


def _certainty(overview: Overview) -> Element:
    """What is certain against the goal over pulls, with the forecast."""
    snapshot = overview.snapshot
    measured = any(parse_tolerance(each.tolerance).amount > 0.0 for each in overview.settings.objectives)
    if not snapshot.pulls or not overview.history.moments or not measured:
        return nothing("certainty")
    left = snapshot.pulls_left if snapshot.result.status == "running" else None
    return region("certainty", "Certainty", figure(plot.certainty(overview.history, left), "certainty", widest=_SMALL))


def _pulls(overview: Overview, address: Address) -> Element:
    if not overview.snapshot.pulls:
        return nothing("pulls")
    picture = plot.pulls(overview.snapshot.result)
    return region("pulls", "Pulls of each arm", figure(picture, "pulls", _arm_urls(address), widest=_SMALL))


def _rate(overview: Overview) -> Element:
    if not overview.rate.told.sum():
        return nothing("rate")
    return region("rate", "Pulls a minute", figure(plot.rate(overview.rate), "rate", widest=_SMALL))


# What went wrong, and how it was made ---------------------------------------------------------------------------------


def _warnings(overview: Overview) -> Element:
    """Alarms and other warnings, with the evidence."""
    said = overview.snapshot.result.warnings
    if not said:
        return nothing("warnings")
    items = [element("li", {}, text) for text in said[:_MOST_WARNINGS]]
    if len(said) > _MOST_WARNINGS:
        items.append(element("li", {}, f"… and {len(said) - _MOST_WARNINGS:,} more"))
    return region("warnings", number_of(len(said), "warning").capitalize(), element("ul", {}, *items))


def _reproduce(overview: Overview) -> Element:
    """Settings, and the spec as it was written, if there is one."""
    settings = overview.settings
    terms: list[tuple[str, list[Child]]] = [
        ("Measurements that may lie", [may_lie(settings.threat.name, settings.threat.eps)]),
        ("Confidence", [percent(settings.confidence, ROUND_FLOOR)]),
        ("Goal", ["the short list" if settings.goal == "list" else "the front"]),
        ("Seed", [str(settings.seed)]),
    ]
    for objective in settings.objectives:
        goal = f"{objective_in_short(objective)}, within {tolerance(objective)}"
        terms.append(("Objective", [called(objective.name), f": {goal}"]))
    for gate in settings.columns.gates:
        terms.append(("Limit", [called(limit_in_words(gate))]))
    if settings.spread is not None:
        terms.append(("Spread bound", [str(settings.spread)]))
    for what, most in (
        ("Budget", settings.budget.max_pulls),
        ("Budget of each arm", settings.budget.max_pulls_per_arm),
    ):
        if most is not None:
            terms.append((what, [f"{most:,} pulls"]))
    if settings.cost is not None:
        what = settings.cost.metric or f"by arm, in {settings.cost.unit}"
        terms.append(("Cost of a pull", [called(what)]))
        if settings.budget.max_cost is not None:
            terms.append(("Budget of cost", [cost_in_words(settings.budget.max_cost, settings.cost.unit)]))
    spec = settings.about.get("spec")
    text = spec if isinstance(spec, str) and spec else json.dumps(settings.about, indent=2, ensure_ascii=False)
    summary = element("summary", {}, "The spec as it was written" if spec else "What was noted when it was begun")
    shown = element("details", {"id": "spec"}, summary, element("pre", {"tabindex": "0"}, text))
    return region("reproduce", "How it was made", parts.definition(terms), shown if settings.about else None)
