"""Machine code of kernels, compiled once on each machine and kept on disk: the only module that imports numba.

Import it through `compiled.machine_code()`. numba's cache looks at the file of a function, and not at those of the
functions that it calls. So machine code is kept in a folder named by a hash of all files with kernels. It lies in the
package, or else in the user's home, if nobody else can write there: what is kept is run. Where neither will do, nothing
is kept. `NUMBA_CACHE_DIR` names another place.
"""

from __future__ import annotations

import functools
import gc
import hashlib
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numba
import numba.np.linalg
from llvmlite import binding
from numba import config, types
from numba.core.compiler_lock import global_compiler_lock
from numba.extending import models, register_model, typeof_impl

from frontguard._common.compiled import IMPORTED_AT, Kernel, KernelEntry, KernelValue, parts_of, places
from frontguard._common.secrets import is_ours

OLDEST, TOO_NEW = (0, 60), (1, 0)
"""Versions of numba that are used: from the first to before the second."""

if not OLDEST <= numba.version_info.short < TOO_NEW:
    raise ImportError(f"numba {numba.__version__} is not from {OLDEST[0]}.{OLDEST[1]} to before {TOO_NEW[0]}")


@contextmanager
def _changed(holder: Any, **values: Any) -> Iterator[None]:
    before = {name: getattr(holder, name) for name in values}
    vars(holder).update(values)
    try:
        yield
    finally:
        vars(holder).update(before)


with _changed(numba.np.linalg, ensure_blas=lambda: None):  # or it imports scipy.linalg to see that it is there: 0.15 s
    import numba.np.arraymath


_OLD = 24 * 3600.0  # seconds after which the folder of another state of the package may go


def _stamp(package: Path) -> str:
    """A hash of all that machine code depends on; `OSError` if a file is newer: old code must not be kept as new."""
    digest = hashlib.sha256(f"{package} {sys.version} {numba.__version__} {binding.get_host_cpu_name()}".encode())
    for path in sorted(package.rglob("*.py")):
        text = path.read_bytes()
        if b"frontguard._common.compiled" in text or b"_kernel" in text:
            digest.update(text)
            if path.stat().st_mtime > IMPORTED_AT:
                raise OSError(f"{path} was replaced")
    return digest.hexdigest()[:16]


def _find_folder() -> Path | None:
    """The folder for machine code of this state of the package; None where that is not possible."""
    package = Path(__file__).parents[1]
    for place in places():
        with suppress(OSError):
            folder = place.absolute() / _stamp(package)
            if not folder.exists():
                place.mkdir(mode=0o700, parents=True, exist_ok=True)
                folder.mkdir(mode=0o700)
                for other in place.iterdir():
                    if other.stat().st_mtime < time.time() - _OLD:
                        shutil.rmtree(other, ignore_errors=True)
            tempfile.TemporaryFile(dir=folder).close()
            if is_ours(place) and is_ours(folder):
                return folder
    return None


_folder = _find_folder()
_kept: set[str] = set()  # names of kernels of which machine code is on disk
with suppress(OSError):
    _kept.update((_folder / "kept").read_text().split() if _folder else ())


def was_kept(kernel: Kernel) -> bool:
    """True if machine code of a kernel is on disk; that it is for the same types is not certain."""
    return kernel.name in _kept


def _note_kept(kernel: Kernel) -> None:
    """Let later processes know that a kernel was compiled, and those that it calls."""
    found = {part.name for part in parts_of(kernel) if part.py_func in _dispatchers} - _kept
    if _folder and found:
        _kept.update(found)
        with suppress(OSError), open(_folder / "kept", "a") as file:
            file.write("".join(f"{name}\n" for name in found))


_OPTIMIZED = 2
"""How much LLVM is asked to optimize. At numba's own level, 3, compiling the certified run takes 1.7 times as long, and
the run as long as before (docs/benchmarks.md)."""

_COLLECTED = 100_000
"""After how many new objects Python looks for cycles meanwhile: at its own pace, that takes a sixth of the time."""

_dispatchers: dict[Callable[..., Any], Any] = {}  # numba's functions, by ours


def compiled(kernel: Kernel, args: tuple[Any, ...]) -> Any:
    """numba's function of a kernel, with machine code for these arguments."""

    def make() -> Any:
        made = _dispatcher(kernel)
        made.compile(tuple(numba.typeof(each) for each in args))
        return made

    made = _made(make)
    _note_kept(kernel)
    return made


def entry_point(kernel: KernelEntry, args: tuple[Any, ...]) -> Callable[..., Any]:
    """Machine code for arguments of these types, called as it is: numba would look up their types in every call."""
    found: Callable[..., Any] = compiled(kernel, args).get_overload(tuple(numba.typeof(each) for each in args))
    return found


@functools.cache
def pointer(function: Callable[..., Any], signature: Callable[[Any], Any]) -> Any:
    """A function compiled for callers that have its `address` only."""
    return _made(lambda: _decorated(function, numba.cfunc, signature(types)))


def _dispatcher(kernel: Kernel) -> Any:
    function = kernel.py_func
    if function not in _dispatchers:
        _dispatchers[function] = _decorated(function, numba.njit, nogil=True, **kernel.targetoptions)
    return _dispatchers[function]


def _decorated(function: Callable[..., Any], decorator: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """A function decorated by numba, whose machine code is kept in our folder if it stands in a file."""
    keep = _folder is not None and os.path.exists(function.__code__.co_filename)
    with _set(CACHE_DIR=str(_folder) if keep else config.CACHE_DIR):
        return decorator(*args, cache=keep, **options)(function)


def _made(make: Callable[[], Any]) -> Any:
    """Make it; if our folder fails (damaged, gone, disk full), without it, and a later process begins anew."""
    global _folder
    often, *older = gc.get_threshold()
    with _set(OPT=type(config.OPT)(min(config.OPT, _OPTIMIZED))):
        gc.set_threshold(often and max(often, _COLLECTED), *older)  # 0: never
        try:
            return make()
        except numba.errors.NumbaError:
            raise
        except Exception:
            if _folder is None:
                raise
            shutil.rmtree(_folder, ignore_errors=True)
            _folder = None
            _dispatchers.clear()
            return make()
        finally:
            gc.set_threshold(often, *older)


@contextmanager
def _set(**settings: Any) -> Iterator[None]:
    """Change settings of numba, under its own lock: functions of others are compiled as they asked for."""
    with global_compiler_lock, _changed(config, **settings):
        yield


class _Called(types.Dispatcher):
    """The type of a kernel where another one calls it. A constant is a value like any other: compile once for all."""

    def get_call_type(self, context: Any, args: Any, kws: Any) -> Any:
        plain: Callable[[Any], Any] = types.unliteral
        return super().get_call_type(context, [plain(each) for each in args], {k: plain(v) for k, v in kws.items()})


register_model(_Called)(models.OpaqueModel)


@typeof_impl.register(Kernel)
def _type_of_kernel(kernel: Kernel, _context: Any) -> Any:
    return _Called(_dispatcher(kernel))


@typeof_impl.register(KernelValue)
def _type_of_value(value: KernelValue, _context: Any) -> Any:
    return types.FunctionType(value.signature(types))


# A child that is forked while another thread compiles would wait for that thread for ever, which it does not have.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=global_compiler_lock.acquire,
        after_in_parent=global_compiler_lock.release,
        after_in_child=global_compiler_lock.release,
    )

READY = True
"""There once all of this module is: a child that is forked before finds it locked (`compiled`)."""
