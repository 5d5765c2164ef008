"""What a report is made of: objects of Python, a study's storage, or JSON of run, analyze, demo or reproduce.

Objects are known by their type, files and JSON by what is in them. A new kind is a line here and a module that makes a
`Report` of it.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from frontguard._common.secrets import without_password
from frontguard.errors import BadInput
from frontguard.logs.sources.files import refuse_unless_file, whole
from frontguard.phrases import one_line, shown
from frontguard.reports.model import Progress, Report
from frontguard.results import Origin

WANTED = (
    "a study's storage (a SQLite file or postgresql://…), or the JSON of frontguard run, analyze, demo or reproduce "
    "(a file, its folder, or - for standard input)"
)
_SQLITE = b"SQLite format 3\x00"
_BEGINNING = 1 << 10  # bytes that show whether it may be JSON
_TABLE = "table.json"  # what reproduce leaves in its folder
_DEMO = "demo.json"  # and the demonstration in its


def report_on(thing: Any, *, study: str | None = None, origin: Origin | None = None) -> Report:
    """The report on something; see `write_report`."""
    if isinstance(thing, Report):
        return thing
    if isinstance(thing, (str, os.PathLike)):
        return report_from(os.fspath(thing), study)
    from frontguard.demo.cases import Demo
    from frontguard.experiments.results import Row
    from frontguard.logs.analysis import Analysis
    from frontguard.reports.demonstration import demo_report
    from frontguard.reports.experiments import experiments_report
    from frontguard.reports.of_log import analysis_report, result_report
    from frontguard.reports.of_study import study_report
    from frontguard.results import Result
    from frontguard.studies.study import Study

    if isinstance(thing, Analysis):
        return analysis_report(thing, origin)
    if isinstance(thing, Result):
        return result_report(thing, origin)
    if isinstance(thing, Study):
        return study_report(thing.storage, thing.name)
    if isinstance(thing, Demo):
        return demo_report(thing, origin)
    if isinstance(thing, Sequence) and thing and all(isinstance(row, Row) for row in thing):
        return experiments_report(thing, origin)
    if isinstance(thing, (Mapping, list)):
        return report_from_values(dict(thing) if isinstance(thing, Mapping) else thing)
    raise BadInput(
        "a report can be made of a result, an analysis, a study, a demonstration, rows of reproduce, their JSON, or a "
        f"path to a storage or such JSON; got {type(thing).__name__}"
    )


# Files and addresses --------------------------------------------------------------------------------------------------


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
            content = b"" if is_storage else _content(file.read, where)
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


def _content(read: Callable[[int], bytes], where: str) -> bytes:
    """All of a document; of what does not begin like one, the beginning, which tells why it is none."""
    start = read(_BEGINNING)
    text = start.removeprefix(b"\xef\xbb\xbf").strip()
    return start if text and text[:1] not in b"{[" else start + whole(read, where)


def _of_storage(where: str, study: str | None, progress: Progress | None) -> Report:
    from frontguard.reports.of_study import study_report
    from frontguard.storage.open import open_storage

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
        return _content(sys.stdin.buffer.read, "standard input")
    except (AttributeError, OSError) as error:
        raise BadInput(f"standard input: cannot be read: {error}") from None


# JSON -----------------------------------------------------------------------------------------------------------------


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
    from frontguard.demo.cases import Demo
    from frontguard.experiments.results import rows_of
    from frontguard.logs.analysis import Analysis
    from frontguard.reports.of_study import run_report
    from frontguard.results import Result
    from frontguard.studies.overview import Snapshot

    if isinstance(value, list):
        return report_on(rows_of(value, where))
    if "verdicts" not in value:
        raise BadInput(f"{where}: wanted {WANTED}; got an object without verdicts")
    if "study" in value:
        snapshot, said = Snapshot.from_dict(value, where), value.get("answer", "")
        return run_report(snapshot, Origin.of(value), said=said, where=value.get("storage") or "")
    kind = Demo if "mean_based" in value else Analysis if "mean_set" in value else Result
    return report_on(kind.from_dict(value, where), origin=Origin.of(value))
