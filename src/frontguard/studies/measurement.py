"""The outcome of a pull, the checks that it passes before it is stored, and the names of those who measure.

Nothing heavy is imported here: worker processes that only evaluate a function import this module too.

A worker's usual name is its machine, boot and process namespace, process and the moment it began: others on the machine
see that it is gone without waiting for leases. The moment is in ticks since boot (/proc): `psutil` goes by the wall
clock, and after that was set a living worker would be called dead.
"""

from __future__ import annotations

import math
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from numbers import Real
from pathlib import Path
from traceback import format_exception
from typing import TYPE_CHECKING, Any

from frontguard.errors import BadInput
from frontguard.phrases import did_you_mean, shortened, shown

if TYPE_CHECKING:
    from frontguard.objectives import Objective
    from frontguard.question import Cost


CANCELLED = "cancelled"
"""The cause of a pull that we ended because we stop: it was not measured, and is no failure of its arm."""

DIED = "worker process died"
"""Why a pull failed whose process is gone."""

BOOLEAN = "true or false"
"""The cause of a pull that gave true or false where a number is wanted: the declaration is wrong, not the arm."""

LONGEST_REASON = 2000
"""Characters of a reason that are kept."""

MARK = "\x1e"
"""What stands between a reason and the last words in what is stored: a record separator, which no reason has."""

Values = Mapping[str, float | None] | Sequence[float | None] | float


class RaisedElsewhere(Exception):
    """An exception of another process as the text of its traceback: not every one survives the way."""


@dataclass(frozen=True)
class Measurement:
    """The outcome of one pull. `Study.tell` takes it, and a function of `identify` may return it.

    Parameters
    ----------
    values
        By name or in order; None where a metric failed.
    reason
        Why it failed; empty if nothing did.
    kind
        What failures of one cause have in common, where their reasons differ in particulars.
    at
        Seconds since the epoch when it came back; 0 if it is told at once.
    said
        The last words of a failed one: for people, not to be counted.
    cluster
        Pulls of one cluster (a host, a process, a day) may depend on each other; "" is one of its own.
    cost
        What it cost, where pulls say so; also of a failed one.
    error
        What was raised, while it is known.

    >>> Measurement({"seconds": None}, reason="exit code 1", cluster="host-3").failed
    True
    """

    values: Any
    reason: str = ""
    kind: str = ""
    at: float = 0.0
    said: str = ""
    cluster: str = ""
    cost: float = math.nan
    error: BaseException | None = field(default=None, repr=False, compare=False)

    @classmethod
    def of(cls, values: Any, reason: str = "", cluster: str | None = None) -> Measurement:
        """Return the measurement of values or, as `identify` takes it of a function too, a whole measurement."""
        came = values if isinstance(values, Measurement) else cls(values)
        came = replace(came, reason=reason) if reason else came
        return came if cluster is None else replace(came, cluster=cluster)

    @classmethod
    def failure(cls, error: BaseException) -> Measurement:
        """Return the measurement of a pull in which an exception was raised."""
        return cls(None, failure_in_words(error), type(error).__name__, error=error)

    def __getstate__(self) -> dict[str, Any]:
        error = None if self.error is None else RaisedElsewhere("".join(format_exception(self.error)))
        return {**vars(self), "error": error}

    @property
    def failed(self) -> bool:
        """True if any metric is missing."""
        return bool(self.reason)

    @property
    def cause(self) -> str:
        """The kind of failure; its reason where no kind was given."""
        return self.kind or self.reason

    @property
    def cancelled(self) -> bool:
        """True if it was ended by us before its time, and so says nothing about the arm."""
        return self.cause == CANCELLED


def failure_in_words(error: BaseException, most: int = 200) -> str:
    """An exception as the reason of a failed pull: its kind and the first line of its message.

    >>> failure_in_words(ValueError("no such flag: -O9\\nsee the manual"))
    'ValueError: no such flag: -O9'
    """
    kind = type(error).__name__
    if kind == "KilledWorker":  # of Dask: several workers died of one task, whose key differs each time
        return DIED
    try:
        lines = str(error).strip().splitlines()
    except Exception:
        lines = []
    return shortened(f"{kind}: {lines[0].strip()}" if lines else kind, most)


class BadValues(BadInput):
    """Values that cannot be stored: `what` is wrong, the same for all pulls with the same fault, and `rather` what."""

    def __init__(self, pull: int | str, what: str, rather: str, hint: str = "") -> None:
        super().__init__(f"pull {pull}: {what}{hint}; {rather}")
        self.what, self.rather = what, rather


class UnusableValue(BadValues):
    """A value that was measured and that its objective cannot use: not positive, or out of bounds."""


class BooleanValue(BadValues):
    """True or false, of an objective that does not count a rate."""


def usable(objectives: Sequence[Objective], came: Measurement, pull: int, *, settled: bool = True) -> Measurement:
    """The measurement with values in the objectives' order; one whose values cannot be used is a failed one.

    A value that only its tolerance or bounds make unusable is kept beside the reason; so is true and false where nobody
    said what counts, until it is `settled` whether a rate does.
    """
    given, reason = came.values, came.reason and checked_reason(came.reason, pull)
    if reason and isinstance(given, Mapping):
        given = {objective.name: given.get(objective.name) for objective in objectives}
    truths = () if settled else taken_as_rates(objectives, [given])
    if truths:
        given = _in_order([objective.name for objective in objectives], given, pull)
        objectives = [
            replace(each, statistic="mean", bounds=(0.0, 1.0)) if d in truths else each
            for d, each in enumerate(objectives)
        ]
    try:
        try:
            numbers = checked_values(objectives, given, reason or None, pull)
        except UnusableValue as error:
            reason = error.what
            numbers = checked_values(objectives, given, reason, pull)
    except BadValues as error:
        nothing = (None,) * len(objectives)
        if reason:
            return replace(came, values=nothing, reason=reason)
        what = f"{error.what}; {error.rather}"
        if isinstance(error, BooleanValue):
            return replace(came, values=nothing, reason=what, kind=BOOLEAN)
        return replace(came, values=nothing, reason=shortened(what, 200), kind=error.what)
    values = tuple(None if math.isnan(x) else bool(x) if d in truths else x for d, x in enumerate(numbers))
    return replace(came, values=values, reason=reason)


def taken_as_rates(objectives: Sequence[Objective], measured: Sequence[object]) -> set[int]:
    """Objectives, by position, of which nobody said what counts and whose first values are true, false, 0 or 1.

    >>> from frontguard import Objective
    >>> metrics = [Objective("solved", "maximize"), Objective("size", exact=True)]
    >>> taken_as_rates(metrics, [{"solved": True, "size": 3}, [0, 3]])
    {0}
    """
    unsaid = {d: each for d, each in enumerate(objectives) if each.by_default}
    if not unsaid:
        return set()
    names = [objective.name for objective in objectives]
    found, numbers = set[int](), set[int]()
    for values in measured:
        try:
            given = _in_order(names, values, 0)
        except BadValues:
            continue
        for d in unsaid:
            if _is_truth(given[d]):
                found.add(d)
            elif isinstance(given[d], Real) and not 0 <= given[d] <= 1:  # type: ignore[operator]
                numbers.add(d)
    return found - numbers


def _is_truth(value: object) -> bool:
    return type(value).__name__ in ("bool", "bool_")  # numpy has one of its own


def checked_values(
    objectives: Sequence[Objective], values: object, reason: str | None, pull: int | str
) -> tuple[float, ...]:
    """The values of one pull, by name or in order, in the order of the objectives; NaN where a measurement failed.

    One that is missing, NaN or infinite is refused as a mistake of the caller's, unless told as None with a reason;
    with a reason a value that its tolerance or bounds make unusable is stored, too, and counts as failed.

    >>> from frontguard import Objective
    >>> metrics = [Objective("seconds", "minimize", "2%"), Objective("bytes", "minimize")]
    >>> checked_values(metrics, {"bytes": 10, "seconds": 0.5}, None, 7)
    (0.5, 10.0)
    >>> checked_values(metrics, [0.5, None], "out of memory", 7)
    (0.5, nan)
    >>> checked_values(metrics, {"second": 0.5, "bytes": 10}, None, 7)
    Traceback (most recent call last):
    ...
    frontguard.studies.measurement.BadValues: pull 7: no objective is called 'second' (did you mean 'seconds'?); wanted
    seconds, bytes
    """
    names = [objective.name for objective in objectives]
    given = _in_order(names, values, pull)
    return tuple(
        _checked_value(objective, value, reason, pull) for objective, value in zip(objectives, given, strict=True)
    )


def checked_reason(reason: object, pull: int) -> str:
    """Why a pull failed: a text that says something."""
    if not isinstance(reason, str) or not reason.strip():
        raise BadInput(f"pull {pull}: a failed pull needs a reason, a text that is not blank; got {reason!r}")
    return storable(reason).strip()[:LONGEST_REASON]


def stored_reason(came: Measurement, pull: int) -> str:
    """Return the stored form of why a pull failed, with its last words; empty if nothing failed."""
    if not came.reason:
        return ""
    reason, said = checked_reason(came.reason, pull), storable(came.said).strip()[:LONGEST_REASON]
    return f"{reason}{MARK}{said}" if said else reason


def storable(text: str) -> str:
    """A text that every storage takes, without what has a meaning in what is stored."""
    return text.replace("\0", "�").replace(MARK, " ").encode("utf-8", "replace").decode("utf-8")


def _in_order(names: list[str], values: object, pull: int | str) -> list[object]:
    if isinstance(values, Mapping):
        for name in values:
            if name not in names:
                hint = did_you_mean(str(name), names)
                raise BadValues(pull, f"no objective is called {name!r}{hint}", f"wanted {', '.join(names)}")
        missing = [name for name in names if name not in values]
        if missing:
            raise BadValues(pull, f"no value for {', '.join(missing)}", f"wanted one for each of {', '.join(names)}")
        return [values[name] for name in names]
    if type(values).__name__ == "ndarray" and values.ndim <= 1:  # type: ignore[attr-defined]
        values = values.tolist()  # type: ignore[attr-defined]
    if not isinstance(values, Sequence) and len(names) == 1:
        return [values]
    if isinstance(values, (str, bytes)) or not isinstance(values, Sequence):
        raise BadValues(pull, f"values must be {len(names)} numbers, by name or in order", f"got {shown(values, 120)}")
    if len(values) != len(names):
        what = f"wanted {len(names)} values, one for each of {', '.join(names)}"
        raise BadValues(pull, what, f"got {len(values)}")
    return list(values)


def _checked_value(objective: Objective, value: object, reason: str | None, pull: int | str) -> float:
    if type(value) is float and math.isfinite(value) and not objective.fault(value):
        return value  # as nearly all are
    if value is None and reason is not None:
        return math.nan
    where = f"value of {objective.name!r}"
    hint = ", or the pull told as failed with a reason: study.fail(pull, reason)"
    if _is_truth(value):
        if objective.takes_booleans:
            return float(value)  # type: ignore[arg-type]
        raise BooleanValue(pull, f"{where} must be a real number", f"got {shown(value, 120)}: {objective.no_booleans}")
    if value is None or not isinstance(value, Real):
        hint = hint if value is None else ""
        raise BadValues(pull, f"{where} must be a real number", f"got {shown(value, 120)}", hint)
    try:
        number = float(value)
    except OverflowError:
        raise BadValues(pull, f"{where} must be below 1.8e308", f"got {len(str(value))} digits") from None
    if not math.isfinite(number):
        raise BadValues(pull, f"{where} must be finite", f"got {number}", hint)
    if reason is None and (fault := objective.fault(number)):
        raise UnusableValue(pull, f"{objective.name!r} {fault}", f"got {number!r}: {objective.remedy}")
    return number


def with_cost(cost: Cost | None, metrics: Sequence[str], came: Measurement) -> Measurement:
    """Return the measurement with its cost beside its values: NaN where a pull does not say it, or it cannot be.

    >>> from frontguard.question import Cost
    >>> with_cost(Cost("joules"), ["loss"], Measurement({"loss": 0.5, "joules": 3})).cost
    3.0
    """
    if cost is None or cost.metric is None:
        return came
    from frontguard.question import is_amount

    values, found = came.values, None
    if isinstance(values, Mapping):
        found = values.get(cost.metric)
        if cost.metric not in metrics:
            values = {name: value for name, value in values.items() if name != cost.metric}
    elif type(values).__name__ == "ndarray" or (isinstance(values, Sequence) and not isinstance(values, (str, bytes))):
        if cost.metric in metrics:
            at = metrics.index(cost.metric)
            found = values[at] if at < len(values) else None
        elif len(values) == len(metrics) + 1:
            values, found = values[:-1], values[-1]
    elif cost.metric in metrics and len(metrics) == 1:
        found = values
    told = float(found) if math.isnan(came.cost) and is_amount(found) else came.cost  # type: ignore[arg-type]
    return replace(came, values=values, cost=told)


_LONGEST = 20  # digits of a process number

UNKNOWN = "0"
"""When a process began, on systems that do not say: then nobody is called dead."""


def this_worker(which: int = 1) -> str:
    """The name of this process as a worker, or of the `which`-th worker in it."""
    name = _name_of(os.getpid())
    return name if which == 1 else f"{name}.{which}"


@cache
def _name_of(pid: int) -> str:
    return f"{_machine()}/{pid}/{_began(pid) or UNKNOWN}"


def is_lost(worker: str) -> bool:
    """True if a worker of this machine is certainly dead; False where it cannot be known."""
    machine, pid, process = ["", "", *worker.rsplit("/", 2)][-3:]
    process = process.partition(".")[0]
    ours = machine == _machine() and pid.isdecimal() and len(pid) <= _LONGEST and process.isdecimal()
    return ours and process != UNKNOWN and str(_began(int(pid))) != process


@cache
def _machine() -> str:
    """This machine since it booted, as seen by this process: elsewhere the same process number is another process."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text()
        namespace = os.readlink("/proc/self/ns/pid")
    except OSError:
        return f"{platform.node()}-{os.getpid()}-unknown"  # nobody else's workers can be recognised from here
    return "-".join([platform.node(), *("".join(c for c in part if c.isalnum())[-12:] for part in (boot, namespace))])


def _began(pid: int) -> int | None:
    """When a living process began, in clock ticks since boot; None if there is none (or only its remains)."""
    try:
        after_name = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    state, began = after_name[0], after_name[19]  # fields 3 and 22 of proc(5)
    return None if state in "ZX" else int(began)
