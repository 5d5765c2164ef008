"""`frontguard rescue`: saves what can be read of a damaged study file."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer


def rescue(
    damaged: Annotated[Path, typer.Argument(metavar="DAMAGED", help="The study file; it is left as it is.")],
    new: Annotated[Path, typer.Argument(metavar="NEW", help="The file to write; it must not exist.")],
    json: Annotated[bool, typer.Option("--json", help="Print what was saved and lost as JSON on stdout.")] = False,
) -> None:
    """Save what can be read of a damaged study file into a new one, with which the study goes on.

    End all runs of the study first. Pulls that were lost are measured again.
    """
    from frontguard.storage.sqlite.rescue import rescue as save

    rescued = save(damaged, new)
    if json:
        from frontguard.documents.done import RescueDocument

        print(RescueDocument(**asdict(rescued), damaged=str(damaged), new=str(new)).text())
        return
    said = str(rescued)
    print(f"{said[0].upper()}{said[1:]}.")
    print(f"{damaged} was left as it is. To go on, put {new} in its place, or run with --storage {new}.")
