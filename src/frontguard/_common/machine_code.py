"""The one place where functions are compiled: once a machine, for the result is kept on disk.

Machine code runs without the interpreter's lock, so that many runs go on side by side in threads. Only what compiles
imports this module, and numba with it: see `_common.compiled`.

numba's own cache looks only at the file a function stands in. Kernels call each other across files, so an edit in one
of them would leave the compiled callers stale. The key of our cache therefore covers all files with kernels.

Where neither the package nor the user's home can be written to (a container, mostly), compiled code is kept in a folder
of the temporary one that nobody else can write to, since what lies there is run; and without such a folder, not at all.
"""

from __future__ import annotations

import functools
import gc
import hashlib
import os
import stat
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numba
from numba import config, types
from numba.core.caching import CompileResultCacheImpl, FunctionCache
from numba.core.compiler_lock import global_compiler_lock
from numba.core.runtime.nrt import rtsys
from numba.core.sigutils import normalize_signature
from numba.experimental.function_type import _get_wrapper_address

from frontguard._common.compiled import IMPORTED_AT, Kernel
from frontguard._common.interpreted import twin


def _import_without_scipy() -> None:
    """Import the part of numba that looks for a BLAS, for which it would import scipy.linalg: 0.15 s, for nothing.

    scipy is installed with us, so that the answer is known; whoever's own functions need a BLAS have numba look for it
    then, as ever.
    """
    import numba.np.linalg

    looked: Any = numba.np.linalg
    ensure = looked.ensure_blas
    looked.ensure_blas = lambda: None
    try:
        import numba.np.arraymath
    finally:
        looked.ensure_blas = ensure


with suppress(ImportError, AttributeError):  # of another version, in which it stands elsewhere
    _import_without_scipy()


@functools.cache
def _package_stamp() -> str | None:
    """A hash over every source file of the package that has to do with kernels; None if one is not what was imported.

    A process may go on for days while the package is replaced. What it compiles then is the old code, and must not be
    kept for the new.
    """
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parents[1].rglob("*.py")):
        text = path.read_bytes()
        if b"frontguard._common.compiled" in text or b"_kernel" in text:
            digest.update(text)
            if path.stat().st_mtime > IMPORTED_AT:
                return None
    return digest.hexdigest()


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


class _Home(_UserWide):
    """numba's place in the user's home, where there is one: `~` is no folder."""

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> Any:
        return super().from_function(py_func, py_file) if os.path.isabs(os.path.expanduser("~")) else None


class _Private(_UserWide):
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


class PackageImpl(CompileResultCacheImpl):
    """Where compiled code is kept: as numba has it, and then in a private folder."""

    _locator_classes = [  # noqa: RUF012
        *(_Home if each is _UserWide else each for each in CompileResultCacheImpl._locator_classes),
        _Private,
    ]


KNOWN = {(0, 68)}
"""Versions of numba whose machine code, ours at least, needs nothing of numba but its runtime for arrays.

By its own way numba first reads in all that it can compile, 0.2 s, as it does anyway before it compiles. Of another
version we do not know what else is done on that way, and code that lacks it ends the process.
"""


def is_known() -> bool:
    """Whether numba is of a version that was tried."""
    return numba.version_info.short in KNOWN


class PackageCache(FunctionCache):
    """numba's cache of one function, with the state of the whole package in its key."""

    _impl_class = PackageImpl

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """What was kept, or None; also where it cannot be read, whatever another version of the package left there."""
        with suppress(Exception):
            if not is_known():
                return super().load_overload(sig, target_context)
            rtsys.initialize(target_context)
            return self._load_overload(sig, target_context)
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what was compiled, if that can be done: a disk that is full stops nobody."""
        try:
            super().save_overload(sig, data)
        except OSError:
            pass
        except Exception:  # what is there names what there no longer is: begin anew
            with suppress(OSError):
                self.flush()
                super().save_overload(sig, data)

    def _index_key(self, sig: Any, codegen: Any) -> tuple[Any, ...]:
        key: tuple[Any, ...] = super()._index_key(sig, codegen)
        return (*key, _package_stamp(), type(self).__name__)


_settings: Any = config

_OPTIMIZED = 2
"""How much LLVM is asked to optimize. At numba's own level, 3, compiling the certified run takes 1.7 times as long, and
the run as long as before (docs/benchmarks.md)."""

_COLLECTED = 100_000
"""After how many new objects Python looks for cycles meanwhile: at its own pace, that takes a sixth of the time."""


def _compiled_sooner(compiled: Callable[..., Any]) -> Callable[..., Any]:
    """The same compiler, asked to optimize less. numba's own lock is held meanwhile, and others' code left alone."""

    def compile_at_our_level(*args: Any) -> Any:
        before, (often, *older) = _settings.OPT, gc.get_threshold()
        _settings.OPT = type(before)(min(before, _OPTIMIZED))
        gc.set_threshold(often and max(often, _COLLECTED), *older)  # 0: never
        try:
            return compiled(*args)
        finally:
            _settings.OPT = before
            gc.set_threshold(often, *older)

    return compile_at_our_level


def _for_any_value(template: Callable[..., Any]) -> Callable[..., Any]:
    """What another kernel finds to call, a constant being a value like any other: numba compiles for each anew."""
    plain: Callable[[Any], Any] = types.unliteral

    def template_for(args: Any, kws: Any) -> Any:
        return template([plain(each) for each in args], {name: plain(each) for name, each in kws.items()})

    return template_for


def dispatcher(function: Callable[..., Any], **options: Any) -> Any:
    """numba's function that compiles another one on first use, runs it without the interpreter's lock and keeps it."""
    made: Any = numba.njit(nogil=True, **options)(function)
    whole = made._compiler.compile

    def compile_whole(*args: Any) -> Any:
        found = whole(*args)
        if is_known():  # and has parts, whose environments were never there by themselves
            for each in found._find_referenced_environments():
                found.codegen.set_env(each.env_name, each)
        return found

    return kept_with(PackageCache, made, compile_whole)


def kept_with(cache: type[PackageCache], made: Any, compiled: Callable[..., Any]) -> Any:
    """A function of numba's, compiled in this way and kept in such a cache."""
    made._compiler.compile = _compiled_sooner(compiled)
    made.get_call_template = _for_any_value(made.get_call_template)
    if _package_stamp() is not None:
        with suppress(RuntimeError):  # no place to keep anything: it is compiled anew in every process
            made._cache = cache(made.py_func)
    return made


def was_kept(made: Any, args: tuple[Any, ...]) -> bool:
    """Whether machine code for these arguments was kept on disk; if so it is ready from here on."""
    return kept(made, tuple(made.typeof_pyval(each) for each in args))


def kept(made: Any, signature: Any) -> bool:
    """The same for a signature: types of arguments, or these with what is returned; it was kept as it was asked for."""
    arguments, _ = normalize_signature(signature)
    with global_compiler_lock:
        if tuple(arguments) in made.overloads:
            return True
        found = made._cache.load_overload(signature, made.targetctx)
        if found is None:
            return False
        # As numba does where it compiles and finds that it need not.
        made.targetctx.insert_user_function(found.entry_point, found.fndesc, [found.library])
        made.add_overload(found)
        return True


def record_type(record: type[tuple[Any, ...]], *fields: Any) -> Any:
    """The type of a named tuple with fields of these types, for the signature of an `entry`."""
    return types.NamedTuple(fields, record)


class KernelValue(types.WrapperAddressProtocol):
    """A kernel as a value to be handed to an `entry`, compiled for its kind of signature when it is needed."""

    def __init__(self, function: Callable[..., Any], signature: Any) -> None:
        self._function = function  # keeps the machine code alive
        self._signature = signature

    @functools.cached_property
    def _address(self) -> int:
        made = self._function.machine if isinstance(self._function, Kernel) else self._function
        return int(_get_wrapper_address(made, self._signature))

    def __wrapper_address__(self) -> int:
        return self._address

    @property
    def kernel_itself(self) -> Callable[..., Any]:
        """What an entry that is interpreted calls."""
        return twin(self._function) if isinstance(self._function, Kernel) else self._function

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
