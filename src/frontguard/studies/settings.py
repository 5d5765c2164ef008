"""What a study is about, as a text that its storage keeps; what of it may change when it is taken up again.

The text may come from a stranger: whatever it says is checked when it is read, as what a caller gives is.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, TypeVar

from frontguard._common.checks import checked_count, real_number
from frontguard._common.typing import Floats
from frontguard._common.written import checked_confidence, checked_goal
from frontguard.errors import BadArgument, BadInput
from frontguard.evidence.boxes import first_bounded
from frontguard.limits import Columns, Gate, Limit, columns_for, parse_limits
from frontguard.objectives import Objective, parse_objectives, tolerances
from frontguard.phrases import did_you_mean, shortened, shown
from frontguard.policies import Certified
from frontguard.policies.polish import POLISH
from frontguard.results import ArmParts
from frontguard.studies.costs import Cost
from frontguard.studies.measurement import checked_cluster
from frontguard.theory.spread import Gaussian, LinearAroundMedian, SpreadBound, Subgaussian, Uniform
from frontguard.theory.threats import Threat, threat_named

Kind = TypeVar("Kind")

FORMAT = 1

MOST_OBJECTIVES = 1000
"""More than any study has; their intervals are made of tables, one for each."""

MOST_ITEMS = 1_000_000
"""Of a list. Where there are more, they may as well be endless."""

MOST_CELLS = 10_000_000
"""Arms times objectives of a study at most: some gigabytes."""


@dataclass(frozen=True)
class Budget:
    """When to stop without a certificate: pulls of all arms together, and of each arm; and what they may cost."""

    max_pulls: int | None = None
    max_pulls_per_arm: int | None = None
    max_cost: float | None = None

    def __post_init__(self) -> None:
        """Refuse budgets that are none."""
        for name in ("max_pulls", "max_pulls_per_arm"):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
                raise BadInput(f"budget: {name} must be a whole number from 1; got {value!r}")
        if self.max_cost is not None and not real_number(self.max_cost, "budget: max_cost") > 0.0:
            raise BadInput(f"budget: max_cost must be above 0; got {self.max_cost!r}")


@dataclass(frozen=True)
class Settings:
    """Arms, objectives, threat and goal of a study. `about` is for whoever drives it: its commands, say."""

    arms: tuple[str, ...]
    objectives: tuple[Objective, ...]
    threat: Threat
    confidence: float = 0.95
    coverage: tuple[float, ...] | None = None  # inner values; as the tolerances unless given
    spread: SpreadBound | None = None
    seed: int = 0
    budget: Budget = field(default_factory=Budget)
    about: dict[str, Any] = field(default_factory=dict)
    reopened_after: int = 0  # plans up to which a stop has been overruled by a change of settings
    limits: tuple[Limit, ...] = ()
    goal: str = "list"  # or "front": see `Certified`
    rates: tuple[str, ...] = ()  # metrics whose first values were true or false, so that their rate counts
    baseline: str | None = None  # of a gate: the arm that the others are compared with
    paired: bool = False  # whether pulls of the same repeat are of the same item, seed or block
    items: int = 0  # of the list that these are drawn from; 0 where there is none
    cost: Cost | None = None  # of a pull, where they are not all alike
    polish: bool = False  # whether to go on after the certificate until estimates are steady
    independent: bool = False  # whether measurements of different arms do not depend on each other
    foreseen: bool = True  # whether independent arms have the tolerances that the study began with
    columns: Columns = field(init=False, repr=False, compare=False)  # what a pull measures, and what has a box

    def policy(self) -> Certified:
        """The policy that decides, without any observations."""
        optional: dict[str, Any] = {} if self.coverage is None else {"coverage": self.coverage}
        return Certified.for_objectives(
            len(self.arms),
            self.objectives,
            threat=self.threat,
            delta=round(1.0 - self.confidence, 12),
            spread=self.spread,
            polish=POLISH if self.polish else 0.0,
            max_pulls_per_arm=self.budget.max_pulls_per_arm,
            limits=self.limits,
            goal=self.goal,
            baseline=None if self.baseline is None else self.arms.index(self.baseline),
            paired=self.paired,
            items=self.items,
            independent=self.independent,
            foreseen=self.foreseen,
            **optional,
        )

    def never_within(self) -> tuple[Gate, ...]:
        """The limits of which no number of pulls could tell that an arm is within."""
        ends = first_bounded(self.policy().rule) if self.limits else []
        return tuple(gate for gate in self.columns.gates if ends[2 * gate.column] is None)

    @property
    def parts(self) -> ArmParts | None:
        """What the arms are made of, if whoever drives the study said so."""
        columns = self.about.get("arm_columns")
        return ArmParts.of(columns, self.about["arm_parts"]) if columns else None

    def to_json(self) -> str:
        """The text that is stored."""
        spread = None if self.spread is None else _spread_to_dict(self.spread)
        threat = {"threat": self.threat.name, "contamination": self.threat.eps}
        settings = {"format": FORMAT, **vars(self), **threat, "spread": spread}
        del settings["columns"]  # which follow from the others
        settings = {key: value for key, value in settings.items() if key not in _LATER or value != _LATER[key]}
        return json.dumps(settings, ensure_ascii=False, default=asdict)

    @classmethod
    def from_json(cls, text: str, study: str = "") -> Settings:
        """Read what `to_json` wrote, of the study of this name. Refuses what it cannot have written.

        >>> Settings.from_json('["a", "b"]', "flags")
        Traceback (most recent call last):
        ...
        frontguard.errors.BadInput: settings of study 'flags': wanted an object with keys; got ['a', 'b']
        """
        where = f"settings of study {shown(study)}"
        try:
            read = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise BadInput(f"{where}: wanted JSON; got {shown(text, 60)} ({shortened(str(error), 100)})") from None
        if not isinstance(read, dict):
            raise BadInput(f"{where}: wanted an object with keys; got {shown(read, 60)}")
        written_in = read.pop("format", None)
        if written_in != FORMAT:
            raise BadInput(
                f"{where}: they are of format {shown(written_in, 60)}; this version of frontguard reads {FORMAT}: "
                "update frontguard"
            )
        read = {key: list(value) if isinstance(value, tuple) else value for key, value in _LATER.items()} | read
        missing = [key for key in _READERS if key not in read]
        if missing:
            raise BadInput(f"{where}: wanted also {', '.join(missing)}")
        for key in read:
            if key not in _READERS:
                raise BadInput(f"{where}: {shown(key, 60)} is none of {', '.join(_READERS)}")
        found = {}
        for key, reader in _READERS.items():
            try:
                found[key] = reader(read[key])
            except (ValueError, TypeError, OverflowError) as error:
                raise BadInput(f"{where}, {key}: {shortened(str(error), 300)}") from None
        try:
            return cls(**found | {"threat": threat_named(found["threat"], found.pop("contamination"))})
        except BadInput as error:
            raise BadInput(f"{where}: {error}") from None

    def __post_init__(self) -> None:
        """Refuse what no memory holds."""
        object.__setattr__(self, "columns", columns_for(self.objectives, self.limits))
        arms, objectives = len(self.arms), len(self.objectives)
        if objectives + len(self.limits) > MOST_OBJECTIVES or arms * len(self.columns.boxed) > MOST_CELLS:
            raise BadInput(
                f"a study has at most {MOST_OBJECTIVES:,} objectives and {MOST_CELLS:,} pairs of an arm and an "
                f"objective; got {arms:,} arms and {objectives:,} objectives"
                + (f" with {len(self.limits):,} limits" if self.limits else "")
            )
        if self.coverage is not None and len(self.coverage) != objectives:
            raise BadArgument(
                "coverage", must=f"be one number for each of {objectives} objectives", got=f"{len(self.coverage)}"
            )
        if self.independent and self.paired:
            raise BadArgument("independent", "arms on the same items depend on them; leave one of them away")
        if self.items and (not self.paired or self.items > MOST_ITEMS):
            raise BadArgument("items", must=f"be at most {MOST_ITEMS:,}, of a study of pairs", got=f"{self.items:,}")
        self._check_cost()
        _check_parts(self.about, arms)
        for name in self.rates:
            if not any(each.name == name and each.takes_booleans for each in self.columns.metrics):
                raise BadInput(f"rates must be metrics whose mean counts, between bounds; got {shown(name, 60)}")
        if self.baseline is not None:
            if self.baseline not in self.arms:
                near = did_you_mean(self.baseline, self.arms)
                raise BadArgument("baseline", must=f"be one of the arms{near}", got=shown(self.baseline, 120))
            if arms < 2:
                raise BadArgument(
                    "baseline", f"wanted another arm to compare with {shown(self.baseline, 120)}; got none"
                )

    def _check_cost(self) -> None:
        """Refuse costs that are not those of the arms, and a budget of what nobody counts."""
        if self.cost is None:
            if self.budget.max_cost is not None:
                raise BadArgument(
                    "max_cost", "say what pulls cost, cost='seconds' or a number for each arm; got no cost"
                )
            return
        if self.cost.amounts and len(self.cost.amounts) != len(self.arms):
            raise BadArgument(
                "cost", must=f"be a number for each of {len(self.arms)} arms", got=f"{len(self.cost.amounts)}"
            )

    @property
    def stored_values(self) -> int:
        """How many values a told pull has: one for each metric and, where pulls say what they cost, that."""
        return len(self.columns.metrics) + (self.cost is not None and self.cost.metric is not None)

    def costs_of(self, values: Floats) -> Floats | None:
        """What told pulls with these values (n, stored) cost; None where they do not say so."""
        return values[:, -1] if self.cost is not None and self.cost.metric is not None else None

    def checked_cluster(self, cluster: object, pull: int) -> str:
        """The cluster of a pull, empty for one of its own; refused where what the arms are taken for rules it out."""
        found = checked_cluster(cluster, pull)
        if found and self.paired:
            raise BadInput(
                f"pull {pull}: a study of pairs has the pulls of a repeat together, and no clusters beside; got the "
                f"cluster {found!r}"
            )
        if found and self.independent:
            raise BadInput(
                f"pull {pull}: the study takes its arms as independent of each other, which pulls of different arms in "
                f"one cluster are not; got the cluster {found!r}"
            )
        return found

    def with_rates(self, names: Iterable[str]) -> Settings:
        """These settings with the rates of some metrics in place of medians that nobody asked for.

        >>> from frontguard import Oblivious
        >>> found = Settings(("a", "b"), (Objective("solved"),), Oblivious(0.0)).with_rates(["solved"])
        >>> found.objectives[0].statistic_word, found.objectives[0].bounds, found.rates
        ('mean', (0.0, 1.0), ('solved',))
        """
        wanted = set(names)
        own = {each.name for each in self.objectives}
        objectives = tuple(
            replace(each, statistic="mean", bounds=(0.0, 1.0)) if each.by_default and each.name in wanted else each
            for each in self.objectives
        )
        limits = tuple(
            replace(each, statistic="mean", bounds=(0.0, 1.0))
            if each.statistic is None and each.metric in wanted - own
            else each
            for each in self.limits
        )
        metrics = columns_for(objectives, limits).metrics
        taken = (each.name for each in metrics if each.name in wanted.union(self.rates) and each.takes_booleans)
        return replace(self, objectives=objectives, limits=limits, rates=tuple(taken))

    def taken_up(self, wanted: Settings, plans: int) -> Settings:
        """These settings, changed to the wanted ones where that is sound once pulls were made.

        The goal (list or front, tolerances, coverage, how far limits are set) and the budget may change: boxes do not
        depend on them, and what does is no longer looked at (`foreseen`).
        Arms, what is measured, the threat and the confidence may not: chosen after the fact, they would make the
        certificate worthless.
        """
        wanted = wanted.with_rates(self.rates)
        for what, ours, theirs in (
            ("arms", self.arms, wanted.arms),
            ("objectives", _measured(self.objectives), _measured(wanted.objectives)),
            ("limits", _limited(self), _limited(wanted)),
            ("threat", self.threat, wanted.threat),
            ("confidence", self.confidence, wanted.confidence),
            ("spread", self.spread, wanted.spread),
            ("seed", self.seed, wanted.seed),
            ("baseline", self.baseline, wanted.baseline),
            ("pairs", self.paired, wanted.paired),
            ("items", self.items, wanted.items),
            ("costs", self.cost, wanted.cost),
            ("independence", self.independent, wanted.independent),
            ("identity", self.about.get("identity"), wanted.about.get("identity")),
        ):
            if ours != theirs:
                raise BadInput(
                    f"the study was begun with other {what}: {_difference(ours, theirs)}. Only goal, "
                    f"tolerances{', the numbers of limits' if self.limits else ''} and budget may change while it goes "
                    "on; give it another name or another storage to begin anew"
                )
        pairs = zip(self.objectives, wanted.objectives, strict=True)
        objectives = tuple(_as_said(ours, theirs) for ours, theirs in pairs)
        kept = bool((tolerances(objectives) == tolerances(self.objectives)).all())
        foreseen = self.foreseen and (kept or not self.independent)
        changed = replace(wanted, objectives=objectives, reopened_after=self.reopened_after, foreseen=foreseen)
        if changed == self:
            return self
        return replace(changed, reopened_after=plans)


def _as_said(ours: Objective, theirs: Objective) -> Objective:
    """What is wanted; a median that was meant when the study began is still meant where nothing is said of it."""
    return replace(theirs, quantile=ours.quantile) if theirs.by_default and not ours.by_default else theirs


def _measured(objectives: Iterable[Objective]) -> list[tuple[object, ...]]:
    return [each.measured for each in objectives]


def _limited(settings: Settings) -> list[tuple[object, ...]]:
    """What is measured for limits and for no objective."""
    return _measured(settings.columns.boxed[len(settings.objectives) :])


def _difference(ours: Any, theirs: Any) -> str:
    """The first place where two settings differ, shortly."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in [*ours, *theirs]:
            if ours.get(key) != theirs.get(key):
                return f"{key}: {_difference(ours.get(key), theirs.get(key))}"
    if isinstance(ours, (list, tuple)) and isinstance(theirs, (list, tuple)):
        for position, (one, other) in enumerate(zip(ours, theirs, strict=False)):
            if one != other:
                return f"number {position + 1}: {_difference(one, other)}"
        return f"{len(ours)} then, {len(theirs)} now"
    return f"{ours!r} then, {theirs!r} now"


_SPREADS: dict[str, type[SpreadBound]] = {
    each.__name__: each for each in (Subgaussian, Gaussian, LinearAroundMedian, Uniform)
}


def _spread_to_dict(spread: SpreadBound) -> dict[str, Any]:
    name = type(spread).__name__
    if _SPREADS.get(name) is not type(spread):
        raise BadInput(f"spread must be one of {', '.join(_SPREADS)}, which a study can store; got {name}")
    return {"name": name, **{each.name: getattr(spread, each.name) for each in fields(spread)}}  # type: ignore[arg-type]


# What a caller gives, and what a text says ----------------------------------------------------------------------------


def checked_text(value: object, what: str) -> str:
    """A text that every storage takes, and that says something."""
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        raise BadArgument(what, must="be a text that is not blank", got=shown(value, 120))
    if not value.isascii() and any("\ud800" <= letter <= "\udfff" for letter in value):
        raise BadArgument(
            what, must="be a text that has a UTF-8 form, without halves of surrogate pairs", got=shown(value, 120)
        )
    return value


def named_arms(arms: Sequence[str] | int) -> tuple[str, ...]:
    """Names of arms as they are given: a list of them, or how many there are, which are called by their numbers."""
    if isinstance(arms, int) and not isinstance(arms, bool):
        return tuple(str(i) for i in range(checked_count(arms, "arms")))
    if isinstance(arms, (str, bytes)) or not isinstance(arms, Sequence):
        raise BadArgument("arms", must="be a list of names, or how many there are", got=repr(arms))
    return checked_arms(arms)


def checked_arms(names: Iterable[object]) -> tuple[str, ...]:
    """Names of arms, one at least, all different."""
    arms = tuple(checked_text(name, "the name of an arm") for name in names)
    if not arms:
        raise BadArgument("arms", must="be one at least", got="none")
    twice = [name for name, count in Counter(arms).items() if count > 1]
    if twice:
        raise BadArgument("arms", must="have different names", got=f"{shown(twice[0], 120)} more than once")
    return arms


def checked_objectives(objectives: Iterable[Objective | str | tuple[str, str]]) -> tuple[Objective, ...]:
    """Objectives whose names every storage takes."""
    parsed = parse_objectives(objectives)
    for objective in parsed:
        checked_text(objective.name, "the name of an objective")
    return parsed


def checked_limits(limits: Iterable[Limit | str]) -> tuple[Limit, ...]:
    """Limits of metrics whose names every storage takes."""
    parsed = parse_limits(limits)
    for limit in parsed:
        checked_text(limit.metric, "the metric of a limit")
    return parsed


def checked_seed(seed: object) -> int:
    """A seed: a whole number from 0."""
    return _whole_from_0(seed, "seed")


def _whole_from_0(value: object, what: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise BadArgument(what, must="be a whole number from 0", got=shown(value, 120))
    return value


def _of_kind(kind: type[Kind], value: object, wanted: str) -> Kind:
    if not isinstance(value, kind):
        raise BadInput(f"wanted {wanted}; got {shown(value, 120)}")
    return value


def _check_parts(about: dict[str, Any], arms: int) -> None:
    """Refuse what is said of the parts of arms unless it is a text in each of some columns, for each arm."""
    columns, rows = about.get("arm_columns", []), about.get("arm_parts", [])
    right = isinstance(columns, list) and isinstance(rows, list) and len(rows) == (arms if columns else 0)
    if not right or not all(_are_texts(row, len(columns)) for row in [columns, *rows]):
        raise BadInput(f"wanted the parts of {arms:,} arms, each a list of as many texts as there are columns")


def _are_texts(row: object, count: int) -> bool:
    return isinstance(row, list) and len(row) == count and all(isinstance(text, str) for text in row)


def _known_keys(value: object, allowed: Iterable[str]) -> dict[str, Any]:
    """An object that has these keys at most."""
    wanted = list(allowed)
    read = _of_kind(dict, value, f"an object with {', '.join(wanted)}")
    for key in read:
        if key not in wanted:
            raise BadInput(f"{shown(key, 60)} is none of {', '.join(wanted)}")
    return read


def _read_objectives(value: object) -> tuple[Objective, ...]:
    keys = [each.name for each in fields(Objective)]
    return checked_objectives(Objective(**_known_keys(each, keys)) for each in _of_kind(list, value, "a list"))


def _read_limits(value: object) -> tuple[Limit, ...]:
    keys = [each.name for each in fields(Limit)]
    return checked_limits(Limit(**_known_keys(each, keys)) for each in _of_kind(list, value, "a list"))


def _read_stored_cost(value: object) -> Cost:
    read = _known_keys(value, [each.name for each in fields(Cost)])
    return Cost(**read | {"amounts": tuple(_of_kind(list, read.get("amounts", []), "a list of numbers"))})


def _read_coverage(value: object) -> tuple[float, ...] | None:
    if value is None:
        return None
    return tuple(real_number(each, "coverage") for each in _of_kind(list, value, "a list of numbers"))


def _read_spread(value: object) -> SpreadBound | None:
    if value is None:
        return None
    name = _of_kind(dict, value, "an object with a name").get("name")
    bound = _SPREADS.get(name) if isinstance(name, str) else None
    if bound is None:
        raise BadInput(f"name must be one of {', '.join(_SPREADS)}; got {shown(name, 60)}")
    keys = [each.name for each in fields(bound)]  # type: ignore[arg-type]
    read = _known_keys(value, ["name", *keys])
    return bound(**{key: read[key] for key in keys if key in read})


_READERS: dict[str, Callable[[Any], Any]] = {
    "arms": lambda value: checked_arms(_of_kind(list, value, "a list of names")),
    "objectives": _read_objectives,
    "threat": lambda value: _of_kind(str, value, "the name of a threat model"),
    "contamination": lambda value: real_number(value, "contamination"),
    "confidence": checked_confidence,
    "coverage": _read_coverage,
    "spread": _read_spread,
    "seed": checked_seed,
    "budget": lambda value: Budget(**_known_keys(value, [each.name for each in fields(Budget)])),
    "about": lambda value: _of_kind(dict, value, "an object"),
    "reopened_after": lambda value: _whole_from_0(value, "reopened_after"),
    "limits": _read_limits,
    "goal": checked_goal,
    "rates": lambda value: tuple(checked_text(each, "a rate") for each in _of_kind(list, value, "a list of names")),
    "baseline": lambda value: None if value is None else checked_text(value, "baseline"),
    "paired": lambda value: _of_kind(bool, value, "true or false"),
    "items": lambda value: _whole_from_0(value, "items"),
    "polish": lambda value: _of_kind(bool, value, "true or false"),
    "cost": lambda value: None if value is None else _read_stored_cost(value),
    "independent": lambda value: _of_kind(bool, value, "true or false"),
    "foreseen": lambda value: _of_kind(bool, value, "true or false"),
}
"""What reads each key of the stored text."""

_LATER: dict[str, Any] = {
    "limits": (),
    "goal": "front",
    "rates": (),
    "baseline": None,
    "paired": False,
    "items": 0,
    "cost": None,
    "polish": False,
    "independent": False,
    "foreseen": True,
}
"""What settings may leave out, and what is meant then: as it was before it could be said."""
