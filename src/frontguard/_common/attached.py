"""Functions of higher packages that lower ones offer as methods: `result.plot()`, `study.report(path)`.

The front of the package attaches them, by name and place; nothing is imported before it is first called.
"""

from __future__ import annotations

from collections.abc import Callable
from pkgutil import resolve_name
from typing import Any

_PLACES: dict[str, str] = {}


def attach(name: str, place: str) -> None:
    """Have `attached(name)` give the function at a place, written "package.module:function"."""
    _PLACES[name] = place


def attached(name: str) -> Callable[..., Any]:
    """The function that was attached under a name."""
    found: Callable[..., Any] = resolve_name(_PLACES[name])
    return found
