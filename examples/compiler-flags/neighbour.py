"""A noisy neighbour: run a command while something else takes the processor and the memory now and then.

    python neighbour.py [--share 0.08] [--burst 0.2] COMMAND ...

In bursts of random length (mean `--burst` seconds), at random times, and for a known share of the time, one process on
every core burns cycles and copies memory. The command runs in the meantime, undisturbed between the bursts; its exit
code is ours. The bursts come at the same moments on all cores, so there is no quiet core to flee to.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.synchronize import Barrier

SHARE, BURST = 0.08, 0.2
BLOCK = 16 * 2**20  # bytes copied at a time: more than the caches near a core hold


@contextmanager
def noisy_neighbour(share: float = SHARE, burst: float = BURST, seed: int = 0) -> Iterator[None]:
    """Bursts on every core while the block runs."""
    spawn = multiprocessing.get_context("spawn")
    cores = sorted(os.sched_getaffinity(0))
    ready = spawn.Barrier(len(cores) + 1)
    burners = [
        spawn.Process(target=_burn, args=(core, os.getpid(), ready, share, burst, seed), daemon=True) for core in cores
    ]
    for burner in burners:
        burner.start()
    try:
        ready.wait(timeout=60)
        yield
    finally:
        for burner in burners:
            burner.kill()
        for burner in burners:
            burner.join()


def bursts(share: float, burst: float, seed: int) -> Iterator[tuple[float, float]]:
    """Beginnings and ends of the bursts in seconds from the start, for ever: the same for the same seed."""
    chance = random.Random(seed)
    quiet = burst * (1.0 - share) / share
    # It may begin in the midst of a burst: the share then holds from the first moment on.
    start = 0.0 if chance.random() < share else chance.expovariate(1.0 / quiet)
    while True:
        end = start + chance.expovariate(1.0 / burst)
        yield start, end
        start = end + chance.expovariate(1.0 / quiet)


def _burn(core: int, parent: int, ready: Barrier, share: float, burst: float, seed: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever started us ends us
    os.sched_setaffinity(0, {core})
    source, target = bytearray(BLOCK), bytearray(BLOCK)
    ready.wait(timeout=60)
    begin = time.monotonic()
    for start, end in bursts(share, burst, seed):
        while (left := begin + start - time.monotonic()) > 0:
            time.sleep(min(left, 1.0))
            if os.getppid() != parent:  # whoever wanted us is gone
                return
        while time.monotonic() < begin + end:
            target[:] = source
            sum(range(20_000))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command that is named on the command line beside the neighbour."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--share", type=float, default=SHARE, help="share of the time that bursts take")
    parser.add_argument("--burst", type=float, default=BURST, help="mean length of a burst in seconds")
    parser.add_argument("--seed", type=int, default=0, help="the same seed, the same bursts")
    parser.add_argument("command", nargs=argparse.REMAINDER, help="what to run meanwhile")
    given = parser.parse_args(arguments)
    if not given.command:
        parser.error("wanted a command to run")
    if not (0.0 < given.share < 1.0 and given.burst > 0.0):
        parser.error("wanted 0 < share < 1 and burst > 0")
    with noisy_neighbour(given.share, given.burst, given.seed):
        try:
            command = subprocess.Popen(given.command)
        except OSError as error:
            print(f"neighbour.py: {given.command[0]} cannot be run: {error.strerror}", file=sys.stderr)
            return 127
        while True:
            try:
                return command.wait()
            except KeyboardInterrupt:  # the command got it too and stops in its own time
                continue


if __name__ == "__main__":
    sys.exit(main())
