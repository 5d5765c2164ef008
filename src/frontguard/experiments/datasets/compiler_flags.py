"""Compiler flags: 20 sets of GCC flags as arms, the time and the size of a small C program as objectives.

Our own stand-in for SW-LLVM, measured by `examples/compiler-flags/record.py` and part of the package: raw pulls in the
order in which they were made, with a noisy neighbour off and on, and facts about the machine. `time` is relative to
plain -O2, which runs in turns with the measured build in the same process; `bytes` are those of its code and data.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from frontguard._common.typing import Bools, Floats, Ints
from frontguard.errors import BadArgument
from frontguard.evidence.measurements import Ordered
from frontguard.experiments.datasets import bundled_rows, bundled_text

TABLE = "compiler_flags.csv.gz"
FACTS = "compiler_flags.json"
OBJECTIVES = ("time", "bytes")
_NUMBERS = ("at", "neighbour", *OBJECTIVES, "seconds", "reference_seconds")


@dataclass(frozen=True, eq=False)
class Recording:
    """Recorded pulls, a row each, in the order of their measurement.

    `metrics` (n, 2) are time and bytes, both to be minimised; `neighbour` (n,) says whether the noisy neighbour was on;
    `at` (n,) are seconds since the recording began, `seconds` (n,) and `reference_seconds` (n,) what a pull took for
    the measured build and for plain -O2: time is their quotient. `facts` describe machine, compiler and neighbour.
    """

    arms: tuple[str, ...]
    arm_of_row: Ints
    neighbour: Bools
    metrics: Floats
    at: Floats
    seconds: Floats
    reference_seconds: Floats
    facts: dict[str, Any]

    def pulls_of(self, arm: str, *, neighbour: bool = False) -> Floats:
        """The metrics (n, 2) of one arm's pulls without the neighbour, or with it."""
        if arm not in self.arms:
            raise BadArgument("arm", f"wanted one of {', '.join(self.arms)}; got {arm!r}")
        chosen: Bools = (self.arm_of_row == self.arms.index(arm)) & (self.neighbour == neighbour)
        return np.asarray(self.metrics[chosen], np.float64)

    def medians(self, *, neighbour: bool = False) -> Floats:
        """Median time and bytes of every arm, (K, 2)."""
        return np.array([np.median(self.pulls_of(arm, neighbour=neighbour), axis=0) for arm in self.arms])

    def points(self, *, neighbour: bool = False) -> tuple[Floats, Ints]:
        """The pulls on the scale of the experiments, (n, 2), and the arm of each.

        Minus the logarithms, so that larger is better; the arms' clean medians have the mean 0 and the deviation 1.
        """
        chosen = self.neighbour == neighbour
        centres = -np.log(self.medians())
        points = (-np.log(self.metrics[chosen]) - centres.mean(axis=0)) / centres.std(axis=0)
        return points, self.arm_of_row[chosen]

    def sorted_by_arm(self, *, neighbour: bool) -> Ordered:
        """The pulls as a log that can be analysed."""
        arms = sorted(self.arms)
        pulls = [self.pulls_of(arm, neighbour=neighbour) for arm in arms]
        counts = np.array([len(each) for each in pulls])
        starts = np.concatenate([[0], np.cumsum(counts)])
        values = tuple(np.concatenate([np.sort(each[:, d]) for each in pulls]) for d in range(len(OBJECTIVES)))
        return Ordered(arms, OBJECTIVES, counts, np.stack([starts] * len(OBJECTIVES)), values)


def bundled_recording() -> Recording:
    """Read the recording of the package.

    >>> recording = bundled_recording()
    >>> len(recording.arms), recording.facts["cores"]
    (20, 2)
    """
    rows = bundled_rows(TABLE)
    numbers = {column: np.array([float(row[column]) for row in rows]) for column in _NUMBERS}
    smallest: dict[str, float] = {}
    for row, size in zip(rows, numbers["bytes"].tolist(), strict=True):
        smallest[row["arm"]] = min(size, smallest.get(row["arm"], size))
    # Arms in the order of their sizes, whatever order they were measured in.
    arms = sorted(smallest, key=lambda arm: (smallest[arm], arm))
    return Recording(
        arms=tuple(arms),
        arm_of_row=np.array([arms.index(row["arm"]) for row in rows]),
        neighbour=numbers["neighbour"] == 1.0,
        metrics=np.stack([numbers[name] for name in OBJECTIVES], axis=1),
        at=numbers["at"],
        seconds=numbers["seconds"],
        reference_seconds=numbers["reference_seconds"],
        facts=json.loads(bundled_text(FACTS)),
    )
