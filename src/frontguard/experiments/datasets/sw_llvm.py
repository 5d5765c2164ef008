"""SW-LLVM: 16 groups of compiler settings as arms, performance and memory footprint as objectives (Section 6.2).

The points are not part of the package (M. Zuluaga, G. Sergent, A. Krause, M. Pueschel, "Active Learning for
Multi-Objective Optimization", ICML 2013; the scaled values come from a file without a licence). They are read
from a file that the user has: a CSV with the columns arm, y0, y1, or the authors' own `llvm_dict.pickle`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from frontguard._common.typing import Floats, Ints
from frontguard.errors import BadInput
from frontguard.experiments.datasets.readers import rows_of
from frontguard.experiments.datasets.safe_pickle import as_array, load_arrays

CSV_NAME = "sw_llvm.csv"
PICKLE_NAME = "llvm_dict.pickle"
ARMS = 16
ROWS = 1023
HOW_TO_GET = (
    f"pass --data with a path to {CSV_NAME} or to {PICKLE_NAME} "
    "(in the authors' repository, github.com/Bilkent-CYBORG/R-PSI)"
)


@dataclass(frozen=True, eq=False)
class CompilerSettings:
    """The points (1023, 2) and the arm of each; both objectives maximised, as published."""

    points: Floats
    arm_of_row: Ints


def find_settings(path: Path) -> Path | None:
    """The file with the points: `path` itself, or one in the directory `path` or its folder `sw_llvm`."""
    if path.is_file():
        return path
    places = (path, path / "sw_llvm")
    return next(
        (place / name for place in places for name in (CSV_NAME, PICKLE_NAME) if (place / name).is_file()),
        None,
    )


def read_settings(path: Path) -> CompilerSettings:
    """Read the points from a CSV, a pickle, or a directory that contains either."""
    if not path.exists():
        raise BadInput(f"{path}: no such file or directory; {HOW_TO_GET}")
    file = find_settings(path)
    if file is None:
        raise BadInput(f"{path}: holds neither {CSV_NAME} nor {PICKLE_NAME}; {HOW_TO_GET}")
    pickled = file.suffix.lower() in (".pickle", ".pkl")
    points, arm_of_row = _from_pickle(file) if pickled else _from_csv(file)
    _check(points, arm_of_row, file)
    return CompilerSettings(points, arm_of_row)


def _from_csv(path: Path) -> tuple[Floats, Ints]:
    points, arms = [], []
    for place, (arm, *point) in rows_of(path, {"arm": int, "y0": float, "y1": float}, header=True):
        if not 0 <= arm < ARMS:
            raise BadInput(f"{place}: wanted an arm in 0..{ARMS - 1}, got {arm}")
        arms.append(arm)
        points.append(point)
    return np.array(points, np.float64).reshape(-1, 2), np.array(arms, np.int64)


def _from_pickle(path: Path) -> tuple[Floats, Ints]:
    content = load_arrays(path)
    if not isinstance(content, dict) or not {"y", "sample_inds_dict"} <= content.keys():
        got = ", ".join(map(str, content)) if isinstance(content, dict) else type(content).__name__
        raise BadInput(f"{path}: wanted a dict with the keys 'y' and 'sample_inds_dict', got {got[:80]}")
    points = as_array(content["y"], what=f"{path}, key 'y'").astype(np.float64)
    if points.ndim != 2 or points.shape[1] != 2:
        raise BadInput(f"{path}, key 'y': wanted an array of the shape ({ROWS}, 2), got {points.shape}")
    groups = content["sample_inds_dict"]
    if not isinstance(groups, dict) or len(groups) != ARMS:
        raise BadInput(f"{path}, key 'sample_inds_dict': wanted a dict of {ARMS} arms")
    numbered = all(isinstance(name, int) for name in groups)
    arm_of_row = np.full(len(points), -1, np.int64)
    for arm, name in enumerate(sorted(groups) if numbered else groups):
        rows = as_array(groups[name], what=f"{path}, arm {name!r} of 'sample_inds_dict'").ravel()
        if rows.dtype.kind not in "iu" or (rows.size and not (rows.min() >= 0 and rows.max() < len(points))):
            raise BadInput(f"{path}, arm {name!r} of 'sample_inds_dict': wanted row numbers in 0..{len(points) - 1}")
        arm_of_row[rows] = arm
    if (arm_of_row < 0).any():
        raise BadInput(f"{path}: row {int(np.argmin(arm_of_row))} of 'y' belongs to no arm of 'sample_inds_dict'")
    return points, arm_of_row


def _check(points: Floats, arm_of_row: Ints, path: Path) -> None:
    if len(points) != ROWS:
        raise BadInput(f"{path}: wanted the {ROWS} settings of SW-LLVM, got {len(points)} (is the file cut off?)")
    if not np.isfinite(points).all():
        raise BadInput(f"{path}: wanted finite numbers, got {points[~np.isfinite(points)][0]} among the objectives")
    sizes = np.bincount(arm_of_row, minlength=ARMS)
    if sizes.min() == 0:
        raise BadInput(f"{path}: wanted points of all {ARMS} arms, got none of arm {int(np.argmin(sizes))}")
