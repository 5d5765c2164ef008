"""Results as tables for a terminal, for Markdown, as CSV, JSON and pictures, always beside the published numbers."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Sequence
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from frontguard.experiments.results import Row
from frontguard.experiments.setup import Published
from frontguard.plot import sample_complexity
from frontguard.words.terminal import TextColumn, titled

if TYPE_CHECKING:
    from rich.console import Group


def as_json(rows: Sequence[Row]) -> str:
    """Return the rows as JSON, a list of flat objects."""
    return json.dumps([asdict(row) for row in rows], indent=1, allow_nan=False)


def as_csv(rows: Sequence[Row]) -> str:
    """Return the rows as CSV with a header; what does not exist is left empty."""
    records = [asdict(row) for row in rows]
    text = io.StringIO()
    if records:
        table = csv.DictWriter(text, list(records[0]), lineterminator="\n")
        table.writeheader()
        table.writerows(records)
    return text.getvalue()


def groups_of(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Return the rows of each data set and variant by their title: a block of the paper's table each."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row.title, []).append(row)
    return groups


def number(value: float, digits: int = 2) -> str:
    """Return a ratio as the paper prints it: as many decimals as it needs, at least one.

    >>> number(1.0), number(0.97), number(0.5)
    ('1.0', '0.97', '0.5')
    """
    text = f"{value:.{digits}f}".rstrip("0")
    return text + "0" if text.endswith(".") else text


def with_error(mean: float, error: float | None) -> str:
    """Return samples with their standard error, where there is one."""
    return f"{mean:.0f}" if error is None else f"{mean:.0f} ± {error:.0f}"


_HEADINGS = ("ε", "RSR", "SC", "RO", "r-F1", "|P|", "off front")
_PUBLISHED = ("paper RSR", "paper SC", "paper RO", "paper r-F1", "SC ours/paper")


def row_headings(rows: Sequence[Row]) -> list[str]:
    """Return the headings of our numbers, and of the published ones where there are any."""
    return ["policy", *_HEADINGS, *(_PUBLISHED if any(row.published for row in rows) else ())]


def row_cells(row: Row) -> list[str]:
    """Return the cells under all of these headings but the policy's; a table may have fewer columns."""
    paper, printed = row.published, [""] * len(_PUBLISHED)
    if paper is not None:
        printed = [*_printed(paper), f"{row.sc / paper.sc:.2f}"]
    return [
        f"{row.contamination:g}",
        f"{number(row.rsr)} [{row.rsr_low:.2f}, {row.rsr_high:.2f}]",
        with_error(row.sc, row.sc_se),
        number(row.ro),
        number(row.rf1),
        number(row.returned, 1),
        number(row.returned_off_front, 1),
        *printed,
    ]


def _printed(figures: Published) -> list[str]:
    """Return RSR, SC, RO and r-F1 as the paper prints them, but whole samples."""
    return [number(figures.rsr), f"{figures.sc:.0f}", number(figures.ro), number(figures.rf1)]


def terminal_tables(rows: Sequence[Row], *, width: int) -> list[Group]:
    """Return a table for every data set and variant, published numbers in brackets beside ours."""
    return [_table(title, own, width) for title, own in groups_of(rows).items()]


def _table(title: str, rows: Sequence[Row], width: int) -> Group:
    """Return a table: a policy's name at its first row, spreads last, as they give way on a narrow terminal."""
    policies = [row.policy_title for row in rows]
    first = [name if name != before else "" for before, name in pairwise(["", *policies])]
    cells = zip(*map(_terminal_cells, rows), strict=True)
    columns = [TextColumn.of("policy", first)]
    columns += [TextColumn.of(name, each, number=True) for name, each in zip(_ON_TERMINAL, cells, strict=True)]
    paper = " (in brackets: paper)" if any(row.published for row in rows) else ""
    return titled(f"{title}, {_runs(rows)}{paper}", columns, width, elsewhere="--json")


_ON_TERMINAL = ("ε", "RSR", "SC", "RO", "r-F1", "|P|", "off front", "RSR, 95%", "SC ± error")


def _terminal_cells(row: Row) -> list[str]:
    ours = _printed(row.as_printed)
    if row.published is not None:
        ours = [f"{mine} ({theirs})" for mine, theirs in zip(ours, _printed(row.published), strict=True)]
    returned = number(row.returned, 1), number(row.returned_off_front, 1)
    spreads = f"[{row.rsr_low:.2f}, {row.rsr_high:.2f}]", with_error(row.sc, row.sc_se)
    return [f"{row.contamination:g}", *ours, *returned, *spreads]


def _runs(rows: Sequence[Row]) -> str:
    counts = sorted({row.runs for row in rows})
    return f"{counts[0]} runs" if len(counts) == 1 else f"{counts[0]} to {counts[-1]} runs"


_IN_MARKDOWN = {"|P|": "returned"}  # a bar would end the cell


def as_markdown(rows: Sequence[Row]) -> str:
    """Return the terminal's tables for documentation."""
    blocks = []
    for title, own in groups_of(rows).items():
        headings = [_IN_MARKDOWN.get(each, each) for each in row_headings(own)]
        lines = [f"### {title}, {_runs(own)}", "", _line(headings), _line(["---"] * len(headings))]
        lines += [_line([row.policy_title, *row_cells(row)][: len(headings)]) for row in own]
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks) + "\n"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def write_figures(rows: Sequence[Row], directory: Path) -> list[Path]:
    """Write a picture for every data set and variant; return their paths. Needs the extra `plot`."""
    written = []
    for own in groups_of(rows).values():
        name = "-".join(re.findall(r"[^\W_]+", f"{own[0].dataset} {own[0].variant}".lower()))
        written.append(sample_complexity(own).save(directory / f"{name}.png"))
    return written
