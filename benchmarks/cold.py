"""Commands with no machine code on disk, beside the same with all of it: processor time, of children too.

What a container and a job of continuous integration pay. Cold, a folder for machine code is empty before each command;
warm, it holds all that the commands have compiled when everything was compiled that they called.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.tables import Row

ARMS = 50
ROWS = 10**5
ROUNDS = 3
MORE = 3.0  # seconds more than warm that a small study or log may take
DEMO = 15.0  # seconds that the demo may take

SPEC = """
[study]
name = "small"
contamination = 0.1
[[objective]]
name = "score"
direction = "maximize"
tolerance = 5.0
[[objective]]
name = "size"
direction = "minimize"
tolerance = 5.0
[run]
command = ["echo", '{{"score": {x}, "size": {x}}}']
[arms.grid]
x = [LEVELS]
"""


def commands(folder: Path) -> dict[str, list[str]]:
    (folder / "small.toml").write_text(SPEC.replace("LEVELS", ", ".join(f'"{i}"' for i in range(ARMS))))
    rng = np.random.default_rng(0)
    arms = rng.integers(0, ARMS, ROWS)
    x, y = rng.normal(arms / 10), rng.normal(-arms / 20)
    lines = [f"arm{arm},{a:.5f},{b:.5f}" for arm, a, b in zip(arms.tolist(), x.tolist(), y.tolist(), strict=True)]
    (folder / "log.csv").write_text("\n".join(["arm,x,y", *lines]) + "\n")
    return {
        f"run, {ARMS} arms": ["run", "small.toml", "--storage", "small.db", "--max-pulls", str(15 * ARMS)],
        f"analyze, {ROWS:,} rows": [
            "analyze",
            "log.csv",
            "--arm=arm",
            "--maximize=x",
            "--maximize=y",
            "--tolerance=0.2",
        ],
        "demo": ["demo", "--output", "demo"],
    }


def seconds(arguments: list[str], folder: Path, **environment: str) -> float:
    """Processor time of one command in a fresh process."""
    for left in folder.glob("small.db*"):
        left.unlink()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    ran = subprocess.run(
        [sys.executable, "-m", "frontguard", *arguments],
        cwd=folder,
        env={**os.environ, "NUMBA_CACHE_DIR": str(folder / "machine-code"), **environment},
        capture_output=True,
        text=True,
    )
    if ran.returncode not in (0, 3):
        raise RuntimeError(f"frontguard {' '.join(arguments)} ended with {ran.returncode}: {ran.stderr}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> Iterator[Row]:
    with TemporaryDirectory() as name:
        folder = Path(name)
        for what, arguments in commands(folder).items():
            cold = []
            for _ in range(ROUNDS):
                shutil.rmtree(folder / "machine-code", ignore_errors=True)
                cold.append(seconds(arguments, folder))
            everything = seconds(arguments, folder, FRONTGUARD_KERNELS="compiled")
            warm = [seconds(arguments, folder) for _ in range(ROUNDS)]
            took, more = median(cold), median(cold) - median(warm)
            details = f"{took:.2f} s cold, {median(warm):.2f} s warm, {everything:.1f} s if all were compiled at once"
            if what == "demo":
                yield Row(f"{what}, cold", took, at_most=DEMO, unit="s", details=details)
            else:
                yield Row(f"{what}: cold more than warm", more, at_most=MORE, unit="s", details=details)
