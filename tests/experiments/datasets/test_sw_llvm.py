"""Reading SW-LLVM: the CSV, and every way in which it can be damaged."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard.errors import BadInput
from frontguard.experiments.datasets import read_settings
from tests.support.snapshots import refused


@pytest.fixture
def table(shared_data: Path) -> Path:
    return shared_data / "sw_llvm" / "sw_llvm.csv"


def test_the_csv_against_its_summary(shared_data: Path, table: Path) -> None:
    points, arm_of_row = read_settings(table)
    assert points.shape == (1023, 2)
    assert np.bincount(arm_of_row).tolist() == [63] + [64] * 15
    with (shared_data / "sw_llvm" / "sw_llvm_arms.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            own = points[arm_of_row == int(row["arm"])]
            np.testing.assert_allclose(
                np.median(own, axis=0), [float(row["median_y0"]), float(row["median_y1"])], rtol=1e-12
            )


def test_directories_are_searched(shared_data: Path, table: Path) -> None:
    for place in (shared_data / "sw_llvm", shared_data):
        np.testing.assert_array_equal(read_settings(place)[0], read_settings(table)[0])


@pytest.mark.parametrize(
    "content",
    [
        "",
        "arm,y0\n0,1\n",
        "arm,y0,y1\n0,1.0,2.0\n",
        "arm,y0,y1\n0,1.0\n",
        "arm,y0,y1\n0,fast,2.0\n",
        "arm,y0,y1\n0,nan,2.0\n",
        "arm,y0,y1\n16,1.0,2.0\n",
        "arm,y0,y1\n1.5,1.0,2.0\n",
        'arm,y0,y1\n0,"1.0,2.0\n',
        "arm,y0,y1\n" + "0,1.0,2.0\n" * 1023,
    ],
)
def test_damaged_tables_are_one_line(tmp_path: Path, content: str, snapshot: SnapshotAssertion) -> None:
    path = tmp_path / "sw_llvm.csv"
    path.write_text(content, encoding="utf-8")
    with refused(BadInput, snapshot) as caught:
        read_settings(path)
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)


def test_nothing_there(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    with refused(BadInput, snapshot):
        read_settings(tmp_path)
    with refused(BadInput, snapshot):
        read_settings(tmp_path / "absent.csv")
