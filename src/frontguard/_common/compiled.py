"""Kernels: flat functions over typed contiguous arrays, interpreted while there is little to do, compiled otherwise.

Compiling all that a first decision needs takes half a minute of a processor; to interpret the same decision takes some
milliseconds. So a kernel begins as the Python that it is, its *twin*, and becomes machine code (`_common.machine_code`)

- when machine code of it was kept on disk, and some work has been done already;
- when to interpret it has taken, or is about to take, as long as compiling it would: at worst twice the shorter way;
  a quarter of that where machine code of others was found on disk, and what is compiled now will be found again.

Either way the same comes out, to the last bit: CONTRIBUTING.md says what a kernel may do. numba is imported when the
first kernel needs it. The environment variable FRONTGUARD_KERNELS decides otherwise: `compiled`, or `interpreted`.

A twin is the kernel's own code with other globals: kernels that it calls are their twins, `math` is ours. What machine
code does differently is made alike:

- *Records.* numba reads fields of records as attributes, which arrays of numpy do not offer. Tables are turned into
  lists of small objects with plain numbers, and what was changed is written back.
- *Logarithms and the like* of numbers that have none are −∞ or NaN, as in C, instead of errors; and so is overflow.
- *Results* are plain numbers, as numba returns them.
"""

from __future__ import annotations

import builtins
import functools
import inspect
import math
import os
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from types import CellType, CodeType, FunctionType, ModuleType, SimpleNamespace
from typing import Any, ParamSpec, TypeVar, cast, overload

import numpy as np
import numpy.typing as npt


def call_twin(kernel: Any, args: tuple[Any, ...]) -> Any:
    """Call the twin of a kernel as one calls the kernel."""
    tables: _Tables = {}
    with np.errstate(all="ignore"):
        result = twin(kernel)(*[_given(each, tables) for each in args])
    for array, records in tables.values():
        records.write_back(array)
    return _plain(result)


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
    """The twin of a function; those that it needs are added to `made`."""
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
    """The value in a twin for a global value of its kernel."""
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


P = ParamSpec("P")
T = TypeVar("T")

IMPORTED_AT = time.time()
"""Before kernels were read from their files."""

AS_NEEDED, COMPILED, INTERPRETED = "as needed", "compiled", "interpreted"
_MODES = (AS_NEEDED, COMPILED, INTERPRETED)

GLANCE = 0.5
"""Seconds of interpreting, by all kernels, before it is asked whether machine code was kept: to start numba and to load
the first kernel takes as long."""

_LOOK = 0.005  # the same of one kernel where another one is machine code already: to look on disk takes as long

_BEGINNING = 0.1  # seconds that compiling takes at least ...
_PER_BYTE = 3e-4  # ... and for each byte of bytecode, of all that a kernel calls; see docs/benchmarks.md
_AGAIN = 4  # times that what is compiled is taken to be of use, where things are kept from run to run
_INLINED = 3  # times that what is inlined is compiled, about
_PASS_PER_BYTE = 6e-9  # seconds that interpreting each byte takes, once


def _mode_asked_for() -> str:
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):  # numba is told to leave Python as it is
        return INTERPRETED
    asked = os.environ.get("FRONTGUARD_KERNELS", AS_NEEDED)
    return asked if asked in _MODES else AS_NEEDED


class _State:
    """State of this process: how kernels are run, and how long all of them have been interpreted."""

    mode = _mode_asked_for()
    spent = 0.0
    begun = False  # whether any of them is machine code by now, for which numba had to be imported
    found = False  # whether machine code of any was on disk
    lost = False  # whether numba cannot be used any more, after a fork


@contextmanager
def kernels(mode: str) -> Iterator[None]:
    """Meanwhile have kernels `compiled`, `interpreted`, or run `as needed`, in this process."""
    if mode not in _MODES:
        raise ValueError(f"mode must be one of {', '.join(_MODES)}; got {mode!r}")
    before, _State.mode = _State.mode, INTERPRETED if _State.lost else mode
    try:
        yield
    finally:
        _State.mode = INTERPRETED if _State.lost else before


def places() -> list[Path]:
    """Where machine code is kept, in a folder for each state of the package: the first place that will do."""
    given = os.environ.get("NUMBA_CACHE_DIR")
    home = Path(os.path.expanduser("~"), ".cache", "frontguard")
    return [Path(given, "frontguard")] if given else [Path(__file__).parents[1] / "__pycache__" / "kernels", home]


@functools.cache
def _names_kept() -> frozenset[str]:
    """Names of kernels that were kept in any state: without any, numba is not started to look."""
    found: set[str] = set()
    for each in (each for place in places() for each in place.glob("*/kept")):
        with suppress(OSError):
            found.update(each.read_text().split())
    return frozenset(found)


def expect(seconds: float, kernel: Any = None) -> None:
    """Take notice that to interpret what comes next would take so long, that of a kernel alone if one is given."""
    _State.spent += seconds
    if kernel is not None:
        kernel._spent += seconds


_importing = threading.RLock()
_MODULE = "frontguard._common.machine_code"


_found: list[Any] = []  # what `machine_code` gives, once it is known


def machine_code() -> Any:
    """The module that compiles kernels; None, after a warning, if numba is missing or cannot be used."""
    if not _found:
        with _importing:
            if not _found:
                _found.append(_imported())
    return _found[0]


def _imported() -> Any:
    try:
        return import_module(_MODULE)
    except Exception as error:  # numba also refuses a NumPy that it does not know
        slow = "kernels are interpreted: the same answers, many times slower where there is much to do"
        warnings.warn(f"numba cannot be used ({error}); {slow}", RuntimeWarning, stacklevel=4)
        return None


def _after_fork() -> None:
    """Interpret for good in a child of a process in which another thread was importing numba.

    A child does not have that thread, and the import stays locked for ever. Nobody waits for it before the fork: it may
    itself wait for a lock that is held while the process forks.
    """
    free = _importing.acquire(blocking=False)
    if free:
        _importing.release()
    if not free or (_MODULE in sys.modules and not hasattr(sys.modules[_MODULE], "READY")):
        _State.lost, _State.mode = True, INTERPRETED


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class Kernel:
    """A function that is interpreted or compiled, whichever is sooner done. In other kernels it is a part of them."""

    def __init__(
        self, function: Callable[..., Any], *, inline: bool = False, over: str | None = None, deep: bool = False
    ) -> None:
        functools.update_wrapper(self, function)
        self.py_func = function
        self.targetoptions = {"inline": "always"} if inline else {}  # here numba looks whether to inline
        self._over = None if over is None else list(inspect.signature(function).parameters).index(over)
        self._deep = deep
        self._machine: Any = None  # what is called once it pays to
        self._spent = 0.0
        self._kept: bool | None = None  # whether machine code is on disk; None while nobody looked

    def __call__(self, *args: Any) -> Any:
        if _State.mode != INTERPRETED:
            if self._machine is not None:
                try:
                    return self._machine(*args)
                except OSError:  # it was compiled for other types, and could not be kept
                    return self._compiled(args)(*args)
            if (_State.mode == COMPILED or self._outgrown(args)) and machine_code() is not None:
                _State.begun = True
                return self._compiled(args)(*args)
        before = time.thread_time()
        try:
            return call_twin(self, args)
        finally:
            took = time.thread_time() - before
            self._spent += took
            _State.spent += took

    @property
    def name(self) -> str:
        """Its name in the list of those that were kept."""
        return f"{self.__module__}.{self.__qualname__}"

    def _compiled(self, args: tuple[Any, ...]) -> Any:
        self._machine = machine_code().compiled(self, args)
        return self._machine

    def _outgrown(self, args: tuple[Any, ...]) -> bool:
        """True if machine code is worth its while from here on."""
        ahead = 0.0
        if self._over is not None:
            looped = self._size if self._deep else len(self.py_func.__code__.co_code)
            ahead = args[self._over].size * looped * _PASS_PER_BYTE
        if _State.spent + ahead < GLANCE and not (_State.begun and self._spent + ahead >= _LOOK):
            return False
        if self._kept is None:  # threads that ask at the same time look both: the other way would be to interpret
            sought = self.name in _names_kept() and machine_code() is not None
            self._kept = sought and machine_code().was_kept(self)
            _State.found |= self._kept
        pays = self._kept or self._spent + ahead >= self.price / (_AGAIN if _State.found else 1)
        return pays and machine_code() is not None

    @functools.cached_property
    def _size(self) -> int:
        """Bytes of bytecode, its own and of all that it calls."""
        return sum(len(each.py_func.__code__.co_code) for each in parts_of(self))

    @functools.cached_property
    def price(self) -> float:
        """Seconds that compiling will take, about: for itself and for all that it calls."""
        sizes = {each: len(each.py_func.__code__.co_code) for each in parts_of(self)}
        return _BEGINNING + _PER_BYTE * sum(n * (_INLINED if each.targetoptions else 1) for each, n in sizes.items())

    def __get__(self, instance: object, owner: type | None = None) -> Kernel:
        return self

    def __reduce__(self) -> str:
        return self.__qualname__

    __qualname__: str
    __name__: str

    def __repr__(self) -> str:
        return f"<kernel {self.name}>"


@overload
def kernel(function: Callable[P, T], /) -> Callable[P, T]: ...
@overload
def kernel(*, over: str, deep: bool = ...) -> Callable[[Callable[P, T]], Callable[P, T]]: ...
def kernel(function: Callable[P, T] | None = None, /, *, over: str | None = None, deep: bool = False) -> Any:
    """Make a kernel of a function. It is compiled for whatever types it is called with.

    `over` names the array over which it loops, if it can be a long one: so it is known beforehand what a call takes.
    With `deep`, the kernels that it calls are called for each element as well.
    """
    if function is None:
        return lambda given: Kernel(given, over=over, deep=deep)
    return Kernel(function)


def inlined(function: Callable[P, T]) -> Callable[P, T]:
    """A small function that is compiled into the body of every kernel that calls it."""
    return cast("Callable[P, T]", Kernel(function, inline=True))


class KernelValue:
    """A kernel as a value, to be handed to an `entry` that calls it: numba's "first-class function"."""

    def __init__(self, function: Callable[..., Any], signature: Callable[[Any], Any]) -> None:
        self._function = function
        self.signature = signature

    @functools.cached_property
    def _pointer(self) -> Any:  # keeps the machine code alive
        return machine_code().pointer(getattr(self._function, "py_func", self._function), self.signature)

    def __wrapper_address__(self) -> int:
        return int(self._pointer.address)

    @property
    def kernel_itself(self) -> Callable[..., Any]:
        """The function that an interpreted entry calls."""
        return twin(self._function) if isinstance(self._function, Kernel) else self._function


class KernelEntry(Kernel):
    """A kernel that takes others as values: compiled on first use, or `interpreted`."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._ready: Any = None
        self.tried = 0.0  # seconds for which it was interpreted in place of being compiled, all in all

    def __call__(self, *args: Any) -> Any:
        if _State.mode == INTERPRETED:
            return self.interpreted(*args)
        if self._ready is None:
            found = machine_code()
            self._ready = self.interpreted if found is None else found.entry_point(self, args)
        return self._ready(*args)

    def interpreted(self, *args: Any) -> Any:
        """The entry as the interpreter runs it."""
        return call_twin(self, args)

    @property
    def is_ready(self) -> bool:
        """True if machine code of it is there, or was kept on disk."""
        if _State.mode == COMPILED or self._ready is not None:
            return True
        found = machine_code()
        return found is not None and found.was_kept(self)


def entry(function: Callable[..., Any]) -> KernelEntry:
    """Make a kernel that is handed other kernels (`KernelValue`), and is compiled on first use."""
    return KernelEntry(function)
