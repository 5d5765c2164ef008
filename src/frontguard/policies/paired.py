"""The certified policy for arms that are measured on the same items, seeds or blocks, which may be those of a list.

It decides by `pareto.rule` like `Certified`, which reads differences within pairs beside the boxes, wherever these are
sharper (`evidence.pairs`); and where blocks are the items of a finite list, boxes are those of its means
(`evidence.lists`). Values are kept by block besides, since pairs of sorted samples are none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from frontguard._common.checks import checked_count
from frontguard._common.typing import Floats, Ints
from frontguard.errors import BadArgument, BadInput
from frontguard.evidence.boxes import unknown_boxes
from frontguard.evidence.lists import NEVER, hidden_at, hits_at_most, refresh_lists
from frontguard.evidence.pairs import (
    HITS_SHARE,
    MOST_ARMS,
    SHARE,
    hits_delta,
    pair_rule,
    pairs_of,
    refresh_pairs,
)
from frontguard.evidence.statistics import BOUNDED_MEAN, EXACT, Statistic
from frontguard.notices import InPairs, Notice
from frontguard.policies.certified import Certified
from frontguard.policies.pending import Pending
from frontguard.results import Guess, Result
from frontguard.theory.threats import Threat

_ROOM = 64  # blocks at first


class Paired(Certified):
    """`Certified`, for pulls that come in blocks: the r-th pulls of all arms are of the same item, seed or day.

    Half of δ is for the differences within pairs. `items`: blocks are the items of a list with so many, drawn at
    random; no arm is pulled more often, and what counts are means over the list.

    >>> from frontguard import Objective, Prescient
    >>> score = Objective("score", statistic="mean", bounds=(0, 1))
    >>> policy = Paired.for_objectives(2, [score], threat=Prescient(0.0), items=100)
    >>> hard = np.random.default_rng(0).random(100) / 2
    >>> pulled = [0, 0]
    >>> while not policy.done:
    ...     for arm in policy.ask().tolist():
    ...         policy.tell([arm], [[hard[pulled[arm]] + 0.2 * arm]])
    ...         pulled[arm] += 1
    >>> policy.result().verdicts, max(pulled) < 60
    ({'0': 'out', '1': 'in'}, True)
    """

    def __init__(
        self,
        arms: int,
        objectives: int,
        *,
        threat: Threat,
        delta: float = 0.1,
        statistics: Sequence[Statistic] | None = None,
        items: int = 0,
        max_pulls_per_arm: int | None = None,
        **settings: Any,
    ) -> None:
        counted = () if statistics is None else tuple(statistics)
        self.items = checked_count(items, "items") if items else 0
        _check_counted(counted, arms, objectives, self.items)
        chance = self.items > 0 and threat.eps > 0.0 and threat.taken == 0.0
        self._for_sides = (1.0 - SHARE) * (1.0 - HITS_SHARE if chance else 1.0)
        if self.items:
            most = self.items if max_pulls_per_arm is None else min(self.items, max_pulls_per_arm)
            max_pulls_per_arm = most
        super().__init__(
            arms, objectives, threat=threat, delta=delta, statistics=statistics, max_pulls_per_arm=max_pulls_per_arm,
            **settings,
        )  # fmt: skip
        hits = None
        if self.items:
            hits = hits_at_most(threat, self.items, hits_delta(delta, arms, counted))
        self.pairs = pair_rule(
            threat, counted[:objectives], arms=arms, delta=SHARE * delta, items=self.items, hits=hits
        )
        self.list_thresholds = self.rule.thresholds.copy()
        if self.items:  # sampling without replacement breaks what other bounds of means rest on
            means = self.rule.kinds == BOUNDED_MEAN
            self.rule = self.rule._replace(thresholds=np.where(means, NEVER, self.rule.thresholds))
        self._begin()

    def _delta_of_boxes(self, delta: float) -> float:
        return self._for_sides * delta

    def _begin(self) -> None:
        super()._begin()
        K = self.arms
        self.standing = self.standing._replace(boxes=unknown_boxes(K, self.width, pairs=True))
        self.blocks = np.full((self.width, K, _ROOM), np.nan)  # values by block
        self.back = np.zeros((K, _ROOM), np.bool_)  # which of them are back
        self._reps: Ints | None = None  # of what is being told, in the order of arms

    # By block ---------------------------------------------------------------------------------------------------------

    def _take(self, arms: npt.ArrayLike, values: npt.ArrayLike, reps: npt.ArrayLike | None) -> int:
        order = np.argsort(np.atleast_1d(np.asarray(arms)), kind="stable")
        self._reps = None if reps is None else np.asarray(reps, np.int64)[order]
        return super()._take(arms, values, reps)

    def _absorb(self, arms: Ints, values: Floats) -> None:
        reps = self._reps
        if reps is None:
            first = np.searchsorted(arms, arms)
            reps = self.standing.arms["pulls"][arms] + 1 + np.arange(len(arms)) - first
        self._place(arms, reps, values)
        super()._absorb(arms, values)

    def _place(self, arms: Ints, reps: Ints, values: Floats) -> None:
        """Put values (n, C) of arms where their blocks are."""
        if not len(arms):
            return
        last = int(reps.max())
        if reps.min() < 1 or (self.items and last > self.items):
            wanted = f"from 1 to {self.items}" if self.items else "from 1"
            raise BadInput(f"reps must be {wanted}; got {int(reps.min())} to {last}")
        if last >= self.back.shape[1]:  # one place is always left, at which nothing is back
            more = last + 1 + last // 2
            blocks, back = np.full((self.width, self.arms, more), np.nan), np.zeros((self.arms, more), np.bool_)
            blocks[:, :, : self.back.shape[1]], back[:, : self.back.shape[1]] = self.blocks, self.back
            self.blocks, self.back = blocks, back
        if self.back[arms, reps - 1].any():
            raise BadInput("every block of an arm is told once; got one again")
        self.blocks[:, arms, reps - 1] = values.T
        self.back[arms, reps - 1] = True

    def with_pending(self, pending: Pending) -> Self:
        """A copy that has taken what is pending; see `Certified.with_pending`."""
        policy = super().with_pending(pending)
        policy.blocks, policy.back = self.blocks.copy(), self.back.copy()
        for arms, reps, values in pending.by_block:
            policy._place(arms, reps, values)
        return policy

    def result(self, arm_names: Sequence[str] | None = None, objective_names: Sequence[str] | None = None) -> Result:
        """The answer so far; after how many pulls something can be said at least, pairs do not tell beforehand."""
        found = super().result(arm_names, objective_names)
        return found if found.guess is None else replace(found, guess=Guess(found.guess.front, None, None))

    def _notices(self) -> tuple[Notice, ...]:
        """Also on what arms are compared."""
        complete = self.back.argmin(axis=1)
        failed = np.isnan(np.where(self.back, self.blocks, 0.0)).any(axis=(0, 2))
        whole = (complete == self.items) & ~failed
        taken = float(self.pairs.taken[0])
        hidden = float(hidden_at(self.pairs.hits, taken, self.items)[-1]) / self.items if self.items else 0.0
        least, most, K = int(complete.min()), int(complete.max()), self.arms
        said = InPairs(("rep",), most, least, most, self.items, int(whole.sum()) if self.items else 0, hidden, K)
        return (*super()._notices(), said)

    def _refresh(self, touched: Ints, pulls: Ints) -> bool:
        """Boxes, and what differences within pairs say of the arms that are not out."""
        found_false = super()._refresh(touched, pulls)
        complete = self.back.argmin(axis=1)
        standing = self.standing
        here = np.zeros(self.arms, np.bool_)
        here[touched] = True
        asked = standing.arms["pulls"] + self._outstanding
        if self.items:
            found_false |= bool(
                refresh_lists(
                    standing.boxes, self.blocks, complete, asked, here, self.samples, self.rule, self.list_thresholds,
                    self.items, self.pairs.hits,
                )
            )  # fmt: skip
        refresh_pairs(standing.boxes, self.blocks, complete, asked, np.sort(self._alive), here, self.pairs)
        return found_false


def _check_counted(counted: Sequence[Statistic], arms: int, objectives: int, items: int) -> None:
    if arms > MOST_ARMS:
        raise BadInput(f"pairs are looked at for up to {MOST_ARMS} arms; got {arms}: leave pairs and items away")
    if items:
        for each in counted or (Statistic(),):
            if each.kind not in (BOUNDED_MEAN, EXACT):
                raise BadArgument(
                    "items",
                    "of a finite list means with bounds count, such as rates, and exact values: "
                    "statistic='mean', bounds=(0, 1); got another statistic",
                )
    elif not pairs_of(counted[:objectives] or (Statistic(),)).any():
        raise BadInput(
            "pairs: differences count for means of values with bounds, such as rates, with a tolerance that is no "
            "percentage: statistic='mean', bounds=(0, 1); got no such objective"
        )
