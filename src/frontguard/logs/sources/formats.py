"""What format a file has: what its first bytes say, then its name, then its text."""

from __future__ import annotations

from frontguard.errors import BadInput
from frontguard.logs.sources.blocks import ByteFile
from frontguard.logs.sources.files import FORMATS, Place, format_by_name
from frontguard.logs.sources.foreign import document_of, kind_of
from frontguard.logs.sources.json import looks_like_lines
from frontguard.phrases import error_line, shown


def checked_format(format: str | None) -> str | None:
    """Refuse a format that there is not."""
    if format is not None and format not in FORMATS:
        raise BadInput(f"format must be one of {', '.join(FORMATS)}, or None (guessed); got {shown(format)}")
    return format


def format_of(place: Place) -> str:
    """The format of a file."""
    assert place.path is not None
    try:
        with place.path.open("rb") as file:
            begin = file.read(16)
    except OSError as error:
        raise BadInput(f"{place.shown} cannot be read: {error.strerror or error_line(error)}") from None
    if begin.startswith(b"PAR1"):
        return "parquet"
    if begin.startswith(b"SQLite format 3\0"):
        return "study"
    named = format_by_name(place)
    if named not in (None, "json"):
        return str(named)
    opened = ByteFile(place)
    try:
        found = text_format(opened)
    finally:
        opened.close()
    if found == "document":
        document = document_of(place)
        kind = kind_of(document)
        if kind is None:
            keys = ", ".join(sorted(document)[:8]) if isinstance(document, dict) else shown(document)
            raise BadInput(
                f"{place.shown}: wanted JSON lines, a list of objects, or what hyperfine, pyperf or pytest-benchmark "
                f"write; got a document with the keys {keys}"
            )
        return kind
    return found


def text_format(file: ByteFile) -> str:
    """What a text is by how it begins: "csv", "jsonl" or, for one JSON object over many lines, "document"."""
    begin = file.head.lstrip()
    if begin.startswith(b"["):
        return "jsonl"
    if begin.startswith(b"{"):
        return "jsonl" if looks_like_lines(file.head) else "document"
    return "csv"
