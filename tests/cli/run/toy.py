"""A toy spec whose commands measure with noise, and what runs it and looks at what goes on."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

from frontguard.errors import BadInput
from frontguard.storage import open_storage
from tests.cli import commands
from tests.support import warm
from tests.support.printed import as_published
from tests.support.signals import ignoring_signal

MEASURE = """
# cost, size, seed, seconds: a measurement with noise of its seed
case $4 in 0 | 0.0) ;; *) sleep $4 ;; esac
echo "measuring" >&2
echo "{\\"cost\\": $(( $1 * 100 + $1 * ($3 % 21 - 10) )), \\"size\\": $(( $2 + $3 / 21 % 21 - 10 ))}"
"""

SPEC = """
[study]
contamination = 0.02
[[objective]]
name = "cost"
direction = "minimize"
tolerance = "10%"
[[objective]]
name = "size"
direction = "minimize"
tolerance = 10
[run]
command = ["sh", "measure.sh", "{cost}", "{size}", "{seed}", "SLEEP"]
timeout = 20
[[arm]]
name = "small"
cost = 30
size = 1000
[[arm]]
name = "fast"
cost = 20
size = 1200
[[arm]]
name = "poor"
cost = 40
size = 1400
"""

TWIN = """
[[arm]]
name = "twin"
cost = 30
size = 1000
"""


def write_spec(folder: Path, more: str = "", sleep: float = 0.0, name: str = "toy.toml") -> None:
    (folder / name).write_text(SPEC.replace("SLEEP", str(sleep)) + more)


def run(folder: Path, *arguments: str, command: str = "run") -> subprocess.CompletedProcess[str]:
    """The command in this process; what it measures with are processes all the same."""
    return commands.run(command, *arguments, cwd=folder)


def found(ran: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert "Traceback" not in ran.stderr
    answer: dict[str, Any] = as_published("run", ran.stdout)
    return answer


BEGUN: list[subprocess.Popen[str]] = []


def begin(folder: Path, *arguments: str, ignoring: str = "") -> subprocess.Popen[str]:
    """Begin a run in a process group of its own, as a shell does; `ignoring="HUP"` as nohup does."""
    going = subprocess.Popen(
        [*(ignoring_signal(ignoring) if ignoring else []), *warm.frontguard("run", *arguments)],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, process_group=0,
    )  # fmt: skip
    BEGUN.append(going)
    return going


def told(file: Path) -> int:
    """How many pulls a study file holds; 0 if there is none yet."""
    try:
        with open_storage(file, read_only=True) as storage:
            names = storage.studies()
            return storage.size(names[0])[1] if names else 0
    except BadInput:
        return 0


def alive_with(text: str) -> list[int]:
    """Processes whose command line has this text."""
    pids = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if text.encode() in path.read_bytes():
                pids.append(int(path.parent.name))
        except OSError:
            continue
    return pids


def without_times(answer: dict[str, Any]) -> dict[str, Any]:
    told = ("seconds", "pulls_a_second", "storage", "answer", "command", "source", "at", "spec")
    kept = {key: value for key, value in answer.items() if key not in told}
    return {
        key: without_times(value) if key == "study" and isinstance(value, dict) else value
        for key, value in kept.items()
    }
