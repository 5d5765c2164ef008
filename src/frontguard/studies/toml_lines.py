"""On which line of a TOML text a key stands, so that an error can point at it.

`tomllib` reads values but forgets where they stood. The scanner below reads no values: it only walks over them. It is
meant for texts that `tomllib` has accepted, and gives up silently where it would not have.
"""

from __future__ import annotations

import re
import tomllib

Path = tuple[str | int, ...]

_KEY = re.compile(r"""[A-Za-z0-9_-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'""")
_BLANK = re.compile(r"[ \t]*")
_SPACE = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_STRING = re.compile(
    r'"""(?:[^"\\]|\\.|"{1,2}(?!"))*"{3,5}'
    + r"|'''(?:[^']|'{1,2}(?!'))*'{3,5}"
    + r'|"(?:[^"\\\n]|\\.)*"'
    + r"|'[^'\n]*'",
    re.DOTALL,
)
_BARE = re.compile(r"[^,\]}#\n]*")


def lines_of(text: str) -> dict[Path, int]:
    """The line, from 1, of every key, table and element of a list; a list of tables counts its tables from 0.

    >>> lines_of('[run]\\ntimeout = 3\\n\\n[[arm]]\\nname = "a"\\n[[arm]]\\nname = "b"')[("arm", 1, "name")]
    7
    """
    scanner = _Scanner(text)
    scanner.document()
    return scanner.lines


def line_of(text: str, path: Path) -> int | None:
    """The line of a key, or of the nearest thing around it that is written down; None where there is no such thing.

    >>> line_of('[study]\\nname = "x"', ("study", "threat")), line_of('[study]', ("run",))
    (1, None)
    """
    return nearest_line(lines_of(text), path)


def nearest_line(lines: dict[Path, int], path: Path) -> int | None:
    """The same, of lines that were looked up before."""
    for length in range(len(path), 0, -1):
        found = lines.get(path[:length])
        if found is not None:
            return found
    return None


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.lines: dict[Path, int] = {}
        self.tables: dict[Path, int] = {}  # how many [[tables]] of a path there have been
        self._counted = (0, 1)  # an offset and its line: offsets only grow, so lines are counted once

    def document(self) -> None:
        table: Path = ()
        while self._skip(_SPACE) < len(self.text):
            start = self.at
            if self.text.startswith("[", start):
                table = self._header()
            elif not self._pair(table):
                return
            if self.at == start:
                return

    def _header(self) -> Path:
        start = self.at
        listed = self.text.startswith("[[", start)
        self.at += 2 if listed else 1
        keys = self._keys()
        self._take("]]" if listed else "]")
        path: Path = ()
        for number, key in enumerate(keys):
            path = (*path, key)
            last = number == len(keys) - 1
            if last and listed:
                self._note(path, start)
                self.tables[path] = self.tables.get(path, 0) + 1
            if path in self.tables:
                path = (*path, self.tables[path] - 1)
            self._note(path, start)
        return path

    def _pair(self, table: Path) -> bool:
        start = self.at
        keys = self._keys()
        if not keys or not self._take("="):
            return False
        path = table
        for key in keys:
            path = (*path, key)
            self._note(path, start)
        self._value(path)
        return True

    def _keys(self) -> list[str]:
        keys: list[str] = []
        while True:
            self._skip(_BLANK)
            match = _KEY.match(self.text, self.at)
            if match is None:
                return keys
            self.at = match.end()
            written = match[0]
            keys.append(_unquoted(written) if written[0] in "\"'" else written)
            self._skip(_BLANK)
            if not self.text.startswith(".", self.at):
                return keys
            self.at += 1

    def _value(self, path: Path) -> None:
        self._skip(_BLANK)
        self._note(path, self.at)
        opening = self.text[self.at : self.at + 1]
        if opening == "[":
            self.at += 1
            number = 0
            while not self._closed("]"):
                start = self.at
                self._value((*path, number))
                number += 1
                self._separated(start)
        elif opening == "{":
            self.at += 1
            while not self._closed("}"):
                start = self.at
                if not self._pair(path):
                    self.at = len(self.text)
                self._separated(start)
        elif opening in ('"', "'"):
            self.at = match.end() if (match := _STRING.match(self.text, self.at)) else len(self.text)
        else:
            self._skip(_BARE)

    def _closed(self, bracket: str) -> bool:
        self._skip(_SPACE)
        return self._take(bracket) or self.at >= len(self.text)

    def _separated(self, start: int) -> None:
        self._skip(_SPACE)
        if not self._take(",") and self.at == start:  # nothing was read: not TOML
            self.at = len(self.text)

    def _take(self, wanted: str) -> bool:
        self._skip(_BLANK)
        if self.text.startswith(wanted, self.at):
            self.at += len(wanted)
            return True
        return False

    def _skip(self, pattern: re.Pattern[str]) -> int:
        match = pattern.match(self.text, self.at)
        self.at = match.end() if match else self.at
        return self.at

    def _note(self, path: Path, offset: int) -> None:
        if path in self.lines:
            return
        before, line = self._counted
        if offset >= before:
            self._counted = (offset, line + self.text.count("\n", before, offset))
        self.lines[path] = self._counted[1] if offset >= before else self.text.count("\n", 0, offset) + 1


def _unquoted(written: str) -> str:
    try:
        return str(tomllib.loads(f"key = {written}")["key"])
    except tomllib.TOMLDecodeError:  # an escape that there is not
        return written
