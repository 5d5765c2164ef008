"""How many modules somebody goes through who follows a command: the bounds are in tools/budget.toml."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tomllib
import urllib.request
from pathlib import Path

import pytest

from tests.support.waiting import patience, until

ROOT = Path(__file__).parents[2]
BOUNDS = tomllib.loads((ROOT / "tools" / "budget.toml").read_text(encoding="utf-8"))["walks"]
RUN = ("run", "--arm", "one=sleep 0.01", "--arm", "two=sleep 0.1", "--minimize", "seconds", "--max-pulls", "22")
ROWS = ("--arm", "arm", "--minimize", "seconds")
COMMANDS = {
    "run": RUN,
    "analyze": ("analyze", "main.csv", *ROWS),
    "gate": ("gate", "main.csv", "pr.csv", *ROWS, "--tolerance", "5%"),
}


def csv(arms: str, seconds: float) -> str:
    rows = [f"{arm},{seconds * (1 + 0.01 * (n % 7))}" for arm in arms for n in range(240 // len(arms))]
    return "\n".join(["arm,seconds", *rows]) + "\n"


def started(*arguments: str, cwd: Path) -> subprocess.Popen[str]:
    """A command in a process of its own: what is imported already runs nothing any more."""
    command = [sys.executable, "-m", "tools.walks", *arguments]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, cwd=cwd, env=environment, text=True, **pipes)


def modules(said: str) -> list[str]:
    return [line for line in said.splitlines() if line.endswith(".py")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("walks")
    (where / "main.csv").write_text(csv("ab", 1.0), encoding="utf-8")
    (where / "pr.csv").write_text(csv("ab", 1.5), encoding="utf-8")
    return where


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_goes_through_few_modules(command: str, folder: Path) -> None:
    said = started(*COMMANDS[command], cwd=folder).communicate()
    found = modules(said[1])
    print(f"{command}: {len(found)} modules", *found, sep="\n    ")
    assert 20 < len(found) <= BOUNDS[command], said[1]


def test_a_page_goes_through_few_modules(folder: Path) -> None:
    started(*RUN, "--storage", "seen.db", cwd=folder).communicate()
    server = started("serve", "seen.db", "--port", "0", "--json", cwd=folder)
    assert server.stdout is not None
    url = json.loads(server.stdout.readline())["url"].rstrip("/")
    until(lambda: b"two" in urllib.request.urlopen(f"{url}/study/1", timeout=patience()).read())  # the log is read
    server.send_signal(signal.SIGINT)
    found = modules(server.communicate()[1])
    print(f"serve: {len(found)} modules", *found, sep="\n    ")
    assert 20 < len(found) <= BOUNDS["serve"]
