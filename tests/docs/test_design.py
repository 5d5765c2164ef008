"""The map of the house is true: the modules and functions that it names are there, and packages say what they hold."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HOUSE = ROOT / "src" / "frontguard"
PAGES = [ROOT / "docs" / "design.md", ROOT / "CONTRIBUTING.md"]
DECISIONS = sorted((ROOT / "docs" / "decisions").glob("*.md"))
PACKAGES = sorted(file for file in HOUSE.glob("*/__init__.py"))


@pytest.mark.parametrize("page", [*PAGES, *DECISIONS], ids=lambda page: page.name)
def test_modules_that_are_named_are_there(page: Path) -> None:
    named = set(re.findall(r"`([a-z_]+(?:/[a-z_]+)+(?:\.py)?/?|[a-z_]+(?:\.py|/))`", page.read_text(encoding="utf-8")))
    assert len(named) > 10 or page in DECISIONS
    for name in named:
        places = [base / name for base in (HOUSE, ROOT)]
        assert any(each.exists() or each.with_suffix(".py").exists() for each in places), name


def test_the_map_is_short_and_every_decision_is_listed_once() -> None:
    assert len(PAGES[0].read_text(encoding="utf-8").splitlines()) <= 150
    index = (ROOT / "docs" / "decisions" / "README.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"\]\((.+?)\)", index)) == [page.name for page in DECISIONS if page.name != "README.md"]


def test_functions_that_are_named_are_there() -> None:
    """In "where to change what", a name behind a file is one of that file."""
    page = PAGES[0].read_text(encoding="utf-8").split("## Where to change what")[1].split("\n## ")[0]
    named = re.findall(r"`([a-z_/]+\.py)`: ((?:[^`|]*?`[a-zA-Z_]+`(?=[^/.]))+)", page)
    assert len(named) > 4
    for file, names in named:
        there = {
            node.name
            for node in ast.walk(ast.parse((HOUSE / file).read_text(encoding="utf-8")))
            if isinstance(node, ast.FunctionDef | ast.ClassDef)
        }
        for name in re.findall(r"`([a-zA-Z_]+)`", names):
            assert name in there, (file, name)


@pytest.mark.parametrize("package", PACKAGES, ids=lambda file: file.parent.name)
def test_a_room_says_what_it_holds_and_where_to_start(package: Path) -> None:
    said = ast.get_docstring(ast.parse(package.read_text(encoding="utf-8"))) or ""
    assert len(said.splitlines()) > 2
    assert re.search(r"`[a-z_.]+`", said), "where to start reading"
