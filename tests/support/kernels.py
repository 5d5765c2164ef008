"""Compile what most tests need, once: each of several workers would begin by compiling it for itself.

    python -m tests.support.kernels [PART...]

`make test` runs this before the tests. A second time takes a second or two, for what is compiled is kept.
"""

from __future__ import annotations

import gc
import sys

import numpy as np
import pandas as pd

import frontguard as fg
from frontguard._common.compiled import COMPILED, kernels
from frontguard.policies.forecast import forecast
from frontguard.simulation.adversaries import strongest
from frontguard.simulation.environments import gaussian

RATE = fg.Objective("rate", "maximize", statistic="mean", bounds=(0, 1), tolerance=0.3)


def simulate() -> None:
    """The engine with every policy, and an attacker."""
    environment = gaussian([[1.0, 0.0], [0.0, 1.0], [0.5, 0.4]], sigma=0.1)
    threat, attacker = fg.Malicious(0.1), strongest(environment, fg.Malicious(0.1), direction=[-1, -1, 1])
    for policy in (
        fg.RPSI(3, 2, threat=threat, spread=fg.Gaussian(0.1), accuracy=0.3),
        fg.Certified(3, 2, threat=threat, spread=fg.Gaussian(0.1), accuracy=0.3),
        fg.Certified(3, 2, threat=threat, accuracy=0.3, independent=True),
        fg.AuerA1(3, 2, accuracy=0.3, scale=0.1),
        fg.AuerA1M(3, 2, accuracy=0.3, scale=0.1),
    ):
        fg.simulate(policy, environment, attacker, runs=1)


def study() -> None:
    """A study with a median, a rate and a limit, and how much is still to come."""
    draw = np.random.default_rng(0)
    running = fg.Study(
        ["a", "b"], [fg.Objective("x", "maximize", tolerance=1.0), RATE], fg.Prescient(0.05), limits=["x>=-9"]
    )
    while pulls := running.ask(8):
        running.tell_many([(p, {"x": draw.normal(p.index), "rate": float(draw.random() < 0.5)}) for p in pulls])
        running.result()
    policy = fg.Certified(3, 1, threat=fg.Prescient(0.1), accuracy=0.01)
    policy.tell(arms := policy.ask(), draw.normal(size=(len(arms), 1)))
    forecast(policy)


def pairs() -> None:
    """Studies of arms that are measured on the same items, of which there are few or any number."""
    for items in (20, None):
        running = fg.Study(["a", "b"], [RATE], fg.Prescient(0.02), items=items, paired=True, max_pulls=80)
        while given := running.ask(8):
            running.tell_many([(pull, {"rate": float(pull.index)}) for pull in given])


def analyze() -> None:
    """A log with and without clusters, by medians and by rates."""
    draw = np.random.default_rng(0)
    rows = {"arm": ["a", "b"] * 60, "x": 10 + draw.normal(size=120), "host": np.repeat(np.arange(30), 4)}
    frame = pd.DataFrame({**rows, "rate": draw.random(120) < 0.5})
    for cluster in ("none", "host"):
        fg.analyze(frame, maximize=["x", "rate"], tolerance=0.2, cluster=cluster)


PARTS = {part.__name__: part for part in (simulate, study, pairs, analyze)}

if __name__ == "__main__":
    gc.disable()  # the search for cycles takes a tenth of the time, and finds half a gigabyte
    with kernels(COMPILED):  # what is small would be interpreted otherwise
        for name in sys.argv[1:] or PARTS:
            PARTS[name]()
