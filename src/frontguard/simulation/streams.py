"""Where simulated rewards come from: an environment, an adversary upon it, and random streams for every arm.

`Source` puts the two together for kernels; `fill_block` draws the next block of an arm and lets the adversary at it;
`Streams` gives one run's rewards to Python, the very same that the compiled engine sees.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import types

from frontguard._compiled import KernelValue, entry, kernel
from frontguard._typing import Bools, Floats, Ints
from frontguard.simulation.contracts import (
    ATTACK,
    BLOCK,
    DRAW,
    NO_INTS,
    NO_REALS,
    Adversary,
    Environment,
    MaliciousAdversary,
    ObliviousAdversary,
    PrescientAdversary,
    Words,
    attack_kernel,
    draw_kernel,
)
from frontguard.simulation.random import fill_words, stream_states

_CLEAN, _OBLIVIOUS, _PRESCIENT, _MALICIOUS = range(4)
_TWO_64 = 2.0**64


@draw_kernel
def _no_draw(out: Floats, arm: int, reals: Floats, ints: Ints, state: Words) -> None:
    """Stands where a source has no oblivious adversary."""


@attack_kernel
def _no_attack(
    rewards: Floats, replacements: Floats, hits: Bools, arm: int, reals: Floats, ints: Ints, state: Words
) -> None:
    """Stands where a source has no prescient or malicious adversary."""


_VECTOR, _INDICES = types.Array(types.float64, 1, "C"), types.Array(types.int64, 1, "C")
_MATRIX = types.Array(types.float64, 2, "C")
_WORDS = types.Array(types.uint64, 1, "C")
_CUBE, _HIT_CUBE = types.Array(types.float64, 3, "C"), types.Array(types.boolean, 3, "C")

SOURCE = (
    types.FunctionType(DRAW),  # clean rewards
    _VECTOR,
    _INDICES,
    types.int64,  # kind of adversary
    types.uint64,  # a word below this is a hit: ε · 2⁶⁴
    types.boolean,  # joint hits
    types.FunctionType(DRAW),  # oblivious replacements
    types.FunctionType(ATTACK),  # prescient or malicious attack
    _VECTOR,
    _INDICES,
)
"""Types of the arguments by which a kernel is given a source (`Source.arguments`)."""


@dataclass(frozen=True)
class Source:
    """An environment with an adversary upon it, or without."""

    environment: Environment
    adversary: Adversary | None = None

    def __post_init__(self) -> None:
        if isinstance(self.adversary, ObliviousAdversary):
            other = self.adversary.replacements.medians.shape
            if other != self.environment.medians.shape:
                raise ValueError(
                    f"the replacements must be those of (K, M) = {self.environment.medians.shape} arms and objectives; "
                    f"got {other}"
                )

    @cached_property
    def arguments(self) -> tuple[Any, ...]:
        """What kernels are given, in the order of `SOURCE`."""
        environment, adversary = self.environment, self.adversary
        clean = (KernelValue(environment.draw, DRAW), environment.reals, environment.ints)
        if adversary is None or adversary.eps == 0.0:
            nothing = KernelValue(_no_draw, DRAW), KernelValue(_no_attack, ATTACK), NO_REALS, NO_INTS
            return (*clean, _CLEAN, np.uint64(0), False, *nothing)
        threshold = np.uint64(int(adversary.eps * _TWO_64))
        given: Environment | PrescientAdversary | MaliciousAdversary
        match adversary:
            case ObliviousAdversary(replacements=other):
                kind, draw, attack, given = _OBLIVIOUS, other.draw, _no_attack, other
            case PrescientAdversary():
                kind, draw, attack, given = _PRESCIENT, _no_draw, adversary.attack, adversary
            case MaliciousAdversary():
                kind, draw, attack, given = _MALICIOUS, _no_draw, adversary.attack, adversary
            case _:
                raise TypeError(f"not an adversary of a known type: {adversary!r}")
        reals = np.array(given.reals, np.float64, order="C")
        ints = np.array(given.ints, np.int64, order="C")
        kernels = KernelValue(draw, DRAW), KernelValue(attack, ATTACK)
        return (*clean, kind, threshold, adversary.joint, *kernels, reals, ints)


@kernel
def fill_block(
    draw: Any,
    reals: Floats,
    ints: Ints,
    kind: int,
    threshold: int,
    joint: bool,
    replace: Any,
    attack: Any,
    attack_reals: Floats,
    attack_ints: Ints,
    arm: int,
    block: Floats,
    replacements: Floats,
    hits: Bools,
    words: Words,
    rewards_state: Words,
    attack_state: Words,
) -> None:
    """Fill `block` (M, n) with the next rewards of an arm as the learner sees them.

    `replacements`, `hits` (M, n) and `words` (n,) are workspaces; `hits` tells afterwards what was replaced.
    """
    draw(block, arm, reals, ints, rewards_state)
    objectives, pulls = block.shape
    if kind == _CLEAN:
        for d in range(objectives):
            for i in range(pulls):
                hits[d, i] = False
        return
    if kind != _MALICIOUS:
        for d in range(objectives):
            if d == 0 or not joint:
                fill_words(words, attack_state)
            for i in range(pulls):
                hits[d, i] = words[i] < threshold
    if kind == _OBLIVIOUS:
        replace(replacements, arm, attack_reals, attack_ints, attack_state)
    else:
        attack(block, replacements, hits, arm, attack_reals, attack_ints, attack_state)
    for d in range(objectives):
        for i in range(pulls):
            if hits[d, i]:
                block[d, i] = replacements[d, i]


@entry(types.void(*SOURCE, types.int64, _CUBE, _MATRIX, _HIT_CUBE, _WORDS, _WORDS, _WORDS))
def _fill_blocks(
    draw: Any, reals: Floats, ints: Ints, kind: int, threshold: int, joint: bool, replace: Any, attack: Any,
    attack_reals: Floats, attack_ints: Ints, arm: int, blocks: Floats, replacements: Floats, hits: Bools,
    words: Words, rewards_state: Words, attack_state: Words,
) -> None:  # fmt: skip
    """`fill_block` for Python: many blocks (n, M, BLOCK) of one arm, with their hits."""
    for b in range(blocks.shape[0]):
        fill_block(
            draw, reals, ints, kind, threshold, joint, replace, attack, attack_reals, attack_ints,
            arm, blocks[b], replacements, hits[b], words, rewards_state, attack_state,
        )  # fmt: skip


class Streams:
    """The rewards of one run, arm by arm, as the learner sees them."""

    def __init__(self, source: Source, seed: int, run: int = 0) -> None:
        self.source = source
        self._arguments = source.arguments
        self._rewards, self._attacks = stream_states(seed, run, source.environment.arms)
        self._replacements = np.empty((source.environment.objectives, BLOCK))
        self._words = np.empty(BLOCK, np.uint64)
        empty = np.empty((0, source.environment.objectives))
        self._left = [empty] * source.environment.arms  # drawn in a block and not yet taken, by arm

    def take(self, arm: int, pulls: int) -> Floats:
        """The next rewards (pulls, M) of an arm."""
        missing = pulls - len(self._left[arm])
        if missing > 0:
            drawn, _ = self.blocks(arm, -(-missing // BLOCK))
            self._left[arm] = np.concatenate([self._left[arm], drawn])
        taken, self._left[arm] = self._left[arm][:pulls], self._left[arm][pulls:]
        return taken.copy()

    def take_batch(self, arms: npt.ArrayLike) -> Floats:
        """The next reward (M,) for each of the arms given, as a policy's `ask` gives them: (n, M)."""
        wanted = np.asarray(arms, np.int64)
        out = np.empty((len(wanted), self.source.environment.objectives))
        for arm in np.unique(wanted).tolist():
            where = wanted == arm
            out[where] = self.take(arm, int(where.sum()))
        return out

    def blocks(self, arm: int, count: int) -> tuple[Floats, Bools]:
        """The next `count` blocks of an arm and which of their rewards were hit, both (count · BLOCK, M)."""
        objectives = self.source.environment.objectives
        rewards, hits = np.empty((count, objectives, BLOCK)), np.empty((count, objectives, BLOCK), np.bool_)
        _fill_blocks(
            *self._arguments, arm, rewards, self._replacements, hits, self._words, self._rewards[arm],
            self._attacks[arm],
        )  # fmt: skip
        return rewards.swapaxes(1, 2).reshape(-1, objectives), hits.swapaxes(1, 2).reshape(-1, objectives)


def traced_block(
    environment: Environment, adversary: Adversary | None, arm: int, blocks: int, seed: int = 0
) -> tuple[Floats, Floats, Bools]:
    """Clean rewards, observed rewards and hits, each (n, M), of the first `blocks` blocks of an arm."""
    clean, _ = Streams(Source(environment), seed).blocks(arm, blocks)
    observed, hits = Streams(Source(environment, adversary), seed).blocks(arm, blocks)
    return clean, observed, hits
