"""Real sessions of pytest-benchmark and hyperfine: how often each tool cries wolf, and how soon it sees a slowdown.

A suite of five small tests is run in sessions of pytest-benchmark, and a program by hyperfine, five runs a session.
Sessions of the same code (*base* and *same*) and of code that does a tenth more in one test (*slow*) take turns, while
neighbours work now and then on the same machine. They are a pool, from which 200 gates are drawn: a gate has the
sessions of some turns, each at random as the baseline's or the change's where both are of one code. So gates share
sessions, and their shares are those of one machine in some minutes. Beside them stands how often gates of neighbouring
turns raise an alarm: the k-th has the turns from the k-th on.

- *frontguard*: exit 1 of `frontguard gate` at a tolerance of 5 %, contamination 10 %.
- *mean:5%*: `--benchmark-compare-fail=mean:5%`, the last session of one side against that of the other; and of
  hyperfine the same threshold on the ratio that it prints.
- *benchstat*: Mann and Whitney's test of each benchmark at 5 %.
- *Welch*: t tests against the tolerance, with Bonferroni's correction.

FRONTGUARD_BENCH_SCALE=0.5 has half as many turns, and at most half of the time; at 1 it takes about ten minutes a
tool. What is not installed is left out: hyperfine is looked for on the PATH.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import Process
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.suites import PEERS, Sides, alarms, many
from benchmarks.tables import Row, heading, peer
from frontguard._common.typing import Floats, Ints
from frontguard.theory.threats import Prescient

SCALE = float(os.environ.get("FRONTGUARD_BENCH_SCALE", "1"))
TURNS = round(60 * SCALE)  # of the pool, if there is time
MOST_SECONDS = 720.0 * SCALE  # for the pool of a tool
GATES = 200
SESSIONS = 12  # a side, of gates of equal code
SIZES = range(4, 25)
CODES = {"base": 1.0, "same": 1.0, "slow": 1.1}
NEIGHBOURS = 2
THREAT = Prescient(0.1)

SUITE = """
import os
import pytest

WORK = float(os.environ["WORK"])

def work(rounds):
    total = 0
    for i in range(int(rounds)):
        total += i * i % 7
    return total

@pytest.mark.parametrize("test", range(5))
def test_work(benchmark, test):
    benchmark.pedantic(work, args=(20_000 * (test + 1) * (WORK if test == 2 else 1.0),), rounds=15, iterations=1)
"""

PROGRAM = "t = 0\nfor i in range({}):\n    t += i * i % 7\n"


def disturb(seed: int) -> None:
    """Work now and then, as somebody else on the machine does."""
    draw = random.Random(seed)
    while True:
        until = time.monotonic() + draw.expovariate(1.0)
        while time.monotonic() < until:
            sum(i * i for i in range(10_000))
        time.sleep(draw.expovariate(0.5))


@contextmanager
def neighbours() -> Iterator[None]:
    """Others that work on the machine."""
    some = [Process(target=disturb, args=(seed,), daemon=True) for seed in range(NEIGHBOURS)]
    for each in some:
        each.start()
    try:
        yield
    finally:
        for each in some:
            each.terminate()
            each.join()


def session_of_pytest(folder: Path, factor: float) -> tuple[Floats, Floats]:
    """Medians and means of the tests of one session."""
    path = folder / "session.json"
    (folder / "test_work.py").write_text(SUITE, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "pytest_benchmark.plugin", "test_work.py"]
    environment = os.environ | {"WORK": str(factor), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command.append(f"--benchmark-json={path}")
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
    found = json.loads(path.read_text(encoding="utf-8"))["benchmarks"]
    stats = [each["stats"] for each in sorted(found, key=lambda each: str(each["name"]))]
    return np.array([each["median"] for each in stats]), np.array([each["mean"] for each in stats])


def session_of_hyperfine(folder: Path, factor: float) -> tuple[Floats, Floats]:
    """The median and the mean of five runs of a program."""
    path, program = folder / "session.json", folder / "program.py"
    program.write_text(PROGRAM.format(int(300_000 * factor)), encoding="utf-8")
    command = ["hyperfine", "-N", "--runs", "5", "--export-json", str(path), f"{sys.executable} -S {program}"]
    subprocess.run(command, check=True, capture_output=True)
    (found,) = json.loads(path.read_text(encoding="utf-8"))["results"]
    return np.array([found["median"]]), np.array([found["mean"]])


Session = Callable[[Path, float], tuple[Floats, Floats]]
TOOLS: dict[str, Session] = {"pytest-benchmark": session_of_pytest, "hyperfine": session_of_hyperfine}


Pool = tuple[Floats, Floats]
"""Logarithms (tests, turns) of medians and means."""


def measured(session: Session) -> dict[str, Pool]:
    """The pool of each code, whose sessions take turns in a random order."""
    draw, found = random.Random(1), {code: list[tuple[Floats, Floats]]() for code in CODES}
    until = time.monotonic() + MOST_SECONDS
    with TemporaryDirectory() as name, neighbours():
        while len(found["base"]) < TURNS and time.monotonic() < until:
            for code in draw.sample(list(CODES), len(CODES)):
                found[code].append(session(Path(name), CODES[code]))
    return {code: tuple(np.log(np.array(side)).T for side in zip(*all_of, strict=True))
            for code, all_of in found.items()}  # fmt: skip


def in_a_row(turns: int, sessions: int) -> Ints:
    """The turns (gates, sessions) of all gates of neighbouring ones."""
    return np.arange(turns - sessions + 1)[:, None] + np.arange(sessions)


def drawn(turns: int, sessions: int) -> Ints:
    """Those of gates that are drawn from the pool, in order."""
    rng = np.random.default_rng(sessions)
    return np.stack([np.sort(rng.choice(turns, sessions, replace=False)) for _ in range(GATES)])


def gates(base: Pool, change: Pool, turns: Ints, *, alike: bool = False) -> dict[str, float]:
    """The share of gates of these turns in which each tool raises an alarm."""
    swapped = np.random.default_rng(0).random(turns.shape) < 0.5 * alike

    def sides(which: int) -> Sides:
        of_base, of_change = (np.moveaxis(side[which][:, turns], 0, 1) for side in (base, change))
        where = swapped[:, None, :]
        return np.where(where, of_change, of_base), np.where(where, of_base, of_change)

    medians = sides(0)
    shares = dict(zip(PEERS, alarms(medians).mean(axis=1).tolist(), strict=True))
    shares["mean:5%"] = float(alarms(sides(1))[-1].mean())
    ours = {"frontguard": float((many(medians, THREAT).exits == 1).mean())}
    return ours | {name: shares[name] for name in ("mean:5%", "benchstat", "Welch")}


def enough(base: Pool, slow: Pool) -> dict[str, int | None]:
    """The fewest sessions a side with which each tool finds the slowdown in nine of ten gates."""
    found: dict[str, int | None] = {}
    for size in SIZES:
        if size <= base[0].shape[1]:
            for tool, share in gates(base, slow, drawn(base[0].shape[1], size)).items():
                if share >= 0.9:
                    found.setdefault(tool, size)
    return {tool: found.get(tool) for tool in ("frontguard", "mean:5%", "benchstat", "Welch")}


def main() -> Iterator[Row]:
    """For each tool the alarms of equal code, and the sessions that a slowdown of a tenth takes."""
    for tool, session in TOOLS.items():
        if tool == "hyperfine" and shutil.which(tool) is None:
            heading("hyperfine is not installed: left out")
            continue
        heading(f"real sessions of {tool}, beside {NEIGHBOURS} neighbours")
        began = time.monotonic()
        known = measured(session)
        turns = known["base"][0].shape[1]
        took = f"{GATES} gates drawn from {turns} sessions of each code; {time.monotonic() - began:.0f} s"
        spread = float(np.std(np.diff(known["base"][0], axis=1)) / np.sqrt(2.0))
        beside = peer("pytest-benchmark") if tool == "pytest-benchmark" else tool
        equal, row = (known["base"], known["same"]), in_a_row(turns, SESSIONS)
        neighbouring = gates(*equal, row)
        for name, share in gates(*equal, drawn(turns, SESSIONS), alike=True).items():
            wanted = 5.0 if name == "frontguard" else None
            beside_it = f"{neighbouring[name]:.0%} of {len(row)} gates of neighbouring turns"
            yield Row(
                f"{tool}: alarms of {name}, {SESSIONS} sessions a side of equal code", 100.0 * share, at_most=wanted,
                unit="%", details=f"{took}; sessions differ by {spread:.1%}; {beside_it}", beside=beside,
            )  # fmt: skip
        for name, sessions in enough(known["base"], known["slow"]).items():
            most = min(SIZES[-1], turns)
            said = f"more than {most}" if sessions is None else str(sessions)
            yield Row(
                f"{tool}: sessions a side of which {name} finds 10 % in nine of ten gates", float(sessions or most + 1),
                unit="sessions", details=said, beside=beside,
            )  # fmt: skip
