"""Looks for patterns in texts, in a process that can be ended: `python -I -S _matcher.py FD`. Imports nothing of ours.

Takes `(pattern, text, seconds)` from the connection at FD, and answers with the group of the last match, or None. One
that takes longer (0: for ever) ends this process by a signal of the kernel's: while `re` looks, no Python runs.
"""

import re
import signal
import sys
from multiprocessing.connection import Connection


def main() -> None:
    """Answer until nobody asks any more."""
    asked = Connection(int(sys.argv[1]))
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    while True:
        try:
            pattern, text, seconds = asked.recv()
        except EOFError:
            return
        signal.setitimer(signal.ITIMER_REAL, seconds)
        last = None
        for match in re.finditer(pattern, text, re.MULTILINE):
            last = match
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        asked.send(None if last is None else last[1] or "")  # one that took no part in the match is empty


if __name__ == "__main__":
    main()
