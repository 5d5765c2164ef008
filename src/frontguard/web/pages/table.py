"""The table of arms: verdict, quantiles with their intervals, pulls, failures, and what decided; sorted by links."""

from __future__ import annotations

import math

import numpy as np

from frontguard.markup import Child, Element, element
from frontguard.phrases import number, number_of
from frontguard.studies.overview import Overview
from frontguard.studies.snapshot import Snapshot
from frontguard.verdicts import Verdict
from frontguard.web.addresses import ViewOptions, study_url
from frontguard.web.pages import parts
from frontguard.web.pages.parts import arm_link, called, figure_cell, line, nothing, region
from frontguard.words.arm_table import counts, order
from frontguard.words.certificate import objective_in_short

SOME_ROWS = 200
ALL_ROWS = 5000
"""Rows that are shown at first, and at most: the JSON twin has them all."""


def order_of(overview: Overview, sort: str) -> list[int]:
    """Numbers of the arms in the order that is wanted: best, most, or the front first, unless turned around.

    Arms of which nothing is known come last either way.
    """
    snapshot = overview.snapshot
    result, turned, column = snapshot.result, sort.startswith("-"), sort.removeprefix("-")
    numbers = range(len(result.arms))
    if column == "name":
        return sorted(numbers, key=lambda arm: (result.arms[arm].casefold(), arm), reverse=turned)
    if column == "verdict":
        ordered: list[int] = order(result).tolist()
        return ordered[::-1] if turned else ordered
    if column == "pulls":
        keys = -result.pulls_per_arm.astype(np.float64)
    elif column == "failed":
        keys = -np.array(failed_per_arm(snapshot), np.float64)
    else:
        keys = -result.estimates[:, int(column[1:])]  # inner values: larger is better
    keys = np.where(np.isfinite(keys), -keys if turned else keys, np.inf)
    return [int(arm) for arm in np.argsort(keys, kind="stable")]


def table_region(overview: Overview, study: int, options: ViewOptions) -> Element:
    """The arms, the front first unless another order is chosen."""
    if not overview.snapshot.result.arms:
        return nothing("table")
    wanted = order_of(overview, options.sort)
    shown = wanted[: ALL_ROWS if options.rows == "all" else SOME_ROWS]
    table = parts.table(
        _heads(overview, study, options),
        _rows(overview, study, options, shown),
        caption=f"The {number_of(len(wanted), 'arm')} of the study",
        **{"id": "arms", "class": "arms"},
    )
    # The filter is a matter of the script alone; it puts its box where this says.
    tools = element("div", {"class": "tools"}, element("div", {"id": "filter-place", "data-local": "filter"}))
    return region("table", "Arms", tools, table, _rest(overview, study, options, wanted, len(shown)))


def _heads(overview: Overview, study: int, options: ViewOptions) -> list[Element]:
    heads = [_sorter("arm", "name", study, options), _sorter("verdict", "verdict", study, options)]
    for d, objective in enumerate(overview.settings.objectives):
        said = element("small", {}, objective_in_short(objective))
        heads.append(_sorter(called(objective.name), f"m{d}", study, options, said))
    heads += [_sorter(column, column, study, options) for column in ("pulls", "failed")]
    return [*heads, element("th", {"scope": "col", "class": "by"}, "decided by")]


def _sorter(label: Child, column: str, study: int, options: ViewOptions, said: Element | None = None) -> Element:
    now = options.sort.removeprefix("-") == column
    turned = options.sort.startswith("-")
    wanted = options.changed(sort=f"-{column}" if now and not turned else column)
    # Names and verdicts ascend by their alphabet and rank; of numbers the best or the most come first.
    words = column in ("name", "verdict")
    order = ("descending" if turned == words else "ascending") if now else None
    link = element("a", {"href": study_url(study, wanted) + "#table", "id": f"sort-{column}"}, label)
    return element("th", {"scope": "col", "aria-sort": order, "class": None if words else "figure"}, link, said)


def _rows(overview: Overview, study: int, options: ViewOptions, shown: list[int]) -> list[Element]:
    snapshot = overview.snapshot
    result, failed = snapshot.result, failed_per_arm(snapshot)
    medians, (low, high) = result.medians, result.bounds
    return [
        element(
            "tr",
            {"data-key": arm, "data-verdict": result.verdict(arm).word},
            parts.name_cell(arm_link(result.arms[arm], study, arm, options)),
            parts.cell(parts.verdict_mark(result.verdict(arm))),
            *(_measured(medians[arm, d], low[arm, d], high[arm, d]) for d in range(medians.shape[1])),
            figure_cell(f"{result.pulls_per_arm[arm]:,}"),
            figure_cell(f"{failed[arm]:,}" if failed[arm] else ""),
            _decider(overview, study, options, arm),
        )
        for arm in shown
    ]


def _measured(median: float, low: float, high: float) -> Element:
    if not math.isfinite(median):
        return element("td", {"class": "figure none"}, "not measured")
    return figure_cell(number(median), element("small", {}, f" {interval(low, high)}"))


def _decider(overview: Overview, study: int, options: ViewOptions, arm: int) -> Element:
    rival, result = int(overview.snapshot.result.decided_by[arm]), overview.snapshot.result
    if rival < 0 or (result.verdict_codes[arm] == Verdict.UNDECIDED and not result.pulls_per_arm[arm]):
        return element("td", {"class": "by"})
    return element("td", {"class": "by"}, arm_link(result.arms[rival], study, rival, options))


def _rest(overview: Overview, study: int, options: ViewOptions, wanted: list[int], shown: int) -> Element | None:
    if shown == len(wanted):
        return None
    counted = counts(overview.snapshot.result, wanted[shown:])
    said = f"{shown:,} of {number_of(len(wanted), 'arm')} are shown; the others: {counted}. "
    if options.rows == "all":
        return line("rest", said, "The JSON of this page has them all.")
    more = "Show all" if len(wanted) <= ALL_ROWS else f"Show {ALL_ROWS:,}"
    return line("rest", said, element("a", {"href": study_url(study, options.changed(rows="all")) + "#table"}, more))


def interval(low: float, high: float) -> str:
    """An interval; empty words where nothing is known."""
    return "not known" if math.isnan(low) or math.isnan(high) else f"[{number(low)}, {number(high)}]"


def failed_per_arm(snapshot: Snapshot) -> list[int]:
    """How many pulls of each arm failed."""
    counts = {name: sum(reasons.values()) for name, reasons in snapshot.failures.items()}
    return [counts.get(name, 0) for name in snapshot.result.arms]
