"""Reports as plain text: Markdown with the same sentences and tables, CSV with a row for every arm; and a gate for CI.

Names are data here too, and control characters are visible. What Markdown would read as markup is escaped, entities
stand for angle brackets, and pictures are their descriptions. In CSV texts are quoted and numbers are not, what is not
known is empty, and what is not bounded is inf. A spreadsheet takes a text that begins with = + - @ for a formula, and
-O2 is a good name of an arm: such texts, and those that begin with an apostrophe, get an apostrophe in front.
"""

from __future__ import annotations

import csv
import io
import re
import secrets
from collections.abc import Iterable, Iterator, Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np

from frontguard._common.entries import AT_A_TIME
from frontguard.comparisons.outcomes import Outcome
from frontguard.markup import clean
from frontguard.notices import warnings_in_short
from frontguard.reports.report import Fact, Figure, Report, ReportTable, Section
from frontguard.results import Answer
from frontguard.words.gate import HEADINGS, answer, check_in_words, named, of, remarks, rows

_SPECIAL = re.compile(r"([\\`*_\[\]|~$])")
_AT_START = re.compile(r"^([#+=-](?=[\s#+=-]|$)|\d{1,9}(?=[.)](?:\s|$)))")  # what would begin a list or a heading


def escaped(text: str) -> str:
    """A text in one line, of which nothing is markup.

    >>> escaped("-O2 *fast* | <b>"), escaped("1. one"), escaped("- two")
    ('-O2 \\\\*fast\\\\* \\\\| &lt;b&gt;', '1\\\\. one', '\\\\- two')
    """
    line = " ".join(clean(text).split())
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
    return [f"{'#' * level} {escaped(shown.heading)}", "", escaped(shown.picture.description), ""]


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
    text = clean(step.value).replace("\r\n", "\n").replace("\r", "\n")
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"{escaped(step.label)}:", "", fence, text.rstrip("\n"), fence, ""]


_OUTWARDS = {"low": Context(prec=12, rounding=ROUND_FLOOR), "high": Context(prec=12, rounding=ROUND_CEILING)}
# Full-width signs too: some spreadsheets fold them.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "'", "＝", "＋", "－", "＠", "%", "|")


def guarded(text: str) -> str:
    """Return a text that no spreadsheet takes for a formula, with its control characters visible.

    >>> guarded("-O2"), guarded("plain"), guarded("'quoted")
    ("'-O2", 'plain', "''quoted")
    """
    text = clean(text)
    return "'" + text if text.lstrip(" ").startswith(_FORMULA) else text


def lines(table: Mapping[str, Any]) -> Iterator[str]:
    """Columns by name as the pieces of a CSV file; those whose names end in "low" and "high" are rounded outwards."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    writer.writerow(map(guarded, table))
    columns = list(table.values())
    ways = [_OUTWARDS.get(name.rpartition(" ")[2]) for name in table]
    for start in range(0, len(columns[0]), AT_A_TIME):
        part = [column[start : start + AT_A_TIME] for column in columns]
        plain = [each.tolist() if isinstance(each, np.ndarray) else each for each in part]
        writer.writerows(map(_cell, row, ways) for row in zip(*plain, strict=True))
        yield text.getvalue()
        text.seek(0)
        text.truncate()
    yield text.getvalue()


def _cell(value: Any, outwards: Context | None) -> Any:
    if isinstance(value, str):
        return guarded(value)
    if value is None or value != value:
        return ""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, float):
        # Without what logarithms leave at the end of 3339.
        return float(f"{value:.12g}" if outwards is None else outwards.create_decimal(f"{value:.14g}"))
    return value


# A gate as continuous integration reads it: a Markdown summary, JUnit XML, annotations of GitHub Actions --------------


_SIGNS = {Outcome.NOT_WORSE: "✅", Outcome.OPEN: "⚠️", Outcome.WORSE: "❌"}


def summary(found: Answer) -> str:
    """The gate as Markdown: the answer, the table, what is promised."""
    lines = [f"### {_SIGNS[of(found).outcome]} frontguard gate", "", f"**{escaped(answer(found))}**", ""]
    lines += [_line(HEADINGS), _line(("---", "---", "---", "---", "---:"))]
    lines += [_line(map(escaped, cells)) for cells, _ in sorted(rows(found), key=lambda row: -row[1])]
    said = [*remarks(found), *warnings_in_short(found.notices)]
    lines += [line for each in said for line in ("", escaped(each))]
    return "\n".join(lines) + "\n"


def junit(found: Answer, *, open_passes: bool = False) -> str:
    """The gate as JUnit XML: a test for each candidate and metric. What is open is an error, or skipped."""
    checks = of(found).checks
    counts = {outcome: sum(check.outcome == outcome for _, check in checks) for outcome in Outcome}
    numbers = {
        "tests": len(checks),
        "failures": counts[Outcome.WORSE],
        "errors": 0 if open_passes else counts[Outcome.OPEN],
        "skipped": counts[Outcome.OPEN] if open_passes else 0,
    }
    said = {name: str(count) for name, count in numbers.items()}
    root = ET.Element("testsuites", {"name": "frontguard gate", **said})
    suite = ET.SubElement(root, "testsuite", {"name": "frontguard gate", **said})
    for pair, check in checks:
        test = ET.SubElement(suite, "testcase", {"classname": clean(pair.name), "name": clean(named(check))})
        sentence = clean(check_in_words(pair, check))
        if check.outcome == Outcome.WORSE:
            ET.SubElement(test, "failure", {"type": "worse", "message": sentence}).text = sentence
        elif check.outcome == Outcome.OPEN:
            kind = "skipped" if open_passes else "error"
            ET.SubElement(test, kind, {"type": "open", "message": f"open: {sentence}"})
        else:
            ET.SubElement(test, "system-out").text = sentence
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def github_marks(found: Answer, *, open_passes: bool = False) -> Iterator[str]:
    """Lines for GitHub Actions: an error for what is worse, a warning for what is open, a notice if nothing is."""
    title = "frontguard gate"
    if of(found).outcome == Outcome.NOT_WORSE:
        yield _command("notice", title, answer(found))
    for pair, check in of(found).checks:
        if check.outcome == Outcome.WORSE:
            yield _command("error", title, check_in_words(pair, check))
        elif check.outcome == Outcome.OPEN:
            yield _command("notice" if open_passes else "warning", title, f"open: {check_in_words(pair, check)}")


def _command(level: str, title: str, message: str) -> str:
    r"""A command of the runner, in which a message is one whatever is in it.

    >>> _command("error", "a,b:c", "100%\n::stop-commands::x")
    '::error title=a%2Cb%3Ac::100%25%0A::stop-commands::x'
    """
    said = clean(message).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    named = clean(title).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return f"::{level} title={named.replace(':', '%3A').replace(',', '%2C')}::{said}"


def muted() -> tuple[str, str]:
    """Two lines between which the runner takes nothing for a command, whatever names there are."""
    token = secrets.token_hex(16)
    return f"::stop-commands::{token}", f"::{token}::"
