"""Functions of higher packages that lower ones offer as methods (`result.plot()`), imported when first called."""

from __future__ import annotations

from collections.abc import Callable
from pkgutil import resolve_name
from typing import Any


def attached(name: str) -> Callable[..., Any]:
    """The function that the front of the package lists under a name."""
    found: Callable[..., Any] = resolve_name(resolve_name("frontguard:ATTACHED")[name])
    return found
