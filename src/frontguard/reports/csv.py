"""Tables as CSV, those of reports and of `analyze --csv`: a row for every arm, with all that there is a number for.

A spreadsheet takes a text that begins with = + - @ (or a tab, or a line break) for a formula, and an arm may well be
called -O2. Such texts get an apostrophe in front, and so do texts that begin with one, so that taking one apostrophe
away gives every name back. Texts are quoted, numbers are not; what is not known is empty, what is not bounded is inf.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from frontguard._common.entries import AT_A_TIME

# Full-width signs too: some spreadsheets fold them.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "'", "＝", "＋", "－", "＠", "%", "|")


def guarded(text: str) -> str:
    """A text that no spreadsheet takes for a formula.

    >>> guarded("-O2"), guarded("plain"), guarded("'quoted")
    ("'-O2", 'plain', "''quoted")
    """
    text = text.encode("utf-8", "replace").decode("utf-8").replace("\0", "\ufffd")
    return "'" + text if text.lstrip(" ").startswith(_FORMULA) else text


def lines(table: Mapping[str, Any]) -> Iterator[str]:
    """Columns by name (lists or arrays) as a file, in pieces: a million arms are never all in memory as text."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    writer.writerow(map(guarded, table))
    columns = list(table.values())
    for start in range(0, len(columns[0]), AT_A_TIME):
        part = [column[start : start + AT_A_TIME] for column in columns]
        plain = [each.tolist() if isinstance(each, np.ndarray) else each for each in part]
        writer.writerows(map(_cell, row) for row in zip(*plain, strict=True))
        yield text.getvalue()
        text.seek(0)
        text.truncate()
    yield text.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, str):
        return guarded(value)
    if value is None or value != value:
        return ""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, float):
        return float(f"{value:.12g}")  # without what logarithms leave at the end of 3339
    return value
