"""Where a log is: a file, a directory, a glob or a list of them become the files to read, and the format of each."""

from __future__ import annotations

import glob
import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from urllib.parse import unquote

from frontguard.errors import BadInput
from frontguard.phrases import error_line, shown

STDIN = "-"

BUNDLED = {"compiler-flags": "compiler_flags.csv.gz", "reviews": "review_log.csv.gz"}
"""Logs that come with the package, by the names under which they can be analysed; a file of that name goes first."""

FORMATS = ("csv", "parquet", "jsonl", "hyperfine", "pyperf", "pytest-benchmark", "study")

_BY_SUFFIX = {
    ".csv": "csv",
    ".tsv": "csv",
    ".tab": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".db": "study",
    ".sqlite": "study",
    ".sqlite3": "study",
}
COMPRESSED = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2"}
MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bz2"}

_NO_PARTITION = "__HIVE_DEFAULT_PARTITION__"  # how a missing value is written as the name of a folder
_ADDRESS = re.compile(r"(postgres|postgresql|sqlite)://", re.I)


@dataclass(frozen=True)
class Place:
    """A file to read: how it is called in messages, and the columns that the names of its folders give it."""

    path: Path | None  # None is standard input
    shown: str
    partition: Mapping[str, str | None] = field(default_factory=dict)


def is_address(where: object) -> bool:
    """Whether this is the address of a storage rather than a path."""
    return isinstance(where, str) and _ADDRESS.match(where) is not None


def find(where: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> list[Place]:
    """The files to read, in plain order of their paths: at least one."""
    if isinstance(where, str) and where == STDIN:
        return [Place(None, "standard input")]
    if isinstance(where, (str, os.PathLike)):
        return _find_one(os.fspath(where))
    places = [place for each in where for place in find(each)]
    if not places:
        raise BadInput("a log must be a file, a directory, a glob or a list of these; got an empty list")
    return places


def _find_one(where: str) -> list[Place]:
    if not where or "\0" in where:
        raise BadInput(f"a log must be a file, a directory or a glob; got {shown(where)}")
    path = Path(where)
    try:
        if path.is_dir():
            return _in_directory(path)
        if path.exists():
            return [Place(path, str(path))]
        if glob.has_magic(where):
            places = _by_glob(where)
            if not places:
                raise BadInput(f"no file matches {shown(where)}")
            return places
        if where in BUNDLED:
            return [Place(Path(str(files("frontguard") / "data" / BUNDLED[where])), where)]
    except OSError as error:
        raise BadInput(f"{where} cannot be read: {error.strerror or error_line(error)}") from None
    raise BadInput(f"no such file or directory: {where}")


def _by_glob(pattern: str) -> list[Place]:
    """The files that match or are in folders that do; folders below the part without wildcards may be partitions."""
    fixed: list[str] = []
    for part in Path(pattern).parts:
        if glob.has_magic(part):
            break
        fixed.append(part)
    places: dict[Path, Place] = {}
    for path in sorted(Path(each) for each in glob.glob(pattern, recursive=True)):
        for place in _in_directory(path) if path.is_dir() else [Place(path, str(path))]:
            assert place.path is not None
            if place.path.is_file():
                places[place.path] = Place(place.path, place.shown, _partition(place.path.parts[len(fixed) : -1]))
    return list(places.values())


def _partition(folders: Sequence[str]) -> dict[str, str | None]:
    return dict(_key(name) for name in folders if "=" in name)


def _in_directory(root: Path) -> list[Place]:
    """All files below a directory, those apart that tools put beside data: hidden ones, and names that begin with _."""
    places = []
    for path in sorted(root.rglob("*")):
        parts = path.relative_to(root).parts
        # A partition may begin with _ by its column's name: that has an = in it.
        if any(part.startswith(".") or (part.startswith("_") and "=" not in part) for part in parts):
            continue
        if path.is_file():
            places.append(Place(path, str(path), _partition([root.name, *parts[:-1]])))
    if not places:
        raise BadInput(f"{root} is a directory without data files")
    return places


def _key(folder: str) -> tuple[str, str | None]:
    """Column and value of a folder such as "arm=fast": as Hive, Spark and others write partitions."""
    name, _, value = folder.partition("=")
    return unquote(name), None if value == _NO_PARTITION else unquote(value)


def suffixes(place: Place) -> tuple[str, str | None]:
    """The ending of the name that says the format, and the compression that a further one says."""
    if place.path is None:
        return "", None
    endings = [ending.lower() for ending in place.path.suffixes]
    if endings and endings[-1] in COMPRESSED:
        return (endings[-2] if len(endings) > 1 else ""), COMPRESSED[endings[-1]]
    return (endings[-1] if endings else ""), None


def one_format(places: Sequence[Place], formats: Sequence[str]) -> str:
    """The format that all files have."""
    counts = Counter(formats)
    if len(counts) > 1:
        # The rarest one is most likely the file that does not belong.
        rare = min(counts, key=lambda each: (counts[each], each))
        other = places[list(formats).index(rare)].shown
        seen = ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
        raise BadInput(f"all files of a log must have one format; got {seen}, for instance {other} as {rare}")
    return formats[0]


def format_by_name(place: Place) -> str | None:
    """The format that the name of a file says: one of `FORMATS`, "json" for one that must be looked into, or None."""
    return _BY_SUFFIX.get(suffixes(place)[0])
