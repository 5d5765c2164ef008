"""Objectives: what is measured, which direction is better, what difference matters, and which quantile counts.

Inside, every objective is maximised, has an absolute tolerance, and a quantile level. This module is the edge where the
user's units become inner ones, by a strictly increasing or decreasing map of the metric x:

| direction, tolerance | inner value y | inner tolerance | inner level of the p-quantile of x |
| --- | --- | --- | --- |
| maximize, absolute γ | x | γ | p |
| minimize, absolute γ | −x | γ | 1 − p |
| maximize, relative ρ | log x | log(1 + ρ) | p |
| minimize, relative ρ | −log x | log(1 + ρ) | 1 − p |

Quantiles commute with such maps, and a decreasing one turns the level around: a p-quantile q of x has P(x ≤ q) ≥ p and
P(x ≥ q) ≥ 1 − p, which is P(−x ≥ −q) ≥ p and P(−x ≤ −q) ≥ 1 − p, so −q is a (1−p)-quantile of −x. `quantile=0.95`
therefore means the 0.95-quantile of the metric itself, whichever direction is better: the p95 of a latency that is
minimised has the inner level 0.05.

A relative tolerance ρ means the same in both directions: of two values, the larger is at most 1 + ρ times the smaller.
It may exceed 100 %: "150%" is a factor of 2.5.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from frontguard._checks import real_number
from frontguard._typing import Floats
from frontguard._written import read_amount
from frontguard.errors import BadInput
from frontguard.phrases import did_you_mean

Direction = Literal["maximize", "minimize"]

_DIRECTIONS: tuple[str, ...] = get_args(Direction)


class Tolerance(NamedTuple):
    """An amount, absolute in the metric's units or relative as a share: "2%" is (0.02, relative)."""

    amount: float
    relative: bool


def parse_tolerance(value: object, name: str = "tolerance") -> Tolerance:
    """Read a tolerance: a number, absolute, or a text that ends in a percent sign, relative.

    >>> parse_tolerance(0.5), parse_tolerance("2 %")
    (Tolerance(amount=0.5, relative=False), Tolerance(amount=0.02, relative=True))
    >>> parse_tolerance("2 percent")
    Traceback (most recent call last):
    ...
    frontguard.errors.BadInput: tolerance must be a number such as 0.5 or a percentage such as '2%'; got '2 percent'
    """
    if isinstance(value, str):
        read = read_amount(value)
        if read is None:
            raise BadInput(f"{name} must be a number such as 0.5 or a percentage such as '2%'; got {value!r}")
        amount, relative = read
    else:
        amount, relative = real_number(value, name), False
    if not 0.0 <= amount < math.inf:
        raise BadInput(f"{name} must be finite and not negative; got {value!r}")
    return Tolerance(amount + 0.0, relative)


@dataclass(frozen=True)
class Objective:
    """A metric: its name, the better direction, the difference that does not matter, and the quantile that counts.

    `tolerance` is an absolute number, or a percentage as text for a metric that is always positive.

    >>> latency = Objective("seconds", "minimize", tolerance="2%", quantile=0.95)
    >>> latency.relative, round(latency.inner_tolerance, 6), round(latency.inner_quantile, 6)
    (True, 0.019803, 0.05)
    >>> latency.inward([1.0, 0.5, float("nan")]).round(4).tolist()  # larger is better; a failed pull stays NaN
    [0.0, 0.6931, nan]
    """

    name: str
    direction: Direction = "maximize"
    tolerance: float | str = 0.0
    quantile: float = 0.5

    def __post_init__(self) -> None:
        """Refuse what is no objective; bring numbers to floats and percentages to one spelling."""
        if not isinstance(self.name, str) or not self.name.strip():
            raise BadInput(f"the name of an objective must be a text that is not blank; got {self.name!r}")
        if self.direction not in _DIRECTIONS:
            hint = did_you_mean(self.direction, _DIRECTIONS) if isinstance(self.direction, str) else ""
            raise BadInput(
                f"direction of objective {self.name!r} must be one of {', '.join(_DIRECTIONS)}{hint}; "
                f"got {self.direction!r}"
            )
        parsed = parse_tolerance(self.tolerance, f"tolerance of objective {self.name!r}")
        spelled = "".join(str(self.tolerance).split()) if parsed.relative else parsed.amount
        object.__setattr__(self, "tolerance", spelled)
        level = real_number(self.quantile, f"quantile of objective {self.name!r}")
        if not 0.0 < level < 1.0:
            raise BadInput(
                f"quantile of objective {self.name!r} must lie strictly between 0 and 1 (0.5 is the median); "
                f"got {level!r}"
            )
        object.__setattr__(self, "quantile", level)

    @property
    def quantile_word(self) -> str:
        """Which quantile of the metric counts: "median", or "p95"."""
        return "median" if self.quantile == 0.5 else f"p{100 * self.quantile:g}"

    @property
    def relative(self) -> bool:
        """Whether the tolerance is relative, so that the inner value is a logarithm."""
        return isinstance(self.tolerance, str)  # an absolute one, written as text, became a number

    @property
    def minimized(self) -> bool:
        """Whether smaller is better."""
        return self.direction == "minimize"

    @property
    def inner_tolerance(self) -> float:
        """The tolerance as a difference of inner values: itself, or log(1 + ρ)."""
        amount, relative = parse_tolerance(self.tolerance)
        return math.log1p(amount) if relative else amount

    @property
    def inner_quantile(self) -> float:
        """The level, among inner values, of the quantile of the metric that counts: p, or 1 − p when minimised."""
        return 1.0 - self.quantile if self.minimized else self.quantile

    @property
    def needs_positive(self) -> str:
        """What is wrong where a value is not positive although the tolerance is a percentage, and the remedy.

        >>> Objective("profit", tolerance="5%").needs_positive
        'a tolerance in percent (5%) needs positive values; give an absolute one, e.g. --tolerance profit=0.5
        (Objective(tolerance=0.5))'
        """
        return (
            f"a tolerance in percent ({self.tolerance}) needs positive values; give an absolute one, e.g. "
            f"--tolerance {self.name}=0.5 (Objective(tolerance=0.5))"
        )

    def not_positive(self, count: int, of: int, example: float, arm: str) -> str:
        """That so many of its values are not positive, with one of them, its arm, and the remedy."""
        return (
            f"{count:,} of {of:,} values of {self.name!r} are not positive, such as {example:g} of arm {arm!r}: "
            f"{self.needs_positive}"
        )

    def inward(self, values: npt.ArrayLike) -> Floats:
        """Inner values: float64, same shape, larger is better. NaN (or None) is a failed measurement and stays NaN.

        >>> Objective("seconds", "minimize", "2%").inward([1.2, 0.0])
        Traceback (most recent call last):
        ...
        frontguard.errors.BadInput: values of objective 'seconds' must be positive; got 0.0 at position 1: a tolerance
        in percent (2%) needs positive values; give an absolute one, e.g. --tolerance seconds=0.5
        (Objective(tolerance=0.5))
        """
        array = self._numbers(values)
        if self.relative:
            wrong = array <= 0.0  # false for NaN
            if wrong.any():
                raise BadInput(
                    f"values of objective {self.name!r} must be positive; got {float(array[wrong][0])!r}"
                    f"{_position(wrong)}: {self.needs_positive}"
                )
            # numpy's logarithm throughout, never math.log: the two differ in the last bit now and then, and equal
            # metrics must stay equal or a tie would become a strict difference.
            array = np.log(array)
        return -array + 0.0 if self.minimized else array + 0.0  # + 0.0 makes −0 a plain 0

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
        return array + 0.0

    def outward_interval(self, low: npt.ArrayLike, high: npt.ArrayLike) -> tuple[Floats, Floats]:
        """The inner intervals [low, high] in the metric's units, lower end first.

        Ends are exchanged for a minimised metric, never sorted: an empty interval (low > high) stays empty.

        >>> low, high = Objective("seconds", "minimize").outward_interval(-3.0, -2.0)
        >>> float(low), float(high)
        (2.0, 3.0)
        """
        ends = self.outward(low), self.outward(high)
        return (ends[1], ends[0]) if self.minimized else ends

    def _numbers(self, values: npt.ArrayLike) -> Floats:
        array = np.asarray(values)
        if array.dtype == object:
            usable = np.array([v is None or _is_number(v) for v in array.flat], np.bool_).reshape(array.shape)
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
    """Where the first wrong value stands."""
    if wrong.ndim == 0:
        return ""
    first = tuple(int(index) for index in np.argwhere(wrong)[0])
    return f" at position {first[0] if wrong.ndim == 1 else first}"


def parse_objectives(objectives: Iterable[Objective | str | tuple[str, str]]) -> tuple[Objective, ...]:
    """Objectives, plain names (maximised, no tolerance), and pairs (name, direction), as objectives.

    >>> [objective.direction for objective in parse_objectives(["quality", ("seconds", "minimize")])]
    ['maximize', 'minimize']
    """
    if isinstance(objectives, (str, Objective, Mapping)) or not isinstance(objectives, Iterable):
        raise BadInput(
            "objectives must be a list of Objective(...), names, or pairs (name, direction), even if it is one; "
            f"got {objectives!r}"
        )
    parsed = tuple(_parse_objective(given, position) for position, given in enumerate(objectives))
    if not parsed:
        raise BadInput("objectives must be one at least; got none")
    seen: set[str] = set()
    for objective in parsed:
        if objective.name in seen:
            raise BadInput(f"objectives must have different names; got {objective.name!r} more than once")
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
    """Inner values (n, M) of n pulls, one column for each objective, as a policy is told them.

    >>> inward_matrix(parse_objectives(["quality", ("seconds", "minimize")]), [[0.9, 2.0], [0.8, None]]).tolist()
    [[0.9, -2.0], [0.8, nan]]
    """
    array = np.asarray(values)
    if array.ndim != 2 or array.shape[1] != len(objectives):
        raise BadInput(
            f"values must have the shape (pulls, M) = (n, {len(objectives)}), a column for each objective; "
            f"got {array.shape}"
        )
    inner = np.empty(array.shape)
    for d, objective in enumerate(objectives):
        inner[:, d] = objective.inward(array[:, d])
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


def quantiles(objectives: Sequence[Objective]) -> Floats:
    """Inner quantile levels (M,)."""
    return np.array([objective.inner_quantile for objective in objectives], np.float64)
