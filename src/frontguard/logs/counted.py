"""What was counted already: the files that went into a state, known again by their content.

A file is known by its size and a hash of its bytes, whatever its name. A file that *grew* since it was counted begins
with the bytes that were counted: to add it would count these rows twice.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

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
    digest, done, digests = hashlib.sha256(), 0, {}
    try:
        with file.open("rb") as content:
            size = os.fstat(content.fileno()).st_size
            begun = [source for source in known if not source.empty and source.size <= size]
            for stop in sorted({size, *(source.size for source in begun)}):
                while done < stop and (block := content.read(min(_BLOCK, stop - done))):
                    digest.update(block)
                    done += len(block)
                digests[stop] = digest.hexdigest()
    except OSError as error:
        raise BadInput(f"{file}: cannot be read: {error.strerror or error}") from error
    same = [source for source in begun if digests[source.size] == source.digest]
    longest = max(same, key=lambda source: source.size, default=None)
    before = None if longest is None else Before(str(file), longest, grew=longest.size < size)
    return CountedFile(str(file), size, digests[size], rows), before


def counted_twice(first: Sequence[CountedFile], second: Sequence[CountedFile]) -> list[Before]:
    """The files of the second state whose content the first one has counted."""
    known = {(file.size, file.digest): file for file in first if not file.empty}
    keys = [(file.name, (file.size, file.digest)) for file in second if not file.empty]
    return [Before(name, known[key], grew=False) for name, key in keys if key in known]
