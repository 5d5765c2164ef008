"""Markdown and CSV: names stay names, whatever Markdown or a spreadsheet would make of them."""

from __future__ import annotations

import csv
import io
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from syrupy.assertion import SnapshotAssertion

from frontguard.logs.analyze import analyze
from frontguard.markup import clean
from frontguard.reports.plain import document, escaped, lines
from frontguard.reports.write import report_on, text_of
from tests.reports.samples import ARMS, flags, rows, study_in
from tests.support.snapshots import said

HOSTILE = [
    "-O2", "- list", "+ list", "1. one", "# heading", "> quote", "=== ", "***", "__b__", "`code`", "``` fence", "a|b",
    "\\|", "<b>bold</b>", "<script>alert(1)</script>", "[a](javascript:alert(1))", "![i](https://x.y/z.png)",
    "&lt;b&gt;", "&amp;", "https://x.y/z", "www.x.y", "~~gone~~", "$x^2$", "a\nb\r\nc\td", "\u202eevil\u2066",
    "<!-- x -->", "[x]: https://x.y", "\x00\x07", "x" * 2000, "\ud800", "*a*b*", "_a_", "^sup^", "| a | b |", "---",
    ":---:", "{{x}}", "%%", "\\", "'", '"',
]  # fmt: skip

PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])


def plain(text: str) -> str:
    return " ".join(clean(text).split())


def seen(markdown: str) -> tuple[str, set[str]]:
    """What a reader sees of a text, and what kinds of things a parser finds in it."""
    kinds, texts = set(), []
    for token in PARSER.parse(markdown):
        kinds.add(token.type)
        for child in token.children or ():
            kinds.add(child.type)
            texts.append(child.content)
    return "".join(texts), kinds - {"paragraph_open", "paragraph_close", "inline", "text", "text_special"}


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_nothing_of_a_name_is_markup(text: str) -> None:
    assert seen(escaped(text)) == (plain(text), set())


@given(st.text(max_size=60))
def test_nothing_of_any_text_is_markup(text: str) -> None:
    assert seen(escaped(text)) == (plain(text), set())


@given(st.text(alphabet="-+*#=_`~|[]()<>!\\&;:.1 a\n", max_size=20))
def test_nothing_of_signs_is_markup(text: str) -> None:
    assert seen(escaped(text)) == (plain(text), set())


def test_a_hostile_table_keeps_its_rows_and_columns() -> None:
    frame: dict[str, Any] = {"arm": np.repeat([*HOSTILE[:27], "x" * 300], 30).tolist()}
    frame["sec|onds"] = np.random.default_rng(0).normal(5.0, 1.0, len(frame["arm"]))
    found = analyze(frame, arm="arm", minimize="sec|onds")
    text = document(report_on(found))
    tokens = PARSER.parse(text)
    start = next(i for i, token in enumerate(tokens) if token.type == "table_open")
    end = next(i for i, token in enumerate(tokens) if token.type == "table_close")
    inside = [token.type for token in tokens[start:end]]
    assert inside.count("tr_open") == 1 + len(found.arms)
    assert inside.count("td_open") == len(found.arms) * inside.count("th_open")
    first = [
        tokens[i + 1] for i in range(start, end) if tokens[i].type == "td_open" and tokens[i - 1].type == "tr_open"
    ]
    names = ["".join(child.content for child in token.children or ()) for token in first]
    assert sorted(names) == sorted(plain(arm) for arm in found.arms)
    assert not {token.type for token in tokens} & {"html_block", "code_block", "blockquote_open", "hr"}


def test_the_study_in_words(snapshot: SnapshotAssertion) -> None:
    text = document(report_on(study_in(None)))
    assert said("\n".join(text.splitlines()[:5])) == snapshot
    tokens = PARSER.parse(text)
    headings = [
        tokens[i + 1].content for i, token in enumerate(tokens) if token.type == "heading_open" and token.tag == "h2"
    ]
    assert headings == [
        "The front", "Warnings", "The arms", "What is certain", "What that assumes", "How robust it is", "Failures",
        "How it came about", "How to reproduce it",
    ]  # fmt: skip
    assert "timeout \\| after \\`10\\` s" in text


# CSV ------------------------------------------------------------------------------------------------------------------


@given(st.lists(st.text(max_size=40), min_size=1, max_size=3))
@example(["=1+1", "+a", "-O2", "'e", "\x1b[31mred\x85\x07\u202e"])
def test_no_text_is_a_formula_and_every_text_comes_back_with_control_characters_visible(names: list[str]) -> None:
    _, *read = csv.reader(io.StringIO("".join(lines({"arm": names})), newline=""))
    assert not any(re.match(r"[ ]*[=+\-@\t\r\n＝＋－＠]", row[0]) for row in read)
    assert [row[0].removeprefix("'") for row in read] == [clean(name) for name in names]


def test_a_row_for_every_arm_with_its_numbers() -> None:
    study = study_in(None)
    result = study.result()
    read = list(csv.DictReader(io.StringIO("".join(text_of(report_on(study), "csv")))))
    assert [row["arm"].removeprefix("'") for row in read] == list(ARMS)
    assert {row["arm"] for row in read} >= {"'-O2", "'=1+1", "lied to"}
    low, high = result.lower, result.upper
    noise = 1.0 + 1e-14
    failures = study.failures()
    for i, row in enumerate(read):
        excluded = ARMS[i] == "broken"
        assert row["verdict"] == ("excluded" if excluded else result.verdicts[ARMS[i]])
        assert int(row["pulls"]) == result.pulls_per_arm[i]
        assert int(row["failed pulls"]) == sum(failures.get(ARMS[i], {}).values())
        for d, name in enumerate(("seconds", "quality")):
            ends = float(row[f"{name} low"]), float(row[f"{name} high"])
            assert ends == pytest.approx((low[i, d], high[i, d]), rel=1e-11)
            assert ends[0] <= low[i, d] * noise
            assert ends[1] >= high[i, d] / noise
    assert read[2]["seconds"] == ""
    assert read[2]["failures"] == f"{read[2]['pulls']} x exit code 3"


@given(st.floats(1e-6, 1e9), st.floats(0.0, 1e-9))
def test_what_lies_in_an_interval_lies_in_the_one_that_is_written(value: float, width: float) -> None:
    table = {"arm": ["a"], "x low": [value], "x": [value], "x high": [value * (1.0 + width)]}
    (row,) = csv.DictReader(io.StringIO("".join(lines(table))))
    # What is left is the noise of doubles: the fourteenth digit.
    assert float(row["x low"]) <= value * (1.0 + 1e-14)
    assert float(row["x high"]) >= value * (1.0 + width) * (1.0 - 1e-14)


def test_texts_are_quoted_and_numbers_are_not() -> None:
    written = "".join(text_of(report_on(flags()), "csv")).splitlines()
    assert written[1].startswith('"\'-O1","matched",1.31654,')
    assert ",3339.0," in written[1]  # not 3338.9999999999986, which logarithms make of it
    rows_read = list(csv.DictReader(io.StringIO("".join(text_of(report_on(rows()), "csv")))))
    assert [row["policy"] for row in rows_read] == ["rpsi", "rpsi", "certified", "certified", "auer-a1"]
    assert rows_read[2]["published_sc"] == ""
