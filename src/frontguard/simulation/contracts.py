"""What a simulated source of rewards is made of, and the two kinds of kernel behind it.

An *environment* draws clean rewards with a draw kernel. An *adversary* replaces a share ε of them, and its type
fixes what it may see:

- oblivious: the replacements are themselves draws of an environment; the attacker sees neither rewards nor hits;
- prescient: an attack kernel reads the true rewards and the hits, and writes replacements;
- malicious: an attack kernel reads the true rewards, and writes both replacements and hits;
- share: an attack kernel reads the true rewards, and writes replacements and which rewards it wishes to hit. Wishes
  are granted in order while ⌊εn⌋ of the first n pulls of an arm are not used up, in each objective, at every n.

Kernels work on blocks of `BLOCK` pulls of one arm, objective by objective: arrays of shape (M, n). They take their
parameters from two flat arrays, whose layout is their own affair, and randomness only from the stream handed in.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from frontguard._common.compiled import kernel
from frontguard._common.typing import Bools, Floats, Ints
from frontguard.pareto.dominance import as_points, pareto_mask, suboptimality_gaps
from frontguard.simulation.random import Words, stream_states
from frontguard.theory.threats import Malicious, Oblivious, Prescient, Share, Threat

BLOCK = 64
"""Pulls of one arm that are drawn at a time. A fixed number: what is drawn must not depend on who asks how often."""


def draw_types(types: Any) -> Any:
    """draw(out (M, n), arm, reals, ints, stream): fill `out` with clean rewards of `arm`."""
    real, whole, word = types.float64, types.int64, types.uint64
    return types.void(real[:, ::1], whole, real[::1], whole[::1], word[::1])


def attack_types(types: Any) -> Any:
    """attack(rewards (M, n), replacements (M, n), hits (M, n), arm, reals, ints, stream): see types of adversary."""
    real, whole, word = types.float64, types.int64, types.uint64
    return types.void(real[:, ::1], real[:, ::1], types.boolean[:, ::1], whole, real[::1], whole[::1], word[::1])


DrawKernel = Callable[[Floats, int, Floats, Ints, Words], None]
AttackKernel = Callable[[Floats, Floats, Bools, int, Floats, Ints, Words], None]

draw_kernel: Callable[[DrawKernel], DrawKernel] = kernel
attack_kernel: Callable[[AttackKernel], AttackKernel] = kernel

NO_REALS = np.zeros(0)
NO_INTS = np.zeros(0, np.int64)


@dataclass(frozen=True, eq=False)
class Environment:
    """A simulated source of clean rewards that knows its own truth.

    `medians` (K, M) are the medians of interest (Section 3); `means` equal them unless given.
    """

    draw: DrawKernel
    medians: Floats
    reals: Floats = field(default_factory=lambda: NO_REALS)
    ints: Ints = field(default_factory=lambda: NO_INTS)
    means: Floats | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "medians", as_points(self.medians, name="medians"))
        object.__setattr__(self, "reals", np.array(self.reals, np.float64, order="C"))  # writable, as kernels want it
        object.__setattr__(self, "ints", np.array(self.ints, np.int64, order="C"))

    @property
    def arms(self) -> int:
        """K, the number of arms."""
        return int(self.medians.shape[0])

    @property
    def objectives(self) -> int:
        """M, the number of objectives."""
        return int(self.medians.shape[1])

    @cached_property
    def pareto_mask(self) -> Bools:
        """Which arms no other arm dominates by true medians (Definition 1)."""
        return pareto_mask(self.medians)

    @property
    def pareto_set(self) -> list[int]:
        """P*, the arms that no other arm dominates by true medians."""
        return [int(i) for i in np.flatnonzero(self.pareto_mask)]

    @cached_property
    def gaps(self) -> Floats:
        """Δ_i of every arm by true medians (Definition 4)."""
        return suboptimality_gaps(self.medians)

    def sample(self, arm: int, pulls: int, *, seed: int = 0) -> Floats:
        """Draw (pulls, M) clean rewards of one arm."""
        if not 0 <= arm < self.arms:
            raise IndexError(f"arm must be in 0..{self.arms - 1}; got {arm}")
        states, _ = stream_states(seed, 0, self.arms)
        out = np.empty((self.objectives, pulls))
        self.draw(out, arm, self.reals, self.ints, states[arm])
        return np.ascontiguousarray(out.T)


@dataclass(frozen=True, eq=False)
class Adversary:
    """What replaces rewards. Its `threat` says how often and with which knowledge.

    With `joint` a pull is hit as a whole, all its objectives at once; otherwise each objective is hit on its own.
    Either way every objective is hit with probability ε. (It is for those to whom hits are drawn.)
    """

    threat: Threat
    joint: bool = False

    @property
    def eps(self) -> float:
        """ε, the share of measurements that are replaced."""
        return self.threat.eps


@dataclass(frozen=True, eq=False)
class ObliviousAdversary(Adversary):
    """Draws its replacements from an environment of its own, chosen beforehand; sees neither rewards nor hits."""

    threat: Oblivious
    replacements: Environment = field(kw_only=True)


@dataclass(frozen=True, eq=False)
class Attacking(Adversary):
    """Chooses replacements knowing the true rewards, by a kernel with its parameters."""

    attack: AttackKernel = field(kw_only=True)
    reals: Floats = field(default_factory=lambda: NO_REALS, kw_only=True)
    ints: Ints = field(default_factory=lambda: NO_INTS, kw_only=True)


@dataclass(frozen=True, eq=False)
class PrescientAdversary(Attacking):
    """Chooses replacements knowing the true rewards and which of them are hit; hits are independent of rewards."""

    threat: Prescient


@dataclass(frozen=True, eq=False)
class MaliciousAdversary(Attacking):
    """Chooses replacements and hits knowing the true rewards; the marginal probability of a hit stays ε."""

    threat: Malicious


@dataclass(frozen=True, eq=False)
class ShareAdversary(Attacking):
    """Chooses replacements and hits knowing the true rewards; of the first n pulls ⌊εn⌋ at most are hit, at every n.

    What its kernel writes as hits are wishes; the source grants them as long as the budget lasts, so that no attack can
    spend more.
    """

    threat: Share
