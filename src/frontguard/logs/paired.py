"""Logs whose arms were measured on the same items, seeds or days: differences within pairs beside the boxes.

A column says on which block a row was measured. Rows of one arm and block are one observation, as in `logs.clustered`;
two arms are compared on the blocks that both have (`evidence.pairs`; docs/theory.md, (s)). Where blocks are the items
of a finite list, boxes of means are those of its mean (`evidence.lists`; (t)).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from frontguard._common.typing import Bools, Floats, Ints
from frontguard.errors import BadArgument
from frontguard.evidence.boundaries import taken_away_each
from frontguard.evidence.boxes import ArmBoxes
from frontguard.evidence.lists import hidden_share, hits_at_most, list_bounds
from frontguard.evidence.means import threshold_of
from frontguard.evidence.pairs import (
    HITS_SHARE,
    MOST_ARMS,
    SHARE,
    PairRule,
    hits_delta,
    pair_rule,
    pairs_of,
    unrefuted_pairs,
)
from frontguard.evidence.statistics import BOUNDED_MEAN, EXACT, inner_of_mean, statistics_of
from frontguard.logs.boxes import BoxReader
from frontguard.logs.clustered import ClusterBoxReader, Clustered
from frontguard.logs.independent import IndependentBoxReader, IndependentLog
from frontguard.logs.sort.ordered import Ordered, Readable
from frontguard.notices import InPairs
from frontguard.objectives import Objective
from frontguard.phrases import quoted
from frontguard.theory.threats import Threat

MOST_CELLS = 30_000_000
"""Arms times blocks times objectives up to which all pairs are looked at: some hundred megabytes."""


@dataclass(frozen=True, eq=False)
class PairedLog(Clustered):
    """A log with clusters that are blocks, the same for all arms; `items` is the length of their list, 0 for none.

    Of a study, `arms_of_study` is how many arms share δ. Its pulls are one to a block, and count in the order of blocks
    up to the first that is not back.
    """

    items: int = field(default=0, kw_only=True)
    arms_of_study: int = field(default=0, kw_only=True)
    ordered_pairs: int = field(default=0, kw_only=True)  # that are compared; all unless given

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
    order = np.lexsort((reps, arm_of))
    begins = np.concatenate([[0], np.cumsum(np.bincount(arm_of, minlength=len(ordered.arms)))])
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order)) - begins[arm_of[order]]
    owners = []
    for d, (least, most) in enumerate(usable.tolist()):
        some = np.flatnonzero((values[:, d] >= least) & (values[:, d] <= most))
        owners.append(place[some[np.lexsort((values[some, d], arm_of[some]))]])
    return PairedLog(
        **vars(ordered), columns=("rep",), begins=begins, sizes=np.ones(len(order), np.int64), owners=tuple(owners),
        labels=reps[order] - 1, items=items, arms_of_study=arms,
    )  # fmt: skip


def in_pairs(
    log: Clustered, objectives: Sequence[Objective], threat: Threat, delta: float, items: int | None, compared: int = 0
) -> tuple[Clustered, InPairs]:
    """The log with its pairs, unless arms and blocks are too many for all to be looked at; and what is said of them.

    `compared`: how many ordered pairs of arms are, all unless given.
    """
    counts, arms = log.clusters, len(log.pulls)
    looked = arms <= MOST_ARMS and arms * (int(log.labels.max(initial=0)) + 1) * len(objectives) <= MOST_CELLS
    complete, hidden = 0, 0.0
    if items is not None:
        if not looked:
            raise BadArgument("items", f"a list is looked at for up to {MOST_ARMS} arms; got {arms:,}")
        complete = int(((counts == items) & (log.failed_pulls == 0)).sum())
        hidden = hidden_share(threat, items, hits_delta(delta, arms, statistics_of(objectives)))
    blocks, least, most = len(np.unique(log.labels)), int(counts.min()), int(counts.max())
    said = InPairs(log.columns, blocks, least, most, items or 0, complete, hidden, arms, looked)
    return PairedLog.of(log, items, compared) if looked else log, said


def check_counted(objectives: Sequence[Objective], items: int) -> None:
    """Refuse objectives of which no differences count, and those that a list has no bounds for."""
    counted = statistics_of(objectives)
    wanted = "statistic 'mean' and bounds (--mean METRIC, --mean METRIC=LOW,HIGH)"
    if items:
        for objective, each in zip(objectives, counted, strict=True):
            if each.kind not in (BOUNDED_MEAN, EXACT):
                raise BadArgument(
                    "items",
                    f"of a finite list means with bounds count, such as rates, and exact values; give "
                    f"{objective.name!r} {wanted}",
                )
    elif not pairs_of(counted).any():
        raise BadArgument(
            "pair",
            "differences count for means of values with bounds, such as rates, with a tolerance that is no "
            f"percentage; give a metric {wanted}",
        )


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

    def __init__(
        self,
        ordered: Readable,
        objectives: Sequence[Objective],
        delta: float,
        *,
        anytime: bool = False,
        among: Ints | None = None,
    ) -> None:
        super().__init__(ordered, objectives, delta, anytime=anytime, among=among)
        check_counted(self.objectives, self.ordered.items)
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

    def _chance(self, threat: Threat) -> bool:
        """Whether chance decides how many items of a list were replaced."""
        return self.ordered.items > 0 and threat.eps > 0.0 and threat.taken == 0.0

    def _rule(self, threat: Threat) -> PairRule:
        items, counted = self.ordered.items, statistics_of(self.objectives)
        here = max(1, len(self.ordered.pulls))
        K = self.ordered.arms_of_study or here
        delta = self._delta * K / here  # what is given is the part of these arms
        hits = hits_at_most(threat, items, hits_delta(delta, K, counted)) if items else None
        return pair_rule(
            threat,
            counted,
            pairs=self.ordered.ordered_pairs or K * (K - 1),
            delta=SHARE * delta,
            items=items,
            hits=hits,
        )

    def read(self, threat: Threat) -> ArmBoxes:
        """The boxes under this threat model, and what pairs say."""
        return self._with_pairs(super().read(threat), threat, 0)

    def foresee(self, threat: Threat, least: int) -> ArmBoxes:
        """The same if every arm had `least` pulls at least, on more blocks like those that there are."""
        return self._with_pairs(super().foresee(threat, least), threat, least)

    def _with_pairs(self, boxes: ArmBoxes, threat: Threat, least: int) -> ArmBoxes:
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
        counted = statistics_of(self.objectives)
        sides = (1.0 - HITS_SHARE) if self._chance(threat) else 1.0
        threshold = threshold_of(self._share * sides)
        for d, each in enumerate(counted):
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


def box_reader(ordered: Readable, objectives: Sequence[Objective], delta: float, *, anytime: bool) -> BoxReader:
    """What reads boxes off this log."""
    kinds: tuple[tuple[type[Ordered], type[BoxReader]], ...] = (
        (PairedLog, PairBoxReader),
        (Clustered, ClusterBoxReader),
        (IndependentLog, IndependentBoxReader),
    )
    kind = next((reader for log, reader in kinds if isinstance(ordered, log)), BoxReader)
    return kind(ordered, objectives, delta, anytime=anytime)
