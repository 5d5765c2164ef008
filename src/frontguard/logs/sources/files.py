"""The files of a log: those that a path, a directory, a glob or a list of these stands for."""

from __future__ import annotations

import glob
import os
import re
import stat
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from frontguard._common.machine import available_memory
from frontguard.errors import BadInput
from frontguard.phrases import error_line, shown

STDIN = "-"

BUNDLED = {"compiler-flags": "compiler_flags.csv.gz", "reviews": "review_log.csv.gz"}
"""Logs that come with the package, by the names under which they can be analysed; a file of that name goes first."""

_PACKED = (".gz", ".zst", ".bz2")

STATE = b"FRONTGUARD LOG\r\n"
"""The beginning of a state's file (`logs.state`); the line end shows a file that was carried as text."""

_NO_PARTITION = "__HIVE_DEFAULT_PARTITION__"  # how a missing value is written as the name of a folder
_ADDRESS = re.compile(r"(postgres|postgresql|sqlite)://", re.I)


@dataclass(frozen=True)
class LogFile:
    """A file to read: how it is called in messages, and the columns that the names of its folders give it."""

    path: Path | None  # None is standard input, or no file at all
    shown: str
    partition: Mapping[str, str | None] = field(default_factory=dict)

    @property
    def ending(self) -> str:
        """The ending of its name that says the format, in lower case."""
        endings = [ending.lower() for ending in self.path.suffixes] if self.path is not None else []
        while endings and endings[-1] in _PACKED:
            endings.pop()
        return endings[-1] if endings else ""


@dataclass(frozen=True)
class LogFiles:
    """The files of a log, at least one, and how they are called together."""

    shown: str
    files: tuple[LogFile, ...]


def is_address(where: object) -> bool:
    """True for the address of a storage, False for a path."""
    return isinstance(where, str) and _ADDRESS.match(where) is not None


def find(where: Any) -> LogFiles:
    """The files of a log, in plain order of their paths; what has been found already is given back."""
    if isinstance(where, LogFiles):
        return where
    if isinstance(where, bytes) or not isinstance(where, (str, os.PathLike, Sequence)):
        raise BadInput(f"a log must be a path, a glob, a list of these, or a frame; got {shown(where)}")
    if isinstance(where, (str, os.PathLike)):
        name = os.fspath(where)
        files = [LogFile(None, "standard input")] if name == STDIN else _find_one(name)
        return LogFiles("standard input" if name == STDIN else name, tuple(files))
    files = [file for each in where for file in find(each).files]
    if not files:
        raise BadInput("a log must be a file, a directory, a glob or a list of these; got an empty list")
    for real, count in Counter(os.path.realpath(file.path) for file in files if file.path is not None).items():
        if count > 1:
            raise BadInput(f"{real} is among the files of the log {count} times: its rows would count as often")
    return LogFiles(several(files), tuple(files))


def state_files(found: LogFiles) -> list[Path]:
    """The state files that a log is, if it is of these; none otherwise."""
    states = []
    for path in (file.path for file in found.files if file.path is not None):
        with suppress(OSError):  # of what cannot be read, whoever reads it says so
            states += [path] if is_state(path) else []
    if states and len(states) < len(found.files):
        other = next(file.shown for file in found.files if file.path not in states)
        raise BadInput(
            f"state files and logs cannot be read as one log; got {states[0]} and {other}: add the log to the state "
            "with --append (append=)"
        )
    return states


def is_state(path: Path) -> bool:
    """True for the file of a state."""
    with path.open("rb") as file:
        return file.read(len(STATE)) == STATE


def several(files: Sequence[LogFile]) -> str:
    """One name for several files, by the first of them."""
    return files[0].shown if len(files) == 1 else f"{files[0].shown} and {len(files) - 1} more"


def refuse_unless_file(path: Path, where: str | None = None) -> None:
    """Refuse what has no end, or waits for somebody to write into it: devices, pipes, sockets."""
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode):
        kinds = {stat.S_IFDIR: "a directory", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}
        kind = kinds.get(stat.S_IFMT(mode), "a device")
        raise BadInput(f"{where or path}: wanted a file; got {kind} (a log may come through standard input, as -)")


def _find_one(where: str) -> list[LogFile]:
    if not where or "\0" in where:
        raise BadInput(f"a log must be a file, a directory or a glob; got {shown(where)}")
    path = Path(where)
    try:
        if path.is_dir():
            return _in_directory(path)
        if path.exists():
            refuse_unless_file(path, where)
            return [LogFile(path, str(path))]
        if glob.has_magic(where):
            if not (matching := _by_glob(where)):
                raise BadInput(f"no file matches {shown(where)}")
            return matching
        if where in BUNDLED:
            from importlib import resources

            return [LogFile(Path(str(resources.files("frontguard") / "data" / BUNDLED[where])), where)]
    except OSError as error:
        raise BadInput(f"{where} cannot be read: {error.strerror or error_line(error)}") from None
    raise BadInput(f"no such file or directory: {where}")


def _by_glob(pattern: str) -> list[LogFile]:
    """The files that match or are in folders that do; folders below the part without wildcards may be partitions."""
    fixed: list[str] = []
    for part in Path(pattern).parts:
        if glob.has_magic(part):
            break
        fixed.append(part)
    found: dict[str, LogFile] = {}  # by where it really is: links may lead to a file in several ways
    for path in sorted(Path(each) for each in _matching(pattern)):
        inside = [file.path for file in _in_directory(path)] if path.is_dir() else [path]
        for each in inside:
            if each is not None and each.is_file():
                found.setdefault(
                    os.path.realpath(each), LogFile(each, str(each), _partition(each.parts[len(fixed) : -1]))
                )
    return list(found.values())


def _matching(pattern: str) -> Iterator[str]:
    """Paths that `glob.glob` finds, with ** for any folders; each folder is entered once, however links lead to it."""
    parts = Path(pattern).parts
    if "**" not in parts:
        yield from glob.glob(pattern)
        return
    at = parts.index("**")
    for root in glob.glob(str(Path(*parts[:at]))) if at else ["."]:
        for folder in _folders(root):
            yield from _matching(str(Path(glob.escape(folder), *(parts[at + 1 :] or ["*"]))))


def _folders(root: str) -> Iterator[str]:
    """A folder and all that are below it, hidden ones apart."""
    entered = {os.path.realpath(root)}
    for folder, inside, _ in os.walk(root, followlinks=True):
        yield folder
        real = {name: os.path.realpath(os.path.join(folder, name)) for name in inside}
        inside[:] = [name for name in inside if not name.startswith(".") and real[name] not in entered]
        entered.update(real[name] for name in inside)


def _partition(folders: Sequence[str]) -> dict[str, str | None]:
    """Columns and values of folders such as "arm=fast": as Hive, Spark and others write partitions."""
    pairs = (name.partition("=") for name in folders if "=" in name)
    return {unquote(name): None if value == _NO_PARTITION else unquote(value) for name, _, value in pairs}


def _in_directory(root: Path) -> list[LogFile]:
    """All files below a directory, without hidden ones and names that begin with _: tools put them beside data."""
    found = []
    for path in sorted(root.rglob("*")):
        parts = path.relative_to(root).parts
        # A partition may begin with _ by its column's name: that has an = in it.
        if any(part.startswith(".") or (part.startswith("_") and "=" not in part) for part in parts):
            continue
        if path.is_file():
            found.append(LogFile(path, str(path), _partition([root.name, *parts[:-1]])))
    if not found:
        raise BadInput(f"{root} is a directory without data files")
    return found


LARGEST = 1 << 30
"""Bytes of the largest document."""

_PIECE = 1 << 22
_OF_A_VALUE = 100  # bytes that a value of a document takes in memory, about


def whole(read: Callable[[int], bytes], where: str, *, instead: str = "") -> bytes:
    """All that `read` has, if bounded: a small file may unpack to gigabytes; `instead` is for larger ones."""
    free = available_memory()
    most = min(LARGEST, free // 4)  # the bytes, and the text that they become
    parts: list[bytes] = []
    size = values = 0
    while part := read(_PIECE):
        parts.append(part)
        size += len(part)
        values += sum(map(part.count, (b",", b"[", b"{")))
        if size > most:
            raise BadInput(f"{where}: a document of more than {most >> 20:,} MiB, which is read whole{instead}")
        if values > free // (2 * _OF_A_VALUE):
            raise BadInput(f"{where}: a document of more than {values:,} values, which does not fit in memory{instead}")
    return b"".join(parts)
