"""Where the value of a metric comes from, and how it is read from what a command printed.

A metric is read from the JSON object on the last line that is not blank (`json`), from the last match of a pattern
(`regex`), or is measured by us (`seconds`, `cpu_seconds`, `max_rss`). One that cannot be read fails alone: the others
keep their values, and so does one that only its tolerance or bounds make unusable. The reasons are few and short, so
that equal failures have equal texts and can be counted; what was found instead stands in the detail.

`re` keeps the interpreter to itself while it looks: no timeout, no Ctrl-C and no other thread gets a turn. So it looks
in a small process beside us (`_matcher.py`), one for each pull that is being read at the moment, kept for the next one.
docs/decisions/patterns.md has what else was tried.
"""

from __future__ import annotations

import json
import math
import os
import re
import select
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, NamedTuple, Self, cast

from frontguard.commands.process import MARK, new_mark
from frontguard.objectives import Objective
from frontguard.phrases import one_line
from frontguard.studies.measurement import BOOLEAN

_MATCHER = Path(__file__).with_name("_matcher.py")
_LOOK = 0.05  # seconds between two looks at whether we are cancelled
_SPARE = 2.0  # seconds after which a matcher that should have ended itself is ended by us
_FOREVER = 1e6  # seconds, where there is no limit


class TookTooLong(Exception):
    """A pattern was not done with its text in time."""


class Stopped(Exception):
    """We were cancelled while a pattern was looked for."""


class Patterns:
    """Looks for patterns, from any number of threads. Use it in a `with` statement.

    >>> with Patterns() as patterns:
    ...     patterns.last(r"loss (\\S+)", "loss 3\\nloss 2.5\\n"), patterns.last("gain (.)", "loss 3")
    ('2.5', None)
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[_Matcher] = []

    def last(
        self, pattern: str, text: str, *, seconds: float | None = None, cancel: threading.Event | None = None
    ) -> str | None:
        """The group of the last match, empty if it took no part in it; None if nothing matched.

        Raises `TookTooLong` after so many seconds, and `Stopped` when `cancel` is set meanwhile.
        """
        with self._lock:
            matcher = self._idle.pop() if self._idle else None
        if matcher is not None and not matcher.lives():  # somebody ended it
            matcher.end()
            matcher = None
        matcher = matcher or _Matcher()
        try:
            found = matcher.last(pattern, text, _FOREVER if seconds is None else seconds, cancel)
        except BaseException:
            matcher.end()
            raise
        with self._lock:
            self._idle.append(matcher)
        return found

    def close(self) -> None:
        """End the processes."""
        with self._lock:
            idle, self._idle = self._idle, []
        for matcher in idle:
            matcher.end()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _Matcher:
    """A process that looks for one pattern at a time."""

    def __init__(self) -> None:
        # Marked as a pull is: whoever ends what a dead runner left behind finds it.
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(_MATCHER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            env={**os.environ, MARK: new_mark()},
            start_new_session=True,
        )

    def lives(self) -> bool:
        return self._process.poll() is None

    def last(self, pattern: str, text: str, seconds: float, cancel: threading.Event | None) -> str | None:
        assert self._process.stdin is not None
        written, read = pattern.encode(), text.encode()
        request = memoryview(b"%f %d %d\n" % (seconds, len(written), len(read)) + written + read)
        while request:  # a pipe takes what it has room for
            request = request[self._process.stdin.write(request) :]
        deadline = time.monotonic() + seconds + _SPARE
        answer = bytearray()
        while b"\n" not in answer:
            answer += self._more(deadline, cancel)
        size, _, group = bytes(answer).partition(b"\n")
        while len(group) < int(size):
            group += self._more(deadline, cancel)
        return None if int(size) < 0 else group.decode()

    def _more(self, deadline: float, cancel: threading.Event | None) -> bytes:
        assert self._process.stdout is not None
        poller = select.poll()
        poller.register(self._process.stdout, select.POLLIN)
        while not poller.poll(1000.0 * _LOOK):
            if cancel is not None and cancel.is_set():
                raise Stopped
            if time.monotonic() > deadline:
                raise TookTooLong
        data = os.read(self._process.stdout.fileno(), 1 << 16)
        if not data:  # it ended itself, at its time; or, which is no other news, the machine ran out of memory for it
            raise TookTooLong
        return data

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()


# Metrics --------------------------------------------------------------------------------------------------------------

SourceKind = Literal["json", "regex", "seconds", "cpu_seconds", "max_rss"]
Stream = Literal["stdout", "stderr"]

MEASURED: tuple[str, ...] = ("seconds", "cpu_seconds", "max_rss")
"""What is measured by us. An objective of that name needs no other source."""


@dataclass(frozen=True)
class MetricSource:
    """How to read one metric: `name` is that of the `objective`, which says which values it can use."""

    name: str
    kind: SourceKind = "json"
    key: str = ""
    pattern: str = ""
    stream: Stream = "stdout"
    objective: Objective | None = None

    def to_dict(self) -> dict[str, str]:
        """What determines the values, for the identity of a study."""
        found: dict[str, str] = {"kind": self.kind}
        if self.kind == "json":
            found["key"] = self.key or self.name
        if self.kind == "regex":
            found |= {"pattern": self.pattern, "stream": self.stream}
        return found


def usual_kind(name: str) -> SourceKind:
    """Where an objective of this name comes from if nothing more is said: measured by us, or a key of the JSON."""
    return cast(SourceKind, name) if name in MEASURED else "json"


class Reading(NamedTuple):
    """Values by metric, None where one failed; why, briefly; what was found instead; and what failures have in common.

    That is their `kind` where their reasons need not tell it: true or false in place of a number.
    """

    values: dict[str, float | None]
    reason: str
    detail: str
    kind: str = ""


class _Unreadable(Exception):
    def __init__(self, reason: str, detail: str = "", kind: str = "") -> None:
        super().__init__(reason)
        self.reason, self.detail, self.kind = reason, detail, kind


def _last_match(pattern: str, text: str) -> str | None:
    last = None
    for match in re.finditer(pattern, text, re.MULTILINE):
        last = match
    return None if last is None else last[1] or ""  # a group that took no part in the match is no number either


def read_metrics(
    sources: Sequence[MetricSource],
    *,
    stdout: str,
    stderr: str = "",
    measured: Mapping[str, float],
    cut: bool = False,
    last_match: Callable[[str, str], str | None] = _last_match,
) -> Reading:
    """Read every metric. `cut` says that the beginning of `stdout` is missing.

    `last_match` looks for a pattern in a text, and may raise `TookTooLong`; unless given, nothing can stop it.

    >>> loss = MetricSource("loss", "regex", pattern=r"loss (\\S+)")
    >>> wanted = [MetricSource("size"), loss, MetricSource("seconds", "seconds")]
    >>> read_metrics(wanted, stdout='loss 3\\nloss 2.5\\n{"size": true}\\n', measured={"seconds": 0.25})
    Reading(values={'size': None, 'loss': 2.5, 'seconds': 0.25},
            reason="metric 'size' is not a number", detail="metric 'size' is not a number: got true",
            kind='true or false')
    """
    values: dict[str, float | None] = {}
    reasons: dict[str, str] = {}  # by reason, once: two metrics of one missing object are one failure
    kind = ""
    found: dict[str, Any] | _Unreadable | None = None
    for source in sources:
        try:
            if source.kind == "json":
                found = found if found is not None else _last_object(stdout, cut)
                if isinstance(found, _Unreadable):
                    raise found
                value = _number(source, _looked_up(found, source))
            elif source.kind == "regex":
                value = _number(source, _matched(source, stderr if source.stream == "stderr" else stdout, last_match))
            else:
                value = measured[source.kind]
            values[source.name] = _finite(source, value)
            fault = "" if source.objective is None or value is True or value is False else source.objective.fault(value)
            if fault:  # kept beside the reason: with another tolerance, or other bounds, it can be used
                raise _Unreadable(f"metric {source.name!r} {fault}", f"got {value!r}")
        except _Unreadable as problem:
            values.setdefault(source.name, None)
            reasons.setdefault(problem.reason, problem.detail)
            kind = kind or problem.kind
    details = (f"{reason}: {detail}" for reason, detail in reasons.items() if detail)
    return Reading(values, "; ".join(reasons), "; ".join(details), kind)


def last_line(text: str) -> str:
    """The last line that is not blank, without blanks around it.

    >>> last_line("a\\n b \\n\\n")
    'b'
    """
    return text.rstrip().rpartition("\n")[2].strip()


def _last_object(stdout: str, cut: bool) -> dict[str, Any] | _Unreadable:
    if cut and "\n" not in stdout.rstrip():
        return _Unreadable("last line too long", f"more than {len(stdout)} characters")
    line = last_line(stdout)
    try:
        # Integers become floats at once: beyond 4300 digits Python refuses to read an int, and none is wanted.
        # NaN and Infinity are no JSON, but many programs print them: read here and refused as the metric's value, by
        # name, so that one such value does not take the others with it.
        found = json.loads(line, parse_int=float, parse_constant=float)
    except (ValueError, RecursionError):
        found = None
    if isinstance(found, dict):
        return found
    return _Unreadable("no JSON object on the last line", f"got {one_line(line)}" if line else "stdout is empty")


def _looked_up(found: dict[str, Any], source: MetricSource) -> Any:
    """The value of the key as it is written, or else along its dotted path."""
    key = source.key or source.name
    if key in found:
        return found[key]
    at: Any = found
    for part in key.split("."):
        if not isinstance(at, dict) or part not in at:
            raise _Unreadable(
                f"metric {source.name!r} missing", f"no key {key!r}; there is {one_line(', '.join(found))}"
            )
        at = at[part]
    return at


def _matched(source: MetricSource, text: str, last_match: Callable[[str, str], str | None]) -> str:
    try:
        found = last_match(source.pattern, text)
    except TookTooLong:
        raise _Unreadable(
            f"metric {source.name!r}: the pattern took too long", f"{source.pattern!r}, on {len(text):,} characters"
        ) from None
    if found is None:
        raise _Unreadable(f"metric {source.name!r}: regex did not match", f"nothing like {source.pattern!r}")
    return found


def _number(source: MetricSource, value: Any) -> float:
    if isinstance(value, float):  # of JSON: every number, and no true or false
        return value
    if isinstance(value, bool):
        if source.objective is not None and source.objective.by_default:
            return value  # a rate, if the study finds so
        if source.objective is None or not source.objective.takes_booleans:
            hint = "" if source.objective is None else f": {source.objective.no_booleans}"
            reason = f"metric {source.name!r} is not a number"
            raise _Unreadable(reason, f"got {str(value).lower()}{hint}", BOOLEAN)
        return float(value)
    if source.kind == "regex" and "_" not in value:
        try:
            return float(value)
        except ValueError:
            pass
    shown = value if isinstance(value, str) and source.kind == "regex" else json.dumps(value, ensure_ascii=False)
    raise _Unreadable(f"metric {source.name!r} is not a number", f"got {one_line(shown)}")


def _finite(source: MetricSource, value: float) -> float:
    if math.isnan(value):
        raise _Unreadable(f"metric {source.name!r} is NaN")
    if math.isinf(value):
        raise _Unreadable(f"metric {source.name!r} is infinite")
    return value
