"""States of policies that come from a file: read within bounds, and checked before a kernel sees them.

Kernels look nothing up: an index that is out of range reads, or writes, whatever lies there. So a state is taken over
only if every array has the kind and shape that a fresh policy of this size has, and every number in it that is used as
an index, a count or a length is one.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from frontguard.errors import BadInput
from frontguard.evidence.ordered import MOST_DIFFERENT
from frontguard.evidence.samples import COUNTED, Table, window_length
from frontguard.verdicts import Verdict

Arrays = dict[str, npt.NDArray[Any]]

MOST = 1 << 40
"""More pulls than anybody makes."""

_ROOM = 1 << 28  # bytes that any file may unpack to, ...
_RATIO = 100  # ... and how many more for each of its own: numbers that were measured hardly shrink
_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


# The file -------------------------------------------------------------------------------------------------------------


def write_arrays(path: str | Path, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
    """What `np.savez_compressed` writes, in an eighth of the time: more effort hardly makes it smaller."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, np.asarray(array), allow_pickle=False)


def read_arrays(path: str | Path) -> Arrays:
    """The arrays of an .npz file. What it unpacks to is bounded by its size, and nothing in it is run."""
    where = str(path)
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
            unpacked, most = sum(each.file_size for each in entries), _ROOM + _RATIO * Path(path).stat().st_size
            if unpacked > most:
                raise BadInput(f"{where}: it would unpack to {unpacked:,} bytes; wanted {most:,} at most")
            return {each.filename.removesuffix(".npy"): _read_array(archive, each) for each in entries}
    except BadInput:
        raise
    except OSError as error:
        raise BadInput(f"{where}: cannot be read: {error.strerror or error}") from None
    except Exception as error:  # zipfile, zlib and numpy raise many kinds
        raise BadInput(f"{where}: wanted what a policy saved (.npz); {type(error).__name__}: {error}") from None


def _read_array(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> npt.NDArray[Any]:
    with archive.open(entry) as file:
        shape, fortran, kind = _HEADERS[np.lib.format.read_magic(file)](file)
        if kind.hasobject:
            raise ValueError(f"{entry.filename} holds objects")
        size = kind.itemsize
        for length in shape:
            size *= length
        if not 0 <= size <= entry.file_size:
            raise ValueError(f"{entry.filename} is cut: {shape} of {kind} are {size:,} bytes")
        data = file.read(size)
    if len(data) != size:
        raise ValueError(f"{entry.filename} is cut: {len(data):,} of {size:,} bytes")
    return np.frombuffer(data, kind).reshape(shape, order="F" if fortran else "C").copy(order="C")


# What is in it --------------------------------------------------------------------------------------------------------


def check_kind(name: str, array: npt.NDArray[Any], like: npt.NDArray[Any]) -> None:
    """Refuse an array that is not of the kind and shape of another one."""
    if array.dtype != like.dtype or array.shape != like.shape:
        raise BadInput(f"{name} must be {like.dtype} of shape {like.shape}; got {array.dtype} of {array.shape}")


def check_shape(name: str, array: npt.NDArray[Any], kind: npt.DTypeLike, shape: tuple[int, ...]) -> None:
    """Refuse an array that is not of this kind and shape."""
    if array.dtype != np.dtype(kind) or array.shape != shape:
        raise BadInput(f"{name} must be {np.dtype(kind)} of shape {shape}; got {array.dtype} of {array.shape}")


def check_range(name: str, array: npt.NDArray[Any], low: float, high: float) -> None:
    """Refuse numbers that are not between two others, these included: NaN is never."""
    wrong = ~((array >= low) & (array <= high))
    if wrong.any():
        raise BadInput(f"{name} must be numbers from {low:g} to {high:g}; got {array[wrong].flat[0]!r}")


def check_finite(name: str, array: npt.NDArray[Any], low: float = -np.inf) -> None:
    """Refuse numbers that are infinite, NaN, or below another one."""
    wrong = ~(np.isfinite(array) & (array >= low))
    if wrong.any():
        raise BadInput(f"{name} must be finite numbers from {low:g}; got {array[wrong].flat[0]!r}")


def check_arms(records: Table, arms: int, **fields: tuple[int, int]) -> None:
    """Refuse records of arms with a field that is out of its range; all have a status and who decided it."""
    named = {"status": (min(Verdict), max(Verdict)), "decided_by": (-1, arms - 1), **fields}
    for name, (low, high) in named.items():
        check_range(f"{name} of the arms", records[name], low, high)


def check_listed(name: str, listed: npt.NDArray[np.int64], count: int, wanted: Iterable[int]) -> None:
    """Refuse a list of arms whose first `count` are not the wanted ones, each once; the others may be any arms."""
    check_range(name, listed, 0, len(listed) - 1)
    check_range(f"how many of {name}", np.array(count), 0, len(listed))
    if sorted(listed[:count].tolist()) != sorted(wanted):
        raise BadInput(f"{name} must be the arms that are not decided, each once; got others")


def check_samples(columns: Table, pool: npt.NDArray[np.float64], *, kept_sorted: bool) -> None:
    """Refuse samples that do not lie in their pool; see `evidence.samples` for what the fields are."""
    if pool.dtype != np.float64 or pool.ndim != 1:
        raise BadInput(f"pool must be float64 of one dimension; got {pool.dtype} of {pool.shape}")
    used, each = int(columns["count"][-1]), columns[:-1]
    check_range("how much of pool is in use", columns["count"][-1:], 0, len(pool))
    for name in ("count", "start", "room", "window_start", "window_room", "window", "below"):
        check_range(f"{name} of samples", each[name], 0, used)
    check_range("work of samples", each["work"], 0, np.iinfo(np.int64).max)
    count, window = each["count"], each["window"]
    needed = np.array([2 * window_length(n) if n else 0 for n in count.tolist()])
    counted = each["low_heap"] == COUNTED
    for wrong in (
        np.where(counted, 2 * each["below"] > each["room"], count > each["room"]),
        needed > each["window_room"] if not kept_sorted else counted & (window > 0),
        window > each["window_room"],
        each["start"] + each["room"] > used,
        each["window_start"] + each["window_room"] > used,
        window + each["below"] > count,
        (each["low_heap"] < (COUNTED if kept_sorted else -1)) | (each["low_heap"] > count),
        (each["low_heap"] >= 0) & (each["low_heap"] != (count + 1) // 2),
        (window > 0) | (each["low_heap"] >= 0) if kept_sorted else np.zeros(len(each), np.bool_),
    ):
        if wrong.any():
            raise BadInput(f"sample {int(np.argmax(wrong))} does not lie in its part of the pool")
    if int((each["room"] + each["window_room"]).sum()) > used:
        raise BadInput("samples overlap in the pool")
    if kept_sorted:
        for at, size, pairs in zip(each["start"].tolist(), count.tolist(), counted.tolist(), strict=True):
            if not pairs and np.isnan(pool[at : at + size]).any():
                raise BadInput("samples must be numbers; got NaN")
        for record in each[counted]:
            _check_counted(pool, record)


def _check_counted(pool: npt.NDArray[np.float64], record: np.void) -> None:
    """Refuse a counted sample whose values do not ascend, or whose counts are not how many it has."""
    first, different = int(record["start"]), int(record["below"])
    apart = int(record["room"]) // 2
    values, counts = pool[first : first + different], pool[first + apart : first + apart + different]
    if different > MOST_DIFFERENT or not (np.isfinite(values).all() and (np.diff(values) > 0.0).all()):
        raise BadInput(f"counted samples must be up to {MOST_DIFFERENT} values that ascend; got others")
    whole = np.isfinite(counts).all() and (counts == np.floor(counts)).all() and (counts >= 1.0).all()
    if not whole or counts.sum() != record["count"]:
        raise BadInput(f"counts of samples must be whole and {record['count']} together; got others")
