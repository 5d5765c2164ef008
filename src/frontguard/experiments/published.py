"""The numbers of the paper's Table 2, as printed (Korkmaz, Ceyani, Bozgan, Tekin, "Robust Pareto Set
Identification With Contaminated Bandit Feedback", arXiv 2206.02666). Averages over 100 runs.
"""

from __future__ import annotations

from dataclasses import dataclass

EPSILONS: tuple[float, ...] = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4)
"""The contamination levels of Table 2."""


@dataclass(frozen=True)
class Published:
    """One printed row: ratio of successful runs, samples, ratio of optimal arms, r-F1."""

    rsr: float
    sc: float
    ro: float
    rf1: float


_ROWS: dict[tuple[str, str], tuple[tuple[float, float, float, float], ...]] = {
    ("movielens", "rpsi"): (
        (1.0, 18674.7, 1.0, 1.0),
        (1.0, 20425.0, 1.0, 1.0),
        (1.0, 20914.1, 1.0, 1.0),
        (1.0, 33753.2, 1.0, 1.0),
        (1.0, 49212.2, 1.0, 1.0),
        (1.0, 105847.2, 1.0, 1.0),
    ),
    ("sw-llvm", "rpsi"): (
        (1.0, 1540.9, 1.0, 1.0),
        (1.0, 54935.1, 1.0, 1.0),
        (1.0, 57822.5, 1.0, 1.0),
        (1.0, 72969.3, 1.0, 1.0),
        (1.0, 98714.7, 1.0, 1.0),
        (1.0, 222906.8, 0.92, 1.0),
    ),
    ("diabetes", "rpsi"): (
        (1.0, 3951.8, 1.0, 1.0),
        (1.0, 4432.0, 1.0, 1.0),
        (1.0, 5067.2, 1.0, 1.0),
        (1.0, 7232.8, 1.0, 1.0),
        (1.0, 12683.8, 1.0, 1.0),
        (1.0, 39647.0, 1.0, 1.0),
    ),
    ("movielens", "auer-a1"): (
        (1.0, 33779.0, 1.0, 1.0),
        (0.0, 59092.6, 0.0, 0.92),
        (0.0, 59428.8, 0.0, 0.92),
        (0.0, 58917.8, 0.0, 0.92),
        (0.0, 57953.3, 0.0, 0.92),
        (0.0, 57765.6, 0.0, 0.92),
    ),
    ("sw-llvm", "auer-a1"): (
        (1.0, 7175.7, 1.0, 1.0),
        (0.97, 250885.9, 0.0, 0.98),
        (0.92, 174599.9, 0.0, 0.97),
        (0.78, 80767.7, 0.0, 0.90),
        (0.91, 41946.3, 0.0, 0.96),
        (0.91, 37811.9, 0.0, 0.97),
    ),
    ("diabetes", "auer-a1"): (
        (1.0, 642344.1, 1.0, 1.0),
        (1.0, 900844.7, 1.0, 1.0),
        (1.0, 1089962.2, 0.93, 1.0),
        (0.8, 1450304.8, 0.71, 0.99),
        (0.0, 1946291.2, 0.71, 0.75),
        (0.0, 1696773.8, 0.41, 0.75),
    ),
    ("movielens", "auer-a1-m"): (
        (1.0, 33320.7, 1.0, 1.0),
        (1.0, 35075.4, 1.0, 1.0),
        (1.0, 36231.0, 1.0, 1.0),
        (1.0, 43351.1, 0.98, 1.0),
        (1.0, 43722.6, 0.95, 1.0),
        (1.0, 45058.0, 0.83, 1.0),
    ),
    ("sw-llvm", "auer-a1-m"): (
        (1.0, 9896.7, 1.0, 1.0),
        (0.99, 19033.2, 0.94, 1.0),
        (0.96, 31614.2, 0.76, 0.99),
        (0.74, 47045.5, 0.22, 0.87),
        (0.50, 23726.7, 0.03, 0.71),
        (0.20, 6526.8, 0.0, 0.59),
    ),
    ("diabetes", "auer-a1-m"): (
        (1.0, 637868.3, 1.0, 1.0),
        (1.0, 642238.1, 1.0, 1.0),
        (1.0, 646958.6, 1.0, 1.0),
        (1.0, 658259.9, 1.0, 1.0),
        (1.0, 680222.4, 1.0, 1.0),
        (1.0, 739778.4, 1.0, 1.0),
    ),
}

TABLE2: dict[tuple[str, str, float], Published] = {
    (dataset, policy, eps): Published(*numbers)
    for (dataset, policy), rows in _ROWS.items()
    for eps, numbers in zip(EPSILONS, rows, strict=True)
}
"""(dataset, policy, ε) → the printed row."""


def published_row(dataset: str, policy: str, eps: float) -> Published | None:
    """The printed row, or None where the paper has none.

    >>> published_row("sw-llvm", "rpsi", 0.1).sc
    57822.5
    """
    return TABLE2.get((dataset, policy, eps))
