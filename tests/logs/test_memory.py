"""Arrow arrays as NumPy's memory, against Arrow's own ways."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from frontguard.logs.memory import as_arrow, as_numpy

ARRAYS = [
    pa.array([3, 1, 2], pa.int8()),
    pa.array([3, 1, 2], pa.uint64()),
    pa.array([1.5, None, float("nan"), float("inf")], pa.float64()),
    pa.array([1.5, None], pa.float32()),
    pa.array([True, False, True] * 7),
    pa.array([True, None]),
    pa.array([1, None], pa.int64()),
    pa.array(["a", None, "b"]),
    pa.array([], pa.float64()),
    pa.array([], pa.bool_()),
]


@pytest.mark.parametrize("array", ARRAYS, ids=lambda array: str(array.type))
@pytest.mark.parametrize("first", [0, 1, 9])
def test_as_numpy(array: pa.Array, first: int) -> None:
    part = array[first:]
    np.testing.assert_array_equal(as_numpy(part), part.to_numpy(zero_copy_only=False))


@pytest.mark.parametrize(
    "values", [np.arange(9, dtype=np.int32)[::3], np.array([0.5, -0.0]), np.arange(21) % 3 == 0, np.empty(0)], ids=str
)
def test_as_arrow(values: np.ndarray) -> None:
    assert as_arrow(values).equals(pa.array(values))
