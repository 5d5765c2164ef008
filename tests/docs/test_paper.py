"""The paper's map is whole, and what it names is there."""

from __future__ import annotations

import ast
import re

import pytest
from tools.reference import is_there

from tests.docs.pages import ROOT

TEXT = (ROOT / "docs" / "paper.md").read_text("utf-8")
ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in TEXT.splitlines() if line.startswith("| ")][
    2:
]
NUMBERED = {"Definition": 5, "Lemma": 10, "Theorem": 1, "Corollary": 2, "Algorithm": 1, "Table": 2, "Figure": 1,
            "Example": 1, "Remark": 3}  # fmt: skip
"""How many of each the paper has."""


def numbers(kind: str, cell: str) -> set[int]:
    """Which ones a cell names: "Lemma 3", "Lemmas 5 to 8"."""
    plural = r"(?:Lemmas)" if kind == "Lemma" else f"{kind}s"
    found = {int(number) for number in re.findall(rf"\b{kind} (\d+)", cell)}
    for first, word, last in re.findall(rf"\b{plural} (\d+) (to|and) (\d+)", cell):
        found |= set(range(int(first), int(last) + 1)) if word == "to" else {int(first), int(last)}
    return found


def test_everything_that_the_paper_numbers_has_a_row() -> None:
    for kind, count in NUMBERED.items():
        named = set().union(*(numbers(kind, row[0]) for row in ROWS))
        assert named == set(range(1, count + 1)), kind


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0][:30])
def test_what_a_row_names_is_there(row: list[str]) -> None:
    _, here, test = row
    for name in re.findall(r"`([a-z]+\.[\w.]+)`", here):
        assert is_there(f"frontguard.{name}"), name
    for name in re.findall(r"`(\w+/[\w/.]+)`", here):
        assert (ROOT / name).is_file(), name
    for command in re.findall(r"`frontguard (\w+)`", here):
        assert (ROOT / "src" / "frontguard" / "cli" / f"{command}.py").is_file(), command
    assert "`" in here or "](" in here
    if test != "nothing to compute":
        file, _, function = test.strip("`").partition("::")
        tree = ast.parse((ROOT / file).read_text("utf-8"))
        assert function in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, test
