"""Reading SW-LLVM: the CSV, the authors' pickle, and every way in which they can be damaged or malicious."""

from __future__ import annotations

import csv
import io
import os
import pickle
import pickletools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard.errors import BadInput
from frontguard.experiments.datasets.safe_pickle import as_array, load_arrays
from frontguard.experiments.datasets.sw_llvm import read_settings
from tests.support.snapshots import refused


@pytest.fixture
def table(shared_data: Path) -> Path:
    return shared_data / "sw_llvm" / "sw_llvm.csv"


def test_the_csv_against_its_summary(shared_data: Path, table: Path) -> None:
    settings = read_settings(table)
    assert settings.points.shape == (1023, 2)
    assert np.bincount(settings.arm_of_row).tolist() == [63] + [64] * 15
    with (shared_data / "sw_llvm" / "sw_llvm_arms.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            points = settings.points[settings.arm_of_row == int(row["arm"])]
            np.testing.assert_allclose(
                np.median(points, axis=0), [float(row["median_y0"]), float(row["median_y1"])], rtol=1e-12
            )


def test_directories_are_searched(shared_data: Path, table: Path) -> None:
    for place in (shared_data / "sw_llvm", shared_data):
        np.testing.assert_array_equal(read_settings(place).points, read_settings(table).points)


def authors_dict(table: Path) -> dict[str, Any]:
    """What `llvm_dict.pickle` holds, built from the CSV."""
    settings = read_settings(table)
    return {
        "x": np.zeros((1023, 11)),
        "y": np.asfortranarray(settings.points),
        "sample_inds_dict": {arm: np.flatnonzero(settings.arm_of_row == arm) for arm in range(16)},
    }


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_the_authors_pickle_gives_the_same_points(table: Path, tmp_path: Path, protocol: int) -> None:
    path = tmp_path / "llvm_dict.pickle"
    path.write_bytes(pickle.dumps(authors_dict(table), protocol))
    from_pickle, from_csv = read_settings(tmp_path), read_settings(table)
    np.testing.assert_array_equal(from_pickle.points, from_csv.points)
    np.testing.assert_array_equal(from_pickle.arm_of_row, from_csv.arm_of_row)


def test_names_of_numpy_1_are_read_too(table: Path, tmp_path: Path) -> None:
    content = pickle.dumps(authors_dict(table), 3).replace(b"numpy._core.", b"numpy.core.")
    assert b"numpy.core." in content
    path = tmp_path / "llvm_dict.pickle"
    path.write_bytes(content)
    assert read_settings(path).points.shape == (1023, 2)


def test_numpy_scalars_as_names_of_arms_and_big_endian_numbers(table: Path, tmp_path: Path) -> None:
    content = authors_dict(table)
    content["y"] = content["y"].astype(">f8")
    content["sample_inds_dict"] = {np.int64(arm): rows for arm, rows in content["sample_inds_dict"].items()}
    path = tmp_path / "llvm_dict.pickle"
    path.write_bytes(pickle.dumps(content))
    np.testing.assert_array_equal(read_settings(path).points, read_settings(table).points)


class Runs:
    """Pickles into a call of any function."""

    def __init__(self, function: Callable[..., Any], *arguments: Any) -> None:
        self.call = function, arguments

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return self.call


@pytest.mark.parametrize("protocol", [0, 2, 4, 5])
@pytest.mark.parametrize("place", ["alone", "in a dict", "as a key", "in an object array"])
def test_a_malicious_pickle_runs_nothing(
    tmp_path: Path, protocol: int, place: str, snapshot: SnapshotAssertion
) -> None:
    trace = tmp_path / "trace"
    attack = Runs(os.system, f"touch {trace}")
    content: Any = {
        "alone": attack,
        "in a dict": {"y": np.zeros(3), "sample_inds_dict": attack},
        "as a key": {attack: 1},
        "in an object array": {"y": np.array([attack], dtype=object)},
    }[place]
    path = tmp_path / "llvm_dict.pickle"
    path.write_bytes(pickle.dumps(content, protocol))
    with refused(BadInput, snapshot) as caught:
        read_settings(path)
    assert "\n" not in str(caught.value)
    assert not trace.exists()


@pytest.mark.parametrize(
    "program",
    [
        b"cbuiltins\neval\n(S'1+1'\ntR.",
        b"cbuiltins\ngetattr\n(cnumpy\nndarray\nS'__class__'\ntR.",
        b"cnumpy\nload\n(S'x.npy'\ntR.",
        b"cnumpy.testing._private.utils\nrunstring\n(S'import os'\n}tR.",
        b"\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x02ls\x85R.",
        b"\x80\x04\x8c\x05numpy\x8c\x0cf2py.compile\x93.",  # a dotted name, which protocol 4 would follow
        b"c__builtin__\nexec\n(S'x'\ntR.",
        b"(S'ls'\nios\nsystem\n.",  # INST
        b"Pmy-object\n.",  # a persistent reference
        b"cnumpy\ndtype\n(S'O8'\nI0\nI1\ntR.",
    ],
)
def test_programs_that_ask_for_more_than_arrays(tmp_path: Path, program: bytes, snapshot: SnapshotAssertion) -> None:
    path = tmp_path / "llvm_dict.pickle"
    path.write_bytes(program)
    pickletools.dis(program, out=io.StringIO())  # each is a well-formed pickle, refused for what it asks
    with refused(BadInput, snapshot):
        load_arrays(path)


@pytest.mark.parametrize("name", [b"numpy\nndarray", b"numpy\ndtype", b"numpy.core.multiarray\n_reconstruct"])
def test_what_a_pickle_changes_is_its_own(tmp_path: Path, name: bytes) -> None:
    """BUILD sets attributes on what stands on the stack: that must not change what the next pickle is read by."""
    path = tmp_path / "a.pickle"
    path.write_bytes(b"c" + name + b"\n(N}S'__defaults__'\n(I1\ntstb.")
    load_arrays(path)
    path.write_bytes(pickle.dumps(np.arange(3)))
    assert as_array(load_arrays(path), what="a").tolist() == [0, 1, 2]


@pytest.mark.parametrize("protocol", [2, 5])
def test_a_cut_off_pickle(table: Path, tmp_path: Path, protocol: int, snapshot: SnapshotAssertion) -> None:
    content = pickle.dumps(authors_dict(table), protocol)
    path = tmp_path / "llvm_dict.pickle"
    for length in (0, 1, 10, 100, len(content) // 2, len(content) - 1):
        path.write_bytes(content[:length])
        with refused(BadInput, snapshot):
            read_settings(path)


def test_a_shape_that_its_bytes_do_not_fill(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    content = pickle.dumps(np.zeros(5), 2).replace(b"K\x05\x85", b"K\x06\x85")
    path = tmp_path / "llvm_dict.pickle"
    path.write_bytes(content)
    with refused(BadInput, snapshot):
        load_arrays(path)


@pytest.mark.parametrize(
    "change",
    [
        {"y": None},
        {"y": np.zeros((1023, 3))},
        {"y": np.full((1023, 2), np.nan)},
        {"sample_inds_dict": {0: np.arange(1023)}},
        {"sample_inds_dict": {arm: np.array([5000]) for arm in range(16)}},
        {"sample_inds_dict": {arm: np.array([arm]) for arm in range(16)}},
    ],
)
def test_a_pickle_of_something_else(
    table: Path, tmp_path: Path, change: dict[str, Any], snapshot: SnapshotAssertion
) -> None:
    path = tmp_path / "llvm_dict.pickle"
    path.write_bytes(pickle.dumps(authors_dict(table) | change))
    with refused(BadInput, snapshot):
        read_settings(path)


def test_a_pickle_without_the_keys(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    path = tmp_path / "llvm_dict.pickle"
    path.write_bytes(pickle.dumps({"z": 1}))
    with refused(BadInput, snapshot):
        read_settings(path)


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
