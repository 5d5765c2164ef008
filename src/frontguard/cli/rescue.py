"""`frontguard rescue`: saves what can be read of a damaged study file."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from frontguard.cli.options import flag
from frontguard.cli.screen import print_json


def rescue(
    damaged: Annotated[Path, typer.Argument(metavar="DAMAGED", help="The study file; it is left as it is.")],
    new: Annotated[Path, typer.Argument(metavar="NEW", help="The file to write; it must not exist.")],
    json: Annotated[bool, flag("--json", "Print what was saved and lost as JSON on stdout.")] = False,
) -> None:
    """Save what can be read of a damaged study file into a new one, with which the study goes on.

    End all runs of the study first. Measurements that were lost count as failed.
    """
    from frontguard.phrases import number_of
    from frontguard.storage.sqlite.rescue import rescue as save

    rescued = save(damaged, new)
    if json:
        print_json(asdict(rescued).items(), {"damaged": str(damaged), "new": str(new)}.items())
        return
    print(f"Saved {number_of(rescued.told, 'measurement')} of {', '.join(rescued.studies)}.")
    lost = f" and {number_of(rescued.lost_studies, 'whole log')}" if rescued.lost_studies else ""
    print(f"Lost {number_of(rescued.lost, 'measurement')}{lost}.")
    print(f"{damaged} was left as it is. To go on, put {new} in its place, or run with --storage {new}.")
