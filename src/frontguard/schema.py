"""The JSON of answers, described once: published as docs/schemas/answer.json, and checked where JSON is read back.

`Answer` writes it (`to_dict`, what `--json` prints) and reads it (`from_dict`); here is what each entry may hold, and
which entries must agree with each other. Imported only where JSON is read, as pydantic takes long to import.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce
from itertools import product
from operator import or_
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import numpy as np
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PlainSerializer,
    PlainValidator,
    Strict,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import PydanticCustomError

from frontguard._common.reading import wrong
from frontguard.errors import BadInput
from frontguard.limits import Limit
from frontguard.notices import KINDS, Notice
from frontguard.objectives import Objective, parse_objectives
from frontguard.question import Question
from frontguard.theory.threats import threat_of

FARTHEST = 1e300
"""Values beyond are not read back: they would overflow as soon as anything is computed with them."""

Text = Annotated[str, Strict()]
Truth = Annotated[bool, Strict()]
Count = Annotated[int, Field(strict=True, ge=0, le=2**53)]  # exact as floats, and far beyond any count of pulls
Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Amount = Annotated[Number, Field(ge=0.0)]
Amounts = Amount | None | list[Amount | None]
Share = Annotated[Number, Field(ge=0.0, le=0.5)]  # of measurements that are replaced
Probability = Annotated[Number, Field(gt=0.0, lt=1.0)]
Ends = Annotated[list[Number | None], Field(min_length=2, max_length=2)]
Counts = tuple[Count, Count]
Costs = tuple[Amount, Amount]
Pair = Annotated[list[Number], Field(min_length=2, max_length=2)]
Values = dict[Text, dict[Text, Number | None]]
VerdictWord = Literal["keep", "undecided", "matched", "excluded", "beaten"]
ContrastWord = Literal["better", "no worse", "alike", "no better", "worse", "open"]
OutcomeWord = Literal["not worse", "open", "worse"]
if TYPE_CHECKING:
    AnyNotice = Notice
else:
    AnyNotice = reduce(or_, KINDS)  # told apart by their `kind`
Notices = tuple[Annotated[AnyNotice, Field(discriminator="kind")], ...]


def _question(given: object) -> Question:
    """Read a question, with the complaint of its own readers."""
    try:
        return Question.from_dict(given)
    except BadInput as error:
        raise PydanticCustomError("wanted", "{wanted}", {"wanted": f"a question ({error})"}) from None


AskedQuestion = Annotated[
    Question, PlainValidator(_question), PlainSerializer(Question.to_dict), WithJsonSchema({"type": "object"})
]


class Described(BaseModel):
    """Base of all descriptions. What is not known or not finite is null; entries that nobody knows are left out."""

    model_config = ConfigDict(frozen=True)


class CertificateEntries(Described):
    """The guarantee of a result; null where nothing is bounded."""

    accuracy: Amounts
    """By how much a returned arm may be beaten at once: one number, or one for each objective."""
    coverage: Amounts
    """By how much a returned arm may be worse than one of the true front."""
    confidence: Probability | None
    """The probability of it all; null where nothing is promised, and then `void` says why."""
    threat: Text
    contamination: Share
    void: Literal["", "running", "contamination", "bias", "medians"] = ""
    """Why there is no probability: the policy promises only once it has stopped, needs clean measurements, has a bias
    that was set by hand, or is proved for means only."""
    arms: Count | None = None
    """Of how many arms it speaks."""
    excluded: list[Text] = []
    """Arms that were excluded, and are not spoken of."""
    limits: list[Text] = []
    """Limits that the arms it speaks of must keep to."""
    by_column: list[Share] = []
    """Contamination of each objective, and of what else is limited, where these differ."""

    @model_validator(mode="after")
    def _known_threat(self) -> Self:
        if (self.confidence is None) != bool(self.void):
            raise wrong(("void",), "a reason where the confidence is null, and only there", self.void)
        if self.threat not in ("", "none"):
            threat_of(self.threat, self.contamination)
        return self


class LeastPulls(Described):
    """Pulls of an arm, none of which fails, without which nothing can be said; null where no number would do."""

    first: Count | None = None
    """Before any end of its intervals is bounded."""
    whole: Count | None = None
    """Before all of them are."""


class FeasibilityEntries(Described):
    """The standing of an arm to a limit, with the estimate and interval of the limited statistic."""

    limit: Text = ""
    keeping: Literal["feasible", "open", "infeasible"]
    estimate: Number | None = None
    interval: Ends


class ReplacementEntries(Described):
    """The returned arm that does for another one. Amounts are in the metrics' units, or shares as their tolerances."""

    by: Text
    costs: dict[Text, Amount]
    """By how much it may be worse at most; 0 where it is certainly as good."""
    gains: dict[Text, Amount]
    """By how much it is better at least; 0 where that is not certain."""


class SpanEntries(Described):
    """An estimate, and the ends between which the true value certainly lies; null where that is not known."""

    estimate: Number | None = None
    low: Number | None = None
    high: Number | None = None


class EffectEntries(Described):
    """An arm against the baseline in one metric, in its units."""

    difference: SpanEntries
    """Arm − baseline."""
    ratio: SpanEntries | None = None
    """Arm / baseline; null where either may be negative, or the baseline 0."""
    contrast: ContrastWord
    """The certain relation, where a difference up to the metric's tolerance is none."""


class PickEntries(Described):
    """The arm that --pick chooses, how sure that is, and what it gives up."""

    arm: Text | None
    """Null where no arm certainly keeps to the limits."""
    rule: Literal["weights", "knee"]
    weights: dict[Text, Number] | None = None
    """The worth of a unit of each metric or, where its tolerance is a percentage, of one per cent."""
    limits: list[Text] = []
    certain: Truth
    """True if certainly no other arm has a higher score."""
    among: list[Text] = []
    """Arms among which the one with the highest score certainly is."""
    behind: Number | None = None
    """By how much the chosen one may be behind that one, in units of the score."""
    score: SpanEntries
    others: dict[Text, dict[Text, EffectEntries]] = {}
    """Every other returned arm against the chosen one, by metric."""
    confidence: Number | None = None


class HypervolumeEntries(Described):
    """The volume that the front dominates beyond a reference point, in units; null where it is not bounded or known."""

    reference: dict[Text, Number]
    certain: Number | None = None
    """At least: that of the lower ends of the returned arms' intervals."""
    estimate: Number | None = None
    """That of the returned arms' estimates."""
    possible: Number | None = None
    """At most: that of the upper ends of all arms' intervals."""


class ArmCostEntries(Described):
    """The cost of an arm's pulls so far, and the expected cost of the next one; null where that is not known."""

    spent: Amount
    a_pull: Amount | None = None


class CostEntries(Described):
    """The cost of pulls so far. It steers sampling, and is no part of the evidence."""

    unit: Text
    metric: Text | None = None
    """The metric that pulls report as their cost; null where arms have a number each."""
    spent: Amount
    by_arm: dict[Text, ArmCostEntries] = {}


class ProfileEntries(Described):
    """The number of kept arms, by contamination ε."""

    levels: list[Share]
    in_front: list[Count]
    resolution: Annotated[Number, Field(ge=1e-9, le=0.5)]
    """To how much levels are exact."""

    @model_validator(mode="after")
    def _rising(self) -> Self:
        if len(self.levels) != len(self.in_front) or (np.diff(self.levels) <= 0.0).any():
            raise wrong((), "rising levels, and for each how many arms are in", {})
        return self


class IfCleanerEntries(Described):
    """The arms that are decided, and how, if there is no more than a smaller contamination than was declared."""

    contamination: Share
    verdicts: dict[Text, VerdictWord]


class LogEntries(Described):
    """Details that only a complete log tells."""

    means: Values = {}
    mean_set: list[Text] = []
    """The front that a comparison of means would have called."""
    failed: dict[Text, dict[Text, Count]] = {}
    """Values that failed, by arm and objective, of arms with any."""
    failed_pulls: dict[Text, Count] = {}
    """Pulls that lack any value, by arm, of arms with any."""
    holds_up_to: dict[Text, Share] | None = None
    """The largest ε, as the threat model has it, up to which an arm's verdict is certain; null without a profile."""
    front_changes_at: Share | None = None
    """The ε at which the front as a whole is no longer certain; null where that is not known."""
    profile: ProfileEntries | None = None
    more_pulls: dict[Text, Count | Literal["far", "contamination", "failures", "tolerance", "limit"]] = {}
    """For each open arm how many more pulls of it would settle it, or why no number would."""
    more_pulls_of_rival: dict[Text, Count] = {}
    """For each open arm how many more pulls the arm that decides it would need."""
    if_cleaner: list[IfCleanerEntries] = []
    """Where arms are open: for the largest smaller contamination that decides more, and that which decides all it
    can."""


class StudyEntries(Described):
    """The state of a study."""

    name: Text
    failures: dict[Text, dict[Text, Count]] = {}
    """Failed pulls by arm and reason."""
    pulls_left: Count | None = None
    """Until certified, by the forecast."""
    pulls_left_range: Counts | None = None
    """Between how many it will likely be: so it was four times out of five in simulated studies."""
    cost_left: Amount | None = None
    """The cost of these pulls, in the unit of the cost."""
    cost_left_range: Costs | None = None
    """Between how much it will likely be."""
    max_pulls: Count | None = None
    max_cost: Amount | None = None
    """The budget of what pulls may cost, in that unit."""
    max_time: Amount | None = None
    """The budget of seconds."""
    seconds: Amount = 0.0
    pulls_a_second: Amount | None = None
    under_way: Count = 0
    """Pulls that are being measured."""
    side_by_side: Truth = False
    """True if pulls were measured several at a time."""


class CleanerEntries(Described):
    """The outcome that would be certain at a smaller contamination."""

    outcome: OutcomeWord
    contamination: Share
    """The largest at which it would be."""


class StandingEntries(Described):
    """The outcome of a check, and how far it stands."""

    outcome: OutcomeWord
    holds_up_to: Share | None = None
    """The largest contamination at which the outcome would be certain; null where it is open, or not known."""
    if_cleaner: CleanerEntries | None = None
    """Of an open one, what would be certain at a smaller contamination than was declared."""


class CheckEntries(EffectEntries, StandingEntries):
    """One metric of a candidate against its baseline."""

    in_some_quantile: Truth = False
    """True if a worse one is certain to be so in some quantile, and not in the one that counts."""


class LimitCheckEntries(SpanEntries, StandingEntries):
    """One limit of a candidate, and what is limited in its units."""

    limit: Text


class PairEntries(Described):
    """A candidate against its baseline."""

    name: Text
    """That of the candidate; of logs with several arms, that of the arm."""
    candidate: Text
    baseline: Text
    outcome: OutcomeWord
    pulls: Count
    """Of the candidate."""
    baseline_pulls: Count
    excluded: list[Text] = []
    """Those of the two that could not be measured."""
    tests: Count = 1
    """More than one where it is the geometric mean of so many tests, once a session."""
    metrics: dict[Text, CheckEntries]
    limits: list[LimitCheckEntries] = []
    """In the order of the gate's limits."""


class LeastFoundEntries(Described):
    """The least difference that so many measurements find four times of five: a forecast, nothing certain."""

    metric: Text
    size: Count
    """Measurements of an arm: runs, sessions or items."""
    difference: Amount | None = None
    """In units of the metric, or a share where its tolerance is one; null if they find none, however large."""
    noise: Amount | None = None
    """The deviation of one of them, where it is known."""
    enough: Count | None = None
    """How many decide what is open, if they go on as they are, where that is known."""


class GateEntries(Described):
    """The findings of a gate on each candidate. All that is certain holds at once."""

    outcome: OutcomeWord
    """Worse if any candidate is so in any metric, not worse if all are so in all."""
    status: Literal["decided", "running", "budget", "time", "cancelled", "unreachable", "unmeasured", "log"]
    """Decided, or why it is not."""
    holds_up_to: Share | None = None
    """The largest contamination at which the outcome would be certain; null where it is open, or not known."""
    pairs: list[PairEntries]
    only_baseline: list[Text] = []
    """Arms that the baseline's log has only, and of which nothing is said."""
    only_candidate: list[Text] = []
    """Arms that are new."""
    every_row: Truth = False
    """True if rows of one process were said to count by themselves."""
    at_worst: list[Number | None] | None = None
    """By how much any candidate is worse at most, in inner values: of each metric, by itself; null if unbounded."""


class Made(Described):
    """The answer in words, and how a command made it."""

    answer: Text = ""
    """The answer in a sentence or two."""
    version: Text | None = None
    command: Text | None = None
    source: Text | list[Text] | None = None
    """The files of the log, or that of the spec."""
    at: Text | None = None
    """When it was printed."""
    seed: Count | None = None
    spec: Text | None = None
    """The text of the spec."""
    exit_code: Count = 0
    """With which a gate ends."""


class AnswerEntries(Described):
    """Entries that every answer has. Intervals are in the metrics' units; an end that is not known is null."""

    policy: Text = "certified"
    status: Literal["certified", "budget", "unreachable", "running"]
    pareto_set: list[Text] = []
    """The kept arms."""
    verdicts: dict[Text, VerdictWord]
    counts: dict[Text, Count] = {}
    """The number of arms with each verdict."""
    certificate: CertificateEntries
    outlook: CertificateEntries | None = None
    """While it goes on: the certificate with which the present candidates could be returned."""
    contaminations: dict[Text, Share] = {}
    """The contamination that is allowed for, by metric; exact ones have none."""
    question: AskedQuestion | None = None
    """All that was asked, as `Question.to_dict` has it; null of a policy that was run by itself."""
    pulls: Count = 0
    objectives: list[Objective] = []
    """The metrics; none where values are those that a policy compares, larger ones being better."""
    estimates: Values = {}
    """By arm, then by objective: medians, or what else counts of an objective."""
    intervals: dict[Text, dict[Text, Ends]]
    """By arm, then by objective: [low, high]."""
    arm_columns: list[Text] = []
    """The columns of a log, or the parameters of a grid, that name the arms together; none where a name is a name."""
    arm_parts: dict[Text, list[Text]] = {}
    """By arm: its value of each of these, as it is in the data."""
    warnings: list[Text] = []
    """The notices that people have to be told of, in sentences."""
    notices: Notices = ()
    """Events, as records with a `kind`."""
    pulls_per_arm: dict[Text, Count] = {}
    decided_by: dict[Text, Text] = {}
    """The arm that put an arm out, or that keeps it open."""
    differences: dict[Text, dict[Text, Ends]] = {}
    """By arm and objective, of arms measured on the same items: the arm less the one that decides it, [low, high] in
    the metric's units."""
    aim: Literal["front", "list"] = "front"
    """The set that is returned: all arms that none beats, or as few as are enough."""
    replaced_by: dict[Text, ReplacementEntries] = {}
    """By arm that is not returned: which returned one does for it."""
    best_guess: list[Text] | None = None
    """The arms that would be in if the estimates were exact, without any promise; null where an arm is in."""
    least_pulls: LeastPulls | None = None
    """The pulls that an arm needs at least; null where an arm is in."""
    hypervolume: HypervolumeEntries | None = None
    """The worth of the front; null for many arms."""
    limits: list[Limit] = []
    """Constraints on arms: the front is that of the arms within."""
    keeping: dict[Text, list[FeasibilityEntries]] = {}
    """By arm, its standing to each limit."""
    cost: CostEntries | None = None
    """The cost of pulls so far, where they have one."""
    anytime: Truth = True
    """True if it holds however often one looked at the measurements while they grew."""
    gate: GateEntries | None = None
    """Of a gate: each candidate against its baseline."""
    least_found: list[LeastFoundEntries] = []
    """Of each metric in which something is open; empty where nothing is, or it is not known."""
    study: StudyEntries | None = None
    """Of a study: its state."""
    log: LogEntries | None = None
    """Of an analysis: what only a complete log tells."""


class AnyAnswer(AnswerEntries, Made):
    """The JSON of answers: `to_dict()`, and --json of `run`, `analyze` and `gate`."""

    storage: Text | None = None
    """Where the study is stored."""

    # What was asked for besides
    baseline: Text | None = None
    """The arm that --baseline names."""
    comparisons: dict[Text, dict[Text, EffectEntries]] = {}
    """Every other arm against it, by metric; all intervals hold at once with the certificate's confidence."""
    pick: PickEntries | None = None
    """The choice of --pick."""

    @property
    def metrics(self) -> tuple[Objective, ...]:
        """The objectives; none where there are only names."""
        return parse_objectives(self.objectives) if self.objectives else ()

    @property
    def names(self) -> list[str]:
        """Names of the objectives."""
        named = [metric.name for metric in self.metrics]
        return named or list(next(iter(self.intervals.values()), ()))

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        if not self.verdicts:
            raise wrong(("verdicts",), "a verdict for one arm at least", {})
        if not self.names:
            raise wrong(("intervals",), "an interval in one objective at least", self.intervals)
        relative = dict.fromkeys(self.names, False) | {each.name: each.relative for each in self.metrics}
        self.check_values(relative, intervals=self.intervals, estimates=self.estimates)
        for entry in ("pulls_per_arm", "decided_by", "differences", "replaced_by", "arm_parts", "keeping"):
            self.check_arms((entry,), getattr(self, entry))
        self.check_arms(("cost",), () if self.cost is None else self.cost.by_arm)
        self.check_arms(("study", "failures"), () if self.study is None else self.study.failures)
        self.check_named(("replaced_by",), ((arm, each.by) for arm, each in self.replaced_by.items()))
        self.check_named(("decided_by",), self.decided_by.items())
        self.check_named(("best_guess",), enumerate(self.best_guess or ()))
        if self.gate is not None:
            self._check_gate(self.gate)
        if self.log is not None:
            self._check_log(self.log, dict.fromkeys(relative, False))
        self._check_lengths("arm_parts", "arm_columns", f"{len(self.arm_columns)} texts")
        self._check_lengths("keeping", "limits", f"{len(self.limits)} entries")
        for entry, name in product(("certificate", "outlook"), ("accuracy", "coverage")):
            given = getattr(getattr(self, entry), name, None)
            if isinstance(given, list) and len(given) != len(relative):
                raise wrong((entry, name), f"a number for each of {len(relative)} objectives", given)
        return self

    def _check_gate(self, gate: GateEntries) -> None:
        """Refuse a gate that is of other metrics or limits than the question."""
        if self.question is None:
            raise wrong(("question",), "the question of the gate", None)
        names = [metric.name for metric in self.question.objectives]
        for place, pair in enumerate(gate.pairs):
            if list(pair.metrics) != names:
                wanted, got = f"the objectives {', '.join(names)[:200]}", list(pair.metrics)
                raise wrong(("gate", "pairs", place, "metrics"), wanted, got)
            if len(pair.limits) != len(self.question.limits):
                wanted = f"{len(self.question.limits)} entries, one for each limit"
                raise wrong(("gate", "pairs", place, "limits"), wanted, pair.limits)

    def _check_log(self, log: LogEntries, relative: Mapping[str, bool]) -> None:
        """Refuse details of a log that are of other arms or objectives."""
        self.check_values(relative, ("log",), failed=log.failed, means=log.means)
        for entry in ("holds_up_to", "more_pulls", "more_pulls_of_rival", "failed_pulls"):
            self.check_arms(("log", entry), getattr(log, entry) or ())
        self.check_named(("log", "mean_set"), enumerate(log.mean_set))
        for each in log.if_cleaner:
            self.check_arms(("log", "if_cleaner"), each.verdicts)

    def _check_lengths(self, entry: str, columns: str, wanted: str) -> None:
        """Refuse what arms have for each of some columns unless every arm has as many."""
        by_arm, count = getattr(self, entry), len(getattr(self, columns))
        for arm in self.verdicts if by_arm or count else ():
            if len(by_arm.get(arm, ())) != count:
                got = list(by_arm.get(arm, ()))
                raise wrong((entry, arm), f"{wanted}, one for each of {columns}, for every arm", got)

    def check_arms(self, place: tuple[str, ...], arms: Iterable[str]) -> None:
        """Refuse entries by arm that have one without a verdict."""
        for arm in arms:
            if arm not in self.verdicts:
                raise wrong(place, "the names of arms that have a verdict", arm)

    def check_named(self, place: tuple[str, ...], named: Iterable[tuple[str | int, str]]) -> None:
        """Refuse an entry that names, somewhere, an arm without a verdict."""
        for where, arm in named:
            if arm not in self.verdicts:
                raise wrong((*place, where), "the name of an arm that has a verdict", arm)

    def check_values(
        self, relative: Mapping[str, bool], place: tuple[str, ...] = (), **by_arm: Mapping[str, Mapping[str, Any]]
    ) -> None:
        """Refuse entries by arm and objective that have unknown ones, or values that no such objective has."""
        for entry, given in by_arm.items():
            self.check_arms((*place, entry), given)
            for arm, row in given.items():
                for name, value in row.items():
                    where = (*place, entry, arm)
                    if name not in relative:
                        raise wrong(where, f"the objectives {', '.join(relative)[:200]}", name)
                    numbers = [each for each in (value if isinstance(value, list) else [value]) if each is not None]
                    if any(abs(each) > FARTHEST for each in numbers):
                        raise wrong((*where, name), f"numbers from {-FARTHEST:g} to {FARTHEST:g}", value)
                    # The lower end of an interval may be 0, where nothing is known.
                    upper = value[1] if isinstance(value, list) else value
                    if relative[name] and upper is not None and upper <= 0.0:
                        share = f"positive values of {name!r}, whose tolerance is a percentage"
                        raise wrong((*where, name), share, value)
