"""Results and runs of studies as documents, there and back."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import numpy as np
from pydantic import Field, ValidationInfo, model_validator

from frontguard._common.typing import Floats
from frontguard.documents.base import (
    FARTHEST,
    Amount,
    Count,
    Document,
    Notices,
    Number,
    Origin,
    Share,
    Text,
    Truth,
    wrong,
)
from frontguard.documents.pieces import entries
from frontguard.limits import Limit, columns_for
from frontguard.objectives import Objective, parse_objectives
from frontguard.results import ArmParts, ByArm, Certificate, CostSoFar, Guess, Inner, Kept, Result
from frontguard.studies.overview import Snapshot
from frontguard.theory.threats import threat_named
from frontguard.verdicts import Keeping, Verdict

if TYPE_CHECKING:
    from frontguard.commands.run import Ended
    from frontguard.comparisons.picks import Beside


Word = Literal["in", "undecided", "covered", "set aside", "out"]
Status = Literal["certified", "budget", "unreachable", "running"]
Amounts = Amount | None | list[Amount | None]
Ends = Annotated[list[Number | None], Field(min_length=2, max_length=2)]
Values = dict[Text, dict[Text, Number | None]]


class CertificateDocument(Document):
    """What a result guarantees; null where nothing is bounded."""

    accuracy: Amounts
    """By how much a returned arm may be beaten at once: one number, or one for each objective."""
    coverage: Amounts
    """By how much a returned arm may be worse than one of the true front."""
    confidence: Annotated[Number, Field(gt=0.0, lt=1.0)] | None
    """The probability of it all; null where nothing is promised, and then `void` says why."""
    threat: Text
    contamination: Share
    void: Literal["", "running", "contamination", "bias"] = ""
    """Why there is no probability: the policy promises only once it has stopped, needs clean measurements, or has a
    bias that was set by hand."""
    arms: Count | None = None
    """Of how many arms it speaks."""
    aside: list[Text] = []
    """Which arms were set aside, and are not spoken of."""
    limits: list[Text] = []
    """To which the arms must keep of which it speaks."""

    @model_validator(mode="after")
    def _known_threat(self) -> Self:
        if (self.confidence is None) != bool(self.void):
            raise wrong(("void",), "a reason where the confidence is null, and only there", self.void)
        if self.threat not in ("", "none"):
            threat_named(self.threat, self.contamination)
        return self

    def certificate(self, metrics: Sequence[Objective]) -> Certificate:
        """The certificate, with a number for each objective."""

        def each(given: Any) -> tuple[float, ...]:
            amounts = given if isinstance(given, list) else [given] * len(metrics)
            return tuple(math.inf if amount is None else amount for amount in amounts)

        relative = tuple(metric.relative for metric in metrics)
        return Certificate(
            accuracy=each(self.accuracy),
            coverage=each(self.coverage),
            confidence=self.confidence,
            threat=self.threat,
            contamination=self.contamination,
            relative=relative,
            void=self.void,
            arms=self.arms,
            aside=tuple(self.aside),
            limits=tuple(self.limits),
        )


class LeastPulls(Document):
    """Pulls of an arm, none of which fails, without which nothing can be said; null where no number would do."""

    first: Count | None = None
    """Before any end of its intervals is bounded."""
    whole: Count | None = None
    """Before all of them are."""


class KeepingDocument(Document):
    """How an arm stands to a limit: whether it is certainly within or beyond, and what is known of what is limited."""

    limit: Text = ""
    keeping: Literal["within", "open", "beyond"]
    estimate: Number | None = None
    interval: Ends


class ExcellingDocument(Document):
    """An objective in which a returned arm is the best of all (within the limits), certainly or by the estimates."""

    objective: Text
    certain: bool


class ReplacementDocument(Document):
    """The returned arm that does for one that is not returned, and what is certain of the two.

    By objective, in its units, or as shares where its tolerance is one.
    """

    by: Text
    costs: dict[Text, Amount]
    """By how much it may be worse at most; 0 where it is certainly as good."""
    gains: dict[Text, Amount]
    """By how much it is better at least; 0 where that is not certain."""


class SpanDocument(Document):
    """An estimate, and the ends between which the true value certainly lies; null where that is not known."""

    estimate: Number | None = None
    low: Number | None = None
    high: Number | None = None


class EffectDocument(Document):
    """An arm against the baseline in one metric, in its units."""

    difference: SpanDocument
    """Arm − baseline."""
    ratio: SpanDocument | None = None
    """Arm / baseline; null where either may be negative, or the baseline 0."""
    contrast: Literal["better", "no worse", "alike", "no better", "worse", "open"]
    """What is certain, where a difference up to the metric's tolerance is none."""


class PickDocument(Document):
    """The arm that --pick chooses, how sure that is, and what it gives up."""

    arm: Text | None
    """Null where no arm certainly keeps to the limits."""
    rule: Literal["weights", "knee"]
    weights: dict[Text, Number] | None = None
    """What a unit of each metric is worth or, where its tolerance is a percentage, one per cent of it."""
    limits: list[Text] = []
    certain: Truth
    """Whether certainly no other arm has a higher score."""
    among: list[Text] = []
    """Among which arms the one with the highest score certainly is."""
    behind: Number | None = None
    """By how much the chosen one may be behind that one, in units of the score."""
    score: SpanDocument
    others: dict[Text, dict[Text, EffectDocument]] = {}
    """Every other returned arm against the chosen one, by metric."""
    confidence: Number | None = None


class HypervolumeDocument(Document):
    """The volume that the front dominates beyond a reference point, in units; null where it is not bounded or known."""

    reference: dict[Text, Number]
    certain: Number | None = None
    """What it is at least: that of the lower ends of the returned arms' boxes."""
    estimate: Number | None = None
    """That of the returned arms' estimates."""
    possible: Number | None = None
    """What it is at most: that of the upper ends of all arms' boxes."""


class ArmCostDocument(Document):
    """What the pulls of an arm have cost, and what a further one is taken to cost; null where that is not known."""

    spent: Amount
    a_pull: Amount | None = None


class CostDocument(Document):
    """What pulls have cost so far. It steers whom to pull, and is no part of the evidence."""

    unit: Text
    metric: Text | None = None
    """What pulls report as their cost; null where arms have a number each."""
    spent: Amount
    by_arm: dict[Text, ArmCostDocument] = {}


class ResultDocument(Document):
    """What `Result.to_dict()` gives. Intervals are in the metrics' units; an end that is not known is null."""

    policy: Text = "certified"
    status: Status
    pareto_set: list[Text] = []
    """The arms that are in."""
    verdicts: dict[Text, Word]
    certificate: CertificateDocument
    pulls: Count = 0
    intervals: dict[Text, dict[Text, Ends]]
    """By arm, then by objective: [low, high]."""
    arm_columns: list[Text] = []
    """The columns of a log, or the parameters of a grid, that name the arms together; none where a name is a name."""
    arm_parts: dict[Text, list[Text]] = {}
    """By arm: its value of each of these, as it is in the data."""
    warnings: list[Text] = []
    """What has to be said of the answer, in sentences."""
    notices: Notices = ()
    """What happened, as records."""
    pulls_per_arm: dict[Text, Count] = {}
    decided_by: dict[Text, Text] = {}
    """The arm that put an arm out, or that keeps it open."""
    differences: dict[Text, dict[Text, Ends]] = {}
    """Where arms were compared on the same items: by arm and objective, between what the arm less the one that decides
    it lies, [low, high] in the metric's units."""
    aim: Literal["front", "list"] = "front"
    """What is returned: all arms that none beats, or as few as are enough."""
    best_at: dict[Text, list[ExcellingDocument]] = {}
    """By returned arm: what it is best at."""
    replaced_by: dict[Text, ReplacementDocument] = {}
    """By arm that is not returned: which returned one does for it."""
    best_guess: list[Text] | None = None
    """Where no arm is in: those that would be if the estimates were exact. Nothing is promised of it."""
    least_pulls: LeastPulls | None = None
    """Where no arm is in: the pulls that an arm needs at least."""
    hypervolume: HypervolumeDocument | None = None
    """What the front is worth; null for many arms."""
    limits: list[Limit] = []
    """What arms must keep to: the front is that of the arms within."""
    keeping: dict[Text, list[KeepingDocument]] = {}
    """Where there are limits: by arm, how it stands to each of them."""
    cost: CostDocument | None = None
    """Where pulls have costs: what they have cost so far."""

    def entry(self, name: str) -> Any:
        """An entry that only some documents have; None if this one does not tell it."""
        return getattr(self, name, None)

    @property
    def directed(self) -> bool:
        """Whether it is known which direction of each objective is better."""
        return bool(self.entry("objectives"))

    @property
    def metrics(self) -> tuple[Objective, ...]:
        """The objectives; where there are only names, maximised ones."""
        names = next(iter(self.intervals.values()), ())
        return parse_objectives(self.entry("objectives") or [Objective(name) for name in names])

    @property
    def centres(self) -> Values:
        """The estimates by arm and objective; none if they are not told."""
        return self.entry("estimates") or {}

    # What entries say of each other, where JSON is read ---------------------------------------------------------------

    @model_validator(mode="after")
    def _agrees(self, info: ValidationInfo) -> Self:
        if info.context is not None:
            self.check()
        return self

    def check(self) -> None:
        """Refuse entries that do not agree with each other."""
        if not self.verdicts:
            raise wrong(("verdicts",), "a verdict for one arm at least", {})
        if not self.directed and not next(iter(self.intervals.values()), None):
            raise wrong(("intervals",), "an interval in one objective at least", self.intervals)
        metrics = self.metrics
        self.check_values(metrics, intervals=self.intervals, estimates=self.centres)
        self.check_arms(pulls_per_arm=self.pulls_per_arm, decided_by=self.decided_by, differences=self.differences)
        self.check_arms(best_at=self.best_at, replaced_by=self.replaced_by)
        self.check_named("replaced_by", ((arm, each.by) for arm, each in self.replaced_by.items()))
        self.check_arms(cost={} if self.cost is None else self.cost.by_arm)
        self.check_named("decided_by", self.decided_by.items())
        self.check_named("best_guess", enumerate(self.best_guess or ()))
        self.check_parts()
        self.check_keeping()
        for name, given in (("accuracy", self.certificate.accuracy), ("coverage", self.certificate.coverage)):
            if isinstance(given, list) and len(given) != len(metrics):
                raise wrong(("certificate", name), f"a number for each of {len(metrics)} objectives", given)

    def check_parts(self) -> None:
        """Refuse parts of names that are not one for each column, of every arm."""
        wanted = f"{len(self.arm_columns)} texts, one for each of arm_columns, for every arm"
        for arm in self.verdicts if self.arm_columns or self.arm_parts else ():
            if len(self.arm_parts.get(arm, ())) != len(self.arm_columns):
                raise wrong(("arm_parts", arm), wanted, self.arm_parts.get(arm))
        self.check_arms(arm_parts=self.arm_parts)

    def check_keeping(self) -> None:
        """Refuse what is said of limits unless it is one thing for each of them, of every arm."""
        wanted = f"{len(self.limits)} entries, one for each of limits, for every arm"
        for arm in self.verdicts if self.limits or self.keeping else ():
            if len(self.keeping.get(arm, ())) != len(self.limits):
                raise wrong(("keeping", arm), wanted, arm)
        self.check_arms(keeping=self.keeping)

    def check_arms(self, **by_arm: Mapping[str, Any]) -> None:
        """Refuse entries by arm that have one without a verdict."""
        for entry, given in by_arm.items():
            for arm in given:
                if arm not in self.verdicts:
                    raise wrong((entry,), "the names of arms that have a verdict", arm)

    def check_named(self, entry: str, named: Iterable[tuple[str | int, str]]) -> None:
        """Refuse an entry that names, at some place, an arm without a verdict."""
        for place, arm in named:
            if arm not in self.verdicts:
                raise wrong((entry, place), "the name of an arm that has a verdict", arm)

    def check_values(self, metrics: Sequence[Objective], **by_arm: Mapping[str, Mapping[str, Any]]) -> None:
        """Refuse entries by arm and objective that have unknown ones, or values that no such objective has."""
        self.check_arms(**by_arm)
        positive = {metric.name: metric.relative for metric in metrics}
        for entry, given in by_arm.items():
            for arm, row in given.items():
                for name, value in row.items():
                    if name not in positive:
                        raise wrong((entry, arm), f"the objectives {', '.join(positive)[:200]}", name)
                    numbers = [each for each in (value if isinstance(value, list) else [value]) if each is not None]
                    if any(abs(each) > FARTHEST for each in numbers):
                        raise wrong((entry, arm, name), f"numbers from {-FARTHEST:g} to {FARTHEST:g}", value)
                    # The lower end of an interval may be 0, where nothing is known.
                    upper = value[1] if isinstance(value, list) else value
                    if positive[name] and upper is not None and upper <= 0.0:
                        share = f"positive values of {name!r}, whose tolerance is a percentage"
                        raise wrong((entry, arm, name), share, value)

    # Back -------------------------------------------------------------------------------------------------------------

    def result(self) -> Result:
        """The result."""
        arms, metrics = list(self.verdicts), self.metrics
        names = [metric.name for metric in metrics]
        places = {arm: place for place, arm in enumerate(arms)}
        codes = {verdict.word: int(verdict) for verdict in Verdict}
        low, high = (
            values_of({arm: {name: ends[k] for name, ends in row.items()} for arm, row in self.intervals.items()},
                      arms, names, instead)
            for k, instead in ((0, -math.inf), (1, math.inf))
        )  # fmt: skip
        centre = values_of(self.centres, arms, names)
        inner = [_inward(metric, low[:, d], high[:, d], centre[:, d]) for d, metric in enumerate(metrics)]
        lower, upper, middle = (np.stack(each, axis=1) for each in zip(*inner, strict=True))
        return Result(
            policy=self.policy,
            status=self.status,
            arms=tuple(arms),
            objectives=tuple(names),
            verdict_codes=np.array([codes[word] for word in self.verdicts.values()], np.int64),
            inner=Inner(middle, lower, upper),
            pulls_per_arm=np.array([self.pulls_per_arm.get(arm, 0) for arm in arms], np.int64),
            decided_by=np.array([places.get(self.decided_by.get(arm, ""), -1) for arm in arms], np.int64),
            certificate=self.certificate.certificate(metrics),
            notices=self.notices,
            metrics=metrics,
            guess=self._guess(arms),
            parts=ArmParts.of(self.arm_columns, (self.arm_parts[arm] for arm in arms)) if self.arm_columns else None,
            limits=self._kept(arms, metrics),
            apart=self._apart(arms, metrics),
            goal=self.aim,
            cost=self._cost(arms),
        )

    def _cost(self, arms: Sequence[str]) -> CostSoFar | None:
        if self.cost is None:
            return None
        of_arms = [self.cost.by_arm.get(arm, ArmCostDocument(spent=0.0)) for arm in arms]
        pulls = [math.nan if each.a_pull is None else each.a_pull for each in of_arms]
        spent = np.array([each.spent for each in of_arms], np.float64)
        return CostSoFar(self.cost.unit, spent, np.array(pulls, np.float64), self.cost.metric)

    def _apart(self, arms: Sequence[str], metrics: tuple[Objective, ...]) -> Floats | None:
        """Upper bounds (K, 2, M) of differences, as results have them."""
        if not self.differences:
            return None
        apart = np.full((len(arms), 2, len(metrics)), np.inf)
        for i, arm in enumerate(arms):
            for d, metric in enumerate(metrics):
                low, high = self.differences.get(arm, {}).get(metric.name, (None, None))
                ends = [math.inf if low is None else -low, math.inf if high is None else high]
                apart[i, :, d] = ends if metric.minimized else ends[::-1]
        return apart

    def _kept(self, arms: Sequence[str], metrics: tuple[Objective, ...]) -> Kept | None:
        if not self.limits:
            return None
        gates = columns_for(metrics, tuple(self.limits)).gates
        words = {keeping.word: int(keeping) for keeping in Keeping}
        rows = [self.keeping[arm] for arm in arms]
        codes = np.array([[words[each.keeping] for each in row] for row in rows], np.int64)
        inner = []
        for q, gate in enumerate(gates):
            of_arms = [row[q] for row in rows]
            low, high, centre = (
                np.array([instead if each is None else each for each in numbers], np.float64)
                for numbers, instead in (
                    ([each.interval[0] for each in of_arms], -math.inf),
                    ([each.interval[1] for each in of_arms], math.inf),
                    ([each.estimate for each in of_arms], math.nan),
                )
            )
            inner.append(_inward(gate.metric, low, high, centre))
        lower, upper, middle = (np.stack(each, axis=1) for each in zip(*inner, strict=True))
        return Kept(gates, codes, Inner(middle, lower, upper))

    def _guess(self, arms: Sequence[str]) -> Guess | None:
        if self.best_guess is None:
            return None
        least = self.least_pulls or LeastPulls()
        named = set(self.best_guess)
        return Guess(np.array([arm in named for arm in arms], np.bool_), least.first, least.whole)


def values_of(
    by_arm: Mapping[str, Mapping[str, float | None]],
    arms: Sequence[str],
    names: Sequence[str],
    instead: float = math.nan,
) -> Floats:
    """Numbers (K, M) by arm and objective; `instead` where there is null or nothing."""
    table = np.full((len(arms), len(names)), instead)
    for row, arm in enumerate(arms):
        given = by_arm.get(arm, {})
        for column, name in enumerate(names):
            value = given.get(name)
            if value is not None:
                table[row, column] = value
    return table


def _inward(metric: Objective, low: Floats, high: Floats, centre: Floats) -> tuple[Floats, Floats, Floats]:
    """Ends and centre of one objective as inner values: the way back of `Objective.outward_interval`."""
    if metric.relative:  # an end at or below 0 is open there
        low = np.where(low <= 0.0, np.nan, low)
    with np.errstate(over="ignore", invalid="ignore"):
        ends = [metric.inward(low), metric.inward(high)]
    if metric.relative:
        ends[0] = np.where(np.isnan(ends[0]), np.inf if metric.minimized else -np.inf, ends[0])
    lower, upper = (ends[1], ends[0]) if metric.minimized else (ends[0], ends[1])
    return lower, upper, metric.inward(centre)


class RunDocument(ResultDocument):
    """What `frontguard run --json` prints."""

    answer: Text = ""
    """The answer in a sentence or two."""
    estimates: Values = {}
    """Estimates by arm and objective: medians, or what else counts of an objective."""
    failures: dict[Text, dict[Text, Count]] = {}
    """Failed pulls by arm and reason."""
    set_aside: list[Text] = []
    """Arms that cannot be measured: the answer is about the others."""
    goal: dict[Text, Number | Text] = {}
    """Tolerances by objective."""
    pulls_left: Count | None = None
    """Until certified, by the forecast."""
    pulls_left_range: Annotated[list[Count], Field(min_length=2, max_length=2)] | None = None
    """Between how many it will likely be: so it was four times out of five in simulated studies."""
    cost_left: Amount | None = None
    """What these pulls will cost, in the unit of the cost, where pulls have costs."""
    cost_left_range: Annotated[list[Amount], Field(min_length=2, max_length=2)] | None = None
    """Between how much it will likely be."""
    max_cost: Amount | None = None
    """The budget of what pulls may cost, in that unit."""
    seconds: Amount = 0.0
    study: Text
    storage: Text | None = None
    objectives: list[Objective] = []
    seed: Count | None = None
    spec: Text | None = None
    """The text of the spec."""
    version: Text | None = None
    command: Text | None = None
    source: Text | list[Text] | None = None
    """The file of the spec."""
    at: Text | None = None
    """When it was printed."""
    baseline: Text | None = None
    """The arm that --baseline names."""
    comparisons: dict[Text, dict[Text, EffectDocument]] = {}
    """Every other arm against it, by metric; all intervals hold at once with the certificate's confidence."""
    pick: PickDocument | None = None
    """What --pick chooses."""

    @classmethod
    def of(cls, ended: Ended, where: str, origin: Origin, beside: Beside | None = None) -> RunDocument:
        """How a run ended. The status is `running` if it was interrupted, `budget` if its time was over."""
        snapshot, result = ended.snapshot, ended.snapshot.result
        more = {
            "status": "budget" if ended.how == "time" and result.status == "running" else result.status,
            "answer": ended.answer,
            "estimates": dict(result.by_arm(result.estimates).pairs),
            "failures": snapshot.failures,
            "set_aside": sorted(snapshot.aside),
            "warnings": ended.warnings,
            "notices": ended.notices,
            "goal": {each.name: each.tolerance for each in snapshot.objectives},
            "pulls_left": snapshot.pulls_left,
            "pulls_left_range": snapshot.pulls_left_range and list(snapshot.pulls_left_range),
            "cost_left": snapshot.cost_left,
            "cost_left_range": snapshot.cost_left_range and list(snapshot.cost_left_range),
            "max_cost": snapshot.max_cost,
            "seconds": round(snapshot.seconds, 3),
            "study": snapshot.study,
            "storage": where,
            "objectives": [each.spelled_out for each in snapshot.objectives],
            **{key: dict(value.pairs) if isinstance(value, ByArm) else value for key, value in entries(beside).items()},
        }
        return cls.model_validate(result.to_dict() | more | asdict(origin))

    def check(self) -> None:
        """The failures are of arms that have a verdict, too."""
        super().check()
        self.check_arms(failures=self.failures)

    def snapshot(self) -> Snapshot:
        """The study at the end of the run."""
        return Snapshot(
            study=self.study,
            result=self.result(),
            failures={arm: Counter(reasons) for arm, reasons in self.failures.items()},
            pulls_left=self.pulls_left,
            cost_left=self.cost_left,
            max_cost=self.max_cost,
            seconds=self.seconds,
        )


class PlainDocument(RunDocument):
    """A result with as much else as there may be: what is read where nothing says which command printed it."""

    study: Text = ""
