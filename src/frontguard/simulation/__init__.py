"""Simulated rewards, attackers upon them, and a compiled engine that runs policies on them thousands of times.

- `draws`: a random stream for each seed, run and arm, and the kernels that draw clean rewards;
- `environments`: clean rewards whose laws are known;
- `adversaries`: what replaces rewards, from a constant to the worst case of each threat model;
- `streams`: blocks of contaminated rewards;
- `functions`: policies and attackers that are plain Python functions;
- `judging`: which runs succeeded;
- `engine`: whole runs of policies, side by side on all cores.
"""

from frontguard.simulation.adversaries import Adversary
from frontguard.simulation.engine import Runs, simulate, simulate_one
from frontguard.simulation.environments import Environment
from frontguard.simulation.streams import RewardSource, Streams

__all__ = ["Adversary", "Environment", "RewardSource", "Runs", "Streams", "simulate", "simulate_one"]
