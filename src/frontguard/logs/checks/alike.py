"""Whether the rows of an arm look alike, from file to file and from the first to the last: a hint for the eye.

An answer takes all rows of an arm for measurements of one thing. Two days with medians of 1.3 s and 11 s, pooled, are
neither. What is compared are the ranks of values in the files, or in the quarters of an arm's rows, by the test of
Kruskal and Wallis: their H is about χ² where the order of rows has nothing to do with the values.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from frontguard._common.special import chi_square_tail
from frontguard._common.typing import Floats
from frontguard.logs.sort.order import QUARTERS, RowOrder
from frontguard.notices import RowsDiffer
from frontguard.objectives import Objective

CHANCE = 1e-4
"""Probability of a hint in a log whose rows are in random order, over all arms and metrics that are looked at."""

EFFECT = 0.15
"""By how much more than ε the share of pairs in which one part has the larger value must differ from one half.

Where replaced values are the lowest in one part and the highest in another, they alone make ε of it at most.
"""

FEWEST = 8
"""Values of a part below which it is not compared."""


def differences(
    watched: RowOrder,
    files: Sequence[str],
    arms: Sequence[str],
    metrics: Sequence[str],
    objectives: Iterable[Objective],
    contamination: float,
) -> tuple[RowsDiffer, ...]:
    """The hint that the files do not look alike; where they do, or are one, that the quarters of the rows do not."""
    quarters = [str(number) for number in range(1, QUARTERS + 1)]
    ways: tuple[tuple[Literal["files", "rows"], list[str]], ...] = (
        ("files", watched.file_names(files)),
        ("rows", quarters),
    )
    used = {metrics.index(objective.name): objective for objective in objectives}
    for between, names in ways:
        looked = [
            (arm, used[metric], parts)
            for arm, metric, parts in watched.samples(by_file=between == "files")
            if metric in used and sum(len(part) >= FEWEST for part in parts) > 1
        ]
        found: list[RowsDiffer] = []
        for arm, objective, parts in looked:
            chance = len(ways) * len(looked) * chance_of(parts)
            ends = ends_of(parts) if chance <= CHANCE else None
            if ends is None or ends.effect < min(EFFECT + contamination, 0.45) or not ends.matter(objective):
                continue
            low, high = (names[part] for part in ends.parts)
            found.append(RowsDiffer(arms[arm], objective.name, between, (low, high), ends.medians, chance, 0, 0))
        if found:
            worst = min(found, key=lambda each: each.chance)
            counts = len({each.arm for each in found}), len({arm for arm, *_ in looked})
            return (replace(worst, arms=counts[0], of=counts[1]),)
    return ()


def chance_of(parts: Sequence[Floats]) -> float:
    """The probability, about, that ranks differ so much between parts of one sample: Kruskal and Wallis.

    Parts with fewer than `FEWEST` values are left out; values may be tied.

    >>> first, second = np.arange(20.0), np.arange(20.0) + 15.0
    >>> chance_of([first, second]) < 1e-5, round(chance_of([first, first]), 3)
    (True, 1.0)
    """
    parts = [part for part in parts if len(part) >= FEWEST]
    _, places, counts = np.unique(np.concatenate(parts), return_inverse=True, return_counts=True)
    total = len(places)
    ranks = (np.cumsum(counts) - (counts - 1) / 2.0)[places]
    untied = 1.0 - float((counts.astype(np.float64) ** 3 - counts).sum()) / (total**3 - total)
    if untied <= 0.0:  # all values are one
        return 1.0
    sizes = np.array([len(part) for part in parts])
    sums = np.add.reduceat(ranks, np.cumsum(sizes) - sizes)
    spread = float(((sums / sizes - (total + 1) / 2.0) ** 2 * sizes).sum()) * 12.0 / (total * (total + 1))
    return chi_square_tail(len(parts) - 1, spread / untied)


@dataclass(frozen=True)
class Ends:
    """The parts with the lowest and the highest median, these, and how far they are apart.

    `effect` is the share of pairs of their values in which the second has the larger one, ties for half, less ½.
    """

    parts: tuple[int, int]
    medians: tuple[float, float]
    effect: float

    def matter(self, objective: Objective) -> bool:
        """Whether the medians differ by more than what does not matter."""
        if objective.relative and self.medians[0] <= 0.0:  # which the values of a mean may be
            return self.medians[0] < self.medians[1]
        low, high = objective.inward(np.array(self.medians))
        return bool(abs(high - low) > objective.inner_tolerance)


def ends_of(parts: Sequence[Floats]) -> Ends:
    """The two ends of some parts, of which those with few values are left out."""
    medians = {number: float(np.median(part)) for number, part in enumerate(parts) if len(part) >= FEWEST}
    low, high = min(medians, key=lambda each: medians[each]), max(medians, key=lambda each: medians[each])
    lower, upper = np.sort(parts[low]), parts[high]
    below = np.searchsorted(lower, upper, "left") + np.searchsorted(lower, upper, "right")
    return Ends((low, high), (medians[low], medians[high]), float(below.mean()) / (2 * len(lower)) - 0.5)
