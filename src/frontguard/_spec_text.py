"""The text of a spec without its secrets: the values of `env`, and the password in `storage`.

A spec is masked where it is read; what earlier versions stored with secrets in it, where that is read. The places are
found by a small reader of our own, because `tomllib` does not tell where a value stands; but what it made is believed
only if `tomllib` reads it as the spec with these values masked and nothing else changed.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from frontguard._secrets import MASK, hidden, without_password


def masked_about(about: Mapping[str, Any]) -> dict[str, Any]:
    """What a study keeps of who drives it, with the values of variables and passwords masked."""
    masked = dict(about)
    identity, spec = about.get("identity"), about.get("spec")
    if isinstance(identity, dict) and isinstance(identity.get("arms"), list):
        masked["identity"] = {**identity, "arms": [_masked_arm(arm) for arm in identity["arms"]]}
    if isinstance(spec, str):
        masked["spec"] = masked_spec(spec)
    return masked


def _masked_arm(arm: Any) -> Any:
    names = arm.get("env") if isinstance(arm, dict) else None
    return {**arm, "env": dict.fromkeys(names, MASK)} if isinstance(names, dict) and names else arm


@lru_cache(maxsize=16)
def masked_spec(text: str) -> str:
    """The text of a spec with the values of `env` and the password in `storage` masked; nothing of it if in doubt.

    >>> print(masked_spec('[run]\\nenv = {TOKEN = "hunter2"}  # not hunter2\\n[study]\\nstorage = "pg://a:b@c/d"'))
    [run]
    env = {TOKEN = "***"}  # not ***
    [study]
    storage = "pg://a:***@c/d"
    """
    if not re.search("env|://|password", text):
        return text
    try:
        data = tomllib.loads(text)
        wanted = _masked_table(data)
        masked = _with_masks(text, [value for value in _leaves(data) if isinstance(value, str)])
        if tomllib.loads(masked) == wanted:
            return masked
    except (ValueError, RecursionError):
        pass
    return "# The text of the spec is not shown: its secrets could not be told from the rest.\n"


def _is_variable(path: tuple[str, ...]) -> bool:
    return len(path) > 2 and path[0] in ("run", "arm") and path[1] == "env"


def _masked_value(path: tuple[str, ...], value: Any) -> Any:
    if _is_variable(path):
        return MASK
    return without_password(value) if path == ("study", "storage") and isinstance(value, str) else value


def _masked_table(value: Any, path: tuple[str, ...] = ()) -> Any:
    if isinstance(value, dict):
        return {key: _masked_table(each, (*path, key)) for key, each in value.items()}
    if isinstance(value, list) and not _is_variable(path):
        return [_masked_table(each, path) for each in value]
    return _masked_value(path, value)


def _leaves(value: Any, path: tuple[str, ...] = ()) -> Iterator[Any]:
    """The values of variables."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield from _leaves(each, (*path, key))
    elif isinstance(value, list) and not _is_variable(path):
        for each in value:
            yield from _leaves(each, path)
    elif _is_variable(path):
        yield value


def _with_masks(text: str, secrets: list[str]) -> str:
    pieces, done = [], 0
    for path, start, end in _Written(text).values():
        old = text[start:end]
        if path is None:  # a comment
            new = hidden(without_password(old), secrets)
        else:
            value = old if old[0] not in "\"'" else tomllib.loads(f"x = {old}")["x"]
            masked = _masked_value(path, value)
            new = old if masked == value else json.dumps(masked, ensure_ascii=False)
        pieces += [text[done:start], new]
        done = end
    return "".join([*pieces, text[done:]])


_BLANK = re.compile(r"[ \t]*")
_STRING = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}' + r"|'''.*?'{3,5}" + r'|"(?:\\.|[^"\\\n])*"' + r"|'[^'\n]*'", re.DOTALL
)
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_BARE_VALUE = re.compile(r"[^,\]}#\n]+")


class _Written:
    """Where in a TOML text each value stands, and each comment: what `tomllib` does not tell. The text is valid."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.found: list[tuple[tuple[str, ...] | None, int, int]] = []

    def values(self) -> list[tuple[tuple[str, ...] | None, int, int]]:
        """Path, start and end of every value that is no list or table; the path of a comment is None."""
        table: tuple[str, ...] = ()
        while self._next():
            if self._here("["):
                self._skip("[[" if self._here("[[") else "[")
                table = self._key()
                self._skip("]]" if self._here("]]") else "]")
            else:
                self._pair(table)
        return self.found

    def _pair(self, table: tuple[str, ...]) -> None:
        path = table + self._key()
        self._skip("=")
        self._value(path)

    def _value(self, path: tuple[str, ...]) -> None:
        self._next()
        opened = self.text[self.at]
        if opened not in "[{":
            end = self._match(_STRING if opened in "\"'" else _BARE_VALUE).end()
            end -= len(self.text[self.at : end]) - len(self.text[self.at : end].rstrip())
            self.found.append((path, self.at, end))
            self.at = end
            return
        self._skip(opened)
        while self._next() and not self._here("]" if opened == "[" else "}"):
            if self._here(","):
                self._skip(",")
            elif opened == "[":
                self._value(path)
            else:
                self._pair(path)
        self._skip("]" if opened == "[" else "}")

    def _key(self) -> tuple[str, ...]:
        parts = []
        while True:
            self.at = self._match(_BLANK).end()
            found = self._match(_STRING if self.text[self.at] in "\"'" else _BARE_KEY)
            parts.append(tomllib.loads(f"x = {found[0]}")["x"] if found[0][0] in "\"'" else found[0])
            self.at = found.end()
            self.at = self._match(_BLANK).end()
            if not self._here("."):
                return tuple(parts)
            self._skip(".")

    def _next(self) -> bool:
        """Go to what is neither blank nor a comment; whether there is any."""
        while self.at < len(self.text):
            if self._here("#"):
                end = self.text.find("\n", self.at)
                end = len(self.text) if end < 0 else end
                self.found.append((None, self.at, end))
                self.at = end
            elif self.text[self.at].isspace():
                self.at += 1
            else:
                return True
        return False

    def _here(self, mark: str) -> bool:
        return self.text.startswith(mark, self.at)

    def _skip(self, mark: str) -> None:
        if not self._here(mark):
            raise ValueError(f"wanted {mark!r}")
        self.at += len(mark)

    def _match(self, pattern: re.Pattern[str]) -> re.Match[str]:
        found = pattern.match(self.text, self.at)
        if found is None:
            raise ValueError("not TOML")
        return found
