"""Attackers composed onto environments, each typed by what it may see (Section 3.1 of the paper).

| factory | model | what it does |
| --- | --- | --- |
| `constant_attack` | oblivious | replaces by a constant |
| `other_distribution` | oblivious | replaces by rewards of any other environment |
| `review_bomber` | prescient | lowest score on Pareto optimal arms |
| `worst_case_prescient` | prescient | moves medians as far as Lemma 1 lets it |
| `paper_malicious` | malicious | the paper's attack on SW-LLVM, as published |
| `worst_case` | malicious | moves medians as far as Lemma 2 lets it |
| `worst_case_share` | share | hits every reward on one side of a quantile that its budget has room for |
| `strongest` | any | the worst case of a given threat model |

An oblivious or prescient attacker does not choose where it hits: the engine draws that, independently of the
rewards, with probability ε. A malicious one hits by a rule of its own, and so does one with a share, which spends a
budget of ⌊εn⌋ hits among the first n pulls of an arm. An attacker that prefers to leave a
reward alone "replaces" it by itself, so that hits keep the probability that the model gives them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from frontguard._common.checks import positive_number, real_number
from frontguard._common.typing import Bools, Floats, Ints
from frontguard.errors import BadArgument, BadInput
from frontguard.simulation.draws import AttackKernel, Words, attack_kernel, fill_words, unit
from frontguard.simulation.environments import (
    NO_INTS,
    NO_REALS,
    Environment,
    Quantiled,
    constant,
    known_law,
    per_entry,
)
from frontguard.theory.threats import Malicious, Oblivious, Prescient, Share, Threat


@dataclass(frozen=True, eq=False)
class Adversary:
    """What replaces rewards. The type of its `threat` fixes how often, and what it may see.

    - Oblivious: `replacements` are draws of an environment chosen beforehand; it sees neither rewards nor hits.
    - Prescient: `attack` reads the true rewards and the hits, which are independent of them, and writes replacements.
    - Malicious: `attack` reads the true rewards, and writes both replacements and hits.
    - Share: `attack` reads the true rewards, and writes replacements and which rewards it wishes to hit. Wishes are
      granted in order while ⌊εn⌋ of the first n pulls of an arm are not used up, in each objective, at every n.

    With `joint` a pull is hit as a whole, all its objectives at once; otherwise each objective is hit on its own.
    Either way every objective is hit with probability ε. (It is for those to whom hits are drawn.)
    """

    threat: Threat
    joint: bool = False
    replacements: Environment | None = None
    attack: AttackKernel | None = None
    reals: Floats = field(default_factory=lambda: NO_REALS)
    ints: Ints = field(default_factory=lambda: NO_INTS)

    def __post_init__(self) -> None:
        oblivious = isinstance(self.threat, Oblivious)
        if (self.replacements is not None) != oblivious or (self.attack is None) != oblivious:
            raise BadInput("an oblivious adversary draws replacements from an environment, any other one has an attack")


@attack_kernel
def replace(
    rewards: Floats, replacements: Floats, hits: Bools, arm: int, reals: Floats, ints: Ints, stream: Words
) -> None:
    """Replace by an offset, or by the true reward plus an offset.

    reals: offset of each (K, M); ints: 1 where the true reward is kept and the offset added to it.
    """
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
    """Which entries (K, M) belong to Pareto optimal arms."""
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
    """Where the threat's worst case puts the medians: those of level 1/2 ± h(ε) of the clean rewards, (K, M).

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


def _beyond(environment: Quantiled, threat: Threat, signs: Floats, distance: float, within: Ends) -> Floats:
    """Replacements `distance` beyond the moved medians, but `within` what is possible, (K, M)."""
    far = moved_medians(environment, threat, signs) + positive_number(distance, "distance") * signs
    return np.clip(far, *within)


def _replacing(threat: Prescient, offsets: Floats, kept: Bools, joint: bool) -> Adversary:
    """An attacker with the parameters (K, M) of `replace`."""
    return Adversary(threat, joint, attack=replace, reals=offsets.ravel(), ints=kept.ravel().astype(np.int64))


def _hitting(
    threat: Malicious | Share, threshold: Floats, rates: Sequence[Floats | Bools], offsets: Floats, kept: Bools
) -> Adversary:
    """An attacker with the parameters (K, M) of `hit_and_replace`: rates are those below, at and above a threshold."""
    reals = np.stack([threshold, *rates, offsets], axis=-1).astype(np.float64).ravel()
    return Adversary(threat, attack=hit_and_replace, reals=reals, ints=kept.ravel().astype(np.int64))


# Oblivious ------------------------------------------------------------------------------------------------------------


def constant_attack(
    eps: float, value: npt.ArrayLike, environment: Environment | None = None, *, joint: bool = False
) -> Adversary:
    """Replace by a constant: one for all, for each objective (M,), or for each arm and objective (K, M).

    The first two are spread over the arms and objectives of the attacked environment, which is needed for
    that alone. Far below (above) all rewards a constant moves a median down (up) as far as any oblivious or
    prescient attack can.

    >>> from frontguard.simulation.environments import gaussian
    >>> constant_attack(0.1, [-5.0, 5.0], gaussian([[0.0, 0.0], [1.0, 1.0]], 1.0)).replacements.medians
    array([[-5.,  5.],
           [-5.,  5.]])
    """
    array = np.asarray(value, dtype=np.float64)
    if environment is not None:
        array = per_entry(array, environment.medians, "value", sign=True)
    elif array.ndim != 2:
        raise BadInput(
            f"value must have the shape (K, M) unless the attacked environment is given; got the shape {array.shape}"
        )
    return Adversary(Oblivious(eps), joint, replacements=constant(array))


def other_distribution(eps: float, environment: Environment, *, joint: bool = False) -> Adversary:
    """Replace by draws of another environment, which must have the attacked one's arms and objectives."""
    return Adversary(Oblivious(eps), joint, replacements=environment)


# Prescient ------------------------------------------------------------------------------------------------------------


def review_bomber(environment: Environment, eps: float, lowest: npt.ArrayLike = 1.0, joint: bool = False) -> Adversary:
    """Give Pareto optimal arms the lowest score, a number or (M,); leave others as they are (Section 6.1)."""
    front = _of_front(environment)
    scores = per_entry(lowest, environment.medians, "lowest", sign=True)
    return _replacing(Prescient(eps), np.where(front, scores, 0.0), ~front, joint)


def worst_case_prescient(
    environment: Environment,
    eps: float,
    direction: npt.ArrayLike,
    *,
    distance: float = 10.0,
    joint: bool = False,
    within: Ends = ANYWHERE,
) -> Adversary:
    """Move medians down (−1), up (+1) or not (0) as far as Lemma 1 allows: to the levels 1/2 ∓ ε / (2(1−ε)).

    All replacements lie on one side: then (1−ε) F(x) + ε = 1/2 at the level F(x) = 1/2 − ε / (2(1−ε)). They
    lie `distance` beyond the moved median; how far does not matter to a median. To a mean it does: `within` its bounds
    they then lie at one of them.
    """
    known = known_law(environment, "worst_case_prescient")
    signs = _directions(direction, known)
    offsets = np.where(signs == 0.0, 0.0, _beyond(known, Prescient(eps), signs, distance, within))
    return _replacing(Prescient(eps), offsets, signs == 0.0, joint)


# Malicious ------------------------------------------------------------------------------------------------------------


def worst_case(
    environment: Environment,
    eps: float,
    direction: npt.ArrayLike,
    *,
    distance: float = 10.0,
    within: Ends = ANYWHERE,
) -> Adversary:
    """Move medians down (−1), up (+1) or not (0) as far as Lemma 2 allows: to the levels 1/2 ∓ ε.

    Down: the best ε of the rewards are hit, exactly, and reappear `distance` below the moved median, so
    that F(x) + ε = 1/2 at the level F(x) = 1/2 − ε. (Any ε of the upper half would move the median as far;
    the best rewards do the most harm to a mean.) Up: the same, mirrored. Where an atom straddles the edge
    of the hit rewards it is hit at random, with the probability that makes the whole exactly ε. Where the
    direction is 0, hits are independent of the rewards and each reward is replaced by itself.
    """
    known = known_law(environment, "worst_case")
    signs = _directions(direction, known)
    threat = Malicious(eps)
    offsets = np.where(signs == 0.0, 0.0, _beyond(known, threat, signs, distance, within))
    if threat.eps == 0.0:
        none = np.zeros_like(signs)
        return _hitting(threat, known.medians, (none, none, none), offsets, signs == 0.0)
    edge = np.where(signs < 0, known.law.quantile(1.0 - threat.eps), known.law.quantile(threat.eps))
    below, upto = known.law.mass(edge)
    beyond = np.where(signs < 0, 1.0 - upto, below)
    atom = upto - below
    at_edge = np.clip((threat.eps - beyond) / np.where(atom > 0.0, atom, 1.0), 0.0, 1.0)
    still = np.full_like(signs, threat.eps)
    rates = (
        np.where(signs == 0, still, signs > 0),
        np.where(signs == 0, still, np.where(atom > 0.0, at_edge, 0.0)),
        np.where(signs == 0, still, signs < 0),
    )
    return _hitting(threat, edge, rates, offsets, signs == 0.0)


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


# Any share ------------------------------------------------------------------------------------------------------------


def worst_case_share(
    environment: Environment,
    eps: float,
    direction: npt.ArrayLike,
    *,
    distance: float = 10.0,
    level: float | Sequence[float] = 0.5,
    within: Ends = ANYWHERE,
) -> Adversary:
    """Move quantiles of a level, or of one for each objective, down (−1), up (+1) or not (0) as far as ε of them can.

    Up: every reward at or below the quantile is worth a hit, as it is missing from the count that bounds the quantile
    from below, and one is hit whenever the budget has room; it reappears `distance` above the moved median. Down: the
    same, mirrored. So of the n first rewards ⌊εn⌋ are hit, or all that are worth it. Where the direction is 0, none is.
    """
    known = known_law(environment, "worst_case_share")
    signs = _directions(direction, known)
    threat = Share(eps)
    offsets = np.where(signs == 0.0, 0.0, _beyond(known, threat, signs, distance, within))
    levels = np.broadcast_to(np.asarray(level, np.float64), environment.objectives)
    low, high = (
        np.stack([quantile(float(p))[:, d] for d, p in enumerate(levels)], axis=1)
        for quantile in (known.law.quantile, known.law.right_quantile)
    )
    threshold = np.where(signs > 0, low, high)
    return _hitting(threat, threshold, (signs > 0, signs != 0, signs < 0), offsets, np.zeros_like(signs, np.bool_))


# Of any model ---------------------------------------------------------------------------------------------------------


def strongest(
    environment: Environment,
    threat: Threat,
    direction: npt.ArrayLike,
    *,
    distance: float = 10.0,
    within: Ends = ANYWHERE,
) -> Adversary:
    """Move medians down (−1), up (+1) or not (0) as far as an attacker of this threat model can.

    Replacements lie `within` ends, where values have bounds: then means are moved as far as can be, too.

    >>> from frontguard.simulation.environments import categorical
    >>> solved = categorical([[[1, 1]], [[1, 9]]], [0.0, 1.0])
    >>> strongest(solved, Prescient(0.1), [-1, 1], within=(0.0, 1.0)).reals
    array([0., 1.])
    """
    if isinstance(threat, Malicious):
        return worst_case(environment, threat.eps, direction, distance=distance, within=within)
    if isinstance(threat, Prescient):
        return worst_case_prescient(environment, threat.eps, direction, distance=distance, within=within)
    if isinstance(threat, Oblivious):
        # Constants beyond the moved medians do as well as anything that could be chosen with more knowledge.
        known = known_law(environment, "strongest")
        return constant_attack(threat.eps, _beyond(known, threat, _directions(direction, known), distance, within))
    if isinstance(threat, Share):
        return worst_case_share(environment, threat.eps, direction, distance=distance, within=within)
    raise BadArgument("threat", must="be Oblivious, Prescient, Malicious or Share", got=repr(threat))
