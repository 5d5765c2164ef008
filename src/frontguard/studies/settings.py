"""The settings of a study, as a text of its storage, which may come from a stranger; and which of them may change."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from frontguard._common.checks import checked_count, checked_truth
from frontguard._common.typing import Floats
from frontguard.errors import BadArgument, BadInput
from frontguard.evidence.intervals import first_bounded
from frontguard.limits import Gate
from frontguard.objectives import Objective, tolerances
from frontguard.phrases import did_you_mean, shortened, shown
from frontguard.policies import Certified
from frontguard.question import Question, refuse_without_chance
from frontguard.results import ArmParts
from frontguard.studies.measurement import storable

FORMAT = 2

MOST_CELLS = 10_000_000
"""Arms times objectives of a study at most: some gigabytes."""


@dataclass(frozen=True)
class Settings:
    """The question of a study, and its arms. `about` is for whoever drives it: its commands, say."""

    arms: tuple[str, ...]
    question: Question
    seed: int = 0
    about: dict[str, Any] = field(default_factory=dict)
    reopened_after: int = 0  # plans up to which a stop has been overruled by a change of settings
    rates: tuple[str, ...] = ()  # metrics whose first values were true or false, so that their rate counts
    foreseen: bool = True  # whether independent arms have the tolerances that the study began with

    def policy(self) -> Certified:
        """The policy that decides, without any observations."""
        return Certified.for_question(self.question, self.arms, foreseen=self.foreseen)

    def never_within(self) -> tuple[Gate, ...]:
        """The limits of which no number of pulls could tell that an arm is within."""
        ends = first_bounded(self.policy().rule) if self.question.limits else []
        return tuple(gate for gate in self.question.columns.gates if ends[2 * gate.column] is None)

    @property
    def parts(self) -> ArmParts | None:
        """The parts of the arms' names, if whoever drives the study said so."""
        columns = self.about.get("arm_columns")
        return ArmParts.of(columns, self.about["arm_parts"]) if columns else None

    def to_json(self) -> str:
        """The text that is stored."""
        settings = {"format": FORMAT, **vars(self), "question": self.question.to_dict()}
        return json.dumps(settings, ensure_ascii=False)

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
        if (written_in := read.pop("format", None)) != FORMAT:
            raise BadInput(f"{where}: they have format {shown(written_in, 60)}; this frontguard reads {FORMAT}")
        wanted = [each.name for each in fields(cls)]
        if sorted(read) != sorted(wanted):
            raise BadInput(f"{where}: wanted {', '.join(wanted)}; got {shown(', '.join(map(str, read)), 200)}")
        try:
            return cls(**read | {"question": Question.from_dict(read["question"])})
        except (ValueError, TypeError, OverflowError) as error:
            raise BadInput(f"{where}: {shortened(str(error), 300)}") from None

    def __post_init__(self) -> None:
        """Read what a caller gives, or a text says; refuse what no memory and no storage holds."""
        arms, question = checked_arms(self.arms), self.question
        for each in (*question.objectives, *question.columns.metrics):
            checked_text(each.name, "the name of an objective")
        if len(arms) * len(question.columns.boxed) > MOST_CELLS:
            got = f"{len(arms):,} arms with {len(question.columns.boxed):,} each"
            raise BadArgument("arms", must=f"have at most {MOST_CELLS:,} intervals together", got=got)
        if not isinstance(self.about, dict):
            raise BadArgument("about", must="be an object", got=shown(self.about, 120))
        if not isinstance(self.rates, (list, tuple)):
            raise BadArgument("rates", must="be a list of names", got=shown(self.rates, 120))
        for name in self.rates:
            if not any(each.name == name and each.takes_booleans for each in question.columns.metrics):
                raise BadInput(f"rates must be metrics whose mean counts, between bounds; got {shown(name, 60)}")
        object.__setattr__(self, "arms", arms)
        object.__setattr__(self, "rates", tuple(self.rates))
        for what in ("seed", "reopened_after"):
            value = getattr(self, what)
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise BadArgument(what, must="be a whole number from 0", got=shown(value, 120))
        checked_truth(self.foreseen, "foreseen")
        _check_parts(self.about, len(arms))
        refuse_without_chance(question, in_order=question.in_blocks)
        if question.cost is not None:
            question.cost.amounts(arms)  # which refuses those of other arms
        if question.baseline is not None:
            if question.baseline not in arms:
                near = did_you_mean(question.baseline, arms)
                raise BadArgument("baseline", must=f"be one of the arms{near}", got=shown(question.baseline, 120))
            if len(arms) < 2:
                raise BadArgument("baseline", f"{shown(question.baseline, 120)} is the only arm; add one to compare")

    @property
    def stored_values(self) -> int:
        """The number of values of a told pull: one for each metric and, where pulls say it, the cost."""
        cost = self.question.cost
        return len(self.question.columns.metrics) + (cost is not None and cost.metric is not None)

    def costs_of(self, values: Floats) -> Floats | None:
        """Return the costs of told pulls with these values (n, stored); None where they do not say so."""
        return values[:, -1] if self.question.cost is not None and self.question.cost.metric is not None else None

    def checked_cluster(self, cluster: object, pull: int) -> str:
        """The cluster of a pull, empty for one of its own; refused where what the arms are taken for rules it out."""
        if not isinstance(cluster, str) or "\0" in cluster or (cluster and not cluster.strip()):
            raise BadInput(f"pull {pull}: its cluster must be a text that is not blank; got {cluster!r}")
        found = storable(cluster)
        why = None
        if self.question.paired:
            why = "pairs takes no clusters: the pulls of a repeat are one already"
        elif self.question.in_blocks and self.question.by_samples and self.question.baseline is not None:
            why = "gates in blocks takes no clusters: whole blocks are compared; blocks=False takes them"
        elif self.question.independent:
            why = "independent arms takes no clusters: arms that share one depend on each other"
        if found and why:
            raise BadInput(f"pull {pull}: a study of {why}; got {found!r}")
        return found

    def with_rates(self, names: Iterable[str]) -> Settings:
        """These settings with the rates of some metrics in place of medians that nobody asked for.

        >>> found = Settings(("a", "b"), Question.of(maximize="solved")).with_rates(["solved"])
        >>> found.question.objectives[0].statistic_word, found.rates
        ('mean', ('solved',))
        """
        wanted = set(names)
        question = self.question.with_rates(wanted)
        taken = (
            each.name
            for each in question.columns.metrics
            if each.name in wanted.union(self.rates) and each.takes_booleans
        )
        return replace(self, question=question, rates=tuple(taken))

    def taken_up(self, wanted: Settings, plans: int) -> Settings:
        """These settings, changed to the wanted ones where that is sound once pulls were made.

        Intervals do not depend on goal, tolerances, coverage, numbers of limits and budget, and what does is no longer
        looked at (`foreseen`). All else, chosen after the fact, would void the certificate.
        """
        wanted = wanted.with_rates(self.rates)
        own, other = self.question, wanted.question
        if other.blocks is None:
            other = replace(other, blocks=own.blocks)
        for what, ours, theirs in (
            ("arms", self.arms, wanted.arms),
            ("objectives", _measured(own.objectives), _measured(other.objectives)),
            ("limits", *(_measured(each.columns.boxed[len(each.objectives) :]) for each in (own, other))),
            ("seed", self.seed, wanted.seed),
            *((what, getattr(own, what), getattr(other, what)) for what in _NEVER_CHANGED),
            ("identity", self.about.get("identity"), wanted.about.get("identity")),
        ):
            if ours != theirs:
                limits = ", the numbers of limits" if own.limits else ""
                raise BadInput(
                    f"the study was begun with other {what}: {_difference(ours, theirs)}. Only goal, tolerances"
                    f"{limits} and budget may change; give it another name or another storage to begin anew"
                )
        # A median that was meant when the study began is still meant where nothing is said of it.
        objectives = tuple(
            replace(theirs, quantile=ours.quantile) if theirs.by_default and not ours.by_default else theirs
            for ours, theirs in zip(own.objectives, other.objectives, strict=True)
        )
        kept = bool((tolerances(objectives) == tolerances(own.objectives)).all())
        foreseen = self.foreseen and (kept or not own.independent)
        question = replace(other, objectives=objectives)
        changed = replace(wanted, question=question, reopened_after=self.reopened_after, foreseen=foreseen)
        if changed == self:
            return self
        return replace(changed, reopened_after=plans)


_NEVER_CHANGED = ("threat", "confidence", "spread", "baseline", "paired", "items", "cost", "independent", "blocks")
"""What of a question stays as the study began with it."""


def _measured(objectives: Iterable[Objective]) -> list[tuple[object, ...]]:
    return [each.measured for each in objectives]


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


def checked_text(value: object, what: str) -> str:
    """A text that every storage takes, and that says something."""
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        raise BadArgument(what, must="be a text that is not blank", got=shown(value, 120))
    if not value.isascii() and any("\ud800" <= letter <= "\udfff" for letter in value):
        raise BadArgument(what, must="be a text that has a UTF-8 form", got=shown(value, 120))
    return value


def named_arms(arms: Sequence[str] | int) -> tuple[str, ...]:
    """Names of arms as they are given: a list of them, or how many there are, which are called by their numbers."""
    if isinstance(arms, int) and not isinstance(arms, bool):
        return tuple(str(i) for i in range(checked_count(arms, "arms")))
    return checked_arms(arms)


def checked_arms(names: object) -> tuple[str, ...]:
    """Names of arms, one at least, all different."""
    if isinstance(names, (str, bytes)) or not isinstance(names, Sequence):
        raise BadArgument("arms", must="be a list of names, or how many there are", got=shown(names, 120))
    arms = tuple(checked_text(name, "the name of an arm") for name in names)
    if not arms:
        raise BadArgument("arms", must="be one at least", got="none")
    twice = [name for name, count in Counter(arms).items() if count > 1]
    if twice:
        raise BadArgument("arms", must="have different names", got=f"{shown(twice[0], 120)} more than once")
    return arms


def _check_parts(about: dict[str, Any], arms: int) -> None:
    """Refuse what is said of the parts of arms unless it is a text in each of some columns, for each arm."""
    columns, rows = about.get("arm_columns", []), about.get("arm_parts", [])
    right = isinstance(columns, list) and isinstance(rows, list) and len(rows) == (arms if columns else 0)
    if right:
        for row in (columns, *rows):
            right = right and isinstance(row, list) and len(row) == len(columns)
            right = right and all(isinstance(text, str) for text in row)
    if not right:
        raise BadInput(f"wanted the parts of {arms:,} arms, each a list of as many texts as there are columns")
