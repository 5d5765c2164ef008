"""Kernels by the interpreter: the same source, with what machine code does differently made alike.

- *Records.* numba reads fields of records as attributes, which arrays of numpy do not offer. Tables are turned into
  lists of small objects with plain numbers, which is faster besides, and what was changed is written back.
- *Logarithms and the like* of numbers that have none are −∞ or NaN, as in C, instead of errors; and so is overflow, of
  which numpy would warn.
- *Results* are plain numbers, as numba returns them.

A kernel's twin is its own code with other globals: kernels that it calls are their twins, `math` is ours.
"""

from __future__ import annotations

import builtins
import functools
import math
from collections.abc import Callable, Iterator
from operator import attrgetter
from types import CellType, CodeType, FunctionType, ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt


def call(kernel: Any, args: tuple[Any, ...]) -> Any:
    """Call the twin of a kernel as one calls the kernel."""
    tables: _Tables = {}
    with np.errstate(all="ignore"):
        result = twin(kernel)(*[_given(each, tables) for each in args])
    for array, records in tables.values():
        records.write_back(array)
    return _plain(result)


# Twins -------------------------------------------------------------------------------------------------------------

_Twins = dict[Callable[..., Any], FunctionType]  # by function
_twins: _Twins = {}


def twin(kernel: Any) -> FunctionType:
    """The function of a kernel, or entry, as the interpreter runs it."""
    found = _twins.get(kernel.py_func)
    if found is None:
        made: _Twins = {}
        found = _make_twin(kernel.py_func, made)
        _twins.update(made)  # whole, for other threads
    return found


def _make_twin(function: Callable[..., Any], made: _Twins) -> FunctionType:
    """The twin of a function; adds those that it needs to what is `made`."""
    found = _twins.get(function) or made.get(function)
    if found is None:
        scope: dict[str, Any] = {"__builtins__": builtins, "__name__": function.__module__}
        cells = tuple(CellType(_in_twins(cell.cell_contents, made)) for cell in function.__closure__ or ())
        found = FunctionType(function.__code__, scope, function.__name__, function.__defaults__, cells)
        made[function] = found  # before what it calls, which may be itself
        for name in _names(function.__code__):
            if name in function.__globals__:
                scope[name] = _in_twins(function.__globals__[name], made)
    return found


def parts_of(kernel: Any) -> set[Any]:
    """A kernel and all kernels that it calls, directly or not."""
    found: set[Any] = set()
    waiting = [kernel]
    while waiting:
        part = waiting.pop()
        if part in found:
            continue
        found.add(part)
        function = part.py_func
        names = list(_names(function.__code__))
        for name in names:
            value = function.__globals__.get(name)
            inside: list[Any] = [value]
            if isinstance(value, ModuleType):
                inside = [getattr(value, each, None) for each in names]
            waiting += [each for each in inside if hasattr(each, "py_func")]
    return found


def _names(code: CodeType) -> Iterator[str]:
    """All global names, and names of attributes, that code and the functions within it use."""
    yield from code.co_names
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _names(each)


def _in_twins(value: Any, made: _Twins) -> Any:
    """What stands for a global value of a kernel in its twin."""
    if value is math:
        return _MATH
    if isinstance(value, ModuleType) and value.__name__.startswith("frontguard."):
        return _Module(value)
    return _make_twin(value.py_func, made) if hasattr(value, "py_func") else value


class _Module:
    """A module of ours whose kernels are their twins."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._module, name)
        found = twin(value) if hasattr(value, "py_func") else value
        setattr(self, name, found)  # from here on it is found at once
        return found


def _as_in_c(function: Callable[[float], float], edge: float | None = None) -> Callable[[float], float]:
    """A function of `math` without its errors: −∞ at its edge, ∞ where it overflows, NaN where it is not defined."""

    @functools.wraps(function)
    def lenient(x: float) -> float:
        try:
            return function(x)
        except ValueError:
            return -math.inf if x == edge else math.nan
        except OverflowError:
            return math.inf

    return lenient


_MATH = SimpleNamespace(
    **{
        **vars(math),
        "log": _as_in_c(math.log, 0.0),
        "log1p": _as_in_c(math.log1p, -1.0),
        "sqrt": _as_in_c(math.sqrt),
        "exp": _as_in_c(math.exp),
        "expm1": _as_in_c(math.expm1),
        "cos": _as_in_c(math.cos),
        "tan": _as_in_c(math.tan),
    }
)


# What goes in and what comes out -----------------------------------------------------------------------------------


class _Records(list[Any]):
    """The records of a table, as objects with attributes."""

    def __init__(self, array: npt.NDArray[np.void]) -> None:
        self._before = array.tolist()
        kind = _record(array.dtype)
        super().__init__([kind(*fields) for fields in self._before])
        self.shape, self.size = array.shape, array.size

    def write_back(self, array: npt.NDArray[np.void]) -> None:
        """Put what has changed into the array, and nothing else: other threads may read the rest, or change it."""
        fields = attrgetter(*(array.dtype.names or ()))
        for i, (record, before) in enumerate(zip(self, self._before, strict=True)):
            now = fields(record)
            if now != before:
                array[i] = now


_Tables = dict[int, tuple[npt.NDArray[np.void], _Records]]  # by identity: what was one array stays one


@functools.cache
def _record(dtype: np.dtype[Any]) -> type:
    """A class of objects with the fields of records of this type."""
    names = dtype.names or ()
    made: dict[str, Any] = {}
    body = "\n".join(f"    self.{name} = {name}" for name in names)
    exec(f"def __init__(self, {', '.join(names)}):\n{body}", made)
    return type("Record", (), {"__slots__": names, "__init__": made["__init__"]})


def _given(value: Any, tables: _Tables) -> Any:
    """An argument as a twin takes it; adds to the `tables` so far."""
    if isinstance(value, np.ndarray):
        if value.dtype.names is None:
            return value
        if id(value) not in tables:
            tables[id(value)] = value, _Records(value)
        return tables[id(value)][1]
    if isinstance(value, np.void):  # one record: as numpy has it, the part of an array
        return _given(np.asarray(value).reshape(1), tables)[0]
    if isinstance(value, tuple):
        each = [_given(one, tables) for one in value]
        return type(value)(*each) if hasattr(value, "_fields") else tuple(each)
    if hasattr(value, "kernel_itself"):  # a kernel as a value
        return value.kernel_itself
    return value


def _plain(value: Any) -> Any:
    """A result as numba returns it: numbers are Python's own."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, tuple):
        each = [_plain(one) for one in value]
        return type(value)(*each) if hasattr(value, "_fields") else tuple(each)
    return value
