"""Pictures of results, studies and experiments: `frontguard.plot.front(result)` and others make a `Picture`, which can
be shown in a notebook, drawn with matplotlib or plotly, or saved.

Names are imported on first use. What makes a picture stands in a module `of_…`, so that no module hides its function.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from frontguard._late import late_names

_WHERE = {
    "front": "frontguard.plot.charts.front",
    "pairs": "frontguard.plot.charts.front",
    "parallel": "frontguard.plot.charts.parallel",
    "pulls": "frontguard.plot.charts.pulls",
    "robustness": "frontguard.plot.charts.robustness",
    "shrinking": "frontguard.plot.charts.shrinking",
    "certainty": "frontguard.plot.charts.certainty",
    "rate": "frontguard.plot.charts.rate",
    "measurements": "frontguard.plot.charts.measurements",
    "sample_complexity": "frontguard.plot.charts.experiments",
    "Picture": "frontguard.plot.picture",
}

if TYPE_CHECKING:
    from frontguard.plot.charts.certainty import certainty
    from frontguard.plot.charts.experiments import sample_complexity
    from frontguard.plot.charts.front import front, pairs
    from frontguard.plot.charts.measurements import measurements
    from frontguard.plot.charts.parallel import parallel
    from frontguard.plot.charts.pulls import pulls
    from frontguard.plot.charts.rate import rate
    from frontguard.plot.charts.robustness import robustness
    from frontguard.plot.charts.shrinking import shrinking
    from frontguard.plot.picture import Picture

__all__ = [
    "Picture",
    "certainty",
    "front",
    "measurements",
    "pairs",
    "parallel",
    "pulls",
    "rate",
    "robustness",
    "sample_complexity",
    "shrinking",
]


__getattr__ = late_names(__name__, _WHERE)


def __dir__() -> list[str]:
    return sorted(__all__)
