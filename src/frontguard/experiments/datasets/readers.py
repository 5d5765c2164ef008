"""Tables of the package, and tables that a user supplies, whose damage becomes one line that says where it is."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Callable, Iterator, Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from frontguard.errors import BadInput


def bundled_text(name: str) -> str:
    """The text of a file that is part of the package; of a compressed one, what it holds."""
    content = (resources.files("frontguard") / "data" / name).read_bytes()
    return (gzip.decompress(content) if name.endswith(".gz") else content).decode("utf-8")


def bundled_rows(name: str) -> list[dict[str, str]]:
    """The rows of a table that is part of the package, by column."""
    return list(csv.DictReader(io.StringIO(bundled_text(name))))


def text_of(path: Path, *, encoding: str = "utf-8") -> str:
    """The text of a file, or BadInput if it cannot be read."""
    try:
        return path.read_text(encoding=encoding)
    except FileNotFoundError:
        raise BadInput(f"{path}: no such file") from None
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}: damaged: byte {error.start} is not {encoding} text") from None
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror or error}") from None


def rows_of(
    path: Path,
    columns: Mapping[str, Callable[[str], Any]],
    *,
    delimiter: str = ",",
    header: bool = False,
    encoding: str = "utf-8",
) -> Iterator[tuple[str, list[Any]]]:
    """Each line of a user's table: its place in words, and its values, read by the type of their column.

    With a header the columns are found by their names, without one they are the first fields of a line.
    """
    lines = text_of(path, encoding=encoding).splitlines()
    names = lines[0].split(delimiter) if header and lines else list(columns)
    if missing := [column for column in columns if column not in names]:
        raise BadInput(f"{path}: lacks the column {', '.join(missing)}; got {_shown(delimiter.join(names))}")
    for number, line in enumerate(lines[header:], start=1 + header):
        place, fields = f"{path}, line {number}", line.split(delimiter)
        if len(fields) < len(names):
            raise BadInput(f"{place}: wanted the fields {', '.join(names)}, got {len(fields)} (is the file cut off?)")
        values = []
        for column, kind in columns.items():
            text = fields[names.index(column)]
            try:
                values.append(kind(text))
            except ValueError:
                wanted = "a whole number" if kind is int else "a number"
                raise BadInput(f"{place}, column {column}: wanted {wanted}, got {_shown(text)}") from None
        yield place, values


def _shown(text: str, limit: int = 60) -> str:
    return repr(text if len(text) <= limit else text[:limit] + "…")
