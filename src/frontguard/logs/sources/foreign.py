"""Results of other tools as tables: hyperfine, pyperf and pytest-benchmark, a row for every single measurement.

| tool | arm | metrics |
| --- | --- | --- |
| hyperfine | the command, with its parameters where several have the same | seconds, memory (bytes); user, system |
| pyperf | the benchmark's name | seconds, or bytes, or value, by its unit; memory (bytes) |
| pytest-benchmark | the test's name, in full where several have the same | seconds |

hyperfine writes one of two schemas: lists for each command (`times`, `exit_codes`, `memory_usage_byte`), with user and
system time as means only; or, in later versions, a list of `measurements` with all of them for every run. Earlier
versions of the first have a single `parameter` and no exit codes.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np

from frontguard.errors import BadInput
from frontguard.logs.sources.blocks import ByteFile
from frontguard.logs.sources.columns import Picked, Rows, finite
from frontguard.logs.sources.files import Place
from frontguard.notices import Notice
from frontguard.phrases import error_line, shown


@dataclass(frozen=True)
class Measured:
    """The measurements of one arm in one file: its name in short and in full, what else is known of it, the values."""

    short: str
    full: str
    about: Mapping[str, str]
    values: Mapping[str, list[float]]  # by metric, all of one length
    absent: Mapping[str, str] = field(default_factory=dict)  # metrics that were not kept for every pull, and why


@dataclass
class ForeignTable:
    """The results of another tool, from one file or several, with a column for everything that is known."""

    shown: str
    measured: list[Measured]
    notes: list[Notice] = field(default_factory=list)

    @property
    def metrics(self) -> list[str]:
        """The metrics that every arm has, the usual one first."""
        common = [name for name in self.measured[0].values if all(name in each.values for each in self.measured)]
        return common or sorted({name for each in self.measured for name in each.values})[:1]

    @property
    def names(self) -> list[str]:
        """All columns."""
        about = dict.fromkeys(name for each in self.measured for name in each.about)
        values = dict.fromkeys(name for each in self.measured for name in each.values)
        return ["arm", *(name for name in about if name not in values and name != "arm"), *values]

    def refuse_absent(self, wanted: Sequence[str]) -> None:
        """Say why a metric that the tool knows of cannot be had."""
        for name in wanted:
            for each in self.measured:
                if name in each.absent and name not in each.values:
                    raise BadInput(f"{self.shown}: {shown(name)} of {shown(each.short)}: {each.absent[name]}")

    def rows(self, picked: Picked) -> Iterator[Rows]:
        """All rows at once."""
        import pyarrow as pa

        counts = [len(next(iter(each.values.values()))) for each in self.measured]
        places = pa.array(np.repeat(np.arange(len(counts), dtype=np.int32), counts))
        names = self._arm_names()
        texts = []
        for name in picked.texts:
            column = names if name == "arm" else [each.about.get(name) for each in self.measured]
            texts.append(pa.array(column, pa.string()).take(places))
        numbers = [
            np.concatenate(
                [each.values.get(name, [math.nan] * n) for each, n in zip(self.measured, counts, strict=True)]
            )
            for name in picked.numbers
        ]
        yield Rows(texts, [finite(np.asarray(column, np.float64)) for column in numbers])

    def _arm_names(self) -> list[str]:
        """Short names where they say which; full ones for those that share a short one. What shares both is one arm."""
        full_of = {(each.short, each.full) for each in self.measured}
        often = Counter(short for short, _ in full_of)
        return [each.short if often[each.short] == 1 else each.full for each in self.measured]


def document_of(place: Place, file: ByteFile | None = None) -> Any:
    """The JSON document in a file."""
    opened = file or ByteFile(place)
    try:
        return json.loads(opened.everything().decode())
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadInput(f"{place.shown} is no JSON document, or was cut in the middle: {error_line(error)}") from None
    finally:
        opened.close()


def kind_of(document: Any) -> str | None:
    """Which tool wrote a document, or None."""
    if not isinstance(document, dict):
        return None
    if isinstance(document.get("results"), list):
        return "hyperfine"
    if isinstance(document.get("benchmarks"), list):
        return "pytest-benchmark" if "machine_info" in document or "commit_info" in document else "pyperf"
    return None


def foreign_table(kind: str, places: Sequence[Place]) -> ForeignTable:
    """The results in these files, all written by one tool."""
    readers: dict[str, Callable[[Any, str], Iterator[Measured]]] = {
        "hyperfine": _hyperfine,
        "pyperf": _pyperf,
        "pytest-benchmark": _pytest_benchmark,
    }
    measured: list[Measured] = []
    for place in places:
        document = document_of(place)
        if kind_of(document) != kind:
            raise BadInput(f"{place.shown}: wanted a JSON document as {kind} writes it; got {_keys(document)}")
        measured += readers[kind](document, place.shown)
    where = places[0].shown if len(places) == 1 else f"{places[0].shown} and {len(places) - 1} more"
    if not measured:
        raise BadInput(f"{where} holds no results")
    return ForeignTable(where, measured)


def _keys(document: Any) -> str:
    return f"the keys {', '.join(sorted(document)[:8])}" if isinstance(document, dict) else shown(document)


# hyperfine -----------------------------------------------------------------------------------------------------------

_ONLY_MEANS = "hyperfine wrote only its mean over the runs; its later schema, with 'measurements', has it for every run"
_RUN = {"seconds": "time_wall_clock", "user": "time_user", "system": "time_system", "memory": "peak_memory_usage"}
_UNITS = {"second": 1.0, "byte": 1.0}


def _hyperfine(document: Any, where: str) -> Iterator[Measured]:
    for number, result in enumerate(document["results"], 1):
        place = f"{where}, result {number}"
        command = _get(result, "command", str, place)
        parameters = result.get("parameters")
        if parameters is None:
            parameters = {} if result.get("parameter") is None else {"parameter": result["parameter"]}
        if not isinstance(parameters, dict):
            raise BadInput(f"{place}: 'parameters' must be an object; got {shown(parameters)}")
        settings = {
            str(name): value if isinstance(value, str) else json.dumps(value) for name, value in parameters.items()
        }
        listed = ", ".join(f"{name}={value}" for name, value in settings.items())
        runs = result.get("measurements")
        values, absent = _runs(runs, place) if runs is not None else _lists(result, place)
        full = f"{command} ({listed})" if listed else command
        yield Measured(command, full, {"command": command, **settings}, values, absent)


def _lists(result: dict[str, Any], place: str) -> tuple[dict[str, list[float]], dict[str, str]]:
    """The first schema: a list for each thing that was kept of every run."""
    if "times" not in result:
        raise BadInput(f"{place}: no 'times', the list of single measurements; hyperfine --export-json writes it")
    values = {"seconds": _numbers(result["times"], f"{place}, times")}
    if result.get("memory_usage_byte") is not None:
        values["memory"] = _numbers(result["memory_usage_byte"], f"{place}, memory_usage_byte")
    codes = result.get("exit_codes")
    if codes is not None:
        if not isinstance(codes, list):
            raise BadInput(f"{place}: 'exit_codes' must be a list; got {shown(codes)}")
        values["code"] = [0.0 if code == 0 and code is not False else math.nan for code in codes]
    _one_length(values, place)
    failed = [code != code for code in values.pop("code", [0.0] * len(values["seconds"]))]
    kept = {
        name: [math.nan if bad else value for value, bad in zip(column, failed, strict=True)]
        for name, column in values.items()
    }
    return kept, {name: _ONLY_MEANS for name in ("user", "system") if name in result}


def _runs(runs: Any, place: str) -> tuple[dict[str, list[float]], dict[str, str]]:
    """The second schema: an object for each run."""
    if isinstance(runs, dict):
        runs = runs.get("measurements")
    if not isinstance(runs, list):
        raise BadInput(f"{place}: 'measurements' must be a list; got {shown(runs)}")
    names = [name for name, key in _RUN.items() if any(isinstance(run, dict) and key in run for run in runs)]
    if "seconds" not in names:
        raise BadInput(f"{place}: no 'time_wall_clock' in its measurements")
    values: dict[str, list[float]] = {name: [] for name in names}
    for number, run in enumerate(runs, 1):
        if not isinstance(run, dict):
            raise BadInput(f"{place}, measurement {number}: wanted an object; got {shown(run)}")
        code = run.get("exit_code", 0)
        for name in names:
            value = _quantity(run.get(_RUN[name]), f"{place}, measurement {number}, {_RUN[name]}")
            values[name].append(value if code == 0 and code is not False else math.nan)
    return values, {}


def _quantity(value: Any, place: str) -> float:
    """A number, or an object with a value and a unit."""
    if isinstance(value, dict):
        if value.get("unit") not in _UNITS:
            raise BadInput(f"{place}: the unit must be one of {', '.join(_UNITS)}; got {shown(value.get('unit'))}")
        value = value.get("value")
    return _number(value, place)


# pyperf --------------------------------------------------------------------------------------------------------------

_PYPERF_UNITS = {"second": "seconds", "byte": "bytes", "integer": "value"}


def _pyperf(document: Any, where: str) -> Iterator[Measured]:
    common = document.get("metadata") or {}
    for number, benchmark in enumerate(document["benchmarks"], 1):
        place = f"{where}, benchmark {number}"
        about = {**common, **(_get(benchmark, "metadata", dict, place, {}))}
        name = _get(about, "name", str, f"{place}, metadata", f"benchmark {number}")
        unit = about.get("unit", "second")
        if unit not in _PYPERF_UNITS:
            raise BadInput(f"{place}: the unit must be one of {', '.join(_PYPERF_UNITS)}; got {shown(unit)}")
        metric, values, memory, once = _PYPERF_UNITS[unit], [], [], True
        for index, run in enumerate(_get(benchmark, "runs", list, place), 1):
            spot = f"{place}, run {index}"
            # Runs that only calibrate have no values; warm-ups stand apart from the values.
            measured = _numbers(_get(run, "values", list, spot, []), f"{spot}, values")
            peak = (_get(run, "metadata", dict, spot, {})).get("mem_max_rss", about.get("mem_max_rss"))
            values += measured
            memory += [_number(peak, f"{spot}, mem_max_rss")] * len(measured)
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
        yield Measured(name, name, plain, columns, absent)


# pytest-benchmark ----------------------------------------------------------------------------------------------------


def _pytest_benchmark(document: Any, where: str) -> Iterator[Measured]:
    for number, benchmark in enumerate(document["benchmarks"], 1):
        place = f"{where}, benchmark {number}"
        name = _get(benchmark, "name", str, place)
        stats = _get(benchmark, "stats", dict, place)
        if stats.get("data") is None:
            raise BadInput(
                f"{place} ({shown(name)}): no 'data', the single measurements; save them with --benchmark-save-data "
                "(or write the file with --benchmark-json, which has them)"
            )
        about = {"name": name, "fullname": str(benchmark.get("fullname") or name)}
        if benchmark.get("group") is not None:
            about["group"] = str(benchmark["group"])
        for key, value in (_get(benchmark, "params", dict, place, {})).items():
            about.setdefault(str(key), value if isinstance(value, str) else json.dumps(value))
        yield Measured(name, about["fullname"], about, {"seconds": _numbers(stats["data"], f"{place}, data")})


# Reading with care ---------------------------------------------------------------------------------------------------


def _get(record: Any, key: str, kind: type, place: str, default: Any = None) -> Any:
    if not isinstance(record, dict):
        raise BadInput(f"{place}: wanted an object; got {shown(record)}")
    value = record.get(key)
    if value is None:
        value = default
    if not isinstance(value, kind):
        raise BadInput(f"{place}: {key!r} must be {_KINDS[kind]}; got {shown(value)}")
    return value


_KINDS: dict[type, str] = {str: "a text", dict: "an object", list: "a list"}


def _numbers(values: Any, place: str) -> list[float]:
    if not isinstance(values, list):
        raise BadInput(f"{place}: wanted a list of numbers; got {shown(values)}")
    return [_number(value, place) for value in values]


def _number(value: Any, place: str) -> float:
    if value is None:
        return math.nan
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        _refuse(value, place)
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _refuse(value: Any, place: str) -> NoReturn:
    raise BadInput(f"{place}: wanted numbers; got {shown(value)}")


def _one_length(columns: Mapping[str, Sequence[float]], place: str) -> None:
    sizes = {len(column) for column in columns.values()}
    if len(sizes) > 1:
        raise BadInput(f"{place}: its lists must have one length; got {', '.join(map(str, sorted(sizes)))}")
