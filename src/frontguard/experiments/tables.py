"""Results as tables: for a terminal, for a paper (LaTeX), for documentation (Markdown), and as CSV and JSON.

Ours stands beside the published numbers everywhere: a table that shows only one of them invites belief.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from frontguard.experiments.metrics import Spread
from frontguard.experiments.plan import TITLES
from frontguard.experiments.results import Result, as_record

if TYPE_CHECKING:
    from rich.table import Table

Group = tuple[str, str]
"""A data set and its variant: one block of columns in the paper's table."""


def as_json(results: Sequence[Result]) -> str:
    """A list of flat rows."""
    return json.dumps([as_record(result) for result in results], indent=1, allow_nan=False)


def as_csv(results: Sequence[Result]) -> str:
    """The same rows with a header; what does not exist is left empty."""
    records = [as_record(result) for result in results]
    text = io.StringIO()
    if records:
        table = csv.DictWriter(text, list(records[0]), lineterminator="\n")
        table.writeheader()
        table.writerows(records)
    return text.getvalue()


def groups_of(results: Sequence[Result]) -> dict[Group, list[Result]]:
    """The results by data set and variant, in their order."""
    groups: dict[Group, list[Result]] = {}
    for result in results:
        groups.setdefault((result.dataset, result.variant), []).append(result)
    return groups


def title_of(group: Group) -> str:
    """A heading for people.

    >>> title_of(("sw-llvm", "as published"))
    'SW-LLVM (as published)'
    """
    return f"{TITLES[group[0]]} ({group[1]})"


def number(value: float, digits: int = 2) -> str:
    """A ratio in the paper's manner: as many decimals as it needs, at least one.

    >>> number(1.0), number(0.97), number(0.5)
    ('1.0', '0.97', '0.5')
    """
    text = f"{value:.{digits}f}".rstrip("0")
    return text + "0" if text.endswith(".") else text


def with_error(spread: Spread) -> str:
    """Samples with their standard error.

    >>> with_error(Spread(54935.1, 100.0, 10.0, 54915.5, 54954.7))
    '54935 ± 10'
    """
    return f"{spread.mean:.0f}" if math.isnan(spread.error) else f"{spread.mean:.0f} ± {spread.error:.0f}"


def ratio(result: Result) -> str:
    """Our samples over the published ones."""
    return "" if result.published is None else f"{result.score.sc.mean / result.published.sc:.2f}"


_HEADINGS = ("ε", "RSR", "SC", "RO", "r-F1", "|P|", "off front")
_PUBLISHED = ("RSR", "SC", "RO", "r-F1", "SC ours/paper")


def _cells(result: Result) -> list[str]:
    figures = result.score
    return [
        f"{result.epsilon:g}",
        f"{number(figures.rsr)} [{figures.rsr_low:.2f}, {figures.rsr_high:.2f}]",
        with_error(figures.sc),
        number(figures.ro.mean),
        number(figures.rf1.mean),
        number(figures.size.mean, 1),
        number(figures.off_front.mean, 1),
    ]


def _published_cells(result: Result) -> list[str]:
    row = result.published
    if row is None:
        return [""] * len(_PUBLISHED)
    return [number(row.rsr), f"{row.sc:.0f}", number(row.ro), number(row.rf1), ratio(result)]


WIDE = 150
"""Columns of a terminal from which on everything fits; below, spreads give way and the paper's numbers move in."""


def terminal_tables(results: Sequence[Result], *, width: int = WIDE) -> list[Table]:
    """One table for every data set and variant, published numbers beside ours where there are any."""
    return [
        _wide_table(group, rows) if width >= WIDE else _narrow_table(group, rows)
        for group, rows in groups_of(results).items()
    ]


def _wide_table(group: Group, rows: Sequence[Result]) -> Table:
    from rich.table import Table

    compared = any(row.published for row in rows)
    table = Table(title=f"{title_of(group)}, {_runs(rows)}", title_justify="left")
    table.add_column("policy", no_wrap=True)
    for heading in _HEADINGS:
        table.add_column(heading, justify="right", no_wrap=True)
    for heading in _PUBLISHED if compared else ():
        table.add_column(f"paper {heading}" if "/" not in heading else heading, justify="right", style="dim")
    _fill(table, rows, lambda row: [*_cells(row), *(_published_cells(row) if compared else [])])
    return table


def _narrow_table(group: Group, rows: Sequence[Result]) -> Table:
    """For 80 columns: no spreads, the paper's numbers in brackets."""
    from rich import box
    from rich.table import Table

    compared = any(row.published for row in rows)
    table = Table(
        title=f"{title_of(group)}, {_runs(rows)}" + (" (in brackets: paper)" if compared else ""),
        title_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    table.add_column("policy", no_wrap=True)
    for heading in ("ε", "RSR", "SC", "RO", "r-F1", "|P|"):
        table.add_column(heading, justify="right", no_wrap=True)
    _fill(table, rows, _narrow_cells)
    return table


def _narrow_cells(row: Result) -> list[str]:
    figures, paper = row.score, row.published
    pairs = [
        (number(figures.rsr), number(paper.rsr) if paper else ""),
        (f"{figures.sc.mean:.0f}", f"{paper.sc:.0f}" if paper else ""),
        (number(figures.ro.mean), number(paper.ro) if paper else ""),
        (number(figures.rf1.mean), number(paper.rf1) if paper else ""),
    ]
    both = [f"{ours} ({theirs})" if theirs else ours for ours, theirs in pairs]
    return [f"{row.epsilon:g}", *both, number(figures.size.mean, 1)]


def _fill(table: Table, rows: Sequence[Result], cells: Callable[[Result], list[str]]) -> None:
    """Add the rows; a policy's name stands at its first row, a rule between policies."""
    previous = None
    for row in rows:
        if previous not in (None, row.policy):
            table.add_section()
        table.add_row(row.policy_title if row.policy != previous else "", *cells(row))
        previous = row.policy


def _runs(rows: Sequence[Result]) -> str:
    counts = sorted({row.runs for row in rows})
    return f"{counts[0]} runs" if len(counts) == 1 else f"{counts[0]} to {counts[-1]} runs"


def as_markdown(results: Sequence[Result]) -> str:
    """The terminal's tables for documentation."""
    blocks = []
    for group, rows in groups_of(results).items():
        compared = any(row.published for row in rows)
        headings = [
            "policy",
            *_HEADINGS,
            *(f"paper {h}" if "/" not in h else h for h in _PUBLISHED if compared),
        ]
        lines = [f"### {title_of(group)}, {_runs(rows)}", "", _line(headings), _line(["---"] * len(headings))]
        lines += [_line([row.policy_title, *_cells(row), *(_published_cells(row) if compared else [])]) for row in rows]
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks) + "\n"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|P|", "returned") for cell in cells) + " |"


def as_latex(results: Sequence[Result]) -> str:
    """The paper's layout (rows by policy and ε, four columns a data set), published numbers small beneath
    ours.

    Needs the packages booktabs and multirow.
    """
    groups = groups_of(results)
    by_place = {(result.dataset, result.variant, result.policy, result.epsilon): result for result in results}
    policies = list(dict.fromkeys((result.policy, result.policy_title) for result in results))
    epsilons = list(dict.fromkeys(result.epsilon for result in results))
    heads = " & ".join(rf"\multicolumn{{4}}{{c}}{{\textbf{{{_escaped(title_of(group))}}}}}" for group in groups)
    rules = "".join(rf"\cmidrule(lr){{{3 + 4 * i}-{6 + 4 * i}}}" for i in range(len(groups)))
    lines = [
        r"% \usepackage{booktabs, multirow}",
        r"\begin{tabular}{ll" + "rrrr" * len(groups) + "}",
        r"\toprule",
        rf" & & {heads} \\",
        rules,
        r" & $\epsilon$" + r" & RSR & SC & RO & r-F1" * len(groups) + r" \\",
    ]
    for policy, title in policies:
        lines.append(r"\midrule")
        lines.append(rf"\multirow{{{2 * len(epsilons)}}}{{*}}{{{_escaped(title)}}}")
        for eps in epsilons:
            rows = [by_place.get((*group, policy, eps)) for group in groups]
            lines.append(rf" & {eps:g} & " + " & ".join(_latex_ours(row) for row in rows) + r" \\")
            lines.append(r" & & " + " & ".join(_latex_published(row) for row in rows) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}"]
    return "\n".join(lines) + "\n"


def _latex_ours(row: Result | None) -> str:
    if row is None:
        return " & & & "
    figures = row.score
    cells = (number(figures.rsr), f"{figures.sc.mean:.1f}", number(figures.ro.mean), number(figures.rf1.mean))
    return " & ".join(cells)


def _latex_published(row: Result | None) -> str:
    if row is None or row.published is None:
        return " & & & "
    printed = row.published
    cells = (number(printed.rsr), f"{printed.sc:.1f}", number(printed.ro), number(printed.rf1))
    return " & ".join(rf"{{\scriptsize ({cell})}}" for cell in cells)


def _escaped(text: str) -> str:
    for sign in ("#", "&", "%", "_"):
        text = text.replace(sign, "\\" + sign)
    return text
