"""The public names and their docstrings, in the sections of numpydoc: what docs/api.md shows, and a test asks for.

A class without a section has that of its base; a `Question` has the parameters of `Asked`, its keywords.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
ORDER = ("Parameters", "Returns", "Raises", "Examples")
INHERITED = ("Parameters", "Raises")

_SECTION = re.compile(r"^([A-Z][a-z]+(?: [A-Z][a-z]+)*)\n-{3,}$\n", re.MULTILINE)


def public_names() -> list[str]:
    """The names of the package and of `frontguard.plot`, as their stubs have them."""
    found = []
    for package in ("frontguard", "frontguard.plot"):
        stub = ROOT.joinpath("src", *package.split("."), "__init__.pyi")
        imports = [node for node in ast.parse(stub.read_text("utf-8")).body if isinstance(node, ast.ImportFrom)]
        found += [f"{package}.{alias.asname}" for node in imports for alias in node.names if alias.asname != "plot"]
    return found


def thing(name: str) -> Any:
    """What a dotted name stands for."""
    module, _, last = name.rpartition(".")
    return getattr(importlib.import_module(module), last)


def is_there(name: str) -> bool:
    """True if a dotted name can be imported, attributes included."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            item = importlib.import_module(".".join(parts[:length]))
        except ImportError:
            continue
        for part in parts[length:]:
            if not hasattr(item, part):
                return False
            item = getattr(item, part)
        return True
    return False


def sections(text: str) -> dict[str, str]:
    """A docstring by section; the text above the first one has no name, and doctests at the end need no heading."""
    said, prompt, example = inspect.cleandoc(text).partition("\n>>> ")
    pieces = _SECTION.split(said + "\n")
    found = {"": pieces[0], **dict(zip(pieces[1::2], pieces[2::2], strict=True))}
    return found | ({"Examples": prompt.lstrip("\n") + example} if prompt else {})


def described(item: Any) -> dict[str, str]:
    """The sections of a name, with those that it has from elsewhere."""
    found = sections(item.__doc__ or "")
    if inspect.isclass(item):
        if item.__name__ == "Question":
            keywords = sections(thing("frontguard.question.Asked").__doc__ or "")
            found["Parameters"] = found["Parameters"].rstrip() + "\n" + keywords["Parameters"]
        for base in item.__mro__[1:-1]:
            theirs = sections(base.__doc__ or "") if base.__module__.startswith("frontguard") else {}
            found |= {name: theirs[name] for name in INHERITED if name in theirs and name not in found}
    return found


def parameters(section: str) -> set[str]:
    """The parameters that a section describes."""
    heads = [line.split(" : ")[0] for line in section.splitlines() if line and not line.startswith(" ")]
    return {name.strip("* ") for head in heads for name in head.split(",")}


def as_text(item: Any) -> str:
    """The docstring of a name with all its sections, in numpydoc's order."""
    found = described(item)
    shown = [name for name in ORDER if name in found]
    return found[""] + "".join(f"{name}\n{'-' * len(name)}\n{found[name].rstrip()}\n\n" for name in shown)
