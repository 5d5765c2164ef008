"""What is said when a log cannot be read: one line, with the file, the place in it, what is wanted and what was got."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NoReturn

from frontguard.errors import BadInput
from frontguard.phrases import did_you_mean, quoted, shown


def no_column(name: str, names: Sequence[str], where: str) -> NoReturn:
    """Refuse a column that is not there."""
    there = f"its columns are {quoted(names)}" if names else "it has no columns"
    raise BadInput(f"{where}: no column is called {shown(name)}{did_you_mean(name, names)}; {there}")


def one_column(name: str, names: Sequence[str], where: str) -> int:
    """The position of a column, which must be there once. A name that differs by blanks around it alone is the name."""
    found = [index for index, each in enumerate(names) if each == name]
    if not found:
        found = [index for index, each in enumerate(names) if each.strip() == name.strip()]
    if not found:
        no_column(name, names, where)
    if len(found) > 1:
        raise BadInput(f"{where}: {len(found)} columns are called {shown(name)}; wanted one")
    return found[0]


def different(names: Sequence[str], what: str) -> None:
    """Refuse a list in which a name stands twice."""
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise BadInput(f"{what} must be different columns; got {shown(twice[0])} more than once")


def needs(package: str, reason: Any) -> NoReturn:
    """Refuse for want of a package of the extra for logs."""
    raise BadInput(f"reading logs needs {package}: pip install 'frontguard[logs]'") from reason
