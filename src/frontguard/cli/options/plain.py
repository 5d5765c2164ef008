"""Options that are plain text, or were not given, as they are.

typer has pydantic look at every option of a command, given or not; to import that, and to make it ready for forty
options, takes 0.08 s. Text needs no looking at, nor do our own defaults. All else is left to typer.
"""

from __future__ import annotations

from typing import Any


class PlainValue:
    """What typer asks for the value of an option, in place of what it would make when it first asks."""

    def __init__(self, wanted: Any) -> None:
        self._wanted = wanted

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """The value as a command takes it."""
        several = param.multiple or param.nargs == -1
        if value is None:
            return () if several else None
        if several:
            if self._wanted == list[str] and all(type(each) is str for each in value):
                return list(value)
        elif type(value) is not str or self._wanted is str:  # what is no text was not typed: it is a default of ours
            return value
        param._runtime_param = None  # so that typer makes its own
        return param.get_runtime_param().coerce(value, param=param, ctx=ctx)


def take_as_is(param: Any) -> None:
    """Have the plain values of an option taken as they are, where typer is of a version that looks at all."""
    kind = getattr(param, "type_descriptor", None)
    if kind is not None and hasattr(param, "get_runtime_param") and getattr(param, "_runtime_param", kind) is None:
        param._runtime_param = PlainValue(kind.annotation)
