"""Measure every flag set many times, with and without the neighbour, and write the raw rows: the bundled data set.

    python record.py [--pulls 250] [--busy 0.1] [--output FOLDER]

Writes compiler_flags.csv.gz (a row a pull, in the order in which they were measured) and compiler_flags.json (the
machine and the compiler). Blocks of rounds with and without the neighbour alternate, and the order of the arms is drawn
anew for every round. Before each block it waits until the machine has nothing else to do (`--busy` says how much it may
have): it looks at the processor's idle time, never at a measurement, so that nothing is chosen by its result.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import gzip
import io
import json
import os
import platform
import random
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from neighbour import BURST, SHARE, noisy_neighbour

HERE = Path(__file__).resolve().parent
COLUMNS = ("at", "arm", "neighbour", "time", "bytes", "seconds", "reference_seconds")
BLOCK = 5
"""Rounds in a row with the neighbour on or off."""
LOOK = 0.5
"""Seconds for which the machine has to be idle before a block."""

Row = dict[str, Any]


def flag_sets() -> list[str]:
    """The arms of flags.toml."""
    spec = tomllib.loads((HERE / "flags.toml").read_text(encoding="utf-8"))
    return [arm["name"] for arm in spec["arm"]]


def build(arms: Sequence[str], folder: Path) -> list[Path]:
    """Compile the program once for every arm."""
    programs = []
    for number, flags in enumerate(arms):
        workdir = folder / str(number)
        workdir.mkdir()
        subprocess.run(["sh", str(HERE / "build.sh"), str(workdir), flags], check=True)
        programs.append(workdir / "bench")
    return programs


def busy_share() -> float:
    """The share of all cores' time that is in use, over a short while."""

    def ticks() -> tuple[int, int]:
        fields = Path("/proc/stat").read_text(encoding="utf-8").splitlines()[0].split()[1:]
        numbers = [int(field) for field in fields]
        return sum(numbers), numbers[3] + numbers[4]  # idle, and idle while waiting for a disk

    before = ticks()
    time.sleep(LOOK)
    after = ticks()
    return 1.0 - (after[1] - before[1]) / max(1, after[0] - before[0])


def measured(
    arms: Sequence[str], programs: Sequence[Path], pulls: int, busy: float, say: Callable[[str], None]
) -> Iterator[list[Row]]:
    """Blocks of rows, as many rounds off as on in each, until every arm has `pulls` of either."""
    chance = random.Random(0)
    start = time.monotonic()
    for first in range(0, pulls, BLOCK):
        rounds = min(BLOCK, pulls - first)
        block = []
        for on in (False, True):
            while busy_share() > busy:
                pass
            with noisy_neighbour(seed=first) if on else nullcontext():
                for _ in range(rounds):
                    for arm in chance.sample(range(len(arms)), len(arms)):
                        at = time.monotonic() - start
                        done = subprocess.run([programs[arm]], capture_output=True, text=True, check=True)
                        metrics = json.loads(done.stdout.splitlines()[-1])
                        block.append({"at": f"{at:.2f}", "arm": arms[arm], "neighbour": int(on), **metrics})
        yield block
        say(f"{first + rounds} of {pulls} rounds, {time.monotonic() - start:.0f} s")


def machine_facts() -> dict[str, Any]:
    """What the measurements may depend on; nothing that names the machine."""
    cpu = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    fields = dict(line.split(":", 1) for line in cpu.splitlines() if ":" in line)
    facts = {key.strip(): value.strip() for key, value in fields.items()}
    native = _first_line(["gcc", "-march=native", "-Q", "--help=target"], containing="-march=").split()[-1]
    return {
        "cpu": facts.get("model name", platform.machine()),
        "cpu_family_model": f"{facts.get('cpu family', '?')}/{facts.get('model', '?')}",
        "architecture": platform.machine(),
        "cores": os.cpu_count(),
        "virtual_machine": "hypervisor" in facts.get("flags", "").split(),
        "system": platform.system(),
        "compiler": _first_line(["gcc", "--version"]),
        "march_native": native,
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "neighbour": {"share_of_time": SHARE, "mean_burst_seconds": BURST},
    }


def _first_line(command: Sequence[str], containing: str = "") -> str:
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return next(line for line in lines if containing in line)


def write(rows: Sequence[Row], facts: dict[str, Any], folder: Path) -> None:
    """The two files. No time stamp in the gzip header: the same rows give the same bytes."""
    text = io.StringIO()
    table = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "compiler_flags.csv.gz").write_bytes(gzip.compress(text.getvalue().encode(), 9, mtime=0))
    (folder / "compiler_flags.json").write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")


def _say(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Record, and say how far it has come."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pulls", type=int, default=250, help="of every arm, without the neighbour and with it")
    parser.add_argument("--busy", type=float, default=0.1, help="share of the cores' time that others may be using")
    parser.add_argument("--output", type=Path, default=Path("recorded"))
    given = parser.parse_args(arguments)
    arms = flag_sets()
    with tempfile.TemporaryDirectory() as folder:
        programs = build(arms, Path(folder))
        rows: list[Row] = []
        for block in measured(arms, programs, given.pulls, given.busy, _say):
            rows += block
            write(rows, machine_facts(), given.output)  # as it comes: an interruption loses little
    return 0


if __name__ == "__main__":
    sys.exit(main())
