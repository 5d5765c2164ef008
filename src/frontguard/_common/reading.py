"""Checking JSON by pydantic, imported only where JSON is read: an error is one line: where, wanted, got."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

from frontguard.errors import BadInput
from frontguard.phrases import number_of, shortened

Read = TypeVar("Read")
Place = tuple[str | int, ...]

_OURS = "the JSON of run, analyze, demo or reproduce"


def parsed(text: str, where: str) -> Any:
    """The plain values of a JSON text."""
    try:
        return json.loads(text, parse_constant=_refused)
    except json.JSONDecodeError as error:
        at = f"line {error.lineno}, column {error.colno}: {error.msg}"
        raise BadInput(f"{where}: wanted {_OURS}; it breaks off or is damaged at {at}") from None
    except RecursionError:
        raise BadInput(f"{where}: wanted {_OURS}; it is nested too deeply") from None
    except ValueError as error:
        raise BadInput(f"{where}: {error}") from None


def _refused(constant: str) -> float:
    raise ValueError(f"JSON has no {constant}: what is not known or not finite is null in frontguard's output")


def read(kind: type[Read], value: Any, where: str) -> Read:
    """Plain values as a pydantic model, or any other kind that pydantic checks."""
    try:
        return TypeAdapter(kind).validate_python(value)
    except ValidationError as error:
        raise BadInput(_complaint(error, value, where)) from None


def wrong(place: Place, wanted: str, got: Any) -> ValidationError:
    """The error that something else was wanted at a place within a model."""
    kind = PydanticCustomError("wanted", "{wanted}", {"wanted": wanted})
    return ValidationError.from_exception_data("JSON", [InitErrorDetails(type=kind, loc=place, input=got)])


def _complaint(error: ValidationError, value: Any, where: str) -> str:
    found = [(_place(each["loc"], value), each) for each in error.errors(include_url=False)]
    place, _ = max(found, key=lambda pair: len(pair[0]))  # of several kinds that would do the one that came furthest
    same = [each for at, each in found if at == place]
    at = ": ".join([where, *(f"element {part + 1}" if isinstance(part, int) else part[:60] for part in place)])
    if same[0]["type"] == "missing":
        return f"{at}: wanted an entry {same[0]['loc'][-1]!r}; got none"
    if same[0]["type"] == "value_error":
        return f"{at}: {same[0]['ctx']['error']}"
    wanted = " or ".join(dict.fromkeys(_wanted(each["type"], each["msg"], each.get("ctx", {})) for each in same))
    return f"{at}: wanted {wanted}; got {_got(same[0]['input'])}"


def _place(loc: Sequence[str | int], value: Any) -> Place:
    """The parts of a place that are in the JSON: pydantic puts the kinds that it tried between them."""
    place = []
    for part in loc:
        inside = isinstance(value, dict) and part in value
        if inside or (isinstance(value, list) and isinstance(part, int) and part < len(value)):
            place.append(part)
            value = value[part]
    return tuple(place)


_KINDS = {
    **dict.fromkeys(("dict_type", "model_type", "model_attributes_type", "dataclass_type"), "an object"),
    **dict.fromkeys(("list_type", "tuple_type"), "a list"),
    **dict.fromkeys(("int_type", "int_from_float"), "a whole number"),
    "float_type": "a number",
    "string_type": "a text",
    "bool_type": "true or false",
}
"""What pydantic's errors want, in words of JSON."""


def _wanted(kind: str, message: str, context: dict[str, Any]) -> str:
    if kind in _KINDS:
        return _KINDS[kind]
    if kind in ("too_short", "too_long"):
        count = context["min_length" if kind == "too_short" else "max_length"]
        return f"at {'least' if kind == 'too_short' else 'most'} {number_of(count, 'element')}"
    said = message.removeprefix("Input should be ")
    return f"a number {said}" if said.startswith(("greater", "less")) else said


def _got(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return f"a list of {len(value):,}"
    if isinstance(value, int) and abs(value) > 10**30:
        return "a number of very many digits"
    return shortened(repr(value), 80)
