"""Results of other tools: a row for every single measurement, of all files together.

| tool | arm | metrics |
| --- | --- | --- |
| hyperfine | the command, with its parameters where several have the same | seconds, memory (bytes); user, system |
| pyperf | the benchmark's name | seconds, or bytes, or value, by its unit; memory (bytes) |
| pytest-benchmark | the test's name, in full where several have the same | seconds |

The values that one process made are a cluster: those of a run of pyperf, and all those of a file of pytest-benchmark.

A tool writes one JSON document. Its reader is a function that gives the results of each arm in it (`_RESULTS`), and a
line in `tool_of`.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np

from frontguard.errors import BadInput
from frontguard.logs.sources.files import LogFile, several
from frontguard.logs.sources.reader import Request, number_in
from frontguard.logs.sources.text_tables import TextFile
from frontguard.logs.sources.typed import FrameTable
from frontguard.phrases import error_line, quoted, shown


@dataclass(frozen=True)
class ArmResults:
    """The measurements of one arm in one file: its name in short and in full, what else is known of it, the values."""

    short: str
    full: str
    about: Mapping[str, str]
    values: Mapping[str, list[float]]  # by metric, all of one length
    absent: Mapping[str, str] = field(default_factory=dict)  # metrics that were not kept for every pull, and why
    processes: Sequence[str] | None = None  # of each value, where a process made several


PROCESS = "process"
"""The column that says which process made a value."""


class ToolTable(FrameTable):
    """The results of a tool, from one file or several, with a column for everything that is known."""

    def __init__(self, name: str, files: Sequence[LogFile], request: Request) -> None:
        arms: list[ArmResults] = []
        for file in files:
            document = document_of(file)
            if tool_of(document) != name:
                raise BadInput(f"{file.shown}: wanted a JSON document as {name} writes it; got {keys_of(document)}")
            arms += _RESULTS[name](document, file.shown)
        if not arms:
            raise BadInput(f"{several(files)} holds no results")
        metrics = dict.fromkeys(name for each in arms for name in each.values)
        for metric, each in product(request.metrics, arms):
            if metric in each.absent and metric not in each.values:
                raise BadInput(f"{several(files)}: {shown(metric)} of {shown(each.short)}: {each.absent[metric]}")
        # Short names where they say which; full ones for those that share a short one. What shares both is one arm.
        often = Counter(short for short, _ in {(each.short, each.full) for each in arms})
        counts = [len(next(iter(each.values.values()))) for each in arms]

        def spread(values: Sequence[Any]) -> Any:
            return np.repeat(np.array(values, object), counts)

        columns = {"arm": spread([each.short if often[each.short] == 1 else each.full for each in arms])}
        for name in dict.fromkeys(name for each in arms for name in each.about):
            columns.setdefault(name, spread([each.about.get(name) for each in arms]))
        if any(each.processes is not None for each in arms):
            columns[PROCESS] = [process for each in arms for process in each.processes or ()]
            self.cluster = (PROCESS,)
        for name in metrics:
            parts = [each.values.get(name, [math.nan] * count) for each, count in zip(arms, counts, strict=True)]
            columns[name] = np.concatenate(parts).astype(np.float64)
        super().__init__(columns, request)
        self.shown = several(files)
        # The usual one, which the tool's reader names first, of those that every arm has.
        common = [name for name in arms[0].values if all(name in each.values for each in arms)]
        self.metrics = tuple((common or sorted(metrics))[:1])


def document_of(file: LogFile) -> Any:
    """The JSON document in a file."""
    text = TextFile(file)
    try:
        return json.loads(text.document())
    except BadInput:
        raise
    except (ValueError, RecursionError) as error:  # no JSON, a number of very many digits
        raise BadInput(f"{file.shown} is no JSON document, or was cut in the middle: {error_line(error)}") from None


def keys_of(document: Any) -> str:
    """A document in a message about one that is not what was wanted."""
    return f"the keys {quoted(sorted(document), 8)}" if isinstance(document, dict) else shown(document)


_KINDS: dict[type, str] = {str: "a text", dict: "an object", list: "a list"}


def _entry(record: Any, key: str, kind: type, place: str, default: Any = None) -> Any:
    """The value under a key, which must be of this kind; the default if there is none."""
    if not isinstance(record, dict):
        raise BadInput(f"{place}: wanted an object; got {shown(record)}")
    value = record.get(key)
    if value is None:
        value = default
    if not isinstance(value, kind):
        raise BadInput(f"{place}: {key!r} must be {_KINDS[kind]}; got {shown(value)}")
    return value


def _as_setting(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _numbers(values: Any, place: str) -> list[float]:
    if not isinstance(values, list):
        raise BadInput(f"{place}: wanted a list of numbers; got {shown(values)}")
    return [number_in(value, place) for value in values]


# hyperfine --export-json ----------------------------------------------------------------------------------------------

_ONLY_MEANS = "hyperfine wrote only its mean over the runs; its later schema, with 'measurements', has it for every run"
_RUN = {"seconds": "time_wall_clock", "user": "time_user", "system": "time_system", "memory": "peak_memory_usage"}
_UNITS = ("second", "byte")


def _of_hyperfine(document: Any, where: str) -> Iterator[ArmResults]:
    for index, result in enumerate(document["results"], 1):
        place = f"{where}, result {index}"
        command = _entry(result, "command", str, place)
        single = {} if result.get("parameter") is None else {"parameter": result["parameter"]}
        parameters = _entry(result, "parameters", dict, place, single)
        settings = {str(name): _as_setting(value) for name, value in parameters.items()}
        listed = ", ".join(f"{name}={value}" for name, value in settings.items())
        runs = result.get("measurements")
        values, absent = _runs(runs, place) if runs is not None else _lists(result, place)
        full = f"{command} ({listed})" if listed else command
        yield ArmResults(command, full, {"command": command, **settings}, values, absent)


def _lists(result: dict[str, Any], place: str) -> tuple[dict[str, list[float]], dict[str, str]]:
    """The first schema: a list for each thing that was kept of every run."""
    if "times" not in result:
        raise BadInput(f"{place}: no 'times', the list of single measurements; hyperfine --export-json writes it")
    values = {"seconds": _numbers(result["times"], f"{place}, times")}
    if result.get("memory_usage_byte") is not None:
        values["memory"] = _numbers(result["memory_usage_byte"], f"{place}, memory_usage_byte")
    codes = _entry(result, "exit_codes", list, place, [0] * len(values["seconds"]))
    sizes = {len(column) for column in (*values.values(), codes)}
    if len(sizes) > 1:
        raise BadInput(f"{place}: its lists must have one length; got {', '.join(map(str, sorted(sizes)))}")
    kept = {
        name: [value if _succeeded(code) else math.nan for value, code in zip(column, codes, strict=True)]
        for name, column in values.items()
    }
    return kept, {name: _ONLY_MEANS for name in ("user", "system") if name in result}


def _runs(runs: Any, place: str) -> tuple[dict[str, list[float]], dict[str, str]]:
    """The second schema: an object for each run."""
    runs = _entry(runs if isinstance(runs, dict) else {"measurements": runs}, "measurements", list, place)
    names = [name for name, key in _RUN.items() if any(isinstance(run, dict) and key in run for run in runs)]
    if "seconds" not in names:
        raise BadInput(f"{place}: no 'time_wall_clock' in its measurements")
    values: dict[str, list[float]] = {name: [] for name in names}
    for index, run in enumerate(runs, 1):
        if not isinstance(run, dict):
            raise BadInput(f"{place}, measurement {index}: wanted an object; got {shown(run)}")
        code = run.get("exit_code", 0)
        for name in names:
            value = _quantity(run.get(_RUN[name]), f"{place}, measurement {index}, {_RUN[name]}")
            values[name].append(value if _succeeded(code) else math.nan)
    return values, {}


def _succeeded(exit_code: Any) -> bool:
    return exit_code == 0 and exit_code is not False


def _quantity(value: Any, place: str) -> float:
    """A number, or an object with a value and a unit."""
    if isinstance(value, dict):
        if value.get("unit") not in _UNITS:
            raise BadInput(f"{place}: the unit must be one of {', '.join(_UNITS)}; got {shown(value.get('unit'))}")
        value = value.get("value")
    return number_in(value, place)


# pyperf -o -----------------------------------------------------------------------------------------------------------

_METRIC_OF_UNIT = {"second": "seconds", "byte": "bytes", "integer": "value"}


def _of_pyperf(document: Any, where: str) -> Iterator[ArmResults]:
    common = _entry(document, "metadata", dict, where, {})
    for index, benchmark in enumerate(document["benchmarks"], 1):
        place = f"{where}, benchmark {index}"
        about = {**common, **_entry(benchmark, "metadata", dict, place, {})}
        name = _entry(about, "name", str, f"{place}, metadata", f"benchmark {index}")
        unit = about.get("unit", "second")
        if not isinstance(unit, str) or unit not in _METRIC_OF_UNIT:
            raise BadInput(f"{place}: the unit must be one of {', '.join(_METRIC_OF_UNIT)}; got {shown(unit)}")
        metric, values, memory, processes, once = _METRIC_OF_UNIT[unit], [], [], [], True
        for turn, run in enumerate(_entry(benchmark, "runs", list, place), 1):
            spot = f"{place}, run {turn}"
            # Runs that only calibrate have no values; warm-ups stand apart from the values.
            measured = _numbers(_entry(run, "values", list, spot, []), f"{spot}, values")
            peak = _entry(run, "metadata", dict, spot, {}).get("mem_max_rss", about.get("mem_max_rss"))
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


# pytest-benchmark --benchmark-json, or saved with --benchmark-save-data ----------------------------------------------


def _of_pytest_benchmark(document: Any, where: str) -> Iterator[ArmResults]:
    for index, benchmark in enumerate(document["benchmarks"], 1):
        place = f"{where}, benchmark {index}"
        name = _entry(benchmark, "name", str, place)
        stats = _entry(benchmark, "stats", dict, place)
        if stats.get("data") is None:
            raise BadInput(
                f"{place} ({shown(name)}): no 'data', the single measurements; save them with --benchmark-save-data "
                "(or write the file with --benchmark-json, which has them)"
            )
        about = {"name": name, "fullname": str(benchmark.get("fullname") or name)}
        if benchmark.get("group") is not None:
            about["group"] = str(benchmark["group"])
        for key, value in _entry(benchmark, "params", dict, place, {}).items():
            about.setdefault(str(key), _as_setting(value))
        seconds = _numbers(stats["data"], f"{place}, data")
        yield ArmResults(name, about["fullname"], about, {"seconds": seconds}, processes=[where] * len(seconds))


def tool_of(document: Any) -> str | None:
    """The tool that wrote a document; None for one of somebody else."""
    if not isinstance(document, dict):
        return None
    if isinstance(document.get("results"), list):
        return "hyperfine"
    if not isinstance(document.get("benchmarks"), list):
        return None
    return "pytest-benchmark" if "machine_info" in document or "commit_info" in document else "pyperf"


_RESULTS = {"hyperfine": _of_hyperfine, "pyperf": _of_pyperf, "pytest-benchmark": _of_pytest_benchmark}
