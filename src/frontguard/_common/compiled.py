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
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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


@contextmanager
def kernels(mode: str) -> Iterator[None]:
    """Meanwhile have kernels `compiled`, `interpreted`, or run `as needed`, in this process."""
    if mode not in _MODES:
        raise ValueError(f"mode must be one of {', '.join(_MODES)}; got {mode!r}")
    before, _State.mode = _State.mode, mode
    try:
        yield
    finally:
        _State.mode = before


def _price(kernel: Kernel | KernelEntry) -> float:
    sizes = {each: len(each.py_func.__code__.co_code) for each in interpreted.parts_of(kernel)}
    return _BEGINNING + _PER_BYTE * sum(n * (_INLINED if each.targetoptions else 1) for each, n in sizes.items())


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
                return self._machine(*args)
            if _State.mode == COMPILED or self._outgrown(args):
                self._machine = self.machine
                _State.begun = True
                return self._machine(*args)
        before = time.thread_time()
        try:
            return interpreted.call(self, args)
        finally:
            took = time.thread_time() - before
            self._spent += took
            _State.spent += took

    def _outgrown(self, args: tuple[Any, ...]) -> bool:
        """Whether machine code is worth its while from here on."""
        ahead = 0.0
        if self._over is not None:
            looped = self._size if self._deep else len(self.py_func.__code__.co_code)
            ahead = args[self._over].size * looped * _PASS_PER_BYTE
        if _State.spent + ahead < GLANCE and not (_State.begun and self._spent + ahead >= _LOOK):
            return False
        if self._kept is None:  # threads that ask at the same time look both: the other way would be to interpret
            from frontguard._common.machine_code import was_kept

            self._kept = was_kept(self.machine, args)
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

    @functools.cached_property
    def machine(self) -> Any:
        """numba's function of it, which compiles, or reads from disk, what it is called with for the first time."""
        from frontguard._common.machine_code import dispatcher

        return dispatcher(self.py_func, **self.targetoptions)

    @property
    def _numba_type_(self) -> Any:
        """What numba takes it for where a kernel that is compiled calls it."""
        from numba import types

        return types.Dispatcher(self._part)

    @functools.cached_property
    def _part(self) -> Any:
        from frontguard._common.machine_code import is_known

        if not is_known():  # what parts are made of may stand elsewhere there
            return self.machine
        from frontguard._common.linked import part

        return part(self)

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


class KernelEntry:
    """A kernel with one signature, which takes other kernels as values; compiled on first use, or `interpreted`."""

    def __init__(self, function: Callable[..., Any], signature: Any) -> None:
        functools.update_wrapper(self, function)
        self.py_func = function
        self.targetoptions: dict[str, str] = {}
        self._signature = signature
        self._ready: Any = None
        self.tried = 0.0  # seconds for which it was interpreted in place of being compiled, all in all

    def __call__(self, *args: Any) -> Any:
        if _State.mode == INTERPRETED:
            return self.interpreted(*args)
        if self._ready is None:
            self.machine.compile(self._signature)  # once: numba has a lock of its own
            # Called as it is: numba would look up anew in every call the kernels among the arguments.
            self._ready = self.machine.get_overload(self._signature)
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
        from frontguard._common.machine_code import kept

        return _State.mode == COMPILED or self._ready is not None or kept(self.machine, self._signature)

    @functools.cached_property
    def machine(self) -> Any:
        """numba's function of it."""
        from frontguard._common.machine_code import dispatcher

        return dispatcher(self.py_func)


def entry(signature: Any) -> Callable[[Callable[..., Any]], KernelEntry]:
    """Have a function compiled, on first use, for one signature: for kernels that are handed other kernels.

    Left to itself numba would compile such a function anew for every kernel handed in; the signature says that it
    takes any kernel of a kind, as a value (`machine_code.KernelValue`).
    """
    return lambda function: KernelEntry(function, signature)
