"""The numbers of the paper's Table 2, as printed (Korkmaz, Ceyani, Bozgan, Tekin, "Robust Pareto Set
Identification With Contaminated Bandit Feedback", arXiv 2206.02666). Averages over 100 runs.
"""

from __future__ import annotations

from typing import NamedTuple

from frontguard.experiments.datasets.readers import bundled_text, rows_of

TABLE = "table2.csv"


class Published(NamedTuple):
    """One printed row: ratio of successful runs, samples, ratio of optimal arms, r-F1."""

    rsr: float
    sc: float
    ro: float
    rf1: float


TABLE2: dict[tuple[str, str, float], Published] = {
    (row.text("dataset"), row.text("policy"), row.real("epsilon")): Published(*map(row.real, Published._fields))
    for row in rows_of(bundled_text(TABLE), ("dataset", "policy", "epsilon", *Published._fields), where=TABLE)
}
"""(dataset, policy, ε) → the printed row."""

EPSILONS: tuple[float, ...] = tuple(sorted({eps for _, _, eps in TABLE2}))
"""The contamination levels of Table 2."""
