"""Sentences are snapshots: what people read is kept in `__snapshots__` beside the tests, and read in the diff.

Tests assert facts: kinds, fields, numbers, exit codes. The words around them are compared with files that
`make snapshots` writes anew, so that a better sentence is one change in the code and a diff that a person reads.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

__all__ = ["refusals", "refused", "said"]

_VARYING = (
    (re.compile(r"\x1b\[[0-9;?]*[A-Za-z]"), ""),  # colours
    (re.compile(r"/[^\s'\"]*?/pytest-of-[^/\s]+/pytest-\d+(?:/popen-gw\d+)?/[^/\s'\":;,)]+"), "TMP"),
    (re.compile(re.escape(f"{Path(__file__).parents[2]}/")), ""),  # the clone
    (re.compile(r"(127\.0\.0\.1|localhost|\[::1\]):\d+"), r"\1:PORT"),
    (re.compile(r"(:PORT) on \w[\w.-]*"), r"\1 on HOST"),
    (re.compile(r"wanted [\d.]+, as here"), "wanted VERSION, as here"),
    (re.compile(r"/fresh\d+: permission denied for database fresh\d+"), "/FRESH: permission denied for database FRESH"),
    (re.compile(r"\b((?:r_)?own|suite)_\d+\b"), r"\1_N"),  # schemas and roles of the tests
    (re.compile(r"due to lock timeout .*", re.DOTALL), "due to lock timeout (as PostgreSQL says it)"),
    (re.compile(r" for \d+ s: connection failed"), " for SECONDS s: connection failed"),
    (re.compile(r"connection failed: .*", re.DOTALL), "connection failed: (as PostgreSQL says it)"),
    (re.compile(r"(not TOML: ).*"), r"\1(as Python says it)"),
    (re.compile(r"(not a regular expression: ).*(?=; got)"), r"\1(as Python says it)"),
    (re.compile(r"(cut in the middle: |damaged at line \d+, column \d+: )[A-Z].*"), r"\1(as Python says it)"),
    (re.compile(r"'utf-8' codec can't .*"), "(as Python says it)"),
    (re.compile(r"(TypeError|AttributeError|FileNotFoundError): .*?(?=\. [A-Z]|$)"), r"\1: (as Python says it)"),
    (re.compile(r"could not convert string to float: .*|Exceeds the limit \(\d+ digits\).*"), "(as Python says it)"),
    (re.compile(r"\[Errno -?\d+\] .*"), "(as the system says it)"),
    (re.compile(r"(damaged: after row \d+, )parquet: .*"), r"\1(as Polars says it)"),
    (re.compile(r"\bprocess \d+( on \S+)?( \([^)]*\)+)?"), "process PID"),
    (re.compile(r"\b\d\d:\d\d:\d\d\b"), "HH:MM:SS"),
    (re.compile(r"\b(run took|(?:pulls|runs) in) [0-9.]+ (?:ms|s|min|h)\b"), r"\1 TIME"),
    (re.compile(r"\b[0-9.]+ s in all\b"), "TIME in all"),
    (re.compile(r"stop-commands::\w+"), "stop-commands::TOKEN"),
    (re.compile(r"\b0x[0-9a-f]{6,}"), "0xADDRESS"),
)
"""What differs from run to run, and what stands for it."""


def said(text: object) -> str:
    """Return a text as it is kept: without temporary folders, ports, processes and times of day."""
    lasting = str(text)
    for varying, instead in _VARYING:
        lasting = varying.sub(instead, lasting)
    return "\n".join(line.rstrip() for line in lasting.splitlines())


def refusals(kind: type[BaseException], calls: Iterable[Callable[[], object]]) -> list[str]:
    """Return the sentences of errors of this kind, which every call must raise."""
    sentences = []
    for call in calls:
        with pytest.raises(kind) as caught:
            call()
        sentences.append(said(caught.value))
    return sentences


@contextmanager
def refused(
    kind: type[BaseException] | tuple[type[BaseException], ...], snapshot: SnapshotAssertion
) -> Iterator[pytest.ExceptionInfo[Any]]:
    """Expect an error of this kind, whose sentence is the snapshot's."""
    with pytest.raises(kind) as caught:
        yield caught
    assert said(caught.value) == snapshot
