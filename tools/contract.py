"""Which package may know which: the table of docs/design.md held against the imports, at the top, late and for types.

`python -m tools.contract` (part of `make test`) fails if a package imports one that its row does not allow, if a row
allows what nobody needs any more, if a package is not in the table, or if packages know each other in a circle. Tools
of all packages begin with an underscore: every package may know them, and what they may know has a row like that of
others.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import grimp

PACKAGE = "frontguard"
TABLE = Path(__file__).parents[1] / "docs" / "design.md"

Edges = Mapping[str, set[str]]


def allowed(page: str) -> dict[str, set[str]]:
    """What each package may know: rows `| package | holds | may know |`, with packages in backquotes."""
    rows = re.findall(r"^\| (`.+?) \| .+? \| (.*?) \|$", page, re.MULTILINE)
    table = {}
    for packages, known in rows:
        for package in re.findall(r"`([a-z_]+)`", packages):
            table[package] = set(re.findall(r"`([a-z_]+)`", known))
    return table


def imported() -> dict[str, set[str]]:
    """What each package does know."""
    graph = grimp.build_graph(PACKAGE, cache_dir=None)
    edges: dict[str, set[str]] = {package: set() for package in map(_package, graph.modules) if package}
    for module in graph.modules:
        if here := _package(module):
            known = {_package(other) for other in graph.find_modules_directly_imported_by(module)}
            edges[here] |= known - {here, ""}
    return edges


def _package(module: str) -> str:
    """The package or module directly under ours; "" for our front, `__main__` included."""
    package = module.split(".")[1] if "." in module else ""
    return "" if package.startswith("__") else package


def _is_tool(package: str) -> bool:
    return package.startswith("_")


def violations(table: Edges, edges: Edges) -> list[str]:
    """What the imports do that the table does not say, and what the table says that the imports do not do.

    >>> violations({"a": {"b"}, "b": set()}, {"a": {"b"}, "b": {"a"}})
    ['b knows a, which its row does not allow', 'packages know each other in a circle: a, b, a']
    >>> violations({"a": {"b"}, "b": set()}, {"a": set(), "b": set(), "c": set()})
    ['c has no row', 'a may know b, and does not']
    >>> violations({"a": set(), "_tools": {"a"}}, {"a": {"_tools"}, "_tools": {"a"}})
    ['packages know each other in a circle: _tools, a, _tools']
    """
    found = [f"{package} has no row" for package in sorted(edges) if package not in table]
    for package, known in sorted(edges.items()):
        wrong = sorted(other for other in known - table.get(package, set()) if not _is_tool(other))
        found += [f"{package} knows {other}, which its row does not allow" for other in wrong]
    for package, may in sorted(table.items()):
        found += [f"{package} may know {other}, and does not" for other in sorted(may - edges.get(package, set()))]
    try:
        TopologicalSorter({package: sorted(known) for package, known in sorted(edges.items())}).prepare()
    except CycleError as error:
        found.append(f"packages know each other in a circle: {', '.join(error.args[1])}")
    return found


def main() -> int:
    """Say what is wrong, a line each; 0 if nothing is."""
    table, edges = allowed(TABLE.read_text(encoding="utf-8")), imported()
    found = violations(table, edges)
    for line in found:
        print(line, file=sys.stderr)
    if not found:
        edge_count = sum(not _is_tool(other) for known in edges.values() for other in known)
        print(f"{len(edges)} packages, {edge_count} edges, as {TABLE.name} has them")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
