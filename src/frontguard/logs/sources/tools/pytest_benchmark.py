"""pytest-benchmark's JSON (`--benchmark-json`, or saved with `--benchmark-save-data`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from frontguard.errors import BadInput
from frontguard.logs.sources.tools.tables import ArmResults, as_setting, entry, has_list, numbers
from frontguard.phrases import shown


def wrote(document: Any) -> bool:
    """Whether a document is that of pytest-benchmark."""
    return has_list(document, "benchmarks") and ("machine_info" in document or "commit_info" in document)


def results(document: Any, where: str) -> Iterator[ArmResults]:
    """The data of each test, with its parameters."""
    for index, benchmark in enumerate(document["benchmarks"], 1):
        place = f"{where}, benchmark {index}"
        name = entry(benchmark, "name", str, place)
        stats = entry(benchmark, "stats", dict, place)
        if stats.get("data") is None:
            raise BadInput(
                f"{place} ({shown(name)}): no 'data', the single measurements; save them with --benchmark-save-data "
                "(or write the file with --benchmark-json, which has them)"
            )
        about = {"name": name, "fullname": str(benchmark.get("fullname") or name)}
        if benchmark.get("group") is not None:
            about["group"] = str(benchmark["group"])
        for key, value in entry(benchmark, "params", dict, place, {}).items():
            about.setdefault(str(key), as_setting(value))
        seconds = numbers(stats["data"], f"{place}, data")
        yield ArmResults(name, about["fullname"], about, {"seconds": seconds}, processes=[where] * len(seconds))
