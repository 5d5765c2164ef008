"""Logs whose arms are compared in pairs: measured on the same items, seeds or days, or independently of each other.

*Within blocks.* A column says on which block a row was measured. Rows of one arm and block are one observation, as in
`logs.clustered`; two arms are compared on the blocks that both have (`evidence.pairs`; docs/theory.md, (s)). Where
blocks are the items of a finite list, boxes of means are those of its mean (`evidence.lists`; (t)).

*Independent arms.* What an arm's rows say of m is an end at every level: m < L(a) with probability e⁻ᵃ at most, and
m > H(a) likewise. Two boxes bound m_j − m_i by H_j(a) − L_i(a) for one large a, so that none of all boxes fails. Where
arms are independent, the level up to which both fail is a sum of two independent numbers; H_j(a) − L_i(b) is looked at
for all a + b that are improbable enough, and the largest of these is a sharper bound. Since both levels may be those of
any number of rows, the threshold is the one for evidence that is the largest of all time (`evidence.apart`), whoever
lies, and however the log came about. It serves quantiles, means and rates alike. Proof: docs/theory.md, (u).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from frontguard._common.typing import Bools, Floats, Ints
from frontguard.errors import BadArgument
from frontguard.evidence.apart import check_arms
from frontguard.evidence.boundaries import taken_away_each
from frontguard.evidence.boxes import ArmBoxes
from frontguard.evidence.lists import hidden_share, hits_at_most, list_bounds
from frontguard.evidence.means import threshold_of
from frontguard.evidence.pairs import (
    HITS_SHARE,
    MOST_ARMS,
    SHARE,
    PairRule,
    check_counted,
    hits_delta,
    pair_rule,
    unrefuted_pairs,
)
from frontguard.evidence.statistics import BOUNDED_MEAN, EXACT, NORMAL_MEAN, inner_of_mean, statistics_of
from frontguard.logs.boxes import Ahead, BoxReader
from frontguard.logs.clustered import ClusterBoxReader, Clustered, with_clusters
from frontguard.logs.sort.ordered import Ordered
from frontguard.notices import IndependentArms, InPairs, Notice
from frontguard.objectives import Objective
from frontguard.phrases import quoted
from frontguard.question import Question
from frontguard.theory.threats import Threat

MOST_CELLS = 30_000_000
"""Arms times blocks times objectives up to which all pairs are looked at: some hundred megabytes."""

STEP = 0.25
"""How far apart the levels are at which ends of independent arms are read."""


@dataclass(frozen=True, eq=False)
class ComparedLog(Ordered):
    """A log whose arms are compared in pairs, with half of δ (`SHARE`); tolerances may be tried: rivals get nothing."""

    arms_of_study: int = field(default=0, kw_only=True)  # that share δ, where some of them are left out
    ordered_pairs: int = field(default=0, kw_only=True)  # that are compared; all unless given

    def sharing(self, delta: float) -> tuple[int, int, float]:
        """The arms that share δ, how many ordered pairs are compared, and all of δ; `delta` is that of these arms."""
        here = max(1, len(self.pulls))
        arms = self.arms_of_study or here
        return arms, self.ordered_pairs or arms * (arms - 1), delta * arms / here


def as_designed(log: Ordered, question: Question, compared: int = 0) -> tuple[Ordered, tuple[Notice, ...]]:
    """The log with its pairs, or its arms as independent of each other, as the question has it; and what is said of it.

    `compared`: how many ordered pairs of arms are, all unless given.
    """
    if question.pair and isinstance(log, Clustered):
        return in_pairs(log, question, compared)
    if question.independent:
        return IndependentLog.of(log, ordered_pairs=compared), (IndependentArms(len(log.pulls)),)
    return log, ()


def box_reader(ordered: Ordered, objectives: Sequence[Objective], delta: float, *, anytime: bool) -> BoxReader:
    """What reads boxes off this log."""
    kinds: tuple[tuple[type[Ordered], type[BoxReader]], ...] = (
        (PairedLog, PairBoxReader),
        (Clustered, ClusterBoxReader),
        (IndependentLog, IndependentBoxReader),
    )
    kind = next((reader for log, reader in kinds if isinstance(ordered, log)), BoxReader)
    return kind(ordered, objectives, delta, anytime=anytime)


# Within blocks --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class PairedLog(ComparedLog, Clustered):
    """A log with clusters that are blocks, the same for all arms; `items` is the length of their list, 0 for none.

    Of a study, pulls are one to a block, and count in the order of blocks up to the first that is not back.
    """

    items: int = field(default=0, kw_only=True)

    @property
    def dependent(self) -> Bools:
        """The arms (K,) that have several rows in a block."""
        return np.zeros(len(self.pulls), np.bool_) if self.arms_of_study else super().dependent

    @classmethod
    def of(cls, log: Clustered, items: int | None, ordered_pairs: int = 0) -> PairedLog:
        """The same log. Refuses a list whose items were measured twice, or are more than it has."""
        if items is not None:
            for arm in np.flatnonzero(log.dependent)[:1].tolist():
                slot = log.begins[arm] + int(np.argmax(log.sizes[log.begins[arm] : log.begins[arm + 1]] > 1))
                raise BadArgument(
                    "items",
                    f"an arm is measured once on each item of a list; {quoted([log.arms[arm]])} has "
                    f"{log.sizes[slot]} rows with the same {quoted(log.columns)}: leave items away, and they count as "
                    "one observation by their mean",
                )
            found = len(np.unique(log.labels))
            if found > items:
                raise BadArgument(
                    "items", f"the log has {found:,} different {quoted(log.columns)}; got a list of {items:,}"
                )
        return cls(**vars(log), items=items or 0, ordered_pairs=ordered_pairs)


def of_pulls(
    ordered: Ordered, arm_of: Ints, reps: Ints, values: Floats, usable: Floats, *, items: int, arms: int
) -> PairedLog:
    """The told pulls of a study of so many `arms`, (n,) of those in `ordered`, by the number of the repeat.

    `ordered` are the same pulls, and those that are under way; `usable` (M, 2) says which values did not fail.
    """
    log = with_clusters(ordered, ("rep",), arm_of, reps - 1, list(values.T), usable)
    return PairedLog(**vars(log), items=items, arms_of_study=arms)


def in_pairs(log: Clustered, question: Question, compared: int = 0) -> tuple[Clustered, tuple[Notice, ...]]:
    """The log with its pairs, unless arms and blocks are too many for all to be looked at; and what is said of them."""
    objectives, items = question.columns.boxed, question.items
    check_counted(statistics_of(objectives), items or 0, [each.name for each in objectives])
    counts, arms = log.clusters, len(log.pulls)
    looked = arms <= MOST_ARMS and arms * (int(log.labels.max(initial=0)) + 1) * len(objectives) <= MOST_CELLS
    complete, hidden = 0, 0.0
    if items is not None:
        if not looked:
            raise BadArgument("items", f"a list is looked at for up to {MOST_ARMS} arms; got {arms:,}")
        complete = int(((counts == items) & (log.failed_pulls == 0)).sum())
        hidden = hidden_share(question.threat, items, hits_delta(question.delta, arms, statistics_of(objectives)))
    blocks, least, most = len(np.unique(log.labels)), int(counts.min()), int(counts.max())
    said = InPairs(log.columns, blocks, least, most, items or 0, complete, hidden, arms, looked)
    return PairedLog.of(log, items, compared) if looked else log, (said,)


class PairBoxReader(ClusterBoxReader):
    """Reads boxes off a log with blocks, and what the differences within pairs say beside them.

    The latter have half of δ.

    >>> from frontguard import Prescient
    >>> hard = np.random.default_rng(0).random(200) / 2
    >>> order = np.argsort(hard)
    >>> log = PairedLog(
    ...     ["a", "b"], ("score",), np.array([200, 200]), np.array([[0, 200, 400]]),
    ...     (np.concatenate([hard[order], hard[order] + 0.05]),), columns=("question",), begins=np.array([0, 200, 400]),
    ...     sizes=np.ones(400, np.int64), owners=(np.tile(order, 2),), labels=np.tile(np.arange(200), 2),
    ... )
    >>> score = Objective("score", statistic="mean", bounds=(0, 1))
    >>> boxes = PairBoxReader(log, [score], 0.05).read(Prescient(0.0))
    >>> bool(boxes.upper[0, 0] > boxes.lower[1, 0]), bool(boxes.apart[0, 1, 0] < 0.0)
    (True, True)
    """

    ordered: PairedLog
    of_boxes = 1.0 - SHARE

    def _begin(self) -> None:
        super()._begin()
        check_counted(self._statistics, self.ordered.items, [each.name for each in self.objectives])
        self._unrefuted: dict[tuple[int, float], Floats] = {}  # (n, n) by objective and how far is foreseen: for all ε
        self._values: dict[int, tuple[Floats, Floats]] = {}
        K, blocks = len(self.ordered.pulls), int(self.ordered.labels.max(initial=-1)) + 1
        self._arm_of_slot = np.repeat(np.arange(K), self.ordered.clusters)
        self._have = np.zeros((K, blocks), np.bool_)
        self._have[self._arm_of_slot, self.ordered.labels] = True
        if self.ordered.arms_of_study:
            self._have &= np.logical_and.accumulate(self._have, axis=1)

    def _by_block(self, d: int) -> tuple[Floats, Floats]:
        """The values (K, R) in [0, 1] of arms on blocks: their means, with what failed as 1, and as 0."""
        if d not in self._values:
            log, metric = self.ordered, self._columns[d]
            slots = np.repeat(log.begins[:-1], np.diff(log.starts[metric])) + log.owners[metric]
            observed = self.objectives[d].observed(log.values[metric][: log.starts[metric, -1]])
            sums = np.bincount(slots, observed, minlength=len(log.sizes))
            failed = log.sizes - np.bincount(slots, minlength=len(log.sizes))
            most, least = np.ones(self._have.shape), np.zeros(self._have.shape)
            most[self._arm_of_slot, log.labels] = np.minimum(1.0, (sums + failed) / log.sizes)
            least[self._arm_of_slot, log.labels] = np.minimum(1.0, sums / log.sizes)
            self._values[d] = most, least
        return self._values[d]

    def _rule(self, threat: Threat) -> PairRule:
        items, counted = self.ordered.items, self._statistics
        arms, pairs, delta = self.ordered.sharing(self._delta)
        hits = hits_at_most(threat, items, hits_delta(delta, arms, counted)) if items else None
        return pair_rule(threat, counted, pairs=pairs, delta=SHARE * delta, items=items, hits=hits)

    def _designed(self, boxes: ArmBoxes, threat: Threat, ahead: Ahead) -> ArmBoxes:
        """The boxes, and what pairs say; where more pulls are foreseen, on more blocks like those that there are."""
        boxes, least = super()._designed(boxes, threat, ahead), ahead.least
        rule, items = self._rule(threat), self.ordered.items
        taken = taken_away_each(threat.taken, self.ordered.pulls)
        shown = int(self.pulls.max(initial=1))
        whole = items > 0 and least >= items  # what all of them would say, as far as these show it
        if items and not whole:
            self._put_list_boxes(boxes, threat, rule)
        n, usable = len(self._arms), np.flatnonzero(rule.usable)
        apart = np.full((n, n, len(self.objectives)), np.inf)
        factor, less = threat.surviving
        for d in usable.tolist():
            most, at_least = self._by_block(d)
            times = 1.0 if least <= shown or items else least / shown
            if whole:
                rule = rule._replace(items=np.zeros_like(rule.items))
                times = 1e6
            key = (d, times)
            found = self._unrefuted.get(key) if threat.taken == 0.0 and not rule.items[d] else None
            if found is None:
                found = unrefuted_pairs(most, at_least, self._have, self._arms, taken, times, rule, d)
                if threat.taken == 0.0 and not rule.items[d]:
                    self._unrefuted[key] = found
            nu = np.minimum(1.0, found if rule.items[d] else (found + less) / factor)
            apart[:, :, d] = (2.0 * nu - 1.0) * rule.reach[d]
        return replace(boxes, apart=apart)

    def _put_list_boxes(self, boxes: ArmBoxes, threat: Threat, rule: PairRule) -> None:
        """Put the intervals of means over the list in the place of those of a law."""
        chance = threat.eps > 0.0 and threat.taken == 0.0  # which decides then how many items were replaced
        threshold = threshold_of(self._share * (1.0 - HITS_SHARE if chance else 1.0))
        for d, each in enumerate(self._statistics):
            if each.kind != BOUNDED_MEAN:
                continue
            most, least = self._by_block(d)
            scale = np.array(each.scale)
            for place, arm in enumerate(self._arms.tolist()):
                here = self._have[arm]
                values = np.where(most[arm, here] == least[arm, here], most[arm, here], np.nan)
                low, high = list_bounds(
                    values, len(values), int(self.ordered.pulls[arm]), self.ordered.items, rule.hits,
                    rule.surviving, threat.taken, threshold,
                )  # fmt: skip
                boxes.lower[place, d], boxes.upper[place, d] = inner_of_mean(low, scale), inner_of_mean(high, scale)


# Independent arms -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class IndependentLog(ComparedLog):
    """A log whose arms are independent of each other."""

    @classmethod
    def of(cls, log: Ordered, *, arms_of_study: int = 0, ordered_pairs: int = 0) -> IndependentLog:
        """The same log; refuses one of too many arms, and one whose values are kept in part only."""
        if not log.whole:
            raise BadArgument("independent", "all values are needed, and sketches do not keep them; leave it away")
        check_arms(arms_of_study or len(log.pulls))
        return cls(**vars(log), arms_of_study=arms_of_study, ordered_pairs=ordered_pairs)


def levels_for(delta: float) -> int:
    """N: the fewest steps that the levels of two independent arms together exceed with probability δ' at most.

    An arm's level, in steps, is l at least with probability rˡ at most, r = e^(−1/4): two of them are N at least with
    rᴺ (1 + N (1 − r)).

    >>> levels_for(0.001)
    37
    """
    r = math.exp(-STEP)
    N = max(1, math.floor(-math.log(delta) / STEP))
    while r**N * (1.0 + N * (1.0 - r)) > delta * (1.0 - 1e-9):
        N += 1
    return N


class IndependentBoxReader(BoxReader):
    """Reads boxes off a log of independent arms, and what two of them say together, which has half of δ.

    >>> from frontguard import Prescient
    >>> values = np.concatenate([np.arange(0.0, 1000.0), np.arange(90.0, 1090.0)])
    >>> log = IndependentLog(["a", "b"], ("speed",), np.array([1000, 1000]), np.array([[0, 1000, 2000]]), (values,))
    >>> boxes = IndependentBoxReader(log, [Objective("speed")], 0.05).read(Prescient(0.0))
    >>> float(boxes.upper[0, 0] - boxes.lower[1, 0]), float(boxes.apart[0, 1, 0])
    (-11.0, -31.0)
    """

    ordered: IndependentLog
    of_boxes = 1.0 - SHARE

    def _begin(self) -> None:
        self._compared = [d for d, kind in enumerate(self._kinds) if kind != EXACT]
        _, pairs, delta = self.ordered.sharing(self._delta)
        self._steps = levels_for(SHARE * delta / max(1, pairs * len(self._compared)))

    def _designed(self, boxes: ArmBoxes, threat: Threat, ahead: Ahead) -> ArmBoxes:
        """The boxes, and what pairs say."""
        n = len(self._arms)
        apart = np.full((n, n, len(self.objectives)), np.inf)
        if n > 1:
            low, high = self._at_levels(threat, ahead)
            for place, d in enumerate(self._compared):
                apart[:, :, d] = _largest_left(low[:, :, place], high[:, :, place])
        return replace(boxes, apart=apart)

    def _at_levels(self, threat: Threat, ahead: Ahead) -> tuple[Floats, Floats]:
        """Lower and upper ends (N, n, compared) at the levels 1/4, 2/4, …, N/4: at a higher one, never a closer one."""
        shape = (self._steps, len(self._arms), len(self._compared))
        low, high = np.empty(shape), np.empty(shape)
        for step in range(self._steps):
            share = math.exp(-STEP * (step + 1))
            ranks: dict[float, Ints] = {}
            for place, d in enumerate(self._compared):
                # Of a mixture for both sides, one may have the whole probability of being false.
                one = 0.5 * share if self._anytime and self._kinds[d] == NORMAL_MEAN else share
                low[step, :, place], high[step, :, place] = self._interval(d, threat, ahead, one, ranks)
        return np.minimum.accumulate(low), np.maximum.accumulate(high)


def _largest_left(low: Floats, high: Floats) -> Floats:
    """Of ends (N, n) the largest H_j − L_i, by j and i (n, n), of two levels that are N + 1 steps together."""
    found = np.full((low.shape[1], low.shape[1]), -np.inf)
    for of_i, of_j in zip(low, high[::-1], strict=True):
        np.maximum(found, of_j[:, None] - of_i[None, :], out=found)
    return found
