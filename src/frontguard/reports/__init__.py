"""Reports to send: one HTML file, Markdown or CSV, of studies, analyses, experiments and their JSON.

`write_report(thing, path)` does it all. What is shown is decided in `on_…` modules, which fill a `Report`; `as_…`
modules write one down. Names are imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from frontguard._late import late_names

_WHERE = {
    "Report": "frontguard.reports.model",
    "report_on": "frontguard.reports.write",
    "save": "frontguard.reports.write",
    "write_report": "frontguard.reports.write",
}

if TYPE_CHECKING:
    from frontguard.reports.model import Report
    from frontguard.reports.write import report_on, save, write_report

__all__ = ["Report", "report_on", "save", "write_report"]


__getattr__ = late_names(__name__, _WHERE)


def __dir__() -> list[str]:
    return sorted(__all__)
