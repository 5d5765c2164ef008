"""Pages of studies: the list, one study with its arms, one whose log is being read, one that is not there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from frontguard import plot
from frontguard.markup import Child, Element, element
from frontguard.objectives import parse_tolerance
from frontguard.phrases import duration, number, number_of, one_line, percent
from frontguard.reports.arms import facts_of
from frontguard.reports.model import Fact
from frontguard.reports.of_results import study_steps
from frontguard.results import Result
from frontguard.studies.overview import Overview
from frontguard.web.addresses import VIEWS, Address
from frontguard.web.pages import parts
from frontguard.web.pages.parts import Page, arm_link, called, cell, figure, line, nothing, region
from frontguard.web.watchers import Seen
from frontguard.words.arm_table import ArmColumn, ArmRow, arm_table, counts, order_by, with_short_names
from frontguard.words.certificate import (
    certificate_against_goal,
    guarantee,
    nearness,
    objective_in_short,
    one_beside_goal,
)
from frontguard.words.study import (
    STATUSES,
    answer,
    failures_in_words,
    log_being_read,
    more_to_come,
    spent_in_words,
    too_short,
)


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
    return region("studies", None, parts.table(heads, map(_study_row, studies), **{"class": "studies"}))


def _study_row(seen: Seen) -> Element:
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
    about = f"{number_of(len(settings.arms), 'arm')}, {number_of(len(settings.question.objectives), 'objective')}"
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
    objectives = overview.settings.question.objectives
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
    result, objectives = overview.snapshot.result, overview.settings.question.objectives
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
    objectives, options = overview.settings.question.objectives, address.options
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
    measured = any(parse_tolerance(each.tolerance).amount > 0.0 for each in overview.settings.question.objectives)
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
    """What was asked, and what is needed to make it again: the spec as it was written, if there is one."""
    *facts, spec = *facts_of(overview.snapshot.result), *study_steps(overview)
    if (most := overview.snapshot.max_pulls) is not None:
        facts.append(Fact("Budget", f"{most:,} pulls"))
    # How many pulls there are stands above: nothing changes here while a study goes on.
    kept = [fact for fact in facts if not fact.verbatim and fact.label != "Pulls"]
    terms: list[tuple[str, list[Child]]] = [(fact.label, [called(fact.value)]) for fact in kept]
    text = element("pre", {"tabindex": "0"}, spec.value)
    folded = element("details", {"id": "spec"}, element("summary", {}, spec.label), text)
    return region("reproduce", "How it was made", parts.definition(terms), folded)


SOME_ROWS = 200
ALL_ROWS = 5000
"""Rows that are shown at first, and at most: the JSON twin has them all."""

LONG_NAME = 40
"""Characters of a name from which on names get more room."""


def order_of(overview: Overview, sort: str) -> list[int]:
    """Numbers of the arms in the order that a URL wants."""
    snapshot, column = overview.snapshot, sort.removeprefix("-")
    turned, failed = sort.startswith("-"), snapshot.failed_per_arm
    found = order_by(snapshot.result, "arm" if column == "name" else column, turned=turned, failed=failed)
    return [int(arm) for arm in found]


def table_region(overview: Overview, address: Address) -> Element:
    """The arms, the front first unless another order is chosen."""
    result = overview.snapshot.result
    if not result.arms:
        return nothing("table")
    options, wanted = address.options, order_of(overview, address.options.sort)
    shown = wanted[: ALL_ROWS if options.rows == "all" else SOME_ROWS]
    made = arm_table(result, shown, failed=overview.snapshot.failed_per_arm)
    numbers = {name: arm for arm, name in enumerate(result.arms)}
    rows = [
        element(
            "tr",
            {"data-key": row.arm, "data-verdict": row.verdict.word},
            *(_arm_cell(column, row, address, numbers) for column in made.columns),
        )
        for row in made.rows
    ]
    long = any(len(result.arms[arm]) > LONG_NAME for arm in shown)
    table = parts.table(
        [_column_head(column, result, address) for column in made.columns],
        rows,
        caption=f"The {number_of(len(wanted), 'arm')} of the study{f' ({made.key})' if made.key else ''}",
        **{"id": "arms", "class": "arms long" if long else "arms"},
    )
    # The filter is a matter of the script alone; it puts its box where this says.
    tools = element("div", {"class": "tools"}, element("div", {"id": "filter-place", "data-local": "filter"}))
    more: Child = "The JSON of this page has them all."
    if options.rows != "all":
        url = address.to(rows="all") + "#table"
        more = element("a", {"href": url}, "Show all" if len(wanted) <= ALL_ROWS else f"Show {ALL_ROWS:,}")
    rest = parts.line("rest", f"{made.rest}. ", more) if made.rest else None
    return region("table", "Arms", tools, table, rest)


_BY = ("decided by", "instead")  # columns that name another arm


def _column_head(column: ArmColumn, result: Result, address: Address) -> Element:
    """The head of a column, which leads to the table sorted by it where that can be."""
    name, sort = "name" if column.name == "arm" else column.name, address.options.sort
    label = called(column.heading) if column.below else column.heading  # names of metrics and limits are anybody's
    if name in _BY or name.startswith("limit"):
        return element("th", {"scope": "col", "class": "by" if name in _BY else None}, label)
    now, turned = sort.removeprefix("-") == name, sort.startswith("-")
    url = address.to(sort=f"-{name}" if now and not turned else name) + "#table"
    # Names and verdicts ascend by their alphabet and rank; of numbers the best or the most come first.
    order = ("ascending" if turned == column.number else "descending") if now else None
    said = element("small", {}, objective_in_short(result.metrics[int(name[1:])])) if column.below else None
    link = element("a", {"href": url, "id": f"sort-{name}"}, label)
    kind = "figure" if column.number else None
    return element("th", {"scope": "col", "aria-sort": order, "class": kind}, link, said)


def _arm_cell(column: ArmColumn, row: ArmRow, address: Address, numbers: Mapping[str, int]) -> Element:
    cell = row.cells[column.name]
    if column.name == "arm":
        return parts.name_cell(arm_link(cell.text, address, row.arm))
    if column.name == "verdict":
        return parts.cell(parts.verdict_mark(row.verdict))
    if column.name in _BY:
        link = arm_link(cell.text, address, numbers[cell.text]) if cell.text else None
        return element("td", {"class": "by"}, link)
    beside = element("small", {}, f" {cell.beside}") if cell.beside else None
    kind = "figure none" if cell.value is None else "figure" if column.number else None
    return element("td", {"class": kind}, cell.text, beside)
