"""The one place where functions are compiled.

A kernel is a flat function over typed contiguous arrays. It is compiled once a machine (the result is kept on disk)
and runs without the interpreter's lock, so that many runs go on side by side in threads.

numba's own cache looks only at the file a function stands in. Kernels call each other across files, so an edit in one
of them would leave the compiled callers stale. The key of our cache therefore covers all files with kernels.

Where neither the package nor the user's home can be written to (a container, mostly), compiled code is kept in a folder
of the temporary one that nobody else can write to, since what lies there is run; and without such a folder, not at all.
"""

from __future__ import annotations

import functools
import hashlib
import os
import pickle
import stat
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

import numba
from numba import types
from numba.core.caching import CompileResultCacheImpl, FunctionCache
from numba.core.compiler_lock import global_compiler_lock
from numba.experimental.function_type import _get_wrapper_address

P = ParamSpec("P")
T = TypeVar("T")


def _package_stamp() -> str:
    """A hash over every source file of the package that has to do with kernels."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parents[1].rglob("*.py")):
        text = path.read_bytes()
        if b"frontguard._common.compiled" in text or b"_kernel" in text:
            digest.update(text)
    return digest.hexdigest()


_STAMP = _package_stamp()


def _private_folder() -> str:
    """A folder for compiled code in the temporary one, ours alone. `OSError` where there is none to be had."""
    user = os.getuid() if hasattr(os, "getuid") else 0
    path = os.path.join(tempfile.gettempdir(), f"frontguard-{user}")
    with suppress(FileExistsError):
        os.mkdir(path, 0o700)
    status = os.lstat(path)  # not what a link leads to, which another user may have put there
    if not stat.S_ISDIR(status.st_mode) or (os.name == "posix" and (status.st_uid != user or status.st_mode & 0o077)):
        raise PermissionError(f"{path} is not a folder of ours alone")
    return path


_UserWide: Any = next(each for each in CompileResultCacheImpl._locator_classes if "UserWide" in each.__name__)


class _Home(_UserWide):  # type: ignore[misc]
    """numba's place in the user's home, where there is one: `~` is no folder."""

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> Any:
        return super().from_function(py_func, py_file) if os.path.isabs(os.path.expanduser("~")) else None


class _Private(_UserWide):  # type: ignore[misc]
    """A place in `_private_folder`."""

    def __init__(self, py_func: Any, py_file: str) -> None:
        super().__init__(py_func, py_file)
        self._cache_path = os.path.join(_private_folder(), self.get_suitable_cache_subpath(py_file))

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> Any:
        try:
            return super().from_function(py_func, py_file)
        except OSError:
            return None


class _PackageImpl(CompileResultCacheImpl):
    """Where compiled code is kept: as numba has it, and then in a private folder."""

    _locator_classes = [  # noqa: RUF012
        *(_Home if each is _UserWide else each for each in CompileResultCacheImpl._locator_classes),
        _Private,
    ]


class _PackageCache(FunctionCache):
    """numba's cache of one function, with the state of the whole package in its key."""

    _impl_class = _PackageImpl

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """What was kept, or None; also where it cannot be read."""
        with suppress(OSError, EOFError, pickle.UnpicklingError):
            return super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what was compiled, if that can be done: a disk that is full stops nobody."""
        with suppress(OSError):
            super().save_overload(sig, data)  # type: ignore[no-untyped-call]

    def _index_key(self, sig: Any, codegen: Any) -> tuple[Any, ...]:
        key: tuple[Any, ...] = super()._index_key(sig, codegen)  # type: ignore[no-untyped-call]
        return (*key, _STAMP)


def _compile(function: Callable[P, T], **options: Any) -> Callable[P, T]:
    dispatcher: Any = numba.njit(nogil=True, **options)(function)
    if hasattr(dispatcher, "enable_caching"):  # not so when numba is told to leave Python as it is
        with suppress(RuntimeError):  # no place to keep anything: it is compiled anew in every process
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
        ready: Callable[..., T] | None = None

        @functools.wraps(function)
        def call(*args: Any) -> T:
            nonlocal ready
            if ready is None:
                compiled.compile(signature)  # once: numba has a lock of its own
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


# A child that is forked while another thread compiles would wait for that thread for ever, which it does not have.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=global_compiler_lock.acquire,
        after_in_parent=global_compiler_lock.release,
        after_in_child=global_compiler_lock.release,
    )
