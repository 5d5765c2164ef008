"""Tests assert facts: no assertion holds a sentence, which lives in a snapshot instead."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
MOST_WORDS = 4
"""A name, a column, an option or a number may be asserted; more words than these are prose."""


def is_prose(node: ast.AST) -> bool:
    if not (isinstance(node, ast.Constant) and isinstance(node.value, str)):
        return False
    return sum(any(map(str.isalpha, word)) for word in node.value.split()) > MOST_WORDS


def sentences(tree: ast.AST) -> Iterator[int]:
    """Yield the lines of assertions that compare with prose, and of errors that are expected by their words."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assert):
            compared = [part for part in ast.walk(node.test) if isinstance(part, ast.Compare)]
            if any(is_prose(each) for part in compared for each in ast.walk(part)):
                yield node.lineno
        elif isinstance(node, ast.keyword) and node.arg == "match":
            yield node.value.lineno


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("assert 'no arm was left to be measured' in text", [1]),
        ("with pytest.raises(ValueError, match='no arm'):\n    f()", [1]),
        ("assert text == snapshot\nassert verdicts == {'gzip -1': 'in', 'zstd --fast': 'out'}", []),
    ],
)
def test_prose_is_found(source: str, lines: list[int]) -> None:
    assert list(sentences(ast.parse(source))) == lines


def test_no_assertion_holds_a_sentence() -> None:
    held = [
        f"{path.relative_to(TESTS)}:{line}"
        for path in sorted(TESTS.rglob("*.py"))
        for line in sentences(ast.parse(path.read_text()))
    ]
    assert held == []
