"""Reading arrays out of a pickle of unknown origin without running anything that it asks for.

A pickle is a program: it may name any function and have it called. This reader knows the few names that stand
in pickles of plain numeric numpy arrays, and puts inert stand-ins of its own in their place; every other name
is refused before anything is looked up. No function of numpy ever sees the pickle's raw state: the stand-ins
check it and copy the numbers.
"""

from __future__ import annotations

import io
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from frontguard.errors import BadInput
from frontguard.phrases import one_line

LARGEST_FILE = 64 * 1024 * 1024
"""The authors' file has about a hundred kilobytes; one beyond this is refused unread."""

_NUMERIC = re.compile(r"[<>|=]?([iuf][1248]|b1|\?)")


class RefusedNameError(Exception):
    """The pickle names something that is not part of a numeric numpy array."""


class _Dtype:
    """Stands for numpy.dtype: a numeric type whose state may only set its byte order."""

    def __init__(self, name: object, *_flags: object) -> None:
        if not isinstance(name, str) or not _NUMERIC.fullmatch(name):
            raise RefusedNameError(f"an array of type {name!r} (only numbers are admitted)")
        self.dtype: np.dtype[Any] = np.dtype(name)

    def __setstate__(self, state: object) -> None:
        if not isinstance(state, tuple) or len(state) < 2 or state[1] not in ("<", ">", "|", "="):
            raise ValueError("the state of a numpy type is damaged")
        self.dtype = self.dtype.newbyteorder(state[1])


class _Array:
    """Stands for numpy.ndarray: filled from its state, after checks."""

    def __init__(self) -> None:
        self.values: npt.NDArray[Any] | None = None

    def __setstate__(self, state: object) -> None:
        if not isinstance(state, tuple) or len(state) != 5:
            raise ValueError("the state of a numpy array is damaged")
        _version, shape, dtype, in_fortran_order, content = state
        self.values = _filled(content, dtype, shape, "F" if in_fortran_order else "C")


def _filled(content: object, dtype: object, shape: object, order: object) -> npt.NDArray[Any]:
    """An array of its own memory from raw bytes; the number of bytes must be what the shape says."""
    if isinstance(content, str):  # how Python 2 and protocol 0 write bytes
        content = content.encode("latin-1")
    if not isinstance(content, bytes | bytearray) or not isinstance(dtype, _Dtype) or not isinstance(shape, tuple):
        raise ValueError("the state of a numpy array is damaged")
    if not all(isinstance(side, int) and side >= 0 for side in shape) or order not in ("C", "F"):
        raise ValueError(f"the shape of a numpy array is damaged: {shape!r}")
    return np.frombuffer(bytes(content), dtype.dtype).reshape(shape, order="F" if order == "F" else "C").copy()


def _reconstruct(subtype: object, *_rest: object) -> _Array:
    if subtype is not _ARRAY_TYPE:
        raise ValueError("a numpy array of another type than ndarray")
    return _Array()


def _from_buffer(content: object, dtype: object, shape: object, order: object, *_rest: object) -> _Array:
    array = _Array()
    array.values = _filled(content, dtype, shape, order)
    return array


def _scalar(dtype: object, content: object) -> object:
    return _filled(content, dtype, (), "C").item()


def _encode(text: object, encoding: object = "latin1") -> bytes:
    if not isinstance(text, str) or encoding != "latin1":
        raise RefusedNameError(f"an encoding {encoding!r}")
    return text.encode("latin-1")


def _bytes(content: object = b"", *rest: object) -> bytes:
    if rest or not isinstance(content, bytes | bytearray):
        raise ValueError("bytes are damaged")
    return bytes(content)


_ARRAY_TYPE = object()

_STAND_INS: dict[tuple[str, str], object] = {
    ("_codecs", "encode"): _encode,
    ("builtins", "bytearray"): _bytes,
}
for _core in ("numpy.core", "numpy._core"):  # numpy 2 moved them
    _STAND_INS[f"{_core}.multiarray", "_reconstruct"] = _reconstruct
    _STAND_INS[f"{_core}.multiarray", "scalar"] = _scalar
    _STAND_INS[f"{_core}.numeric", "_frombuffer"] = _from_buffer
_STAND_INS["numpy", "ndarray"] = _ARRAY_TYPE
_STAND_INS["numpy", "dtype"] = _Dtype


class _Sealed:
    """Hands a stand-in to the pickle as something that can be called and nothing else: no attribute can be
    set on it.
    """

    __slots__ = ("_call",)
    _call: Callable[..., object]

    def __init__(self, call: Callable[..., object]) -> None:
        object.__setattr__(self, "_call", call)

    def __call__(self, *arguments: object) -> object:
        return self._call(*arguments)

    def __setattr__(self, name: str, value: object) -> None:
        raise RefusedNameError(f"to change {name!r} of a function")

    def __setstate__(self, state: object) -> None:
        raise RefusedNameError("to change a function")


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        """Look a name up among the stand-ins only."""
        found = _STAND_INS.get((module, name))
        if found is None:
            raise RefusedNameError(f"{module}.{name}")
        return found if found is _ARRAY_TYPE else _Sealed(found)  # type: ignore[arg-type]

    def persistent_load(self, pid: object) -> Any:
        """Refuse references to objects outside of the file."""
        raise RefusedNameError(f"an outside object {pid!r}")


def load_arrays(path: Path) -> object:
    """Read a pickle made of dicts, lists, tuples, strings, numbers and numeric numpy arrays; refuse any other.

    Arrays come back as stand-ins: pass what you need of the result to `as_array`.
    """
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise BadInput(f"{path}: wanted a pickle of at most {LARGEST_FILE} bytes, got {path.stat().st_size}")
        content = path.read_bytes()
    except FileNotFoundError:
        raise BadInput(f"{path}: no such file") from None
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror or error}") from None
    try:
        return _Unpickler(io.BytesIO(content)).load()
    except RefusedNameError as error:
        wanted = "only numbers, text, dicts, lists and numeric numpy arrays are admitted"
        raise BadInput(f"{path}: refused: the pickle asks for {one_line(str(error), 120)}; {wanted}") from None
    except Exception as error:  # a damaged pickle fails in any way that its bytes can spell
        raise BadInput(f"{path}: damaged pickle: {one_line(str(error), 120) or type(error).__name__}") from None


def as_array(thing: object, *, what: str) -> npt.NDArray[Any]:
    """The numpy array behind something that `load_arrays` returned; lists of numbers are taken too."""
    if isinstance(thing, _Array) and thing.values is not None:
        return thing.values
    if isinstance(thing, list | tuple) and all(isinstance(item, int | float) for item in thing):
        return np.asarray(thing)
    raise BadInput(f"{what}: wanted a numpy array of numbers, got {type(thing).__name__}")
