"""A small study that measures for real as far as a page can tell: a process of its own, at a pace that can be watched.

    python -m tests.support.measuring STORAGE

It goes on to as many pulls as it was last told on a line of its standard input ("120"), or to its end ("end"), and
writes a line of JSON whenever it has come to where it may go. Values are drawn by arm from seeded streams, so that
every run of it has the same log.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from frontguard import Objective, Prescient, Study
from frontguard.storage.contract import Tell
from tests.support import warm

NAME = "flags on the build machine"
TRUTH: dict[str, tuple[float, ...]] = {  # medians of seconds and bytes
    "-O2": (10.0, 100.0),
    "-O3 -march=native": (6.0, 140.0),
    "-Os": (14.0, 70.0),
    "-O2 -flto": (8.0, 112.0),
    "-O2 -fno-inline": (10.3, 104.0),
    "-O0": (19.0, 210.0),
    "-O3 -funroll-all-loops": (11.0, 150.0),
}
OBJECTIVES = (Objective("seconds", "minimize", tolerance="8%"), Objective("bytes", "minimize", tolerance="8%"))
SEED = 7
FLAKY = "-O3 -funroll-all-loops"


class Machine:
    """Measures: noisy, now and then garbage, and one arm crashes at times."""

    def __init__(self, truth: dict[str, tuple[float, ...]] = TRUTH, flaky: str = FLAKY, noise: float = 0.12) -> None:
        self._truth, self._flaky, self._noise = truth, flaky, noise
        self._streams = {arm: np.random.default_rng([SEED, number]) for number, arm in enumerate(truth)}

    def measure(self, arm: str) -> tuple[float, ...] | str:
        """The values of a pull, or why it failed."""
        rng = self._streams[arm]
        luck = rng.random()
        values = np.array(self._truth[arm]) * np.exp(self._noise * rng.normal(size=len(self._truth[arm])))
        if arm == self._flaky and luck < 0.15:
            return "exit code 139" if luck < 0.1 else "timeout after 10 s"
        return tuple((values * 40.0 if luck > 0.97 else values).tolist())


def begin(storage: str | Path, name: str = NAME) -> Study:
    """The study, taken up where it is."""
    return Study(
        list(TRUTH),
        OBJECTIVES,
        Prescient(0.05),
        storage=storage,
        name=name,
        seed=SEED,
        worker="build machine",
        blocks=False,
    )


def advance(
    study: Study, machine: Machine, pulls: int | None, *, pause: float = 0.0, clock: Iterator[float] | None = None
) -> int:
    """Measure until so many pulls were told, or to the end; how many were told then.

    With a clock, the pulls are told as of its times instead of now.
    """
    while pulls is None or study.storage.size(study.name)[1] < pulls:
        asked = study.ask(4)
        if not asked:
            break
        for pull in asked:
            found = machine.measure(pull.arm)
            if clock is not None:
                failed = isinstance(found, str)
                values = (math.nan,) * len(study.objectives) if isinstance(found, str) else found
                reason = str(found) if failed else ""
                study.storage.tell(study.name, [Tell(pull.id, values, reason, study.worker, next(clock))])
            elif isinstance(found, str):
                study.fail(pull, found)
            else:
                study.tell(pull, found)
        time.sleep(pause)
    return study.storage.size(study.name)[1]


def main() -> None:
    """Do as standard input says."""
    study, machine = begin(sys.argv[1]), Machine()
    print(json.dumps({"told": 0}), flush=True)
    for line in sys.stdin:
        told = advance(study, machine, None if line.strip() == "end" else int(line), pause=0.012)
        print(json.dumps({"told": told, "status": study.status, "result": study.result().to_dict()}), flush=True)


# For tests ------------------------------------------------------------------------------------------------------------


@dataclass
class Measuring:
    """The process, seen from a test."""

    process: subprocess.Popen[str]
    inward: IO[str]
    outward: IO[str]

    @classmethod
    def start(cls, storage: str | Path) -> Measuring:
        """Begin the study; it waits for a word."""
        process = subprocess.Popen(
            warm.python("-m", "tests.support.measuring", str(storage)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[2],
        )
        assert process.stdin is not None
        assert process.stdout is not None
        begun = cls(process, process.stdin, process.stdout)
        begun.arrived()
        return begun

    def go(self, until: int | str) -> None:
        """Let it go on; returns at once."""
        self.inward.write(f"{until}\n")
        self.inward.flush()

    def arrived(self) -> dict[str, Any]:
        """Wait until it has come to where it may go. Fails if it died of anything."""
        line = self.outward.readline()
        if not line:
            raise AssertionError(f"the study died with exit code {self.process.wait()}")
        found: dict[str, Any] = json.loads(line)
        return found

    def end(self) -> int:
        """No more words; the exit code."""
        with suppress(BrokenPipeError):
            self.inward.close()
        code = self.process.wait(timeout=180)
        self.outward.close()
        return code


if __name__ == "__main__":
    main()
