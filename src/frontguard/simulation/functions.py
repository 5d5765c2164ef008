"""Policies and attackers that are plain Python functions: slower than compiled ones, and as quick to write as to read.

A *policy* is a generator function `play(arms, objectives)`: it yields the arms to pull, one number for each pull, is
sent their rewards (pulls, M), of which larger are better, and returns the arms that it keeps.

>>> def fifty_each(arms, objectives):
...     rewards = yield np.repeat(np.arange(arms), 50)
...     medians = np.median(rewards.reshape(arms, 50, objectives), axis=1)
...     return [i for i in range(arms) if not (medians > medians[i]).all(axis=1).any()]

An *attacker* is a function `attack(rewards, arm, rng)` of the next true rewards (n, M) of an arm, of which it returns
replacements (n, M); if it may choose its hits, (replacements, hits). It is shown what its threat lets it see: one that
is oblivious gets NaN in the place of rewards, an even-handed one the arm −1.

>>> def flatter(rewards, arm, rng):
...     return rewards + 10.0 if arm == 2 else rewards
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from math import sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from frontguard._common.typing import Bools, Floats, Ints
from frontguard.errors import BadArgument
from frontguard.theory.threats import EvenHanded, Malicious, Oblivious, Share, Threat
from frontguard.verdicts import Verdict

Play = Callable[[int, int], Generator[npt.ArrayLike, Floats, Iterable[int]]]
Attack = Callable[[Floats, int, np.random.Generator], Any]


class FunctionPolicy:
    """One run of a policy that a function plays, driven by ask and tell."""

    def __init__(self, play: Play, arms: int, objectives: int) -> None:
        self.play, self.arms, self.objectives = play, arms, objectives
        self.name = getattr(play, "__name__", "policy")
        self.pulls_per_arm = np.zeros(arms, np.int64)
        self.verdict_codes = np.full(arms, int(Verdict.UNDECIDED))
        self.done = False
        self._told: list[tuple[Ints, Floats]] = []
        self._asked = np.empty(0, np.int64)
        self._game = play(arms, objectives)
        if not isinstance(self._game, Generator):
            raise BadArgument("policy", f"{self.name} must be a generator function: it yields the arms to pull")
        self._move(None)

    def fresh(self) -> FunctionPolicy:
        """Return the same policy at its beginning."""
        return FunctionPolicy(self.play, self.arms, self.objectives)

    def ask(self) -> Ints:
        """Return the arms that the function yielded."""
        return self._asked

    def tell(self, arms: Ints, rewards: Floats) -> None:
        """Send the function the rewards of the arms that it yielded."""
        np.add.at(self.pulls_per_arm, arms, 1)
        self._told.append((arms, rewards))
        self._move(rewards.copy())

    def _move(self, rewards: Floats | None) -> None:
        try:
            asked = self._game.send(rewards)  # type: ignore[arg-type]  # the first move is sent nothing
        except StopIteration as ended:
            self.done = True
            kept = self._checked(ended.value, "return the arms that it keeps")
            self.verdict_codes[:] = int(Verdict.BEATEN)
            self.verdict_codes[kept] = int(Verdict.KEEP)
        else:
            self._asked = self._checked(asked, "yield the arms to pull")
            if not len(self._asked):
                raise BadArgument("policy", f"{self.name} must yield the arms to pull; got none")

    def _checked(self, arms: Any, must: str) -> Ints:
        numbers = np.asarray([] if arms is None else list(arms))
        if arms is None or (numbers.size and (numbers.dtype.kind not in "iu" or numbers.ndim != 1)):
            raise BadArgument("policy", f"{self.name} must {must}, as a list of numbers; got {arms!r:.80}")
        if numbers.size and not 0 <= numbers.min() <= numbers.max() < self.arms:
            raise BadArgument("policy", f"{self.name} must {must}, in 0..{self.arms - 1}; got {arms!r:.80}")
        return numbers.astype(np.int64)

    @property
    def estimates(self) -> Floats:
        """Medians (K, M) of all rewards that it was sent; NaN where there are none."""
        found = np.full((self.arms, self.objectives), np.nan)
        if self._told:
            arms, rewards = (np.concatenate(each) for each in zip(*self._told, strict=True))
            for arm in np.flatnonzero(self.pulls_per_arm):
                found[arm] = np.median(rewards[arms == arm], axis=0)
        return found


class FunctionAttack:
    """An attacker that a function plays, in one run: what it replaces of each block, and where it hits."""

    def __init__(self, attack: Attack, threat: Threat, joint: bool, seeds: npt.NDArray[np.uint64]) -> None:
        self.attack, self.threat, self.joint = attack, threat, joint
        self.rngs = [np.random.default_rng(seed) for seed in seeds]
        self.hits = np.zeros(len(seeds))  # by arm: how many hits it chose, over objectives ...
        self.seen = np.zeros(len(seeds))  # ... of how many rewards

    def replace(self, rewards: Floats, arm: int) -> tuple[Floats, Bools]:
        """Return replacements and hits (n, M) for the next rewards of an arm; of a share, the hits that it wishes."""
        threat, rng = self.threat, self.rngs[arm]
        shown = np.full_like(rewards, np.nan) if isinstance(threat, Oblivious) else rewards.copy()
        said = self.attack(shown, -1 if isinstance(threat, EvenHanded) else arm, rng)
        if not isinstance(threat, Malicious | Share):
            coins = rng.random((len(rewards), 1 if self.joint else rewards.shape[1])) < threat.eps
            return self._checked(said, rewards.shape), np.broadcast_to(coins, rewards.shape)
        if not isinstance(said, tuple) or len(said) != 2:
            raise BadArgument("attack", f"must return (replacements, hits) under {threat.name}; got {said!r:.80}")
        replacements, hits = self._checked(said[0], rewards.shape), self._checked(said[1], rewards.shape).astype(bool)
        if isinstance(threat, Malicious):
            self._count(hits, arm)
        return replacements, hits

    def _checked(self, values: Any, shape: tuple[int, ...]) -> Floats:
        try:
            array = np.broadcast_to(np.asarray(values, np.float64), shape)
        except (TypeError, ValueError):
            array = None
        if array is None or not np.isfinite(array).all():
            raise BadArgument("attack", f"must return finite numbers of the shape (n, M) = {shape}; got {values!r:.80}")
        return array

    def _count(self, hits: Bools, arm: int) -> None:
        """Refuse an attacker that certainly hits more often than its threat says: seven deviations above ε."""
        self.hits[arm] += hits.sum()
        self.seen[arm] += hits.size
        eps, seen = self.threat.eps, self.seen[arm]
        # Hits of one pull may depend on each other: count pulls, not values.
        if self.hits[arm] > seen * eps + 7.0 * sqrt(seen * hits.shape[1] * max(eps, 1.0 / seen)):
            share = self.hits[arm] / seen
            raise BadArgument("attack", f"hits {share:.1%} of the rewards of arm {arm}; its threat allows {eps:.1%}")
