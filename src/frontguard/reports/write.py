"""Reports of anything, written down: by the ending of a path, at once or not at all.

Objects are known by their type, files and JSON by their content. A new kind is a line here and a function to `Report`.
"""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

from frontguard._common.secrets import replacing, without_password
from frontguard.comparisons.picks import BesideQuestion
from frontguard.errors import BadArgument, BadInput
from frontguard.logs.sources.files import refuse_unless_file, whole
from frontguard.phrases import one_line, shown
from frontguard.reports.report import Progress, Report, asked_for
from frontguard.results import Origin

WANTED = (
    "a study's storage (a SQLite file or postgresql://…), or the JSON of frontguard run, analyze, gate, demo or "
    "reproduce (a file, its folder, or - for standard input)"
)
_SQLITE = b"SQLite format 3\x00"
_TABLE = "table.json"  # what reproduce leaves in its folder
_DEMO = "demo.json"  # and the demonstration in its


def report_on(thing: Any, *, study: str | None = None, origin: Origin | None = None) -> Report:
    """The report on something; see `write_report`."""
    if isinstance(thing, Report):
        return thing
    if isinstance(thing, (str, os.PathLike)):
        return report_from(os.fspath(thing), study)
    from frontguard.experiments.results import Row
    from frontguard.reports.of_experiments import experiments_report
    from frontguard.reports.of_results import analysis_report, gate_report, result_report, run_report, study_report
    from frontguard.results import Answer
    from frontguard.studies.study import Study

    if isinstance(thing, Answer) and thing.gate is not None:
        return gate_report(thing, origin)
    if isinstance(thing, Answer):
        make = result_report if thing.study is None else run_report
        return make(thing, origin) if thing.log is None else analysis_report(thing, origin)
    if isinstance(thing, Study):
        return study_report(thing.storage, thing.name)
    if isinstance(thing, Sequence) and thing and all(isinstance(row, Row) for row in thing):
        return experiments_report(thing, origin)
    if isinstance(thing, (Mapping, list)):
        return report_from_values(dict(thing) if isinstance(thing, Mapping) else thing)
    raise BadInput(
        "a report can be made of a result, an analysis, a study, a gate, rows of reproduce, their JSON, or a "
        f"path to a storage or such JSON; got {type(thing).__name__}"
    )


def report_from(where: str, study: str | None = None, progress: Progress | None = None) -> Report:
    """The report on what is at a path or address."""
    if re.match(r"(?:sqlite|postgres|postgresql)://", where, re.I):
        return _of_storage(where, study, progress)
    if where == "-":
        return report_from_json(_read_stdin(), "standard input", study)
    if not where or "\0" in where:
        raise BadInput(f"{shown(where)}: wanted {WANTED}; got a path that cannot be")
    if re.match(r"[a-z][a-z0-9+.-]*://", where, re.I):
        raise BadInput(f"{without_password(where)}: wanted {WANTED}; got an address of another kind")
    try:
        path = _the_file(Path(where))
        with path.open("rb") as file:
            is_storage = file.read(len(_SQLITE)) == _SQLITE
            file.seek(0)
            content = b"" if is_storage else whole(file.read, where)
    except OSError as error:
        raise BadInput(f"{one_line(where, 200)}: cannot be read: {error.strerror or error}") from None
    if is_storage:
        return _of_storage(str(path), study, progress)
    return report_from_json(content, str(path), study)


def _the_file(path: Path) -> Path:
    """The file itself, or the one that is meant where it is the folder of a command."""
    if path.is_dir():
        inside = [path / name for name in (_TABLE, _DEMO) if (path / name).is_file()]
        if not inside:
            raise BadInput(f"{path}: wanted {WANTED}; got a folder without {_TABLE} or {_DEMO}")
        return inside[0]
    refuse_unless_file(path)
    return path


def _of_storage(where: str, study: str | None, progress: Progress | None) -> Report:
    from frontguard.reports.of_results import study_report
    from frontguard.storage.contract import open_storage

    shown = without_password(where)
    with open_storage(where, read_only=True) as storage:
        names = storage.studies()
        if not names:
            raise BadInput(f"{shown}: wanted a storage with a study in it; got one without")
        if study is None and len(names) > 1:
            raise BadInput(f"{shown}: it holds {len(names)} studies ({', '.join(names)}); say which with --study NAME")
        if study is not None and study not in names:
            raise BadInput(f"{shown}: wanted --study to be one of {', '.join(names)}; got {study!r}")
        return study_report(storage, names[0] if study is None else study, where=shown, progress=progress)


def _read_stdin() -> bytes:
    if sys.stdin is None or sys.stdin.isatty():
        raise BadInput(
            "standard input: wanted the JSON of a command, as in `frontguard analyze … --json | frontguard report "
            "-`; got a terminal"
        )
    try:
        return whole(sys.stdin.buffer.read, "standard input")
    except (AttributeError, OSError) as error:
        raise BadInput(f"standard input: cannot be read: {error}") from None


def report_from_json(content: bytes, where: str, study: str | None = None) -> Report:
    """The report on a JSON text."""
    if study is not None:
        raise BadInput(f"{where}: --study goes with a storage; this is none")
    if not content.strip():
        raise BadInput(f"{where}: wanted {WANTED}; got nothing, it is empty")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise BadInput(f"{where}: wanted {WANTED}; got a file that is neither") from None
    if text.lstrip()[:1] not in ("{", "["):
        raise BadInput(f"{where}: wanted {WANTED}; got a text that begins with {text.lstrip()[:20]!r}")
    from frontguard._common.reading import parsed

    return report_from_values(parsed(text, where), where)


def report_from_values(value: Any, where: str = "JSON") -> Report:
    """The report on parsed JSON; its kind is seen by its entries."""
    from frontguard.experiments.results import rows_of
    from frontguard.reports.of_results import run_report
    from frontguard.results import Answer

    if isinstance(value, list):
        return report_on(rows_of(value, where))
    if "verdicts" not in value:
        raise BadInput(f"{where}: wanted {WANTED}; got an object without verdicts")
    found, origin = Answer.from_dict(value, where), Origin.of(value)
    if found.study is not None and found.log is None and found.gate is None:
        return run_report(found, origin, said=value.get("answer", ""), where=value.get("storage") or "")
    return report_on(found, origin=origin)


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
    """Write a report to a file: HTML, Markdown or CSV.

    Parameters
    ----------
    thing
        An answer, a study, rows of `reproduce`, their JSON, or a path or address: a storage or a JSON file.
    path, format
        The file, and "html", "markdown" or "csv" where its ending does not say it; "-" is standard output.
    study
        The name of the study, where a storage has several.
    baseline
        The arm with which all others are compared.

    Returns
    -------
    Path
        The file, written in full.

    Raises
    ------
    BadInput
        The thing is none of these, or the file cannot be written.

    >>> import tempfile
    >>> from frontguard import analyze
    >>> found = analyze({"arm": ["a", "b"] * 40, "ms": [1.0, 2.0] * 40}, minimize="ms")
    >>> write_report(found, f"{tempfile.mkdtemp()}/report.md").name
    'report.md'
    """
    return save(asked_for(report_on(thing, study=study), BesideQuestion(baseline)), path, format)


def format_of(path: str | Path | None, format: str | None = None) -> Format:
    """html, markdown or csv, as said or by the ending of the path; html for no path."""
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
    """Write it beside the target first, then put it in its place: never half a report. "-" is standard output."""
    wanted = format_of(path, format)
    if str(path) == "-":
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(encoding="utf-8")  # as in a file, whatever a terminal shows here
        sys.stdout.writelines(text_of(report, wanted))
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
    with replacing(target) as out:
        out.writelines(piece.encode() for piece in pieces)
