"""The end of a process that has nothing open and nothing left to do.

Python ends by taking apart all that there is, module by module and object by object, which takes 0.3 s after a large
log: as long as reading it. The system gives all of it back at once.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading


def leave_at_once(code: int) -> None:
    """End the process with this code, after all that is due at an exit: threads, exit functions, unwritten output.

    Returns where output cannot be written, so that Python ends as ever, and says so.
    """
    try:
        _flush()
        threading._shutdown()  # type: ignore[attr-defined]  # as Python itself does, in this order
        atexit._run_exitfuncs()
        _flush()
    except (OSError, ValueError, AttributeError):
        return
    os._exit(code)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
