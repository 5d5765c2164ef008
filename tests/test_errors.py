"""Errors carry what they speak of as data, and nothing reads it back out of their sentences."""

from __future__ import annotations

import ast
import copy
import pickle
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

import frontguard
from frontguard.cli import COMMANDS, options_of
from frontguard.errors import BadArgument, BadInput, NoColumn

SOURCES = {file: file.read_text(encoding="utf-8") for file in sorted(Path(frontguard.__file__).parent.rglob("*.py"))}
OPTIONS = {name for command in COMMANDS for name in options_of(command)}

READING = {
    "replace",
    "startswith",
    "endswith",
    "removeprefix",
    "removesuffix",
    "partition",
    "rpartition",
    "find",
    "index",
}
PATTERNS = {"match", "fullmatch", "search", "sub", "split", "findall", "finditer"}


def test_an_argument_by_another_name(snapshot: SnapshotAssertion) -> None:
    error = BadArgument("max_pulls", must="be a whole number from 1", got="0")
    assert isinstance(error, BadInput)
    assert str(error) == snapshot(name="max_pulls")
    assert error.named("--max-pulls") == str(error).replace("max_pulls", "--max-pulls")
    assert str(BadArgument("sigma", must="come with statistic='mean'")) == snapshot(name="sigma")
    told = BadArgument("where", "all pulls count")
    assert told.named("--where") == "--where: all pulls count"


@pytest.mark.parametrize(
    "error",
    [BadArgument("arms", must="be one", got="none"), BadArgument("arms", "there are none"), NoColumn("no x", "x")],
)
def test_an_error_crosses_processes(error: BadInput) -> None:
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))


@cache
def nodes(source: str) -> list[ast.AST]:
    """Calls, handlers of errors and classes of a source: all that is looked at here."""
    if not re.search(r"\b(BadInput|except|class)\b", source):
        return []
    wanted = (ast.Call, ast.ExceptHandler, ast.ClassDef)
    return [node for node in ast.walk(ast.parse(source)) if isinstance(node, wanted)]


def messages_with_an_argument_in_them(source: str) -> Iterator[str]:
    """`BadInput("arms must …")` and `BadInput("arms: …")`, where `arms` is an option: of these, BadArgument tells."""
    for node in nodes(source):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "BadInput" and node.args:
            text = node.args[0].values[0] if isinstance(node.args[0], ast.JoinedStr) else node.args[0]
            begin = text.value if isinstance(text, ast.Constant) and isinstance(text.value, str) else ""
            found = re.match(r"(\w+)(?=:| must )", begin)
            if found and found[1] in OPTIONS:
                yield begin


def errors_read_back(source: str, ours: set[str]) -> Iterator[str]:
    """Expressions that look for words in the text of a caught error that is one of ours."""
    for handler in nodes(source):
        if not isinstance(handler, ast.ExceptHandler) or handler.name is None or handler.type is None:
            continue
        caught = {each.id for each in ast.walk(handler.type) if isinstance(each, ast.Name)}
        if not caught & ours:
            continue
        for node in ast.walk(handler):
            looked_at: list[ast.expr] = []
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                if node.func.attr in READING:
                    looked_at = [node.func.value]
                elif node.func.attr in PATTERNS:
                    looked_at = [node.func.value, *node.args]
            elif isinstance(node, ast.Compare) and any(isinstance(each, ast.In | ast.NotIn) for each in node.ops):
                looked_at = node.comparators
            if any(ast.unparse(each) == f"str({handler.name})" for each in looked_at):
                yield ast.unparse(node)


def own_errors() -> set[str]:
    """Names of all of our classes that are errors, by what they inherit from."""
    bases = {
        node.name: {each.id for each in node.bases if isinstance(each, ast.Name)}
        for source in SOURCES.values()
        for node in nodes(source)
        if isinstance(node, ast.ClassDef)
    }
    found = {"BadInput", "OutOfTurn"}
    while more := {name for name, known in bases.items() if known & found} - found:
        found |= more
    return found


def test_no_message_has_an_argument_in_words_only() -> None:
    assert list(messages_with_an_argument_in_them('raise BadInput(f"max_pulls must be 1; got {x}")'))
    assert {
        file: found for file, text in SOURCES.items() if (found := [*messages_with_an_argument_in_them(text)])
    } == {}


def test_no_error_of_ours_is_read_back() -> None:
    ours = own_errors()
    assert {"BadArgument", "NoColumn", "Unavailable", "Damaged"} <= ours
    for mistake in ('str(e).replace("a", "b")', '"a" in str(e)', 're.match("a", str(e))', 'str(e).startswith("a")'):
        caught = f"try: f()\nexcept BadInput as e: {mistake}"
        assert list(errors_read_back(caught, ours)) == [ast.unparse(ast.parse(mistake))]
    assert {file: found for file, text in SOURCES.items() if (found := [*errors_read_back(text, ours)])} == {}
