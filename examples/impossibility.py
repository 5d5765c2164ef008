"""Lemma 3, executable: arms that are less than 2D apart cannot be told apart from swapped ones.

`python examples/impossibility.py` shows it for each threat model.

D = R(h(ε)) is the unavoidable bias. Where R is sharp, as for Gaussian and uniform rewards, an attacker of
each threat model can move a median by exactly D either way. Two arms that are 2D − ζ apart in every
objective then look ζ apart the other way round, however many pulls are spent on them.

>>> from frontguard.theory.spread import Uniform
>>> from frontguard.theory.threats import Malicious
>>> pair = swapped_pair(Uniform(1.0), Malicious(0.2), zeta=0.1)
>>> pair.bias, pair.environment.medians.round(12).tolist(), pair.apparent_medians.round(12).tolist()
(0.2, [[0.3, 0.3], [0.0, 0.0]], [[0.1, 0.1], [0.2, 0.2]])
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from frontguard._common.checks import real_number
from frontguard._common.typing import Floats
from frontguard.errors import BadInput
from frontguard.simulation import Adversary, RewardSource, Streams
from frontguard.simulation.adversaries import moved_medians, strongest
from frontguard.simulation.environments import Quantiled, gaussian, uniform
from frontguard.theory.spread import Gaussian, SpreadBound, Uniform
from frontguard.theory.threats import Malicious, Oblivious, Prescient, Threat

BETTER, WORSE = 0, 1
"""The two arms of a pair. The better one is Pareto optimal, the worse one suboptimal by 2D − ζ."""

_DIRECTION = (-1, +1)  # the better arm goes down, the worse one up


@dataclass(frozen=True, eq=False)
class SwappedPair:
    """Two arms 2D − ζ apart in every objective, and an attacker that moves each by D towards the other."""

    environment: Quantiled
    adversary: Adversary
    bias: float
    """D = R(h(ε)), how far the attacker can move a median."""
    zeta: float
    """ζ, by how much the worse arm looks better; negative: by how much the better one still does."""

    @property
    def threat(self) -> Threat:
        """The model that the attacker obeys."""
        return self.adversary.threat

    @property
    def gap(self) -> float:
        """2D − ζ, the suboptimality gap of the worse arm."""
        return float(self.environment.gaps[WORSE])

    @property
    def apparent_medians(self) -> Floats:
        """Medians of the contaminated rewards, (2, M): what infinitely many pulls would show."""
        return moved_medians(self.environment, self.threat, _DIRECTION)


def swapped_pair(spread: SpreadBound, threat: Threat, zeta: float, objectives: int = 2) -> SwappedPair:
    """Build the environment and the attacker of Lemma 3.

    `spread` says which rewards: `Gaussian(sigma)` or `Uniform(width)`, the families whose R is sharp. ζ > 0
    makes the pair look swapped; with ζ < 0 the arms are more than 2D apart, and no attacker of the model
    can swap them.
    """
    wanted = real_number(zeta, "zeta (ζ)")
    if objectives < 1:
        raise BadInput(f"objectives must be at least 1; got {objectives}")
    if not isinstance(spread, Gaussian | Uniform):
        raise BadInput(
            f"spread must be Gaussian(sigma) or Uniform(width), whose medians can be moved by exactly D; got {spread!r}"
        )
    bias = spread(threat.shift)
    if wanted > 2.0 * bias:
        raise BadInput(f"zeta (ζ) must be at most 2D = {2.0 * bias:.6g} of {spread} and {threat}; got {wanted:.6g}")
    medians = np.zeros((2, objectives))
    medians[BETTER] = 2.0 * bias - wanted
    if isinstance(spread, Gaussian):
        environment = gaussian(medians, spread.sigma)
    else:
        environment = uniform(medians, spread.width)
    return SwappedPair(environment, strongest(environment, threat, _DIRECTION), bias, wanted)


@dataclass(frozen=True, eq=False)
class Demonstration:
    """What `pulls` contaminated pulls of each arm of a pair show."""

    pair: SwappedPair
    pulls: int
    empirical_medians: Floats
    """Medians of the contaminated rewards, (2, M): the better arm, then the worse."""

    @property
    def lead_of_worse(self) -> Floats:
        """By how much the worse arm looks better, (M,). Tends to ζ."""
        better, worse = self.empirical_medians
        return np.asarray(worse - better, np.float64)

    @property
    def swapped(self) -> bool:
        """Whether the worse arm looks better in every objective."""
        return bool((self.lead_of_worse > 0.0).all())

    @property
    def statement(self) -> str:
        """What was seen, in words."""
        pair = self.pair
        seen = "looks better" if self.swapped else "does not look better"
        return (
            f"The true medians are {pair.gap:.4g} apart in every objective (2D = {2.0 * pair.bias:.4g}). "
            f"After {self.pulls} pulls of each arm under the {pair.threat.name} attacker with eps = "
            f"{pair.threat.eps:g}, the worse arm {seen} in all of them: it leads by "
            f"{self.lead_of_worse.min():+.4g} at least, and by {pair.zeta:+.4g} in the limit."
        )


def demonstrate(pair: SwappedPair, pulls: int = 10_000, *, seed: int = 0) -> Demonstration:
    """Draw contaminated pulls of both arms and look at their empirical medians."""
    if pulls < 1:
        raise BadInput(f"pulls must be at least 1; got {pulls}")
    streams = Streams(RewardSource(pair.environment, pair.adversary), seed)
    medians = [np.median(streams.take(arm, pulls), axis=0) for arm in (BETTER, WORSE)]
    return Demonstration(pair, pulls, np.array(medians))


if __name__ == "__main__":
    for threat in (Oblivious(0.2), Prescient(0.2), Malicious(0.2)):
        print(demonstrate(swapped_pair(Gaussian(1.0), threat, zeta=0.1)).statement)
