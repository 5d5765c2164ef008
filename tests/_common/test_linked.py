"""Kernels that other kernels call, from memory and from disk."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard._common import compiled, machine_code
from tests._common import linked_kernels
from tests.support.snapshots import refused

VALUES = np.array([4.0, 9.0, 1.0])


def in_a_process(folder: Path, program: str) -> list[str]:
    """What a fresh process prints, in which everything is compiled, and kept in this folder."""
    asked = {"NUMBA_CACHE_DIR": str(folder), "PYTHONPATH": os.pathsep.join([str(Path.cwd()), *sys.path])}
    asked |= {"FRONTGUARD_KERNELS": compiled.COMPILED}
    begin = "import numpy as np\nfrom tests._common.linked_kernels import *\nvalues = np.array([4.0, 9.0, 1.0])\n"
    ran = subprocess.run(
        [sys.executable, "-c", begin + program], env=os.environ | asked, capture_output=True, text=True, check=True
    )
    return ran.stdout.splitlines()


def test_what_calls_a_part_that_another_process_kept_links_it_in(tmp_path: Path) -> None:
    """A part of parts, found on disk: it takes and makes arrays, and what it raises arrives with what it says."""
    found = "print([sum(each._part.stats.cache_hits.values()) for each in (root, roots)])\n"
    assert in_a_process(tmp_path, f"print(sum_of_roots(values))\n{found}") == ["6.0", "[0, 0]"]
    raised = "try:\n    longest_root(-values)\nexcept ValueError as error:\n    print(error.args)\n"
    said = in_a_process(tmp_path, f"print(longest_root(values))\n{raised}{found}")
    assert said[:2] == ["3.0", "('no root of a number below 0, such as', -4.0)"]
    assert said[2] == "[0, 1]", "what roots calls is a part of it, and roots was not read from disk"
    assert in_a_process(tmp_path, f"print(longest_root(values))\n{raised}{found}") == [*said[:2], "[0, 0]"]


def test_a_part_is_no_machine_code_and_what_calls_it_is() -> None:
    whole: Any = linked_kernels.sum_of_roots
    part: Any = linked_kernels.roots
    for made in (part._part, whole.machine):
        made.compile((numba.float64[::1],))
    (linked_in,), (called,) = part._part.overloads.values(), whole.machine.overloads.values()
    about, names = linked_in.fndesc, {each.name for each in linked_in.library._final_module.functions}
    assert about.llvm_func_name in names
    assert not {about.llvm_cpython_wrapper_name, about.llvm_cfunc_wrapper_name} & names
    assert called.library.get_pointer_to_function(called.fndesc.llvm_cpython_wrapper_name)


def test_a_part_is_called_from_python_as_any_kernel(snapshot: SnapshotAssertion) -> None:
    with compiled.kernels(compiled.COMPILED):
        assert linked_kernels.roots(VALUES).tolist() == [2.0, 3.0, 1.0]
        with refused(ValueError, snapshot):
            linked_kernels.root(-1.0)


def test_with_another_numba_parts_are_compiled_as_it_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_code, "KNOWN", set())
    part = compiled.Kernel(linked_kernels.root.py_func)  # type: ignore[attr-defined]
    assert part._part is part.machine
    scope = {"root": part}
    exec("def twice(x):\n    return 2.0 * root(x)", scope)
    with compiled.kernels(compiled.COMPILED):
        assert compiled.Kernel(scope["twice"])(9.0) == 6.0  # type: ignore[arg-type]
    assert part.machine.overloads
