"""The data sets, with what reads them; all are part of the package but SW-LLVM, which the user has as a file."""

from __future__ import annotations

import csv
import gzip
import io
import json
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from frontguard._common.typing import Bools, Floats, Ints
from frontguard.errors import BadArgument, BadInput
from frontguard.evidence.measurements import Ordered
from frontguard.phrases import one_line


def bundled_text(name: str) -> str:
    """The text of a file that is part of the package; of a compressed one, what it holds."""
    content = (resources.files("frontguard") / "data" / name).read_bytes()
    return (gzip.decompress(content) if name.endswith(".gz") else content).decode("utf-8")


def bundled_rows(name: str) -> list[dict[str, str]]:
    """The rows of a table that is part of the package, by column."""
    return list(csv.DictReader(io.StringIO(bundled_text(name))))


# 24 movies as arms, the scores in five age groups as objectives (Section 6.1).
#
# The package holds only how often each score was given to these 24 movies in each age group, by the ratings of
# MovieLens 100K, which may not be passed on themselves (F. M. Harper and J. A. Konstan, "The MovieLens Datasets:
# History and Context", ACM TiiS 5(4), article 19, 2015).

AGE_GROUPS: tuple[str, ...] = ("0-18", "19-25", "26-35", "36-45", "46+")
SCORES: tuple[int, ...] = (1, 2, 3, 4, 5)
SELECTIONS: tuple[str, ...] = ("margin", "tradeoff")
"""`margin`: the Pareto arms' medians withstand most bombing; `tradeoff`: their median vectors differ."""


@dataclass(frozen=True, eq=False)
class Movies:
    """Score counts (24, 5 age groups, 5 scores) of one selection of movies."""

    selection: str
    titles: tuple[str, ...]
    counts: Ints


def bundled_movies(selection: str = "margin") -> Movies:
    """Return the counts that are part of the package."""
    if selection not in SELECTIONS:
        raise BadArgument("selection", f"wanted one of {', '.join(SELECTIONS)}; got {selection!r}")
    rows = [row for row in bundled_rows("movielens24_counts.csv") if row["selection"] == selection]
    arms = 1 + max(int(row["arm"]) for row in rows)
    counts = np.zeros((arms, len(AGE_GROUPS), len(SCORES)), np.int64)
    titles = [""] * arms
    for row in rows:
        arm = int(row["arm"])
        titles[arm] = row["title"]
        counts[arm, AGE_GROUPS.index(row["age_group"])] = [int(row[f"n{score}"]) for score in SCORES]
    return Movies(selection, tuple(titles), counts)


# 16 groups of compiler settings as arms, performance and memory footprint as objectives (Section 6.2).
#
# The points are not part of the package (M. Zuluaga, G. Sergent, A. Krause, M. Pueschel, "Active Learning for
# Multi-Objective Optimization", ICML 2013; the scaled values come from a file without a licence). They are read from a
# file that the user has, a CSV with the columns arm, y0, y1: docs/reproduction.md makes it of the authors' file.

CSV_NAME = "sw_llvm.csv"
HOW_TO_GET = (
    f"pass --data with a path to {CSV_NAME}, which docs/reproduction.md makes of llvm_dict.pickle (in the authors' "
    "repository, github.com/Bilkent-CYBORG/R-PSI)"
)


def read_settings(path: Path) -> tuple[Floats, Ints]:
    """The points (1023, 2), both maximised, and the arm of each, of a CSV, a directory or its folder `sw_llvm`."""
    places = (path, path / CSV_NAME, path / "sw_llvm" / CSV_NAME)
    file = next((place for place in places if place.is_file()), None)
    if file is None:
        raise BadInput(f"{path}: holds no {CSV_NAME}; {HOW_TO_GET}")
    found, arms, row = [], [], dict[str, str]()
    try:
        with file.open(encoding="utf-8", newline="") as opened:
            rows = csv.DictReader(opened)
            for row in rows:
                arms.append(int(row["arm"]))
                found.append((float(row["y0"]), float(row["y1"])))
    except OSError as error:
        raise BadInput(f"{file}: cannot be read: {error.strerror or error}") from None
    except (KeyError, TypeError, ValueError, csv.Error):
        at, got = f"{file}, line {rows.line_num}", one_line(", ".join(f"{name}={row[name]}" for name in row), 120)
        raise BadInput(f"{at}: wanted the columns arm, y0 and y1, with numbers; got {got}") from None
    points = np.array(found, np.float64).reshape(-1, 2)
    if len(points) != 1023:
        raise BadInput(f"{file}: wanted the 1023 settings of SW-LLVM, got {len(points)} (is the file cut off?)")
    if not np.isfinite(points).all():
        raise BadInput(f"{file}: wanted finite numbers, got {points[~np.isfinite(points)][0]} among the objectives")
    if set(arms) != set(range(16)):
        raise BadInput(f"{file}: wanted points of the arms 0 to 15, got {sorted(set(arms))}")
    return points, np.array(arms, np.int64)


# 36 pairs of a meal and an insulin bolus as arms; time above and below the safe range as objectives (Section 6.3).
#
# The tables are our own simulation with simglucose 0.2.11 (J. Xie, MIT licence) of one patient, rebuilt by
# `python -m tools.rebuild_diabetes`. Objectives are minus the minutes, standardised over the 36 arms.

ARMS_TABLE = "uva_padova_36.csv"
DENSE_TABLE = "uva_padova_dense.csv"
_COLUMNS = ("carbs_g", "bolus_u", "minutes_above", "minutes_below")


@dataclass(frozen=True, eq=False)
class Treatments:
    """The arms, and what happens when the meal was miscounted.

    Minus the minutes are `points` (36, 2) · deviation + centre. `carbs` and `bolus` (36,) name the arms. `miscounted`
    (n, 2) are outcomes of the bolus of `miscounted_arm` (n,) with another meal.
    """

    carbs: Floats
    bolus: Floats
    points: Floats
    centre: Floats
    deviation: Floats
    miscounted: Floats
    miscounted_arm: Ints


def bundled_treatments() -> Treatments:
    """Read the tables of the package."""
    carbs, bolus, minutes = _read(ARMS_TABLE)
    other_carbs, other_bolus, other_minutes = _read(DENSE_TABLE)
    centre, deviation = minutes.mean(axis=0), minutes.std(axis=0)
    arms, rows = np.nonzero((bolus[:, None] == other_bolus) & (carbs[:, None] != other_carbs))
    return Treatments(
        carbs=carbs,
        bolus=bolus,
        points=(minutes - centre) / deviation,
        centre=centre,
        deviation=deviation,
        miscounted=(other_minutes[rows] - centre) / deviation,
        miscounted_arm=arms,
    )


def _read(table: str) -> tuple[Floats, Floats, Floats]:
    """Carbohydrates and bolus (n,), and minus the minutes above and below the safe range (n, 2): to be maximised."""
    numbers = np.array([[float(row[column]) for column in _COLUMNS] for row in bundled_rows(table)])
    return numbers[:, 0], numbers[:, 1], -numbers[:, 2:]


# 20 sets of GCC flags as arms, the time and the size of a small C program as objectives.
#
# Our own stand-in for SW-LLVM, measured by `examples/compiler-flags/record.py`: raw pulls in the order in which they
# were made, with a noisy neighbour off and on, and facts about the machine. `time` is relative to plain -O2, which runs
# in turns with the measured build in the same process; `bytes` are those of its code and data.

FLAGS_TABLE = "compiler_flags.csv.gz"
FLAGS_FACTS = "compiler_flags.json"
OBJECTIVES = ("time", "bytes")
_NUMBERS = ("at", "neighbour", *OBJECTIVES, "seconds", "reference_seconds")


@dataclass(frozen=True, eq=False)
class Recording:
    """Recorded pulls, a row each, in the order of their measurement.

    `metrics` (n, 2) are time, as the quotient of `seconds` and `reference_seconds` (plain -O2), and bytes; `neighbour`
    (n,) says whether the noisy neighbour was on, `at` (n,) when, `facts` describe machine and compiler.
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

    def medians(self) -> Floats:
        """Median time and bytes of every arm without the neighbour, (K, 2)."""
        return np.array([np.median(self.pulls_of(arm), axis=0) for arm in self.arms])

    def points(self) -> tuple[Floats, Ints]:
        """The pulls without the neighbour as minus logarithms (n, 2), standardised by arms' medians, and their arms."""
        centres = -np.log(self.medians())
        points = (-np.log(self.metrics[~self.neighbour]) - centres.mean(axis=0)) / centres.std(axis=0)
        return points, self.arm_of_row[~self.neighbour]

    def sorted_by_arm(self, *, neighbour: bool) -> Ordered:
        """The pulls as a log that can be analysed."""
        arms = sorted(self.arms)
        pulls = [self.pulls_of(arm, neighbour=neighbour) for arm in arms]
        counts = np.array([len(each) for each in pulls])
        starts = np.concatenate([[0], np.cumsum(counts)])
        values = tuple(np.concatenate([np.sort(each[:, d]) for each in pulls]) for d in range(len(OBJECTIVES)))
        return Ordered(arms, OBJECTIVES, counts, np.stack([starts] * len(OBJECTIVES)), values)


def bundled_recording() -> Recording:
    """Read the recording of the package."""
    rows = bundled_rows(FLAGS_TABLE)
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
        facts=json.loads(bundled_text(FLAGS_FACTS)),
    )
