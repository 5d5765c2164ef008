"""What would means have said? Replays the bundled measurements: `python means.py`.

A study of means takes n pulls of every arm, averages them, and returns the arms that no other beats. It is wrong if it
returns an arm that another one beats by more than the tolerances of flags.toml, or if it leaves one of the front out
for which nothing returned is as good up to them. The truth is the medians of all pulls without the neighbour.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from frontguard.experiments.datasets import Recording, bundled_recording
from frontguard.pareto.dominance import pareto_mask

Floats = npt.NDArray[np.float64]

TOLERANCE = np.log([1.05, 1.01])
STUDIES = 1000


def is_wrong(returned: npt.NDArray[np.bool_], truth: Floats) -> bool:
    """Whether the returned arms break the promise, for logarithms (K, 2) of the true metrics; smaller is better."""
    excess = truth[:, None, :] - truth[None, :, :]  # [i, j]: by how much arm i is worse than arm j
    beaten = np.all(excess > TOLERANCE, axis=2).any(axis=1)
    served = np.all(excess[returned] <= TOLERANCE, axis=2).any(axis=0)
    return bool((returned & beaten).any() or (pareto_mask(-truth) & ~served).any())


def wrong_studies(
    recording: Recording, column: Floats, summary: Callable[..., Floats], pulls: int, neighbour: bool
) -> float:
    """The share of wrong studies that look at so many pulls of an arm; `column` holds the time of every row."""
    chance = np.random.default_rng(0)
    truth = np.log(recording.medians())
    times = np.empty((STUDIES, len(recording.arms)))
    for arm in range(len(recording.arms)):
        rows = column[(recording.arm_of_row == arm) & (recording.neighbour == neighbour)]
        times[:, arm] = summary(chance.choice(rows, (STUDIES, pulls)), axis=1)
    sizes = truth[:, 1]
    return float(np.mean([is_wrong(pareto_mask(-np.column_stack([np.log(row), sizes])), truth) for row in times]))


def main() -> None:
    """Print the table of README.md."""
    recording = bundled_recording()
    columns = {"time relative to -O2": recording.metrics[:, 0], "seconds": recording.seconds}
    print("| wrong studies | pulls an arm | mean, quiet | mean, neighbour | median, quiet | median, neighbour |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name, column in columns.items():
        for pulls in (10, 30, 100):
            shares = [
                wrong_studies(recording, column, summary, pulls, neighbour)
                for summary in (np.mean, np.median)
                for neighbour in (False, True)
            ]
            print(f"| {name} | {pulls} | " + " | ".join(f"{share:.1%}" for share in shares) + " |")


if __name__ == "__main__":
    main()
