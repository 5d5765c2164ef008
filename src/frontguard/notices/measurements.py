"""What policies and analyses find in measurements: assumptions refuted, values they lack, samples that look odd."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from frontguard.notices.record import Notice


@dataclass(frozen=True)
class SpreadRefuted(Notice):
    """The measurements of some arms contradict R, which is given up for them."""

    arms: int
    of: int
    kind: Literal["spread_refuted"] = "spread_refuted"


@dataclass(frozen=True)
class ContaminationRefuted(Notice):
    """The measurements of some arms cannot come from one distribution with at most a share ε replaced."""

    arms: int
    of: int
    contamination: float
    kind: Literal["contamination_refuted"] = "contamination_refuted"


@dataclass(frozen=True)
class OfObjective(Notice):
    """Something about an objective as it was declared, of which an arm is given as an example."""

    objective: str

    @property
    def subject(self) -> tuple[str, ...]:
        """It is about the declaration, whichever arm is taken as its example."""
        return (str(vars(self)["kind"]), self.objective)


@dataclass(frozen=True)
class NotPositive(OfObjective):
    """`count` of `of` values of an objective are not positive, as its tolerance, a percentage, needs them to be.

    They count as failed. `example` is one of them, of an `arm`.
    """

    arm: str
    count: int
    of: int
    example: float
    tolerance: str
    kind: Literal["not_positive"] = "not_positive"


@dataclass(frozen=True)
class OutOfBounds(OfObjective):
    """`count` of `of` values of an objective do not lie between its bounds, which its mean needs.

    They count as failed. `example` is one of them, of an `arm`.
    """

    arm: str
    count: int
    of: int
    example: float
    low: float
    high: float
    kind: Literal["out_of_bounds"] = "out_of_bounds"


@dataclass(frozen=True)
class ExactDiffers(OfObjective):
    """`arms` arms were measured differently in an objective that was declared exact: `first` and `second`, of `arm`.

    Nothing is known of these arms in that objective any more.
    """

    arm: str
    arms: int
    first: float
    second: float
    kind: Literal["exact_differs"] = "exact_differs"


@dataclass(frozen=True)
class TakenAsRate(Notice):
    """The values of an objective are true or false, so that their mean, a rate, counts and not their median."""

    warns: ClassVar[bool] = False
    objective: str
    kind: Literal["taken_as_rate"] = "taken_as_rate"


@dataclass(frozen=True)
class LooksDirtier(Notice):
    """Samples look far dirtier than the declared contamination: a hint for the eye, on which nothing rests.

    `share` of the values of the worst arm and objective look wrong, by a sign: "far" from the others, "apart" as a
    group of their own, or "ties", one value again and again. So it is with `arms` of the `of` arms that were looked at.
    """

    arm: str
    objective: str
    share: float
    sign: Literal["far", "apart", "ties"]
    arms: int
    of: int
    contamination: float
    kind: Literal["looks_dirtier"] = "looks_dirtier"

    @property
    def subject(self) -> tuple[str, ...]:
        """It is about the measurements as a whole, whichever arm is the worst."""
        return (self.kind,)


@dataclass(frozen=True)
class RowsDiffer(Notice):
    """The rows of a log do not look alike, between its files or from the first to the last: a hint for the eye.

    Of the worst arm and objective, two `parts` (files, or which quarter of its rows) have these `medians`; `chance`
    is the probability, about, that rows in random order would differ as much anywhere. So it is with `arms` of the `of`
    arms that were looked at.
    """

    arm: str
    objective: str
    between: Literal["files", "rows"]
    parts: tuple[str, str]
    medians: tuple[float, float]
    chance: float
    arms: int
    of: int
    kind: Literal["rows_differ"] = "rows_differ"

    @property
    def subject(self) -> tuple[str, ...]:
        """It is about the log as a whole, whichever arm is the worst."""
        return (self.kind,)


@dataclass(frozen=True)
class LooksClustered(Notice):
    """Rows depend on each other within what a `column` tells apart, which was not declared: a hint for the eye.

    Of one `objective`, rows with the same value in the column have the rank `correlation`, with `rows` of them on
    average, so that the variance of a mean is `inflation` times what it would be of independent rows. `chance` is the
    probability, about, that independent rows would look so in any column.
    """

    column: str
    objective: str
    correlation: float
    rows: float
    inflation: float
    chance: float
    kind: Literal["looks_clustered"] = "looks_clustered"

    @property
    def subject(self) -> tuple[str, ...]:
        """It is about the column, whichever metric shows it best."""
        return (self.kind, self.column)
