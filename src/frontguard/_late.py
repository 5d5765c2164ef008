"""Names of a package that are imported on first use, so that importing the package itself stays fast."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def late_names(package: str, where: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a package: each name with the module that has it, or that is it.

    >>> find = late_names("frontguard", {"Objective": "frontguard.objectives", "plot": "frontguard.plot"})
    >>> find("Objective").__name__, find("plot").__name__
    ('Objective', 'frontguard.plot')
    >>> find("nothing")
    Traceback (most recent call last):
    ...
    AttributeError: module 'frontguard' has no attribute 'nothing'
    """

    def find(name: str) -> Any:
        if name not in where:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = import_module(where[name])
        if where[name] == f"{package}.{name}":
            return module
        value = getattr(module, name)
        setattr(sys.modules[package], name, value)
        return value

    return find
