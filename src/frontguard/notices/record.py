"""What every notice has: a kind and fields, of which a sentence is made elsewhere."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from frontguard._common.attached import attached

Reasons = tuple[tuple[str, int], ...]
"""Why pulls failed and how often, the most frequent first."""


@dataclass(frozen=True)
class Notice:
    """Base of all notices. `str(notice)` is its sentence."""

    warns: ClassVar[bool] = True  # whether people have to be told, or it is only on the record

    @property
    def subject(self) -> tuple[str, ...]:
        """What it is about, the same at every later moment: by this, each thing is said once."""
        fields = vars(self)
        return tuple(str(fields[name]) for name in ("kind", "arm", "objective") if fields.get(name) is not None)

    def to_dict(self) -> dict[str, Any]:
        """The record as plain values that JSON can hold."""
        return {name: plain(value) for name, value in {"kind": vars(self)["kind"], **vars(self)}.items()}

    def __str__(self) -> str:
        return str(attached("sentence")(self))


def plain(value: Any) -> Any:
    """A value of a record as JSON can hold it: tuples as lists, and None for what is not finite."""
    if isinstance(value, tuple):
        return [plain(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
