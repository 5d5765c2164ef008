"""Pulls made by running commands: what an arm needs before its first, and the metrics in what a command printed.

Every way to fail ends in a measurement with a short reason, the same for the same failure, and a detail. A metric that
cannot be read, or that its tolerance or bounds make unusable, fails alone.
"""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
import signal
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from frontguard._common.secrets import hidden
from frontguard.commands.process import GRACE, EndedProcess, Patterns, Stopped, TookTooLong, run_folder, run_group
from frontguard.commands.spec import Command, MetricSource, Spec, as_text, filled, filled_command
from frontguard.notices import CleaningUp, Notice, StepFailed
from frontguard.phrases import one_line
from frontguard.studies.measurement import BOOLEAN, CANCELLED, Measurement

SHOWN = 1 << 16
"""Bytes of the end of each stream that an outcome carries."""

_LONGEST_DETAIL = 300
_LEAST_FOR_A_PATTERN = 1.0  # seconds, however near its timeout the command ended
_PATIENCE = 2.0  # seconds of cleaning up after which a person is told


@dataclass(frozen=True)
class CommandMeasurement(Measurement):
    """The outcome of one command: `values` has every metric by name, `detail` more than the `reason`."""

    detail: str = ""
    explained: bool = False
    returncode: int | None = None
    stdout: str = field(default="", repr=False)
    stderr: str = field(default="", repr=False)


def run_pull(
    command: Command | Sequence[str],
    sources: Sequence[MetricSource],
    *,
    cwd: str | os.PathLike[str] = ".",
    env: Mapping[str, str] | None = None,
    secrets: Collection[str] = (),
    timeout: float | None = None,
    cancel: threading.Event | None = None,
    grace: float = GRACE,
    patterns: Patterns | None = None,
    cost: MetricSource | None = None,
) -> CommandMeasurement:
    """Run a command (arguments, or a text for `/bin/sh`) as one process group and read its metrics.

    `env` is the whole environment; ours unless given. `secrets` are masked in what is kept of its output. `cancel` may
    be set from another thread. `cost` says where the cost is read, which fails nothing.
    """
    arguments = ["/bin/sh", "-c", command] if isinstance(command, str) else list(command)
    nothing: dict[str, float | None] = dict.fromkeys((source.name for source in sources), None)
    if not arguments:
        return CommandMeasurement(nothing, "command is empty")
    if any("\0" in argument for argument in arguments):
        return CommandMeasurement(nothing, "command has a NUL character")
    memory = any(source.kind == "max_rss" for source in (*sources, *([] if cost is None else [cost])))
    try:
        ended = run_group(
            arguments,
            cwd=cwd,
            env=os.environ if env is None else env,
            timeout=timeout,
            cancel=cancel,
            memory=memory,
            grace=grace,
        )
    except OSError as problem:
        detail = hidden(str(problem), secrets)
        return CommandMeasurement(nothing, _not_started(problem, arguments[0], cwd), detail=detail)
    stdout, stderr = (stream.decode("utf-8", "replace") for stream in (ended.stdout, ended.stderr))
    outcome = CommandMeasurement(
        nothing,
        returncode=ended.returncode,
        stdout=hidden(stdout, secrets)[-SHOWN:],
        stderr=hidden(stderr, secrets)[-SHOWN:],
    )
    measured = {"seconds": ended.seconds, "cpu_seconds": ended.cpu_seconds, "max_rss": ended.max_rss or 0.0}
    if cost is not None and cost.kind in measured:  # known of a failed pull, too
        outcome = replace(outcome, cost=measured[cost.kind])
    reason = _bad_end(ended, timeout)
    if reason:
        return replace(outcome, reason=reason, detail=last_line(outcome.stderr)[:_LONGEST_DETAIL])
    deadline = None if timeout is None else time.monotonic() + timeout - ended.seconds
    with nullcontext(patterns) if patterns is not None else Patterns() as found:

        def last_match(pattern: str, text: str) -> str | None:
            left = None if deadline is None else max(deadline - time.monotonic(), _LEAST_FOR_A_PATTERN)
            return found.last(pattern, text, seconds=left, cancel=cancel)

        try:
            read = partial(
                read_metrics, stdout=stdout, stderr=stderr, measured=measured, cut=ended.cut, last_match=last_match
            )
            reading = read(sources)
            if cost is not None and cost.kind not in measured:
                spent = read([cost]).values[cost.name]
                outcome = replace(outcome, cost=math.nan if spent is None or spent < 0.0 else spent)
        except Stopped:
            return replace(outcome, reason=CANCELLED)
    detail = hidden(reading.detail, secrets)[:_LONGEST_DETAIL]
    outcome = replace(outcome, values=reading.values, reason=reading.reason, kind=reading.kind)
    return replace(outcome, detail=detail, explained=bool(detail))


def _bad_end(ended: EndedProcess, timeout: float | None) -> str:
    if ended.how == "cancelled":
        return CANCELLED
    if ended.how == "timeout":
        return f"timeout after {timeout:g} s"
    if ended.returncode is None:
        return "exit code unknown: SIGCHLD is ignored in this process"
    if ended.returncode < 0:
        return f"signal {_signal_name(-ended.returncode)} ({-ended.returncode})"
    return f"exit code {ended.returncode}" if ended.returncode else ""


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # real-time signals have no names of their own
        return "unnamed"


def _not_started(problem: OSError, program: str, cwd: str | os.PathLike[str]) -> str:
    if not os.path.isdir(cwd):
        return f"working directory not found: {os.fspath(cwd)}"
    if isinstance(problem, (FileNotFoundError, NotADirectoryError)):
        if "/" in program and os.path.exists(os.path.join(cwd, program)):
            return f"interpreter of the script not found: {program}"
        return f"command not found: {program}"
    if isinstance(problem, PermissionError) or problem.errno == errno.ENOEXEC:
        return f"not executable: {program}"
    if problem.errno == errno.E2BIG:
        return "command too long"
    return f"could not start: {problem.strerror}"


class Commands(AbstractContextManager["Commands"]):
    """The commands of a spec, ready to pull its arms from any number of threads. Use it in a `with` statement.

    Every arm has a folder of its own, `{workdir}`, below `base`. It is prepared and warmed up once, before its first
    pull; if that fails, every pull of it does. At the end every arm that was begun is cleaned up. `tell` takes what
    went wrong beside the pulls, in any thread.
    """

    def __init__(self, spec: Spec, tell: Callable[[Notice], None] = lambda notice: None) -> None:
        self.spec, self.tell = spec, tell
        self._open = ExitStack()
        self.base = self._open.enter_context(run_folder())
        self._patterns = self._open.enter_context(Patterns())
        self.preparing: dict[str, None] = {}
        self._cost = spec.cost_source
        self._locks = [threading.Lock() for _ in spec.arms]
        self._prepared: dict[int, CommandMeasurement | None] = {}  # by arm
        self._begun: dict[int, None] = {}  # arms that have a folder, and are to be cleaned up

    def pull(
        self, arm: int, pull: int, cancel: threading.Event | None = None, *, rep: int = 0, item: int = -1
    ) -> CommandMeasurement:
        """Pull the arm with this index, as the pull of this number; prepare it before, if need be."""
        problem = self.prepare(arm, cancel)
        if problem is not None:
            return self._failed("prepare", problem)
        return self._around(arm, pull, self.spec.sources, cancel, rep, item)

    def prepare(self, arm: int, cancel: threading.Event | None = None) -> CommandMeasurement | None:
        """Make the arm's folder, run its `prepare` and its warm-ups, once. None if it is ready, or what went wrong."""
        with self._locks[arm]:
            if arm not in self._prepared:
                outcome = self._prepare(arm, cancel)
                if outcome is not None and outcome.cancelled:  # the next one tries again
                    return outcome
                self._prepared[arm] = outcome
            return self._prepared[arm]

    def workdir(self, arm: int) -> Path:
        """The folder of the arm with this index: a number, which any file system takes."""
        return self.base / str(arm)

    def clean_up(self) -> None:
        """Run the `cleanup` of every arm that was begun, once; as many at a time as pulls."""
        arms = [arm for arm in self._begun if self.spec.arms[arm].cleanup is not None]
        self._begun.clear()
        with ThreadPoolExecutor(self.spec.workers, "cleanup") as pool:
            pending = {pool.submit(self._clean_up, arm) for arm in arms}
            if wait(pending, _PATIENCE).not_done:
                self.tell(CleaningUp(len(arms)))
        for each in pending:
            each.result()

    def __exit__(self, *error: object) -> None:
        try:
            self.clean_up()
        finally:
            self._open.close()

    def _prepare(self, arm: int, cancel: threading.Event | None) -> CommandMeasurement | None:
        try:
            self.workdir(arm).mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            return CommandMeasurement({}, f"could not make its folder: {problem.strerror}", detail=str(problem))
        chosen = self.spec.arms[arm]
        self._begun[arm] = None
        self.preparing[chosen.name] = None
        try:
            if chosen.prepare is not None:
                outcome = self._run(arm, chosen.prepare, self._placeholders(arm), (), self.spec.prepare_timeout, cancel)
                if outcome.failed:
                    return outcome
            return self._warm_up(arm, cancel)
        finally:
            del self.preparing[chosen.name]

    def _warm_up(self, arm: int, cancel: threading.Event | None) -> CommandMeasurement | None:
        """Run the command with {pull} and {rep} 0, a {seed} that no pull has, and the first {item}; tell failures."""
        chosen = self.spec.arms[arm]
        for number in range(1, chosen.warmups + 1):
            outcome = self._around(arm, -number, (), cancel)
            if outcome.cancelled:
                return outcome
            if outcome.failed:
                self.tell(StepFailed(chosen.name, "warm-up", in_words(outcome)))
        return None

    def _around(
        self,
        arm: int,
        pull: int,
        sources: Sequence[MetricSource],
        cancel: threading.Event | None,
        rep: int = 0,
        item: int = 0,
    ) -> CommandMeasurement:
        """The command with what comes before and after it, neither of which is timed."""
        chosen, timeout = self.spec.arms[arm], self.spec.timeout
        shared = self.spec.question.paired and pull > 0
        seed = seed_of_pull(self.spec.seed, rep if shared else pull)
        values = self._placeholders(arm) | {"pull": str(max(pull, 0)), "rep": str(rep), "seed": str(seed)}
        values["item"] = str(item + 1)
        if cancel is not None and cancel.is_set():
            return self._failed("", CommandMeasurement({}, CANCELLED))
        try:
            if chosen.before is not None:
                outcome = self._run(arm, chosen.before, values, (), timeout, cancel)
                if outcome.failed:
                    return self._failed("before", outcome)
            return self._run(arm, chosen.command, values, sources, timeout, cancel, self._cost)
        finally:
            if chosen.after is not None:  # also of a pull that is given up: it undoes what `before` did
                given_up = cancel is not None and cancel.is_set()
                most = min(timeout, self.spec.cleanup_timeout) if given_up else timeout
                outcome = self._run(arm, chosen.after, values, (), most, None)
                if outcome.failed:
                    self.tell(StepFailed(chosen.name, "after", in_words(outcome)))

    def _clean_up(self, arm: int) -> None:
        chosen = self.spec.arms[arm]
        assert chosen.cleanup is not None
        outcome = self._run(arm, chosen.cleanup, self._placeholders(arm), (), self.spec.cleanup_timeout, None)
        if outcome.failed:
            self.tell(StepFailed(chosen.name, "cleanup", in_words(outcome)))

    def _failed(self, step: str, problem: CommandMeasurement) -> CommandMeasurement:
        """A pull whose command was not run."""
        nothing: dict[str, float | None] = dict.fromkeys((each.name for each in self.spec.sources), None)
        reason = f"{step}: {problem.reason}" if step else problem.reason
        return replace(problem, values=nothing, reason=reason, kind=problem.cause)

    def _run(
        self,
        arm: int,
        command: Command,
        values: dict[str, str],
        sources: Sequence[MetricSource],
        timeout: float,
        cancel: threading.Event | None,
        cost: MetricSource | None = None,
    ) -> CommandMeasurement:
        extra = {name: filled(template, values) for name, template in self.spec.arms[arm].env.items()}
        return run_pull(
            filled_command(command, values),
            sources,
            cwd=self.spec.cwd,
            env={**os.environ, **extra},
            secrets=extra.values(),
            timeout=timeout,
            cancel=cancel,
            patterns=self._patterns,
            cost=cost,
        )

    def _placeholders(self, arm: int) -> dict[str, str]:
        chosen = self.spec.arms[arm]
        own = {"workdir": str(self.workdir(arm)), "arm": chosen.name}
        return {name: as_text(value) for name, value in chosen.parameters.items()} | own


def in_words(outcome: CommandMeasurement) -> str:
    """Return why a command failed, with the last lines that it wrote."""
    said = last_words(outcome)
    if outcome.explained and said == outcome.detail:
        return said
    return f"{outcome.reason}: {said}" if said else outcome.reason


def last_words(outcome: CommandMeasurement) -> str:
    """The last lines that a failed command wrote, or what else is known of it; empty if it did not fail."""
    tail = [line.rstrip() for line in outcome.stderr.splitlines() if line.strip()][-3:]
    return (" | ".join(tail) or outcome.detail) if outcome.failed else ""


def seed_of_pull(seed: int, pull: int) -> int:
    """The `{seed}` of a pull: 31 bits of its own, the same whenever and wherever the pull is made."""
    return int.from_bytes(hashlib.sha256(f"{seed}/{pull}".encode()).digest()[:4]) >> 1


class Reading(NamedTuple):
    """Values by metric, None where one failed; why, briefly; what was found instead; and the `kind` of failure."""

    values: dict[str, float | None]
    reason: str
    detail: str
    kind: str = ""


class _Unreadable(Exception):
    def __init__(self, reason: str, detail: str = "", kind: str = "") -> None:
        super().__init__(reason)
        self.reason, self.detail, self.kind = reason, detail, kind


def read_metrics(
    sources: Sequence[MetricSource],
    *,
    stdout: str,
    stderr: str = "",
    measured: Mapping[str, float],
    cut: bool = False,
    last_match: Callable[[str, str], str | None],
) -> Reading:
    """Read every metric, regular expressions by `last_match`. `cut`: the beginning of `stdout` is missing."""
    values: dict[str, float | None] = {}
    reasons: dict[str, str] = {}  # by reason, once: two metrics of one missing object are one failure
    kind = ""
    found: dict[str, Any] | _Unreadable | None = None
    for source in sources:
        try:
            if source.kind == "json":
                found = found if found is not None else _last_object(stdout, cut)
                if isinstance(found, _Unreadable):
                    raise found
                value = _number(source, _looked_up(found, source))
            elif source.kind == "regex":
                value = _number(source, _matched(source, stderr if source.stream == "stderr" else stdout, last_match))
            else:
                value = measured[source.kind]
            values[source.name] = _finite(source, value)
            fault = "" if source.objective is None or value is True or value is False else source.objective.fault(value)
            if fault:  # kept beside the reason: with another tolerance, or other bounds, it can be used
                raise _Unreadable(f"metric {source.name!r} {fault}", f"got {value!r}")
        except _Unreadable as problem:
            values.setdefault(source.name, None)
            reasons.setdefault(problem.reason, problem.detail)
            kind = kind or problem.kind
    details = (f"{reason}: {detail}" for reason, detail in reasons.items() if detail)
    return Reading(values, "; ".join(reasons), "; ".join(details), kind)


def last_line(text: str) -> str:
    """The last line that is not blank, without blanks around it.

    >>> last_line("a\\n b \\n\\n")
    'b'
    """
    return text.rstrip().rpartition("\n")[2].strip()


def _last_object(stdout: str, cut: bool) -> dict[str, Any] | _Unreadable:
    if cut and "\n" not in stdout.rstrip():
        return _Unreadable("last line too long", f"more than {len(stdout)} characters")
    line = last_line(stdout)
    try:
        # Integers become floats at once: beyond 4300 digits Python refuses to read an int, and none is wanted.
        # NaN and Infinity are no JSON, but many programs print them: read here and refused as the metric's value, by
        # name, so that one such value does not take the others with it.
        found = json.loads(line, parse_int=float, parse_constant=float)
    except (ValueError, RecursionError):
        found = None
    if isinstance(found, dict):
        return found
    return _Unreadable("no JSON object on the last line", f"got {one_line(line)}" if line else "stdout is empty")


def _looked_up(found: dict[str, Any], source: MetricSource) -> Any:
    """The value of the key as it is written, or else along its dotted path."""
    key = source.key or source.name
    if key in found:
        return found[key]
    at: Any = found
    for part in key.split("."):
        if not isinstance(at, dict) or part not in at:
            raise _Unreadable(
                f"metric {source.name!r} missing", f"no key {key!r}; there is {one_line(', '.join(found))}"
            )
        at = at[part]
    return at


def _matched(source: MetricSource, text: str, last_match: Callable[[str, str], str | None]) -> str:
    try:
        found = last_match(source.pattern, text)
    except TookTooLong:
        raise _Unreadable(
            f"metric {source.name!r}: the pattern took too long", f"{source.pattern!r}, on {len(text):,} characters"
        ) from None
    if found is None:
        raise _Unreadable(f"metric {source.name!r}: regex did not match", f"nothing like {source.pattern!r}")
    return found


def _number(source: MetricSource, value: Any) -> float:
    if isinstance(value, float):  # of JSON: every number, and no true or false
        return value
    if isinstance(value, bool):
        if source.objective is not None and source.objective.by_default:
            return value  # a rate, if the study finds so
        if source.objective is None or not source.objective.takes_booleans:
            hint = "" if source.objective is None else f": {source.objective.no_booleans}"
            reason = f"metric {source.name!r} is not a number"
            raise _Unreadable(reason, f"got {str(value).lower()}{hint}", BOOLEAN)
        return float(value)
    if source.kind == "regex" and "_" not in value:
        try:
            return float(value)
        except ValueError:
            pass
    shown = value if isinstance(value, str) and source.kind == "regex" else json.dumps(value, ensure_ascii=False)
    raise _Unreadable(f"metric {source.name!r} is not a number", f"got {one_line(shown)}")


def _finite(source: MetricSource, value: float) -> float:
    if math.isnan(value):
        raise _Unreadable(f"metric {source.name!r} is NaN")
    if math.isinf(value):
        raise _Unreadable(f"metric {source.name!r} is infinite")
    return value
