"""What was counted already: the files that went into a state, known again by their content.

A file is known by its size and a hash of its bytes, whatever its name. A file that *grew* since it was counted begins
with the bytes that were counted: to add it would count these rows twice.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from frontguard.errors import BadInput

_BLOCK = 2**20


@dataclass(frozen=True)
class CountedFile:
    """A file that was counted: its name when it was, bytes, SHA-256, and how many rows it had if that is known."""

    name: str
    size: int
    digest: str
    rows: int | None = None

    @property
    def empty(self) -> bool:
        """A file without rows may come as often as it likes, and may be how others begin."""
        return self.size == 0 or self.rows == 0


@dataclass(frozen=True)
class Before:
    """That the content of a file was counted before, all of it or, if the file grew since, its first bytes."""

    file: str
    source: CountedFile
    grew: bool

    def __str__(self) -> str:
        named = "" if self.source.name == self.file else f" as {self.source.name}"
        if self.grew:
            return f"{self.file}: its first {self.source.size} bytes were counted before{named}; it grew since"
        return f"{self.file}: it was counted before{named}"


def marked(
    path: Path | str, *, rows: int | None = None, known: Iterable[CountedFile] = ()
) -> tuple[CountedFile, Before | None]:
    """A file's mark, and what of it was counted before, if it begins with one of the `known` sources: the longest.

    The file is read once.
    """
    file = Path(path)
    whole_or_begun: dict[int, list[CountedFile]] = {}
    for source in known:
        if not source.empty:
            whole_or_begun.setdefault(source.size, []).append(source)
    before = None
    try:
        with file.open("rb") as content:
            digest, size = hashlib.sha256(), 0
            for stop in sorted(whole_or_begun):
                size += _hashed(content, digest, stop - size)
                if size < stop:
                    break
                for source in whole_or_begun[stop]:
                    if digest.hexdigest() == source.digest:
                        before = Before(str(file), source, grew=bool(content.peek(1)))
            size += _hashed(content, digest, None)
    except OSError as error:
        raise BadInput(f"{file}: cannot be read: {error.strerror or error}") from error
    return CountedFile(str(file), size, digest.hexdigest(), rows), before


def counted_twice(first: Sequence[CountedFile], second: Sequence[CountedFile]) -> list[Before]:
    """The files of the second state whose content the first one has counted."""
    known = {(file.size, file.digest): file for file in first if not file.empty}
    keys = [(file.name, (file.size, file.digest)) for file in second if not file.empty]
    return [Before(name, known[key], grew=False) for name, key in keys if key in known]


def _hashed(content: Any, digest: Any, most: int | None) -> int:
    """Feed up to `most` bytes to the digest; how many there were."""
    done = 0
    while most is None or done < most:
        block = content.read(_BLOCK if most is None else min(_BLOCK, most - done))
        if not block:
            break
        digest.update(block)
        done += len(block)
    return done
