"""The table of arms: verdict, estimates with their intervals, pulls, failures, and what decided; sorted by links."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from frontguard.markup import Child, Element, element
from frontguard.phrases import number_of
from frontguard.studies.overview import Overview
from frontguard.verdicts import Verdict
from frontguard.web.addresses import Address
from frontguard.web.pages import parts
from frontguard.web.pages.parts import arm_link, called, figure_cell, nothing, region
from frontguard.words.arm_table import ArmCell, ArmRow, arm_table, order_by
from frontguard.words.certificate import objective_in_short

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
    table = parts.table(
        _heads(overview, address),
        (_row(overview, address, row) for row in made.rows),
        caption=f"The {number_of(len(wanted), 'arm')} of the study{f' ({made.key})' if made.key else ''}",
        **{"id": "arms", "class": "arms long" if _has_long_names(result.arms, shown) else "arms"},
    )
    # The filter is a matter of the script alone; it puts its box where this says.
    tools = element("div", {"class": "tools"}, element("div", {"id": "filter-place", "data-local": "filter"}))
    more: Child = "The JSON of this page has them all."
    if options.rows != "all":
        url = address.to(rows="all") + "#table"
        more = element("a", {"href": url}, "Show all" if len(wanted) <= ALL_ROWS else f"Show {ALL_ROWS:,}")
    rest = parts.line("rest", f"{made.rest}. ", more) if made.rest else None
    return region("table", "Arms", tools, table, rest)


def _has_long_names(names: Sequence[str], shown: Sequence[int]) -> bool:
    return any(len(names[arm]) > LONG_NAME for arm in shown)


def _heads(overview: Overview, address: Address) -> list[Element]:
    heads = [_sorter("arm", "name", address), _sorter("verdict", "verdict", address)]
    for d, objective in enumerate(overview.settings.objectives):
        said = element("small", {}, objective_in_short(objective))
        heads.append(_sorter(called(objective.name), f"m{d}", address, said))
    for gate in overview.settings.columns.gates:
        heads.append(element("th", {"scope": "col"}, called(str(gate))))
    heads += [_sorter(column, column, address) for column in ("pulls", "failed")]
    by = "take instead" if overview.settings.goal == "list" else "decided by"
    return [*heads, element("th", {"scope": "col", "class": "by"}, by)]


def _sorter(label: Child, column: str, address: Address, said: Element | None = None) -> Element:
    sort = address.options.sort
    now, turned = sort.removeprefix("-") == column, sort.startswith("-")
    url = address.to(sort=f"-{column}" if now and not turned else column) + "#table"
    # Names and verdicts ascend by their alphabet and rank; of numbers the best or the most come first.
    words = column in ("name", "verdict")
    order = ("descending" if turned == words else "ascending") if now else None
    link = element("a", {"href": url, "id": f"sort-{column}"}, label)
    return element("th", {"scope": "col", "aria-sort": order, "class": None if words else "figure"}, link, said)


def _row(overview: Overview, address: Address, row: ArmRow) -> Element:
    result, cells = overview.snapshot.result, row.cells
    rival = int(result.decided_by[row.arm])
    if overview.settings.goal == "list":
        rival = int(result.replaced_by(np.array([row.arm]))[0])
    decided = rival >= 0 and (row.verdict != Verdict.UNDECIDED or result.pulls_per_arm[row.arm] > 0)
    return element(
        "tr",
        {"data-key": row.arm, "data-verdict": row.verdict.word},
        parts.name_cell(arm_link(result.arms[row.arm], address, row.arm)),
        parts.cell(parts.verdict_mark(row.verdict)),
        *(_estimate(cells[f"m{d}"]) for d in range(len(result.metrics))),
        *(_keeping(cells[f"limit{q}"]) for q in range(len(overview.settings.columns.gates))),
        figure_cell(cells["pulls"].text),
        figure_cell(cells["failed"].text),
        element("td", {"class": "by"}, arm_link(result.arms[rival], address, rival) if decided else None),
    )


def _keeping(cell: ArmCell) -> Element:
    return parts.cell(cell.text, element("small", {}, f" {cell.beside}"))


def _estimate(cell: ArmCell) -> Element:
    if cell.value is None:
        return element("td", {"class": "figure none"}, cell.text)
    return figure_cell(cell.text, *([element("small", {}, f" {cell.beside}")] if cell.beside else []))
