"""What it saves to weigh pulls by their cost: seconds to the certificate with `cost`, beside the same study without.

Studies are replays: what a pull gives is drawn from what was measured of its arm, the same for both ways, so that a run
can be repeated. *Compiler flags*: the recording of the package, a pull takes what its build and the reference took.
*Compressors*: what `examples/service` measures, recorded once in `compressors.csv`. *Prices*: three models
whose prices differ by up to 120 times, and how often each is right.

`python -m benchmarks costs` prints the figures; `python -m benchmarks.costs docs/costs.md` also writes the table into
the page.
"""

from __future__ import annotations

import csv
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tools.document import with_tables

from benchmarks.tables import Row, heading
from frontguard._common.typing import Floats
from frontguard.experiments.datasets import bundled_recording
from frontguard.objectives import Objective
from frontguard.studies.study import Study

STUDIES = 20
LONGEST = 100_000
"""Pulls after which a study is given up."""

NEIGHBOUR = 0.08
"""The share of the recording's time for which the noisy neighbour was on."""

COMPRESSORS = Path(__file__).with_name("compressors.csv")


@dataclass(frozen=True)
class World:
    """Arms with what was measured of each: values (n, M), and what those pulls cost (n,)."""

    name: str
    arms: tuple[str, ...]
    objectives: tuple[Objective, ...]
    contamination: float
    values: tuple[Floats, ...]
    costs: tuple[Floats, ...]
    unit: str
    least: float  # what is wanted to be saved: where there is nothing to save, nothing may be lost

    @property
    def typical(self) -> Floats:
        return np.array([np.median(each) for each in self.costs])


def compiler_flags() -> World:
    recording = bundled_recording()
    chosen = recording.arm_of_row == np.arange(len(recording.arms))[:, None]
    took = recording.seconds + recording.reference_seconds
    rng = np.random.default_rng(1)
    values, costs = [], []
    for rows in chosen:
        quiet, busy = (np.flatnonzero(rows & (recording.neighbour == on)) for on in (False, True))
        # As many rows of each kind as the neighbour's share of the time says.
        drawn = np.concatenate([quiet, rng.choice(busy, round(NEIGHBOUR / (1 - NEIGHBOUR) * len(quiet)))])
        values.append(recording.metrics[drawn])
        costs.append(took[drawn])
    objectives = Objective("time", "minimize", "5%"), Objective("bytes", "minimize", "1%")
    return World("compiler flags", recording.arms, objectives, 0.15, tuple(values), tuple(costs), "seconds", 0.97)


def compressors() -> World:
    rows: dict[str, list[tuple[float, float]]] = {}
    with COMPRESSORS.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            rows.setdefault(row["arm"], []).append((float(row["seconds"]), float(row["bytes"])))
    values = tuple(np.array(each) for each in rows.values())
    objectives = Objective("seconds", "minimize", "25%"), Objective("bytes", "minimize", "1%")
    seconds = tuple(each[:, 0] for each in values)
    return World("compressors", tuple(rows), objectives, 0.1, values, seconds, "seconds", 0.97)


def prices() -> World:
    """Models that are the better the dearer they are: how often they are right, and dollars a thousand answers."""
    rng = np.random.default_rng(2)
    right = np.array([0.6, 0.8, 0.84])
    price = np.array([0.05, 0.1, 6.0])
    values = tuple(
        np.stack([(rng.random(4000) < p).astype(float), np.full(4000, dollars)], axis=1)
        for p, dollars in zip(right, price, strict=True)
    )
    objectives = (
        Objective("right", "maximize", tolerance=0.1, statistic="mean", bounds=(0, 1)),
        Objective("dollars", "minimize", "1%", exact=True),
    )
    costs = tuple(np.full(4000, dollars) for dollars in price)
    return World("prices of models", tuple("abc"), objectives, 0.0, values, costs, "dollars", 1.5)


def study_of(world: World, seed: int, **cost: Any) -> tuple[float, int, str]:
    """What the pulls of one study cost, how many there were, and how it ended."""
    streams = [np.random.default_rng([seed, arm]) for arm in range(len(world.arms))]
    order = [stream.integers(len(rows), size=LONGEST) for stream, rows in zip(streams, world.values, strict=True)]
    study = Study(
        list(world.arms), world.objectives, "prescient", contamination=world.contamination, seed=seed,
        max_pulls=LONGEST, **cost,
    )  # fmt: skip
    names = [each.name for each in world.objectives]
    reports = "cost" in cost
    spent = 0.0
    while pulls := study.ask(2):
        told = []
        for pull in pulls:
            row = order[pull.index][pull.rep - 1]
            took = float(world.costs[pull.index][row])
            spent += took
            values = dict(zip(names, world.values[pull.index][row].tolist(), strict=True))
            told.append((pull, values | ({"took": took} if reports else {})))
        study.tell_many(told)
    result = study.result()
    return spent, result.pulls, result.status


def measured(world: World, studies: int = STUDIES) -> tuple[list[Row], list[str]]:
    """Both ways on the same draws."""
    plain = [study_of(world, seed) for seed in range(studies)]
    weighed = [study_of(world, seed, cost="took") for seed in range(studies)]
    before, after = (np.array([spent for spent, _, _ in each]) for each in (plain, weighed))
    pulls = [float(np.mean([count for _, count, _ in each])) for each in (plain, weighed)]
    certified = [sum(status == "certified" for _, _, status in each) / studies for each in (plain, weighed)]
    ratio = float(before.mean() / after.mean())
    draws = np.random.default_rng(3).integers(studies, size=(2000, studies))
    low, high = np.quantile(before[draws].mean(axis=1) / after[draws].mean(axis=1), [0.025, 0.975])
    apart = world.typical.max() / world.typical.min()
    line = [
        world.name, f"{len(world.arms)}", f"{apart:.3g} ×", f"{before.mean():,.3g} / {after.mean():,.3g} {world.unit}",
        f"{pulls[0]:,.0f} / {pulls[1]:,.0f}", f"**{ratio:.2f}** ({low:.2f} to {high:.2f})",
        f"{certified[0]:.0%} / {certified[1]:.0%}",
    ]  # fmt: skip
    details = f"{before.mean():.4g} {world.unit} without, {after.mean():.4g} with; {low:.2f} to {high:.2f}"
    return [
        Row(
            f"{world.name}: {world.unit} to the certificate, without / with cost",
            ratio,
            at_least=world.least,
            details=details,
        )
    ], line


HEADINGS = ["", "arms", "dearest / cheapest pull", "cost: without / with", "pulls: without / with", "saved",
            "certified"]  # fmt: skip


def table(lines: list[list[str]]) -> str:
    rows = [HEADINGS, ["---"] * len(HEADINGS), *lines]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def main(page: Path | None = None) -> Iterator[Row]:
    studies = max(2, round(STUDIES * float(os.environ.get("FRONTGUARD_BENCH_SCALE", "1"))))
    lines = []
    for world in (compiler_flags(), compressors(), prices()):
        heading(world.name)
        rows, line = measured(world, studies)
        lines.append(line)
        yield from rows
    print(table(lines))
    if page is not None:
        text = page.read_text(encoding="utf-8")
        page.write_text(with_tables(text, table(lines), where=str(page)), encoding="utf-8")


if __name__ == "__main__":
    for each in main(Path(sys.argv[1]) if len(sys.argv) > 1 else None):
        print(each)
