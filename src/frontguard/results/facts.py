"""What a result knows of its arms beside their verdicts: boxes, how they stand to limits, costs, a first guess."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from frontguard._common.typing import Bools, Floats, Ints
from frontguard.limits import Gate
from frontguard.notices import plain
from frontguard.results.by_arm import ByArm, finite_rows
from frontguard.verdicts import BEYOND, OPEN, Keeping


@dataclass(frozen=True, eq=False)
class Inner:
    """What policies compare: point estimates and boxes (K, M) of which larger values are better in every objective.

    Of a metric that is minimised they are its negative; where its tolerance is a share ("2%"), logarithms.
    """

    estimates: Floats
    lower: Floats
    upper: Floats


@dataclass(frozen=True, eq=False)
class Kept:
    """How K arms stand to Q limits, and by which intervals of what is limited; all arrays are (K, Q).

    `codes` are those of `Keeping`; `inner` has values of which larger ones keep to the limit better.
    """

    gates: tuple[Gate, ...]
    codes: Ints
    inner: Inner

    @property
    def of_arms(self) -> Ints:
        """How each arm (K,) stands to all of them: the worst counts."""
        worst: Ints = self.codes.max(axis=1)
        return worst

    @property
    def estimates(self) -> Floats:
        """Point estimates in the units of the metrics."""
        return np.stack([each.metric.outward(self.inner.estimates[:, q]) for q, each in enumerate(self.gates)], axis=1)

    @property
    def ends(self) -> tuple[Floats, Floats]:
        """Lower and upper ends of the intervals, in the units of the metrics."""
        pairs = [
            each.metric.outward_interval(self.inner.lower[:, q], self.inner.upper[:, q])
            for q, each in enumerate(self.gates)
        ]
        return np.stack([low for low, _ in pairs], axis=1), np.stack([high for _, high in pairs], axis=1)

    def worst(self, arm: int) -> int:
        """The limit that an arm is beyond, or that is open; of several the first, −1 if it keeps to all."""
        of_arm = self.codes[arm]
        return next((int(np.argmax(of_arm == code)) for code in (BEYOND, OPEN) if (of_arm == code).any()), -1)

    def among(self, kept: Ints, arms: int) -> Kept:
        """The same where its arms are the arms `kept` of more, of which nothing is known."""

        def spread(array: Any, otherwise: float) -> Any:
            more = np.full((arms, array.shape[1]), otherwise, array.dtype)
            more[kept] = array
            return more

        inner = self.inner
        return Kept(
            self.gates,
            spread(self.codes, OPEN),
            Inner(spread(inner.estimates, np.nan), spread(inner.lower, -np.inf), spread(inner.upper, np.inf)),
        )

    def to_dict(self, arms: Sequence[str]) -> dict[str, Any]:
        """Plain values that JSON can hold: the limits, and for each arm how it stands to each."""
        low, high = (finite_rows(ends) for ends in self.ends)
        rows = zip(arms, self.codes.tolist(), finite_rows(self.estimates), low, high, strict=True)
        names = [str(gate) for gate in self.gates]
        return {
            "limits": [{key: plain(value) for key, value in vars(gate.limit).items()} for gate in self.gates],
            "keeping": ByArm(
                (
                    arm,
                    [
                        {"limit": name, "keeping": Keeping(code).word, "estimate": estimate, "interval": [a, b]}
                        for name, code, estimate, a, b in zip(names, codes, estimates, lows, highs, strict=True)
                    ],
                )
                for arm, codes, estimates, lows, highs in rows
            ),
        }


SECONDS = "seconds"
"""The unit in which costs are times."""


@dataclass(frozen=True, eq=False)
class CostSoFar:
    """What pulls have cost so far, and what a further one of each arm is taken to cost, in `unit`.

    `typical` is NaN where no pull has said so. Where pulls report their cost, that is a `metric`.
    """

    unit: str
    by_arm: Floats  # (K,)
    typical: Floats  # (K,)
    metric: str | None = None

    @property
    def spent(self) -> float:
        """What the pulls of all arms have cost."""
        return float(self.by_arm.sum())

    def to_dict(self, arms: Sequence[str]) -> dict[str, Any]:
        """Plain values; what is not known becomes None."""
        amounts = zip(arms, self.by_arm.tolist(), self.typical.tolist(), strict=True)
        return {
            "unit": self.unit,
            "metric": self.metric,
            "spent": self.spent,
            "by_arm": {arm: {"spent": spent, "a_pull": None if pull != pull else pull} for arm, spent, pull in amounts},
        }


@dataclass(frozen=True, eq=False)
class Guess:
    """Where no arm is in: what the estimates alone would say, of which nothing is promised, and what it lacks.

    An arm needs `first` pulls at least before any end of its intervals is bounded, and `whole` before all of them are;
    more, where some of its pulls fail. None where no number of pulls would do, or it is not known.
    """

    front: Bools  # (K,): the arms that would be returned if the estimates were exact
    first: int | None = None
    whole: int | None = None

    def among(self, kept: Ints, arms: int) -> Guess:
        """The same where its arms are the arms `kept` of more."""
        front = np.zeros(arms, np.bool_)
        front[kept] = self.front
        return replace(self, front=front)
