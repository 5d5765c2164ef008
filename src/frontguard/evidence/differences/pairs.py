"""Differences within pairs: arms that were measured on the same item, seed or block; docs/theory.md, (s).

Of the r-th block V_r = (1 + Y_{j,r} − Y_{i,r}) / 2 is bet on, in place of values (`evidence.bets`, or
`differences.lists` where blocks are the items of a finite list). In a log that is looked at once, values that are all 0
or 1 have an exact bound (`differences.discordant`), and bets on others aim at the number of blocks where nobody lies.

Blocks are counted in their order, up to the first that is not back: bounds hold at every number of them. A failed
measurement may have been anything. A study keeps values by block (`WithinBlocks`); in a log rows of one arm and block
are one observation, as in `evidence.clusters`, and two arms are compared on the blocks that both have (`PairReader`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from frontguard._common.compiled import kernel
from frontguard._common.typing import Bools, Floats, Ints
from frontguard.errors import BadArgument, BadInput
from frontguard.evidence.bets import BETS, MOST_AIMED, add_bets, aimed_mean, unrefuted_mean, weights_for
from frontguard.evidence.clusters import Clustered, ClusterReader
from frontguard.evidence.confidence_sequences import taken_away_each, threshold_of
from frontguard.evidence.differences import Compared, InBlocks, Sampled
from frontguard.evidence.differences.discordant import MOST_WORK, highest_difference, score_limit, score_of
from frontguard.evidence.differences.lists import (
    NEVER,
    counted_on,
    hidden_share,
    hits_at_most,
    list_bounds,
    refresh_lists,
    unrefuted_list_mean,
)
from frontguard.evidence.differences.two_sample import CheckBounds
from frontguard.evidence.intervals import COLUMNS, ArmIntervals
from frontguard.evidence.kinds import RELATIVE, SLOPE, IntervalRule, LogLook, Statistic, inner_of_mean
from frontguard.evidence.measurements import ComparedLog
from frontguard.evidence.power import least_of_pairs
from frontguard.evidence.statistics import BOUNDED_MEAN, EXACT, kinds_and_scales, noisy
from frontguard.notices import InPairs, Notice
from frontguard.theory.threats import Threat

SHARE = 0.5
"""Of δ, what differences within pairs, or blocks, get where there are any; intervals have the rest."""

ONE_LOOK_SHARE = 0.9
"""The same in a log that is looked at once, all of whose metrics are compared so: intervals hardly decide then."""

HITS_SHARE = 1 / 3
"""Of δ of the intervals of a list, what is kept for how many measurements were replaced, where chance decides that."""

MOST_ARMS = 300
"""Arms up to which all pairs are looked at."""

_SEED = 0  # of the order in which blocks are read at one look


class PairRule(NamedTuple):
    """By what differences within pairs are bounded: of M objectives, and under the threat to one of them."""

    usable: Bools  # (M,): see `pairs_of`
    reach: Floats  # (M,): b − a, from a difference of values in [0, 1] to one of inner values
    threshold: float  # log(1/δ') of each ordered pair
    surviving: Floats  # (2,): keep(ν) = surviving[0] · ν − surviving[1]
    taken: float  # the share of each arm's measurements that may be replaced afterwards
    items: int  # of the list that blocks are drawn from, without replacement; 0 where there is none
    hits: Floats  # (items + 1,): see `hits_at_most`; of each arm
    one_look: bool = False


def pairs_of(statistics: Sequence[Statistic]) -> Bools:
    """Return the objectives (M,) whose differences can be bounded: means of values with bounds, and no percentages."""
    kinds, scales = kinds_and_scales(statistics)
    return np.asarray((kinds == BOUNDED_MEAN) & (scales[:, RELATIVE] == 0.0))


def hits_delta(delta: float, arms: int, statistics: Sequence[Statistic]) -> float:
    """Return the part of δ for how many items of one arm and objective were replaced, where chance decides that."""
    return (1.0 - SHARE) * HITS_SHARE * delta / (max(1, arms) * noisy(statistics))


def pair_rule(
    threat: Threat,
    statistics: Sequence[Statistic],
    *,
    pairs: int,
    delta: float,
    items: int = 0,
    hits: Floats | None = None,
    one_look: bool = False,
) -> PairRule:
    """Bounds of so many ordered pairs of arms in all usable objectives, which hold at once with probability 1 − δ.

    `threat` is that to the objective of which it is read; with a list of items, `hits` is what `hits_at_most` gave the
    intervals of the arms in it, at a share of δ of theirs.

    >>> from frontguard import Objective, Prescient
    >>> rule = pair_rule(Prescient(0.1), (Statistic(BOUNDED_MEAN, scale=(1, 4, 1, 0, 1)),), pairs=6, delta=0.05)
    >>> rule.reach.tolist(), rule.surviving.tolist()
    ([4.0], [0.9, 0.0])
    """
    usable = pairs_of(statistics)
    _, scales = kinds_and_scales(statistics)
    threshold = threshold_of(delta / max(1, pairs * int(usable.sum())))
    reach, surviving = np.abs(scales[:, SLOPE]), np.array(threat.surviving)
    hits = np.zeros(1) if hits is None else hits
    return PairRule(usable, reach, threshold, surviving, threat.taken, items, hits, one_look)


class WithinBlocks(InBlocks):
    """Differences within blocks: the r-th measurements of all arms are of the same item, seed or day.

    `items`: blocks are the items of a finite list with so many, drawn at random, and what counts are means over the
    list, of which the intervals are then as well (`differences.lists`).
    """

    columns = 1

    def __init__(
        self, compared: Compared, threat: Threat, statistics: Sequence[Statistic], *, delta: float, items: int = 0
    ) -> None:
        super().__init__(compared, len(statistics))
        if compared.arms > MOST_ARMS:
            raise BadInput(
                f"pairs are looked at for up to {MOST_ARMS} arms; got {compared.arms}: leave pairs and items away"
            )
        check_counted(statistics if items else statistics[: compared.objectives], items)
        self.items = items
        chance = items > 0 and threat.eps > 0.0 and threat.taken == 0.0
        self.of_intervals = (1.0 - SHARE) * (1.0 - HITS_SHARE if chance else 1.0)
        own = [threat.of(d) for d in range(len(statistics))]
        least = hits_delta(delta, compared.arms, statistics)
        self.hits = np.array([hits_at_most(each, items, least) if items else np.zeros(1) for each in own])
        self.rules = [
            pair_rule(
                each, statistics[: compared.objectives], pairs=compared.ordered_pairs, delta=SHARE * delta, items=items,
                hits=hits,
            )
            for each, hits in zip(own, self.hits, strict=True)
        ]  # fmt: skip
        self.usable = self.rules[0].usable
        self._hidden = hidden_share(threat, items, least) if items else 0.0
        self.begin()

    def adapt(self, rule: IntervalRule) -> IntervalRule:
        """Return the rule without intervals of means that a list, sampled without replacement, does not have."""
        self._intervals = rule
        if not self.items:
            return rule
        means = rule.kinds == BOUNDED_MEAN
        return rule._replace(thresholds=np.where(means, NEVER, rule.thresholds))

    def add(self, arms: Ints, reps: Ints, values: Floats) -> None:
        """Put values (n, C) of arms where their blocks are."""
        last = int(reps.max(initial=1))
        if reps.min(initial=1) < 1 or (self.items and last > self.items):
            wanted = f"from 1 to {self.items}" if self.items else "from 1"
            raise BadInput(f"reps must be {wanted}; got {int(reps.min())} to {last}")
        super().add(arms, reps, values)

    def refresh(self, now: Sampled) -> bool:
        """Bring bounds of differences, and the intervals of a list, up to date; return whether one was found false."""
        values, back = self.blocks.values, self.blocks.back
        complete, touched = back.argmin(axis=1), np.zeros(self.compared.arms, np.bool_)
        touched[now.touched] = True
        found_false = False
        if self.items:
            found_false = bool(
                refresh_lists(
                    now.intervals, values, complete, now.asked, touched, now.samples, self._intervals, self.items,
                    self.hits,
                )
            )  # fmt: skip
        its = self.compared.baseline
        sets = [now.alive] if its is None else [np.array([its, arm]) for arm in now.alive.tolist() if arm != its]
        have = np.logical_and.accumulate(back, axis=1)
        for d in np.flatnonzero(self.usable).tolist():
            rule = self.rules[d]
            taken = taken_away_each(rule.taken, now.asked)
            most, least = (np.where(np.isnan(values[d]), instead, values[d]) for instead in (1.0, 0.0))
            for arms in sets:
                found = np.full((len(arms), len(arms)), np.inf)
                compare_pairs(found, most, least, have, arms, touched, taken, 1.0, rule)
                j, i = np.nonzero(found < np.inf)
                where = arms[j], COLUMNS + arms[i], d
                now.intervals[where] = np.minimum(now.intervals[where], upper_differences(found[j, i], rule, d))
        return found_false

    def notices(self) -> tuple[Notice, ...]:
        """Return on how many blocks arms are compared."""
        values, back = self.blocks.values, self.blocks.back
        complete = back.argmin(axis=1)
        failed = np.isnan(np.where(back, values, 0.0)).any(axis=(0, 2))
        whole, items = (complete == self.items) & ~failed, self.items
        least, most = int(complete.min()), int(complete.max())
        return (
            InPairs(("rep",), most, least, most, items, int(whole.sum()) if items else 0, self._hidden, len(complete)),
        )


def check_counted(statistics: Sequence[Statistic], items: int, names: Sequence[str] = ()) -> None:
    """Refuse statistics of which no differences count, and those that a list has no bounds for; `names` of these."""
    wanted = "statistic='mean', bounds=(0, 1) (--mean METRIC, --mean METRIC=LOW,HIGH)"
    if items:
        for d, each in enumerate(statistics):
            if each.kind not in (BOUNDED_MEAN, EXACT):
                which = repr(names[d]) if names else "each objective"
                raise BadArgument(
                    "items",
                    f"of a finite list means with bounds count, such as rates, and exact values; give {which} {wanted}",
                )
    elif not pairs_of(statistics).any():
        raise BadArgument(
            "pair" if names else "paired",
            "differences count for means of values with bounds, such as rates, with a tolerance that is no "
            f"percentage; give a metric {wanted}",
        )


@kernel
def unrefuted_difference(seen: Floats, hidden: Floats, taken: int, times: float, rule: PairRule) -> float:
    """The largest ν that V (n,) do not refute, of which `taken` may be anything; 1 of none.

    It is that of what replacements leave of ν; of a list, ν itself, where `hidden` (n + 1,) may be missing in the sums
    of V. With more blocks foreseen than there are, in proportion, `times` as many.
    """
    n = seen.shape[0]
    if n == 0:
        return 1.0
    xi = counted_on(seen, taken)
    if rule.items > 0:
        missing = hidden + 0.5 * taken  # each replaced value takes half of it from V at most
        kept, less = rule.surviving[0], rule.surviving[1]
        return unrefuted_list_mean(xi, seen, missing, rule.items, kept, less, rule.threshold)
    sums = np.zeros(BETS)
    add_bets(sums, xi, np.ones(n), n, False)
    sums *= times
    return unrefuted_mean(sums, n * times, rule.threshold, weights_for(n * times, rule.threshold, rule.one_look))


@kernel
def compare_pairs(
    found: Floats, most: Floats, least: Floats, have: Bools, arms: Ints, touched: Bools, taken: Ints, times: float,
    rule: PairRule,
) -> None:  # fmt: skip
    """Write `unrefuted_difference` (n, n) of ordered pairs (j, i) of these arms, one of which was touched.

    `most`, `least` (K, R) are values in [0, 1] of arms by block, with what failed as 1 and as 0; `have` says on which
    blocks an arm was measured. `taken` (K,) measurements of each may be replaced. Of a list, the hits among the blocks
    that both have are no more than those among all of each arm up to there. Pairs without a block are left as they are.
    """
    n, R = arms.shape[0], most.shape[1]
    seen, hidden = np.empty(R), np.zeros(R + 1)
    for a in range(n):
        for b in range(n):
            j, i = arms[a], arms[b]
            if i == j or not (touched[i] or touched[j]):
                continue
            count, of_i, of_j = 0, 0, 0
            for r in range(R):
                of_i += have[i, r]
                of_j += have[j, r]
                if have[i, r] and have[j, r]:
                    seen[count] = (1.0 + most[j, r] - least[i, r]) / 2.0
                    count += 1
                    if rule.items > 0:
                        hidden[count] = 0.5 * (rule.hits[of_i] + rule.hits[of_j])
            if count > 0:
                both = taken[i] + taken[j]
                found[a, b] = unrefuted_difference(seen[:count], hidden[: count + 1], both, times, rule)


def compare_truths(
    most: Floats, least: Floats, have: Bools, arms: Ints, taken: Ints, times: float, rule: PairRule
) -> Floats:
    """`compare_pairs` of values that are 0 or 1, exactly; with more blocks foreseen, about so."""
    found, delta = np.full((len(arms), len(arms)), 2.0), math.exp(-rule.threshold)
    for a, b in np.argwhere(~np.eye(len(arms), dtype=np.bool_)).tolist():
        j, i = arms[a], arms[b]
        more = (most[j] - least[i])[have[j] & have[i]]
        n, wins, losses = len(more), float((more > 0.0).sum() + taken[i] + taken[j]), float((more < 0.0).sum())
        if times > 1.0 and n:
            found[a, b] = 1.0 + score_limit(wins * times, losses * times, n * times, score_of(delta))
        else:
            found[a, b] = 1.0 + highest_difference(wins, losses, n, delta)
    return np.minimum(1.0, 0.5 * found)


def compare_once(most: Floats, least: Floats, have: Bools, arms: Ints, times: float, rule: PairRule) -> Floats:
    """`compare_pairs` at one look where nobody lies, of so few; with more blocks foreseen, about so."""
    found = np.ones((len(arms), len(arms)))
    drawn = np.random.default_rng(_SEED).permutation(have.shape[1])
    for a, b in np.argwhere(~np.eye(len(arms), dtype=np.bool_)).tolist():
        j, i = arms[a], arms[b]
        both = drawn[have[j, drawn] & have[i, drawn]]
        if len(both):
            seen = (1.0 + most[j, both] - least[i, both]) / 2.0
            mean = float(seen.mean())
            found[a, b] = mean + (aimed_mean(seen, rule.threshold) - mean) / math.sqrt(times)
    return found


def upper_differences(found: Floats, rule: PairRule, d: int) -> Floats:
    """Upper bounds of μ_j − μ_i as inner values of objective d, from the largest ν that were not refuted."""
    nu = found if rule.items else (found + rule.surviving[1]) / rule.surviving[0]
    return np.asarray((2.0 * np.minimum(1.0, nu) - 1.0) * rule.reach[d])


@dataclass(frozen=True, eq=False)
class PairedLog(ComparedLog, Clustered):
    """A log with clusters that are blocks, the same for all arms; `items` is the length of their list, 0 for none."""

    items: int = field(default=0, kw_only=True)
    alone: bool = field(default=False, kw_only=True)  # at one look, differences decide all that is not exact

    @property
    def of_pairs(self) -> float:
        """The part of δ that differences have."""
        return ONE_LOOK_SHARE if self.alone else SHARE

    @property
    def dependent(self) -> Bools:
        """The arms (K,) that have several rows in a block."""
        return np.zeros(len(self.pulls), np.bool_) if self.arms_of_study else super().dependent


class PairReader(ClusterReader):
    """Reads intervals off a log with blocks, and what the differences within pairs say beside them."""

    ordered: PairedLog

    def _begin(self) -> None:
        super()._begin()
        self.of_intervals = 1.0 - self.ordered.of_pairs
        check_counted(self.statistics, self.ordered.items, [each.name for each in self.objectives])
        self._left: dict[tuple[float, ...], Floats] = {}  # (n, n) by objective and how far is foreseen: for all ε
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
            log, metric = self.ordered, self.kinds[d].metric
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
        items, counted = self.ordered.items, self.statistics
        arms, pairs, delta = self.ordered.sharing(self._delta)
        hits = hits_at_most(threat, items, hits_delta(delta, arms, counted)) if items else None
        return pair_rule(
            threat, counted, pairs=pairs, delta=self.ordered.of_pairs * delta, items=items, hits=hits,
            one_look=not self._anytime,
        )  # fmt: skip

    def _compared(self, d: int, arms: Ints, threat: Threat, times: float, rule: PairRule) -> Floats:
        """The largest ν (n, n) that are not refuted of these arms in objective d."""
        most, least = self._by_block(d)
        taken = taken_away_each(threat.taken, self.ordered.pulls)
        if self._truths(d, rule):
            return compare_truths(most, least, self._have, arms, taken, times, rule)
        once = np.zeros(1)
        if rule.one_look and not rule.items and self._pairs(rule) * self._have.shape[1] <= MOST_AIMED:
            once = compare_once(most, least, self._have, arms, times, rule)
            if threat.eps == 0.0:
                return once
        found, everyone = np.ones((len(arms), len(arms))), np.ones(len(self._have), np.bool_)
        compare_pairs(found, most, least, self._have, arms, everyone, taken, times, rule)
        return np.maximum(found, once)  # who may lie leaves no less open

    def _pairs(self, rule: PairRule) -> int:
        """Ordered pairs of arms, in all objectives."""
        return self.ordered.sharing(self._delta)[1] * int(rule.usable.sum())

    def _truths(self, d: int, rule: PairRule) -> bool:
        """True if pairs of 0 and 1 have their exact bound: at one look, and not too many.

        That all values are so is a property of what measures: see `means.BoundedMean`.
        """
        few = self._pairs(rule) * self._have.shape[1] ** 1.5 <= MOST_WORK
        if not few or not rule.one_look or rule.items or self.ordered.sizes.max(initial=1) > 1:
            return False
        return all(np.isin(each[self._have], (0.0, 1.0)).all() for each in self._by_block(d))

    def _designed(self, intervals: ArmIntervals, look: LogLook) -> ArmIntervals:
        """The intervals, and what pairs say; foreseen pulls are on more blocks like those that there are."""
        intervals, least, items = super()._designed(intervals, look), look.least, self.ordered.items
        shown = int(self.pulls.max(initial=1))
        whole = items > 0 and least >= items  # what all of them would say, as far as these show it
        if items and not whole:
            self._put_list_intervals(intervals, look.threat)
        n = len(self._arms)
        apart = np.full((n, n, len(self.objectives)), np.inf)
        for d in np.flatnonzero(pairs_of(self.statistics)).tolist():
            threat = look.threat.of(d)
            rule = self._rule(threat)
            times = 1.0 if least <= shown or items else least / shown
            if whole:
                rule, times = rule._replace(items=0), 1e6
            known = (d, times, threat.eps > 0.0)
            found = self._left.get(known) if threat.taken == 0.0 and not rule.items else None
            if found is None:
                found = self._left[known] = self._compared(d, self._arms, threat, times, rule)
            apart[:, :, d] = upper_differences(found, rule, d)
        return replace(intervals, apart=apart)

    def between(self, d: int, pair: tuple[int, int], threat: Threat, share: float) -> Floats:
        """Upper bounds (2,) of an arm less another one in an objective, and the other way round, each by itself."""
        threat = threat.of(d)
        rule, arms = self._rule(threat), np.array(pair)
        if not rule.usable[d]:  # it is exact
            low, high = self.kinds[d].interval(LogLook(threat, self.pulls), share)
            return np.asarray(high[arms] - low[arms[::-1]])
        rule = rule._replace(threshold=threshold_of(share))
        known = (d, share, threat.eps > 0.0, *pair)
        found = self._left.get(known) if threat.taken == 0.0 else None
        if found is None:
            found = self._left[known] = self._compared(d, arms, threat, 1.0, rule)
        return upper_differences(found[[0, 1], [1, 0]], rule, d)

    def least_found(
        self, d: int, pairs: Sequence[Sequence[int]], threat: Threat, share: float | None = None, tolerance: float = 0.0
    ) -> tuple[int, float] | None:
        """Return how many pairs of 0 and 1 two arms have, and the least difference they find; of several the largest.

        In inner values, at an error of `share`, by itself unless given; None of other values.
        """
        rule, found = self._rule(threat.of(d)), (0, 0.0)
        if not self._truths(d, rule):
            return None
        for pair in pairs:
            values = self._by_block(d)[1][list(pair)][:, self._have[list(pair)].all(axis=0)]
            n, wins = values.shape[1], min((values[0] > values[1]).sum(), (values[1] > values[0]).sum())
            delta, reach = math.exp(-rule.threshold) if share is None else share, float(rule.reach[d])
            least = least_of_pairs(n, threat.of(d), tolerance / reach, delta, (wins + 0.5) / n) if n else math.inf
            found = max(found, (n, reach * least), key=lambda each: each[1])
        return found

    def checks(self, its: Ints, mine: Ints, threat: Threat, delta: float) -> CheckBounds:
        """Compare candidates with their baselines, by the rows `mine` and `its` (P,); docs/theory.md, (cc) and (ff)."""
        shape, tolerances = (len(its), len(self.objectives)), [each.inner_tolerance for each in self.objectives]
        half, line = 0.5 * delta, 0.5 * delta / (noisy(self.statistics) * len(its))
        ahead, behind, ahead_line, together = (np.empty(shape) for _ in range(4))
        for row, d in np.ndindex(shape):
            pair = int(mine[row]), int(its[row])
            ahead[row, d], behind[row, d] = self.between(d, pair, threat, half)
            ahead_line[row, d], together[row, d] = self.between(d, pair, threat, line)
        worse = ahead_line < -np.array(tolerances)
        return CheckBounds(ahead, behind, together, worse, worse)

    def _put_list_intervals(self, intervals: ArmIntervals, threat: Threat) -> None:
        """Put the intervals of means over the list in the place of those of a law."""
        chance = threat.eps > 0.0 and threat.taken == 0.0  # which decides then how many items were replaced
        threshold = threshold_of(self._shares.each * (1.0 - HITS_SHARE if chance else 1.0))
        for d, each in enumerate(self.statistics):
            if each.kind != BOUNDED_MEAN:
                continue
            rule = self._rule(threat.of(d))
            most, least = self._by_block(d)
            scale = np.array(each.scale)
            for place, arm in enumerate(self._arms.tolist()):
                here = self._have[arm]
                values = np.where(most[arm, here] == least[arm, here], most[arm, here], np.nan)
                low, high = list_bounds(
                    values, len(values), int(self.ordered.pulls[arm]), self.ordered.items, rule.hits,
                    rule.surviving, rule.taken, threshold,
                )  # fmt: skip
                intervals.lower[place, d] = inner_of_mean(low, scale)
                intervals.upper[place, d] = inner_of_mean(high, scale)
