"""`frontguard audit`: simulated studies and logs, and how often what is printed of them is false."""

from __future__ import annotations

from typing import Annotated

import typer

from frontguard.cli.options.values import whole_from
from frontguard.cli.screen import console

REFUTED = 1
"""Exit code."""


def audit(
    cell: Annotated[
        list[str] | None,
        typer.Argument(metavar="CELL", help="Ways in which measuring goes wrong, by name (without: all)."),
    ] = None,
    runs: Annotated[int, whole_from(1, "Simulated runs of every cell.")] = 200,
    seed: Annotated[int, whole_from(0, "Run r of a seed is always the same run.")] = 0,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the table for a document.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print what was found as JSON on stdout.")] = False,
) -> None:
    """Check by simulation that what is printed is false no more often than promised.

    Studies and logs whose truth is known go through everything that a user's do: workers that die, interruptions,
    failures, ties, attackers. Exit code 0 if the promise is kept, 1 if it is refuted.
    """
    from frontguard.audit.cells import DELTA
    from frontguard.audit.runner import audit as run_cells
    from frontguard.words.audit import answer, as_markdown, table
    from frontguard.words.progress import ProgressDisplay

    with ProgressDisplay() as display:
        outcomes = run_cells(cell or [], runs=runs, seed=seed, progress=display.show)
    if json:
        from frontguard.documents.audit import AuditDocument

        print(AuditDocument.of(outcomes).text())
    elif markdown:
        print(as_markdown(outcomes))
    else:
        screen = console()
        screen.print(answer(outcomes, DELTA), style="bold")
        screen.print()
        screen.print(table(outcomes, DELTA, screen.width))
    if any(outcome.refuted for outcome in outcomes):
        raise typer.Exit(REFUTED)
