"""The formats of logs, and which of them a file has: what its first bytes say, then its name, then its text.

Files of `FILES` are a table each, those of one of the `TOOLS` one table together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from frontguard.errors import BadInput
from frontguard.logs.sources.files import LogFile
from frontguard.logs.sources.reader import LogTable
from frontguard.logs.sources.text_tables import CsvFile, JsonFile, NotJson, TextFile, parsed
from frontguard.logs.sources.tools import TOOLS, document_of, keys_of
from frontguard.logs.sources.typed import ParquetFile
from frontguard.phrases import error_line

FILES: dict[str, Callable[..., LogTable]] = {"csv": CsvFile, "parquet": ParquetFile, "jsonl": JsonFile}
FORMATS = (*FILES, *TOOLS, "study")

_BY_BEGINNING = {b"PAR1": "parquet", b"SQLite format 3\0": "study"}
_BY_ENDING = {
    **dict.fromkeys((".csv", ".tsv", ".tab"), "csv"),
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    **dict.fromkeys((".jsonl", ".ndjson"), "jsonl"),
    **dict.fromkeys((".db", ".sqlite", ".sqlite3"), "study"),
}


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
    found = text_format(TextFile(file))
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


def text_format(text: TextFile) -> str:
    """The format of a text by its beginning: "csv", "jsonl" or, for one JSON object over many lines, "document"."""
    begin = "".join(text.head).lstrip()
    if begin.startswith("["):
        return "jsonl"
    if begin.startswith("{"):
        return "jsonl" if _looks_like_lines(begin) else "document"
    return "csv"


def _looks_like_lines(head: str) -> bool:
    """True if a text that begins with a brace holds an object a line, False if it is one document."""
    first, _, rest = head.strip().partition("\n")
    try:
        record = parsed(first)
    except NotJson:
        return False
    return bool(rest.strip()) or not any(tool.wrote(record) for tool in TOOLS.values())
