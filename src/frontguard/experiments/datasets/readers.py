"""Reading tables that a user supplies: any damage becomes one line that says what, where, wanted, got."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Iterator, Sequence
from importlib import resources
from pathlib import Path

from frontguard.errors import BadInput


def bundled_text(name: str) -> str:
    """The text of a file that is part of the package; of a compressed one, what it holds."""
    content = (resources.files("frontguard") / "data" / name).read_bytes()
    return (gzip.decompress(content) if name.endswith(".gz") else content).decode("utf-8")


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


class TableLine:
    """One line of a table: gives its fields as numbers and names the line when it cannot."""

    def __init__(self, fields: dict[str, str], place: str) -> None:
        self._fields = fields
        self.place = place

    def text(self, column: str) -> str:
        """A field as it stands."""
        return self._fields[column]

    def integer(self, column: str) -> int:
        """A field as a whole number."""
        try:
            return int(self._fields[column])
        except ValueError:
            raise self._wrong(column, "a whole number") from None

    def real(self, column: str) -> float:
        """A field as a finite number."""
        try:
            value = float(self._fields[column])
        except ValueError:
            raise self._wrong(column, "a number") from None
        if value - value != 0.0:  # NaN and the infinities
            raise self._wrong(column, "a finite number")
        return value

    def _wrong(self, column: str, wanted: str) -> BadInput:
        return BadInput(f"{self.place}, column {column}: wanted {wanted}, got {_shown(self._fields[column])}")


def rows_of(text: str, columns: Sequence[str], *, where: str, delimiter: str = ",") -> Iterator[TableLine]:
    """The lines of a table whose first line names its columns; `columns` must be among them."""
    reader = csv.reader(io.StringIO(text), delimiter=delimiter, strict=True)
    try:
        header = next(reader, None)
        if not header:
            raise BadInput(f"{where}: empty; wanted a header with the columns {', '.join(columns)}")
        missing = [column for column in columns if column not in header]
        if missing:
            raise BadInput(f"{where}: lacks the column {', '.join(missing)}; got {_shown(', '.join(header))}")
        for fields in reader:
            place = f"{where}, line {reader.line_num}"
            if len(fields) != len(header):
                raise BadInput(f"{place}: wanted {len(header)} fields, got {len(fields)} (is the file cut off?)")
            yield TableLine(dict(zip(header, fields, strict=True)), place)
    except csv.Error as error:
        raise BadInput(f"{where}, line {reader.line_num}: damaged: {error}") from None


def lines_of(text: str, columns: Sequence[str], *, where: str, delimiter: str) -> Iterator[TableLine]:
    """The lines of a table without a header; the first fields are named by `columns`, further ones are ignored."""
    for number, line in enumerate(text.splitlines(), start=1):
        fields = line.split(delimiter)
        if len(fields) < len(columns):
            raise BadInput(
                f"{where}, line {number}: wanted at least the fields {', '.join(columns)}, got {len(fields)}"
            )
        yield TableLine(dict(zip(columns, fields, strict=False)), f"{where}, line {number}")


def _shown(text: str, limit: int = 60) -> str:
    return repr(text if len(text) <= limit else text[:limit] + "…")
