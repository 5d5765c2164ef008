"""Simulated rewards, attackers upon them, and a compiled engine that runs policies on them thousands of times."""

from frontguard.simulation.contracts import (
    Adversary,
    Environment,
    MaliciousAdversary,
    ObliviousAdversary,
    PrescientAdversary,
)
from frontguard.simulation.engine import Runs, simulate, simulate_one
from frontguard.simulation.streams import Source, Streams

__all__ = [
    "Adversary",
    "Environment",
    "MaliciousAdversary",
    "ObliviousAdversary",
    "PrescientAdversary",
    "Runs",
    "Source",
    "Streams",
    "simulate",
    "simulate_one",
]
