"""What nobody waits for: modules that `import frontguard` and `--help` have no use for (times: benchmarks/start.py)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from frontguard import cli

HEAVY = (
    "numpy",
    "numba",
    "scipy",
    "pyarrow",
    "polars",
    "apsw",
    "psutil",
    "tomlkit",
)
"""Each takes between ten milliseconds and half a second to import."""

AFTERWARDS = f"import sys; print(*sorted({{m.split('.')[0] for m in sys.modules}} & set({HEAVY!r})), file=sys.stderr)"

THERE = "print(*[m for m in sys.modules if m in ('frontguard.cli.serve', 'frontguard.cli.plan')])"


def imported(work: str) -> list[str]:
    """Which of them a fresh process has after that."""
    done = subprocess.run(
        [sys.executable, "-c", f"{work}\n{AFTERWARDS}"], capture_output=True, text=True, timeout=120, check=True
    )
    return done.stderr.split()


def command(arguments: list[str]) -> str:
    """Run as a user does, to where the process would end."""
    return f"""
import sys
sys.argv[1:] = {arguments!r}
from frontguard.cli import run_command
assert not run_command()
"""


def test_the_package_imports_nothing_heavy() -> None:
    assert imported("import frontguard") == []


@pytest.mark.parametrize("arguments", [["--help"], [], ["--version"], ["analyze", "--help"]], ids=str)
def test_nor_does_help(arguments: list[str]) -> None:
    assert imported(command(arguments)) == []


def test_only_the_command_that_is_asked_for_is_imported() -> None:
    work = command(["plan", "--help"]) + THERE
    done = subprocess.run([sys.executable, "-c", work], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.splitlines()[-1] == "frontguard.cli.plan"


def test_they_are_seen_where_they_are_imported() -> None:
    work = "from frontguard import Objective; import numpy"
    assert imported(work) == ["numpy"]


def test_an_analysis_loads_no_package_that_it_has_no_use_for(tmp_path: Path) -> None:
    """pandas and Arrow belong to whoever brings their frames."""
    path = tmp_path / "log.csv"
    path.write_text("arm,x\n" + "".join(f"{n % 3},{n / 7}\n" for n in range(300)))
    heavy = {"pandas", "pyarrow", "narwhals", "scipy.special", "matplotlib", "dask"}
    there = "import frontguard._common.machine_code; "  # as a longer log would
    there += f"print('found:', *sorted({heavy!r} & set(sys.modules)))"
    work = command(["analyze", str(path), "--maximize", "x", "--json"]) + there
    done = subprocess.run([sys.executable, "-c", work], capture_output=True, text=True, timeout=300, check=True)
    assert done.stdout.splitlines()[-1] == "found:"


def test_ctrl_c_while_the_command_line_is_imported_ends_it_quietly() -> None:
    program = """
import sys

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "frontguard.cli":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Finder())
from frontguard.__main__ import main
main()
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (130, "", "")


def test_nothing_is_imported_before_ctrl_c_is_answered() -> None:
    work = "import sys; before = {*sys.modules}; import frontguard.__main__; print(*sorted({*sys.modules} - before))"
    ran = subprocess.run([sys.executable, "-c", work], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["frontguard", "frontguard.__main__"]


def test_too_little_memory_is_a_line_and_a_code_of_its_own(tmp_path: Path) -> None:
    """Libraries that have less than they need wait for ever, or end the process with a code of theirs."""
    resource = pytest.importorskip("resource")
    path = tmp_path / "log.csv"
    path.write_text("arm,seconds\n" + "a,1\nb,2\n" * 9)
    for memory in (200, 400, 600, 800):
        ran = subprocess.run(
            [sys.executable, "-m", "frontguard", "analyze", str(path), "--arm", "arm", "--minimize", "seconds"],
            capture_output=True, text=True, timeout=60, check=False,
            preexec_fn=lambda least=memory: resource.setrlimit(resource.RLIMIT_AS, (least << 20, least << 20)),
        )  # fmt: skip
        assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (4, "", 1)


def test_ctrl_c_that_python_wraps_while_a_class_is_made_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrapped(asked: list[str]) -> int:
        raise RuntimeError("Error calling __set_name__") from KeyboardInterrupt()

    monkeypatch.setattr(cli, "_answered", wrapped)
    assert cli.run_command() == cli.INTERRUPTED
