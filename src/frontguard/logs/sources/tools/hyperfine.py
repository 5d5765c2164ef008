"""hyperfine's JSON (`--export-json`).

It has one of two schemas: lists for each command (`times`, `exit_codes`, `memory_usage_byte`), with user and system
time as means only; or, in later versions, a list of `measurements` with all of them for every run. Earlier versions of
the first have a single `parameter` and no exit codes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from frontguard.errors import BadInput
from frontguard.logs.sources.tools.tables import ArmResults, as_setting, entry, has_list, numbers
from frontguard.logs.sources.values import number_in
from frontguard.phrases import shown

_ONLY_MEANS = "hyperfine wrote only its mean over the runs; its later schema, with 'measurements', has it for every run"
_RUN = {"seconds": "time_wall_clock", "user": "time_user", "system": "time_system", "memory": "peak_memory_usage"}
_UNITS = ("second", "byte")


def wrote(document: Any) -> bool:
    """Whether a document is hyperfine's."""
    return has_list(document, "results")


def results(document: Any, where: str) -> Iterator[ArmResults]:
    """The runs of each command, with its parameters."""
    for index, result in enumerate(document["results"], 1):
        place = f"{where}, result {index}"
        command = entry(result, "command", str, place)
        single = {} if result.get("parameter") is None else {"parameter": result["parameter"]}
        parameters = entry(result, "parameters", dict, place, single)
        settings = {str(name): as_setting(value) for name, value in parameters.items()}
        listed = ", ".join(f"{name}={value}" for name, value in settings.items())
        runs = result.get("measurements")
        values, absent = _runs(runs, place) if runs is not None else _lists(result, place)
        full = f"{command} ({listed})" if listed else command
        yield ArmResults(command, full, {"command": command, **settings}, values, absent)


def _lists(result: dict[str, Any], place: str) -> tuple[dict[str, list[float]], dict[str, str]]:
    """The first schema: a list for each thing that was kept of every run."""
    if "times" not in result:
        raise BadInput(f"{place}: no 'times', the list of single measurements; hyperfine --export-json writes it")
    values = {"seconds": numbers(result["times"], f"{place}, times")}
    if result.get("memory_usage_byte") is not None:
        values["memory"] = numbers(result["memory_usage_byte"], f"{place}, memory_usage_byte")
    codes = entry(result, "exit_codes", list, place, [0] * len(values["seconds"]))
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
    runs = entry(runs if isinstance(runs, dict) else {"measurements": runs}, "measurements", list, place)
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
