"""What `pip install frontguard` and its extras put on a disk, by what is installed here: `python -m tools.sizes`.

Files of a distribution as its record lists them, without the bytecode that Python adds (about a fifth again); an extra
counts what it brings besides the core. Needs an installation with all extras.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution

from packaging.requirements import Requirement

EXTRAS = ("plot", "plotly", "web", "postgres", "dask", "logs", "all")


def closure(name: str, extras: Iterable[str] = (), seen: set[tuple[str, str]] | None = None) -> set[str]:
    """The distributions that one brings, itself included, with these extras."""
    seen = set() if seen is None else seen
    found = {re.sub(r"[-_.]+", "-", name).lower()}
    for extra in ("", *extras):
        if (name, extra) in seen:
            continue
        seen.add((name, extra))
        for text in distribution(name).requires or ():
            wanted = Requirement(text)
            if wanted.marker is None or wanted.marker.evaluate({"extra": extra}):
                try:
                    found |= closure(wanted.name, wanted.extras, seen)
                except PackageNotFoundError:
                    print(f"not installed here, and not counted: {wanted.name}", file=sys.stderr)
    return found


@cache
def megabytes(name: str) -> float:
    """Of the files of a distribution."""
    files = distribution(name).files or ()
    return sum(each.size or 0 for each in files if each.suffix != ".pyc") / 1e6


def main() -> None:
    """Print a table of the core and the extras, each with the largest of what it brings."""
    core = closure("frontguard")
    print("| installed | MB | of which |\n| --- | --- | --- |")
    for extra in ("", *EXTRAS):
        brought = core if not extra else closure("frontguard", [extra]) - core
        sizes = sorted(((megabytes(name), name) for name in brought), reverse=True)
        largest = ", ".join(f"{name} {size:.0f}" for size, name in sizes[:5] if size >= 1)
        label = f"`frontguard[{extra}]` adds" if extra else "`frontguard`"
        print(f"| {label} | {sum(size for size, _ in sizes):.0f} | {largest} |")


if __name__ == "__main__":
    main()
