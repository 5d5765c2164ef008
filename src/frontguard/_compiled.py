"""The one place where functions are compiled.

A kernel is a flat function over typed contiguous arrays. It is compiled once a machine (the result is kept on disk)
and runs without the interpreter's lock, so that many runs go on side by side in threads.

numba's own cache looks only at the file a function stands in. Kernels call each other across files, so an edit in one
of them would leave the compiled callers stale. The key of our cache therefore covers all files with kernels.
"""

from __future__ import annotations

import functools
import hashlib
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

import numba
from numba import types
from numba.core.caching import FunctionCache
from numba.experimental.function_type import _get_wrapper_address

P = ParamSpec("P")
T = TypeVar("T")


def _package_stamp() -> str:
    """A hash over every source file of the package that has to do with kernels."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        text = path.read_bytes()
        if b"frontguard._compiled" in text or b"_kernel" in text:
            digest.update(text)
    return digest.hexdigest()


_STAMP = _package_stamp()


class _PackageCache(FunctionCache):
    """numba's cache of one function, with the state of the whole package in its key."""

    def _index_key(self, sig: Any, codegen: Any) -> tuple[Any, ...]:
        key: tuple[Any, ...] = super()._index_key(sig, codegen)  # type: ignore[no-untyped-call]
        return (*key, _STAMP)


def _compile(function: Callable[P, T], **options: Any) -> Callable[P, T]:
    dispatcher: Any = numba.njit(nogil=True, **options)(function)
    if hasattr(dispatcher, "enable_caching"):  # not so when numba is told to leave Python as it is
        dispatcher._cache = _PackageCache(dispatcher.py_func)  # type: ignore[no-untyped-call]
    return cast("Callable[P, T]", dispatcher)


def kernel(function: Callable[P, T]) -> Callable[P, T]:
    """Compile a function, on first use, for whatever types it is called with."""
    return _compile(function)


def inlined(function: Callable[P, T]) -> Callable[P, T]:
    """Compile a small function into the body of every kernel that calls it."""
    return _compile(function, inline="always")


def entry(signature: Any) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """Compile a function, on first use, for one signature: for kernels that Python calls and hands other kernels to.

    Left to itself numba would compile such a function anew for every kernel handed in; the signature says that it
    takes any kernel of a kind, as a value.
    """

    def make(function: Callable[..., T]) -> Callable[..., T]:
        compiled: Any = _compile(function)
        if not hasattr(compiled, "get_overload"):  # when numba is told to leave Python as it is
            return cast("Callable[..., T]", compiled)
        lock = threading.Lock()
        ready: Callable[..., T] | None = None

        @functools.wraps(function)
        def call(*args: Any) -> T:
            nonlocal ready
            if ready is None:
                with lock:
                    if ready is None:
                        compiled.compile(signature)
                        # Called as it is: numba would look up anew in every call the kernels among the arguments.
                        ready = compiled.get_overload(signature)
            return ready(*args)

        return call

    return make


def record_type(record: type[tuple[Any, ...]], *fields: Any) -> Any:
    """The type of a named tuple with fields of these types, for the signature of an `entry`."""
    return types.NamedTuple(fields, record)  # type: ignore[no-untyped-call]


class KernelValue(types.WrapperAddressProtocol):
    """A kernel as a value to be handed to an `entry`, compiled for its kind of signature."""

    def __init__(self, function: Callable[..., Any], signature: Any) -> None:
        self._function = function  # keeps the machine code alive
        self._signature = signature
        self._address = _get_wrapper_address(function, signature)  # type: ignore[no-untyped-call]

    def __wrapper_address__(self) -> int:
        return int(self._address)

    def signature(self) -> Any:
        """The signature that callers may rely on."""
        return self._signature
