"""Kernels that other kernels call: compiled for these to link in, and for nobody else to call.

By numba's own way, whatever a kernel calls is optimized and made machine code of by itself first, with one way to call
it from Python and another from C; then it is linked into its callers, and all of it is optimized there again, at each
level once more. Of a part only that is made which is linked in, and what is called from Python is optimized once, as a
whole: a third of compiling. Parts are kept on disk as others are, for what is compiled later and calls them.

All of this goes by what numba has inside, so that of versions that we do not know (`machine_code.KNOWN`) every kernel
is compiled as ever, and this module is not imported.
"""

from __future__ import annotations

from typing import Any

import numba
from llvmlite import binding
from numba import _dynfunc
from numba.core import compiler
from numba.core.codegen import JITCodeLibrary

from frontguard._common.compiled import Kernel
from frontguard._common.machine_code import PackageCache, PackageImpl, kept_with


def part(kernel: Kernel) -> Any:
    """numba's function of a kernel as other kernels call it."""
    wrappers = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    made: Any = numba.njit(nogil=True, pipeline_class=_PartCompiler, **wrappers, **kernel.targetoptions)(kernel.py_func)
    made._compiler._customize_flags = _without_machine_code
    whole = made._compiler.compile

    def compile_part(*args: Any) -> Any:
        found = _with_stand_in(whole(*args))
        found.target_context.insert_user_function(found.entry_point, found.fndesc, [found.library])
        return found

    return kept_with(_PartCache, made, compile_part)


class _PartLibrary(JITCodeLibrary):
    """The code of a part and of all that it calls, none of which is machine code."""

    @classmethod
    def of(cls, codegen: Any, name: str, code: bytes) -> _PartLibrary:
        """What was kept of one."""
        made = cls(codegen, name)
        made._final_module = binding.parse_bitcode(code)
        made._finalized = True
        return made

    def finalize(self) -> None:
        """Link in what it calls: numba goes on from here, which is what we leave to the callers."""
        self._raise_if_finalized()
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True

    def serialize_using_object_code(self) -> tuple[str, str, bytes]:
        """What is kept of it."""
        self._ensure_finalized()
        return self.name, "bitcode", self._get_module_for_linking().as_bitcode()


class _PartCompiler(compiler.Compiler):
    """numba's compiler, whose code goes to a `_PartLibrary`."""

    def compile_extra(self, func: Any) -> Any:
        self.state.library = _PartLibrary(self.state.targetctx.codegen(), func.__qualname__)
        return super().compile_extra(func)


def _without_machine_code(flags: Any) -> Any:
    flags.no_compile = True
    return flags


def _with_stand_in(found: Any) -> Any:
    """The same, with something in place of a function for Python, by which callers find what to link in."""
    about = found.fndesc
    named = about.lookup_module(), about.qualname.split(".")[-1], "a part of kernels"
    return found._replace(entry_point=_dynfunc.make_function(*named, 0, found.environment, (found.library,)))


class _PartImpl(PackageImpl):
    """How parts are read from disk."""

    def rebuild(self, target_context: Any, payload: Any) -> Any:
        """As numba does it, up to where it would make machine code."""
        (name, _, code), about, environment, signature, _, lifted, annotation, reload_init, environments = payload
        for begin in reload_init:
            begin()
        return _with_stand_in(
            compiler.compile_result(
                typing_context=target_context.typing_context,
                target_context=target_context,
                type_annotation=annotation,
                signature=signature,
                objectmode=False,
                lifted=lifted,
                fndesc=about,
                library=_PartLibrary.of(target_context.codegen(), name, code),
                environment=environment,
                reload_init=reload_init,
                referenced_envs=environments,
            )
        )


class _PartCache(PackageCache):
    """The parts of one function."""

    _impl_class = _PartImpl
