"""The pulls of a study: items, those that are begun and not back, what came of the others, and what no log has."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from copy import copy
from typing import Any, TypeVar

import numpy as np

from frontguard._common.typing import Bools, Floats, Ints
from frontguard.errors import OutOfTurn
from frontguard.phrases import shown
from frontguard.question import MOST_COST, Cost
from frontguard.results import CostSoFar
from frontguard.storage.contract import Damaged, End, Plan, Storage, Told
from frontguard.studies.measurement import MARK
from frontguard.studies.settings import Settings


def item_order(seed: int, items: int) -> Ints:
    """Positions (items,) in a list, from 0, in the order in which a study with this seed measures them, for ever.

    >>> item_order(0, 6).tolist(), item_order(1, 6).tolist()
    ([3, 2, 5, 0, 4, 1], [3, 1, 2, 5, 0, 4])
    """
    keys = [hashlib.sha256(f"{seed}/item/{item}".encode()).digest() for item in range(items)]
    return np.array(sorted(range(items), key=keys.__getitem__), np.int64)


def under_way(storage: Storage, name: str, told: int) -> Ints:
    """The arms of pulls that were handed out and not among the first `told` that came back; what came since counts."""
    numbers = {pull.id for pull in storage.leases(name)}
    numbers.update(storage.told(name, after=told).pulls.tolist())
    arm_of = np.concatenate([np.empty(0, np.int64), *(plan.arms for plan in storage.plans(name))])
    return np.asarray(arm_of[np.array(sorted(numbers), np.int64) - 1], np.int64)


def frame_of(settings: Settings, told: Told, arms: Ints) -> Any:
    """A pandas frame of told pulls in their order: pull, arm, values, failure, worker, cluster, time."""
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError("Study.to_frame() needs pandas: pip install pandas") from error
    columns: dict[str, Any] = {"arm": [settings.arms[arm] for arm in arms.tolist()]}
    for d, metric in enumerate(settings.question.columns.metrics):
        columns[metric.name] = told.values[:, d]
    costs = settings.costs_of(told.values)
    if costs is not None and settings.question.cost is not None:
        columns["cost" if settings.question.cost.metric in columns else str(settings.question.cost.metric)] = costs
    columns["failure"] = reasons_of(told)
    columns["worker"] = told.workers
    if any(told.clusters):
        columns["cluster"] = told.clusters
    columns["at"] = pd.to_datetime(told.at, unit="s", utc=True)
    parts = settings.parts
    columns = columns if parts is None else parts.beside(columns, arms)
    return pd.DataFrame(columns, index=pd.Index(told.pulls, name="pull"))


# A log may come from a stranger. That plans and told pulls fit each other, a storage has seen to.

STATUSES = ("running", "certified", "budget", "unreachable")
"""What a plan may say of the study: that it goes on, or why it stopped."""


def checked_plans(plans: list[Plan], settings: Settings, study: str) -> list[Plan]:
    """Plans that are of the arms of the settings."""
    arms = len(settings.arms)
    told = 0
    for plan in plans:
        if plan.told < told:
            raise not_a_log(study, f"plan {plan.number} counts fewer told pulls than the one before")
        told = plan.told
        if len(plan.arms) and not 0 <= plan.arms.min() <= plan.arms.max() < arms:
            wrong = int(plan.arms.min() if plan.arms.min() < 0 else plan.arms.max())
            raise not_a_log(study, f"plan {plan.number} is about arm {wrong}; there are arms 0 to {arms - 1}")
        if plan.status not in STATUSES:
            raise not_a_log(study, f"plan {plan.number} says {shown(plan.status)}; wanted {', '.join(STATUSES)}")
    return plans


def checked_told(told: Told, settings: Settings, study: str) -> Told:
    """Told pulls that have a value for each metric of the settings, and their cost where they say it."""
    metrics = settings.stored_values
    if told.values.shape[1] != metrics:
        raise not_a_log(study, f"its pulls have {told.values.shape[1]} values; it has {metrics} metrics")
    return told


def not_a_log(study: str, what: str) -> Damaged:
    """The error that says why a log is none of this study."""
    return Damaged(f"study {shown(study)} is damaged: {what}. Nothing was changed")


NOT_USABLE = "not a usable value"
"""Why a pull failed that measured something which its objective cannot use."""

GIVEN_UP = {
    End.LOST: "lost with its worker",
    End.STOPPED: "stopped before its end",
    End.OVERDUE: "nothing heard of its worker until its lease ran out",
}
"""Why a pull failed that was given up: what is stored of it is how it ended, and no reason."""


def reasons_of(told: Told) -> tuple[str, ...]:
    """Why each of these pulls failed, without last words; empty where that is not known, or nothing failed."""
    bare = {text: text.partition(MARK)[0] for text in set(told.reasons) if MARK in text}
    reasons = tuple(bare.get(text, text) for text in told.reasons) if bare else told.reasons
    if not told.ends.any():
        return reasons
    return tuple(GIVEN_UP[End(end)] if end else reason for reason, end in zip(reasons, told.ends.tolist(), strict=True))


# Which told pulls of a study count: of a cluster of an arm the first, and each that is in no cluster. Later ones of a
# cluster may depend on it, and to wait for them or not would be chosen by looking: they are kept and shown, and do not
# count, neither as values nor as failed ones (docs/theory.md, (n)).
#
# The first is the one that was *started* first, not the one that came back first, which would favour quick ones. So a
# pull in a cluster waits, and counts as one that is still out, until all earlier pulls of its arm are back.

USED_UP = 20
"""Pulls of an arm in a row that are in clusters which it has already, after which no more of it are asked for."""


State = TypeVar("State", "CountedPulls", "Spending", "Taken")


def _copied(state: State) -> State:
    """Return a copy to go on with by itself: with arrays and tables of its own."""
    other = copy(state)
    for name, value in vars(state).items():
        if isinstance(value, (np.ndarray, dict, list)):
            setattr(other, name, value.copy())
    return other


class CountedPulls:
    """Takes the told pulls of a study of K arms in their order, and says which of them count."""

    def __init__(self, arms: int) -> None:
        self.left_out = np.zeros(arms, np.int64)  # told pulls of each arm (K,) that do not count ...
        self._in_a_row = np.zeros(arms, np.int64)  # ... and how many of them came since one that does
        self._seen: dict[int, set[str]] = {}  # by arm, the clusters that it has
        self._held: dict[int, dict[int, Told]] = {}  # by arm and number, pulls that wait for earlier ones
        self._told = np.zeros(0, np.bool_)  # by number from 0
        self._complete: dict[int, int] = {}  # by arm, how many of its first pulls are told, where that was looked at

    def copy(self) -> CountedPulls:
        """Return a copy to go on with by itself."""
        other = _copied(self)
        other._seen = {arm: names.copy() for arm, names in self._seen.items()}
        other._held = {arm: waiting.copy() for arm, waiting in self._held.items()}
        return other

    @property
    def used_up(self) -> Bools:
        """The arms (K,) whose last pulls all fell into clusters that they have already."""
        return np.asarray(self._in_a_row >= USED_UP)

    @property
    def held(self) -> Ints:
        """The arms of the told pulls that wait for earlier ones."""
        return np.array([arm for arm, waiting in self._held.items() for _ in waiting], np.int64)

    def take(self, told: Told, arm_of: Ints) -> tuple[Told, Ints]:
        """Those of the next told pulls that count, by the arms of all planned pulls; and the arms of the others."""
        at = told.pulls - 1
        if len(self._told) < len(arm_of):
            self._told = np.concatenate([self._told, np.zeros(2 * len(arm_of) - len(self._told), np.bool_)])
        if self._told[at].any() or len(np.unique(at)) < len(at):
            raise OutOfTurn("a pull was told twice")
        if not any(told.clusters) and not self._held:
            self._told[at] = True
            self._in_a_row[arm_of[at]] = 0
            return told, at[:0]
        counted: list[Told] = []
        left_out: list[int] = []
        pulls_of: dict[int, Ints] = {}
        for row, (pull, cluster) in enumerate(zip(told.pulls.tolist(), told.clusters, strict=True)):
            arm = int(arm_of[pull - 1])
            self._told[pull - 1] = True
            if cluster:
                self._held.setdefault(arm, {})[pull] = told.part(row, row + 1)
            else:
                self._in_a_row[arm] = 0
                counted.append(told.part(row, row + 1))
            if arm in self._held:
                own = pulls_of.setdefault(arm, np.flatnonzero(arm_of == arm) + 1)
                self._let_in(arm, own, counted, left_out)
        return Told.joined([told.part(0, 0), *counted]), np.array(left_out, np.int64)

    def _let_in(self, arm: int, own: Ints, counted: list[Told], left_out: list[int]) -> None:
        """Sort the pulls of an arm that wait for nothing any more; its `own` are all that are planned."""
        complete = self._complete.get(arm, 0)
        while complete < len(own) and self._told[own[complete] - 1]:
            complete += 1
        self._complete[arm] = complete
        first_out = own[complete] if complete < len(own) else own[-1] + 1
        waiting, seen = self._held[arm], self._seen.setdefault(arm, set())
        for pull in sorted(number for number in waiting if number < first_out):
            one = waiting.pop(pull)
            if one.clusters[0] in seen:
                left_out.append(arm)
                self.left_out[arm] += 1
                self._in_a_row[arm] += 1
            else:
                seen.add(one.clusters[0])
                counted.append(one)
                self._in_a_row[arm] = 0
        if not waiting:
            del self._held[arm]


def counted_and_held(told: Told, arm_of: Ints) -> tuple[Told, Ints]:
    """Return the told pulls that count, in the order in which they do, and the arms of those that wait."""
    pulls = CountedPulls(int(arm_of.max(initial=-1)) + 1)
    counted, _ = pulls.take(told, arm_of)
    return counted, pulls.held


# What pulls have cost so far, and what the next ones are taken to. Costs steer whom to pull and say when a budget is
# over, and are no evidence (docs/theory.md, "Costs").

WINDOW = 31
"""Pulls of an arm, the last ones, of whose costs the median is what its next pull is taken to cost."""

TRIED = 10
"""Pulls that may leave open what they cost, if all do, before a budget of it ends the study."""

SLACK = 1e-9
"""The share of a budget by which sums of numbers that are not exact may miss it."""


class Spending:
    """Costs of told pulls of K arms, in their order, and of a further one, however they are taken."""

    def __init__(self, names: Sequence[str], cost: Cost) -> None:
        self.cost, arms = cost, len(names)
        self.pulls = np.zeros(arms, np.int64)  # that were told
        self.unknown = np.zeros(arms, np.int64)  # those of them that did not say what they cost
        self._known = np.zeros(arms)  # what the others did
        self._typical = np.array(cost.amounts(names), np.float64)
        self._recent = np.full((arms, WINDOW if cost.metric is not None else 0), np.nan)

    def add(self, arms: Ints, costs: Floats | None) -> None:
        """Take further told pulls; `costs` are what they said, NaN where nothing, where a metric is the cost."""
        if self.cost.metric is None or costs is None:
            np.add.at(self.pulls, arms, 1)
            return
        usable = (costs >= 0.0) & (costs <= MOST_COST)
        np.add.at(self.unknown, arms[~usable], 1)
        order = np.argsort(arms[usable], kind="stable")
        told, amounts = arms[usable][order], costs[usable][order]
        before = self.pulls - self.unknown + np.bincount(arms[~usable], minlength=len(self.pulls))  # that said so
        np.add.at(self.pulls, arms, 1)
        np.add.at(self._known, told, amounts)  # one after another, so that it does not matter how they are taken
        ranks = np.arange(len(told)) - np.searchsorted(told, told)
        counts = np.bincount(told, minlength=len(self.pulls))
        last = ranks >= counts[told] - WINDOW
        places = (before[told] + ranks) % WINDOW
        self._recent[told[last], places[last]] = amounts[last]
        touched = np.unique(told)
        if len(touched):
            self._typical[touched] = np.nanmedian(self._recent[touched], axis=1)

    @property
    def typical(self) -> Floats:
        """The typical cost of a pull of each arm (K,); NaN where none has said so."""
        return self._typical.copy()

    @property
    def expected(self) -> Floats:
        """The typical cost, as the median of the others where none has said so; 0 where none of any arm has."""
        known = self._typical[np.isfinite(self._typical)]
        return np.where(np.isfinite(self._typical), self._typical, np.median(known) if len(known) else 0.0)

    @property
    def by_arm(self) -> Floats:
        """The cost of the told pulls of each arm (K,): those that did not say so as is `expected` of their arm."""
        if self.cost.metric is None:
            return np.asarray(self.pulls * self._typical)
        return np.asarray(self._known + self.unknown * self.expected)

    def so_far(self) -> CostSoFar:
        """Return the costs so far, as a fact."""
        return CostSoFar(self.cost.unit, self.by_arm, self.typical, self.cost.metric)

    def affordable(self, wanted: Ints, out: Ints, budget: float) -> Ints:
        """Return the wanted pulls that the budget has left beside `out` (K,); one of arms without a known cost."""
        if not np.isfinite(self._typical).any() and self.pulls.all() and self.pulls.sum() >= TRIED:
            return wanted[:0]
        expected, unknown = self.expected, np.isnan(self._typical)
        left = budget * (1.0 + SLACK) - float(self.by_arm.sum()) - float((out * expected).sum())
        if left <= budget * SLACK:
            return wanted[:0]
        tried = set(np.flatnonzero(unknown & (out > 0)).tolist())
        chosen = []
        for place, arm in enumerate(wanted.tolist()):
            if unknown[arm]:
                if arm in tried:
                    continue
                tried.add(arm)
            elif expected[arm] > left:
                continue
            else:
                left -= float(expected[arm])
            chosen.append(place)
        return wanted[chosen]


class Taken:
    """Facts of told pulls besides their values: which count, what they cost, how many failed, and why."""

    def __init__(self, settings: Settings) -> None:
        question, arms, boxed = settings.question, len(settings.arms), len(settings.question.columns.boxed)
        self._settings = settings
        self.counted = CountedPulls(arms)
        self.spending = None if question.cost is None else Spending(settings.arms, question.cost)
        self.failed = np.zeros((arms, boxed), np.int64)  # by arm and what has an interval
        self.stopped = np.zeros(arms, np.int64)  # of these, by users
        self.reasons: dict[int, Counter[str]] = {}  # by arm, of those with failures
        self.said: dict[int, str] = {}  # the last words of the last pull of each arm that had any
        self.unusable = np.zeros(boxed, np.int64)  # values that a tolerance in percent, or bounds, cannot use
        self.examples: dict[int, tuple[int, float]] = {}  # of these, by what has an interval: the arm and the value

    def copy(self) -> Taken:
        """Return a copy to go on with by itself."""
        other = _copied(self)
        other.counted, other.spending = self.counted.copy(), self.spending and _copied(self.spending)
        return other

    def take(self, told: Told, arm_of: Ints) -> tuple[Ints, Floats, Ints]:
        """Take further told pulls: the numbers of those that count, their inner values, and the arms of the others."""
        question = self._settings.question
        if self.spending is not None:
            self.spending.add(arm_of[told.pulls - 1], self._settings.costs_of(told.values))
        counted, left_out = self.counted.take(told, arm_of)
        inner = question.columns.observed(counted.values)
        if np.isnan(inner).any():
            self._note_failures(arm_of[counted.pulls - 1], np.isnan(inner), counted)
        return counted.pulls, inner, left_out

    def _note_failures(self, arms: Ints, failed: Bools, told: Told) -> None:
        for d, source in enumerate(self._settings.question.columns.sources):
            self.failed[:, d] += np.bincount(arms[failed[:, d]], minlength=len(self.failed))
            measured = told.values[:, source]
            unusable = np.flatnonzero(failed[:, d] & np.isfinite(measured))
            self.unusable[d] += len(unusable)
            if len(unusable):
                self.examples.setdefault(d, (int(arms[unusable[0]]), float(measured[unusable[0]])))
        self.stopped += np.bincount(arms[told.ends == End.STOPPED], minlength=len(self.stopped))
        positions, reasons = np.flatnonzero(failed.any(axis=1)), reasons_of(told)
        for arm in np.unique(arms[positions]).tolist():
            self.reasons[arm] = Counter(self.reasons.get(arm))  # not one that a copy shares
        for position, arm in zip(positions.tolist(), arms[positions].tolist(), strict=True):
            self.reasons[arm][reasons[position] or NOT_USABLE] += 1
            reason, _, said = told.reasons[position].partition(MARK)
            if said:
                self.said[arm] = f"{reason}: {said}"
