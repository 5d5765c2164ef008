"""Whether what a command printed with `--json` is what its published schema says."""

from __future__ import annotations

import json
from typing import Any

from pydantic import TypeAdapter
from tools.schemas import PRINTED


def as_published(command: str, text: str) -> Any:
    """The plain values of what was printed: all entries of the model, in its order, and no others."""
    plain = json.loads(text)
    model: TypeAdapter[Any] = TypeAdapter(PRINTED[command])
    document = model.validate_python(plain, context="what was printed")
    assert json.dumps(_plain(model.dump_python(document))) == json.dumps(_plain(plain))
    return plain


def _plain(value: Any) -> Any:
    """Numbers as floats: 0 and 0.0 are the same number in JSON."""
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value
