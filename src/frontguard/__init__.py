"""frontguard: the trade-off (Pareto) set among noisy candidates when part of the measurements lie.

Names are imported on first use, so that `import frontguard` stays fast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from frontguard._late import late_names

__version__ = "0.1.0"

_WHERE = {
    "plot": "frontguard.plot",  # a package, used by its own name: frontguard.plot.front(result)
    "Oblivious": "frontguard.theory.threats",
    "Prescient": "frontguard.theory.threats",
    "Malicious": "frontguard.theory.threats",
    "Threat": "frontguard.theory.threats",
    "Subgaussian": "frontguard.theory.spread",
    "Gaussian": "frontguard.theory.spread",
    "LinearAroundMedian": "frontguard.theory.spread",
    "Uniform": "frontguard.theory.spread",
    "CustomSpread": "frontguard.theory.spread",
    "Schedule": "frontguard.theory.schedule",
    "GrowingSample": "frontguard.evidence.samples",
    "RPSI": "frontguard.policies",
    "AuerA1": "frontguard.policies",
    "AuerA1M": "frontguard.policies",
    "Certified": "frontguard.policies",
    "Policy": "frontguard.policies",
    "Result": "frontguard.results",
    "Certificate": "frontguard.results",
    "Objective": "frontguard.objectives",
    "Verdict": "frontguard.results",
    "simulate": "frontguard.simulation",
    "analyze": "frontguard.logs.analyze",
    "Analysis": "frontguard.logs.analyze",
    "Study": "frontguard.studies",
    "identify": "frontguard.measure.identify",
    "open_storage": "frontguard.studies",
    "write_report": "frontguard.reports.write",
    "BadInput": "frontguard.errors",
    "OutOfTurn": "frontguard.errors",
}

if TYPE_CHECKING:
    from frontguard import plot
    from frontguard.errors import BadInput, OutOfTurn
    from frontguard.evidence.samples import GrowingSample
    from frontguard.logs.analyze import Analysis, analyze
    from frontguard.measure.identify import identify
    from frontguard.objectives import Objective
    from frontguard.policies import RPSI, AuerA1, AuerA1M, Certified, Policy
    from frontguard.reports.write import write_report
    from frontguard.results import Certificate, Result, Verdict
    from frontguard.simulation import simulate
    from frontguard.studies import Study, open_storage
    from frontguard.theory.schedule import Schedule
    from frontguard.theory.spread import CustomSpread, Gaussian, LinearAroundMedian, Subgaussian, Uniform
    from frontguard.theory.threats import Malicious, Oblivious, Prescient, Threat

__all__ = [
    "RPSI",
    "Analysis",
    "AuerA1",
    "AuerA1M",
    "BadInput",
    "Certificate",
    "Certified",
    "CustomSpread",
    "Gaussian",
    "GrowingSample",
    "LinearAroundMedian",
    "Malicious",
    "Objective",
    "Oblivious",
    "OutOfTurn",
    "Policy",
    "Prescient",
    "Result",
    "Schedule",
    "Study",
    "Subgaussian",
    "Threat",
    "Uniform",
    "Verdict",
    "__version__",
    "analyze",
    "identify",
    "open_storage",
    "plot",
    "simulate",
    "write_report",
]


__getattr__ = late_names(__name__, _WHERE)


def __dir__() -> list[str]:
    return sorted(__all__)
