"""--baseline and --pick: what is asked for beside an answer, and how it is printed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from frontguard.errors import BadInput
from frontguard.phrases import did_you_mean, quoted, shown

if TYPE_CHECKING:
    from rich.console import Console

    from frontguard.comparisons.picks import Asked, Beside
    from frontguard.objectives import Objective
    from frontguard.results import Result


def read_asked(baseline: str | None, pick: Sequence[str] | None) -> Asked:
    """What the options ask for."""
    from frontguard.comparisons.picks import asked

    return asked(baseline, pick)


def check_asked(asked: Asked, arms: Sequence[str], objectives: Iterable[Objective]) -> None:
    """Refuse what could not be answered in the end before anything takes long."""
    if asked.baseline is not None and asked.baseline not in arms:
        hint = did_you_mean(asked.baseline, arms)
        raise BadInput(f"--baseline: wanted one of the arms {quoted(arms)}{hint}; got {shown(asked.baseline)}")
    if asked.wants:
        from frontguard.comparisons.picks import wish_of

        try:
            wish_of(tuple(objectives), asked.rule, dict(asked.weights) or None, asked.limits or None)
        except BadInput as error:
            raise BadInput(f"--pick: {error}") from None


def beside_of(result: Result, asked: Asked) -> Beside:
    """What is asked for, of a result."""
    check_asked(asked, result.arms if asked.baseline in result.arms else result.arms[:20_000], result.metrics)
    return result.beside(asked)


def print_beside(screen: Console, result: Result, beside: Beside, most: int, elsewhere: str) -> None:
    """The choice, and the tables of what it gives up and of all arms against the baseline."""
    from frontguard.words.comparisons import (
        beside_in_words,
        choice_in_words,
        comparison_in_words,
        left_in_words,
        on_terminal,
        rows_of,
    )

    if beside.pick is not None:
        screen.print(choice_in_words(beside.pick), style="bold")
        if beside.pick.others is not None and len(beside.pick.others):
            rows = rows_of(result, beside.pick.others, most)
            screen.print(on_terminal(beside.pick.others, rows, screen.width, elsewhere))
        screen.print()
    if beside.compared is not None:
        rows = rows_of(result, beside.compared, most)
        if len(beside.compared) == 1:
            screen.print(comparison_in_words(beside.compared.of(0)))
        elif len(rows):
            screen.print(on_terminal(beside.compared, rows, screen.width, elsewhere))
        for said in (left_in_words(beside.compared, rows), beside_in_words(beside.compared)):
            if said:
                screen.print(said)
        screen.print()
