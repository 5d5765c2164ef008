"""The formats of logs, and which of them a file has: what its first bytes say, then its name, then its text.

| format | reader |
| --- | --- |
| csv, jsonl, parquet | `csv.py`, `json.py`, `parquet.py`: a table for each file |
| hyperfine, pyperf, pytest-benchmark | `hyperfine.py`, `pyperf.py`, `pytest_benchmark.py`: one table for all files |
| study | `study.py` |
| frame | `frames.py` |
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass

from frontguard.errors import BadInput
from frontguard.logs.sources import hyperfine, pyperf, pytest_benchmark
from frontguard.logs.sources.blocks import ByteFile
from frontguard.logs.sources.csv import CsvFile
from frontguard.logs.sources.files import LogFile
from frontguard.logs.sources.json import JsonFile, NotJson, parsed
from frontguard.logs.sources.parquet import ParquetFile
from frontguard.logs.sources.reader import LogTable, Request
from frontguard.logs.sources.tools import Tool, document_of, keys_of
from frontguard.phrases import error_line, shown


@dataclass(frozen=True)
class FileFormat:
    """Files of one format, a table each: how one is opened, and by what it is known."""

    open: Callable[[LogFile, Request], LogTable]
    endings: tuple[str, ...]
    begins: bytes | None = None


FILES: dict[str, FileFormat] = {
    "csv": FileFormat(CsvFile, (".csv", ".tsv", ".tab")),
    "parquet": FileFormat(ParquetFile, (".parquet", ".pq"), b"PAR1"),
    "jsonl": FileFormat(JsonFile, (".jsonl", ".ndjson")),
}
TOOLS: dict[str, Tool] = {
    "hyperfine": Tool(hyperfine.wrote, hyperfine.results),
    "pyperf": Tool(pyperf.wrote, pyperf.results),
    "pytest-benchmark": Tool(pytest_benchmark.wrote, pytest_benchmark.results),
}
FORMATS = (*FILES, *TOOLS, "study")

_STUDY_ENDINGS, _STUDY_BEGINS = (".db", ".sqlite", ".sqlite3"), b"SQLite format 3\0"
_BY_ENDING = {ending: name for name, format in FILES.items() for ending in format.endings}
_BY_ENDING |= dict.fromkeys(_STUDY_ENDINGS, "study")
_BY_BEGINNING = {format.begins: name for name, format in FILES.items() if format.begins} | {_STUDY_BEGINS: "study"}


def format_of(files: Sequence[LogFile]) -> str:
    """The format that all these files have."""
    formats = [_format_of(file) for file in files]
    counts = Counter(formats)
    if len(counts) > 1:
        # The rarest one is most likely the file that does not belong.
        rare = min(counts, key=lambda each: (counts[each], each))
        seen = ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
        raise BadInput(
            f"all files of a log must have one format; got {seen}, for instance {files[formats.index(rare)].shown} as "
            f"{rare}"
        )
    return formats[0]


def _format_of(file: LogFile) -> str:
    if file.path is None:
        raise BadInput("standard input is a log by itself: it cannot be one of several files")
    try:
        with file.path.open("rb") as opened:
            begin = opened.read(16)
    except OSError as error:
        raise BadInput(f"{file.shown} cannot be read: {error.strerror or error_line(error)}") from None
    for beginning, name in _BY_BEGINNING.items():
        if begin.startswith(beginning):
            return name
    if file.ending in _BY_ENDING:
        return _BY_ENDING[file.ending]
    with closing(ByteFile(file)) as text:
        found = text_format(text)
    if found != "document":
        return found
    document = document_of(file)
    for name, tool in TOOLS.items():
        if tool.wrote(document):
            return name
    raise BadInput(
        f"{file.shown}: wanted JSON lines, a list of objects, or what hyperfine, pyperf or pytest-benchmark write; got "
        f"a document with {keys_of(document)}"
    )


def text_format(file: ByteFile) -> str:
    """What a text is by how it begins: "csv", "jsonl" or, for one JSON object over many lines, "document"."""
    begin = file.head.lstrip()
    if begin.startswith(b"["):
        return "jsonl"
    if begin.startswith(b"{"):
        return "jsonl" if _looks_like_lines(begin) else "document"
    return "csv"


def _looks_like_lines(head: bytes) -> bool:
    """Whether a text that begins with a brace holds an object a line rather than one document."""
    first, _, rest = head.strip().partition(b"\n")
    try:
        record = parsed(first.decode())
    except (NotJson, UnicodeDecodeError):
        return False
    return bool(rest.strip()) or not any(tool.wrote(record) for tool in TOOLS.values())


def checked_format(format: str | None) -> str | None:
    """Refuse a format that there is not."""
    if format is not None and format not in FORMATS:
        raise BadInput(f"format must be one of {', '.join(FORMATS)}, or None (guessed); got {shown(format)}")
    return format
