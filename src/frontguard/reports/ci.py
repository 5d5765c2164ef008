"""A gate as what continuous integration reads: a Markdown summary, JUnit XML, and annotations of GitHub Actions.

Names are data in each of them: in Markdown escaped, in XML written by a library, in annotations encoded, so that no
name of an arm can begin a line that the runner takes for a command.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from xml.etree import ElementTree as ET

from frontguard.comparisons.outcomes import Check, GatePair, GateResult, LimitCheck, Outcome
from frontguard.markup import clean
from frontguard.notices import warnings_in_short
from frontguard.reports.plain import escaped
from frontguard.words.gate import HEADINGS, answer, check_in_words, named, promise, remarks, robustness, rows

_HEADLINES = {
    Outcome.NOT_WORSE: "✅ not worse",
    Outcome.OPEN: "⚠️ open",
    Outcome.WORSE: "❌ worse",
}


def summary(found: GateResult, *, of_logs: bool = False) -> str:
    """The gate as Markdown: the answer, the table, what is promised."""
    lines = [f"### frontguard gate: {_HEADLINES[found.outcome]}", "", f"**{escaped(answer(found))}**", ""]
    lines += [_line(HEADINGS), _line(("---", "---", "---", "---", "---:"))]
    lines += [_line(map(escaped, cells)) for cells, _ in sorted(rows(found), key=lambda row: -row[1])]
    said = [promise(found, of_logs=of_logs), robustness(found), *remarks(found), *warnings_in_short(found.notices)]
    lines += [line for each in said if each for line in ("", escaped(each))]
    return "\n".join(lines) + "\n"


def _line(cells: object) -> str:
    return "| " + " | ".join(cells) + " |"  # type: ignore[arg-type]


def junit(found: GateResult, *, open_passes: bool = False) -> str:
    """The gate as JUnit XML: a test for each candidate and metric. What is open is an error, or skipped."""
    checks = [(pair, check) for pair in found.pairs for check in pair.all_checks]
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


def github_marks(found: GateResult, *, open_passes: bool = False) -> Iterator[str]:
    """Lines that GitHub Actions shows beside a change: an error for what is worse, a warning for what is open.

    One notice where nothing is either.
    """
    title = "frontguard gate"
    if found.outcome == Outcome.NOT_WORSE:
        yield _command("notice", title, answer(found))
    for pair in found.pairs:
        for check in pair.all_checks:
            if check.outcome == Outcome.WORSE:
                yield _command("error", title, check_in_words(pair, check))
            elif check.outcome == Outcome.OPEN:
                yield _command("notice" if open_passes else "warning", title, _opened(pair, check))


def _opened(pair: GatePair, check: Check | LimitCheck) -> str:
    return f"open: {check_in_words(pair, check)}"


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
