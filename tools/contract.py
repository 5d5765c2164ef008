"""Which room may know which: the table of docs/design.md held against the imports, at the top, late and for types.

`python -m tools.contract` (part of `make test`) fails if a room imports one that its row does not allow, if a row
allows what nobody needs any more, if a room is not in the table, or if rooms know each other in a circle. Tools of all
rooms begin with an underscore: every room may know them, and what they may know has a row like that of others.
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
    """What each room may know: rows `| room | holds | may know |`, with rooms in backquotes."""
    rows = re.findall(r"^\| (`.+?) \| .+? \| (.*?) \|$", page, re.MULTILINE)
    table = {}
    for rooms, known in rows:
        for room in re.findall(r"`([a-z_]+)`", rooms):
            table[room] = set(re.findall(r"`([a-z_]+)`", known))
    return table


def imported() -> dict[str, set[str]]:
    """What each room does know."""
    graph = grimp.build_graph(PACKAGE, cache_dir=None)
    edges: dict[str, set[str]] = {room: set() for room in map(_room, graph.modules) if room}
    for module in graph.modules:
        if here := _room(module):
            known = {_room(other) for other in graph.find_modules_directly_imported_by(module)}
            edges[here] |= known - {here, ""}
    return edges


def _room(module: str) -> str:
    """The package or module directly under ours; "" for our front, `__main__` included."""
    room = module.split(".")[1] if "." in module else ""
    return "" if room.startswith("__") else room


def _is_tool(room: str) -> bool:
    return room.startswith("_")


def violations(table: Edges, edges: Edges) -> list[str]:
    """What the imports do that the table does not say, and what the table says that the imports do not do.

    >>> violations({"a": {"b"}, "b": set()}, {"a": {"b"}, "b": {"a"}})
    ['b knows a, which its row does not allow', 'rooms know each other in a circle: a, b, a']
    >>> violations({"a": {"b"}, "b": set()}, {"a": set(), "b": set(), "c": set()})
    ['c has no row', 'a may know b, and does not']
    >>> violations({"a": set(), "_tools": {"a"}}, {"a": {"_tools"}, "_tools": {"a"}})
    ['rooms know each other in a circle: _tools, a, _tools']
    """
    found = [f"{room} has no row" for room in sorted(edges) if room not in table]
    for room, known in sorted(edges.items()):
        wrong = sorted(other for other in known - table.get(room, set()) if not _is_tool(other))
        found += [f"{room} knows {other}, which its row does not allow" for other in wrong]
    for room, may in sorted(table.items()):
        found += [f"{room} may know {other}, and does not" for other in sorted(may - edges.get(room, set()))]
    try:
        TopologicalSorter({room: sorted(known) for room, known in sorted(edges.items())}).prepare()
    except CycleError as error:
        found.append(f"rooms know each other in a circle: {', '.join(error.args[1])}")
    return found


def main() -> int:
    """Say what is wrong, a line each; 0 if nothing is."""
    table, edges = allowed(TABLE.read_text(encoding="utf-8")), imported()
    found = violations(table, edges)
    for line in found:
        print(line, file=sys.stderr)
    if not found:
        edge_count = sum(not _is_tool(other) for known in edges.values() for other in known)
        print(f"{len(edges)} rooms, {edge_count} edges, as {TABLE.name} has them")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
