"""No private part of another library in `src`: what begins with an underscore may change with any of its versions."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import frontguard

PACKAGE = Path(frontguard.__file__).parent
DOCUMENTED = {"os._exit"}
ALLOWED: set[str] = set()
"""What is still to go, as "module: name"."""


def is_private(name: str) -> bool:
    return any(part.startswith("_") and not part.endswith("__") for part in name.split("."))


def is_ours(name: str) -> bool:
    return name.split(".")[0] == "frontguard"


def dotted(node: ast.expr) -> str | None:
    """A chain of names as it is written, such as `a.b.c`; None for any other expression."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (before := dotted(node.value)) is not None:
        return f"{before}.{node.attr}"
    return None


def private_parts(source: str) -> Iterator[str]:
    """Names of private parts of other libraries that a module imports, reads or sets."""
    tree = ast.parse(source)
    foreign: dict[str, str] = {}  # what is imported from others, by the name that it has here
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = {each.asname or each.name.split(".")[0]: (each.asname and each.name) or each.name.split(".")[0]
                     for each in node.names}  # fmt: skip
            yield from (each.name for each in node.names if is_private(each.name) and not is_ours(each.name))
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module and not is_ours(node.module):
            names = {each.asname or each.name: f"{node.module}.{each.name}" for each in node.names}
            yield from (name for name in names.values() if is_private(name))
        else:
            continue
        foreign |= {here: name for here, name in names.items() if not is_ours(name)}
    for node in ast.walk(tree):
        found = None
        if isinstance(node, ast.Attribute):
            found = dotted(node)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) > 1:
            of, name = dotted(node.args[0]), node.args[1]
            if node.func.id in ("getattr", "setattr", "hasattr") and of and isinstance(name, ast.Constant):
                found = f"{of}.{name.value}"
        first, _, rest = (found or "").partition(".")
        if first in foreign and is_private(rest.split(".")[-1]):
            yield f"{foreign[first]}.{rest}"


def test_src_uses_no_private_part_of_another_library() -> None:
    found = {
        f"{path.relative_to(PACKAGE).as_posix()}: {name}"
        for path in PACKAGE.rglob("*.py")
        for name in private_parts(path.read_text())
        if name not in DOCUMENTED
    }
    assert found == ALLOWED


def test_private_parts_are_seen() -> None:
    source = """
import a._b
import c.d as e
import numpy
from f import _g, h
from frontguard._common import _ours
from i._j import k
e._l()
numpy.core._m.n = 1
getattr(h, "_o")
h.__name__
self._mine
"""
    assert set(private_parts(source)) == {"a._b", "f._g", "i._j.k", "c.d._l", "numpy.core._m", "f.h._o"}
