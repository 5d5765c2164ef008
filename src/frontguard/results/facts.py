"""Facts of an answer beside verdicts: boxes, limits, costs, a first guess, what arms are made of, how it was made."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from frontguard._common.entries import AT_A_TIME, ByArm, finite_rows, plain
from frontguard._common.typing import Bools, Floats, Ints
from frontguard.limits import Gate, columns_for
from frontguard.objectives import Objective
from frontguard.phrases import slashed
from frontguard.verdicts import BEYOND, OPEN, Keeping

if TYPE_CHECKING:
    from frontguard.schema import AnyAnswer, CostEntries


@dataclass(frozen=True, eq=False)
class Inner:
    """What policies compare: point estimates and boxes (K, M) of which larger values are better in every objective.

    Of a metric that is minimised they are its negative; where its tolerance is a share ("2%"), logarithms.
    """

    estimates: Floats
    lower: Floats
    upper: Floats

    @classmethod
    def of(cls, metrics: Sequence[Objective], low: Floats, high: Floats, centre: Floats) -> Inner:
        """Inner values of ends and centres (K, M) in the metrics' units: the way back of `outward_interval`."""
        estimates, lower, upper = centre.copy(), low.copy(), high.copy()
        for d, metric in enumerate(metrics):
            ends = [low[:, d], high[:, d]]
            if metric.relative:  # an end at or below 0 is open there
                ends[0] = np.where(ends[0] <= 0.0, np.nan, ends[0])
            with np.errstate(over="ignore", invalid="ignore"):
                ends = [metric.inward(end) for end in ends]
            if metric.relative:
                ends[0] = np.where(np.isnan(ends[0]), np.inf if metric.minimized else -np.inf, ends[0])
            lower[:, d], upper[:, d] = ends[::-1] if metric.minimized else ends
            estimates[:, d] = metric.inward(centre[:, d])
        return cls(estimates, lower, upper)


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

    @classmethod
    def of(cls, given: AnyAnswer, arms: Sequence[str]) -> Kept | None:
        """The standing of arms to limits, from JSON that was checked; None without limits."""
        if not given.limits:
            return None
        gates = columns_for(given.metrics or tuple(map(Objective, given.names)), tuple(given.limits)).gates
        words = {keeping.word: int(keeping) for keeping in Keeping}
        rows = [given.keeping[arm] for arm in arms]
        low, high, centre = (
            np.array([[instead if each is None else each for each in row] for row in table], np.float64)
            for table, instead in (
                ([[each.interval[0] for each in row] for row in rows], -np.inf),
                ([[each.interval[1] for each in row] for row in rows], np.inf),
                ([[each.estimate for each in row] for row in rows], np.nan),
            )
        )
        codes = np.array([[words[each.keeping] for each in row] for row in rows], np.int64)
        return cls(gates, codes, Inner.of([gate.metric for gate in gates], low, high, centre))

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

    @classmethod
    def of(cls, given: CostEntries | None, arms: Sequence[str]) -> CostSoFar | None:
        """The cost so far, from JSON that was checked."""
        if given is None:
            return None
        known = [given.by_arm.get(arm) for arm in arms]
        spent = [0.0 if each is None else each.spent for each in known]
        pulls = [np.nan if each is None or each.a_pull is None else each.a_pull for each in known]
        return cls(given.unit, np.array(spent, np.float64), np.array(pulls, np.float64), given.metric)

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

    @classmethod
    def of(cls, given: AnyAnswer, arms: Sequence[str]) -> Guess | None:
        """The guess that was written down; None where there is none."""
        if given.best_guess is None:
            return None
        least, named = given.least_pulls, set(given.best_guess)
        front = np.array([arm in named for arm in arms], np.bool_)
        return cls(front) if least is None else cls(front, least.first, least.whole)

    def among(self, kept: Ints, arms: int) -> Guess:
        """The same where its arms are the arms `kept` of more."""
        front = np.zeros(arms, np.bool_)
        front[kept] = self.front
        return replace(self, front=front)


@dataclass(frozen=True, eq=False)
class ArmParts:
    """What the arms are made of, where several columns, or the parameters of a grid, name them together.

    Each column's different texts are kept once, and `codes` (columns, K) says which of them an arm has.

    >>> parts = ArmParts.of(["lang", "size"], [("c", "128"), ("c", "64")])
    >>> parts.column(0), parts.row(1), str(parts)
    (['c', 'c'], ('c', '64'), 'lang/size')
    """

    names: tuple[str, ...]
    texts: tuple[tuple[str, ...], ...]
    codes: Ints

    @classmethod
    def of(cls, names: Sequence[str], rows: Iterable[Sequence[str]]) -> ArmParts:
        """The parts of each arm, in the order of the arms."""
        places: list[dict[str, int]] = [{} for _ in names]
        codes = [[known.setdefault(text, len(known)) for known, text in zip(places, row, strict=True)] for row in rows]
        table = np.array(codes, np.int64).reshape(len(codes), len(names)).T
        return cls(tuple(names), tuple(map(tuple, places)), table)

    def column(self, d: int) -> list[str]:
        """The texts of the d-th column (K,)."""
        return [self.texts[d][code] for code in self.codes[d].tolist()]

    def beside(self, columns: dict[str, Any], arms: Ints | None = None) -> dict[str, Any]:
        """These columns, the first of which has names, with the parts behind it; of all arms, or row by row of these.

        >>> list(ArmParts.of(["arm", "size"], [("c", "64")]).beside({"arm": ["c/64"], "pulls": [3]}))
        ['arm', 'arm of the arm', 'size', 'pulls']
        """
        (name, names), *rest = columns.items()
        some = self if arms is None else replace(self, codes=self.codes[:, arms])
        # A part may be called as one of these columns is.
        called = [f"{part} of the arm" if part in columns else part for part in self.names]
        return {name: names, **{each: some.column(d) for d, each in enumerate(called)}, **dict(rest)}

    def row(self, arm: int) -> tuple[str, ...]:
        """The parts of an arm."""
        return tuple(texts[code] for texts, code in zip(self.texts, self.codes[:, arm].tolist(), strict=True))

    def rows(self) -> Iterator[list[str]]:
        """The parts of each arm, some thousand arms at a time."""
        for start in range(0, self.codes.shape[1], AT_A_TIME):
            some = self.codes[:, start : start + AT_A_TIME].tolist()
            columns = [[texts[code] for code in codes] for texts, codes in zip(self.texts, some, strict=True)]
            yield from map(list, zip(*columns, strict=True))

    def __str__(self) -> str:
        return slashed(self.names)


@dataclass(frozen=True)
class Origin:
    """The making of an answer, as far as is known: entries that commands print."""

    version: str | None = None
    command: str | None = None
    source: str | list[str] | None = None
    at: str | None = None
    seed: int | None = None
    spec: str | None = None

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Origin:
        """The same, from the JSON of a command."""
        return cls(**{field.name: values.get(field.name) for field in fields(cls)})
