"""Arrow arrays as NumPy's memory and back. Arrow's own ways import pandas where it is installed: a third of a second.

Only what has no pandas in it is done here: numbers and truth values. Everything else is left to Arrow.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

_KINDS = {
    pa.from_numpy_dtype(np.dtype(kind)): np.dtype(kind)
    for kind in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64")
}


def as_arrow(values: npt.NDArray[Any]) -> pa.Array:
    """Numbers or truth values (n,), none of which is null, as an Arrow array; numbers share their memory.

    >>> as_arrow(np.array([True, False, True])).to_pylist(), as_arrow(np.arange(6)[::2]).to_pylist()
    ([True, False, True], [0, 2, 4])
    """
    if values.dtype == np.bool_:
        kind, memory = pa.bool_(), np.packbits(values, bitorder="little")
    else:
        kind, memory = pa.from_numpy_dtype(values.dtype), np.ascontiguousarray(values)
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(memory)])


def as_numpy(array: pa.Array) -> npt.NDArray[Any]:
    """An Arrow array as NumPy has it: NaN where a number is null. Shares its memory where it can; not to be written to.

    >>> as_numpy(pa.array([1.5, None, 2.5])[1:]).tolist(), as_numpy(pa.array([True, False])).tolist()
    ([nan, 2.5], [True, False])
    """
    kind, first, last = array.type, array.offset, array.offset + len(array)
    if not len(array):
        return np.empty(0, np.bool_ if pa.types.is_boolean(kind) else _KINDS.get(kind, np.object_))
    if pa.types.is_boolean(kind) and not array.null_count:
        return _bits(array.buffers()[1], first, last)
    found = _KINDS.get(kind)
    if found is None or (array.null_count and found.kind != "f"):
        return np.asarray(array.to_numpy(zero_copy_only=False))
    there, memory = array.buffers()
    values: npt.NDArray[Any] = np.frombuffer(memory, found, count=last)[first:]
    if array.null_count:
        values = np.where(_bits(there, first, last), values, np.asarray(np.nan, found))
    return values


def _bits(buffer: Any, first: int, last: int) -> npt.NDArray[np.bool_]:
    return np.unpackbits(np.frombuffer(buffer, np.uint8), bitorder="little", count=last)[first:].view(np.bool_)
