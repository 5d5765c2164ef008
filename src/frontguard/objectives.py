"""Objectives: what is measured, which direction is better, what difference matters, and which statistic counts.

Inside, every objective is maximised, has an absolute tolerance, and a quantile level. This module is the edge where the
user's units become inner ones, by a strictly increasing or decreasing map of the metric x:

| direction, tolerance | inner value y | inner tolerance | inner level of the p-quantile of x |
| --- | --- | --- | --- |
| maximize, absolute γ | x | γ | p |
| minimize, absolute γ | −x | γ | 1 − p |
| maximize, relative ρ | log x | log(1 + ρ) | p |
| minimize, relative ρ | −log x | log(1 + ρ) | 1 − p |

Quantiles commute with such maps, and a decreasing one turns the level around: if q is a p-quantile of x, −q is a
(1−p)-quantile of −x. `quantile=0.95` is thus the 0.95-quantile of the metric itself, whichever direction is better.

A relative tolerance ρ means the same in both directions: of two values, the larger is at most 1 + ρ times the smaller.

Means do not commute with logarithms, so values of a metric whose mean counts are observed on a scale of their own
(`Objective.observed`), and only the mean is brought to inner values.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Literal, NamedTuple, cast, get_args

import numpy as np
import numpy.typing as npt

from frontguard._common.checks import checked_share, read_amount, real_number
from frontguard._common.typing import Floats
from frontguard.errors import BadArgument, BadInput
from frontguard.phrases import did_you_mean

Direction = Literal["maximize", "minimize"]
Counted = Literal["quantile", "mean"]

TIMES = {
    *("time", "times", "walltime", "runtime", "cputime", "duration", "durations", "latency", "latencies", "elapsed"),
    *("ns", "nanoseconds", "us", "microseconds", "ms", "milliseconds", "sec", "second", "seconds", "minutes", "hours"),
}
"""Words of a name by which a metric is taken for a time."""

_DIRECTIONS: tuple[str, ...] = get_args(Direction)
_SMALLER_IS_BETTER = TIMES | {
    *("bytes", "kb", "mb", "gb", "kib", "mib", "gib", "size", "memory", "rss", "cost", "costs", "price", "energy"),
    *("joules", "delay", "error", "errors", "loss", "regret"),
}
"""Last words of a name by which everybody knows that less is better."""
_COUNTED: tuple[str, ...] = get_args(Counted)


def usual_direction(name: str) -> Direction | None:
    """Return the better direction of a metric with a well-known name; None for others, whose direction must be given.

    >>> usual_direction("cpu_seconds"), usual_direction("latency.ms"), usual_direction("requests per second")
    ('minimize', 'minimize', None)
    """
    words = re.split(r"[^a-z]+", name.lower())
    return "minimize" if words[-1] in _SMALLER_IS_BETTER and "per" not in words else None


class Tolerance(NamedTuple):
    """An amount, absolute in the metric's units or relative as a share: "2%" is (0.02, relative)."""

    amount: float
    relative: bool


def parse_tolerance(value: object, name: str = "tolerance") -> Tolerance:
    """Read a tolerance: a number, absolute, or a text that ends in a percent sign, relative.

    >>> parse_tolerance(0.5), parse_tolerance("2 %")
    (Tolerance(amount=0.5, relative=False), Tolerance(amount=0.02, relative=True))
    """
    if isinstance(value, str):
        read = read_amount(value)
        if read is None:
            raise BadArgument(name, must="be a number such as 0.5 or a percentage such as '2%'", got=repr(value))
        amount, relative = read
    else:
        amount, relative = real_number(value, name), False
    if not 0.0 <= amount < math.inf:
        raise BadArgument(name, must="be finite and not negative", got=repr(value))
    return Tolerance(amount + 0.0, relative)


class WhatCounts(NamedTuple):
    """The statistic of a metric: a quantile, or a mean with its bounds or its deviation; None each where unsaid."""

    quantile: float | None
    statistic: Counted | None
    bounds: tuple[float, float] | None
    sigma: float | None


def checked_statistic(
    name: str,
    quantile: object = None,
    statistic: object = None,
    bounds: object = None,
    sigma: object = None,
    exact: object = False,
    tolerance: float | str = 0.0,
) -> WhatCounts:
    """Refuse what cannot be said of one metric together; bring what counts to one form. `name` is what errors call it.

    >>> checked_statistic("objective 'seconds'", quantile=0.95)
    WhatCounts(quantile=0.95, statistic='quantile', bounds=None, sigma=None)
    >>> checked_statistic("the limit of 'seconds'", quantile=0.95, statistic="mean")
    Traceback (most recent call last):
    ...
    frontguard.errors.BadArgument: statistic of the limit of 'seconds' must be the only one; got a quantile and a mean
    """
    if statistic not in (None, *_COUNTED):
        hint = did_you_mean(statistic, _COUNTED) if isinstance(statistic, str) else ""
        raise BadArgument(f"statistic of {name}", must=f"be one of {', '.join(_COUNTED)}{hint}", got=repr(statistic))
    if not isinstance(exact, bool):
        raise BadArgument(f"exact of {name}", must="be True or False", got=repr(exact))
    mean, relative = statistic == "mean", isinstance(tolerance, str)
    of_values = {f"a {word}": statistic == word for word in _COUNTED if word != "quantile"}
    said = {"a quantile": quantile is not None or statistic == "quantile", **of_values, "exact values": exact}
    given = [what for what, there in said.items() if there]
    if len(given) > 1:
        key = "exact" if exact else "statistic"
        must = "be False where another statistic is given" if exact else "be the only one"
        raise BadArgument(f"{key} of {name}", must=must, got=" and ".join(given))
    if not mean and (bounds is not None or sigma is not None):
        what = "bounds" if bounds is not None else "sigma"
        raise BadArgument(f"{what} of {name}", must="come with statistic='mean', which is what needs it")
    if mean and (bounds is None) == (sigma is None):
        raise BadInput(
            f"the mean of {name} needs to know how far values can lie: bounds=(0, 1) for rates, bounds=(1, 5) for "
            f"stars, or sigma=, their deviation; got {'neither' if bounds is None else 'both'}"
        )
    counted = cast(Counted | None, "quantile" if given == ["a quantile"] else statistic)
    return WhatCounts(
        None if quantile is None else _checked_level(quantile, f"quantile of {name}"),
        counted,
        None if bounds is None else _checked_bounds(bounds, f"bounds of {name}", tolerance),
        None if sigma is None else _checked_sigma(sigma, name, tolerance if relative else ""),
    )


def _checked_level(quantile: object, name: str) -> float:
    level = real_number(quantile, name)
    if not 0.0 < level < 1.0:
        raise BadArgument(name, must="lie strictly between 0 and 1 (0.5 is the median)", got=repr(level))
    return level


def _checked_bounds(bounds: object, name: str, tolerance: float | str) -> tuple[float, float]:
    if not isinstance(bounds, Sequence) or isinstance(bounds, str) or len(bounds) != 2:
        raise BadArgument(name, must="be two numbers, the least and the largest that a value can be", got=repr(bounds))
    low, high = (real_number(end, name) for end in bounds)
    if not -math.inf < low < high < math.inf:
        raise BadArgument(name, must="be finite, the lower one first", got=repr(bounds))
    if isinstance(tolerance, str) and low < 0.0:
        must = f"not be negative where the tolerance is a percentage ({tolerance})"
        raise BadArgument(name, must=must, got=repr(bounds))
    if not isinstance(tolerance, str) and tolerance > high - low:
        of = name.removeprefix("bounds of ")
        likely = f"did you mean {0.01 * tolerance * (high - low):g}, {tolerance:g}% of what lies between them?"
        raise BadArgument(
            f"tolerance of {of}", f"{tolerance:g} exceeds the distance of the bounds {low:g} and {high:g}; {likely}"
        )
    return low, high


def _checked_sigma(sigma: object, name: str, percentage: float | str) -> float:
    deviation = real_number(sigma, f"sigma of {name}")
    if not 0.0 < deviation < math.inf:
        raise BadArgument(f"sigma of {name}", must="be positive and finite", got=repr(sigma))
    if percentage:  # a mean that may be 0 or below has none
        must = "be an absolute number where sigma is given, as its mean may be 0 or less"
        raise BadArgument(f"tolerance of {name}", must=must, got=repr(percentage))
    return deviation


@dataclass(frozen=True)
class Objective:
    """A metric: its name, the better direction, the difference that does not matter, and the statistic that counts.

    Parameters
    ----------
    name
        Of the metric, in a log its column.
    direction
        "minimize" or "maximize". Well-known names have one: smaller seconds, bytes, latency or cost are better.
    tolerance
        The difference that does not matter: a number, or a percentage for a metric that is always positive.
    quantile
        The quantile that counts: 1/2, the median, unless given.
    statistic, bounds, sigma
        "mean" of values between `bounds`, or of a known deviation `sigma`, where none may be replaced. Without, the
        median is refused where it says little, as of values that are 0 or 1.
    exact
        It is the same whenever it is measured.
    contamination
        Its ε, where it differs from that of other metrics.

    Raises
    ------
    BadInput
        A name is empty, a direction is unknown, or two of these exclude each other.

    >>> latency = Objective("seconds", "minimize", tolerance="2%", quantile=0.95)
    >>> latency.relative, round(latency.inner_tolerance, 6), round(latency.inner_quantile, 6)
    (True, 0.019803, 0.05)
    >>> latency.inward([1.0, 0.5, float("nan")]).round(4).tolist()  # larger is better; a failed pull stays NaN
    [0.0, 0.6931, nan]
    >>> Objective("solved", "maximize", statistic="mean", bounds=(0, 1)).observed([True, False, None]).tolist()
    [1.0, 0.0, nan]
    """

    name: str
    direction: Direction = None  # type: ignore[assignment]  # filled in by the name, or refused
    tolerance: float | str = 0.0
    quantile: float | None = None
    statistic: Counted | None = None
    bounds: tuple[float, float] | None = None
    sigma: float | None = None
    exact: bool = False
    contamination: float | None = None

    def __post_init__(self) -> None:
        """Refuse what is no objective; bring numbers to floats and percentages to one spelling."""
        if not isinstance(self.name, str) or not self.name.strip():
            raise BadInput(f"the name of an objective must be a text that is not blank; got {self.name!r}")
        if self.direction is None:
            object.__setattr__(self, "direction", usual_direction(self.name))
        if self.direction is None:
            must = "be given, 'maximize' or 'minimize'; only well-known names such as seconds or bytes have one"
            raise BadArgument(f"direction of objective {self.name!r}", must=must, got="none")
        if self.direction not in _DIRECTIONS:
            hint = did_you_mean(self.direction, _DIRECTIONS) if isinstance(self.direction, str) else ""
            must = f"be one of {', '.join(_DIRECTIONS)}{hint}"
            raise BadArgument(f"direction of objective {self.name!r}", must=must, got=repr(self.direction))
        parsed = parse_tolerance(self.tolerance, f"tolerance of objective {self.name!r}")
        spelled = "".join(str(self.tolerance).split()) if parsed.relative else parsed.amount
        object.__setattr__(self, "tolerance", spelled)
        counted = checked_statistic(
            f"objective {self.name!r}", self.quantile, self.statistic, self.bounds, self.sigma, self.exact, spelled
        )
        for field, value in counted._asdict().items():
            object.__setattr__(self, field, value)
        if self.contamination is not None:
            eps = checked_share(self.contamination, f"contamination of objective {self.name!r}")
            if self.exact and eps > 0.0:
                raise BadArgument(f"contamination of objective {self.name!r}", must="be 0 where values are exact")
            object.__setattr__(self, "contamination", eps)

    @property
    def level(self) -> float:
        """The level of the quantile that counts, the median's unless said otherwise; no matter where a mean counts."""
        return 0.5 if self.quantile is None else self.quantile

    @property
    def usual_contamination(self) -> float:
        """ε where nobody said one: 10% of the values of a quantile; other values are taken as they are."""
        return 0.1 if self.has_quantile else 0.0

    @property
    def by_default(self) -> bool:
        """True if nobody said what counts, so that the median does."""
        return self.statistic is None and not self.exact

    @property
    def has_quantile(self) -> bool:
        """True if a quantile counts, and neither another statistic nor the value itself."""
        return not self.exact and self.statistic in (None, "quantile")

    @property
    def spelled_out(self) -> Objective:
        """Return this objective with its statistic written down, also where nobody said so."""
        return replace(self, quantile=0.5) if self.by_default else self

    @property
    def statistic_word(self) -> str:
        """Its statistic: "median", "p95", "mean" or "exact"."""
        if self.exact:
            return "exact"
        if self.statistic not in (None, "quantile"):
            return self.statistic
        return "median" if self.level == 0.5 else f"p{100 * self.level:g}"

    @property
    def takes_booleans(self) -> bool:
        """True if it takes true and false as 1 and 0: a mean between bounds that hold both."""
        return self.bounds is not None and self.bounds[0] <= 0.0 and self.bounds[1] >= 1.0

    @property
    def positive(self) -> bool:
        """True if every value has to be positive: its tolerance is a percentage of something else than a mean."""
        return self.relative and self.statistic != "mean"

    @property
    def relative(self) -> bool:
        """True if the tolerance is relative, so that the inner value is a logarithm."""
        return isinstance(self.tolerance, str)  # an absolute one, written as text, became a number

    @property
    def is_time(self) -> bool:
        """True if it is a time by its name, which a machine's speed changes.

        >>> names = ("cpu_seconds", "p95 latency", "wall-time", "bytes", "timeliness")
        >>> [Objective(name, "minimize").is_time for name in names]
        [True, True, True, False, False]
        """
        return not self.exact and not TIMES.isdisjoint(re.split(r"[^a-z]+", self.name.lower()))

    @property
    def measured(self) -> tuple[object, ...]:
        """All of it but the tolerance: what must not change while a study goes on."""
        return (self.name, self.direction, self.statistic_word, self.level, self.bounds, self.sigma)

    @property
    def minimized(self) -> bool:
        """True if smaller is better."""
        return self.direction == "minimize"

    @property
    def inner_tolerance(self) -> float:
        """The tolerance as a difference of inner values: itself, or log(1 + ρ)."""
        amount, relative = parse_tolerance(self.tolerance)
        return math.log1p(amount) if relative else amount

    @property
    def inner_quantile(self) -> float:
        """The level, among inner values, of the quantile of the metric that counts: p, or 1 − p when minimised."""
        return 1.0 - self.level if self.minimized else self.level

    def fault(self, value: float) -> str:
        """Why a finite value cannot be used, in a few words that are the same for all such values; "" if it can.

        >>> Objective("profit", "maximize", tolerance="5%").fault(-1.0)
        'is not positive, its tolerance is a percentage'
        >>> Objective("stars", "maximize", statistic="mean", bounds=(1, 5)).fault(301.0)
        'is not between its bounds 1 and 5'
        """
        if self.bounds is not None:
            low, high = self.bounds
            return "" if low <= value <= high else f"is not between its bounds {low:g} and {high:g}"
        if self.positive and value <= 0.0:
            return "is not positive, its tolerance is a percentage"
        return ""

    @property
    def remedy(self) -> str:
        """The values that can be used, and what to do about others: what goes with a `fault`."""
        if self.bounds is None:
            return (
                f"a tolerance in percent ({self.tolerance}) needs positive values; give an absolute one, e.g. "
                f"--tolerance {self.name}=0.5 (Objective(tolerance=0.5))"
            )
        low, high = self.bounds
        return (
            f"its mean counts values between {low:g} and {high:g}; if others can be right, give wider bounds, "
            f"--mean {self.name}=LOW,HIGH (Objective(bounds=(LOW, HIGH)))"
        )

    def unusable(self, count: int, of: int, example: float, arm: str) -> str:
        """The number of its values that cannot be used, with one of them, its arm, and the remedy."""
        what = "positive" if self.bounds is None else "between its bounds"
        return (
            f"{count:,} of {of:,} values of {self.name!r} are not {what}, such as {example:g} of arm {arm!r}: "
            f"{self.remedy}"
        )

    @property
    def no_booleans(self) -> str:
        """The remedy where values are true or false and it takes no such values."""
        return (
            f"true and false are values of a mean between bounds that hold 0 and 1: count its mean, a rate, with "
            f'--mean {self.name} (Objective({self.name!r}, statistic="mean", bounds=(0, 1)))'
        )

    def only_two(self, low: float, high: float) -> str:
        """The refusal of a median that nobody asked for, where all values are one of these two."""
        option = self.name if (low, high) == (0.0, 1.0) else f"{self.name}={low:g},{high:g}"
        return (
            f"{self.name!r} has only the values {low:g} and {high:g}, of which a median says little: count its mean "
            f'with --mean {option} (Objective(statistic="mean", bounds=({low:g}, {high:g}))), or say --quantile '
            f"{self.name}=0.5 (Objective(quantile=0.5)) if the median is meant"
        )

    def inward(self, values: npt.ArrayLike) -> Floats:
        """Inner values: float64, same shape, larger is better. NaN (or None) is a failed measurement and stays NaN.

        >>> Objective("seconds", "minimize").inward([1.2, None]).tolist()
        [-1.2, nan]
        """
        array = self._numbers(values)
        if self.relative:
            wrong = array <= 0.0  # false for NaN
            if wrong.any():
                raise BadInput(
                    f"values of objective {self.name!r} must be positive; got {float(array[wrong][0])!r}"
                    f"{_position(wrong)}: {self.remedy}"
                )
            # numpy's logarithm throughout, never math.log: the two differ in the last bit now and then, and equal
            # metrics must stay equal or a tie would become a strict difference.
            array = np.log(array)
        return -array + 0.0 if self.minimized else array + 0.0  # + 0.0 makes −0 a plain 0

    def observed(self, values: npt.ArrayLike) -> Floats:
        """Values as samples hold them: inner ones, or of a mean their place between bounds, best at 1; NaN failed.

        >>> Objective("cost", "minimize", statistic="mean", bounds=(0, 4)).observed([1.0, 4.0]).tolist()
        [0.75, 0.0]
        """
        if self.statistic != "mean":
            return self.inward(values)
        array = self._numbers(values)
        if self.bounds is None:
            return -array + 0.0 if self.minimized else array + 0.0
        wrong = ~(self.usable(array) | np.isnan(array))
        if wrong.any():
            low, high = self.bounds
            raise BadInput(
                f"values of objective {self.name!r} must lie between its bounds {low:g} and {high:g}; "
                f"got {float(array[wrong][0])!r}{_position(wrong)}"
            )
        low, high = self.bounds
        return ((high - array) if self.minimized else (array - low)) / (high - low)

    def as_measured(self, observed: npt.ArrayLike) -> Floats:
        """The metric's own values: the inverse of `observed`.

        >>> Objective("cost", "minimize", statistic="mean", bounds=(0, 4)).as_measured([0.75, 0.0]).tolist()
        [1.0, 4.0]
        """
        if self.statistic != "mean":
            return self.outward(observed)
        array = self._numbers(observed)
        if self.bounds is None:
            return -array + 0.0 if self.minimized else array + 0.0
        low, high = self.bounds
        return high - array * (high - low) if self.minimized else low + array * (high - low)

    def usable(self, values: Floats) -> npt.NDArray[np.bool_]:
        """A mask of the values that can be used: finite, between the bounds of a mean, positive for a percentage."""
        good: npt.NDArray[np.bool_] = np.isfinite(values)
        if self.bounds is not None:
            with np.errstate(invalid="ignore"):
                return good & (values >= self.bounds[0]) & (values <= self.bounds[1])
        return good & (values > 0.0) if self.positive else good

    def outward(self, inner: npt.ArrayLike) -> Floats:
        """The metric's own values of inner ones: the inverse of `inward`, and its limits at infinity.

        >>> Objective("seconds", "minimize", "2%").outward([float("-inf"), 0.0, float("inf")]).tolist()
        [inf, 1.0, 0.0]
        """
        array = self._numbers(inner)
        if self.minimized:
            array = -array
        if self.relative:
            with np.errstate(over="ignore", under="ignore"):  # beyond the largest double is infinite enough
                array = np.exp(array)
            if self.exact:  # what was measured, and not what is left of it after a logarithm
                array = np.array([float(f"{x:.13g}") for x in array.ravel().tolist()]).reshape(array.shape)
        return array + 0.0

    def outward_interval(self, low: npt.ArrayLike, high: npt.ArrayLike) -> tuple[Floats, Floats]:
        """The inner intervals [low, high] in the metric's units, lower end first; an empty one (low > high) stays so.

        >>> low, high = Objective("seconds", "minimize").outward_interval(-3.0, -2.0)
        >>> float(low), float(high)
        (2.0, 3.0)
        """
        ends = self.outward(low), self.outward(high)
        return (ends[1], ends[0]) if self.minimized else ends

    def _numbers(self, values: npt.ArrayLike) -> Floats:
        array = np.asarray(values)
        if array.dtype == np.bool_ and self.takes_booleans:
            return array.astype(np.float64)
        if array.dtype == object:
            kinds = (bool, np.bool_) if self.takes_booleans else ()
            fine = [v is None or _is_number(v) or isinstance(v, kinds) for v in array.flat]
            usable = np.array(fine, np.bool_).reshape(array.shape)
            if not usable.all():
                raise BadInput(
                    f"values of objective {self.name!r} must be real numbers, or None where a measurement failed; "
                    f"got {array[~usable][0]!r}{_position(~usable)}"
                )
        elif array.dtype.kind not in "iuf":
            raise BadInput(f"values of objective {self.name!r} must be real numbers; got {array.dtype}")
        return array.astype(np.float64, order="C")  # None becomes NaN


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, (bool, np.bool_))


def _position(wrong: npt.NDArray[np.bool_]) -> str:
    """The place of the first wrong value."""
    if wrong.ndim == 0:
        return ""
    first = tuple(int(index) for index in np.argwhere(wrong)[0])
    return f" at position {first[0] if wrong.ndim == 1 else first}"


def parse_objectives(objectives: Iterable[Objective | str | tuple[str, str]]) -> tuple[Objective, ...]:
    """Objectives, well-known names, and pairs (name, direction), as objectives."""
    if isinstance(objectives, (str, Objective, Mapping)) or not isinstance(objectives, Iterable):
        raise BadArgument(
            "objectives",
            must="be a list of Objective(...), names, or pairs (name, direction), even if it is one",
            got=repr(objectives),
        )
    parsed = tuple(_parse_objective(given, position) for position, given in enumerate(objectives))
    if not parsed:
        raise BadArgument("objectives", must="be one at least", got="none")
    seen: set[str] = set()
    for objective in parsed:
        if objective.name in seen:
            raise BadArgument("objectives", must="have different names", got=f"{objective.name!r} more than once")
        seen.add(objective.name)
    return parsed


def _parse_objective(given: object, position: int) -> Objective:
    if isinstance(given, Objective):
        return given
    if isinstance(given, str):
        if given in _DIRECTIONS:  # ("seconds", "minimize") where [("seconds", "minimize")] was meant
            raise BadInput(
                f"objective {position} is a plain name, and {given!r} is a direction: write a pair "
                f"(name, {given!r}) inside the list of objectives"
            )
        return Objective(given)
    if isinstance(given, Sequence) and len(given) == 2 and all(isinstance(part, str) for part in given):
        name, direction = given
        return Objective(name, direction)
    raise BadInput(f"objective {position} must be an Objective, a name, or a pair (name, direction); got {given!r}")


def inward_matrix(objectives: Sequence[Objective], values: npt.ArrayLike) -> Floats:
    """Values (n, M) of n pulls as a policy is told them, a column for each objective."""
    array = np.asarray(values)
    if array.ndim != 2 or array.shape[1] != len(objectives):
        raise BadInput(
            f"values must have the shape (pulls, M) = (n, {len(objectives)}), a column for each objective; "
            f"got {array.shape}"
        )
    inner = np.empty(array.shape)
    for d, objective in enumerate(objectives):
        inner[:, d] = objective.observed(array[:, d])
    return inner


def differences_in_units(objectives: Sequence[Objective], inner: Iterable[float]) -> tuple[float, ...]:
    """Differences of inner values (M,) as a user knows them: themselves, or shares e^d − 1 of a relative objective.

    >>> [round(each, 6) for each in differences_in_units([Objective("seconds", "minimize", "2%")], [0.019803])]
    [0.02]
    """
    pairs = zip(objectives, inner, strict=True)
    return tuple(_share(width) if objective.relative else float(width) for objective, width in pairs)


def _share(logarithm: float) -> float:
    return math.expm1(logarithm) if logarithm < 700.0 else math.inf


def tolerances(objectives: Sequence[Objective]) -> Floats:
    """Inner tolerances (M,)."""
    return np.array([objective.inner_tolerance for objective in objectives], np.float64)


def refuse_forgotten_percent(
    objectives: Sequence[Objective], estimates: Floats, whose: str, ends: Floats | None = None
) -> None:
    """Refuse a tolerance beyond all inner estimates (n, M), or of few `ends` (m, M): likely a percentage was meant.

    >>> seconds = Objective("seconds", tolerance=5)
    >>> refuse_forgotten_percent([seconds], np.array([[-0.1]]), "the baseline")
    Traceback (most recent call last):
    ...
    frontguard.errors.BadArgument: tolerance: 5 means 5 in seconds, and the baseline is at 0.1; did you mean '5%'?
    """
    for d, metric in enumerate(objectives):
        sign = -1.0 if metric.minimized else 1.0
        known = sign * estimates[np.isfinite(estimates[:, d]), d]
        largest, among = known.max(initial=0.0), known if ends is None else sign * ends[:, d]
        if not metric.relative and 0.0 < among.max(initial=0.0) < metric.inner_tolerance and among.min() > 0.0:
            amount = f"{metric.tolerance:g}"
            raise BadArgument(
                "tolerance",
                f"{amount} means {amount} in {metric.name}, and {whose} is at {largest:.4g}; did you mean '{amount}%'?",
            )
