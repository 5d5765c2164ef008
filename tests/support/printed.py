"""Whether what a command printed with `--json` is what the published schema says."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from pydantic import TypeAdapter
from tools.schemas import PRINTED


@cache
def _model(command: str) -> TypeAdapter[Any]:
    """The schema's model of a command; making it takes much longer than asking it."""
    return TypeAdapter(PRINTED[command])


def as_published(command: str, text: str) -> Any:
    """The plain values of what was printed: entries of the schema, and no others."""
    plain, model = json.loads(text), _model(command)
    read = model.dump_python(model.validate_python(plain), exclude_unset=True)
    assert json.loads(json.dumps(read)) == plain
    return plain
