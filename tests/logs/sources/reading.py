"""Logs for tests: written to a file, read to plain rows, or refused in one line."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from frontguard.errors import BadInput
from frontguard.logs.sources import Log, open_log

Row = tuple[Any, ...]


def rows_of(log: Log) -> list[Row]:
    """Pulls in order: (arm, value, value, …), with None for a failed value."""
    return [
        (arm, *(None if math.isnan(value) else value for value in values))
        for batch in log.batches()
        for arm, *values in zip(
            batch.arms.cast(str).to_list(), *(column.tolist() for column in batch.values), strict=True
        )
    ]


def read(path: Path, data: str | bytes, **options: Any) -> list[Row]:
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return rows_of(open_log(path, **{"arm": "arm", "metrics": ["x"], **options}))


def refusal(path: Path, data: str | bytes, **options: Any) -> str:
    with pytest.raises(BadInput) as refused:
        read(path, data, **options)
    line = str(refused.value)
    assert "\n" not in line
    return line.replace(f"{path.parent}/", "")


def parquet(path: Path, **columns: Any) -> Path:
    pq.write_table(pa.table(columns), path, row_group_size=2)
    return path
