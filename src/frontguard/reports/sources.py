"""What a report is made of, by its content: a study's storage, or JSON of run, analyze, demo or reproduce."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from frontguard.errors import BadInput
from frontguard.reports.plain_values import Value, parsed

if TYPE_CHECKING:
    from frontguard.reports.model import Report
    from frontguard.reports.study import Progress

__all__ = ["report_from", "report_from_values"]

WANTED = (
    "a study's storage (a SQLite file or postgresql://…), or the JSON of frontguard run, analyze, demo or reproduce "
    "(a file, its folder, or - for standard input)"
)
_SQLITE = b"SQLite format 3\x00"
_TABLE = "table.json"  # what reproduce leaves in its folder
_DEMO = "demo.json"  # and the demonstration in its


def report_from(where: str, study: str | None = None, progress: Progress | None = None) -> Report:
    """The report on what is at a path or address."""
    if re.match(r"(?:sqlite|postgres|postgresql)://", where, re.I):
        return _of_storage(where, study, progress)
    if where == "-":
        return _of_json(_read_stdin(), "standard input", study)
    path = Path(where)
    if path.is_dir():
        inside = [path / name for name in (_TABLE, _DEMO) if (path / name).is_file()]
        if not inside:
            raise BadInput(f"{where}: wanted {WANTED}; got a folder without {_TABLE} or {_DEMO}")
        path = inside[0]
    try:
        with path.open("rb") as file:
            start = file.read(len(_SQLITE))
            if start == _SQLITE:
                return _of_storage(str(path), study, progress)
            content = start + file.read()
    except OSError as error:
        raise BadInput(f"{where}: cannot be read: {error.strerror or error}") from None
    except ValueError as error:  # a path that no file system takes
        raise BadInput(f"{where[:80]!r}: wanted {WANTED}; got a path that cannot be: {error}") from None
    return _of_json(content, str(path), study)


def _of_storage(where: str, study: str | None, progress: Progress | None) -> Report:
    from frontguard.reports.study import study_report
    from frontguard.storage.open import open_storage, without_password

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
        return sys.stdin.buffer.read()
    except (AttributeError, OSError) as error:
        raise BadInput(f"standard input: cannot be read: {error}") from None


def _of_json(content: bytes, where: str, study: str | None) -> Report:
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
    return report_from_values(parsed(text, where))


def report_from_values(value: Value | Any, where: str = "JSON") -> Report:
    """The report on parsed JSON; its kind is seen by its entries."""
    value = value if isinstance(value, Value) else Value(value, where)
    from frontguard.reports.json import analysis_in, origin_in, result_in, snapshot_in

    if isinstance(value.raw, list):
        from frontguard.reports.experiments import experiments_report
        from frontguard.reports.rows_in import rows_in

        return experiments_report(rows_in(value))
    entries = value.fields
    if "verdicts" not in entries:
        raise BadInput(f"{value.where}: wanted {WANTED}; got an object without verdicts")
    origin = origin_in(value)
    said = value.get("answer")
    if "mean_based" in entries:
        from frontguard.reports.analysis import result_report
        from frontguard.reports.demo import demo_in, demo_report, has_all

        if has_all(entries):
            return demo_report(demo_in(value), origin)
        result, directed = result_in(value)
        return result_report(result, origin, kind="demo", title="Demonstration", directed=directed)
    if "study" in entries:
        from frontguard.reports.study import run_report

        snapshot, directed = snapshot_in(value)
        storage = value.get("storage")
        return run_report(
            snapshot,
            origin,
            said="" if said is None else said.text(),
            where="" if storage is None else storage.text(),
            directed=directed,
        )
    if "mean_set" in entries:
        from frontguard.reports.analysis import analysis_report

        return analysis_report(analysis_in(value), origin)
    from frontguard.reports.analysis import result_report

    result, directed = result_in(value)
    return result_report(result, origin, directed=directed)
