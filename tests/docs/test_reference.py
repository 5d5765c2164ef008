"""Every public name is in the reference, with its parameters, what it returns and raises, and an example.

The examples run: they are doctests of src.
"""

from __future__ import annotations

import ast
import inspect
import re
from typing import Any

import pytest
from tools.reference import described, is_there, parameters, public_names, thing

from tests.docs.pages import ROOT, blocks, pages

PAGE = ROOT / "docs" / "api.md"
LISTED = re.findall(r"^   (frontguard\.[\w.]+)$", PAGE.read_text("utf-8"), re.MULTILINE)
MADE_BY_US = {"frontguard.Answer", "frontguard.BadInput", "frontguard.plot.Picture"}  # a caller is given them
DRAWS_ANYTHING = {f"frontguard.plot.{name}" for name in ("parallel", "pulls", "rate")}
RAISES_NOTHING = {*MADE_BY_US, *DRAWS_ANYTHING, "frontguard.Measurement"}


def imported() -> set[str]:
    """The names that pages import from subpackages."""
    found = set()
    for page in pages():
        for block in blocks(page.read_text("utf-8")):
            if block.language == "python" and block.said != "not run":
                for node in ast.walk(ast.parse(block.text)):
                    if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("frontguard."):
                        found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def taken(item: Any) -> set[str]:
    """The parameters of a signature, but for the keywords of `Asked`."""
    each = inspect.signature(item).parameters.values()
    return {parameter.name for parameter in each if parameter.kind is not parameter.VAR_KEYWORD}


def test_every_public_name_is_listed_once() -> None:
    assert len(LISTED) == len(set(LISTED))
    assert {*public_names(), *imported()} - {*LISTED} == set()


@pytest.mark.parametrize("name", LISTED)
def test_a_name_says_all_that_a_caller_needs(name: str) -> None:
    item = thing(name)
    found = described(item)
    wanted = set() if name in MADE_BY_US else taken(item)
    assert wanted - parameters(found.get("Parameters", "")) == set()
    assert inspect.isclass(item) or "Returns" in found
    assert "Raises" in found or name in RAISES_NOTHING
    assert ">>> " in found.get("Examples", "")


def test_names_in_prose_are_there() -> None:
    named = {name for page in pages() for name in re.findall(r"`(frontguard(?:\.\w+)+)[`(]", page.read_text("utf-8"))}
    assert len(named) > 5
    assert {name for name in named if not is_there(name)} == set()
