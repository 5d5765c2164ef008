"""The data sets, one a module, each with a function that reads it; here are the tables of the package."""

from __future__ import annotations

import csv
import gzip
import io
from importlib import resources


def bundled_text(name: str) -> str:
    """The text of a file that is part of the package; of a compressed one, what it holds."""
    content = (resources.files("frontguard") / "data" / name).read_bytes()
    return (gzip.decompress(content) if name.endswith(".gz") else content).decode("utf-8")


def bundled_rows(name: str) -> list[dict[str, str]]:
    """The rows of a table that is part of the package, by column."""
    return list(csv.DictReader(io.StringIO(bundled_text(name))))
