"""Pictures of results, studies and experiments: `frontguard.plot.front(result)` and others make a `Picture`, which can
be shown in a notebook, drawn with matplotlib or plotly, or saved.

Names are imported on first use. What makes a picture stands in a module `of_…`, so that no module hides its function.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from frontguard._late import late_names

_WHERE = {
    "front": "frontguard.plot.of_front",
    "pairs": "frontguard.plot.of_pairs",
    "parallel": "frontguard.plot.of_parallel",
    "pulls": "frontguard.plot.of_pulls",
    "robustness": "frontguard.plot.of_robustness",
    "shrinking": "frontguard.plot.of_shrinking",
    "certainty": "frontguard.plot.of_certainty",
    "rate": "frontguard.plot.of_rate",
    "measurements": "frontguard.plot.of_measurements",
    "sample_complexity": "frontguard.plot.of_experiments",
    "Picture": "frontguard.plot.picture",
}

if TYPE_CHECKING:
    from frontguard.plot.of_certainty import certainty
    from frontguard.plot.of_experiments import sample_complexity
    from frontguard.plot.of_front import front
    from frontguard.plot.of_measurements import measurements
    from frontguard.plot.of_pairs import pairs
    from frontguard.plot.of_parallel import parallel
    from frontguard.plot.of_pulls import pulls
    from frontguard.plot.of_rate import rate
    from frontguard.plot.of_robustness import robustness
    from frontguard.plot.of_shrinking import shrinking
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
