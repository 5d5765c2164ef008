"""SW-LLVM: 16 groups of compiler settings as arms, performance and memory footprint as objectives (Section 6.2).

The points are not part of the package (M. Zuluaga, G. Sergent, A. Krause, M. Pueschel, "Active Learning for
Multi-Objective Optimization", ICML 2013; the scaled values come from a file without a licence). They are read
from a file that the user has, a CSV with the columns arm, y0, y1: docs/reproduction.md makes it of the authors' file.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from frontguard._common.typing import Floats, Ints
from frontguard.errors import BadInput
from frontguard.phrases import one_line

CSV_NAME = "sw_llvm.csv"
ARMS = 16
ROWS = 1023
HOW_TO_GET = (
    f"pass --data with a path to {CSV_NAME}, which docs/reproduction.md makes of llvm_dict.pickle (in the authors' "
    "repository, github.com/Bilkent-CYBORG/R-PSI)"
)


@dataclass(frozen=True, eq=False)
class CompilerSettings:
    """The points (1023, 2) and the arm of each; both objectives maximised, as published."""

    points: Floats
    arm_of_row: Ints


def read_settings(path: Path) -> CompilerSettings:
    """Read the points from a CSV, or from one in the directory `path` or its folder `sw_llvm`."""
    places = (path, path / CSV_NAME, path / "sw_llvm" / CSV_NAME)
    file = next((place for place in places if place.is_file()), None)
    if file is None:
        raise BadInput(f"{path}: holds no {CSV_NAME}; {HOW_TO_GET}")
    points, arm_of_row = _from_csv(file)
    _check(points, arm_of_row, file)
    return CompilerSettings(points, arm_of_row)


def _from_csv(path: Path) -> tuple[Floats, Ints]:
    points, arms, row = [], [], dict[str, str]()
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = csv.DictReader(file)
            for row in rows:
                arms.append(int(row["arm"]))
                points.append((float(row["y0"]), float(row["y1"])))
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror or error}") from None
    except (KeyError, TypeError, ValueError, csv.Error):
        at, got = f"{path}, line {rows.line_num}", one_line(", ".join(f"{name}={row[name]}" for name in row), 120)
        raise BadInput(f"{at}: wanted the columns arm, y0 and y1, with numbers; got {got}") from None
    return np.array(points, np.float64).reshape(-1, 2), np.array(arms, np.int64)


def _check(points: Floats, arm_of_row: Ints, path: Path) -> None:
    if len(points) != ROWS:
        raise BadInput(f"{path}: wanted the {ROWS} settings of SW-LLVM, got {len(points)} (is the file cut off?)")
    if not np.isfinite(points).all():
        raise BadInput(f"{path}: wanted finite numbers, got {points[~np.isfinite(points)][0]} among the objectives")
    if set(arm_of_row.tolist()) != set(range(ARMS)):
        raise BadInput(f"{path}: wanted points of the arms 0 to {ARMS - 1}, got {sorted(set(arm_of_row.tolist()))}")
