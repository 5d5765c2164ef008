"""Results of other tools as tables, a row for every single measurement: what their readers have in common.

| tool | arm | metrics |
| --- | --- | --- |
| hyperfine | the command, with its parameters where several have the same | seconds, memory (bytes); user, system |
| pyperf | the benchmark's name | seconds, or bytes, or value, by its unit; memory (bytes) |
| pytest-benchmark | the test's name, in full where several have the same | seconds |

The values that one process made are a cluster: those of a run of pyperf, and all those of a file of pytest-benchmark,
whose rounds are made by one process. Each run of hyperfine is a process of its own.

A tool writes one JSON document. Its reader is a module of its own with two functions: whether the tool `wrote` a
document, and the `results` of each arm in it.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import numpy as np
import polars as pl

from frontguard.errors import BadInput
from frontguard.logs.sources.files import LogFile, several
from frontguard.logs.sources.reader import LogTable, Picked
from frontguard.logs.sources.text import TextFile
from frontguard.logs.sources.values import number_in, text_of
from frontguard.phrases import error_line, quoted, shown


@dataclass(frozen=True)
class ArmResults:
    """The measurements of one arm in one file: its name in short and in full, what else is known of it, the values."""

    short: str
    full: str
    about: Mapping[str, str]
    values: Mapping[str, list[float]]  # by metric, all of one length
    absent: Mapping[str, str] = field(default_factory=dict)  # metrics that were not kept for every pull, and why
    processes: Sequence[str] | None = None  # of each value, where a process made several


PROCESS = "process"
"""The column that says which process made a value."""


class ToolTable(LogTable):
    """The results of a tool, from one file or several, with a column for everything that is known."""

    def __init__(self, name: str, tool: ModuleType, files: Sequence[LogFile]) -> None:
        self._arms: list[ArmResults] = []
        for file in files:
            document = document_of(file)
            if not tool.wrote(document):
                raise BadInput(f"{file.shown}: wanted a JSON document as {name} writes it; got {keys_of(document)}")
            self._arms += tool.results(document, file.shown)
        if not self._arms:
            raise BadInput(f"{several(files)} holds no results")
        about = dict.fromkeys(name for each in self._arms for name in each.about)
        values = dict.fromkeys(name for each in self._arms for name in each.values)
        if any(each.processes is not None for each in self._arms):
            self.cluster = (PROCESS,)
        ours = {"arm", *self.cluster, *values}
        names = ["arm", *(name for name in about if name not in ours), *self.cluster, *values]
        super().__init__(several(files), names)
        # The usual one, which the tool's reader names first, of those that every arm has.
        common = [name for name in self._arms[0].values if all(name in each.values for each in self._arms)]
        self.metrics = tuple((common or sorted(values))[:1])

    def refuse_absent(self, wanted: Sequence[str]) -> None:
        """Say why a metric that the tool knows of cannot be had."""
        for name in wanted:
            for each in self._arms:
                if name in each.absent and name not in each.values:
                    raise BadInput(f"{self.shown}: {shown(name)} of {shown(each.short)}: {each.absent[name]}")

    def rows(self, picked: Picked) -> Iterator[pl.DataFrame]:
        """All rows at once."""
        counts = [len(next(iter(each.values.values()))) for each in self._arms]
        owners = np.repeat(np.arange(len(counts)), counts)
        columns = []
        for name in picked.texts:
            if name in self.cluster:
                processes = [process for each in self._arms for process in each.processes or ()]
                columns.append(pl.Series(name, processes, pl.String))
                continue
            column = self._arm_names() if name == "arm" else [each.about.get(name) for each in self._arms]
            named = [text_of(each, f"{self.shown}, column {shown(name)}") for each in column]
            columns.append(pl.Series(name, named, pl.String).gather(owners))
        for name in picked.numbers:
            parts = [each.values.get(name, [math.nan] * n) for each, n in zip(self._arms, counts, strict=True)]
            columns.append(pl.Series(name, np.concatenate(parts).astype(np.float64)))
        yield pl.DataFrame(columns)

    def _arm_names(self) -> list[str]:
        """Short names where they say which; full ones for those that share a short one. What shares both is one arm."""
        often = Counter(short for short, _ in {(each.short, each.full) for each in self._arms})
        return [each.short if often[each.short] == 1 else each.full for each in self._arms]


def document_of(file: LogFile) -> Any:
    """The JSON document in a file."""
    text = TextFile(file)
    try:
        return json.loads(text.document())
    except BadInput:
        raise
    except (ValueError, RecursionError) as error:  # no JSON, a number of very many digits
        raise BadInput(f"{file.shown} is no JSON document, or was cut in the middle: {error_line(error)}") from None


def keys_of(document: Any) -> str:
    """What a document is, for a message about one that is not what was wanted."""
    return f"the keys {quoted(sorted(document), 8)}" if isinstance(document, dict) else shown(document)


def has_list(document: Any, key: str) -> bool:
    """Whether a document is an object with a list under this key."""
    return isinstance(document, dict) and isinstance(document.get(key), list)


# Reading with care ---------------------------------------------------------------------------------------------------

_KINDS: dict[type, str] = {str: "a text", dict: "an object", list: "a list"}


def entry(record: Any, key: str, kind: type, place: str, default: Any = None) -> Any:
    """What stands under a key, which must be of this kind; the default if nothing does."""
    if not isinstance(record, dict):
        raise BadInput(f"{place}: wanted an object; got {shown(record)}")
    value = record.get(key)
    if value is None:
        value = default
    if not isinstance(value, kind):
        raise BadInput(f"{place}: {key!r} must be {_KINDS[kind]}; got {shown(value)}")
    return value


def as_setting(value: Any) -> str:
    """A parameter of a tool as text."""
    return value if isinstance(value, str) else json.dumps(value)


def numbers(values: Any, place: str) -> list[float]:
    """A list of numbers."""
    if not isinstance(values, list):
        raise BadInput(f"{place}: wanted a list of numbers; got {shown(values)}")
    return [number_in(value, place) for value in values]
