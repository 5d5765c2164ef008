"""Studies and results on seeded data, for whoever wants a picture of one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tests.support import measuring
from tests.support.measuring import Machine

from frontguard import Objective, Prescient, Study
from frontguard.storage.contract import Tell

MACHINES = {  # cost, latency and energy of machines one may rent: invented
    "spot": (0.8, 130.0, 15.0),
    "arm small": (1.1, 84.0, 8.0),
    "small": (1.4, 97.0, 13.0),
    "small burst": (1.8, 73.0, 16.0),
    "arm medium": (1.7, 55.0, 12.0),
    "medium": (2.3, 62.0, 21.0),
    "medium memory": (3.1, 60.0, 27.0),
    "arm large": (3.3, 29.0, 21.0),
    "large": (4.3, 34.0, 38.0),
    "large compute": (4.9, 19.0, 40.0),
    "large old": (5.6, 41.0, 60.0),
    "metal": (8.0, 12.0, 70.0),
    "metal old": (9.9, 21.0, 98.0),
}
OBJECTIVES = (
    Objective("cost", "minimize", tolerance="3%"),
    Objective("latency", "minimize", tolerance="3%"),
    Objective("energy", "minimize", tolerance="3%"),
)
BEGUN = 1_772_442_000.0  # a Monday morning


def machines(
    storage: str | Path | None = None,
    *,
    objectives: int = 2,
    pulls: int | None = None,
    flaky: str = "metal old",
    name: str = "which machine to rent",
    begun: float = BEGUN,
) -> Study:
    """A study of machines, run until so many pulls or to its end; a pull takes some seconds, by its clock."""
    truth = {machine: values[:objectives] for machine, values in MACHINES.items()}
    study = Study(
        list(truth), OBJECTIVES[:objectives], Prescient(0.05), storage=storage, name=name, seed=3, worker="rack 4"
    )
    measuring.advance(study, Machine(truth, flaky=flaky, noise=0.1), pulls, clock=ticking(begun))
    return study


def ticking(begun: float) -> Iterator[float]:
    """Times of pulls: some seconds apart, faster in the second half of each quarter of an hour."""
    rng = np.random.default_rng(2)
    now = begun
    while True:
        yield now
        now += float(rng.exponential(4.0 if (now - begun) % 900.0 < 450.0 else 2.0))


def many(storage: str | Path | None = None, *, arms: int = 1000, pulls_each: int = 60, begun: float = BEGUN) -> Study:
    """A study of a thousand arms, a few of them on the front; it is still running, and began some hours ago."""
    rng = np.random.default_rng(11)
    trade = rng.uniform(size=arms)
    behind = np.exp(np.abs(rng.normal(scale=0.6, size=arms)))
    truth = np.stack([20.0 * np.exp(1.5 * trade), 300.0 * np.exp(-1.5 * trade)], axis=1) * behind[:, None]
    wanted = [Objective("milliseconds", "minimize", "5%"), Objective("megabytes", "minimize", "5%")]
    names = [f"setting {number:04d}" for number in range(arms)]
    study = Study(names, wanted, Prescient(0.05), storage=storage, name="a thousand settings", seed=1, worker="farm")
    told = 0
    while told < arms * pulls_each and (pulls := study.ask(5000)):
        values = truth[[pull.index for pull in pulls]] * np.exp(0.1 * rng.normal(size=(len(pulls), 2)))
        tells = [
            Tell(pull.id, tuple(row), "", study.worker, begun + 0.2 * (told + place))
            for place, (pull, row) in enumerate(zip(pulls, values.tolist(), strict=True))
        ]
        study.storage.tell(study.name, tells)
        told += len(pulls)
    return study


def experiment_rows(folder: Path) -> Sequence[Any]:
    """MovieLens, 20 runs of each policy, beside the paper's numbers."""
    from frontguard.experiments.runner import Campaign, RunStore
    from frontguard.experiments.setup import choose, contestants_named, settings_of

    settings = settings_of(choose("movielens", None).experiments, [0.0, 0.05, 0.1, 0.2])
    plan = Campaign(settings, contestants_named([]), runs=20, seed=0, store=RunStore(folder / "runs"))
    return plan.execute()
