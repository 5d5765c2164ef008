"""pyperf's JSON (`-o`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from frontguard.errors import BadInput
from frontguard.logs.sources.tools import pytest_benchmark
from frontguard.logs.sources.tools.tables import ArmResults, entry, has_list, numbers
from frontguard.logs.sources.values import number_in
from frontguard.phrases import shown

_UNITS = {"second": "seconds", "byte": "bytes", "integer": "value"}


def wrote(document: Any) -> bool:
    """Whether a document is pyperf's; those of pytest-benchmark have a list of benchmarks, too."""
    return has_list(document, "benchmarks") and not pytest_benchmark.wrote(document)


def results(document: Any, where: str) -> Iterator[ArmResults]:
    """The values of each benchmark, with its metadata."""
    common = entry(document, "metadata", dict, where, {})
    for index, benchmark in enumerate(document["benchmarks"], 1):
        place = f"{where}, benchmark {index}"
        about = {**common, **entry(benchmark, "metadata", dict, place, {})}
        name = entry(about, "name", str, f"{place}, metadata", f"benchmark {index}")
        unit = about.get("unit", "second")
        if not isinstance(unit, str) or unit not in _UNITS:
            raise BadInput(f"{place}: the unit must be one of {', '.join(_UNITS)}; got {shown(unit)}")
        metric, values, memory, processes, once = _UNITS[unit], [], [], [], True
        for turn, run in enumerate(entry(benchmark, "runs", list, place), 1):
            spot = f"{place}, run {turn}"
            # Runs that only calibrate have no values; warm-ups stand apart from the values.
            measured = numbers(entry(run, "values", list, spot, []), f"{spot}, values")
            peak = entry(run, "metadata", dict, spot, {}).get("mem_max_rss", about.get("mem_max_rss"))
            values += measured
            processes += [spot] * len(measured)
            memory += [number_in(peak, f"{spot}, mem_max_rss")] * len(measured)
            once = once and len(measured) <= 1
        columns = {metric: values}
        absent = {}
        if any(value == value for value in memory):
            if once:
                columns["memory"] = memory
            else:
                absent["memory"] = (
                    "pyperf measures it once for all values of a process; wanted runs of one value (-n 1)"
                )
        plain = {
            key: str(value) for key, value in about.items() if isinstance(value, (str, int, float)) and key != "unit"
        }
        yield ArmResults(name, name, plain, columns, absent, processes)
