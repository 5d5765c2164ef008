"""The modules of the package whose functions execute in a command: `python -m tools.walks run spec.toml`.

They are printed on stderr when the command has ended, one a line. tests/tools/test_walks.py holds their numbers.
"""

from __future__ import annotations

import sys
import threading
from inspect import CO_NEWLOCALS
from pathlib import Path
from types import FrameType
from typing import Any

import frontguard
from frontguard.cli import run_command

ROOT = str(Path(frontguard.__file__).parent)


def walked(arguments: list[str]) -> tuple[int, list[str]]:
    """Return the exit code of a command, and the modules that it went through."""
    seen: set[str] = set()

    def watch(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        # The body of a module or class has no locals of its own: to be imported is not yet to execute.
        if event == "call" and code.co_flags & CO_NEWLOCALS and code.co_filename.startswith(ROOT):
            seen.add(code.co_filename[len(ROOT) + 1 :])

    sys.argv = ["frontguard", *arguments]
    threading.setprofile(watch)
    sys.setprofile(watch)
    try:
        code = run_command()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return code, sorted(seen)


if __name__ == "__main__":
    ended, modules = walked(sys.argv[1:])
    print("\n".join(modules), file=sys.stderr)
    sys.exit(ended)
