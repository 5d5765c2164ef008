"""Kernels: flat functions over typed contiguous arrays, interpreted while there is little to do, compiled otherwise.

Compiling all that a first decision needs takes half a minute of a processor; to interpret the same decision takes some
milliseconds. So a kernel begins as the Python that it is (`_common.interpreted`), and becomes machine code
(`_common.machine_code`)

- when machine code of it was kept on disk, and some work has been done already;
- when to interpret it has taken, or is about to take, as long as compiling it would: at worst twice the shorter way;
  a quarter of that where machine code of others was found on disk, and what is compiled now will be found again.

Either way the same comes out, to the last bit, as the tests see to: CONTRIBUTING.md says what a kernel may do.
numba itself is imported when the first kernel needs it.

The environment variable FRONTGUARD_KERNELS decides otherwise: `compiled` compiles whatever is called, `interpreted`
nothing.
"""

from __future__ import annotations

import functools
import inspect
import os
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, ParamSpec, TypeVar, cast, overload

from frontguard._common import interpreted

P = ParamSpec("P")
T = TypeVar("T")

IMPORTED_AT = time.time()
"""Before kernels were read from their files."""

AS_NEEDED, COMPILED, INTERPRETED = "as needed", "compiled", "interpreted"
_MODES = (AS_NEEDED, COMPILED, INTERPRETED)

GLANCE = 0.2
"""Seconds of interpreting, by all kernels, before it is asked whether machine code was kept: importing numba takes as
long."""

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
    """Of this process: how kernels are run, and how long all of them have been interpreted."""

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


def _price(kernel: Kernel | KernelEntry) -> float:
    sizes = {each: len(each.py_func.__code__.co_code) for each in interpreted.parts_of(kernel)}
    return _BEGINNING + _PER_BYTE * sum(n * (_INLINED if each.targetoptions else 1) for each, n in sizes.items())


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
            return interpreted.call(self, args)
        finally:
            took = time.thread_time() - before
            self._spent += took
            _State.spent += took

    def _compiled(self, args: tuple[Any, ...]) -> Any:
        self._machine = machine_code().compiled(self, args)
        return self._machine

    def _outgrown(self, args: tuple[Any, ...]) -> bool:
        """Whether machine code is worth its while from here on."""
        ahead = 0.0
        if self._over is not None:
            looped = self._size if self._deep else len(self.py_func.__code__.co_code)
            ahead = args[self._over].size * looped * _PASS_PER_BYTE
        if _State.spent + ahead < GLANCE and not (_State.begun and self._spent + ahead >= _LOOK):
            return False
        found = machine_code()
        if found is None:
            return False
        if self._kept is None:  # threads that ask at the same time look both: the other way would be to interpret
            self._kept = found.was_kept(self)
            _State.found |= self._kept
        return self._kept or self._spent + ahead >= self.price / (_AGAIN if _State.found else 1)

    @functools.cached_property
    def _size(self) -> int:
        """Bytes of bytecode, its own and of all that it calls."""
        return sum(len(each.py_func.__code__.co_code) for each in interpreted.parts_of(self))

    @functools.cached_property
    def price(self) -> float:
        """Seconds that compiling will take, about: for itself and for all that it calls."""
        return _price(self)

    def __get__(self, instance: object, owner: type | None = None) -> Kernel:
        return self

    def __reduce__(self) -> str:
        return self.__qualname__

    __qualname__: str
    __name__: str

    def __repr__(self) -> str:
        return f"<kernel {self.__module__}.{self.__qualname__}>"


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
    """A kernel as a value, to be handed to an `entry` that calls it: numba's "first-class function".

    `signature` gives its types, made of numba's `types`. Callers may rely on them, whatever kernel is handed in.
    """

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
        """What an interpreted entry calls."""
        return interpreted.twin(self._function) if isinstance(self._function, Kernel) else self._function


class KernelEntry:
    """A kernel that takes others as values: compiled on first use, or `interpreted`.

    Its arguments have the same types in every call, and are not looked at again.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function)
        self.py_func = function
        self.targetoptions: dict[str, str] = {}
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
        """The same by the interpreter."""
        return interpreted.call(self, args)

    @functools.cached_property
    def price(self) -> float:
        """Seconds that compiling will take, about."""
        return _price(self)

    @property
    def is_ready(self) -> bool:
        """Whether machine code of it is there, or was kept on disk: to be had at once."""
        if _State.mode == COMPILED or self._ready is not None:
            return True
        found = machine_code()
        return found is not None and found.was_kept(self)

    __qualname__: str


def entry(function: Callable[..., Any]) -> KernelEntry:
    """Make a kernel that is handed other kernels (`KernelValue`), and is compiled on first use."""
    return KernelEntry(function)
