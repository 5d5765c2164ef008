"""What a benchmark returns: figures as data, each with what is wanted of it; and how they are shown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Any


@dataclass(frozen=True)
class Row:
    """One figure. `what` names it and stays the same from run to run: by it, it is found in the results of last time.

    What else a run measured (seconds, sizes) is text in `details`; `beside` is the peer with its version.
    """

    what: str
    measured: float
    at_most: float | None = None
    at_least: float | None = None
    unit: str = "×"
    details: str = ""
    beside: str = ""

    @property
    def reached(self) -> bool:
        """Whether it is as wanted; so is what nothing is wanted of."""
        return (self.at_most is None or self.measured <= self.at_most) and (
            self.at_least is None or self.measured >= self.at_least
        )

    @property
    def wanted(self) -> str:
        """In words."""
        ends = (("≤", self.at_most), ("≥", self.at_least))
        return ", ".join(f"{sign} {figure(end, self.unit)}" for sign, end in ends if end is not None)

    def as_fields(self) -> dict[str, Any]:
        """What is kept of it: fields that say something."""
        return {name: value for name, value in asdict(self).items() if value not in (None, "")}


def figure(number: float, unit: str) -> str:
    """A number of that many digits as mean something here.

    >>> figure(0.0936, "s"), figure(2340.2, "×"), figure(2, "×")
    ('0.0936 s', '2,340 ×', '2 ×')
    """
    digits = f"{number:,.0f}" if abs(number) >= 100 else f"{number:.3g}"
    return f"{digits} {unit}".strip()


def peer(*names: str) -> str:
    """Distributions with their versions.

    >>> peer("numpy").split()[0]
    'numpy'
    """
    return ", ".join(f"{name} {version(name)}" for name in names)


def line(row: Row) -> str:
    """A figure as it is shown once it is measured."""
    verdict = f"  (wanted {row.wanted}: {'reached' if row.reached else 'MISSED'})" if row.wanted else ""
    rest = "".join(f"; {each}" for each in (row.details, row.beside and f"beside {row.beside}") if each)
    return f"  {figure(row.measured, row.unit):>10}  {row.what}{verdict}{rest}"


HEADINGS = ("benchmark", "what", "wanted", "is", "was", "", "beside")


def table(now: Mapping[str, Iterable[Row]], before: Mapping[str, Iterable[Row]]) -> str:
    """One line for each figure, now or (where it was not measured now) of last time, as Markdown with even columns."""
    lines = []
    for name in dict.fromkeys((*now, *before)):
        old, new = ({row.what: row for row in rows.get(name, ())} for rows in (before, now))
        # What a benchmark no longer measures is not shown; what did not run is shown as it was.
        for what in new or old:
            row, was = new.get(what), old.get(what)
            one = row or old[what]
            measured, past = ((each and figure(each.measured, each.unit)) or "" for each in (row, was))
            missed = "" if one.reached else "MISSED"
            lines.append((name, what.replace("|", "\\|"), one.wanted, measured, past, missed, one.beside))
    widths = [max(3, *map(len, column)) for column in zip(HEADINGS, *lines, strict=True)]
    rows = (HEADINGS, tuple("-" * width for width in widths), *lines)
    return "\n".join(
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in rows
    )


def heading(text: str) -> None:
    """What is measured next, on a line of its own: progress."""
    print(f"\n{text}", flush=True)
