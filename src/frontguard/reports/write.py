"""Reports of anything, written down: by the ending of a path, at once or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal, get_args

from frontguard._common.private import private
from frontguard.comparisons.picks import BesideQuestion
from frontguard.errors import BadArgument, BadInput
from frontguard.phrases import shown
from frontguard.reports.arms import asked_for
from frontguard.reports.model import Report
from frontguard.reports.sources import report_on

Format = Literal["html", "markdown", "csv"]

_ENDINGS = {".html": "html", ".htm": "html", ".md": "markdown", ".markdown": "markdown", ".csv": "csv"}


def write_report(
    thing: Any,
    path: str | Path,
    format: str | None = None,
    *,
    study: str | None = None,
    baseline: str | None = None,
) -> Path:
    """Write a report on something to a file, whose ending says how: .html, .md or .csv, unless `format` does.

    With a `baseline`, all other arms are compared with that one.

    `thing` may be a result, an analysis, a study, a demonstration, rows of `reproduce`, the plain values of their JSON,
    or a path or address: a study's storage or a JSON file.
    """
    return save(asked_for(report_on(thing, study=study), BesideQuestion(baseline)), path, format)


def format_of(path: str | Path | None, format: str | None = None) -> Format:
    """html, markdown or csv, as said or by the ending of the path; html for no path.

    >>> format_of("report.md"), format_of(None), format_of("-", "csv")
    ('markdown', 'html', 'csv')
    """
    if format is not None:
        if format not in get_args(Format):
            raise BadArgument("format", f"wanted one of {', '.join(get_args(Format))}; got {format!r}")
        return format  # type: ignore[return-value]  # just checked
    if path is None or str(path) == "-":
        return "html"
    ending = Path(path).suffix.lower()
    if ending not in _ENDINGS:
        raise BadInput(
            f"{path}: wanted a file name that ends in .html, .md or .csv, or --format; got {ending or 'no ending'!r}"
        )
    return _ENDINGS[ending]  # type: ignore[return-value]  # formats all


def text_of(report: Report, format: Format) -> Iterator[str]:
    """The report's text in pieces."""
    if format == "html":
        from frontguard.reports.html import document

        yield document(report)
    elif format == "markdown":
        from frontguard.reports.plain import document as markdown

        yield markdown(report)
    else:
        from frontguard.reports.plain import lines

        yield from lines(report.columns)


def save(report: Report, path: str | Path, format: str | None = None) -> Path:
    """Write it into a file beside the target first, and then put that in its place: never half a report.

    "-" writes to standard output.
    """
    wanted = format_of(path, format)
    if str(path) == "-":
        for piece in text_of(report, wanted):
            sys.stdout.write(piece)
        sys.stdout.flush()
        return Path("-")
    if "\0" in str(path):
        raise BadInput(f"{shown(str(path))}: wanted a file to write the report to; got a path that cannot be")
    target = Path(path)
    pieces = text_of(report, wanted)
    try:
        if target.is_dir():
            raise BadInput(f"{path}: wanted a file to write the report to; got a folder")
        replace_file(target, pieces)
    except OSError as error:
        raise BadInput(f"{path}: cannot be written: {error.strerror or error}") from None
    return target


def replace_file(target: Path, pieces: Iterable[str]) -> None:
    """Write a file beside its place first: what was there stays until all of it is written."""
    # A link is followed, and what is no plain file (a pipe, /dev/stdout) is written to as it is.
    target = target.resolve() if target.is_symlink() else target
    if target.exists() and not target.is_file():
        with target.open("w", encoding="utf-8", newline="") as file:
            file.writelines(pieces)
        return
    beside = target.with_name(f".{target.name[:40]}.{secrets.token_hex(6)}.part")
    try:
        with open(beside, "x", encoding="utf-8", newline="", opener=private) as file:
            if target.exists():
                shutil.copymode(target, beside)
            file.writelines(pieces)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, target)
    finally:
        beside.unlink(missing_ok=True)
