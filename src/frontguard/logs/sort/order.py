"""Some values of some arms in the order of their rows, which sorting loses: whether an arm changes is seen from these.

It is looked at before the values of an arm are sorted, when they stand side by side and still as they came. What is
kept is bounded, whatever the size of the log, and costs next to nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from frontguard._common.typing import Floats, Ints

MOST_SAMPLES = 128
"""Arms times metrics of which values are kept: those with most rows."""

MOST_VALUES = 256
"""Values that are kept of each, in all parts together."""

FEWEST_VALUES = 32
"""Values of an arm below which nothing is kept: so few show hardly anything."""

QUARTERS = 4
MOST_FILES = 64
"""Files that are told apart; beyond, neighbours are taken together."""

_FIRST_ARMS = 4096  # that are counted by file: those that turn up first


class RowOrder:
    """Keeps samples of a log that comes from so many files, while it is read and sorted."""

    code_of: Callable[[str], int]  # of the name of an arm, as whoever reads the rows has it

    def __init__(self, files: int = 1) -> None:
        self.files = min(files, MOST_FILES)
        self._all_files = files
        self._before: dict[int, Ints] = {}  # of a metric: good values, by code, in runs of rows that are over
        self._ends: dict[tuple[int, int], Ints] = {}  # of a metric and part: likewise, where the part ends
        self._codes: dict[int, int] = {}  # of the arms that are looked at, by position
        self._kept: dict[tuple[int, int, bool], list[Floats]] = {}

    def part_of(self, file: int) -> int:
        """The part of the log that a file belongs to."""
        return file * self.files // self._all_files

    def end(self, metric: int, part: int, counts: Ints, *, run_over: bool) -> None:
        """Take notice that rows of a part end: good values by code, since the run of rows began. Threads may call."""
        so_far = np.zeros(_FIRST_ARMS, np.int64)
        so_far[: len(counts)] = counts[:_FIRST_ARMS]
        so_far += self._before.get(metric, 0)
        self._ends[metric, part] = so_far
        if run_over:
            self._before[metric] = so_far

    def choose(self, pulls: Ints, arms: Sequence[str], metrics: int) -> None:
        """Decide which arms are looked at, all rows being known: pulls (K,) and names (K,) by position."""
        most = np.argsort(-pulls, kind="stable")[: max(1, MOST_SAMPLES // metrics)]
        self._codes = {arm: self.code_of(arms[arm]) for arm in most.tolist() if pulls[arm] >= FEWEST_VALUES}

    def take(self, metric: int, first: int, values: Floats, starts: Ints) -> None:
        """Keep samples of arms from position `first` on, whose values stand in the order of rows. Threads may call."""
        for arm, code in self._codes.items():
            if not first <= arm < first + len(starts) - 1:
                continue
            own = values[starts[arm - first] : starts[arm - first + 1]]
            if len(own) < FEWEST_VALUES:
                continue
            quarters = np.linspace(0, len(own), QUARTERS + 1).astype(np.int64)
            self._kept[arm, metric, False] = _thinned(own, quarters)
            if self.files > 1 and code < _FIRST_ARMS:
                edges = [0]
                for part in range(self.files):
                    ended = self._ends.get((metric, part))  # None for a file without rows
                    edges.append(edges[-1] if ended is None else int(ended[code]))
                self._kept[arm, metric, True] = _thinned(own, np.array(edges))

    def samples(self, *, by_file: bool) -> Iterator[tuple[int, int, list[Floats]]]:
        """Arm (its position), metric, and values by quarter of its rows, or by part of the files."""
        for arm, metric, of_files in sorted(self._kept):
            if of_files == by_file:
                yield arm, metric, self._kept[arm, metric, of_files]

    def file_names(self, names: Sequence[str]) -> list[str]:
        """Names of the parts of the files."""
        parts: list[list[str]] = [[] for _ in range(self.files)]
        for number, name in enumerate(names):
            parts[self.part_of(number)].append(name)
        return [part[0] if len(part) == 1 else f"{part[0]} and {len(part) - 1} more" for part in parts]


def _thinned(values: Floats, edges: Ints) -> list[Floats]:
    """The values between edges, some of each part, evenly spread over it, if there are too many."""
    most = max(8, MOST_VALUES // (len(edges) - 1))
    parts = []
    for begin, end in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        count = end - begin
        at = np.arange(count) if count <= most else (np.arange(most) + 0.5) * (count / most)
        parts.append(values[begin + at.astype(np.int64)])
    return parts
