"""Where compiled code is kept when neither the package nor a home can be written to."""

from __future__ import annotations

import ctypes
import os
import pickle
import shutil
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numba
import pytest

import frontguard
from frontguard._common import compiled, machine_code
from frontguard._common.compiled import KernelEntry
from frontguard._common.machine_code import dispatcher
from frontguard.simulation import engine

PROGRAM = (
    "import frontguard, frontguard._common.compiled as c\n"
    "from frontguard.evidence.boundaries import taken_away\n"
    "with c.kernels('compiled'):\n"
    "    print(frontguard.__file__, taken_away(0.29, 100), type(taken_away.machine._cache).__name__)\n"
)


@pytest.fixture(scope="module")
def package() -> Iterator[Path]:
    """A copy of the package that cannot be written to."""
    folder = Path(tempfile.mkdtemp(prefix="read-only-"))
    shutil.copytree(Path(frontguard.__file__).parent, folder / "frontguard", ignore=shutil.ignore_patterns("*.nb?"))
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    yield folder
    for path in (folder, *folder.rglob("*")):
        if path.is_dir():
            path.chmod(0o755)
    shutil.rmtree(folder)


def _as_everybody() -> None:
    """In a child, before it begins: what modes of files say binds root too. It keeps its name, since where Python is
    installed may be open to root only, and gives up the right to overlook modes (CAP_DAC_OVERRIDE) for good.
    """
    if os.geteuid() == 0 and ctypes.CDLL(None).prctl(_DROP, _OVERLOOK_MODES, 0, 0, 0):
        os._exit(_CANNOT)


_DROP, _OVERLOOK_MODES, _CANNOT = 24, 1, 77


def run(package: Path, temporary: Path) -> str:
    """What the program prints there, without a home, by somebody who may write nowhere but in `temporary`."""
    paths = [str(package), *(path for path in sys.path if "site-packages" in path)]
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd="/",
        env={"PYTHONPATH": os.pathsep.join(paths), "TMPDIR": str(temporary), "HOME": f"{package}/home"},
        preexec_fn=_as_everybody,
        capture_output=True,
        text=True,
        timeout=300,
    )
    if ran.returncode == _CANNOT:
        pytest.skip("root may write anywhere here, and cannot give that up")
    assert ran.returncode == 0, ran.stderr
    where, *answer = ran.stdout.split()
    assert where.startswith(str(package))
    return " ".join(answer)


@pytest.fixture
def temporary() -> Iterator[Path]:
    """A temporary folder that everybody may write to."""
    folder = Path(tempfile.mkdtemp(prefix="everybodys-"))
    folder.chmod(0o1777)
    yield folder
    shutil.rmtree(folder)


def private(temporary: Path) -> Path:
    return temporary / f"frontguard-{os.getuid()}"


def test_a_private_folder_is_used(package: Path, temporary: Path) -> None:
    assert run(package, temporary) == "29 PackageCache"
    assert stat.S_IMODE(private(temporary).stat().st_mode) == 0o700
    assert list(private(temporary).rglob("*.nbc"))
    assert run(package, temporary) == "29 PackageCache"


def test_a_folder_that_others_can_write_to_is_not(package: Path, temporary: Path) -> None:
    private(temporary).mkdir()
    private(temporary).chmod(0o777)
    assert run(package, temporary) == "29 NullCache"
    assert not list(private(temporary).rglob("*"))


def test_a_link_is_not_followed(package: Path, temporary: Path) -> None:
    target = temporary / "elsewhere"
    target.mkdir(mode=0o700)
    private(temporary).symlink_to(target)
    assert run(package, temporary) == "29 NullCache"
    assert not list(target.iterdir())


class NoLongerThere:
    """A class that an index on disk names."""


def test_what_another_version_left_is_no_hindrance(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An index that names a class which is gone is not read, and what is compiled is kept in its place."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))

    def doubled(x: float) -> float:
        return 2.0 * x

    first = dispatcher(doubled)
    assert first(2.0) == 4.0
    (index,) = tmp_path.rglob("*.nbi")
    with index.open("rb") as file:
        version = pickle.load(file)
    index.write_bytes(pickle.dumps(version) + pickle.dumps((NoLongerThere(), {})))
    monkeypatch.delattr(sys.modules[__name__], "NoLongerThere")
    second = dispatcher(doubled)
    assert second(3.0) == 6.0
    third = dispatcher(doubled)
    assert third(4.0) == 8.0
    assert third.stats.cache_hits, "what was compiled was not kept"


KEPT = """
import sys
import numpy as np
from frontguard._common.machine_code import dispatcher, was_kept
from tests._common.kept_kernel import turned

made = dispatcher(turned)
found = was_kept(made, (np.array([3.0, 1.0, 2.0]),))
print(found, made(np.array([3.0, 1.0, 2.0])).tolist(), "numba.typed.typedlist" in sys.modules)
print(dispatcher(lambda x: x + 1)(1))
"""


def test_machine_code_that_was_kept_needs_nothing_that_compiles(tmp_path: Path) -> None:
    """It takes and makes arrays in a fresh process; and what is not there is compiled after it, as ever."""
    asked = {"NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": os.pathsep.join([str(Path.cwd()), *sys.path])}
    said = [
        subprocess.run(
            [sys.executable, "-c", KEPT], env=os.environ | asked, capture_output=True, text=True, check=True
        ).stdout.splitlines()
        for _ in range(2)
    ]
    assert said[0] == ["False [2.0, 1.0, 3.0] True", "2"]
    assert said[1] == ["True [2.0, 1.0, 3.0] False", "2"]


@compiled.kernel
def scaled(x: float, times: int, negated: bool) -> float:
    return -x * times if negated else x * times


@compiled.kernel
def called(x: float) -> float:
    return scaled(x, 1, True) + scaled(x, 2, False) + scaled(x, 3, x > 0.0)


def test_a_kernel_that_is_called_with_constants_is_compiled_once() -> None:
    with compiled.kernels(compiled.COMPILED):
        assert called(1.0) == -2.0
    made: Any = scaled
    assert len(made._part.overloads) == 1


def test_a_run_of_which_machine_code_was_kept_is_known_to_be_ready() -> None:
    compiled = engine._run_auer
    compiled.machine.compile(compiled._signature)
    in_another_process = KernelEntry(compiled.py_func, compiled._signature)
    assert in_another_process.is_ready


def test_others_are_compiled_as_they_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_code, "_package_stamp", lambda: None)  # nothing is kept from the last time
    levels = []
    made = dispatcher(lambda x: x + 1)
    assert made(1) == 2
    pass_builder = type(made.targetctx.codegen())._pass_builder

    def noted(*args: Any, **kwargs: Any) -> Any:
        levels.append(int(numba.config.OPT))
        return pass_builder(*args, **kwargs)

    monkeypatch.setattr(type(made.targetctx.codegen()), "_pass_builder", noted)
    assert dispatcher(lambda x: x + 2)(1) == 3
    assert set(levels) == {2}
    levels.clear()
    assert numba.njit(lambda x: x + 3)(1) == 4
    assert set(levels) == {3}


def doubled(x: float) -> float:
    """Any function."""
    return 2.0 * x


def test_threads_that_look_for_the_same_machine_code_at_once_all_find_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second one would interpret otherwise: a second of work, in place of a hundredth."""
    both = threading.Barrier(2, timeout=20.0)
    monkeypatch.setattr(machine_code, "was_kept", lambda made, args: both.wait() >= 0)
    monkeypatch.setattr(compiled._State, "spent", compiled.GLANCE)
    monkeypatch.setattr(compiled._State, "found", False)
    sought = compiled.Kernel(doubled)
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(sought._outgrown, [(1.0,)] * 2)) == [True, True]


def test_where_things_are_kept_to_compile_pays_sooner(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_code, "was_kept", lambda made, args: False)
    monkeypatch.setattr(compiled._State, "spent", compiled.GLANCE)
    for others_found in (False, True):
        monkeypatch.setattr(compiled._State, "found", others_found)
        sought = compiled.Kernel(doubled)
        sought._spent = sought.price / 3
        assert sought._outgrown((1.0,)) is others_found
