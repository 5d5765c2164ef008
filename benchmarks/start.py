"""What is waited for before anything happens: `import frontguard` and `frontguard --help`, in fresh processes.

Processor time, the shortest of some: what others do on this machine at the same moment does not count. Python itself
is in it; beside it, what NumPy alone takes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.processes import fresh
from benchmarks.tables import Row, heading, peer

TIMES = 15


def main() -> Iterator[Row]:
    heading(f"fresh processes: processor time, the shortest of {TIMES}")
    python, command = sys.executable, str(Path(sys.executable).with_name("frontguard"))
    works = {
        "python": [python, "-c", "pass"],
        "numpy": [python, "-c", "import numpy"],
        "import frontguard": [python, "-c", "import frontguard"],
        "frontguard --help": [command, "--help"],
        "frontguard analyze --help": [command, "analyze", "--help"],
    }
    best = dict.fromkeys(works, (float("inf"), float("inf")))
    for _ in range(TIMES):  # in turns
        for name, arguments in works.items():
            run = fresh(arguments)
            best[name] = (min(best[name][0], run.processor), min(best[name][1], run.wall))
    bare, numpy = best["python"][0], best["numpy"][0]
    beside = f"Python {sys.version.split()[0]}, {peer('numpy')}"
    # What `analyze --help` takes besides is typer's, which has pydantic check the types of a command's options.
    for name, at_most in (("import frontguard", 0.1), ("frontguard --help", 0.2), ("frontguard analyze --help", None)):
        processor, wall = best[name]
        details = f"{wall:.3f} s by the clock; Python alone {bare:.3f} s, import numpy {numpy:.3f} s"
        yield Row(name, processor, at_most=at_most, unit="s", details=details, beside=beside)
