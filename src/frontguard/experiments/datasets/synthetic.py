"""Gaussian instances of any size: uniform medians, one deviation, and an attacker that drags the Pareto arms down.

The authors' synthetic setting is K = 10 arms, M = 2 objectives, deviation 0.1; the suite extends it over K
and M. The medians are uniform on [0, SIDE]: SIDE is wide enough that some arms can be eliminated although
R-PSI's boxes are D ≈ 0.24 to 0.31 wide.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

DEVIATION = 0.1
ACCURACY = 0.1
SIDE = 2.0
LOWEST = -1.0
"""What the attacker reports for a Pareto arm: below any arm's median."""
SUITE: tuple[tuple[int, int], ...] = tuple((arms, objectives) for arms in (10, 20, 50) for objectives in (2, 3, 5))


def uniform_medians(arms: int, objectives: int, *, seed: int = 0) -> npt.NDArray[np.float64]:
    """Medians (K, M) uniform on [0, SIDE], the same for the same seed whatever is run on them.

    >>> uniform_medians(10, 2).shape
    (10, 2)
    """
    generator = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(arms, objectives)))
    return generator.uniform(0.0, SIDE, (arms, objectives))
