"""`frontguard report`: a report to send, of a study or of what another command printed as JSON."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from frontguard.cli.options import command, text
from frontguard.cli.screen import checked_target, print_json, say
from frontguard.errors import BadInput
from frontguard.phrases import visible_lines

DEFAULT = "report.html"


@command(
    *("study", "json", "baseline", "pick"),
    format=text("FORMAT", "html, markdown or csv.", shown="by the ending of the file"),
)
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
        typer.Option("--output", "-o", metavar="FILE", help=".html, .md or .csv; - is stdout"),
    ] = DEFAULT,
    *,
    study: str | None,
    format: str | None,
    json: bool,
    **given: Any,
) -> None:
    """Write a report of a study, or of what another command printed.

    It has the answer, its picture, the table, what is certain and what that assumes, and how to reproduce it: one HTML
    file that needs no network, or Markdown, or CSV with a row for every arm. A storage is only read.
    """
    if json and output == "-":
        raise BadInput("--json: wanted with a file to write to; standard output cannot have both")
    checked_target(output, format)
    from frontguard.comparisons.picks import asked
    from frontguard.reports.report import asked_for
    from frontguard.reports.write import format_of, report_from, save
    from frontguard.words.terminal import ProgressDisplay

    beside = asked(given["baseline"], given["pick"])
    with ProgressDisplay() as display:
        made = asked_for(report_from(source, study, progress=display.counted), beside)
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
