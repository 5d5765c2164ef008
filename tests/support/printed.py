"""Whether what a command printed with `--json` is what the published schema says."""

from __future__ import annotations

import json
from typing import Any

from pydantic import TypeAdapter
from tools.schemas import PRINTED


def as_published(command: str, text: str) -> Any:
    """The plain values of what was printed: entries of the schema, and no others."""
    plain = json.loads(text)
    model: TypeAdapter[Any] = TypeAdapter(PRINTED[command])
    read = model.dump_python(model.validate_python(plain), exclude_unset=True)
    assert json.loads(json.dumps(read)) == plain
    return plain
