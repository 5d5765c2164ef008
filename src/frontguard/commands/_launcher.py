"""Runs one command from a small process and reports what it used. A script: started by path, imports nothing of ours.

Linux hands the peak memory of the process that starts a command down to the command: `true`, started by a Python of
300 MB, is said to have needed 300 MB. So a command whose memory counts is started from here. A plain fork passes on
only the private memory of this little interpreter, some 7 MB; `posix_spawn` would pass on more.

    python -I -S _launcher.py REPORT_FD COMMAND ARGUMENT…

writes `errno status cpu_seconds max_rss seconds` to the file descriptor REPORT_FD; errno is 0 if the command could be
started.
"""

import os
import signal
import sys
import time


def main() -> None:
    """Start the command, wait for it, report."""
    report, command = int(sys.argv[1]), sys.argv[2:]
    os.set_inheritable(report, False)
    for ignored in (signal.SIGPIPE, getattr(signal, "SIGXFSZ", signal.SIGPIPE)):  # by Python; not by commands
        signal.signal(ignored, signal.SIG_DFL)
    # Not os.execvp, which imports a module on its way: the child does as little as it can before it is the command.
    folders = [""] if "/" in command[0] else os.environ.get("PATH", os.defpath).split(":")
    places = [f"{folder}/{command[0]}" if folder else command[0] for folder in folders]
    failure_read, failure_write = os.pipe()  # closed by a successful exec
    begun = time.perf_counter()
    pid = os.fork()
    if pid == 0:
        failure = 2  # ENOENT
        for place in places:
            try:
                os.execv(place, command)
            except OSError as problem:
                if problem.errno not in (2, 20):  # no such file, no such folder: look on, but remember anything else
                    failure = problem.errno or failure
        os.write(failure_write, str(failure).encode())
        os._exit(127)
    os.close(failure_write)
    failed = os.read(failure_read, 16).decode() or "0"
    _, status, usage = os.wait4(pid, 0)
    seconds = time.perf_counter() - begun
    cpu_seconds = usage.ru_utime + usage.ru_stime
    os.write(report, f"{failed} {status} {cpu_seconds!r} {usage.ru_maxrss} {seconds!r}".encode())


if __name__ == "__main__":
    main()
