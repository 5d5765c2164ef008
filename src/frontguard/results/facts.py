"""Facts of an answer beside verdicts: what it guarantees, limits, costs, a guess, parts of names, logs and studies."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from frontguard._common.attached import attached
from frontguard._common.entries import AT_A_TIME, ByArm, TableByArm, finite_rows, plain, table_of
from frontguard._common.typing import Bools, Floats, Ints
from frontguard.comparisons.effects import Intervals
from frontguard.limits import Gate, columns_for
from frontguard.objectives import Objective, differences_in_units
from frontguard.phrases import quoted, slashed
from frontguard.verdicts import INFEASIBLE, OPEN, Feasibility, Verdict

if TYPE_CHECKING:
    from frontguard.schema import AnyAnswer, CertificateEntries, CostEntries, IfCleanerEntries, LogEntries, StudyEntries


@dataclass(frozen=True)
class Certificate:
    """The guarantee of a result, with probability `confidence` under the threat model.

    Every returned arm is `accuracy`-optimal (Δ ≤ accuracy), and for every Pareto optimal arm there is a returned one
    that is worse by at most `coverage` in any objective (Definition 5); coverage is infinite where nothing is promised
    of what is missed. Without a confidence nothing is promised at all, and `void` says why: "running" (promised only at
    the end), "contamination" (clean measurements needed), "bias" (set by hand), or "medians" (proved for means only).
    """

    accuracy: float | tuple[float, ...]  # one for all objectives, or one for each
    coverage: float | tuple[float, ...]
    confidence: float | None
    threat: str
    contamination: float
    relative: tuple[bool, ...] = ()  # for which objectives the tolerances are shares ("2%"), if for any
    void: str = ""
    arms: int | None = None  # of how many arms it speaks
    excluded: tuple[str, ...] = ()  # which arms were excluded, and are not spoken of
    limits: tuple[str, ...] = ()  # to which the arms must keep of which it speaks
    by_column: tuple[float, ...] = ()  # the ε of each objective, and of what else has intervals, where they differ

    def to_dict(self) -> dict[str, Any]:
        """The certificate as plain values that JSON can hold; what is not bounded becomes None."""
        return {name: plain(value) for name, value in vars(self).items() if name != "relative"}

    @classmethod
    def of(cls, given: CertificateEntries, objectives: Sequence[Objective]) -> Certificate:
        """The certificate that was written down; with a number for each objective where these are known."""
        told = dict(given) | {name: tuple(getattr(given, name)) for name in ("excluded", "limits", "by_column")}
        amounts = {name: _amounts(told[name], objectives) for name in ("accuracy", "coverage")}
        return cls(**told | amounts, relative=tuple(objective.relative for objective in objectives))

    def in_units(self, objectives: Sequence[Objective]) -> Certificate:
        """Return it in the objectives' units: differences of a metric, or shares where the tolerance is one."""
        return replace(
            self,
            accuracy=differences_in_units(objectives, _each(self.accuracy, objectives)),
            coverage=differences_in_units(objectives, _each(self.coverage, objectives)),
            relative=tuple(objective.relative for objective in objectives),
        )

    def amounts(self, objectives: Sequence[Objective]) -> tuple[float, ...]:
        """The larger of accuracy and coverage for each objective: within what the answer holds in every respect."""
        return tuple(
            max(pair) for pair in zip(_each(self.accuracy, objectives), _each(self.coverage, objectives), strict=True)
        )

    def __str__(self) -> str:
        return str(attached("certificate")(self))

    def __repr__(self) -> str:
        """Return the fields without those at their default; of many arms that were excluded, the first."""
        told = [each for each in fields(self) if getattr(self, each.name) != each.default and each.name != "excluded"]
        said = [f"{each.name}={getattr(self, each.name)!r}" for each in told]
        if self.excluded:
            said.append(f"excluded=({quoted(self.excluded, 8)})")
        return f"Certificate({', '.join(said)})"


def _each(value: float | tuple[float, ...], objectives: Sequence[Objective]) -> tuple[float, ...]:
    return value if isinstance(value, tuple) else (value,) * len(objectives)


def _amounts(given: float | list[float | None] | None, objectives: Sequence[Objective]) -> float | tuple[float, ...]:
    """Amounts that were written down: infinite where nothing is bounded."""
    if isinstance(given, list):
        return tuple(math.inf if amount is None else amount for amount in given)
    amount = math.inf if given is None else given
    return _each(amount, objectives) if objectives else amount


@dataclass(frozen=True, eq=False)
class Kept:
    """The standing of K arms to Q limits (`codes`), with intervals, larger is better; all arrays are (K, Q)."""

    gates: tuple[Gate, ...]
    codes: Ints
    inner: Intervals

    @property
    def of_arms(self) -> Ints:
        """The standing of each arm (K,) to all of them: the worst counts."""
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
        return next((int(np.argmax(of_arm == code)) for code in (INFEASIBLE, OPEN) if (of_arm == code).any()), -1)

    def among(self, kept: Ints, arms: int) -> Kept:
        """Return it where its arms are the arms `kept` of more, of which nothing is known."""

        def spread(array: Any, otherwise: float) -> Any:
            more = np.full((arms, array.shape[1]), otherwise, array.dtype)
            more[kept] = array
            return more

        inner = self.inner
        return Kept(
            self.gates,
            spread(self.codes, OPEN),
            Intervals(spread(inner.estimates, np.nan), spread(inner.lower, -np.inf), spread(inner.upper, np.inf)),
        )

    @classmethod
    def of(cls, given: AnyAnswer, arms: Sequence[str]) -> Kept | None:
        """The standing of arms to limits, from JSON that was checked; None without limits."""
        if not given.limits:
            return None
        gates = columns_for(
            given.metrics or tuple(Objective(name, "maximize") for name in given.names), tuple(given.limits)
        ).gates
        words = {keeping.word: int(keeping) for keeping in Feasibility}
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
        return cls(gates, codes, Intervals.of([gate.metric for gate in gates], low, high, centre))

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
                        {"limit": name, "keeping": Feasibility(code).word, "estimate": estimate, "interval": [a, b]}
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
    """Costs of pulls by arm so far, reported as a `metric` or not, and of a typical one, NaN if unknown; in `unit`."""

    unit: str
    by_arm: Floats  # (K,)
    typical: Floats  # (K,)
    metric: str | None = None

    @property
    def spent(self) -> float:
        """The cost of the pulls of all arms."""
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
    """The front by estimates alone, without any promise, while no arm is in; and what it lacks.

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
        """Return it where its arms are the arms `kept` of more."""
        front = np.zeros(arms, np.bool_)
        front[kept] = self.front
        return replace(self, front=front)


@dataclass(frozen=True, eq=False)
class ArmParts:
    """The parts of arms' names, of several columns or a grid: each column's texts once, and their `codes` (columns, K).

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
        """Return the origin of the JSON of a command."""
        return cls(**{field.name: values.get(field.name) for field in fields(cls)})


WORDS = np.array([verdict.word for verdict in Verdict], object)
"""The word of each verdict, by its number."""

_CODES = {verdict.word: int(verdict) for verdict in Verdict}


@dataclass(frozen=True, eq=False)
class Profile:
    """The ε up to which verdicts stand; exact to `resolution`, on levels that many steps above the present ε.

    `per_arm` (K,) is NaN for an undecided arm. `front` is the smallest level at which other arms are in than now, or
    more are undecided; 1/2 if there is none below. `in_front` (J,) are in at the `levels` (J,) that were looked at.
    """

    per_arm: Floats
    front: float
    levels: Floats
    in_front: Ints
    resolution: float

    @classmethod
    def of(cls, given: LogEntries, arms: Sequence[str]) -> Profile | None:
        """Return the profile of JSON that was checked; None if there is none."""
        if given.holds_up_to is None or given.profile is None:
            return None
        front = np.nan if given.front_changes_at is None else given.front_changes_at
        per_arm = np.array([given.holds_up_to.get(arm, np.nan) for arm in arms], np.float64)
        levels, in_front = np.array(given.profile.levels, np.float64), np.array(given.profile.in_front, np.int64)
        return cls(per_arm, front, levels, in_front, given.profile.resolution)

    def holds_up_to(self, arms: Sequence[str]) -> dict[str, float]:
        """Return for each arm with a verdict the largest ε up to which it stands."""
        known = np.flatnonzero(~np.isnan(self.per_arm))
        return dict(zip((arms[i] for i in known.tolist()), self.per_arm[known].tolist(), strict=True))

    def to_dict(self) -> dict[str, Any]:
        """Return how many arms are in at which level, as plain values."""
        levels, in_front = self.levels.tolist(), self.in_front.tolist()
        return {"levels": levels, "in_front": in_front, "resolution": self.resolution}


@dataclass(frozen=True, eq=False)
class IfCleaner:
    """The verdicts (K,) that are certain if there is no more than a smaller contamination than was declared."""

    contamination: float
    codes: Ints

    def among(self, kept: Ints, arms: int) -> IfCleaner:
        """Return it where its arms are the arms `kept` of more, which were excluded."""
        codes = np.full(arms, int(Verdict.EXCLUDED))
        codes[kept] = self.codes
        return replace(self, codes=codes)

    @classmethod
    def of(cls, given: IfCleanerEntries, arms: Sequence[str], excluded: Bools) -> IfCleaner:
        """Return the verdicts of JSON that was checked; arms that it does not name are undecided, or set `aside`."""
        rest = np.where(excluded, int(Verdict.EXCLUDED), int(Verdict.UNDECIDED)).tolist()
        named = given.verdicts
        codes = [_CODES[named[arm]] if arm in named else code for arm, code in zip(arms, rest, strict=True)]
        return cls(given.contamination, np.array(codes))

    def to_dict(self, arms: Sequence[str]) -> dict[str, Any]:
        """Return plain values, with the verdicts of the arms that are decided."""
        decided = np.flatnonzero((self.codes != Verdict.UNDECIDED) & (self.codes != Verdict.EXCLUDED)).tolist()
        verdicts = {arms[arm]: WORDS[self.codes[arm]] for arm in decided}
        return {"contamination": self.contamination, "verdicts": verdicts}


LIMITS = ("", "far", "contamination", "failures", "tolerance", "limit")
"""Why no number of pulls is given: too many to foresee; ε lets an attacker do too much; too many pulls of it or of its
rival fail; the arms differ by too little for the tolerance; or the arm is too near to a limit."""


@dataclass(frozen=True, eq=False)
class Needed:
    """The needs of J open arms: `pulls` more of each, and `rival_pulls` of the rival that decides it; −1 for none.

    `level` is the number that both, and whatever else stands in its way, should have in all. `limit` indexes `LIMITS`.
    """

    arms: Ints
    rivals: Ints
    pulls: Ints
    rival_pulls: Ints
    level: Ints
    limit: Ints

    def extra(self, arms: int) -> Ints:
        """More pulls of each of K arms (K,) that together give every open arm and its rival what they need."""
        wanted = np.zeros(arms, np.int64)
        reached = self.limit == 0
        np.maximum.at(wanted, self.arms[reached], self.pulls[reached])
        rivalled = reached & (self.rivals >= 0)
        np.maximum.at(wanted, self.rivals[rivalled], self.rival_pulls[rivalled])
        return wanted

    def among(self, kept: Ints) -> Needed:
        """Return it where the arms 0, 1, … are the arms `kept` of more."""
        rivals = np.where(self.rivals >= 0, kept[self.rivals], -1)
        return replace(self, arms=kept[self.arms], rivals=rivals)

    @classmethod
    def of(cls, given: LogEntries, arms: Sequence[str], pulls: Ints, decided_by: Ints) -> Needed | None:
        """Return the needs of JSON that was checked; None if there are none."""
        if not given.more_pulls:
            return None
        places, wanted = {arm: place for place, arm in enumerate(arms)}, list(given.more_pulls.values())
        which = np.array([places[arm] for arm in given.more_pulls], np.int64)
        extra = np.array([-1 if isinstance(each, str) else each for each in wanted], np.int64)
        limit = np.array([LIMITS.index(each) if isinstance(each, str) else 0 for each in wanted])
        rival_pulls = np.array([given.more_pulls_of_rival.get(arm, -1) for arm in given.more_pulls], np.int64)
        level = np.where(limit == 0, pulls[which] + extra, -1)
        return cls(which, decided_by[which], extra, rival_pulls, level, limit)

    def more_pulls(self, arms: Sequence[str]) -> dict[str, int | str]:
        """Return for each open arm how many more pulls of it would settle it, or why no number would."""
        each = zip(self.arms.tolist(), self.pulls.tolist(), self.limit.tolist(), strict=True)
        return {arms[arm]: LIMITS[limit] if limit else more for arm, more, limit in each}

    def more_pulls_of_rival(self, arms: Sequence[str]) -> dict[str, int]:
        """Return for each open arm how many more pulls of the arm that decides it would settle it."""
        each = zip(self.arms.tolist(), self.rival_pulls.tolist(), strict=True)
        return {arms[arm]: more for arm, more in each if more >= 0}


@dataclass(frozen=True, eq=False)
class LogDetails:
    """Details of K arms in M objectives that only a complete log tells."""

    failed: Ints  # (K, M) values that may be anything
    failed_pulls: Ints  # (K,) pulls that lack any value
    means: Floats  # (K, M), in the metrics' units
    mean_front: Bools  # (K,): the front that a comparison of means would have called
    profile: Profile | None = None
    needed: Needed | None = None
    if_cleaner: tuple[IfCleaner, ...] = ()  # where arms are open: the first ε that says more, and that which says all
    kind: Any = None  # an empty frame of the kind that came in

    @classmethod
    def of(cls, given: AnyAnswer, pulls: Ints, codes: Ints, decided_by: Ints) -> LogDetails | None:
        """Return the details of JSON that was checked; None if it has none."""
        log, arms = given.log, list(given.verdicts)
        if log is None:
            return None
        return cls(
            failed=table_of(log.failed, arms, given.names, 0.0).astype(np.int64),
            failed_pulls=np.array([log.failed_pulls.get(arm, 0) for arm in arms], np.int64),
            means=table_of(log.means, arms, given.names),
            mean_front=np.isin(np.array(arms, object), np.array(log.mean_set, object)),
            profile=Profile.of(log, arms),
            needed=Needed.of(log, arms, pulls, decided_by),
            if_cleaner=tuple(IfCleaner.of(each, arms, codes == Verdict.EXCLUDED) for each in log.if_cleaner),
        )

    def entries(self, arms: Sequence[str], objectives: Sequence[str]) -> dict[str, Any]:
        """Return what JSON has of it; what there is for each arm as `ByArm`."""
        profile, needed = self.profile, self.needed
        front = None if profile is None or np.isnan(profile.front) else float(profile.front)
        failing, lacking = (np.flatnonzero(each).tolist() for each in (self.failed.any(axis=1), self.failed_pulls))
        rows = ((arms[i], dict(zip(objectives, self.failed[i].tolist(), strict=True))) for i in failing)
        return {
            "means": TableByArm(arms, objectives, self.means),
            "mean_set": [arms[i] for i in np.flatnonzero(self.mean_front).tolist()],
            "failed": ByArm(rows),
            "failed_pulls": ByArm((arms[i], int(self.failed_pulls[i])) for i in lacking),
            "holds_up_to": None if profile is None else ByArm(profile.holds_up_to(arms).items()),
            "front_changes_at": front,
            "profile": None if profile is None else profile.to_dict(),
            "more_pulls": ByArm(() if needed is None else needed.more_pulls(arms).items()),
            "more_pulls_of_rival": ByArm(() if needed is None else needed.more_pulls_of_rival(arms).items()),
            "if_cleaner": [each.to_dict(arms) for each in self.if_cleaner],
        }


@dataclass(frozen=True, eq=False)
class StudyDetails:
    """The state of a study at a moment: what failed, what is under way, how far it is to the end, and its budgets."""

    name: str = ""
    failures: dict[str, Counter[str]] = field(default_factory=dict)  # by arm, then by reason
    said: dict[str, str] = field(default_factory=dict)  # by arm, what the last pull that failed had to say, if anything
    reachable: Certificate | None = None  # in the objectives' units; what further pulls could bring at best
    pulls_left: int | None = None  # by the forecast
    pulls_left_range: tuple[int, int] | None = None  # between how many it will likely be
    cost_left: float | None = None  # of these pulls, where they have costs: what was spent is in the answer
    cost_left_range: tuple[float, float] | None = None
    max_pulls: int | None = None  # the budgets
    max_cost: float | None = None
    max_time: float | None = None
    seconds: float = 0.0  # since the run began
    pulls_a_second: float | None = None
    under_way: int = 0  # pulls
    side_by_side: bool = False  # whether pulls were measured several at a time
    preparing: tuple[str, ...] = ()  # arms

    @classmethod
    def of(cls, given: StudyEntries | None) -> StudyDetails | None:
        """Return the state of JSON that was checked; None if there is none."""
        if given is None:
            return None
        failures = {arm: Counter(reasons) for arm, reasons in given.failures.items()}
        return cls(**{**dict(given), "failures": failures})

    def entries(self) -> dict[str, Any]:
        """Return what JSON has of it; what there is for each arm as `ByArm`."""
        told = {name: each for name, each in vars(self).items() if name not in ("said", "reachable", "preparing")}
        ranges = {name: each if each is None else list(each) for name, each in told.items() if name.endswith("_range")}
        failures = ByArm((arm, dict(reasons)) for arm, reasons in self.failures.items())
        return told | ranges | {"failures": failures, "seconds": round(self.seconds, 3)}

    @property
    def seconds_left_range(self) -> tuple[float, float] | None:
        """Between how many seconds it will likely take, at the present rate."""
        pulls, rate = self.pulls_left_range, self.pulls_a_second
        return None if pulls is None or not rate else (pulls[0] / rate, pulls[1] / rate)
