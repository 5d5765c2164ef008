"""The pages of the live view: all studies, one study with its arms, an arm, one that is being read, or not there.

The first answer is complete without a script, which only patches the regions that events bring. Pages arrange: facts
come from `studies`, sentences from `words`, pictures from `plot`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from frontguard import plot
from frontguard.markup import Child, Element, element
from frontguard.phrases import cut_in_the_middle, number, number_of, one_line, percent
from frontguard.reports.report import Fact, course_of, facts_of, progress_facts, study_steps, time_facts
from frontguard.results import Answer
from frontguard.studies.follow import Measurements, Overview
from frontguard.verdicts import Verdict
from frontguard.web import parts
from frontguard.web.parts import (
    VIEWS,
    Address,
    Page,
    arm_link,
    called,
    cell,
    figure,
    figure_cell,
    line,
    nothing,
    region,
)
from frontguard.web.watchers import Seen
from frontguard.words.answers import STATUSES, answer, failures, log_being_read, why
from frontguard.words.arm_table import (
    ArmColumn,
    ArmRow,
    arm_table,
    estimate_cells,
    order_by,
    sense,
    with_short_names,
)
from frontguard.words.asked import keeping_in_words
from frontguard.words.certificate import certificate_against_goal, guarantee, tolerance
from frontguard.words.comparisons import effect_cell


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
        result = seen.overview.answer
        against = certificate_against_goal(result.nearest, result.metrics)
        cells = [
            cell(parts.status_chip(seen.overview.status)),
            parts.figure_cell(f"{len(result.arms):,}"),
            parts.figure_cell(f"{result.pulls:,}"),
            cell(*_counts(result)),
            cell(against[0].upper() + against[1:]),
            cell(parts.moment(seen.overview.last)),
        ]
    return element("tr", {"data-key": seen.number}, name, *cells)


def _counts(result: Answer) -> list[Child]:
    said: list[Child] = []
    for verdict, count in result.tally().items():
        said += [" " if said else "", element("span", {"class": "count"}, f"{count:,} ", parts.verdict_mark(verdict))]
    return said


def reading_page(seen: Seen) -> Page:
    """A study whose log is being read for the first time: how far that is, as a bar and in words."""
    reading = region(
        "reading",
        None,
        line("answer", log_being_read(seen.told, seen.total)),
        element(
            "progress", {"value": seen.told, "max": max(seen.total, seen.told, 1), "aria-label": "Reading the log"}
        ),
        line("note", "This happens once; from then on only what is new is read."),
    )
    regions = {
        "head": parts.head(called(seen.name), line("about", parts.status_chip("reading"))),
        "trouble": nothing("trouble"),
        "reading": reading,
    }
    return Page(f"{one_line(seen.name)}: {STATUSES['reading']}", regions, "reading", Address(seen.number).twin)


_VIEW_NAMES = {"front": "Front", "pairs": "All pairs", "parallel": "Parallel"}
_VIEW_HEADINGS = {"front": "The front", "pairs": "Every pair of objectives", "parallel": "All objectives at once"}
_VIEW_WIDTHS = {"front": 5.8, "pairs": 9.0, "parallel": 7.5}  # inches
_SMALL = 4.4  # inches: the width of pictures that stand beside others
_MOST_WARNINGS = 50


def study_page(overview: Overview, address: Address) -> Page:
    """A study: the answer, how far it is, pictures, the arms, what failed, how it was made."""
    plain = with_short_names(overview.answer)
    arms, failed = overview.answer.arms, line("note", failures(overview.answer))
    regions = {
        "head": _head(overview),
        "trouble": nothing("trouble"),
        "answer": _answer(plain),
        "warnings": _warnings(overview),
        "facts": _facts(overview, plain),
        "picture": _picture(overview, address),
        **_course(overview, address),
        "table": table_region(overview, address),
        "failures": parts.failures_region(overview, arms, failed, address=address),
        "reproduce": _reproduce(overview),
    }
    title = f"{one_line(overview.name)}: {STATUSES[overview.status]}"
    return Page(title, regions, "study", address.twin)


def _head(overview: Overview) -> Element:
    settings = overview.settings
    about = f"{number_of(len(settings.arms), 'arm')}, {number_of(len(settings.question.objectives), 'objective')}"
    status = parts.status_chip(overview.status)
    return parts.head(called(overview.name), line("about", status, " ", element("span", {}, about)))


def _answer(found: Answer) -> Element:
    heading = element("h2", {"class": "unseen"}, "The answer")
    promise = line("guarantee", guarantee(found)) if found.pulls else None
    return region("answer", None, heading, line("answer", answer(found)), promise)


def _facts(overview: Overview, plain: Answer) -> Element:
    facts = [fact for fact in facts_of(plain) if fact.label in ("Pulls", "Failed")]
    if overview.status == "running":
        pace = plain.state.pulls_a_second
        facts.append(Fact("Pulls a minute", number(round(60.0 * pace, 1)) if pace else "none lately"))
    facts += [*progress_facts(plain), *time_facts(overview)]
    terms = [*((fact.label, called(fact.value)) for fact in facts), ("Last pull", parts.moment(overview.last))]
    return region("facts", "So far", parts.definition(terms))


def _picture(overview: Overview, address: Address) -> Element:
    """The front, all pairs of objectives, or parallel coordinates; with the choice between them."""
    result, objectives = overview.answer, overview.settings.question.objectives
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


def _course(overview: Overview, address: Address) -> dict[str, Element]:
    """Regions with pictures of how it came about; unseen as long as there is nothing to show."""
    regions = {name: nothing(name) for name in ("certainty", "pulls", "rate")}
    for name, shown in course_of(overview, overview.answer).items():
        link = _arm_urls(address) if name == "pulls" else ""
        regions[name] = region(name, shown.heading, figure(shown.picture, name, link, widest=_SMALL))
    return regions


def _warnings(overview: Overview) -> Element:
    said = overview.answer.warnings
    if not said:
        return nothing("warnings")
    items = [element("li", {}, text) for text in said[:_MOST_WARNINGS]]
    if len(said) > _MOST_WARNINGS:
        items.append(element("li", {}, f"… and {len(said) - _MOST_WARNINGS:,} more"))
    return region("warnings", number_of(len(said), "warning").capitalize(), element("ul", {}, *items))


def _reproduce(overview: Overview) -> Element:
    """The question, and the steps to make it again: the spec as it was written, if there is one."""
    *facts, spec = *facts_of(overview.answer), *study_steps(overview)
    # How many pulls there are stands above: nothing changes here while a study goes on.
    terms = [
        (fact.label, called(fact.value))
        for fact in facts
        if not fact.verbatim and fact.label not in ("Pulls", "Failed")
    ]
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
    column = sort.removeprefix("-")
    found = order_by(overview.answer, "arm" if column == "name" else column, turned=sort.startswith("-"))
    return [int(arm) for arm in found]


def table_region(overview: Overview, address: Address) -> Element:
    """The arms, the front first unless another order is chosen."""
    result = overview.answer
    if not result.arms:
        return nothing("table")
    options, wanted = address.options, order_of(overview, address.options.sort)
    shown = wanted[: ALL_ROWS if options.rows == "all" else SOME_ROWS]
    made = arm_table(result, shown)
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


def _column_head(column: ArmColumn, result: Answer, address: Address) -> Element:
    """The head of a column, which leads to the table sorted by it where that can be."""
    name, sort = "name" if column.name == "arm" else column.name, address.options.sort
    label = called(column.heading) if column.below else column.heading  # names of metrics and limits are anybody's
    if name in _BY or name.startswith("limit"):
        return element("th", {"scope": "col", "class": "by" if name in _BY else None}, label)
    now, turned = sort.removeprefix("-") == name, sort.startswith("-")
    url = address.to(sort=f"-{name}" if now and not turned else name) + "#table"
    # Names and verdicts ascend by their alphabet and rank; of numbers the best or the most come first.
    order = ("ascending" if turned == column.number else "descending") if now else None
    said = element("small", {}, column.below.removesuffix(" [low, high]")) if column.below else None
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


# An arm: its verdict and why, how its box shrank, what was measured, what failed --------------------------------------


_LATEST = 50  # pulls that are listed one by one
_MOST_RIVALS = 8  # with which an arm is compared

COMPARED_NOTE = (
    "× is how many times as much as the other arm has, + how much more; better or worse beyond the tolerance."
)
"""What the table of comparisons means."""


def arm_page(overview: Overview, address: Address, measurements: Measurements, baseline: str | None = None) -> Page:
    """An arm of a study: its verdict and why, how it compares, how its box shrank, what was measured."""
    arm, result = measurements.arm, overview.answer
    regions = {
        "head": _arm_head(overview, address, arm),
        "trouble": nothing("trouble"),
        "verdict": _verdict(overview, address, arm),
        "compared": _compared(result, address, arm, baseline),
        "boxes": _boxes(overview, arm),
        "values": _values(overview, measurements),
        "failures": parts.failures_region(overview, [measurements.name]),
        "latest": _latest(measurements),
    }
    return Page(f"{one_line(measurements.name)}: {result.verdict(arm).word}", regions, "arm", address.twin)


def _arm_head(overview: Overview, address: Address, arm: int) -> Element:
    result = overview.answer
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
    about = line("about", parts.verdict_mark(result.verdict(arm)), place, parts.status_chip(overview.status))
    return parts.head(called(names[arm]), about, others, above=above)


def _verdict(overview: Overview, address: Address, arm: int) -> Element:
    result = overview.answer
    rival = int(result.decided_by[arm])
    compare: Element | None = None
    if rival >= 0:
        how = "Open against " if result.verdict(arm) == Verdict.UNDECIDED else "Decided by "
        compare = line("note", how, parts.arm_link(result.arms[rival], address, rival), ".")
    pulls, failed = int(result.pulls_per_arm[arm]), int(result.failed_per_arm[arm])
    terms: list[tuple[str, Child]] = [("Pulls", f"{pulls:,}")]
    if failed:
        terms.append(("Failed", f"{failed:,} ({percent(failed / max(pulls, 1))})"))
    rows = []
    for d, objective in enumerate(overview.settings.question.objectives):
        (estimate,) = estimate_cells(result, d, np.array([arm]))
        rows.append(
            element(
                "tr",
                {},
                parts.name_cell(called(objective.name), element("small", {}, f" {sense(objective)}")),
                figure_cell(estimate.text or "not measured"),
                figure_cell(estimate.beside or ("not known" if estimate.value is None else "exact")),
                figure_cell(f"within {tolerance(objective)}"),
            )
        )
    said = why(result, arm)
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


def _limits(result: Answer, arm: int) -> list[Element]:
    kept = result.limits
    if kept is None:
        return []
    said = (keeping_in_words(kept, arm, place) for place in range(len(kept.gates)))
    return [line("note", f"{each[0].upper()}{each[1:]}.") for each in said]


def rivals_of(result: Answer, arm: int, baseline: str | None) -> list[int]:
    """The arms that an arm is compared with: the baseline, if there is such an arm, or those that are returned."""
    if baseline is not None and baseline in result.arms:
        return [place for place in (result.arms.index(baseline),) if place != arm]
    listed = np.flatnonzero(result.having(Verdict.KEEP)).tolist()
    return [place for place in listed if place != arm][:_MOST_RIVALS]


def _compared(result: Answer, address: Address, arm: int, baseline: str | None) -> Element:
    rivals = rivals_of(result, arm, baseline)
    if not rivals or not result.pulls_per_arm[arm]:
        return nothing("compared")
    rows = []
    for rival in rivals:
        cells = []
        for effect in result.compare(result.arms[arm], result.arms[rival]).effects:
            word = element("small", {}, f" {effect.contrast.word}")
            cells.append(figure_cell(effect_cell(effect).full, word))
        named = parts.name_cell("against ", parts.arm_link(result.arms[rival], address, rival))
        rows.append(element("tr", {"data-key": rival}, named, *cells))
    names = [called(metric.name) for metric in result.metrics]
    promised = line("note", COMPARED_NOTE)
    return region("compared", "How it compares", parts.table(parts.headings(("",), names), rows), promised)


def _boxes(overview: Overview, arm: int) -> Element:
    """The arm's intervals over the study's pulls, beside those of the arm that decides it."""
    result, history = overview.answer, overview.history
    if not result.pulls_per_arm[arm] or not history.moments:
        return nothing("boxes")
    rival = int(result.decided_by[arm])
    shown = [arm] if rival in (-1, arm) else [arm, rival]
    return region("boxes", "How its box shrank", parts.figure(plot.shrinking(history, shown), "boxes", widest=7.5))


def _values(overview: Overview, measurements: Measurements) -> Element:
    shown, last = len(measurements.pulls), len(measurements.objectives) - 1
    if not shown:
        return region("values", "What was measured", line("waiting", "Nothing is measured yet."))
    eps = overview.settings.question.contaminations
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
