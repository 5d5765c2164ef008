"""Reading arrays out of a pickle of unknown origin without running anything that it asks for.

A pickle is a program: it may name any function and have it called. This reader knows the few names that stand
in pickles of plain numeric numpy arrays, and puts stand-ins of its own in their place; every other name is refused
before anything is looked up. No function of numpy ever sees the pickle's raw state, which could make it read memory
that is not the array's: the stand-ins check it and copy the numbers.
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

    def __init__(self, name: str, *_flags: object) -> None:
        if not _NUMERIC.fullmatch(name):
            raise RefusedNameError(f"an array of type {name!r} (only numbers are admitted)")
        self.dtype: np.dtype[Any] = np.dtype(name)

    def __setstate__(self, state: Any) -> None:
        self.dtype = self.dtype.newbyteorder(state[1])


class _Array:
    """Stands for numpy.ndarray: has an array of its own memory once its state is set."""

    values: npt.NDArray[Any]

    def __setstate__(self, state: Any) -> None:
        _version, shape, dtype, in_fortran_order, content = state
        if isinstance(content, str):  # how Python 2 and protocol 0 write bytes
            content = content.encode("latin-1")
        flat = np.frombuffer(bytes(content), dtype.dtype)
        self.values = flat.reshape(shape, order="F" if in_fortran_order else "C").copy()


def _from_buffer(content: object, dtype: object, shape: object, order: object, *_rest: object) -> _Array:
    array = _Array()
    array.__setstate__((1, shape, dtype, order == "F", content))
    return array


_STAND_INS: dict[tuple[str, str], Callable[..., object]] = {
    ("_codecs", "encode"): lambda text, _encoding: str(text).encode("latin-1"),
    ("builtins", "bytearray"): lambda content: b"" + content,
    ("numpy", "dtype"): _Dtype,
    ("numpy", "ndarray"): _Array,
    ("numpy._core.multiarray", "_reconstruct"): lambda *_: _Array(),
    ("numpy._core.multiarray", "scalar"): lambda dtype, content: _from_buffer(content, dtype, (), "C").values.item(),
    ("numpy._core.numeric", "_frombuffer"): _from_buffer,
}


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        """Look a name up among the stand-ins only."""
        call = _STAND_INS.get((module.replace("numpy.core.", "numpy._core."), name))  # numpy 2 moved them
        if call is None:
            raise RefusedNameError(f"{module}.{name}")
        return lambda *arguments: call(*arguments)  # anew each time: a pickle can change what it is given

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
    values = getattr(thing, "values", None) if isinstance(thing, _Array) else thing
    if isinstance(values, list | tuple) and all(isinstance(item, int | float) for item in values):
        values = np.asarray(values)
    if not isinstance(values, np.ndarray):
        raise BadInput(f"{what}: wanted a numpy array of numbers, got {type(thing).__name__}")
    return values
