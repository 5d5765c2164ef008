"""Attackers composed onto environments, each typed by what it may see (Section 3.1 of the paper).

| factory | model | attack |
| --- | --- | --- |
| `other_distribution` | oblivious | replaces by rewards of any other environment, such as a constant |
| `review_bomber` | prescient | lowest score on Pareto optimal arms |
| `paper_malicious` | malicious | the paper's attack on SW-LLVM, as published |
| `strongest` | any | the worst case of a threat model: moves medians as far as Lemma 1 or 2 lets it |

An oblivious or prescient attacker does not choose where it hits: the engine draws that, independently of the
rewards, with probability ε. A malicious one hits by a rule of its own, and so does one with a share, which spends a
budget of ⌊εn⌋ hits among the first n pulls of an arm. An attacker that prefers to leave a
reward alone "replaces" it by itself, so that hits keep the probability that the model gives them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

import numpy as np
import numpy.typing as npt

from frontguard._common.checks import positive_number, real_number
from frontguard._common.typing import Bools, Floats, Ints
from frontguard.errors import BadArgument, BadInput
from frontguard.simulation.draws import AttackKernel, Words, attack_kernel, fill_words, unit
from frontguard.simulation.environments import NO_INTS, NO_REALS, Environment, Quantiled, constant, per_entry
from frontguard.simulation.functions import Attack
from frontguard.theory.threats import EvenHanded, Malicious, Oblivious, Prescient, Share, Threat


@dataclass(frozen=True, eq=False)
class Adversary:
    """An attacker that replaces rewards. The type of its threat fixes how often, and what it may see.

    Parameters
    ----------
    threat
        - Oblivious: it sees neither rewards nor hits. EvenHanded: nor whose they are.
        - Prescient: it reads the true rewards; hits are independent of them.
        - Malicious: it reads the true rewards, and says where it hits.
        - Share: likewise, but its hits are wishes, granted in order while ⌊εn⌋ of the first n pulls of an arm are not
          used up, in each objective, at every n.
    joint
        Hit a pull as a whole, all its objectives at once, where hits are drawn; otherwise each by itself.
    replacements
        An environment, chosen beforehand, from which an oblivious attacker draws.
    attack
        A plain function (`simulation.functions`), or a compiled kernel (`draws.attack_kernel`).
    reals, ints
        Parameters of a kernel.

    Raises
    ------
    BadInput
        Threat, replacements and attack do not fit.

    >>> import frontguard as fg
    >>> from frontguard.simulation.environments import gaussian
    >>> spoil = Adversary(fg.Prescient(0.2), attack=lambda rewards, arm, rng: rewards - 10.0)
    >>> policy = fg.Certified(2, 1, threat=fg.Prescient(0.2), accuracy=0.5)
    >>> fg.simulate(policy, gaussian([[0.0], [1.0]], 0.1), spoil, runs=5).returned.sum(axis=0)
    array([0, 5])
    """

    threat: Threat
    joint: bool = False
    replacements: Environment | None = None
    attack: AttackKernel | Attack | None = None
    reals: Floats = field(default_factory=lambda: NO_REALS)
    ints: Ints = field(default_factory=lambda: NO_INTS)

    def __post_init__(self) -> None:
        oblivious = isinstance(self.threat, Oblivious)
        if self.plain is not None and self.replacements is None:
            return
        if (self.replacements is not None) != oblivious or (self.attack is None) != oblivious:
            raise BadInput("an oblivious adversary draws replacements from an environment, any other one has an attack")
        if isinstance(self.threat, EvenHanded) and not _alike(self.replacements):
            raise BadInput("an even-handed adversary replaces by one law: wanted constants that are alike for all arms")

    @property
    def plain(self) -> Attack | None:
        """The attack, if it is a plain function."""
        return None if self.attack is None or hasattr(self.attack, "py_func") else cast(Attack, self.attack)


def _alike(environment: Environment | None) -> bool:
    """Tell whether an environment has constants that are the same for all arms."""
    return isinstance(environment, Quantiled) and all(
        bool((values == values[0]).all()) for level in (0.001, 0.999) for values in [environment.law.quantile(level)]
    )


@attack_kernel
def replace(
    rewards: Floats, replacements: Floats, hits: Bools, arm: int, reals: Floats, ints: Ints, stream: Words
) -> None:
    """Replace by an offset, or by the true reward plus an offset."""
    objectives, count = rewards.shape
    for d in range(objectives):
        at = objectives * arm + d
        offset = reals[at]
        if ints[at] == 1:
            for i in range(count):
                replacements[d, i] = rewards[d, i] + offset
        else:
            for i in range(count):
                replacements[d, i] = offset


@attack_kernel
def hit_and_replace(
    rewards: Floats, replacements: Floats, hits: Bools, arm: int, reals: Floats, ints: Ints, stream: Words
) -> None:
    """Hit with a probability that depends on the reward's side of a threshold; replace as `replace` does.

    reals: (threshold, rate below it, rate at it, rate above it, offset) of each (K, M); ints: as for
    `replace`.
    """
    objectives, count = rewards.shape
    for d in range(objectives):
        at = objectives * arm + d
        threshold, offset = reals[5 * at], reals[5 * at + 4]
        rate_below, rate_at, rate_above = reals[5 * at + 1], reals[5 * at + 2], reals[5 * at + 3]
        kept = ints[at] == 1
        row = replacements[d]
        coins = row.view(np.uint64)  # the memory of a replacement holds its coin until it is written
        fill_words(coins, stream)
        for i in range(count):
            reward = rewards[d, i]
            rate = rate_below if reward < threshold else (rate_above if reward > threshold else rate_at)
            hits[d, i] = unit(coins[i]) < rate
            row[i] = reward + offset if kept else offset


def _of_front(environment: Environment) -> Bools:
    """Tell which entries (K, M) belong to Pareto optimal arms."""
    return np.repeat(environment.pareto_mask[:, None], environment.objectives, axis=1)


def _directions(direction: npt.ArrayLike, environment: Environment) -> Floats:
    """Spread a direction of shape (K,) or (K, M) over (K, M); check that it is made of −1, 0 and +1."""
    array = np.asarray(direction, dtype=np.float64)
    arms, objectives = environment.medians.shape
    if array.shape == (arms,):
        array = np.repeat(array[:, None], objectives, axis=1)
    if array.shape != (arms, objectives):
        raise BadInput(
            f"direction must have the shape (K,) = {(arms,)} or (K, M) = {(arms, objectives)}; got {array.shape}"
        )
    if not np.isin(array, (-1.0, 0.0, 1.0)).all():
        raise BadInput(f"direction must be made of -1, 0 and +1; got {array[~np.isin(array, (-1, 0, 1))][0]}")
    return array


def moved_medians(environment: Quantiled, threat: Threat, direction: npt.ArrayLike) -> Floats:
    """Return the medians (K, M) that the threat's worst case leaves: those of level 1/2 ± h(ε) of the clean rewards.

    >>> from frontguard.simulation.environments import uniform
    >>> moved_medians(uniform([[0.0], [0.0], [0.0]], width=1.0), Malicious(0.25), [-1, 0, +1]).ravel()
    array([-0.25,  0.  ,  0.25])
    """
    signs = _directions(direction, environment)
    law = environment.law
    low, high = (
        0.5 * (law.quantile(level) + law.right_quantile(level)) for level in (0.5 - threat.shift, 0.5 + threat.shift)
    )
    return np.where(signs < 0, low, np.where(signs > 0, high, environment.medians))


Ends = tuple[npt.ArrayLike, npt.ArrayLike]
"""The least and the largest that a replacement may be: numbers, or one for each objective."""

ANYWHERE: Ends = (-np.inf, np.inf)


def _replacing(threat: Prescient, offsets: Floats, kept: Bools, joint: bool) -> Adversary:
    return Adversary(threat, joint, attack=replace, reals=offsets.ravel(), ints=kept.ravel().astype(np.int64))


def _hitting(
    threat: Malicious | Share, threshold: Floats, rates: Sequence[Floats | Bools], offsets: Floats, kept: Bools
) -> Adversary:
    """Return an attacker with the parameters (K, M) of `hit_and_replace`: rates below, at and above a threshold."""
    reals = np.stack([threshold, *rates, offsets], axis=-1).astype(np.float64).ravel()
    return Adversary(threat, attack=hit_and_replace, reals=reals, ints=kept.ravel().astype(np.int64))


def other_distribution(eps: float, environment: Environment, *, joint: bool = False) -> Adversary:
    """Replace by draws of another environment, which must have the attacked one's arms and objectives."""
    return Adversary(Oblivious(eps), joint, replacements=environment)


def review_bomber(environment: Environment, eps: float, lowest: npt.ArrayLike = 1.0, joint: bool = False) -> Adversary:
    """Give Pareto optimal arms the lowest score, a number or (M,); leave others as they are (Section 6.1)."""
    front = _of_front(environment)
    scores = per_entry(lowest, environment.medians, "lowest", sign=True)
    return _replacing(Prescient(eps), np.where(front, scores, 0.0), ~front, joint)


def paper_malicious(environment: Environment, eps: float, factor: float = 1.25, value: float = 10.0) -> Adversary:
    """The attack on SW-LLVM (Section 6.2): Pareto optimal arms get −value, others +value.

    Each objective is hit by itself. As published, Pareto optimal arms are hit `factor` times as often as
    others and the average over arms is ε: others with ε K / (factor |P*| + K − |P*|). That keeps Ber(ε) for
    an arm chosen uniformly, not for each arm: Pareto optimal arms are hit more often than ε, which is
    outside the model that Lemma 2 speaks of.
    """
    threat = Malicious(eps)
    ratio = positive_number(factor, "factor")
    size = real_number(value, "value")
    front = _of_front(environment)
    offsets = np.where(front, -size, size)
    optimal = int(environment.pareto_mask.sum())
    rate = threat.eps * environment.arms / (ratio * optimal + environment.arms - optimal)
    rates = np.where(front, ratio * rate, rate)
    if rates.max() > 1.0:
        raise BadInput(
            f"factor must keep every hit rate at most 1; {ratio} at eps = {threat.eps} asks for {rates.max():.3g}"
        )
    return _hitting(threat, environment.medians, (rates, rates, rates), offsets, np.zeros_like(front))


def strongest(
    environment: Environment,
    threat: Threat,
    direction: npt.ArrayLike,
    *,
    distance: float = 10.0,
    within: Ends = ANYWHERE,
    level: float | Sequence[float] = 0.5,
    joint: bool = False,
) -> Adversary:
    """Return the attacker that moves medians down (−1), up (+1) or not (0) as far as this threat model can.

    - Oblivious: constants do as well as anything that could be chosen with more knowledge.
    - EvenHanded: one constant for all arms, beyond all of them; so the direction is one, too.
    - Prescient: all replacements lie on one side: (1−ε) F(x) + ε = 1/2 at the level F(x) = 1/2 − ε / (2(1−ε)).
    - Malicious: the best ε of the rewards are hit, exactly, so that F(x) + ε = 1/2 at the level F(x) = 1/2 − ε. (Any ε
      of the upper half would move the median as far; the best rewards do the most harm to a mean.)
    - Share: every reward at or beyond the quantile is worth a hit, and one is hit whenever the budget has room.

    Parameters
    ----------
    environment, threat
        Whom it attacks, and with what power.
    direction
        −1, 0 or 1 for all, for each objective, or for each arm and objective.
    distance, within
        How far replacements lie beyond the moved median, which does not matter to a median; to a mean it does: they lie
        at one of its bounds, `within` which they must be.
    level
        The quantile, of all or of each objective, that a share is spent on.
    joint
        All objectives of a pull are hit at once; for an attacker that does not choose its hits.

    Returns
    -------
    Adversary
        For `simulate`.

    Raises
    ------
    BadInput
        The environment does not know its quantiles, or the direction does not fit.

    >>> from frontguard.simulation.environments import categorical
    >>> solved = categorical([[[1, 1]], [[1, 9]]], [0.0, 1.0])
    >>> strongest(solved, Prescient(0.1), [-1, 1], within=(0.0, 1.0)).reals
    array([0., 1.])
    """
    if not isinstance(environment, Quantiled):
        raise BadInput(f"wanted an environment with known quantiles; got a plain {type(environment).__name__}")
    signs = _directions(direction, environment)
    far = moved_medians(environment, threat, signs) + positive_number(distance, "distance") * signs
    replacements, still = np.clip(far, *within), signs == 0.0
    offsets = np.where(still, 0.0, replacements)
    if isinstance(threat, EvenHanded):
        if len(np.unique(signs)) != 1:
            raise BadArgument("direction", must="be the same for all arms: the attacker does not know whose it hits")
        return Adversary(threat, joint, replacements=constant(np.where(signs < 0.0, offsets.min(0), offsets.max(0))))
    if isinstance(threat, Oblivious):
        return other_distribution(threat.eps, constant(replacements), joint=joint)
    if isinstance(threat, Prescient):
        return _replacing(threat, offsets, still, joint)
    if isinstance(threat, Malicious):
        return _hitting(threat, *_best_rewards(environment, threat, signs), offsets, still)
    if isinstance(threat, Share):
        levels = np.broadcast_to(np.asarray(level, np.float64), environment.objectives)
        low, high = (
            np.stack([quantile(float(p))[:, d] for d, p in enumerate(levels)], axis=1)
            for quantile in (environment.law.quantile, environment.law.right_quantile)
        )
        threshold = np.where(signs > 0, low, high)
        return _hitting(threat, threshold, (signs > 0, signs != 0, signs < 0), offsets, np.zeros_like(still))
    raise BadArgument("threat", must="be Oblivious, EvenHanded, Prescient, Malicious or Share", got=repr(threat))


def _best_rewards(known: Quantiled, threat: Malicious, signs: Floats) -> tuple[Floats, tuple[Floats, Floats, Floats]]:
    """Return the edge (K, M) of the best ε of the rewards, and with which rates to hit below, at and above it.

    An atom at the edge is hit at random, with the probability that makes the whole exactly ε. Where the direction is 0,
    hits are independent of the rewards.
    """
    none = np.zeros_like(signs)
    if threat.eps == 0.0:
        return known.medians, (none, none, none)
    edge = np.where(signs < 0, known.law.quantile(1.0 - threat.eps), known.law.quantile(threat.eps))
    below, upto = known.law.mass(edge)
    beyond = np.where(signs < 0, 1.0 - upto, below)
    atom = upto - below
    at_edge = np.clip((threat.eps - beyond) / np.where(atom > 0.0, atom, 1.0), 0.0, 1.0)
    still = np.full_like(signs, threat.eps)
    return edge, (
        np.where(signs == 0, still, signs > 0),
        np.where(signs == 0, still, np.where(atom > 0.0, at_edge, none)),
        np.where(signs == 0, still, signs < 0),
    )
