"""Simulated rewards, attackers upon them, and a compiled engine that runs policies on them thousands of times.

May know: policies, pareto, evidence, theory. The truth lives here, out of the policies' reach.

Read in this order:

- `contracts`: what an environment and an adversary are, and the two kinds of kernel behind them;
- `environments`, with `laws` and `draws`: clean rewards whose quantiles are known, and the kernels that draw them;
- `adversaries`: what replaces rewards, from a constant to the worst case of each threat model;
- `random`, `streams`: a random stream for each seed, run and arm; blocks of contaminated rewards;
- `engine`: whole runs of policies, side by side on all cores.
"""

from frontguard.simulation.contracts import (
    Adversary,
    Environment,
    MaliciousAdversary,
    ObliviousAdversary,
    PrescientAdversary,
    ShareAdversary,
)
from frontguard.simulation.engine import Runs, simulate, simulate_one
from frontguard.simulation.streams import RewardSource, Streams

__all__ = [
    "Adversary",
    "Environment",
    "MaliciousAdversary",
    "ObliviousAdversary",
    "PrescientAdversary",
    "RewardSource",
    "Runs",
    "ShareAdversary",
    "Streams",
    "simulate",
    "simulate_one",
]
