"""The source of simulated rewards: an environment, an adversary upon it, and random streams for every arm.

`RewardSource` puts the two together, and for kernels into one record; `fill_block` draws the next block of an arm and
lets the adversary at it; `Streams` gives one run's rewards to Python, the very same that the compiled engine sees.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from frontguard._common.compiled import KernelValue, entry, kernel
from frontguard._common.typing import Bools, Floats, Ints
from frontguard.evidence.confidence_sequences import taken_away
from frontguard.simulation.adversaries import Adversary
from frontguard.simulation.draws import (
    BLOCK,
    STATE,
    Words,
    attack_kernel,
    attack_types,
    draw_kernel,
    draw_types,
    fill_words,
    stream_states,
)
from frontguard.simulation.environments import NO_INTS, NO_REALS, Environment
from frontguard.simulation.functions import FunctionAttack
from frontguard.theory.threats import EvenHanded, Malicious, Oblivious, Prescient, Share, Threat

_CLEAN, _OBLIVIOUS, _PRESCIENT, _MALICIOUS, _SHARE = range(5)
_KINDS: dict[type[Threat], int] = {
    Oblivious: _OBLIVIOUS, EvenHanded: _OBLIVIOUS, Prescient: _PRESCIENT, Malicious: _MALICIOUS, Share: _SHARE,
}  # fmt: skip
_TWO_64 = 2.0**64


@draw_kernel
def _no_draw(out: Floats, arm: int, reals: Floats, ints: Ints, state: Words) -> None:
    """Stands where a source has no oblivious adversary."""


@attack_kernel
def _no_attack(
    rewards: Floats, replacements: Floats, hits: Bools, arm: int, reals: Floats, ints: Ints, state: Words
) -> None:
    """Stands where a source has no adversary with an attack of its own."""


class CompiledSource(NamedTuple):
    """A source as kernels are given it."""

    draw: Any  # clean rewards
    reals: Floats
    ints: Ints
    kind: int  # of adversary
    threshold: np.uint64  # a word below this is a hit: ε · 2⁶⁴
    joint: bool  # hits
    replace: Any  # oblivious replacements
    attack: Any  # that of any other adversary
    attack_reals: Floats
    attack_ints: Ints
    share: float  # ε of a share adversary, its budget


class RunStreams(NamedTuple):
    """The random streams of every arm in one run, and workspaces for one block."""

    rewards: Words  # (K, ·)
    attacks: Words  # (K, ·): a state, and behind it what the attacker has spent of a share
    replacements: Floats  # (M, BLOCK)
    hits: Bools  # (M, BLOCK)
    words: Words  # (BLOCK,)


@dataclass(frozen=True)
class RewardSource:
    """An environment with an adversary upon it, or without."""

    environment: Environment
    adversary: Adversary | None = None

    def __post_init__(self) -> None:
        if self.adversary is not None and self.adversary.replacements is not None:
            other = self.adversary.replacements.medians.shape
            if other != self.environment.medians.shape:
                raise ValueError(
                    f"the replacements must be those of (K, M) = {self.environment.medians.shape} arms and objectives; "
                    f"got {other}"
                )

    def states(self, seed: int, run: int) -> tuple[Words, Words]:
        """Return the states of the rewards' and the attackers' streams as a run begins."""
        rewards, attacks = stream_states(seed, run, self.environment.arms)
        ledgers = np.zeros((self.environment.arms, 1 + self.environment.objectives), np.uint64)
        return rewards, np.hstack([attacks, ledgers])

    @cached_property
    def compiled(self) -> CompiledSource:
        """The source as kernels are given it."""
        environment, adversary = self.environment, self.adversary
        clean = (KernelValue(environment.draw, draw_types), environment.reals, environment.ints)
        if adversary is None or adversary.threat.eps == 0.0 or adversary.plain:  # a plain function attacks in `Streams`
            nothing = KernelValue(_no_draw, draw_types), KernelValue(_no_attack, attack_types)
            return CompiledSource(*clean, _CLEAN, np.uint64(0), False, *nothing, NO_REALS, NO_INTS, 0.0)
        threat, other = adversary.threat, adversary.replacements
        given = adversary if other is None else other
        return CompiledSource(
            *clean,
            kind=_KINDS[type(threat)],
            threshold=np.uint64(int(threat.eps * _TWO_64)),
            joint=adversary.joint,
            replace=KernelValue(_no_draw if other is None else other.draw, draw_types),
            attack=KernelValue(adversary.attack or _no_attack, attack_types),
            attack_reals=np.array(given.reals, np.float64, order="C"),
            attack_ints=np.array(given.ints, np.int64, order="C"),
            share=threat.taken,
        )


@kernel
def run_streams(rewards: Words, attacks: Words, objectives: int) -> RunStreams:
    """Return the streams of a run in these states, with workspaces."""
    return RunStreams(
        rewards,
        attacks,
        np.empty((objectives, BLOCK)),
        np.empty((objectives, BLOCK), np.bool_),
        np.empty(BLOCK, np.uint64),
    )


@kernel
def _grant(hits: Bools, ledger: Words, share: float) -> None:
    """Leave of the hits (M, n) that are wished for those that the budget has room for, the earliest first.

    The ledger (1 + M,) has the pulls of the arm that were drawn, and the hits in each objective. It stands behind the
    state of the attacker's stream, because one array more in `RunStreams` makes every simulated pull slower by a fifth.
    """
    objectives, pulls = hits.shape
    for i in range(pulls):
        budget = taken_away(share, int(ledger[0]) + i + 1)
        for d in range(objectives):
            hits[d, i] &= int(ledger[1 + d]) < budget
            ledger[1 + d] += np.uint64(hits[d, i])
    ledger[0] += np.uint64(pulls)


@kernel
def fill_block(source: CompiledSource, streams: RunStreams, arm: int, block: Floats) -> None:
    """Fill `block` (M, BLOCK) with the next rewards of an arm as the learner sees them, and `streams.hits`."""
    hits, words, replacements = streams.hits, streams.words, streams.replacements
    source.draw(block, arm, source.reals, source.ints, streams.rewards[arm])
    objectives, pulls = block.shape
    if source.kind == _CLEAN:
        for d in range(objectives):
            for i in range(pulls):
                hits[d, i] = False
        return
    state = streams.attacks[arm]
    if source.kind == _OBLIVIOUS or source.kind == _PRESCIENT:
        for d in range(objectives):
            if d == 0 or not source.joint:
                fill_words(words, state)
            for i in range(pulls):
                hits[d, i] = words[i] < source.threshold
    if source.kind == _OBLIVIOUS:
        source.replace(replacements, arm, source.attack_reals, source.attack_ints, state)
    else:
        source.attack(block, replacements, hits, arm, source.attack_reals, source.attack_ints, state)
    if source.kind == _SHARE:
        _grant(hits, state[STATE:], source.share)
    for d in range(objectives):
        for i in range(pulls):
            if hits[d, i]:
                block[d, i] = replacements[d, i]


@entry
def _fill_blocks(source: CompiledSource, rewards: Words, attacks: Words, arm: int, blocks: Floats, hits: Bools) -> None:
    """`fill_block` for Python: many blocks (n, M, BLOCK) of one arm, with their hits."""
    streams = run_streams(rewards, attacks, blocks.shape[1])
    for b in range(blocks.shape[0]):
        fill_block(source, streams, arm, blocks[b])
        hits[b] = streams.hits


class Streams:
    """The rewards of one run, arm by arm, as the learner sees them."""

    def __init__(self, source: RewardSource, seed: int, run: int = 0) -> None:
        self.source = source
        self._rewards, self._attacks = source.states(seed, run)
        adversary, self._attack = source.adversary, None
        if adversary is not None and adversary.plain is not None and adversary.threat.eps > 0.0:
            seeds = self._attacks[:, :STATE]
            self._attack = FunctionAttack(adversary.plain, adversary.threat, adversary.joint, seeds)
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
        _fill_blocks(self.source.compiled, self._rewards, self._attacks, arm, rewards, hits)
        if self._attack is not None:
            for block, hit in zip(rewards, hits, strict=True):
                replacements, wanted = self._attack.replace(np.ascontiguousarray(block.T), arm)
                hit[:] = wanted.T
                if isinstance(self._attack.threat, Share):
                    _grant(hit, self._attacks[arm, STATE:], self._attack.threat.eps)
                block[hit] = replacements.T[hit]
        return rewards.swapaxes(1, 2).reshape(-1, objectives), hits.swapaxes(1, 2).reshape(-1, objectives)
