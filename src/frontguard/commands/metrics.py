"""Where the value of a metric comes from, and how it is read from what a command printed.

A metric is read from the JSON object on the last line that is not blank (`json`), from the last match of a pattern
(`regex`), or is measured by us (`seconds`, `cpu_seconds`, `max_rss`). One that cannot be read fails alone: the others
keep their values, and so does one that only its tolerance or bounds make unusable. The reasons are few and short, so
that equal failures have equal texts and can be counted; what was found instead stands in the detail.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, cast

from frontguard.commands.patterns import TookTooLong
from frontguard.objectives import Objective
from frontguard.phrases import one_line
from frontguard.studies.measurement import BOOLEAN

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
