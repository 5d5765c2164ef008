"""The audit in words: how many cells keep to δ, and a table of them."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from frontguard.phrases import listed, number_of, percent
from frontguard.words.tables.terminal import TextColumn, titled

if TYPE_CHECKING:
    from rich.console import Group


class Audited(Protocol):
    """What came of a cell of the audit, which may know words, and is not known by them."""

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def about(self) -> str:
        """What goes wrong in it."""

    @property
    def runs(self) -> int:
        """Simulated runs."""

    @property
    def false(self) -> int:
        """Runs with a false statement."""

    @property
    def kinds(self) -> tuple[tuple[str, int], ...]:
        """Of false statements, with the number of runs that had one."""

    @property
    def limit(self) -> float:
        """What the share of such runs is at most."""

    @property
    def refuted(self) -> bool:
        """Whether so many show that the promise is not kept."""


def answer(outcomes: Sequence[Audited], delta: float) -> str:
    """Whether δ is kept, in a sentence."""
    refuted = [outcome.name for outcome in outcomes if outcome.refuted]
    runs = f"{outcomes[0].runs:,} runs each" if outcomes else "no runs"
    if refuted:
        which = f"{len(refuted)} of {number_of(len(outcomes), 'cell')}"
        return f"False statements are printed more often than promised in {which} ({runs}): {listed(refuted)}."
    worst = max(outcomes, key=lambda outcome: outcome.limit)
    return (
        f"In {number_of(len(outcomes), 'cell')} of {runs}, false statements are not more frequent than promised "
        f"({percent(delta)}); the largest share is at most {percent(worst.limit)}, in {worst.name}."
    )


def table(outcomes: Sequence[Audited], delta: float, width: int) -> Group:
    """The cells with what came of them, for rich to print."""
    kinds = [", ".join(f"{kind} {count}" for kind, count in outcome.kinds) for outcome in outcomes]
    columns = [
        TextColumn.of("cell", [outcome.name for outcome in outcomes]),
        TextColumn.of("runs", [f"{outcome.runs:,}" for outcome in outcomes], number=True),
        TextColumn.of("false", [f"{outcome.false:,}" for outcome in outcomes], number=True),
        TextColumn.of("at most", [percent(outcome.limit) for outcome in outcomes], number=True),
    ]
    if any(kinds):
        columns.append(TextColumn.of("what was false", [textwrap.fill(kind, 30) for kind in kinds]))
    styles = ["bold red" if outcome.refuted else "" for outcome in outcomes]
    title = f"Runs with a false statement; δ = {percent(delta)}"
    return titled(title, columns, width, gives_way=[1, 4][: len(columns) - 3], styles=styles, elsewhere="--json")


def as_markdown(outcomes: Sequence[Audited]) -> str:
    """The same as a table for docs."""
    rows = ["| cell | what goes wrong | runs | false | at most |", "| --- | --- | --- | --- | --- |"]
    rows += [
        f"| {each.name} | {each.about} | {each.runs:,} | {each.false:,} | {percent(each.limit)} |" for each in outcomes
    ]
    return "\n".join(rows)
