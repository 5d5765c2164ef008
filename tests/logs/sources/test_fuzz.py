"""Damaged files: an answer that is right, or one clear line; never anything else."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from tests.logs.sources.fuzzers import (
    WRITERS,
    damaged,
    edited,
    is_loose,
    plainly_csv,
    plainly_jsonl,
    read,
    valid_rows,
    without_quotes,
)
from tests.support.broken import broken

IN_TEST = 300  # files of each of three formats
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
            if format == "csv" and answer != expected and is_loose(data):
                answer, expected = without_quotes(answer), without_quotes(expected)
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


# Results of tools -----------------------------------------------------------------------------------------------------

OF_EACH_TOOL = 150


def _tools() -> dict[str, Any]:
    """A document of every schema, as the tools write them."""
    samples = Path(__file__).parent / "samples"
    pyperf_run = {"metadata": {"mem_max_rss": 7, "date": "2026-01-01"}, "values": [0.25], "warmups": [[1, 0.5]]}
    tested = {
        "name": "test_sum[10]",
        "fullname": "test_it.py::test_sum[10]",
        "group": None,
        "params": {"n": 10},
        "stats": {"min": 0.1, "rounds": 2, "data": [0.1, 0.2]},
    }
    measured = [{"time_wall_clock": 0.5, "peak_memory_usage": {"value": 3, "unit": "byte"}, "exit_code": 0}] * 3
    return {
        "hyperfine": json.loads((samples / "hyperfine_parameters.json").read_text()),
        "hyperfine of measurements": {
            "results": [{"command": "a", "measurements": measured}, {"command": "b", "times": [1]}]
        },
        "pyperf": {
            "version": "1.0",
            "metadata": {"name": "sum", "unit": "second", "loops": 4},
            "benchmarks": [{"runs": [pyperf_run] * 3}, {"metadata": {"name": "len"}, "runs": [pyperf_run]}],
        },
        "pytest-benchmark": {"machine_info": {"node": "x"}, "benchmarks": [tested, {**tested, "name": "test_len"}]},
    }


@pytest.mark.parametrize("kind", list(_tools()))
def test_odd_results_of_a_tool_are_answered_or_refused_in_a_line(kind: str, tmp_path: Path) -> None:
    chance, sample = Random(kind), _tools()[kind]
    path = tmp_path / "results.json"
    seen: Counter[str] = Counter()
    for _ in range(OF_EACH_TOOL):
        path.write_text(json.dumps(broken(sample, chance)))
        answer = read(path, arm=None, metrics=(), format=kind.split()[0] if chance.random() < 0.5 else None)
        seen["refused" if isinstance(answer, str) else "answered"] += 1
    assert seen["refused"] > OF_EACH_TOOL // 10
    assert seen["answered"] > OF_EACH_TOOL // 10
