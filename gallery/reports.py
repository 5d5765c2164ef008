"""Reports: of studies, of an analysis, of an experiment; light, dark, on a telephone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from gallery import studies
from gallery.shots import PHONE, SHOTS, WIDE, Shot, Studio


def _written(studio: Studio, name: str, make: Callable[[], Any]) -> Path:
    from frontguard import write_report

    def write() -> Path:
        path = studio.folder / f"report-{name}.html"
        write_report(make(), path)
        return path

    written: Path = studio.once(f"report {name}", write)
    return written


def _report(
    name: str, make: Callable[[Studio], Any], size: tuple[int, int] = WIDE, *, dark: bool = False
) -> Callable[[Studio], bytes]:
    def take(studio: Studio) -> bytes:
        opened = studio.page(size, dark=dark)
        opened.page.goto(_written(studio, name, lambda: make(studio)).as_uri())
        return studio.photograph(opened, full=True, most=2000 if size == WIDE else 1600)

    return take


def _machines(studio: Studio) -> Any:
    return studies.machines(studio.folder / "machines-report.db")


def _three(studio: Studio) -> Any:
    return studies.machines(studio.folder / "three-report.db", objectives=3, pulls=400)


def _flags(studio: Studio) -> Any:
    from frontguard.demo.cases import analyze_flags

    return studio.once("flags", analyze_flags)


def _many(studio: Studio) -> Any:
    return studio.once("many on disk", lambda: studies.many(studio.folder / "many-report.db"))


def _rows(studio: Studio) -> Any:
    return studio.once("rows", lambda: studies.experiment_rows(studio.folder))


for _name, _caption, _take in (
    ("report", "The report of a study: the answer, the picture, the table.", _report("machines", _machines)),
    ("report-dark", "The same where the system is dark.", _report("machines", _machines, dark=True)),
    ("report-phone", "The same on a telephone.", _report("machines", _machines, PHONE)),
    ("report-3-objectives", "A study of three objectives that was stopped early.", _report("three", _three)),
    (
        "report-analysis",
        "An analysis: compiler flags measured beside a noisy neighbour.",
        _report("flags", _flags),
    ),
    ("report-1000-arms", "A thousand arms in one file below a megabyte.", _report("many", _many)),
    ("report-experiment", "The report of `frontguard reproduce`.", _report("rows", _rows)),
):
    SHOTS.append(Shot(_name, "Reports", _caption, _take))
