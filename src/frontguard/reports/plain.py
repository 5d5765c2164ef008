"""Reports as plain text: Markdown with the same sentences and tables, and CSV with a row for every arm.

Names are data here too. What Markdown would read as markup is escaped, entities stand for angle brackets, and control
characters, those that turn the direction of text included, are replaced: they could hide what a line says. In Markdown
pictures are their descriptions.

In CSV, a spreadsheet takes a text that begins with = + - @ (or a tab, or a line break) for a formula, and an arm may
well be called -O2. Such texts get an apostrophe in front, and so do texts that begin with one, so that taking one
apostrophe away gives every name back. Texts are quoted, numbers are not; what is not known is empty, what is not
bounded is inf.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from frontguard._common.entries import AT_A_TIME
from frontguard.markup import clean
from frontguard.reports.model import Fact, Figure, Report, ReportTable, Section

_SPECIAL = re.compile(r"([\\`*_\[\]|~$])")
_AT_START = re.compile(r"^([#+=-](?=[\s#+=-]|$)|\d{1,9}(?=[.)](?:\s|$)))")  # what would begin a list or a heading
_TURNING = dict.fromkeys((*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F, 0x061C), "\ufffd")


def escaped(text: str) -> str:
    """A text in one line, of which nothing is markup.

    >>> escaped("-O2 *fast* | <b>"), escaped("1. one"), escaped("- two")
    ('-O2 \\\\*fast\\\\* \\\\| &lt;b&gt;', '1\\\\. one', '\\\\- two')
    """
    line = " ".join(clean(text).translate(_TURNING).split())
    line = _SPECIAL.sub(r"\\\1", line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;"))
    line = line.replace("://", ":\\//").replace("www.", "www\\.")  # no links that nobody meant
    return _AT_START.sub(lambda start: start[1] + "\\" if start[1].isdigit() else "\\" + start[1], line)


def document(report: Report) -> str:
    """The whole file."""
    lines = [
        f"# {escaped(report.title) or 'Report'}",
        "",
        f"**{escaped(report.answer)}**",
        "",
        f"Status: {escaped(report.status_words)}.",
        "",
    ]
    for shown in report.pictures:
        lines += _picture(shown, 2)
    if report.warnings:
        lines += _part(Section("Warnings", listed=report.warnings))
    lines += [f"- {escaped(fact.label)}: {escaped(fact.value)}" for fact in report.facts]
    lines += ["", f"## {escaped(report.table.caption)}", "", *_table(report.table)]
    for part in report.parts:
        lines += _part(part)
    if report.reproduce:
        lines += ["## How to reproduce it", ""]
        for step in report.reproduce:
            lines += _step(step)
    lines += [escaped(report.made)]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)) + "\n"


def _part(part: Section) -> list[str]:
    lines = [f"## {escaped(part.heading)}", ""]
    for said in part.words:
        lines += [escaped(said), ""]
    lines += [*(f"- {escaped(line)}" for line in part.listed), ""]
    for shown in part.shown:
        lines += _picture(shown, 3)
    for table in part.tables:
        lines += [f"### {escaped(table.caption)}", "", *_table(table)]
    return lines


def _picture(shown: Figure, level: int) -> list[str]:
    said = [text for text in (shown.picture.description, shown.picture.caption) if text]
    return [f"{'#' * level} {escaped(shown.heading)}", "", *(line for text in said for line in (escaped(text), ""))]


def _table(table: ReportTable) -> list[str]:
    heads = [" ".join(part for part in (column.heading, column.below) if part) for column in table.columns]
    rules = ["---:" if column.number else "---" for column in table.columns]
    lines = [_line(map(escaped, heads)), _line(rules)]
    lines += [_line(escaped(cell.text) for cell in row) for row in table.rows]
    return [*lines, "", *([escaped(table.rest), ""] if table.rest else [])]


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _step(step: Fact) -> list[str]:
    if not step.verbatim:
        return [f"{escaped(step.label)}: {escaped(step.value)}", ""]
    text = clean(step.value).translate(_TURNING).replace("\r\n", "\n").replace("\r", "\n")
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"{escaped(step.label)}:", "", fence, text.rstrip("\n"), fence, ""]


# Full-width signs too: some spreadsheets fold them.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "'", "＝", "＋", "－", "＠", "%", "|")


def guarded(text: str) -> str:
    """A text that no spreadsheet takes for a formula.

    >>> guarded("-O2"), guarded("plain"), guarded("'quoted")
    ("'-O2", 'plain', "''quoted")
    """
    text = text.encode("utf-8", "replace").decode("utf-8").replace("\0", "\ufffd")
    return "'" + text if text.lstrip(" ").startswith(_FORMULA) else text


def lines(table: Mapping[str, Any]) -> Iterator[str]:
    """Columns by name (lists or arrays) as a file, in pieces: a million arms are never all in memory as text."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    writer.writerow(map(guarded, table))
    columns = list(table.values())
    for start in range(0, len(columns[0]), AT_A_TIME):
        part = [column[start : start + AT_A_TIME] for column in columns]
        plain = [each.tolist() if isinstance(each, np.ndarray) else each for each in part]
        writer.writerows(map(_cell, row) for row in zip(*plain, strict=True))
        yield text.getvalue()
        text.seek(0)
        text.truncate()
    yield text.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, str):
        return guarded(value)
    if value is None or value != value:
        return ""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, float):
        return float(f"{value:.12g}")  # without what logarithms leave at the end of 3339
    return value
