"""A study shared by several processes through PostgreSQL: which compressor, at which level, for our text?

    python service.py create URL     begin the study
    python service.py work URL       ask, compress, tell, until it is done; start as many as you like, anywhere
    python service.py watch URL      the answer so far
    python service.py demo URL       all of it: three workers, one of which is killed on the way

URL is a database that you may write to, such as postgresql://user@localhost/mine.
"""

from __future__ import annotations

import argparse
import bz2
import lzma
import random
import signal
import subprocess
import sys
import time
import zlib
from collections.abc import Callable

from frontguard import Objective, Prescient, Study

NAME = "compressors"
COMPRESSORS: dict[str, Callable[[bytes], bytes]] = {
    "zlib 1": lambda data: zlib.compress(data, 1),
    "zlib 6": lambda data: zlib.compress(data, 6),
    "zlib 9": lambda data: zlib.compress(data, 9),
    "bz2 1": lambda data: bz2.compress(data, 1),
    "bz2 9": lambda data: bz2.compress(data, 9),
    "lzma 0": lambda data: lzma.compress(data, preset=0),
    "lzma 3": lambda data: lzma.compress(data, preset=3),
}
OBJECTIVES = [
    Objective("seconds", "minimize", tolerance="25%"),  # a shared machine: less could not be told apart anyway
    Objective("bytes", "minimize", tolerance="1%"),
]


def text() -> bytes:
    """Something to compress: words of a made-up language, some frequent and most rare."""
    rng = random.Random(0)
    words = ["".join(rng.choices("etaoinshrdlu", k=rng.randint(2, 9))) for _ in range(2000)]
    return " ".join(rng.choices(words, weights=[1 / rank for rank in range(1, 2001)], k=20_000)).encode()


def create(url: str) -> Study:
    """Begin the study, or take it up if it is there."""
    return Study(list(COMPRESSORS), OBJECTIVES, Prescient(0.1), storage=url, name=NAME, lease=30)


def work(url: str) -> None:
    """What a worker does. It needs to know nothing but where the study is."""
    study = Study.open(url, NAME, lease=30)
    data = text()
    while not study.done:
        pulls = study.ask(4)
        if not pulls:  # what is left is in the hands of others
            time.sleep(0.2)
        for pull in pulls:
            began = time.process_time()
            size = len(COMPRESSORS[pull.arm](data))
            study.tell(pull, {"seconds": time.process_time() - began, "bytes": size})


def watch(url: str) -> None:
    """The answer so far."""
    result = Study.open(url, NAME).result()
    print(f"{result.status} after {result.pulls} pulls: {', '.join(result.pareto_set) or 'no compressor is in yet'}")
    for arm, verdict in result.verdicts.items():
        ends = ", ".join(f"{name} {low:.4g} to {high:.4g}" for name, (low, high) in result.intervals[arm].items())
        print(f"  {arm:8} {verdict:10} {ends}")
    print(result.certificate)
    for warning in result.warnings:
        print(f"warning: {warning}")


def demo(url: str) -> None:
    """Three workers; the first is killed, as an operator or the kernel might, and nothing is lost."""
    study = create(url)
    command = [sys.executable, __file__, "work", url]
    workers = [subprocess.Popen(command) for _ in range(3)]
    try:
        while (len(told := study.storage.told(NAME)) < 30 or len(set(told.workers)) < 2) and not study.done:
            time.sleep(0.05)
        workers[0].send_signal(signal.SIGKILL)
        print(f"killed a worker after {study.storage.size(NAME)[1]} pulls; the others go on", flush=True)
        for worker in workers[1:]:
            if worker.wait() != 0:
                sys.exit("a worker failed")
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()
    watch(url)


def main() -> None:
    """Run one of the four."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["create", "work", "watch", "demo"])
    parser.add_argument("url")
    given = parser.parse_args()
    {"create": create, "work": work, "watch": watch, "demo": demo}[given.what](given.url)


if __name__ == "__main__":
    main()
