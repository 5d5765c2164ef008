"""Machine code of kernels: where it is kept, when it pays, and what happens without numba."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numba
import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard._common import compiled, machine_code
from frontguard._common.compiled import COMPILED, Kernel, kernel, kernels
from tests.support.snapshots import refused
from tests.support.waiting import patience

KEPT = """
import numpy as np
from frontguard._common import compiled
from frontguard.evidence.confidence_sequences import taken_away

with compiled.kernels("compiled"):
    answer = taken_away(0.29, 100)
made = compiled.machine_code()
hits = made.compiled(taken_away, (0.29, 100)).stats.cache_hits
print(answer, "read" if hits else "compiled", made._folder)
"""


def in_a_process(program: str, folder: Path | str, **environment: str) -> list[str]:
    """Words that a fresh process prints; it keeps machine code in this folder."""
    asked = {"NUMBA_CACHE_DIR": str(folder), **environment}
    ran = subprocess.run(
        [sys.executable, "-c", program], env=os.environ | asked, capture_output=True, text=True, timeout=300
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.split()


def test_machine_code_is_kept_for_the_next_process_unless_it_is_damaged(tmp_path: Path) -> None:
    assert in_a_process(KEPT, tmp_path)[:2] == ["29", "compiled"]
    answer, how, folder = in_a_process(KEPT, tmp_path)
    assert (answer, how) == ("29", "read")
    assert (Path(folder) / "kept").read_text().split() == ["frontguard.evidence.confidence_sequences.taken_away"]

    (index,) = Path(folder).rglob("*.nbi")  # damaged: it is thrown away
    index.write_bytes(index.read_bytes()[:-20])
    assert in_a_process(KEPT, tmp_path) == ["29", "compiled", "None"]
    assert not Path(folder).exists()


def test_where_nothing_can_be_kept_it_is_compiled_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert in_a_process(KEPT, tmp_path / "file") == ["29", "compiled", "None"]


def test_a_folder_that_goes_away_meanwhile_is_no_hindrance(tmp_path: Path) -> None:
    gone = """
import shutil
from frontguard._common import compiled
from frontguard.evidence.confidence_sequences import taken_away
made = compiled.machine_code()
with compiled.kernels("compiled"):
    @compiled.kernel
    def doubled(x):
        return 2 * x
    taken_away(0.29, 100)
    shutil.rmtree(made._folder)
    print(taken_away(0.29, 100.0), doubled(2))
"""
    assert in_a_process(gone, tmp_path) == ["29", "4"]


def test_machine_code_is_kept_where_nobody_else_can_write(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(machine_code, "_stamp", lambda package: "stamp")
    folder = tmp_path / "frontguard" / "stamp"
    assert machine_code._find_folder() == folder
    for each in (folder, folder.parent):
        assert each.stat().st_mode & 0o777 == 0o700
        each.chmod(0o770)
        assert machine_code._find_folder() is None
        each.chmod(0o700)


def test_an_edit_of_a_file_with_kernels_begins_a_new_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    (tmp_path / "kernels.py").write_text("from frontguard._common.compiled import kernel\n")
    (tmp_path / "other.py").write_text("import math\n")
    monkeypatch.setattr(machine_code, "IMPORTED_AT", (tmp_path / "other.py").stat().st_mtime + 60.0)
    first = machine_code._stamp(tmp_path)
    (tmp_path / "other.py").write_text("import cmath\n")
    assert machine_code._stamp(tmp_path) == first
    (tmp_path / "kernels.py").write_text("from frontguard._common.compiled import inlined\n")
    assert machine_code._stamp(tmp_path) != first
    monkeypatch.setattr(machine_code, "IMPORTED_AT", 0.0)
    with refused(OSError, snapshot):
        machine_code._stamp(tmp_path)


# numba that cannot be used -----------------------------------------------------------------------------------------

WITHOUT = """
import sys, warnings
{before}
import frontguard as fg
from frontguard.simulation.environments import gaussian
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    runs = fg.simulate(fg.AuerA1(2, 1, accuracy=0.5, scale=0.1), gaussian([[1.0], [0.0]], sigma=0.1), runs=2)
print(runs.returned.tolist()[0], *[each.category.__name__ for each in caught], sep="|")
"""
HIDDEN = "sys.modules['numba'] = None"
OF_VERSION = "import numba; numba.version_info = numba.version_info._replace(short={version})"


@pytest.mark.parametrize(
    ("before", "mode"),
    [
        (HIDDEN, "compiled"),
        (OF_VERSION.format(version=(0, 59)), "compiled"),
        (OF_VERSION.format(version=(1, 0)), "as needed"),
    ],
    ids=["none", "old", "new"],
)
def test_without_a_numba_that_is_known_kernels_are_interpreted(before: str, mode: str, tmp_path: Path) -> None:
    """The same answer, and one warning."""
    said = in_a_process(WITHOUT.format(before=before), tmp_path, FRONTGUARD_KERNELS=mode)
    assert " ".join(said) == "[True, False]|RuntimeWarning"


# What is compiled --------------------------------------------------------------------------------------------------


CALLED = """
@kernel
def scaled(x, times, negated):
    return -x * times if negated else x * times

@kernel
def called(x):
    return scaled(x, 1, True) + scaled(x, 2, False) + scaled(x, 3, x > 0.0)
"""


def test_a_kernel_that_is_called_with_constants_is_compiled_once() -> None:
    made: dict[str, Any] = {"kernel": kernel}
    exec(CALLED, made)  # what stands in no file is not kept, and so compiled here
    with kernels(COMPILED):
        assert made["called"](1.0) == -2.0
    assert len(machine_code._dispatcher(made["scaled"]).signatures) == 1


def test_others_are_compiled_as_they_asked_for() -> None:
    levels = []

    class Noted(numba.core.compiler.Compiler):  # type: ignore[misc]
        def compile_extra(self, func: Any) -> Any:
            levels.append(int(numba.config.OPT))
            return super().compile_extra(func)

    machine_code._made(lambda: numba.njit("int64(int64)", pipeline_class=Noted)(lambda x: x + 1))
    numba.njit("int64(int64)", pipeline_class=Noted)(lambda x: x + 1)
    assert levels == [2, 3]


# When it pays ------------------------------------------------------------------------------------------------------


def doubled(x: float) -> float:
    """Any function."""
    return 2.0 * x


def test_threads_that_look_for_the_same_machine_code_at_once_all_find_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second one would interpret otherwise: a second of work, in place of a hundredth."""
    both = threading.Barrier(2, timeout=patience())
    monkeypatch.setattr(machine_code, "was_kept", lambda sought: both.wait() >= 0)
    monkeypatch.setattr(compiled._State, "spent", compiled.GLANCE)
    monkeypatch.setattr(compiled._State, "found", False)
    sought = Kernel(doubled)
    monkeypatch.setattr(compiled, "_names_kept", lambda: {sought.name})
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(sought._outgrown, [(1.0,)] * 2)) == [True, True]


def test_where_nothing_is_kept_numba_is_not_started_to_look(tmp_path: Path) -> None:
    work = """
import sys
from frontguard._common.compiled import expect
from frontguard.evidence.confidence_sequences import taken_away
expect(1.0)
taken_away(0.29, 100)
print("numba" in sys.modules)
"""
    assert in_a_process(work, tmp_path) == ["False"]
    assert in_a_process(work, tmp_path, FRONTGUARD_KERNELS="compiled") == ["True"]
    assert in_a_process(work, tmp_path) == ["True"]


def test_where_things_are_kept_to_compile_pays_sooner(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_code, "was_kept", lambda sought: False)
    monkeypatch.setattr(compiled._State, "spent", compiled.GLANCE)
    for others_found in (False, True):
        monkeypatch.setattr(compiled._State, "found", others_found)
        sought = Kernel(doubled)
        sought._spent = sought.price / 3
        assert sought._outgrown((1.0,)) is others_found
