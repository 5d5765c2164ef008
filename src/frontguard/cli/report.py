"""`frontguard report`: a report to send, of a study or of what another command printed as JSON."""

from __future__ import annotations

import shlex
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from frontguard._common.secrets import without_password
from frontguard.cli.options import Baseline, PickOne, flag, takes
from frontguard.cli.screen import print_json, read_asked, say
from frontguard.errors import BadInput
from frontguard.phrases import visible_lines

if TYPE_CHECKING:  # what computes is imported when it is needed: `frontguard --help` stays fast
    from frontguard.reports.report import Report
    from frontguard.results import Origin

DEFAULT = "report.html"


def report(
    source: Annotated[
        str,
        typer.Argument(
            metavar="STORAGE_OR_JSON",
            help="A study's file or postgresql://…; or the JSON of run, analyze, gate, demo or reproduce: a file, the "
            "folder of reproduce or demo, or - for standard input.",
            show_default=False,
        ),
    ],
    output: Annotated[
        str,
        typer.Option(
            "--output", "-o", metavar="FILE", help="File that ends in .html, .md or .csv; - for standard output."
        ),
    ] = DEFAULT,
    study: Annotated[str | None, takes("NAME", "Name of the study, where a storage has several.")] = None,
    format: Annotated[
        str | None,
        takes("FORMAT", "html, markdown or csv.", default="by the ending of the file"),
    ] = None,
    baseline: Baseline = None,
    pick: PickOne = None,
    json: Annotated[bool, flag("--json", "Print what was written as JSON on stdout.")] = False,
) -> None:
    """Write a report: the answer, its picture, the table, what is certain and what that assumes, how to reproduce it.

    One HTML file that needs no network, or Markdown, or CSV with a row for every arm. A storage is only read.
    """
    if json and output == "-":
        raise BadInput("--json: wanted with a file to write to; standard output cannot have both")
    checked_target(output, format)
    asked = read_asked(baseline, pick)
    from frontguard.reports.report import asked_for
    from frontguard.reports.write import format_of, report_from, save
    from frontguard.words.progress import ProgressDisplay

    with ProgressDisplay() as display:
        made = asked_for(report_from(source, study, progress=display.counted), asked)
    saved = save(made, output, format)
    if output == "-":
        return
    size = saved.stat().st_size
    if json:
        told = {
            "answer": made.answer,
            "status": made.status,
            "kind": made.kind,
            "title": made.title,
            "path": str(saved),
            "format": format_of(output, format),
            "bytes": size,
            "rows": len(made.table.rows),
            "pictures": len(made.pictures) + sum(len(part.shown) for part in made.parts),
            "warnings": list(made.warnings),
        }
        print_json(told.items())
    else:
        print(visible_lines(made.answer))
    say(f"report: {saved} ({size / 1000:,.0f} kB)")


def checked_target(path: str | Path, format: str | None = None) -> None:
    """Refuse what could not be written in the end before anything takes long."""
    from frontguard.reports.write import format_of

    format_of(path, format)
    if str(path) != "-":
        checked_folder(path)


def checked_folder(path: str | Path) -> None:
    """Refuse a file whose folder is not there."""
    folder = Path(path).parent
    if not folder.is_dir():
        raise BadInput(f"{path}: wanted a file in a folder that is there; got {folder}, which is not")


# What other commands say of themselves --------------------------------------------------------------------------------


def keep(made: Report, path: Path) -> None:
    """Write the report that --report asks for, and say so."""
    from frontguard.reports.write import save

    save(made, path)
    say(f"report: {path}")


def origin(source: str | list[str] | None = None, **more: Any) -> Origin:
    """How a command makes what it prints or writes: by which version, how it was called, of what, and when."""
    from frontguard import __version__
    from frontguard.results import Origin

    now = f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC"
    command = shlex.join(["frontguard", *map(without_password, sys.argv[1:])])
    return Origin(version=__version__, command=command, source=source, at=now, **more)
