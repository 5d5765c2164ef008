"""Looks for patterns in texts, in a process that can be ended. A script: started by path, imports nothing of ours.

    python -I -S _matcher.py

reads requests from stdin: a line `seconds pattern_bytes text_bytes` and so many bytes of UTF-8. It answers each on
stdout: a line with the number of bytes of the group in the last match, and these bytes; -1 if nothing matched. One that
takes longer than its seconds ends this process, by a signal of the kernel's: while `re` looks, no Python runs.
"""

import re
import signal
import sys


def main() -> None:
    """Answer until nobody asks any more."""
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    while head := requests.readline().split():
        pattern, text = (requests.read(int(size)).decode() for size in head[1:])
        signal.setitimer(signal.ITIMER_REAL, float(head[0]))
        last = None
        for match in re.finditer(pattern, text, re.MULTILINE):
            last = match
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        group = b"" if last is None else (last[1] or "").encode()  # one that took no part in the match is empty
        answers.write(b"%d\n" % (-1 if last is None else len(group)) + group)
        answers.flush()


if __name__ == "__main__":
    main()
