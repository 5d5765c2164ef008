"""Damaged files: an answer that is right, or one clear line; never anything else."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from tests.logs.sources.fuzzers import WRITERS, damaged, edited, plainly_csv, plainly_jsonl, read, valid_rows

IN_TEST = 700  # files of each of three formats
IN_AUDIT = 34_000


def _fuzz(format: str, folder: Path, files: int, seed: int) -> Counter[str]:
    """Read so many damaged or edited files; what came out, counted."""
    random = np.random.default_rng([seed, sorted(WRITERS).index(format)])
    path = folder / f"log.{format}"
    seen: Counter[str] = Counter()
    for number in range(files):
        rows = valid_rows(random)
        write = WRITERS[format]
        if number % 4 == 0:
            rows = edited(rows, random)
            path.write_bytes(write(rows, random))
            assert read(path) == [(arm, list(values)) for arm, values in rows], f"file {number}"
            seen["edited"] += 1
            continue
        data = damaged(write(rows, random), random)
        path.write_bytes(data)
        answer = read(path)
        if isinstance(answer, str):
            seen["refused"] += 1
            continue
        seen["answered"] += 1
        if format != "parquet":
            expected = plainly_csv(data) if format == "csv" else plainly_jsonl(data)
            assert answer == expected, f"file {number}: {data!r}"
    return seen


@pytest.mark.parametrize("format", sorted(WRITERS))
def test_a_damaged_file_is_answered_rightly_or_refused_in_a_line(format: str, tmp_path: Path) -> None:
    seen = _fuzz(format, tmp_path, IN_TEST, seed=1)
    assert seen["edited"] == IN_TEST // 4
    # The fuzzer is worth something only while both happen often.
    assert seen["refused"] > IN_TEST // 10
    assert seen["answered"] > IN_TEST // 50


@pytest.mark.audit
@pytest.mark.parametrize("format", sorted(WRITERS))
def test_a_damaged_file_is_answered_rightly_or_refused_in_a_line_at_length(format: str, tmp_path: Path) -> None:
    seen = _fuzz(format, tmp_path, IN_AUDIT, seed=2)
    assert seen["refused"] > IN_AUDIT // 10
