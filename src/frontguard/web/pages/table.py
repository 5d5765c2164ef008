"""The table of arms: verdict, quantiles with their intervals, pulls, failures, and what decided; sorted by links."""

from __future__ import annotations

import math

import numpy as np

from frontguard.markup import Child, Element, element
from frontguard.phrases import number, number_of
from frontguard.studies.overview import Overview
from frontguard.verdicts import Verdict
from frontguard.web.pages.options import Options
from frontguard.web.pages.parts import (
    arm_url,
    better,
    called,
    failed_per_arm,
    interval,
    nothing,
    region,
    study_url,
    verdict_mark,
)
from frontguard.words.arm_table import counts, order

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


def table_region(overview: Overview, study: int, options: Options) -> Element:
    """The arms, the front first unless another order is chosen."""
    snapshot = overview.snapshot
    result = snapshot.result
    if not result.arms:
        return nothing("table")
    wanted = order_of(overview, options.sort)
    shown = wanted[: ALL_ROWS if options.rows == "all" else SOME_ROWS]
    table = element(
        "table",
        {"id": "arms", "class": "arms"},
        element("caption", {"class": "unseen"}, f"The {number_of(len(wanted), 'arm')} of the study"),
        element("thead", {}, _heading(overview, study, options)),
        _rows(overview, study, options, shown),
    )
    # The filter is a matter of the script alone; it puts its box where this says.
    tools = element("div", {"class": "tools"}, element("div", {"id": "filter-place", "data-local": "filter"}))
    rest = _rest(overview, study, options, wanted, len(shown))
    return region("table", "Arms", tools, element("div", {"class": "wide"}, table), rest)


def _heading(overview: Overview, study: int, options: Options) -> Element:
    cells = [_sorter("arm", "name", study, options), _sorter("verdict", "verdict", study, options)]
    for d, objective in enumerate(overview.settings.objectives):
        said = element("small", {}, f"{objective.quantile_word}, {better(objective)}")
        cells.append(_sorter(called(objective.name), f"m{d}", study, options, said))
    cells.append(_sorter("pulls", "pulls", study, options))
    cells.append(_sorter("failed", "failed", study, options))
    cells.append(element("th", {"scope": "col", "class": "by"}, "decided by"))
    return element("tr", {}, *cells)


def _sorter(label: Child, column: str, study: int, options: Options, said: Element | None = None) -> Element:
    now = options.sort.removeprefix("-") == column
    turned = options.sort.startswith("-")
    wanted = options.changed(sort=f"-{column}" if now and not turned else column)
    # Names and verdicts ascend by their alphabet and rank; of numbers the best or the most come first.
    falls = turned if column in ("name", "verdict") else not turned
    order = ("descending" if falls else "ascending") if now else None
    link = element("a", {"href": study_url(study, wanted) + "#table", "id": f"sort-{column}"}, label)
    figures = None if column in ("name", "verdict") else "figure"
    return element("th", {"scope": "col", "aria-sort": order, "class": figures}, link, said)


def _rows(overview: Overview, study: int, options: Options, shown: list[int]) -> Element:
    snapshot = overview.snapshot
    result, failed = snapshot.result, failed_per_arm(snapshot)
    medians, (low, high) = result.medians, result.bounds
    rows = []
    for arm in shown:
        cells = [
            element(
                "th", {"scope": "row"}, element("a", {"href": arm_url(study, arm, options)}, called(result.arms[arm]))
            ),
            element("td", {}, verdict_mark(result.verdict(arm))),
            *(_measured(medians[arm, d], low[arm, d], high[arm, d]) for d in range(medians.shape[1])),
            element("td", {"class": "figure"}, f"{result.pulls_per_arm[arm]:,}"),
            element("td", {"class": "figure"}, f"{failed[arm]:,}" if failed[arm] else ""),
            _decider(overview, study, options, arm),
        ]
        rows.append(element("tr", {"data-key": arm, "data-verdict": result.verdict(arm).word}, *cells))
    return element("tbody", {}, *rows)


def _measured(median: float, low: float, high: float) -> Element:
    if not math.isfinite(median):
        return element("td", {"class": "figure none"}, "not measured")
    return element("td", {"class": "figure"}, number(median), element("small", {}, f" {interval(low, high)}"))


def _decider(overview: Overview, study: int, options: Options, arm: int) -> Element:
    rival, result = int(overview.snapshot.result.decided_by[arm]), overview.snapshot.result
    if rival < 0 or (result.verdict_codes[arm] == Verdict.UNDECIDED and not result.pulls_per_arm[arm]):
        return element("td", {"class": "by"})
    link = element("a", {"href": arm_url(study, rival, options)}, called(result.arms[rival]))
    return element("td", {"class": "by"}, link)


def _rest(overview: Overview, study: int, options: Options, wanted: list[int], shown: int) -> Element | None:
    if shown == len(wanted):
        return None
    counted = counts(overview.snapshot.result, wanted[shown:])
    said = f"{shown:,} of {number_of(len(wanted), 'arm')} are shown; the others: {counted}. "
    if options.rows == "all":
        return element("p", {"class": "rest"}, said, "The JSON of this page has them all.")
    link = element("a", {"href": study_url(study, options.changed(rows="all")) + "#table"}, "Show all")
    return element("p", {"class": "rest"}, said, link if len(wanted) <= ALL_ROWS else _show_many(link))


def _show_many(link: Element) -> Element:
    return element("a", dict(link.attributes), f"Show {ALL_ROWS:,}")
