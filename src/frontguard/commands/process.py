"""One command as one process group: started, drained, timed, and ended whole; and processes that look for patterns.

A group is led by the command itself, in a session of its own, so that a Ctrl-C on the terminal reaches us and not it.
When its leader exits, its time is over (SIGTERM and, after a grace, SIGKILL) or it is cancelled, what is left of the
group is killed, and so are processes that left it: a mark in their environment tells them. The leader is collected
last: until then its number, which is the group's, cannot be given to a stranger, so no signal can go astray.
"""

from __future__ import annotations

import itertools
import os
import select
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import psutil

from frontguard.errors import BadInput
from frontguard.studies.measurement import is_lost, this_worker

KEPT = 1 << 20
"""Bytes kept of the end of each stream: a last line may be that long."""

GRACE = 1.0
"""Seconds between SIGTERM and SIGKILL."""

_CHUNK = 1 << 16
_LOOK = 0.05  # seconds between two looks at whether we are cancelled
_LOOK_SOON = 0.005  # where only looking tells that a process has ended
_LAUNCHER = Path(__file__).with_name("_launcher.py")
_MAX_RSS_UNIT = 1 if sys.platform == "darwin" else 1024


@dataclass(frozen=True)
class EndedProcess:
    """The end of a command. `returncode` is minus the signal, or None if nobody knows; `max_rss` is in bytes."""

    how: Literal["exit", "timeout", "cancelled"]
    returncode: int | None
    seconds: float
    cpu_seconds: float
    max_rss: float | None  # if it was asked for
    stdout: bytes
    stderr: bytes
    cut: bool  # whether the beginning of stdout is missing


def run_group(
    command: Sequence[str],
    *,
    cwd: str | os.PathLike[str],
    env: Mapping[str, str],
    timeout: float | None,
    cancel: threading.Event | None = None,
    memory: bool = False,
    grace: float = GRACE,
) -> EndedProcess:
    """Run a command to its end. `memory` measures max_rss through a process in between, some 10 ms outside of the time.

    >>> run_group(["sh", "-c", "echo hello; exit 3"], cwd="/", env=dict(os.environ), timeout=60).returncode
    3
    """
    if not hasattr(os, "wait4"):
        raise BadInput(f"commands can be run on Linux and macOS; got {sys.platform}")
    if cancel is not None and cancel.is_set():
        return EndedProcess("cancelled", None, 0.0, 0.0, None, b"", b"", False)
    mark = new_mark()
    report_read, report_write = os.pipe() if memory else (-1, -1)
    try:
        started = list(command)
        if memory:
            started = [sys.executable, "-I", "-S", str(_LAUNCHER), str(report_write), *command]
        begun = time.perf_counter()
        process = subprocess.Popen(
            started,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            cwd=cwd,
            env={**env, MARK: mark},
            start_new_session=True,
            pass_fds=(report_write,) if memory else (),
        )
        group = _Group(process, begun, mark)
        try:
            how = group.wait(timeout, cancel)
            if how != "exit":
                group.terminate(grace)
        finally:
            group.finish()
        if memory:
            os.close(report_write)
            report_write = -1
            group.take_report(os.read(report_read, 4096))  # all of it: shorter than what a pipe takes in one piece
    finally:
        for descriptor in (report_read, report_write):
            if descriptor >= 0:
                os.close(descriptor)
    out, err = group.tails
    return EndedProcess(
        how, group.returncode, group.seconds, group.cpu_seconds, group.max_rss, out.kept(), err.kept(), out.cut
    )


class _Tail:
    """The end of a stream, in bounded memory."""

    def __init__(self) -> None:
        self.buffer = bytearray()
        self.cut = False

    def add(self, data: bytes) -> None:
        self.buffer += data
        self.cut = self.cut or len(self.buffer) > KEPT
        if len(self.buffer) > 2 * KEPT:  # not at every piece: each time as much is moved as is kept
            del self.buffer[:-KEPT]

    def kept(self) -> bytes:
        return bytes(self.buffer[-KEPT:])


class _Group:
    """A started command, until it is collected."""

    def __init__(self, process: subprocess.Popen[bytes], begun: float, mark: str) -> None:
        assert process.stdout is not None
        assert process.stderr is not None
        self.process, self.pid, self.begun, self.mark = process, process.pid, begun, mark
        self.tails = (_Tail(), _Tail())
        self.returncode: int | None = None
        self.seconds = self.cpu_seconds = 0.0
        self.max_rss: float | None = None
        self.exited = False
        self.collected: tuple[int, float] | None = None  # status and CPU time, if looking meant collecting
        self.pipes = {
            process.stdout.fileno(): (process.stdout, self.tails[0]),
            process.stderr.fileno(): (process.stderr, self.tails[1]),
        }
        self.poller = select.poll()
        for descriptor in self.pipes:
            self.poller.register(descriptor, select.POLLIN)
        self.exit_descriptor = -1
        try:  # readable as soon as the leader has exited; Linux only
            self.exit_descriptor = os.pidfd_open(self.pid)
            self.poller.register(self.exit_descriptor, select.POLLIN)
        except (AttributeError, OSError):
            pass

    def wait(self, timeout: float | None, cancel: threading.Event | None) -> Literal["exit", "timeout", "cancelled"]:
        """Drain both streams until the leader exits, time is over, or it is cancelled."""
        limit = None if timeout is None else self.begun + timeout
        while True:
            left = _LOOK if limit is None else min(_LOOK, limit - time.perf_counter())
            self._listen(left)
            if self.exited:
                return "exit"
            if cancel is not None and cancel.is_set():
                return "cancelled"
            if limit is not None and time.perf_counter() >= limit:
                return "timeout"

    def terminate(self, grace: float) -> None:
        """Ask the whole group to end, and give it a moment, during which it may still print."""
        self._signal(signal.SIGTERM)
        limit = time.perf_counter() + grace
        while (left := limit - time.perf_counter()) > 0:
            if self.exited and not group_is_alive(self.pid):
                return
            self._listen(min(left, _LOOK_SOON if self.exited else _LOOK))

    def finish(self) -> None:
        """Kill what is left, take what it printed, collect the leader, close everything."""
        try:
            self._signal(signal.SIGKILL)
            end_marked(self.mark, self.pid)
            while not self.exited:
                self._listen(_LOOK)
            self._drain()
            self._collect()
        finally:
            for pipe, _ in self.pipes.values():
                pipe.close()
            if self.exit_descriptor >= 0:
                os.close(self.exit_descriptor)

    def take_report(self, report: bytes) -> None:
        """Take the report of the launcher on the command, which is empty if it was killed itself."""
        fields = report.split()
        if len(fields) != 5:
            return
        errno = int(fields[0])
        if errno:
            raise OSError(errno, os.strerror(errno))
        self.returncode = os.waitstatus_to_exitcode(int(fields[1]))
        self.cpu_seconds, self.seconds = float(fields[2]), float(fields[4])
        self.max_rss = float(int(fields[3]) * _MAX_RSS_UNIT)

    def _listen(self, seconds: float) -> None:
        """Wait for output or for the exit, at most so long; read what there is."""
        if self.exit_descriptor < 0:
            seconds = min(seconds, _LOOK_SOON)
        ready = self.poller.poll(max(0.0, seconds) * 1000.0)
        if not self.exited and self._has_exited(ready):
            self.seconds = time.perf_counter() - self.begun
            self.exited = True
            if self.exit_descriptor >= 0:
                self.poller.unregister(self.exit_descriptor)  # it stays readable
        for descriptor, _ in ready:
            if descriptor in self.pipes:
                self._read(descriptor)

    def _has_exited(self, ready: list[tuple[int, int]]) -> bool:
        if self.exit_descriptor >= 0:
            return any(descriptor == self.exit_descriptor for descriptor, _ in ready)
        try:  # this collects the leader before its group is killed: its number might be given away in between
            pid, status, usage = os.wait4(self.pid, os.WNOHANG)
        except ChildProcessError:
            return True
        if pid:
            self.collected = (status, usage.ru_utime + usage.ru_stime)
        return bool(pid)

    def _read(self, descriptor: int) -> bool:
        """Read once from a pipe that has something; at its end, close it. Whether there may be more."""
        pipe, tail = self.pipes[descriptor]
        try:
            data = os.read(descriptor, _CHUNK)
        except BlockingIOError:
            return False
        if data:
            tail.add(data)
            return True
        self.poller.unregister(descriptor)
        del self.pipes[descriptor]
        pipe.close()
        return False

    def _drain(self) -> None:
        """Read what the pipes hold now. Someone beyond our reach may hold them open, and even go on writing."""
        for descriptor in list(self.pipes):
            os.set_blocking(descriptor, False)
            for _ in range(KEPT // _CHUNK):  # as much as a pipe can hold, by default limits
                if not self._read(descriptor):
                    break

    def _collect(self) -> None:
        try:
            if self.collected is None:
                _, status, usage = os.wait4(self.pid, 0)
                self.collected = (status, usage.ru_utime + usage.ru_stime)
            self.returncode = os.waitstatus_to_exitcode(self.collected[0])
            self.cpu_seconds = self.collected[1]
        except ChildProcessError:  # SIGCHLD is ignored in this process: the system collected it and told nobody
            self.returncode = None
        self.process.returncode = self.returncode if self.returncode is not None else 0  # nothing left for Popen to do

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):  # nobody is left, or only what has ended or is not ours
            os.killpg(self.pid, number)


MARK = "FRONTGUARD_PULL"
"""The environment variable that marks a process as part of a pull."""

FOLDER, OWNER = "frontguard-run-", ".worker"
"""How the folders of runs begin, and the file in them that has the name of the worker."""

_PATIENCE = 2.0  # seconds until a process that cannot be killed (stuck in the kernel) is given up
_LOOKS = 4
_serial = itertools.count(1)


def new_mark() -> str:
    """A mark for one pull, after those of the pulls that we are ourselves part of."""
    ours = f"{this_worker()}#{next(_serial) % 2**32:08x}"
    outer = os.environ.get(MARK)
    return f"{outer} {ours}" if outer else ours


def end_marked(mark: str, first: int) -> None:
    """Kill every process with this mark that was started after the process `first`."""
    deadline = time.perf_counter() + _PATIENCE
    # Again, until there are none: one may have started another meanwhile.
    while (found := _marked(_started_after(first), lambda written: mark in written)) and time.perf_counter() < deadline:
        _kill(found)
        time.sleep(0.001)


def end_abandoned() -> int:
    """Kill the pulls of runners of this machine that are certainly dead, but for one that we are part of; how many."""
    own = set(os.environ.get(MARK, "").split())
    found = _marked(
        psutil.pids(), lambda written: any(is_lost(mark.rpartition("#")[0]) for mark in set(written.split()) - own)
    )
    _kill(found)
    return len(found)


@contextmanager
def run_folder() -> Iterator[Path]:
    """A folder for one run in the temporary directory, which says whose it is; removed at the end, if it can be."""
    with tempfile.TemporaryDirectory(prefix=FOLDER, ignore_cleanup_errors=True) as name:
        (Path(name) / OWNER).write_text(this_worker(), encoding="utf-8")
        yield Path(name)


def clear_abandoned() -> int:
    """Remove temporary folders, not writable by others, that killed runs of this user left; how many."""
    cleared = 0
    for folder in Path(tempfile.gettempdir()).glob(f"{FOLDER}*"):
        with suppress(OSError, ValueError):  # none of ours, or something in it cannot be removed
            status = folder.lstat()
            others = not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o022
            if not others and is_lost((folder / OWNER).read_text(encoding="utf-8")):
                shutil.rmtree(folder)  # follows no links
                cleared += 1
    return cleared


def group_is_alive(group: int) -> bool:
    """True if a process group has members that have not ended."""
    for pid in psutil.pids():
        with suppress(OSError, psutil.Error):
            if os.getpgid(pid) == group and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
                return True
    return False


def _started_after(first: int) -> list[int]:
    """Processes that may be newer than this one: Linux numbers them in order; elsewhere all but this one and ours."""
    try:
        newest = int(Path("/proc/loadavg").read_text("ascii").split()[-1])
    except (OSError, ValueError, IndexError):
        return [pid for pid in psutil.pids() if pid not in (first, os.getpid())]
    if newest == first:
        return []
    if newest > first:
        return [pid for pid in psutil.pids() if first < pid <= newest]
    return [pid for pid in psutil.pids() if pid > first or pid <= newest]  # the numbers have begun again


def _marked(pids: Sequence[int], wanted: Callable[[str], bool]) -> list[psutil.Process]:
    """The processes with the wanted mark; while one becomes another program it has none, and is looked at again."""
    found = []
    for _ in range(_LOOKS):
        unclear = []
        for pid in pids:
            with suppress(OSError, psutil.Error):
                process = psutil.Process(pid)
                environment = process.environ()
                if wanted(environment.get(MARK, "")):
                    found.append(process)
                elif not environment and process.exe():
                    unclear.append(pid)
        if not unclear:
            break
        pids = unclear
        time.sleep(0.001)
    return found


def _kill(processes: Sequence[psutil.Process]) -> None:
    for process in processes:
        with suppress(psutil.Error):
            process.kill()


# Patterns are looked for in a process of their own: `re` keeps the interpreter to itself while it looks, so that no
# timeout, no Ctrl-C and no other thread gets a turn. docs/decisions/patterns.md has what else was tried.

_MATCHER = Path(__file__).with_name("_matcher.py")


class TookTooLong(Exception):
    """A pattern was not done with its text in time."""


class Stopped(Exception):
    """We were cancelled while a pattern was looked for."""


class Patterns(AbstractContextManager["Patterns"]):
    """Looks for patterns, from any number of threads. Use it in a `with` statement."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[_Matcher] = []

    def last(
        self, pattern: str, text: str, *, seconds: float | None = None, cancel: threading.Event | None = None
    ) -> str | None:
        """The group of the last match, "" if it took no part; None without a match. Raises `TookTooLong`, `Stopped`."""
        with self._lock:
            matcher = self._idle.pop() if self._idle else None
        if matcher is not None and not matcher.lives():  # somebody ended it
            matcher.end()
            matcher = None
        matcher = matcher or _Matcher()
        try:
            found = matcher.last(pattern, text, seconds, cancel)
        except BaseException:
            matcher.end()
            raise
        with self._lock:
            self._idle.append(matcher)
        return found

    def __exit__(self, *error: object) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for matcher in idle:
            matcher.end()


class _Matcher:
    """A process that looks for one pattern at a time, and is ended by the kernel when it takes too long."""

    def __init__(self) -> None:
        from multiprocessing import Pipe

        self._pipe, theirs = Pipe()
        with theirs:
            # Marked as a pull is: whoever ends what a dead runner left behind finds it.
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", str(_MATCHER), str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={**os.environ, MARK: new_mark()},
                start_new_session=True,
                pass_fds=(theirs.fileno(),),
            )

    def lives(self) -> bool:
        return self._process.poll() is None

    def last(self, pattern: str, text: str, seconds: float | None, cancel: threading.Event | None) -> str | None:
        self._pipe.send((pattern, text, seconds or 0.0))
        while not self._pipe.poll(_LOOK):
            if cancel is not None and cancel.is_set():
                raise Stopped
        try:
            found: str | None = self._pipe.recv()
        except (EOFError, OSError):  # ended at its time; or, which is no other news, out of memory
            raise TookTooLong from None
        return found

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        self._pipe.close()
